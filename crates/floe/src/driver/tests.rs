use std::pin::Pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Wake, Waker};

use super::*;
use crate::clock::{ClockPolicy, FixedClock, TimeSource};
use crate::counter::Counter;
use crate::definition::{DatedShape, Overflow, PERIOD_BITS};
use crate::error::StopReason;
use crate::ledger::{Key, Memory, Token};
use crate::node::{CounterQueue, NodeSettings, Purpose, SegmentState, Steps};
use crate::signal::tests::woken_by;
use crate::supply::SegmentSupply;
use crate::time::Reading;

/// Longer than any test takes: whoever waits for it waits for ever.
const LONG: Duration = Duration::from_secs(600);

fn standing() -> FixedClock {
    FixedClock::at(UnixMillis::new(1_790_000_000_000))
}

/// What the threads of a floe share.
pub(super) fn shared(ledger: impl Ledger + 'static, source: impl TimeSource + 'static) -> Arc<Shared> {
    let node = Node::new(NodeSettings {
        window_ms: 1_000,
        renew_idle: false,
        check_clock: true,
        ledger: "memory:".to_owned(),
        owner: "host=here boot=b pid=1 started=1 version=0 instance=".parse().unwrap(),
        is_gone: Box::new(|_| false),
        at_hand: Box::new(|_| Vec::new()),
        entropy: Box::new(|| *Token::random().unwrap().as_bytes()),
    });
    let clock = Arc::new(Clock::new(ClockPolicy::default(), Box::new(source)));
    Arc::new(Shared::new(clock, Arc::new(ledger), node, 1_000, 1_000))
}

/// A floe's driver whose one thread is this one, by a clock that stands.
fn driver(ledger: &Memory, thread: fn(&Shared)) -> Driver {
    driver_by(ledger, standing(), thread)
}

fn driver_by(ledger: &Memory, source: impl TimeSource + 'static, thread: fn(&Shared)) -> Driver {
    let shared = shared(ledger.clone(), source);
    let driver = Driver::new(&shared);
    lock(&driver.threads).push(thread::spawn(move || thread(&shared)));
    driver
}

/// Waits for what another thread does.
pub(crate) fn until(done: impl Fn() -> bool) {
    for _ in 0..30_000 {
        if done() {
            return;
        }
        thread::park_timeout(Duration::from_millis(1));
    }
    panic!("the other thread does not do it");
}

/// Or it would sleep on, and the call would lie there until the next one.
#[test]
fn who_is_woken_finds_the_work_there() {
    let shared = shared(Memory::default(), standing());
    let waits = (Name::new("orders").unwrap(), Duration::ZERO);
    let hands_out = || shared.hand_out(Vec::new(), Some(waits));
    woken_by(&shared.work_is_there, lock(&shared.work), hands_out, |work| work.gathering.is_empty());
    let lets_go = || shared.let_go();
    woken_by(&shared.work_is_there, lock(&shared.work), lets_go, |work| {
        assert!(work.over || !shared.signal.is_raised(), "the node's thread looks for it when it is called");
        !work.over
    });
}

/// Counts how often it is woken.
#[derive(Default)]
struct Woken(AtomicU32);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn an_alarm_rings_at_its_time_once_and_not_where_it_was_moved_or_cancelled() {
    let driver = driver(&Memory::default(), |_| {});
    let (shared, at) = (&driver.shared, |millis: u64| MonoMillis::new(1_000_000 + millis));
    let woken = [(); 4].map(|()| Arc::new(Woken::default()));
    let wakers = woken.each_ref().map(|woken| Waker::from(Arc::clone(woken)));
    let told = || woken.each_ref().map(|woken| woken.0.load(Ordering::Relaxed));
    // Two of one time, one that is moved to an earlier one, and one that is cancelled.
    shared.wake_at(at(10), &wakers[0], None);
    shared.signal.lower();
    shared.wake_at(at(10), &wakers[1], None);
    let moved = shared.wake_at(at(20), &wakers[2], None);
    let cancelled = shared.wake_at(at(10), &wakers[3], None);
    assert!(!shared.signal.is_raised(), "the driver is not woken for what comes no earlier");
    shared.wake_at(at(5), &wakers[2], Some(moved));
    assert!(shared.signal.is_raised(), "the driver sleeps to the first of them");
    shared.cancel(cancelled);
    assert_eq!((shared.wake_alarms(at(4)), told()), (Some(at(5)), [0, 0, 0, 0]));
    assert_eq!((shared.wake_alarms(at(5)), told()), (Some(at(10)), [0, 0, 1, 0]));
    assert_eq!((shared.wake_alarms(at(10)), told()), (None, [1, 1, 1, 0]));
    assert_eq!((shared.wake_alarms(at(30)), told()), (None, [1, 1, 1, 0]));
}

/// One of them was set for another time before.
#[test]
fn alarms_that_come_to_be_of_one_time_all_ring() {
    let (shared, at) = (shared(Memory::default(), standing()), MonoMillis::new);
    let woken = [(); 2].map(|()| Arc::new(Woken::default()));
    let wakers = woken.each_ref().map(|woken| Waker::from(Arc::clone(woken)));
    let moved = shared.wake_at(at(20), &wakers[0], None);
    shared.wake_at(at(10), &wakers[1], None);
    shared.wake_at(at(10), &wakers[0], Some(moved));
    assert_eq!(shared.wake_alarms(at(10)), None);
    assert_eq!(woken.map(|woken| woken.0.load(Ordering::Relaxed)), [1, 1]);
}

/// It takes the call, and would sleep past an alarm that is not set by then.
#[test]
fn the_nodes_thread_is_called_for_an_alarm_that_is_set() {
    /// Looks where it is dropped, when another alarm has taken the place of its own.
    struct Looks(Arc<Shared>);
    impl Wake for Looks {
        fn wake(self: Arc<Self>) {}
    }
    impl Drop for Looks {
        fn drop(&mut self) {
            let next = self.0.wake_alarms(MonoMillis::new(0));
            assert_eq!((next, self.0.signal.is_raised()), (Some(MonoMillis::new(10)), false));
        }
    }
    let (shared, at) = (shared(Memory::default(), standing()), MonoMillis::new);
    let moved = shared.wake_at(at(20), &Waker::from(Arc::new(Looks(Arc::clone(&shared)))), None);
    shared.signal.lower();
    shared.wake_at(at(10), Waker::noop(), Some(moved));
    assert!(shared.signal.is_raised());
    assert_eq!(Arc::strong_count(&shared), 1, "it has looked");
}

