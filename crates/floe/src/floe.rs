//! [`Floe`]: a ledger, a clock and the names that mint from them.

use std::collections::HashMap;
use std::fmt;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use crate::blocking::{Blocking, blocking};
use crate::clock::FixedClock;
use crate::counter::{Counter, Dated};
use crate::definition::{DatedShape, Definition, DefinitionError, NoPosition};
use crate::driver::{Driver, Link, Shared};
use crate::error::Stopped;
use crate::form::Form;
use crate::formed::Formed;
use crate::generator::Generator;
use crate::handle::{Handle, TextMinter};
use crate::keys::{key_names, same_key, same_keys};
use crate::layout::{Layout, Width, Workers};
use crate::ledger::{self, Beginning, Key, Ledger, LedgerError, Memory, Reply, Reserve};
use crate::mutation::mutate;
use crate::name::{Name, NameError};
use crate::node::{CounterQueue, SegmentState, SlotGroup, Steps};
use crate::opening::{DefineError, OpenError};
use crate::segment::Segment;
use crate::settings::{NameOptions, WorkerChoice};
use crate::shared_cursor::SharedCursor;
use crate::stream::{Start, Stream};
use crate::supply::SegmentSupply;
use crate::sync::lock_std as lock;
use crate::time::{UnixMillis, millis};
use crate::{Id, IdRepr, WideId};

mod builder;
mod kinds;
mod status;

pub use builder::Builder;
pub use kinds::KindRegistry;

/// A ledger, a clock, and the names that mint from them.
///
/// A clone is cheap and shares everything. Like a connection pool, the floe stays open as long as a clone of it exists,
/// or anything that mints from it. When the last of these is dropped, the floe gives unused IDs back to the ledger and
/// ends its threads. [`close`](Self::close) does the same earlier.
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
    /// Empty until the ledger has answered once.
    realm_id: OnceLock<String>,
    kinds: KindRegistry,
    /// The start of a tick's sequence if the name sets none; `None` leaves it to the layout.
    start: Option<Start>,
    names: Mutex<HashMap<Name, Handle>>,
    /// The streams that names of one layout share.
    streams: Mutex<HashMap<Layout, Arc<Stream>>>,
}

/// How many names [`Floe::define_many`] asks for at a time.
const DEFINED_AT_ONCE: usize = 8;

impl Floe {
    /// Opens a floe with the default settings. It blocks while it asks the ledger for its realm;
    /// [`open_async`](Self::open_async) does not block.
    ///
    /// ```
    /// use floe::{Floe, Layout, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// let orders = floe.snowflake("orders", Layout::TWITTER)?;
    /// assert!(orders.mint()? < orders.mint()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`OpenError`]: the ledger does not answer or is unfit, or the system gives no thread or no randomness.
    pub fn open(ledger: impl Ledger + 'static) -> Result<Self, OpenError> {
        Self::builder().open(ledger)
    }

    /// [`open`](Self::open) as a future, on any runtime. [`blocking`](crate::blocking()) has an example.
    ///
    /// # Errors
    /// [`OpenError`], as for [`open`](Self::open).
    pub async fn open_async(ledger: impl Ledger + 'static) -> Result<Self, OpenError> {
        Self::builder().open_async(ledger).await
    }

    /// Opens a floe **without a ledger**. It mints snowflake IDs as `worker`. Use it for tests, and for IDs that may
    /// repeat.
    ///
    /// Without a ledger, these guarantees are lost:
    /// - Nothing keeps another process from using the same worker id. If one does, the two repeat each other's IDs.
    /// - Nothing remembers after a restart up to what time IDs were minted. If the clock has stepped back, a restart
    ///   repeats IDs.
    /// - Segments, counters and dated names begin again with each process.
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

    /// Opens a floe for tests: in memory, as `worker`, with a clock that stands at `time`. Its IDs are the same in each
    /// run.
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

    /// Starts from the default settings; [`Builder::open`] opens a floe with them.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// Serves a snowflake name with the default [`NameOptions`]. The first call for a name blocks while it asks the
    /// ledger; [`snowflake_async`](Self::snowflake_async) does not block.
    ///
    /// ```
    /// use floe::{DefineError, Floe, Layout, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// let orders = floe.snowflake("orders", Layout::TWITTER)?;
    /// println!("{} has the time and the worker id of its node", orders.mint()?);
    /// // A name keeps its layout for ever.
    /// assert!(matches!(floe.snowflake("orders", Layout::LEAF), Err(DefineError::Mismatch { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DefineError`]; `Mismatch` if the name is bound to another definition.
    pub fn snowflake(&self, name: &str, layout: Layout) -> Result<Generator, DefineError> {
        self.generator(name, layout)
    }

    /// Serves a snowflake name whose layout has up to 128 bits, with the default [`NameOptions`]. The first call for a
    /// name blocks while it asks the ledger; [`wide_snowflake_async`](Self::wide_snowflake_async) does not block.
    ///
    /// ```
    /// use floe::{Floe, Layout, UnixMillis, layout::Width, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// let epoch = UnixMillis::new(1_577_836_800_000); // 2020
    /// let layout = Layout::new("time:43 server:24 sequence:18", 1, epoch, Width::Wide)?;
    /// assert!(floe.snowflake("events", layout.clone()).is_err()); // it has 85 bits, more than 63
    /// let events = floe.wide_snowflake("events", layout)?;
    /// assert!(events.mint()? < events.mint()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DefineError`]; `Mismatch` if the name is bound to another definition.
    pub fn wide_snowflake(&self, name: &str, layout: Layout) -> Result<Generator<WideId>, DefineError> {
        self.generator(name, layout)
    }

