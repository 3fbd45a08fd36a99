//! Reads a TOML document one setting at a time, so that every complaint has its place and a way out.
//!
//! A [`Section`] is a table of the document. Each setting is read once, by a function for its value. A setting that
//! was never read is unknown, and is reported with the nearest known setting. All complaints
//! of a document are gathered, not only the first.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeSet;
use std::fmt;
use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What is wrong with a configuration, each with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigError {
    problems: Vec<String>,
}

impl ConfigError {
    pub(super) fn one(problem: impl Into<String>) -> Self {
        Self { problems: vec![problem.into()] }
    }

    pub(super) fn unless_empty(problems: Vec<String>) -> Result<(), Self> {
        match problems.is_empty() {
            true => Ok(()),
            false => Err(Self { problems }),
        }
    }

    /// The complaints, in the order of the document: `floe.toml:3:1: …`.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems.join("\n"))
    }
}

impl std::error::Error for ConfigError {}

/// A document's text with the complaints about it.
pub(super) struct Document<'t> {
    file: &'t str,
    text: &'t str,
    problems: RefCell<Vec<(usize, String)>>,
    wrong: RefCell<BTreeSet<String>>,
    /// Where each line begins.
    lines: OnceCell<Vec<usize>>,
}

/// The complaints about a document that was read as far as possible.
#[derive(Default)]
pub(super) struct Complaints {
    /// The complaints, sorted by place, each with its place.
    pub(super) problems: Vec<String>,
    /// The settings with complaints. They have default values that nobody asked for.
    wrong: BTreeSet<String>,
}

impl Complaints {
    /// Whether there is a complaint about a setting with this path prefix.
    pub(super) fn about(&self, path: &str) -> bool {
        self.wrong.range(path.to_owned()..).next().is_some_and(|wrong| wrong.starts_with(path))
    }
}

impl<'t> Document<'t> {
    pub(super) fn new(file: &'t str, text: &'t str) -> Self {
        let (problems, wrong) = (RefCell::default(), RefCell::default());
        Self { file, text, problems, wrong, lines: OnceCell::new() }
    }

    /// The document's outermost table.
    pub(super) fn root(&self) -> Result<Spanned<DeTable<'t>>, ConfigError> {
        DeTable::parse(self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            ConfigError::one(format!("{}: {}", self.place(at), error.message()))
        })
    }

    /// Notes a complaint about what begins at byte `at`.
    pub(super) fn complain(&self, at: usize, problem: impl Into<String>) {
        self.problems.borrow_mut().push((at, problem.into()));
    }

    /// The complaints.
    pub(super) fn complaints(self) -> Complaints {
        let mut problems = self.problems.take();
        problems.sort_by_key(|(at, _)| *at);
        let place = |(at, problem): &(usize, String)| format!("{}: {problem}", self.place(*at));
        Complaints { problems: problems.iter().map(place).collect(), wrong: self.wrong.take() }
    }

    /// # Errors
    /// The complaints.
    pub(super) fn finish(self) -> Result<(), ConfigError> {
        ConfigError::unless_empty(self.complaints().problems)
    }

    /// `file:line:column`, both counted from 1, the column in characters.
    pub(super) fn place(&self, at: usize) -> String {
        let ends = self.text.match_indices('\n').map(|(end, _)| end + 1);
        let lines = self.lines.get_or_init(|| std::iter::once(0).chain(ends).collect());
        let line = lines.partition_point(|begin| *begin <= at);
        let begin = line.checked_sub(1).and_then(|line| lines.get(line)).copied().unwrap_or(0);
        let column = self.text.get(begin..at).map_or(0, |before| before.chars().count()) + 1;
        format!("{}:{line}:{column}", self.file)
    }
}

/// A table of a document.
pub(super) struct Section<'d, 't> {
    document: &'d Document<'t>,
    table: &'d DeTable<'t>,
    what: String,
    at: usize,
    known: RefCell<Vec<&'static str>>,
}

impl<'d, 't> Section<'d, 't> {
    /// A table that begins at `span`, called `what` in complaints (empty for the outermost).
    pub(super) fn new(
        document: &'d Document<'t>,
        table: &'d DeTable<'t>,
        what: impl Into<String>,
        span: Range<usize>,
    ) -> Self {
        Self { document, table, what: what.into(), at: span.start, known: RefCell::default() }
    }

    /// Where the value of a setting begins, or the table where it has none.
    pub(super) fn at_key(&self, key: &str) -> usize {
        self.value(key).map_or(self.at, |value| value.span().start)
    }

    /// Whether the setting is given.
    pub(super) fn has(&self, key: &'static str) -> bool {
        self.know(key);
        self.value(key).is_some()
    }

    /// The setting `key`, read by `read`; `None` if it is not given, or is wrong, which adds a complaint.
    pub(super) fn read<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(&DeValue<'t>) -> Result<T, String>,
    ) -> Option<T> {
        self.know(key);
        let value = self.value(key)?;
        match read(value.get_ref()) {
            Ok(read) => Some(read),
            Err(problem) => {
                self.complain(key, problem);
                None
            }
        }
    }

