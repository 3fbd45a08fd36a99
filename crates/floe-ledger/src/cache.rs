//! A local ledger in front of a shared one. It reserves long ranges there and hands out parts of them here, so a node
//! can restart while the shared ledger is down.
//!
//! # What it promises
//! The contract of [`Ledger`], based on the ledger behind. Each range that the cache hands out lies in a range that the
//! ledger behind gave to this cache alone, and it is in the cache's file on disk before the caller hears of it. So if
//! the ledger behind is down, slots and segments are served until the reserved ranges are used up: a slot's time for
//! [`Builder::window`] (by default an hour; at least half of it remains at any time), and a segment's numbers for a few
//! requests.
//!
//! - The cache holds **slots** (`s/…`), and **segments** (`n/…`) whose definition was bound through this cache. It
//!   passes on counters, dated names, and every name that it does not know: their order belongs to the cluster.
//! - It also holds **definitions** of names that were bound through it, and the notes about names that it has read
//!   ([`Name::is_note`]). They never change, so a copy is as good as the original.
//! - **Marks** are seen from here. If this cache holds the range below a mark of the ledger behind, it shows how far it
//!   has come in that range. A caller that asks the ledger behind directly sees the end of the range.
//! - **No call waits** for the ledger behind while the held ranges suffice: a thread refills what runs low. It does not
//!   refill a slot that no node uses.
//! - **Processes of one machine** may share the directory. Each takes its own slot, as on any ledger. During an outage,
//!   a process that had no slot can only take over the slot of one that ended.
//!
//! # What it costs
//! A node that is gone for good leaves its slot reserved for up to one and a half windows of the cache. So a realm
//! needs as many worker ids as it has live nodes, and one more for each node that was lost in that time and was not
//! restarted on its directory.
//!
//! # A copy of the directory
//! repeats what the original holds. The cache refuses a copy if the machine's id (`/etc/machine-id`), the file's inode
//! or its time of birth differ from where it was made. If the ledger behind answers, it counts the openings of each
//! cache (under the key `c/…`). A copy that is older than the last opening drops what it holds, and continues with its
//! own ranges. **No check can notice** a directory that is put back in place to an earlier state (a snapshot of the
//! disk, a clone of the machine with the same machine id) and is used while the ledger behind is down, or beside an
//! original that was not opened again since. After that, remove the directory before floe starts.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use floe::ledger::{
    AtHand, Elsewhere, Key, Ledger, LedgerError, Record, Reply, Reserve, Token, end_of, retirement_of,
};
use floe::{Name, UnixMillis};

use self::refill::Gates;
use self::store::{Begun, Home, Level, Store};
use self::top_up::Queue;
use self::upstream::Upstream;
use crate::sqlite::Origin;
use crate::{DEFAULT_REALM, OpenError, Opening, check_url, realm_name, without_credentials};

mod asking;
mod refill;
mod store;
pub(crate) mod top_up;
mod upstream;

/// The shortest and the longest time of a slot that one reservation takes.
const WINDOWS: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(30 * 24 * 3600);

/// How long the opening of a cache that can serve alone waits for the ledger behind.
pub(crate) const PATIENCE: Duration = Duration::from_millis(500);

/// A local ledger in front of a shared one. Threads may share it. Each process opens its own, also on one directory.
///
/// ```no_run
/// use floe_ledger::Cache;
/// let ledger = Cache::builder("floe-cache").before("postgres://floe@db/ids")?;
/// let floe = floe::Floe::open(ledger);
/// # Ok::<(), floe_ledger::OpenError>(())
/// ```
pub struct Cache {
    inner: Arc<Inner>,
}

