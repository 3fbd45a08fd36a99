//! A build without TLS, for programs with a database on the same machine, or behind a proxy that encrypts.

use tokio_postgres::NoTls;
use tokio_postgres::config::SslMode;

use super::url::Settings;
use crate::OpenError;

pub(super) type Tls = NoTls;

/// `sslmode=prefer`, the default, continues without TLS, as with a server that has none.
pub(super) fn tls(settings: &Settings) -> Result<Tls, OpenError> {
    match settings.config.get_ssl_mode() {
        SslMode::Disable | SslMode::Prefer => Ok(NoTls),
        _ => Err(OpenError::Asked(
            "the URL asks for TLS, and this program was built without it: take the feature `postgres` of floe-ledger, and \
             not `postgres-no-tls`, or say sslmode=disable"
                .to_owned(),
        )),
    }
}
