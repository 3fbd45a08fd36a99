//! What a server says to machines, and what it says of clients with wrong tokens.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use floe_server::NewToken;
use floe_testbed::free_port;
use serde_json::Value;

use crate::process::{PATIENCE, Server, configuration, floe, run, until};

fn lines(text: &str) -> Vec<Value> {
    let line =
        |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}\n{text}"));
    text.lines().map(line).collect()
}

/// What a server says to this over Redis' protocol until it closes.
fn say(port: u16, words: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(words.as_bytes()).unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    said
}

#[test]
fn json_is_all_that_is_said_and_a_wrong_token_is_said_once_with_its_address() {
    let dir = tempfile::tempdir().unwrap();
    let token = NewToken::random("shop", "*").unwrap();
    let config = configuration(dir.path(), &format!("realm = \"shop\"\n{}", token.toml()));
    let (port, open, mysql) = (free_port(), free_port(), free_port());
    let mut command = floe(["serve", "--log-format", "json"]);
    command.args(["--listen", &format!("127.0.0.1:{port},0.0.0.0:{open}")]);
    command.args(["--mysql", &format!("127.0.0.1:{mysql}")]);
    command.arg("--config").arg(&config).arg("--data-dir").arg(dir.path().join("data"));
    let server = Server::spawn(&mut command);
    let authorized = |token: &str| {
        format!(
            "GET /v1/mint/orders HTTP/1.1\r\nhost: a\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\r\n"
        )
    };
    for _ in 0..3 {
        assert!(say(port, "*2\r\n$4\r\nAUTH\r\n$6\r\nfloe_0\r\nQUIT\r\n").starts_with("-WRONGPASS"));
        assert!(say(port, &authorized("floe_0")).starts_with("HTTP/1.1 401"));
    }
    assert!(say(port, &authorized(token.secret())).starts_with("HTTP/1.1 200"));
    let (status, text) = server.terminate();
    assert!(status.success(), "{text}");
    let said = lines(&text);
    let with = |word: &str| -> Vec<_> {
        said.iter().filter(|line| line["message"].as_str().is_some_and(|text| text.contains(word))).collect()
    };
    let listening = with("listening");
    assert_eq!(listening[0]["listen"][0], format!("http://127.0.0.1:{port}"), "{text}");
    assert_eq!((&listening[0]["level"], &listening[0]["realm"]), (&"INFO".into(), &"shop".into()));
    assert!(listening[0]["timestamp"].as_str().unwrap().ends_with('Z'));
    let wrong = with("wrong token");
    assert_eq!(wrong.len(), 1, "{text}");
    assert_eq!((&wrong[0]["peer"], &wrong[0]["level"]), (&"127.0.0.1".into(), &"WARN".into()));
    let clear = with("without TLS");
    assert_eq!(clear.len(), 1, "{text}");
    assert!(clear[0]["message"].as_str().unwrap().contains(&format!("0.0.0.0:{open}")), "{text}");
    assert_eq!(with("there is no ledger here yet").len(), 1, "{text}");
    assert!(!text.contains("floe_0") && !text.contains(token.secret()), "{text}");
}

#[test]
fn in_json_an_error_at_the_start_is_a_line_too() {
    let dir = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let free = format!("127.0.0.1:{}", free_port());
    let broken = dir.path().join("broken.toml");
    std::fs::write(&broken, "realm = 5\n[log]\nformat = \"json\"\n").unwrap();
    let broken = broken.to_str().unwrap();
    for (arguments, code, word) in [
        (vec!["--listen", "nowhere"], 2, "nowhere"),
        (vec!["--listen", &taken, "--mysql", &free], 1, "in use"),
        (vec!["--config", broken], 1, "realm"),
    ] {
        let mut command = floe(["serve", "--log-format", "json"]);
        let said = run(command.args(&arguments).arg("--data-dir").arg(dir.path().join("data")));
        assert_eq!((said.code, said.out.as_str()), (Some(code), ""), "{said:#?}");
        let found = lines(&said.err);
        let error = found.iter().find(|line| line["level"] == "ERROR").expect(&said.err);
        assert!(error["message"].as_str().unwrap().contains(word), "{said:#?}");
    }
}

#[test]
fn where_json_is_asked_for_a_mistake_in_the_file_or_on_the_command_line_is_a_line_too() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let unknown = file("unknown.toml", "realm = 'r'\nwindwo = '3s'\n[log]\nformat = 'json'\n");
    let no_toml = file("no.toml", "log = { format = 'json' }\nrealm = 'r'\nwindow = 3s\n");
    let whole = file("whole.toml", "realm = 'r'\n[log]\nformat = 'json'\n");
    for (arguments, code, word) in [
        (vec!["--config", &unknown], 1, "did you mean `window`"),
        (vec!["--config", &no_toml], 1, "no.toml:3"),
        (vec!["--config", &whole, "--window", "soon"], 2, "--window: \"soon\""),
        (vec!["--config", &whole, "--nonsense"], 2, "unexpected argument '--nonsense'"),
        (vec!["--log-format", "json", "--nonsense"], 2, "unexpected argument '--nonsense'"),
        (vec!["--log-format=json", "--worker"], 2, "a value is required"),
    ] {
        let said = run(floe(["serve"]).args(&arguments));
        assert_eq!((said.code, said.out.as_str()), (Some(code), ""), "{said:#?}");
        let found = lines(&said.err);
        assert!(found[0]["message"].as_str().unwrap().contains(word), "{said:#?}");
        assert_eq!((found.len(), &found[0]["level"]), (1, &"ERROR".into()), "{said:#?}");
    }
    for arguments in [
        vec!["--config", &unknown, "--log-format", "text"],
        vec!["--config", &whole, "--log-format=text", "--nonsense"],
    ] {
        let said = run(floe(["serve"]).args(&arguments));
        assert!(said.err.starts_with("error: "), "{said:#?}");
    }
}

#[test]
fn tokens_that_stay_on_this_machine_are_not_warned_of() {
    let dir = tempfile::tempdir().unwrap();
    let token = NewToken::random("shop", "*").unwrap();
    let config = configuration(dir.path(), &format!("realm = \"shop\"\n{}", token.toml()));
    let (listen, mysql) = (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
    let mut command = floe(["serve", "--listen", &listen, "--mysql", &mysql, "--config"]);
    let server = Server::spawn(command.arg(&config).arg("--data-dir").arg(dir.path().join("data")));
    until(PATIENCE, "the greeting", || server.text().contains("realm").then_some(()));
    let (status, text) = server.terminate();
    assert!(status.success() && !text.contains("without TLS"), "{text}");
}
