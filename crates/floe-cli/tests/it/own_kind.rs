//! A program of a user's own, with a kind of its own: `crates/floe-server/examples/own_kind.rs`.

use std::path::Path;

use crate::client::{agent, get};
use crate::process::{Server, configuration};

const CONFIGURATION: &str = r#"
realm = "shop"
listen = "127.0.0.1:0"
mysql = "off"

[[name]]
name = "receipts"
kind = "check-digit"
properties = { prefix = "R-" }
"#;

/// Whether the digits behind the prefix are a number with its check digit.
fn is_valid(id: &str) -> bool {
    let digits = id.strip_prefix("R-").unwrap().bytes().rev().map(|digit| u32::from(digit - b'0'));
    let doubled = |(at, digit): (usize, u32)| match at % 2 {
        0 => digit,
        _ if digit > 4 => digit * 2 - 9,
        _ => digit * 2,
    };
    digits.enumerate().map(doubled).sum::<u32>() % 10 == 0
}

#[test]
fn a_registered_kind_is_served_by_a_binary_that_was_built_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let config = configuration(directory.path(), CONFIGURATION);
    // cargo builds examples with the tests of the workspace, beside the binaries.
    let program = Path::new(env!("CARGO_BIN_EXE_floe")).parent().unwrap().join("examples/own_kind");
    assert!(program.exists(), "{} is not built: cargo build --examples", program.display());
    let mut command = std::process::Command::new(program);
    let server = Server::spawn(command.arg(&config).current_dir(directory.path()));
    let url = format!("{}/v1/mint/receipts?n=500", server.url());
    let (status, body) = get(&agent(), &url).expect("an answer");
    assert_eq!(status, 200, "{body}");
    let ids: Vec<_> = body.lines().collect();
    assert!(ids.iter().all(|id| is_valid(id)), "{ids:?}");
    assert_eq!(ids.first(), Some(&"R-18"), "1, and 8 makes the sum 10");
    let unique: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len());
    server.terminate();
}
