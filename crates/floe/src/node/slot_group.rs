//! Worker slots and the windows of time in them. One slot serves every layout with as many worker bits.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::ledger_clock::Gate;
use super::{NodeSettings, Op, Pause, Purpose, RequestQueue, went_back};
use crate::clock::{Clock, Now};
use crate::error::Stopped;
use crate::layout::Workers;
use crate::ledger::{Key, LedgerError, Reply, Reserve, Token};
use crate::mutation::mutate;
use crate::owner::Owner;
use crate::shared_cursor::BlockReason;
use crate::status::{NameState, SlotStatus};
use crate::stream::Stream;
use crate::time::{MonoMillis, UnixMillis};

/// How long a slot must have been quiet before a node takes it at first: its mark must be a window and this time in
/// the past. A node with a clock that is this much ahead must not take over live slots.
pub(crate) const QUIET_MS: u64 = 10_000;
/// How many slots a node probes before it says that all are taken.
pub(crate) const MOST_PROBED: u64 = 4_096;
/// How many of the slots at hand are probed before all others.
const MOST_AT_HAND: usize = 64;
/// After this many probes, the node takes the quietest probed slot with a window that has passed; only without one
/// does it probe more. So it finds a slot within this many round trips plus one, even if no slot has been quiet for
/// long, as after many restarts.
pub(crate) const PROBED_AT_ONCE: u64 = 64;
/// How soon to look again at a fixed slot, at a clock that is wrong, and at slots that were all taken for the first time.
const PROBE_AGAIN_MS: u64 = 1_000;
/// If all slots were taken, each later look probes at most this many, and continues where the last look ended:
/// waiting nodes must not become a load on the ledger. The time between looks doubles, up to the first of these if
/// one look sees every slot, otherwise up to the second. Each pause is shortened by up to a half at random.
pub(crate) const PROBED_AGAIN: u64 = 64;
const LOOKS_APART_MS: (u64, u64) = (2_000, 4_000);
/// A node waits for a slot that is free within this time, if there are few slots. It is shorter than what a live
/// holder always has left (half of the shortest window), and longer than a closed predecessor can have minted ahead.
const SOON_MS: u64 = 40;

/// The streams of layouts with one number of worker bits, and the slot that they mint in.
pub(crate) struct SlotGroup {
    pub(crate) bits: u32,
    pub(crate) workers: Workers,
    streams: Vec<Arc<Stream>>,
    held: Option<Held>,
    /// The acquisition under way; also while a lost slot is still held.
    acquiring: Option<Acquiring>,
    /// The last end that this process held in each slot (I1).
    ends: HashMap<u64, u64>,
    /// Slots with a deleted record. What was reserved in them is unknown, so the node skips them. A fixed slot is
    /// asked for once more, and then stops the node.
    deleted: BTreeSet<u64>,
    pause: Pause,
    /// Where the next look begins after all slots were taken.
    looked: Option<Look>,
    era: u64,
    wanted: bool,
    /// Whether reservations wait until the ledger's clock is known.
    awaits_clock: bool,
    trouble: Option<BlockReason>,
}

/// An order of all slots, how far a look has come in it without success, and how many looks there were.
#[derive(Clone, Copy)]
struct Look {
    first: u64,
    stride: u64,
    index: u64,
    times: u32,
}

/// A slot with a window of this node.
struct Held {
    worker: u64,
    /// Owned without a gap: `[start, end)` in Unix milliseconds.
    start: u64,
    end: u64,
    /// The last reservation: its token, and where it began.
    token: Token,
    reserved_at: u64,
    renewing: Option<(u64, Token)>,
    /// The token of a renewal that the ledger did not answer. The node repeats it until there is an answer, so that a
    /// reservation that took effect is not made twice, and marks cannot run away.
    unanswered: Option<Token>,
    /// Another node has reserved in this slot. This node mints to the end of its window and never renews it.
    lost: bool,
    /// The positions of the cursors at the last check whether anybody mints.
    seen: u64,
}

