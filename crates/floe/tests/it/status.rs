//! What mints, and what says that it does not, whatever the clock says: by hand, so that the clock is the test's.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use floe::form::{Buffer, FormError};
use floe::ledger::{Key, Ledger, MAX_MARK, Memory};
use floe::manual::{self, Manual, Op, Surroundings};
use floe::{
    Counter, Definition, Floe, Generator, Handle, Layout, MintError, MonoMillis, Name, NameOptions,
    NameState, Outcome, Owner, Reading, Segment, Start, StopReason, Stopped, TextMinter, UnixMillis,
};

/// 2026-11-22.
pub(crate) const NOW: i64 = 1_795_305_600_000;
const HOUR: i64 = 3_600_000;

pub(crate) struct Rig {
    pub(crate) floe: Floe,
    pub(crate) manual: Manual,
    ledger: Memory,
    pub(crate) wall: Arc<AtomicI64>,
    pub(crate) mono: Arc<AtomicU64>,
    /// The next time that the node wants randomness, it panics.
    breaks: Arc<AtomicBool>,
}

impl Rig {
    pub(crate) fn at(wall: i64) -> Self {
        let (wall, mono) = (Arc::new(AtomicI64::new(wall)), Arc::new(AtomicU64::new(1)));
        let ledger = Memory::default();
        let clocks = (Arc::clone(&wall), Arc::clone(&mono));
        let (mut drawn, breaks) = (0_u128, Arc::new(AtomicBool::new(false)));
        let is_broken = Arc::clone(&breaks);
        let surroundings = Surroundings {
            clock: Box::new(move || Reading {
                wall: UnixMillis::new(clocks.0.load(Ordering::Relaxed)),
                mono: MonoMillis::new(clocks.1.load(Ordering::Relaxed)),
            }),
            entropy: Box::new(move || {
                if is_broken.swap(false, Ordering::Relaxed) {
                    std::panic::resume_unwind(Box::new("the test broke the node"));
                }
                drawn += 0x9e37_79b9_7f4a_7c15;
                drawn.wrapping_mul(drawn).to_le_bytes()
            }),
            owner: Owner::this_process("here"),
            is_gone: Box::new(|_| false),
        };
        let (floe, manual) = manual::open(Floe::builder(), ledger.clone(), surroundings).unwrap();
        Self { floe, manual, ledger, wall, mono, breaks }
    }

    pub(crate) fn define(&self, name: &str, definition: &Definition) -> Handle {
        self.floe.define(&Name::new(name).unwrap(), definition, &NameOptions::default()).unwrap()
    }

    /// Answers whatever is asked.
    pub(crate) fn settle(&self) {
        while self.manual.is_called() {
            for call in self.manual.turn().calls {
                match &call.op {
                    Op::Reserve(request) => self.manual.answer(call.id, self.ledger.reserve(request)),
                    Op::Count(request) => self.manual.answer(call.id, self.ledger.count(request)),
                    Op::Clock => self.manual.answer_clock(call.id, Ok(None)),
                    Op::GiveBack { .. } => self.manual.over(call.id),
                }
            }
        }
    }

    /// Both clocks go on together, in steps of a second.
    fn pass(&self, millis: i64) {
        for _ in 0..millis / 1_000 {
            self.wall.fetch_add(1_000, Ordering::Relaxed);
            self.mono.fetch_add(1_000, Ordering::Relaxed);
            self.floe.status();
        }
    }

    fn state(&self, name: &str) -> NameState {
        let found = self.floe.status().names.into_iter().find(|status| status.name.as_str() == name);
        found.unwrap().state
    }
}

fn snowflake(layout: &Layout) -> Definition {
    Definition::Snowflake { layout: layout.clone(), own: false }
}

/// One ID, with as many turns as it takes.
fn mint(rig: &Rig, handle: &Handle) -> Result<u64, MintError> {
    for _ in 0..100 {
        let minted = if let Some(generator) = handle.get::<Generator>() {
            match generator.try_mint()? {
                Outcome::Ready(id) => Some(id.get()),
                Outcome::WaitUntil(_) | Outcome::NeedWindow => None,
            }
        } else {
            let segment: &Segment = handle.get().expect("no other kind is minted from here");
            let batch = segment.try_mint_many(1)?;
            if batch.is_none() {
                // As a future does that finds nothing.
                let mut future = Box::pin(segment.mint_async());
                let _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            }
            batch.and_then(|mut batch| batch.next()).map(|id| id.get())
        };
        if let Some(id) = minted {
            return Ok(id);
        }
        rig.settle();
        rig.pass(1_000);
    }
    panic!("nothing was minted");
}

