//! The ZooKeeper ledger on a real ZooKeeper.

mod checks;
mod conformance;
mod ensemble;
mod former;
mod tls;
mod trouble;

use std::sync::atomic::{AtomicU32, Ordering};

use floe_testbed::Zookeeper;

use super::faults::{Rig, faults, open};

/// The URL of a path at the shared server that no other test uses, and the path.
fn fresh_url() -> (String, String) {
    static PATHS: AtomicU32 = AtomicU32::new(0);
    let path = format!("/floe_{}", PATHS.fetch_add(1, Ordering::Relaxed));
    (format!("zookeeper://127.0.0.1:{}{path}", Zookeeper::shared().port()), path)
}

fn rig() -> Rig<Zookeeper> {
    // A session is a write: thirty-two of them at once may wait for a busy disk for longer than the default.
    let url = |port, options: &str| format!("zookeeper://127.0.0.1:{port}/floe?connect_timeout=30&{options}");
    Rig { server: Zookeeper::start(&[], &[]), url }
}

faults!(super::rig);
