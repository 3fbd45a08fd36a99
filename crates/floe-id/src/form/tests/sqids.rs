//! Sqids against published vectors and the crate `sqids`.

use proptest::prelude::*;

use super::*;

/// Of one number: text, form, number. From `tests/encoding.test.ts` and `tests/blocklist.test.ts` of
/// <https://github.com/sqids/sqids-spec>, and the last number of `minlength.test.ts`.
const VECTORS: &[(&str, &str, u128)] = &[
    ("bM", "sqids", 0),
    ("Uk", "sqids", 1),
    ("gb", "sqids", 2),
    ("Ef", "sqids", 3),
    ("Vq", "sqids", 4),
    ("uw", "sqids", 5),
    ("OI", "sqids", 6),
    ("AX", "sqids", 7),
    ("p6", "sqids", 8),
    ("nJ", "sqids", 9),
    ("ABARpJzdz9", "sqids", 9_007_199_254_740_991),
    ("JExTR", "sqids", 4_572_721),
    ("aho1e", "sqids blocklist=", 4_572_721),
    ("aho1e", "sqids blocklist=ArUO", 4_572_721),
    ("QyG4", "sqids blocklist=ArUO", 100_000),
];

#[test]
fn published_vectors() {
    for (text, name, number) in VECTORS {
        assert_eq!(encode(&form(name), *number), *text, "{name}");
    }
}

/// The texts of several numbers of `encoding.test.ts`, `alphabet.test.ts` and `blocklist.test.ts`;
/// those of `minlength.test.ts` are beginnings of one.
const SEVERAL: &[(&str, &str)] = &[
    (
        "sqids",
        "86Rf07 SvIz n3qa tryF eg6q rSCF sR8x uY2M 74dI 30WX moxr nWqP tSyw eX68 rxCY sV8a uf2K 7Cdk 3aWP m2xn se8ojk ARsz1p Q8AI49 5sQRZO JSwXFaosAN",
    ),
    ("sqids alphabet=0123456789abcdef", "489158"),
    ("sqids alphabet=ABCDEFGHIJKLMNOPQRSTUVWXYZ blocklist=sxnzkl", "IBSHOZ SXNZKL"),
    ("sqids blocklist=JSwXFaosAN,OCjV9JK64o,rBHf,79SM,7tE6", "1aYeB7bRUt"),
];

#[test]
fn several_numbers_are_no_id() {
    let longest = "86Rf07xd4zBmiJXQG6otHEbew02c3PWsUOLZxADhCpKj7aVFv9I8RquYrNlSTMyf1";
    for min in [6, 7, 8, 9, 10, 11, 12, 13, 62, 63, 64, 65] {
        let error = form(&format!("sqids min={min}")).decode(&longest[..min]);
        assert!(matches!(error, Err(FormError::NotCanonical { .. })), "{min}: {error:?}");
    }
    for (name, texts) in SEVERAL {
        let form = form(name);
        for text in texts.split(' ') {
            assert!(matches!(form.decode(text), Err(FormError::NotCanonical { .. })), "{name} {text}");
        }
    }
}

/// `min lengths` of `minlength.test.ts`, and `different inputs` of `encoding.test.ts`.
#[test]
fn least_lengths() {
    for min in [0, 1, 5, 10, 62] {
        let form = form(&format!("sqids min={min} bits=53"));
        for number in [0, 1, 2, 3, 100, 200, 300, 1_000, 2_000, 3_000, 100_000, 1_000_000, (1 << 53) - 1] {
            assert!(encode(&form, number).len() >= min);
        }
        let mut buffer = Buffer::new();
        assert_eq!(
            form.encode(1_u64 << 53, &mut buffer),
            Err(FormError::DoesNotFit { number: 1 << 53, bits: 53 }),
            "out of range"
        );
    }
}

/// `match against a short blocklist word` of `blocklist.test.ts`; and the list that goes without saying is theirs.
#[test]
fn the_block_list() {
    encode(&form("sqids blocklist=pnd"), 1_000);
    let listed: std::collections::HashSet<String> =
        super::super::sqids::default_words().map(str::to_owned).collect();
    assert_eq!(listed, ::sqids::default_blocklist());
}

/// Published texts that other libraries read, and the specification does not write.
#[test]
fn only_what_is_written_is_read() {
    for (name, text, error) in [
        ("sqids", "aho1e", FormError::NotCanonical { at: 0 }),
        ("sqids blocklist=ArUO", "ArUO", FormError::NotCanonical { at: 0 }),
        // Two and three numbers.
        ("sqids", "SvIz", FormError::NotCanonical { at: 0 }),
        ("sqids", "86Rf07", FormError::NotCanonical { at: 0 }),
        ("sqids", "*", FormError::Length { bytes: 1, least: 2, most: 12 }),
        ("sqids", "bM*", FormError::Symbol { character: '*', at: 2 }),
        // `https://github.com/sqids/sqids-rust/pull/7`
        ("sqids bits=64", "0J4AEXRN106Z0", FormError::Length { bytes: 13, least: 2, most: 12 }),
        ("sqids bits=64 min=13", "0J4AEXRN106Z0", FormError::TooLarge { bits: 64 }),
        ("sqids prefix=c_", "c_bM\u{200b}", FormError::Symbol { character: '\u{200b}', at: 4 }),
    ] {
        assert_eq!(form(name).decode(text), Err(error), "{name} {text}");
    }
}

