//! Tests of what a program sees of this crate.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

#[cfg(any(feature = "diesel", feature = "sea-orm"))]
mod columns;
mod conversions;
mod frameworks;
mod keys;
mod public_values;
#[cfg(any(feature = "schemars", feature = "utoipa"))]
mod schemas;
#[cfg(feature = "serde")]
mod serde;
