//! Notices if a backup is copied over the file in place, which keeps its inode: the file's content must stay what it was.
//!
//! SQLite reads a page from its cache or from the WAL if it can, so it would not notice that the file below was put
//! back. Only pages that leave the cache and the WAL later come from the backup, and repeat ranges. So each transaction
//! that writes also writes its number, the **turn**, together with the turn that the file itself held when it began,
//! below the WAL and past every cache. Only checkpoints write the file itself, so its turn never decreases: if it is
//! below what any process has seen in it, the file was put back. Then the transaction is undone, and the WAL is left as
//! it is, so that the next start finds the same.
//!
//! A checkpoint comes first in a call: a look as of a transaction, the checkpoint, another look, and a transaction that
//! writes the file's new turn into the WAL. What is copied over the file between those two looks goes unnoticed.
//!
//! A backup that holds all that the file held when it was overwritten is no loss: later writes are in the WAL.
//!
//! The witness (`witness.rs`) also keeps the turn, beside the file.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::file::Identity;
use super::trouble::Trouble;
use super::{CHECKPOINT_AGAIN, CHECKPOINT_EVERY};

/// The start of the turn's record, by which it is found in its page. It is random.
const LABEL: [u8; 16] = *b"\x9d\x17\xe3floe turn\x1a\x84\xc6\x5b";

/// The label, the turn, and the turn that the file itself held.
const STAMP_BYTES: usize = LABEL.len() + 8 + 8;

/// How often to read a turn that looks wrong: another process may be writing the page.
const READS: usize = 64;

/// Whether the file has the table.
pub(super) fn is_there(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT * FROM sqlite_schema WHERE type = 'table' AND name = 'turn')";
    connection.query_row(sql, [], |row| row.get(0))
}

/// Makes the table in a file that has none yet. A newer floe accepts what an older floe did to such a file.
pub(super) fn make(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let made = connection
        .execute_batch(
            "CREATE TABLE IF NOT EXISTS turn (one INTEGER PRIMARY KEY CHECK (one = 1), stamp BLOB NOT NULL) STRICT",
        )
        .and_then(|()| {
            let sql = "INSERT INTO turn (one, stamp) VALUES (1, ?1) ON CONFLICT DO NOTHING";
            connection.execute(sql, [stamp(0, 0)])?;
            connection.execute_batch("COMMIT")
        });
    if made.is_err() && !connection.is_autocommit() {
        connection.execute_batch("ROLLBACK")?;
    }
    made
}

fn stamp(turn: u64, below: u64) -> [u8; STAMP_BYTES] {
    let mut stamp = [0; STAMP_BYTES];
    let bytes = LABEL.into_iter().chain(turn.to_be_bytes()).chain(below.to_be_bytes());
    stamp.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
    stamp
}

/// The two numbers of a stamp at the front of `bytes`.
fn read(bytes: &[u8]) -> Option<(u64, u64)> {
    let numbers = bytes.strip_prefix(&LABEL)?;
    let (turn, rest) = numbers.split_first_chunk()?;
    let (below, _) = rest.split_first_chunk()?;
    Some((u64::from_be_bytes(*turn), u64::from_be_bytes(*below)))
}

/// The file below the WAL, and what this process has read in it.
#[derive(Debug)]
pub(super) struct Below {
    file: Shared,
    /// The start and length of the page with the turn.
    page: (u64, usize),
    /// The place in the page where the stamp was found last.
    place: AtomicU64,
    turn: AtomicU64,
    below: AtomicU64,
    /// Whether a part of the WAL could not be written to the file last.
    is_unfinished: AtomicBool,
}

/// The turn of a transaction, and the file's own turn when it began.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    turn: u64,
    below: u64,
    /// What the last turn says about the file's own.
    said: u64,
}

impl Below {
    /// Begins to read the file, which has its table and has reached the turn `witnessed`.
    pub(super) fn new(file: Shared, connection: &Connection, witnessed: u64) -> rusqlite::Result<Self> {
        let bytes: u32 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let sql = "SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = 'turn'";
        let page: u32 = connection.query_row(sql, [], |row| row.get(0))?;
        let begin = u64::from(page.saturating_sub(1)) * u64::from(bytes);
        let page = (begin, usize::try_from(bytes).unwrap_or(0));
        let [place, below] = [0, 0].map(AtomicU64::new);
        let (turn, is_unfinished) = (AtomicU64::new(witnessed), AtomicBool::new(false));
        Ok(Self { file, page, place, turn, below, is_unfinished })
    }

