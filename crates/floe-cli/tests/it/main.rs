//! The real binary, as its users and its operators meet it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

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
mod ledger_file;
mod log;
mod mint;
mod own_kind;
mod pause;
mod process;
#[cfg(unix)]
mod public_api;
mod real_servers;
mod sim;
mod text;
mod together;
