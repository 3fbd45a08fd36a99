//! What a floe does when its ledger fails it, and when it is asked for what cannot be.

use std::collections::HashSet;
use std::pin::pin;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use floe::form::{self, Form, KeyId, Keys};
use floe::kind::Mint as _;
use floe::ledger::{Key, Ledger, MAX_MARK, Memory};
use floe::{
    Counter, Dated, DatedShape, DefineError, Definition, Floe, Generator, Handle, Layout, MintError, Name,
    NameOptions, NameState, OpenError, Overflow, Segment, State, StopReason, Stopped, UnixMillis,
    WorkerChoice,
};

use crate::faulty::{Faulty, Mode, poll, within};

/// One name of each kind.
struct Names {
    orders: Generator,
    tickets: Segment,
    count: Counter,
    invoice: Dated,
}

impl Names {
    fn on(floe: &Floe) -> Self {
        let shape = DatedShape::new("UTC", 9, "", Overflow::Refuse).unwrap();
        Self {
            orders: floe.snowflake("orders", Layout::TWITTER).unwrap(),
            tickets: floe.segment("tickets").unwrap(),
            count: floe.counter("count").unwrap(),
            invoice: floe.dated("invoice", shape).unwrap(),
        }
    }

    fn mint_one(&self, kind: usize) -> Result<String, MintError> {
        match kind {
            0 => self.orders.mint().map(|id| id.to_string()),
            1 => self.tickets.mint().map(|id| id.to_string()),
            2 => self.count.mint().map(|id| id.to_string()),
            _ => self.invoice.mint().map(|id| id.to_string()),
        }
    }

    /// Mints one of each kind.
    fn mint(&self) -> [Result<String, MintError>; 4] {
        [0, 1, 2, 3].map(|kind| self.mint_one(kind))
    }

    /// Mints one of each kind, even where the machine is so busy that a reservation takes longer than a caller waits.
    fn mint_all(&self) -> [String; 4] {
        [0, 1, 2, 3].map(|kind| {
            let mut minted = None;
            within(Duration::from_secs(10), || match self.mint_one(kind) {
                Ok(id) => {
                    minted = Some(id);
                    true
                }
                Err(MintError::Busy { .. } | MintError::Unavailable { .. }) => false,
                Err(other) => panic!("{kind}: {other}"),
            });
            minted.unwrap()
        })
    }
}

fn closed() -> MintError {
    MintError::Stopped(Stopped { reason: StopReason::Closed, cause: "floe was closed".to_owned() })
}

fn hasty(window: u64) -> floe::Builder {
    Floe::builder().max_wait(Duration::from_millis(100)).window(Duration::from_millis(window))
}

fn name(text: &str) -> Key {
    Key::name(&Name::new(text).unwrap())
}

fn all_stopped(names: &Names, why: StopReason, says: &str) {
    for (kind, minted) in names.mint().into_iter().enumerate() {
        let Err(MintError::Stopped(Stopped { reason, cause: text })) = minted else {
            panic!("{kind}: {minted:?}")
        };
        assert!(reason == why && text.contains(says), "{kind}: {reason:?}, {text}");
    }
}

#[test]
fn a_ledger_that_is_gone_from_the_start_is_told_and_then_served_from() {
    let ledger = Faulty::new(Mode::Fine);
    let floe = hasty(1_000).open(ledger.clone()).unwrap();
    let names = Names::on(&floe);
    let begin = floe.status().clock.steady;
    ledger.set(Mode::Gone);
    for _ in 0..2 {
        for (kind, minted) in names.mint().into_iter().enumerate() {
            let Err(MintError::Unavailable { since, cause }) = minted else { panic!("{kind}: {minted:?}") };
            assert!(since >= begin && cause == "the test took it away", "{kind}: {since} {cause}");
        }
    }
    let refused = floe.segment("another").unwrap_err();
    assert!(matches!(refused, DefineError::Unavailable(_)), "{refused}");
    ledger.set(Mode::Fine);
    within(Duration::from_secs(1), || names.mint().iter().all(Result::is_ok));
    for name in floe.status().names {
        assert_eq!(name.state, NameState::Ready, "{:?}: no trouble outlives its cause", name.name);
    }
}

