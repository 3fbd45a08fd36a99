//! Compares every algorithm under every mix of faults, with the same seeds for all.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::str::FromStr;

use floe_sim::history::Wrong;
use floe_sim::run::{Entrant, Outcome, Plan, seeds};
use floe_sim::scenario::Class;

/// How many seeds a cell has by default.
pub const SEEDS: u64 = 100;
/// How many virtual seconds a history lasts: longer than the timers of five minutes that some algorithms have.
pub const SECONDS: u64 = 900;

/// A mix of faults: a column of the table, or any others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mix {
    /// Its heading.
    pub label: Cow<'static, str>,
    /// The faults in each of its histories.
    pub classes: Cow<'static, [Class]>,
    /// Something else that a reader must know; empty for nothing.
    pub also: &'static str,
    /// How many times longer its histories are than the others'.
    pub times: u64,
}

const fn column(label: &'static str, classes: &'static [Class], also: &'static str) -> Mix {
    Mix { label: Cow::Borrowed(label), classes: Cow::Borrowed(classes), also, times: 1 }
}

/// The mixes. Each is something that operators have experienced, and only the last two are outside floe's contract.
pub const COLUMNS: &[Mix] = &[
    column("calm", &[], ""),
    column("crash", &[Class::Crash], ""),
    column("rollback", &[Class::Rollback], ""),
    column(
        "crash + rollback",
        &[Class::Rollback, Class::Crash],
        "a process is down for 1 ms to 5 s until something starts it again; meanwhile its machine's clock is set back once \
         more, by the downtime plus 1 ms to 3 s",
    ),
    column("crash + skew", &[Class::Skew, Class::Crash], ""),
    // If a worker id is taken away after an hour, that shows only when another process starts and takes it.
    Mix {
        label: Cow::Borrowed("pause"),
        classes: Cow::Borrowed(&[Class::Pause, Class::Restart]),
        also: "its histories are eight times as long, since some algorithms wait for an hour",
        times: 8,
    },
    column("network", &[Class::Network, Class::Outage], ""),
    column("crowd", &[Class::Crash, Class::Crowd], ""),
    column("twins", &[Class::Twins], ""),
    column("snapshot", &[Class::Snapshot], ""),
    // If a registry is asked only at a start, a fault in it shows only when a process starts.
    column("store forgets", &[Class::Crash, Class::Failover, Class::Restore], ""),
    column("clone", &[Class::Clone], ""),
];

/// Algorithms that promise no order: they use several ranges or servers at once.
const UNORDERED: &[&str] = &["leaf-segment", "tinyid", "tinyid-databases", "flickr", "postgres-cache"];

/// The results.
#[derive(Clone)]
pub struct Table {
    plan: Plan,
    rows: Vec<(&'static Entrant, Vec<Outcome>)>,
}

/// Runs the seeds of `plan` for these rows in each column, on `threads` threads; the columns replace the plan's
/// classes. `progress` is called for each history that is done, with its row, from 0.
pub fn measure(
    plan: &Plan,
    rows: &'static [Entrant],
    threads: usize,
    progress: &(dyn Fn(usize) + Sync),
) -> Table {
    let row = |(place, entrant): (usize, &'static Entrant)| {
        let cell = |column: &Mix| seeds(entrant, &column.plan(plan), threads, &|_| progress(place));
        (entrant, COLUMNS.iter().map(cell).collect())
    };
    Table { plan: plan.clone(), rows: rows.iter().enumerate().map(row).collect() }
}

/// The longest factor of any column.
pub fn longest() -> u64 {
    COLUMNS.iter().map(|column| column.times).max().unwrap_or(1)
}

/// How many histories [`measure`] runs for this many rows and seeds.
pub fn histories(rows: usize, seeds: u64) -> u64 {
    let cells = u64::try_from(rows * COLUMNS.len()).unwrap_or(u64::MAX);
    cells.saturating_mul(seeds)
}

impl Mix {
    /// The plan for this column's histories.
    pub fn plan(&self, plan: &Plan) -> Plan {
        let seconds = plan.seconds.saturating_mul(self.times);
        Plan { classes: self.classes.to_vec(), every: true, seconds, ..plan.clone() }
    }

