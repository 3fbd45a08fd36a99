//! The statements, one for each call, and why each is linearizable.
//!
//! All run as single statements in autocommit, at READ COMMITTED (which floe sets for its sessions). Two properties
//! of PostgreSQL carry the argument:
//!
//! 1. All parts of one statement, the data-modifying parts of its WITH included, read one **snapshot**, taken while
//!    the statement runs. It holds every transaction whose commit anyone has heard of, and none whose WAL is not
//!    flushed (a transaction becomes visible after its flush, and after its synchronous standby has answered). So an
//!    answer read from the snapshot alone is right at the moment of the snapshot, which lies inside the call, and
//!    what it reports is durable.
//! 2. An UPDATE whose row another transaction has changed since the snapshot waits for that transaction, then checks
//!    its WHERE **again on the newest version of the row**, and computes SET and RETURNING from that version. So what
//!    an UPDATE returns was true of the row at the moment it was locked, however old the snapshot.
//!
//! Each statement that writes therefore has two parts: `seen`, the record in the snapshot, and `moved`, an UPDATE
//! with the whole condition of the call in its WHERE. Where `moved` returns a row, that is the answer (property 2).
//! Where it does not, and the condition is false of `seen`, `seen` is the answer (property 1): nothing was locked or
//! written. Where it does not although the condition is true of `seen`, another call came in between: the statement
//! is run again, on a new snapshot. This takes a second round trip only in a race that somebody else has won.
//!
//! # Counters
//! A counter's order is the cluster's, so each batch of callers needs the server, and would wait for a flush each. The
//! table `ahead` spares most of them that: its row `[used, mark)` is a range that was reserved durably, and a count
//! moves `used` in it, in a row of an **unlogged** table. Such an UPDATE is as atomic and as ordered as any other,
//! and its commit waits for no flush. After a crash PostgreSQL empties unlogged tables, and a replica has never had
//! their rows: what was left of the range is lost with the row, and the next count goes on at the mark, above all that
//! was handed out (I1, I2). This is reserving a range durably and minting inside it once more, inside the server.
//!
//! A row is made only in a transaction that holds the lock of the key's record in `mark` and has moved that mark to the
//! row's own; others see it when that is committed, and so flushed. Whoever raises a mark holds the same lock, and
//! raises `used` with it. Locks are taken in one order, `mark` before `ahead`.

use tokio_postgres::types::Type;

/// Which statement.
#[derive(Clone, Copy)]
pub(super) enum Call {
    Reserve,
    GiveBack,
    Bind,
    Definition,
    Names,
    List,
    Clock,
    Count,
    LockMark,
    LockAhead,
    WriteMark,
    WriteAhead,
    RaiseAhead,
    Elsewhere,
}

impl Call {
    pub(super) const COUNT: usize = 14;

    /// Its text, for the tables in `schema`, and the types of its parameters.
    pub(super) fn sql(self, schema: &str) -> (String, &'static [Type]) {
        const TEXT: Type = Type::TEXT;
        const INT8: Type = Type::INT8;
        const BYTEA: Type = Type::BYTEA;
        const BOOL: Type = Type::BOOL;
        let (text, types): (&str, &'static [Type]) = match self {
            Self::Reserve => (RESERVE, &[TEXT, TEXT, INT8, INT8, INT8, BYTEA, TEXT, BOOL]),
            Self::GiveBack => (GIVE_BACK, &[TEXT, TEXT, BYTEA, INT8]),
            Self::Bind => (BIND, &[TEXT, TEXT, TEXT, TEXT, BOOL]),
            Self::Definition => (DEFINITION, &[TEXT, TEXT]),
            Self::Names => (NAMES, &[TEXT, TEXT, INT8]),
            Self::List => (LIST, &[TEXT, TEXT, TEXT, INT8]),
            Self::Clock => (CLOCK, &[]),
            Self::Count => (COUNT, &[TEXT, TEXT, INT8, INT8, INT8]),
            Self::LockMark => (LOCK_MARK, &[TEXT, TEXT]),
            Self::LockAhead => (LOCK_AHEAD, &[TEXT, TEXT]),
            Self::WriteMark => (WRITE_MARK, &[TEXT, TEXT, INT8, INT8, INT8, BYTEA]),
            Self::WriteAhead => (WRITE_AHEAD, &[TEXT, TEXT, INT8, INT8, INT8]),
            Self::RaiseAhead => (RAISE_AHEAD, &[TEXT, TEXT, INT8]),
            Self::Elsewhere => (ELSEWHERE, &[TEXT, TEXT, TEXT, INT8, INT8]),
        };
        (in_schema(text, schema), types)
    }
}

/// The statements and the tables are written for the schema `floe`.
pub(super) fn in_schema(sql: &str, schema: &str) -> String {
    sql.replace("floe.", &format!("\"{schema}\"."))
}

