//! Getting a slot (design: "Acquire a slot").

use std::collections::HashSet;

use super::asking::worker_of;
use super::*;

pub(super) fn pool(workers: std::ops::RangeInclusive<u64>) -> Workers {
    Workers::range(10, workers).unwrap()
}

/// Refuses as if `mark` were there.
pub(super) fn refused(mark: u64) -> Result<Reply, LedgerError> {
    Ok(Reply::Refused { mark, note: None })
}

#[test]
fn nothing_is_reserved_before_somebody_mints() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let stream = rig.twitter();
    rig.step();
    assert!(rig.calls.is_empty() && rig.node.deadline(&rig.clock.look()).is_none());
    assert_eq!(rig.mint(&stream), Mint::Empty(None));
    rig.reserve();
}

#[test]
fn a_slot_on_a_realm_with_room_costs_one_trip() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let stream = rig.twitter();
    rig.mint(&stream);
    let (id, request) = rig.reserve();
    let now = rig.now();
    assert_eq!((request.floor, request.count), (now, WINDOW));
    // The first pass: a node whose clock is 10 s ahead does not take over live slots.
    assert_eq!(request.max_mark, now - WINDOW - 10_000);
    assert!(request.create);
    let note: Owner = request.note.as_deref().unwrap().parse().unwrap();
    assert_eq!((note.host.as_str(), note.since), ("here", Some(UnixMillis::new(BEGIN))));
    let answer = rig.ledger.reserve(&request);
    rig.answer(id, answer);
    let (_, worker) = Key::parse_slot(request.key.as_str()).unwrap();
    assert!(matches!(rig.mint(&stream), Mint::Got { worker: got, .. } if got == worker));
    assert!(rig.calls.is_empty());
}

/// Others compare it with IDs and windows, which go by the steady clock too.
#[test]
fn the_note_of_a_slot_has_the_steady_time_at_which_it_was_taken() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let stream = rig.twitter();
    let steady = rig.clock.look().stamp.time();
    rig.hands.set(-300);
    rig.mint(&stream);
    let note: Owner = rig.reserve().1.note.unwrap().parse().unwrap();
    assert_eq!((note.since, rig.hands.read().wall), (Some(steady), steady.plus(-300)));
}

#[test]
fn every_slot_is_probed_once_in_an_order_of_its_own_with_a_fresh_token() {
    let (mut orders, mut strides) = (HashSet::new(), HashSet::new());
    for seed in 1..5 {
        let mut rig = Rig::new(&Memory::default(), seed);
        let stream = rig.snowflake(&Layout::TWITTER, pool(100..=163));
        rig.mint(&stream);
        let (mut order, mut tokens) = (Vec::new(), HashSet::new());
        for _ in 0..64 {
            let (id, request) = rig.reserve();
            let (bits, worker) = Key::parse_slot(request.key.as_str()).unwrap();
            assert_eq!(bits, 10);
            assert!((100..=163).contains(&worker));
            order.push(worker);
            assert!(tokens.insert(request.token), "a token is drawn for every attempt");
            rig.answer(id, refused(rig.now() + 500));
        }
        assert_eq!(order.iter().collect::<HashSet<_>>().len(), 64, "seed {seed}: {order:?}");
        // All are live: nobody is asked again in the second pass.
        rig.step();
        assert!(rig.calls.is_empty());
        strides.insert((order[1] + 64 - order[0]) % 64);
        orders.insert(order);
    }
    assert!(strides.len() > 1, "each node goes at a pace of its own: {strides:?}");
    assert_eq!(orders.len(), 4, "nodes that start together follow one another from slot to slot");
}

