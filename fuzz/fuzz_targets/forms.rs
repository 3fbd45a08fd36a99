//! Forms: what a form reads is the number for which it writes that text, but for the aliases that its documentation lists,
//! and a form's text makes that form.
#![no_main]

use std::sync::LazyLock;

use floe::form::{Buffer, Form, Key, KeyId, Keys, read_type_id};
use libfuzzer_sys::fuzz_target;

static KEYS: LazyLock<Keys> = LazyLock::new(|| {
    let key = |id: u8| (KeyId::new(id.into()), Key::from([id; 16]));
    (0..4).map(key).fold(Keys::new(), |keys, (id, key)| keys.with(id, key).expect("each id once"))
});

static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| {
    let texts = [
        "decimal",
        "decimal pad=4 bits=128",
        "hex width=16",
        "base32",
        "base32 lower width=26 bits=128",
        "base36 prefix=a_",
        "base58 bits=64",
        "base62 width=11",
        "typeid type=user",
        "uuid8 bits=122",
        "hashids salt=pepper",
        "hashids min=16 alphabet=cCsSfFhHuUiItT01",
        "sqids",
        "sqids min=9 alphabet=abcdefgh",
        "sealed key=1 base62",
        "sealed key=1 keyid=2bits hex",
        "sealed key=1 keyid=prefix base36",
        "sealed key=1 keyid=2bits bits=53 hashids",
    ];
    texts.iter().map(|text| with_keys(&text.parse().expect(text))).collect()
});

fn with_keys(form: &Form) -> Form {
    form.with_keys(&KEYS).expect("they have keys 0 to 3")
}

fuzz_target!(|input: (u8, &str)| {
    let (choice, text) = input;
    let form = &FORMS[usize::from(choice) % FORMS.len()];
    if let Ok(number) = form.decode(text) {
        let mut buffer = Buffer::new();
        let written = form.encode(number, &mut buffer).expect("it was read");
        assert!(written == text || may_have_aliases(form, written, text), "{form} writes {written}");
    }
    if let Ok((kind, number)) = read_type_id(text) {
        let form = Form::type_id(128, kind).expect("it was read");
        assert_eq!(form.encode(number, &mut Buffer::new()), Ok(text));
    }
    if let Ok(form) = text.parse::<Form>() {
        read_again(&form);
    }
});

fn may_have_aliases(form: &Form, written: &str, text: &str) -> bool {
    let usual = |text: &str| text.to_uppercase().replace('O', "0").replace(['I', 'L'], "1");
    let name = form.to_string();
    name.contains("keyid") || name.contains("base32") && usual(written) == usual(text)
}

fn read_again(form: &Form) {
    assert_eq!(form.to_string().parse().as_ref(), Ok(form));
    // A key that is not there is an error of its own.
    let Ok(form) = form.with_keys(&KEYS) else { return };
    let mut buffer = Buffer::new();
    for number in [0, 1, u128::MAX >> (128 - form.bits())] {
        // Sqids may have no text for a number.
        if let Ok(text) = form.encode(number, &mut buffer) {
            assert!(text.len() <= form.max_bytes());
            assert_eq!(form.decode(text), Ok(number));
        }
    }
}
