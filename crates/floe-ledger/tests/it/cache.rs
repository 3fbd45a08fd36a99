//! The cache in front of a ledger that can be taken away.

mod conformance;
mod copies;
mod model;
mod opening;
mod outage;
mod segments;
mod sharing;
mod slots;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use floe::ledger::{Elsewhere, Key, Ledger, LedgerError, Memory, Reply, Reserve, Token};
use floe::{Name, UnixMillis};
use floe_ledger::{Cache, OpenError};

use crate::until;

/// An hour in milliseconds: how much of a slot one reservation of a cache takes.
const HOUR: u64 = 3_600_000;

/// A moment in Unix milliseconds, as a clock shows it.
const NOW: u64 = 1_772_366_400_000;

/// A shared ledger that can be cut off, and that can lose its answers. A clone is another connection to the same one.
#[derive(Clone, Default)]
struct Behind {
    store: Memory,
    gone: Arc<AtomicBool>,
    /// This many of the next answers are lost after they took effect.
    lose: Arc<AtomicU64>,
    /// This many of the next openings of caches are counted, but not answered.
    lose_openings: Arc<AtomicU64>,
    /// Each of the next openings is answered once others are at its barrier, too.
    openings_meet: Arc<Mutex<Vec<Arc<Barrier>>>>,
    /// The answer to every reservation of a range, if it differs from the real result.
    answers: Arc<Mutex<Option<Result<Reply, LedgerError>>>>,
    /// How many requests it got.
    asked: Arc<AtomicU64>,
    /// How many counts it got.
    counts: Arc<AtomicU64>,
    /// The reservations that it got.
    reserves: Arc<Mutex<Vec<Reserve>>>,
    /// The ranges that it gave, with the token of each.
    given: Arc<Mutex<BTreeSet<Given>>>,
    /// What happens before the next reservation of a key with this prefix reaches it.
    before: Arc<Mutex<Option<(&'static str, Meanwhile)>>>,
}

/// A token, and the start and end of a range that it got.
type Given = ([u8; 16], u64, u64);

type Meanwhile = Box<dyn FnOnce() + Send>;

impl Behind {
    fn cut(&self) {
        self.gone.store(true, Ordering::SeqCst);
    }

    fn heal(&self) {
        self.gone.store(false, Ordering::SeqCst);
    }

    fn lose_answers(&self, count: u64) {
        self.lose.store(count, Ordering::SeqCst);
    }

    fn asked(&self) -> u64 {
        self.asked.load(Ordering::SeqCst)
    }

    /// The reservations so far, without those of openings.
    fn reserves(&self) -> Vec<Reserve> {
        let reserves = self.reserves.lock().unwrap().clone();
        reserves.into_iter().filter(|request| !request.key.as_str().starts_with(Key::CACHES)).collect()
    }

    /// How many positions of names, below `end`, it gave to a token that had got a range before, and another since.
    fn given_again(&self, end: u64) -> u64 {
        let given = self.given.lock().unwrap();
        let later = given.iter().zip(given.iter().skip(1)).filter(|(one, next)| one.0 == next.0);
        later.filter(|(_, next)| next.1 < end).map(|(_, next)| next.2 - next.1).sum()
    }

    /// Runs `work` before the next reservation of a key with this prefix.
    fn meanwhile(&self, prefix: &'static str, work: impl FnOnce() + Send + 'static) {
        *self.before.lock().unwrap() = Some((prefix, Box::new(work)));
    }

    fn opening(&self, reply: Result<Reply, LedgerError>) -> Result<Reply, LedgerError> {
        let others = self.openings_meet.lock().unwrap().pop();
        others.map(|others| others.wait());
        let left = |left: u64| left.checked_sub(1);
        match self.lose_openings.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left) {
            Ok(_) => Err(LedgerError::Unavailable("the answer was lost".to_owned())),
            Err(_) => reply,
        }
    }

