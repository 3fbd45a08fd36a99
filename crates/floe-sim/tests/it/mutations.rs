//! Breaks floe on purpose, one fault at a time. Each fault has to be noticed within a thousand seeds.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use floe::mutation::{Mutation, with};
use floe_sim::history::History;
use floe_sim::run::{FLOE, Mode};
use floe_sim::scenario::{Class, Scenario};
use floe_sim::store;

use crate::histories::between_draw_and_hand_over;

const SEEDS: u64 = 1_000;

/// The smallest seed that shows the fault, and how.
fn find(mutation: Option<Mutation>, seeds: u64) -> Option<(u64, String)> {
    let mut history = History::default();
    (0..seeds).find_map(|seed| {
        // The policy above a store is not part of the fleet, because the fleet's ledger is complete.
        if let Some(words) = with(mutation, || store::run(seed)) {
            return Some((seed, words));
        }
        // Violations that need a ledger that forgets have to be noticed too.
        let classes = if seed % 4 == 3 { Class::ALL } else { Class::CONTRACT };
        let scenario = match seed % 4 {
            1 => between_draw_and_hand_over(seed),
            _ => Scenario::new(seed, 5, 60, classes, false),
        };
        let mode = Mode { noting: false, until_wrong: true, only: None };
        let run = AssertUnwindSafe(|| with(mutation, || FLOE.run(&scenario, &mut history, mode)));
        match catch_unwind(run) {
            // An assertion inside floe may stop it too, but only what the auditor says is a finding.
            Err(own) if mutation.is_none() => resume_unwind(own),
            Ok(_) | Err(_) => history.violations.first().map(|it| (seed, it.words.clone())),
        }
    })
}

#[test]
fn every_fault_put_into_floe_is_found() {
    assert!(Mutation::ALL.len() >= 15);
    let next = AtomicUsize::new(0);
    let missed: Vec<String> = std::thread::scope(|scope| {
        let search = || {
            let mut missed = Vec::new();
            while let Some(&mutation) = Mutation::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
                match find(Some(mutation), SEEDS) {
                    Some((seed, words)) => println!("{:28} seed {seed}: {words}", mutation.name()),
                    None => missed.push(format!("{}: {}", mutation.name(), mutation.what())),
                }
            }
            missed
        };
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(search)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(missed.is_empty(), "not found in {SEEDS} seeds: {missed:#?}");
}

/// Without a fault put in, the same search finds nothing.
#[test]
fn nothing_is_found_in_floe_as_it_is() {
    assert_eq!(find(None, 100), None);
}
