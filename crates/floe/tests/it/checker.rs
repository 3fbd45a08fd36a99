//! What must hold of IDs that several threads minted.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};

use floe::Id;

/// Fails unless every list is strictly increasing, and no ID is in two of them or twice in one. Exact: it merges the
/// lists.
pub(crate) fn increasing_and_unique(lists: &[Vec<Id>]) -> u64 {
    for list in lists {
        let turn = list.windows(2).find(|pair| pair[0] >= pair[1]);
        assert_eq!(turn, None, "each thread's IDs increase");
    }
    let mut heads: Vec<_> = lists.iter().map(|list| list.iter().peekable()).collect();
    let (mut last, mut count) = (None, 0);
    loop {
        let least =
            heads.iter_mut().enumerate().filter_map(|(at, head)| head.peek().map(|&&id| (id, at))).min();
        let Some((id, at)) = least else { return count };
        heads[at].next();
        assert!(last < Some(id), "{id} was minted twice");
        (last, count) = (Some(id), count + 1);
    }
}

/// Fails unless the IDs differ, whatever their order.
pub(crate) fn unique<I: Ord + Copy + Debug>(mut ids: Vec<I>) {
    ids.sort_unstable();
    let twice = ids.windows(2).find(|pair| pair[0] == pair[1]);
    assert_eq!(twice, None, "unique");
}

/// What calls that have returned are known to have yielded: a call that begins after must yield more (contract 2).
#[derive(Default)]
pub(crate) struct Returned(AtomicU64);

impl Returned {
    /// Mints, and checks the ID against those of all calls that had returned before, on any thread.
    pub(crate) fn check(&self, mint: impl FnOnce() -> Id) -> Id {
        let before = self.0.load(Ordering::Acquire);
        let id = mint();
        assert!(id.get() > before, "{id} came from a call that began after {before} had been returned");
        self.0.fetch_max(id.get(), Ordering::AcqRel);
        id
    }
}

#[test]
#[should_panic(expected = "minted twice")]
fn an_id_in_two_lists_is_found() {
    let list = |numbers: &[u64]| numbers.iter().map(|&number| Id::try_from(number).unwrap()).collect();
    increasing_and_unique(&[list(&[1, 3, 5]), list(&[2, 3, 4])]);
}

#[test]
#[should_panic(expected = "began after 7")]
fn a_smaller_id_after_a_larger_one_has_been_returned_is_found() {
    let returned = Returned::default();
    for number in [7_u64, 6] {
        returned.check(|| Id::try_from(number).unwrap());
    }
}