#[test]
fn the_second_pass_takes_the_quietest_slot_whose_window_has_passed() {
    let mut rig = Rig::new(&Memory::default(), 7);
    let stream = rig.snowflake(&Layout::TWITTER, pool(0..=3));
    let now = rig.now();
    // 0 is live, the others have been quiet for less than the first pass asks for; 2 the longest.
    let marks = [now + 700, now - 100, now - 5_000, now - 3_000];
    rig.mint(&stream);
    let mut answers = 0;
    loop {
        let (id, request) = rig.reserve();
        let (_, worker) = Key::parse_slot(request.key.as_str()).unwrap();
        let mark = marks[usize::try_from(worker).unwrap()];
        answers += 1;
        if answers <= 4 {
            assert_eq!(request.max_mark, now - WINDOW - 10_000);
            rig.answer(id, refused(mark));
        } else if answers == 5 {
            assert_eq!((worker, request.max_mark), (2, now));
            rig.answer(id, refused(now + 900));
        } else {
            assert_eq!((worker, request.max_mark), (3, now));
            rig.answer(id, Ok(Reply::Got { start: now, end: now + WINDOW, previous_mark: mark }));
            break;
        }
    }
    assert!(matches!(rig.mint(&stream), Mint::Got { worker: 3, .. }));
}

#[test]
fn where_no_slot_has_been_quiet_for_long_one_is_found_all_the_same() {
    let mut rig = Rig::new(&Memory::default(), 7);
    let stream = rig.twitter();
    rig.mint(&stream);
    let now = rig.now();
    let mut last = 0;
    for probe in 1..=194 {
        let (id, request) = rig.reserve();
        let (_, worker) = Key::parse_slot(request.key.as_str()).unwrap();
        // All are live, but for one of the second 64 and one of the third, whose windows have just passed.
        let passed = probe == 100 || probe == 150;
        assert_eq!(request.max_mark, if probe == 129 || probe == 194 { now } else { now - WINDOW - 10_000 });
        if request.max_mark == now {
            assert_eq!(worker, last, "the one that has passed, of these 64");
        }
        if passed {
            last = worker;
        }
        let answer = match probe {
            194 => Ok(Reply::Got { start: now, end: now + WINDOW, previous_mark: now - 1 }),
            _ => refused(if passed { now - 1 } else { now + 500 }),
        };
        rig.answer(id, answer);
    }
    assert!(matches!(rig.mint(&stream), Mint::Got { worker, .. } if worker == last));
}

/// That somebody was faster there is news enough, also where that one's time has passed when the next slots have been asked for.
#[test]
fn a_slot_that_was_refused_in_the_second_pass_is_asked_for_no_third_time() {
    let mut rig = Rig::new(&Memory::default(), 7);
    let stream = rig.snowflake(&Layout::TWITTER, pool(0..=127));
    rig.mint(&stream);
    for probe in 1..=129 {
        let (id, request) = rig.reserve();
        let mark = match probe {
            1 => rig.now() - 1,
            65 => {
                assert_eq!(request.max_mark, rig.now(), "the second pass");
                rig.now() + 1
            }
            _ => rig.now() + 60_000,
        };
        rig.answer(id, refused(mark));
        rig.hands.pass(u64::from(probe == 66));
    }
    rig.step();
    assert!(rig.calls.is_empty(), "{:?}", rig.calls);
    assert!(matches!(rig.mint(&stream), Mint::Empty(Some(MintError::Exhausted(_)))));
}

#[test]
fn taken_slots_are_said_to_be_out_and_recover() {
    let ledger = Memory::default();
    let mut rig = Rig::new(&ledger, 3);
    let stream = rig.snowflake(&Layout::TWITTER, pool(0..=1));
    let now = rig.now();
    rig.other(&Key::slot(10, 0), now, 5_000, None);
    rig.other(&Key::slot(10, 1), now, 2_500, None);
    rig.mint(&stream);
    rig.settle();
    let Mint::Empty(Some(MintError::Exhausted(text))) = rig.mint(&stream) else { panic!("not exhausted") };
    assert!(
        text.contains("all 2 worker slots of 10 bits") && text.contains("2026-03-01T12:00:02.500Z"),
        "{text}"
    );
    assert_eq!((rig.mark(&Key::slot(10, 0)), rig.mark(&Key::slot(10, 1))), (now + 5_000, now + 2_500));
    // It looks again by itself, every second or two, and finds the slot that has become free soon after.
    let mut rounds = 0;
    while !matches!(rig.mint(&stream), Mint::Got { .. }) {
        let look = rig.clock.look();
        let deadline = rig.node.deadline(&look).expect("it goes on looking");
        assert!((1..=2_000).contains(&deadline.since(look.mono)), "{deadline:?}");
        rig.hands.pass(deadline.since(look.mono));
        rig.settle();
        rounds += 1;
        assert!(rounds < 10, "the slot was not found");
    }
    assert!(rig.now() < now + 3_600 && rig.mint_in(&stream) == 1);
    assert!(rig.node.groups[0].trouble().is_none());
}

