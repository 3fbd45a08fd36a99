//! The ledgers of this crate, tested through their public API.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod applications;
mod asking;
mod beside_other_crates;
#[cfg(feature = "cache")]
mod cache;
mod conformance;
mod data_dir;
mod files;
mod first;
#[cfg(target_os = "linux")]
mod flushes;
mod opening;
mod processes;
#[cfg(all(unix, feature = "remote"))]
mod real_servers;
mod sharing;
mod witness;

use std::path::Path;
use std::time::Duration;

use asking::{ask, got, orders, says};

/// Waits until something else has come this far: a thread of floe's, or a server. If it never does, the test has failed.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "a deadline of a test is real time")]
fn until(what: &str, mut check: impl FnMut() -> bool) {
    let begin = std::time::Instant::now();
    while !check() {
        assert!(begin.elapsed() < Duration::from_secs(60), "waited for a minute in vain for {what}");
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

/// The files in a directory, by name.
fn entries(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
