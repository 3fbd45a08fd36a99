//! Names that mint a number and its text together.

use floe::form::{Form, Key, KeyId, Keys};
use floe::ledger::Memory;
use floe::{DatedShape, DefineError, Definition, Floe, Formed, Id, Layout, MintError, Name, Overflow};

use crate::executor::block_on;

fn form(text: &str) -> Form {
    text.parse().unwrap()
}

fn check(formed: &Formed, made: &[(Id, String)]) {
    for (id, text) in made {
        assert_eq!(formed.form().to_text(*id).as_deref(), Ok(text.as_str()));
        assert_eq!(formed.read(text).as_ref(), Ok(id));
    }
    assert!(made.is_sorted_by(|(one, _), (next, _)| one < next), "{made:?}");
}

#[test]
fn a_number_comes_with_its_text_by_every_call() {
    let floe = Floe::open(Memory::default()).unwrap();
    let keys = Keys::new().with(KeyId::new(1), Key::from([7; 16])).unwrap();
    let sealed = form("sealed key=1 base62 width=11").with_keys(&keys).unwrap();
    let shape = DatedShape::new("UTC", 6, "", Overflow::Refuse).unwrap();
    for formed in [
        floe.formed("orders", Layout::TWITTER, sealed.clone()),
        floe.formed("plain", Layout::TWITTER, form("decimal")),
        floe.formed("tickets", Definition::SEGMENT, form("base36 width=13 prefix=T-")),
        floe.formed("words", Definition::SEGMENT, form("sqids min=4")),
        floe.formed("count", Definition::Counter, form("hex")),
        floe.formed("invoices", Definition::Dated(shape), form("decimal prefix=INV-")),
        block_on(floe.formed_async("later", Definition::SEGMENT, sealed)),
    ] {
        let formed = formed.unwrap();
        let mut made = vec![formed.mint().unwrap(), block_on(formed.mint_async()).unwrap()];
        made.extend(formed.mint_many(500).unwrap());
        made.extend(block_on(formed.mint_many_async(500)).unwrap());
        assert_eq!(made.len(), 1_002, "{}", formed.name());
        check(&formed, &made);
    }
}

/// The name is what its definition says, whoever asks.
#[test]
fn its_name_is_bound_with_the_form() {
    let floe = Floe::open(Memory::default()).unwrap();
    let short = form("base62 bits=4 width=1");
    let tickets = floe.formed("tickets", Definition::SEGMENT, short.clone()).unwrap();
    let bound = floe.stored(tickets.name()).unwrap().unwrap();
    assert_eq!(bound, Definition::SEGMENT.in_form(short).unwrap());
    assert!(matches!(floe.segment("tickets"), Err(DefineError::Mismatch { .. })));
    let made: Vec<_> = std::iter::from_fn(|| tickets.mint().ok()).collect();
    assert_eq!(made.len(), 15, "1 to 15 have four bits");
    assert!(matches!(tickets.mint(), Err(MintError::Exhausted(_))));
}

#[test]
fn what_is_no_number_of_63_bits_is_refused() {
    let floe = Floe::open(Memory::default()).unwrap();
    let game: Layout = "game wide".parse().unwrap();
    let wide = floe.formed("wide", game, form("base62 bits=128")).unwrap_err();
    assert!(wide.to_string().contains("63 bits"), "{wide}");
    assert_eq!(floe.stored(&Name::new("wide").unwrap()), Ok(None), "nothing is bound that cannot be used");
    let ulid = Definition::called("ulid").unwrap();
    assert!(floe.formed("ulids", ulid, form("base62 bits=128")).is_err());
    let no_key = floe.formed("sealed", Definition::SEGMENT, form("sealed key=1 base62")).unwrap_err();
    assert!(no_key.to_string().contains("key"), "{no_key}");
}
