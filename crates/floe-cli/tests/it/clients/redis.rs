//! Redis' clients.

use std::process::Command;

use super::{Stand, node, python};

/// What every client of Redis was given: enough of each, and in order where the kind promises it.
fn check(given: &std::collections::BTreeMap<String, Vec<String>>) {
    for name in ["visits", "tickets", "orders"] {
        let ids: Vec<u64> = given[name].iter().map(|id| id.parse().unwrap()).collect();
        assert!(ids.len() > 50, "{name}: {}", ids.len());
        if name == "visits" {
            assert!(ids.is_sorted(), "{name} went back");
        }
    }
}

#[test]
fn redis_py_in_both_versions_of_the_protocol() {
    for version in ["2", "3"] {
        let mut command = python("redis_py.py");
        command.env("RESP", version);
        check(&Stand::start().serve(command));
    }
}

#[test]
fn node_redis() {
    check(&Stand::start().serve(node("node_redis.cjs")));
}

#[test]
fn ioredis() {
    check(&Stand::start().serve(node("ioredis.cjs")));
}

#[test]
fn redis_cli_and_redis_benchmark() {
    let stand = Stand::start();
    let port = stand.port().to_string();
    let run = |program: &str, arguments: &[&str]| {
        let output =
            Command::new(program).args(["-h", "127.0.0.1", "-p", &port]).args(arguments).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{program} {arguments:?}: {text}");
        text
    };
    let cli = |arguments: &[&str]| run("redis-cli", arguments).trim().to_owned();
    assert_eq!(cli(&["PING"]), "PONG");
    assert_eq!(cli(&["INCR", "visits"]), "1");
    assert_eq!(cli(&["INCRBY", "visits", "10"]), "11");
    assert_eq!(cli(&["GET", "visits"]), "11");
    assert_eq!(cli(&["MINT", "visits", "2"]), "12\n13");
    assert!(cli(&["INCR", "nobody"]).starts_with("NOKEY "), "a word that clients tell errors apart by");
    assert!(cli(&["-3", "INSPECT", "5", "visits"]).contains("counter"));
    let benchmark = run("redis-benchmark", &["-n", "20000", "-P", "16", "-q", "INCR", "tickets"]);
    assert!(benchmark.contains("requests per second"), "{benchmark}");
    // Each of them took a number of its own.
    let next: u64 = cli(&["INCR", "tickets"]).parse().unwrap();
    assert!(next >= 20_000, "{next}");
}
