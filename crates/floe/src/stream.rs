//! The positions of one layout: time and sequence, without the worker id.
//!
//! The names that share a layout draw from one stream. The last position is the state; which one comes next is a
//! function of it and of the time.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::IdRepr;
use crate::clock::Stamp;
use crate::cursor::{Draw, Drawn, Owned};
use crate::error::{MintError, Stopped};
use crate::in_hand::{InHand, next_size};
use crate::layout::{IdRun, Layout, LayoutError, Placer};
use crate::mutation::mutate;
use crate::pulse::Beat;
use crate::shared_cursor::SharedCursor;
use crate::signal::Signal;
use crate::sync::{AtomicU64, Ordering};
use crate::time::UnixMillis;

/// Where a tick's sequence begins. It is written as `zero`, `random:100` or `rolling`.
///
/// With `Zero`, a name that mints at most once a tick yields only even IDs, so a table that is sharded by `id % 2`
/// fills one shard.
///
/// ```
/// use floe::Start;
/// assert_eq!("random:100".parse(), Ok(Start::Random(100)));
/// assert!("random:0".parse::<Start>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// At 0.
    Zero,
    /// At a random number below this one, which is at least 1 (Leaf: 100). A tick that follows a full one begins at 0.
    Random(u64),
    /// One after the last ID's sequence, so that `id % 2^k` is evenly spread at any rate. A tick whose sequence begins
    /// high ends early, and the next one begins ahead of the clock. So it needs a `max_ahead` of at least a tick.
    Rolling,
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero => f.write_str("zero"),
            Self::Random(below) => write!(f, "random:{below}"),
            Self::Rolling => f.write_str("rolling"),
        }
    }
}

impl FromStr for Start {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            None if text == "zero" => Ok(Self::Zero),
            None if text == "rolling" => Ok(Self::Rolling),
            Some(("random", below)) => match below.parse() {
                Ok(below) if below >= 1 => Ok(Self::Random(below)),
                _ => Err(format!("start \"{text}\": the number behind \"random:\" must be 1 or more")),
            },
            _ => Err(format!("start {text:?} is not \"zero\", \"random:100\" or \"rolling\"")),
        }
    }
}

/// See the module.
pub(crate) struct Stream {
    pub(crate) layout: Layout,
    pub(crate) start: Start,
    ahead_ms: u64,
    ahead_ticks: u64,
    /// How many positions there are in the clock's tick and those that may be run ahead to.
    reach: u64,
    random: AtomicU64,
    pub(crate) shared: SharedCursor,
}

impl Stream {
    /// The default where a tick's sequence begins: rolling, where the stream may run a tick ahead. Elsewhere it would
    /// wait out the tick, so the sequence begins at random in the first sixty-fourth.
    pub(crate) fn default_start(layout: &Layout, ahead_ms: u64) -> Start {
        match ahead_ms >= layout.tick_millis() {
            true => Start::Rolling,
            false => Start::Random((layout.per_tick() / 64).max(1)),
        }
    }

    /// # Errors
    /// A sequence start that the layout or `max_ahead` does not allow.
    pub(crate) fn check_start(layout: &Layout, start: Start, ahead_ms: u64) -> Result<(), String> {
        let tick = layout.tick_millis();
        match start {
            Start::Rolling if ahead_ms < tick => Err(format!(
                "start \"rolling\" needs max_ahead of at least one tick ({tick} ms), and it is {ahead_ms} ms: raise max_ahead, or take \"random:{}\"",
                (layout.per_tick() / 64).max(1)
            )),
            Start::Random(0) => Err(format!(
                "start \"random:0\" leaves no number to begin at: take \"zero\", or \"random:{}\"",
                (layout.per_tick() / 64).max(1)
            )),
            Start::Random(below) if below > layout.per_tick() => Err(format!(
                "start \"random:{below}\" is more than the {} that a tick has",
                layout.per_tick()
            )),
            _ => Ok(()),
        }
    }

