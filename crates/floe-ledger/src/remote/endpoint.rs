//! Where servers listen, as it stands in a URL, and which of several is tried next.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::timeout;

use super::Trouble;

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

/// Which of several servers of one store is tried next.
pub(crate) struct Turn(AtomicUsize);

impl Turn {
    /// It begins anywhere, so that the processes of a fleet do not all go to the first.
    pub(crate) fn anywhere() -> Self {
        Self(AtomicUsize::new(usize::from(getrandom::u32().unwrap_or(0).to_le_bytes()[0])))
    }

    /// Each of `all` once.
    pub(crate) fn through<'a>(&'a self, all: &'a [Endpoint]) -> impl Iterator<Item = &'a Endpoint> {
        (0..all.len()).filter_map(|_| all.get(self.0.fetch_add(1, Ordering::Relaxed) % all.len()))
    }
}

/// What comes of `entering` one of `count` servers, which may take its share of `bound`: then it is `late`. Of a single one
/// the bound of the whole says the same, and better.
pub(crate) async fn share<T, E>(
    bound: Duration,
    count: usize,
    entering: impl Future<Output = Result<T, Trouble<E>>>,
    late: impl FnOnce(&str) -> E,
) -> Result<T, Trouble<E>> {
    if count == 1 {
        return entering.await;
    }
    let share = bound / u32::try_from(count).unwrap_or(u32::MAX).max(1);
    let late = |_| Err(Trouble::Store(late(&format!("no answer within {share:?}"))));
    timeout(share, entering).await.unwrap_or_else(late)
}
