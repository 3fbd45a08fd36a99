//! `floe inspect`: an ID taken apart.

use floe::{Definition, Name};
use serde_json::json;

use crate::arguments::{self, LAYOUT_EXAMPLE};
use crate::explain::{Inspected, candidates, number};
use crate::failure::{Failure, Outcome};
use crate::names;
use crate::place::now;
use crate::remote::Remote;
use crate::table::{Table, print, print_json};

pub(crate) fn run(arguments: &arguments::Inspect) -> Outcome {
    let inspected = match (&arguments.layout, &arguments.name) {
        (Some(layout), _) => Inspected::by_layout(number(&arguments.id)?, layout)?,
        (None, Some(name)) => Inspected::read(&arguments.id, &definition(name, &arguments.place)?)?,
        (None, None) => return guess(arguments),
    };
    if arguments.json {
        let mut reading = inspected.json();
        if let (Some(object), Some(name)) = (reading.as_object_mut(), &arguments.name) {
            object.insert("name".to_owned(), name.as_str().into());
        }
        return print_json(&json!({ "id": arguments.id, "readings": [reading] }));
    }
    let explanation =
        if arguments.explain { format!("\n{}", inspected.explanation()) } else { String::new() };
    print(&format!("{}{explanation}", inspected.summary()))
}

fn definition(name: &str, place: &arguments::Place) -> Outcome<Definition> {
    let name = Name::new(name)?;
    let found = match &place.server {
        Some(server) => names::of_server(&Remote::at(server)?, &name)?,
        None => names::of_ledger(&*place.ledger.existing()?, &name)?,
    };
    found.ok_or_else(|| {
        let where_to_look = if place.server.is_some() { "the server" } else { "the ledger" };
        Failure::new(format_args!("{where_to_look} has no name {name}"))
            .hint("`floe names` lists those that there are; --layout reads an ID without any")
    })
}

/// Whether `text` may be a prefix, and then a date and a number.
fn dated_form(text: &str) -> bool {
    let prefix = text.trim_end_matches(|c: char| c.is_ascii_digit());
    // A sign alone is no prefix: a negative number has an error of its own.
    !prefix.is_empty() && prefix != "-" && prefix != "+" && text.len() - prefix.len() > "yyyyMMdd".len()
}

/// Without a layout or a name, all that can be said is which presets give a date that can be.
fn guess(arguments: &arguments::Inspect) -> Outcome {
    let id = match dated_form(&arguments.id) {
        true => {
            return Err(Failure::usage(format_args!("{:?} is not a number", arguments.id)).hint(
                format_args!(
                    "if it is an ID of a dated name, that name reads it: floe inspect {} --name NAME",
                    arguments.id
                ),
            ));
        }
        false => number(&arguments.id)?,
    };
    let found = candidates(id, now());
    if arguments.json {
        let found: Vec<_> = found.iter().map(|candidate| candidate.json()).collect();
        return print_json(&json!({ "id": arguments.id, "readings": found }));
    }
    let Some(best) = found.first() else {
        return Err(Failure::new(format_args!(
            "no preset gives {id} a date between its epoch and now: it is a number of a segment or a counter, or of a layout of its own"
        ))
        .hint(format_args!(
            "say how to read it: --layout \"{LAYOUT_EXAMPLE}\", or --name with --server or --data-dir"
        )));
    };
    let mut text = format!(
        "An ID does not say which layout it was minted by. These presets give {id} a date between their\n\
         epoch and now, the latest first; --layout or --name reads it by one.\n\n"
    );
    let mut table = Table::new(&["LAYOUT", "TIME", "FIELDS"]);
    for candidate in &found {
        table.row(candidate.cells());
    }
    text.push_str(&table.render());
    if arguments.explain {
        text.push_str(&format!("\nby {}:\n{}", best.preset, best.inspected.explanation()));
    }
    print(&text)
}
