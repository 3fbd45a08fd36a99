//! The ledger over the program's own connections: a pool of sqlx, as docs/library.md shows it.

use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use floe::ledger::conformance;
use floe::ledger::{Ledger, LedgerError};
use floe_ledger::Opening;
use floe_ledger::postgres::{Postgres as Store, Queries, QueryError, Row};
use floe_testbed::Postgres;
use tokio::runtime::{Handle, Runtime};
use tokio_postgres::NoTls;
use tokio_postgres::types::ToSql;

use super::{WAITS_FOR_NO_FLUSH, is_flushed, open, schema};
use crate::real_servers::realm_of;
use crate::{ask, got, orders, says, until};

/// Under the names of the crate `sqlx`.
mod sqlx {
    pub(super) use sqlx_core_0_9::Error;
    pub(super) use sqlx_core_0_9::query::query;
    pub(super) use sqlx_core_0_9::row::Row;
    pub(super) use sqlx_core_0_9::sql_str::AssertSqlSafe;
    pub(super) use sqlx_postgres_0_9::{PgConnectOptions, PgPool, PgPoolOptions};
}

// From here to its end docs/library.md has it word for word.
struct Pool(sqlx::PgPool, Handle);

impl Queries for Pool {
    fn query(&self, sql: &str, values: &[&str]) -> Result<Vec<Row>, QueryError> {
        let mut query = sqlx::query(sqlx::AssertSqlSafe(sql.to_owned()));
        for value in values {
            query = query.bind(value.to_string());
        }
        let rows = self.1.block_on(query.fetch_all(&self.0)).map_err(failed)?;
        let texts = |row: &_| (0..sqlx::Row::len(row)).map(|index| sqlx::Row::try_get(row, index)).collect();
        rows.iter().map(texts).collect::<Result<_, _>>().map_err(failed)
    }
}

fn failed(error: sqlx::Error) -> QueryError {
    let code = error.as_database_error().and_then(|error| error.code());
    QueryError::new(code.as_deref(), &error)
}
// The end.

#[test]
fn the_documentation_has_it() {
    let this = include_str!("over.rs");
    let snippet = this.split("word for word.\n").nth(1).unwrap().split("// The end.").next().unwrap();
    assert!(include_str!("../../../../../../docs/library.md").contains(snippet), "{snippet}");
}

/// A runtime for all tests' pools, which lives as long as they do.
pub(super) fn runtime() -> &'static Runtime {
    static RUNTIME: std::sync::LazyLock<Runtime> = std::sync::LazyLock::new(|| Runtime::new().unwrap());
    &RUNTIME
}

/// A connection that runs what a test wants.
pub(super) fn client(url: &str) -> tokio_postgres::Client {
    runtime().block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    })
}

fn pool(url: &str) -> Pool {
    let limited = url.parse::<sqlx::PgConnectOptions>().unwrap().options([("statement_timeout", "5s")]);
    let pool = sqlx::PgPoolOptions::new().max_connections(4).acquire_timeout(Duration::from_secs(5));
    Pool(runtime().block_on(pool.connect_with(limited)).unwrap(), runtime().handle().clone())
}

/// The ledger of the realm `test` over a pool.
pub(super) fn over(url: &str) -> impl Ledger + use<> {
    Store::over(pool(url), "floe", &Opening::of("test")).unwrap()
}

#[test]
fn it_is_the_ledger_of_the_url_and_conforms() {
    let url = Postgres::shared().url();
    conformance::run(&|| {
        let (pool, realm) = (pool(&url), schema());
        realm_of(move || {
            let pool = Pool(pool.0.clone(), pool.1.clone());
            Box::new(Store::over(pool, "floe", &Opening::of(&realm)).unwrap())
        })
    });
    let schema = schema();
    let over = Store::over(pool(&url), &schema, &Opening::of("test")).unwrap();
    assert_eq!(over.describe(), format!("postgres:///postgres?schema={schema}"));
    let by_url = open(&format!("{url}?schema={schema}"));
    assert_eq!(got(&over, &ask(5)), (0, 5));
    assert_eq!(got(&*by_url, &ask(5)), (5, 10));
    assert_eq!(got(&over, &ask(5)), (10, 15));
    assert_eq!(over.realm_id(), by_url.realm_id());
    assert_eq!(by_url.list("", "", 10).unwrap()[0].key, orders().to_string());
}

