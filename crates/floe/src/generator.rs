//! Snowflake generators: from drawn positions to IDs.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::batch::{Batch, fill, until_error};
use crate::clock::{Clock, ClockState, SLEW, Stamp};
use crate::cursor::{Draw, Drawn};
use crate::driver::{Link, busy};
use crate::error::MintError;
use crate::layout::{Layout, LayoutError, Parts};
use crate::mutation::mutate;
use crate::name::Name;
use crate::segment::check_count;
use crate::shared_cursor::BlockReason;
use crate::stream::{Chunk, Stream};
use crate::time::{MonoMillis, UnixMillis};
use crate::wait::{self, Alarms, Attempt, Step, Waiters};
use crate::{Id, IdRepr};

/// Mints snowflake IDs under one name, from any number of threads.
///
/// It is lock-free, and a clone is cheap. It keeps its floe open, as a clone of the [`Floe`](crate::Floe) does.
///
/// If one call begins after another has returned, its ID is larger. Names that share a layout share this order, and
/// their IDs differ from each other too.
///
/// ```
/// use floe::{Floe, Layout, ledger::Memory};
/// let floe = Floe::open(Memory::default())?;
/// let orders = floe.snowflake("orders", Layout::TWITTER)?;
/// assert!(orders.mint()? < orders.mint()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Generator<I: IdRepr = Id> {
    name: Name,
    stream: Arc<Stream>,
    shared: Link,
    /// The clock of `shared`, held here to save an indirection.
    clock: Arc<Clock>,
    id: PhantomData<fn() -> I>,
}

/// The result of a try that does not wait.
///
/// ```
/// use floe::{Floe, Layout, Outcome, ledger::Memory};
/// let orders = Floe::open(Memory::default())?.snowflake("orders", Layout::TWITTER)?;
/// match orders.try_mint()? {
///     Outcome::Ready(id) => println!("{id}"),
///     Outcome::WaitUntil(time) => println!("nothing is due before {time}"),
///     Outcome::NeedWindow => println!("the floe is asking the ledger for a window"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome<T> {
    /// The ID was minted.
    Ready(T),
    /// Every ID that is due by now is minted. Try again when the steady clock shows this time.
    WaitUntil(UnixMillis),
    /// The window has run out, and the floe has asked for another one. Try again later.
    NeedWindow,
}

/// Mints from a [`Generator`] for one thread. It draws chunks of IDs, and mints from them without touching anything
/// shared.
///
/// Its IDs are strictly increasing. The IDs of two minters interleave within a tick plus twice
/// [`max_ahead`](crate::NameOptions::max_ahead).
///
/// ```
/// use floe::{Floe, Layout, ledger::Memory};
/// let orders = Floe::open(Memory::default())?.snowflake("orders", Layout::TWITTER)?;
/// let mut minter = orders.minter();
/// assert!(minter.mint()? < minter.mint()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It cannot be cloned, since a clone would hand out the same IDs:
///
/// ```compile_fail,E0599
/// fn again(minter: floe::Minter) -> floe::Minter {
///     minter.clone()
/// }
/// ```
pub struct Minter<I: IdRepr = Id> {
    generator: Generator<I>,
    chunk: Chunk<I>,
}

impl<I: IdRepr> Generator<I> {
    pub(crate) fn new(name: Name, stream: Arc<Stream>, shared: Link) -> Self {
        Self { name, stream, clock: Arc::clone(&shared.clock), shared, id: PhantomData }
    }

    /// Returns the name.
    pub fn name(&self) -> &Name {
        &self.name
    }

    pub(crate) fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// Returns the layout.
    pub fn layout(&self) -> &Layout {
        &self.stream.layout
    }

    /// Mints one ID. It waits at most [`Builder::max_wait`](crate::Builder::max_wait).
    ///
    /// ```
    /// use floe::{Floe, Layout};
    /// let (floe, _clock) = Floe::fixed(7, "2026-11-23T10:00:00Z".parse()?)?;
    /// let orders = floe.snowflake("orders", Layout::TWITTER)?;
    /// assert_eq!(orders.mint()?.get(), 2124805152568274944);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MintError`]; after `Busy` and `Unavailable` a retry can succeed.
    #[inline]
    pub fn mint(&self) -> Result<I, MintError> {
        match self.mint_at_once() {
            Some(id) => Ok(id),
            None => self.mint_slowly(),
        }
    }