#[test]
fn a_ledger_that_goes_away_costs_nothing_before_the_window_is_over() {
    let ledger = Faulty::new(Mode::Fine);
    let floe = hasty(600).open(ledger.clone()).unwrap();
    let names = Names::on(&floe);
    let mut minted: HashSet<_> = names.mint_all().into();
    let held_to = floe.status().slots[0].window_end.unwrap();
    ledger.set(Mode::Gone);
    let gone = floe.status().clock.steady;
    within(Duration::from_secs(5), || match names.orders.mint() {
        Ok(id) => {
            assert!(names.orders.inspect(id).unwrap().time < held_to, "past the window (I3)");
            assert!(minted.insert(id.to_string()));
            false
        }
        Err(MintError::Unavailable { since, .. }) => {
            assert!(since >= gone && since <= held_to, "{since}");
            true
        }
        Err(MintError::Busy { .. }) => false,
        Err(other) => panic!("{other}"),
    });
    assert!(floe.status().clock.steady >= held_to, "it minted to the end");
    ledger.set(Mode::Fine);
    within(Duration::from_secs(1), || names.orders.mint().is_ok_and(|id| minted.insert(id.to_string())));
}

#[test]
fn a_machine_an_hour_ahead_of_its_ledger_mints_what_needs_no_clock_until_it_is_set_right() {
    let ledger = Faulty::new(Mode::Fine);
    ledger.set_clock(-3_600_000);
    let floe = hasty(100).open(ledger.clone()).unwrap();
    let names = Names::on(&floe);
    let [orders, others @ ..] = names.mint();
    let Err(MintError::Stopped(Stopped { reason: StopReason::Clock, cause: why })) = orders else {
        panic!("{orders:?}")
    };
    assert!(why.contains("s ahead of the clock of the ledger (faulty:)"), "{why}");
    assert!(others.iter().all(Result::is_ok), "{others:?}");
    assert_eq!(ledger.list(Key::SLOTS, "", 10), Ok(Vec::new()), "nothing was asked of any slot");
    let status = floe.status();
    assert!(status.clock.apart.is_some() && status.clock.refused.is_none());
    let offset = status.clock.ledger_offset_ms.unwrap();
    assert!((offset - 3_600_000).abs() < 5_000, "{offset}");
    assert!(matches!(status.names[2].state, NameState::ClockApart(_)), "{:?}", status.names[2]);
    assert!(matches!(floe.check_clock(), Err(OpenError::Clock(_))));
    // Another process on the same ledger has been told to ignore it.
    let careless = hasty(100).ignore_ledger_clock().open(ledger.clone()).unwrap();
    let before = ledger.clock_calls();
    assert_eq!(careless.check_clock(), Ok(None));
    Names::on(&careless).mint_all();
    assert_eq!(ledger.clock_calls(), before);
    careless.close();

    ledger.set_clock(500);
    let offset = floe.check_clock().unwrap().unwrap();
    assert!((offset + 500).abs() < 5_000, "{offset}");
    within(Duration::from_secs(10), || names.orders.mint().is_ok());
    assert_eq!(floe.status().clock.apart, None);
}

#[test]
fn a_ledger_is_asked_for_its_clock_once_however_many_windows_there_are() {
    let ledger = Faulty::new(Mode::Fine);
    ledger.set_clock(0);
    let floe = hasty(100).max_wait(Duration::from_secs(20)).open(ledger.clone()).unwrap();
    let orders = floe.snowflake("orders", Layout::TWITTER).unwrap();
    let calls = ledger.calls();
    while ledger.calls() < calls + 5 {
        orders.mint().unwrap();
    }
    assert_eq!(ledger.clock_calls(), 1);
}

