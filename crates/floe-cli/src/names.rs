//! `floe names`: what exists, and what it is.

use floe::ledger::Ledger;
use floe::{Definition, Name};
use serde_json::{Value, json};

use crate::arguments;
use crate::failure::{Failure, Outcome};
use crate::remote::{Remote, path_segment};
use crate::table::{Table, print, print_json};

/// How many records one question to a ledger asks for.
const PAGE: usize = 1_000;

pub(crate) fn run(arguments: &arguments::Names) -> Outcome {
    let names = match &arguments.place.server {
        Some(server) => return served(&Remote::at(server)?, arguments.json),
        None => stored(&*arguments.place.ledger.existing()?)?,
    };
    let names: Vec<_> = names.into_iter().filter(|(name, _)| !Name::is_of_key(name)).collect();
    if arguments.json {
        return print_json(&names.iter().map(|(name, text)| record(name, text)).collect());
    }
    let mut table = Table::new(&["NAME", "KIND", "HORIZON", "DEFINITION"]);
    for (name, text) in &names {
        let (_, rest) = text.split_once(' ').unwrap_or_default();
        table.row([
            name.clone(),
            kind(text),
            horizon(text).unwrap_or_else(|| "-".to_owned()),
            rest.to_owned(),
        ]);
    }
    print(&table.render())
}

/// All names of a ledger, each with its definition's text.
pub(crate) fn stored(ledger: &dyn Ledger) -> Outcome<Vec<(String, String)>> {
    let mut names: Vec<(String, String)> = Vec::new();
    loop {
        let after = names.last().map_or("", |(name, _)| name).to_owned();
        let page = ledger.names(&after, PAGE)?;
        let full = page.len() == PAGE;
        names.extend(page);
        if !full {
            return Ok(names);
        }
    }
}

/// The definition that a ledger has for `name`.
pub(crate) fn of_ledger(ledger: &dyn Ledger, name: &Name) -> Outcome<Option<Definition>> {
    ledger.definition(name)?.map(|text| read(name, &text)).transpose()
}

/// The definition that a server has for `name`.
pub(crate) fn of_server(server: &Remote, name: &Name) -> Outcome<Option<Definition>> {
    let answer = server.get(&format!("/v1/names/{}", path_segment(name.as_str())), "application/json")?;
    match answer.status {
        404 => Ok(None),
        200 => {
            let value: Value = serde_json::from_str(&answer.body).map_err(|error| server.foreign(error))?;
            match value.get("definition").and_then(Value::as_str) {
                Some(text) => read(name, text).map(Some),
                None => Err(server.foreign("no definition")),
            }
        }
        _ => Err(server.refused(&answer)),
    }
}

fn read(name: &Name, text: &str) -> Outcome<Definition> {
    text.parse().map_err(|error| {
        Failure::new(format_args!("the definition of {name} is `{text}`: {error}"))
            .hint("use the floe that made the name, or a newer one")
    })
}

fn horizon(text: &str) -> Option<String> {
    let definition: Definition = text.parse().ok()?;
    match definition.unformed() {
        Definition::Snowflake { layout, .. } => Some(layout.horizon().to_string()),
        _ => None,
    }
}

/// The word for the kind; the first of the text, where a later version has written it.
fn kind(text: &str) -> String {
    let known = text.parse::<Definition>().map(|definition| definition.kind_name().to_owned());
    known.unwrap_or_else(|_| text.split(' ').next().unwrap_or_default().to_owned())
}

fn record(name: &str, text: &str) -> Value {
    json!({
        "name": name,
        "kind": kind(text),
        "definition": text,
        "horizon": horizon(text),
    })
}

/// The server knows more of its names than the ledger does: it is shown as the server tells it.
fn served(server: &Remote, json: bool) -> Outcome {
    let names = server.list("/v1/names", "names")?;
    if json {
        return print_json(&names.into());
    }
    let mut table = Table::new(&["NAME", "KIND", "STATE", "MINTED", "HORIZON", "DEFINITION"]);
    for name in &names {
        let text = |key: &str| match name.get(key) {
            Some(Value::String(text)) => text.clone(),
            None | Some(Value::Null) => "-".to_owned(),
            Some(other) => other.to_string(),
        };
        let definition = text("definition");
        let (_, rest) = definition.split_once(' ').unwrap_or_default();
        table.row([
            text("name"),
            text("kind"),
            text("state"),
            text("minted"),
            text("horizon"),
            rest.to_owned(),
        ]);
    }
    print(&table.render())
}
