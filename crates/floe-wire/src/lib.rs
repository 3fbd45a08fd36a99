//! Bytes to requests and replies to bytes, for the protocols that floe's clients speak.
//!
//! Each codec is a pure function of bytes: it has no socket, no clock, no runtime, and knows nothing of floe. It takes
//! the bytes that have come so far and tells what stands at their front: a whole request, too little for one yet, or
//! something that can never become one. Every length that a client names is held against a limit, given as an
//! argument, before anything is allocated or waited for; nothing recurses; and what a codec keeps between two calls is
//! bounded by those limits.
//!
//! # What it does not do
//! It decides nothing: which names exist, what an error is called on which wire, when a connection is closed. That
//! is `floe-server`'s.
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
