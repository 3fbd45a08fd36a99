//! `floe serve` on ledgers that several nodes share, each on its real server.
//!
//! Every test in here is left out by `scripts/test --skip-servers`, by the name of this module.

mod cache;
mod clock;
mod elsewhere;
mod faults;
mod fleet;
mod outage;
mod passwords;
mod pinned;
mod slots;
mod waiting;

use std::ops::Deref;

use floe_testbed::{Etcd, Mariadb, Postgres, Redis, Server, Zookeeper};

/// A ledger's server, and its URL at a port: its own, or that of a proxy before it.
pub(crate) struct Rig {
    pub(crate) server: Box<dyn Deref<Target = Server> + Send + Sync>,
    pub(crate) url: fn(u16) -> String,
    /// Whether the server's clock can be asked.
    pub(crate) has_clock: bool,
}

pub(crate) fn postgres() -> Rig {
    let url = |port| format!("postgres://postgres@127.0.0.1:{port}/postgres?max_wait=2s");
    Rig { server: Box::new(Postgres::start(&[])), url, has_clock: true }
}

pub(crate) fn mysql() -> Rig {
    let url = |port| format!("mysql://root@127.0.0.1:{port}/floe?max_wait=2s");
    Rig { server: Box::new(Mariadb::start(&[])), url, has_clock: true }
}

pub(crate) fn redis() -> Rig {
    let url = |port| format!("redis://127.0.0.1:{port}/0?max_wait=2s");
    Rig { server: Box::new(Redis::start(&[])), url, has_clock: true }
}

pub(crate) fn etcd() -> Rig {
    let url = |port| format!("etcd://127.0.0.1:{port}/floe?max_wait=2s");
    Rig { server: Box::new(Etcd::start(&[])), url, has_clock: false }
}

pub(crate) fn zookeeper() -> Rig {
    let url = |port| format!("zookeeper://127.0.0.1:{port}/floe?max_wait=2s");
    Rig { server: Box::new(Zookeeper::start(&[], &[])), url, has_clock: true }
}

/// Makes a test of `$check` over every server.
macro_rules! on_every_server {
    ($check:path) => {
        $crate::real_servers::on_every_server!($check: postgres mysql redis etcd zookeeper);
    };
    ($check:path: $($server:ident)*) => {
        $(
            #[test]
            fn $server() {
                $check(super::super::$server());
            }
        )*
    };
}
pub(crate) use on_every_server;
