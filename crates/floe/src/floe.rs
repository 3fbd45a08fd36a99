//! [`Floe`]: a ledger, a clock and the names that are minted from them.

use std::cell::LazyCell;
use std::collections::HashMap;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use crate::blocking::{Blocking, blocking};
use crate::clock::{Clock, ClockPolicy, FixedClock, Now, system};
use crate::counter::{Counter, Dated};
use crate::definition::{DatedShape, Definition, DefinitionError, NoPosition};
use crate::driver::{Driver, Link, Shared};
use crate::error::Stopped;
use crate::form::Form;
use crate::formed::Formed;
use crate::generator::Generator;
use crate::handle::{Handle, TextMinter};
use crate::keys::{key_names, same_key, same_keys};
use crate::kind::Origin;
use crate::layout::{Layout, Width, Workers};
use crate::ledger::{self, Beginning, Key, Ledger, LedgerError, Memory, Reply, Reserve};
use crate::mutation::mutate;
use crate::name::{Name, NameError};
use crate::node::{CounterQueue, Node, NodeSettings, SegmentState, SlotGroup, Steps};
use crate::opening::{DefineError, OpenError};
use crate::owner::Owner;
use crate::segment::Segment;
use crate::settings::{NameOptions, WorkerChoice};
use crate::shared_cursor::{BlockReason, SharedCursor};
use crate::status::{ClockStatus, NameState, NameStatus, SlotStatus, State, Status};
use crate::stream::{Start, Stream};
use crate::supply::SegmentSupply;
use crate::sync::lock_std as lock;
use crate::time::{UnixMillis, millis};
use crate::{Id, IdRepr, WideId};

mod kinds;

pub use kinds::KindRegistry;

/// A ledger, a clock, and the names that are minted from them.
///
/// Cheap to clone. It stays open while a clone of it is held, or anything that mints from it, as a pool of connections does.
/// When the last of these is dropped, what was not minted goes back to the ledger, and the threads end; so they do by
/// [`close`](Self::close).
///
/// ```
/// use floe::{Floe, ledger::Memory};
/// let floe = Floe::open(Memory::default())?;
/// let tickets = floe.segment("tickets")?;
/// assert_eq!(tickets.mint()?.get(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Floe {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    driver: Arc<Driver>,
    workers: WorkerChoice,
    /// It may be asked for when the ledger answers.
    realm_id: OnceLock<String>,
    kinds: KindRegistry,
    /// Where a tick's sequence begins, where a name does not say and its layout is not to.
    start: Option<Start>,
    names: Mutex<HashMap<Name, Handle>>,
    /// The streams that names of one layout share.
    streams: Mutex<HashMap<Layout, Arc<Stream>>>,
}

/// The settings of a [`Floe`].
#[derive(Clone, Debug)]
pub struct Builder {
    window: Option<Duration>,
    keep: Option<bool>,
    worker: WorkerChoice,
    instance: String,
    max_wait: Duration,
    policy: ClockPolicy,
    clock: Option<FixedClock>,
    check_clock: bool,
    await_ledger: bool,
    kinds: KindRegistry,
}

/// How long a window is by default on a ledger of one machine, where node and ledger fail together.
const EMBEDDED_WINDOW_MS: u64 = 3_000;
/// How long it is by default on a ledger of several machines.
const SHARED_WINDOW_MS: u64 = 30_000;
/// How long a call waits by default.
const MAX_WAIT: Duration = Duration::from_secs(1);

impl Default for Builder {
    fn default() -> Self {
        Self {
            window: None,
            keep: None,
            worker: WorkerChoice::Auto,
            instance: String::new(),
            max_wait: MAX_WAIT,
            policy: ClockPolicy::default(),
            clock: None,
            check_clock: true,
            await_ledger: false,
            kinds: KindRegistry::default(),
        }
    }
}

impl Builder {
    /// How long a window is: 100 ms to 30 days. It is how long a node mints on when the ledger is gone. By default 3 s
    /// on an embedded ledger and 30 s on a shared one.
    #[must_use]
    pub fn window(self, window: Duration) -> Self {
        Self { window: Some(window), ..self }
    }

    /// Whether windows are renewed while nobody mints: by default on a shared ledger, and not on an embedded one.
    #[must_use]
    pub fn keep(self, keep: bool) -> Self {
        Self { keep: Some(keep), ..self }
    }

    /// Which worker ids this node may take; any by default.
    #[must_use]
    pub fn worker(self, worker: WorkerChoice) -> Self {
        Self { worker, ..self }
    }

    /// A name for this instance, at most 128 bytes, under which never two run at a time: a node with a fixed worker id
    /// that is restarted on another host takes it over at once.
    #[must_use]
    pub fn instance(self, instance: impl Into<String>) -> Self {
        Self { instance: instance.into(), ..self }
    }

    /// How long a call waits at most; one second by default.
    #[must_use]
    pub fn max_wait(self, max_wait: Duration) -> Self {
        Self { max_wait, ..self }
    }

    /// The largest rollback of the wall clock that is held through; an hour by default.
    #[must_use]
    pub fn max_hold(self, max_hold: Duration) -> Self {
        Self { policy: ClockPolicy { max_hold_ms: millis(max_hold), ..self.policy }, ..self }
    }

    /// The largest rollback of the wall clock that is waited for; 5 ms by default.
    #[must_use]
    pub fn rollback_wait(self, wait: Duration) -> Self {
        Self { policy: ClockPolicy { wait_ms: millis(wait), ..self.policy }, ..self }
    }

    /// Reserves windows whatever the ledger's clock shows. Otherwise snowflake names mint only while this machine's
    /// clock is within ten seconds of it, where the ledger has one. IDs are unique either way; a clock that is ahead
    /// leaves slots that nobody can use until that time has come, and IDs that sort behind all others until then.
    #[must_use]
    pub fn ignore_ledger_clock(self) -> Self {
        Self { check_clock: false, ..self }
    }

    /// Goes by a clock that stands, for tests. The ledger's clock is not asked then, and a tick's sequence begins at 0 where a
    /// name's [`NameOptions`] do not say otherwise.
    #[must_use]
    pub fn clock(self, clock: &FixedClock) -> Self {
        Self { clock: Some(clock.clone()), check_clock: false, ..self }
    }

