//! Drives the connections of a ledger: a caller does, or a separate thread while there is no caller.
//!
//! A caller drives them itself while it waits for its answer, so a call wakes no other thread: on a machine with little
//! to do, that wake-up would take most of a short call's time. After some time without a caller, the thread takes over.
//! So a connection that the server closes is noticed, and a connection's own background work continues.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use floe::ledger::LedgerError;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Notify;

use super::Trouble;

/// How long there must be no caller before the thread takes over.
const QUIET: Duration = Duration::from_millis(20);

/// The work that a caller waits for. It keeps its answer itself.
type Work<'a> = Pin<&'a mut (dyn Future<Output = ()> + Send)>;

/// See the module.
pub(crate) struct Driver {
    /// `Some` until the driver is dropped.
    runtime: Option<Arc<Runtime>>,
    state: Arc<State>,
    thread: Thread,
    process: u32,
}

#[derive(Default)]
struct State {
    /// How many callers wait for their answers, and how many there have been.
    waiting: AtomicUsize,
    calls: AtomicU64,
    /// Tells the thread to let a caller drive, or to end.
    leave: Notify,
    over: AtomicBool,
}

impl Driver {
    /// Starts the thread `name` for the ledger that is `shown`. The thread runs `at_end` when the driver is dropped.
    ///
    /// # Errors
    /// `Unavailable` if the system refuses the thread.
    pub(crate) fn start(
        name: &str,
        shown: &str,
        at_end: Pin<Box<dyn Future<Output = ()> + Send>>,
    ) -> Result<Self, LedgerError> {
        let refused = |error| no_thread(shown, &error);
        let runtime = Arc::new(Builder::new_current_thread().enable_all().build().map_err(refused)?);
        let state = Arc::new(State::default());
        let (driven, known) = (Arc::clone(&runtime), Arc::clone(&state));
        let run = move || {
            while !known.over.load(Ordering::Acquire) {
                driven.block_on(known.leave.notified());
                known.until_quiet();
            }
            driven.block_on(at_end);
            end(driven);
        };
        let thread = thread::Builder::new().name(name.to_owned()).spawn(run).map_err(refused)?;
        let thread = thread.thread().clone();
        Ok(Self { runtime: Some(runtime), state, thread, process: std::process::id() })
    }

    /// The result of `work`, or an error if it took longer than `max_wait`. See [`run`](Self::run).
    pub(crate) fn wait<T: Send, E: Send>(
        &self,
        max_wait: Duration,
        work: impl Future<Output = Result<T, Trouble<E>>> + Send,
    ) -> Result<T, Trouble<E>> {
        let mut answer = None;
        let was_run =
            self.run(max_wait, pin!(async { answer = Some(work.await) })).map_err(Trouble::Refused)?;
        match answer {
            Some(outcome) => outcome,
            None if was_run => Err(Trouble::Timeout(max_wait)),
            None => Err(Trouble::NoThread),
        }
    }

    /// Runs `work` to its end, or until `max_wait` is over. Returns `false` in a process that was forked from the one
    /// that started the driver. The connections belong to the parent, and bytes from the child would corrupt its
    /// messages.
    ///
    /// The work is behind a pointer, so this is compiled once and not for every call of every ledger.
    ///
    /// # Errors
    /// Those of the system, if the work needs a thread of its own.
    fn run(&self, max_wait: Duration, work: Work<'_>) -> io::Result<bool> {
        if std::process::id() != self.process {
            return Ok(false);
        }
        let Some(runtime) = self.runtime.as_deref() else { return Ok(false) };
        let _waiting = Waiting::new(&self.state);
        let work = async {
            // Perhaps nothing has driven the connections for a moment. A look at the sockets and a turn of their tasks
            // notices a closed connection before it is used.
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            // The work itself knows whether it reached its end.
            drop(tokio::time::timeout(max_wait, work).await);
        };
        if Handle::try_current().is_err() {
            runtime.block_on(work);
            return Ok(true);
        }
        let apart = thread::Builder::new();
        #[cfg(test)]
        let apart = apart.stack_size(tests::STACK.get());
        // A thread of another runtime must not drive this one.
        thread::scope(|scope| Ok(apart.spawn_scoped(scope, || runtime.block_on(work))?.join().is_ok()))
    }
}

