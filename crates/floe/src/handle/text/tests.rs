//! What all minters of texts share.

use std::task::Poll;

use super::*;
use crate::kind::Mint;
use crate::ledger::Memory;
use crate::manual::tests::poll;
use crate::{Definition, Floe, KindRegistry, Layout, NameOptions, Properties, Registered};

/// A kind that makes empty texts from the fourth one on.
struct Ends(std::sync::atomic::AtomicUsize);

impl Mint for Ends {
    type Id = String;

    fn mint(&self) -> Result<String, MintError> {
        let before = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok("x".repeat(3_usize.saturating_sub(before)))
    }
}

fn open() -> Floe {
    let kinds = KindRegistry::new().with("ends", |_, _| Ok(Ends(0.into())));
    Floe::builder().kinds(kinds).open(Memory::default()).unwrap()
}

fn define(floe: &Floe, name: &str, definition: &Definition) -> TextMinter {
    let name = Name::new(name).unwrap();
    let handle = floe.define(&name, definition, &NameOptions::default()).unwrap();
    handle.get::<TextMinter>().unwrap().clone()
}

fn formed(definition: Definition, form: &str) -> Definition {
    let bits = definition.form_bits().unwrap();
    definition.in_form(Form::of_bits(form, bits).unwrap()).unwrap()
}

fn registered() -> Definition {
    Definition::Registered(Registered::new("ends", Properties::default()).unwrap())
}

/// One of each source.
fn all(floe: &Floe) -> [TextMinter; 3] {
    [
        define(floe, "numbers", &formed(Definition::SEGMENT, "decimal prefix=T")),
        define(floe, "ledgerless", &"ulid".parse().unwrap()),
        define(floe, "registered", &registered()),
    ]
}

fn now<F: Future>(future: F) -> F::Output {
    match poll(std::pin::pin!(future)) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it has nothing to wait for"),
    }
}

#[test]
fn none_and_too_many_are_refused_in_every_way() {
    let floe = open();
    for ids in all(&floe) {
        for asked in [0, MAX_MANY + 1] {
            let refused = Some(MintError::Count { asked, max: MAX_MANY });
            assert_eq!(ids.mint_many(asked).err(), refused, "{ids:?}");
            assert_eq!(ids.try_mint_many(asked).err(), refused, "{ids:?}");
            assert_eq!(now(ids.mint_many_async(asked)).err(), refused, "{ids:?}");
        }
    }
}

#[test]
fn one_call_makes_as_many_as_fit_in_memory_or_fewer_where_the_numbers_are_fewer() {
    let floe = open();
    assert_eq!(all(&floe).map(|ids| ids.max_batch()), [MAX_MANY; 3]);
    let few: Layout = "time:41 worker:10 sequence:2 tick=1ms epoch=2020-01-01T00:00:00.000Z".parse().unwrap();
    let few = Definition::Snowflake { layout: few, own: false };
    let ids = define(&floe, "few", &formed(few, "decimal prefix=T"));
    let numbers = ids.numbers().unwrap().max_batch();
    assert!(numbers < MAX_MANY && ids.max_batch() == numbers, "{numbers}");
}

#[test]
fn a_registered_kind_alone_may_block() {
    assert_eq!(all(&open()).map(|ids| ids.may_block()), [false, false, true]);
}

#[test]
fn one_text_follows_the_other_and_no_number_is_left_out() {
    let [ids, ..] = all(&open());
    assert_eq!(ids.mint().unwrap(), "T1");
    assert_eq!([(); 2].map(|()| now(ids.mint_async()).unwrap()), ["T2", "T3"]);
    assert_eq!(ids.mint_many(2).unwrap().map(String::from).collect::<Vec<_>>(), ["T4", "T5"]);
}

#[test]
fn an_empty_text_is_no_id() {
    let [.., ids] = all(&open());
    assert_eq!([(); 3].map(|()| ids.mint().unwrap()), ["xxx", "xx", "x"]);
    let Err(MintError::Stopped(stopped)) = ids.mint() else { panic!("it was handed out") };
    assert!(stopped.cause.contains("1 to 1024 bytes"), "{stopped:?}");
}

/// Sixteen times as many as were asked for, or as 64.
#[test]
fn so_many_numbers_are_left_out_before_a_form_is_given_up() {
    let letter = |number: usize, place: u32| ["a", "b", "c"][number / 3_usize.pow(place) % 3];
    let words: Vec<String> = (0..81).map(|word| (0..4).map(|place| letter(word, place)).collect()).collect();
    let blocked = format!("sqids alphabet=abc min=4 blocklist={}", words.join(","));
    for (count, left_out) in [(1, 16 * 64), (64, 16 * 64), (65, 16 * 65)] {
        let ids = define(&open(), "codes", &formed(Definition::SEGMENT, &blocked));
        assert!(matches!(ids.mint_many(count), Err(MintError::Exhausted(_))));
        let Minted::Numbers(mut next) = ids.numbers().unwrap().mint_many(1).unwrap() else {
            panic!("no number")
        };
        let tries = left_out / count + 1;
        assert_eq!(next.next().unwrap().get(), tries * count + 1, "{count} at a time");
    }
}

/// Who only decodes does not know how far a form goes.
#[test]
fn a_form_without_its_key_is_not_said_to_be_used_up() {
    let [ids, ..] = all(&open());
    let without: Form = "sealed key=1 base62".parse().unwrap();
    assert!(!without.can_encode());
    let handle = ids.numbers().unwrap().clone();
    assert_eq!(TextMinter::formed(ids.name(), handle.clone(), &without).ended_before(1), None);
    let short: Form = "sqids bits=32".parse().unwrap();
    let ids = TextMinter::formed(ids.name(), handle, &short);
    assert_eq!(ids.ended_before(7), None);
    assert!(matches!(ids.ended_before(1 << 32), Some(MintError::Exhausted(_))));
}

/// What a form leaves out is minted anew, and no more than that.
#[test]
fn every_call_makes_as_many_texts_as_were_asked_for_where_numbers_are_left_out() {
    let blocked = "sqids alphabet=abc blocklist=aaa,abab,bcbc,cab,abca,ccca";
    let ids = define(&open(), "codes", &formed(Definition::SEGMENT, blocked));
    assert_eq!(ids.mint_many(100).unwrap().len(), 100);
    assert_eq!(ids.try_mint_many(100).unwrap().map(|texts| texts.len()), Some(100));
    assert_eq!(now(ids.mint_many_async(100)).unwrap().len(), 100);
    let Minted::Numbers(mut next) = ids.numbers().unwrap().mint_many(1).unwrap() else { panic!("no number") };
    assert!(next.next().unwrap().get() > 301, "none was left out, so this shows nothing");
}
