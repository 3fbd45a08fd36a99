//! The embedded ledger: one SQLite file, shared by the processes of one machine.
//!
//! # What it promises
//! When `reserve` returns `Got`, the range is in the file and the file is on disk: the range survives kill -9, a crash
//! of the system and a loss of power (WAL with `synchronous=FULL`). A reserve is one `BEGIN IMMEDIATE` transaction, so
//! any number of processes and threads may share the file, and between calls no process holds the lock. A refused
//! reserve writes nothing (but once in 128 writes the number of the transaction), and without a call nothing is written at all. It has no thread. A counter reserves ahead, so
//! that most counts wait for no flush (`ahead.rs`).
//!
//! `database is locked` is never an answer. A call waits for the others, up to [`Builder::max_wait`], and then returns
//! [`LedgerError::Unavailable`] with the way to find the process that holds the file.
//!
//! # On what that depends
//! - **The disk flushes when it says so.** A drive or a hypervisor that acknowledges a flush without doing it can lose
//!   the last ranges with the power.
//! - **A file system of this machine.** NFS, SMB, 9p and others do not keep the locks and the shared memory that SQLite
//!   needs between machines. They are refused (on Linux, where they can be recognised) unless the setting
//!   `sqlite:PATH?network_filesystem=allow` says that only one machine ever uses the file.
//! - **The file stays the same file.** Before each write, and again after it and before the caller hears of it, the
//!   path has to lead to the very file that was opened, and so do its `-wal` and `-shm`. If one was replaced or
//!   deleted, the answer is [`LedgerError::Unfit`]. In a data directory ([`Builder::in_dir`]) a small file `realm`
//!   records that there was a ledger, so the next start notices a lost one too.
//! - **The file keeps its content.** Each write also writes its number, into the file (`turn.rs`) and into a small file
//!   `floe.db-witness` beside it (`witness.rs`). If a backup is copied over the file, the next call of any process and
//!   the next start notice it, but for one that is copied in the milliseconds in which the WAL is written to the file.
//!   They also notice a WAL that was deleted, cut off or damaged. The answer is `Unfit`.
//! - **There is only one.** A copy of the file with its witness is refused: its inode, its time of birth or the
//!   machine's id differ from the witness.
//! - **A backup is old.** A restored file has the marks of its day, and later ranges would be reserved again: raise
//!   every mark above every ID in use before anything is minted. Copy the file with
//!   `sqlite3 floe.db ".backup copy.db"`: `floe.db` alone, without its `-wal`, lacks the last ranges. Before you put a
//!   copy in place, stop every floe and move the old `-wal` and `-shm` away, or SQLite applies them to the copy.
//! - **No fork.** A process that forks without exec must not use a `Sqlite` in the child: SQLite's locks belong to the
//!   parent. Open it again in the child.
//! - **No other opener inside the process.** If other code in the process opens and closes the file, that drops
//!   SQLite's locks (POSIX locks belong to the process): leave the file to this module.
//!
//! The file is at most [`Builder::max_bytes`] long, its WAL about a mebibyte. While a reader stays inside a transaction, the
//! WAL grows with each write; after it, the WAL shrinks again. Creation writes a whole ledger beside the
//! path and links it into place. So a crash at any point leaves either no ledger or a complete one (and perhaps a file
//! `.floe.db.new-…`, which may be deleted).

use std::path::Path;
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use floe::ledger::{Ledger, LedgerError};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Row};

use self::ahead::Ahead;
use self::file::{Place, Watch};
use self::patience::{patiently, timed};
use self::schema::{LEDGER, Purpose};
use self::trouble::Trouble;
use self::turn::{Below, Shared, Turn};
use self::witness::Witness;
use crate::{DEFAULT_REALM, OpenError, Opening, realm_name};

pub(crate) mod ahead;
mod data_dir;
mod draft;
mod file;
mod marks;
mod origin;
mod patience;
mod schema;
mod trouble;
mod turn;
mod url;
pub(crate) mod witness;