/// Whichever thread it happens on: the one of the node, or one that has an answer of the ledger. In the call of a caller: `status`.
#[test]
fn an_error_of_its_own_stops_every_kind() {
    for asks_for_the_clock in [false, true] {
        let ledger = Faulty::new(Mode::Fine);
        let builder = if asks_for_the_clock { hasty(1_000) } else { hasty(1_000).ignore_ledger_clock() };
        let floe = builder.open(ledger.clone()).unwrap();
        let names = Names::on(&floe);
        ledger.set(Mode::PanicsInside);
        let minted = names.orders.mint();
        assert!(matches!(minted, Err(MintError::Stopped(_))), "{minted:?}");
        all_stopped(
            &names,
            StopReason::Other,
            "because of an internal error, since IDs could repeat: the test broke the node",
        );
    }
}

#[test]
fn a_ledger_that_answers_what_cannot_be_is_minted_from_by_nobody() {
    // An empty range, one below the mark before it, and one past the last position.
    for (start, end, previous_mark) in [(7, 7, 0), (8, 7, 0), (7, 20, 8), (MAX_MARK - 9, MAX_MARK + 1, 0)] {
        let ledger = Faulty::new(Mode::Fine);
        let floe = hasty(1_000).open(ledger.clone()).unwrap();
        let names = Names::on(&floe);
        ledger.set(Mode::Answers(start, end, previous_mark));
        let minted = names.tickets.mint();
        assert!(matches!(minted, Err(MintError::Stopped(_))), "{start}..{end}: {minted:?}");
        ledger.set(Mode::Fine);
        all_stopped(&names, StopReason::Ledger, "it is not fit for use");
    }
}

#[test]
fn a_ledger_that_does_not_say_what_its_clock_shows_is_unavailable() {
    let ledger = Faulty::new(Mode::Fine);
    let floe = hasty(3_000).open(ledger.clone()).unwrap();
    let orders = floe.snowflake("orders", Layout::TWITTER).unwrap();
    ledger.set(Mode::Gone);
    assert!(matches!(floe.check_clock(), Err(OpenError::Ledger(_))));
    let minted = orders.mint();
    assert!(matches!(&minted, Err(MintError::Unavailable { .. })), "{minted:?}");
    ledger.set(Mode::Fine);
    within(Duration::from_secs(1), || orders.mint().is_ok());
}

#[test]
fn a_ledger_that_is_not_itself_any_more_stops_every_kind() {
    let ledger = Faulty::new(Mode::Fine);
    let floe = hasty(30_000).open(ledger.clone()).unwrap();
    let names = Names::on(&floe);
    names.mint_all();
    ledger.set(Mode::Unfit(0));
    // Whoever asks first finds it out for all.
    assert!(matches!(names.count.mint(), Err(MintError::Stopped(_))));
    all_stopped(&names, StopReason::Ledger, "the test replaced it");
    assert_eq!(floe.status().state, State::Stopped("the test replaced it".to_owned()));
    // It stays stopped, also for new names, and gives nothing back to such a ledger.
    ledger.set(Mode::Fine);
    all_stopped(&names, StopReason::Ledger, "the test replaced it");
    assert!(matches!(floe.segment("another"), Err(DefineError::Stopped(_))));
    let before = ledger.copy(None).list("", "", 99).unwrap();
    floe.close();
    assert_eq!(ledger.copy(None).list("", "", 99).unwrap(), before);
}

