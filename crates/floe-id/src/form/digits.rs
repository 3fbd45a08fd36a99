//! Numbers in a base: decimal, hex, Crockford's base32, base36, base58, base62.

use alloc::{borrow::ToOwned, format};

use super::alphabet::{self, Alphabet, Byte};
use super::buffer::Buffer;
use super::error::{FormDefinitionError, FormError};

/// A base with its symbols, which are in ASCII order: at one width the order of texts is the order of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Radix {
    /// `0-9`.
    Decimal,
    /// `0-9a-f`, or `0-9A-F` with [`Digits::upper`]. The case that is not written is not read.
    Hex,
    /// Crockford's: `0-9A-Z` without `I`, `L`, `O` and `U`, or in small letters with [`Digits::lower`].
    ///
    /// Reads as his rules say, and so has aliases: either case, `o` for `0`, `i` and `l` for `1`. His hyphens and his
    /// check symbols are optional, and here they are errors. <https://www.crockford.com/base32.html>
    Base32,
    /// `0-9a-z`, or `0-9A-Z` with [`Digits::upper`]. The case that is not written is not read.
    Base36,
    /// Bitcoin's: digits, capitals and small letters without `0`, `O`, `I` and `l`; the zero is `1`.
    ///
    /// A number's text is that of its bytes without leading zero bytes.
    Base58,
    /// `0-9A-Za-z`.
    Base62,
}

/// A base, the case of its letters, and the length of its texts.
///
/// ```
/// use floe_id::form::{Buffer, Digits, Form, Radix};
///
/// let form = Form::digits(64, Digits::new(Radix::Base62).width(11))?.with_prefix("ord_")?;
/// let mut buffer = Buffer::new();
/// assert_eq!(form.encode(1_u64, &mut buffer)?, "ord_00000000001");
/// assert_eq!(form.encode(u64::MAX, &mut buffer)?, "ord_LygHa16AHYF");
/// assert_eq!(form.to_string(), "base62 bits=64 width=11 prefix=ord_");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Digits {
    radix: Radix,
    case: Case,
    length: Length,
}

/// The case of the letters, where a base has but one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Case {
    /// As people write the base.
    Usual,
    Upper,
    Lower,
}

/// How many digits a text has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Length {
    /// As few as the number needs.
    Shortest,
    /// This many and no other number of them.
    Fixed(u8),
    /// At least this many.
    AtLeast(u8),
}

/// The largest width, and the largest length to pad to.
pub(super) const MAX_DIGITS: u8 = 128;

impl Radix {
    /// All bases, sorted by their number of symbols.
    pub const ALL: &'static [Self] =
        &[Self::Decimal, Self::Hex, Self::Base32, Self::Base36, Self::Base58, Self::Base62];

    /// Returns its word in a form's text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Decimal => "decimal",
            Self::Hex => "hex",
            Self::Base32 => "base32",
            Self::Base36 => "base36",
            Self::Base58 => "base58",
            Self::Base62 => "base62",
        }
    }
}

