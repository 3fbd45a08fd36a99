//! Kinds that a program registers: their type name and their properties.

use std::collections::BTreeMap;
use std::fmt;

use super::{DefinitionError, Kind, reserved_name};
use crate::form::{Escaped, unescape};

/// A kind that a program registered, with what it is configured by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Registered {
    type_name: String,
    properties: Properties,
}

/// What a registered kind is configured by: texts under keys.
///
/// ```
/// use floe::Properties;
/// let properties = Properties::default().with("length", "12")?;
/// assert_eq!(properties.get("length"), Some("12"));
/// # Ok::<(), floe::DefinitionError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Properties(BTreeMap<String, String>);

/// The longest type name and the longest key, in bytes.
const MAX_WORD: usize = 64;
/// The most bytes of a property's value.
const MAX_VALUE: usize = 1024;
/// The most properties.
const MAX_PROPERTIES: usize = 32;

impl Registered {
    /// The kind that was registered as `type_name`, with `properties`.
    ///
    /// # Errors
    /// [`DefinitionError::Value`] where the type name is not 1 to 64 of `a-z0-9_-`, or is the name of a kind of floe's.
    pub fn new(type_name: &str, properties: Properties) -> Result<Self, DefinitionError> {
        check_type_name(type_name)?;
        Ok(Self { type_name: type_name.to_owned(), properties })
    }

    /// What it was registered as.
    pub fn type_name(&self) -> &str {
        &self.type_name
    }

    /// What it is configured by.
    pub fn properties(&self) -> &Properties {
        &self.properties
    }

    /// Reads what `Display` writes; `None` where it does not look so at all.
    pub(super) fn read(text: &str) -> Option<Result<Self, DefinitionError>> {
        let mut words = text.split(' ');
        let type_name = words.next()?.strip_prefix("type=")?;
        let mut properties = Properties::default();
        for word in words {
            let (key, value) = word.split_once('=')?;
            properties = match properties.with(key, &unescape(value)?) {
                Ok(properties) => properties,
                Err(error) => return Some(Err(error)),
            };
        }
        Some(Self::new(type_name, properties))
    }
}

/// Whether a kind can be registered as `type_name`.
pub(crate) fn check_type_name(type_name: &str) -> Result<(), DefinitionError> {
    if !is_word(type_name, |c| matches!(c, 'a'..='z' | '0'..='9' | '_' | '-')) {
        return Err(DefinitionError::Value(format!(
            "{type_name:?} cannot be the type name of a kind: take 1 to {MAX_WORD} of a-z, 0-9, _ and -"
        )));
    }
    if type_name.parse::<Kind>().is_ok() || reserved_name(type_name) {
        return Err(DefinitionError::Value(format!(
            "{type_name:?} is a kind of floe's own: register yours under another type name"
        )));
    }
    Ok(())
}

fn is_word(text: &str, fits: impl Fn(char) -> bool) -> bool {
    (1..=MAX_WORD).contains(&text.len()) && text.chars().all(fits)
}

impl Properties {
    /// One more.
    ///
    /// # Errors
    /// [`DefinitionError::Value`] where the key is not 1 to 64 of `A-Za-z0-9_.-` or is there already, the value has over
    /// 1,024 bytes, or there are over 32.
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

    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Refuses all but `known`, so that a kind finds keys that were mistyped.
    ///
    /// # Errors
    /// The key that is none of them, and what they are, for [`KindRegistry`](crate::KindRegistry) to pass on.
    pub fn only(&self, known: &[&str]) -> Result<(), String> {
        match self.0.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => Err(format!("it has no property {key:?}: there are {}", known.join(", "))),
        }
    }

    /// All of them, in the order of their keys.
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
