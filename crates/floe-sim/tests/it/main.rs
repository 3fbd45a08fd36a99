//! The simulator's own tests: that histories repeat, that floe holds in them, and that they would show it if it did not; and
//! what large fleets ask of a ledger.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod fleet;
mod histories;
#[cfg(feature = "mutations")]
mod mutations;
mod slots;