    /// Its heading as one word for a command line: `crash+rollback`, `store-forgets`.
    pub fn word(&self) -> String {
        self.label.replace(" + ", "+").replace(' ', "-")
    }

    /// The faults, in words.
    pub fn meaning(&self) -> String {
        let also = (!self.also.is_empty()).then_some(self.also);
        let meanings: Vec<_> = self.classes.iter().map(|class| class.meaning()).chain(also).collect();
        match meanings.as_slice() {
            [] => "nothing: clocks differ by up to 40 ms".to_owned(),
            some => some.join("; "),
        }
    }

    /// Whether floe's contract covers all of it.
    pub fn is_in_contract(&self) -> bool {
        self.classes.iter().all(|class| Class::CONTRACT.contains(class))
    }
}

impl FromStr for Mix {
    type Err = String;

    /// A column's heading, in any case and with or without spaces; or classes with `+` or commas between them.
    fn from_str(text: &str) -> Result<Self, String> {
        let plain = |text: &str| text.to_lowercase().replace([' ', '-', '_'], "");
        if let Some(column) = COLUMNS.iter().find(|column| plain(&column.label) == plain(text)) {
            return Ok(column.clone());
        }
        let words = text.split(['+', ',']).map(|word| word.trim().to_lowercase());
        let classes: Result<Vec<Class>, _> = words.map(|word| word.parse()).collect();
        let mut classes = classes.map_err(|_| {
            let columns: Vec<_> = COLUMNS.iter().map(Mix::word).collect();
            let classes: Vec<_> = Class::ALL.iter().map(|class| class.word()).collect();
            format!(
                "there are no faults {text:?}: the table's columns are {}; any of {} can be joined by +",
                columns.join(", "),
                classes.join(", ")
            )
        })?;
        classes.sort_unstable();
        classes.dedup();
        if let Some(column) = COLUMNS.iter().find(|column| sorted(&column.classes) == classes) {
            return Ok(column.clone());
        }
        let words: Vec<_> = classes.iter().map(|class| class.word()).collect();
        Ok(Self { label: words.join(" + ").into(), classes: classes.into(), also: "", times: 1 })
    }
}

fn sorted(classes: &[Class]) -> Vec<Class> {
    let mut sorted = classes.to_vec();
    sorted.sort_unstable();
    sorted
}

impl Table {
    /// The smallest seed with which floe broke a promise, with its column and the first text.
    pub fn broken(&self) -> Option<(&'static Mix, u64, &str)> {
        let (_, outcomes) = self.rows.iter().find(|(entrant, _)| entrant.is_floe())?;
        let broken = COLUMNS.iter().zip(outcomes).filter_map(|(column, outcome)| {
            let (seed, words) = outcome.first.iter().flatten().min()?;
            Some((column, *seed, words.as_str()))
        });
        broken.min_by_key(|(_, seed, _)| *seed)
    }

