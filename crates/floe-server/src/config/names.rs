//! `[[name]]`: what exists, and of which kind.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use floe::form::{Form, Key, KeyId, Keys};
use floe::kind::NanoIdFormat;
use floe::ledger::MAX_MARK;
use floe::{
    DateFormat, DatedShape, Definition, DefinitionError, Kind, KindRegistry, Layout, LayoutError, Name,
    NameOptions, NoPosition, Overflow, Properties, Registered, Start, UnixMillis, layout,
};
use toml::de::DeValue;

use super::RuleIndex;
use super::reader::{self, Document, Section, boolean, duration_within, one_of, text, within};

/// One `[[name]]` of a configuration.
#[derive(Clone, PartialEq, Debug)]
pub struct NameSettings {
    /// The name, or the names, that it is about.
    pub rule: NameRule,
    /// What they are: cluster settings, fixed for ever once the ledger has them.
    pub definition: Definition,
    /// How this process serves them.
    pub taste: NameOptions,
    /// The first number of such a segment or counter, where it is new; with `None` it is 1, or a segment's offset.
    pub first: Option<u64>,
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
    (Kind::Snowflake, &["layout", "tick", "epoch", "own", "start", "max_ahead", VIBRATION]),
    (Kind::Segment, &["increment", "offset", "min_step", "max_step", "refill"]),
    (Kind::Counter, &[]),
    (Kind::Dated, &["date", "digits", "zone", "prefix", "overflow"]),
    (Kind::Uuid7, &["precise"]),
    (Kind::NanoId, &["length", "alphabet"]),
    (Kind::Registered, &["properties"]),
];

/// ShardingSphere's word for the bound below which a tick's sequence begins.
const VIBRATION: &str = "max-vibration-offset";

/// Reads one `[[name]]`, and where it stands. `kinds` are those that the program registered. Without `keys`, those of a
/// sealed form stay where they are, and the definition cannot be minted from.
pub(super) fn read(
    section: &Section<'_, '_>,
    kinds: &KindRegistry,
    keys: bool,
) -> Option<(usize, NameSettings)> {
    let rule = section.read("name", |value| NameRule::parse(&text(value)?));
    if !section.has("name") {
        section
            .complain("name", "it is missing: say which name this is about, or a pattern such as \"user-*\"");
    }
    let first = section.read("first", within(0..=MAX_MARK));
    let kind = section.read("kind", |value| kind_of(&text(value)?, kinds));
    if !section.has("kind") {
        section.complain(
            "kind",
            "it is missing: write snowflake, segment, counter, dated, uuid4, uuid7, ulid, objectid, ksuid or nanoid",
        );
    }
    for (owner, settings) in OF_KIND {
        for setting in *settings {
            if section.has(setting) && kind.as_ref().is_some_and(|(kind, _)| kind != owner) {
                let kind = kind.as_ref().map_or("", |(_, word)| word);
                section.complain(
                    setting,
                    format_args!("only a {owner} name has it, and this one is a {kind}: remove it"),
                );
            }
        }
    }
    let taste = taste(section);
    let unformed = match &kind {
        Some((kind, word)) => definition(section, *kind, word),
        None => {
            // What it would be is not known, and what stands there may be wrong all the same.
            look_at_all(section);
            None
        }
    };
    // So is the form of what cannot be read.
    let bits = match (&unformed, &kind) {
        (Some(definition), _) => definition.form_bits(),
        (None, Some((Kind::Snowflake | Kind::Segment | Kind::Counter | Kind::Dated, _)) | None) => None,
        (None, Some(_)) => Some(128),
    };
    let form = form(section, bits.unwrap_or(Form::BITS), keys);
    let definition = match (unformed?, form?) {
        (definition, None) => definition,
        (definition, Some(form)) => {
            definition.in_form(form).map_err(|error| section.complain("form", error)).ok()?
        }
    };
    check_first(section, &definition, first);
    Some((section.at_key("name"), NameSettings { rule: rule?, definition, taste, first }))
}

