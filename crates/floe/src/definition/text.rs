//! A definition's canonical text, which is its fingerprint.

use std::fmt;

use super::{Definition, dated};

/// Stands between a definition and its form. No word of a definition is it: all but the first have a sign in them.
pub(crate) const FORM: &str = " form ";

impl fmt::Display for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Snowflake { layout, own: false } => write!(f, "snowflake {layout}"),
            Self::Snowflake { layout, own: true } => write!(f, "snowflake own {layout}"),
            Self::Segment { increment, offset } => write!(f, "segment increment={increment} offset={offset}"),
            Self::Counter => f.write_str("counter"),
            Self::Dated(shape) => dated::write(shape, f),
            Self::Ledgerless(ledgerless) => ledgerless.fmt(f),
            Self::Registered(registered) => write!(f, "registered {registered}"),
            Self::Formed(inner, form) => write!(f, "{inner}{FORM}{form:#}"),
        }
    }
}
