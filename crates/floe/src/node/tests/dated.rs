//! Dated names: days that begin at 1, an order that holds over midnight on clocks that differ.

use std::collections::HashSet;

use jiff::civil::{Date, date};
use jiff::tz::TimeZone;

use super::*;
use crate::definition::DatedId;
use crate::definition::{DateFormat, Overflow};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

fn shape(zone: &str, digits: u8, overflow: Overflow) -> DatedShape {
    DatedShape::new(zone, digits, "INV", overflow).unwrap()
}

/// The instant of a civil time in a zone.
fn at(zone: &str, date: Date, hour: i8, minute: i8) -> i64 {
    let zoned = date.at(hour, minute, 0, 0).to_zoned(TimeZone::get(zone).unwrap());
    zoned.unwrap().timestamp().as_millisecond()
}

/// A node of its own clock, which serves the one name that all share.
fn node(ledger: &Memory, seed: u64, wall: i64, shape: &DatedShape) -> (Rig, Name) {
    let mut rig = Rig::with(ledger, seed, Hands::at(wall), WINDOW, false);
    let name = rig.queue("invoice", Some(shape.clone()));
    (rig, name)
}

fn mint(rig: &mut Rig, name: &Name, count: u64) -> Result<u64, MintError> {
    let ticket = rig.enqueue(name, count);
    rig.settle();
    ticket.answered().expect("the ledger answered")
}

fn id(position: u64, shape: &DatedShape) -> DatedId {
    DatedId::at(position, &Arc::new(shape.clone())).unwrap()
}

/// Ten thousand calls from nodes whose clocks differ, from two hours before the midnight of `day` to two after it.
fn over_midnight(zone: &str, day: Date) {
    over_the_end_of_a_period(DateFormat::Day, zone, day);
}

/// The same of a name that counts other periods; `day` is the first of one.
fn over_the_end_of_a_period(format: DateFormat, zone: &str, day: Date) {
    let shape = DatedShape::with_date(format, zone, 6, "INV", Overflow::Refuse).unwrap();
    let time_zone = TimeZone::get(zone).unwrap();
    // The first moment of the day, which is not always 00:00.
    let midnight = day.to_zoned(time_zone.clone()).unwrap().timestamp().as_millisecond();
    let ledger = Memory::default();
    let behind = [0, 7 * MINUTE, -41 * MINUTE, -3 * HOUR, -24 * HOUR];
    let mut nodes: Vec<_> = behind
        .iter()
        .zip(1..)
        .map(|(offset, seed)| node(&ledger, seed, midnight - 2 * HOUR + offset, &shape))
        .collect();
    let (mut latest, mut counter, mut last): (_, _, Option<DatedId>) = (Date::MIN, 0, None);
    let mut days = 0;
    for call in 0..10_000_usize {
        let (rig, name) = &mut nodes[(call * call + call / 3) % behind.len()];
        let wall = jiff::Timestamp::from_millisecond(rig.clock.look().wall.get()).unwrap();
        let today = wall.to_zoned(time_zone.clone()).date();
        let today = format.date_of(format.number_of(today).unwrap()).unwrap();
        if today > latest {
            (latest, counter, days) = (today, 0, days + 1);
        }
        counter += 1;
        let minted = id(mint(rig, name, 1).unwrap(), &shape);
        assert_eq!((minted.date(), minted.counter()), (latest, counter), "{zone} call {call}");
        if let Some(last) = &last {
            assert!(minted.to_string() > last.to_string(), "{zone}: {minted} after {last}");
            assert!(minted.number() > last.number(), "{zone}: {minted} after {last}");
        }
        last = Some(minted);
        for (rig, _) in &nodes {
            rig.hands.pass(1_440);
        }
    }
    assert!(days >= 2, "{zone}: midnight was not passed");
}

#[test]
fn ten_thousand_calls_over_midnight_never_go_backwards_and_never_repeat() {
    for zone in ["Asia/Shanghai", "America/New_York", "Europe/Berlin"] {
        over_midnight(zone, date(2026, 11, 21));
    }
}

