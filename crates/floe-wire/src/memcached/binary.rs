//! Packets of 24 bytes and a body: key, extras, value.
//!
//! Source: memcached's `protocol_binary.h` and the [protocol's page](https://docs.memcached.org/protocols/binary/).
//!
//! The server leaves out the replies that a quiet command does not want: a miss of `getq` and `getkq` gets no reply, an
//! error gets one.
//!
//! ```
//! use floe_wire::memcached::binary::{Decoder, Limits, Operation, Status, reply};
//!
//! let decoder = Decoder::new(Limits { request_bytes: 65_536 });
//! let get = b"\x80\0\0\x06\0\0\0\0\0\0\0\x06abcd\0\0\0\0\0\0\0\0orders";
//! let (request, consumed) = decoder.decode(get)?.expect("it has come whole");
//! assert_eq!((request.operation, request.key, consumed), (Operation::Get, &b"orders"[..], 30));
//!
//! let mut output = Vec::new();
//! reply::value(&mut output, &request, b"1", 0);
//! assert_eq!(output, b"\x81\0\0\0\x04\0\0\0\0\0\0\x05abcd\0\0\0\0\0\0\0\0\0\0\0\x001");
//! # Ok::<(), floe_wire::memcached::binary::Error>(())
//! ```
mod decode;
pub mod reply;

pub use decode::{Decoder, Error, Limits, Operation, Request};
pub use reply::Status;

#[cfg(test)]
mod tests;