/// `max_encoding_attempts` of the specification's tests.
#[test]
fn a_number_without_a_text() {
    let form = form("sqids alphabet=abc min=3 blocklist=abc,bca,cab");
    let mut buffer = Buffer::new();
    assert_eq!(form.encode(0_u64, &mut buffer), Err(FormError::Blocked { number: 0 }));
    assert!(matches!(form.decode("abc"), Err(FormError::NotCanonical { .. })));
}

#[test]
fn what_cannot_be_is_refused() {
    for (text, error) in [
        ("sqids alphabet=ab", "at least 3"),
        ("sqids alphabet=aabcdefg", "'a' twice"),
        ("sqids alphabet=%C3%AB1092", "printable ASCII"),
        ("sqids bits=65", "65 bits are outside 1..=64"),
        ("sqids min=256", "cannot have \"min=256\""),
        ("sqids salt=a", "cannot have \"salt=a\""),
    ] {
        let found = text.parse::<Form>().expect_err(text).to_string();
        assert!(found.contains(error), "{text}: {found}");
    }
}

#[test]
fn one_spelling_is_written() {
    for (read, written) in [
        ("sqids min=0", "sqids"),
        ("sqids blocklist=", "sqids blocklist="),
        ("sqids blocklist=Word,word,ab,OTHER,not%20there", "sqids blocklist=other,word"),
        (
            "sqids prefix=s- blocklist=x%2Cy min=9 alphabet=0123456789ab,xy",
            "sqids min=9 alphabet=0123456789ab%2Cxy blocklist=x%2Cy prefix=s-",
        ),
        ("sqids alphabet=abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", "sqids"),
    ] {
        assert_eq!(form(read).to_string(), written);
        assert_eq!(form(written), form(read));
    }
}

fn oracle(min: u8, alphabet: &str, words: Option<&[&str]>) -> ::sqids::Sqids {
    let mut builder = ::sqids::Sqids::builder().min_length(min).alphabet(alphabet.chars().collect());
    if let Some(words) = words {
        builder = builder.blocklist(words.iter().map(|word| (*word).to_owned()).collect());
    }
    builder.build().unwrap()
}

const ALPHABETS: &[&str] = &[
    super::super::sqids::DEFAULT_ALPHABET,
    "0123456789abcdef",
    "abc",
    "fuckshit0",
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!@#$%^&*()-_+|{}[];:'\"/?.>,<`~",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn as_sqids_writes(
        min in prop_oneof![Just(0_u8), 0_u8..30, any::<u8>()],
        alphabet in prop::sample::select(ALPHABETS),
        words in prop_oneof![Just(None), prop::collection::vec(prop::sample::select(&["abc", "aab", "ca", "b0", "a1bc", "9f", "f00", "Zz", "xyz"][..]), 0..4).prop_map(Some)],
        number: u64,
        shift in 0_u32..64,
    ) {
        let number = number >> shift;
        let mut sqids = Sqids::new().min(min).alphabet(alphabet);
        if let Some(words) = &words {
            sqids = sqids.blocklist(words);
        }
        let made = Form::sqids(64, sqids).unwrap();
        let mut buffer = Buffer::new();
        let text = made.encode(number, &mut buffer).map(str::to_owned);
        match oracle(min, alphabet, words.as_deref()).encode(&[number]) {
            Ok(wanted) => {
                prop_assert_eq!(text, Ok(wanted));
                encode(&made, number.into());
            }
            Err(_) => prop_assert_eq!(text, Err(FormError::Blocked { number: number.into() })),
        }
        prop_assert_eq!(form(&made.to_string()), made);
    }

    /// Words that stand everywhere, with and without digits, so that each rule of the list decides some texts.
    #[test]
    fn as_sqids_leaves_words_out(
        words in prop::collection::vec("[ab01]{3,5}", 0..12),
        min in 0_u8..12,
        number in 0_u64..1 << 16,
    ) {
        let alphabet = "abc01";
        let made = Form::sqids(64, Sqids::new().min(min).alphabet(alphabet).blocklist(&words)).unwrap();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let text = made.encode(number, &mut Buffer::new()).map(str::to_owned);
        prop_assert_eq!(text.ok(), oracle(min, alphabet, Some(&words)).encode(&[number]).ok());
    }

    #[test]
    fn what_is_read_sqids_reads_as_well(text in "[0-9A-Za-z]{2,12}") {
        let form = form("sqids bits=64");
        if let Ok(number) = form.decode(&text) {
            let read = oracle(0, super::super::sqids::DEFAULT_ALPHABET, None).decode(&text);
            prop_assert_eq!(read, vec![u64::try_from(number).unwrap()]);
            prop_assert_eq!(encode(&form, number), text);
        }
    }
}

/// A word that the list forbids is in no text, in whatever case, and every number still has its own.
#[test]
fn no_word_of_the_default_list_is_written() {
    let form = form("sqids alphabet=fuckshit0");
    let mut seen = std::collections::HashSet::new();
    for number in 0..50_000 {
        let text = encode(&form, number);
        assert!(!text.contains("fuck") && !text.contains("shit"), "{text}");
        assert!(seen.insert(text));
    }
}
