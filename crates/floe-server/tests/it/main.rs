//! The real server, in this process, on a free port and a ledger on disk, asked by real clients.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test")]

mod drain;
mod endings;
mod errors;
mod fingerprints;
mod generated;
mod grpc;
mod harness;
mod hostile;
mod kinds;
mod leaf;
mod loaded;
mod memcached;
mod mint;
mod mysql;
mod mysql_limits;
mod names;
mod operate;
mod originals;
#[cfg(unix)]
mod ports;
mod resp;
mod site;
mod thrift;
mod tinyid;
mod tls;
mod tokens;
