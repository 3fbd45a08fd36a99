//! The policy above a [`Store`], driven by processes whose requests are late, lost, or executed twice, while records
//! are deleted and the store is emptied. A counter's numbers come from what the store has reserved ahead, which a crash of
//! the store may lose.
//!
//! This is a separate simulation. It has no clock and mints nothing, so it tries many more orders of requests in the
//! same time than the fleet does.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use floe::ledger::{Key, LedgerError, MAX_MARK, Reply, Reserve, Token};
use floe::store::{Change, Counting, Entry, Heard, Next, Place, Put, Seen, Store, Taken, Version};

use crate::random::Random;

/// How many steps one history has.
const STEPS: u64 = 400;
/// How many steps a call may take once all faults are over.
const CALM: u32 = 200;
const PROCESSES: u64 = 3;
const REALM: &str = "shop";

/// The first violation in the history of a seed, in words.
pub fn run(seed: u64) -> Option<String> {
    let mut world = World::new(seed);
    for step in 0..STEPS {
        world.step(step);
        if world.violation.is_some() {
            return world.violation;
        }
    }
    world.calm_down();
    world.violation
}

/// The store: its records, and how many writes it got.
#[derive(Clone, Default)]
struct Records {
    kept: Arc<Mutex<BTreeMap<String, (Version, String)>>>,
    /// Versions are digests of the content, as in an object store.
    digests: bool,
    /// Whether a conflict returns the current record, as in a database.
    tells: bool,
    writes: Arc<Mutex<u64>>,
    /// Whether it counts in what is reserved ahead.
    counts: bool,
    ahead: Arc<Mutex<Ahead>>,
}

/// What is left of the ranges that counters have reserved ahead, where it is used from and where it ends. It is not on
/// stable storage.
#[derive(Default)]
struct Ahead {
    left: BTreeMap<String, Range<u64>>,
    /// The same when it was last written together with a record.
    before: BTreeMap<String, Range<u64>>,
}