    fn generator<I: IdRepr>(&self, name: &str, layout: Layout) -> Result<Generator<I>, DefineError> {
        I::check(&layout).map_err(DefinitionError::Layout)?;
        let definition = Definition::Snowflake { layout, own: false };
        // A layout of at most 63 bits can be minted in either width.
        self.typed(name, &definition, |handle| {
            let stream = Arc::clone(handle.stream()?);
            Some(Generator::new(handle.name().clone(), stream, self.link()))
        })
    }

    /// Defines the name with the default [`NameOptions`], and takes from the handle what `typed` returns.
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

    /// Serves a segment that begins at 1 and counts by 1, with the default [`NameOptions`]. For another start or
    /// distance, [`define`](Self::define) a [`Definition::Segment`]. The first call for a name blocks while it asks the
    /// ledger; [`segment_async`](Self::segment_async) does not block.
    ///
    /// ```
    /// use floe::{Floe, ledger::Memory};
    /// let tickets = Floe::open(Memory::default())?.segment("tickets")?;
    /// assert_eq!([tickets.mint()?.get(), tickets.mint()?.get()], [1, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DefineError`]; `Mismatch` if the name is bound to another definition.
    pub fn segment(&self, name: &str) -> Result<Segment, DefineError> {
        self.typed(name, &Definition::SEGMENT, |handle| handle.get().cloned())
    }

    /// Serves a counter. The first call for a name blocks while it asks the ledger;
    /// [`counter_async`](Self::counter_async) does not block.
    ///
    /// ```
    /// use floe::{Floe, ledger::Memory};
    /// let ledger = Memory::default();
    /// let (one, other) = (Floe::open(ledger.clone())?, Floe::open(ledger)?); // two nodes on one ledger
    /// assert_eq!(one.counter("invoices")?.mint()?.get(), 1);
    /// assert_eq!(other.counter("invoices")?.mint()?.get(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DefineError`]; `Mismatch` if the name is bound to another definition.
    pub fn counter(&self, name: &str) -> Result<Counter, DefineError> {
        self.typed(name, &Definition::Counter, |handle| handle.get().cloned())
    }

    /// Serves a dated name. The first call for a name blocks while it asks the ledger;
    /// [`dated_async`](Self::dated_async) does not block.
    ///
    /// ```
    /// use floe::{DatedShape, Floe, Overflow};
    /// let (floe, _clock) = Floe::fixed(7, "2026-11-23T10:00:00Z".parse()?)?;
    /// let invoices = floe.dated("invoices", DatedShape::new("UTC", 4, "INV", Overflow::Refuse)?)?;
    /// assert_eq!(invoices.mint()?.to_string(), "INV202611230001");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DefineError`]; `Mismatch` if the name is bound to another definition.
    pub fn dated(&self, name: &str, shape: DatedShape) -> Result<Dated, DefineError> {
        self.typed(name, &Definition::Dated(shape), |handle| handle.get().cloned())
    }

    /// Serves a name whose IDs are a number for programs and a text for everybody else. You give it a definition, such
    /// as a [`Layout`], and the form of the text. A form that seals needs its keys. The first call for a name blocks
    /// while it asks the ledger; [`formed_async`](Self::formed_async) does not block.
    ///
    /// The name is bound with the form, as by [`Definition::in_form`].
    ///
    /// ```
    /// use floe::{Definition, Floe, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// let tickets = floe.formed("tickets", Definition::SEGMENT, "base36 width=13 prefix=T-".parse()?)?;
    /// let (id, text) = tickets.mint()?;
    /// assert_eq!((id.get(), text.as_str()), (1, "T-0000000000001"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DefineError`]; `Invalid` if the IDs are not numbers of at most 63 bits.
    pub fn formed(
        &self,
        name: &str,
        definition: impl Into<Definition>,
        form: Form,
    ) -> Result<Formed, DefineError> {
        let definition = definition.into();
        // Checked before the name is bound, since a binding is permanent.
        let fits = definition.form_bits().is_some_and(|bits| bits <= Id::BITS);
        if !fits || !definition.kind().is_number() {
            return Err(DefineError::Invalid(format!(
                "{definition} has no numbers of at most 63 bits: define the name, and mint its texts instead"
            )));
        }
        let definition = definition.in_form(form.clone())?;
        self.typed(name, &definition, |handle| Some(Formed::new(handle, form)))
    }

    /// [`formed`](Self::formed) as a future, on any runtime.
    ///
    /// # Errors
    /// [`DefineError`], as for [`formed`](Self::formed).
    pub async fn formed_async(
        &self,
        name: &str,
        definition: impl Into<Definition>,
        form: Form,
    ) -> Result<Formed, DefineError> {
        let definition = definition.into();
        self.apart(name, move |floe, name| floe.formed(name, definition, form)).await
    }

