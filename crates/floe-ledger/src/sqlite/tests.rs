//! Tests that need the inside of a transaction.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use floe::ledger::{Key, Ledger as _, LedgerError};
use floe_testbed::woken_by;
use tempfile::TempDir;

use super::draft::{self, draft_path};
use super::file::{Place, WITNESS_SUFFIX};
use super::schema::{self, LEDGER};
use super::trouble::{self, Trouble};
use super::witness::Witness;
use super::{Begin, CHECKPOINT_EVERY, Done, Sqlite, patience};
use crate::{OpenError, Opening};

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
fn a_range_of_a_file_that_is_replaced_meanwhile_is_not_handed_out() {
    // One that was reserved ahead is taken without a write.
    for written in [true, false] {
        let (dir, ledger) = ledger();
        let path = dir.path().join("ids.db");
        let outcome = ledger.transact(Begin::Write, |connection| {
            if written {
                write(connection)?;
            }
            // The earlier checks are done by now.
            fs::rename(&path, dir.path().join("moved.db")).unwrap();
            fs::copy(dir.path().join("moved.db"), &path).unwrap();
            Ok(Done { answer: (), written })
        });
        assert!(
            matches!(&outcome, Err(LedgerError::Unfit(text)) if text.contains("was replaced")),
            "{written}: {outcome:?}"
        );
    }
}

#[test]
fn a_number_of_a_file_that_is_moved_meanwhile_is_not_handed_out_at_once() {
    let (dir, ledger) = ledger();
    let path = dir.path().join("ids.db");
    let moved = ledger.try_transact(|_| {
        fs::rename(&path, dir.path().join("moved.db")).unwrap();
        Ok(Some(7))
    });
    assert_eq!(moved, None);
    fs::rename(dir.path().join("moved.db"), &path).unwrap();
    assert_eq!(ledger.try_transact(|_| Ok(Some(7))), Some(7));
}

/// Or it would wait for the connection, without a bound.
#[test]
fn who_comes_during_a_count_at_once_waits_up_to_the_bound() {
    let (_dir, mut ledger) = ledger();
    ledger.max_wait = Duration::from_millis(1);
    assert_eq!(ledger.try_transact(|_| Ok(Some(ledger.turn().is_err()))), Some(true));
    assert!(ledger.turn().is_ok());
}

#[test]
fn a_count_at_once_wakes_who_came_during_it() {
    let (_dir, mut ledger) = ledger();
    ledger.max_wait = Duration::from_secs(60);
    let (ledger, (comes, came)) = (Arc::new(ledger), mpsc::channel());
    let counted = ledger.try_transact(|_| {
        let theirs = Arc::clone(&ledger);
        let comes = comes.clone();
        std::thread::spawn(move || comes.send(theirs.turn().map(drop)));
        while ledger.waits.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        Ok(Some(7))
    });
    assert_eq!(counted, Some(7));
    // A thread that nobody wakes would go on by itself when the longest wait is over.
    assert_eq!(came.recv_timeout(ledger.max_wait / 2), Ok(Ok(())));
}

/// Or it would find the connection in use, and sleep on although nobody uses it.
#[test]
fn who_is_woken_at_the_end_of_a_call_finds_the_connection_free() {
    let (_dir, ledger) = ledger();
    let turn = ledger.turn().unwrap();
    drop(woken_by(&ledger.free, ledger.busy.lock().unwrap(), || drop(turn), |busy| *busy));
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
fn who_comes_while_a_ledger_gets_its_name_is_not_refused_nor_is_who_makes_it() {
    for _ in 0..300 {
        let (dir, begin) = (TempDir::new().unwrap(), Barrier::new(2));
        let path = dir.path().join("ids.db");
        let draft = draft_path(&path, "0");
        fs::write(&draft, "a ledger").unwrap();
        std::thread::scope(|scope| {
            let comes = scope.spawn(|| {
                begin.wait();
                while Place::new(&path).map(|_| !path.exists()).unwrap() {}
            });
            begin.wait();
            assert!(draft::link_into_place(&draft, &path).unwrap());
            comes.join().unwrap();
        });
        // As where the other one was the first to remove it, as a second name of the file.
        draft::remove_draft(&draft).unwrap();
    }
}

#[test]
fn the_draft_of_another_ledger_is_no_second_name_of_this_one() {
    let (dir, ledger) = ledger();
    let path = dir.path().join("ids.db");
    drop(ledger);
    let (own, another) = (draft_path(&path, "own"), draft_path(&path, "another"));
    fs::hard_link(&path, &own).unwrap();
    fs::write(&another, "half of it").unwrap();
    Sqlite::open(&path).unwrap();
    assert!(!own.exists() && another.exists());
}

#[test]
fn a_name_that_is_taken_stays_and_one_that_cannot_be_given_is_an_error() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("ids.db");
    let draft = draft_path(&path, "0");
    let link_to = |path: &Path| {
        fs::write(&draft, "new").unwrap();
        draft::link_into_place(&draft, path)
    };
    fs::write(&path, "old").unwrap();
    assert!(!link_to(&path).unwrap(), "somebody was first");
    assert_eq!((fs::read(&path).unwrap(), draft.exists()), (b"old".to_vec(), false));
    assert!(link_to(&dir.path().join("x".repeat(300))).is_err());
    assert!(draft::remove_draft(dir.path()).is_err(), "it is no file");
}

/// A commit that fails.
fn fail_to_commit(ledger: &Sqlite) {
    let tables = "PRAGMA foreign_keys = ON; CREATE TEMP TABLE one (id INTEGER PRIMARY KEY);
                  CREATE TEMP TABLE other (id REFERENCES one DEFERRABLE INITIALLY DEFERRED)";
    ledger.connection.lock().unwrap().execute_batch(tables).unwrap();
    let outcome = ledger.transact(Begin::Write, |connection| {
        // It is looked for at the commit.
        connection.execute("INSERT INTO other VALUES (7)", [])?;
        Ok(Done::written(()))
    });
    assert!(outcome.is_err());
}