/// How to open a [`Cache`].
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let dir = dir.path().join("floe-cache");
/// use std::time::Duration;
///
/// use floe::Floe;
/// use floe::ledger::{LedgerError, Memory};
/// use floe_ledger::{Cache, OpenError, Opening};
///
/// // dir = "floe-cache"; a ledger in memory stands for the shared one
/// let shared = Memory::default();
/// let cache = Cache::builder(&dir).opening(&Opening::of("shop")).window(Duration::from_secs(600));
/// let ledger = cache.before_ledger("shared", move || Ok(Box::new(shared.clone())))?;
/// let floe = Floe::open(ledger)?;
/// assert_eq!(floe.segment("orders")?.mint()?.get(), 1);
/// floe.close();
///
/// // After a restart, the shared ledger is down. The cache holds the next numbers.
/// let down = || Err(OpenError::Ledger(LedgerError::Unavailable("connection refused".to_owned())));
/// let ledger = Cache::builder(&dir).realm("shop").max_wait(Duration::from_secs(2)).before_ledger("shared", down)?;
/// assert_eq!(Floe::open(ledger)?.segment("orders")?.mint()?.get(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    dir: PathBuf,
    opening: Opening,
    window: Duration,
    max_wait: Duration,
}

/// The state that the callers and the thread share.
struct Inner {
    store: Store,
    /// The cache's id when this process opened it.
    id: Token,
    upstream: Upstream,
    realm: String,
    /// The ledger behind, without credentials.
    shown: String,
    window_ms: u64,
    queue: Arc<Queue>,
    gates: Gates,
    /// Slots whose next range another node has reserved.
    lost: Mutex<HashSet<Key>>,
    /// Why the cache hands out nothing any more.
    fate: OnceLock<LedgerError>,
    /// Whether the last call to the ledger behind was answered.
    answers: AtomicBool,
    /// Whether the cache handed out anything before it reached the ledger behind.
    served_alone: AtomicBool,
    was_a_copy: AtomicBool,
}

impl Cache {
    /// A cache in the directory `dir`. It is made (for this user alone) if it is missing and its parent exists.
    /// [`Builder`] has an example.
    pub fn builder(dir: impl AsRef<Path>) -> Builder {
        Builder {
            dir: dir.as_ref().to_owned(),
            opening: Opening::of(DEFAULT_REALM),
            window: Duration::from_secs(3600),
            max_wait: Duration::from_secs(10),
        }
    }
}

impl Builder {
    /// The realm in the ledger behind; by default `default`. A directory belongs to the one that it first reached.
    /// [`Builder`] has an example.
    #[must_use]
    pub fn realm(self, realm: &str) -> Self {
        Self { opening: self.opening.with_realm(realm), ..self }
    }

    /// The realm, whether missing parts of the ledger behind are made, and which realm it has to be. [`Builder`] has an
    /// example.
    #[must_use]
    pub fn opening(self, opening: &Opening) -> Self {
        Self { opening: opening.clone(), ..self }
    }

    /// How much of a slot's time one reservation takes: 1 s to 30 days, by default an hour. Without the ledger,
    /// the cache serves for at least half of it, less one window. Make it many times the nodes' window. [`Builder`] has
    /// an example.
    #[must_use]
    pub fn window(self, window: Duration) -> Self {
        Self { window, ..self }
    }

    /// How long a call waits for other processes that use the directory; by default 10 s. [`Builder`] has an example.
    #[must_use]
    pub fn max_wait(self, max_wait: Duration) -> Self {
        Self { max_wait, ..self }
    }

    /// Opens it in front of the shared ledger at `url`. [`Cache`] has an example.
    ///
    /// # Errors
    /// Those of [`Builder::before_ledger`]; and `Asked` for an embedded ledger, which needs no cache, and for a URL that
    /// cannot be right ([`check_url`]).
    pub fn before(self, url: &str) -> Result<Cache, OpenError> {
        let scheme = url.split(':').next().unwrap_or(url);
        if matches!(scheme, "sqlite" | "memory") {
            return Err(OpenError::Asked(format!(
                "{scheme}: is a ledger of this machine, which needs no cache: leave the cache out, or name a shared ledger"
            )));
        }
        check_url(url)?;
        let (opening, opened) = (self.opening.clone(), url.to_owned());
        self.before_ledger(&place_of(url), move || opening.open(&opened))
    }

