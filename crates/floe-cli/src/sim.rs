//! `floe sim`: a simulated fleet under faults, and what came of it.

mod cell;

use std::fmt::Write as _;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::IsTerminal as _;
use std::path::Path;

use floe_peers::table::{self as comparison, grouped};
use floe_peers::{ENTRANTS, picture, story};
use floe_sim::history::Wrong;
use floe_sim::run::{self, Entrant, Outcome as Ran, Plan};
use floe_sim::scenario::Class;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::SignedDuration;

use crate::arguments::{self, MIXES};
use crate::failure::{Failure, Outcome};
use crate::fleet;
use crate::table::{print, table};
use cell::Cell;

const SEEDS: u64 = 1_000;
const SECONDS: u64 = 60;
/// Nodes times virtual seconds: about half a gigabyte.
const LARGEST: u64 = 60_000;

/// Seeds that nobody chose stay below this: they are to be typed again.
const NEW_SEEDS: u64 = 1_000_000_000_000;

/// The kinds of wrong, and what a heading says of them.
const WRONGS: [(Wrong, &str); 4] = [
    (Wrong::Twice, "an ID was handed out twice"),
    (Wrong::Disorder, "an ID was smaller than an earlier one"),
    (Wrong::Starved, "a caller waited for too long"),
    (Wrong::Rule, "a rule of its own was broken"),
];

pub(crate) fn run(arguments: &arguments::Sim) -> Outcome {
    if let Some(nodes) = arguments.fleet.size {
        return fleet::run(nodes, arguments.seed.unwrap_or(1), &arguments.fleet);
    }
    let cell = arguments.explain.as_deref().map(Cell::named).transpose()?;
    let plan = plan(arguments, cell.as_ref())?;
    let jobs = arguments
        .jobs
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get));
    if let Some(file) = &arguments.svg {
        check_writable(file)?;
    }
    if arguments.table {
        return compare(arguments.model.as_deref(), &plan, jobs);
    }
    if let Some(cell) = cell {
        return cell.explain(&plan, jobs);
    }
    match floe_peers::named(arguments.model.as_deref().unwrap_or(run::FLOE.name)) {
        Some(entrant) => one(entrant, arguments, &plan, jobs),
        None if arguments.trace || arguments.svg.is_some() => {
            let flag = if arguments.trace { "--trace" } else { "--svg" };
            Err(Failure::usage(format_args!(
                "{flag} shows one history, and --model all has one for each model"
            ))
            .hint("name one model"))
        }
        None => all(&plan, jobs),
    }
}

/// The requested run, with its defaults filled in.
fn plan(arguments: &arguments::Sim, cell: Option<&Cell>) -> Outcome<Plan> {
    let table = arguments.table || cell.is_some();
    let (classes, every) = match cell {
        Some(cell) => (cell.mix.classes.to_vec(), true),
        None => classes(&arguments.faults)?,
    };
    let seeds = arguments.seeds.unwrap_or(match arguments.seed {
        Some(_) if cell.is_none() => 1,
        _ if table => comparison::SEEDS,
        _ => SEEDS,
    });
    let first = arguments.seed.unwrap_or_else(|| if table { 1 } else { new_seed() });
    if first.checked_add(seeds - 1).is_none() {
        return Err(Failure::usage(format_args!(
            "{seeds} seeds from {first} go beyond the largest seed, {}",
            u64::MAX
        ))
        .hint("take a smaller --seed, or fewer --seeds"));
    }
    let seconds = arguments.seconds.unwrap_or(if table { comparison::SECONDS } else { SECONDS });
    // A history is kept in memory whole, since any two of its IDs may be the same.
    let seconds = cell.map_or(seconds, |cell| seconds.saturating_mul(cell.mix.times));
    let longest = if arguments.table { seconds.saturating_mul(comparison::longest()) } else { seconds };
    let size = u64::try_from(arguments.nodes).unwrap_or(u64::MAX).saturating_mul(longest);
    if size > LARGEST {
        return Err(Failure::usage(format_args!(
            "a history of {} nodes over {longest} s is too large to be kept in memory",
            arguments.nodes
        ))
        .hint(format_args!("nodes times seconds may be {LARGEST} at most")));
    }
    Ok(Plan { first, seeds, nodes: arguments.nodes, seconds, classes, every })
}

/// The classes, and whether each seed has all of them.
fn classes(words: &[String]) -> Outcome<(Vec<Class>, bool)> {
    let mix = words.iter().find(|word| MIXES.iter().any(|(mix, _)| mix == word));
    match mix.map(String::as_str) {
        Some(mix) if words.len() > 1 => {
            Err(Failure::usage(format_args!("--faults {mix} cannot be combined"))
                .hint(format_args!("write {mix} alone, or leave it out and name the classes")))
        }
        Some("contract") => Ok((Class::CONTRACT.to_vec(), false)),
        Some("all") => Ok((Class::ALL.to_vec(), false)),
        Some(_) => Ok((Vec::new(), false)),
        None => {
            let mut classes: Vec<Class> =
                words.iter().map(|word| word.parse()).collect::<Result<_, _>>().map_err(Failure::usage)?;
            // A seed means the same in any order of the names.
            classes.sort_unstable();
            classes.dedup();
            Ok((classes, true))
        }
    }
}

