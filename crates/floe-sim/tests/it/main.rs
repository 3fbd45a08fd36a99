//! The simulator's own tests: histories repeat, floe holds in them, and they would show it if floe did not hold. And
//! the load that large fleets put on a ledger.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod fleet;
mod histories;
#[cfg(feature = "mutations")]
mod mutations;
mod slots;
