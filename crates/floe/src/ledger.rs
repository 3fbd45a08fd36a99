//! The ledger: the one durable operation that everything rests on, as a trait that a store implements.
//!
//! A ledger holds **marks**. `reserve` moves a mark up and hands out what lies below it, so no two calls on one
//! key ever return overlapping ranges (I2), and a mark is written *before* anything under it is used. An
//! implementation must be linearizable and durable for `reserve`; it decides nothing else. Run
//! `conformance::run` (feature `conformance`) over a new one.

use std::fmt;

use crate::name::Name;
use crate::time::UnixMillis;

mod beginning;
mod boxed;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod ending;
mod mark;
mod memory;

pub use beginning::{Beginning, begin};
pub use ending::{EndError, all_retired, end_on, ends_on, last_day_of, retire, retired, retirement_of};
pub use mark::Mark;
pub use memory::Memory;

/// Marks, starts and floors lie in `0..=MAX_MARK`, which is `2^63 - 1`.
pub const MAX_MARK: u64 = (1 << 63) - 1;

/// The longest owner note that a ledger has to hold, in bytes of UTF-8.
pub const MAX_NOTE_BYTES: usize = 1024;

/// The place of one mark in a ledger: `s/<worker bits>/<worker id>` for a slot, `n/<name>` for a name, `c/<id>` for the
/// openings of a cache.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key(String);

impl Key {
    /// The prefix of all slots' keys.
    pub const SLOTS: &'static str = "s/";
    /// The prefix of all names' keys.
    pub const NAMES: &'static str = "n/";
    /// The prefix of all caches' keys.
    pub const CACHES: &'static str = "c/";

    /// The slot of `worker` among the layouts with `worker_bits` bits for the worker id.
    pub fn slot(worker_bits: u32, worker: u64) -> Self {
        Self(format!("{}{worker_bits}/{worker}", Self::SLOTS))
    }

    /// The mark of a segment, a counter or a dated name.
    pub fn name(name: &Name) -> Self {
        Self(format!("{}{name}", Self::NAMES))
    }

    /// The count of the openings of a cache, by the cache's id. It is no name's and no slot's: a cache in front of this
    /// ledger tells by it whether its files are an older copy.
    pub fn cache(id: &Token) -> Self {
        Self(format!("{}{}", Self::CACHES, id.hex()))
    }

    /// The key as text, as it is stored. It has no control characters and at most 130 bytes.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What the key is of, for people, who know names and not keys: `` `orders` ``, or `worker slot 3 of 10 bits`.
    ///
    /// ```
    /// use floe::ledger::Key;
    ///
    /// assert_eq!(Key::name(&floe::Name::new("orders")?).subject(), "`orders`");
    /// assert_eq!(Key::slot(10, 3).subject(), "worker slot 3 of 10 bits");
    /// # Ok::<_, floe::NameError>(())
    /// ```
    pub fn subject(&self) -> String {
        match (self.0.strip_prefix(Self::NAMES), Self::parse_slot(&self.0)) {
            (Some(name), _) => format!("`{name}`"),
            (None, Some((bits, worker))) => format!("worker slot {worker} of {bits} bits"),
            (None, None) => "a cache".to_owned(),
        }
    }

