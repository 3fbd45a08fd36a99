//! How a cache gets its ranges: on demand, if a request finds too little, and ahead of demand.
//!
//! The token of every request to the ledger behind is on disk before the request is sent. It is removed by whichever
//! process records the answer. After a lost reply or a crash, the next request uses the same token, and gets the range
//! that may have been reserved. Processes that share the directory use the same token, and one of them records the
//! answer. If a request was refused, the next one uses its token again: another process may have got a range with it.
//! The file is never locked while the ledger behind is asked. So a process that is slow may ask with a token whose answer
//! was recorded, after another token was used. It is given another range. Nobody records that one: a third process may have
//! been given the same. A few requests' worth of a segment's numbers are skipped then; a slot's time has no such gap.

use std::collections::HashSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use floe::ledger::{Key, Ledger, LedgerError, MAX_MARK, Reply, Reserve, Token};

use super::Inner;
use super::asking;
use super::store::{Got, Level, Local};
use super::top_up::Wish;

/// How often one request asks the ledger behind. More than two times happens only if others reserve on the key in between.
const ROUNDS: usize = 8;

/// How long one caller waits for another that gets a range for the same key.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// One caller at a time gets ranges for a key. Callers that come meanwhile then find enough.
#[derive(Default)]
pub(super) struct Gates {
    busy: Mutex<HashSet<Key>>,
    opened: Condvar,
    /// How often a caller found its key taken.
    #[cfg(test)]
    waits: std::sync::atomic::AtomicUsize,
}

pub(super) struct Gate<'a> {
    gates: &'a Gates,
    key: &'a Key,
}

impl Gates {
    pub(super) fn enter<'a>(&'a self, key: &'a Key) -> Result<Gate<'a>, LedgerError> {
        let taken = |busy: &mut HashSet<Key>| {
            let taken = busy.contains(key);
            #[cfg(test)]
            self.waits.fetch_add(usize::from(taken), std::sync::atomic::Ordering::SeqCst);
            taken
        };
        let (mut busy, wait) = self
            .opened
            .wait_timeout_while(self.busy(), MAX_WAIT, taken)
            .unwrap_or_else(PoisonError::into_inner);
        if wait.timed_out() {
            return Err(LedgerError::Unavailable(format!(
                "the ledger behind the cache has been asked for {}, and has not answered for {MAX_WAIT:?}: try again",
                key.subject()
            )));
        }
        busy.insert(key.clone());
        Ok(Gate { gates: self, key })
    }

    fn busy(&self) -> MutexGuard<'_, HashSet<Key>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Gate<'_> {
    fn drop(&mut self) {
        self.gates.busy().remove(self.key);
        self.gates.opened.notify_all();
    }
}

impl Inner {
    /// Reserves from the held ranges, and asks the ledger behind if they are too short.
    pub(super) fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        if let Local::Served(reply, level) = self.store.reserve(request, None, || self.note_served())? {
            return self.served(request, reply, level);
        }
        let _gate = self.gates.enter(&request.key)?;
        for _ in 0..ROUNDS {
            let short = match self.store.reserve(request, Some(Token::random()?), || self.note_served())? {
                Local::Served(reply, level) => return self.served(request, reply, level),
                Local::Short(short) => short,
            };
            let upstream = self.upstream()?;
            let asks = asking::for_request(request, &short, self.window_ms);
            if let Some(reply) = self.get(&*upstream, request, &asks)? {
                return Ok(reply);
            }
        }
        Err(LedgerError::Unavailable(format!(
            "others reserve on {} as fast as this cache does: try again",
            request.key.subject()
        )))
    }

    /// One request to the ledger behind. Returns the reply, or `None` if the result still does not suffice.
    fn get(
        &self,
        upstream: &dyn Ledger,
        request: &Reserve,
        [portion, exact]: &[Reserve; 2],
    ) -> Result<Option<Reply>, LedgerError> {
        let mut answer = self.heard(upstream.reserve(portion));
        if let Ok(Reply::Refused { mark, .. }) | Err(LedgerError::Overflow { mark, .. }) = &answer
            && *mark <= exact.max_mark
        {
            // There is no room for a portion, and the refusal wrote nothing.
            answer = self.heard(upstream.reserve(exact));
        }
        let (key, token) = (&request.key, exact.token);
        match answer {
            Ok(Reply::Got { start, end, previous_mark }) => {
                let got = self.sound(Got { start, end, previous_mark }, portion)?;
                self.lost().remove(key);
                match self.remember_unfit(self.store.add(key, token, got, Some(request)))? {
                    Some(Local::Served(reply, level)) => self.served(request, reply, level).map(Some),
                    _ => Ok(None),
                }
            }
            Ok(refused @ Reply::Refused { .. }) => Ok(Some(refused)),
            Err(error) => Err(error),
        }
    }

