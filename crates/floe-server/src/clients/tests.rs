use std::task::{Context, Poll, Waker};

use futures_util::FutureExt;

use super::*;

fn clients(limits: Limits) -> Arc<Clients> {
    let mut clients = Clients::new(&limits, 1, Arc::new(Metrics::new(10, [])));
    // It has run for a while.
    Arc::get_mut(&mut clients).unwrap().began -= Duration::from_secs(60);
    clients
}

/// `limits.memory` of which 1 MiB is handed out, less a byte.
const MEMORY: usize = (8 << 20) / 3;

/// As if what is held for a connection had waited since then.
fn waits_since(place: &Place, since: u64) {
    for part in place.client().parts.lock().unwrap().values_mut() {
        *part = since;
    }
}

fn ip(last: u8) -> Address {
    Address::of(Some([10, 0, 0, last].into()))
}

const SECOND: u64 = 1000;

#[test]
fn the_connection_that_is_idle_longest_makes_place_for_a_new_one() {
    let clients = clients(Limits { connections: 4, ..Limits::default() });
    let mut places: Vec<_> =
        (0..4).map(|at| clients.admit_at(ip(u8::try_from(at).unwrap()), at).unwrap()).collect();
    // All have just begun.
    assert_eq!(clients.admit_at(ip(9), SECOND - 1).err(), Some(NoPlace::All));
    // The first is at work, and the second was answered since.
    let at_work = places[0].client().at_work();
    places[1].client().touched.store(SECOND, Ordering::Relaxed);
    let new = clients.admit_at(ip(9), 2 * SECOND).unwrap();
    let ended: Vec<_> = places.iter().map(|place| place.client().is_ended()).collect();
    assert_eq!(ended, [false, false, true, false]);
    drop(at_work);
    // A place that was given away is not free a second time when its connection has gone.
    drop(places.remove(2));
    let newer = clients.admit_at(ip(9), 2 * SECOND).unwrap();
    assert!(places[0].client().is_ended() && !places[2].client().is_ended());
    drop((places, new, newer));
    let crowd = clients.crowd();
    assert!(crowd.open == 0 && crowd.all.is_empty() && crowd.addresses.is_empty());
    assert_eq!(clients.used.load(Ordering::Relaxed), 0);
}

#[test]
fn an_address_has_its_share_and_makes_place_within_it() {
    let clients = clients(Limits { connections: 8, ..Limits::default() });
    let crowded: Vec<_> = (0..4).map(|_| clients.admit_at(ip(1), 0).unwrap()).collect();
    assert_eq!(clients.admit_at(ip(1), 0).err(), Some(NoPlace::Address));
    let other = clients.admit_at(ip(2), 0).unwrap();
    let new = clients.admit_at(ip(1), SECOND).unwrap();
    assert!(!other.client().is_ended());
    assert_eq!(crowded.iter().filter(|place| place.client().is_ended()).count(), 1);
    drop(new);
}

#[test]
fn addresses_of_one_machine_are_one() {
    let of = |text: &str| Address::of(Some(text.parse().unwrap()));
    assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
    assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
    assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
    assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
}

#[test]
fn a_token_has_its_share_of_the_connections() {
    let clients = clients(Limits { connections_per_token: Some(2), ..Limits::default() });
    let now = clients.now();
    let places: Vec<_> = (0..4).map(|_| clients.admit_at(ip(1), now).unwrap()).collect();
    let shows = |at: usize, token: &str| places[at].client().shows(token).map_err(|refusal| refusal.status);
    let busy: Vec<_> = places[..2].iter().map(|place| place.client().at_work()).collect();
    assert!(shows(0, "shop").is_ok() && shows(1, "shop").is_ok() && shows(0, "shop").is_ok());
    assert_eq!(shows(2, "shop"), Err(Status::Busy));
    assert!(shows(2, "other").is_ok());
    drop(busy);
    // As if the second had been idle for long.
    places[1].client().touched.store(now - 2 * SECOND, Ordering::Relaxed);
    assert!(shows(3, "shop").is_ok());
    let ended: Vec<_> = places.iter().map(|place| place.client().is_ended()).collect();
    assert_eq!(ended, [false, true, false, false]);
    drop(places);
    assert!(clients.crowd().tokens.is_empty());
}

#[test]
fn a_connection_that_was_closed_for_another_counts_for_no_token() {
    let clients = clients(Limits { connections: 1, ..Limits::default() });
    let closed = clients.admit_at(ip(1), 0).unwrap();
    let new = clients.admit_at(ip(2), SECOND).unwrap();
    assert!(closed.client().is_ended() && closed.client().shows("shop").is_ok());
    drop((closed, new));
    assert!(clients.crowd().tokens.is_empty());
}

