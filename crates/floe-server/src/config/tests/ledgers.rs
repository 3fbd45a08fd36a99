//! The ledger, its clock and its cache.

use super::*;

#[test]
fn the_ledgers_clock_is_checked_unless_it_is_to_be_ignored() {
    let checks = |clock: &str| parse(&format!("realm = \"r\"\n{clock}")).unwrap().clock.check_ledger;
    assert!(checks("") && checks("clock = { ledger = \"check\" }"));
    assert!(!checks("clock = { ledger = \"ignore\" }"));
    complains("[clock]\nledger = \"no\"", &["clock.ledger", "one of \"check\", \"ignore\""]);
}

#[test]
fn the_options_of_a_ledgers_url_are_read_without_connecting() {
    complains(
        "ledger = \"postgres://floe@db/ids?shcema=x\"",
        &["ledger: ", "no option `shcema`", "schema", "sslmode"],
    );
    complains("ledger = \"redis://db/0?max_wait=soon\"", &["ledger: `max_wait=soon`", "500ms"]);
    complains("ledger = \"sqlite:ids.db?max_mb=1\"", &["has no option `max_mb`"]);
    parse("realm = \"r\"\nledger = \"etcd://127.0.0.1:1/floe?max_wait=1s\"").unwrap().check().unwrap();
}

#[test]
fn a_ledger_says_what_has_to_be_found_there() {
    let id = "0123456789abcdef0123456789abcdef";
    let read = |ledger: &str| parse(&format!("realm = \"r\"\nledger = {ledger}")).unwrap();
    let said = |config: &Config| (config.ledger.clone(), config.create, config.realm_id.clone());
    let url = Some("redis://db/0".to_owned());
    assert_eq!(said(&read("\"redis://db/0\"")), (url.clone(), true, None));
    assert_eq!(said(&read("{ url = \"redis://db/0\", create = false }")), (url.clone(), false, None));
    let pinned = read(&format!("{{ url = \"redis://db/0\", realm_id = \"{id}\" }}"));
    assert_eq!(said(&pinned), (url, true, Some(id.to_owned())));
    // The embedded one needs no URL.
    assert_eq!(said(&read("{ create = false }")), (None, false, None));
    // Another ledger has to be that realm all the same.
    let mut elsewhere = pinned;
    elsewhere.set("ledger", "redis://other/0").unwrap();
    assert_eq!(said(&elsewhere), (Some("redis://other/0".to_owned()), true, Some(id.to_owned())));

    complains("ledger = { url = \"redis://db/0\", crate = false }", &["unknown setting `crate`", "create"]);
    complains("ledger = { create = \"no\" }", &["create: expected true or false"]);
    complains("ledger = { realm_id = \"shop\" }", &["realm_id: \"shop\"", "32 digits", "floe realm"]);
    complains("ledger = { url = \"oracle://me:secret@db/0\" }", &["oracle", "sqlite:PATH"]);
}

#[test]
fn a_ledger_is_waited_for_forever_for_a_while_or_not() {
    let read =
        |wait: &str| parse(&format!("realm = \"r\"\nwait_for_ledger = {wait}")).unwrap().wait_for_ledger;
    assert_eq!(parse("realm = \"r\"").unwrap().wait_for_ledger, None);
    assert_eq!(read("\"forever\""), None);
    assert_eq!(read("\"5m\""), Some(Duration::from_secs(300)));
    for at_once in ["\"0\"", "\"0s\"", "0"] {
        assert_eq!(read(at_once), Some(Duration::ZERO));
    }
    complains("wait_for_ledger = \"long\"", &["\"long\" is not a duration", "forever"]);
    complains("wait_for_ledger = true", &["expected a duration", "forever"]);
}

#[test]
fn a_ledger_that_nobody_has_is_refused_without_its_password() {
    let text = "ledger = \"oracle://me:secret@db/0\"";
    complains(text, &["floe.toml:2:10: ledger:", "oracle", "sqlite:PATH"]);
    assert!(!complaints(text)[0].contains("secret"));
}

#[test]
fn without_a_file_the_worker_has_to_fit_the_layout_that_names_get() {
    let mut config = Config::standalone();
    config.set("worker", "1023").unwrap();
    config.check().unwrap();
    config.set("worker", "5000").unwrap();
    let error = config.check().unwrap_err().to_string();
    assert!(error.contains("layout twitter") && error.contains("5000"), "{error}");
    // If a file lists no names, none are made.
    parse("realm = \"r\"\nworker = 5000").unwrap().check().unwrap();
}

#[test]
fn a_cache_stands_before_a_shared_ledger_and_is_larger_than_a_window() {
    let shared = "ledger = \"postgres://floe@db/ids\"\n";
    let config =
        parse(&format!("realm = \"shop\"\n{shared}cache = \"floe-cache\"\ncache_window = \"2h\"")).unwrap();
    assert_eq!(config.check(), Ok(()));
    assert_eq!(config.cache.as_deref(), Some(Path::new("floe-cache")));
    assert_eq!(config.cache_window, Duration::from_secs(7_200));
    for ledger in ["", "ledger = \"sqlite:ids.db\"\n", "ledger = \"memory:\"\n"] {
        complains(
            &format!("{ledger}cache = \"floe-cache\""),
            &["cache: the embedded ledger is on this machine, so it needs no cache", "--ledger"],
        );
    }
    let short = format!("{shared}cache = \"floe-cache\"\ncache_window = \"59s\"");
    complains(&short, &["cache_window (\"59s\") is shorter than two windows (\"30s\" each)"]);
    complains(&format!("{shared}cache_window = \"31d\""), &["cache_window", "\"30d\""]);
    let mut config = Config::standalone();
    config.set("cache", "floe-cache").unwrap();
    let refused = config.open_ledger().map(drop).unwrap_err().to_string();
    assert!(refused.contains("needs no cache"), "{refused}");
}
