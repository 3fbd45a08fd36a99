//! Kinds that the program registers: their type name and their properties.

use std::collections::BTreeMap;
use std::fmt;

use super::DefinitionError;
use super::row::{Row, Rules};
use crate::form::{Escaped, unescape};

/// A kind that the program registered, with the properties of one name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Registered {
    type_name: String,
    properties: Properties,
}

/// The configuration of a name of a registered kind: texts under keys.
///
/// ```
/// use floe::Properties;
/// let properties = Properties::default().with("length", "12")?;
/// assert_eq!(properties.get("length"), Some("12"));
/// # Ok::<(), floe::DefinitionError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Properties(BTreeMap<String, String>);

pub(crate) static ROW: Row = Row {
    word: "registered",
    aliases: &[],
    settings: &[],
    options: &["properties"],
    has_time: false,
    rules: Rules::Registered,
};

/// The longest type name and the longest key, in bytes.
const MAX_WORD: usize = 64;
/// The most bytes of a property's value.
const MAX_VALUE: usize = 1024;
/// The most properties.
const MAX_PROPERTIES: usize = 32;

impl Registered {
    /// Does not check the type name: `table.rs` does that, since it knows floe's own kinds.
    pub(crate) const fn unchecked(type_name: String, properties: Properties) -> Self {
        Self { type_name, properties }
    }

    /// Returns the type name under which the kind was registered.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// Returns its configuration.
    pub fn properties(&self) -> &Properties {
        &self.properties
    }

    /// Reads what `Display` writes; `None` if the text does not look like it.
    pub(crate) fn parse(text: &str) -> Result<Option<Self>, DefinitionError> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let Some(type_name) = word.strip_prefix("type=") else { return Ok(None) };
        let properties = Properties::parse(rest)?;
        Ok(properties.map(|properties| Self::unchecked(type_name.to_owned(), properties)))
    }
}

/// Checks the spelling of a type name, and not whether it is one of floe's own kinds.
pub(crate) fn check_word(type_name: &str) -> Result<(), DefinitionError> {
    match is_word(type_name, |c| matches!(c, 'a'..='z' | '0'..='9' | '_' | '-')) {
        true => Ok(()),
        false => Err(DefinitionError::Value(format!(
            "{type_name:?} cannot be the type name of a kind: take 1 to {MAX_WORD} of a-z, 0-9, _ and -"
        ))),
    }
}

fn is_word(text: &str, fits: impl Fn(char) -> bool) -> bool {
    (1..=MAX_WORD).contains(&text.len()) && text.chars().all(fits)
}

impl Properties {
    /// Starts with no properties.
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Reads words of `key=value`, as in canonical texts; `None` if they do not look like that.
    pub(super) fn parse(words: &str) -> Result<Option<Self>, DefinitionError> {
        let mut properties = Self::new();
        for word in words.split_terminator(' ') {
            let value = word.split_once('=').and_then(|(key, value)| Some((key, unescape(value)?)));
            let Some((key, value)) = value else { return Ok(None) };
            properties = properties.with(key, &value)?;
        }
        Ok(Some(properties))
    }

    /// Adds a property.
    ///
    /// ```
    /// use floe::Properties;
    /// let properties = Properties::new().with("region", "eu")?;
    /// assert!(properties.clone().with("region", "us").is_err()); // it is there already
    /// assert_eq!(properties.iter().collect::<Vec<_>>(), [("region", "eu")]);
    /// # Ok::<(), floe::DefinitionError>(())
    /// ```
    ///
    /// # Errors
    /// [`DefinitionError::Value`] if the key is not 1 to 64 of `A-Za-z0-9_.-` or is there already, if the value has
    /// over 1,024 bytes, or if there would be over 32 properties.
    pub fn with(mut self, key: &str, value: &str) -> Result<Self, DefinitionError> {
        let refuse = |why: String| Err(DefinitionError::Value(why));
        if !is_word(key, |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-')) {
            return refuse(format!(
                "{key:?} cannot be the key of a property: take 1 to {MAX_WORD} of A-Z, a-z, 0-9, _, . and -"
            ));
        }
        if value.len() > MAX_VALUE {
            return refuse(format!("the property {key} has {} bytes: {MAX_VALUE} are the most", value.len()));
        }
        if self.0.insert(key.to_owned(), value.to_owned()).is_some() {
            return refuse(format!("the property {key} is there twice"));
        }
        if self.0.len() > MAX_PROPERTIES {
            return refuse(format!("more than {MAX_PROPERTIES} properties are too many"));
        }
        Ok(self)
    }

    /// Returns the value under `key`; `None` if there is none. [`Properties`] has an example.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Checks that all keys are in `known`, so that a kind notices mistyped keys.
    ///
    /// ```
    /// use floe::Properties;
    /// let mistyped = Properties::new().with("regoin", "eu")?;
    /// assert!(mistyped.only(&["region"]).is_err());
    /// # Ok::<(), floe::DefinitionError>(())
    /// ```
    ///
    /// # Errors
    /// A text that names the unknown key and the known ones, which a function of [`KindRegistry`](crate::KindRegistry)
    /// can pass on.
    pub fn only(&self, known: &[&str]) -> Result<(), String> {
        match self.0.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => Err(format!("it has no property {key:?}: there are {}", known.join(", "))),
        }
    }

    /// Returns all keys and values, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }
}

impl fmt::Display for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "type={}", self.type_name)?;
        self.properties.iter().try_for_each(|(key, value)| write!(f, " {key}={}", Escaped(value)))
    }
}
