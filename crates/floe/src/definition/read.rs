//! Reading an ID by its name's definition.

use floe_id::inspect::{InspectError, LONGEST, Reading};
use floe_id::kind::ReadError;
use std::fmt;

use super::words::wide;
use super::{Definition, counter, dated, segment};
use crate::form::FormError;
use crate::{IdError, LayoutError};

/// Why a text is not an ID of a definition.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadIdError {
    /// The text is longer than any ID.
    Length(InspectError),
    /// The text is not a number, or the number has too many bits.
    Number {
        /// The text.
        text: String,
        /// The rule that it breaks.
        error: IdError,
    },
    /// The number has bits outside the layout.
    Layout(LayoutError),
    /// A name of this definition cannot have minted the text.
    Foreign {
        /// The text.
        text: String,
        /// The canonical text of the definition.
        definition: String,
        /// The rule that it breaks.
        why: String,
    },
    /// The form cannot have written the text.
    Form {
        /// The text.
        text: String,
        /// The form.
        form: String,
        /// The rule that it breaks.
        error: FormError,
    },
    /// The text is not an ID of the kind.
    Kind(ReadError),
    /// The kind is registered, so only the program that registered it can read its IDs.
    Registered(String),
}

impl fmt::Display for ReadIdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(error) => write!(f, "{error}"),
            Self::Number { text, error } => write!(f, "{text:?} is not an ID: {error}"),
            Self::Layout(error) => write!(f, "{error}"),
            Self::Foreign { text, definition, why } => {
                write!(f, "{text:?} is not an ID of `{definition}`: {why}")
            }
            Self::Form { text, form, error } => {
                write!(f, "{text:?} is not an ID in the form \"{form}\": {error}")
            }
            Self::Kind(error) => write!(f, "{error}"),
            Self::Registered(kind) => {
                write!(f, "only the program that registered the kind {kind} can read its IDs")
            }
        }
    }
}

impl From<LayoutError> for ReadIdError {
    fn from(error: LayoutError) -> Self {
        Self::Layout(error)
    }
}

impl From<ReadError> for ReadIdError {
    fn from(error: ReadError) -> Self {
        Self::Kind(error)
    }
}

floe_id::__error!(ReadIdError);

impl Definition {
    /// Reads an ID of such a name: what it contains, with an explanation of how to compute that by hand.
    ///
    /// ```
    /// use floe::Definition;
    /// let odd = Definition::Segment { increment: 2, offset: 1 };
    /// let reading = odd.read("41")?;
    /// assert!(reading.explanation.contains("(41 - 1) / 2 = 20"));
    /// assert!(odd.read("42").is_err());
    /// # Ok::<(), floe::ReadIdError>(())
    /// ```
    ///
    /// # Errors
    /// [`ReadIdError`] if the name cannot have minted the text.
    pub fn read(&self, text: &str) -> Result<Reading, ReadIdError> {
        if text.len() > LONGEST {
            return Err(ReadIdError::Length(InspectError::Length));
        }
        match self {
            Self::Snowflake { layout, .. } => Ok(Reading::by_layout(wide(text)?, layout)?),
            Self::Segment { increment, offset } => segment::read(self, text, *increment, *offset),
            Self::Counter => counter::read(self, text),
            Self::Dated(shape) => dated::read(self, text, shape),
            Self::Ledgerless(ledgerless) => ledgerless.read(text),
            Self::Registered(registered) => Err(ReadIdError::Registered(registered.type_name().to_owned())),
            Self::Formed(inner, form) => {
                let number = form.decode(text).map_err(|error| ReadIdError::Form {
                    text: text.to_owned(),
                    form: form.to_string(),
                    error,
                })?;
                let reading = inner.read(&inner.unformed_text(number))?.written(&form.to_string(), text);
                Ok(reading.fact("number", number.to_string()).with("number", number.to_string()))
            }
        }
    }

