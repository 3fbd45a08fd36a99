//! The PostgreSQL ledger on a real PostgreSQL.

mod checks;
mod conformance;
mod former;
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

/// Settings by which sessions wait for no flush, and by which the server neither writes nor flushes on its own during a
/// test.
const WAITS_FOR_NO_FLUSH: [&str; 6] = [
    "synchronous_commit=off",
    "wal_writer_delay=10s",
    "wal_level=minimal",
    "max_wal_senders=0",
    "autovacuum=off",
    "checkpoint_timeout=1h",
];

/// Whether everything that the server has written is flushed.
fn is_flushed(server: &Postgres) -> bool {
    server.psql("SELECT pg_current_wal_flush_lsn() >= pg_current_wal_insert_lsn()") == "t"
}

/// The URL of a schema for a new role whose sessions begin with this setting.
fn url_of_role(schema: &str, setting: &str) -> String {
    static ROLES: AtomicU32 = AtomicU32::new(0);
    let role = format!("role_{}", ROLES.fetch_add(1, Ordering::Relaxed));
    let server = Postgres::shared();
    server.psql(&format!("CREATE ROLE {role} SUPERUSER LOGIN; ALTER ROLE {role} SET {setting}"));
    format!("{}?schema={schema}", server.url_of(&role))
}

fn rig() -> Rig<Postgres> {
    let url = |port, options: &str| format!("postgres://postgres@127.0.0.1:{port}/postgres?{options}");
    Rig { server: Postgres::start(&[]), url }
}

faults!(super::rig);
