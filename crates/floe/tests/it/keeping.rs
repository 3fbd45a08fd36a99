//! A floe is open for as long as anything that mints from it is held, and a name that is served is not asked for again.

use floe::kind::Mint;
use floe::ledger::Memory;
use floe::{
    DatedShape, Definition, Floe, Handle, Id, KindRegistry, Layout, MintError, Name, NameOptions, Overflow,
    Properties, Registered, Segment,
};

use crate::faulty::{Faulty, Mode};

fn shape() -> DatedShape {
    DatedShape::new("UTC", 9, "", Overflow::Refuse).unwrap()
}

/// The program takes one thing of a floe, and lets go of the floe.
#[test]
fn what_mints_keeps_its_floe_open() {
    let open = || Floe::open(Memory::default()).unwrap();
    let orders = open().snowflake("orders", Layout::TWITTER).unwrap();
    let again = orders.clone();
    drop(orders);
    again.mint().unwrap();
    let mut minter = open().snowflake("orders", Layout::TWITTER).unwrap().minter();
    minter.mint().unwrap();
    open().wide_snowflake("wide", Layout::TWITTER).unwrap().mint().unwrap();
    assert_eq!(open().segment("tickets").unwrap().mint().map(Id::get), Ok(1));
    assert_eq!(open().counter("count").unwrap().mint().map(Id::get), Ok(1));
    open().dated("invoice", shape()).unwrap().mint().unwrap();
    let short = Definition::SEGMENT.in_form("base36 width=13".parse().unwrap()).unwrap();
    let handle = open().define(&Name::new("short").unwrap(), &short, &NameOptions::default()).unwrap();
    let Handle::Texts(texts, _) = handle.clone() else { panic!("{handle:?}") };
    drop(handle);
    assert_eq!(texts.mint().as_deref(), Ok("0000000000001"));
}

#[test]
fn the_last_of_them_closes_it() {
    let ledger = Faulty::new(Mode::Fine);
    for expected in 1..=3 {
        let tickets = Floe::open(ledger.clone()).unwrap().segment("tickets").unwrap();
        assert_eq!(tickets.mint().map(Id::get), Ok(expected), "the tail went back, and nothing else");
    }
    assert_eq!(ledger.users(), 1, "no floe is left behind");
}

#[test]
fn a_closed_floe_is_closed_for_those_who_hold_a_generator() {
    let floe = Floe::open(Memory::default()).unwrap();
    let orders = floe.snowflake("orders", Layout::TWITTER).unwrap();
    orders.mint().unwrap();
    floe.close();
    assert_eq!(orders.mint(), Err(MintError::Stopped("floe was closed".to_owned())));
}

struct Tagged(Segment);

impl Mint for Tagged {
    type Id = String;

    fn mint(&self) -> Result<String, MintError> {
        Ok(format!("T-{}", self.0.mint()?))
    }
}

/// The floe holds what was made of the kind, and that holds a generator of the floe.
#[test]
fn a_registered_kind_that_mints_from_other_names_does_not_keep_its_floe_for_ever() {
    let ledger = Faulty::new(Mode::Fine);
    let kinds = KindRegistry::new()
        .with("tagged", |_, floe| Ok(Tagged(floe.segment("numbers").map_err(|error| error.to_string())?)));
    let open = || Floe::builder().kinds(kinds.clone()).open(ledger.clone()).unwrap();
    let tagged = Definition::Registered(Registered::new("tagged", Properties::default()).unwrap());
    for expected in ["T-1", "T-2", "T-3"] {
        let handle = open().define(&Name::new("users").unwrap(), &tagged, &NameOptions::default()).unwrap();
        let Handle::Texts(texts, _) = handle else { panic!("{handle:?}") };
        assert_eq!(texts.mint().as_deref(), Ok(expected));
    }
    assert_eq!(ledger.users(), 1, "no floe is left behind");
}

#[test]
fn a_name_that_is_served_is_not_asked_for_again() {
    let ledger = Faulty::new(Mode::Fine);
    let floe = Floe::open(ledger.clone()).unwrap();
    let short = Definition::SEGMENT.in_form("base62".parse().unwrap()).unwrap();
    let all = || -> Result<(), floe::DefineError> {
        floe.snowflake("orders", Layout::TWITTER)?;
        floe.wide_snowflake("wide", Layout::TWITTER)?;
        floe.segment("tickets")?;
        floe.counter("count")?;
        floe.dated("invoice", shape())?;
        floe.define(&Name::new("short").unwrap(), &short, &NameOptions::default())?;
        floe.define(&Name::new("uuids").unwrap(), &Definition::Uuid4, &NameOptions::default()).map(drop)
    };
    all().unwrap();
    ledger.set(Mode::Gone);
    all().unwrap();
    assert!(floe.snowflake("late", Layout::TWITTER).is_err(), "a new one needs the ledger");
    assert!(floe.snowflake("tickets", Layout::TWITTER).is_err(), "it is a segment");
    assert!(floe.snowflake("orders", Layout::LEAF).is_err(), "it has another layout");
}
