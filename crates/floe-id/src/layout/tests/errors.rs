//! What cannot be has its own error, and the error says what to do.

use super::*;

fn new(fields: &str) -> LayoutError {
    Layout::new(fields, 1, EPOCH, Width::Narrow).unwrap_err()
}

fn read(text: &str) -> LayoutError {
    text.parse::<Layout>().unwrap_err()
}

#[test]
fn fields_that_break_a_rule() {
    let owned = str::to_owned;
    assert_eq!(new("time:41 worker sequence:12"), LayoutError::Word { word: owned("worker") });
    for name in ["", "Worker", "1st", "_a", "a-b", "ä", "abcdefghijklmnopq"] {
        assert_eq!(
            new(&format!("time:9 {name}:1 sequence:1")),
            LayoutError::FieldName { field: owned(name) }
        );
    }
    assert!(Layout::new("time:9 abcdefghijklmnop:1 sequence:1", 1, EPOCH, Width::Narrow).is_ok());
    for bits in ["", "0", "-1", "+1", "01", "1.5", "x", "129", "4294967296", "1:2"] {
        let error = new(&format!("time:{bits} sequence:1"));
        assert_eq!(error, LayoutError::FieldBits { field: owned("time"), bits: owned(bits) });
    }
    let spec = owned("time:9 a:1 a:2 sequence:1");
    assert_eq!(new(&spec), LayoutError::FieldTwice { field: owned("a"), spec });
    let spec = owned("time:9 time:9 sequence:1");
    assert_eq!(new(&spec), LayoutError::FieldTwice { field: owned("time"), spec });
    let nine = "time:9 a:1 b:1 c:1 d:1 e:1 f:1 g:1 sequence:1";
    assert_eq!(new(nine), LayoutError::TooManyFields { count: 9 });
    let (spec, example) = (owned("worker:5 sequence:5"), 41);
    assert_eq!(new(&spec), LayoutError::FieldMissing { field: "time", example, spec });
    let (spec, example) = (owned("time:5 worker:5"), 12);
    assert_eq!(new(&spec), LayoutError::FieldMissing { field: "sequence", example, spec });
    assert!(matches!(new(""), LayoutError::FieldMissing { field: "time", .. }));
    assert_eq!(new("time:9 a:20 b:13 sequence:1"), LayoutError::WorkerBits { bits: 33 });
    assert!(Layout::new("time:9 a:20 b:12 sequence:1", 1, EPOCH, Width::Narrow).is_ok());

    let wide = |fields| Layout::new(fields, 1, EPOCH, Width::Wide);
    let spec = owned("time:41 w:5 sequence:23");
    assert_eq!(wide(&spec), Err(LayoutError::PositionBits { spec: spec.clone(), bits: 64 }));
    assert!(wide("time:41 w:32 sequence:22").is_ok());
    assert!(matches!(wide("time:100 w:29 sequence:1"), Err(LayoutError::TooWide(wide)) if wide.limit == 128));
}

#[test]
fn ticks_and_epochs_that_break_a_rule() {
    let new = |tick, epoch| Layout::new("time:41 sequence:12", tick, UnixMillis::new(epoch), Width::Narrow);
    assert_eq!(new(0, 0), Err(LayoutError::Tick { millis: 0 }));
    assert_eq!(new(86_400_001, 0), Err(LayoutError::Tick { millis: 86_400_001 }));
    assert_eq!(new(1, -1), Err(LayoutError::Epoch { epoch: UnixMillis::new(-1) }));
    assert!(matches!(new(1, i64::MAX), Err(LayoutError::Epoch { .. })));
    assert!(new(1, 253_370_764_800_000).is_ok());
    assert!(new(1, 253_370_764_800_001).is_err());
    // 2^62 ms end before the clock does, 2^62 ticks of 10 ms do not.
    let long = |tick| Layout::new("time:62 sequence:1", tick, EPOCH, Width::Narrow);
    assert!(long(1).is_ok());
    assert_eq!(long(10), Err(LayoutError::Lifetime { bits: 62, tick: "10ms".to_owned(), epoch: EPOCH }));

    for text in [
        "",
        "1",
        "ms",
        "s",
        "0ms",
        "1m",
        "1.5s",
        "-1ms",
        "+1ms",
        " 1ms",
        "1 ms",
        "86401s",
        "99999999999999999999s",
    ] {
        assert_eq!(parse_tick(text), Err(LayoutError::TickText { text: text.to_owned() }), "{text:?}");
    }
    assert_eq!(
        (parse_tick("1ms"), parse_tick("86400s"), parse_tick("1000ms")),
        (Ok(1), Ok(86_400_000), Ok(1_000))
    );
    for text in
        ["", "2020", "2020-01-01", "2020-01-01T00:00:00", "2020-13-01T00:00:00Z", "2020-01-01T00:00:00.0001Z"]
    {
        assert!(matches!(parse_epoch(text), Err(LayoutError::EpochText { .. })), "{text:?}");
    }
    let error = parse_epoch("1288834974657").unwrap_err().to_string();
    assert!(error.contains("it is 2010-11-04T01:42:54.657Z"), "{error}");
    assert_eq!(parse_epoch("2020-01-01T00:00:00+08:00"), Ok(UnixMillis::new(1_577_808_000_000)));
}

