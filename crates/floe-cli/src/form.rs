//! `floe form`: numbers written in a form, and read back.

use std::io::Write as _;
use std::path::Path;

use floe::form::{Buffer, Escaped, Form, FormDefinitionError, FormError, Key, KeyId, Keys};
use floe::kind::Uuid;
use floe::{Definition, WideId};

use crate::arguments::{self, Formed};
use crate::failure::{Failure, Outcome};
use crate::inspect::{next_line, number};
use crate::table::{print, table};

/// Where a key is that nobody else on the machine sees.
const KEY_VARIABLE: &str = "FLOE_FORM_KEY";
/// The longest line of stdin that is looked at; a text of a form has fewer bytes, a number fewer digits.
const LONGEST_LINE: usize = 512;
/// In the place of a value: read them from stdin.
const STDIN: &str = "-";
/// The settings that stand before the form inside a seal.
const OF_THE_SEAL: [&str; 3] = ["bits", "key", "keyid"];

pub(crate) fn run(command: &arguments::Form) -> Outcome {
    match command {
        arguments::Form::Encode { form, values } => {
            let (form, mut buffer) = (made(form)?, Buffer::new());
            each(values, |value| {
                let number = to_write(value, &form)?;
                form.encode(number, &mut buffer).map(str::to_owned).map_err(|error| refused(value, &error))
            })
        }
        arguments::Form::Decode { form, values } => {
            let form = made(form)?;
            each(values, |text| {
                let number = form.decode(text).map_err(|error| refused(text, &error))?;
                Ok(if is_type_id(&form) { Uuid::from_u128(number).to_string() } else { number.to_string() })
            })
        }
        arguments::Form::List => print(&list()?),
    }
}

/// The form that the arguments describe, with its keys.
fn made(arguments: &Formed) -> Outcome<Form> {
    let mut words: Vec<String> = arguments.form.split_ascii_whitespace().map(str::to_owned).collect();
    let sealed = words.first().is_some_and(|name| name == "sealed");
    let mut given = KeyTexts::default();
    for setting in &arguments.set {
        match setting.split_once('=') {
            // The id of a key has at most five digits.
            Some(("key", key)) if key.len() > 5 => given.add(key, "--set key=")?,
            Some((key, value)) => {
                let word = format!("{key}={}", escaped(key, value));
                let front = sealed && OF_THE_SEAL.contains(&key);
                words.insert(if front { 1 } else { words.len() }, word);
            }
            None if setting.is_empty() || setting.contains(char::is_whitespace) => {
                return Err(Failure::usage(format_args!("--set {setting:?} is not a setting"))
                    .hint("give one setting: --set width=11, --set upper"));
            }
            None => words.push(setting.clone()),
        }
    }
    if let Some(file) = &arguments.key_file {
        given.add(&read_keys(file)?, &file.display().to_string())?;
    }
    if !sealed {
        if !given.0.is_empty() {
            return Err(Failure::usage(format_args!("the form {:?} has no key", arguments.form))
                .hint("leave the key out, or take a sealed form: sealed key=1 base62"));
        }
        return words.join(" ").parse().map_err(|error| unmade(&error));
    }
    if given.0.is_empty() {
        given = KeyTexts::of_environment()?;
    }
    sealed_with(words, given)
}

/// A sealed definition. If it has no key, it gets the one in the environment.
pub(crate) fn with_key(definition: Definition) -> Outcome<Definition> {
    let Some(form) = definition.form().filter(|form| !form.can_encode()) else { return Ok(definition) };
    let given = KeyTexts::of_environment()?;
    if given.0.is_empty() {
        return Err(Failure::new(format_args!("the form \"{form}\" is sealed, and no key was given")).hint(
            format_args!("put 32 hexadecimal digits into {KEY_VARIABLE}, or give the configuration that has the key (--config FILE)"),
        ));
    }
    let words = form.to_string().split(' ').map(str::to_owned).collect();
    let form = sealed_with(words, given)?;
    Ok(definition.unformed().clone().in_form(form)?)
}