    /// Opens also while the ledger does not answer. Names are then defined as soon as it does; until then
    /// [`Floe::status`] has no id of the realm.
    #[must_use]
    pub fn await_ledger(self) -> Self {
        Self { await_ledger: true, ..self }
    }

    /// Kinds of the program's own, which names can then have: [`Definition::Registered`].
    #[must_use]
    pub fn kinds(self, kinds: KindRegistry) -> Self {
        Self { kinds, ..self }
    }

    /// Opens a floe on `ledger`, and blocks while that is asked for its realm; [`open_async`](Self::open_async) does not. Nothing
    /// is reserved before the first mint, or with [`keep`](Self::keep) before the first
    /// snowflake name.
    ///
    /// # Errors
    /// [`OpenError`].
    ///
    /// # Panics
    /// Not here; but a thread of the floe does where the system, which had randomness when it was opened, has none for
    /// a token later: without fresh tokens two reservations could be taken for one.
    pub fn open(self, ledger: impl Ledger + 'static) -> Result<Floe, OpenError> {
        // Asked once here, so that a system without randomness is found out before anything is minted.
        let random = || -> Result<[u8; 16], OpenError> {
            let mut bytes = [0; 16];
            getrandom::fill(&mut bytes)
                .map_err(|error| OpenError::System(format!("no randomness: {error}")))?;
            Ok(bytes)
        };
        random()?;
        let owner = Owner::this_process(&self.instance);
        let this = owner.clone();
        let is_gone = Box::new(move |owner: &Owner| owner.is_earlier_life_of(&this));
        #[expect(
            clippy::expect_used,
            reason = "without fresh tokens two reservations could be taken for one"
        )]
        let entropy = Box::new(move || random().expect("the system had randomness a moment ago"));
        let clock = match &self.clock {
            Some(fixed) => Arc::new(Clock::new(self.policy, Box::new(fixed.clone()))),
            None => system::clock(self.policy),
        };
        let floe = self.assemble(Arc::new(ledger), clock, owner, is_gone, entropy)?;
        floe.inner
            .driver
            .start()
            .map_err(|error| OpenError::System(format!("the system gave no thread: {error}")))?;
        Ok(floe)
    }

    /// [`open`](Self::open) in a future, on any runtime.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn open_async(self, ledger: impl Ledger + 'static) -> Result<Floe, OpenError> {
        blocking(move || self.open(ledger)).await
    }

    pub(crate) fn policy(&self) -> ClockPolicy {
        self.policy
    }

    /// All but the threads.
    pub(crate) fn assemble(
        self,
        ledger: Arc<dyn Ledger>,
        clock: Arc<Clock>,
        owner: Owner,
        is_gone: Box<dyn Fn(&Owner) -> bool + Send>,
        entropy: Box<dyn FnMut() -> [u8; 16] + Send>,
    ) -> Result<Floe, OpenError> {
        const SHORTEST: u64 = 100;
        const LONGEST: u64 = 30 * 24 * 3_600_000;
        let shared_ledger = ledger.is_shared();
        let window_ms =
            self.window.map_or(if shared_ledger { SHARED_WINDOW_MS } else { EMBEDDED_WINDOW_MS }, millis);
        if !(SHORTEST..=LONGEST).contains(&window_ms) {
            return Err(OpenError::Setting(format!("window {window_ms} ms is outside 100 ms to 30 days")));
        }
        if self.instance.len() > 128 {
            return Err(OpenError::Setting("the instance's name has more than 128 bytes".to_owned()));
        }
        self.kinds.check().map_err(|error| OpenError::Setting(error.to_string()))?;
        let realm_id = OnceLock::new();
        match ledger.realm_id() {
            Ok(id) => drop(realm_id.set(id)),
            Err(LedgerError::Unavailable(_)) if self.await_ledger => {}
            Err(error) => return Err(error.into()),
        }
        let keep = self.keep.unwrap_or(shared_ledger);
        let (check_clock, described) = (self.check_clock, ledger.describe());
        let nearest = Arc::clone(&ledger);
        let at_hand = Box::new(move |worker_bits| nearest.at_hand(worker_bits));
        let settings = NodeSettings {
            window_ms,
            keep,
            check_clock,
            ledger: described,
            owner,
            is_gone,
            at_hand,
            entropy,
        };
        let node = Node::new(settings);
        let signal = Arc::default();
        if let Some(fixed) = &self.clock {
            fixed.tell(&signal);
        }
        let shared = Shared::new(clock, ledger, node, signal, millis(self.max_wait), window_ms);
        let shared = Arc::new(shared);
        let driver = Arc::new(Driver::new(&shared));
        let (names, streams) = (Mutex::default(), Mutex::default());
        let (workers, kinds) = (self.worker, self.kinds);
        let start = self.clock.map(|_| Start::Zero);
        let inner = Arc::new(Inner { shared, driver, workers, realm_id, kinds, start, names, streams });
        Ok(Floe { inner })
    }
}

