//! What a name *is*: the cluster settings that can never change under it (I4).
//!
//! A definition's canonical text is its fingerprint: it is stored in the ledger when the name is first bound, and a
//! node whose configuration says otherwise refuses to serve the name. Text and value are each other's inverse.

use std::fmt;
use std::str::FromStr;

use jiff::tz::TimeZone;

use crate::layout::{Layout, LayoutError};

/// A name's kind with everything that decides which ID a position becomes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Definition {
    /// Time, worker id and sequence in the bit fields of a layout.
    Snowflake {
        /// The bit fields, tick and epoch.
        layout: Layout,
        /// Whether the name has a generator of its own instead of the one that its layout's names share. Its IDs
        /// are then unique under the name, and no longer in the whole realm.
        own: bool,
    },
    /// Numbers from reserved ranges: the n-th (from 0) is `offset + increment * n`.
    Segment {
        /// The distance of one number from the next, at least 1.
        increment: u64,
        /// The first number.
        offset: u64,
    },
    /// 1, 2, 3, … strictly increasing over the whole cluster.
    Counter,
    /// The date followed by a counter that begins anew each day.
    Dated(DatedShape),
}

/// How a dated name counts and how its IDs are written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DatedShape {
    zone: String,
    time_zone: TimeZone,
    digits: u8,
    prefix: String,
    overflow: Overflow,
}

/// What happens when a day's counter needs more digits than the name has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Overflow {
    /// The call fails; the next day begins anew.
    #[default]
    Refuse,
    /// The counter takes more digits. IDs stay unique, but a longer number no longer sorts before the next day's.
    Widen,
}

/// The kind of a name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// See [`Definition::Snowflake`].
    Snowflake,
    /// See [`Definition::Segment`].
    Segment,
    /// See [`Definition::Counter`].
    Counter,
    /// See [`Definition::Dated`].
    Dated,
}

/// Why a text or a set of values is no definition.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DefinitionError {
    /// The kind is none that floe knows.
    #[error("unknown kind {0:?}: floe mints snowflake, segment, counter and dated")]
    UnknownKind(String),
    /// The kind's name is kept for a later version.
    #[error(
        "the kind {0:?} is reserved, and this version of floe does not mint it yet: it mints snowflake, segment, counter and dated"
    )]
    ReservedKind(String),
    /// The layout cannot be.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A value out of its range; the text says which and what it may be.
    #[error("{0}")]
    Value(String),
}

/// Kinds and forms that later versions mint: a name so called never becomes anything else by itself.
const RESERVED: &[&str] = &[
    "uuid", "uuid1", "uuid3", "uuid4", "uuid5", "uuid6", "uuid7", "uuid8", "ulid", "objectid", "ksuid",
    "nanoid", "typeid", "hashids", "sqids", "sealed", "cuid", "cuid2", "xid", "tsid", "guid",
];

/// Whether `name` is the name of a kind that no caller may get a number under.
///
/// ```
/// assert!(floe::reserved_name("ULID") && !floe::reserved_name("orders"));
/// ```
pub fn reserved_name(name: &str) -> bool {
    RESERVED.iter().any(|reserved| reserved.eq_ignore_ascii_case(name))
}

impl Definition {
    /// A segment that begins at 1 and counts by 1.
    pub const SEGMENT: Self = Self::Segment { increment: 1, offset: 1 };