    /// Opens it in front of the ledger that `open` opens. Errors call that ledger `upstream`; every start must use the
    /// same name. `open` is called now, and again later if the ledger could not be reached. [`Builder`] has an example.
    ///
    /// If `open` says `Asked` (the ledger refuses a password, a certificate, a role or a right), that is an outage like any other:
    /// a cache that holds ranges serves them, and tries again.
    ///
    /// # Errors
    /// `Asked` if a setting is wrong, or if `open` says so and the directory is new. `Unavailable` if the ledger behind
    /// cannot be reached and the directory is new. `Unfit` if the directory is a copy, damaged, on a network file
    /// system, or of another realm, ledger or user, and if the ledger behind is unfit.
    pub fn before_ledger(
        self,
        upstream: &str,
        open: impl Fn() -> Result<Box<dyn Ledger>, OpenError> + Send + Sync + 'static,
    ) -> Result<Cache, OpenError> {
        realm_name(self.opening.realm())?;
        if !WINDOWS.contains(&self.window) {
            return Err(OpenError::Asked(format!(
                "the cache's window {:?} is outside the allowed 1 s to 30 days",
                self.window
            )));
        }
        crate::sqlite::make_dir(&self.dir)?;
        refuse_foreign(&self.dir)?;
        let store = Store::open(&self.dir, self.max_wait)?;
        let here = Origin::of(&self.dir.join(store::FILE))?;
        let home = store.enter(self.opening.realm(), upstream, &here, Token::random()?)?;
        if let Some(id) = &home.realm_id {
            self.opening.check_id(id, store.shown())?;
        }
        store.note_slots()?;
        let inner = Arc::new(Inner {
            store,
            id: home.id,
            upstream: Upstream::new(Box::new(open)),
            realm: self.opening.realm().to_owned(),
            shown: upstream.to_owned(),
            window_ms: u64::try_from(self.window.as_millis()).unwrap_or(u64::MAX),
            queue: Arc::default(),
            gates: Gates::default(),
            lost: Mutex::default(),
            fate: OnceLock::new(),
            answers: AtomicBool::new(false),
            served_alone: AtomicBool::new(false),
            was_a_copy: AtomicBool::new(false),
        });
        let reached = inner.start()?;
        inner.meet(&home, &reached)?;
        Ok(Cache { inner })
    }
}

/// Refuses the directory of another user. SQLite would create files in it as this user, and lock the other user out.
fn refuse_foreign(dir: &Path) -> Result<(), LedgerError> {
    let metadata = fs::metadata(dir).map_err(|error| {
        LedgerError::Unfit(format!(
            "the cache {} cannot be looked at ({error}): look at its permissions",
            dir.display()
        ))
    })?;
    let (owner, user) = (metadata.uid(), rustix::process::geteuid().as_raw());
    if owner == user {
        return Ok(());
    }
    Err(LedgerError::Unfit(format!(
        "the cache {} belongs to the user {owner}, and this process runs as the user {user}: run it as the owner, or \
         give it a directory of its own",
        dir.display()
    )))
}

impl Inner {
    /// Starts the thread, which first tries to reach the ledger behind. Returns the result of that.
    fn start(self: &Arc<Self>) -> Result<mpsc::Receiver<Result<(), OpenError>>, OpenError> {
        let (tell, told) = mpsc::sync_channel(1);
        let (inner, queue) = (Arc::downgrade(self), Arc::clone(&self.queue));
        // Between its tasks the thread keeps nothing open, so a cache that is dropped is closed.
        let run = move || {
            queue.insist(|| {
                let reached = inner.upgrade().map_or(Ok(()), |inner| inner.reach().map(drop));
                // When the cache serves alone, nobody listens any more.
                drop(tell.try_send(reached.clone()));
                reached.map_err(upstream::at_work)
            });
            queue.run(|wish| inner.upgrade().map_or(Ok(()), |inner| inner.top_up(wish)));
        };
        let started = thread::Builder::new().name("floe-cache".to_owned()).spawn(run);
        started.map(|_| told).map_err(|error| {
            let text = format!(
                "the system refused a thread for the cache ({error}): look at the limits of this process"
            );
            LedgerError::Unavailable(text).into()
        })
    }

