//! `[[name]]`: what exists, and of which kind.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use floe::form::{Form, Key, KeyId, Keys};
use floe::ledger::MAX_MARK;
use floe::{
    Definition, DefinitionError, Given, Kind, KindRegistry, Name, NameOptions, NoPosition, Properties,
    Registered, Start, Takes,
};
use toml::de::DeValue;

use super::RuleIndex;
use super::reader::{self, Document, Section, boolean, duration_within, text, within};

/// One `[[name]]` of a configuration.
#[derive(Clone, PartialEq, Debug)]
pub struct NameSettings {
    /// The name, or the names, that it is about.
    pub rule: NameRule,
    /// What they are: cluster settings, fixed for ever once the ledger has them.
    pub definition: Definition,
    /// How this process serves them.
    pub options: NameOptions,
    /// The first number of such a segment or counter, if it is new. With `None`, it is 1, or a segment's offset.
    pub first: Option<u64>,
}

/// A name, or all names with one prefix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NameRule {
    /// This name.
    Exact(Name),
    /// Every longer name with this prefix: `user-*`.
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

/// ShardingSphere's word for the bound below which a tick's sequence begins.
const VIBRATION: &str = "max-vibration-offset";

/// Reads one `[[name]]`, and where it stands. `kinds` are those that the program registered. Without `keys`, the keys
/// of a sealed form are not read, and the definition cannot be minted from.
pub(super) fn read(
    section: &Section<'_, '_>,
    kinds: &KindRegistry,
    keys: bool,
) -> Option<(usize, NameSettings)> {
    let rule = section.read("name", |value| NameRule::parse(&text(value)?));
    section.need("name", "say which name this is about, or a pattern such as \"user-*\"");
    let first = section.read("first", within(0..=MAX_MARK));
    let kind = section.read("kind", |value| kind_of(&text(value)?, kinds));
    section.need("kind", format_args!("write {}", Kind::words("or")));
    let options = options(section);
    for owner in Kind::ALL.iter().chain(&[Kind::REGISTERED]) {
        let settings = owner.settings().iter().map(|setting| setting.key);
        for setting in settings.chain(owner.options().iter().copied()) {
            if section.has(setting)
                && let Some((kind, word)) = &kind
                && kind != owner
            {
                section.complain(
                    setting,
                    format_args!("only a {owner} name has it, and this one is a {word}: remove it"),
                );
            }
        }
    }
    let unformed = match &kind {
        Some((kind, word)) if *kind == Kind::REGISTERED => properties(section).and_then(|properties| {
            let registered = Registered::new(word, properties).map(Definition::Registered);
            registered.map_err(|error| section.complain("kind", error)).ok()
        }),
        Some((kind, _)) => define(section, *kind, true),
        None => {
            // The kind is not known, but the other settings may be wrong too.
            for kind in Kind::ALL {
                define(section, *kind, false);
            }
            None
        }
    };
    // The form of an unreadable definition may be wrong too.
    let bits = match (&unformed, &kind) {
        (Some(definition), _) => definition.form_bits(),
        (None, Some((kind, _))) if !kind.is_number() => Some(128),
        (None, _) => None,
    };
    let form = form(section, bits.unwrap_or(Form::BITS), keys);
    let definition = match (unformed?, form?) {
        (definition, None) => definition,
        (definition, Some(form)) => {
            definition.in_form(form).map_err(|error| section.complain("form", error)).ok()?
        }
    };
    check_first(section, &definition, first);
    Some((section.at_key("name"), NameSettings { rule: rule?, definition, options, first }))
}

/// The definition that the settings of a kind make, without a form. It checks for missing settings only if the name
/// is `known` to be of that `kind`.
fn define(section: &Section<'_, '_>, kind: Kind, known: bool) -> Option<Definition> {
    let mut given = Given::default();
    let mut wrong = BTreeSet::new();
    for setting in kind.settings() {
        let value = section.read(setting.key, |value| match &setting.takes {
            Takes::Time => time(value),
            Takes::Whole(range) => within(range.clone())(value).map(|number| number.to_string()),
            Takes::Flag => boolean(value).map(|flag| flag.to_string()),
            _ => text(value),
        });
        match (value, setting.missing) {
            (Some(value), _) => given.set(setting.key, value),
            (None, Some(missing)) if known && !section.has(setting.key) => {
                section.complain(setting.key, missing);
                wrong.insert(setting.key);
            }
            (None, _) if section.has(setting.key) => {
                wrong.insert(setting.key);
            }
            (None, _) => {}
        }
    }
    if !known && given.is_empty() {
        return None;
    }
    // A setting with a complaint has its default here, which gets no complaint of its own.
    let definition = kind.define(&given, &mut |key, why| {
        if !wrong.contains(key) {
            section.complain(key, why);
        }
    });
    definition.filter(|_| wrong.is_empty())
}

