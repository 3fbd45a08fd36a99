//! No value that a program can name makes floe panic: it is taken, or refused with an error.

use std::time::Duration;

use floe::form::Form;
use floe::ledger::{Key, Memory, Reserve, Token};
use floe::{
    ClockPolicy, DateFormat, DatedShape, Definition, Floe, Generator, Given, Handle, Kind, Layout,
    MonoMillis, Name, NameOptions, Overflow, Owner, Properties, Registered, Segment, Start, UnixMillis,
    WideId, WorkerChoice,
};
use proptest::prelude::*;

/// Numbers near the edges as often as any others.
fn edge() -> impl Strategy<Value = u64> {
    prop_oneof![
        prop::sample::select(vec![0, 1, u64::MAX]),
        any::<u64>(),
        (0_u32..64).prop_map(|bit| 1 << bit),
        (0_u32..64).prop_map(|bit| (1 << bit) - 1),
        0_u64..2000,
    ]
}

fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        edge().prop_map(Duration::from_millis),
        edge().prop_map(Duration::from_nanos),
        Just(Duration::ZERO),
        Just(Duration::MAX),
    ]
}

fn start() -> impl Strategy<Value = Option<Start>> {
    prop_oneof![
        Just(None),
        Just(Some(Start::Zero)),
        Just(Some(Start::Rolling)),
        edge().prop_map(|below| Some(Start::Random(below))),
    ]
}

prop_compose! {
    fn options()(start in start(), max_ahead in duration(), steps in [edge(), edge()], refill in duration()) -> NameOptions {
        NameOptions { start, max_ahead, min_step: steps[0], max_step: steps[1], refill }
    }
}

fn worker() -> impl Strategy<Value = WorkerChoice> {
    prop_oneof![
        Just(WorkerChoice::Auto),
        edge().prop_map(WorkerChoice::Fixed),
        (edge(), edge()).prop_map(|(first, last)| WorkerChoice::Pool(first..=last)),
        ("datacenter|worker|x", edge())
            .prop_map(|(field, value)| WorkerChoice::Pinned([(field, value)].into())),
    ]
}

fn layout() -> impl Strategy<Value = Layout> {
    prop::sample::select(vec![
        "twitter",
        "sonyflake",
        "baidu",
        "javascript",
        "game wide",
        "time:62 worker:1 tick=1ms epoch=1970-01-01T00:00:00Z",
        "time:1 worker:1 sequence:60 tick=86400s epoch=2026-01-01T00:00:00Z",
        "time:41 worker:2 sequence:20 tick=1ms epoch=9998-12-31T00:00:00Z",
        "time:31 worker:32 sequence:32 tick=1s epoch=2020-01-01T00:00:00Z wide",
    ])
    .prop_filter_map("a layout", |text| text.parse().ok())
}

fn definition() -> impl Strategy<Value = Definition> {
    let plain = prop_oneof![
        (layout(), any::<bool>()).prop_map(|(layout, own)| Definition::Snowflake { layout, own }),
        (edge(), edge()).prop_map(|(increment, offset)| Definition::Segment { increment, offset }),
        Just(Definition::Counter),
        shape().prop_map(Definition::Dated),
        given().prop_filter_map("settings that fit", |(kind, given)| kind.define(&given, &mut |_, _| ())),
    ];
    (
        plain,
        prop::sample::select(vec![
            "",
            "decimal",
            "base62 bits=1",
            "base62 bits=64 width=11",
            "uuid8 bits=122",
            "sqids bits=63",
        ]),
    )
        .prop_filter_map("a form that fits", |(plain, form)| match form.parse::<Form>() {
            Ok(form) => plain.in_form(form).ok(),
            Err(_) => Some(plain),
        })
}

/// Settings of a kind, each left out, fitting or not.
fn given() -> impl Strategy<Value = (Kind, Given)> {
    let kind = prop::sample::select(Kind::ALL.to_vec());
    let value = prop_oneof![
        Just(None),
        Just(Some("true".to_owned())),
        edge().prop_map(|number| Some(number.to_string())),
        ".{0,70}".prop_map(Some),
    ];
    (kind, prop::collection::vec(value, 8)).prop_map(|(kind, values)| {
        let mut given = Given::default();
        for (setting, value) in kind.settings().iter().zip(values) {
            value.into_iter().for_each(|value| given.set(setting.key, value));
        }
        (kind, given)
    })
}

fn shape() -> impl Strategy<Value = DatedShape> {
    let dates = vec![DateFormat::Day, DateFormat::Month, DateFormat::Year];
    (prop::sample::select(dates), 1_u8..=10, "[A-Z]{0,4}").prop_map(|(date, digits, prefix)| {
        DatedShape::with_date(date, "UTC", digits, &prefix, Overflow::Refuse).unwrap()
    })
}