struct Acquiring {
    call: Option<u64>,
    worker: u64,
    token: Token,
    /// The ledger did not answer. The node asks for the same slot with the same token again, since it may already have it.
    repeat: bool,
    /// Probing visits `(first + index * stride) % count`: every slot once, in this node's own order.
    first: u64,
    stride: u64,
    index: u64,
    /// Up to where it visits them.
    most: u64,
    /// How many slots the first pass visits before the second pass tries those that refused.
    until: u64,
    /// The slots that refused since then, with their marks.
    refused: Vec<(u64, u64)>,
    /// The smallest mark in the future among the slots that refused: when the next slot may be free.
    least: Option<u64>,
    second_pass: Option<std::vec::IntoIter<u64>>,
    /// The slots that the ledger has at hand, to be probed before all others.
    at_hand: std::vec::IntoIter<u64>,
    /// Whether the slot being probed is one of them, and its holder was not checked yet.
    unjudged: bool,
    /// The mark of this node's own crashed run on a fixed slot, or on one at hand.
    own_mark: Option<u64>,
    /// A lower bound of the allowed mark in the slot being probed: where this node's own crashed run stopped.
    goes_on_at: u64,
}

impl SlotGroup {
    pub(crate) fn new(bits: u32, workers: Workers) -> Self {
        Self {
            bits,
            workers,
            streams: Vec::new(),
            held: None,
            acquiring: None,
            ends: HashMap::new(),
            deleted: BTreeSet::new(),
            pause: Pause::default(),
            looked: None,
            era: 0,
            wanted: false,
            awaits_clock: false,
            trouble: None,
        }
    }

    /// Adds a stream. It mints in the current window, if there is one.
    pub(crate) fn add(&mut self, stream: Arc<Stream>) {
        if let Some(held) = &self.held {
            stream.own(held.worker, held.start, held.end, self.era);
        }
        if let Some(trouble) = &self.trouble {
            stream.shared.set_trouble(Some(trouble.clone()));
        }
        self.streams.push(stream);
    }

    /// The state at a time of the steady clock.
    pub(crate) fn status(&self, steady: UnixMillis) -> SlotStatus {
        let window = self.window();
        let left = window.map_or(0, |(_, end)| u64::try_from(end.since(steady)).unwrap_or(0));
        SlotStatus {
            worker_bits: self.bits,
            worker: window.map(|(worker, _)| worker),
            window_end: window.map(|(_, end)| end),
            window_left_ms: left,
            deleted: self.deleted(),
            trouble: Some(NameState::of(self.trouble().cloned(), left))
                .filter(|state| *state != NameState::Ready),
        }
    }

    /// The worker id and the end of the window.
    pub(crate) fn window(&self) -> Option<(u64, UnixMillis)> {
        self.held.as_ref().map(|held| (held.worker, UnixMillis::from_position(held.end)))
    }

    /// The slots with a deleted record that this node knows of.
    pub(crate) fn deleted(&self) -> Vec<u64> {
        self.deleted.iter().copied().collect()
    }

    pub(crate) fn trouble(&self) -> Option<&BlockReason> {
        self.trouble.as_ref()
    }

