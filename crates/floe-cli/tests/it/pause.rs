//! SIGSTOP: a process that sleeps through its own window wakes up believing in it. Nothing that it mints then may be
//! another's.

use rustix::process::Signal;

use crate::client::{agent, get, mint, numbers, unique};
use crate::kill::start;
use crate::process::{PATIENCE, configuration, now, until};

/// Longer than three of the windows below.
const ASLEEP_MS: u128 = 1_600;
const SETTINGS: &str = "realm = \"shop\"\nwindow = \"500ms\"";

#[test]
fn a_paused_server_wakes_up_beside_another_and_both_mint_on() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let config = configuration(dir.path(), SETTINGS);
    let names = ["orders", "tickets", "visits", "invoice"];
    let mut ids: Vec<Vec<u64>> = vec![Vec::new(); names.len()];
    let mut round = |url: &str, n: u64| {
        for (name, ids) in names.iter().zip(&mut ids) {
            ids.extend(mint(url, name, n));
        }
    };
    let sleeper = start(dir.path(), &config, &[]);
    let other = start(dir.path(), &config, &[]);
    for _ in 0..4 {
        round(sleeper.url(), 300);
        sleeper.signal(Signal::STOP);
        let stopped = now();
        until(PATIENCE, "three windows to pass", || {
            round(other.url(), 100);
            (stopped.elapsed().as_millis() > ASLEEP_MS).then_some(())
        });
        sleeper.signal(Signal::CONT);
        for _ in 0..20 {
            round(sleeper.url(), 50);
            round(other.url(), 50);
        }
    }
    for (name, ids) in names.iter().zip(ids) {
        unique(name, ids);
    }
}

/// The worst case: both are told to be worker 7. While the first sleeps, its window runs out and the second takes the
/// slot; the first wakes up, and has to see that before its next ID.
#[test]
fn a_paused_server_whose_worker_id_was_taken_mints_nothing_of_the_others_time() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let config = configuration(dir.path(), SETTINGS);
    let agent = agent();
    let sleeper = start(dir.path(), &config, &["--worker", "7"]);
    let mut ids = mint(sleeper.url(), "orders", 300);
    for _ in 0..2 {
        sleeper.signal(Signal::STOP);
        let stopped = now();
        until(PATIENCE, "three windows to pass", || {
            (stopped.elapsed().as_millis() > ASLEEP_MS).then_some(())
        });
        let other = start(dir.path(), &config, &["--worker", "7"]);
        ids.extend(mint(other.url(), "orders", 300));
        sleeper.signal(Signal::CONT);
        for _ in 0..100 {
            for server in [&sleeper, &other] {
                match get(&agent, &format!("{}/v1/mint/orders?n=50", server.url())).expect("an answer") {
                    (200, body) => ids.extend(numbers(&body)),
                    // One of the two has the slot; the other says so.
                    (status, body) => assert!(matches!(status, 503 | 507), "{status}: {body}"),
                }
            }
        }
        other.kill();
        // When the other's last window has run out, the slot is free again.
        ids.extend(until(PATIENCE, "the first server to mint again", || {
            let (status, body) = get(&agent, &format!("{}/v1/mint/orders?n=300", sleeper.url()))?;
            (status == 200).then(|| numbers(&body))
        }));
    }
    unique("orders", ids);
}
