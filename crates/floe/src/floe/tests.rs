use super::builder::{EMBEDDED_WINDOW_MS, MAX_WAIT, SHARED_WINDOW_MS};
use super::*;
use crate::time::millis;

#[cfg(not(loom))]
mod defining;
#[cfg(not(loom))]
mod opening;
#[cfg(not(loom))]
mod status;

#[cfg(not(loom))]
fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

/// A number in words, as the pages write small ones.
fn word(number: u64) -> &'static str {
    match number {
        5 => "five",
        8 => "eight",
        10 => "ten",
        30 => "thirty",
        _ => panic!("the pages have no word for {number} yet"),
    }
}

/// 45,056.
fn grouped(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        _ => format!("{},{:03}", grouped(number / 1_000), number % 1_000),
    }
}

/// Sentences of the pages that have a limit or a default of this crate.
#[test]
fn the_pages_say_the_defaults() {
    use crate::clock::ledger_time::APART_MS;
    use crate::clock::{FOLLOWED_MS, LEVEL_MS, MOVED_MS, SLEW};
    use crate::ledger::Mark;
    use crate::ledger::conformance::tests::BROKEN_LEDGERS;
    use crate::node::ledger_clock::{AGAIN_MS, REFRESH_MS};
    use crate::node::past;
    use crate::node::slot_group::{MOST_PROBED, PROBED_AGAIN, PROBED_AT_ONCE, QUIET_MS};
    use crate::store::conformance::tests::BROKEN_STORES;
    use crate::store::stored::{LOOKED_AT, TOLD_OF};

    let embedded = EMBEDDED_WINDOW_MS / 1_000;
    let shared = SHARED_WINDOW_MS / 1_000;
    let close = crate::driver::CLOSE_MS / 1_000;
    let wait = MAX_WAIT.as_secs();
    let options = NameOptions::default();
    let ahead = millis(options.max_ahead);
    let twitter = Layout::TWITTER;
    let (nodes, a_tick) = (grouped(1 << twitter.worker_bits()), 1 << twitter.sequence_bits());
    let (each, a_second) = (grouped(a_tick), grouped(a_tick * 1_000));
    let burst = grouped(a_tick * (ahead + 1));
    let horizon = twitter.horizon().to_string();
    let year = &horizon[..4];
    let unloaded = grouped(past::MOST as u64);
    let (ahead_calls, batches) = (Mark::AHEAD, Mark::AHEAD + 1);
    assert_eq!(MOVED_MS, 1_000, "the pages say: a second");
    let page = |name: &str| {
        let path = format!("{}/../../{name}.md", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let said = [
        // Windows.
        ("docs/configuration", format!("The default is {embedded} s on the embedded ledger")),
        ("docs/configuration", format!("fail together anyway, and {shared} s on a shared one")),
        (
            "docs/questions",
            format!("The default window is {embedded} s on SQLite and {shared} s on a shared ledger"),
        ),
        ("docs/operating", format!("once a window (by default {embedded} s, on a shared ledger {shared} s)")),
        (
            "docs/operating",
            format!("{} s by default on the embedded ledger, a minute on a shared", 2 * embedded),
        ),
        (
            "docs/settings",
            format!("on the embedded ledger is \"{embedded}s\", on a shared one \"{shared}s\""),
        ),
        ("docs/kubernetes", format!("one and a half windows ({} s by default)", shared * 3 / 2)),
        // Waits.
        ("docs/library", format!("`Builder::max_wait` ({wait} s)")),
        ("docs/configuration", format!("at most `max_wait` ({wait} s in a program")),
        ("docs/library", format!("| `close`, the last `drop` | the ledger, at most {close} s |")),
        ("docs/library", format!("the last `drop` after {close} s")),
        ("docs/operating", format!("+ {close} s to give back ranges")),
        ("docs/kubernetes", format!("+ {close} s to give back ranges")),
        // Names and layouts.
        ("docs/configuration", format!("A name has 1 to {} bytes", Name::MAX_BYTES)),
        (
            "docs/configuration",
            format!("The other fields are the worker id, at most {} bits", Layout::MAX_WORKER_BITS),
        ),
        (
            "docs/configuration",
            format!("only time and sequence together have at most {}", Layout::MAX_POSITION_BITS),
        ),
        ("docs/configuration", format!("All fields together have at most {} bits", Id::BITS)),
        ("README", format!("{nodes} worker ids, {each} IDs a millisecond for each, until {year}")),
        ("README", format!("at most one ID in {} ns", 1_000_000 / a_tick)),
        ("docs/questions", format!("`twitter`'s in {year}.")),
        ("docs/questions", format!("{nodes} nodes, {each} IDs a millisecond each, until {year}")),
        ("docs/kubernetes", format!("The layout `twitter` has {nodes} worker ids")),
        ("docs/configuration", format!("`twitter` has {each} IDs a millisecond, {a_second} a second")),
        ("docs/configuration", format!("`max_ahead` ({ahead} ms) ahead of the [steady clock]")),
        ("docs/configuration", format!("it gives the IDs of {} ms at once, {burst}", ahead + 1)),
        ("docs/guarantees", format!("up to `max_ahead` ({ahead} ms) past the steady clock")),
        ("docs/questions", format!("a name may mint up to {ahead} ms ahead of it")),
        (
            "docs/configuration",
            format!(
                "`refill` ({} minutes), between `min_step` ({}) and `max_step` ({})",
                options.refill.as_secs() / 60,
                grouped(options.min_step),
                grouped(options.max_step)
            ),
        ),
        (
            "docs/questions",
            format!(
                "a steady rate of up to {} numbers a second, that lasts for at least {} minutes (`refill`)",
                grouped(options.max_step / options.refill.as_secs() / 100 * 100),
                options.refill.as_secs() / 60
            ),
        ),
        (
            "docs/guarantees",
            format!("its tests catch {BROKEN_LEDGERS} broken ledgers and {BROKEN_STORES} broken stores"),
        ),
        ("docs/clients", format!("one batch of `min_step` numbers ({};", grouped(options.min_step))),
        (
            "docs/kinds",
            format!(
                "from `min_step` ({}) to `max_step` ({})",
                grouped(options.min_step),
                grouped(options.max_step)
            ),
        ),
        // Clocks.
        ("docs/guarantees", format!("goes on at {} % of the monotonic clock's rate", 100 - 100 / SLEW)),
        ("docs/guarantees", format!("jumps ahead by more than {} seconds", word(FOLLOWED_MS / 1_000))),
        ("docs/guarantees", format!("have kept pace for {} seconds", word(LEVEL_MS / 1_000))),
        ("docs/guarantees", format!("if the last answer is {} minutes old", word(REFRESH_MS / 60_000))),
        ("docs/guarantees", format!("The node asks again every {} seconds", word(AGAIN_MS / 1_000))),
        (
            "docs/guarantees",
            format!("still more than {} seconds apart, it reserves no window", word(APART_MS / 1_000)),
        ),
        ("docs/operating", format!("the two are more than {} seconds apart", word(APART_MS / 1_000))),
        (
            "docs/operating",
            format!("goes on by itself within {} seconds. Until then", word(AGAIN_MS / 1_000)),
        ),
        // Ledgers.
        (
            "docs/ledgers",
            format!(
                "durably reserves numbers for {ahead_calls} more batches of its size. Those take their numbers from that range. So about one batch in {batches} reserves"
            ),
        ),
        ("docs/ledgers", format!("{ahead_calls} batches: the crash empties that table")),
        ("docs/ledgers", format!("can skip up to {ahead_calls} batches")),
        ("docs/operating", format!("only one batch in about {batches} waits for the disk")),
        ("docs/guarantees", format!("for the last {unloaded} names that it has unloaded")),
        ("docs/benchmarks", format!("floe's note of the last {unloaded} unloaded names")),
        ("docs/ledgers", format!("ended at least one window plus {} s ago", QUIET_MS / 1_000)),
        ("docs/ledgers", format!("After {PROBED_AT_ONCE} probes without such a slot")),
        ("docs/ledgers", format!("After {} probes it says", grouped(MOST_PROBED))),
        ("docs/ledgers", format!("then probes at most {PROBED_AGAIN} slots in one look")),
        (
            "docs/ledgers",
            format!("looks at {LOOKED_AT} other realms at most, and names {}", word(TOLD_OF as u64)),
        ),
        ("docs/library", format!("`define_many` makes {} at a time", word(DEFINED_AT_ONCE as u64))),
    ];
    let missing = said.iter().filter(|(name, sentence)| !page(name).contains(sentence.as_str()));
    let missing: Vec<_> =
        missing.map(|(name, sentence)| format!("{name}.md does not say: {sentence}")).collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
