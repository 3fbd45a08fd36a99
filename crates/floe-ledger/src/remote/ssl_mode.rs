//! Whether a connection is encrypted, and how the server's certificate is checked, in the words of its URL.

use std::path::{Path, PathBuf};

use crate::OpenError;
use crate::options::takes;

/// In place of a file of roots: the roots that the system trusts, as in libpq. A file of that name is `./system`.
pub(crate) const SYSTEM: &str = "system";

/// How the server's certificate is checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verify {
    /// Not at all, as in libpq with `prefer` and `require`: encrypted, but open to anyone in between.
    Nothing,
    /// One of these roots must have signed it (`verify-ca`).
    Chain(PathBuf),
    /// That too, and it must be for the host in the URL (`verify-full`).
    Full(PathBuf),
}

/// Whether TLS is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    Never,
    WherePossible,
    Always,
}

/// TLS as a URL asks for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tls {
    pub(crate) wanted: Use,
    pub(crate) verify: Verify,
    /// The files of a certificate to show and of its key.
    pub(crate) own: Option<(PathBuf, PathBuf)>,
}

/// The meaning of `sslmode` and `sslrootcert`: the same as in libpq, for every server.
///
/// # Errors
/// `Asked` if a mode is unknown, or lacks the roots for its check.
pub(crate) fn asked_for(mode: &str, roots: Option<String>) -> Result<(Use, Verify), OpenError> {
    let roots = roots.filter(|roots| !roots.is_empty()).map(PathBuf::from);
    Ok(match (mode, roots) {
        ("disable", _) => (Use::Never, Verify::Nothing),
        ("prefer", None) => (Use::WherePossible, Verify::Nothing),
        ("require", None) => (Use::Always, Verify::Nothing),
        // libpq's rule: anyone can have a certificate from one of the system's roots, for some host.
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
