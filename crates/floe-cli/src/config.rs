//! `floe config`: the defaults, a file to begin with, and what is wrong with a file.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use floe::ledger::{Key, Ledger, Record};
use floe_server::Config;

use crate::arguments;
use crate::failure::{Failure, Outcome};
use crate::marks;
use crate::names;
use crate::place;
use crate::table::print;

pub(crate) fn run(arguments: &arguments::Config) -> Outcome {
    match (&arguments.check, &arguments.new) {
        (Some(file), _) => check(file),
        (None, Some(file)) => begin(file),
        (None, None) => print(&Config::defaults_text()),
    }
}

fn check(file: &Path) -> Outcome {
    let config = Config::load_checked(file)?;
    if let Some(warning) = config.old_spelling() {
        anstream::eprintln!("note: {warning}");
    }
    against_ledger(&config, file)?;
    let names = match config.names.len() {
        0 => "no name yet (`floe serve` needs at least one)".to_owned(),
        1 => "1 name".to_owned(),
        count => format!("{count} names"),
    };
    print(&format!("{} is valid: realm {}, {names}\n", file.display(), config.realm))
}

/// Compares the file's names with the ledger's, if the ledger can be reached. Every call refuses a name that differs.
fn against_ledger(config: &Config, file: &Path) -> Outcome {
    if place::is_new(config) || config.names.is_empty() {
        return Ok(());
    }
    let stored = config.open_existing_ledger().map_err(Failure::new).and_then(|ledger| {
        let names = names::stored(&*ledger)?;
        let marks = match config.names.iter().any(|settings| settings.first.is_some()) {
            true => marks::marks(&*ledger)?,
            false => Vec::new(),
        };
        Ok((names, marks, ledger.describe()))
    });
    let (stored, marks, ledger) = match stored {
        Ok(found) => found,
        Err(why) => {
            anstream::eprintln!("note: the names were not compared with the ledger: {}", why.cause());
            return Ok(());
        }
    };
    let rules = config.rules();
    for Record { key, mark, .. } in marks {
        let Some(name) = key.strip_prefix(Key::NAMES) else { continue };
        let Some(settings) = rules(name) else { continue };
        // A server warns about this when it starts.
        if let Some(first) = settings.first
            && let Some(position) = settings.definition.position_of(first)
            && (1..position).contains(&mark)
            && let Some(next) = settings.definition.number_at(mark)
        {
            anstream::eprintln!(
                "note: {name} began below its first number {first} and continues at {next}: stop every server, then run floe marks raise {name} --to {first}"
            );
        }
    }
    let differs = stored.iter().filter_map(|(name, text)| {
        let settings = rules(name)?;
        let asked = settings.definition.to_string();
        (asked != *text).then(|| {
            format!(
                "{}: name `{name}`: it is bound to another definition:\n  in {ledger}: {text}\n  in the file: {asked}",
                file.display()
            )
        })
    });
    let differs: Vec<_> = differs.collect();
    if differs.is_empty() {
        return Ok(());
    }
    Err(Failure::new(differs.join("\n       "))
        .hint("configure the definition in the ledger, or take a new name: a definition never changes"))
}

/// Writes a file to begin with, and never over one that is there.
fn begin(file: &Path) -> Outcome {
    let shown = file.display();
    let mut made = OpenOptions::new().write(true).create_new(true).open(file).map_err(|error| match error
        .kind()
    {
        ErrorKind::AlreadyExists => Failure::new(format_args!("{shown} exists already and was not changed"))
            .hint("name another file, or remove this one first"),
        _ => Failure::new(format_args!("{shown} cannot be written: {error}")),
    })?;
    made.write_all(Config::starter_text().as_bytes())
        .map_err(|error| Failure::new(format_args!("{shown} cannot be written: {error}")))?;
    print(&format!("wrote {shown}: read it, change it, check it with floe config --check {shown}\n"))
}