#[test]
fn a_lost_reply_is_asked_for_again_with_the_same_slot_and_token() {
    let mut rig = Rig::new(&Memory::default(), 3);
    let stream = rig.twitter();
    rig.mint(&stream);
    let (first, request) = rig.reserve();
    rig.ledger.reserve(&request).unwrap();
    rig.answer(first, unavailable());
    rig.step();
    assert!(rig.calls.is_empty(), "not before a pause");
    rig.hands.pass(400);
    let (second, again) = rig.reserve();
    assert_eq!((&again.key, again.token), (&request.key, request.token));
    assert_eq!(again.max_mark, rig.now() - WINDOW - 10_000, "it is still the first pass");
    let answer = rig.ledger.reserve(&again);
    assert_eq!(
        answer,
        Ok(Reply::Got { start: request.floor, end: request.floor + WINDOW, previous_mark: 0 }),
        "what the first attempt reserved is used, and nothing more is"
    );
    rig.answer(second, answer);
    assert!(matches!(rig.mint(&stream), Mint::Got { .. }));
}

#[test]
fn a_retry_that_gets_a_window_of_the_past_asks_for_the_next_one() {
    let mut rig = Rig::new(&Memory::default(), 3);
    let stream = rig.twitter();
    rig.mint(&stream);
    let (first, request) = rig.reserve();
    rig.ledger.reserve(&request).unwrap();
    rig.answer(first, unavailable());
    rig.hands.pass(60_000);
    let (second, again) = rig.reserve();
    let answer = rig.ledger.reserve(&again);
    rig.answer(second, answer);
    // The range is a minute old: nothing of it is minted (order), and the trouble is over.
    assert_eq!(rig.mint(&stream), Mint::Empty(None));
    rig.settle();
    let Mint::Got { position, .. } = rig.mint(&stream) else { panic!("nothing minted") };
    let time = Layout::TWITTER.time_of(Layout::TWITTER.tick_of(position));
    assert_eq!(time, UnixMillis::new(BEGIN + 60_000));
    assert_eq!(rig.ledger.list("s/", "", 10).unwrap().len(), 1, "it stays in its slot");
}

#[test]
fn only_so_many_slots_are_probed() {
    for (bits, told) in [(14, "4096 of 16384"), (12, "all 4096")] {
        let mut rig = Rig::new(&Memory::default(), 3);
        let stream = rig.snowflake(&with_shards(bits), Workers::all(bits).unwrap());
        rig.mint(&stream);
        assert_eq!(refuse_all(&mut rig, 1), 4_096);
        let Mint::Empty(Some(MintError::Exhausted(text))) = rig.mint(&stream) else {
            panic!("not exhausted")
        };
        assert!(text.contains(told), "{text}");
    }
}

#[test]
fn later_looks_reach_the_slots_that_the_first_did_not() {
    let mut rig = Rig::new(&Memory::default(), 3);
    let stream = rig.snowflake(&with_shards(13), Workers::all(13).unwrap());
    let mut seen = HashSet::new();
    // The first look, and as many later ones as the other half takes.
    for _ in 0..=4_096 / 64 {
        rig.mint(&stream);
        seen.extend(refuse_each(&mut rig, 600_000));
        rig.hands.pass(rig.sleep().expect("it goes on looking"));
    }
    assert_eq!(seen.len(), 8_192);
}

