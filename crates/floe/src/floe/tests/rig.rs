//! A floe without threads, by a clock that the test moves.

use crate::clock::{FixedClock, TimeSource as _};
use crate::floe::{Builder, Floe};
use crate::handle::Handle;
use crate::ledger::{Ledger, Memory};
use crate::manual::{self, Manual, Op, Surroundings};
use crate::owner::Owner;
use crate::settings::NameOptions;
use crate::status::NameStatus;
use crate::time::UnixMillis;
use crate::{Definition, Name};

/// 2026-11-22.
pub(super) const NOW: UnixMillis = UnixMillis::new(1_795_305_600_000);

pub(super) struct Rig {
    pub(super) floe: Floe,
    pub(super) manual: Manual,
    pub(super) clock: FixedClock,
}

pub(super) fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

impl Rig {
    pub(super) fn new() -> Self {
        Self::with(Floe::builder(), Memory::default(), NOW)
    }

    pub(super) fn with(builder: Builder, ledger: impl Ledger + 'static, time: UnixMillis) -> Self {
        let clock = FixedClock::at(time);
        let (read, mut drawn) = (clock.clone(), 0_u128);
        let surroundings = Surroundings {
            clock: Box::new(move || read.read()),
            entropy: Box::new(move || {
                drawn += 0x9e37_79b9_7f4a_7c15;
                drawn.wrapping_mul(drawn).to_le_bytes()
            }),
            owner: Owner::this_process("here"),
            is_gone: Box::new(|_| false),
        };
        let (floe, manual) = manual::open(builder, ledger, surroundings).unwrap();
        Self { floe, manual, clock }
    }

    pub(super) fn define(&self, text: &str, definition: &Definition, options: &NameOptions) -> Handle {
        self.floe.define(&name(text), definition, options).unwrap()
    }

    /// Answers whatever is asked.
    pub(super) fn settle(&self) {
        loop {
            let calls = self.manual.turn().calls;
            if calls.is_empty() {
                break;
            }
            for call in calls {
                let ledger = self.floe.ledger();
                match &call.op {
                    Op::Reserve(request) => self.manual.answer(call.id, ledger.reserve(request)),
                    Op::Count(request) => self.manual.answer(call.id, ledger.count(request)),
                    Op::Clock => self.manual.answer_clock(call.id, ledger.clock()),
                    Op::GiveBack { key, token, from } => {
                        ledger.give_back(key, *token, *from).unwrap();
                        self.manual.over(call.id);
                    }
                }
            }
        }
    }

    /// What the status says of the name.
    pub(super) fn told(&self, text: &str) -> NameStatus {
        let names = self.floe.status().names;
        names.into_iter().find(|status| status.name.as_str() == text).unwrap()
    }
}
