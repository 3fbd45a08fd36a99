//! Clocks that step between lives, by libfaketime. `scripts/test --skip-faketime` leaves these out, and says so.

use std::path::PathBuf;

use crate::kill::ten_lives;
use crate::process::{Server, configuration, floe};

/// Seconds from the true time: an hour ahead, back, two ahead, an hour behind, …, as an operator or a broken time
/// server does.
const STEPS: [&str; 10] = ["+0", "+3600", "+0", "-3600", "+3600", "+7200", "+3590", "-10", "+0", "-7200"];

/// Steps within `max_hold` (an hour), through which a fixed worker goes on from its own mark.
const HELD: [&str; 10] = ["+0", "+3500", "+0", "+3400", "+100", "+0", "+3500", "+1", "+3300", "+0"];

#[test]
fn faketime_steps_of_an_hour_between_lives_repeat_nothing() {
    lives(&STEPS, &[]);
}

#[test]
fn faketime_steps_under_a_fixed_worker_repeat_nothing() {
    lives(&HELD, &["--worker", "7"]);
}

fn lives(steps: &[&str; 10], flags: &[&str]) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let config = configuration(dir.path(), "realm = \"shop\"");
    let library = library();
    ten_lives(|life| {
        let mut command = floe(["serve", "--listen", "127.0.0.1:0", "--config"]);
        command.arg(&config).arg("--data-dir").arg(dir.path().join("data")).args(flags);
        command.env("LD_PRELOAD", &library).env("FAKETIME", steps[life % steps.len()]);
        // The monotonic clock runs on through a step of the wall clock.
        command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("DONT_FAKE_MONOTONIC", "1");
        command.env("FAKETIME_NO_CACHE", "1");
        Server::spawn(&mut command)
    });
}

/// The library that steps a clock.
pub(crate) fn library() -> PathBuf {
    floe_testbed::faketime().expect(
        "libfaketime is not installed: install the Debian package libfaketime (scripts/test does), \
         or run scripts/test --skip-faketime",
    )
}
