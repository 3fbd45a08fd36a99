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
mod opening;
mod processes;
#[cfg(all(unix, feature = "remote"))]
mod real_servers;
mod sharing;
mod witness;

use std::path::Path;

use asking::{ask, got, orders, says};

/// The files in a directory, by name.
fn entries(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
