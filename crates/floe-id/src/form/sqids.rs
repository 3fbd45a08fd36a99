//! Sqids: a number in a shuffled alphabet that a first symbol turns, without words of a block list.
//! <https://sqids.org>, as `sqids-spec` of 2023 and its ports write it.

use alloc::{borrow::ToOwned, string::String, vec::Vec};

use super::alphabet::{digits, last_digit};
use super::buffer::Buffer;
use super::error::{FormDefinitionError, FormError};

mod blocklist;

pub(super) use blocklist::Blocklist;
#[cfg(test)]
pub(super) use blocklist::default as default_words;

/// The parameters of Sqids: a minimal length, an alphabet, and a list of words that no text may contain.
///
/// Only texts that are written are read. The specification also reads texts that the block list forbids, and texts with
/// other symbols after the number.
///
/// If the alphabet is short and the block list long, some numbers may have no text. Writing one returns
/// [`FormError::Blocked`](super::FormError::Blocked).
///
/// ```
/// use floe_id::form::{Buffer, Form, FormError, Sqids};
///
/// let form = Form::sqids(63, Sqids::new())?;
/// assert_eq!(form.encode(4_572_721_u64, &mut Buffer::new())?, "JExTR");
/// assert_eq!(form.decode("JExTR")?, 4_572_721);
/// assert_eq!(form.decode("aho1e"), Err(FormError::NotCanonical { at: 0 }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sqids {
    pub(super) min: u8,
    pub(super) alphabet: String,
    /// None for the default one.
    pub(super) blocklist: Option<Vec<String>>,
}

pub(super) const DEFAULT_ALPHABET: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const MIN_ALPHABET: usize = 3;

impl Sqids {
    /// Starts with no minimal length, letters and digits, and the default block list.
    pub fn new() -> Self {
        Self { min: 0, alphabet: DEFAULT_ALPHABET.to_owned(), blocklist: None }
    }

    /// Writes `length` symbols or more.
    ///
    /// ```
    /// use floe_id::form::{Form, Sqids};
    /// let form = Form::sqids(63, Sqids::new().min(8))?;
    /// let text = form.to_text(1_u64)?;
    /// assert!(text.len() >= 8 && form.decode(&text)? == 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn min(self, length: u8) -> Self {
        Self { min: length, ..self }
    }

    /// Writes these symbols: at least 3, each once, printable ASCII.
    ///
    /// ```
    /// use floe_id::form::{Form, Sqids};
    /// let form = Form::sqids(63, Sqids::new().alphabet("0123456789abcdef"))?;
    /// let text = form.to_text(1_000_u64)?;
    /// assert!(text.bytes().all(|symbol| symbol.is_ascii_hexdigit()) && form.decode(&text)? == 1_000);
    /// assert!(Form::sqids(63, Sqids::new().alphabet("aba")).is_err()); // the form checks the symbols
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn alphabet(self, symbols: &str) -> Self {
        Self { alphabet: symbols.to_owned(), ..self }
    }

    /// Replaces the default block list by these words. As in the specification, their case does not matter; words of
    /// less than three characters, and words with a character that is not in the alphabet, have no effect.
    ///
    /// ```
    /// use floe_id::form::{Form, Sqids};
    /// let any = Form::sqids(63, Sqids::new().blocklist([] as [&str; 0]))?;
    /// let word = any.to_text(1_000_u64)?;
    /// let form = Form::sqids(63, Sqids::new().blocklist([&word]))?;
    /// assert_ne!(form.to_text(1_000_u64)?, word);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn blocklist(self, words: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let mut words: Vec<String> = words.into_iter().map(|word| word.as_ref().to_lowercase()).collect();
        words.sort_unstable();
        words.dedup();
        Self { blocklist: Some(words), ..self }
    }
}

impl Default for Sqids {
    fn default() -> Self {
        Self::new()
    }
}

/// The alphabet and the list, ready for use.
#[derive(Clone, Debug)]
pub(super) struct Shuffled {
    pub(super) sqids: Sqids,
    /// The shuffled alphabet twice, so that it can be read from any symbol on.
    symbols: Vec<u8>,
    count: usize,
    blocklist: Blocklist,
    /// How many symbols stand for a number at most.
    digits: usize,
}

