//! A definition's canonical text, which is its fingerprint.

use std::fmt;
use std::str::FromStr;

use super::{DateFormat, DatedShape, Definition, DefinitionError, Kind, Overflow, Registered};
use crate::form::{Escaped, unescape};
use floe_id::kind::NanoIdFormat;

/// Stands between a definition and its form. No word of a definition is it: all but the first have a sign in them.
const FORM: &str = " form ";

impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Snowflake { layout, own: false } => write!(f, "snowflake {layout}"),
            Self::Snowflake { layout, own: true } => write!(f, "snowflake own {layout}"),
            Self::Segment { increment, offset } => write!(f, "segment increment={increment} offset={offset}"),
            Self::Dated(shape) => {
                let overflow = match shape.overflow {
                    Overflow::Refuse => "refuse",
                    Overflow::Widen => "widen",
                };
                f.write_str("dated ")?;
                // Names that count days are older than those that count anything else: their text never changes (I4).
                if shape.date != DateFormat::Day {
                    write!(f, "date={} ", shape.date)?;
                }
                write!(
                    f,
                    "zone={} digits={} overflow={overflow} prefix={}",
                    shape.zone, shape.digits, shape.prefix
                )
            }
            Self::Uuid7 { precise: true } => f.write_str("uuid7 time=precise"),
            Self::NanoId(format) => {
                write!(f, "nanoid length={} alphabet={}", format.length(), Escaped(format.alphabet()))
            }
            Self::Registered(registered) => write!(f, "registered {registered}"),
            Self::Formed(inner, form) => write!(f, "{inner}{FORM}{form:#}"),
            Self::Counter | Self::Uuid4 | Self::Uuid7 { .. } | Self::Ulid | Self::ObjectId | Self::Ksuid => {
                f.write_str(self.kind().as_str())
            }
        }
    }
}

impl FromStr for Definition {
    type Err = DefinitionError;

    /// Reads the canonical text back, and nothing else.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let foreign = || {
            DefinitionError::Value(format!("{text:?} is not a definition that this version of floe can read"))
        };
        let definition = match text.split_once(FORM) {
            Some((inner, form)) => read(inner, foreign)?.in_form(form.parse()?)?,
            None => read(text, foreign)?,
        };
        definition.check()?;
        match definition.to_string() == text {
            true => Ok(definition),
            false => Err(foreign()),
        }
    }
}

/// The definition of a text without a form.
fn read(text: &str, foreign: impl Fn() -> DefinitionError) -> Result<Definition, DefinitionError> {
    let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
    let mut values = rest.split(' ');
    let mut value = |key: &str| values.next().and_then(|v| v.strip_prefix(key)).ok_or_else(&foreign);
    Ok(match Kind::from_str(kind)? {
        Kind::Snowflake => match rest.strip_prefix("own ") {
            Some(layout) => Definition::Snowflake { layout: layout.parse()?, own: true },
            None => Definition::Snowflake { layout: rest.parse()?, own: false },
        },
        Kind::Segment => Definition::Segment {
            increment: value("increment=")?.parse().map_err(|_| foreign())?,
            offset: value("offset=")?.parse().map_err(|_| foreign())?,
        },
        Kind::Counter => Definition::Counter,
        Kind::Dated => {
            let date = match rest.starts_with("date=") {
                true => value("date=")?.parse().map_err(|_| foreign())?,
                false => DateFormat::Day,
            };
            let zone = value("zone=")?;
            let digits = value("digits=")?.parse().map_err(|_| foreign())?;
            let overflow = match value("overflow=")? {
                "refuse" => Overflow::Refuse,
                "widen" => Overflow::Widen,
                _ => return Err(foreign()),
            };
            Definition::Dated(DatedShape::with_date(date, zone, digits, value("prefix=")?, overflow)?)
        }
        Kind::Uuid4 => Definition::Uuid4,
        Kind::Uuid7 => Definition::Uuid7 { precise: !rest.is_empty() },
        Kind::Ulid => Definition::Ulid,
        Kind::ObjectId => Definition::ObjectId,
        Kind::Ksuid => Definition::Ksuid,
        Kind::NanoId => {
            let length = value("length=")?.parse().map_err(|_| foreign())?;
            let alphabet = unescape(value("alphabet=")?).ok_or_else(&foreign)?;
            Definition::NanoId(NanoIdFormat::new(&alphabet, length)?)
        }
        Kind::Registered => Definition::Registered(Registered::read(rest).ok_or_else(foreign)??),
    })
}
