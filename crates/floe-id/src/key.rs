//! A separate type for the IDs of each table.

/// Makes a type for the IDs of one table, so that the compiler rejects an ID of another table.
///
/// `struct OrderId;` contains an [`Id`](crate::Id); `struct EventId(Ulid);` contains another kind. The type has:
/// - `Copy`, order, hash, `Display` and `FromStr`, all as the contained type.
/// - `new`, `id`, and `From` and `Into` of the contained type.
/// - If it contains an `Id`, also `get`, `TryFrom<u64>`, `TryFrom<i64>`, and `Into` for `u64`, `i64` and `u128`.
/// - The serde, columns and schemas of the contained type, by floe's features `serde`, `schemars`, `utoipa`,
///   `postgres-types`, `diesel`, `sea-orm`, `sqlx-0_8` and `sqlx-0_9`. Your own crate needs no such features.
///
/// ```
/// # use floe_id as floe;
/// use floe::{Id, kind::Ulid};
///
/// floe::id! {
///     /// The key of the table `orders`.
///     pub struct OrderId;
///     pub struct EventId(Ulid);
/// }
///
/// let order: OrderId = "1212092628029698048".parse()?;
/// assert_eq!((order.get(), order.to_string().as_str()), (1_212_092_628_029_698_048, "1212092628029698048"));
/// assert_eq!(OrderId::from(order.id()), order);
/// assert_eq!(format!("{order:?}"), "OrderId(1212092628029698048)");
///
/// let event: EventId = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse()?;
/// assert_eq!(event.id().time().to_string(), "2016-07-30T23:54:10.259Z");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// An ID of another table does not compile, neither as an argument nor in a comparison:
///
/// ```compile_fail,E0308
/// # use floe_id as floe;
/// floe::id! { pub struct OrderId; pub struct UserId; }
/// fn cancel(order: OrderId) {}
/// cancel(UserId::new(floe::Id::MAX));
/// ```
///
/// ```compile_fail,E0308
/// # use floe_id as floe;
/// floe::id! { pub struct OrderId; pub struct UserId; }
/// assert!(OrderId::new(floe::Id::MAX) == UserId::new(floe::Id::MAX));
/// ```
///
/// It has no `Default`, for the reason that [`Id`](crate::Id) gives.
#[macro_export]
macro_rules! id {
    () => {};
    ($(#[$meta:meta])* $visibility:vis struct $name:ident; $($rest:tt)*) => {
        $crate::id!(@type [$(#[$meta])*] $visibility $name, $crate::Id);

        impl $name {
            /// The number.
            #[inline]
            pub const fn get(self) -> u64 {
                self.0.get()
            }
        }

        $crate::id!(@numbers $name, u64 i64 u128);
        $crate::__private::id_number!($name, $crate::Id, serde_1);
        $crate::id! { $($rest)* }
    };
    ($(#[$meta:meta])* $visibility:vis struct $name:ident($inner:ty); $($rest:tt)*) => {
        $crate::id!(@type [$(#[$meta])*] $visibility $name, $inner);
        $crate::id! { $($rest)* }
    };
    (@numbers $name:ident, $($number:ident)+) => {$(
        impl ::core::convert::From<$name> for $number {
            #[inline]
            fn from(id: $name) -> Self {
                id.0.into()
            }
        }

        impl ::core::convert::TryFrom<$number> for $name {
            type Error = $crate::IdError;

            fn try_from(number: $number) -> ::core::result::Result<Self, $crate::IdError> {
                <$crate::Id as ::core::convert::TryFrom<$number>>::try_from(number).map(Self)
            }
        }
    )+};
    (@type [$($meta:tt)*] $visibility:vis $name:ident, $inner:ty) => {
        $($meta)*
        #[derive(
            ::core::clone::Clone,
            ::core::marker::Copy,
            ::core::cmp::PartialEq,
            ::core::cmp::Eq,
            ::core::cmp::PartialOrd,
            ::core::cmp::Ord,
            ::core::hash::Hash,
        )]
        $visibility struct $name($inner);

        impl $name {
            /// Makes an ID of this table.
            #[inline]
            pub const fn new(id: $inner) -> Self {
                Self(id)
            }

            /// Returns the contained ID.
            #[inline]
            pub const fn id(self) -> $inner {
                self.0
            }
        }

        impl ::core::convert::From<$inner> for $name {
            #[inline]
            fn from(id: $inner) -> Self {
                Self(id)
            }
        }

        impl ::core::convert::From<$name> for $inner {
            #[inline]
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl ::core::fmt::Display for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Display::fmt(&self.0, f)
            }
        }

        impl ::core::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.debug_tuple(::core::stringify!($name)).field(&self.0).finish()
            }
        }

        impl ::core::str::FromStr for $name {
            type Err = <$inner as ::core::str::FromStr>::Err;

            fn from_str(text: &str) -> ::core::result::Result<Self, Self::Err> {
                text.parse().map(Self)
            }
        }

        $crate::__private::id_serde!($name, $inner, serde_1);
        $crate::__private::id_schemars!($name, $inner);
        $crate::__private::id_utoipa!($name, $inner);
        $crate::__private::id_postgres_types!($name, $inner, postgres_types_0_2);
        $crate::__private::id_sqlx_0_8!($name, $inner, sqlx_core_0_8, DB::ArgumentBuffer<'q>);
        $crate::__private::id_sqlx_0_8_postgres!($name, $inner, sqlx_postgres_0_8);
        $crate::__private::id_sqlx_0_9!($name, $inner, sqlx_core_0_9, DB::ArgumentBuffer);
        $crate::__private::id_sqlx_0_9_postgres!($name, $inner, sqlx_postgres_0_9);
        $crate::__private::id_diesel!($name, $inner, diesel_2);
        $crate::__private::id_sea_orm!($name, $inner, sea_orm_2);
    };
}

/// What a feature adds that is off.
#[doc(hidden)]
#[macro_export]
macro_rules! __id_nothing {
    ($($any:tt)*) => {};
}

/// What [`id!`](crate::id) expands to in a program: the crates that floe's own features brought, whatever the program
/// depends on.
#[doc(hidden)]
pub mod private {
    pub use alloc::{borrow::Cow, boxed::Box, string::String};

    pub use crate::kind::{Ksuid, NanoId, ObjectId, Ulid, Uuid};
    #[cfg(feature = "schemars")]
    pub use crate::schema::json_schema;
    #[cfg(feature = "utoipa")]
    pub use crate::schema::openapi_schema;
    #[cfg(any(feature = "schemars", feature = "utoipa"))]
    pub use crate::schema::{InJson, Text};
    pub use crate::{Id, WideId};

    /// Each library behind its feature, with the macros that use it, which do nothing without it.
    macro_rules! libraries {
        ($($feature:literal: $($library:ident)::+ as $name:ident, $($macro:ident as $public:ident),+;)+) => {$(
            #[cfg(feature = $feature)]
            pub use ::$($library)::+ as $name;
            $(
                #[cfg(feature = $feature)]
                pub use crate::$macro as $public;
                #[cfg(not(feature = $feature))]
                pub use crate::__id_nothing as $public;
            )+
        )+};
    }

    libraries! {
        "serde": serde as serde_1, __id_serde as id_serde, __id_number as id_number;
        "schemars": schemars as schemars_1, __id_schemars as id_schemars;
        "utoipa": utoipa as utoipa_6, __id_utoipa as id_utoipa;
        "postgres-types": postgres_types as postgres_types_0_2, __id_postgres_types as id_postgres_types;
        "sqlx-0_8": sqlx_core_0_8 as sqlx_core_0_8, __id_sqlx as id_sqlx_0_8;
        "sqlx-0_8-postgres": sqlx_postgres_0_8 as sqlx_postgres_0_8, __id_sqlx_arrays as id_sqlx_0_8_postgres;
        "sqlx-0_9": sqlx_core_0_9 as sqlx_core_0_9, __id_sqlx as id_sqlx_0_9;
        "sqlx-0_9-postgres": sqlx_postgres_0_9 as sqlx_postgres_0_9, __id_sqlx_arrays as id_sqlx_0_9_postgres;
        "diesel": diesel as diesel_2, __id_diesel as id_diesel;
        "sea-orm": sea_orm as sea_orm_2, __id_sea_orm as id_sea_orm;
    }
}
