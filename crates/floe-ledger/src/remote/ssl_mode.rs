//! Whether a connection is encrypted, and what of the server's certificate is checked, by the words of its URL.

use std::path::{Path, PathBuf};

use super::options::takes;
use crate::OpenError;

/// In place of a file of roots: those that the system trusts, as libpq has it. A file of that name is `./system`.
pub(crate) const SYSTEM: &str = "system";

/// What of the server's certificate is checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verify {
    /// Nothing, as libpq does with `prefer` and `require`: encrypted, and open to whoever stands in between.
    Nothing,
    /// That one of these roots has signed it (`verify-ca`).
    Chain(PathBuf),
    /// That too, and that it is for the host in the URL (`verify-full`).
    Full(PathBuf),
}

/// Whether TLS is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    Never,
    WherePossible,
    Always,
}

/// What `sslmode` and `sslrootcert` say. They mean what they mean to libpq, whatever the server is.
///
/// # Errors
/// `Asked` where a mode is unknown, or lacks the roots that it would check.
pub(crate) fn asked_for(mode: &str, roots: Option<String>) -> Result<(Use, Verify), OpenError> {
    let roots = roots.filter(|roots| !roots.is_empty()).map(PathBuf::from);
    Ok(match (mode, roots) {
        ("disable", _) => (Use::Never, Verify::Nothing),
        ("prefer", None) => (Use::WherePossible, Verify::Nothing),
        ("require", None) => (Use::Always, Verify::Nothing),
        // libpq's rule: everybody has a certificate from one of the system's roots, for some host.
        ("require" | "verify-ca", Some(roots)) if roots == Path::new(SYSTEM) => {
            return Err(OpenError::Asked(format!(
                "sslrootcert=system with sslmode={mode} would trust any server: say sslmode=verify-full"
            )));
        }
        // libpq's rule: with a root, `require` checks the chain.
        ("require" | "verify-ca", Some(roots)) => (Use::Always, Verify::Chain(roots)),
        ("verify-full", Some(roots)) => (Use::Always, Verify::Full(roots)),
        ("prefer", Some(_)) => {
            return Err(OpenError::Asked(
                "sslrootcert checks nothing with sslmode=prefer: say sslmode=verify-full".to_owned(),
            ));
        }
        ("verify-ca" | "verify-full", None) => {
            return Err(OpenError::Asked(format!(
                "sslmode={mode} needs sslrootcert=FILE, the certificates to trust, or sslmode=verify-full \
                 sslrootcert=system"
            )));
        }
        (mode, _) => {
            return Err(takes("sslmode", mode, "disable, prefer, require, verify-ca or verify-full"));
        }
    })
}
