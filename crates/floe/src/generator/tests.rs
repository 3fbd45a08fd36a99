//! Generators of a floe by hand.

use std::time::Duration;

use super::*;
use crate::floe::Floe;
use crate::manual::tests::{Rig, poll};
use crate::settings::NameOptions;
use crate::shared_cursor::BlockReason;
use crate::stream::Start;

/// 1,024 IDs in a tick of a second, which cannot be run ahead of.
fn seconds() -> Layout {
    "time:32 worker:9 sequence:10 tick=1s epoch=2020-01-01T00:00:00.000Z".parse().unwrap()
}

/// Windows of a minute, so that they are long enough for whatever a caller waits for.
fn patient(max_wait: Duration) -> crate::Builder {
    Floe::builder().window(Duration::from_secs(60)).max_wait(max_wait)
}

/// A generator that has a window and has minted one ID, on a floe whose callers have the patience for three seconds.
fn begun(layout: Layout) -> (Rig, Generator) {
    let rig = Rig::of(patient(Duration::from_secs(3)));
    let orders = rig.floe.snowflake("orders", layout).unwrap();
    rig.block_on(orders.mint_async()).unwrap();
    rig.settle();
    (rig, orders)
}

fn next(orders: &Generator) -> u64 {
    orders.stream.shared.cursor.next().unwrap()
}

/// How long an attempt waits; `None` where it is done.
fn waits(step: Result<Step<Drawn>, MintError>) -> Option<Option<u64>> {
    match step.unwrap() {
        Step::Ready(_) => None,
        Step::Wait { millis } => Some(millis),
    }
}

/// Mints until every ID that is due is minted.
fn use_up(orders: &Generator) {
    while let Outcome::Ready(_) = orders.try_mint().unwrap() {}
}

/// Nothing is drawn and not handed out.
#[test]
fn one_id_follows_the_other_however_they_are_asked_for() {
    for at_hand in [false, true] {
        let (rig, orders) = begun(Layout::TWITTER);
        if at_hand {
            rig.manual.tick();
        }
        let first = next(&orders);
        let mut ids = vec![orders.mint().unwrap()];
        ids.push(orders.mint().unwrap());
        ids.push(rig.block_on(orders.mint_async()).unwrap());
        ids.push(rig.block_on(orders.mint_async()).unwrap());
        ids.extend(orders.mint_many(2).unwrap());
        ids.extend(rig.block_on(orders.mint_many_async(2)).unwrap());
        let Outcome::Ready(tried) = orders.try_mint().unwrap() else { panic!("it is due") };
        ids.push(tried);
        ids.push(orders.mint().unwrap());
        let position = |id: Id| {
            let parts = orders.inspect(id).unwrap();
            orders.layout().position(parts.tick, parts.sequence)
        };
        let positions: Vec<u64> = ids.into_iter().map(&position).collect();
        assert_eq!(positions, (first..first + 10).collect::<Vec<_>>(), "at hand: {at_hand}");
        assert_eq!(next(&orders), first + 10);
        let mut minter = orders.minter();
        for number in (first + 10..first + 50).step_by(2) {
            let Outcome::Ready(tried) = minter.try_mint().unwrap() else { panic!("it is due") };
            let minted = [tried, minter.mint().unwrap()].map(position);
            assert_eq!(minted, [number, number + 1], "a minter, at hand: {at_hand}");
        }
    }
}

#[test]
fn what_follows_a_try_at_the_same_time_goes_by_a_lease() {
    let (rig, orders) = begun(Layout::TWITTER);
    rig.pass(1);
    let stamp = orders.shared.stamp().unwrap();
    assert_eq!(orders.stream.mint_leased::<Id>(stamp), None);
    assert!(matches!(orders.try_mint_at(stamp), Ok(Outcome::Ready(_))));
    assert!(orders.stream.mint_leased::<Id>(stamp).is_some());
}