/// A client that blocks when it is dropped, which is not allowed on a runtime's thread.
struct SaysGoodbye(Pool);

impl Queries for SaysGoodbye {
    fn query(&self, sql: &str, values: &[&str]) -> Result<Vec<Row>, QueryError> {
        self.0.query(sql, values)
    }
}

impl Drop for SaysGoodbye {
    fn drop(&mut self) {
        self.0.1.block_on(self.0.0.close());
    }
}

#[test]
fn the_last_floe_may_be_dropped_on_a_runtime_whose_client_blocks_to_say_goodbye() {
    let server = Postgres::start(&[]);
    let pool = SaysGoodbye(pool(&server.url()));
    let ledger = Store::over(pool, "floe", &Opening::of("test")).unwrap();
    runtime().block_on(async move { drop(ledger) });
}

/// A client that asks the server for the parameters' types, as most do, and has one connection for all calls.
struct Client(Mutex<tokio_postgres::Client>);

impl Queries for Client {
    fn query(&self, sql: &str, values: &[&str]) -> Result<Vec<Row>, QueryError> {
        let client = self.0.lock().unwrap();
        let values: Vec<_> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        let rows = runtime().block_on(client.query(sql, &values)).map_err(refused)?;
        let texts = |row: &tokio_postgres::Row| (0..row.len()).map(|index| row.try_get(index)).collect();
        rows.iter().map(texts).collect::<Result<_, _>>().map_err(refused)
    }
}

fn refused(error: tokio_postgres::Error) -> QueryError {
    QueryError::new(error.code().map(|code| code.code()), &error)
}

#[test]
fn a_client_that_asks_for_the_types_of_parameters_will_do() {
    let url = Postgres::shared().url();
    conformance::run(&|| {
        let (url, realm) = (url.clone(), schema());
        realm_of(move || {
            let client = Client(Mutex::new(client(&url)));
            Box::new(Store::over(client, "floe", &Opening::of(&realm)).unwrap())
        })
    });
}

#[test]
fn what_somebody_holds_is_waited_for_as_long_as_the_pool_says() {
    let server = Postgres::start(&[]);
    let ledger = over(&server.url());
    got(&ledger, &ask(5));
    let mut holder = Command::new(Postgres::tool("psql"))
        .args(["-X", "-q", "-h", "127.0.0.1", "-U", "postgres", "-p", &server.port().to_string()])
        .args(["-c", "BEGIN; LOCK TABLE floe.record; SELECT pg_sleep(600)"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let sleeps = "FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
    until("the lock to be held", || server.psql(&format!("SELECT count(*) {sleeps}")) != "0");
    let Err(LedgerError::Unavailable(text)) = ledger.reserve(&ask(1)) else { panic!("it is held") };
    says(&text, &["57014", "max_wait"]);
    server.psql(&format!("SELECT pg_terminate_backend(pid) {sleeps}"));
    holder.wait().unwrap();
    // The call that was cut off took no effect.
    assert_eq!(got(&ledger, &ask(1)), (5, 6));
}

#[test]
fn what_is_wrong_with_the_database_is_told() {
    let server = Postgres::start(&["fsync=off"]);
    let Err(unfit) = Store::over(pool(&server.url()), "floe", &Opening::of("test")) else {
        panic!("it lost writes")
    };
    says(&unfit, &["postgres:///postgres has fsync = off", "turn fsync on"]);
    let server = Postgres::start(&WAITS_FOR_NO_FLUSH);
    let Err(asked) = Store::over(pool(&server.url()), "Floe", &Opening::of("test")) else {
        panic!("a wrong schema")
    };
    says(&asked, &["\"Floe\" cannot be floe's schema", "a-z"]);
    let ledger = over(&server.url());
    for end in 1..=20 {
        assert_eq!(got(&ledger, &ask(1)), (end - 1, end));
        assert!(
            is_flushed(&server),
            "a session of the program waits for no flush, and the ledger does: range {end}"
        );
    }
    server.psql("DROP TABLE floe.record");
    let Err(LedgerError::Unfit(text)) = ledger.reserve(&ask(1)) else { panic!("its records are gone") };
    says(&text, &["lacks tables of floe", "record", "42P01", "marks raise"]);
    server.stop();
    let Err(LedgerError::Unavailable(text)) = ledger.reserve(&ask(1)) else { panic!("its server is gone") };
    says(&text, &["postgres:///postgres: ", "the program's own client says so"]);
}
