//! The suite passes over the ledger in memory, and fails over every ledger that is broken on purpose.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use super::{CASES, Realm, run_case};
use crate::ledger::Mark;
use crate::ledger::{Key, Ledger, LedgerError, MAX_MARK, Memory, Record, Reply, Reserve, Token};
use crate::name::Name;

mod over_memory {
    use super::{Memory, Realm};

    fn fresh() -> Realm {
        let store = Memory::default();
        Realm::new(move || Box::new(store.clone()))
    }

    crate::ledger_conformance!(fresh);
}

#[test]
fn a_ledger_that_makes_a_deleted_record_again_fails() {
    let store = Memory::default();
    let connect = || -> Box<dyn Ledger> { Box::new(store.clone()) };
    super::check_deleted(&connect, &|key| assert!(store.lose(key)));
    for (forgets, rule) in
        [(Key::SLOTS, "a slot's record that was made"), (Key::NAMES, "the record of a name that was begun")]
    {
        let forgetful = Memory::default();
        let connect = || -> Box<dyn Ledger> { Box::new(forgetful.clone()) };
        let delete = |key: &Key| {
            assert!(forgetful.lose(key));
            forgetful.state().made.retain(|made| !made.starts_with(forgets));
        };
        let failed = catch_unwind(AssertUnwindSafe(|| super::check_deleted(&connect, &delete))).unwrap_err();
        let words = failed.downcast_ref::<String>().unwrap();
        assert!(words.contains(rule) && words.contains("is not made again"), "{words}");
    }
}

/// One whose list ends with the records that it found among the keys that it looked at.
struct Short(Memory);

impl Ledger for Short {
    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<Record>, LedgerError> {
        let deleted = {
            let state = self.0.state();
            let keys = state.definitions.keys().map(|name| format!("{}{name}", Key::NAMES));
            keys.filter(|key| key.starts_with(prefix) && !state.marks.contains_key(key)).count()
        };
        self.0.list(prefix, after, limit.saturating_sub(deleted))
    }
    crate::__hand_on!(self => self.0; reserve give_back bind definition names raise realm_id describe);
}

#[test]
fn a_ledger_whose_list_ends_where_a_record_was_deleted_fails() {
    let store = Memory::default();
    let connect = || -> Box<dyn Ledger> { Box::new(Short(store.clone())) };
    let check = || super::check_deleted(&connect, &|key| assert!(store.lose(key)));
    let failed = catch_unwind(AssertUnwindSafe(check)).unwrap_err();
    let words = failed.downcast_ref::<String>().unwrap();
    assert!(words.contains("a record that was deleted is not listed, and those behind it are"), "{words}");
}

/// One way to be no ledger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    FloorIgnored,
    OneMoreThanAsked,
    CaseFolded,
    ReadsThenWrites,
    FloorSkipsOneMore,
    CreatesTwice,
    RefusalMovesMark,
    RefusalStoresNote,
    RefusalStoresToken,
    MaxMarkIgnored,
    MaxMarkAgainstItself,
    MaxMarkAgainstFloor,
    RetryGetsNewRange,
    RetryForgetsPreviousMark,
    RetryStoresNote,
    RetryIsRefused,
    TokenRememberedForEver,
    LooksUpTokenThenWrites,
    Doubles,
    OverflowMakesRecord,
    OverflowIsClamped,
    AlwaysCreates,
    CountsFromARangeOfItsOwn,
    CountsForgetRaise,
    CountsFallToRaise,
    CountsHeedRaiseWithinTheirRange,
    GiveBackIgnoresToken,
    GiveBackIgnoresBounds,
    GiveBackKeepsToken,
    GiveBackDropsNote,
    GiveBackChecksThenWrites,
    RaiseLowers,
    RaiseMakesRecord,
    RaiseKeepsToken,
    LastBindWins,
    BindAnswersWithItsOwn,
    BindMakesDeletedRecord,
    BindMakesNoRecord,
    DefinitionsTrimmed,
    NamesCutAt64Bytes,
    ListIsByCollation,
    ListIsCutAtThousand,
    NamesAreCutAtThousand,
    PrefixIsPattern,
    PrefixForgetsItsSlash,
    AfterIsInclusive,
    NotesCutAt255,
    NoneErasesNote,
    ReadsAreStale,
    ForgetsWhenAlone,
    RealmIdPerConnection,
    RealmsAreOne,
}