    /// The turn of the transaction that has begun; `None` if the file was put back.
    pub(super) fn begin(&self, connection: &Connection) -> Result<Option<Turn>, Trouble> {
        let mut statement = connection.prepare_cached("SELECT stamp FROM turn")?;
        let stored = statement.query_row([], |row| Ok(row.get_ref(0)?.as_blob().ok().and_then(read)))?;
        let Some((turn, said)) = stored else { return Ok(None) };
        let least = said.max(self.below.load(Ordering::Relaxed));
        // During a write, a page may be read half old, half new.
        let below = (0..READS).map(|_| self.read()).find(|below| *below >= least);
        let Some(below) = below.filter(|_| turn >= self.turn.load(Ordering::Relaxed)) else {
            return Ok(None);
        };
        self.turn.fetch_max(turn, Ordering::Relaxed);
        self.below.fetch_max(below, Ordering::Relaxed);
        Ok(Some(Turn { turn, below, said }))
    }

    /// How many turns the file itself is behind, as far as this process has seen.
    pub(super) fn behind(&self) -> u64 {
        self.turn.load(Ordering::Relaxed).saturating_sub(self.below.load(Ordering::Relaxed))
    }

    /// Whether the WAL is to be written to the file.
    pub(super) fn is_due(&self) -> bool {
        let is_unfinished = self.is_unfinished.load(Ordering::Relaxed);
        self.behind() >= if is_unfinished { CHECKPOINT_AGAIN } else { CHECKPOINT_EVERY }
    }

    /// Looks at the file after the WAL was written to it, or a part. Returns whether the file holds more than before.
    pub(super) fn look(&self, is_unfinished: bool) -> bool {
        self.is_unfinished.store(is_unfinished, Ordering::Relaxed);
        let now = self.read();
        now > self.below.fetch_max(now, Ordering::Relaxed)
    }

    /// Remembers the turn of a transaction that was committed.
    pub(super) fn note(&self, turn: Turn) {
        self.turn.fetch_max(turn.next(), Ordering::Relaxed);
    }

    /// The turn in the file itself; 0 if it holds none.
    fn read(&self) -> u64 {
        #[cfg(test)]
        tests::before_a_read();
        let Some(Opened { file, .. }) = self.file.0.as_deref() else { return 0 };
        let (begin, length) = self.page;
        let mut last = [0; STAMP_BYTES];
        let held = file.read_exact_at(&mut last, begin + self.place.load(Ordering::Relaxed));
        let held = held.ok().and_then(|()| read(&last));
        let held = held.or_else(|| {
            let mut page = vec![0; length];
            file.read_exact_at(&mut page, begin).ok()?;
            let mut stamps = page.windows(STAMP_BYTES).zip(0..);
            let (held, place) = stamps.find_map(|(bytes, place)| Some((read(bytes)?, place)))?;
            self.place.store(place, Ordering::Relaxed);
            Some(held)
        });
        held.map_or(0, |(turn, _)| turn)
    }
}

impl Turn {
    /// Writes the next turn, in the transaction that this one began.
    pub(super) fn write(self, connection: &Connection) -> Result<(), Trouble> {
        let next = stamp(self.next(), self.below);
        connection.prepare_cached("UPDATE turn SET stamp = ?1")?.execute([next])?;
        Ok(())
    }

    /// The transaction's own number, if it writes.
    pub(super) fn next(self) -> u64 {
        self.turn + 1
    }

    /// Whether it would say more about the file than the last turn, which may be in the file alone.
    pub(super) fn says_more(self) -> bool {
        self.below > self.said
    }

    /// How many transactions wrote before it.
    pub(super) fn before(self) -> u64 {
        self.turn
    }
}

/// A file that SQLite also has open. Closing any descriptor of a file drops all of this process's locks on it. So all
/// ledgers of a process on one file share one descriptor, closed with the last of them.
#[derive(Debug)]
pub(super) struct Shared(Option<Arc<Opened>>);

#[derive(Debug)]
struct Opened {
    identity: Identity,
    file: File,
}

type Files = HashMap<Identity, Arc<Opened>>;

static FILES: LazyLock<Mutex<Files>> = LazyLock::new(Mutex::default);

