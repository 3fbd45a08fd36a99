//! The checks of an opening, and their errors.

use std::fs;
use std::path::Path;

use floe::Name;
use floe::ledger::{Key, LedgerError, Reply, Reserve};
use floe_ledger::OpenError;
use floe_testbed::Redis;

use super::open;
use crate::real_servers::faults::timed;
use crate::{ask, got, orders, says};

/// Why a URL cannot be opened.
#[track_caller]
fn refused(url: &str) -> OpenError {
    match floe_ledger::open_in(url, "test") {
        Err(error) => error,
        Ok(ledger) => panic!("{url} opened {}", ledger.describe()),
    }
}

/// Asserts that a server is unfit and says so in this text, and that the override accepts it with a remark.
#[track_caller]
fn refused_unless_allowed(server: &Redis, finding: &str, way_out: &str) {
    let error = refused(&server.url());
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unfit(_))), "{error:?}");
    says(&error, &[finding, way_out, "unsafe=allow"]);
    let ledger = open(&format!("{}?unsafe=allow", server.url()));
    got(&*ledger, &ask(1));
    says(&ledger.describe(), &[&format!("(unsafe: it {finding}")]);
}

#[test]
fn settings_that_lose_ranges_are_refused_by_name() {
    let server = Redis::start(&[]);
    let before = open(&server.url());
    assert_eq!(before.describe(), server.url(), "nothing to remark");
    assert!(before.is_shared());
    for (setting, values, sound) in [
        ("appendfsync", ["everysec", "no"], "always"),
        ("no-appendfsync-on-rewrite", ["yes", "yes"], "no"),
        ("maxmemory-policy", ["allkeys-lru", "allkeys-random"], "volatile-lru"),
        ("appendonly", ["no", "no"], "yes"),
    ] {
        for value in values {
            server.cli(&["CONFIG", "SET", setting, value]);
            refused_unless_allowed(&server, &format!("has {setting} = {value}"), &format!("set {setting}"));
        }
        server.cli(&["CONFIG", "SET", setting, sound]);
        open(&server.url());
    }
}

#[test]
fn a_running_ledger_meets_the_checks_again_on_its_next_connection() {
    let server = Redis::start(&[]);
    let ledger = open(&server.url());
    let name = Name::new("orders").unwrap();
    let end_the_connection = || {
        server.cli(&["CLIENT", "KILL", "TYPE", "normal"]);
        // This call may still find the old one, and be told only that it broke.
        drop(ledger.definition(&name));
    };
    for (setting, value, sound) in [("appendfsync", "everysec", "always"), ("appendonly", "no", "yes")] {
        got(&*ledger, &ask(1));
        server.cli(&["CONFIG", "SET", setting, value]);
        end_the_connection();
        let outcome = ledger.reserve(&ask(1));
        let Err(LedgerError::Unfit(text)) = outcome else { panic!("{setting}: {outcome:?}") };
        says(&text, &[&format!("has {setting} = {value}"), &format!("set {setting}")]);
        server.cli(&["CONFIG", "SET", setting, sound]);
    }
    got(&*ledger, &ask(1));
    // As after a failover, when another server has the address.
    server.cli(&["REPLICAOF", "127.0.0.1", &floe_testbed::free_port().to_string()]);
    end_the_connection();
    let outcome = ledger.definition(&name);
    let Err(LedgerError::Unavailable(text)) = outcome else { panic!("{outcome:?}") };
    says(&text, &["is a replica", "name the master"]);
}

#[test]
fn a_replica_is_refused_until_it_is_promoted() {
    let server = Redis::start(&[]);
    let ledger = open(&server.url());
    let request = ask(5);
    assert_eq!(got(&*ledger, &request), (0, 5));
    // Its master need not exist: it is a replica from now on.
    let nobody = floe_testbed::free_port().to_string();
    server.cli(&["REPLICAOF", "127.0.0.1", &nobody]);
    let Err(LedgerError::Unavailable(text)) = ledger.reserve(&ask(1)) else {
        panic!("a replica took a write")
    };
    says(&text, &["READONLY", "name the master"]);
    let error = refused(&server.url());
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unavailable(_))), "{error:?}");
    says(&error, &["is a replica", "name the master"]);
    server.cli(&["REPLICAOF", "NO", "ONE"]);
    assert_eq!(got(&*ledger, &request), (0, 5));
    assert_eq!(got(&*ledger, &ask(1)), (5, 6));
}

