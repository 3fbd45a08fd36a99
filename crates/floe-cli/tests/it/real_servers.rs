//! `floe serve` on ledgers that several nodes share, each on its real server.
//!
//! Every test in here is left out by `scripts/test --skip-servers`, by the name of this module.

mod cache;
mod faults;
mod fleet;
mod outage;
mod slots;

use std::ops::Deref;

use floe_testbed::{Postgres, Server};

/// A ledger's server, and its URL at a port: its own, or that of a proxy before it.
pub(crate) struct Rig {
    pub(crate) server: Box<dyn Deref<Target = Server> + Send + Sync>,
    pub(crate) url: fn(u16) -> String,
}

pub(crate) fn postgres() -> Rig {
    let url = |port| format!("postgres://postgres@127.0.0.1:{port}/postgres?max_wait=1s");
    Rig { server: Box::new(Postgres::start(&[])), url }
}