    /// Binds a name to its definition, for ever, and serves it. The first call for a name blocks while it asks the
    /// ledger; [`define_async`](Self::define_async) does not block. A name that is served already keeps its options.
    ///
    /// ```
    /// use std::time::Duration;
    /// use floe::{DefineError, Definition, Floe, Name, NameOptions, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// let (orders, odd) = (Name::new("orders")?, Definition::Segment { increment: 2, offset: 1 });
    /// let options = NameOptions { min_step: 100, refill: Duration::from_secs(60), ..NameOptions::default() };
    /// let handle = floe.define(&orders, &odd, &options)?;
    /// assert_eq!(handle.mint_many(3)?.map(|id| id.to_string()).collect::<Vec<_>>(), ["1", "3", "5"]);
    /// let other = floe.define(&orders, &Definition::Counter, &options);
    /// assert!(matches!(other, Err(DefineError::Mismatch { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DefineError`]; `Mismatch` if the ledger has another definition.
    pub fn define(
        &self,
        name: &Name,
        definition: &Definition,
        options: &NameOptions,
    ) -> Result<Handle, DefineError> {
        self.define_then(name, definition, options, || Ok(()))
    }

    /// [`snowflake`](Self::snowflake) as a future, on any runtime.
    ///
    /// # Errors
    /// [`DefineError`], as for [`snowflake`](Self::snowflake).
    pub async fn snowflake_async(&self, name: &str, layout: Layout) -> Result<Generator, DefineError> {
        self.apart(name, move |floe, name| floe.snowflake(name, layout)).await
    }

    /// [`wide_snowflake`](Self::wide_snowflake) as a future, on any runtime.
    ///
    /// # Errors
    /// [`DefineError`], as for [`wide_snowflake`](Self::wide_snowflake).
    pub async fn wide_snowflake_async(
        &self,
        name: &str,
        layout: Layout,
    ) -> Result<Generator<WideId>, DefineError> {
        self.apart(name, move |floe, name| floe.wide_snowflake(name, layout)).await
    }

    /// [`segment`](Self::segment) as a future, on any runtime.
    ///
    /// # Errors
    /// [`DefineError`], as for [`segment`](Self::segment).
    pub async fn segment_async(&self, name: &str) -> Result<Segment, DefineError> {
        self.apart(name, |floe, name| floe.segment(name)).await
    }

    /// [`counter`](Self::counter) as a future, on any runtime.
    ///
    /// # Errors
    /// [`DefineError`], as for [`counter`](Self::counter).
    pub async fn counter_async(&self, name: &str) -> Result<Counter, DefineError> {
        self.apart(name, |floe, name| floe.counter(name)).await
    }

    /// [`dated`](Self::dated) as a future, on any runtime.
    ///
    /// # Errors
    /// [`DefineError`], as for [`dated`](Self::dated).
    pub async fn dated_async(&self, name: &str, shape: DatedShape) -> Result<Dated, DefineError> {
        self.apart(name, move |floe, name| floe.dated(name, shape)).await
    }

    /// [`define`](Self::define) as a future, on any runtime.
    ///
    /// # Errors
    /// [`DefineError`], as for [`define`](Self::define).
    pub async fn define_async(
        &self,
        name: &Name,
        definition: &Definition,
        options: &NameOptions,
    ) -> Result<Handle, DefineError> {
        let (floe, name, definition, options) =
            (self.clone(), name.clone(), definition.clone(), options.clone());
        blocking(move || floe.define(&name, &definition, &options)).await
    }

    /// [`define_many`](Self::define_many) as a future, on any runtime.
    pub async fn define_many_async(
        &self,
        names: &[(Name, Definition, NameOptions)],
    ) -> Vec<Result<Handle, DefineError>> {
        let (floe, names) = (self.clone(), names.to_vec());
        blocking(move || floe.define_many(&names)).await
    }

