//! The statements, one packet for each call, and why each is linearizable.
//!
//! A packet that reads and writes is one transaction at READ COMMITTED (which floe sets for its sessions), in the common
//! part of MySQL 8 and MariaDB: neither stored routines nor user variables, no `RETURNING`, and no `LAST_INSERT_ID`.
//!
//! 1. `SELECT … FOR UPDATE` by the whole primary key waits for whoever has changed the record, reads its newest
//!    version, and locks it until `COMMIT` (MySQL 8.0 manual, 17.7.2.4 "Locking Reads"). READ COMMITTED takes no locks
//!    on gaps (17.7.2.1), so calls on different keys do not meet.
//! 2. So what the UPDATE after it finds is what the SELECT has shown, and the caller works out from the rows, by
//!    [`Mark`](floe::ledger::Mark), what was written. The UPDATE has the condition of the contract in its own WHERE, and
//!    the number of rows that it changed has to agree ([`super::marks`]): otherwise the answer is an error.
//! 3. In `UPDATE … SET a = …, b = …` both servers go from left to right and read what was set already, save MariaDB
//!    with `SIMULTANEOUS_ASSIGNMENT`. Here every expression reads its own column and columns that are set after it,
//!    which means the same either way.
//! 4. The answer to `COMMIT` comes after the flush (`innodb_flush_log_at_trx_commit`, `sync_binlog`). InnoDB shows a
//!    transaction to others a moment **before** that flush, where there is no binary log. A later transaction that
//!    writes is flushed after it, since the log is one; an answer from reading alone might be lost in a crash. So every
//!    call that answers "it is so already", such as a reservation that is asked for again, writes as well: it counts
//!    `writes` up. A refusal hands nothing out, writes nothing, and may be forgotten.
//!
//! On a Galera cluster `COMMIT` fails as a deadlock where another node's transaction on the same record came first, and
//! the packet is sent again; what was only read is not older than the call, by `wsrep_sync_wait`.
//!
//! Texts are written in hexadecimal, so that nothing in a name or a note is ever read as SQL.

use floe::ledger::{Reserve, Token};

use crate::remote::realm::{LOOKED_AT, TOLD_OF};

/// The beginning of a statement that reads a record.
const RECORD: &str = "SELECT previous, start, mark, token, note FROM floe_mark";

/// What [`reserve`] adds to which marks.
#[derive(Clone, Copy)]
pub(super) struct Room {
    pub(super) floor: u64,
    pub(super) count: u64,
    /// The highest mark from which the record may be moved: the smaller of `max_mark` and what leaves room for `count`
    /// below 2^63; -1 where there is none, so that only a token that is there already is answered.
    pub(super) ceiling: i64,
}

/// Makes the record where the request says so, reads it, and moves it. Answers: begin, [list, make,] the record, move,
/// commit.
///
/// `ON DUPLICATE KEY UPDATE` that changes nothing locks the record that is there, writes nothing, and, unlike `INSERT
/// IGNORE`, turns no error into a warning. A record that it makes is rolled back with everything else.
///
/// A record is made only by the transaction that has put it on the list of those that were made, which `attempt` tells,
/// drawn for this call alone. So where one is on the list and nothing is found, somebody deleted it.
pub(super) fn reserve(realm: &str, request: &Reserve, room: Room, attempt: Token) -> String {
    let Room { floor, count, ceiling } = room;
    let (realm, key) = (text(realm), text(request.key.as_str()));
    let (token, note) = (bytes(request.token.as_bytes()), optional(request.note.as_deref()));
    let make = if request.create && ceiling >= 0 {
        let attempt = bytes(attempt.as_bytes());
        format!(
            "INSERT INTO floe_made (realm, `key`, made_by) VALUES ({realm}, {key}, {attempt}) \
             ON DUPLICATE KEY UPDATE made_by = made_by; \
             INSERT INTO floe_mark (realm, `key`, previous, start, mark) \
             SELECT {realm}, {key}, 0, 0, 0 FROM floe_made AS l \
             WHERE l.realm = {realm} AND l.`key` = {key} AND l.made_by = {attempt} \
             ON DUPLICATE KEY UPDATE floe_mark.writes = floe_mark.writes;"
        )
    } else {
        String::new()
    };
    format!(
        "START TRANSACTION; {make} {RECORD} WHERE realm = {realm} AND `key` = {key} FOR UPDATE; \
         UPDATE floe_mark SET writes = writes + 1, \
         previous = IF(token <=> {token}, previous, mark), \
         start = IF(token <=> {token}, start, GREATEST(mark, {floor})), \
         mark = IF(token <=> {token}, mark, GREATEST(mark, {floor}) + {count}), \
         note = IF(token <=> {token}, note, COALESCE({note}, note)), \
         token = {token} \
         WHERE realm = {realm} AND `key` = {key} AND (token <=> {token} OR mark <= {ceiling}); \
         COMMIT"
    )
}

