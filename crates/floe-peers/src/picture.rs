//! Draws one history as SVG: who held what, what happened to them, and the two mints that collided.
//!
//! True time runs from left to right. A node is a lane. Its faults are on top; below are a tick for each mint, and a
//! bar for each range for as long as the node held it. Under the bars is a rail for each range of time: where that
//! range *lies*, on the same axis. If a rail does not lie under its bar, the clock was wrong. If two claims on one
//! worker id share time, two rails of one colour lie one above the other.
//!
//! The drawing stands alone (no script, no font, no link) and has its own background. It is the same text for the same
//! picture on every machine: coordinates are integers, in tenths of a pixel.

mod ink;
mod plan;

use ink::{Anchor, Ink, Look, Point};
use plan::{LEFT, Noted, Plan, RIGHT, Strip, WIDTH};

use floe_sim::model::Micros;

/// One history.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Picture {
    /// The large text.
    pub title: String,
    /// The small text: the seed, the faults.
    pub subtitle: String,
    /// The true time of the left edge.
    pub from_us: Micros,
    /// The true time of the right edge.
    pub until_us: Micros,
    /// A lane for each node, from the top.
    pub lanes: Vec<Lane>,
    /// The shared store's lane, at the bottom: its restarts, failovers and restores.
    pub store: Option<Lane>,
    /// The violation.
    pub collision: Option<Collision>,
}

/// The events of a node, or of the store.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lane {
    /// `node 0`.
    pub label: String,
    /// The ranges that it held.
    pub bars: Vec<Bar>,
    /// The times in which it was limited.
    pub spans: Vec<Span>,
    /// The events at single moments.
    pub marks: Vec<Mark>,
}

/// A range that a node held.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bar {
    /// The start, in true time.
    pub from_us: Micros,
    /// The end, in true time.
    pub until_us: Micros,
    /// The kind of range.
    pub kind: BarKind,
    /// `slot 3`, `orders 101..201`.
    pub label: String,
    /// The number of its slot or worker id. Bars with one number have one colour.
    pub subject: u64,
    /// For a range of time: its places on the axis of true time, in microseconds from the history's start, possibly
    /// negative. More than one if a clock stepped while it was held; none for a range of numbers.
    pub covers: Vec<Stretch>,
}

/// The kind of a bar's range.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum BarKind {
    /// Reserved time of a slot.
    Window,
    /// Reserved numbers.
    Segment,
    /// A worker id that the node believes to be its own.
    Claim,
}

/// A piece of the axis, half-open. It may lie outside the picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stretch {
    /// The start.
    pub from_us: i64,
    /// The end; `i64::MAX` for never.
    pub until_us: i64,
}

/// A time in which a node was limited.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The start, in true time.
    pub from_us: Micros,
    /// The end, in true time.
    pub until_us: Micros,
    /// How it was limited.
    pub kind: SpanKind,
}

/// How a node was limited.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SpanKind {
    /// It did not run.
    Down,
    /// It was suspended, and did not know it.
    Paused,
    /// It could not reach the store. For the store: no node could reach it.
    Partitioned,
}

/// An event at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark {
    /// When, in true time.
    pub at_us: Micros,
    /// The kind of event.
    pub kind: MarkKind,
    /// A short text, or empty.
    pub label: String,
}

/// The kind of event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MarkKind {
    /// An ID was minted.
    Mint,
    /// The process died.
    Crash,
    /// A process started.
    Start,
    /// It was told to stop.
    Stop,
    /// Its wall clock moved by this many milliseconds.
    ClockStep(i64),
    /// Another fault.
    Fault,
    /// A caller got an error.
    Refused,
}

/// One ID, minted more than once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Collision {
    /// The ID's text.
    pub id: String,
    /// The lane that minted it, as an index into [`Picture::lanes`], and when, in true time.
    pub mints: Vec<(usize, Micros)>,
    /// The place on the axis of the time in the ID, if it has one.
    pub stamp_us: Option<i64>,
    /// A sentence that says what went wrong.
    pub words: String,
}

const TEXT: &str = "#1b1f24";
const QUIET: &str = "#68707a";
const RED: &str = "#d01020";
const VIOLET: &str = "#6a2c91";
const AMBER: &str = "#b85c00";
const GREEN: &str = "#1a7f37";
/// Most eyes can distinguish these. Red is reserved for collisions.
const COLOURS: [&str; 7] = ["#0072b2", "#009e73", "#c98a00", "#b5508c", "#3a9bd9", "#7a5c2e", "#5b6abf"];

impl Bar {
    fn colour(&self) -> &'static str {
        let count = u64::try_from(COLOURS.len()).unwrap_or(1);
        COLOURS[usize::try_from(self.subject % count).unwrap_or(0)]
    }
}

impl SpanKind {
    fn words(self) -> &'static str {
        match self {
            Self::Down => "down",
            Self::Paused => "paused",
            Self::Partitioned => "cut off",
        }
    }
}