    pub(crate) fn foreign(&self, text: &str, why: impl Into<String>) -> ReadIdError {
        ReadIdError::Foreign { text: text.to_owned(), definition: self.to_string(), why: why.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DateFormat, DatedShape, Overflow};

    fn of(text: &str) -> Definition {
        text.parse().unwrap()
    }

    #[test]
    fn a_segment_knows_its_grid() {
        let odd = Definition::Segment { increment: 2, offset: 1 };
        assert!(odd.read("41").unwrap().extra.contains(&("position".to_owned(), 20_u64.into())));
        assert!(odd.read("42").is_err());
        assert!(odd.read("0").is_err());
        assert!(Definition::Counter.read("0").is_err());
        assert_eq!(Definition::Counter.read("7").unwrap().text, "7");
    }

    #[test]
    fn a_dated_id_is_read_by_the_date_of_its_name() {
        for (format, text, cell, date, wrong) in [
            (DateFormat::Month, "INV202611000123", "202611", "2026-11", "INV202613000123"),
            (DateFormat::Year, "INV2026000123", "2026", "2026", "INV1969000123"),
            (DateFormat::ShortDay, "INV261120000123", "261120", "2026-11-20", "INV261131000123"),
            (DateFormat::ShortMonth, "INV2611000123", "2611", "2026-11", "INV0911000123"),
            (DateFormat::ShortYear, "INV26000123", "26", "2026", "INV2600123"),
        ] {
            let shape = DatedShape::with_date(format, "UTC", 6, "INV", Overflow::Refuse).unwrap();
            let dated = Definition::Dated(shape);
            let reading = dated.read(text).unwrap();
            assert!(reading.extra.contains(&("position".to_owned(), 123_u64.into())));
            let explained = reading.explanation;
            assert!(explained.contains(&format!("\n  {cell:6}  date {date} in UTC\n")), "{explained}");
            assert!(explained.contains(&format!("of that {}", format.period())), "{explained}");
            assert!(dated.read(wrong).is_err(), "{wrong} was read");
        }
    }

    #[test]
    fn a_dated_id_is_read_with_and_without_its_prefix() {
        let shape = DatedShape::new("Asia/Shanghai", 6, "INV", Overflow::Refuse).unwrap();
        let dated = Definition::Dated(shape.clone());
        for text in ["INV20261120000123", "20261120000123"] {
            let (day, number) = shape.read(text).unwrap();
            assert_eq!((day.to_string().as_str(), number), ("2026-11-20", 123));
            assert_eq!(dated.read(text).unwrap().text, text);
        }
        for text in [
            "INV20261120123",
            "INV202611200001234",
            "INV20261320000123",
            "IN20261120000123",
            "INV20261120000000",
            "INV",
            "",
        ] {
            assert!(dated.read(text).is_err(), "{text} was read");
        }
    }

    #[test]
    fn a_kind_of_texts_reads_its_own() {
        let text = "018f6f3c-4a5b-7c6d-8e9f-0a1b2c3d4e5f";
        assert_eq!(of("uuid7").read(text).unwrap().kind, "uuid7");
        assert!(of("uuid4").read(text).is_err_and(|error| error.to_string().contains("version 4")));
        assert!(of("ulid").read(text).is_err());
        let codes = of("nanoid length=5 alphabet=23k");
        assert_eq!(codes.read("kk23k").unwrap().text, "kk23k");
        for other in ["kk23x", "kk23kk", "V1StGXR8_Z5jdHi6B-myT"] {
            assert!(codes.read(other).is_err(), "{other} was read");
        }
        assert!(matches!(Definition::Counter.read(&"1".repeat(300)), Err(ReadIdError::Length(_))));
        let short = Definition::Counter.in_form("base62".parse().unwrap()).unwrap();
        let reading = short.read("10").unwrap();
        assert_eq!((reading.text.as_str(), reading.form.as_str()), ("10", "base62"));
        assert!(reading.extra.contains(&("position".to_owned(), 62_u64.into())));
        assert!(matches!(short.read("0"), Err(ReadIdError::Foreign { .. })));
    }
}
