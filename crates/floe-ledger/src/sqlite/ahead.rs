//! Counters' numbers that are reserved ahead, shared by all processes of this machine.
//!
//! A count that waits for a flush of the disk takes ten times as long as one that does not. So a counter reserves ahead
//! ([`Mark::reserve_ahead`]). The record then says where the reserved range ends. A small file in `/dev/shm` says where
//! the rest of it begins. That file is in memory: it survives a killed process, and is gone after the machine restarts.
//!
//! # Why no number is handed out twice
//! 1. The range is in the ledger, and on disk, before a number of it is handed out.
//! 2. Each reservation has a fresh random token, in the record and in the file. Numbers are taken from the rest only if
//!    the two tokens are equal, and only inside a transaction that holds the ledger's write lock.
//! 3. If they differ, the count continues at the record's mark. So numbers that are lost with the file are skipped:
//!    after a restart of the machine, or if another process sees another `/dev/shm`, as in a container.
//! 4. A raise skips the numbers of the rest below it. If it does not find the rest, it removes the token from the record.
//!
//! Processes that see different files would skip numbers for each other. So a count that finds another's token takes only
//! what it needs, and only the next count reserves ahead again. A process that closes the ledger gives back its rest.
//!
//! A busy counter reserves further ahead ([`Pace`]): one flush takes as long as some ten to thirty of its counts, so with
//! 32 of them ahead it would spend half of its time on flushes.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use floe::ledger::{LedgerError, Mark, Reply, Reserve, Token};
use rustix::fs::{FlockOperation, OFlags, flock, statfs};

/// How many counters may have a rest.
pub(super) const PLACES: u64 = 1 << 14;

/// The start of an ahead reservation's token. A caller's token is random.
const AHEAD: [u8; 4] = [0; 4];

/// A token, and the start and end of the rest.
const PLACE_BYTES: usize = 16 + 8 + 8;

/// How many places to try for a free one.
const LOOKS: usize = 8;

/// How many counters a process remembers, to give back their rest.
const REMEMBERED: usize = 4_096;

/// A counter that needs its next reservation within this time is busy.
pub(crate) const BUSY: Duration = Duration::from_millis(50);

/// For how many of its counts a counter reserves ahead at most.
pub(crate) const MOST_AHEAD: u64 = 1_024;

const DIRECTORY: &str = "/dev/shm";

/// `tmpfs` in statfs(2).
const TMPFS: i128 = 0x0102_1994;

#[derive(Debug)]
pub(super) struct Ahead {
    path: PathBuf,
    /// The first count opens it; `None` if this system has no such memory.
    file: OnceLock<Option<File>>,
    paces: Mutex<HashMap<String, Pace>>,
    pub(super) busy: Duration,
}

/// How far a counter reserved ahead, and when.
#[derive(Clone, Copy, Debug)]
struct Pace {
    calls: u64,
    at: Instant,
}

impl Pace {
    /// For how many counts to reserve ahead now: twice as many as before while the counter is busy, half as many when it
    /// is not.
    fn next(self, now: Instant, busy: Duration) -> u64 {
        let is_busy = now.duration_since(self.at) < busy;
        let calls = if is_busy { self.calls * 2 } else { self.calls / 2 };
        calls.clamp(Mark::AHEAD, MOST_AHEAD)
    }
}

impl Ahead {
    pub(super) fn new(ledger_id: &str) -> Self {
        let name = format!("floe-{ledger_id}-{}", rustix::process::geteuid().as_raw());
        Self {
            path: Path::new(DIRECTORY).join(name),
            file: OnceLock::new(),
            paces: Mutex::default(),
            busy: BUSY,
        }
    }

    #[cfg(test)]
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives nothing back at the end, like a killed process.
    #[cfg(test)]
    pub(super) fn forget(&self) {
        self.paces().clear();
    }

