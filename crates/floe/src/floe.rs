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
use crate::definition::{DatedShape, Definition, DefinitionError};
use crate::driver::{Driver, Link, Shared};
use crate::error::Stopped;
use crate::form::Form;
use crate::formed::Formed;
use crate::generator::Generator;
use crate::handle::{Handle, TextMinter};
use crate::keys::key_names;
use crate::layout::Layout;
use crate::ledger::{self, Beginning, Key, Ledger, LedgerError, Memory, Reply, Reserve};
use crate::name::{Name, NameError};
use crate::opening::{DefineError, OpenError};
use crate::segment::Segment;
use crate::settings::{NameOptions, WorkerChoice};
use crate::stream::{Start, Stream};
use crate::sync::lock_std as lock;
use crate::time::UnixMillis;
use crate::wakes::Hold;
use crate::{Id, IdRepr, WideId};

mod builder;
mod defining;
mod kinds;
mod status;

pub use builder::Builder;
use defining::{begin_position, check_form, served};
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

    /// [`formed`](Self::formed) as a future, on any runtime. [`blocking`](crate::blocking()) has an example.
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

    /// [`snowflake`](Self::snowflake) as a future, on any runtime. [`blocking`](crate::blocking()) has an example.
    ///
    /// # Errors
    /// [`DefineError`], as for [`snowflake`](Self::snowflake).
    pub async fn snowflake_async(&self, name: &str, layout: Layout) -> Result<Generator, DefineError> {
        self.apart(name, move |floe, name| floe.snowflake(name, layout)).await
    }

    /// [`wide_snowflake`](Self::wide_snowflake) as a future, on any runtime. [`blocking`](crate::blocking()) has an
    /// example.
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

    /// [`segment`](Self::segment) as a future, on any runtime. [`blocking`](crate::blocking()) has an example.
    ///
    /// # Errors
    /// [`DefineError`], as for [`segment`](Self::segment).
    pub async fn segment_async(&self, name: &str) -> Result<Segment, DefineError> {
        self.apart(name, |floe, name| floe.segment(name)).await
    }

    /// [`counter`](Self::counter) as a future, on any runtime. [`blocking`](crate::blocking()) has an example.
    ///
    /// # Errors
    /// [`DefineError`], as for [`counter`](Self::counter).
    pub async fn counter_async(&self, name: &str) -> Result<Counter, DefineError> {
        self.apart(name, |floe, name| floe.counter(name)).await
    }

    /// [`dated`](Self::dated) as a future, on any runtime. [`blocking`](crate::blocking()) has an example.
    ///
    /// # Errors
    /// [`DefineError`], as for [`dated`](Self::dated).
    pub async fn dated_async(&self, name: &str, shape: DatedShape) -> Result<Dated, DefineError> {
        self.apart(name, move |floe, name| floe.dated(name, shape)).await
    }

    /// [`define`](Self::define) as a future, on any runtime. [`blocking`](crate::blocking()) has an example.
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

    /// [`define_many`](Self::define_many) as a future, on any runtime. [`blocking`](crate::blocking()) has an example.
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
            // With fewer threads than that, where the system has no more, it takes longer.
            let others = (1..DEFINED_AT_ONCE.min(names.len()))
                .map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok())
                .collect::<Vec<_>>();
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
            begun = match self.heard(self.ledger().definition(name))? {
                None => {
                    let token = self.inner.shared.node().token();
                    Some(self.heard(ledger::begin(self.ledger(), name, position, token))?)
                }
                // Before it is served, since others could mint below `first` if this failed.
                Some(bound) if bound == definition.to_string() => Some(self.begin_bound(name, position)?),
                // The binding says why not.
                Some(_) => None,
            };
            Ok(())
        })?;
        let begun = match begun {
            Some(begun) => begun,
            None => self.begin_bound(name, position)?,
        };
        Ok((handle, begun))
    }

    /// Serves a name whose kind needs no ledger to mint ([`Definition::needs_ledger`]) before it is bound, for use
    /// while the ledger does not answer.
    ///
    /// The IDs are unique by themselves: nothing is reserved for them, so no mark can be missed. The ledger only makes
    /// sure that the name has the same definition on every node. Until [`bind_late`](Self::bind_late) has succeeded,
    /// that depends on equal configurations. Meanwhile [`define`](Self::define) returns the same handle, and binds nothing.
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
    /// [`DefineError`]; `Invalid` if the kind needs a ledger, or if its form is sealed and has no key to seal with.
    pub fn define_unbound(&self, name: &Name, definition: &Definition) -> Result<Handle, DefineError> {
        definition.check()?;
        check_form(definition)?;
        // A name that leaves no room for its keys could never be bound.
        key_names(name, definition)?;
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

    /// Binds a name that [`define_unbound`](Self::define_unbound) has served. If the ledger has another definition or
    /// another sealing key, or if the name was retired, the floe stops serving the name, and the caller must drop its
    /// handles. [`define_unbound`](Self::define_unbound) has an example.
    ///
    /// # Errors
    /// [`DefineError`], as for [`define`](Self::define).
    pub fn bind_late(&self, name: &Name, definition: &Definition) -> Result<(), DefineError> {
        let bound = self.bind_with_keys(name, definition, || Ok(()));
        if let Err(
            DefineError::Mismatch { .. } | DefineError::AnotherKey { .. } | DefineError::Retired { .. },
        ) = bound
        {
            let mut names = lock(&self.inner.names);
            // Meanwhile it may have been defined anew, as the ledger has it.
            if matches!(served(&names, name, definition), Ok(Some(_))) {
                names.remove(name);
            }
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
        // Whoever is woken may define names.
        let _wakes = Hold::new();
        // Under the lock under which names are made.
        let mut names = lock(&self.inner.names);
        let Some(handle) = names.get(name) else { return true };
        let node = || shared.node();
        let gone = match (handle.numbers().get::<Segment>(), handle.definition().unformed()) {
            (Some(segment), _) => node().unload_segment(&segment.numbers.shared, &shared.clock),
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
        let token = inner.shared.node().token();
        let request = Reserve::beginning(Key::name(name), position, token, false);
        Ok(match self.heard(inner.shared.ledger.reserve(&request))? {
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
        let stored = self.heard(self.ledger().definition(name))?;
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

    /// Passes on what the ledger answered, once every name is stopped if the ledger must not be used any more.
    fn heard<T>(&self, answer: Result<T, LedgerError>) -> Result<T, LedgerError> {
        answer.inspect_err(|error| self.on_ledger_error(error))
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
        if !shared.node().checks_clock() {
            return Ok(None);
        }
        let asked = shared.clock.look();
        let said = self.heard(shared.ledger.clock())?;
        let now = shared.clock.hear(said, asked.mono, asked.stamp.era());
        shared.signal.raise();
        match shared.node().apart(&now) {
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
    /// [`close_async`](Self::close_async) first. A waker that closes or drops it on one of the floe's own threads does
    /// not block: the threads end after it.
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

    /// The realm's id; empty until the ledger has answered once.
    fn realm_id(&self) -> String {
        let Inner { shared, realm_id, .. } = &*self.inner;
        if let Some(id) = realm_id.get() {
            return id.clone();
        }
        shared.ledger.realm_id().map_or_else(|_| String::new(), |id| realm_id.get_or_init(|| id).clone())
    }

    /// Returns the time of the steady clock, by which IDs are minted. It is the `steady` of [`status`](Self::status),
    /// and cheaper to read.
    pub fn steady_time(&self) -> UnixMillis {
        self.inner.shared.clock.look().stamp.time()
    }
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
mod tests;
