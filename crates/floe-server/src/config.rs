//! The configuration: every setting of a server, its default, and what it may be.
//!
//! Two kinds of settings are kept apart. A **process setting** (listen, window, limits) has a default and may
//! change with every start. A **cluster setting** decides which ID a position becomes (realm, kind, layout, epoch,
//! digits, zone). It can never change under a name, so a file must set it. Settings with a natural default (increment
//! 1, no prefix, no widening counter, a shared generator) may be left out.
//!
//! Without a file ([`Config::standalone`]), names are made on first use. With a file, only the names that it lists exist.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use floe::ledger::Ledger;
use floe::{KindRegistry, Name, WorkerChoice};
use floe_ledger::{OpenError, Opening};
use floe_wire::Protocol;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::tls::TlsSettings;

mod check;
mod defaults;
mod endpoint;
mod ledger;
mod names;
mod places;
mod reader;
mod rules;
mod tables;
#[cfg(test)]
mod tests;
mod tls;
mod tokens;

pub use endpoint::Endpoint;
use endpoint::{endpoints, hosts};
pub use names::{NameRule, NameSettings};
pub use places::Places;
pub use reader::ConfigError;
use reader::{Complaints, Document, Section};
pub(crate) use rules::RuleIndex;
pub use tables::{ClockSettings, DefaultNames, Limits, LogFormat, LogSettings};
pub use tokens::{NativeHash, NewToken, TinyIdToken, TokenHash, TokenSettings};

/// All settings of a server. Make one with [`standalone`](Self::standalone) or [`load`](Self::load), change it with
/// [`set`](Self::set), and [`check`](Self::check) it.
#[derive(Clone, PartialEq, Debug)]
pub struct Config {
    /// The file that it was read from. With `None`, there is no file, and names are made on first use.
    pub file: Option<PathBuf>,
    /// The realm: one name space of IDs in the ledger. A cluster setting.
    pub realm: String,
    /// The ledger's URL; `None` is the embedded one, `floe.db` in [`data_dir`](Self::data_dir).
    pub ledger: Option<String>,
    /// Whether a missing ledger, its tables and its realm are made.
    pub create: bool,
    /// The random id that the realm must have; with `None`, any. With an id, a missing realm is not made.
    pub realm_id: Option<String>,
    /// Whether nobody named the realm, so that a ledger with several of them is refused.
    pub sole_realm: bool,
    /// How long a server waits for a ledger that does not answer when it starts; `None` is without end.
    pub wait_for_ledger: Option<Duration>,
    /// Where the embedded ledger lies.
    pub data_dir: PathBuf,
    /// The directory of the cache before a shared ledger; `None` is no cache.
    pub cache: Option<PathBuf>,
    /// How much of a slot's time the cache reserves at once.
    pub cache_window: Duration,
    /// How much time is reserved at once; `None` is 3 s on the embedded ledger and 30 s on a shared one.
    pub window: Option<Duration>,
    /// Whether the window is kept renewed while nobody mints; `None` is no on the embedded ledger, yes on a shared one.
    pub renew_idle: Option<bool>,
    /// Where to listen for clients of every protocol but MySQL's, told apart by their first bytes.
    pub listen: Vec<Endpoint>,
    /// Where to listen for a single protocol, by its word (`http`, `resp`, `memcached`, `thrift`, `mysql`). Clients
    /// of `mysql` need that, because the server speaks first to them. If it is not set, the server listens for them
    /// on 127.0.0.1:7606, unless another program has that port. An empty list is nowhere.
    pub own_ports: BTreeMap<&'static str, Vec<Endpoint>>,
    /// Whether a listener that is not loopback may start without authentication.
    pub insecure: bool,
    /// Names under which HTTP clients reach a listener of this machine alone, as through a proxy that passes `Host` on, besides
    /// `localhost`, addresses, and names that nobody can register.
    pub hosts: Vec<String>,
    /// TLS on every listener; `None` is none.
    pub tls: Option<TlsSettings>,
    /// What to do about a clock that moves.
    pub clock: ClockSettings,
    /// Which worker ids this node may take.
    pub worker: WorkerChoice,
    /// A name of this node that survives its restarts, for a fixed worker id; with `None`, only a
    /// restart on the same machine takes its worker id over at once.
    pub instance: Option<String>,
    /// Threads that serve clients; `None` is one for each core, up to 4.
    pub threads: Option<usize>,
    /// What bounds every wait, buffer, batch and count.
    pub limits: Limits,
    /// How to log.
    pub log: LogSettings,
    /// The names behind calls that name none.
    pub default_names: DefaultNames,
    /// The names and patterns that exist, in the order of the file.
    pub names: Vec<NameSettings>,
    /// What to do about a name that the ledger does not know; `None` is [`NewNames::AskForFirst`] if other machines
    /// can ask, otherwise [`NewNames::FromOne`].
    pub new_names: Option<NewNames>,
    /// Who may mint what; with none, authentication is off.
    pub tokens: Vec<TokenSettings>,
    /// The rows of tinyid's table of tokens. With none, its clients' token is checked only if there are
    /// [`tokens`](Self::tokens).
    pub tiny_id_tokens: Vec<TinyIdToken>,
    /// The kinds that the program registered.
    pub kinds: KindRegistry,
    /// Where its settings stand in `file`, for complaints.
    pub places: Places,
}