/// The definition that the settings of a kind make, without a form.
fn definition(section: &Section<'_, '_>, kind: Kind, word: &str) -> Option<Definition> {
    let definition = match kind {
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
        Kind::Uuid4 => Definition::Uuid4,
        Kind::Uuid7 => Definition::Uuid7 { precise: section.read("precise", boolean).unwrap_or(false) },
        Kind::Ulid => Definition::Ulid,
        Kind::ObjectId => Definition::ObjectId,
        Kind::Ksuid => Definition::Ksuid,
        Kind::NanoId => Definition::NanoId(nano_id(section)?),
        Kind::Registered => {
            let registered = Registered::new(word, properties(section)?);
            Definition::Registered(registered.map_err(|error| section.complain("kind", error)).ok()?)
        }
    };
    if let Err(error) = definition.check() {
        section.complain("increment", error);
        return None;
    }
    Some(definition)
}

/// Reads every setting of a kind that is given, for what is wrong with it.
fn look_at_all(section: &Section<'_, '_>) {
    if section.has("layout") {
        layout_of(section);
    }
    section.read("own", boolean);
    section.read("increment", within(1..=u64::MAX));
    section.read("offset", within(0..=u64::MAX));
    section.read("digits", within(1..=DatedShape::MAX_DIGITS));
    section.read("zone", text);
    section.read("prefix", text);
    section.read("overflow", one_of(OVERFLOWS));
    section.read("precise", boolean);
    section.read("length", within(1..=63));
    section.read("alphabet", text);
}

/// Complains about a first number that could not be the first: nothing is rounded in silence.
fn check_first(section: &Section<'_, '_>, definition: &Definition, first: Option<u64>) {
    let Some(first) = first else { return };
    let complain = |problem: String| section.complain("first", problem);
    match definition.begin_position(first).map(|position| definition.number_at(position)) {
        Ok(Some(number)) if number != first => {
            complain(format!("{first} is none of its numbers: write {number}, the next one that is"));
        }
        Ok(_) => {}
        Err(NoPosition::Uncounted(_)) => complain(format!(
            "only a segment and a counter have one, and this one is a {}: remove it",
            definition.kind_name()
        )),
        Err(NoPosition::UsedUp(_)) => {
            complain(format!("it has no number from {first} on: write a smaller one"))
        }
        Err(error @ NoPosition::Form { .. }) => complain(error.to_string()),
    }
}

/// A kind of floe's own, or one of `kinds`, with its word.
fn kind_of(word: &str, kinds: &KindRegistry) -> Result<(Kind, String), String> {
    if kinds.type_names().any(|type_name| type_name == word) {
        return Ok((Kind::Registered, word.to_owned()));
    }
    match word.parse::<Kind>() {
        Ok(Kind::Registered) => {
            Err("a registered kind is called by the type name that it was registered as: write that"
                .to_owned())
        }
        Ok(kind) => Ok((kind, word.to_owned())),
        Err(error @ DefinitionError::UnknownKind(_)) => {
            let near = nearest(word, kinds);
            if let Some(near) = near {
                return Err(format!("unknown kind {word:?}: did you mean `{near}`?"));
            }
            let own: Vec<_> = kinds.type_names().collect();
            let registered = match own.is_empty() {
                true => "kinds of your own are registered by a program of your own".to_owned(),
                false => format!("and this program registered {}", own.join(", ")),
            };
            Err(format!("{error}; {registered}"))
        }
        Err(error) => Err(error.to_string()),
    }
}

/// What a registered kind is configured by: texts, whole numbers, true and false.
fn properties(section: &Section<'_, '_>) -> Option<Properties> {
    section.entries("properties").into_iter().try_fold(Properties::default(), |properties, (key, value)| {
        let value = match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Boolean(value) => Ok(value.to_string()),
            value @ DeValue::Integer(_) => reader::integer(value).map(|number| number.to_string()),
            other => Err(format!(
                "{key}: expected a text, a whole number, true or false, found {}",
                reader::shown(other)
            )),
        };
        let with = value.and_then(|value| properties.with(key, &value).map_err(|error| error.to_string()));
        with.map_err(|problem| section.complain("properties", problem)).ok()
    })
}

