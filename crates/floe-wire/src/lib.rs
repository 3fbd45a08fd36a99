//! Bytes to requests and replies to bytes, for the protocols that floe's clients speak.
//!
//! Each codec is a pure function of bytes. It has no socket, clock or runtime, and knows nothing of floe. It takes the
//! bytes that have arrived so far and says what stands at their front: a whole request, too little for one yet, or
//! bytes that can never become one. Every length that a client names is checked against a limit, an argument, before
//! the codec allocates or waits for anything. Nothing recurses, and those limits bound what a codec keeps between two
//! calls.
//!
//! # What it does not do
//! It decides nothing. `floe-server` decides which names exist, what an error is called on which wire, and when a
//! connection is closed.
#![forbid(unsafe_code)]

#[cfg(any(feature = "memcached", feature = "mysql", feature = "resp", feature = "thrift"))]
mod cursor;
pub mod http;
#[cfg(feature = "memcached")]
pub mod memcached;
#[cfg(feature = "mysql")]
pub mod mysql;
#[cfg(any(feature = "memcached", feature = "resp"))]
mod one_line;
mod protocol;
#[cfg(feature = "resp")]
pub mod resp;
#[cfg(feature = "thrift")]
pub mod thrift;

pub use protocol::{Begins, FIRST_BYTES, Protocol};
