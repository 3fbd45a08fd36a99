//! `floe layout`: what a layout holds, how long it lasts, and what to take instead if it does not fit.

use floe::layout::{FieldKind, PRESETS, Preset, Proposal, TooWide, Width};
use floe::{Layout, LayoutError, UnixMillis};
use serde_json::{Value, json};

use crate::arguments;
use crate::drawing::{Cell, draw};
use crate::failure::{Failure, Outcome};
use crate::place::now;
use crate::table::{aligned, print, print_json, print_painted, table};

/// The first number above those that a JavaScript number holds exactly.
const JAVASCRIPT_END: u128 = 1 << 53;

pub(crate) fn run(arguments: &arguments::Layouts) -> Outcome {
    let now = now();
    if arguments.spec.is_empty() {
        return match arguments.json {
            true => print_json(&PRESETS.iter().map(|preset| of_preset(preset, now)).collect()),
            false => print(&presets()),
        };
    }
    let asked = Asked::new(&arguments.spec.join(" "), now);
    let layout = match asked.text.parse::<Layout>() {
        Ok(layout) => layout,
        Err(LayoutError::TooWide(wide)) => return too_wide(&wide, arguments.json, now),
        Err(error) => return Err(error.into()),
    };
    let preset = PRESETS.iter().find(|preset| asked.text == preset.name);
    if arguments.json {
        return print_json(&match preset {
            Some(preset) => of_preset(preset, now),
            None => facts(&layout, now),
        });
    }
    print_painted(&shown(&layout, preset, asked.note(), now))
}

/// A layout as it was asked for, with a tick and an epoch.
struct Asked {
    text: String,
    /// What was not said.
    assumed: Vec<String>,
}

impl Asked {
    fn new(text: &str, now: UnixMillis) -> Self {
        let mut words: Vec<String> = text.split_ascii_whitespace().map(str::to_owned).collect();
        let mut assumed = Vec::new();
        // A preset says both.
        if words.first().is_some_and(|word| word.contains(':')) {
            // The first of this year: who makes a layout begins about now.
            let year: String = now.to_string().chars().take(4).collect();
            let wide = words.pop_if(|word| word == "wide");
            for (key, value) in
                [("tick=", "tick=1ms".to_owned()), ("epoch=", format!("epoch={year}-01-01T00:00:00Z"))]
            {
                if !words.iter().any(|word| word.starts_with(key)) {
                    words.push(value.clone());
                    assumed.push(value);
                }
            }
            words.extend(wide);
        }
        Self { text: words.join(" "), assumed }
    }

    fn note(&self) -> Option<String> {
        (!self.assumed.is_empty())
            .then(|| format!("{} was assumed: write another to see its numbers", self.assumed.join(" ")))
    }
}

/// The presets side by side.
fn presets() -> String {
    let headings =
        ["PRESET", "FIELDS", "BITS", "TICK", "WORKERS", "IDS/S EACH", "LASTS", "UNTIL", "JAVASCRIPT"];
    let rows = PRESETS.iter().map(|Preset { name, layout, .. }| {
        let fields: Vec<String> = layout.fields().map(|field| field.bits().to_string()).collect();
        // Past the year 9999 there is no date to write.
        let until = layout.horizon().to_string();
        let until = until.split_once('T').map_or("after 9999", |(date, _)| date).to_owned();
        [
            (*name).to_owned(),
            fields.join("+"),
            layout.total_bits().to_string(),
            tick(layout),
            grouped(layout.workers().into()),
            per_second(layout, 1),
            layout.lifetime(),
            until,
            if is_exact(layout) { "exact" } else { "as text" }.to_owned(),
        ]
    });
    let table = table(headings, rows);
    format!("{table}\nfloe layout PRESET draws one, and names the source of its numbers.\n")
}