#[test]
fn who_waits_for_a_slot_asks_little_and_misses_none() {
    let mut rig = Rig::new(&Memory::default(), 3);
    let stream = rig.twitter();
    let begun = rig.now();
    let (mut looks, mut last) = (Vec::new(), begun);
    while rig.now() < begun + 300_000 {
        // Somebody always wants an ID.
        rig.mint(&stream);
        let seen = refuse_each(&mut rig, 60_000);
        if !seen.is_empty() {
            looks.push((rig.now() - last, seen));
            last = rig.now();
        }
        rig.hands.pass(rig.sleep().expect("it goes on looking"));
    }
    let (_, first) = looks.remove(0);
    assert_eq!(first.len(), 1_024, "the first look is at all");
    assert!(looks.iter().all(|(_, seen)| seen.len() == 64));
    // At most 32 probes a second, and never at one distance, which many nodes would share.
    let apart: Vec<u64> = looks.iter().map(|(apart, _)| *apart).collect();
    for (apart, longest) in apart.iter().zip([1_000, 2_000].into_iter().chain(std::iter::repeat(4_000))) {
        assert!((longest / 2..=longest).contains(apart), "{apart} of {longest}");
    }
    assert!(apart.iter().collect::<HashSet<_>>().len() > apart.len() / 2, "{apart:?}");
    assert!((75..=152).contains(&looks.len()), "{}", looks.len());
    // Any sixteen looks on end have seen every slot.
    for sixteen in looks.windows(16) {
        let seen: HashSet<u64> = sixteen.iter().flat_map(|(_, seen)| seen.iter().copied()).collect();
        assert_eq!(seen.len(), 1_024);
    }
}

#[test]
fn a_pool_and_pinned_fields_are_kept_to() {
    for (workers, expected) in [
        (pool(512..=519), (512..=519).collect::<Vec<_>>()),
        (Layout::TWITTER.pinned(&[("datacenter".to_owned(), 3)].into()).unwrap(), (96..128).collect()),
        (
            Layout::TWITTER.pinned(&[("worker".to_owned(), 1)].into()).unwrap(),
            (1..1024).step_by(32).collect(),
        ),
    ] {
        let ledger = Memory::default();
        let mut taken = Vec::new();
        for seed in 0..expected.len() {
            let mut rig = Rig::new(&ledger, u64::try_from(seed).unwrap());
            let stream = rig.snowflake(&Layout::TWITTER, workers);
            taken.push(rig.mint_in(&stream));
        }
        taken.sort_unstable();
        assert_eq!(taken, expected, "each node has a slot of its own, all inside");
        let mut rig = Rig::new(&ledger, 99);
        let stream = rig.snowflake(&Layout::TWITTER, workers);
        rig.mint(&stream);
        rig.settle();
        assert!(matches!(rig.mint(&stream), Mint::Empty(Some(MintError::Exhausted(_)))));
    }
}

#[test]
fn one_window_serves_all_layouts_of_one_width() {
    let mut rig = Rig::new(&Memory::default(), 5);
    let (twitter, leaf) = (rig.twitter(), rig.snowflake(&Layout::LEAF, Workers::all(10).unwrap()));
    let worker = rig.mint_in(&twitter);
    assert_eq!(rig.mint_in(&leaf), worker);
    // A name that is bound while the window runs mints in it, too.
    let other = Layout::new(
        "time:40 worker:10 sequence:13",
        1,
        UnixMillis::new(1_600_000_000_000),
        Layout::LEAF.width(),
    );
    let late = rig.snowflake(&other.unwrap(), Workers::all(10).unwrap());
    assert_eq!(rig.mint_in(&late), worker);
    assert_eq!(rig.ledger.list("s/", "", 10).unwrap().len(), 1);
    // Another width has slots of its own.
    let wide = rig.snowflake(&Layout::SONYFLAKE, Workers::all(16).unwrap());
    rig.mint_in(&wide);
    assert_eq!(rig.ledger.list("s/16/", "", 10).unwrap().len(), 1);
}

