//! Loom models: every interleaving, and every stale read that the memory model allows, up to a number of preemptions.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" CARGO_TARGET_DIR=target/loom cargo test -p floe --release --lib models
//! ```
//!
//! Every model says which changes to the code it was seen to catch: each was made, and the model went red. Who changes
//! the cursor makes them again. Four changes no model catches, since they are harmless: a relaxed compare-and-swap,
//! a relaxed load of `next` in a draw or a relaxed store of it in `publish` (the fences carry what these would, and
//! without the fence beside it the load is caught), and a draw that reads `next` before the version.
//!
//! The cursor's second look at the version is held by four of them: `no_draw_falls_into_the_gap_of_a_renewal`,
//! `no_draw_sees_half_a_publication`, `nothing_past_the_closing_is_drawn_even_after_opening_again` and
//! `a_range_is_drawn_from_in_its_own_era_only`. The floor after a close is held by
//! `nothing_past_the_closing_is_drawn_even_after_opening_again`, and by a test of one thread (`tests`). A chunk remembers the
//! version of its draw, and not one that is read after it: `a_chunk_is_as_old_as_its_draw` holds that, and
//! `what_a_segments_minter_has_drawn_is_as_old_as_its_draw`.
//!
//! Of the lease no model catches: `below` loaded or stored relaxed, also by a close (a swap fails wherever `next` has moved on, and
//! what a close has stored is seen with the `next` of the opening after it), and the worker id stored after `below` (the clock's
//! word, which is stored last, carries it).
//!
//! Loom tries a store before the last access of its word by another thread, and remembers one last access of each word. A thread
//! that loads a word right before it stores to it hides the loads of the others, and loom leaves those orders out. So a model may
//! be green since the code under it loads too much: the writer of the cursor counts the version itself.

use std::ops::Range;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use loom::thread;

use super::{Cursor, Draw, Drawn, Owned};
use crate::clock::Stamp;
use crate::error::Stopped;
use crate::layout::{Layout, Width};
use crate::shared_cursor::{SharedCursor, WakeList};
use crate::signal::Signal;
use crate::stream::{Chunk, Start, Stream};
use crate::supply::{NumberChunk, SegmentSupply};
use crate::time::UnixMillis;
use crate::{Id, IdRepr, MintError};

pub(crate) fn model(preemptions: usize, body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(body);
}

fn owned(current: Range<u64>, tag: u64) -> Owned {
    Owned { current, tag, ..Owned::default() }
}

fn draw(cursor: &Cursor) -> Option<Drawn> {
    match cursor.draw(0, 1, true, u64::MAX - 1, |next| next) {
        Draw::Got(drawn) => Some(drawn),
        Draw::Later(_) | Draw::NeedRange => None,
    }
}

fn draw_twice(cursor: &Cursor) -> Vec<Drawn> {
    let drawn: Vec<_> = [draw(cursor), draw(cursor)].into_iter().flatten().collect();
    assert!(drawn.windows(2).all(|pair| pair[0].start < pair[1].start), "increasing: {drawn:?}");
    drawn
}

/// The trap of a renewal with a gap: a thread decides on a position in the old window, sleeps, and the window is
/// replaced by a later one. What lies between them may be another node's.
///
/// Caught: no second look at the version; no acquire fence before it; no release fence before the copies are written; the
/// version stored or loaded relaxed; the copy written that readers are told to read; a range judged by its end alone
/// (`wanted` in place of `wanted.max(start)`); `publish` that sets the cursor of an open one.
#[test]
fn no_draw_falls_into_the_gap_of_a_renewal() {
    model(3, || {
        let cursor = Arc::new(Cursor::new(0));
        cursor.publish(&owned(0..1, 7), 0);
        let drawer = {
            let cursor = Arc::clone(&cursor);
            thread::spawn(move || draw_twice(&cursor))
        };
        cursor.publish(&owned(4..5, 7), 0);
        cursor.publish(&owned(8..9, 7), 0);
        let mut starts: Vec<_> = drawer.join().unwrap().iter().map(|drawn| drawn.start).collect();
        starts.extend(draw(&cursor).map(|drawn| drawn.start));
        assert!(starts.iter().all(|start| [0, 4, 8].contains(start)), "only what was owned: {starts:?}");
        assert!(starts.is_sorted_by(|a, b| a < b), "once, in order: {starts:?}");
    });
}