/// The keys of a sealed form, by their ids: each 32 hexadecimal digits, `env:VARIABLE` or `file:PATH`.
fn keys(section: &Section<'_, '_>) -> Option<Keys> {
    section.entries("keys").into_iter().try_fold(Keys::new(), |keys, (id, value)| {
        let read = || {
            let number = id.parse().map_err(|_| match id.len() > 5 {
                // Perhaps the key itself.
                true => format!(
                    "a key id is a number, 0 to 65535, and what stands there has {} characters: write keys = {{ 1 = \"…\" }}",
                    id.len()
                ),
                false => format!("{id:?} is no key id: write a number, 0 to 65535"),
            })?;
            let key = text(value.get_ref()).map_err(|_| format!("{id}: expected a text in quotes"))?;
            let key = key_of(&key).map_err(|why| format!("{id}: {why}"))?;
            keys.with(KeyId::new(number), key).map_err(|error| error.to_string())
        };
        read().map_err(|problem| section.complain("keys", problem)).ok()
    })
}

/// Reads a key from where it is. What was read is in no message.
fn key_of(place: &str) -> Result<Key, String> {
    let (digits, place) = match (place.strip_prefix("env:"), place.strip_prefix("file:")) {
        (Some(variable), _) => (
            std::env::var(variable).map_err(|_| match variable.parse::<Key>() {
                Ok(_) => {
                    "env: stands before the name of a variable, and not before the key itself".to_owned()
                }
                Err(_) => format!("the environment variable {variable} is not set"),
            })?,
            format!("in {variable}"),
        ),
        (_, Some(path)) => (
            std::fs::read_to_string(path).map_err(|error| format!("{path} cannot be read: {error}"))?,
            format!("in {path}"),
        ),
        _ => (place.to_owned(), "there".to_owned()),
    };
    digits.trim().parse().map_err(|_| {
        format!(
            "a key is 32 hexadecimal digits (openssl rand -hex 16 makes one), env:VARIABLE or file:PATH, and what is {place} is none"
        )
    })
}

/// The kind that `word` may be a slip of the pen for.
fn nearest<'k>(word: &str, kinds: &'k KindRegistry) -> Option<&'k str> {
    let word = word.to_lowercase();
    if let Some(called) = Definition::called(&word) {
        return Some(called.kind().as_str());
    }
    let mut known: Vec<&'k str> = Kind::ALL.map(Kind::as_str).into();
    known.retain(|kind| *kind != Kind::Registered.as_str());
    known.extend(kinds.type_names());
    let distances = known.into_iter().map(|kind| (strsim::damerau_levenshtein(kind, &word), kind));
    distances.filter(|(distance, kind)| *distance <= 1 + kind.len() / 4).min().map(|(_, kind)| kind)
}

fn nano_id(section: &Section<'_, '_>) -> Option<NanoIdFormat> {
    let usual = NanoIdFormat::default();
    let length = section.read("length", within(1..=63)).unwrap_or(usual.length());
    let alphabet = section.read("alphabet", text);
    let alphabet = alphabet.as_deref().unwrap_or(usual.alphabet());
    NanoIdFormat::new(alphabet, length).map_err(|error| section.complain("alphabet", error)).ok()
}

/// The form that is asked for, if one is, for numbers of so many bits; with the keys that it seals and opens with, where
/// those are wanted. The outer `None` is one that was complained about.
#[expect(clippy::option_option, reason = "a form that is not there is not a form that is wrong")]
fn form(section: &Section<'_, '_>, bits: u32, with_keys: bool) -> Option<Option<Form>> {
    let has_form = section.has("form");
    let has_keys = section.has("keys");
    let keys = if with_keys { Some(keys(section)?) } else { None };
    let form = section.read("form", |value| {
        let form = Form::of_bits(&text(value)?, bits).map_err(|error| error.to_string())?;
        let Some(keys) = &keys else { return Ok(form) };
        form.with_keys(keys)
            .map_err(|error| format!("{error}: add keys = {{ 1 = \"env:FLOE_KEY_1\" }}, by its id"))
    });
    if has_keys && !form.as_ref().is_some_and(Form::is_sealed) && (form.is_some() || !has_form) {
        section.complain(
            "keys",
            "only the form \"sealed\" has keys: remove them, or write form = \"sealed key=1 base62\"",
        );
    }
    match form {
        Some(form) => Some(Some(form)),
        None if has_form => None,
        None => Some(None),
    }
}

