//! NanoIDs: random characters of an alphabet.

use std::fmt;
use std::str::FromStr;

use super::convert::ascii;
use super::random::Random;
use super::read::ReadError;
use super::{Mint, MintError};

const KIND: &str = "NanoID";

/// The most characters of a NanoID.
const LONGEST: usize = 63;

/// A NanoID: 1 to 63 characters of ASCII that can be seen.
///
/// Which of them are an ID is the [`NanoIdFormat`]'s to say: [`NanoIdFormat::read`] takes those of that format alone, while
/// `FromStr` takes those of any. One text is one ID. It is kept in 64 bytes, without an allocation.
///
/// ```
/// use floe::kind::{NanoId, NanoIdFormat};
/// let id = NanoIdFormat::default().read("V1StGXR8_Z5jdHi6B-myT")?;
/// assert_eq!(id.as_str(), "V1StGXR8_Z5jdHi6B-myT");
/// assert_eq!("V1StGXR8_Z5jdHi6B-myT".parse::<NanoId>()?, id);
/// # Ok::<(), floe::kind::ReadError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NanoId {
    /// 0 behind the last one, so that order is that of the texts.
    characters: [u8; LONGEST],
    length: u8,
}

impl NanoId {
    /// The text.
    pub fn as_str(&self) -> &str {
        ascii(self.characters.get(..usize::from(self.length)).unwrap_or_default())
    }

    /// The text's bytes, which are ASCII.
    pub fn as_bytes(&self) -> &[u8] {
        self.as_str().as_bytes()
    }
}

impl fmt::Display for NanoId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for NanoId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for NanoId {
    type Err = ReadError;

    fn from_str(text: &str) -> Result<Self, ReadError> {
        read(text, 1..=LONGEST, "a NanoID is 1 to 63 characters of ASCII that can be seen", |byte| {
            byte.is_ascii_graphic()
        })
    }
}

impl AsRef<str> for NanoId {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

/// Its text, in every format.
#[cfg(feature = "serde")]
impl serde::Serialize for NanoId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for NanoId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl serde::de::Visitor<'_> for Visitor {
            type Value = NanoId;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a NanoID")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<NanoId, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Visitor)
    }
}

fn read(
    text: &str,
    lengths: std::ops::RangeInclusive<usize>,
    rule: &'static str,
    fits: impl Fn(u8) -> bool,
) -> Result<NanoId, ReadError> {
    if text.is_empty() {
        return Err(ReadError::Empty { kind: KIND, rule });
    }
    let mut id = NanoId { characters: [0; LONGEST], length: 0 };
    for (at, (place, byte)) in id.characters.iter_mut().zip(text.bytes()).enumerate() {
        if !fits(byte) {
            // What comes before is ASCII, so a character begins here.
            let character = text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or_default();
            return Err(ReadError::Character { kind: KIND, rule, character, at });
        }
        *place = byte;
        id.length += 1;
    }
    match lengths.contains(&text.len()) {
        true => Ok(id),
        false => Err(ReadError::Length { kind: KIND, rule, found: text.len() }),
    }
}

/// An alphabet and a length.
///
/// The default is that of the `nanoid` packages: 21 of the 64 characters `A-Za-z0-9_-`, 126 random bits.
///
/// ```
/// use floe::kind::NanoIdFormat;
/// let codes = NanoIdFormat::new("23456789ABCDEFGHJKLMNPQRSTUVWXYZ", 10)?;
/// assert_eq!(codes.bits(), 50.0);
/// // A million of them, and two are the same with this probability:
/// assert!((0.000_443..0.000_445).contains(&codes.collision(1_000_000)));
/// # Ok::<(), floe::kind::NanoIdFormatError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct NanoIdFormat {
    alphabet: Box<[u8]>,
    length: u8,
}

/// Why an alphabet and a length are no format.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NanoIdFormatError {
    /// One character, or none.
    #[error("an alphabet of {0} characters makes no IDs: it needs at least 2")]
    Few(usize),
    /// Not ASCII, or a space or control character.
    #[error("{character:?} at byte {at} of the alphabet is not ASCII that can be seen")]
    Character {
        /// What is there.
        character: char,
        /// Where it begins, in bytes.
        at: usize,
    },
    /// It would be as likely as two others together.
    #[error("{0:?} is in the alphabet twice")]
    Twice(char),
    /// No characters, or too many.
    #[error("a NanoID cannot have {0} characters: 1 to 63")]
    Length(usize),
}