/// Another node may have this worker id in one of the two widths alone.
#[test]
fn a_fixed_worker_has_a_slot_of_its_own_in_each_width() {
    let mut rig = Rig::new(&Memory::default(), 5);
    for (layout, bits) in [(Layout::TWITTER, 10), (Layout::SONYFLAKE, 16)] {
        let stream = rig.snowflake(&layout, Workers::one(bits, 3).unwrap());
        assert_eq!(rig.mint_in(&stream), 3);
        assert!(rig.mark(&Key::slot(bits, 3)) > rig.now(), "{bits} bits");
    }
}

#[test]
fn no_trouble_of_one_width_outlives_it_while_another_one_mints() {
    let mut rig = Rig::new(&Memory::default(), 5);
    let (narrow, wide) = (rig.twitter(), rig.snowflake(&Layout::SONYFLAKE, Workers::all(16).unwrap()));
    rig.mint(&narrow);
    rig.mint(&wide);
    assert_eq!(rig.fail_all(), 2);
    assert!(matches!(rig.mint(&narrow), Mint::Empty(Some(MintError::Unavailable { .. }))));
    assert!(matches!(rig.mint(&wide), Mint::Empty(Some(MintError::Unavailable { .. }))));
    rig.hands.pass(401);
    rig.settle();
    // Both have asked again by themselves, also the one for which nobody came back.
    for group in &rig.node.groups {
        assert!(group.trouble().is_none() && group.window().is_some());
    }
    assert!(rig.node.down().is_none());
}

#[test]
fn that_slots_are_out_is_forgotten_when_nobody_looks_any_more() {
    let mut rig = Rig::new(&Memory::default(), 1);
    let stream = rig.snowflake(&Layout::TWITTER, pool(0..=3));
    rig.mint(&stream);
    for _ in 0..4 {
        let (id, _) = rig.reserve();
        rig.answer(id, refused(rig.now() + 500));
    }
    rig.step();
    assert!(matches!(rig.mint(&stream), Mint::Empty(Some(MintError::Exhausted(_)))));
    // That one has asked for another look, a second after the last one.
    rig.hands.pass(1_000);
    for _ in 0..4 {
        let (id, _) = rig.reserve();
        rig.answer(id, refused(rig.now() + 500));
    }
    rig.step();
    assert!(rig.calls.is_empty(), "nobody waits, so nobody looks");
    let left = rig.sleep().expect("a moment to forget it");
    assert!((1..=2_000).contains(&left), "{left}");
    rig.hands.pass(left);
    rig.step();
    assert!(rig.node.deadline(&rig.clock.look()).is_none() && rig.calls.is_empty());
    // Whoever comes now finds out.
    assert_eq!(rig.mint(&stream), Mint::Empty(None));
    rig.settle();
    assert!(matches!(rig.mint(&stream), Mint::Got { .. }));
}

/// Somebody deletes the record of the slot, as one who tidies up would.
#[test]
fn a_holder_whose_slot_was_deleted_mints_to_the_end_of_its_window_and_takes_another() {
    let ledger = Memory::default();
    let mut rig = Rig::with(&ledger, 1, Hands::at(BEGIN), WINDOW, true);
    let stream = rig.twitter();
    let first = rig.mint_in(&stream);
    let deleted = Key::slot(10, first);
    let end = rig.mark(&deleted);
    assert!(rig.ledger.lose(&deleted));
    rig.hands.pass(end - rig.now() - 50);
    let (id, renewal) = rig.reserve();
    assert_eq!(renewal.key, deleted);
    let answer = rig.ledger.reserve(&renewal);
    assert_eq!(answer, Err(LedgerError::Missing(deleted.clone())));
    rig.answer(id, answer);
    assert!(
        matches!(rig.mint(&stream), Mint::Got { worker, .. } if worker == first),
        "nobody else has this time"
    );
    rig.settle();
    let second = rig.mint_in(&stream);
    assert_ne!(second, first);
    assert_eq!(rig.node.groups[0].deleted(), [first]);
    assert!(rig.node.groups[0].trouble().is_none());
    assert!(
        rig.ledger.list(deleted.as_str(), "", 9).unwrap().iter().all(|record| record.key != deleted.as_str())
    );
}