impl Digits {
    /// Writes a number in as few digits as it needs, with letters in the usual case of the base.
    ///
    /// ```
    /// use floe_id::form::{Digits, Form, Radix};
    /// assert_eq!(Form::digits(63, Digits::new(Radix::Hex))?.to_text(255_u64)?, "ff");
    /// assert_eq!(Form::digits(63, Digits::new(Radix::Hex).upper().pad(4))?.to_text(255_u64)?, "00FF");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn new(radix: Radix) -> Self {
        Self { radix, case: Case::Usual, length: Length::Shortest }
    }

    /// Writes capital letters, in hex and base36, whose letters are small by default.
    #[must_use]
    pub const fn upper(self) -> Self {
        Self { case: Case::Upper, ..self }
    }

    /// Writes small letters, in base32, whose letters are capitals by default.
    ///
    /// ```
    /// use floe_id::form::{Digits, Form, Radix};
    /// assert_eq!(Form::digits(63, Digits::new(Radix::Base32))?.to_text(31_u64)?, "Z");
    /// assert_eq!(Form::digits(63, Digits::new(Radix::Base32).lower())?.to_text(31_u64)?, "z");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn lower(self) -> Self {
        Self { case: Case::Lower, ..self }
    }

    /// Writes exactly `digits` digits, so that texts sort as the numbers do. The width must be large enough for all
    /// numbers of the form. [`Form::digits`](super::Form::digits) has an example.
    #[must_use]
    pub const fn width(self, digits: u8) -> Self {
        Self { length: Length::Fixed(digits), ..self }
    }

    /// Writes `digits` digits or more, with zeros on the left. A longer text may sort before a shorter one.
    ///
    /// ```
    /// use floe_id::form::{Digits, Form, Radix};
    /// let padded = Form::digits(63, Digits::new(Radix::Decimal).pad(4))?;
    /// assert_eq!((padded.to_text(7_u64)?, padded.to_text(12_345_u64)?), ("0007".into(), "12345".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn pad(self, digits: u8) -> Self {
        Self { length: Length::AtLeast(digits), ..self }
    }

    pub(super) fn radix(self) -> Radix {
        self.radix
    }

    pub(super) fn length(self) -> Length {
        self.length
    }

    /// The word for the case of the letters where it is not the usual one.
    pub(super) fn case(self) -> Option<&'static str> {
        match self.case {
            Case::Usual => None,
            Case::Upper => Some("upper"),
            Case::Lower => Some("lower"),
        }
    }
}

/// Digits that fit the numbers of a form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checked {
    digits: Digits,
    alphabet: &'static Alphabet,
    least: usize,
    most: usize,
}

impl Checked {
    /// The symbols behind a TypeID's prefix.
    pub(super) const TYPE_ID: Self = Self {
        digits: Digits::new(Radix::Base32).width(26),
        alphabet: &alphabet::TYPE_ID,
        least: 26,
        most: 26,
    };

    pub(super) fn new(bits: u32, mut digits: Digits) -> Result<Self, FormDefinitionError> {
        let alphabet = match (digits.radix, digits.case) {
            (Radix::Decimal, Case::Usual) => &alphabet::DECIMAL,
            (Radix::Hex, Case::Usual | Case::Lower) => &alphabet::HEX,
            (Radix::Hex, Case::Upper) => &alphabet::HEX_UPPER,
            (Radix::Base32, Case::Usual | Case::Upper) => &alphabet::BASE32,
            (Radix::Base32, Case::Lower) => &alphabet::BASE32_LOWER,
            (Radix::Base36, Case::Usual | Case::Lower) => &alphabet::BASE36,
            (Radix::Base36, Case::Upper) => &alphabet::BASE36_UPPER,
            (Radix::Base58, Case::Usual) => &alphabet::BASE58,
            (Radix::Base62, Case::Usual) => &alphabet::BASE62,
            (radix @ (Radix::Decimal | Radix::Base58 | Radix::Base62), Case::Upper | Case::Lower) => {
                return Err(FormDefinitionError::Word {
                    form: radix.as_str().to_owned(),
                    word: digits.case().unwrap_or_default().to_owned(),
                });
            }
        };
        // One spelling for one form: the usual case goes without saying.
        match (digits.radix, digits.case) {
            (Radix::Base32, Case::Upper) | (Radix::Hex | Radix::Base36, Case::Lower) => {
                digits.case = Case::Usual;
            }
            _ => {}
        }
        Self::of(bits, digits, alphabet)
    }

    fn of(bits: u32, digits: Digits, alphabet: &'static Alphabet) -> Result<Self, FormDefinitionError> {
        let needed = alphabet.digits(super::largest(bits));
        let (least, most) = match digits.length {
            Length::Shortest => (1, needed),
            Length::Fixed(width) | Length::AtLeast(width) if width == 0 || width > MAX_DIGITS => {
                return Err(FormDefinitionError::Value(format!(
                    "{width} digits are outside 1..={MAX_DIGITS}"
                )));
            }
            Length::Fixed(width) if usize::from(width) < needed => {
                return Err(FormDefinitionError::Value(format!(
                    "numbers of {bits} bits need up to {needed} digits of {radix}: give it a width of {needed}, or say with bits= that the numbers are smaller",
                    radix = digits.radix.as_str()
                )));
            }
            Length::Fixed(width) => (width.into(), width.into()),
            Length::AtLeast(width) => (width.into(), needed.max(width.into())),
        };
        Ok(Self { digits, alphabet, least, most })
    }

