//! Faults that a test switches on, one at a time, to show that its checks can fail.
//!
//! A site in the sound code reads `mutate!(sound, Name => broken)`. Without the feature `mutations` that is `sound`
//! and nothing else; with it, `broken` is what a thread runs inside [`with`]`(Some(Mutation::Name), …)`.

/// `mutate!(sound, Name => broken)` is `sound`, and `broken` while the mutation is on. `mutate!(Name => broken)` is
/// nothing, and `broken` while it is on.
#[cfg(feature = "mutations")]
macro_rules! mutate {
    ($name:ident => $broken:expr) => {
        if $crate::mutation::on($crate::mutation::Mutation::$name) {
            $broken
        }
    };
    ($sound:expr, $name:ident => $broken:expr) => {
        if $crate::mutation::on($crate::mutation::Mutation::$name) { $broken } else { $sound }
    };
}

#[cfg(not(feature = "mutations"))]
macro_rules! mutate {
    ($name:ident => $broken:expr) => {};
    ($sound:expr, $name:ident => $broken:expr) => {{ $sound }};
}

pub(crate) use mutate;

#[cfg(feature = "mutations")]
pub use switch::{Mutation, on, with};

#[cfg(feature = "mutations")]
mod switch {
    use std::cell::Cell;

    /// Each mutation with what it does and what it is called.
    macro_rules! mutations {
        ($(#[doc = $what:literal] $mutation:ident = $name:literal,)*) => {
            /// A fault in floe's own logic.
            #[derive(Clone, Copy, PartialEq, Eq, Debug)]
            pub enum Mutation {
                $(#[doc = $what] $mutation,)*
            }

            impl Mutation {
                /// All of them.
                pub const ALL: &[Self] = &[$(Self::$mutation,)*];

                /// What it is called.
                pub const fn name(self) -> &'static str {
                    match self {
                        $(Self::$mutation => $name,)*
                    }
                }

                /// What it does, in one sentence.
                pub const fn what(self) -> &'static str {
                    match self {
                        $(Self::$mutation => $what.trim_ascii(),)*
                    }
                }
            }
        };
    }