#[test]
fn a_wrong_password_user_or_database_is_named() {
    let server = Redis::start(&[]);
    let url =
        |credentials: &str, rest: &str| format!("redis://{credentials}127.0.0.1:{}{rest}", server.port());
    let none = refused(&url(":s3cret@", ""));
    says(&none, &["without any password configured", "REDISCLI_AUTH"]);
    assert!(matches!(none, OpenError::Asked(_)) && !none.to_string().contains("s3cret"), "{none}");
    let nowhere = refused(&url("", "/99"));
    assert!(matches!(nowhere, OpenError::Asked(_)), "{nowhere:?}");
    says(&nowhere, &["DB index", "name a database"]);

    // The documentation's rights for an operator to grant, word for word.
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ledgers.md");
    let docs = fs::read_to_string(docs).unwrap();
    let grant = docs.lines().find_map(|line| line.trim().strip_prefix("ACL SETUSER floe ")).unwrap();
    let mut command = vec!["ACL", "SETUSER", "careful"];
    command.extend(grant.split(' ').map(|word| if word == ">password" { ">right" } else { word }));
    assert!(command.contains(&">right"), "{command:?}");
    assert_eq!(server.cli(&command), "OK");
    assert_eq!(server.cli(&["ACL", "SETUSER", "modest", "on", "nopass", "~*", "+info", "+config"]), "OK");
    assert_eq!(
        server.cli(&["ACL", "SETUSER", "narrow", "on", "nopass", "resetkeys", "~floe:{test}*", "+@all"]),
        "OK"
    );
    server.cli(&["ACL", "SETUSER", "default", "off"]);

    let wrong = refused(&url("careful:wr0ng@", ""));
    says(&wrong, &["WRONGPASS", "the user careful", "password_file"]);
    assert!(matches!(wrong, OpenError::Asked(_)) && !wrong.to_string().contains("wr0ng"), "{wrong}");
    let stranger = refused(&url("stranger:right@", ""));
    says(&stranger, &["WRONGPASS", "the user stranger"]);
    assert!(!stranger.to_string().contains("right"), "{stranger}");
    let missing = refused(&url("", ""));
    says(&missing, &["NOAUTH", "the user default", "REDISCLI_AUTH"]);
    assert!(matches!(missing, OpenError::Asked(_)), "{missing:?}");
    // A user without a password is still that user, and not `default`.
    let modest = refused(&url("modest@", ""));
    assert!(matches!(modest, OpenError::Asked(_)), "{modest:?}");
    says(&modest, &["NOPERM", "docs/ledgers.md"]);

    let ledger = open(&url("careful:right@", "/0"));
    assert_eq!(ledger.describe(), url("", "/0"));
    let request = ask(3);
    assert_eq!(got(&*ledger, &request), (0, 3));
    assert_eq!(ledger.give_back(&orders(), request.token, 1), Ok(true));
    assert_eq!(ledger.raise(&orders(), 10), Ok(1));
    let name = Name::new("a").unwrap();
    assert_eq!(ledger.bind(&name, "definition", true).unwrap(), "definition");
    assert_eq!(ledger.definition(&name).unwrap().as_deref(), Some("definition"));
    assert_eq!(ledger.names("", 9).unwrap().len(), 1);
    assert_eq!(ledger.list("", "", 9).unwrap().len(), 2);
    assert!(ledger.clock().unwrap().is_some());
    let other = floe_ledger::open_in(&url("careful:right@", ""), "other").unwrap();
    other.bind(&name, "definition", true).unwrap();
    assert_eq!(ledger.in_other_realms(&name).unwrap().len(), 1);
    // A user that may read only one realm is told of no other, and continues.
    let narrow = open(&url("narrow@", ""));
    assert_eq!(narrow.in_other_realms(&name), Ok(Vec::new()));
    assert_eq!(narrow.names("", 9).unwrap().len(), 1);
    assert!(floe_ledger::open_in(&url("careful:right@", ""), floe_ledger::DEFAULT_REALM).is_err());
}

#[test]
fn a_server_that_repeats_what_it_does_not_know_tells_no_password() {
    let server = Redis::start(&["--rename-command", "AUTH", ""]);
    let error = refused(&format!("redis://floe:s3cret@127.0.0.1:{}", server.port()));
    says(&error, &["unknown command 'AUTH'"]);
    assert!(!error.to_string().contains("s3cret"), "{error}");
}

