//! The settings with which a [`Floe`] is opened.

use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

use super::{Floe, Inner, KindRegistry};
use crate::blocking::blocking;
use crate::clock::{Clock, ClockPolicy, FixedClock, system};
use crate::driver::{Driver, Shared};
use crate::ledger::{Ledger, LedgerError};
use crate::node::{Node, NodeSettings};
use crate::opening::OpenError;
use crate::owner::Owner;
use crate::settings::WorkerChoice;
use crate::stream::Start;
use crate::time::millis;

/// The settings of a [`Floe`]. [`open`](Self::open) checks them.
///
/// ```
/// use std::time::Duration;
/// use floe::{Floe, WorkerChoice, ledger::Memory};
/// let builder = Floe::builder().window(Duration::from_secs(10)).worker(WorkerChoice::Pool(0..=15));
/// let floe = builder.open(Memory::default())?;
/// assert_eq!(floe.segment("tickets")?.mint()?.get(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    window: Option<Duration>,
    renew_idle: Option<bool>,
    worker: WorkerChoice,
    instance: String,
    max_wait: Duration,
    policy: ClockPolicy,
    clock: Option<FixedClock>,
    check_clock: bool,
    await_ledger: bool,
    kinds: KindRegistry,
}

/// The default window on an embedded ledger, where node and ledger fail together.
pub(super) const EMBEDDED_WINDOW_MS: u64 = 3_000;
/// The default window on a ledger that several machines share.
pub(super) const SHARED_WINDOW_MS: u64 = 30_000;
/// The default of [`Builder::max_wait`].
pub(super) const MAX_WAIT: Duration = Duration::from_secs(1);

impl Default for Builder {
    fn default() -> Self {
        Self {
            window: None,
            renew_idle: None,
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
    /// Sets the length of a window, 100 ms to 30 days. A node that cannot reach its ledger keeps minting for at
    /// least half of that, and rarely for more than one and a half times as long. The default is 3 s on an embedded
    /// ledger and 30 s on a shared one.
    ///
    /// [`open`](Self::open) returns [`OpenError::Setting`] if the length is out of range.
    ///
    /// ```
    /// use std::time::Duration;
    /// use floe::{Floe, OpenError, ledger::Memory};
    /// let floe = Floe::builder().window(Duration::from_secs(3_600)).open(Memory::default())?;
    /// let too_short = Floe::builder().window(Duration::from_millis(99)).open(Memory::default());
    /// assert!(matches!(too_short, Err(OpenError::Setting(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn window(self, window: Duration) -> Self {
        Self { window: Some(window), ..self }
    }

    /// Sets whether the node renews its windows while nothing is minted. The default is yes on a shared ledger and no
    /// on an embedded one.
    ///
    /// ```
    /// use floe::{Floe, Layout, ledger::Memory};
    /// let floe = Floe::builder().renew_idle(false).open(Memory::default())?;
    /// let orders = floe.snowflake("orders", Layout::TWITTER)?;
    /// assert_eq!(floe.status().calls.granted, 0); // nothing is reserved before the first mint
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn renew_idle(self, renew_idle: bool) -> Self {
        Self { renew_idle: Some(renew_idle), ..self }
    }

    /// The old name. [`renew_idle`](Self::renew_idle) has an example.
    #[deprecated = "it is called `renew_idle` now"]
    #[must_use]
    pub fn keep(self, keep: bool) -> Self {
        self.renew_idle(keep)
    }

    /// Sets which worker ids this node may take. The default is any that is free.
    ///
    /// ```
    /// use floe::{Floe, Layout, WorkerChoice, ledger::Memory};
    /// let floe = Floe::builder().worker(WorkerChoice::Pool(512..=1_023)).open(Memory::default())?;
    /// let orders = floe.snowflake("orders", Layout::TWITTER)?;
    /// assert!(orders.inspect(orders.mint()?)?.worker >= 512);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn worker(self, worker: WorkerChoice) -> Self {
        Self { worker, ..self }
    }

