//! A floe without threads: the program moves its clock, calls its ledger, and runs its turns.
//!
//! It is the same library without its driver thread. Use it for simulators, for tests of faults that no machine shows
//! on demand, and for programs with their own event loop. This module may change in any version.

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

/// What a process needs from its environment.
pub struct Surroundings {
    /// Reads the wall and the monotonic clock.
    pub clock: Box<dyn Fn() -> Reading + Send + Sync>,
    /// Sixteen fresh random bytes.
    pub entropy: Box<dyn FnMut() -> [u8; 16] + Send>,
    /// Describes this process, for owner notes.
    pub owner: Owner,
    /// Returns whether the owner of a note was an earlier run of this process.
    pub is_gone: Box<dyn Fn(&Owner) -> bool + Send>,
}

struct Read(Box<dyn Fn() -> Reading + Send + Sync>);

impl TimeSource for Read {
    fn read(&self) -> Reading {
        (self.0)()
    }
}

/// Does the work of the driver thread when you call it.
///
/// ```
/// use std::sync::atomic::{AtomicU8, Ordering};
///
/// use floe::ledger::{Ledger, Memory};
/// use floe::manual::{self, Manual, Op, Surroundings};
/// use floe::{Floe, Layout, MonoMillis, Outcome, Owner, Reading, UnixMillis};
///
/// let drawn = AtomicU8::new(0);
/// let surroundings = Surroundings {
///     clock: Box::new(|| Reading { wall: UnixMillis::new(1_790_000_000_000), mono: MonoMillis::new(0) }),
///     entropy: Box::new(move || [1 + drawn.fetch_add(1, Ordering::Relaxed); 16]),
///     owner: Owner::this_process("node-1"),
///     is_gone: Box::new(|_| false),
/// };
/// let ledger = Memory::default();
/// let (floe, manual) = manual::open(Floe::builder(), ledger.clone(), surroundings)?;
/// let orders = floe.snowflake("orders", Layout::TWITTER)?;
/// while orders.try_mint()? == Outcome::NeedWindow {
///     for call in manual.turn().calls {
///         match &call.op {
///             Op::Reserve(request) | Op::Count(request) => {
///                 let reply = ledger.reserve(request).and_then(|reply| Manual::check(reply, &call));
///                 manual.answer(call.id, reply);
///             }
///             Op::Clock => manual.answer_clock(call.id, ledger.clock()),
///             Op::GiveBack { key, token, from } => {
///                 ledger.give_back(key, *token, *from)?;
///                 manual.over(call.id);
///             }
///         }
///     }
/// }
/// let glance = manual.glance()?; // and anything may happen before the second half of the mint
/// assert!(matches!(manual::mint_at(&orders, glance)?, Outcome::Ready(_)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Manual {
    shared: Arc<Shared>,
}

/// A reading of the clock that a thread has taken and may use later.
#[derive(Clone, Copy, Debug)]
pub struct Glance(Stamp);

/// The result of one turn of the node.
#[derive(Debug)]
pub struct Turn {
    /// The calls to make to the ledger now.
    pub calls: VecDeque<Call>,
    /// When the next turn is due if nothing happens before.
    pub wake: Option<MonoMillis>,
}

/// Opens a floe with these settings and without threads. It does nothing by itself, and no call on it may block. Mint
/// with `try_mint`, `try_mint_many` and the futures. [`Manual`] has an example.
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
    let manual = Manual { shared: floe.shared() };
    Ok((floe, manual))
}

impl Manual {
    /// Returns whether a turn is needed since the last one: a mint found nothing left, or a caller has queued. After each
    /// answer a turn is needed in any case.
    pub fn is_called(&self) -> bool {
        self.shared.signal.is_raised() || self.shared.has_calls()
    }

    /// Runs one turn: the node looks at the clock and at the requests, and wakes the futures that are due.
    pub fn turn(&self) -> Turn {
        self.shared.signal.lower();
        let (_, wake) = self.shared.look_around();
        let wake = wake.map(|millis| self.shared.clock.mono().plus(millis));
        Turn { calls: self.shared.take_calls(), wake }
    }

    /// Passes in the ledger's answer to a reservation. A second answer to the same call changes nothing. [`Manual`] has
    /// an example.
    pub fn answer(&self, id: u64, answer: Result<Reply, LedgerError>) {
        let mut node = self.shared.node();
        if let Some(name) = node.handle_answer(id, answer, &self.shared.clock) {
            node.gathered(&name, &self.shared.clock);
        }
    }

    /// Passes in the ledger's answer about its clock. A second answer to the same call changes nothing. [`Manual`] has
    /// an example.
    pub fn answer_clock(&self, id: u64, answer: Result<Option<UnixMillis>, LedgerError>) {
        self.shared.node().handle_clock(id, answer, &self.shared.clock);
    }

    /// Reports that a call to give back has ended, with or without success. [`Manual`] has an example.
    pub fn over(&self, id: u64) {
        self.shared.node().handle_over(id);
    }

    /// Checks an answer as the driver does before it passes it in. [`Manual`] has an example.
    ///
    /// # Errors
    /// `Unfit` for an answer that no ledger can give to this call.
    pub fn check(reply: Reply, call: &Call) -> Result<Reply, LedgerError> {
        match &call.op {
            Op::Reserve(request) | Op::Count(request) => sound(reply, request),
            Op::Clock | Op::GiveBack { .. } => Ok(reply),
        }
    }

    /// Stops minting for ever. The calls to give unused ranges back come with the next turn.
    pub fn close(&self) {
        self.shared.node().close(&self.shared.clock);
    }

    /// Returns whether every call has been answered.
    pub fn is_drained(&self) -> bool {
        self.shared.node().is_drained()
    }

    /// Returns why nothing is minted any more; `None` if the floe is not stopped.
    pub fn stopped(&self) -> Option<String> {
        self.shared.node().stopped().map(ToOwned::to_owned)
    }

    /// Refreshes the cached time, as a thread of the floe does while minting is fast. Until [`Manual::put_away`], mints
    /// use this time, or the time that the node has seen since.
    pub fn tick(&self) {
        self.shared.clock.tick();
    }

    /// Discards the cached time, so that mints read the clock again.
    pub fn put_away(&self) {
        self.shared.clock.put_away();
    }

    /// Returns the steady time, and why no ID with a time may be minted now; `None` if it may.
    pub fn steady(&self) -> (UnixMillis, Option<String>) {
        let now = self.shared.clock.look();
        (now.stamp.time(), now.refusal())
    }

    /// Does the first half of a mint: it reads the clock. A real thread may be preempted after this.
    ///
    /// # Errors
    /// `Stopped` if the clock allows no mint.
    pub fn glance(&self) -> Result<Glance, MintError> {
        self.shared.stamp().map(Glance)
    }
}

/// Does the second half of a mint, with the reading of the first half. [`Manual`] has an example.
///
/// # Errors
/// [`MintError`].
pub fn mint_at<I: IdRepr>(generator: &Generator<I>, glance: Glance) -> Result<Outcome<I>, MintError> {
    generator.try_mint_at(glance.0)
}

#[cfg(not(loom))]
#[cfg(test)]
pub(crate) mod tests;