#[test]
fn texts_that_are_no_layout() {
    let word = |word: &str| LayoutError::Word { word: word.to_owned() };
    let fields = "time:41 sequence:12";
    assert_eq!(read(&format!("{fields} tick=1ms epoch=2020-01-01T00:00:00Z narrow")), word("narrow"));
    assert_eq!(read(&format!("{fields} tick=1ms tick=1ms epoch=2020-01-01T00:00:00Z")), word("tick=1ms"));
    assert_eq!(read(&format!("{fields} tick=1ms epoch=2020-01-01T00:00:00Z a:1")), word("a:1"));
    assert_eq!(read(&format!("{fields} step=1")), word("step=1"));
    assert_eq!(read(&format!("wide {fields} tick=1ms epoch=2020-01-01T00:00:00Z")), word("wide"));
    assert!(matches!(read(fields), LayoutError::Unsaid { what: "tick=1ms", .. }));
    assert!(matches!(read(&format!("{fields} tick=1ms")), LayoutError::Unsaid { .. }));
    assert!(matches!(read("wide"), LayoutError::UnknownPreset { .. }));
    assert!(matches!(read(""), LayoutError::Unsaid { .. }));
    assert_eq!(read("twitter sequence:10"), word("sequence:10"));
    assert_eq!(read("twitter epoch=2020-01-01T00:00:00Z twitter"), word("twitter"));
    assert_eq!(read("twitter tick=1ms tick=1ms"), word("tick=1ms"));
    assert!(matches!(read("twitter epoch=2020"), LayoutError::EpochText { .. }));
    assert!(matches!(read("twiter epoch=2020-01-01T00:00:00Z"), LayoutError::UnknownPreset { .. }));
    let error = read("twiter").to_string();
    assert!(
        error.starts_with("there is no preset `twiter` (`twitter` is near): write one of twitter, leaf,"),
        "{error}"
    );
    let error = read("zzz").to_string();
    assert!(error.starts_with("there is no preset `zzz`: write one of"), "{error}");
}