    /// Another memory, as another container sees it.
    #[cfg(test)]
    pub(super) fn beside(&self, number: u64) -> Self {
        let path = self.path.with_extension(number.to_string());
        Self { path, file: OnceLock::new(), paces: Mutex::default(), busy: BUSY }
    }

    fn file(&self) -> Option<&File> {
        self.file.get_or_init(|| open(&self.path)).as_ref()
    }

    fn paces(&self) -> MutexGuard<'_, HashMap<String, Pace>> {
        self.paces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the numbers of `request` from the rest of the record's reservation. If there are too few, the error is the
    /// start of the rest, or `None` if that is unknown.
    pub(super) fn take(&self, record: &Mark, request: &Reserve) -> Result<Reply, Option<u64>> {
        let (place, Range { start: next, end }) = self.rest(record).ok_or(None)?;
        if next > request.max_mark {
            return Ok(Reply::Refused { mark: next, note: record.note.clone() });
        }
        let start = next.max(request.floor);
        let used = start.checked_add(request.count).filter(|used| *used <= end).ok_or(Some(next))?;
        self.write(place, record.token, used..end).ok_or(None)?;
        Ok(Reply::Got { start, end: used, previous_mark: next })
    }

    /// The place and the rest of the record's reservation.
    pub(super) fn rest(&self, record: &Mark) -> Option<(u64, Range<u64>)> {
        let place = place_of(record.token?);
        let (token, rest) = self.read(place)?;
        (token == record.token).then_some((place, rest))
    }

    /// For how many of its counts the counter `key` reserves ahead now.
    pub(super) fn calls(&self, key: &str) -> u64 {
        self.paces().get(key).map_or(Mark::AHEAD, |pace| pace.next(now(), self.busy))
    }

    /// Notes the rest of a reservation of the counter `key`, for `calls` counts ahead, that is about to be committed in
    /// place of `record`. Returns its token, or `None` if the rest cannot be noted.
    pub(super) fn note(
        &self,
        key: &str,
        record: &Mark,
        rest: Range<u64>,
        calls: u64,
    ) -> Result<Option<Token>, LedgerError> {
        let place = match self.rest(record) {
            Some((place, _)) => Some(place),
            None => self.find_free()?,
        };
        let Some(place) = place else { return Ok(None) };
        let token = at(place, Token::random()?);
        if self.write(place, Some(token), rest).is_none() {
            return Ok(None);
        }
        let mut paces = self.paces();
        if paces.len() >= REMEMBERED {
            paces.clear();
        }
        paces.insert(key.to_owned(), Pace { calls, at: now() });
        Ok(Some(token))
    }

