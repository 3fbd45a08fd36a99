//! The MySQL ledger on a real MariaDB.

mod checks;
mod former;
mod settings;
mod tls;
mod trouble;

use std::sync::atomic::{AtomicU32, Ordering};

use floe::ledger::conformance;
use floe_testbed::Mariadb;

use super::faults::{Rig, faults, open};
use super::realm_of;

fn rig() -> Rig<Mariadb> {
    let url = |port, options: &str| format!("mysql://root@127.0.0.1:{port}/floe?{options}");
    Rig { server: Mariadb::start(&[]), url }
}

faults!(super::rig);

/// One test: a runner with a process per test would start a server for each.
#[test]
fn every_realm_in_the_same_tables_conforms() {
    let server = Mariadb::start(&[]);
    let realms = AtomicU32::new(0);
    conformance::run(&|| {
        let realm = format!("realm_{}", realms.fetch_add(1, Ordering::Relaxed));
        let url = server.url();
        realm_of(move || floe_ledger::open_in(&url, &realm).unwrap())
    });
}
