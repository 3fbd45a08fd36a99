//! The blocking driver: a thread that runs the [`Node`], a few that talk to the ledger, and the alarms of futures.

use std::any::Any;
use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::clock::system::Stopwatch;
use crate::clock::{Clock, Now, Stamp, Watcher};
use crate::error::{MintError, Stopped};
use crate::ledger::{Ledger, LedgerError, MAX_MARK, Reply, Reserve};
use crate::name::Name;
use crate::node::{Call, Node, Op, take_reservations};
use crate::shared_cursor::SharedCursor;
use crate::signal::Signal;
use crate::status::{Calls, LedgerCalls};
use crate::sync::lock_std as lock;
use crate::ticket::Ticket;
use crate::time::{MonoMillis, UnixMillis};
use crate::wait::Alarms;
use crate::wakes::{Hold, Locked};

mod alarms;

use alarms::Timers;

/// How long the next trip to the ledger waits at most for more callers of a counter to share it. It waits half a trip
/// if that is less, as PostgreSQL's documentation advises for `commit_delay`.
const GATHERING: Duration = Duration::from_micros(500);

/// What all generators, counters and threads of one floe share.
pub(crate) struct Shared {
    pub(crate) clock: Arc<Clock>,
    pub(crate) max_wait_ms: u64,
    pub(crate) window_ms: u64,
    pub(crate) signal: Arc<Signal>,
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) calls: Calls,
    node: Mutex<Node>,
    timers: Mutex<Timers>,
    work: Mutex<Work>,
    work_is_there: Condvar,
}

#[derive(Default)]
struct Work {
    calls: VecDeque<Call>,
    /// Names whose callers are to be gathered, if the thread that was answered does not do it.
    gathering: VecDeque<Gathering>,
    over: bool,
}

/// The node waits for more callers of this name, so long.
type Gathering = (Name, Duration);

/// Who waits for a counter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// A thread, which may do the ledger's work if that needs no wait.
    Thread,
    /// A future, whose thread has others to run.
    Future,
}

impl Shared {
    pub(crate) fn new(
        clock: Arc<Clock>,
        ledger: Arc<dyn Ledger>,
        node: Node,
        max_wait_ms: u64,
        window_ms: u64,
    ) -> Self {
        Self {
            signal: Arc::new(Signal::new(Arc::clone(clock.pulse()))),
            clock,
            max_wait_ms,
            window_ms,
            ledger,
            calls: Calls::default(),
            node: Mutex::new(node),
            timers: Mutex::default(),
            work: Mutex::default(),
            work_is_there: Condvar::new(),
        }
    }

    #[inline]
    pub(crate) fn stamp(&self) -> Result<Stamp, MintError> {
        self.clock.stamp().map_err(|refusal| MintError::Stopped(Stopped::clock(refusal)))
    }

    /// A look at the clock.
    pub(crate) fn look(&self) -> Result<Now, MintError> {
        let now = self.clock.look();
        now.refusal().map_or(Ok(now), |refusal| Err(MintError::Stopped(Stopped::clock(refusal))))
    }

    pub(crate) fn invalidate(&self) {
        self.clock.invalidate();
        self.signal.raise();
    }

