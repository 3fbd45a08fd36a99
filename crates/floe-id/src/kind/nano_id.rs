//! NanoIDs: random characters of an alphabet.

use alloc::boxed::Box;
use core::fmt;
use core::str::FromStr;

use super::convert::ascii;
use super::read::ReadError;

const KIND: &str = "NanoID";

/// The most characters of a NanoID.
const LONGEST: usize = 63;

/// How many places an alphabet has room for. There are 94 visible ASCII characters.
const PLACES: usize = 128;

/// A NanoID: 1 to 63 visible ASCII characters.
///
/// [`NanoIdFormat::read`] takes only IDs of its format, while `FromStr` takes those of any format. One text is one ID.
/// It is kept in 64 bytes, without an allocation.
///
/// ```
/// use floe_id::kind::{NanoId, NanoIdFormat};
/// let id = NanoIdFormat::default().read("V1StGXR8_Z5jdHi6B-myT")?;
/// assert_eq!(id.as_str(), "V1StGXR8_Z5jdHi6B-myT");
/// assert_eq!("V1StGXR8_Z5jdHi6B-myT".parse::<NanoId>()?, id);
/// # Ok::<(), floe_id::kind::ReadError>(())
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
        ascii(self.as_bytes())
    }

    /// The text's bytes, which are ASCII.
    pub fn as_bytes(&self) -> &[u8] {
        self.characters.get(..usize::from(self.length)).unwrap_or_default()
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
        read(text, 1..=LONGEST, "a NanoID is 1 to 63 visible ASCII characters", |byte| {
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
    lengths: core::ops::RangeInclusive<usize>,
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
/// use floe_id::kind::NanoIdFormat;
/// let codes = NanoIdFormat::new("23456789ABCDEFGHJKLMNPQRSTUVWXYZ", 10)?;
/// assert_eq!(codes.bits(), 50.0);
/// // A million of them, and two are the same with this probability:
/// assert!((0.000_443..0.000_445).contains(&codes.collision(1_000_000)));
/// # Ok::<(), floe_id::kind::NanoIdFormatError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct NanoIdFormat {
    /// The alphabet, and 0 at the other places: with a fixed size, a place of at most 7 bits needs no check.
    alphabet: Box<[u8; PLACES]>,
    /// How many characters the alphabet has.
    size: u8,
    length: u8,
    /// The bits of a place in the alphabet, which has at most 94 characters.
    bits: u8,
    /// So many bits that are set.
    mask: u8,
    /// How many places a word of 64 bits has.
    places: u8,
}

/// Why an alphabet and a length are not a format.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NanoIdFormatError {
    /// The alphabet has only one character, or none.
    Few(usize),
    /// The alphabet has a character that is not ASCII, or is a space or a control character.
    Character {
        /// The character.
        character: char,
        /// Where it begins, in bytes.
        at: usize,
    },
    /// The alphabet has this character twice, which would make it twice as likely as others.
    Twice(char),
    /// The length is 0, or more than 63.
    Length(usize),
}

impl fmt::Display for NanoIdFormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Few(characters) => {
                write!(f, "an alphabet of {characters} characters makes no IDs: it needs at least 2")
            }
            Self::Character { character, at } => {
                write!(f, "{character:?} at byte {at} of the alphabet is not a visible ASCII character")
            }
            Self::Twice(character) => write!(f, "{character:?} is in the alphabet twice"),
            Self::Length(characters) => write!(f, "a NanoID cannot have {characters} characters: 1 to 63"),
        }
    }
}

crate::__error!(NanoIdFormatError);

