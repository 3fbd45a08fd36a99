//! The ledger: the trait of the one durable operation on which all of floe depends.
//!
//! A ledger holds **marks**. `reserve` moves a mark up and hands out the range between the old mark and the new one. So
//! two calls on one key never return overlapping ranges (I2), and a mark is stored *before* any ID below it is used.
//!
//! `reserve` must be linearizable and durable. An implementation decides nothing else. Run `conformance::run` (feature
//! `conformance`) over a new one.

use std::fmt;

use crate::name::Name;
use crate::time::UnixMillis;

mod beginning;
mod boxed;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod ending;
pub(crate) mod mark;
mod memory;

pub use beginning::{Beginning, begin};
pub use ending::{
    EndError, all_retired, end_of, end_on, ends_on, last_day_of, retire, retired, retirement_of,
};
pub use mark::Mark;
pub use memory::Memory;

/// The largest mark, `2^63 - 1`. Marks, starts and floors lie in `0..=MAX_MARK`.
pub const MAX_MARK: u64 = (1 << 63) - 1;

/// The longest owner note that a ledger must be able to store, in bytes of UTF-8.
pub const MAX_NOTE_BYTES: usize = 1024;

/// The key of one mark in a ledger: `s/<worker bits>/<worker id>` for a slot, `n/<name>` for a name, `c/<id>` for how
/// often a cache was opened.
///
/// ```
/// use floe::ledger::{Key, Token};
/// assert_eq!(Key::slot(10, 3).as_str(), "s/10/3");
/// assert_eq!(Key::name(&floe::Name::new("orders")?).as_str(), "n/orders");
/// let id = Token::from_bytes(*b"sixteen letters.").ok_or("no id")?;
/// assert_eq!(Key::cache(&id).as_str(), "c/7369787465656e206c6574746572732e");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key(String);

impl Key {
    /// The prefix of all slots' keys.
    pub const SLOTS: &'static str = "s/";
    /// The prefix of all names' keys.
    pub const NAMES: &'static str = "n/";
    /// The prefix of all caches' keys.
    pub const CACHES: &'static str = "c/";

    /// Makes the key of the slot of `worker`, for layouts with `worker_bits` bits of worker id. [`Key`] has an example.
    pub fn slot(worker_bits: u32, worker: u64) -> Self {
        Self(format!("{}{worker_bits}/{worker}", Self::SLOTS))
    }

    /// Makes the key of the mark of a segment, a counter or a dated name. [`Key`] has an example.
    pub fn name(name: &Name) -> Self {
        Self(format!("{}{name}", Self::NAMES))
    }

    /// Makes the key of the count of how often the cache with this id was opened. A cache in front of this ledger
    /// compares the count with its files to notice that they are an older copy. [`Key`] has an example.
    pub fn cache(id: &Token) -> Self {
        Self(format!("{}{}", Self::CACHES, id.hex()))
    }

    /// Returns the key as text, as it is stored. It has no control characters and at most 130 bytes.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Describes the key for people, who know names and not keys: `` `orders` ``, or `worker slot 3 of 10 bits`.
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

    /// Reads the worker bits and the worker id from a slot's key; `None` for other keys.
    ///
    /// ```
    /// use floe::ledger::Key;
    /// assert_eq!(Key::parse_slot("s/10/3"), Some((10, 3)));
    /// assert_eq!(Key::parse_slot("n/orders"), None);
    /// ```
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

/// Identifies one reservation: 128 bits from the operating system's randomness, never zero. Every new attempt draws
/// another one, so that a cloned process does not repeat them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Token([u8; 16]);

impl Token {
    /// Makes a token of these bytes. `None` if all are zero, since a record without a token is stored as zeros.
    ///
    /// ```
    /// use floe::ledger::Token;
    /// assert!(Token::from_bytes([0; 16]).is_none());
    /// assert_eq!(Token::from_bytes([7; 16]).map(|token| *token.as_bytes()), Some([7; 16]));
    /// ```
    pub fn from_bytes(bytes: [u8; 16]) -> Option<Self> {
        (bytes != [0; 16]).then_some(Self(bytes))
    }

