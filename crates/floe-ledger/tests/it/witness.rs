//! The file beside the database: a ledger that has lost writes, or is a copy, is refused.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use floe::Owner;
use floe::ledger::{Ledger, LedgerError};
use floe_ledger::{OpenError, Sqlite};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::files::{checkpointed, copy_over, put_back};
use crate::processes::{allow, give_away, lines, range, start};
use crate::{ask, entries, got, says};

fn open(path: &Path) -> Result<Sqlite, LedgerError> {
    Sqlite::open(path).map_err(|error| match error {
        OpenError::Ledger(error) => error,
        error => panic!("{error:?}"),
    })
}

#[track_caller]
fn unfit(path: &Path, parts: &[&str]) {
    match open(path) {
        Err(LedgerError::Unfit(text)) => says(&text, parts),
        other => panic!("{other:?}"),
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// The turn in the witness of `path`.
fn witnessed(path: &Path) -> u64 {
    let text = fs::read_to_string(beside(path, "-witness")).unwrap();
    let turns = text[1024..].lines().map(|line| line.split_once(' ').unwrap().0.parse::<u64>().unwrap());
    turns.max().unwrap()
}

/// A ledger whose process was killed, and the end of its last range.
fn killed(name: &str) -> (TempDir, PathBuf, u64) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join(name);
    let mut child = start(&path, 1, u64::MAX);
    let mut lines = lines(&mut child);
    lines.next().unwrap().unwrap();
    // More than SQLite keeps in the WAL alone, so the file has marks of its own.
    let mut last = (0..300).map(|_| range(&lines.next().unwrap().unwrap()).unwrap().1).last().unwrap();
    child.kill().unwrap();
    last =
        lines.map_while(Result::ok).filter_map(|line| range(&line)).map(|range| range.1).fold(last, u64::max);
    child.wait().unwrap();
    (dir, path, last)
}

/// In a data directory, and as the path of a URL.
const NAMES: [&str; 2] = ["floe.db", "ids.db"];

#[test]
fn a_ledger_whose_process_was_killed_goes_on() {
    for name in NAMES {
        let (_dir, path, last) = killed(name);
        assert!(got(&open(&path).unwrap(), &ask(1)).0 >= last, "{name}");
    }
}

#[test]
fn a_wal_that_was_removed_after_a_crash_is_missed() {
    for name in NAMES {
        let (_dir, path, last) = killed(name);
        let (wal, shm) = (beside(&path, "-wal"), beside(&path, "-shm"));
        let kept = beside(&path, "-kept");
        fs::rename(&wal, &kept).unwrap();
        // The remaining shared memory shows it; if that is gone too, the witness does.
        unfit(&path, &["-wal is gone", "put it back", "floe marks raise"]);
        fs::remove_file(&shm).unwrap();
        unfit(&path, &["was put back", "removed, cut off or damaged", "-witness away", "floe marks raise"]);
        unfit(&path, &["was put back"]);
        fs::remove_file(&wal).unwrap();
        fs::remove_file(&shm).unwrap();
        fs::rename(&kept, &wal).unwrap();
        assert!(got(&open(&path).unwrap(), &ask(1)).0 >= last, "{name}");
    }
}

#[test]
fn a_wal_that_was_cut_off_or_damaged_repeats_nothing() {
    for name in NAMES {
        let (_dir, path, last) = killed(name);
        let files = ["", "-wal", "-shm", "-witness"].map(|suffix| beside(&path, suffix));
        let all = files.clone().map(|path| fs::read(path).unwrap());
        let wal = &all[1];
        let last_frame = last_frame(wal);
        let cut_off = |bytes: usize| wal[..bytes].to_vec();
        let flipped = |at: usize| {
            let mut bytes = wal.clone();
            bytes[at] ^= 1;
            bytes
        };
        for (damaged, lost) in [
            (cut_off(32), true),
            (Vec::new(), true),
            (flipped(40), true),
            (flipped(3), true),
            // A process killed between its commit and the witness has told nobody of its last range.
            (cut_off(last_frame), false),
            (cut_off(last_frame + 100), false),
            (flipped(last_frame + 1_000), false),
            (flipped(last_frame + 9), false),
            (wal.clone(), false),
        ] {
            for (path, bytes) in files.iter().zip(&all) {
                fs::write(path, bytes).unwrap();
            }
            fs::write(&files[1], damaged).unwrap();
            match open(&path) {
                Err(LedgerError::Unfit(text)) => {
                    says(&text, &["was put back", "cut off or damaged", "floe marks raise"]);
                }
                Ok(ledger) if !lost => assert!(got(&ledger, &ask(1)).0 >= last, "{name}"),
                other => panic!("{other:?}"),
            }
        }
    }
}

/// The start of the last commit's last frame (sqlite.org/fileformat2.html, section 4.1: a header of 32 bytes, then
/// frames of a header of 24 and a page; those of the current round have the salts of the header).
fn last_frame(wal: &[u8]) -> usize {
    const FRAME: usize = 24 + 4096;
    let salts = &wal[16..24];
    let frames = wal[32..].chunks_exact(FRAME).take_while(|frame| &frame[8..16] == salts);
    32 + (frames.count() - 1) * FRAME
}

#[test]
fn a_backup_that_is_put_in_the_place_of_a_closed_ledger_is_refused() {
    for put in [copy_over as fn(&Path, &Path), |from, to| fs::rename(from, to).unwrap()] {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("floe.db");
        got(&open(&path).unwrap(), &ask(100));
        let backup = dir.path().join("backup.db");
        fs::copy(&path, &backup).unwrap();
        got(&open(&path).unwrap(), &ask(1));
        put(&backup, &path);
        unfit(&path, &["floe.db", "-witness", "floe marks raise"]);
        // The right way.
        fs::remove_file(beside(&path, "-witness")).unwrap();
        assert_eq!(
            got(&open(&path).unwrap(), &ask(1)),
            (100, 101),
            "what a backup has forgotten has to be raised"
        );
    }
}

#[test]
fn a_backup_under_a_ledger_that_has_written_nothing_stops_it_and_the_next_start() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("floe.db");
    got(&open(&path).unwrap(), &ask(100));
    let backup = dir.path().join("backup.db");
    fs::copy(&path, &backup).unwrap();
    got(&open(&path).unwrap(), &ask(1));
    let running = open(&path).unwrap();
    copy_over(&backup, &path);
    put_back(running.reserve(&ask(1)));
    drop(running);
    put_back(open(&path));
    put_back(open(&path));
}

