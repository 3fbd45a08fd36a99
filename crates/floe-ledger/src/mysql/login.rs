//! The greeting, TLS, and the login.
//!
//! Source: MySQL source code documentation, "Connection Phase" and "Authentication Methods". The password itself is
//! sent only inside TLS; otherwise the server gets a proof of it.

use ring::digest::{Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use tokio_rustls::TlsConnector;

use super::channel::Channel;
use super::fields::Fields;
use super::session::Session;
use super::trouble::Error;
use super::url::{Account, Settings};
use crate::remote::ssl_mode::Use;

/// The abilities that floe and the server must have: a database at login, the protocol of 4.1, transactions, passwords
/// of 4.1, several statements in a packet, several answers, named login methods, and attributes.
const ABILITIES: u32 = 0x0000_0008
    | 0x0000_0200
    | 0x0000_2000
    | 0x0000_8000
    | 0x0001_0000
    | 0x0002_0000
    | 0x0008_0000
    | 0x0010_0000;
/// Tells MariaDB that the client has none of MariaDB's own abilities.
const PLAIN_MYSQL: u32 = 0x0000_0001;
const TLS: u32 = 0x0000_0800;

/// `utf8mb4_general_ci`, which every MySQL and MariaDB has. floe's columns name their own collation.
const UTF8MB4: u8 = 45;

/// The longest packet that floe accepts, sent to the server.
const LONGEST: u32 = 4 << 20;

const NATIVE: &str = "mysql_native_password";
const CACHING: &str = "caching_sha2_password";

/// Logs in on an unused channel.
pub(super) async fn log_in(
    mut channel: Channel,
    settings: &Settings,
    tls: Option<&TlsConnector>,
) -> Result<Session, Error> {
    let Settings { at, account, reach } = settings;
    let Greeting { abilities, way, nonce } = Greeting::from_packet(&channel.receive().await?)?;
    let mut ours = ABILITIES | PLAIN_MYSQL;
    match (tls, reach.tls.wanted) {
        (Some(tls), _) if abilities & TLS != 0 => {
            ours |= TLS;
            channel.send(&head(ours)).await?;
            channel = channel.encrypt(tls, at).await?;
        }
        (_, Use::Always) => return Err(Error::NoTls),
        (_, Use::Never | Use::WherePossible) => {}
    }
    // If floe does not know a method, the server may still switch to one that floe knows: the user's own.
    let way = if way == CACHING { CACHING } else { NATIVE };
    let answer = proof(way, &account.password, &nonce)?;
    channel.send(&response(ours, account, way, &answer)).await?;
    admitted(&mut channel, way.to_owned(), account).await?;
    Ok(Session::new(channel))
}

/// Answers the server's questions until it accepts the login.
async fn admitted(channel: &mut Channel, mut way: String, account: &Account) -> Result<(), Error> {
    // The greeting's method, one other, and two questions for that one: anything longer is not a login.
    for _ in 0..4 {
        let packet = channel.receive().await?;
        let mut fields = Fields(&packet);
        match (fields.u8()?, fields.0) {
            (0x00, _) => return Ok(()),
            (0xff, _) => return Err(Error::from_packet(&packet)),
            (0xfe, [_, ..]) => {
                way = String::from_utf8_lossy(fields.until_zero()).into_owned();
                let nonce = fields.0.strip_suffix(&[0]).unwrap_or(fields.0);
                channel.send(&proof(&way, &account.password, nonce)?).await?;
            }
            // The server knows the proof from an earlier login.
            (0x01, [3]) if way == CACHING => {}
            // The server does not know it, and asks for the password itself.
            (0x01, [4]) if way == CACHING => {
                if !channel.is_encrypted() {
                    return Err(Error::PasswordInTheClear);
                }
                channel.send(&[account.password.as_bytes(), &[0]].concat()).await?;
            }
            _ => return Err(Error::Protocol("a question at login that floe does not know")),
        }
    }
    Err(Error::Protocol("too many questions at login"))
}

/// The server's first packet.
struct Greeting {
    abilities: u32,
    way: String,
    nonce: Vec<u8>,
}

impl Greeting {
    fn from_packet(packet: &[u8]) -> Result<Self, Error> {
        let mut fields = Fields(packet);
        match fields.u8()? {
            10 => {}
            0xff => return Err(Error::from_packet(packet)),
            _ => return Err(Error::Protocol("a greeting that is not MySQL's")),
        }
        let _version = fields.until_zero();
        fields.take(4)?;
        let mut nonce = fields.take(8)?.to_vec();
        fields.take(1)?;
        let low = fields.u16()?;
        fields.take(3)?;
        let abilities = u32::from(low) | u32::from(fields.u16()?) << 16;
        if abilities & ABILITIES != ABILITIES {
            return Err(Error::Protocol("a greeting without abilities that MySQL has had since 5.7"));
        }
        let length = usize::from(fields.u8()?);
        fields.take(10)?;
        // The nonce's second part ends with a zero that does not belong to it.
        let rest = fields.take(length.saturating_sub(8).max(13))?;
        nonce.extend(rest.strip_suffix(&[0]).unwrap_or(rest));
        let way = String::from_utf8_lossy(fields.until_zero()).into_owned();
        Ok(Self { abilities, way, nonce })
    }
}

/// The start of a response. It is the whole packet if TLS comes first.
fn head(abilities: u32) -> Vec<u8> {
    let mut packet = Vec::with_capacity(32);
    packet.extend(abilities.to_le_bytes());
    packet.extend(LONGEST.to_le_bytes());
    packet.push(UTF8MB4);
    packet.extend([0; 23]);
    packet
}

fn response(abilities: u32, account: &Account, way: &str, proof: &[u8]) -> Vec<u8> {
    let mut packet = head(abilities);
    packet.extend([account.user.as_bytes(), &[0]].concat());
    // A proof has at most 32 bytes, and the two words 17: their lengths fit one byte.
    packet.extend(proof.len().to_le_bytes().first());
    packet.extend(proof);
    packet.extend([account.database.as_bytes(), &[0], way.as_bytes(), &[0]].concat());
    packet.extend(b"\x12\x0cprogram_name\x04floe");
    packet
}

/// Proves that the password is known, without sending it.
fn proof(way: &str, password: &str, nonce: &[u8]) -> Result<Vec<u8>, Error> {
    let password = password.as_bytes();
    let with = |algorithm: &'static Algorithm, parts: &[&[u8]]| digest(algorithm, &parts.concat());
    let (key, mask) = match way {
        NATIVE | CACHING if password.is_empty() => return Ok(Vec::new()),
        NATIVE => {
            let sha1 = &SHA1_FOR_LEGACY_USE_ONLY;
            let once = with(sha1, &[password]);
            let twice = with(sha1, &[once.as_ref()]);
            (once, with(sha1, &[nonce, twice.as_ref()]))
        }
        CACHING => {
            let once = with(&SHA256, &[password]);
            let twice = with(&SHA256, &[once.as_ref()]);
            (once, with(&SHA256, &[twice.as_ref(), nonce]))
        }
        other => return Err(Error::UnknownWay(other.to_owned())),
    };
    Ok(key.as_ref().iter().zip(mask.as_ref()).map(|(key, mask)| key ^ mask).collect())
}

#[cfg(test)]
mod tests;
