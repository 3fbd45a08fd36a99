//! Waiting without spinning: for a clock, for a range, for a count.
//!
//! A caller waits for an [`Attempt`]. A blocked thread parks until its [`Waiters`] are woken or a time is reached. A
//! future is woken in the same way, and by the driver's alarms.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use std::sync::{Mutex, PoisonError};

use crate::error::MintError;
use crate::mutation::mutate;
use crate::time::MonoMillis;
use crate::wakes;

/// The list of callers that wait, to be woken together.
#[derive(Default)]
pub(crate) struct Waiters {
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    wakers: BTreeMap<u64, Waker>,
    last: u64,
}

/// The most callers that wait in one place; the next is told that floe is busy.
const MOST_WAITING: usize = 100_000;

impl Waiters {
    /// Wakes all waiting callers, in the order in which they came.
    pub(crate) fn wake(&self) {
        mutate!(WaitersNotWoken => return);
        let wakers = std::mem::take(&mut self.lock().wakers);
        wakes::wake(wakers.into_values());
    }

    /// Puts `waker` on the list, in the place of `ticket`'s earlier one.
    fn join(&self, ticket: &mut u64, waker: &Waker) -> Result<(), MintError> {
        // Cloned before the lock is taken, and dropped after it: what that does is the executor's.
        let waker = waker.clone();
        let mut waiting = self.lock();
        if *ticket == 0 {
            waiting.last += 1;
            *ticket = waiting.last;
        }
        if waiting.wakers.len() >= MOST_WAITING && !waiting.wakers.contains_key(ticket) {
            return Err(MintError::Busy { retry: Duration::from_millis(100) });
        }
        let earlier = waiting.wakers.insert(*ticket, waker);
        drop(waiting);
        drop(earlier);
        Ok(())
    }

    /// [`Waiters::join`] for a test that only counts who is woken.
    #[cfg(test)]
    pub(crate) fn add(&self, waker: &Waker) {
        drop(self.join(&mut 0, waker));
    }

    fn leave(&self, ticket: u64) {
        let waker = self.lock().wakers.remove(&ticket);
        drop(waker);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something that can be tried until it is done.
pub(crate) trait Attempt {
    type Output;

    /// Tries. `Ready` is final. Otherwise try again when the waiters are woken, or after the returned milliseconds.
    ///
    /// # Errors
    /// A failure, which is also final.
    fn attempt(&mut self) -> Result<Step<Self::Output>, MintError>;

    fn waiters(&self) -> &Waiters;

    /// The error for a caller that has waited as long as it may.
    fn give_up(&mut self) -> MintError;
}

/// What an attempt came to.
pub(crate) enum Step<T> {
    Ready(T),
    Wait {
        /// Milliseconds after which it is worth trying again, if nobody wakes the caller before.
        millis: Option<u64>,
    },
}

/// The source of time for waiting, which also wakes futures.
pub(crate) trait Alarms: Send + Sync {
    fn mono(&self) -> MonoMillis;

    /// Wakes `waker` at a time, unless it is cancelled before. Replaces `earlier` if that is still set.
    fn wake_at(&self, at: MonoMillis, waker: &Waker, earlier: Option<Alarm>) -> Alarm;

    fn cancel(&self, alarm: Alarm);
}

/// An alarm that was set: its time, and a number of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Alarm(pub(crate) MonoMillis, pub(crate) u64);

/// Removes a caller from the lists when it stops waiting, for any reason.
struct Place<'a, A: Attempt> {
    attempt: A,
    ticket: u64,
    alarms: &'a dyn Alarms,
    /// The one alarm, and whom it wakes.
    alarm: Option<(Alarm, Waker)>,
}

impl<A: Attempt> Drop for Place<'_, A> {
    fn drop(&mut self) {
        if self.ticket != 0 {
            self.attempt.waiters().leave(self.ticket);
        }
        if let Some((alarm, _)) = self.alarm.take() {
            self.alarms.cancel(alarm);
        }
    }
}

impl<'a, A: Attempt> Place<'a, A> {
    fn new(attempt: A, alarms: &'a dyn Alarms) -> Self {
        Self { attempt, ticket: 0, alarms, alarm: None }
    }

