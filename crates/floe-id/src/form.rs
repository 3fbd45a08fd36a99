//! Forms: how the number of an ID is written as text. A form does not depend on how the number was made.
//!
//! # What a form guarantees
//! A number has one text in a form, and a text means one number or none. [`Form::decode`] rejects every text that
//! [`Form::encode`] does not write. The only exceptions are aliases that a form documents (Crockford's, in
//! [`Radix::Base32`]). A number or text that does not fit is rejected, never cut. A text's length is checked before the
//! text is read.
//!
//! # The forms, and the text that names each
//! ```text
//! decimal | hex | base32 | base36 | base58 | base62     as few digits as the number needs
//!   width=11            exactly this many digits: texts sort as the numbers do
//!   pad=8               this many digits or more, with zeros on the left
//!   upper | lower       the case of the letters, where the base has one
//! typeid type=user      a type and 128 bits (version 0.3.0 of its specification)
//! uuid8                 a UUID of version 8, of up to 122 bits
//! hashids salt=pepper   Hashids, of up to 64 bits; min=8 symbols or more, alphabet=…
//! sqids min=8           Sqids, of up to 64 bits; alphabet=…, blocklist=word,word (none: the default list; empty: no word)
//! sealed key=1 base62   permuted with a key, and then written in the form that follows; see below
//!   keyid=2bits         the key's id in this many bits above the number's, so that keys can be replaced
//!   keyid=prefix        the key's id in front of the number, with a hyphen, so that keys can be replaced
//!   check=1a2b3c        a check value of the key, if the form has one key for ever, so that another key is noticed
//! prefix=ord_           a text in front of the ID, in any form but TypeID, which has its type there
//! bits=64               the bits of the numbers; by default 63, as an Id has (TypeID: 128)
//! ```
//! [`Form`]'s `Display` and `FromStr` write and read this text. In a value, `%`, `,` and every byte that is not
//! printable ASCII are escaped as in a URL (`%20`).
//!
//! # What sealing protects, and what not
//! A sealed number is another number of the same width, by a permutation that a key of 128 bits selects. For 64 bits it
//! is the block cipher Speck64/128; for every other width, a Feistel network of eight rounds with floe's own round
//! function. Sealed numbers do not show which was minted first, how many came between two of them, when they were
//! minted, or on which machine.
//!
//! Sealing hides order and volume. Its limits are:
//! - It does not encrypt a secret.
//! - It proves nothing: every text of the form opens as some number, so a guessed text does too. A service must still
//!   check whether the caller may see the record.
//! - The Feistel network has not been studied by others.
//! - A small width can be enumerated. With 20 bits there are a million numbers, and an observer of most of them knows
//!   roughly how many there are.
//! - Equal numbers have equal texts.
//! - If one bit of a number changes, each bit of 32 or more changes in half of the cases: 0.50 on average, 0.46 to 0.54
//!   for any single pair of bits in 8,192 samples (`form::tests::sealed::one_bit_changes_half_of_all_bits` measures
//!   it). Small widths have fewer permutations than keys, and reveal more of the number.
//!
//! A form's text contains the id of a key, never the key. [`Form::with_keys`] adds the keys. If two nodes have
//! different keys under one id, each reads the other's texts as wrong numbers. So give each key its own id, for ever.
//!
//! With `keyid=`, a form reads texts that were sealed with any key that it has, and writes with the key that it names.
//! So a number can have one text for each key; these are the only aliases. Without `keyid=`, a form has one key for
//! ever.
//!
//! ```
//! use floe_id::form::{Buffer, Form, FormError};
//!
//! let form: Form = "base32 width=13".parse()?;
//! let mut buffer = Buffer::new();
//! assert_eq!(form.encode(1_212_092_628_029_698_048_u64, &mut buffer)?, "11MHQTB098W00");
//! assert_eq!(form.decode("11MHQTB098W00")?, 1_212_092_628_029_698_048);
//! assert_eq!(form.decode("11MHQTB098W0U"), Err(FormError::Symbol { character: 'U', at: 12 }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use alloc::{
    borrow::ToOwned,
    boxed::Box,
    format,
    string::{String, ToString},
};
use core::fmt;

