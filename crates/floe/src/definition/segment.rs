//! Segments: numbers from reserved ranges.

use floe_id::inspect::Reading;

use super::row::{Complain, Given, Reserved, Row, Rules, Setting, Takes};
use super::words::{Words, narrow};
use super::{Definition, DefinitionError, ReadIdError};

/// The largest increment and offset.
const MAX: u64 = 1 << 32;

pub(crate) static ROW: Row = Row {
    word: "segment",
    aliases: &[],
    settings: &[
        Setting::new(
            "increment",
            Takes::Whole(1..=MAX),
            "The distance between a segment's numbers [default: 1]",
        ),
        Setting::new("offset", Takes::Whole(0..=MAX), "The first of a segment's numbers [default: 1]"),
    ],
    options: &["min_step", "max_step", "refill"],
    has_time: false,
    rules: Rules::Reserved(Reserved { counted: true, define, parse }),
};

fn define(given: &Given, complain: Complain<'_>) -> Option<Definition> {
    let increment = given.read("increment", 1, complain)?;
    let offset = given.read("offset", 1, complain)?;
    match outside(increment, offset) {
        None => Some(Definition::Segment { increment, offset }),
        Some((key, why)) => {
            complain(key, why);
            None
        }
    }
}

pub(super) fn check(increment: u64, offset: u64) -> Result<(), DefinitionError> {
    outside(increment, offset).map_or(Ok(()), |(_, why)| Err(DefinitionError::Value(why)))
}

/// The first of the two that cannot be, and why.
fn outside(increment: u64, offset: u64) -> Option<(&'static str, String)> {
    let values = [("increment", increment, 1), ("offset", offset, 0)];
    let (key, value, least) = values.into_iter().find(|(_, value, least)| !(*least..=MAX).contains(value))?;
    Some((key, format!("{key} {value} is outside {least}..={MAX}")))
}

fn parse(text: &str) -> Result<Option<Definition>, DefinitionError> {
    let mut words = Words::of(text);
    let read = |words: &mut Words<'_>| {
        Some(Definition::Segment {
            increment: words.value("increment=")?.parse().ok()?,
            offset: words.value("offset=")?.parse().ok()?,
        })
    };
    Ok(read(&mut words))
}

pub(super) fn read(
    definition: &Definition,
    text: &str,
    increment: u64,
    offset: u64,
) -> Result<Reading, ReadIdError> {
    let id = narrow(text)?;
    let past = id.checked_sub(offset).filter(|past| past.is_multiple_of(increment.max(1)));
    let past =
        past.ok_or_else(|| definition.foreign(text, format!("its numbers are {offset} + {increment} * n")))?;
    let nth = past / increment.max(1);
    let reading = Reading::new("segment", "segment", "decimal", id.to_string())
        .fact("numbers", format!("{offset} + {increment} * n"))
        .fact("n", nth.to_string())
        .with("position", nth);
    Ok(reading.explained(format!(
        "a segment prints the n-th position of its reserved ranges, n from 0, as {offset} + {increment} * n:\n  \
         ({id} - {offset}) / {increment} = {nth}, without a remainder\n\
         it holds no time and no worker: the number does not say which node minted it, or when\n"
    )))
}
