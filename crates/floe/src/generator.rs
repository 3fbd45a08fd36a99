//! Snowflake generators: from drawn positions to IDs.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::batch::{Batch, fill, until_error};
use crate::clock::{Clock, Stamp};
use crate::cursor::{Draw, Drawn};
use crate::driver::Link;
use crate::error::MintError;
use crate::layout::{Layout, LayoutError, Parts};
use crate::mutation::mutate;
use crate::name::Name;
use crate::stream::{Chunk, Stream};
use crate::time::UnixMillis;
use crate::wait::{self, Attempt, Step, Waiters};
use crate::{Id, IdRepr};

/// Mints snowflake IDs under one name, from any number of threads.
///
/// Cheap to clone, lock-free. It keeps its floe open, as a clone of the [`Floe`](crate::Floe) does. Two calls of which one begins after the other has returned yield increasing IDs;
/// names that share a layout share the order and the IDs' uniqueness.
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
    /// The one in `shared`, without the way there.
    clock: Arc<Clock>,
    id: PhantomData<fn() -> I>,
}

/// What a try that does not wait came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome<T> {
    /// Minted.
    Ready(T),
    /// All that may be minted up to now has been: try again when the steady clock is here.
    WaitUntil(UnixMillis),
    /// The window has run out. Another one has been asked for.
    NeedWindow,
}

/// One thread's own view of a [`Generator`]: it draws chunks, and mints from them without touching anything shared.
///
/// Its IDs are strictly increasing. Those of two minters interleave within a tick + `max_ahead`.
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

    /// The name.
    pub fn name(&self) -> &Name {
        &self.name
    }

    pub(crate) fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// The layout.
    pub fn layout(&self) -> &Layout {
        &self.stream.layout
    }

    /// Mints one ID, waiting at most `max_wait`.
    ///
    /// # Errors
    /// [`MintError`]; after `Busy` and `Unavailable` it is worth asking again.
    #[inline]
    pub fn mint(&self) -> Result<I, MintError> {
        if let Some(stamp) = self.clock.at_hand()
            && let Some((position, worker)) = self.stream.draw_one(stamp)
        {
            return Ok(self.place(position, worker));
        }
        self.mint_slowly()
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
    /// # Errors
    /// [`MintError`].
    pub fn try_mint(&self) -> Result<Outcome<I>, MintError> {
        self.try_mint_at(self.shared.stamp()?)
    }

    pub(crate) fn try_mint_at(&self, stamp: Stamp) -> Result<Outcome<I>, MintError> {
        if let Some((position, worker)) = self.stream.draw_leased(stamp) {
            return Ok(Outcome::Ready(self.place(position, worker)));
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
                self.stream.line.want(1);
                self.stream.line.check()?;
                Outcome::NeedWindow
            }
        })
    }

    /// Mints one ID in a future, on any runtime. A future that is dropped wastes at most the ID.
    ///
    /// # Errors
    /// [`MintError`].
    pub async fn mint_async(&self) -> Result<I, MintError> {
        let many = MintMany::new(self, 1);
        let drawn = wait::wait(many, &*self.shared, self.shared.max_wait_ms).await?;
        Ok(self.place(drawn.start, drawn.tag))
    }

    /// Mints `count` IDs in one step: 1 to [`Generator::max_batch`]. The batch is an iterator that holds two numbers,
    /// however many there are.
    ///
    /// # Errors
    /// [`MintError`]; `Count` names the most.
    pub fn mint_many(&self, count: u64) -> Result<Batch<I>, MintError> {
        let drawn = wait::block(self.many(count)?, &*self.shared, self.shared.max_wait_ms)?;
        Ok(self.batch(drawn))
    }

    /// Mints an ID for each place of `ids`, at most [`Generator::max_batch`], in one step: about as fast as memory takes them.
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
    /// [`MintError`], after which no place was written: all are filled or none. `Count` names the most.
    pub fn fill(&self, ids: &mut [I]) -> Result<(), MintError> {
        fill(ids, |count| self.mint_many(count))
    }

    /// [`Generator::mint_many`] in a future, on any runtime.
    ///
    /// # Errors
    /// [`MintError`].
    pub async fn mint_many_async(&self, count: u64) -> Result<Batch<I>, MintError> {
        let drawn = wait::wait(self.many(count)?, &*self.shared, self.shared.max_wait_ms).await?;
        Ok(self.batch(drawn))
    }

    /// `count` IDs if that needs no wait.
    ///
    /// # Errors
    /// [`MintError`].
    pub fn try_mint_many(&self, count: u64) -> Result<Option<Batch<I>>, MintError> {
        self.many(count)?;
        match self.draw_at(self.shared.stamp()?, count)? {
            Draw::Got(drawn) => Ok(Some(self.batch(drawn))),
            _ => Ok(None),
        }
    }

    /// A view of this generator for one thread, which mints several times as fast.
    pub fn minter(&self) -> Minter<I> {
        Minter { chunk: Chunk::new(&self.stream), generator: self.clone() }
    }

    /// Takes an ID of this layout apart.
    ///
    /// # Errors
    /// [`LayoutError`] where it has bits outside the layout.
    pub fn inspect(&self, id: I) -> Result<Parts, LayoutError> {
        self.stream.layout.split(id.to_u128())
    }

    /// Drops every window and segment of this floe, in all its generators and minters, before the next ID. To be
    /// called where a process was copied and only the caller can know: in a clone of a live VM, in a forked child.
    pub fn invalidate(&self) {
        self.shared.invalidate();
    }

    #[inline]
    fn draw_at(&self, stamp: Stamp, count: u64) -> Result<Draw, MintError> {
        self.stream.draw(stamp, count, true, 0)
    }

    fn many(&self, count: u64) -> Result<MintMany<'_, I>, MintError> {
        let max = self.max_batch();
        match (1..=max).contains(&count) {
            true => Ok(MintMany::new(self, count)),
            false => Err(MintError::Count { asked: count, max }),
        }
    }

    /// The most IDs that one call mints: what half a window holds, or what comes due within `max_wait` where that is
    /// less.
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
    /// Mints one ID, waiting at most `max_wait`.
    ///
    /// # Errors
    /// [`MintError`].
    #[inline]
    pub fn mint(&mut self) -> Result<I, MintError> {
        match self.take_again() {
            Some(id) => Ok(id),
            None => self.mint_slowly(),
        }
    }

    #[inline(always)]
    fn take_again(&mut self) -> Option<I> {
        self.chunk.take_again(&self.generator.stream, self.generator.clock.word())
    }

    /// IDs one after the other, to no end but the first error, which is the last thing that comes:
    /// `for id in minter.ids().take(50_000_000)`.
    pub fn ids(&mut self) -> impl Iterator<Item = Result<I, MintError>> {
        until_error(|| self.mint())
    }

    /// Mints one ID if that needs no wait.
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
            let stamp = generator.shared.stamp()?;
            if let Some(id) = self.chunk.take(&generator.stream, stamp) {
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

/// A draw of positions that follow one another, and the wait until the last of them is due.
struct MintMany<'a, I: IdRepr> {
    generator: &'a Generator<I>,
    count: u64,
    drawn: Option<(Drawn, u64)>,
    /// Whether it was a window that was missing the last time.
    needs_window: bool,
    /// When the clock allows it, if it was the clock that was waited for the last time.
    due: Option<UnixMillis>,
}

