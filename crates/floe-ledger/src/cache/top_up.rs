//! A cache's only thread. It refills what runs low before a caller has to wait for it.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use floe::ledger::{Key, LedgerError};

use crate::pauses::{self, Pauses};

/// At most this many keys wait for a refill. A key that finds no room returns with its next reservation.
const MOST: usize = 1024;

/// After failures of the ledger behind the cache.
pub(crate) const PAUSES: Pauses =
    Pauses { first: Duration::from_millis(50), longest: Duration::from_secs(2) };

/// A refill of one key.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    pub(super) key: Key,
    /// How much to add at once.
    pub(super) count: u64,
    /// Positions at or above this are useless.
    pub(super) limit: u64,
}

/// The waiting refills.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    wishes: BTreeMap<Key, Wish>,
    /// The key of the last refill that was tried.
    tried: Option<Key>,
    over: bool,
}

impl Queue {
    pub(super) fn add(&self, wish: Wish) {
        let mut state = self.state();
        if state.wishes.len() < MOST || state.wishes.contains_key(&wish.key) {
            state.wishes.insert(wish.key.clone(), wish);
            self.changed.notify_all();
        }
    }

    pub(super) fn close(&self) {
        self.state().over = true;
        self.changed.notify_all();
    }

    /// Tries again until the result is not `Unavailable`, or the queue is closed.
    pub(super) fn insist(&self, attempt: impl Fn() -> Result<(), LedgerError>) {
        let mut failures = 0;
        while !self.state().over && matches!(attempt(), Err(LedgerError::Unavailable(_))) {
            self.pause(failures);
            failures += 1;
        }
    }

    /// Does refills until the queue is closed.
    pub(super) fn run(&self, fulfil: impl Fn(&Wish) -> Result<(), LedgerError>) {
        let mut failures = 0;
        while let Some(wish) = self.next() {
            match fulfil(&wish) {
                Err(LedgerError::Unavailable(_)) => {
                    self.add_again(wish);
                    self.pause(failures);
                    failures += 1;
                }
                // Any other error also reaches the next caller that reserves.
                _ => failures = 0,
            }
        }
    }

