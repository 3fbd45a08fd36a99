//! Columns for sqlx 0.8, of any database whose driver has the types that stand behind the kinds.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use sqlx_core::database::Database;
use sqlx_core::decode::Decode;
use sqlx_core::encode::{Encode, IsNull};
use sqlx_core::error::BoxDynError;
use sqlx_core::types::Type;
use sqlx_core::value::ValueRef;

use crate::Id;
use crate::kind::{Ksuid, NanoId, ObjectId, Ulid, Uuid};

/// `$id` is written as `$written`, and read from the first of the others that the column may be.
macro_rules! columns {
    ($($id:ident is $written:ty, $write:expr, from $($read:ty, $convert:expr),+;)+) => {$(
        impl<DB: Database> Type<DB> for $id
        where
            $written: Type<DB>,
            $($read: Type<DB>,)+
        {
            fn type_info() -> DB::TypeInfo {
                <$written as Type<DB>>::type_info()
            }

            fn compatible(column: &DB::TypeInfo) -> bool {
                $(<$read as Type<DB>>::compatible(column))||+
            }
        }

        impl<'q, DB: Database> Encode<'q, DB> for $id
        where
            $written: Encode<'q, DB>,
        {
            fn encode_by_ref(&self, buffer: &mut DB::ArgumentBuffer<'q>) -> Result<IsNull, BoxDynError> {
                let write: fn(&Self) -> $written = $write;
                <$written as Encode<'q, DB>>::encode(write(self), buffer)
            }
        }

        impl<'r, DB: Database> Decode<'r, DB> for $id
        where
            $($read: Type<DB> + Decode<'r, DB>,)+
        {
            fn decode(value: DB::ValueRef<'r>) -> Result<Self, BoxDynError> {
                let column = value.type_info().into_owned();
                $(if <$read as Type<DB>>::compatible(&column) {
                    let convert: fn($read) -> Result<Self, BoxDynError> = $convert;
                    return convert(<$read as Decode<'r, DB>>::decode(value)?);
                })+
                Err(format!("a column of {column} holds no {}", stringify!($id)).into())
            }
        }
    )+};
}

columns! {
    Uuid is ::uuid::Uuid, |id| (*id).into(),
        from ::uuid::Uuid, |id| Ok(id.into()), String, |text| Ok(text.parse()?);
    Ulid is ::uuid::Uuid, |id| (*id).into(),
        from ::uuid::Uuid, |id| Ok(id.into()), String, |text| Ok(text.parse()?);
    ObjectId is String, ToString::to_string,
        from String, |text| Ok(text.parse()?), Vec<u8>, |bytes| Ok(Self::try_from(bytes.as_slice())?);
    Ksuid is String, ToString::to_string,
        from String, |text| Ok(text.parse()?), Vec<u8>, |bytes| Ok(Self::try_from(bytes.as_slice())?);
    NanoId is String, ToString::to_string, from String, |text| Ok(text.parse()?);
    Id is i64, |id| (*id).into(), from i64, |number| Ok(Self::try_from(number)?);
}
