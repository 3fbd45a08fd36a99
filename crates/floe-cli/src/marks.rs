//! `floe marks`: how far each name has come, and how to move it on. Nothing here moves a mark back (I1).

use floe::form::Buffer;
use floe::ledger::{Beginning, Key, Ledger, MAX_MARK, Record, Token};
use floe::{DatedShape, Definition, Kind, Name, NoPosition};
use serde_json::{Value, json};

use crate::arguments;
use crate::failure::{Failure, Outcome};
use crate::inspect::number;
use crate::names;
use crate::place;
use crate::slots;
use crate::table::{print, print_json, table};

/// `floe marks list`.
pub(crate) fn list(ledger: &arguments::Ledger, json: bool) -> Outcome {
    let ledger = ledger.existing()?;
    let marks = marks(&*ledger)?;
    let rows = names::stored(&*ledger)?.into_iter().filter_map(|(name, text)| {
        let mark = marks.iter().find(|record| record.key.strip_prefix(Key::NAMES) == Some(&name))?.mark;
        let next = text.parse().ok().map(|definition| next_id(&definition, mark));
        Some((name, text, mark, next.unwrap_or_else(|| "unknown to this version".to_owned())))
    });
    if json {
        let rows = rows.map(|(name, text, mark, next)| {
            json!({ "name": name, "kind": text.split(' ').next(), "definition": text, "mark": mark, "next": next })
        });
        return print_json(&rows.collect::<Value>());
    }
    let rows = rows.map(|(name, text, mark, next)| {
        [name, text.split(' ').next().unwrap_or_default().to_owned(), next, mark.to_string()]
    });
    print(&table(["NAME", "KIND", "NEXT", "MARK"], rows))
}

/// The records of all names that have a mark.
pub(crate) fn marks(ledger: &dyn Ledger) -> Outcome<Vec<Record>> {
    place::all(|after, limit| ledger.list(Key::NAMES, after, limit), |record| &record.key)
}

/// `floe marks raise`.
pub(crate) fn raise(arguments: &arguments::Raise) -> Outcome {
    let name = Name::new(&arguments.name)?;
    arguments.shape.definition()?;
    let mut config = arguments.ledger.settings_for(Some(&name))?;
    arguments.cache.set(&mut config);
    if arguments.dry_run {
        // A dry run must not make a cache.
        config.cache = None;
    }
    let configured = place::configured(&config, &name)?.map(|settings| settings.definition);
    let described = configured.is_some() || !arguments.shape.is_empty();
    if !described && place::is_new(&config) {
        arguments
            .ledger
            .existing()
            .map_err(|failure| failure.hint(begin(&name, &arguments.to, NO_LEDGER)))?;
    }
    if place::is_new(&config) {
        // Checked first, so that a failing raise makes no ledger.
        let definition = arguments.shape.settle(&name, None, configured.clone())?;
        let position = position(&name, &definition, &arguments.to)?;
        if arguments.dry_run {
            return would(
                &name,
                &definition,
                None,
                position,
                &format!("realm {} of a new ledger", config.realm),
            );
        }
    }
    // A system that is to be replaced has handed out IDs before floe has anything: a ledger can begin here.
    let ledger = match (arguments.dry_run, described) {
        (true, _) => place::existing(&config)?,
        (false, true) => place::open_or_make(&config)?,
        (false, false) => place::existing_to_change(&config)?,
    };
    if let Some(since) = floe::ledger::retired(&*ledger, &name)? {
        return Err(Failure::new(format_args!(
            "{name} was retired at {since}: it mints nothing any more, so its mark stays where it is"
        )));
    }
    let stored = names::of_ledger(&*ledger, &name)?;
    let new = stored.is_none();
    if new && !described {
        return Err(Failure::new(format_args!("there is no name {name} in {}", ledger.describe()))
            .hint(begin(&name, &arguments.to, "")));
    }
    let definition = arguments.shape.settle(&name, stored.clone(), configured)?;
    if let Some(stored) =
        stored.map(|stored| stored.to_string()).filter(|stored| *stored != definition.to_string())
    {
        return Err(bound_otherwise(&name, &stored, &definition));
    }
    let position = position(&name, &definition, &arguments.to)?;
    // A raise in one realm or ledger has no effect in another.
    let place = format!("realm {} of {}", config.realm, ledger.describe());
    let key = Key::name(&name);
    let mark = if new { 0 } else { mark_of(&*ledger, &key)? };
    // Listed before the raise: who runs then is who holds lower numbers.
    let running = slots::running(&*ledger)?;
    if position < mark {
        if !arguments.dry_run && is_reserved_ahead(&definition) {
            // Of what is reserved ahead, nothing below may be handed out any more.
            ledger.raise(&key, position)?;
        }
        note_running(&running, &name, &definition, mark);
        return Err(too_low(&name, &definition, mark, &arguments.to));
    }
    if arguments.dry_run {
        would(&name, &definition, (!new).then_some(mark), position, &place)?;
        note_running(&running, &name, &definition, mark);
        return Ok(());
    }
    if new {
        // Before the name is there: a raise that is cut off must leave none that begins at its first number.
        let token = Token::random().map_err(Failure::new)?;
        if let Beginning::Earlier { mark } = floe::ledger::begin(&*ledger, &name, position, token)?
            && position < mark
        {
            return Err(too_low(&name, &definition, mark, &arguments.to));
        }
    }
    let bound = ledger.bind(&name, &definition.to_string(), true)?;
    if bound != definition.to_string() {
        // Somebody was faster.
        return Err(bound_otherwise(&name, &bound, &definition));
    }
    let before = ledger.raise(&key, position)?;
    if before > position {
        return Err(too_low(&name, &definition, before, &arguments.to));
    }
    let next = next_id(&definition, position);
    let before = if new { mark } else { before };
    let was = next_id(&definition, before);
    print(&format!("raised {name} in {place}: its next ID was {was}, and is {next}\n"))?;
    note_running(&running, &name, &definition, before);
    Ok(())
}

