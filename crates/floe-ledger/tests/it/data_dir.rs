//! The data directory and its witness.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use floe::ledger::{Ledger, LedgerError};
use floe_ledger::sqlite::is_new;
use floe_ledger::{OpenError, Opening, Sqlite, open_dir, open_in};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::{ask, entries, got, orders, says, until};

#[track_caller]
fn unfit(dir: &Path, parts: &[&str]) {
    for opened in [
        Sqlite::builder().in_dir(dir).map(drop),
        Sqlite::open(dir.join("floe.db")).map(drop),
        open_in(&format!("sqlite:{}/floe.db", dir.display()), "default").map(drop),
        open_dir(dir, "shop").map(drop),
    ] {
        match opened {
            Err(OpenError::Ledger(LedgerError::Unfit(text))) => says(&text, parts),
            other => panic!("{other:?}"),
        }
    }
}

/// A data directory with a ledger that was used and closed.
fn used() -> TempDir {
    let dir = TempDir::new().unwrap();
    assert_eq!(got(&Sqlite::builder().in_dir(dir.path()).unwrap(), &ask(100)), (0, 100));
    assert_eq!(entries(dir.path()), ["floe.db", "floe.db-witness", "realm"]);
    dir
}

#[test]
fn a_directory_is_made_for_its_user_alone() {
    let parent = TempDir::new().unwrap();
    let dir = parent.path().join("floe-data");
    let ledger = open_dir(&dir, "shop").unwrap();
    assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(got(&*ledger, &ask(10)), (0, 10));
    assert_eq!(entries(&dir), ["floe.db", "floe.db-shm", "floe.db-wal", "floe.db-witness", "realm"]);
    let witness = fs::read_to_string(dir.join("realm")).unwrap();
    says(&witness, &["ledger ", "a fresh ledger would repeat IDs"]);
    // Every way to open it gives the same.
    assert_eq!(got(&Sqlite::builder().realm("shop").at(dir.join("floe.db")).unwrap(), &ask(10)), (10, 20));
    let url = format!("sqlite:{}/floe.db", dir.display());
    assert_eq!(got(&*open_in(&url, "shop").unwrap(), &ask(10)), (20, 30));
    let elsewhere = parent.path().join("no/such");
    unfit(&elsewhere, &["the directory", "cannot be made", "its parent"]);
}

#[test]
fn a_ledger_that_was_removed_is_missed() {
    let dir = used();
    let kept = dir.path().join("kept");
    fs::rename(dir.path().join("floe.db"), &kept).unwrap();
    unfit(
        dir.path(),
        &[
            "floe.db is missing",
            "would repeat IDs",
            "restore the backup",
            "floe marks raise",
            "remove floe.db, floe.db-witness and realm",
        ],
    );
    assert_eq!(entries(dir.path()), ["floe.db-witness", "kept", "realm"], "nothing was made in its place");
    fs::rename(&kept, dir.path().join("floe.db")).unwrap();
    assert_eq!(got(&Sqlite::builder().in_dir(dir.path()).unwrap(), &ask(1)), (100, 101));
}

/// Nobody has to restore a backup of it.
#[test]
fn a_ledger_that_cannot_be_looked_at_is_not_called_missing() {
    let dir = used();
    let path = dir.path().join("floe.db");
    fs::remove_file(&path).unwrap();
    symlink(&path, &path).unwrap();
    unfit(dir.path(), &["floe.db cannot be reached", "permissions"]);
}

#[test]
fn a_ledger_that_was_emptied_or_damaged_is_missed() {
    let dir = used();
    let path = dir.path().join("floe.db");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, "").unwrap();
    unfit(dir.path(), &["floe.db is empty", "restore the backup"]);
    fs::write(&path, vec![7; 9_000]).unwrap();
    unfit(dir.path(), &["is not a ledger", "restore it from the backup"]);
    fs::write(&path, &bytes).unwrap();
    assert_eq!(got(&Sqlite::builder().in_dir(dir.path()).unwrap(), &ask(1)), (100, 101));
}