/// Closing, giving the rest back, and opening again on another worker's window of the same time (ABA): what is at or
/// past the value that closing swapped out is never drawn under the old worker id, since another node may own it.
///
/// Caught: `writer.floor = next` in place of `next + 1`; closing by a load and a store in place of a swap; a draw that
/// stores in place of its compare-and-swap; no second look at the version; the version stored or loaded relaxed.
#[test]
fn nothing_past_the_closing_is_drawn_even_after_opening_again() {
    model(3, || {
        let cursor = Arc::new(Cursor::new(0));
        cursor.publish(&owned(0..8, 1), 0);
        let drawer = {
            let cursor = Arc::clone(&cursor);
            thread::spawn(move || draw_twice(&cursor))
        };
        let first_unminted = cursor.close().expect("it was open");
        assert_eq!(cursor.close(), None, "it is closed once");
        assert!(cursor.floor() > first_unminted);
        cursor.publish(&owned(0..8, 2), 0);
        let mut all = drawer.join().unwrap();
        all.extend(draw(&cursor));
        for drawn in &all {
            match drawn.tag {
                1 => assert!(drawn.start < first_unminted, "{drawn:?} was given back from {first_unminted}"),
                2 => assert!(drawn.start > first_unminted, "{drawn:?} may have been drawn before"),
                tag => panic!("worker {tag} was never ours"),
            }
        }
        assert!(all.windows(2).all(|pair| pair[0].start < pair[1].start), "once, in order: {all:?}");
    });
}

/// While a cursor is closed, nothing is drawn: not by a call that begins then, nor by one that was under way.
///
/// Caught: `close` that leaves the cursor's word as it is and relies on the empty ranges alone; closing by a load and a
/// store; a draw that stores.
#[test]
fn a_closed_cursor_gives_nothing() {
    model(3, || {
        let cursor = Arc::new(Cursor::new(0));
        cursor.publish(&owned(0..8, 1), 0);
        let closed_at = Arc::new(AtomicU64::new(u64::MAX));
        let drawer = {
            let (cursor, closed_at) = (Arc::clone(&cursor), Arc::clone(&closed_at));
            thread::spawn(move || {
                let before = closed_at.load(Ordering::Acquire);
                let drawn = draw(&cursor);
                assert!(before == u64::MAX || drawn.is_none(), "{drawn:?} after closing at {before}");
                drawn
            })
        };
        let next = cursor.close().expect("it was open");
        closed_at.store(next, Ordering::Release);
        let drawn = drawer.join().unwrap();
        assert_eq!(
            drawn.map_or(0, |drawn| drawn.start + 1),
            next,
            "what was swapped out says what was drawn"
        );
        assert_eq!(draw(&cursor), None);
    });
}

/// Two threads draw while the window grows: never the same position, and each thread's are increasing.
///
/// Caught: a draw that stores in place of its compare-and-swap; `publish` that sets the cursor of an open one; the version
/// stored or loaded relaxed.
#[test]
fn two_threads_never_draw_the_same() {
    model(3, || {
        let cursor = Arc::new(Cursor::new(0));
        cursor.publish(&owned(0..2, 7), 0);
        let drawers = [(); 2].map(|()| {
            let cursor = Arc::clone(&cursor);
            thread::spawn(move || draw_twice(&cursor))
        });
        cursor.publish(&owned(0..3, 7), 0);
        let mut starts: Vec<_> =
            drawers.into_iter().flat_map(|drawer| drawer.join().unwrap()).map(|drawn| drawn.start).collect();
        starts.extend(draw(&cursor).map(|drawn| drawn.start));
        starts.sort_unstable();
        // A draw that met the end before the window grew got nothing; what is left is there for the next.
        assert!((2..=3).contains(&starts.len()), "{starts:?}");
        assert!(starts.iter().copied().eq(0..starts.len() as u64), "unique and without a hole: {starts:?}");
    });
}

