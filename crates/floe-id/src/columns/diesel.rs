//! Columns for Diesel 2. An ID becomes an expression of the plain value that stands behind it, in every backend. Values that
//! Diesel binds by reference (an `Option`, an element of an array) are written in PostgreSQL and MySQL, and an [`Id`] and a
//! [`NanoId`] in SQLite as well: SQLite borrows what is bound, and they alone hold it as it is written.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};

use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql, Queryable};
use diesel::expression::AsExpression;
use diesel::query_builder::bind_collector::RawBytesBindCollector;
use diesel::serialize::{self, Output, ToSql};
use diesel::sql_types::{BigInt, Binary, Nullable, SingleValue, Text};

use crate::kind::{Ksuid, NanoId, ObjectId, Ulid, Uuid};
use crate::{Id, WideId};

/// `$id` in a column of type `$sql`, as the plain value that it is written into and read from.
macro_rules! columns {
    ($($id:ident { $($sql:ty as $plain:ty, $write:expr, $read:expr;)+ })+) => {$(
        $(
            columns!(@expression $id, $sql, $plain, $write, [$id, &$id, &&$id]);

            impl<DB: Backend> FromSql<$sql, DB> for $id
            where
                $plain: FromSql<$sql, DB>,
            {
                fn from_sql(column: DB::RawValue<'_>) -> deserialize::Result<Self> {
                    let read: fn($plain) -> deserialize::Result<Self> = $read;
                    read(FromSql::<$sql, DB>::from_sql(column)?)
                }
            }
        )+

        impl<DB: Backend, ST: SingleValue> Queryable<ST, DB> for $id
        where
            Self: FromSql<ST, DB>,
        {
            type Row = Self;

            fn build(row: Self) -> deserialize::Result<Self> {
                Ok(row)
            }
        }
    )+};
    (@expression $id:ident, $sql:ty, $plain:ty, $write:expr, [$($self:ty),+]) => {$(
        columns!(@one $id, $sql, $plain, $write, $self);
        columns!(@one $id, Nullable<$sql>, $plain, $write, $self);
    )+};
    (@one $id:ident, $sql:ty, $plain:ty, $write:expr, $self:ty) => {
        impl AsExpression<$sql> for $self {
            type Expression = <$plain as AsExpression<$sql>>::Expression;

            fn as_expression(self) -> Self::Expression {
                let write: fn(&$id) -> $plain = $write;
                AsExpression::<$sql>::as_expression(write(&self))
            }
        }
    };
}

type SqlUuid = diesel::sql_types::Uuid;

columns! {
    Id {
        BigInt as i64, |id| (*id).into(), |number| Ok(Self::try_from(number)?);
    }
    WideId {
        Binary as Vec<u8>, |id| id.to_bytes().into(), |bytes| Ok(Self::try_from(bytes.as_slice())?);
        Text as String, ToString::to_string, |text| Ok(text.parse()?);
    }
    Uuid {
        SqlUuid as ::uuid::Uuid, |id| (*id).into(), |id| Ok(id.into());
        Binary as Vec<u8>, |id| id.to_bytes().into(), |bytes| Ok(Self::try_from(bytes.as_slice())?);
        Text as String, ToString::to_string, |text| Ok(text.parse()?);
    }
    Ulid {
        SqlUuid as ::uuid::Uuid, |id| (*id).into(), |id| Ok(id.into());
        Binary as Vec<u8>, |id| id.to_bytes().into(), |bytes| Ok(Self::try_from(bytes.as_slice())?);
        Text as String, ToString::to_string, |text| Ok(text.parse()?);
    }
    ObjectId {
        Binary as Vec<u8>, |id| id.to_bytes().into(), |bytes| Ok(Self::try_from(bytes.as_slice())?);
        Text as String, ToString::to_string, |text| Ok(text.parse()?);
    }
    Ksuid {
        Binary as Vec<u8>, |id| id.to_bytes().into(), |bytes| Ok(Self::try_from(bytes.as_slice())?);
        Text as String, ToString::to_string, |text| Ok(text.parse()?);
    }
    NanoId {
        Text as String, ToString::to_string, |text| Ok(text.parse()?);
    }
}

