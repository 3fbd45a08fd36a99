//! The codecs held against what real clients and servers said to each other.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod memcached;
mod mysql;
mod resp;
mod sessions;
mod thrift;
mod transcript;
