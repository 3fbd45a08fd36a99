//! Reads from the front of the bytes that have arrived so far, never past their end.

/// Bytes, and how far they have been read. A read is complete, or it is `None` because too few bytes have arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

#[cfg_attr(
    not(all(feature = "memcached", feature = "mysql", feature = "resp", feature = "thrift")),
    allow(dead_code, reason = "no codec needs all of it")
)]
impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes have been read.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// All bytes, read and unread.
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The bytes that have not been read yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// The next `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(count)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    /// The next `N` bytes.
    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// The next byte.
    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_that_does_not_fit_moves_nothing() {
        let mut cursor = Cursor::new(b"abc");
        assert_eq!(cursor.take(4), None);
        assert_eq!(cursor.take(usize::MAX), None);
        assert_eq!(cursor.byte(), Some(b'a'));
        assert_eq!(cursor.take(usize::MAX), None, "an end past the address space");
        assert_eq!((cursor.array::<2>(), cursor.rest(), cursor.position()), (Some(*b"bc"), &b""[..], 3));
        assert_eq!(cursor.byte(), None);
    }
}
