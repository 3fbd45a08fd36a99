//! Notices if a backup is copied over the file in place, which keeps its inode: the file's content must stay what it was.
//!
//! SQLite reads a page from its cache or from the WAL if it can, so it would not notice that the file below was put
//! back. Only pages that leave the cache and the WAL later come from the backup, and repeat ranges. So each transaction
//! that writes also writes its number, the **turn**, together with the turn that the file itself held when it began,
//! below the WAL and past every cache. Only checkpoints write the file itself, so its turn never decreases: if it is
//! below what any process has seen in it, the file was put back. Then the transaction is undone, and the WAL is left as
//! it is, so that the next start finds the same.
//!
//! A backup that holds all that the file held when it was overwritten is no loss: later writes are in the WAL.
//!
//! The witness (`witness.rs`) also keeps the turn, beside the file.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::file::Identity;
use super::trouble::Trouble;

/// The start of the turn's record, by which it is found in its page. It is random.
const LABEL: [u8; 16] = *b"\x9d\x17\xe3floe turn\x1a\x84\xc6\x5b";

/// The label, the turn, and the turn that the file itself held.
const STAMP_BYTES: usize = LABEL.len() + 8 + 8;

/// How often to read a turn that looks wrong: another process may be writing the page.
const READS: usize = 64;

/// Makes the table in a file that has none yet. A newer floe accepts what an older floe did to such a file.
pub(super) fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "SELECT EXISTS (SELECT * FROM sqlite_schema WHERE type = 'table' AND name = 'turn')";
    if connection.query_row(sql, [], |row| row.get(0))? {
        return Ok(());
    }
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
}

/// The turn of a transaction, and the file's own turn when it began.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    turn: u64,
    below: u64,
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
        Ok(Self { file, page, place, turn: AtomicU64::new(witnessed), below })
    }

    /// The turn of the transaction that has begun; `None` if the file was put back.
    pub(super) fn begin(&self, connection: &Connection) -> Result<Option<Turn>, Trouble> {
        let mut statement = connection.prepare_cached("SELECT stamp FROM turn")?;
        let stored = statement.query_row([], |row| Ok(row.get_ref(0)?.as_blob().ok().and_then(read)))?;
        let Some((turn, least)) = stored else { return Ok(None) };
        let least = least.max(self.below.load(Ordering::Relaxed));
        // During a write, a page may be read half old, half new.
        let below = (0..READS).map(|_| self.read()).find(|below| *below >= least);
        let Some(below) = below.filter(|_| turn >= self.turn.load(Ordering::Relaxed)) else {
            return Ok(None);
        };
        self.turn.fetch_max(turn, Ordering::Relaxed);
        self.below.fetch_max(below, Ordering::Relaxed);
        Ok(Some(Turn { turn, below }))
    }

    /// Remembers the turn of a transaction that was committed.
    pub(super) fn note(&self, turn: Turn) {
        self.turn.fetch_max(turn.next(), Ordering::Relaxed);
    }

    /// The turn in the file itself; 0 if it holds none.
    fn read(&self) -> u64 {
        let file = &self.file.0.file;
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

    /// How many transactions wrote before it.
    pub(super) fn before(self) -> u64 {
        self.turn
    }
}

/// A file that SQLite also has open. Closing any descriptor of a file drops all of this process's locks on it. So all
/// ledgers of a process on one file share one descriptor, closed with the last of them.
#[derive(Debug)]
pub(super) struct Shared(Arc<Opened>);

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
            return Ok(Self(Arc::clone(file)));
        }
        let file = Arc::new(Opened { identity, file: File::open(path)? });
        files.insert(identity, Arc::clone(&file));
        Ok(Self(file))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let mut files = files();
        // This one and the table's: no other thread can take it meanwhile.
        if Arc::strong_count(&self.0) == 2 {
            files.remove(&self.0.identity);
        }
    }
}
