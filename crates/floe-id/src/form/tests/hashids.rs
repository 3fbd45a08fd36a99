//! Hashids against published vectors and the crate `harsh`.

use harsh::Harsh;
use proptest::prelude::*;

use super::*;

/// Of one number: text, form, number. From the tests of <https://github.com/niieani/hashids.js> (`default-params`,
/// `custom-params`), and of <https://crates.io/crates/harsh>, which took its own from hashids.org.
const VECTORS: &[(&str, &str, u128)] = &[
    ("gY", "hashids", 0),
    ("jR", "hashids", 1),
    ("R8ZN0", "hashids", 928_728),
    ("gLpmopgO6", "hashids", 1_000_000_000_000),
    ("lEW77X7g527", "hashids", 9_007_199_254_740_991),
    ("nej1m3d5a6yn875e7gr9kbwpqol02q", CUSTOM, 0),
    ("dw1nqdp92yrajvl9v6k3gl5mb0o8ea", CUSTOM, 1),
    ("onqr0bk58p642wldq14djmw21ygl39", CUSTOM, 928_728),
    ("m3d5a6yn875rae8y81a94gr9kbwpqo", CUSTOM, 1_000_000_000_000),
    ("1q3y98ln48w96kpo0wgk314w5mak2d", CUSTOM, 9_007_199_254_740_991),
    ("4o6Z7KqxE", "hashids salt=this%20is%20my%20salt", 1_226_198_605_112),
    ("ejR", "hashids min=3", 1),
];

const CUSTOM: &str =
    "hashids salt=this%20is%20my%20salt min=30 alphabet=xzal86grmb4jhysfoqp3we7291kuct5iv0nd";

#[test]
fn published_vectors() {
    for (text, name, number) in VECTORS {
        assert_eq!(encode(&form(name), *number), *text, "{name}");
    }
}

/// The same tests' rows of several numbers and of numbers past 64 bits, which other libraries read and floe does not.
const MORE_THAN_AN_ID: &[(&str, &str)] = &[
    ("o2fXhV", "hashids"),
    ("jRfMcP", "hashids"),
    ("jQcMcW", "hashids"),
    ("gYcxcr", "hashids"),
    ("BrtltWt2tyt1tvt7tJt2t1tD", "hashids"),
    ("G6XOnGQgIpcVcXcqZ4B8Q8B9y", "hashids"),
    ("5KoLLVL49RLhYkppOplM6piwWNNANny8N", "hashids"),
    ("BPg3Qx5f8VrvQkS16wpmwIgj9Q4Jsr93gqx", "hashids"),
    ("1wfphpilsMtNumCRFRHXIDSqT2UPcWf1hZi3s7tN", "hashids"),
    ("N95VW0Lo06rQBvJDOE2BVvREP86AqvYN4O9g9p", "hashids"),
    ("18apy3wlqkjvd5h1id7mn5ore2d06b", CUSTOM),
    ("o60edky1ng3vl9hbfavwr5pa2q8mb9", CUSTOM),
    ("o60edky1ng3vlqfbfp4wr5pa2q8mb9", CUSTOM),
    ("qek2a08gpl575efrfd7yomj9dwbr63", CUSTOM),
    ("op7qrcdc3cgc2c0cbcrcoc5clce4d6", CUSTOM),
    ("5430bd2jo0lxyfkfjfyojej5adqdy4", CUSTOM),
    ("aa5kow86ano1pt3e1aqm239awkt9pk380w9l3q6", CUSTOM),
    ("pm823wg6d1wea8521xa69635n16kl902pw", CUSTOM),
];

#[test]
fn several_numbers_are_no_id() {
    for (text, name) in MORE_THAN_AN_ID {
        let error = form(name).decode(text).expect_err(text);
        assert!(
            matches!(error, FormError::NotCanonical { .. } | FormError::Length { .. }),
            "{text}: {error}"
        );
    }
}

