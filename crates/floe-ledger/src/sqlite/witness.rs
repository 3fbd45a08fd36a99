//! A small file beside the database, `floe.db-witness`, which records where the database was made and which turn it had reached.
//!
//! It shows what the database cannot know about itself: that its WAL was deleted, cut off or damaged, that an older
//! copy replaced it, that it was copied with its whole directory. It is written after each commit with that commit's
//! turn (`turn.rs`), so it never claims more than the database holds, whenever a process is killed. It is flushed by
//! each process once in [`FLUSHED_EVERY`] turns, and by the system in between: after a loss of power it may claim less,
//! never more.
//!
//! A commit does not wait for others: a turn goes to its own place among [`PLACES`], and the largest of them counts. A
//! process that was paused for so many turns finds a later one in its place, and leaves it there. If it is paused between
//! that look and its write, the witness may claim less, until the next commit.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _, fchown};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use floe::ledger::{LedgerError, Token};

use super::draft::{draft_path, link_into_place};
use super::file::{Place, WITNESS_SUFFIX};
use super::origin::Origin;
use super::trouble::RAISE;

/// The first line.
const LABEL: &str = "floe witness 1";

const EXPLANATION: &str = "\
Where the database beside this file was made, and how many times it had been written to.
By it floe notices when writes were lost, or when the database is a copy: either would
repeat IDs. Leave this file where it is; docs/operating.md says when to remove it.
";

/// The start of the turns.
const HEAD_BYTES: usize = 1024;

/// How many turns the file has.
const PLACES: u64 = 64;

/// A turn, twice, and a line feed.
const PLACE_BYTES: usize = 32;

/// How many digits a turn has. At a million writes a second they last for thirty years.
const DIGITS: usize = 15;

/// The file is flushed after this many turns.
pub(crate) const FLUSHED_EVERY: u64 = 1024;

/// The content of the file, and the means to write more.
#[derive(Debug)]
pub(super) struct Witness {
    file: File,
    path: PathBuf,
    /// The place where the database was made; empty if that cannot be determined.
    origin: String,
    /// The turn that the database had reached, at least.
    turn: u64,
    /// The largest turn that this process has recorded or found.
    noted: AtomicU64,
    /// How many times [`FLUSHED_EVERY`] turns had passed when this process flushed last. Whoever should have flushed before
    /// it began may have been killed.
    flushed: AtomicU64,
}