#[test]
fn slots_that_were_deleted_are_passed_over_for_good_and_told_of() {
    let ledger = Memory::default();
    for worker in 0..=3 {
        let mut holder = Rig::new(&ledger, worker);
        let stream = holder.snowflake(&Layout::TWITTER, pool(worker..=worker));
        assert_eq!(holder.mint_in(&stream), worker);
    }
    let deleted = [0, 1, 3];
    assert!(deleted.iter().all(|&worker| ledger.lose(&Key::slot(10, worker))));
    let mut rig = Rig::new(&ledger, 9);
    let stream = rig.snowflake(&Layout::TWITTER, pool(0..=3));
    rig.mint(&stream);
    rig.settle();
    // Worker 2 is held, and the others are no holes to be filled while somebody may mint there.
    let Mint::Empty(Some(MintError::Exhausted(text))) = rig.mint(&stream) else { panic!() };
    assert!(text.contains("all 4 worker slots") && text.contains("3 of them are skipped"), "{text}");
    assert_eq!(rig.node.groups[0].deleted(), deleted);
    // When it is free it is found, and the others are not asked for again.
    rig.hands.pass(WINDOW + 1_500);
    let (id, request) = rig.reserve();
    assert_eq!(request.key, Key::slot(10, 2));
    rig.answer(id, refused(rig.now() - 1));
    assert_eq!(rig.mint_in(&stream), 2);
}

/// No holder's window says when one is free.
#[test]
fn where_all_slots_were_deleted_the_time_of_the_look_is_told() {
    let mut rig = Rig::new(&Memory::default(), 9);
    for slot in [0, 1].map(|worker| Key::slot(10, worker)) {
        rig.other(&slot, 0, 1, None);
        assert!(rig.ledger.lose(&slot));
    }
    let stream = rig.snowflake(&Layout::TWITTER, pool(0..=1));
    rig.mint(&stream);
    rig.settle();
    let Mint::Empty(Some(MintError::Exhausted(text))) = rig.mint(&stream) else { panic!() };
    assert!(text.contains("2 of them are skipped"), "{text}");
    assert!(text.contains("may be free at 2026-03-01T12:00:00.000Z"), "{text}");
}

#[test]
fn a_fixed_worker_whose_slot_was_deleted_stops_and_says_what_to_do() {
    let ledger = Memory::default();
    let mut rig = Rig::with(&ledger, 1, Hands::at(BEGIN), WINDOW, true);
    let stream = rig.snowflake(&Layout::TWITTER, pool(5..=5));
    assert_eq!(rig.mint_in(&stream), 5);
    ledger.lose(&Key::slot(10, 5));
    rig.hands.pass(WINDOW / 2);
    rig.settle();
    assert!(matches!(rig.mint(&stream), Mint::Got { worker: 5, .. }), "nobody else has this time");
    rig.hands.pass(WINDOW);
    rig.settle();
    let Mint::Empty(Some(MintError::Stopped(Stopped { reason: StopReason::Ledger, cause: text }))) =
        rig.mint(&stream)
    else {
        panic!()
    };
    assert!(text.contains("worker slot 5 of 10 bits") && text.contains("docs/ledgers.md"), "{text}");
    assert!(rig.calls.is_empty());
}

