//! A loom model of a task that waits for blocking work; `cursor::models` says how to run it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

use loom::thread;

use super::*;

/// Whoever finds the work not done is woken when it is.
///
/// Caught: the waker taken before the result is there; a poll that leaves its waker after it has looked for the result.
#[test]
fn who_polls_while_the_work_ends_has_the_result_or_is_woken() {
    #[derive(Default)]
    struct Woken(AtomicBool);
    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    loom::model(|| {
        let woken = Arc::new(Woken::default());
        let mut future = blocking(|| 7);
        // The model has the thread on which it works.
        future.begun = true;
        let working = {
            let task = Arc::clone(&future.task);
            thread::spawn(move || run(&task))
        };
        let polled = Pin::new(&mut future).poll(&mut Context::from_waker(&Arc::clone(&woken).into()));
        working.join().unwrap();
        assert!(
            polled == Poll::Ready(7) || woken.0.load(Ordering::Relaxed),
            "{polled:?}, and nobody is woken"
        );
    });
}