impl Floe {
    /// Opens a floe with the default settings, and blocks while the ledger is asked for its realm;
    /// [`open_async`](Self::open_async) does not.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(ledger: impl Ledger + 'static) -> Result<Self, OpenError> {
        Self::builder().open(ledger)
    }

    /// [`open`](Self::open) in a future, on any runtime.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn open_async(ledger: impl Ledger + 'static) -> Result<Self, OpenError> {
        Self::builder().open_async(ledger).await
    }

    /// A floe **without a ledger**, which mints snowflake IDs as `worker`. What is lost: nothing keeps another process
    /// from the same worker id, and nothing remembers after a restart up to when IDs were minted, so a restart with a
    /// clock that has stepped back repeats them, and so does a second process. Segments, counters and dated names
    /// begin anew with each process. For tests, and for IDs that may repeat.
    ///
    /// ```
    /// let floe = floe::Floe::unguarded(7)?;
    /// let orders = floe.snowflake("orders", floe::Layout::LEAF)?;
    /// assert_eq!(orders.inspect(orders.mint()?)?.worker, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`OpenError::System`].
    pub fn unguarded(worker: u64) -> Result<Self, OpenError> {
        Self::builder().worker(WorkerChoice::Fixed(worker)).open(Memory::default())
    }

    /// A floe for tests: in memory, as `worker`, by a clock that stands at `time`. Its IDs are the same in each run.
    ///
    /// ```
    /// use floe::{Floe, Layout};
    /// let (floe, clock) = Floe::fixed(7, "2026-11-23T10:00:00Z".parse()?)?;
    /// let orders = floe.snowflake("orders", Layout::TWITTER)?;
    /// assert_eq!([orders.mint()?.get(), orders.mint()?.get()], [2124805152568274944, 2124805152568274945]);
    /// clock.advance(std::time::Duration::from_millis(1));
    /// assert_eq!(orders.mint()?.get(), 2124805152572469248);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`OpenError::System`].
    pub fn fixed(worker: u64, time: UnixMillis) -> Result<(Self, FixedClock), OpenError> {
        let clock = FixedClock::at(time);
        let builder = Self::builder().worker(WorkerChoice::Fixed(worker)).clock(&clock);
        Ok((builder.open(Memory::default())?, clock))
    }

    /// Settings to open one with.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// A snowflake name with the default [`NameOptions`]. Blocks while the ledger is asked, the first time;
    /// [`snowflake_async`](Self::snowflake_async) does not.
    ///
    /// # Errors
    /// [`DefineError`].
    pub fn snowflake(&self, name: &str, layout: Layout) -> Result<Generator, DefineError> {
        self.generator(name, layout)
    }

    /// A snowflake name of a layout with up to 128 bits, with the default [`NameOptions`]. Blocks while the ledger is asked, the
    /// first time; [`wide_snowflake_async`](Self::wide_snowflake_async) does not.
    ///
    /// # Errors
    /// [`DefineError`].
    pub fn wide_snowflake(&self, name: &str, layout: Layout) -> Result<Generator<WideId>, DefineError> {
        self.generator(name, layout)
    }

    fn generator<I: IdRepr>(&self, name: &str, layout: Layout) -> Result<Generator<I>, DefineError> {
        I::check(&layout).map_err(DefinitionError::Layout)?;
        let definition = Definition::Snowflake { layout, own: false };
        // A layout of 63 bits can be minted as either width.
        self.typed(name, &definition, |handle| {
            let stream = Arc::clone(handle.stream()?);
            Some(Generator::new(handle.name().clone(), stream, self.link()))
        })
    }

    /// The name with the default [`NameOptions`], as `typed` takes it.
    fn typed<M>(
        &self,
        name: &str,
        definition: &Definition,
        typed: impl FnOnce(&Handle) -> Option<M>,
    ) -> Result<M, DefineError> {
        let handle = self.define(&Name::new(name)?, definition, &NameOptions::default())?;
        typed(&handle).ok_or_else(|| {
            DefineError::Invalid(format!("the name {name} is served as {}", handle.definition()))
        })
    }

    /// A segment from 1 by 1, with the default [`NameOptions`]. Blocks while the ledger is asked, the first time;
    /// [`segment_async`](Self::segment_async) does not.
    ///
    /// # Errors
    /// [`DefineError`].
    pub fn segment(&self, name: &str) -> Result<Segment, DefineError> {
        self.typed(name, &Definition::SEGMENT, |handle| handle.get().cloned())
    }

    /// A counter. Blocks while the ledger is asked, the first time; [`counter_async`](Self::counter_async) does not.
    ///
    /// # Errors
    /// [`DefineError`].
    pub fn counter(&self, name: &str) -> Result<Counter, DefineError> {
        self.typed(name, &Definition::Counter, |handle| handle.get().cloned())
    }

    /// A dated name. Blocks while the ledger is asked, the first time; [`dated_async`](Self::dated_async) does not.
    ///
    /// # Errors
    /// [`DefineError`].
    pub fn dated(&self, name: &str, shape: DatedShape) -> Result<Dated, DefineError> {
        self.typed(name, &Definition::Dated(shape), |handle| handle.get().cloned())
    }

    /// A name whose IDs have a number for programs and a text for everybody else: a definition, such as a [`Layout`], and the
    /// form, with its keys where it seals. Blocks while the ledger is asked, the first time;
    /// [`formed_async`](Self::formed_async) does not.
    ///
    /// The name is bound with the form, as by [`Definition::in_form`].
    ///
    /// # Errors
    /// [`DefineError`]; `Invalid` where the IDs are not numbers of at most 63 bits.
    pub fn formed(
        &self,
        name: &str,
        definition: impl Into<Definition>,
        form: Form,
    ) -> Result<Formed, DefineError> {
        let definition = definition.into();
        // Before the name is bound, since that is for ever.
        let fits = definition.form_bits().is_some_and(|bits| bits <= Id::BITS);
        if !fits || !definition.kind().is_number() {
            return Err(DefineError::Invalid(format!(
                "{definition} has no numbers of at most 63 bits: define the name, and mint its texts alone"
            )));
        }
        let definition = definition.in_form(form.clone())?;
        self.typed(name, &definition, |handle| Some(Formed::new(handle, form)))
    }

    /// [`formed`](Self::formed) in a future, on any runtime.
    ///
    /// # Errors
    /// [`DefineError`].
    pub async fn formed_async(
        &self,
        name: &str,
        definition: impl Into<Definition>,
        form: Form,
    ) -> Result<Formed, DefineError> {
        let definition = definition.into();
        self.apart(name, move |floe, name| floe.formed(name, definition, form)).await
    }

    /// Binds a name to its definition, for ever, and serves it. A name that is served already keeps its taste. Blocks while the
    /// ledger is asked, the first time; [`define_async`](Self::define_async) does not.
    ///
    /// # Errors
    /// [`DefineError`]; `Mismatch` where the ledger has another definition.
    pub fn define(
        &self,
        name: &Name,
        definition: &Definition,
        taste: &NameOptions,
    ) -> Result<Handle, DefineError> {
        self.define_then(name, definition, taste, || Ok(()))
    }

    /// [`snowflake`](Self::snowflake) in a future, on any runtime.
    ///
    /// # Errors
    /// [`DefineError`].
    pub async fn snowflake_async(&self, name: &str, layout: Layout) -> Result<Generator, DefineError> {
        self.apart(name, move |floe, name| floe.snowflake(name, layout)).await
    }

    /// [`wide_snowflake`](Self::wide_snowflake) in a future, on any runtime.
    ///
    /// # Errors
    /// [`DefineError`].
    pub async fn wide_snowflake_async(
        &self,
        name: &str,
        layout: Layout,
    ) -> Result<Generator<WideId>, DefineError> {
        self.apart(name, move |floe, name| floe.wide_snowflake(name, layout)).await
    }

    /// [`segment`](Self::segment) in a future, on any runtime.
    ///
    /// # Errors
    /// [`DefineError`].
    pub async fn segment_async(&self, name: &str) -> Result<Segment, DefineError> {
        self.apart(name, |floe, name| floe.segment(name)).await
    }

    /// [`counter`](Self::counter) in a future, on any runtime.
    ///
    /// # Errors
    /// [`DefineError`].
    pub async fn counter_async(&self, name: &str) -> Result<Counter, DefineError> {
        self.apart(name, |floe, name| floe.counter(name)).await
    }

    /// [`dated`](Self::dated) in a future, on any runtime.
    ///
    /// # Errors
    /// [`DefineError`].
    pub async fn dated_async(&self, name: &str, shape: DatedShape) -> Result<Dated, DefineError> {
        self.apart(name, move |floe, name| floe.dated(name, shape)).await
    }

    /// [`define`](Self::define) in a future, on any runtime.
    ///
    /// # Errors
    /// [`DefineError`].
    pub async fn define_async(
        &self,
        name: &Name,
        definition: &Definition,
        taste: &NameOptions,
    ) -> Result<Handle, DefineError> {
        let (floe, name, definition, taste) = (self.clone(), name.clone(), definition.clone(), taste.clone());
        blocking(move || floe.define(&name, &definition, &taste)).await
    }

    /// [`define_many`](Self::define_many) in a future, on any runtime.
    pub async fn define_many_async(
        &self,
        names: &[(Name, Definition, NameOptions)],
    ) -> Vec<Result<Handle, DefineError>> {
        let (floe, names) = (self.clone(), names.to_vec());
        blocking(move || floe.define_many(&names)).await
    }

    /// Runs a call for a name on a thread where it may block.
    fn apart<T: Send + 'static>(
        &self,
        name: &str,
        call: impl FnOnce(&Self, &str) -> Result<T, DefineError> + Send + 'static,
    ) -> Blocking<Result<T, DefineError>> {
        let (floe, name) = (self.clone(), name.to_owned());
        blocking(move || call(&floe, &name))
    }

    /// [`define`](Self::define) for many names, eight at a time. Blocks until the ledger has answered for all of them, in the
    /// order in which they were given.
    ///
    /// ```
    /// use floe::{Definition, Floe, Name, NameOptions, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// let tenants = ["acme", "globex"].map(|tenant| (Name::new(tenant).unwrap(), Definition::Counter, NameOptions::default()));
    /// let handles = floe.define_many(&tenants);
    /// assert!(handles.iter().all(Result::is_ok));
    /// # Ok::<(), floe::OpenError>(())
    /// ```
    pub fn define_many(&self, names: &[(Name, Definition, NameOptions)]) -> Vec<Result<Handle, DefineError>> {
        const AT_ONCE: usize = 8;
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            while let at = next.fetch_add(1, Ordering::Relaxed)
                && let Some((name, definition, taste)) = names.get(at)
            {
                done.push((at, self.define(name, definition, taste)));
            }
            done
        };
        let mut done: Vec<_> = thread::scope(|scope| {
            let others: Vec<_> = (1..AT_ONCE.min(names.len())).map(|_| scope.spawn(work)).collect();
            let mut done = work();
            for other in others {
                done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
            }
            done
        });
        done.sort_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, defined)| defined).collect()
    }

    /// [`define`](Self::define) for a segment or a counter that begins at `first`, or at its first number above it, where it
    /// is new. Its mark is in the ledger before its definition is ([`ledger::begin`](crate::ledger::begin)), so nothing that
    /// ends this call leaves a name behind that begins at 1. A name that is bound begins as by
    /// [`begin_at`](Self::begin_at).
    ///
    /// ```
    /// use floe::{Definition, Floe, Name, NameOptions, ledger::{Beginning, Memory}};
    /// let floe = Floe::open(Memory::default())?;
    /// let (orders, taste) = (Name::new("orders")?, NameOptions::default());
    /// let (handle, begun) = floe.define_from(&orders, &Definition::SEGMENT, &taste, 50_000_001)?;
    /// assert_eq!(begun, Beginning::Here);
    /// assert_eq!(handle.mint_many(1)?.next().map(|id| id.to_string()).as_deref(), Some("50000001"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DefineError`], as for `define`; `Invalid` where the name is neither a segment nor a counter, or has no such number.
    pub fn define_from(
        &self,
        name: &Name,
        definition: &Definition,
        taste: &NameOptions,
        first: u64,
    ) -> Result<(Handle, Beginning), DefineError> {
        let position = begin_position(name, definition, first)?;
        let mut begun = None;
        let handle = self.define_then(name, definition, taste, || {
            if self.ledger().definition(name)?.is_none() {
                let token = self.inner.shared.node().desk().token();
                begun = Some(ledger::begin(self.ledger(), name, position, token)?);
            }
            Ok(())
        })?;
        let begun = match begun {
            Some(begun) => begun,
            None => self.begin_bound(name, position)?,
        };
        Ok((handle, begun))
    }

    /// `define`, which does what goes before the name is bound when nothing but the ledger can refuse it any more.
    fn define_then(
        &self,
        name: &Name,
        definition: &Definition,
        taste: &NameOptions,
        before: impl FnOnce() -> Result<(), DefineError>,
    ) -> Result<Handle, DefineError> {
        definition.check()?;
        let served = lock(&self.inner.names).get(name).cloned();
        if let Some(handle) = served {
            if handle.definition() == definition {
                same_keys(name, handle.definition(), definition)?;
                return Ok(handle);
            }
            return Err(mismatch(name, &handle.definition().to_string(), definition));
        }
        self.check(definition, taste)?;
        // Before the name is bound, since that is for ever, and without the lock: it may define names of its own.
        let registered = self.make(name, definition)?;
        definition.check_keys(name, self.ledger())?;
        before()?;
        self.bind(name, definition)?;
        self.bind_key(name, definition)?;
        // Under the lock, so that a name never has two supplies.
        let mut names = lock(&self.inner.names);
        if let Some(handle) = names.get(name) {
            return Ok(handle.clone());
        }
        let handle = match registered {
            Some(minter) => Handle::new(minter, definition.clone()),
            None => self.serve(name, definition, taste)?,
        };
        names.insert(name.clone(), handle.clone());
        Ok(handle)
    }

    /// Serves a name that needs no ledger to mint ([`Definition::needs_ledger`]) and is not bound yet, since the ledger does
    /// not answer. Its IDs are unique by themselves: nothing is reserved for them, and no mark could be missed. What the
    /// ledger adds is that the name is the same thing everywhere; until [`bind_late`](Self::bind_late) has been answered,
    /// that rests on the configurations being the same.
    ///
    /// # Errors
    /// [`DefineError`]; `Invalid` where the kind needs a ledger.
    pub fn define_unbound(&self, name: &Name, definition: &Definition) -> Result<Handle, DefineError> {
        definition.check()?;
        let mut names = lock(&self.inner.names);
        if let Some(handle) = names.get(name) {
            return match handle.definition() == definition {
                true => Ok(handle.clone()),
                false => Err(mismatch(name, &handle.definition().to_string(), definition)),
            };
        }
        let Some(minter) = TextMinter::ledgerless(name, definition)? else {
            return Err(DefineError::Invalid(format!("{definition} cannot be minted before it is bound")));
        };
        let handle = Handle::new(minter, definition.clone());
        names.insert(name.clone(), handle.clone());
        Ok(handle)
    }

    /// Binds a name that [`define_unbound`](Self::define_unbound) has served. Where the ledger has it as something else, the
    /// name is not served any more; who holds its handle has to let go of it.
    ///
    /// # Errors
    /// [`DefineError`], as for [`define`](Self::define).
    pub fn bind_late(&self, name: &Name, definition: &Definition) -> Result<(), DefineError> {
        let bound = self.bind(name, definition);
        if matches!(bound, Err(DefineError::Mismatch { .. })) {
            lock(&self.inner.names).remove(name);
        }
        bound
    }

    /// Lets go of a name that nobody uses, and of the memory that it takes; whether it did. What a segment had left goes back
    /// to the ledger. The next [`define`](Self::define) brings the name back, and finds out a ledger that went back meanwhile
    /// (for the 65,536 names that were unloaded last). A name stays where a call waits for it, where it is stopped, and where
    /// it has a generator of its own (`own = true`) or a registered kind. A [`Segment`] of it that is still held mints no more.
    ///
    /// ```
    /// use floe::{Floe, Name, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// assert_eq!(floe.segment("orders")?.mint()?.get(), 1);
    /// // No, where the node is just reserving ahead: then the name stays, and goes on.
    /// floe.unload(&Name::new("orders")?);
    /// assert!(floe.segment("orders")?.mint()?.get() > 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unload(&self, name: &Name) -> bool {
        let shared = &self.inner.shared;
        // Under the lock, as where names come into being.
        let mut names = lock(&self.inner.names);
        let Some(handle) = names.get(name) else { return true };
        let node = || shared.node();
        let gone = match (handle.numbers().get::<Segment>(), handle.definition().unformed()) {
            (Some(segment), _) => node().unload_refill(&segment.numbers.line, &shared.clock),
            (None, Definition::Snowflake { own, .. }) => !own,
            (None, Definition::Registered(_)) => false,
            (None, counted) => !counted.kind().is_counted() || node().unload_tally(name),
        };
        if gone {
            names.remove(name);
            shared.signal.raise();
        }
        gone
    }

    /// Makes a segment or a counter that was never minted from begin at `first`, or at its first number above it. A name
    /// that has a mark above 0 stays as it is, so a repeated call changes nothing, and of several nodes that call it at
    /// once one moves the mark. Call it before the first mint. If the name has begun below `first`, the answer is the number
    /// at which it is, and only a raise while nobody mints can move it on.
    ///
    /// ```
    /// use floe::{Definition, Floe, Name, NameOptions, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// let orders = floe.define(&Name::new("orders")?, &Definition::SEGMENT, &NameOptions::default())?;
    /// floe.begin_at(&orders, 50_000_001)?;
    /// assert_eq!(floe.segment("orders")?.mint()?.get(), 50_000_001);
    /// assert_eq!(floe.begin_at(&orders, 50_000_001)?, None);
    /// assert!(floe.begin_at(&orders, 60_000_000)?.is_some(), "too late: it has begun");
    /// assert_eq!(floe.segment("orders")?.mint()?.get(), 50_000_002);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DefineError`]; `Invalid` where the name is neither a segment nor a counter.
    pub fn begin_at(&self, handle: &Handle, first: u64) -> Result<Option<u64>, DefineError> {
        let (name, definition) = (handle.name(), handle.definition());
        let position = begin_position(name, definition, first)?;
        Ok(match self.begin_bound(name, position)? {
            Beginning::Earlier { mark } if mark < position => {
                Some(definition.number_at(mark).unwrap_or(mark))
            }
            _ => None,
        })
    }

    /// Gives a name that is bound its first mark, where it has none.
    fn begin_bound(&self, name: &Name, position: u64) -> Result<Beginning, DefineError> {
        let inner = &self.inner;
        if position == 0 {
            return Ok(Beginning::Here);
        }
        let token = inner.shared.node().desk().token();
        let request = Reserve::beginning(Key::name(name), position, token, false);
        Ok(match inner.shared.ledger.reserve(&request)? {
            Reply::Refused { mark, .. } => Beginning::Earlier { mark },
            Reply::Got { .. } => Beginning::Here,
        })
    }

    /// The definition that the ledger has a name bound to.
    ///
    /// # Errors
    /// [`DefineError`]; `Definition` where a newer floe has bound it to something that this one cannot read.
    pub fn stored(&self, name: &Name) -> Result<Option<Definition>, DefineError> {
        let stored =
            self.inner.shared.ledger.definition(name).inspect_err(|error| self.on_ledger_error(error))?;
        Ok(stored.map(|text| text.parse()).transpose()?)
    }

    /// The ledger, for the operator's reads. [`on_ledger_error`](Self::on_ledger_error) their errors.
    pub fn ledger(&self) -> &dyn Ledger {
        &*self.inner.shared.ledger
    }

    /// Stops every name where an error of the [`ledger`](Self::ledger) says that it may not be used any more (`Unfit`), as
    /// where a reservation had met it.
    pub fn on_ledger_error(&self, error: &LedgerError) {
        if let LedgerError::Unfit(cause) = error {
            self.inner.shared.node().stop(&Stopped::ledger(cause));
        }
    }

    /// Asks for the ledger's clock now, which is otherwise done before the first window is reserved, so that a process
    /// whose clock is wrong can say so when it starts. How far this machine's clock is ahead of the ledger's, in
    /// milliseconds; `None` where the ledger has no clock, or is not to be asked.
    ///
    /// # Errors
    /// `Clock` where the two are further apart than ten seconds, beyond what the length of the call may explain;
    /// `Ledger`.
    pub fn check_clock(&self) -> Result<Option<i64>, OpenError> {
        let shared = &self.inner.shared;
        if !shared.node().desk().settings.check_clock {
            return Ok(None);
        }
        let asked = shared.clock.look();
        let said = shared.ledger.clock()?;
        let now = shared.clock.hear(said, asked.mono, asked.stamp.era());
        shared.signal.raise();
        match shared.node().desk().apart(&now) {
            Some(apart) => Err(OpenError::Clock(apart)),
            None => Ok(now.ledger_offset_ms()),
        }
    }

    /// Drops every window and segment, in all generators and minters, before the next ID; see
    /// [`Generator::invalidate`]. What kinds without a ledger have drawn ahead is dropped with them
    /// ([`kind::invalidate`](crate::kind::invalidate)): whoever was copied was copied whole.
    pub fn invalidate(&self) {
        self.inner.shared.invalidate();
        crate::kind::invalidate();
    }

    /// Stops minting for ever, gives back what was not minted, and ends the threads. Blocks for at most five seconds until
    /// the ledger has taken that; the rest passes unused. So does the drop of the last clone of a floe that was not closed: async
    /// programs await [`close_async`](Self::close_async) before.
    pub fn close(&self) {
        self.inner.driver.close();
    }

    /// [`close`](Self::close) in a future, on any runtime.
    pub async fn close_async(&self) {
        let floe = self.clone();
        blocking(move || floe.close()).await;
    }

    pub(crate) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.inner.shared)
    }

    fn link(&self) -> Link {
        Link::new(&self.inner.driver)
    }

    /// # Errors
    /// `Mismatch`, `Unavailable`, `Stopped`.
    fn bind(&self, name: &Name, definition: &Definition) -> Result<(), DefineError> {
        if let Some(cause) = self.inner.shared.node().stopped() {
            return Err(DefineError::Stopped(cause.to_owned()));
        }
        if let Some(since) =
            ledger::retired(self.ledger(), name).inspect_err(|error| self.on_ledger_error(error))?
        {
            return Err(DefineError::Retired { name: name.clone(), since });
        }
        let text = definition.to_string();
        let marked = definition.kind().is_counted();
        let stored = self.bind_text(name, &text, marked)?;
        let agrees = mutate!(stored == text, FingerprintIgnored => true);
        if agrees { Ok(()) } else { Err(mismatch(name, &stored, definition)) }
    }

    fn bind_text(&self, name: &Name, text: &str, marked: bool) -> Result<String, DefineError> {
        Ok(self
            .inner
            .shared
            .ledger
            .bind(name, text, marked)
            .inspect_err(|error| self.on_ledger_error(error))?)
    }

    /// Binds the key that a name seals with, where its texts say which, to its check value: with two keys under one id, two
    /// nodes would write one text for two numbers. Keys that only open are bound by whoever seals with them.
    fn bind_key(&self, name: &Name, definition: &Definition) -> Result<(), DefineError> {
        let sealing = definition.form().and_then(Form::sealing_key);
        for (id, key, text) in key_names(name, definition)? {
            if Some(id) == sealing {
                same_key(name, &key, &self.bind_text(&key, &text, false)?, &text)?;
            }
        }
        Ok(())
    }

    /// The minter of a registered kind; `None` for every other.
    fn make(&self, name: &Name, definition: &Definition) -> Result<Option<TextMinter>, DefineError> {
        let Definition::Registered(registered) = definition else { return Ok(None) };
        self.inner.kinds.make(name, registered, self).map(Some).map_err(DefineError::Invalid)
    }

    fn serve(
        &self,
        name: &Name,
        definition: &Definition,
        taste: &NameOptions,
    ) -> Result<Handle, DefineError> {
        if let Some(minter) = TextMinter::ledgerless(name, definition)? {
            return Ok(Handle::new(minter, definition.clone()));
        }
        if let Definition::Formed(inner, form) = definition {
            let numbers = self.serve(name, inner, taste)?;
            return Ok(Handle::new(TextMinter::formed(name, numbers, form), definition.clone()));
        }
        let shared = self.link();
        Ok(match definition {
            Definition::Snowflake { layout, own } => {
                let stream = self.stream(layout, *own, taste)?;
                match layout.width() {
                    Width::Wide => Handle::new(
                        Generator::<WideId>::new(name.clone(), stream, shared),
                        definition.clone(),
                    ),
                    Width::Narrow => {
                        Handle::new(Generator::<Id>::new(name.clone(), stream, shared), definition.clone())
                    }
                }
            }
            Definition::Segment { increment, offset } => {
                let steps =
                    Steps { min: taste.min_step, max: taste.max_step, refill_ms: millis(taste.refill) };
                let line = SharedCursor::new(0, Arc::clone(&shared.signal));
                let numbers = Arc::new(SegmentSupply::new(*increment, *offset, line));
                shared.node().add_refill(SegmentState::new(Key::name(name), Arc::clone(&numbers), steps));
                Handle::new(Segment::new(name.clone(), numbers, shared), definition.clone())
            }
            Definition::Counter => {
                shared.node().add_tally(CounterQueue::new(name.clone(), None));
                Handle::new(Counter::new(name.clone(), shared), definition.clone())
            }
            Definition::Dated(shape) => {
                let shape = Arc::new(shape.clone());
                let tally = CounterQueue::new(name.clone(), Some(Arc::clone(&shape)));
                shared.node().add_tally(tally);
                Handle::new(Dated::new(name.clone(), shape, shared), definition.clone())
            }
            other => return Err(DefineError::Invalid(format!("{other} has no ledger to mint from"))),
        })
    }

    /// What can be known to fail is found before the name is bound, since that is for ever.
    fn check(&self, definition: &Definition, taste: &NameOptions) -> Result<(), DefineError> {
        if let Some(form) = definition.form().filter(|form| !form.can_encode()) {
            return Err(DefineError::Invalid(format!(
                "the form \"{form}\" seals, and this process was not given its key"
            )));
        }
        match definition.unformed() {
            Definition::Snowflake { layout, own } => {
                let (start, ahead_ms) = self.start(layout, taste);
                Stream::check_start(layout, start, ahead_ms).map_err(DefineError::Invalid)?;
                self.check_times(layout, ahead_ms)?;
                self.workers(layout)?;
                match lock(&self.inner.streams).get(layout) {
                    Some(stream) if !own => same_taste(stream, start, ahead_ms),
                    _ => Ok(()),
                }
            }
            Definition::Segment { .. } if taste.min_step == 0 || taste.min_step > taste.max_step => {
                let NameOptions { min_step, max_step, .. } = taste;
                Err(DefineError::Invalid(format!(
                    "min_step {min_step} must be from 1 to max_step {max_step}"
                )))
            }
            _ => Ok(()),
        }
    }

    fn start(&self, layout: &Layout, taste: &NameOptions) -> (Start, u64) {
        let ahead_ms = millis(taste.max_ahead);
        let start = taste.start.or(self.inner.start);
        (start.unwrap_or_else(|| Stream::default_start(layout, ahead_ms)), ahead_ms)
    }

    /// The stream of a layout, or one of its own.
    fn stream(&self, layout: &Layout, own: bool, taste: &NameOptions) -> Result<Arc<Stream>, DefineError> {
        let shared = &self.inner.shared;
        let (start, ahead_ms) = self.start(layout, taste);
        let mut streams = lock(&self.inner.streams);
        if let Some(stream) = streams.get(layout).filter(|_| !own) {
            same_taste(stream, start, ahead_ms)?;
            return Ok(Arc::clone(stream));
        }
        let workers = self.workers(layout)?;
        let mut node = shared.node();
        let seed = node.desk().random();
        let stream = Stream::new(layout.clone(), start, ahead_ms, seed, Arc::clone(&shared.signal));
        let stream = Arc::new(stream);
        let bits = layout.worker_bits();
        let groups = &mut node.groups;
        match groups.iter_mut().find(|group| group.bits == bits && group.workers == workers) {
            Some(group) => group.add(Arc::clone(&stream)),
            None => {
                let mut group = SlotGroup::new(bits, workers);
                group.add(Arc::clone(&stream));
                groups.push(group);
            }
        }
        if !own {
            streams.insert(layout.clone(), Arc::clone(&stream));
        }
        Ok(stream)
    }

    fn check_times(&self, layout: &Layout, ahead_ms: u64) -> Result<(), DefineError> {
        let shared = &self.inner.shared;
        let now = shared.clock.look();
        if now.refusal().is_none() {
            layout.check_epoch(now.stamp.time()).map_err(DefinitionError::Layout)?;
        }
        let least = (layout.tick_millis() * 2).saturating_add(ahead_ms);
        if shared.window_ms < least {
            return Err(DefineError::Invalid(format!(
                "the window of {} ms is too short for ticks of {} ms that run {ahead_ms} ms ahead: make it at least {least} ms",
                shared.window_ms,
                layout.tick_millis()
            )));
        }
        Ok(())
    }

    fn workers(&self, layout: &Layout) -> Result<Workers, DefineError> {
        let bits = layout.worker_bits();
        let workers = match &self.inner.workers {
            WorkerChoice::Auto => Workers::all(bits),
            WorkerChoice::Fixed(worker) => {
                layout.check_worker(*worker).and_then(|()| Workers::one(bits, *worker))
            }
            WorkerChoice::Pinned(fields) => layout.pinned(fields),
            WorkerChoice::Pool(pool) => Workers::range(bits, pool.clone()),
        };
        Ok(workers.map_err(DefinitionError::Layout)?)
    }

    /// The realm's id; empty while the ledger has never answered.
    fn realm_id(&self) -> String {
        let Inner { shared, realm_id, .. } = &*self.inner;
        match (realm_id.get(), shared.ledger.realm_id()) {
            (Some(id), _) => id.clone(),
            (None, Ok(id)) => realm_id.get_or_init(|| id).clone(),
            (None, Err(_)) => String::new(),
        }
    }

    /// The time of the steady clock, by which IDs are minted. It is what [`status`](Self::status) shows of it, without looking
    /// at anything else.
    pub fn steady_time(&self) -> UnixMillis {
        self.inner.shared.clock.look().stamp.time()
    }

    /// A snapshot for metrics and for people.
    pub fn status(&self) -> Status {
        let shared = &self.inner.shared;
        let now = shared.clock.look();
        let steady = now.stamp.time();
        let names: Vec<_> = lock(&self.inner.names).values().cloned().collect();
        // One look for all of them, and none where there is no such name.
        let own_clock = LazyCell::new(|| Origin::system().look().err().map(NameState::barred));
        let mut names: Vec<_> =
            names.iter().map(|handle| status_of(handle, &now, &own_clock, shared)).collect();
        names.sort_by(|a, b| a.name.cmp(&b.name));
        let mut node = shared.node();
        let apart = node.desk().apart(&now);
        let slots = node.groups.iter().map(|group| {
            let window = group.window();
            let left = window.map_or(0, |(_, end)| u64::try_from(end.since(steady)).unwrap_or(0));
            SlotStatus {
                worker_bits: group.bits,
                worker: window.map(|(worker, _)| worker),
                window_end: window.map(|(_, end)| end),
                window_left_ms: left,
                deleted: group.eaten(),
                trouble: group.trouble().map(|trouble| NameState::of(Some(trouble.clone()), left)),
            }
        });
        Status {
            realm_id: self.realm_id(),
            ledger: shared.ledger.describe(),
            state: node.stopped().map_or(State::Running, |cause| State::Stopped(cause.to_owned())),
            clock: ClockStatus {
                steady,
                wall: now.wall,
                state: now.state,
                refused: now.refusal(),
                ledger_offset_ms: now.ledger_offset_ms(),
                apart,
            },
            slots: slots.collect(),
            names,
            calls: shared.ledger_calls(),
        }
    }
}

