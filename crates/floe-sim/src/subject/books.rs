//! The auditor's books beside the ledger and beside each process, and the rules that it checks.
//!
//! Nothing here asks floe what it thinks. Ranges come from the ledger's answers, and IDs from what callers got. The
//! auditor compares the two.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use floe::ledger::{Key, Reply, Reserve, Token};
use floe::manual::Op;
use floe::{MonoMillis, Reading, UnixMillis};

use super::names::{self, AHEAD_MS, Bits, COUNT, INVOICE, NAMES, TICKETS};
use crate::model::{Fleet, Life, Micros};

/// The record that a mark belongs to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Mark {
    Slot { bits: u32, worker: u64 },
    Name(usize),
}

impl Mark {
    pub(super) fn of(key: &Key) -> Option<Self> {
        Self::named(key.as_str())
    }

    pub(super) fn named(key: &str) -> Option<Self> {
        if let Some((bits, worker)) = Key::parse_slot(key) {
            return Some(Self::Slot { bits, worker });
        }
        let name = key.strip_prefix(Key::NAMES)?;
        NAMES.iter().position(|info| info.label == name).map(Self::Name)
    }
}

impl std::fmt::Display for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Slot { worker, .. } => write!(f, "slot {worker}"),
            Self::Name(name) => f.write_str(NAMES[*name].label),
        }
    }
}

/// The marks as they must be.
#[derive(Clone, Default)]
pub(super) struct Marks(BTreeMap<Mark, Entry>);

/// The book beside the ledger.
#[derive(Default)]
pub(super) struct LedgerBook {
    marks: Marks,
    /// Ranges that may be handed out again, because the ledger lost its memory of them.
    repeats: Vec<(Mark, Range<u64>)>,
    /// Processes that are copies of others and could not notice it.
    copies: Vec<Life>,
    /// Rules that the ledger broke.
    broken: Vec<String>,
}

#[derive(Clone, Default)]
struct Entry {
    mark: u64,
    last: Option<(Token, Range<u64>, Asker)>,
    /// The tokens that were seen last: a network may repeat a request long after its answer.
    tokens: VecDeque<Token>,
}

/// A life, and how often it had dropped its ranges when it asked.
pub(super) type Asker = (Life, u32);

impl Entry {
    fn remember(&mut self, token: Token) {
        self.tokens.truncate(MOST_TOKENS);
        self.tokens.push_front(token);
    }
}

impl LedgerBook {
    /// The ledger answered a reservation. `steady` is the asking process's clock when it asked.
    pub(super) fn reserved(
        &mut self,
        by: Asker,
        request: &Reserve,
        reply: &Reply,
        steady: u64,
        window_ms: u64,
    ) {
        let Some(mark) = Mark::of(&request.key) else { return };
        let entry = self.marks.0.entry(mark).or_default();
        let Reserve { floor, count, max_mark, token, note, .. } = request;
        match reply {
            Reply::Got { start, end, previous_mark } => {
                if let Some((last, range, earlier)) = &entry.last
                    && last == token
                {
                    let copied = self.copies.contains(&by.0) || self.copies.contains(&earlier.0);
                    if earlier.0 != by.0 && copied {
                        // The memory was copied during this reservation, and both processes asked again.
                        self.repeats.push((mark, range.clone()));
                    }
                    if *earlier != by && !copied {
                        self.broken.push(format!(
                            "{mark}: {by:?} asked with a token of {earlier:?}, whose era has ended: its copy may do so too (I2)"
                        ));
                    }
                    if *range != (*start..*end) {
                        self.broken
                            .push(format!("{mark}: a retry got {start}..{end} instead of {range:?} (I2)"));
                    }
                    return;
                }
                let expected = entry.mark.max(*floor);
                if *start != expected || *end != expected + count || *previous_mark != entry.mark {
                    self.broken.push(format!(
                        "{mark}: the mark was {}, the floor {floor}, and the ledger answered {start}..{end} with the mark {previous_mark} before (I1, I2)",
                        entry.mark
                    ));
                }
                // At most two windows: the current one and the next.
                if matches!(mark, Mark::Slot { .. }) && *end > steady + 2 * window_ms + 1 {
                    self.broken.push(format!(
                        "the mark of {mark} ran away: it is at {end}, {} ms ahead of the clock of the process that moved it, whose windows are {window_ms} ms",
                        end - steady
                    ));
                }
                entry.remember(*token);
                entry.mark = *end;
                entry.last = Some((*token, *start..*end, by));
            }
            Reply::Refused { mark: told, .. } => {
                if *told != entry.mark || told <= max_mark {
                    self.broken.push(format!(
                        "{mark}: refused at {told}, where the mark was {} and up to {max_mark} would do",
                        entry.mark
                    ));
                }
                let renewal = matches!(mark, Mark::Slot { .. }) && note.is_none();
                if let Some((_, range, earlier)) = &entry.last
                    && renewal
                    && !entry.tokens.contains(token)
                    && *earlier == by
                    && self.repeats.is_empty()
                    && range.end == *told
                {
                    self.broken.push(format!(
                        "a renewal of {mark} was refused on account of a reservation of the same process: it lost a slot to itself"
                    ));
                }
                entry.remember(*token);
            }
        }
    }