    pub(crate) fn step(&mut self, index: usize, requests: &mut RequestQueue, now: &Now) {
        // All streams are asked, because each has its own flag to take.
        for stream in &self.streams {
            self.wanted |= stream.shared.take_wanted().is_some();
        }
        self.on_new_era(now);
        if now.refusal().is_some()
            || self.streams.is_empty()
            || matches!(self.trouble, Some(BlockReason::Stopped(_)))
        {
            return;
        }
        let (window, renew_idle) = (requests.settings.window_ms, requests.settings.renew_idle);
        let activity = self.activity();
        if let Some(held) = &mut self.held {
            let left = held.end.saturating_sub(now.stamp.millis());
            let due =
                left <= window / 2 && (renew_idle || activity != held.seen) || self.wanted && left <= window;
            held.seen = if left > window / 2 { activity } else { held.seen };
            if due && !held.lost && held.renewing.is_none() && self.pause.is_over(now.mono) {
                return self.renew(index, requests, now);
            }
        }
        // When the window of a lost slot is over, it is a slot like any other.
        self.held = self.held.take().filter(|held| !held.lost || held.end > now.stamp.millis());
        let needs_window = self.held.as_ref().is_none_or(|held| held.lost);
        let moves = self.workers.len() > 1 || self.held.is_none();
        if !self.pause.is_over(now.mono) {
            return;
        }
        if needs_window && moves && (self.wanted || renew_idle || self.held.is_some()) {
            self.acquire(index, requests, now);
        } else if !self.is_asking() {
            // Clears the old error. The next caller tries again.
            self.set_trouble(None);
        }
    }

    /// In a new era, the node neither mints nor gives back what was reserved before.
    fn on_new_era(&mut self, now: &Now) {
        if mutate!(now.stamp.era() == self.era, EraIgnored => true) {
            return;
        }
        for stream in &self.streams {
            stream.shared.cursor.close();
        }
        (self.held, self.acquiring, self.pause, self.era) = (None, None, Pause::default(), now.stamp.era());
        (self.awaits_clock, self.looked) = (false, None);
    }

    /// Whether any name mints here.
    pub(crate) fn is_used(&self) -> bool {
        !self.streams.is_empty()
    }

    pub(crate) fn wake_minters(&self) {
        self.streams.iter().for_each(|stream| stream.shared.waiters.wake());
    }

    /// Whether the clocks allow a window to be reserved. If not, waiting callers are told why.
    fn may_reserve(&mut self, requests: &mut RequestQueue, now: &Now) -> bool {
        let gate = requests.gate(now);
        self.awaits_clock = matches!(gate, Gate::Awaited);
        if let Gate::Apart(text) = gate {
            self.wanted = false;
            self.pause.set(now.mono.plus(PROBE_AGAIN_MS));
            self.set_trouble(Some(BlockReason::ClockApart(text)));
            return false;
        }
        !self.awaits_clock
    }

    /// The ledger's clock is not known.
    pub(crate) fn clock_silent(&mut self, trouble: &BlockReason) {
        if self.awaits_clock {
            self.set_trouble(Some(trouble.clone()));
        }
    }

    /// Whether the ledger's answer is awaited.
    fn is_asking(&self) -> bool {
        self.awaits_clock
            || self.held.as_ref().is_some_and(|held| held.renewing.is_some())
            || self.acquiring.as_ref().is_some_and(|acquiring| acquiring.call.is_some())
    }

    /// Changes with every ID that any of the streams mints.
    fn activity(&self) -> u64 {
        self.streams.iter().filter_map(|stream| stream.shared.cursor.next()).fold(0, u64::wrapping_add)
    }

    /// Where a new window begins: at the start of the longest current tick, so that IDs of this tick can be minted at
    /// once. If the slot's mark is before that, no other node owns a part of the tick.
    fn floor(&self, now: &Now) -> u64 {
        let (time, millis) = (now.stamp.time(), now.stamp.millis());
        let begun = |stream: &Arc<Stream>| {
            let tick = stream.layout.tick_at(time).ok()?;
            stream.layout.time_of(tick).position()
        };
        self.streams.iter().filter_map(begun).fold(millis, u64::min)
    }

