//! What is listened on, and who may come.

use super::*;

#[test]
fn clients_of_mysql_have_addresses_of_their_own_or_none() {
    let read = |text: &str| parse(&format!("realm = \"shop\"\n{text}")).unwrap();
    let addresses =
        |text: &str| read(text).endpoints().map(|(_, endpoint)| endpoint.to_string()).collect::<Vec<_>>();
    let default = addresses("");
    assert_eq!(default.len(), 1);
    for nowhere in ["mysql = \"off\"", "mysql = []"] {
        assert!(read(nowhere).own_ports["mysql"].is_empty());
        assert_eq!(addresses(nowhere), default);
    }
    assert_eq!(addresses("mysql = [\"127.0.0.1:1\", \"[::1]:2\"]").len(), 3);
    // What protects `listen` protects this as well.
    let mysql = |endpoints| Config { own_ports: [("mysql", endpoints)].into(), ..Config::standalone() };
    let open = mysql(vec!["0.0.0.0:7606".parse().unwrap()]);
    assert!(open.check().unwrap_err().to_string().starts_with("mysql: 0.0.0.0:7606 is reachable"));
    assert!(!open.names_on_first_use());
    let twice = mysql(Config::standalone().listen);
    assert!(twice.check().unwrap_err().to_string().contains("listed twice"));
}

#[test]
fn a_protocol_may_have_endpoints_of_its_own() {
    let text = "realm = \"r\"\nlisten = \"off\"\nhttp = \"127.0.0.1:1\"\nresp = [\"unix:/run/floe.sock\", \"[::1]:2\"]\n";
    let config = parse(&format!("{text}memcached = \"127.0.0.1:3\"\nthrift = \"127.0.0.1:4\"")).unwrap();
    config.check().unwrap();
    let endpoints: Vec<_> = config
        .endpoints()
        .map(|(protocol, endpoint)| {
            format!("{} {endpoint}", protocol.map_or("listen", |protocol| protocol.word))
        })
        .collect();
    let expected = [
        "http 127.0.0.1:1",
        "memcached 127.0.0.1:3",
        "resp unix:/run/floe.sock",
        "resp [::1]:2",
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
