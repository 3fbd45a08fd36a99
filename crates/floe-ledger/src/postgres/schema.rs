//! What is looked at on every new connection: the server's settings, the tables, the realm.

use floe::ledger::LedgerError;
use tokio_postgres::{Client, Row};

use super::Trouble;
use super::statements::in_schema;
use super::url::Settings;
use crate::DEFAULT_REALM;
use crate::remote::options::let_be;
use crate::remote::{Wanted, realm as words};

/// The version of the tables. A migration is a step from each older version, in one transaction.
const VERSION: i32 = 2;

/// The tables, for the schema `floe`; `docs/ledgers.md` repeats them for those who make them by hand.
const TABLES: &str = include_str!("tables.sql");

/// The step from version 1, which did not remember which slots were made. Nobody makes one while it is taken.
const FROM_1: &str = include_str!("from_1.sql");

/// What floe is tested on from here up; older ones lack `starts_with` (11) or are out of support for years.
const OLDEST: i32 = 120_000;

/// `floe` in ASCII: whoever makes the tables holds this lock, so that two first starts do not collide.
const LOCK: i64 = 0x666c_6f65;

const SETTINGS: &str = "
SELECT current_setting('server_version_num')::int, current_setting('server_version'),
       pg_is_in_recovery(), current_setting('fsync'), current_setting('full_page_writes'),
       current_setting('synchronous_commit'), current_setting('server_encoding')
";

/// The schema, whether it is there, whether its table `version` is, and which of floe's tables are not logged.
const FIND: &str = "
SELECT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1),
       coalesce(bool_or(c.relname = 'version'), false),
       string_agg(c.relname::text, ', ') FILTER (WHERE c.relpersistence <> 'p')
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relname IN ('version', 'realm', 'mark', 'made', 'definition')
";

/// Refuses a server that is not fit to keep marks, sets the session up, and remarks on what was found otherwise than
/// one would expect.
pub(super) async fn check_server(
    client: &Client,
    settings: &Settings,
    remarks: &mut Vec<String>,
) -> Result<(), Trouble> {
    let row = client.query_one(SETTINGS, &[]).await.map_err(Trouble::Store)?;
    let shown = &settings.shown;
    if get::<i32>(&row, 0)? < OLDEST {
        return Err(unfit(format!(
            "{shown} is PostgreSQL {}, and floe needs 12 or newer: update the server",
            get::<&str>(&row, 1)?
        )));
    }
    if get(&row, 2)? {
        return Err(LedgerError::Unavailable(format!(
            "{shown} is in recovery: it is a replica, or has not come up yet. Name the primary (with several hosts in \
             the URL, target_session_attrs=read-write finds it)"
        ))
        .into());
    }
    let why = [
        ("fsync", "a crash of the system or a loss of power takes back ranges that were handed out"),
        ("full_page_writes", "a crash in mid-write can leave a page that is neither old nor new"),
    ];
    for (column, (setting, what)) in (3..).zip(why) {
        if get::<&str>(&row, column)? != "on" {
            let finding = [&format!("has {setting} = off"), what, &format!("turn {setting} on")];
            let_be(settings.allow_unsafe, shown, remarks, finding)?;
        }
    }
    if get::<&str>(&row, 6)? != "UTF8" {
        return Err(unfit(format!(
            "{shown} has the encoding {}, in which names cannot be kept exactly: make the database with ENCODING 'UTF8'",
            get::<&str>(&row, 6)?
        )));
    }
    let found = get::<&str>(&row, 5)?;
    let commit = if found == "remote_apply" { found } else { "on" };
    if commit != found {
        remarks.push(format!("synchronous_commit was {found}, and is {commit} for floe"));
    }
    // The bound of a call is the client's; this one ends what an abandoned call left waiting for a lock. It does not
    // end a commit that waits for its standby: PostgreSQL has stopped that clock by then.
    let session = format!(
        "SET synchronous_commit = {commit}; SET statement_timeout = {}; SET default_transaction_read_only = off; \
         SET default_transaction_isolation = 'read committed'; SET search_path = pg_catalog",
        settings.bounds.max_wait.as_millis()
    );
    client.batch_execute(&session).await.map_err(Trouble::Store)?;
    let row = client
        .query_one("SELECT current_setting('synchronous_commit')", &[])
        .await
        .map_err(Trouble::Store)?;
    if get::<&str>(&row, 0)? != commit {
        return Err(unfit(format!(
            "{shown} does not let floe set synchronous_commit = {commit}, without which a crash takes back ranges: set it \
             for the server or for this user"
        )));
    }
    Ok(())
}