#[test]
fn values_that_do_not_fit() {
    let (layout, of) = (
        Layout::TWITTER,
        "`time:41 datacenter:5 worker:5 sequence:12 tick=1ms epoch=2010-11-04T01:42:54.657Z`",
    );
    let text = |error: LayoutError| error.to_string();
    let worker = format!("the worker id 1024 does not fit: it is 0..=1023 in {of}");
    assert_eq!(text(layout.check_worker(1_024).unwrap_err()), worker);
    assert_eq!(text(layout.compose(0, 1_024, 0).unwrap_err()), worker);
    let sequence = format!("the sequence number 4096 does not fit: it is 0..=4095 in {of}");
    assert_eq!(text(layout.compose(0, 0, 4_096).unwrap_err()), sequence);
    let tick = format!("the tick 2199023255552 does not fit: it is 0..=2199023255551 in {of}");
    assert_eq!(text(layout.compose(1 << 41, 0, 0).unwrap_err()), tick);
    assert!(layout.compose(u64::MAX, u64::MAX, u64::MAX).is_err());
    let foreign = format!(
        "{} is not an ID of {of}: it has bits set above the lowest 63, and the layout has no more",
        1_u128 << 63
    );
    assert_eq!(text(layout.split(1 << 63).unwrap_err()), foreign);
    assert!(Layout::JAVASCRIPT.split(1 << 53).is_err());
    assert!(layout.split(u128::MAX).is_err());

    let value = format!("the value 32 does not fit the field `datacenter`: it is 0..=31 in {of}");
    assert_eq!(text(layout.worker_id(&[("datacenter", 32), ("worker", 0)]).unwrap_err()), value);
    let unknown = format!("there is no node field `rack` in {of}: it has datacenter, worker");
    assert_eq!(text(layout.pinned(&[("rack".to_owned(), 1)].into()).unwrap_err()), unknown);
    assert!(matches!(layout.pinned(&[("time".to_owned(), 1)].into()), Err(LayoutError::UnknownField { .. })));
    let missing =
        format!("the node field `worker` is missing: give every node field of {of} exactly one value");
    assert_eq!(text(layout.worker_id(&[("datacenter", 1)]).unwrap_err()), missing);
    let twice = layout.worker_id(&[("worker", 1), ("datacenter", 1), ("worker", 1)]).unwrap_err();
    assert!(matches!(twice, LayoutError::NodeFields { problem: "comes twice", .. }));
    let none = Layout::MASTODON.worker_id(&[("worker", 0)]).unwrap_err().to_string();
    assert!(none.ends_with("it has none, and so one worker id, 0"), "{none}");

    let pool = text(Workers::range(10, 512..=1_024).unwrap_err());
    assert_eq!(pool, "the worker id 1024 does not fit: it is 0..=1023 in a layout with 10 worker bits");
    assert!(matches!(Workers::one(0, 1), Err(LayoutError::WorkerOutOfRange { max: 0, .. })));
    let (first, last) = (5, 4);
    assert_eq!(Workers::range(10, first..=last), Err(LayoutError::NoWorkers { first, last }));
    assert_eq!(Workers::all(33), Err(LayoutError::WorkerBits { bits: 33 }));
}

#[test]
fn the_game_layout_is_answered_with_both_facts_and_a_way_out() {
    let error = new("time:37 server:20 sequence:16");
    let text = error.to_string();
    assert!(
        text.starts_with("the layout `time:37 server:20 sequence:16` has 73 bits, and 63 fit a 64-bit ID"),
        "{text}"
    );
    assert!(text.contains("2^37 ticks of 1ms are 4.35 years"), "{text}");
    assert!(
        text.contains(
            "`time:37 server:10 sequence:16 tick=1ms`: 1,024 workers in place of 1,048,576 (lasts 4.35 years;"
        ),
        "{text}"
    );
    assert!(text.contains("`time:41 server:13 sequence:9 tick=1ms`"), "{text}");
    assert!(text.contains("ticks of 1s in place of 1ms"), "{text}");
    let LayoutError::TooWide(too_wide) = error else { panic!("{error}") };
    let wide = too_wide.wide.unwrap();
    assert_eq!((wide.spec(), wide.width()), ("time:37 server:20 sequence:16".to_owned(), Width::Wide));
    assert_eq!(wide.spec(), Layout::GAME.spec());
}

/// What is too wide is answered with layouts that keep the rules and give something up.
fn check_proposals(fields: &str, tick: u64) -> Result<(), TestCaseError> {
    let Err(LayoutError::TooWide(too_wide)) = Layout::new(fields, tick, EPOCH, Width::Narrow) else {
        return Ok(());
    };
    prop_assert!(!too_wide.proposals.is_empty(), "{}", too_wide);
    for proposal in &too_wide.proposals {
        let Proposal { layout, gives_up } = proposal;
        prop_assert!(!gives_up.is_empty(), "{}", proposal);
        prop_assert!(layout.total_bits() <= 63 && layout.width() == Width::Narrow);
        prop_assert_eq!(layout.to_string().parse::<Layout>(), Ok(layout.clone()));
        let names = |spec: &str| {
            spec.split(' ').filter_map(|f| Some(f.split_once(':')?.0.to_owned())).collect::<Vec<_>>()
        };
        prop_assert_eq!(names(&layout.spec()), names(fields));
    }
    Ok(())
}

proptest! {
    #[test]
    fn proposals_fit(time in 1_u32..=128, a in 1_u32..=128, b in 1_u32..=128, sequence in 1_u32..=128, tick in 1_u64..=100_000) {
        check_proposals(&format!("time:{time} a:{a} sequence:{sequence} b:{b}"), tick)?;
        check_proposals(&format!("a:{a} time:{time} sequence:{sequence}"), tick)?;
        check_proposals(&format!("time:{time} sequence:{sequence}"), 1)?;
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,60}") {
        prop_assert!(text.parse::<Layout>().is_err() || Layout::preset(text.trim()).is_some());
    }
}
