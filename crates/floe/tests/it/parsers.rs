//! What nobody should send, to every parser of IDs at once: an empty text, look-alikes, another case, ten megabytes.

use std::error::Error;
use std::fmt::Debug;
use std::str::FromStr;

use floe::form::{Buffer, Form, Key, KeyId, Keys, read_type_id};
use floe::kind::{Ksuid, NanoId, NanoIdFormat, ObjectId, Ulid, Uuid};
use floe::{Id, WideId};

/// What a text means, as the parser's own type shows it, or why it means nothing.
type Parse = Box<dyn Fn(&str) -> Result<String, String>>;

struct Parser {
    name: String,
    /// A text that it reads, with letters where it has any.
    good: String,
    /// Whether letters of the other case are read as the same.
    either_case: bool,
    parse: Parse,
}

fn shown<T: Debug, E: Error>(result: Result<T, E>) -> Result<String, String> {
    result.map(|id| format!("{id:?}")).map_err(|error| error.to_string())
}

fn parser<T: FromStr<Err: Error> + Debug>(name: &str, good: &str, either_case: bool) -> Parser {
    let parse: Parse = Box::new(|text| shown(text.parse::<T>()));
    Parser { name: name.to_owned(), good: good.to_owned(), either_case, parse }
}

const FORMS: &[&str] = &[
    "decimal",
    "decimal pad=9 prefix=Nr.",
    "hex",
    "hex upper width=16",
    "base32",
    "base32 lower width=13",
    "base36",
    "base36 upper",
    "base58",
    "base62 width=11",
    "base62 bits=128",
    "typeid type=user",
    "hashids salt=pepper min=8",
    "sqids min=6",
    "sealed key=1 base62",
    "sealed key=1 keyid=2bits base32",
    "sealed key=1 keyid=prefix hex prefix=o_",
    "sealed key=1 bits=126 keyid=2bits typeid type=order",
];

fn parsers() -> Vec<Parser> {
    let mut parsers = vec![
        parser::<Uuid>("UUID", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f", true),
        parser::<Ulid>("ULID", "01ARZ3NDEKTSV4RRFFQ69G5FAV", true),
        parser::<ObjectId>("ObjectId", "507f1f77bcf86cd799439011", true),
        parser::<Ksuid>("KSUID", "0ujtsYcgvSTl8PAuAdqWYSMnLOv", false),
        parser::<NanoId>("NanoID", "V1StGXR8_Z5jdHi6B-myT", false),
        parser::<Id>("ID", "1212092628029698048", false),
        parser::<WideId>("wide ID", "4722366482869645213696", false),
        Parser {
            name: "NanoID of a format".to_owned(),
            good: "kk23k".to_owned(),
            either_case: false,
            parse: Box::new(|text| shown(NanoIdFormat::new("23k", 5).unwrap().read(text))),
        },
        Parser {
            name: "any TypeID".to_owned(),
            good: "user_01h455vb4pex5vsknk084sn02q".to_owned(),
            either_case: false,
            parse: Box::new(|text| shown(read_type_id(text))),
        },
    ];
    let key = "000102030405060708090a0b0c0d0e0f".parse::<Key>().unwrap();
    let keys = Keys::new().with(KeyId::new(1), key).unwrap();
    for text in FORMS {
        let form = text.parse::<Form>().unwrap().with_keys(&keys).unwrap();
        let mut buffer = Buffer::new();
        let good = form.encode(0x0123_4567_89ab_cdef_u64, &mut buffer).unwrap().to_owned();
        let parse: Parse = Box::new(move |text| shown(form.decode(text)));
        parsers.push(Parser { name: (*text).to_owned(), good, either_case: text.contains("base32"), parse });
    }
    parsers
}

/// What an error has to say: where, or by which rule. None repeats the text.
fn says_why(name: &str, text: &str, error: &str) {
    let rules = [
        "at byte ",
        "empty",
        " bytes",
        "digits",
        "past the largest",
        "more than the",
        "to begin with",
        "never writes",
    ];
    assert!(rules.iter().any(|rule| error.contains(rule)), "{name}: {error}");
    assert!(error.len() < 300, "{name}: the error has {} bytes", error.len());
    assert!(text.len() < 1_000 || !error.contains(&text[..100]), "{name}: the error repeats the text");
}

#[test]
fn an_empty_text_is_none() {
    for Parser { name, parse, .. } in parsers() {
        let error = parse("").expect_err(&name);
        assert!(error.contains("empty"), "{name}: {error}");
    }
}

#[test]
fn look_alikes_are_foreign_wherever_they_stand() {
    // Cyrillic а and О, fullwidth 1 and A, the Kelvin sign, which is k in small letters, the long s, an Arabic digit, signs
    // of no width, a combining accent, a minus that is no hyphen, and what a text often ends with.
    let others = [
        "а", "О", "１", "Ａ", "\u{212a}", "ſ", "٣", "\u{200b}", "\u{feff}", "\u{301}", "−", "ı", "🦀", "\0",
        " ", "\t", "\n",
    ];
    for Parser { name, good, parse, .. } in parsers() {
        assert!(parse(&good).is_ok(), "{name}: {good}");
        for other in others {
            for at in 0..good.len() {
                let instead = format!("{}{other}{}", &good[..at], &good[at + 1..]);
                let between = format!("{}{other}{}", &good[..at], &good[at..]);
                for text in [instead, between, format!("{good}{other}")] {
                    says_why(&name, &text, &parse(&text).expect_err(&format!("{name}: {text:?}")));
                }
            }
        }
    }
}

#[test]
fn another_case_is_the_same_id_or_none_or_another_digit() {
    for Parser { name, good, either_case, parse } in parsers() {
        let meant = parse(&good).unwrap();
        for at in (0..good.len()).filter(|at| good.as_bytes()[*at].is_ascii_alphabetic()) {
            let mut text = good.clone().into_bytes();
            text[at] ^= 0x20;
            let text = String::from_utf8(text).unwrap();
            match parse(&text) {
                Ok(read) => {
                    assert_eq!(read == meant, either_case, "{name}: {text} and {good} are both {read}")
                }
                Err(error) => says_why(&name, &text, &error),
            }
        }
    }
}

/// Each a thousand times: who read them to their ends would need minutes.
#[test]
fn ten_megabytes_are_refused_without_being_read() {
    const LENGTH: usize = 10 << 20;
    let mut huge: Vec<String> =
        ["0", "1", "z", "A", "-", "é", "\0"].map(|piece| piece.repeat(LENGTH / piece.len())).to_vec();
    huge.push(format!("user_{}", "0".repeat(LENGTH)));
    huge.push(format!("{}🦀", "1".repeat(LENGTH)));
    let definitions = [
        parser::<Form>("a form's own text", "hex", false),
        parser::<Key>("a key", "000102030405060708090a0b0c0d0e0f", false),
    ];
    for Parser { name, good, parse, .. } in parsers().into_iter().chain(definitions) {
        assert!(parse(&good).is_ok(), "{name}");
        let own = good.repeat(LENGTH / good.len());
        for text in huge.iter().chain([&own]) {
            for _ in 0..1_000 {
                says_why(&name, text, &parse(text).expect_err(&name));
            }
        }
    }
}
