//! The ledgers of this crate, through their public face.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod applications;
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

use floe::Name;
use floe::ledger::{Key, Ledger, Reply, Reserve, Token};

/// The mark that the tests move.
fn orders() -> Key {
    Key::name(&Name::new("orders").unwrap())
}

/// A reservation of `count` positions, never refused.
fn ask(count: u64) -> Reserve {
    Reserve {
        key: orders(),
        floor: 0,
        count,
        max_mark: u64::MAX,
        token: Token::random().unwrap(),
        create: true,
        note: None,
    }
}

/// The range of a request that has to be served.
#[track_caller]
fn got(ledger: &dyn Ledger, request: &Reserve) -> (u64, u64) {
    match ledger.reserve(request).unwrap() {
        Reply::Got { start, end, .. } => (start, end),
        refused @ Reply::Refused { .. } => panic!("{refused:?}"),
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

/// Asserts that `text` has each of the `parts`: the cause and the way out.
#[track_caller]
fn says(text: &impl ToString, parts: &[&str]) {
    let text = text.to_string();
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
    assert!(!text.contains("is locked"), "{text}");
}
