//! IDs as columns of a database: what a user would otherwise convert by hand at every query.
//!
//! | type | sqlx writes | Diesel | SeaORM writes | read as well |
//! |---|---|---|---|---|
//! | [`Id`](crate::Id) | `bigint` | `BigInt` | `bigint` | |
//! | [`WideId`](crate::WideId) | `bytea`, 16 bytes | `Binary`, `Text` | 16 bytes | text |
//! | [`Uuid`](crate::kind::Uuid), [`Ulid`](crate::kind::Ulid) | `uuid` | `Uuid` (PostgreSQL), `Text`, `Binary` | text | text |
//! | [`ObjectId`](crate::kind::ObjectId), [`Ksuid`](crate::kind::Ksuid) | text | `Text`, `Binary` | text | `bytea` |
//! | [`NanoId`](crate::kind::NanoId) | text | `Text` | text | |
//!
//! `postgres-types` knows the column's type when it writes, and so writes all that sqlx writes or reads, and `bytea` for every kind of
//! a fixed length. With Diesel the schema says the column's type. `sqlx` knows no column: there its other type is written by
//! `sqlx::types::Text(id)` or `id.to_bytes()`; and a `uuid` column takes sqlx's own feature `uuid`. SeaORM reads what it writes; for
//! a `uuid` column take `uuid::Uuid`, which a [`Uuid`](crate::kind::Uuid) converts into. The order of a `uuid` or
//! `bytea` column is the order of its IDs. In text it is so under the collation `C`, and never for a `WideId`.
//!
//! All of them are nullable as `Option`. Arrays of PostgreSQL are written and read by `postgres-types`, by Diesel, and by sqlx with the
//! features `sqlx-0_8-postgres` and `sqlx-0_9-postgres`. In SQLite, Diesel compares a column with an `Option` of an `Id` or of a `NanoId`;
//! of the others, with an `Option` of their text or bytes.
//!
//! What is read is checked by the ID's own parser. A `char(n)` that is longer than the ID comes back with spaces behind
//! it, which is an error: take `text`, `varchar(n)` or the ID's own length.
//!
//! [`id!`](crate::id) makes a type for the keys of one table, which is a column as what is in it.

#[cfg(feature = "diesel")]
mod diesel;
#[cfg(feature = "postgres-types")]
mod postgres;
#[cfg(feature = "sea-orm")]
mod sea_orm;
#[cfg(any(feature = "sqlx-0_8", feature = "sqlx-0_9"))]
mod sqlx;
