//! The statements, one for each call, and why each is linearizable.
//!
//! All run as single statements, each a transaction of its own, and depend on no setting of the session. Their values and
//! their columns are texts, so that whatever speaks SQL can run them ([`Queries`](super::Queries)). Two properties of
//! PostgreSQL carry the argument:
//!
//! 1. All parts of one statement, the data-modifying parts of its WITH included, read one **snapshot**, taken while
//!    the statement runs. It holds every transaction whose commit anyone has heard of, and none whose WAL is not
//!    flushed (a transaction becomes visible after its flush, and after its synchronous standby has answered). So what
//!    `get` reads is right at the moment of the snapshot, which lies inside the call, and is durable.
//! 2. An UPDATE whose row another transaction has changed since the snapshot waits for that transaction, then checks
//!    its WHERE **again on the newest version of the row** (at READ COMMITTED; above that level it fails instead). So
//!    where `put` moves a row, the record was the expected one when it was locked, and is until the commit.
//!
//! A record's version is its text: no two writes of floe leave the same ([`floe::store`]). Where `put` moves nothing, the
//! statement returns the record of its snapshot, which may still be the expected one, if it was changed since.
//!
//! A commit waits for its flush (and its standby) by the value that `synchronous_commit` has when it commits. So each
//! statement that writes sets it for its own transaction, whatever the session says.
//!
//! # Counters
//! A counter's order is the cluster's, so each batch of callers needs the server, and would wait for a flush each. The
//! table `counting` spares most of them that: its row `[used, until)` is what is left of the range that the record says was
//! reserved last, and a count moves `used`, in a row of an **unlogged** table. Such an UPDATE is as atomic and as
//! ordered as any other, and its commit waits for no flush. After a crash PostgreSQL empties unlogged tables, and a replica
//! has never had their rows: what was left is lost with the row, and the next count goes on at the mark, above all that
//! was handed out (I1, I2). This is reserving a range durably and minting inside it once more, inside the server.
//!
//! A row is written only together with the record, while that is locked; others see both when they are committed, and so
//! flushed. Locks are taken in one order, `record` before `counting`.

/// The statements, for the tables in one schema.
pub(super) struct Statements {
    pub(super) get: String,
    pub(super) create: String,
    pub(super) put: String,
    pub(super) list: String,
    pub(super) take: String,
    pub(super) put_ahead: String,
    pub(super) skip: String,
}

impl Statements {
    pub(super) fn in_schema(schema: &str) -> Self {
        let [get, create, put, list, take, put_ahead, skip] =
            [GET, CREATE, PUT, LIST, TAKE, PUT_AHEAD, SKIP].map(|sql| in_schema(sql, schema));
        Self { get, create, put, list, take, put_ahead, skip }
    }
}

/// The statements and the tables are written for the schema `floe`. Where a parameter is no text to the server it is one by
/// name, since a client may ask the server for the types. `DURABLY` is set in each that writes.
pub(super) fn in_schema(sql: &str, schema: &str) -> String {
    sql.replace("DURABLY", DURABLY).replace("floe.", &format!("\"{schema}\"."))
}

/// The commit waits for its flush, and on the standby as long as the session wants.
const DURABLY: &str = "set_config('synchronous_commit', CASE current_setting('synchronous_commit') \
                       WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true)";

/// key. One row: the record, and whether the server is one from which marks must not be read.
const GET: &str = "
SELECT r.record, pg_is_in_recovery()::text FROM (SELECT 1) AS one LEFT JOIN floe.record AS r ON r.key = $1
";

/// key, record. A first column where it was made; where another record is there, that in the second one; else no row.
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

/// key, record, expected, the key of what is left, start, end.
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

/// the key of what is left, floor, count, the highest `used` that will do. What was used before and is now; else what is left.
const TAKE: &str = "
WITH taken AS (
    UPDATE floe.counting SET previous = used, used = greatest(used, $2::text::bigint) + $3::text::bigint
    WHERE key = $1 AND used <= $4::text::bigint AND greatest(used, $2::text::bigint) <= until - $3::text::bigint
    RETURNING previous, used
)
SELECT 'taken', previous::text, used::text FROM taken
UNION ALL SELECT 'left', used::text, until::text FROM floe.counting WHERE key = $1 AND NOT EXISTS (SELECT FROM taken)
";

/// the key of what is left, at least. Of a range that the raised mark has passed nothing is left.
const SKIP: &str = "
UPDATE floe.counting SET previous = used, used = least(greatest(used, $2::text::bigint), until) WHERE key = $1
";

/// prefix, after, limit.
const LIST: &str = "
SELECT key, record FROM floe.record
WHERE key >= $1 AND key > $2 AND starts_with(key, $1) ORDER BY key LIMIT $3::text::bigint
";

/// The server's clock.
pub(super) const TIME: &str = "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint::text";
