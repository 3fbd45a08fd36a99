//! The library through its public face.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod counter;
mod dated;
mod faults;
mod faulty;
mod segment;
