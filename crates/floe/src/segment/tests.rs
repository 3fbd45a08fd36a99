//! Segments of a floe by hand.

use super::*;
use crate::manual::tests::Rig;

/// A segment that has numbers.
fn begun() -> (Rig, Segment) {
    let rig = Rig::new();
    let tickets = rig.floe.segment("tickets").unwrap();
    assert_eq!(rig.block_on(tickets.mint_async()).unwrap().get(), 1);
    rig.settle();
    (rig, tickets)
}

/// Nothing is drawn and not handed out.
#[test]
fn one_number_follows_the_other_however_they_are_asked_for() {
    for at_hand in [false, true] {
        let (rig, tickets) = begun();
        if at_hand {
            rig.manual.tick();
        }
        let mut ids = vec![tickets.mint().unwrap()];
        ids.push(tickets.mint().unwrap());
        ids.push(rig.block_on(tickets.mint_async()).unwrap());
        ids.push(rig.block_on(tickets.mint_async()).unwrap());
        ids.extend(tickets.mint_many(2).unwrap());
        ids.extend(rig.block_on(tickets.mint_many_async(2)).unwrap());
        let mut minter = tickets.minter();
        for _ in 0..20 {
            ids.push(minter.try_mint().unwrap().unwrap());
            ids.push(minter.mint().unwrap());
        }
        let numbers: Vec<u64> = ids.into_iter().map(Id::get).collect();
        assert_eq!(numbers, (2..50).collect::<Vec<_>>(), "at hand: {at_hand}");
    }
}

/// The process may have been copied. Where no time is at hand, nobody else would notice.
#[test]
fn a_minter_looks_for_a_new_era_before_each_number_where_no_time_is_at_hand() {
    let (rig, tickets) = begun();
    let mut minter = tickets.minter();
    (0..20).for_each(|_| assert!(minter.mint().is_ok()));
    rig.set(-1_001);
    assert_eq!(minter.try_mint(), Ok(None));
}

#[test]
fn an_invalidation_discards_the_numbers_in_hand() {
    let (rig, tickets) = begun();
    let owned = tickets.numbers.shared.cursor.owned();
    let end = owned.spare.end.max(owned.current.end);
    let mut minter = tickets.minter();
    minter.mint().unwrap();
    tickets.invalidate();
    assert_eq!(minter.try_mint(), Ok(None));
    assert!(tickets.try_mint_many(1).unwrap().is_none());
    assert!(rig.block_on(tickets.mint_async()).unwrap().get() > end);
}
