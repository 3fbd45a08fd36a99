//! Sessions of real clients, replayed: what each client sent is read as the requests that it meant, and what the real
//! server answered is what the encoders write.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod memcached;
mod resp;
mod transcript;
