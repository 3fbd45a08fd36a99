//! Dated names: the date followed by a counter that restarts each day, month or year.

use std::fmt::{self, Write as _};

use floe_id::inspect::Reading;
use jiff::civil::Date;

use super::dated_shape::{DateFormat, DatedShape, Overflow};
use super::row::{Complain, Given, Reserved, Row, Rules, Setting, Takes};
use super::words::Words;
use super::{Definition, DefinitionError, ReadIdError};

pub(crate) static ROW: Row = Row {
    word: "dated",
    aliases: &[],
    settings: &[
        Setting::new(
            "zone",
            Takes::Text("ZONE"),
            "The time zone in which a dated name's day begins [default: UTC]",
        )
        .required("it is missing: say in which time zone a day begins, such as \"Asia/Shanghai\" or \"UTC\""),
        Setting::new(
            "date",
            Takes::Text("DATE"),
            "The date in a dated name's IDs; each new date restarts the counter: yyyyMMdd, yyyyMM, yyyy, yyMMdd, yyMM or yy [default: yyyyMMdd]",
        ),
        Setting::new("digits", Takes::Whole(1..=12), "The digits of a dated name's counter [default: 6]").required(
            "it is missing: say how many digits the counter has, 1 to 10, or to 12 for a counter of a month or a year",
        ),
        Setting::new("prefix", Takes::Text("TEXT"), "The text before a dated name's date"),
        Setting::new(
            "overflow",
            Takes::Text("WHAT"),
            "What happens after the last number of these digits: refuse, or widen the number [default: refuse]",
        ),
    ],
    options: &[],
    has_time: true,
    rules: Rules::Reserved(Reserved { counted: true, define, parse }),
};

fn define(given: &Given, complain: Complain<'_>) -> Option<Definition> {
    let date = given.read("date", DateFormat::default(), complain);
    let overflow = given.read("overflow", Overflow::default(), complain);
    let digits: u8 = given.read("digits", 6, complain)?;
    let (date, overflow) = (date?, overflow?);
    if !(1..=date.max_digits()).contains(&digits) {
        complain(
            "digits",
            format!("{digits} is outside the allowed 1 to {} behind {date}", date.max_digits()),
        );
        return None;
    }
    let (zone, prefix) = (given.get("zone").unwrap_or("UTC"), given.get("prefix").unwrap_or_default());
    if let Err(error) = DatedShape::check_prefix(prefix) {
        complain("prefix", error.to_string());
        return None;
    }
    let shape = DatedShape::with_date(date, zone, digits, prefix, overflow);
    shape.map_err(|error| complain("zone", error.to_string())).map(Definition::Dated).ok()
}

pub(super) fn write(shape: &DatedShape, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("dated")?;
    // Names that count days are older than those that count anything else: their text never changes (I4).
    if shape.date() != DateFormat::Day {
        write!(f, " date={}", shape.date())?;
    }
    let (zone, digits, overflow, prefix) = (shape.zone(), shape.digits(), shape.overflow(), shape.prefix());
    write!(f, " zone={zone} digits={digits} overflow={overflow} prefix={prefix}")
}

fn parse(text: &str) -> Result<Option<Definition>, DefinitionError> {
    let mut words = Words::of(text);
    let date = match text.starts_with("date=") {
        true => words.value("date=").and_then(|date| date.parse().ok()),
        false => Some(DateFormat::Day),
    };
    let mut rest = || {
        let zone = words.value("zone=")?;
        let digits = words.value("digits=")?.parse().ok()?;
        let overflow = words.value("overflow=")?.parse().ok()?;
        Some((zone, digits, overflow, words.value("prefix=")?))
    };
    let (Some(date), Some((zone, digits, overflow, prefix))) = (date, rest()) else { return Ok(None) };
    Ok(Some(Definition::Dated(DatedShape::with_date(date, zone, digits, prefix, overflow)?)))
}

pub(super) fn read(definition: &Definition, text: &str, shape: &DatedShape) -> Result<Reading, ReadIdError> {
    let (day, number) = shape.read(text).map_err(|why| match why {
        DefinitionError::Value(why) => definition.foreign(text, why),
        other => definition.foreign(text, other.to_string()),
    })?;
    if shape.position(day, number).is_none() {
        return Err(definition.foreign(text, "a period's numbers begin at 1, and its days at 1970-01-01"));
    }
    let reading = Reading::new("dated", "dated", "decimal", text)
        .fact("date", format!("{} in {}", written(shape, day), shape.zone()))
        .fact("number", format!("{number} of that {}", shape.date().period()))
        .with("time", day.to_string())
        .with("position", number);
    Ok(reading.explained(pieces(text, shape, day, number)))
}

/// A dated name's date, as far as its IDs tell it.
fn written(shape: &DatedShape, day: Date) -> String {
    match shape.date().period() {
        "day" => day.to_string(),
        "month" => day.strftime("%Y-%m").to_string(),
        _ => day.strftime("%Y").to_string(),
    }
}

/// The parts of a dated name's ID.
fn pieces(text: &str, shape: &DatedShape, day: Date, number: u64) -> String {
    let digits = shape.without_prefix(text);
    let period = shape.date().period();
    let mut lines =
        format!("the date, and the number within that {period}, are written one after the other:\n");
    let (date, counter) = digits.split_at_checked(shape.date().width()).unwrap_or((digits, ""));
    let cells = [
        (text.strip_suffix(digits).unwrap_or_default(), "prefix".to_owned()),
        (date, format!("date {} in {}", written(shape, day), shape.zone())),
        (counter, format!("number {number} of that {period}, in at least {} digits", shape.digits())),
    ];
    let width = cells.iter().map(|(cell, _)| cell.len()).max().unwrap_or(0);
    for (cell, meaning) in cells.iter().filter(|(cell, _)| !cell.is_empty()) {
        // Writing to memory does not fail.
        let _ = writeln!(lines, "  {cell:width$}  {meaning}");
    }
    lines
}
