//! MySQL's protocol, the server's side, as far as a server of tickets needs it.
//!
//! A connection runs like this. The server sends a [`Greeting`]. [`Opening::read`] reads the client's first packet,
//! which may ask for TLS first. If its [`Plugin`] is not the server's, [`Replies::switch`] asks for another.
//! [`native_password`] or [`caching_sha2`] checks the proof. Then each packet is a [`Command`], whose SQL
//! [`sql::statements`] reads. [`Replies`] writes a command's answers.
//!
//! # What it does not do
//! Packets of 16 MiB and more, which arrive in pieces; compression; `LOCAL INFILE`; cursors; query attributes; session
//! tracking. Nor a password in plain text, which caching_sha2_password asks for if the server cannot check a proof:
//! floe stores the hash that checks it.
//!
//! Source: MySQL source code documentation, "Client/Server Protocol"
//! (<https://dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html>). Each item names its page there.
//!
//! # Example
//! ```
//! use floe_wire::mysql::{Capabilities, Command, Done, Replies, packet, sql};
//!
//! let bytes = b"\x2b\0\0\0\x03REPLACE INTO Tickets64 (stub) VALUES ('a')";
//! let (packet, consumed) = packet(bytes, 64 << 10)?.expect("a whole packet");
//! assert_eq!(consumed, bytes.len());
//! let Command::Query(text) = Command::read(&packet, Capabilities::OFFERED)? else { panic!("a query") };
//! let parsed = sql::statements(text).next().expect("a statement");
//! assert!(matches!(parsed.statement, sql::Statement::Insert { rows: 1, replace: true, .. }));
//!
//! let mut out = Vec::new();
//! let mut replies = Replies::new(&mut out, packet.sequence, Capabilities::OFFERED);
//! replies.ok(&Done { affected: 2, last_insert_id: 7, ..Done::default() });
//! assert_eq!(out, b"\x07\0\0\x01\0\x02\x07\x02\0\0\0");
//! # Ok::<(), floe_wire::mysql::Error>(())
//! ```

use std::fmt;

use crate::cursor::Cursor;
use crate::protocol::{Begins, Protocol};

pub use self::command::{Command, Execute, Malformed, Parameters, Value};
pub use self::login::{Greeting, Login, Opening, Plugin, Salt, caching_sha2, native_password};
pub use self::reply::{Cell, Column, Done, Replies, Status};

mod command;
mod login;
mod reply;
pub mod sql;

/// MySQL's protocol. The server speaks first.
pub const PROTOCOL: Protocol =
    Protocol { word: "mysql", name: "MySQL", port: 7606, server_begins: true, begins: |_| Begins::No };

/// A packet without its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Its number in the exchange, 0 in the first packet. The answer continues the count.
    pub sequence: u8,
    /// Its content.
    pub payload: &'a [u8],
}

/// The packet at the front of `bytes` and its length with the header; `None` until it has arrived completely. A payload
/// has at most `limit` bytes, and always less than 16 MiB - 1.
///
/// Source: "MySQL Packets".
///
/// # Errors
/// [`Error::TooLong`], as soon as the length has arrived.
pub fn packet(bytes: &[u8], limit: usize) -> Result<Option<(Packet<'_>, usize)>, Error> {
    let mut cursor = Cursor::new(bytes);
    let Some([low, middle, high, sequence]) = cursor.array() else {
        // The length comes before the number, so three bytes are enough to refuse the packet.
        return match bytes {
            [low, middle, high, ..] => payload_length([*low, *middle, *high], limit).map(|_| None),
            _ => Ok(None),
        };
    };
    let length = payload_length([low, middle, high], limit)?;
    Ok(cursor.take(length).map(|payload| (Packet { sequence, payload }, cursor.position())))
}

fn payload_length([low, middle, high]: [u8; 3], limit: usize) -> Result<usize, Error> {
    let limit = limit.min(LONGEST - 1);
    let length = u32::from_le_bytes([low, middle, high, 0]);
    usize::try_from(length).ok().filter(|length| *length <= limit).ok_or(Error::TooLong(limit))
}

/// This length says that the payload continues in another packet.
const LONGEST: usize = 0xff_ffff;

/// Why a connection cannot continue. Answer with [`Replies::error`], with [`code`](Error::code) and
/// [`state`](Error::state), then close the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// A packet is longer than the limit, given here in bytes.
    TooLong(usize),
    /// A packet has the wrong number, so client and server are out of step.
    OutOfOrder,
    /// The client's first packet is not a response to the greeting.
    Handshake,
    /// The client does not speak the protocol of MySQL 4.1 or later.
    TooOld,
    /// The client will compress its packets, though the greeting did not offer that.
    Compression,
}

