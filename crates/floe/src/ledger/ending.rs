//! How a name ends: it is retired, or it has a last day. Its mark stays either way, so nothing under it can repeat.

use jiff::civil::Date;
use std::fmt;

use super::{Ledger, LedgerError};
use crate::name::{END, NOTE, Name, NameError};
use crate::time::UnixMillis;

const RETIRED: &str = "retired at=";
const UNTIL: &str = "until=";

/// Why the end of a name could not be stored.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndError {
    /// The name is too long for a note about it.
    Name(NameError),
    /// The ledger did not store it.
    Ledger(LedgerError),
}

impl fmt::Display for EndError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(error) => write!(f, "{error}"),
            Self::Ledger(error) => write!(f, "{error}"),
        }
    }
}

impl From<NameError> for EndError {
    fn from(error: NameError) -> Self {
        Self::Name(error)
    }
}

impl From<LedgerError> for EndError {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}

floe_id::__error!(EndError);

/// Closes a name for ever: no floe on this ledger serves it again. Its definition and its mark stay.
///
/// A process that serves the name now continues until it asks ([`retired`], [`all_retired`]), as `floe serve` does
/// every few seconds. Returns when the name was retired: `at`, or the earlier time if it was retired before.
///
/// ```
/// use floe::{DefineError, Floe, Name, UnixMillis, ledger::{self, Ledger, Memory}};
/// let store = Memory::default();
/// Floe::open(store.clone())?.segment("orders")?;
/// let orders = Name::new("orders")?;
/// ledger::retire(&store, &orders, UnixMillis::new(1_790_000_000_000))?;
/// assert_eq!(ledger::retired(&store, &orders)?.as_deref(), Some("2026-09-21T14:13:20.000Z"));
/// assert!(matches!(Floe::open(store)?.segment("orders"), Err(DefineError::Retired { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`EndError`]: `Ledger` from the ledger; `Name` if the name has 128 bytes, one more than a name that can be retired.
pub fn retire(ledger: &dyn Ledger, name: &Name, at: UnixMillis) -> Result<String, EndError> {
    let stored = ledger.bind(&name.of_retirement()?, &format!("{RETIRED}{at}"), false)?;
    Ok(after(RETIRED, &stored))
}

/// Returns when a name was retired, in the format of RFC 3339; `None` if it was not. [`retire`] has an example.
///
/// # Errors
/// `Unavailable` or `Unfit`.
pub fn retired(ledger: &dyn Ledger, name: &Name) -> Result<Option<String>, LedgerError> {
    let Ok(note) = name.of_retirement() else { return Ok(None) };
    Ok(ledger.definition(&note)?.map(|stored| after(RETIRED, &stored)))
}

/// Returns the name of which `note` is the note of retirement ([`Name::is_note`]); `None` if it is not such a note.
///
/// ```
/// use floe::{Name, ledger};
/// let (note, orders) = (Name::of_ledger("*orders")?, Name::new("orders")?);
/// assert_eq!(ledger::retirement_of(&note), Some(orders.clone()));
/// assert_eq!(ledger::retirement_of(&orders), None);
/// # Ok::<(), floe::NameError>(())
/// ```
pub fn retirement_of(note: &Name) -> Option<Name> {
    Name::new(note.as_str().strip_prefix(NOTE)?).ok()
}

/// Lists up to `limit` retired names after `name` in byte order, each with the time when it was retired. It returns
/// fewer only if there are no more. Begin with "".
///
/// ```
/// use floe::{Name, UnixMillis, ledger::{self, Memory}};
/// let ledger = Memory::default();
/// ledger::retire(&ledger, &Name::new("orders")?, UnixMillis::new(1_790_000_000_000))?;
/// let retired = ledger::all_retired(&ledger, "", 100)?;
/// assert_eq!(retired, [("orders".to_owned(), "2026-09-21T14:13:20.000Z".to_owned())]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// `Unavailable` or `Unfit`.
pub fn all_retired(
    ledger: &dyn Ledger,
    name: &str,
    limit: usize,
) -> Result<Vec<(String, String)>, LedgerError> {
    let page = ledger.names(&format!("{NOTE}{name}"), limit)?.into_iter();
    let retired =
        page.map_while(|(note, text)| Some((note.strip_prefix(NOTE)?.to_owned(), after(RETIRED, &text))));
    Ok(retired.collect())
}