    fn renew(&mut self, index: usize, requests: &mut RequestQueue, now: &Now) {
        if !self.may_reserve(requests, now) {
            return;
        }
        let floor = self.floor(now);
        let Some(held) = &mut self.held else { return };
        let retried = mutate!(held.unanswered.take(), RetryWithFreshToken => None);
        let token = retried.unwrap_or_else(|| requests.token());
        let max_mark = mutate!(held.end, RetryWithFreshToken => held.bound_of_a_retry());
        let request = Reserve {
            key: Key::slot(self.bits, held.worker),
            floor: mutate!(floor, FloorIgnored => 0),
            count: if held.end > now.stamp.millis() {
                requests.settings.window_ms
            } else {
                requests.first_window() + (now.stamp.millis() - floor)
            },
            max_mark: mutate!(max_mark, RenewOverOthers => crate::ledger::MAX_MARK),
            token,
            // So the answer tells two cases apart. If the record was deleted, it is reported missing. If the ledger
            // has forgotten that the record ever existed, it makes the record again, with a mark below what is held
            // here (I1).
            create: true,
            note: None,
        };
        held.renewing = Some((requests.ask(Purpose::SlotGroup(index), Op::Reserve(request)), token));
    }

    fn acquire(&mut self, index: usize, requests: &mut RequestQueue, now: &Now) {
        let asked = self.acquiring.as_ref().is_some_and(|acquiring| acquiring.call.is_some());
        if asked || !self.may_reserve(requests, now) {
            return;
        }
        let (workers, bits) = (self.workers, self.bits);
        let (held, deleted) = (self.held.as_ref().map(|held| held.worker), &self.deleted);
        let (is_fixed, floor) = (workers.len() == 1, self.floor(now));
        let taken = |worker: u64| held == Some(worker) || !is_fixed && deleted.contains(&worker);
        let looked = self.looked;
        let acquiring = self
            .acquiring
            .get_or_insert_with(|| Acquiring::new(&workers, bits, looked, requests, now, floor));
        let Some((worker, max_mark)) = acquiring.next(&self.workers, |worker| !taken(worker), requests, now)
        else {
            let free = acquiring.least;
            let Acquiring { first, stride, index, .. } = *acquiring;
            let times = looked.map_or(0, |looked| looked.times.saturating_add(1));
            self.looked = Some(Look { first, stride, index: index % workers.len(), times });
            self.acquiring = None;
            return self.slots_are_out(free, times, requests, now);
        };
        let request = Reserve {
            key: Key::slot(self.bits, worker),
            floor: mutate!(floor, FloorIgnored => 0),
            count: requests.first_window() + (now.stamp.millis() - floor),
            max_mark,
            token: acquiring.token,
            create: true,
            note: Some(requests.settings.owner.note(now.stamp.time())),
        };
        acquiring.call = Some(requests.ask(Purpose::SlotGroup(index), Op::Reserve(request)));
    }

    /// Waiting callers get the error. Later callers ask again.
    fn slots_are_out(&mut self, free: Option<u64>, times: u32, requests: &mut RequestQueue, now: &Now) {
        let left = free.map(|mark| mark.saturating_sub(now.stamp.millis()));
        if let Some(left) = left.filter(|left| *left <= SOON_MS && self.workers.len() <= PROBED_AT_ONCE) {
            // A node has just closed there, and another look is cheap.
            return self.pause.set(now.mono.plus(left.max(1)));
        }
        self.wanted = false;
        let free = free.map_or(now.stamp.time(), UnixMillis::from_position);
        let (few, many) = LOOKS_APART_MS;
        let longest = if self.workers.len() <= PROBED_AGAIN { few } else { many };
        let apart = (PROBE_AGAIN_MS << times.min(8)).min(longest);
        let random = requests.random();
        // A slot without renewals is free when its mark has passed. Nodes that wait for it must not ask at the same moment.
        let left = free.since(now.stamp.time()).max(0).unsigned_abs();
        let until_free = left.max(PROBE_AGAIN_MS / 2) + random % (PROBE_AGAIN_MS / 4);
        self.pause.set(now.mono.plus(until_free.min(apart - random % (apart / 2))));
        let (all, bits) = (self.workers.len(), self.bits);
        let probed = if all > MOST_PROBED { format!("{MOST_PROBED} of {all}") } else { format!("all {all}") };
        let deleted = match self.deleted.len() {
            0 => String::new(),
            some => {
                format!(" ({some} of them are skipped, because their records were deleted from the ledger)")
            }
        };
        let text = format!(
            "{probed} worker slots of {bits} bits are taken{deleted}: the next may be free at {free}. Stop nodes that are not needed, or bind new names to a layout with more worker bits"
        );
        self.set_trouble(Some(BlockReason::Exhausted(text)));
    }