/// Otherwise each later start would be refused, as if writes had been lost.
#[test]
fn the_witness_says_nothing_of_what_was_not_committed() {
    let (dir, ledger) = ledger();
    fail_to_commit(&ledger);
    drop(ledger);
    assert!(Sqlite::open(dir.path().join("ids.db")).is_ok());
}

/// Its file was not put back: it never held what was not committed.
#[test]
fn who_could_not_commit_goes_on() {
    let (_dir, ledger) = ledger();
    fail_to_commit(&ledger);
    bind(&ledger, 0).unwrap();
}

#[test]
fn who_could_not_commit_holds_nobody_up() {
    let (dir, ledger) = ledger();
    let other = Sqlite::builder().max_wait(Duration::ZERO).at(dir.path().join("ids.db")).unwrap();
    fail_to_commit(&ledger);
    bind(&other, 0).unwrap();
}

#[test]
fn who_has_nothing_to_give_back_waits_for_nobody_at_the_end() {
    let (dir, mut ledger) = ledger();
    // A close that waited would take as long.
    ledger.max_wait = Duration::from_secs(3_600);
    let other = rusqlite::Connection::open(dir.path().join("ids.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    drop(ledger);
    other.execute_batch("ROLLBACK").unwrap();
}

/// What the turn says, with another number in it.
fn set_turn(ledger: &Sqlite, set: impl FnOnce(u64) -> u64) {
    let connection = ledger.connection.lock().unwrap();
    let mut stamp: Vec<u8> = connection.query_row("SELECT stamp FROM turn", [], |row| row.get(0)).unwrap();
    let turn = &mut stamp[16..24];
    let next = set(u64::from_be_bytes((&*turn).try_into().unwrap()));
    turn.copy_from_slice(&next.to_be_bytes());
    connection.execute("UPDATE turn SET stamp = ?1", [stamp]).unwrap();
}

fn bind(ledger: &Sqlite, name: usize) -> Result<String, LedgerError> {
    ledger.bind(&floe::Name::new(&format!("name-{name}")).unwrap(), "a counter", true)
}

#[test]
fn a_file_that_holds_less_than_this_process_has_seen_in_it_is_used_no_more() {
    let put_back: [fn(&Sqlite); 2] = [
        |ledger| set_turn(ledger, |turn| turn - 1),
        |ledger| drop(ledger.connection.lock().unwrap().execute("UPDATE turn SET stamp = x'00'", [])),
    ];
    for (put_back, is_own) in put_back.into_iter().flat_map(|put_back| [(put_back, true), (put_back, false)])
    {
        let (dir, ledger) = ledger();
        let other = Sqlite::open(dir.path().join("ids.db")).unwrap();
        match is_own {
            true => drop(bind(&ledger, 0).unwrap()),
            // What another process has written is known from the next look on.
            false => drop(bind(&other, 0).and_then(|_| ledger.list("", "", 1)).unwrap()),
        }
        put_back(&ledger);
        let refused = bind(&ledger, 1);
        assert!(
            matches!(&refused, Err(LedgerError::Unfit(text)) if text.contains("put back")),
            "{refused:?}"
        );
    }
}

/// What the file itself holds is read, and the WAL is written to it before.
fn in_file(ledger: &Sqlite, path: &Path) -> Vec<u8> {
    let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
    ledger.connection.lock().unwrap().query_row(sql, [], |_| Ok(())).unwrap();
    fs::read(path).unwrap()
}

#[track_caller]
fn was_put_back<T: std::fmt::Debug>(outcome: Result<T, LedgerError>) {
    assert!(matches!(&outcome, Err(LedgerError::Unfit(text)) if text.contains("put back")), "{outcome:?}");
}

fn open_again(path: &Path) -> Result<(), LedgerError> {
    match Sqlite::open(path) {
        Ok(_) => Ok(()),
        Err(OpenError::Ledger(error)) => Err(error),
        Err(OpenError::Asked(text)) => panic!("{text}"),
    }
}

/// Whoever copies it over the file does not look whether a call is under way. What is written over it from the WAL would make
/// it look whole.
#[test]
fn a_backup_that_is_copied_over_the_file_during_a_call_is_noticed_before_the_wal_is_written_to_it() {
    let (dir, ledger) = ledger();
    let path = dir.path().join("ids.db");
    let backup = in_file(&ledger, &path);
    bind(&ledger, 0).unwrap();
    assert_ne!(in_file(&ledger, &path), backup);
    set_turn(&ledger, |turn| turn + CHECKPOINT_EVERY);
    let copied = ledger.transact(Begin::Write, |connection| {
        fs::write(&path, &backup).unwrap();
        write(connection)?;
        Ok(Done::written(()))
    });
    assert_eq!(copied, Ok(()), "what it wrote is in the WAL");
    // It begins by writing the WAL to the file.
    was_put_back(bind(&ledger, 1));
    was_put_back(open_again(&path));
    assert!(fs::read(&path).unwrap() == backup, "nothing was written over it");
}

/// Names that are not bound yet.
fn new_names() -> impl FnMut() -> usize {
    let mut name = 0;
    move || {
        name += 1;
        name
    }
}

/// All that was written since it was made has left the WAL by then.
#[test]
fn a_backup_that_is_copied_over_the_file_after_the_wal_was_written_to_it_is_noticed() {
    // The call that does it binds a name, binds none, or fails.
    let calls: [fn(&Sqlite, usize); 3] = [
        |ledger, name| drop(bind(ledger, name).unwrap()),
        |ledger, _| drop(bind(ledger, 1).unwrap()),
        |ledger, _| {
            let fails = |_: &_| Err::<Done<()>, _>(LedgerError::Missing(Key::slot(10, 7)).into());
            assert!(ledger.transact(Begin::Write, fails).is_err());
        },
    ];
    for call in calls {
        let (dir, ledger) = ledger();
        let path = dir.path().join("ids.db");
        let idle = Sqlite::open(&path).unwrap();
        let mut new_name = new_names();
        let mut next_in_file = || {
            while ledger.below.behind() < CHECKPOINT_EVERY {
                bind(&ledger, new_name()).unwrap();
            }
            call(&ledger, new_name());
            assert!(ledger.below.behind() < 3);
            fs::read(&path).unwrap()
        };
        let backup = next_in_file();
        assert_ne!(next_in_file(), backup);
        fs::write(&path, backup).unwrap();
        was_put_back(bind(&ledger, 0));
        was_put_back(bind(&idle, 0));
        drop((ledger, idle));
        was_put_back(open_again(&path));
    }
}

/// Others have written the WAL to the file since, and a process that was idle meanwhile wrote it over the backup.
#[test]
fn whoever_was_idle_looks_what_others_have_written_before_it_writes_the_wal_to_the_file() {
    let (dir, ledger) = ledger();
    let path = dir.path().join("ids.db");
    let idle = Sqlite::open(&path).unwrap();
    let backup = in_file(&ledger, &path);
    let mut new_name = new_names();
    bind(&ledger, new_name()).unwrap();
    while idle.below.behind() < CHECKPOINT_EVERY {
        bind(&idle, new_name()).unwrap();
    }
    while fs::read(&path).unwrap() == backup {
        bind(&ledger, new_name()).unwrap();
    }
    fs::write(&path, &backup).unwrap();
    was_put_back(bind(&idle, 0));
    was_put_back(open_again(&path));
    assert!(fs::read(&path).unwrap() == backup, "nothing was written over it");
}

/// A call may write the WAL to the file, and then wait for another process as long as it may.
#[test]
fn what_was_written_to_the_file_is_known_also_where_the_call_came_to_nothing() {
    let (dir, mut ledger) = ledger();
    let path = dir.path().join("ids.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    let backup = in_file(&ledger, &path);
    let mut new_name = new_names();
    while ledger.below.behind() < CHECKPOINT_EVERY {
        bind(&ledger, new_name()).unwrap();
    }
    ledger.max_wait = Duration::from_millis(20);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(bind(&ledger, 0), Err(LedgerError::Unavailable(_))));
    assert!(fs::read(&path).unwrap() != backup);
    fs::write(&path, &backup).unwrap();
    other.execute_batch("ROLLBACK").unwrap();
    was_put_back(bind(&ledger, 0));
}

/// They keep parts of it from the file by turns.
#[test]
fn the_wal_stays_small_where_two_processes_write() {
    let (dir, ledger) = ledger();
    let path = dir.path().join("ids.db");
    let other = Sqlite::open(&path).unwrap();
    std::thread::scope(|scope| {
        for (ledger, first) in [(&ledger, 0), (&other, 1_500)] {
            scope.spawn(move || (first..first + 1_500).for_each(|name| drop(bind(ledger, name).unwrap())));
        }
    });
    let bytes = fs::metadata(dir.path().join("ids.db-wal")).unwrap().len();
    assert!(bytes < 8 << 20, "{bytes} bytes");
}

/// A tool that reads may be long about it.
#[test]
fn a_reader_that_keeps_the_wal_from_the_file_fails_no_call_and_holds_it_up_no_longer_than_it_reads() {
    let (dir, ledger) = ledger();
    let reader = rusqlite::Connection::open(dir.path().join("ids.db")).unwrap();
    bind(&ledger, 0).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM mark").unwrap();
    for name in 1..200 {
        bind(&ledger, name).unwrap();
    }
    assert!(ledger.below.behind() > CHECKPOINT_EVERY);
    let wal = || fs::metadata(dir.path().join("ids.db-wal")).unwrap().len();
    assert!(wal() > 2 << 20, "{} bytes", wal());
    reader.execute_batch("ROLLBACK").unwrap();
    bind(&ledger, 200).unwrap();
    assert!(ledger.below.behind() < 3);
    assert!(wal() <= 1 << 20, "{} bytes", wal());
}

/// The process that wrote it may have been killed before it could remember it.
#[test]
fn an_answer_that_rests_on_the_last_write_of_another_process_remembers_it() {
    let (dir, ledger) = ledger();
    let other = Sqlite::open(dir.path().join("ids.db")).unwrap();
    let place = Place::new(&dir.path().join("ids.db")).unwrap();
    let remembered = || Witness::find(&place).unwrap().unwrap().turn();
    let before = remembered();
    bind(&ledger, 0).unwrap();
    assert_eq!(remembered(), before + 1);
    let path = place.beside(WITNESS_SUFFIX);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace(&format!("{:015}", before + 1), &format!("{before:015}"))).unwrap();
    assert_eq!(remembered(), before);
    bind(&other, 0).unwrap();
    assert_eq!(remembered(), before + 1);
}

/// Its size says how much is read again at a start.
#[test]
fn the_wal_is_written_to_the_file_now_and_then() {
    let (dir, ledger) = ledger();
    let wal = dir.path().join("ids.db-wal");
    for name in 0..1_000 {
        bind(&ledger, name).unwrap();
    }
    let bytes = fs::metadata(wal).unwrap().len();
    assert!((1 << 18..=3 << 20).contains(&bytes), "{bytes} bytes");
    assert!(fs::metadata(dir.path().join("ids.db")).unwrap().len() > 20 * 4_096);
}

/// One write that is not remembered could be lost and not be missed.
#[test]
fn each_write_is_remembered_beside_the_file_or_is_not_told_as_done() {
    let (dir, ledger) = ledger();
    let place = Place::new(&dir.path().join("ids.db")).unwrap();
    let remembered = || Witness::find(&place).unwrap().unwrap().turn();
    let mut last = remembered();
    let mut steps = Vec::new();
    for name in 1..140 {
        bind(&ledger, name).unwrap();
        steps.push(remembered() - last);
        last += steps[steps.len() - 1];
    }
    // When the WAL was written to the file, a turn of its own said so.
    let of = |turns: u64| steps.iter().filter(|&&step| step == turns).count();
    assert_eq!((of(1), of(2)), (138, 1));
    // A turn that has no room there.
    set_turn(&ledger, |_| 999_999_999_999_999);
    let refused = bind(&ledger, 140);
    assert!(
        matches!(&refused, Err(LedgerError::Unavailable(text)) if text.contains("too often")),
        "{refused:?}"
    );
}

/// Of two processes, the one that wrote first may come to the witness last.
#[test]
fn who_is_late_takes_nothing_back_of_what_is_remembered() {
    let (dir, ledger) = ledger();
    let place = Place::new(&dir.path().join("ids.db")).unwrap();
    let turn = || Witness::find(&place).unwrap().unwrap().turn();
    // It may be so late that a later one has its place.
    for turns in 1..=130 {
        let next = turn() + 1;
        [next + turns, next].into_iter().for_each(|turn| ledger.note(turn).unwrap());
        assert_eq!(turn(), next + turns);
    }
}

/// Who comes late writes to that which is there, and not to one that nobody will read.
#[test]
fn of_two_who_begin_to_remember_one_is_first() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("ids.db");
    fs::write(&path, [0; 1_024]).unwrap();
    let place = Place::new(&path).unwrap();
    assert_eq!([3, 5].map(|turn| Witness::make(&place, turn).unwrap().turn()), [3, 3]);
}