/// A tick that is longer than the patience is a batch as well.
#[test]
fn one_call_mints_what_comes_due_while_it_may_wait_and_at_least_a_tick() {
    for (millis, ticks) in [(100, 1), (999, 1), (1_000, 1), (1_999, 1), (2_000, 2), (3_500, 3)] {
        let rig = Rig::of(patient(Duration::from_millis(millis)));
        let orders = rig.floe.snowflake("orders", seconds()).unwrap();
        assert_eq!(orders.max_batch(), ticks * 1_024, "{millis} ms");
    }
}

#[test]
fn who_waits_for_a_window_is_woken_and_does_not_look_by_itself() {
    let rig = Rig::new();
    let orders = rig.floe.snowflake("orders", Layout::TWITTER).unwrap();
    for count in [1, 2] {
        assert_eq!(waits(MintMany::new(&orders, count).attempt()), Some(None), "{count}");
    }
}

/// Otherwise the first one who comes after it has ended would only begin to ask.
#[test]
fn who_is_told_why_there_is_no_window_has_asked_for_one() {
    let rig = Rig::new();
    let orders = rig.floe.snowflake("orders", Layout::TWITTER).unwrap();
    let shared = &orders.stream.shared;
    shared.set_trouble(Some(BlockReason::Exhausted("all slots are taken".to_owned())));
    for count in [1, 2] {
        assert!(matches!(MintMany::new(&orders, count).attempt(), Err(MintError::Exhausted(_))));
        assert_eq!(shared.take_wanted(), Some(count));
    }
    let tries: [fn(&Generator) -> _; 2] = [Generator::try_mint, |orders| orders.minter().try_mint()];
    for tries in tries {
        assert!(matches!(tries(&orders), Err(MintError::Exhausted(_))));
        assert_eq!(shared.take_wanted(), Some(1));
    }
}

#[test]
fn who_waits_for_the_clock_looks_again_when_it_has_come_so_far() {
    let (rig, orders) = begun(seconds());
    use_up(&orders);
    let mut left = 1_000 - orders.shared.look().unwrap().stamp.millis() % 1_000;
    for to in [750, 250, 1] {
        rig.pass(left - to);
        left = to;
        let mut one = MintMany::new(&orders, 1);
        assert_eq!(waits(one.attempt()), Some(Some(left)));
        assert_eq!(one.give_up(), MintError::Busy { retry: Duration::from_millis(left.max(10)) });
    }
    rig.pass(1);
    assert_eq!(waits(MintMany::new(&orders, 1).attempt()), None);
}

/// What it lacked before, it has.
#[test]
fn who_waited_for_a_window_and_then_for_the_clock_is_told_of_the_clock() {
    let rig = Rig::of(patient(Duration::from_secs(3)));
    let orders = rig.floe.snowflake("orders", seconds()).unwrap();
    let mut one = MintMany::new(&orders, 1);
    assert_eq!(waits(one.attempt()), Some(None));
    rig.block_on(orders.mint_async()).unwrap();
    rig.settle();
    use_up(&orders);
    assert!(matches!(waits(one.attempt()), Some(Some(_))));
    assert!(matches!(one.give_up(), MintError::Busy { .. }));
}

/// So that those who ask for one at a time do not take it from them. And no further than a caller waits.
#[test]
fn a_batch_is_drawn_ahead_of_the_clock_and_a_single_id_is_not() {
    let (_rig, orders) = begun(seconds());
    use_up(&orders);
    let begun = next(&orders);
    waits(MintMany::new(&orders, 1).attempt());
    assert_eq!(next(&orders), begun);
    let mut two = MintMany::new(&orders, 2);
    assert!(matches!(waits(two.attempt()), Some(Some(_))));
    assert_eq!(next(&orders), begun + 2);
    let mut most = MintMany::new(&orders, 2 * 1_024);
    let millis = waits(most.attempt()).unwrap().unwrap();
    assert_eq!(next(&orders), begun + 2 + 2 * 1_024);
    let due = orders.stream.due(next(&orders) - 1);
    assert_eq!(due.since(orders.shared.look().unwrap().stamp.time()), millis.cast_signed());
    assert_eq!(most.give_up(), MintError::Busy { retry: Duration::from_millis(millis) });
    // Its last ID would be due in some five seconds, and who comes in two of them gets it.
    let mut further = MintMany::new(&orders, 2 * 1_024);
    assert_eq!(
        further.attempt().err(),
        Some(MintError::Busy { retry: Duration::from_millis(millis + 2_000 - 3_000) })
    );
    assert_eq!(next(&orders), begun + 2 + 2 * 1_024);
}

