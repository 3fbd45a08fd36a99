//! Process settings: how one node mints. Unlike a [`Definition`](crate::Definition) they may differ from node to node.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use crate::stream::Start;

/// Which worker ids a node may take.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum WorkerChoice {
    /// Any that is free.
    #[default]
    Auto,
    /// This one. A crash hands it on to the next start at once; another live node that has it keeps it.
    Fixed(u64),
    /// Any with these node fields of the layout.
    Pinned(BTreeMap<String, u64>),
    /// Any of these.
    Pool(RangeInclusive<u64>),
}

/// How one process mints a name. Unlike a [`Definition`](crate::Definition) it may differ from node to node and from day to day.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NameOptions {
    /// Where a tick's sequence begins. By default rolling, or random where a tick is longer than `max_ahead`.
    pub start: Option<Start>,
    /// How far minted ticks may run ahead of the steady clock in a burst.
    pub max_ahead: Duration,
    /// The fewest numbers that a segment reserves at once.
    pub min_step: u64,
    /// The most numbers that a segment reserves at once.
    pub max_step: u64,
    /// The interval between two reservations that a segment's step is made to fit (Leaf: 15 minutes).
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
                "worker {text:?} is none of \"auto\", a number, a pool such as \"512..1023\", and fields such as \"datacenter=3\""
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