    /// Adds to the held ranges of a key, if that is still needed.
    pub(super) fn top_up(&self, wish: &Wish) -> Result<(), LedgerError> {
        let key = &wish.key;
        if self.lost().contains(key) {
            return Ok(());
        }
        let _gate = self.gates.enter(key)?;
        let upstream = self.upstream()?;
        let Some(short) = self.store.begin_top_up(key, wish.count / 2, Token::random()?)? else {
            return Ok(());
        };
        let Some(request) = asking::to_add(key, &short, wish.count, wish.limit) else {
            return Ok(());
        };
        match self.heard(upstream.reserve(&request)) {
            Ok(Reply::Got { start, end, previous_mark }) => {
                let got = self.sound(Got { start, end, previous_mark }, &request)?;
                self.remember_unfit(self.store.add(key, request.token, got, None))?;
                Ok(())
            }
            Ok(Reply::Refused { .. }) => {
                // Another node has reserved past the held range, so the cache uses up the rest and stops.
                self.lost().insert(key.clone());
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// A request was served from the held ranges: make sure that enough remains.
    fn served(&self, request: &Reserve, reply: Reply, level: Level) -> Result<Reply, LedgerError> {
        let key = &request.key;
        if !matches!(reply, Reply::Got { .. }) {
            return Ok(reply);
        }
        let count = asking::portion(key, request.count, self.window_ms).min(MAX_MARK);
        let limit = request.max_mark.saturating_add(request.count).min(MAX_MARK);
        if level.left < count / 2 && !level.has_spare && !self.lost().contains(key) {
            self.queue.add(Wish { key: key.clone(), count, limit });
        }
        Ok(reply)
    }

    /// If a ledger gives an impossible answer, hand out nothing from it.
    fn sound(&self, got: Got, asked: &Reserve) -> Result<Got, LedgerError> {
        let Got { start, end, previous_mark } = got;
        if start <= end && previous_mark <= start && end <= MAX_MARK {
            return Ok(got);
        }
        self.remember_unfit(Err(LedgerError::Unfit(format!(
            "the ledger behind the cache answered [{start}, {end}) above the mark {previous_mark} to a request for {} from {}: it is \
             not fit for use",
            asked.count, asked.floor
        ))))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, OnceLock, Weak};
    use std::thread;

    use floe::ledger::Memory;
    use floe_testbed::woken_by;

    use crate::Cache;

    use super::*;

    /// A ledger behind a cache, and what it was asked: each with whether its key's gate was taken.
    #[derive(Clone, Default)]
    struct Watched {
        store: Memory,
        cache: Arc<OnceLock<Weak<Inner>>>,
        asked: Arc<Mutex<Vec<(&'static str, bool)>>>,
        /// It answers a reservation when so many other callers wait for the gate.
        awaits: usize,
    }

    impl Watched {
        /// A cache before this ledger.
        fn open(&self, dir: &std::path::Path) -> Cache {
            let upstream = self.clone();
            let cache =
                Cache::builder(dir).before_ledger("behind:", move || Ok(Box::new(upstream.clone()))).unwrap();
            self.cache.set(Arc::downgrade(&cache.inner)).unwrap();
            cache
        }

        /// The cache's own opening comes before it is known here.
        fn look(&self, call: &'static str, key: &Key) {
            if let Some(inner) = self.cache.get().and_then(Weak::upgrade) {
                self.asked.lock().unwrap().push((call, inner.gates.busy().contains(key)));
                while inner.gates.waits.load(Ordering::SeqCst) < self.awaits {
                    thread::yield_now();
                }
            }
        }
    }

    impl Ledger for Watched {
        fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError> {
            self.look("reserve", &request.key);
            self.store.reserve(request)
        }
        fn raise(&self, key: &Key, at_least: u64) -> Result<u64, LedgerError> {
            self.look("raise", key);
            self.store.raise(key, at_least)
        }
        floe::__hand_on!(self => self.store; give_back bind definition names list realm_id describe);
    }

    fn window(key: &Key) -> Reserve {
        let token = Token::random().unwrap();
        Reserve { key: key.clone(), floor: 1, count: 5, max_mark: 100, token, create: true, note: None }
    }

    /// Of two at once, one would drop the range that the other one is waiting for.
    #[test]
    fn whatever_moves_a_mark_behind_holds_its_keys_gate() {
        let (dir, behind, key) = (tempfile::tempdir().unwrap(), Watched::default(), Key::slot(10, 7));
        let cache = behind.open(dir.path());
        cache.reserve(&window(&key)).unwrap();
        // More than twice what the cache holds then.
        cache.inner.top_up(&Wish { key: key.clone(), count: 1 << 40, limit: MAX_MARK }).unwrap();
        cache.raise(&key, 1 << 50).unwrap();
        assert_eq!(*behind.asked.lock().unwrap(), [("reserve", true), ("reserve", true), ("raise", true)]);
    }

    /// Also the cache's own thread, whose wish may be older.
    #[test]
    fn whoever_waits_while_another_caller_asks_finds_enough_afterwards() {
        let (dir, key) = (tempfile::tempdir().unwrap(), Key::slot(10, 7));
        let behind = Watched { awaits: 2, ..Watched::default() };
        let cache = behind.open(dir.path());
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| cache.reserve(&window(&key)).unwrap());
            }
            while behind.asked.lock().unwrap().is_empty() {
                thread::yield_now();
            }
            cache.inner.top_up(&Wish { key: key.clone(), count: 5, limit: MAX_MARK }).unwrap();
        });
        assert_eq!(*behind.asked.lock().unwrap(), [("reserve", true)]);
    }

