//! A server whose ledger is not there yet: it listens, says why it is not ready, and mints when the ledger comes.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use super::Rig;
use crate::client::{agent, get, mint};
use crate::process::{PATIENCE, Server, floe, run, until};

fn configuration(dir: &Path, rig: &Rig, sessions: &str) -> PathBuf {
    let path = dir.join("floe.toml");
    let ledger = (rig.url)(rig.server.port());
    let text = format!(
        "realm = \"shop\"\nledger = \"{ledger}\"\n[[name]]\nname = \"orders\"\nkind = \"snowflake\"\nlayout = \"twitter\"\n\
         [[name]]\nname = \"sessions\"\nkind = \"{sessions}\"\n"
    );
    std::fs::write(&path, text).unwrap();
    path
}

const SERVE: [&str; 6] = ["serve", "--listen", "127.0.0.1:0", "--mysql", "off", "--config"];

fn ask(server: &Server, path: &str) -> (u16, String) {
    get(&agent(), &format!("{}{path}", server.url())).expect("an answer")
}

/// What the server says to the first words of another protocol.
fn say(server: &Server, words: &str) -> String {
    let mut stream = TcpStream::connect(server.url().strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(words.as_bytes()).unwrap();
    let mut said = vec![0; 4096];
    let read = stream.read(&mut said).unwrap();
    String::from_utf8_lossy(&said[..read]).into_owned()
}

fn a_server_waits_for_its_ledger(rig: Rig) {
    let dir = tempfile::tempdir().unwrap();
    let config = configuration(dir.path(), &rig, "uuid7");
    rig.server.kill();
    // Who is not to wait ends at once, and so does a command of a person.
    run(floe(SERVE).arg(&config).args(["--wait-for-ledger", "0"])).refuses(1, &["127.0.0.1"]);
    let said = run(floe(SERVE).arg(&config).args(["--wait-for-ledger", "1500ms"]));
    said.refuses(1, &["is not there yet", "waited for 1500ms"]);
    let said = run(floe(["mint", "orders", "--config"]).arg(&config));
    said.refuses(1, &["127.0.0.1"]);
    assert!(!said.err.contains("again by itself") && !said.err.contains("waits for it"), "{}", said.err);

    let server = Server::spawn(floe(SERVE).arg(&config));
    assert_eq!(ask(&server, "/livez").0, 200);
    let (status, body) = ask(&server, "/readyz");
    assert!(status == 503 && body.contains("is not there yet"), "{status}: {body}");
    let (status, body) = ask(&server, "/v1/mint/orders");
    assert!(status == 503 && body.contains("unavailable"), "{status}: {body}");
    let said = say(&server, "*2\r\n$4\r\nINCR\r\n$6\r\norders\r\n");
    assert!(said.starts_with("-TRYAGAIN"), "{said}");
    let said = say(&server, "get orders\r\n");
    assert!(said.starts_with("SERVER_ERROR"), "{said}");
    // What is unique by itself is minted, in order.
    let mut sessions: Vec<String> = Vec::new();
    let mut begin = || {
        let (status, body) = ask(&server, "/v1/mint/sessions?n=3");
        assert_eq!(status, 200, "{body}");
        sessions.extend(body.lines().map(str::to_owned));
    };
    begin();

    rig.server.run();
    until(PATIENCE, "the server to be ready", || (ask(&server, "/readyz").0 == 200).then_some(()));
    assert_eq!(mint(server.url(), "orders", 5).len(), 5);
    begin();
    assert!(sessions.len() == 6 && sessions.is_sorted_by(|a, b| a < b), "{sessions:?}");
    let bound = || run(floe(["names", "--config"]).arg(&config)).out;
    until(PATIENCE, "the name to be bound", || bound().contains("uuid7").then_some(()));
    let (status, text) = server.terminate();
    assert!(status.success(), "{text}");
    assert!(text.contains("its realm shop has the id"), "{text}");
}

fn a_name_that_is_something_else_in_the_ledger_is_stopped(rig: Rig) {
    let dir = tempfile::tempdir().unwrap();
    let config = configuration(dir.path(), &rig, "ulid");
    run(floe(["mint", "sessions", "--config"]).arg(&config)).lines();
    rig.server.kill();
    let config = configuration(dir.path(), &rig, "uuid7");
    let server = Server::spawn(floe(SERVE).arg(&config));
    // One connection, which has minted from the name before.
    let agent = agent();
    let ask = || get(&agent, &format!("{}/v1/mint/sessions", server.url())).expect("an answer");
    assert_eq!(ask().0, 200);
    rig.server.run();
    let body = until(PATIENCE, "the name to be stopped", || {
        let (status, body) = ask();
        (status != 200).then(|| {
            assert_eq!(status, 500, "{body}");
            body
        })
    });
    assert!(body.contains("bound to another definition") && body.contains("ulid"), "{body}");
    assert_eq!(mint(server.url(), "orders", 1).len(), 1);
    let (status, text) = server.terminate();
    assert!(status.success() && text.contains("the name is stopped"), "{text}");
}

mod a_server_waits_for_its_ledger_on {
    super::super::on_every_server!(super::a_server_waits_for_its_ledger);
}

mod a_name_that_is_something_else_in_the_ledger_is_stopped_on {
    super::super::on_every_server!(super::a_name_that_is_something_else_in_the_ledger_is_stopped: redis);
}
