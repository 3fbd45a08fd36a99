//! IDs that need no ledger, as values: UUID, ULID, ObjectId, KSUID and NanoID.
//!
//! | kind | bits | text | says its time to |
//! |---|---|---|---|
//! | [`Uuid`] | 128 | 36 characters of hexadecimal digits and hyphens | the millisecond, in version 7 |
//! | [`Ulid`] | 128 | 26 of Crockford's base32 | the millisecond |
//! | [`ObjectId`] | 96 | 24 hexadecimal digits | the second |
//! | [`Ksuid`] | 160 | 27 of base62 | the second |
//! | [`NanoId`] | its format's, 126 by default | 1 to 63 characters | no time |
//!
//! Each has one text, and its documentation names the other texts that it reads. [`Uuid`] and
//! [`WideId`](crate::WideId) convert into each other for UUID v8, which holds a snowflake.
//!
//! ```
//! use floe_id::kind::{Ulid, Uuid};
//!
//! let id: Ulid = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse()?;
//! assert_eq!(id.time().to_string(), "2016-07-30T23:54:10.259Z");
//! // The same 128 bits.
//! assert_eq!(Uuid::from(id).to_string(), "01563e3a-b5d3-d676-4c61-efb99302bd5b");
//! # Ok::<(), floe_id::kind::ReadError>(())
//! ```

mod convert;
mod ksuid;
mod nano_id;
mod object_id;
mod read;
#[cfg(test)]
mod tests;
mod ulid;
mod uuid;
mod uuid8;

pub use ksuid::Ksuid;
pub use nano_id::{NanoId, NanoIdFormat, NanoIdFormatError};
pub use object_id::ObjectId;
pub use read::ReadError;
pub use ulid::Ulid;
pub use uuid::Uuid;
pub use uuid8::UuidV8Error;
