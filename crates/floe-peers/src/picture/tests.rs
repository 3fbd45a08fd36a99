use super::{Bar, BarKind, Collision, Lane, Mark, MarkKind, Picture, Span, SpanKind, Stretch, draw, signed};

const S: u64 = 1_000_000;

fn span(from: u64, until: u64, kind: SpanKind) -> Span {
    Span { from_us: from, until_us: until, kind }
}

fn mark(at_us: u64, kind: MarkKind, label: &str) -> Mark {
    Mark { at_us, kind, label: label.into() }
}

fn mints(from: u64, until: u64, each: u64) -> impl Iterator<Item = Mark> {
    (from..until).step_by(usize::try_from(each).expect("small")).map(|at| mark(at, MarkKind::Mint, ""))
}

fn bar(kind: BarKind, held: (u64, u64), subject: u64, label: &str, covers: &[(i64, i64)]) -> Bar {
    let covers = covers.iter().map(|&(from_us, until_us)| Stretch { from_us, until_us }).collect();
    Bar { from_us: held.0, until_us: held.1, kind, label: label.into(), subject, covers }
}

/// A worker id passes to a node with a clock that is behind.
fn two_owners() -> Picture {
    let mut first = Lane {
        label: "node 0".into(),
        bars: vec![bar(BarKind::Claim, (S / 5, 12 * S), 5, "worker id 5", &[(200_000, 12_000_000)])],
        spans: vec![span(12 * S, 30 * S, SpanKind::Down)],
        marks: vec![mark(S / 5, MarkKind::Start, ""), mark(12 * S, MarkKind::Crash, "crash")],
    };
    first.marks.extend(mints(S / 2, 12 * S, 130_000));
    let mut second = Lane {
        label: "node 1".into(),
        bars: vec![
            bar(BarKind::Claim, (S / 5, 13 * S), 6, "worker id 6", &[(200_000, 13_000_000)]),
            bar(BarKind::Claim, (16 * S, 30 * S), 5, "worker id 5", &[(10_500_000, 24_500_000)]),
        ],
        spans: vec![span(13 * S, 16 * S, SpanKind::Down)],
        marks: vec![
            mark(S / 5, MarkKind::Start, ""),
            mark(13 * S, MarkKind::Stop, "stop"),
            mark(14 * S, MarkKind::ClockStep(-5_500), ""),
            mark(16 * S, MarkKind::Start, "start: takes the free worker id"),
        ],
    };
    second.marks.extend(mints(S / 2, 13 * S, 210_000));
    second.marks.extend(mints(16 * S, 30 * S, 210_000));
    let third = Lane {
        label: "node 2".into(),
        bars: vec![bar(BarKind::Claim, (S / 2, 30 * S), 7, "worker id 7", &[(500_000, 30_000_000)])],
        spans: vec![span(20 * S, 24 * S, SpanKind::Paused)],
        marks: mints(S, 20 * S, 500_000).chain(mints(24 * S, 30 * S, 500_000)).collect(),
    };
    Picture {
        title: "A lease-based snowflake: one worker id, two owners".into(),
        subtitle: "seed 4711, 3 nodes, 30 s; made up for a test".into(),
        from_us: 0,
        until_us: 30 * S,
        lanes: vec![first, second, third],
        store: Some(Lane { label: "store".into(), ..Lane::default() }),
        collision: Some(Collision {
            id: "7241960013488128".into(),
            mints: vec![(0, 11_420_000), (1, 16_920_000)],
            stamp_us: Some(11_420_000),
            words: "Node 1 took over worker id 5 with a clock that was 5.5 s behind, and minted 7241960013488128 again \
                    5.5 s after node 0 had."
                .into(),
        }),
    }
}

