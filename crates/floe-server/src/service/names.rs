//! Which names exist.

use floe::{Definition, Kind, Name, reserved_name};

use crate::config::{Config, NameRule, NameSettings, RuleIndex};
use crate::status::Refusal;

/// What the configuration says of a name.
pub(super) enum Rule<'r> {
    /// It is listed.
    Listed(&'r NameSettings),
    /// It is made on first use: by a pattern, or because there is no file.
    FirstUse(Option<&'r NameSettings>),
}

/// The names and patterns of a configuration.
pub(super) struct Rules {
    settings: Vec<NameSettings>,
    index: RuleIndex,
    has_file: bool,
    on_first_use: bool,
    /// Whether other processes use the ledger through this server.
    offers_ledger: bool,
}

impl Rules {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            settings: config.names.clone(),
            index: RuleIndex::new(config.names.iter().map(|settings| &settings.rule)),
            has_file: config.file.is_some(),
            on_first_use: config.names_on_first_use(),
            offers_ledger: config.offers_ledger(),
        }
    }

    /// The names that are listed, without the patterns.
    pub(super) fn listed(&self) -> impl Iterator<Item = (&Name, &Definition)> {
        self.settings.iter().filter_map(|settings| match &settings.rule {
            NameRule::Exact(name) => Some((name, &settings.definition)),
            NameRule::Pattern(_) => None,
        })
    }

    /// Whether the ledger is needed: by other processes to which it is offered, or by any name but those that are listed with
    /// a kind that needs none.
    pub(super) fn need_the_ledger(&self) -> bool {
        let needs = |settings: &NameSettings| {
            matches!(settings.rule, NameRule::Pattern(_)) || settings.definition.needs_ledger()
        };
        self.on_first_use || self.offers_ledger || self.settings.iter().any(needs)
    }

    /// The patterns.
    pub(super) fn patterns(&self) -> impl Iterator<Item = &NameSettings> {
        self.settings.iter().filter(|settings| matches!(settings.rule, NameRule::Pattern(_)))
    }

    /// Whether only those names exist that are listed.
    pub(super) fn are_all_listed(&self) -> bool {
        !self.on_first_use && self.patterns().next().is_none() && self.listed().next().is_some()
    }

    /// Whether any name is made on first use without a pattern.
    pub(super) fn on_first_use(&self) -> bool {
        self.on_first_use
    }

    /// Whether there is a configuration file.
    pub(super) fn has_file(&self) -> bool {
        self.has_file
    }

    /// The rule for a name: its own, else that of the longest pattern that covers it.
    pub(super) fn of(&self, name: &Name) -> Result<Rule<'_>, Refusal> {
        let settings = self.index.find(name.as_str()).and_then(|at| self.settings.get(at));
        let pattern = match settings {
            Some(settings) if matches!(settings.rule, NameRule::Exact(_)) => {
                return Ok(Rule::Listed(settings));
            }
            pattern => pattern,
        };
        if pattern.is_none() && !self.on_first_use {
            return Err(self.unknown(name));
        }
        // An unconfigured name that is the word of a kind gets that kind.
        let called = Definition::called(name.as_str());
        if let (Some(called), Some(pattern)) = (called, pattern)
            && called.kind() != pattern.definition.kind()
        {
            return Err(Refusal::unknown_name(format!(
                "`{name}` is the name of a kind, and the pattern that covers it has another kind: list the name in the configuration file with the kind that it should have"
            )));
        }
        if reserved_name(name.as_str()) {
            return Err(Refusal::unknown_name(format!(
                "`{name}` is the name of a kind that this version of floe does not mint yet, so no such name is made: use another name, or list it in a configuration file with another kind"
            )));
        }
        Ok(Rule::FirstUse(pattern))
    }

    /// Whether the pattern for all names is one of snowflakes.
    pub(super) fn any_is_snowflake(&self) -> bool {
        self.patterns()
            .any(|settings| settings.rule.to_string() == "*" && settings.definition.kind() == Kind::SNOWFLAKE)
    }

    /// The error names neither the configuration file nor other names, because anybody may ask.
    fn unknown(&self, name: &Name) -> Refusal {
        let way_out = match self.has_file {
            true => "add a [[name]] for it to the server's configuration and restart",
            false => {
                "write a configuration file with a [[name]] (names are made on first use only on loopback listeners with the embedded ledger)"
            }
        };
        Refusal::unknown_name(format!("there is no name `{name}`: {way_out}"))
    }
}
