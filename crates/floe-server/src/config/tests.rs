use std::path::Path;
use std::time::Duration;

use floe::{DateFormat, Definition, Kind, Layout, Start, WorkerChoice};

use super::*;

mod files;
mod ledgers;
mod listeners;
mod names;

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(text, Path::new("floe.toml"))
}

/// The complaints about a file that has its realm already.
fn complaints(text: &str) -> Vec<String> {
    match parse(&format!("realm = \"shop\"\n{text}")).and_then(|config| config.check().map(|()| config)) {
        Ok(config) => panic!("no complaint: {config:?}"),
        Err(error) => error.problems().to_vec(),
    }
}

#[track_caller]
fn complains(text: &str, expected: &[&str]) {
    let found = complaints(text);
    assert_eq!(found.len(), 1, "{found:#?}");
    for part in expected {
        assert!(found[0].contains(part), "{:?} lacks {part:?}", found[0]);
    }
}

#[test]
fn an_unknown_setting_is_named_with_its_place_and_the_nearest_one() {
    complains("windwo = \"3s\"", &["floe.toml:2:1: unknown setting `windwo`", "did you mean `window`?"]);
    complains("[limits]\nmax_batsh = 1", &["floe.toml:3:1:", "`limits.max_batsh`", "`max_batch`"]);
    complains("[clock]\nxyzzy = 1", &["`clock.xyzzy`", "the settings here are max_hold, wait, ledger"]);
    complains(
        "[[name]]\nname = \"a\"\nkind = \"counter\"\ndigit = 3",
        &["floe.toml:5:1:", "`[[name]] digit`", "`digits`"],
    );
}

#[test]
fn all_complaints_come_at_once_in_the_order_of_the_file() {
    let found = complaints("threads = 0\nwindwo = 1\n[clock]\nwait = 5\n");
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(
        found[0].starts_with("floe.toml:2:")
            && found[1].starts_with("floe.toml:3:")
            && found[2].starts_with("floe.toml:5:")
    );
}

#[test]
fn an_old_name_goes_on_working_and_is_told_its_new_one() {
    let old = parse("realm = \"shop\"\nkeep = true").unwrap();
    assert!(old.renews_idle_on(false));
    let warning = "floe.toml:2:8: the setting keep is called renew_idle now: rename it";
    assert_eq!(old.old_spelling().as_deref(), Some(warning));
    let new = parse("realm = \"shop\"\nrenew_idle = true").unwrap();
    assert_eq!((new.renews_idle_on(false), new.old_spelling()), (true, None));
}

#[test]
fn a_wrong_value_is_told_what_is_allowed() {
    complains("window = 30", &["floe.toml:2:10: window:", "with its unit", "\"30s\"", "the number 30"]);
    complains("window = \"30\"", &["the unit is missing"]);
    complains("window = \"1y\"", &["its units are ms, s, m, h and d"]);
    complains("window = \"10ms\"", &["\"10ms\" is outside the allowed \"100ms\" to \"1d\""]);
    complains("renew_idle = \"yes\"", &["expected true or false"]);
    complains("keep = \"yes\"", &["floe.toml:2:8: keep:", "expected true or false"]);
    complains("keep = true\nrenew_idle = true", &["keep: it is the old name of renew_idle"]);
    complains("threads = 1000", &["1000 is outside the allowed 1 to 256"]);
    complains("threads = -1", &["-1 is outside the allowed"]);
    complains("threads = 1.5", &["expected a whole number"]);
    complains("listen = [\"7600\"]", &["not an address with a port", "127.0.0.1:7600"]);
    complains("listen = 7600", &["expected addresses"]);
    complains("resp = \"unix:\"", &["resp:", "names no file", "unix:/run/floe.sock"]);
    complains("ledger = \"floe.db\"", &["is not the URL of a ledger", "sqlite:"]);
    complains("[limits]\nmax_batch = 0", &["limits.max_batch: 0 is outside the allowed 1 to"]);
    complains("[log]\nformat = \"xml\"", &["\"xml\" is not one of \"text\", \"json\""]);
    for level in ["loud", "", "info,loud", "floe=loud", "a=b=info", "a[b=info", "floe[span]=debug", "INFO"] {
        let expected = format!("{level:?} is not a level");
        complains(&format!("[log]\nlevel = {level:?}"), &[expected.as_str(), "info,floe_server=debug"]);
    }
    complains("clock = 3", &["clock: expected a table of settings"]);
    complains("name = 3", &["write [[name]]"]);
    complains("worker = \"512..\"", &["worker:", "\"512..1023\""]);
    complains("worker = {}", &["worker:", "datacenter = 3"]);
    complains("mysql = \"7606\"", &["mysql:", "\"7606\"", "127.0.0.1:7600", "off"]);
    complains("a = = b", &["floe.toml:2:5:"]);
    complains("window = \"3s\"\nwindow = \"4s\"", &["floe.toml:3:1:", "duplicate key"]);
}