/// Windows that are renewed in time, through a crash and a wrong clock.
fn windows() -> Picture {
    let window = |slot: u64, from: u64, until: u64, start: i64| {
        let end = start + 6_000_000;
        let label = format!("slot {slot}");
        bar(BarKind::Window, (from, until), slot, &label, &[(start, end)])
    };
    let mut first = Lane { label: "node 0".into(), ..Lane::default() };
    let mut start = 400_000;
    for from in [2, 20, 50, 80] {
        first.bars.push(window(0, from * S / 10, (from + 60) * S / 10, start));
        start += 6_000_000;
    }
    first.bars.truncate(3);
    first.marks.extend(mints(S / 2, 11 * S, 40_000));
    first.marks.push(mark(11 * S, MarkKind::Crash, "crash"));
    first.spans.push(span(11 * S, 15 * S, SpanKind::Down));
    first.marks.push(mark(15 * S, MarkKind::Start, "start"));
    first.bars.push(window(0, 15 * S, 21 * S, 18_400_000));
    first.bars.push(window(0, 18 * S, 24 * S, 24_400_000));
    first.marks.extend(mints(15_200_000, 24 * S, 40_000));
    let mut second = Lane { label: "node 1".into(), ..Lane::default() };
    second.bars.push(window(1, S / 5, 6 * S, 500_000));
    second.bars.push(window(1, 3 * S, 12 * S, 6_500_000));
    second.bars.push(window(1, 9 * S, 18 * S, 3_612_500_000));
    second.bars.push(bar(BarKind::Segment, (S, 22 * S), 40, "orders 101..201", &[]));
    second.marks.push(mark(8 * S, MarkKind::ClockStep(3_600_000), ""));
    second.marks.push(mark(13 * S, MarkKind::Fault, "replies lost"));
    second.spans.push(span(13 * S, 17 * S, SpanKind::Partitioned));
    second.spans.push(span(19 * S, 21 * S, SpanKind::Paused));
    second.marks.extend(mints(S / 2, 16 * S, 90_000));
    second.marks.extend((0..8).map(|count| mark(17 * S + count * 100_000, MarkKind::Refused, "no window")));
    second.marks.extend(mints(21 * S, 24 * S, 90_000));
    Picture {
        title: "floe: windows of time".into(),
        subtitle: "seed 12, 2 nodes, 24 s; made up for a test".into(),
        from_us: 0,
        until_us: 24 * S,
        lanes: vec![first, second],
        store: Some(Lane {
            label: "ledger".into(),
            spans: vec![span(9 * S, 10 * S, SpanKind::Down)],
            marks: vec![mark(9 * S, MarkKind::Crash, "restart"), mark(20 * S, MarkKind::Fault, "failover")],
            ..Lane::default()
        }),
        collision: None,
    }
}

/// A node with a clock that goes back past its last mint.
fn rollback() -> Picture {
    let mut lane = Lane {
        label: "node 0".into(),
        bars: vec![bar(
            BarKind::Claim,
            (0, 10 * S),
            1,
            "worker id 1",
            &[(0, 6_000_000), (3_000_000, 7_000_000)],
        )],
        marks: vec![mark(6 * S, MarkKind::ClockStep(-3_000), "by hand")],
        ..Lane::default()
    };
    lane.marks.extend(mints(S / 2, 10 * S, 50_000));
    Picture {
        title: "A generator without memory".into(),
        until_us: 10 * S,
        lanes: vec![lane],
        collision: Some(Collision {
            id: "4503599627374592".into(),
            mints: vec![(0, 4_500_000), (0, 7_500_000)],
            stamp_us: Some(4_500_000),
            words: "The clock went back 3.0 s, and the node minted that time again.".into(),
        }),
        ..Picture::default()
    }
}

/// Every start tag has its end, and no text has an unescaped special character.
fn well_formed(svg: &str) {
    let mut open = Vec::new();
    let mut rest = svg;
    while let Some(start) = rest.find('<') {
        assert!(!rest[..start].contains('>'), "{}", &rest[..start]);
        let end = start + rest[start..].find('>').expect("a tag's end");
        let tag = &rest[start + 1..end];
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name.to_owned()));
        } else if !tag.ends_with('/') {
            open.push(name.to_owned());
        }
        rest = &rest[end + 1..];
    }
    assert_eq!(open, Vec::<String>::new());
}

