//! A caller's place in the queue of a counter or dated name: what the caller and the node share.

use std::sync::Arc;

use crate::error::MintError;
use crate::sync::{Mutex, lock};
use crate::wait::Waiters;

/// One caller's place in a name's queue.
pub(crate) struct Ticket {
    pub(crate) count: u64,
    answer: Mutex<Answer>,
    waiters: Waiters,
}

enum Answer {
    Open,
    Done(Result<u64, MintError>),
    /// The caller has gone. Its reserved numbers are discarded.
    Gone,
}

impl Ticket {
    pub(crate) fn new(count: u64) -> Arc<Self> {
        Arc::new(Self { count, answer: Mutex::new(Answer::Open), waiters: Waiters::default() })
    }

    /// Whether somebody still waits for the answer.
    pub(crate) fn is_open(&self) -> bool {
        matches!(*lock(&self.answer), Answer::Open)
    }

    /// What it was answered, if it was.
    pub(crate) fn answered(&self) -> Option<Result<u64, MintError>> {
        match &*lock(&self.answer) {
            Answer::Done(result) => Some(result.clone()),
            Answer::Open | Answer::Gone => None,
        }
    }

    /// Notes that the caller has gone: its reserved numbers are discarded.
    pub(crate) fn abandon(&self) {
        *lock(&self.answer) = Answer::Gone;
    }

    /// The waiters to wake when it is answered.
    pub(crate) fn waiters(&self) -> &Waiters {
        &self.waiters
    }

    /// Answers with the first of the caller's positions, or with the reason why there is none.
    pub(crate) fn answer(&self, result: Result<u64, MintError>) {
        let mut answer = lock(&self.answer);
        if matches!(*answer, Answer::Open) {
            *answer = Answer::Done(result);
            drop(answer);
            self.waiters.wake();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::task::{Wake, Waker};

    use super::*;
    use crate::sync::try_lock;

    /// An executor may poll in the wake itself.
    #[test]
    fn who_is_woken_may_look_at_the_answer_at_once() {
        struct Looks(Arc<Ticket>);
        impl Wake for Looks {
            fn wake(self: Arc<Self>) {
                assert!(try_lock(&self.0.answer).is_some(), "it would wait for itself");
                assert_eq!(self.0.answered(), Some(Ok(7)));
                self.0.abandon();
            }
        }
        let ticket = Ticket::new(1);
        ticket.waiters().add(&Waker::from(Arc::new(Looks(Arc::clone(&ticket)))));
        ticket.answer(Ok(7));
        assert_eq!(ticket.answered(), None, "it was woken");
    }

    #[test]
    fn a_ticket_is_answered_once_and_not_where_its_caller_has_gone() {
        let stopped = || Err(MintError::stopped("late"));
        let ticket = Ticket::new(1);
        ticket.answer(Ok(7));
        ticket.answer(stopped());
        ticket.answer(Ok(8));
        assert_eq!(ticket.answered(), Some(Ok(7)));
        let ticket = Ticket::new(1);
        ticket.abandon();
        ticket.answer(Ok(7));
        assert!(ticket.answered().is_none() && !ticket.is_open());
    }
}