    /// The table's text. It is the same for the same seeds on every machine.
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, text: &mut String) -> fmt::Result {
        let Plan { first, seeds, nodes, seconds, .. } = self.plan;
        let last = first.saturating_add(seeds - 1);
        let (ids, asked) = self.rows.iter().flat_map(|(_, outcomes)| outcomes).fold((0, 0), |sum, it| {
            let counts = &it.counts;
            (sum.0 + counts.minted, sum.1 + counts.asked)
        });
        writeln!(
            text,
            "Seeds {first} to {last} in each cell, {nodes} nodes, {seconds} virtual seconds each (unless its column says more): {} \
             histories, {} calls, {} IDs. A cell adds up all its seeds, and names the smallest seed that shows a repeat. `12/M in 8%` means: of \
             a million IDs, 12 had been handed out before, and this happened in 8 of 100 histories.\n",
            grouped(histories(self.rows.len(), seeds)),
            grouped(asked),
            grouped(ids),
        )?;
        writeln!(text, "| column | what goes wrong in each of its histories |\n|---|---|")?;
        for column in COLUMNS {
            writeln!(text, "| {} | {} |", column.label, column.meaning())?;
        }
        writeln!(text, "\n| row | its configuration | read from |\n|---|---|---|")?;
        for (Entrant { name, setting, source, .. }, _) in &self.rows {
            writeln!(text, "| {name} | {setting} | {source} |")?;
        }
        self.part(text, "IDs that were handed out twice", duplicates)?;
        if self.rows.iter().any(|(entrant, outcomes)| outcomes.iter().any(|it| is_predicted(entrant, it))) {
            writeln!(
                text,
                "\n*Predicted* means: the store had forgotten, or a running machine had been copied, and floe's documentation \
                 says that IDs repeat then. floe repeated no other ID. Most other projects promise nothing there either."
            )?;
        }
        self.part(text, "IDs out of order: below an earlier call's ID, where order is promised", disorder)?;
        self.part(text, "Calls without an ID, of a thousand: refused + unanswered for a second", unserved)?;
        writeln!(
            text,
            "\nfloe refuses calls when it cannot be sure, for example:\n\n\
             - A node sees that the store went backwards: it stops the name until someone raises the marks and \
             restarts the node.\n\
             - There are more nodes than worker ids: the rest do not mint.\n\
             - The store has a clock (in half of the histories), and the node's clock differs from it by more than ten \
             seconds: the node does not mint."
        )?;
        self.others(text)
    }

    fn part(&self, text: &mut String, title: &str, cell: fn(&Entrant, &Outcome) -> String) -> fmt::Result {
        write!(text, "\n### {title}\n\n|  |")?;
        COLUMNS.iter().try_for_each(|column| write!(text, " {} |", column.label))?;
        write!(text, "\n|---|")?;
        COLUMNS.iter().try_for_each(|_| write!(text, "---|"))?;
        text.push('\n');
        for (entrant, outcomes) in &self.rows {
            write!(text, "| {} |", entrant.name)?;
            outcomes.iter().try_for_each(|outcome| write!(text, " {} |", cell(entrant, outcome)))?;
            text.push('\n');
        }
        Ok(())
    }

    /// The other violations, which no cell has room for.
    fn others(&self, text: &mut String) -> fmt::Result {
        let mut begun = false;
        for (entrant, outcomes) in &self.rows {
            for (column, outcome) in COLUMNS.iter().zip(outcomes) {
                for (seed, words) in [Wrong::Starved, Wrong::Rule].iter().filter_map(|it| outcome.first(*it))
                {
                    if !begun {
                        writeln!(text, "\n### Other rules that were broken\n")?;
                        begun = true;
                    }
                    writeln!(text, "- {}, {}, seed {seed}: {words}", entrant.name, column.label)?;
                }
            }
        }
        Ok(())
    }
}

fn is_predicted(entrant: &Entrant, outcome: &Outcome) -> bool {
    entrant.is_floe() && outcome.counts.twice > 0 && outcome.first(Wrong::Twice).is_none()
}

fn duplicates(entrant: &Entrant, outcome: &Outcome) -> String {
    let rate = per_million(outcome.counts.twice, outcome.counts.minted);
    let share = percent(outcome.repeating, outcome.seeds);
    match (outcome.counts.twice, outcome.first(Wrong::Twice)) {
        (0, _) => "none".to_owned(),
        (_, None) if is_predicted(entrant, outcome) => format!("{rate}/M in {share}, predicted"),
        (_, None) => format!("{rate}/M in {share}"),
        (_, Some((seed, _))) => format!("**{rate}/M in {share}** (seed {seed})"),
    }
}