    /// The worker bits and the worker id of a slot's key.
    pub fn parse_slot(text: &str) -> Option<(u32, u64)> {
        let (bits, worker) = text.strip_prefix(Self::SLOTS)?.split_once('/')?;
        Some((bits.parse().ok()?, worker.parse().ok()?))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What makes one reservation recognisable: 128 bits from the operating system, drawn for every new attempt, so
/// that a cloned process does not repeat them. Never zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token([u8; 16]);

impl Token {
    /// A token of these bytes, or `None` where all are zero (a record without a token is stored as zeros).
    pub fn from_bytes(bytes: [u8; 16]) -> Option<Self> {
        (bytes != [0; 16]).then_some(Self(bytes))
    }

    /// A fresh token from the operating system's randomness.
    ///
    /// # Errors
    /// The operating system's own, where it has no randomness to give.
    pub fn random() -> Result<Self, getrandom::Error> {
        loop {
            let mut bytes = [0; 16];
            getrandom::fill(&mut bytes)?;
            if let Some(token) = Self::from_bytes(bytes) {
                return Ok(token);
            }
        }
    }

    /// The bytes to store.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// All of them as 32 lower-case hexadecimal digits, as stores keep them for people.
    ///
    /// ```
    /// use floe::ledger::Token;
    /// let token = Token::from_bytes(*b"sixteen letters.").unwrap();
    /// assert_eq!(token.hex(), "7369787465656e206c6574746572732e");
    /// ```
    pub fn hex(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A request to move a mark up and to own what lies between.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reserve {
    /// Which mark.
    pub key: Key,
    /// The range starts here or later.
    pub floor: u64,
    /// How many positions. 0 gets an empty range, as the formula says, and is of no use to anyone.
    pub count: u64,
    /// Where the mark is above this, nothing is written and the answer is [`Reply::Refused`].
    pub max_mark: u64,
    /// The same token again gets the same range again, as long as nobody else has reserved in between.
    pub token: Token,
    /// Whether a record that never was is made, with mark 0. Slots come into being this way, and names that have a first
    /// number ([`begin`]); any other name's record is made by [`Ledger::bind`]. A record that was made either way and is gone is not made anew: something ate it
    /// ([`LedgerError::Missing`]).
    pub create: bool,
    /// An owner note for people, at most [`MAX_NOTE_BYTES`] long; `None` keeps the one that is there.
    pub note: Option<String>,
}

/// The answer to [`Reserve`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// `[start, end)` now belongs to the caller alone, for ever.
    Got {
        /// `max(mark, floor)` of the record as it was.
        start: u64,
        /// The new mark.
        end: u64,
        /// The mark before this reservation (the same one when the same token asks again).
        previous_mark: u64,
    },
    /// The mark was above `max_mark`; nothing was written.
    Refused {
        /// The mark as it is.
        mark: u64,
        /// The owner note as it is.
        note: Option<String>,
    },
}

/// One record, for the operator's commands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// The key as text; see [`Key`].
    pub key: String,
    /// Everything below it may have been handed out.
    pub mark: u64,
    /// The owner note.
    pub note: Option<String>,
}

/// A slot that a ledger can answer for by itself; see [`Ledger::at_hand`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AtHand {
    /// The slot's worker id.
    pub worker: u64,
    /// The slot's mark, as it was last seen.
    pub mark: u64,
    /// Up to here the mark can be moved without asking anybody.
    pub end: u64,
}

/// A name of another realm; see [`Ledger::in_other_realms`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Elsewhere {
    /// The realm.
    pub realm: String,
    /// What the name is there.
    pub definition: String,
    /// Its mark there; 0 where its kind has none.
    pub mark: u64,
}

/// Why a ledger did not do what it was asked.
///
/// Each variant is a different thing to do next; the text names the cause and the way out.
#[derive(Clone, PartialEq, Eq)]
pub enum LedgerError {
    /// Out of reach, busy, full, or no answer: whether the request took effect is unknown. Try again.
    Unavailable(String),
    /// Not the ledger that it was, or not fit to be one (replaced, corrupt, written by a newer floe): uniqueness
    /// is at stake, and every name on it stops.
    Unfit(String),
    /// The record of a name that was bound, or of a slot that was made, is gone: something ate it. The name stops; the
    /// slot is left alone.
    Missing(Key),
    /// The range would pass `2^63 - 1`. Nothing was written.
    Overflow {
        /// Which mark.
        key: Key,
        /// The mark as it is.
        mark: u64,
    },
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(text) => write!(f, "{text}"),
            Self::Unfit(text) => write!(f, "{text}"),
            Self::Missing(key) => f.write_str(&missing(key)),
            Self::Overflow { key, mark } => {
                write!(f, "{} is used up: its mark {mark} leaves no room below 2^63", key.subject())
            }
        }
    }
}

floe_id::__error!(LedgerError);

/// A durable, linearizable store of marks.
///
/// Calls block, take `&self`, and may come from several threads at once. Two values of a ledger on one store (two
/// processes, or two opens in one) see the same marks.
pub trait Ledger: Send + Sync {
    /// The one operation.
    ///
    /// ```text
    /// record's token == token      -> the same range again
    /// mark > max_mark              -> Refused, and nothing is written
    /// max(mark, floor) + count > MAX_MARK -> Overflow, and nothing is written (no record is made either)
    /// otherwise                       start = max(mark, floor); record = { previous = mark, start, mark = start + count, token }
    /// ```
    /// When it returns `Got`, the record is on stable storage.
    ///
    /// Which records `create` has made is remembered apart from the records: where one of them is gone it is `Missing`,
    /// and whoever takes the slot next is not given time that its last holder still mints in.
    ///
    /// # Errors
    /// Any [`LedgerError`]; after `Unavailable` the caller may ask again with the same token.
    fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError>;