#[test]
fn a_server_that_does_not_let_floe_look_is_refused() {
    let server = Redis::start(&[]);
    server.cli(&["ACL", "SETUSER", "default", "-config"]);
    refused_unless_allowed(&server, "does not let floe read its settings", "+config|get");
    let hidden = Redis::start(&["--rename-command", "CONFIG", "", "--rename-command", "INFO", ""]);
    refused_unless_allowed(&hidden, "does not let floe read its settings", "+info");
    // It is not taken for a node of a cluster, which knows no other realms: a second one would begin.
    let url = format!("{}?unsafe=allow", hidden.url());
    let Err(error) = floe_ledger::open_in(&url, floe_ledger::DEFAULT_REALM) else { panic!("it began") };
    says(&error, &["has no realm default", "it has: test"]);
}

#[test]
fn nobody_listens() {
    let port = floe_testbed::free_port();
    let error = refused(&format!("redis://floe:secret@127.0.0.1:{port}"));
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unavailable(_))), "{error:?}");
    says(&error, &[&format!("127.0.0.1:{port}"), "refused", "whether the server runs"]);
    assert!(!error.to_string().contains("secret"), "{error}");
}

#[test]
fn a_server_that_takes_no_more_clients_is_unavailable_and_has_its_way_out() {
    let server = Redis::start(&[]);
    let ledger = open(&server.url());
    server.cli(&["CONFIG", "SET", "maxclients", "1"]);
    let error = refused(&server.url());
    assert!(matches!(error, OpenError::Ledger(LedgerError::Unavailable(_))), "{error:?}");
    says(&error, &["raise maxclients"]);
    assert_eq!(got(&*ledger, &ask(5)), (0, 5));
}

#[test]
fn somebody_who_is_no_redis_is_waited_for_no_longer_than_the_bound() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (error, took) = timed(|| refused(&format!("redis://127.0.0.1:{port}?connect_timeout=1")));
    says(&error, &["gave no answer within 1s"]);
    assert!(took.as_millis() < 2000, "{took:?}");
}

#[test]
fn keys_of_a_newer_floe_and_of_no_floe_are_refused() {
    let server = Redis::start(&[]);
    got(&*open(&server.url()), &ask(1));
    for (arguments, words) in [
        (["HSET", "floe:{test}", "version", "3"].as_slice(), ["newer floe", "version 3"]),
        (&["HSET", "floe:{test}", "version", "x"], ["no floe has written", "floe:{test}"]),
        (&["HSET", "floe:{test}", "version", "0"], ["no floe has written", "floe:{test}"]),
        (&["HSET", "floe:{test}", "version", "1"], ["no floe has written", "floe:{test}"]),
        (&["HDEL", "floe:{test}", "version"], ["floe:{test} is gone", "restore"]),
        // What is left of one of the first version.
        (
            &[
                "EVAL",
                "redis.call('DEL', KEYS[1], KEYS[2]) redis.call('HSET', KEYS[1], 'id', 'x')",
                "2",
                "floe:{test}",
                "floe:{test}:fields",
            ],
            ["no floe has written", "floe:{test}"],
        ),
        (&["SET", "floe:{test}", "1"], ["no floe has written", "WRONGTYPE"]),
    ] {
        server.cli(arguments);
        let error = refused(&server.url());
        assert!(matches!(error, OpenError::Ledger(LedgerError::Unfit(_))), "{error:?}");
        says(&error, &words);
    }
}

#[test]
fn who_names_no_realm_does_not_begin_a_second_one() {
    let server = Redis::start(&[]);
    drop(open(&server.url()));
    let Err(error) = floe_ledger::open_in(&server.url(), floe_ledger::DEFAULT_REALM) else {
        panic!("a second realm began")
    };
    says(&error, &["has no realm default", "it has: test", "--realm"]);
    drop(
        floe_ledger::open_in(&format!("redis://127.0.0.1:{}/1", server.port()), floe_ledger::DEFAULT_REALM)
            .unwrap(),
    );
    // What is no list of realms is not taken for an empty one.
    let ledger = open(&server.url());
    server.cli(&["SET", "floe:realms", "x"]);
    let told = ledger.in_other_realms(&Name::new("orders").unwrap()).unwrap_err();
    let begun = floe_ledger::open_in(&server.url(), floe_ledger::DEFAULT_REALM).err().unwrap();
    for text in [told.to_string(), begun.to_string()] {
        says(&text, &["WRONGTYPE", "no floe has written"]);
    }
}