#[test]
fn whatever_else_asks_the_ledger_finds_it_out_as_well() {
    let another = Name::new("another").unwrap();
    let sealed: Definition = {
        let keys = Keys::new().with(KeyId::new(1), form::Key::from([7; 16])).unwrap();
        let form: Form = "sealed key=1 keyid=prefix base62 width=11".parse().unwrap();
        Definition::SEGMENT.in_form(form.with_keys(&keys).unwrap()).unwrap()
    };
    let options = NameOptions::default();
    type Call<'a> = (&'a str, &'a dyn Fn(&Floe, &Handle) -> Option<String>);
    let calls: [Call; 6] = [
        ("bind", &|floe, _| floe.segment("another").err().map(|error| error.to_string())),
        ("stored", &|floe, _| floe.stored(&another).err().map(|error| error.to_string())),
        ("keys", &|floe, _| floe.define(&another, &sealed, &options).err().map(|error| error.to_string())),
        ("first", &|floe, _| {
            let defined = floe.define_from(&another, &Definition::Counter, &options, 7);
            defined.err().map(|error| error.to_string())
        }),
        ("begin", &|floe, handle| floe.begin_at(handle, 7).err().map(|error| error.to_string())),
        ("clock", &|floe, _| floe.check_clock().err().map(|error| error.to_string())),
    ];
    for (call, made) in calls {
        // Whichever of its questions finds it out.
        for before in 0.. {
            let ledger = Faulty::new(Mode::Fine);
            let floe = hasty(30_000).open(ledger.clone()).unwrap();
            let names = Names::on(&floe);
            names.mint_all();
            let handle = floe.define(&Name::new("begins").unwrap(), &Definition::SEGMENT, &options).unwrap();
            ledger.set(Mode::Unfit(before));
            let refused = made(&floe, &handle);
            if before > 0 && refused.is_none() {
                break;
            }
            assert!(
                refused.as_ref().is_some_and(|why| why.contains("the test replaced it")),
                "{call}, {before}: {refused:?}"
            );
            ledger.set(Mode::Fine);
            all_stopped(&names, StopReason::Ledger, "the test replaced it");
        }
    }
}

#[test]
fn a_record_that_was_deleted_stops_its_name_and_no_other() {
    for deleted in ["tickets", "count", "invoice"] {
        let ledger = Faulty::new(Mode::Fine);
        let floe = hasty(30_000).open(ledger.clone()).unwrap();
        let names = Names::on(&floe);
        names.mint_all();
        ledger.put(ledger.copy(Some(&name(deleted))));
        // What a segment has in hand is its own, whatever became of the record.
        while names.tickets.mint_many(500).is_ok() && deleted == "tickets" {}
        let minted = names.mint();
        for (minted, of) in minted.iter().zip(["orders", "tickets", "count", "invoice"]) {
            if of == deleted {
                let Err(MintError::Stopped(Stopped { reason: StopReason::Ledger, cause: text })) = minted
                else {
                    panic!("{of}: {minted:?}")
                };
                assert!(
                    text.contains(&format!("the record of `{deleted}` is missing"))
                        && text.contains("backup"),
                    "{text}"
                );
            } else {
                assert!(minted.is_ok(), "{deleted} is gone, and {of} says {minted:?}");
            }
        }
        assert_eq!(floe.status().state, State::Running);
    }
}

#[test]
fn a_ledger_from_a_backup_is_found_out_before_anything_repeats() {
    let ledger = Faulty::new(Mode::Fine);
    let floe = hasty(600).open(ledger.clone()).unwrap();
    let names = Names::on(&floe);
    let old = ledger.copy(None);
    let mut minted: HashSet<_> = names.mint_all().into();
    within(Duration::from_secs(10), || names.tickets.mint_many(1_999).is_ok());
    within(Duration::from_secs(5), || {
        // The spare has been reserved: what lies below it was minted.
        ledger.list("n/tickets", "", 1).unwrap()[0].mark > 2_000
    });
    ledger.put(old);
    for (kind, says) in ["worker slot", "`tickets`", "`count`", "`invoice`"].into_iter().enumerate() {
        let mut told = String::new();
        within(Duration::from_secs(10), || match names.mint()[kind].clone() {
            Ok(id) => {
                assert!(minted.insert(format!("{kind} {id}")), "{id} is a repeat");
                // In hand from before the restoration, or of its own day.
                if kind == 1 {
                    names.tickets.mint_many(900).ok();
                }
                false
            }
            Err(MintError::Stopped(Stopped { reason: StopReason::Ledger, cause: text })) => {
                told = text;
                true
            }
            Err(MintError::Busy { .. } | MintError::Unavailable { .. }) => false,
            Err(other) => panic!("{other}"),
        });
        assert!(
            told.contains("went backwards") && told.contains(says) && told.contains("marks raise"),
            "{told}"
        );
    }
}

