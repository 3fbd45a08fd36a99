//! Blocking work as a future on any runtime.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread;

use crate::sync::{Mutex, lock};

/// Runs `work`, which may block, on its own thread, and returns a future of its result.
///
/// - The work begins when the future is first polled.
/// - If the future is dropped after that, the work still runs to its end.
/// - If the system gives no thread, the work runs inside the poll.
///
/// [`Floe`](crate::Floe) has such futures for its own calls. Use this one for other calls, such as opening a ledger.
///
/// ```
/// # fn block_on<F: Future>(future: F) -> F::Output {
/// #     struct Unpark(std::thread::Thread);
/// #     impl std::task::Wake for Unpark {
/// #         fn wake(self: std::sync::Arc<Self>) { self.0.unpark() }
/// #     }
/// #     let waker = std::sync::Arc::new(Unpark(std::thread::current())).into();
/// #     let mut future = std::pin::pin!(future);
/// #     loop {
/// #         match future.as_mut().poll(&mut std::task::Context::from_waker(&waker)) {
/// #             std::task::Poll::Ready(output) => return output,
/// #             std::task::Poll::Pending => std::thread::park(),
/// #         }
/// #     }
/// # }
/// # block_on(async {
/// use floe::{Floe, Layout, ledger::Memory};
/// let ledger = floe::blocking(Memory::default).await;
/// let floe = Floe::builder().open_async(ledger).await?;
/// let orders = floe.snowflake_async("orders", Layout::TWITTER).await?;
/// orders.mint_async().await?;
/// floe.close_async().await;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
///
/// # Panics
/// The poll panics with the panic of `work`.
pub fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Blocking<T> {
    Blocking {
        task: Arc::new(Mutex::new(Task { work: Some(Box::new(work)), done: None, waker: None })),
        begun: false,
    }
}

/// The future that [`blocking`] returns.
#[must_use = "a future does nothing unless it is awaited"]
pub struct Blocking<T> {
    task: Arc<Mutex<Task<T>>>,
    begun: bool,
}

struct Task<T> {
    /// The work, until it begins.
    work: Option<Box<dyn FnOnce() -> T + Send>>,
    done: Option<thread::Result<T>>,
    waker: Option<Waker>,
}

/// Does the work, unless it is done already or another thread does it.
fn run<T>(task: &Mutex<Task<T>>) {
    let Some(work) = lock(task).work.take() else { return };
    let done = catch_unwind(AssertUnwindSafe(work));
    let waker = {
        let mut task = lock(task);
        task.done = Some(done);
        task.waker.take()
    };
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl<T: Send + 'static> Future for Blocking<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        lock(&self.task).waker = Some(context.waker().clone());
        if !std::mem::replace(&mut self.begun, true) {
            let task = Arc::clone(&self.task);
            let spawned = thread::Builder::new().name("floe-blocking".to_owned()).spawn(move || run(&task));
            if spawned.is_err() {
                run(&self.task);
            }
        }
        let done = lock(&self.task).done.take();
        match done {
            Some(Ok(output)) => Poll::Ready(output),
            Some(Err(panic)) => resume_unwind(panic),
            None => Poll::Pending,
        }
    }
}

impl<T> fmt::Debug for Blocking<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocking").field("begun", &self.begun).finish_non_exhaustive()
    }
}

#[cfg(all(test, loom))]
mod models;
#[cfg(not(loom))]
#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::task::Wake;
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_work_begins_once_on_a_thread_that_says_whose_it_is() {
        let (go, wait) = mpsc::channel::<()>();
        let (done, result) = mpsc::channel();
        let mut future = Box::pin(blocking(move || {
            wait.recv().unwrap();
            done.send(thread::current().name().map(ToOwned::to_owned)).unwrap();
        }));
        assert!(format!("{future:?}").contains("begun: false"), "nobody has polled it");
        for _ in 0..3 {
            let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
            assert!(format!("{future:?}").contains("begun: true"));
        }
        go.send(()).unwrap();
        assert_eq!(result.recv().unwrap().as_deref(), Some("floe-blocking"));
    }

    /// In a process of its own, in which no thread can have its stack.
    #[test]
    fn the_work_runs_in_the_poll_where_the_system_gives_no_thread() {
        const INSIDE: &str = "FLOE_TEST_WITHOUT_THREADS";
        if std::env::var_os(INSIDE).is_some() {
            assert!(thread::Builder::new().spawn(|| ()).is_err(), "there are threads");
            let mut future = Box::pin(blocking(|| 7));
            assert_eq!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(7));
            return;
        }
        let mut itself = std::process::Command::new(std::env::current_exe().unwrap());
        let this = "blocking::tests::the_work_runs_in_the_poll_where_the_system_gives_no_thread";
        itself.args(["--exact", this, "--test-threads=1"]);
        let ended = itself.env(INSIDE, "1").env("RUST_MIN_STACK", (usize::MAX >> 4).to_string()).output();
        let ended = ended.unwrap();
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(ended.status.success() && said.contains("1 passed"), "{said}");
    }

    /// A future may move to another task while it waits.
    #[test]
    fn whoever_has_polled_last_is_woken_when_the_work_is_done() {
        struct Tell(&'static str, mpsc::Sender<&'static str>);
        impl Wake for Tell {
            fn wake(self: Arc<Self>) {
                self.1.send(self.0).unwrap();
            }
        }
        let ((go, wait), (begins, begun)) = (mpsc::channel::<()>(), mpsc::channel());
        let (tell, told) = mpsc::channel();
        let mut future = Box::pin(blocking(move || {
            begins.send(()).unwrap();
            wait.recv().unwrap();
        }));
        let mut poll = |task| {
            let waker = Waker::from(Arc::new(Tell(task, tell.clone())));
            future.as_mut().poll(&mut Context::from_waker(&waker))
        };
        assert!(poll("the first task").is_pending());
        begun.recv().unwrap();
        assert!(poll("the second task").is_pending());
        go.send(()).unwrap();
        assert_eq!(told.recv_timeout(Duration::from_secs(10)), Ok("the second task"));
        assert!(poll("the second task").is_ready());
    }
}
