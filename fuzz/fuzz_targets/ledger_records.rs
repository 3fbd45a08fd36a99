//! A record in a store that compares and swaps: whatever text is there, each call ends in an answer or an error, and a range
//! is answered only from a record that is one.
#![no_main]

use floe::Name;
use floe::ledger::{Key, Ledger, LedgerError, Reply, Reserve, Token};
use floe::store::{Entry, Place, Put, Store, Stored, Version};
use libfuzzer_sys::fuzz_target;

/// A store in which all records are the same text, but for the realm and what says that they were made.
struct Same<'a> {
    text: &'a str,
    made: &'a str,
}

const REALM: &str = "floe 1\nrealm 00112233445566778899aabbccddeeff\n";

impl Store for Same<'_> {
    fn get(&self, key: &str) -> Result<Option<Entry>, LedgerError> {
        let text = match key.split('/').next() {
            Some("realm") => REALM.to_owned(),
            Some("made") => format!("{REALM}made {}\n", self.made),
            _ => self.text.to_owned(),
        };
        Ok(Some(Entry { version: Version::from(1), text }))
    }

    fn put(&self, _: &str, text: &str, _: Option<&Version>) -> Result<Put, LedgerError> {
        assert!(text.starts_with(REALM) && text.ends_with("end\n") || text.contains("made "), "{text}");
        Ok(Put::Done(Version::from(2)))
    }

    fn list(&self, prefix: &str, after: &str, _: usize) -> Result<Vec<(String, String)>, LedgerError> {
        let key = format!("{prefix}orders");
        Ok(if key.as_str() > after { vec![(key, self.text.to_owned())] } else { Vec::new() })
    }

    fn describe(&self) -> String {
        "the same".to_owned()
    }
}

fuzz_target!(|input: (bool, u64, &str)| {
    let (whole, from, rest) = input;
    let made = "09be3c5d7a114f0e8d2b6c4a1f3e5d70";
    // Most texts are no record from their first byte on: half of them begin as one.
    let text = match whole {
        true => format!("{REALM}written 77c1f2b0a9d04e5fb6a1c3d2e4f50617\nmade {made}\n{rest}end\n"),
        false => rest.to_owned(),
    };
    let store = Same { text: &text, made };
    let place = Place::find(&store, "shop").expect("it is there").expect("it is one");
    let ledger = Stored::new(store, place);
    let (name, token) = (Name::new("orders").expect("a name"), Token::from_bytes([1; 16]).expect("a token"));
    let key = Key::name(&name);
    let request = Reserve {
        key: key.clone(),
        floor: from,
        count: 7,
        max_mark: u64::MAX,
        token,
        create: true,
        note: None,
    };
    if let Ok(Reply::Got { start, end, previous_mark }) = ledger.reserve(&request) {
        assert!(
            text.starts_with("floe 1\nrealm 00112233445566778899aabbccddeeff\n") && text.ends_with("end\n")
        );
        assert!(previous_mark <= start && start <= end, "{previous_mark} {start} {end}");
    }
    let _answers =
        (ledger.give_back(&key, token, from), ledger.raise(&key, from), ledger.bind(&name, "segment", true));
    let _answers = (
        ledger.definition(&name),
        ledger.names("", 3),
        ledger.list("", "", 3),
        ledger.in_other_realms(&name),
    );
});
