//! The store that several models share: the parts that they use of ZooKeeper, of Redis, and of a table with an
//! auto-increment column.
//!
//! It serves one request at a time, and its changes are durable unless the world makes it lose them. Sessions and
//! lifetimes end by its own clock, which is true time.

use std::collections::BTreeMap;

use floe_sim::model::Micros;
use floe_sim::random::Random;

/// The value of a key.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Entry {
    /// Usually a worker id.
    pub number: u64,
    /// A time that a client wrote, by the client's clock; `None` if none did yet.
    pub stamp: Option<i64>,
}

/// A client's request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// The entry of a key. [`Reply::Entry`].
    Get(String),
    /// All entries whose keys begin with this text, in the order of their keys. [`Reply::Entries`].
    List(String),
    /// Writes an entry unless it exists. [`Reply::Done`].
    Create(String, Entry),
    /// Writes an entry with this stamp. Its key is the first string, a slash, the second string, and the next number of
    /// the first one's counter; that number is also its number: a persistent sequential node. [`Reply::Entry`].
    Sequential(String, String, i64),
    /// Overwrites an entry if it exists. [`Reply::Done`].
    Update(String, Entry),
    /// Writes the stamp of an entry if it exists, and keeps its number. [`Reply::Done`].
    Stamp(String, i64),
    /// Removes an entry. [`Reply::Done`].
    Remove(String),
    /// Removes an entry and writes its number, with this stamp, under the second key and that number, atomically.
    /// [`Reply::Done`].
    Move(String, String, i64),
    /// Opens a session that ends after this many milliseconds of silence. [`Reply::Session`].
    Open(u64),
    /// Keeps a session alive; `false` if it has ended. [`Reply::Done`].
    Ping(u64),
    /// Ends a session. [`Reply::Done`].
    Close(u64),
    /// Writes an entry unless it exists. It is deleted with the session. [`Reply::Done`].
    Hold(u64, String, Entry),
}

/// The store's answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// Whether it was done.
    Done(bool),
    /// The entry.
    Entry(Option<Entry>),
    /// The entries.
    Entries(Vec<(String, Entry)>),
    /// The new session.
    Session(u64),
}