/// A seed that nobody has chosen; the only thing here that is not the same on every run.
fn new_seed() -> u64 {
    std::hash::RandomState::new().build_hasher().finish() % NEW_SEEDS
}

// ---- one model ----

fn one(entrant: &Entrant, arguments: &arguments::Sim, plan: &Plan, jobs: usize) -> Outcome {
    let mut text = String::new();
    if arguments.trace {
        for line in story::trace(entrant, &plan.scenario(plan.first)) {
            text += &line;
            text.push('\n');
        }
    }
    let (ran, rate) = watched(plan.seeds, |progress| run::seeds(entrant, plan, jobs, &|_| progress.inc(1)));
    text += &summary(entrant, plan, &ran, rate);
    let Some(seed) = shown(entrant, &ran) else {
        print(&text)?;
        return match &arguments.svg {
            Some(file) if plan.seeds == 1 => {
                let drawn = story::draw_run(entrant, &plan.scenario(plan.first));
                write_svg(file, &drawn)
            }
            Some(file) => {
                anstream::eprintln!(
                    "note: nothing went wrong, and {} was not written: --seed alone draws the history of one seed",
                    file.display()
                );
                Ok(())
            }
            None => Ok(()),
        };
    };
    let replay = replay(entrant, plan, seed);
    let scenario = story::shrink(entrant, &plan.scenario(seed));
    let told = story::tell(entrant, &scenario);
    if plan.seeds > 1 {
        text += &format!("\n{}", firsts(&ran));
    }
    text += &format!(
        "\nSeed {seed} (`{replay}` runs it again), cut to the shortest history that still goes wrong:\n\n"
    );
    if let Some(told) = &told {
        text += told.words.trim_end();
        text.push('\n');
    }
    print(&text)?;
    if let (Some(file), Some(told)) = (&arguments.svg, &told) {
        write_svg(file, &told.picture)?;
    }
    let bad = match plan.seeds {
        1 => format!("in seed {seed}"),
        seeds => {
            format!("in {} of {} seeds, first in seed {}", grouped(ran.bad), grouped(seeds), least(&ran))
        }
    };
    Err(Failure::new(format_args!("{} broke a promise {bad}", entrant.name)).hint(format_args!(
        "`{replay}` runs that history again, --trace prints all of it, --svg FILE draws it"
    )))
}

/// The seed to tell the story of: for floe, the smallest with any failure; for other models, preferably one with a duplicate.
fn shown(entrant: &Entrant, ran: &Ran) -> Option<u64> {
    let twice = ran.first(Wrong::Twice).filter(|_| !entrant.is_floe());
    twice.map(|(seed, _)| *seed).or_else(|| ran.smallest())
}

fn least(ran: &Ran) -> u64 {
    ran.smallest().unwrap_or(0)
}

/// One line about all seeds.
fn summary(entrant: &Entrant, plan: &Plan, ran: &Ran, rate: Option<u64>) -> String {
    let counts = &ran.counts;
    let seeds = match plan.seeds {
        1 => format!("seed {}", plan.first),
        seeds => format!("{} seeds from {}", grouped(seeds), plan.first),
    };
    let disorder = match counts.disorder {
        0 => String::new(),
        disorder => format!(", {} out of order", grouped(disorder)),
    };
    let rate = rate.map(|rate| format!("{} seeds/s, ", grouped(rate))).unwrap_or_default();
    format!(
        "{}: {seeds}, {} of virtual time: {} IDs, {}{disorder}; {} calls, {} refused, {} unanswered; {rate}digest \
         {:016x}\n",
        entrant.name,
        virtual_time(plan),
        grouped(counts.minted),
        twice(entrant, ran),
        grouped(counts.asked),
        grouped(counts.refused),
        grouped(counts.unanswered),
        ran.digest,
    )
}

fn twice(entrant: &Entrant, ran: &Ran) -> String {
    match ran.counts.twice {
        0 => "none twice".to_owned(),
        twice if entrant.is_floe() && ran.first(Wrong::Twice).is_none() => {
            format!("{} twice, as documented", grouped(twice))
        }
        twice => format!("{} twice", grouped(twice)),
    }
}

fn virtual_time(plan: &Plan) -> String {
    let seconds = i64::try_from(plan.seeds.saturating_mul(plan.seconds)).unwrap_or(i64::MAX);
    format!("{:#}", SignedDuration::from_secs(seconds))
}

/// The smallest seed with each kind of wrong.
fn firsts(ran: &Ran) -> String {
    let rows = WRONGS.into_iter().filter_map(|(wrong, heading)| {
        let (seed, words) = ran.first(wrong)?;
        Some([heading.to_owned(), seed.to_string(), words.clone()])
    });
    table(["WRONG", "FIRST SEED", "WHAT WAS SEEN"], rows)
}

