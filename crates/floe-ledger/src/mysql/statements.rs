//! The statements, one packet for each call, and why each is linearizable.
//!
//! Each statement on a record is a transaction of its own at READ COMMITTED (which floe sets for its sessions), in the common part of
//! MySQL 8 and MariaDB: neither stored routines nor user variables, no `RETURNING`, and no `LAST_INSERT_ID`.
//!
//! 1. An UPDATE by the whole primary key waits for whoever has changed the record, and checks the rest of its WHERE on the
//!    record's newest version, which it has locked (MySQL 8.0 manual, 17.7.2.4 "Locking Reads"). READ COMMITTED takes no
//!    locks on gaps (17.7.2.1), so calls on different keys do not meet. So where it moves a record, that was the expected
//!    one until the commit. A record's version is its text: no two writes of floe leave the same ([`floe::store`]). It is
//!    compared by its bytes, whatever the collation of the column.
//! 2. The answer to a statement that writes comes after the flush (`innodb_flush_log_at_trx_commit`, `sync_binlog`).
//! 3. InnoDB shows a transaction to others a moment **before** that flush, where there is no binary log. A later
//!    transaction that writes is flushed after it, since the log is one. So what a call has read is durable as soon as the
//!    call has written something; and where its answer hands something out by a look alone, it writes a record that
//!    nobody reads ([`settle`]). A refusal hands nothing out, writes nothing, and may be forgotten.
//! 4. Where nothing was moved, the SELECT after it shows the newest record, so that the next try needs no look.
//!
//! On a Galera cluster a statement fails as a deadlock where another node's transaction on the same record came first, and
//! the packet is sent again; what was only read is not older than the call, by `wsrep_sync_wait`.
//!
//! # Counters
//! A counter's numbers are asked for by many at once, of whom one would win each swap. The table `floe_counting` spares them
//! that: its row `[used, until)` is what is left of the range that the record says was reserved last, and a count adds to
//! `used` in one transaction, for which the others wait. They wait for that alone and not for its flush, so commits share
//! flushes. The row is written in the transaction that moves the record: no crash parts the two, and none takes a number
//! away. Each count is a commit that waits for its flush, since InnoDB has no other; a table in memory would spare that,
//! but it is not changed in one transaction with the record, and is not the same on the nodes of a cluster. Locks are taken
//! in one order, `floe_record` before `floe_counting`.
//!
//! Texts are written in hexadecimal, so that nothing in a name or a note is ever read as SQL.

use std::ops::Range;

use floe::ledger::Token;

/// Reads a record.
pub(super) fn get(key: &str) -> String {
    format!("SELECT record FROM floe_record WHERE `key` = {}", text(key))
}

/// Makes a record where there is none. Answers: begin, make, the record, commit.
///
/// The record is the own one unless another was there: until the commit nobody changes it. How many rows the server says it has
/// changed does not tell: some count a row that was found and not changed.
/// `ON DUPLICATE KEY UPDATE` that changes nothing writes nothing, and, unlike `INSERT IGNORE`, turns no error into a warning.
pub(super) fn create(key: &str, record: &str) -> String {
    format!(
        "START TRANSACTION; INSERT INTO floe_record (`key`, record) VALUES ({}, {}) \
         ON DUPLICATE KEY UPDATE record = floe_record.record; {}; COMMIT",
        text(key),
        text(record),
        get(key)
    )
}

/// Writes a record where the `expected` one is. Answers: move, the record.
pub(super) fn put(key: &str, record: &str, expected: &str) -> String {
    format!(
        "UPDATE floe_record SET record = {} WHERE `key` = {} AND CAST(record AS BINARY) = {}; {}",
        text(record),
        text(key),
        bytes(expected.as_bytes()),
        get(key)
    )
}

/// As [`put`], and makes the range longer that is left for a counter, by what is new of it. Answers: begin, move, make longer, the
/// record, commit.
///
/// In `UPDATE … SET a = …, b = …` both servers go from left to right and read what was set already, save MariaDB with
/// `SIMULTANEOUS_ASSIGNMENT`. Here every expression reads its own column and columns that are set after it.
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

/// Takes numbers of what is left for a counter, where `used` is at most `highest`. Answers: begin, take, what is left, commit.
pub(super) fn take(left: &str, floor: u64, count: u64, highest: u64) -> String {
    let left = text(left);
    format!(
        "START TRANSACTION; UPDATE floe_counting SET previous = used, used = GREATEST(used, {floor}) + {count} \
         WHERE `key` = {left} AND used <= {highest} AND GREATEST(used, {floor}) <= until - {count}; \
         SELECT previous, used, until FROM floe_counting WHERE `key` = {left}; COMMIT"
    )
}

/// Uses up what is left below `at_least`.
pub(super) fn skip(left: &str, at_least: u64) -> String {
    format!(
        "UPDATE floe_counting SET previous = used, used = LEAST(GREATEST(used, {at_least}), until) WHERE `key` = {}",
        text(left)
    )
}

/// Writes what nobody reads, and what is in no list.
pub(super) fn settle(token: Token) -> String {
    let record = text(&format!("floe 1\nsettled {}\n", token.hex()));
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

/// floe's sessions count time from UTC, so no hour comes twice.
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
