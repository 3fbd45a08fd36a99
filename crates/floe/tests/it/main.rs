//! The library through its public face.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod checker;
mod counter;
mod dated;
mod eras;
mod executor;
mod faults;
mod faulty;
mod fixed;
mod formed;
mod generators;
mod keeping;
mod kinds;
mod minters;
mod parsers;
mod public_values;
mod segment;
mod status;
mod texts;
mod unload;
#[cfg(feature = "serde")]
mod written;
