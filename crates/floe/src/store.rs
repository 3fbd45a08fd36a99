//! What a store has to do to keep floe's marks: compare and swap one record.
//!
//! A [`Store`] reads a record with its version, writes one where the version is still the one that was read, and lists.
//! All else that a [`Ledger`](crate::Ledger) promises is written once, above it: [`Stored`] is a ledger on any store, and
//! [`Change`] is the policy itself, which asks and is told and does nothing else, so that a simulator can drive it.
//!
//! # What is kept under which key
//! ```text
//! realm/REALM              the realm's id
//! mark/REALM/n/NAME        a name: its definition, and its mark where its kind has one
//! mark/REALM/s/BITS/ID     a worker slot
//! mark/REALM/c/ID          the openings of a cache
//! made/REALM/…             says that the record of that key was made, whether or not it is still there
//! ```
//! A record is text that a person can read:
//! ```text
//! floe 1
//! realm 5f0a…
//! written 77c1…
//! made 09be…
//! mark 1500 start 1000 previous 1000
//! token 3d92…
//! definition segment first=1 step=1
//! note host a, process 7
//! end
//! ```
//! # Why no range is handed out twice
//! 1. A range is handed out once the record that says so was written under the condition that nobody had written since the
//!    record was read that it was computed from. So the record was the newest one, and the store says that it is durable.
//! 2. What was read earlier is good for a guess: the condition proves it right. An answer for which nothing is written (a
//!    refusal, a record that is missing) is given only from a record that was read inside the call. If such an answer hands
//!    something out, as to a token that is there already, the store says first that what was read is durable
//!    ([`settle`](Store::settle)).
//! 3. Each write has a number of its own, drawn at random (`written`). So no two writes leave the same record, a version
//!    may be a digest of the content, and whoever lost the reply to a write finds out that it was its own.
//! 4. A record that is made has a number too (`made`), and that number is noted a second time under `made/…`, before
//!    anything of the record is handed out. Where the two differ, or the record is gone and the note of it is not, somebody
//!    has deleted it: it is [missing](crate::LedgerError::Missing), and is not made anew.
//! 5. Each record has the id of its realm. When a record was made, the realm is looked at before that is noted, and after. So
//!    a store that was emptied, and in which a realm of the same name was made anew, is another ledger, and not a second
//!    life of this one.

use std::ops::Range;

use crate::ledger::LedgerError;
use crate::time::UnixMillis;

mod change;
mod content;
mod place;
mod stored;
#[cfg(test)]
mod tests;

pub use change::{Change, Heard, Next, Seen};
pub use place::Place;
pub use stored::Stored;

/// Compares and swaps records, each a text of at most 64 KiB under a key of at most 400 bytes.
///
/// Calls block, take `&self`, and may come from several threads at once. Neither is linearizable by hope: `get` returns
/// what the last `put` before it wrote, whoever did, and when `put` returns [`Put::Done`] the record is on stable storage. A
/// store whose `get` may return a record that is not there yet has [`settle`](Self::settle).
///
/// An error is [`LedgerError::Unavailable`] where the store may be asked again, whether or not a write took effect, and
/// [`LedgerError::Unfit`] where a person has to look first.
///
/// ```
/// use std::collections::BTreeMap;
/// use std::sync::Mutex;
///
/// use floe::store::{Entry, Place, Put, Store, Stored, Version};
/// use floe::{Floe, LedgerError};
///
/// #[derive(Default)]
/// struct Map(Mutex<BTreeMap<String, (u64, String)>>);
///
/// impl Store for Map {
///     fn get(&self, key: &str) -> Result<Option<Entry>, LedgerError> {
///         let found = self.0.lock().unwrap().get(key).cloned();
///         Ok(found.map(|(version, text)| Entry { version: Version::from(version), text }))
///     }
///
///     fn put(&self, key: &str, text: &str, expected: Option<&Version>) -> Result<Put, LedgerError> {
///         let mut map = self.0.lock().unwrap();
///         let found = map.get(key).map_or(0, |(version, _)| *version);
///         if expected.map_or(0, |version| version.number().unwrap_or(0)) != found {
///             return Ok(Put::Conflict);
///         }
///         map.insert(key.to_owned(), (found + 1, text.to_owned()));
///         Ok(Put::Done(Version::from(found + 1)))
///     }
///
///     fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
///         let map = self.0.lock().unwrap();
///         let below = map.iter().filter(|(key, _)| key.starts_with(prefix) && key.as_str() > after);
///         Ok(below.take(limit).map(|(key, (_, text))| (key.clone(), text.clone())).collect())
///     }
///
///     fn describe(&self) -> String {
///         "a map".to_owned()
///     }
/// }
///
/// let store = Map::default();
/// let place = Place::make(&store, "default")?;
/// let ids = Floe::open(Stored::new(store, place))?;
/// assert_eq!(ids.counter("tickets")?.mint()?.get(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Store: Send + Sync {
    /// What is kept under `key`, with its version.
    ///
    /// # Errors
    /// As [`Store`] says.
    fn get(&self, key: &str) -> Result<Option<Entry>, LedgerError>;

    /// Keeps `text` under `key` if the version there is still `expected`; `None`: if nothing is kept there.
    ///
    /// # Errors
    /// As [`Store`] says.
    fn put(&self, key: &str, text: &str, expected: Option<&Version>) -> Result<Put, LedgerError>;

    /// Up to `limit` keys that begin with `prefix`, after the key `after`, in byte order, each with its text; fewer only
    /// where there are no more. It is for people and for choosing a slot: no range hangs on it.
    ///
    /// # Errors
    /// As [`Store`] says.
    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError>;

    /// Returns once all that [`get`](Self::get) and [`Put::Found`] have shown before is on stable storage. A call that hands
    /// something out by what it has read, and writes nothing itself, ends with this. It is for a store that shows a record
    /// to others before that record is on stable storage, and whose writes get there in the order in which they are shown:
    /// such a store writes something. No other store has anything to do.
    ///
    /// # Errors
    /// As [`Store`] says.
    fn settle(&self) -> Result<(), LedgerError> {
        Ok(())
    }

    /// The counters of a store that can add without a write to stable storage for each addition.
    fn counting(&self) -> Option<&dyn Counting> {
        None
    }

    /// The store's own clock, where it has one that is not this machine's.
    ///
    /// # Errors
    /// As [`Store`] says.
    fn time(&self) -> Result<Option<UnixMillis>, LedgerError> {
        Ok(None)
    }

    /// What it is and where, in one line, without credentials: `s3://bucket/floe`.
    fn describe(&self) -> String;

    /// Whether other machines may use it too.
    fn is_shared(&self) -> bool {
        true
    }
}