#[tokio::test]
async fn memory_is_bounded_and_whoever_is_stuck_longest_is_closed_first() {
    let clients = clients(Limits { memory: MEMORY, ..Limits::default() });
    let [slow, slower, honest] = [1, 2, 3].map(|last| clients.admit(ip(last)).unwrap());
    let first = slower.client().hold(440 << 10).await.unwrap();
    waits_since(&slower, 1);
    let second = slow.client().hold(440 << 10).await.unwrap();
    waits_since(&slow, 2);
    // What is small has the last part for itself.
    let mut small = honest.client().hold(SMALL).await.unwrap();
    assert!(!small.try_grow(SMALL + 1));
    // The client that is asked for does not wait for ever where nobody may be closed.
    let asks = honest.client().hold(300 << 10);
    let ends = async {
        slower.client().has_to_end().await;
        assert!(!slow.client().is_ended());
        drop(first);
    };
    let (held, ()) = tokio::join!(asks, ends);
    let held = held.unwrap();
    assert!(!slow.client().is_ended() && !honest.client().is_ended());
    assert_eq!(honest.client().hold(2 << 20).await.err().map(|full| full.limit), Some(7 << 17));
    drop((held, second, small));
    drop((slow, slower, honest));
    assert_eq!(clients.used.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_client_is_refused_what_it_holds_itself() {
    let clients = clients(Limits { memory: MEMORY, ..Limits::default() });
    let place = clients.admit(ip(1)).unwrap();
    let held = place.client().hold(800 << 10).await.unwrap();
    waits_since(&place, 1);
    assert!(place.client().hold(200 << 10).await.is_err());
    assert!(!place.client().is_ended());
    drop(held);
    assert!(place.client().hold(200 << 10).await.is_ok());
}

#[tokio::test]
async fn what_a_client_takes_a_part_of_is_not_stuck() {
    let clients = clients(Limits { memory: MEMORY, ..Limits::default() });
    let [reads, waits] = [1, 2].map(|last| clients.admit(ip(last)).unwrap());
    let held = reads.client().hold(400 << 10).await.unwrap();
    waits_since(&reads, 1);
    held.goes_on();
    let stuck = waits.client().hold(400 << 10).await.unwrap();
    waits_since(&waits, 2);
    assert!(clients.make_room(400 << 10, clients.admit(ip(3)).unwrap().client()));
    assert!(waits.client().is_ended() && !reads.client().is_ended());
    drop((held, stuck));
}

#[tokio::test]
async fn a_client_that_holds_nothing_is_not_stuck() {
    let clients = clients(Limits { memory: MEMORY, ..Limits::default() });
    let [idle, waits, asks] = [1, 2, 3].map(|last| clients.admit(ip(last)).unwrap());
    drop(idle.client().hold(40 << 10).await.unwrap());
    let stuck = waits.client().hold(800 << 10).await.unwrap();
    for (place, since) in [(&idle, 1), (&waits, 2)] {
        waits_since(place, since);
    }
    assert!(clients.make_room(400 << 10, asks.client()));
    assert!(waits.client().is_ended() && !idle.client().is_ended());
    drop(stuck);
}

#[tokio::test]
async fn a_client_is_closed_for_what_it_holds_and_not_for_what_it_held() {
    let clients = clients(Limits { memory: MEMORY, ..Limits::default() });
    let [little, much, asks] = [1, 2, 3].map(|last| clients.admit(ip(last)).unwrap());
    drop(little.client().hold(800 << 10).await.unwrap());
    let held = [little.client().hold(1 << 10).await.unwrap(), much.client().hold(800 << 10).await.unwrap()];
    for (place, since) in [(&little, 1), (&much, 2)] {
        waits_since(place, since);
    }
    assert!(clients.make_room(400 << 10, asks.client()));
    assert!(little.client().is_ended() && much.client().is_ended(), "the first alone frees too little");
    drop(held);
}

#[tokio::test]
async fn no_more_clients_are_closed_than_are_needed() {
    let clients = clients(Limits { memory: MEMORY, ..Limits::default() });
    let [first, second, asks] = [1, 2, 3].map(|last| clients.admit(ip(last)).unwrap());
    let held =
        [first.client().hold(440 << 10).await.unwrap(), second.client().hold(440 << 10).await.unwrap()];
    for (place, since) in [(&first, 1), (&second, 2)] {
        waits_since(place, since);
    }
    for _ in 0..2 {
        assert!(clients.make_room(300 << 10, asks.client()));
        assert!(
            first.client().is_ended() && !second.client().is_ended(),
            "the first is about to free enough"
        );
        // As if that was a while ago.
        clients.crowd().made_room = None;
    }
    drop(held);
}

#[tokio::test]
async fn few_requests_of_one_connection_wait_for_memory() {
    let clients = clients(Limits { memory: MEMORY, ..Limits::default() });
    let [reads_not, asks] = [1, 2].map(|last| clients.admit(ip(last)).unwrap());
    let held = reads_not.client().hold(880 << 10).await.unwrap();
    let mut asked: Vec<_> = (0..MOST_WAITING + 2).map(|_| Box::pin(asks.client().hold(30 << 10))).collect();
    let polled: Vec<_> =
        asked.iter_mut().map(|ask| ask.as_mut().now_or_never().map(|held| held.is_ok())).collect();
    assert_eq!(polled, [None, None, None, None, Some(false), Some(false)]);
    drop((asked, held));
    assert_eq!(clients.waiting.load(Ordering::Relaxed), 0);
}

#[test]
fn as_many_connections_have_a_turn_as_there_are_threads() {
    let clients = clients(Limits::default());
    let places: Vec<_> = (0..2).map(|at| clients.admit(ip(at)).unwrap()).collect();
    let mut context = Context::from_waker(Waker::noop());
    let mut turns: Vec<_> = places.iter().map(|place| place.client().turn()).collect();
    // The first lets others run before it begins, and the second waits for its end.
    assert!(turns.iter_mut().all(|turn| turn.as_mut().poll(&mut context).is_pending()));
    let Poll::Ready(first) = turns[0].as_mut().poll(&mut context) else { panic!("it has its turn") };
    assert!(turns[1].as_mut().poll(&mut context).is_pending());
    assert_eq!(places[1].client().at_work.load(Ordering::Relaxed), 1, "who waits for a turn is not idle");
    drop(first);
    assert!(turns[1].as_mut().poll(&mut context).is_pending());
    assert!(turns[1].as_mut().poll(&mut context).is_ready());
    assert_eq!(places[1].client().at_work.load(Ordering::Relaxed), 0);
}