#[test]
fn nor_do_they_over_the_end_of_a_month_or_a_year() {
    for zone in ["Asia/Shanghai", "America/New_York", "UTC"] {
        for format in [DateFormat::Month, DateFormat::ShortMonth] {
            over_the_end_of_a_period(format, zone, date(2028, 3, 1));
        }
        for format in DateFormat::ALL {
            over_the_end_of_a_period(format, zone, date(2027, 1, 1));
        }
    }
    // The month begins in the hour that a change of clocks leaves out or has twice.
    over_the_end_of_a_period(DateFormat::Month, "America/Havana", date(2026, 11, 1));
    over_the_end_of_a_period(DateFormat::ShortMonth, "Africa/Cairo", date(2026, 5, 1));
}

#[test]
fn a_month_counts_on_over_its_days_and_a_year_over_its_months() {
    for (format, days, texts) in [
        (DateFormat::Month, [0, 10, 40], ["INV202611001", "INV202611002", "INV202612001"]),
        (DateFormat::Year, [0, 40, 60], ["INV2026001", "INV2026002", "INV2027001"]),
        (DateFormat::ShortDay, [0, 1, 1], ["INV261110001", "INV261111001", "INV261111002"]),
        (DateFormat::ShortMonth, [0, 10, 40], ["INV2611001", "INV2611002", "INV2612001"]),
        (DateFormat::ShortYear, [0, 40, 60], ["INV26001", "INV26002", "INV27001"]),
    ] {
        let shape = DatedShape::with_date(format, "UTC", 3, "INV", Overflow::Refuse).unwrap();
        let begin = at("UTC", date(2026, 11, 10), 12, 0);
        let ledger = Memory::default();
        let mut seed = 0;
        let minted = days.map(|day| {
            seed += 1;
            let (mut rig, name) = node(&ledger, seed, begin + day * 24 * HOUR, &shape);
            id(mint(&mut rig, &name, 1).unwrap(), &shape).to_string()
        });
        assert_eq!(minted, texts);
    }
}

/// And none is left of them, or too few for this caller.
#[test]
fn digits_of_a_month_or_a_year_are_used_up_until_the_next_one() {
    for (format, last, room, left, until, next) in [
        (DateFormat::ShortMonth, date(2026, 11, 30), 0, "left in 2026-11:", "the next month begins", "26121"),
        (DateFormat::Year, date(2026, 12, 31), 0, "left in 2026:", "the next year begins", "20271"),
        (DateFormat::Year, date(2026, 12, 31), 2, "left in 2026:", "the next year begins", "20271"),
    ] {
        let shape = DatedShape::with_date(format, "UTC", 1, "", Overflow::Refuse).unwrap();
        let (mut rig, name) = node(&Memory::default(), 1, at("UTC", last, 23, 59), &shape);
        mint(&mut rig, &name, 9 - room).unwrap();
        let Err(MintError::Exhausted(text)) = mint(&mut rig, &name, room + 1) else {
            panic!("a tenth of nine")
        };
        assert!(
            text.contains(&format!("{room} numbers {left}")) && text.contains(&format!("until {until}")),
            "{text}"
        );
        rig.hands.pass(60_000);
        let minted = mint(&mut rig, &name, room + 1);
        assert_eq!(minted.map(|at| id(at, &shape).to_string()), Ok(next.to_owned()));
    }
}

