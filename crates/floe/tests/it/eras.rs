//! What a new era ends, and when a batch is due, through the public face: by hand, so that the moment between a draw and
//! its hand-over is the test's.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

use floe::{Definition, Generator, Layout, MintError, Outcome, Segment};

use crate::executor::Woken;
use crate::status::{NOW, Rig};

/// 4,096 IDs of each of 20 milliseconds, of which ten may be minted ahead.
const BATCH: u64 = 4_096 * 20;

fn orders(rig: &Rig) -> Generator {
    let definition = Definition::Snowflake { layout: Layout::TWITTER, own: false };
    rig.define("orders", &definition).get().cloned().unwrap()
}

fn pass(rig: &Rig, millis: i64) {
    rig.wall.fetch_add(millis, Ordering::Relaxed);
    rig.mono.fetch_add(millis.unsigned_abs(), Ordering::Relaxed);
}

/// Something that ends an era.
type News = fn(&Rig, &Generator);

/// What tells a process that it may be a copy: its caller, or its clock.
const NEWS: [(&str, News); 3] = [
    ("invalidate", |_, generator| generator.invalidate()),
    ("a step ahead", |rig, _| {
        rig.wall.fetch_add(1_001, Ordering::Relaxed);
    }),
    ("a step back", |rig, _| {
        rig.wall.fetch_sub(1_001, Ordering::Relaxed);
    }),
];

fn minted(rig: &Rig, generator: &Generator) -> floe::Id {
    for _ in 0..100 {
        if let Outcome::Ready(id) = generator.try_mint().unwrap() {
            return id;
        }
        rig.settle();
        pass(rig, 1_000);
    }
    panic!("nothing was minted");
}

#[test]
fn a_minters_chunk_ends_with_its_era_before_the_node_has_looked() {
    for (what, news) in NEWS {
        let rig = Rig::at(NOW);
        let orders = orders(&rig);
        minted(&rig, &orders);
        let mut minter = orders.minter();
        // 1, 2, 4 and 8 are drawn: five of the last are left.
        let mut worker = 0;
        for _ in 0..10 {
            let Outcome::Ready(id) = minter.try_mint().unwrap() else { panic!("there is a window") };
            worker = orders.inspect(id).unwrap().worker;
        }
        news(&rig, &orders);
        assert_eq!(minter.try_mint(), Ok(Outcome::NeedWindow), "{what}");
        let shared = minted(&rig, &orders);
        assert_ne!(orders.inspect(shared).unwrap().worker, worker, "{what}: the copy may go on in that slot");
        let Outcome::Ready(id) = minter.try_mint().unwrap() else { panic!("there is a window") };
        let (theirs, its) = (orders.inspect(shared).unwrap(), orders.inspect(id).unwrap());
        assert_eq!(its.worker, theirs.worker, "{what}: the minter goes on in the slot of the others");
        assert!(id > shared, "{what}");
        // And the time is at hand, so that nothing shared is looked at but the version.
        rig.manual.tick();
        let next = minter.mint().unwrap();
        assert!(next > id && orders.inspect(next).unwrap().worker == its.worker, "{what}");
    }
}

#[test]
fn a_single_draw_after_the_news_finds_nothing_though_the_time_is_at_hand() {
    for (what, news) in NEWS {
        let rig = Rig::at(NOW);
        let orders = orders(&rig);
        let worker = orders.inspect(minted(&rig, &orders)).unwrap().worker;
        // Minting is fast: the time is at hand, and nobody reads the clock for an ID.
        rig.manual.tick();
        assert!(matches!(orders.try_mint(), Ok(Outcome::Ready(_))));
        news(&rig, &orders);
        // Whoever looks at the clock first tells everybody.
        rig.manual.steady();
        assert_eq!(orders.try_mint(), Ok(Outcome::NeedWindow), "{what}");
        assert_ne!(orders.inspect(minted(&rig, &orders)).unwrap().worker, worker, "{what}");
    }
}

/// Where a process mints few numbers, so that the time is not at hand.
#[test]
fn a_number_after_the_news_is_of_a_range_that_no_copy_has() {
    for (what, news) in NEWS {
        let rig = Rig::at(NOW);
        let (orders, tickets) = (orders(&rig), rig.define("tickets", &Definition::SEGMENT));
        let tickets: &Segment = tickets.get().unwrap();
        assert!(tickets.try_mint_many(1).unwrap().is_none());
        rig.settle();
        assert_eq!([(); 2].map(|()| tickets.mint().unwrap().get()), [1, 2]);
        news(&rig, &orders);
        let mut next = pin!(tickets.mint_async());
        let mut poll = || next.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(poll().is_pending(), "{what}");
        rig.settle();
        assert_eq!(poll().map(|id| id.unwrap().get()), Poll::Ready(2_001), "{what}");
    }
}