/// Complains about a name that is listed again, and leaves it out: what differs from the first is then no complaint of its
/// own.
pub(super) fn without_doubles(
    document: &Document<'_>,
    names: Vec<(usize, NameSettings)>,
) -> Vec<(usize, NameSettings)> {
    let (mut index, mut doubles) = (RuleIndex::default(), BTreeSet::new());
    for (place, (at, name)) in names.iter().enumerate() {
        if let Some((first, _)) = index.add(place, &name.rule).and_then(|before| names.get(before)) {
            let problem = format!(
                "`{}` is listed already at {}: a name has one definition, so remove one of the two",
                name.rule,
                document.place(*first)
            );
            document.complain(*at, problem);
            doubles.insert(place);
        }
    }
    let once = names.into_iter().enumerate().filter(|(place, _)| !doubles.contains(place));
    once.map(|(_, name)| name).collect()
}

fn taste(section: &Section<'_, '_>) -> NameOptions {
    let mut taste = NameOptions::default();
    let start = |value: &DeValue<'_>| {
        let start = text(value)?;
        start
            .parse::<Start>()
            .map_err(|error| format!("{error}: write \"zero\", \"random:100\" (a bound), or \"rolling\""))
    };
    section.set("start", &mut taste.start, |value| start(value).map(Some));
    // There a tick begins at 0 to this number, itself included; the sequence's own bits bound it.
    if let Some(most) = section.read(VIBRATION, within(0..=u64::from(u16::MAX))) {
        match section.has("start") {
            true => section.complain(VIBRATION, "start says the same: say it once"),
            false => taste.start = Some(if most == 0 { Start::Zero } else { Start::Random(most + 1) }),
        }
    }
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

/// The layout of `layout`, `tick` and `epoch`. A preset has its own tick and epoch where they are not said; fields need
/// both to be said.
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
    let mut words: Vec<&str> = spec.split_ascii_whitespace().collect();
    let is_preset = words.first().is_none_or(|word| !word.contains(':'));
    for (setting, sign, example) in [("tick", "tick=", "1ms"), ("epoch", "epoch=", "2020-01-01T00:00:00Z")] {
        let said = words.iter().any(|word| word.starts_with(sign));
        if said && section.has(setting) {
            section.complain(setting, "the layout says it too: say it once");
            return None;
        }
        if !said && !section.has(setting) && !is_preset {
            section.complain(
                setting,
                format_args!("it is missing, and a layout of fields has no other: add for example {setting} = \"{example}\""),
            );
        }
    }
    // What could not be read was complained of.
    if section.has("tick") && tick.is_none() || section.has("epoch") && epoch.is_none() {
        return None;
    }
    let wide = words.pop_if(|word| *word == "wide");
    let tick = tick.map(|tick| format!("tick={tick}ms"));
    let epoch = epoch.map(|epoch| format!("epoch={epoch}"));
    words.extend([tick.as_deref(), epoch.as_deref(), wide].into_iter().flatten());
    let read = words.join(" ").parse::<Layout>();
    if let Err(LayoutError::Unsaid { .. }) = read
        && !is_preset
    {
        return None;
    }
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

const OVERFLOWS: &[(&str, Overflow)] = &[("refuse", Overflow::Refuse), ("widen", Overflow::Widen)];

fn dated(section: &Section<'_, '_>) -> Option<DatedShape> {
    let date = section
        .read("date", |value| text(value)?.parse().map_err(|error: DefinitionError| error.to_string()));
    let format: DateFormat = date.unwrap_or_default();
    let digits = section.read("digits", within(1..=format.max_digits()));
    if !section.has("digits") {
        section.complain(
            "digits",
            format_args!(
                "it is missing: say how many digits a {}'s counter has, 1 to {}",
                format.period(),
                format.max_digits()
            ),
        );
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
    // A date that cannot be read was complained of.
    let date = if section.has("date") { date? } else { format };
    DatedShape::with_date(date, &zone?, digits?, &prefix, overflow)
        .map_err(|error| section.complain("zone", error))
        .ok()
}
