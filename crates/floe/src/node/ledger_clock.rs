//! The check of this machine's clock against the ledger's clock: when to ask the ledger, and whether a window may be
//! reserved.
//!
//! Uniqueness does not depend on it, since marks protect that. But a clock that is hours ahead would leave marks and
//! IDs in the future, and all nodes would have to live with them until then.

use super::{Op, Pause, Purpose, RequestQueue};
use crate::clock::{ClockState, Heard, Now};
use crate::error::Stopped;
use crate::ledger::LedgerError;
use crate::mutation::mutate;
use crate::shared_cursor::BlockReason;
use crate::time::{MonoMillis, UnixMillis};

/// After this time the node asks the ledger again, and no caller waits. Until then, two clocks drift too little to matter.
pub(crate) const REFRESH_MS: u64 = 5 * 60_000;
/// How soon it is asked again while the clocks do not agree.
pub(crate) const AGAIN_MS: u64 = 5_000;

/// The state of a node's questions about the ledger's clock. The steady clock keeps the answers.
#[derive(Default)]
pub(super) struct LedgerClock {
    asked: Option<Asked>,
    /// Somebody waits for an answer.
    awaited: bool,
    pause: Pause,
}

struct Asked {
    call: u64,
    at: MonoMillis,
    era: u64,
}

/// Whether a window may be reserved.
pub(super) enum Gate {
    Open,
    /// Not before the ledger's clock is known. The node steps again then.
    Awaited,
    /// The clocks do not agree; the text says by how much, and the way out.
    Apart(String),
}

impl RequestQueue {
    /// Whether a window may be reserved by this clock. Each era asks the ledger's clock first. Later its answer is
    /// extrapolated, and no caller waits.
    pub(super) fn gate(&mut self, now: &Now) -> Gate {
        if !self.settings.check_clock {
            return Gate::Open;
        }
        self.ask_clock(now);
        if now.heard == Heard::Nothing {
            self.ledger_clock.awaited = true;
            return Gate::Awaited;
        }
        match mutate!(self.apart(now), LedgerClockIgnored => None) {
            None => Gate::Open,
            Some(text) => Gate::Apart(text),
        }
    }

    /// Asks for the ledger's clock, if that is due.
    pub(super) fn ask_clock(&mut self, now: &Now) {
        let doubtful = matches!(now.state, ClockState::Contradicted(_) | ClockState::Refused(_));
        let differ = now.heard.time().is_some() && doubtful || now.apart().is_some();
        let enough = if differ { AGAIN_MS } else { REFRESH_MS };
        let fresh = now.heard.age(now.mono).is_some_and(|age| age < enough);
        let era = now.stamp.era();
        // A question from before the clock moved is of no use: its answer may be as old as the machine slept.
        let asked = self.ledger_clock.asked.as_ref().is_some_and(|asked| asked.era == era);
        if !self.settings.check_clock || fresh || asked || !self.ledger_clock.pause.is_over(now.mono) {
            return;
        }
        let call = self.ask(Purpose::Clock, Op::Clock);
        self.ledger_clock.asked = Some(Asked { call, at: now.mono, era });
    }

    /// Asks again if somebody waits. Nobody does any more if the floe has heard of the clock by itself.
    pub(super) fn pursue_clock(&mut self, now: &Now) {
        self.ledger_clock.awaited &= now.heard == Heard::Nothing;
        if self.ledger_clock.awaited {
            self.ask_clock(now);
        }
    }

    /// When to check again whether to ask.
    pub(super) fn clock_deadline(&self) -> Option<MonoMillis> {
        let LedgerClock { asked, awaited, pause } = &self.ledger_clock;
        (*awaited && asked.is_none()).then(|| pause.until()).flatten()
    }

    /// When the call was made, and in which era; `None` if a later call has replaced it.
    pub(super) fn clock_asked(&mut self, call: u64) -> Option<(MonoMillis, u64)> {
        let asked = self.ledger_clock.asked.take_if(|asked| asked.call == call)?;
        Some((asked.at, asked.era))
    }

    /// The ledger has answered.
    pub(super) fn clock_heard(&mut self) {
        (self.ledger_clock.awaited, self.ledger_clock.pause) = (false, Pause::default());
    }

    /// The ledger has not answered. Returns what to tell waiting callers.
    pub(super) fn clock_silent(&mut self, error: &LedgerError, now: &Now) -> BlockReason {
        let mut pause = self.ledger_clock.pause;
        let trouble = self.unavailable(error.to_string(), now, &mut pause, 0);
        self.ledger_clock.pause = pause;
        trouble
    }

    /// Why no window is reserved by this clock, if so.
    pub(crate) fn apart(&self, now: &Now) -> Option<String> {
        let by = now.apart()?;
        let (seconds, millis) = (by.unsigned_abs() / 1_000, by.unsigned_abs() % 1_000);
        let side = if by > 0 { "ahead of" } else { "behind" };
        // The wall clock is right again, and the steady clock still stands at the last minted time.
        let right = now.heard.time().is_some_and(|ledger| ledger.apart(now.wall, now.mono).is_none());
        let out = match right {
            true => {
                "the clock is right again, but this process has minted with the wrong time and waits until that time comes: start this process again"
            }
            false => "set the wrong one right",
        };
        Some(format!(
            "this machine's clock is {seconds}.{millis:03} s {side} the clock of the ledger ({}): {out}, or mint anyway with clock.ledger = \"ignore\" (--ignore-ledger-clock)",
            self.settings.ledger
        ))
    }
}

impl super::Node {
    /// Takes the answer to a question about the ledger's clock.
    pub(crate) fn handle_clock(
        &mut self,
        id: u64,
        answer: Result<Option<UnixMillis>, LedgerError>,
        clock: &crate::clock::Clock,
    ) {
        if self.requests.asked.remove(&id).is_none() {
            return;
        }
        let asked = self.requests.clock_asked(id);
        if self.stopped.is_some() {
            return;
        }
        match answer {
            Err(LedgerError::Unfit(cause)) => return self.stop(&Stopped::ledger(cause)),
            Err(error) => {
                let trouble = self.requests.clock_silent(&error, &clock.look());
                self.groups.iter_mut().for_each(|group| group.clock_silent(&trouble));
                return;
            }
            Ok(said) => {
                self.requests.answered();
                if let Some((at, era)) = asked {
                    clock.hear(said, at, era);
                    self.requests.clock_heard();
                }
            }
        }
        self.step(clock);
    }
}
