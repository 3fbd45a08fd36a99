//! The first of the numbers that an `INSERT` minted, which is all that MySQL's protocol says of them.

use floe::Minted;
use floe_wire::mysql::Value;

use crate::status::Refusal;

/// The first of `rows` consecutive numbers. Clients count on from it themselves, so with an increment over 1 they
/// would take numbers of other clients (I1).
pub(super) fn first(name: &str, rows: u64, minted: Minted) -> Result<u64, Refusal> {
    let wrong = |why: &str| Refusal::wrong_kind(format!("`{name}` mints {why}, or use another name"));
    let (first, last) = match minted {
        Minted::Wide(_) => {
            return Err(wrong(&format!(
                "IDs of more than 63 bits, which no AUTO_INCREMENT holds: ask at /v1/mint/{name}"
            )));
        }
        Minted::Texts(_) => {
            return Err(wrong(&format!("texts, which no AUTO_INCREMENT can be: ask at /v1/mint/{name}")));
        }
        Minted::Numbers(ids) => ends(ids.map(|id| Some(id.get()))),
        Minted::Dated(ids) => ends(ids.map(|id| id.number().map(|number| number.get()))),
    }
    .ok_or_else(|| {
        Refusal::exhausted(format!(
            "an ID of `{name}` is past 63 bits as a number: use another name with fewer digits"
        ))
    })?;
    match last.checked_sub(first).and_then(|distance| distance.checked_add(1)) == Some(rows) {
        true => Ok(first),
        false => Err(wrong(
            "numbers that do not follow one another by one, and a client learns only the first of several: insert one row at a time",
        )),
    }
}

/// The first and the last of at least one number; `None` if either is missing.
fn ends(mut numbers: impl Iterator<Item = Option<u64>>) -> Option<(u64, u64)> {
    let first = numbers.next()??;
    Some((first, numbers.last().unwrap_or(Some(first))?))
}

/// Refuses a row with an ID of the client's choice. The SQL reader does the same for numbers in a statement.
pub(super) fn no_certain_id(parameters: &[Value<'_>]) -> Result<(), Refusal> {
    let number = |value: &Value<'_>| match *value {
        Value::Signed(number) => number != 0,
        Value::Unsigned(number) => number != 0,
        Value::Double(number) => number != 0.0,
        Value::Null | Value::Bytes(_) | Value::Moment(_) => false,
    };
    match parameters.iter().any(number) {
        false => Ok(()),
        true => Err(Refusal::bad(
            "a parameter is a number, which would be the ID of the row: floe mints the IDs, so bind only texts or NULL",
        )),
    }
}
