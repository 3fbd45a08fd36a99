//! A crate boundary is a forbidden dependency: what each crate of the workspace may use, held against Cargo's own
//! view of it.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// Which crates of the workspace each one may use. One that is not listed fails the test: give it its line here.
const MAY_USE: &[(&str, &[&str])] = &[
    ("floe", &[]),
    ("floe-ledger", &["floe", TESTS]),
    ("floe-wire", &["floe"]),
    ("floe-sim", &["floe"]),
    ("floe-server", &["floe", "floe-ledger", "floe-wire"]),
    ("floe-cli", &["floe", "floe-ledger", "floe-server", "floe-sim", TESTS]),
    ("floe-bench", &["floe", "floe-ledger", TESTS]),
    (TESTS, &[]),
];

/// Real servers for tests and benchmarks; [`ledgers_know_no_server_and_no_wire`] holds it out of what is built.
const TESTS: &str = "floe-testbed";

/// What makes a runtime, a socket or a database client, and so has no place in the library.
const NOT_IN_THE_LIBRARY: &[&str] = &[
    "async-io",
    "async-std",
    "axum",
    "clap",
    "hyper",
    "libsqlite3-sys",
    "mio",
    "reqwest",
    "rusqlite",
    "rustls",
    "smol",
    "socket2",
    "tokio",
    "tracing",
    "ureq",
];

/// What belongs to the server and the command.
const NOT_IN_LEDGERS: &[&str] = &["axum", "clap", "hyper", "reqwest", "tracing-subscriber", "ureq"];

fn cargo(arguments: &[&str]) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).args([
        "--offline",
        "--manifest-path",
        concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
    ]);
    let output = command.output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo writes UTF-8")
}

fn metadata() -> Value {
    serde_json::from_str(&cargo(&["metadata", "--no-deps", "--format-version", "1"]))
        .expect("cargo writes JSON")
}

/// What can be switched on in `package`.
fn features(package: &str) -> Vec<String> {
    let metadata = metadata();
    let mut packages = metadata["packages"].as_array().expect("packages").iter();
    let found = packages.find(|found| found["name"] == package).expect("the package");
    found["features"].as_object().expect("features").keys().cloned().collect()
}

/// Every crate of the workspace with those of the workspace that it names, for whatever purpose.
fn edges() -> BTreeMap<String, BTreeSet<String>> {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    let name = |value: &Value| value["name"].as_str().expect("a name").to_owned();
    let members: BTreeSet<String> = packages.iter().map(name).collect();
    packages
        .iter()
        .map(|package| {
            let used = package["dependencies"].as_array().expect("dependencies").iter().map(name);
            (name(package), used.filter(|used| members.contains(used)).collect())
        })
        .collect()
}

/// All crates that end up in a build of `package` with every feature, without those of its tests.
fn tree(package: &str) -> BTreeSet<String> {
    tree_with(package, &["--all-features"])
}

fn tree_with(package: &str, features: &[&str]) -> BTreeSet<String> {
    let arguments = ["tree", "-p", package, "--edges", "normal,build", "--prefix", "none", "--format", "{p}"];
    let text = cargo(&[&arguments, features].concat());
    text.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn crates_use_only_what_their_boundary_allows() {
    let edges = edges();
    assert!(edges.len() >= 4, "the workspace has lost its crates: {edges:?}");
    for (package, used) in edges {
        let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == package) else {
            panic!("{package} has no line in MAY_USE: decide what it may use");
        };
        let forbidden: Vec<_> = used.iter().filter(|used| !allowed.contains(&used.as_str())).collect();
        assert!(forbidden.is_empty(), "{package} must not use {forbidden:?}");
    }
}

#[test]
fn the_library_has_no_runtime_no_socket_and_no_sibling() {
    let tree = tree("floe");
    assert!(tree.contains("jiff"), "that is not the tree of the library: {tree:?}");
    // The traits of sqlx come with `tracing`, and with nothing else of these. Nobody has them who has not got sqlx.
    assert!(tree.contains("sqlx-core"), "every feature is on: {tree:?}");
    let found: Vec<_> = tree.iter().filter(|name| NOT_IN_THE_LIBRARY.contains(&name.as_str())).collect();
    assert_eq!(found, ["tracing"], "floe must not depend on these");
    let others: Vec<_> = features("floe").into_iter().filter(|feature| feature != "sqlx").collect();
    assert!(others.iter().any(|feature| feature == "serde"), "those are not the features: {others:?}");
    let without = tree_with("floe", &["--features", &others.join(",")]);
    let found: Vec<_> = without.iter().filter(|name| NOT_IN_THE_LIBRARY.contains(&name.as_str())).collect();
    assert!(found.is_empty(), "floe must not depend on {found:?}");
    let siblings: Vec<_> = tree.iter().filter(|name| name.starts_with("floe-")).collect();
    assert!(siblings.is_empty(), "floe must not depend on {siblings:?}");
}

#[test]
fn ledgers_know_no_server_and_no_wire() {
    let tree = tree("floe-ledger");
    assert!(tree.contains("floe"), "that is not the tree of the ledgers: {tree:?}");
    let found: Vec<_> = tree
        .iter()
        .filter(|name| {
            NOT_IN_LEDGERS.contains(&name.as_str()) || (name.starts_with("floe-") && *name != "floe-ledger")
        })
        .collect();
    assert!(found.is_empty(), "floe-ledger must not depend on {found:?}");
}
