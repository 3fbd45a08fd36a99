//! What no single setting shows.

use std::time::Duration;

use floe::{Definition, Kind, Start};

use super::{Config, ConfigError, NameSettings, show_duration};

pub(super) fn check(config: &Config) -> Result<(), ConfigError> {
    let mut problems = Vec::new();
    listeners(config, &mut problems);
    limits(config, &mut problems);
    for name in &config.names {
        let of = |problem: String| format!("name `{}`: {problem}", name.rule);
        problems.extend(windows(config, name).into_iter().map(of));
    }
    let file = config.file.as_ref().map(|file| format!("{}: ", file.display())).unwrap_or_default();
    ConfigError::unless_empty(problems.into_iter().map(|problem| format!("{file}{problem}")).collect())
}

fn listeners(config: &Config, problems: &mut Vec<String>) {
    for (index, address) in config.listen.iter().enumerate() {
        if !address.ip().is_loopback() && !config.insecure {
            problems.push(format!(
                "listen: {address} is reachable from other machines, and this version has no tokens yet to tell its clients apart: listen on 127.0.0.1, or accept every client with insecure = true (--insecure)"
            ));
        }
        if address.port() != 0 && config.listen[..index].contains(address) {
            problems.push(format!("listen: {address} is listed twice: remove one"));
        }
    }
}

fn limits(config: &Config, problems: &mut Vec<String>) {
    let limits = &config.limits;
    let mut longer = |long: (&str, Duration), short: (&str, Duration), why: &str| {
        if long.1 < short.1 {
            problems.push(format!(
                "limits.{} (\"{}\") is shorter than limits.{} (\"{}\"), {why}",
                long.0,
                show_duration(long.1),
                short.0,
                show_duration(short.1)
            ));
        }
    };
    let request = ("request_timeout", limits.request_timeout);
    longer(request, ("max_wait", limits.max_wait), "so calls would be cut off while they may still wait");
    if config.clock.wait > limits.max_wait {
        problems.push(format!(
            "clock.wait (\"{}\") is longer than limits.max_wait (\"{}\"), so no call would see the end of it",
            show_duration(config.clock.wait),
            show_duration(limits.max_wait)
        ));
    }
}

/// A window has to hold what a generator may draw before the next one is there.
fn windows(config: &Config, name: &NameSettings) -> Vec<String> {
    let Definition::Snowflake { layout, .. } = &name.definition else { return Vec::new() };
    let mut problems = Vec::new();
    let tick = Duration::from_millis(layout.tick_millis());
    let ahead = name.taste.max_ahead.unwrap_or_default();
    // The embedded ledger's default is the shorter one.
    let window = config.window_on(config.ledger.as_ref().is_some_and(|url| !embedded(url)));
    let needed = tick * TICKS_IN_WINDOW + ahead;
    if window < needed {
        problems.push(format!(
            "the window (\"{}\") holds too little: with a tick of \"{}\" and max_ahead \"{}\" it needs \"{}\" or more; raise window, or take a finer tick or a smaller max_ahead",
            show_duration(window),
            show_duration(tick),
            show_duration(ahead),
            show_duration(needed)
        ));
    }
    if name.taste.start == Some(Start::Rolling) && name.taste.max_ahead.is_some_and(|ahead| ahead < tick) {
        problems.push(format!(
            "start = \"rolling\" needs a max_ahead of at least one tick, \"{}\", and it is \"{}\": raise it, or start at \"random:100\"",
            show_duration(tick),
            show_duration(ahead)
        ));
    }
    problems
}

/// A window lies anywhere against the ticks, so one of two ticks always holds a whole one; one more keeps minting
/// going while the next window is reserved.
const TICKS_IN_WINDOW: u32 = 3;

/// Whether a ledger's URL names one that no other machine uses.
pub(super) fn embedded(url: &str) -> bool {
    let scheme = url.split(':').next().unwrap_or(url);
    matches!(scheme, "sqlite" | "memory")
}

/// The kinds that a file can list, for the check's own summary.
impl Config {
    /// What the configuration says, in a few lines, for `floe config --check`.
    pub fn summary(&self) -> String {
        let ledger =
            self.ledger.clone().unwrap_or_else(|| format!("sqlite:{}/floe.db", self.data_dir.display()));
        let listen: Vec<_> = self.listen.iter().map(ToString::to_string).collect();
        let mut lines = vec![
            format!("realm   {}", self.realm),
            format!("ledger  {ledger}"),
            format!("listen  {}", listen.join(", ")),
        ];
        for name in &self.names {
            let horizon = match &name.definition {
                Definition::Snowflake { layout, .. } => {
                    format!(" (its bits run out on {})", layout.horizon())
                }
                _ => String::new(),
            };
            lines.push(format!("name    {}: {}{horizon}", name.rule, name.definition));
        }
        match (self.names_on_first_use(), self.names.is_empty()) {
            (true, _) => lines.push("names come into being on first use".to_owned()),
            (false, true) => lines.push(format!(
                "no name is listed, so nothing can be minted: add [[name]] with name = \"orders\" and kind = \"{}\"",
                Kind::Snowflake
            )),
            (false, false) => {}
        }
        lines.join("\n")
    }
}