/// realm, key, floor, count, ceiling, token, note, create. The ceiling is the smaller of `max_mark` and the highest
/// mark that leaves room for `count` below 2^63; -1 where the request has no room at all. So `mark <= ceiling` is
/// the whole condition beside the token, and the sums below it cannot overflow.
///
/// `listed` and `made` run only where the snapshot has no record, and do nothing where another call makes one meanwhile;
/// then nothing is returned, and the statement is run again. A record is made together with its entry in the table
/// `made`, by whoever makes the entry: so where a snapshot has the entry alone, somebody deleted the record, and the last
/// row says so by its empty mark. An entry that is missing beside a record that is there (an older floe made it) is made
/// when that record is moved.
const RESERVE: &str = r#"
WITH seen AS (
    SELECT previous, start, mark, token, note FROM floe.mark WHERE realm = $1 AND key = $2
), moved AS (
    UPDATE floe.mark AS m
    SET previous = m.mark, start = greatest(m.mark, $3), mark = greatest(m.mark, $3) + $4,
        token = $6, note = coalesce($7, m.note)
    WHERE m.realm = $1 AND m.key = $2 AND m.mark <= $5 AND m.token IS DISTINCT FROM $6
    RETURNING m.previous, m.start, m.mark
), listed AS (
    INSERT INTO floe.made (realm, key)
    SELECT $1, $2 WHERE $8 AND $5 >= 0 AND (EXISTS (SELECT FROM moved) OR NOT EXISTS (SELECT FROM seen))
    ON CONFLICT DO NOTHING
    RETURNING key
), made AS (
    INSERT INTO floe.mark (realm, key, previous, start, mark, token, note)
    SELECT $1, key, 0, $3, $3 + $4, $6, $7 FROM listed WHERE NOT EXISTS (SELECT FROM seen)
    ON CONFLICT DO NOTHING
    RETURNING previous, start, mark
)
SELECT true, previous, start, mark, NULL::bytea, NULL::text FROM moved
UNION ALL SELECT true, previous, start, mark, NULL, NULL FROM made
UNION ALL SELECT false, previous, start, mark, token, note FROM seen
UNION ALL SELECT false, NULL, NULL, NULL, NULL, NULL FROM floe.made
    WHERE realm = $1 AND key = $2 AND NOT EXISTS (SELECT FROM seen)
ORDER BY 1 DESC
"#;

/// realm, key, token, from. The WHERE is the whole condition, and false is an answer.
const GIVE_BACK: &str = "
UPDATE floe.mark SET mark = $4, token = NULL
WHERE realm = $1 AND key = $2 AND token = $3 AND start <= $4 AND mark >= $4
";

/// realm, name, definition, the key of its record, whether it has one. Both rows are made in one transaction. Where
/// another call binds the name meanwhile, `made` waits for it and is empty, and so is the snapshot: again.
const BIND: &str = "
WITH made AS (
    INSERT INTO floe.definition (realm, name, definition) VALUES ($1, $2, $3)
    ON CONFLICT DO NOTHING RETURNING definition
), marked AS (
    INSERT INTO floe.mark (realm, key, previous, start, mark) SELECT $1, $4, 0, 0, 0 FROM made WHERE $5
    ON CONFLICT DO NOTHING
)
SELECT definition FROM made
UNION ALL SELECT definition FROM floe.definition WHERE realm = $1 AND name = $2
";

const DEFINITION: &str = "SELECT definition FROM floe.definition WHERE realm = $1 AND name = $2";

/// realm, after, limit. `COLLATE \"C\"` is byte order in UTF-8, whatever the collation of a table made by hand.
const NAMES: &str = r#"
SELECT name, definition FROM floe.definition
WHERE realm = $1 AND name COLLATE "C" > $2 ORDER BY name COLLATE "C" LIMIT $3
"#;

/// realm, prefix, after, limit.
const LIST: &str = r#"
SELECT key, mark, note FROM floe.mark
WHERE realm = $1 AND key COLLATE "C" >= $2 AND key COLLATE "C" > $3 AND starts_with(key, $2)
ORDER BY key COLLATE "C" LIMIT $4
"#;

/// realm, name, the key of its record, how many realms are looked at, how many are told of. Each is found by the primary
/// keys.
const ELSEWHERE: &str = r#"
SELECT r.realm, d.definition, m.mark
FROM (SELECT realm FROM floe.realm WHERE realm <> $1 ORDER BY realm COLLATE "C" LIMIT $4) AS r
JOIN floe.definition AS d ON d.realm = r.realm AND d.name = $2
LEFT JOIN floe.mark AS m ON m.realm = r.realm AND m.key = $3
ORDER BY r.realm COLLATE "C" LIMIT $5
"#;

const CLOCK: &str = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// realm, key, floor, count, ceiling (as in `RESERVE`). No row where too little is left: then a range is reserved.
const COUNT: &str = "
UPDATE floe.ahead AS a SET previous = a.used, used = greatest(a.used, $3) + $4
WHERE a.realm = $1 AND a.key = $2 AND a.used <= $5 AND greatest(a.used, $3) <= a.mark - $4
RETURNING a.previous, a.used
";

/// realm, key. Each of these is a statement of its own inside a transaction, so that it reads what was committed
/// before the lock was had.
const LOCK_MARK: &str = "SELECT mark FROM floe.mark WHERE realm = $1 AND key = $2 FOR UPDATE";

/// realm, key.
const LOCK_AHEAD: &str = "SELECT used, mark FROM floe.ahead WHERE realm = $1 AND key = $2 FOR UPDATE";

/// realm, key, previous, start, mark, token.
const WRITE_MARK: &str = "
UPDATE floe.mark SET previous = $3, start = $4, mark = $5, token = $6 WHERE realm = $1 AND key = $2
";

/// realm, key, previous, used, mark.
const WRITE_AHEAD: &str = "
INSERT INTO floe.ahead (realm, key, previous, used, mark) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (realm, key) DO UPDATE SET previous = $3, used = $4, mark = $5
";

/// realm, key, at least. What is left of a range that the raised mark has passed is nothing.
const RAISE_AHEAD: &str = "
UPDATE floe.ahead SET previous = used, used = least(greatest(used, $3), mark) WHERE realm = $1 AND key = $2
";