/// One ID and some, without a wait.
fn try_all(handle: &Handle, count: u64) {
    if let Some(generator) = handle.get::<Generator>() {
        let _ = (
            generator.try_mint(),
            generator.try_mint_many(count).map(|batch| batch.map(|mut ids| ids.next())),
        );
        let _ = generator.minter().try_mint();
    }
    if let Some(generator) = handle.get::<Generator<WideId>>() {
        let _ = (
            generator.try_mint(),
            generator.try_mint_many(count).map(|batch| batch.map(|mut ids| ids.next())),
        );
    }
    if let Some(segment) = handle.get::<Segment>() {
        let _ = segment.try_mint_many(count).map(|batch| batch.map(|mut ids| ids.next()));
    }
    let _ = handle.mint_many(count % 100).map(|_| ());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn texts_and_numbers(text in ".{0,40}|[a-z0-9:=./ -]{0,40}", numbers in [edge(), edge()], bytes: [u8; 16], digits: u8, wide: u128) {
        let [first, second] = numbers;
        let _ = (Name::new(&text), text.parse::<Start>(), text.parse::<WorkerChoice>(), text.parse::<Definition>(), Definition::called(&text));
        let _ = (text.parse::<DateFormat>(), DatedShape::new(&text, digits, &text, Overflow::Widen), DatedShape::new("UTC", digits, &text, Overflow::Refuse));
        let _ = (Registered::new(&text, Properties::default()), Properties::default().with(&text, &text), floe::reserved_name(&text));
        let _ = (Token::from_bytes(bytes), Key::slot(digits.into(), first).as_str().len(), Key::parse_slot(&text), Name::is_note(&text));
        let _ = (Owner::this_process(&text).to_string(), text.parse::<Owner>());
        let (mono, wall) = (MonoMillis::new(first), UnixMillis::from_position(second));
        let _ = (mono.plus(second), mono.since(MonoMillis::new(second)), wall.plus(i64::MAX), wall.since(UnixMillis::new(i64::MIN)));
        let _ = (WideId::new(wide).to_string(), ClockPolicy { wait_ms: first, max_hold_ms: second });
        if let Ok(definition) = text.parse::<Definition>() {
            let _ = (definition.check(), definition.read(&text).map(|_| ()), definition.position_of(first), definition.number_at(first));
        }
    }

    #[test]
    fn definitions(definition in definition(), text in "[A-Z0-9a-z]{0,30}", number in edge(), wide: u128) {
        let _ = (definition.check(), definition.to_string(), definition.read(&text).map(|_| ()), definition.unformed_text(wide));
        let _ = (definition.position_of(number), definition.number_at(number), definition.begin_position(number), definition.form_bits());
        if let Definition::Dated(shape) = &definition {
            let id = shape.id_at(number);
            let _ = (shape.read(&text), id.as_ref().map(ToString::to_string), id.and_then(|id| id.number()));
        }
    }

    #[test]
    fn requests_of_a_ledger(floor in edge(), count in edge(), max_mark in edge(), at_least in edge(), create: bool) {
        use floe::ledger::{Ledger, Mark};

        let ledger = Memory::default();
        let key = Key::name(&Name::new("orders").unwrap());
        let token = Token::random().unwrap();
        let request = Reserve { key: key.clone(), floor, count, max_mark, token, create, note: None };
        for _ in 0..3 {
            let _ = ledger.reserve(&request);
        }
        let _ = Mark::reserve(None, &request).map(|(_, mark)| mark.map(|mark| (mark.give_back(token, at_least), mark.raise(&key, at_least).is_ok())));
    }
}

/// Every edge with every other, since one that is refused hides the rest.
#[test]
fn edges_of_how_a_snowflake_is_minted() {
    let edges = [0, 1, 7, u64::MAX];
    let starts = [None, Some(Start::Zero), Some(Start::Rolling)];
    let floe = Floe::builder().max_wait(Duration::from_millis(5)).open(Memory::default()).unwrap();
    let mut minted = 0;
    for text in ["twitter", "javascript", "time:41 worker:1 sequence:1 tick=1ms epoch=2020-01-01T00:00:00Z"] {
        for start in starts.into_iter().chain(edges.map(|below| Some(Start::Random(below)))) {
            for max_ahead in edges.map(Duration::from_millis).into_iter().chain([Duration::MAX]) {
                let options = NameOptions { start, max_ahead, ..NameOptions::default() };
                let name =
                    Name::new(&format!("{text}-{start:?}-{max_ahead:?}").replace([' ', '/'], "")).unwrap();
                let definition = Definition::Snowflake { layout: text.parse().unwrap(), own: true };
                if let Ok(handle) = floe.define(&name, &definition, &options) {
                    minted += usize::from(handle.mint_many(1).is_ok());
                }
            }
        }
    }
    assert!(minted > 30, "{minted} were taken");
}

proptest! {
    // Each of them opens a floe, which has a thread.
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn settings_and_definitions_of_a_floe(
        window in duration(), rollback in [duration(), duration()], renew_idle: bool, worker in worker(), instance in "[a-z]{0,9}|.{0,4}",
        definition in definition(), options in options(), count in edge(), first in edge(),
    ) {
        let builder = Floe::builder().max_wait(Duration::from_millis(5)).renew_idle(renew_idle).instance(instance);
        let [max_hold, rollback_wait] = rollback;
        // Each alone, since one that is refused hides all others.
        for builder in [
            builder.clone(), builder.clone().window(window), builder.clone().worker(worker),
            builder.clone().max_hold(max_hold), builder.rollback_wait(rollback_wait),
        ] {
            let Ok(floe) = builder.open(Memory::default()) else { continue };
            let name = Name::new("orders").unwrap();
            if let Ok(handle) = floe.define(&name, &definition, &options) {
                let _ = floe.begin_at(&handle, first);
                try_all(&handle, count);
                floe.invalidate();
                try_all(&handle, 1);
            }
            let _ = floe.status();
            floe.close();
        }
        let _ = Floe::unguarded(first).map(|floe| floe.close());
    }

    #[test]
    fn any_patience(max_wait in duration()) {
        let floe = Floe::builder().max_wait(max_wait).open(Memory::default()).unwrap();
        let _ = floe.segment("orders").unwrap().mint();
        let _ = floe.counter("visits").unwrap().mint();
    }
}
