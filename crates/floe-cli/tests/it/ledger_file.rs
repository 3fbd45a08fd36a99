//! The database file removed or replaced under a running server: it is no longer the ledger that its ranges came
//! from, so nothing more is minted from it.

use std::path::Path;

use crate::client::{agent, get, mint};
use crate::process::{PATIENCE, Server, floe, run, until};

#[test]
fn a_removed_ledger_stops_the_server() {
    stops_and_says_so(|data| {
        for file in files(data) {
            std::fs::remove_file(file).expect("the file can be removed");
        }
    });
}

#[test]
fn a_replaced_ledger_stops_the_server() {
    stops_and_says_so(|data| {
        // A copy of an older state, as a restored backup is.
        let database = data.join("floe.db");
        let copy = data.join("copy.db");
        std::fs::copy(&database, &copy).expect("the file can be copied");
        for file in files(data).into_iter().filter(|file| *file != copy) {
            std::fs::remove_file(file).expect("the file can be removed");
        }
        std::fs::rename(&copy, &database).expect("the copy can be renamed");
    });
}

fn files(data: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(data).expect("the data directory can be listed");
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

fn stops_and_says_so(damage: impl FnOnce(&Path)) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let data = dir.path().join("data");
    let mut server = Server::on(&data);
    let url = server.url().to_owned();
    assert_eq!(mint(&url, "orders", 3).len(), 3);
    damage(&data);
    // It notices at its next write, within one window of use at the latest.
    let agent = agent();
    until(PATIENCE, "the server to notice", || match get(&agent, &format!("{url}/v1/mint/orders")) {
        Some((200, _)) => None,
        _ => Some(()),
    });
    // Nothing more, not even once.
    for _ in 0..20 {
        assert!(!matches!(get(&agent, &format!("{url}/v1/mint/orders")), Some((200, _))));
    }
    let (status, text) = server.ended();
    assert_eq!(status.code(), Some(1), "{text}");
    assert!(text.contains("error: "), "{text}");
    assert!(text.contains("floe.db"), "{text}");
}

#[test]
fn a_file_that_is_no_ledger_is_refused_at_the_next_start() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let data = dir.path().join("data");
    let mut mint = || run(floe(["mint", "orders", "--data-dir"]).arg(&data));
    assert_eq!(mint().lines().len(), 1);
    for file in files(&data) {
        if file.file_name() != Some("floe.db".as_ref()) {
            std::fs::remove_file(file).expect("the file can be removed");
        }
    }
    std::fs::write(data.join("floe.db"), "not a database at all, but long enough to be read as one. ".repeat(100))
        .expect("the file can be overwritten");
    mint().refuses(1, &["floe.db", "backup"]);
}