    /// Reads the setting into `target` where it is given.
    pub(super) fn set<T>(
        &self,
        key: &'static str,
        target: &mut T,
        read: impl FnOnce(&DeValue<'t>) -> Result<T, String>,
    ) {
        if let Some(value) = self.read(key, read) {
            *target = value;
        }
    }

    /// As [`set`](Self::set), for a setting that had another name. No error suggests that name.
    pub(super) fn set_renamed<T>(
        &self,
        (old, key): (&'static str, &'static str),
        target: &mut T,
        read: impl FnOnce(&DeValue<'t>) -> Result<T, String>,
    ) {
        match (self.value(old).is_some(), self.has(key)) {
            (false, _) => self.set(key, target, read),
            (true, false) => self.set(old, target, read),
            (true, true) => {
                self.know(old);
                self.complain(
                    old,
                    format_args!("it is the old name of {key}, which is set too: leave it out"),
                );
            }
        }
    }

    /// The table `key` within this one, given to `read`.
    pub(super) fn table(&self, key: &'static str, read: impl FnOnce(&Section<'d, 't>)) {
        self.know(key);
        let Some(value) = self.value(key) else { return };
        match value.get_ref() {
            DeValue::Table(table) => {
                let section = Section::new(self.document, table, self.path(key), value.span());
                read(&section);
                section.finish();
            }
            other => {
                self.complain(key, format_args!("expected a table of settings, found {}", other.type_str()))
            }
        }
    }

    /// Each table of the array of tables `key`, given to `read`.
    pub(super) fn tables(&self, key: &'static str, mut read: impl FnMut(&Section<'d, 't>)) {
        self.know(key);
        let Some(value) = self.value(key) else { return };
        let wrong = |at: usize, found: &str| {
            let problem = format!("{}: write [[{key}]] for each one, found {found}", self.path(key));
            self.document.complain(at, problem);
            self.document.wrong.borrow_mut().insert(format!("[[{key}]]"));
        };
        let DeValue::Array(elements) = value.get_ref() else {
            return wrong(value.span().start, value.get_ref().type_str());
        };
        for element in elements.iter() {
            match element.get_ref() {
                DeValue::Table(table) => {
                    let section = Section::new(self.document, table, format!("[[{key}]]"), element.span());
                    read(&section);
                    section.finish();
                }
                other => wrong(element.span().start, other.type_str()),
            }
        }
    }

    /// Each setting of the table `key`, whatever it is called, with its value; none where it is not given.
    pub(super) fn entries(&self, key: &'static str) -> Vec<(&'d str, &'d Spanned<DeValue<'t>>)> {
        self.know(key);
        let Some(value) = self.value(key) else { return Vec::new() };
        match value.get_ref() {
            DeValue::Table(table) => {
                table.iter().map(|(key, value)| (key.get_ref().as_ref(), value)).collect()
            }
            other => {
                // The value may be a secret in the wrong place.
                self.complain(key, format_args!("expected a table of settings, found {}", other.type_str()));
                Vec::new()
            }
        }
    }

    /// Complains if a setting that has no default is missing: what to write.
    pub(super) fn need(&self, key: &'static str, what: impl fmt::Display) {
        if !self.has(key) {
            self.complain(key, format_args!("it is missing: {what}"));
        }
    }

    /// Notes a complaint about this table's setting.
    pub(super) fn complain(&self, key: &'static str, problem: impl fmt::Display) {
        let path = self.path(key);
        self.document.complain(self.at_key(key), format!("{path}: {problem}"));
        self.document.wrong.borrow_mut().insert(path);
    }

    /// The texts that the tables of the array of tables `key` have for `setting`; `None` if one has none. Nothing is
    /// complained about.
    pub(super) fn texts(&self, key: &str, setting: &str) -> Vec<Option<&'d str>> {
        let Some(DeValue::Array(elements)) = self.value(key).map(Spanned::get_ref) else { return Vec::new() };
        let text = |element: &'d Spanned<DeValue<'t>>| {
            let DeValue::Table(table) = element.get_ref() else { return None };
            let (_, value) = table.iter().find(|(known, _)| known.get_ref() == setting)?;
            match value.get_ref() {
                DeValue::String(text) => Some(text.as_ref()),
                _ => None,
            }
        };
        elements.iter().map(text).collect()
    }

    /// Complains about every setting that nobody asked for.
    pub(super) fn finish(&self) {
        let known = self.known.borrow();
        for (key, _) in self.table.iter() {
            let name: &str = key.get_ref();
            if known.contains(&name) {
                continue;
            }
            let nearest = known
                .iter()
                .map(|known| (strsim::damerau_levenshtein(known, name), known))
                .filter(|(distance, known)| *distance <= 1 + known.len() / 3)
                .min();
            let hint = match nearest {
                Some((_, known)) => {
                    self.document.wrong.borrow_mut().insert(self.path(known));
                    format!("did you mean `{known}`?")
                }
                None => format!("the settings here are {}", known.join(", ")),
            };
            self.document
                .complain(key.span().start, format!("unknown setting `{}`: {hint}", self.path(name)));
        }
    }

    fn path(&self, key: &str) -> String {
        match self.what.is_empty() {
            true => key.to_owned(),
            false if self.what.starts_with('[') => format!("{} {key}", self.what),
            false => format!("{}.{key}", self.what),
        }
    }

    fn value(&self, key: &str) -> Option<&'d Spanned<DeValue<'t>>> {
        self.table.iter().find(|(known, _)| known.get_ref() == key).map(|(_, value)| value)
    }

    fn know(&self, key: &'static str) {
        let mut known = self.known.borrow_mut();
        if !known.contains(&key) {
            known.push(key);
        }
    }
}

/// A text.
pub(super) fn text(value: &DeValue<'_>) -> Result<String, String> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        other => Err(format!("expected a text in quotes, found {}", shown(other))),
    }
}

