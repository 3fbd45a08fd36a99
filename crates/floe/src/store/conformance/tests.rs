//! The cases pass over a store in memory, and fail over every store that is broken on purpose.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use super::{
    BTreeMap, Case, Entry, LedgerError, Place, Put, STORE_CASES, Store, StoreRealm, Version, run_store,
};
use crate::ledger::conformance::tests::{meanwhile, missed_by};
use crate::store::{Counting, Taken};

/// One way to be no store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    VersionIgnored,
    AbsenceIgnored,
    MakesWhatIsGone,
    RefusalWrites,
    RefusalShowsItsOwn,
    VersionIsTheKey,
    VersionsOfOneConnection,
    SwapLooksThenWrites,
    ReservingAheadLooksThenWrites,
    MakingLooksThenWrites,
    NobodyIsTold,
    ConflictsWithReaders,
    ConflictsWithItsNeighbours,
    AfterIgnored,
    AfterIsInclusive,
    LimitIgnored,
    PrefixIgnoresCase,
    InNoOrder,
    EachWriteListed,
    ListedAsFirstWritten,
    OtherRealmsListed,
    NotesListed,
    RecordCutAtTheEnd,
    KeyCutAt255,
    RecordListedShort,
}

/// Which case has to catch which fault. Others may catch it as well.
const CAUGHT: &[(Fault, &str)] = {
    use Fault::*;
    &[
        (VersionIgnored, "swaps_only_what_was_read"),
        (AbsenceIgnored, "swaps_only_what_was_read"),
        (MakesWhatIsGone, "swaps_only_what_was_read"),
        (RefusalWrites, "swaps_only_what_was_read"),
        (RefusalShowsItsOwn, "swaps_only_what_was_read"),
        (VersionIsTheKey, "swaps_only_what_was_read"),
        (VersionsOfOneConnection, "swaps_only_what_was_read"),
        (SwapLooksThenWrites, "one_swap_wins"),
        (NobodyIsTold, "one_swap_wins"),
        (ReservingAheadLooksThenWrites, "one_that_reserves_ahead_wins"),
        (MakingLooksThenWrites, "one_of_many_makes_the_record"),
        (ConflictsWithReaders, "only_a_write_of_its_own_record_refuses_a_swap"),
        (ConflictsWithItsNeighbours, "only_a_write_of_its_own_record_refuses_a_swap"),
        (AfterIgnored, "lists_each_key_once_in_order"),
        (AfterIsInclusive, "lists_each_key_once_in_order"),
        (LimitIgnored, "lists_each_key_once_in_order"),
        (PrefixIgnoresCase, "lists_each_key_once_in_order"),
        (InNoOrder, "lists_each_key_once_in_order"),
        (EachWriteListed, "lists_each_key_once_in_order"),
        (ListedAsFirstWritten, "lists_each_key_once_in_order"),
        (OtherRealmsListed, "lists_each_key_once_in_order"),
        (NotesListed, "lists_each_key_once_in_order"),
        (RecordCutAtTheEnd, "the_longest_come_back_whole"),
        (KeyCutAt255, "the_longest_come_back_whole"),
        (RecordListedShort, "the_longest_come_back_whole"),
    ]
};

pub(crate) const BROKEN_STORES: usize = CAUGHT.len();

/// What all connections write: each write of each key, the last one last.
type Kept = BTreeMap<String, Vec<(u64, String)>>;

/// A connection to a store in memory with at most one fault.
#[derive(Clone)]
struct Toy {
    fault: Option<Fault>,
    kept: Arc<Mutex<Kept>>,
    /// How often anybody has read, and written.
    calls: Arc<[AtomicU32; 2]>,
    connection: u64,
}

impl Toy {
    fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    fn key(&self, key: &str) -> String {
        let end = if self.is(Fault::KeyCutAt255) { key.len().min(255) } else { key.len() };
        key[..end].to_owned()
    }

    fn version(&self, key: &str, number: u64) -> Version {
        match self.fault {
            Some(Fault::VersionIsTheKey) => Version::new(key),
            Some(Fault::VersionsOfOneConnection) => Version::new(&format!("{} {number}", self.connection)),
            _ => Version::new(&format!("{key} {number}")),
        }
    }

    fn swap(
        &self,
        key: &str,
        text: &str,
        expected: Option<&Version>,
        looks_first: bool,
    ) -> Result<Put, LedgerError> {
        let key = self.key(key);
        let text = match self.fault {
            Some(Fault::RecordCutAtTheEnd) if text.len() > 65_535 => &text[..65_535],
            _ => text,
        };
        let agrees = |found: &Option<Entry>| {
            let is_ignored = match (expected, found) {
                (Some(_), Some(_)) => self.is(Fault::VersionIgnored),
                (Some(_), None) => self.is(Fault::MakesWhatIsGone),
                (None, _) => self.is(Fault::AbsenceIgnored),
            };
            is_ignored || found.as_ref().map(|entry| &entry.version) == expected
        };
        let before = self.get(&key)?;
        if looks_first {
            meanwhile();
        }
        for (fault, calls) in
            [Fault::ConflictsWithReaders, Fault::ConflictsWithItsNeighbours].into_iter().zip(&*self.calls)
        {
            let begun = calls.load(Ordering::SeqCst);
            if self.is(fault) && expected.is_some() {
                meanwhile();
                if calls.load(Ordering::SeqCst) != begun {
                    return Ok(Put::Conflict);
                }
            }
        }
        let mut kept = self.kept.lock().unwrap();
        let writes = kept.entry(key.clone()).or_default();
        let now = writes
            .last()
            .map(|(number, text)| Entry { version: self.version(&key, *number), text: text.clone() });
        let found = if looks_first { before } else { now };
        let number = writes.len() as u64 + 1;
        if !agrees(&found) {
            if self.is(Fault::RefusalWrites) {
                writes.push((number, text.to_owned()));
            }
            let own = || Entry { version: self.version(&key, number), text: text.to_owned() };
            return Ok(Put::Found(if self.is(Fault::RefusalShowsItsOwn) { Some(own()) } else { found }));
        }
        writes.push((number, text.to_owned()));
        self.calls[1].fetch_add(1, Ordering::SeqCst);
        let is_told = !(self.is(Fault::NobodyIsTold) && number.is_multiple_of(7));
        Ok(if is_told { Put::Done(self.version(&key, number)) } else { Put::Conflict })
    }
}