    /// Sets the alarm that wakes the caller. If nothing has changed, it does nothing, because a future may be polled
    /// often on account of other futures in its task. An alarm that has fired meanwhile has woken the same waker, so
    /// the future is polled again.
    fn arm(&mut self, at: MonoMillis, waker: &Waker) {
        let earlier = match &self.alarm {
            Some((alarm, armed)) if alarm.0 == at && armed.will_wake(waker) => return,
            Some((alarm, _)) => Some(*alarm),
            None => None,
        };
        self.alarm = Some((self.alarms.wake_at(at, waker, earlier), waker.clone()));
    }

    /// One round. `Ok(Ok)`: done. `Ok(Err(millis))`: wait that long.
    fn round(&mut self, waker: &Waker, until: MonoMillis) -> Result<Result<A::Output, u64>, MintError> {
        // Join the list first, so that a wake between the attempt and the wait is not missed.
        self.attempt.waiters().join(&mut self.ticket, waker)?;
        let step = self.attempt.attempt()?;
        let left = until.since(self.alarms.mono());
        match step {
            Step::Ready(output) => Ok(Ok(output)),
            Step::Wait { .. } if left == 0 => Err(self.attempt.give_up()),
            Step::Wait { millis } => Ok(Err(millis.unwrap_or(left).clamp(1, left))),
        }
    }
}

/// Waits for an attempt on this thread, at most `patience` milliseconds.
pub(crate) fn block<A: Attempt>(
    mut attempt: A,
    alarms: &dyn Alarms,
    patience: u64,
) -> Result<A::Output, MintError> {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    if let Step::Ready(output) = attempt.attempt()? {
        return Ok(output);
    }
    let until = alarms.mono().plus(patience);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut place = Place::new(attempt, alarms);
    loop {
        match place.round(&waker, until)? {
            Ok(output) => return Ok(output),
            Err(millis) => thread::park_timeout(Duration::from_millis(millis)),
        }
    }
}