/// What a server does about a name that may be minted and that the ledger does not know yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NewNames {
    /// It makes none.
    Refuse,
    /// It makes a segment and a counter only if their first number is known.
    AskForFirst,
    /// It makes them. They begin at 1 (a segment at its offset) unless their first number is known.
    FromOne,
}

impl NewNames {
    const WORDS: &[(&str, Self)] =
        &[("refuse", Self::Refuse), ("ask for first", Self::AskForFirst), ("from 1", Self::FromOne)];
}

impl Config {
    /// The default port.
    pub const DEFAULT_PORT: u16 = 7600;

    /// The settings of a server without a file: every default, and names on first use.
    pub fn standalone() -> Self {
        Self {
            file: None,
            realm: floe_ledger::DEFAULT_REALM.to_owned(),
            ledger: None,
            create: true,
            realm_id: None,
            sole_realm: false,
            wait_for_ledger: None,
            data_dir: PathBuf::from("floe-data"),
            cache: None,
            cache_window: Duration::from_secs(3600),
            window: None,
            renew_idle: None,
            listen: vec![Endpoint::Tcp(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), Self::DEFAULT_PORT))],
            own_ports: BTreeMap::new(),
            insecure: false,
            hosts: Vec::new(),
            tls: None,
            clock: ClockSettings::default(),
            worker: WorkerChoice::Auto,
            instance: None,
            threads: None,
            limits: Limits::default(),
            log: LogSettings::default(),
            default_names: DefaultNames::default(),
            names: Vec::new(),
            new_names: None,
            tokens: Vec::new(),
            tiny_id_tokens: Vec::new(),
            kinds: KindRegistry::new(),
            places: Places::default(),
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`ConfigError`] with every complaint, each with file, line and column.
    pub fn load(file: &Path) -> Result<Self, ConfigError> {
        Self::load_with(file, KindRegistry::new())
    }

    /// Reads a file whose names may have kinds that the program registered.
    ///
    /// ```no_run
    /// use floe::{KindRegistry, kind::UlidGenerator};
    /// use floe_server::{Config, serve};
    ///
    /// let kinds = KindRegistry::new().with("mine", |_, _| Ok(UlidGenerator::new()));
    /// serve(Config::load_with("floe.toml".as_ref(), kinds)?)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ConfigError`], as for [`load`](Self::load).
    pub fn load_with(file: &Path, kinds: KindRegistry) -> Result<Self, ConfigError> {
        Self::parse_with(&text_of(file)?, file, kinds)
    }

    /// Reads a file for a command that serves nobody. Of the keys of sealed forms it reads those of `name`, if any: the others
    /// may be on another machine, and names with such a form cannot be minted from then.
    ///
    /// # Errors
    /// [`ConfigError`], as for [`load`](Self::load).
    pub fn load_for(file: &Path, name: Option<&Name>) -> Result<Self, ConfigError> {
        let wanted = name.map_or(KeysOf::None, KeysOf::Name);
        let (config, complaints) = Self::examine(&text_of(file)?, file, KindRegistry::new(), wanted)?;
        ConfigError::unless_empty(complaints.problems).map(|()| config)
    }

    /// Reads a file and [checks](Self::check) it, its [files](Self::check_files) too. It reports all errors at once,
    /// even if a part could not be read. Errors that may only follow from such a part are left out.
    ///
    /// # Errors
    /// [`ConfigError`] with every complaint.
    pub fn load_checked(file: &Path) -> Result<Self, ConfigError> {
        let (config, complaints) = Self::examine(&text_of(file)?, file, KindRegistry::new(), KeysOf::All)?;
        let found = check::problems(&config, &complaints);
        let mut problems = complaints.problems;
        problems.extend(found);
        if let Err(files) = config.check_files() {
            problems.extend(files.problems().iter().cloned());
        }
        ConfigError::unless_empty(problems).map(|()| config)
    }

    /// Whether a file, which may be full of mistakes, asks for a log in JSON.
    pub fn asks_for_json(file: &Path) -> bool {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let (root, _) = DeTable::parse_recoverable(&text);
        let Some(DeValue::Table(log)) = at(root.get_ref(), "log") else { return false };
        matches!(at(log, "format"), Some(DeValue::String(format)) if format == "json")
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// [`ConfigError`] with every complaint, each with file, line and column.
    ///
    /// ```
    /// use floe_server::Config;
    /// let error = Config::parse("realm = 'shop'\nwindwo = '30s'\n", "floe.toml".as_ref()).unwrap_err();
    /// assert_eq!(error.to_string(), "floe.toml:2:1: unknown setting `windwo`: did you mean `window`?");
    /// ```
    pub fn parse(text: &str, file: &Path) -> Result<Self, ConfigError> {
        Self::parse_with(text, file, KindRegistry::new())
    }

    fn parse_with(text: &str, file: &Path, kinds: KindRegistry) -> Result<Self, ConfigError> {
        let (config, complaints) = Self::examine(text, file, kinds, KeysOf::All)?;
        ConfigError::unless_empty(complaints.problems).map(|()| config)
    }

    /// Reads as much of a file's text as possible, with complaints about the rest.
    fn examine(
        text: &str,
        file: &Path,
        kinds: KindRegistry,
        keys: KeysOf<'_>,
    ) -> Result<(Self, Complaints), ConfigError> {
        let shown = file.display().to_string();
        let document = Document::new(&shown, text);
        let root = document.root()?;
        let mut config = Self { file: Some(file.to_owned()), kinds, ..Self::standalone() };
        let section = Section::new(&document, root.get_ref(), "", 0..0);
        if !section.has("realm") {
            document.complain(
                0,
                "a configuration must name its realm, because it can never change: add realm = \"default\" (the realm of a server without a file), or a name of your own",
            );
        }
        config.read(&section);
        let wanted = keys.among(&section.texts("name", "name"));
        let (mut names, mut place) = (Vec::new(), 0);
        section.tables("name", |section| {
            names.extend(names::read(section, &config.kinds, wanted(place)));
            place += 1;
            config.read_of_sharding_sphere(section);
        });
        let names = names::without_doubles(&document, names);
        let mut tokens = Vec::new();
        section.tables("token", |section| tokens.extend(tokens::read(section)));
        tokens::complain_about_doubles(&document, &tokens);
        let mut rows = Vec::new();
        section.tables("tiny_id_token", |section| rows.extend(tokens::read_row(section)));
        section.finish();
        let (places, names) = names.into_iter().unzip();
        config.places = Places::of(&document, root.get_ref(), places);
        config.names = names;
        config.tokens = tokens.into_iter().map(|(_, token)| token).collect();
        config.tiny_id_tokens = rows;
        Ok((config, document.complaints()))
    }

    /// Changes one of the outermost settings, as a command line does: `set("window", "3s")`. The value is written as
    /// in a file, without its quotes.
    ///
    /// # Errors
    /// [`ConfigError`] names the setting and what it may be.
    pub fn set(&mut self, setting: &str, value: &str) -> Result<(), ConfigError> {
        let file = format!("--{}", setting.replace('_', "-"));
        let document = Document::new(&file, "");
        let value = match value {
            "true" | "false" => DeValue::Boolean(value == "true"),
            _ => DeValue::String(value.into()),
        };
        let mut table = DeTable::new();
        table.insert(Spanned::new(0..0, setting.into()), Spanned::new(0..0, value));
        let section = Section::new(&document, &table, "", 0..0);
        self.read(&section);
        self.places.forget(setting);
        section.finish();
        document.finish()
    }

    /// The window on a ledger that other machines use too, or do not.
    pub fn window_on(&self, shared: bool) -> Duration {
        self.window.unwrap_or(match shared {
            true => Duration::from_secs(30),
            false => Duration::from_secs(3),
        })
    }

    /// Whether the window is kept renewed on such a ledger.
    pub fn renews_idle_on(&self, shared: bool) -> bool {
        self.renew_idle.unwrap_or(shared)
    }

    /// A warning if the file has a setting by its old name.
    pub fn old_spelling(&self) -> Option<String> {
        let (old, new) = RENAMED;
        let place = self.places.setting(old)?;
        Some(format!("{place}: the setting {old} is called {new} now: rename it"))
    }

    /// Opens the ledger, behind its cache if it has one.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open_ledger(&self) -> Result<Box<dyn Ledger>, OpenError> {
        match (&self.ledger, &self.cache) {
            (Some(url), Some(dir)) => cached(url, dir, self),
            (_, None) => self.open_store(&self.opening()),
            (None, Some(_)) => Err(OpenError::Asked(check::NO_CACHE.to_owned())),
        }
    }

    /// Opens a realm of the ledger, without its cache.
    pub(crate) fn open_store(&self, opening: &Opening) -> Result<Box<dyn Ledger>, OpenError> {
        match &self.ledger {
            Some(url) => opening.open(url),
            None => opening.open_dir(&self.data_dir),
        }
    }

    /// Opens the ledger for reading only: without its cache, and without making anything.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open_existing_ledger(&self) -> Result<Box<dyn Ledger>, OpenError> {
        self.open_store(&self.opening().to_look())
    }

    /// Opens the ledger for a change: without its cache, and without making one. Tables of an older floe are updated.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open_ledger_to_change(&self) -> Result<Box<dyn Ledger>, OpenError> {
        self.open_store(&self.opening().existing())
    }

    /// The threads that serve clients.
    pub fn worker_threads(&self) -> usize {
        self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from).min(4))
    }

    /// Whether names are made on first use without being listed: only without a file, on the embedded ledger, and if
    /// no other machine can ask.
    pub fn names_on_first_use(&self) -> bool {
        let embedded = self.ledger.as_deref().is_none_or(check::embedded);
        self.file.is_none() && embedded && !self.endpoints().any(|(_, endpoint)| endpoint.is_exposed())
    }

    /// What to do about a name that the ledger does not know. (A new name that begins at 1 repeats the IDs of a
    /// system that it replaces. So clients on other machines cannot make one by mistake.)
    pub fn on_new_names(&self) -> NewNames {
        let exposed = || self.endpoints().any(|(_, endpoint)| endpoint.is_exposed());
        self.new_names.unwrap_or_else(|| if exposed() { NewNames::AskForFirst } else { NewNames::FromOne })
    }

    /// What is configured for `name`: its own `[[name]]`, else the longest pattern that covers it.
    pub fn settings_of(&self, name: &Name) -> Option<&NameSettings> {
        self.rules()(name.as_str())
    }

    /// As [`settings_of`](Self::settings_of), for those who ask for many names.
    pub fn rules<'c>(&'c self) -> impl Fn(&str) -> Option<&'c NameSettings> {
        let index = RuleIndex::new(self.names.iter().map(|settings| &settings.rule));
        move |name| index.find(name).and_then(|at| self.names.get(at))
    }

    /// Every endpoint that was asked for, and which protocol alone is spoken there, if it is one.
    pub(crate) fn endpoints(&self) -> impl Iterator<Item = (Option<&'static Protocol>, &Endpoint)> {
        let any = self.listen.iter().map(|endpoint| (None, endpoint));
        let own = self.own_ports.iter().flat_map(|(word, endpoints)| {
            endpoints.iter().map(|endpoint| (crate::protocols::protocol(word), endpoint))
        });
        any.chain(own)
    }

    /// A short configuration to begin with, for people: valid as it is, with what a first file needs and why.
    pub fn starter_text() -> &'static str {
        include_str!("config/starter.toml")
    }

    /// Every default, as commented TOML that reads back as the defaults.
    pub fn defaults_text() -> String {
        defaults::text()
    }

    /// Checks what no single setting shows: layouts against windows, names against each other, listeners against
    /// what protects them.
    ///
    /// # Errors
    /// [`ConfigError`] with every complaint.
    pub fn check(&self) -> Result<(), ConfigError> {
        check::check(self)
    }

    /// Checks the files that the settings name: certificates and keys, which a server reads when it starts.
    ///
    /// # Errors
    /// [`ConfigError`] names the file, what is wrong with it, and the way out.
    pub fn check_files(&self) -> Result<(), ConfigError> {
        self.tls.as_ref().map_or(Ok(()), |tls| crate::tls::check(tls).map_err(ConfigError::one))
    }

    /// Checks that there is something to mint: names that are listed, or that are made on first use.
    ///
    /// # Errors
    /// [`ConfigError`] with the way out.
    pub fn check_mints(&self) -> Result<(), ConfigError> {
        ConfigError::unless_empty(check::nothing_to_mint(self).into_iter().collect())
    }

    /// Settings that ShardingSphere has for each key and floe for each node: any name may have them, with equal values.
    fn read_of_sharding_sphere(&mut self, section: &Section<'_, '_>) {
        use reader::within;
        const WORKER: &str = "worker-id";
        const TOLERATED: &str = "max-tolerate-time-difference-milliseconds";
        if let Some(worker) = section.read(WORKER, worker) {
            if self.worker != WorkerChoice::Auto && self.worker != worker {
                let said = &self.worker;
                section.complain(WORKER, format_args!("a node has one worker id for all its names, and another place says {said}: make them equal"));
            }
            self.worker = worker;
        }
        if let Some(millis) = section.read(TOLERATED, within(0..=60_000)) {
            let (wait, unsaid) = (Duration::from_millis(millis), ClockSettings::default().wait);
            if self.clock.wait != unsaid && self.clock.wait != wait {
                let said = show_duration(self.clock.wait);
                section.complain(TOLERATED, format_args!("a node has one clock for all its names, and another place says {said} (clock.wait): make them equal"));
            }
            self.clock.wait = wait;
        }
    }

    fn read(&mut self, section: &Section<'_, '_>) {
        use reader::{boolean, duration_within, text, within};
        let day = Duration::from_secs(86_400);
        section.set("realm", &mut self.realm, name);
        if let Some(read) = section.read("ledger", ledger::ledger) {
            self.ledger = read.url;
            self.create = read.create.unwrap_or(self.create);
            self.realm_id = read.realm_id.or(self.realm_id.take());
        }
        section.set("wait_for_ledger", &mut self.wait_for_ledger, ledger::patience);
        section.set("data_dir", &mut self.data_dir, |value| text(value).map(PathBuf::from));
        section.set("cache", &mut self.cache, |value| text(value).map(|dir| Some(PathBuf::from(dir))));
        let cache_window = duration_within(Duration::from_secs(1)..=day * 30);
        section.set("cache_window", &mut self.cache_window, cache_window);
        let window = duration_within(Duration::from_millis(100)..=day);
        section.set("window", &mut self.window, |value| window(value).map(Some));
        section.set_renamed(RENAMED, &mut self.renew_idle, |value| boolean(value).map(Some));
        section.set("listen", &mut self.listen, endpoints);
        for protocol in crate::protocols::PROTOCOLS {
            if let Some(read) = section.read(protocol.word, endpoints) {
                self.own_ports.insert(protocol.word, read);
            }
        }
        section.set("insecure", &mut self.insecure, boolean);
        section.set("hosts", &mut self.hosts, hosts);
        section.table("tls", |section| self.tls = tls::read(section));
        section.set("worker", &mut self.worker, worker);
        section.set("instance", &mut self.instance, |value| name(value).map(Some));
        section.set("threads", &mut self.threads, |value| within(1..=256)(value).map(Some));
        section
            .set("new_names", &mut self.new_names, |value| reader::one_of(NewNames::WORDS)(value).map(Some));
        section.table("clock", |section| self.clock.read(section));
        section.table("log", |section| self.log.read(section));
        section.table("default_names", |section| self.default_names.read(section));
        section.table("limits", |section| self.limits.read(section));
    }
}