fn shown(layout: &Layout, preset: Option<&Preset>, note: Option<String>, now: UnixMillis) -> String {
    let mut lines = vec![("layout", layout.to_string())];
    if let Some(preset) = preset {
        lines.push(("preset", format!("{}: {}", preset.name, preset.about)));
        lines.push(("source", preset.source.to_owned()));
    }
    lines.extend(note.map(|note| ("note", note)));
    let head = aligned(&lines);
    let cells: Vec<Cell> = layout.fields().map(Cell::from).collect();
    let workers = layout.workers();
    let nodes: Vec<String> = layout
        .fields()
        .filter(|field| field.kind() == FieldKind::Node)
        .map(|field| format!("{} {}", grouped(u128::from(field.max()) + 1), field.name()))
        .collect();
    let nodes = match nodes.len() {
        0 => " (no node field: one worker at a time)".to_owned(),
        1 => String::new(),
        _ => format!(" ({})", nodes.join(" x ")),
    };
    let tick_total = u128::from(layout.per_tick()) * u128::from(workers);
    let facts = aligned(&[
        ("bits", bits(layout)),
        ("workers", format!("{}{nodes}", grouped(workers.into()))),
        (
            "per tick",
            format!(
                "{} IDs each, {} in all, in {}",
                grouped(layout.per_tick().into()),
                grouped(tick_total),
                tick(layout)
            ),
        ),
        ("per second", format!("{} IDs each, {} in all", per_second(layout, 1), per_second(layout, workers))),
        ("lasts", lasts(layout, now)),
        ("JavaScript", javascript(layout, now)),
        ("first ID now", minted_now(layout, now)),
        ("last of all", last(layout)),
    ]);
    format!("{head}\n{}\n{facts}", draw(&cells))
}

fn bits(layout: &Layout) -> String {
    let total = layout.total_bits();
    match layout.width() {
        Width::Narrow => format!("{total} of 63, so that it is never negative as a 64-bit number"),
        Width::Wide => format!(
            "{total} of 128: store it as text or in a UUID column, since a 64-bit number cannot hold it"
        ),
    }
}

fn lasts(layout: &Layout, now: UnixMillis) -> String {
    let (horizon, epoch) = (layout.horizon(), layout.epoch());
    let end = match horizon.since(now) {
        left if left <= 0 => "its time bits have run out, and nothing is minted".to_owned(),
        _ if epoch > now => format!("nothing is minted before its epoch, {epoch}"),
        left => format!("{:.1} years from now", years(left)),
    };
    format!("{}, to {horizon} ({end})", layout.lifetime())
}

/// Only to be shown.
fn years(millis: i64) -> f64 {
    let days = i32::try_from(millis / 86_400_000).unwrap_or(i32::MAX);
    f64::from(days) / 365.2425
}

fn is_exact(layout: &Layout) -> bool {
    layout.total_bits() <= 53
}

/// When the first ID is minted that a JavaScript number does not hold, if a time on top says so.
fn exact_until(layout: &Layout) -> Option<UnixMillis> {
    let time = layout.fields().next().filter(|field| field.kind() == FieldKind::Time)?;
    let tick = JAVASCRIPT_END.checked_shr(time.shift()).filter(|_| !is_exact(layout))?;
    Some(layout.time_of(u64::try_from(tick).ok()?))
}

fn javascript(layout: &Layout, now: UnixMillis) -> String {
    if is_exact(layout) {
        return "exact: every ID is below 2^53".to_owned();
    }
    match exact_until(layout) {
        Some(until) if until > now => {
            format!("exact until {until}, then above 2^53: send IDs as text")
        }
        _ => "not exact: IDs are above 2^53, and JSON.parse changes their last digits: send them as text"
            .to_owned(),
    }
}

fn minted_now(layout: &Layout, now: UnixMillis) -> String {
    match id_at(layout, now) {
        Some(id) => format!("{id} (worker 0, sequence 0)"),
        None if layout.epoch() > now => "none: its epoch is still to come".to_owned(),
        None => "none: its time bits have run out".to_owned(),
    }
}

/// The first ID of the tick of `time`.
fn id_at(layout: &Layout, time: UnixMillis) -> Option<u128> {
    let tick = layout.tick_at(time).ok()?;
    layout.compose(tick, 0, 0).ok()
}

fn last_id(layout: &Layout) -> u128 {
    layout.place_wide(layout.end_position() - 1, layout.workers() - 1)
}

fn last(layout: &Layout) -> String {
    format!("{} (worker {}, sequence {})", last_id(layout), layout.workers() - 1, layout.per_tick() - 1)
}

/// How many IDs this many workers mint per second; per tick, if a tick is longer and they are fewer.
fn per_second(layout: &Layout, workers: u64) -> String {
    let per_tick = u128::from(layout.per_tick()) * u128::from(workers);
    match per_tick * 1_000 / u128::from(layout.tick_millis()) {
        0 => format!("{} every {}", grouped(per_tick), tick(layout)),
        rate => grouped(rate),
    }
}

fn tick(layout: &Layout) -> String {
    match layout.tick_millis() {
        millis if millis.is_multiple_of(1_000) => format!("{} s", millis / 1_000),
        millis => format!("{millis} ms"),
    }
}

/// Digits in groups of three, or the power of two below where they would not help.
fn grouped(number: u128) -> String {
    match u64::try_from(number) {
        Ok(number) => floe_peers::table::grouped(number),
        Err(_) => format!("over 2^{}", number.ilog2()),
    }
}

