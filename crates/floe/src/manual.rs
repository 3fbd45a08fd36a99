//! A floe without threads: whoever opens it moves its clock, asks its ledger, and says when it may look around.
//!
//! It is the same library with its driver taken out: for simulators, for tests of faults that no machine shows on demand, and for
//! programs that have their own event loop. There is no promise that this module stays as it is.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::IdRepr;
use crate::clock::{Clock, Stamp, TimeSource};
use crate::driver::{Shared, sound};
use crate::error::MintError;
use crate::floe::{Builder, Floe};
use crate::generator::{Generator, Outcome};
use crate::ledger::{Ledger, LedgerError, Reply};
use crate::opening::OpenError;
use crate::owner::Owner;
use crate::time::{MonoMillis, Reading, UnixMillis};

pub use crate::node::{Call, Op};

/// What a process has around it.
pub struct Surroundings {
    /// Reads the wall and the monotonic clock.
    pub clock: Box<dyn Fn() -> Reading + Send + Sync>,
    /// Sixteen fresh random bytes.
    pub entropy: Box<dyn FnMut() -> [u8; 16] + Send>,
    /// Who this process is.
    pub owner: Owner,
    /// Whether the owner of a note was an earlier life of this process.
    pub is_gone: Box<dyn Fn(&Owner) -> bool + Send>,
}

struct Read(Box<dyn Fn() -> Reading + Send + Sync>);

impl TimeSource for Read {
    fn read(&self) -> Reading {
        (self.0)()
    }
}

/// The driver's part, by hand.
pub struct Manual {
    shared: Arc<Shared>,
}

/// A look at the clock that a thread has taken, and may act upon later.
#[derive(Clone, Copy, Debug)]
pub struct Glance(Stamp);

/// What came of one turn of the node.
#[derive(Debug)]
pub struct Turn {
    /// What the ledger is to be asked now.
    pub calls: VecDeque<Call>,
    /// When the next turn is due, if nothing happens before.
    pub wake: Option<MonoMillis>,
}

/// Opens a floe with these settings that has no threads. It does nothing by itself, and no call on it may block: mint
/// with `try_mint`, `try_mint_many` and the futures.
///
/// # Errors
/// [`OpenError`].
pub fn open(
    builder: Builder,
    ledger: impl Ledger + 'static,
    surroundings: Surroundings,
) -> Result<(Floe, Manual), OpenError> {
    let Surroundings { clock, entropy, owner, is_gone } = surroundings;
    let clock = Arc::new(Clock::new(builder.policy(), Box::new(Read(clock))));
    let floe = builder.assemble(Arc::new(ledger), clock, owner, is_gone, entropy)?;
    let hand = Manual { shared: floe.shared() };
    Ok((floe, hand))
}

impl Manual {
    /// Whether somebody has asked for a turn since the last one: a mint that found nothing left, a caller that queued.
    pub fn is_called(&self) -> bool {
        self.shared.signal.is_raised() || self.shared.has_calls()
    }

    /// Lets the node look at the clock and at what is wanted, and wakes the futures whose time has come.
    pub fn turn(&self) -> Turn {
        self.shared.signal.lower();
        let (_, wake) = self.shared.look_around();
        let wake = wake.map(|millis| self.shared.clock.mono().plus(millis));
        Turn { calls: self.shared.take_calls(), wake }
    }

    /// Hands in the ledger's answer to a reservation. An answer to a call that was answered already changes nothing.
    pub fn answer(&self, id: u64, answer: Result<Reply, LedgerError>) {
        let mut node = self.shared.node();
        if let Some(name) = node.handle_answer(id, answer, &self.shared.clock) {
            node.gathered(&name, &self.shared.clock);
        }
    }

    /// Hands in what the ledger said of its clock. An answer to a call that was answered already changes nothing.
    pub fn answer_clock(&self, id: u64, answer: Result<Option<UnixMillis>, LedgerError>) {
        self.shared.node().handle_clock(id, answer, &self.shared.clock);
    }

    /// Says that a call to give back is over, however it went.
    pub fn over(&self, id: u64) {
        self.shared.node().handle_over(id);
    }

    /// What the driver makes of an answer before it hands it in: one that cannot be is no answer.
    ///
    /// # Errors
    /// `Unfit`.
    pub fn check(reply: Reply, call: &Call) -> Result<Reply, LedgerError> {
        match &call.op {
            Op::Reserve(request) | Op::Count(request) => sound(reply, request),
            Op::Clock | Op::GiveBack { .. } => Ok(reply),
        }
    }

    /// Stops minting for ever. What is to be given back comes with the next turn.
    pub fn close(&self) {
        self.shared.node().close(&self.shared.clock);
    }

    /// Whether every call has been answered.
    pub fn is_drained(&self) -> bool {
        self.shared.node().is_drained()
    }

    /// Why nothing is minted any more, for ever.
    pub fn stopped(&self) -> Option<String> {
        self.shared.node().stopped().map(ToOwned::to_owned)
    }

    /// One round of the thread that keeps the time at hand while minting is fast. Until [`Manual::put_away`] mints use
    /// the time as it was then, or as the node saw it since.
    pub fn tick(&self) {
        self.shared.clock.tick();
    }

    /// Mints read the clock themselves again.
    pub fn put_away(&self) {
        self.shared.clock.put_away();
    }

    /// The steady time, and why nothing may be minted by it, if so.
    pub fn steady(&self) -> (UnixMillis, Option<String>) {
        let now = self.shared.clock.look();
        (now.stamp.time(), now.refusal())
    }

    /// The first half of a mint: a thread looks at the clock, and may be preempted there.
    ///
    /// # Errors
    /// `Stopped`, where nothing may be minted by this clock.
    pub fn glance(&self) -> Result<Glance, MintError> {
        self.shared.stamp().map(Glance)
    }
}

/// The second half: the thread goes on with what it saw.
///
/// # Errors
/// [`MintError`].
pub fn mint_at<I: IdRepr>(generator: &Generator<I>, glance: Glance) -> Result<Outcome<I>, MintError> {
    generator.try_mint_at(glance.0)
}
