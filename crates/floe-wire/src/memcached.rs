//! The memcached protocol, server side, as far as a server of IDs needs it: reading, and refusing to be written to.
//!
//! It has two forms, [`text`] and [`binary`]. A connection speaks one of them from its first byte on: 0x80 begins a
//! binary request and can not begin a line of text.
pub mod binary;
pub mod text;

/// Bytes at most of a key, in both forms.
pub const KEY_BYTES: usize = 250;
