//! `floe sim --explain`: one cell of the comparison, in words.

use std::fmt::Write as _;

use floe_peers::table::{Mix, grouped, per_million, percent};
use floe_peers::{ENTRANTS, story};
use floe_sim::run::{self, Entrant, Outcome as Ran, Plan};

use super::{broke, replay, virtual_time, watched};
use crate::failure::{Failure, Outcome};
use crate::table::print;

/// A row and a column, or faults that no column has.
pub(super) struct Cell {
    entrant: &'static Entrant,
    pub(super) mix: Mix,
}

impl Cell {
    /// The cell of a model and its faults.
    pub(super) fn named(words: &[String]) -> Outcome<Self> {
        let [model, faults] = words else {
            return Err(Failure::usage("--explain needs a model and its faults")
                .hint("write for example --explain twitter crash+rollback"));
        };
        let entrant = floe_peers::named(model).ok_or_else(|| {
            let names: Vec<_> = ENTRANTS.iter().map(|entrant| entrant.name).collect();
            Failure::usage(format_args!("there is no model {model:?}: they are {}", names.join(", ")))
                .hint("floe sim --help says where each is published")
        })?;
        let mix: Mix = faults.parse().map_err(|error: String| {
            Failure::usage(error).hint("floe sim --help says what each class of faults is")
        })?;
        Ok(Self { entrant, mix })
    }

    /// Runs its seeds, and says what came of them and how.
    pub(super) fn explain(&self, plan: &Plan, jobs: usize) -> Outcome {
        let Self { entrant, .. } = self;
        let (ran, _) = watched(plan.seeds, |progress| run::seeds(entrant, plan, jobs, &|_| progress.inc(1)));
        let mut text = self.heading();
        let last = plan.first + (plan.seeds - 1);
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "Seeds {} to {last}, {} nodes, {} of virtual time: {} IDs, {}.",
            plan.first,
            plan.nodes,
            virtual_time(plan),
            grouped(ran.counts.minted),
            self.figures(&ran),
        );
        let repeats = ran.repeats.iter().map(|&seed| plan.scenario(seed));
        if let Some((seed, told)) = story::soonest(entrant, repeats) {
            let replay = replay(entrant, plan, seed);
            let _ = write!(
                text,
                "\nThe shortest story, of seed {seed}:\n  {}\n\nIn full:\n\n{}\n\nTo see all of that history:\n  {replay} --trace\n",
                told.brief,
                told.words.trim_end(),
            );
        }
        print(&text)?;
        match ran.smallest().filter(|_| entrant.is_floe()) {
            Some(seed) => Err(broke(&replay(entrant, plan, seed), seed)),
            None => Ok(()),
        }
    }

    fn heading(&self) -> String {
        let Self { entrant, mix } = self;
        let mut text = format!("{} under {}\n\n", entrant.name, mix.label);
        let mut line = |what: &str, words: &str| text += &format!("{what:<14} {words}\n");
        line("configuration", entrant.setting);
        line("rule", entrant.rule);
        line("read from", entrant.read);
        line("what happens", &mix.meaning());
        text.push('\n');
        text
    }

    /// How much was handed out twice, and what of floe's there is beside it.
    fn figures(&self, ran: &Ran) -> String {
        let inside = self.mix.is_in_contract();
        match ran.counts.twice {
            0 if self.entrant.is_floe() => "none twice".to_owned(),
            0 if inside => "none twice, as floe promises here".to_owned(),
            0 => "none twice; floe may repeat IDs here (docs/guarantees.md)".to_owned(),
            twice => format!(
                "{} twice: {} of a million, in {} of {} histories ({}){}",
                grouped(twice),
                per_million(twice, ran.counts.minted),
                grouped(ran.repeating),
                grouped(ran.seeds),
                percent(ran.repeating, ran.seeds),
                match (self.entrant.is_floe(), inside) {
                    (true, _) => ", all of them as docs/guarantees.md says",
                    (false, true) => "; floe promises none here",
                    (false, false) => "; floe may repeat IDs here (docs/guarantees.md)",
                },
            ),
        }
    }
}