impl NanoIdFormat {
    /// IDs of `length` characters (1 to 63) of `alphabet`, which has at least 2 different ones of ASCII.
    ///
    /// # Errors
    /// [`NanoIdFormatError`].
    pub fn new(alphabet: &str, length: usize) -> Result<Self, NanoIdFormatError> {
        if let Some((at, character)) = alphabet.char_indices().find(|(_, c)| !c.is_ascii_graphic()) {
            return Err(NanoIdFormatError::Character { character, at });
        }
        // There are no more than 94, so a longer one is refused at its 95th character.
        let twice = alphabet
            .char_indices()
            .find(|(at, c)| alphabet.get(..*at).is_some_and(|before| before.contains(*c)));
        if let Some((_, character)) = twice {
            return Err(NanoIdFormatError::Twice(character));
        }
        if alphabet.len() < 2 {
            return Err(NanoIdFormatError::Few(alphabet.len()));
        }
        let fitting = u8::try_from(length).ok().filter(|_| (1..=LONGEST).contains(&length));
        let length = fitting.ok_or(NanoIdFormatError::Length(length))?;
        Ok(Self { alphabet: alphabet.as_bytes().into(), length })
    }

    /// The alphabet.
    pub fn alphabet(&self) -> &str {
        ascii(&self.alphabet)
    }

    /// The characters of an ID.
    pub fn length(&self) -> usize {
        self.length.into()
    }

    /// How many random bits an ID has.
    pub fn bits(&self) -> f64 {
        f64::from(self.length) * f64::from(self.size()).log2()
    }

    /// The probability that among `count` IDs two are the same (the birthday bound, `1 - e^(-count^2 / 2^(bits + 1))`).
    pub fn collision(&self, count: u64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a probability is an estimate")]
        let count = count as f64;
        // Not `1 - exp`, which is 0 for what is less than 10^-16.
        -(-(count * (count - 1.0).max(0.0) / (self.bits() + 1.0).exp2())).exp_m1()
    }

    /// Reads an ID of this format alone.
    ///
    /// # Errors
    /// [`ReadError`] for another length, or a character that is not in the alphabet.
    pub fn read(&self, text: &str) -> Result<NanoId, ReadError> {
        let rule = "its characters are of the alphabet, and so many as its length says";
        read(text, self.length()..=self.length(), rule, |byte| self.alphabet.contains(&byte))
    }

    fn size(&self) -> u32 {
        u32::try_from(self.alphabet.len()).unwrap_or(u32::MAX)
    }
}

impl Default for NanoIdFormat {
    fn default() -> Self {
        // The packages' own order is another one, which makes no difference to random characters.
        let alphabet = *b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
        Self { alphabet: alphabet.into(), length: 21 }
    }
}

impl fmt::Debug for NanoIdFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NanoIdFormat({} of {:?})", self.length, self.alphabet())
    }
}

/// Mints NanoIDs: each character is any of the alphabet with the same probability.
///
/// As many random bits are taken for a character as its place in the alphabet has, and taken anew where they say a place
/// behind its end; a remainder of a division would favour the first characters.
///
/// ```
/// use floe::kind::{Mint, NanoIdFormat, NanoIdGenerator};
/// let ids = NanoIdGenerator::new(NanoIdFormat::new("0123456789", 8).unwrap());
/// let id = ids.mint()?;
/// assert_eq!(id.as_str().len(), 8);
/// # Ok::<(), floe::MintError>(())
/// ```
#[derive(Clone, Debug)]
pub struct NanoIdGenerator {
    format: NanoIdFormat,
    random: Random,
    /// The bits of a place in the alphabet.
    bits: u32,
}

impl NanoIdGenerator {
    /// From the operating system's randomness.
    pub fn new(format: NanoIdFormat) -> Self {
        Self::of(format, Random::System)
    }

    pub(super) fn of(format: NanoIdFormat, random: Random) -> Self {
        let bits = u32::BITS - (format.size() - 1).leading_zeros();
        Self { format, random, bits }
    }

    /// What its IDs look like.
    pub const fn format(&self) -> &NanoIdFormat {
        &self.format
    }
}

impl Default for NanoIdGenerator {
    fn default() -> Self {
        Self::new(NanoIdFormat::default())
    }
}

impl Mint for NanoIdGenerator {
    type Id = NanoId;

    fn mint(&self) -> Result<NanoId, MintError> {
        let mut id = NanoId { characters: [0; LONGEST], length: self.format.length };
        let mut places = id.characters.iter_mut().take(self.format.length()).peekable();
        while places.peek().is_some() {
            let mut word = self.random.word()?;
            for _ in 0..u64::BITS / self.bits {
                let [.., low] = word.to_be_bytes();
                let character = self.format.alphabet.get(usize::from(low & ((1 << self.bits) - 1)));
                word >>= self.bits;
                if let Some(character) = character {
                    match places.next() {
                        Some(place) => *place = *character,
                        None => break,
                    }
                }
            }
        }
        Ok(id)
    }
}