mod alphabet;
mod buffer;
mod digits;
mod error;
mod hashids;
mod key_id;
mod parse;
mod permutation;
mod prefix;
mod sealed;
mod sqids;
mod type_id;
mod uuid8;

#[cfg(test)]
mod tests;

pub use buffer::Buffer;
pub use digits::{Digits, Radix};
pub use error::{FormDefinitionError, FormError};
pub use hashids::Hashids;
pub use key_id::KeyId;
pub use parse::{Escaped, unescape};
pub use sealed::{Key, KeyCheck, KeyPlace, Keys};
pub use sqids::Sqids;
pub use type_id::read_type_id;

use digits::Checked;
use prefix::Prefix;
use sealed::Sealed;

/// How numbers of a given count of bits are written as text. The [module](self) lists the forms.
///
/// Two forms are equal if their texts are equal.
#[derive(Clone)]
pub struct Form {
    bits: u32,
    largest: u128,
    prefix: Prefix,
    notation: Notation,
}

/// The notation of the text after the prefix.
#[derive(Clone)]
enum Notation {
    Digits(Checked),
    TypeId,
    Uuid8,
    Hashids(Box<hashids::Shuffled>),
    Sqids(Box<sqids::Shuffled>),
    Sealed(Box<Sealed>),
}

impl Form {
    /// The bits of the numbers if a form's text does not set them: those of an [`Id`](crate::Id).
    pub const BITS: u32 = crate::Id::BITS;
    const TYPE_ID_BITS: u32 = type_id::BITS;

    /// Makes a form of digits for numbers of up to `bits` bits.
    ///
    /// ```
    /// use floe_id::form::{Digits, Form, Radix};
    /// let form = Form::digits(63, Digits::new(Radix::Base62).width(11))?;
    /// assert_eq!(form.to_string(), "base62 width=11");
    /// assert_eq!(form.to_text(62_u64)?, "00000000010");
    /// assert!(Form::digits(63, Digits::new(Radix::Base62).width(3)).is_err()); // too narrow for 63 bits
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormDefinitionError`] if `bits` is outside 1 to 128, if the digits' width is too small for them, or if the
    /// base has no such case.
    pub fn digits(bits: u32, digits: Digits) -> Result<Self, FormDefinitionError> {
        check_bits("digits", bits, 1..=128)?;
        Ok(Self::of(bits, Prefix::default(), Notation::Digits(Checked::new(bits, digits)?)))
    }

    /// Makes a form of TypeIDs of the type `kind`: at most 63 of `a-z` and `_`, not `_` first or last. It may be empty.
    ///
    /// The specification wants a UUID of version 7 when an ID is made, and accepts any 128 bits when one is written.
    ///
    /// ```
    /// use floe_id::form::Form;
    /// let form = Form::type_id(128, "user")?;
    /// assert_eq!(form.to_text(0_u64)?, "user_00000000000000000000000000");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormDefinitionError`] if `bits` is outside 1 to 128, or `kind` breaks its rules.
    pub fn type_id(bits: u32, kind: &str) -> Result<Self, FormDefinitionError> {
        check_bits("typeid", bits, 1..=128)?;
        Ok(Self::of(bits, Prefix::new(&type_id::prefix(kind)?)?, Notation::TypeId))
    }

    /// Makes a form of UUIDs of version 8 (RFC 9562, section 5.8) for numbers of up to `bits` bits, at most 122. They
    /// sort as the numbers do. With a prefix, the text is no longer a UUID.
    ///
    /// ```
    /// use floe_id::form::{Buffer, Form};
    /// let form = Form::uuid8(63)?;
    /// let mut buffer = Buffer::new();
    /// assert_eq!(form.encode(1_212_092_628_029_698_048_u64, &mut buffer)?, "00000000-0000-8000-90d2-37d2c0947000");
    /// assert_eq!(form.decode("00000000-0000-8000-90d2-37d2c0947000")?, 1_212_092_628_029_698_048);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormDefinitionError`] if `bits` is outside 1 to 122.
    pub fn uuid8(bits: u32) -> Result<Self, FormDefinitionError> {
        check_bits("uuid8", bits, 1..=uuid8::BITS)?;
        Ok(Self::of(bits, Prefix::default(), Notation::Uuid8))
    }

