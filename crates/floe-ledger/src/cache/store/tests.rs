//! Tests step by step what happens to the held ranges; `cache::model` reaches these cases only by chance.

use std::cell::RefCell;
use std::sync::Barrier;
use std::sync::atomic::Ordering;
use std::thread;

use floe::ledger::Memory;
use tempfile::TempDir;

use super::*;
use crate::Cache;

thread_local! {
    /// Whether this thread's calls still had the file at each note of a slot; `None` if nobody looks.
    static HAD_THE_FILE: RefCell<Option<Vec<bool>>> = const { RefCell::new(None) };
}

pub(super) fn during_a_note(store: &Store) {
    HAD_THE_FILE
        .with_borrow_mut(|had| had.iter_mut().for_each(|had| had.push(store.read(|_| Ok(())).is_err())));
}

fn token(byte: u8) -> Token {
    Token::from_bytes([byte; 16]).unwrap()
}

fn slot() -> Key {
    Key::slot(10, 7)
}

/// `count` positions above a mark of at most `max_mark`.
fn ask(count: u64, max_mark: u64) -> Reserve {
    let (key, token) = (slot(), Token::random().unwrap());
    Reserve { key, floor: 0, count, max_mark, token, create: true, note: Some("ours".to_owned()) }
}

impl Store {
    fn level(&self, key: &Key) -> Result<Level, LedgerError> {
        self.read(|connection| self.level_of(connection, key.as_str()))
    }
}

struct Held {
    store: Store,
    dir: TempDir,
}

impl Held {
    fn nothing() -> Self {
        Self::with_patience(Duration::from_secs(10))
    }

    fn with_patience(max_wait: Duration) -> Self {
        let dir = TempDir::new().unwrap();
        let store = Store::open(dir.path(), max_wait).unwrap();
        let here = Origin::of(&dir.path().join(FILE)).unwrap();
        store.enter("shop", "behind:", &here, token(99)).unwrap();
        Self { store, dir }
    }

    /// [0, 100), of which 40 are handed out.
    fn first() -> Self {
        let held = Self::nothing();
        held.add(1, 0..100, 0);
        assert_eq!(held.got(40), (0, 40, 0));
        held
    }

    /// And [200, 300), because others reserved up to 150.
    fn two_pieces() -> Self {
        let held = Self::first();
        held.add(2, 200..300, 150);
        held
    }

    /// Asks the ledger behind with a token, and records its answer.
    fn add(&self, byte: u8, range: std::ops::Range<u64>, previous_mark: u64) {
        let level = self.level();
        self.store.begin_top_up(&slot(), u64::MAX, token(byte)).unwrap();
        if level.has_spare {
            // With two pieces, only a request asks.
            assert_eq!(self.pending(byte), Some(token(byte)));
        }
        let got = Got { start: range.start, end: range.end, previous_mark };
        assert!(self.store.add(&slot(), token(byte), got, None).unwrap().is_none());
    }

    /// The token that a request uses if it finds too little.
    fn pending(&self, fresh: u8) -> Option<Token> {
        match self.store.reserve(&ask(1 << 40, MAX_MARK), Some(token(fresh)), || ()).unwrap() {
            Local::Short(short) => short.token,
            served @ Local::Served(..) => panic!("{served:?}"),
        }
    }

    fn reserve(&self, request: &Reserve) -> Option<Reply> {
        match self.store.reserve(request, None, || ()).unwrap() {
            Local::Served(reply, _) => Some(reply),
            Local::Short(_) => None,
        }
    }

    /// Start, end, and the mark before.
    fn got(&self, count: u64) -> (u64, u64, u64) {
        match self.reserve(&ask(count, MAX_MARK)) {
            Some(Reply::Got { start, end, previous_mark }) => (start, end, previous_mark),
            other => panic!("{other:?}"),
        }
    }

    fn level(&self) -> Level {
        self.store.level(&slot()).unwrap()
    }
}

#[test]
fn what_is_held_is_handed_out_to_its_last_position_and_no_further() {
    let held = Held::first();
    assert_eq!(held.reserve(&ask(61, MAX_MARK)), None);
    assert_eq!(held.got(60), (40, 100, 40));
    assert_eq!(held.level(), Level { mark: 100, end: 100, left: 0, has_spare: false });
    assert_eq!(held.reserve(&ask(1, MAX_MARK)), None);
}