#[test]
fn a_ledger_that_was_exchanged_is_noticed() {
    let (dir, other) = (used(), used());
    fs::rename(other.path().join("floe.db"), dir.path().join("floe.db")).unwrap();
    unfit(dir.path(), &["floe.db is not the file that was made here", "another ledger", "inode"]);
    fs::remove_file(dir.path().join("floe.db-witness")).unwrap();
    unfit(dir.path(), &["floe.db is another one", "restore the backup"]);
}

#[test]
fn a_witness_that_is_missing_is_written_anew() {
    let dir = used();
    let witness = fs::read_to_string(dir.path().join("realm")).unwrap();
    // A crash between the two steps of a first start leaves this, too.
    fs::remove_file(dir.path().join("realm")).unwrap();
    assert_eq!(got(&Sqlite::builder().in_dir(dir.path()).unwrap(), &ask(1)), (100, 101));
    assert_eq!(fs::read_to_string(dir.path().join("realm")).unwrap(), witness);
}

/// In a copy of the file they would say that it was made there.
#[test]
fn who_only_looks_makes_no_witness_of_either_kind_and_who_writes_makes_that_of_the_writes() {
    let dir = used();
    for witness in ["floe.db-witness", "realm"] {
        fs::remove_file(dir.path().join(witness)).unwrap();
    }
    let looks = Sqlite::builder().opening(&Opening::of("default").to_look());
    let ledger = looks.in_dir(dir.path()).unwrap();
    assert_eq!(ledger.list("", "", 9).unwrap()[0].mark, 100);
    drop(ledger);
    assert_eq!(entries(dir.path()), ["floe.db"]);
    // As an operator raises a mark after a restore.
    let ledger = looks.in_dir(dir.path()).unwrap();
    ledger.raise(&orders(), 200).unwrap();
    drop(ledger);
    assert_eq!(entries(dir.path()), ["floe.db", "floe.db-witness"]);
    assert_eq!(got(&Sqlite::builder().in_dir(dir.path()).unwrap(), &ask(1)), (200, 201));
    assert_eq!(entries(dir.path()), ["floe.db", "floe.db-witness", "realm"]);
}

#[test]
fn who_only_looks_makes_no_table_in_a_file_of_an_older_floe() {
    let dir = used();
    let tool = Connection::open(dir.path().join("floe.db")).unwrap();
    tool.execute_batch("DROP TABLE turn").unwrap();
    fs::remove_file(dir.path().join("floe.db-witness")).unwrap();
    let looks = Sqlite::builder().opening(&Opening::of("default").to_look());
    says(
        &looks.in_dir(dir.path()).unwrap_err(),
        &["those of an older floe", "does not change them", "floe serve"],
    );
    let sql = "SELECT count(*) FROM sqlite_schema WHERE name = 'turn'";
    assert_eq!(tool.query_row(sql, [], |row| row.get::<_, i64>(0)), Ok(0));
}

#[test]
fn a_witness_that_says_nothing_is_not_overruled() {
    let dir = used();
    let [short, long] = [31, 33].map(|digits| format!("ledger {}\n", "0".repeat(digits)));
    let no_digit = format!("ledger {}g\n", "0".repeat(31));
    for text in ["", "ledger\n", "ledger xyz\n", "something else", "\u{0}", &short, &long, &no_digit] {
        fs::write(dir.path().join("realm"), text).unwrap();
        unfit(dir.path(), &["does not say which ledger lives here", "remove"]);
    }
    fs::remove_file(dir.path().join("realm")).unwrap();
    fs::create_dir(dir.path().join("realm")).unwrap();
    unfit(dir.path(), &["realm cannot be read"]);
}