/// A setting's old name, which goes on working, and its name.
const RENAMED: (&str, &str) = ("keep", "renew_idle");

/// Whose keys a file is read with.
#[derive(Clone, Copy)]
enum KeysOf<'n> {
    All,
    Name(&'n Name),
    None,
}

impl KeysOf<'_> {
    /// Whether to read the keys of the `[[name]]` at a place. `rules` are the names and patterns of all.
    fn among(self, rules: &[Option<&str>]) -> impl Fn(usize) -> bool + use<> {
        let chosen = match self {
            Self::Name(name) => {
                let mut index = RuleIndex::default();
                for (at, rule) in rules.iter().enumerate() {
                    // A text that is not a rule gets its complaint when it is read.
                    if let Some(rule) = rule.and_then(|rule| NameRule::parse(rule).ok()) {
                        index.add(at, &rule);
                    }
                }
                index.find(name.as_str())
            }
            Self::All | Self::None => None,
        };
        let all = matches!(self, Self::All);
        move |place| all || chosen == Some(place)
    }
}

fn at<'t, 'd>(table: &'t DeTable<'d>, key: &str) -> Option<&'t DeValue<'d>> {
    table.iter().find(|(known, _)| known.get_ref() == key).map(|(_, value)| value.get_ref())
}

fn text_of(file: &Path) -> Result<String, ConfigError> {
    std::fs::read_to_string(file).map_err(|error| {
        let shown = file.display();
        ConfigError::one(format!(
            "{shown}: the configuration cannot be read ({error}): give the path of a TOML file in UTF-8, or leave it out, and names are made on first use"
        ))
    })
}