/// Stores that a name ends after `day`, and returns the stored day. The first day that was stored stays.
///
/// ```
/// use floe::{Name, ledger::{self, Memory}};
/// let (ledger, orders) = (Memory::default(), Name::new("orders")?);
/// let (day, later) = (jiff::civil::date(2026, 12, 22), jiff::civil::date(2027, 1, 1));
/// assert_eq!(ledger::end_on(&ledger, &orders, day)?, Some(day));
/// assert_eq!(ledger::end_on(&ledger, &orders, later)?, Some(day));
/// assert_eq!(ledger::ends_on(&ledger, &orders)?, Some(day));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As for [`retire`]; `Name` if the name has more than 122 bytes.
pub fn end_on(ledger: &dyn Ledger, name: &Name, day: Date) -> Result<Option<Date>, EndError> {
    let stored = ledger.bind(&name.of_end()?, &format!("{UNTIL}{day}"), false)?;
    Ok(after(UNTIL, &stored).parse().ok())
}

/// Returns the last day of a name; `None` if [`end_on`] stored none. [`end_on`] has an example.
///
/// # Errors
/// `Unavailable` or `Unfit`.
pub fn ends_on(ledger: &dyn Ledger, name: &Name) -> Result<Option<Date>, LedgerError> {
    let Ok(note) = name.of_end() else { return Ok(None) };
    Ok(ledger.definition(&note)?.and_then(|stored| after(UNTIL, &stored).parse().ok()))
}

/// Returns the name of which `note` is the note of the last day ([`Name::is_note`]); `None` if it is not such a note.
///
/// ```
/// use floe::{Name, ledger};
/// let (note, orders) = (Name::of_ledger("orders*until")?, Name::new("orders")?);
/// assert_eq!(ledger::end_of(&note), Some(orders.clone()));
/// assert_eq!(ledger::end_of(&orders), None);
/// # Ok::<(), floe::NameError>(())
/// ```
pub fn end_of(note: &Name) -> Option<Name> {
    let name = note.as_str().strip_suffix(END)?.strip_suffix(NOTE)?;
    Name::new(name).ok()
}

/// Reads the last day of a name from a note and its text, as the ledger lists them; `None` if it is not such a note
/// ([`Name::is_note`]).
///
/// ```
/// use floe::{Name, ledger::{self, Ledger, Memory}};
/// let (ledger, day) = (Memory::default(), jiff::civil::date(2026, 12, 22));
/// ledger::end_on(&ledger, &Name::new("orders")?, day)?;
/// let (note, text) = ledger.names("", 1)?.remove(0);
/// assert_eq!(ledger::last_day_of(&note, &text), Some(day));
/// assert_eq!(ledger::last_day_of("orders", "counter"), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn last_day_of(note: &str, text: &str) -> Option<Date> {
    note.contains(NOTE).then(|| text.strip_prefix(UNTIL)?.parse().ok())?
}

