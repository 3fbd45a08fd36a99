//! What can only be seen, or brought about, from inside a transaction.

use std::fs;

use floe::ledger::{Key, LedgerError};
use tempfile::TempDir;

use super::{Begin, Done, Sqlite};

fn ledger() -> (TempDir, Sqlite) {
    let dir = TempDir::new().unwrap();
    let ledger = Sqlite::open(dir.path().join("ids.db")).unwrap();
    (dir, ledger)
}

fn write(connection: &rusqlite::Connection) -> rusqlite::Result<usize> {
    let sql = "INSERT INTO mark (realm, key, previous, start, mark) VALUES (1, 's/1/1', 0, 0, 5)";
    connection.execute(sql, [])
}

#[test]
fn a_range_written_to_a_file_that_is_replaced_meanwhile_is_not_handed_out() {
    let (dir, ledger) = ledger();
    let path = dir.path().join("ids.db");
    let outcome = ledger.transact(Begin::Write, |connection| {
        write(connection)?;
        // The checks before are done by now.
        fs::rename(&path, dir.path().join("moved.db")).unwrap();
        fs::copy(dir.path().join("moved.db"), &path).unwrap();
        Ok(Done::written(()))
    });
    assert!(
        matches!(&outcome, Err(LedgerError::Unfit(text)) if text.contains("was replaced")),
        "{outcome:?}"
    );
}

#[test]
fn work_that_fails_leaves_nothing_behind() {
    let (_dir, ledger) = ledger();
    let key = Key::slot(1, 1);
    let outcome = ledger.transact(Begin::Write, |connection| {
        write(connection)?;
        Err::<Done<()>, _>(LedgerError::Missing(key.clone()).into())
    });
    assert_eq!(outcome, Err(LedgerError::Missing(key)));
    let rows = ledger.transact(Begin::Read, |connection| {
        Ok(Done::read(connection.query_row("SELECT count(*) FROM mark", [], |row| row.get::<_, i64>(0))?))
    });
    assert_eq!(rows, Ok(0));
}

#[test]
fn a_transaction_that_was_left_open_is_rolled_back_by_the_next_call() {
    let (_dir, ledger) = ledger();
    {
        let connection = ledger.connection.lock().unwrap();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        write(&connection).unwrap();
    }
    assert_eq!(ledger.transact(Begin::Write, |connection| Ok(Done::written(write(connection)?))), Ok(1));
}

#[test]
fn every_commit_is_flushed_and_memory_is_small() {
    let (_dir, ledger) = ledger();
    let connection = ledger.connection.lock().unwrap();
    let number =
        |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(number("synchronous"), 2, "FULL");
    assert_eq!(number("cache_size"), -256, "kibibytes");
    assert_eq!(number("wal_autocheckpoint"), 256, "pages");
    assert_eq!(number("mmap_size"), 0);
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn threads_wait_for_each_other_up_to_the_bound() {
    let dir = TempDir::new().unwrap();
    let ledger = Sqlite::builder()
        .max_wait(std::time::Duration::from_millis(20))
        .at(dir.path().join("ids.db"))
        .unwrap();
    let turn = ledger.turn().unwrap();
    let blocked = ledger.turn().map(drop);
    assert!(matches!(&blocked, Err(LedgerError::Unavailable(text)) if text.contains("20ms")), "{blocked:?}");
    drop(turn);
    assert!(ledger.turn().is_ok());
}
