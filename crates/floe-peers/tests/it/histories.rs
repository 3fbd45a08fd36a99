//! The same history for the same seed.

use floe_peers::ENTRANTS;
use floe_sim::run::{Plan, seeds};
use floe_sim::scenario::Class;

/// The digest of a hundred histories of floe and of each published algorithm. It is the same on every machine and in every build profile.
/// Where a change of floe, of a model, or of the world is meant to change histories, the new one belongs here.
const DIGEST: u64 = 0xfedd_860d_d8dd_db6a;

#[test]
fn the_same_seed_is_the_same_history_on_every_machine() {
    let mut digest = 0_u64;
    for entrant in ENTRANTS {
        let count = if entrant.is_floe() { 60 } else { 4 };
        let plan = Plan {
            first: 1,
            seeds: count,
            nodes: 5,
            seconds: 60,
            classes: Class::ALL.to_vec(),
            every: false,
        };
        let outcome = seeds(entrant, &plan, 2, &|_| {});
        digest = digest.rotate_left(7) ^ outcome.digest;
    }
    assert_eq!(digest, DIGEST, "{digest:#018x}");
}
