//! Process settings: how one node mints. Unlike a [`Definition`](crate::Definition), they may differ from node to node.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use crate::stream::Start;

/// Which worker ids a node may take. It is written as `auto`, `7`, `512..1023` (both ends included), or
/// `datacenter=3,worker=1`.
///
/// ```
/// use floe::WorkerChoice;
/// assert_eq!("512..1023".parse(), Ok(WorkerChoice::Pool(512..=1_023)));
/// assert_eq!("7".parse(), Ok(WorkerChoice::Fixed(7)));
/// assert!("9..3".parse::<WorkerChoice>().is_err());
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum WorkerChoice {
    /// Any worker id that is free.
    #[default]
    Auto,
    /// This worker id. After a crash, the next start takes it over at once. If another live node holds it, that node
    /// keeps it.
    Fixed(u64),
    /// Any worker id with these values in the layout's node fields.
    Pinned(BTreeMap<String, u64>),
    /// Any worker id of this range.
    Pool(RangeInclusive<u64>),
}

/// How one process mints a name. Unlike a [`Definition`](crate::Definition), the options may differ from node to node
/// and change from day to day.
///
/// ```
/// use floe::{Definition, Floe, Name, NameOptions, Start, ledger::Memory};
/// let floe = Floe::open(Memory::default())?;
/// let options = NameOptions { start: Some(Start::Random(100)), ..NameOptions::default() };
/// let orders = floe.define(&Name::new("orders")?, &floe::Layout::LEAF.into(), &options)?;
/// assert_eq!(orders.mint_many(10)?.len(), 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NameOptions {
    /// Where a tick's sequence begins. The default, `None`, is rolling, or random if a tick is longer than `max_ahead`.
    pub start: Option<Start>,
    /// How far minted ticks may run ahead of the steady clock in a burst of a snowflake name; 10 ms by default.
    pub max_ahead: Duration,
    /// The smallest count of numbers that a segment reserves at once, at least 1; 1,000 by default.
    pub min_step: u64,
    /// The largest count of numbers that a segment reserves at once; 1,000,000 by default.
    pub max_step: u64,
    /// The time between two reservations of a segment at which its step aims; 15 minutes by default, as in Leaf.
    pub refill: Duration,
}

impl Default for NameOptions {
    fn default() -> Self {
        Self {
            start: None,
            max_ahead: Duration::from_millis(10),
            min_step: 1_000,
            max_step: 1_000_000,
            refill: Duration::from_secs(15 * 60),
        }
    }
}

impl FromStr for WorkerChoice {
    type Err = String;

    /// `auto`, `7`, `512..1023` (both ends included), or `datacenter=3,worker=1`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || {
            format!(
                "worker {text:?} is not \"auto\", a number, a pool such as \"512..1023\" or fields such as \"datacenter=3\""
            )
        };
        let number = |digits: &str| digits.parse::<u64>().map_err(|_| wrong());
        if text == "auto" {
            return Ok(Self::Auto);
        }
        if let Some((first, last)) = text.split_once("..") {
            let (first, last) = (number(first)?, number(last.strip_prefix('=').unwrap_or(last))?);
            return if first <= last { Ok(Self::Pool(first..=last)) } else { Err(wrong()) };
        }
        if text.contains('=') {
            let field = |part: &str| {
                let (name, value) = part.split_once('=').ok_or_else(wrong)?;
                Ok((name.trim().to_owned(), number(value.trim())?))
            };
            return text.split(',').map(field).collect::<Result<_, String>>().map(Self::Pinned);
        }
        number(text).map(Self::Fixed)
    }
}

impl fmt::Display for WorkerChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Fixed(worker) => write!(f, "{worker}"),
            Self::Pool(pool) => write!(f, "{}..{}", pool.start(), pool.end()),
            Self::Pinned(fields) => {
                let fields: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
                f.write_str(&fields.join(","))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_of_worker_ids_is_read_as_it_is_written() {
        let pinned = [("datacenter".to_owned(), 3), ("worker".to_owned(), 1)];
        for (text, choice) in [
            ("auto", WorkerChoice::Auto),
            ("7", WorkerChoice::Fixed(7)),
            ("512..1023", WorkerChoice::Pool(512..=1_023)),
            ("7..7", WorkerChoice::Pool(7..=7)),
            ("datacenter=3,worker=1", WorkerChoice::Pinned(pinned.clone().into())),
        ] {
            assert_eq!(text.parse(), Ok(choice.clone()));
            assert_eq!(choice.to_string(), text);
        }
        assert_eq!("512..=1023".parse(), Ok(WorkerChoice::Pool(512..=1_023)), "as in Rust");
        assert_eq!(" datacenter = 3 , worker = 1 ".parse(), Ok(WorkerChoice::Pinned(pinned.into())));
        for text in ["", "Auto", "seven", "9..3", "3..", "..3", "datacenter=", "datacenter=3,1", "-1"] {
            let error = text.parse::<WorkerChoice>().unwrap_err();
            assert!(error.contains(&format!("{text:?} is not \"auto\", a number, a pool")), "{error}");
        }
    }
}