impl Mark {
    fn words(&self) -> String {
        let step = match self.kind {
            MarkKind::ClockStep(millis) => format!("clock {}", signed(millis)),
            _ => return self.label.clone(),
        };
        if self.label.is_empty() { step } else { format!("{step}, {}", self.label) }
    }

    fn colour(&self) -> &'static str {
        match self.kind {
            MarkKind::Crash => RED,
            MarkKind::ClockStep(_) => VIOLET,
            MarkKind::Fault => AMBER,
            MarkKind::Start => GREEN,
            MarkKind::Mint | MarkKind::Stop | MarkKind::Refused => TEXT,
        }
    }
}

/// `+1.5 s`, `-250 ms`, `+2.0 h`.
fn signed(millis: i64) -> String {
    let sign = if millis < 0 { '-' } else { '+' };
    let size = millis.unsigned_abs();
    match size {
        0..1000 => format!("{sign}{size} ms"),
        1000..120_000 => format!("{sign}{}.{} s", size / 1000, size % 1000 / 100),
        120_000..7_200_000 => format!("{sign}{}.{} min", size / 60_000, size % 60_000 / 6_000),
        7_200_000..172_800_000 => format!("{sign}{}.{} h", size / 3_600_000, size % 3_600_000 / 360_000),
        _ => format!("{sign}{} days", size / 86_400_000),
    }
}

/// The drawing.
pub fn draw(picture: &Picture) -> String {
    let plan = Plan::new(picture);
    let mut ink = Ink::new(WIDTH, plan.height, &picture.title);
    head(&mut ink, picture, &plan);
    for strip in &plan.strips {
        ground(&mut ink, strip, &plan);
    }
    axis(&mut ink, &plan);
    for overlap in &plan.overlaps {
        let size = Point { x: overlap.right - overlap.left, y: overlap.bottom - overlap.top };
        ink.area(Point { x: overlap.left, y: overlap.top }, size, "url(#overlap)");
    }
    for strip in &plan.strips {
        bars(&mut ink, strip);
        rails(&mut ink, strip, &plan);
    }
    for overlap in &plan.overlaps {
        for (top, bottom) in overlap.rails {
            let size = Point { x: overlap.right - overlap.left, y: bottom - top };
            ink.area(Point { x: overlap.left, y: top }, size, RED);
        }
    }
    for strip in &plan.strips {
        marks(&mut ink, strip, &plan);
    }
    let struck: Vec<_> = picture.collision.iter().flat_map(|collision| points(collision, &plan)).collect();
    for pair in struck.windows(2) {
        ink.stroke(pair[0], pair[1], RED);
    }
    for strip in &plan.strips {
        notes(&mut ink, strip);
    }
    if let Some(collision) = &picture.collision {
        name(&mut ink, collision, &struck, &plan);
    }
    legend(&mut ink, &plan);
    ink.finish()
}

fn head(ink: &mut Ink, picture: &Picture, plan: &Plan<'_>) {
    ink.text(Point { x: 200, y: 340 }, Look::bold(TEXT, 20), Anchor::Start, &picture.title);
    ink.text(Point { x: 200, y: 560 }, Look::plain(QUIET, 13), Anchor::Start, &picture.subtitle);
    let mut y = 830;
    for line in &plan.sentence {
        ink.text(Point { x: 200, y }, Look::bold(RED, 14), Anchor::Start, line);
        y += 190;
    }
}

fn ground(ink: &mut Ink, strip: &Strip<'_>, plan: &Plan<'_>) {
    let height = strip.bottom - strip.top;
    ink.area(Point { x: LEFT, y: strip.top }, Point { x: RIGHT - LEFT, y: height }, "#f5f6f8");
    ink.text(Point { x: 200, y: strip.track - 10 }, Look::bold(TEXT, 13), Anchor::Start, &strip.lane.label);
    let caption = |ink: &mut Ink, y, words| {
        ink.text(Point { x: LEFT - 80, y }, Look::plain(QUIET, 10), Anchor::End, words);
    };
    if strip.bar_rows > 0 {
        caption(ink, strip.bars + 120, "holds");
    }
    if strip.rail_rows > 0 {
        caption(ink, strip.rails + 70, "in time");
    }
    for span in &strip.lane.spans {
        let (left, right) = plan.scale.both(span.from_us, span.until_us);
        let fill = match span.kind {
            SpanKind::Down => "url(#down)",
            SpanKind::Paused => "url(#paused)",
            SpanKind::Partitioned => "url(#partitioned)",
        };
        ink.area(Point { x: left, y: strip.top }, Point { x: right - left, y: height }, fill);
    }
    let track = Point { x: LEFT, y: strip.track };
    ink.line(track, Point { x: RIGHT, y: strip.track }, "#c9ced6", 10);
}

fn axis(ink: &mut Ink, plan: &Plan<'_>) {
    for (x, words) in &plan.ticks {
        ink.line(Point { x: *x, y: plan.top }, Point { x: *x, y: plan.axis }, "#dde1e7", 10);
        ink.text(Point { x: *x, y: plan.axis + 150 }, Look::plain(QUIET, 11), Anchor::Middle, words);
    }
    let words = "true time, seconds";
    ink.text(Point { x: RIGHT, y: plan.axis + 320 }, Look::plain(QUIET, 11), Anchor::End, words);
}

