//! Columns for sqlx, of any database whose driver has the types that stand behind the IDs.

/// `$id` is written as `$written`, and read from the first of the others that the column may be. `$buffer` is where
/// arguments are written, which has a lifetime in sqlx 0.8 alone.
macro_rules! columns {
    ($sqlx:ident, $buffer:ty; $($id:ident is $written:ty, $write:expr, from $($read:ty, $convert:expr),+;)+) => {$(
        impl<DB: $sqlx::database::Database> $sqlx::types::Type<DB> for $id
        where
            $written: $sqlx::types::Type<DB>,
            $($read: $sqlx::types::Type<DB>,)+
        {
            fn type_info() -> DB::TypeInfo {
                <$written as $sqlx::types::Type<DB>>::type_info()
            }

            fn compatible(column: &DB::TypeInfo) -> bool {
                $(<$read as $sqlx::types::Type<DB>>::compatible(column))||+
            }
        }

        impl<'q, DB: $sqlx::database::Database> $sqlx::encode::Encode<'q, DB> for $id
        where
            $written: $sqlx::encode::Encode<'q, DB>,
        {
            fn encode_by_ref(
                &self,
                buffer: &mut $buffer,
            ) -> Result<$sqlx::encode::IsNull, $sqlx::error::BoxDynError> {
                let write: fn(&Self) -> $written = $write;
                <$written as $sqlx::encode::Encode<'q, DB>>::encode(write(self), buffer)
            }
        }

        impl<'r, DB: $sqlx::database::Database> $sqlx::decode::Decode<'r, DB> for $id
        where
            $($read: $sqlx::types::Type<DB> + $sqlx::decode::Decode<'r, DB>,)+
        {
            fn decode(value: DB::ValueRef<'r>) -> Result<Self, $sqlx::error::BoxDynError> {
                use $sqlx::value::ValueRef;

                let column = value.type_info().into_owned();
                $(if <$read as $sqlx::types::Type<DB>>::compatible(&column) {
                    let convert: fn($read) -> Result<Self, $sqlx::error::BoxDynError> = $convert;
                    return convert(<$read as $sqlx::decode::Decode<'r, DB>>::decode(value)?);
                })+
                Err(alloc::format!("a column of {column} holds no {}", stringify!($id)).into())
            }
        }
    )+};
}

/// The types with their columns, for one version.
macro_rules! all {
    ($module:ident, $sqlx:ident, $buffer:ty) => {
        mod $module {
            use alloc::{
                string::{String, ToString},
                vec::Vec,
            };

            use crate::kind::{Ksuid, NanoId, ObjectId, Ulid, Uuid};
            use crate::{Id, WideId};

            columns! {
                $sqlx, $buffer;
                Id is i64, |id| (*id).into(), from i64, |number| Ok(Self::try_from(number)?);
                WideId is Vec<u8>, |id| id.to_bytes().into(),
                    from Vec<u8>, |bytes| Ok(Self::try_from(bytes.as_slice())?), String, |text| Ok(text.parse()?);
                Uuid is ::uuid::Uuid, |id| (*id).into(),
                    from ::uuid::Uuid, |id| Ok(id.into()), String, |text| Ok(text.parse()?);
                Ulid is ::uuid::Uuid, |id| (*id).into(),
                    from ::uuid::Uuid, |id| Ok(id.into()), String, |text| Ok(text.parse()?);
                ObjectId is String, ToString::to_string,
                    from String, |text| Ok(text.parse()?), Vec<u8>, |bytes| Ok(Self::try_from(bytes.as_slice())?);
                Ksuid is String, ToString::to_string,
                    from String, |text| Ok(text.parse()?), Vec<u8>, |bytes| Ok(Self::try_from(bytes.as_slice())?);
                NanoId is String, ToString::to_string, from String, |text| Ok(text.parse()?);
            }
        }
    };
}

#[cfg(feature = "sqlx-0_8")]
all!(version_0_8, sqlx_core_0_8, DB::ArgumentBuffer<'q>);
#[cfg(feature = "sqlx-0_9")]
all!(version_0_9, sqlx_core_0_9, DB::ArgumentBuffer);

/// Arrays of PostgreSQL, whose elements are what is written alone.
#[cfg(any(feature = "sqlx-0_8-postgres", feature = "sqlx-0_9-postgres"))]
macro_rules! arrays {
    ($postgres:ident: $($id:ident of $written:ty),+) => {$(
        impl $postgres::PgHasArrayType for crate::__private::$id {
            fn array_type_info() -> $postgres::PgTypeInfo {
                <$written as $postgres::PgHasArrayType>::array_type_info()
            }

            fn array_compatible(column: &$postgres::PgTypeInfo) -> bool {
                <$written as $postgres::PgHasArrayType>::array_compatible(column)
            }
        }
    )+};
    ($postgres:ident) => {
        arrays! {
            $postgres: Id of i64, WideId of alloc::vec::Vec<u8>, Uuid of ::uuid::Uuid, Ulid of ::uuid::Uuid,
            ObjectId of alloc::string::String, Ksuid of alloc::string::String, NanoId of alloc::string::String
        }
    };
}

#[cfg(feature = "sqlx-0_8-postgres")]
arrays!(sqlx_postgres_0_8);
#[cfg(feature = "sqlx-0_9-postgres")]
arrays!(sqlx_postgres_0_9);

/// For [`id!`](crate::id): as the type inside.
#[doc(hidden)]
#[macro_export]
macro_rules! __id_sqlx {
    ($name:ident, $inner:ty, $sqlx:ident, $buffer:ty) => {
        impl<DB: $crate::__private::$sqlx::database::Database> $crate::__private::$sqlx::types::Type<DB>
            for $name
        where
            $inner: $crate::__private::$sqlx::types::Type<DB>,
        {
            fn type_info() -> DB::TypeInfo {
                <$inner as $crate::__private::$sqlx::types::Type<DB>>::type_info()
            }

            fn compatible(column: &DB::TypeInfo) -> bool {
                <$inner as $crate::__private::$sqlx::types::Type<DB>>::compatible(column)
            }
        }

        impl<'q, DB: $crate::__private::$sqlx::database::Database>
            $crate::__private::$sqlx::encode::Encode<'q, DB> for $name
        where
            $inner: $crate::__private::$sqlx::encode::Encode<'q, DB>,
        {
            fn encode_by_ref(
                &self,
                buffer: &mut $buffer,
            ) -> ::core::result::Result<
                $crate::__private::$sqlx::encode::IsNull,
                $crate::__private::$sqlx::error::BoxDynError,
            > {
                <$inner as $crate::__private::$sqlx::encode::Encode<'q, DB>>::encode_by_ref(&self.0, buffer)
            }
        }

        impl<'r, DB: $crate::__private::$sqlx::database::Database>
            $crate::__private::$sqlx::decode::Decode<'r, DB> for $name
        where
            $inner: $crate::__private::$sqlx::decode::Decode<'r, DB>,
        {
            fn decode(
                value: DB::ValueRef<'r>,
            ) -> ::core::result::Result<Self, $crate::__private::$sqlx::error::BoxDynError> {
                <$inner as $crate::__private::$sqlx::decode::Decode<'r, DB>>::decode(value).map(Self)
            }
        }
    };
}

/// For [`id!`](crate::id): as the type inside.
#[doc(hidden)]
#[macro_export]
macro_rules! __id_sqlx_arrays {
    ($name:ident, $inner:ty, $postgres:ident) => {
        impl $crate::__private::$postgres::PgHasArrayType for $name {
            fn array_type_info() -> $crate::__private::$postgres::PgTypeInfo {
                <$inner as $crate::__private::$postgres::PgHasArrayType>::array_type_info()
            }

            fn array_compatible(column: &$crate::__private::$postgres::PgTypeInfo) -> bool {
                <$inner as $crate::__private::$postgres::PgHasArrayType>::array_compatible(column)
            }
        }
    };
}