/// Complains about a first number that could not be the first: nothing is rounded in silence.
fn check_first(section: &Section<'_, '_>, definition: &Definition, first: Option<u64>) {
    let Some(first) = first else { return };
    let complain = |problem: String| section.complain("first", problem);
    match definition.begin_position(first).map(|position| definition.number_at(position)) {
        Ok(Some(number)) if number != first => {
            complain(format!("{first} is not one of its numbers: write {number}, the next one"));
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
        return Ok((Kind::REGISTERED, word.to_owned()));
    }
    if word == Kind::REGISTERED.as_str() {
        return Err(
            "a registered kind is called by the type name that it was registered as: write that".to_owned()
        );
    }
    match word.parse::<Kind>() {
        Ok(kind) => Ok((kind, word.to_owned())),
        Err(error @ DefinitionError::UnknownKind { .. }) => {
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

/// The settings of a registered kind: texts, whole numbers, true and false.
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
                    "a key id is a number, 0 to 65535, and this one has {} characters: write keys = {{ 1 = \"…\" }}",
                    id.len()
                ),
                false => format!("{id:?} is not a key id: write a number, 0 to 65535"),
            })?;
            let key = text(value.get_ref()).map_err(|_| format!("{id}: expected a text in quotes"))?;
            let key = key_of(&key).map_err(|why| format!("{id}: {why}"))?;
            keys.with(KeyId::new(number), key).map_err(|error| error.to_string())
        };
        read().map_err(|problem| section.complain("keys", problem)).ok()
    })
}

/// Reads a key from its place. Messages never contain what was read.
fn key_of(place: &str) -> Result<Key, String> {
    let (digits, place) = match (place.strip_prefix("env:"), place.strip_prefix("file:")) {
        (Some(variable), _) => (
            std::env::var(variable).map_err(|_| match variable.parse::<Key>() {
                Ok(_) => "env: takes the name of a variable, not the key itself".to_owned(),
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
            "a key is 32 hexadecimal digits (openssl rand -hex 16 makes one), env:VARIABLE or file:PATH, and the text {place} is not a key"
        )
    })
}

/// The kind that `word` may be a misspelling of.
fn nearest<'k>(word: &str, kinds: &'k KindRegistry) -> Option<&'k str> {
    let word = word.to_lowercase();
    if let Some(called) = Definition::called(&word) {
        return Some(called.kind().as_str());
    }
    let known = Kind::ALL.iter().map(|kind| kind.as_str()).chain(kinds.type_names());
    let distances = known.map(|kind| (strsim::damerau_levenshtein(kind, &word), kind));
    distances.filter(|(distance, kind)| *distance <= 1 + kind.len() / 4).min().map(|(_, kind)| kind)
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

/// Complains about a name that is listed again, and drops it, so that its differences from the first get no
/// complaints of their own.
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

fn options(section: &Section<'_, '_>) -> NameOptions {
    let mut options = NameOptions::default();
    let start = |value: &DeValue<'_>| {
        let start = text(value)?;
        start
            .parse::<Start>()
            .map_err(|error| format!("{error}: write \"zero\", \"random:100\" (a bound), or \"rolling\""))
    };
    section.set("start", &mut options.start, |value| start(value).map(Some));
    // In ShardingSphere, a tick begins at 0 up to and including this number. The bits of the sequence bound it.
    if let Some(most) = section.read(VIBRATION, within(0..=u64::from(u16::MAX))) {
        match section.has("start") {
            true => section.complain(VIBRATION, "start says the same: say it once"),
            false => options.start = Some(if most == 0 { Start::Zero } else { Start::Random(most + 1) }),
        }
    }
    let ahead = duration_within(Duration::ZERO..=Duration::from_secs(86_400));
    section.set("max_ahead", &mut options.max_ahead, ahead);
    section.set("min_step", &mut options.min_step, within(1..=1 << 40));
    section.set("max_step", &mut options.max_step, within(1..=1 << 40));
    if options.min_step > options.max_step {
        let (min, max) = (options.min_step, options.max_step);
        section.complain(
            "min_step",
            format_args!("{min} is over max_step, which is {max}: a segment's size lies between the two"),
        );
    }
    let refill = duration_within(Duration::from_secs(1)..=Duration::from_secs(86_400));
    section.set("refill", &mut options.refill, refill);
    options
}

/// An instant, in quotes or as TOML's own date-time with an offset.
fn time(value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Datetime(time) => Ok(time.to_string()),
        DeValue::Integer(number) => Ok(number.to_string()),
        other => {
            Err(format!("expected a time such as \"2020-01-01T00:00:00Z\", found {}", reader::shown(other)))
        }
    }
}
