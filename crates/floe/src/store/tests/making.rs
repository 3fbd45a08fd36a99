//! A record that somebody has made and not noted: whoever made it may never come to that.

use super::*;

const RECORD: &str = "mark/shop/s/10/7";
const NOTE: &str = "made/shop/s/10/7";
const REALM: &str = "realm/shop";

/// A store with a record whose maker died before it was noted.
fn left_by_a_maker() -> Map {
    let store = Map::default();
    got(&store.ledger("shop"), &ask(&Key::slot(10, 7), 10));
    store.remove(NOTE);
    store
}

/// What the call of another process asks of the store, in order, and its answer. `before` sees each question first.
fn trips(store: &Map, mut before: impl FnMut(usize, &str)) -> (Vec<String>, Result<Reply, LedgerError>) {
    let place = Place::make(store, "shop").unwrap();
    let mut change = Change::reserve(place, Seen::default(), &ask(&Key::slot(10, 7), 5));
    follow(&mut change, store, |asked, next| before(asked, &question(next)))
}

#[test]
fn who_notes_it_for_another_looks_at_the_realm_before_and_after() {
    let store = left_by_a_maker();
    let (asked, answer) = trips(&store, |_, _| ());
    let get = |key: &str| format!("get {key}");
    let put = |key: &str| format!("put {key}");
    assert_eq!(asked, [get(RECORD), get(NOTE), get(REALM), put(NOTE), get(REALM), put(RECORD)]);
    assert_eq!(answer, Ok(Reply::Got { start: 10, end: 15, previous_mark: 10 }));
}

#[test]
fn it_is_not_noted_for_another_where_the_realm_is_gone() {
    let store = left_by_a_maker();
    let (asked, answer) = trips(&store, |asked, _| {
        if asked == 2 {
            store.remove(REALM);
        }
    });
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert!(matches!(&answer, Err(LedgerError::Unfit(text)) if text.contains("is gone")), "{answer:?}");
    assert_eq!(store.get(NOTE), Ok(None), "the next process would mint from what is left");
}

/// The realm is emptied between the look and the note.
#[test]
fn nothing_is_handed_out_where_the_realm_is_gone_when_it_was_noted() {
    let store = left_by_a_maker();
    let (asked, answer) = trips(&store, |asked, _| {
        if asked == 4 {
            store.remove(REALM);
        }
    });
    assert_eq!(asked.len(), 5, "{asked:?}");
    assert!(matches!(&answer, Err(LedgerError::Unfit(text)) if text.contains("is gone")), "{answer:?}");
    assert!(store.text(RECORD).contains("mark 10 "), "{}", store.text(RECORD));
}

/// Somebody else notes the making first, and the realm is emptied before this call has looked again.
#[test]
fn nothing_is_handed_out_where_the_realm_is_gone_when_another_had_noted_it() {
    let store = left_by_a_maker();
    let (asked, answer) = trips(&store, |asked, _| match asked {
        3 => note_for_another(&store),
        5 => store.remove(REALM),
        _ => (),
    });
    assert_eq!(asked.last().map(String::as_str), Some(&*format!("get {REALM}")), "{asked:?}");
    assert!(matches!(&answer, Err(LedgerError::Unfit(text)) if text.contains("is gone")), "{answer:?}");
}

/// A note that another has written may not be durable, though what this call wrote itself is.
#[test]
fn what_rests_on_a_note_of_another_is_settled_first() {
    let by_another: fn(&Map, &str) = |store, key| {
        if key == NOTE {
            note_for_another(store);
        }
    };
    let by_itself: fn(&Map, &str) = |_, _| ();
    for (meanwhile, settled) in [(by_itself, 0), (by_another, 1)] {
        let store = Map::default();
        let ledger =
            Stored::new(Raced { store: store.clone(), meanwhile }, Place::make(&store, "shop").unwrap());
        assert_eq!(got(&ledger, &ask(&Key::slot(10, 7), 10)), (0, 10));
        assert_eq!(store.settled.load(Ordering::SeqCst), settled);
    }
}

/// Its id is in all of their records.
#[test]
fn a_realm_that_two_processes_make_at_once_has_one_id() {
    for tells in [false, true] {
        let meanwhile = |store: &Map, _: &str| drop(Place::make(store, "shop").unwrap());
        let raced = Raced { store: Map { tells, ..Map::default() }, meanwhile };
        let place = Place::make(&raced, "shop").unwrap();
        assert_eq!(place.id(), realm_of(&raced.store));
    }
}