#[test]
fn a_range_that_continues_another_is_one_with_it_and_one_behind_a_gap_of_one_is_not() {
    for gap in [0, 1] {
        let held = Held::first();
        held.add(2, 100 + gap..200, 100);
        let expected = if gap == 0 { (40, 110, 40) } else { (101, 171, 40) };
        assert_eq!(held.got(70), expected, "the position between may be another's");
        let held = Held::two_pieces();
        held.add(3, 300 + gap..400, 300);
        let expected = if gap == 0 { (200, 310, 150) } else { (301, 400, 300) };
        assert_eq!(held.got(if gap == 0 { 110 } else { 99 }), expected);
    }
}

#[test]
fn a_spare_piece_comes_into_use_with_the_mark_before_it_and_is_none_any_more() {
    let held = Held::two_pieces();
    assert_eq!(held.level(), Level { mark: 40, end: 300, left: 160, has_spare: true });
    assert_eq!(held.reserve(&ask(101, MAX_MARK)), None, "it is too long for either");
    let request = ask(100, MAX_MARK);
    let reply = Some(Reply::Got { start: 200, end: 300, previous_mark: 150 });
    assert_eq!(held.reserve(&request), reply);
    assert_eq!(held.level(), Level { mark: 300, end: 300, left: 0, has_spare: false });
    assert_eq!(held.reserve(&request), reply, "the same token, the same answer");
    assert_eq!(held.reserve(&ask(1, MAX_MARK)), None);
}

#[test]
fn whoever_may_not_see_a_mark_of_others_is_refused_before_a_spare_piece() {
    let held = Held::two_pieces();
    assert_eq!(held.got(60), (40, 100, 40));
    let refused = Reply::Refused { mark: 150, note: Some("ours".to_owned()) };
    assert_eq!(held.reserve(&ask(10, 149)), Some(refused));
    let request = ask(10, 150);
    assert_eq!(held.reserve(&request), Some(Reply::Got { start: 200, end: 210, previous_mark: 150 }));
}

#[test]
fn an_answer_is_taken_in_once_and_under_its_own_token() {
    let held = Held::nothing();
    assert_eq!(held.pending(1), Some(token(1)));
    assert_eq!(held.pending(2), Some(token(1)), "what was asked is asked again");
    let got = Got { start: 0, end: 100, previous_mark: 0 };
    let add = |byte| held.store.add(&slot(), token(byte), got, None).map(drop);
    assert_eq!(add(2), Ok(()));
    assert_eq!(held.level().end, 0, "nobody asked with that token");
    assert_eq!(add(1), Ok(()));
    assert_eq!(held.got(40), (0, 40, 0));
    // Another process asks again, and the first one hears its answer late.
    assert_eq!(held.pending(3), Some(token(3)));
    assert_eq!(add(1), Ok(()));
    assert_eq!(held.level(), Level { mark: 40, end: 100, left: 60, has_spare: false });
    assert_eq!(held.pending(4), Some(token(3)), "its own question waits on");
}

#[test]
fn a_mark_behind_that_is_one_below_what_is_held_went_backwards() {
    for pieces in [Held::first(), Held::two_pieces()] {
        let (end, token) = (pieces.level().end, pieces.pending(7).unwrap());
        let add = |previous_mark| {
            let got = Got { start: end, end: end + 10, previous_mark };
            pieces.store.add(&slot(), token, got, None).map(drop)
        };
        assert!(matches!(add(end - 1), Err(LedgerError::Unfit(text)) if text.contains("went backwards")));
        assert_eq!(add(end), Ok(()));
    }
}

#[test]
fn a_raise_drops_what_is_below_it_and_the_question_that_waits() {
    for (at_least, level) in [
        (90, Level { mark: 90, end: 300, left: 110, has_spare: true }),
        (150, Level { mark: 150, end: 300, left: 100, has_spare: true }),
        (200, Level { mark: 200, end: 300, left: 100, has_spare: false }),
        (250, Level { mark: 250, end: 300, left: 50, has_spare: false }),
        (500, Level { mark: 500, end: 500, left: 0, has_spare: false }),
    ] {
        let held = Held::two_pieces();
        assert_eq!(held.pending(7), Some(token(7)));
        assert_eq!(held.store.raise(&slot(), at_least, 300), Ok(40), "the mark before is the one here");
        assert_eq!(held.level(), level, "raised to {at_least}");
        assert_eq!(held.pending(8), Some(token(8)), "the answer may be a range below the new mark");
    }
    // If others have reserved past the held range, the mark before is theirs.
    let held = Held::two_pieces();
    assert_eq!(held.store.raise(&slot(), 500, 310), Ok(310));
}

