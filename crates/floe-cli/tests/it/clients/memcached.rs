//! memcached's clients.

use std::collections::HashSet;
use std::process::Command;

use super::{Stand, outlives_its_server};

#[test]
fn memcached_clients_outlive_their_server() {
    let clients = ["pymemcache", "python-memcached", "pylibmc-text", "pylibmc-binary", "bmemcached"];
    outlives_its_server("memcached_clients.py", &clients);
}

#[test]
fn libmemcacheds_tools() {
    let stand = Stand::start();
    let servers = format!("--servers=127.0.0.1:{}", stand.port());
    let run = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).arg(&servers).args(arguments).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let mut seen = HashSet::new();
    for form in [&["orders", "visits"][..], &["--binary", "orders", "visits"]] {
        let (well, said) = run("memccat", form);
        assert!(well && said.lines().all(|id| id.parse::<u64>().is_ok_and(|id| seen.insert(id))), "{said}");
    }
    assert_eq!(seen.len(), 4);
    assert!(run("memcping", &[]).0);
    assert!(run("memcstat", &[]).1.contains("get_hits: 4"));
    assert!(!run("memccat", &["nobody"]).0, "an error, and no miss");
}