    /// As [`Ledger::reserve`], for a counter: the order of its ranges is the order of the calls, every request has a
    /// fresh token and wants no record made, and no range is given back.
    ///
    /// A ledger may keep the mark ahead, on stable storage, of what it hands out below it, and so answer without a
    /// write to stable storage of its own; not past the last position that the caller may have. After a
    /// crash it goes on at the mark. What `reserve` hands out of the same key is disjoint from it and stands in no order to it.
    ///
    /// # Errors
    /// Those of `reserve`; after `Unavailable` the caller asks with a fresh token.
    fn count(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        self.reserve(request)
    }

    /// Gives the tail of a reservation back: where the record still holds `token` and `start <= from <= mark`, the
    /// mark becomes `from`, the token is cleared, and the answer is true. Otherwise nothing is written: false. The
    /// note stays.
    ///
    /// # Errors
    /// `Unavailable` or `Unfit`. A caller that does not know the outcome may ask again: the token is gone by then.
    fn give_back(&self, key: &Key, token: Token, from: u64) -> Result<bool, LedgerError>;

    /// Ties a name to its definition, once: stores `definition` if the name has none, and returns the one that is
    /// stored. A new name with `marked` also gets its record, with mark 0, in the same step (a record that is there
    /// already keeps its mark: see [`begin`]). A name that is bound gets no record: one that was eaten stays missed.
    ///
    /// # Errors
    /// `Unavailable` or `Unfit`.
    fn bind(&self, name: &Name, definition: &str, marked: bool) -> Result<String, LedgerError>;

    /// The definition that a name is bound to.
    ///
    /// # Errors
    /// `Unavailable` or `Unfit`.
    fn definition(&self, name: &Name) -> Result<Option<String>, LedgerError>;

    /// Up to `limit` bound names after `after` in byte order, each with its definition; fewer only where there are
    /// no more.
    ///
    /// # Errors
    /// `Unavailable` or `Unfit`.
    fn names(&self, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError>;

    /// Moves a mark up to at least `at_least`, never down, clears the record's token if it moved, and returns the
    /// mark before. The note stays.
    ///
    /// # Errors
    /// `Missing` where there is no such record, which is not made; `Overflow` above [`MAX_MARK`]; `Unavailable` or
    /// `Unfit`.
    fn raise(&self, key: &Key, at_least: u64) -> Result<u64, LedgerError>;

    /// Up to `limit` records whose key starts with `prefix`, after the key `after`, in byte order; fewer only where
    /// there are no more.
    ///
    /// # Errors
    /// `Unavailable` or `Unfit`.
    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<Record>, LedgerError>;

    /// The ledger's own clock, where it has one that is not this machine's.
    ///
    /// # Errors
    /// `Unavailable` or `Unfit`.
    fn clock(&self) -> Result<Option<UnixMillis>, LedgerError> {
        Ok(None)
    }

    /// Some other realms of this store that have a name of this text, each with the name's definition and mark there: a
    /// name that is new here may have been meant there. None from a ledger that does not look.
    ///
    /// # Errors
    /// `Unavailable` or `Unfit`.
    fn in_other_realms(&self, name: &Name) -> Result<Vec<Elsewhere>, LedgerError> {
        let _ = name;
        Ok(Vec::new())
    }

    /// The random id that was given to this realm when it was made, for logs and for telling realms apart.
    ///
    /// # Errors
    /// `Unavailable` or `Unfit`.
    fn realm_id(&self) -> Result<String, LedgerError>;

    /// What it is and where, in one line, without credentials: `sqlite:floe-data/floe.db`.
    fn describe(&self) -> String;

    /// The slots of `worker_bits` bits that this ledger can answer for by itself, where it stands before another one that
    /// may be out of reach: a node probes them first. It answers at once, from memory, and nothing that is unique hangs
    /// on the answer.
    fn at_hand(&self, worker_bits: u32) -> Vec<AtHand> {
        let _ = worker_bits;
        Vec::new()
    }

    /// Whether other machines may use it too. A shared ledger is worth keeping windows renewed for; an embedded one
    /// should not be written to while idle.
    fn is_shared(&self) -> bool {
        true
    }
}

fn missing(key: &Key) -> String {
    match Key::parse_slot(key.as_str()) {
        Some((bits, worker)) => format!(
            "the record of worker slot {worker} of {bits} bits ({key}) was deleted from the ledger: nobody may take that slot again before the last window in it has passed. docs/ledgers.md says how it is taken back into use"
        ),
        None => format!(
            "the record of {} is missing from the ledger, although it was made there: restore it from a backup, then raise the mark above every ID in use",
            key.subject()
        ),
    }
}
