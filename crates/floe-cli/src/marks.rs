//! `floe marks`: how far each name has come, and how to move it on. Nothing here moves a mark back (I1).

use floe::ledger::{Key, Ledger, MAX_MARK};
use floe::{Definition, Name};
use serde_json::{Value, json};

use crate::arguments;
use crate::explain::{Inspected, number};
use crate::failure::{Failure, Outcome};
use crate::names;
use crate::place;
use crate::table::{Table, print, print_json};

/// How many records one question to a ledger asks for.
const PAGE: usize = 1_000;

/// `floe marks list`.
pub(crate) fn list(ledger: &arguments::Ledger, json: bool) -> Outcome {
    let ledger = ledger.existing()?;
    let marks = marks(&*ledger)?;
    let rows = names::stored(&*ledger)?.into_iter().filter_map(|(name, text)| {
        let mark = marks.iter().find(|(key, _)| key.strip_prefix(Key::NAMES) == Some(&name))?.1;
        let next = text.parse().ok().map(|definition| next_id(&definition, mark));
        Some((name, text, mark, next.unwrap_or_else(|| "unknown to this version".to_owned())))
    });
    if json {
        let rows = rows.map(|(name, text, mark, next)| {
            json!({ "name": name, "kind": text.split(' ').next(), "definition": text, "mark": mark, "next": next })
        });
        return print_json(&rows.collect::<Value>());
    }
    let mut table = Table::new(&["NAME", "KIND", "NEXT", "MARK"]);
    for (name, text, mark, next) in rows {
        table.row([name, text.split(' ').next().unwrap_or_default().to_owned(), next, mark.to_string()]);
    }
    print(&table.render())
}

fn marks(ledger: &dyn Ledger) -> Outcome<Vec<(String, u64)>> {
    let mut marks: Vec<(String, u64)> = Vec::new();
    loop {
        let after = marks.last().map_or("", |(key, _)| key).to_owned();
        let page = ledger.list(Key::NAMES, &after, PAGE)?;
        let full = page.len() == PAGE;
        marks.extend(page.into_iter().map(|record| (record.key, record.mark)));
        if !full {
            return Ok(marks);
        }
    }
}

/// `floe marks raise`.
pub(crate) fn raise(arguments: &arguments::Raise) -> Outcome {
    let name = Name::new(&arguments.name)?;
    arguments.shape.check(&name)?;
    let config = arguments.ledger.settings()?;
    let ledger = arguments.ledger.existing()?;
    let stored = names::of_ledger(&*ledger, &name)?;
    let configured = place::configured(&config, &name)?;
    let new = stored.is_none();
    if new && configured.is_none() && arguments.shape.is_empty() {
        return Err(Failure::new(format_args!("there is no name {name} in {}", ledger.describe())).hint(format_args!(
            "say what it is, and it comes into being with its first ID: floe marks raise {name} --to {} --kind segment",
            arguments.to
        )));
    }
    let definition = arguments.shape.settle(&name, stored, configured)?;
    let position = position(&name, &definition, &arguments.to)?;
    let key = Key::name(&name);
    let mark = if new { 0 } else { mark_of(&*ledger, &key)? };
    let next = next_id(&definition, position);
    if position < mark {
        return Err(too_low(&name, &definition, mark, &arguments.to));
    }
    if arguments.dry_run {
        let made = if new { format!("make {name} a `{definition}`, and ") } else { String::new() };
        return print(&format!(
            "would {made}raise {name}: its next ID was {}, and would be {next}\n",
            next_id(&definition, mark)
        ));
    }
    let bound = ledger.bind(&name, &definition.to_string(), true)?;
    if bound != definition.to_string() {
        return Err(Failure::new(format_args!(
            "the name {name} has come into being meanwhile as something else:\n  the ledger has it as  {bound}\n  asked for             {definition}"
        ))
        .hint("take another name: what a name is never changes"));
    }
    let before = ledger.raise(&key, position)?;
    if before > position {
        return Err(too_low(&name, &definition, before, &arguments.to));
    }
    print(&format!("raised {name}: its next ID was {}, and is {next}\n", next_id(&definition, before)))
}

fn too_low(name: &Name, definition: &Definition, mark: u64, to: &str) -> Failure {
    Failure::new(format_args!(
        "the mark of {name} is already above {to}: its next ID is {}",
        next_id(definition, mark)
    ))
    .hint("a mark never goes down, for IDs below it may have been handed out; name a larger number")
}

fn mark_of(ledger: &dyn Ledger, key: &Key) -> Outcome<u64> {
    let record = ledger.list(key.as_str(), "", PAGE)?.into_iter().find(|record| record.key == key.as_str());
    match record {
        Some(record) => Ok(record.mark),
        None => Err(floe::ledger::LedgerError::Missing(key.clone()).into()),
    }
}

/// The position of a dated name: the day in these high bits, the counter of that day below them.
const DAY_SHIFT: u32 = 40;

/// The ID that comes next at `mark`, as it is printed.
fn next_id(definition: &Definition, mark: u64) -> String {
    match definition {
        Definition::Snowflake { .. } => "by the clock".to_owned(),
        Definition::Segment { increment, offset } => {
            let next = increment.checked_mul(mark).and_then(|past| past.checked_add(*offset));
            next.filter(|next| *next <= MAX_MARK).map_or_else(|| "none: used up".to_owned(), |next| next.to_string())
        }
        Definition::Counter => mark.to_string(),
        Definition::Dated(_) => mark.to_string(),
    }
}

/// The position from which on every ID is at least `to`.
fn position(name: &Name, definition: &Definition, to: &str) -> Outcome<u64> {
    let _ = (name, to, DAY_SHIFT, number(to)?, Inspected::read(to, definition)?);
    todo!()
}