    pub(super) fn given_back(&mut self, key: &Key, token: Token, from: u64, took: bool) {
        let Some(mark) = Mark::of(key) else { return };
        let entry = self.marks.0.entry(mark).or_default();
        let fits = entry.last.as_ref().is_some_and(|(last, range, _)| {
            *last == token && (range.start..=range.end).contains(&from) && range.end == entry.mark
        });
        if took && !fits {
            self.broken.push(format!(
                "{mark}: a tail from {from} was taken back although somebody has reserved since (I1)"
            ));
        }
        if took {
            (entry.mark, entry.last) = (from, None);
        }
    }

    /// The marks as they must be now.
    pub(super) fn marks(&self) -> Marks {
        self.marks.clone()
    }

    /// The ledger was put back to an earlier state. Ranges handed out since then may be handed out again.
    pub(super) fn forgot(&mut self, then: &Marks) {
        let now = std::mem::replace(&mut self.marks, then.clone());
        for (mark, entry) in now.0 {
            let left = self.marks.0.get(&mark).map_or(0, |entry| entry.mark);
            if left < entry.mark {
                self.repeats.push((mark, left..entry.mark));
            }
        }
    }

    /// A record was deleted.
    pub(super) fn deleted(&mut self, mark: Mark) {
        let mut then = self.marks.clone();
        then.0.remove(&mark);
        self.forgot(&then);
    }

    /// Two processes own this now: a machine was copied and could not notice.
    pub(super) fn copied(&mut self, copy: Life, owned: impl Iterator<Item = (Mark, Range<u64>)>) {
        self.copies.push(copy);
        self.repeats.extend(owned);
    }

    /// Whether all slots that a node might take have a mark past `steady`: only `worker`, or all of these bits.
    pub(super) fn are_taken(&self, bits: u32, worker: Option<u64>, steady: u64) -> bool {
        let taken = |worker| {
            let entry = self.marks.0.get(&Mark::Slot { bits, worker });
            entry.is_some_and(|entry| entry.mark > steady)
        };
        match worker {
            Some(worker) => taken(worker),
            None => (0..1 << bits).all(taken),
        }
    }

    pub(super) fn is_copy(&self, life: Life) -> bool {
        self.copies.contains(&life)
    }

    pub(super) fn may_repeat(&self, minted: Option<(Mark, Range<u64>)>) -> bool {
        let touch = |a: &Range<u64>, b: &Range<u64>| a.start < b.end && b.start < a.end;
        minted.is_some_and(|(mark, span)| {
            self.repeats.iter().any(|(of, range)| *of == mark && touch(range, &span))
        })
    }

    pub(super) fn take_broken(&mut self) -> Vec<String> {
        std::mem::take(&mut self.broken)
    }
}

