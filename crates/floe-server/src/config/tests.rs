use std::path::Path;
use std::time::Duration;

use floe::{DateFormat, Definition, Kind, Layout, Start, WorkerChoice};

use super::*;

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

const CONTRACT: &str = r#"
realm  = "shop"
ledger = "sqlite:ids.db"
window = "30s"
listen = ["127.0.0.1:7600", "[::1]:7601"]
clock = { max_hold = "1h", wait = "5ms" }
worker = "auto"
[[name]]
name = "orders"
kind = "snowflake"
layout = "twitter"
start = "rolling"
max_ahead = "10ms"
form = "decimal"
[[name]]
name = "user-*"
kind = "snowflake"
layout = "time:41 datacenter:5 worker:5 sequence:12"
tick = "1ms"
epoch = "2010-11-04T01:42:54.657Z"
own = true
[[name]]
name = "Tickets64"
kind = "segment"
increment = 2
offset = 1
[[name]]
name = "invoice"
kind = "dated"
digits = 6
zone = "Asia/Shanghai"
prefix = "INV"
"#;

#[test]
fn the_contracts_own_example_is_read() {
    let config = parse(CONTRACT).unwrap();
    config.check().unwrap();
    assert_eq!(config.realm, "shop");
    assert_eq!(config.window, Some(Duration::from_secs(30)));
    assert_eq!(config.listen.len(), 2);
    assert_eq!(config.clock, ClockSettings::default());
    let kinds: Vec<_> =
        config.names.iter().map(|name| (name.rule.to_string(), name.definition.kind())).collect();
    assert_eq!(
        kinds,
        [
            ("orders".to_owned(), Kind::Snowflake),
            ("user-*".to_owned(), Kind::Snowflake),
            ("Tickets64".to_owned(), Kind::Segment),
            ("invoice".to_owned(), Kind::Dated)
        ]
    );
    assert_eq!(config.names[0].taste.start, Some(Start::Rolling));
    assert_eq!(config.names[0].taste.max_ahead, Duration::from_millis(10));
    // A preset and its fields spelled out are one layout; `own` is not part of it.
    let layout = |at: usize| match &config.names[at].definition {
        Definition::Snowflake { layout, own } => (layout.clone(), *own),
        other => panic!("{other}"),
    };
    assert_eq!(layout(0).0, layout(1).0);
    assert_eq!((layout(0).1, layout(1).1), (false, true));
    assert_eq!(config.names[2].definition, Definition::Segment { increment: 2, offset: 1 });
    assert!(!config.names_on_first_use());
}

#[test]
fn the_defaults_read_back_as_the_defaults() {
    let text = Config::defaults_text();
    let read = parse(&text).unwrap();
    assert_eq!(read, Config { file: Some("floe.toml".into()), ..Config::standalone() });
    read.check().unwrap();
}

#[test]
fn every_default_and_every_example_in_the_defaults_is_valid() {
    // Uncommented, the examples are settings: `# name = value`, with one space.
    let text: Vec<String> = Config::defaults_text()
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(setting)
                if setting.starts_with("[[")
                    || setting
                        .split_once(" = ")
                        .is_some_and(|(key, _)| key.chars().all(|c| c.is_ascii_lowercase() || c == '_')) =>
            {
                setting.to_owned()
            }
            _ => line.to_owned(),
        })
        .collect();
    let config = parse(&text.join("\n")).unwrap();
    // The examples of ledger and cache are of two worlds.
    let embedded = Config { cache: None, ..config.clone() };
    let shared = Config { ledger: Some("postgres://floe@db/ids".to_owned()), ..config.clone() };
    [embedded, shared].iter().for_each(|config| config.check().unwrap());
    assert_eq!(config.names.len(), 7);
    assert_eq!(config.window, Some(config.window_on(false)));
    assert_eq!(config.names[2].taste, floe::Taste::default());
}