    /// The kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Snowflake { .. } => Kind::Snowflake,
            Self::Segment { .. } => Kind::Segment,
            Self::Counter => Kind::Counter,
            Self::Dated(_) => Kind::Dated,
        }
    }

    /// Checks what the types do not: a segment's increment and offset.
    ///
    /// # Errors
    /// [`DefinitionError::Value`] names the value and its range.
    pub fn check(&self) -> Result<(), DefinitionError> {
        match *self {
            Self::Segment { increment, offset } => {
                if increment == 0 || increment > MAX_INCREMENT {
                    return Err(DefinitionError::Value(format!(
                        "increment {increment} is outside 1..={MAX_INCREMENT}"
                    )));
                }
                if offset > MAX_INCREMENT {
                    return Err(DefinitionError::Value(format!(
                        "offset {offset} is outside 0..={MAX_INCREMENT}"
                    )));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// The largest increment and offset of a segment.
const MAX_INCREMENT: u64 = 1 << 32;

impl DatedShape {
    /// The most digits of a day's counter: `date * 10^10 + counter` still fits 63 bits.
    pub const MAX_DIGITS: u8 = 10;
    const MAX_PREFIX_BYTES: usize = 32;

    /// Days in `zone` (an IANA name or `UTC`), counters of `digits` digits, written behind `prefix`.
    ///
    /// # Errors
    /// [`DefinitionError::Value`] for an unknown zone, digits outside 1..=10, or a prefix over 32 bytes or with
    /// white space or control characters.
    pub fn new(zone: &str, digits: u8, prefix: &str, overflow: Overflow) -> Result<Self, DefinitionError> {
        // `Etc/Unknown` counts UTC's days without saying so.
        let known = TimeZone::get(zone).ok().filter(|time_zone| !time_zone.is_unknown());
        let time_zone = known.ok_or_else(|| {
            DefinitionError::Value(format!(
                "unknown time zone {zone:?}: give an IANA name such as \"Asia/Shanghai\", or \"UTC\""
            ))
        })?;
        if !(1..=Self::MAX_DIGITS).contains(&digits) {
            return Err(DefinitionError::Value(format!(
                "digits {digits} is outside 1..={}",
                Self::MAX_DIGITS
            )));
        }
        if prefix.len() > Self::MAX_PREFIX_BYTES
            || prefix.contains(|c: char| c.is_control() || c.is_whitespace())
        {
            return Err(DefinitionError::Value(format!(
                "the prefix {prefix:?} must have at most {} bytes, without white space or control characters",
                Self::MAX_PREFIX_BYTES
            )));
        }
        let zone = time_zone.iana_name().unwrap_or(zone).to_owned();
        Ok(Self { zone, time_zone, digits, prefix: prefix.to_owned(), overflow })
    }

    /// The IANA name of the zone whose days count.
    pub fn zone(&self) -> &str {
        &self.zone
    }

    /// The zone itself.
    pub(crate) fn time_zone(&self) -> &TimeZone {
        &self.time_zone
    }

    /// How many digits the counter is padded to.
    pub fn digits(&self) -> u8 {
        self.digits
    }

    /// The text before the date.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// What happens past the last number of that many digits.
    pub fn overflow(&self) -> Overflow {
        self.overflow
    }
}

impl Kind {
    /// The word for it, in configuration, logs and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Snowflake => "snowflake",
            Self::Segment => "segment",
            Self::Counter => "counter",
            Self::Dated => "dated",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = DefinitionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Snowflake, Self::Segment, Self::Counter, Self::Dated]
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| match reserved_name(text) {
                true => DefinitionError::ReservedKind(text.to_owned()),
                false => DefinitionError::UnknownKind(text.to_owned()),
            })
    }
}

impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Snowflake { layout, own: false } => write!(f, "snowflake {layout}"),
            Self::Snowflake { layout, own: true } => write!(f, "snowflake own {layout}"),
            Self::Segment { increment, offset } => write!(f, "segment increment={increment} offset={offset}"),
            Self::Counter => f.write_str("counter"),
            Self::Dated(shape) => {
                let overflow = match shape.overflow {
                    Overflow::Refuse => "refuse",
                    Overflow::Widen => "widen",
                };
                write!(
                    f,
                    "dated zone={} digits={} overflow={overflow} prefix={}",
                    shape.zone, shape.digits, shape.prefix
                )
            }
        }
    }
}

impl FromStr for Definition {
    type Err = DefinitionError;

    /// Reads the canonical text back, and nothing else.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
        let foreign = || {
            DefinitionError::Value(format!("{text:?} is not a definition that this version of floe can read"))
        };
        let mut values = rest.split(' ');
        let mut value = |key: &str| values.next().and_then(|v| v.strip_prefix(key)).ok_or_else(foreign);
        let definition = match Kind::from_str(kind)? {
            Kind::Snowflake => match rest.strip_prefix("own ") {
                Some(layout) => Self::Snowflake { layout: layout.parse()?, own: true },
                None => Self::Snowflake { layout: rest.parse()?, own: false },
            },
            Kind::Segment => Self::Segment {
                increment: value("increment=")?.parse().map_err(|_| foreign())?,
                offset: value("offset=")?.parse().map_err(|_| foreign())?,
            },
            Kind::Counter => Self::Counter,
            Kind::Dated => {
                let zone = value("zone=")?;
                let digits = value("digits=")?.parse().map_err(|_| foreign())?;
                let overflow = match value("overflow=")? {
                    "refuse" => Overflow::Refuse,
                    "widen" => Overflow::Widen,
                    _ => return Err(foreign()),
                };
                Self::Dated(DatedShape::new(zone, digits, value("prefix=")?, overflow)?)
            }
        };
        definition.check()?;
        match definition.to_string() == text {
            true => Ok(definition),
            false => Err(foreign()),
        }
    }
}
