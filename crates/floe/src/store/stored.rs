//! A ledger on any store.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::content::{Body, Content};
use super::{Change, Counting, Heard, Next, Place, Put, Seen, Store, Taken, Version};
use crate::ledger::{Elsewhere, Key, Ledger, LedgerError, MAX_MARK, Mark, Record, Reply, Reserve, Token};
use crate::name::Name;
use crate::time::UnixMillis;

/// How many records without a call under way are remembered.
const REMEMBERED: usize = 4_096;

/// How many times a count reserves ahead at most, if others take what it has reserved each time.
const MOST_TRIES: u32 = 100;

/// How many records one call of a list asks for.
const PAGE: usize = 5_000;

/// How many other realms a search for a name looks at, and how many of those with the name it returns.
pub(crate) const LOOKED_AT: usize = 100;
pub(crate) const TOLD_OF: usize = 10;

/// A ledger on a [`Store`].
///
/// An uncontended call on a record that this process has written before takes one [`Store::put`]. Calls on one record
/// queue up in the process, so that it does not race with itself. [`Store`] has an example.
#[derive(Debug)]
pub struct Stored<S> {
    store: S,
    place: Place,
    seen: Mutex<HashMap<Key, Arc<Mutex<Seen>>>>,
}

impl<S: Store> Stored<S> {
    /// Makes the ledger in a realm of `store`. [`Store`] has an example.
    pub fn new(store: S, place: Place) -> Self {
        Self { store, place, seen: Mutex::default() }
    }

    /// Returns the store.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Returns the store and the place of the realm in it. [`Stored::new`] takes both again.
    pub fn into_parts(self) -> (S, Place) {
        (self.store, self.place)
    }

    /// What is known of a record, for the call whose turn it is.
    fn turn(&self, key: &Key) -> Arc<Mutex<Seen>> {
        let mut seen = lock(&self.seen);
        if seen.len() >= REMEMBERED && !seen.contains_key(key) {
            seen.retain(|_, seen| Arc::strong_count(seen) > 1);
        }
        Arc::clone(seen.entry(key.clone()).or_default())
    }

    fn change<T: Clone>(
        &self,
        key: &Key,
        change: impl FnOnce(Place, Seen) -> Change<T>,
    ) -> Result<T, LedgerError> {
        self.change_by(key, change, |key, text, expected| self.store.put(key, text, expected))
    }

    fn change_by<T: Clone>(
        &self,
        key: &Key,
        change: impl FnOnce(Place, Seen) -> Change<T>,
        put: impl Fn(&str, &str, Option<&Version>) -> Result<Put, LedgerError>,
    ) -> Result<T, LedgerError> {
        let turn = self.turn(key);
        let mut seen = lock(&turn);
        let mut change = change(self.place.clone(), std::mem::take(&mut *seen));
        let mut heard = Heard::Nothing;
        let outcome = loop {
            heard = match change.next(heard) {
                Next::Get(key) => self.store.get(&key).map_or_else(Heard::Failed, Heard::Entry),
                Next::Put { key, text, expected } => {
                    put(&key, &text, expected.as_ref()).map_or_else(Heard::Failed, Heard::Put)
                }
                Next::Wait(time) => {
                    // Waking early does no harm: the next look shows what is there.
                    thread::park_timeout(time);
                    Heard::Nothing
                }
                Next::Done(outcome) => break outcome,
            };
        };
        let outcome = match outcome {
            Ok(answer) if change.rests_on_what_was_read(&answer) => self.store.settle().map(|()| answer),
            outcome => outcome,
        };
        *seen = change.into_seen();
        outcome
    }

    /// Another range for a counter that has too little left. Returns the new part.
    fn reserve_ahead(
        &self,
        counting: &dyn Counting,
        request: &Reserve,
        left: Option<Range<u64>>,
    ) -> Result<Reply, LedgerError> {
        let (record, ahead) = (self.place.mark(&request.key), self.place.left(&request.key));
        let put = |key: &str, text: &str, expected: Option<&Version>| match (Content::read(text), expected) {
            (Ok(Content { body: Body { mark: Some(Mark { start, mark, .. }), .. }, .. }), Some(expected))
                if key == record =>
            {
                counting.put_ahead(key, text, expected, &ahead, start..mark)
            }
            _ => self.store.put(key, text, expected),
        };
        self.change_by(&request.key, |place, seen| Change::reserve_ahead(place, seen, request, left), put)
    }

    /// The records below `base` with keys that begin with `prefix`, if `read` returns something for them.
    fn page<T>(
        &self,
        base: &str,
        prefix: &str,
        after: &str,
        limit: usize,
        read: impl Fn(&str, Content) -> Option<T>,
    ) -> Result<Vec<T>, LedgerError> {
        let prefix = format!("{base}{prefix}");
        let mut after = if after.is_empty() { String::new() } else { format!("{base}{after}") };
        let mut all = Vec::new();
        while all.len() < limit {
            let asked = (limit - all.len()).min(PAGE);
            let found = self.store.list(&prefix, &after, asked)?;
            let is_last = found.len() < asked;
            for (key, text) in &found {
                let content = self.read(key, text)?;
                all.extend(key.strip_prefix(base).and_then(|key| read(key, content)));
            }
            match found.into_iter().last() {
                Some((key, _)) if !is_last => after = key,
                _ => break,
            }
        }
        Ok(all)
    }