#[cfg(feature = "cache")]
fn cached(url: &str, dir: &Path, config: &Config) -> Result<Box<dyn Ledger>, OpenError> {
    let cache = floe_ledger::Cache::builder(dir).opening(&config.opening()).window(config.cache_window);
    Ok(Box::new(cache.before(url)?))
}

#[cfg(not(feature = "cache"))]
fn cached(_: &str, dir: &Path, _: &Config) -> Result<Box<dyn Ledger>, OpenError> {
    Err(OpenError::Asked(format!(
        "this build of floe has no cache, so it cannot use {}: leave `cache` (--cache) out, or build it with the feature cache",
        dir.display()
    )))
}

/// Reads a duration: whole numbers with their units `ms`, `s`, `m`, `h` or `d`, such as `5ms`, `30s`, `1h30m`.
///
/// # Errors
/// A text that says what is expected.
///
/// ```
/// assert_eq!(floe_server::parse_duration("1h30m")?.as_secs(), 5_400);
/// assert!(floe_server::parse_duration("30").is_err());
/// # Ok::<(), String>(())
/// ```
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let expected =
        |why: &str| format!("{text:?} is not a duration ({why}): write it like \"5ms\", \"30s\" or \"1h\"");
    if text.is_empty() {
        return Err(expected("it is empty"));
    }
    let mut rest = text;
    let mut millis: u64 = 0;
    while !rest.is_empty() {
        let digits =
            rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(|| expected("the unit is missing"))?;
        let (number, tail) = rest.split_at(digits);
        let unit = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit);
        let scale = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(expected("its units are ms, s, m, h and d")),
        };
        let number: u64 = number.parse().map_err(|_| expected("a unit needs its number"))?;
        millis = number
            .checked_mul(scale)
            .and_then(|part| millis.checked_add(part))
            .ok_or_else(|| expected("it is too long"))?;
        rest = tail;
    }
    Ok(Duration::from_millis(millis))
}