/// A waker may run its future at once, which sets an alarm or cancels one.
#[test]
fn whoever_is_woken_may_set_an_alarm_at_once() {
    struct SetsAnother(Arc<Shared>);
    impl Wake for SetsAnother {
        fn wake(self: Arc<Self>) {
            assert!(self.0.timers.try_lock().is_ok(), "it would wait for whoever woke it");
            self.0.wake_at(MonoMillis::new(2), Waker::noop(), None);
        }
    }
    let shared = shared(Memory::default(), standing());
    let waker = Waker::from(Arc::new(SetsAnother(Arc::clone(&shared))));
    shared.wake_at(MonoMillis::new(1), &waker, None);
    assert_eq!(shared.wake_alarms(MonoMillis::new(1)), None);
    assert_eq!(shared.wake_alarms(MonoMillis::new(1)), Some(MonoMillis::new(2)));
}

#[test]
fn the_nodes_thread_sleeps_until_it_is_called_and_wakes_at_the_end_who_still_waits() {
    let driver = driver(&Memory::default(), Shared::run);
    let (shared, woken) = (&driver.shared, Arc::new(Woken::default()));
    shared.signal.raise();
    // Who sleeps takes the call, and who only runs around does not.
    until(|| !shared.signal.is_raised());
    shared.wake_at(shared.mono().plus(3_600_000), &Waker::from(Arc::clone(&woken)), None);
    driver.close();
    assert_eq!(woken.0.load(Ordering::Relaxed), 1, "it learns that the floe was closed");
}

/// A clock that stands. A second passes with each look of one who waits.
struct Hurried(Arc<AtomicU64>);

impl TimeSource for Hurried {
    fn read(&self) -> Reading {
        standing().read()
    }

    fn patience(&self) -> MonoMillis {
        MonoMillis::new(self.0.fetch_add(1_000, Ordering::Relaxed))
    }
}

/// The last floe may be dropped by a future's waker, at its time or with its answer.
#[test]
fn a_driver_that_is_closed_by_its_own_thread_does_not_wait_for_that_thread() {
    /// What has passed while it drops the driver.
    struct Drops(Mutex<Option<Driver>>, Arc<AtomicU64>, Mutex<Option<u64>>);
    impl Wake for Drops {
        fn wake(self: Arc<Self>) {
            let before = self.1.load(Ordering::Relaxed);
            drop(lock(&self.0).take());
            *lock(&self.2) = Some(self.1.load(Ordering::Relaxed) - before);
        }
    }
    type Wakes = fn(&Shared, &Name, &Waker);
    let at_its_time: Wakes = |shared, _, waker| {
        shared.wake_at(shared.mono(), waker, None);
    };
    let with_its_answer: Wakes = |shared, count, waker| {
        let ticket = Ticket::new(1);
        ticket.waiters().add(waker);
        shared.enqueue(count, &ticket, Caller::Future).unwrap();
    };
    for (thread, wakes) in [(Shared::run as fn(&Shared), at_its_time), (Shared::talk, with_its_answer)] {
        let (ledger, passed) = (Memory::default(), Arc::default());
        let driver = driver_by(&ledger, Hurried(Arc::clone(&passed)), thread);
        let shared = Arc::clone(&driver.shared);
        let name = counter("count", &driver, &ledger);
        let drops = Arc::new(Drops(Mutex::new(Some(driver)), passed, Mutex::default()));
        wakes(&shared, &name, &Waker::from(Arc::clone(&drops)));
        until(|| lock(&drops.2).is_some());
        assert_eq!(*lock(&drops.2), Some(0), "it does not even look how long it may wait");
        assert_eq!(shared.node().stopped(), Some("floe was closed"));
    }
}

/// A task that is polled in the wake itself, by an executor without a queue.
struct PolledInTheWake(Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>);

impl PolledInTheWake {
    /// Polls the task for the first time. Returns whether it is done.
    fn spawn(task: impl Future<Output = ()> + Send + 'static) -> impl Fn() -> bool {
        let task = Arc::new(Self(Mutex::new(Some(Box::pin(task)))));
        Arc::clone(&task).wake();
        // It is locked for ever where the wake waits for itself.
        move || task.0.try_lock().is_ok_and(|task| task.is_none())
    }
}

impl Wake for PolledInTheWake {
    fn wake(self: Arc<Self>) {
        let waker = Waker::from(Arc::clone(&self));
        let mut task = lock(&self.0);
        if let Some(future) = &mut *task
            && future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()
        {
            *task = None;
        }
    }
}

/// It asks the node again, makes a name and lets one go, and looks at all; at last it drops the floe, on one of the floe's
/// own threads.
#[test]
fn who_is_woken_may_do_all_that_a_floe_does_at_once() {
    let (ledger, orders) = (Memory::default(), Name::new("orders").unwrap());
    let floe = crate::Floe::open(ledger.clone()).unwrap();
    let count = floe.counter("count").unwrap();
    let is_done = PolledInTheWake::spawn(async move {
        for number in 1..=3 {
            assert_eq!(count.mint_async().await.unwrap().get(), number);
        }
        let segment = floe.segment("orders").unwrap();
        segment.mint_async().await.unwrap();
        let snowflake = floe.snowflake("flakes", crate::Layout::TWITTER).unwrap();
        snowflake.mint_async().await.unwrap();
        snowflake.mint_many_async(snowflake.max_batch()).await.unwrap();
        count.mint_async().await.unwrap();
        assert!(floe.unload(&Name::new("absent").unwrap()));
        floe.unload(count.name());
        assert!(!floe.status().names.is_empty());
    });
    until(is_done);
    // What the segment had left goes back, though the thread that calls the ledger has closed the floe itself.
    let key = Key::name(&orders).to_string();
    until(|| ledger.list(&key, "", 1).unwrap().iter().any(|record| record.key == key && record.mark == 1));
}

