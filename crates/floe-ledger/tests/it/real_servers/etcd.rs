//! The etcd ledger on a real etcd.

use std::sync::atomic::{AtomicU32, Ordering};

use floe::ledger::conformance::{self, Realm};
use floe_testbed::Etcd;

use super::faults::{Rig, faults};

/// The URL of a prefix that no other test uses.
#[allow(dead_code)] fn fresh() -> String {
    static PREFIXES: AtomicU32 = AtomicU32::new(0);
    format!("{}-{}", Etcd::shared().url(), PREFIXES.fetch_add(1, Ordering::Relaxed))
}

fn rig() -> Rig<Etcd> {
    let url = |port, options: &str| format!("etcd://127.0.0.1:{port}/floe?{options}");
    Rig { server: Etcd::start(&[]), url }
}

faults!(super::rig);

/// One test, since a runner that starts a process for each would start a server for each.
#[test]
fn conformance() {
    let url = Etcd::shared().url();
    let realms = AtomicU32::new(0);
    conformance::run(&|| {
        let (url, realm) = (url.clone(), format!("realm-{}", realms.fetch_add(1, Ordering::Relaxed)));
        Realm::new(move || floe_ledger::open(&url, &realm).unwrap())
    });
}
