//! The part of ZooKeeper's protocol that a ledger needs: requests to bytes, and bytes to replies.
//!
//! A frame is its length (four bytes, big-endian) and its content. Numbers are big-endian. Texts and data have their
//! length before them. The layouts are those of `zookeeper.jute` in ZooKeeper's sources.

use super::code;
use super::trouble::Error;

/// The longest frame that is read. Except for lists of children, ZooKeeper sends 1 MiB at most.
pub(super) const LONGEST_FRAME: usize = 16 << 20;

/// The numbers of messages that are not replies to a request.
pub(super) const EVENT: i32 = -1;
pub(super) const PING: i32 = -2;
const AUTH: i32 = -4;

/// The access list of a new node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    /// Everyone has all rights.
    World,
    /// Clients with the same credentials have all rights, and others none.
    Creator,
}

/// A request to a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Request<'a> {
    /// Sends credentials, `user:password`.
    Digest(&'a str),
    /// Makes a node that is not ephemeral.
    Create { path: &'a str, data: &'a [u8], access: Access },
    /// Reads a node's data.
    Read { path: &'a str },
    /// Changes a node's data if it has this version; -1 means any.
    Write { path: &'a str, data: &'a [u8], version: i32 },
    /// Removes a node, whatever its version.
    Delete { path: &'a str },
    /// Lists the names of a node's children.
    Children { path: &'a str },
    /// Reads a node's access list.
    Access { path: &'a str },
    /// Fails if the node is missing. It is possible only inside `All`.
    Exists { path: &'a str },
    /// Runs all of them in one transaction, or none.
    All(Vec<Self>),
}

impl Request<'_> {
    /// Appends the frame of request number `number`, and returns the number that its reply will have.
    pub(super) fn write(&self, number: i32, frames: &mut Vec<u8>) -> Result<i32, Error> {
        let number = if matches!(self, Self::Digest(_)) { AUTH } else { number };
        frame(frames, |content| {
            int(content, number);
            int(content, self.operation());
            self.body(content)
        })?;
        Ok(number)
    }

    fn operation(&self) -> i32 {
        match self {
            Self::Delete { .. } => 2,
            Self::Read { .. } => 4,
            Self::Write { .. } => 5,
            Self::Access { .. } => 6,
            Self::Children { .. } => 8,
            Self::Exists { .. } => 13,
            Self::All(_) => 14,
            // Create2 of ZooKeeper 3.5, whose reply has the node's Stat.
            Self::Create { .. } => 15,
            Self::Digest(_) => 100,
        }
    }

    fn body(&self, content: &mut Vec<u8>) -> Result<(), Error> {
        match self {
            Self::Digest(credentials) => {
                int(content, 0);
                bytes(content, b"digest")?;
                bytes(content, credentials.as_bytes())?;
            }
            Self::Create { path, data, access } => {
                bytes(content, path.as_bytes())?;
                bytes(content, data)?;
                let (scheme, who) = match access {
                    Access::World => ("world", "anyone"),
                    Access::Creator => ("auth", ""),
                };
                int(content, 1);
                int(content, 31);
                bytes(content, scheme.as_bytes())?;
                bytes(content, who.as_bytes())?;
                int(content, 0);
            }
            Self::Read { path } | Self::Children { path } => {
                bytes(content, path.as_bytes())?;
                content.push(0);
            }
            Self::Access { path } => bytes(content, path.as_bytes())?,
            Self::Write { path, data, version } => {
                bytes(content, path.as_bytes())?;
                bytes(content, data)?;
                int(content, *version);
            }
            Self::Exists { path } | Self::Delete { path } => {
                bytes(content, path.as_bytes())?;
                int(content, -1);
            }
            Self::All(requests) => {
                for request in requests {
                    int(content, request.operation());
                    content.push(0);
                    int(content, -1);
                    request.body(content)?;
                }
                int(content, -1);
                content.push(1);
                int(content, -1);
            }
        }
        Ok(())
    }
}

/// The frame that asks for a session with about `timeout_ms`. A server that is read-only refuses it.
pub(super) fn ask_for_session(timeout_ms: i32) -> Result<Vec<u8>, Error> {
    let mut frames = Vec::new();
    frame(&mut frames, |content| {
        int(content, 0);
        long(content, 0);
        int(content, timeout_ms);
        long(content, 0);
        bytes(content, &[0; 16])?;
        content.push(0);
        Ok(())
    })?;
    Ok(frames)
}

/// The session's timeout in milliseconds, as the server sets it.
pub(super) fn session_timeout_ms(content: &[u8]) -> Result<u64, Error> {
    let mut reader = Reader(content);
    reader.int()?;
    match u64::try_from(reader.int()?) {
        Ok(timeout @ 1..) => Ok(timeout),
        _ => Err(Error::Garbled("a session that has ended before it began")),
    }
}

/// The frame of a ping.
pub(super) fn ping() -> Vec<u8> {
    [8_i32, PING, 11].map(i32::to_be_bytes).concat()
}

/// The frame that ends a session.
pub(super) fn end_of_session() -> Vec<u8> {
    [8_i32, i32::MAX, -11].map(i32::to_be_bytes).concat()
}

/// One reply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Reply {
    /// The number of the request; [`EVENT`], [`PING`] or `AUTH` if it is not a reply to one.
    pub(super) number: i32,
    /// The last transaction that the server had applied when it answered.
    pub(super) zxid: i64,
    /// The error's code; 0 if there is none.
    pub(super) code: i32,
    body: Vec<u8>,
}

/// The part of a node's `Stat` that floe uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stat {
    /// The time of the last write, in Unix milliseconds by the leader's clock.
    pub(super) written_ms: i64,
    /// The number of writes since it was made. It wraps around.
    pub(super) version: i32,
}

impl Reply {
    /// Reads the reply in a frame's content.
    pub(super) fn parse(content: &[u8]) -> Result<Self, Error> {
        let mut reader = Reader(content);
        let (number, zxid, code) = (reader.int()?, reader.long()?, reader.int()?);
        Ok(Self { number, zxid, code, body: reader.0.to_vec() })
    }

    /// The answer to `Write`.
    pub(super) fn written(&self) -> Result<Stat, Error> {
        self.reader()?.stat()
    }

    /// The answer to `Read`: the data and the node's version; `None` if there is no such node.
    pub(super) fn data(&self) -> Result<Option<(Vec<u8>, i32)>, Error> {
        if self.code == code::NO_NODE {
            return Ok(None);
        }
        let mut reader = self.reader()?;
        Ok(Some((reader.bytes()?.to_vec(), reader.stat()?.version)))
    }

    /// The answer to `Children`; `None` if there is no such node.
    pub(super) fn children(&self) -> Result<Option<Vec<String>>, Error> {
        if self.code == code::NO_NODE {
            return Ok(None);
        }
        let mut reader = self.reader()?;
        (0..reader.int()?).map(|_| reader.text()).collect::<Result<_, _>>().map(Some)
    }

    /// The answer to `Access`: whether everyone may read the node.
    pub(super) fn is_open_to_all(&self) -> Result<bool, Error> {
        let mut reader = self.reader()?;
        let mut is_open = false;
        for _ in 0..reader.int()? {
            let (rights, scheme, _who) = (reader.int()?, reader.text()?, reader.text()?);
            is_open |= scheme == "world" && rights & 1 == 1;
        }
        Ok(is_open)
    }

    /// The answer to `All`: the version after the last `Write`, if there is one; or the first error's place and code.
    pub(super) fn outcome(&self) -> Result<Result<Option<i32>, (usize, i32)>, Error> {
        let mut reader = self.reader()?;
        let mut last = None;
        for place in 0.. {
            let (operation, is_end) = (reader.int()?, reader.byte()? != 0);
            reader.int()?;
            match operation {
                _ if is_end => break,
                -1 => match reader.int()? {
                    // This one was undone because of a later one.
                    0 => {}
                    code => return Ok(Err((place, code))),
                },
                5 => last = Some(reader.stat()?.version),
                1 => drop(reader.bytes()?),
                15 => {
                    reader.bytes()?;
                    reader.stat()?;
                }
                2 | 13 => {}
                _ => return Err(Error::Garbled("a result of a kind that was not asked for")),
            }
        }
        Ok(Ok(last))
    }

    /// Whether the request succeeded, or failed with one of these `codes`; `Err` for any other.
    pub(super) fn is_done_or(&self, codes: &[i32]) -> Result<bool, Error> {
        match self.code {
            0 => Ok(true),
            code if codes.contains(&code) => Ok(false),
            code => Err(Error::Code(code)),
        }
    }

    fn reader(&self) -> Result<Reader<'_>, Error> {
        match self.code {
            0 => Ok(Reader(&self.body)),
            code => Err(Error::Code(code)),
        }
    }
}

/// A frame's content, and what comes after it.
pub(super) type Split<'a> = (&'a [u8], &'a [u8]);

/// The next frame of the bytes that have arrived; `None` until it is complete.
pub(super) fn next_frame(bytes: &[u8]) -> Result<Option<Split<'_>>, Error> {
    let Some((length, rest)) = bytes.split_first_chunk() else { return Ok(None) };
    match usize::try_from(i32::from_be_bytes(*length)) {
        Ok(length) if length <= LONGEST_FRAME => Ok(rest.split_at_checked(length)),
        _ => Err(Error::Garbled("a frame of an impossible length")),
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn int(&mut self) -> Result<i32, Error> {
        self.chunk().map(i32::from_be_bytes)
    }

    fn long(&mut self) -> Result<i64, Error> {
        self.chunk().map(i64::from_be_bytes)
    }

    fn byte(&mut self) -> Result<u8, Error> {
        self.chunk().map(u8::from_be_bytes)
    }

    /// Reads data or a text. Java's null is empty.
    fn bytes(&mut self) -> Result<&'a [u8], Error> {
        let length = usize::try_from(self.int()?.max(0)).map_err(|_| Error::Garbled("a length"))?;
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Error::Garbled("a short reply"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn text(&mut self) -> Result<String, Error> {
        let bytes = self.bytes()?.to_vec();
        String::from_utf8(bytes).map_err(|_| Error::Garbled("a text that is not UTF-8"))
    }

    fn stat(&mut self) -> Result<Stat, Error> {
        let _made_by = self.long()?;
        let _written_by = self.long()?;
        let _made_ms = self.long()?;
        let written_ms = self.long()?;
        let version = self.int()?;
        // cversion, aversion, ephemeralOwner, dataLength, numChildren, pzxid.
        self.chunk::<32>()?;
        Ok(Stat { written_ms, version })
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (chunk, rest) = self.0.split_first_chunk().ok_or(Error::Garbled("a short reply"))?;
        self.0 = rest;
        Ok(*chunk)
    }
}

fn frame(frames: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>) -> Result<(), Error>) -> Result<(), Error> {
    let mut content = Vec::new();
    fill(&mut content)?;
    bytes(frames, &content)
}

fn int(content: &mut Vec<u8>, number: i32) {
    content.extend(number.to_be_bytes());
}

fn long(content: &mut Vec<u8>, number: i64) {
    content.extend(number.to_be_bytes());
}

fn bytes(content: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Error> {
    let length = i32::try_from(bytes.len()).map_err(|_| Error::Garbled("a request of over 2 GiB"))?;
    int(content, length);
    content.extend(bytes);
    Ok(())
}