    /// Makes a form of Hashids for numbers of up to `bits` bits, at most 64, as in other libraries. [`Hashids`] has an
    /// example.
    ///
    /// # Errors
    /// [`FormDefinitionError`] if `bits` is outside 1 to 64, if the salt is not ASCII of at most 256 characters, or if
    /// the alphabet breaks the rules of [`Hashids::alphabet`].
    pub fn hashids(bits: u32, hashids: Hashids) -> Result<Self, FormDefinitionError> {
        check_bits("hashids", bits, 1..=u64::BITS)?;
        let notation = Notation::Hashids(Box::new(hashids::Shuffled::new(bits, hashids)?));
        Ok(Self::of(bits, Prefix::default(), notation))
    }

    /// Makes a form of Sqids for numbers of up to `bits` bits, at most 64, as in other libraries. [`Sqids`] has an
    /// example.
    ///
    /// # Errors
    /// [`FormDefinitionError`] if `bits` is outside 1 to 64, or if the alphabet breaks the rules of
    /// [`Sqids::alphabet`].
    pub fn sqids(bits: u32, sqids: Sqids) -> Result<Self, FormDefinitionError> {
        check_bits("sqids", bits, 1..=u64::BITS)?;
        let notation = Notation::Sqids(Box::new(sqids::Shuffled::new(bits, sqids)?));
        Ok(Self::of(bits, Prefix::default(), notation))
    }

    /// Makes a sealed form for numbers of up to `bits` bits, 2 to 128. A number is sealed with the key of the id `key`,
    /// and then written in `inner`. `inner` must be for `bits` bits plus those that `place` takes for the key id.
    ///
    /// It cannot write or read before [`with_keys`](Self::with_keys) has given it its keys.
    ///
    /// ```
    /// use floe_id::form::{Buffer, Form, Key, KeyId, Keys};
    ///
    /// let key: Key = "000102030405060708090a0b0c0d0e0f".parse()?;
    /// let form = "sealed key=1 base62 width=11".parse::<Form>()?.with_keys(&Keys::new().with(KeyId::new(1), key)?)?;
    /// let (mut one, mut next) = (Buffer::new(), Buffer::new());
    /// assert_eq!(form.encode(1000_u64, &mut one)?, "5MIzgllb7ch");
    /// assert_eq!(form.encode(1001_u64, &mut next)?, "2jLlTHOQBwn");
    /// assert_eq!(form.decode("2jLlTHOQBwn")?, 1001);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormDefinitionError`] if `bits` is out of range, if `inner` is for other bits or sealed itself, if the key id
    /// does not fit its place, or if it would stand in front of a TypeID's symbols, which the specification does not
    /// allow.
    pub fn sealed(bits: u32, key: KeyId, place: KeyPlace, inner: Self) -> Result<Self, FormDefinitionError> {
        Self::seal(bits, Some(key), place, inner)
    }

    fn seal(
        bits: u32,
        key: Option<KeyId>,
        place: KeyPlace,
        inner: Self,
    ) -> Result<Self, FormDefinitionError> {
        check_bits("sealed", bits, 2..=128)?;
        let wanted = bits + place.bits();
        if inner.bits != wanted {
            return Err(FormDefinitionError::Value(format!(
                "the sealed form's own form is for {} bits, and must be for {wanted}",
                inner.bits
            )));
        }
        let prefix = match (&inner.notation, place) {
            (Notation::Sealed(_), _) => {
                return Err(FormDefinitionError::value("a sealed form cannot be sealed again"));
            }
            (Notation::TypeId, KeyPlace::Prefix) => {
                return Err(FormDefinitionError::value(
                    "a TypeID has no room for a key id in front of its symbols: give the key id bits instead (keyid=2bits)",
                ));
            }
            (Notation::TypeId, _) => Prefix::default(),
            // The prefix comes before the key id.
            _ => inner.prefix.clone(),
        };
        let inner = if prefix.len() == 0 { inner } else { inner.with_prefix("")? };
        let notation = Notation::Sealed(Box::new(Sealed::new(bits, key, place, inner)?));
        Ok(Self::of(bits, prefix, notation))
    }

