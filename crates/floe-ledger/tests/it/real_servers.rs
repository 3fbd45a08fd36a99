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