    fn reach(&self) -> Result<&Memory, LedgerError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.gone.load(Ordering::SeqCst) { Err(cut_off()) } else { Ok(&self.store) }
    }

    fn answered<T>(&self, answer: Result<T, LedgerError>) -> Result<T, LedgerError> {
        let lost = self.lose.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if lost.is_ok() { Err(cut_off()) } else { answer }
    }
}

/// What the ledger behind answers of every name in other realms.
fn elsewhere() -> Elsewhere {
    Elsewhere { realm: "shop".to_owned(), definition: "counter".to_owned(), mark: 50_000_000 }
}

fn cut_off() -> LedgerError {
    LedgerError::Unavailable("it was cut off".to_owned())
}

impl Ledger for Behind {
    fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        self.reserves.lock().unwrap().push(request.clone());
        let is_of = |prefix: &str| request.key.as_str().starts_with(prefix);
        let before = self.before.lock().unwrap().take_if(|(prefix, _)| is_of(prefix));
        before.into_iter().for_each(|(_, before)| before());
        let reply = self.reach().and_then(|store| self.answered(store.reserve(request)));
        if is_of(Key::NAMES)
            && let Ok(Reply::Got { start, end, .. }) = reply
        {
            self.given.lock().unwrap().insert((*request.token.as_bytes(), start, end));
        }
        if is_of(Key::CACHES) {
            return self.opening(reply);
        }
        self.answers.lock().unwrap().clone().unwrap_or(reply)
    }
    fn count(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        self.counts.fetch_add(1, Ordering::SeqCst);
        self.answered(self.reach()?.count(request))
    }
    fn clock(&self) -> Result<Option<UnixMillis>, LedgerError> {
        self.reach()?;
        self.answered(Ok(Some(UnixMillis::new(7))))
    }
    fn in_other_realms(&self, _: &Name) -> Result<Vec<Elsewhere>, LedgerError> {
        self.reach()?;
        self.answered(Ok(vec![elsewhere()]))
    }
    fn describe(&self) -> String {
        "behind:".to_owned()
    }
    floe::__hand_on!(self => self.reach()?, answered; give_back bind definition names raise list realm_id);
}

/// A cache in `dir` in front of `behind`, opened as by a process that starts.
fn try_open(dir: &Path, behind: &Behind) -> Result<Cache, OpenError> {
    let upstream = behind.clone();
    Cache::builder(dir).window(Duration::from_secs(3_600)).before_ledger("behind:", move || {
        upstream.reach()?;
        upstream.answered(Ok(()))?;
        Ok(Box::new(upstream.clone()))
    })
}

#[track_caller]
fn open(dir: &Path, behind: &Behind) -> Cache {
    try_open(dir, behind).unwrap_or_else(|error| panic!("{error}"))
}

/// The text of the error if a cache does not open.
#[track_caller]
fn unfit(opened: Result<Cache, OpenError>) -> String {
    match opened {
        Err(OpenError::Ledger(LedgerError::Unfit(text))) => text,
        Err(error) => panic!("{error:?}"),
        Ok(cache) => panic!("it opened: {}", cache.describe()),
    }
}

/// A window of a slot, as a node requests it at the time `now`.
fn window(worker: u64, now: u64) -> Reserve {
    Reserve {
        key: Key::slot(10, worker),
        floor: now,
        count: 30_000,
        max_mark: now,
        token: Token::random().unwrap(),
        create: true,
        note: Some(format!("node of {worker}")),
    }
}

/// `count` numbers of a segment.
fn numbers(name: &str, count: u64) -> Reserve {
    let max_mark = floe::ledger::MAX_MARK - count;
    let key = Key::name(&Name::new(name).unwrap());
    Reserve { key, floor: 0, count, max_mark, token: Token::random().unwrap(), create: false, note: None }
}

/// Binds a segment.
fn bind(ledger: &dyn Ledger, name: &str) {
    let text = floe::Definition::SEGMENT.to_string();
    assert_eq!(ledger.bind(&Name::new(name).unwrap(), &text, true), Ok(text));
}
