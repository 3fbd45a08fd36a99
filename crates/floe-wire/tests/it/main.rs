//! Checks the codecs against recorded sessions of real clients and servers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod memcached;
mod mysql;
mod resp;
mod sessions;
mod thrift;
mod transcript;
