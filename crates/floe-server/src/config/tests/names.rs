//! Names and patterns: kinds, forms, layouts, keys, first numbers.

use super::*;

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
    complains("[[name]]\nname = \"a\"\nkind = \"typeid\"", &["is a form, not a kind", "form = \"typeid\""]);
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
    complains(&sealed("{ one = \"00112233445566778899aabbccddeeff\" }"), &["\"one\" is not a key id"]);
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
    let kinds = || KindRegistry::new().with("mine", |_, _| Ok(floe::kind::UlidGenerator::new()));
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
    assert_eq!(config.names[0].options.start, Some(Start::Random(16)), "0 to 15, both included");
    let zero = parse(&format!("realm = \"shop\"\n{}", name("a", "max-vibration-offset = 0"))).unwrap();
    assert_eq!(zero.names[0].options.start, Some(Start::Zero));

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
    complains(&of("date = \"yyMM\""), &["1 to 10, or to 12"]);
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
fn a_layout_whose_time_is_over_is_not_served() {
    let of = |layout: &str| format!("[[name]]\nname = \"old\"\nkind = \"snowflake\"\nlayout = {layout}");
    complains(&of("\"baidu\""), &["`old`", "ran out on 20", "floe inspect --layout baidu"]);
    complains(
        &of("\"time:20 worker:4 sequence:4\"\ntick = \"1ms\"\nepoch = \"2020-01-01T00:00:00Z\""),
        &["ran out on 2020-01-01T00:17:28", "--layout \"time:20 worker:4 sequence:4 tick=1ms epoch=2020"],
    );
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
        &["floe.toml:6:9: [[name]] first:", "1000 is not one of its numbers", "write 1001"],
    );
    complains(&of("kind = \"counter\"\nfirst = 0"), &["0 is not one of its numbers", "write 1"]);
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