    /// Runs a call for a name on its own thread, where it may block.
    fn apart<T: Send + 'static>(
        &self,
        name: &str,
        call: impl FnOnce(&Self, &str) -> Result<T, DefineError> + Send + 'static,
    ) -> Blocking<Result<T, DefineError>> {
        let (floe, name) = (self.clone(), name.to_owned());
        blocking(move || call(&floe, &name))
    }

    /// Defines many names, eight at a time, as [`define`](Self::define) does. It blocks until the ledger has answered
    /// for all of them. The results have the order of `names`.
    ///
    /// ```
    /// use floe::{Definition, Floe, Name, NameOptions, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// let counter = |name| (name, Definition::Counter, NameOptions::default());
    /// let handles = floe.define_many(&[counter(Name::new("acme")?), counter(Name::new("globex")?)]);
    /// assert!(handles.iter().all(Result::is_ok));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn define_many(&self, names: &[(Name, Definition, NameOptions)]) -> Vec<Result<Handle, DefineError>> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut done = Vec::new();
            while let at = next.fetch_add(1, Ordering::Relaxed)
                && let Some((name, definition, options)) = names.get(at)
            {
                done.push((at, self.define(name, definition, options)));
            }
            done
        };
        let mut done: Vec<_> = thread::scope(|scope| {
            let others: Vec<_> = (1..DEFINED_AT_ONCE.min(names.len())).map(|_| scope.spawn(work)).collect();
            let mut done = work();
            for other in others {
                done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
            }
            done
        });
        done.sort_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, defined)| defined).collect()
    }

    /// [Defines](Self::define) a segment or a counter that begins at `first`. If it has no such number, it begins at
    /// its next larger one.
    ///
    /// For a new name, the mark is in the ledger before the definition is ([`ledger::begin`](crate::ledger::begin)). So
    /// a crash in this call never leaves a name that begins at 1. A name that is bound already is treated as by
    /// [`begin_at`](Self::begin_at).
    ///
    /// ```
    /// use floe::{Definition, Floe, Name, NameOptions, ledger::{Beginning, Memory}};
    /// let floe = Floe::open(Memory::default())?;
    /// let (orders, options) = (Name::new("orders")?, NameOptions::default());
    /// let (handle, begun) = floe.define_from(&orders, &Definition::SEGMENT, &options, 50_000_001)?;
    /// assert_eq!(begun, Beginning::Here);
    /// assert_eq!(handle.mint_many(1)?.next().map(|id| id.to_string()).as_deref(), Some("50000001"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DefineError`], as for `define`; `Invalid` if the name is neither a segment nor a counter, or cannot begin
    /// there.
    pub fn define_from(
        &self,
        name: &Name,
        definition: &Definition,
        options: &NameOptions,
        first: u64,
    ) -> Result<(Handle, Beginning), DefineError> {
        let position = begin_position(name, definition, first)?;
        let mut begun = None;
        let handle = self.define_then(name, definition, options, || {
            if self.ledger().definition(name)?.is_none() {
                let token = self.inner.shared.node().requests().token();
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

    /// `define`, which calls `before` just before the name is bound, when only the ledger can still refuse it.
    fn define_then(
        &self,
        name: &Name,
        definition: &Definition,
        options: &NameOptions,
        before: impl FnOnce() -> Result<(), DefineError>,
    ) -> Result<Handle, DefineError> {
        definition.check()?;
        if let Some(handle) = served(&lock(&self.inner.names), name, definition)? {
            return Ok(handle);
        }
        self.check(definition, options)?;
        // Before the name is bound, since a binding is permanent. Without the lock, since `make` may define names
        // itself.
        let registered = self.make(name, definition)?;
        definition.check_keys(name, self.ledger())?;
        before()?;
        self.bind(name, definition)?;
        self.bind_key(name, definition)?;
        // Under the lock, so that two threads never make two supplies for one name.
        let mut names = lock(&self.inner.names);
        if let Some(handle) = served(&names, name, definition)? {
            return Ok(handle);
        }
        let handle = match registered {
            Some(minter) => Handle::new(minter, definition.clone()),
            None => self.serve(name, definition, options)?,
        };
        names.insert(name.clone(), handle.clone());
        Ok(handle)
    }

    /// Serves a name whose kind needs no ledger to mint ([`Definition::needs_ledger`]) before it is bound, for use
    /// while the ledger does not answer.
    ///
    /// The IDs are unique by themselves: nothing is reserved for them, so no mark can be missed. The ledger only makes
    /// sure that the name has the same definition on every node. Until [`bind_late`](Self::bind_late) has succeeded,
    /// that depends on equal configurations.
    ///
    /// ```
    /// use floe::{Floe, Name, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// let users = Name::new("users")?;
    /// let handle = floe.define_unbound(&users, &"uuid7".parse()?)?;
    /// assert_eq!(handle.mint_many(1)?.len(), 1);
    /// assert!(floe.stored(&users)?.is_none());
    /// floe.bind_late(&users, handle.definition())?;
    /// assert_eq!(floe.stored(&users)?.as_ref(), Some(handle.definition()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DefineError`]; `Invalid` if the kind needs a ledger.
    pub fn define_unbound(&self, name: &Name, definition: &Definition) -> Result<Handle, DefineError> {
        definition.check()?;
        let mut names = lock(&self.inner.names);
        if let Some(handle) = served(&names, name, definition)? {
            return Ok(handle);
        }
        let Some(minter) = TextMinter::ledgerless(name, definition)? else {
            return Err(DefineError::Invalid(format!("{definition} cannot be minted before it is bound")));
        };
        let handle = Handle::new(minter, definition.clone());
        names.insert(name.clone(), handle.clone());
        Ok(handle)
    }

    /// Binds a name that [`define_unbound`](Self::define_unbound) has served; the example is there. If the ledger has
    /// another definition, the floe stops serving the name, and the caller must drop its handles.
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

    /// Frees a name that is not in use, with its memory. Returns whether the name is gone now.
    ///
    /// - What a segment had left goes back to the ledger. A [`Segment`] of the name that you still hold mints no more.
    /// - The next [`define`](Self::define) brings the name back. It also notices if the ledger went back in the
    ///   meantime; floe remembers the last 65,536 unloaded names for that.
    /// - A name is not unloaded while a call waits for it or while it is stopped, nor if it has its own generator
    ///   (`own = true`) or a registered kind.
    ///
    /// ```
    /// use floe::{Floe, Name, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// assert_eq!(floe.segment("orders")?.mint()?.get(), 1);
    /// // The answer is no while the node reserves ahead: then the name stays and goes on.
    /// floe.unload(&Name::new("orders")?);
    /// assert!(floe.segment("orders")?.mint()?.get() > 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unload(&self, name: &Name) -> bool {
        let shared = &self.inner.shared;
        // Under the lock under which names are made.
        let mut names = lock(&self.inner.names);
        let Some(handle) = names.get(name) else { return true };
        let node = || shared.node();
        let gone = match (handle.numbers().get::<Segment>(), handle.definition().unformed()) {
            (Some(segment), _) => node().unload_refill(&segment.numbers.shared, &shared.clock),
            (None, Definition::Snowflake { own, .. }) => !own,
            (None, Definition::Registered(_)) => false,
            (None, counted) => !counted.kind().is_counted() || node().unload_queue(name),
        };
        if gone {
            names.remove(name);
            shared.signal.raise();
        }
        gone
    }

    /// Makes a segment or a counter begin at `first`, or at its next larger number. Call it before the first mint.
    ///
    /// A name that has a mark above 0 stays as it is. So a repeated call changes nothing, and if several nodes call it
    /// at once, one of them moves the mark. Returns `None` if the name begins there or is past it. If the name has
    /// begun below `first`, returns the number at which it is; then only [`Ledger::raise`], while no node mints from
    /// the name, can move it on.
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
    /// [`DefineError`]; `Invalid` if the name is neither a segment nor a counter, or cannot begin there.
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

    /// Gives a bound name its first mark, unless it has one.
    fn begin_bound(&self, name: &Name, position: u64) -> Result<Beginning, DefineError> {
        let inner = &self.inner;
        if position == 0 {
            return Ok(Beginning::Here);
        }
        let token = inner.shared.node().requests().token();
        let request = Reserve::beginning(Key::name(name), position, token, false);
        Ok(match inner.shared.ledger.reserve(&request)? {
            Reply::Refused { mark, .. } => Beginning::Earlier { mark },
            Reply::Got { .. } => Beginning::Here,
        })
    }

    /// Reads the definition to which the ledger has bound a name; `None` if it is not bound.
    ///
    /// ```
    /// use floe::{Definition, Floe, Name, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// floe.counter("invoices")?;
    /// assert_eq!(floe.stored(&Name::new("invoices")?)?, Some(Definition::Counter));
    /// assert_eq!(floe.stored(&Name::new("orders")?)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DefineError`]; `Definition` if a newer floe has bound the name to a definition that this version cannot read.
    pub fn stored(&self, name: &Name) -> Result<Option<Definition>, DefineError> {
        let stored =
            self.inner.shared.ledger.definition(name).inspect_err(|error| self.on_ledger_error(error))?;
        Ok(stored.map(|text| text.parse()).transpose()?)
    }

    /// Returns the ledger, for the operator's reads. Pass their errors to [`on_ledger_error`](Self::on_ledger_error).
    pub fn ledger(&self) -> &dyn Ledger {
        &*self.inner.shared.ledger
    }

    /// Stops every name if `error` is [`Unfit`](LedgerError::Unfit), that is, if the ledger must not be used any more.
    /// Other errors change nothing. A reservation that meets the error does the same by itself.
    ///
    /// ```
    /// use floe::{Floe, MintError, ledger::{LedgerError, Memory}};
    /// let floe = Floe::open(Memory::default())?;
    /// let tickets = floe.segment("tickets")?;
    /// floe.on_ledger_error(&LedgerError::Unavailable("timeout".to_owned()));
    /// assert_eq!(tickets.mint()?.get(), 1);
    /// floe.on_ledger_error(&LedgerError::Unfit("it was restored from a backup".to_owned()));
    /// assert!(matches!(tickets.mint(), Err(MintError::Stopped(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_ledger_error(&self, error: &LedgerError) {
        if let LedgerError::Unfit(cause) = error {
            self.inner.shared.node().stop(&Stopped::ledger(cause));
        }
    }

    /// Asks for the ledger's clock now, so that a process whose clock is wrong can say so when it starts. Without this
    /// call, floe asks before it reserves the first window.
    ///
    /// Returns how many milliseconds this machine's clock is ahead of the ledger's; the number is negative if it is
    /// behind. Returns `None` if the ledger has no clock, or if the floe is set to ignore it.
    ///
    /// ```
    /// use floe::{Floe, ledger::Memory};
    /// let floe = Floe::builder().ignore_ledger_clock().open(Memory::default())?;
    /// assert_eq!(floe.check_clock()?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`OpenError::Clock`] if the two clocks are more than ten seconds apart, beyond what the duration of the call can
    /// explain; [`OpenError::Ledger`] if the ledger does not answer.
    pub fn check_clock(&self) -> Result<Option<i64>, OpenError> {
        let shared = &self.inner.shared;
        if !shared.node().requests().settings.check_clock {
            return Ok(None);
        }
        let asked = shared.clock.look();
        let said = shared.ledger.clock()?;
        let now = shared.clock.hear(said, asked.mono, asked.stamp.era());
        shared.signal.raise();
        match shared.node().requests().apart(&now) {
            Some(apart) => Err(OpenError::Clock(apart)),
            None => Ok(now.ledger_offset_ms()),
        }
    }

    /// Discards every window and segment, in all generators and minters, before the next ID. Call it in a process that
    /// was copied while it ran; see [`Generator::invalidate`]. It also discards what kinds without a ledger have drawn
    /// ahead, as [`kind::invalidate`](crate::kind::invalidate) does, since a copy has those too.
    ///
    /// ```
    /// use floe::{Floe, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// let tickets = floe.segment("tickets")?;
    /// assert_eq!(tickets.mint()?.get(), 1);
    /// floe.invalidate();
    /// assert!(tickets.mint()?.get() > 2); // the rest of the range is skipped
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn invalidate(&self) {
        self.inner.shared.invalidate();
        crate::kind::invalidate();
    }

    /// Stops minting for ever, gives unused IDs back to the ledger, and ends the threads. It blocks until the ledger
    /// has taken them, at most five seconds. What the ledger has not taken by then is skipped.
    ///
    /// Dropping the last clone of an open floe blocks in the same way. Async programs therefore await
    /// [`close_async`](Self::close_async) first.
    ///
    /// ```
    /// use floe::{Floe, ledger::Memory};
    /// let ledger = Memory::default();
    /// let floe = Floe::open(ledger.clone())?;
    /// let tickets = floe.segment("tickets")?;
    /// assert_eq!(tickets.mint()?.get(), 1);
    /// floe.close();
    /// assert!(tickets.mint().is_err());
    /// assert!(Floe::open(ledger)?.segment("tickets")?.mint()?.get() > 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(&self) {
        self.inner.driver.close();
    }

    /// [`close`](Self::close) as a future, on any runtime.
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

    /// Binds the sealing key of a name to its check value, if its texts name the key. With two keys under one id, two
    /// nodes would write one text for two numbers. A key that only opens texts is bound by the node that seals with
    /// it.
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
        options: &NameOptions,
    ) -> Result<Handle, DefineError> {
        if let Some(minter) = TextMinter::ledgerless(name, definition)? {
            return Ok(Handle::new(minter, definition.clone()));
        }
        if let Definition::Formed(inner, form) = definition {
            let numbers = self.serve(name, inner, options)?;
            return Ok(Handle::new(TextMinter::formed(name, numbers, form), definition.clone()));
        }
        let shared = self.link();
        Ok(match definition {
            Definition::Snowflake { layout, own } => {
                let stream = self.stream(layout, *own, options)?;
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
                    Steps { min: options.min_step, max: options.max_step, refill_ms: millis(options.refill) };
                let cursor = SharedCursor::new(0, Arc::clone(&shared.signal));
                let numbers = Arc::new(SegmentSupply::new(*increment, *offset, cursor));
                shared.node().add_refill(SegmentState::new(Key::name(name), Arc::clone(&numbers), steps));
                Handle::new(Segment::new(name.clone(), numbers, shared), definition.clone())
            }
            Definition::Counter => {
                shared.node().add_queue(CounterQueue::new(name.clone(), None));
                Handle::new(Counter::new(name.clone(), shared), definition.clone())
            }
            Definition::Dated(shape) => {
                let shape = Arc::new(shape.clone());
                let queue = CounterQueue::new(name.clone(), Some(Arc::clone(&shape)));
                shared.node().add_queue(queue);
                Handle::new(Dated::new(name.clone(), shape, shared), definition.clone())
            }
            other => return Err(DefineError::Invalid(format!("{other} has no ledger to mint from"))),
        })
    }

    /// Finds every failure that can be known before the name is bound, since a binding is permanent.
    fn check(&self, definition: &Definition, options: &NameOptions) -> Result<(), DefineError> {
        if let Some(form) = definition.form().filter(|form| !form.can_encode()) {
            return Err(DefineError::Invalid(format!(
                "the form \"{form}\" is sealed, and this process was not given its key"
            )));
        }
        match definition.unformed() {
            Definition::Snowflake { layout, own } => {
                let (start, ahead_ms) = self.start(layout, options);
                Stream::check_start(layout, start, ahead_ms).map_err(DefineError::Invalid)?;
                self.check_times(layout, ahead_ms)?;
                self.workers(layout)?;
                match lock(&self.inner.streams).get(layout) {
                    Some(stream) if !own => same_options(stream, start, ahead_ms),
                    _ => Ok(()),
                }
            }
            Definition::Segment { .. } if options.min_step == 0 || options.min_step > options.max_step => {
                let NameOptions { min_step, max_step, .. } = options;
                Err(DefineError::Invalid(format!(
                    "min_step {min_step} must be from 1 to max_step {max_step}"
                )))
            }
            _ => Ok(()),
        }
    }

    fn start(&self, layout: &Layout, options: &NameOptions) -> (Start, u64) {
        let ahead_ms = millis(options.max_ahead);
        let start = options.start.or(self.inner.start);
        (start.unwrap_or_else(|| Stream::default_start(layout, ahead_ms)), ahead_ms)
    }

    /// The stream that the names of a layout share, or a new one if the name has its own.
    fn stream(&self, layout: &Layout, own: bool, options: &NameOptions) -> Result<Arc<Stream>, DefineError> {
        let shared = &self.inner.shared;
        let (start, ahead_ms) = self.start(layout, options);
        let mut streams = lock(&self.inner.streams);
        if let Some(stream) = streams.get(layout).filter(|_| !own) {
            same_options(stream, start, ahead_ms)?;
            return Ok(Arc::clone(stream));
        }
        let workers = self.workers(layout)?;
        let mut node = shared.node();
        let seed = node.requests().random();
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

    /// The realm's id; empty until the ledger has answered once.
    fn realm_id(&self) -> String {
        let Inner { shared, realm_id, .. } = &*self.inner;
        match (realm_id.get(), shared.ledger.realm_id()) {
            (Some(id), _) => id.clone(),
            (None, Ok(id)) => realm_id.get_or_init(|| id).clone(),
            (None, Err(_)) => String::new(),
        }
    }

    /// Returns the time of the steady clock, by which IDs are minted. It is the `steady` of [`status`](Self::status),
    /// and cheaper to read.
    pub fn steady_time(&self) -> UnixMillis {
        self.inner.shared.clock.look().stamp.time()
    }
}