/// What is drawn and not handed out is lost to all who share the layout.
#[test]
fn a_batch_that_comes_due_too_late_for_its_caller_is_not_drawn() {
    // How long its caller has waited for a window, and what is left until it is due, three seconds after it came at the
    // latest.
    for (waited, left) in [(0, Some(2_000)), (1_000, Some(2_000)), (1_500, Some(1_500)), (2_000, None)] {
        let rig = Rig::of(patient(Duration::from_secs(3)));
        let orders = rig.floe.snowflake("orders", seconds()).unwrap();
        let mut two_ticks = MintMany::new(&orders, 2 * 1_024);
        assert_eq!(waits(two_ticks.attempt()), Some(None));
        rig.block_on(orders.mint_async()).unwrap();
        rig.settle();
        rig.pass(waited);
        use_up(&orders);
        let before = next(&orders);
        let told = two_ticks.attempt();
        match left {
            Some(_) => assert_eq!((waits(told), next(&orders)), (Some(left), before + 2 * 1_024)),
            // Who comes now has three seconds again.
            None => assert_eq!((told.err(), next(&orders)), (Some(busy(0)), before)),
        }
    }
}

/// The steady time is slower than the patience of those who wait.
#[test]
fn a_batch_is_drawn_less_far_ahead_while_the_clock_holds() {
    for (held, into) in [(false, 0), (true, 149), (true, 150)] {
        let (rig, orders) = begun(seconds());
        rig.set(if held { -60_000 } else { 0 });
        rig.block_on(orders.mint_async()).unwrap();
        rig.settle();
        let phase = || orders.shared.look().unwrap().stamp.millis() % 1_000;
        while phase() != into {
            rig.pass(1);
        }
        use_up(&orders);
        let before = next(&orders);
        let told = MintMany::new(&orders, 3 * 1_024).attempt();
        match into {
            149 => assert_eq!((told.err(), next(&orders)), (Some(busy(0)), before)),
            _ => assert_eq!((waits(told), next(&orders)), (Some(Some(3_000 - into)), before + 3 * 1_024)),
        }
    }
}

/// For hours it would be told to come again in a moment.
#[test]
fn a_batch_that_no_call_can_mint_while_the_clock_holds_is_told_how_many_one_can() {
    for start in [Start::Zero, Start::Random(4_096), Start::Rolling] {
        let rig = Rig::of(Floe::builder().max_wait(Duration::from_secs(1)).window(Duration::from_secs(60)));
        let options = NameOptions { start: Some(start), ..NameOptions::default() };
        let handle = rig.define("orders", &Layout::TWITTER.into(), &options);
        let orders: &Generator = handle.get().unwrap();
        let set = |by: i64| {
            rig.set(by);
            rig.block_on(orders.mint_async()).unwrap();
            rig.settle();
            rig.pass(1_000);
        };
        set(-60_000);
        let most = orders.max_batch();
        let refused = rig.block_on(orders.mint_many_async(most)).map(drop);
        let Err(MintError::Count { asked, max }) = refused else { panic!("{refused:?}") };
        assert!(asked == most && (940 * 4_096..990 * 4_096).contains(&max), "{max} of {asked}");
        for _ in 0..20 {
            rig.pass(1_000);
            assert_eq!(rig.block_on(orders.mint_many_async(max)).unwrap().len() as u64, max, "{start}");
        }
        // Where the clock runs, all of it can be had.
        set(60_000);
        assert_eq!(rig.block_on(orders.mint_many_async(most)).unwrap().len() as u64, most);
    }
}

/// In a moment it can be had.
#[test]
fn a_batch_that_is_too_large_for_a_hold_that_ends_soon_is_not_told_to_be_smaller() {
    let (rig, orders) = begun(seconds());
    use_up(&orders);
    rig.set(-6);
    let most = 3 * 1_024;
    let refused = rig.block_on(orders.mint_many_async(most)).map(drop);
    assert!(matches!(refused, Err(MintError::Busy { .. })), "{refused:?}");
}

