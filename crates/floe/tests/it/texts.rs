//! Names whose IDs are texts: kinds for which nothing is reserved, forms of numbers, registered kinds.

use std::collections::HashSet;
use std::time::Duration;

use floe::form::{Form, FormError, Key, KeyId, Keys};
use floe::kind::{Mint, UlidGenerator};
use floe::ledger::{Ledger as _, MAX_MARK, Memory};
use floe::{
    DatedShape, DefineError, Definition, DefinitionError, Floe, Given, Kind, KindRegistry, Layout, MintError,
    Minted, Name, NameOptions, NameState, Overflow, Properties, Registered, StopReason, Stopped, TextMinter,
};

use crate::faulty::within;

const TWITTER: Definition = Definition::Snowflake { layout: Layout::TWITTER, own: false };

fn open() -> Floe {
    Floe::open(Memory::default()).unwrap()
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn define(floe: &Floe, called: &str, definition: &Definition) -> Result<TextMinter, DefineError> {
    Ok(floe.define(&name(called), definition, &NameOptions::default())?.get().cloned().unwrap())
}

fn of(text: &str) -> Definition {
    text.parse().unwrap()
}

fn kind(word: &str) -> Kind {
    word.parse().unwrap()
}

fn formed(definition: Definition, form: &str) -> Definition {
    let bits = definition.form_bits().unwrap();
    definition.in_form(Form::of_bits(form, bits).unwrap()).unwrap()
}

fn key(byte: u8) -> Key {
    Key::from([byte; 16])
}

fn sealed(form: &str, keys: &Keys) -> Definition {
    Definition::SEGMENT.in_form(form.parse::<Form>().unwrap().with_keys(keys).unwrap()).unwrap()
}

fn one_key(id: u16, byte: u8) -> Keys {
    Keys::new().with(KeyId::new(id), key(byte)).unwrap()
}

#[test]
fn every_definition_has_one_text_and_is_read_from_it() {
    let shape = DatedShape::new("UTC", 6, "", Overflow::Refuse).unwrap();
    let set = |word, settings: &[(&'static str, &str)]| {
        let mut given = Given::default();
        settings.iter().for_each(|(key, value)| given.set(key, value));
        kind(word).define(&given, &mut |key, why| panic!("{key}: {why}")).unwrap()
    };
    let properties = Properties::default().with("worker-id", "3").unwrap().with("note", "a b=%\n").unwrap();
    for (definition, kind, text) in [
        (Definition::called("UUID").unwrap(), kind("uuid4"), "uuid4"),
        (Definition::called("uuidv7").unwrap(), kind("uuid7"), "uuid7"),
        (set("uuid7", &[("precise", "true")]), kind("uuid7"), "uuid7 time=precise"),
        (set("ulid", &[]), kind("ulid"), "ulid"),
        (set("objectid", &[]), kind("objectid"), "objectid"),
        (set("ksuid", &[]), kind("ksuid"), "ksuid"),
        (
            set("nanoid", &[("alphabet", "0123456789%,"), ("length", "12")]),
            kind("nanoid"),
            "nanoid length=12 alphabet=0123456789%25%2C",
        ),
        (
            Definition::Registered(Registered::new("my-kind", properties).unwrap()),
            Kind::REGISTERED,
            "registered type=my-kind note=a%20b=%25%0A worker-id=3",
        ),
        (
            formed(TWITTER, "base62 width=11"),
            Kind::SNOWFLAKE,
            "snowflake time:41 datacenter:5 worker:5 sequence:12 tick=1ms epoch=2010-11-04T01:42:54.657Z form base62 width=11",
        ),
        (
            formed(Definition::SEGMENT, "hashids salt=pepper min=6"),
            Kind::SEGMENT,
            "segment increment=1 offset=1 form hashids salt=pepper min=6",
        ),
        (formed(Definition::Counter, "sqids bits=32"), Kind::COUNTER, "counter form sqids bits=32"),
        (
            formed(Definition::Dated(shape), "decimal prefix=INV-"),
            Kind::DATED,
            "dated zone=UTC digits=6 overflow=refuse prefix= form decimal prefix=INV-",
        ),
        (formed(of("uuid7"), "typeid type=user"), kind("uuid7"), "uuid7 form typeid type=user"),
        (formed(of("ulid"), "hex"), kind("ulid"), "ulid form hex bits=128"),
        (formed(of("objectid"), "base58"), kind("objectid"), "objectid form base58 bits=96"),
    ] {
        assert_eq!(definition.to_string(), text);
        assert_eq!(text.parse::<Definition>().as_ref(), Ok(&definition));
        assert_eq!(definition.kind(), kind, "{text}");
        assert!(definition.is_text(), "{text}");
    }
    for text in [
        "uuid7 precise",
        "uuid4 form decimal bits=64",
        "counter form decimal",
        "ulid ",
        "nanoid length=12",
        "nanoid length=07 alphabet=ab",
        "nanoid length=+7 alphabet=ab",
        "nanoid alphabet=ab length=7",
        "uuid7 time=precise time=precise",
        "uuid7 precise=true",
        "registered type=uuid4",
        "registered type=x a=%zz",
        "counter form base62 form base62",
        "segment increment=1 offset=1 form sealed key=1 keyid=2bits base62",
        "ksuid form base62",
        "nanoid length=12 alphabet=ab form base62",
    ] {
        text.parse::<Definition>().expect_err(text);
    }
}

#[test]
fn forms_that_do_not_fit_are_refused() {
    let widen = DatedShape::new("UTC", 6, "", Overflow::Widen).unwrap();
    let prefixed = DatedShape::new("UTC", 6, "INV", Overflow::Refuse).unwrap();
    let plain = DatedShape::new("UTC", 6, "", Overflow::Refuse).unwrap();
    for (definition, form, part) in [
        (of("ksuid"), "base62", "a ksuid name has a text of its own"),
        (TWITTER, "base62 bits=62", "has 63: write bits=63"),
        (of("uuid4"), "base62", "has 128: write bits=128"),
        (Definition::Dated(plain), "base62 bits=62", "has 63: write bits=63"),
        (Definition::Dated(widen), "base62", "give the form a prefix"),
        (Definition::Dated(prefixed), "base62", "give the form a prefix"),
        (formed(Definition::Counter, "hex"), "base62", "has a text of its own"),
    ] {
        let error = definition.in_form(form.parse().unwrap()).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
    // What the number's own writing is stays what it was: the fingerprints of names without a form do not change.
    assert_eq!(formed(TWITTER, "decimal"), TWITTER);
}

#[test]
fn kinds_without_a_ledger_mint_texts_that_are_theirs() {
    let (floe, now) = (open(), UlidGenerator::new().mint().unwrap().time());
    for (text, length) in [
        ("uuid4", 36),
        ("uuid7", 36),
        ("uuid7 time=precise", 36),
        ("ulid", 26),
        ("objectid", 24),
        ("ksuid", 27),
        ("nanoid length=7 alphabet=abcdefghijklmnopqrstuvwxyz0123456789ABCDEF", 7),
        ("uuid7 form typeid type=user", 31),
        ("uuid4 form base58 bits=128 width=22", 22),
        ("ulid form hex bits=128 width=32", 32),
        ("objectid form hex bits=96 width=24", 24),
    ] {
        let definition = of(text);
        let minter = define(&floe, &text.replace(' ', "-"), &definition).unwrap();
        let many: Vec<_> = minter.mint_many(1000).unwrap().collect();
        assert_eq!(many.len(), 1000);
        assert!(many.iter().all(|id| id.len() == length), "{text}: {}", many[0]);
        assert_eq!(many.iter().collect::<HashSet<_>>().len(), 1000, "{text}");
        assert_eq!(minter.try_mint_many(3).unwrap().unwrap().len(), 3);
        let ordered = text.starts_with("uuid7") || text.starts_with("ulid");
        assert!(!ordered || many.is_sorted(), "{text}");
        for id in &many {
            let read = definition.read(id).unwrap_or_else(|error| panic!("{text}: {error}"));
            let apart = read.time.map(|time| time.millis.get().abs_diff(now.get()));
            assert!(apart.is_none_or(|millis| millis < 3_600_000), "{text}: {id} has another time");
        }
        assert_eq!(minter.mint_many(0).unwrap_err(), MintError::Count { asked: 0, max: 1 << 20 });
        assert!(matches!(minter.mint_many(1 << 21), Err(MintError::Count { .. })));
    }
}

/// Within a millisecond, the IDs count up by one unless their time does not stand still.
#[test]
fn a_uuid7_tells_the_precise_time_where_its_definition_says_so_and_nowhere_else() {
    let floe = open();
    for (at, (text, is_precise)) in [("uuid7", false), ("uuid7 time=precise", true)].into_iter().enumerate() {
        let users = define(&floe, &format!("users-{at}"), &of(text)).unwrap();
        let number = |id: String| u128::from_str_radix(&id.replace('-', ""), 16).unwrap();
        let ids: Vec<u128> = (0..1_000).map(|_| number(users.mint().unwrap())).collect();
        // Twelve bits behind the version, and eight behind the variant.
        let order = |id: u128| (id >> 64 & 0xfff) << 8 | id >> 54 & 0xff;
        let mut of_one_ms = ids.windows(2).filter(|pair| pair[0] >> 80 == pair[1] >> 80);
        let counts_up = of_one_ms.all(|pair| order(pair[1]) == order(pair[0]) + 1);
        assert_eq!(counts_up, !is_precise, "{text}");
    }
}

#[test]
fn numbers_in_a_form_are_those_of_the_name() {
    let floe = open();
    let shape = DatedShape::new("UTC", 6, "", Overflow::Refuse).unwrap();
    let wide = Definition::Snowflake {
        layout: "time:41 worker:30 sequence:20 tick=1ms epoch=2020-01-01T00:00:00Z wide".parse().unwrap(),
        own: false,
    };
    for (index, definition) in
        [TWITTER, Definition::SEGMENT, Definition::Counter, Definition::Dated(shape), wide]
            .into_iter()
            .enumerate()
    {
        for form in
            ["hex", "base32 width=26", "base36 pad=4", "base58 prefix=x_", "base62", "decimal width=39"]
        {
            let definition = formed(definition.clone(), form);
            let minter = define(&floe, &format!("{index}{}", form.replace(' ', "-")), &definition).unwrap();
            let form = definition.form().unwrap();
            let numbers: Vec<u128> =
                minter.mint_many(100).unwrap().map(|text| form.decode(&text).unwrap()).collect();
            assert!(numbers.is_sorted_by(|one, next| one < next), "{definition}");
            let next = form.decode(&minter.mint().unwrap()).unwrap();
            assert!(next > numbers[99]);
            if index == 1 {
                assert_eq!(numbers, (1..=100).collect::<Vec<_>>());
            }
        }
    }
    let status = floe.status();
    let short = status.names.iter().find(|found| found.name.as_str() == "0base62").unwrap();
    assert!(short.horizon.is_some() && short.left > 0, "{short:?}");
    assert_eq!(short.state, NameState::Ready);
}

#[test]
fn a_form_that_is_used_up_says_so() {
    let floe = open();
    let codes = define(&floe, "codes", &formed(Definition::Counter, "base36 bits=4 width=1")).unwrap();
    let written: Vec<_> = codes.mint_many(15).unwrap().collect();
    assert_eq!(written[14].as_ref(), "f");
    let Err(MintError::Exhausted(why)) = codes.mint() else { panic!("a sixteenth was written") };
    assert!(why.contains("used up") && why.contains("Take a new name"), "{why}");
    // Part of a batch is not handed out.
    let codes = define(&floe, "more", &formed(Definition::Counter, "base36 bits=4 width=1")).unwrap();
    assert!(matches!(codes.mint_many(16), Err(MintError::Exhausted(_))));
}

#[test]
fn a_name_begins_at_the_next_number_that_it_has_and_that_its_form_can_write() {
    let every_third = Definition::Segment { increment: 3, offset: 2 };
    assert_eq!([2, 3, 5, 6, 8].map(|number| every_third.position_of(number)), [0, 1, 1, 2, 2].map(Some));
    let last = [MAX_MARK - 1, MAX_MARK].map(|position| Definition::Counter.number_at(position));
    assert_eq!(last, [Some(MAX_MARK), None]);
    let short = formed(Definition::Counter, "base36 bits=4 width=1");
    assert_eq!(short.begin_position(15).ok(), Some(14));
    assert!(short.begin_position(16).is_err(), "its form cannot write 16");
}

/// Sqids has no text for some numbers where words are blocked: others take their place.
#[test]
fn numbers_that_a_form_cannot_write_are_left_out() {
    let floe = open();
    let blocked = "sqids alphabet=abc blocklist=aaa,abab,bcbc,cab,abca,ccca";
    let definition = formed(Definition::SEGMENT, blocked);
    let codes = define(&floe, "codes", &definition).unwrap();
    let mut seen = HashSet::new();
    for count in [1, 20, 100, 1000] {
        let texts: Vec<_> = codes.mint_many(count).unwrap().collect();
        assert_eq!(texts.len() as u64, count);
        let more: Vec<_> = codes.try_mint_many(count).unwrap().map_or_else(Vec::new, Iterator::collect);
        assert!(more.is_empty() || more.len() as u64 == count);
        for text in texts.into_iter().chain(more) {
            assert!(definition.form().unwrap().decode(&text).is_ok() && seen.insert(text));
        }
    }
    let highest = seen.iter().map(|text| definition.form().unwrap().decode(text).unwrap()).max().unwrap();
    assert!(highest > seen.len() as u128, "none was left out, so this shows nothing");
}

#[test]
fn a_form_that_can_write_no_number_is_used_up_and_does_not_try_for_ever() {
    let floe = open();
    let letter = |number: usize, place: u32| ["a", "b", "c"][number / 3_usize.pow(place) % 3];
    let words: Vec<String> = (0..81).map(|word| (0..4).map(|place| letter(word, place)).collect()).collect();
    let blocked = format!("sqids alphabet=abc min=4 blocklist={}", words.join(","));
    let codes = define(&floe, "codes", &formed(Definition::SEGMENT, &blocked)).unwrap();
    for _ in 0..2 {
        let minted = codes.mint_many(1).map(drop);
        let Err(MintError::Exhausted(text)) = minted else { panic!("{minted:?}") };
        assert!(text.contains("cannot write most numbers"), "{text}");
    }
}

#[test]
fn what_is_sealed_opens_to_each_number_once() {
    let floe = open();
    let definition = sealed("sealed key=1 base62 width=11", &one_key(1, 7));
    let minter = define(&floe, "orders", &definition).unwrap();
    let texts: Vec<_> = minter.mint_many(1000).unwrap().collect();
    let form = definition.form().unwrap();
    let numbers: Vec<_> = texts.iter().map(|text| form.decode(text).unwrap()).collect();
    assert_eq!(numbers, (1..=1000).collect::<Vec<_>>());
    assert!(!texts.is_sorted(), "the order shows");
}

#[test]
fn a_sealed_name_has_its_key_for_ever() {
    let floe = open();
    let form = "sealed key=1 base62";
    let keyless = Definition::SEGMENT.in_form(form.parse().unwrap()).unwrap();
    let Err(DefineError::Invalid(why)) = define(&floe, "orders", &keyless) else { panic!("it was served") };
    assert!(why.contains("was not given its key"), "{why}");

    define(&floe, "orders", &sealed(form, &one_key(1, 7))).unwrap();
    // The same id, and another key: it would write one text for two numbers.
    let Err(DefineError::Mismatch { stored, configured, .. }) =
        define(&floe, "orders", &sealed(form, &one_key(1, 8)))
    else {
        panic!("another key was taken")
    };
    assert_ne!(stored, configured);
    let stored = floe.stored(&name("orders")).unwrap().unwrap();
    let read = stored.form().unwrap();
    assert!(read.to_string().contains(" check="), "{read}");
    assert_eq!(read.decode("1"), Err(FormError::UnknownKey(KeyId::new(1))));
    assert!(read.with_keys(&one_key(1, 8)).unwrap_err().to_string().contains("check value"));
    read.with_keys(&one_key(1, 7)).unwrap();
}

/// What is bound for a key has a name, which must be one: that is found out before the name itself is bound.
#[test]
fn a_name_that_leaves_no_room_for_its_keys_is_refused_unbound() {
    let floe = open();
    let long = "n".repeat(127);
    let definition = sealed("sealed key=1 keyid=2bits base62", &one_key(1, 7));
    let Err(DefineError::Invalid(why)) = define(&floe, &long, &definition) else { panic!("it was served") };
    assert!(why.contains("127 bytes, and at most 122 are allowed"), "{why}");
    assert_eq!(floe.stored(&name(&long)).unwrap(), None);
}

#[test]
fn keys_that_texts_name_are_replaced_under_a_name() {
    let ledger = std::sync::Arc::new(Memory::default());
    let keys = one_key(1, 7).with(KeyId::new(2), key(8)).unwrap();
    for place in ["keyid=2bits", "keyid=prefix"] {
        let called = format!("orders-{place}");
        let (first, second) = (
            sealed(&format!("sealed key=1 {place} base62"), &keys),
            sealed(&format!("sealed key=2 {place} base62"), &keys),
        );
        assert_eq!(first.to_string(), second.to_string(), "one fingerprint");
        assert_eq!(first.to_string().parse::<Definition>().unwrap().to_string(), first.to_string());
        let before = {
            let floe = Floe::open(std::sync::Arc::clone(&ledger)).unwrap();
            define(&floe, &called, &first).unwrap().mint().unwrap()
        };
        let floe = Floe::open(std::sync::Arc::clone(&ledger)).unwrap();
        let after = define(&floe, &called, &second).unwrap().mint().unwrap();
        // Another key under an id that was used is refused, by whoever comes with it, also where it is not the one that seals.
        for (id, bytes) in [(1, [9, 8]), (2, [7, 9])] {
            let other = one_key(1, bytes[0]).with(KeyId::new(2), key(bytes[1])).unwrap();
            let other = sealed(&format!("sealed key={} {place} base62", 3 - id), &other);
            let fresh = Floe::open(std::sync::Arc::clone(&ledger)).unwrap();
            let error = define(&fresh, &called, &other).unwrap_err();
            assert!(matches!(error, DefineError::AnotherKey { .. }), "{error:?}");
            assert!(
                error.to_string().contains(&format!("the key with the id {id} of the name {called} is not")),
                "{error}"
            );
            assert_eq!(other.check_keys(&name(&called), fresh.ledger()), Err(error));
            // So it is by a floe that serves the name already.
            let served = define(&floe, &called, &other).map(drop);
            assert!(matches!(served, Err(DefineError::AnotherKey { .. })), "{id}: {served:?}");
        }
        assert_eq!(second.check_keys(&name(&called), floe.ledger()), Ok(()));
        let served = define(&floe, &called, &first).map(drop);
        let Err(DefineError::Invalid(why)) = served else { panic!("the other key seals: {served:?}") };
        assert!(why.contains("unload it before"), "{why}");
        // Not while it reserves ahead, which the first ID may have made it do.
        within(Duration::from_secs(10), || floe.unload(&name(&called)));
        define(&floe, &called, &first).unwrap();
        // A key that nothing was sealed with yet may turn out to be another one.
        let spare = |byte| {
            let keys =
                one_key(1, 7).with(KeyId::new(2), key(8)).unwrap().with(KeyId::new(3), key(byte)).unwrap();
            sealed(&format!("sealed key=2 {place} base62"), &keys)
        };
        for byte in [1, 2] {
            let floe = Floe::open(std::sync::Arc::clone(&ledger)).unwrap();
            define(&floe, &called, &spare(byte)).unwrap();
        }
        // What keys are bound under is no name, so nobody mints under it.
        let bound = ledger.names("", 100).unwrap();
        assert_eq!(bound.iter().filter(|(name, _)| Name::is_note(name)).count() % 2, 0, "{bound:?}");
        assert!(
            bound.iter().filter(|(text, _)| Name::is_note(text)).all(|(text, _)| Name::new(text).is_err())
        );
        let form = second.form().unwrap();
        assert_eq!((form.decode(&before), form.decode(&after)), (Ok(1), Ok(2)), "{before} {after}");
    }
}

/// The first of the keys was never sealed with, so the ledger does not know it.
#[test]
fn each_key_that_the_ledger_knows_is_compared() {
    let floe = open();
    let orders =
        |sealing: u16, keys: &Keys| sealed(&format!("sealed key={sealing} keyid=2bits base62"), keys);
    define(&floe, "orders", &orders(2, &one_key(2, 8))).unwrap();
    for (byte, is_same) in [(8, true), (9, false)] {
        let keys = one_key(1, 7).with(KeyId::new(2), key(byte)).unwrap().with(KeyId::new(3), key(1)).unwrap();
        let checked = orders(1, &keys).check_keys(&name("orders"), floe.ledger());
        match is_same {
            true => assert_eq!(checked, Ok(())),
            false => assert!(matches!(checked, Err(DefineError::AnotherKey { .. })), "{checked:?}"),
        }
    }
}

/// A key is bound for ever too, so whoever is refused the name binds none.
#[test]
fn who_is_refused_a_name_leaves_no_key_of_it() {
    let ledger = std::sync::Arc::new(Memory::default());
    let open = || Floe::open(std::sync::Arc::clone(&ledger)).unwrap();
    define(&open(), "orders", &formed(Definition::SEGMENT, "base62")).unwrap();
    let refused = define(&open(), "orders", &sealed("sealed key=1 keyid=2bits base62", &one_key(1, 7)));
    assert!(matches!(refused, Err(DefineError::Mismatch { .. })));
    assert_eq!(ledger.names("", 10).unwrap().len(), 1);
}

/// A kind of a program's own: the letters of its property, again and again.
struct Letters(String, std::sync::atomic::AtomicU64);

impl Mint for Letters {
    type Id = String;

    fn mint(&self) -> Result<String, MintError> {
        Ok(format!("{}{}", self.0, self.1.fetch_add(1, std::sync::atomic::Ordering::Relaxed)))
    }
}

/// A kind whose IDs have so many letters, and of which a list has one too few, or another one too many.
struct Poor(&'static str, usize, i64);

impl Mint for Poor {
    type Id = String;

    fn mint(&self) -> Result<String, MintError> {
        Ok(self.0.repeat(self.1))
    }

    fn mint_many(&self, count: u64) -> Result<Vec<String>, MintError> {
        (0..count.saturating_add_signed(self.2).max(1)).map(|_| self.mint()).collect()
    }
}

#[test]
fn a_registered_kind_makes_as_many_as_were_asked_for_of_at_most_1024_bytes() {
    let kinds = KindRegistry::new()
        .with("fits", |_, _| Ok(Poor("x", 1024, -1)))
        .with("wide", |_, _| Ok(Poor("é", 512, -1)))
        .with("long", |_, _| Ok(Poor("x", 1025, -1)))
        .with("too-wide", |_, _| Ok(Poor("é", 513, -1)))
        .with("many", |_, _| Ok(Poor("x", 1024, 1)));
    let floe = Floe::builder().kinds(kinds).open(Memory::default()).unwrap();
    let of = |kind: &str| {
        let registered = Registered::new(kind, Properties::default()).unwrap();
        define(&floe, kind, &Definition::Registered(registered)).unwrap()
    };
    assert_eq!(["fits", "wide"].map(|kind| of(kind).mint().unwrap().len()), [1024; 2]);
    for (minted, part) in [
        (of("long").mint_many(1), "1 to 1024 bytes"),
        (of("too-wide").mint_many(1), "1 to 1024 bytes"),
        (of("fits").mint_many(3), "made 2 IDs"),
        (of("many").mint_many(3), "made 4 IDs"),
    ] {
        let Err(MintError::Stopped(Stopped { reason: StopReason::Other, cause: why })) = minted.map(drop)
        else {
            panic!("it was handed out: {part}")
        };
        assert!(why.contains(part), "{why}");
    }
}

#[test]
fn a_registered_kind_is_made_once_for_each_name_from_its_properties() {
    let kinds = KindRegistry::new()
        .with("letters", |properties, _| {
            Ok(Letters(properties.get("letters").ok_or("it has no letters")?.to_owned(), 0.into()))
        })
        .with("numbered", |_, floe| floe.segment("numbered.numbers").map_err(|error| error.to_string()));
    let floe = Floe::builder().kinds(kinds).open(Memory::default()).unwrap();
    let letters = |text: &str| {
        let properties = Properties::default().with("letters", text).unwrap();
        Definition::Registered(Registered::new("letters", properties).unwrap())
    };
    let greek = define(&floe, "greek", &letters("αβγ")).unwrap();
    assert!(greek.may_block() && greek.try_mint_many(1).unwrap().is_none());
    assert_eq!(greek.mint_many(2).unwrap().collect::<Vec<_>>(), ["αβγ0".into(), "αβγ1".into()]);
    assert_eq!(define(&floe, "greek", &letters("αβγ")).unwrap().mint().unwrap(), "αβγ2");
    assert!(matches!(define(&floe, "greek", &letters("abc")), Err(DefineError::Mismatch { .. })));

    for (bad, part) in [("a\nb", "control characters"), ("a\0", "control characters")] {
        let Err(MintError::Stopped(Stopped { reason: StopReason::Other, cause: why })) =
            define(&floe, &format!("bad{}", bad.len()), &letters(bad)).unwrap().mint()
        else {
            panic!("{bad:?} was minted")
        };
        assert!(why.contains(part), "{why}");
    }

    let numbered = Definition::Registered(Registered::new("numbered", Properties::default()).unwrap());
    let numbered = define(&floe, "tickets", &numbered).unwrap();
    assert_eq!(numbered.mint_many(2).unwrap().collect::<Vec<_>>(), ["1".into(), "2".into()]);

    let none = Definition::Registered(Registered::new("letters", Properties::default()).unwrap());
    let Err(DefineError::Invalid(why)) = define(&floe, "none", &none) else { panic!("it was made") };
    assert!(why.contains("it has no letters"), "{why}");
    assert_eq!(floe.stored(&name("none")).unwrap(), None, "a name is bound once it can be served");

    let unknown = Definition::Registered(Registered::new("unheard", Properties::default()).unwrap());
    let Err(DefineError::Invalid(why)) = define(&floe, "unknown", &unknown) else { panic!("it was made") };
    assert!(why.contains("not registered"), "{why}");
}

#[test]
fn type_names_and_properties_have_rules() {
    for type_name in ["", "uuid4", "Sqids", "sqids", "registered", "two words", "ümlaut", &"x".repeat(65)] {
        let error = Registered::new(type_name, Properties::default()).unwrap_err();
        assert!(matches!(error, DefinitionError::Value(_)), "{type_name}: {error:?}");
        let kinds = KindRegistry::new().with(type_name, |_, _| Ok(UlidGenerator::new()));
        assert!(Floe::builder().kinds(kinds).open(Memory::default()).is_err(), "{type_name}");
    }
    for type_name in ["a", "my_kind-2", "0", &"x".repeat(64)] {
        Registered::new(type_name, Properties::default()).unwrap();
        let kinds = KindRegistry::new().with(type_name, |_, _| Ok(UlidGenerator::new()));
        Floe::builder().kinds(kinds).open(Memory::default()).unwrap();
    }
    for key in ["k", "A.b_c-9", &"k".repeat(64)] {
        Properties::default().with(key, "").unwrap();
    }
    for key in ["", "a=b", &"k".repeat(65)] {
        Properties::default().with(key, "").unwrap_err();
    }
    let all =
        (0..32).try_fold(Properties::default(), |all, count| all.with(&format!("k{count}"), "")).unwrap();
    all.clone().with("k32", "").unwrap_err();
    all.clone().with("k31", "").unwrap_err();
    Properties::default().with("k", &"x".repeat(1024)).unwrap();
    Properties::default().with("k", &"x".repeat(1025)).unwrap_err();
    assert_eq!(all.iter().count(), 32);
}

#[test]
fn a_kind_that_is_none_says_what_it_is() {
    let said = |text: &str| text.parse::<Kind>().unwrap_err().to_string();
    let later = "uuid1 uuid3 uuid5 uuid6 uuidv1 uuidv3 uuidv5 uuidv6 cuid cuid2 xid tsid guid";
    let forms = "uuid8 uuidv8 typeid hashids sqids sealed";
    for (words, part) in [(later, "is reserved"), (forms, "is a form, not a kind")] {
        for word in words.split(' ') {
            assert!(said(word).contains(part), "{}", said(word));
            assert!(floe::reserved_name(word) && floe::reserved_name(&word.to_uppercase()), "{word}");
        }
    }
    assert!(said("mine").contains("unknown kind") && !floe::reserved_name("mine"));
}

#[test]
fn properties_that_nobody_knows_are_found() {
    let properties = Properties::default().with("prefx", "R-").unwrap();
    assert_eq!(properties.only(&["prefx"]), Ok(()));
    assert!(
        properties
            .only(&["prefix", "tag"])
            .unwrap_err()
            .contains("no property \"prefx\": there are prefix, tag")
    );
}

#[test]
fn what_a_name_says_by_itself() {
    for (called, kind) in [
        ("uuid", Some(kind("uuid4"))),
        ("UUID7", Some(kind("uuid7"))),
        ("ulid", Some(kind("ulid"))),
        ("objectid", Some(kind("objectid"))),
        ("ksuid", Some(kind("ksuid"))),
        ("nanoid", Some(kind("nanoid"))),
        ("orders", None),
        ("cuid", None),
        ("UUIDv4", Some(kind("uuid4"))),
        ("uuidv7", Some(kind("uuid7"))),
        ("uuid8", None),
    ] {
        assert_eq!(Definition::called(called).map(|definition| definition.kind()), kind, "{called}");
    }
}

/// What a batch holds is taken one by one, or all.
#[test]
fn texts_are_taken_in_turn() {
    let floe = open();
    let handle = floe
        .define(
            &name("codes"),
            &formed(Definition::SEGMENT, "decimal width=3 bits=9"),
            &NameOptions::default(),
        )
        .unwrap();
    let Ok(Minted::Texts(mut texts)) = handle.mint_many(3) else { panic!("they are texts") };
    assert_eq!((texts.len(), texts.next_text()), (3, Some("001")));
    assert_eq!(texts.next().as_deref(), Some("002"));
    assert_eq!((texts.len(), texts.next_text()), (1, Some("003")));
    assert_eq!(texts.next_text(), None);
}