/// The sealed form of these words, with these keys.
fn sealed_with(mut words: Vec<String>, given: KeyTexts) -> Outcome<Form> {
    let named = words.iter().find_map(|word| word.strip_prefix("key=")).map(str::to_owned);
    let id = match named {
        Some(id) => id.parse().ok(),
        // A single key needs no id.
        None => {
            let id = given.0.first().and_then(|(id, _)| *id).unwrap_or(1);
            words.insert(1, format!("key={id}"));
            Some(id)
        }
    };
    let form: Form = words.join(" ").parse().map_err(|error| unmade(&error))?;
    let mut keys = Keys::new();
    for (own, key) in given.0 {
        keys = keys.with(KeyId::new(own.or(id).unwrap_or(1)), key)?;
    }
    form.with_keys(&keys).map_err(|error| unmade(&error))
}

/// Keys, each with its id if that was said.
#[derive(Default)]
struct KeyTexts(Vec<(Option<u16>, Key)>);

impl KeyTexts {
    /// Those in the environment, which may be none.
    fn of_environment() -> Outcome<Self> {
        let mut given = Self::default();
        if let Ok(keys) = std::env::var(KEY_VARIABLE) {
            given.add(&keys, KEY_VARIABLE)?;
        }
        Ok(given)
    }

    /// Takes the keys of `text`, which never show in an error.
    fn add(&mut self, text: &str, source: &str) -> Outcome {
        let before = self.0.len();
        let words = text.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
        for (at, word) in words.enumerate() {
            let refuse = |why: String| {
                Err(Failure::usage(format_args!("key {} of {source}: {why}", at + 1))
                    .hint("write 32 hexadecimal digits, or ID:DIGITS with an id from 0 to 65535"))
            };
            let (id, key) = match word.split_once(':') {
                None => (None, word),
                Some((id, key)) => match id.parse() {
                    Ok(id) => (Some(id), key),
                    Err(_) if id.len() > 5 => {
                        return refuse(format!(
                            "the text before the colon has {} characters, and an id has at most five",
                            id.len()
                        ));
                    }
                    Err(_) => return refuse(format!("{id:?} is not the id of a key")),
                },
            };
            match key.parse() {
                Ok(key) => self.0.push((id, key)),
                Err(error) => {
                    return refuse(format!("{error}, and this has {} characters", key.chars().count()));
                }
            }
        }
        if self.0.len() == before {
            return Err(
                Failure::usage(format_args!("{source} has no key")).hint("write 32 hexadecimal digits")
            );
        }
        Ok(())
    }
}

fn read_keys(file: &Path) -> Outcome<String> {
    std::fs::read_to_string(file).map_err(|error| {
        Failure::new(format_args!("cannot read the key from {}: {error}", file.display()))
            .hint("name a text file with 32 hexadecimal digits, or with one ID:DIGITS per line")
    })
}

/// A value as a form's text has it. Commas divide the words of a block list.
fn escaped(key: &str, value: &str) -> String {
    match key {
        "blocklist" => value.split(',').map(|word| Escaped(word).to_string()).collect::<Vec<_>>().join(","),
        _ => Escaped(value).to_string(),
    }
}

fn is_type_id(form: &Form) -> bool {
    form.to_string().starts_with("typeid")
}

/// The number that a value means.
fn to_write(value: &str, form: &Form) -> Outcome<u128> {
    if is_type_id(form)
        && let Ok(id) = value.parse::<Uuid>()
    {
        return Ok(id.get());
    }
    match number(value).map(WideId::get) {
        Err(failure) if is_type_id(form) => Err(failure.hint("a TypeID takes a UUID, or a number")),
        outcome => outcome,
    }
}

/// Prints what `convert` makes of each value, a line for each.
fn each(values: &[String], mut convert: impl FnMut(&str) -> Outcome<String>) -> Outcome {
    let mut out = std::io::stdout().lock();
    let mut write = |line: Outcome<String>| {
        line.and_then(|line| writeln!(out, "{line}").map_err(|error| Failure::output(&error)))
    };
    for value in values {
        if value != STDIN {
            write(convert(value))?;
            continue;
        }
        let mut input = std::io::stdin().lock();
        while let Some(line) = next_line(&mut input, LONGEST_LINE)? {
            // A text of a form may hold any character but a line break.
            let value = line.trim_end_matches(['\n', '\r']);
            if value.len() > LONGEST_LINE {
                return Err(Failure::new(format_args!(
                    "a line of over {LONGEST_LINE} bytes is not a value of a form"
                )));
            }
            if !value.is_empty() {
                write(convert(value))?;
            }
        }
    }
    out.flush().map_err(|error| Failure::output(&error))
}