/// # Errors
/// `Invalid` if the name cannot begin at `first`.
fn begin_position(name: &Name, definition: &Definition, first: u64) -> Result<u64, DefineError> {
    definition.begin_position(first).map_err(|error| match error {
        NoPosition::Uncounted(_) => DefineError::Invalid(format!(
            "{name} is a {} name, which has no first number: a segment and a counter have one",
            definition.kind_name()
        )),
        error => DefineError::Invalid(format!("{name} cannot begin at {first}: {error}")),
    })
}

/// The handle of a name that is served already.
///
/// # Errors
/// `Mismatch` or `AnotherKey` if it is served by another definition, or with other keys; `Invalid` if it seals with another
/// one of the same keys.
fn served(
    names: &HashMap<Name, Handle>,
    name: &Name,
    definition: &Definition,
) -> Result<Option<Handle>, DefineError> {
    let Some(handle) = names.get(name) else { return Ok(None) };
    let served = handle.definition();
    let text = served.to_string();
    if text != definition.to_string() {
        return Err(mismatch(name, &text, definition));
    }
    same_keys(name, served, definition)?;
    // The text leaves out which of its keys a form seals with, so that keys can be replaced.
    if served != definition {
        return Err(DefineError::Invalid(format!(
            "the name {name} is served already, and seals with another key: unload it before it is defined with this one"
        )));
    }
    Ok(Some(handle.clone()))
}

