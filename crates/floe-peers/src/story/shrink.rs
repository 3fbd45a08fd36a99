//! Finds the smallest scenario that still goes wrong in the same way.

use floe_sim::history::{History, Wrong};
use floe_sim::run::{Entrant, Mode};
use floe_sim::scenario::{Fault, Moment, Scenario, What};

/// At most this many runs: a history takes a millisecond or two.
const MOST_RUNS: u32 = 400;
/// How long the history continues after the violation, in microseconds.
const AFTER: u64 = 1_000;

/// Makes a scenario as small as possible while its first violation stays of the same kind. Leaves a scenario without one alone.
///
/// First it removes faults, in halves and then one by one, then nodes, then clock errors, until nothing more can be
/// removed. Then it makes the rest smaller. The same scenario always shrinks to the same one.
pub fn shrink(entrant: &Entrant, scenario: &Scenario) -> Scenario {
    let mut history = History::default();
    let only = entrant.worst(scenario, &mut history);
    entrant.run(scenario, &mut history, Mode { noting: false, until_wrong: true, only });
    let Some(violation) = history.violations.first() else { return scenario.clone() };
    let (wrong, at) = (violation.wrong, violation.at);
    let mut search = Search { entrant, wrong, only, best: scenario.clone(), history, left: MOST_RUNS };
    search.cut(at);
    // The healing at the end is no fault, but it may do harm all the same: clocks step.
    search.attempt(|scenario| scenario.heal = scenario.heal.max(scenario.until));
    loop {
        let before = search.best.clone();
        search.drop_faults();
        search.drop_nodes();
        search.set_clocks_right();
        search.soften_faults();
        if search.best == before || search.left == 0 {
            break;
        }
    }
    // Remove what never happened.
    search.best.heal = search.best.heal.min(search.best.until);
    search.best
}

struct Search<'a> {
    entrant: &'a Entrant,
    wrong: Wrong,
    only: Option<Wrong>,
    best: Scenario,
    history: History,
    left: u32,
}

impl Search<'_> {
    /// Keeps a change if the scenario still goes wrong in the same way.
    fn attempt(&mut self, change: impl FnOnce(&mut Scenario)) -> bool {
        let mut candidate = self.best.clone();
        change(&mut candidate);
        if candidate == self.best || self.left == 0 {
            return false;
        }
        self.left -= 1;
        let mode = Mode { noting: false, until_wrong: true, only: self.only };
        self.entrant.run(&candidate, &mut self.history, mode);
        let first = self.history.violations.first();
        let Some(at) = first.filter(|it| it.wrong == self.wrong).map(|it| it.at) else { return false };
        self.best = candidate;
        self.cut(at);
        true
    }

    /// Cuts off everything after the violation. A violation that shows only at the end stays where it is.
    fn cut(&mut self, at: u64) {
        if at < self.best.until {
            self.best.until = self.best.until.min(at + AFTER);
        }
    }

    fn drop_faults(&mut self) {
        let mut size = self.best.faults.len();
        while size > 0 {
            let mut at = 0;
            let mut dropped = false;
            while at < self.best.faults.len() {
                let end = (at + size).min(self.best.faults.len());
                if self.attempt(|scenario| drop(scenario.faults.drain(at..end))) {
                    dropped = true;
                } else {
                    at = end;
                }
            }
            if size > 1 {
                size /= 2;
            } else if !dropped {
                break;
            }
        }
    }

    fn drop_nodes(&mut self) {
        for node in 0..self.best.starts.len() {
            if self.best.starts.iter().flatten().count() > 1 && self.best.starts[node].is_some() {
                self.attempt(|scenario| scenario.starts[node] = None);
            }
        }
    }

    fn set_clocks_right(&mut self) {
        if self.attempt(|scenario| scenario.clocks.iter_mut().for_each(|clock| *clock = (0, 0))) {
            return;
        }
        for host in 0..self.best.clocks.len() {
            self.attempt(|scenario| scenario.clocks[host].0 = 0);
            self.attempt(|scenario| scenario.clocks[host].1 = 0);
        }
    }

    fn soften_faults(&mut self) {
        for fault in 0..self.best.faults.len() {
            self.attempt(|scenario| settle(&mut scenario.faults[fault]));
            while self.attempt(|scenario| halve(&mut scenario.faults[fault])) {}
        }
    }
}

/// The plain form of a fault.
fn settle(fault: &mut Fault) {
    match &mut fault.what {
        What::Crash { moment, elsewhere, times, .. } => {
            (*moment, *elsewhere, *times) = (Moment::Now, false, 1);
        }
        What::Stop { elsewhere, .. } => *elsewhere = false,
        _ => {}
    }
}

/// A fault of half the size.
fn halve(fault: &mut Fault) {
    match &mut fault.what {
        What::Step { by_ms, .. } if by_ms.abs() > 1 => *by_ms /= 2,
        What::Slew { ppm, .. } if ppm.abs() > 1 => *ppm /= 2,
        What::Crash { back_in: lasts, .. }
        | What::Stop { back_in: lasts, .. }
        | What::Freeze { lasts, .. }
        | What::Wild { lasts, .. }
        | What::Pause { lasts, .. }
        | What::Sleep { lasts, .. }
        | What::Cut { lasts, .. }
        | What::Slow { lasts, .. }
        | What::Lossy { lasts, .. }
        | What::Outage { lasts }
        | What::Forget { lasts, .. }
        | What::Snapshot { lasts, .. } => *lasts = (*lasts / 2).max(1_000.min(*lasts)),
        What::Step { .. }
        | What::Slew { .. }
        | What::DeleteRecord
        | What::Invalidate { .. }
        | What::Clone { .. } => {}
    }
}
