//! The greeting, the client's response, and the check of the password.

use sha1::{Digest, Sha1};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::{Capabilities, Error, Packet, length, until_zero};
use crate::cursor::Cursor;

/// A server's salt for a password's hash. It makes a proof valid only once: 20 printable bytes, fresh for each greeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Salt([u8; 20]);

impl Salt {
    /// These bytes, which must be printable ASCII (33 to 126): some clients read them as text that ends with a zero.
    #[must_use]
    pub fn new(bytes: [u8; 20]) -> Option<Self> {
        bytes.iter().all(u8::is_ascii_graphic).then_some(Self(bytes))
    }

    /// A salt of random bytes, each brought into range as MySQL does it. 131 of the 160 random bits remain.
    #[must_use]
    pub fn from_random(bytes: [u8; 20]) -> Self {
        Self(bytes.map(|byte| b'!' + byte % 94))
    }

    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }
}

/// A way to prove that one knows a password.
///
/// Source: "Authentication Methods".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plugin {
    /// `mysql_native_password`: every client has it, except MySQL's own since 9.0.
    NativePassword,
    /// `caching_sha2_password`, its fast path.
    CachingSha2,
}

impl Plugin {
    /// Its name in the protocol.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NativePassword => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
        }
    }

    /// The plugin of that name.
    #[must_use]
    pub fn named(name: &[u8]) -> Option<Self> {
        [Self::NativePassword, Self::CachingSha2].into_iter().find(|plugin| plugin.name().as_bytes() == name)
    }
}

/// The server's first packet.
///
/// Source: "Protocol::HandshakeV10".
#[derive(Clone, Copy, Debug)]
pub struct Greeting<'a> {
    /// The server's version, which clients read as `major.minor.patch-text`. It holds no zero byte.
    pub version: &'a str,
    /// The connection's number, which `CONNECTION_ID()` returns.
    pub connection: u32,
    /// The salt of this connection.
    pub salt: &'a Salt,
    /// The server's abilities.
    pub capabilities: Capabilities,
    /// The plugin that the server asks for.
    pub plugin: Plugin,
}

impl Greeting<'_> {
    /// Writes the greeting as the connection's first packet.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let Capabilities(capabilities) = self.capabilities;
        let [low, below, above, high] = capabilities.to_le_bytes();
        let (front, back) = self.salt.0.split_at(8);
        super::reply::packet(out, 0, |out| {
            out.push(10);
            out.extend_from_slice(self.version.as_bytes());
            out.push(0);
            out.extend_from_slice(&self.connection.to_le_bytes());
            out.extend_from_slice(front);
            out.push(0);
            // The collation utf8mb4_general_ci, and the status of a connection that commits each statement.
            out.extend_from_slice(&[low, below, 45, 2, 0, above, high, 21]);
            out.extend_from_slice(&[0; 10]);
            out.extend_from_slice(back);
            out.push(0);
            out.extend_from_slice(self.plugin.name().as_bytes());
            out.push(0);
        });
    }
}

/// A client's first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening<'a> {
    /// TLS comes next: its handshake follows this packet directly. Then comes the login, with the next number.
    ///
    /// Source: "Protocol::SSLRequest".
    Tls,
    /// The login.
    Login(Login<'a>),
}

/// A client's login.
///
/// Source: "Protocol::HandshakeResponse41", "COM_CHANGE_USER".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Login<'a> {
    /// The abilities that both sides have.
    pub capabilities: Capabilities,
    /// The lower byte of the client's collation number.
    pub collation: u8,
    /// The user's name.
    pub user: &'a [u8],
    /// The proof that the client knows the password, made by [`Login::plugin`]. Empty for no password.
    pub proof: &'a [u8],
    /// The database to use from now on; `None` or empty for none.
    pub database: Option<&'a [u8]>,
    /// The name of the plugin that made the proof; `None` if the client knows only mysql_native_password.
    pub plugin: Option<&'a [u8]>,
}