    /// One ID if the time is at hand and nothing has to be waited for.
    #[inline(always)]
    fn mint_at_once(&self) -> Option<I> {
        self.stream.mint_one(self.clock.at_hand()?)
    }

    #[cold]
    fn mint_slowly(&self) -> Result<I, MintError> {
        match self.draw_at(self.shared.stamp()?, 1)? {
            Draw::Got(drawn) => Ok(self.place(drawn.start, drawn.tag)),
            _ => self.mint_patiently(),
        }
    }

    fn mint_patiently(&self) -> Result<I, MintError> {
        let many = MintMany::new(self, 1);
        let batch = wait::block(many, &*self.shared, self.shared.max_wait_ms)?;
        Ok(self.place(batch.start, batch.tag))
    }

    /// Mints one ID if that needs no wait.
    ///
    /// ```
    /// use floe::{Floe, Layout, Outcome, ledger::Memory};
    /// let orders = Floe::open(Memory::default())?.snowflake("orders", Layout::TWITTER)?;
    /// let first = orders.mint()?;
    /// if let Outcome::Ready(next) = orders.try_mint()? {
    ///     assert!(next > first);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MintError`].
    pub fn try_mint(&self) -> Result<Outcome<I>, MintError> {
        self.try_mint_at(self.shared.stamp()?)
    }

    pub(crate) fn try_mint_at(&self, stamp: Stamp) -> Result<Outcome<I>, MintError> {
        if let Some(id) = self.stream.mint_leased(stamp) {
            return Ok(Outcome::Ready(id));
        }
        let draw = self.draw_at(stamp, 1)?;
        if matches!(draw, Draw::Got(_)) {
            self.stream.lease(stamp);
        }
        self.outcome(draw)
    }

    fn outcome(&self, draw: Draw) -> Result<Outcome<I>, MintError> {
        Ok(match draw {
            Draw::Got(drawn) => Outcome::Ready(self.place(drawn.start, drawn.tag)),
            Draw::Later(position) => Outcome::WaitUntil(self.stream.due(position)),
            Draw::NeedRange => {
                self.stream.shared.want(1);
                self.stream.shared.check()?;
                Outcome::NeedWindow
            }
        })
    }

    /// [`mint`](Self::mint) as a future, on any runtime. Dropping the future wastes at most the ID.
    ///
    /// ```
    /// # fn block_on<F: Future>(future: F) -> F::Output {
    /// #     let mut future = std::pin::pin!(future);
    /// #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// #     loop {
    /// #         match future.as_mut().poll(&mut context) {
    /// #             std::task::Poll::Ready(output) => return output,
    /// #             std::task::Poll::Pending => std::thread::yield_now(),
    /// #         }
    /// #     }
    /// # }
    /// # block_on(async {
    /// use floe::{Floe, Layout, ledger::Memory};
    /// let orders = Floe::open_async(Memory::default()).await?.snowflake_async("orders", Layout::TWITTER).await?;
    /// assert!(orders.mint_async().await? < orders.mint_async().await?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`MintError`], as for [`mint`](Self::mint).
    pub async fn mint_async(&self) -> Result<I, MintError> {
        if let Some(id) = self.mint_at_once() {
            return Ok(id);
        }
        let many = MintMany::new(self, 1);
        let drawn = wait::wait(many, &*self.shared, self.shared.max_wait_ms).await?;
        Ok(self.place(drawn.start, drawn.tag))
    }

    /// Mints `count` IDs in one step, 1 to [`max_batch`](Self::max_batch). The batch is an iterator that holds two
    /// numbers, whatever the count. It waits at most [`Builder::max_wait`](crate::Builder::max_wait).
    ///
    /// ```
    /// use floe::{Floe, Layout, MintError, ledger::Memory};
    /// let orders = Floe::open(Memory::default())?.snowflake("orders", Layout::TWITTER)?;
    /// let ids: Vec<_> = orders.mint_many(1_000)?.collect();
    /// assert!(ids.len() == 1_000 && ids.is_sorted());
    /// assert!(matches!(orders.mint_many(0), Err(MintError::Count { asked: 0, .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MintError`]; `Count` says how many IDs one call can mint. `Busy` comes at once if the batch cannot be had within
    /// that wait, and says when it can.
    pub fn mint_many(&self, count: u64) -> Result<Batch<I>, MintError> {
        if let Some(batch) = self.try_mint_many(count)? {
            return Ok(batch);
        }
        let drawn = wait::block(MintMany::new(self, count), &*self.shared, self.shared.max_wait_ms)?;
        Ok(self.batch(drawn))
    }

