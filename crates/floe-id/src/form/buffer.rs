//! Where a text is written: from its end to its beginning, since a number's last symbol is known first.

use alloc::string::String;
use core::fmt;

/// Room for one text of any [`Form`](super::Form), to be used again and again.
///
/// ```
/// use floe_id::form::{Buffer, Form};
///
/// let form: Form = "base62".parse()?;
/// let mut buffer = Buffer::new();
/// assert_eq!(form.encode(61_u64, &mut buffer)?, "z");
/// assert_eq!(form.encode(62_u64, &mut buffer)?, "10");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[repr(align(16))]
pub struct Buffer {
    bytes: [u8; Buffer::BYTES],
    /// Where what was written begins. It ends where the buffer does.
    start: usize,
}

/// What a check for ASCII looks at in one step.
const ALIGN: usize = 16;

impl Buffer {
    /// No form writes a longer text: at most a prefix, a key id with its hyphen, and 255 symbols.
    pub const BYTES: usize = 336;

    /// An empty one.
    pub const fn new() -> Self {
        Self { bytes: [0; Self::BYTES], start: Self::BYTES }
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.start = Self::BYTES;
    }

    /// How long what was written is.
    #[inline]
    pub(super) fn len(&self) -> usize {
        Self::BYTES - self.start
    }

    /// What was written, which is ASCII.
    #[inline]
    pub(super) fn text(&self) -> &str {
        let aligned = self.start - self.start % ALIGN;
        let text = str::from_utf8(&self.bytes[aligned..]).expect("forms write ASCII alone");
        &text[self.start - aligned..]
    }

    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Writes before what is there.
    #[inline]
    pub(super) fn put<const COUNT: usize>(&mut self, bytes: [u8; COUNT]) {
        self.start -= COUNT;
        self.bytes[self.start..self.start + COUNT].copy_from_slice(&bytes);
    }

    /// Writes before what is there.
    #[inline]
    pub(super) fn put_all(&mut self, bytes: &[u8]) {
        self.start -= bytes.len();
        self.bytes[self.start..self.start + bytes.len()].copy_from_slice(bytes);
    }

    /// The last bytes, to be written at once. [`keep`](Self::keep) says how many of them are the text.
    #[inline]
    pub(super) fn end<const COUNT: usize>(&mut self) -> &mut [u8; COUNT] {
        self.bytes.last_chunk_mut().expect("a buffer has room for every number")
    }

    /// Makes the last `length` bytes what was written.
    #[inline]
    pub(super) fn keep(&mut self, length: usize) {
        self.start = Self::BYTES - length;
    }

    /// Takes away what stands before the first byte that is not `byte`.
    pub(super) fn trim(&mut self, byte: u8) {
        self.start += self.bytes().iter().take_while(|have| **have == byte).count();
    }

    /// Writes `byte` until there are `length`.
    #[inline]
    pub(super) fn pad(&mut self, byte: u8, length: usize) {
        while self.len() < length {
            self.start -= 1;
            self.bytes[self.start] = byte;
        }
    }
}

impl Default for Buffer {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Buffer").field(&String::from_utf8_lossy(self.bytes())).finish()
    }
}
