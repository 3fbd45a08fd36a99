//! Ledgers on any store that can compare and swap one record.
//!
//! A [`Store`] reads a record with its version, writes a record if the version is still the one that was read, and
//! lists records. All other promises of a [`Ledger`](crate::Ledger) are implemented once, above it: [`Stored`] is a
//! ledger on any store. [`Change`] is the policy alone, without I/O: it returns requests and takes answers, so that a
//! simulator can drive it.
//!
//! # The keys
//! ```text
//! realm/REALM              the realm's id; a name that begins with `*` is that of a scratch realm ([`Place::SCRATCH`])
//! mark/REALM/n/NAME        a name: its definition, and its mark where its kind has one
//! mark/REALM/s/BITS/ID     a worker slot
//! mark/REALM/c/ID          the openings of a cache
//! made/REALM/…             shows that the record of that key was made, also after the record is deleted
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
//! 1. A range is handed out only after its record is written. The write has a condition: nothing was written since the
//!    record was read from which the new one was computed. So that record was the newest one, and the store confirms
//!    that the new one is durable.
//! 2. A record that was read in an earlier call serves as a guess; the condition of the write proves it right or wrong.
//!    An answer without a write (a refusal, a missing record) is given only from a record that was read inside the
//!    call. If such an answer hands out a range, as for a repeated token, the store first confirms that the read record
//!    is durable ([`settle`](Store::settle)).
//! 3. Each write has its own random number (`written`). So no two writes leave the same record, a version may be a
//!    digest of the content, and a caller that lost the reply to a write can recognise its own write.
//! 4. The making of a record has a random number too (`made`). It is stored a second time under `made/…`, before
//!    anything of the record is handed out. If the two differ, or the record is gone and its note is not, the record
//!    was deleted: it is [missing](crate::LedgerError::Missing), and is not made again.
//! 5. Each record has the id of its realm. When a record was made, the realm is read before this is noted, and again
//!    after. So if a store was emptied and has a new realm of the same name, that is another ledger, and not a
//!    continuation of this one.

use std::ops::Range;

use crate::ledger::LedgerError;
use crate::time::UnixMillis;

mod change;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod content;
mod place;
pub(crate) mod stored;
#[cfg(test)]
mod tests;

pub use change::{Change, Heard, Next, Seen};
pub use place::Place;
pub use stored::Stored;

/// Compares and swaps records, each a text of at most 64 KiB under a key of at most 400 bytes.
///
/// A key is `mark/shop/n/orders`, for example: parts between slashes, each of printable UTF-8 without white space. A part may
/// have `*`, `%`, quotes and characters that are not ASCII in it. Keys are compared byte for byte.
///
/// Calls block, take `&self`, and may come from several threads at once. They must be linearizable: `get` returns the
/// record of the last `put` before it, by any process. When `put` returns [`Put::Done`], the record is on stable
/// storage. If `get` may return a record that is not on stable storage yet, the store must implement
/// [`settle`](Self::settle).
///
/// An error is [`LedgerError::Unavailable`] if the caller may retry, whether or not a write took effect, and
/// [`LedgerError::Unfit`] if a person must look at the store first.
///
/// The conformance suite has cases about a store alone: `floe::store::conformance::run_store`.
///
/// ```
/// use std::collections::BTreeMap;
/// use std::sync::{Arc, Mutex};
///
/// use floe::store::{Entry, Place, Put, Store, Stored, Version};
/// use floe::{Floe, LedgerError};
///
/// #[derive(Default)]
/// struct Map(Mutex<BTreeMap<String, String>>);
///
/// impl Store for Map {
///     fn get(&self, key: &str) -> Result<Option<Entry>, LedgerError> {
///         let found = self.0.lock().unwrap().get(key).cloned();
///         Ok(found.map(|text| Entry { version: Version::new(&text), text }))
///     }
///
///     fn put(&self, key: &str, text: &str, expected: Option<&Version>) -> Result<Put, LedgerError> {
///         let mut map = self.0.lock().unwrap();
///         if map.get(key).map(String::as_str) != expected.map(Version::as_str) {
///             return Ok(Put::Conflict);
///         }
///         map.insert(key.to_owned(), text.to_owned());
///         Ok(Put::Done(Version::new(text)))
///     }
///
///     fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
///         let map = self.0.lock().unwrap();
///         let below = map.iter().filter(|(key, _)| key.starts_with(prefix) && key.as_str() > after);
///         Ok(below.take(limit).map(|(key, text)| (key.clone(), text.clone())).collect())
///     }
///
///     fn describe(&self) -> String {
///         "a map".to_owned()
///     }
/// }
///
/// let store = Map::default();
/// // A write needs that there is no record, or that it still has the version that was read.
/// let Put::Done(first) = store.put("note", "one", None)? else { panic!("the map is empty") };
/// assert_eq!(store.put("note", "two", None)?, Put::Conflict);
/// assert!(matches!(store.put("note", "two", Some(&first))?, Put::Done(_)));
/// assert_eq!(store.put("note", "three", Some(&first))?, Put::Conflict);
/// assert_eq!(store.get("note")?.map(|entry| entry.text).as_deref(), Some("two"));
/// assert_eq!(store.list("no", "", 10)?, [("note".to_owned(), "two".to_owned())]);
///
/// assert_eq!(Place::find(&store, "default")?, None);
/// let place = Place::make(&store, "default")?;
/// assert_eq!(Place::find(&store, "default")?, Some(place.clone()));
/// assert_eq!(Place::realms(&store, 10)?, ["default"]);
/// let ledger = Arc::new(Stored::new(store, place.clone()));
/// let ids = Floe::open(ledger.clone())?;
/// assert_eq!(ids.counter("tickets")?.mint()?.get(), 1);
///
/// // Somebody deletes the record of the realm. Those of its names show that it was there.
/// ledger.store().0.lock().unwrap().remove("realm/default");
/// assert_eq!(Place::find(ledger.store(), "default")?, None);
/// assert_eq!(Place::left_behind(ledger.store(), "default")?.as_deref(), Some(place.id()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Store: Send + Sync {
    /// Returns the record under `key` with its version; `None` if there is none. [`Store`] has an example.
    ///
    /// # Errors
    /// As [`Store`] says.
    fn get(&self, key: &str) -> Result<Option<Entry>, LedgerError>;

    /// Writes `text` under `key` if the version there is still `expected`. With `None`, it writes only if there is no
    /// record. [`Store`] has an example.
    ///
    /// # Errors
    /// As [`Store`] says.
    fn put(&self, key: &str, text: &str, expected: Option<&Version>) -> Result<Put, LedgerError>;

    /// Lists up to `limit` keys that begin with `prefix`, after the key `after`, in byte order, each with its text. It
    /// returns fewer only if there are no more. It is for people and for choosing a slot; uniqueness does not depend on
    /// it. [`Store`] has an example.
    ///
    /// # Errors
    /// As [`Store`] says.
    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError>;

    /// Returns when all records that [`get`](Self::get) and [`Put::Found`] have shown before are on stable storage. A
    /// call that hands out a range from a record that it has read, and writes nothing itself, ends with this.
    ///
    /// It is for a store that shows a record to others before the record is on stable storage, and whose writes reach
    /// it in the order in which they are shown. Such a store writes something here. Other stores do nothing.
    ///
    /// # Errors
    /// As [`Store`] says.
    fn settle(&self) -> Result<(), LedgerError> {
        Ok(())
    }

    /// Returns the counters of the store, if it can add without a write to stable storage for each addition.
    fn counting(&self) -> Option<&dyn Counting> {
        None
    }

    /// Reads the store's own clock; `None` if it has none, or uses this machine's.
    ///
    /// # Errors
    /// As [`Store`] says.
    fn time(&self) -> Result<Option<UnixMillis>, LedgerError> {
        Ok(None)
    }

    /// Describes the store and its place in one line, without credentials: `s3://bucket/floe`.
    fn describe(&self) -> String;

    /// Returns whether other machines may use it too.
    fn is_shared(&self) -> bool {
        true
    }
}