impl Witness {
    /// The witness of the database at `place`, if there is one.
    pub(super) fn find(place: &Place) -> Result<Option<Self>, LedgerError> {
        let path = place.beside(WITNESS_SUFFIX);
        let shown = path.display();
        let unfit = |error: io::Error| {
            LedgerError::Unfit(format!(
                "{shown} cannot be read and written ({error}): it remembers how far {} had come; look at its permissions",
                place.shown()
            ))
        };
        #[cfg(test)]
        tests::before_it_is_read();
        let mut file = match OpenOptions::new().read(true).write(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unfit(error)),
        };
        let mut bytes = Vec::new();
        let whole = HEAD_BYTES + PLACE_BYTES * usize::try_from(PLACES).unwrap_or(usize::MAX);
        Read::by_ref(&mut file).take(whole as u64).read_to_end(&mut bytes).map_err(unfit)?;
        let Some((origin, turn)) = read(&bytes) else {
            return Err(LedgerError::Unfit(format!(
                "{shown} does not say how far {ledger} had come: it was changed or damaged; if {ledger} is known to be the right \
                 one and up to date, remove {shown}, and floe writes it again",
                ledger = place.shown(),
            )));
        };
        Ok(Some(Self { file, path, origin, turn, noted: AtomicU64::new(turn), flushed: AtomicU64::new(0) }))
    }

    /// Begins a witness, unless another process is first.
    pub(super) fn make(place: &Place, turn: u64) -> Result<Self, LedgerError> {
        let path = place.beside(WITNESS_SUFFIX);
        let draft = draft_path(&path, &Token::random()?.hex());
        let origin = origin(place)?;
        let written = (|| {
            let database = fs::metadata(place.real())?;
            let mode = database.mode() & 0o666;
            let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&draft)?;
            if rustix::process::geteuid().is_root() {
                // A user that may write the database may write its witness.
                fchown(&file, Some(database.uid()), Some(database.gid()))?;
            }
            let head = format!("{LABEL}\n{origin}\n\n{EXPLANATION}");
            let mut text = format!("{head:<width$}\n", width = HEAD_BYTES - 1).into_bytes();
            for _ in 0..PLACES {
                text.extend(
                    line(turn).ok_or_else(|| io::Error::other("the database was written too often"))?,
                );
            }
            file.write_all(&text)?;
            file.sync_all()?;
            link_into_place(&draft, &path)
        })();
        if let Err(error) = written {
            drop(fs::remove_file(&draft));
            return Err(LedgerError::Unfit(format!(
                "{} cannot be written ({error}): look at the permissions of its directory and the room on its file system",
                path.display()
            )));
        }
        Self::find(place)?.ok_or_else(|| {
            LedgerError::Unavailable(format!("{} was removed while it was made: try again", path.display()))
        })
    }

    /// The turn that the database had reached, at least.
    pub(super) fn turn(&self) -> u64 {
        self.turn
    }

    /// Refuses a database that was made elsewhere than this one.
    pub(super) fn refuse_copy(&self, place: &Place) -> Result<(), LedgerError> {
        let here = Origin::of(place.real())?;
        let Some(difference) = here.differs_from(&self.origin) else { return Ok(()) };
        let (shown, witness) = (place.shown(), self.path.display());
        Err(LedgerError::Unfit(format!(
            "{shown} is not the file that was made here, it is a copy, a backup or another ledger: {difference}. It would hand out \
             again what the original hands out. If the original is in use, give this floe a ledger of its own; if this \
             is the original in its last state, moved here, and nothing uses the old place, remove {witness}; if it is a backup, remove \
             {witness} and {RAISE}"
        )))
    }

    /// Records a turn that was committed.
    pub(super) fn note(&self, turn: u64) -> Result<(), LedgerError> {
        self.record(turn, true)
    }

    /// Records a turn that another process has committed, unless it is known. Its flush is for those who write.
    pub(super) fn repeat(&self, turn: u64) -> Result<(), LedgerError> {
        match turn > self.noted.load(Ordering::Relaxed) {
            true => self.record(turn, false),
            false => Ok(()),
        }
    }

    fn record(&self, turn: u64, is_own: bool) -> Result<(), LedgerError> {
        let recorded = (|| -> io::Result<()> {
            let line = line(turn).ok_or_else(|| io::Error::other("the database was written too often"))?;
            let place = HEAD_BYTES as u64 + turn % PLACES * PLACE_BYTES as u64;
            let mut held = [0; PLACE_BYTES];
            self.file.read_at(&mut held, place)?;
            if turn_in(&held).is_none_or(|held| held < turn) {
                self.file.write_all_at(&line, place)?;
            }
            let times = turn / FLUSHED_EVERY;
            if is_own && times > self.flushed.load(Ordering::Relaxed) {
                self.file.sync_data()?;
                self.flushed.fetch_max(times, Ordering::Relaxed);
            }
            self.noted.fetch_max(turn, Ordering::Relaxed);
            Ok(())
        })();
        recorded.map_err(|error| {
            LedgerError::Unavailable(format!(
                "{} cannot be written ({error}): look at its disk; floe tries again",
                self.path.display()
            ))
        })
    }
}

/// The place where the database is made, if its file system keeps the facts that show it.
fn origin(place: &Place) -> Result<String, LedgerError> {
    if place.is_on_network() {
        return Ok(String::new());
    }
    Ok(Origin::of(place.real())?.to_string())
}

/// The line of a turn; `None` where it has too many digits.
fn line(turn: u64) -> Option<[u8; PLACE_BYTES]> {
    format!("{turn:0DIGITS$} {turn:0DIGITS$}\n").into_bytes().try_into().ok()
}