#[test]
fn a_year_of_two_digits_ends_with_its_century() {
    for format in [DateFormat::ShortDay, DateFormat::ShortMonth, DateFormat::ShortYear] {
        let shape = DatedShape::with_date(format, "UTC", 6, "", Overflow::Widen).unwrap();
        let ledger = Memory::default();
        let (mut rig, name) = node(&ledger, 1, at("UTC", date(2099, 12, 31), 23, 59), &shape);
        let last = id(mint(&mut rig, &name, 1).unwrap(), &shape);
        assert!(last.to_string().starts_with("99"), "{last}");
        rig.hands.pass(60_000);
        let Err(MintError::Exhausted(text)) = mint(&mut rig, &name, 1) else {
            panic!("{format} repeats 2000")
        };
        assert!(text.contains("2100-01-01") && text.contains("end with 2099"), "{text}");
        // Nor does a mark that was raised past it mint.
        let (mut rig, name) = node(&ledger, 2, at("UTC", date(2026, 11, 21), 12, 0), &shape);
        let past = format.number_of(date(2099, 1, 1)).unwrap() + 366;
        ledger.raise(&Key::name(&name), past << 40).unwrap();
        let Err(MintError::Stopped(Stopped { reason: StopReason::Other, cause: text })) =
            mint(&mut rig, &name, 1)
        else {
            panic!("{format} repeats 2000")
        };
        assert!(text.contains("past the year 2099"), "{text}");
        // A clock of 2009 would write a number with a zero less.
        let (mut rig, name) = node(&Memory::default(), 3, at("UTC", date(2009, 12, 31), 12, 0), &shape);
        assert!(
            matches!(mint(&mut rig, &name, 1), Err(MintError::Stopped(Stopped { reason: StopReason::Clock, cause: text })) if text.contains("set the clock"))
        );
    }
}

#[test]
fn nor_do_they_over_a_daylight_saving_change() {
    // Both midnights around the change, and zones whose clocks change at midnight itself.
    for (zone, day) in [
        ("America/New_York", date(2026, 3, 8)),
        ("America/New_York", date(2026, 11, 2)),
        ("Europe/Berlin", date(2026, 3, 29)),
        ("Europe/Berlin", date(2026, 10, 26)),
        ("America/Havana", date(2026, 3, 8)),
        ("America/Havana", date(2026, 11, 1)),
        ("Asia/Beirut", date(2026, 3, 29)),
        ("Asia/Beirut", date(2026, 10, 25)),
        // 2011-12-30 did not happen here.
        ("Pacific/Apia", date(2011, 12, 31)),
    ] {
        over_midnight(zone, day);
    }
}

/// All nodes go on in a day that one of them has begun.
#[test]
fn a_wall_clock_that_jumps_a_day_ahead_begins_that_day_when_it_is_believed() {
    let shape = shape("UTC", 6, Overflow::Refuse);
    let noon = at("UTC", date(2026, 11, 21), 12, 0);
    let (mut rig, name) = node(&Memory::default(), 1, noon, &shape);
    rig.clock.look();
    rig.hands.set(24 * HOUR);
    let texts = [0, 29_999, 1].map(|passes| {
        rig.hands.pass(passes);
        id(mint(&mut rig, &name, 1).unwrap(), &shape).to_string()
    });
    assert_eq!(texts, ["INV20261121000001", "INV20261121000002", "INV20261122000001"]);
}

#[test]
fn a_node_whose_clock_is_behind_adopts_the_later_day() {
    let shape = shape("UTC", 6, Overflow::Refuse);
    let ledger = Memory::default();
    let noon = at("UTC", date(2026, 11, 21), 12, 0);
    let (mut ahead, name) = node(&ledger, 1, noon + 24 * HOUR, &shape);
    let (mut behind, _) = node(&ledger, 2, noon, &shape);
    assert_eq!(id(mint(&mut behind, &name, 1).unwrap(), &shape).to_string(), "INV20261121000001");
    assert_eq!(id(mint(&mut ahead, &name, 1).unwrap(), &shape).to_string(), "INV20261122000001");
    assert_eq!(id(mint(&mut behind, &name, 1).unwrap(), &shape).to_string(), "INV20261122000002");
    // It has learned: the next call costs one trip.
    let ticket = behind.enqueue(&name, 1);
    let call = behind.call();
    behind.serve(call);
    assert_eq!(ticket.answered().unwrap().map(|position| id(position, &shape).counter()), Ok(3));
}