/// A thread draws while the current range and the spare are replaced: it never sees half of one and half of another.
///
/// Caught: what `no_draw_falls_into_the_gap_of_a_renewal` says of torn snapshots.
#[test]
fn no_draw_sees_half_a_publication() {
    model(3, || {
        let cursor = Arc::new(Cursor::new(0));
        let both = |start: u64| Owned { spare: start + 20..start + 21, ..owned(start..start + 1, 7) };
        cursor.publish(&both(0), 0);
        assert_eq!(draw(&cursor).map(|drawn| drawn.start), Some(0));
        let drawer = {
            let cursor = Arc::clone(&cursor);
            thread::spawn(move || draw(&cursor))
        };
        cursor.publish(&both(100), 0);
        cursor.publish(&both(200), 0);
        let mut starts: Vec<_> = drawer.join().unwrap().iter().map(|drawn| drawn.start).collect();
        starts.extend(draw(&cursor).map(|drawn| drawn.start));
        assert!(starts.iter().all(|start| [20, 100, 120, 200, 220].contains(start)), "{starts:?}");
        assert!(starts.is_sorted_by(|a, b| a < b), "once, in order: {starts:?}");
    });
}

/// A draw with an old stamp meets ranges of a new era, and the other way round: neither is drawn from.
///
/// Caught: `owned_era != era` left out; no second look at the version; the version stored or loaded relaxed.
#[test]
fn a_range_is_drawn_from_in_its_own_era_only() {
    model(3, || {
        let cursor = Arc::new(Cursor::new(0));
        cursor.publish(&owned(0..8, 1), 0);
        let drawer = {
            let cursor = Arc::clone(&cursor);
            thread::spawn(move || draw(&cursor))
        };
        cursor.close();
        cursor.publish(&Owned { era: 1, ..owned(0..8, 2) }, 0);
        if let Some(drawn) = drawer.join().unwrap() {
            assert_eq!(drawn.tag, 1, "a caller of era 0 has no business in era 1");
        }
        assert_eq!(draw(&cursor), None);
    });
}

/// A position by the clock's word `stamp`: by the lease, or as one that leaves a lease behind.
fn draw_and_lease(cursor: &Cursor, stamp: Stamp) -> Option<(u64, u64)> {
    cursor.draw_leased(stamp).or_else(|| match cursor.draw(stamp.era(), 1, true, LIMIT, |next| next) {
        Draw::Got(drawn) => {
            cursor.grant(stamp, 0, 0, |_, tag| (LIMIT, tag));
            Some((drawn.start, drawn.tag))
        }
        Draw::Later(_) | Draw::NeedRange => None,
    })
}

/// Two positions by leases alone.
fn draw_leased_twice(cursor: &Cursor, stamp: Stamp) -> Vec<(u64, u64)> {
    let drawn: Vec<_> = [(); 2].into_iter().filter_map(|()| cursor.draw_leased(stamp)).collect();
    assert!(drawn.is_sorted_by(|a, b| a.0 < b.0), "increasing: {drawn:?}");
    drawn
}

const LIMIT: u64 = 100;

/// As `no_draw_falls_into_the_gap_of_a_renewal`, by leases.
///
/// Caught: `below` not looked at; a lease granted up to the end of the spare, and not of the range in which `next` lies.
#[test]
fn no_leased_draw_falls_into_a_gap() {
    model(2, || {
        let cursor = Arc::new(Cursor::new(0));
        cursor.publish(&Owned { spare: 4..6, ..owned(0..2, 7) }, 0);
        assert_eq!(draw_and_lease(&cursor, at(0, 10)), Some((0, 7)));
        let drawer = {
            let cursor = Arc::clone(&cursor);
            thread::spawn(move || draw_leased_twice(&cursor, at(0, 10)))
        };
        let mut drawn: Vec<_> = draw_and_lease(&cursor, at(0, 10)).into_iter().collect();
        cursor.publish(&owned(8..9, 7), 0);
        drawn.extend(draw_and_lease(&cursor, at(0, 10)));
        drawn.extend(drawer.join().unwrap());
        drawn.extend(draw_and_lease(&cursor, at(0, 10)));
        drawn.sort_unstable();
        let starts: Vec<_> = drawn.iter().map(|(start, _)| *start).collect();
        assert!(starts.iter().all(|start| [1, 4, 5, 8].contains(start)), "only what was owned: {starts:?}");
        assert!(starts.is_sorted_by(|a, b| a < b), "once: {starts:?}");
    });
}