const MOST_TOKENS: usize = 100;

/// The book beside a process.
#[derive(Clone)]
pub(super) struct LifeBook {
    owned: Vec<Owned>,
    /// For each mark: the last end that it held, without what it gave back, and the last request sent before that answer.
    ends: BTreeMap<Mark, (u64, u64)>,
    /// Marks for which it could notice that the ledger went backwards: it must mint nothing more from them.
    must_stop: Vec<Mark>,
    /// How far it has minted.
    minted: BTreeMap<Mark, u64>,
    /// Its requests, with the world's numbers and its own.
    asked: VecDeque<Asked>,
    last: Reading,
    ran: Micros,
    /// How often its wall clock moved against the monotonic one.
    moves: u32,
    /// The last answer about the ledger's clock (`None` if the ledger has none), when that was asked, and how often the
    /// process's own clock had moved then.
    ledger_clock: Option<(Option<UnixMillis>, MonoMillis, u32)>,
}

#[derive(Clone)]
struct Owned {
    mark: Mark,
    range: Range<u64>,
    /// When it learnt of the range, and how often its clock had moved when it asked.
    since: Micros,
    moves: u32,
}

#[derive(Clone)]
pub(super) struct Asked {
    number: u64,
    pub(super) call: u64,
    pub(super) wants: Wants,
    at: MonoMillis,
    moves: u32,
    open: bool,
}

/// The subject of a ledger call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wants {
    /// A reservation from this mark.
    Mark(Mark),
    /// A question for the ledger's clock.
    Clock,
    /// A give-back.
    Nothing,
}

/// If the clock moves by at least this much, the process must notice that it was copied.
const NOTICED_MS: u64 = 1_000;
const LATE_MS: u64 = 150;
/// If an answer comes more than this many requests late, the network has repeated it.
const MOST_ASKED: usize = 64;

impl LifeBook {
    pub(super) fn new(first: Reading) -> Self {
        Self {
            owned: Vec::new(),
            ends: BTreeMap::new(),
            must_stop: Vec::new(),
            minted: BTreeMap::new(),
            asked: VecDeque::new(),
            last: first,
            ran: 0,
            moves: 0,
            ledger_clock: None,
        }
    }

    /// The process reads its clocks. Returns whether the wall clock moved against the monotonic one.
    pub(super) fn look(&mut self, now: Reading, ran: Micros) -> bool {
        let elapsed = i64::try_from(now.mono.since(self.last.mono)).unwrap_or(i64::MAX);
        let moved = now.wall.since(self.last.wall).abs_diff(elapsed) > NOTICED_MS;
        self.moves += u32::from(moved);
        (self.last, self.ran) = (now, ran);
        moved
    }

    pub(super) fn owned(&self) -> impl Iterator<Item = (Mark, Range<u64>)> {
        self.owned.iter().map(|owned| (owned.mark, owned.range.clone()))
    }

