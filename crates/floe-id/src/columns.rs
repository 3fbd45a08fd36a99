//! IDs as columns of a database, without a conversion at every query.
//!
//! | type | sqlx writes | Diesel | SeaORM writes | read as well |
//! |---|---|---|---|---|
//! | [`Id`](crate::Id) | `bigint` | `BigInt` | `bigint` | |
//! | [`WideId`](crate::WideId) | `bytea`, 16 bytes | `Binary`, `Text` | 16 bytes | text |
//! | [`Uuid`](crate::kind::Uuid), [`Ulid`](crate::kind::Ulid) | `uuid` | `Uuid` (PostgreSQL), `Text`, `Binary` | text | text |
//! | [`ObjectId`](crate::kind::ObjectId), [`Ksuid`](crate::kind::Ksuid) | text | `Text`, `Binary` | text | `bytea` |
//! | [`NanoId`](crate::kind::NanoId) | text | `Text` | text | |
//!
//! - `postgres-types` knows the column's type when it writes. So it writes all types that sqlx writes or reads, and
//!   `bytea` for every kind of a fixed length.
//! - With Diesel, the schema gives the column's type.
//! - `sqlx` does not know the column. To write the other type, use `sqlx::types::Text(id)` or `id.to_bytes()`. A `uuid`
//!   column needs sqlx's own feature `uuid`.
//! - SeaORM reads the types that it writes. For a `uuid` column, use `uuid::Uuid`; a [`Uuid`](crate::kind::Uuid)
//!   converts into it.
//!
//! A `uuid` or `bytea` column sorts as its IDs do. A text column does so under the collation `C`, but never for a
//! `WideId`.
//!
//! All of them are nullable as `Option`. Arrays of PostgreSQL are written and read by `postgres-types`, by Diesel, and
//! by sqlx with the features `sqlx-0_8-postgres` and `sqlx-0_9-postgres`. In SQLite, Diesel compares a column with an
//! `Option` of an `Id` or of a `NanoId`; of the others, with an `Option` of their text or bytes.
//!
//! What is read is checked by the ID's own parser. A `char(n)` that is longer than the ID comes back with spaces behind
//! it, which is an error: take `text`, `varchar(n)` or the ID's own length.
//!
//! [`id!`](crate::id) makes a type for the keys of one table. A column holds it like the ID inside it.

#[cfg(feature = "diesel")]
mod diesel;
#[cfg(feature = "postgres-types")]
mod postgres;
#[cfg(feature = "sea-orm")]
mod sea_orm;
#[cfg(any(feature = "sqlx-0_8", feature = "sqlx-0_9"))]
mod sqlx;