    /// Waits for the ledger behind, as long as it is needed to begin.
    fn meet(&self, home: &Home, reached: &mpsc::Receiver<Result<(), OpenError>>) -> Result<(), OpenError> {
        let silent = || Err(upstream::not_yet().into());
        let outcome = match &home.realm_id {
            Some(_) => reached.recv_timeout(PATIENCE).unwrap_or_else(|_| silent()),
            None => reached.recv().unwrap_or_else(|_| silent()),
        };
        let cause = match outcome {
            Err(OpenError::Ledger(LedgerError::Unavailable(cause))) => cause,
            Err(OpenError::Asked(cause)) if home.realm_id.is_some() => cause,
            outcome => return outcome,
        };
        let dir = self.store.shown();
        if home.realm_id.is_none() {
            return Err(LedgerError::Unavailable(format!(
                "{cause} (the cache {dir} is new and holds nothing yet: it needs the ledger behind it once)"
            ))
            .into());
        }
        if home.upstream != self.shown {
            return Err(LedgerError::Unfit(format!(
                "the cache {dir} was made for {}, and {} does not answer, so floe cannot tell whether both are the \
                 same ledger: name the earlier one, wait until this one answers, or remove {dir} ({cause})",
                home.upstream, self.shown
            ))
            .into());
        }
        Ok(())
    }

    /// The ledger behind, reached and checked.
    fn reach(&self) -> Result<Arc<dyn Ledger>, OpenError> {
        let outcome = self.upstream.get(|ledger| self.greet(ledger));
        // If waiting does not help, the cache hands out nothing any more.
        if let Err(OpenError::Ledger(error)) = &outcome
            && !matches!(error, LedgerError::Unavailable(_))
        {
            self.fate.get_or_init(|| error.clone());
        }
        outcome
    }

    /// The ledger behind, if it was reached, and answered when it was last asked.
    fn answering(&self) -> Option<Arc<dyn Ledger>> {
        self.upstream.if_open().filter(|_| self.answers.load(Ordering::SeqCst))
    }

    fn upstream(&self) -> Result<Arc<dyn Ledger>, LedgerError> {
        self.reach().map_err(upstream::at_work)
    }

    /// Runs before any call to the ledger behind. Checks that it is the ledger whose ranges are held here, and that
    /// this is not an older copy of the cache.
    fn greet(&self, ledger: &dyn Ledger) -> Result<(), LedgerError> {
        self.store.meet(&self.realm, &self.heard(ledger.realm_id())?, &self.shown)?;
        loop {
            let Begun { id, token, openings, is_new } = self.store.begin_opening(Token::random()?)?;
            // A request that arrives after a later opening counts nothing.
            let count = Reserve {
                key: Key::cache(&id),
                floor: 0,
                count: 1,
                max_mark: openings,
                token,
                create: true,
                note: None,
            };
            let answer = ledger.reserve(&count).map_err(|error| match error {
                LedgerError::Missing(key) => self.store.lost_count(&key),
                error => error,
            });
            let answer = self.heard(answer)?;
            let ended = self.store.end_opening(token, &answer, Token::random()?)?;
            if ended.id != self.id {
                return self.end_as_a_copy();
            }
            // A copy with the same token would get the same answer. Once another opening is counted, it is refused.
            if is_new || !ended.here {
                return Ok(());
            }
        }
    }

