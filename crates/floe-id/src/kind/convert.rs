//! What every kind of a fixed length can be made from and into, written once.

/// For a kind with `to_bytes`, `from_bytes`, `encode` and `read`: `Display`, `Debug`, `FromStr`, bytes, and serde.
macro_rules! conversions {
    ($kind:ident, $bytes:literal, $characters:literal) => {
        impl core::fmt::Display for $kind {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.encode(&mut [0; $characters]))
            }
        }

        impl core::fmt::Debug for $kind {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Display::fmt(self, f)
            }
        }

        impl core::str::FromStr for $kind {
            type Err = $crate::kind::ReadError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::read(text)
            }
        }

        impl From<$kind> for [u8; $bytes] {
            fn from(id: $kind) -> Self {
                id.to_bytes()
            }
        }

        impl From<[u8; $bytes]> for $kind {
            fn from(bytes: [u8; $bytes]) -> Self {
                Self::from_bytes(bytes)
            }
        }

        impl TryFrom<&[u8]> for $kind {
            type Error = $crate::kind::ReadError;

            fn try_from(bytes: &[u8]) -> Result<Self, Self::Error> {
                RULE.bytes(bytes).map(Self::from_bytes)
            }
        }

        /// Text where the format is for people, bytes where it is not.
        #[cfg(feature = "serde")]
        impl serde::Serialize for $kind {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match serializer.is_human_readable() {
                    true => serializer.serialize_str(self.encode(&mut [0; $characters])),
                    false => serializer.serialize_bytes(&self.to_bytes()),
                }
            }
        }

        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $kind {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;

                impl<'de> serde::de::Visitor<'de> for Visitor {
                    type Value = $kind;

                    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                        f.write_str(RULE.text)
                    }

                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$kind, E> {
                        text.parse().map_err(E::custom)
                    }

                    fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<$kind, E> {
                        $kind::try_from(bytes).map_err(E::custom)
                    }

                    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<$kind, A::Error> {
                        let mut bytes = [0; $bytes];
                        for (at, byte) in bytes.iter_mut().enumerate() {
                            *byte = match seq.next_element()? {
                                Some(byte) => byte,
                                None => return Err(serde::de::Error::invalid_length(at, &self)),
                            };
                        }
                        match seq.next_element::<serde::de::IgnoredAny>()? {
                            None => Ok($kind::from_bytes(bytes)),
                            Some(_) => Err(serde::de::Error::invalid_length($bytes + 1, &self)),
                        }
                    }
                }

                match deserializer.is_human_readable() {
                    true => deserializer.deserialize_str(Visitor),
                    false => deserializer.deserialize_bytes(Visitor),
                }
            }
        }
    };
}

/// For a kind that is a number of 128 bits: its number, its bytes, and the other kind and the crate uuid's type, which are
/// the same bits under another name.
macro_rules! number {
    ($kind:ident, $other:ident) => {
        impl $kind {
            /// From its 16 bytes, in network byte order.
            ///
            /// ```
            #[doc = concat!("use floe_id::kind::", stringify!($kind), ";")]
            #[doc = concat!("let id = ", stringify!($kind), "::from_bytes([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);")]
            /// assert_eq!(id.get(), 0x0102);
            /// ```
            #[inline]
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(u128::from_be_bytes(bytes))
            }

            /// Its 16 bytes, in network byte order.
            #[inline]
            pub const fn to_bytes(self) -> [u8; 16] {
                self.0.to_be_bytes()
            }

            /// From the number of 128 bits.
            ///
            /// ```
            #[doc = concat!("use floe_id::kind::", stringify!($kind), ";")]
            #[doc = concat!("assert_eq!(", stringify!($kind), "::from_u128(0x0102).to_bytes()[14..], [1, 2]);")]
            /// ```
            #[inline]
            pub const fn from_u128(number: u128) -> Self {
                Self(number)
            }

            /// The number of 128 bits.
            #[inline]
            pub const fn get(self) -> u128 {
                self.0
            }
        }

        /// The same 128 bits; of a ULID, they have a UUID's version and variant only by chance.
        impl From<$other> for $kind {
            fn from(id: $other) -> Self {
                Self(id.get())
            }
        }

        #[cfg(feature = "uuid")]
        impl From<$kind> for ::uuid::Uuid {
            fn from(id: $kind) -> Self {
                Self::from_u128(id.0)
            }
        }

        #[cfg(feature = "uuid")]
        impl From<::uuid::Uuid> for $kind {
            fn from(id: ::uuid::Uuid) -> Self {
                Self(id.as_u128())
            }
        }
    };
}

pub(super) use {conversions, number};

/// The text of a buffer that holds ASCII alone.
pub(super) fn ascii(text: &[u8]) -> &str {
    core::str::from_utf8(text).unwrap_or_default()
}
