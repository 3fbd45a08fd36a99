//! A loom model of an era that is begun by hand; `cursor::models` says how to run it.

use loom::thread;

use super::tests::shared;
use super::*;
use crate::clock::models::Standing;
use crate::ledger::Memory;

/// The node closes what is of the era before, and sleeps again.
///
/// Caught: `invalidate` that raises the signal first.
#[test]
fn the_nodes_thread_finds_the_era_for_which_it_is_called() {
    loom::model(|| {
        let shared = shared(Memory::default(), Standing);
        let node = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.signal.lower();
                shared.clock.era()
            })
        };
        shared.invalidate();
        let era = node.join().unwrap();
        assert!(era == 1 || shared.signal.is_raised(), "it sleeps on");
    });
}