    pub(crate) fn handle(
        &mut self,
        id: u64,
        answer: Result<Reply, LedgerError>,
        index: usize,
        requests: &mut RequestQueue,
        now: &Now,
        clock: &Clock,
    ) {
        self.on_new_era(now);
        if let Some((call, token)) = self.held.as_ref().and_then(|held| held.renewing)
            && call == id
        {
            self.renewed(answer, token, requests, now);
        } else if self.acquiring.as_ref().is_some_and(|acquiring| acquiring.call == Some(id)) {
            self.probed(answer, requests, now, clock);
        }
        self.step(index, requests, &clock.look());
    }

    fn renewed(
        &mut self,
        answer: Result<Reply, LedgerError>,
        token: Token,
        requests: &mut RequestQueue,
        now: &Now,
    ) {
        let Some(held) = &mut self.held else { return };
        held.renewing = None;
        match answer {
            Ok(Reply::Got { start, end, previous_mark }) => {
                let worker = held.worker;
                self.got(worker, token, start, end, previous_mark);
            }
            Ok(Reply::Refused { .. }) => held.lost = mutate!(true, SlotLostIgnored => false),
            Err(LedgerError::Unavailable(cause)) => {
                held.unanswered = Some(token);
                let left = held.end.saturating_sub(now.stamp.millis());
                let trouble = requests.unavailable(cause, now, &mut self.pause, left);
                self.set_trouble(Some(trouble));
            }
            // The ledger remembers the slot, so no other node has, or will get, the rest of this window.
            Err(LedgerError::Missing(_)) => {
                held.lost = true;
                self.deleted.insert(held.worker);
            }
            Err(error) => self.set_trouble(Some(BlockReason::Stopped(Stopped::ledger(error)))),
        }
    }

    fn probed(
        &mut self,
        answer: Result<Reply, LedgerError>,
        requests: &mut RequestQueue,
        now: &Now,
        clock: &Clock,
    ) {
        let Some(acquiring) = &mut self.acquiring else { return };
        acquiring.call = None;
        let (worker, token) = (acquiring.worker, acquiring.token);
        match answer {
            Ok(Reply::Got { start, end, previous_mark }) => {
                self.acquiring = None;
                self.got(worker, token, start, end, previous_mark);
            }
            Ok(Reply::Refused { mark, note }) => {
                acquiring.refused.push((worker, mark));
                // A slot with a passed mark is tried once more, and its answer then names the new holder.
                if mark > now.stamp.millis() {
                    acquiring.least = Some(acquiring.least.map_or(mark, |least| least.min(mark)));
                }
                if self.workers.len() == 1 {
                    self.fixed_is_taken(mark, note.as_deref(), requests, now, clock);
                } else if std::mem::take(&mut acquiring.unjudged) {
                    // If this node may not continue in the slot, it probes the next one.
                    self.goes_on(worker, mark, note.as_deref(), requests, clock);
                }
            }
            Err(LedgerError::Unavailable(cause)) => {
                acquiring.repeat = true;
                let trouble = requests.unavailable(cause, now, &mut self.pause, 0);
                self.set_trouble(Some(trouble));
            }
            Err(LedgerError::Missing(_)) if self.workers.len() > 1 => {
                self.deleted.insert(worker);
            }
            Err(error) => self.set_trouble(Some(BlockReason::Stopped(Stopped::ledger(error)))),
        }
    }