#[test]
fn a_copied_directory_is_refused_and_the_original_goes_on() {
    // One that was never used may be a part of an image.
    [100, 0].into_iter().for_each(a_copy_is_refused_after);
}

/// So many numbers were handed out before it is copied.
fn a_copy_is_refused_after(used: u64) {
    let parent = TempDir::new().unwrap();
    let (original, copy) = (parent.path().join("floe-data"), parent.path().join("copy"));
    let ledger = Sqlite::builder().in_dir(&original).unwrap();
    if used > 0 {
        got(&ledger, &ask(used));
    }
    drop(ledger);
    let copied = Command::new("cp").arg("-a").args([&original, &copy]).status().unwrap();
    assert!(copied.success());
    unfit(
        &copy.join("floe.db"),
        &["is not the file that was made here", "a copy", "inode was", "remove", "-witness"],
    );
    let allowed = Sqlite::builder().network_filesystem(true).in_dir(&copy);
    assert!(allowed.is_err_and(|error| error.to_string().contains("a copy")), "it is on no network");
    assert_eq!(got(&open(&original.join("floe.db")).unwrap(), &ask(1)), (used, used + 1));
    // A directory that was moved is the same one.
    let moved = parent.path().join("moved");
    fs::rename(&original, &moved).unwrap();
    assert_eq!(got(&open(&moved.join("floe.db")).unwrap(), &ask(1)), (used + 1, used + 2));
}

#[test]
fn a_file_with_a_second_name_is_refused_under_both() {
    let parent = TempDir::new().unwrap();
    let (one, other) = (parent.path().join("one"), parent.path().join("other"));
    got(&Sqlite::builder().in_dir(&one).unwrap(), &ask(100));
    let copied = Command::new("cp").arg("-al").args([&one, &other]).status().unwrap();
    assert!(copied.success());
    for dir in [&one, &other] {
        unfit(&dir.join("floe.db"), &["has a second name", "find / -xdev -samefile", "remove it"]);
    }
    fs::remove_dir_all(&other).unwrap();
    assert_eq!(got(&open(&one.join("floe.db")).unwrap(), &ask(1)), (100, 101));
    // A first start that was killed between its two steps leaves this.
    fs::hard_link(one.join("floe.db"), one.join(".floe.db.new-00")).unwrap();
    assert_eq!(got(&open(&one.join("floe.db")).unwrap(), &ask(1)), (101, 102));
    assert!(!one.join(".floe.db.new-00").exists());
    // It does not hide a name that somebody has given the file.
    fs::hard_link(one.join("floe.db"), one.join(".floe.db.new-00")).unwrap();
    fs::hard_link(one.join("floe.db"), parent.path().join("ids.db")).unwrap();
    unfit(&one.join("floe.db"), &["has a second name"]);
}

#[test]
fn another_machine_is_told_by_its_id() {
    const OTHER: &str = "0123456789abcdef0123456789abcdef";
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("ids.db");
    got(&open(&path).unwrap(), &ask(100));
    let witness = beside(&path, "-witness");
    let text = fs::read_to_string(&witness).unwrap();
    let (head, turns) = text.split_at(1024);
    let origin = head.lines().nth(1).unwrap();
    let (place, id) = origin.split_once(" machine=").unwrap_or((origin, ""));
    let here = Owner::this_process("").machine;
    assert_eq!(id, here);
    let head = head.replacen(origin, &format!("{place} machine={OTHER}"), 1);
    fs::write(&witness, format!("{:<1023.1023}\n{turns}", head.trim_end())).unwrap();
    match here.as_str() {
        // A machine without an id cannot tell that it is another one. The ledger is served, and not refused by mistake.
        "" => assert_eq!(got(&open(&path).unwrap(), &ask(1)), (100, 101)),
        _ => unfit(&path, &[&format!("the machine's id was {OTHER}"), "moved here"]),
    }
}