#[test]
fn a_file_has_to_say_what_can_never_change() {
    let missing = |text: &str, setting: &str| complains(text, &[setting, "it is missing"]);
    assert!(parse("").unwrap_err().to_string().contains("must name its realm"));
    missing("[[name]]\nkind = \"counter\"", "[[name]] name");
    missing("[[name]]\nname = \"a\"", "[[name]] kind");
    missing("[[name]]\nname = \"a\"\nkind = \"snowflake\"", "[[name]] layout");
    missing(
        "[[name]]\nname = \"a\"\nkind = \"snowflake\"\nlayout = \"time:41 worker:10 sequence:12\"\nepoch = 2020-01-01T00:00:00Z",
        "[[name]] tick",
    );
    missing(
        "[[name]]\nname = \"a\"\nkind = \"snowflake\"\nlayout = \"time:41 worker:10 sequence:12\"\ntick = \"1ms\"",
        "[[name]] epoch",
    );
    missing("[[name]]\nname = \"a\"\nkind = \"dated\"\nzone = \"UTC\"", "[[name]] digits");
    missing("[[name]]\nname = \"a\"\nkind = \"dated\"\ndigits = 6", "[[name]] zone");
}

#[test]
fn what_no_single_setting_shows_is_checked() {
    let of =
        |rest: &str| format!("[[name]]\nname = \"a\"\nkind = \"snowflake\"\nlayout = \"twitter\"\n{rest}");
    complains(
        &format!("window = \"100ms\"\n{}", of("max_ahead = \"1s\"")),
        &["floe.toml:", "`a`", "too short", "1002 ms"],
    );
    let fields = |rest: &str| {
        format!(
            "[[name]]\nname = \"a\"\nkind = \"snowflake\"\nlayout = \"time:41 worker:10 sequence:12\"\n{rest}"
        )
    };
    complains(
        &fields("epoch = 2020-01-01T00:00:00Z\ntick = \"10ms\"\nstart = \"rolling\"\nmax_ahead = \"5ms\""),
        &["`a`", "rolling", "max_ahead"],
    );
    complains("listen = [\"0.0.0.0:7600\"]", &["0.0.0.0:7600", "insecure = true (--insecure)"]);
    complains("listen = [\"127.0.0.1:7600\", \"127.0.0.1:7600\"]", &["listed twice"]);
    complains("[limits]\nmax_wait = \"30s\"", &["limits.request_timeout", "limits.max_wait"]);
    for of in ["address", "token"] {
        let setting = format!("connections_per_{of}");
        complains(
            &format!("[limits]\n{setting} = 5000"),
            &[&*format!("limits.{setting} (5000)"), "limits.connections (4096)"],
        );
        complains(&format!("[limits]\nconnections = 10\n{setting} = 11"), &["limits.connections (10)"]);
    }
    complains("[clock]\nwait = \"10s\"", &["clock.wait"]);
    complains(
        "[[name]]\nname = \"a\"\nkind = \"segment\"\nmin_step = 10\nmax_step = 5",
        &["min_step", "over max_step"],
    );
    complains("[[name]]\nname = \"a\"\nkind = \"segment\"\nincrement = 0", &["increment: 0 is outside"]);
    complains(
        "[[name]]\nname = \"a\"\nkind = \"dated\"\nzone = \"Mars/Base\"\ndigits = 6",
        &["unknown time zone"],
    );
    complains(&format!("worker = 2000\n{}", of("")), &["`a`", "2000"]);
    complains(
        &fields("tick = \"1ms\"\nepoch = \"2090-01-01T00:00:00Z\""),
        &["`a`", "epoch", "later than now"],
    );
    let other = "[[name]]\nname = \"b-*\"\nkind = \"snowflake\"\nlayout = \"twitter\"\nstart = \"zero\"";
    complains(&format!("{}\n{other}", of("")), &["`b-*`", "own = true"]);
    parse("realm = \"r\"\nlisten = [\"0.0.0.0:7600\"]\ninsecure = true").unwrap().check().unwrap();
}

