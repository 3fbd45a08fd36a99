//! IDs: the numbers that a layout composes, as types that cannot hold any other number.
//!
//! [`Id`] has at most 63 bits, so it is the same number as a `u64`, an `i64`, a Java `long` and a SQL `BIGINT`.
//! [`WideId`] has up to 128 bits, for the layouts that are [`Width::Wide`](crate::layout::Width::Wide).

use alloc::{
    borrow::ToOwned,
    string::{String, ToString},
};
use core::fmt;
use core::str::FromStr;

/// An ID of at most 63 bits.
///
/// Its text is decimal digits only. There is one text for each ID, so texts can be compared.
///
/// ```
/// use floe_id::Id;
/// let id: Id = "1212092628029698048".parse()?;
/// assert_eq!(id.get(), 1_212_092_628_029_698_048);
/// assert_eq!(i64::from(id).to_string(), id.to_string());
/// assert!("01".parse::<Id>().is_err());
/// assert!(Id::try_from(u64::MAX).is_err());
/// # Ok::<(), floe_id::IdError>(())
/// ```
///
/// `{:x}`, `{:X}` and `{:b}` write its bits. [`id!`](crate::id) makes a separate type for the IDs of each table.
///
/// There is no `Default`, on purpose: 0 is an ID like any other, and a field that was never set would bring it into a
/// database. Use `Option<Id>` for an ID that may be missing.
///
/// ```compile_fail,E0277
/// let _: floe_id::Id = Default::default();
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
// Never negative. The type is signed, since a database's column borrows it so.
pub struct Id(i64);

/// An ID of up to 128 bits, of a layout that is [`Width::Wide`](crate::layout::Width::Wide).
///
/// ```
/// use floe_id::WideId;
/// let id: WideId = "4722366482869645213696".parse()?;
/// assert_eq!(id.get(), 1 << 72);
/// # Ok::<(), floe_id::IdError>(())
/// ```
///
/// There is no `Default`, for the reason that [`Id`] gives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WideId(u128);

/// Why a number or a text is not an ID.
#[derive(Clone, PartialEq, Eq)]
pub enum IdError {
    /// The text is empty.
    Empty,
    /// The text has a character that is not a decimal digit: a sign, a space, a letter, a separator.
    Character {
        /// The character.
        character: char,
        /// Where it begins, in bytes.
        at: usize,
    },
    /// The text has more digits than any ID; this is its length. It is rejected before a digit is read.
    Length(usize),
    /// The number has a leading zero; this is its text without it.
    LeadingZero(String),
    /// The number needs more bits than an ID of this kind has.
    TooLarge {
        /// The number as it was given.
        number: String,
        /// The bits of the requested type: 63 or 128.
        bits: u32,
        /// The largest such ID.
        max: u128,
    },
    /// The count of bytes is not that of a [`WideId`], 16.
    Bytes(usize),
    /// The signed number is below 0: an ID had its sign bit set before.
    Negative(i64),
}

impl fmt::Display for IdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("an ID cannot be empty: write it in decimal digits"),
            Self::Character { character, at } => write!(
                f,
                "{character:?} at byte {at} is not a decimal digit: an ID is written in digits only, without sign, space or separator"
            ),
            Self::Length(bytes) => {
                write!(f, "a text of {bytes} bytes is not an ID: the longest has 39 digits")
            }
            Self::LeadingZero(text) => write!(f, "an ID has no leading zeros: write {text}"),
            Self::TooLarge { number, bits, max } => {
                write!(f, "{number} does not fit an ID of {bits} bits: the largest is {max}")
            }
            Self::Bytes(bytes) => {
                write!(f, "{bytes} bytes are not an ID of 128 bits: it has 16, the highest first")
            }
            Self::Negative(number) => write!(
                f,
                "{number} is negative, and an ID is not: look for a cast or a layout that reached the sign bit"
            ),
        }
    }
}

crate::__error!(IdError);

impl Id {
    /// The largest number of bits of an `Id`.
    pub const BITS: u32 = 63;

    /// The largest `Id`, `2^63 - 1`.
    pub const MAX: Self = Self(i64::MAX);

    /// Makes an ID of a number; `None` if the number has more than 63 bits. `try_from` returns an error instead of
    /// `None`.
    ///
    /// ```
    /// use floe_id::Id;
    /// const FIRST: Id = Id::new(1).unwrap();
    /// assert_eq!(FIRST.get(), 1);
    /// assert_eq!(Id::new(1 << 63), None);
    /// ```
    #[inline]
    pub const fn new(number: u64) -> Option<Self> {
        match number <= Self::MAX.get() {
            true => Some(Self::composed(number)),
            false => None,
        }
    }