    /// Whether the mark of a slot was left by an earlier run of this node, by its owner note, or by this process itself.
    /// Safety does not depend on it: no node mints in time that another has reserved.
    fn was_ours(&self, worker: u64, mark: u64, note: Option<&str>, requests: &RequestQueue) -> bool {
        let owner: Option<Owner> = note.and_then(|note| note.parse().ok());
        // No other node has reserved there since: this process's own windows end at the mark.
        let own = self.ends.get(&worker) == Some(&mark);
        own || owner.is_some_and(|owner| (requests.settings.is_gone)(&owner))
    }

    /// Continues in a slot where an earlier run of this node stopped, if there was one and the clock may start there.
    fn goes_on(
        &mut self,
        worker: u64,
        mark: u64,
        note: Option<&str>,
        requests: &RequestQueue,
        clock: &Clock,
    ) -> bool {
        let goes_on =
            self.was_ours(worker, mark, note, requests) && clock.start_at(UnixMillis::from_position(mark));
        if let Some(acquiring) = &mut self.acquiring
            && goes_on
        {
            acquiring.own_mark = Some(mark);
        }
        goes_on
    }

    /// The one slot that this node may have has a mark in the future: its own crash, or its own window from before a
    /// new era, or another live node.
    fn fixed_is_taken(
        &mut self,
        mark: u64,
        note: Option<&str>,
        requests: &RequestQueue,
        now: &Now,
        clock: &Clock,
    ) {
        let (worker, until) = (self.workers.first(), UnixMillis::from_position(mark));
        if self.goes_on(worker, mark, note, requests, clock) {
            return;
        }
        self.acquiring = None;
        let left = mark.saturating_sub(now.stamp.millis());
        if left <= SOON_MS {
            return self.pause.set(now.mono.plus(left.max(1)));
        }
        self.pause.set(now.mono.plus(PROBE_AGAIN_MS));
        self.wanted = false;
        let who = note.unwrap_or("an owner that left no note");
        let text = if self.was_ours(worker, mark, note, requests) {
            format!(
                "worker {worker} was reserved until {until} by an earlier run of this node ({who}), which is further ahead than clock.max_hold: wait until then, raise clock.max_hold, or give this node another worker id"
            )
        } else {
            format!(
                "worker {worker} is held until {until} by another node ({who}): stop that one, or give this one another worker id. If that was this node before a crash, wait until then, and give it an `instance` name: it then goes on at once"
            )
        };
        self.set_trouble(Some(BlockReason::Exhausted(text)));
    }

    /// A window is ours.
    fn got(&mut self, worker: u64, token: Token, start: u64, end: u64, previous_mark: u64) {
        let last = self.ends.get(&worker).copied().unwrap_or(0);
        if mutate!(mutate!(previous_mark, WentBackByOneIgnored => previous_mark + 1) < last, WentBackIgnored => false)
        {
            let slot = Key::slot(self.bits, worker);
            return self.set_trouble(Some(BlockReason::Stopped(Stopped::ledger(went_back(
                &slot,
                previous_mark,
                last,
            )))));
        }
        self.ends.insert(worker, end);
        let touches = |end: u64| {
            mutate!(
                mutate!(end == start, RenewalGap => end <= start),
                SmallRenewalGap => end <= start && start - end <= 20
            )
        };
        let before = self.held.take().filter(|held| held.worker == worker && touches(held.end));
        let owned_from = before.map_or(start, |held| held.start);
        for stream in &self.streams {
            stream.own(worker, owned_from, end, self.era);
        }
        self.held = Some(Held {
            worker,
            start: owned_from,
            end,
            token,
            reserved_at: start,
            renewing: None,
            unanswered: None,
            lost: false,
            seen: self.activity(),
        });
        (self.pause, self.wanted) = (Pause::default(), false);
        (self.trouble, self.looked) = (None, None);
        for stream in &self.streams {
            stream.shared.set_trouble(None);
            // Callers that wanted it until now try again. A renewal needs callers that still want one then.
            stream.shared.take_wanted();
            stream.shared.waiters.wake();
        }
    }