fn bars(ink: &mut Ink, strip: &Strip<'_>) {
    for place in &strip.bar_places {
        let bar = &strip.lane.bars[place.index];
        let (at, size) = place.frame();
        ink.bar(at, size, bar.colour(), bar.kind, &bar.label);
    }
}

fn rails(ink: &mut Ink, strip: &Strip<'_>, plan: &Plan<'_>) {
    for place in &strip.rail_places {
        let bar = &strip.lane.bars[place.index];
        let (at, size) = place.frame();
        let middle = at.y + size.y / 2;
        match plan.scale.side(place.stretch) {
            None => ink.area(at, size, bar.colour()),
            Some(beyond) => {
                // It lies outside the picture: an arrow points to it.
                let words = signed(beyond / 1000);
                let (edge, tip, anchor) = if beyond < 0 {
                    (LEFT + 60, LEFT, Anchor::Start)
                } else {
                    (RIGHT - 60, RIGHT, Anchor::End)
                };
                ink.arrow(Point { x: edge, y: middle }, Point { x: tip, y: middle }, bar.colour());
                let x = if beyond < 0 { edge + 40 } else { edge - 40 };
                ink.text(Point { x, y: middle + 35 }, Look::bold(bar.colour(), 10), anchor, &words);
            }
        }
    }
}

fn marks(ink: &mut Ink, strip: &Strip<'_>, plan: &Plan<'_>) {
    for &x in &strip.mints {
        ink.line(Point { x, y: strip.track - 60 }, Point { x, y: strip.track + 60 }, TEXT, 14);
    }
    for &x in &strip.errors {
        ink.sign(Point { x, y: strip.track }, MarkKind::Refused, AMBER);
    }
    for mark in &strip.lane.marks {
        let Some(x) = plan.scale.inside(mark.at_us) else { continue };
        let at = Point { x, y: strip.track };
        match mark.kind {
            MarkKind::Mint | MarkKind::Refused => {}
            MarkKind::ClockStep(_) => {
                ink.line(Point { x, y: strip.top }, Point { x, y: strip.bottom }, VIOLET, 14);
            }
            kind => ink.sign(at, kind, mark.colour()),
        }
    }
}

fn notes(ink: &mut Ink, strip: &Strip<'_>) {
    for note in &strip.notes {
        let at = Point { x: note.left, y: note.y };
        match note.of {
            Noted::Span(span) => ink.words(at, QUIET, span.words()),
            Noted::Mark(mark) => {
                let pole = Point { x: note.pole, y: note.y + 130 };
                ink.line(pole, Point { x: note.pole, y: strip.track - 50 }, mark.colour(), 7);
                if let MarkKind::ClockStep(_) = mark.kind {
                    ink.flag(at, note.width, mark.colour(), &mark.words());
                } else {
                    ink.words(at, mark.colour(), &mark.words());
                }
            }
        }
    }
}

fn points(collision: &Collision, plan: &Plan<'_>) -> Vec<Point> {
    let point =
        |&(lane, at): &(usize, Micros)| Some(Point { x: plan.scale.at(at), y: plan.strips.get(lane)?.track });
    collision.mints.iter().filter_map(point).collect()
}

fn name(ink: &mut Ink, collision: &Collision, points: &[Point], plan: &Plan<'_>) {
    if let Some(stamp) = collision.stamp_us
        && let Some(x) = plan.scale.inside_signed(stamp)
    {
        let strips = collision.mints.iter().filter_map(|&(lane, _)| plan.strips.get(lane));
        let top = strips.clone().map(|strip| strip.rails).min().unwrap_or(plan.top);
        let bottom = strips.map(|strip| strip.bottom).max().unwrap_or(plan.axis);
        ink.dashes(Point { x, y: top - 40 }, Point { x, y: bottom }, RED);
        ink.tag(Point { x, y: bottom + 90 }, Look::bold(RED, 10), "the time in the ID");
    }
    for &point in points {
        ink.ring(point, RED);
    }
    if let Some(first) = points.first() {
        // Beside the first mint, where only other mints are.
        let look = Look::bold(RED, 12);
        let away = look.width(&collision.id) / 2 + 150;
        let x = if first.x - away * 2 > LEFT { first.x - away } else { first.x + away };
        ink.tag(Point { x, y: first.y + 45 }, look, &collision.id);
    }
}

fn legend(ink: &mut Ink, plan: &Plan<'_>) {
    for item in &plan.legend {
        let at = Point { x: item.x, y: item.y };
        ink.sample(at, item.sample);
        ink.text(
            Point { x: item.x + 300, y: item.y + 40 },
            Look::plain(TEXT, 11),
            Anchor::Start,
            item.sample.words(),
        );
    }
}

#[cfg(test)]
mod tests;
