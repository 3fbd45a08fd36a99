//! What is looked at when a ledger is opened, and what it says.

use floe::Name;
use floe::ledger::{Key, Ledger, LedgerError, Reply, Reserve};
use floe_ledger::OpenError;

use super::{Etcd, open, prefix, refused, url};
use crate::{ask, got, orders, says};

/// Lets in nobody but `root`, `stranger`, who has no rights, and `user`, who may read and write these keys.
pub(super) fn let_in(server: &Etcd, user: &str, keys: &[&str]) {
    let control = |command: &str| server.control(&command.split(' ').collect::<Vec<_>>());
    control("user add root:root");
    control("user grant-role root root");
    control("user add stranger:right");
    control(&format!("role add {user}"));
    for key in keys {
        control(&format!("role grant-permission {user} readwrite {key}"));
    }
    control(&format!("user add {user}:right"));
    control(&format!("user grant-role {user} {user}"));
    control("auth enable");
}

/// Lets in `floe`, who may do what docs/ledgers.md says.
fn with_users(server: &Etcd) {
    let_in(server, "floe", &["--prefix /floe/"]);
}

/// The URL of the user `one`.
pub(super) fn url_of_one(server: &Etcd) -> String {
    format!("etcd://one:right@127.0.0.1:{}/floe", server.port())
}

#[test]
fn a_wrong_password_or_user_is_named_and_not_repeated() {
    let server = Etcd::start(&[]);
    let anybody = open(&server.url());
    assert_eq!(got(&*anybody, &ask(1)), (0, 1));
    // etcd asks for no password yet, and gets one all the same.
    drop(open(&format!("etcd://floe:right@127.0.0.1:{}/floe", server.port())));
    with_users(&server);
    let at = |user: &str| format!("etcd://{user}127.0.0.1:{}/floe", server.port());
    for user in ["floe:wr0ng@", "nobody:wr0ng@"] {
        let wrong = refused(&at(user));
        says(&wrong, &["authentication failed", "ETCDCTL_PASSWORD"]);
        assert!(matches!(wrong, OpenError::Asked(_)) && !wrong.to_string().contains("wr0ng"), "{wrong}");
    }
    let nobody = refused(&at(""));
    assert!(matches!(nobody, OpenError::Asked(_)), "{nobody:?}");
    says(&nobody, &["user name is empty", "ETCDCTL_USER"]);
    let stranger = refused(&at("stranger:right@"));
    assert!(matches!(stranger, OpenError::Asked(_)), "{stranger:?}");
    says(&stranger, &["permission denied", "docs/ledgers.md"]);

    // Who was let in before is asked for a name now, which is no reason to stop for good.
    let Err(LedgerError::Unavailable(text)) = anybody.reserve(&ask(1)) else { panic!("anybody may write") };
    says(&text, &["user name is empty"]);
    let ledger = open(&at("floe:right@"));
    assert_eq!(got(&*ledger, &ask(1)), (1, 2));
    assert_eq!(ledger.describe(), format!("etcd://127.0.0.1:{}/floe", server.port()));
    assert!(ledger.is_shared());
}

#[test]
fn who_may_read_one_realm_alone_is_told_of_no_other() {
    let server = Etcd::start(&[]);
    let name = Name::new("orders").unwrap();
    open(&server.url());
    floe_ledger::open_in(&server.url(), "other").unwrap().bind(&name, "uuid4", false).unwrap();
    let keys = [
        "/floe/version",
        "/floe/realm/test",
        "--prefix /floe/mark/test/",
        "--prefix /floe/made/test/",
        "--prefix /floe/definition/test/",
    ];
    let_in(&server, "one", &keys);
    let ledger = open(&url_of_one(&server));
    assert_eq!(ledger.in_other_realms(&name), Ok(Vec::new()));
    assert_eq!(got(&*ledger, &ask(1)), (0, 1));
}