impl<'a> Opening<'a> {
    /// Reads the packet after the greeting, or after TLS's handshake. `offered` is what the greeting offered.
    ///
    /// # Errors
    /// In a login [`Error::OutOfOrder`], [`Error::TooOld`] or [`Error::Compression`]. [`Error::Handshake`] if it is no
    /// response to the greeting.
    pub fn read(packet: &Packet<'a>, offered: Capabilities, after_tls: bool) -> Result<Self, Error> {
        if packet.sequence != 1 + u8::from(after_tls) {
            return Err(Error::OutOfOrder);
        }
        let mut cursor = Cursor::new(packet.payload);
        let theirs = cursor.array().map(u32::from_le_bytes).ok_or(Error::Handshake)?;
        let capabilities = Capabilities(theirs).both(offered);
        if !capabilities.has(Capabilities::PROTOCOL_41.with(Capabilities::SECURE_CONNECTION)) {
            return Err(Error::TooOld);
        }
        let [_, _, _, _, collation] = cursor.array().ok_or(Error::Handshake)?;
        cursor.take(23).ok_or(Error::Handshake)?;
        if cursor.rest().is_empty() {
            // A client may repeat the start of its packet after TLS, but it asks for TLS only once.
            let asked = capabilities.has(Capabilities::TLS) && !after_tls;
            return if asked { Ok(Self::Tls) } else { Err(Error::Handshake) };
        }
        // A client that respects the greeting leaves these fields out. Other clients send them, and floe ignores them.
        let unoffered = |way: Capabilities| Capabilities(theirs).has(way) && !offered.has(way);
        if unoffered(Capabilities::COMPRESS) || unoffered(Capabilities::ZSTD) {
            return Err(Error::Compression);
        }
        login(&mut cursor, capabilities, collation).map(Self::Login).ok_or(Error::Handshake)
    }
}

fn login<'a>(cursor: &mut Cursor<'a>, capabilities: Capabilities, collation: u8) -> Option<Login<'a>> {
    let user = until_zero(cursor)?;
    let length = if capabilities.has(Capabilities::LONG_PROOF) {
        usize::try_from(length(cursor)?).ok()?
    } else {
        usize::from(cursor.byte()?)
    };
    let proof = cursor.take(length)?;
    let named = capabilities.has(Capabilities::CONNECT_WITH_DB);
    // The last field that a client sends may lack its final zero.
    let database = if named { Some(last(cursor)) } else { None };
    let plugin =
        capabilities.has(Capabilities::PLUGIN_AUTH).then(|| last(cursor)).filter(|name| !name.is_empty());
    Some(Login { capabilities, collation, user, proof, database, plugin })
}

/// The login that replaces another on a connection whose two sides opened it with `capabilities`.
pub(super) fn change<'a>(cursor: &mut Cursor<'a>, capabilities: Capabilities) -> Option<Login<'a>> {
    let user = until_zero(cursor)?;
    let length = usize::from(cursor.byte()?);
    let proof = cursor.take(length)?;
    let database = until_zero(cursor)?;
    let collation = cursor.array().map_or(0, |[low, _high]| low);
    let plugin =
        capabilities.has(Capabilities::PLUGIN_AUTH).then(|| last(cursor)).filter(|name| !name.is_empty());
    Some(Login { capabilities, collation, user, proof, database: Some(database), plugin })
}

/// Up to the next zero, or to the end.
fn last<'a>(cursor: &mut Cursor<'a>) -> &'a [u8] {
    let rest = cursor.rest();
    until_zero(cursor).unwrap_or_else(|| cursor.take(rest.len()).unwrap_or_default())
}

/// Whether `proof` is right: mysql_native_password made it for this salt from the password for which `stored` is
/// `SHA1(SHA1(password))`. An empty proof means no password, and is never right.
///
/// Source: "Native Authentication": the proof is `SHA1(password) XOR SHA1(salt + SHA1(SHA1(password)))`.
#[must_use]
pub fn native_password(proof: &[u8], salt: &Salt, stored: &[u8; 20]) -> bool {
    let Ok(proof) = <[u8; 20]>::try_from(proof) else { return false };
    let mask = Sha1::new().chain_update(salt.0).chain_update(stored).finalize();
    let hash = Sha1::digest(unmask(proof, &mask));
    hash.as_slice().ct_eq(stored).into()
}

/// Whether `proof` is right: caching_sha2_password made it for this salt from the password for which `stored` is
/// `SHA256(SHA256(password))`. An empty proof means no password, and is never right. If the proof is right, send
/// [`Replies::fast`](super::Replies::fast) before the OK.
///
/// Source: "Caching_sha2_password information": the proof is
/// `SHA256(password) XOR SHA256(SHA256(SHA256(password)) + salt)`.
#[must_use]
pub fn caching_sha2(proof: &[u8], salt: &Salt, stored: &[u8; 32]) -> bool {
    let Ok(proof) = <[u8; 32]>::try_from(proof) else { return false };
    let mask = Sha256::new().chain_update(stored).chain_update(salt.0).finalize();
    let hash = Sha256::digest(unmask(proof, &mask));
    hash.as_slice().ct_eq(stored).into()
}

fn unmask<const N: usize>(mut proof: [u8; N], mask: &[u8]) -> [u8; N] {
    for (byte, mask) in proof.iter_mut().zip(mask) {
        *byte ^= mask;
    }
    proof
}
