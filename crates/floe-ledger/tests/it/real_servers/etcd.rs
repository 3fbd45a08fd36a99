//! The etcd ledger on a real etcd.

mod checks;
mod former;
mod members;
mod restored;
mod round_trips;
mod tls;
mod trouble;

use std::sync::atomic::{AtomicU32, Ordering};

use floe::ledger::conformance;
use floe_ledger::OpenError;
use floe_testbed::Etcd;

use super::faults::{Rig, faults, open};
use super::realm_of;

/// A prefix that no other test uses.
fn prefix() -> String {
    static PREFIXES: AtomicU32 = AtomicU32::new(0);
    format!("/floe-{}", PREFIXES.fetch_add(1, Ordering::Relaxed))
}

/// A URL under that prefix.
fn url(server: &Etcd, prefix: &str, options: &str) -> String {
    format!("etcd://127.0.0.1:{}{prefix}?{options}", server.port())
}

/// Why a URL cannot be opened.
#[track_caller]
fn refused(url: &str) -> OpenError {
    match floe_ledger::open_in(url, "test") {
        Err(error) => error,
        Ok(ledger) => panic!("{url} opened {}", ledger.describe()),
    }
}

fn rig() -> Rig<Etcd> {
    let url = |port, options: &str| format!("etcd://127.0.0.1:{port}/floe?{options}");
    Rig { server: Etcd::start(&[]), url }
}

faults!(super::rig);

/// One test, since a runner that starts a process for each would start a server for each.
#[test]
fn conformance() {
    let realms = AtomicU32::new(0);
    conformance::run(&|| {
        let (url, realm) =
            (Etcd::shared().url(), format!("realm-{}", realms.fetch_add(1, Ordering::Relaxed)));
        realm_of(move || floe_ledger::open_in(&url, &realm).unwrap())
    });
}