#[test]
fn a_raise_to_a_mark_before_a_spare_piece_is_the_mark_before_it() {
    for (at_least, before) in [(90, 150), (150, 150), (151, 151), (199, 199)] {
        let held = Held::two_pieces();
        assert_eq!(held.store.raise(&slot(), at_least, 300), Ok(40));
        let refused = Reply::Refused { mark: before, note: Some("ours".to_owned()) };
        assert_eq!(held.reserve(&ask(100, before - 1)), Some(refused), "raised to {at_least}");
        assert_eq!(held.got(100), (200, 300, before), "raised to {at_least}");
    }
}

#[test]
fn a_raise_before_the_first_answer_drops_the_question() {
    let held = Held::nothing();
    assert_eq!(held.pending(1), Some(token(1)));
    assert_eq!(held.store.raise(&slot(), 500, 0), Ok(0));
    assert_eq!(held.pending(2), Some(token(2)), "the answer may be a range below the new mark");
    // If nothing is held or requested, nothing is kept here either.
    let held = Held::nothing();
    assert_eq!(held.store.raise(&slot(), 500, 30), Ok(30));
    assert_eq!(held.store.knows(&slot()), Ok(false));
}

#[test]
fn a_mark_is_seen_from_here_where_nobody_has_reserved_beyond() {
    let held = Held::two_pieces();
    let seen = |mark| {
        let behind = Record { key: slot().as_str().to_owned(), mark, note: Some("behind".to_owned()) };
        let mut seen = held.store.seen_from_here(&[behind]).unwrap();
        seen.pop().map(|record| (record.mark, record.note.unwrap()))
    };
    assert_eq!(seen(300), Some((40, "ours".to_owned())));
    for mark in [299, 301] {
        assert_eq!(seen(mark), Some((mark, "behind".to_owned())));
    }
}

#[test]
fn what_is_in_two_pieces_or_enough_is_not_added_to() {
    let begin = |held: &Held, below| held.store.begin_top_up(&slot(), below, token(7)).unwrap().is_some();
    assert!(begin(&Held::first(), 61) && !begin(&Held::first(), 60), "60 are left");
    assert!(!begin(&Held::two_pieces(), u64::MAX));
    let held = Held::first();
    held.add(2, 200..201, 150);
    assert!(!begin(&held, u64::MAX), "a piece of one position is one too");
    assert_eq!(held.got(1), (40, 41, 40));
}

#[test]
fn a_slot_whose_first_range_was_not_begun_is_one_of_which_something_is_held() {
    let held = Held::nothing();
    assert_eq!(held.pending(1), Some(token(1)));
    let got = Got { start: 1_000, end: 2_000, previous_mark: 0 };
    held.store.add(&slot(), token(1), got, None).unwrap();
    let level = Level { mark: 0, end: 2_000, left: 1_000, has_spare: true };
    held.store.seen().clear();
    held.store.note_slots().unwrap();
    assert_eq!(*held.store.seen(), Slots::from([((10, 7), level)]));
}

#[test]
fn a_raise_drops_what_is_held_also_where_nothing_of_it_was_begun() {
    let held = Held::nothing();
    held.add(1, 1_000..2_000, 0);
    assert_eq!(held.store.raise(&slot(), 1_500, 2_000), Ok(2_000));
    assert_eq!(held.level(), Level { mark: 1_500, end: 2_000, left: 500, has_spare: false });
    assert_eq!(held.got(10), (1_500, 1_510, 1_500));
}

/// As of a segment that begins at 1,000, where others reserve next.
#[test]
fn a_range_that_follows_an_empty_one_has_the_mark_before_it_as_the_ledger_behind_said() {
    let held = Held::nothing();
    held.add(1, 1_000..1_000, 0);
    assert_eq!(held.level(), Level { mark: 0, end: 0, left: 0, has_spare: false });
    held.add(2, 1_000..1_100, 1_000);
    let refused = Reply::Refused { mark: 1_000, note: None };
    assert_eq!(held.reserve(&ask(40, 999)), Some(refused), "somebody may have begun there");
    assert_eq!(held.got(40), (1_000, 1_040, 1_000));
}

/// Otherwise the note of an earlier call could replace that of a later one.
#[test]
fn a_slot_is_noted_by_each_call_that_moves_it_while_that_call_has_the_file() {
    let held = Held::with_patience(Duration::from_millis(1));
    held.store.begin_top_up(&slot(), u64::MAX, token(1)).unwrap();
    HAD_THE_FILE.set(Some(Vec::new()));
    let is_noted = |call: &str| {
        assert_eq!(HAD_THE_FILE.replace(Some(Vec::new())), Some(vec![true]), "{call}");
        assert_eq!(held.store.seen().get(&(10, 7)), Some(&held.level()), "{call}");
    };
    let got = Got { start: 0, end: 100, previous_mark: 0 };
    held.store.add(&slot(), token(1), got, None).unwrap();
    is_noted("add");
    let request = ask(40, MAX_MARK);
    held.reserve(&request).unwrap();
    is_noted("reserve");
    assert_eq!(held.store.give_back(&slot(), request.token, 30), Ok(true));
    is_noted("give_back");
    held.store.raise(&slot(), 60, 100).unwrap();
    is_noted("raise");
    held.store.note_slots().unwrap();
    is_noted("note_slots");
}