/// No thread is left that would wake it.
#[test]
fn a_batch_that_waits_while_the_floe_is_closed_is_told_so() {
    let (rig, orders) = begun(seconds());
    use_up(&orders);
    let mut batch = Box::pin(orders.mint_many_async(1_024));
    assert!(poll(batch.as_mut()).is_pending());
    rig.manual.close();
    let std::task::Poll::Ready(told) = poll(batch.as_mut()) else { panic!("it waits") };
    assert!(matches!(told.map(drop), Err(MintError::Stopped(_))));
}

/// It has its IDs: the window from which it drew them lasts, whatever hinders the next one.
#[test]
fn a_batch_that_waits_for_its_time_comes_through_an_outage() {
    for trouble in [
        BlockReason::Unavailable { since: UnixMillis::EPOCH, cause: "gone".to_owned() },
        BlockReason::Exhausted("all slots are taken".to_owned()),
        BlockReason::ClockApart("an hour apart".to_owned()),
    ] {
        let (rig, orders) = begun(seconds());
        use_up(&orders);
        let mut batch = Box::pin(orders.mint_many_async(1_024));
        assert!(poll(batch.as_mut()).is_pending());
        orders.stream.shared.set_trouble(Some(trouble.clone()));
        assert!(poll(batch.as_mut()).is_pending(), "{trouble:?}");
        rig.pass(2_000);
        let std::task::Poll::Ready(Ok(ids)) = poll(batch.as_mut()) else { panic!("{trouble:?}") };
        assert_eq!(ids.len(), 1_024);
    }
}

/// The patience of those who wait does not stand still.
#[test]
fn a_batch_is_drawn_less_far_ahead_while_the_clock_waits() {
    for into in [4, 5] {
        let (rig, orders) = begun(seconds());
        let phase = || orders.shared.look().unwrap().stamp.millis() % 1_000;
        while phase() != into {
            rig.pass(1);
        }
        use_up(&orders);
        rig.set(-5);
        let before = next(&orders);
        let told = MintMany::new(&orders, 3 * 1_024).attempt();
        match into {
            4 => assert_eq!((told.err(), next(&orders)), (Some(busy(0)), before)),
            _ => assert_eq!((waits(told), next(&orders)), (Some(Some(2_995)), before + 3 * 1_024)),
        }
    }
}

/// It is not made of what is left of the old one.
#[test]
fn a_batch_for_which_a_window_is_too_short_is_whole_in_the_next() {
    let rig = Rig::of(Floe::builder().window(Duration::from_millis(100)));
    let orders = rig.floe.snowflake("orders", Layout::TWITTER).unwrap();
    rig.block_on(orders.mint_async()).unwrap();
    rig.settle();
    let count = 40 * 4_096;
    let owned = orders.stream.shared.cursor.owned();
    let end = owned.current.end.max(owned.spare.end);
    while end - next(&orders) > count / 2 {
        rig.pass(1);
        orders.try_mint_many(4_096).unwrap();
    }
    let mut batch = Box::pin(orders.mint_many_async(count));
    assert!(poll(batch.as_mut()).is_pending());
    assert!(end - next(&orders) <= count / 2);
    assert_eq!(rig.block_on(batch).unwrap().len() as u64, count);
}

#[test]
fn an_invalidation_discards_the_window() {
    let (rig, orders) = begun(Layout::TWITTER);
    assert!(matches!(orders.try_mint(), Ok(Outcome::Ready(_))));
    orders.invalidate();
    assert_eq!(orders.try_mint(), Ok(Outcome::NeedWindow));
    rig.block_on(orders.mint_async()).unwrap();
}

/// A name may run ahead, so an ID is due before its own time.
#[test]
fn who_only_tries_is_told_when_the_next_id_is_due() {
    let (rig, orders) = begun(Layout::TWITTER);
    use_up(&orders);
    let Outcome::WaitUntil(due) = orders.try_mint().unwrap() else { panic!("none is due") };
    assert_eq!(due.since(rig.floe.status().clock.steady), 1);
}