#[test]
fn a_definition_that_changed_under_a_name_is_refused_with_both() {
    let ledger = Memory::default();
    let floe = Floe::open(ledger.clone()).unwrap();
    Names::on(&floe);
    floe.close();
    let floe = Floe::open(ledger).unwrap();
    let shape = DatedShape::new("Asia/Shanghai", 9, "", Overflow::Refuse).unwrap();
    for (refused, stored, configured) in [
        (floe.snowflake("orders", Layout::LEAF).unwrap_err(), "snowflake", "worker:10"),
        (floe.counter("tickets").unwrap_err(), "segment increment=1 offset=1", "counter"),
        (floe.segment("count").unwrap_err(), "counter", "segment increment=1 offset=1"),
        (floe.dated("invoice", shape).unwrap_err(), "zone=UTC", "zone=Asia/Shanghai"),
    ] {
        let text = refused.to_string();
        assert!(matches!(refused, DefineError::Mismatch { .. }), "{text}");
        assert!(
            text.contains(stored) && text.contains(configured) && text.contains("take a new name"),
            "{text}"
        );
    }
    // And within one floe, where the name is served already.
    floe.counter("count").unwrap();
    assert!(matches!(floe.segment("count"), Err(DefineError::Mismatch { .. })));
}

#[test]
fn closing_with_calls_in_flight_answers_all_of_them() {
    let ledger = Faulty::new(Mode::Fine);
    let floe = Floe::builder().max_wait(Duration::from_secs(60)).open(ledger.clone()).unwrap();
    let names = Names::on(&floe);
    // Asked beforehand, so that reservations are what is held.
    assert_eq!(floe.check_clock(), Ok(None));
    ledger.set(Mode::Held);
    thread::scope(|scope| {
        let calls = [
            scope.spawn(|| names.orders.mint().map(|id| id.to_string())),
            scope.spawn(|| names.tickets.mint().map(|id| id.to_string())),
            scope.spawn(|| names.count.mint().map(|id| id.to_string())),
            scope.spawn(|| names.invoice.mint().map(|id| id.to_string())),
        ];
        let mut future = pin!(names.count.mint_async());
        assert!(poll(future.as_mut()).is_pending());
        ledger.wait_for_calls(1);
        let closing = scope.spawn(|| floe.close());
        // They are answered before the ledger is.
        for call in calls {
            let answer = call.join().unwrap();
            assert_eq!(answer, Err(closed()));
        }
        within(Duration::from_secs(1), || match poll(future.as_mut()) {
            Poll::Ready(answer) => answer == Err(closed()),
            Poll::Pending => false,
        });
        assert!(!closing.is_finished(), "it waits for the ledger's answer");
        ledger.set(Mode::Fine);
        closing.join().unwrap();
    });
}

#[test]
fn closing_does_not_wait_for_ever_for_a_ledger_that_hangs() {
    let ledger = Faulty::new(Mode::Fine);
    let floe = hasty(30_000).open(ledger.clone()).unwrap();
    let names = Names::on(&floe);
    ledger.set(Mode::Held);
    assert!(matches!(names.count.mint(), Err(MintError::Unavailable { .. })));
    let closing = thread::spawn(move || drop((names, floe)));
    within(Duration::from_secs(8), || closing.is_finished());
    ledger.set(Mode::Fine);
}

#[test]
fn generators_of_a_floe_that_is_closed_are_stopped() {
    let floe = Floe::open(Memory::default()).unwrap();
    let names = Names::on(&floe);
    let mut minter = names.orders.minter();
    minter.mint().unwrap();
    names.mint_all();
    let clone = floe.clone();
    drop(floe);
    names.mint_all();
    clone.close();
    all_stopped(&names, StopReason::Closed, "floe was closed");
    assert_eq!(minter.mint().unwrap_err(), closed());
    assert!(matches!(names.orders.try_mint(), Err(MintError::Stopped(_))));
}

#[test]
fn a_closed_floe_says_so_and_serves_no_new_names() {
    let floe = Floe::open(Memory::default()).unwrap();
    floe.close();
    floe.close();
    assert_eq!(floe.status().state, State::Stopped("floe was closed".to_owned()));
    assert_eq!(floe.counter("late").unwrap_err(), DefineError::Stopped("floe was closed".to_owned()));
}