    /// A stream whose start was checked.
    pub(crate) fn new(layout: Layout, start: Start, ahead_ms: u64, seed: u64, signal: Arc<Signal>) -> Self {
        let tick = layout.tick_millis();
        Self {
            start,
            ahead_ms,
            ahead_ticks: ahead_ms / tick,
            reach: (ahead_ms / tick).saturating_add(1).saturating_mul(layout.per_tick()),
            random: AtomicU64::new(seed),
            shared: SharedCursor::new(0, signal),
            layout,
        }
    }

    /// How far minted ticks may run ahead of the steady clock.
    pub(crate) fn ahead_ms(&self) -> u64 {
        self.ahead_ms
    }

    /// From now on, mints in the window `[start, end)` (Unix milliseconds) of a worker's slot, in the ticks that lie
    /// entirely inside it (I3). A new worker id begins with a new tick, so that its IDs are larger than those of the
    /// last one.
    pub(crate) fn own(&self, worker: u64, start: u64, end: u64, era: u64) {
        let cursor = &self.shared.cursor;
        let span = UnixMillis::from_position(start)..UnixMillis::from_position(end);
        let span = mutate!(span, TicksRoundedOutward => {
            let outward = self.layout.tick_millis().cast_signed() - 1;
            span.start.plus(-outward)..span.end.plus(outward)
        });
        let ticks = self.layout.ticks_inside(span.start, span.end);
        let owned = Owned { current: self.layout.positions(&ticks), tag: worker, era, ..Owned::default() };
        if cursor.owned().tag != worker || cursor.next().is_none() {
            cursor.close();
            let last = cursor.floor().saturating_sub(1);
            let tick = self.layout.tick_of(last) + u64::from(self.layout.sequence_of(last) > 0);
            let fresh = if tick < self.layout.ticks() {
                self.layout.position(tick, self.first_sequence())
            } else {
                self.layout.end_position()
            };
            cursor.publish(&owned, fresh);
        } else {
            cursor.publish(&owned, 0);
        }
    }

    /// The first sequence number of a new stream. `Rolling` begins at a random one: from 0, processes that mint one
    /// ID and end would mint only even IDs.
    fn first_sequence(&self) -> u64 {
        match self.start {
            Start::Rolling => self.random() % self.layout.per_tick(),
            Start::Zero | Start::Random(_) => 0,
        }
    }

    /// Closes the cursor. Returns the start of the first tick from which nothing was drawn.
    pub(crate) fn close(&self) -> Option<UnixMillis> {
        let cursor = &self.shared.cursor;
        let next = mutate!(cursor.close(), GiveBackBeforeClose => cursor.next())?;
        let tick = self.layout.tick_of(next) + u64::from(self.layout.sequence_of(next) > 0);
        Some(self.layout.time_of(tick))
    }

    /// How many ticks begin within `millis` milliseconds after a time.
    pub(crate) fn ticks_within(&self, time: UnixMillis, millis: u64) -> u64 {
        let into = self.layout.tick_at(time).map_or(0, |tick| time.since(self.layout.time_of(tick)));
        u64::try_from(into).unwrap_or(0).saturating_add(millis) / self.layout.tick_millis()
    }

    /// How many positions come due within `millis` milliseconds, where nothing is drawn ahead: surely, and at best.
    pub(crate) fn most_within(&self, millis: u64) -> (u64, u64) {
        let (tick, per_tick) = (self.layout.tick_millis(), self.layout.per_tick());
        // How much of the first tick may be skipped.
        let skipped = match self.start {
            Start::Zero => 0,
            Start::Random(below) => below - 1,
            Start::Rolling => per_tick - 1,
        };
        let positions =
            |ticks: u64| self.ahead_ticks.saturating_add(ticks).saturating_add(1).saturating_mul(per_tick);
        (positions(millis / tick) - skipped, positions(millis.div_ceil(tick)))
    }

    /// Draws up to `count` positions (all if `whole`), from ticks at most `further` ticks past what may run ahead.
    ///
    /// # Errors
    /// A time that the layout has no tick for.
    #[inline]
    pub(crate) fn draw(
        &self,
        stamp: Stamp,
        count: u64,
        whole: bool,
        further: u64,
    ) -> Result<Draw, MintError> {
        let now = match self.layout.position_at(stamp.time()) {
            Ok(now) => now,
            Err(error) => return Err(self.no_tick(&error)),
        };
        match self.draw_from(now, stamp.era(), count, whole, further) {
            Draw::NeedRange if self.shared.cursor.next() >= Some(self.layout.end_position()) => {
                Err(self.used_up())
            }
            draw => Ok(draw),
        }
    }