/// Somebody puts an older record back before the window ends, in which this process mints on.
#[test]
fn a_fixed_worker_whose_slot_was_deleted_and_put_back_with_an_older_mark_stops() {
    let ledger = Memory::default();
    let mut rig = Rig::with(&ledger, 1, Hands::at(BEGIN), WINDOW, true);
    let stream = rig.snowflake(&Layout::TWITTER, pool(5..=5));
    rig.mint_in(&stream);
    let older = ledger.backup();
    rig.hands.pass(WINDOW / 2);
    rig.settle();
    ledger.lose(&Key::slot(10, 5));
    rig.hands.pass(WINDOW);
    rig.settle();
    ledger.restore(&older);
    rig.hands.pass(WINDOW);
    rig.mint(&stream);
    rig.settle();
    let minted = rig.mint(&stream);
    assert!(matches!(minted, Mint::Empty(Some(MintError::Stopped(_)))), "{minted:?}");
}

/// As after many short lives: nobody holds a slot, and each was given back a few milliseconds ahead of the clock.
#[test]
fn slots_whose_holders_have_just_closed_are_waited_for() {
    let ledger = Memory::default();
    let mut rig = Rig::new(&ledger, 3);
    let stream = rig.snowflake(&Layout::TWITTER, pool(0..=1));
    let now = rig.now();
    rig.other(&Key::slot(10, 0), now, 12, None);
    rig.other(&Key::slot(10, 1), now, 7, None);
    rig.mint(&stream);
    rig.settle();
    assert_eq!(rig.mint(&stream), Mint::Empty(None), "nothing is wrong: it is a matter of milliseconds");
    let look = rig.clock.look();
    let deadline = rig.node.deadline(&look).expect("it goes on looking");
    assert_eq!(deadline.since(look.mono), 7);
    rig.hands.pass(7);
    assert_eq!(rig.sleep(), Some(1), "nor does it spin then");
    rig.settle();
    assert!(matches!(rig.mint(&stream), Mint::Got { worker: 1, .. }));
}

/// Those that have what they need do not hide when the others ask again.
#[test]
fn each_of_those_that_wait_for_the_ledger_has_a_time_to_ask_again() {
    for waits in ["another slot", "a counter", "a segment"] {
        let mut rig = Rig::new(&Memory::default(), 5);
        let (first, second) = (rig.twitter(), rig.snowflake(&Layout::TWITTER, Workers::one(10, 7).unwrap()));
        let (count, numbers) = (rig.queue("count", None), rig.segment("tickets", STEPS));
        rig.mint_in(&first);
        let ticket = match waits {
            "a counter" => Some(rig.enqueue(&count, 1)),
            "a segment" => {
                assert!(rig.number(&numbers, 1).is_err());
                None
            }
            _ => {
                second.shared.want(1);
                None
            }
        };
        assert_eq!(rig.fail_all(), 1, "{waits}");
        let again = rig.sleep().expect("somebody waits");
        assert!(again <= Pause::FIRST_MS, "{waits}: {again} ms");
        rig.hands.pass(again);
        rig.settle();
        let is_served = match waits {
            "a counter" => ticket.is_some_and(|ticket| ticket.answered() == Some(Ok(0))),
            "a segment" => rig.number(&numbers, 1) == Ok(0),
            _ => matches!(rig.mint(&second), Mint::Got { worker: 7, .. }),
        };
        assert!(is_served, "{waits}");
    }
}

/// The ledger may have the question without its answer, so that one is asked again as it was, and only once.
#[test]
fn after_a_lost_question_the_next_slot_is_asked_for_like_any_other() {
    let mut rig = Rig::new(&Memory::default(), 5);
    let stream = rig.snowflake(&Layout::TWITTER, pool(0..=1));
    rig.mint(&stream);
    let (id, lost) = rig.reserve();
    rig.answer(id, unavailable());
    rig.hands.pass(Pause::FIRST_MS);
    let (id, again) = rig.reserve();
    assert_eq!((&again.key, again.token), (&lost.key, lost.token));
    rig.answer(id, refused(rig.now() + WINDOW));
    let next = rig.reserve().1;
    assert!(next.key != lost.key && next.token != lost.token, "{next:?}");
}

