//! Where a server listens, as it stands in a URL.

use std::fmt;

/// A host and a port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Endpoint {
    /// A name or an address, without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Endpoint {
    /// `host`, `host:port`, `[address]:port`; `port` where none is named.
    pub(crate) fn parse(text: &str, port: u16) -> Option<Self> {
        let (host, named) = match text.strip_prefix('[') {
            Some(rest) => rest.split_once(']')?,
            None => text.split_at(text.find(':').unwrap_or(text.len())),
        };
        let port = match named {
            "" => port,
            named => named.strip_prefix(':')?.parse().ok()?,
        };
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
        (!host.is_empty() && host.bytes().all(is_host)).then(|| Self { host: host.to_owned(), port })
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}