    pub(crate) fn node(&self) -> Locked<'_, Node> {
        Locked::new(&self.node)
    }

    /// Puts a caller in a name's queue. The caller's own thread does the node's work for it, so that a trip to the
    /// ledger wakes one thread, not two; and none if the ledger answers at once.
    pub(crate) fn enqueue(&self, name: &Name, ticket: &Arc<Ticket>, caller: Caller) -> Result<(), MintError> {
        // Whoever is woken comes after the calls are handed out.
        let _wakes = Hold::new();
        let queue = || {
            let mut node = self.node();
            let asks = node.enqueue(name, ticket, &self.clock)?;
            Ok(asks.then(|| take_calls(node)))
        };
        let calls = self.guarded(queue).unwrap_or_else(|cause| Err(MintError::Stopped(cause)))?;
        let Some(calls) = calls else { return Ok(()) };
        match calls.as_slice() {
            // It is too early to ask. The node's thread asks later.
            [] => self.signal.raise(),
            [call] if caller == Caller::Thread && self.answer_at_once(call) => {}
            _ => self.hand_out(calls, None),
        }
        Ok(())
    }

    /// Asks the ledger on this thread, if it can answer without a wait. False if it cannot, and the call is still to be
    /// made.
    fn answer_at_once(&self, Call { id, op }: &Call) -> bool {
        let Op::Count(request) = op else { return false };
        let watch = Stopwatch::start();
        // The ledger's threads make the call again and report what is wrong.
        let ask = AssertUnwindSafe(|| self.ledger.count_at_once(request));
        let Some(reply) = catch_unwind(ask).unwrap_or_default() else { return false };
        let hear = || {
            let (_, gathers) = self.hear(*id, Ok(reply), request, &watch);
            self.hand_out(take_calls(self.node()), gathers);
        };
        // Where that stopped the node, its callers know.
        let _ = self.guarded(hear);
        true
    }

    /// Does work in which the node may panic. If the node finds an error of its own, all callers must learn it, not only
    /// this thread.
    fn guarded<T>(&self, work: impl FnOnce() -> T) -> Result<T, Stopped> {
        let _wakes = Hold::new();
        catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
            let cause = Stopped::other(own_error(&*panic));
            self.node().stop(&cause);
            cause
        })
    }

    /// What to tell a caller that has waited for `max_wait`, for a range or for the clock to reach `due`.
    pub(crate) fn too_late(
        &self,
        cursor: &SharedCursor,
        for_range: bool,
        due: Option<UnixMillis>,
    ) -> MintError {
        cursor.check().err().unwrap_or_else(|| match for_range {
            true => self.no_answer(&mut self.node()),
            false => {
                let left = due.map_or(0, |due| due.since(self.clock.look().stamp.time()));
                busy(u64::try_from(left).unwrap_or(0))
            }
        })
    }

    /// The ledger has been asked and has not answered.
    fn no_answer(&self, node: &mut Node) -> MintError {
        let waited = self.max_wait_ms;
        let now = self.clock.look().stamp.time();
        let asked = now.plus(-i64::try_from(waited).unwrap_or(i64::MAX));
        MintError::Unavailable {
            since: node.silent_since(asked),
            cause: format!(
                "everything reserved is used up, and the ledger did not answer for {waited} ms: it is slow, or this machine is too busy to read the answer"
            ),
        }
    }

    pub(crate) fn why_not_counted(&self, name: &Name) -> MintError {
        let mut node = self.node();
        match node.down() {
            Some((since, cause)) => MintError::Unavailable { since, cause },
            None if node.queue(name).is_some() => self.no_answer(&mut node),
            None => MintError::Stopped(Stopped::closed()),
        }
    }

    /// Steps the node and wakes due futures. Returns how many calls to the ledger are queued, if there are new ones, and
    /// after how many milliseconds to come back.
    pub(crate) fn look_around(&self) -> (usize, Option<u64>) {
        let mut node = self.node();
        node.step(&self.clock);
        let now = self.clock.look();
        let deadline = node.deadline(&now);
        let calls = self.queue_calls(node);
        let mono = self.clock.mono();
        let alarm = self.wake_alarms(mono).map(|at| at.since(mono));
        let deadline = deadline.map(|at| at.since(now.mono));
        (calls, [deadline, alarm].into_iter().flatten().min())
    }

    /// Queues the node's calls for the ledger's threads. Returns how many are queued then; 0 if the node has none.
    fn queue_calls(&self, node: Locked<'_, Node>) -> usize {
        let calls = take_calls(node);
        if calls.is_empty() {
            return 0;
        }
        let mut work = lock(&self.work);
        work.calls.extend(calls);
        work.calls.len()
    }

    /// Queues calls, and a name whose callers are to be gathered, and wakes the ledger's threads for them.
    fn hand_out(&self, calls: Vec<Call>, gathers: Option<Gathering>) {
        let mut work = lock(&self.work);
        work.calls.extend(calls);
        work.gathering.extend(gathers);
        let count = work.calls.len() + work.gathering.len();
        drop(work);
        match count {
            0 => {}
            1 => self.work_is_there.notify_one(),
            _ => self.work_is_there.notify_all(),
        }
    }

    /// The calls that no thread has made yet.
    pub(crate) fn take_calls(&self) -> VecDeque<Call> {
        std::mem::take(&mut lock(&self.work).calls)
    }

    /// Whether there is a call to make.
    pub(crate) fn has_calls(&self) -> bool {
        !lock(&self.work).calls.is_empty()
    }

    /// Lets the node look around and says after how many milliseconds to come back.
    fn turn(&self) -> Option<u64> {
        let (calls, wake) = self.look_around();
        if calls > 0 {
            self.work_is_there.notify_all();
        }
        wake
    }

    fn run(&self) {
        self.serve();
        loop {
            let millis = self.guarded(|| self.turn()).unwrap_or(None);
            let over = lock(&self.work).over;
            if over {
                // Futures that still wait learn that floe was closed.
                self.wake_alarms(MonoMillis::new(u64::MAX));
                return;
            }
            self.signal.wait(millis);
        }
    }

    fn talk(&self) {
        self.serve();
        let mut gathering = None;
        while let Some(call) = self.next_call(gathering.take()) {
            let _wakes = Hold::new();
            match self.guarded(|| self.answer(call)) {
                Ok(gathers) => gathering = gathers,
                Err(_) => self.signal.raise(),
            }
            self.queue_and_go_on(self.node());
        }
    }

    /// Queues the node's calls on a thread that takes a call next. So one call wakes no other thread.
    fn queue_and_go_on(&self, node: Locked<'_, Node>) {
        if self.queue_calls(node) > 1 {
            self.work_is_there.notify_all();
        }
    }

    /// The next call to the ledger; `None` if there will be none. While the node waits for more callers of a name,
    /// any other work ends the wait.
    fn next_call(&self, mut gathering: Option<Gathering>) -> Option<Call> {
        let mut work = lock(&self.work);
        loop {
            if let Some((name, moment)) = gathering.take().or_else(|| work.gathering.pop_front()) {
                if work.calls.is_empty() && !work.over {
                    drop(self.work_is_there.wait_timeout(work, moment));
                } else {
                    drop(work);
                }
                // Where that stopped the node, nothing is asked, and its callers know.
                let _ = self.guarded(|| {
                    let mut node = self.node();
                    node.gathered(&name, &self.clock);
                    self.queue_and_go_on(node);
                });
                work = lock(&self.work);
                continue;
            }
            if let Some(call) = work.calls.pop_front() {
                return Some(call);
            }
            if work.over {
                return None;
            }
            work = self.work_is_there.wait(work).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Makes a call to the ledger and hands in the answer. If it returns a name, the node waits for more callers of
    /// that name for the returned time.
    fn answer(&self, Call { id, op }: Call) -> Option<Gathering> {
        let watch = Stopwatch::start();
        let reserve = |request: &Reserve, ask: fn(&dyn Ledger, &Reserve) -> Result<Reply, LedgerError>| {
            let answer = catch_unwind(AssertUnwindSafe(|| ask(&*self.ledger, request)));
            self.hear(id, answer.unwrap_or_else(|panic| Err(failed(&*panic))), request, &watch)
        };
        match op {
            Op::Count(request) => {
                let (well, gathers) = reserve(&request, |ledger, request| ledger.count(request));
                // The callers are woken. This thread makes the next call.
                if well {
                    return gathers;
                }
            }
            Op::Reserve(request) => {
                reserve(&request, |ledger, request| ledger.reserve(request));
            }
            Op::Clock => {
                let clock = AssertUnwindSafe(|| self.ledger.clock());
                let answer = catch_unwind(clock).unwrap_or_else(|panic| Err(failed(&*panic)));
                self.node().handle_clock(id, answer, &self.clock);
            }
            Op::GiveBack { key, token, from } => {
                // If the outcome is unknown, at most the tail is lost.
                let give_back = AssertUnwindSafe(|| self.ledger.give_back(&key, token, from));
                let _ = catch_unwind(give_back);
                self.node().handle_over(id);
            }
        }
        self.signal.raise();
        None
    }

    /// Hands in an answer that took as long as `watch` says: whether it went well, and whose callers are to be gathered.
    fn hear(
        &self,
        id: u64,
        answer: Result<Reply, LedgerError>,
        request: &Reserve,
        watch: &Stopwatch,
    ) -> (bool, Option<Gathering>) {
        let micros = watch.micros();
        self.calls.record(&answer, micros);
        let answer = answer.and_then(|reply| sound(reply, request));
        let well = answer.is_ok();
        let gathers = self.node().handle_answer(id, answer, &self.clock);
        (well, gathers.map(|name| (name, moment_after(micros))))
    }

    pub(crate) fn ledger_calls(&self) -> LedgerCalls {
        self.calls.snapshot()
    }

    /// Notes that this thread serves this floe.
    fn serve(&self) {
        SERVES.set(self);
    }

    /// Whether this thread is one of those that serve this floe.
    fn is_served_here(&self) -> bool {
        std::ptr::eq(SERVES.get(), self)
    }

    /// Lets the threads end when no call is left.
    fn let_go(&self) {
        lock(&self.work).over = true;
        self.work_is_there.notify_all();
        self.signal.raise();
    }
}

impl Watcher for Shared {
    fn clock_moved(&self) {
        self.signal.raise();
        self.node().wake_minters();
    }
}

/// The error for a caller that had better come again in so many milliseconds. It is not told to come at once.
pub(crate) fn busy(millis: u64) -> MintError {
    MintError::Busy { retry: Duration::from_millis(millis.max(10)) }
}

/// How long more callers are waited for after a trip of so many microseconds.
fn moment_after(micros: u64) -> Duration {
    Duration::from_micros(micros / 2).min(GATHERING)
}

/// The calls that the node wants to be made.
fn take_calls(mut node: Locked<'_, Node>) -> Vec<Call> {
    std::iter::from_fn(|| node.poll_call()).collect()
}

/// Refuses an answer that is impossible: nothing may be minted from such a ledger. A retry gets what its first
/// attempt asked for, so start and length are not compared with this request.
pub(crate) fn sound(reply: Reply, Reserve { floor, count, .. }: &Reserve) -> Result<Reply, LedgerError> {
    match reply {
        Reply::Got { start, end, previous_mark }
            if start >= end || start < previous_mark || end > MAX_MARK =>
        {
            Err(LedgerError::Unfit(format!(
                "the ledger answered [{start}, {end}) above the mark {previous_mark} to a request for {count} from {floor}: it is not fit for use"
            )))
        }
        reply => Ok(reply),
    }
}

/// What a panic said.
fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without a message")
}