    /// One ID, if there is no need to wait or to report an error.
    #[inline(always)]
    pub(crate) fn mint_one<I: IdRepr>(&self, stamp: Stamp) -> Option<I> {
        match self.mint_leased(stamp) {
            None => self.mint_and_lease(stamp),
            minted => minted,
        }
    }

    /// The same, by a lease only.
    #[inline(always)]
    pub(crate) fn mint_leased<I: IdRepr>(&self, stamp: Stamp) -> Option<I> {
        let (position, key) = self.shared.cursor.draw_leased(stamp)?;
        Some(I::place_in_tick(&self.layout, position, key))
    }

    /// Grants a lease after a draw of one position by this stamp.
    pub(crate) fn lease(&self, stamp: Stamp) {
        if let Ok(now) = self.layout.position_at(stamp.time()) {
            self.lease_from(now, stamp);
        }
    }

    /// `now` is the first position of the stamp's tick.
    fn lease_from(&self, now: u64, stamp: Stamp) {
        let (layout, limit) = (&self.layout, self.limit(now, 0));
        self.shared.cursor.grant(stamp, now, 0, |next, worker| {
            let end_of_tick = next - layout.sequence_of(next) + layout.per_tick();
            (limit.min(end_of_tick), layout.tick_key(next, worker))
        });
    }

    #[cold]
    fn mint_and_lease<I: IdRepr>(&self, stamp: Stamp) -> Option<I> {
        let now = self.layout.position_at(stamp.time()).ok()?;
        match self.draw_from(now, stamp.era(), 1, true, 0) {
            Draw::Got(drawn) => {
                self.lease_from(now, stamp);
                Some(I::place(&self.layout, drawn.start, drawn.tag))
            }
            Draw::Later(_) | Draw::NeedRange => None,
        }
    }

    /// The first position that may not be drawn yet.
    #[inline(always)]
    fn limit(&self, now: u64, further: u64) -> u64 {
        let further = mutate!(further, DrawnEarly => further + 1);
        let reach = self.reach.saturating_add(further.saturating_mul(self.layout.per_tick()));
        now.saturating_add(reach).min(self.layout.end_position())
    }

    /// `now` is the first position of the clock's tick.
    #[inline(always)]
    fn draw_from(&self, now: u64, era: u64, count: u64, whole: bool, further: u64) -> Draw {
        let (layout, limit) = (&self.layout, self.limit(now, further));
        self.shared.cursor.draw(era, count, whole, limit, move |next| match self.start {
            _ if next >= now => next,
            Start::Zero => now,
            Start::Random(below) => now + self.random() % below,
            Start::Rolling => now + layout.sequence_of(next),
        })
    }

    /// When the steady clock allows `position` to be handed out.
    pub(crate) fn due(&self, position: u64) -> UnixMillis {
        let tick = self.layout.tick_of(position);
        self.layout.time_of(tick.saturating_sub(self.ahead_ticks))
    }

    /// After this stamp, the positions of a minter's chunk must not be used.
    pub(crate) fn expiry(&self, drawn_at: Stamp) -> Stamp {
        drawn_at.plus(self.layout.tick_millis() + self.ahead_ms)
    }

    /// Why no position may be drawn by this stamp, whatever was reserved.
    pub(crate) fn barred(&self, stamp: Stamp) -> Option<MintError> {
        match self.layout.position_at(stamp.time()) {
            Err(error) => Some(self.no_tick(&error)),
            Ok(_) if self.shared.cursor.next() >= Some(self.layout.end_position()) => Some(self.used_up()),
            Ok(_) => None,
        }
    }

    #[cold]
    fn no_tick(&self, error: &LayoutError) -> MintError {
        match error {
            LayoutError::PastHorizon { .. } => self.used_up(),
            error => MintError::Stopped(Stopped::clock(format!("{error}: set the clock right"))),
        }
    }

