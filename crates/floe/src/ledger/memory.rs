//! A ledger in memory: only the contract.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Key, Ledger, LedgerError, Mark, Record, Reply, Reserve, Token};
use crate::mutation::mutate;
use crate::name::Name;

/// A ledger in the memory of the process, for tests.
///
/// A restart forgets every mark, and so it **repeats IDs of earlier runs**: segments and counters start again at their
/// first number, and snowflake names depend on the clock alone.
///
/// A clone is the same store, like a second connection.
///
/// ```
/// use floe::ledger::{Key, Ledger, Memory, Reply, Reserve, Token};
///
/// let ledger = Memory::default();
/// let request = Reserve {
///     key: Key::slot(10, 7),
///     floor: 1_000,
///     count: 500,
///     max_mark: 1_000,
///     token: Token::random()?,
///     create: true,
///     note: None,
/// };
/// let reply = ledger.reserve(&request)?;
/// assert_eq!(reply, Reply::Got { start: 1_000, end: 1_500, previous_mark: 0 });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Memory {
    state: Arc<Mutex<State>>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) marks: BTreeMap<String, Mark>,
    /// The records that `reserve` has made, whether or not they are still there.
    pub(super) made: BTreeSet<String>,
    pub(super) definitions: BTreeMap<String, String>,
    pub(super) realm_id: Option<String>,
}

#[cfg(feature = "mutations")]
impl State {
    fn push_on(&mut self, request: &Reserve) {
        let mark = self.marks.entry(request.key.as_str().to_owned()).or_default();
        mark.mark = mark.mark.saturating_add(request.count).min(super::MAX_MARK);
    }
}

impl Memory {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // Every change below is made by assignments that cannot panic halfway, so a poisoned state is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Faults that a test can inject, as they happen to a ledger on a disk or a server.
impl Memory {
    /// Deletes one record, as an eviction of keys would; returns whether it was there.
    ///
    /// ```
    /// use floe::{Floe, Layout, MintError, ledger::{Key, Memory}};
    /// let ledger = Memory::default();
    /// let floe = Floe::open(ledger.clone())?;
    /// let invoices = floe.counter("invoices")?;
    /// assert_eq!(invoices.mint()?.get(), 1);
    /// assert!(ledger.lose(&Key::name(invoices.name())));
    /// assert!(matches!(invoices.mint(), Err(MintError::Stopped(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lose(&self, key: &Key) -> bool {
        self.state().marks.remove(key.as_str()).is_some()
    }

    /// Makes a backup: a separate store with all that this one holds now, including the realm id.
    ///
    /// ```
    /// use floe::ledger::{Key, Ledger, Memory};
    /// use floe::Name;
    /// let (ledger, orders) = (Memory::default(), Name::new("orders")?);
    /// ledger.bind(&orders, "counter", true)?;
    /// let backup = ledger.backup();
    /// ledger.raise(&Key::name(&orders), 100)?;
    /// ledger.restore(&backup);
    /// assert_eq!(ledger.list("", "", 1)?[0].mark, 0); // a restored ledger has its old marks
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn backup(&self) -> Self {
        Self { state: Arc::new(Mutex::new(self.state().clone())) }
    }

    /// Replaces the content by that of `backup`, for all who have this store open. [`backup`](Self::backup) has an
    /// example.
    pub fn restore(&self, backup: &Self) {
        let old = backup.state().clone();
        *self.state() = old;
    }
}

impl Ledger for Memory {
    fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        let mut state = self.state();
        let key = request.key.as_str();
        let found = state.marks.get(key);
        if found.is_none() && state.made.contains(key) {
            return Err(LedgerError::Missing(request.key.clone()));
        }
        let (reply, written) = Mark::reserve(found, request)?;
        if let Some(mark) = written {
            if state.marks.insert(key.to_owned(), mark).is_none() {
                state.made.insert(key.to_owned());
            }
        } else if matches!(reply, Reply::Refused { .. }) {
            mutate!(RefusedReserveWrites => state.push_on(request));
        }
        Ok(reply)
    }

    fn count_at_once(&self, request: &Reserve) -> Option<Reply> {
        self.reserve(request).ok()
    }

    fn give_back(&self, key: &Key, token: Token, from: u64) -> Result<bool, LedgerError> {
        let mut state = self.state();
        let Some(mark) = state.marks.get_mut(key.as_str()) else { return Ok(false) };
        let Some(shorter) = mark.give_back(token, from) else { return Ok(false) };
        *mark = shorter;
        Ok(true)
    }

    fn bind(&self, name: &Name, definition: &str, marked: bool) -> Result<String, LedgerError> {
        let mut state = self.state();
        if let Some(stored) = state.definitions.get(name.as_str()) {
            return Ok(stored.clone());
        }
        state.definitions.insert(name.as_str().to_owned(), definition.to_owned());
        if marked {
            state.marks.entry(Key::name(name).as_str().to_owned()).or_default();
        }
        Ok(definition.to_owned())
    }

    fn definition(&self, name: &Name) -> Result<Option<String>, LedgerError> {
        Ok(self.state().definitions.get(name.as_str()).cloned())
    }

    fn names(&self, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        let state = self.state();
        let rest = state.definitions.range::<str, _>((Excluded(after), Unbounded));
        Ok(rest.take(limit).map(|(name, definition)| (name.clone(), definition.clone())).collect())
    }

    fn raise(&self, key: &Key, at_least: u64) -> Result<u64, LedgerError> {
        let mut state = self.state();
        let Some(mark) = state.marks.get_mut(key.as_str()) else {
            return Err(LedgerError::Missing(key.clone()));
        };
        let before = mark.mark;
        if let Some(raised) = mark.raise(key, at_least)? {
            *mark = raised;
        }
        Ok(before)
    }

    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<Record>, LedgerError> {
        let state = self.state();
        let rest = state.marks.range::<str, _>((Excluded(after), Unbounded));
        Ok(rest
            .filter(|(key, _)| key.starts_with(prefix))
            .take(limit)
            .map(|(key, mark)| Record { key: key.clone(), mark: mark.mark, note: mark.note.clone() })
            .collect())
    }

    fn realm_id(&self) -> Result<String, LedgerError> {
        let mut state = self.state();
        if let Some(id) = &state.realm_id {
            return Ok(id.clone());
        }
        let id = Token::random()?.hex();
        state.realm_id = Some(id.clone());
        Ok(id)
    }

    fn describe(&self) -> String {
        "memory:".to_owned()
    }

    fn is_shared(&self) -> bool {
        false
    }
}