/// Hands out numbers of a counter's reserved range, without a write to stable storage for each.
///
/// Beside a counter's record, the store keeps a second record under the key `left`, which a crash may lose. It says
/// where the unused part of the last reserved range begins and where it ends; the end is the first record's mark. The
/// key contains the realm's id, so that a rest in an emptied store does not belong to a new realm.
///
/// Additions are atomic, in the order in which the callers ask. Numbers that are lost with the second record are never
/// handed out: the next range begins at the mark. It may be lost, but must never be an older one: numbers would be handed
/// out twice.
pub trait Counting: Send + Sync {
    /// Takes `count` numbers, at `floor` or above, from the rest of the range under `left`, in one atomic step. It
    /// takes them only if the range is used no further than `max_mark` and has enough numbers left. `floor + count` and
    /// `max_mark + count` are at most [`MAX_MARK`](crate::ledger::MAX_MARK).
    ///
    /// # Errors
    /// As [`Store`] says.
    fn take(&self, left: &str, floor: u64, count: u64, max_mark: u64) -> Result<Taken, LedgerError>;

    /// Writes as [`Store::put`] over an existing record, and in the same atomic step adds `new` to the range under `left`. If that range ends
    /// where `new` begins, `new` extends it; otherwise `new` replaces it.
    ///
    /// # Errors
    /// As [`Store`] says.
    fn put_ahead(
        &self,
        key: &str,
        text: &str,
        expected: &Version,
        left: &str,
        new: Range<u64>,
    ) -> Result<Put, LedgerError>;

    /// Discards the numbers below `at_least` from the range under `left`.
    ///
    /// # Errors
    /// As [`Store`] says.
    fn skip(&self, left: &str, at_least: u64) -> Result<(), LedgerError>;
}

/// The answer to [`Counting::take`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Taken {
    /// The numbers below `end`.
    Numbers {
        /// The end of the used part before the call.
        previous: u64,
        /// The end of the used part now.
        end: u64,
    },
    /// No numbers. This is the rest of the range; `None` if nothing is reserved ahead.
    Left(Option<Range<u64>>),
}

/// A record with its version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The version, which identifies the write: no other write of the key ever has it, also after the record was deleted.
    pub version: Version,
    /// The record.
    pub text: String,
}

/// Identifies one write of a record: a number, or a text of the store, such as an `ETag`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Version(Box<str>);

impl Version {
    /// Makes a version of a text. [`number`](Self::number) has an example.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// Returns the version as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the number of the version; `None` if it is not a number.
    ///
    /// ```
    /// use floe::store::Version;
    /// assert_eq!(Version::from(7).number(), Some(7));
    /// assert_eq!(Version::new("d41d8cd9").number(), None);
    /// ```
    pub fn number(&self) -> Option<u64> {
        self.0.parse().ok()
    }
}

impl From<u64> for Version {
    fn from(number: u64) -> Self {
        Self(number.to_string().into())
    }
}

/// The result of [`Store::put`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Put {
    /// The record is written and on stable storage, and has this version.
    Done(Version),
    /// The store has another version, or none. Nothing was written.
    ///
    /// Never for a store that is busy: wait, or return [`LedgerError::Unavailable`]. If the record that is read after a
    /// conflict is missing, it counts as deleted.
    Conflict,
    /// As `Conflict`, with the record that the store has, read in the same atomic step.
    Found(Option<Entry>),
}