/// It is the executor's fault, and no reason to doubt what was minted.
#[test]
fn a_waker_that_panics_stops_nothing() {
    struct Panics(AtomicBool);
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Release);
            panic!("an executor that has ended");
        }
    }
    let gated = Arc::<(AtomicU32, Mutex<()>)>::default();
    let floe = crate::Floe::open(Gated(Memory::default(), Arc::clone(&gated))).unwrap();
    let (count, segment) = (floe.counter("count").unwrap(), floe.segment("orders").unwrap());
    let closed = lock(&gated.1);
    let woken = [(); 2].map(|()| Arc::new(Panics(AtomicBool::default())));
    let wakers = woken.each_ref().map(|woken| Waker::from(Arc::clone(woken)));
    let mut futures: [Pin<Box<dyn Future<Output = _>>>; 2] =
        [Box::pin(count.mint_async()), Box::pin(segment.mint_async())];
    for (future, waker) in futures.iter_mut().zip(&wakers) {
        assert!(future.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
    }
    drop(closed);
    until(|| woken.iter().all(|woken| woken.0.load(Ordering::Acquire)));
    assert_eq!((count.mint().unwrap().get(), segment.mint().unwrap().get()), (2, 1));
    assert_eq!(floe.status().state, crate::State::Running);
}

