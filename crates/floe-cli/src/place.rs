//! Which ledger a command works on: flags over the configuration file over the defaults.

use std::path::{Path, PathBuf};

use floe::ledger::LedgerError;
use floe::{Name, UnixMillis};
use floe_ledger::OpenError;
use floe_server::{Config, ConfigError, NameSettings};

use crate::arguments;
use crate::failure::{Failure, Outcome};

/// How many records one question to a ledger asks for.
pub(crate) const PAGE: usize = 1_000;

/// A ledger as a value that is shared with a node.
pub(crate) type Open = Box<dyn floe::ledger::Ledger>;

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::new(error.problems().join("\n       "))
    }
}

impl arguments::Ledger {
    /// All settings of a server, these flags applied.
    pub(crate) fn settings(&self) -> Outcome<Config> {
        self.applied(self.config.as_deref().map(Config::load))
    }

    /// The settings for a command about `name`, or about none, these flags applied. Only that name's keys are read.
    pub(crate) fn settings_for(&self, name: Option<&Name>) -> Outcome<Config> {
        self.applied(self.config.as_deref().map(|file| Config::load_for(file, name)))
    }

    fn applied(&self, loaded: Option<Result<Config, ConfigError>>) -> Outcome<Config> {
        let mut config = loaded.transpose()?.unwrap_or_else(Config::standalone);
        if let Some(dir) = &self.data_dir {
            config.ledger = None;
            config.data_dir = dir.clone();
        }
        set(&mut config, "ledger", self.url.as_deref())?;
        set(&mut config, "realm", self.realm.as_deref())?;
        config.sole_realm = self.realm.is_none() && self.config.is_none();
        Ok(config)
    }

    /// The ledger itself, which has to be there already: a command that only looks makes none, and no cache either.
    pub(crate) fn existing(&self) -> Outcome<Open> {
        existing(&Config { cache: None, ..self.settings_for(None)? })
    }
}

impl arguments::Cache {
    /// Applies the flag.
    pub(crate) fn set(&self, config: &mut Config) {
        if let Some(dir) = &self.cache {
            config.cache = Some(dir.clone());
        }
    }
}

/// Everything that a ledger lists, in its order: `page` reads up to so many rows after the key of the row before.
pub(crate) fn all<T>(
    page: impl Fn(&str, usize) -> Result<Vec<T>, LedgerError>,
    key: impl Fn(&T) -> &str,
) -> Outcome<Vec<T>> {
    let mut all: Vec<T> = Vec::new();
    loop {
        let more = page(all.last().map_or("", &key), PAGE)?;
        let is_full = more.len() == PAGE;
        all.extend(more);
        if !is_full {
            return Ok(all);
        }
    }
}

/// The ledger, which has to be there already, to look at it.
pub(crate) fn existing(config: &Config) -> Outcome<Open> {
    existing_by(config, Config::open_existing_ledger)
}

/// The ledger, which has to be there already, to change what it holds. Marks are raised before anything is minted from an
/// older floe's backup, so its tables are updated.
pub(crate) fn existing_to_change(config: &Config) -> Outcome<Open> {
    existing_by(config, Config::open_ledger_to_change)
}

fn existing_by(config: &Config, open_store: fn(&Config) -> Result<Open, OpenError>) -> Outcome<Open> {
    // Where the configuration says what has to be there, the ledger says what is missing, and what that means.
    let says_more = !config.create || config.realm_id.is_some();
    if let Some(file) = embedded_file(config)
        && !says_more
        && floe_ledger::sqlite::is_new(&file)
    {
        return Err(Failure::new(format_args!("there is no ledger at {}", file.display())).hint(
            "name the server's directory with --data-dir, or the ledger with --ledger; `floe serve` or `floe mint` makes a new one",
        ));
    }
    match config.cache {
        // The ledger behind a cache exists, or the cache is new and says so.
        Some(_) => open(config),
        None => open_store(config).map_err(Failure::new),
    }
}

/// Applies one flag. Its errors are wrong usage.
pub(crate) fn set(config: &mut Config, setting: &str, value: Option<&str>) -> Outcome {
    match value {
        None => Ok(()),
        // A file pins fields in braces, a flag without: the advice has to be that for a flag.
        Some(value) if setting == "worker" => {
            config.worker = value.parse::<floe::WorkerChoice>().map_err(|problem| {
                let failure = Failure::usage(format_args!("--worker: {problem}"));
                match value.contains('{') {
                    true => failure.hint("leave the braces out: --worker datacenter=3,worker=1"),
                    false => failure,
                }
            })?;
            Ok(())
        }
        Some(value) => config.set(setting, value).map_err(|error| {
            // A flag has no line and no column.
            let flag = format!("--{}", setting.replace('_', "-"));
            let place = format!("{flag}:1:1: {setting}: ");
            let problems =
                error.problems().iter().map(|problem| problem.strip_prefix(&place).unwrap_or(problem));
            Failure::usage(format_args!("{flag}: {}", problems.collect::<Vec<_>>().join("\n       ")))
        }),
    }
}

/// The embedded ledger's file, if the ledger is embedded.
fn embedded_file(config: &Config) -> Option<PathBuf> {
    match &config.ledger {
        None => Some(config.data_dir.join(floe_ledger::sqlite::DATABASE)),
        Some(url) => floe_ledger::file_of(url).map(Path::to_owned),
    }
}

fn open(config: &Config) -> Outcome<Open> {
    config.open_ledger().map_err(Failure::new)
}

/// Whether opening the ledger would make it.
pub(crate) fn is_new(config: &Config) -> bool {
    // One with a cache is refused.
    config.cache.is_none() && embedded_file(config).is_some_and(|file| floe_ledger::sqlite::is_new(&file))
}

/// The ledger, made if it does not exist. A new one is announced, because it is a new space of IDs.
pub(crate) fn open_or_make(config: &Config) -> Outcome<Open> {
    let new = is_new(config);
    let ledger = open(config)?;
    if new {
        let (id, shown) = (ledger.realm_id()?, ledger.describe());
        anstream::eprintln!("note: a new ledger, {shown}, for the realm {} ({id})", config.realm);
    }
    Ok(ledger)
}

/// What the configuration says of `name`, as a server would find it: with a file, only the names that it lists exist.
pub(crate) fn configured(config: &Config, name: &Name) -> Outcome<Option<NameSettings>> {
    let Some(file) = &config.file else { return Ok(None) };
    match config.settings_of(name) {
        Some(settings) => Ok(Some(settings.clone())),
        None => Err(Failure::new(format_args!("{} lists no name {name}", file.display()))
            .hint(format_args!("add [[name]] with name = \"{name}\" to it, or leave --config out"))),
    }
}

/// The time on this machine's clock, to show beside marks. Nothing is minted by it.
pub(crate) fn now() -> UnixMillis {
    UnixMillis::new(jiff::Timestamp::now().as_millisecond())
}