#[test]
fn digits_that_are_used_up_refuse_until_the_next_day() {
    let shape = shape("Asia/Shanghai", 2, Overflow::Refuse);
    let (mut rig, name) =
        node(&Memory::default(), 1, at("Asia/Shanghai", date(2026, 11, 21), 23, 59), &shape);
    assert_eq!(mint(&mut rig, &name, 94).map(|at| id(at, &shape).counter()), Ok(1));
    // A batch over what is left fails alone: those behind it want less.
    let tickets = [6, 3, 3, 2].map(|count| rig.enqueue(&name, count));
    rig.settle();
    let answers = tickets.map(|ticket| ticket.answered().unwrap().map(|at| id(at, &shape).to_string()));
    let Err(MintError::Exhausted(text)) = &answers[0] else { panic!("{answers:?}") };
    assert!(text.contains("5 numbers left on 2026-11-21") && text.contains("2 digits"), "{text}");
    assert!(text.contains("Asia/Shanghai") && text.contains("widen"), "{text}");
    assert_eq!(answers[1], Ok("INV2026112195".to_owned()));
    assert!(matches!(answers[2], Err(MintError::Exhausted(_))));
    assert_eq!(answers[3], Ok("INV2026112198".to_owned()));
    let barred = |rig: &Rig| rig.node.queue(&name).unwrap().barred(&rig.clock.look());
    let told = barred(&rig);
    assert!(
        matches!(&told, Some(MintError::Exhausted(text)) if text.contains("has 0 numbers left on 2026-11-21")),
        "before a call fails: {told:?}"
    );
    assert!(matches!(mint(&mut rig, &name, 1), Err(MintError::Exhausted(_))));
    assert_eq!(barred(&rig), told);
    rig.hands.pass(60_000);
    assert_eq!(barred(&rig), None, "the next day has all its numbers");
    assert_eq!(mint(&mut rig, &name, 1).map(|at| id(at, &shape).to_string()), Ok("INV2026112201".to_owned()));
}

#[test]
fn widened_numbers_never_meet_those_of_another_day() {
    let mut numbers = HashSet::new();
    let mut texts = HashSet::new();
    let shape = shape("UTC", 1, Overflow::Widen);
    let (mut rig, name) = node(&Memory::default(), 1, at("UTC", date(2026, 9, 29), 12, 0), &shape);
    for _ in 0..3 {
        let start = mint(&mut rig, &name, 1_100).unwrap();
        for position in start..start + 1_100 {
            let id = id(position, &shape);
            assert!(numbers.insert(id.number().unwrap()), "{id}");
            assert!(texts.insert(id.to_string()), "{id}");
        }
        rig.hands.pass(86_400_000);
    }
    assert!(
        texts.contains("INV202609299") && texts.contains("INV2026092910") && texts.contains("INV202609301")
    );
}

/// The mark of a full day would be where the next one begins, and who is refused by it would mint of tomorrow.
#[test]
fn a_widened_day_ends_before_the_next_one_begins() {
    let shape = shape("UTC", 1, Overflow::Widen);
    let (mut rig, name) = node(&Memory::default(), 1, at("UTC", date(2026, 11, 21), 12, 0), &shape);
    let day = mint(&mut rig, &name, 1).unwrap();
    rig.ledger.raise(&Key::name(&name), day + (1 << 40) - 2).unwrap();
    assert_eq!(mint(&mut rig, &name, 1).map(|at| id(at, &shape).counter()), Ok((1 << 40) - 1));
    let full = mint(&mut rig, &name, 1);
    assert!(matches!(full, Err(MintError::Exhausted(_))), "{full:?}");
}

#[test]
fn numbers_and_texts_tell_the_same() {
    for (digits, counter, number, text) in [
        (6, 1, Some(20_261_121_000_001), "INV20261121000001"),
        (1, 10, Some(2_026_112_110), "INV2026112110"),
        (10, 9_999_999_999, Some(202_611_219_999_999_999), "INV202611219999999999"),
        (10, 10_000_000_000, Some(2_026_112_110_000_000_000), "INV2026112110000000000"),
        // A date and twelve digits have no place in 63 bits; the text has them.
        (10, 100_000_000_000, None, "INV20261121100000000000"),
    ] {
        let shape = shape("UTC", digits, Overflow::Widen);
        let day = u64::try_from(date(2026, 11, 21).since(date(1970, 1, 1)).unwrap().get_days()).unwrap();
        let id = id((day << 40) + counter - 1, &shape);
        assert_eq!((id.number().map(|id| id.get()), id.to_string().as_str()), (number, text));
    }
}

