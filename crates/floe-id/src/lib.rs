//! Unique IDs: the layout of their bits, and how to write and read them.
//!
//! Use this crate to read, write, check and sort IDs that another program mints. It has no clock, does no I/O and mints
//! nothing. The crate `floe` mints, and re-exports everything here.
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
//! It cannot tell whether an ID was ever minted, or by which program: every number that fits a layout reads as an ID of
//! it.
//!
//! # Features
//! The crate needs an allocator and no operating system. All but `std` are off by default:
//!
//! | feature | what it adds |
//! |---|---|
//! | `std` | conversions of `SystemTime`, and functions that need floating point; on by default |
//! | `serde` | text in formats for people, numbers and bytes in binary formats: the module `serde` |
//! | `schemars`, `utoipa` | schemas of that text: JSON Schema (schemars 1), OpenAPI (utoipa 6) |
//! | `uuid`, `chrono` | conversions to and from `uuid::Uuid` and `chrono::DateTime<Utc>` |
//! | `postgres-types`, `diesel`, `sea-orm`, `sqlx-0_8`, `sqlx-0_9` | columns of a database: the module `columns` |
//! | `sqlx-0_8-postgres`, `sqlx-0_9-postgres` | arrays of PostgreSQL as well |
//! | `sqlx` | the former name of `sqlx-0_8` |
//!
//! `diesel` and `sea-orm` are version 2. `sea-orm` and `sqlx-0_9` need Rust 1.94, as those crates do. [`id!`] makes a
//! type for the IDs of one table, with all of these.
//!
//! ```
//! floe_id::id! { pub struct OrderId; }
//!
//! # #[cfg(all(feature = "schemars", feature = "utoipa", feature = "postgres-types"))] {
//! let schema = schemars::schema_for!(OrderId);
//! assert_eq!(schema.get("pattern").unwrap(), "^(0|[1-9][0-9]{0,18})$");
//! assert_eq!(<OrderId as utoipa::ToSchema>::name(), "OrderId");
//! assert!(<OrderId as postgres_types::ToSql>::accepts(&postgres_types::Type::INT8));
//! # }
//! ```
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

#[cfg(any(
    feature = "diesel",
    feature = "postgres-types",
    feature = "sea-orm",
    feature = "sqlx-0_8",
    feature = "sqlx-0_9"
))]
pub mod columns;
mod error;
pub mod form;
mod id;
pub mod inspect;
mod key;
pub mod kind;
pub mod layout;
#[cfg(any(feature = "schemars", feature = "utoipa"))]
mod schema;
#[cfg(feature = "serde")]
pub mod serde;
mod time;

pub use id::{Id, IdError, WideId};
#[doc(hidden)]
pub use key::private as __private;
pub use layout::{IdRepr, Layout, LayoutError};
pub use time::{Tick, TimeError, UnixMillis};