#[test]
fn clients_of_mysql_have_addresses_of_their_own_or_none() {
    let read = |text: &str| parse(&format!("realm = \"shop\"\n{text}")).unwrap();
    let addresses =
        |text: &str| read(text).endpoints().map(|(_, endpoint)| endpoint.to_string()).collect::<Vec<_>>();
    let default = addresses("");
    assert_eq!(default.len(), 1);
    for nowhere in ["mysql = \"off\"", "mysql = []"] {
        assert_eq!(read(nowhere).mysql, Some(Vec::new()));
        assert_eq!(addresses(nowhere), default);
    }
    assert_eq!(addresses("mysql = [\"127.0.0.1:1\", \"[::1]:2\"]").len(), 3);
    // What protects `listen` protects this as well.
    let open = Config { mysql: Some(vec!["0.0.0.0:7606".parse().unwrap()]), ..Config::standalone() };
    assert!(open.check().unwrap_err().to_string().starts_with("mysql: 0.0.0.0:7606 is reachable"));
    assert!(!open.names_on_first_use());
    let twice = Config { mysql: Some(Config::standalone().listen), ..Config::standalone() };
    assert!(twice.check().unwrap_err().to_string().contains("listed twice"));
}

#[test]
fn a_protocol_may_have_endpoints_of_its_own() {
    let text = "realm = \"r\"\nlisten = \"off\"\nhttp = \"127.0.0.1:1\"\nresp = [\"unix:/run/floe.sock\", \"[::1]:2\"]\n";
    let config = parse(&format!("{text}memcached = \"127.0.0.1:3\"\nthrift = \"127.0.0.1:4\"")).unwrap();
    config.check().unwrap();
    let endpoints: Vec<_> =
        config.endpoints().map(|(spoken, endpoint)| format!("{} {endpoint}", spoken.setting())).collect();
    let expected = [
        "http 127.0.0.1:1",
        "resp unix:/run/floe.sock",
        "resp [::1]:2",
        "memcached 127.0.0.1:3",
        "thrift 127.0.0.1:4",
    ];
    assert_eq!(endpoints, expected);
    let exposed = |text: &str| parse(&format!("realm = \"r\"\n{text}")).unwrap().check();
    assert!(
        exposed("thrift = \"0.0.0.0:4\"").unwrap_err().to_string().contains("thrift: 0.0.0.0:4 is reachable")
    );
    exposed("listen = \"unix:floe.sock\"").unwrap();
    assert!(exposed("listen = []").unwrap_err().to_string().contains("nothing to listen on"));
}