fn files() -> MutexGuard<'static, Files> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// The file at `path`, which must be `identity`, before SQLite opens it.
    pub(super) fn open(path: &Path, identity: Identity) -> io::Result<Self> {
        let mut files = files();
        if let Some(file) = files.get(&identity) {
            return Ok(Self(Some(Arc::clone(file))));
        }
        #[cfg(test)]
        tests::before_it_is_opened();
        let file = Arc::new(Opened { identity, file: File::open(path)? });
        files.insert(identity, Arc::clone(&file));
        Ok(Self(Some(file)))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        #[cfg(test)]
        let _closed = tests::before_a_close(self);
        let mut files = files();
        // Before others can take the table: the next to be closed counts the rest, and who opens the file finds it or none.
        let Some(identity) = self.0.take().map(|own| own.identity) else { return };
        if files.get(&identity).is_some_and(|left| Arc::strong_count(left) == 1) {
            files.remove(&identity);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::fs;
    use std::path::PathBuf;

    use tempfile::TempDir;

    use super::super::Sqlite;
    use super::super::file::Place;
    use super::*;

    thread_local! {
        /// What another process does before this thread's next reads of a file.
        static OTHER: RefCell<Vec<Box<dyn FnOnce()>>> = RefCell::default();
        /// How many descriptors of its file this process had when this thread last closed one that is shared.
        static OPEN: Cell<usize> = const { Cell::new(0) };
        /// Whether nobody else could take the table when this thread last opened a file that is shared.
        static ALONE: Cell<bool> = const { Cell::new(false) };
        /// The ledger that is closed while this thread's next close ends, as by another thread.
        static NEXT: RefCell<Option<Shared>> = const { RefCell::new(None) };
    }

    pub(super) fn before_it_is_opened() {
        ALONE.set(FILES.try_lock().is_err());
    }

    /// A close that has given the table back.
    pub(super) struct Closed;

    impl Drop for Closed {
        fn drop(&mut self) {
            drop(NEXT.take());
        }
    }

    pub(super) fn before_a_read() {
        if let Some(writes) = OTHER.with_borrow_mut(Vec::pop) {
            writes();
        }
    }

    pub(super) fn before_a_close(file: &Shared) -> Closed {
        let own = file.0.as_deref().map(|own| own.identity);
        let open = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
        let is_own = |path: PathBuf| fs::metadata(path).ok().map(|found| Identity::of(&found)) == own;
        OPEN.set(open.filter(|entry| is_own(entry.path())).count());
        Closed
    }

    /// To close it takes away the locks by which other processes know of SQLite's own.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_descriptor_of_a_ledger_is_closed_after_those_of_sqlite() {
        let dir = TempDir::new().unwrap();
        drop(Sqlite::open(dir.path().join("ids.db")).unwrap());
        assert_eq!(OPEN.get(), 1);
    }

    /// Two processes may find that a ledger of an older floe has no table, and each makes it.
    #[test]
    fn a_table_that_another_process_has_made_and_written_stays_as_it_is() {
        let connection = Connection::open_in_memory().unwrap();
        make(&connection).unwrap();
        connection.execute("UPDATE turn SET stamp = ?1", [stamp(9, 7)]).unwrap();
        make(&connection).unwrap();
        let stored = connection.query_row("SELECT stamp FROM turn", [], |row| row.get::<_, Vec<u8>>(0));
        assert_eq!(read(&stored.unwrap()), Some((9, 7)));
    }

    /// One process may read the page while another one writes it.
    #[test]
    fn a_page_that_is_half_written_is_read_again_and_one_that_stays_so_was_put_back() {
        let (_dir, path, identity) = file();
        let connection = Connection::open_in_memory().unwrap();
        make(&connection).unwrap();
        connection.execute("UPDATE turn SET stamp = ?1", [stamp(9, 7)]).unwrap();
        let below = Below::new(Shared::open(&path, identity).unwrap(), &connection, 0).unwrap();
        let mut page = vec![0; 2 * below.page.1];
        page[usize::try_from(below.page.0).unwrap()..][..STAMP_BYTES].copy_from_slice(&stamp(7, 5));
        let half = [&page[..page.len() - below.page.1 + 10], &vec![0; below.page.1 - 10]].concat();
        fs::write(&path, half).unwrap();
        assert!(below.begin(&connection).unwrap().is_none());
        let write = move || fs::write(&path, page).unwrap();
        OTHER.set(vec![Box::new(write), Box::new(|| ()), Box::new(|| ())]);
        assert_eq!(below.begin(&connection).unwrap().map(Turn::before), Some(9));
    }

    fn file() -> (TempDir, PathBuf, Identity) {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("ids.db");
        fs::write(&path, [0; 512]).unwrap();
        let identity = Place::new(&path).unwrap().identity().unwrap();
        (dir, path, identity)
    }

    /// Whoever closed a descriptor of its own would drop the other's locks with it.
    #[test]
    fn ledgers_of_one_file_share_one_descriptor_also_if_they_are_opened_at_once() {
        let (_dir, path, identity) = file();
        let [one, other] = [(); 2].map(|()| Shared::open(&path, identity).unwrap().0.take().unwrap());
        assert!(Arc::ptr_eq(&one, &other));
        assert!(ALONE.get(), "another thread could look at the table meanwhile");
    }

    /// Each could leave it to the other one.
    #[test]
    fn of_two_ledgers_that_are_closed_at_once_one_closes_their_file() {
        let (_dir, path, identity) = file();
        let [one, other] = [(); 2].map(|()| Shared::open(&path, identity).unwrap());
        NEXT.set(Some(other));
        drop(one);
        assert!(!files().contains_key(&identity), "it is still open");
    }
}
