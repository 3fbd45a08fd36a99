//! Published algorithms that mint IDs, in the same simulated fleets as floe: what each does there, as a table, as a story and
//! as a picture.
//!
//! Each is a [`Model`](floe_sim::model::Model), which [`floe_sim`] runs as it runs floe. A new one is a file in
//! [`peers`], a row in [`ENTRANTS`], its rule in [`rules`] and its section in `docs/peers.md`.
#![forbid(unsafe_code)]

mod entrants;
pub mod peers;
pub mod picture;
pub mod rules;
pub mod story;
pub mod table;

pub use entrants::{ENTRANTS, named, row};