#[test]
fn a_segment_goes_on_through_a_rollback_that_stops_what_has_a_time() {
    let rig = Rig::at(NOW);
    let (orders, visits) =
        (rig.define("orders", &snowflake(&Layout::TWITTER)), rig.define("visits", &Definition::SEGMENT));
    assert_eq!(mint(&rig, &visits), Ok(1));
    mint(&rig, &orders).unwrap();
    rig.wall.fetch_sub(5 * HOUR, Ordering::Relaxed);
    let Err(MintError::Stopped(stopped)) = mint(&rig, &orders) else { panic!("its clock went back") };
    assert!(stopped.reason == StopReason::Clock && stopped.cause.contains("max_hold"), "{stopped:?}");
    // Past what is reserved now as well. What was in hand is dropped, since this may be a copy of the process.
    let mut last = 1;
    for _ in 0..5_000 {
        let next = mint(&rig, &visits).unwrap();
        assert!(next > last, "{next} after {last}");
        last = next;
    }
    assert!(matches!(rig.state("orders"), NameState::ClockRefused(text) if text.contains("max_hold")));
    assert_eq!(rig.state("visits"), NameState::Ready);
    // Nor does it matter that the clock cannot be read as a time at all.
    rig.wall.store(-HOUR, Ordering::Relaxed);
    assert!(mint(&rig, &visits).unwrap() > last);
    rig.wall.store(NOW + HOUR, Ordering::Relaxed);
    mint(&rig, &orders).unwrap();
    assert_eq!(rig.state("orders"), NameState::Ready);
}

#[test]
fn a_name_past_its_horizon_says_so() {
    let layout: Layout = "time:27 worker:10 sequence:12 tick=1s epoch=2024-01-01T00:00:00Z".parse().unwrap();
    let horizon = layout.horizon().get();
    let before = Rig::at(horizon - HOUR);
    let orders = before.define("orders", &snowflake(&layout));
    mint(&before, &orders).unwrap();
    assert_eq!(before.state("orders"), NameState::Ready);
    let past = Rig::at(horizon + HOUR);
    let orders = past.define("orders", &snowflake(&layout));
    let Err(MintError::Exhausted(said)) = mint(&past, &orders) else { panic!("past its horizon") };
    assert_eq!(past.state("orders"), NameState::Exhausted(said));
}

/// The last tick has come, and all of it was minted: nothing comes behind it, although the time is still one of the layout's.
#[test]
fn a_name_whose_last_id_was_minted_before_its_horizon_says_so() {
    let layout: Layout = "time:27 worker:10 sequence:4 tick=1s epoch=2024-01-01T00:00:00Z".parse().unwrap();
    let rig = Rig::at(layout.horizon().get() - 500);
    let orders = rig.define("orders", &snowflake(&layout));
    let generator: &Generator = orders.get().unwrap();
    let try_mint = || match generator.try_mint() {
        Ok(Outcome::Ready(_)) => Some(Ok(())),
        Ok(Outcome::WaitUntil(_) | Outcome::NeedWindow) => None,
        Err(error) => Some(Err(error)),
    };
    // Time stands.
    let mint = || {
        let minted = (0..100).find_map(|_| {
            rig.settle();
            try_mint()
        });
        minted.expect("something comes of it")
    };
    assert_eq!(mint(), Ok(()));
    assert_eq!(rig.state("orders"), NameState::Ready);
    while rig.state("orders") == NameState::Ready {
        assert_eq!(mint(), Ok(()), "it said that it can");
    }
    let Err(MintError::Exhausted(said)) = mint() else { panic!("it said that it cannot") };
    assert_eq!(rig.state("orders"), NameState::Exhausted(said));
}

#[test]
fn a_counter_that_is_used_up_says_so() {
    let floe = Floe::open(Memory::default()).unwrap();
    let counter = floe.counter("visits").unwrap();
    let visits = Name::new("visits").unwrap();
    floe.ledger().raise(&Key::name(&visits), MAX_MARK - 1).unwrap();
    let state = || floe.status().names.remove(0).state;
    assert!(counter.mint_many(2).is_err());
    assert_eq!(state(), NameState::Ready, "one is left");
    counter.mint().unwrap();
    let before = state();
    let Err(MintError::Exhausted(said)) = counter.mint() else { panic!("a number past the last") };
    assert_eq!([before, state()], [NameState::Exhausted(said.clone()), NameState::Exhausted(said)]);
}

