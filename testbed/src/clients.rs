//! Third-party clients, which `scripts/clients` installs.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A Python program, run with the client packages of `testbed/clients/requirements.txt`.
pub fn python(script: &Path) -> Command {
    let mut command = Command::new(installed("python/bin/python"));
    command.arg(script).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// A program for Node.js (a CommonJS module), run with the packages of `testbed/clients/package.json`.
pub fn node(script: &Path) -> Command {
    let mut command = Command::new("node");
    command.arg(script).env("NODE_PATH", installed("node/node_modules"));
    command
}

/// The place of something that `scripts/clients` installs. Panics with the way out if it has not run.
pub fn installed(path: &str) -> PathBuf {
    let workspace =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the testbed lies in the workspace");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.join("target"), PathBuf::from);
    let path = workspace.join(target).join("clients").join(path);
    assert!(
        path.exists(),
        "these tests need third-party clients, and {} is missing: run scripts/clients, or leave them out with \
         scripts/test --skip-clients",
        path.display()
    );
    path
}