fn mismatch(name: &Name, stored: &str, configured: &Definition) -> DefineError {
    DefineError::Mismatch {
        name: name.clone(),
        stored: stored.to_owned(),
        configured: configured.to_string(),
    }
}

/// # Errors
/// `Invalid` if a name would share a generator that mints with other options.
fn same_options(stream: &Stream, start: Start, ahead_ms: u64) -> Result<(), DefineError> {
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
    use super::builder::{EMBEDDED_WINDOW_MS, MAX_WAIT, SHARED_WINDOW_MS};
    use super::*;

    /// A number in words, as the pages write small ones.
    fn word(number: u64) -> &'static str {
        match number {
            5 => "five",
            8 => "eight",
            10 => "ten",
            30 => "thirty",
            _ => panic!("the pages have no word for {number} yet"),
        }
    }

    /// 45,056.
    fn grouped(number: u64) -> String {
        match number {
            0..1_000 => number.to_string(),
            _ => format!("{},{:03}", grouped(number / 1_000), number % 1_000),
        }
    }

    /// Sentences of the pages that have a limit or a default of this crate.
    #[test]
    fn the_pages_say_the_defaults() {
        use crate::clock::ledger_time::APART_MS;
        use crate::clock::{FOLLOWED_MS, LEVEL_MS, MOVED_MS, SLEW};
        use crate::ledger::Mark;
        use crate::node::ledger_clock::{AGAIN_MS, REFRESH_MS};
        use crate::node::past;
        use crate::node::slot_group::{MOST_PROBED, PROBED_AGAIN, PROBED_AT_ONCE, QUIET_MS};
        use crate::store::stored::{LOOKED_AT, TOLD_OF};

        let embedded = EMBEDDED_WINDOW_MS / 1_000;
        let shared = SHARED_WINDOW_MS / 1_000;
        let close = crate::driver::CLOSE_MS / 1_000;
        let wait = MAX_WAIT.as_secs();
        let options = NameOptions::default();
        let ahead = millis(options.max_ahead);
        let twitter = Layout::TWITTER;
        let (nodes, a_tick) = (grouped(1 << twitter.worker_bits()), 1 << twitter.sequence_bits());
        let (each, a_second) = (grouped(a_tick), grouped(a_tick * 1_000));
        let burst = grouped(a_tick * (ahead + 1));
        let horizon = twitter.horizon().to_string();
        let year = &horizon[..4];
        let unloaded = grouped(past::MOST as u64);
        let (ahead_calls, batches) = (Mark::AHEAD, Mark::AHEAD + 1);
        assert_eq!(MOVED_MS, 1_000, "the pages say: a second");
        let page = |name: &str| {
            let path = format!("{}/../../{name}.md", env!("CARGO_MANIFEST_DIR"));
            std::fs::read_to_string(path).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let said = [
            // Windows.
            ("docs/configuration", format!("The default is {embedded} s on the embedded ledger")),
            ("docs/configuration", format!("fail together anyway, and {shared} s on a shared one")),
            (
                "docs/choose",
                format!("The default is {embedded} s on SQLite, and {shared} s on a shared ledger"),
            ),
            (
                "docs/questions",
                format!("The default window is {embedded} s on SQLite and {shared} s on a shared ledger"),
            ),
            ("docs/operating", format!("once a window ({embedded} s by default)")),
            (
                "docs/operating",
                format!("{} s by default on the embedded ledger, a minute on a shared", 2 * embedded),
            ),
            (
                "docs/settings",
                format!("on the embedded ledger is \"{embedded}s\", on a shared one \"{shared}s\""),
            ),
            ("docs/kubernetes", format!("one and a half windows ({} s by default)", shared * 3 / 2)),
            // Waits.
            ("docs/library", format!("`Builder::max_wait` ({wait} s)")),
            ("docs/configuration", format!("at most `max_wait` ({wait} s in a program")),
            ("docs/library", format!("| `close`, the last `drop` | the ledger, at most {close} s |")),
            ("docs/library", format!("the last `drop` after {close} s")),
            ("docs/kubernetes", format!("and {close} s to give ranges back")),
            // Names and layouts.
            ("docs/configuration", format!("A name has 1 to {} bytes", Name::MAX_BYTES)),
            (
                "docs/configuration",
                format!("The other fields are the worker id, at most {} bits", Layout::MAX_WORKER_BITS),
            ),
            (
                "docs/configuration",
                format!("one `sequence`, at most {} bits together", Layout::MAX_POSITION_BITS),
            ),
            ("docs/configuration", format!("All fields together have at most {} bits", Id::BITS)),
            ("README", format!("{nodes} worker ids, {each} IDs a millisecond for each")),
            ("docs/questions", format!("{nodes} nodes, {each} IDs a millisecond each, until {year}")),
            ("docs/kubernetes", format!("The layout `twitter` has {nodes} of them")),
            ("docs/configuration", format!("`twitter` has {each} IDs a millisecond, {a_second} a second")),
            ("docs/configuration", format!("`max_ahead` ({ahead} ms) ahead of the steady clock")),
            ("docs/configuration", format!("it gives the IDs of {} ms at once, {burst}", ahead + 1)),
            ("docs/guarantees", format!("up to `max_ahead` ({ahead} ms) ahead of it")),
            ("docs/questions", format!("a name may mint up to {ahead} ms ahead of it")),
            (
                "docs/configuration",
                format!(
                    "`refill` ({} minutes), between `min_step` ({}) and `max_step` ({})",
                    options.refill.as_secs() / 60,
                    grouped(options.min_step),
                    grouped(options.max_step)
                ),
            ),
            ("docs/clients", format!("one batch of `min_step` numbers ({};", grouped(options.min_step))),
            // Clocks.
            ("docs/guarantees", format!("goes on at {} % of the monotonic clock's rate", 100 - 100 / SLEW)),
            ("docs/guarantees", format!("jumps ahead by more than {} seconds", word(FOLLOWED_MS / 1_000))),
            ("docs/guarantees", format!("have run level for {} seconds", word(LEVEL_MS / 1_000))),
            ("docs/guarantees", format!("every {} minutes while it reserves", word(REFRESH_MS / 60_000))),
            ("docs/guarantees", format!("It asks again every {} seconds", word(AGAIN_MS / 1_000))),
            (
                "docs/guarantees",
                format!("still more than {} seconds apart, it reserves no window", word(APART_MS / 1_000)),
            ),
            ("docs/configuration", format!("within {} seconds of the ledger's", word(APART_MS / 1_000))),
            ("docs/operating", format!("the two are more than {} seconds apart", word(APART_MS / 1_000))),
            (
                "docs/operating",
                format!("goes on by itself within {} seconds. Until then", word(AGAIN_MS / 1_000)),
            ),
            // Ledgers.
            ("docs/ledgers", format!("in only one of about {batches} batches")),
            ("docs/ledgers", format!("durably reserves {ahead_calls} times its numbers ahead")),
            ("docs/ledgers", format!("can skip up to {ahead_calls} batches")),
            (
                "docs/ledgers",
                format!(
                    "A counter reserves for {batches} of its calls at once, so its mark is up to {ahead_calls} calls"
                ),
            ),
            ("docs/kinds", format!("can then skip up to {ahead_calls} batches")),
            ("docs/operating", format!("[one of about {batches} calls](ledgers.md#sqlite)")),
            ("docs/guarantees", format!("for the last {unloaded} names that it has unloaded")),
            ("docs/operating", format!("the marks of the last {unloaded} unloaded names")),
            ("docs/benchmarks", format!("floe's note of the last {unloaded} unloaded names")),
            ("docs/ledgers", format!("less than one window plus {} s in the past", QUIET_MS / 1_000)),
            ("docs/ledgers", format!("After {PROBED_AT_ONCE} such slots")),
            ("docs/ledgers", format!("After {} in one round", grouped(MOST_PROBED))),
            ("docs/ledgers", format!("then probes at most {PROBED_AGAIN} slots in one look")),
            (
                "docs/ledgers",
                format!("looks at {LOOKED_AT} other realms at most, and names {}", word(TOLD_OF as u64)),
            ),
            ("docs/library", format!("`define_many` asks for {} at a time", word(DEFINED_AT_ONCE as u64))),
        ];
        let missing = said.iter().filter(|(name, sentence)| !page(name).contains(sentence.as_str()));
        let missing: Vec<_> =
            missing.map(|(name, sentence)| format!("{name}.md does not say: {sentence}")).collect();
        assert!(missing.is_empty(), "{}", missing.join("\n"));
    }
}