/// As `nothing_past_the_closing_is_drawn_even_after_opening_again`, by leases.
///
/// Caught: a close that leaves the lease; `next` loaded relaxed.
#[test]
fn no_lease_outlives_a_close() {
    model(2, || {
        let cursor = Arc::new(Cursor::new(0));
        cursor.publish(&owned(0..8, 1), 0);
        let mut all: Vec<_> = draw_and_lease(&cursor, at(0, 10)).into_iter().collect();
        let drawer = {
            let cursor = Arc::clone(&cursor);
            thread::spawn(move || draw_leased_twice(&cursor, at(0, 10)))
        };
        let first_unminted = cursor.close().expect("it was open");
        assert!(cursor.draw_leased(at(0, 10)).is_none(), "it is closed");
        cursor.publish(&owned(0..8, 2), 0);
        all.extend(draw_and_lease(&cursor, at(0, 10)));
        all.extend(drawer.join().unwrap());
        all.sort_unstable();
        for drawn in &all {
            match drawn {
                (start, 1) => {
                    assert!(*start < first_unminted, "{drawn:?} was given back from {first_unminted}")
                }
                (start, 2) => assert!(*start > first_unminted, "{drawn:?} may have been drawn before"),
                (_, tag) => panic!("worker {tag} was never ours"),
            }
        }
        assert!(all.is_sorted_by(|a, b| a.0 < b.0), "once: {all:?}");
    });
}

/// After a close the old lease's end is nobody's: the range that is owned now is shorter.
///
/// Caught: a close that takes the clock's word of the lease away alone.
#[test]
fn the_end_of_an_old_lease_is_no_end_of_a_new_one() {
    model(2, || {
        let cursor = Arc::new(Cursor::new(0));
        cursor.publish(&owned(0..8, 1), 0);
        assert_eq!(draw_and_lease(&cursor, at(0, 10)), Some((0, 1)));
        let leased = {
            let cursor = Arc::clone(&cursor);
            thread::spawn(move || cursor.draw_leased(at(0, 10)))
        };
        cursor.close();
        cursor.publish(&owned(0..5, 2), 3);
        let drawer = {
            let cursor = Arc::clone(&cursor);
            thread::spawn(move || draw(&cursor))
        };
        let third = draw_and_lease(&cursor, at(0, 10));
        drawer.join().unwrap();
        assert!(third.is_none_or(|(start, _)| start < 5), "{third:?}");
        let first = leased.join().unwrap();
        assert!(first.is_none_or(|(start, tag)| tag == 1 && start == 1 || start < 5), "{first:?}");
    });
}

/// A draw with the clock's word of an era that has ended takes nothing of the next one's ranges, and grants no lease of them:
/// where it finds a lease, and where it would leave one.
///
/// Caught: the clock's word not compared; a lease granted by the word of another era; a close that leaves the clock's word of
/// the lease.
#[test]
fn a_lease_is_granted_and_used_in_its_own_era_only() {
    for finds_a_lease in [false, true] {
        model(2, move || {
            let cursor = Arc::new(Cursor::new(0));
            cursor.publish(&owned(0..8, 1), 0);
            if finds_a_lease {
                assert_eq!(draw_and_lease(&cursor, at(0, 10)), Some((0, 1)));
            }
            let drawer = {
                let cursor = Arc::clone(&cursor);
                thread::spawn(move || draw_and_lease(&cursor, at(0, 10)))
            };
            cursor.close();
            cursor.publish(&Owned { era: 1, ..owned(0..8, 2) }, 0);
            let anew = draw_and_lease(&cursor, at(1, 10));
            assert!(anew.is_some_and(|(_, tag)| tag == 2), "{anew:?}");
            let former = drawer.join().unwrap();
            assert!(
                former.is_none_or(|(_, tag)| tag == 1),
                "a caller of era 0 has no business in era 1: {former:?}"
            );
            assert!(cursor.draw_leased(at(0, 10)).is_none());
        });
    }
}

