//! Hashids: a number in an alphabet that a salt shuffles. <https://hashids.org>, as `hashids.js` 2 and its ports write
//! it.
//!
//! What other libraries shuffle for each number depends on nothing but the number's first symbol (the "lottery"), so
//! all the alphabets that there can be are shuffled once, when the form is made.

use alloc::{borrow::ToOwned, format, string::String, vec, vec::Vec};

use super::alphabet::{digits, last_digit};
use super::buffer::Buffer;
use super::error::{FormDefinitionError, FormError};

/// The parameters of Hashids: a salt, a minimal length and an alphabet.
///
/// A salt is not a key: anybody with a few texts and their numbers can find the alphabet.
/// [`Form::sealed`](super::Form::sealed) has a key. Only texts of one number are read; other libraries also read texts
/// of several numbers.
///
/// ```
/// use floe_id::form::{Buffer, Form, Hashids};
///
/// let form = Form::hashids(63, Hashids::new("this is my salt"))?;
/// assert_eq!(form.encode(1_226_198_605_112_u64, &mut Buffer::new())?, "4o6Z7KqxE");
/// assert_eq!(form.to_string(), "hashids salt=this%20is%20my%20salt");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hashids {
    pub(super) salt: String,
    pub(super) min: u8,
    pub(super) alphabet: String,
}

pub(super) const DEFAULT_ALPHABET: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ1234567890";
const SEPARATORS: &str = "cfhistuCFHISTU";
const MIN_ALPHABET: usize = 16;
const MAX_SALT_BYTES: usize = 256;

impl Hashids {
    /// Starts with `salt`, no minimal length, and letters and digits. [`Hashids`] has an example.
    pub fn new(salt: &str) -> Self {
        Self { salt: salt.to_owned(), min: 0, alphabet: DEFAULT_ALPHABET.to_owned() }
    }

    /// Writes `length` symbols or more.
    ///
    /// ```
    /// use floe_id::form::{Form, Hashids};
    /// let form = Form::hashids(63, Hashids::new("pepper").min(8))?;
    /// let text = form.to_text(1_u64)?;
    /// assert!(text.len() >= 8 && form.decode(&text)? == 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn min(self, length: u8) -> Self {
        Self { min: length, ..self }
    }

    /// Writes these symbols: at least 16, each once, printable ASCII.
    ///
    /// ```
    /// use floe_id::form::{Form, Hashids};
    /// let form = Form::hashids(63, Hashids::new("pepper").alphabet("0123456789abcdef"))?;
    /// let text = form.to_text(42_u64)?;
    /// assert!(text.chars().all(|symbol| symbol.is_ascii_hexdigit()) && form.decode(&text)? == 42);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn alphabet(self, symbols: &str) -> Self {
        Self { alphabet: symbols.to_owned(), ..self }
    }
}

/// The alphabets of one salt.
#[derive(Clone, Debug)]
pub(super) struct Shuffled {
    pub(super) hashids: Hashids,
    symbols: Vec<u8>,
    guards: Vec<u8>,
    /// For each symbol that can come first, the alphabet that the others are taken from.
    alphabets: Vec<Vec<u8>>,
    /// How many symbols stand for a number at most.
    digits: usize,
}

impl Shuffled {
    pub(super) fn new(bits: u32, hashids: Hashids) -> Result<Self, FormDefinitionError> {
        let salt = hashids.salt.as_bytes();
        // The libraries differ in what they make of other characters: bytes, code points, UTF-16.
        if !hashids.salt.is_ascii() || salt.len() > MAX_SALT_BYTES {
            return Err(FormDefinitionError::Value(format!(
                "the salt has to be ASCII of at most {MAX_SALT_BYTES} characters"
            )));
        }
        super::check_symbols("hashids", &hashids.alphabet, MIN_ALPHABET)?;
        let (mut separators, mut symbols): (Vec<u8>, Vec<u8>) =
            hashids.alphabet.bytes().partition(|symbol| SEPARATORS.as_bytes().contains(symbol));
        // They are shuffled in their own order, not in the alphabet's.
        separators.sort_by_key(|symbol| SEPARATORS.bytes().position(|separator| separator == *symbol));
        shuffle(&mut separators, salt);
        // An alphabet has at least one separator for three and a half symbols.
        let wanted = (symbols.len() * 2).div_ceil(7);
        if separators.len() < wanted {
            separators.extend(symbols.drain(..wanted - separators.len()));
        }
        shuffle(&mut symbols, salt);
        // And one guard for twelve.
        let guards = symbols.len().div_ceil(12);
        let guards = if symbols.len() < 3 { &mut separators } else { &mut symbols }.drain(..guards).collect();
        let alphabets = symbols.iter().map(|first| {
            let mut alphabet = symbols.clone();
            let mut pepper = vec![*first];
            pepper.extend(salt.iter().chain(&symbols));
            pepper.truncate(alphabet.len());
            shuffle(&mut alphabet, &pepper);
            alphabet
        });
        let alphabets = alphabets.collect();
        let digits = digits(symbols.len(), super::largest(bits));
        Ok(Self { hashids, symbols, guards, alphabets, digits })
    }

