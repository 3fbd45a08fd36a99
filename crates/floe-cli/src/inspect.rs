//! `floe inspect`: an ID taken apart.

use std::io::{BufRead, Write as _};

use floe::form::{Form, FormError};
use floe::inspect::{InspectError, LONGEST, Reading, recognize};
use floe::{Definition, Name, ReadIdError, WideId};
use serde_json::Value;

use crate::arguments;
use crate::arguments::LAYOUT_EXAMPLE;
use crate::failure::{Failure, Outcome};
use crate::names;
use crate::place::{configured, now};
use crate::reading::{json, line, summary};
use crate::remote::{Remote, path_segment};
use crate::table::{print_json, print_painted, table};

/// How many readings beside the best are shown to people.
const MOST_OTHERS: usize = 8;
/// In the place of an ID: read them from stdin.
const STDIN: &str = "-";

pub(crate) fn run(arguments: &arguments::Inspect) -> Outcome {
    let reader = Reader::new(arguments)?;
    if arguments.id == STDIN {
        if arguments.explain {
            return Err(Failure::usage(
                "--explain needs more than the one line that is printed for each ID of stdin",
            )
            .hint("leave it out, or give the ID itself"));
        }
        return each_line(&reader, arguments.json, &mut std::io::stdin().lock());
    }
    let found = reader.read(&arguments.id)?;
    if arguments.json {
        return print_json(&report(&arguments.id, &found));
    }
    print_painted(&shown(&found, arguments.explain))
}

/// By what IDs are read.
enum Reader {
    /// By what they look like.
    Guess,
    Layout(Box<floe::Layout>),
    Name(Box<Named>),
}

/// A name that IDs are of.
struct Named {
    name: Name,
    definition: Definition,
    /// It may have the keys of a sealed form, which the ledger has not.
    server: Option<Remote>,
}

impl Reader {
    fn new(arguments: &arguments::Inspect) -> Outcome<Self> {
        Ok(match (&arguments.layout, &arguments.name) {
            (Some(layout), _) => Self::Layout(Box::new(layout.clone())),
            (None, Some(name)) => Self::Name(Box::new(Named::new(name, &arguments.place)?)),
            (None, None) => Self::Guess,
        })
    }

    /// The readings of `text`: at least one, the best first.
    fn read(&self, text: &str) -> Outcome<Vec<Reading>> {
        Ok(match self {
            Self::Guess => by_its_looks(text)?,
            Self::Layout(layout) => {
                let id = number(text).map_err(|failure| match text.parse::<i64>() {
                    Ok(_) => failure,
                    Err(_) => failure.hint(
                        "a layout reads numbers only; without --layout, floe says what the text may be",
                    ),
                })?;
                vec![Reading::by_layout(id, layout).map_err(Failure::new)?.judged(now())]
            }
            Self::Name(named) => vec![named.read(text)?],
        })
    }
}

impl Named {
    fn new(name: &str, place: &arguments::Place) -> Outcome<Self> {
        let name = Name::new(name)?;
        let server = place.server.as_deref().map(Remote::at).transpose()?;
        let (found, ledger) = match &server {
            Some(server) => (names::of_server(server, &name)?, None),
            None => {
                let ledger = place.ledger.existing()?;
                (names::of_ledger(&*ledger, &name)?, Some(ledger))
            }
        };
        let Some(stored) = found else {
            let where_to_look = if server.is_some() { "the server" } else { "the ledger" };
            return Err(Failure::new(format_args!("{where_to_look} has no name {name}"))
                .hint("`floe names` lists all names; --layout reads an ID without a name"));
        };
        // The configuration has the keys of a sealed form.
        let configured = match place.ledger.config {
            Some(_) => configured(&place.ledger.settings_for(Some(&name))?, &name)?
                .map(|settings| settings.definition),
            None => None,
        };
        let same = |configured: &Definition| configured.to_string() == stored.to_string();
        let definition = configured.filter(same).unwrap_or(stored);
        if let Some(ledger) = ledger {
            definition.check_keys(&name, &*ledger).map_err(Failure::new)?;
        }
        Ok(Self { name, definition, server })
    }