/// A lease's key is for the positions of one tick: here ticks have two positions, and the key is the tick. Two threads
/// draw, each grants a lease in the tick that it has come to, and every position has the key of its own tick.
///
/// Caught: a lease past the end of its tick; the key stored behind `below`, or loaded before it; a second try that loads the
/// key before `next`.
#[test]
fn a_position_has_the_key_of_its_own_tick() {
    let one = |cursor: &Cursor| match cursor.draw_leased(at(0, 10)) {
        Some(drawn) => Some(drawn),
        None => match cursor.draw(0, 1, true, LIMIT, |next| next) {
            Draw::Got(drawn) => {
                cursor.grant(at(0, 10), 0, 0, |next, _| (next / 2 * 2 + 2, next / 2));
                Some((drawn.start, drawn.start / 2))
            }
            Draw::Later(_) | Draw::NeedRange => None,
        },
    };
    for (preemptions, theirs) in [(2, 3), (3, 1)] {
        model(preemptions, move || {
            let cursor = Arc::new(Cursor::new(0));
            cursor.publish(&owned(0..8, 7), 0);
            let mut drawn: Vec<_> = one(&cursor).into_iter().collect();
            let drawer = {
                let cursor = Arc::clone(&cursor);
                thread::spawn(move || (0..theirs).filter_map(|_| one(&cursor)).collect::<Vec<_>>())
            };
            drawn.extend([(); 2].into_iter().filter_map(|()| one(&cursor)));
            drawn.extend(drawer.join().unwrap());
            drawn.sort_unstable();
            let all: Vec<_> = (0..3 + theirs).map(|position| (position, position / 2)).collect();
            assert_eq!(drawn, all);
        });
    }
}

/// Two threads draw by one lease, to the end of what is due.
///
/// Caught: `below` not looked at; a draw that stores in place of its compare-and-swap.
#[test]
fn two_threads_share_a_lease() {
    model(2, || {
        let cursor = Arc::new(Cursor::new(0));
        cursor.publish(&owned(0..8, 7), 0);
        assert!(matches!(cursor.draw(0, 1, true, 4, |next| next), Draw::Got(_)));
        cursor.grant(at(0, 10), 0, 0, |_, tag| (4, tag));
        let drawers = [(); 2].map(|()| {
            let cursor = Arc::clone(&cursor);
            thread::spawn(move || [(); 2].map(|()| cursor.draw_leased(at(0, 10))))
        });
        let drawn = drawers.into_iter().flat_map(|drawer| drawer.join().unwrap()).flatten();
        let mut drawn: Vec<_> = drawn.collect();
        drawn.sort_unstable();
        assert_eq!(drawn, [(1, 7), (2, 7), (3, 7)], "what is due, once");
        assert!(cursor.draw_leased(at(0, 10)).is_none());
    });
}

/// 32 positions a tick make chunks of up to two.
fn stream() -> Stream {
    let layout = Layout::new("time:10 worker:2 sequence:5", 1, UnixMillis::EPOCH, Width::Narrow).unwrap();
    let stream = Stream::new(layout, Start::Zero, 0, 0, std::sync::Arc::<Signal>::default());
    stream.own(1, 10, 11, 0);
    stream
}

fn at(era: u64, millis: i64) -> Stamp {
    Stamp::new(era, UnixMillis::new(millis))
}

/// A chunk of two positions of which one has been minted.
fn half_used(stream: &Stream) -> Chunk<Id> {
    let mut chunk = Chunk::new(stream);
    assert!(mint(&mut chunk, stream, at(0, 10)).is_some());
    assert_eq!(chunk.left(), 1, "the other one is there");
    chunk
}

/// What `Minter::mint` does where it need not wait: a position, and its worker id.
fn mint(chunk: &mut Chunk<Id>, stream: &Stream, stamp: Stamp) -> Option<(u64, u64)> {
    mint_by(chunk, stream, || stamp)
}

fn mint_by(chunk: &mut Chunk<Id>, stream: &Stream, now: impl Fn() -> Stamp) -> Option<(u64, u64)> {
    let kept = || Ok::<_, MintError>((now(), true));
    let id = chunk.take_again().or_else(|| match chunk.take_by(stream, kept).unwrap() {
        (stamp, None) => {
            chunk.refill(stream, stamp).unwrap();
            chunk.take_by(stream, kept).unwrap().1
        }
        (_, id) => id,
    })?;
    let parts = stream.layout.split(id.to_u128()).unwrap();
    Some((stream.layout.position(parts.tick, parts.sequence), parts.worker))
}

