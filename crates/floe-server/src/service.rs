//! The one service: every protocol translates to it, and it decides.
//!
//! It knows which names exist or may be made, which kind answers on which call, how many IDs a call may ask
//! for and how long it may wait. It knows no protocol: a front hands it a [`Call`] and a name, and gets IDs or a
//! [`Refusal`], which its column of the table in [`status`](crate::status) turns into an answer.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock};
use std::time::Duration;

use floe::{Definition, Floe, Handle, MintError, Minted, Name, StopReason, Stopped, TextMinter};
use jiff::civil::Date;
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Instant, timeout};

use crate::access::{Access, Caller};
use crate::awaited::Awaited;
use crate::clients::{CLIENT, Held};
use crate::config::{Config, NewNames};
use crate::metrics::{Metrics, NameMetrics};
use crate::status::{Refusal, Status};

pub(crate) mod call;
mod date;
pub(crate) mod endings;
pub(crate) mod inspect;
mod loaded;
mod names;
mod new_names;
pub(crate) mod offered;
mod opening;
mod raise;
mod report;
#[cfg(test)]
mod tests;

pub(crate) use call::Call;
pub(crate) use date::DateText;
use date::Dates;
pub(crate) use inspect::{Field, Inspection, Opened, Reading};
use names::Rules;
use new_names::{Asked, NameBudget};
use offered::Offered;
pub(crate) use report::{NameReport, NamesPage, Readiness, SlotsPage};

/// When to retry if nothing better is known.
const RETRY: Duration = Duration::from_secs(1);

/// Who is told what the ledger itself said; see [`Caller::sees_inside`].
const TOLD_MORE: &str = "clients on the server's machine, and tokens for every name, are told more";

/// More texts than this are made on a blocking thread.
const TEXTS_AT_ONCE: u64 = 2_048;
/// How many calls mint so at once.
const TEXTS_MINTED: usize = 6;
/// How many calls ask the ledger at once, besides openings of names and other processes' calls.
const ASKING: usize = 6;
/// Threads enough for all who have a turn, and for six that need one at a time: the opening of a name, the late binding
/// of names, the end of names, the wait for the ledger, the reading of certificates, and the server's close. What waits
/// for a thread waits outside of all limits, and its caller may have gone.
pub(crate) const BLOCKING_THREADS: usize = offered::AT_ONCE + TEXTS_MINTED + ASKING + 6;
/// The memory of a text, before one has been minted.
const TEXT_BYTES: usize = 64;
/// Texts of fewer bytes are not counted among what is held for clients.
const HELD_UNCOUNTED: usize = 16 << 10;

/// See the module.
pub(crate) struct Service {
    floe: Floe,
    rules: Rules,
    access: Access,
    open: RwLock<HashMap<Box<str>, Known>>,
    /// Names are opened one at a time, so that their limit holds and a hanging ledger blocks only one thread.
    opening: Arc<tokio::sync::Mutex<NameBudget>>,
    max_batch: u64,
    max_names: usize,
    new_names: NewNames,
    new_names_per_hour: u32,
    max_wait: Duration,
    metrics: Arc<Metrics>,
    since: Instant,
    dates: Dates,
    texts_minted: Arc<Semaphore>,
    /// Turns of the calls that ask the ledger; see [`blocking`](Self::blocking).
    asking: Arc<Semaphore>,
    draining: AtomicBool,
    /// Whether the last call that needed the ledger could not reach it.
    ledger_gone: AtomicBool,
    awaited: Awaited,
    offered: Offered,
    /// Names that are served before the ledger knows them, and the signal that there are some.
    unbound: Mutex<Vec<(Name, Definition)>>,
    has_unbound: Notify,
    stopped: Notify,
}

/// The state of a name that was asked for.
#[derive(Clone)]
enum Known {
    Open(Arc<OpenName>),
    /// The ledger has another definition of it. Neither side can change while this process runs.
    Mismatch(Arc<str>),
}