    fn read(&self, text: &str) -> Outcome<Reading> {
        let reading = match &self.definition {
            Definition::Formed(inner, form) => {
                let number = self.number(text, form)?;
                let unformed = inner.unformed_text(number);
                unformed_reading(&unformed, inner)?
                    .written(&form.to_string(), text)
                    .fact("number", number.to_string())
                    .with("number", number.to_string())
            }
            unformed => unformed_reading(text, unformed)?,
        };
        Ok(reading.with("name", self.name.as_str()))
    }

    /// The number that a text in the form means.
    fn number(&self, text: &str, form: &Form) -> Outcome<u128> {
        match (form.decode(text), &self.server) {
            (Err(FormError::UnknownKey(_)), Some(server)) => {
                let path = format!("/v1/open/{}/{}", path_segment(self.name.as_str()), path_segment(text));
                let opened = server.json(&path)?;
                let number = opened.get("number").and_then(Value::as_str).and_then(|number| number.parse().ok());
                number.ok_or_else(|| server.foreign("no number"))
            }
            (Err(error @ FormError::UnknownKey(_)), None) => Err(Failure::new(format_args!("{text} is sealed: {error}"))
                .hint("give the configuration that has the key (--config FILE), or a server that has it (--server URL)")),
            (Err(error), _) => {
                Err(Failure::usage(format_args!("{text:?} is not an ID in the form \"{form}\": {error}")))
            }
            (Ok(number), _) => Ok(number),
        }
    }
}

fn by_its_looks(text: &str) -> Outcome<Vec<Reading>> {
    recognize(text, now()).map_err(not_recognized)
}

/// What an ID of each kind looks like.
const TRIED: &str = "UUID (36 characters with hyphens, or 32 hexadecimal digits), ULID (26 of base32), \
                     TypeID (type_ and 26), ObjectId (24 hexadecimal digits), KSUID (27 of base62), NanoID (21), xid and push ID (20), CUID (25), \
                     snowflake (decimal digits, or up to 16 of hex, base32, base36, base58 or base62)";

fn not_recognized(error: InspectError) -> Failure {
    let otherwise = "if a name's own form wrote it, read it with --name NAME or floe form decode";
    match &error {
        InspectError::Empty => Failure::usage(error).hint("give the ID as it was written"),
        InspectError::Length => {
            Failure::usage(error).hint("give one ID; floe inspect - reads many, one per line")
        }
        InspectError::Character { character, .. } if character.is_ascii() => {
            Failure::usage(error).hint("give one ID, without any text around it")
        }
        InspectError::Character { .. } => Failure::usage(error)
            .hint("it only looks like a letter, a digit or a hyphen of ASCII: type that one instead"),
        InspectError::Undated { .. } => Failure::new(error).hint(format_args!(
            "say how to read it: --layout \"{LAYOUT_EXAMPLE}\", or --name with --server or --data-dir"
        )),
        InspectError::Unknown { rule: Some(_), .. } => {
            Failure::usage(error).hint(format_args!("it is not an ID of any other kind either; {otherwise}"))
        }
        InspectError::Unknown { rule: None, .. } => {
            Failure::usage(error).hint(format_args!("tried: {TRIED}; {otherwise}"))
        }
        _ => Failure::usage(error),
    }
}

fn not_of_the_name(error: ReadIdError) -> Failure {
    match error {
        ReadIdError::Number { error, .. } => error.into(),
        error @ (ReadIdError::Length(_) | ReadIdError::Foreign { .. }) => Failure::usage(error),
        error => Failure::new(error),
    }
}

/// The number that `text` writes, whatever its width.
pub(crate) fn number(text: &str) -> Outcome<WideId> {
    if text.len() > LONGEST {
        // The error would repeat it all.
        return Err(Failure::usage(format_args!(
            "a text of over {LONGEST} bytes is not an ID: a number of 128 bits has at most 39 digits"
        )));
    }
    Ok(floe::inspect::number(text)?)
}

fn unformed_reading(text: &str, definition: &Definition) -> Outcome<Reading> {
    if definition.kind().is_number() {
        return Ok(definition.read(text).map_err(not_of_the_name)?.judged(now()));
    }
    if let Definition::Registered(registered) = definition {
        return Err(Failure::new(format_args!(
            "only the program that registered the kind {} can read its IDs",
            registered.type_name()
        )));
    }
    definition.read(text).map_err(|error| {
        Failure::usage(error).hint(format_args!("floe inspect {text}, without the name, says what it may be"))
    })
}