/// Says what a raise from `mark` (`None`: the name is new) would do.
fn would(name: &Name, definition: &Definition, mark: Option<u64>, position: u64, place: &str) -> Outcome {
    let made = if mark.is_none() { format!("make {name} a `{definition}`, and ") } else { String::new() };
    let (was, next) = (next_id(definition, mark.unwrap_or(0)), next_id(definition, position));
    print(&format!("would {made}raise {name} in {place}: its next ID was {was}, and would be {next}\n"))
}

/// Every call on a server would be refused so.
fn bound_otherwise(name: &Name, stored: &str, asked: &Definition) -> Failure {
    Failure::new(format_args!(
        "the name {name} is bound to another definition:\n  the ledger has it as  {stored}\n  asked for             {asked}"
    ))
    .hint("configure the definition in the ledger, or take another name: a definition never changes")
}

const NO_LEDGER: &str = "name the ledger with --data-dir or --ledger; to make a new one here, ";

/// How a name that is not there yet begins at `to`.
fn begin(name: &Name, to: &str, before: &str) -> String {
    let (begins, dated) = match to.bytes().all(|byte| byte.is_ascii_digit()) && !to.is_empty() {
        true => (to, ""),
        // An ID with a prefix is a dated name's.
        false => ("50000000", " (or --kind dated with an ID as it is printed)"),
    };
    format!(
        "{before}give the kind of the name, which then begins at that ID: floe marks raise {name} --kind segment --to \
         {begins}, or --kind counter{dated}"
    )
}

/// A raise does not reach what nodes hold already. Counters and dated names hold nothing: each of their calls is one
/// with the ledger. Nor does anybody where nothing was ever reserved.
fn note_running(running: &[String], name: &Name, definition: &Definition, before: u64) {
    if before == 0 || definition.kind() != Kind::SEGMENT {
        return;
    }
    anstream::eprintln!(
        "note: running nodes keep minting {name} from the ranges that they already hold, below the new mark, until \
         these are used up: stop them before a raise, or restart them after it"
    );
    for owner in running {
        anstream::eprintln!("note: running on this ledger: {owner}");
    }
}

/// Whether the ledger may hold a mark of it that is ahead of the numbers that were handed out.
fn is_reserved_ahead(definition: &Definition) -> bool {
    [Kind::COUNTER, Kind::DATED].contains(&definition.kind())
}

fn too_low(name: &Name, definition: &Definition, mark: u64, to: &str) -> Failure {
    let next = next_id(definition, mark);
    let next = match is_reserved_ahead(definition) {
        true => format!("numbers may be reserved ahead, so its next ID is at most {next}"),
        false => format!("its next ID is {next}"),
    };
    Failure::new(format_args!("the mark of {name} is already above {to}: {next}"))
        .hint("a mark never goes down, because IDs below it may have been handed out: name a larger number")
}

fn mark_of(ledger: &dyn Ledger, key: &Key) -> Outcome<u64> {
    let record =
        ledger.list(key.as_str(), "", place::PAGE)?.into_iter().find(|record| record.key == key.as_str());
    match record {
        Some(record) => Ok(record.mark),
        None => Err(floe::ledger::LedgerError::Missing(key.clone()).into()),
    }
}

/// The first number of a counter, and of each period of a dated name: position 0 is printed so.
const FIRST: u64 = 1;

/// The ID that comes next at `mark`, as it is printed.
fn next_id(definition: &Definition, mark: u64) -> String {
    let next = match definition.unformed() {
        Definition::Snowflake { .. } => return "by the clock".to_owned(),
        counted @ (Definition::Segment { .. } | Definition::Counter) => counted.number_at(mark),
        Definition::Dated(shape) => return next_dated(shape, mark),
        _ => return "by itself".to_owned(),
    };
    let Some(next) = next else { return "none: used up".to_owned() };
    match definition.form().filter(|form| form.can_encode()) {
        // A form may be for smaller numbers.
        Some(form) => match form.encode(next, &mut Buffer::new()) {
            Ok(text) => format!("{next} = {text}"),
            Err(_) => "none: its form is used up".to_owned(),
        },
        None => next.to_string(),
    }
}

