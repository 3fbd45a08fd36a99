//! Reads from a history's events what each node held, and when it lived.

use crate::picture::{Span, SpanKind, Stretch};
use floe_sim::history::{Happened, History};
use floe_sim::model::{Micros, Note};

/// A range that a life held.
#[derive(Clone, Debug)]
pub(super) struct Held {
    /// The start, in true time.
    pub(super) from: Micros,
    /// The end.
    pub(super) until: Micros,
    /// `slot 3`, `orders`.
    pub(super) what: String,
    /// The range.
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) time: bool,
    /// A range of time's places on the axis of true time.
    pub(super) covers: Vec<Stretch>,
    /// When the node's clock passes its end.
    expires: Micros,
    open: bool,
}

impl Held {
    /// Whether the algorithm knows no end: a worker id.
    pub(super) fn is_claim(&self) -> bool {
        self.time && self.end == u64::MAX
    }

    /// Its worker id or slot.
    pub(super) fn worker(&self) -> Option<u64> {
        let number = || self.what.rsplit(' ').next()?.parse().ok();
        if self.time { number() } else { None }
    }
}

/// How far a clock is off from a moment on, and how far it was before.
#[derive(Clone, Copy, Debug)]
struct Error {
    at: Micros,
    before_ms: i64,
    after_ms: i64,
    stepped: bool,
}

/// One node.
#[derive(Clone, Default, Debug)]
pub(super) struct Track {
    /// The node that it is a copy of.
    pub(super) clone_of: Option<usize>,
    /// When each of its lives began.
    pub(super) lives: Vec<Micros>,
    pub(super) holds: Vec<Held>,
    pub(super) spans: Vec<Span>,
    errors: Vec<Error>,
    saved: Vec<usize>,
}

impl Track {
    /// The start of the life that ran at a moment.
    pub(super) fn life_at(&self, at: Micros) -> Micros {
        self.lives.iter().rev().find(|&&began| began <= at).copied().unwrap_or(0)
    }

    /// How far its wall clock is off, as far as the history shows.
    pub(super) fn error_ms(&self, at: Micros) -> i64 {
        self.errors.iter().rev().find(|error| error.at <= at).map_or(0, |error| error.after_ms)
    }

    /// When a window ends by the clock that counts it, which does not go back within a life: the wall clock, until that
    /// goes back; from then on, when its length has passed since its start.
    fn expiry(&self, at: Micros, window: Stretch) -> Micros {
        let began = self.life_at(at);
        let went_back = |error: &Error| error.at >= began && error.after_ms < error.before_ms;
        if !self.errors.iter().any(went_back) {
            let over = window.until_us.saturating_sub(self.error_ms(at).saturating_mul(1_000));
            return Micros::try_from(over).unwrap_or(0);
        }
        let length = Micros::try_from(window.until_us.saturating_sub(window.from_us)).unwrap_or(0);
        let follows = |held: &&Held| held.covers.last().is_some_and(|last| last.until_us == window.from_us);
        let before = self.holds.iter().rev().find(follows).map_or(at, |held| held.expires.max(at));
        before.saturating_add(length)
    }

    fn open(&self) -> impl Iterator<Item = usize> {
        (0..self.holds.len()).filter(|&index| self.holds[index].open)
    }

    fn hold(&mut self, held: Held) {
        // A worker id replaces the earlier one. Of numbers, there are the current ones and the next ones.
        let replaced = self.open().filter(|&index| {
            let other = &self.holds[index];
            held.is_claim() && other.is_claim() || !held.time && other.what == held.what
        });
        let replaced: Vec<_> = replaced.collect();
        let kept = usize::from(!held.time);
        for &index in &replaced[..replaced.len().saturating_sub(kept)] {
            self.close(index, held.from);
        }
        self.holds.push(held);
    }

    fn close(&mut self, index: usize, at: Micros) {
        let from = self.holds[index].from;
        let covers = if self.holds[index].is_claim() { Some(self.shown(from, at)) } else { None };
        let held = &mut self.holds[index];
        held.open = false;
        // A window may end before.
        held.until = held.expires.min(at).max(from);
        held.covers.extend(covers.into_iter().flatten());
    }

    fn close_all(&mut self, at: Micros) {
        let open: Vec<_> = self.open().collect();
        open.into_iter().for_each(|index| self.close(index, at));
    }

    /// The times that its wall clock showed, on the axis of true time: one piece from each step to the next.
    fn shown(&self, from: Micros, until: Micros) -> Vec<Stretch> {
        let place = |at: Micros, error_ms: i64| whole(at).saturating_add(error_ms.saturating_mul(1_000));
        let steps = self.errors.iter().filter(|error| error.stepped && error.at > from && error.at < until);
        let mut pieces = Vec::new();
        let mut from_us = place(from, self.error_ms(from));
        for step in steps {
            pieces.push(Stretch { from_us, until_us: place(step.at, step.before_ms) });
            from_us = place(step.at, step.after_ms);
        }
        pieces.push(Stretch { from_us, until_us: place(until, self.error_ms(until)) });
        pieces.retain(|piece| piece.from_us < piece.until_us);
        pieces
    }