#[test]
fn an_adapter_that_panics_is_an_outage_and_no_silence() {
    let ledger = Faulty::new(Mode::Fine);
    let floe = hasty(1_000).open(ledger.clone()).unwrap();
    let names = Names::on(&floe);
    ledger.set(Mode::Panics);
    for (kind, minted) in names.mint().into_iter().enumerate() {
        let Err(MintError::Unavailable { cause, .. }) = minted else { panic!("{kind}: {minted:?}") };
        assert!(cause.contains("the test broke the adapter"), "{cause}");
    }
    ledger.set(Mode::Fine);
    within(Duration::from_secs(1), || names.mint().iter().all(Result::is_ok));
}

#[test]
fn invalidating_in_the_middle_of_a_batch_repeats_nothing() {
    let floe = Floe::builder().max_wait(Duration::from_secs(30)).open(Memory::default()).unwrap();
    let names = Names::on(&floe);
    let mut minted = HashSet::new();
    let mut last = None;
    for round in 0..5 {
        // More than a tick has: the batch is drawn, and waited for.
        let mut batch = pin!(names.orders.mint_many_async(60_000));
        let waits = poll(batch.as_mut()).is_pending();
        names.orders.invalidate();
        let mut ids = None;
        if waits {
            within(Duration::from_secs(20), || match poll(batch.as_mut()) {
                Poll::Ready(batch) => {
                    ids = Some(batch.unwrap());
                    true
                }
                Poll::Pending => false,
            });
        }
        for id in ids.into_iter().flatten() {
            assert!(last < Some(id), "{round}: it went back");
            assert!(minted.insert(id), "{round}: {id} comes twice");
            last = Some(id);
        }
    }
    assert!(minted.len() >= 60_000);
    let mut numbers = names.tickets.mint_many(500).unwrap();
    numbers.next();
    floe.invalidate();
    let after = names.tickets.mint().unwrap();
    assert!(numbers.last().unwrap() < after);
}

#[test]
fn a_batch_of_none_and_one_of_too_many_are_refused_with_the_range() {
    let floe = Floe::open(Memory::default()).unwrap();
    let orders = floe.snowflake("orders", Layout::TWITTER).unwrap();
    let max = orders.max_batch();
    for asked in [0, max + 1, 1_000_000_000_000_000_000, u64::MAX] {
        let refused = Some(MintError::Count { asked, max });
        assert_eq!(orders.mint_many(asked).err(), refused);
        assert_eq!(orders.try_mint_many(asked).err(), refused);
    }
}

#[test]
fn what_cannot_be_opened_or_bound_says_why() {
    for builder in [
        Floe::builder().window(Duration::from_millis(99)),
        Floe::builder().window(Duration::from_millis(30 * 86_400_000 + 1)),
        Floe::builder().instance("x".repeat(129)),
    ] {
        assert!(matches!(builder.open(Memory::default()), Err(OpenError::Setting(_))));
    }
    Floe::builder().instance("x".repeat(128)).open(Memory::default()).unwrap();
    Floe::builder().window(Duration::from_secs(30 * 86_400)).open(Memory::default()).unwrap();
    let floe = Floe::builder().worker(WorkerChoice::Fixed(1_024)).open(Memory::default()).unwrap();
    let refused = floe.snowflake("orders", Layout::TWITTER).unwrap_err().to_string();
    assert!(refused.contains("1024") && refused.contains("1023"), "{refused}");
    let floe = Floe::open(Memory::default()).unwrap();
    let ahead = UnixMillis::new(4_102_444_800_000);
    let layout = Layout::new("time:41 worker:10 sequence:12", 1, ahead, Layout::TWITTER.width()).unwrap();
    let refused = floe.snowflake("orders", layout).unwrap_err().to_string();
    assert!(refused.contains("2100-01-01") && refused.contains("epoch"), "{refused}");
    for wrong in [String::new(), "x".repeat(300), "a\nb".to_owned(), "a\0".to_owned()] {
        assert!(matches!(floe.counter(&wrong), Err(DefineError::Name(_))), "{wrong:?}");
    }
}

