//! The conformance suite: test cases for every implementation of [`Ledger`].
//!
//! An adapter supplies one function that makes a **fresh realm**. Each [`Realm`] can connect to itself any number of
//! times, as other processes would. In the adapter's tests, one line makes a test of every case:
//!
//! ```
//! use floe::ledger::{Memory, conformance::Realm};
//!
//! fn fresh() -> Realm {
//!     let store = Memory::default(); // for a server: a schema, a prefix or a directory of its own
//!     Realm::new(move || Box::new(store.clone()))
//! }
//!
//! floe::ledger_conformance!(fresh);
//! # floe::ledger::conformance::run(&fresh);
//! ```
//!
//! A store of the module `store` has a suite of its own, for what it does below the ledger.
//!
//! A case that fails panics, and names the broken rule. If realms share a server, give the suite realms that share it,
//! so that [`CASES`] also tests that they are separate.
//!
//! Except for a deleted record ([`check_deleted`]), the suite injects no faults. Outages, a restart of the server during
//! a call and lost replies differ from store to store, so an adapter must test them itself.

use std::fmt::Debug;
use std::sync::Barrier;
use std::thread;

use super::{Key, Ledger, LedgerError, Record, Reply, Reserve, Token};
use crate::name::Name;

mod counting;
mod giving_back;
mod records;
mod reserving;
#[cfg(test)]
pub(crate) mod tests;

/// A fresh realm of the ledger under test. The suite does not use it after it is dropped.
pub struct Realm {
    connect: Box<Connect>,
    names: usize,
}

type Connect = dyn Fn() -> Box<dyn Ledger> + Send + Sync;

impl Realm {
    /// Makes a realm that `connect` opens at each call, over a new connection. The closure can own what the realm
    /// needs, such as a directory or a server. [The module](self) has an example.
    pub fn new(connect: impl Fn() -> Box<dyn Ledger> + Send + Sync + 'static) -> Self {
        Self { connect: Box::new(connect), names: 10_000 }
    }

    /// Sets how many names the case of many names makes, instead of ten thousand, for a store in which that takes
    /// minutes. It makes at least 2,000, since it needs more than a page of every known store.
    ///
    /// ```
    /// use floe::ledger::{Memory, conformance::{self, Realm}};
    /// let fresh = || {
    ///     let store = Memory::default();
    ///     Realm::new(move || Box::new(store.clone())).with_names(2_000)
    /// };
    /// conformance::run_case("many_names", &fresh);
    /// ```
    #[must_use]
    pub fn with_names(self, names: usize) -> Self {
        Self { names: names.max(2_000), ..self }
    }

    /// Opens another connection.
    pub fn connect(&self) -> Box<dyn Ledger> {
        (self.connect)()
    }
}

/// One case of a suite: of this one, unless `R` is a realm of another.
pub struct Case<R = Realm> {
    /// Its name, in snake case.
    pub name: &'static str,
    pub(crate) check: fn(&dyn Fn() -> R),
}

impl<R> Clone for Case<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Case<R> {}

impl<R> Case<R> {
    /// Runs this case on realms that `fresh` makes.
    ///
    /// ```
    /// use floe::ledger::{Memory, conformance::{CASES, Realm}};
    /// let fresh = || {
    ///     let store = Memory::default();
    ///     Realm::new(move || Box::new(store.clone()))
    /// };
    /// for case in CASES.iter().filter(|case| case.name.contains("token")) {
    ///     println!("{}", case.name);
    ///     case.check(&fresh);
    /// }
    /// ```
    ///
    /// # Panics
    /// If the ledger breaks a rule; the message names it.
    pub fn check(&self, fresh: &dyn Fn() -> R) {
        (self.check)(fresh);
    }
}

/// Checks that a slot whose record was deleted stays missing, and so does a name that was begun ([`begin`](super::begin)),
/// and that a list leaves out nothing else.
/// `delete` must delete the record of a key from the store, and nothing else, as a person who tidies up would. An adapter
/// runs this in addition to the cases, on a ledger of a separate realm.
///
/// ```
/// use floe::ledger::{Ledger, Memory, conformance};
/// let store = Memory::default();
/// let connect = || -> Box<dyn Ledger> { Box::new(store.clone()) };
/// conformance::check_deleted(&connect, &|key| assert!(store.lose(key)));
/// ```
///
/// # Panics
/// If the ledger breaks a rule; the message names it.
pub fn check_deleted(connect: &dyn Fn() -> Box<dyn Ledger>, delete: &dyn Fn(&Key)) {
    reserving::deleted_slots_stay_missing(connect, delete);
    reserving::deleted_beginnings_stay_missing(connect, delete);
    reserving::deleted_records_hide_no_others(connect, delete);
}

/// Runs every case, in order, up to the first that fails. [The module](self) has an example.
///
/// # Panics
/// If the ledger breaks a rule; the message names it.
pub fn run(fresh: &dyn Fn() -> Realm) {
    for case in CASES {
        case.check(fresh);
    }
}

/// Runs the case of this name. [`Realm::with_names`] has an example.
///
/// # Panics
/// If the ledger breaks a rule, or if there is no such case.
pub fn run_case(name: &str, fresh: &dyn Fn() -> Realm) {
    let case = CASES.iter().find(|case| case.name == name);
    assert!(case.is_some(), "the conformance suite has no case {name}");
    case.into_iter().for_each(|case| case.check(fresh));
}

/// Makes one test for each conformance case, of the same name, on the realms that a function makes.
#[macro_export]
macro_rules! ledger_conformance {
    ($fresh:path) => {
        $crate::ledger_conformance_cases!(@tests $fresh);
    };
}

