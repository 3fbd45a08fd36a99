//! Sealed: a number under a keyed permutation of its width, written in another form.

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;
use core::str::FromStr;

use super::buffer::Buffer;
use super::error::{FormDefinitionError, FormError};
use super::key_id::KeyId;
use super::permutation::Permutation;
use super::{Form, Notation};

/// A key: 128 bits that must stay secret. `Debug` does not show them. `FromStr` reads 32 hexadecimal digits.
///
/// Give each name its own key: two names with the same key write the same number as the same text.
#[derive(Clone)]
pub struct Key([u8; 16]);

/// The keys of a sealed form: the key that it seals with, and earlier keys whose texts it still opens.
///
/// ```
/// use floe_id::form::{Form, Key, KeyId, Keys};
/// let (old, new) = (Key::from([1; 16]), Key::from([2; 16]));
/// let before = "sealed key=1 keyid=prefix base62".parse::<Form>()?;
/// let text = before.with_keys(&Keys::new().with(KeyId::new(1), old.clone())?)?.to_text(42_u64)?;
/// let keys = Keys::new().with(KeyId::new(1), old)?.with(KeyId::new(2), new)?;
/// let now = "sealed key=2 keyid=prefix base62".parse::<Form>()?.with_keys(&keys)?;
/// assert_eq!(now.decode(&text)?, 42);
/// assert!(now.to_text(42_u64)?.starts_with("2-"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct Keys(BTreeMap<KeyId, Key>);

/// Where a sealed text has the id of its key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KeyPlace {
    /// Nowhere: the form has one key for ever.
    Unsaid,
    /// In this many bits above those of the number, 1 to 16.
    Bits(u8),
    /// In front of the number, in decimal and followed by a hyphen: `3-5HrT1zZ`.
    Prefix,
}

/// A check value of a key: 24 bits that show whether two keys of one id are the same, without revealing them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyCheck(u32);

/// The sealed part of a form.
#[derive(Clone)]
pub(super) struct Sealed {
    /// The key to seal with; a form whose texts say their keys can do without, and then only opens.
    pub(super) key: Option<KeyId>,
    /// That of the one key that a form has for ever.
    pub(super) check: Option<KeyCheck>,
    pub(super) place: KeyPlace,
    /// What the sealed number is written in.
    pub(super) inner: Form,
    /// What is written in front of it.
    before: String,
    /// The key id where it stands above the number's bits, and else nothing.
    above: u128,
    /// That of the key to seal with, and those of all keys to open with.
    seal: Option<Permutation>,
    open: BTreeMap<KeyId, Permutation>,
    /// The check values of the keys that texts name.
    pub(super) checks: Vec<(KeyId, KeyCheck)>,
}

const MAX_KEY_BITS: u8 = 16;
const HYPHEN: u8 = b'-';

impl KeyPlace {
    /// How many bits of the text's number say the key.
    pub(super) fn bits(self) -> u32 {
        match self {
            Self::Bits(bits) => bits.into(),
            Self::Unsaid | Self::Prefix => 0,
        }
    }

    /// How long what says the key in front of the number is, at least and at most.
    pub(super) fn length(self) -> (usize, usize) {
        match self {
            Self::Prefix => ("0-".len(), "65535-".len()),
            Self::Unsaid | Self::Bits(_) => (0, 0),
        }
    }
}

impl Sealed {
    /// For numbers of `bits` bits.
    pub(super) fn new(
        bits: u32,
        key: Option<KeyId>,
        place: KeyPlace,
        inner: Form,
    ) -> Result<Self, FormDefinitionError> {
        if let KeyPlace::Bits(bits) = place {
            if bits == 0 || bits > MAX_KEY_BITS {
                return Err(FormDefinitionError::Value(format!(
                    "{bits} bits of key id are outside 1..={MAX_KEY_BITS}"
                )));
            }
            if let Some(key) = key.filter(|key| u32::from(key.0) >> bits != 0) {
                return Err(FormDefinitionError::Value(format!("the key id {key} does not fit {bits} bits")));
            }
        }
        let before = match (place, key) {
            (KeyPlace::Prefix, Some(key)) => format!("{key}-"),
            _ => String::new(),
        };
        let above = match (place, key) {
            (KeyPlace::Bits(_), Some(key)) => u128::from(key.0) << bits,
            _ => 0,
        };
        let (open, checks) = (BTreeMap::new(), Vec::new());
        Ok(Self { key, check: None, place, inner, before, above, seal: None, open, checks })
    }