    pub(super) fn least(&self) -> usize {
        // The first symbol and one digit.
        2.max(self.hashids.min.into())
    }

    pub(super) fn most(&self) -> usize {
        (1 + self.digits).max(self.hashids.min.into())
    }

    /// Writes `number` into an empty buffer.
    pub(super) fn encode(&self, number: u64, buffer: &mut Buffer) {
        let (seed, _) = last_digit(number, 100);
        let first = seed % self.symbols.len();
        let alphabet = &self.alphabets[first];
        let mut rest = number;
        loop {
            let (digit, before) = last_digit(rest, alphabet.len());
            buffer.put([alphabet[digit]]);
            rest = before;
            if rest == 0 {
                break;
            }
        }
        buffer.put([self.symbols[first]]);
        if buffer.len() < self.hashids.min.into() {
            self.lengthen(seed, alphabet, buffer);
        }
    }

    /// Brings the text to the least length: a guard in front of it, one behind it, then shuffled alphabets around it.
    #[cold]
    fn lengthen(&self, seed: usize, alphabet: &[u8], buffer: &mut Buffer) {
        let min = usize::from(self.hashids.min);
        let mut text = buffer.bytes().to_vec();
        let guard = |symbol: u8| self.guards[(seed + usize::from(symbol)) % self.guards.len()];
        text.insert(0, guard(text[0]));
        if text.len() < min {
            text.push(guard(text[2]));
        }
        let mut alphabet = alphabet.to_vec();
        while text.len() < min {
            let pepper = alphabet.clone();
            shuffle(&mut alphabet, &pepper);
            let (left, right) = alphabet.split_at(alphabet.len() / 2);
            text = [right, &text, left].concat();
            let excess = text.len().saturating_sub(min);
            text.drain(..excess / 2);
            text.truncate(min);
        }
        buffer.clear();
        buffer.put_all(&text);
    }

    /// The number of a text whose length lies within the form's.
    pub(super) fn decode(&self, text: &str, bits: u32) -> Result<u64, FormError> {
        let known = |byte: &u8| self.hashids.alphabet.as_bytes().contains(byte);
        if let Some(at) = text.bytes().position(|byte| !known(&byte)) {
            return Err(FormError::symbol(text, at));
        }
        let guard = |byte: &u8| self.guards.contains(byte);
        let bytes = text.as_bytes();
        let start = bytes.iter().position(guard).map_or(0, |at| at + 1);
        let end = bytes.iter().rposition(guard).filter(|end| *end >= start).unwrap_or(bytes.len());
        let not_so = |at| FormError::NotCanonical { at };
        let (first, rest) = bytes[start..end].split_first().ok_or(not_so(0))?;
        let first = self.symbols.iter().position(|symbol| symbol == first).ok_or(not_so(start))?;
        let alphabet = &self.alphabets[first];
        let mut number = Some(0_u64);
        for (at, byte) in (start + 1..).zip(rest) {
            // A separator would begin a second number.
            let digit = alphabet.iter().position(|symbol| symbol == byte).ok_or(not_so(at))? as u64;
            number = number
                .and_then(|number| number.checked_mul(self.symbols.len() as u64))
                .and_then(|number| number.checked_add(digit));
        }
        let number = number.filter(|number| u128::from(*number) <= super::largest(bits));
        let number = number.ok_or(FormError::TooLarge { bits })?;
        let mut written = Buffer::new();
        self.encode(number, &mut written);
        super::same(text, &written)?;
        Ok(number)
    }
}

/// The "consistent shuffle" of Hashids: the same salt brings the same symbols into the same order.
fn shuffle(symbols: &mut [u8], salt: &[u8]) {
    let mut sum = 0;
    for (at, turn) in (1..symbols.len()).rev().zip(salt.iter().zip(0_usize..).cycle()) {
        let (salt, index) = (usize::from(*turn.0), turn.1);
        sum += salt;
        symbols.swap(at, (salt + index + sum) % at);
    }
}
