//! The PostgreSQL ledger on a real PostgreSQL.

mod checks;
mod conformance;
mod over;
mod tls;
mod trouble;

use std::sync::atomic::{AtomicU32, Ordering};

use floe_testbed::Postgres;

use super::faults::{Rig, faults, open};

/// A schema that no other test uses.
fn schema() -> String {
    static SCHEMAS: AtomicU32 = AtomicU32::new(0);
    format!("test_{}", SCHEMAS.fetch_add(1, Ordering::Relaxed))
}

fn rig() -> Rig<Postgres> {
    let url = |port, options: &str| format!("postgres://postgres@127.0.0.1:{port}/postgres?{options}");
    Rig { server: Postgres::start(&[]), url }
}

faults!(super::rig);