    mutations! {
        /// A draw ignores where the owned range ends.
        WindowCheckRemoved = "window-check-removed",
        /// A draw leaves the cursor where it was.
        CursorNotMoved = "cursor-not-moved",
        /// A cursor that opens again begins where the new range does, not past what was drawn before.
        SequenceResetOnReacquire = "sequence-reset-on-reacquire",
        /// A window takes in the ticks that lie inside it only in part.
        TicksRoundedOutward = "ticks-rounded-outward",
        /// What was reserved before the clock moved, or before `invalidate`, is minted from all the same.
        EraIgnored = "era-ignored",
        /// A minter goes on with its chunk after the owned ranges have changed, or the generator was closed.
        StaleChunkUsed = "stale-chunk-used",
        /// A minter goes on with its chunk however old that is.
        OldChunkUsed = "old-chunk-used",
        /// A minter goes on with its chunk whatever has changed.
        PulseIgnored = "pulse-ignored",
        /// A draw reaches a tick further ahead than it may.
        DrawnEarly = "drawn-early",
        /// A batch that waits is handed out a tick before the last of it is due.
        BatchHandedOutEarly = "batch-handed-out-early",

        /// A draw takes from ranges of an era that has ended.
        DrawnInAnOldEra = "drawn-in-an-old-era",
        /// A minter goes on with a chunk of an era that has ended.
        ChunkOutlivesItsEra = "chunk-outlives-its-era",
        /// A batch that was drawn and waits is handed out although its era has ended.
        BatchOutlivesItsEra = "batch-outlives-its-era",
        /// A segment's reservation that was not answered is asked for again with the same token in a new era.
        TokenOutlivesItsEra = "token-outlives-its-era",

        /// A rollback further than `max_hold` is held through.
        MaxHoldIgnored = "max-hold-ignored",
        /// The steady clock follows the wall clock back.
        HoldIgnored = "hold-ignored",
        /// What the ledger's clock showed is carried on although the wall clock has moved since.
        LedgerTimeKept = "ledger-time-kept",
        /// A steady clock that is ahead of the ledger's stays so after the wall clock was set right.
        AheadForEver = "ahead-for-ever",
        /// Slots are reserved whatever the ledger's clock shows.
        LedgerClockIgnored = "ledger-clock-ignored",

        /// A range is handed out although somebody else has written the record since it was read.
        ConflictIgnored = "conflict-ignored",
        /// A record is computed from what was read earlier, and written over the newest one.
        VersionIgnored = "version-ignored",
        /// A write has the number of the write before it, so a store may give both the same version.
        SameNumberWritten = "same-number-written",
        /// A write whose answer was lost is taken for another process's.
        OwnWriteNotKnown = "own-write-not-known",
        /// A call for which nothing is to be written is answered from what was read earlier.
        AnsweredFromMemory = "answered-from-memory",
        /// A record that was made where another was deleted is taken for that one.
        MakingsNotCompared = "makings-not-compared",
        /// A range of a new record is handed out before it is noted that the record was made.
        HandedOutBeforeNoted = "handed-out-before-noted",
        /// A record of another realm is taken for one of this.
        OtherRealmTaken = "other-realm-taken",
        /// A record is made, and the realm may have been made anew meanwhile.
        RealmNotLookedAt = "realm-not-looked-at",
        /// A counter reserves ahead again where it read the rest of its range, and others have taken of that since.
        RestAsItWasRead = "rest-as-it-was-read",
        /// The rest of a counter's range in an emptied store is taken for one of the new realm.
        RestOfAnotherRealm = "rest-of-another-realm",
        /// A store that has crashed goes on with a counter's range as it was some time before.
        OldRestAfterACrash = "old-rest-after-a-crash",

        /// Slots are reserved from their mark on, whatever the time is.
        FloorIgnored = "floor-ignored",
        /// A renewal that begins later than the old window ended is taken for one without a gap.
        RenewalGap = "renewal-gap",
        /// A renewal that begins up to 20 ms after the old window ended is taken for one without a gap.
        SmallRenewalGap = "small-renewal-gap",
        /// A window's renewal that was not answered is asked for again with another token, wherever the mark is.
        RetryWithFreshToken = "retry-with-fresh-token",
        /// A window is renewed behind those of other nodes that have reserved in the slot.
        RenewOverOthers = "renew-over-others",
        /// A node whose renewal was refused goes on asking for it, and looks for no other slot.
        SlotLostIgnored = "slot-lost-ignored",
        /// A mark below a range that this process held goes unnoticed.
        WentBackIgnored = "went-back-ignored",
        /// A mark that is one less than what this process held goes unnoticed.
        WentBackByOneIgnored = "went-back-by-one-ignored",

        /// A closing node gives back what its generators go on minting from.
        GiveBackBeforeClose = "give-back-before-close",
        /// A closing node gives the whole of its last reservation back, minted or not.
        GiveBackOfMinted = "give-back-of-minted",

        /// A segment's new range begins where this node's last one ended, whoever reserved in between.
        SegmentFromLastEnd = "segment-from-last-end",

        /// What was reserved for callers that have gone is handed to callers that came later.
        LeftoversHandedOn = "leftovers-handed-on",
        /// The callers that share a reservation all get its first number.
        CounterCallersShare = "counter-callers-share",
        /// A dated name on a clock that is behind does not adopt the day that the ledger is at.
        DatedIgnoresLaterDay = "dated-ignores-later-day",
        /// A dated name goes on with the last day's count.
        DayFloorIgnored = "day-floor-ignored",

        /// A name is served although the ledger has another definition of it.
        FingerprintIgnored = "fingerprint-ignored",
        /// Nobody who waits is woken when what they wait for is there.
        WaitersNotWoken = "waiters-not-woken",
        /// A node whose ledger was unavailable does not ask it again.
        PauseForEver = "pause-for-ever",

        /// The memory ledger takes back any tail below a mark, whoever reserved since.
        TokenIgnoredInGiveBack = "token-ignored-in-give-back",
        /// The memory ledger moves the mark on although it refuses.
        RefusedReserveWrites = "refused-reserve-writes",
        /// The memory ledger reserves from the mark on, whatever the floor is.
        FloorIgnoredByLedger = "floor-ignored-by-ledger",
        /// The memory ledger does not know a token again.
        SameTokenReservesAgain = "same-token-reserves-again",
    }

