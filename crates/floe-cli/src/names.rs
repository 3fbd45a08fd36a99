//! `floe names`: what exists, and what it is.

use std::collections::HashMap;

use floe::ledger::{self, Ledger};
use floe::{Definition, Name};
use floe_server::Config;
use serde_json::{Value, json};

use crate::arguments::{self, NamesCommand};
use crate::failure::{Failure, Outcome};
use crate::place;
use crate::remote::{Remote, path_segment};
use crate::table::{print, print_json, table};

pub(crate) fn run(arguments: &arguments::Names) -> Outcome {
    if let Some(NamesCommand::Retire { name, ledger }) = &arguments.command {
        return retire(name, ledger);
    }
    let ledger = match &arguments.place.server {
        Some(server) => return served(&Remote::at(server)?, arguments.json),
        None => arguments.place.ledger.existing()?,
    };
    let (names, retired) = (stored(&*ledger)?, retired(&*ledger)?);
    let names: Vec<_> = names.into_iter().filter(|(name, _)| !Name::is_note(name)).collect();
    if arguments.json {
        let records = names.iter().map(|(name, text)| record(name, text, retired.get(name)));
        return print_json(&records.collect());
    }
    let rows = names.iter().map(|(name, text)| {
        let (_, rest) = text.split_once(' ').unwrap_or_default();
        let known = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
        let (horizon, retired) = (known(horizon(text)), known(retired.get(name).cloned()));
        [name.clone(), kind(text), horizon, retired, rest.to_owned()]
    });
    print(&table(["NAME", "KIND", "HORIZON", "RETIRED", "DEFINITION"], rows))
}

/// `floe names retire`.
fn retire(name: &str, arguments: &arguments::Ledger) -> Outcome {
    let config = Config { cache: None, ..arguments.settings_for(None)? };
    let (name, realm) = (Name::new(name)?, &config.realm);
    let ledger = place::existing_to_change(&config)?;
    let Some(definition) = of_ledger(&*ledger, &name)? else {
        return Err(Failure::new(format_args!("there is no name {name} in {}", ledger.describe()))
            .hint("floe names lists the names of a realm; --realm chooses another realm"));
    };
    if let Some(since) = ledger::retired(&*ledger, &name)? {
        return print(&format!("{name} was already retired at {since}: nothing is changed\n"));
    }
    ledger::retire(&*ledger, &name, place::now()).map_err(|error| match error {
        ledger::EndError::Name(_) => {
            Failure::new(format_args!("{name} is too long to be retired: a name can have at most 127 bytes for that"))
                .hint("take it away from its clients instead: remove it from every configuration, and from the names of every token")
        }
        error => Failure::new(error),
    })?;
    print(&format!(
        "retired {name}, a {}, in realm {realm} of {}, for ever: its mark stays, and nothing is minted under it again\n",
        definition.kind_name(),
        ledger.describe()
    ))?;
    anstream::eprintln!(
        "note: running servers refuse it within ten seconds, and other programs when they open it again"
    );
    Ok(())
}

/// The names that were retired, each with the time.
fn retired(ledger: &dyn Ledger) -> Outcome<HashMap<String, String>> {
    let retired = place::all(|after, limit| ledger::all_retired(ledger, after, limit), |(name, _)| name)?;
    Ok(retired.into_iter().collect())
}

/// All names of a ledger, each with its definition's text.
pub(crate) fn stored(ledger: &dyn Ledger) -> Outcome<Vec<(String, String)>> {
    place::all(|after, limit| ledger.names(after, limit), |(name, _)| name)
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

/// The word for the kind; the first word of the text, if a later version has written it.
fn kind(text: &str) -> String {
    let known = text.parse::<Definition>().map(|definition| definition.kind_name().to_owned());
    known.unwrap_or_else(|_| text.split(' ').next().unwrap_or_default().to_owned())
}

fn record(name: &str, text: &str, retired: Option<&String>) -> Value {
    json!({
        "name": name,
        "kind": kind(text),
        "definition": text,
        "horizon": horizon(text),
        "retired": retired,
    })
}

/// The server knows more of its names than the ledger does: it is shown as the server tells it.
fn served(server: &Remote, json: bool) -> Outcome {
    let names = server.list("/v1/names", "names")?;
    if json {
        return print_json(&names.into());
    }
    let rows = names.iter().map(|name| {
        let text = |key: &str| match name.get(key) {
            Some(Value::String(text)) => text.clone(),
            None | Some(Value::Null) => "-".to_owned(),
            Some(other) => other.to_string(),
        };
        let definition = text("definition");
        let (_, rest) = definition.split_once(' ').unwrap_or_default();
        let [name, kind, state, minted, horizon] = ["name", "kind", "state", "minted", "horizon"].map(text);
        [name, kind, state, minted, horizon, rest.to_owned()]
    });
    print(&table(["NAME", "KIND", "STATE", "MINTED", "HORIZON", "DEFINITION"], rows))
}