fn refused(value: &str, error: &FormError) -> Failure {
    // A text of that length was not typed, and would hide the reason.
    let shown =
        if value.len() > 100 { format!("a text of {} bytes", value.len()) } else { format!("{value:?}") };
    let failure = Failure::new(format_args!("{shown}: {error}"));
    match error {
        FormError::DoesNotFit { .. } | FormError::TooLarge { .. } => {
            failure.hint("if the text was written for larger numbers, say so with --set bits=64")
        }
        FormError::UnknownKey(id) => {
            failure.hint(format_args!("add {id}:DIGITS to --key-file or {KEY_VARIABLE}"))
        }
        _ => failure,
    }
}

fn unmade(error: &FormDefinitionError) -> Failure {
    let failure = Failure::usage(error);
    match error {
        FormDefinitionError::MissingKey(id) => failure.hint(format_args!(
            "put {id}:DIGITS, or only 32 hexadecimal digits, into {KEY_VARIABLE} or a file (--key-file FILE)"
        )),
        _ => failure.hint("floe form list shows each form with its settings"),
    }
}

/// The number that the examples of the list write.
const EXAMPLE: u128 = 1_212_092_628_029_698_048;
const EXAMPLE_UUID: u128 = 0x0189_0a5d_ac96_774b_bcce_b302_099a_8057;
const EXAMPLE_KEY: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

const EXAMPLES: &[(&str, &str)] = &[
    ("decimal", "digits"),
    ("decimal prefix=ord_", "any form but TypeID behind a prefix"),
    ("hex", "upper writes capitals"),
    ("hex width=16", "text order is number order"),
    ("base32", "Crockford's; either case is read; lower writes small letters"),
    ("base32 width=13", "as a TSID is written"),
    ("base36", "small letters; upper writes capitals"),
    ("base58", "Bitcoin's: without 0, O, I and l"),
    ("base62", "digits, capitals, small letters"),
    ("base62 width=11", "text order is number order"),
    ("hashids salt=pepper min=8", "Hashids; alphabet=…"),
    ("sqids min=8", "Sqids; alphabet=…, blocklist=word,word"),
    ("sealed key=1 base62", "hides order and volume; keyid=2bits, keyid=prefix"),
    ("typeid type=user", "of a UUID"),
    ("uuid8", "of up to 122 bits, in order"),
];

fn list() -> Outcome<String> {
    let mut buffer = Buffer::new();
    let keys = Keys::new().with(KeyId::new(1), Key::from(EXAMPLE_KEY))?;
    let row = |(text, what): (&str, &str)| -> Outcome<[String; 3]> {
        let form = text.parse::<Form>()?.with_keys(&keys)?;
        let number = if is_type_id(&form) { EXAMPLE_UUID } else { EXAMPLE };
        let example = form.encode(number, &mut buffer).map_err(Failure::new)?;
        Ok([text.to_owned(), example.to_owned(), what.to_owned()])
    };
    let rows: Vec<_> = EXAMPLES.iter().copied().map(row).collect::<Outcome<_>>()?;
    Ok(format!(
        "{}\nThe examples write {EXAMPLE}, the TypeID {}, and the sealed form has the key 000102030405060708090a0b0c0d0e0f.\n\
         Forms of digits take width=N (exactly N digits) or pad=N (at least N digits). All forms take bits=N for numbers of more\n\
         than {} bits. floe form encode FORM NUMBER writes a number; --set adds a setting.\n",
        table(["FORM", "EXAMPLE", "WHAT IT IS"], rows),
        Uuid::from_u128(EXAMPLE_UUID),
        Form::BITS
    ))
}

#[cfg(test)]
mod tests {
    use floe::form::Radix;

    use super::*;

    fn formed(form: &str, set: &[&str]) -> Outcome<Form> {
        let set = set.iter().map(|setting| (*setting).to_owned()).collect();
        made(&Formed { form: form.to_owned(), set, key_file: None })
    }

    fn text(form: &str, set: &[&str], number: u128) -> String {
        let form = formed(form, set).unwrap_or_else(|failure| panic!("{form}: {}", failure.cause()));
        form.encode(number, &mut Buffer::new()).expect("a number that fits").to_owned()
    }