fn disorder(entrant: &Entrant, outcome: &Outcome) -> String {
    match UNORDERED.contains(&entrant.name) {
        true => "not promised".to_owned(),
        false => seen(outcome.counts.disorder, outcome.first(Wrong::Disorder)),
    }
}

fn unserved(_: &Entrant, outcome: &Outcome) -> String {
    let counts = &outcome.counts;
    format!("{} + {}", per_mille(counts.refused, counts.asked), per_mille(counts.unanswered, counts.asked))
}

fn seen(count: u64, first: Option<&(u64, String)>) -> String {
    match (count, first) {
        (0, _) => "none".to_owned(),
        (count, None) => grouped(count),
        (count, Some((seed, _))) => format!("**{}** (seed {seed})", grouped(count)),
    }
}

/// In tenths. A part below one tenth is not written as nothing.
fn per_mille(part: u64, whole: u64) -> String {
    let tenths = u128::from(part) * 10_000 / u128::from(whole.max(1));
    match (part, tenths) {
        (0, _) => "0".to_owned(),
        (_, 0) => "<0.1".to_owned(),
        (_, tenths) => format!("{}.{}", tenths / 10, tenths % 10),
    }
}

/// How many of a million, with at least two digits. A part below one hundredth is not written as nothing.
pub fn per_million(part: u64, whole: u64) -> String {
    let hundredths = u128::from(part) * 100_000_000 / u128::from(whole.max(1));
    match (part, hundredths) {
        (0, _) => "0".to_owned(),
        (_, 0) => "<0.01".to_owned(),
        (_, 1..100) => format!("0.{hundredths:02}"),
        (_, 100..1_000) => format!("{}.{}", hundredths / 100, hundredths / 10 % 10),
        _ => grouped(u64::try_from(hundredths / 100).unwrap_or(u64::MAX)),
    }
}

/// A share in percent. A share below one is not written as nothing, nor all but a few as all.
pub fn percent(part: u64, whole: u64) -> String {
    let percent = u128::from(part) * 100 / u128::from(whole.max(1));
    match (part, percent) {
        (0, _) => "0%".to_owned(),
        (_, 0) => "<1%".to_owned(),
        (_, percent) => format!("{percent}%"),
    }
}

