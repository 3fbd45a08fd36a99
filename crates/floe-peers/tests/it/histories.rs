//! Each published algorithm has the same history for the same seed.

use std::fmt::Write as _;

use floe_peers::ENTRANTS;
use floe_sim::run::{Plan, seeds};
use floe_sim::scenario::Class;

/// A line for each model: its name, and the digest of its histories.
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/digests.txt");

/// The digests are the same on every machine and in every build profile. A change of one model changes only its line; a
/// change of the world may change all. `TRYCMD=overwrite` writes the file again; read it before you commit it.
#[test]
fn the_same_seed_is_the_same_history_on_every_machine() {
    let mut found = String::new();
    for entrant in ENTRANTS.iter().filter(|entrant| !entrant.is_floe()) {
        let plan =
            Plan { first: 1, seeds: 4, nodes: 5, seconds: 60, classes: Class::ALL.to_vec(), every: false };
        let digest = seeds(entrant, &plan, 2, &|_| {}).digest;
        writeln!(found, "{} {digest:#018x}", entrant.name).unwrap();
    }
    if std::env::var_os("TRYCMD").is_some_and(|mode| mode == "overwrite") {
        std::fs::write(GOLDEN, &found).unwrap();
    }
    let golden = std::fs::read_to_string(GOLDEN).unwrap();
    let changed: Vec<_> = found.lines().filter(|line| !golden.lines().any(|known| known == *line)).collect();
    assert!(changed.is_empty(), "these have other histories than in {GOLDEN}: {changed:#?}");
    assert_eq!(found, golden, "a line of nobody, or another order");
}