/// The error for a thread that the system refused.
pub(super) fn no_thread(shown: &str, error: &io::Error) -> LedgerError {
    LedgerError::Unavailable(format!(
        "the system refused a thread for the ledger at {shown} ({error}): look at the limits of this process"
    ))
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::Release);
        self.state.leave.notify_one();
        self.thread.unpark();
        if let Some(runtime) = self.runtime.take() {
            end(runtime);
        }
    }
}

/// The last owner of the runtime ends it. It does not wait for a name that is still being resolved.
fn end(runtime: Arc<Runtime>) {
    if let Some(runtime) = Arc::into_inner(runtime) {
        runtime.shutdown_background();
    }
}

impl State {
    /// Returns after some time without a caller.
    fn until_quiet(&self) {
        let mut seen = None;
        while !self.over.load(Ordering::Acquire) {
            let calls = self.calls.load(Ordering::Acquire);
            if self.waiting.load(Ordering::Acquire) == 0 && seen == Some(calls) {
                return;
            }
            seen = Some(calls);
            thread::park_timeout(QUIET);
        }
    }
}

/// A caller that waits.
struct Waiting<'a>(&'a State);

impl<'a> Waiting<'a> {
    fn new(state: &'a State) -> Self {
        state.calls.fetch_add(1, Ordering::AcqRel);
        state.waiting.fetch_add(1, Ordering::AcqRel);
        state.leave.notify_waiters();
        Self(state)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::mpsc;
    use std::task::{Context, Waker};

    use super::*;

    thread_local! {
        /// How many bytes the stack of a thread has that this one starts for a call.
        pub(super) static STACK: Cell<usize> = const { Cell::new(2 << 20) };
    }

    #[test]
    fn its_thread_goes_on_with_what_a_caller_left_and_ends_with_it() {
        let (says_end, ended) = mpsc::channel();
        let at_end = Box::pin(async move { says_end.send(()).unwrap() });
        let driver = Driver::start("floe-test", "test:", at_end).unwrap();
        let name = || thread::current().name().map(str::to_owned);
        let its_own = Some("floe-test".to_owned());
        for was_driving in [false, true] {
            let (says_done, done) = mpsc::channel();
            let (goes_on, may_go_on) = tokio::sync::oneshot::channel();
            driver
                .wait(Duration::from_secs(60), async {
                    // The caller sends it away.
                    while was_driving && tokio::spawn(async move { name() }).await.unwrap() == its_own {}
                    drop(tokio::spawn(async move {
                        may_go_on.await.unwrap();
                        says_done.send(name()).unwrap();
                    }));
                    Ok::<(), Trouble<()>>(())
                })
                .unwrap();
            goes_on.send(()).unwrap();
            assert_eq!(done.recv_timeout(Duration::from_secs(30)).unwrap(), its_own);
        }
        ended.try_recv().unwrap_err();
        drop(driver);
        ended.recv_timeout(Duration::from_secs(30)).unwrap();
    }

    #[test]
    fn a_process_that_was_forked_runs_nothing_on_its_parents_connections() {
        let mut driver = Driver::start("floe-test", "test:", Box::pin(std::future::ready(()))).unwrap();
        let mut runs = 0;
        for (is_forked, expected) in [(false, 1), (true, 1)] {
            driver.process = std::process::id() + u32::from(is_forked);
            let outcome = driver.wait(Duration::from_secs(60), async {
                runs += 1;
                Ok::<(), Trouble<()>>(())
            });
            assert_eq!(matches!(outcome, Err(Trouble::NoThread)), is_forked, "{outcome:?}");
            assert_eq!(runs, expected);
        }
    }

    #[test]
    fn a_call_that_takes_too_long_is_told_apart_from_one_that_was_not_made() {
        let driver = Driver::start("floe-test", "test:", Box::pin(std::future::ready(()))).unwrap();
        let bound = Duration::from_millis(1);
        let call = || driver.wait(bound, std::future::pending::<Result<(), Trouble<()>>>());
        let inside = Builder::new_current_thread().build().unwrap();
        for outcome in [call(), inside.block_on(async { call() })] {
            assert!(matches!(outcome, Err(Trouble::Timeout(waited)) if waited == bound), "{outcome:?}");
        }
    }

    /// A panic would end the task that called, and not only its call.
    #[tokio::test]
    async fn a_call_for_which_the_system_refuses_a_thread_is_unavailable_and_the_next_one_works() {
        let driver = Driver::start("floe-test", "test:", Box::pin(std::future::ready(()))).unwrap();
        let call = || driver.wait(Duration::from_secs(60), async { Ok::<_, Trouble<()>>(7) });
        // No memory has room for it.
        let stack = STACK.replace(1 << 60);
        let refused = call().unwrap_err().words("test:", |()| unreachable!());
        assert!(
            matches!(&refused, LedgerError::Unavailable(text)
                if text.contains("refused a thread for the ledger at test: (") && text.contains("the limits of this process")),
            "{refused}"
        );
        STACK.set(stack);
        assert_eq!(call().ok(), Some(7));
    }

    /// Its callers alone drive it.
    fn without_its_thread() -> Driver {
        let runtime = Some(Arc::new(Builder::new_current_thread().enable_all().build().unwrap()));
        let (state, thread, process) = (Arc::default(), thread::current(), std::process::id());
        Driver { runtime, state, thread, process }
    }

    /// Otherwise the thread, the connections and what is to be done at the end would stay for ever.
    #[test]
    fn its_end_reaches_a_thread_that_does_not_wait_yet() {
        let driver = without_its_thread();
        let state = Arc::clone(&driver.state);
        drop(driver);
        let told = pin!(state.leave.notified()).poll(&mut Context::from_waker(Waker::noop()));
        assert!(told.is_ready() && state.over.load(Ordering::Acquire));
    }

    /// What has come for a connection is taken in before the work looks at it.
    #[test]
    fn a_connection_that_was_closed_between_calls_is_known_to_be_before_the_next_one() {
        let driver = without_its_thread();
        let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = std::net::TcpStream::connect(server.local_addr().unwrap()).unwrap();
        ours.set_nonblocking(true).unwrap();
        let (theirs, same) = (server.accept().unwrap().0, ours.try_clone().unwrap());
        let wait = Duration::from_secs(60);
        let reading = driver.wait(wait, async {
            let stream = tokio::net::TcpStream::from_std(ours).unwrap();
            let reading = tokio::spawn(async move { stream.readable().await.unwrap() });
            // It waits for the socket.
            tokio::task::yield_now().await;
            Ok::<_, Trouble<()>>(reading)
        });
        let reading = reading.unwrap();
        drop(theirs);
        while same.peek(&mut [0]).is_err() {}
        let is_known = driver.wait(wait, async { Ok::<_, Trouble<()>>(reading.is_finished()) }).unwrap();
        assert!(is_known);
    }

    /// It would wait for a name that is still being resolved, and in an async runtime it would panic.
    #[tokio::test]
    async fn its_last_owner_ends_it_without_a_wait() {
        let driver = Driver::start("floe-test", "test:", Box::pin(std::future::ready(()))).unwrap();
        driver.state.over.store(true, Ordering::Release);
        driver.state.leave.notify_one();
        let runtime = driver.runtime.as_ref().unwrap();
        let (_goes_on, may_go_on) = mpsc::channel::<()>();
        runtime.spawn_blocking(move || may_go_on.recv());
        while Arc::strong_count(runtime) > 1 {
            thread::yield_now();
        }
        drop(driver);
    }
}