#[test]
fn a_command_line_changes_settings_as_a_file_would() {
    let mut config = Config::standalone();
    config.set("window", "1m30s").unwrap();
    config.set("listen", "127.0.0.1:0,localhost:7700").unwrap();
    config.set("worker", "7").unwrap();
    config.set("insecure", "true").unwrap();
    config.set("data_dir", "/tmp/ids").unwrap();
    assert_eq!(config.window, Some(Duration::from_secs(90)));
    assert_eq!(config.listen, ["127.0.0.1:0".parse().unwrap(), "127.0.0.1:7700".parse().unwrap()]);
    assert_eq!(config.worker, WorkerChoice::Fixed(7));
    assert!(config.insecure && config.names_on_first_use());
    let error = config.set("window", "soon").unwrap_err().to_string();
    assert!(error.contains("--window") && error.contains("\"30s\""), "{error}");
    assert!(config.set("windwo", "3s").unwrap_err().to_string().contains("did you mean `window`?"));
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error = Config::load(Path::new("/nowhere/floe.toml")).unwrap_err().to_string();
    assert!(error.contains("/nowhere/floe.toml") && error.contains("cannot be read"), "{error}");
}

#[test]
fn durations_have_units_and_one_meaning() {
    for (text, millis) in
        [("5ms", 5), ("30s", 30_000), ("1h", 3_600_000), ("1h30m", 5_400_000), ("2d", 172_800_000), ("0s", 0)]
    {
        let read = parse_duration(text).unwrap();
        assert_eq!(read, Duration::from_millis(millis), "{text}");
        assert_eq!(parse_duration(&show_duration(read)), Ok(read));
    }
    for wrong in ["", "30", "s", "-1s", "1.5s", " 1s", "1 s", "99999999999999999999s", "300000000000000000d"]
    {
        assert!(parse_duration(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn bytes_have_units_and_a_share_of_the_connections_is_a_number() {
    let read = |text: &str| parse(&format!("realm = \"shop\"\nlimits = {{ {text} }}\n")).unwrap().limits;
    assert_eq!(read("memory = \"64MB\"").memory, 64 << 20);
    assert_eq!(read("memory = \"1GB\"").memory, 1 << 30);
    assert_eq!(read("memory = \"20000KB\"").memory, 20_000 << 10);
    assert_eq!(read("connections_per_address = 7").connections_per_address, Some(7));
    assert_eq!(read("connections_per_token = 7").connections_per_token, Some(7));
    for (text, expected) in [
        ("memory = \"15MB\"", "outside the allowed 16MB to 1024GB"),
        ("memory = \"64\"", "not a number of bytes"),
        ("memory = \"-64MB\"", "not a number of bytes"),
        ("memory = \"64 MB\"", "not a number of bytes"),
        ("memory = \"99999999999999999999GB\"", "not a number of bytes"),
        ("memory = 64", "\"256MB\""),
        ("connections_per_address = 0", "outside the allowed"),
        ("connections_per_token = 0", "outside the allowed"),
    ] {
        complains(&format!("limits = {{ {text} }}\n"), &[text.split(' ').next().unwrap(), expected]);
    }
}

/// What `floe config --check` says of a file.
fn checked(text: &str) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("floe.toml");
    std::fs::write(&path, text).unwrap();
    match Config::load_checked(&path) {
        Ok(_) => Vec::new(),
        Err(error) => error.problems().to_vec(),
    }
}

#[track_caller]
fn all_told(text: &str, expected: &[&str]) {
    let found = checked(text);
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for part in expected {
        assert!(found.iter().any(|problem| problem.contains(part)), "{found:#?} lacks {part:?}");
    }
}

#[test]
fn what_is_missing_hides_no_other_mistake() {
    let name = |rest: &str| format!("[[name]]\nname = \"a\"\n{rest}\n");
    // The realm, and what only a look at several settings shows.
    all_told(
        &format!("listen = [\"0.0.0.0:7600\"]\n[limits]\nmax_wait = \"30s\"\n{}", name("kind = \"counter\"")),
        &["must name its realm", "0.0.0.0:7600 is reachable", "limits.request_timeout"],
    );
    // A layout, and the form of the same name, its options, and other names.
    all_told(
        &format!(
            "realm = \"r\"\n{}[[name]]\nname = \"b\"\nkind = \"snowflake\"\nlayout = \"baidu\"\n",
            name("kind = \"snowflake\"\nform = \"roman\"\nstart = \"soon\"")
        ),
        &[
            "[[name]] layout: it is missing",
            "unknown form",
            "[[name]] start",
            "name `b`: its layout's time bits",
        ],
    );
    all_told(
        &format!("realm = \"r\"\n{}", name("layout = \"twiter\"\nform = \"roman\"")),
        &["[[name]] kind: it is missing", "`twitter` is near", "unknown form"],
    );
    all_told(
        &format!("realm = \"r\"\n{}", name("kind = \"dated\"\ndigits = 99\nform = \"roman\"")),
        &["99 is outside", "[[name]] zone: it is missing", "unknown form"],
    );
    all_told(&format!("realm = \"r\"\n{}", name("kind = \"counter\"")), &[]);
}

#[test]
fn what_several_settings_are_wrong_with_together_has_its_line() {
    let name = |name: &str, layout: &str| {
        format!("[[name]]\nname = \"{name}\"\nkind = \"snowflake\"\nlayout = \"{layout}\"\n")
    };
    let text = format!(
        "realm = \"r\"\nlisten = [\"0.0.0.0:7600\"]\nclock = {{ wait = \"10s\" }}\n[limits]\nrequest_timeout = \"1s\"\n{}{}{}",
        name("a", "twitter"),
        name("past", "baidu"),
        name("later", "time:41 worker:10 sequence:12 tick=1ms epoch=2090-01-01T00:00:00Z")
    );
    let found = checked(&text);
    for (line, part) in [
        (":2:10: ", "listen: 0.0.0.0:7600 is reachable"),
        (":3:18: ", "clock.wait"),
        (":5:19: ", "limits.request_timeout"),
        (":11:8: ", "name `past`: its layout's time bits"),
        (":15:8: ", "name `later`"),
    ] {
        let told = found
            .iter()
            .find(|problem| problem.contains(part))
            .unwrap_or_else(|| panic!("{part}: {found:#?}"));
        assert!(told.contains(line), "{told} is not at {line}");
    }
    assert_eq!(found.len(), 5, "{found:#?}");
    // A name that is listed twice is told of once, whatever else differs.
    let twice = format!("{}[[name]]\nname = \"a\"\nkind = \"counter\"\n", name("a", "twitter"));
    all_told(&format!("realm = \"r\"\n{twice}"), &["`a` is listed already"]);
}

#[test]
fn what_only_follows_from_a_mistake_is_not_told() {
    // With the token that could not be read, and with the setting that was meant, nothing would be wrong here.
    for text in [
        "listen = [\"0.0.0.0:7600\"]\n[[token]]\nname = \"shop\"\nnames = [\"*\"]\nhash = \"x\"\n",
        "listen = [\"0.0.0.0:7600\"]\ninsecur = true\n",
        "[limits]\nmax_wait = \"soon\"\nrequest_timeout = \"1s\"\n",
        "window = \"soon\"\n[[name]]\nname = \"a\"\nkind = \"snowflake\"\nlayout = \"twitter\"\nmax_ahead = \"10s\"\n",
    ] {
        let found = checked(&format!("realm = \"r\"\n{text}"));
        assert_eq!(found.len(), 1, "{text}: {found:#?}");
    }
}

#[test]
fn a_log_level_is_one_for_all_and_others_for_targets() {
    use tracing::Level;

    let filter =
        |level: &str| LogSettings { level: level.to_owned(), ..LogSettings::default() }.filter().unwrap();
    let some = filter("info,floe_server=debug,h2=off");
    for (target, level, passes) in [
        ("floe", Level::INFO, true),
        ("floe", Level::DEBUG, false),
        ("floe_server::listener", Level::DEBUG, true),
        ("floe_server::listener", Level::TRACE, false),
        ("h2::client", Level::ERROR, false),
    ] {
        assert_eq!(some.would_enable(target, &level), passes, "{target} {level}");
    }
    assert!(!filter("off").would_enable("floe", &Level::ERROR));
    assert!(filter("floe=warn").would_enable("floe", &Level::WARN));
    assert!(!filter("floe=warn").would_enable("hyper", &Level::ERROR));
}
