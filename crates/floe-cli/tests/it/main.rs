//! The real binary, as its users and its operators meet it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

#[cfg(unix)]
#[path = "../../../floe-ledger/tests/it/asking.rs"]
mod asking;
mod boundaries;
mod client;
mod clients;
mod drain;
mod existing;
mod faketime;
mod hostile;
mod idle;
mod input;
mod inspect;
mod kill;
mod ledger_check;
#[cfg(unix)]
#[allow(dead_code, unused_imports, unused_macros, reason = "some of its faults are for stores alone")]
#[path = "../../../floe-ledger/tests/it/real_servers/faults.rs"]
mod ledger_faults;
mod ledger_file;
mod log;
mod mint;
#[cfg(unix)]
mod offered;
mod open_files;
mod own_kind;
mod pause;
mod process;
#[cfg(unix)]
mod public_api;
mod real_servers;
mod sim;
mod text;
mod together;
#[cfg(unix)]
mod unit_file;
