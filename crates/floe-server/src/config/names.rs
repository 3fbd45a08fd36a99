//! `[[name]]`: what exists, and of which kind.

use std::fmt;
use std::time::Duration;

use floe::{
    DatedShape, Definition, Kind, Layout, LayoutError, Name, Overflow, Start, Taste, UnixMillis, layout,
};
use toml::de::DeValue;

use super::reader::{self, Document, Section, boolean, duration_within, one_of, text, within};

/// One `[[name]]` of a configuration.
#[derive(Clone, PartialEq, Debug)]
pub struct NameSettings {
    /// The name, or the names, that it is about.
    pub rule: NameRule,
    /// What they are: cluster settings, fixed for ever once the ledger has them.
    pub definition: Definition,
    /// How this process serves them.
    pub taste: Taste,
}

/// A name, or all that begin alike.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NameRule {
    /// This name.
    Exact(Name),
    /// Every name that begins so and goes on: `user-*`.
    Pattern(String),
}

impl NameRule {
    /// Whether it is about `name`.
    pub fn covers(&self, name: &str) -> bool {
        match self {
            Self::Exact(exact) => exact.as_str() == name,
            Self::Pattern(prefix) => name.len() > prefix.len() && name.starts_with(prefix.as_str()),
        }
    }

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        match text.strip_suffix('*') {
            None => Name::new(text).map(Self::Exact).map_err(|error| match text.contains('*') {
                true => format!("{text:?}: a pattern has one `*`, at its end, such as \"user-*\""),
                false => error.to_string(),
            }),
            Some(prefix) => {
                // Whatever follows the prefix, the whole has to be a name.
                Name::new(&format!("{prefix}x")).map_err(|error| match prefix.contains('*') {
                    true => format!("{text:?}: a pattern has one `*`, at its end, such as \"user-*\""),
                    false => error.to_string(),
                })?;
                Ok(Self::Pattern(prefix.to_owned()))
            }
        }
    }
}

impl fmt::Display for NameRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(name) => name.fmt(f),
            Self::Pattern(prefix) => write!(f, "{prefix}*"),
        }
    }
}

/// Which kind a setting belongs to.
const OF_KIND: &[(Kind, &[&str])] = &[
    (Kind::Snowflake, &["layout", "tick", "epoch", "own", "start", "max_ahead"]),
    (Kind::Segment, &["increment", "offset", "min_step", "max_step", "refill"]),
    (Kind::Counter, &[]),
    (Kind::Dated, &["digits", "zone", "prefix", "overflow"]),
];

/// Forms that a later version writes.
const LATER_FORMS: &[&str] = &[
    "hex", "base32", "base36", "base58", "base62", "fixed", "padded", "typeid", "hashids", "sqids", "sealed",
];

/// Reads one `[[name]]`, and where it stands.
pub(super) fn read(section: &Section<'_, '_>) -> Option<(usize, NameSettings)> {
    let rule = section.read("name", |value| NameRule::parse(&text(value)?));
    if !section.has("name") {
        section
            .complain("name", "it is missing: say which name this is about, or a pattern such as \"user-*\"");
    }
    let kind: Option<Kind> = section
        .read("kind", |value| text(value)?.parse().map_err(|error: floe::DefinitionError| error.to_string()));
    if !section.has("kind") {
        section.complain("kind", "it is missing: write snowflake, segment, counter or dated");
    }
    section.read("form", form);
    for (owner, settings) in OF_KIND {
        for setting in *settings {
            if section.has(setting) && kind.is_some_and(|kind| kind != *owner) {
                let kind = kind.map_or("", Kind::as_str);
                section.complain(
                    setting,
                    format_args!("only a {owner} name has it, and this one is a {kind}: remove it"),
                );
            }
        }
    }
    let taste = taste(section);
    let definition = match kind? {
        Kind::Snowflake => {
            let own = section.read("own", boolean).unwrap_or(false);
            Definition::Snowflake { layout: layout_of(section)?, own }
        }
        Kind::Segment => {
            // The library refuses what lies outside its own range, with that range.
            let increment = section.read("increment", within(1..=u64::MAX)).unwrap_or(1);
            let offset = section.read("offset", within(0..=u64::MAX)).unwrap_or(1);
            Definition::Segment { increment, offset }
        }
        Kind::Counter => Definition::Counter,
        Kind::Dated => Definition::Dated(dated(section)?),
    };
    if let Err(error) = definition.check() {
        section.complain("increment", error);
        return None;
    }
    Some((section.at_key("name"), NameSettings { rule: rule?, definition, taste }))
}

/// Complains about a name that is listed again.
pub(super) fn complain_about_doubles(document: &Document<'_>, names: &[(usize, NameSettings)]) {
    for (index, (at, name)) in names.iter().enumerate() {
        if let Some((first, _)) = names[..index].iter().find(|(_, earlier)| earlier.rule == name.rule) {
            let problem = format!(
                "`{}` is listed already at {}: a name has one definition, so remove one of the two",
                name.rule,
                document.place(*first)
            );
            document.complain(*at, problem);
        }
    }
}