/// An opening drops what an older copy holds, and then asks whether anything was given. It must not come between the two.
#[test]
fn what_is_given_is_noted_before_anybody_can_have_it() {
    let held = Held::first();
    let other = Store::open(held.dir.path(), Duration::from_secs(10)).unwrap();
    let marks = |request: &Reserve| {
        let marks = RefCell::default();
        held.store
            .reserve(request, None, || Vec::push(&mut marks.borrow_mut(), other.level(&slot()).unwrap().mark))
            .unwrap();
        marks.into_inner()
    };
    let request = ask(10, MAX_MARK);
    assert_eq!((marks(&request), other.level(&slot()).unwrap().mark), (vec![40], 50));
    assert_eq!(marks(&request), [50], "the same range again");
    assert_eq!(
        [ask(10, 49), ask(51, MAX_MARK)].map(|none| marks(&none).len()),
        [0, 0],
        "refused, and too long"
    );
}

/// A ledger behind a cache whose original has been opened once more since. It answers an opening once a giver has begun.
struct Since<'a> {
    behind: Memory,
    giver: &'a Barrier,
}

impl Ledger for Since<'_> {
    fn reserve(&self, request: &Reserve) -> Result<Reply, LedgerError> {
        self.behind.reserve(&Reserve { token: Token::random()?, ..request.clone() })?;
        let reply = self.behind.reserve(request);
        // It may begin, and has begun.
        self.giver.wait();
        self.giver.wait();
        reply
    }
    floe::__hand_on!(self => self.behind; give_back bind definition names raise list realm_id describe);
}

/// The one that has the file gives a range from it, which the opening that waits for the file then drops.
#[test]
fn an_opening_that_waits_for_whoever_gives_from_an_older_state_ends_everything() {
    let (dir, behind, giver) = (TempDir::new().unwrap(), Memory::default(), Barrier::new(2));
    let upstream = behind.clone();
    let opened = Cache::builder(dir.path()).before_ledger("behind:", move || Ok(Box::new(upstream.clone())));
    opened.unwrap().reserve(&ask(10, MAX_MARK)).unwrap();
    let down = || Err(LedgerError::Unavailable("down".to_owned()).into());
    let cache = Cache::builder(dir.path()).before_ledger("behind:", down).unwrap();
    let (inner, waits) = (&cache.inner, || cache.inner.store.file.waits.load(Ordering::SeqCst));
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            giver.wait();
            let gives = || {
                let before = waits();
                giver.wait();
                while waits() == before {
                    thread::yield_now();
                }
                inner.note_served();
            };
            inner.store.reserve(&ask(10, MAX_MARK), None, gives).unwrap();
        });
        inner.greet(&Since { behind, giver: &giver })
    });
    assert!(matches!(&outcome, Err(LedgerError::Unfit(text)) if text.contains("older copy")), "{outcome:?}");
}

/// An opening may end between the commit and what comes after it. That a commit has failed shows what was noted before.
#[test]
fn what_is_served_without_the_ledger_behind_is_noted_within_the_write() {
    let (dir, behind) = (TempDir::new().unwrap(), Memory::default());
    let opened = Cache::builder(dir.path()).before_ledger("behind:", move || Ok(Box::new(behind.clone())));
    opened.unwrap().reserve(&ask(10, MAX_MARK)).unwrap();
    let down = || Err(LedgerError::Unavailable("down".to_owned()).into());
    let cache = Cache::builder(dir.path()).before_ledger("behind:", down).unwrap();
    let fails = "CREATE TEMP TABLE one (id INTEGER PRIMARY KEY);
                 CREATE TEMP TABLE other (id REFERENCES one DEFERRABLE INITIALLY DEFERRED);
                 CREATE TEMP TRIGGER fails AFTER UPDATE ON main.mark BEGIN INSERT INTO other VALUES (7); END";
    let prepared = cache.inner.store.write(|connection| {
        connection.execute_batch(fails)?;
        Ok(Done::written(()))
    });
    prepared.unwrap();
    assert!(cache.reserve(&ask(10, MAX_MARK)).is_err());
    assert!(cache.inner.served_alone.load(Ordering::SeqCst));
}
