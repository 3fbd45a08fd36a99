//! Wakes that wait until their thread has released the locks of a floe.
//!
//! A waker is foreign code. It may poll a future of the same floe at once, drop the floe's last handle, or panic.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard};
use std::task::Waker;

use crate::sync::lock_std;

/// What one thread holds back.
struct HeldBack {
    /// How many [`Hold`]s live on this thread.
    holds: u32,
    wakers: VecDeque<Waker>,
}

thread_local! {
    static HELD_BACK: RefCell<HeldBack> = const { RefCell::new(HeldBack { holds: 0, wakers: VecDeque::new() }) };
}

/// Gives `work` what this thread holds back. `None` where the thread ends, and has freed it.
fn held_back<T>(work: impl FnOnce(&mut HeldBack) -> T) -> Option<T> {
    HELD_BACK.try_with(|held| work(&mut held.borrow_mut())).ok()
}

/// Wakes at once, or when the last [`Hold`] of this thread ends.
pub(crate) fn wake(wakers: impl IntoIterator<Item = Waker>) {
    for waker in wakers {
        let mut waker = Some(waker);
        held_back(|held| {
            if held.holds > 0 {
                held.wakers.extend(waker.take());
            }
        });
        waker.into_iter().for_each(wake_one);
    }
}

/// A panic of a waker is its owner's, and others are woken all the same.
fn wake_one(waker: Waker) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
        // The panic's message is printed, and there is nobody to hand it to. Its drop is foreign code, which may panic too.
        std::mem::forget(payload);
    }
}

/// While it lives, the wakes of this thread wait. The last one to end wakes.
pub(crate) struct Hold {
    /// It counts for its own thread.
    _here: PhantomData<*const ()>,
}

impl Hold {
    pub(crate) fn new() -> Self {
        held_back(|held| held.holds += 1);
        Self { _here: PhantomData }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // The count falls last. So what a waker wakes in turn joins the end of the queue, and no stack grows.
        let next = || {
            held_back(|held| {
                let next = if held.holds > 1 { None } else { held.wakers.pop_front() };
                held.holds -= u32::from(next.is_none());
                next
            })
        };
        while let Some(waker) = next().flatten() {
            wake_one(waker);
        }
    }
}

/// A locked mutex. While it is locked, the wakes of this thread wait.
pub(crate) struct Locked<'a, T> {
    // Released before the wakes: fields are dropped in this order.
    guard: MutexGuard<'a, T>,
    _hold: Hold,
}

impl<'a, T> Locked<'a, T> {
    pub(crate) fn new(mutex: &'a Mutex<T>) -> Self {
        let hold = Hold::new();
        Self { guard: lock_std(mutex), _hold: hold }
    }
}

impl<T> Deref for Locked<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.guard
    }
}

impl<T> DerefMut for Locked<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.guard
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::panic::panic_any;
    use std::sync::Arc;
    use std::task::Wake;

    use super::*;

    /// A waker that runs this.
    struct Runs<F>(F);

    impl<F: Fn() + Send + Sync + 'static> Wake for Runs<F> {
        fn wake(self: Arc<Self>) {
            (self.0)();
        }
    }

    pub(crate) fn runs(work: impl Fn() + Send + Sync + 'static) -> Waker {
        Arc::new(Runs(work)).into()
    }

    #[test]
    fn wakes_wait_for_the_last_hold_and_come_in_order_when_the_lock_is_free() {
        let (mutex, told) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(Vec::new())));
        let tells = |number: u32| {
            let (mutex, told) = (Arc::clone(&mutex), Arc::clone(&told));
            runs(move || told.lock().unwrap().push((number, mutex.try_lock().is_ok())))
        };
        wake([tells(1)]);
        assert_eq!(*told.lock().unwrap(), [(1, true)], "nothing holds it back");
        let outer = Hold::new();
        {
            let _locked = Locked::new(&mutex);
            wake([tells(2), tells(3)]);
        }
        wake([tells(4)]);
        assert_eq!(told.lock().unwrap().len(), 1);
        drop(outer);
        assert_eq!(*told.lock().unwrap(), [1, 2, 3, 4].map(|number| (number, true)));
        wake([tells(5)]);
        assert_eq!(told.lock().unwrap().len(), 5, "nothing holds it back any more");
    }

    /// Each is polled in the wake of the one before, as by an executor without a queue of its own.
    #[test]
    fn a_hundred_thousand_who_wake_each_other_need_no_deeper_stack() {
        fn next(left: u32, woken: &Arc<Mutex<u32>>) -> Waker {
            let woken = Arc::clone(woken);
            runs(move || {
                *woken.lock().unwrap() += 1;
                let _hold = Hold::new();
                wake((left > 0).then(|| next(left - 1, &woken)));
            })
        }
        let woken = Arc::default();
        let hold = Hold::new();
        wake([next(99_999, &woken)]);
        drop(hold);
        assert_eq!(*woken.lock().unwrap(), 100_000);
    }

    #[test]
    fn a_panic_of_one_waker_takes_no_wake_from_the_others() {
        let woken = Arc::new(Mutex::new(0));
        let counts = || {
            let woken = Arc::clone(&woken);
            runs(move || *woken.lock().unwrap() += 1)
        };
        wake([runs(|| panic_any("at once")), counts()]);
        // Also where the lock is released by a panic of its own.
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _hold = Hold::new();
            wake([runs(|| panic_any("held back")), counts()]);
            panic_any("under the lock");
        }));
        assert!(panicked.is_err());
        wake([counts()]);
        assert_eq!(*woken.lock().unwrap(), 3);
        // And where what it panics with panics in turn.
        struct Payload;
        impl Drop for Payload {
            fn drop(&mut self) {
                panic_any("while it is dropped");
            }
        }
        let hold = Hold::new();
        wake([runs(|| panic_any(Payload)), counts()]);
        drop(hold);
        wake([counts()]);
        assert_eq!(*woken.lock().unwrap(), 5);
    }
}