    /// Returns the number.
    #[inline]
    pub const fn get(self) -> u64 {
        self.0.cast_unsigned()
    }

    /// The number as a column of a database has it.
    #[cfg(feature = "diesel")]
    pub(crate) const fn as_i64(&self) -> &i64 {
        &self.0
    }

    /// A number that a layout composed, which has at most 63 bits: no layout is wider.
    #[inline(always)]
    pub(crate) const fn composed(number: u64) -> Self {
        Self(number.cast_signed())
    }
}

impl WideId {
    /// The largest number of bits of a `WideId`.
    pub const BITS: u32 = u128::BITS;

    /// The largest `WideId`, `2^128 - 1`.
    pub const MAX: Self = Self(u128::MAX);

    /// Makes an ID of a number. Every number of 128 bits is one.
    ///
    /// ```
    /// use floe_id::WideId;
    /// const FIRST: WideId = WideId::new(1 << 72);
    /// assert_eq!(FIRST.to_string(), "4722366482869645213696");
    /// ```
    #[inline]
    pub const fn new(number: u128) -> Self {
        Self(number)
    }

    /// Returns the number.
    #[inline]
    pub const fn get(self) -> u128 {
        self.0
    }

    /// Makes an ID of its 16 bytes, the highest first.
    ///
    /// ```
    /// use floe_id::WideId;
    /// let id = WideId::new(1 << 72);
    /// assert_eq!(WideId::from_bytes(id.to_bytes()), id);
    /// ```
    #[inline]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(u128::from_be_bytes(bytes))
    }

    /// Returns its 16 bytes, the highest first. Bytes sort as the IDs do.
    #[inline]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }
}

impl TryFrom<&[u8]> for WideId {
    type Error = IdError;

    fn try_from(bytes: &[u8]) -> Result<Self, IdError> {
        bytes.try_into().map(Self::from_bytes).map_err(|_| IdError::Bytes(bytes.len()))
    }
}

/// The numbers that always fit.
macro_rules! from_smaller {
    ($id:ident from $($number:ty),+) => {$(
        impl From<$number> for $id {
            #[inline]
            fn from(number: $number) -> Self {
                Self(number.into())
            }
        }
    )+};
}

from_smaller!(Id from u8, u16, u32);
from_smaller!(WideId from u8, u16, u32, u64);

/// The bits, in these digits.
macro_rules! written_in {
    ($($base:ident),+ of $id:ident) => {$(
        impl fmt::$base for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::$base::fmt(&self.get(), f)
            }
        }
    )+};
}

written_in!(LowerHex, UpperHex, Binary of Id);
written_in!(LowerHex, UpperHex, Binary of WideId);

impl From<Id> for u64 {
    #[inline]
    fn from(id: Id) -> Self {
        id.get()
    }
}

impl From<Id> for i64 {
    #[inline]
    fn from(id: Id) -> Self {
        id.0
    }
}

impl From<Id> for u128 {
    #[inline]
    fn from(id: Id) -> Self {
        Self::from(id.get())
    }
}

impl From<Id> for WideId {
    fn from(id: Id) -> Self {
        Self(id.into())
    }
}

impl TryFrom<u64> for Id {
    type Error = IdError;

    // Inlined, since a segment checks every number.
    #[inline]
    fn try_from(number: u64) -> Result<Self, IdError> {
        #[cold]
        fn refused(number: u64) -> IdError {
            too_large(number.to_string(), Id::BITS)
        }
        Self::new(number).ok_or_else(|| refused(number))
    }
}

impl TryFrom<i64> for Id {
    type Error = IdError;

    fn try_from(number: i64) -> Result<Self, IdError> {
        if number < 0 { Err(IdError::Negative(number)) } else { Ok(Self(number)) }
    }
}

/// For whole numbers in a program's text, which are of this type where nothing else says what they are.
impl TryFrom<i32> for Id {
    type Error = IdError;

    fn try_from(number: i32) -> Result<Self, IdError> {
        Self::try_from(i64::from(number))
    }
}

impl TryFrom<u128> for Id {
    type Error = IdError;

    fn try_from(number: u128) -> Result<Self, IdError> {
        u64::try_from(number).map_err(|_| too_large(number.to_string(), Self::BITS)).and_then(Self::try_from)
    }
}

impl From<WideId> for u128 {
    fn from(id: WideId) -> Self {
        id.0
    }
}

impl From<u128> for WideId {
    fn from(number: u128) -> Self {
        Self(number)
    }
}

impl TryFrom<WideId> for Id {
    type Error = IdError;

