//! What settings make of a name, and what a definition says of its IDs.

use std::fmt::Display;

use super::*;

/// A setting and what is said of it.
type Said<'a> = (&'static str, &'a dyn Display);

fn of(text: &str) -> Definition {
    text.parse().unwrap()
}

/// What the settings make, and of which of them something was said.
fn defined(kind: Kind, settings: &[Said<'_>]) -> (Option<String>, Vec<&'static str>) {
    let (mut given, mut wrong) = (Given::default(), Vec::new());
    settings.iter().for_each(|(key, value)| given.set(key, value));
    let definition = kind.define(&given, &mut |key, _| wrong.push(key));
    (definition.map(|definition| definition.to_string()), wrong)
}

/// What the settings make if nothing is wrong with them.
fn made(kind: Kind, settings: &[Said<'_>]) -> String {
    let (definition, wrong) = defined(kind, settings);
    assert!(wrong.is_empty(), "{wrong:?}");
    definition.unwrap()
}

/// Which settings are wrong; each is named once, and nothing is made of them.
fn wrong(kind: Kind, settings: &[Said<'_>]) -> Vec<&'static str> {
    let (definition, wrong) = defined(kind, settings);
    assert_eq!(definition, None);
    wrong
}

const EPOCH: &str = "2020-01-01T00:00:00Z";
const FIELDS: &str = "time:41 worker:10 sequence:12";

#[test]
fn a_setting_that_is_left_out_has_its_default() {
    assert_eq!(of(&made(Kind::SNOWFLAKE, &[])), Definition::from(Layout::TWITTER));
    assert_eq!(made(Kind::SEGMENT, &[]), "segment increment=1 offset=1");
    assert_eq!(made(Kind::COUNTER, &[]), "counter");
    assert_eq!(made(Kind::DATED, &[]), "dated zone=UTC digits=6 overflow=refuse prefix=");
    assert!(Given::default().is_empty());
}

#[test]
fn a_setting_that_is_given_is_part_of_the_definition() {
    let own = Definition::Snowflake { layout: Layout::TWITTER, own: true };
    assert_eq!(of(&made(Kind::SNOWFLAKE, &[("own", &true)])), own);
    assert_eq!(
        made(Kind::SEGMENT, &[("increment", &(1_u64 << 32)), ("offset", &0)]),
        "segment increment=4294967296 offset=0"
    );
    for (date, digits, word) in [("yyyyMMdd", 10, ""), ("yyyyMM", 12, "date=yyyyMM "), ("yy", 1, "date=yy ")]
    {
        let settings: [(_, &dyn Display); 4] =
            [("date", &date), ("digits", &digits), ("prefix", &"INV"), ("overflow", &"widen")];
        let expected = format!("dated {word}zone=UTC digits={digits} overflow=widen prefix=INV");
        assert_eq!(made(Kind::DATED, &settings), expected);
    }
    let mut given = Given::default();
    given.set("digits", 6);
    assert!(!given.is_empty());
}

/// The definition of the layout.
fn layout(text: &str) -> String {
    Definition::from(text.parse::<Layout>().unwrap()).to_string()
}

#[test]
fn fields_of_a_snowflake_take_their_tick_and_epoch_from_the_layout_or_from_settings() {
    let whole = layout(&format!("{FIELDS} tick=10ms epoch={EPOCH}"));
    let (tick, epoch) = ("tick=10ms", format!("epoch={EPOCH}"));
    let mut spellings: Vec<(String, Vec<Said<'_>>)> = vec![
        (format!("{FIELDS} {tick} {epoch}"), vec![]),
        (format!("{FIELDS} {tick}"), vec![("epoch", &EPOCH)]),
        (format!("{FIELDS} {epoch}"), vec![("tick", &"10ms")]),
        (FIELDS.to_owned(), vec![("tick", &"10ms"), ("epoch", &EPOCH)]),
    ];
    for (layout, settings) in &mut spellings {
        settings.push(("layout", layout));
        assert_eq!(made(Kind::SNOWFLAKE, settings), whole);
    }
    let wide = layout(&format!("time:43 server:24 sequence:18 tick=10ms epoch={EPOCH} wide"));
    let settings: [(_, &dyn Display); 3] =
        [("layout", &"time:43 server:24 sequence:18 wide"), ("tick", &"10ms"), ("epoch", &EPOCH)];
    assert_eq!(made(Kind::SNOWFLAKE, &settings), wide);
    // A preset has a tick and an epoch already.
    let later = layout(&format!("twitter epoch={EPOCH}"));
    assert_eq!(made(Kind::SNOWFLAKE, &[("layout", &"twitter"), ("epoch", &EPOCH)]), later);
}

#[test]
fn what_is_wrong_with_a_snowflakes_settings_is_said_of_the_setting() {
    let snowflake = |settings: &[Said<'_>]| wrong(Kind::SNOWFLAKE, settings);
    assert_eq!(snowflake(&[("own", &"perhaps")]), ["own"]);
    assert_eq!(snowflake(&[("layout", &"nobody's")]), ["layout"]);
    assert_eq!(snowflake(&[("layout", &FIELDS)]), ["tick", "epoch"], "both are missing");
    assert_eq!(snowflake(&[("layout", &FIELDS), ("tick", &"1ms")]), ["epoch"]);
    assert_eq!(snowflake(&[("tick", &"soon")]), ["tick"]);
    assert_eq!(snowflake(&[("epoch", &"once")]), ["epoch"]);
    let (tick, epoch) = ("twitter tick=1ms", format!("twitter epoch={EPOCH}"));
    assert_eq!(snowflake(&[("layout", &tick), ("tick", &"1ms")]), ["tick"], "it is said twice");
    assert_eq!(snowflake(&[("layout", &epoch), ("epoch", &EPOCH)]), ["epoch"], "it is said twice");
}

#[test]
fn what_is_wrong_with_the_settings_of_counted_numbers_is_said_of_the_setting() {
    for (increment, offset, key) in
        [(0_u64, 1_u64, "increment"), ((1 << 32) + 1, 1, "increment"), (1, (1 << 32) + 1, "offset")]
    {
        assert_eq!(wrong(Kind::SEGMENT, &[("increment", &increment), ("offset", &offset)]), [key]);
    }
    for (date, digits) in [("yyyyMMdd", 0), ("yyyyMMdd", 11), ("yyyyMM", 13)] {
        assert_eq!(
            wrong(Kind::DATED, &[("date", &date), ("digits", &digits)]),
            ["digits"],
            "{date} {digits}"
        );
    }
    for (key, value) in [
        ("date", "MMdd"),
        ("overflow", "burst"),
        ("digits", "many"),
        ("prefix", "I N V"),
        ("zone", "Atlantis"),
    ] {
        assert_eq!(wrong(Kind::DATED, &[(key, &value)]), [key]);
    }
}

/// It would be taken for floe's own, and no program would make it.
#[test]
fn a_registered_kind_is_not_made_of_settings() {
    assert_eq!(wrong(Kind::REGISTERED, &[]), ["kind"]);
}

#[test]
fn what_is_wrong_with_the_settings_of_a_nanoid_is_said_of_the_setting() {
    let nanoid = |settings: &[Said<'_>]| wrong("nanoid".parse().unwrap(), settings);
    for length in ["0", "64", "many"] {
        assert_eq!(nanoid(&[("length", &length), ("alphabet", &"0123456789")]), ["length"], "{length}");
    }
    for alphabet in ["", "a", "aa", "a b"] {
        assert_eq!(nanoid(&[("length", &12), ("alphabet", &alphabet)]), ["alphabet"], "{alphabet:?}");
    }
}

#[test]
fn a_setting_that_a_configuration_must_have_says_what_to_write() {
    let settings = Kind::ALL.iter().flat_map(|kind| kind.settings());
    let required: Vec<_> = settings.filter_map(|setting| Some((setting.key, setting.missing?))).collect();
    assert_eq!(required.iter().map(|(key, _)| *key).collect::<Vec<_>>(), ["layout", "zone", "digits"]);
    for ((key, said), part) in required.into_iter().zip([
        "write a preset such as \"twitter\"",
        "in which time zone a day begins, such as \"Asia/Shanghai\"",
        "how many digits the counter has, 1 to 10",
    ]) {
        assert!(said.starts_with("it is missing: ") && said.contains(part), "{key}: {said}");
    }
}

#[test]
fn a_kind_says_what_its_ids_are() {
    let counted = |word: &str| matches!(word, "segment" | "counter" | "dated");
    let timed = |word: &str| matches!(word, "snowflake" | "dated" | "uuid7" | "ulid" | "objectid" | "ksuid");
    for (at, kind) in Kind::ALL.iter().enumerate() {
        let word = kind.as_str();
        assert_eq!((kind.is_counted(), kind.has_time()), (counted(word), timed(word)), "{word}");
        assert_eq!(Kind::ALL.iter().position(|other| other == kind), Some(at), "{word} is one kind");
    }
}

#[test]
fn an_unconfigured_name_is_of_no_kind_that_needs_the_ledger() {
    for kind in Kind::ALL {
        let called = Definition::called(kind.as_str()).map(|definition| definition.kind());
        assert_eq!(called, (!kind.is_number()).then_some(*kind), "{kind}");
    }
}

#[test]
fn definitions_of_kinds_without_a_ledger_are_equal_where_kind_and_properties_are() {
    let hex = "alphabet=0123456789abcdef";
    let all = ["uuid4", "uuid7", &format!("nanoid length=12 {hex}"), &format!("nanoid length=13 {hex}")]
        .map(|text| (text.to_owned(), of(text)));
    for (one, first) in &all {
        for (other, second) in &all {
            assert_eq!(first == second, one == other, "{one} and {other}");
        }
    }
}

fn tagged() -> Definition {
    Definition::Registered(Registered::new("tagged", Properties::new()).unwrap())
}

/// A protocol of numbers cannot carry texts, and a name that needs no ledger is served without it.
#[test]
fn a_definition_says_whether_its_ids_are_texts_and_whether_they_need_the_ledger() {
    let short = |text: &str| of(text).in_form("base62".parse().unwrap()).unwrap();
    let uuid = of("uuid7").in_form("typeid type=user".parse().unwrap()).unwrap();
    for (definition, is_text, needs_ledger) in [
        (Layout::TWITTER.into(), false, true),
        (Definition::Counter, false, true),
        (short("counter"), true, true),
        (of("uuid4"), true, false),
        (uuid, true, false),
        (tagged(), true, true),
    ] {
        let said = (definition.is_text(), definition.needs_ledger());
        assert_eq!(said, (is_text, needs_ledger), "{definition}");
    }
}

#[test]
fn a_registered_kind_goes_by_the_name_under_which_it_was_registered() {
    assert_eq!(tagged().kind_name(), "tagged");
    assert_eq!(of("uuid7").kind_name(), "uuid7");
}

#[test]
fn names_of_a_layout_share_its_generator_unless_the_definition_says_otherwise() {
    let Definition::Snowflake { own, .. } = Layout::TWITTER.into() else { panic!("it is a layout") };
    assert!(!own);
}

#[test]
fn what_a_form_has_read_is_written_in_the_kinds_own_way() {
    let written = [
        ("uuid4", "18f6f3c4a5b4c6d8e9f0a1b2c3d4e5f", "018f6f3c-4a5b-4c6d-8e9f-0a1b2c3d4e5f"),
        ("uuid7", "18f6f3c4a5b7c6d8e9f0a1b2c3d4e5f", "018f6f3c-4a5b-7c6d-8e9f-0a1b2c3d4e5f"),
        ("ulid", "18f6f3c4a5b7c6d8e9f0a1b2c3d4e5f", "01HXQKRJJVFHPRX7RA3CP3TKJZ"),
        ("objectid", "7f1f77bcf86cd799439011", "007f1f77bcf86cd799439011"),
    ];
    for (kind, hex, text) in written {
        let number = u128::from_str_radix(hex, 16).unwrap();
        let plain = of(kind);
        assert_eq!(plain.unformed_text(number), text);
        let form = Form::of_bits("hex", plain.form_bits().unwrap()).unwrap();
        let formed = plain.in_form(form).unwrap();
        assert_eq!(formed.unformed_text(number), text);
        assert_eq!(formed.read(hex).map(|read| read.kind).as_deref(), Ok(kind), "{hex}");
    }
    let writes =
        |kind: &Kind| Definition::called(kind.as_str()).is_some_and(|kind| kind.form_bits().is_some());
    let kinds = Kind::ALL.iter().filter(|kind| writes(kind)).map(|kind| kind.as_str());
    assert!(kinds.eq(written.map(|(kind, ..)| kind)), "each kind whose IDs a form writes is above");
    assert_eq!(Definition::Counter.unformed_text(42), "42");
}

/// The form is part of the binding, so what is left out can never be put back.
#[test]
fn a_form_is_left_out_only_where_the_numbers_are_written_so_anyway() {
    let formed = |definition: Definition, form: &str| {
        let formed = definition.in_form(form.parse().unwrap()).unwrap();
        formed.form().map(ToString::to_string)
    };
    assert_eq!(formed(Definition::Counter, "decimal"), None);
    assert_eq!(formed(Layout::JAVASCRIPT.into(), "decimal"), None, "it has bits to spare");
    assert_eq!(formed(Definition::Counter, "decimal bits=16").as_deref(), Some("decimal bits=16"), "it ends");
    assert!(formed(of("uuid4"), "decimal bits=128").is_some(), "a UUID is no number");
    assert!(formed(Definition::Counter, "base62").is_some());
}

/// The key may be on another machine than the operator.
#[test]
fn a_name_of_a_sealed_form_begins_where_it_is_told_to_also_without_the_key() {
    let sealed = Definition::SEGMENT.in_form("sealed key=1 base62".parse().unwrap()).unwrap();
    assert_eq!(sealed.begin_position(1_000), Ok(999));
}

/// Not by the number that was asked for, which need not be one of the name's.
#[test]
fn a_name_begins_where_its_form_can_write_the_first_number_and_nowhere_else() {
    let tens = of("segment increment=10 offset=1").in_form("decimal bits=6".parse().unwrap()).unwrap();
    assert_eq!(tens.begin_position(52), Ok(6));
    assert!(matches!(tens.begin_position(62), Err(NoPosition::Form { number: 71, .. })));
}

#[test]
fn only_a_segment_and_a_counter_have_positions_and_only_up_to_their_last_number() {
    let dated = DatedShape::new("UTC", 6, "", Overflow::Refuse).unwrap();
    for definition in [Layout::TWITTER.into(), Definition::Dated(dated), of("uuid4"), tagged()] {
        assert_eq!((definition.position_of(7), definition.number_at(7)), (None, None), "{definition}");
        assert_eq!(definition.begin_position(7), Err(NoPosition::Uncounted(definition.kind())));
    }
    let even = of("segment increment=2 offset=2");
    assert_eq!(even.begin_position(MAX_MARK - 1), Ok(MAX_MARK / 2 - 1));
    assert_eq!(even.begin_position(MAX_MARK), Err(NoPosition::UsedUp(MAX_MARK)));
}

#[test]
fn a_text_that_breaks_a_kinds_rules_is_no_definition() {
    for text in [
        "segment increment=0 offset=1",
        "segment increment=1 offset=4294967297",
        "uuid7 colour=red",
        "uuid7 time=coarse",
        "nanoid length=12 colour=red",
    ] {
        assert!(text.parse::<Definition>().is_err(), "{text}");
    }
    assert!("segment increment=1 offset=0".parse::<Definition>().is_ok());
}

#[test]
fn an_id_is_explained_by_how_its_number_came_about() {
    let read = Definition::Counter.read("7").unwrap();
    assert!(read.explanation.contains("a counter prints its count:\n  7\n"), "{}", read.explanation);
    let facts = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(label, value)| ((*label).to_owned(), (*value).to_owned())).collect::<Vec<_>>()
    };
    let read = Definition::SEGMENT.read("42").unwrap();
    assert_eq!(read.facts, facts(&[("numbers", "1 + 1 * n"), ("n", "41")]));
    assert!(
        read.explanation.contains("\n  (42 - 1) / 1 = 41, without a remainder\n"),
        "{}",
        read.explanation
    );
    let short = Definition::Counter.in_form("base62".parse().unwrap()).unwrap().read("10").unwrap();
    assert!(short.facts.contains(&("number".to_owned(), "62".to_owned())), "{:?}", short.facts);
    assert!(short.extra.contains(&("number".to_owned(), "62".to_owned().into())), "{:?}", short.extra);
}

#[test]
fn the_parts_of_a_dated_id_stand_below_one_another() {
    let shape = |prefix| DatedShape::new("UTC", 6, prefix, Overflow::Refuse).unwrap();
    let read = |prefix, text: &str| Definition::Dated(shape(prefix)).read(text).unwrap();
    let reading = read("INV", "INV20261120000123");
    let facts = [("date", "2026-11-20 in UTC"), ("number", "123 of that day")];
    assert_eq!(reading.facts, facts.map(|(label, value)| (label.to_owned(), value.to_owned())));
    assert!(
        reading.extra.contains(&("time".to_owned(), "2026-11-20".to_owned().into())),
        "{:?}",
        reading.extra
    );
    let date_and_number =
        "  20261120  date 2026-11-20 in UTC\n  000123    number 123 of that day, in at least 6 digits\n";
    let lines =
        |reading: &floe_id::inspect::Reading| reading.explanation.split_once(":\n").unwrap().1.to_owned();
    assert_eq!(lines(&reading), format!("  INV       prefix\n{date_and_number}"));
    assert_eq!(lines(&read("", "20261120000123")), date_and_number, "no line for what is not there");
}

/// A definition can be made by hand, and inspection goes on.
#[test]
fn an_id_of_a_segment_that_cannot_be_is_read_without_a_panic() {
    let stuck = Definition::Segment { increment: 0, offset: 5 };
    assert!(stuck.check().is_err());
    for text in ["4", "5", "6"] {
        let _ = stuck.read(text);
    }
}

#[test]
fn a_text_is_too_long_for_an_id_from_257_bytes_on() {
    let read = |bytes| Definition::Counter.read(&"1".repeat(bytes));
    assert!(matches!(read(256), Err(ReadIdError::Number { .. })));
    assert!(matches!(read(257), Err(ReadIdError::Length(_))));
}

/// Each would be read as a number by a parser of numbers.
#[test]
fn a_date_has_decimal_digits_alone() {
    for text in ["2026+1", "+02611", "2026-1", "２0261"] {
        assert_eq!(DateFormat::Month.read(text), None, "{text}");
    }
}

#[test]
fn a_dated_id_with_anything_but_digits_is_refused_where_that_stands() {
    let shape = DatedShape::new("UTC", 6, "INV", Overflow::Refuse).unwrap();
    for (text, said) in [
        ("INV20261120+00123", "'+' at byte 11 is not a decimal digit"),
        ("20261120+00123", "'+' at byte 8 is not a decimal digit"),
        ("INV2026-120000123", "'-' at byte 7 is not a decimal digit"),
    ] {
        let error = shape.read(text).unwrap_err().to_string();
        assert!(error.starts_with(said), "{error}");
    }
}

/// Whoever types one digit too many does not get another ID.
#[test]
fn a_number_of_more_digits_is_read_where_the_counter_widens_alone() {
    let read = |overflow| {
        let shape = DatedShape::new("UTC", 6, "", overflow).unwrap();
        shape.read("202611201234567").map(|(_, number)| number)
    };
    assert_eq!(read(Overflow::Widen), Ok(1_234_567));
    let refused = read(Overflow::Refuse).unwrap_err().to_string();
    assert!(refused.contains("7 digits after the date are too many"), "{refused}");
}

#[test]
fn a_prefix_has_no_character_that_a_terminal_obeys() {
    for prefix in ["INV\u{1b}[2J", "\u{7}", "INV\u{9b}"] {
        assert!(DatedShape::new("UTC", 6, prefix, Overflow::Refuse).is_err(), "{prefix:?}");
    }
}