/// `1,234,567`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, Mix, Outcome, Plan, UNORDERED, Wrong};
    use super::{disorder, duplicates, grouped, measure, per_mille, per_million, percent, seeds, unserved};
    use crate::{ENTRANTS, named};
    use floe_sim::history::Counts;
    use floe_sim::scenario::Class;

    #[test]
    fn only_the_last_two_columns_are_outside_of_the_contract() {
        for (place, column) in COLUMNS.iter().enumerate() {
            let inside = column.classes.iter().all(|class| Class::CONTRACT.contains(class));
            assert_eq!(inside, place + 2 < COLUMNS.len(), "{}", column.label);
        }
    }

    #[test]
    fn a_cell_says_plainly_what_was_seen() {
        let (floe, flickr) = (named("floe").unwrap(), named("flickr").unwrap());
        let twitter = named("twitter").unwrap();
        let counts =
            Counts { asked: 10_000, refused: 123, unanswered: 0, minted: 9_000, twice: 0, disorder: 0 };
        let calm = Outcome { counts, ..Outcome::default() };
        assert_eq!([duplicates(floe, &calm), disorder(floe, &calm)], ["none", "none"]);
        assert_eq!([disorder(flickr, &calm), unserved(floe, &calm)], ["not promised", "12.3 + 0"]);

        let mut twice = Outcome { counts: Counts { twice: 4_321, ..counts }, ..Outcome::default() };
        (twice.seeds, twice.repeating) = (40, 3);
        assert_eq!(duplicates(floe, &twice), "480,111/M in 7%, predicted");
        twice.first[Wrong::Twice as usize] = Some((7, String::new()));
        let told = "**480,111/M in 7%** (seed 7)";
        assert_eq!([duplicates(floe, &twice), duplicates(twitter, &twice)], [told; 2]);
    }

    #[test]
    fn numbers_are_written_for_people() {
        let numbers = [0, 12, 123, 1_234, 123_456, 1_234_567];
        assert_eq!(numbers.map(grouped), ["0", "12", "123", "1,234", "123,456", "1,234,567"]);
        assert_eq!([per_mille(0, 0), per_mille(1, 100_000), per_mille(5, 1_000)], ["0", "<0.1", "5.0"]);
        let rates = [(0, 0), (1, 1_000_000_000), (1, 3_000_000), (5, 3_000_000), (31, 3_000_000), (1, 2)];
        let told = ["0", "<0.01", "0.33", "1.6", "10", "500,000"];
        assert_eq!(rates.map(|(part, whole)| per_million(part, whole)), told);
        let shares = [(0, 100), (1, 1_000), (8, 100), (999, 1_000), (5, 5)];
        assert_eq!(shares.map(|(part, whole)| percent(part, whole)), ["0%", "<1%", "8%", "99%", "100%"]);
    }

    #[test]
    fn a_share_counts_histories_and_a_rate_ids() {
        let twins =
            Plan { first: 1, seeds: 6, nodes: 3, seconds: 30, classes: vec![Class::Twins], every: true };
        let outcome = seeds(named("twitter").unwrap(), &twins, 2, &|_| {});
        let one = |seed| {
            seeds(named("twitter").unwrap(), &Plan { first: seed, seeds: 1, ..twins.clone() }, 1, &|_| {})
        };
        let repeating: Vec<_> = (1..=6).filter(|&seed| one(seed).counts.twice > 0).collect();
        assert!(!repeating.is_empty());
        assert_eq!(outcome.repeating, u64::try_from(repeating.len()).unwrap());
        assert_eq!(outcome.repeats, repeating[..repeating.len().min(5)]);
    }

    #[test]
    fn faults_are_named_by_their_column_or_their_classes() {
        let of = |text: &str| {
            text.parse::<Mix>().map(|mix| (mix.label.into_owned(), mix.classes.into_owned(), mix.times))
        };
        let both = vec![Class::Rollback, Class::Crash];
        assert_eq!(of("crash+rollback"), Ok(("crash + rollback".to_owned(), both.clone(), 1)));
        assert_eq!(of("rollback,crash"), of("Crash + Rollback"));
        assert_eq!(of("store-forgets").unwrap().1, [Class::Crash, Class::Failover, Class::Restore]);
        assert_eq!(of("pause").unwrap(), ("pause".to_owned(), vec![Class::Pause, Class::Restart], 8));
        assert_eq!(of("deleted+odd"), Ok(("odd + deleted".to_owned(), vec![Class::Odd, Class::Deleted], 1)));
        let error = of("crash+moon").unwrap_err();
        assert!(
            ["moon", "store-forgets", "calm", "deleted"].iter().all(|word| error.contains(word)),
            "{error}"
        );
    }

    #[test]
    fn the_same_seeds_make_the_same_table_on_any_number_of_threads() {
        let plan = Plan { first: 3, seeds: 2, nodes: 3, seconds: 20, classes: Vec::new(), every: true };
        let (one, three) = (measure(&plan, ENTRANTS, 1, &|_| ()), measure(&plan, ENTRANTS, 3, &|_| ()));
        assert_eq!(one.markdown(), three.markdown());
        assert_eq!(one.broken(), None);
        for (entrant, outcomes) in one.rows {
            let disorder: u64 = outcomes.iter().map(|outcome| outcome.counts.disorder).sum();
            assert!(disorder == 0 || !UNORDERED.contains(&entrant.name), "{} promises order", entrant.name);
        }
    }
}
