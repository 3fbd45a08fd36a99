//! The policy above a [`Store`], driven by processes whose requests are late, lost, or executed twice, while records
//! are deleted and the store is emptied.
//!
//! This is a separate simulation. It has no clock and mints nothing, so it tries many more orders of requests in the
//! same time than the fleet does.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use floe::ledger::{Key, LedgerError, Reply, Reserve, Token};
use floe::store::{Change, Entry, Heard, Next, Place, Put, Seen, Store, Version};

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
}

impl Records {
    fn locked<T>(&self, work: impl FnOnce(&mut BTreeMap<String, (Version, String)>) -> T) -> T {
        work(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
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

    fn describe(&self) -> String {
        "the simulated store".to_owned()
    }
}

/// A request to the store.
#[derive(Clone)]
enum Request {
    Get(String),
    Put { key: String, text: String, expected: Option<Version> },
}

impl Request {
    fn reach(&self, store: &Records) -> Heard {
        match self {
            Self::Get(key) => store.get(key).map_or_else(Heard::Failed, Heard::Entry),
            Self::Put { key, text, expected } => {
                store.put(key, text, expected.as_ref()).map_or_else(Heard::Failed, Heard::Put)
            }
        }
    }
}

/// A call that a process makes.
enum Call {
    Reserve(Change<Reply>, Reserve),
    /// With the record that it wrote last.
    GiveBack(Change<bool>, Option<String>),
    Raise(Change<u64>),
    Bind(Change<String>),
}

/// How a call ended.
enum Ended {
    Reserved(Reserve, Result<Reply, LedgerError>),
    GaveBack(Result<bool, LedgerError>),
    Raised(Result<u64, LedgerError>),
    Bound(Result<String, LedgerError>),
}

impl Ended {
    fn error(&self) -> Option<&LedgerError> {
        match self {
            Self::Reserved(_, Err(error))
            | Self::GaveBack(Err(error))
            | Self::Raised(Err(error))
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
    Answered(Heard),
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
}

struct World {
    random: Random,
    store: Records,
    keys: Vec<Key>,
    processes: Vec<Process>,
    /// Requests whose callers no longer wait for the answer.
    late: Vec<Request>,
    granted: Vec<Granted>,
    /// The history of each key's mark, with the step of each change.
    marks: HashMap<Key, Vec<(u64, Option<u64>)>>,
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
        let (digests, tells) = (random.chance(500), random.chance(500));
        let store = Records { digests, tells, ..Records::default() };
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
            marks: HashMap::new(),
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
                self.was_emptied = true;
            }
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
                Call::Raise(self.drawing(Change::raise(place, seen, key, at_least)))
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
        self.go(at, key, call, Heard::Nothing, self.now);
    }

    /// Passes a call what was heard. The call asks again, or ends.
    fn go(&mut self, at: usize, key: &Key, mut call: Call, mut heard: Heard, begun: u64) {
        let read = match &heard {
            Heard::Entry(Some(entry)) | Heard::Put(Put::Found(Some(entry))) => Some(entry.text.clone()),
            _ => None,
        };
        let ended = loop {
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
                Call::Raise(change) => match asks(change.next(heard)) {
                    Ok(request) => request,
                    Err(outcome) => break Ended::Raised(outcome),
                },
                Call::Bind(change) => match asks(change.next(heard)) {
                    Ok(request) => request,
                    Err(outcome) => break Ended::Bound(outcome),
                },
            };
            match request {
                // A wait takes no time here. The random steps between decide what others do meanwhile.
                None => heard = Heard::Nothing,
                Some(request) => {
                    let running = Running { call, waiting: Waiting::Asked(request), begun };
                    self.processes[at].running.insert(key.clone(), running);
                    return;
                }
            }
        };
        let seen = match call {
            Call::Reserve(change, _) => change.into_seen(),
            Call::GiveBack(change, _) => change.into_seen(),
            Call::Raise(change) => change.into_seen(),
            Call::Bind(change) => change.into_seen(),
        };
        self.processes[at].seen.insert(key.clone(), seen);
        self.ended(at, key, ended, begun);
    }

    fn go_on(&mut self, at: usize, key: &Key) {
        let Some(Running { call, waiting, begun }) = self.processes[at].running.remove(key) else { return };
        let lost = || Heard::Failed(LedgerError::Unavailable("no answer".to_owned()));
        match waiting {
            Waiting::Answered(heard) => {
                let heard = if self.faults && self.random.chance(60) { lost() } else { heard };
                self.go(at, key, call, heard, begun);
            }
            Waiting::Asked(request) => {
                let fate = if self.faults { self.random.below(1_000) } else { 1_000 };
                let heard = match fate {
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
                let running = Running { call, waiting: Waiting::Answered(heard), begun };
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
                self.grant(at, &request, start, end)
            }
            Ended::Reserved(_, Ok(Reply::Refused { mark, .. })) | Ended::Raised(Ok(mark))
                if !self.was(key, Some(mark), begun) =>
            {
                self.fails(format!(
                    "{key} is said to have the mark {mark}, which it had at no time of the call"
                ));
            }
            Ended::Reserved(request, Err(LedgerError::Unavailable(_))) => {
                self.processes[at].unanswered.push(request);
            }
            _ => {}
        }
    }

    fn grant(&mut self, at: usize, request: &Reserve, start: u64, end: u64) {
        let Some(realm) = self.processes[at].place.as_ref().map(|place| place.id().to_owned()) else {
            return;
        };
        let Reserve { key, token, .. } = request;
        let overlap = self.granted.iter().find(|granted| {
            // A range that was given back completely has no owner.
            let is_there = granted.start < granted.end && granted.realm == realm && granted.key == *key;
            is_there && granted.start < end && start < granted.end
        });
        if let Some(other) = overlap {
            let mut words =
                format!("{key}: [{start}, {end}) is handed out, and [{}, {}) was", other.start, other.end);
            if other.token == *token {
                // Writing to a string cannot fail.
                let _written = write!(words, " by the same token");
            }
            self.fails(words);
        }
        self.granted.push(Granted { realm, key: key.clone(), token: *token, start, end });
        self.processes[at].owned.push((key.clone(), *token, start, end));
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
            let mark = found.and_then(|(_, text)| {
                let line = text.lines().find_map(|line| line.strip_prefix("mark "))?.to_owned();
                line.split(' ').next()?.parse::<u64>().ok()
            });
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