    pub(super) fn digits(&self) -> Digits {
        self.digits
    }

    pub(super) fn least(&self) -> usize {
        self.least
    }

    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Writes `number`, which has at most the bits of the form, into an empty buffer.
    #[inline]
    pub(super) fn encode(&self, number: u128, buffer: &mut Buffer) {
        match u64::try_from(number) {
            Ok(number) => self.encode_short(number, buffer),
            Err(_) => self.encode_long(number, buffer),
        }
    }

    #[inline]
    fn encode_short(&self, number: u64, buffer: &mut Buffer) {
        let (symbols, digits) = match self.digits.radix {
            Radix::Decimal => short::<10, 20>(self.alphabet, number, buffer),
            Radix::Hex => short::<16, 16>(self.alphabet, number, buffer),
            Radix::Base32 => short::<32, 16>(self.alphabet, number, buffer),
            Radix::Base36 => short::<36, 16>(self.alphabet, number, buffer),
            Radix::Base58 => short::<58, 12>(self.alphabet, number, buffer),
            Radix::Base62 => short::<62, 12>(self.alphabet, number, buffer),
        };
        let length = digits.max(self.least);
        buffer.keep(length.min(symbols));
        buffer.pad(self.alphabet.zero(), length);
    }

    #[inline(never)]
    fn encode_long(&self, number: u128, buffer: &mut Buffer) {
        match self.digits.radix {
            Radix::Decimal => long::<10, 16>(self.alphabet, number, buffer),
            Radix::Hex => long::<16, 12>(self.alphabet, number, buffer),
            Radix::Base32 => long::<32, 12>(self.alphabet, number, buffer),
            Radix::Base36 => long::<36, 12>(self.alphabet, number, buffer),
            Radix::Base58 => long::<58, 8>(self.alphabet, number, buffer),
            Radix::Base62 => long::<62, 8>(self.alphabet, number, buffer),
        }
        buffer.pad(self.alphabet.zero(), self.least);
    }

    #[inline(always)]
    fn base(&self) -> u64 {
        match self.digits.radix {
            Radix::Decimal => 10,
            Radix::Hex => 16,
            Radix::Base32 => 32,
            Radix::Base36 => 36,
            Radix::Base58 => 58,
            Radix::Base62 => 62,
        }
    }

    /// The number of a text whose length lies within the form's.
    pub(super) fn decode(&self, text: &str, bits: u32) -> Result<u128, FormError> {
        let base = self.base();
        // So many digits of any of the bases stay within 64 bits.
        const SHORT: usize = 10;
        let (short, long) = text.as_bytes().split_at(text.len().min(SHORT));
        let (mut number, mut at) = (0_u64, 0);
        for byte in short {
            let Byte::Digit(digit) = self.alphabet.read(*byte) else { return Err(self.foreign(text, at)) };
            number = number * base + u64::from(digit);
            at += 1;
        }
        let mut number = Some(u128::from(number));
        for byte in long {
            let Byte::Digit(digit) = self.alphabet.read(*byte) else { return Err(self.foreign(text, at)) };
            // A number that is too large is only said to be once all symbols are known to be symbols.
            number = number
                .and_then(|number| number.checked_mul(base.into()))
                .and_then(|number| number.checked_add(digit.into()));
            at += 1;
        }
        let leading = text.bytes().next().is_some_and(|byte| self.alphabet.read(byte) == Byte::Digit(0));
        if leading && text.len() > self.least {
            return Err(FormError::LeadingZero { at: 0 });
        }
        number.filter(|number| *number <= super::largest(bits)).ok_or(FormError::TooLarge { bits })
    }

