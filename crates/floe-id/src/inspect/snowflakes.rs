//! Numbers, which do not say what they were minted by: the layouts by which their date can be, best first.

use alloc::{format, string::ToString, vec::Vec};

use crate::form::{Buffer, Form};
use crate::id::{Id, WideId};
use crate::layout::{FieldKind, Layout, PRESETS, Parts, Preset, Width};
use crate::time::UnixMillis;

use super::reading::{Likelihood, Moment, Reading};

/// In how many ways a text of digits and letters is read as a number, at the most.
const MOST_GUESSES: usize = 4;

/// The layouts that are met far more often than their number among the presets says, with how many half-bits of evidence
/// against them that outweighs. Twitter's is floe's own default too, and its worker ids are spread over all their bits.
const WIDESPREAD: [(&str, u32); 5] =
    [(SPREAD, 10), ("discord", 8), ("tsid", 4), ("instagram", 2), ("mastodon", 2)];

/// How a TSID is written, and hardly anything else.
const TSID: &str = "base32 width=13";

/// The preset in which a small worker id is no evidence.
const SPREAD: &str = "twitter";

/// Evidence of a single field never counts for more half-bits than this: a field of many bits is not better evidence.
const MOST_EVIDENCE: u32 = 12;

/// And that of a time no more than this, though it has the most bits: old IDs are asked about as well.
const MOST_OF_AGE: u32 = 16;

/// The presets by which `id` was minted after their epoch's first day and not in the future.
///
/// First come those whose fields look minted: somebody asks about new IDs more often than about old ones, sequences are
/// mostly at the beginning of a tick, and worker ids small. Then those that are widespread, then those by which it is the
/// youngest.
pub(super) fn by_presets(id: WideId, now: UnixMillis) -> Vec<Reading> {
    let mut found = candidates(id, now);
    found.sort_by_key(|candidate| core::cmp::Reverse((candidate.score, candidate.parts.time)));
    found.into_iter().map(|candidate| candidate.reading(id)).collect()
}

/// The numbers below 2^63 that `text` writes in a base other than ten, by the best preset of each.
pub(super) fn in_other_bases(text: &str, now: UnixMillis) -> Vec<Reading> {
    // A number that fills 63 bits has the most digits, and is written in as many where its texts are to sort.
    const FORMS: [(&str, core::ops::RangeInclusive<usize>); 12] = [
        ("hex", 14..=15),
        ("hex width=16", 16..=16),
        ("hex upper", 14..=15),
        ("hex upper width=16", 16..=16),
        ("base32", 11..=12),
        (TSID, 13..=13),
        ("base36", 10..=12),
        ("base36 width=13", 13..=13),
        ("base36 upper", 10..=12),
        ("base36 upper width=13", 13..=13),
        ("base58", 9..=11),
        ("base62", 9..=11),
    ];
    let mut found: Vec<(u32, Reading)> = Vec::new();
    for (form, _) in FORMS.into_iter().filter(|(_, lengths)| lengths.contains(&text.len())) {
        let Some(number) = written_in(form, text) else { continue };
        let id = WideId::from(number);
        let tsid = form == TSID;
        let best = candidates(id, now).into_iter().max_by_key(|candidate| {
            (tsid && candidate.preset.name == "tsid", candidate.score, candidate.parts.time)
        });
        let Some(best) = best else { continue };
        let score = if tsid { u32::MAX } else { best.score };
        let reading = best.reading(id);
        let title = format!("{}, written in {form}", reading.title);
        let reading = reading
            .titled(title)
            .written(form, text)
            .fact("written in", format!("{form}: {number}"))
            .with("number", number.to_string());
        let likelihood = if tsid { Likelihood::Possible } else { Likelihood::Unlikely };
        found.push((score, reading.that_is(likelihood)));
    }
    found.sort_by_key(|(score, _)| core::cmp::Reverse(*score));
    found.into_iter().map(|(_, reading)| reading).take(MOST_GUESSES).collect()
}

/// The number that `form` writes as `text`, or as `text` in capitals: of the aliases that it reads besides, a guess makes no
/// use.
fn written_in(form: &str, text: &str) -> Option<u128> {
    let form: Form = form.parse().ok()?;
    let number = form.decode(text).ok()?;
    let mut buffer = Buffer::new();
    let written = form.encode(number, &mut buffer).ok()?;
    (written == text || written.to_ascii_lowercase() == text).then_some(number)
}

struct Candidate {
    preset: &'static Preset,
    parts: Parts,
    score: u32,
}

impl Candidate {
    fn reading(self, id: WideId) -> Reading {
        let name = self.preset.name;
        Reading::of_parts(id, &self.preset.layout, &self.parts)
            .titled(format!("snowflake of {name}"))
            .with("preset", name)
            .that_is(Likelihood::Likely)
    }
}

fn candidates(id: WideId, now: UnixMillis) -> Vec<Candidate> {
    let candidate = |preset: &'static Preset| {
        // One that needs more than 63 bits is recognised by them.
        if preset.layout.width() == Width::Wide && Id::try_from(id).is_ok() {
            return None;
        }
        let parts = preset.layout.split(id.get()).ok()?;
        let credible = Moment::from(parts.time).is_credible(now)
            && parts.time.since(preset.layout.epoch()) >= 86_400_000;
        let score = of_age(&preset.layout, &parts, now)
            + of_sequence(&preset.layout, &parts)
            + if preset.name == SPREAD { 0 } else { of_worker(&parts) }
            + widespread(preset.name);
        credible.then_some(Candidate { preset, parts, score })
    };
    PRESETS.iter().filter_map(candidate).collect()
}

/// How improbable so young an ID would be if its time were any between the epoch and now, in half-bits. An ID that somebody
/// asks about is as often of the last day as older, so a day counts in full, and a month for half. Machine ids that are
/// large, as those that Sonyflake takes from an address, say nothing, and then the time has to.
fn of_age(layout: &Layout, parts: &Parts, now: UnixMillis) -> u32 {
    const DAY: i64 = 86_400_000;
    let (age, span) = (now.since(parts.time), now.since(layout.epoch()));
    let times = |part: i64| (span / part).checked_ilog2().unwrap_or(0);
    match age {
        ..=DAY => (2 * times(DAY)).min(MOST_OF_AGE),
        _ if age <= 30 * DAY => times(30 * DAY),
        _ => 0,
    }
}

/// How improbable so small a sequence would be if its bits were random, in half-bits.
fn of_sequence(layout: &Layout, parts: &Parts) -> u32 {
    (2 * zeros(layout.sequence_bits(), parts.sequence)).min(MOST_EVIDENCE)
}

/// The same of the node fields; worker ids are small less often than sequences are, and so it counts for half.
fn of_worker(parts: &Parts) -> u32 {
    let nodes = parts.fields.iter().filter(|part| part.field.kind() == FieldKind::Node);
    nodes.map(|part| zeros(part.field.bits(), part.value)).sum::<u32>().min(MOST_EVIDENCE)
}

/// How many of the highest bits of a field are 0.
fn zeros(bits: u32, value: u64) -> u32 {
    bits.saturating_sub(u64::BITS - value.leading_zeros())
}

fn widespread(name: &str) -> u32 {
    WIDESPREAD.iter().find(|(preset, _)| *preset == name).map_or(0, |(_, weight)| *weight)
}
