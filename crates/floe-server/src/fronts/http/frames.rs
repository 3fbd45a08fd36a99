//! How far an HTTP/2 client is in its frames, so that an unfinished frame can be bounded in time.
//!
//! Source: RFC 9113, sections 3.4 ("HTTP/2 Connection Preface"), 4.1 ("Frame Format") and 6.10 ("CONTINUATION").

/// The length of the preface.
const PREFACE: usize = 24;

/// The length of a frame's head.
const HEAD: usize = 9;

const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;

/// See the module.
pub(super) struct Frames {
    head: [u8; HEAD],
    /// How much of the next frame's head has come.
    begun: usize,
    /// How much of the preface, or of the frame, has not come.
    left: usize,
    /// What has come goes on in the next frame: the preface, whose end is the first frame, or a header.
    goes_on: bool,
}

impl Frames {
    /// At the front of a connection.
    pub(super) fn new() -> Self {
        Self { head: [0; HEAD], begun: 0, left: PREFACE, goes_on: true }
    }

    /// Whether everything that has begun has ended.
    pub(super) fn is_between(&self) -> bool {
        self.left == 0 && self.begun == 0 && !self.goes_on
    }

    /// Takes what has come; whether something has ended in it.
    pub(super) fn read(&mut self, bytes: &[u8]) -> bool {
        let mut rest = bytes.iter();
        let mut ended = false;
        loop {
            if self.left > 0 {
                let count = self.left.min(rest.len());
                self.left -= count;
                rest = rest.as_slice().get(count..).unwrap_or_default().iter();
                ended |= self.is_between();
            }
            let Some(byte) = rest.next() else { return ended };
            if let Some(place) = self.head.get_mut(self.begun) {
                *place = *byte;
            }
            self.begun += 1;
            if self.begun == HEAD {
                let [high, middle, low, kind, flags, ..] = self.head;
                self.begun = 0;
                self.left = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
                self.goes_on = matches!(kind, HEADERS | CONTINUATION) && flags & END_HEADERS == 0;
                ended |= self.is_between();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_between_its_frames_and_nowhere_else() {
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
        let header = b"\0\0\x03\x01\x01\0\0\0\x01abc\0\0\x01\x09\x00\0\0\0\x01d\0\0\x02\x09\x04\0\0\0\x01ef";
        let data = b"\0\0\x05\0\x01\0\0\0\x01hello";
        let bytes = [&preface[..], header, data].concat();
        let ends = [preface.len(), preface.len() + header.len(), bytes.len()];
        let (mut each, mut ended) = (Frames::new(), Vec::new());
        for (at, byte) in bytes.iter().enumerate() {
            assert_eq!(each.read(&[*byte]), each.is_between(), "{at}");
            if each.is_between() {
                ended.push(at + 1);
            }
            let mut whole = Frames::new();
            assert_eq!(whole.read(&bytes[..=at]), at + 1 >= ends[0]);
            assert_eq!(whole.is_between(), ends.contains(&(at + 1)), "{at}");
        }
        assert_eq!(ended, ends);
    }
}