impl Store for Toy {
    fn get(&self, key: &str) -> Result<Option<Entry>, LedgerError> {
        let key = self.key(key);
        self.calls[0].fetch_add(1, Ordering::SeqCst);
        let found = self.kept.lock().unwrap().get(&key).and_then(|writes| writes.last().cloned());
        Ok(found.map(|(number, text)| Entry { version: self.version(&key, number), text }))
    }

    fn put(&self, key: &str, text: &str, expected: Option<&Version>) -> Result<Put, LedgerError> {
        let looks_first =
            if expected.is_some() { Fault::SwapLooksThenWrites } else { Fault::MakingLooksThenWrites };
        self.swap(key, text, expected, self.is(looks_first))
    }

    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        let (sort, _) = prefix.split_once('/').unwrap();
        let realm = prefix.split('/').take(2).collect::<Vec<_>>().join("/");
        let is_below = |key: &str| match self.fault {
            Some(Fault::PrefixIgnoresCase) => key.to_lowercase().starts_with(&prefix.to_lowercase()),
            Some(Fault::OtherRealmsListed) => {
                let rest = key.strip_prefix(sort).and_then(|key| key.splitn(3, '/').nth(2));
                rest.is_some_and(|rest| format!("{realm}/{rest}").starts_with(prefix))
            }
            Some(Fault::NotesListed) => key.replacen("made/", "mark/", 1).starts_with(prefix),
            _ => key.starts_with(prefix),
        };
        let is_behind = |key: &str| match self.fault {
            Some(Fault::AfterIgnored) => true,
            Some(Fault::AfterIsInclusive) => key >= after,
            _ => key > after,
        };
        let kept = self.kept.lock().unwrap();
        let mut all: Vec<_> = kept
            .iter()
            .filter(|(key, writes)| !writes.is_empty() && is_below(key) && is_behind(key))
            .flat_map(|(key, writes)| {
                let last = match self.fault {
                    Some(Fault::EachWriteListed) => &writes[..],
                    Some(Fault::ListedAsFirstWritten) => &writes[..1],
                    _ => &writes[writes.len() - 1..],
                };
                last.iter().map(|(_, text)| (key.clone(), text.clone()))
            })
            .collect();
        match self.fault {
            Some(Fault::InNoOrder) => all.reverse(),
            Some(Fault::RecordListedShort) => all.iter_mut().for_each(|(_, text)| {
                text.pop();
            }),
            _ => {}
        }
        all.truncate(if self.is(Fault::LimitIgnored) { usize::MAX } else { limit });
        Ok(all)
    }

    fn counting(&self) -> Option<&dyn Counting> {
        Some(self)
    }

    fn describe(&self) -> String {
        "a toy".to_owned()
    }
}

/// It loses what is reserved ahead at once, as a store may.
impl Counting for Toy {
    fn take(&self, _: &str, _: u64, _: u64, _: u64) -> Result<Taken, LedgerError> {
        Ok(Taken::Left(None))
    }

    fn put_ahead(
        &self,
        key: &str,
        text: &str,
        expected: &Version,
        _: &str,
        _: Range<u64>,
    ) -> Result<Put, LedgerError> {
        self.swap(key, text, Some(expected), self.is(Fault::ReservingAheadLooksThenWrites))
    }

    fn skip(&self, _: &str, _: u64) -> Result<(), LedgerError> {
        Ok(())
    }
}

/// Realms of one store with this fault.
fn realms(fault: Option<Fault>) -> impl Fn() -> StoreRealm {
    let (kept, realms) = (Arc::default(), AtomicU32::new(0));
    move || {
        let toy = Toy { fault: None, kept: Arc::clone(&kept), calls: Arc::default(), connection: 0 };
        let place = Place::make(&toy, &format!("realm-{}", realms.fetch_add(1, Ordering::SeqCst))).unwrap();
        let connections = AtomicU32::new(0);
        StoreRealm::new(move || {
            let connection = connections.fetch_add(1, Ordering::SeqCst).into();
            (Box::new(Toy { fault, connection, ..toy.clone() }), place.clone())
        })
    }
}

#[test]
fn a_store_in_memory_passes() {
    run_store(&realms(None));
}

#[test]
fn every_broken_store_is_caught() {
    let mut missed = Vec::new();
    for &(fault, name) in CAUGHT {
        let case: Case<_> = *STORE_CASES.iter().find(|case| case.name == name).unwrap();
        missed.extend(missed_by(&fault, name, || case.check(&realms(Some(fault)))));
    }
    assert!(missed.is_empty(), "the cases miss: {missed:#?}");
}

#[test]
fn every_case_catches_something() {
    let all: BTreeSet<_> = STORE_CASES.iter().map(|case| case.name).collect();
    let catching: BTreeSet<_> = CAUGHT.iter().map(|&(_, case)| case).collect();
    assert_eq!(all, catching);
}
