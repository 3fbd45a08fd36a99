//! Writes replies as bytes.

use crate::one_line;

/// The protocol version of a connection: 2 until the client says `HELLO 3`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// RESP2.
    #[default]
    Two,
    /// RESP3.
    Three,
}

/// Appends replies to a connection's output. Announce an array or a map with its length, then write its elements one by
/// one.
///
/// ```
/// use floe_wire::resp::{Encoder, Version};
///
/// let inspect = |version| {
///     let mut output = Vec::new();
///     let mut reply = Encoder::new(&mut output, version);
///     reply.map(1);
///     reply.bulk(b"worker");
///     reply.integer(7);
///     output
/// };
/// assert_eq!(inspect(Version::Two), b"*2\r\n$6\r\nworker\r\n:7\r\n");
/// assert_eq!(inspect(Version::Three), b"%1\r\n$6\r\nworker\r\n:7\r\n");
/// ```
#[derive(Debug)]
pub struct Encoder<'a> {
    output: &'a mut Vec<u8>,
    version: Version,
}

impl<'a> Encoder<'a> {
    /// Writes to the end of `output`, in this version.
    pub fn new(output: &'a mut Vec<u8>, version: Version) -> Self {
        Self { output, version }
    }

    /// `+text`. A line end in the text, which would end the reply, is written as a space.
    pub fn simple(&mut self, text: &str) {
        self.output.push(b'+');
        one_line::extend(self.output, text);
        self.output.extend_from_slice(b"\r\n");
    }

    /// `-CODE message`. Clients branch on the code. A line end would end the reply, so it is written as a space, as in
    /// Redis: a message may quote a client's bytes.
    pub fn error(&mut self, code: &str, message: &str) {
        self.output.push(b'-');
        one_line::extend(self.output, code);
        self.output.push(b' ');
        one_line::extend(self.output, message);
        self.output.extend_from_slice(b"\r\n");
    }

    /// `:number`.
    pub fn integer(&mut self, number: i64) {
        self.headed(b':', number);
    }

    /// A string of any bytes.
    pub fn bulk(&mut self, bytes: &[u8]) {
        self.sized(b'$', bytes.len());
        self.output.extend_from_slice(bytes);
        self.output.extend_from_slice(b"\r\n");
    }

    /// A number as a string: the reply to `GET`.
    pub fn bulk_number(&mut self, number: i64) {
        self.bulk(itoa::Buffer::new().format(number).as_bytes());
    }

    /// Nothing: the key does not exist.
    pub fn null(&mut self) {
        let null: &[u8] = match self.version {
            Version::Two => b"$-1\r\n",
            Version::Three => b"_\r\n",
        };
        self.output.extend_from_slice(null);
    }

    /// Announces an array of `length` replies.
    pub fn array(&mut self, length: usize) {
        self.sized(b'*', length);
    }

    /// Announces a map of `pairs`, each of which is two replies: a key and a value. Version 2 has no maps: it gets an
    /// array of twice the length.
    ///
    /// # Panics
    /// If twice `pairs` does not fit a `usize`.
    pub fn map(&mut self, pairs: usize) {
        match self.version {
            Version::Two => self.sized(b'*', pairs * 2),
            Version::Three => self.sized(b'%', pairs),
        }
    }

    /// A number with a fraction. Version 2 has none: it gets a string.
    pub fn double(&mut self, number: f64) {
        let text = if number.is_nan() { "nan".to_owned() } else { number.to_string() };
        match self.version {
            Version::Two => self.bulk(text.as_bytes()),
            Version::Three => {
                self.output.push(b',');
                self.output.extend_from_slice(text.as_bytes());
                self.output.extend_from_slice(b"\r\n");
            }
        }
    }

    /// Text for people, such as `INFO`'s, which redis-cli shows with its line ends. Version 2 gets a bulk string.
    ///
    /// # Panics
    /// If the text's length and four do not fit a `usize`.
    pub fn verbatim(&mut self, text: &str) {
        match self.version {
            Version::Two => self.bulk(text.as_bytes()),
            Version::Three => {
                self.sized(b'=', text.len() + 4);
                self.output.extend_from_slice(b"txt:");
                self.output.extend_from_slice(text.as_bytes());
                self.output.extend_from_slice(b"\r\n");
            }
        }
    }

    fn headed(&mut self, kind: u8, number: impl itoa::Integer) {
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(number).as_bytes();
        self.output.reserve(digits.len() + 3);
        self.output.push(kind);
        self.output.extend_from_slice(digits);
        self.output.extend_from_slice(b"\r\n");
    }

    fn sized(&mut self, kind: u8, length: usize) {
        self.headed(kind, length);
    }
}
