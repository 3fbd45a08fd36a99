//! Columns for SeaORM 2: an ID is the value of a number, a text or bytes.

use alloc::{
    string::{String, ToString},
    sync::Arc,
    vec::Vec,
};

use sea_orm::sea_query::{ArrayType, ColumnType, Nullable, StringLen, ValueType, ValueTypeErr};
use sea_orm::{
    ActiveValue, ColIdx, DbErr, IntoActiveValue, QueryResult, TryFromU64, TryGetError, TryGetable, Value,
};

use crate::kind::{Ksuid, NanoId, ObjectId, Ulid, Uuid};
use crate::{Id, WideId};

/// `$id` is written as the plain value, and read from it.
macro_rules! columns {
    ($($id:ident as $plain:ty, $column:expr, $write:expr, $read:expr;)+) => {$(
        impl From<$id> for Value {
            fn from(id: $id) -> Self {
                let write: fn($id) -> $plain = $write;
                write(id).into()
            }
        }

        impl TryGetable for $id {
            fn try_get_by<I: ColIdx>(row: &QueryResult, at: I) -> Result<Self, TryGetError> {
                let read: fn($plain) -> Result<Self, _> = $read;
                read(<$plain as TryGetable>::try_get_by(row, at)?).map_err(|error| {
                    TryGetError::DbErr(DbErr::TryIntoErr {
                        from: stringify!($plain),
                        into: stringify!($id),
                        source: Arc::new(error),
                    })
                })
            }
        }

        impl ValueType for $id {
            fn try_from(value: Value) -> Result<Self, ValueTypeErr> {
                let read: fn($plain) -> Result<Self, _> = $read;
                read(<$plain as ValueType>::try_from(value)?).map_err(|_| ValueTypeErr)
            }

            fn type_name() -> String {
                stringify!($id).to_string()
            }

            fn array_type() -> ArrayType {
                <$plain as ValueType>::array_type()
            }

            fn column_type() -> ColumnType {
                $column
            }
        }

        impl Nullable for $id {
            fn null() -> Value {
                <$plain as Nullable>::null()
            }
        }

        impl IntoActiveValue<$id> for $id {
            fn into_active_value(self) -> ActiveValue<$id> {
                ActiveValue::Set(self)
            }
        }
    )+};
}

columns! {
    Id as i64, ColumnType::BigInteger, |id| id.into(), |number| <Self as TryFrom<i64>>::try_from(number);
    WideId as Vec<u8>, ColumnType::Binary(16), |id| id.to_bytes().into(),
        |bytes| <Self as TryFrom<&[u8]>>::try_from(&bytes);
    Uuid as String, text(36), |id| id.to_string(), |text| text.parse();
    Ulid as String, text(26), |id| id.to_string(), |text| text.parse();
    ObjectId as String, text(24), |id| id.to_string(), |text| text.parse();
    Ksuid as String, text(27), |id| id.to_string(), |text| text.parse();
    NanoId as String, text(63), |id| id.to_string(), |text| text.parse();
}

const fn text(characters: u32) -> ColumnType {
    ColumnType::String(StringLen::N(characters))
}

/// What a database numbers itself, as SeaORM asks of every key.
impl TryFromU64 for Id {
    fn try_from_u64(number: u64) -> Result<Self, DbErr> {
        Self::new(number).ok_or(DbErr::ConvertFromU64("Id"))
    }
}

macro_rules! not_numbered {
    ($($id:ident)+) => {$(
        impl TryFromU64 for $id {
            fn try_from_u64(_: u64) -> Result<Self, DbErr> {
                Err(DbErr::ConvertFromU64(stringify!($id)))
            }
        }
    )+};
}

not_numbered!(WideId Uuid Ulid ObjectId Ksuid NanoId);

/// For [`id!`](crate::id): as the type inside.
#[doc(hidden)]
#[macro_export]
macro_rules! __id_sea_orm {
    ($name:ident, $inner:ty, $sea_orm:ident) => {
        impl ::core::convert::From<$name> for $crate::__private::$sea_orm::Value {
            fn from(id: $name) -> Self {
                id.0.into()
            }
        }

        impl $crate::__private::$sea_orm::TryGetable for $name {
            fn try_get_by<I: $crate::__private::$sea_orm::ColIdx>(
                row: &$crate::__private::$sea_orm::QueryResult,
                at: I,
            ) -> ::core::result::Result<Self, $crate::__private::$sea_orm::TryGetError> {
                <$inner as $crate::__private::$sea_orm::TryGetable>::try_get_by(row, at).map(Self)
            }
        }

        impl $crate::__private::$sea_orm::sea_query::ValueType for $name {
            fn try_from(
                value: $crate::__private::$sea_orm::Value,
            ) -> ::core::result::Result<Self, $crate::__private::$sea_orm::sea_query::ValueTypeErr> {
                <$inner as $crate::__private::$sea_orm::sea_query::ValueType>::try_from(value).map(Self)
            }

            fn type_name() -> $crate::__private::String {
                ::core::stringify!($name).into()
            }

            fn array_type() -> $crate::__private::$sea_orm::sea_query::ArrayType {
                <$inner as $crate::__private::$sea_orm::sea_query::ValueType>::array_type()
            }

            fn column_type() -> $crate::__private::$sea_orm::sea_query::ColumnType {
                <$inner as $crate::__private::$sea_orm::sea_query::ValueType>::column_type()
            }
        }

        impl $crate::__private::$sea_orm::sea_query::Nullable for $name {
            fn null() -> $crate::__private::$sea_orm::Value {
                <$inner as $crate::__private::$sea_orm::sea_query::Nullable>::null()
            }
        }

        impl $crate::__private::$sea_orm::IntoActiveValue<$name> for $name {
            fn into_active_value(self) -> $crate::__private::$sea_orm::ActiveValue<$name> {
                $crate::__private::$sea_orm::ActiveValue::Set(self)
            }
        }

        impl $crate::__private::$sea_orm::TryFromU64 for $name {
            fn try_from_u64(number: u64) -> ::core::result::Result<Self, $crate::__private::$sea_orm::DbErr> {
                <$inner as $crate::__private::$sea_orm::TryFromU64>::try_from_u64(number).map(Self)
            }
        }
    };
}