    fn begin(&mut self, kind: SpanKind, at: Micros) {
        self.spans.push(Span { from_us: at, until_us: Micros::MAX, kind });
    }

    fn end(&mut self, kind: SpanKind, at: Micros) {
        let open = |span: &&mut Span| span.kind == kind && span.until_us == Micros::MAX;
        if let Some(span) = self.spans.iter_mut().find(open) {
            span.until_us = at;
        }
    }

    fn end_all(&mut self, kind: SpanKind, at: Micros) {
        let open = self.spans.iter_mut().filter(|span| span.kind == kind && span.until_us == Micros::MAX);
        open.for_each(|span| span.until_us = at);
    }
}

/// All nodes, and the store.
pub(super) struct Tracks {
    pub(super) nodes: Vec<Track>,
    pub(super) store: Vec<Span>,
}

impl Tracks {
    /// The tracks of a history that began at `begin_ms` and ended at `end`.
    pub(super) fn new(history: &History, begin_ms: i64, end: Micros) -> Self {
        let count = history.events.iter().filter_map(|event| event.node).max().map_or(0, |most| most + 1);
        let mut nodes = vec![Track::default(); count];
        let mut store = Track::default();
        for event in &history.events {
            let at = event.at;
            let Some(node) = event.node else {
                match event.what {
                    Happened::Down(true) => store.begin(SpanKind::Down, at),
                    Happened::Down(false) => store.end(SpanKind::Down, at),
                    // No connection to the store stays cut.
                    Happened::Healed => {
                        nodes.iter_mut().for_each(|track| track.end_all(SpanKind::Partitioned, at));
                    }
                    _ => {}
                }
                continue;
            };
            if let Happened::CloneOf(of) = event.what {
                let original = nodes[of].clone();
                let clone = &mut nodes[node];
                clone.clone_of = Some(of);
                clone.errors.push(Error::known(at, original.error_ms(at)));
                clone.lives.push(at);
                let held = original.open().map(|index| Held { from: at, ..original.holds[index].clone() });
                clone.holds.extend(held);
                continue;
            }
            nodes[node].take(at, &event.what, begin_ms);
        }
        for track in &mut nodes {
            track.close_all(end);
        }
        for span in nodes.iter_mut().flat_map(|track| &mut track.spans).chain(&mut store.spans) {
            span.until_us = span.until_us.min(end);
        }
        Self { nodes, store: store.spans }
    }
}

impl Error {
    fn known(at: Micros, error_ms: i64) -> Self {
        Self { at, before_ms: error_ms, after_ms: error_ms, stepped: false }
    }
}

impl Track {
    fn take(&mut self, at: Micros, what: &Happened, begin_ms: i64) {
        match what {
            Happened::Started { error_ms, .. } => {
                self.end(SpanKind::Down, at);
                self.lives.push(at);
                self.errors.push(Error::known(at, *error_ms));
            }
            Happened::Died(_) => {
                self.close_all(at);
                self.end_all(SpanKind::Paused, at);
                self.begin(SpanKind::Down, at);
            }
            Happened::ClockSet { by_ms, error_ms } => {
                let before_ms = error_ms.saturating_sub(*by_ms);
                self.errors.push(Error { at, before_ms, after_ms: *error_ms, stepped: true });
            }
            Happened::Minted { error_ms, .. } => self.errors.push(Error::known(at, *error_ms)),
            Happened::Paused(true) => self.begin(SpanKind::Paused, at),
            Happened::Paused(false) => self.end_all(SpanKind::Paused, at),
            Happened::Cut(true) => self.begin(SpanKind::Partitioned, at),
            Happened::Cut(false) => self.end(SpanKind::Partitioned, at),
            Happened::Snapshot => self.saved = self.open().collect(),
            Happened::Restored => {
                self.close_all(at);
                self.lives.push(at);
                for index in std::mem::take(&mut self.saved) {
                    let held = self.holds[index].clone();
                    let covers = if held.is_claim() { Vec::new() } else { held.covers };
                    self.holds.push(Held { from: at, covers, open: true, ..held });
                }
            }
            Happened::Note(Note::Holds { what, start, end, time }) => {
                let window = *time && *end != u64::MAX;
                let on_axis = |position: u64| whole(position).saturating_sub(begin_ms).saturating_mul(1_000);
                let covers = Stretch { from_us: on_axis(*start), until_us: on_axis(*end) };
                self.hold(Held {
                    from: at,
                    until: at,
                    expires: if window { self.expiry(at, covers) } else { Micros::MAX },
                    what: what.clone(),
                    start: *start,
                    end: *end,
                    time: *time,
                    covers: if window { vec![covers] } else { Vec::new() },
                    open: true,
                });
            }
            _ => {}
        }
    }
}

pub(super) fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
