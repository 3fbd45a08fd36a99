//! IDs as columns of a database: what a user would otherwise convert by hand at every query.
//!
//! | type | column that is written | read as well |
//! |---|---|---|
//! | [`Id`](crate::Id) | `bigint` | |
//! | [`Uuid`](crate::kind::Uuid), [`Ulid`](crate::kind::Ulid) | `uuid` | text, and with `postgres-types` `bytea` |
//! | [`ObjectId`](crate::kind::ObjectId), [`Ksuid`](crate::kind::Ksuid) | text | `bytea` |
//! | [`NanoId`](crate::kind::NanoId) | text | |
//!
//! `postgres-types` knows the column's type when it writes, and so writes all that it reads. `sqlx` does not: there the
//! column's other type is written by `sqlx::types::Text(id)` or `id.to_bytes()`; and a `uuid` column takes sqlx's own feature
//! `uuid`.
//!
//! What is read is checked by the kind's own parser. A `char(n)` that is longer than the ID comes back with spaces behind
//! it, which is an error: take `text`, `varchar(n)` or the ID's own length.

#[cfg(feature = "postgres-types")]
mod postgres;
#[cfg(feature = "sqlx")]
mod sqlx;
