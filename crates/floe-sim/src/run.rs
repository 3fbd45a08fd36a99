//! One seed, one history.

use crate::history::History;
use crate::model::Model;
use crate::scenario::Scenario;
use crate::subject::Subject;
use crate::world::World;

/// Runs floe through a scenario. With `until_wrong` the history ends at the first violation.
pub fn floe(scenario: &Scenario, history: &mut History, noting: bool, until_wrong: bool) {
    model(&mut Subject::new(scenario), scenario, history, noting, until_wrong);
}

/// Runs any model through a scenario.
pub fn model<M: Model>(
    model: &mut M,
    scenario: &Scenario,
    history: &mut History,
    noting: bool,
    until_wrong: bool,
) {
    World::new(model, scenario, history, noting).run(until_wrong);
}