/// A name that is open. It stays open while it is in use. A listed name stays open as long as the process runs.
pub(crate) struct OpenName {
    handle: Handle,
    /// Whether the configuration lists it.
    listed: bool,
    /// Its count at the last search for unused names.
    seen: AtomicU64,
    /// The last day of a name that a client made for one day; see [`endings`].
    last_day: Option<Date>,
    /// The last value that [`OpenName::note_last`] was told of; 0 is none.
    last: AtomicU64,
    /// The smallest size of its segments.
    min_step: u64,
    /// The memory of one of its texts, as far as known.
    text_bytes: AtomicUsize,
    metrics: NameMetrics,
    /// Whether the log has been told that nothing is minted under the name: clients go on asking.
    stop_logged: AtomicBool,
    /// Why a served name mints nothing any more: it was retired, or the ledger, which was not there at first, has
    /// another definition of it.
    ended: OnceLock<Refusal>,
}

impl Service {
    /// The service of a configuration on an open ledger.
    pub(crate) fn new(config: &Config, floe: Floe, metrics: Arc<Metrics>, awaited: Awaited) -> Arc<Self> {
        let service = Self {
            floe,
            rules: Rules::new(config),
            access: Access::new(&config.tokens, &config.tiny_id_tokens, &metrics).with_hosts(&config.hosts),
            open: RwLock::default(),
            opening: Arc::default(),
            max_batch: config.limits.max_batch,
            max_names: config.limits.max_names,
            new_names: config.on_new_names(),
            new_names_per_hour: config.limits.new_names_per_hour,
            max_wait: config.limits.max_wait,
            metrics,
            since: Instant::now(),
            dates: Dates::default(),
            texts_minted: Arc::new(Semaphore::new(TEXTS_MINTED)),
            asking: Arc::new(Semaphore::new(ASKING)),
            draining: AtomicBool::new(false),
            ledger_gone: AtomicBool::new(false),
            awaited,
            offered: Offered::new(config),
            unbound: Mutex::default(),
            has_unbound: Notify::new(),
            stopped: Notify::new(),
        };
        service.metrics.limit_names(service.most_loaded());
        Arc::new(service)
    }

    /// Binds the names that the configuration lists. An error of one name is logged, and given to callers of that
    /// name. The other names are served. While the ledger does not answer, names are bound on their first call,
    /// except those that need no ledger to mint.
    pub(crate) async fn open_listed(self: &Arc<Self>) {
        let is_there = self.awaited.missing().is_none();
        let now = |definition: &Definition| is_there || !definition.needs_ledger();
        let nobody = self.access.unknown();
        for (name, definition) in self.rules.listed().filter(|(_, definition)| now(definition)) {
            if let Err(refusal) = self.open_name(&nobody, &call::NATIVE, name.as_str(), None).await {
                // A name that the ledger does not know is already logged.
                if refusal.status != Status::UnknownName {
                    tracing::error!(%name, %definition, status = refusal.status.slug(), "{}", refusal.whole());
                }
                if matches!(refusal.status, Status::Busy | Status::Unavailable) {
                    break;
                }
            }
        }
    }

    /// Who may call.
    pub(crate) fn access(&self) -> &Access {
        &self.access
    }