/// Whoever raises every mark would raise none.
#[test]
fn a_list_of_records_that_may_not_be_read_is_an_error_and_not_empty() {
    let server = Etcd::start(&[]);
    got(&*open(&server.url()), &ask(1));
    let_in(&server, "one", &["/floe/version", "/floe/realm/test"]);
    let ledger = open(&url_of_one(&server));
    for outcome in [ledger.list("", "", 9).map(drop), ledger.names("", 9).map(drop)] {
        let Err(LedgerError::Unavailable(text)) = outcome else { panic!("{outcome:?}") };
        says(&text, &["permission denied", "docs/ledgers.md"]);
    }
}

#[test]
fn a_token_that_etcd_has_forgotten_is_no_trouble() {
    let server = Etcd::start(&[]);
    with_users(&server);
    let ledger = open(&format!("etcd://floe:right@127.0.0.1:{}/floe", server.port()));
    assert_eq!(got(&*ledger, &ask(1)), (0, 1));
    // It forgets them all, as it forgets each after five minutes without a call.
    server.control(&["--user=root:root", "auth", "disable"]);
    server.control(&["auth", "enable"]);
    assert_eq!(got(&*ledger, &ask(1)), (1, 2));
    server.control(&["--user=root:root", "user", "revoke-role", "floe", "floe"]);
    let Err(LedgerError::Unavailable(text)) = ledger.reserve(&ask(1)) else { panic!("a right too many") };
    says(&text, &["permission denied"]);
    server.control(&["--user=root:root", "user", "grant-role", "floe", "floe"]);
    assert_eq!(got(&*ledger, &ask(1)), (2, 3));
}

#[test]
fn nobody_listens() {
    let port = floe_testbed::free_port();
    let error = refused(&format!("etcd://floe:secret@127.0.0.1:{port}/ids"));
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unavailable(_))), "{error:?}");
    says(&error, &[&format!("127.0.0.1:{port}"), "refused", "whether the server runs"]);
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[test]
fn keys_of_a_newer_floe_or_of_no_floe_are_refused() {
    let (server, prefix) = (Etcd::shared(), prefix());
    let url = url(server, &prefix, "");
    let ledger = open(&url);
    got(&*ledger, &ask(5));
    let realm = format!("{prefix}/realm/test");
    let whole = server.control(&["get", "--print-value-only", &realm]) + "\n";
    for (value, parts) in [("3", ["newer floe", "version 3"]), ("x", ["the version `x`", "restore"])] {
        server.control(&["put", &format!("{prefix}/version"), value]);
        let error = refused(&url);
        assert!(matches!(error, OpenError::Ledger(LedgerError::Unfit(_))), "{error:?}");
        says(&error, &parts);
        // A ledger that runs is told the same of a realm that it does not know any more.
        server.control(&["put", &realm, "floe 2"]);
        let Err(LedgerError::Unfit(text)) = ledger.reserve(&ask(1)) else { panic!("it was written") };
        says(&text, &parts);
    }
    // A realm of version 1 has its id alone here. What is none must not become the id of its records.
    server.control(&["put", &format!("{prefix}/version"), "1"]);
    for id in ["", "5f 5f", "moving ", "moving 5f 5f"] {
        server.control(&["put", &realm, id]);
        let error = refused(&url);
        assert!(matches!(error, OpenError::Ledger(LedgerError::Unfit(_))), "{id}: {error:?}");
        says(&error, &["an id of the realm test", "restore"]);
        assert_eq!(server.control(&["get", "--print-value-only", &realm]), id.trim_end());
    }
    server.control(&["put", &realm, &whole]);
    server.control(&["put", &format!("{prefix}/version"), "2"]);
    let key = format!("{prefix}/mark/test/n/orders");
    server.control(&["put", &key, "5"]);
    let Err(LedgerError::Unfit(text)) = ledger.reserve(&ask(1)) else { panic!("it was read") };
    says(&text, &["a record mark/test/n/orders that no floe has written", "restore"]);
}