    fn set_trouble(&mut self, trouble: Option<BlockReason>) {
        if let Some(BlockReason::Stopped(stopped)) = &trouble {
            self.stop(stopped);
            // Later names must not mint in the old window either, and what may have been minted is not given back
            // (I1).
            (self.held, self.acquiring) = (None, None);
        }
        for stream in &self.streams {
            stream.shared.set_trouble(trouble.clone());
        }
        self.trouble = trouble;
    }

    /// Closes the streams and gives back the window from the first tick in which no stream minted.
    pub(crate) fn give_back(&mut self, requests: &mut RequestQueue, now: &Now) {
        self.on_new_era(now);
        let unminted = self.streams.iter().filter_map(|stream| stream.close()).max();
        let Some(held) = self.held.take() else { return };
        let from = unminted.and_then(UnixMillis::position).unwrap_or(0).max(held.reserved_at);
        let from = mutate!(from, GiveBackOfMinted => held.reserved_at);
        // If a renewal has taken effect meanwhile, the record has another token, and the ledger ignores the give-back.
        if from < held.end && !held.lost {
            let key = Key::slot(self.bits, held.worker);
            requests.ask(Purpose::GiveBack, Op::GiveBack { key, token: held.token, from });
        }
    }

    pub(crate) fn stop(&self, stopped: &Stopped) {
        self.streams.iter().for_each(|stream| stream.shared.stop(stopped));
    }

    pub(crate) fn deadline(&self, settings: &NodeSettings, now: &Now) -> Option<MonoMillis> {
        if self.streams.is_empty() || matches!(self.trouble, Some(BlockReason::Stopped(_))) {
            return None;
        }
        let asking = self.is_asking();
        let after = |millis: u64| now.mono.plus(millis.max(1));
        if now.refusal().is_some() {
            return Some(after(PROBE_AGAIN_MS));
        }
        let window = settings.window_ms;
        match &self.held {
            _ if self.awaits_clock => None,
            Some(held) if !held.lost => {
                let left = held.end.saturating_sub(now.stamp.millis());
                let half = left.saturating_sub(if self.wanted { window } else { window / 2 });
                match held.renewing {
                    Some(_) => None,
                    None if !self.pause.is_over(now.mono) => self.pause.until(),
                    None if half > 0 => Some(after(half)),
                    // Nobody has minted in this half. Look again later, so that the next window is there before this one ends.
                    None if left > 0 => Some(after((window / 8).min(left))),
                    // The window has run out unused. The next caller asks for another.
                    None => (settings.renew_idle || self.wanted).then(|| after(1)),
                }
            }
            _ if asking => None,
            // When this window is over, the node asks again for a lost fixed slot.
            Some(held) if self.workers.len() == 1 => Some(after(held.end.saturating_sub(now.stamp.millis()))),
            Some(_) => Some(self.pause.until().unwrap_or(now.mono).max(after(1))),
            None => {
                let works = self.wanted || settings.renew_idle || self.trouble.is_some();
                works.then(|| self.pause.until().unwrap_or(now.mono).max(after(1)))
            }
        }
    }
}