    /// Mints an ID for each place of `ids` in one step, at most [`Generator::max_batch`]. It runs about as fast as
    /// memory can be written.
    ///
    /// ```
    /// use floe::{Floe, Id, Layout, ledger::Memory};
    /// let orders = Floe::open(Memory::default())?.snowflake("orders", Layout::TWITTER)?;
    /// let mut ids = vec![Id::MAX; 1_000];
    /// orders.fill(&mut ids)?;
    /// assert!(ids.is_sorted_by(|one, next| one < next));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MintError`]; then no place was written. `Count` says how many IDs one call can mint.
    pub fn fill(&self, ids: &mut [I]) -> Result<(), MintError> {
        fill(ids, |count| self.mint_many(count))
    }

    /// [`mint_many`](Self::mint_many) as a future, on any runtime.
    ///
    /// ```
    /// # fn block_on<F: Future>(future: F) -> F::Output {
    /// #     let mut future = std::pin::pin!(future);
    /// #     let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    /// #     loop {
    /// #         match future.as_mut().poll(&mut context) {
    /// #             std::task::Poll::Ready(output) => return output,
    /// #             std::task::Poll::Pending => std::thread::yield_now(),
    /// #         }
    /// #     }
    /// # }
    /// # block_on(async {
    /// use floe::{Floe, Layout, ledger::Memory};
    /// let orders = Floe::open(Memory::default())?.snowflake("orders", Layout::TWITTER)?;
    /// assert_eq!(orders.mint_many_async(1_000).await?.len(), 1_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`MintError`], as for [`mint_many`](Self::mint_many).
    pub async fn mint_many_async(&self, count: u64) -> Result<Batch<I>, MintError> {
        if let Some(batch) = self.try_mint_many(count)? {
            return Ok(batch);
        }
        let drawn = wait::wait(MintMany::new(self, count), &*self.shared, self.shared.max_wait_ms).await?;
        Ok(self.batch(drawn))
    }

    /// Mints `count` IDs, 1 to [`max_batch`](Self::max_batch), if that needs no wait. `None` means that it would have
    /// to wait.
    ///
    /// ```
    /// use floe::{Floe, Layout, ledger::Memory};
    /// let orders = Floe::open(Memory::default())?.snowflake("orders", Layout::TWITTER)?;
    /// let ids = match orders.try_mint_many(10)? {
    ///     Some(ids) => ids,
    ///     None => orders.mint_many(10)?, // no window is reserved yet: this call waits for one
    /// };
    /// assert_eq!(ids.len(), 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MintError`].
    pub fn try_mint_many(&self, count: u64) -> Result<Option<Batch<I>>, MintError> {
        check_count(count, self.max_batch())?;
        match self.draw_at(self.shared.stamp()?, count)? {
            Draw::Got(drawn) => Ok(Some(self.batch(drawn))),
            _ => Ok(None),
        }
    }

