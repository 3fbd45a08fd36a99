//! Minting MongoDB's ObjectIds.

use std::sync::Arc;
use std::time::Duration;

use floe_id::kind::ObjectId;

use super::origin::{Late, Origin};
use super::process::COUNTER_BITS;
use super::run::PastLimit;
use super::{Mint, MintError, as_texts, check_count};
use crate::definition::{LedgerlessRules, Row, Rules};

const LARGEST_COUNTER: u64 = (1 << COUNTER_BITS) - 1;
/// How far IDs may run ahead of the clock, if more than 2^24 are minted in a second.
const AHEAD_SECONDS: u64 = 1;

pub(crate) static ROW: Row = Row {
    word: "objectid",
    aliases: &[],
    settings: &[],
    options: &[],
    has_time: true,
    rules: Rules::Ledgerless(LedgerlessRules {
        bits: Some(96),
        write: |number| format!("{number:024x}"),
        ..LedgerlessRules::plain(
            |_, text| Ok(text.parse::<ObjectId>()?.into()),
            |_| Ok(as_texts(ObjectIdGenerator::new(), number)),
        )
    }),
};

fn number(id: &ObjectId) -> Option<u128> {
    Some(id.to_bytes().iter().fold(0, |number, byte| number << 8 | u128::from(*byte)))
}

/// Mints ObjectIds as MongoDB's drivers do (specifications, `source/bson-objectid`): five random bytes that the whole
/// process shares, and a counter that begins at random and is incremented by one with each ID.
///
/// Each ID is larger than the one before in the process. If the clock goes back, the second stays and the counter goes
/// on. If the counter wraps within a second, the next ID has the next second, at most one ahead of the clock. Beyond
/// that, minting returns [`MintError::Busy`]. So no counter value repeats within a second. In MongoDB's own drivers it
/// does after 2^24 IDs in a second (one in 60 ns).
///
/// The five bytes change by [`invalidate`](super::invalidate), and when the clock shows that the process was suspended.
/// IDs of that second are then in no order.
///
/// ```
/// use floe::kind::{Mint, ObjectIdGenerator};
/// let ids = ObjectIdGenerator::new();
/// let (one, next) = (ids.mint()?, ids.mint()?);
/// assert_eq!(one.random(), next.random());
/// assert!(one < next);
/// # Ok::<(), floe::MintError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ObjectIdGenerator {
    origin: Arc<Origin>,
}

impl ObjectIdGenerator {
    /// Makes a generator with the operating system's clock and randomness. All generators of a process share the
    /// counter.
    pub fn new() -> Self {
        Self::of(Origin::system())
    }

    pub(super) const fn of(origin: Arc<Origin>) -> Self {
        Self { origin }
    }

    /// The position behind the last one, if the time is at hand and no new second has begun: so nearly every ID is drawn.
    #[inline(always)]
    fn draw_at_once(&self) -> Option<u64> {
        let seconds = self.origin.millis_at_hand()? / 1_000;
        let latest = u32::try_from(seconds + AHEAD_SECONDS).ok()?;
        let limit = u64::from(latest) << COUNTER_BITS | LARGEST_COUNTER;
        self.origin.process.run.next(seconds << COUNTER_BITS, limit)
    }

    /// The first of `count` consecutive positions.
    #[inline]
    fn draw(&self, count: u64) -> Result<u64, MintError> {
        let seconds = self.origin.millis()? / 1_000;
        self.draw_at(seconds, count)?.or_else(|_| self.draw_late(count))
    }

    /// The five bytes, to be asked for after the last look at the clock: those from before it are a copy's, too, where the
    /// clock tells of one.
    #[inline]
    fn random(&self) -> Result<u64, MintError> {
        self.origin.process.random(&self.origin.random)
    }

    /// [`ObjectIdGenerator::draw`] for when too many IDs have been minted for the cached time.
    #[cold]
    fn draw_late(&self, count: u64) -> Result<u64, MintError> {
        let drawn = self.origin.draw_late(|millis| self.draw_at(millis / 1_000, count))?;
        drawn.map_err(|Late { last, millis }| {
            // The second at which the last position is within reach, and the next one with it.
            let due = ((last >> COUNTER_BITS) + 1).saturating_sub(AHEAD_SECONDS) * 1_000;
            MintError::Busy { retry: Duration::from_millis(due.saturating_sub(millis).max(1)) }
        })
    }

    #[inline]
    fn draw_at(&self, seconds: u64, count: u64) -> Result<Result<u64, PastLimit>, MintError> {
        let run = &self.origin.process.run;
        let latest = seconds + AHEAD_SECONDS;
        if latest > u64::from(u32::MAX) {
            return Err(MintError::Exhausted(
                "the 32 bits of an ObjectId's seconds end on 2106-02-07: take another kind".to_owned(),
            ));
        }
        // The counter begins at random once, and then goes on over the seconds.
        let start = match run.last() {
            0 => Some(self.origin.random.word()? >> (u64::BITS - COUNTER_BITS)),
            _ => None,
        };
        Ok(run.draw(count, latest << COUNTER_BITS | LARGEST_COUNTER, |last| match (last, start) {
            (0, Some(start)) => seconds << COUNTER_BITS | start,
            _ if seconds > last >> COUNTER_BITS => {
                let counter = last & LARGEST_COUNTER;
                seconds << COUNTER_BITS | if counter == LARGEST_COUNTER { 0 } else { counter + 1 }
            }
            _ => 0,
        }))
    }
}

impl Default for ObjectIdGenerator {
    fn default() -> Self {
        Self::new()
    }
}

impl Mint for ObjectIdGenerator {
    type Id = ObjectId;

    #[inline(always)]
    fn mint(&self) -> Result<ObjectId, MintError> {
        let position = match self.draw_at_once() {
            Some(position) => position,
            None => self.draw(1)?,
        };
        Ok(compose(position, self.random()?))
    }

    fn mint_many(&self, count: u64) -> Result<Vec<ObjectId>, MintError> {
        let first = self.draw(check_count(count)?)?;
        let random = self.random()?;
        Ok((first..first + count).map(|position| compose(position, random)).collect())
    }
}

/// `position` is the second and, in its lowest 24 bits, the counter; `random` has 40 bits.
#[inline]
fn compose(position: u64, random: u64) -> ObjectId {
    let [_, s0, s1, s2, s3, c0, c1, c2] = position.to_be_bytes();
    let [_, _, _, r0, r1, r2, r3, r4] = random.to_be_bytes();
    ObjectId::from_bytes([s0, s1, s2, s3, r0, r1, r2, r3, r4, c0, c1, c2])
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The short path, which is one swap.
    #[test]
    fn the_next_id_of_a_time_at_hand_is_drawn_at_once() {
        let ids = ObjectIdGenerator::of(Origin::standing());
        assert_eq!(ids.draw_at_once(), None, "the counter begins at random");
        let first = ids.draw(1).unwrap();
        assert_eq!([(); 3].map(|()| ids.draw_at_once()), [1, 2, 3].map(|more| Some(first + more)));
        let minted = [(); 3].map(|()| u64::from(ids.mint().unwrap().counter()));
        assert_eq!(minted, [4, 5, 6].map(|more| (first + more) & LARGEST_COUNTER), "and none is left out");
    }
}
