//! Checks of several settings together.

use std::time::Duration;

use floe::ledger::Memory;
use floe::{DefineError, Definition, Floe, Layout, Name, NameError, NameOptions, UnixMillis};

use super::reader::Complaints;
use super::{Config, ConfigError, Endpoint, NameRule, RuleIndex, show_duration};

pub(super) fn check(config: &Config) -> Result<(), ConfigError> {
    ConfigError::unless_empty(problems(config, &Complaints::default()))
}

/// The complaints about a configuration with some unreadable parts. Checks that depend on such a part are skipped,
/// because it has a default that nobody asked for.
pub(super) fn problems(config: &Config, unread: &Complaints) -> Vec<String> {
    let mut problems = Problems { config, found: Vec::new() };
    let read = |settings: &[&str]| !settings.iter().any(|setting| unread.about(setting));
    let mut of_listeners = vec!["listen", "insecure", "[[token]]"];
    of_listeners.extend(crate::protocols::PROTOCOLS.iter().map(|protocol| protocol.word));
    ledger(config, &mut problems);
    if read(&of_listeners) {
        listeners(config, &mut problems);
    }
    if read(&["tls", "[[token]]"]) {
        certificates(config, &mut problems);
    }
    if read(&["ledger", "[[token]]"]) {
        offered(config, &mut problems);
    }
    if read(&["ledger", "cache", "window"]) {
        cache(config, &mut problems);
    }
    if let Err(problem) = config.log.filter() {
        problems.of("log.level", format!("log.level: {problem}"));
    }
    if read(&["limits", "clock.wait"]) {
        limits(config, &mut problems);
    }
    if read(&["ledger", "window", "worker"]) {
        names(config, &mut problems);
    }
    problems.found
}

/// Complaints, each with its place in the file, if there is one.
struct Problems<'c> {
    config: &'c Config,
    found: Vec<String>,
}

impl Problems<'_> {
    /// Complains about a setting, or about something related to it.
    fn of(&mut self, setting: &str, problem: impl Into<String>) {
        let place = self.config.places.setting(setting).map(str::to_owned);
        self.add(place, problem.into());
    }

    /// About the `[[name]]` of this index.
    fn of_name(&mut self, index: usize, problem: impl Into<String>) {
        let place = self.config.places.name(index).map(str::to_owned);
        self.add(place, problem.into());
    }

    fn add(&mut self, place: Option<String>, problem: String) {
        let file = || self.config.file.as_ref().map(|file| file.display().to_string());
        self.found.push(match place.or_else(file) {
            Some(place) => format!("{place}: {problem}"),
            None => problem,
        });
    }
}

/// Checks of the URL alone, without a connection.
fn ledger(config: &Config, problems: &mut Problems<'_>) {
    if let Some(Err(problem)) = config.ledger.as_deref().map(floe_ledger::check_url) {
        problems.of("ledger", format!("ledger: {problem}"));
    }
}

fn listeners(config: &Config, problems: &mut Problems<'_>) {
    let endpoints: Vec<_> = config.endpoints().collect();
    if endpoints.is_empty() {
        problems.of(
            "listen",
            "listen: there is nothing to listen on: name an address, such as listen = [\"127.0.0.1:7600\"]"
                .to_owned(),
        );
    }
    for (index, (protocol, endpoint)) in endpoints.iter().enumerate() {
        let setting = protocol.map_or("listen", |protocol| protocol.word);
        if endpoint.is_exposed() && config.tokens.is_empty() && !config.insecure {
            problems.of(setting, format!(
                "{setting}: {endpoint} is reachable from other machines, and no client needs a token: add a [[token]] (floe token new makes one), listen on 127.0.0.1, or accept every client with insecure = true (--insecure)"
            ));
        }
        let any_port = matches!(endpoint, Endpoint::Tcp(address) if address.port() == 0);
        if !any_port && endpoints[..index].iter().any(|(_, before)| before == endpoint) {
            problems.of(setting, format!("{setting}: {endpoint} is listed twice: remove one"));
        }
    }
}

fn certificates(config: &Config, problems: &mut Problems<'_>) {
    let checked = config.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
    for token in config.tokens.iter().filter(|token| token.certificate.is_some() && !checked) {
        problems.of("token", format!(
            "[[token]] certificate: the token `{}` is for a client certificate, and this server asks for none: set tls with client_ca, or remove it",
            token.name
        ));
    }
}

fn offered(config: &Config, problems: &mut Problems<'_>) {
    if config.offers_ledger() && config.ledger.as_deref() == Some("memory:") {
        problems.of(
            "ledger",
            "ledger: memory: cannot be offered to other processes, since each opening of it starts empty: name a ledger that lasts, or remove `ledger` from each [[token]]",
        );
    }
}

/// What to say where an embedded ledger has a cache.
pub(super) const NO_CACHE: &str = "the embedded ledger is on this machine, so it needs no cache: remove the setting (--cache), or name a shared ledger with ledger = \"…\" (--ledger)";

fn cache(config: &Config, problems: &mut Problems<'_>) {
    if config.cache.is_none() {
        return;
    }
    if !is_shared(config) {
        problems.of("cache", format!("cache: {NO_CACHE}"));
    }
    let (cache_window, window) = (config.cache_window, config.window_on(true));
    if cache_window < window * 2 {
        problems.of("cache_window", format!(
            "cache_window (\"{}\") is shorter than two windows (\"{}\" each), so nothing would be left when the ledger is gone: make it \
             many times the window",
            show_duration(cache_window),
            show_duration(window)
        ));
    }
}