/// Makes the tables and the realm where they are missing, and returns the realm's id. Where it is `known`, neither
/// may be missing.
pub(super) async fn enter(
    client: &Client,
    settings: &Settings,
    realm: &str,
    wanted: Wanted<'_>,
    remarks: &mut Vec<String>,
) -> Result<String, Trouble> {
    let (schema, shown) = (&settings.schema, &settings.shown);
    let row = client.query_one(FIND, &[schema]).await.map_err(Trouble::Store)?;
    if let Some(unlogged) = get::<Option<&str>>(&row, 2)? {
        let what = "PostgreSQL empties them after a crash";
        let way = "ALTER TABLE … SET LOGGED";
        let finding = [&format!("has unlogged tables ({unlogged})"), what, way];
        let_be(settings.allow_unsafe, shown, remarks, finding)?;
    }
    if !get(&row, 1)? {
        if !wanted.may_make(shown, &format!("the table {schema}.version"))? {
            return Err(wanted.is_not_there(realm, &[], shown).into());
        }
        make_tables(client, settings, get(&row, 0)?).await?;
    }
    let mut version = find_version(client, schema).await?;
    if version == Some(1) && wanted.may_change() {
        in_turn(client, &in_schema(FROM_1, schema)).await?;
        version = find_version(client, schema).await?;
    }
    match version {
        Some(VERSION) => {}
        // Good enough to look at.
        Some(1) if !wanted.may_change() => {}
        Some(newer) if newer > VERSION => {
            return Err(words::is_newer(shown, newer.into(), VERSION.into()).into());
        }
        _ => {
            return Err(unfit(format!(
                "the table {schema}.version at {shown} holds no version that a floe has written: give floe a schema of \
                 its own (schema=NAME in the URL)"
            )));
        }
    }
    enter_realm(client, settings, realm, wanted).await
}

async fn make_tables(client: &Client, settings: &Settings, schema_exists: bool) -> Result<(), Trouble> {
    let schema = &settings.schema;
    // To ask for a schema that is there still takes the right to make one.
    let make_schema =
        if schema_exists { String::new() } else { format!("CREATE SCHEMA IF NOT EXISTS \"{schema}\";") };
    let tables = in_schema(TABLES, schema);
    in_turn(client, &format!("{make_schema} {tables}")).await
}

/// One transaction, and nobody else's at a time.
async fn in_turn(client: &Client, sql: &str) -> Result<(), Trouble> {
    let sql = format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK}); {sql} COMMIT;");
    client.batch_execute(&sql).await.map_err(Trouble::Store)
}

async fn find_version(client: &Client, schema: &str) -> Result<Option<i32>, Trouble> {
    let sql = in_schema("SELECT version FROM floe.version", schema);
    let version = client.query_opt(&sql, &[]).await.map_err(Trouble::Store)?;
    version.map(|row| get(&row, 0)).transpose()
}

async fn enter_realm(
    client: &Client,
    settings: &Settings,
    realm: &str,
    wanted: Wanted<'_>,
) -> Result<String, Trouble> {
    let (schema, shown) = (&settings.schema, &settings.shown);
    let find = in_schema("SELECT id FROM floe.realm WHERE realm = $1", schema);
    let stored = client.query_opt(&find, &[&realm]).await.map_err(Trouble::Store)?;
    if let Some(row) = stored {
        if wanted.asks_for_others() {
            words::is_the_only_one(realm, &others(client, settings, realm).await?, shown)?;
        }
        return get(&row, 0);
    }
    let may_make = wanted.may_make(shown, &format!("the realm {realm}"))?;
    if realm == DEFAULT_REALM || !may_make {
        // Another process may make the same one meanwhile: that is not another realm.
        let others = others(client, settings, realm).await?;
        if !may_make {
            return Err(wanted.is_not_there(realm, &others, shown).into());
        }
        words::may_be_made(realm, &others, shown)?;
    }
    let id = words::fresh_id()?;
    let make = in_schema("INSERT INTO floe.realm (realm, id) VALUES ($1, $2) ON CONFLICT DO NOTHING", schema);
    client.execute(&make, &[&realm, &id]).await.map_err(Trouble::Store)?;
    let row = client.query_one(&find, &[&realm]).await.map_err(Trouble::Store)?;
    get(&row, 0)
}

async fn others(client: &Client, settings: &Settings, realm: &str) -> Result<Vec<String>, Trouble> {
    let others = "SELECT realm FROM floe.realm WHERE realm <> $1 ORDER BY 1 LIMIT 20";
    let rows = client.query(&in_schema(others, &settings.schema), &[&realm]).await.map_err(Trouble::Store)?;
    rows.iter().map(|row| get(row, 0)).collect()
}

fn unfit(text: String) -> Trouble {
    LedgerError::Unfit(text).into()
}

fn get<'a, T: tokio_postgres::types::FromSql<'a>>(row: &'a Row, index: usize) -> Result<T, Trouble> {
    row.try_get(index).map_err(Trouble::Store)
}
