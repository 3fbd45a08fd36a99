//! Published algorithms that mint IDs, in the same simulated fleets as floe. A table, a story and a picture show what
//! each of them does there.
//!
//! Each is a [`Model`](floe_sim::model::Model), and [`floe_sim`] runs it as it runs floe. A new one needs a file in
//! [`peers`], a row in [`ENTRANTS`] and its section in `docs/peers.md`.
#![forbid(unsafe_code)]

mod entrants;
pub mod peers;
pub mod picture;
pub mod story;
pub mod table;

pub use entrants::{ENTRANTS, named, row};