#[test]
fn a_name_whose_form_has_run_out_of_digits_says_so() {
    // Numbers up to 15.
    for numbers in [Definition::Counter, Definition::SEGMENT] {
        let floe = Floe::open(Memory::default()).unwrap();
        let short = numbers.in_form("base62 bits=4".parse().unwrap()).unwrap();
        let seats = Name::new("seats").unwrap();
        let options = NameOptions { min_step: 4, max_step: 4, ..NameOptions::default() };
        let texts: TextMinter = floe.define(&seats, &short, &options).unwrap().get().cloned().unwrap();
        let state = || floe.status().names.remove(0).state;
        assert_eq!(state(), NameState::Ready);
        for _ in 0..14 {
            texts.mint().unwrap();
        }
        assert_eq!(state(), NameState::Ready, "15 is left");
        texts.mint().unwrap();
        assert!(matches!(state(), NameState::Exhausted(_)), "{:?}: before a call fails", state());
        let Err(MintError::Exhausted(said)) = texts.mint() else { panic!("16 in four bits") };
        let NameState::Exhausted(shown) = state() else { panic!("{:?}: no call can succeed", state()) };
        // Each names the number that it is about.
        let (before, after) =
            (said.split_once(" is used up").unwrap(), shown.split_once(" is used up").unwrap());
        assert_eq!(before.0, after.0);
    }
}

/// A new era drops the numbers in hand. Those that come are no smaller.
#[test]
fn a_name_whose_form_has_run_out_of_digits_says_so_in_a_new_era_too() {
    let rig = Rig::at(NOW);
    let seats = rig.define("seats", &Definition::SEGMENT.in_form("base62 bits=4".parse().unwrap()).unwrap());
    let minted = (0..9).find_map(|_| {
        let minted = seats.try_mint_many(15).unwrap();
        rig.settle();
        minted
    });
    assert_eq!(minted.unwrap().count(), 15);
    let over = rig.state("seats");
    assert!(matches!(over, NameState::Exhausted(_)), "{over:?}");
    rig.floe.invalidate();
    rig.settle();
    let over = rig.state("seats");
    assert!(matches!(over, NameState::Exhausted(_)), "{over:?}");
}

/// Sqids leaves out a number whose every text has a blocked word. The one behind it is minted.
#[test]
fn a_name_whose_next_number_is_left_out_by_its_form_is_ready() {
    let form = "sqids alphabet=abc blocklist=aaa,abab,bcbc,cab,abca,ccca";
    let definition = Definition::SEGMENT.in_form(form.parse().unwrap()).unwrap();
    let form = definition.form().unwrap();
    let blocked =
        |number: &u64| matches!(form.encode(*number, &mut Buffer::new()), Err(FormError::Blocked { .. }));
    let left_out = (1..1_000).find(blocked).unwrap();
    let floe = Floe::open(Memory::default()).unwrap();
    let codes = Name::new("codes").unwrap();
    let codes = floe.define(&codes, &definition, &NameOptions::default()).unwrap();
    assert_eq!(codes.mint_many(left_out - 1).unwrap().count() as u64, left_out - 1);
    assert_eq!(floe.status().names.remove(0).state, NameState::Ready);
    assert_eq!(codes.mint_many(1).unwrap().count(), 1);
}

#[test]
fn a_tick_that_begins_below_nothing_is_refused_when_the_name_is_defined() {
    let floe = Floe::open(Memory::default()).unwrap();
    let options = NameOptions { start: Some(Start::Random(0)), ..NameOptions::default() };
    let orders = Name::new("orders").unwrap();
    let refused = floe.define(&orders, &snowflake(&Layout::TWITTER), &options).unwrap_err().to_string();
    assert!(refused.contains("random:0") && refused.contains("take \"zero\""), "{refused}");
    assert_eq!(floe.ledger().definition(&orders), Ok(None), "it was bound");
}

#[test]
fn an_error_of_its_own_in_the_call_of_one_caller_stops_all() {
    let rig = Rig::at(NOW);
    let count: Counter = rig.define("count", &Definition::Counter).get().cloned().unwrap();
    rig.breaks.store(true, Ordering::Relaxed);
    // The second one finds nothing broken any more.
    for _ in 0..2 {
        let minted = pin!(count.mint_async()).poll(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(Err(MintError::Stopped(Stopped { reason: StopReason::Other, cause: text }))) = minted
        else {
            panic!("{minted:?}")
        };
        assert!(text.contains("because of an internal error") && text.contains("the test broke"), "{text}");
        assert_eq!(rig.manual.stopped(), Some(text));
    }
}