    #[test]
    fn a_setting_is_what_the_forms_text_says() {
        assert_eq!(text("base62", &["width=11"], 5), text("base62 width=11", &[], 5));
        assert_eq!(text("hex", &["upper", "prefix=0x"], 255), "0xFF");
        // README of hashids.org: 12345 with this salt.
        assert_eq!(text("hashids", &["salt=this is my salt"], 12_345), "NkK9");
        let comma = formed("hashids", &["salt=a,b%"]).map(|form| form.to_string());
        assert_eq!(comma.ok().as_deref(), Some("hashids salt=a%2Cb%25"));
        let words = formed("sqids", &["blocklist=foo,bar"]).map(|form| form.to_string());
        assert!(words.is_ok_and(|text| text.contains("foo") && text.contains("bar") && text.contains(',')));
    }

    #[test]
    fn a_seal_takes_its_key_and_its_own_settings() {
        const KEY: &str = "000102030405060708090a0b0c0d0e0f";
        // The documentation of floe::form::Form::sealed.
        let key = format!("key={KEY}");
        assert_eq!(text("sealed key=1 base62 width=11", &[&key], 1_000), "5MIzgllb7ch");
        assert_eq!(text("sealed base62", &["width=11", &key], 1_000), "5MIzgllb7ch");
        let named = format!("key=7:{KEY}");
        assert!(text("sealed base62", &[&named, "keyid=prefix"], 1_000).starts_with("7-"));
        assert!(formed("sealed base62", &["bits=40", &key]).is_ok_and(|form| form.bits() == 40));
    }

    #[test]
    fn what_cannot_be_says_what_to_do() {
        for (form, set, says) in [
            ("base62", "salt=x", "cannot have \"salt=x\""),
            ("base63", "upper", "unknown form \"base63\""),
            ("base62", "width=3", "3"),
            ("base62", "key=000102030405060708090a0b0c0d0e0f", "has no key"),
            ("sealed", "key=000102030405060708090a0b0c0d0e0f", "say in which form"),
            ("sealed base62", "key=0001020304050607", "a key is 32 hexadecimal digits"),
            ("sealed base62", "key=x:000102030405060708090a0b0c0d0e0f", "\"x\" is not the id of a key"),
            ("sealed key=2 base62", "key=1:000102030405060708090a0b0c0d0e0f", "the key 2 is missing"),
            ("", "upper", "unknown form"),
            ("hex", "", "is not a setting"),
            ("hex", "upper lower", "is not a setting"),
        ] {
            let cause = match formed(form, &[set]) {
                Ok(made) => panic!("{form} {set} was made: {made}"),
                Err(failure) => failure.cause().to_owned(),
            };
            assert!(cause.contains(says), "{form} {set}: {cause}");
            // A key shows in no error.
            assert!(!cause.contains("0001020304"), "{cause}");
        }
    }

    #[test]
    fn a_type_id_takes_a_uuid() {
        let form = formed("typeid", &["type=user"]).unwrap_or_else(|failure| panic!("{}", failure.cause()));
        assert_eq!(to_write("01890a5d-ac96-774b-bcce-b302099a8057", &form).ok(), Some(EXAMPLE_UUID));
        assert_eq!(to_write("5", &form).ok(), Some(5));
        assert!(to_write("user", &form).is_err());
    }

    #[test]
    fn every_example_of_the_list_is_a_form() {
        let list = list().unwrap_or_else(|failure| panic!("{}", failure.cause()));
        assert_eq!(
            list.lines().filter(|line| EXAMPLES.iter().any(|(form, _)| line.starts_with(form))).count(),
            EXAMPLES.len()
        );
    }

    #[test]
    fn every_form_of_the_error_is_in_the_other_lists() {
        let error = FormDefinitionError::UnknownForm(String::new()).to_string();
        let (_, words) = error.split_once("there are ").unwrap_or_default();
        let words: Vec<_> = words.split([',', ' ']).filter(|word| !["", "and"].contains(word)).collect();
        assert!(words.len() > 10, "{error}");
        for word in words {
            let is_base = Radix::ALL.iter().any(|radix| radix.as_str() == word);
            assert!(EXAMPLES.iter().any(|(form, _)| form.starts_with(word)), "give EXAMPLES a {word}");
            assert!(is_base || floe::reserved_name(word), "give FORMS in floe/src/table.rs {word:?}");
            assert!(include_str!("../../../docs/forms.md").contains(word), "docs/forms.md has no {word}");
        }
    }
}
