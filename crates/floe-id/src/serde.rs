//! How serde reads and writes IDs, times, layouts and forms.
//!
//! | type | in formats for people (JSON, TOML, …) | in binary formats (postcard, bincode, …) |
//! |---|---|---|
//! | [`Id`] | text: `"1212092628029698048"` | an unsigned number |
//! | [`WideId`] | text | 16 bytes, the highest first |
//! | [`UnixMillis`] | text in RFC 3339 | a number: milliseconds since 1970 |
//! | [`Layout`], [`Form`] | their text | their text |
//! | the [kinds](crate::kind) | their text | their bytes; a `NanoId` its text |
//!
//! IDs are text because JavaScript, and many other readers of JSON, keep only 53 bits of a number: they would read
//! another ID, without an error. IDs and times are also read from whole numbers. A negative number, a number with a
//! fraction or an exponent, and a number past the largest one are errors. IDs can be keys of maps. [`number`] writes
//! them as numbers.
//!
//! ```
//! use floe_id::{Id, WideId};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Order {
//!     id: Id,
//!     #[serde(with = "floe_id::serde::number")]
//!     customer: Id,
//! }
//!
//! let order: Order = serde_json::from_str(r#"{"id":"1212092628029698048","customer":7}"#)?;
//! assert_eq!(serde_json::to_string(&order)?, r#"{"id":"1212092628029698048","customer":7}"#);
//! # Ok::<(), serde_json::Error>(())
//! ```

use alloc::{format, vec::Vec};
use core::fmt;
use core::marker::PhantomData;
use core::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::form::{Form, FormDefinitionError};
use crate::{Id, IdError, Layout, LayoutError, TimeError, UnixMillis, WideId};

/// Writes IDs and times as numbers, in JSON too, by `#[serde(with = "floe::serde::number")]`.
///
/// It works with [`Id`], [`WideId`], [`UnixMillis`], the types that [`id!`](crate::id) makes of an `Id`, and `Option`
/// and `Vec` of these. `Id` and `UnixMillis` are also read from text. A `WideId` is read only from a number, which
/// needs a format with numbers of 128 bits; serde_json writes and reads all its digits.
///
/// Use it if all readers keep 64 bits of a number: JavaScript's `JSON.parse` changes numbers past 2^53. A layout of 53
/// bits, such as `javascript`, makes IDs that fit. A schema must then say so: `#[schemars(with = "u64")]`,
/// `#[schema(value_type = u64)]`.
///
/// ```
/// use floe_id::{Id, WideId};
///
/// #[derive(serde::Serialize)]
/// struct Order {
///     #[serde(with = "floe_id::serde::number")]
///     id: Id,
///     #[serde(with = "floe_id::serde::number")]
///     parent: Option<WideId>,
/// }
///
/// let order = Order { id: Id::MAX, parent: Some(WideId::new(1 << 72)) };
/// let json = serde_json::to_string(&order)?;
/// assert_eq!(json, r#"{"id":9223372036854775807,"parent":4722366482869645213696}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub mod number {
    use serde::{Deserializer, Serializer};

    use super::Number;

    /// Writes the number. [`number`](self) has an example.
    ///
    /// # Errors
    /// Those of the format.
    pub fn serialize<T: Number, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
        value.to_number(serializer)
    }

    /// Reads the number. [`number`](self) has an example.
    ///
    /// # Errors
    /// Those of the format; an error for a number that the type cannot hold.
    pub fn deserialize<'de, T: Number, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
        T::from_number(deserializer)
    }
}

/// A type that [`number`] can write and read.
pub trait Number: Sized {
    /// Writes the number. [`number`] has an example.
    ///
    /// # Errors
    /// Those of the format.
    fn to_number<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    /// Reads the number. [`number`] has an example.
    ///
    /// # Errors
    /// Those of the format; an error for a number that the type cannot hold.
    fn from_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

/// A type that is read from text and whole numbers.
trait Numeric: FromStr<Err: fmt::Display> {
    const EXPECTED: &'static str;

    fn from_unsigned(number: u128) -> Result<Self, impl fmt::Display>;

    fn from_negative(number: i64) -> Result<Self, impl fmt::Display>;

    fn from_bytes(bytes: &[u8]) -> Option<Result<Self, impl fmt::Display>> {
        let _ = bytes;
        None::<Result<Self, &str>>
    }
}

impl Numeric for Id {
    const EXPECTED: &'static str =
        "an ID: text in decimal digits, or a whole number from 0 to 9223372036854775807";

    fn from_unsigned(number: u128) -> Result<Self, impl fmt::Display> {
        Self::try_from(number)
    }

    fn from_negative(number: i64) -> Result<Self, impl fmt::Display> {
        Self::try_from(number)
    }
}

impl Numeric for WideId {
    const EXPECTED: &'static str =
        "an ID of up to 128 bits: text in decimal digits, a whole number, or 16 bytes";

    fn from_unsigned(number: u128) -> Result<Self, impl fmt::Display> {
        Ok::<_, IdError>(Self::new(number))
    }

    fn from_negative(number: i64) -> Result<Self, impl fmt::Display> {
        Err(IdError::Negative(number))
    }

    fn from_bytes(bytes: &[u8]) -> Option<Result<Self, impl fmt::Display>> {
        Some(Self::try_from(bytes))
    }
}

impl Numeric for UnixMillis {
    const EXPECTED: &'static str =
        "a time: text in RFC 3339, or a whole number of milliseconds since 1970, up to 9223372036854775807";

    fn from_unsigned(number: u128) -> Result<Self, impl fmt::Display> {
        match i64::try_from(number) {
            Ok(millis) => Ok(Self::new(millis)),
            Err(_) => Err(TimeError::Range { time: format!("{number} ms since 1970"), of: "UnixMillis" }),
        }
    }

