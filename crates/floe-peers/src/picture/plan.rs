//! Lays everything out before anything is drawn.

use super::ink::{Look, Point, Sample, Tenths};
use super::{BarKind, Lane, Mark, MarkKind, Picture, RED, SpanKind, Stretch};
use floe_sim::model::Micros;

pub(super) const WIDTH: Tenths = 12_000;
/// The axis, from here …
pub(super) const LEFT: Tenths = 1_400;
/// … to here.
pub(super) const RIGHT: Tenths = 11_760;
const NOTE_ROW: Tenths = 160;
const BAR_ROW: Tenths = 200;
const RAIL_ROW: Tenths = 90;
const GAP: Tenths = 120;
/// Mints that are closer together than this share one tick.
const NEAREST: Tenths = 30;
/// Notes that do not fit into this many rows are left out; their signs stay.
const NOTE_ROWS: usize = 4;

/// Converts true time to a position on the axis.
pub(super) struct Scale {
    from: i64,
    until: i64,
}

impl Scale {
    fn new(picture: &Picture) -> Self {
        let from = whole(picture.from_us);
        Self { from, until: whole(picture.until_us).max(from + 1) }
    }

    fn place(&self, at: i64) -> Tenths {
        let at = at.clamp(self.from, self.until);
        let along =
            i128::from(at - self.from) * i128::from(RIGHT - LEFT) / i128::from(self.until - self.from);
        LEFT + Tenths::try_from(along).unwrap_or(0)
    }

    /// The position of a moment, or the nearest edge.
    pub(super) fn at(&self, at: Micros) -> Tenths {
        self.place(whole(at))
    }

    pub(super) fn both(&self, from: Micros, until: Micros) -> (Tenths, Tenths) {
        (self.at(from), self.at(until))
    }

    /// The position of a moment, if the picture shows it.
    pub(super) fn inside(&self, at: Micros) -> Option<Tenths> {
        self.inside_signed(whole(at))
    }

    pub(super) fn inside_signed(&self, at: i64) -> Option<Tenths> {
        (self.from..=self.until).contains(&at).then(|| self.place(at))
    }

    /// How far outside the picture a stretch lies, in microseconds from its nearer edge, on either side.
    pub(super) fn side(&self, stretch: Stretch) -> Option<i64> {
        if stretch.until_us <= self.from {
            Some(stretch.until_us.saturating_sub(self.from).min(-1))
        } else if stretch.from_us >= self.until {
            Some(stretch.from_us.saturating_sub(self.until).max(1))
        } else {
            None
        }
    }

    /// The marks of the axis: at most a dozen, at round times.
    fn ticks(&self) -> Vec<(Tenths, String)> {
        let span = self.until - self.from;
        let mut step = 1_000;
        for factor in [2, 5, 10].into_iter().cycle() {
            if span / step <= 12 {
                break;
            }
            step = step / lead(step) * factor;
        }
        let first = self.from.div_euclid(step) * step;
        let times = (0..=14).map(|count| first + count * step);
        times.filter_map(|at| Some((self.inside_signed(at)?, seconds(at, step)))).collect()
    }
}

/// The first digit of 1, 2 or 5 times a power of ten.
fn lead(number: i64) -> i64 {
    let mut rest = number;
    while rest >= 10 {
        rest /= 10;
    }
    rest
}

fn seconds(at: i64, step: i64) -> String {
    let (whole, thousandths) = (at / 1_000_000, at % 1_000_000 / 1_000);
    match step {
        1_000_000.. => format!("{whole}"),
        100_000.. => format!("{whole}.{}", thousandths / 100),
        10_000.. => format!("{whole}.{:02}", thousandths / 10),
        _ => format!("{whole}.{thousandths:03}"),
    }
}

fn whole(at: Micros) -> i64 {
    i64::try_from(at).unwrap_or(i64::MAX)
}

