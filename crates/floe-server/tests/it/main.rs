//! The real server, in this process, on a free port and a ledger on disk, asked by real clients.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail the test")]

mod drain;
mod errors;
mod harness;
mod hostile;
mod leaf;
mod mint;
mod names;
mod operate;
mod tls;
mod tokens;