#[test]
fn a_batch_that_waits_for_its_time_is_not_handed_out_in_another_era() {
    for (what, news) in NEWS {
        let rig = Rig::at(NOW);
        let orders = orders(&rig);
        let worker = orders.inspect(minted(&rig, &orders)).unwrap().worker;
        let mut future = pin!(orders.mint_many_async(BATCH));
        let mut poll = || future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(poll().is_pending(), "it was drawn, and is not due");
        pass(&rig, 100);
        // By the time at hand it is due, and whoever hands it out has to look for the news.
        rig.manual.tick();
        news(&rig, &orders);
        let mut batch = loop {
            match poll() {
                Poll::Ready(batch) => break batch.unwrap(),
                Poll::Pending => {
                    rig.settle();
                    pass(&rig, 1);
                }
            }
        };
        let first = batch.next().unwrap();
        assert_ne!(orders.inspect(first).unwrap().worker, worker, "{what}: the copy hands that batch out");
    }
}

#[test]
fn a_batch_is_handed_out_when_its_last_id_is_due_and_not_a_tick_before() {
    for extra in [0, 1, 4_095] {
        let rig = Rig::at(NOW);
        let orders = orders(&rig);
        minted(&rig, &orders);
        // The next draw begins with a tick of its own, wherever that one's sequence stood.
        let mut future = pin!(orders.mint_many_async(BATCH + extra));
        let mut poll = || future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let mut waited = 0;
        let mut batch = loop {
            match poll() {
                Poll::Ready(batch) => break batch.unwrap(),
                Poll::Pending => {
                    pass(&rig, 1);
                    waited += 1;
                    assert!(waited < 100, "it is never due");
                }
            }
        };
        let last = batch.by_ref().last().unwrap();
        let time = orders.inspect(last).unwrap().time;
        let (now, refusal) = rig.manual.steady();
        assert_eq!(refusal, None);
        assert!(waited > 0);
        assert_eq!(time.since(now), 10, "max_ahead, neither more nor less");
    }
}

/// How many IDs are to be had at once.
fn mint_all(generator: &Generator) -> usize {
    std::iter::from_fn(|| match generator.try_mint() {
        Ok(Outcome::Ready(id)) => Some(id),
        Ok(Outcome::WaitUntil(_)) => None,
        other => panic!("{other:?}"),
    })
    .count()
}

/// Unlike a batch, which is drawn ahead of its time so that it can be one run.
#[test]
fn a_caller_that_waits_for_one_id_has_drawn_none() {
    let rig = Rig::at(NOW);
    let orders = orders(&rig);
    minted(&rig, &orders);
    mint_all(&orders);
    for waiting in [0, 3] {
        for _ in 0..waiting {
            let mut future = pin!(orders.mint_async());
            assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        pass(&rig, 1);
        assert_eq!(mint_all(&orders), 4_096, "{waiting} have gone away");
    }
}

#[test]
fn a_caller_whose_window_never_came_hears_of_the_ledger_and_not_of_the_clock() {
    let rig = Rig::at(NOW);
    let orders = orders(&rig);
    let mut future = pin!(orders.mint_async());
    let mut poll = || future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert!(poll().is_pending());
    assert_eq!(rig.manual.turn().calls.len(), 1, "nobody answers");
    pass(&rig, 60_000);
    let Poll::Ready(Err(MintError::Unavailable { cause, .. })) = poll() else { panic!("it waits on") };
    assert!(cause.contains("did not answer"), "{cause}");
}

#[test]
fn a_future_is_woken_when_its_time_has_come_and_not_a_millisecond_before_or_after() {
    let rig = Rig::at(NOW);
    let orders = orders(&rig);
    minted(&rig, &orders);
    mint_all(&orders);
    let woken = Arc::new(Woken::default());
    let mut future = pin!(orders.mint_many_async(BATCH));
    // The last of 20 milliseconds is due in 20 from the one in which there was none.
    assert!(future.as_mut().poll(&mut Context::from_waker(&Waker::from(Arc::clone(&woken)))).is_pending());
    for passed in 1..=20 {
        pass(&rig, 1);
        rig.manual.turn();
        assert_eq!(woken.times(), u64::from(passed == 20), "after {passed} ms");
    }
    assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
}

#[test]
fn a_future_that_has_moved_or_gone_away_leaves_no_waker_behind() {
    let rig = Rig::at(NOW);
    let orders = orders(&rig);
    minted(&rig, &orders);
    let (here, there) = (Arc::new(Woken::default()), Arc::new(Woken::default()));
    let held = |woken: &Arc<Woken>| Arc::strong_count(woken) > 1;
    let mut future = Box::pin(orders.mint_many_async(BATCH));
    let mut poll = |woken: &Arc<Woken>| {
        let waker = Waker::from(Arc::clone(woken));
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    };
    poll(&here);
    assert!(held(&here));
    poll(&there);
    assert!(!held(&here) && held(&there), "another task polls it now");
    drop(future);
    assert!(!held(&there));
}
