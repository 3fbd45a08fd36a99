//! Dated names through the public face. What takes days is tested on a clock that is moved (`node/tests/dated.rs`).

use std::thread;

use floe::ledger::Memory;
use floe::{DateFormat, DatedShape, Definition, DefinitionError, Floe, MintError, Overflow};
use jiff::civil::{Date, date};
use proptest::prelude::*;

fn shape(zone: &str, digits: u8) -> DatedShape {
    DatedShape::new(zone, digits, "INV", Overflow::Refuse).unwrap()
}

#[test]
fn it_counts_the_day_of_its_zone_from_one() {
    let floe = Floe::open(Memory::default()).unwrap();
    // The two zones are 26 hours apart: never on one date.
    let early = floe.dated("early", shape("Pacific/Kiritimati", 6)).unwrap();
    let late = floe.dated("late", shape("Etc/GMT+12", 6)).unwrap();
    let (first, second) = (early.mint().unwrap(), early.mint().unwrap());
    assert!(late.mint().unwrap().date() < first.date());
    // At most one midnight lies between two calls.
    let counters = (first.counter(), second.counter());
    assert!(counters == (1, 2) || counters == (1, 1) && first.date() < second.date(), "{counters:?}");
    let text = first.to_string();
    assert!(text.starts_with("INV2") && text.ends_with("000001") && text.len() == 17, "{text}");
    assert_eq!(first.number().unwrap().to_string(), text["INV".len()..]);
}