    /// It sends a request to the ledger.
    ///
    /// # Errors
    /// It gives back a tail from which it has minted (I1).
    pub(super) fn asks(&mut self, number: u64, call: u64, op: &Op) -> Result<(), String> {
        if self.asked.len() >= MOST_ASKED {
            self.asked.pop_front();
        }
        let wants = match op {
            Op::Reserve(request) | Op::Count(request) => {
                Mark::of(&request.key).map_or(Wants::Nothing, Wants::Mark)
            }
            Op::Clock => Wants::Clock,
            Op::GiveBack { .. } => Wants::Nothing,
        };
        let (at, moves) = (self.last.mono, self.moves);
        self.asked.push_back(Asked { number, call, wants, at, moves, open: true });
        let Op::GiveBack { key, from, .. } = op else { return Ok(()) };
        let Some(mark) = Mark::of(key) else { return Ok(()) };
        for owned in self.owned.iter_mut().filter(|owned| owned.mark == mark) {
            owned.range.end = owned.range.end.min(*from);
        }
        if let Some((end, _)) = self.ends.get_mut(&mark) {
            *end = (*end).min(*from);
        }
        match self.minted.get(&mark) {
            Some(minted) if minted > from => {
                Err(format!("gives {mark} back from {from} on, although it has minted up to {minted} (I1)"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn asked(&self, number: u64) -> Option<&Asked> {
        self.asked.iter().rev().find(|asked| asked.number == number)
    }

    /// The process learns that a reservation got a range.
    pub(super) fn hears(&mut self, number: u64, reply: Option<&Reply>) -> Option<(Mark, Range<u64>)> {
        let moves = self.moves;
        let latest = self.asked.back()?.number;
        let asked = self.asked.iter_mut().rev().find(|asked| asked.number == number)?;
        if !std::mem::take(&mut asked.open) {
            return None;
        }
        let (Wants::Mark(mark), Some(Reply::Got { start, end, previous_mark })) = (asked.wants, reply) else {
            return None;
        };
        let asked_in = asked.moves;
        // Answers to requests from before the clock moved are dropped unread.
        if asked_in == moves {
            // Of two answers that were requested at once, the later one may show the older mark.
            match self.ends.get(&mark) {
                Some((_, latest)) if number <= *latest => {}
                last => {
                    if last.is_some_and(|(last, _)| previous_mark < last) {
                        self.must_stop.push(mark);
                    }
                    self.ends.insert(mark, (*end, latest));
                }
            }
        }
        let (range, since) = (*start..*end, self.ran);
        match self.owned.iter_mut().rev().find(|owned| owned.mark == mark && owned.range.end == *start) {
            Some(owned) if owned.moves == asked_in => (owned.range.end, owned.since) = (*end, since),
            _ => self.owned.push(Owned { mark, range: range.clone(), since, moves: asked_in }),
        }
        Some((mark, range))
    }

    /// The process learns the time of the ledger's clock.
    pub(super) fn hears_clock(&mut self, number: u64, said: Option<UnixMillis>) {
        let asked = self.asked.iter_mut().rev().find(|asked| asked.number == number);
        let Some(asked) = asked else { return };
        // An answer is useless if it was requested before the clock moved, or if it is a repetition.
        if std::mem::take(&mut asked.open) && asked.moves == self.moves {
            self.ledger_clock = Some((said, asked.at, asked.moves));
        }
    }

    /// How far `time` is ahead of the latest time that the ledger's clock may show. `None` if the process cannot know,
    /// because it has not asked since its own clock moved.
    pub(super) fn ahead_of_ledger(&self, time: u64) -> Option<u64> {
        let (said, asked, _) = self.ledger_clock.filter(|(.., moves)| *moves == self.moves)?;
        let Some(said) = said.and_then(UnixMillis::position) else { return Some(0) };
        Some(time.saturating_sub(said + self.last.mono.since(asked)))
    }

    /// A caller gets an ID of `mark`, from `span`.
    ///
    /// # Errors
    /// The rule that this breaks.
    pub(super) fn minted(&mut self, mark: Mark, span: &Range<u64>) -> Result<(), String> {
        if self.must_stop.contains(&mark) {
            return Err(format!(
                "minted {span:?} of {mark} although it could see that the ledger had gone backwards there (I1)"
            ));
        }
        let inside = |it: &Owned| it.mark == mark && it.range.start <= span.start && span.end <= it.range.end;
        if !self.owned.iter().rev().any(inside) {
            let mine: Vec<_> =
                self.owned.iter().filter(|it| it.mark == mark).map(|it| it.range.clone()).collect();
            return Err(format!("minted {span:?} of {mark}, and it holds {mine:?} there (I3, I5)"));
        }
        let minted = self.minted.entry(mark).or_default();
        *minted = (*minted).max(span.end);
        Ok(())
    }

    /// Whether a caller gets an ID that was reserved before the process could notice that it may be a copy.
    pub(super) fn is_of_an_ended_era(&self, mark: Mark, span: &Range<u64>) -> bool {
        let inside = |it: &Owned| it.mark == mark && it.range.start <= span.start && span.end <= it.range.end;
        let held = || self.owned.iter().rev().filter(|owned| inside(owned));
        held().next().is_some() && !held().any(|owned| owned.moves == self.moves)
    }

    /// Whether a caller that waited this long could have had this ID for a while already.
    pub(super) fn was_late(&self, mark: Mark, span: &Range<u64>, waited_ms: u64, steady: u64) -> bool {
        let of = |it: &&Owned| it.mark == mark && it.range.contains(&span.start);
        let (since, start) =
            self.owned.iter().rev().find(of).map_or((0, 0), |owned| (owned.since, owned.range.start));
        let due = match mark {
            Mark::Slot { bits, .. } => start.max(self.minted_elsewhere(bits, mark)),
            _ => 0,
        };
        waited_ms > LATE_MS && self.ran.saturating_sub(since) > LATE_MS * 1_000 && due + LATE_MS <= steady
    }

    /// How far it has minted in its other slots: the IDs of a life keep their order, also where its time went back and it
    /// got another slot.
    fn minted_elsewhere(&self, bits: u32, mark: Mark) -> u64 {
        let others = self.minted.iter().filter(|(of, _)| **of != mark);
        let others = others.filter(|(of, _)| matches!(of, Mark::Slot { bits: its, .. } if *its == bits));
        others.map(|(_, end)| *end).max().unwrap_or(0)
    }

    /// Whether it has held time for a while in which it could mint now, even if it were as far ahead as allowed.
    pub(super) fn has_window(&self, bits: &Bits, steady: u64) -> bool {
        self.owned.iter().rev().any(|it| {
            matches!(it.mark, Mark::Slot { bits: of, .. } if of == bits.worker)
                && it.moves == self.moves
                && it.range.start + bits.tick_ms <= steady
                && steady + 2 * bits.tick_ms + AHEAD_MS <= it.range.end
                && !self.must_stop.contains(&it.mark)
        })
    }

    /// How often it has dropped its ranges.
    pub(super) fn moves(&self) -> u32 {
        self.moves
    }

    /// Drops everything that was reserved so far.
    pub(super) fn drop_all(&mut self) {
        self.moves += 1;
    }
}

/// The mark that an ID came from, and its positions: milliseconds of a slot, numbers of a name.
pub(super) fn span(name: usize, id: u128, fleet: &Fleet, odd: bool) -> Option<(Mark, Range<u64>)> {
    if let Some(Bits { worker, sequence, tick_ms, epoch_ms }) = names::bits(name, fleet) {
        let id = u64::try_from(id).ok()?;
        // An odd node's `orders`, if its definition was bound first.
        let sequence = if odd && name == 0 { sequence - 1 } else { sequence };
        let start = epoch_ms + (id >> (worker + sequence)) * tick_ms;
        let mark = Mark::Slot { bits: worker, worker: id >> sequence & ((1 << worker) - 1) };
        return Some((mark, start..start + tick_ms));
    }
    let position = match name {
        TICKETS => u64::try_from(id).ok()?.checked_sub(1)? / if odd { 3 } else { 2 },
        COUNT => u64::try_from(id).ok()?.checked_sub(1)?,
        INVOICE => {
            let day = u64::try_from(id >> 64).ok()?;
            let count = u64::try_from(id & u128::from(u64::MAX)).ok()?;
            (days(day / 10_000, day / 100 % 100, day % 100) << 40) + count.checked_sub(1)?
        }
        _ => return None,
    };
    Some((Mark::Name(name), position..position + 1))
}

/// Days from 1970-01-01 to a date of the Gregorian calendar (Howard Hinnant, "chrono-compatible low-level date
/// algorithms", days_from_civil).
fn days(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Whether a tick that begins at `start` may be handed out when the steady clock shows `steady`.
pub(super) fn is_due(start: u64, steady: u64, bits: &Bits) -> bool {
    // Whole ticks: the clock's current tick has begun, and the ticks that minting may run ahead follow it.
    start <= steady + AHEAD_MS.max(bits.tick_ms)
}