fn report(id: &str, found: &[Reading]) -> Value {
    serde_json::json!({ "id": id, "readings": found.iter().map(json).collect::<Vec<_>>() })
}

/// The best reading in full, and the others in a line each.
fn shown(found: &[Reading], explain: bool) -> String {
    let Some((best, others)) = found.split_first() else { return String::new() };
    let mut text = summary(best);
    if explain && !best.explanation.is_empty() {
        text.push_str(&format!("\n{}", best.explanation));
    }
    if others.is_empty() {
        return text;
    }
    text.push_str("\nAn ID does not say what it is. This one may also be, the likeliest first:\n\n");
    text.push_str(&table(["KIND", "TIME", "FIELDS"], others.iter().take(MOST_OTHERS).map(line)));
    if let Some(more) = others.len().checked_sub(MOST_OTHERS).filter(|more| *more > 0) {
        text.push_str(&format!("and {more} more, which --json prints\n"));
    }
    text
}

/// An ID a line, and a line for each: its best reading in columns that tabs divide, or a JSON object.
fn each_line(reader: &Reader, as_json: bool, input: &mut impl BufRead) -> Outcome {
    let mut out = std::io::stdout().lock();
    let (mut count, mut unread) = (0_u64, 0_u64);
    while let Some(text) = next_line(input, LONGEST)? {
        let id = text.trim();
        if id.is_empty() {
            continue;
        }
        count += 1;
        let found = reader.read(id);
        unread += u64::from(found.is_err());
        let written = match (found, as_json) {
            (Ok(found), true) => writeln!(out, "{}", report(id, &found)),
            (Ok(found), false) => {
                let columns = found.first().map(line).unwrap_or_default();
                writeln!(out, "{id}\t{}", columns.join("\t").trim_end())
            }
            (Err(failure), true) => {
                writeln!(out, "{}", serde_json::json!({ "id": id, "error": failure.cause() }))
            }
            // Any other text may contain control characters, which a terminal would obey.
            (Err(failure), false) => writeln!(out, "{}\tno ID\t\t{}", id.escape_debug(), failure.cause()),
        };
        written.map_err(|error| Failure::output(&error))?;
    }
    out.flush().map_err(|error| Failure::output(&error))?;
    match (count, unread) {
        (0, _) => {
            Err(Failure::usage("stdin has no ID")
                .hint("write one per line: printf '%s\\n' ID | floe inspect -"))
        }
        (_, 0) => Ok(()),
        _ => Err(Failure::new(format_args!("{unread} of {count} lines are not IDs"))
            .hint("each of their lines says why; floe inspect ID says more about one ID")),
    }
}

/// The next line. Of a line that is too long, only as much is kept as shows that.
pub(crate) fn next_line(input: &mut impl BufRead, longest: usize) -> Outcome<Option<String>> {
    let unreadable = |error: std::io::Error| Failure::new(format_args!("cannot read stdin: {error}"));
    let mut line = Vec::new();
    let mut length = 0;
    loop {
        let chunk = input.fill_buf().map_err(unreadable)?;
        if chunk.is_empty() {
            break;
        }
        let (taken, ended) = match chunk.iter().position(|byte| *byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (chunk.len(), false),
        };
        let room = (longest + 1).saturating_sub(line.len());
        line.extend(chunk.iter().take(taken.min(room)));
        length += taken;
        input.consume(taken);
        if ended {
            break;
        }
    }
    // Bytes that are not UTF-8 become a character that no ID has.
    Ok((length > 0).then(|| String::from_utf8_lossy(&line).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_an_end_is_kept_no_further_than_it_has_to_be() {
        let mut input = b"one\r\n".to_vec();
        input.extend(std::iter::repeat_n(b'x', 10_000_000));
        input.extend(b"\n\xff\n");
        let mut input = std::io::BufReader::new(&*input);
        let mut line = || next_line(&mut input, LONGEST).expect("lines");
        assert_eq!(line().as_deref(), Some("one\r\n"));
        assert_eq!(line().map(|line| line.len()), Some(LONGEST + 1));
        assert_eq!(line().as_deref(), Some("\u{fffd}\n"));
        assert_eq!(line(), None);
    }
}
