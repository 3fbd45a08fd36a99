//! The database file removed or replaced under a running server: it is no longer the ledger that its ranges came
//! from, so nothing more is minted from it.

use std::path::Path;

use floe::Name;
use floe::ledger::{Key, Ledger as _};

use crate::client::{agent, get, mint};
use crate::process::{PATIENCE, Server, floe, run, until};

#[test]
fn a_removed_ledger_stops_the_server_and_is_missed_at_the_next_start() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let data = dir.path().join("data");
    stops_and_says_so(&data, || {
        for file in database(&data) {
            std::fs::remove_file(file).expect("the file can be removed");
        }
    });
    for command in [
        &["serve", "--listen", "127.0.0.1:0"][..],
        &["mint", "orders"],
        &["names"],
        &["slots"],
        &["marks", "list"],
        &["marks", "raise", "orders", "--to", "5"],
        &["marks", "raise", "orders", "--to", "5", "--kind", "segment"],
    ] {
        run(floe(command).arg("--data-dir").arg(&data)).refuses(1, &["floe.db", "missing", "backup"]);
        assert!(!data.join("floe.db").exists(), "{command:?} has made a ledger in place of the lost one");
    }
}

#[test]
fn a_ledger_replaced_by_another_stops_the_server_and_is_refused_at_the_next_start() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (data, other) = (dir.path().join("data"), dir.path().join("other"));
    assert_eq!(run(floe(["mint", "orders", "--data-dir"]).arg(&other)).lines().len(), 1);
    stops_and_says_so(&data, || {
        for file in database(&data) {
            std::fs::remove_file(file).expect("the file can be removed");
        }
        std::fs::rename(other.join("floe.db"), data.join("floe.db")).expect("the other can be moved");
    });
    run(floe(["mint", "orders", "--data-dir"]).arg(&data)).refuses(1, &["floe.db", "another one", "backup"]);
}

#[test]
fn a_ledger_replaced_by_its_own_copy_stops_the_server() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let data = dir.path().join("data");
    stops_and_says_so(&data, || {
        // As a restored backup is: the same bytes in another file.
        let copy = dir.path().join("copy.db");
        std::fs::copy(data.join("floe.db"), &copy).expect("the file can be copied");
        std::fs::rename(&copy, data.join("floe.db")).expect("the copy can be renamed");
    });
}

#[test]
fn a_backup_copied_over_the_ledger_in_place_stops_the_server() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (data, backup) = (dir.path().join("data"), dir.path().join("backup.db"));
    let mut before = run(floe(["mint", "visits", "--kind", "counter", "--data-dir"]).arg(&data)).numbers();
    std::fs::copy(data.join("floe.db"), &backup).expect("the file can be copied");
    let mut server = Server::on(&data);
    let agent = agent();
    let ask = |server: &Server| get(&agent, &format!("{}/v1/mint/visits", server.url()));
    // So many writes that SQLite has written some of them to the file itself.
    let ledger = floe_ledger::Sqlite::open(data.join("floe.db")).expect("another process may use it too");
    for number in 1..=200 {
        ledger
            .raise(&Key::name(&Name::new("visits").expect("a name")), number * 2_000)
            .expect("a mark can be raised");
        let (status, body) = ask(&server).expect("an answer");
        assert_eq!(status, 200, "{body}");
        before.extend(crate::client::numbers(&body));
    }
    drop(ledger);
    // The same file, with an older content, as after `cp backup.db floe.db`.
    std::fs::copy(&backup, data.join("floe.db")).expect("the file can be overwritten");
    assert!(!matches!(ask(&server), Some((200, _))), "a number was handed out again");
    let (status, text) = server.ended();
    assert_eq!(status.code(), Some(1), "{text}");
    assert!(text.contains("was put back") && text.contains("raise"), "{text}");
    crate::client::unique("visits", before);
    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["mint", "visits"], &["names"]] {
        run(floe(command).arg("--data-dir").arg(&data)).refuses(1, &["was put back", "floe.db-wal"]);
    }
}

#[test]
fn a_backup_under_a_server_that_has_written_nothing_stops_it_and_the_next_start() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (data, backup) = (dir.path().join("data"), dir.path().join("backup.db"));
    let mut before = run(floe(["mint", "visits", "--kind", "counter", "--data-dir"]).arg(&data)).numbers();
    std::fs::copy(data.join("floe.db"), &backup).expect("the file can be copied");
    before.extend(run(floe(["mint", "visits", "--data-dir"]).arg(&data)).numbers());
    let mut server = Server::on(&data);
    std::fs::copy(&backup, data.join("floe.db")).expect("the file can be overwritten");
    // The first call is also the first that has to do with the name.
    let answer = get(&agent(), &format!("{}/v1/mint/visits", server.url()));
    assert!(!matches!(answer, Some((200, _))), "{answer:?}");
    let (status, text) = server.ended();
    assert_eq!(status.code(), Some(1), "{text}");
    assert!(text.contains("so this server stops") && text.contains("was put back"), "{text}");
    run(floe(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(&data)).refuses(1, &["was put back"]);
    // As docs/operating.md says it.
    std::fs::remove_file(data.join("floe.db-witness")).expect("the witness can be removed");
    run(floe(["marks", "raise", "visits", "--to", "50", "--data-dir"]).arg(&data)).lines();
    before.extend(run(floe(["mint", "visits", "--data-dir"]).arg(&data)).numbers());
    crate::client::unique("visits", before);
}

#[test]
fn a_wal_that_was_removed_after_a_kill_is_missed_at_the_next_start() {
    for (place, path) in [("--data-dir", "data"), ("--ledger", "ids.db")] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join(path);
        let (file, value) = match place {
            "--data-dir" => (path.join("floe.db"), path.display().to_string()),
            _ => (path.clone(), format!("sqlite:{}", path.display())),
        };
        run(&mut floe(["mint", "visits", "--kind", "counter", place, &value])).lines();
        let server = Server::start([place, &value]);
        for _ in 0..300 {
            let answer = get(&agent(), &format!("{}/v1/mint/visits", server.url()));
            assert!(matches!(answer, Some((200, _))), "{answer:?}");
        }
        server.kill();
        let beside = |suffix: &str| format!("{}{suffix}", file.display());
        std::fs::remove_file(beside("-wal")).expect("the WAL can be removed");
        let mint = || run(&mut floe(["mint", "visits", place, &value]));
        mint().refuses(1, &["-wal is gone", "floe marks raise"]);
        std::fs::remove_file(beside("-shm")).expect("the shared memory can be removed");
        mint().refuses(1, &["was put back", "removed, cut off or damaged", "floe marks raise"]);
    }
}

/// The database and the files that SQLite keeps beside it.
fn database(data: &Path) -> Vec<std::path::PathBuf> {
    files(data).into_iter().filter(|file| file.to_string_lossy().contains("floe.db")).collect()
}

fn files(data: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(data).expect("the data directory can be listed");
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

fn stops_and_says_so(data: &Path, damage: impl FnOnce()) {
    let mut server = Server::on(data);
    let url = server.url().to_owned();
    assert_eq!(mint(&url, "orders", 3).len(), 3);
    damage();
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
fn a_file_that_is_no_ledger_is_refused() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let data = dir.path().join("data");
    let mint = || run(floe(["mint", "orders", "--data-dir"]).arg(&data));
    assert_eq!(mint().lines().len(), 1);
    let text = "not a database at all, but long enough to be read as one. ".repeat(100);
    std::fs::write(data.join("floe.db"), text).expect("the file can be overwritten");
    mint().refuses(1, &["floe.db", "backup"]);
}
