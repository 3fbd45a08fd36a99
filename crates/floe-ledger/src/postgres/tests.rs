//! URLs and the environment, without a server.

use std::collections::HashMap;
use std::fs;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use floe::ledger::LedgerError;
use floe::store::{Counting as _, Store as _, Taken};

use super::queries::DroppedApart;
use super::statements::Statements;
use super::trouble::{at_open, at_work};
use super::url::Settings;
use super::{Postgres, Queries, QueryError, Row, schema};
use crate::remote::ssl_mode::Verify;
use crate::remote::tests::{golden, kind};
use crate::remote::url::Reach;
use crate::{OpenError, Opening};

fn parse(url: &str, environment: &[(&str, &str)]) -> Result<Settings, OpenError> {
    let environment: HashMap<_, _> = environment.iter().copied().collect();
    Settings::parse(url, &|variable| environment.get(variable).map(|value| (*value).to_owned()))
}

#[track_caller]
fn refused(url: &str, environment: &[(&str, &str)]) -> String {
    match parse(url, environment) {
        Err(error) => error.to_string(),
        Ok(settings) => panic!("{url} was taken as {}", settings.reach.shown),
    }
}

#[test]
fn what_is_shown_has_no_credentials() {
    for (url, shown) in [
        ("postgres://floe:secret@db/ids", "postgres://db:5432/ids"),
        ("postgresql://floe:s%40cret@db:6000/ids?schema=shop", "postgres://db:6000/ids?schema=shop"),
        ("postgres://floe:sec?ret@db/ids?max_wait=1s", "postgres://db:5432/ids"),
        ("postgres://floe:secret@a:1,b:2/ids", "postgres://a:1,b:2/ids"),
        ("postgres://floe:secret@[::1]:7/ids", "postgres://[::1]:7/ids"),
        ("postgres:///ids?host=a&host=b&port=7&user=u&password=secret", "postgres://a:7,b:7/ids"),
        (
            "postgres:///ids?host=/run/postgresql&user=u&password=secret",
            "postgres:///run/postgresql:5432/ids",
        ),
    ] {
        assert_eq!(parse(url, &[]).unwrap().reach.shown, shown);
    }
}

#[test]
fn what_cannot_be_right_is_refused_and_no_password_repeated() {
    for (url, part) in [
        ("postgres://floe:secret@db:port/ids", "no URL of a PostgreSQL database"),
        ("postgres://floe:sec/ret?a@db/ids", "%3F for ?"),
        ("postgres://floe:secret@db/ids?secret=1", "has no option `secret`: it has schema"),
        ("postgres:///ids", "names no host"),
        ("postgres://db/ids?max_wait=soon", "500ms or 10s"),
        ("postgres://db/ids?max_wait=1ms", "from 100ms"),
        ("postgres://db/ids?schema=Shop", "a-z"),
        ("postgres://db/ids?schema=a\".b", "a-z"),
        // PostgreSQL would leave out the last letter, and the schema be another one's.
        (&format!("postgres://db/ids?schema={}", "a".repeat(64)), "at most 63"),
        ("postgres://db/ids?unsafe=yes", "allow or refuse"),
        ("postgres://db/ids?sslmode=allow", "verify-full"),
        ("postgres://db/ids?sslmode=verify-full", "sslrootcert=FILE"),
        ("postgres://db/ids?sslrootcert=ca.pem", "sslmode=verify-full"),
    ] {
        let text = refused(url, &[]);
        assert!(text.contains(part), "`{part}` is not in: {text}");
        assert!(!text.contains("sec:") && !text.contains("floe:sec") && !text.contains("ret@"), "{text}");
    }
}

