//! `tls`: which certificate the listeners show, and whose certificates they trust.

use std::path::PathBuf;

use toml::de::DeValue;

use super::reader::{Section, boolean, text};
use crate::tls::TlsSettings;

/// Reads the table.
pub(super) fn read(section: &Section<'_, '_>) -> Option<TlsSettings> {
    let path = |value: &DeValue<'_>| text(value).map(PathBuf::from);
    let certificate = section.read("certificate", path);
    let key = section.read("key", path);
    let client_ca = section.read("client_ca", path);
    let plain = section.read("plain", boolean).unwrap_or(false);
    for setting in ["certificate", "key"] {
        section.need(setting, "name a file of PEM");
    }
    Some(TlsSettings { certificate: certificate?, key: key?, client_ca, plain })
}