    /// Names this instance, in at most 128 bytes. Two processes must never run under one instance name at the same
    /// time. In return, a node with a fixed worker id that restarts on another host takes the worker id over at once.
    ///
    /// [`open`](Self::open) returns [`OpenError::Setting`] if the name is longer.
    ///
    /// ```
    /// use floe::{Floe, WorkerChoice, ledger::Memory};
    /// let builder = Floe::builder().worker(WorkerChoice::Fixed(7)).instance("shop-7");
    /// let floe = builder.open(Memory::default())?;
    /// assert!(Floe::builder().instance("x".repeat(129)).open(Memory::default()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn instance(self, instance: impl Into<String>) -> Self {
        Self { instance: instance.into(), ..self }
    }

    /// Sets how long a call waits at most; the default is one second. It also bounds
    /// [`Generator::max_batch`](crate::Generator::max_batch).
    ///
    /// ```
    /// use std::time::Duration;
    /// use floe::{Floe, Layout, ledger::Memory};
    /// let floe = Floe::builder().max_wait(Duration::from_millis(100)).open(Memory::default())?;
    /// let orders = floe.snowflake("orders", Layout::TWITTER)?;
    /// assert_eq!(orders.max_batch(), 100 * 4_096); // 4,096 IDs a millisecond
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn max_wait(self, max_wait: Duration) -> Self {
        Self { max_wait, ..self }
    }

    /// Sets the largest rollback of the wall clock through which the node keeps minting; the default is an hour. After
    /// a larger one it mints no IDs with a time in them until the clock is right again.
    ///
    /// ```
    /// use std::time::Duration;
    /// use floe::{FixedClock, Floe, Layout, ledger::Memory};
    /// let clock = FixedClock::at("2026-11-23T10:00:00Z".parse()?);
    /// let floe = Floe::builder().clock(&clock).max_hold(Duration::from_secs(60)).open(Memory::default())?;
    /// let orders = floe.snowflake("orders", Layout::TWITTER)?;
    /// let first = orders.mint()?;
    /// clock.step_to("2026-11-23T09:59:30Z".parse()?);
    /// assert!(orders.mint()? > first); // 30 s back are held
    /// clock.step_to("2026-11-23T09:58:30Z".parse()?);
    /// assert!(orders.try_mint().is_err()); // 90 s back are refused
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn max_hold(self, max_hold: Duration) -> Self {
        Self { policy: ClockPolicy { max_hold_ms: millis(max_hold), ..self.policy }, ..self }
    }

    /// Sets the largest rollback of the wall clock that the steady clock waits out; the default is 5 ms. Through a
    /// larger one, up to [`max_hold`](Self::max_hold), the steady clock runs on.
    ///
    /// ```
    /// use std::time::Duration;
    /// use floe::{ClockState, FixedClock, Floe, ledger::Memory};
    /// let clock = FixedClock::at("2026-11-23T10:00:00.100Z".parse()?);
    /// let floe = Floe::builder().clock(&clock).rollback_wait(Duration::from_millis(20)).open(Memory::default())?;
    /// let steady = floe.steady_time();
    /// clock.step_to("2026-11-23T10:00:00.085Z".parse()?);
    /// assert_eq!(floe.status().clock.state, ClockState::Waiting(15));
    /// assert_eq!(floe.steady_time(), steady);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn rollback_wait(self, wait: Duration) -> Self {
        Self { policy: ClockPolicy { wait_ms: millis(wait), ..self.policy }, ..self }
    }

    /// Reserves windows whatever the ledger's clock shows. By default, if the ledger has a clock, snowflake names mint
    /// only while this machine's clock is within ten seconds of it.
    ///
    /// IDs are unique either way. But if this machine's clock is ahead, it leaves slots that no node can use until that
    /// time has come, and its IDs sort after all others until then.
    ///
    /// ```
    /// use floe::{Floe, ledger::Memory};
    /// let floe = Floe::builder().ignore_ledger_clock().open(Memory::default())?;
    /// assert_eq!(floe.check_clock()?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn ignore_ledger_clock(self) -> Self {
        Self { check_clock: false, ..self }
    }

    /// Takes the time from a clock that stands until the test moves it. The ledger's clock is then not asked. A tick's
    /// sequence begins at 0 unless a name's [`NameOptions`](crate::NameOptions) set another start.
    ///
    /// ```
    /// use floe::{FixedClock, Floe, ledger::Memory};
    /// let clock = FixedClock::at("2026-11-23T10:00:00Z".parse()?);
    /// let floe = Floe::builder().clock(&clock).open(Memory::default())?;
    /// assert_eq!(floe.steady_time(), clock.now());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn clock(self, clock: &FixedClock) -> Self {
        Self { clock: Some(clock.clone()), check_clock: false, ..self }
    }

    /// Lets [`open`](Self::open) succeed while the ledger does not answer. Names can be defined as soon as it answers.
    /// Until then the realm's id in [`Floe::status`] is empty.
    #[must_use]
    pub fn await_ledger(self) -> Self {
        Self { await_ledger: true, ..self }
    }

    /// Adds the program's own kinds, which names can then have as
    /// [`Definition::Registered`](crate::Definition::Registered). [`KindRegistry`] has an example.
    #[must_use]
    pub fn kinds(self, kinds: KindRegistry) -> Self {
        Self { kinds, ..self }
    }

    /// Opens a floe on `ledger`. It blocks while it asks the ledger for its realm; [`open_async`](Self::open_async)
    /// does not block.
    ///
    /// Nothing is reserved before the first mint; with [`renew_idle`](Self::renew_idle), before the first snowflake name is
    /// defined.
    ///
    /// ```
    /// use std::time::Duration;
    /// use floe::{Floe, ledger::Memory};
    /// let floe = Floe::builder().max_wait(Duration::from_secs(3)).open(Memory::default())?;
    /// assert_eq!(floe.segment("tickets")?.mint()?.get(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`OpenError`]: a setting is out of range, the ledger does not answer or is unfit, or the system gives no thread
    /// or no randomness.
    ///
    /// # Panics
    /// This call does not panic. But a thread of the floe panics if the system had randomness when the floe was opened
    /// and has none for a token later: without fresh tokens, the ledger could take two reservations for one.
    pub fn open(self, ledger: impl Ledger + 'static) -> Result<Floe, OpenError> {
        // The first call is here, so that a system without randomness fails before anything is minted.
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

    /// [`open`](Self::open) as a future, on any runtime. [`blocking`](crate::blocking()) has an example.
    ///
    /// # Errors
    /// [`OpenError`], as for [`open`](Self::open).
    pub async fn open_async(self, ledger: impl Ledger + 'static) -> Result<Floe, OpenError> {
        blocking(move || self.open(ledger)).await
    }

    pub(crate) fn policy(&self) -> ClockPolicy {
        self.policy
    }

    /// Makes the floe without its threads.
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
        let renew_idle = self.renew_idle.unwrap_or(shared_ledger);
        let (check_clock, described) = (self.check_clock, ledger.describe());
        let nearest = Arc::clone(&ledger);
        let at_hand = Box::new(move |worker_bits| nearest.at_hand(worker_bits));
        let settings = NodeSettings {
            window_ms,
            renew_idle,
            check_clock,
            ledger: described,
            owner,
            is_gone,
            at_hand,
            entropy,
        };
        let node = Node::new(settings);
        let shared = Arc::new(Shared::new(clock, ledger, node, millis(self.max_wait), window_ms));
        if let Some(fixed) = &self.clock {
            let watcher: Weak<Shared> = Arc::downgrade(&shared);
            fixed.tell(watcher);
        }
        let driver = Arc::new(Driver::new(&shared));
        let (names, streams) = (Mutex::default(), Mutex::default());
        let (workers, kinds) = (self.worker, self.kinds);
        let start = self.clock.map(|_| Start::Zero);
        let inner = Arc::new(Inner { shared, driver, workers, realm_id, kinds, start, names, streams });
        Ok(Floe { inner })
    }
}