#[test]
fn a_schema_may_have_63_letters_and_each_host_its_share_of_the_time_to_connect() {
    let schema = "a".repeat(63);
    assert_eq!(parse(&format!("postgres://db/ids?schema={schema}"), &[]).unwrap().schema, schema);
    for (hosts, options, millis) in [
        ("a", "", 3_000),
        ("a,b", "", 1_500),
        ("a,b", "?connect_timeout=2", 1_000),
        ("a,b,c", "?connect_timeout=0", 1_000),
    ] {
        let settings = parse(&format!("postgres://{hosts}/ids{options}"), &[]).unwrap();
        let time = settings.config.get_connect_timeout().map(Duration::as_millis);
        assert_eq!(time, Some(millis), "{hosts}{options}");
    }
}

#[test]
fn the_environment_completes_the_url() {
    let settings = parse("postgres://db/ids", &[("PGUSER", "floe"), ("PGPASSWORD", "secret")]).unwrap();
    assert_eq!(settings.config.get_user(), Some("floe"));
    assert_eq!(settings.config.get_password(), Some(b"secret".as_slice()));
    let settings =
        parse("postgres://me:mine@db/ids", &[("PGUSER", "floe"), ("PGPASSWORD", "secret")]).unwrap();
    assert_eq!(settings.config.get_user(), Some("me"));
    assert_eq!(settings.config.get_password(), Some(b"mine".as_slice()));
    let environment = [("PGSSLMODE", "verify-full"), ("PGSSLROOTCERT", "/ca.pem")];
    assert_eq!(
        parse("postgres://db/ids", &environment).unwrap().reach.tls.verify,
        Verify::Full("/ca.pem".into())
    );
    assert_eq!(
        parse("postgres://db/ids?sslmode=require", &environment).unwrap().reach.tls.verify,
        Verify::Chain("/ca.pem".into())
    );
}