/// One statement: its WHERE is the whole condition, and false is an answer.
pub(super) fn give_back(realm: &str, key: &str, token: Token, from: i64) -> String {
    format!(
        "UPDATE floe_mark SET writes = writes + 1, mark = {from}, token = NULL \
         WHERE realm = {} AND `key` = {} AND token = {} AND start <= {from} AND mark >= {from}",
        text(realm),
        text(key),
        bytes(token.as_bytes())
    )
}

/// Ties a name to its definition, and makes its record with it. Answers: begin, tie, [make,] the definition, commit.
///
/// `writes` is 0 in the definition that this transaction has made, and in none that it has found.
pub(super) fn bind(realm: &str, name: &str, definition: &str, key: Option<&str>) -> String {
    let (realm, name, definition) = (text(realm), text(name), text(definition));
    let make = key.map_or(String::new(), |key| {
        format!(
            "INSERT INTO floe_mark (realm, `key`, previous, start, mark) \
             SELECT {realm}, {}, 0, 0, 0 FROM floe_definition AS d \
             WHERE d.realm = {realm} AND d.name = {name} AND d.writes = 0 \
             ON DUPLICATE KEY UPDATE floe_mark.writes = floe_mark.writes;",
            text(key)
        )
    });
    format!(
        "START TRANSACTION; \
         INSERT INTO floe_definition (realm, name, definition) VALUES ({realm}, {name}, {definition}) \
         ON DUPLICATE KEY UPDATE writes = writes + 1; \
         {make} \
         SELECT definition FROM floe_definition WHERE realm = {realm} AND name = {name}; \
         COMMIT"
    )
}

pub(super) fn definition(realm: &str, name: &str) -> String {
    format!("SELECT definition FROM floe_definition WHERE realm = {} AND name = {}", text(realm), text(name))
}

pub(super) fn names(realm: &str, after: &str, limit: usize) -> String {
    format!(
        "SELECT name, definition FROM floe_definition WHERE realm = {} AND name > {} ORDER BY name LIMIT {limit}",
        text(realm),
        text(after)
    )
}

/// Reads a record and moves its mark up. Answers: begin, the record, move, commit.
pub(super) fn raise(realm: &str, key: &str, at_least: i64) -> String {
    let (realm, key) = (text(realm), text(key));
    format!(
        "START TRANSACTION; {RECORD} WHERE realm = {realm} AND `key` = {key} FOR UPDATE; \
         UPDATE floe_mark SET writes = writes + 1, token = IF(mark < {at_least}, NULL, token), \
         mark = GREATEST(mark, {at_least}) WHERE realm = {realm} AND `key` = {key}; \
         COMMIT"
    )
}

/// Reads a record.
pub(super) fn record(realm: &str, key: &str) -> String {
    format!("{RECORD} WHERE realm = {} AND `key` = {}", text(realm), text(key))
}

/// `utf8mb4_bin` compares code points, which is byte order in UTF-8.
pub(super) fn list(realm: &str, prefix: &str, after: &str, limit: usize) -> String {
    let prefix = text(prefix);
    format!(
        "SELECT `key`, mark, note FROM floe_mark WHERE realm = {} AND `key` >= {prefix} AND `key` > {} \
         AND LEFT(`key`, CHAR_LENGTH({prefix})) = {prefix} ORDER BY `key` LIMIT {limit}",
        text(realm),
        text(after)
    )
}

/// The other realms that have a name, with its definition and its mark, all found by the primary keys.
pub(super) fn elsewhere(realm: &str, name: &str, key: &str) -> String {
    format!(
        "SELECT r.realm, d.definition, m.mark FROM \
         (SELECT realm FROM floe_realm WHERE realm <> {} ORDER BY realm LIMIT {LOOKED_AT}) AS r \
         JOIN floe_definition AS d ON d.realm = r.realm AND d.name = {} \
         LEFT JOIN floe_mark AS m ON m.realm = r.realm AND m.`key` = {} ORDER BY r.realm LIMIT {TOLD_OF}",
        text(realm),
        text(name),
        text(key)
    )
}

/// floe's sessions count time from UTC, so no hour comes twice.
pub(super) const CLOCK: &str = "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED)";

/// A text that compares as floe's columns do, whatever the session's collation.
pub(super) fn text(text: &str) -> String {
    format!("_utf8mb4 {} COLLATE utf8mb4_bin", bytes(text.as_bytes()))
}

fn optional(note: Option<&str>) -> String {
    note.map_or("NULL".to_owned(), text)
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