/// A period that has passed is not gone back to: its next ID is the first of the one in which it is minted.
fn next_dated(shape: &DatedShape, mark: u64) -> String {
    let today = jiff::Timestamp::now().in_tz(shape.zone()).map(|now| now.date());
    let first = today.ok().and_then(|today| shape.position(today, FIRST));
    let next = first.and_then(|first| shape.id_at(first.max(mark)));
    next.map_or_else(|| "none: used up".to_owned(), |id| id.to_string())
}

/// The position from which on every ID is at least `to`.
fn position(name: &Name, definition: &Definition, to: &str) -> Outcome<u64> {
    if definition.position_of(0).is_some() {
        // A mark never goes down: a name that was raised past its last number would be used up for ever.
        return definition.begin_position(id(to)?).map_err(|error| {
            let why = match &error {
                NoPosition::Form { .. } => error.to_string(),
                NoPosition::UsedUp(_) | NoPosition::Uncounted(_) => format!("`{definition}` ends before it"),
            };
            Failure::usage(format_args!("{name} has no number from {to} on: {why}"))
                .hint("name a smaller number, or take a new name with another form or increment")
        });
    }
    let position = match definition.unformed() {
        Definition::Snowflake { .. } => {
            return Err(Failure::new(format_args!(
                "{name} is a snowflake name: its IDs are ordered by time, and need no raise"
            ))
            .hint(
                "give it the layout and epoch of the system that it replaces, and its IDs are above the earlier ones; \
                 if that system keeps minting, give floe's nodes other worker ids. To continue from a plain number, \
                 take a new name with --kind segment",
            ));
        }
        Definition::Dated(shape) => {
            let (day, number) = shape
                .read(to)
                .map_err(|error| Failure::usage(format_args!("{to:?} is not an ID of {name}: {error}")))?;
            let position = shape.position(day, number.max(FIRST));
            position.filter(|position| *position <= MAX_MARK).ok_or_else(|| {
                Failure::usage(format_args!("{to} lies outside the dates and numbers that a dated name has"))
                    .hint("name an ID of a day from 1970 on")
            })?
        }
        other => {
            return Err(Failure::new(format_args!(
                "{name} is a name of the kind {}: its IDs are not counted, and need no raise",
                other.kind_name()
            )));
        }
    };
    Ok(position)
}

fn id(text: &str) -> Outcome<u64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Failure::usage(format_args!("--to must be a number, and {text:?} is not one"))
            .hint("write the smallest ID that may come next, in digits only: --to 50000000"));
    }
    Ok(floe::Id::try_from(number(text)?)?.get())
}

#[cfg(test)]
mod tests {
    use super::*;
    use floe::{Layout, Overflow};

    fn name() -> Name {
        Name::new("orders").expect("a name")
    }

    /// The position for `to`, and the ID that comes next there.
    fn raised(definition: &Definition, to: &str) -> Option<String> {
        position(&name(), definition, to).ok().map(|position| next_id(definition, position))
    }

    #[test]
    fn the_next_id_is_at_least_what_was_asked_for() {
        let odd = Definition::Segment { increment: 2, offset: 1 };
        for (to, next) in [("0", "1"), ("1", "1"), ("2", "3"), ("1000", "1001"), ("1001", "1001")] {
            assert_eq!(raised(&odd, to).as_deref(), Some(next), "{to}");
        }
        for (to, next) in
            [("0", "1"), ("1", "1"), ("500", "500"), ("9223372036854775807", "9223372036854775807")]
        {
            assert_eq!(raised(&Definition::Counter, to).as_deref(), Some(next), "{to}");
        }
        assert_eq!(raised(&Definition::Counter, "9223372036854775808"), None);
        assert_eq!(raised(&Definition::Counter, "-1"), None);
    }

    #[test]
    fn a_dated_mark_is_a_day_and_a_number() {
        let shape = DatedShape::new("UTC", 6, "INV", Overflow::Refuse).expect("a shape");
        let dated = Definition::Dated(shape);
        assert_eq!(raised(&dated, "INV29990101000500").as_deref(), Some("INV29990101000500"));
        assert_eq!(raised(&dated, "29990101000001").as_deref(), Some("INV29990101000001"));
        assert_eq!(raised(&dated, "500"), None);
        // A day that has passed is not gone back to.
        let first_of_today = raised(&dated, "INV20010101000500").expect("a position");
        assert!(
            first_of_today.as_str() > "INV20260101" && first_of_today.ends_with("000001"),
            "{first_of_today}"
        );
    }

    #[test]
    fn a_snowflake_has_nothing_to_raise() {
        assert_eq!(raised(&Definition::Snowflake { layout: Layout::TWITTER, own: false }, "5"), None);
    }
}