    /// Returns a minter for one thread, which mints several times as fast.
    ///
    /// ```
    /// use floe::{Floe, Layout, ledger::Memory};
    /// let orders = Floe::open(Memory::default())?.snowflake("orders", Layout::TWITTER)?;
    /// let last = std::thread::spawn({
    ///     let mut minter = orders.minter();
    ///     move || minter.mint()
    /// });
    /// assert_ne!(last.join().unwrap()?, orders.mint()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn minter(&self) -> Minter<I> {
        Minter { chunk: Chunk::new(&self.stream), generator: self.clone() }
    }

    /// Takes an ID of this layout apart into time, node fields and sequence.
    ///
    /// ```
    /// use floe::{Floe, Layout};
    /// let (floe, clock) = Floe::fixed(7, "2026-11-23T10:00:00Z".parse()?)?;
    /// let orders = floe.snowflake("orders", Layout::TWITTER)?;
    /// let parts = orders.inspect(orders.mint()?)?;
    /// assert_eq!((parts.time, parts.worker), (clock.now(), 7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`LayoutError`] if the ID has bits outside the layout.
    pub fn inspect(&self, id: I) -> Result<Parts, LayoutError> {
        self.stream.layout.split(id.to_u128())
    }

    /// Discards every window and segment of this floe, in all its generators and minters, before the next ID. Call it
    /// in a process that was copied while it ran, if floe cannot notice the copy by itself, such as a clone of a live
    /// VM. A forked child has no threads of the floe, and opens a new one.
    /// [`Floe::invalidate`](crate::Floe::invalidate) has an example; it also covers the kinds without a ledger.
    pub fn invalidate(&self) {
        self.shared.invalidate();
    }

    #[inline]
    fn draw_at(&self, stamp: Stamp, count: u64) -> Result<Draw, MintError> {
        self.stream.draw(stamp, count, true, 0)
    }

    /// Returns the largest count for one call. It is what half a window holds, or what comes due within
    /// [`Builder::max_wait`](crate::Builder::max_wait) if that is less. While the clock is slowed down, after it was set back, a
    /// call that waits so long mints up to a twentieth less, and says so.
    ///
    /// ```
    /// use floe::{Floe, Layout, ledger::Memory};
    /// let orders = Floe::open(Memory::default())?.snowflake("orders", Layout::TWITTER)?;
    /// assert_eq!(orders.max_batch(), 1_000 * 4_096); // a second of 4,096 IDs a millisecond
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn max_batch(&self) -> u64 {
        let millis = (self.shared.window_ms / 2).min(self.shared.max_wait_ms);
        let ticks = (millis / self.stream.layout.tick_millis()).max(1);
        ticks.saturating_mul(self.stream.layout.per_tick())
    }

    #[inline]
    fn place(&self, position: u64, worker: u64) -> I {
        I::place(&self.stream.layout, position, worker)
    }

    fn batch(&self, drawn: Drawn) -> Batch<I> {
        Batch::of_layout(&self.stream.layout, drawn)
    }
}

impl<I: IdRepr> Clone for Generator<I> {
    fn clone(&self) -> Self {
        Self::new(self.name.clone(), Arc::clone(&self.stream), self.shared.clone())
    }
}

impl<I: IdRepr> std::fmt::Debug for Generator<I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Generator({}, {})", self.name, self.stream.layout)
    }
}

impl<I: IdRepr> Minter<I> {
    /// Mints one ID. It waits at most [`Builder::max_wait`](crate::Builder::max_wait). [`Minter`] has an example.
    ///
    /// # Errors
    /// [`MintError`]; after `Busy` and `Unavailable` a retry can succeed.
    #[inline]
    pub fn mint(&mut self) -> Result<I, MintError> {
        match self.take_again() {
            Some(id) => Ok(id),
            None => self.mint_slowly(),
        }
    }

    #[inline(always)]
    fn take_again(&mut self) -> Option<I> {
        self.chunk.take_again()
    }

    /// Returns an iterator over new IDs. It does not end by itself; the first error is its last item.
    ///
    /// ```
    /// use floe::{Floe, Layout, ledger::Memory};
    /// let orders = Floe::open(Memory::default())?.snowflake("orders", Layout::TWITTER)?;
    /// let ids = orders.minter().ids().take(10_000).collect::<Result<Vec<_>, _>>()?;
    /// assert!(ids.len() == 10_000 && ids.is_sorted());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ids(&mut self) -> impl Iterator<Item = Result<I, MintError>> {
        until_error(|| self.mint())
    }

    /// Mints one ID if that needs no wait.
    ///
    /// ```
    /// use floe::{Floe, Layout, Outcome, ledger::Memory};
    /// let mut minter = Floe::open(Memory::default())?.snowflake("orders", Layout::TWITTER)?.minter();
    /// let first = minter.mint()?;
    /// if let Outcome::Ready(next) = minter.try_mint()? {
    ///     assert!(next > first);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MintError`].
    pub fn try_mint(&mut self) -> Result<Outcome<I>, MintError> {
        match self.take_again() {
            Some(id) => Ok(Outcome::Ready(id)),
            None => self.take(),
        }
    }

    fn take(&mut self) -> Result<Outcome<I>, MintError> {
        let generator = &self.generator;
        loop {
            let (stamp, id) = self.chunk.take_by(&generator.stream, || {
                let stamp = generator.shared.stamp()?;
                Ok::<_, MintError>((stamp, generator.clock.keeps(stamp)))
            })?;
            if let Some(id) = id {
                return Ok(Outcome::Ready(id));
            }
            if let Some(draw) = self.chunk.refill(&generator.stream, stamp)? {
                return generator.outcome(draw);
            }
        }
    }

    #[cold]
    fn mint_slowly(&mut self) -> Result<I, MintError> {
        match self.take()? {
            Outcome::Ready(id) => Ok(id),
            Outcome::WaitUntil(_) | Outcome::NeedWindow => self.generator.mint_patiently(),
        }
    }
}

