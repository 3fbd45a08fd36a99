//! What a unique ID is: how its bits lie, how it is written, and how it is read again.
//!
//! Take this crate to read, write, check and sort IDs that others mint. It has no clock, does no I/O and mints nothing; the
//! crate `floe` does that, and re-exports all that is here.
//!
//! # What is in it
//! | module | question |
//! |---|---|
//! | [`layout`] | Where do time, worker id and sequence number lie in a snowflake ID, and when do its bits run out? |
//! | [`Id`], [`WideId`] | Which numbers are IDs? |
//! | [`form`] | How is the number written: decimal, base62, Sqids, sealed with a key? |
//! | [`kind`] | What is in a UUID, ULID, ObjectId, KSUID or NanoID? |
//! | [`inspect`] | What may this text be? |
//!
//! # The bits of a snowflake ID
//! ```text
//!  63   62 ........................... 22 21 ..... 17 16 ..... 12 11 .......... 0
//!   0 |          time, 41 bits           | datacenter |   worker  |   sequence   |   Layout::TWITTER
//! ```
//!
//! # A program
//! ```
//! use floe_id::{Id, Layout, form::{Buffer, Form}, kind::Ulid};
//!
//! let id: Id = "1212092628029698048".parse()?;
//! let parts = Layout::TWITTER.split(id.into())?;
//! assert_eq!((parts.time.to_string().as_str(), parts.worker), ("2019-12-31T19:26:16.771Z", 327));
//!
//! let form: Form = "base62 width=11".parse()?;
//! assert_eq!(form.encode(id.get(), &mut Buffer::new())?, "1RXOcR2DqUK");
//!
//! assert!("01ARZ3NDEKTSV4RRFFQ69G5FAV".parse::<Ulid>()? < Ulid::MAX);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it does not do
//! It cannot tell whether an ID was ever minted, nor by whom: every number below a layout's end reads as an ID of it.
//!
//! # Features
//! The crate needs an allocator and no operating system. `std`, on by default, adds what needs floating point. Off by default:
//! `serde` (text where a format is for people, and bytes where it is not), `uuid` (to and from the crate uuid's type),
//! `postgres-types` and `sqlx` (0.8), for columns of a database, in the module `columns`.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

#[cfg(any(feature = "postgres-types", feature = "sqlx"))]
pub mod columns;
pub mod form;
mod id;
pub mod inspect;
pub mod kind;
pub mod layout;
mod time;

pub use id::{Id, IdError, WideId};
pub use layout::{IdRepr, Layout, LayoutError};
pub use time::{Tick, UnixMillis};