#[test]
fn a_batch_lies_in_one_day() {
    let shape = shape("UTC", 3, Overflow::Refuse);
    let (mut rig, name) = node(&Memory::default(), 1, at("UTC", date(2026, 11, 21), 23, 59), &shape);
    mint(&mut rig, &name, 900).unwrap();
    // Queued before midnight, sent after it.
    let ticket = rig.enqueue(&name, 500);
    rig.hands.pass(60_000);
    rig.settle();
    let start = ticket.answered().unwrap().unwrap();
    assert_eq!(id(start, &shape).to_string(), "INV20261122001");
    assert_eq!(id(start + 499, &shape).to_string(), "INV20261122500");
}

/// Refused on one day, and asked again on the next: what is left of the next day is known by its own numbers.
#[test]
fn a_refusal_that_comes_after_midnight_leaves_a_day_no_more_than_its_digits() {
    let shape = shape("UTC", 2, Overflow::Refuse);
    let (mut rig, name) = node(&Memory::default(), 1, at("UTC", date(2026, 11, 21), 23, 59), &shape);
    mint(&mut rig, &name, 94).unwrap();
    let first = rig.enqueue(&name, 6);
    let call = rig.call();
    let second = rig.enqueue(&name, 99);
    rig.hands.pass(60_000);
    rig.serve(call);
    rig.settle();
    let answered = first.answered().unwrap().map(|at| id(at, &shape).to_string());
    assert_eq!(answered, Ok("INV2026112201".to_owned()));
    assert!(matches!(second.answered(), Some(Err(MintError::Exhausted(_)))), "{:?}", second.answered());
    assert_eq!(mint(&mut rig, &name, 93).map(|at| id(at, &shape).counter()), Ok(7), "the day has 99 numbers");
}

#[test]
fn a_mark_past_the_calendar_is_refused() {
    let shape = shape("UTC", 6, Overflow::Widen);
    let ledger = Memory::default();
    let (mut rig, name) = node(&ledger, 1, at("UTC", date(2026, 11, 21), 12, 0), &shape);
    let last = u64::try_from(date(9999, 12, 31).since(date(1970, 1, 1)).unwrap().get_days()).unwrap();
    ledger.raise(&Key::name(&name), last << 40).unwrap();
    assert_eq!(
        mint(&mut rig, &name, 1).map(|at| id(at, &shape).to_string()),
        Ok("INV99991231000001".to_owned())
    );
    ledger.raise(&Key::name(&name), (last + 1) << 40).unwrap();
    let Err(MintError::Stopped(Stopped { reason: StopReason::Other, cause: text })) =
        mint(&mut rig, &name, 1)
    else {
        panic!("a date repeats")
    };
    assert!(text.contains("9999") && text.contains("`invoice`"), "{text}");
}

#[test]
fn a_clock_that_cannot_be_believed_names_no_day() {
    let shape = shape("UTC", 6, Overflow::Refuse);
    let (mut rig, name) = node(&Memory::default(), 1, at("UTC", date(2026, 11, 21), 12, 0), &shape);
    mint(&mut rig, &name, 1).unwrap();
    rig.hands.set(-2 * HOUR);
    let told = rig.node.queue(&name).unwrap().barred(&rig.clock.look());
    let refused = mint(&mut rig, &name, 1).unwrap_err();
    assert!(
        matches!(&refused, MintError::Stopped(Stopped { reason: StopReason::Clock, cause }) if cause.contains("max_hold"))
    );
    assert_eq!(told, Some(refused), "the status says so too");
    rig.hands.set(2 * HOUR);
    assert_eq!(mint(&mut rig, &name, 1).map(|at| id(at, &shape).counter()), Ok(2));
}