/// `true` or `false`.
pub(super) fn boolean(value: &DeValue<'_>) -> Result<bool, String> {
    match value {
        DeValue::Boolean(value) => Ok(*value),
        other => Err(format!("expected true or false, found {}", shown(other))),
    }
}

/// A whole number.
pub(super) fn integer(value: &DeValue<'_>) -> Result<i128, String> {
    match value {
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
            .map_err(|_| format!("{} is out of range", number.as_str())),
        other => Err(format!("expected a whole number, found {}", shown(other))),
    }
}

/// A whole number inside a range.
pub(super) fn within<T>(range: RangeInclusive<T>) -> impl Fn(&DeValue<'_>) -> Result<T, String>
where
    T: TryFrom<i128> + PartialOrd + fmt::Display,
{
    move |value| {
        let number = integer(value)?;
        T::try_from(number)
            .ok()
            .filter(|number| range.contains(number))
            .ok_or_else(|| format!("{number} is outside the allowed {} to {}", range.start(), range.end()))
    }
}

/// The units that bytes are counted in.
const BYTE_UNITS: [(&str, usize); 4] = [("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10), ("B", 1)];

/// A number of bytes in quotes, with its unit, inside a range. 1KB is 1024 bytes.
pub(super) fn bytes_within(range: RangeInclusive<usize>) -> impl Fn(&DeValue<'_>) -> Result<usize, String> {
    let expected = "write it as a whole number with B, KB, MB or GB in quotes, such as \"256MB\"";
    move |value| {
        let DeValue::String(text) = value else {
            return Err(format!("found {}: {expected}", shown(value)));
        };
        let unit = BYTE_UNITS.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)));
        let found = unit.and_then(|(number, scale)| {
            let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            number.parse::<usize>().ok().filter(|_| digits)?.checked_mul(*scale)
        });
        match found.ok_or_else(|| format!("{text:?} is not a number of bytes: {expected}"))? {
            found if range.contains(&found) => Ok(found),
            _ => Err(format!(
                "{text} is outside the allowed {} to {}",
                show_bytes(*range.start()),
                show_bytes(*range.end())
            )),
        }
    }
}

/// A number of bytes as [`bytes_within`] reads it.
pub(super) fn show_bytes(bytes: usize) -> String {
    let unit = BYTE_UNITS.iter().find(|(_, scale)| bytes > 0 && bytes.is_multiple_of(*scale));
    let (unit, scale) = unit.unwrap_or(&("B", 1));
    format!("{}{unit}", bytes / scale)
}

/// A duration in quotes, with its unit.
pub(super) fn duration(value: &DeValue<'_>) -> Result<Duration, String> {
    match value {
        DeValue::String(text) => super::parse_duration(text),
        other => Err(format!(
            "expected a duration with its unit in quotes, such as \"30s\", found {}",
            shown(other)
        )),
    }
}

/// A duration inside a range.
pub(super) fn duration_within(
    range: RangeInclusive<Duration>,
) -> impl Fn(&DeValue<'_>) -> Result<Duration, String> {
    move |value| {
        let found = duration(value)?;
        match range.contains(&found) {
            true => Ok(found),
            false => Err(format!(
                "\"{}\" is outside the allowed \"{}\" to \"{}\"",
                super::show_duration(found),
                super::show_duration(*range.start()),
                super::show_duration(*range.end())
            )),
        }
    }
}

/// One of a few words.
pub(super) fn one_of<T: Copy>(
    words: &'static [(&'static str, T)],
) -> impl Fn(&DeValue<'_>) -> Result<T, String> {
    move |value| {
        let found = text(value)?;
        words.iter().find(|(word, _)| *word == found).map(|(_, value)| *value).ok_or_else(|| {
            let allowed: Vec<_> = words.iter().map(|(word, _)| format!("\"{word}\"")).collect();
            format!("\"{found}\" is not one of {}", allowed.join(", "))
        })
    }
}

/// A value as a reader of the file would recognise it.
pub(super) fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text {text:?}"),
        DeValue::Integer(number) => format!("the number {number}"),
        DeValue::Float(number) => format!("the number {number}"),
        DeValue::Boolean(value) => format!("{value}"),
        DeValue::Datetime(time) => format!("the time {time}"),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}