/// Another process makes it first, and somebody deletes it before this one has looked.
#[test]
fn who_makes_a_realm_that_is_deleted_meanwhile_is_told_to_try_again() {
    struct Vanishes(Map, fn() -> Put);
    impl Store for Vanishes {
        fn get(&self, key: &str) -> Result<Option<Entry>, LedgerError> {
            self.0.get(key)
        }

        fn put(&self, _: &str, _: &str, _: Option<&Version>) -> Result<Put, LedgerError> {
            Ok(self.1())
        }

        fn list(
            &self,
            prefix: &str,
            after: &str,
            limit: usize,
        ) -> Result<Vec<(String, String)>, LedgerError> {
            self.0.list(prefix, after, limit)
        }

        fn describe(&self) -> String {
            self.0.describe()
        }
    }
    for answer in [|| Put::Conflict, || Put::Found(None)] {
        let made = Place::make(&Vanishes(Map::default(), answer), "shop");
        let Err(LedgerError::Unavailable(text)) = made else { panic!("{made:?}") };
        assert!(text.starts_with("somebody deleted the realm shop at a map"), "{text}");
    }
}

/// A store in which another process does something right before each write of this one.
struct Raced {
    store: Map,
    meanwhile: fn(&Map, &str),
}

impl Store for Raced {
    fn get(&self, key: &str) -> Result<Option<Entry>, LedgerError> {
        self.store.get(key)
    }

    fn put(&self, key: &str, text: &str, expected: Option<&Version>) -> Result<Put, LedgerError> {
        (self.meanwhile)(&self.store, key);
        self.store.put(key, text, expected)
    }

    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        self.store.list(prefix, after, limit)
    }

    fn settle(&self) -> Result<(), LedgerError> {
        self.store.settle()
    }

    fn describe(&self) -> String {
        self.store.describe()
    }
}

/// What another process writes that has found the record without a note.
fn note_for_another(store: &Map) {
    let Content { realm, made, .. } = Content::read(&store.text(RECORD)).unwrap();
    store.put(NOTE, &content::write_made(&realm, &made), None).unwrap();
}

/// Somebody else has noted another making: that of a record which was deleted, and of which this one took the place.
#[test]
fn a_record_is_missing_where_another_making_was_noted_meanwhile() {
    let store = left_by_a_maker();
    let other = left_by_a_maker();
    trips(&other, |_, _| ()).1.unwrap();
    let theirs = other.text(NOTE).replace(&realm_of(&other), &realm_of(&store));
    let (asked, answer) = trips(&store, |asked, _| {
        if asked == 3 {
            store.put(NOTE, &theirs, None).unwrap();
        }
    });
    assert_eq!(asked.last().map(String::as_str), Some(&*format!("get {NOTE}")));
    assert_eq!(answer, Err(LedgerError::Missing(Key::slot(10, 7))));
}

/// Nobody else writes it, so there is nobody to wait for.
#[test]
fn who_finds_the_record_gone_when_it_writes_says_so_at_once() {
    let store = Map { tells: true, ..left_by_a_maker() };
    let (asked, answer) = trips(&store, |_, question| {
        if question == format!("put {RECORD}") {
            store.remove(RECORD);
        }
    });
    assert_eq!(answer, Err(LedgerError::Missing(Key::slot(10, 7))));
    assert_eq!(asked.last(), Some(&format!("put {RECORD}")), "{asked:?}");
}

/// That was noted before this process has seen either.
#[test]
fn a_record_is_missing_where_the_note_is_of_another_making() {
    let (store, other) = (left_by_a_maker(), left_by_a_maker());
    trips(&other, |_, _| ()).1.unwrap();
    let theirs = other.text(NOTE).replace(&realm_of(&other), &realm_of(&store));
    store.put(NOTE, &theirs, None).unwrap();
    assert_eq!(trips(&store, |_, _| ()).1, Err(LedgerError::Missing(Key::slot(10, 7))));
}

/// Somebody copied it from another realm by hand.
#[test]
fn a_note_of_another_realm_is_none_of_this_one() {
    let store = left_by_a_maker();
    note_for_another(&store);
    let theirs = store.text(NOTE).replace(&realm_of(&store), "5f0a");
    let version = store.get(NOTE).unwrap().unwrap().version;
    store.put(NOTE, &theirs, Some(&version)).unwrap();
    let answer = trips(&store, |_, _| ()).1;
    assert!(
        matches!(&answer, Err(LedgerError::Unfit(text)) if text.contains("another than it was")),
        "{answer:?}"
    );
}

/// Somebody who cleans up by hand deletes a note that was just found.
#[test]
fn a_record_is_missing_whose_note_was_there_and_is_gone() {
    let store = left_by_a_maker();
    let (asked, answer) = trips(&store, |asked, question| match asked {
        3 => {
            assert_eq!(question, format!("put {NOTE}"));
            trips(&store, |_, _| ()).1.unwrap();
        }
        4 => store.remove(NOTE),
        _ => (),
    });
    assert_eq!(asked.len(), 5, "{asked:?}");
    assert_eq!(answer, Err(LedgerError::Missing(Key::slot(10, 7))));
}

fn realm_of(store: &Map) -> String {
    store.ledger("shop").realm_id().unwrap()
}