/// Numbers of a range that a counter's record says was reserved, handed out without a write to stable storage for each.
///
/// Beside a record the store keeps, under the key `left`, a second one that a crash may take away: from where on the range that was
/// reserved last is unused, and where it ends, which is the record's mark. That key has the realm's id in it: what an emptied store
/// has kept of it is nothing to the realm that is made anew. Additions to it are atomic, and in the order in which the callers ask.
/// What is lost with it is never handed out: the next range begins at the record's mark.
pub trait Counting: Send + Sync {
    /// Takes `count` numbers, at `floor` or above it, of what is left of the range under `left`, in one atomic step: where it is
    /// used no further than to `max_mark`, and has so many left.
    ///
    /// # Errors
    /// As [`Store`] says.
    fn take(&self, left: &str, floor: u64, count: u64, max_mark: u64) -> Result<Taken, LedgerError>;

    /// As [`Store::put`], and in the same atomic step the range under `left` is made longer by `new` where it ends at the
    /// beginning of that; otherwise `new` takes its place.
    ///
    /// # Errors
    /// As [`Store`] says.
    fn put_ahead(
        &self,
        key: &str,
        text: &str,
        expected: Option<&Version>,
        left: &str,
        new: Range<u64>,
    ) -> Result<Put, LedgerError>;

    /// Uses up what is left under `left` below `at_least`.
    ///
    /// # Errors
    /// As [`Store`] says.
    fn skip(&self, left: &str, at_least: u64) -> Result<(), LedgerError>;
}

/// The answer to [`Counting::take`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Taken {
    /// The numbers up to `end`, excluded, and how far the range was used before.
    Numbers {
        /// Up to where it was used before.
        previous: u64,
        /// Up to where it is used now.
        end: u64,
    },
    /// None. This is what is left, where anything was reserved ahead.
    Left(Option<Range<u64>>),
}

/// What is kept under a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Which write left it.
    pub version: Version,
    /// The record.
    pub text: String,
}

/// What tells one write of a record from the others: a number, or whatever bytes the store has for it (an `ETag`).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Version(Box<str>);

impl Version {
    /// A version that is a text.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The version as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The number that it was made from; `None` where it is none.
    pub fn number(&self) -> Option<u64> {
        self.0.parse().ok()
    }
}

impl From<u64> for Version {
    fn from(number: u64) -> Self {
        Self(number.to_string().into())
    }
}

/// What became of [`Store::put`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Put {
    /// The record was written, is on stable storage, and has this version.
    Done(Version),
    /// Another version is there, or none. Nothing was written.
    Conflict,
    /// The same, and what is there was read as one with the comparison.
    Found(Option<Entry>),
}