/// Waits for an attempt in a future of any runtime, at most `patience` milliseconds.
pub(crate) async fn wait<A: Attempt>(
    mut attempt: A,
    alarms: &dyn Alarms,
    patience: u64,
) -> Result<A::Output, MintError> {
    if let Step::Ready(output) = attempt.attempt()? {
        return Ok(output);
    }
    let until = alarms.mono().plus(patience);
    let mut place = Place::new(attempt, alarms);
    poll_fn(|context: &mut Context<'_>| match place.round(context.waker(), until) {
        Err(error) => Poll::Ready(Err(error)),
        Ok(Ok(output)) => Poll::Ready(Ok(output)),
        Ok(Err(millis)) => {
            place.arm(alarms.mono().plus(millis), context.waker());
            Poll::Pending
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeSet;
    use std::pin::pin;

    use super::*;

    /// A clock that stands, and the alarms that are set on it.
    #[derive(Default)]
    struct Standing {
        mono: Mutex<u64>,
        set: Mutex<BTreeSet<Alarm>>,
        most: Mutex<usize>,
        count: Mutex<u64>,
    }

    impl Standing {
        /// The times of the alarms.
        fn times(&self) -> Vec<u64> {
            self.set.lock().unwrap().iter().map(|alarm| alarm.0.get()).collect()
        }
    }

    impl Alarms for Standing {
        fn mono(&self) -> MonoMillis {
            MonoMillis::new(*self.mono.lock().unwrap())
        }

        fn wake_at(&self, at: MonoMillis, _: &Waker, earlier: Option<Alarm>) -> Alarm {
            let (mut set, mut count) = (self.set.lock().unwrap(), self.count.lock().unwrap());
            *count += 1;
            set.retain(|alarm| Some(*alarm) != earlier);
            let alarm = Alarm(at, *count);
            set.insert(alarm);
            let mut most = self.most.lock().unwrap();
            *most = set.len().max(*most);
            alarm
        }

        fn cancel(&self, alarm: Alarm) {
            self.set.lock().unwrap().remove(&alarm);
        }
    }

    /// Comes to what it is told each time.
    struct Told<F>(Waiters, F);

    impl<F: FnMut(&Waiters) -> Step<()>> Attempt for Told<F> {
        type Output = ();

        fn attempt(&mut self) -> Result<Step<()>, MintError> {
            Ok((self.1)(&self.0))
        }

        fn waiters(&self) -> &Waiters {
            &self.0
        }

        fn give_up(&mut self) -> MintError {
            MintError::Busy { retry: Duration::from_millis(1) }
        }
    }

    fn told<F: FnMut(&Waiters) -> Step<()>>(attempt: F) -> Told<F> {
        Told(Waiters::default(), attempt)
    }

    struct Nobody;

    impl Wake for Nobody {
        fn wake(self: Arc<Self>) {}
    }

    /// Waits on this list, and is never done.
    struct On<'a>(&'a Waiters);

    impl Attempt for On<'_> {
        type Output = ();

        fn attempt(&mut self) -> Result<Step<()>, MintError> {
            Ok(Step::Wait { millis: None })
        }

        fn waiters(&self) -> &Waiters {
            self.0
        }

        fn give_up(&mut self) -> MintError {
            MintError::Busy { retry: Duration::from_millis(1) }
        }
    }

    /// Notes which of those that wait are woken, in order.
    struct Tell(u64, Arc<Mutex<Vec<u64>>>);

    impl Wake for Tell {
        fn wake(self: Arc<Self>) {
            self.1.lock().unwrap().push(self.0);
        }
    }

    /// An executor may poll or drop the future in the wake itself.
    #[test]
    fn who_is_woken_may_leave_and_come_again_at_once() {
        struct ComesAgain(Arc<Waiters>);
        impl Wake for ComesAgain {
            fn wake(self: Arc<Self>) {
                assert!(self.0.waiting.try_lock().is_ok(), "it would wait for itself");
                self.0.leave(1);
                self.0.add(&Waker::from(Arc::clone(&self)));
            }
        }
        let waiters = Arc::new(Waiters::default());
        waiters.add(&Waker::from(Arc::new(ComesAgain(Arc::clone(&waiters)))));
        waiters.wake();
        assert_eq!(waiters.lock().wakers.len(), 1, "it has come again");
    }

    #[test]
    fn a_future_has_one_alarm_however_often_it_is_polled() {
        let alarms = Standing::default();
        let mut future = pin!(wait(told(|_| Step::Wait { millis: None }), &alarms, 1_000));
        let wakers = [(); 2].map(|()| Waker::from(Arc::new(Nobody)));
        let mut poll = |waker: usize| future.as_mut().poll(&mut Context::from_waker(&wakers[waker]));
        for _ in 0..100 {
            assert!(poll(0).is_pending());
        }
        assert_eq!(*alarms.count.lock().unwrap(), 1, "a poll that changes nothing sets nothing");
        // Time passes, and the end of the caller's patience does not move.
        *alarms.mono.lock().unwrap() = 999;
        assert!(poll(0).is_pending());
        assert_eq!(*alarms.count.lock().unwrap(), 1);
        // The future has moved to another task.
        for waker in [1, 0, 1] {
            assert!(poll(waker).is_pending());
        }
        assert_eq!((*alarms.count.lock().unwrap(), *alarms.most.lock().unwrap()), (4, 1));
        *alarms.mono.lock().unwrap() = 1_000;
        assert!(matches!(poll(0), Poll::Ready(Err(MintError::Busy { .. }))));
        assert!(alarms.set.lock().unwrap().is_empty(), "nothing is left of a future that is done");
    }

    #[test]
    fn nobody_waits_beyond_their_patience_for_what_is_due_later() {
        for (due, woken) in [(0, 1), (300, 300), (5_000, 1_000)] {
            let alarms = Standing::default();
            let mut future = pin!(wait(told(|_| Step::Wait { millis: Some(due) }), &alarms, 1_000));
            assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            assert_eq!(alarms.times(), [woken], "due in {due} ms");
        }
    }

    /// The clock that it waits for may be set, and nothing else may wake it.
    #[test]
    fn a_future_is_woken_when_it_is_due_as_it_has_last_seen() {
        let (alarms, due) = (Standing::default(), Cell::new(0));
        let attempt = told(|_| Step::Wait { millis: Some(due.get()) });
        let mut future = pin!(wait(attempt, &alarms, 1_000));
        for millis in [300, 100, 700] {
            due.set(millis);
            assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            assert_eq!(alarms.times(), [millis]);
        }
    }

    /// What comes of a wait for a second: of all of it on this thread, or of the first look of a future.
    fn waited<A: Attempt>(attempt: A, alarms: &Standing, blocks: bool) -> Poll<Result<A::Output, MintError>> {
        if blocks {
            Poll::Ready(block(attempt, alarms, 1_000))
        } else {
            pin!(wait(attempt, alarms, 1_000)).poll(&mut Context::from_waker(Waker::noop()))
        }
    }

    /// It is drawn, and would be lost.
    #[test]
    fn what_comes_at_the_very_end_of_the_patience_is_handed_out() {
        for blocks in [false, true] {
            let (alarms, mut tries) = (Standing::default(), 0);
            let attempt = told(|_| {
                tries += 1;
                if tries == 1 {
                    return Step::Wait { millis: None };
                }
                *alarms.mono.lock().unwrap() = 1_000;
                Step::Ready(())
            });
            let came = waited(attempt, &alarms, blocks);
            assert_eq!(came, Poll::Ready(Ok(())), "on a thread: {blocks}");
        }
    }

    #[test]
    fn the_patience_ends_also_in_an_attempt_that_takes_long() {
        for blocks in [false, true] {
            let (alarms, mut tries) = (Standing::default(), 0);
            let attempt = told(|_| {
                tries += 1;
                assert!(tries <= 2, "it has had its time");
                *alarms.mono.lock().unwrap() = if tries == 2 { 1_000 } else { 0 };
                Step::Wait { millis: None }
            });
            let came = waited(attempt, &alarms, blocks);
            assert!(
                matches!(came, Poll::Ready(Err(MintError::Busy { .. }))),
                "on a thread: {blocks}: {came:?}"
            );
        }
    }

    /// What wakes a thread early does not prolong its patience.
    #[test]
    fn a_thread_waits_no_longer_than_its_patience_however_often_it_is_woken() {
        /// Time passes with each look at it.
        #[derive(Default)]
        struct Passing(Mutex<u64>);
        impl Alarms for Passing {
            fn mono(&self) -> MonoMillis {
                let mut mono = self.0.lock().unwrap();
                *mono += 100;
                MonoMillis::new(*mono)
            }

            fn wake_at(&self, _: MonoMillis, _: &Waker, _: Option<Alarm>) -> Alarm {
                panic!("a thread sets no alarm")
            }

            fn cancel(&self, _: Alarm) {}
        }
        #[derive(Default)]
        struct Woken(Waiters, u32);
        impl Attempt for Woken {
            type Output = ();

            fn attempt(&mut self) -> Result<Step<()>, MintError> {
                self.1 += 1;
                assert!(self.1 < 20, "it waits on and on");
                self.0.wake();
                Ok(Step::Wait { millis: None })
            }

            fn waiters(&self) -> &Waiters {
                &self.0
            }

            fn give_up(&mut self) -> MintError {
                MintError::Busy { retry: Duration::from_millis(self.1.into()) }
            }
        }
        // The first attempt comes before the wait, and each of the ten others a tenth of the patience after the last.
        let waited = block(Woken::default(), &Passing::default(), 1_000);
        assert_eq!(waited, Err(MintError::Busy { retry: Duration::from_millis(11) }));
    }

    /// A future may be polled for reasons of its neighbours while it waits.
    #[test]
    fn where_as_many_wait_as_may_who_is_among_them_waits_on() {
        let (waiters, waker) = (Waiters::default(), Waker::from(Arc::new(Nobody)));
        let mut tickets = vec![0; MOST_WAITING];
        for ticket in &mut tickets {
            waiters.join(ticket, &waker).unwrap();
        }
        waiters.join(&mut tickets[0], &waker).unwrap();
        let mut late = 0;
        let told = waiters.join(&mut late, &waker);
        assert_eq!(told, Err(MintError::Busy { retry: Duration::from_millis(100) }));
        assert_eq!(waiters.lock().wakers.len(), MOST_WAITING);
        waiters.leave(tickets[7]);
        waiters.join(&mut late, &waker).unwrap();
        assert_eq!(waiters.lock().wakers.len(), MOST_WAITING);
    }

    /// What wakes all finds those on the list who came while nobody was woken, in their order.
    #[test]
    fn all_are_woken_in_the_order_in_which_they_came() {
        let (waiters, told) = (Waiters::default(), Arc::default());
        let mut tickets = [0; 9];
        for (caller, ticket) in (0..).zip(&mut tickets) {
            waiters.join(ticket, &Waker::from(Arc::new(Tell(caller, Arc::clone(&told))))).unwrap();
        }
        // The first one is polled again, and keeps its turn; the fourth has left.
        waiters.join(&mut tickets[0], &Waker::from(Arc::new(Tell(0, Arc::clone(&told))))).unwrap();
        waiters.leave(tickets[3]);
        waiters.wake();
        assert_eq!(*told.lock().unwrap(), [0, 1, 2, 4, 5, 6, 7, 8]);
        waiters.wake();
        assert_eq!(told.lock().unwrap().len(), 8, "once");
        // Who was woken in vain waits again in its old place, before those who came meanwhile.
        told.lock().unwrap().clear();
        for (caller, ticket) in [(9, &mut 0), (1, &mut tickets[1])] {
            waiters.join(ticket, &Waker::from(Arc::new(Tell(caller, Arc::clone(&told))))).unwrap();
        }
        waiters.wake();
        assert_eq!(*told.lock().unwrap(), [1, 9]);
    }

    #[test]
    fn who_tries_again_in_vain_keeps_its_turn() {
        let (alarms, waiters, told) = (Standing::default(), Waiters::default(), Arc::default());
        let mut futures = [(); 3].map(|()| Box::pin(wait(On(&waiters), &alarms, 1_000)));
        for caller in [0, 1, 2, 0, 1] {
            let waker = Waker::from(Arc::new(Tell(caller, Arc::clone(&told))));
            let future = futures[usize::try_from(caller).unwrap()].as_mut();
            assert!(future.poll(&mut Context::from_waker(&waker)).is_pending());
        }
        waiters.wake();
        assert_eq!(*told.lock().unwrap(), [0, 1, 2]);
    }

    #[test]
    fn who_stops_waiting_is_on_no_list_any_more() {
        let (alarms, waiters) = (Standing::default(), Waiters::default());
        let waker = Waker::from(Arc::new(Nobody));
        for round in 0..2 {
            let mut future = Box::pin(wait(On(&waiters), &alarms, 1_000));
            assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            assert_eq!(
                (waiters.lock().wakers.len(), alarms.set.lock().unwrap().len()),
                (1, 1),
                "round {round}"
            );
            drop(future);
            assert_eq!(
                (waiters.lock().wakers.len(), alarms.set.lock().unwrap().len()),
                (0, 0),
                "round {round}"
            );
        }
    }

    /// The awaited change may come between the check and the wait.
    #[test]
    fn a_wake_in_the_middle_of_an_attempt_is_not_missed() {
        #[derive(Default)]
        struct Count(Mutex<u32>);
        impl Wake for Count {
            fn wake(self: Arc<Self>) {
                *self.0.lock().unwrap() += 1;
            }
        }
        let (alarms, woken) = (Standing::default(), Arc::new(Count::default()));
        let comes_now = told(|waiters| {
            waiters.wake();
            Step::Wait { millis: None }
        });
        let mut future = pin!(wait(comes_now, &alarms, 1_000));
        let waker = Waker::from(Arc::clone(&woken));
        for times in 1..=2 {
            assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            assert_eq!(*woken.0.lock().unwrap(), times, "each poll is on the list before it looks");
        }
    }
}