impl Records {
    fn locked<T>(&self, work: impl FnOnce(&mut BTreeMap<String, (Version, String)>) -> T) -> T {
        work(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn ahead<T>(&self, work: impl FnOnce(&mut Ahead) -> T) -> T {
        work(&mut self.ahead.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// It crashes, and starts again with what is on stable storage.
    fn crash(&self) {
        self.ahead(|ahead| {
            ahead.left = match is_to_keep_an_old_rest() {
                true => ahead.before.clone(),
                false => BTreeMap::new(),
            }
        });
    }

    /// FNV-1a, which is enough to distinguish a few hundred texts.
    fn version(&self, text: &str) -> Version {
        if self.digests {
            let digest = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| {
                (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
            return Version::new(&format!("\"{digest:x}\""));
        }
        let mut writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        *writes += 1;
        Version::from(*writes)
    }
}

impl Store for Records {
    fn get(&self, key: &str) -> Result<Option<Entry>, LedgerError> {
        let found = self.locked(|kept| kept.get(key).cloned());
        Ok(found.map(|(version, text)| Entry { version, text }))
    }

    fn put(&self, key: &str, text: &str, expected: Option<&Version>) -> Result<Put, LedgerError> {
        let version = self.version(text);
        Ok(self.locked(|kept| {
            let found = kept.get(key);
            if found.map(|(version, _)| version) != expected {
                let entry = |(version, text): &(Version, String)| Entry {
                    version: version.clone(),
                    text: text.clone(),
                };
                return if self.tells { Put::Found(found.map(entry)) } else { Put::Conflict };
            }
            kept.insert(key.to_owned(), (version.clone(), text.to_owned()));
            Put::Done(version)
        }))
    }

    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        Ok(self.locked(|kept| {
            let below = kept.iter().filter(|(key, _)| key.starts_with(prefix) && key.as_str() > after);
            below.take(limit).map(|(key, (_, text))| (key.clone(), text.clone())).collect()
        }))
    }

    fn counting(&self) -> Option<&dyn Counting> {
        self.counts.then_some(self as &dyn Counting)
    }

    fn describe(&self) -> String {
        "the simulated store".to_owned()
    }
}

impl Counting for Records {
    fn take(&self, left: &str, floor: u64, count: u64, max_mark: u64) -> Result<Taken, LedgerError> {
        Ok(self.ahead(|ahead| {
            let Some(rest) = ahead.left.get_mut(left) else { return Taken::Left(None) };
            let (previous, end) = (rest.start, rest.start.max(floor) + count);
            if previous > max_mark || end > rest.end {
                return Taken::Left(Some(rest.clone()));
            }
            rest.start = end;
            Taken::Numbers { previous, end }
        }))
    }

    fn put_ahead(
        &self,
        key: &str,
        text: &str,
        expected: &Version,
        left: &str,
        new: Range<u64>,
    ) -> Result<Put, LedgerError> {
        let put = self.put(key, text, Some(expected))?;
        if matches!(put, Put::Done(_)) {
            self.ahead(|ahead| {
                let used = ahead.left.get(left).filter(|rest| rest.end == new.start).map(|rest| rest.start);
                let rest = used.unwrap_or(new.start)..new.end;
                ahead.left.insert(left.to_owned(), rest.clone());
                ahead.before.insert(left.to_owned(), rest);
            });
        }
        Ok(put)
    }

    fn skip(&self, left: &str, at_least: u64) -> Result<(), LedgerError> {
        self.ahead(|ahead| {
            if let Some(rest) = ahead.left.get_mut(left) {
                rest.start = rest.start.max(at_least).min(rest.end);
            }
        });
        Ok(())
    }
}

/// A request to the store.
#[derive(Clone)]
enum Request {
    Get(String),
    Put {
        key: String,
        text: String,
        expected: Option<Version>,
    },
    /// Of a counter: what is left, and what is wanted of it.
    Take {
        left: String,
        floor: u64,
        count: u64,
        max_mark: u64,
    },
    PutAhead {
        key: String,
        text: String,
        expected: Version,
        left: String,
        new: Range<u64>,
    },
    Skip {
        left: String,
        at_least: u64,
    },
}

impl Request {
    fn reach(&self, store: &Records) -> Answer {
        let heard = match self {
            Self::Get(key) => store.get(key).map_or_else(Heard::Failed, Heard::Entry),
            Self::Put { key, text, expected } => {
                store.put(key, text, expected.as_ref()).map_or_else(Heard::Failed, Heard::Put)
            }
            Self::PutAhead { key, text, expected, left, new } => {
                store.put_ahead(key, text, expected, left, new.clone()).map_or_else(Heard::Failed, Heard::Put)
            }
            Self::Take { left, floor, count, max_mark } => {
                return store
                    .take(left, *floor, *count, *max_mark)
                    .map_or_else(|error| Answer::Heard(Heard::Failed(error)), Answer::Taken);
            }
            Self::Skip { left, at_least } => {
                store.skip(left, *at_least).map_or_else(Heard::Failed, |()| Heard::Nothing)
            }
        };
        Answer::Heard(heard)
    }
}

/// What a process hears of a request.
enum Answer {
    Heard(Heard),
    Taken(Taken),
}

/// A call that a process makes.
enum Call {
    Reserve(Change<Reply>, Reserve),
    /// With the record that it wrote last.
    GiveBack(Change<bool>, Option<String>),
    Raise(Change<u64>, u64),
    /// After a raise: what was reserved ahead below the new mark is discarded.
    Skip(u64, u64),
    Bind(Change<String>),
    Count(Count),
}

/// A [`Ledger::count`](floe::Ledger::count), as `Stored` makes it.
struct Count {
    request: Reserve,
    /// What was left when too little was, the last time.
    before: Option<Option<Range<u64>>>,
    /// It reserves ahead.
    ahead: Option<Change<Reply>>,
    /// It found nothing left that is of use.
    found_none: bool,
    /// It was refused once after that.
    is_refused: bool,
}

/// How a call ended.
enum Ended {
    Reserved(Reserve, Result<Reply, LedgerError>),
    GaveBack(Result<bool, LedgerError>),
    /// With the mark that was wanted.
    Raised(u64, Result<u64, LedgerError>),
    Bound(Result<String, LedgerError>),
    Counted(Reserve, Result<Reply, LedgerError>),
}

impl Ended {
    fn error(&self) -> Option<&LedgerError> {
        match self {
            Self::Reserved(_, Err(error))
            | Self::Counted(_, Err(error))
            | Self::GaveBack(Err(error))
            | Self::Raised(_, Err(error))
            | Self::Bound(Err(error)) => Some(error),
            _ => None,
        }
    }
}

/// The event that a call waits for.
enum Waiting {
    /// Its request has not reached the store.
    Asked(Request),
    /// The reply has not reached the process.
    Answered(Answer),
}

struct Running {
    call: Call,
    waiting: Waiting,
    /// The step at which it began.
    begun: u64,
}

#[derive(Default)]
struct Process {
    place: Option<Place>,
    seen: HashMap<Key, Seen>,
    running: HashMap<Key, Running>,
    /// Reservations that were answered, and those that were not.
    owned: Vec<(Key, Token, u64, u64)>,
    unanswered: Vec<Reserve>,
}

/// A range that was handed out: its key, and the realm's id.
struct Granted {
    realm: String,
    key: Key,
    token: Token,
    start: u64,
    end: u64,
    /// For a count, the step at which it ended.
    counted: Option<u64>,
}

/// A mark that was raised, and the step at which the call ended.
struct Raised {
    realm: String,
    key: Key,
    at_least: u64,
    ended: u64,
}

struct World {
    random: Random,
    store: Records,
    keys: Vec<Key>,
    processes: Vec<Process>,
    /// Requests whose callers no longer wait for the answer.
    late: Vec<Request>,
    granted: Vec<Granted>,
    raised: Vec<Raised>,
    /// The history of each key's mark, with the step of each change.
    marks: HashMap<Key, Vec<(u64, Option<u64>)>>,
    /// The highest mark that each key's record ever had, by the realm's id.
    highest: HashMap<(String, Key), u64>,
    now: u64,
    tokens: Arc<Mutex<u64>>,
    /// Whether requests and replies are lost, processes end, and records are deleted.
    faults: bool,
    /// Whether records are deleted, so that one may be missing.
    lossy: bool,
    was_emptied: bool,
    violation: Option<String>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let (digests, tells, counts) = (random.chance(500), random.chance(500), random.chance(500));
        let store = Records { digests, tells, counts, ..Records::default() };
        let name = floe::Name::new("orders").ok();
        let keys = [Key::slot(10, 1), Key::slot(10, 2)].into_iter().chain(name.as_ref().map(Key::name));
        // In half of the histories no record is deleted, so none may be missing.
        let lossy = random.chance(500);
        Self {
            random,
            store,
            keys: keys.collect(),
            processes: (0..PROCESSES).map(|_| Process::default()).collect(),
            late: Vec::new(),
            granted: Vec::new(),
            raised: Vec::new(),
            marks: HashMap::new(),
            highest: HashMap::new(),
            now: 0,
            tokens: Arc::default(),
            faults: true,
            lossy,
            was_emptied: false,
            violation: None,
        }
    }

    fn step(&mut self, step: u64) {
        self.now = step;
        let at = usize::try_from(self.random.below(PROCESSES)).unwrap_or(0);
        match self.random.below(1_000) {
            0..6 => self.processes[at] = Process::default(),
            6..14 if self.lossy => self.delete(),
            14..17 if self.lossy => {
                // Or only the realm's own record is lost, and a list that is out of date does not show the others: a new
                // realm is made over them.
                let is_whole = self.random.chance(700);
                self.store.locked(|kept| kept.retain(|key, _| !is_whole && !key.starts_with("realm/")));
                // What is reserved ahead may be in another table.
                if self.random.chance(500) {
                    self.store.crash();
                }
                self.was_emptied = true;
            }
            100..110 if self.store.counts => self.store.crash(),
            17..100 if !self.late.is_empty() => {
                let index = usize::try_from(self.random.below(self.late.len() as u64)).unwrap_or(0);
                let request = self.late.swap_remove(index);
                request.reach(&self.store);
            }
            _ => {
                let key = self.random.choose(&self.keys.clone()).clone();
                match self.processes[at].running.contains_key(&key) {
                    true => self.go_on(at, &key),
                    false => self.begin(at, &key),
                }
            }
        }
        self.note_marks();
    }

    /// An operator deletes a record.
    fn delete(&mut self) {
        let key = self.random.choose(&self.keys).clone();
        self.store.locked(|kept| kept.remove(&format!("mark/{REALM}/{key}")));
    }

    fn begin(&mut self, at: usize, key: &Key) {
        let process = &mut self.processes[at];
        if process.place.is_none() {
            process.place = Place::make(&self.store, REALM).ok();
        }
        let Some(place) = process.place.clone() else { return };
        let seen = process.seen.get(key).cloned().unwrap_or_default();
        let is_name = key.as_str().starts_with(Key::NAMES);
        let of_key = |reserve: &Reserve| reserve.key == *key;
        let call = match self.random.below(10) {
            0 | 1 => match process.owned.iter().position(|(owned, ..)| owned == key) {
                Some(index) => {
                    let (_, token, start, end) = process.owned.swap_remove(index);
                    let from = self.random.between(start, end);
                    // From here on the tail belongs to the next caller.
                    let granted = self.granted.iter_mut().filter(|granted| granted.token == token);
                    granted.for_each(|granted| granted.end = from);
                    Call::GiveBack(self.drawing(Change::give_back(place, seen, key, token, from)), None)
                }
                None => return,
            },
            2 => {
                let at_least = self.random.below(200);
                Call::Raise(self.drawing(Change::raise(place, seen, key, at_least)), at_least)
            }
            3 if is_name => {
                let Ok(name) = floe::Name::new("orders") else { return };
                Call::Bind(self.drawing(Change::bind(place, seen, &name, "segment", true)))
            }
            4 | 5 if process.unanswered.iter().any(of_key) => {
                let Some(index) = process.unanswered.iter().position(of_key) else { return };
                let request = process.unanswered.swap_remove(index);
                Call::Reserve(self.drawing(Change::reserve(place, seen, &request)), request)
            }
            6.. if is_name && self.store.counts => {
                let max_mark = if self.random.chance(300) { self.random.below(1_000) } else { MAX_MARK / 2 };
                // One that takes more than others have reserved ahead.
                let most = if self.random.chance(200) { 200 } else { 10 };
                let request = Reserve {
                    key: key.clone(),
                    floor: self.random.below(50),
                    count: self.random.between(1, most),
                    max_mark,
                    token: self.token(),
                    create: false,
                    note: None,
                };
                Call::Count(Count {
                    request,
                    before: None,
                    ahead: None,
                    found_none: false,
                    is_refused: false,
                })
            }
            _ => {
                let max_mark = if self.random.chance(300) { self.random.below(200) } else { u64::MAX };
                let request = Reserve {
                    key: key.clone(),
                    floor: self.random.below(50),
                    count: self.random.between(1, 10),
                    max_mark,
                    token: self.token(),
                    create: !is_name,
                    note: None,
                };
                Call::Reserve(self.drawing(Change::reserve(place, seen, &request)), request)
            }
        };
        self.go(at, key, call, Answer::Heard(Heard::Nothing), self.now);
    }

    /// Passes a call what was heard. The call asks again, or ends.
    fn go(&mut self, at: usize, key: &Key, mut call: Call, mut answer: Answer, begun: u64) {
        let read = match &answer {
            Answer::Heard(Heard::Entry(Some(entry)) | Heard::Put(Put::Found(Some(entry)))) => {
                Some(entry.text.clone())
            }
            _ => None,
        };
        let ended = loop {
            let heard = match (answer, &mut call) {
                (Answer::Heard(heard), _) => heard,
                (Answer::Taken(Taken::Numbers { previous, end }), Call::Count(count)) => {
                    let start = end.saturating_sub(count.request.count);
                    let got = Reply::Got { start, end, previous_mark: previous };
                    break Ended::Counted(count.request.clone(), Ok(got));
                }
                (Answer::Taken(Taken::Left(left)), Call::Count(count)) => {
                    let is_of_use = count.before.as_ref() != Some(&left);
                    count.before = Some(left.clone());
                    let (place, seen) = (self.processes[at].place.clone(), self.seen(at, key));
                    let Some(place) = place else { return };
                    let left = left.filter(|_| is_of_use);
                    count.found_none = left.is_none();
                    count.ahead =
                        Some(self.drawing(Change::reserve_ahead(place, seen, &count.request, left)));
                    Heard::Nothing
                }
                (Answer::Taken(_), _) => return,
            };
            let request = match &mut call {
                Call::Reserve(change, request) => match asks(change.next(heard)) {
                    Ok(request) => request,
                    Err(outcome) => break Ended::Reserved(request.clone(), outcome),
                },
                Call::GiveBack(change, written) => match asks(change.next(heard)) {
                    Ok(request) => {
                        if let Some(Request::Put { text, .. }) = &request {
                            *written = Some(text.clone());
                        }
                        request
                    }
                    Err(outcome) => {
                        if outcome == Ok(false) && read.is_some() && read == *written {
                            self.fails(format!("{key}: a give-back is denied that its call has just read"));
                        }
                        break Ended::GaveBack(outcome);
                    }
                },
                Call::Raise(change, at_least) => match asks(change.next(heard)) {
                    Ok(request) => request,
                    Err(Ok(mark)) if self.store.counts => {
                        let (at_least, left) = (*at_least, self.left(at, key));
                        self.remember(at, key, call);
                        call = Call::Skip(mark, at_least);
                        Some(Request::Skip { left, at_least })
                    }
                    Err(outcome) => break Ended::Raised(*at_least, outcome),
                },
                Call::Skip(mark, at_least) => match heard {
                    Heard::Failed(error) => break Ended::Raised(*at_least, Err(error)),
                    _ => break Ended::Raised(*at_least, Ok(*mark)),
                },
                Call::Bind(change) => match asks(change.next(heard)) {
                    Ok(request) => request,
                    Err(outcome) => break Ended::Bound(outcome),
                },
                Call::Count(count) => match self.counts(at, key, count, heard) {
                    Ok(request) => request,
                    Err(outcome) => break Ended::Counted(count.request.clone(), outcome),
                },
            };
            match request {
                // A wait takes no time here. The random steps between decide what others do meanwhile.
                None => answer = Answer::Heard(Heard::Nothing),
                Some(request) => {
                    let running = Running { call, waiting: Waiting::Asked(request), begun };
                    self.processes[at].running.insert(key.clone(), running);
                    return;
                }
            }
        };
        self.remember(at, key, call);
        self.ended(at, key, ended, begun);
    }

    /// The next request of a count: for numbers, or to reserve ahead.
    fn counts(
        &mut self,
        at: usize,
        key: &Key,
        count: &mut Count,
        heard: Heard,
    ) -> Result<Option<Request>, Result<Reply, LedgerError>> {
        let left = self.left(at, key);
        if let Some(change) = &mut count.ahead {
            match asks(change.next(heard)) {
                Ok(Some(Request::Put { key: record, text, expected: Some(expected) })) => {
                    return Ok(Some(match last_range(&text) {
                        Some(new) => Request::PutAhead { key: record, text, expected, left, new },
                        None => Request::Put { key: record, text, expected: Some(expected) },
                    }));
                }
                Ok(request) => return Ok(request),
                Err(Ok(Reply::Got { .. })) => {}
                Err(Ok(Reply::Refused { .. })) if count.found_none && !count.is_refused => {
                    count.is_refused = true;
                }
                Err(outcome) => return Err(outcome),
            }
            let seen = count.ahead.take().map(Change::into_seen).unwrap_or_default();
            self.processes[at].seen.insert(key.clone(), seen);
        } else if let Heard::Failed(error) = heard {
            return Err(Err(error));
        }
        let Reserve { floor, count, max_mark, .. } = count.request;
        Ok(Some(Request::Take { left, floor, count, max_mark }))
    }

    /// Where the store keeps what is reserved ahead.
    fn left(&self, at: usize, key: &Key) -> String {
        self.processes[at].place.as_ref().map(|place| place.left(key)).unwrap_or_default()
    }

    /// What a process knows of a record, for a call.
    fn seen(&self, at: usize, key: &Key) -> Seen {
        self.processes[at].seen.get(key).cloned().unwrap_or_default()
    }

    /// Keeps what a call that has ended knows.
    fn remember(&mut self, at: usize, key: &Key, call: Call) {
        let seen = match call {
            Call::Reserve(change, _) => change.into_seen(),
            Call::GiveBack(change, _) => change.into_seen(),
            Call::Raise(change, _) => change.into_seen(),
            Call::Bind(change) => change.into_seen(),
            Call::Count(Count { ahead: Some(change), .. }) => change.into_seen(),
            Call::Count(_) | Call::Skip(..) => return,
        };
        self.processes[at].seen.insert(key.clone(), seen);
    }

    fn go_on(&mut self, at: usize, key: &Key) {
        let Some(Running { call, waiting, begun }) = self.processes[at].running.remove(key) else { return };
        let lost = || Answer::Heard(Heard::Failed(LedgerError::Unavailable("no answer".to_owned())));
        match waiting {
            Waiting::Answered(answer) => {
                let answer = if self.faults && self.random.chance(60) { lost() } else { answer };
                self.go(at, key, call, answer, begun);
            }
            Waiting::Asked(request) => {
                let fate = if self.faults { self.random.below(1_000) } else { 1_000 };
                let answer = match fate {
                    0..40 => lost(),
                    40..110 => {
                        self.late.push(request);
                        lost()
                    }
                    // A client library that retries by itself mistakes its own success for another writer's.
                    110..180 => {
                        request.reach(&self.store);
                        request.reach(&self.store)
                    }
                    _ => request.reach(&self.store),
                };
                let running = Running { call, waiting: Waiting::Answered(answer), begun };
                self.processes[at].running.insert(key.clone(), running);
            }
        }
    }

    fn ended(&mut self, at: usize, key: &Key, ended: Ended, begun: u64) {
        // Other calls report a record that was never made as missing.
        let makes = match &ended {
            Ended::Reserved(request, _) => request.create,
            Ended::Bound(_) => true,
            _ => false,
        };
        match ended.error() {
            Some(LedgerError::Missing(_)) if !self.lossy && makes => {
                self.fails(format!("{key} is missing, and nobody has deleted it"));
            }
            Some(error @ LedgerError::Unfit(_)) => {
                if !self.was_emptied {
                    self.fails(format!("{key}: {error}"));
                }
                // It stops, and is started again.
                self.processes[at] = Process::default();
                return;
            }
            _ => {}
        }
        self.note_marks();
        match ended {
            Ended::Reserved(request, Ok(Reply::Got { start, end, .. })) => {
                self.grant(at, &request, start..end, begun, false);
            }
            Ended::Counted(request, Ok(Reply::Got { start, end, .. })) => {
                self.grant(at, &request, start..end, begun, true);
            }
            Ended::Counted(request, Ok(Reply::Refused { mark, .. })) if mark <= request.max_mark => {
                self.fails(format!(
                    "{key} is said to be at {mark}, and so refused to a count up to {}",
                    request.max_mark
                ));
            }
            Ended::Reserved(_, Ok(Reply::Refused { mark, .. })) | Ended::Raised(_, Ok(mark))
                if !self.was(key, Some(mark), begun) =>
            {
                self.fails(format!(
                    "{key} is said to have the mark {mark}, which it had at no time of the call"
                ));
            }
            Ended::Raised(at_least, Ok(_)) => {
                let Some(place) = &self.processes[at].place else { return };
                let (realm, key, ended) = (place.id().to_owned(), key.clone(), self.now);
                self.raised.push(Raised { realm, key, at_least, ended });
            }
            Ended::Reserved(request, Err(LedgerError::Unavailable(_))) => {
                self.processes[at].unanswered.push(request);
            }
            _ => {}
        }
    }

    fn grant(&mut self, at: usize, request: &Reserve, range: Range<u64>, begun: u64, is_count: bool) {
        let Some(realm) = self.processes[at].place.as_ref().map(|place| place.id().to_owned()) else {
            return;
        };
        let (Reserve { key, token, .. }, Range { start, end }) = (request, range);
        let of_key = |granted: &&Granted| granted.realm == realm && granted.key == *key;
        let overlap = self.granted.iter().filter(of_key).find(|granted| {
            // A range that was given back completely has no owner.
            granted.start < granted.end && granted.start < end && start < granted.end
        });
        let behind = self.granted.iter().filter(of_key).find(|granted| {
            is_count && granted.end > start && granted.counted.is_some_and(|ended| ended < begun)
        });
        let raised = self.raised.iter().find(|raised| {
            is_count
                && raised.realm == realm
                && raised.key == *key
                && raised.ended < begun
                && raised.at_least > start
        });
        let highest = self.highest.get(&(realm.clone(), key.clone())).copied().unwrap_or(0);
        let mut words = String::new();
        if highest < end {
            words = format!("{key}: [{start}, {end}) is handed out, and the mark was never above {highest}");
        } else if let Some(other) = overlap {
            words =
                format!("{key}: [{start}, {end}) is handed out, and [{}, {}) was", other.start, other.end);
            if other.token == *token {
                // Writing to a string cannot fail.
                let _written = write!(words, " by the same token");
            }
        } else if let Some(other) = behind {
            words =
                format!("{key}: [{start}, {end}) is counted, and a count before it ended at {}", other.end);
        } else if let Some(Raised { at_least, .. }) = raised {
            words =
                format!("{key}: [{start}, {end}) is counted, and the mark was raised to {at_least} before");
        }
        if !words.is_empty() {
            self.fails(words);
        }
        let counted = is_count.then_some(self.now);
        self.granted.push(Granted { realm, key: key.clone(), token: *token, start, end, counted });
        // Nothing of a count is given back.
        if !is_count {
            self.processes[at].owned.push((key.clone(), *token, start, end));
        }
    }

    /// Whether the mark of `key` was `mark` at some time since `begun`.
    fn was(&self, key: &Key, mark: Option<u64>, begun: u64) -> bool {
        let Some(marks) = self.marks.get(key) else { return false };
        let from = marks.iter().rposition(|(at, _)| *at < begun).unwrap_or(0);
        marks.iter().skip(from).any(|(_, was)| *was == mark)
    }

    /// Records each mark's current value.
    fn note_marks(&mut self) {
        for key in &self.keys {
            let found = self.store.locked(|kept| kept.get(&format!("mark/{REALM}/{key}")).cloned());
            let line = |word: &str| {
                let (_, text) = found.as_ref()?;
                text.lines().find_map(|line| line.strip_prefix(word)).map(str::to_owned)
            };
            let mark = line("mark ").and_then(|line| line.split(' ').next()?.parse::<u64>().ok());
            if let (Some(realm), Some(mark)) = (line("realm "), mark) {
                let highest = self.highest.entry((realm, key.clone())).or_default();
                *highest = mark.max(*highest);
            }
            let marks = self.marks.entry(key.clone()).or_default();
            if marks.last().is_none_or(|(_, last)| *last != mark) {
                marks.push((self.now, mark));
            }
        }
    }

    /// All faults are over: every call must end.
    fn calm_down(&mut self) {
        self.faults = false;
        for at in 0..self.processes.len() {
            for key in self.keys.clone() {
                for _ in 0..CALM {
                    self.now += 1;
                    self.go_on(at, &key);
                }
                if self.processes[at].running.contains_key(&key) {
                    self.fails(format!("a call on {key} does not end"));
                }
            }
        }
    }

    fn fails(&mut self, words: String) {
        self.violation.get_or_insert(words);
    }

    fn token(&self) -> Token {
        drawn(&self.tokens)
    }

    fn drawing<T: Clone>(&self, change: Change<T>) -> Change<T> {
        let tokens = Arc::clone(&self.tokens);
        change.drawing(move || Ok(drawn(&tokens)))
    }
}

/// A number that is drawn only once.
fn drawn(tokens: &Mutex<u64>) -> Token {
    let mut last = tokens.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        *last += 1;
        if let Some(token) = Token::from_bytes(u128::from(*last).to_le_bytes()) {
            return token;
        }
    }
}

/// A call's next request, `None` if it waits, or its result.
fn asks<T>(next: Next<T>) -> Result<Option<Request>, Result<T, LedgerError>> {
    match next {
        Next::Get(key) => Ok(Some(Request::Get(key))),
        Next::Put { key, text, expected } => Ok(Some(Request::Put { key, text, expected })),
        Next::Wait(_) => Ok(None),
        Next::Done(outcome) => Err(outcome),
    }
}

/// Whether a crash of the store is to keep what must be lost, for a test that expects a violation.
#[cfg(feature = "mutations")]
fn is_to_keep_an_old_rest() -> bool {
    floe::mutation::on(floe::mutation::Mutation::OldRestAfterACrash)
}

#[cfg(not(feature = "mutations"))]
fn is_to_keep_an_old_rest() -> bool {
    false
}

/// The range that a record says was reserved last.
fn last_range(text: &str) -> Option<Range<u64>> {
    let line = text.lines().find_map(|line| line.strip_prefix("mark "))?;
    let (mark, rest) = line.split_once(" start ")?;
    Some(rest.split(' ').next()?.parse().ok()?..mark.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::run;

    /// Ten thousand histories of four hundred steps.
    #[test]
    fn no_range_is_handed_out_twice_in_ten_thousand_histories() {
        for seed in 0..10_000 {
            assert_eq!(run(seed), None, "seed {seed}");
        }
    }
}