#[test]
fn threads_and_floes_never_repeat_and_never_go_back() {
    let ledger = Memory::default();
    let floes = [Floe::open(ledger.clone()).unwrap(), Floe::open(ledger).unwrap()];
    let mut all: Vec<String> = thread::scope(|scope| {
        let mint = |floe: &Floe| {
            let dated = floe.dated("invoice", shape("UTC", 8)).unwrap();
            move || {
                let minted: Vec<_> = (0..300).map(|_| dated.mint().unwrap().to_string()).collect();
                assert!(minted.windows(2).all(|pair| pair[0] < pair[1]));
                minted
            }
        };
        let threads: Vec<_> = (0..6).map(|n| scope.spawn(mint(&floes[n % 2]))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!((all.len(), count), (1_800, 1_800));
}

#[test]
fn a_batch_over_the_digits_is_refused_and_loses_nothing() {
    let floe = Floe::open(Memory::default()).unwrap();
    let dated = floe.dated("invoice", shape("UTC", 3)).unwrap();
    let Err(MintError::Exhausted(text)) = dated.mint_many(1_000) else {
        panic!("a thousand in three digits")
    };
    assert!(text.contains("999 numbers left") && text.contains("3 digits") && text.contains("UTC"), "{text}");
    let mut batch = dated.mint_many(999).unwrap();
    assert_eq!(batch.len(), 999);
    let (first, last) = (batch.next().unwrap(), batch.last().unwrap());
    assert_eq!((first.counter(), last.counter(), first.date()), (1, 999, last.date()));
    for asked in [0, u64::MAX] {
        assert_eq!(dated.mint_many(asked).err(), Some(MintError::Count { asked, max: 1 << 32 }));
    }
}

#[test]
fn shapes_that_cannot_be_are_refused_with_the_way_out() {
    for (zone, digits, prefix, says) in [
        ("Asia/Shanghia", 6, "", "unknown time zone \"Asia/Shanghia\": give an IANA name"),
        ("", 6, "", "unknown time zone"),
        ("+08:00", 6, "", "unknown time zone"),
        ("Etc/Unknown", 6, "", "unknown time zone"),
        ("UTC", 0, "", "digits 0 is outside 1..=10, the digits that fit behind the date yyyyMMdd"),
        ("UTC", 11, "", "digits 11 is outside 1..=10"),
        ("UTC", 6, "IN V", "without white space"),
        ("UTC", 6, "a prefix of more than thirty-two b", "at most 32 bytes"),
    ] {
        let refused = DatedShape::new(zone, digits, prefix, Overflow::Refuse);
        let Err(DefinitionError::Value(text)) = refused else {
            panic!("{zone:?} {digits} {prefix:?}: {refused:?}")
        };
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn a_zone_is_the_same_however_it_is_written() {
    // The fingerprint is stored: it must not depend on how its writer spells the zone (I4).
    let [a, b] = ["asia/shanghai", "Asia/Shanghai"].map(|zone| shape(zone, 6));
    assert_eq!((a.zone(), &a), ("Asia/Shanghai", &b));
}

#[test]
fn every_date_fits_with_the_most_digits_and_no_more() {
    for format in DateFormat::ALL {
        let of = |digits| DatedShape::with_date(format, "UTC", digits, "", Overflow::Refuse);
        let last = if format.as_str().starts_with("yyyy") { date(9999, 12, 31) } else { date(2099, 12, 31) };
        for digits in 1..=format.max_digits() {
            let shape = of(digits).unwrap();
            let most = 10_u64.pow(digits.into()) - 1;
            let id = shape.id_at(shape.position(last, most).unwrap()).unwrap();
            assert_eq!(
                id.number().map(|number| number.to_string()),
                Some(id.to_string()),
                "{format} {digits}"
            );
        }
        let more = format.max_digits() + 1;
        let error = of(more).unwrap_err().to_string();
        assert!(error.contains(&format!("1..={}", more - 1)) && error.contains(format.as_str()), "{error}");
        // One digit more would pass 63 bits, or the numbers that a period has.
        let number =
            format!("{}{}", &last.strftime("%Y%m%d").to_string()[..format.width()], "9".repeat(more.into()));
        assert!(number.parse::<i64>().is_err() || 10_u64.pow(more.into()) > 1 << 40, "{format}");
        let short = !format.as_str().starts_with("yyyy");
        assert!(of(0).is_err() && !has_year(format, 1969) && has_year(format, 2099));
        assert_eq!((has_year(format, 2009), has_year(format, 2100)), (!short, !short), "{format}");
    }
}

/// Whether a year has a position under a name with this date.
fn has_year(format: DateFormat, year: i16) -> bool {
    let shape = DatedShape::with_date(format, "UTC", 4, "", Overflow::Refuse).unwrap();
    shape.position(date(year, 7, 1), 1).is_some()
}

#[test]
fn definitions_say_the_date_only_where_it_is_not_a_day() {
    let text = |format| {
        let shape = DatedShape::with_date(format, "Asia/Shanghai", 6, "INV", Overflow::Widen).unwrap();
        Definition::Dated(shape).to_string()
    };
    // Ledgers hold this text since dated names exist: not a byte of it may change (I4).
    assert_eq!(text(DateFormat::Day), "dated zone=Asia/Shanghai digits=6 overflow=widen prefix=INV");
    for format in DateFormat::ALL {
        let text = text(format);
        let read: Definition = text.parse().unwrap();
        let Definition::Dated(shape) = &read else { panic!("{read}") };
        assert_eq!((shape.date(), read.to_string()), (format, text));
    }
    assert_eq!(
        text(DateFormat::ShortMonth),
        "dated date=yyMM zone=Asia/Shanghai digits=6 overflow=widen prefix=INV"
    );
    for foreign in [
        "dated date=yyyyMMdd zone=UTC digits=6 overflow=widen prefix=",
        "dated date=MMyy zone=UTC digits=6 overflow=widen prefix=",
        "dated zone=UTC date=yyMM digits=6 overflow=widen prefix=",
        "dated date=yyMM zone=UTC digits=13 overflow=widen prefix=",
    ] {
        assert!(foreign.parse::<Definition>().is_err(), "{foreign}");
    }
    assert!(
        "yyyyMMDD".parse::<DateFormat>().unwrap_err().to_string().contains("yyyyMMdd, yyyyMM, yyyy, yyMMdd")
    );
}

fn any_date() -> impl Strategy<Value = Date> {
    (2010_i16..=2099, 1_i8..=12, 1_i8..=31)
        .prop_filter_map("a date", |(year, month, day)| Date::new(year, month, day).ok())
}

proptest! {
    #[test]
    fn numbers_texts_and_positions_have_one_order_and_are_read_back(
        format in proptest::sample::select(&DateFormat::ALL[..]),
        digits in 1_u8..=12,
        (one, other) in (any_date(), any_date()),
        (first, second) in (0_u64..1 << 40, 0_u64..1 << 40),
    ) {
        let digits = digits.min(format.max_digits());
        let shape = DatedShape::with_date(format, "UTC", digits, "N-", Overflow::Refuse).unwrap();
        let within = |number: u64| number % (10_u64.pow(digits.into()) - 1) + 1;
        let of = |date, number| {
            let position = shape.position(date, within(number)).unwrap();
            let id = shape.id_at(position).unwrap();
            let text = id.to_string();
            let digits = text.strip_prefix("N-").unwrap();
            assert_eq!(id.number().map(|number| number.to_string()).as_deref(), Some(digits));
            assert_eq!(format.read(&digits[..format.width()]), Some(id.date()));
            assert_eq!((id.counter(), shape.position(id.date(), id.counter())), (within(number), Some(position)));
            assert!(id.date() <= date);
            (position, id.number().unwrap(), text)
        };
        let (one, other) = (of(one, first), of(other, second));
        prop_assert_eq!(one.0.cmp(&other.0), one.1.cmp(&other.1));
        prop_assert_eq!(one.0.cmp(&other.0), one.2.cmp(&other.2));
    }

    #[test]
    fn no_other_text_is_a_date(text in "[0-9]{0,9}") {
        for format in DateFormat::ALL {
            if let Some(date) = format.read(&text) {
                let shape = DatedShape::with_date(format, "UTC", 1, "", Overflow::Refuse).unwrap();
                let id = shape.id_at(shape.position(date, 1).unwrap()).unwrap();
                prop_assert_eq!(id.to_string(), format!("{text}1"));
            }
        }
    }
}

#[test]
fn a_number_has_a_position_in_its_own_period_alone() {
    let (shape, day) = (shape("UTC", 6), date(2026, 11, 22));
    let most = 1 << 40;
    let first = shape.position(day, 1).unwrap();
    assert_eq!(shape.position(day, most), Some(first + most - 1));
    assert_eq!(shape.position(date(2026, 11, 23), 1), Some(first + most), "the next day's first");
    assert_eq!((shape.position(day, 0), shape.position(day, most + 1)), (None, None));
}

#[test]
fn a_prefix_has_32_bytes_at_most() {
    let prefixed = |bytes: usize| DatedShape::new("UTC", 6, &"x".repeat(bytes), Overflow::Refuse);
    assert!(prefixed(32).is_ok());
    assert!(matches!(prefixed(33), Err(DefinitionError::Value(text)) if text.contains("at most 32 bytes")));
}

#[test]
fn a_counter_that_has_widened_is_read_without_zeros_in_front() {
    let shape = DatedShape::new("UTC", 4, "", Overflow::Widen).unwrap();
    for (text, counter) in [("202611220123", 123), ("202611229999", 9_999), ("2026112212345", 12_345)] {
        assert_eq!(shape.read(text).map(|(_, counter)| counter), Ok(counter));
    }
    assert!(shape.read("2026112201234").is_err(), "it would be a second text of 1234");
}