impl Shuffled {
    pub(super) fn new(bits: u32, mut sqids: Sqids) -> Result<Self, FormDefinitionError> {
        super::check_symbols("sqids", &sqids.alphabet, MIN_ALPHABET)?;
        let effective = |word: &String| {
            word.len() >= 3
                && word
                    .bytes()
                    .all(|byte| sqids.alphabet.bytes().any(|symbol| symbol.eq_ignore_ascii_case(&byte)))
        };
        let blocklist = match &mut sqids.blocklist {
            None => Blocklist::new(blocklist::default().map(str::to_owned).filter(effective)),
            Some(words) => {
                // One spelling for one form.
                words.retain(effective);
                Blocklist::new(words.iter().cloned())
            }
        };
        let mut symbols = sqids.alphabet.clone().into_bytes();
        shuffle(&mut symbols);
        let count = symbols.len();
        symbols.extend_from_within(..);
        Ok(Self { sqids, symbols, count, blocklist, digits: digits(count - 1, super::largest(bits)) })
    }

    pub(super) fn least(&self) -> usize {
        // The first symbol and one digit.
        2.max(self.sqids.min.into())
    }

    pub(super) fn most(&self) -> usize {
        (1 + self.digits).max(self.sqids.min.into())
    }

    /// Writes `number` into an empty buffer.
    pub(super) fn encode(&self, number: u64, buffer: &mut Buffer) -> Result<(), FormError> {
        let start = 1 + usize::from(self.symbols[last_digit(number, self.count).0]);
        // Each text that the list forbids moves the alphabet on by one, until it is where it began, and once more.
        for attempt in 0..=self.count {
            let offset = (start + attempt) % self.count;
            buffer.clear();
            self.write(number, offset, buffer);
            if !self.blocklist.forbids(buffer.bytes()) {
                return Ok(());
            }
        }
        Err(FormError::Blocked { number: number.into() })
    }

    /// The alphabet that begins with the symbol at `offset` is read backwards: its last symbol would separate a second
    /// number, and the digits are taken from the others.
    fn turned(&self, offset: usize) -> &[u8] {
        &self.symbols[offset..offset + self.count]
    }

    fn write(&self, number: u64, offset: usize, buffer: &mut Buffer) {
        let turned = self.turned(offset);
        let base = self.count - 1;
        let mut rest = number;
        loop {
            let (digit, before) = last_digit(rest, base);
            buffer.put([turned[base - 1 - digit]]);
            rest = before;
            if rest == 0 {
                break;
            }
        }
        buffer.put([turned[0]]);
        if buffer.len() < self.sqids.min.into() {
            self.lengthen(turned, buffer);
        }
    }

    /// Brings the text to the least length: the separator behind it, then shuffled alphabets.
    #[cold]
    fn lengthen(&self, turned: &[u8], buffer: &mut Buffer) {
        let min = usize::from(self.sqids.min);
        let mut text = buffer.bytes().to_vec();
        let mut alphabet: Vec<u8> = turned.iter().rev().copied().collect();
        text.push(alphabet[0]);
        while text.len() < min {
            shuffle(&mut alphabet);
            text.extend(alphabet.iter().take(min - text.len()));
        }
        buffer.clear();
        buffer.put_all(&text);
    }

    /// The number of a text whose length lies within the form's.
    pub(super) fn decode(&self, text: &str, bits: u32) -> Result<u64, FormError> {
        let alphabet = self.turned(0);
        if let Some(at) = text.bytes().position(|byte| !alphabet.contains(&byte)) {
            return Err(FormError::symbol(text, at));
        }
        let not_so = |at| FormError::NotCanonical { at };
        let (first, rest) = text.as_bytes().split_first().ok_or(FormError::Empty)?;
        let offset = alphabet.iter().position(|symbol| symbol == first).ok_or(not_so(0))?;
        let turned = self.turned(offset);
        let base = self.count - 1;
        let digits = rest.iter().take_while(|byte| **byte != turned[base]);
        let mut number = Some(0_u64);
        for byte in digits {
            let digit = turned.iter().rev().skip(1).position(|symbol| symbol == byte).unwrap_or(base) as u64;
            number = number
                .and_then(|number| number.checked_mul(base as u64))
                .and_then(|number| number.checked_add(digit));
        }
        let number = number.filter(|number| u128::from(*number) <= super::largest(bits));
        let number = number.ok_or(FormError::TooLarge { bits })?;
        let mut written = Buffer::new();
        self.encode(number, &mut written).map_err(|_| not_so(0))?;
        super::same(text, &written)?;
        Ok(number)
    }
}

/// The shuffle of Sqids, which needs no salt.
fn shuffle(symbols: &mut [u8]) {
    let count = symbols.len();
    for at in 0..count - 1 {
        let from_end = count - 1 - at;
        let other = at * from_end + usize::from(symbols[at]) + usize::from(symbols[from_end]);
        symbols.swap(at, other % count);
    }
}