impl<DB: Backend> ToSql<BigInt, DB> for Id
where
    i64: ToSql<BigInt, DB>,
{
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, DB>) -> serialize::Result {
        self.as_i64().to_sql(out)
    }
}

impl<DB: Backend> ToSql<Text, DB> for NanoId
where
    str: ToSql<Text, DB>,
{
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, DB>) -> serialize::Result {
        self.as_str().to_sql(out)
    }
}

/// What is written from a value that the statement does not keep, which takes a backend that copies it.
macro_rules! copied {
    ($([$($id:ident)+] in $sql:ty as $plain:ty, $write:expr;)+) => {$($(
        impl<DB: Backend> ToSql<$sql, DB> for $id
        where
            for<'c> DB: Backend<BindCollector<'c> = RawBytesBindCollector<DB>>,
            $plain: ToSql<$sql, DB>,
        {
            fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, DB>) -> serialize::Result {
                let write: fn(&Self) -> $plain = $write;
                <$plain as ToSql<$sql, DB>>::to_sql(&write(self), &mut out.reborrow())
            }
        }
    )+)+};
}

copied! {
    [Uuid Ulid] in SqlUuid as ::uuid::Uuid, |id| (*id).into();
    [WideId Uuid Ulid ObjectId Ksuid] in Binary as Vec<u8>, |id| id.to_bytes().into();
    [WideId Uuid Ulid ObjectId Ksuid] in Text as String, ToString::to_string;
}

/// For [`id!`](crate::id): as the type inside.
#[doc(hidden)]
#[macro_export]
macro_rules! __id_diesel {
    ($name:ident, $inner:ty, $diesel:ident) => {
        $crate::__id_diesel!(@expression $name, $inner, $diesel, [$name, &$name, &&$name]);

        impl<ST, DB: $crate::__private::$diesel::backend::Backend> $crate::__private::$diesel::serialize::ToSql<ST, DB>
            for $name
        where
            $inner: $crate::__private::$diesel::serialize::ToSql<ST, DB>,
        {
            fn to_sql<'b>(
                &'b self,
                out: &mut $crate::__private::$diesel::serialize::Output<'b, '_, DB>,
            ) -> $crate::__private::$diesel::serialize::Result {
                <$inner as $crate::__private::$diesel::serialize::ToSql<ST, DB>>::to_sql(&self.0, out)
            }
        }

        impl<ST, DB: $crate::__private::$diesel::backend::Backend>
            $crate::__private::$diesel::deserialize::FromSql<ST, DB> for $name
        where
            $inner: $crate::__private::$diesel::deserialize::FromSql<ST, DB>,
        {
            fn from_sql(
                column: DB::RawValue<'_>,
            ) -> $crate::__private::$diesel::deserialize::Result<Self> {
                <$inner as $crate::__private::$diesel::deserialize::FromSql<ST, DB>>::from_sql(column).map(Self)
            }
        }

        impl<
            ST: $crate::__private::$diesel::sql_types::SingleValue,
            DB: $crate::__private::$diesel::backend::Backend,
        > $crate::__private::$diesel::deserialize::Queryable<ST, DB> for $name
        where
            Self: $crate::__private::$diesel::deserialize::FromSql<ST, DB>,
        {
            type Row = Self;

            fn build(row: Self) -> $crate::__private::$diesel::deserialize::Result<Self> {
                ::core::result::Result::Ok(row)
            }
        }
    };
    (@expression $name:ident, $inner:ty, $diesel:ident, [$($self:ty),+]) => {$(
        impl<ST> $crate::__private::$diesel::expression::AsExpression<ST> for $self
        where
            ST: $crate::__private::$diesel::sql_types::SqlType
                + $crate::__private::$diesel::expression::TypedExpressionType,
            $inner: $crate::__private::$diesel::expression::AsExpression<ST>,
        {
            type Expression = <$inner as $crate::__private::$diesel::expression::AsExpression<ST>>::Expression;

            fn as_expression(self) -> Self::Expression {
                $crate::__private::$diesel::expression::AsExpression::<ST>::as_expression(self.0)
            }
        }
    )+};
}
