//! SIGSTOP: a process that sleeps through its own window wakes up believing in it. Nothing that it mints then may be
//! another's.

use rustix::process::Signal;

use crate::client::{mint, unique};
use crate::kill::start;
use crate::process::{PATIENCE, configuration, now, until};

#[test]
fn a_paused_server_wakes_up_beside_another_and_both_mint_on() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let config = configuration(dir.path(), "realm = \"shop\"\nwindow = \"500ms\"");
    let names = ["orders", "tickets", "visits", "invoice"];
    let mut ids: Vec<Vec<u64>> = vec![Vec::new(); names.len()];
    let mut round = |url: &str, n: u64| {
        for (name, ids) in names.iter().zip(&mut ids) {
            ids.extend(mint(url, name, n));
        }
    };
    // Both on one worker id: the second has to take over a slot whose owner is alive and cannot answer.
    let sleeper = start(dir.path(), &config, &[]);
    let other = start(dir.path(), &config, &[]);
    for _ in 0..5 {
        round(sleeper.url(), 300);
        sleeper.signal(Signal::STOP);
        // Longer than any window that the sleeper holds.
        let stopped = now();
        until(PATIENCE, "three windows to pass", || {
            round(other.url(), 100);
            (stopped.elapsed().as_millis() > 1_600).then_some(())
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