/// The list of the cases, once for all uses.
#[doc(hidden)]
#[macro_export]
macro_rules! ledger_conformance_cases {
    (@tests $fresh:path) => {
        $crate::ledger_conformance_cases!(@list tests [$fresh]);
    };
    (@table) => {
        ledger_conformance_cases!(@list table []);
    };
    (@list $use:ident [$($fresh:path)?]) => {
        $crate::ledger_conformance_cases! { @$use [$($fresh)?]
            reserving follows_the_formula
            reserving keeps_keys_apart
            reserving disjoint_under_concurrency
            reserving exact_chain_under_concurrent_floors
            reserving one_creation_wins
            reserving refusal_writes_nothing
            reserving edges_of_max_mark
            reserving same_token_same_range
            reserving token_is_forgotten_after_another_reserve
            reserving concurrent_retries_get_one_range
            reserving values_are_exact_to_the_last_bit
            reserving overflow_writes_nothing
            reserving edges_of_count
            reserving missing_without_create
            counting counts_follow_the_order_of_calls
            counting counts_keep_their_bounds
            giving_back only_the_token_and_only_within_bounds
            giving_back clears_the_token
            giving_back late_retry_does_nothing
            giving_back races_with_a_reserve
            giving_back raise_moves_up_only
            giving_back raise_clears_the_token
            records bind_is_write_once
            records concurrent_binds_agree
            records bind_makes_the_record_once
            records definitions_are_exact
            records strange_names
            records many_names
            records list_is_exact_about_its_prefix
            records notes
            records connections_see_each_other_at_once
            records outlives_its_connections
            records realm_id_is_one_per_realm
            records realms_are_apart
        }
    };
    (@tests [$fresh:path] $($module:ident $case:ident)*) => {
        $(
            #[test]
            fn $case() {
                $crate::ledger::conformance::run_case(stringify!($case), &$fresh);
            }
        )*
    };
    (@table [] $($module:ident $case:ident)*) => {
        /// Every case, in the order in which [`run`] runs them.
        pub const CASES: &[Case] = &[$(Case { name: stringify!($case), check: $module::$case }),*];
    };
}

ledger_conformance_cases!(@table);

/// What the cases say of a ledger that breaks a rule.
#[track_caller]
pub(crate) fn hold(condition: bool, rule: &str, found: &dyn Debug) {
    assert!(condition, "this ledger breaks a rule: {rule}. Found: {found:?}");
}

#[track_caller]
pub(crate) fn equal<T: PartialEq + Debug>(found: T, expected: T, rule: &str) {
    assert!(
        found == expected,
        "this ledger breaks a rule: {rule}.\n   found: {found:?}\nexpected: {expected:?}"
    );
}

/// The value of a call that has no reason to fail: the suite puts in no faults.
#[track_caller]
pub(crate) fn done<T>(result: Result<T, LedgerError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => failed(&error),
    }
}

#[track_caller]
#[expect(clippy::panic, reason = "a failed case is a failed test")]
fn failed(error: &LedgerError) -> ! {
    panic!("this ledger breaks a rule: a call that has no reason to fail succeeds. Found: {error}")
}

/// Randomness and valid names are what the tester has; there is nothing to go on with otherwise.
#[track_caller]
#[expect(clippy::unwrap_used, reason = "a tester without randomness cannot test")]
pub(crate) fn token() -> Token {
    Token::random().unwrap()
}

#[track_caller]
#[expect(clippy::unwrap_used, reason = "the suite writes its own names")]
fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

/// A reservation of `count` positions with a fresh token: floor 0, never refused, makes the record.
fn ask(key: &Key, count: u64) -> Reserve {
    Reserve {
        key: key.clone(),
        floor: 0,
        count,
        max_mark: u64::MAX,
        token: token(),
        create: true,
        note: None,
    }
}

/// A range that was handed out, and the mark before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Range {
    start: u64,
    end: u64,
    previous_mark: u64,
}

/// The range of a request that has no reason to be refused.
#[track_caller]
fn got(ledger: &dyn Ledger, request: &Reserve) -> Range {
    match done(ledger.reserve(request)) {
        Reply::Got { start, end, previous_mark } => Range { start, end, previous_mark },
        refused @ Reply::Refused { .. } => refused_without_reason(request, &refused),
    }
}

#[track_caller]
#[expect(clippy::panic, reason = "a failed case is a failed test")]
fn refused_without_reason(request: &Reserve, reply: &Reply) -> ! {
    panic!(
        "this ledger breaks a rule: only a mark above max_mark is refused. Found: {reply:?} to {request:?}"
    )
}

/// The record of one key, read by the operator's way.
#[track_caller]
fn record(ledger: &dyn Ledger, key: &Key) -> Option<Record> {
    done(ledger.list(key.as_str(), "", usize::MAX)).into_iter().find(|record| record.key == key.as_str())
}

/// The mark of one key.
#[track_caller]
fn mark(ledger: &dyn Ledger, key: &Key) -> Option<u64> {
    record(ledger, key).map(|record| record.mark)
}

/// What `work` returns on each of `callers` threads that set out together, in the order of their numbers.
pub(crate) fn together<T: Send>(callers: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let (start, work) = (Barrier::new(callers), &work);
    let start = &start;
    thread::scope(|scope| {
        let run = |caller| {
            scope.spawn(move || {
                start.wait();
                work(caller)
            })
        };
        let threads: Vec<_> = (0..callers).map(run).collect();
        let results: Vec<_> = threads.into_iter().map(thread::ScopedJoinHandle::join).collect();
        results
            .into_iter()
            .map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}