    /// Reads how many IDs a call asks for.
    ///
    /// # Errors
    /// A [`Refusal`] if it is not a whole number from 1 to `limits.max_batch`. It is never cut.
    pub(crate) fn count(&self, text: &str) -> Result<u64, Refusal> {
        let max = self.max_batch;
        let out_of_range = || {
            Refusal::bad(format!(
                "n = {} is outside 1 to {max}: ask for at most {max} IDs in one call, and call again for more (limits.max_batch)",
                short(text)
            ))
        };
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Refusal::bad(format!(
                "n = {:?} is not a whole number: write it in digits, 1 to {max}",
                short(text)
            )));
        }
        text.parse().ok().filter(|n| (1..=max).contains(n)).ok_or_else(out_of_range)
    }

    /// Mints `n` IDs under a name, waiting for them at most `limits.max_wait`.
    ///
    /// # Errors
    /// A [`Refusal`] of any status. Nothing is handed out then.
    pub(crate) async fn mint(
        self: &Arc<Self>,
        caller: &Caller,
        call: &'static Call,
        name: &str,
        n: u64,
    ) -> Result<Minted, Refusal> {
        self.mint_again(caller, &mut None, call, name, n).await
    }

    /// [`mint`](Self::mint) for a connection that may have minted under the name before: it is not looked up if it is
    /// the `recent` one. From now on, it is.
    ///
    /// # Errors
    /// A [`Refusal`] of any status. Nothing is handed out then.
    pub(crate) async fn mint_again(
        self: &Arc<Self>,
        caller: &Caller,
        recent: &mut Option<Arc<OpenName>>,
        call: &'static Call,
        name: &str,
        n: u64,
    ) -> Result<Minted, Refusal> {
        caller.check_name(name)?;
        if n == 0 || n > self.max_batch {
            self.count(&n.to_string())?;
        }
        let open = match recent {
            Some(open) if open.name() == name => open,
            _ => recent.insert(self.opened(caller, call, name).await?),
        };
        call.admits(name, open.handle.definition())?;
        open.check().map_err(|refusal| refusal.told(caller.sees_inside()))?;
        let held = Self::hold_texts(open, n).await?;
        // Many texts must be computed, which keeps a thread busy for a while.
        let texts = open.handle.get::<TextMinter>();
        let apart = texts.filter(|minter| minter.may_block() || n > TEXTS_AT_ONCE);
        let at_once = apart.map_or_else(|| open.handle.try_mint_many(n), |_| Ok(None));
        let minted = match at_once {
            Ok(Some(minted)) => Ok(minted),
            Ok(None) => {
                let since = Instant::now();
                let waited = match apart {
                    Some(minter) => self.mint_blocking(minter, n).await,
                    // The library has the same limit for the wait, and knows why it failed.
                    None => open.handle.mint_many_async(n).await,
                };
                open.metrics.waited(since.elapsed());
                if waited.is_ok() && self.ledger_gone.swap(false, Ordering::AcqRel) {
                    tracing::info!(name, "minting goes on");
                }
                waited
            }
            Err(error) => Err(error),
        };
        let minted = minted.map_err(|error| self.refuse(open, error).told(caller.sees_inside()))?;
        let minted = match (minted, held) {
            (Minted::Texts(texts), Some(mut held)) => {
                let each = texts.bytes().div_ceil(texts.len().max(1));
                open.text_bytes.fetch_max(each, Ordering::Relaxed);
                held.force(texts.bytes());
                Minted::Texts(texts.with_guard(held))
            }
            (minted, _) => minted,
        };
        if open.stop_logged.load(Ordering::Relaxed) && open.stop_logged.swap(false, Ordering::AcqRel) {
            tracing::info!(name, "the name is minted from again");
        }
        open.metrics.minted(n);
        caller.minted(n);
        Ok(minted)
    }

    /// Mints on a blocking thread what takes a while or may block.
    async fn mint_blocking(&self, minter: &TextMinter, n: u64) -> Result<Minted, MintError> {
        let busy = || MintError::Busy { retry: RETRY };
        let minting = async {
            let turn = Arc::clone(&self.texts_minted).acquire_owned().await.map_err(|_| busy())?;
            let minter = minter.clone();
            let minted = tokio::task::spawn_blocking(move || {
                let _turn = turn;
                minter.mint_many(n).map(Minted::Texts)
            });
            minted.await.unwrap_or_else(|error| {
                Err(MintError::stopped(format!("minting failed inside the server: {error}")))
            })
        };
        // If it still mints after that, nobody gets the IDs.
        timeout(self.max_wait, minting).await.unwrap_or_else(|_| Err(busy()))
    }

    /// Reserves memory for this many texts of a name before they are made. They count as held for the client until it
    /// has read them, since a client may ask for many and never read them.
    ///
    /// # Errors
    /// A [`Refusal`] if there is no memory for them.
    async fn hold_texts(open: &OpenName, n: u64) -> Result<Option<Held>, Refusal> {
        let bytes =
            usize::try_from(n).unwrap_or(usize::MAX).saturating_mul(open.text_bytes.load(Ordering::Relaxed));
        if bytes < HELD_UNCOUNTED || open.handle.get::<TextMinter>().is_none() {
            return Ok(None);
        }
        let Ok(client) = CLIENT.try_with(Arc::clone) else { return Ok(None) };
        Ok(Some(client.hold(bytes).await?))
    }

    /// One ID, if there is no need for a wait or the ledger. `None` for every other outcome; [`mint`](Self::mint)
    /// then handles it. `recent` as in [`mint_again`](Self::mint_again).
    pub(crate) fn mint_at_once(
        &self,
        caller: &Caller,
        recent: &mut Option<Arc<OpenName>>,
        call: &'static Call,
        name: &str,
    ) -> Option<Minted> {
        caller.check_name(name).ok()?;
        let open = match recent {
            Some(open) if open.name() == name => open,
            _ => recent.insert(self.find(name)?.open().ok()?),
        };
        call.admits(name, open.handle.definition()).ok()?;
        // `mint` clears what was logged.
        if open.stop_logged.load(Ordering::Relaxed) || open.ended.get().is_some() {
            return None;
        }
        let minted = open.handle.try_mint_many(1).ok()??;
        open.metrics.minted(1);
        caller.minted(1);
        Some(minted)
    }

    /// How long this server has been there.
    pub(crate) fn uptime(&self) -> Duration {
        self.since.elapsed()
    }

    /// The most IDs in one call.
    pub(crate) fn max_batch(&self) -> u64 {
        self.max_batch
    }

    /// The last value minted under a name, as far as this server knows: its own last one, otherwise the mark of a
    /// counter. It mints nothing and makes no name.
    ///
    /// # Errors
    /// A [`Refusal`] if the caller may not know, or the ledger cannot say.
    pub(crate) async fn last(self: &Arc<Self>, caller: &Caller, name: &str) -> Result<Option<i64>, Refusal> {
        caller.check_name(name)?;
        if let Some(Known::Open(open)) = self.find(name)
            && let last @ 1.. = open.last.load(Ordering::Acquire)
        {
            return Ok(i64::try_from(last).ok());
        }
        let name = Name::new(name).map_err(|error| Refusal::bad(format!("{error}.")))?;
        let mark = self.within_wait(move |service| service.mark_of_counter(&name)).await;
        mark.map_err(|refusal| refusal.told(caller.sees_inside()))
    }

    fn mark_of_counter(&self, name: &Name) -> Result<Option<i64>, Refusal> {
        let stored = self.floe.stored(name).map_err(|error| self.refuse_to_open(name, error))?;
        if stored.is_none_or(|definition| definition.kind() != floe::Kind::COUNTER) {
            return Ok(None);
        }
        let mark = self.mark(&floe::ledger::Key::name(name))?;
        Ok(i64::try_from(mark).ok().filter(|mark| *mark > 0))
    }

    /// Mints a range of consecutive IDs: as many as the smallest segment of the name has.
    ///
    /// # Errors
    /// A [`Refusal`], as for [`mint`](Self::mint).
    pub(crate) async fn mint_range(
        self: &Arc<Self>,
        caller: &Caller,
        call: &'static Call,
        name: &str,
    ) -> Result<Minted, Refusal> {
        caller.check_name(name)?;
        let n = self.opened(caller, call, name).await?.min_step.min(self.max_batch);
        self.mint(caller, call, name, n).await
    }

    /// The definition of a name, opened as the call would open it.
    ///
    /// # Errors
    /// A [`Refusal`], as for minting.
    pub(crate) async fn definition(
        self: &Arc<Self>,
        caller: &Caller,
        call: &'static Call,
        name: &str,
    ) -> Result<Definition, Refusal> {
        caller.check_name(name)?;
        Ok(self.opened(caller, call, name).await?.handle.definition().clone())
    }

    /// The most IDs of an open name that one mint can return, whatever `limits.max_batch` is.
    pub(crate) fn max_at_once(&self, name: &str) -> u64 {
        match self.find(name) {
            Some(Known::Open(open)) => open.handle.max_batch(),
            _ => u64::MAX,
        }
    }

    /// Whether the configuration makes every name a snowflake that it does not list as another kind.
    pub(crate) fn any_is_snowflake(&self) -> bool {
        self.rules.any_is_snowflake()
    }

    /// Whether a name is known as it is written: listed, open here, or, if names are made on first use, bound in the
    /// ledger. It makes no name.
    ///
    /// # Errors
    /// A [`Refusal`] if the ledger cannot say.
    pub(crate) async fn is_known(self: &Arc<Self>, caller: &Caller, name: &str) -> Result<bool, Refusal> {
        let Ok(name) = Name::new(name) else { return Ok(false) };
        match self.rules.of(&name) {
            _ if self.find(name.as_str()).is_some() => return Ok(true),
            Ok(names::Rule::Listed(_)) => return Ok(true),
            Ok(names::Rule::FirstUse(_)) => {}
            Err(_) => return Ok(false),
        }
        let stored = self.within_wait(move |service| {
            service.floe.stored(&name).map_err(|error| service.refuse_to_open(&name, error))
        });
        Ok(stored.await.map_err(|refusal| refusal.told(caller.sees_inside()))?.is_some())
    }

    /// Runs what blocks (the ledger's calls) off the threads that serve, a few at a time. If the caller stops waiting
    /// before it has its turn, nothing is left of it; afterwards it still finishes.
    ///
    /// # Errors
    /// What `work` returns, and a [`Refusal`] if it panics.
    pub(crate) async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Arc<Self>) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        self.in_turn(&self.asking, work).await
    }

    /// [`blocking`](Self::blocking) with these turns.
    async fn in_turn<T: Send + 'static>(
        self: &Arc<Self>,
        turns: &Arc<Semaphore>,
        work: impl FnOnce(&Arc<Self>) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let turn = Arc::clone(turns).acquire_owned().await;
        let turn = turn.map_err(|error| Refusal::stopped(error.to_string()))?;
        self.on_a_thread(move |service| {
            let _turn = turn;
            work(service)
        })
        .await
    }

    /// [`blocking`](Self::blocking) for callers that have a turn of their own.
    async fn on_a_thread<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Arc<Self>) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let service = Arc::clone(self);
        tokio::task::spawn_blocking(move || work(&service)).await.unwrap_or_else(|error| {
            Err(Refusal::stopped(format!(
                "the work for this request failed inside the server: {error}; see its log"
            )))
        })
    }

    /// [`blocking`](Self::blocking), within the time that a call may wait.
    ///
    /// # Errors
    /// As for that, and `Busy` if the time is over.
    pub(crate) async fn within_wait<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Arc<Self>) -> Result<T, Refusal> + Send + 'static,
    ) -> Result<T, Refusal> {
        let late = |_| {
            Refusal::for_now(
                Status::Busy,
                "the ledger is slow to answer, so the outcome is not known yet: ask again",
                RETRY,
            )
        };
        timeout(self.max_wait, self.blocking(work)).await.map_err(late)?
    }

    /// Whether an unconfigured name is made when it is asked for.
    pub(crate) fn names_on_first_use(&self) -> bool {
        self.rules.on_first_use()
    }

    /// From now on, [`readiness`](Self::readiness) says no.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Release);
    }

    /// Waits until the ledger must not be used any more. Meanwhile it logs a wrong clock, and slots with deleted
    /// records.
    pub(crate) async fn stopped(&self) -> String {
        let mut clock_was_off = false;
        let mut deleted = HashSet::new();
        loop {
            let notified = self.stopped.notified();
            let status = self.floe.status();
            let trouble = report::clock_trouble(&status);
            match &trouble {
                Some(trouble) if !clock_was_off => tracing::warn!("{trouble}"),
                None if clock_was_off => tracing::info!("nothing is wrong with the clock any more"),
                _ => {}
            }
            clock_was_off = trouble.is_some();
            for slot in &status.slots {
                for &worker in &slot.deleted {
                    if deleted.insert((slot.worker_bits, worker)) {
                        let key = floe::ledger::Key::slot(slot.worker_bits, worker);
                        tracing::error!("{}", floe::LedgerError::Missing(key));
                    }
                }
            }
            if let floe::State::Stopped(cause) = status.state {
                return cause;
            }
            // So a server without callers finds out too.
            let _ = timeout(Duration::from_secs(5), notified).await;
        }
    }

    /// Stops minting and gives back what is left; blocking, bounded by the library.
    pub(crate) fn close(&self) {
        self.floe.close();
    }

    /// The time by which IDs are minted.
    pub(crate) fn steady_time(&self) -> floe::UnixMillis {
        self.floe.steady_time()
    }

    /// What `/metrics` of any sort reads.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    fn refuse(&self, open: &OpenName, error: MintError) -> Refusal {
        let (detail, name) = (error.to_string(), open.handle.name());
        match error {
            MintError::Busy { retry } => Refusal::for_now(Status::Busy, detail, retry),
            MintError::Unavailable { since, .. } => {
                if !self.ledger_gone.swap(true, Ordering::AcqRel) {
                    tracing::warn!(%name, "nothing is left to mint from: {detail}");
                }
                let open = format!("the ledger has been unavailable since {since}: ask again ({TOLD_MORE})");
                Refusal::for_now(Status::Unavailable, open, RETRY).with_inside(detail)
            }
            // Strangers must not learn which node holds a worker id.
            MintError::Exhausted(_) if open.handle.definition().kind() == floe::Kind::SNOWFLAKE => {
                Refusal::exhausted(report::no_worker_id(name)).with_inside(detail)
            }
            MintError::Exhausted(_) => Refusal::exhausted(detail),
            MintError::Count { .. } => Refusal::bad(detail),
            // And whatever a later version of the library adds.
            _ => {
                if !open.stop_logged.swap(true, Ordering::AcqRel) {
                    match error {
                        // The name mints again when the clock is right.
                        MintError::Stopped(Stopped { reason: StopReason::Clock, .. }) => {
                            tracing::error!(%name, "nothing is minted for now: {detail}");
                        }
                        _ => tracing::error!(%name, "the name is stopped: {detail}"),
                    }
                }
                self.stopped.notify_one();
                report::stopped(&format!("`{name}`")).with_inside(detail)
            }
        }
    }
}

impl OpenName {
    /// The name.
    pub(crate) fn name(&self) -> &str {
        self.handle.name().as_str()
    }

    /// # Errors
    /// The error that ended the name after it was served.
    fn check(&self) -> Result<(), Refusal> {
        self.ended.get().map_or(Ok(()), |refusal| Err(refusal.clone()))
    }

    /// Remembers the last value that was minted, for [`Service::last`].
    pub(crate) fn note_last(&self, last: i64) {
        if let Ok(last) = u64::try_from(last) {
            self.last.fetch_max(last, Ordering::AcqRel);
        }
    }
}

impl Known {
    fn open(self) -> Result<Arc<OpenName>, Refusal> {
        match self {
            Self::Open(open) => Ok(open),
            Self::Mismatch(detail) => Err(Refusal::stopped(&*detail)),
        }
    }
}

/// A text from a client, no longer than a message should be.
fn short(text: &str) -> String {
    match text.char_indices().nth(40) {
        None => text.to_owned(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}
