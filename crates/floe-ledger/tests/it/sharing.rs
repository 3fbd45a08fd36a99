//! One file and several users of it, inside one process.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use floe::ledger::{Ledger, LedgerError, Reply, Reserve};
use floe_ledger::{OpenError, Sqlite};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::{ask, got, orders, says};

fn place() -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("ids.db");
    (dir, path)
}

#[test]
fn a_file_that_is_held_for_too_long_is_unavailable_with_the_way_to_find_the_holder() {
    let (_dir, path) = place();
    let ledger = Sqlite::builder().max_wait(Duration::from_millis(50)).at(&path).unwrap();
    got(&ledger, &ask(100));
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let request = ask(10);
    match ledger.reserve(&request) {
        Err(LedgerError::Unavailable(text)) => {
            says(&text, &["other processes held", "50ms", "fuser -v", "lsof", "ids.db"]);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(ledger.list("", "", 10).unwrap()[0].mark, 100, "those who only read do not wait");
    holder.execute_batch("ROLLBACK").unwrap();
    assert_eq!(got(&ledger, &request), (100, 110));
}

#[test]
fn a_file_that_is_held_from_the_first_moment_on_is_unavailable_too() {
    let (_dir, path) = place();
    drop(Sqlite::open(&path).unwrap());
    // The only lock that also keeps others from reading.
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT;").unwrap();
    match Sqlite::builder().max_wait(Duration::from_millis(50)).at(&path) {
        Err(OpenError::Ledger(LedgerError::Unavailable(text))) => {
            says(&text, &["other processes held", "50ms", "lsof"])
        }
        other => panic!("{other:?}"),
    }
    drop(holder);
    assert_eq!(got(&Sqlite::open(&path).unwrap(), &ask(1)), (0, 1));
}

#[test]
fn who_opens_a_ledger_to_read_in_it_does_not_wait_for_who_writes() {
    let (_dir, path) = place();
    got(&Sqlite::open(&path).unwrap(), &ask(100));
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let ledger = Sqlite::builder().max_wait(Duration::ZERO).at(&path).unwrap();
    assert_eq!(ledger.list("", "", 10).unwrap()[0].mark, 100);
}

#[test]
fn a_call_waits_for_a_holder_that_goes_away() {
    let (_dir, path) = place();
    let ledger = Sqlite::open(&path).unwrap();
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| got(&ledger, &ask(10)));
        // Usually enough for the other thread to find the file held. In any case it has to succeed.
        for _ in 0..2_000 {
            assert_eq!(holder.query_row("SELECT count(*) FROM mark", [], |row| row.get(0)), Ok(0));
        }
        holder.execute_batch("COMMIT").unwrap();
        assert_eq!(waiting.join().unwrap(), (0, 10));
    });
}

#[test]
fn a_file_that_was_taken_out_of_wal_mode_is_put_back() {
    let (_dir, path) = place();
    assert_eq!(got(&Sqlite::open(&path).unwrap(), &ask(100)), (0, 100));
    let mode = |path: &PathBuf| -> String {
        Connection::open(path).unwrap().query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap()
    };
    let tool = Connection::open(&path).unwrap();
    tool.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(())).unwrap();
    drop(tool);
    assert_eq!(mode(&path), "delete");
    // Several at once: SQLite's own waiting does not cover the switch.
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| got(&Sqlite::open(&path).unwrap(), &ask(1)))).collect();
        let mut ranges: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        ranges.sort_unstable();
        assert_eq!(ranges, (100..108).map(|start| (start, start + 1)).collect::<Vec<_>>());
    });
    assert_eq!(mode(&path), "wal");
}

/// The traces of a write: each file's length and time, and SQLite's own count of changes.
fn traces(path: &Path, watcher: &Connection) -> Vec<String> {
    let mut traces: Vec<String> = ["", "-wal"]
        .into_iter()
        .map(|suffix| {
            let metadata = fs::metadata(format!("{}{suffix}", path.display())).unwrap();
            format!("{suffix} {} {:?}", metadata.len(), metadata.modified().unwrap())
        })
        .collect();
    let version: i64 = watcher.query_row("PRAGMA data_version", [], |row| row.get(0)).unwrap();
    traces.push(format!("data_version {version}"));
    traces
}

#[test]
fn what_changes_nothing_writes_nothing() {
    let (_dir, path) = place();
    let ledger = Sqlite::open(&path).unwrap();
    let watcher = Connection::open(&path).unwrap();
    let request = ask(100);
    got(&ledger, &request);
    let name = floe::Name::new("orders").unwrap();
    ledger.bind(&name, "kind=segment", true).unwrap();
    let before = traces(&path, &watcher);

    let refused = Reserve { max_mark: 99, note: Some("host b".to_owned()), ..ask(10) };
    assert_eq!(ledger.reserve(&refused), Ok(Reply::Refused { mark: 100, note: None }));
    assert_eq!(traces(&path, &watcher), before, "a refused reserve");
    got(&ledger, &request);
    assert_eq!(traces(&path, &watcher), before, "a retried reserve");
    assert!(ledger.reserve(&ask(u64::MAX)).is_err());
    assert_eq!(traces(&path, &watcher), before, "an overflow");
    let missing = floe::ledger::Key::slot(10, 5);
    assert!(ledger.reserve(&Reserve { key: missing.clone(), create: false, ..ask(1) }).is_err());
    assert!(ledger.raise(&missing, 5).is_err());
    assert_eq!(traces(&path, &watcher), before, "a missing record");
    assert_eq!(ledger.give_back(&orders(), ask(1).token, 50), Ok(false));
    assert_eq!(traces(&path, &watcher), before, "a give-back with another token");
    assert_eq!(ledger.raise(&orders(), 50), Ok(100));
    assert_eq!(traces(&path, &watcher), before, "a raise that moves nothing");
    assert_eq!(ledger.bind(&name, "kind=counter", true).as_deref(), Ok("kind=segment"));
    assert_eq!(traces(&path, &watcher), before, "a second bind");
    ledger.names("", 10).unwrap();
    ledger.list("", "", 10).unwrap();
    ledger.definition(&name).unwrap();
    ledger.realm_id().unwrap();
    drop(Sqlite::open(&path).unwrap());
    assert_eq!(traces(&path, &watcher), before, "reading, and opening once more");

    got(&ledger, &ask(1));
    assert_ne!(traces(&path, &watcher), before, "the traces do show a write");
}

#[test]
fn the_wal_stays_small_and_goes_with_the_last_connection() {
    let (_dir, path) = place();
    let ledger = Sqlite::open(&path).unwrap();
    let wal = PathBuf::from(format!("{}-wal", path.display()));
    let mut longest = 0;
    for _ in 0..2_000 {
        got(&ledger, &ask(1));
        longest = longest.max(fs::metadata(&wal).unwrap().len());
    }
    assert!((1 << 19..3 << 19).contains(&longest), "{longest}");
    drop(ledger);
    assert!(!wal.exists());
    assert_eq!(got(&Sqlite::open(&path).unwrap(), &ask(1)), (2_000, 2_001));
}