/// A number that every reader of JSON keeps as it is.
fn exact(number: u128) -> Value {
    match u64::try_from(number) {
        Ok(small) if number < JAVASCRIPT_END => small.into(),
        _ => number.to_string().into(),
    }
}

fn of_preset(preset: &Preset, now: UnixMillis) -> Value {
    let mut value = facts(&preset.layout, now);
    if let Some(object) = value.as_object_mut() {
        for (key, text) in [("preset", preset.name), ("about", preset.about), ("source", preset.source)] {
            object.insert(key.to_owned(), text.into());
        }
    }
    value
}

fn facts(layout: &Layout, now: UnixMillis) -> Value {
    let fields = layout
        .fields()
        .map(|field| json!({ "name": field.name(), "bits": field.bits(), "shift": field.shift() }));
    let per_tick = u128::from(layout.per_tick());
    let per_second = per_tick * 1_000 / u128::from(layout.tick_millis());
    json!({
        "layout": layout.to_string(),
        "bits": layout.total_bits(),
        "wide": layout.width() == Width::Wide,
        "fields": fields.collect::<Vec<_>>(),
        "tick_ms": layout.tick_millis(),
        "epoch": layout.epoch().to_string(),
        "horizon": layout.horizon().to_string(),
        "lasts": layout.lifetime(),
        "workers": layout.workers(),
        "per_tick": exact(per_tick),
        "per_second": exact(per_second),
        "per_second_of_all": exact(per_tick * u128::from(layout.workers()) * 1_000 / u128::from(layout.tick_millis())),
        "javascript_exact": is_exact(layout),
        "javascript_exact_until": exact_until(layout).map(|until| until.to_string()),
        "id_now": id_at(layout, now).map(|id| id.to_string()),
        "last_id": last_id(layout).to_string(),
    })
}

/// The requested layout, why it does not fit, and a table of layouts that do.
fn too_wide(asked: &TooWide, json: bool, now: UnixMillis) -> Outcome {
    let fits = match asked.limit {
        63 => "63 fit a 64-bit ID, since its sign bit stays 0".to_owned(),
        limit => format!("a wide ID has {limit}"),
    };
    let why = format!("the layout `{}` has {} bits, and {fits}; {}", asked.spec, asked.total, asked.lifetime);
    if json {
        let proposals = asked.proposals.iter().map(|proposal| {
            let mut value = facts(&proposal.layout, now);
            if let Some(object) = value.as_object_mut() {
                object.insert("gives_up".to_owned(), proposal.gives_up.clone().into());
            }
            value
        });
        print_json(&json!({
            "asked": asked.spec,
            "bits": asked.total,
            "most_bits": asked.limit,
            "lifetime": asked.lifetime,
            "error": why,
            "proposals": proposals.collect::<Vec<_>>(),
            "wide": asked.wide.as_ref().map(|layout| facts(layout, now)),
        }))?;
    } else {
        print_painted(&beside(asked))?;
    }
    Err(match &asked.wide {
        Some(_) => Failure::new(why)
            .hint("take one of the above, or write `wide` at the end to mint it as it is, at 128 bits"),
        None => Failure::new(why).hint("take one of the above, or use fewer bits"),
    })
}

/// The drawing of what was asked for, and the table.
fn beside(asked: &TooWide) -> String {
    let mut below = asked.total;
    let cells: Vec<Cell> = asked
        .spec
        .split_ascii_whitespace()
        .filter_map(|field| field.split_once(':'))
        .filter_map(|(name, bits)| Some((name, bits.parse::<u32>().ok()?)))
        .map(|(name, bits)| {
            below = below.saturating_sub(bits);
            Cell { name: name.to_owned(), bits, shift: below, value: None }
        })
        .collect();
    let proposed = asked.proposals.iter().map(|Proposal { layout, gives_up }| {
        let spec = match layout.tick_millis() {
            1 => layout.spec(),
            _ => format!("{} tick={}", layout.spec(), tick(layout).replace(' ', "")),
        };
        row(spec, layout, gives_up)
    });
    let wide = asked.wide.iter();
    let wide = wide.map(|wide| row(format!("{} wide", asked.spec), wide, "128 bits in place of 64"));
    let table = table(["LAYOUT", "LASTS", "WORKERS", "IDS/S EACH", "GIVES UP"], proposed.chain(wide));
    format!("{}\nThe nearest that fit:\n\n{table}\n", draw(&cells))
}

