//! `tls`: which certificate the listeners show, and whose certificates they trust.

use std::path::PathBuf;

use toml::de::DeValue;

use super::reader::{Section, boolean, text};

/// TLS on every listener.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsSettings {
    /// The server's certificate and those of its issuers, in PEM.
    pub certificate: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
    /// The certificates that sign those of clients; `None` asks clients for none.
    pub client_ca: Option<PathBuf>,
    /// Whether a listener that other machines can reach also serves who comes without TLS.
    pub plain: bool,
}

/// Reads the table.
pub(super) fn read(section: &Section<'_, '_>) -> Option<TlsSettings> {
    let path = |value: &DeValue<'_>| text(value).map(PathBuf::from);
    let certificate = section.read("certificate", path);
    let key = section.read("key", path);
    let client_ca = section.read("client_ca", path);
    let plain = section.read("plain", boolean).unwrap_or(false);
    for setting in ["certificate", "key"] {
        if !section.has(setting) {
            section.complain(setting, "it is missing: name a file of PEM");
        }
    }
    Some(TlsSettings { certificate: certificate?, key: key?, client_ca, plain })
}
