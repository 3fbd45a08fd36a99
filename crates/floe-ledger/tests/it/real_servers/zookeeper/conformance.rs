//! Every conformance case, for realms that share a path.

use std::sync::atomic::{AtomicU32, Ordering};

use floe::ledger::conformance;
use floe_testbed::Zookeeper;

use crate::real_servers::realm_of;

/// One test, since a runner that starts a process for each would start a server for each.
#[test]
fn realms_at_the_same_path() {
    // Nobody pulls the plug here, so it need not wait for the disk: that takes two thirds of the time.
    let server = Zookeeper::start(&[], &["-Dzookeeper.forceSync=no"]);
    let realms = AtomicU32::new(0);
    conformance::run(&|| {
        let (url, realm) = (server.url(), format!("realm-{}", realms.fetch_add(1, Ordering::Relaxed)));
        realm_of(move || floe_ledger::open_in(&url, &realm).unwrap())
    });
}