/// Two minters come to the end of a window: every position is minted once, and none past the end.
///
/// Caught: a chunk that ends at `start + size` in place of `start + count`; a draw that stores.
#[test]
fn minters_share_out_the_end_of_a_window() {
    model(3, || {
        let stream = Arc::new(stream());
        let first = 32 - 5;
        assert!(matches!(stream.draw(at(0, 10), first, true, 0), Ok(Draw::Got(_))));
        let minters = [(); 2].map(|()| {
            let stream = Arc::clone(&stream);
            thread::spawn(move || {
                let mut chunk = Chunk::new(&stream);
                let minted: Vec<_> = std::iter::from_fn(|| mint(&mut chunk, &stream, at(0, 10))).collect();
                assert!(minted.is_sorted_by(|a, b| a < b), "strictly increasing: {minted:?}");
                minted
            })
        });
        let mut all: Vec<_> = minters.into_iter().flat_map(|minter| minter.join().unwrap()).collect();
        all.sort_unstable();
        let window = stream.layout.positions(&(10..11));
        let expected = (window.start + first..window.end).map(|position| (position, 1));
        assert!(all.iter().copied().eq(expected), "all that was left, once: {all:?}");
    });
}

/// A minter that begins a call after the stream was closed mints nothing from the chunk that it holds, also when the
/// stream has been opened again on another worker's window of the same time.
///
/// Caught: a chunk without its look at the version; `close` without counting the version up, or without its beat.
#[test]
fn closing_reaches_every_minter() {
    model(3, || {
        let stream = Arc::new(stream());
        let mut chunk = half_used(&stream);
        let closed = Arc::new(AtomicBool::new(false));
        let minter = {
            let (stream, closed) = (Arc::clone(&stream), Arc::clone(&closed));
            thread::spawn(move || {
                let closed = closed.load(Ordering::Acquire);
                let minted = mint(&mut chunk, &stream, at(0, 10));
                assert!(
                    !closed || minted.is_none_or(|(_, worker)| worker == 2),
                    "closed, and minted {minted:?}"
                );
                (chunk, minted)
            })
        };
        let given_back = stream.close().expect("it was open");
        closed.store(true, Ordering::Release);
        // The next tick is another's, since the minter may have drawn from this one.
        stream.own(2, 10, 12, 0);
        let (mut chunk, minted) = minter.join().unwrap();
        if let Some((position, 1)) = minted {
            let time = stream.layout.time_of(stream.layout.tick_of(position));
            assert!(time < given_back, "{time} of worker 1 was given back");
        }
        let last = mint(&mut chunk, &stream, at(0, 11)).expect("there is a window");
        assert_eq!(last.1, 2);
        assert!(minted.is_none_or(|(position, _)| position < last.0), "increasing: {minted:?}, {last:?}");
    });
}

/// A minter draws a chunk while the stream is closed. A chunk is as old as its draw: a call that begins after the closing
/// mints nothing from it, although it was taken up after the closing.
///
/// Caught: a beat before the version is stored, a beat or a reading of the pulse that is relaxed; `refill` that keeps the version
/// that it reads after the draw, in place of the draw's own. `closing_reaches_every_minter`
/// does not see that: its minter makes one call, and so never takes from a chunk that it has drawn itself. No ID would be minted
/// twice by it, since what was drawn is never given back; a floe that was closed would mint on.
#[test]
fn a_chunk_is_as_old_as_its_draw() {
    model(3, || {
        let stream = Arc::new(stream());
        let closed = Arc::new(AtomicBool::new(false));
        let minter = {
            let (stream, closed) = (Arc::clone(&stream), Arc::clone(&closed));
            thread::spawn(move || {
                let mut chunk = Chunk::new(&stream);
                let first = mint(&mut chunk, &stream, at(0, 10));
                let was_closed = closed.load(Ordering::Acquire);
                let second = mint(&mut chunk, &stream, at(0, 10));
                assert!(!was_closed || second.is_none(), "closed, and minted {second:?} after {first:?}");
                [first, second]
            })
        };
        let given_back = stream.close().expect("it was open");
        closed.store(true, Ordering::Release);
        for (position, _) in minter.join().unwrap().into_iter().flatten() {
            let time = stream.layout.time_of(stream.layout.tick_of(position));
            assert!(time < given_back, "{time} was given back");
        }
    });
}

