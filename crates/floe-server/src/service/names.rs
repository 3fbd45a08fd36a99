//! Which names exist, and which kind answers on which wire.

use floe::{Definition, Kind, Name, reserved_name};

use crate::config::{Config, NameRule, NameSettings, RuleIndex};
use crate::status::{Refusal, Status};

/// The call that asks for IDs: it decides which kinds can answer, and of which kind a name that nobody configured
/// comes into being.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wire {
    /// floe's own calls. Every kind answers.
    Native,
    /// Leaf's `/api/segment/get`. Kinds that count answer.
    LeafSegment,
    /// Leaf's `/api/snowflake/get`. Snowflake names answer.
    LeafSnowflake,
    /// Redis' `INCR`. Every kind answers whose IDs are numbers of 63 bits.
    RespIncr,
    /// Redis' `INCRBY` by more than one. Kinds that count answer.
    RespIncrBy,
    /// Redis' `SET name n NX`. Kinds that count answer: others begin behind no number.
    RespSetFirst,
    /// tinyid's calls. Segment names answer: clients take whole ranges of them.
    Tinyid,
    /// katsubushi's calls over memcached's protocol, HTTP and gRPC. Every kind answers whose IDs they can hold.
    Katsubushi,
    /// Twitter's `get_id`. Snowflake names answer.
    Thrift,
    /// A row of MySQL's. Every kind answers whose IDs are numbers of 63 bits.
    Mysql,
    /// Several rows of MySQL's at once. Kinds that count answer.
    MysqlRows,
}

impl Wire {
    /// What a name that nobody configured becomes when this wire asks for it first.
    pub(super) fn natural(self) -> Definition {
        match self {
            Self::Native | Self::LeafSnowflake | Self::Thrift => super::natural_snowflake(),
            Self::LeafSegment | Self::Tinyid | Self::Mysql | Self::MysqlRows => Definition::SEGMENT,
            Self::RespIncr | Self::RespIncrBy | Self::RespSetFirst => Definition::Counter,
            Self::Katsubushi => Definition::Snowflake { layout: floe::Layout::KATSUBUSHI, own: false },
        }
    }

    /// Refuses a kind, or a form, that does not answer on this wire.
    pub(super) fn admits(self, name: &str, definition: &Definition) -> Result<(), Refusal> {
        let kind = definition.kind();
        if definition.is_text() && !matches!(self, Self::Native | Self::Katsubushi) {
            return Err(Refusal::new(
                Status::WrongKind,
                format!(
                    "the IDs of `{name}` are texts, and this call answers with numbers: ask at /v1/mint/{name}, with MINT of Redis' protocol, or with memcached's get"
                ),
            ));
        }
        let counts = matches!(kind, Kind::Segment | Kind::Counter | Kind::Dated);
        let instead = match self {
            Self::Native | Self::RespIncr | Self::Katsubushi | Self::Mysql => return Ok(()),
            Self::LeafSegment if counts => return Ok(()),
            Self::LeafSegment => "ask at /api/snowflake/get/{key} or /v1/mint/{name}",
            Self::LeafSnowflake | Self::Thrift if kind == Kind::Snowflake => return Ok(()),
            Self::LeafSnowflake => "ask at /api/segment/get/{key} or /v1/mint/{name}",
            Self::Thrift => "ask at /v1/mint/{name}",
            Self::RespIncrBy | Self::RespSetFirst | Self::MysqlRows if counts => return Ok(()),
            Self::RespSetFirst => {
                return Err(Refusal::new(
                    Status::WrongKind,
                    match kind {
                        Kind::Snowflake => {
                            format!("the IDs of `{name}` begin with the time, so there is nothing to raise")
                        }
                        _ => format!("the IDs of `{name}` are not counted, so there is nothing to raise"),
                    },
                ));
            }
            Self::RespIncrBy => {
                "its IDs do not follow one another: use INCR for one, MINT name n for several"
            }
            Self::Tinyid if kind == Kind::Segment => return Ok(()),
            Self::Tinyid => "ask at /v1/mint/{name}",
            Self::MysqlRows => "its IDs do not follow one another: insert one row at a time",
        };
        Err(Refusal::new(
            Status::WrongKind,
            format!(
                "`{name}` is a {kind} name, and this call does not mint from that kind: {instead}, or use another name (a name has one kind for ever)"
            ),
        ))
    }
}