fn failed(panic: &(dyn Any + Send)) -> LedgerError {
    LedgerError::Unavailable(format!("the ledger's own code failed: {}", words(panic)))
}

fn own_error(panic: &(dyn Any + Send)) -> String {
    let words = words(panic);
    format!(
        "floe stopped because of an internal error, since IDs could repeat: {words}. Report it, and start again"
    )
}

thread_local! {
    /// What this thread serves, where it is one of a driver's.
    static SERVES: Cell<*const Shared> = const { Cell::new(std::ptr::null()) };
}

/// The threads. Dropping them closes: generators stop first, then tails go back, then the threads end.
pub(crate) struct Driver {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Whoever closes holds it to the end, so that others who close meanwhile wait as long.
    closing: Mutex<()>,
}

/// A generator's handle on the shared parts of its floe. It keeps the floe open, as a clone of it does.
#[derive(Clone)]
pub(crate) struct Link {
    shared: Arc<Shared>,
    _driver: Arc<Driver>,
}

impl Link {
    pub(crate) fn new(driver: &Arc<Driver>) -> Self {
        Self { shared: Arc::clone(&driver.shared), _driver: Arc::clone(driver) }
    }
}

impl Deref for Link {
    type Target = Shared;

    #[inline]
    fn deref(&self) -> &Shared {
        &self.shared
    }
}