    #[cold]
    fn foreign(&self, text: &str, at: usize) -> FormError {
        match (FormError::symbol(text, at), text.as_bytes().get(at).map(|byte| self.alphabet.read(*byte))) {
            (FormError::Symbol { character, at }, Some(Byte::OtherCase)) => FormError::Case { character, at },
            (error, _) => error,
        }
    }
}

/// Writes the last `SYMBOLS` digits of `number`, which are all of them, and says how many those are and how many the
/// number needs. Nothing in it waits for how large the number is.
#[inline(always)]
fn short<const BASE: u64, const SYMBOLS: usize>(
    alphabet: &Alphabet,
    number: u64,
    buffer: &mut Buffer,
) -> (usize, usize) {
    let mut rest = number;
    let mut next = || {
        let symbols = symbols::<BASE>(alphabet, rest % const { group(BASE) });
        rest /= const { group(BASE) };
        symbols
    };
    // In one piece, since what reads it waits for pieces that are smaller than those that it reads.
    let piece = (0..SYMBOLS.min(PIECE) / GROUP)
        .fold(0, |piece, at| piece | u128::from(u32::from_be_bytes(next())) << (8 * GROUP * at));
    *buffer.end() = piece.to_be_bytes();
    if SYMBOLS > PIECE {
        let [first, second, third, fourth, ..] = buffer.end::<{ PIECE + GROUP }>();
        [*first, *second, *third, *fourth] = next();
    }
    let (least, last) = const { &digits_by_bits::<BASE>() }[(u64::BITS - number.leading_zeros()) as usize];
    (SYMBOLS, usize::from(least) + usize::from(number > last))
}

/// For numbers of 0 to 64 bits: how many digits the smallest of so many bits has, and the last number that has no more.
/// The largest of so many bits has one more at the most, since no base is below 2.
const fn digits_by_bits<const BASE: u64>() -> [(u8, u64); 65] {
    let mut table = [(1, BASE - 1); 65];
    let mut bits = 1;
    while bits < table.len() {
        let (mut digits, mut last) = table[bits - 1];
        if last < 1 << (bits - 1) {
            digits += 1;
            last = match last.checked_mul(BASE) {
                Some(last) => last + (BASE - 1),
                None => u64::MAX,
            };
        }
        table[bits] = (digits, last);
        bits += 1;
    }
    table
}

/// Writes `number`, which has more than 64 bits, in as few digits as it needs.
///
/// A word is the largest number of digits (`WORD`) in whole groups that fits 64 bits: a division of 128 bits is paid
/// for once in a word.
#[inline(always)]
fn long<const BASE: u64, const WORD: u32>(alphabet: &Alphabet, mut number: u128, buffer: &mut Buffer) {
    let (word, group) = const { (BASE.pow(WORD), group(BASE)) };
    let mut rest = loop {
        if let Ok(rest) = u64::try_from(number) {
            break rest;
        }
        #[expect(clippy::cast_possible_truncation, reason = "a remainder by 64 bits has no more")]
        let mut low = (number % u128::from(word)) as u64;
        number /= u128::from(word);
        for _ in 0..WORD as usize / GROUP {
            buffer.put(symbols::<BASE>(alphabet, low % group));
            low /= group;
        }
    };
    while rest > 0 {
        buffer.put(symbols::<BASE>(alphabet, rest % group));
        rest /= group;
    }
    buffer.trim(alphabet.zero());
}

const GROUP: usize = 4;
const PIECE: usize = 16;

/// How many groups of digits there are.
const fn group(base: u64) -> u64 {
    base * base * base * base
}

/// The symbols of four digits, the two halves of which do not wait for each other.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "two digits of base 62 are below 2^12")]
fn symbols<const BASE: u64>(alphabet: &Alphabet, digits: u64) -> [u8; GROUP] {
    let (high, low) = (digits / (BASE * BASE), digits % (BASE * BASE));
    let ([first, second], [third, fourth]) = (alphabet.pair(high as u16), alphabet.pair(low as u16));
    [first, second, third, fourth]
}