#[test]
fn whoever_only_looks_writes_nothing() {
    let (server, prefix) = (Etcd::shared(), prefix());
    let Err(error) = floe_ledger::open_existing(&url(server, &prefix, ""), "test") else {
        panic!("a realm was made")
    };
    says(&error, &["has no realm test"]);
    assert_eq!(server.control(&["get", "--prefix", &format!("{prefix}/")]), "");
}

#[test]
fn who_names_no_realm_does_not_begin_a_second_one() {
    let url = url(Etcd::shared(), &prefix(), "");
    drop(open(&url));
    let Err(error) = floe_ledger::open_in(&url, floe_ledger::DEFAULT_REALM) else {
        panic!("a second realm began")
    };
    says(&error, &["has no realm default", "it has: test", "--realm"]);
}

#[test]
fn an_operator_can_read_and_write_it_with_etcdctl() {
    let (server, prefix) = (Etcd::shared(), prefix());
    let ledger = open(&url(server, &prefix, ""));
    assert_eq!(ledger.clock(), Ok(None));
    let key = Key::slot(10, 7);
    let note = Some("订单 'host' note=x".to_owned());
    let request = Reserve { key: key.clone(), floor: (1 << 53) + 1, note: note.clone(), ..ask(1 << 53) };
    got(&*ledger, &request);
    assert_eq!(ledger.give_back(&key, request.token, (1 << 53) + 2), Ok(true));
    ledger.bind(&Name::new("orders").unwrap(), "kind=segment", true).unwrap();
    let id = ledger.realm_id().unwrap();
    let text = server.control(&["get", "--prefix", &prefix]);
    let is_drawn = |line: &&str| line.starts_with("written ") || line.starts_with("made ");
    let lines: Vec<_> = text.lines().filter(|line| !is_drawn(line)).collect();
    let begins = ["floe 1", &format!("realm {id}")];
    let record = |key: &str, rest: &[&str]| {
        let key = format!("{prefix}/{key}");
        [&[&*key][..], &begins, rest, &[""]].concat().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let mark = "mark 9007199254740994 start 9007199254740993 previous 0";
    let expected = [
        record("made/test/n/orders", &[]),
        record("made/test/s/10/7", &[]),
        record("mark/test/n/orders", &["mark 0 start 0 previous 0", "definition kind=segment", "end"]),
        record("mark/test/s/10/7", &[mark, "note 订单 'host' note=x", "end"]),
        record("realm/test", &[]),
        vec![format!("{prefix}/version"), "2".to_owned()],
    ];
    assert_eq!(lines, expected.concat());
    let key_of_slot = format!("{prefix}/mark/test/s/10/7");
    let text = server.control(&["get", "--print-value-only", &key_of_slot]) + "\n";
    let largest = "mark 9223372036854775807 start 0 previous 0";
    server.control(&[
        "put",
        &key_of_slot,
        &text.replace(mark, largest).replace("订单 'host' note=x", "by hand"),
    ]);
    let refused = ledger.reserve(&Reserve { key, max_mark: 5, ..ask(1) });
    assert_eq!(refused, Ok(Reply::Refused { mark: (1 << 63) - 1, note: Some("by hand".to_owned()) }));
}

#[test]
fn compaction_changes_nothing() {
    let server = Etcd::start(&[]);
    let ledger = open(&server.url());
    let request = ask(5);
    assert_eq!(got(&*ledger, &request), (0, 5));
    for end in 6..10 {
        assert_eq!(got(&*ledger, &ask(1)), (end - 1, end));
    }
    server.control(&["compact", &super::restored::revision(&server).to_string()]);
    server.control(&["defrag"]);
    assert_eq!(got(&*ledger, &ask(1)), (9, 10));
    assert_eq!(ledger.list("", "", 10).unwrap().len(), 1);
}

#[test]
fn a_ledger_may_be_used_inside_an_async_runtime() {
    let url = url(Etcd::shared(), &prefix(), "");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let ledger = open(&url);
        assert_eq!(got(&*ledger, &ask(3)), (0, 3));
        assert_eq!(ledger.give_back(&orders(), ask(1).token, 0), Ok(false));
        drop(ledger);
    });
}
