//! The command `floe`: a server, and the tools around its ledger.
//!
//! Every command writes data to stdout and nothing else there; an error is one `error:` with its cause and the way
//! out, on stderr. What a command does is in the file of its name; this one only hands over.
#![forbid(unsafe_code)]

mod arguments;
mod config;
mod drawing;
mod failure;
mod fleet;
mod form;
mod inspect;
mod layout;
mod ledger;
mod marks;
mod mint;
mod names;
mod place;
mod reading;
mod realm;
mod remote;
mod serve;
mod shape;
mod shell;
mod sim;
mod slots;
mod table;
mod token;

use std::process::ExitCode;

use clap::Parser as _;

use crate::arguments::{Arguments, Command, LedgerCommand, Marks, Token};
use crate::failure::Failure;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error),
    };
    let outcome = match &arguments.command {
        Command::Serve(arguments) => serve::run(arguments),
        Command::Mint(arguments) => mint::run(arguments),
        Command::Inspect(arguments) => inspect::run(arguments),
        Command::Form { command } => form::run(command),
        Command::Layout(arguments) => layout::run(arguments),
        Command::Names(arguments) => names::run(arguments),
        Command::Slots(arguments) => slots::run(arguments),
        Command::Realm(arguments) => realm::run(arguments),
        Command::Marks { command: Marks::List { json, ledger } } => marks::list(ledger, *json),
        Command::Marks { command: Marks::Raise(arguments) } => marks::raise(arguments),
        Command::Ledger { command: LedgerCommand::Check { url, json } } => ledger::check(url, *json),
        Command::Token { command: Token::New { name, names } } => token::new(name, names),
        Command::Config(arguments) => config::run(arguments),
        Command::Sim(arguments) => sim::run(arguments),
        Command::Completions { shell } => shell::completions(*shell),
        Command::Man { dir } => shell::man(dir.as_deref()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Says why the command line cannot be read; or what it asked to be told.
fn refuse(error: &clap::Error) -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if error.use_stderr() && serve::asks_for_json(&arguments) {
        let text = error.render().to_string();
        let cause = text.trim().strip_prefix("error: ").unwrap_or(text.trim());
        return Failure::usage(cause).in_json().report();
    }
    error.exit()
}