/// The command line that runs this seed again.
fn replay(entrant: &Entrant, plan: &Plan, seed: u64) -> String {
    let mut line = format!("floe sim --seed {seed}");
    // Writing to a string does not fail.
    if !entrant.is_floe() {
        let _ = write!(line, " --model {}", entrant.name);
    }
    let faults = match (plan.every, plan.classes.len()) {
        (true, 1..) => plan.classes.iter().map(|class| class.word()).collect::<Vec<_>>().join(","),
        (_, 0) => "none".to_owned(),
        (_, some) if some == Class::ALL.len() => "all".to_owned(),
        _ => "contract".to_owned(),
    };
    if faults != "contract" {
        let _ = write!(line, " --faults {faults}");
    }
    if plan.nodes != 5 {
        let _ = write!(line, " --nodes {}", plan.nodes);
    }
    if plan.seconds != SECONDS {
        let _ = write!(line, " --seconds {}", plan.seconds);
    }
    line
}

// ---- all of them ----

fn all(plan: &Plan, jobs: usize) -> Outcome {
    let models = u64::try_from(ENTRANTS.len()).unwrap_or(u64::MAX);
    let (rans, _) = watched(plan.seeds.saturating_mul(models), |progress| {
        let run =
            |entrant: &'static Entrant| (entrant, run::seeds(entrant, plan, jobs, &|_| progress.inc(1)));
        ENTRANTS.iter().map(run).collect::<Vec<_>>()
    });
    let headings =
        ["MODEL", "IDS", "TWICE", "FIRST SEED", "OUT OF ORDER", "REFUSED", "UNANSWERED", "CALLS", "DIGEST"];
    let rows = rans.iter().map(|(entrant, ran)| {
        let counts = &ran.counts;
        [
            entrant.name.to_owned(),
            grouped(counts.minted),
            if counts.twice == 0 { "none".to_owned() } else { grouped(counts.twice) },
            ran.first(Wrong::Twice).map_or_else(|| "-".to_owned(), |(seed, _)| seed.to_string()),
            grouped(counts.disorder),
            grouped(counts.refused),
            grouped(counts.unanswered),
            grouped(counts.asked),
            format!("{:016x}", ran.digest),
        ]
    });
    let table = table(headings, rows);
    let seeds = match plan.seeds {
        1 => format!("seed {}", plan.first),
        seeds => format!("{} seeds from {}", grouped(seeds), plan.first),
    };
    print(&format!("{seeds}, {} of virtual time for each model\n\n{}", virtual_time(plan), table))?;
    match rans.iter().find(|(entrant, _)| entrant.is_floe()) {
        Some((floe, ran)) if ran.bad > 0 => Err(broke(&replay(floe, plan, least(ran)), least(ran))),
        _ => Ok(()),
    }
}

fn compare(model: Option<&str>, plan: &Plan, jobs: usize) -> Outcome {
    let rows = model.and_then(floe_peers::row).unwrap_or(ENTRANTS);
    let (table, _) = watched(comparison::histories(rows.len(), plan.seeds), |progress| {
        comparison::measure(plan, rows, jobs, &|row| {
            progress.set_message(format!("row {} of {}, ", row + 1, rows.len()));
            progress.inc(1);
        })
    });
    print(&table.markdown())?;
    match (table.broken(), floe_peers::named("floe")) {
        (Some((column, seed, _)), Some(floe)) => Err(broke(&replay(floe, &column.plan(plan), seed), seed)),
        _ => Ok(()),
    }
}

fn broke(replay: &str, seed: u64) -> Failure {
    Failure::new(format_args!("floe broke a promise in seed {seed}"))
        .hint(format_args!("`{replay}` tells the story"))
}

// ---- the terminal and the file ----

/// Does `work` on this many histories, with its progress on stderr if a person waits for it. Returns how many it did
/// per second, unless there is only one.
fn watched<T>(histories: u64, work: impl FnOnce(&ProgressBar) -> T) -> (T, Option<u64>) {
    let target = match std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let progress = ProgressBar::with_draw_target(Some(histories), target);
    if let Ok(style) = ProgressStyle::with_template("{msg}{human_pos} of {human_len} histories, {eta} left") {
        progress.set_style(style);
    }
    let done = work(&progress);
    let millis = progress.elapsed().as_millis().max(1);
    progress.finish_and_clear();
    let rate = u64::try_from(u128::from(histories) * 1000 / millis).unwrap_or(u64::MAX);
    (done, (histories > 1).then_some(rate))
}

/// Checks before the work whether [`write_svg`] can succeed, as far as that can be known.
fn check_writable(file: &Path) -> Outcome {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if file.is_dir() {
        return Err(unwritable(file, "it is a directory"));
    }
    if !parent.is_dir() {
        return Err(unwritable(file, format_args!("there is no directory {}", parent.display())));
    }
    Ok(())
}

fn write_svg(file: &Path, drawn: &picture::Picture) -> Outcome {
    std::fs::write(file, picture::draw(drawn)).map_err(|error| unwritable(file, error))?;
    anstream::eprintln!("note: the picture is in {}", file.display());
    Ok(())
}

fn unwritable(file: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::new(format_args!("cannot write the picture to {}: {why}", file.display()))
        .hint("name a file in a directory that can be written to, such as floe.svg")
}