/// To close any descriptor of the file takes the locks of all ledgers of this process away.
#[test]
fn the_ledgers_of_a_process_look_at_the_file_through_one_descriptor() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("ids.db");
    let open = || Sqlite::open(&path).unwrap();
    let descriptors = || {
        let all = fs::read_dir("/proc/self/fd").unwrap().flatten();
        all.filter(|entry| fs::read_link(entry.path()).is_ok_and(|to| to == path.canonicalize().unwrap()))
            .count()
    };
    let (first, second) = (open(), open());
    assert_eq!(descriptors(), 3, "each has SQLite's own beside");
    drop(first);
    let third = open();
    assert_eq!(descriptors(), 3);
    drop((second, third));
    assert_eq!(descriptors(), 0);
}

#[test]
fn every_commit_is_flushed_and_memory_is_small() {
    let (dir, ledger) = ledger();
    let connection = ledger.connection.lock().unwrap();
    // Whatever this SQLite was built with.
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA mmap_size = 65536").unwrap();
    let place = Place::new(&dir.path().join("ids.db")).unwrap();
    schema::prepare(&connection, &place, LEDGER, &Opening::of("test"), 1 << 30).unwrap();
    let number =
        |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(number("synchronous"), 2, "FULL");
    assert_eq!(number("cache_size"), -256, "kibibytes");
    assert_eq!(number("wal_autocheckpoint"), 0, "it is done by hand");
    assert_eq!(number("mmap_size"), 0);
    assert_eq!((number("fullfsync"), number("checkpoint_fullfsync")), (1, 1), "down to the platter on macOS");
    assert_eq!(number("journal_size_limit"), 1 << 20, "bytes");
    assert_eq!(number("temp_store"), 2, "MEMORY");
    assert_eq!(number("trusted_schema"), 0);
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

/// A caller would wait in two places, and longer than its bound.
#[test]
fn sqlite_does_not_wait_for_a_lock_by_itself() {
    let (_dir, ledger) = ledger();
    let connection = ledger.connection.lock().unwrap();
    let wait: i64 = connection.pragma_query_value(None, "busy_timeout", |row| row.get(0)).unwrap();
    assert_eq!(wait, 0);
}

#[test]
fn threads_wait_for_each_other_up_to_the_bound() {
    let dir = TempDir::new().unwrap();
    let ledger = Sqlite::builder().max_wait(Duration::from_millis(20)).at(dir.path().join("ids.db")).unwrap();
    let turn = ledger.turn().unwrap();
    let blocked = ledger.turn().map(drop);
    assert!(matches!(&blocked, Err(LedgerError::Unavailable(text)) if text.contains("20ms")), "{blocked:?}");
    drop(turn);
    assert!(ledger.turn().is_ok());
}

/// A thread that has waited for another one's call does not wait as long again for another process.
#[test]
fn a_call_waits_once_up_to_the_bound() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("ids.db");
    let ledger = Sqlite::builder().max_wait(Duration::from_millis(200)).at(&path).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let paused = std::thread::scope(|scope| {
        let first = ledger.turn().unwrap();
        let second = scope.spawn(|| {
            assert!(bind(&ledger, 0).is_err());
            patience::tests::PAUSED.get()
        });
        while ledger.waits.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        patience::pause(Duration::from_millis(100));
        drop(first);
        second.join().unwrap()
    });
    assert!(paused <= Duration::from_millis(100), "{paused:?}, and 100 ms before");
}

