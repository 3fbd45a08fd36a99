//! The simulator's own tests: that histories repeat, that floe holds in them, and that they would show it if it did not.

mod histories;
#[cfg(feature = "mutations")]
mod mutations;
mod predictions;
mod slots;
