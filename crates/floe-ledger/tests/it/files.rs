//! Faults of the file, at the start and while it is in use.

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use floe::Name;
use floe::ledger::{Key, Ledger, LedgerError, Reserve, conformance};
use floe_ledger::{OpenError, Opening, Sqlite};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::{ask, entries, got, orders, says, until};

/// A directory and the path of a ledger in it.
fn place() -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("ids.db");
    (dir, path)
}

/// A closed ledger with one reservation in it.
fn used(path: &Path) {
    assert_eq!(got(&Sqlite::open(path).unwrap(), &ask(100)), (0, 100));
}

#[track_caller]
fn unfit_to_open(path: &Path, parts: &[&str]) {
    match Sqlite::open(path) {
        Err(OpenError::Ledger(LedgerError::Unfit(text))) => says(&text, parts),
        other => panic!("{other:?}"),
    }
}

/// Every operation answers `Unfit`.
#[track_caller]
fn unfit_to_use(ledger: &Sqlite, parts: &[&str]) {
    let (request, name) = (ask(10), Name::new("orders").unwrap());
    let errors = [
        ledger.reserve(&request).err(),
        ledger.give_back(&orders(), request.token, 5).err(),
        ledger.bind(&name, "kind=segment", true).err(),
        ledger.definition(&name).err(),
        ledger.names("", 10).err(),
        ledger.raise(&orders(), 1_000).err(),
        ledger.list("", "", 10).err(),
    ];
    for error in errors {
        match error {
            Some(LedgerError::Unfit(text)) => says(&text, parts),
            other => panic!("{other:?}"),
        }
    }
}