fn after(what: &str, stored: &str) -> String {
    stored.strip_prefix(what).unwrap_or(stored).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Memory;

    /// What a name is bound to may be any text, also one that looks like a note.
    #[test]
    fn a_last_day_is_read_from_notes_alone() {
        let (ledger, name) = (Memory::default(), Name::new("orders").unwrap());
        end_on(&ledger, &name, jiff::civil::date(2026, 11, 22)).unwrap();
        let (note, text) = ledger.names("", 10).unwrap().pop().unwrap();
        assert_eq!(last_day_of(&note, &text), Some(jiff::civil::date(2026, 11, 22)));
        assert_eq!(last_day_of("orders", &text), None, "it is the definition of a name");
        assert_eq!(last_day_of(&note, "counter"), None);
    }

    #[test]
    fn retired_names_are_listed_by_pages_and_stand_among_no_others() {
        let ledger = Memory::default();
        let name = |text: &str| Name::new(text).unwrap();
        for text in ["b", "a", "!", "c", "!!"] {
            ledger.bind(&name(text), "counter", true).unwrap();
        }
        for (at, text) in ["b", "!", "a"].into_iter().enumerate() {
            let at = UnixMillis::new(i64::try_from(at).unwrap());
            retire(&ledger, &name(text), at).unwrap();
        }
        let page = |after| {
            all_retired(&ledger, after, 2).unwrap().into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!([page(""), page("a"), page("b")], [vec!["!", "a"], vec!["b"], vec![]]);
        let first = ("b".to_owned(), UnixMillis::EPOCH.to_string());
        assert_eq!(all_retired(&ledger, "a", 2).unwrap(), [first]);
        assert_eq!(retired(&ledger, &name("c")).unwrap(), None);
        // The first time holds.
        let again = retire(&ledger, &name("b"), UnixMillis::new(1 << 40)).unwrap();
        assert_eq!(Some(again), retired(&ledger, &name("b")).unwrap());
        assert!(ledger.names("", 100).unwrap().iter().filter(|(text, _)| !Name::is_note(text)).count() == 5);
        assert!(retire(&ledger, &name(&"x".repeat(128)), UnixMillis::EPOCH).is_err());
        retire(&ledger, &name(&"x".repeat(127)), UnixMillis::EPOCH).unwrap();
    }

    /// It does not answer about notes.
    struct Silent(Memory);

    impl Ledger for Silent {
        crate::__hand_on!(self => self.0; reserve give_back bind names raise list realm_id describe);
        fn definition(&self, _: &Name) -> Result<Option<String>, LedgerError> {
            Err(LedgerError::Unavailable("lost".to_owned()))
        }
    }

    #[test]
    fn a_name_may_be_retired_where_the_ledger_does_not_say() {
        let (ledger, name) = (Silent(Memory::default()), Name::new("orders").unwrap());
        retire(&ledger, &name, UnixMillis::EPOCH).unwrap();
        let lost = LedgerError::Unavailable("lost".to_owned());
        assert_eq!(
            (retired(&ledger, &name), ends_on(&ledger, &name)),
            (Err(lost.clone()), Err(lost.clone()))
        );
        assert_eq!(crate::Floe::open(ledger).unwrap().counter("orders").err(), Some(lost.into()));
    }

    #[test]
    fn a_retirement_is_that_of_its_name_and_no_other_note_is_one() {
        let name = Name::new("orders").unwrap();
        assert_eq!(retirement_of(&name.of_retirement().unwrap()), Some(name.clone()));
        for other in [name.of_end().unwrap(), name.of_key(7).unwrap(), name] {
            assert_eq!(retirement_of(&other), None, "{other}");
        }
    }

    #[test]
    fn the_note_of_a_last_day_is_that_of_its_name_and_no_other_note_is_one() {
        let name = Name::new("until").unwrap();
        assert_eq!(end_of(&name.of_end().unwrap()), Some(name.clone()));
        for other in [name.of_retirement().unwrap(), name.of_key(7).unwrap(), name] {
            assert_eq!(end_of(&other), None, "{other}");
        }
    }

    /// A mark would be listed, saved and raised as one of a name that somebody mints from.
    #[test]
    fn a_note_of_how_a_name_ends_has_no_mark() {
        let (ledger, name) = (Memory::default(), Name::new("orders").unwrap());
        end_on(&ledger, &name, jiff::civil::date(2026, 11, 22)).unwrap();
        retire(&ledger, &name, UnixMillis::EPOCH).unwrap();
        assert_eq!(ledger.names("", 9).unwrap().len(), 2);
        assert_eq!(ledger.list("", "", 9), Ok(Vec::new()));
    }

    #[test]
    fn a_name_has_the_last_day_that_was_noted_first() {
        let (ledger, name) = (Memory::default(), Name::new("order:20261122").unwrap());
        let (day, later) = (jiff::civil::date(2026, 12, 22), jiff::civil::date(2027, 1, 1));
        assert_eq!(ends_on(&ledger, &name).unwrap(), None);
        assert_eq!(end_on(&ledger, &name, day).unwrap(), Some(day));
        assert_eq!(end_on(&ledger, &name, later).unwrap(), Some(day));
        assert_eq!(ends_on(&ledger, &name).unwrap(), Some(day));
        assert_eq!(retired(&ledger, &name).unwrap(), None);
    }
}