pub use self::data_dir::{DATABASE, is_new};
pub(crate) use self::url::{check_url, open_url};
#[cfg(feature = "cache")]
pub(crate) use self::{
    data_dir::make as make_dir,
    marks::{number, position},
    origin::Origin,
    schema::{CACHE_ID, Purpose as FilePurpose},
    trouble::Trouble as FileTrouble,
};

/// A ledger in a SQLite file.
///
/// Threads may share it; each process opens its own. A process may open one file several times.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("ids.db");
/// use floe::ledger::{Key, Ledger, Reply, Reserve, Token};
/// use floe_ledger::Sqlite;
///
/// // path = "ids.db"
/// let ledger = Sqlite::open(&path)?;
/// let request = Reserve {
///     key: Key::slot(10, 7),
///     floor: 1_000,
///     count: 500,
///     max_mark: 1_000,
///     token: Token::random()?,
///     create: true,
///     note: None,
/// };
/// let expected = Reply::Got { start: 1_000, end: 1_500, previous_mark: 0 };
/// assert_eq!(ledger.reserve(&request)?, expected);
/// drop(ledger);
/// assert_eq!(Sqlite::open(&path)?.reserve(&request)?, expected); // the same token again
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Sqlite {
    /// SQLite's connection may move between threads, but two must not use it at once. A mutex has no bounded wait, so a
    /// caller takes `busy` first.
    connection: Mutex<Connection>,
    busy: Mutex<bool>,
    free: Condvar,
    /// How often a caller found another's call under way.
    #[cfg(test)]
    pub(crate) waits: std::sync::atomic::AtomicUsize,
    watch: Watch,
    /// Declared after the connection, so it is closed after it.
    below: Below,
    /// None before the first write of a ledger that was opened to look.
    witness: OnceLock<Witness>,
    ahead: Ahead,
    realm: i64,
    realm_id: String,
    ledger_id: String,
    /// The realms beside the default one at the time of opening.
    others: Vec<String>,
    max_wait: Duration,
}

/// How to open a [`Sqlite`].
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("ids.db");
/// use std::time::Duration;
///
/// use floe::Floe;
/// use floe_ledger::{Opening, Sqlite};
///
/// // path = "ids.db"
/// let limits = Sqlite::builder().max_wait(Duration::from_secs(2)).max_bytes(64 << 20).network_filesystem(false);
/// let shop = Floe::open(limits.clone().realm("shop").at(&path)?)?;
/// assert_eq!(shop.counter("orders")?.mint()?.get(), 1);
/// let office = Floe::open(limits.clone().realm("office").at(&path)?)?; // the same file, other marks
/// assert_eq!(office.counter("orders")?.mint()?.get(), 1);
/// assert!(limits.opening(&Opening::of("shpo").existing()).at(&path).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    opening: Opening,
    max_wait: Duration,
    max_bytes: u64,
    network_filesystem: bool,
    purpose: Purpose,
}

/// Opens the ledger of a data directory; the same as [`Builder::in_dir`] with the defaults.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let dir = dir.path().join("floe-data");
/// use floe::Floe;
///
/// // dir = "floe-data", which is not there yet
/// let ledger = floe_ledger::open_dir(&dir, "shop")?;
/// assert_eq!(Floe::open(ledger)?.counter("orders")?.mint()?.get(), 1);
/// let ledger = floe_ledger::open_dir(&dir, "shop")?; // after a restart
/// assert_eq!(Floe::open(ledger)?.counter("orders")?.mint()?.get(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`Builder::in_dir`].
pub fn open_dir(dir: impl AsRef<Path>, realm: &str) -> Result<Box<dyn Ledger>, OpenError> {
    Ok(Box::new(Sqlite::builder().realm(realm).in_dir(dir)?))
}