impl Acquiring {
    fn new(
        workers: &Workers,
        bits: u32,
        looked: Option<Look>,
        requests: &mut RequestQueue,
        now: &Now,
        floor: u64,
    ) -> Self {
        let count = workers.len();
        let coprime = |stride: u64| gcd(stride, count) == 1;
        let mut stride = || {
            std::iter::repeat_with(|| requests.random() % count.max(1) + 1).find(|&stride| coprime(stride))
        };
        let (stride, index, most) = match looked {
            Some(Look { stride, index, .. }) => (stride, index, index + count.min(PROBED_AGAIN)),
            None => (stride().unwrap_or(1), 0, count.min(MOST_PROBED)),
        };
        Self {
            call: None,
            worker: 0,
            token: requests.token(),
            repeat: false,
            first: looked.map_or_else(|| requests.random() % count, |looked| looked.first),
            stride,
            index,
            most,
            until: index + PROBED_AT_ONCE,
            refused: Vec::new(),
            least: None,
            second_pass: None,
            at_hand: at_hand(workers, bits, requests, now, floor).into_iter(),
            unjudged: false,
            own_mark: None,
            goes_on_at: 0,
        }
    }

    /// The slot to probe next, and how far its mark may be.
    fn next(
        &mut self,
        workers: &Workers,
        may_be_probed: impl Fn(u64) -> bool,
        requests: &mut RequestQueue,
        now: &Now,
    ) -> Option<(u64, u64)> {
        let now = now.stamp.millis();
        let quiet = now.saturating_sub(requests.settings.window_ms + QUIET_MS);
        let fixed = workers.len() == 1;
        if std::mem::take(&mut self.repeat) {
            let bound = if self.second_pass.is_some() || fixed { now } else { quiet };
            return Some((self.worker, bound.max(self.goes_on_at)));
        }
        self.token = requests.token();
        self.goes_on_at = self.own_mark.take().unwrap_or(0);
        if self.goes_on_at > 0 {
            return Some((self.worker, self.goes_on_at));
        }
        self.unjudged = false;
        if let Some(worker) = self.at_hand.find(|&worker| may_be_probed(worker)) {
            (self.worker, self.unjudged) = (worker, true);
            return Some((worker, quiet));
        }
        let most = self.most;
        loop {
            if let Some(pass) = &mut self.second_pass {
                if let Some(worker) = pass.next() {
                    self.worker = worker;
                    return Some((worker, now));
                }
                if self.index == most {
                    return None;
                }
                (self.second_pass, self.until) = (None, self.index + PROBED_AT_ONCE);
                self.refused.clear();
            }
            while self.index < most.min(self.until) {
                let place = (u128::from(self.first) + u128::from(self.index) * u128::from(self.stride))
                    % u128::from(workers.len());
                self.index += 1;
                let worker = u64::try_from(place).ok().and_then(|place| workers.nth(place))?;
                if may_be_probed(worker) {
                    self.worker = worker;
                    return Some((worker, if fixed { now } else { quiet }));
                }
            }
            self.refused.retain(|&(_, mark)| mark <= now && !fixed);
            self.refused.sort_by_key(|&(_, mark)| mark);
            let quietest_first: Vec<_> = self.refused.drain(..).map(|(worker, _)| worker).collect();
            self.second_pass = Some(quietest_first.into_iter());
        }
    }
}

/// The slots that the ledger has at hand with room for a window. Slots for which the steady clock must be put ahead
/// the least come first. If the ledger behind is out of reach, there are no others.
fn at_hand(workers: &Workers, bits: u32, requests: &RequestQueue, now: &Now, floor: u64) -> Vec<u64> {
    if workers.len() == 1 {
        return Vec::new();
    }
    let mut slots = (requests.settings.at_hand)(bits);
    slots.retain(|slot| {
        let most = requests.settings.window_ms + (now.stamp.millis() - floor);
        workers.contains(slot.worker) && slot.end.saturating_sub(slot.mark.max(floor)) >= most
    });
    slots.sort_by_key(|slot| slot.mark);
    slots.truncate(MOST_AT_HAND);
    slots.into_iter().map(|slot| slot.worker).collect()
}

#[cfg(feature = "mutations")]
impl Held {
    fn bound_of_a_retry(&mut self) -> u64 {
        self.unanswered.take().map_or(self.end, |_| crate::ledger::MAX_MARK)
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