pub(super) fn is_shared(config: &Config) -> bool {
    config.ledger.as_ref().is_some_and(|url| !embedded(url))
}

fn limits(config: &Config, problems: &mut Problems<'_>) {
    let limits = &config.limits;
    let mut longer = |long: (&str, Duration), short: (&str, Duration), why: &str| {
        if long.1 < short.1 {
            problems.of(
                &format!("limits.{}", long.0),
                format!(
                    "limits.{} (\"{}\") is shorter than limits.{} (\"{}\"), {why}",
                    long.0,
                    show_duration(long.1),
                    short.0,
                    show_duration(short.1)
                ),
            );
        }
    };
    let request = ("request_timeout", limits.request_timeout);
    longer(request, ("max_wait", limits.max_wait), "so calls would be cut off while they may still wait");
    for (setting, part) in [
        ("limits.connections_per_address", limits.connections_per_address),
        ("limits.connections_per_token", limits.connections_per_token),
    ] {
        if let Some(part) = part.filter(|part| *part > limits.connections) {
            problems.of(setting, format!(
                "{setting} ({part}) is more than limits.connections ({}), which all connections have to share",
                limits.connections
            ));
        }
    }
    if config.clock.wait > limits.max_wait {
        problems.of("clock.wait", format!(
            "clock.wait (\"{}\") is longer than limits.max_wait (\"{}\"), so no call would wait that long",
            show_duration(config.clock.wait),
            show_duration(limits.max_wait)
        ));
    }
}

/// Serves the names for a moment from a ledger in memory: the library checks their layouts, epochs and options against
/// the node's window and worker ids, and names that share a generator against each other.
fn names(config: &Config, problems: &mut Problems<'_>) {
    // The embedded ledger's default window is the shorter one.
    let builder = Floe::builder()
        .window(config.window_on(is_shared(config)))
        .worker(config.worker.clone())
        .kinds(config.kinds.clone());
    let floe = match builder.open(Memory::default()) {
        Ok(floe) => floe,
        Err(error) => return problems.of("worker", error.to_string()),
    };
    let now = floe.status().clock.steady;
    let index = RuleIndex::new(config.names.iter().map(|settings| &settings.rule));
    for (place, settings) in config.names.iter().enumerate() {
        if let Some(over) = past_horizon(&settings.definition, now) {
            problems.of_name(place, format!("name `{}`: {over}", settings.rule));
            continue;
        }
        let defined = example(&index, &settings.rule)
            .map_err(DefineError::Name)
            .and_then(|name| floe.define(&name, &settings.definition, &settings.options));
        if let Err(error) = defined {
            problems.of_name(place, format!("name `{}`: {error}", settings.rule));
        }
    }
    if config.names_on_first_use() {
        // The definition of a name that is not configured.
        let natural = Definition::Snowflake { layout: Layout::TWITTER, own: false };
        let defined = Name::new("orders")
            .map_err(DefineError::Name)
            .and_then(|name| floe.define(&name, &natural, &NameOptions::default()));
        if let Err(error) = defined {
            problems.of(
                "window",
                format!("new names have the layout twitter here, and it cannot be served: {error}"),
            );
        }
    }
}

/// Why no name can ever be minted from, if minting is all that the server is for.
pub(super) fn nothing_to_mint(config: &Config) -> Option<String> {
    if !config.names.is_empty() || config.names_on_first_use() || config.offers_ledger() {
        return None;
    }
    Some(match &config.file {
        Some(file) => format!(
            "{}: it lists no name, so nothing could be minted: add one, such as\n\n[[name]]\nname = \"orders\"\nkind = \"snowflake\"\n",
            file.display()
        ),
        None => "no name could be minted: without a configuration file names are made on first use only with the \
                 embedded ledger and for clients on this machine. Write a file with realm, ledger and [[name]] (floe config --new \
                 writes one to begin with), and start with --config FILE"
            .to_owned(),
    })
}

/// Why a definition cannot be minted from any more: its time bits have run out.
fn past_horizon(definition: &Definition, now: UnixMillis) -> Option<String> {
    let Definition::Snowflake { layout, .. } = definition.unformed() else { return None };
    let preset = floe::layout::PRESETS.iter().find(|preset| preset.layout == *layout);
    let inspected = preset.map_or_else(|| layout.to_string(), |preset| preset.name.to_owned());
    let quoted = if preset.is_some() { inspected } else { format!("\"{inspected}\"") };
    (layout.horizon() <= now).then(|| {
        format!(
            "its layout's time bits ran out on {}, so nothing can be minted from it: remove the name, or give it another layout under a new name (old IDs are read with floe inspect --layout {quoted})",
            layout.horizon()
        )
    })
}

/// A name that the rule is about, and no listed name.
fn example(index: &RuleIndex, rule: &NameRule) -> Result<Name, NameError> {
    let mut name = match rule {
        NameRule::Exact(name) => return Ok(name.clone()),
        NameRule::Pattern(prefix) => format!("{prefix}x"),
    };
    while index.exact(&name).is_some() {
        name.push('x');
    }
    Name::new(&name)
}

/// Whether a ledger's URL names one that no other machine uses.
pub(super) fn embedded(url: &str) -> bool {
    let scheme = url.split(':').next().unwrap_or(url);
    matches!(scheme, "sqlite" | "memory")
}