/// Which case has to catch which fault. Others may catch it as well.
const CAUGHT: &[(Fault, &str)] = {
    use Fault::*;
    &[
        (FloorIgnored, "follows_the_formula"),
        (OneMoreThanAsked, "edges_of_count"),
        (CaseFolded, "keeps_keys_apart"),
        (ReadsThenWrites, "disjoint_under_concurrency"),
        (FloorSkipsOneMore, "exact_chain_under_concurrent_floors"),
        (CreatesTwice, "one_creation_wins"),
        (RefusalMovesMark, "refusal_writes_nothing"),
        (RefusalStoresNote, "refusal_writes_nothing"),
        (RefusalStoresToken, "refusal_writes_nothing"),
        (MaxMarkIgnored, "refusal_writes_nothing"),
        (MaxMarkAgainstItself, "edges_of_max_mark"),
        (MaxMarkAgainstFloor, "edges_of_max_mark"),
        (RetryGetsNewRange, "same_token_same_range"),
        (RetryForgetsPreviousMark, "same_token_same_range"),
        (RetryStoresNote, "same_token_same_range"),
        (RetryIsRefused, "same_token_same_range"),
        (TokenRememberedForEver, "token_is_forgotten_after_another_reserve"),
        (LooksUpTokenThenWrites, "concurrent_retries_get_one_range"),
        (Doubles, "values_are_exact_to_the_last_bit"),
        (OverflowMakesRecord, "overflow_writes_nothing"),
        (OverflowIsClamped, "overflow_writes_nothing"),
        (AlwaysCreates, "missing_without_create"),
        (CountsFromARangeOfItsOwn, "counts_follow_the_order_of_calls"),
        (CountsForgetRaise, "counts_keep_their_bounds"),
        (CountsFallToRaise, "counts_keep_their_bounds"),
        (CountsHeedRaiseWithinTheirRange, "counts_keep_their_bounds"),
        (GiveBackIgnoresToken, "late_retry_does_nothing"),
        (GiveBackIgnoresToken, "only_the_token_and_only_within_bounds"),
        (GiveBackIgnoresBounds, "only_the_token_and_only_within_bounds"),
        (GiveBackKeepsToken, "clears_the_token"),
        (GiveBackDropsNote, "only_the_token_and_only_within_bounds"),
        (GiveBackChecksThenWrites, "races_with_a_reserve"),
        (RaiseLowers, "raise_moves_up_only"),
        (RaiseMakesRecord, "raise_moves_up_only"),
        (RaiseKeepsToken, "raise_clears_the_token"),
        (LastBindWins, "bind_is_write_once"),
        (BindAnswersWithItsOwn, "concurrent_binds_agree"),
        (BindMakesDeletedRecord, "bind_makes_the_record_once"),
        (BindMakesNoRecord, "bind_makes_the_record_once"),
        (DefinitionsTrimmed, "definitions_are_exact"),
        (NamesCutAt64Bytes, "strange_names"),
        (ListIsByCollation, "many_names"),
        (ListIsCutAtThousand, "many_names"),
        (NamesAreCutAtThousand, "many_names"),
        (PrefixIsPattern, "list_is_exact_about_its_prefix"),
        (PrefixForgetsItsSlash, "list_is_exact_about_its_prefix"),
        (AfterIsInclusive, "list_is_exact_about_its_prefix"),
        (NotesCutAt255, "notes"),
        (NoneErasesNote, "notes"),
        (ReadsAreStale, "connections_see_each_other_at_once"),
        (ForgetsWhenAlone, "outlives_its_connections"),
        (RealmIdPerConnection, "realm_id_is_one_per_realm"),
        (RealmsAreOne, "realms_are_apart"),
    ]
};

pub(crate) const BROKEN_LEDGERS: usize = CAUGHT.len();

#[test]
fn every_broken_ledger_is_caught() {
    let mut missed = Vec::new();
    for &(fault, case) in CAUGHT {
        let one = Memory::default();
        let fresh = || {
            let store = if fault == Fault::RealmsAreOne { one.clone() } else { Memory::default() };
            let ranges = Arc::default();
            Realm::new(move || Box::new(Broken::new(fault, store.clone(), Arc::clone(&ranges))))
        };
        missed.extend(missed_by(&fault, case, || run_case(case, &fresh)));
    }
    assert!(missed.is_empty(), "the suite misses: {missed:#?}");
}