#[cfg(unix)]
#[test]
fn a_passfile_is_read_as_libpq_reads_it() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(".pgpass");
    // A line that is empty or has a field too few names no password.
    let lines = [
        "#db:*:*:*:comment",
        "",
        "db:5432:ids:short",
        "db:5432:short",
        "other:*:*:*:no",
        r"db:5432:ids:floe:a\:b\\c:d",
        "db:5432:floe:floe:of its own",
        "*:*:*:floe:last",
    ];
    fs::write(&file, lines.join("\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let home = dir.path().to_str().unwrap();
    let password = |url: &str, environment: &[(&str, &str)]| {
        parse(url, environment)
            .unwrap()
            .config
            .get_password()
            .map(|password| String::from_utf8(password.to_vec()).unwrap())
    };
    assert_eq!(password("postgres://floe@db/ids", &[("HOME", home)]).as_deref(), Some("a:b\\c:d"));
    assert_eq!(password("postgres://floe@db:1/ids", &[("HOME", home)]).as_deref(), Some("last"));
    // The database is then the user's.
    assert_eq!(password("postgres://floe@db", &[("HOME", home)]).as_deref(), Some("of its own"));
    assert_eq!(
        password("postgres://floe@%23db/ids", &[("HOME", home)]).as_deref(),
        Some("last"),
        "no comment"
    );
    let named = [("HOME", "/nowhere"), ("PGPASSFILE", file.to_str().unwrap())];
    assert_eq!(password("postgres://floe@db/ids", &named).as_deref(), Some("a:b\\c:d"));
    assert_eq!(password("postgres://floe@db/ids", &[("HOME", "/nowhere")]), None);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(refused("postgres://floe@db/ids", &named).contains("chmod 600"));
    assert_eq!(password("postgres://another@db/ids", &named), None, "nothing is taken from it");
}

#[test]
fn a_password_file_is_the_password_and_stands_alone() {
    use std::os::unix::fs::PermissionsExt;

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("password");
    fs::write(&file, "s3cret\n").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let url = |user: &str| format!("postgres://{user}@db/ids?password_file={}", file.display());
    let settings = parse(&url("floe"), &[("PGPASSWORD", "another")]).unwrap();
    assert_eq!(settings.config.get_password(), Some(&b"s3cret"[..]));
    assert!(refused(&url("floe:word"), &[]).contains("leave one out"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(refused(&url("floe"), &[]).contains("chmod 600"));
}

#[test]
fn every_url_means_what_it_meant() {
    golden("postgres", |url, environment| {
        let Settings { config, schema, reach } = Settings::parse(url, environment)?;
        let Reach { shown, bounds, tls, allows_unsafe } = reach;
        let rest = format!(
            "at={:?} {:?} {:?} user={:?} password={:?} database={:?} {:?} {:?} {:?} {:?} schema={schema} tls={:?} \
             wait={:?} connect={:?} unsafe={allows_unsafe}",
            config.get_hosts(),
            config.get_hostaddrs(),
            config.get_ports(),
            config.get_user(),
            config.get_password().map(String::from_utf8_lossy),
            config.get_dbname(),
            config.get_options(),
            config.get_application_name(),
            config.get_ssl_mode(),
            config.get_keepalives_idle(),
            tls.verify,
            bounds.max_wait,
            bounds.connect
        );
        Ok((shown, rest))
    });
}

/// A server that answers each statement with the same row.
struct Answering(Vec<Option<&'static str>>);

impl Queries for Answering {
    fn query(&self, _: &str, _: &[&str]) -> Result<Vec<Row>, QueryError> {
        Ok(vec![self.0.iter().map(|text| text.map(str::to_owned)).collect()])
    }
}

/// Over the program's own connections, whose URL floe does not see, `unsafe=allow` cannot be said.
#[test]
fn a_programs_own_connections_are_checked_and_nothing_is_let_be() {
    struct Showing([&'static str; 6], Option<&'static str>);
    impl Queries for Showing {
        fn query(&self, sql: &str, _: &[&str]) -> Result<Vec<Row>, QueryError> {
            let text = |text: &str| Some(text.to_owned());
            Ok(vec![match sql {
                schema::SETTINGS => self.0.map(text).to_vec(),
                "SELECT current_database()::text" => vec![text("ids")],
                _ => {
                    vec![text("true"), text("true"), self.1.map(str::to_owned), text("record"), text("false")]
                }
            }])
        }
    }
    let fit = ["170002", "17.2", "false", "on", "on", "UTF8"];
    for (settings, unlogged, part) in [
        (["110022", "11.22", "false", "on", "on", "UTF8"], None, "floe needs 12 or newer"),
        (["170002", "17.2", "false", "off", "on", "UTF8"], None, "has fsync = off"),
        (["170002", "17.2", "false", "on", "off", "UTF8"], None, "has full_page_writes = off"),
        (["170002", "17.2", "false", "", "on", "UTF8"], None, "has fsync = off"),
        (["170002", "17.2", "false", "on", "", "UTF8"], None, "has full_page_writes = off"),
        (["170002", "17.2", "false", "on", "on", "LATIN1"], None, "has the encoding LATIN1"),
        (fit, Some("record"), "has unlogged tables (record)"),
    ] {
        let refused = Postgres::over(Showing(settings, unlogged), "floe", &Opening::of("test")).map(drop);
        let Err(OpenError::Ledger(LedgerError::Unfit(text))) = refused else { panic!("{part}: {refused:?}") };
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    for (schema, realm) in [("floe", "a/b"), ("Shop", "test")] {
        let refused = Postgres::over(Showing(fit, None), schema, &Opening::of(realm)).map(drop);
        assert!(matches!(refused, Err(OpenError::Asked(_))), "{schema} {realm}: {refused:?}");
    }
}

/// A store whose server answers everything with this row.
fn answering(row: Vec<Option<&'static str>>) -> Postgres {
    let statements = Statements::in_schema("floe");
    let (shown, described) = ("postgres:".to_owned(), String::new());
    Postgres { queries: Box::new(Answering(row)), statements, shown, described }
}

#[test]
fn a_count_is_handed_out_only_if_it_is_a_number() {
    let taken = |row: &[Option<&'static str>]| {
        answering(row.to_vec()).take("mark/shop/n/orders@id", 0, 5, u64::MAX >> 1)
    };
    assert_eq!(taken(&[Some("taken"), Some("3"), Some("8")]), Ok(Taken::Numbers { previous: 3, end: 8 }));
    assert_eq!(taken(&[Some("left"), Some("8"), Some("90")]), Ok(Taken::Left(Some(8..90))));
    for row in [
        [Some("taken"), None, Some("8")].as_slice(),
        &[Some("taken"), Some("3"), Some("x")],
        &[Some("taken"), Some("-3"), Some("8")],
        &[Some("left"), Some("8"), None],
        &[Some("odd"), Some("3"), Some("8")],
        &[None, Some("3"), Some("8")],
        &[],
    ] {
        let outcome = taken(row);
        let Err(LedgerError::Unfit(text)) = outcome else { panic!("{row:?}: {outcome:?}") };
        assert!(text.contains("answered a count without a number"), "{text}");
    }
}

/// A pooler or a failover may put a replica in the place of the server that was checked. A replica may lag behind.
#[test]
fn what_a_replica_says_is_no_record() {
    let get = |row| answering(row).get("mark/shop/n/orders");
    assert_eq!(get(vec![Some("a record"), Some("false")]).unwrap().unwrap().text, "a record");
    assert_eq!(get(vec![None, Some("false")]), Ok(None));
    for row in [vec![Some("a record"), Some("true")], vec![None, Some("true")], vec![None, None], vec![]] {
        let got = get(row);
        assert!(matches!(got, Err(LedgerError::Unavailable(_))), "{got:?}");
    }
    // Whoever raises every mark would pass over those that it lacks.
    let list = |row| answering(row).list("mark/shop/", "", 9);
    let (key, record) = (Some("mark/shop/n/orders"), Some("a record"));
    let pair = ("mark/shop/n/orders".to_owned(), "a record".to_owned());
    assert_eq!(list(vec![key, record, Some("false")]), Ok(vec![pair]));
    assert_eq!(list(vec![None, None, Some("false")]), Ok(Vec::new()));
    for row in [vec![key, record, Some("true")], vec![None, None, Some("true")], vec![key, record], vec![]] {
        let listed = list(row);
        assert!(matches!(listed, Err(LedgerError::Unavailable(_))), "{listed:?}");
    }
    // Tables that it lacks may be there.
    let tables = answering(vec![Some("false"), Some("false"), None, None, Some("true")]);
    let entered =
        schema::enter(&*tables.queries, "floe", "postgres:", false, &Opening::of("shop").existing());
    assert!(
        matches!(&entered, Err(OpenError::Ledger(LedgerError::Unavailable(text))) if text.contains("in recovery")),
        "{entered:?}"
    );
}

#[test]
fn a_replica_is_refused_by_its_settings_alone() {
    for says in [Some("true"), None] {
        let settings = [Some("170002"), Some("17.2"), says, Some("on"), Some("on"), Some("UTF8")];
        let settings = settings.map(|text| text.map(str::to_owned)).to_vec();
        let checked = schema::check_server(&[settings], "postgres:", true);
        assert!(
            matches!(&checked, Err(LedgerError::Unavailable(text)) if text.contains("in recovery")),
            "{checked:?}"
        );
    }
}

#[test]
fn no_option_lets_in_a_server_that_cannot_keep_records() {
    let checked = |settings: [&str; 6]| {
        let settings = settings.map(|text| Some(text.to_owned())).to_vec();
        schema::check_server(&[settings], "postgres:", true)
    };
    let remarks = checked(["170002", "17.2", "false", "off", "on", "UTF8"]);
    assert!(matches!(remarks.as_deref(), Ok([remark]) if remark.contains("has fsync = off")), "{remarks:?}");
    for settings in
        [["110022", "11.22", "false", "on", "on", "UTF8"], ["170002", "17.2", "false", "on", "on", "LATIN1"]]
    {
        let refused = checked(settings);
        assert!(matches!(refused, Err(LedgerError::Unfit(_))), "{settings:?}: {refused:?}");
    }
}

/// A client that fails each statement, and tells on which thread it is dropped.
struct Failing(Option<&'static str>, mpsc::Sender<Option<String>>);

impl Queries for Failing {
    fn query(&self, _: &str, _: &[&str]) -> Result<Vec<Row>, QueryError> {
        Err(QueryError::new(self.0, "its words"))
    }
}

impl Drop for Failing {
    fn drop(&mut self) {
        self.1.send(thread::current().name().map(str::to_owned)).unwrap();
    }
}

#[test]
fn an_error_of_the_database_is_not_told_as_one_of_the_programs_client() {
    let (says_thread, thread_of) = mpsc::channel();
    for (code, told) in [
        (Some("42P01"), "its words (42P01)"),
        (None, "its words (the program's own client says so: look at its settings, too)"),
    ] {
        let queries = DroppedApart::new(Failing(code, says_thread.clone()));
        assert_eq!(queries.query("SELECT 1", &[]).unwrap_err().to_string(), told);
        drop(queries);
        // An operator who sees the process hang there knows whose it is.
        assert_eq!(thread_of.recv().unwrap().as_deref(), Some("floe-postgres"));
    }
}

#[test]
fn a_server_is_used_from_version_12_on() {
    let checked = |number: &str, version: &str| {
        let settings = [number, version, "false", "on", "on", "UTF8"];
        schema::check_server(&[settings.map(|text| Some(text.to_owned())).to_vec()], "postgres:", false)
    };
    for (number, version) in [("120000", "12.0"), ("120022", "12.22 (Debian 12.22-1)"), ("170002", "17.2")] {
        assert_eq!(checked(number, version), Ok(Vec::new()), "{version}");
    }
    for (number, version) in [("119999", "11.99"), ("110022", "11.22"), ("90624", "9.6.24")] {
        let Err(LedgerError::Unfit(text)) = checked(number, version) else { panic!("{version} is used") };
        assert!(text.contains(&format!("is PostgreSQL {version}, and floe needs 12 or newer")), "{text}");
    }
}

#[test]
fn each_error_has_its_kind_and_its_way_out() {
    let look = "whether the server runs";
    for (code, text, expected, way_out) in [
        (Some("28P01"), "its words", "asked", "pg_hba.conf"),
        (Some("28000"), "its words", "asked", "pg_hba.conf"),
        (Some("3D000"), "its words", "asked", "createdb"),
        (Some("42501"), "its words", "asked", "docs/ledgers.md"),
        (Some("25006"), "its words", "unavailable", "name the primary"),
        (Some("53300"), "its words", "unavailable", "max_connections"),
        (Some("57014"), "its words", "unavailable", "raise max_wait"),
        (Some("53100"), "its words", "unavailable", "make room"),
        (Some("57P01"), "its words", "unavailable", look),
        (None, "password missing", "asked", "passfile"),
        (None, "server does not support TLS", "asked", "sslmode=disable"),
        (None, "its words", "unavailable", look),
    ] {
        let error = QueryError::new(code, text);
        let opened = at_open(&error, "postgres:");
        assert_eq!(kind(&opened), expected, "{opened}");
        // Later, a password, a right or a setting may be changed back.
        let worked = at_work(&error, "postgres:");
        assert!(matches!(worked, LedgerError::Unavailable(_)), "{worked:?}");
        for told in [opened.to_string(), worked.to_string()] {
            assert!(told.contains(way_out) && told.contains(text), "`{way_out}` is not in: {told}");
        }
    }
    for code in ["42P01", "42703", "3F000"] {
        let gone = QueryError::new(Some(code), "its words");
        assert_eq!(kind(&at_open(&gone, "postgres:")), "unfit", "{code}");
        let worked = at_work(&gone, "postgres:");
        assert!(
            matches!(&worked, LedgerError::Unfit(text) if text.contains("restore")),
            "{code}: {worked:?}"
        );
    }
}
