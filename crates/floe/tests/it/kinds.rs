//! One face for every kind, with a ledger or without.

use std::collections::BTreeSet;
use std::time::Duration;

use floe::kind::{
    KsuidGenerator, MAX_MANY, Mint, NanoIdGenerator, ObjectIdGenerator, UlidGenerator, UuidV4Generator,
    UuidV7Generator, UuidV8Generator,
};
use floe::ledger::Memory;
use floe::{DatedShape, Floe, Layout, MintError, Overflow};

/// A kind of the user's own: any other one, as a text.
struct Text<M>(M);

impl<M: Mint<Id: ToString>> Mint for Text<M> {
    type Id = String;

    fn mint(&self) -> Result<String, MintError> {
        self.0.mint().map(|id| id.to_string())
    }

    fn mint_many(&self, count: u64) -> Result<Vec<String>, MintError> {
        Ok(self.0.mint_many(count)?.iter().map(ToString::to_string).collect())
    }
}

/// A face gives a list of IDs, unlike a batch, which holds two numbers however long it is.
#[test]
fn no_face_makes_a_list_of_more_than_2_to_the_20() {
    let floe = Floe::builder().window(Duration::from_secs(60)).open(Memory::default()).unwrap();
    let orders = floe.snowflake("orders", Layout::TWITTER).unwrap();
    let refused = |count| Err(MintError::Count { asked: count, max: MAX_MANY });
    for count in [0, MAX_MANY + 1] {
        assert_eq!(
            UuidV8Generator::new(orders.clone()).mint_many(count),
            refused(count).map(|()| Vec::new())
        );
        assert_eq!(Mint::mint_many(&orders, count), refused(count).map(|()| Vec::new()));
        assert_eq!(NanoIdGenerator::default().mint_many(count), refused(count).map(|()| Vec::new()));
    }
    assert!(orders.max_batch() > MAX_MANY);
}

#[test]
fn every_kind_has_one_face() {
    let floe = Floe::open(Memory::default()).unwrap();
    let kinds: Vec<Box<dyn Mint<Id = String>>> = vec![
        Box::new(Text(floe.snowflake("orders", Layout::TWITTER).unwrap())),
        Box::new(Text(floe.segment("tickets").unwrap())),
        Box::new(Text(floe.counter("receipts").unwrap())),
        Box::new(Text(
            floe.dated("invoices", DatedShape::new("UTC", 6, "INV", Overflow::default()).unwrap()).unwrap(),
        )),
        Box::new(Text(UuidV4Generator::new())),
        Box::new(Text(UuidV7Generator::new())),
        Box::new(Text(UlidGenerator::new())),
        Box::new(Text(ObjectIdGenerator::new())),
        Box::new(Text(KsuidGenerator::new())),
        Box::new(Text(NanoIdGenerator::default())),
    ];
    for kind in kinds {
        let mut ids = kind.mint_many(100).unwrap();
        ids.push(kind.mint().unwrap());
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 101);
        assert!(matches!(kind.mint_many(0), Err(MintError::Count { asked: 0, .. })));
        assert!(matches!(kind.mint_many(u64::MAX), Err(MintError::Count { asked: u64::MAX, .. })));
    }
}

#[test]
fn an_invalidated_process_mints_on() {
    let (uuids, ulids, objects) = (UuidV7Generator::new(), UlidGenerator::new(), ObjectIdGenerator::new());
    let floe = Floe::open(Memory::default()).unwrap();
    let invalidations: [&dyn Fn(); 2] = [&floe::kind::invalidate, &|| floe.invalidate()];
    for invalidate in invalidations {
        let before = (uuids.mint().unwrap(), ulids.mint().unwrap(), objects.mint().unwrap());
        invalidate();
        let after = (uuids.mint().unwrap(), ulids.mint().unwrap(), objects.mint().unwrap());
        assert!(after.0 > before.0 && after.1 > before.1);
        assert_ne!(after.2.random(), before.2.random());
        assert_ne!(after.1.random(), before.1.random() + 1);
    }
}