    /// Keys take turns, in order. So a key that the ledger behind cannot serve does not hold up the others.
    fn next(&self) -> Option<Wish> {
        let state = self.state();
        let idle = |state: &mut State| !state.over && state.wishes.is_empty();
        let mut state = self.changed.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner);
        if state.over {
            return None;
        }
        let after = state.tried.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let following = state.wishes.range((after, Bound::Unbounded)).next();
        let key = following.or_else(|| state.wishes.first_key_value())?.0.clone();
        let wish = state.wishes.remove(&key);
        state.tried = Some(key);
        wish
    }

    /// Does not replace a newer wish for the same key.
    fn add_again(&self, wish: Wish) {
        self.state().wishes.entry(wish.key.clone()).or_insert(wish);
    }

    fn pause(&self, failures: u32) {
        #[cfg(test)]
        tests::PAUSED.with_borrow_mut(|paused| paused.push(failures));
        let wait = PAUSES.after(failures, pauses::random());
        let waits = |state: &mut State| !state.over;
        drop(self.changed.wait_timeout_while(self.state(), wait, waits));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, mpsc};
    use std::thread;
    use std::time::Instant;

    use floe::Name;
    use floe_testbed::woken_by;

    use super::*;

    thread_local! {
        /// The failures before each pause of this thread.
        pub(super) static PAUSED: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
    }

    fn wish(name: &str, count: u64) -> Wish {
        Wish { key: Key::name(&Name::new(name).unwrap()), count, limit: 1_000 }
    }

    /// The waiting wishes, in order.
    fn waits(queue: &Queue) -> Vec<u64> {
        queue.state().wishes.values().map(|wish| wish.count).collect()
    }

    fn gone() -> LedgerError {
        LedgerError::Unavailable("gone".to_owned())
    }

    /// How long this takes.
    #[expect(clippy::disallowed_methods, reason = "how long a thread pauses is real time")]
    fn lasts(work: impl FnOnce()) -> Duration {
        let begin = Instant::now();
        work();
        begin.elapsed()
    }

    #[test]
    fn so_many_keys_wait_at_most_and_one_that_waits_may_wish_anew() {
        let queue = Queue::default();
        (0..MOST + 10).for_each(|name| queue.add(wish(&format!("name-{name:04}"), 1)));
        assert_eq!(waits(&queue).len(), MOST);
        queue.add(wish("name-0000", 2));
        assert_eq!((waits(&queue).len(), waits(&queue)[0]), (MOST, 2));
    }

    #[test]
    fn a_wish_that_failed_waits_again_and_takes_no_newer_ones_place() {
        let (queue, fulfilled) = (Queue::default(), RefCell::new(Vec::new()));
        queue.add(wish("orders", 1));
        queue.run(|tried| {
            fulfilled.borrow_mut().push(tried.count);
            match fulfilled.borrow().len() {
                1 => {}
                // It grew while the first was being tried.
                2 => queue.add(wish("orders", 2)),
                _ => {
                    queue.close();
                    return Ok(());
                }
            }
            Err(gone())
        });
        assert_eq!(*fulfilled.borrow(), [1, 1, 2]);
    }

    /// Otherwise the others would run out while the ledger behind could serve them.
    #[test]
    fn a_key_whose_refill_fails_holds_up_no_other() {
        let (queue, tried) = (Queue::default(), RefCell::new(Vec::new()));
        (1..=3).for_each(|key| queue.add(wish(&format!("name-{key}"), key)));
        queue.run(|wish| {
            tried.borrow_mut().push(wish.count);
            if tried.borrow().len() == 5 {
                queue.close();
            }
            if wish.count == 3 { Ok(()) } else { Err(gone()) }
        });
        assert_eq!(*tried.borrow(), [1, 2, 3, 1, 2]);
    }

    #[test]
    fn a_queue_that_is_closed_tries_nothing_more_whatever_waits() {
        let queue = Queue::default();
        queue.add(wish("orders", 1));
        queue.close();
        queue.insist(|| panic!("it is closed"));
        queue.run(|wish| panic!("it is closed: {wish:?}"));
        // Nor does it pause any more.
        assert!(lasts(|| queue.pause(u32::MAX)) < PAUSES.longest / 2);
    }

    /// The thread of a cache that was dropped would wait for ever.
    #[test]
    fn a_thread_that_waits_for_wishes_ends_with_the_queue() {
        for _ in 0..20 {
            let (queue, (to, from)) = (Arc::new(Queue::default()), mpsc::channel());
            let its = Arc::clone(&queue);
            thread::spawn(move || {
                its.run(|wish| {
                    to.send(wish.count).unwrap();
                    Ok(())
                });
            });
            queue.add(wish("orders", 7));
            assert_eq!(from.recv(), Ok(7));
            // So that it waits by then, most of the times.
            (0..100).for_each(|_| thread::yield_now());
            queue.close();
            let ended = from.recv_timeout(Duration::from_secs(30));
            assert_eq!(ended, Err(mpsc::RecvTimeoutError::Disconnected), "it is awake");
        }
    }

    #[test]
    fn who_is_woken_at_the_end_finds_the_queue_closed() {
        let queue = Queue::default();
        drop(woken_by(&queue.changed, queue.state(), || queue.close(), |state| !state.over));
    }

    /// Otherwise a fleet would ask a store that is down as fast as it can.
    #[test]
    fn pauses_double_while_the_ledger_behind_is_gone() {
        // 50 ms, 100, 200 and 400, of which a random part of up to half is left out.
        let least = PAUSES.first / 2 * 15;
        let tries = Cell::new(0);
        let fails_four_times = || {
            tries.set(tries.get() + 1);
            if tries.get() % 5 == 0 { Ok(()) } else { Err(gone()) }
        };
        let queue = Queue::default();
        let insists = lasts(|| queue.insist(fails_four_times));
        assert!(insists >= least, "{insists:?}");
        queue.add(wish("orders", 1));
        let runs = lasts(|| {
            queue.run(|_| fails_four_times().inspect(|()| queue.close()));
        });
        assert!(runs >= least, "{runs:?}");
        assert_eq!(tries.get(), 10);
    }

    #[test]
    fn the_pauses_begin_anew_once_the_ledger_behind_has_answered() {
        for answer in [Ok(()), Err(LedgerError::Unfit("it was replaced".to_owned()))] {
            let (queue, tries) = (Queue::default(), Cell::new(0));
            PAUSED.take();
            queue.add(wish("orders", 1));
            queue.run(|_| {
                tries.set(tries.get() + 1);
                match tries.get() {
                    3 => {
                        queue.add(wish("orders", 2));
                        answer.clone()
                    }
                    5 => {
                        queue.close();
                        Ok(())
                    }
                    _ => Err(gone()),
                }
            });
            assert_eq!(PAUSED.take(), [0, 1, 0], "{answer:?}");
        }
    }

    /// During an outage, each request that runs low adds one.
    #[test]
    fn a_pause_is_no_shorter_for_new_wishes() {
        let (queue, is_over) = (Queue::default(), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::SeqCst) {
                    queue.add(wish("orders", 1));
                    thread::yield_now();
                }
            });
            // 400 ms, of which a random part of up to half is left out.
            let paused = lasts(|| queue.pause(3));
            is_over.store(true, Ordering::SeqCst);
            assert!(paused >= PAUSES.first * 4, "{paused:?}");
        });
    }
}