/// Calls to an embedded ledger would wait for its file anyway. The names are what a list of threads shows.
#[test]
fn a_shared_ledger_is_called_by_four_threads_and_an_embedded_one_by_one() {
    struct Remote(Memory);
    impl Ledger for Remote {
        crate::__hand_on!(self => self.0; reserve give_back bind definition names raise list realm_id describe);
    }
    let threads = |shared: &Arc<Shared>| {
        let driver = Driver::new(shared);
        driver.start().unwrap();
        let threads = lock(&driver.threads);
        let name = |handle: &JoinHandle<()>| handle.thread().name().unwrap_or_default().to_owned();
        threads.iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(threads(&shared(Memory::default(), standing())), ["floe-ledger", "floe-node"]);
    let remote = shared(Remote(Memory::default()), standing());
    assert_eq!(threads(&remote), ["floe-ledger", "floe-ledger", "floe-ledger", "floe-ledger", "floe-node"]);
}

#[test]
fn the_nodes_thread_hears_of_a_standing_clock_that_was_moved() {
    let (clock, shared) = (standing(), shared(Memory::default(), standing()));
    let watcher: Arc<dyn Watcher> = Arc::<Shared>::clone(&shared);
    clock.tell(Arc::downgrade(&watcher));
    clock.advance(Duration::from_millis(1));
    assert!(shared.signal.is_raised());
}

/// A counter on this ledger, and a call that waits for it.
fn counted(driver: &Driver, ledger: &Memory) -> (Name, Arc<Ticket>) {
    counted_as("count", driver, ledger)
}

/// A counter without a caller.
fn counter(name: &str, driver: &Driver, ledger: &Memory) -> Name {
    let name = Name::new(name).unwrap();
    ledger.bind(&name, "counter", true).unwrap();
    driver.shared.node().add_queue(CounterQueue::new(name.clone(), None));
    name
}

fn counted_as(name: &str, driver: &Driver, ledger: &Memory) -> (Name, Arc<Ticket>) {
    let name = counter(name, driver, ledger);
    let ticket = Ticket::new(1);
    driver.shared.enqueue(&name, &ticket, Caller::Future).unwrap();
    (name, ticket)
}

/// The one call that waits for a thread.
fn the_call(shared: &Shared) -> Call {
    let mut calls = shared.take_calls();
    assert_eq!(calls.len(), 1);
    calls.pop_front().unwrap()
}

#[test]
fn the_nodes_thread_hears_of_a_count_that_failed_since_it_looks_when_to_ask_again() {
    let ledger = Memory::default();
    let driver = driver(&ledger, |_| {});
    let (_, ticket) = counted(&driver, &ledger);
    let call = the_call(&driver.shared);
    assert!(ledger.lose(&Key::name(&Name::new("count").unwrap())));
    driver.shared.signal.lower();
    assert_eq!(driver.shared.answer(call), None);
    assert!(driver.shared.signal.is_raised());
    assert!(matches!(ticket.answered(), Some(Err(MintError::Stopped(_)))));
}

/// A clock that stands, and how often it was read. Nobody calls the node's thread before that.
#[derive(Clone, Default)]
struct BeforeTheCall(Arc<(OnceLock<Arc<Signal>>, AtomicU32)>);

impl TimeSource for BeforeTheCall {
    fn read(&self) -> Reading {
        let (signal, reads) = &*self.0;
        assert!(signal.get().is_none_or(|signal| !signal.is_raised()), "it would look, and find nothing");
        reads.fetch_add(1, Ordering::Relaxed);
        standing().read()
    }
}

/// It would sleep as if there had been no answer.
#[test]
fn the_nodes_thread_is_called_after_an_answer_was_taken_in() {
    let (ledger, clock) = (Memory::default(), BeforeTheCall::default());
    let shared = shared(ledger.clone(), clock.clone());
    let driver = Driver::new(&shared);
    let (signal, reads) = &*clock.0;
    let numbers = Arc::new(SegmentSupply::new(1, 0, SharedCursor::new(0, Arc::clone(&shared.signal))));
    let steps = Steps { min: 10, max: 10, refill_ms: 1_000 };
    let orders = Name::new("orders").unwrap();
    ledger.bind(&orders, "segment", true).unwrap();
    shared.node().add_segment(SegmentState::new(Key::name(&orders), Arc::clone(&numbers), steps));
    numbers.shared.want(1);
    counted(&driver, &ledger);
    shared.node().requests().ask(Purpose::Clock, Op::Clock);
    shared.look_around();
    // A count that goes well needs no look of the node's thread.
    assert!(ledger.lose(&Key::name(&Name::new("count").unwrap())));
    let calls = shared.take_calls();
    assert_eq!(calls.len(), 3, "{calls:?}");
    assert!(signal.set(Arc::clone(&shared.signal)).is_ok());
    for call in calls {
        shared.signal.lower();
        let before = reads.load(Ordering::Relaxed);
        assert_eq!(shared.answer(call), None);
        assert!(shared.signal.is_raised() && reads.load(Ordering::Relaxed) > before);
    }
}

/// A counter whose ledger was gone a moment ago. Its caller has given up, and with the queue empty nobody looks.
fn pausing(driver: &Driver, ledger: &Memory) -> Name {
    let shared = &driver.shared;
    let (name, ticket) = counted(driver, ledger);
    let gone = Err(LedgerError::Unavailable("gone".to_owned()));
    shared.node().handle_answer(the_call(shared).id, gone, &shared.clock);
    ticket.abandon();
    shared.signal.lower();
    name
}

#[test]
fn the_nodes_thread_hears_of_a_caller_who_comes_before_it_is_time_to_ask_again() {
    let ledger = Memory::default();
    let driver = driver(&ledger, |_| {});
    let shared = &driver.shared;
    let name = pausing(&driver, &ledger);
    shared.enqueue(&name, &Ticket::new(1), Caller::Future).unwrap();
    assert!(!shared.has_calls() && shared.signal.is_raised());
}

/// A clock that stands. The real time is an hour past what it shows.
struct Standing;

impl TimeSource for Standing {
    fn read(&self) -> Reading {
        standing().read()
    }

    fn patience(&self) -> MonoMillis {
        self.read().mono.plus(3_600_000)
    }
}

/// Callers wait by real time, which goes on where the clock of a test stands.
#[test]
fn the_nodes_thread_sleeps_as_long_as_the_nodes_own_clock_says() {
    let ledger = Memory::default();
    let driver = driver_by(&ledger, Standing, |_| {});
    let shared = &driver.shared;
    let name = pausing(&driver, &ledger);
    shared.enqueue(&name, &Ticket::new(1), Caller::Future).unwrap();
    let (calls, sleep) = shared.look_around();
    assert!(calls == 0 && sleep.is_some_and(|millis| millis > 0), "{calls} calls, {sleep:?}");
}

#[test]
fn the_nodes_thread_sleeps_to_the_next_alarm_by_the_time_by_which_callers_wait() {
    let driver = driver_by(&Memory::default(), Standing, |_| {});
    let shared = &driver.shared;
    shared.wake_at(shared.mono().plus(250), Waker::noop(), None);
    assert_eq!(shared.look_around(), (0, Some(250)));
}

#[test]
fn who_queues_behind_a_question_wakes_nobody() {
    let ledger = Memory::default();
    let driver = driver(&ledger, |_| {});
    let shared = &driver.shared;
    let (name, _first) = counted(&driver, &ledger);
    let call = the_call(shared);
    shared.signal.lower();
    shared.enqueue(&name, &Ticket::new(1), Caller::Future).unwrap();
    assert!(!shared.has_calls() && !shared.signal.is_raised());
    shared.answer(call);
}

/// A caller's thread takes the node's calls from it, and can answer none but a count.
#[test]
fn what_a_name_gave_back_is_left_to_the_ledgers_threads_where_a_callers_thread_finds_it() {
    let ledger = Memory::default();
    let driver = driver(&ledger, |_| {});
    let shared = &driver.shared;
    let name = pausing(&driver, &ledger);
    let give_back = give_back(&Key::name(&name), 1);
    let id = shared.node().requests().ask(Purpose::GiveBack, give_back);
    shared.enqueue(&name, &Ticket::new(1), Caller::Thread).unwrap();
    let call = the_call(shared);
    assert_eq!(call.id, id);
    shared.answer(call);
}

fn give_back(key: &Key, from: u64) -> Op {
    Op::GiveBack { key: key.clone(), token: Token::random().unwrap(), from }
}

#[test]
fn a_caller_of_a_name_that_is_served_no_more_is_not_told_that_the_ledger_is_silent() {
    let ledger = Memory::default();
    let driver = driver(&ledger, |_| {});
    let (served, _ticket) = counted(&driver, &ledger);
    let why = |name| driver.shared.why_not_counted(name);
    assert!(matches!(why(&served), MintError::Unavailable { .. }));
    assert_eq!(why(&Name::new("unloaded").unwrap()), MintError::Stopped(Stopped::closed()));
}

/// It discards what was reserved before, and reserves anew where windows are kept.
#[test]
fn the_nodes_thread_hears_of_an_era_that_was_begun_by_hand() {
    let driver = driver(&Memory::default(), |_| {});
    let (shared, era) = (&driver.shared, driver.shared.clock.era());
    shared.signal.lower();
    shared.invalidate();
    assert!(shared.signal.is_raised() && shared.clock.era() > era);
}

/// Its future was dropped, or its patience has ended.
#[test]
fn nothing_is_reserved_for_a_caller_that_has_gone() {
    let ledger = Memory::default();
    let driver = Arc::new(driver(&ledger, |_| {}));
    let shared = &driver.shared;
    let (name, _) = counted(&driver, &ledger);
    let call = the_call(shared);
    let counter = Counter::new(name.clone(), Link::new(&driver));
    let mut gone = Box::pin(counter.mint_async());
    assert!(gone.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(gone);
    shared.answer(call);
    shared.node().gathered(&name, &shared.clock);
    assert_eq!(shared.node().poll_call(), None);
}

#[test]
fn a_caller_whose_patience_ends_is_told_what_it_has_waited_for() {
    let driver = driver(&Memory::default(), |_| {});
    let shared = &driver.shared;
    let (cursor, now) = (SharedCursor::new(0, Arc::default()), shared.look().unwrap().stamp.time());
    let busy = |millis| MintError::Busy { retry: Duration::from_millis(millis) };
    assert_eq!(shared.too_late(&cursor, false, Some(now.plus(250))), busy(250));
    assert_eq!(shared.too_late(&cursor, false, Some(now)), busy(10));
    let silent = shared.too_late(&cursor, true, None);
    assert!(
        matches!(silent, MintError::Unavailable { since, .. } if since == now.plus(-1_000)),
        "{silent:?}"
    );
    cursor.stop(&Stopped::closed());
    for for_range in [false, true] {
        assert_eq!(shared.too_late(&cursor, for_range, None), MintError::Stopped(Stopped::closed()));
    }
}

/// It is the steady time that must come so far, wherever the wall clock is meanwhile.
#[test]
fn a_caller_who_comes_again_when_it_is_told_comes_at_the_time_that_was_due() {
    let clock = standing();
    let driver = driver_by(&Memory::default(), clock.clone(), |_| {});
    let (shared, cursor) = (&driver.shared, SharedCursor::new(0, Arc::default()));
    for by in [-60_000, 7_200_000] {
        clock.step_to(clock.now().plus(by));
        let now = shared.look().unwrap();
        assert_ne!(now.wall, now.stamp.time());
        let told = shared.too_late(&cursor, false, Some(now.stamp.time().plus(250)));
        assert_eq!(told, MintError::Busy { retry: Duration::from_millis(250) });
    }
}

/// A counter whose first caller was answered, and whose second came meanwhile.
fn gathering(driver: &Driver, ledger: &Memory) -> (Name, [Arc<Ticket>; 2], Option<Gathering>) {
    gathering_as("count", driver, ledger, LONG)
}

/// The same with another name, and so long for more callers.
fn gathering_as(
    name: &str,
    driver: &Driver,
    ledger: &Memory,
    moment: Duration,
) -> (Name, [Arc<Ticket>; 2], Option<Gathering>) {
    let shared = &driver.shared;
    let (name, first) = counted_as(name, driver, ledger);
    let call = the_call(shared);
    let second = Ticket::new(1);
    shared.enqueue(&name, &second, Caller::Future).unwrap();
    let gathering = shared.answer(call);
    (name, [first, second], gathering.map(|(name, _)| (name, moment)))
}

#[test]
fn a_moment_in_which_nobody_comes_is_waited_for_to_its_end() {
    let ledger = Memory::default();
    let driver = driver(&ledger, |_| {});
    let (_, [_, second], gathering) = gathering_as("count", &driver, &ledger, Duration::from_millis(2));
    let watch = Stopwatch::start();
    let next = driver.shared.next_call(gathering).unwrap();
    assert!(watch.micros() >= 2_000, "a caller of that time would have shared the trip");
    driver.shared.answer(next);
    assert_eq!(second.answered(), Some(Ok(1)));
}

/// Callers that come a little later would have a trip of their own.
#[test]
fn a_moment_for_more_callers_outlasts_what_is_no_work_for_another_thread() {
    let ledger = Memory::default();
    let driver = driver(&ledger, |_| {});
    let shared = &driver.shared;
    let (name, [_, second], gathering) = gathering(&driver, &ledger);
    shared.hand_out(Vec::new(), gathering);
    let talks = Arc::clone(shared);
    lock(&driver.threads).push(thread::spawn(move || talks.talk()));
    // Who has taken it up waits from then on.
    until(|| lock(&shared.work).gathering.is_empty());
    for _ in 0..5_000 {
        shared.turn();
        shared.hand_out(Vec::new(), None);
    }
    // Whoever queues one call goes on with it.
    let id = shared.node().requests().ask(Purpose::GiveBack, give_back(&Key::name(&name), 1));
    shared.queue_and_go_on(shared.node());
    for _ in 0..5_000 {
        shared.turn();
    }
    assert_eq!(the_call(shared).id, id);
    shared.node().handle_over(id);
    let third = Ticket::new(1);
    shared.enqueue(&name, &third, Caller::Future).unwrap();
    until(|| third.answered().is_some());
    assert_eq!([second, third].map(|ticket| ticket.answered()), [Some(Ok(1)), Some(Ok(2))]);
    assert_eq!(shared.ledger_calls().granted, 2, "the two shared a trip");
}

/// The one thread of an embedded ledger would wait for work, and the second name's callers for it.
#[test]
fn a_moment_after_which_nothing_is_asked_is_followed_by_the_next_names() {
    let ledger = Memory::default();
    let driver = driver(&ledger, |_| {});
    let shared = &driver.shared;
    let (_, [_, gone], first) = gathering(&driver, &ledger);
    let (_, [_, waits], second) = gathering_as("other", &driver, &ledger, LONG);
    gone.abandon();
    {
        let mut work = lock(&shared.work);
        work.gathering.extend(second);
        // A thread that finds nothing to do ends.
        work.over = true;
    }
    let next = shared.next_call(first).expect("somebody waits for a count of the other name");
    shared.answer(next);
    assert_eq!(waits.answered(), Some(Ok(1)));
}

#[test]
fn more_callers_are_waited_for_half_a_trip_and_not_for_long() {
    assert_eq!([0, 300, 999, 50_000].map(|micros| moment_after(micros).as_micros()), [0, 150, 499, 500]);
}

#[test]
fn what_waits_for_a_thread_ends_the_moment_in_which_callers_are_gathered() {
    let ledger = Memory::default();
    let driver = driver(&ledger, |_| {});
    let shared = &driver.shared;
    let (name, [first, second], gathering) = gathering(&driver, &ledger);
    assert_eq!((&gathering.as_ref().unwrap().0, first.answered()), (&name, Some(Ok(0))));
    let give_back = give_back(&Key::name(&name), 1);
    let id = shared.node().requests().ask(Purpose::GiveBack, give_back);
    shared.look_around();
    let next = shared.next_call(gathering).unwrap();
    assert_eq!(next.id, id);
    assert!(!shared.node().queue(&name).unwrap().gathers());
    shared.answer(next);
    shared.answer(the_call(shared));
    assert_eq!(second.answered(), Some(Ok(1)));
}

/// Which must not wait for the driver's threads, since there are none.
#[test]
fn a_thread_is_answered_by_itself_where_the_ledger_needs_no_wait() {
    let ledger = Memory::default();
    let driver = driver(&ledger, |_| {});
    let shared = &driver.shared;
    let (name, first) = counted(&driver, &ledger);
    shared.answer(the_call(shared));
    let second = Ticket::new(3);
    shared.enqueue(&name, &second, Caller::Thread).unwrap();
    assert_eq!([first, second].map(|ticket| ticket.answered()), [Some(Ok(0)), Some(Ok(1))]);
    assert!(!shared.has_calls());
    assert_eq!(shared.ledger_calls().granted, 2, "it counts as a call");
    // What the ledger refuses is for its own threads, which report it.
    assert!(ledger.lose(&Key::name(&name)));
    let third = Ticket::new(1);
    shared.enqueue(&name, &third, Caller::Thread).unwrap();
    assert_eq!(third.answered(), None);
    shared.answer(the_call(shared));
    assert!(matches!(third.answered(), Some(Err(MintError::Stopped(_)))));
}

/// A name on this ledger that counts by days, and its next position. Another node has minted once in tomorrow, so that
/// who asks is refused and asks again.
fn a_day_behind(driver: &Driver, ledger: &Memory) -> (Name, u64) {
    let (name, shape) =
        (Name::new("invoice").unwrap(), DatedShape::new("UTC", 6, "", Overflow::Refuse).unwrap());
    ledger.bind(&name, "dated", true).unwrap();
    let tomorrow = shape.period_at(standing().now()).unwrap() + 1;
    let next = (tomorrow << PERIOD_BITS) + 1;
    ledger.raise(&Key::name(&name), next).unwrap();
    driver.shared.node().add_queue(CounterQueue::new(name.clone(), Some(Arc::new(shape))));
    (name, next)
}

/// The node's thread, which would hand it on, is not there.
#[test]
fn what_is_asked_again_after_a_refusal_is_handed_on_by_the_thread_that_was_answered() {
    for caller in [Caller::Thread, Caller::Future] {
        let ledger = Memory::default();
        let driver = driver(&ledger, Shared::talk);
        let (name, next) = a_day_behind(&driver, &ledger);
        let ticket = Ticket::new(1);
        driver.shared.enqueue(&name, &ticket, caller).unwrap();
        until(|| ticket.answered().is_some());
        assert_eq!(ticket.answered(), Some(Ok(next)));
    }
}

/// A ledger whose own code panics where it answers at once, and where it takes back.
struct Panics(Memory);

impl Ledger for Panics {
    crate::__hand_on!(self => self.0; reserve bind definition names raise list realm_id describe is_shared);

    fn count_at_once(&self, _: &Reserve) -> Option<Reply> {
        std::panic::resume_unwind(Box::new("the test broke the adapter"))
    }

    fn give_back(&self, _: &Key, _: Token, _: u64) -> Result<bool, LedgerError> {
        std::panic::resume_unwind(Box::new("the test broke the adapter"))
    }
}

/// The ledger's threads ask again, and report what is wrong.
#[test]
fn a_ledger_that_panics_where_it_answers_at_once_is_asked_by_its_own_threads() {
    let ledger = Memory::default();
    let shared = shared(Panics(ledger.clone()), standing());
    let driver = Driver::new(&shared);
    let (name, first) = counted(&driver, &ledger);
    shared.answer(the_call(&shared));
    let second = Ticket::new(1);
    shared.enqueue(&name, &second, Caller::Thread).unwrap();
    shared.answer(the_call(&shared));
    assert_eq!([first, second].map(|ticket| ticket.answered()), [Some(Ok(0)), Some(Ok(1))]);
}

/// What was to be given back is skipped.
#[test]
fn a_ledger_that_panics_where_it_takes_back_stops_nothing() {
    let shared = shared(Panics(Memory::default()), standing());
    let key = Key::name(&Name::new("orders").unwrap());
    shared.node().requests().ask(Purpose::GiveBack, give_back(&key, 1));
    shared.look_around();
    shared.answer(the_call(&shared));
    let node = shared.node();
    assert!(node.is_drained() && node.stopped().is_none(), "{:?}", node.stopped());
}

#[test]
fn a_call_is_counted_with_the_time_that_it_took() {
    let ledger = Memory::default();
    let driver = driver(&ledger, |_| {});
    let (shared, watch) = (&driver.shared, Stopwatch::start());
    let (_, ticket) = counted(&driver, &ledger);
    let Call { id, op: Op::Count(request) } = the_call(shared) else { panic!("it is a counter") };
    while watch.micros() < 2 {
        thread::yield_now();
    }
    shared.hear(id, ledger.reserve(&request), &request, &watch);
    assert_eq!(ticket.answered(), Some(Ok(0)));
    let counted = shared.ledger_calls().latency_sum_micros;
    assert!((2..=watch.micros()).contains(&counted), "{counted}");
}

#[test]
fn who_came_while_a_thread_asked_for_itself_is_gathered_by_the_ledgers_threads() {
    let ledger = Memory::default();
    let driver = driver(&ledger, |_| {});
    let shared = &driver.shared;
    let (name, first) = counted(&driver, &ledger);
    let call = the_call(shared);
    let second = Ticket::new(1);
    shared.enqueue(&name, &second, Caller::Thread).unwrap();
    assert_eq!(second.answered(), None, "one question at a time");
    assert!(shared.answer_at_once(&call));
    assert_eq!((first.answered(), shared.has_calls()), (Some(Ok(0)), false));
    // A thread that finds nothing to do ends.
    lock(&shared.work).over = true;
    let next = shared.next_call(None).unwrap();
    shared.answer(next);
    assert_eq!(second.answered(), Some(Ok(1)));
}

#[test]
fn an_answer_at_once_from_a_ledger_that_went_back_stops_the_name() {
    let ledger = Memory::default();
    let driver = driver(&ledger, |_| {});
    let shared = &driver.shared;
    let (name, _) = counted(&driver, &ledger);
    shared.answer(the_call(shared));
    let before = Memory::default();
    before.bind(&name, "counter", true).unwrap();
    ledger.restore(&before);
    let late = Ticket::new(1);
    shared.enqueue(&name, &late, Caller::Thread).unwrap();
    assert!(matches!(late.answered(), Some(Err(MintError::Stopped(_)))));
}

#[test]
fn an_error_of_its_own_where_callers_were_gathered_stops_all() {
    let ledger = Memory::default();
    let driver = driver(&ledger, |_| {});
    let shared = &driver.shared;
    let (_, [_, waits], gathering) = gathering(&driver, &ledger);
    assert!(gathering.is_some());
    breaks_after(0, shared);
    lock(&shared.work).over = true;
    let next = catch_unwind(AssertUnwindSafe(|| shared.next_call(gathering)));
    assert!(matches!(next, Ok(None)), "the thread lives on");
    broken(shared, &waits);
}

/// The question has a token, and the next one, after the refusal, would have another.
#[test]
fn an_error_of_its_own_where_a_caller_hands_in_what_it_was_answered_at_once_stops_all() {
    let ledger = Memory::default();
    let driver = driver(&ledger, |_| {});
    let shared = &driver.shared;
    let (name, _) = a_day_behind(&driver, &ledger);
    let waits = Ticket::new(1);
    breaks_after(1, shared);
    let asked = catch_unwind(AssertUnwindSafe(|| shared.enqueue(&name, &waits, Caller::Thread)));
    assert!(matches!(asked, Ok(Ok(()))), "it is none of the caller's");
    broken(shared, &waits);
}

/// The node breaks where it would draw one token more than these.
fn breaks_after(mut tokens: u32, shared: &Shared) {
    shared.node().requests().settings.entropy = Box::new(move || {
        let Some(left) = tokens.checked_sub(1) else {
            std::panic::resume_unwind(Box::new("the test broke the node"))
        };
        tokens = left;
        *Token::random().unwrap().as_bytes()
    });
}

/// The node was stopped for an error of its own, and this caller was told.
#[track_caller]
fn broken(shared: &Shared, caller: &Ticket) {
    let text = shared.node().stopped().unwrap().to_owned();
    assert!(text.contains("internal error") && text.contains("the test broke"), "{text}");
    assert_eq!(caller.answered(), Some(Err(MintError::Stopped(Stopped::other(text)))));
}

#[test]
fn a_panic_is_told_in_its_own_words_where_it_has_some() {
    let panics: [Box<dyn Any + Send>; 3] = [Box::new("said"), Box::new("said".to_owned()), Box::new(7)];
    let told = panics.each_ref().map(|panic| words(&**panic));
    assert_eq!(told, ["said", "said", "a panic without a message"]);
}

#[test]
fn a_time_that_cannot_be_is_the_clocks_fault() {
    let shared = shared(Memory::default(), FixedClock::at(UnixMillis::new(-1)));
    for refused in [shared.stamp().map(drop), shared.look().map(drop)] {
        assert!(
            matches!(&refused, Err(MintError::Stopped(Stopped { reason: StopReason::Clock, .. }))),
            "{refused:?}"
        );
    }
}

/// A thread that goes on with the first of two calls may be long about it.
#[test]
fn the_second_of_two_calls_wakes_another_thread() {
    let driver = driver(&Memory::default(), Shared::talk);
    let shared = &driver.shared;
    let key = Key::name(&Name::new("orders").unwrap());
    for _ in 0..20 {
        for from in [1, 2] {
            let give_back = give_back(&key, from);
            shared.node().requests().ask(Purpose::GiveBack, give_back);
        }
        // This thread takes neither, and the other one waits for work.
        shared.queue_and_go_on(shared.node());
        let mut left = 10_000;
        while !shared.node().is_drained() || left == 10_000 {
            assert!(left > 0, "nobody makes the calls");
            left -= 1;
            thread::park_timeout(Duration::from_millis(1));
        }
    }
}

/// The one before it is taken first, and its own notification has woken the very thread that takes it.
#[test]
fn a_call_that_is_queued_behind_another_is_one_for_another_thread() {
    let driver = driver(&Memory::default(), |_| {});
    let shared = &driver.shared;
    let key = Key::name(&Name::new("orders").unwrap());
    let queued = [true, true, true, false].map(|asks| {
        if asks {
            shared.node().requests().ask(Purpose::GiveBack, give_back(&key, 1));
        }
        shared.queue_calls(shared.node())
    });
    assert_eq!(queued, [1, 2, 3, 0]);
    shared.take_calls().iter().for_each(|call| shared.node().handle_over(call.id));
}

/// A ledger that reserves nothing and takes nothing back while the gate is locked, and how many calls have come to it.
struct Gated(Memory, Arc<(AtomicU32, Mutex<()>)>);

impl Gated {
    fn pass(&self) {
        let (begun, gate) = &*self.1;
        begun.fetch_add(1, Ordering::Relaxed);
        drop(lock(gate));
    }
}

impl Ledger for Gated {
    crate::__hand_on!(self => self.0; bind definition names raise list realm_id describe);

    fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        self.pass();
        self.0.reserve(request)
    }

    fn give_back(&self, key: &Key, token: Token, from: u64) -> Result<bool, LedgerError> {
        self.pass();
        self.0.give_back(key, token, from)
    }
}

/// Whoever has the node's calls hands them out: one who called the node, or the node's own thread.
const HAND_OUT: [fn(&Shared); 2] = [
    |shared| shared.hand_out(take_calls(shared.node()), None),
    |shared| {
        shared.turn();
    },
];

/// A thread may be long about the first one.
#[test]
fn two_calls_that_come_together_wake_two_threads() {
    for hand_out in HAND_OUT {
        let (ledger, gated) = (Memory::default(), Arc::<(AtomicU32, Mutex<()>)>::default());
        let shared = shared(Gated(ledger.clone(), Arc::clone(&gated)), standing());
        let driver = Driver::new(&shared);
        let (begun, gate) = &*gated;
        // Who has taken up a moment for more callers waits from then on.
        let moments = ["one", "other"].map(|name| gathering_as(name, &driver, &ledger, LONG).2.unwrap());
        lock(&shared.work).gathering.extend(moments);
        let before = begun.load(Ordering::Relaxed);
        let closed = lock(gate);
        for _ in 0..2 {
            let talks = Arc::clone(&shared);
            lock(&driver.threads).push(thread::spawn(move || talks.talk()));
        }
        until(|| lock(&shared.work).gathering.is_empty());
        let key = Key::name(&Name::new("orders").unwrap());
        for from in [1, 2] {
            shared.node().requests().ask(Purpose::GiveBack, give_back(&key, from));
        }
        hand_out(&shared);
        until(|| begun.load(Ordering::Relaxed) == before + 2);
        drop(closed);
    }
}

/// Now they wait for any work, at the latest after the first of the rounds.
#[test]
fn two_calls_that_come_together_wake_two_threads_that_had_nothing_to_do() {
    for hand_out in HAND_OUT {
        let gated = Arc::<(AtomicU32, Mutex<()>)>::default();
        let shared = shared(Gated(Memory::default(), Arc::clone(&gated)), standing());
        let driver = Driver::new(&shared);
        let (begun, gate) = &*gated;
        for _ in 0..2 {
            let talks = Arc::clone(&shared);
            lock(&driver.threads).push(thread::spawn(move || talks.talk()));
        }
        let key = Key::name(&Name::new("orders").unwrap());
        for round in 1..=50 {
            let closed = lock(gate);
            for from in [1, 2] {
                shared.node().requests().ask(Purpose::GiveBack, give_back(&key, from));
            }
            hand_out(&shared);
            until(|| begun.load(Ordering::Relaxed) == 2 * round);
            drop(closed);
            until(|| shared.node().is_drained());
        }
    }
}

/// One of them is a waker, on a thread for which the other one waits.
#[test]
fn two_who_close_at_once_do_not_wait_for_each_other() {
    struct Closes(Arc<Driver>, AtomicU32);
    impl Wake for Closes {
        fn wake(self: Arc<Self>) {
            self.1.store(1, Ordering::Release);
            until(|| self.0.closing.try_lock().is_err());
            self.0.close();
            self.1.store(2, Ordering::Release);
        }
    }
    let driver = Arc::new(driver(&Memory::default(), Shared::run));
    let closes = Arc::new(Closes(Arc::clone(&driver), AtomicU32::default()));
    driver.shared.wake_at(driver.shared.mono(), &Waker::from(Arc::clone(&closes)), None);
    until(|| closes.1.load(Ordering::Acquire) == 1);
    let other = thread::spawn(move || driver.close());
    until(|| other.is_finished() && closes.1.load(Ordering::Acquire) == 2);
}

/// A waker that closes, and whether all calls were over when it came back.
struct ClosesInTheWake(Arc<Driver>, Mutex<Option<bool>>);

impl ClosesInTheWake {
    /// A caller that waits, whose future closes when it hears.
    fn waiting_for(count: u64, driver: &Arc<Driver>) -> (Arc<Ticket>, Arc<Self>) {
        let closes = Arc::new(Self(Arc::clone(driver), Mutex::default()));
        let ticket = Ticket::new(count);
        ticket.waiters().add(&Waker::from(Arc::clone(&closes)));
        (ticket, closes)
    }
}

impl Wake for ClosesInTheWake {
    fn wake(self: Arc<Self>) {
        self.0.close();
        *lock(&self.1) = Some(self.0.shared.node().is_drained());
    }
}

/// It would wait for calls that lie in the hands of whoever woke it.
#[test]
fn who_is_woken_by_a_closing_closes_after_its_calls_are_handed_out() {
    let ledger = Memory::default();
    let driver = Arc::new(driver(&ledger, Shared::talk));
    let shared = &driver.shared;
    let name = Name::new("count").unwrap();
    let (ticket, closes) = ClosesInTheWake::waiting_for(1, &driver);
    {
        let mut node = shared.node();
        node.add_queue(CounterQueue::new(name.clone(), None));
        node.enqueue(&name, &ticket, &shared.clock).unwrap();
        node.requests().ask(Purpose::GiveBack, tail(&ledger));
    }
    driver.close();
    assert_eq!(*lock(&closes.1), Some(true));
    assert_eq!(ledger.list("n/", "", 2).unwrap()[0].mark, 1);
}

/// More than there are numbers is told so when the next one asks.
#[test]
fn who_is_woken_by_another_caller_closes_after_the_calls_of_that_one_are_handed_out() {
    let ledger = Memory::default();
    let driver = Arc::new(driver(&ledger, |_| {}));
    let shared = &driver.shared;
    let (name, _) = counted(&driver, &ledger);
    let first = the_call(shared);
    let (too_many, closes) = ClosesInTheWake::waiting_for(u64::MAX, &driver);
    shared.enqueue(&name, &too_many, Caller::Future).unwrap();
    assert!(shared.answer(first).is_some(), "it waits for one caller more");
    shared.enqueue(&name, &Ticket::new(1), Caller::Future).unwrap();
    assert!(matches!(too_many.answered(), Some(Err(MintError::Exhausted(_)))), "{:?}", too_many.answered());
    assert_eq!(*lock(&closes.1), Some(true));
}

/// A waker that never comes back is the executor's fault.
#[test]
fn closing_waits_for_no_thread_without_a_bound() {
    let driver = driver(&Memory::default(), |_| thread::park_timeout(LONG));
    let watch = Stopwatch::start();
    driver.close();
    assert!(watch.micros() < 300_000_000);
}

/// Whoever closes after another one, while that is at it, is told when all is closed.
#[test]
fn who_closes_second_waits_for_the_first() {
    let driver = Arc::new(driver(&Memory::default(), |_| {}));
    let closing = lock(&driver.closing);
    let second = Arc::clone(&driver);
    let second = thread::spawn(move || second.close());
    until(|| driver.shared.node().stopped().is_some());
    assert!(!second.is_finished());
    drop(closing);
    second.join().unwrap();
}

#[test]
fn closing_waits_for_no_call_that_nobody_has_taken_up() {
    let ledger = Memory::default();
    let driver = driver(&ledger, |_| {});
    let (_, ticket) = counted(&driver, &ledger);
    assert!(driver.shared.has_calls());
    driver.close();
    assert!(driver.shared.node().is_drained(), "no answer to it will come");
    assert_eq!(ticket.answered(), Some(Err(MintError::Stopped(Stopped::closed()))));
}

#[test]
fn closing_looks_at_a_silent_ledger_once_in_a_millisecond_and_for_five_seconds() {
    let (ledger, passed) = (Memory::default(), Arc::new(AtomicU64::default()));
    let driver = driver_by(&ledger, Hurried(Arc::clone(&passed)), |_| {});
    let (_, ticket) = counted(&driver, &ledger);
    // A thread has taken it up, and hears nothing.
    the_call(&driver.shared);
    let watch = Stopwatch::start();
    driver.close();
    assert_eq!(passed.load(Ordering::Relaxed), CLOSE_MS + 1_000, "and not once more");
    assert!(watch.micros() >= 4_000, "after the first look, and between those that follow");
    assert_eq!(ticket.answered(), Some(Err(MintError::Stopped(Stopped::closed()))));
}

/// What a name on this ledger gives back: all that it has reserved, except the first position.
fn tail(ledger: &Memory) -> Op {
    let (key, token) = (Key::name(&Name::new("orders").unwrap()), Token::random().unwrap());
    let (count, max_mark) = (2_000, 0);
    let reserve = Reserve { key: key.clone(), floor: 0, count, max_mark, token, create: true, note: None };
    ledger.reserve(&reserve).unwrap();
    Op::GiveBack { key, token, from: 1 }
}

#[test]
fn closing_puts_to_the_ledger_what_a_name_gave_back_and_nobody_has_taken_up() {
    let ledger = Memory::default();
    let give_back = tail(&ledger);
    let driver = driver(&ledger, |shared| {
        while shared.node().stopped().is_none() {
            thread::yield_now();
        }
        shared.talk();
    });
    driver.shared.node().requests().ask(Purpose::GiveBack, give_back);
    driver.shared.look_around();
    assert!(driver.shared.has_calls());
    driver.close();
    assert_eq!(ledger.list("n/", "", 2).unwrap()[0].mark, 1);
    assert!(driver.shared.node().is_drained(), "the answer was taken in, and closing waited for no more");
}
