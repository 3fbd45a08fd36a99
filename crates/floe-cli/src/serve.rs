//! `floe serve`: settings from flags and file, then the server.

use std::ffi::OsString;

use floe_server::{Config, ServeError, json_line};

use crate::arguments::{self, LogFormat};
use crate::failure::{Failure, Outcome};
use crate::place::{is_new, set};

pub(crate) fn run(arguments: &arguments::Serve) -> Outcome {
    let served = settings(arguments).and_then(serve);
    let json = match arguments.log_format {
        Some(format) => matches!(format, LogFormat::Json),
        // Also of a file that could not be read as a whole.
        None => arguments.ledger.config.as_deref().is_some_and(Config::asks_for_json),
    };
    match json {
        true => served.map_err(Failure::in_json),
        false => served,
    }
}

/// Whether a command line that cannot be read asks for a log in JSON.
pub(crate) fn asks_for_json(arguments: &[OsString]) -> bool {
    let value_of = |flag: &str| {
        arguments.iter().enumerate().find_map(|(at, argument)| {
            let argument = argument.to_str()?;
            match argument.strip_prefix(flag)? {
                "" => arguments.get(at + 1).cloned(),
                rest => rest.strip_prefix('=').map(OsString::from),
            }
        })
    };
    let serves = arguments.iter().any(|argument| argument == "serve");
    match value_of("--log-format") {
        Some(format) => format == "json",
        None => serves && value_of("--config").is_some_and(|file| Config::asks_for_json(file.as_ref())),
    }
}

fn settings(arguments: &arguments::Serve) -> Result<Config, Failure> {
    let mut config =
        arguments.ledger.settings().map_err(|failure| all_wrong(arguments).unwrap_or(failure))?;
    arguments.cache.set(&mut config);
    let listen = (!arguments.listen.is_empty()).then(|| arguments.listen.join(","));
    set(&mut config, "listen", listen.as_deref())?;
    let mysql = (!arguments.mysql.is_empty()).then(|| arguments.mysql.join(","));
    set(&mut config, "mysql", mysql.as_deref())?;
    set(&mut config, "worker", arguments.worker.as_deref())?;
    set(&mut config, "window", arguments.window.as_deref())?;
    set(&mut config, "wait_for_ledger", arguments.wait_for_ledger.as_deref())?;
    config.create &= !arguments.existing;
    // A restart must not hang on what others have made in the ledger meanwhile: they are named when it starts.
    config.sole_realm = false;
    config.insecure |= arguments.insecure;
    config.clock.check_ledger &= !arguments.ignore_ledger_clock;
    match arguments.log_format {
        None => {}
        Some(LogFormat::Text) => config.log.format = floe_server::LogFormat::Text,
        Some(LogFormat::Json) => config.log.format = floe_server::LogFormat::Json,
    }
    Ok(config)
}

fn serve(config: Config) -> Outcome {
    if config.create && config.realm_id.is_none() && is_new(&config) {
        // A volume that was not mounted looks like a first start, and is the end of uniqueness.
        let note = "there is no ledger here yet: a new one is made, and every name begins at its first ID";
        match config.log.format {
            floe_server::LogFormat::Text => anstream::eprintln!("note: {note}"),
            floe_server::LogFormat::Json => {
                anstream::eprint!("{}", json_line("WARN", note, serde_json::Map::new()));
            }
        }
    }
    floe_server::serve(config).map_err(|error| match error {
        ServeError::Config(error) => error.into(),
        other => Failure::new(other),
    })
}

/// All that is wrong with a file that cannot be read. If a flag overrides the file, errors of the two together are
/// only known once the file can be read.
fn all_wrong(arguments: &arguments::Serve) -> Option<Failure> {
    let arguments::Serve { ledger, cache, listen, mysql, worker, window, insecure, .. } = arguments;
    let place = ledger.data_dir.is_some() || ledger.url.is_some() || ledger.realm.is_some();
    let overrides = place
        || cache.cache.is_some()
        || *insecure
        || worker.is_some()
        || window.is_some()
        || !listen.is_empty()
        || !mysql.is_empty();
    let file = ledger.config.as_ref().filter(|_| !overrides)?;
    Config::load_checked(file).err().map(Failure::from)
}