    fn from_negative(number: i64) -> Result<Self, impl fmt::Display> {
        Ok::<_, TimeError>(Self::new(number))
    }
}

/// Reads a number from whatever the format has.
struct Any<T>(PhantomData<T>);

impl<T: Numeric> Any<T> {
    const NEW: Self = Self(PhantomData);
}

impl<'de, T: Numeric> Visitor<'de> for Any<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.visit_u128(number.into())
    }

    fn visit_u128<E: Error>(self, number: u128) -> Result<T, E> {
        T::from_unsigned(number).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit_i128(number.into())
    }

    fn visit_i128<E: Error>(self, number: i128) -> Result<T, E> {
        match (u128::try_from(number), i64::try_from(number)) {
            (Ok(number), _) => self.visit_u128(number),
            (_, Ok(negative)) => T::from_negative(negative).map_err(E::custom),
            _ => Err(E::custom(format_args!("{number} is not {}", T::EXPECTED))),
        }
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        Err(E::custom(format_args!(
            "{number} was read as a floating-point number, which loses digits of large numbers: write it as text, or as a whole \
             number of at most 64 bits"
        )))
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<T, E> {
        match T::from_bytes(bytes) {
            Some(read) => read.map_err(E::custom),
            None => Err(E::invalid_type(serde::de::Unexpected::Bytes(bytes), &self)),
        }
    }

    /// Bytes, where the format has no other way to say them. One more than there may be is enough to refuse the rest.
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<T, A::Error> {
        let mut bytes = [0; 17];
        let mut length = 0;
        for place in &mut bytes {
            match seq.next_element()? {
                Some(byte) => *place = byte,
                None => break,
            }
            length += 1;
        }
        self.visit_bytes(bytes.get(..length).unwrap_or_default())
    }
}

/// Whether the format is for people says what is written: the text, or what the first says.
macro_rules! text_or_number {
    ($($type:ident, $write:expr, $read:ident;)+) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match serializer.is_human_readable() {
                    true => serializer.collect_str(self),
                    false => {
                        let write: fn(&Self, S) -> Result<S::Ok, S::Error> = $write;
                        write(self, serializer)
                    }
                }
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                match deserializer.is_human_readable() {
                    true => deserializer.deserialize_any(Any::NEW),
                    false => deserializer.$read(Any::NEW),
                }
            }
        }
    )+};
}

text_or_number! {
    Id, |id, serializer| serializer.serialize_u64(id.get()), deserialize_u64;
    WideId, |id, serializer| serializer.serialize_bytes(&id.to_bytes()), deserialize_bytes;
    UnixMillis, |time, serializer| serializer.serialize_i64(time.get()), deserialize_i64;
}

impl Number for Id {
    fn to_number<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.get())
    }

    fn from_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl Number for WideId {
    fn to_number<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u128(self.get())
    }

    fn from_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Of what it is not told to be a number of 128 bits, serde_json keeps a float.
        deserializer.deserialize_u128(Any::NEW)
    }
}

impl Number for UnixMillis {
    fn to_number<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.get())
    }

    fn from_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

/// A value that is inside another one.
struct Inner<T>(T);

impl<T: Number> Serialize for Inner<&T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.to_number(serializer)
    }
}

impl<'de, T: Number> Deserialize<'de> for Inner<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::from_number(deserializer).map(Self)
    }
}

impl<T: Number> Number for Option<T> {
    fn to_number<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_ref().map(Inner).serialize(serializer)
    }

    fn from_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Option::<Inner<T>>::deserialize(deserializer)?.map(|Inner(value)| value))
    }
}

impl<T: Number> Number for Vec<T> {
    fn to_number<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(Inner))
    }

    fn from_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Vec::<Inner<T>>::deserialize(deserializer)?;
        Ok(read.into_iter().map(|Inner(value)| value).collect())
    }
}

/// The text, in every format.
macro_rules! text {
    ($($type:ident, $error:ident, $expected:literal;)+) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;

                impl Visitor<'_> for Text {
                    type Value = $type;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expected)
                    }

                    fn visit_str<E: Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(|error: $error| E::custom(error))
                    }
                }

                deserializer.deserialize_str(Text)
            }
        }
    )+};
}

text! {
    Layout, LayoutError, "a layout, such as \"time:41 worker:10 sequence:12 tick=1ms epoch=2020-01-01T00:00:00Z\", or a preset's name";
    Form, FormDefinitionError, "a form, such as \"base62 width=11\"";
}

/// For [`id!`](crate::id): as the type inside.
#[doc(hidden)]
#[macro_export]
macro_rules! __id_serde {
    ($name:ident, $inner:ty, $serde:ident) => {
        impl $crate::__private::$serde::Serialize for $name {
            fn serialize<S: $crate::__private::$serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::core::result::Result<S::Ok, S::Error> {
                $crate::__private::$serde::Serialize::serialize(&self.0, serializer)
            }
        }

        impl<'de> $crate::__private::$serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::__private::$serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<Self, D::Error> {
                $crate::__private::$serde::Deserialize::deserialize(deserializer).map(Self)
            }
        }
    };
}

/// For those whose number [`number`] writes.
#[doc(hidden)]
#[macro_export]
macro_rules! __id_number {
    ($name:ident, $inner:ty, $serde:ident) => {
        impl $crate::serde::Number for $name {
            fn to_number<S: $crate::__private::$serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::core::result::Result<S::Ok, S::Error> {
                $crate::serde::Number::to_number(&self.0, serializer)
            }

            fn from_number<'de, D: $crate::__private::$serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<Self, D::Error> {
                $crate::serde::Number::from_number(deserializer).map(Self)
            }
        }
    };
}
