//! The table of kinds, and the functions that look a kind up in it.

use std::str::FromStr;

use crate::definition::{
    Definition, DefinitionError, FORM, Given, Kind, Ledgerless, Properties, Registered, Rules, check_word,
};
use crate::kind::{ksuid, nano_id, object_id, ulid, uuid4, uuid7};

impl Kind {
    /// All of floe's own kinds. Kinds that the program registers come in addition.
    pub const ALL: &[Self] = &[
        Self::SNOWFLAKE,
        Self::SEGMENT,
        Self::COUNTER,
        Self::DATED,
        Self(&uuid4::ROW),
        Self(&uuid7::ROW),
        Self(&ulid::ROW),
        Self(&object_id::ROW),
        Self(&ksuid::ROW),
        Self(&nano_id::ROW),
    ];

    /// Returns the words of all kinds as a list in a sentence, with `and` before the last one.
    ///
    /// ```
    /// assert!(floe::Kind::words("or").ends_with("ksuid or nanoid"));
    /// ```
    pub fn words(and: &str) -> String {
        let words: Vec<_> = Self::ALL.iter().map(|kind| kind.as_str()).collect();
        words
            .split_last()
            .map(|(last, others)| format!("{} {and} {last}", others.join(", ")))
            .unwrap_or_default()
    }
}

/// Words of kinds and forms that a later version may mint, so that an unconfigured name of such a word is not minted
/// today.
const RESERVED: &[&str] = &[
    "uuid1", "uuid3", "uuid5", "uuid6", "uuidv1", "uuidv3", "uuidv5", "uuidv6", "cuid", "cuid2", "xid",
    "tsid", "guid",
];

/// Words of forms that a user may take for kinds.
const FORMS: &[&str] = &["uuid8", "uuidv8", "typeid", "hashids", "sqids", "sealed"];

/// Returns whether `name` is the word of a form or of a later version's kind, in any case. A server that makes names on
/// demand must not mint numbers under it.
///
/// ```
/// assert!(floe::reserved_name("CUID") && !floe::reserved_name("orders"));
/// ```
pub fn reserved_name(name: &str) -> bool {
    RESERVED.iter().chain(FORMS).any(|reserved| reserved.eq_ignore_ascii_case(name))
}

impl FromStr for Kind {
    type Err = DefinitionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (word, kinds) = (text.to_owned(), || Self::words("and"));
        Self::ALL.iter().copied().find(|kind| kind.as_str() == text).ok_or_else(|| match text {
            form if FORMS.contains(&form) => DefinitionError::NoKind(word),
            reserved if reserved_name(reserved) => DefinitionError::ReservedKind { word, kinds: kinds() },
            _ => DefinitionError::UnknownKind { word, kinds: kinds() },
        })
    }
}

impl Definition {
    /// Returns the definition for an unconfigured name that is itself the word of a kind without a ledger, in any case:
    /// `ulid`, `uuid` (version 4) and so on. The kind has its default settings. `None` for every other name.
    ///
    /// ```
    /// use floe::Definition;
    /// assert_eq!(Definition::called("uuid").map(|uuid| uuid.to_string()).as_deref(), Some("uuid4"));
    /// assert_eq!(Definition::called("orders"), None);
    /// ```
    pub fn called(name: &str) -> Option<Self> {
        let is = |word: &&str| word.eq_ignore_ascii_case(name);
        let called = |row: &&Kind| is(&row.as_str()) || row.0.aliases.iter().any(&is);
        let ledgerless = Kind::ALL.iter().filter(|kind| !kind.is_number());
        // The default settings are never wrong.
        ledgerless.copied().find(|kind| called(&kind))?.define(&Given::default(), &mut |_, _| ())
    }
}

impl FromStr for Definition {
    type Err = DefinitionError;

    /// Reads the canonical text, and rejects every other text.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let foreign = || {
            DefinitionError::Value(format!("{text:?} is not a definition that this version of floe can read"))
        };
        let definition = match text.split_once(FORM) {
            Some((inner, form)) => read(inner)?.ok_or_else(foreign)?.in_form(form.parse()?)?,
            None => read(text)?.ok_or_else(foreign)?,
        };
        definition.check()?;
        match definition.to_string() == text {
            true => Ok(definition),
            false => Err(foreign()),
        }
    }
}

/// The definition of a text without a form; `None` if the text does not look like one.
fn read(text: &str) -> Result<Option<Definition>, DefinitionError> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let kind = if word == Kind::REGISTERED.as_str() { Kind::REGISTERED } else { word.parse()? };
    match &kind.0.rules {
        Rules::Reserved(reserved) => (reserved.parse)(rest),
        Rules::Ledgerless(rules) => Ok(Ledgerless::parse(kind, rules, rest)?.map(Definition::Ledgerless)),
        Rules::Registered => {
            let registered = Registered::parse(rest)?;
            registered.as_ref().map_or(Ok(()), |registered| check_type_name(registered.type_name()))?;
            Ok(registered.map(Definition::Registered))
        }
    }
}

impl Registered {
    /// Makes the definition of a name of the kind that was registered as `type_name`, with `properties`.
    ///
    /// ```
    /// use floe::{Definition, Properties, Registered};
    /// let eu = Registered::new("tagged", Properties::new().with("tag", "eu")?)?;
    /// assert_eq!(Definition::Registered(eu).to_string(), "registered type=tagged tag=eu");
    /// assert!(Registered::new("ulid", Properties::new()).is_err()); // floe's own kind
    /// # Ok::<(), floe::DefinitionError>(())
    /// ```
    ///
    /// # Errors
    /// [`DefinitionError::Value`] if the type name is not 1 to 64 of `a-z0-9_-`, or is one of floe's own kinds.
    pub fn new(type_name: &str, properties: Properties) -> Result<Self, DefinitionError> {
        check_type_name(type_name)?;
        Ok(Self::unchecked(type_name.to_owned(), properties))
    }
}

/// Checks that a kind can be registered as `type_name`.
pub(crate) fn check_type_name(type_name: &str) -> Result<(), DefinitionError> {
    check_word(type_name)?;
    let own = type_name.parse::<Kind>().is_ok() || type_name == Kind::REGISTERED.as_str();
    match own || reserved_name(type_name) {
        false => Ok(()),
        true => Err(DefinitionError::Value(format!(
            "{type_name:?} is a kind of floe's own: register yours under another type name"
        ))),
    }
}