#[test]
fn a_fixed_worker_is_told_who_holds_it_and_takes_it_when_it_is_free() {
    let ledger = Memory::default();
    let fixed = || hasty(1_000).worker(WorkerChoice::Fixed(7)).open(ledger.clone()).unwrap();
    let (first, second) = (fixed(), fixed());
    let orders = first.snowflake("orders", Layout::TWITTER).unwrap();
    let mut minted: HashSet<_> = (0..100).map(|_| orders.mint().unwrap()).collect();
    let mark = ledger.list("s/", "", 9).unwrap()[0].mark;
    let others = second.snowflake("orders", Layout::TWITTER).unwrap();
    let Err(MintError::Exhausted(text)) = others.mint() else { panic!("both have it") };
    assert!(
        text.contains("worker 7 is held until") && text.contains(&format!("pid={}", std::process::id())),
        "{text}"
    );
    assert_eq!(ledger.list("s/", "", 9).unwrap()[0].mark, mark, "nothing is pushed on");
    first.close();
    within(Duration::from_secs(5), || match others.mint() {
        Ok(id) => {
            assert!(minted.insert(id), "{id} comes twice");
            assert_eq!(others.inspect(id).unwrap().worker, 7);
            true
        }
        Err(MintError::Exhausted(_) | MintError::Busy { .. }) => false,
        Err(other) => panic!("{other}"),
    });
}

#[test]
fn a_fixed_worker_that_is_closed_and_opened_again_mints_at_once() {
    let ledger = Memory::default();
    let mut last = None;
    for _ in 0..20 {
        let floe = Floe::builder().worker(WorkerChoice::Fixed(7)).open(ledger.clone()).unwrap();
        let orders = floe.snowflake("orders", Layout::TWITTER).unwrap();
        for _ in 0..5 {
            let id = orders.mint().unwrap();
            assert!(last < Some(id), "{id} after {last:?}");
            last = Some(id);
        }
    }
}

#[test]
fn ten_thousand_names_are_served_side_by_side() {
    let floe = Floe::builder().max_wait(Duration::from_secs(30)).open(Memory::default()).unwrap();
    let names: Vec<_> = (0..5_000)
        .map(|n| (floe.segment(&format!("s{n}")).unwrap(), floe.counter(&format!("c{n}")).unwrap()))
        .collect();
    for expected in 1..=2 {
        for (segment, counter) in &names {
            assert_eq!(segment.mint().unwrap().get(), expected);
            assert_eq!(counter.mint().unwrap().get(), expected);
        }
    }
    assert_eq!(floe.status().names.len(), 10_000);
    floe.close();
    let records = floe.ledger().list(Key::NAMES, "", 20_000).unwrap();
    assert!(records.len() == 10_000 && records.iter().all(|record| record.mark == 2), "every tail went back");
}

/// A loop over IDs neither goes round for ever on an error, nor loses one.
#[test]
fn ids_come_one_after_the_other_up_to_the_first_error() {
    let ledger = Faulty::new(Mode::Fine);
    let floe = Floe::builder().max_wait(Duration::from_millis(10)).open(ledger.clone()).unwrap();
    let (tickets, orders) =
        (floe.segment("tickets").unwrap(), floe.snowflake("orders", Layout::TWITTER).unwrap());
    ledger.set(Mode::Gone);
    // It may come back, but who asks for more decides.
    for over in [tickets.ids().take(3).collect::<Vec<_>>(), orders.ids().take(3).collect()] {
        assert!(matches!(over[..], [Err(MintError::Unavailable { .. })]), "{over:?}");
    }
    let floe = Floe::open(Memory::default()).unwrap();
    let tickets = floe.segment("tickets").unwrap();
    let orders = floe.snowflake("orders", Layout::TWITTER).unwrap();
    let mut minter = orders.minter();
    assert_eq!(tickets.ids().take(3).map(Result::unwrap).map(floe::Id::get).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(minter.ids().take(10_000).map(Result::unwrap).is_sorted());
    floe.close();
    for over in [tickets.ids().collect::<Vec<_>>(), minter.ids().collect(), orders.ids().collect()] {
        assert_eq!(over, [Err(closed())]);
    }
    // `main` shows an error by `{:?}`.
    assert_eq!(format!("{:?}", closed()), "floe was closed");
}
