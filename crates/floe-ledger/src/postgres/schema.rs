//! The checks before a ledger is used: the server's settings, and the tables.

use floe::ledger::LedgerError;

use super::queries::{Queries, Row, column};
use super::statements::in_schema;
use super::trouble;
use crate::options::let_be;
use crate::remote::{Wanted, realm as words};
use crate::{OpenError, Opening};

/// The version of the tables. Version 3 compares and swaps records; earlier versions had a column for each number.
const VERSION: i64 = 3;

/// The tables, for the schema `floe`; `docs/ledgers.md` repeats them for operators who make them by hand.
const TABLES: &str = include_str!("tables.sql");

/// The step from earlier versions, once the new tables exist. It keeps the former tables, and makes `PostgreSQL` tell
/// everyone who writes to them that a newer floe has taken over.
const FROM_2: &str = include_str!("from_2.sql");

/// floe is tested from this version on. Older ones lack `starts_with` (11), or have been out of support for years.
const OLDEST: i64 = 120_000;

/// `floe` in ASCII. A process that makes the tables holds this lock, so that two first starts do not collide.
const LOCK: i64 = 0x666c_6f65;

pub(super) const SETTINGS: &str = "
SELECT current_setting('server_version_num'), current_setting('server_version'), pg_is_in_recovery()::text,
       current_setting('fsync'), current_setting('full_page_writes'), current_setting('server_encoding')
";

/// The schema; whether it exists, whether its table `version` exists, which of floe's tables are not logged though they
/// have to be, which ones exist, and whether the server may lack what others have made.
const FIND: &str = "
SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1::text)::text,
       coalesce(bool_or(c.relname = 'version'), false)::text,
       string_agg(c.relname::text, ', ') FILTER (WHERE c.relname <> 'counting' AND c.relpersistence <> 'p'),
       string_agg(c.relname::text, ', '), pg_is_in_recovery()::text
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1::text AND c.relname IN ('version', 'record', 'counting')
";

/// Refuses a replica and a server that is still starting, by the `pg_is_in_recovery()` in a column of the first row. A
/// pooler may send any statement that only reads to one, and what it says may be out of date.
pub(super) fn check_recovery(found: &[Row], index: usize, shown: &str) -> Result<(), LedgerError> {
    if found.first().and_then(|row| column(row, index)) == Some("false") {
        return Ok(());
    }
    Err(LedgerError::Unavailable(format!(
        "{shown} is in recovery: it is a replica, or is still starting. Name the primary (with several hosts in the URL, \
         target_session_attrs=read-write finds it)"
    )))
}

/// Refuses a server that is not fit to keep marks, by the result of [`SETTINGS`], and adds a remark for each unexpected
/// finding.
pub(super) fn check_server(
    rows: &[Row],
    shown: &str,
    allow_unsafe: bool,
) -> Result<Vec<String>, LedgerError> {
    let found = |index| rows.first().and_then(|row| column(row, index)).unwrap_or_default();
    if found(0).parse().is_ok_and(|version: i64| version < OLDEST) {
        return Err(LedgerError::Unfit(format!(
            "{shown} is PostgreSQL {}, and floe needs 12 or newer: update the server",
            found(1)
        )));
    }
    check_recovery(rows, 2, shown)?;
    let why = [
        ("fsync", "a crash of the system or a loss of power takes back ranges that were handed out"),
        ("full_page_writes", "a crash in mid-write can leave a page that is neither old nor new"),
    ];
    let mut remarks = Vec::new();
    for (index, (setting, what)) in (3..).zip(why) {
        if found(index) != "on" {
            let finding = [&format!("has {setting} = off"), what, &format!("turn {setting} on")];
            let_be(allow_unsafe, shown, &mut remarks, finding)?;
        }
    }
    if found(5) != "UTF8" {
        return Err(LedgerError::Unfit(format!(
            "{shown} has the encoding {}, in which names cannot be kept exactly: make the database with ENCODING 'UTF8'",
            found(5)
        )));
    }
    Ok(remarks)
}

/// Makes missing tables, and updates those of an older floe. Returns the remarks.
pub(super) fn enter(
    queries: &dyn Queries,
    schema: &str,
    shown: &str,
    allow_unsafe: bool,
    opening: &Opening,
) -> Result<Vec<String>, OpenError> {
    let wanted = Wanted::at_open(opening);
    let mut remarks = Vec::new();
    let ask = |sql: &str, values: &[&str]| {
        queries.query(sql, values).map_err(|error| trouble::at_open(&error, shown))
    };
    let tables = ask(FIND, &[schema])?;
    check_recovery(&tables, 4, shown)?;
    let found = |index| tables.first().and_then(|row| column(row, index));
    if let Some(unlogged) = found(2) {
        let what = "PostgreSQL empties them after a crash";
        let way = "ALTER TABLE … SET LOGGED";
        let finding = [&format!("has unlogged tables ({unlogged})"), what, way];
        let_be(allow_unsafe, shown, &mut remarks, finding)?;
    }
    if found(1) != Some("true") {
        if !wanted.may_make(shown, &format!("the table {schema}.version"))? {
            return Err(opening.is_not_there(&[], shown).into());
        }
        // floe makes all its tables at once, so these belong to someone else.
        if let Some(others) = found(3) {
            return Err(LedgerError::Unfit(format!(
                "the schema {schema} at {shown} has tables of these names that are not floe's ({others}): give floe a schema of its own \
                 (schema=NAME in the URL)"
            ))
            .into());
        }
        // `CREATE SCHEMA IF NOT EXISTS` needs the right to create one even if it exists.
        let is_there = found(0) == Some("true");
        let make_schema =
            if is_there { String::new() } else { format!("CREATE SCHEMA IF NOT EXISTS \"{schema}\";\n") };
        ask(&in_turn(&format!("{make_schema}{}", in_schema(TABLES, schema))), &[])?;
    }
    let version = || -> Result<Option<i64>, OpenError> {
        let rows = ask(&in_schema("SELECT version::text FROM floe.version", schema), &[])?;
        Ok(rows.first().and_then(|row| column(row, 0)?.parse().ok()))
    };
    let mut found = version()?;
    if let Some(older @ 1..VERSION) = found {
        opening.may_change("the tables", older, shown)?;
        let former =
            ask(&in_schema("SELECT id FROM floe.realm WHERE realm = $1::text", schema), &[opening.realm()])?;
        if let Some(id) = former.first().and_then(|row| column(row, 0)) {
            opening.check_id(id, shown)?;
        }
        let step = in_schema(&format!("{TABLES}{FROM_2}"), schema);
        let is_older = format!("EXISTS (SELECT FROM floe.version WHERE version < {VERSION})");
        let is_older = in_schema(&is_older, schema);
        ask(&in_turn(&format!("IF {is_older} THEN\n{step}END IF;\n")), &[])?;
        found = version()?;
    }
    match found {
        Some(VERSION) => Ok(remarks),
        Some(newer) if newer > VERSION => Err(words::is_newer(shown, newer, VERSION).into()),
        _ => Err(LedgerError::Unfit(format!(
            "the table {schema}.version at {shown} holds no version that a floe has written: give floe a schema of its own \
             (schema=NAME in the URL)"
        ))
        .into()),
    }
}

/// One transaction in one statement, under the lock that only one process holds.
fn in_turn(sql: &str) -> String {
    format!("DO $floe$ BEGIN\nPERFORM pg_advisory_xact_lock({LOCK});\n{sql}END $floe$")
}