/// `own_clock` says why the kinds that reserve nothing, and have the time in them, cannot mint.
fn status_of(
    handle: &Handle,
    now: &Now,
    own_clock: &LazyCell<Option<NameState>, impl FnOnce() -> Option<NameState>>,
    shared: &Shared,
) -> NameStatus {
    let (name, definition) = (handle.name().clone(), handle.definition().clone());
    let stamp = now.stamp;
    let refused = || now.refusal().map(NameState::ClockRefused);
    let (mut left, mut ahead_ms, mut horizon) = (0, 0, None);
    let (trouble, barred) = if let Some(stream) = handle.stream() {
        let (layout, cursor) = (&stream.layout, &stream.line.cursor);
        let end = cursor.owned().current.end;
        let until = if end == 0 { UnixMillis::EPOCH } else { layout.time_of(layout.tick_of(end)) };
        let after = |time: UnixMillis| u64::try_from(time.since(stamp.time())).unwrap_or(0);
        left = after(until);
        ahead_ms = cursor.next().map_or(0, |next| after(layout.time_of(layout.tick_of(next))));
        horizon = Some(layout.horizon());
        (stream.line.trouble(), refused().or_else(|| stream.barred(stamp).map(NameState::barred)))
    } else if let Some(segment) = handle.numbers().get::<Segment>() {
        let line = &segment.numbers.line;
        left = line.cursor.left();
        let least = line.cursor.next().unwrap_or_else(|| line.cursor.floor());
        (line.trouble(), form_ended(handle, least))
    } else if definition.kind().is_counted() {
        tally_trouble(handle, now, shared)
    } else {
        // The kinds that reserve nothing have the time from a clock of their own, which holds through every rollback.
        let own_clock = || Option::clone(own_clock);
        (None, definition.kind().has_time().then(own_clock).flatten())
    };
    let state = match (trouble, barred) {
        (Some(BlockReason::Stopped(stopped)), _) => NameState::Stopped(stopped.cause),
        (_, Some(barred)) => barred,
        (trouble, None) => NameState::of(trouble, left),
    };
    NameStatus { name, definition, state, left, ahead_ms, horizon }
}