#[test]
fn a_database_that_is_gone_beside_its_witness_is_missed() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("ids.db");
    got(&open(&path).unwrap(), &ask(100));
    assert!(!floe_ledger::sqlite::is_new(&path));
    fs::remove_file(&path).unwrap();
    assert!(!floe_ledger::sqlite::is_new(&path));
    unfit(&path, &["is gone", "ids.db-witness is still there", "a fresh one would repeat its IDs"]);
    fs::remove_file(beside(&path, "-witness")).unwrap();
    assert!(floe_ledger::sqlite::is_new(&path));
    assert_eq!(got(&open(&path).unwrap(), &ask(1)), (0, 1));
}

#[test]
fn a_database_that_is_gone_is_missed_beside_each_file_that_it_leaves() {
    for suffix in ["-wal", "-journal", "-witness"] {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("ids.db");
        fs::write(beside(&path, suffix), "").unwrap();
        unfit(&path, &["ids.db is gone", &format!("ids.db{suffix} is still there")]);
        assert_eq!(entries(dir.path()), [format!("ids.db{suffix}")]);
    }
}

#[test]
fn a_witness_that_says_nothing_is_refused_and_one_that_is_missing_is_made() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("ids.db");
    got(&open(&path).unwrap(), &ask(100));
    let witness = beside(&path, "-witness");
    let whole = fs::read(&witness).unwrap();
    for damaged in [&b""[..], b"floe", &whole[..1024]] {
        fs::write(&witness, damaged).unwrap();
        unfit(&path, &["does not say how far", "changed or damaged", "remove"]);
    }
    // As beside a ledger of an older floe. It records what was written before, although nothing has been written since.
    fs::write(&witness, &whole).unwrap();
    let turn = witnessed(&path);
    assert!(turn > 0);
    fs::remove_file(&witness).unwrap();
    drop(open(&path).unwrap());
    assert_eq!(witnessed(&path), turn);
    fs::remove_file(&witness).unwrap();
    assert_eq!(got(&open(&path).unwrap(), &ask(1)), (100, 101));
    says(&fs::read_to_string(&witness).unwrap(), &["floe witness 1", "inode=", "either would\nrepeat IDs"]);
}

#[test]
fn a_witness_is_for_those_that_its_database_is_for() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("ids.db");
    drop(open(&path).unwrap());
    allow(&path, 0o751);
    give_away(&path);
    fs::remove_file(beside(&path, "-witness")).unwrap();
    drop(open(&path).unwrap());
    let like =
        OpenOptions::new().write(true).create_new(true).mode(0o640).open(dir.path().join("like")).unwrap();
    let [witness, database] = [&beside(&path, "-witness"), &path].map(|path| fs::metadata(path).unwrap());
    assert_eq!(witness.mode(), like.metadata().unwrap().mode());
    assert_eq!((witness.uid(), witness.gid()), (database.uid(), database.gid()));
}

#[test]
fn every_write_is_witnessed() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("ids.db");
    let (one, other) = (open(&path).unwrap(), open(&path).unwrap());
    let begin = witnessed(&path);
    let mut last = begin;
    for turn in 1..=200 {
        got(if turn % 2 == 0 { &one } else { &other }, &ask(1));
        let now = witnessed(&path);
        assert!((last + 1..=last + 2).contains(&now), "{last} {now}");
        last = now;
    }
    // When the WAL was written to the file, a turn of its own said so.
    assert_eq!(last, begin + 200 + 1);
    // One lost write, the last, is enough.
    checkpointed(&one);
    drop((one, other));
    let end = witnessed(&path);
    let lower = |by: u64| {
        let connection = Connection::open(&path).unwrap();
        let stamp: Vec<u8> = connection.query_row("SELECT stamp FROM turn", [], |row| row.get(0)).unwrap();
        let at = stamp.len() - 16;
        let turn = u64::from_be_bytes(stamp[at..at + 8].try_into().unwrap()) - by;
        assert_eq!(turn, end - by);
        let stamp = [&stamp[..at], &turn.to_be_bytes(), &[0; 8]].concat();
        connection.execute("UPDATE turn SET stamp = ?1", [stamp]).unwrap();
    };
    lower(0);
    drop(open(&path).unwrap());
    lower(1);
    put_back(open(&path));
}

#[test]
fn a_witness_that_cannot_be_written_is_said_at_the_start() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("ids.db");
    got(&open(&path).unwrap(), &ask(100));
    let witness = beside(&path, "-witness");
    // Nobody can write to a directory as a file, not even root.
    fs::remove_file(&witness).unwrap();
    fs::create_dir(&witness).unwrap();
    unfit(&path, &["ids.db-witness cannot be read and written", "permissions"]);
    fs::remove_dir(&witness).unwrap();
    assert_eq!(got(&open(&path).unwrap(), &ask(1)), (100, 101));
    let file = OpenOptions::new().read(true).open(&witness).unwrap();
    file.read_exact_at(&mut [0; 1024], 0).unwrap();
}