    fn try_from(id: WideId) -> Result<Self, IdError> {
        Self::try_from(id.0)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Display for WideId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for WideId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for Id {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        check_decimal(text)?;
        text.parse::<u64>().map_err(|_| too_large(text.to_owned(), Self::BITS)).and_then(Self::try_from)
    }
}

impl FromStr for WideId {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        check_decimal(text)?;
        text.parse().map(Self).map_err(|_| too_large(text.to_owned(), Self::BITS))
    }
}

/// The rules that make one text per number, short of its size.
fn check_decimal(text: &str) -> Result<(), IdError> {
    /// What is longer is not read, and not kept in an error. Twice the digits of 128 bits, so that a number that is a
    /// little too large is told as one.
    const LONGEST: usize = 78;
    if text.len() > LONGEST {
        return Err(IdError::Length(text.len()));
    }
    if let Some((at, character)) = text.char_indices().find(|(_, c)| !c.is_ascii_digit()) {
        return Err(IdError::Character { character, at });
    }
    match text.strip_prefix('0') {
        None if text.is_empty() => Err(IdError::Empty),
        None | Some("") => Ok(()),
        Some(rest) => {
            let rest = rest.trim_start_matches('0');
            Err(IdError::LeadingZero(if rest.is_empty() { "0" } else { rest }.to_owned()))
        }
    }
}

fn too_large(number: String, bits: u32) -> IdError {
    IdError::TooLarge { number, bits, max: u128::MAX >> (u128::BITS - bits) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_id_has_63_bits_and_is_an_i64_without_loss() {
        assert_eq!(i64::from(Id::MAX), i64::MAX);
        assert_eq!(Id::try_from(i64::MAX), Ok(Id::MAX));
        assert_eq!(Id::try_from(u64::from(Id::MAX)), Ok(Id::MAX));
        let error = Id::try_from(1_u64 << 63).unwrap_err();
        assert_eq!(
            error.to_string(),
            "9223372036854775808 does not fit an ID of 63 bits: the largest is 9223372036854775807"
        );
        assert_eq!(Id::try_from(-1_i64), Err(IdError::Negative(-1)));
        assert!(matches!(Id::try_from(1_u128 << 64), Err(IdError::TooLarge { bits: 63, .. })));
        assert!(Id::try_from(WideId::from(1_u128 << 63)).is_err());
        assert_eq!(WideId::from(Id::MAX).get(), (1 << 63) - 1);
    }

    #[test]
    fn one_text_per_number() {
        assert_eq!("0".parse::<Id>().map(Id::get), Ok(0));
        assert_eq!("".parse::<Id>(), Err(IdError::Empty));
        assert_eq!("+1".parse::<Id>(), Err(IdError::Character { character: '+', at: 0 }));
        assert_eq!("-1".parse::<Id>(), Err(IdError::Character { character: '-', at: 0 }));
        assert_eq!("1 ".parse::<Id>(), Err(IdError::Character { character: ' ', at: 1 }));
        assert_eq!("1_0".parse::<Id>(), Err(IdError::Character { character: '_', at: 1 }));
        assert_eq!("12٣".parse::<Id>(), Err(IdError::Character { character: '٣', at: 2 }));
        assert_eq!("007".parse::<Id>(), Err(IdError::LeadingZero("7".to_owned())));
        assert_eq!("00".parse::<WideId>(), Err(IdError::LeadingZero("0".to_owned())));
        assert!(matches!("9223372036854775808".parse::<Id>(), Err(IdError::TooLarge { .. })));
        assert!(matches!("18446744073709551616".parse::<Id>(), Err(IdError::TooLarge { .. })));
        assert_eq!(u128::MAX.to_string().parse::<WideId>().map(WideId::get), Ok(u128::MAX));
        let error = "340282366920938463463374607431768211456".parse::<WideId>().unwrap_err();
        assert!(matches!(error, IdError::TooLarge { bits: 128, max: u128::MAX, .. }), "{error}");
        assert_eq!("9".repeat(79).parse::<WideId>(), Err(IdError::Length(79)));
    }

    proptest! {
        #[test]
        fn the_text_reads_back(number in 0..=Id::MAX.get(), wide: u128) {
            let id = Id::try_from(number).unwrap();
            prop_assert_eq!(id.to_string().parse::<Id>(), Ok(id));
            prop_assert_eq!(id.to_string(), number.to_string());
            prop_assert_eq!(wide.to_string().parse::<WideId>(), Ok(WideId::from(wide)));
        }

        #[test]
        fn what_reads_writes_the_same(text in "[0-9+ -]{0,24}") {
            if let Ok(id) = text.parse::<Id>() {
                prop_assert_eq!(id.to_string(), text);
            }
        }
    }
}
