//! Texts and bytes for the parsers of all kinds: what is read is written as it was, or in the case that the kind's
//! documentation names, and two IDs have two texts.
#![no_main]

use std::fmt::{Debug, Display};
use std::str::FromStr;

use floe::kind::{Ksuid, NanoId, NanoIdFormat, ObjectId, ReadError, Ulid, Uuid};
use floe::{Id, WideId};
use libfuzzer_sys::fuzz_target;

/// How a kind writes a text that it has read.
fn parse<T: FromStr<Err: Display> + Display>(text: &str, written: fn(&str) -> String) {
    match text.parse::<T>() {
        Ok(id) => assert_eq!(id.to_string(), written(text)),
        Err(error) => assert!(error.to_string().len() < 300, "an error does not repeat what was sent"),
    }
}

/// The bytes of a kind, and the text that stands for them.
fn bytes<'a, T, const N: usize>(data: &'a [u8])
where
    T: TryFrom<&'a [u8], Error = ReadError> + Into<[u8; N]> + FromStr<Err = ReadError> + Display + PartialEq + Debug + Copy,
{
    let read = T::try_from(data);
    assert_eq!(read.is_ok(), data.len() == N);
    if let Ok(id) = read {
        assert_eq!(&id.into()[..], data);
        assert_eq!(id.to_string().parse(), Ok(id));
    }
}

fuzz_target!(|data: &[u8]| {
    bytes::<Uuid, 16>(data);
    bytes::<Ulid, 16>(data);
    bytes::<ObjectId, 12>(data);
    bytes::<Ksuid, 20>(data);
    let Ok(text) = str::from_utf8(data) else { return };
    parse::<Uuid>(text, str::to_ascii_lowercase);
    parse::<Ulid>(text, str::to_ascii_uppercase);
    parse::<ObjectId>(text, str::to_ascii_lowercase);
    parse::<Ksuid>(text, str::to_owned);
    parse::<NanoId>(text, str::to_owned);
    parse::<Id>(text, str::to_owned);
    parse::<WideId>(text, str::to_owned);
    if let Ok(id) = NanoIdFormat::default().read(text) {
        assert!(id.as_str() == text && text.len() == 21);
    }
    // A format, and a text of it.
    if let Some((alphabet, rest)) = text.split_once(' ') {
        if let Ok(format) = NanoIdFormat::new(alphabet, rest.len()) {
            let fits = rest.chars().all(|character| alphabet.contains(character));
            assert_eq!(format.read(rest).is_ok(), fits);
        }
    }
});
