//! Ledgers on real servers.
//!
//! `scripts/test --skip-servers` leaves out every test in here, by the name of this module.

mod columns;
#[cfg(feature = "consul")]
mod consul;
#[cfg(feature = "etcd")]
mod etcd;
pub(crate) mod faults;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "object-store")]
mod object_stores;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "zookeeper")]
mod zookeeper;

use floe::ledger::Ledger;
use floe::ledger::conformance::Realm;

/// A realm for the conformance suite on a real server. Two thousand names are more than a page of each store but
/// Azure's; ten thousand would take minutes on most.
fn realm_of(connect: impl Fn() -> Box<dyn Ledger> + Send + Sync + 'static) -> Realm {
    Realm::new(connect).with_names(2_000)
}