    pub(super) fn with_keys(&self, bits: u32, keys: &Keys) -> Result<Self, FormDefinitionError> {
        let named = |id| keys.0.get(&id).ok_or(FormDefinitionError::MissingKey(id));
        let current = self.key.map(named).transpose()?;
        // Where a text does not say its key there is but one.
        let one = self.place == KeyPlace::Unsaid;
        let check_of = |key: &Key| KeyCheck(Permutation::check(key.0));
        let check = current.filter(|_| one).map(check_of);
        if let (Some(id), Some(_)) = (self.key, self.check.filter(|known| check != Some(*known))) {
            return Err(FormDefinitionError::AnotherKey(id));
        }
        let seal = current.map(|key| Permutation::new(bits, key.0));
        let open = keys.0.iter().filter(|(id, _)| !one || Some(**id) == self.key);
        let open = open.map(|(id, key)| (*id, Permutation::new(bits, key.0))).collect();
        let checks = keys.0.iter().filter(|_| !one).map(|(id, key)| (*id, check_of(key))).collect();
        Ok(Self { check, seal, open, checks, ..self.clone() })
    }

    /// Whether it can write: it was given the key to do so.
    pub(super) fn can_seal(&self) -> bool {
        self.seal.is_some()
    }

    #[inline]
    pub(super) fn put(&self, number: u128, buffer: &mut Buffer) -> Result<(), FormError> {
        let Some(permutation) = &self.seal else {
            return Err(self.key.map_or(FormError::NoKeyToSeal, FormError::UnknownKey));
        };
        let sealed = permutation.seal(number) | self.above;
        match &self.inner.notation {
            // In place, since it has no prefix, and every number that comes here fits it.
            Notation::Digits(digits) => digits.encode(sealed, buffer),
            _ => self.inner.put(sealed, buffer)?,
        }
        if !self.before.is_empty() {
            buffer.put_all(self.before.as_bytes());
        }
        Ok(())
    }

    /// What `text` means.
    pub(super) fn read(&self, text: &str, bits: u32) -> Result<u128, FormError> {
        let (key, sealed) = match self.place {
            KeyPlace::Unsaid => (self.key.ok_or(FormError::NoKeyToSeal)?, self.inner.decode(text)?),
            KeyPlace::Bits(_) => {
                let number = self.inner.decode(text)?;
                let id = u16::try_from(number >> bits).map_err(|_| FormError::TooLarge { bits })?;
                (KeyId(id), number & super::largest(bits))
            }
            KeyPlace::Prefix => {
                let (id, rest) = key_before(text)?;
                (id, self.inner.decode(rest).map_err(|error| error.later(text.len() - rest.len()))?)
            }
        };
        let permutation = self.open.get(&key).ok_or(FormError::UnknownKey(key))?;
        Ok(permutation.open(sealed))
    }
}

/// The key id in front of a sealed number, and what comes behind its hyphen.
fn key_before(text: &str) -> Result<(KeyId, &str), FormError> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 || text.as_bytes().get(digits) != Some(&HYPHEN) {
        return Err(FormError::NoKey { at: 0 });
    }
    if digits > 1 && text.starts_with('0') {
        return Err(FormError::LeadingZero { at: 0 });
    }
    let (id, rest) = text.split_at(digits);
    let id = id.parse().map_err(|_| FormError::TooLarge { bits: MAX_KEY_BITS.into() })?;
    Ok((KeyId(id), rest.strip_prefix('-').unwrap_or(rest)))
}

impl fmt::Display for KeyCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06x}", self.0)
    }
}

impl FromStr for KeyCheck {
    type Err = ();

    /// Reads what `Display` writes: six digits, since no key has a check of more.
    fn from_str(text: &str) -> Result<Self, ()> {
        let check = u32::from_str_radix(text, 16).map(Self).map_err(|_| ())?;
        if text.len() == 6 && check.to_string() == text { Ok(check) } else { Err(()) }
    }
}

impl Keys {
    /// Starts with no keys.
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Adds a key. [`Keys`] has an example.
    ///
    /// # Errors
    /// [`FormDefinitionError::Value`] if there is a key with this id: a text that is sealed with one cannot be opened
    /// with the other.
    pub fn with(mut self, id: KeyId, key: Key) -> Result<Self, FormDefinitionError> {
        match self.0.insert(id, key) {
            None => Ok(self),
            Some(_) => Err(FormDefinitionError::Value(format!("there are two keys with the id {id}"))),
        }
    }
}

impl From<[u8; 16]> for Key {
    fn from(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl FromStr for Key {
    type Err = FormDefinitionError;

    /// Reads 32 hexadecimal digits.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Some(text)
            .filter(|text| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .and_then(|text| u128::from_str_radix(text, 16).ok())
            .map(|key| Self(key.to_be_bytes()))
            .ok_or_else(|| FormDefinitionError::value("a key is 32 hexadecimal digits"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}