/// The store.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Registry {
    records: BTreeMap<String, Record>,
    counters: BTreeMap<String, u64>,
    sessions: BTreeMap<u64, Session>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Record {
    entry: Entry,
    session: Option<u64>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Session {
    timeout: Micros,
    end: Micros,
}

impl Registry {
    /// Does what a request asks for.
    pub fn execute(&mut self, request: &Request, now: Micros) -> Reply {
        self.expire(now);
        match request {
            Request::Get(key) => Reply::Entry(self.get(key)),
            Request::List(start) => Reply::Entries(self.list(start)),
            Request::Create(key, entry) => Reply::Done(self.create(key, *entry)),
            Request::Sequential(parent, name, stamp) => {
                let entry = Entry { number: self.increment(parent), stamp: Some(*stamp) };
                self.put(&format!("{parent}/{name}{:010}", entry.number), entry);
                Reply::Entry(Some(entry))
            }
            Request::Update(key, entry) => Reply::Done(self.update(key, *entry)),
            Request::Stamp(key, stamp) => {
                let entry = self.get(key).map(|entry| Entry { stamp: Some(*stamp), ..entry });
                Reply::Done(entry.is_some_and(|entry| self.update(key, entry)))
            }
            Request::Remove(key) => Reply::Done(self.remove(key).is_some()),
            Request::Move(from, to, stamp) => {
                let entry = self.remove(from);
                Reply::Done(entry.is_some_and(|Entry { number, .. }| {
                    self.put(&format!("{to}{number}"), Entry { number, stamp: Some(*stamp) });
                    true
                }))
            }
            Request::Open(timeout_ms) => {
                let timeout = timeout_ms.saturating_mul(1000);
                let session = self.increment("sessions");
                self.sessions.insert(session, Session { timeout, end: now.saturating_add(timeout) });
                Reply::Session(session)
            }
            Request::Ping(session) => Reply::Done(self.sessions.get_mut(session).is_some_and(|session| {
                session.end = now.saturating_add(session.timeout);
                true
            })),
            Request::Close(session) => {
                let open = self.sessions.remove(session).is_some();
                self.records.retain(|_, record| record.session != Some(*session));
                Reply::Done(open)
            }
            Request::Hold(session, key, entry) => {
                let free = self.sessions.contains_key(session) && !self.records.contains_key(key);
                if free {
                    self.records.insert(key.clone(), Record { entry: *entry, session: Some(*session) });
                }
                Reply::Done(free)
            }
        }
    }

    /// The entry of a key.
    pub fn get(&self, key: &str) -> Option<Entry> {
        self.records.get(key).map(|record| record.entry)
    }

    /// All entries whose keys begin with this text.
    pub fn list(&self, start: &str) -> Vec<(String, Entry)> {
        self.records
            .range(start.to_owned()..)
            .take_while(|(key, _)| key.starts_with(start))
            .map(|(key, record)| (key.clone(), record.entry))
            .collect()
    }

    /// Writes an entry, whether or not there was one.
    pub fn put(&mut self, key: &str, entry: Entry) {
        self.records.insert(key.to_owned(), Record { entry, session: None });
    }

    /// Writes an entry, or returns `false` if it exists.
    pub fn create(&mut self, key: &str, entry: Entry) -> bool {
        let free = !self.records.contains_key(key);
        if free {
            self.put(key, entry);
        }
        free
    }

    /// Overwrites an entry, or returns `false` if it does not exist.
    pub fn update(&mut self, key: &str, entry: Entry) -> bool {
        self.records.get_mut(key).is_some_and(|record| {
            record.entry = entry;
            true
        })
    }

    /// Removes an entry, and returns it.
    pub fn remove(&mut self, key: &str) -> Option<Entry> {
        self.records.remove(key).map(|record| record.entry)
    }

    /// The next number of a counter, from 0: a sequential node, an auto-increment column.
    pub fn increment(&mut self, counter: &str) -> u64 {
        let next = self.counters.entry(counter.to_owned()).or_default();
        let number = *next;
        *next = next.saturating_add(1);
        number
    }

    /// The number that [`increment`](Self::increment) would return.
    pub fn peek(&self, counter: &str) -> u64 {
        self.counters.get(counter).copied().unwrap_or_default()
    }

    /// Every session begins again with its full timeout, as in a ZooKeeper that has restarted: the disk does not hold
    /// how long each one had been silent.
    pub fn renew_sessions(&mut self, now: Micros) {
        for session in self.sessions.values_mut() {
            session.end = now.saturating_add(session.timeout);
        }
    }

    /// Loses one record, and returns which.
    pub fn delete_record(&mut self, random: &mut Random) -> Option<String> {
        let keys: Vec<String> = self.records.keys().cloned().collect();
        if keys.is_empty() {
            return None;
        }
        let key = random.choose(&keys);
        self.records.remove(key);
        Some(key.clone())
    }

    /// Ends the sessions that have timed out.
    pub fn expire(&mut self, now: Micros) {
        let Self { records, sessions, .. } = self;
        sessions.retain(|_, session| session.end > now);
        records.retain(|_, record| record.session.is_none_or(|session| sessions.contains_key(&session)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRY: Entry = Entry { number: 7, stamp: None };

    #[test]
    fn a_session_takes_what_it_held_with_it() {
        let mut store = Registry::default();
        let Reply::Session(session) = store.execute(&Request::Open(60_000), 0) else { unreachable!() };
        let hold = Request::Hold(session, "worker/7".into(), ENTRY);
        assert_eq!(store.execute(&hold, 1), Reply::Done(true));
        assert_eq!(store.execute(&hold, 2), Reply::Done(false), "it is there already");
        assert_eq!(store.execute(&Request::Ping(session), 59_999_999), Reply::Done(true));
        assert_eq!(store.execute(&Request::Get("worker/7".into()), 119_999_998), Reply::Entry(Some(ENTRY)));
        assert_eq!(store.execute(&Request::Get("worker/7".into()), 119_999_999), Reply::Entry(None));
        assert_eq!(store.execute(&Request::Ping(session), 120_000_000), Reply::Done(false));
        assert_eq!(store.execute(&hold, 120_000_000), Reply::Done(false), "the session has ended");
    }

    /// ZooKeeper 05eae83, SessionTrackerImpl's constructor: every session is tracked anew with its full timeout.
    #[test]
    fn a_store_that_starts_again_gives_every_session_its_full_timeout() {
        let mut store = Registry::default();
        let Reply::Session(session) = store.execute(&Request::Open(60_000), 0) else { unreachable!() };
        store.expire(59_000_000);
        store.renew_sessions(100_000_000);
        assert_eq!(store.execute(&Request::Ping(session), 159_999_999), Reply::Done(true));
        store.expire(300_000_000);
        store.renew_sessions(300_000_000);
        assert_eq!(
            store.execute(&Request::Ping(session), 300_000_001),
            Reply::Done(false),
            "it had ended before"
        );
    }

    #[test]
    fn a_request_that_comes_twice_does_no_more_than_it_says() {
        let mut store = Registry::default();
        assert_eq!(store.execute(&Request::Update("a".into(), ENTRY), 0), Reply::Done(false));
        assert_eq!(store.execute(&Request::Create("a".into(), ENTRY), 0), Reply::Done(true));
        assert_eq!(store.execute(&Request::Create("a".into(), ENTRY), 0), Reply::Done(false));
        assert_eq!(store.execute(&Request::Stamp("a".into(), 5), 0), Reply::Done(true));
        let stamped = Entry { stamp: Some(5), ..ENTRY };
        assert_eq!(store.list("a"), [("a".to_owned(), stamped)]);
        assert_eq!(store.execute(&Request::Move("a".into(), "free/".into(), 9), 0), Reply::Done(true));
        assert_eq!(store.execute(&Request::Move("a".into(), "free/".into(), 9), 0), Reply::Done(false));
        assert_eq!(store.get("free/7"), Some(Entry { stamp: Some(9), ..ENTRY }));
        assert_eq!((store.increment("n"), store.increment("n")), (0, 1));
    }
}