#[test]
fn every_setting_stands_in_the_defaults() {
    let text = Config::defaults_text();
    let mut settings = 0;
    for (table, wrong) in [
        ("", "qqq = 1\n"),
        ("clock", "[clock]\nqqq = 1\n"),
        ("log", "[log]\nqqq = 1\n"),
        ("limits", "[limits]\nqqq = 1\n"),
        ("name", "[[name]]\nname = \"a\"\nkind = \"counter\"\nqqq = 1\n"),
        ("token", "[[token]]\nname = \"a\"\nnames = [\"*\"]\ncertificate = \"a\"\nqqq = 1\n"),
    ] {
        let all = complaints(wrong);
        let known = all[0].split_once("the settings here are ").unwrap_or_else(|| panic!("{all:?}")).1;
        // Only a program that registered a kind has an example of its properties.
        for setting in known.split(", ").filter(|setting| *setting != "properties") {
            let stands = ["\n", "\n# "].iter().any(|before| text.contains(&format!("{before}{setting} = ")))
                || text.contains(&format!("\n[{setting}]"))
                || text.contains(&format!("[[{setting}]]"));
            assert!(stands, "{table}: {setting}");
            settings += 1;
        }
    }
    assert!(settings > 50, "{settings}");
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
fn the_ledgers_clock_is_checked_unless_it_is_to_be_ignored() {
    let checks = |clock: &str| parse(&format!("realm = \"r\"\n{clock}")).unwrap().clock.check_ledger;
    assert!(checks("") && checks("clock = { ledger = \"check\" }"));
    assert!(!checks("clock = { ledger = \"ignore\" }"));
    complains("[clock]\nledger = \"no\"", &["clock.ledger", "one of \"check\", \"ignore\""]);
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
fn a_wrong_value_is_told_what_is_allowed() {
    complains("window = 30", &["floe.toml:2:10: window:", "with its unit", "\"30s\"", "the number 30"]);
    complains("window = \"30\"", &["the unit is missing"]);
    complains("window = \"1y\"", &["its units are ms, s, m, h and d"]);
    complains("window = \"10ms\"", &["\"10ms\" is outside the allowed \"100ms\" to \"1d\""]);
    complains("keep = \"yes\"", &["expected true or false"]);
    complains("threads = 1000", &["1000 is outside the allowed 1 to 256"]);
    complains("threads = -1", &["-1 is outside the allowed"]);
    complains("threads = 1.5", &["expected a whole number"]);
    complains("listen = [\"7600\"]", &["not an address with a port", "127.0.0.1:7600"]);
    complains("listen = 7600", &["expected addresses"]);
    complains("resp = \"unix:\"", &["resp:", "names no file", "unix:/run/floe.sock"]);
    complains("ledger = \"floe.db\"", &["not a URL", "sqlite:"]);
    complains("[limits]\nmax_batch = 0", &["limits.max_batch: 0 is outside the allowed 1 to"]);
    complains("[log]\nformat = \"xml\"", &["\"xml\" is not one of \"text\", \"json\""]);
    complains("[log]\nlevel = \"loud\"", &["\"loud\" is not a level"]);
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
    assert!(parse("").unwrap_err().to_string().contains("names its realm"));
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
fn names_are_checked() {
    let named = |name: &str| format!("[[name]]\nname = \"{name}\"\nkind = \"counter\"\n");
    complains(&named("two words"), &["floe.toml:3:8:", "' '"]);
    complains(&named(""), &["cannot be empty"]);
    complains(&named(&"x".repeat(300)), &["at most 128 bytes", "300"]);
    complains(&named("a*b"), &["one `*`, at its end"]);
    complains(&named("a**"), &["one `*`, at its end"]);
    complains(&(named("a") + &named("a")), &["floe.toml:6:8:", "`a` is listed already at floe.toml:3:8"]);
    complains(&(named("a-*") + &named("a-*")), &["`a-*` is listed already"]);
    assert!(parse(&format!("realm = \"r\"\n{}{}", named("a-*"), named("a-b"))).is_ok());
    complains("[[name]]\nname = \"a\"\nkind = \"cuid\"", &["reserved", "not mint it yet"]);
    complains("[[name]]\nname = \"a\"\nkind = \"snowfalke\"", &["unknown kind", "did you mean `snowflake`?"]);
    complains("[[name]]\nname = \"a\"\nkind = \"UUIDv7\"", &["unknown kind", "did you mean `uuid7`?"]);
    complains("[[name]]\nname = \"a\"\nkind = \"nothing\"", &["unknown kind", "a program of your own"]);
    complains("[[name]]\nname = \"a\"\nkind = \"typeid\"", &["is a form and no kind", "form = \"typeid\""]);
    complains("[[name]]\nname = \"a\"\nkind = \"registered\"", &["the type name that it was registered as"]);
}

#[test]
fn kinds_and_forms_are_read_with_their_settings() {
    let read = |rest: &str| {
        let config = parse(&format!("realm = \"shop\"\n[[name]]\nname = \"a\"\n{rest}")).unwrap();
        config.check().unwrap();
        config.names[0].definition.to_string()
    };
    for (text, definition) in [
        ("kind = \"uuid4\"", "uuid4"),
        ("kind = \"uuid7\"\nprecise = true", "uuid7 time=precise"),
        ("kind = \"ulid\"\nform = \"hex\"", "ulid form hex bits=128"),
        ("kind = \"objectid\"", "objectid"),
        ("kind = \"ksuid\"", "ksuid"),
        ("kind = \"nanoid\"\nlength = 12\nalphabet = \"ab\"", "nanoid length=12 alphabet=ab"),
        ("kind = \"uuid7\"\nform = \"typeid type=user\"", "uuid7 form typeid type=user"),
        ("kind = \"counter\"\nform = \"sqids min=8\"", "counter form sqids min=8"),
        ("kind = \"counter\"\nform = \"decimal\"", "counter"),
        (
            "kind = \"counter\"\nform = \"sealed key=1 base62\"\nkeys = { 1 = \"000102030405060708090a0b0c0d0e0f\" }",
            "counter form sealed key=1 check=e12e69 base62",
        ),
        (
            "kind = \"counter\"\nform = \"sealed key=2 keyid=prefix base62\"\nkeys = { 1 = \"00000000000000000000000000000001\", 2 = \"00000000000000000000000000000002\" }",
            "counter form sealed keyid=prefix base62",
        ),
    ] {
        assert_eq!(read(text), definition, "{text}");
    }
}

#[test]
fn forms_and_keys_that_cannot_be_are_complained_about() {
    let key = "00112233445566778899aabbccddeeff";
    let of = |kind: &str, rest: &str| format!("[[name]]\nname = \"a\"\nkind = \"{kind}\"\n{rest}");
    // What is wrong elsewhere makes no other setting unknown.
    let wrong = parse(&format!(
        "realm = \"r\"\n{}",
        of("dated", "digits = 99\nzone = \"UTC\"\nform = \"hex\"\nkeys = {}")
    ));
    let wrong = wrong.unwrap_err();
    let told = ["digits: 99 is outside", "only the form \"sealed\" has keys"];
    assert!(
        wrong.problems().len() == 2 && told.iter().all(|told| wrong.to_string().contains(told)),
        "{wrong}"
    );
    complains(&of("counter", "form = \"roman\""), &["floe.toml:5:8:", "unknown form"]);
    complains(&of("counter", "form = \"base62 width=2\""), &["floe.toml:5:8:", "width"]);
    complains(&of("ksuid", "form = \"base62\""), &["a ksuid name has a text of its own"]);
    complains(&of("uuid4", "form = \"base62 bits=64\""), &["has 128"]);
    complains(&of("uuid4", "length = 5"), &["only a nanoid name has it"]);
    complains(&of("nanoid", "alphabet = \"a\""), &["at least 2"]);
    complains(&of("counter", "form = \"sealed key=1 base62\""), &["the key 1 is missing", "add keys ="]);
    complains(&of("counter", &format!("keys = {{ 1 = \"{key}\" }}")), &["only the form \"sealed\" has keys"]);
    complains(
        &of("counter", &format!("form = \"base62\"\nkeys = {{ 1 = \"{key}\" }}")),
        &["only the form \"sealed\" has keys"],
    );
    let sealed = |keys: &str| of("counter", &format!("form = \"sealed key=1 base62\"\nkeys = {keys}"));
    complains(&sealed("{ 2 = \"00112233445566778899aabbccddeeff\" }"), &["the key 1 is missing"]);
    complains(&sealed("{ one = \"00112233445566778899aabbccddeeff\" }"), &["\"one\" is no key id"]);
    complains(&sealed("{ 1 = 5 }"), &["1: expected a text in quotes"]);
    complains(&sealed("{ 1 = \"env:FLOE_NO_SUCH_KEY\" }"), &["FLOE_NO_SUCH_KEY is not set"]);
    complains(&sealed("{ 1 = \"file:/nowhere/key\" }"), &["/nowhere/key cannot be read"]);
    // What is nearly a key is in no message.
    let Err(error) =
        parse(&format!("realm = \"shop\"\n{}", sealed("{ 1 = \"00112233445566778899aabbccddeef\" }")))
    else {
        panic!("31 digits are a key")
    };
    assert!(
        error.to_string().contains("32 hexadecimal digits") && !error.to_string().contains("aabb"),
        "{error}"
    );
    // Nor is a key that stands where it does not belong.
    for settings in [
        format!("form = \"sealed key={key} base62\""),
        format!("form = \"sealed key=1 base62\"\nkeys = \"{key}\""),
        format!("form = \"sealed key=1 base62\"\nkeys = {{ {key} = \"1\" }}"),
        format!("form = \"sealed key=1 base62\"\nkeys = {{ 1 = \"env:{key}\" }}"),
        format!("form = \"sealed key=1 base62\"\nkeys = {{ 1 = \"x{key}\" }}"),
    ] {
        let error =
            parse(&format!("realm = \"shop\"\n{}", of("counter", &settings))).unwrap_err().to_string();
        assert!(!error.contains("2233"), "{error}");
    }
}

#[test]
fn keys_come_from_files() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key");
    std::fs::write(&path, "000102030405060708090a0b0c0d0e0f\n").unwrap();
    let text = format!(
        "realm = \"shop\"\n[[name]]\nname = \"a\"\nkind = \"counter\"\nform = \"sealed key=1 base62\"\nkeys = {{ 1 = \"file:{}\" }}",
        path.display()
    );
    let config = parse(&text).unwrap();
    assert!(config.names[0].definition.to_string().contains("check=e12e69"));
    assert!(!format!("{config:?}").contains("0a0b0c"), "a key is shown");
}

#[test]
fn registered_kinds_are_called_by_their_type_names() {
    let kinds = || Kinds::new().with("mine", |_, _| Ok(floe::kind::UlidGenerator::new()));
    let read = |text: &str| {
        Config::parse_with(&format!("realm = \"shop\"\n{text}"), Path::new("floe.toml"), kinds())
    };
    let text = "[[name]]\nname = \"a\"\nkind = \"mine\"\nproperties = { worker-id = 3, tag = \"x y\", strict = true }";
    let config = read(text).unwrap();
    config.check().unwrap();
    assert_eq!(
        config.names[0].definition.to_string(),
        "registered type=mine strict=true tag=x%20y worker-id=3"
    );
    complains(text, &["unknown kind \"mine\""]);
    let error = read("[[name]]\nname = \"a\"\nkind = \"mien\"").unwrap_err().to_string();
    assert!(error.contains("did you mean `mine`?"), "{error}");
    let error = read("[[name]]\nname = \"a\"\nkind = \"other\"").unwrap_err().to_string();
    assert!(error.contains("this program registered mine"), "{error}");
    let error =
        read("[[name]]\nname = \"a\"\nkind = \"mine\"\nproperties = { f = 1.5 }").unwrap_err().to_string();
    assert!(error.contains("f: expected a text"), "{error}");
    let error =
        read("[[name]]\nname = \"a\"\nkind = \"uuid4\"\nproperties = { f = 1 }").unwrap_err().to_string();
    assert!(error.contains("only a registered name has it"), "{error}");
}

#[test]
fn sharding_spheres_properties_are_understood() {
    let name = |name: &str, rest: &str| {
        format!("[[name]]\nname = \"{name}\"\nkind = \"snowflake\"\nlayout = \"shardingsphere\"\n{rest}")
    };
    let text = name(
        "a",
        "worker-id = 3\nmax-tolerate-time-difference-milliseconds = 10\nmax-vibration-offset = 15\n",
    );
    let config = parse(&format!("realm = \"shop\"\n{text}")).unwrap();
    config.check().unwrap();
    assert_eq!(config.worker, WorkerChoice::Fixed(3));
    assert_eq!(config.clock.wait, Duration::from_millis(10));
    assert_eq!(config.names[0].taste.start, Some(Start::Random(16)), "0 to 15, both included");
    let zero = parse(&format!("realm = \"shop\"\n{}", name("a", "max-vibration-offset = 0"))).unwrap();
    assert_eq!(zero.names[0].taste.start, Some(Start::Zero));

    // At every name the same, or nowhere.
    let twice = format!("{}{}", name("a", "worker-id = 3\n"), name("b", "worker-id = 3\n"));
    assert!(parse(&format!("realm = \"shop\"\n{twice}")).is_ok());
    complains(
        &format!("{}{}", name("a", "worker-id = 3\n"), name("b", "worker-id = 4\n")),
        &["another place says 3"],
    );
    complains(
        &format!("worker = \"512..1023\"\n{}", name("a", "worker-id = 3")),
        &["another place says 512..1023"],
    );
    complains(
        &format!(
            "clock = {{ wait = \"7ms\" }}\n{}",
            name("a", "max-tolerate-time-difference-milliseconds = 10")
        ),
        &["another place says 7ms"],
    );
    complains(&name("a", "start = \"zero\"\nmax-vibration-offset = 1"), &["say it once"]);
    complains(&name("a", "worker-id = -1"), &["worker-id"]);
}

#[test]
fn a_setting_of_another_kind_is_an_error() {
    let snowflake = "[[name]]\nname = \"a\"\nkind = \"snowflake\"\nlayout = \"twitter\"\n";
    complains(
        &format!("{snowflake}digits = 6"),
        &["floe.toml:6:10:", "only a dated name has it", "snowflake"],
    );
    complains(&format!("{snowflake}increment = 2"), &["only a segment name has it"]);
    complains(
        "[[name]]\nname = \"a\"\nkind = \"counter\"\nstart = \"zero\"",
        &["only a snowflake name has it"],
    );
    complains("[[name]]\nname = \"a\"\nkind = \"counter\"\nmin_step = 1", &["only a segment name has it"]);
}

#[test]
fn a_dated_name_says_its_date_and_has_the_digits_that_fit_behind_it() {
    let of = |rest: &str| format!("[[name]]\nname = \"a\"\nkind = \"dated\"\nzone = \"UTC\"\n{rest}");
    for date in DateFormat::ALL {
        let text = of(&format!("date = \"{date}\"\ndigits = {}", date.max_digits()));
        let parsed = parse(&format!("realm = \"r\"\n{text}")).unwrap();
        let Definition::Dated(shape) = &parsed.names[0].definition else { panic!("{parsed:?}") };
        assert_eq!((shape.date(), shape.digits()), (date, date.max_digits()));
        let most = format!("1 to {}", date.max_digits());
        complains(
            &of(&format!("date = \"{date}\"\ndigits = {}", date.max_digits() + 1)),
            &["floe.toml:7:10:", &most],
        );
    }
    complains(
        &of("date = \"MM/dd\"\ndigits = 6"),
        &["floe.toml:6:8:", "yyyyMMdd, yyyyMM, yyyy, yyMMdd, yyMM, yy"],
    );
    complains(&of("date = \"yyMM\""), &["a month's counter has, 1 to 12"]);
}

#[test]
fn layouts_are_checked_where_they_stand() {
    let of = |rest: &str| format!("[[name]]\nname = \"a\"\nkind = \"snowflake\"\n{rest}");
    complains(&of("layout = \"twiter\""), &["floe.toml:5:10:", "`twitter` is near"]);
    complains(
        &of("layout = \"time:37 server:20 sequence:16\"\ntick = \"1ms\"\nepoch = \"2020-01-01T00:00:00Z\""),
        &["73 bits"],
    );
    complains(&of("layout = \"twitter\"\nepoch = \"soon\""), &["epoch", "RFC 3339"]);
    complains(&of("layout = \"twitter\"\nepoch = 1288834974657"), &["epoch", "may also be seconds"]);
    complains(
        &of("layout = \"twitter epoch=2020-01-01T00:00:00Z\"\nepoch = 2020-01-01T00:00:00Z"),
        &["say it once"],
    );
    complains(&of("layout = \"twitter sequence:13\""), &["`sequence:13` is out of place"]);
    complains(
        &of("layout = \"time:41 worker:10 sequence:12 tick=1ms epoch=2020-01-01T00:00:00Z\"\ntick = \"1ms\""),
        &["say it once"],
    );
    let moved = parse(&format!(
        "realm = \"r\"\n{}",
        of("layout = \"time:41 worker:10 sequence:12\"\ntick = \"1ms\"\nepoch = 2020-01-01T00:00:00+08:00")
    ))
    .unwrap();
    let Definition::Snowflake { layout, .. } = &moved.names[0].definition else { panic!("{moved:?}") };
    assert_eq!(layout.epoch().to_string(), "2019-12-31T16:00:00.000Z");
    // A preset keeps what is not said otherwise, behind its name or beside it.
    for rest in [
        "layout = \"sonyflake epoch=2025-01-01T00:00:00Z\"",
        "layout = \"sonyflake\"\nepoch = \"2025-01-01T08:00:00+08:00\"",
        "layout = \"sonyflake tick=10ms\"\nepoch = 2025-01-01T00:00:00Z",
        "layout = \"sonyflake-v2\"",
    ] {
        let parsed = parse(&format!("realm = \"r\"\n{}", of(rest))).unwrap();
        let Definition::Snowflake { layout, .. } = &parsed.names[0].definition else { panic!("{parsed:?}") };
        assert_eq!(*layout, Layout::SONYFLAKE_V2, "{rest}");
    }
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
fn a_layout_whose_time_is_over_is_not_served() {
    let of = |layout: &str| format!("[[name]]\nname = \"old\"\nkind = \"snowflake\"\nlayout = {layout}");
    complains(&of("\"baidu\""), &["`old`", "ran out on 20", "floe inspect --layout baidu"]);
    complains(
        &of("\"time:20 worker:4 sequence:4\"\ntick = \"1ms\"\nepoch = \"2020-01-01T00:00:00Z\""),
        &["ran out on 2020-01-01T00:17:28", "--layout \"time:20 worker:4 sequence:4 tick=1ms epoch=2020"],
    );
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
    // Where a file lists no names, none come into being.
    parse("realm = \"r\"\nworker = 5000").unwrap().check().unwrap();
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
            &["cache: the embedded ledger needs no cache", "--ledger"],
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

#[test]
fn a_token_is_read_and_what_is_wrong_with_it_never_shows_a_secret() {
    let token = NewToken::random("shop", "orders,user-*").unwrap();
    let config = parse(&format!("realm = \"r\"\n{}", token.toml())).unwrap();
    assert_eq!(config.tokens.len(), 1);
    assert_eq!(config.tokens[0].hash, Some(TokenHash::of(token.secret().as_bytes())));
    let names: Vec<_> = config.tokens[0].names.iter().map(NameRule::to_string).collect();
    assert_eq!(names, ["orders", "user-*"]);

    let with = |setting: &str| format!("[[token]]\nname = \"a\"\nnames = [\"*\"]\n{setting}");
    let pasted = with(&format!("hash = \"{}\"", token.secret()));
    complains(&pasted, &["floe.toml:5:8: [[token]] hash: this is a token itself", "floe token new"]);
    for secret in [token.secret(), "hunter2", "sha256d:00"] {
        for setting in ["hash", "mysql_native"] {
            let found = complaints(&with(&format!("{setting} = \"{secret}\"")));
            assert!(found.iter().all(|complaint| !complaint.contains(secret)), "{found:?}");
        }
    }
    complains(&with(""), &["[[token]] hash: it is missing"]);
    complains("[[token]]\nname = \"a\"\ncertificate = \"a\"", &["[[token]] names: it is missing"]);
    let twice = token.toml() + &token.toml().replace("shop", "other");
    complains(&twice, &["[[token]] hash: the token at floe.toml:3:8 has the same"]);
    assert!(NewToken::random("a", "or*ders").is_err());
}

#[test]
fn a_token_lets_a_listener_be_reached_from_other_machines() {
    let token = NewToken::random("shop", "*").unwrap();
    complains("listen = [\"0.0.0.0:7600\"]", &["reachable from other machines", "[[token]]", "insecure"]);
    let text = format!("realm = \"r\"\nlisten = [\"0.0.0.0:7600\"]\n{}", token.toml());
    parse(&text).unwrap().check().unwrap();
}

#[test]
fn a_first_number_is_one_that_the_name_has() {
    let of = |rest: &str| format!("[[name]]\nname = \"a\"\n{rest}");
    let first = |rest: &str| parse(&format!("realm = \"r\"\n{}", of(rest))).unwrap().names[0].first;
    assert_eq!(first("kind = \"segment\""), None);
    assert_eq!(first("kind = \"segment\"\nfirst = 50000001"), Some(50_000_001));
    assert_eq!(first("kind = \"counter\"\nfirst = 9223372036854775807"), Some(floe::ledger::MAX_MARK));
    assert_eq!(first("kind = \"segment\"\nincrement = 2\noffset = 0\nfirst = 1000"), Some(1_000));
    // Nothing is rounded in silence.
    complains(
        &of("kind = \"segment\"\nincrement = 2\nfirst = 1000"),
        &["floe.toml:6:9: [[name]] first:", "1000 is none of its numbers", "write 1001"],
    );
    complains(&of("kind = \"counter\"\nfirst = 0"), &["0 is none of its numbers", "write 1"]);
    complains(&of("kind = \"counter\"\nfirst = 9223372036854775808"), &["outside the allowed 0 to"]);
    let last = "kind = \"segment\"\nincrement = 2\noffset = 0\nfirst = 9223372036854775807";
    complains(&of(last), &["it has no number from 9223372036854775807 on"]);
    complains(
        &of("kind = \"counter\"\nform = \"base32 bits=30 width=6\"\nfirst = 2000000000"),
        &["its form"],
    );
    for kind in ["snowflake\"\nlayout = \"twitter", "dated\"\nzone = \"UTC\"\ndigits = \"6", "uuid4"] {
        let text = of(&format!("kind = \"{kind}\"\nfirst = 5")).replace("\"6\"", "6");
        complains(&text, &["[[name]] first: only a segment and a counter have one"]);
    }
}

#[test]
fn new_names_are_asked_for_their_first_number_where_other_machines_ask() {
    let policy = |text: &str| parse(&format!("realm = \"r\"\n{text}")).unwrap().on_new_names();
    assert_eq!(policy(""), NewNames::FromOne);
    assert_eq!(policy("listen = [\"unix:floe.sock\", \"[::1]:1\"]"), NewNames::FromOne);
    for exposed in
        ["listen = [\"127.0.0.1:1\", \"0.0.0.0:1\"]", "mysql = \"10.0.0.1:1\"", "resp = \"[::]:1\""]
    {
        assert_eq!(policy(exposed), NewNames::AskForFirst, "{exposed}");
        assert_eq!(policy(&format!("{exposed}\nnew_names = \"from 1\"")), NewNames::FromOne);
    }
    assert_eq!(policy("new_names = \"ask for first\""), NewNames::AskForFirst);
    assert_eq!(policy("new_names = \"refuse\""), NewNames::Refuse);
    complains("new_names = \"yes\"", &["one of \"refuse\", \"ask for first\", \"from 1\""]);
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
        &["names its realm", "0.0.0.0:7600 is reachable", "limits.request_timeout"],
    );
    // A layout, and the form of the same name, its taste, and other names.
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
fn the_file_to_begin_with_is_valid_and_every_name_in_it_can_be_made() {
    assert_eq!(checked(Config::starter_text()), [""; 0]);
    // Its examples, too: a line that begins with "# name = value" or "# [[".
    let uncommented: Vec<&str> = Config::starter_text()
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(setting)
                if setting.starts_with("[[")
                    || setting.split_once(" = ").is_some_and(|(key, _)| !key.contains(' ')) =>
            {
                setting
            }
            _ => line,
        })
        .collect();
    let config = parse(&uncommented.join("\n")).unwrap();
    assert_eq!(config.names.len(), 4);
    let counted = |settings: &&NameSettings| settings.definition.position_of(0).is_some();
    assert!(config.names.iter().filter(counted).all(|settings| settings.first.is_some()));
}

#[test]
fn of_overlapping_patterns_the_longest_is_found_and_a_listed_name_before_all() {
    let named = |name: &str| format!("[[name]]\nname = \"{name}\"\nkind = \"counter\"\n");
    let rules = ["*", "t-*", "t-one", "t-one-*", "\u{fc}*"];
    let text = rules.map(named).concat();
    let config = parse(&format!("realm = \"r\"\n{text}")).unwrap();
    for (name, rule) in [
        ("any", "*"),
        ("t-", "*"),
        ("t-two", "t-*"),
        ("t-one", "t-one"),
        ("t-one-", "t-*"),
        ("t-one-1", "t-one-*"),
        ("\u{fc}ber", "\u{fc}*"),
    ] {
        let found = config.settings_of(&Name::new(name).unwrap()).unwrap();
        assert_eq!(found.rule.to_string(), rule, "{name}");
    }
}

#[test]
fn only_the_keys_of_the_name_that_is_used_are_read() {
    let sealed = |name: &str, key: &str| {
        format!(
            "[[name]]\nname = \"{name}\"\nkind = \"counter\"\nform = \"sealed key=1 base62\"\nkeys = {{ 1 = \"{key}\" }}\n"
        )
    };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("floe.toml");
    let (key, nowhere) = ("000102030405060708090a0b0c0d0e0f", "env:FLOE_NO_SUCH_KEY");
    let text =
        [sealed("*", nowhere), sealed("a-*", nowhere), sealed("a-b*", key), sealed("plain", key)].concat();
    std::fs::write(&path, format!("realm = \"r\"\n{text}")).unwrap();
    let seals = |name: &str| {
        let name = Name::new(name).unwrap();
        let config = Config::load_for(&path, Some(&name))?;
        Ok::<_, ConfigError>(config.settings_of(&name).unwrap().definition.form().unwrap().can_encode())
    };
    assert!(seals("a-b1").unwrap() && seals("plain").unwrap());
    assert!(seals("a-c").unwrap_err().to_string().contains("FLOE_NO_SUCH_KEY"));
    assert_eq!(Config::load_for(&path, None).unwrap().names.len(), 4);
    // A server serves all of them.
    assert!(Config::load(&path).is_err());
}

/// The processor's time that this thread had, in nanoseconds: what others do at the same time is not in it.
#[cfg(target_os = "linux")]
fn worked() -> u64 {
    let spent = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    spent.split(' ').next().unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn sixteen_times_as_many_names_patterns_and_tokens_are_about_sixteen_times_the_work() {
    let text = |n: usize| {
        let each = (0..n).map(|i| {
            format!(
                "[[name]]\nname = \"n{i}\"\nkind = \"counter\"\n[[name]]\nname = \"p{i}-*\"\nkind = \"counter\"\n\
                 [[token]]\nname = \"t{i}\"\nnames = [\"*\"]\nhash = \"sha256d:{i:064x}\"\n"
            )
        });
        format!("realm = \"r\"\n{}", each.collect::<String>())
    };
    let work = |n: usize| {
        let text = text(n);
        let once = || {
            let before = worked();
            let config = parse(&text).unwrap();
            config.check().unwrap();
            let find = config.rules();
            for i in 0..n {
                assert!(find(&format!("n{i}")).is_some() && find(&format!("p{i}-1")).is_some());
            }
            worked() - before
        };
        once().min(once())
    };
    // Of a quadratic part this would be 256.
    let (few, many) = (work(600), work(9_600));
    assert!(many / few < 48, "{few} ns, {many} ns");
}