/// `invalidate` ends the era before it returns. A minter that begins a call after that mints nothing of an earlier
/// era, though the node has not yet closed the stream.
///
/// Its first call may use up the chunk, its second one may draw by the old time, and its third one finds what that left.
///
/// Caught: a chunk's expiry compared by its milliseconds alone; a clock without its beat; the pulse read after the clock.
#[test]
fn invalidate_reaches_every_minter_before_the_node_does() {
    model(3, || {
        let stream = Arc::new(stream());
        let mut chunk = half_used(&stream);
        // The clock's word, as the ticker keeps it.
        let now = Arc::new(AtomicU64::new(0));
        let invalidated = Arc::new(AtomicBool::new(false));
        let minter = {
            let (stream, now, invalidated) =
                (Arc::clone(&stream), Arc::clone(&now), Arc::clone(&invalidated));
            thread::spawn(move || {
                for _ in 0..3 {
                    let invalidated = invalidated.load(Ordering::Acquire);
                    let now = || at(now.load(Ordering::Relaxed), 10);
                    let minted = mint_by(&mut chunk, &stream, now);
                    assert!(!invalidated || minted.is_none(), "{minted:?} is of an era that has ended");
                }
                chunk
            })
        };
        now.store(1, Ordering::Relaxed);
        stream.shared.cursor.pulse().beat();
        invalidated.store(true, Ordering::Release);
        let mut chunk = minter.join().unwrap();
        // Later the node learns of it.
        stream.shared.cursor.close();
        stream.own(2, 10, 12, 1);
        assert_eq!(mint(&mut chunk, &stream, at(1, 11)).map(|(_, worker)| worker), Some(2));
    });
}

/// The same of a segment's minter. Its numbers do not grow old, so the era's end has to be told by the word.
///
/// Caught: the era of the draw not compared; a clock without its beat; a beat or a reading of the pulse that is relaxed; the
/// pulse read after the era.
#[test]
fn invalidate_reaches_a_segments_minters() {
    model(3, || {
        let numbers = Arc::new(SegmentSupply::new(1, 0, SharedCursor::new(0, std::sync::Arc::default())));
        numbers.publish(&owned(0..8, 0), 64);
        let mut chunk = NumberChunk::new(&numbers);
        let now = Arc::new(AtomicU64::new(0));
        let mint = |chunk: &mut NumberChunk, numbers: &SegmentSupply, now: &AtomicU64| {
            chunk.take_again().or_else(|| chunk.take(numbers, || (now.load(Ordering::Relaxed), true)))
        };
        assert!(mint(&mut chunk, &numbers, &now).is_some());
        assert!(mint(&mut chunk, &numbers, &now).is_some(), "and one is left");
        let invalidated = Arc::new(AtomicBool::new(false));
        let minter = {
            let (numbers, now, invalidated) =
                (Arc::clone(&numbers), Arc::clone(&now), Arc::clone(&invalidated));
            thread::spawn(move || {
                for _ in 0..2 {
                    let invalidated = invalidated.load(Ordering::Acquire);
                    let minted = mint(&mut chunk, &numbers, &now);
                    assert!(!invalidated || minted.is_none(), "{minted:?} is of an era that has ended");
                }
                chunk
            })
        };
        now.store(1, Ordering::Relaxed);
        numbers.shared.cursor.pulse().beat();
        invalidated.store(true, Ordering::Release);
        let mut chunk = minter.join().unwrap();
        numbers.shared.cursor.close();
        numbers.shared.cursor.publish(&Owned { era: 1, ..owned(20..28, 0) }, 20);
        assert!(mint(&mut chunk, &numbers, &now).is_some_and(|id| id.get() >= 20));
    });
}