    /// What this process had was of an older copy, and is dropped.
    fn end_as_a_copy(&self) -> Result<(), LedgerError> {
        if self.served_alone.load(Ordering::SeqCst) {
            return Err(LedgerError::Unfit(format!(
                "the cache {} is an older copy, which is known only now that the ledger behind it answers: the IDs \
                 that this process has minted from it may be minted again elsewhere, or have been already. What it \
                 held is dropped: look for duplicates of those IDs, and start again",
                self.store.shown()
            )));
        }
        self.store.note_slots()?;
        self.was_a_copy.store(true, Ordering::SeqCst);
        Ok(())
    }

    /// Remembers whether the ledger behind answers, and any answer that ends everything.
    fn heard<T>(&self, answer: Result<T, LedgerError>) -> Result<T, LedgerError> {
        self.answers.store(!matches!(answer, Err(LedgerError::Unavailable(_))), Ordering::SeqCst);
        self.remember_unfit(answer)
    }

    fn remember_unfit<T>(&self, answer: Result<T, LedgerError>) -> Result<T, LedgerError> {
        answer.inspect_err(|error| {
            if matches!(error, LedgerError::Unfit(_)) {
                self.fate.get_or_init(|| error.clone());
            }
        })
    }

    /// # Errors
    /// Why the cache hands out nothing any more.
    fn check(&self) -> Result<(), LedgerError> {
        self.fate.get().map_or(Ok(()), |fate| Err(fate.clone()))
    }

    fn note_served(&self) {
        if self.upstream.if_open().is_none() {
            self.served_alone.store(true, Ordering::SeqCst);
        }
    }

    fn lost(&self) -> MutexGuard<'_, HashSet<Key>> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The ledger that a URL names: without credentials, and without the options that may change between starts.
fn place_of(url: &str) -> String {
    const PLACES: [&str; 9] =
        ["schema", "dbname", "host", "hostaddr", "port", "endpoint", "region", "account", "datacenter"];
    // A password may hold the sign of the options.
    let authority = url.find("//").map_or(0, |slashes| slashes + 2);
    let authority_end = url[authority..].find('/').map_or(url.len(), |end| authority + end);
    let host = url[..authority_end].rfind('@').unwrap_or(0);
    let place_end = url[host..].find('?').map_or(url.len(), |end| host + end);
    let (place, options) = (&url[..place_end], url[place_end..].trim_start_matches('?'));
    let names_a_place = |option: &&str| PLACES.contains(&option.split('=').next().unwrap_or(option));
    let options: Vec<&str> = options.split('&').filter(names_a_place).collect();
    let place = without_credentials(place);
    if options.is_empty() { place } else { format!("{place}?{}", options.join("&")) }
}

impl Ledger for Cache {
    fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        let inner = &self.inner;
        inner.check()?;
        if inner.store.covers(&request.key)? {
            return inner.reserve(request);
        }
        inner.heard(inner.upstream()?.reserve(request))
    }

    fn count(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        let inner = &self.inner;
        inner.check()?;
        inner.heard(inner.upstream()?.count(request))
    }

    fn give_back(&self, key: &Key, token: Token, from: u64) -> Result<bool, LedgerError> {
        let inner = &self.inner;
        inner.check()?;
        if inner.store.covers(key)? && inner.store.knows(key)? {
            return inner.store.give_back(key, token, from);
        }
        inner.heard(inner.upstream()?.give_back(key, token, from))
    }

    fn bind(&self, name: &Name, definition: &str, marked: bool) -> Result<String, LedgerError> {
        let inner = &self.inner;
        inner.check()?;
        if let Some(stored) = inner.store.definition(name)? {
            return Ok(stored);
        }
        let stored = inner.heard(inner.upstream()?.bind(name, definition, marked))?;
        inner.store.remember(name, &stored)
    }