impl Sqlite {
    /// The ledger in the file at `path`, made if it does not exist, with the defaults of [`Builder`]. [`Sqlite`] has an
    /// example.
    ///
    /// # Errors
    /// As [`Builder::at`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::builder().at(path)
    }

    /// For settings other than the defaults.
    pub fn builder() -> Builder {
        Builder {
            opening: Opening::of(DEFAULT_REALM),
            max_wait: Duration::from_secs(10),
            max_bytes: 1 << 30,
            network_filesystem: false,
            purpose: LEDGER,
        }
    }
}

impl Builder {
    /// The realm inside the file; by default `default`. Realms in one file share nothing but the file. [`Builder`] has
    /// an example.
    #[must_use]
    pub fn realm(self, realm: &str) -> Self {
        Self { opening: self.opening.with_realm(realm), ..self }
    }

    /// How long a call waits for other processes and threads that use the file; by default 10 s. SQLite's own time
    /// comes on top. [`Builder`] has an example.
    #[must_use]
    pub fn max_wait(self, max_wait: Duration) -> Self {
        Self { max_wait, ..self }
    }

    /// The most bytes in the file; by default 1 GiB, which holds some millions of marks. At the limit a new record is
    /// refused with `Unavailable`. [`Builder`] has an example.
    #[must_use]
    pub fn max_bytes(self, max_bytes: u64) -> Self {
        Self { max_bytes, ..self }
    }

    /// Whether the file may be on a network file system; by default no. Allow it only if a single machine ever opens
    /// the file. [`Builder`] has an example.
    #[must_use]
    pub fn network_filesystem(self, allow: bool) -> Self {
        Self { network_filesystem: allow, ..self }
    }

    /// The realm, whether missing parts are made, and which realm it has to be, as in [`Opening`]. [`Builder`] has an
    /// example.
    #[must_use]
    pub fn opening(self, opening: &Opening) -> Self {
        Self { opening: opening.clone(), ..self }
    }

    /// The ledger in the file at `path`, made if it does not exist. The directory has to exist. A path that ends in
    /// `floe.db` is the ledger of a data directory, and is opened as [`Builder::in_dir`] opens it.
    ///
    /// [`Builder`] has an example.
    ///
    /// # Errors
    /// `Unavailable` if other processes hold the file for too long or the disk fails. `Unfit` if the file is no ledger,
    /// damaged, empty, of a newer version, read-only, a directory, without permission, or on a network file system.
    pub fn at(&self, path: impl AsRef<Path>) -> Result<Sqlite, OpenError> {
        let path = path.as_ref();
        match path.parent() {
            Some(dir) if path.file_name().is_some_and(|name| name == DATABASE) => {
                self.in_dir(if dir.as_os_str().is_empty() { Path::new(".") } else { dir })
            }
            _ => self.open(path, true),
        }
    }

    /// The purpose of the file, if it does not hold the marks of realms.
    #[cfg(feature = "cache")]
    pub(crate) fn purpose(self, purpose: Purpose) -> Self {
        Self { purpose, ..self }
    }