fn row(spec: String, layout: &Layout, gives_up: &str) -> [String; 5] {
    [spec, layout.lifetime(), grouped(layout.workers().into()), per_second(layout, 1), gives_up.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-21T00:00:00Z.
    const NOW: UnixMillis = UnixMillis::new(1_795_219_200_000);

    fn layout(text: &str) -> Layout {
        Asked::new(text, NOW).text.parse().expect("a layout")
    }

    #[test]
    fn what_is_not_said_is_assumed_and_told() {
        let asked = Asked::new("time:41 worker:10 sequence:12", NOW);
        assert_eq!(asked.text, "time:41 worker:10 sequence:12 tick=1ms epoch=2026-01-01T00:00:00Z");
        assert!(
            asked.note().is_some_and(|note| note.contains("tick=1ms epoch=2026-01-01T00:00:00Z was assumed"))
        );
        // `wide` stays last, and what is said stays as it is.
        let asked = Asked::new("time:37 server:20 sequence:16 epoch=2020-01-01T00:00:00Z wide", NOW);
        assert_eq!(asked.text, "time:37 server:20 sequence:16 epoch=2020-01-01T00:00:00Z tick=1ms wide");
        assert!(Asked::new("twitter", NOW).note().is_none());
        // A preset from another day on, or with another tick.
        let moved = layout("twitter epoch=2026-01-01T00:00:00Z");
        assert_eq!((moved.spec(), moved.epoch().get()), (Layout::TWITTER.spec(), 1_767_225_600_000));
        assert_eq!(layout("sonyflake tick=1ms").tick_millis(), 1);
        assert_eq!(layout("game tick=1s").width(), Width::Wide);
        assert_eq!(layout("javascript wide").width(), Width::Wide);
    }

    #[test]
    fn a_layout_of_53_bits_is_exact_in_javascript_and_another_until_its_time_is_there() {
        let exact = facts(&Layout::JAVASCRIPT, NOW);
        assert_eq!(
            (&exact["javascript_exact"], &exact["last_id"]),
            (&json!(true), &json!("9007199254740991"))
        );
        assert_eq!(exact["javascript_exact_until"], Value::Null);
        // 2^53 >> 22 ticks of 1 ms.
        let until = exact_until(&Layout::TWITTER).expect("a time on top");
        assert_eq!(until, Layout::TWITTER.epoch().plus(1 << 31));
        let id = |time: UnixMillis| id_at(&Layout::TWITTER, time).expect("an ID");
        assert!(id(until) >= JAVASCRIPT_END && id(until.plus(-1)) < JAVASCRIPT_END);
        // A time that is not on top says nothing.
        assert_eq!(exact_until(&layout("worker:10 time:41 sequence:12")), None);
    }

    #[test]
    fn a_rate_counts_ticks_that_are_not_a_millisecond() {
        assert_eq!(per_second(&Layout::SONYFLAKE, 1), "25,600");
        assert_eq!(per_second(&Layout::BAIDU, 1), "8,192");
        assert_eq!(per_second(&layout("time:30 worker:10 sequence:2 tick=60s"), 1), "4 every 60 s");
        assert_eq!(per_second(&layout("time:30 worker:32 sequence:33 wide"), 1 << 32), "over 2^74");
    }

    #[test]
    fn nothing_is_minted_out_of_a_layouts_time() {
        assert_eq!(minted_now(&Layout::BAIDU, NOW), "none: its time bits have run out");
        let ahead = layout("time:41 worker:10 sequence:12 epoch=2027-01-01T00:00:00Z");
        assert_eq!(minted_now(&ahead, NOW), "none: its epoch is still to come");
        assert_eq!(facts(&ahead, NOW)["id_now"], Value::Null);
        // What it would mint is read back as this moment.
        for preset in PRESETS.iter().filter(|preset| preset.name != "baidu") {
            let id = id_at(&preset.layout, NOW).expect("an ID");
            let time = preset.layout.split(id).expect("an ID of the layout").time;
            assert!((0..10).contains(&NOW.since(time)), "{}: {time}", preset.name);
        }
    }

    #[test]
    fn the_game_layout_is_refused_at_64_bits_with_what_is_near() {
        let Err(LayoutError::TooWide(wide)) =
            Asked::new("time:37 server:20 sequence:16", NOW).text.parse::<Layout>()
        else {
            panic!("73 bits fit 63")
        };
        let text = beside(&wide);
        for says in [
            "time:37 server:10 sequence:16          4.35 years   1,024      65,536,000  1,024 workers in place",
            "time:41 server:13 sequence:9           69.68 years",
            "time:27 server:20 sequence:16 tick=1s  4.25 years ",
            "time:37 server:20 sequence:16 wide     4.35 years   1,048,576  65,536,000  128 bits in place of 64",
        ] {
            assert!(text.contains(says), "{says:?} is not in\n{text}");
        }
    }
}