    #[test]
    fn whoever_needs_no_more_than_is_held_waits_for_no_caller_that_asks() {
        let (dir, behind, key) = (tempfile::tempdir().unwrap(), Watched::default(), Key::slot(10, 7));
        let cache = behind.open(dir.path());
        cache.reserve(&window(&key)).unwrap();
        let _asks = cache.inner.gates.enter(&key).unwrap();
        let reply = cache.reserve(&window(&key));
        assert_eq!(reply, Ok(Reply::Got { start: 6, end: 11, previous_mark: 6 }));
        assert_eq!(cache.inner.gates.waits.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn one_caller_at_a_time_asks_for_a_key_and_others_for_other_keys() {
        let (gates, inside) = (Gates::default(), AtomicBool::new(false));
        let [contended, other] = [7, 8].map(|worker| Key::slot(10, worker));
        let _passed = gates.enter(&other).unwrap();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let _gate = gates.enter(&contended).unwrap();
                        assert!(!inside.swap(true, Ordering::SeqCst), "another caller is inside");
                        thread::yield_now();
                        inside.store(false, Ordering::SeqCst);
                    }
                });
            }
        });
    }

    /// The one that is woken may wait for another key, which is still taken.
    #[test]
    fn whoever_leaves_wakes_all_who_wait_for_that_key() {
        let gates = Arc::new(Gates::default());
        let [left, taken] = [7, 8].map(|worker| Key::slot(10, worker));
        let (gate, still) = (gates.enter(&left).unwrap(), gates.enter(&taken).unwrap());
        let (entered, enters) = std::sync::mpsc::channel();
        for key in [&taken, &taken, &taken, &left] {
            let (theirs, key, entered) = (Arc::clone(&gates), key.clone(), entered.clone());
            let before = gates.waits.load(Ordering::SeqCst);
            thread::spawn(move || {
                let entered_as = theirs.enter(&key).map(drop);
                drop(entered.send((key, entered_as)));
            });
            while gates.waits.load(Ordering::SeqCst) == before {
                thread::yield_now();
            }
        }
        drop(gate);
        // Whom nobody wakes would go on by itself when the longest wait is over.
        assert_eq!(enters.recv_timeout(MAX_WAIT / 2), Ok((left, Ok(()))));
        drop(still);
        for _ in 0..3 {
            assert_eq!(enters.recv_timeout(MAX_WAIT / 2), Ok((taken.clone(), Ok(()))));
        }
    }

    #[test]
    fn who_is_woken_by_whoever_leaves_finds_the_key_free() {
        let (gates, key) = (Gates::default(), Key::slot(10, 7));
        let gate = gates.enter(&key).unwrap();
        drop(woken_by(&gates.opened, gates.busy(), || drop(gate), |busy| !busy.is_empty()));
    }
}