    thread_local! {
        static CURRENT: Cell<Option<Mutation>> = const { Cell::new(None) };
    }

    /// Runs `run` on this thread with that mutation on, or with none. Afterwards it is as it was before, also where
    /// `run` panics. Other threads do not notice.
    pub fn with<T>(mutation: Option<Mutation>, run: impl FnOnce() -> T) -> T {
        struct Restore(Option<Mutation>);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0);
            }
        }
        let _restore = Restore(CURRENT.replace(mutation));
        run()
    }

    /// Whether the mutation is on, on this thread.
    pub fn on(mutation: Mutation) -> bool {
        CURRENT.get() == Some(mutation)
    }
}

#[cfg(test)]
#[cfg(all(feature = "mutations", not(loom)))]
mod tests {
    use std::collections::HashSet;
    use std::panic::catch_unwind;

    use super::*;
    use crate::cursor::{Cursor, Draw, Owned};

    /// Whether a fresh cursor draws the same position twice.
    fn draw_repeats() -> bool {
        let cursor = Cursor::new(0);
        cursor.publish(&Owned { current: 0..10, ..Owned::default() }, 0);
        let draw = || match cursor.draw(0, 1, true, 10, |next| next) {
            Draw::Got(drawn) => drawn.start,
            other => panic!("{other:?}"),
        };
        draw() == draw()
    }

    #[test]
    fn a_mutation_is_on_inside_with_and_nowhere_else() {
        assert!(!draw_repeats());
        assert!(with(Some(Mutation::CursorNotMoved), draw_repeats));
        assert!(!with(Some(Mutation::WindowCheckRemoved), draw_repeats), "one is not another");
        assert!(!draw_repeats());
        with(Some(Mutation::CursorNotMoved), || {
            let elsewhere = std::thread::spawn(draw_repeats);
            assert!(!elsewhere.join().unwrap(), "another thread has it off");
        });
    }

    #[test]
    fn the_one_from_before_is_on_again_afterwards() {
        with(Some(Mutation::CursorNotMoved), || {
            assert!(!with(None, draw_repeats));
            assert!(draw_repeats());
        });
    }

    #[test]
    fn a_panic_switches_it_off_as_well() {
        let panic = catch_unwind(|| with(Some(Mutation::CursorNotMoved), || panic!("on purpose")));
        assert!(panic.is_err());
        assert!(!draw_repeats());
    }

    #[test]
    fn each_has_a_name_of_its_own_and_one_sentence() {
        let names: HashSet<_> = Mutation::ALL.iter().map(|mutation| mutation.name()).collect();
        assert_eq!(names.len(), Mutation::ALL.len());
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guarantees.md");
        let said = format!("A test puts {} faults into floe", names.len());
        assert!(std::fs::read_to_string(page).unwrap().contains(&said), "{said}");
        for mutation in Mutation::ALL {
            let what = mutation.what();
            assert!(what.ends_with('.') && what.trim() == what, "{what:?}");
            // `WindowCheckRemoved` is `window-check-removed`.
            let joined: String = mutation.name().split('-').collect();
            assert_eq!(joined, format!("{mutation:?}").to_lowercase());
        }
    }
}