/// How many slots are asked for until the node has none left to ask for, where each is somebody's for so many
/// milliseconds.
pub(super) fn refuse_all(rig: &mut Rig, left: u64) -> usize {
    refuse_each(rig, left).len()
}

/// Which slots that are.
fn refuse_each(rig: &mut Rig, left: u64) -> Vec<u64> {
    rig.step();
    let mut asked = Vec::new();
    while let Some(call) = rig.calls.pop_front() {
        let Op::Reserve(request) = &call.op else { panic!("{call:?}") };
        asked.push(worker_of(request));
        rig.answer(call.id, refused(rig.now() + left));
        rig.step();
    }
    asked
}

/// A layout with so many bits of worker ids.
fn with_shards(bits: u32) -> Layout {
    let fields = format!("time:41 shard:{bits} sequence:8");
    Layout::new(&fields, 1, UnixMillis::new(1_600_000_000_000), Layout::TWITTER.width()).unwrap()
}

/// A node that has found each slot to be somebody's.
fn all_taken() -> (Rig, Arc<Stream>) {
    let mut rig = Rig::new(&Memory::default(), 3);
    let stream = rig.twitter();
    rig.mint(&stream);
    assert_eq!(refuse_all(&mut rig, 60_000), 1_024);
    (rig, stream)
}

/// Slots that were all taken once say nothing about later, when the node has had one and lost it.
#[test]
fn who_loses_a_slot_looks_at_all_others_also_after_a_time_when_all_were_taken() {
    let (mut rig, stream) = all_taken();
    rig.hands.pass(rig.sleep().unwrap());
    rig.mint(&stream);
    let (id, request) = rig.reserve();
    let answer = rig.ledger.reserve(&request);
    rig.answer(id, answer);
    assert!(matches!(rig.mint(&stream), Mint::Got { .. }));
    let (_, end) = rig.node.groups[0].window().unwrap();
    rig.other(&request.key, end.position().unwrap(), 5 * WINDOW, None);
    rig.hands.pass(WINDOW / 2);
    let renewal = rig.call();
    rig.serve(renewal);
    assert_eq!(refuse_all(&mut rig, 60_000), 1_023, "all but the one that was lost");
}

/// Nor do they after the clock has moved: the machine may have slept for a day.
#[test]
fn in_a_new_era_a_node_looks_at_all_slots_as_at_its_start() {
    let (mut rig, stream) = all_taken();
    rig.clock.invalidate();
    rig.mint(&stream);
    assert_eq!(refuse_all(&mut rig, 60_000), 1_024);
}

/// Its first caller would wait in vain, and be told that the ledger does not answer.
#[test]
fn a_name_that_comes_while_all_slots_are_taken_says_so_at_once() {
    let (mut rig, _) = all_taken();
    let late = rig.snowflake(&Layout::LEAF, Workers::all(10).unwrap());
    assert!(matches!(rig.mint(&late), Mint::Empty(Some(MintError::Exhausted(_)))));
}

/// Its own window may last for long.
#[test]
fn who_has_lost_a_slot_and_mints_on_looks_for_another_as_seldom_as_any_other() {
    const LONG: u64 = 3_600_000;
    let mut rig = Rig::with(&Memory::default(), 3, Hands::at(BEGIN), LONG, false);
    let stream = rig.twitter();
    let key = Key::slot(10, rig.mint_in(&stream));
    rig.other(&key, rig.mark(&key), LONG, None);
    rig.hands.pass(LONG / 2);
    rig.mint(&stream);
    let renewal = rig.call();
    rig.serve(renewal);
    for longest in [1_000, 2_000, 4_000, 4_000] {
        assert!(refuse_all(&mut rig, LONG) > 0);
        let apart = rig.sleep().unwrap();
        assert!((longest / 2..=longest).contains(&apart), "{apart} of {longest}");
        assert!(matches!(rig.mint(&stream), Mint::Got { .. }));
        rig.hands.pass(apart);
    }
}