    /// Returns a sealed form with its keys. Other forms have no keys, and stay as they are.
    ///
    /// The form seals with the key that its text names. If its texts name their key (`keyid=`), it opens those of all
    /// `keys`. If it has one key for ever, its text now also has the key's check value: six hexadecimal digits that do
    /// not reveal the key.
    ///
    /// ```
    /// use floe_id::form::{Form, Key, KeyId, Keys};
    /// let form: Form = "sealed key=1 base62 width=11".parse()?;
    /// assert!(form.is_sealed() && !form.can_encode());
    /// assert!(form.with_keys(&Keys::new()).is_err()); // key 1 is missing
    /// let form = form.with_keys(&Keys::new().with(KeyId::new(1), Key::from([7; 16]))?)?;
    /// assert_eq!(form.decode(&form.to_text(42_u64)?)?, 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormDefinitionError::MissingKey`] if the key to seal with is not in `keys`; `AnotherKey` if its check value is
    /// not the one in the form's text.
    pub fn with_keys(&self, keys: &Keys) -> Result<Self, FormDefinitionError> {
        match &self.notation {
            Notation::Sealed(sealed) => {
                let notation = Notation::Sealed(Box::new(sealed.with_keys(self.bits, keys)?));
                Ok(Self::of(self.bits, self.prefix.clone(), notation))
            }
            _ => Ok(self.clone()),
        }
    }

    fn with_check(mut self, check: Option<KeyCheck>) -> Self {
        if let Notation::Sealed(sealed) = &mut self.notation {
            sealed.check = check;
        }
        self
    }

    /// Returns the ids and check values of the keys that its texts name. They are not part of the form's own text.
    pub fn key_checks(&self) -> &[(KeyId, KeyCheck)] {
        match &self.notation {
            Notation::Sealed(sealed) => &sealed.checks,
            _ => &[],
        }
    }

    /// Returns the id of the key that it seals with; `None` if it only opens, or is not sealed.
    pub fn sealing_key(&self) -> Option<KeyId> {
        match &self.notation {
            Notation::Sealed(sealed) => sealed.key,
            _ => None,
        }
    }

    /// Returns whether the form seals.
    pub fn is_sealed(&self) -> bool {
        matches!(self.notation, Notation::Sealed(_))
    }

    /// Returns whether it can write numbers. Only a sealed form without its key cannot.
    pub fn can_encode(&self) -> bool {
        match &self.notation {
            Notation::Sealed(sealed) => sealed.can_seal(),
            _ => true,
        }
    }

    /// Returns the form with a prefix of at most 64 printable ASCII characters, which replaces a prefix that it had.
    ///
    /// ```
    /// use floe_id::form::Form;
    /// let form = "base62".parse::<Form>()?.with_prefix("ord_")?;
    /// assert_eq!(form.to_text(62_u64)?, "ord_10");
    /// assert!(form.decode("10").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormDefinitionError`] if the text is not such a prefix, and for a TypeID, whose prefix is its type.
    pub fn with_prefix(self, prefix: &str) -> Result<Self, FormDefinitionError> {
        if prefix.is_empty() && self.is_type_id() {
            return Ok(self);
        }
        if self.is_type_id() {
            let (form, word) = ("typeid".to_owned(), format!("prefix={prefix}"));
            return Err(FormDefinitionError::Word { form, word });
        }
        Ok(Self { prefix: Prefix::new(prefix)?, ..self })
    }

    /// Whether its texts are TypeIDs, sealed or not.
    fn is_type_id(&self) -> bool {
        match &self.notation {
            Notation::TypeId => true,
            Notation::Sealed(sealed) => sealed.inner.is_type_id(),
            Notation::Digits(_) | Notation::Uuid8 | Notation::Hashids(_) | Notation::Sqids(_) => false,
        }
    }

    fn of(bits: u32, prefix: Prefix, notation: Notation) -> Self {
        Self { bits, largest: largest(bits), prefix, notation }
    }