    #[cold]
    fn used_up(&self) -> MintError {
        MintError::Exhausted(format!(
            "the time bits of the layout \"{}\" ran out at {}: bind a new name to a layout with more of them, or with a later epoch. Its IDs can equal the old ones unless its first one is larger (`floe layout` shows it) or it has a table of its own",
            self.layout,
            self.layout.horizon()
        ))
    }

    /// SplitMix64 (Steele, Lea, Flood 2014): numbers that need to be spread, not unguessable.
    fn random(&self) -> u64 {
        let mut mixed = self.random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

/// Positions that one minter has drawn ahead of need.
#[derive(Debug)]
pub(crate) struct Chunk<I> {
    /// Those of the tick that it has come to.
    in_hand: InHand<I>,
    next: u64,
    end: u64,
    tag: u64,
    expiry: Stamp,
    size: u64,
}

impl<I: IdRepr> Chunk<I> {
    pub(crate) fn new(stream: &Stream) -> Self {
        let in_hand = InHand::new(&stream.shared.cursor);
        Self { in_hand, next: 0, end: 0, tag: 0, expiry: Stamp::default(), size: 1 }
    }

    /// See [`InHand::take_again`].
    #[inline(always)]
    pub(crate) fn take_again(&mut self) -> Option<I> {
        self.in_hand.take_again()
    }

    /// A stamp, and the next ID by it, while there is one that is not stale. `now` reads the stamp, and says whether the
    /// clock keeps it at hand.
    pub(crate) fn take_by<E>(
        &mut self,
        stream: &Stream,
        now: impl FnOnce() -> Result<(Stamp, bool), E>,
    ) -> Result<(Stamp, Option<I>), E> {
        // Before the clock.
        let pulse = self.in_hand.pulse();
        let (stamp, kept) = now()?;
        Ok((stamp, self.take(stream, stamp, kept.then_some(pulse))))
    }

    fn take(&mut self, stream: &Stream, stamp: Stamp, seen: Option<Beat>) -> Option<I> {
        if !self.is_good(stream, stamp) {
            return None;
        }
        if self.in_hand.is_empty() && self.next < self.end {
            let (run, count) = placer(&stream.layout, self.tag).run(self.next, self.end - self.next);
            self.in_hand.go_on(run);
            self.next += count;
        }
        self.in_hand.take(seen)
    }

    /// Whether its positions may be minted by this stamp.
    fn is_good(&self, stream: &Stream, stamp: Stamp) -> bool {
        let expired = mutate!(mutate!(stamp > self.expiry, OldChunkUsed => false), ChunkOutlivesItsEra => stamp.millis() > self.expiry.millis());
        !expired && self.in_hand.is_current(&stream.shared.cursor)
    }

    /// Draws the next chunk. The rest of the old one is never minted.
    ///
    /// # Errors
    /// Those of [`Stream::draw`].
    pub(crate) fn refill(&mut self, stream: &Stream, stamp: Stamp) -> Result<Option<Draw>, MintError> {
        let used = self.in_hand.is_empty() && self.next == self.end;
        self.size = next_size(self.size, used, stream.layout.per_tick());
        match stream.draw(stamp, self.size, false, 0)? {
            Draw::Got(Drawn { start, count, tag, version, .. }) => {
                (self.next, self.end, self.tag) = (start, start + count, tag);
                self.in_hand.drawn(IdRun::default(), version);
                self.expiry = stream.expiry(stamp);
                Ok(None)
            }
            draw => Ok(Some(draw)),
        }
    }

    /// How many of its positions were not minted.
    #[cfg(test)]
    pub(crate) fn left(&self) -> u64 {
        self.in_hand.len() + (self.end - self.next)
    }
}

/// What makes IDs of the positions of a window.
#[expect(
    clippy::expect_used,
    reason = "a window's worker id fits the layout, or it would not have been reserved"
)]
pub(crate) fn placer<I: IdRepr>(layout: &Layout, worker: u64) -> Placer<I> {
    layout.placer(worker).expect("the worker id of a window fits its layout")
}

#[cfg(test)]
mod tests;