impl<'a, I: IdRepr> MintMany<'a, I> {
    fn new(generator: &'a Generator<I>, count: u64) -> Self {
        Self { generator, count, drawn: None, needs_window: false, due: None }
    }
}

impl<I: IdRepr> Attempt for MintMany<'_, I> {
    type Output = Drawn;

    fn attempt(&mut self) -> Result<Step<Drawn>, MintError> {
        let Self { generator, count, drawn, needs_window, due } = self;
        let (stream, shared) = (&generator.stream, &generator.shared);
        let stamp = shared.look()?;
        let until = |due: UnixMillis| u64::try_from(due.since(stamp.time())).unwrap_or(0);
        // A batch that was drawn before the era ended is not handed out.
        *drawn = drawn.filter(|&(_, era)| mutate!(era == stamp.era(), BatchOutlivesItsEra => true));
        if drawn.is_none() {
            let further = shared.max_wait_ms / stream.layout.tick_millis();
            let draw = stream.draw(stamp, *count, true, if *count > 1 { further } else { 0 })?;
            (*needs_window, *due) = (draw == Draw::NeedRange, None);
            match draw {
                Draw::Got(got) => *drawn = Some((got, stamp.era())),
                Draw::Later(position) => {
                    let at = stream.due(position);
                    *due = Some(at);
                    return Ok(Step::Wait { millis: Some(until(at).max(1)) });
                }
                Draw::NeedRange => {
                    stream.line.want(*count);
                    stream.line.check()?;
                    return Ok(Step::Wait { millis: None });
                }
            }
        }
        match drawn {
            Some((got, _)) => {
                let at = stream.due(got.start + got.count - 1);
                match mutate!(until(at), BatchHandedOutEarly => until(at).saturating_sub(stream.layout.tick_millis()))
                {
                    0 => Ok(Step::Ready(*got)),
                    millis => {
                        *due = Some(at);
                        Ok(Step::Wait { millis: Some(millis) })
                    }
                }
            }
            None => Ok(Step::Wait { millis: Some(1) }),
        }
    }

    fn waiters(&self) -> &Waiters {
        &self.generator.stream.line.waiters
    }

    fn give_up(&mut self) -> MintError {
        self.generator.shared.too_late(&self.generator.stream.line, self.needs_window, self.due)
    }
}