/// Writes other bytes into a file, as a broken disk does.
fn scribble(path: &Path, offset: u64, bytes: &[u8]) {
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    file.seek(SeekFrom::Start(offset)).unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
fn a_file_that_was_removed_under_a_ledger_stops_it() {
    let (_dir, path) = place();
    let ledger = Sqlite::open(&path).unwrap();
    got(&ledger, &ask(100));
    fs::remove_file(&path).unwrap();
    unfit_to_use(&ledger, &["ids.db was removed or moved", "stop every floe", "raise its marks"]);
    // Its WAL still exists, so no process makes a new ledger at that path by mistake.
    unfit_to_open(&path, &["is gone", "ids.db-wal is still there", "restore the backup"]);
    drop(ledger);
}

#[test]
fn a_directory_that_was_moved_away_stops_the_ledger() {
    let dir = TempDir::new().unwrap();
    let (before, after) = (dir.path().join("before"), dir.path().join("after"));
    fs::create_dir(&before).unwrap();
    let ledger = Sqlite::open(before.join("ids.db")).unwrap();
    fs::rename(&before, &after).unwrap();
    unfit_to_use(&ledger, &["was removed or moved"]);
    fs::rename(&after, &before).unwrap();
    assert_eq!(got(&ledger, &ask(5)), (0, 5), "the same file at the same path is the same ledger");
}

#[test]
fn a_file_that_was_replaced_under_a_ledger_stops_it() {
    let (dir, path) = place();
    let ledger = Sqlite::open(&path).unwrap();
    got(&ledger, &ask(100));
    let other = dir.path().join("other.db");
    used(&other);
    fs::rename(&other, &path).unwrap();
    unfit_to_use(&ledger, &["ids.db was replaced", "if it is a backup, raise its marks"]);
}

/// A start looks which file is there, and then reads its witness. This witness is a pipe, so the start waits for the test.
#[test]
fn a_file_that_is_replaced_during_a_start_is_left_as_it_is() {
    let (dir, path) = place();
    let (other, witness) = (dir.path().join("other.db"), dir.path().join("ids.db-witness"));
    used(&path);
    used(&other);
    let text = fs::read(dir.path().join("other.db-witness")).unwrap();
    fs::remove_file(&witness).unwrap();
    assert!(Command::new("mkfifo").arg(&witness).status().unwrap().success());
    let opened = std::thread::scope(|scope| {
        let opening = scope.spawn(|| Sqlite::builder().realm("shop").at(&path));
        let mut pipe = None;
        until("a start that reads the witness", || {
            let no_wait = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
            pipe = OpenOptions::new().write(true).custom_flags(no_wait).open(&witness).ok();
            pipe.is_some()
        });
        fs::rename(&other, &path).unwrap();
        pipe.unwrap().write_all(&text).unwrap();
        opening.join().unwrap()
    });
    match opened {
        Err(OpenError::Ledger(LedgerError::Unfit(text))) => says(&text, &["ids.db was replaced"]),
        other => panic!("{other:?}"),
    }
    let realms: i64 = Connection::open(&path)
        .unwrap()
        .query_row("SELECT count(*) FROM realm", [], |row| row.get(0))
        .unwrap();
    assert_eq!(realms, 1, "no realm was made in it");
}

/// It has to make its realm, for which it waits until another connection has written.
#[test]
fn a_file_that_is_replaced_while_a_start_waits_for_it_is_not_served() {
    let (dir, path) = place();
    let other = dir.path().join("other.db");
    used(&path);
    used(&other);
    let holder = Connection::open(&path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let wal = dir.path().join("ids.db-wal");
    let opened = || {
        let files = fs::read_dir("/proc/self/fd").unwrap().flatten();
        files.filter(|file| fs::read_link(file.path()).is_ok_and(|of| of == wal)).count()
    };
    let before = opened();
    let patient = Sqlite::builder().realm("shop").max_wait(Duration::from_secs(60));
    let outcome = std::thread::scope(|scope| {
        let opening = scope.spawn(|| patient.at(&path));
        // It has looked which file is there, and reads it.
        until("a start that has the WAL open", || opened() > before);
        fs::rename(&other, &path).unwrap();
        holder.execute_batch("ROLLBACK").unwrap();
        opening.join().unwrap()
    });
    match outcome {
        Err(OpenError::Ledger(LedgerError::Unfit(text))) => says(&text, &["ids.db was replaced"]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_symbolic_link_that_was_turned_elsewhere_stops_the_ledger() {
    let dir = TempDir::new().unwrap();
    let (a, b, link) = (dir.path().join("a.db"), dir.path().join("b.db"), dir.path().join("ids.db"));
    used(&a);
    used(&b);
    symlink(&a, &link).unwrap();
    let ledger = Sqlite::open(&link).unwrap();
    assert_eq!(got(&ledger, &ask(1)), (100, 101));
    fs::remove_file(&link).unwrap();
    symlink(&b, &link).unwrap();
    unfit_to_use(&ledger, &["ids.db was replaced"]);
}

#[test]
fn a_wal_or_its_index_that_was_removed_or_replaced_stops_the_ledger() {
    for suffix in ["-wal", "-shm"] {
        let (dir, path) = place();
        let ledger = Sqlite::open(&path).unwrap();
        got(&ledger, &ask(100));
        let beside = dir.path().join(format!("ids.db{suffix}"));
        let moved = dir.path().join("moved");
        fs::rename(&beside, &moved).unwrap();
        unfit_to_use(&ledger, &[&format!("ids.db{suffix} was removed or moved")]);
        fs::copy(&moved, &beside).unwrap();
        unfit_to_use(&ledger, &[&format!("ids.db{suffix} was replaced")]);
        fs::rename(&moved, &beside).unwrap();
        assert_eq!(got(&ledger, &ask(1)), (100, 101));
    }
}

#[test]
fn a_file_that_was_cut_off_under_a_ledger_stops_it() {
    let (_dir, path) = place();
    let ledger = Sqlite::open(&path).unwrap();
    got(&ledger, &ask(100));
    OpenOptions::new().write(true).open(&path).unwrap().set_len(0).unwrap();
    unfit_to_use(&ledger, &["it holds 0 bytes", "restore the backup"]);
}

#[test]
fn other_content_in_the_same_file_stops_the_ledger() {
    let (_dir, path) = place();
    let ledger = Sqlite::open(&path).unwrap();
    got(&ledger, &ask(100));
    // As if a backup of another ledger were copied over it.
    let foreign = Connection::open(&path).unwrap();
    foreign.execute("UPDATE realm SET id = 'another'", []).unwrap();
    unfit_to_use(&ledger, &["is damaged", "the id of its realm is not the one"]);
}

#[test]
fn a_file_of_something_else_is_no_ledger() {
    let (_dir, path) = place();
    fs::write(&path, "name,count\n".repeat(1_000)).unwrap();
    unfit_to_open(&path, &["is not a ledger", "give floe another path"]);
    assert_eq!(fs::read(&path).unwrap(), "name,count\n".repeat(1_000).into_bytes(), "it is left alone");
}

#[test]
fn an_empty_or_short_file_is_no_ledger() {
    for bytes in [0, 1, 511] {
        let (_dir, path) = place();
        fs::write(&path, vec![0; bytes]).unwrap();
        unfit_to_open(&path, &[&format!("it holds {bytes} bytes"), "restore the backup", "remove it"]);
        assert_eq!(fs::metadata(&path).unwrap().len(), bytes as u64, "it is left alone");
    }
}

#[test]
fn a_database_of_another_program_is_no_ledger() {
    let (dir, path) = place();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE mark (x); INSERT INTO mark VALUES (1)").unwrap();
    drop(other);
    let before = fs::read(&path).unwrap();
    unfit_to_open(&path, &["of another program", "a path of its own"]);
    assert_eq!(fs::read(&path).unwrap(), before, "it is left alone");
    assert_eq!(entries(dir.path()), ["ids.db"]);
}

#[test]
fn a_ledger_of_a_newer_version_is_refused_with_both_versions() {
    let (_dir, path) = place();
    used(&path);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 7).unwrap();
    unfit_to_open(&path, &["written by a newer floe", "version 7", "up to 2", "run the newer floe"]);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 0).unwrap();
    unfit_to_open(&path, &["is damaged", "version 0"]);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 2).unwrap();
    assert_eq!(got(&Sqlite::open(&path).unwrap(), &ask(1)), (100, 101), "nothing was changed in it");
}

#[test]
fn a_damaged_file_is_refused() {
    let (_dir, path) = place();
    used(&path);
    // The header of each page but the first.
    let pages = fs::metadata(&path).unwrap().len() / 4096;
    for page in 1..pages {
        scribble(&path, page * 4096, &[0xff; 64]);
    }
    unfit_to_open(&path, &["is damaged", "restore the backup", "raise its marks"]);
    let (_dir, path) = place();
    used(&path);
    OpenOptions::new().write(true).open(&path).unwrap().set_len(4096 * 2).unwrap();
    unfit_to_open(&path, &["is damaged", "restore the backup", "raise its marks"]);
}

#[test]
fn a_file_whose_id_is_gone_is_damaged() {
    let (_dir, path) = place();
    used(&path);
    Connection::open(&path).unwrap().execute("DELETE FROM ledger", []).unwrap();
    unfit_to_open(&path, &["is damaged (its id is gone)", "restore the backup"]);
}

#[test]
fn damage_where_nobody_looks_yet_is_found_at_the_start() {
    let (_dir, path) = place();
    let ledger = Sqlite::open(&path).unwrap();
    for number in 0..40 {
        ledger.bind(&Name::new(&format!("name-{number}")).unwrap(), &"x".repeat(2_000), false).unwrap();
    }
    drop(ledger);
    let pages = fs::metadata(&path).unwrap().len() / 4096;
    // A leaf of the definitions. Opening does not read it for its own work.
    scribble(&path, (pages - 2) * 4096, &[0xff; 64]);
    unfit_to_open(&path, &["is damaged", "restore the backup", "raise its marks"]);
}

#[test]
fn rows_that_floe_did_not_write_are_damage() {
    for change in
        ["UPDATE mark SET mark = -5", "UPDATE mark SET token = 'text'", "UPDATE mark SET token = x'00'"]
    {
        let (_dir, path) = place();
        let ledger = Sqlite::open(&path).unwrap();
        got(&ledger, &ask(100));
        let other = Connection::open(&path).unwrap();
        other.execute_batch("PRAGMA ignore_check_constraints = ON; PRAGMA writable_schema = ON; PRAGMA cell_size_check = OFF").unwrap();
        match other.execute_batch(change) {
            // A strict table holds what floe wrote, or nothing.
            Err(error) => says(&error, &["cannot store TEXT value in BLOB column"]),
            Ok(()) => match ledger.reserve(&ask(1)) {
                Err(LedgerError::Unfit(text)) => says(&text, &["is damaged", "restore the backup"]),
                other => panic!("{change}: {other:?}"),
            },
        }
    }
}

#[test]
fn damage_that_is_met_later_stops_the_ledger() {
    let (_dir, path) = place();
    let ledger = Sqlite::open(&path).unwrap();
    for number in 0..400 {
        // About two pages' worth for every ten.
        ledger.bind(&Name::new(&format!("name-{number}")).unwrap(), &"x".repeat(2_000), false).unwrap();
    }
    drop(ledger);
    let ledger = Sqlite::open(&path).unwrap();
    let pages = fs::metadata(&path).unwrap().len() / 4096;
    assert!(pages > 100, "more than its cache of 64 pages: {pages}");
    for page in 8..pages {
        scribble(&path, page * 4096, &[0xff; 64]);
    }
    match ledger.names("", usize::MAX) {
        Err(LedgerError::Unfit(text)) => {
            says(&text, &["is damaged", "restore the backup", "raise its marks"])
        }
        other => panic!("{:?}", other.map(|names| names.len())),
    }
}

#[test]
fn paths_that_lead_to_no_file_are_refused() {
    let dir = TempDir::new().unwrap();
    unfit_to_open(dir.path(), &["is a directory", "a ledger is a file"]);
    unfit_to_open(Path::new("/"), &["is a directory"]);
    unfit_to_open(&dir.path().join("no/such/ids.db"), &["the directory of", "create it"]);
    symlink(dir.path().join("nowhere"), dir.path().join("link.db")).unwrap();
    unfit_to_open(&dir.path().join("link.db"), &["leads nowhere"]);
    File::create(dir.path().join("file")).unwrap();
    unfit_to_open(&dir.path().join("file/ids.db"), &["cannot be reached", "permissions"]);
    unfit_to_open(Path::new("/dev/null"), &["is not a regular file"]);
}

/// Binds names until the ledger has reached its limit.
#[track_caller]
fn fill(ledger: &Sqlite) {
    let error = (0..1_000).find_map(|number| {
        let name = Name::new(&format!("name-{number}")).unwrap();
        ledger.bind(&name, &"x".repeat(2_000), true).err()
    });
    match error {
        Some(LedgerError::Unavailable(text)) => says(&text, &["disk full", "df -h", "max_mib"]),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_limit_of_less_than_a_page_is_a_limit() {
    let (_dir, path) = place();
    used(&path);
    let before = fs::metadata(&path).unwrap().len();
    fill(&Sqlite::builder().max_bytes(1).at(&path).unwrap());
    assert_eq!(fs::metadata(&path).unwrap().len(), before);
}

#[test]
fn a_ledger_at_its_limit_says_disk_full_and_loses_nothing() {
    let (_dir, path) = place();
    let ledger = Sqlite::builder().max_bytes(256 << 10).at(&path).unwrap();
    let first = ask(100);
    got(&ledger, &first);
    fill(&ledger);
    assert!(fs::metadata(&path).unwrap().len() <= 256 << 10);
    assert_eq!(got(&ledger, &first), (0, 100), "what is there goes on");
    assert_eq!(got(&ledger, &ask(5)), (100, 105), "what needs no room goes on");
    drop(ledger);
    let roomier = Sqlite::open(&path).unwrap();
    roomier.bind(&Name::new("one-more").unwrap(), &"x".repeat(20_000), true).unwrap();
    assert_eq!(got(&roomier, &ask(5)), (105, 110));
}

#[test]
fn a_slot_that_somebody_deletes_stays_missing() {
    let (_dir, path) = place();
    let delete = |key: &Key| {
        let by_hand = Connection::open(&path).unwrap();
        assert_eq!(by_hand.execute("DELETE FROM mark WHERE key = ?1", [key.as_str()]), Ok(1));
    };
    conformance::check_deleted(&|| Box::new(Sqlite::open(&path).unwrap()), &delete);
}

/// Its definition and its mark are two rows, and both are gone. In a file of an earlier floe nothing else says that there was one.
#[test]
fn a_name_that_somebody_deletes_stays_missing() {
    let (_dir, path) = place();
    let ledger = Sqlite::open(&path).unwrap();
    let by_hand = Connection::open(&path).unwrap();
    for (text, marked) in [("tickets", true), ("users", false)] {
        let name = Name::new(text).unwrap();
        let key = Key::name(&name);
        let delete = |sql: &str, value: &str| by_hand.execute(sql, [value]).unwrap();
        ledger.bind(&name, "segment", marked).unwrap();
        assert_eq!(delete("DELETE FROM definition WHERE name = ?1", text), 1);
        assert_eq!(delete("DELETE FROM mark WHERE key = ?1", key.as_str()), usize::from(marked));
        for ledger in [&ledger, &Sqlite::open(&path).unwrap()] {
            assert_eq!(ledger.bind(&name, "segment", marked), Err(LedgerError::Missing(key.clone())));
            let request = Reserve { key: key.clone(), ..ask(5) };
            assert_eq!(ledger.reserve(&request), Err(LedgerError::Missing(key.clone())));
        }
        assert_eq!(ledger.definition(&name), Ok(None));
        assert_eq!(delete("DELETE FROM made WHERE key = ?1", key.as_str()), 1);
        assert_eq!(ledger.bind(&name, "counter", marked), Ok("counter".to_owned()));
    }
}

/// The first floe that noted names binds the others as before, and one that was begun.
#[test]
fn a_file_whose_names_are_not_noted_is_gone_on_with() {
    let (_dir, path) = place();
    let ledger = Sqlite::open(&path).unwrap();
    let [tickets, orders] = ["tickets", "orders"].map(|text| Name::new(text).unwrap());
    ledger.bind(&tickets, "segment", true).unwrap();
    let reserve = |name: &Name| got(&ledger, &Reserve { key: Key::name(name), create: false, ..ask(5) });
    assert_eq!(reserve(&tickets), (0, 5));
    Connection::open(&path).unwrap().execute("DELETE FROM made", []).unwrap();
    assert_eq!(ledger.bind(&tickets, "counter", true), Ok("segment".to_owned()));
    assert_eq!(reserve(&tickets), (5, 10));
    let token = floe::ledger::Token::random().unwrap();
    floe::ledger::begin(&ledger, &orders, 500, token).unwrap();
    assert_eq!(ledger.bind(&orders, "segment", true), Ok("segment".to_owned()));
    assert_eq!(reserve(&orders), (500, 505));
}

#[test]
fn a_file_of_the_first_version_is_migrated_with_its_slots() {
    let (_dir, path) = place();
    used(&path);
    let slot = Reserve { key: Key::slot(10, 7), ..ask(5) };
    got(&Sqlite::open(&path).unwrap(), &slot);
    let by_hand = || Connection::open(&path).unwrap();
    by_hand().execute_batch("DROP TABLE made; PRAGMA user_version = 1").unwrap();
    let version = || by_hand().query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)).unwrap();
    // An opening that only looks changes nothing, and neither does one that pins another realm.
    let url = format!("sqlite:{}", path.display());
    says(
        &floe_ledger::open_existing(&url, "default").err().unwrap(),
        &["older floe (version 1)", "floe serve"],
    );
    let pinned = Opening::of("default").realm_id("00000000000000000000000000000000").open(&url);
    says(&pinned.err().unwrap(), &["has the id", "pins 0000"]);
    assert_eq!(version(), 1);
    std::thread::scope(|scope| {
        (0..8).for_each(|_| drop(scope.spawn(|| drop(Sqlite::open(&path).unwrap()))));
    });
    assert_eq!(version(), 2);
    let ledger = Sqlite::open(&path).unwrap();
    assert_eq!(got(&ledger, &Reserve { key: Key::slot(10, 7), ..ask(5) }), (5, 10));
    by_hand().execute("DELETE FROM mark WHERE key = 's/10/7'", []).unwrap();
    assert_eq!(
        ledger.reserve(&Reserve { ..ask(1) }),
        Ok(floe::ledger::Reply::Got { start: 100, end: 101, previous_mark: 100 })
    );
    let again = ledger.reserve(&Reserve { key: Key::slot(10, 7), ..ask(5) });
    assert_eq!(again, Err(LedgerError::Missing(Key::slot(10, 7))));
}

#[test]
fn a_ledger_that_is_only_looked_at_gets_no_realm() {
    let (_dir, path) = place();
    used(&path);
    let url = format!("sqlite:{}", path.display());
    for _ in 0..2 {
        let Err(error) = floe_ledger::open_existing(&url, "shpo") else { panic!("it was made") };
        says(&error, &["has no realm shpo", "it has: default", "--realm", "floe serve"]);
    }
    assert_eq!(floe_ledger::open_existing(&url, "default").unwrap().list("", "", 9).unwrap().len(), 1);
}

#[test]
fn a_file_that_may_not_be_made_is_not_and_another_realm_is_refused() {
    let (dir, path) = place();
    let url = format!("sqlite:{}", path.display());
    let deep = format!("sqlite:{}/data/floe.db", dir.path().display());
    let no_id = "0".repeat(32);
    let refused = |url: &str, opening: &Opening, parts: &[&str]| {
        let Err(error) = opening.open(url) else { panic!("{url} was made") };
        says(&error, parts);
    };
    let openings =
        [Opening::of("shop").existing(), Opening::of("shop").to_look(), Opening::of("shop").realm_id(&no_id)];
    for opening in &openings {
        refused(&url, opening, &["there is no ledger at", "volume not mounted", "restore", "raise"]);
        refused(&deep, opening, &["there is no directory", "data", "volume not mounted"]);
    }
    assert_eq!(entries(dir.path()), Vec::<String>::new());
    let id = floe_ledger::open_in(&url, "shop").unwrap().realm_id().unwrap();
    let [existing, look, pinned] = openings;
    assert!(existing.open(&url).is_ok() && look.open(&url).is_ok());
    assert!(Opening::of("shop").realm_id(&id).open(&url).is_ok());
    refused(&url, &pinned, &[&format!("has the id {id}"), &format!("pins {no_id}")]);
    refused(&url, &Opening::of("shpo").existing(), &["has no realm shpo", "nothing may be made"]);
    refused(
        &url,
        &Opening::of("shpo").realm_id(&id),
        &["the realm shpo at", "is missing", &format!("pins {id}")],
    );
}

#[test]
fn a_caller_that_names_no_realm_is_told_of_several() {
    let (_dir, path) = place();
    let url = format!("sqlite:{}", path.display());
    let sole = Opening::of("default").sole_realm();
    assert!(!sole.open(&url).unwrap().describe().contains("realm"));
    drop(floe_ledger::open_in(&url, "shop").unwrap());
    let Err(error) = sole.open(&url) else { panic!("it was opened") };
    says(&error, &["several realms", "default and shop", "--realm default"]);
    // A server starts, and names them.
    says(&floe_ledger::open_in(&url, "default").unwrap().describe(), &["other realms, too: shop"]);
    assert!(!floe_ledger::open_in(&url, "shop").unwrap().describe().contains("default"));
}

/// More of them than an error names, and a realm of a user's with nearly the same name.
#[test]
fn scratch_realms_are_not_counted() {
    let (_dir, path) = place();
    let url = format!("sqlite:{}", path.display());
    let orders = Name::new("orders").unwrap();
    let bind = |realm: &str| {
        floe_ledger::open_in(&url, realm).unwrap().bind(&orders, "counter", true).unwrap();
    };
    for scratch in 10..35 {
        bind(&format!("*check-{scratch}"));
    }
    let sole = Opening::of("default").sole_realm();
    let Err(error) = sole.clone().existing().open(&url) else { panic!("nothing was there") };
    assert!(error.to_string().contains("it has: none") && !error.to_string().contains("check-"), "{error}");
    let ledger = sole.open(&url).unwrap();
    assert!(!ledger.describe().contains("realm"), "{}", ledger.describe());
    assert_eq!(ledger.in_other_realms(&orders).unwrap(), []);
    bind("check-10");
    let found = ledger.in_other_realms(&orders).unwrap();
    assert_eq!(found.iter().map(|other| &*other.realm).collect::<Vec<_>>(), ["check-10"]);
    let Err(error) = sole.open(&url) else { panic!("it was opened") };
    says(&error, &["several realms, default and check-10,"]);
    assert!(!error.to_string().contains('*'), "{error}");
}

/// As `cp` does it: the same file, with the other one's content.
pub(crate) fn copy_over(from: &Path, to: &Path) {
    let bytes = fs::read(from).unwrap();
    let mut file = OpenOptions::new().write(true).truncate(true).open(to).unwrap();
    file.write_all(&bytes).unwrap();
}

#[track_caller]
pub(crate) fn put_back<T: std::fmt::Debug>(answer: Result<T, LedgerError>) {
    match answer {
        Err(LedgerError::Unfit(text)) => says(&text, &["was put back", ".db-wal", "raise"]),
        other => panic!("{other:?}"),
    }
}

/// Enough writes that SQLite has moved some of them from the WAL to the file.
pub(crate) fn checkpointed(ledger: &Sqlite) {
    for _ in 0..300 {
        got(ledger, &ask(1));
    }
}

/// A used ledger, its path, and that of a backup of it.
fn backed_up() -> (TempDir, PathBuf, PathBuf) {
    let (dir, path) = place();
    used(&path);
    let backup = dir.path().join("backup.db");
    fs::copy(&path, &backup).unwrap();
    (dir, path, backup)
}

#[test]
fn a_backup_that_is_copied_over_the_file_in_place_stops_everybody() {
    let (dir, path, backup) = backed_up();
    let (first, second) = (Sqlite::open(&path).unwrap(), Sqlite::open(&path).unwrap());
    checkpointed(&first);
    let seen = got(&second, &ask(1));
    copy_over(&backup, &path);
    // Neither the writer, nor another ledger, nor a new one hands out anything.
    put_back(second.reserve(&ask(1)));
    put_back(first.reserve(&ask(1)));
    put_back(first.list("", "", 9));
    let open = || {
        Sqlite::open(&path).map(drop).map_err(|error| match error {
            OpenError::Ledger(error) => error,
            error => panic!("{error:?}"),
        })
    };
    put_back(open());
    drop((first, second));
    // Nor do their remains hide it.
    put_back(open());
    put_back(open());
    // The right way: without the files that belong to the old one. The marks are the backup's.
    for suffix in ["-wal", "-shm", "-witness"] {
        fs::remove_file(dir.path().join(format!("ids.db{suffix}"))).unwrap();
    }
    copy_over(&backup, &path);
    let ledger = Sqlite::open(&path).unwrap();
    assert!(got(&ledger, &ask(1)) < seen, "what a backup has forgotten has to be raised");
}

#[test]
fn a_backup_that_is_put_back_before_the_ledger_is_closed_is_noticed_at_the_next_start() {
    let (_dir, path, backup) = backed_up();
    let ledger = Sqlite::open(&path).unwrap();
    checkpointed(&ledger);
    copy_over(&backup, &path);
    // Closed without another call.
    drop(ledger);
    match Sqlite::open(&path) {
        Err(OpenError::Ledger(error)) => put_back::<()>(Err(error)),
        other => panic!("{other:?}"),
    }
}

/// Otherwise its last ranges are lost, also when the right file is put back.
#[test]
fn a_ledger_that_can_no_longer_be_read_leaves_its_wal_when_it_is_closed() {
    let (_dir, path, backup) = backed_up();
    // As of an older floe.
    Connection::open(&backup).unwrap().execute_batch("DROP TABLE turn; VACUUM").unwrap();
    let (ledger, other) = (Sqlite::open(&path).unwrap(), Sqlite::open(&path).unwrap());
    assert_eq!(got(&other, &ask(1)), (100, 101));
    drop(other);
    let last = path.with_file_name("last.db");
    fs::copy(&path, &last).unwrap();
    copy_over(&backup, &path);
    // What the other one wrote makes it read the file again.
    drop(ledger);
    copy_over(&last, &path);
    assert_eq!(got(&Sqlite::open(&path).unwrap(), &ask(1)), (101, 102));
}

/// What the file itself holds is looked at after one write, too.
#[test]
fn a_backup_without_a_turn_that_is_copied_over_the_file_in_place_stops_its_ledger() {
    let (_dir, path, backup) = backed_up();
    // As of an older floe.
    Connection::open(&backup).unwrap().execute_batch("DROP TABLE turn; VACUUM").unwrap();
    let ledger = Sqlite::open(&path).unwrap();
    got(&ledger, &ask(1));
    copy_over(&backup, &path);
    put_back(ledger.reserve(&ask(1)));
}

#[test]
fn a_copy_that_holds_all_of_the_file_loses_nothing() {
    let (dir, path) = place();
    used(&path);
    let ledger = Sqlite::open(&path).unwrap();
    checkpointed(&ledger);
    let copy = dir.path().join("copy.db");
    fs::copy(&path, &copy).unwrap();
    let (_, end) = got(&ledger, &ask(1));
    copy_over(&copy, &path);
    assert_eq!(got(&ledger, &ask(1)), (end, end + 1));
    drop(ledger);
    assert_eq!(got(&Sqlite::open(&path).unwrap(), &ask(1)), (end + 1, end + 2));
}

#[test]
fn a_file_of_an_older_floe_without_a_turn_is_gone_on_with() {
    let (_dir, path) = place();
    used(&path);
    Connection::open(&path).unwrap().execute_batch("DROP TABLE turn").unwrap();
    fs::remove_file(path.with_file_name("ids.db-witness")).unwrap();
    assert_eq!(got(&Sqlite::open(&path).unwrap(), &ask(1)), (100, 101));
    checkpointed(&Sqlite::open(&path).unwrap());
}

#[test]
fn a_name_of_another_realm_of_the_file_is_found_with_its_mark() {
    let dir = tempfile::tempdir().unwrap();
    let realm = |realm: &str| Sqlite::builder().realm(realm).at(dir.path().join("ids.db")).unwrap();
    let (shop, bank) = (realm("shop"), realm("bank"));
    let (orders, flakes) = (Name::new("orders").unwrap(), Name::new("flakes").unwrap());
    shop.bind(&orders, "counter", true).unwrap();
    shop.raise(&Key::name(&orders), 41).unwrap();
    shop.bind(&flakes, "uuid4", false).unwrap();
    bank.bind(&flakes, "ulid", false).unwrap();
    let found = |name: &Name| {
        let found = bank.in_other_realms(name).unwrap();
        found.into_iter().map(|found| (found.realm, found.definition, found.mark)).collect::<Vec<_>>()
    };
    assert_eq!(found(&orders), [("shop".to_owned(), "counter".to_owned(), 41)]);
    assert_eq!(found(&flakes), [("shop".to_owned(), "uuid4".to_owned(), 0)]);
    assert_eq!(shop.in_other_realms(&orders).unwrap(), []);
}
