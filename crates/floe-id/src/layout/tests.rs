//! Layouts as their users see them: tiny ones completely, all others by their laws.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::{Id, IdRepr, WideId};

mod errors;
mod published;

const EPOCH: UnixMillis = UnixMillis::new(1_000);

/// Every order of `fields`.
fn orders(fields: &[&'static str]) -> Vec<Vec<&'static str>> {
    if fields.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, first) in fields.iter().enumerate() {
        let rest: Vec<_> =
            fields.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, f)| *f).collect();
        all.extend(orders(&rest).into_iter().map(|mut order| {
            order.insert(0, first);
            order
        }));
    }
    all
}

/// Layouts so small that every ID of theirs can be looked at: fields of 1 and 2 bits in every order.
fn tiny() -> Vec<Layout> {
    let kinds: [&[&'static str]; 5] = [
        &["time:2", "sequence:2"],
        &["time:2", "a:2", "sequence:2"],
        &["time:2", "a:2", "b:2", "sequence:2"],
        &["time:1", "a:2", "b:1", "sequence:2"],
        &["time:2", "a:1", "b:2", "c:1", "sequence:1"],
    ];
    let mut layouts = Vec::new();
    for order in kinds.iter().flat_map(|fields| orders(fields)) {
        for tick in [1, 10, 1_000] {
            for width in [Width::Narrow, Width::Wide] {
                layouts.push(Layout::new(&order.join(" "), tick, EPOCH, width).unwrap());
            }
        }
    }
    layouts
}

#[test]
fn tiny_layouts_compose_every_id_exactly_once() {
    let mut scattered = 0;
    for layout in tiny() {
        let mut ids = BTreeSet::new();
        for tick in 0..layout.ticks() {
            for sequence in 0..layout.per_tick() {
                let position = layout.position(tick, sequence);
                assert_eq!((layout.tick_of(position), layout.sequence_of(position)), (tick, sequence));
                for worker in 0..layout.workers() {
                    let id = layout.compose(tick, worker, sequence).unwrap();
                    assert!(ids.insert(id), "{layout}: {id} twice");
                    assert_eq!(layout.place_wide(position, worker), id, "{layout}");
                    let key = layout.tick_key(layout.position(tick, layout.per_tick() - 1), worker);
                    assert_eq!(WideId::place_in_tick(&layout, position, key).get(), id, "{layout}");
                    assert_eq!(layout.placer::<WideId>(worker).unwrap().place(position).get(), id);
                    if layout.width() == Width::Narrow {
                        assert_eq!(u128::from(layout.place(position, worker)), id, "{layout}");
                        let placer = layout.placer::<Id>(worker).unwrap();
                        assert_eq!(u128::from(placer.place(position)), id, "{layout}");
                        assert_eq!(u128::from(Id::place_in_tick(&layout, position, key)), id, "{layout}");
                    }
                    let parts = layout.split(id).unwrap();
                    assert_eq!(
                        (parts.tick, parts.worker, parts.sequence),
                        (tick, worker, sequence),
                        "{layout}: {id}"
                    );
                    let millis = i64::try_from(tick * layout.tick_millis()).unwrap();
                    assert_eq!(parts.time, EPOCH.plus(millis));
                }
            }
        }
        // As many IDs as there are numbers of that many bits, and so all of them.
        assert_eq!(ids.len(), 1 << layout.total_bits(), "{layout}");
        assert_eq!(ids.last(), Some(&((1 << layout.total_bits()) - 1)));
        scattered += usize::from(layout.worker_shift.is_none());
    }
    assert!(scattered > 100, "only {scattered} layouts have their node fields apart");
}

#[test]
fn tiny_layouts_order_ids_as_their_fields_say() {
    for layout in tiny() {
        let names: Vec<_> = layout.fields().map(Field::kind).collect();
        let ordered = names.first() == Some(&FieldKind::Time) && names.last() == Some(&FieldKind::Sequence);
        let time_first = names.first() == Some(&FieldKind::Time);
        for worker in 0..layout.workers() {
            let ids: Vec<_> = (0..layout.end_position()).map(|at| layout.place_wide(at, worker)).collect();
            if ordered {
                assert!(ids.is_sorted(), "{layout}");
            }
            if time_first {
                let ticks: Vec<_> = ids.iter().map(|id| layout.split(*id).unwrap().tick).collect();
                assert!(ticks.is_sorted(), "{layout}");
            }
        }
    }
}

#[test]
fn fields_read_high_to_low() {
    let fields: Vec<_> = Layout::SONYFLAKE
        .fields()
        .map(|field| (field.name().to_owned(), field.bits(), field.shift(), field.kind()))
        .collect();
    assert_eq!(
        fields,
        [
            ("time".to_owned(), 39, 24, FieldKind::Time),
            ("sequence".to_owned(), 8, 16, FieldKind::Sequence),
            ("machine".to_owned(), 16, 0, FieldKind::Node)
        ]
    );
    let layout = &Layout::TWITTER;
    assert_eq!((layout.time_bits(), layout.worker_bits(), layout.sequence_bits()), (41, 10, 12));
    assert_eq!((layout.workers(), layout.per_tick(), layout.total_bits()), (1_024, 4_096, 63));
    let parts = layout.split(1 << 22 | 3 << 17 | 7 << 12 | 9).unwrap();
    let values: Vec<_> = parts.fields.iter().map(|part| (part.field.name(), part.value)).collect();
    assert_eq!(values, [("time", 1), ("datacenter", 3), ("worker", 7), ("sequence", 9)]);
}

#[test]
fn worker_ids_are_the_node_fields_high_to_low() {
    let apart = Layout::new("rack:3 time:20 host:4 sequence:5 port:2", 1, EPOCH, Width::Narrow).unwrap();
    assert_eq!(apart.worker_bits(), 9);
    let worker = apart.worker_id(&[("port", 1), ("rack", 5), ("host", 9)]).unwrap();
    assert_eq!(worker, 5 << 6 | 9 << 2 | 1);
    let parts = apart.split(apart.compose(77, worker, 30).unwrap()).unwrap();
    let values: Vec<_> = parts.fields.iter().map(|part| part.value).collect();
    assert_eq!(values, [5, 77, 9, 30, 1]);

    let pinned = apart.pinned(&[("host".to_owned(), 9)].into()).unwrap();
    let expected: Vec<_> = (0..apart.workers()).filter(|worker| worker >> 2 & 15 == 9).collect();
    assert_eq!(pinned.iter().collect::<Vec<_>>(), expected);
    assert_eq!(pinned.len(), 32);
    assert_eq!(pinned.nth(32), None);
    for worker in 0..apart.workers() {
        assert_eq!(pinned.contains(worker), expected.contains(&worker), "{worker}");
    }
    assert!(!pinned.contains(9 << 2 | 1 << 9));

    let free = apart.pinned(&BTreeMap::new()).unwrap();
    assert_eq!(free, Workers::all(9).unwrap());
    assert_eq!(free.iter().collect::<Vec<_>>(), (0..512).collect::<Vec<_>>());
    let one = Workers::one(9, 511).unwrap();
    assert_eq!((one.len(), one.first(), one.nth(0), one.nth(1)), (1, 511, Some(511), None));
    let all = Workers::all(32).unwrap();
    assert_eq!((all.len(), all.nth(u64::from(u32::MAX))), (1 << 32, Some(u64::from(u32::MAX))));

    let alone = Layout::MASTODON.pinned(&BTreeMap::new()).unwrap();
    assert_eq!((alone.len(), alone.first(), alone.contains(0), alone.contains(1)), (1, 0, true, false));
    assert_eq!(Layout::MASTODON.worker_id(&[]), Ok(0));
    assert_eq!(Layout::MASTODON.workers(), 1);
}

#[test]
fn ids_of_either_width_come_from_the_layout() {
    let position = Layout::TWITTER.position(1, 2);
    assert_eq!(Id::place(&Layout::TWITTER, position, 3).get(), 1 << 22 | 3 << 12 | 2);
    assert_eq!(WideId::place(&Layout::TWITTER, position, 3).to_u128(), 1 << 22 | 3 << 12 | 2);
    let wide = WideId::place(&Layout::GAME, Layout::GAME.end_position() - 1, Layout::GAME.workers() - 1);
    assert_eq!(wide.get(), (1 << 73) - 1);
    assert_eq!(Id::check(&Layout::TWITTER), Ok(()));
    assert_eq!(WideId::check(&Layout::TWITTER), Ok(()));
    assert_eq!(WideId::check(&Layout::GAME), Ok(()));
    let narrow = Layout::GAME.placer::<Id>(0).unwrap_err();
    assert!(matches!(narrow, LayoutError::NeedsWide { .. }));
    let worker = Layout::TWITTER.placer::<WideId>(1_024).unwrap_err();
    assert!(matches!(worker, LayoutError::WorkerOutOfRange { worker: 1_024, max: 1_023, .. }));
    assert!(matches!(Id::check(&Layout::GAME), Err(LayoutError::NeedsWide { .. })));
}

#[test]
#[should_panic(expected = "outside the layout")]
fn placing_a_worker_out_of_range_crashes() {
    Layout::TWITTER.place(0, 1_024);
}

#[test]
#[should_panic(expected = "outside the layout")]
fn placing_past_the_last_position_crashes() {
    Layout::TWITTER.place(Layout::TWITTER.end_position(), 0);
}

/// A run has the IDs that are placed one by one, wherever it begins and however many ticks it crosses.
fn assert_a_run_is_placed<I: IdRepr>(layout: &Layout, blank: I) {
    let placer = layout.placer::<I>(layout.workers() - 1).unwrap();
    let end = usize::try_from(layout.end_position()).unwrap();
    let each: Vec<I> = (0..layout.end_position()).map(|position| placer.place(position)).collect();
    for start in 0..end {
        for count in [0, 1, 2, end - start] {
            let mut ids = vec![blank; count.min(end - start)];
            placer.place_run(start as u64, &mut ids);
            assert_eq!(ids, each[start..start + ids.len()], "{layout} from {start}");
            let (run, taken) = placer.run(start as u64, count as u64);
            assert_eq!(
                run.size_hint(),
                (usize::try_from(taken).unwrap(), usize::try_from(taken).ok()),
                "{layout} from {start}"
            );
            let run: Vec<I> = run.collect();
            assert_eq!(run, each[start..start + run.len()], "{layout} from {start}");
            assert_eq!((run.len() as u64, run.is_empty()), (taken, count == 0), "{layout} from {start}");
            assert!(run.len() <= count, "{layout} from {start}");
        }
    }
}

#[test]
fn a_run_is_what_is_placed_one_by_one() {
    for layout in tiny() {
        assert_a_run_is_placed::<WideId>(&layout, WideId::MAX);
        if layout.width() == Width::Narrow {
            assert_a_run_is_placed::<Id>(&layout, Id::MAX);
        }
    }
}

/// What follows its last ID is the largest number of all that do, and no number with which another run begins.
#[test]
fn a_tick_of_the_largest_layout_whose_sequence_lies_on_top_is_no_empty_run() {
    let wide = format!("sequence:20 time:43 worker:{}", Layout::MAX_WORKER_BITS);
    let wide = Layout::new(&wide, 1, EPOCH, Width::Wide).unwrap();
    assert_eq!(wide.placer::<WideId>(0).unwrap().run(0, 1 << 20).0.count(), 1 << 20);
    let narrow = Layout::new("sequence:20 time:42 worker:1", 1, EPOCH, Width::Narrow).unwrap();
    assert_eq!(narrow.placer::<Id>(0).unwrap().run(0, 1 << 20).0.count(), 1 << 20);
}

#[test]
#[should_panic(expected = "outside the layout")]
fn a_run_crashes_past_the_last_position() {
    let layout = Layout::GAME;
    layout.placer::<WideId>(0).unwrap().place_run(layout.end_position() - 1, &mut [WideId::MAX; 2]);
}

#[test]
fn a_run_of_numbers_ends_at_the_largest_id() {
    let id = |number| Id::new(number).unwrap();
    let run = |first, step, count| {
        std::panic::catch_unwind(|| IdRun::new(first, step, count).map(Id::get).collect::<Vec<_>>())
    };
    let last = Id::MAX.get();
    assert_eq!(run(id(last - 10), id(5), 3).unwrap(), [last - 10, last - 5, last]);
    assert_eq!(run(Id::MAX, Id::MAX, 1).unwrap(), [last]);
    assert!(run(Id::MAX, id(1), 0).unwrap().is_empty());
    for (first, step, count) in
        [(last - 9, 5, 3), (7, 0, 2), (0, 1 << 62, 3), (1, 1 << 40, 1 << 40), (0, 2, u64::MAX)]
    {
        assert!(run(id(first), id(step), count).is_err(), "{first} {step} {count}");
    }
    let wide =
        |count| std::panic::catch_unwind(|| IdRun::new(WideId::new(0), WideId::new(1 << 127), count).count());
    assert_eq!(wide(1).unwrap(), 1);
    assert!(wide(2).is_err(), "what follows it is the first again");
}

#[test]
fn a_run_is_written_to_as_many_places_as_it_has_ids() {
    let run = |count| IdRun::new(Id::new(7).unwrap(), Id::new(10).unwrap(), count);
    let write = |count, places| {
        std::panic::catch_unwind(|| {
            let mut ids = vec![Id::MAX; places];
            run(count).write(&mut ids);
            ids.into_iter().map(Id::get).collect::<Vec<_>>()
        })
    };
    assert_eq!(write(3, 3).unwrap(), [7, 17, 27]);
    assert_eq!(write(3, 2).unwrap(), [7, 17]);
    assert!(write(0, 0).unwrap().is_empty());
    let mut rest = run(3);
    rest.next();
    let mut ids = [Id::MAX; 2];
    rest.write(&mut ids);
    assert_eq!(ids.map(Id::get), [17, 27]);
    assert!(write(2, 3).is_err() && write(0, 1).is_err(), "an ID behind the run belongs to somebody else");
}

#[test]
fn a_series_ends_at_the_largest_id() {
    let mut ids = [Id::MAX; 2];
    Id::try_from(Id::MAX.get() - 5).unwrap().series(5, &mut ids);
    assert_eq!(ids[1], Id::MAX);
    let mut ids = [WideId::MAX; 3];
    WideId::new(0).series(u128::MAX / 2, &mut ids);
    assert_eq!(ids.map(WideId::get), [0, u128::MAX / 2, u128::MAX - 1]);
    // One ID takes no step.
    let mut ids = [Id::MAX];
    Id::try_from(7_u64).unwrap().series(u128::MAX, &mut ids);
    assert_eq!(ids[0].get(), 7);
    Id::MAX.series(0, &mut []);
}

#[test]
#[should_panic(expected = "more than 63 bits")]
fn a_series_crashes_past_the_largest_id() {
    Id::try_from(Id::MAX.get() - 5).unwrap().series(6, &mut [Id::MAX; 2]);
}

#[test]
#[should_panic(expected = "more than 128 bits")]
fn a_wide_series_crashes_past_the_largest_id() {
    WideId::MAX.series(1, &mut [WideId::MAX; 2]);
}

#[test]
#[should_panic(expected = "repeats an ID")]
fn a_series_without_a_step_crashes() {
    Id::MAX.series(0, &mut [Id::MAX; 2]);
}

#[test]
#[should_panic(expected = "outside the layout")]
fn a_placer_crashes_past_the_last_position() {
    Layout::GAME.placer::<WideId>(0).unwrap().place(Layout::GAME.end_position());
}

#[test]
#[should_panic(expected = "the layout is wide")]
fn placing_a_wide_id_in_64_bits_crashes() {
    Layout::GAME.place(0, 0);
}

#[test]
#[should_panic(expected = "outside the layout")]
fn placing_a_worker_out_of_range_in_128_bits_crashes() {
    Layout::GAME.place_wide(0, Layout::GAME.workers());
}

#[test]
#[should_panic(expected = "the ticks do not fit the time field")]
fn positions_past_the_last_tick_crash() {
    let ticks = Layout::TWITTER.ticks();
    Layout::TWITTER.positions(&(ticks - 1..ticks + 1));
}

#[test]
#[should_panic(expected = "does not fit the sequence field")]
fn a_position_of_a_sequence_out_of_range_crashes() {
    Layout::TWITTER.position(0, 4_096);
}

#[test]
fn presets_keep_the_rules_and_their_text() {
    for preset in PRESETS {
        let Preset { name, layout, about, source } = preset;
        let spelled =
            Layout::new(&layout.spec(), layout.tick_millis(), layout.epoch(), layout.width()).unwrap();
        assert_eq!(&spelled, layout, "{name}");
        assert_eq!(layout.to_string().parse::<Layout>().as_ref(), Ok(layout), "{name}");
        assert_eq!(name.parse::<Layout>().as_ref(), Ok(layout), "{name}");
        assert!(!about.is_empty() && !source.is_empty(), "{name}");
    }
    let names: BTreeSet<_> = PRESETS.iter().map(|preset| preset.name).collect();
    assert_eq!(names.len(), PRESETS.len());
    assert_eq!(PRESETS.len(), 18);
    assert_eq!(Layout::JAVASCRIPT.total_bits(), 53);
}

#[test]
fn the_text_form_is_canonical() {
    for text in [
        "time:41 datacenter:5 worker:5 sequence:12 tick=1ms epoch=2010-11-04T01:42:54.657Z",
        "time:28 worker:22 sequence:13 tick=1s epoch=2016-05-19T16:00:00.000Z",
        "time:37 server:20 sequence:16 tick=1ms epoch=2026-01-01T00:00:00.000Z wide",
        "sequence:1 time:1 tick=86400s epoch=1970-01-01T00:00:00.000Z",
        "time:20 a_b9:1 sequence:3 tick=1500ms epoch=9999-01-01T00:00:00.000Z",
    ] {
        assert_eq!(text.parse::<Layout>().map(|layout| layout.to_string()), Ok(text.to_owned()));
    }
    let same: Layout =
        " time:28  worker:22\tsequence:13 epoch=2016-05-20T00:00:00+08:00 tick=1000ms".parse().unwrap();
    assert_eq!(same, Layout::BAIDU);
    assert_eq!(format!("{same:?}"), format!("Layout({same})"));
}

#[test]
fn a_preset_takes_a_tick_and_an_epoch_behind_its_name() {
    for preset in PRESETS {
        let Preset { name, layout, .. } = preset;
        let moved: Layout = format!("{name} epoch=2020-02-02T00:00:00+08:00").parse().unwrap();
        assert_eq!(moved.epoch().to_string(), "2020-02-01T16:00:00.000Z", "{name}");
        assert_eq!(moved.spec(), layout.spec(), "{name}");
        assert_eq!((moved.tick_millis(), moved.width()), (layout.tick_millis(), layout.width()), "{name}");
        let own = format!(" {name}  tick={}ms epoch={}", layout.tick_millis(), layout.epoch());
        assert_eq!(own.parse::<Layout>().as_ref(), Ok(layout), "{name}");
    }
    assert_eq!("sonyflake epoch=2025-01-01T00:00:00Z".parse(), Ok(Layout::SONYFLAKE_V2));
    assert_eq!("twitter wide".parse::<Layout>().unwrap().width(), Width::Wide);
    assert_eq!("twitter tick=10ms".parse::<Layout>().unwrap().tick_millis(), 10);
}

#[test]
fn shardingsphere_begins_at_the_midnight_of_its_zone() {
    assert_eq!(Layout::shardingsphere_in("UTC"), Ok(Layout::SHARDINGSPHERE));
    let new_york = Layout::shardingsphere_in("America/New_York").unwrap();
    assert_eq!(new_york.epoch().to_string(), "2016-11-01T04:00:00.000Z");
    let error = Layout::shardingsphere_in("Asia/Atlantis").unwrap_err();
    assert_eq!(error, LayoutError::Zone { zone: "Asia/Atlantis".to_owned() });
}

#[test]
fn time_runs_from_the_epoch_to_the_horizon() {
    let layout = Layout::new("time:2 sequence:1", 10, EPOCH, Width::Narrow).unwrap();
    assert_eq!(layout.tick_at(EPOCH), Ok(0));
    assert_eq!(layout.tick_at(EPOCH.plus(9)), Ok(0));
    assert_eq!(layout.tick_at(EPOCH.plus(10)), Ok(1));
    assert_eq!(layout.tick_at(EPOCH.plus(39)), Ok(3));
    assert_eq!(layout.horizon(), EPOCH.plus(40));
    let (horizon, time) = (EPOCH.plus(40), EPOCH.plus(40));
    assert_eq!(layout.tick_at(time), Err(LayoutError::PastHorizon { horizon, time }));
    let time = EPOCH.plus(-1);
    assert_eq!(layout.tick_at(time), Err(LayoutError::BeforeEpoch { epoch: EPOCH, time }));
    assert!(layout.tick_at(UnixMillis::new(i64::MIN)).is_err());
    assert!(layout.tick_at(UnixMillis::new(i64::MAX)).is_err());
    assert_eq!(layout.time_of(u64::MAX), UnixMillis::new(i64::MAX));

    assert_eq!(layout.ticks_inside(EPOCH, EPOCH.plus(40)), 0..4);
    assert_eq!(layout.ticks_inside(EPOCH.plus(1), EPOCH.plus(39)), 1..3);
    assert_eq!(layout.ticks_inside(EPOCH.plus(1), EPOCH.plus(19)), 1..1);
    assert_eq!(layout.ticks_inside(UnixMillis::new(i64::MIN), UnixMillis::new(i64::MAX)), 0..4);
    assert!(layout.ticks_inside(EPOCH.plus(-50), EPOCH.plus(-10)).is_empty());
    assert!(layout.ticks_inside(EPOCH.plus(50), EPOCH.plus(90)).is_empty());
    assert!(layout.ticks_inside(EPOCH.plus(30), EPOCH.plus(10)).is_empty());
    assert_eq!(layout.positions(&(1..4)), 2..8);

    assert_eq!(layout.check_epoch(EPOCH), Ok(()));
    let now = EPOCH.plus(-1);
    assert_eq!(layout.check_epoch(now), Err(LayoutError::EpochAhead { epoch: EPOCH, now }));
}

/// Any layout that keeps the rules, of any order of fields.
fn any_layout() -> impl Strategy<Value = Layout> {
    let nodes = prop::collection::vec(1_u32..=8, 0..=4);
    let tick = prop_oneof![Just(1), Just(10), Just(1_000), 1_u64..=Layout::MAX_TICK_MILLIS];
    let bits = (1_u32..=45, 1_u32..=18);
    let order = any::<prop::sample::Selector>();
    (nodes, tick, bits, 0_i64..4_000_000_000_000, any::<bool>(), order)
        .prop_map(|(nodes, tick, (time, sequence), epoch, wide, order)| {
            let mut words: Vec<_> =
                nodes.iter().zip('a'..).map(|(bits, name)| format!("{name}:{bits}")).collect();
            words.push(format!("time:{time}"));
            words.push(format!("sequence:{sequence}"));
            // A shuffle: each word in turn, drawn from those that are left.
            let mut fields = Vec::new();
            while !words.is_empty() {
                let at = order.select(0..words.len());
                fields.push(words.remove(at));
            }
            let width = if wide { Width::Wide } else { Width::Narrow };
            Layout::new(&fields.join(" "), tick, UnixMillis::new(epoch), width)
        })
        .prop_filter_map("over 63 bits", Result::ok)
}

/// A layout with a tick, a worker and a sequence of its own.
fn any_parts() -> impl Strategy<Value = (Layout, u64, u64, u64)> {
    (any_layout(), any::<u64>(), any::<u64>(), any::<u64>()).prop_map(|(layout, tick, worker, sequence)| {
        let (tick, worker) = (tick % layout.ticks(), worker % layout.workers());
        let sequence = sequence % layout.per_tick();
        (layout, tick, worker, sequence)
    })
}

/// The presets with the sequence at the bottom; all have the time on top.
fn sequence_below() -> Vec<Layout> {
    let layouts = PRESETS.iter().map(|preset| preset.layout.clone());
    layouts.filter(|layout| layout.fields().last().map(Field::kind) == Some(FieldKind::Sequence)).collect()
}

proptest! {
    #[test]
    fn split_is_the_inverse_of_compose((layout, tick, worker, sequence) in any_parts()) {
        let id = layout.compose(tick, worker, sequence).unwrap();
        prop_assert_eq!(id >> layout.total_bits(), 0);
        let parts = layout.split(id).unwrap();
        prop_assert_eq!((parts.tick, parts.worker, parts.sequence), (tick, worker, sequence));
        prop_assert_eq!(parts.time, layout.time_of(tick));
        let whole = parts.fields.iter().fold(0, |id, part| id | u128::from(part.value) << part.field.shift());
        prop_assert_eq!(whole, id);
        let position = layout.position(tick, sequence);
        prop_assert_eq!(layout.place_wide(position, worker), id);
        prop_assert_eq!(layout.placer::<WideId>(worker).unwrap().place(position).get(), id);
        let key = layout.tick_key(layout.position(tick, 0), worker);
        prop_assert_eq!(WideId::place_in_tick(&layout, position, key).get(), id);
        if layout.width() == Width::Narrow {
            prop_assert_eq!(u128::from(layout.place(position, worker)), id);
            prop_assert_eq!(u128::from(layout.placer::<Id>(worker).unwrap().place(position)), id);
            prop_assert_eq!(u128::from(Id::place_in_tick(&layout, position, key)), id);
        }
        let named: Vec<_> = parts.fields.iter().filter(|part| part.field.kind() == FieldKind::Node)
            .map(|part| (part.field.name(), part.value)).collect();
        prop_assert_eq!(layout.worker_id(&named), Ok(worker));
    }

    #[test]
    fn compose_is_the_inverse_of_split(layout in any_layout(), id: u128) {
        let id = id & ((1 << layout.total_bits()) - 1);
        let parts = layout.split(id).unwrap();
        prop_assert_eq!(layout.compose(parts.tick, parts.worker, parts.sequence), Ok(id));
        let foreign = id | 1 << layout.total_bits();
        prop_assert!(layout.split(foreign).is_err());
    }

    #[test]
    fn ids_follow_positions_where_time_is_on_top_and_the_sequence_below(
        one: u64, other: u64, worker: u64, layout in prop::sample::select(sequence_below()),
    ) {
        let worker = worker % layout.workers();
        let (one, other) = (one % layout.end_position(), other % layout.end_position());
        let order = layout.place_wide(one, worker).cmp(&layout.place_wide(other, worker));
        prop_assert_eq!(order, one.cmp(&other));
    }

    #[test]
    fn time_lies_in_its_tick((layout, tick, _, _) in any_parts(), within: u64) {
        let start = layout.time_of(tick);
        let time = start.plus(i64::try_from(within % layout.tick_millis()).unwrap());
        prop_assert_eq!(layout.tick_at(time), Ok(tick));
        prop_assert!(layout.horizon() > time);
        let last = layout.horizon().plus(-1);
        prop_assert_eq!(layout.tick_at(last), Ok(layout.ticks() - 1));
        prop_assert!(layout.tick_at(layout.horizon()).is_err());
        prop_assert!(layout.tick_at(layout.epoch().plus(-1)).is_err());
    }

    #[test]
    fn ticks_inside_are_wholly_inside_and_no_more_would_be(
        (layout, tick, _, _) in any_parts(), before in -5_000_i64..5_000, length in 0_i64..200_000,
    ) {
        let start = layout.time_of(tick).plus(before);
        let end = start.plus(length);
        let ticks = layout.ticks_inside(start, end);
        prop_assert!(ticks.start <= ticks.end && ticks.end <= layout.ticks());
        let inside = |tick: u64| {
            tick < layout.ticks() && layout.time_of(tick) >= start && layout.time_of(tick + 1) <= end
        };
        if ticks.is_empty() {
            // None near the start of the span is inside it.
            let near = layout.tick_at(start).unwrap_or(0);
            prop_assert!(!inside(near) && !inside(near + 1));
        } else {
            prop_assert!(inside(ticks.start) && inside(ticks.end - 1));
            prop_assert!(ticks.start == 0 || !inside(ticks.start - 1));
            prop_assert!(!inside(ticks.end));
        }
    }

    #[test]
    fn windows_that_touch_share_no_tick((layout, tick, _, _) in any_parts(), cut in 0_i64..100_000) {
        let start = layout.time_of(tick);
        let (middle, end) = (start.plus(cut), start.plus(100_000));
        let (first, second) = (layout.ticks_inside(start, middle), layout.ticks_inside(middle, end));
        prop_assert!(first.is_empty() || second.is_empty() || first.end <= second.start);
    }

    #[test]
    fn a_span_of_time_has_its_ids_and_no_others((layout, tick, worker, sequence) in any_parts(), from in -5_000_i64..5_000, length in 0_i64..10_000) {
        let (time, id) = (layout.time_of(tick), layout.compose(tick, worker, sequence).unwrap());
        let (from, to) = (time.plus(from), time.plus(from + length));
        match layout.ids_between::<WideId>(from, to) {
            Ok(ids) => prop_assert_eq!(ids.contains(&WideId::from(id)), from <= time && time < to),
            Err(LayoutError::Unordered { .. }) => {
                prop_assert!(layout.fields().next().unwrap().kind() != FieldKind::Time);
            }
            Err(error) => prop_assert!(false, "{error}"),
        }
    }

    #[test]
    fn text_reads_back(layout in any_layout()) {
        let text = layout.to_string();
        prop_assert_eq!(text.parse::<Layout>(), Ok(layout));
    }

    #[test]
    fn what_reads_is_written_in_one_way(layout in any_layout(), at: prop::sample::Index, to in "[0-9a-z :=]") {
        let mut text = layout.to_string();
        let at = at.index(text.len());
        text.replace_range(at..=at, &to);
        if let Ok(read) = text.parse::<Layout>() {
            prop_assert_eq!(read.to_string().parse::<Layout>(), Ok(read.clone()));
        }
    }

    #[test]
    fn workers_hold_what_they_enumerate(bits in 0_u32..=12, one: u64, other: u64) {
        let (one, other) = (one % (1 << bits), other % (1 << bits));
        let (first, last) = (one.min(other), one.max(other));
        let workers = Workers::range(bits, first..=last).unwrap();
        prop_assert_eq!(workers.iter().collect::<Vec<_>>(), (first..=last).collect::<Vec<_>>());
        prop_assert!(!workers.contains(last + 1) && (first == 0 || !workers.contains(first - 1)));
    }
}