#[test]
fn the_same_picture_is_the_same_text() {
    for picture in [two_owners(), windows(), rollback()] {
        assert_eq!(draw(&picture), draw(&picture.clone()));
        well_formed(&draw(&picture));
    }
}

#[test]
fn an_empty_history_is_drawn() {
    let svg = draw(&Picture::default());
    well_formed(&svg);
    assert!(svg.starts_with("<svg "));
    let svg = draw(&Picture { lanes: vec![Lane::default()], ..Picture::default() });
    well_formed(&svg);
}

#[test]
fn text_is_escaped() {
    let hostile = "</text><script>\"&'\u{0}\u{ffff}";
    let mut picture = two_owners();
    picture.title = hostile.into();
    picture.subtitle = hostile.into();
    picture.lanes[0].label = hostile.into();
    picture.lanes[0].bars[0].label = hostile.into();
    picture.lanes[0].marks[1].label = hostile.into();
    let collision = picture.collision.as_mut().expect("it has one");
    collision.id = hostile.into();
    collision.words = hostile.into();
    let svg = draw(&picture);
    well_formed(&svg);
    assert!(!svg.contains("<script"));
    assert!(!svg.contains(['\u{0}', '\u{ffff}']));
    assert!(svg.contains("&lt;/text&gt;&lt;script&gt;&quot;&amp;&#39; \u{fffd}"));
}

#[test]
fn every_kind_is_drawn_and_explained() {
    let first = draw(&two_owners());
    for words in [
        ">mint<",
        ">crash<",
        ">start<",
        ">stop<",
        ">wall clock steps<",
        ">clock -5.5 s<",
        ">down<",
        ">paused<",
        ">worker id 5<",
        ">claim on a worker id<",
        ">the time that a bar covers<",
        ">one worker id&#39;s time, covered twice<",
        ">one ID, minted twice<",
        ">7241960013488128<",
        ">the time in the ID<",
    ] {
        assert!(first.contains(words), "{words}");
    }
    let second = draw(&windows());
    for words in [
        ">fault<",
        ">replies lost<",
        ">error to a caller<",
        ">cut off<",
        ">slot 0<",
        ">orders 101..201<",
        ">window of time<",
        ">segment of numbers<",
        ">failover<",
        ">clock +60.0 min<",
    ] {
        assert!(second.contains(words), "{words}");
    }
    assert!(!second.contains("covered twice"), "no two windows share time");
}

#[test]
fn dense_mints_are_thinned() {
    let count = |each| {
        let marks = mints(0, 10 * S, each).collect();
        let lanes = vec![Lane { marks, ..Lane::default() }];
        draw(&Picture { until_us: 10 * S, lanes, ..Picture::default() }).len()
    };
    assert!(count(100) < 60_000, "{}", count(100));
    assert!(count(1_000_000) < count(100));
}

#[test]
fn a_bar_with_no_end_and_a_time_past_the_picture_stay_inside() {
    let covers = [(i64::MIN, i64::MAX), (i64::MIN, -5), (S.cast_signed() * 9, i64::MAX)];
    let lanes = vec![Lane {
        bars: vec![bar(BarKind::Claim, (0, u64::MAX), 1, "for ever", &covers)],
        marks: vec![mark(u64::MAX, MarkKind::Crash, "later")],
        ..Lane::default()
    }];
    let svg = draw(&Picture { until_us: S, lanes, ..Picture::default() });
    well_formed(&svg);
    assert!(svg.contains(">+8.0 s<"));
    assert!(!svg.contains("later"));
}

#[test]
fn times_are_written_in_the_unit_that_fits() {
    let written = [0, -250, 1_500, -119_900, 120_000, 7_200_000].map(signed);
    assert_eq!(written, ["+0 ms", "-250 ms", "+1.5 s", "-119.9 s", "+2.0 min", "+2.0 h"]);
}
