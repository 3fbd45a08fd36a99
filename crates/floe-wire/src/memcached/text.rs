//! Lines of text: `get orders\r\n` is answered by `VALUE orders 0 19\r\n…\r\nEND\r\n`.
//!
//! Commands are read in upper and lower case, as katsubushi reads them; memcached itself reads lower case only.
//! Commands that would store or change something are recognised, and the data after them is read too. So they can be
//! refused while the stream stays in step.
//!
//! Source: memcached's `doc/protocol.txt`, and its `proto_text.c` for what that leaves open.
//!
//! ```
//! use floe_wire::memcached::text::{Decoder, Limits, Request, reply};
//!
//! let mut decoder = Decoder::new(Limits { request_bytes: 65_536 });
//! let input = b"get orders users\r\nset orders 0 0 5 noreply\r\nhello\r\nfrobnicate\r\nget or";
//! let mut at = 0;
//! let mut output = Vec::new();
//! while let Some((request, consumed)) = decoder.decode(&input[at..])? {
//!     at += consumed;
//!     match request {
//!         Request::Get { keys, .. } => {
//!             keys.for_each(|key| reply::value(&mut output, key, b"1", None));
//!             reply::end(&mut output);
//!         }
//!         Request::Refused { noreply: true } => {}
//!         _ => reply::error(&mut output),
//!     }
//! }
//! assert_eq!(&input[at..], b"get or");
//! assert_eq!(output, b"VALUE orders 0 1\r\n1\r\nVALUE users 0 1\r\n1\r\nEND\r\nERROR\r\n");
//! # Ok::<(), floe_wire::memcached::text::Error>(())
//! ```
mod decode;
pub mod reply;

pub use decode::{Decoder, Error, Invalid, Keys, Limits, Request};

#[cfg(test)]
mod tests;