/// The origin and the turn in the bytes of a witness.
fn read(bytes: &[u8]) -> Option<(String, u64)> {
    let (head, places) = bytes.split_at_checked(HEAD_BYTES)?;
    let mut lines = std::str::from_utf8(head).ok()?.lines();
    if lines.next()? != LABEL {
        return None;
    }
    let origin = lines.next()?.to_owned();
    // A witness that was cut off by a loss of power says nothing.
    Some((origin, places.chunks_exact(PLACE_BYTES).filter_map(turn_in).max()?))
}

/// The turn in a place that is whole.
fn turn_in(place: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(place).ok()?;
    let (one, other) = text.strip_suffix('\n')?.split_once(' ')?;
    (one == other).then(|| one.parse().ok())?
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use floe::Name;
    use floe::ledger::Ledger as _;

    use super::super::Sqlite;
    use super::*;

    thread_local! {
        /// What another process does before this thread reads a witness next.
        static OTHER: RefCell<Option<Box<dyn FnOnce()>>> = RefCell::default();
    }

    pub(super) fn before_it_is_read() {
        if let Some(writes) = OTHER.take() {
            writes();
        }
    }

    /// It is read before the database, or it would claim more than that: what others wrote in between.
    #[test]
    fn what_others_write_while_a_ledger_is_opened_is_not_missed_in_the_database() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ids.db");
        let other = Sqlite::open(&path).unwrap();
        let orders = Name::new("orders").unwrap();
        OTHER.set(Some(Box::new(move || drop(other.bind(&orders, "a counter", true).unwrap()))));
        assert!(Sqlite::open(&path).is_ok());
        assert!(OTHER.take().is_none());
    }

    /// The witness in a file that is no one's.
    fn witness(file: File) -> Witness {
        let (path, origin) = (PathBuf::new(), String::new());
        Witness { file, path, origin, turn: 0, noted: AtomicU64::new(0), flushed: AtomicU64::new(0) }
    }

    /// Otherwise a range would be handed out of which nothing is left where a crash loses the database's last write.
    #[test]
    fn a_turn_that_could_not_be_recorded_is_not_known_however_often_it_is_asked_for() {
        let witness = witness(File::open("/dev/null").unwrap());
        assert!(witness.note(5).is_err(), "it is open for reading only");
        for _ in 0..2 {
            assert!(witness.repeat(5).is_err());
        }
    }

    /// A device that cannot flush says when it is told to.
    #[cfg(target_os = "linux")]
    #[test]
    fn it_is_flushed_once_in_so_many_turns() {
        let witness = witness(OpenOptions::new().read(true).write(true).open("/dev/null").unwrap());
        let fail =
            |turns: std::ops::Range<u64>| turns.filter(|turn| witness.note(*turn).is_err()).count() as u64;
        assert_eq!(fail(1..FLUSHED_EVERY), 0);
        // Another process has written that turn, and was killed before it flushed. What has failed is tried again.
        assert_eq!(fail(FLUSHED_EVERY + 1..FLUSHED_EVERY + 9), 8);
        witness.flushed.store(1, Ordering::Relaxed);
        assert_eq!(fail(FLUSHED_EVERY + 9..3 * FLUSHED_EVERY), FLUSHED_EVERY);
    }

    #[test]
    fn a_place_that_was_cut_off_says_nothing() {
        let mut bytes =
            format!("{:<width$}\n", format!("{LABEL}\ninode=7\n"), width = HEAD_BYTES - 1).into_bytes();
        assert_eq!(read(&bytes), None, "no turn at all");
        for turn in [7, 8, 6] {
            bytes.extend(line(turn).unwrap());
        }
        assert_eq!(read(&bytes), Some(("inode=7".to_owned(), 8)));
        let (second, third) = (HEAD_BYTES + PLACE_BYTES, HEAD_BYTES + 2 * PLACE_BYTES);
        bytes[second + DIGITS + DIGITS] = b'9';
        assert_eq!(read(&bytes), Some(("inode=7".to_owned(), 7)));
        assert_eq!(read(&bytes[..third + 9]), Some(("inode=7".to_owned(), 7)));
        bytes[0] = b'g';
        assert_eq!(read(&bytes), None);
        assert_eq!(line(1_000_000_000_000_000), None);
    }
}
