//! No value that a program can name makes a constructor panic: it is taken, or refused with an error.

use floe_id::form::{Digits, Form, Hashids, Key, KeyId, KeyPlace, Radix, Sqids};
use floe_id::kind::{Ksuid, NanoId, NanoIdFormat, ObjectId, Ulid, Uuid};
use floe_id::layout::{PRESETS, Width, parse_epoch, parse_tick};
use floe_id::{Id, Layout, UnixMillis, WideId};
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

fn bits() -> impl Strategy<Value = u32> {
    prop_oneof![0_u32..140, any::<u32>()]
}

/// Texts of the words that layouts and forms are written in, and texts of anything.
fn text() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "time:41",
        "time:1",
        "time:63",
        "worker:10",
        "a:32",
        "sequence:12",
        "sequence:0",
        "tick=1ms",
        "tick=86400s",
        "epoch=2020-01-01T00:00:00Z",
        "wide",
        "twitter",
        "sonyflake",
        "decimal",
        "hex",
        "base32",
        "base58",
        "base62",
        "width=11",
        "width=99999",
        "pad=300",
        "upper",
        "lower",
        "typeid",
        "type=user",
        "uuid8",
        "hashids",
        "salt=x",
        "min=255",
        "min=99999999999",
        "alphabet=abcd",
        "alphabet=%00",
        "sqids",
        "blocklist=",
        "blocklist=a,b",
        "sealed",
        "key=1",
        "keyid=2bits",
        "keyid=64bits",
        "keyid=prefix",
        "check=1a2b3c",
        "prefix=ord_",
        "bits=1",
        "bits=128",
        "bits=4294967295",
    ]);
    prop_oneof![
        ".{0,60}",
        "[0-9A-Za-z:=_.TZ+-]{0,40}",
        prop::collection::vec(words, 0..8).prop_map(|words| words.join(" ")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn numbers_and_texts(number in edge(), wide: u128, signed: i64, bytes in prop::collection::vec(any::<u8>(), 0..40), text in text()) {
        let _ = (Id::new(number), Id::try_from(number), Id::try_from(signed), Id::try_from(wide));
        let wide = WideId::new(wide);
        let _ = (Id::try_from(wide), Uuid::try_from(wide), WideId::try_from(Uuid::from_u128(wide.get())), WideId::try_from(&bytes[..]));
        let time = UnixMillis::new(signed);
        let _ = (time.to_string(), time.position(), UnixMillis::from_position(number), time.plus(signed), time.since(UnixMillis::new(!signed)));
        let _ = (jiff::Timestamp::try_from(time), std::time::SystemTime::try_from(time));
        let _ = (parse_tick(&text), parse_epoch(&text), text.parse::<UnixMillis>());
        let _ = (text.parse::<Id>(), text.parse::<WideId>(), text.parse::<Uuid>(), text.parse::<Ulid>());
        let _ = (text.parse::<ObjectId>(), text.parse::<Ksuid>(), text.parse::<NanoId>(), text.parse::<Key>());
        let _ = (Uuid::try_from(&bytes[..]), Ulid::try_from(&bytes[..]), ObjectId::try_from(&bytes[..]), Ksuid::try_from(&bytes[..]));
        let _ = (Uuid::v4([number, number]).time(), Uuid::v7([number, !number]).time(), Ulid::from_u128(wide.get()).time());
        let _ = floe_id::inspect::recognize(&text, time);
    }

    #[test]
    fn layouts(text in text(), fields in "(time|worker|sequence|a|b)(:[0-9]{1,3})?( (time|worker|sequence|a|b):[0-9]{1,3}){0,9}", tick in edge(), epoch: i64, wide: bool, numbers in [edge(), edge(), edge()], id: u128, preset in 0..PRESETS.len()) {
        let width = if wide { Width::Wide } else { Width::Narrow };
        let [tick_number, worker, sequence] = numbers;
        let made = [
            Layout::new(&fields, tick, UnixMillis::new(epoch), width).ok(),
            Layout::new(&fields, 1, UnixMillis::EPOCH, width).ok(),
            text.parse().ok(),
            Some(PRESETS[preset].layout.clone()),
        ];
        for layout in made.into_iter().flatten() {
            let time = UnixMillis::new(epoch);
            let _ = (layout.compose(tick_number, worker, sequence), layout.split(id), layout.check_worker(worker));
            let _ = (layout.tick_at(time), layout.ticks_inside(time, time.plus(epoch)), layout.to_string().parse::<Layout>().unwrap());
            let _ = (layout.ids_between::<Id>(time, time.plus(epoch)), layout.ids_between::<WideId>(UnixMillis::EPOCH, time));
            let _ = (layout.worker_id(&[(text.as_str(), worker)]), layout.pinned(&[(text.clone(), worker)].into()));
            let _ = layout.time_of(tick_number);
        }
    }

    #[test]
    fn forms(
        text in text(), bits in bits(), width: u8, small in 0_u8..30, key: u16, number: u128, shift in 0_u32..128, radix in prop::sample::select(Radix::ALL),
    ) {
        let digits = Digits::new(radix);
        let key = KeyId::new(key);
        let place = match small % 3 { 0 => KeyPlace::Unsaid, 1 => KeyPlace::Prefix, _ => KeyPlace::Bits(width) };
        let seal = |bits, inner: u32| Form::digits(inner, digits).and_then(|inner| Form::sealed(bits, key, place, inner));
        let made = [
            Form::digits(bits, digits), Form::digits(bits, digits.width(width)), Form::digits(bits, digits.pad(small)),
            Form::digits(bits, digits.upper()), Form::digits(bits, digits.lower().width(small)),
            Form::type_id(bits, &text), Form::uuid8(bits), Form::hashids(bits, Hashids::new(&text).min(small)),
            Form::hashids(bits, Hashids::new("").alphabet(&text)), Form::sqids(bits, Sqids::new().min(width).alphabet(&text)),
            Form::sqids(bits, Sqids::new().min(small).blocklist([text.clone()])),
            seal(bits, bits), seal(bits, bits.saturating_add(place_bits(place))), text.parse(), Form::of_bits(&text, bits),
            Form::digits(63, digits).and_then(|form| form.with_prefix(&text)),
        ];
        for form in made.into_iter().flatten() {
            let _ = (form.max_bytes(), form.to_string(), form.decode(&text));
            if let Ok(written) = form.encode(number >> shift, &mut floe_id::form::Buffer::new()) {
                prop_assert_eq!(form.decode(written), Ok(number >> shift));
            }
        }
    }

    #[test]
    fn nano_ids(alphabet in "[a-z]{0,30}|.{0,20}", length: usize, small in 0_usize..70, text in text()) {
        for format in [NanoIdFormat::new(&alphabet, length), NanoIdFormat::new(&alphabet, small)].into_iter().flatten() {
            let _ = (format.read(&text), format.bits(), format.collision(u64::MAX));
        }
    }
}

fn place_bits(place: KeyPlace) -> u32 {
    if let KeyPlace::Bits(bits) = place { bits.into() } else { 0 }
}