#[test]
fn a_ledger_is_new_where_neither_it_nor_a_witness_of_it_is_there() {
    let dir = TempDir::new().unwrap();
    let [of_dir, alone, realm] = ["floe.db", "ids.db", "realm"].map(|name| dir.path().join(name));
    let are_new = || [&of_dir, &alone].map(|path| is_new(path));
    assert_eq!(are_new(), [true, true]);
    fs::write(&realm, "").unwrap();
    assert_eq!(are_new(), [false, true], "it is the witness of a directory");
    fs::remove_file(&realm).unwrap();
    drop(Sqlite::open(&alone).unwrap());
    // As an older floe has left it.
    fs::remove_file(dir.path().join("ids.db-witness")).unwrap();
    assert_eq!(are_new(), [true, false]);
}

#[test]
fn a_directory_that_is_there_is_opened_where_nothing_may_be_made() {
    let dir = used();
    let existing = Sqlite::builder().opening(&Opening::of("default").existing());
    assert_eq!(got(&existing.in_dir(dir.path()).unwrap(), &ask(1)), (100, 101));
}

#[test]
fn no_directory_is_made_for_a_realm_that_cannot_be() {
    let parent = TempDir::new().unwrap();
    match open_dir(parent.path().join("floe-data"), "two words").map(drop) {
        Err(OpenError::Asked(text)) => says(&text, &["cannot be a realm"]),
        other => panic!("{other:?}"),
    }
    assert_eq!(entries(parent.path()), Vec::<String>::new());
}

#[test]
fn removing_all_of_it_begins_afresh() {
    let dir = used();
    let before = Sqlite::builder().in_dir(dir.path()).unwrap().realm_id().unwrap();
    for file in ["floe.db", "floe.db-witness", "realm"] {
        fs::remove_file(dir.path().join(file)).unwrap();
    }
    let ledger = Sqlite::builder().in_dir(dir.path()).unwrap();
    assert_ne!(ledger.realm_id().unwrap(), before);
    assert_eq!(got(&ledger, &ask(1)), (0, 1));
}

#[test]
fn what_an_interrupted_start_leaves_is_in_nobodys_way() {
    let dir = TempDir::new().unwrap();
    // Remains of killed starts: a half-written ledger, and a draft of the witness.
    fs::write(dir.path().join(".floe.db.new-00"), "half").unwrap();
    fs::write(dir.path().join(".floe.db.new-00-journal"), "half").unwrap();
    fs::write(dir.path().join(".realm.new-00"), "ledger ").unwrap();
    assert_eq!(got(&Sqlite::builder().in_dir(dir.path()).unwrap(), &ask(1)), (0, 1));
}

#[test]
fn a_directory_that_is_a_file_is_refused() {
    let parent = TempDir::new().unwrap();
    let file = parent.path().join("file");
    fs::write(&file, "x").unwrap();
    unfit(&file, &["is not a directory"]);
}

/// As by a start at the same time, whose ledger somebody has exchanged since.
#[test]
fn a_witness_that_another_process_writes_meanwhile_is_believed() {
    let dir = used();
    let [path, witness] = ["floe.db", "realm"].map(|name| dir.path().join(name));
    let witnessed = fs::read(&witness).unwrap();
    for name in entries(dir.path()) {
        fs::remove_file(dir.path().join(name)).unwrap();
    }
    drop(Sqlite::open(&path).unwrap());
    fs::remove_file(&witness).unwrap();
    // The only lock that also keeps others from reading.
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT;").unwrap();
    let opened = || {
        let files = fs::read_dir("/proc/self/fd").unwrap();
        files
            .filter(|file| {
                file.as_ref().is_ok_and(|file| fs::read_link(file.path()).is_ok_and(|of| of == path))
            })
            .count()
    };
    let before = opened();
    let outcome = std::thread::scope(|scope| {
        let opening = scope.spawn(|| Sqlite::builder().max_wait(Duration::from_secs(60)).in_dir(dir.path()));
        // It has looked for the witness by then, and waits.
        until("it to have the file open", || opened() > before);
        fs::write(&witness, &witnessed).unwrap();
        drop(holder);
        opening.join().unwrap()
    });
    match outcome {
        Err(OpenError::Ledger(LedgerError::Unfit(text))) => says(&text, &["floe.db is another one"]),
        other => panic!("{other:?}"),
    }
}