    fn read(&self, key: &str, text: &str) -> Result<Content, LedgerError> {
        let content = Content::read(text).map_err(|fault| fault.at(key, self.place.store()))?;
        self.place.check(&content.realm)?;
        Ok(content)
    }
}

impl<S: Store> Ledger for Stored<S> {
    fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        self.change(&request.key, |place, seen| Change::reserve(place, seen, request))
    }

    fn count(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        // Where a sum could be too large, the reserve says so, and a store need not look.
        let highest = MAX_MARK.checked_sub(request.count).filter(|highest| request.floor <= *highest);
        let (Some(counting), Some(highest)) = (self.store.counting(), highest) else {
            return self.reserve(request);
        };
        let (ahead, max_mark) = (self.place.left(&request.key), request.max_mark.min(highest));
        let (mut before, mut is_refused) = (None, false);
        for _ in 0..MOST_TRIES {
            let left = match counting.take(&ahead, request.floor, request.count, max_mark)? {
                Taken::Numbers { previous, end } => {
                    let start = end.saturating_sub(request.count);
                    return Ok(Reply::Got { start, end, previous_mark: previous });
                }
                Taken::Left(left) => left,
            };
            // It is the same for the second time, so nobody has extended it: something else has moved the mark.
            let is_of_use = before.as_ref() != Some(&left);
            before = Some(left.clone());
            let left = left.filter(|_| is_of_use);
            let found_none = left.is_none();
            if let refused @ Reply::Refused { .. } = self.reserve_ahead(counting, request, left)? {
                // Another may have reserved all that there is after this call had found nothing.
                if !found_none || is_refused {
                    return Ok(refused);
                }
                is_refused = true;
            }
        }
        Err(LedgerError::Unavailable(format!(
            "others took the numbers of {} at {} {MOST_TRIES} times before this call could: try again, or reserve more at once",
            request.key.subject(),
            self.store.describe()
        )))
    }

    fn give_back(&self, key: &Key, token: Token, from: u64) -> Result<bool, LedgerError> {
        self.change(key, |place, seen| Change::give_back(place, seen, key, token, from))
    }

    fn bind(&self, name: &Name, definition: &str, marked: bool) -> Result<String, LedgerError> {
        self.change(&Key::name(name), |place, seen| Change::bind(place, seen, name, definition, marked))
    }

    fn definition(&self, name: &Name) -> Result<Option<String>, LedgerError> {
        let key = self.place.mark(&Key::name(name));
        let Some(entry) = self.store.get(&key)? else { return Ok(None) };
        Ok(self.read(&key, &entry.text)?.body.definition)
    }

    fn names(&self, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        let base = format!("{}{}", self.place.marks(), Key::NAMES);
        self.page(&base, "", after, limit, |name, content| Some((name.to_owned(), content.body.definition?)))
    }

    fn raise(&self, key: &Key, at_least: u64) -> Result<u64, LedgerError> {
        let before = self.change(key, |place, seen| Change::raise(place, seen, key, at_least))?;
        if let Some(counting) = self.store.counting() {
            counting.skip(&self.place.left(key), at_least)?;
        }
        Ok(before)
    }

    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<Record>, LedgerError> {
        self.page(&self.place.marks(), prefix, after, limit, |key, content| {
            let mark = content.body.mark?;
            Some(Record { key: key.to_owned(), mark: mark.mark, note: mark.note })
        })
    }

    fn clock(&self) -> Result<Option<UnixMillis>, LedgerError> {
        self.store.time()
    }

    fn in_other_realms(&self, name: &Name) -> Result<Vec<Elsewhere>, LedgerError> {
        let mut found = Vec::new();
        // The own one is among them.
        for realm in Place::realms(&self.store, LOOKED_AT + 1)? {
            if realm == self.place.realm() {
                continue;
            }
            let Some(entry) = self.store.get(&Place::name_in(&realm, name))? else { continue };
            // Damage in another realm concerns only that realm.
            let Ok(Content { body, .. }) = Content::read(&entry.text) else { continue };
            let Some(definition) = body.definition else { continue };
            found.push(Elsewhere { realm, definition, mark: body.mark.map_or(0, |mark| mark.mark) });
            if found.len() == TOLD_OF {
                break;
            }
        }
        Ok(found)
    }

    fn realm_id(&self) -> Result<String, LedgerError> {
        Ok(self.place.id().to_owned())
    }

    fn describe(&self) -> String {
        self.store.describe()
    }

    fn is_shared(&self) -> bool {
        self.store.is_shared()
    }
}

/// A panic leaves a complete value: it is replaced in one step, and used only as a guess.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
