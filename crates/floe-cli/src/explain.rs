//! An ID taken apart by a definition, and the arithmetic by which anyone can do the same by hand. No clock, no ledger, no
//! output.

use std::fmt::Write as _;

use floe::inspect::{LONGEST, Reading};
use floe::{DatedShape, Definition, Kind, WideId};
use jiff::civil::Date;

use crate::failure::{Failure, Outcome};

/// An ID read by one definition.
pub(crate) enum Inspected {
    /// Bit fields.
    Snowflake(Box<Reading>),
    /// The `nth` number, from 0, of a segment.
    Segment { id: u64, nth: u64, increment: u64, offset: u64 },
    /// The number itself.
    Counter { id: u64 },
    /// A date (the first day of its month or year, where those count) and the number within its period.
    Dated { text: String, shape: DatedShape, day: Date, number: u64 },
}

impl Inspected {
    /// Reads `text` as an ID of `definition`.
    pub(crate) fn read(text: &str, definition: &Definition) -> Outcome<Self> {
        match definition {
            Definition::Snowflake { layout, .. } => Ok(Self::Snowflake(Box::new(
                Reading::by_layout(number(text)?, layout).map_err(Failure::new)?,
            ))),
            Definition::Segment { increment, offset } => {
                let id = narrow(text)?;
                let past = id.checked_sub(*offset).filter(|past| past.is_multiple_of((*increment).max(1)));
                let Some(past) = past else {
                    return Err(Failure::new(format_args!(
                        "{id} is not a number of this segment: its numbers are {offset} + {increment} * n"
                    )));
                };
                let nth = past / (*increment).max(1);
                Ok(Self::Segment { id, nth, increment: *increment, offset: *offset })
            }
            Definition::Counter => Ok(Self::Counter { id: narrow(text)? }),
            Definition::Dated(shape) => Self::dated(text, shape),
            other => Err(Failure::usage(format_args!(
                "an ID of the kind {} is taken apart by itself",
                other.kind_name()
            ))
            .hint("leave the name out: floe inspect ID")),
        }
    }

    fn dated(text: &str, shape: &DatedShape) -> Outcome<Self> {
        let prefix = shape.prefix();
        // The number form has no prefix.
        let digits = text.strip_prefix(prefix).unwrap_or(text);
        let refuse = |why: &str| {
            let form = format!("{prefix}{} and then {} digits", shape.date(), shape.digits());
            Err(Failure::usage(format_args!("{text:?} is not an ID of this dated name: {why}"))
                .hint(format_args!("its IDs are written as {form}")))
        };
        if let Some((at, character)) = digits.char_indices().find(|(_, c)| !c.is_ascii_digit()) {
            let at = at + text.len() - digits.len();
            return refuse(&format!("{character:?} at byte {at} is not a decimal digit"));
        }
        let Some((date, number)) = digits.split_at_checked(shape.date().width()) else {
            return refuse("it is shorter than a date");
        };
        let Some(day) = shape.date().read(date) else {
            return refuse(&format!("{date} is not a date"));
        };
        if number.len() < usize::from(shape.digits()) {
            return refuse(&format!("{} digits after the date are too few", number.len()));
        }
        if number.len() > usize::from(shape.digits())
            && (number.starts_with('0') || shape.overflow() == floe::Overflow::Refuse)
        {
            return refuse(&format!("{} digits after the date are too many", number.len()));
        }
        let Ok(number) = number.parse() else {
            return refuse("its counter does not fit 63 bits");
        };
        Ok(Self::Dated { text: text.to_owned(), shape: shape.clone(), day, number })
    }

    /// The kind of name that it was read as.
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Snowflake(_) => Kind::Snowflake,
            Self::Segment { .. } => Kind::Segment,
            Self::Counter { .. } => Kind::Counter,
            Self::Dated { .. } => Kind::Dated,
        }
    }

    /// All that it says.
    pub(crate) fn reading(&self) -> Reading {
        let kind = self.kind().as_str();
        match self {
            Self::Snowflake(reading) => (**reading).clone(),
            Self::Segment { id, nth, increment, offset } => Reading::new(kind, kind, "decimal", id.to_string())
                .fact("numbers", format!("{offset} + {increment} * n"))
                .fact("n", nth.to_string())
                .with("position", *nth)
                .explained(format!(
                    "a segment prints the n-th position of its reserved ranges, n from 0, as {offset} + {increment} * n:\n  \
                     ({id} - {offset}) / {increment} = {nth}, without a remainder\n\
                     it holds no time and no worker: which node minted it, and when, the number does not say\n"
                )),
            Self::Counter { id } => Reading::new(kind, kind, "decimal", id.to_string())
                .with("position", *id)
                .explained(format!(
                    "a counter prints its position itself:\n  {id}\n\
                     every number below it was handed out, or given up, before it; it holds no time and no worker\n"
                )),
            Self::Dated { text, shape, day, number } => Reading::new(kind, kind, "decimal", text)
                .fact("date", format!("{} in {}", written(shape, *day), shape.zone()))
                .fact("number", format!("{number} of that {}", shape.date().period()))
                .with("time", day.to_string())
                .with("position", *number)
                .explained(pieces(text, shape, *day, *number)),
        }
    }
}