    /// A free place; `None` if none was found.
    fn find_free(&self) -> Result<Option<u64>, LedgerError> {
        for _ in 0..LOOKS {
            let place = place_of(Token::random()?);
            match self.read(place) {
                Some((_, rest)) if rest.is_empty() => return Ok(Some(place)),
                Some(_) => {}
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Skips the ahead numbers below `at_least`. `false` if some may be left in another memory.
    pub(super) fn skip(&self, record: &Mark, at_least: u64) -> bool {
        let reserved = record.token.filter(|token| token.as_bytes().starts_with(&AHEAD));
        match (reserved, self.rest(record)) {
            (None, _) => true,
            (token, Some((place, rest))) => {
                self.write(place, token, rest.start.max(at_least)..rest.end).is_some()
            }
            (_, None) => at_least <= record.start,
        }
    }

    fn read(&self, place: u64) -> Option<(Option<Token>, Range<u64>)> {
        let mut bytes = [0; PLACE_BYTES];
        // Past its end the file reads as empty.
        let _ = self.file()?.read_at(&mut bytes, place * PLACE_BYTES as u64).ok()?;
        parse(&bytes)
    }

    pub(super) fn write(&self, place: u64, token: Option<Token>, rest: Range<u64>) -> Option<()> {
        let mut bytes = Vec::with_capacity(PLACE_BYTES);
        bytes.extend(token.as_ref().map_or(&[0; 16], Token::as_bytes));
        bytes.extend(rest.start.to_le_bytes());
        bytes.extend(rest.end.to_le_bytes());
        self.file()?.write_all_at(&bytes, place * PLACE_BYTES as u64).ok()
    }

    /// The counters for which this process may have reserved ahead.
    pub(super) fn remembered(&self) -> Vec<String> {
        self.paces().keys().cloned().collect()
    }

    /// Frees the place of a reservation that is given back.
    pub(super) fn free(&self, place: u64) {
        // If this fails, the place stays taken until the machine restarts.
        let _ = self.write(place, None, 0..0);
    }

    /// Deletes the file, unless another process has it open, or a killed process left a rest in it. Called with the
    /// ledger's write lock, like all that opens the file: who opened it now would have a file that nobody else sees.
    pub(super) fn remove(&self) {
        let is_empty = |bytes: Vec<u8>| {
            bytes.chunks(PLACE_BYTES).all(|place| parse(place).is_none_or(|(_, rest)| rest.is_empty()))
        };
        let Some(Some(file)) = self.file.get() else { return };
        if flock(file, FlockOperation::NonBlockingLockExclusive).is_err() {
            return;
        }
        #[cfg(test)]
        tests::during_a_removal();
        if std::fs::read(&self.path).is_ok_and(is_empty) {
            drop(std::fs::remove_file(&self.path));
        }
        // The file stays: whoever opens it before this process closes it must not find it locked.
        let _ = flock(file, FlockOperation::NonBlockingLockShared);
    }
}

#[expect(clippy::disallowed_methods, reason = "it decides only how far a counter reserves ahead")]
fn now() -> Instant {
    Instant::now()
}

/// The token and the rest in the bytes of a place.
fn parse(bytes: &[u8]) -> Option<(Option<Token>, Range<u64>)> {
    let (token, numbers) = bytes.split_first_chunk()?;
    let (next, end) = numbers.split_first_chunk()?;
    let end = u64::from_le_bytes(*end.first_chunk()?);
    Some((Token::from_bytes(*token), u64::from_le_bytes(*next)..end))
}

/// The file at `path`; `None` if this system has no memory for it, or another user made it.
fn open(path: &Path) -> Option<File> {
    let stat = statfs(path.parent()?).ok()?;
    // The field's type differs between architectures.
    if i128::from(stat.f_type) & 0xffff_ffff != TMPFS {
        return None;
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    let file = options.open(path).ok()?;
    let metadata = file.metadata().ok()?;
    let is_own = metadata.is_file() && metadata.uid() == rustix::process::geteuid().as_raw();
    let is_private = metadata.mode() & 0o077 == 0;
    // Held as long as the file is open: see `remove`.
    let is_shared = flock(&file, FlockOperation::NonBlockingLockShared).is_ok();
    (is_own && is_private && is_shared).then_some(file)
}

/// The place of a token's reservation, which follows [`AHEAD`].
fn place_of(token: Token) -> u64 {
    let [_, _, _, _, high, low, ..] = *token.as_bytes();
    u64::from(u16::from_be_bytes([high, low])) % PLACES
}

/// The token at `place`.
fn at(place: u64, token: Token) -> Token {
    let mut bytes = *token.as_bytes();
    let [.., high, low] = place.to_be_bytes();
    let front = AHEAD.into_iter().chain([high, low]);
    bytes.iter_mut().zip(front).for_each(|(byte, known)| *byte = known);
    Token::from_bytes(bytes).unwrap_or(token)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::mpsc;

    use floe::Name;
    use floe::ledger::{Key, Ledger as _, MAX_MARK};

    use super::super::Sqlite;
    use super::*;

    thread_local! {
        /// What another process does while this thread deletes the file.
        static OTHER: RefCell<Option<Box<dyn FnOnce()>>> = RefCell::default();
    }

    pub(super) fn during_a_removal() {
        if let Some(other) = OTHER.take() {
            other();
        }
    }

    /// The other process would open a file that nobody else sees.
    #[test]
    fn the_file_is_deleted_while_no_other_process_can_count() {
        let dir = tempfile::TempDir::new().unwrap();
        let open = || Sqlite::builder().max_wait(Duration::ZERO).at(dir.path().join("ids.db")).unwrap();
        let (ledger, other) = (open(), open());
        let name = Name::new("visits").unwrap();
        ledger.bind(&name, "a counter", true).unwrap();
        let request = || Reserve {
            key: Key::name(&name),
            floor: 1,
            count: 1,
            max_mark: MAX_MARK - 1,
            token: Token::random().unwrap(),
            create: false,
            note: None,
        };
        (0..2).for_each(|_| drop(ledger.count(&request()).unwrap()));
        let file = ledger.ahead.path.clone();
        assert!(file.exists(), "the second count reserves ahead");
        let ((counts, counted), theirs) = (mpsc::channel(), request());
        OTHER.set(Some(Box::new(move || counts.send(other.count(&theirs)).unwrap())));
        drop(ledger);
        let counted = counted.recv().unwrap();
        assert!(matches!(counted, Err(LedgerError::Unavailable(_))), "{counted:?}");
        assert!(!file.exists());
    }

    /// After a loss of power a disk may have what was there before.
    #[test]
    fn what_is_on_a_disk_is_no_memory() {
        let program = std::env::current_exe().unwrap();
        let dir = tempfile::TempDir::new_in(program.parent().unwrap()).unwrap();
        let is_memory = i128::from(statfs(dir.path()).unwrap().f_type) & 0xffff_ffff == TMPFS;
        assert_eq!(open(&dir.path().join("floe")).is_some(), is_memory);
    }

    #[test]
    fn a_busy_counter_reserves_further_ahead_and_a_quiet_one_less() {
        let at = now();
        let next = |calls, later| Pace { calls, at }.next(at + Duration::from_millis(later), BUSY);
        assert_eq!([0, 32, 64, 512, 1_024].map(|calls| next(calls, 49)), [32, 64, 128, 1_024, 1_024]);
        assert_eq!([0, 32, 64, 512, 1_024].map(|calls| next(calls, 50)), [32, 32, 32, 256, 512]);
    }

    fn over(file: File) -> Ahead {
        Ahead { path: PathBuf::new(), file: OnceLock::from(Some(file)), paces: Mutex::default(), busy: BUSY }
    }

    #[test]
    fn a_process_remembers_so_many_counters_and_no_more() {
        let ahead = over(tempfile::tempfile().unwrap());
        let mut record = Mark::default();
        let mut note = |key: &str| record.token = ahead.note(key, &record, 5..9, 0).unwrap();
        (0..REMEMBERED).for_each(|number| note(&format!("n/{number}")));
        assert_eq!(ahead.remembered().len(), REMEMBERED);
        note("n/one-more");
        assert_eq!(ahead.remembered(), ["n/one-more"]);
    }

    /// What is not written down as taken would be taken again.
    #[test]
    fn nothing_is_taken_noted_or_skipped_where_that_cannot_be_written() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let (whole, readable) = (over(file.reopen().unwrap()), over(File::open(file.path()).unwrap()));
        let mut record = Mark { mark: 9, ..Mark::default() };
        record.token = whole.note("n/visits", &record, 5..9, 0).unwrap();
        let key = Key::name(&Name::new("visits").unwrap());
        let (token, create, note) = (Token::random().unwrap(), false, None);
        let request = Reserve { key, floor: 1, count: 1, max_mark: 100, token, create, note };
        assert_eq!(readable.take(&record, &request), Err(None));
        assert_eq!(readable.note("n/visits", &record, 9..12, 0), Ok(None));
        assert!(!readable.skip(&record, 7));
        assert_eq!(whole.take(&record, &request), Ok(Reply::Got { start: 5, end: 6, previous_mark: 5 }));
    }
}