/// A segment's minter draws while the segment is closed: what it has drawn is as old as the draw, as with a window.
///
/// Caught: `take` that keeps the version that it reads after the draw.
#[test]
fn what_a_segments_minter_has_drawn_is_as_old_as_its_draw() {
    model(3, || {
        let numbers = Arc::new(SegmentSupply::new(1, 0, SharedCursor::new(0, std::sync::Arc::default())));
        numbers.publish(&owned(0..8, 0), 64);
        let closed = Arc::new(AtomicBool::new(false));
        let minter = {
            let (numbers, closed) = (Arc::clone(&numbers), Arc::clone(&closed));
            thread::spawn(move || {
                let mut chunk = NumberChunk::new(&numbers);
                let mut mint = || chunk.take_again().or_else(|| chunk.take(&numbers, || (0, true)));
                let first = mint();
                let was_closed = closed.load(Ordering::Acquire);
                let second = mint();
                assert!(!was_closed || second.is_none(), "closed, and minted {second:?} after {first:?}");
                [first, second]
            })
        };
        let given_back = numbers.shared.cursor.close().expect("it was open");
        closed.store(true, Ordering::Release);
        for id in minter.join().unwrap().into_iter().flatten() {
            assert!(id.get() < given_back, "{id} was given back");
        }
    });
}

/// Whoever draws from a range asks for the next one in time, also if it came while they drew.
///
/// Caught: `publish` that stores `low` last.
#[test]
fn the_next_range_is_asked_for_before_the_first_one_is_used_up() {
    model(3, || {
        let numbers = Arc::new(SegmentSupply::new(1, 0, SharedCursor::new(0, std::sync::Arc::default())));
        let minter = {
            let numbers = Arc::clone(&numbers);
            thread::spawn(move || usize::from(numbers.draw_one(at(0, 10)).is_some()))
        };
        numbers.publish(&owned(0..8, 0), 4);
        let drawn = minter.join().unwrap();
        // Where it came too early, it asked for this one.
        numbers.shared.take_wanted();
        for _ in drawn..5 {
            assert!(numbers.draw_one(at(0, 10)).is_some());
        }
        assert_eq!(numbers.shared.take_wanted(), Some(0));
    });
}

/// What the largest of all calls wants reaches the node, and the node is asked again after it has looked.
///
/// Caught: `take_wanted` that takes the demand before the flag; `want` that raises the flag first.
#[test]
fn no_wish_for_a_range_is_lost() {
    model(3, || {
        let stream = Arc::new(stream());
        let callers = [3, 5].map(|count| {
            let stream = Arc::clone(&stream);
            thread::spawn(move || stream.shared.want(count))
        });
        let before = stream.shared.take_wanted();
        for caller in callers {
            caller.join().unwrap();
        }
        let after = stream.shared.take_wanted();
        assert_eq!(before.into_iter().chain(after).max(), Some(5), "{before:?}, {after:?}");
    });
}

/// Whoever raises the signal is on the list by then: the node that it wakes looks there, and sleeps again.
///
/// Caught: `want` that raises the signal before the cursor is on the list.
#[test]
fn who_is_woken_by_a_wish_finds_it_on_the_list() {
    model(3, || {
        let (signal, wake_list) =
            (std::sync::Arc::<Signal>::default(), std::sync::Arc::<WakeList>::default());
        let shared = Arc::new(SharedCursor::new(0, std::sync::Arc::clone(&signal)));
        shared.enlist(&wake_list, 7);
        let caller = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.want(3))
        };
        // A thread of its own: it lowers the signal when loom lets it go on, and not before.
        let node = {
            let (signal, wake_list) = (std::sync::Arc::clone(&signal), std::sync::Arc::clone(&wake_list));
            thread::spawn(move || {
                signal.lower();
                wake_list.take()
            })
        };
        caller.join().unwrap();
        let found = node.join().unwrap();
        assert!(!found.is_empty() || signal.is_raised(), "it sleeps on");
        assert_eq!([found, wake_list.take()].concat(), [7]);
        assert_eq!(shared.take_wanted(), Some(3));
    });
}

/// Who is told that a name is stopped finds nothing to mint any more.
///
/// Caught: the stop told before the cursor is closed.
#[test]
fn what_is_stopped_is_closed_before_it_is_told() {
    model(3, || {
        let shared = Arc::new(SharedCursor::new(0, std::sync::Arc::default()));
        shared.cursor.publish(&owned(0..8, 0), 0);
        let stopping = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.stop(&Stopped::closed()))
        };
        if shared.check().is_err() {
            assert_eq!(draw(&shared.cursor), None);
        }
        stopping.join().unwrap();
    });
}