/// What the ledger has said, and why the time or the numbers that are left forbid a mint.
fn tally_trouble(handle: &Handle, now: &Now, shared: &Shared) -> (Option<BlockReason>, Option<NameState>) {
    let mut node = shared.node();
    let down = node.desk().down();
    let Some(tally) = node.tally(handle.name()) else { return (None, None) };
    let trouble = match tally.stopped() {
        Some(stopped) => Some(BlockReason::Stopped(stopped.clone())),
        None => {
            down.filter(|_| tally.waits()).map(|(since, cause)| BlockReason::Unavailable { since, cause })
        }
    };
    let barred = tally.barred(now).map(NameState::barred);
    (trouble, barred.or_else(|| form_ended(handle, tally.last_end())))
}

/// Whether a name counts in a form that is too short for its number at `least` and so for all later ones.
fn form_ended(handle: &Handle, least: u64) -> Option<NameState> {
    let minter: &TextMinter = handle.get()?;
    minter.ended_before(handle.definition().number_at(least)?).map(NameState::barred)
}

/// # Errors
/// `Invalid` where the name cannot begin at `first`.
fn begin_position(name: &Name, definition: &Definition, first: u64) -> Result<u64, DefineError> {
    definition.begin_position(first).map_err(|error| match error {
        NoPosition::Uncounted(_) => DefineError::Invalid(format!(
            "{name} is a {} name, which has no first number: a segment and a counter have one",
            definition.kind_name()
        )),
        error => DefineError::Invalid(format!("{name} cannot begin at {first}: {error}")),
    })
}

