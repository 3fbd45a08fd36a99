//! How many files a server may have open: each of its connections is one.

use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use crate::client::{agent, get};
use crate::process::{PATIENCE, Server, configuration, floe, until};

/// Starts a server under these limits of `ulimit -n`, and waits until it listens.
fn start(dir: &Path, connections: &str, soft: u32, hard: u32) -> Server {
    let config = configuration(dir, &format!("realm = \"shop\"\n{connections}"));
    let mut serve = floe(["serve", "--listen", "127.0.0.1:0", "--config"]);
    serve.arg(config).arg("--data-dir").arg(dir.join("data"));
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -Sn {soft} && ulimit -Hn {hard} && exec \"$@\""), "sh"]);
    shell.arg(serve.get_program()).args(serve.get_args());
    for (name, value) in serve.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    Server::spawn(&mut shell)
}

/// The soft and the hard limit of a running process.
fn allowed(server: &Server) -> [u32; 2] {
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.pid())).expect("Linux tells");
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).expect("its limit");
    let words: Vec<_> = line.split_whitespace().take(2).map(|word| word.parse().expect("a number")).collect();
    words.try_into().expect("two limits")
}

#[test]
fn a_server_raises_its_limit_on_open_files_or_says_that_it_is_too_low() {
    // 512 more than the connections are needed.
    for (connections, soft, raised, warning) in [
        ("limits.connections = 100", 256, 612, None),
        // Never lowered.
        ("limits.connections = 100", 650, 650, None),
        ("limits.connections = 200", 256, 700, Some("connections = 200 needs 712: it serves at most 188 ")),
        // The default.
        ("", 256, 700, Some("connections = 4096 needs 4608: it serves at most 188 ")),
    ] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let server = start(dir.path(), connections, soft, 700);
        assert_eq!(allowed(&server), [raised, 700], "{connections:?} from {soft}");
        let (status, text) = server.terminate();
        assert!(status.success(), "{text}");
        let said = text.lines().find(|line| line.contains("files open"));
        assert_eq!(said.is_some(), warning.is_some(), "{connections:?} from {soft}: {text}");
        if let (Some(said), Some(warning)) = (said, warning) {
            for words in ["WARN", "may have 700 files open", warning, "ulimit -n", "LimitNOFILE="] {
                assert!(said.contains(words), "{words:?} is not in {said}");
            }
        }
    }
}

#[test]
fn idle_connections_make_room_also_where_few_files_may_be_open() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let server = start(dir.path(), "", 256, 256);
    let address = server.url().strip_prefix("http://").expect("plain HTTP").to_owned();
    // More than it may have files.
    let idle: Vec<_> = (0..300).map(|_| TcpStream::connect(&address).expect("it listens")).collect();
    until(PATIENCE, "a place", || {
        get(&agent(), &format!("{}/readyz", server.url())).filter(|(code, _)| *code == 200)
    });
    drop(idle);
    let (status, text) = server.terminate();
    assert!(status.success() && !text.contains("could not be accepted"), "{text}");
}
