//! The statements, one packet for each call, and why each is linearizable.
//!
//! Each statement on a record is a transaction of its own at READ COMMITTED (which floe sets for its sessions). It uses
//! only what MySQL 8 and MariaDB share: no stored routines, user variables, `RETURNING` or `LAST_INSERT_ID`.
//!
//! 1. An UPDATE by the whole primary key waits for any other transaction that has changed the record. It checks the
//!    rest of its WHERE on the record's newest version, which it has locked (MySQL 8.0 manual, 17.7.2.4 "Locking
//!    Reads"). READ COMMITTED takes no locks on gaps (17.7.2.1), so calls on different keys do not meet. So if it
//!    changes a record, that was the expected one until the commit. A record's version is its text: no two writes of
//!    floe leave the same ([`floe::store`]). It is compared by its bytes, whatever the column's collation.
//! 2. A statement that writes is answered after the flush (`innodb_flush_log_at_trx_commit`, `sync_binlog`).
//! 3. Without a binary log, InnoDB shows a transaction to others a moment **before** that flush. A later transaction
//!    that writes is flushed after it, because there is one log. So what a call has read is durable as soon as the call
//!    has written something. If an answer hands something out after only a read, the call first writes a record that
//!    nobody reads ([`settle`]). A refusal hands out nothing, writes nothing, and may be lost.
//! 4. If nothing was changed, the SELECT after it shows the newest record, so the next try needs no read.
//!
//! On a Galera cluster a statement fails as a deadlock if another node's transaction on the same record came first, and
//! the packet is sent again. Because of `wsrep_sync_wait`, a plain read is not older than the call.
//!
//! # Counters
//! Many callers want a counter's numbers at once, and only one of them would win each swap. The table `floe_counting`
//! avoids that. Its row `[used, until)` is the rest of the range that the record says was reserved last. A count adds
//! to `used` in one transaction, and the others wait for it. They wait only for that and not for its flush, so commits
//! share flushes. The row is written in the transaction that changes the record: no crash separates the two, and none
//! loses a number. Each count is a commit that waits for its flush, because InnoDB has no other. A table in memory
//! would avoid that, but no transaction changes it together with the record, and a cluster's nodes do not share it.
//! Locks are taken in one order, `floe_record` before `floe_counting`.
//!
//! Texts are written in hexadecimal, so nothing in a name or a note is ever read as SQL.

use std::ops::Range;

/// Reads a record.
pub(super) fn get(key: &str) -> String {
    format!("SELECT record FROM floe_record WHERE `key` = {}", text(key))
}

/// Makes a record if none exists. Answers: begin, make, the record, commit.
///
/// The record found is this call's own unless another existed, because until the commit nobody changes it. The server's
/// count of changed rows does not show it: some servers count a row that was found and not changed.
/// `ON DUPLICATE KEY UPDATE` without a change writes nothing and, unlike `INSERT IGNORE`, turns no error into a warning.
pub(super) fn create(key: &str, record: &str) -> String {
    format!(
        "START TRANSACTION; INSERT INTO floe_record (`key`, record) VALUES ({}, {}) \
         ON DUPLICATE KEY UPDATE record = floe_record.record; {}; COMMIT",
        text(key),
        text(record),
        get(key)
    )
}

/// Replaces a record if it is the `expected` one. Answers: change, the record.
pub(super) fn put(key: &str, record: &str, expected: &str) -> String {
    format!(
        "UPDATE floe_record SET record = {} WHERE `key` = {} AND CAST(record AS BINARY) = {}; {}",
        text(record),
        text(key),
        bytes(expected.as_bytes()),
        get(key)
    )
}

/// Like [`put`], and extends a counter's remaining range by its new part. Answers: begin, change, extend, the record,
/// commit.
///
/// In `UPDATE … SET a = …, b = …` both servers go from left to right and read values that were already set, except MariaDB
/// with `SIMULTANEOUS_ASSIGNMENT`. Here every expression reads its own column and columns that are set after it.
pub(super) fn put_ahead(key: &str, record: &str, expected: &str, left: &str, new: &Range<u64>) -> String {
    let (own_key, own, left, Range { start, end }) = (text(key), text(record), text(left), new);
    format!(
        "START TRANSACTION; UPDATE floe_record SET record = {own} WHERE `key` = {own_key} AND CAST(record AS BINARY) = {}; \
         INSERT INTO floe_counting (`key`, previous, used, until) SELECT {left}, {start}, {start}, {end} FROM floe_record AS r \
         WHERE r.`key` = {own_key} AND CAST(r.record AS BINARY) = {} \
         ON DUPLICATE KEY UPDATE used = IF(floe_counting.until = {start}, floe_counting.used, {start}), until = {end}; \
         {}; COMMIT",
        bytes(expected.as_bytes()),
        bytes(record.as_bytes()),
        get(key)
    )
}

/// Takes numbers of a counter's remaining range, if `used` is at most `max_mark`. Answers: begin, take, the rest, commit.
pub(super) fn take(left: &str, floor: u64, count: u64, max_mark: u64) -> String {
    let left = text(left);
    format!(
        "START TRANSACTION; UPDATE floe_counting SET previous = used, used = GREATEST(used, {floor}) + {count} \
         WHERE `key` = {left} AND used <= {max_mark} AND GREATEST(used, {floor}) <= until - {count}; \
         SELECT previous, used, until FROM floe_counting WHERE `key` = {left}; COMMIT"
    )
}

/// Uses up the remaining range below `at_least`.
pub(super) fn skip(left: &str, at_least: u64) -> String {
    format!(
        "UPDATE floe_counting SET previous = used, used = LEAST(GREATEST(used, {at_least}), until) WHERE `key` = {}",
        text(left)
    )
}

/// Writes this record, which nobody reads and no list shows.
pub(super) fn settle(record: &str) -> String {
    let record = text(record);
    format!(
        "INSERT INTO floe_record (`key`, record) VALUES ({}, {record}) ON DUPLICATE KEY UPDATE record = {record}",
        text("settled")
    )
}

/// `utf8mb4_bin` compares code points, which is byte order in UTF-8.
pub(super) fn list(prefix: &str, after: &str, limit: usize) -> String {
    let prefix = text(prefix);
    format!(
        "SELECT `key`, record FROM floe_record WHERE `key` >= {prefix} AND `key` > {} \
         AND LEFT(`key`, CHAR_LENGTH({prefix})) = {prefix} ORDER BY `key` LIMIT {limit}",
        text(after)
    )
}

/// floe's sessions use UTC, so no hour comes twice.
pub(super) const CLOCK: &str = "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED)";

/// A text that compares as floe's columns do, whatever the session's collation.
pub(super) fn text(text: &str) -> String {
    format!("_utf8mb4 {} COLLATE utf8mb4_bin", bytes(text.as_bytes()))
}

fn bytes(bytes: &[u8]) -> String {
    let mut literal = String::with_capacity(2 * bytes.len() + 3);
    literal.push_str("x'");
    for byte in bytes {
        literal.extend([byte >> 4, byte & 15].map(|half| char::from(b"0123456789abcdef"[usize::from(half)])));
    }
    literal.push('\'');
    literal
}