impl NanoIdFormat {
    /// Makes a format of `length` characters (1 to 63) of `alphabet`, which has at least 2 different visible ASCII
    /// characters.
    ///
    /// ```
    /// use floe_id::kind::{NanoIdFormat, NanoIdFormatError};
    /// assert_eq!(NanoIdFormat::new("0123456789", 8)?.length(), 8);
    /// assert_eq!(NanoIdFormat::new("00", 8), Err(NanoIdFormatError::Twice('0')));
    /// # Ok::<(), NanoIdFormatError>(())
    /// ```
    ///
    /// # Errors
    /// [`NanoIdFormatError`] names the rule that they break.
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
        Ok(Self::of(alphabet.as_bytes(), length))
    }

    /// Of at least 2 different visible characters.
    fn of(characters: &[u8], length: u8) -> Self {
        let mut alphabet = Box::new([0; PLACES]);
        for (place, character) in alphabet.iter_mut().zip(characters) {
            *place = *character;
        }
        let size = u8::try_from(characters.len()).unwrap_or(u8::MAX);
        let unused = (size - 1).leading_zeros();
        let bits = 8 - u8::try_from(unused).unwrap_or_default();
        Self { alphabet, size, length, bits, mask: u8::MAX >> unused, places: 64 / bits }
    }

    /// Returns the alphabet.
    pub fn alphabet(&self) -> &str {
        ascii(self.characters())
    }

    fn characters(&self) -> &[u8] {
        self.alphabet.get(..usize::from(self.size)).unwrap_or_default()
    }

    /// Returns the number of characters of an ID.
    pub fn length(&self) -> usize {
        self.length.into()
    }

    /// Returns how many random bits an ID has.
    #[cfg(feature = "std")]
    pub fn bits(&self) -> f64 {
        f64::from(self.length) * f64::from(self.size).log2()
    }

    /// Returns the probability that two of `count` IDs are equal (the birthday bound, `1 - e^(-count^2 / 2^(bits +
    /// 1))`). [`NanoIdFormat`] has an example.
    #[cfg(feature = "std")]
    pub fn collision(&self, count: u64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a probability is an estimate")]
        let count = count as f64;
        // Not `1 - exp`, which is 0 for what is less than 10^-16.
        -(-(count * (count - 1.0).max(0.0) / (self.bits() + 1.0).exp2())).exp_m1()
    }

    /// Reads an ID of exactly this format.
    ///
    /// ```
    /// use floe_id::kind::NanoIdFormat;
    /// let codes = NanoIdFormat::new("0123456789", 8)?;
    /// assert_eq!(codes.read("20261125")?.to_string(), "20261125");
    /// assert!(codes.read("2026-11-25").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ReadError`] for another length, or for a character that is not in the alphabet.
    pub fn read(&self, text: &str) -> Result<NanoId, ReadError> {
        let rule = "its characters are of the alphabet, and so many as its length says";
        read(text, self.length()..=self.length(), rule, |byte| self.characters().contains(&byte))
    }

    /// Makes the ID of random `words`. From the lowest bit on, a word has as many places in the alphabet as fit, each
    /// of as many bits as the last place needs. A place after the alphabet's end is skipped, so that no character is
    /// favoured.
    ///
    /// ```
    /// use floe_id::kind::NanoIdFormat;
    /// let mut words = [0x0_f91].into_iter(); // places of 4 bits: 1, 9, 15, which is skipped, 0
    /// let id = NanoIdFormat::new("0123456789", 3)?.compose(|| words.next().ok_or("too few"))?;
    /// assert_eq!(id.to_string(), "190");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of `words`.
    #[inline]
    pub fn compose<E>(&self, mut words: impl FnMut() -> Result<u64, E>) -> Result<NanoId, E> {
        let mut id = NanoId { characters: [0; LONGEST], length: self.length };
        let characters = id.characters.get_mut(..self.length()).unwrap_or_default();
        if self.size - 1 == self.mask {
            // No place lies behind the alphabet's end, so no character has to wait for the one before.
            for places in characters.chunks_mut(self.places.into()) {
                let mut word = words()?;
                places.iter_mut().for_each(|place| *place = self.take(&mut word));
            }
            return Ok(id);
        }
        let mut at = 0;
        while at < characters.len() {
            let mut word = words()?;
            for _ in 0..self.places {
                let Some(place) = characters.get_mut(at) else { break };
                *place = self.take(&mut word);
                // What is skipped is written over: that is faster than a branch that nobody can predict.
                at += usize::from(*place != 0);
            }
        }
        Ok(id)
    }

    /// The character of the word's lowest place, or 0 behind the alphabet's end. The other places move down.
    #[inline(always)]
    fn take(&self, word: &mut u64) -> u8 {
        let [.., low] = word.to_be_bytes();
        // There are fewer than 64, so it is the plain shift without its check.
        *word = word.wrapping_shr(self.bits.into());
        self.alphabet.get(usize::from(low & self.mask) % PLACES).copied().unwrap_or_default()
    }
}

impl Default for NanoIdFormat {
    fn default() -> Self {
        // The packages' own order is another one, which makes no difference to random characters.
        let alphabet = *b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz";
        Self::of(&alphabet, 21)
    }
}

impl fmt::Debug for NanoIdFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NanoIdFormat({} of {:?})", self.length, self.alphabet())
    }
}
