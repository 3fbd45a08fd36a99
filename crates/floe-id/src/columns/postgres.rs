//! Columns for `tokio-postgres`, `postgres` and what else is built on `postgres-types`.

use alloc::{boxed::Box, string::ToString};

use std::error::Error;

use postgres_types::private::BytesMut;
use postgres_types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::kind::{Ksuid, NanoId, ObjectId, Ulid, Uuid};
use crate::{Id, WideId};

type Failure = Box<dyn Error + Sync + Send>;

/// Whether it is a column of text, as the client decides it.
fn is_text(column: &Type) -> bool {
    <&str as ToSql>::accepts(column)
}

/// A kind of a fixed length: text in a column of text, and its bytes in the others, which for `uuid` are the same 16.
macro_rules! columns {
    ($($kind:ident in $($column:ident)|+;)+) => {$(
        impl ToSql for $kind {
            fn to_sql(&self, column: &Type, out: &mut BytesMut) -> Result<IsNull, Failure> {
                match is_text(column) {
                    true => self.to_string().to_sql(column, out),
                    false => {
                        out.extend_from_slice(&self.to_bytes());
                        Ok(IsNull::No)
                    }
                }
            }

            fn accepts(column: &Type) -> bool {
                matches!(*column, $(Type::$column)|+) || is_text(column)
            }

            to_sql_checked!();
        }

        impl FromSql<'_> for $kind {
            fn from_sql(column: &Type, raw: &[u8]) -> Result<Self, Failure> {
                match is_text(column) {
                    true => Ok(<&str>::from_sql(column, raw)?.parse()?),
                    false => Ok(Self::try_from(raw)?),
                }
            }

            fn accepts(column: &Type) -> bool {
                <Self as ToSql>::accepts(column)
            }
        }
    )+};
}

columns! {
    WideId in BYTEA;
    Uuid in UUID | BYTEA;
    Ulid in UUID | BYTEA;
    ObjectId in BYTEA;
    Ksuid in BYTEA;
}

impl ToSql for NanoId {
    fn to_sql(&self, column: &Type, out: &mut BytesMut) -> Result<IsNull, Failure> {
        self.as_str().to_sql(column, out)
    }

    fn accepts(column: &Type) -> bool {
        is_text(column)
    }

    to_sql_checked!();
}

impl FromSql<'_> for NanoId {
    fn from_sql(column: &Type, raw: &[u8]) -> Result<Self, Failure> {
        Ok(<&str>::from_sql(column, raw)?.parse()?)
    }

    fn accepts(column: &Type) -> bool {
        is_text(column)
    }
}

impl ToSql for Id {
    fn to_sql(&self, column: &Type, out: &mut BytesMut) -> Result<IsNull, Failure> {
        i64::from(*self).to_sql(column, out)
    }

    fn accepts(column: &Type) -> bool {
        <i64 as ToSql>::accepts(column)
    }

    to_sql_checked!();
}

impl FromSql<'_> for Id {
    fn from_sql(column: &Type, raw: &[u8]) -> Result<Self, Failure> {
        Ok(Self::try_from(i64::from_sql(column, raw)?)?)
    }

    fn accepts(column: &Type) -> bool {
        <i64 as FromSql>::accepts(column)
    }
}

/// For [`id!`](crate::id): as the type inside.
#[doc(hidden)]
#[macro_export]
macro_rules! __id_postgres_types {
    ($name:ident, $inner:ty, $postgres:ident) => {
        impl $crate::__private::$postgres::ToSql for $name {
            fn to_sql(
                &self,
                column: &$crate::__private::$postgres::Type,
                out: &mut $crate::__private::$postgres::private::BytesMut,
            ) -> ::core::result::Result<
                $crate::__private::$postgres::IsNull,
                $crate::__private::Box<
                    dyn ::core::error::Error + ::core::marker::Sync + ::core::marker::Send,
                >,
            > {
                $crate::__private::$postgres::ToSql::to_sql(&self.0, column, out)
            }

            fn accepts(column: &$crate::__private::$postgres::Type) -> bool {
                <$inner as $crate::__private::$postgres::ToSql>::accepts(column)
            }

            $crate::__private::$postgres::to_sql_checked!();
        }

        impl<'a> $crate::__private::$postgres::FromSql<'a> for $name {
            fn from_sql(
                column: &$crate::__private::$postgres::Type,
                raw: &'a [u8],
            ) -> ::core::result::Result<
                Self,
                $crate::__private::Box<
                    dyn ::core::error::Error + ::core::marker::Sync + ::core::marker::Send,
                >,
            > {
                <$inner as $crate::__private::$postgres::FromSql<'a>>::from_sql(column, raw).map(Self)
            }

            fn accepts(column: &$crate::__private::$postgres::Type) -> bool {
                <$inner as $crate::__private::$postgres::FromSql<'a>>::accepts(column)
            }
        }
    };
}