/// A duration as [`parse_duration`] reads it: `90s`, `5ms`.
pub fn show_duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    match units.into_iter().find(|(scale, _)| millis > 0 && millis.is_multiple_of(*scale)) {
        Some((scale, unit)) => format!("{}{unit}", millis / scale),
        None if millis == 0 => "0s".to_owned(),
        None => format!("{millis}ms"),
    }
}

/// Reads a text that follows the rule for names, also for a realm and an instance, which become parts of keys in ledgers.
fn name(value: &DeValue<'_>) -> Result<String, String> {
    let name = reader::text(value)?;
    Name::new(&name).map_err(|error| error.to_string())?;
    Ok(name)
}

fn worker(value: &DeValue<'_>) -> Result<WorkerChoice, String> {
    let expected = "write \"auto\", a number, a range such as \"512..1023\", or pinned fields such as { datacenter = 3 }";
    match value {
        DeValue::String(text) => text.parse().map_err(|error| format!("{error}: {expected}")),
        DeValue::Integer(_) => reader::within(0..=u64::from(u32::MAX))(value).map(WorkerChoice::Fixed),
        DeValue::Table(fields) if !fields.is_empty() => {
            let pinned = fields.iter().map(|(field, value)| {
                let value = reader::within(0..=u64::from(u32::MAX))(value.get_ref())
                    .map_err(|problem| format!("{}: {problem}", field.get_ref()))?;
                Ok((field.get_ref().to_string(), value))
            });
            pinned.collect::<Result<_, String>>().map(WorkerChoice::Pinned)
        }
        other => Err(format!("found {}: {expected}", reader::shown(other))),
    }
}