    fn definition(&self, name: &Name) -> Result<Option<String>, LedgerError> {
        let inner = &self.inner;
        inner.check()?;
        if let Some(stored) = inner.store.definition(name)? {
            return Ok(Some(stored));
        }
        // A known name is served while the ledger is down. The list of names shows whether it was retired.
        if let Some(name) = retirement_of(name)
            && inner.store.definition(&name)?.is_some()
        {
            return Ok(None);
        }
        // A last day that was never heard of here ends a known name late, and repeats nothing. So no call waits for it. With a
        // key that was never compared, texts could open as other numbers.
        let may_miss = match end_of(name) {
            Some(name) => inner.store.definition(&name)?.is_some(),
            None => false,
        };
        if may_miss && inner.answering().is_none() {
            return Ok(None);
        }
        let answer = inner.upstream().and_then(|upstream| inner.heard(upstream.definition(name)));
        match answer {
            Err(LedgerError::Unavailable(_)) if may_miss => Ok(None),
            // A name that is only read becomes no known one: nobody asked whether it was retired.
            Ok(Some(note)) if Name::is_note(name.as_str()) => inner.store.remember(name, &note).map(Some),
            answer => answer,
        }
    }

    fn names(&self, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        self.inner.check()?;
        self.inner.heard(self.inner.upstream()?.names(after, limit))
    }

    fn raise(&self, key: &Key, at_least: u64) -> Result<u64, LedgerError> {
        let inner = &self.inner;
        inner.check()?;
        let upstream = inner.upstream()?;
        // Meanwhile no call gets a range of this key: one below the new mark would have to be dropped.
        let _gate = inner.gates.enter(key)?;
        let behind = inner.heard(upstream.raise(key, at_least))?;
        inner.store.raise(key, at_least, behind)
    }

    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<Record>, LedgerError> {
        let inner = &self.inner;
        inner.check()?;
        let upstream = inner.upstream()?;
        let (mut records, mut after) = (Vec::new(), after.to_owned());
        while records.len() < limit {
            let wanted = limit - records.len();
            let page = inner.heard(upstream.list(prefix, &after, wanted))?;
            let is_last = page.len() < wanted;
            after = page.last().map_or(after, |record| record.key.clone());
            // The openings of caches are not marks of any name or slot.
            records.extend(page.into_iter().filter(|record| !record.key.starts_with(Key::CACHES)));
            if is_last {
                break;
            }
        }
        inner.store.seen_from_here(&records)
    }

    fn in_other_realms(&self, name: &Name) -> Result<Vec<Elsewhere>, LedgerError> {
        self.inner.check()?;
        self.inner.heard(self.inner.upstream()?.in_other_realms(name))
    }

    fn clock(&self) -> Result<Option<UnixMillis>, LedgerError> {
        let inner = &self.inner;
        let Some(upstream) = inner.answering() else { return Ok(None) };
        match inner.heard(upstream.clock()) {
            Err(LedgerError::Unavailable(_)) => Ok(None),
            answer => answer,
        }
    }

    fn realm_id(&self) -> Result<String, LedgerError> {
        self.inner.check()?;
        match self.inner.store.realm_id()? {
            Some(id) => Ok(id),
            None => self.inner.heard(self.inner.upstream()?.realm_id()),
        }
    }

    fn describe(&self) -> String {
        let inner = &self.inner;
        let shown = inner.upstream.if_open().map_or_else(|| inner.shown.clone(), |ledger| ledger.describe());
        let dropped = match inner.was_a_copy.load(Ordering::SeqCst) {
            true => {
                " (which was an older copy: what it held was dropped; if floe used it while the ledger was down, look for duplicates of \
                 the IDs of that time)"
            }
            false => "",
        };
        format!("{shown} behind the cache {}{dropped}", inner.store.shown())
    }

    fn at_hand(&self, worker_bits: u32) -> Vec<AtHand> {
        let at_hand = |(&(_, worker), level): (&(u32, u64), &Level)| AtHand {
            worker,
            mark: level.mark,
            end: level.end,
        };
        self.inner.store.seen().range((worker_bits, 0)..=(worker_bits, u64::MAX)).map(at_hand).collect()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Do not wait for the thread: it may be waiting for the ledger behind. The next process finishes what it began.
        self.queue.close();
    }
}

