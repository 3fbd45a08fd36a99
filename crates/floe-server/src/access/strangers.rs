//! Log lines about wrong tokens: once a minute for each address, in bounded memory.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How long no second line is logged about an address.
const QUIET: Duration = Duration::from_secs(60);

/// The most addresses with a line of their own within that time. All others share one line.
pub(crate) const MOST: usize = 1_024;

/// See the module.
#[derive(Default)]
pub(super) struct Strangers(Mutex<Told>);

#[derive(Default)]
struct Told {
    /// When a line about an address was logged. `None` is every unix socket.
    addresses: HashMap<Option<IpAddr>, Instant>,
    /// When the shared line was logged.
    crowd: Option<Instant>,
}

/// The line to log, if any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum News {
    /// Of this address.
    One,
    /// That there are too many to tell apart.
    Crowd,
    /// Nothing new.
    None,
}

impl Strangers {
    /// A client at this address has shown a wrong token.
    pub(super) fn tell(&self, address: Option<IpAddr>) {
        let news = self.0.lock().unwrap_or_else(PoisonError::into_inner).take(address, Instant::now());
        match (news, address) {
            (News::One, Some(peer)) => tracing::warn!(
                %peer,
                "a client showed a wrong token and is refused (logged once a minute for each address): give it a token that has a [[token]] in the configuration"
            ),
            (News::One, None) => tracing::warn!(
                peer = "unix socket",
                "a client showed a wrong token and is refused (logged once a minute): give it a token that has a [[token]] in the configuration"
            ),
            (News::Crowd, _) => tracing::warn!(
                "clients at more than {MOST} addresses showed wrong tokens within a minute, and are refused; the others are not logged one by one"
            ),
            (News::None, _) => {}
        }
    }
}

impl Told {
    fn take(&mut self, address: Option<IpAddr>, now: Instant) -> News {
        // Seen through IPv6, an address of IPv4 is the same one.
        let address = address.map(|address| address.to_canonical());
        let is_new = |told: &Instant| now.saturating_duration_since(*told) >= QUIET;
        if let Some(told) = self.addresses.get_mut(&address) {
            let news = is_new(told);
            if news {
                *told = now;
            }
            return if news { News::One } else { News::None };
        }
        if self.addresses.len() >= MOST {
            self.addresses.retain(|_, told| !is_new(told));
        }
        if self.addresses.len() < MOST {
            self.addresses.insert(address, now);
            return News::One;
        }
        match self.crowd.as_ref().is_none_or(is_new) {
            true => {
                self.crowd = Some(now);
                News::Crowd
            }
            false => News::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_of_once_a_minute_and_memory_is_bounded() {
        let mut told = Told::default();
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let address = |number: u32| Some(IpAddr::from(number.to_be_bytes()));
        assert_eq!(told.take(address(1), at(0)), News::One);
        assert_eq!(told.take(Some("::ffff:0.0.0.1".parse().unwrap()), at(30)), News::None);
        assert_eq!(told.take(None, at(30)), News::One);
        assert_eq!(told.take(address(1), at(59)), News::None);
        assert_eq!(told.take(address(1), at(60)), News::One);
        for number in 2..5_000 {
            told.take(address(number), at(61));
        }
        assert_eq!(told.addresses.len(), MOST);
        assert_eq!(told.take(address(9_000), at(62)), News::None, "the crowd was told of");
        assert_eq!(told.take(address(9_000), at(122)), News::One, "those of before are forgotten");
        assert!(told.addresses.len() < MOST);
        for number in 10_000..15_000 {
            told.take(address(number), at(123));
        }
        assert_eq!((told.addresses.len(), told.crowd), (MOST, Some(at(123))));
    }
}