/// A dated name's date, as far as its IDs tell it.
fn written(shape: &DatedShape, day: Date) -> String {
    match shape.date().period() {
        "day" => day.to_string(),
        "month" => day.strftime("%Y-%m").to_string(),
        _ => day.strftime("%Y").to_string(),
    }
}

/// What stands where in a dated name's ID.
fn pieces(text: &str, shape: &DatedShape, day: Date, number: u64) -> String {
    let digits = text.strip_prefix(shape.prefix()).unwrap_or(text);
    let period = shape.date().period();
    let mut lines =
        format!("the date, and the number within that {period}, are written one after the other:\n");
    let (date, counter) = digits.split_at_checked(shape.date().width()).unwrap_or((digits, ""));
    let cells: Vec<(&str, String)> = [
        (text.strip_suffix(digits).unwrap_or_default(), "prefix".to_owned()),
        (date, format!("date {} in {}", written(shape, day), shape.zone())),
        (counter, format!("number {number} of that {period}, in at least {} digits", shape.digits())),
    ]
    .into();
    let width = cells.iter().map(|(cell, _)| cell.len()).max().unwrap_or(0);
    for (cell, meaning) in cells.iter().filter(|(cell, _)| !cell.is_empty()) {
        let _ = writeln!(lines, "  {cell:width$}  {meaning}");
    }
    lines
}

/// The number that `text` writes, whatever its width.
pub(crate) fn number(text: &str) -> Outcome<WideId> {
    if text.len() > LONGEST {
        // The error would repeat it all.
        return Err(Failure::usage(format_args!(
            "a text of over {LONGEST} bytes is no ID: a number of 128 bits has at most 39 digits"
        )));
    }
    Ok(floe::inspect::number(text)?)
}

fn narrow(text: &str) -> Outcome<u64> {
    let wide = number(text)?;
    Ok(floe::Id::try_from(wide)?.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_knows_its_grid() {
        let odd = Definition::Segment { increment: 2, offset: 1 };
        let Ok(Inspected::Segment { nth, .. }) = Inspected::read("41", &odd) else {
            panic!("41 is on the grid")
        };
        assert_eq!(nth, 20);
        assert!(Inspected::read("42", &odd).is_err());
        assert!(Inspected::read("0", &odd).is_err());
    }

    #[test]
    fn a_dated_id_is_read_by_the_date_of_its_name() {
        use floe::DateFormat;
        for (format, text, date, wrong) in [
            (DateFormat::Month, "INV202611000123", "2026-11", "INV202613000123"),
            (DateFormat::Year, "INV2026000123", "2026", "INV1969000123"),
            (DateFormat::ShortDay, "INV261120000123", "2026-11-20", "INV261131000123"),
            (DateFormat::ShortMonth, "INV2611000123", "2026-11", "INV0911000123"),
            (DateFormat::ShortYear, "INV26000123", "2026", "INV2600123"),
        ] {
            let shape =
                DatedShape::with_date(format, "UTC", 6, "INV", floe::Overflow::Refuse).expect("a shape");
            let dated = Definition::Dated(shape);
            let reading = Inspected::read(text, &dated).expect("an ID").reading();
            let json = crate::reading::json(&reading).to_string();
            assert!(json.contains("\"position\":123"), "{json}");
            let explained = reading.explanation;
            assert!(explained.contains(&format!("date {date} in UTC")), "{explained}");
            assert!(explained.contains(&format!("of that {}", format.period())), "{explained}");
            assert!(Inspected::read(wrong, &dated).is_err(), "{wrong} was read");
        }
    }

    #[test]
    fn a_dated_id_is_read_with_and_without_its_prefix() {
        let shape = DatedShape::new("Asia/Shanghai", 6, "INV", floe::Overflow::Refuse).expect("a shape");
        let dated = Definition::Dated(shape);
        for text in ["INV20261120000123", "20261120000123"] {
            let Ok(Inspected::Dated { day, number, .. }) = Inspected::read(text, &dated) else {
                panic!("{text}")
            };
            assert_eq!((day.to_string().as_str(), number), ("2026-11-20", 123));
        }
        for text in
            ["INV20261120123", "INV202611200001234", "INV20261320000123", "IN20261120000123", "INV", ""]
        {
            assert!(Inspected::read(text, &dated).is_err(), "{text} was read");
        }
    }
}