#[test]
fn every_case_catches_something() {
    let all: BTreeSet<_> = CASES.iter().map(|case| case.name).collect();
    let catching: BTreeSet<_> = CAUGHT.iter().map(|&(_, case)| case).collect();
    assert_eq!(all, catching);
}

#[test]
fn a_case_that_does_not_exist_is_not_passed() {
    let fresh = || Realm::new(|| Box::new(Memory::default()));
    assert!(catch_unwind(AssertUnwindSafe(|| run_case("no_such_case", &fresh))).is_err());
}

/// Why a case does not catch a fault: it passes, or it fails and names no rule.
pub(crate) fn missed_by(fault: &dyn Debug, case: &str, check: impl FnOnce()) -> Option<String> {
    let Err(panic) = catch_unwind(AssertUnwindSafe(check)) else {
        return Some(format!("{fault:?} passes {case}"));
    };
    let text = panic.downcast_ref::<String>().map_or("", String::as_str);
    let names_a_rule = text.starts_with("this ledger breaks a rule: ");
    (!names_a_rule).then(|| format!("{fault:?} fails {case} without naming a rule: {text}"))
}

/// What one realm's connections remember in common beside the store.
#[derive(Default)]
struct Shared {
    ranges: Mutex<HashMap<(Key, Token), Reply>>,
    connections: Mutex<u32>,
    /// What was reserved ahead for counts, and not handed out.
    ahead: Mutex<std::ops::Range<u64>>,
}

/// A ledger in memory with one fault.
struct Broken {
    fault: Fault,
    memory: Memory,
    shared: Arc<Shared>,
    /// What this connection saw first of each key, for stale reads.
    seen: Mutex<Option<Vec<Record>>>,
    /// What this connection reserved ahead for counts.
    ahead: Mutex<std::ops::Range<u64>>,
}

impl Broken {
    fn new(fault: Fault, memory: Memory, shared: Arc<Shared>) -> Self {
        *shared.connections.lock().unwrap() += 1;
        Self { fault, memory, shared, seen: Mutex::default(), ahead: Mutex::default() }
    }

    fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn change(&self, key: &Key, change: impl FnOnce(&mut Mark)) {
        change(self.memory.state().marks.entry(key.as_str().to_owned()).or_default());
    }

    fn mark(&self, key: &Key) -> Option<Mark> {
        self.memory.state().marks.get(key.as_str()).cloned()
    }
}

/// The time in which others come between a check and a write.
pub(crate) fn meanwhile() {
    let (never, lock) = (Condvar::new(), Mutex::new(()));
    drop(never.wait_timeout(lock.lock().unwrap(), Duration::from_millis(2)).unwrap());
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the loss is the fault"
)]
fn as_double(value: u64) -> u64 {
    value as f64 as u64
}

