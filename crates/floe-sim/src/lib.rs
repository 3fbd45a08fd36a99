//! A deterministic fleet on a virtual clock. It runs the code that floe ships, or any other [`Model`](model::Model),
//! under the same faults.
//!
//! One seed is one history: which faults, when, on which clocks, and in which order messages arrive. Nothing here reads
//! a clock, sleeps, or draws from the system's randomness, so a seed replays bit for bit on every machine.
//!
//! This crate may use `floe` and no other crate of the workspace: it knows no socket, no database and no runtime.
#![forbid(unsafe_code)]

pub mod fleet;
pub mod history;
mod host;
pub mod ledger;
pub mod model;
pub mod random;
pub mod run;
pub mod scenario;
pub mod store;
pub mod subject;
mod world;