    /// Opens the one file (and makes it, with `create`), without a look at the files around it.
    pub(crate) fn open(&self, path: &Path, create: bool) -> Result<Sqlite, OpenError> {
        realm_name(self.opening.realm())?;
        let place = Place::new(path)?;
        if !self.network_filesystem {
            place.refuse_network_filesystem(self.purpose.off_network)?;
        }
        if create && place.is_vacant()? {
            if !self.opening.may_make() {
                return Err(self
                    .opening
                    .not_made(&format!("there is no ledger at {}", place.shown()))
                    .into());
            }
            schema::create(&place, self.purpose)?;
        }
        place.refuse_lost_wal()?;
        place.refuse_second_name()?;
        let before = place.identity()?;
        place.refuse_read_only()?;
        // Before the database is read: others write to both, and the witness never claims more than the database.
        let witness = Witness::find(&place)?;
        if let Some(witness) = &witness {
            witness.refuse_copy(&place)?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let file = Shared::open(place.real(), before).map_err(|error| place.not_writable(&error))?;
        let connection =
            Connection::open_with_flags(place.real(), flags).map_err(|error| place.at_open(&error))?;
        // Until it is known that the file was not put back, its WAL stays separate from it.
        keep_the_wal(&connection, true).map_err(|error| place.at_open(&error))?;
        if place.identity()? != before {
            return Err(place.was_replaced().into());
        }
        let told = |trouble| match trouble {
            Trouble::Ledger(error) => error,
            Trouble::Sql(error) if trouble::is_busy(&error) => trouble::held(place.shown(), self.max_wait),
            Trouble::Sql(error) => place.at_open(&error),
        };
        patiently(self.max_wait, || {
            schema::prepare(&connection, &place, self.purpose, &self.opening, self.max_bytes)
        })
        .map_err(told)?;
        let witnessed = witness.as_ref().map_or(0, Witness::turn);
        let below = Below::new(file, &connection, witnessed).map_err(|error| told(error.into()))?;
        // Before anything is written to it.
        let begun = patiently(self.max_wait, || {
            let transaction = connection.unchecked_transaction()?;
            below.begin(&transaction)
        });
        let Some(turn) = begun.map_err(told)? else { return Err(place.was_put_back().into()) };
        let entered =
            patiently(self.max_wait, || schema::enter(&connection, &self.opening, &place)).map_err(told)?;
        let witness = match witness {
            Some(witness) => OnceLock::from(witness),
            None if self.opening.only_looks() => OnceLock::new(),
            None => OnceLock::from(Witness::make(&place, turn.before())?),
        };
        let watch = place.watch(before)?;
        let ledger = Sqlite {
            connection: Mutex::new(connection),
            busy: Mutex::new(false),
            free: Condvar::new(),
            #[cfg(test)]
            waits: std::sync::atomic::AtomicUsize::new(0),
            watch,
            below,
            witness,
            ahead: Ahead::new(&entered.ledger_id),
            realm: entered.realm,
            realm_id: entered.realm_id,
            ledger_id: entered.ledger_id,
            others: entered.others,
            max_wait: self.max_wait,
        };
        ledger.transact(Begin::Read, |connection| {
            keep_the_wal(connection, false)?;
            Ok(Done::read(()))
        })?;
        Ok(ledger)
    }
}

/// After so many transactions the next one begins by writing the WAL to the file. Most write two or three pages, so the WAL
/// is about a mebibyte long by then.
const CHECKPOINT_EVERY: u64 = 128;

/// After so many, if the last time a part of the WAL could not be written.
const CHECKPOINT_AGAIN: u64 = 16;

/// Whether the WAL stays as it is when the last connection is closed, without being written to the file.
fn keep_the_wal(connection: &Connection, keep: bool) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keep).map(drop)
}

fn run(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}

/// Rolls back an open transaction. If that fails twice, the next call begins with it.
fn undo(connection: &Connection) {
    for _ in 0..2 {
        if !connection.is_autocommit() {
            drop(run(connection, "ROLLBACK"));
        }
    }
}

/// The result of a transaction's work: an answer, and whether it wrote anything.
pub(crate) struct Done<T> {
    pub(crate) answer: T,
    pub(crate) written: bool,
}

impl<T> Done<T> {
    pub(crate) fn written(answer: T) -> Self {
        Self { answer, written: true }
    }

    pub(crate) fn read(answer: T) -> Self {
        Self { answer, written: false }
    }
}

#[derive(Clone, Copy)]
pub(crate) enum Begin {
    Read,
    Write,
}

impl Sqlite {
    /// The id of the file, which the witness of a data directory repeats.
    fn ledger_id(&self) -> &str {
        &self.ledger_id
    }