fn form(value: &DeValue<'_>) -> Result<(), String> {
    let form = text(value)?;
    match form.as_str() {
        "decimal" => Ok(()),
        later if LATER_FORMS.contains(&later) => Err(format!(
            "the form {later:?} is reserved, and this version does not write it yet: write \"decimal\" or remove the setting"
        )),
        other => Err(format!("unknown form {other:?}: this version writes \"decimal\"")),
    }
}

fn taste(section: &Section<'_, '_>) -> Taste {
    let mut taste = Taste::default();
    let start = |value: &DeValue<'_>| {
        let start = text(value)?;
        start
            .parse::<Start>()
            .map_err(|error| format!("{error}: write \"zero\", \"random:100\" (a bound), or \"rolling\""))
    };
    section.set("start", &mut taste.start, |value| start(value).map(Some));
    let ahead = duration_within(Duration::ZERO..=Duration::from_secs(86_400));
    section.set("max_ahead", &mut taste.max_ahead, ahead);
    section.set("min_step", &mut taste.min_step, within(1..=1 << 40));
    section.set("max_step", &mut taste.max_step, within(1..=1 << 40));
    if taste.min_step > taste.max_step {
        let (min, max) = (taste.min_step, taste.max_step);
        section.complain(
            "min_step",
            format_args!("{min} is over max_step, which is {max}: a segment's size lies between the two"),
        );
    }
    let refill = duration_within(Duration::from_secs(1)..=Duration::from_secs(86_400));
    section.set("refill", &mut taste.refill, refill);
    taste
}

/// The layout of `layout`, `tick` and `epoch`. A preset has its own tick and epoch; fields need both
/// to be said.
fn layout_of(section: &Section<'_, '_>) -> Option<Layout> {
    let shown = |error: LayoutError| error.to_string();
    let spec = section.read("layout", text);
    let tick = section.read("tick", |value| layout::parse_tick(&text(value)?).map_err(shown));
    let epoch = section.read("epoch", epoch);
    if !section.has("layout") {
        section.complain(
            "layout",
            "it is missing: write a preset such as \"twitter\", or fields such as \"time:41 worker:10 sequence:12\" with a tick and an epoch",
        );
    }
    let spec = spec?;
    let read = match (spec.contains(':'), spec.contains('=')) {
        (false, _) => spec.parse::<Layout>().inspect(|preset| {
            for (setting, said) in [("tick", tick.is_some()), ("epoch", epoch.is_some())] {
                if said {
                    section.complain(
                        setting,
                        format_args!(
                            "a preset has its own: remove it, or write the preset's fields to change it, layout = \"{}\" with a tick and an epoch",
                            preset.spec()
                        ),
                    );
                }
            }
        }),
        (true, true) => {
            for setting in ["tick", "epoch"] {
                if section.has(setting) {
                    section.complain(setting, "the layout says it too: say it once");
                }
            }
            spec.parse::<Layout>()
        }
        (true, false) => {
            for (setting, example) in [("tick", "1ms"), ("epoch", "2020-01-01T00:00:00Z")] {
                if !section.has(setting) {
                    section.complain(
                        setting,
                        format_args!("it is missing, and a layout of fields has no other: add for example {setting} = \"{example}\""),
                    );
                }
            }
            let (fields, width) = match spec.trim_end().strip_suffix(" wide") {
                Some(fields) => (fields, layout::Width::Wide),
                None => (spec.as_str(), layout::Width::Narrow),
            };
            Layout::new(fields, tick?, epoch?, width)
        }
    };
    read.map_err(|error| section.complain("layout", error)).ok()
}

/// An instant, in quotes or as TOML's own date-time with an offset.
fn epoch(value: &DeValue<'_>) -> Result<UnixMillis, String> {
    let written = match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Datetime(time) => time.to_string(),
        DeValue::Integer(number) => number.to_string(),
        other => {
            return Err(format!(
                "expected a time such as \"2020-01-01T00:00:00Z\", found {}",
                reader::shown(other)
            ));
        }
    };
    layout::parse_epoch(&written).map_err(|error| error.to_string())
}

fn dated(section: &Section<'_, '_>) -> Option<DatedShape> {
    const OVERFLOWS: &[(&str, Overflow)] = &[("refuse", Overflow::Refuse), ("widen", Overflow::Widen)];
    let digits = section.read("digits", within(1..=DatedShape::MAX_DIGITS));
    if !section.has("digits") {
        section.complain("digits", "it is missing: say how many digits a day's counter has, 1 to 10");
    }
    let zone = section.read("zone", text);
    if !section.has("zone") {
        section.complain(
            "zone",
            "it is missing: say in which time zone a day begins, such as \"Asia/Shanghai\" or \"UTC\"",
        );
    }
    let prefix = section.read("prefix", text).unwrap_or_default();
    let overflow = section.read("overflow", one_of(OVERFLOWS)).unwrap_or_default();
    DatedShape::new(&zone?, digits?, &prefix, overflow).map_err(|error| section.complain("zone", error)).ok()
}
