//! The ends of a layout's time, lived through on a clock that the test moves.

use super::*;

const EPOCH: i64 = BEGIN - 1_000;

/// A layout whose time bits run out `2^time_bits` ticks after [`EPOCH`].
fn layout(fields: &str, tick_millis: u64) -> Layout {
    Layout::new(fields, tick_millis, UnixMillis::new(EPOCH), Layout::TWITTER.width()).unwrap()
}

#[test]
fn the_last_day_of_a_layout_is_minted_to_the_end_and_then_the_horizon_is_told() {
    for (fields, tick) in [
        ("time:27 worker:4 sequence:2", 1),
        ("time:24 worker:4 sequence:2", 10),
        ("time:17 worker:4 sequence:2", 1_000),
    ] {
        let layout = layout(fields, tick);
        let day = 86_400_000;
        let hands = Hands::at(layout.horizon().get() - day);
        let mut rig = Rig::with(&Memory::default(), 3, hands, 30_000, false);
        let stream = rig.snowflake(&layout, Workers::all(4).unwrap());
        let mut last = None;
        let mut minted = 0;
        // By the minute, and the last minute tick by tick.
        while rig.clock.look().stamp.time() < layout.horizon() {
            rig.settle();
            for _ in 0..8 {
                if let Mint::Empty(None) = rig.mint(&stream) {
                    rig.settle();
                }
                match rig.mint(&stream) {
                    Mint::Got { position, worker } => {
                        assert!(last < Some(position), "{fields}: it wraps");
                        let id =
                            layout.compose(layout.tick_of(position), worker, layout.sequence_of(position));
                        assert!(id.unwrap() < 1 << layout.total_bits());
                        (last, minted) = (Some(position), minted + 1);
                    }
                    Mint::Later => {}
                    // All of the last tick has been minted.
                    Mint::Empty(Some(MintError::Exhausted(_))) => {
                        assert_eq!(last, Some(layout.end_position() - 1), "{fields}");
                    }
                    other => panic!("{fields}: {other:?}"),
                }
            }
            let left = u64::try_from(layout.horizon().since(rig.clock.look().stamp.time())).unwrap();
            rig.hands.pass(if left > 60_000 { 60_000.min(left - 60_000) } else { tick });
        }
        assert!(minted > 1_000);
        assert_eq!(last, Some(layout.end_position() - 1), "{fields}: every bit was used");
        for _ in 0..3 {
            let Mint::Empty(Some(MintError::Exhausted(text))) = rig.mint(&stream) else {
                panic!("{fields}: it goes on")
            };
            assert!(
                text.contains(&layout.horizon().to_string()) && text.contains("bind a new name"),
                "{text}"
            );
            rig.settle();
            rig.hands.pass(day.unsigned_abs());
        }
    }
}

#[test]
fn a_clock_before_the_epoch_mints_nothing_until_it_is_set_right() {
    let layout = layout("time:41 worker:4 sequence:2", 1);
    let mut rig = Rig::with(&Memory::default(), 3, Hands::at(EPOCH - 5_000), WINDOW, false);
    let stream = rig.snowflake(&layout, Workers::all(4).unwrap());
    let Mint::Empty(Some(MintError::Stopped(Stopped { reason: StopReason::Clock, cause: text }))) =
        rig.mint(&stream)
    else {
        panic!("it mints")
    };
    assert!(text.contains("epoch") && text.contains("set the clock right"), "{text}");
    rig.hands.set(5_000);
    assert!(matches!(rig.mint(&stream), Mint::Empty(None)));
    rig.settle();
    let Mint::Got { position, .. } = rig.mint(&stream) else { panic!("nothing minted") };
    assert_eq!(layout.tick_of(position), 0);
}

#[test]
fn an_insane_clock_asks_for_nothing() {
    let mut rig = Rig::with(&Memory::default(), 3, Hands::at(-5), WINDOW, true);
    let stream = rig.twitter();
    rig.settle();
    assert_eq!(rig.ledger.list("", "", 9).unwrap(), []);
    assert!(matches!(rig.mint(&stream), Mint::Empty(Some(MintError::Stopped(_)))));
    rig.hands.set(BEGIN);
    assert!(rig.node.deadline(&rig.clock.look()).is_some(), "it looks again");
    rig.settle();
    assert!(matches!(rig.mint(&stream), Mint::Got { .. }));
}