#[test]
fn dates_begin_with_the_first_day_of_1970() {
    for (format, text) in [
        (DateFormat::Day, "INV19700101001"),
        (DateFormat::Month, "INV197001001"),
        (DateFormat::Year, "INV1970001"),
    ] {
        let shape = DatedShape::with_date(format, "UTC", 3, "INV", Overflow::Refuse).unwrap();
        let (mut rig, name) = node(&Memory::default(), 1, 12 * HOUR, &shape);
        assert_eq!(mint(&mut rig, &name, 1).map(|at| id(at, &shape).to_string()), Ok(text.to_owned()));
    }
}

/// A clock that was 15 seconds ahead, at midnight, and is set right by its ledger's.
#[test]
fn a_later_day_is_kept_by_a_name_that_has_an_id_of_it_and_by_no_other() {
    // Where it is midnight when the tests begin.
    let shape = shape("Asia/Kamchatka", 6, Overflow::Refuse);
    for (called, answered, next) in
        [(0, "INV20260302000001", "INV20260302000002"), (-1_000, "INV20260301000001", "INV20260301000002")]
    {
        let (mut rig, name) = node(&Memory::default(), 1, BEGIN + called, &shape);
        rig.ledger_clock = LedgersClock::AtOnce(Some(called - 15_000));
        let stream = rig.twitter();
        let ticket = rig.enqueue(&name, 1);
        let call = rig.call();
        // The answer comes after midnight.
        rig.hands.pass(2_000);
        rig.serve(call);
        assert_eq!(ticket.answered().unwrap().map(|at| id(at, &shape).to_string()), Ok(answered.to_owned()));
        // A snowflake hears of the ledger's clock, before and after.
        rig.mint(&stream);
        rig.settle();
        rig.hands.set(-15_000);
        rig.mint(&stream);
        rig.settle();
        let ticket = rig.enqueue(&name, 1);
        let call = rig.call();
        rig.serve(call);
        let trip = ticket.answered().expect("one trip, since it knows the day");
        assert_eq!(trip.map(|at| id(at, &shape).to_string()), Ok(next.to_owned()));
    }
}

/// The first number of a new day lies above those of the day before, whatever the ledger has forgotten.
#[test]
fn a_ledger_that_went_back_stops_the_name_also_over_midnight() {
    let shape = shape("UTC", 6, Overflow::Refuse);
    let ledger = Memory::default();
    let (mut rig, name) = node(&ledger, 1, at("UTC", date(2026, 11, 20), 23, 59), &shape);
    let first = mint(&mut rig, &name, 1).unwrap();
    let older = ledger.backup();
    mint(&mut rig, &name, 1).unwrap();
    ledger.restore(&older);
    rig.hands.pass(MINUTE.unsigned_abs());
    let Err(MintError::Stopped(Stopped { reason: StopReason::Ledger, cause: text })) =
        mint(&mut rig, &name, 1)
    else {
        panic!("it counts on")
    };
    let marks = format!("was {}, and this process holds a range up to {}.", first + 1, first + 2);
    assert!(text.contains("went backwards") && text.contains(&marks), "{text}");
}

#[test]
fn a_lost_reply_over_midnight_costs_numbers_and_no_order() {
    let shape = shape("UTC", 6, Overflow::Refuse);
    let (mut rig, name) = node(&Memory::default(), 1, at("UTC", date(2026, 11, 21), 23, 59), &shape);
    mint(&mut rig, &name, 1).unwrap();
    let ticket = rig.enqueue(&name, 3);
    let (id_of_call, request) = rig.reserve();
    rig.ledger.reserve(&request).unwrap();
    rig.answer(id_of_call, unavailable());
    rig.hands.pass(60_000);
    rig.settle();
    assert_eq!(
        ticket.answered().unwrap().map(|at| id(at, &shape).to_string()),
        Ok("INV20261122000001".to_owned())
    );
}