impl Error {
    /// The number of the error in MySQL.
    #[must_use]
    pub fn code(&self) -> u16 {
        match self {
            Self::TooLong(_) => 1153,
            Self::OutOfOrder => 1156,
            Self::Handshake => 1043,
            Self::TooOld => 1251,
            Self::Compression => 1235,
        }
    }

    /// The SQLSTATE of the error in MySQL.
    #[must_use]
    pub fn state(&self) -> &'static [u8; 5] {
        match self {
            Self::TooLong(_) | Self::OutOfOrder | Self::Handshake => b"08S01",
            Self::TooOld => b"08004",
            Self::Compression => b"42000",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(limit) => write!(text, "a packet has at most {limit} bytes"),
            Self::OutOfOrder => text.write_str("a packet came out of order"),
            Self::Handshake => text.write_str("the first packet is no response to the greeting"),
            Self::TooOld => text.write_str("the client does not speak the protocol of MySQL 4.1 and later"),
            Self::Compression => text.write_str(
                "compression is not served: set the client's compress option to off (no --compress)",
            ),
        }
    }
}

impl std::error::Error for Error {}

/// The abilities of one side of a connection, or of both.
///
/// Source: "Capabilities Flags".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities(u32);

impl Capabilities {
    /// All that floe can do, except TLS. `LONG_PASSWORD` also tells MariaDB's clients that the server has none of
    /// MariaDB's own abilities.
    pub const OFFERED: Self = Self(
        0x0000_0001 // LONG_PASSWORD
            | 0x0000_0002 // FOUND_ROWS
            | 0x0000_0004 // LONG_FLAG
            | Self::CONNECT_WITH_DB.0
            | 0x0000_0100 // IGNORE_SPACE
            | Self::PROTOCOL_41.0
            | 0x0000_0400 // INTERACTIVE
            | 0x0000_2000 // TRANSACTIONS
            | Self::SECURE_CONNECTION.0
            | Self::MULTI_STATEMENTS.0
            | 0x0002_0000 // MULTI_RESULTS
            | 0x0004_0000 // PS_MULTI_RESULTS
            | Self::PLUGIN_AUTH.0
            | 0x0010_0000 // CONNECT_ATTRS
            | Self::LONG_PROOF.0
            | Self::DEPRECATE_EOF.0,
    );
    /// The login names a database.
    pub const CONNECT_WITH_DB: Self = Self(0x0000_0008);
    /// The protocol of MySQL 4.1 and later.
    pub const PROTOCOL_41: Self = Self(0x0000_0200);
    /// Packets after the login are compressed, by zlib or (`ZSTD`) by Zstandard.
    pub const COMPRESS: Self = Self(0x0000_0020);
    /// See [`COMPRESS`](Self::COMPRESS).
    pub const ZSTD: Self = Self(0x0400_0000);
    /// TLS begins after the greeting.
    pub const TLS: Self = Self(0x0000_0800);
    /// A proof of the password has a length (`SECURE_CONNECTION`).
    pub const SECURE_CONNECTION: Self = Self(0x0000_8000);
    /// A query may hold several statements.
    pub const MULTI_STATEMENTS: Self = Self(0x0001_0000);
    /// Ways to log in have names.
    pub const PLUGIN_AUTH: Self = Self(0x0008_0000);
    /// A proof's length is length-encoded (`PLUGIN_AUTH_LENENC_CLIENT_DATA`).
    pub const LONG_PROOF: Self = Self(0x0020_0000);
    /// Rows end with an OK packet, columns with no packet.
    pub const DEPRECATE_EOF: Self = Self(0x0100_0000);

    /// Whether all of `other` is there.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// This set without the other.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    const fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

/// Reads a length-encoded integer. Source: "Integer Types".
fn length(cursor: &mut Cursor<'_>) -> Option<u64> {
    Some(match cursor.byte()? {
        small @ 0..=0xfa => u64::from(small),
        0xfc => u64::from(u16::from_le_bytes(cursor.array()?)),
        0xfd => {
            let [low, middle, high] = cursor.array()?;
            u64::from(u32::from_le_bytes([low, middle, high, 0]))
        }
        0xfe => u64::from_le_bytes(cursor.array()?),
        // NULL, and the beginning of an error.
        0xfb | 0xff => return None,
    })
}

/// Reads a string with its length before it.
fn lengthy<'a>(cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let length = usize::try_from(length(cursor)?).ok()?;
    cursor.take(length)
}

/// Reads up to the next zero byte, and skips it.
fn until_zero<'a>(cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
    let length = cursor.rest().iter().position(|byte| *byte == 0)?;
    let text = cursor.take(length);
    cursor.byte()?;
    text
}

#[cfg(test)]
mod tests;