/// What the configuration says of a name.
pub(super) enum Rule<'r> {
    /// It is listed.
    Listed(&'r NameSettings),
    /// It comes into being on first use: by a pattern, or because there is no file.
    FirstUse(Option<&'r NameSettings>),
}

/// The names and patterns of a configuration.
pub(super) struct Rules {
    settings: Vec<NameSettings>,
    index: RuleIndex,
    has_file: bool,
    on_first_use: bool,
}

impl Rules {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            settings: config.names.clone(),
            index: RuleIndex::new(config.names.iter().map(|settings| &settings.rule)),
            has_file: config.file.is_some(),
            on_first_use: config.names_on_first_use(),
        }
    }

    /// The names that are listed, without the patterns.
    pub(super) fn listed(&self) -> impl Iterator<Item = (&Name, &Definition)> {
        self.settings.iter().filter_map(|settings| match &settings.rule {
            NameRule::Exact(name) => Some((name, &settings.definition)),
            NameRule::Pattern(_) => None,
        })
    }

    /// Whether any name here needs the ledger: all but those that are listed with a kind that needs none.
    pub(super) fn need_the_ledger(&self) -> bool {
        let needs = |settings: &NameSettings| {
            matches!(settings.rule, NameRule::Pattern(_)) || settings.definition.needs_ledger()
        };
        self.on_first_use || self.settings.iter().any(needs)
    }

    /// The patterns.
    pub(super) fn patterns(&self) -> impl Iterator<Item = &NameSettings> {
        self.settings.iter().filter(|settings| matches!(settings.rule, NameRule::Pattern(_)))
    }

    /// Whether any name comes into being on first use without a pattern.
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
        // What is called like a kind becomes nothing else by itself.
        let called = Definition::called(name.as_str());
        if let (Some(called), Some(pattern)) = (called, pattern)
            && called.kind() != pattern.definition.kind()
        {
            return Err(Refusal::new(
                Status::UnknownName,
                format!(
                    "`{name}` is the name of a kind, and the pattern that covers it is of another one: list the name in the configuration file with the kind that it is to have"
                ),
            ));
        }
        if reserved_name(name.as_str()) {
            return Err(Refusal::new(
                Status::UnknownName,
                format!(
                    "`{name}` is the name of a kind that this version of floe does not mint yet, so no name comes into being under it: use another name, or list it in a configuration file with a kind of its own"
                ),
            ));
        }
        Ok(Rule::FirstUse(pattern))
    }

    /// Whether the pattern for all names is one of snowflakes.
    pub(super) fn any_is_snowflake(&self) -> bool {
        self.patterns()
            .any(|settings| settings.rule.to_string() == "*" && settings.definition.kind() == Kind::Snowflake)
    }

    /// Who asks is told neither where the configuration lies nor which other names there are: it may be anybody.
    fn unknown(&self, name: &Name) -> Refusal {
        let way_out = match self.has_file {
            true => "add a [[name]] for it to the server's configuration and restart",
            false => {
                "write a configuration file with a [[name]] (names come into being on first use only on loopback listeners with the embedded ledger)"
            }
        };
        Refusal::new(Status::UnknownName, format!("there is no name `{name}`: {way_out}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_answers_on_its_wires_and_is_born_of_one_that_fits() {
        let definition = |text: &str| text.parse::<Definition>().unwrap();
        let numbers = [
            Wire::LeafSnowflake.natural(),
            Definition::SEGMENT,
            Definition::Counter,
            definition("dated zone=UTC digits=6 overflow=refuse prefix="),
        ];
        let texts = [
            "uuid4",
            "uuid7",
            "ulid",
            "objectid",
            "ksuid",
            "nanoid length=5 alphabet=abc",
            "registered type=mine",
            "counter form base62",
            "uuid7 form typeid type=user",
        ];
        for (wire, answers, text, natural) in [
            (Wire::Native, [true, true, true, true], true, Kind::Snowflake),
            (Wire::LeafSegment, [false, true, true, true], false, Kind::Segment),
            (Wire::LeafSnowflake, [true, false, false, false], false, Kind::Snowflake),
            (Wire::Tinyid, [false, true, false, false], false, Kind::Segment),
            (Wire::Katsubushi, [true, true, true, true], true, Kind::Snowflake),
            (Wire::RespIncr, [true, true, true, true], false, Kind::Counter),
            (Wire::RespIncrBy, [false, true, true, true], false, Kind::Counter),
            (Wire::Thrift, [true, false, false, false], false, Kind::Snowflake),
            (Wire::Mysql, [true, true, true, true], false, Kind::Segment),
            (Wire::MysqlRows, [false, true, true, true], false, Kind::Segment),
        ] {
            let answered = |definition: &Definition, answers: bool| {
                let refusal = wire.admits("orders", definition).err();
                let expected = if answers { None } else { Some(Status::WrongKind) };
                assert_eq!(refusal.map(|refusal| refusal.status), expected, "{wire:?} {definition}");
            };
            for (definition, answers) in numbers.iter().zip(answers) {
                answered(definition, answers);
            }
            for definition in texts.map(definition) {
                answered(&definition, text);
            }
            assert_eq!(wire.natural().kind(), natural, "{wire:?}");
            wire.admits("orders", &wire.natural()).unwrap();
        }
        let katsubushi = Wire::Katsubushi.natural();
        assert!(matches!(katsubushi, Definition::Snowflake { layout: floe::Layout::KATSUBUSHI, own: false }));
    }
}
