//! Kinds against what other people publish, and texts that are none.

mod oracles;
mod published;
mod refused;