/// Those who come to a fresh ledger at once do not have to wait for each other's change of its mode.
#[test]
fn a_ledger_has_its_mode_before_it_has_its_name() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("ids.db");
    schema::create(&Place::new(&path).unwrap(), LEDGER).unwrap();
    // sqlite.org/fileformat2.html, section 1.3.3: 2 is WAL.
    assert_eq!(fs::read(&path).unwrap()[18..20], [2, 2]);
}

#[test]
fn a_file_that_opens_for_reading_only_or_without_a_wal_is_refused_with_its_cause() {
    use rusqlite::{Connection, OpenFlags};

    let (dir, ledger) = ledger();
    let path = dir.path().join("ids.db");
    drop(ledger);
    let place = Place::new(&path).unwrap();
    let refused = |connection: Connection| match schema::prepare(
        &connection,
        &place,
        LEDGER,
        &Opening::of("test"),
        1 << 20,
    ) {
        Err(Trouble::Ledger(LedgerError::Unfit(text))) => text,
        other => panic!("{other:?}"),
    };
    let text = refused(Connection::open_with_flags(&path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap());
    assert!(text.contains("cannot be opened for writing (it was opened for reading only)"), "{text}");
    // As on a file system without shared memory.
    let memory = Connection::open_in_memory().unwrap();
    memory.pragma_update(None, "application_id", LEDGER.application_id).unwrap();
    memory.pragma_update(None, "user_version", 2).unwrap();
    let text = refused(memory);
    assert!(text.contains("cannot be put into WAL mode (it stays in memory mode)"), "{text}");
}

/// What a person has to repair is unfit at the start, where a second try is of no use.
#[test]
fn each_error_of_sqlite_is_told_with_its_cause() {
    use rusqlite::{Error, ffi};

    let (dir, _ledger) = ledger();
    let place = Place::new(&dir.path().join("ids.db")).unwrap();
    let (opened, later) = ("Unfit: cannot be opened for writing", "Unavailable: can no longer be written");
    let both = |told| (told, told);
    for (code, (at_open, at_work)) in [
        (ffi::SQLITE_READONLY, (opened, later)),
        (ffi::SQLITE_CANTOPEN, (opened, later)),
        (ffi::SQLITE_PERM, (opened, later)),
        (ffi::SQLITE_NOTADB, ("Unfit: is not a ledger", "Unfit: is damaged")),
        (ffi::SQLITE_CORRUPT, both("Unfit: is damaged")),
        (ffi::SQLITE_ERROR, both("Unfit: is damaged")),
        (ffi::SQLITE_FULL, both("Unavailable: disk full")),
        (ffi::SQLITE_IOERR_WRITE, both("Unavailable: code 778")),
        (ffi::SQLITE_NOMEM, both("Unavailable: has no memory left")),
    ] {
        let error = || Error::SqliteFailure(ffi::Error::new(code), Some("its words".to_owned()));
        let at_work_told = trouble::at_work(place.shown(), Duration::ZERO, error().into());
        for (told, expected) in [(place.at_open(&error()), at_open), (at_work_told, at_work)] {
            let (kind, cause) = expected.split_once(": ").unwrap();
            let told = match told {
                LedgerError::Unfit(text) => ("Unfit", text),
                LedgerError::Unavailable(text) => ("Unavailable", text),
                other => panic!("{code}: {other}"),
            };
            assert!(
                told.0 == kind && told.1.contains(cause) && told.1.contains("its words"),
                "{code}: {told:?}"
            );
        }
    }
    let told = place.at_open(&Error::QueryReturnedNoRows);
    assert!(matches!(&told, LedgerError::Unfit(text) if text.contains("returned no rows")), "{told}");
}

/// It passes. To a ledger that is damaged nobody comes back.
#[test]
fn another_connection_in_the_way_is_told_as_such_whatever_sqlite_calls_it() {
    use rusqlite::{Error, ffi};

    for code in [ffi::SQLITE_BUSY, ffi::SQLITE_LOCKED, ffi::SQLITE_PROTOCOL] {
        let error = Error::SqliteFailure(ffi::Error::new(code), None);
        let told = trouble::at_work("ids.db", Duration::ZERO, error.into());
        assert!(
            matches!(&told, LedgerError::Unavailable(text) if text.contains("other processes held ids.db")),
            "{code}: {told}"
        );
    }
}

mod counts {
    use floe::Name;
    use floe::ledger::{Key, Ledger as _, MAX_MARK, Mark, Reply, Reserve, Token};

    use super::super::ahead::{Ahead, PLACES};
    use super::*;

    fn visits() -> Key {
        Key::name(&Name::new("visits").unwrap())
    }

    fn request(count: u64) -> Reserve {
        let (floor, max_mark, create, note) = (1, MAX_MARK - 1, false, None);
        Reserve { key: visits(), floor, count, max_mark, token: Token::random().unwrap(), create, note }
    }

    fn count(ledger: &Sqlite, count: u64) -> (u64, u64) {
        let request = request(count);
        // Half of them by the way that a thread tries first.
        let at_once = request.token.as_bytes()[0].is_multiple_of(2);
        let reply = if at_once { ledger.count_at_once(&request) } else { None };
        match reply.unwrap_or_else(|| ledger.count(&request).unwrap()) {
            Reply::Got { start, end, previous_mark } if previous_mark <= start && end == start + count => {
                (start, end)
            }
            reply => panic!("{reply:?}"),
        }
    }

    /// At its end, deletes what the "killed" ledgers left in memory.
    struct Swept(TempDir);

    impl Swept {
        fn new() -> Self {
            Self(TempDir::new().unwrap())
        }

        fn path(&self) -> std::path::PathBuf {
            self.0.path().join("ids.db")
        }
    }

    impl Drop for Swept {
        fn drop(&mut self) {
            let own = Ahead::new(Sqlite::open(self.path()).unwrap().ledger_id());
            let (dir, name) =
                (own.path().parent().unwrap(), own.path().file_name().unwrap().to_str().unwrap());
            for entry in fs::read_dir(dir).unwrap().flatten() {
                let is_own = entry.file_name().to_str().is_some_and(|other| other.starts_with(name));
                if is_own {
                    fs::remove_file(entry.path()).unwrap();
                }
            }
        }
    }

    /// A ledger with a counter that it never takes for a busy one.
    fn bound(path: &Path) -> Sqlite {
        let mut ledger = Sqlite::open(path).unwrap();
        ledger.ahead.busy = Duration::ZERO;
        ledger.bind(&Name::new("visits").unwrap(), "a counter", true).unwrap();
        ledger
    }

    fn mark(ledger: &Sqlite) -> u64 {
        ledger.list(visits().as_str(), "", 1).unwrap()[0].mark
    }

    /// Changes with each write.
    fn stamp(ledger: &Sqlite) -> Vec<u8> {
        let connection = ledger.connection.lock().unwrap();
        connection.query_row("SELECT stamp FROM turn", [], |row| row.get(0)).unwrap()
    }

    /// The machine restarts: no process survives, and the memory is empty.
    fn restart(ledger: Sqlite) {
        fs::remove_file(ledger.ahead.path()).unwrap();
        std::mem::forget(ledger);
    }

    #[test]
    fn only_one_in_thirty_three_is_flushed() {
        let dir = Swept::new();
        let ledger = bound(&dir.path());
        assert_eq!((count(&ledger, 1), mark(&ledger)), ((1, 2), 2), "the first takes what it needs");
        assert_eq!((count(&ledger, 1), mark(&ledger)), ((2, 3), 35), "the second reserves ahead");
        let before = stamp(&ledger);
        assert!((3..35).all(|number| count(&ledger, 1) == (number, number + 1) && mark(&ledger) == 35));
        assert_eq!(stamp(&ledger), before, "nothing is written");
        assert_eq!((count(&ledger, 2), mark(&ledger)), ((35, 37), 37 + 64));
        assert_eq!(count(&ledger, 65), (37, 102), "longer than what is left, which it begins with");
    }

    /// A process has reserved ahead, and was killed before it noted so in the witness. What others count rests on that write.
    #[test]
    fn who_counts_at_once_notes_the_last_write_of_another() {
        let dir = Swept::new();
        let (ledger, witness) = (bound(&dir.path()), dir.path().with_file_name("ids.db-witness"));
        let other = Sqlite::open(dir.path()).unwrap();
        count(&ledger, 1);
        let before = fs::read(&witness).unwrap();
        count(&ledger, 1);
        fs::write(&witness, before).unwrap();
        assert!(other.count_at_once(&request(1)).is_some());
        let turn = u64::from_be_bytes(stamp(&ledger)[16..24].try_into().unwrap());
        assert!(fs::read_to_string(&witness).unwrap().contains(&format!("{turn:015} {turn:015}\n")));
    }

    #[test]
    fn a_busy_counter_reserves_further_ahead() {
        let dir = Swept::new();
        let mut ledger = bound(&dir.path());
        ledger.ahead.busy = Duration::from_secs(3_600);
        let mut last = 0;
        let mut ahead = || {
            let (number, next) = count(&ledger, 1);
            assert_eq!((number, next), (last + 1, last + 2));
            last = number;
            mark(&ledger) - next
        };
        let reserved: Vec<_> = (0..4_000).map(|_| ahead()).collect();
        let grown = reserved.windows(2).filter_map(|two| (two[1] > two[0]).then_some(two[1]));
        assert_eq!(grown.collect::<Vec<_>>(), [32, 64, 128, 256, 512, 1_024, 1_024, 1_024]);
    }

    /// A process that opens the memory while another deletes it would skip what a third one has reserved.
    #[test]
    fn ledgers_that_are_opened_and_closed_at_once_skip_nothing() {
        let dir = Swept::new();
        let _open = bound(&dir.path());
        let counts = || {
            let opened = || Sqlite::open(dir.path()).unwrap();
            let counted = |ledger: Sqlite| (0..3).map(|_| count(&ledger, 1).0).collect::<Vec<_>>();
            (0..60).flat_map(|_| counted(opened())).collect::<Vec<_>>()
        };
        let mut numbers: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(counts)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        numbers.sort_unstable();
        assert_eq!((1..).zip(&numbers).find(|(expected, number)| expected != *number), None);
    }

    /// Nor for a lock, nor for a flush.
    #[test]
    fn who_wants_an_answer_at_once_never_waits() {
        let dir = Swept::new();
        let ledger = bound(&dir.path());
        let at_once = |count| ledger.count_at_once(&request(count));
        let got = |start| Some(Reply::Got { start, end: start + 1, previous_mark: start });
        assert_eq!((at_once(1), mark(&ledger)), (None, 0), "nothing is reserved ahead");
        assert_eq!([count(&ledger, 1), count(&ledger, 1)], [(1, 2), (2, 3)]);
        assert_eq!((at_once(1), at_once(33), mark(&ledger)), (got(3), None, 35), "31 are left");
        let turn = ledger.turn().unwrap();
        assert_eq!(at_once(1), None, "another thread has its turn");
        drop(turn);
        let other = rusqlite::Connection::open(dir.path()).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert_eq!(at_once(1), None, "another process has the file");
        other.execute_batch("ROLLBACK").unwrap();
        assert_eq!(at_once(1), got(4));
        fs::rename(dir.path(), dir.path().with_extension("moved")).unwrap();
        assert_eq!(at_once(1), None, "another file may come to its place");
        fs::rename(dir.path().with_extension("moved"), dir.path()).unwrap();
    }

    /// Of two that take from what is reserved ahead at the same time, both would be given the same.
    #[test]
    fn nothing_is_counted_or_skipped_while_another_process_has_the_file() {
        let dir = Swept::new();
        let mut ledger = bound(&dir.path());
        assert_eq!([count(&ledger, 1), count(&ledger, 1)], [(1, 2), (2, 3)]);
        ledger.max_wait = Duration::ZERO;
        let other = rusqlite::Connection::open(dir.path()).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let counted = ledger.count(&request(1));
        assert!(matches!(counted, Err(LedgerError::Unavailable(_))), "{counted:?}");
        let raised = ledger.raise(&visits(), 10);
        assert!(matches!(raised, Err(LedgerError::Unavailable(_))), "{raised:?}");
        other.execute_batch("ROLLBACK").unwrap();
        assert_eq!(count(&ledger, 1), (3, 4));
    }

    #[test]
    fn who_closes_gives_back_and_who_is_killed_leaves_the_rest_to_the_next() {
        let dir = Swept::new();
        let path = dir.path();
        for kill in [false, true] {
            let ledger = bound(&path);
            let (begin, _) = count(&ledger, 1);
            assert_eq!(count(&ledger, 1).0, begin + 1);
            assert!(mark(&ledger) > begin + 2);
            assert_eq!(count(&ledger, 3).0, begin + 2);
            let file = ledger.ahead.path().to_owned();
            if kill {
                std::mem::forget(ledger)
            } else {
                drop(ledger)
            }
            assert_eq!(file.exists(), kill);
            let next = bound(&path);
            assert_eq!(count(&next, 1).0, begin + 5);
        }
    }

    #[test]
    fn who_closes_with_nothing_left_writes_nothing() {
        let dir = Swept::new();
        let (ledger, other) = (bound(&dir.path()), bound(&dir.path()));
        assert_eq!([1, 1, 32].map(|all| count(&ledger, all)), [(1, 2), (2, 3), (3, 35)]);
        let before = stamp(&other);
        drop(ledger);
        assert_eq!(stamp(&other), before);
        assert_eq!(count(&other, 1), (35, 36));
    }

    /// A ledger that has counted twice for each of two counters, and another one on its file.
    fn two_counters() -> (Swept, Sqlite, Sqlite) {
        let dir = Swept::new();
        let (ledger, other) = (bound(&dir.path()), bound(&dir.path()));
        let orders = Name::new("orders").unwrap();
        ledger.bind(&orders, "a counter", true).unwrap();
        for key in [visits(), Key::name(&orders), visits(), Key::name(&orders)] {
            ledger.count(&Reserve { key, ..request(1) }).unwrap();
        }
        (dir, ledger, other)
    }

    #[test]
    fn who_closes_gives_back_of_every_counter() {
        let (_dir, ledger, other) = two_counters();
        let marks = || other.list("", "", 9).unwrap().iter().map(|record| record.mark).collect::<Vec<_>>();
        assert_eq!(marks(), [35, 35]);
        drop(ledger);
        assert_eq!(marks(), [3, 3]);
    }

    #[test]
    fn who_closes_gives_back_also_where_the_record_of_another_counter_is_gone() {
        let (_dir, ledger, other) = two_counters();
        other.connection.lock().unwrap().execute("DELETE FROM mark WHERE key = 'n/orders'", []).unwrap();
        drop(ledger);
        assert_eq!(mark(&other), 3);
    }

    /// It may come before the file is closed.
    #[test]
    fn whoever_opens_the_memory_while_another_closes_it_has_it() {
        let dir = Swept::new();
        let ledger = bound(&dir.path());
        for _ in 0..2 {
            count(&ledger, 1);
        }
        ledger.ahead.remove();
        let other = bound(&dir.path());
        let before = mark(&other);
        for _ in 0..3 {
            count(&other, 1);
        }
        assert_eq!(mark(&other), before, "it takes what was reserved ahead");
    }

    /// In whatever order it comes to them.
    #[test]
    fn who_closes_gives_back_of_one_counter_among_others_with_nothing_left() {
        for _ in 0..4 {
            let dir = Swept::new();
            let (ledger, other) = (bound(&dir.path()), bound(&dir.path()));
            for number in 0..7 {
                bind(&ledger, number).unwrap();
                let name = Name::new(&format!("name-{number}")).unwrap();
                ledger.count(&Reserve { key: Key::name(&name), ..request(1) }).unwrap();
            }
            assert_eq!([count(&ledger, 1), count(&ledger, 1)], [(1, 2), (2, 3)]);
            assert_eq!((ledger.ahead.remembered().len(), mark(&other)), (8, 35));
            drop(ledger);
            assert_eq!(mark(&other), 3);
        }
    }

    #[test]
    fn who_closes_leaves_the_memory_to_the_others() {
        let dir = Swept::new();
        let (ledger, other) = (bound(&dir.path()), bound(&dir.path()));
        (1..=3).for_each(|number| assert_eq!(count(&ledger, 1).0, number));
        let record = |ledger: &Sqlite| {
            let find = |connection: &_| Ok(Done::read(ledger.find(connection, visits().as_str())?));
            ledger.transact(Begin::Read, find).unwrap().unwrap()
        };
        let before = record(&other);
        assert_eq!(other.ahead.rest(&before).map(|(_, rest)| rest), Some(4..35));
        drop(ledger);
        assert_eq!((record(&other).token, other.ahead.rest(&before)), (None, None), "it was given back");
        assert!(other.ahead.path().exists());
        (4..=6).for_each(|number| assert_eq!(count(&other, 1).0, number));
        assert!(mark(&other) > 7);
    }

    #[test]
    fn who_closes_leaves_what_a_process_that_was_killed_has_left_of_another_counter() {
        let dir = Swept::new();
        let ledger = bound(&dir.path());
        (1..=3).for_each(|number| assert_eq!(count(&ledger, 1).0, number));
        // Like a kill; its file is closed too.
        ledger.ahead.forget();
        drop(ledger);
        let next = bound(&dir.path());
        let orders = Name::new("orders").unwrap();
        next.bind(&orders, "a counter", true).unwrap();
        for _ in 0..3 {
            next.count(&Reserve { key: Key::name(&orders), ..request(1) }).unwrap();
        }
        drop(next);
        assert_eq!(count(&bound(&dir.path()), 1).0, 4);
    }

    /// A process may be killed, or its disk be full, before the commit.
    #[test]
    fn what_was_noted_of_a_reservation_that_was_not_committed_is_not_handed_out() {
        let dir = Swept::new();
        let ledger = bound(&dir.path());
        (1..=3).for_each(|number| assert_eq!(count(&ledger, 1).0, number));
        let find = |connection: &_| Ok(Done::read(ledger.find(connection, visits().as_str())?));
        let record = ledger.transact(Begin::Read, find).unwrap().unwrap();
        assert!(ledger.ahead.note(visits().as_str(), &record, 50..100, 0).unwrap().is_some());
        assert_eq!(count(&ledger, 1), (35, 36), "on at the mark, up to which all was reserved");
    }

    #[test]
    fn a_start_of_the_machine_skips_what_was_reserved_ahead_and_repeats_nothing() {
        let dir = Swept::new();
        let path = dir.path();
        let ledger = bound(&path);
        (0..3).for_each(|_| assert!(count(&ledger, 1).0 > 0));
        let reserved = mark(&ledger);
        restart(ledger);
        let ledger = bound(&path);
        assert_eq!(count(&ledger, 1).0, reserved);
        assert_eq!(mark(&ledger), reserved + 1, "nothing is reserved ahead by who finds nothing");
    }

    #[test]
    fn a_raised_mark_is_raised_for_what_was_reserved_ahead_as_well() {
        let dir = Swept::new();
        let (ledger, other) = (bound(&dir.path()), bound(&dir.path()));
        (0..3).for_each(|_| assert!(count(&ledger, 1).0 > 0));
        assert_eq!(other.raise(&visits(), 20), Ok(35), "the mark is higher");
        assert_eq!(count(&ledger, 1).0, 20);
        assert_eq!(other.raise(&visits(), 10).map(|_| count(&ledger, 1).0), Ok(21), "nothing below is left");
        let mut far = bound(&dir.path());
        far.ahead = other.ahead.beside(1);
        assert_eq!(far.raise(&visits(), 2).map(|_| count(&ledger, 1).0), Ok(22), "nothing below is reserved");
        assert_eq!(far.raise(&visits(), 30).map(|_| count(&ledger, 1).0), Ok(35), "it does not see the rest");
        assert_eq!(other.raise(&visits(), 1_000).map(|_| count(&ledger, 1).0), Ok(1_000));
    }

    #[test]
    fn the_bounds_of_a_day_hold_for_what_is_reserved_ahead() {
        let dir = Swept::new();
        let ledger = bound(&dir.path());
        let day = |floor, max_mark| ledger.count(&Reserve { floor, max_mark, ..request(1) }).unwrap();
        let got = |start, previous_mark| Reply::Got { start, end: start + 1, previous_mark };
        assert_eq!([day(1, 3), day(1, 3), day(1, 3)], [got(1, 0), got(2, 2), got(3, 3)]);
        assert_eq!(mark(&ledger), 4, "nothing is reserved past the day");
        assert_eq!(day(1, 3), Reply::Refused { mark: 4, note: None });
        assert_eq!(day(101, 199), got(101, 4));
        assert_eq!(day(101, 199), got(102, 102));
        assert_eq!(day(1, 102), Reply::Refused { mark: 103, note: None }, "of a node whose day is over");
        assert_eq!(day(1, 103), got(103, 103));
        let after_a_gap = Reply::Got { start: 110, end: 111, previous_mark: 104 };
        assert_eq!(day(110, 105), after_a_gap, "only the mark has to be below the limit");
        assert_eq!(day(201, 299), got(201, 111), "above all that is left");
    }

    /// Every process with its own memory, with one shared memory, killed, closed and restarted, with raises in between.
    #[test]
    fn numbers_increase_whatever_ends_and_begins() {
        let mut seed = Token::random().unwrap().as_bytes()[0] as u64 + 1;
        println!("seed {seed}");
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let dir = Swept::new();
        let path = dir.path();
        let mut ledgers: Vec<_> = (0..3).map(|_| bound(&path)).collect();
        let (mut last, mut may_skip) = (1, false);
        for step in 0..3_000 {
            let at = usize::try_from(random(3)).unwrap();
            match random(40) {
                0 => drop(std::mem::replace(&mut ledgers[at], bound(&path))),
                1 => std::mem::forget(std::mem::replace(&mut ledgers[at], bound(&path))),
                2 => {
                    let least = last + random(50);
                    ledgers[at].raise(&visits(), least).unwrap();
                    (last, may_skip) = (last.max(least), true);
                }
                // The machine restarts.
                3 if step % 3 == 0 => {
                    let _ = fs::remove_file(ledgers[at].ahead.path());
                    ledgers.drain(..).for_each(std::mem::forget);
                    ledgers.extend((0..3).map(|_| bound(&path)));
                    may_skip = true;
                }
                // From now on it has its own memory.
                4 => {
                    ledgers[at].ahead = ledgers[at].ahead.beside(step);
                    may_skip = true;
                }
                _ => {
                    let (start, end) = count(&ledgers[at], 1 + random(5));
                    assert!(start >= last, "step {step}: {start} below {last}");
                    assert!(start == last || may_skip, "step {step}: {start} after {last}");
                    // Processes with their own memories keep skipping numbers for each other.
                    last = end;
                }
            }
        }
    }

    #[test]
    fn what_is_left_of_one_counter_makes_no_room_for_another() {
        let dir = Swept::new();
        let ledger = bound(&dir.path());
        let (token, record) = (|| Token::random().unwrap(), Mark::default());
        (0..PLACES).for_each(|place| ledger.ahead.write(place, Some(token()), 1..2).unwrap());
        (1..=3).for_each(|number| assert_eq!((count(&ledger, 1).0, mark(&ledger)), (number, number + 1)));
        let free = Token::from_bytes([7; 16]).unwrap();
        (0..PLACES).for_each(|place| ledger.ahead.write(place, Some(free), 2..2).unwrap());
        let rest = |token| ledger.ahead.rest(&Mark { token: Some(token), ..record.clone() });
        let noted = ledger.ahead.note("n/one", &record, 5..9, 0).unwrap().unwrap();
        assert_eq!(rest(noted).map(|(_, rest)| rest), Some(5..9));
        let again = Mark { token: Some(noted), ..record.clone() };
        let longer = ledger.ahead.note("n/one", &again, 9..12, 0).unwrap().unwrap();
        assert_eq!((rest(noted), rest(longer).map(|(_, rest)| rest)), (None, Some(9..12)));
    }

    /// Another user could have numbers handed out again, and a link may lead to a disk, which can lose what was written last.
    #[test]
    fn a_file_that_others_may_write_or_that_a_link_leads_to_is_not_used() {
        use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

        use rustix::fs::{FlockOperation, flock};

        let dir = Swept::new();
        let ledger = bound(&dir.path());
        let make = |path: &Path, mode: u32| {
            fs::write(path, "").unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let counts = |is_used: bool| {
            let mut ledger = bound(&dir.path());
            ledger.ahead = ledger.ahead.beside(1);
            let (begin, _) = count(&ledger, 1);
            count(&ledger, 1);
            assert_eq!(mark(&ledger) > begin + 2, is_used);
        };
        let path = ledger.ahead.beside(1).path().to_owned();
        make(&path, 0o600);
        counts(true);
        make(&path, 0o600);
        let deletes = fs::File::open(&path).unwrap();
        flock(&deletes, FlockOperation::NonBlockingLockExclusive).unwrap();
        counts(false);
        // No other test's child can have this one locked.
        fs::remove_file(&path).unwrap();
        for mode in [0o666, 0o660, 0o602] {
            make(&path, mode);
            counts(false);
        }
        make(&path, 0o600);
        // Only root can give a file away, and nobody else can open another user's that is private.
        counts(chown(&path, Some(1), None).is_err());
        let _ = fs::remove_file(&path);
        let elsewhere = dir.0.path().join("elsewhere");
        make(&elsewhere, 0o600);
        symlink(&elsewhere, &path).unwrap();
        counts(false);
    }
}

#[cfg(feature = "remote")]
#[test]
fn every_url_means_what_it_meant() {
    crate::remote::tests::golden("sqlite", |url, _| {
        let (builder, path) = super::url::parse(url)?;
        let super::Builder { max_wait, max_bytes, network_filesystem, .. } = builder;
        let rest = format!("wait={max_wait:?} bytes={max_bytes} network={network_filesystem}");
        Ok((path.to_owned(), rest))
    });
}
