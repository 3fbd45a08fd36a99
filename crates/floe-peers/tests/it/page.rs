//! `docs/peers.md` and the table in `docs/guarantees.md` show what their commands print.

use floe_peers::table::{COLUMNS, Mix, SECONDS, SEEDS, grouped, histories, per_million, percent};
use floe_peers::{ENTRANTS, named};
use floe_sim::history::{History, Wrong};
use floe_sim::run::{Mode, Outcome, Plan, seeds};
use floe_sim::scenario::{Class, Scenario};

const PEERS: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/peers.md"));
const GUARANTEES: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guarantees.md"));

/// The content of a row's section.
struct Section<'a> {
    row: &'a str,
    /// Its text, each run of white space as one space.
    words: String,
    /// The column of its `--explain` command.
    column: &'a str,
    /// Its `--trace` command: the faults, the seconds and the seed.
    trace: Option<(&'a str, u64, u64)>,
}

fn sections() -> Vec<Section<'static>> {
    let part = PEERS.split("\n## ").find(|part| part.starts_with("Each row by itself\n")).unwrap();
    part.split("\n### ").skip(1).map(section).collect()
}

fn section(text: &'static str) -> Section<'static> {
    let (row, body) = text.split_once('\n').unwrap();
    let mut section = Section { row, words: String::new(), column: "", trace: None };
    for line in body.lines().map(str::trim) {
        if let Some(command) = line.strip_prefix("floe sim --explain ") {
            let (model, column) = command.split_once(' ').unwrap();
            assert_eq!((model, section.column), (row, ""), "another row's command, or two: {line}");
            section.column = column;
        } else if let Some(command) = line.strip_prefix("floe sim ") {
            let words: Vec<_> = command.split(' ').collect();
            let flags: Vec<_> = words.iter().step_by(2).copied().collect();
            assert_eq!(flags, ["--model", "--faults", "--seconds", "--seed", "--trace"], "{row}: {line}");
            assert_eq!((words[1], section.trace), (row, None), "another row's command, or two: {line}");
            section.trace = Some((words[3], words[5].parse().unwrap(), words[7].parse().unwrap()));
        } else {
            section.words += line;
            section.words.push(' ');
        }
    }
    section
}

/// The classes in a `--faults` option.
fn classes(faults: &str) -> Vec<Class> {
    match faults {
        "none" => Vec::new(),
        some => some.split(',').map(|word| word.parse().unwrap()).collect(),
    }
}

/// "238 of 1,845,618 IDs, in 40 of 100 histories", as in a section, and "128/M in 40%", as in the table.
fn figures(outcome: &Outcome) -> (String, String) {
    let (twice, minted) = (outcome.counts.twice, outcome.counts.minted);
    let ids = grouped(minted);
    match (twice, outcome.first(Wrong::Twice)) {
        (0, _) => (format!("none of {ids} IDs."), "none".to_owned()),
        (_, first) => {
            let (repeating, seeds) = (outcome.repeating, outcome.seeds);
            let (rate, share) = (per_million(twice, minted), percent(repeating, seeds));
            let seed = first.map_or(0, |(seed, _)| *seed);
            (
                format!("{} of {ids} IDs, in {repeating} of {seeds} histories", grouped(twice)),
                format!("**{rate}/M in {share}** (seed {seed})"),
            )
        }
    }
}

fn cell(model: &str, column: &str) -> Outcome {
    let mix: Mix = column.parse().unwrap();
    let seconds = SECONDS * mix.times;
    let plan =
        Plan { first: 1, seeds: SEEDS, nodes: 5, seconds, classes: mix.classes.into_owned(), every: true };
    seeds(named(model).unwrap(), &plan, 2, &|_| {})
}

#[test]
fn each_row_has_one_section_in_the_order_of_the_table() {
    let rows: Vec<_> = sections().iter().map(|section| section.row).collect();
    let expected: Vec<_> = ENTRANTS.iter().skip(1).map(|entrant| entrant.name).collect();
    assert_eq!(rows, expected);
}

/// The history ends at the repeated ID.
#[test]
fn the_history_that_a_section_traces_hands_an_id_out_twice() {
    for Section { row, column, trace, .. } in sections() {
        let Some((faults, seconds, seed)) = trace else {
            assert_eq!(cell(row, column).counts.twice, 0, "{row} repeats, and nothing shows it");
            continue;
        };
        let mix: Mix = column.parse().unwrap();
        let mut classes = classes(faults);
        classes.sort_unstable();
        let mut expected = mix.classes.to_vec();
        expected.sort_unstable();
        assert_eq!((&classes, seconds), (&expected, SECONDS * mix.times), "{row}: not a history of its cell");
        let mut history = History::default();
        let mode = Mode { noting: false, until_wrong: true, only: Some(Wrong::Twice) };
        named(row).unwrap().run(&Scenario::new(seed, 5, seconds, &mix.classes, true), &mut history, mode);
        assert!(history.counts.twice > 0, "{row}: nothing is handed out twice in seed {seed}");
    }
}

/// The rows of the table's first part: each model's name and cells.
fn table() -> Vec<(&'static str, Vec<&'static str>)> {
    let (_, part) = GUARANTEES.split_once("### IDs that were handed out twice\n").unwrap();
    let rows = part.trim_start().lines().skip(2).take_while(|line| line.starts_with('|'));
    rows.map(|line| {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        (cells.next().unwrap(), cells.collect())
    })
    .collect()
}

#[test]
fn the_table_has_every_row_and_every_column() {
    let rows: Vec<_> = table().into_iter().map(|(row, cells)| (row, cells.len())).collect();
    let expected: Vec<_> = ENTRANTS.iter().map(|entrant| (entrant.name, COLUMNS.len())).collect();
    assert_eq!(rows, expected);
    let all = format!(": {} histories, ", grouped(histories(ENTRANTS.len(), SEEDS)));
    assert!(GUARANTEES.contains(&all), "rows were made one by one, and the sums above were not: {all}");
    for entrant in ENTRANTS {
        let row = format!("\n| {} | {} | {} |\n", entrant.name, entrant.setting, entrant.source);
        assert!(GUARANTEES.contains(&row), "{row}");
    }
}

/// Counts a section's figures again: the 100 histories of the cell that it names, and the cell itself.
#[test]
fn the_figures_of_a_section_are_those_of_its_cell() {
    let table = table();
    let mut wrong = Vec::new();
    for Section { row, words, column, .. } in sections() {
        let (figures, rate) = figures(&cell(row, column));
        if !words.contains(&format!("Handed out twice: {figures}")) {
            wrong.push(format!("docs/peers.md, {row}: {column} has {figures}"));
        }
        let place = COLUMNS.iter().position(|it| it.word() == column).unwrap();
        let (_, cells) = table.iter().find(|(name, _)| *name == row).unwrap();
        if cells[place] != rate {
            wrong.push(format!("docs/guarantees.md, {row}, {column}: {}, and has {rate}", cells[place]));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