/// The position of a bar, or of a stretch that it covers.
pub(super) struct Place {
    /// The index in the lane's bars.
    pub(super) index: usize,
    pub(super) stretch: Stretch,
    left: Tenths,
    right: Tenths,
    top: Tenths,
    height: Tenths,
}

impl Place {
    pub(super) fn frame(&self) -> (Point, Point) {
        (
            Point { x: self.left, y: self.top },
            // A small gap is left before the next one.
            Point { x: (self.right - self.left - 15).max(10), y: self.height },
        )
    }
}

/// Things with text above the track.
#[derive(Clone, Copy)]
pub(super) enum Noted<'a> {
    Mark(&'a Mark),
    Span(SpanKind),
}

/// Their positions.
pub(super) struct NotePlace<'a> {
    pub(super) of: Noted<'a>,
    /// The position of the mark.
    pub(super) pole: Tenths,
    pub(super) left: Tenths,
    pub(super) y: Tenths,
    pub(super) width: Tenths,
}

/// A lane, laid out.
pub(super) struct Strip<'a> {
    pub(super) lane: &'a Lane,
    pub(super) top: Tenths,
    pub(super) track: Tenths,
    pub(super) bars: Tenths,
    pub(super) bar_rows: usize,
    pub(super) rails: Tenths,
    pub(super) rail_rows: usize,
    pub(super) bottom: Tenths,
    pub(super) mints: Vec<Tenths>,
    pub(super) errors: Vec<Tenths>,
    pub(super) notes: Vec<NotePlace<'a>>,
    pub(super) bar_places: Vec<Place>,
    pub(super) rail_places: Vec<Place>,
}

impl<'a> Strip<'a> {
    fn new(lane: &'a Lane, scale: &Scale, top: Tenths) -> Self {
        let (mut notes, note_rows) = notes(lane, scale);
        for note in &mut notes {
            note.y += top + 40;
        }
        let track = top + 130 + high(note_rows, NOTE_ROW);
        let bars = track + 120;
        let shown = |index: &usize| {
            let bar = &lane.bars[*index];
            whole(bar.until_us) > scale.from && whole(bar.from_us) < scale.until
        };
        let held = (0..lane.bars.len()).filter(shown).map(|index| {
            let bar = &lane.bars[index];
            (index, Stretch { from_us: whole(bar.from_us), until_us: whole(bar.until_us) })
        });
        let (bar_places, bar_rows) = stack(held.collect(), scale, bars, BAR_ROW, BAR_ROW - 30);
        let rails = bars + high(bar_rows, BAR_ROW) + 20;
        let covers = (0..lane.bars.len())
            .filter(shown)
            .flat_map(|index| lane.bars[index].covers.iter().map(move |stretch| (index, *stretch)));
        let (rail_places, rail_rows) = stack(covers.collect(), scale, rails, RAIL_ROW, RAIL_ROW - 30);
        let bottom =
            if bar_rows + rail_rows == 0 { track + 110 } else { rails + high(rail_rows, RAIL_ROW) + 40 };
        let mints = thinned(lane, MarkKind::Mint, scale, NEAREST);
        let errors = thinned(lane, MarkKind::Refused, scale, NEAREST * 2);
        Self {
            lane,
            top,
            track,
            bars,
            bar_rows,
            rails,
            rail_rows,
            bottom,
            mints,
            errors,
            notes,
            bar_places,
            rail_places,
        }
    }
}

/// The positions of one kind of mark, without those that are too close to another.
fn thinned(lane: &Lane, kind: MarkKind, scale: &Scale, nearest: Tenths) -> Vec<Tenths> {
    let marks = lane.marks.iter().filter(|mark| mark.kind == kind);
    let mut places: Vec<_> = marks.filter_map(|mark| scale.inside(mark.at_us)).collect();
    places.sort_unstable();
    places.dedup_by(|next, kept| *next - *kept < nearest);
    places
}

