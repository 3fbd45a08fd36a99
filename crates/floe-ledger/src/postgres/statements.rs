//! The statements, one for each call, and why each is linearizable.
//!
//! Each is a single statement and a transaction of its own, and depends on no session setting. Their values and columns
//! are texts, so any SQL client can run them ([`Queries`](super::Queries)). The argument rests on two properties of
//! PostgreSQL:
//!
//! 1. All parts of one statement, including the data-modifying parts of its WITH, read one **snapshot**, taken while
//!    the statement runs. It holds every transaction whose commit anyone has heard of, and none with an unflushed WAL (a
//!    transaction becomes visible after its flush, and after its synchronous standby has answered). So what `get` reads
//!    is right at the moment of the snapshot, which lies inside the call, and is durable. A crash makes one exception: the
//!    restarted server shows what it had flushed before the standby answered. So before a range is handed out that was only
//!    read, `settle` writes, and its commit waits for the standby: the WAL goes there in order.
//! 2. If another transaction has changed an UPDATE's row since the snapshot, the UPDATE waits for that transaction,
//!    then checks its WHERE **again on the newest version of the row** (at READ COMMITTED; above that level it fails).
//!    So if `put` changes a row, the record was the expected one when it was locked, and stays it until the commit.
//!
//! A record's version is its text: no two writes of floe leave the same ([`floe::store`]). If `put` changes nothing,
//! the statement returns the record of its snapshot. That may still be the expected one, if it was changed since.
//!
//! A commit waits for its flush (and its standby) by the value of `synchronous_commit` at the commit. So each statement
//! that writes sets it for its own transaction, whatever the session's value is.
//!
//! # Counters
//! A counter's order belongs to the cluster, so each batch of callers needs the server, and would wait for a flush each.
//! The table `counting` spares most of them that. Its row `[used, until)` is the rest of the range that the record says was
//! reserved last. A count changes `used`, in a row of an **unlogged** table. Such an UPDATE is as atomic and as ordered as
//! any other, and its commit waits for no flush. After a crash PostgreSQL empties unlogged tables, and a replica never has
//! their rows. Then the rest is lost with the row, and the next count continues at the mark, above all numbers handed out
//! (I1, I2). So inside the server, too, a range is reserved durably before its numbers are minted.
//!
//! A row is written only together with the record, while that is locked. Others see both when they are committed, and
//! so flushed. Locks are taken in one order, `record` before `counting`.

/// The statements, for the tables in one schema.
pub(super) struct Statements {
    pub(super) get: String,
    pub(super) create: String,
    pub(super) put: String,
    pub(super) list: String,
    pub(super) take: String,
    pub(super) put_ahead: String,
    pub(super) skip: String,
    pub(super) settle: String,
}

impl Statements {
    pub(super) fn in_schema(schema: &str) -> Self {
        let [get, create, put, list, take, put_ahead, skip, settle] =
            [GET, CREATE, PUT, LIST, TAKE, PUT_AHEAD, SKIP, SETTLE].map(|sql| in_schema(sql, schema));
        Self { get, create, put, list, take, put_ahead, skip, settle }
    }
}

/// The statements and the tables are written for the schema `floe`. If the server does not take a parameter as text, a cast
/// by name makes it one, because a client may ask the server for the types. Each statement that writes sets `DURABLY`.
pub(super) fn in_schema(sql: &str, schema: &str) -> String {
    sql.replace("DURABLY", DURABLY).replace("floe.", &format!("\"{schema}\"."))
}

/// The commit waits for its flush, and for the standby as long as the session wants.
const DURABLY: &str = "set_config('synchronous_commit', CASE current_setting('synchronous_commit') \
                       WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)";

/// key. One row: the record, and whether marks must not be read from this server.
const GET: &str = "
SELECT r.record, pg_is_in_recovery()::text FROM (SELECT 1) AS one LEFT JOIN floe.record AS r ON r.key = $1
";

/// key, record. The first column is set if it was made. If another record exists, the second column has it; else no row.
const CREATE: &str = "
WITH done AS (
    INSERT INTO floe.record (key, record) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING DURABLY AS durably
)
SELECT durably, NULL FROM done
UNION ALL SELECT NULL, record FROM floe.record WHERE key = $1 AND NOT EXISTS (SELECT FROM done)
";

/// key, record, expected. As above.
const PUT: &str = "
WITH done AS (
    UPDATE floe.record SET record = $2 WHERE key = $1 AND record = $3 RETURNING DURABLY AS durably
)
SELECT durably, NULL FROM done
UNION ALL SELECT NULL, record FROM floe.record WHERE key = $1 AND NOT EXISTS (SELECT FROM done)
";

/// key, record, expected, the key of the remaining range, start, end.
const PUT_AHEAD: &str = "
WITH done AS (
    UPDATE floe.record SET record = $2 WHERE key = $1 AND record = $3 RETURNING DURABLY AS durably
), ahead AS (
    INSERT INTO floe.counting AS c (key, previous, used, until)
    SELECT $4::text, $5::text::bigint, $5::text::bigint, $6::text::bigint FROM done
    ON CONFLICT (key) DO UPDATE
    SET used = CASE c.until WHEN excluded.used THEN c.used ELSE excluded.used END, until = excluded.until
)
SELECT durably, NULL FROM done
UNION ALL SELECT NULL, record FROM floe.record WHERE key = $1 AND NOT EXISTS (SELECT FROM done)
";

/// the key of the remaining range, floor, count, the highest allowed `used`. Returns `used` before and now, or the rest.
const TAKE: &str = "
WITH taken AS (
    UPDATE floe.counting SET previous = used, used = greatest(used, $2::text::bigint) + $3::text::bigint
    WHERE key = $1 AND used <= $4::text::bigint AND greatest(used, $2::text::bigint) <= until - $3::text::bigint
    RETURNING previous, used
)
SELECT 'taken', previous::text, used::text FROM taken
UNION ALL SELECT 'left', used::text, until::text FROM floe.counting WHERE key = $1 AND NOT EXISTS (SELECT FROM taken)
";

/// the key of the remaining range, at least. If the raised mark is past the range, nothing of it is left.
const SKIP: &str = "
UPDATE floe.counting SET previous = used, used = least(greatest(used, $2::text::bigint), until) WHERE key = $1
";

/// A record that nobody reads and no list shows.
const SETTLE: &str = "
INSERT INTO floe.record (key, record) VALUES ('settled', $1)
ON CONFLICT (key) DO UPDATE SET record = excluded.record RETURNING DURABLY
";

/// prefix, after, limit. At least one row, with NULLs if there is no record; the third column is the second one of [`GET`].
const LIST: &str = "
SELECT r.key, r.record, pg_is_in_recovery()::text FROM (SELECT 1) AS one LEFT JOIN (
    SELECT key, record FROM floe.record
    WHERE key >= $1 AND key > $2 AND starts_with(key, $1) ORDER BY key LIMIT $3::text::bigint
) AS r ON true ORDER BY r.key
";

/// The server's clock.
pub(super) const TIME: &str = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint::text";