#[cfg(test)]
mod tests {
    use floe::ledger::Memory;

    use super::*;

    /// Otherwise each cache that was opened would leave a thread behind.
    #[test]
    fn a_cache_that_is_dropped_closes_the_queue_of_its_thread() {
        let dir = tempfile::TempDir::new().unwrap();
        let opened = Cache::builder(dir.path()).before_ledger("behind:", || Ok(Box::new(Memory::default())));
        let queue = Arc::clone(&opened.unwrap().inner.queue);
        queue.insist(|| panic!("it is still open"));
    }

    /// One that can serve alone waits for half a second only.
    #[test]
    fn a_new_cache_waits_for_a_ledger_that_is_slow_to_connect() {
        let (dir, (_silent, never)) = (tempfile::TempDir::new().unwrap(), mpsc::channel::<()>());
        let never = Mutex::new(never);
        let opened = Cache::builder(dir.path()).before_ledger("behind:", move || {
            assert!(never.lock().unwrap().recv_timeout(2 * PATIENCE).is_err());
            Ok(Box::new(Memory::default()))
        });
        assert_eq!(opened.map(drop), Ok(()));
    }

    /// By the contract, it refuses only where the mark is too high.
    #[test]
    fn a_ledger_that_refuses_to_count_a_start_without_a_reason_is_used_no_more() {
        let dir = tempfile::TempDir::new().unwrap();
        let store = Store::open(dir.path(), Duration::from_secs(10)).unwrap();
        let [id, token, fresh] = [(); 3].map(|()| Token::random().unwrap());
        let here = Origin::of(&dir.path().join(store::FILE)).unwrap();
        store.enter("shop", "behind:", &here, id).unwrap();
        store.begin_opening(token).unwrap();
        let refused = |mark| store.end_opening(token, &Reply::Refused { mark, note: None }, fresh);
        let same = refused(0);
        assert!(
            matches!(&same, Err(LedgerError::Unfit(text)) if text.contains("refused to count")),
            "{same:?}"
        );
        assert!(refused(1).is_ok_and(|ended| ended.id == fresh), "others were counted: it is an older copy");
    }

    #[test]
    fn a_ledger_is_named_without_secrets_and_without_what_may_change() {
        for (url, place) in [
            ("postgres://floe:secret@db:5432/ids", "postgres://…@db:5432/ids"),
            ("postgres://floe:se@cret@db:5432/ids", "postgres://…@db:5432/ids"),
            ("postgres://db/ids?password=secret&schema=a&max_wait=1s", "postgres://db/ids?schema=a"),
            ("postgres:///?dbname=ids&hostaddr=10.0.0.7&user=a", "postgres:///?dbname=ids&hostaddr=10.0.0.7"),
            (
                "postgres:///ids?user=floe&host=a&port=5433&password=se@cret",
                "postgres:///ids?host=a&port=5433",
            ),
            ("mysql://floe:sec?ret@db/ids?max_wait=1s", "mysql://…@db/ids"),
            ("postgres://floe:sec?r@t@db?dbname=ids", "postgres://…@db?dbname=ids"),
            ("etcd://a:2379,b:2379/prefix", "etcd://a:2379,b:2379/prefix"),
            ("s3://ids/x?endpoint=https://minio&max_wait=1s", "s3://ids/x?endpoint=https://minio"),
            ("dynamodb://ids?region=eu-west-1", "dynamodb://ids?region=eu-west-1"),
            ("az://ids?account=shop&max_wait=1s", "az://ids?account=shop"),
            ("consul://db/ids?token_file=t&datacenter=dc2", "consul://db/ids?datacenter=dc2"),
        ] {
            assert_eq!(place_of(url), place);
        }
    }
}
