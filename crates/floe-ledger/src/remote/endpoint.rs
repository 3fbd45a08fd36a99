//! Servers' addresses in a URL, and which of several to try next.

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
    /// `None` for a name that no host has.
    pub(crate) fn new(host: &str, port: u16) -> Option<Self> {
        let is_odd = |c: char| c.is_whitespace() || c.is_control();
        (!host.is_empty() && !host.contains(is_odd)).then(|| Self { host: host.to_owned(), port })
    }

    /// Whether HTTP can name it.
    pub(crate) fn is_plain(&self) -> bool {
        self.host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte))
    }
}

/// `host`, `host:port`, `[address]:port`, or any of it left out.
pub(crate) fn split(text: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    match port {
        "" => Some((host, None)),
        port => Some((host, Some(port.strip_prefix(':')?.parse().ok()?))),
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

/// Which of a store's servers to try next.
pub(crate) struct Turn(AtomicUsize);

impl Turn {
    /// It starts at a random server, so that a fleet's processes do not all use the first one.
    pub(crate) fn anywhere() -> Self {
        Self(AtomicUsize::new(usize::from(getrandom::u32().unwrap_or(0).to_le_bytes()[0])))
    }

    /// Each of `all` once, whoever else goes through them meanwhile. The next caller begins one further.
    pub(crate) fn through<'a>(&self, all: &'a [Endpoint]) -> impl Iterator<Item = &'a Endpoint> + use<'a> {
        let first = self.0.fetch_add(1, Ordering::Relaxed) % all.len().max(1);
        all.iter().cycle().skip(first).take(all.len())
    }
}

/// The result of `entering` one of `count` servers within its share of `bound`; after that share it is `late`. For a
/// single server the bound of the whole call gives the better error.
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Two calls may connect at once, and each has to find the one server that is there.
    #[test]
    fn callers_at_once_go_through_all_servers_each_from_another_one_on() {
        let all = ["a", "b", "c"].map(|host| Endpoint::new(host, 1).unwrap());
        let turn = Turn::anywhere();
        let (mut tried, mut one, mut other) =
            ([Vec::new(), Vec::new()], turn.through(&all), turn.through(&all));
        while let (Some(first), Some(second)) = (one.next(), other.next()) {
            assert_ne!(first, second);
            tried[0].push(first.host.as_str());
            tried[1].push(second.host.as_str());
        }
        for mut tried in tried {
            tried.sort_unstable();
            assert_eq!(tried, ["a", "b", "c"]);
        }
        assert_eq!(turn.through(&[]).count(), 0);
    }

    #[test]
    fn processes_do_not_all_begin_at_the_same_server() {
        let all = ["a", "b", "c"].map(|host| Endpoint::new(host, 1).unwrap());
        let firsts = (0..100).map(|_| Turn::anywhere().through(&all).next().unwrap().host.clone());
        let firsts: BTreeSet<String> = firsts.collect();
        assert!(firsts.len() > 1, "{firsts:?}");
    }

    #[tokio::test]
    async fn a_server_that_says_nothing_leaves_the_others_their_shares_of_the_bound() {
        let entering = std::future::pending::<Result<(), _>>();
        let outcome = share(Duration::from_millis(30), 3, entering, str::to_owned).await;
        assert!(
            matches!(&outcome, Err(Trouble::Store(late)) if late == "no answer within 10ms"),
            "{outcome:?}"
        );
    }
}