/// Other libraries read these: more than one number (the same vectors' other rows), a guard that no text has, a text that
/// is none.
#[test]
fn only_what_is_written_is_read() {
    for (name, text, error) in [
        ("hashids", "o2fXhV", FormError::NotCanonical { at: 2 }),
        ("hashids", "f", FormError::Length { bytes: 1, least: 2, most: 13 }),
        ("hashids", "jRjR", FormError::NotCanonical { at: 0 }),
        ("hashids min=3", "ejRR", FormError::NotCanonical { at: 0 }),
        ("hashids", "g Y", FormError::Symbol { character: ' ', at: 1 }),
        ("hashids", "gY４", FormError::Symbol { character: '４', at: 2 }),
        ("hashids prefix=c_", "c_jRf!", FormError::Symbol { character: '!', at: 5 }),
        (
            "hashids alphabet=abcdefghjklmnpqrstuvwxyz23456789 min=6",
            "a1bcdef",
            FormError::Symbol { character: '1', at: 1 },
        ),
    ] {
        assert_eq!(form(name).decode(text), Err(error), "{name} {text}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    for (text, error) in [
        ("hashids alphabet=1234567890", "at least 16"),
        ("hashids alphabet=aabcdefghijklmnopq", "'a' twice"),
        ("hashids alphabet=abcdefghijklmnop%20", "printable ASCII"),
        ("hashids alphabet=abcdefghijklmnop%C3%A9", "printable ASCII"),
        ("hashids salt=%C3%A9", "the salt has to be ASCII"),
        ("hashids bits=65", "65 bits are outside 1..=64"),
        ("hashids min=256", "cannot have \"min=256\""),
        ("hashids width=8", "cannot have \"width=8\""),
    ] {
        let found = text.parse::<Form>().expect_err(text).to_string();
        assert!(found.contains(error), "{text}: {found}");
    }
    let salted = |bytes| Form::hashids(64, Hashids::new(&"x".repeat(bytes)));
    assert!(salted(256).is_ok());
    assert!(salted(257).is_err_and(|error| error.to_string().contains("at most 256")));
}

#[test]
fn one_spelling_is_written() {
    for (read, written) in [
        ("hashids", "hashids"),
        ("hashids salt=a,b min=8", "hashids salt=a%2Cb min=8"),
        ("hashids min=0 salt=", "hashids"),
        ("hashids bits=64 prefix=o- min=8 salt=x", "hashids bits=64 salt=x min=8 prefix=o-"),
        ("hashids alphabet=abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ1234567890", "hashids"),
        ("hashids alphabet=abcdefghijklmnop%25,", "hashids alphabet=abcdefghijklmnop%25%2C"),
    ] {
        assert_eq!(form(read).to_string(), written);
        assert_eq!(form(written), form(read));
    }
}

/// Of every alphabet the worst: those of `custom-alphabet.test.ts` of hashids.js that are printable ASCII.
const ALPHABETS: &[&str] = &[
    "cCsSfFhHuUiItT01",
    "abdegjklCFHISTUc",
    "abdegjklmnopqrSF",
    "abdegjklmnopqrvwxyzABDEGJKLMNOPQRVWXYZ1234567890",
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ1234567890`~!@#$%^&*()-_=+\\|'\";:/?.>,<{[}]",
    "`~!@#$%^&*()-_=+\\|'\";:/?.>,<{[}]",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn as_harsh_writes(
        salt in "[ -~]{0,40}",
        min in prop_oneof![Just(0_u8), 0_u8..30, any::<u8>()],
        alphabet in prop::sample::select(ALPHABETS),
        usual: bool,
        number: u64,
        shift in 0_u32..64,
    ) {
        let alphabet = if usual { super::super::hashids::DEFAULT_ALPHABET } else { alphabet };
        let number = number >> shift;
        let made = Form::hashids(64, Hashids::new(&salt).min(min).alphabet(alphabet)).unwrap();
        let harsh = Harsh::builder().salt(salt.into_bytes()).length(min.into()).alphabet(alphabet).build().unwrap();
        prop_assert_eq!(encode(&made, number.into()), harsh.encode(&[number]));
        prop_assert_eq!(form(&made.to_string()), made);
    }

    #[test]
    fn what_is_read_harsh_reads_as_well(text in "[0-9A-Za-z]{2,12}") {
        let harsh = Harsh::builder().salt("this is my salt").build().unwrap();
        let form = form("hashids bits=64 salt=this%20is%20my%20salt");
        match form.decode(&text) {
            Ok(number) => {
                prop_assert_eq!(harsh.decode(&text).unwrap(), vec![u64::try_from(number).unwrap()]);
                prop_assert_eq!(encode(&form, number), text);
            }
            Err(_) => prop_assert!(!harsh.decode(&text).is_ok_and(|numbers| numbers.len() == 1)),
        }
    }
}
