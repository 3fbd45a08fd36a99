//! The defaults, the file to begin with, and the examples.

use super::*;

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
            ("orders".to_owned(), Kind::SNOWFLAKE),
            ("user-*".to_owned(), Kind::SNOWFLAKE),
            ("Tickets64".to_owned(), Kind::SEGMENT),
            ("invoice".to_owned(), Kind::DATED)
        ]
    );
    assert_eq!(config.names[0].options.start, Some(Start::Rolling));
    assert_eq!(config.names[0].options.max_ahead, Duration::from_millis(10));
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
    assert_eq!(config.names[2].options, floe::NameOptions::default());
    // What is written in a comment is a default too.
    let (limits, half) = (&config.limits, Some(Limits::default().connections / 2));
    assert_eq!((limits.connections_per_address, limits.connections_per_token), (half, half));
    let embedded = Config::standalone().data_dir.join(floe_ledger::sqlite::DATABASE);
    assert_eq!(config.ledger, Some(format!("sqlite:{}", embedded.display())));
    assert_eq!(Some(&config.names[5].definition), Definition::called("nanoid").as_ref());
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