    /// Runs `work` in its own transaction. Repeats it until it gets the file, up to the bound.
    pub(crate) fn transact<T>(
        &self,
        begin: Begin,
        work: impl Fn(&Connection) -> Result<Done<T>, Trouble>,
    ) -> Result<T, LedgerError> {
        let answer = {
            let (turn, waited) = timed(|| self.turn());
            let _turn = turn?;
            let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
            patiently(self.max_wait.saturating_sub(waited), || {
                self.watch.check()?;
                if matches!(begin, Begin::Write) {
                    self.checkpoint(&connection)?;
                }
                self.attempt(&connection, begin, true, &work)
            })
        };
        // A range written to a file that is no longer at the path is lost to all others, so it does not belong to the caller.
        self.watch.check()?;
        answer.map_err(|trouble| trouble::at_work(self.watch.shown(), self.max_wait, trouble))
    }

    /// Runs `work`, which writes nothing, under the lock for writing, if nobody uses the file. Where it fails, the same
    /// work by [`transact`](Self::transact) says why.
    fn try_transact<T>(&self, work: impl Fn(&Connection) -> Result<Option<T>, Trouble>) -> Option<T> {
        let _turn = {
            let mut busy = self.busy.try_lock().ok().filter(|busy| !**busy)?;
            *busy = true;
            Busy(self)
        };
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let answer =
            self.attempt(&connection, Begin::Write, false, |connection| work(connection).map(Done::read));
        // As nothing was written to the file, one look at it is enough.
        self.watch.check().ok()?;
        answer.ok().flatten()
    }

    /// One try. If it `may_wait` for the disk, and the WAL does not say yet what the file holds, it writes its turn in any
    /// case.
    fn attempt<T>(
        &self,
        connection: &Connection,
        begin: Begin,
        may_wait: bool,
        work: impl Fn(&Connection) -> Result<Done<T>, Trouble>,
    ) -> Result<T, Trouble> {
        let turn = self.begin(connection, begin)?;
        match work(connection) {
            Ok(done) => {
                let says_more = matches!(begin, Begin::Write) && may_wait && turn.says_more();
                let written = done.written || says_more;
                self.end(connection, written.then_some(turn))?;
                if let Some(witness) =
                    self.witness.get().filter(|_| matches!(begin, Begin::Write) && !written)
                {
                    // The answer may rest on the last write, of a process that was killed since.
                    witness.repeat(turn.before())?;
                }
                Ok(done.answer)
            }
            Err(trouble) => {
                undo(connection);
                Err(trouble)
            }
        }
    }

    /// Begins a transaction of this realm.
    fn begin(&self, connection: &Connection, begin: Begin) -> Result<Turn, Trouble> {
        if !connection.is_autocommit() {
            // An earlier call ended in an error, and its rollback failed too.
            run(connection, "ROLLBACK")?;
        }
        run(
            connection,
            match begin {
                Begin::Read => "BEGIN",
                Begin::Write => "BEGIN IMMEDIATE",
            },
        )?;
        let turn = self.check_realm(connection).and_then(|()| self.check_turn(connection));
        if turn.is_err() {
            undo(connection);
        }
        turn
    }

    /// Ends the transaction: commits it with its turn if anything was written.
    fn end(&self, connection: &Connection, written: Option<Turn>) -> Result<(), Trouble> {
        let ended = match &written {
            Some(turn) => turn.write(connection).and_then(|()| Ok(run(connection, "COMMIT")?)),
            None => run(connection, "ROLLBACK").map_err(Trouble::from),
        };
        if ended.is_err() {
            // The first error is the one that counts.
            undo(connection);
        }
        ended?;
        if let Some(turn) = written {
            self.below.note(turn);
            self.note(turn.next())?;
        }
        Ok(())
    }

    /// Records a turn that was committed in the witness, which who looked has not made.
    fn note(&self, turn: u64) -> Result<(), LedgerError> {
        let witness = match self.witness.get() {
            Some(witness) => witness,
            None => {
                let made = Witness::make(self.watch.place(), turn)?;
                self.witness.get_or_init(|| made)
            }
        };
        witness.note(turn)
    }