    /// Draws a fresh token from the operating system's randomness.
    ///
    /// ```
    /// use floe::ledger::Token;
    /// assert_ne!(Token::random()?, Token::random()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Unavailable` if the operating system has no randomness to give.
    pub fn random() -> Result<Self, LedgerError> {
        loop {
            let mut bytes = [0; 16];
            getrandom::fill(&mut bytes).map_err(|error| {
                LedgerError::Unavailable(format!(
                    "the operating system gave no randomness ({error}): try again"
                ))
            })?;
            if let Some(token) = Self::from_bytes(bytes) {
                return Ok(token);
            }
        }
    }

    /// Returns the bytes to store.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Returns the bytes as 32 lower-case hexadecimal digits, for stores that people read.
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

/// A request to move a mark up and to own the range between the old mark and the new one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reserve {
    /// The key of the mark.
    pub key: Key,
    /// The range starts here or later.
    pub floor: u64,
    /// How many positions to reserve. With 0 the range is empty; [`begin`] uses that to move a mark.
    pub count: u64,
    /// If the mark is above this, nothing is written and the answer is [`Reply::Refused`].
    pub max_mark: u64,
    /// A repeated request with the same token gets the same range, unless another reservation came in between.
    pub token: Token,
    /// Whether to make a record that has never existed, with mark 0. Slots are made this way, and names that have a
    /// first number ([`begin`]). [`Ledger::bind`] makes the records of all other names. If a record was made in either
    /// way and is gone, it was deleted, and is not made again ([`LedgerError::Missing`]).
    pub create: bool,
    /// An owner note for people, at most [`MAX_NOTE_BYTES`] long; `None` keeps the stored note.
    pub note: Option<String>,
}

/// The answer to [`Reserve`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// The range `[start, end)` belongs to the caller alone, for ever.
    Got {
        /// `max(mark, floor)`, with the mark before this reservation.
        start: u64,
        /// The new mark.
        end: u64,
        /// The mark before this reservation. A repeated request with the same token gets the same value.
        previous_mark: u64,
    },
    /// The mark was above `max_mark`; nothing was written.
    Refused {
        /// The stored mark.
        mark: u64,
        /// The stored owner note.
        note: Option<String>,
    },
}

/// One record, for the operator's commands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// The key as text; see [`Key`].
    pub key: String,
    /// The mark: every position below it may have been handed out.
    pub mark: u64,
    /// The owner note.
    pub note: Option<String>,
}

/// A slot for which a ledger can answer by itself; see [`Ledger::at_hand`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AtHand {
    /// The slot's worker id.
    pub worker: u64,
    /// The slot's mark, as it was last seen.
    pub mark: u64,
    /// The ledger can move the mark up to here without asking the ledger behind it.
    pub end: u64,
}

/// A name of another realm; see [`Ledger::in_other_realms`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Elsewhere {
    /// The realm.
    pub realm: String,
    /// The name's definition there.
    pub definition: String,
    /// The name's mark there; 0 if its kind has none.
    pub mark: u64,
}