#[test]
fn a_realm_that_a_newer_floe_keeps_takes_no_name_of_the_others_out_of_sight() {
    let server = Redis::start(&[]);
    let name = Name::new("orders").unwrap();
    for realm in ["earlier", "newer"] {
        floe_ledger::open_in(&server.url(), realm).unwrap().bind(&name, "definition", true).unwrap();
    }
    let ledger = open(&server.url());
    server.cli(&["HSET", "floe:{newer}", "version", "3"]);
    let found = ledger.in_other_realms(&name).unwrap();
    assert_eq!(found.iter().map(|other| &*other.realm).collect::<Vec<_>>(), ["earlier"]);
    assert_eq!(got(&*ledger, &ask(5)), (0, 5));
}

#[test]
fn the_clock_is_the_servers() {
    let server = Redis::start(&[]);
    let ledger = open(&server.url());
    let before = ledger.clock().unwrap().unwrap().get();
    let asked = server.cli(&["TIME"]);
    let (seconds, micros) = asked.split_once('\n').unwrap();
    let asked = seconds.parse::<i64>().unwrap() * 1000 + micros.parse::<i64>().unwrap() / 1000;
    let after = ledger.clock().unwrap().unwrap().get();
    assert!(before <= asked && asked <= after, "{before} {asked} {after}");
}

#[test]
fn an_operator_can_read_and_write_it_with_redis_cli() {
    let server = Redis::start(&[]);
    let ledger = open(&server.url());
    let key = Key::slot(10, 7);
    let note = Some("订单 'host'".to_owned());
    let request = Reserve { key: key.clone(), floor: (1 << 53) + 1, note: note.clone(), ..ask(1 << 53) };
    got(&*ledger, &request);
    let field = "mark/s/10/7";
    let record = server.cli(&["HGET", "floe:{test}", field]);
    let mark = "mark 18014398509481985 start 9007199254740993 previous 0\n";
    says(&record, &["floe 1\nrealm ", mark, "note 订单 'host'\nend"]);
    assert_eq!(server.cli(&["ZRANGE", "floe:{test}:fields", "0", "-1"]), "made/s/10/7\nmark/s/10/7\nrealm");
    assert_eq!(server.cli(&["TTL", "floe:{test}"]), "-1");
    let raised = record.replace("mark 18014398509481985", "mark 9223372036854775807") + "\n";
    server.cli(&["HSET", "floe:{test}", field, &raised]);
    let refused = ledger.reserve(&Reserve { key: key.clone(), max_mark: 5, ..ask(1) });
    assert_eq!(refused, Ok(Reply::Refused { mark: (1 << 63) - 1, note }));
    server.cli(&["HSET", "floe:{test}", field, &raised.replace("mark 9", "mark nine")]);
    let Err(LedgerError::Unfit(text)) = ledger.reserve(&Reserve { key, max_mark: 5, ..ask(1) }) else {
        panic!("it read what it cannot")
    };
    says(&text, &["mark/test/s/10/7", "no floe has written"]);
}

/// A killed server may have appended it and not flushed it.
#[test]
fn an_answer_that_rests_on_what_was_only_read_comes_after_another_write() {
    let server = Redis::start(&[]);
    let ledger = open(&server.url());
    let request = ask(5);
    got(&*ledger, &request);
    let settled = || server.cli(&["HGET", "floe:{test}", "settled"]);
    for _ in 0..3 {
        let before = settled();
        assert_eq!(got(&*ledger, &request), (0, 5));
        assert_ne!(settled(), before, "the same token");
    }
    let before = settled();
    assert_eq!(ledger.raise(&orders(), 5), Ok(5));
    assert_ne!(settled(), before, "a mark that is that high");
    let before = settled();
    got(&*ledger, &ask(5));
    let refusal = Reserve { max_mark: 4, ..ask(5) };
    assert!(matches!(ledger.reserve(&refusal), Ok(Reply::Refused { .. })));
    assert_eq!(settled(), before, "its own write, and a refusal");
}

#[test]
fn a_ledger_may_be_used_inside_an_async_runtime() {
    let server = Redis::start(&[]);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let ledger = open(&server.url());
        assert_eq!(got(&*ledger, &ask(3)), (0, 3));
        drop(ledger);
    });
}