    /// Returns the largest number of bits of a number.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Returns the largest length of a text, in bytes.
    pub fn max_bytes(&self) -> usize {
        self.length().1
    }

    /// Writes `number` into `buffer`, and replaces what was there.
    ///
    /// ```
    /// use floe_id::form::{Buffer, Form};
    /// let form: Form = "base62 width=11".parse()?;
    /// let mut buffer = Buffer::new();
    /// assert_eq!(form.encode(1_212_092_628_029_698_048_u64, &mut buffer)?, "1RXOcR2DqUK");
    /// assert!(form.encode(1_u64 << 63, &mut buffer).is_err()); // 64 bits
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormError::DoesNotFit`] if the number has more bits than the form.
    #[inline]
    pub fn encode<'b>(&self, number: impl Into<u128>, buffer: &'b mut Buffer) -> Result<&'b str, FormError> {
        buffer.clear();
        self.put(number.into(), buffer)?;
        Ok(buffer.text())
    }

    /// Reads the number of a text.
    ///
    /// ```
    /// use floe_id::form::{Form, FormError};
    /// let form: Form = "base62 width=11".parse()?;
    /// assert_eq!(form.decode("1RXOcR2DqUK")?, 1_212_092_628_029_698_048);
    /// assert_eq!(form.decode("1RXOcR2DqU"), Err(FormError::Length { bytes: 10, least: 11, most: 11 }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormError`] names the rule that the text breaks, and the byte if there is one.
    pub fn decode(&self, text: &str) -> Result<u128, FormError> {
        let (bytes, (least, most)) = (text.len(), self.length());
        if text.is_empty() {
            return Err(FormError::Empty);
        }
        if !(least..=most).contains(&bytes) {
            // A text of another prefix has, as a rule, another length too, and that says less.
            self.prefix.strip(text)?;
            return Err(FormError::Length { bytes, least, most });
        }
        let rest = self.prefix.strip(text)?;
        self.read(rest).map_err(|error| error.later(self.prefix.len()))
    }

    /// Returns the text of an ID. [`encode`](Self::encode) does the same without an allocation.
    ///
    /// ```
    /// use floe_id::{Id, form::Form};
    /// let form: Form = "base62 width=11 prefix=ord_".parse()?;
    /// let id: Id = "1212092628029698048".parse()?;
    /// assert_eq!(form.to_text(id)?, "ord_1RXOcR2DqUK");
    /// assert_eq!(form.read_id::<Id>("ord_1RXOcR2DqUK")?, id);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`encode`](Self::encode).
    pub fn to_text(&self, id: impl Into<u128>) -> Result<String, FormError> {
        Ok(self.encode(id, &mut Buffer::new())?.to_owned())
    }

    /// Reads the ID of a text: an [`Id`](crate::Id), a [`WideId`](crate::WideId), or a type that [`id!`](crate::id)
    /// made of one. [`to_text`](Self::to_text) has an example.
    ///
    /// # Errors
    /// As for [`decode`](Self::decode); [`FormError::NoId`] if the number has more bits than the type.
    pub fn read_id<I: TryFrom<u128>>(&self, text: &str) -> Result<I, FormError> {
        let number = self.decode(text)?;
        I::try_from(number).map_err(|_| FormError::NoId { number })
    }

    /// Writes the prefix and `number` into an empty buffer.
    #[inline]
    fn put(&self, number: u128, buffer: &mut Buffer) -> Result<(), FormError> {
        if number > self.largest {
            return Err(FormError::DoesNotFit { number, bits: self.bits });
        }
        match &self.notation {
            Notation::Digits(digits) => digits.encode(number, buffer),
            Notation::Sealed(sealed) => sealed.put(number, buffer)?,
            _ => self.put_other(number, buffer)?,
        }
        self.prefix.put(buffer);
        Ok(())
    }