/// Why a ledger did not answer a request.
///
/// Each variant needs a different reaction. The text names the cause and the way out.
#[derive(Clone, PartialEq, Eq)]
pub enum LedgerError {
    /// The ledger is out of reach, busy or full, or did not answer. It is unknown whether the request took effect.
    /// Retry.
    Unavailable(String),
    /// The ledger must not be used: it was replaced, is corrupt, or was written by a newer floe. Uniqueness is at
    /// stake, and every name on it stops.
    Unfit(String),
    /// The record of a bound name, or of a slot that was made, was deleted. The name stops; nodes do not use the slot.
    Missing(Key),
    /// The range would pass `2^63 - 1`. Nothing was written.
    Overflow {
        /// The key of the mark.
        key: Key,
        /// The stored mark.
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
/// Calls block, take `&self`, and may come from several threads at once. Two ledgers on one store, in two processes or
/// opened twice in one process, see the same marks. [`Memory`] is the smallest ledger; [`crate::store`] makes one of
/// any store that can compare and swap.
pub trait Ledger: Send + Sync {
    /// Moves a mark up, and gives the caller the range between the old mark and the new one.
    ///
    /// ```text
    /// record's token == token      -> the same range again
    /// mark > max_mark              -> Refused, and nothing is written
    /// max(mark, floor) + count > MAX_MARK -> Overflow, and nothing is written (no record is made either)
    /// otherwise                       start = max(mark, floor); record = { previous = mark, start, mark = start + count, token }
    /// ```
    /// When it returns `Got`, the record is on stable storage.
    ///
    /// A ledger remembers, apart from the records, which of them `create` has made. If such a record is gone, the
    /// answer is `Missing`. Otherwise the next node to take the slot could get time in which its last holder still
    /// mints.
    ///
    /// ```
    /// use floe::ledger::{Key, Ledger, MAX_MARK, Memory, Reply, Reserve, Token};
    /// let ledger = Memory::default();
    /// let (key, token) = (Key::slot(10, 7), Token::random()?);
    /// let first = Reserve { key, floor: 100, count: 50, max_mark: MAX_MARK, token, create: true, note: None };
    /// let got = Reply::Got { start: 100, end: 150, previous_mark: 0 };
    /// assert_eq!(ledger.reserve(&first)?, got);
    /// assert_eq!(ledger.reserve(&first)?, got); // a retry: the same token, the same range
    /// let next = Reserve { token: Token::random()?, ..first };
    /// assert_eq!(ledger.reserve(&next)?, Reply::Got { start: 150, end: 200, previous_mark: 150 });
    /// let late = Reserve { token: Token::random()?, max_mark: 150, ..next };
    /// assert_eq!(ledger.reserve(&late)?, Reply::Refused { mark: 200, note: None });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Any [`LedgerError`]; after `Unavailable` the caller may retry with the same token.
    fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError>;

    /// Reserves for a counter, as [`Ledger::reserve`] does. The order of its ranges is the order of the calls. Every
    /// request has a fresh token and makes no record, and no range is given back.
    ///
    /// A ledger may keep the stored mark ahead of the ranges that it hands out. Then it can answer without a write to
    /// stable storage for each call. It must not move the mark past the last position that the caller may have. After a
    /// crash it goes on at the mark. Ranges that `reserve` hands out on the same key are disjoint from these, in no
    /// particular order.
    ///
    /// ```
    /// use floe::Name;
    /// use floe::ledger::{Key, Ledger, MAX_MARK, Memory, Reply, Reserve, Token};
    /// let (ledger, visits) = (Memory::default(), Name::new("visits")?);
    /// ledger.bind(&visits, "counter", true)?;
    /// let (key, token) = (Key::name(&visits), Token::random()?);
    /// let three = Reserve { key, floor: 0, count: 3, max_mark: MAX_MARK, token, create: false, note: None };
    /// assert_eq!(ledger.count(&three)?, Reply::Got { start: 0, end: 3, previous_mark: 0 });
    /// let again = Reserve { token: Token::random()?, ..three }; // never the same token twice
    /// assert_eq!(ledger.count(&again)?, Reply::Got { start: 3, end: 6, previous_mark: 3 });
    /// let third = Reserve { token: Token::random()?, ..again };
    /// assert!(ledger.count_at_once(&third).is_some()); // this ledger never waits
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of `reserve`; after `Unavailable` the caller retries with a fresh token.
    fn count(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        self.reserve(request)
    }

    /// Does what [`Ledger::count`] does, if that needs no wait for a disk, a network or another caller. `None` means
    /// that it might: then call `count`. A thread that waits for a counter asks this way first. An answer saves it two
    /// changes of threads, which take longer than the answer of a ledger in this machine's memory.
    /// [`count`](Self::count) has an example.
    fn count_at_once(&self, request: &Reserve) -> Option<Reply> {
        let _ = request;
        None
    }

    /// Gives the tail of a reservation back. If the record still holds `token` and `start <= from <= mark`, the mark
    /// becomes `from`, the token is cleared, and the answer is true. Otherwise nothing is written, and the answer is
    /// false. The note stays.
    ///
    /// ```
    /// use floe::ledger::{Key, Ledger, MAX_MARK, Memory, Reserve, Token};
    /// let (ledger, key, token) = (Memory::default(), Key::slot(10, 7), Token::random()?);
    /// let request = Reserve { key, floor: 0, count: 50, max_mark: MAX_MARK, token, create: true, note: None };
    /// ledger.reserve(&request)?;
    /// assert!(!ledger.give_back(&request.key, Token::random()?, 20)?); // another reservation's token
    /// assert!(ledger.give_back(&request.key, token, 20)?); // 20 to 49 were not used
    /// assert!(!ledger.give_back(&request.key, token, 10)?); // only once
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Unavailable` or `Unfit`. A caller that does not know the outcome may retry: if the first call took effect, the
    /// token is gone.
    fn give_back(&self, key: &Key, token: Token, from: u64) -> Result<bool, LedgerError>;

    /// Binds a name to its definition, once: stores `definition` if the name has none, and returns the stored one.
    ///
    /// With `marked`, a new name also gets its record, with mark 0, in the same step. A record that is there already
    /// keeps its mark: see [`begin`]. A name that is bound already gets no record, so that a deleted record stays
    /// missing.
    ///
    /// ```
    /// use floe::Name;
    /// use floe::ledger::{Ledger, Memory};
    /// let ledger = Memory::default();
    /// let (orders, tickets) = (Name::new("orders")?, Name::new("tickets")?);
    /// assert_eq!(ledger.bind(&orders, "counter", true)?, "counter");
    /// assert_eq!(ledger.bind(&orders, "segment first=1 step=1", true)?, "counter"); // the first one stays
    /// ledger.bind(&tickets, "ulid", false)?; // a kind without a mark
    /// assert_eq!(ledger.list("n/", "", 10)?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Missing` if the name was made, and somebody deleted all of it; `Unavailable` or `Unfit`.
    fn bind(&self, name: &Name, definition: &str, marked: bool) -> Result<String, LedgerError>;

    /// Returns the definition to which a name is bound; `None` if it is not bound.
    ///
    /// ```
    /// use floe::Name;
    /// use floe::ledger::{Ledger, Memory};
    /// let (ledger, orders) = (Memory::default(), Name::new("orders")?);
    /// assert_eq!(ledger.definition(&orders)?, None);
    /// ledger.bind(&orders, "counter", true)?;
    /// assert_eq!(ledger.definition(&orders)?.as_deref(), Some("counter"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Unavailable` or `Unfit`.
    fn definition(&self, name: &Name) -> Result<Option<String>, LedgerError>;

    /// Lists up to `limit` bound names after `after` in byte order, each with its definition. It returns fewer only if
    /// there are no more.
    ///
    /// ```
    /// use floe::Name;
    /// use floe::ledger::{Ledger, Memory};
    /// let ledger = Memory::default();
    /// for name in ["a", "b", "c"] {
    ///     ledger.bind(&Name::new(name)?, "counter", true)?;
    /// }
    /// let first = ledger.names("", 2)?;
    /// assert_eq!(first.last().map(|(name, _)| name.as_str()), Some("b"));
    /// assert_eq!(ledger.names("b", 2)?, [("c".to_owned(), "counter".to_owned())]); // fewer than 2: the last page
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Unavailable` or `Unfit`.
    fn names(&self, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError>;

    /// Moves a mark up to at least `at_least`, never down, clears the record's token if it moved, and returns the
    /// mark before. The note stays.
    ///
    /// ```
    /// use floe::Name;
    /// use floe::ledger::{Key, Ledger, LedgerError, Memory};
    /// let (ledger, orders) = (Memory::default(), Name::new("orders")?);
    /// assert!(matches!(ledger.raise(&Key::name(&orders), 500), Err(LedgerError::Missing(_))));
    /// ledger.bind(&orders, "counter", true)?;
    /// assert_eq!(ledger.raise(&Key::name(&orders), 500)?, 0); // the mark before
    /// assert_eq!(ledger.raise(&Key::name(&orders), 200)?, 500); // never down
    /// assert_eq!(ledger.list("n/orders", "", 1)?[0].mark, 500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Missing` if there is no such record, which is not made; `Overflow` above [`MAX_MARK`]; `Unavailable` or
    /// `Unfit`.
    fn raise(&self, key: &Key, at_least: u64) -> Result<u64, LedgerError>;

    /// Lists up to `limit` records whose key starts with `prefix`, after the key `after`, in byte order. It returns
    /// fewer only if there are no more.
    ///
    /// ```
    /// use floe::ledger::{Key, Ledger, Memory};
    /// use floe::{Floe, Layout};
    /// let ledger = Memory::default();
    /// let floe = Floe::open(ledger.clone())?;
    /// (floe.counter("orders")?, floe.counter("tickets")?);
    /// floe.snowflake("users", Layout::TWITTER)?.mint()?;
    /// let keys = |prefix, after| ledger.list(prefix, after, 10).map(|found| found.into_iter().map(|record| record.key));
    /// assert!(keys(Key::NAMES, "")?.eq(["n/orders", "n/tickets"]));
    /// assert!(keys(Key::NAMES, "n/orders")?.eq(["n/tickets"]));
    /// assert_eq!(keys(Key::SLOTS, "")?.count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `Unavailable` or `Unfit`.
    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<Record>, LedgerError>;

    /// Reads the ledger's own clock; `None` if it has none, or uses this machine's.
    ///
    /// # Errors
    /// `Unavailable` or `Unfit`.
    fn clock(&self) -> Result<Option<UnixMillis>, LedgerError> {
        Ok(None)
    }

    /// Finds some other realms of this store that have a name of this text, each with the name's definition and mark. A
    /// name that is new here may have been meant for one of them. A ledger that does not look returns none.
    ///
    /// # Errors
    /// `Unavailable` or `Unfit`.
    fn in_other_realms(&self, name: &Name) -> Result<Vec<Elsewhere>, LedgerError> {
        let _ = name;
        Ok(Vec::new())
    }

    /// Returns the random id that this realm got when it was made, for logs and to tell realms apart.
    ///
    /// ```
    /// use floe::ledger::{Ledger, Memory};
    /// let ledger = Memory::default();
    /// assert_eq!(ledger.clone().realm_id()?, ledger.realm_id()?); // another connection to the same store
    /// assert_ne!(Memory::default().realm_id()?, ledger.realm_id()?);
    /// # Ok::<(), floe::LedgerError>(())
    /// ```
    ///
    /// # Errors
    /// `Unavailable` or `Unfit`.
    fn realm_id(&self) -> Result<String, LedgerError>;

    /// Describes the ledger and its place in one line, without credentials: `sqlite:floe-data/floe.db`.
    fn describe(&self) -> String;

    /// Returns the slots of `worker_bits` bits for which this ledger can answer by itself, if it stands in front of
    /// another ledger that may be out of reach. A node tries these slots first. The answer comes at once, from memory,
    /// and uniqueness does not depend on it.
    fn at_hand(&self, worker_bits: u32) -> Vec<AtHand> {
        let _ = worker_bits;
        Vec::new()
    }

    /// Returns whether other machines may use the ledger too. On a shared ledger, nodes renew their windows while idle;
    /// to an embedded one, an idle node does not write.
    fn is_shared(&self) -> bool {
        true
    }
}

fn missing(key: &Key) -> String {
    match Key::parse_slot(key.as_str()) {
        Some((bits, worker)) => format!(
            "the record of worker slot {worker} of {bits} bits ({key}) was deleted from the ledger: no node may take that slot again before its last window has passed. docs/ledgers.md says how to put it back into use"
        ),
        None => format!(
            "the record of {} is missing from the ledger, although it was made there: restore it from a backup, then raise the mark above every ID in use",
            key.subject()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An operator knows of no such key.
    #[test]
    fn a_key_of_a_cache_is_described_as_a_cache() {
        let id = Token::from_bytes([7; 16]).unwrap();
        assert_eq!(Key::cache(&id).subject(), "a cache");
    }

    /// It stands for no token where a store has none.
    #[test]
    fn sixteen_zeros_are_no_token() {
        assert_eq!(Token::from_bytes([0; 16]), None);
        let mut bytes = [0; 16];
        bytes[15] = 1;
        assert_eq!(Token::from_bytes(bytes).map(|token| *token.as_bytes()), Some(bytes));
    }
}
