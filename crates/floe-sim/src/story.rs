//! One history, told.

use crate::history::{History, Violation};
use crate::picture::Picture;
use crate::run::{Entrant, Mode};
use crate::scenario::Scenario;

/// What went wrong, for people.
#[derive(Clone, Debug)]
pub struct Story {
    /// In words.
    pub words: String,
    /// Drawn.
    pub picture: Picture,
    /// The violation that it is about.
    pub violation: Violation,
}

/// The same failure with fewer faults.
pub fn shrink(_entrant: &Entrant, scenario: &Scenario) -> Scenario {
    scenario.clone()
}

/// The story of a scenario's first violation.
pub fn tell(entrant: &Entrant, scenario: &Scenario) -> Option<Story> {
    let mut history = History::default();
    entrant.run(scenario, &mut history, Mode { noting: true, until_wrong: true });
    let violation = history.violations.first()?.clone();
    Some(Story { words: violation.words.clone(), picture: draw_run(entrant, scenario), violation })
}

/// The picture of a run.
pub fn draw_run(entrant: &Entrant, scenario: &Scenario) -> Picture {
    Picture { title: entrant.name.to_owned(), until_us: scenario.until, ..Picture::default() }
}

/// Every event of a run, a line each.
pub fn trace(entrant: &Entrant, scenario: &Scenario) -> Vec<String> {
    let mut history = History::default();
    entrant.run(scenario, &mut history, Mode { noting: true, until_wrong: false });
    history.events.iter().map(|event| format!("{event:?}")).collect()
}