/// How long closing waits for the ledger to take tails back. Tails that are not given back by then stay unused.
pub(crate) const CLOSE_MS: u64 = 5_000;

impl Driver {
    /// A driver without threads yet.
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared), threads: Mutex::default(), closing: Mutex::default() }
    }

    pub(crate) fn start(&self) -> std::io::Result<()> {
        let spawn = |name: &str, run: fn(&Shared)| {
            let shared = Arc::clone(&self.shared);
            thread::Builder::new().name(name.to_owned()).spawn(move || run(&shared))
        };
        // Calls to an embedded ledger queue for its file anyway; a shared one answers several at once.
        let talkers = if self.shared.ledger.is_shared() { 4 } else { 1 };
        for _ in 0..talkers {
            lock(&self.threads).push(spawn("floe-ledger", Shared::talk)?);
        }
        lock(&self.threads).push(spawn("floe-node", Shared::run)?);
        Ok(())
    }

    /// Stops minting, and asks the ledger to take tails back. A second time changes nothing.
    fn end(&self) {
        // Whoever is woken may close as well.
        let _wakes = Hold::new();
        let mut node = self.shared.node();
        // Reservations that no thread has begun are dropped.
        let unasked = take_reservations(&mut lock(&self.shared.work).calls);
        unasked.iter().for_each(|call| node.handle_over(call.id));
        node.close(&self.shared.clock);
        self.shared.hand_out(take_calls(node), None);
    }

    /// Stops minting, gives tails back, and ends the threads. Waits at most five seconds for the ledger.
    pub(crate) fn close(&self) {
        if !lock(&self.threads).is_empty() {
            self.end();
        }
        if self.shared.is_served_here() {
            // A waker closes, on one of the threads that others would wait for. It makes the calls that are left when it
            // comes back.
            return self.shared.let_go();
        }
        let _closing = lock(&self.closing);
        let threads = std::mem::take(&mut *lock(&self.threads));
        if threads.is_empty() {
            return;
        }
        let until = self.shared.mono().plus(CLOSE_MS);
        let comes = |done: &dyn Fn() -> bool| loop {
            let is_done = done();
            if is_done || self.shared.mono() >= until {
                break is_done;
            }
            // The driver's thread may take the signal instead, so look again soon.
            thread::park_timeout(Duration::from_millis(1));
        };
        let drained = comes(&|| self.shared.node().is_drained());
        self.shared.let_go();
        for handle in threads.into_iter().filter(|_| drained) {
            // It may be in a waker, which is foreign code.
            if comes(&|| handle.is_finished()) {
                // A thread that panicked has already reported its panic.
                let _ = handle.join();
            }
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(all(test, loom))]
mod models;
#[cfg(test)]
pub(crate) mod tests;