    /// What [`put`](Self::put) does not do in place, so that digits are written without a detour.
    #[inline(never)]
    fn put_other(&self, number: u128, buffer: &mut Buffer) -> Result<(), FormError> {
        match &self.notation {
            Notation::Digits(digits) => digits.encode(number, buffer),
            Notation::TypeId => Checked::TYPE_ID.encode(number, buffer),
            Notation::Uuid8 => uuid8::encode(number, buffer)?,
            Notation::Hashids(hashids) => hashids.encode(narrow(number), buffer),
            Notation::Sqids(sqids) => sqids.encode(narrow(number), buffer)?,
            Notation::Sealed(sealed) => sealed.put(number, buffer)?,
        }
        Ok(())
    }

    /// What `text` means, which is as long as the form writes and has no prefix any more.
    fn read(&self, text: &str) -> Result<u128, FormError> {
        match &self.notation {
            Notation::Digits(digits) => digits.decode(text, self.bits),
            Notation::TypeId => Checked::TYPE_ID.decode(text, self.bits),
            Notation::Uuid8 => uuid8::decode(text, self.bits),
            Notation::Hashids(hashids) => hashids.decode(text, self.bits).map(u128::from),
            Notation::Sqids(sqids) => sqids.decode(text, self.bits).map(u128::from),
            Notation::Sealed(sealed) => sealed.read(text, self.bits),
        }
    }

    /// How long a text is at least and at most.
    fn length(&self) -> (usize, usize) {
        let (least, most) = match &self.notation {
            Notation::Digits(digits) => (digits.least(), digits.most()),
            Notation::TypeId => (Checked::TYPE_ID.least(), Checked::TYPE_ID.most()),
            Notation::Uuid8 => (uuid8::SYMBOLS, uuid8::SYMBOLS),
            Notation::Hashids(hashids) => (hashids.least(), hashids.most()),
            Notation::Sqids(sqids) => (sqids.least(), sqids.most()),
            Notation::Sealed(sealed) => {
                let (before, inner) = (sealed.place.length(), sealed.inner.length());
                (before.0 + inner.0, before.1 + inner.1)
            }
        };
        (self.prefix.len() + least, self.prefix.len() + most)
    }
}

impl PartialEq for Form {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Form {}

impl fmt::Debug for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Form").field(&self.to_string()).finish()
    }
}

/// The largest number of so many bits, which are at least 1 and at most 128.
#[inline(always)]
fn largest(bits: u32) -> u128 {
    u128::MAX >> (u128::BITS - bits)
}

fn check_bits(
    form: &str,
    bits: u32,
    possible: core::ops::RangeInclusive<u32>,
) -> Result<(), FormDefinitionError> {
    if possible.contains(&bits) {
        return Ok(());
    }
    let (least, most) = (possible.start(), possible.end());
    Err(FormDefinitionError::Value(format!(
        "{bits} bits are outside {least}..={most}, which the form {form} writes"
    )))
}

/// A number of at most 64 bits.
fn narrow(number: u128) -> u64 {
    u64::try_from(number).expect("these forms are for at most 64 bits")
}

/// Whether `text` is what a form wrote for the number that it read from it.
fn same(text: &str, written: &Buffer) -> Result<(), FormError> {
    let (text, written) = (text.as_bytes(), written.bytes());
    if text == written {
        return Ok(());
    }
    Err(FormError::NotCanonical {
        at: text.iter().zip(written).take_while(|(read, wrote)| read == wrote).count(),
    })
}

/// Whether `alphabet` has at least `least` symbols, each once and printable ASCII.
fn check_symbols(form: &str, alphabet: &str, least: usize) -> Result<(), FormDefinitionError> {
    let twice = |(at, symbol): (usize, char)| alphabet[..at].contains(symbol).then_some(symbol);
    if let Some(symbol) = alphabet.chars().find(|symbol| !symbol.is_ascii_graphic()) {
        return Err(FormDefinitionError::Value(format!(
            "the alphabet of {form} has {symbol:?}: it has to be printable ASCII"
        )));
    }
    if let Some(symbol) = alphabet.char_indices().find_map(twice) {
        return Err(FormDefinitionError::Value(format!("the alphabet of {form} has {symbol:?} twice")));
    }
    if alphabet.len() < least {
        return Err(FormDefinitionError::Value(format!(
            "the alphabet of {form} has {} symbols, and needs at least {least}",
            alphabet.len()
        )));
    }
    Ok(())
}