fn mismatch(name: &Name, stored: &str, configured: &Definition) -> DefineError {
    DefineError::Mismatch {
        name: name.clone(),
        stored: stored.to_owned(),
        configured: configured.to_string(),
    }
}

/// # Errors
/// `Invalid` where a name wants to share a generator that mints by another taste.
fn same_taste(stream: &Stream, start: Start, ahead_ms: u64) -> Result<(), DefineError> {
    if stream.start == start && stream.ahead_ms() == ahead_ms {
        return Ok(());
    }
    Err(DefineError::Invalid(format!(
        "names that share the layout \"{}\" share its generator, so they need the same start and max_ahead: here {start} and {ahead_ms} ms, elsewhere {} and {} ms. Make them equal, or give the name `own = true`",
        stream.layout,
        stream.start,
        stream.ahead_ms()
    )))
}

impl From<NameError> for OpenError {
    fn from(error: NameError) -> Self {
        Self::Setting(error.to_string())
    }
}

impl fmt::Debug for Floe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Floe({})", self.inner.shared.ledger.describe())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sentences of the pages that have one of the numbers above.
    #[test]
    fn the_pages_say_the_defaults() {
        let embedded = EMBEDDED_WINDOW_MS / 1_000;
        let shared = SHARED_WINDOW_MS / 1_000;
        let close = crate::driver::CLOSE_MS / 1_000;
        let page = |name: &str| {
            let path = format!("{}/../../docs/{name}.md", env!("CARGO_MANIFEST_DIR"));
            std::fs::read_to_string(path).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        for (name, sentence) in [
            ("configuration", format!("The default is {embedded} s on the embedded ledger")),
            ("configuration", format!("fail together anyway, and {shared} s on a shared one")),
            ("configuration", format!("A name has 1 to {} bytes", Name::MAX_BYTES)),
            ("choose", format!("The default is {embedded} s on SQLite, and {shared} s on a shared ledger")),
            (
                "questions",
                format!("The default window is {embedded} s on SQLite and {shared} s on a shared ledger"),
            ),
            ("operating", format!("once a window ({embedded} s by default)")),
            (
                "operating",
                format!("{} s by default on the embedded ledger, a minute on a shared", 2 * embedded),
            ),
            ("settings", format!("on the embedded ledger is \"{embedded}s\", on a shared one \"{shared}s\"")),
            ("library", format!("`Builder::max_wait` ({} s)", MAX_WAIT.as_secs())),
            ("library", format!("| `close`, the last `drop` | the ledger, at most {close} s |")),
        ] {
            assert!(page(name).contains(&sentence), "docs/{name}.md does not say: {sentence}");
        }
    }
}