    /// Writes the WAL to the file if many transactions have written since the last time, and the file is still what it
    /// was. Then writes a turn, so that at rest there is one in the WAL that says what the file holds.
    fn checkpoint(&self, connection: &Connection) -> Result<(), Trouble> {
        if !self.below.is_due() {
            return Ok(());
        }
        // What others have written says what the file must hold by now, and whether one of them was first.
        self.begin(connection, Begin::Read)?;
        undo(connection);
        if !self.below.is_due() {
            return Ok(());
        }
        // It waits for nobody. What it could not write, by a reader or an error, stays in the WAL for now.
        let frames = |row: &Row<'_>| Ok((row.get(1)?, row.get(2)?));
        let (all, written): (i64, i64) =
            connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], frames).unwrap_or((1, 0));
        if !self.below.look(all != written) {
            return Ok(());
        }
        match self.begin(connection, Begin::Write) {
            Ok(turn) => self.end(connection, Some(turn)),
            // Whoever writes next says it.
            Err(trouble) if trouble.is_busy() => Ok(()),
            Err(trouble) => Err(trouble),
        }
    }

    /// Gives back the rest of the numbers that were reserved ahead.
    fn give_back_ahead(&self) -> Result<(), LedgerError> {
        let keys = self.ahead.remembered();
        if keys.is_empty() {
            return Ok(());
        }
        self.transact(Begin::Write, |connection| {
            let mut written = false;
            for key in &keys {
                let Some(record) = self.find(connection, key)? else { continue };
                let Some((place, rest)) = self.ahead.rest(&record) else { continue };
                let shorter = record.token.and_then(|token| record.give_back(token, rest.start));
                if let Some(shorter) = shorter.filter(|_| !rest.is_empty()) {
                    self.store(connection, key, &shorter)?;
                    self.ahead.free(place);
                    written = true;
                }
            }
            self.ahead.remove();
            Ok(Done { written, answer: () })
        })
    }

    /// A file with exchanged content keeps its inode, but loses its id.
    fn check_realm(&self, connection: &Connection) -> Result<(), Trouble> {
        let mut statement = connection.prepare_cached("SELECT id FROM realm WHERE realm = ?1")?;
        let mut rows = statement.query([self.realm])?;
        match rows.next()? {
            Some(row) if row.get_ref(0)?.as_str().is_ok_and(|id| id == self.realm_id) => Ok(()),
            _ => Err(self.watch.content_was_replaced().into()),
        }
    }

    /// A file with a backup copied over it keeps its inode and its id, but has an older turn.
    fn check_turn(&self, connection: &Connection) -> Result<Turn, Trouble> {
        match self.below.begin(connection)? {
            Some(turn) => Ok(turn),
            None => Err(self.put_back(connection)?.into()),
        }
    }

    /// The error for a file that was put back.
    fn put_back(&self, connection: &Connection) -> rusqlite::Result<LedgerError> {
        // Do not write the WAL to the file: that would hide the loss from the next process.
        keep_the_wal(connection, true)?;
        Ok(self.watch.was_put_back())
    }

    /// Waits for other threads' calls to end.
    fn turn(&self) -> Result<Busy<'_>, LedgerError> {
        let taken = |busy: &mut bool| {
            #[cfg(test)]
            self.waits.fetch_add(usize::from(*busy), std::sync::atomic::Ordering::SeqCst);
            *busy
        };
        let busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut busy, _) =
            self.free.wait_timeout_while(busy, self.max_wait, taken).unwrap_or_else(PoisonError::into_inner);
        if *busy {
            return Err(trouble::held(self.watch.shown(), self.max_wait));
        }
        *busy = true;
        Ok(Busy(self))
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        // If this fails, the rest is skipped.
        drop(self.give_back_ahead());
        let connection = self.connection.get_mut().unwrap_or_else(PoisonError::into_inner);
        // The last connection writes the WAL to the file, if the WAL still belongs to it.
        if !matches!(self.below.begin(connection), Ok(Some(_))) {
            drop(keep_the_wal(connection, true));
        }
    }
}

/// The right to use the connection during one call.
struct Busy<'a>(&'a Sqlite);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        *self.0.busy.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.0.free.notify_one();
    }
}

#[cfg(test)]
mod tests;