fn high(rows: usize, row: Tenths) -> Tenths {
    Tenths::try_from(rows).unwrap_or(0) * row
}

/// Gives each stretch the first row that is free at its start.
fn stack(
    mut stretches: Vec<(usize, Stretch)>,
    scale: &Scale,
    top: Tenths,
    row: Tenths,
    height: Tenths,
) -> (Vec<Place>, usize) {
    stretches.sort_by_key(|(_, stretch)| stretch.from_us);
    let mut ends: Vec<Tenths> = Vec::new();
    let mut places = Vec::with_capacity(stretches.len());
    for (index, stretch) in stretches {
        let (mut left, mut right) = (scale.place(stretch.from_us), scale.place(stretch.until_us));
        match scale.side(stretch) {
            Some(beyond) if beyond < 0 => right = left + 800,
            Some(_) => left = right - 800,
            None => {}
        }
        let free = ends.iter().position(|&end| end <= left).unwrap_or(ends.len());
        if free == ends.len() {
            ends.push(0);
        }
        ends[free] = right.max(left + 10);
        places.push(Place { index, stretch, left, right, top: top + high(free, row), height });
    }
    (places, ends.len())
}

/// The texts of a lane's marks and spans, in rows above its track, the lowest row first.
fn notes<'a>(lane: &'a Lane, scale: &Scale) -> (Vec<NotePlace<'a>>, usize) {
    let marks = lane.marks.iter().filter_map(|mark| {
        let words = mark.words();
        let pole = scale.inside(mark.at_us)?;
        if words.is_empty() || matches!(mark.kind, MarkKind::Mint | MarkKind::Refused) {
            return None;
        }
        let width = Look::bold(RED, 10).width(&words) + 80;
        let left = pole.min(RIGHT - width).max(LEFT);
        Some(NotePlace { of: Noted::Mark(mark), pole, left, y: 0, width })
    });
    let spans = lane.spans.iter().filter_map(|span| {
        let (from, until) = scale.both(span.from_us, span.until_us);
        let width = Look::plain(RED, 11).width(span.kind.words()) + 60;
        let left = (from + until - width) / 2;
        (width < until - from).then_some(NotePlace {
            of: Noted::Span(span.kind),
            pole: left,
            left,
            y: 0,
            width,
        })
    });
    let mut candidates: Vec<_> = marks.chain(spans).collect();
    candidates.sort_by_key(|place| place.left);
    let mut ends: Vec<Tenths> = Vec::new();
    let mut places = Vec::new();
    for place in candidates {
        let free = ends.iter().position(|&end| end + 40 <= place.left).unwrap_or(ends.len());
        if free == NOTE_ROWS {
            continue;
        }
        if free == ends.len() {
            ends.push(0);
        }
        ends[free] = place.left + place.width;
        places.push((free, place));
    }
    let rows = ends.len();
    let lift =
        |(row, place): (usize, NotePlace<'a>)| NotePlace { y: high(rows - 1 - row, NOTE_ROW), ..place };
    (places.into_iter().map(lift).collect(), rows)
}

/// A place in which two stretches of one subject cover the same time.
pub(super) struct Overlap {
    pub(super) left: Tenths,
    pub(super) right: Tenths,
    pub(super) top: Tenths,
    pub(super) bottom: Tenths,
    /// The top and bottom of both rails.
    pub(super) rails: [(Tenths, Tenths); 2],
}

fn overlaps(strips: &[Strip<'_>], scale: &Scale) -> Vec<Overlap> {
    let rails: Vec<_> = strips
        .iter()
        .flat_map(|strip| strip.rail_places.iter().map(|place| (&strip.lane.bars[place.index], place)))
        .filter(|(bar, _)| bar.kind != BarKind::Segment)
        .collect();
    let mut found = Vec::new();
    for (index, (one, place)) in rails.iter().enumerate() {
        for (other, beside) in &rails[index + 1..] {
            let from_us = place.stretch.from_us.max(beside.stretch.from_us);
            let until_us = place.stretch.until_us.min(beside.stretch.until_us);
            let both = Stretch { from_us, until_us };
            if one.subject != other.subject || from_us >= until_us || scale.side(both).is_some() {
                continue;
            }
            let rails = [place, beside].map(|place| (place.top, place.top + place.height));
            let (left, right) = (scale.place(from_us), scale.place(until_us).max(scale.place(from_us) + 10));
            let (top, bottom) = (rails[0].0.min(rails[1].0), rails[0].1.max(rails[1].1));
            found.push(Overlap { left, right, top, bottom, rails });
        }
    }
    found
}

/// A sample and its text.
pub(super) struct LegendItem {
    pub(super) x: Tenths,
    pub(super) y: Tenths,
    pub(super) sample: Sample,
}

/// The whole drawing, laid out.
pub(super) struct Plan<'a> {
    pub(super) scale: Scale,
    pub(super) height: Tenths,
    pub(super) sentence: Vec<String>,
    pub(super) top: Tenths,
    pub(super) strips: Vec<Strip<'a>>,
    pub(super) axis: Tenths,
    pub(super) ticks: Vec<(Tenths, String)>,
    pub(super) overlaps: Vec<Overlap>,
    pub(super) legend: Vec<LegendItem>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(picture: &'a Picture) -> Self {
        let scale = Scale::new(picture);
        let sentence = picture.collision.as_ref().map(|collision| wrap(&collision.words)).unwrap_or_default();
        let top = 720 + high(sentence.len(), 190);
        let mut y = top;
        let mut strips = Vec::new();
        for lane in picture.lanes.iter().chain(&picture.store) {
            let strip = Strip::new(lane, &scale, y);
            y = strip.bottom + GAP;
            strips.push(strip);
        }
        let overlaps = overlaps(&strips, &scale);
        let (legend, bottom) = legend(samples(picture, !overlaps.is_empty()), y + 560);
        let ticks = scale.ticks();
        Self { scale, height: bottom + 160, sentence, top, strips, axis: y, ticks, overlaps, legend }
    }
}

fn wrap(words: &str) -> Vec<String> {
    let look = Look::bold(RED, 14);
    let mut lines: Vec<String> = Vec::new();
    for word in words.split_whitespace() {
        match lines.last_mut() {
            Some(line) if look.width(line) + look.width(word) < WIDTH - 500 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The things in the picture, each once.
fn samples(picture: &Picture, overlap: bool) -> Vec<Sample> {
    let mut samples = Vec::new();
    for lane in picture.lanes.iter().chain(&picture.store) {
        samples.extend(lane.marks.iter().map(|mark| match mark.kind {
            MarkKind::Mint => Sample::Mint,
            MarkKind::ClockStep(_) => Sample::Mark(MarkKind::ClockStep(0)),
            kind => Sample::Mark(kind),
        }));
        samples.extend(lane.spans.iter().map(|span| Sample::Span(span.kind)));
        samples.extend(lane.bars.iter().map(|bar| Sample::Bar(bar.kind)));
        samples.extend(lane.bars.iter().flat_map(|bar| &bar.covers).map(|_| Sample::Rail));
    }
    samples.extend(overlap.then_some(Sample::Overlap));
    samples.extend(picture.collision.iter().filter(|it| !it.mints.is_empty()).map(|_| Sample::Collision));
    samples.sort_unstable();
    samples.dedup();
    samples
}

fn legend(samples: Vec<Sample>, top: Tenths) -> (Vec<LegendItem>, Tenths) {
    let (mut x, mut y) = (200, top);
    let mut items = Vec::new();
    for sample in samples {
        let width = 300 + Look::plain(RED, 11).width(sample.words()) + 180;
        if x + width > RIGHT && x > 200 {
            x = 200;
            y += 220;
        }
        items.push(LegendItem { x, y, sample });
        x += width;
    }
    (items, y)
}