fn cut(text: &str, bytes: usize) -> String {
    let end = (0..=bytes.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap();
    text[..end].to_owned()
}

/// SQL's `LIKE 'pattern%'`.
fn like(text: &[u8], pattern: &[u8]) -> bool {
    match (pattern.first(), text.first()) {
        (None, _) => true,
        (Some(b'%'), _) => (0..=text.len()).any(|skip| like(&text[skip..], &pattern[1..])),
        (Some(b'_'), Some(_)) => like(&text[1..], &pattern[1..]),
        (Some(p), Some(t)) => p.eq_ignore_ascii_case(t) && like(&text[1..], &pattern[1..]),
        (Some(_), None) => false,
    }
}

impl Ledger for Broken {
    fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        let mut request = request.clone();
        if self.is(Fault::CaseFolded) && request.key.as_str().starts_with(Key::NAMES) {
            request.key = Key::name(&Name::new(&request.key.as_str()[2..].to_lowercase()).unwrap());
        }
        let key = request.key.clone();
        let before = self.mark(&key);
        let old = before.clone().unwrap_or_default();
        let is_retry = old.token == Some(request.token);
        match self.fault {
            Fault::FloorIgnored => request.floor = 0,
            Fault::OneMoreThanAsked => request.count = request.count.saturating_add(1),
            Fault::FloorSkipsOneMore if request.floor > old.mark => request.floor += 1,
            Fault::MaxMarkIgnored => request.max_mark = u64::MAX,
            Fault::MaxMarkAgainstItself if !is_retry && old.mark == request.max_mark => {
                return Ok(Reply::Refused { mark: old.mark, note: old.note });
            }
            Fault::MaxMarkAgainstFloor if old.mark.max(request.floor) > request.max_mark => {
                return Ok(Reply::Refused { mark: old.mark, note: old.note });
            }
            Fault::RetryGetsNewRange if is_retry => self.change(&key, |mark| mark.token = None),
            Fault::RetryStoresNote if is_retry && request.note.is_some() => {
                self.change(&key, |mark| mark.note = request.note.clone());
            }
            Fault::RetryIsRefused if old.mark > request.max_mark => {
                return Ok(Reply::Refused { mark: old.mark, note: old.note });
            }
            Fault::TokenRememberedForEver => {
                if let Some(reply) = self.shared.ranges.lock().unwrap().get(&(key.clone(), request.token)) {
                    return Ok(reply.clone());
                }
            }
            Fault::OverflowMakesRecord => self.change(&key, |_| ()),
            Fault::OverflowIsClamped => {
                request.count = request.count.min(MAX_MARK.saturating_sub(old.mark.max(request.floor)));
            }
            Fault::AlwaysCreates => request.create = true,
            Fault::NotesCutAt255 => request.note = request.note.map(|note| cut(&note, 255)),
            Fault::NoneErasesNote if request.note.is_none() => self.change(&key, |mark| mark.note = None),
            Fault::CreatesTwice if before.is_some() => (),
            Fault::ReadsThenWrites | Fault::CreatesTwice => {
                meanwhile();
                self.change(&key, |mark| *mark = old.clone());
            }
            Fault::LooksUpTokenThenWrites if !is_retry => {
                meanwhile();
                self.change(&key, |mark| mark.token = None);
            }
            _ => (),
        }
        let reply = self.memory.reserve(&request)?;
        match (&reply, self.fault) {
            (Reply::Refused { .. }, Fault::RefusalMovesMark) => {
                self.change(&key, |mark| mark.mark = mark.mark.max(request.floor));
            }
            (Reply::Refused { .. }, Fault::RefusalStoresNote) => {
                self.change(&key, |mark| mark.note = request.note.clone());
            }
            (Reply::Refused { .. }, Fault::RefusalStoresToken) => {
                self.change(&key, |mark| mark.token = Some(request.token));
            }
            (&Reply::Got { start, end, .. }, Fault::RetryForgetsPreviousMark) if is_retry => {
                return Ok(Reply::Got { start, end, previous_mark: end });
            }
            (&Reply::Got { start, end, previous_mark }, Fault::Doubles) => {
                return Ok(Reply::Got { start: as_double(start), end: as_double(end), previous_mark });
            }
            (Reply::Got { .. }, Fault::TokenRememberedForEver) => {
                self.shared.ranges.lock().unwrap().insert((key, request.token), reply.clone());
            }
            _ => (),
        }
        Ok(reply)
    }

    fn count(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        let mut ahead = match self.fault {
            Fault::CountsFromARangeOfItsOwn => self.ahead.lock().unwrap(),
            Fault::CountsForgetRaise | Fault::CountsFallToRaise | Fault::CountsHeedRaiseWithinTheirRange => {
                self.shared.ahead.lock().unwrap()
            }
            _ => return self.reserve(request),
        };
        if request.max_mark < u64::MAX {
            return self.reserve(request);
        }
        if ahead.end - ahead.start < request.count
            && let Reply::Got { start, end, .. } = self.reserve(&Reserve { count: 100, ..request.clone() })?
        {
            *ahead = start..end;
        }
        let start = ahead.start;
        ahead.start += request.count;
        Ok(Reply::Got { start, end: ahead.start, previous_mark: start })
    }

    fn give_back(&self, key: &Key, token: Token, from: u64) -> Result<bool, LedgerError> {
        let Some(old) = self.mark(key) else { return Ok(false) };
        let within = (old.start..=old.mark).contains(&from);
        let holds = old.token == Some(token);
        let applies = match self.fault {
            Fault::GiveBackIgnoresToken => within,
            Fault::GiveBackIgnoresBounds => holds,
            _ => within && holds,
        };
        if !applies {
            return Ok(false);
        }
        match self.fault {
            Fault::GiveBackIgnoresToken | Fault::GiveBackIgnoresBounds => self.change(key, |mark| {
                mark.mark = from;
                mark.token = None;
            }),
            Fault::GiveBackChecksThenWrites => {
                meanwhile();
                self.change(key, |mark| {
                    mark.mark = from;
                    mark.token = None;
                });
            }
            _ => {
                self.memory.give_back(key, token, from)?;
            }
        }
        match self.fault {
            Fault::GiveBackKeepsToken => self.change(key, |mark| mark.token = Some(token)),
            Fault::GiveBackDropsNote => self.change(key, |mark| mark.note = None),
            _ => (),
        }
        Ok(true)
    }

    fn bind(&self, name: &Name, definition: &str, marked: bool) -> Result<String, LedgerError> {
        let cut_name = Name::new(&cut(name.as_str(), 64)).unwrap();
        let name = if self.is(Fault::NamesCutAt64Bytes) { &cut_name } else { name };
        match self.fault {
            Fault::LastBindWins => {
                self.memory.state().definitions.remove(name.as_str());
            }
            Fault::BindMakesDeletedRecord if marked => self.change(&Key::name(name), |_| ()),
            _ => (),
        }
        let definition = if self.is(Fault::DefinitionsTrimmed) { definition.trim() } else { definition };
        let stored = self.memory.bind(name, definition, marked && !self.is(Fault::BindMakesNoRecord))?;
        Ok(if self.is(Fault::BindAnswersWithItsOwn) { definition.to_owned() } else { stored })
    }

    fn definition(&self, name: &Name) -> Result<Option<String>, LedgerError> {
        self.memory.definition(name)
    }

    fn names(&self, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        let most = if self.is(Fault::NamesAreCutAtThousand) { 1_000 } else { usize::MAX };
        let mut all = self.memory.names("", most)?;
        all.retain(|(name, _)| name.as_str() > after);
        all.truncate(limit);
        Ok(all)
    }

    fn raise(&self, key: &Key, at_least: u64) -> Result<u64, LedgerError> {
        if self.is(Fault::RaiseMakesRecord) {
            self.change(key, |_| ());
        }
        let before = self.mark(key);
        let mark = self.memory.raise(key, at_least)?;
        match self.fault {
            Fault::RaiseLowers => self.change(key, |mark| mark.mark = at_least),
            Fault::CountsFallToRaise => self.shared.ahead.lock().unwrap().start = at_least,
            Fault::CountsHeedRaiseWithinTheirRange => {
                let mut ahead = self.shared.ahead.lock().unwrap();
                if ahead.contains(&at_least) {
                    ahead.start = at_least;
                }
            }
            Fault::RaiseKeepsToken => self.change(key, |mark| mark.token = before.and_then(|old| old.token)),
            _ => (),
        }
        Ok(mark)
    }

    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<Record>, LedgerError> {
        let loose = prefix.strip_suffix('/').filter(|_| self.is(Fault::PrefixForgetsItsSlash));
        let prefix = loose.unwrap_or(prefix);
        let mut all = self.memory.list("", "", usize::MAX)?;
        if self.is(Fault::ReadsAreStale) {
            all = self.seen.lock().unwrap().get_or_insert(all).clone();
        }
        match self.fault {
            Fault::PrefixIsPattern => all.retain(|record| like(record.key.as_bytes(), prefix.as_bytes())),
            _ => all.retain(|record| record.key.starts_with(prefix)),
        }
        match self.fault {
            Fault::AfterIsInclusive => all.retain(|record| record.key.as_str() >= after),
            Fault::ListIsByCollation => {
                all.retain(|record| record.key.to_lowercase() > after.to_lowercase());
                all.sort_by_key(|record| record.key.to_lowercase());
            }
            _ => all.retain(|record| record.key.as_str() > after),
        }
        let most = if self.is(Fault::ListIsCutAtThousand) && limit > 1_000 { 1_000 } else { limit };
        all.truncate(most);
        Ok(all)
    }

    fn realm_id(&self) -> Result<String, LedgerError> {
        if self.is(Fault::RealmIdPerConnection) {
            self.memory.state().realm_id = None;
        }
        self.memory.realm_id()
    }

    fn describe(&self) -> String {
        format!("memory: with the fault {:?}", self.fault)
    }
}

impl Drop for Broken {
    fn drop(&mut self) {
        let mut connections = self.shared.connections.lock().unwrap();
        *connections -= 1;
        if self.is(Fault::ForgetsWhenAlone) && *connections == 0 {
            self.memory.state().marks.clear();
        }
    }
}