/// A draw of consecutive positions, and the wait until the last of them is due. What is drawn is due while the caller
/// still waits: what it did not get would be lost to all.
struct MintMany<'a, I: IdRepr> {
    generator: &'a Generator<I>,
    count: u64,
    drawn: Option<(Drawn, u64)>,
    /// Whether the last attempt needed a window.
    needs_window: bool,
    /// When the clock allows it, if the last attempt waited for the clock.
    due: Option<UnixMillis>,
    /// The end of the caller's patience, from the first attempt on.
    until: Option<MonoMillis>,
}

impl<'a, I: IdRepr> MintMany<'a, I> {
    fn new(generator: &'a Generator<I>, count: u64) -> Self {
        Self { generator, count, drawn: None, needs_window: false, due: None, until: None }
    }
}

impl<I: IdRepr> Attempt for MintMany<'_, I> {
    type Output = Drawn;

    fn attempt(&mut self) -> Result<Step<Drawn>, MintError> {
        let Self { generator, count, drawn, needs_window, due, until: patience } = self;
        let (stream, shared) = (&generator.stream, &generator.shared);
        let now = shared.look()?;
        let stamp = now.stamp;
        // Read after the clock, so that what is left is no less than this.
        let mono = shared.mono();
        let until_then = *patience.get_or_insert_with(|| mono.plus(shared.max_wait_ms));
        let left = until_then.since(mono);
        let until = |due: UnixMillis| u64::try_from(due.since(stamp.time())).unwrap_or(0);
        // A batch that was drawn before the era ended is not handed out.
        *drawn = drawn.take().filter(|(_, era)| mutate!(*era == stamp.era(), BatchOutlivesItsEra => true));
        if drawn.is_none() {
            let further = match *count {
                1 => 0,
                _ => stream.ticks_within(stamp.time(), now.comes(left)),
            };
            let draw = stream.draw(stamp, *count, true, further)?;
            (*needs_window, *due) = (draw == Draw::NeedRange, None);
            match draw {
                Draw::Got(got) => *drawn = Some((got, stamp.era())),
                Draw::Later(position) if *count > 1 => {
                    // It will not be due in time: the clock and the end of the patience come nearer at one rate. Where the
                    // clock is slower for longer than callers wait, too large a batch never is.
                    let comes = now.comes(shared.max_wait_ms);
                    let holds_on = matches!(now.state, ClockState::Holding(behind) if behind > shared.max_wait_ms / SLEW);
                    let (surely, at_best) = stream.most_within(comes);
                    if holds_on && *count > at_best {
                        return Err(MintError::Count { asked: *count, max: surely });
                    }
                    let last = until(stream.due(position + *count - 1));
                    return Err(busy(last.saturating_sub(now.comes(shared.max_wait_ms))));
                }
                Draw::Later(position) => {
                    let at = stream.due(position);
                    *due = Some(at);
                    return Ok(Step::Wait { millis: Some(until(at).max(1)) });
                }
                Draw::NeedRange => {
                    stream.shared.want(*count);
                    stream.shared.check()?;
                    return Ok(Step::Wait { millis: None });
                }
            }
        }
        match drawn.take() {
            Some((got, era)) => {
                let at = stream.due(got.start + got.count - 1);
                match mutate!(until(at), BatchHandedOutEarly => until(at).saturating_sub(stream.layout.tick_millis()))
                {
                    0 => Ok(Step::Ready(got)),
                    millis => {
                        // Once the floe is closed, nobody wakes a future at its time.
                        if let Some(BlockReason::Stopped(stopped)) = stream.shared.trouble() {
                            return Err(MintError::Stopped(stopped));
                        }
                        (*drawn, *due) = (Some((got, era)), Some(at));
                        Ok(Step::Wait { millis: Some(millis) })
                    }
                }
            }
            None => Ok(Step::Wait { millis: Some(1) }),
        }
    }

    fn waiters(&self) -> &Waiters {
        &self.generator.stream.shared.waiters
    }

    fn give_up(&mut self) -> MintError {
        self.generator.shared.too_late(&self.generator.stream.shared, self.needs_window, self.due)
    }
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests;
