//! What a node remembers of unloaded names: their marks. If the ledger goes back meanwhile, the node notices when a
//! name is loaded again (I1).

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, RandomState};

use crate::ledger::Key;

/// How many names are remembered: those that were unloaded last. They take five megabytes.
pub(crate) const MOST: usize = 1 << 16;

/// See the module. A name is known by 64 bits of a keyed hash. Two names share a hash once in 10^14 names. Then a
/// name stops that could have gone on; nothing worse happens.
#[derive(Default)]
pub(super) struct Past {
    hash: RandomState,
    /// The mark of a name, and when it was noted.
    marks: HashMap<u64, (u64, u64)>,
    /// The names in the order in which they were noted. A name is here exactly if it is in `marks`. So a name that is
    /// loaded and unloaded again and again takes one place only, and its older note does not make it forgotten.
    order: BTreeMap<u64, u64>,
    notes: u64,
}

impl Past {
    pub(super) fn note(&mut self, key: &Key, mark: u64) {
        if mark == 0 {
            return;
        }
        let name = self.hash.hash_one(key);
        self.notes += 1;
        if let Some((_, before)) = self.marks.insert(name, (mark, self.notes)) {
            self.order.remove(&before);
        }
        self.order.insert(self.notes, name);
        while self.order.len() > MOST {
            self.order.pop_first().map(|(_, oldest)| self.marks.remove(&oldest));
        }
    }

    /// The mark of a name that is loaded again.
    pub(super) fn take(&mut self, key: &Key) -> Option<u64> {
        if self.marks.is_empty() {
            return None;
        }
        let (mark, noted) = self.marks.remove(&self.hash.hash_one(key))?;
        self.order.remove(&noted);
        Some(mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;

    fn key(number: usize) -> Key {
        Key::name(&Name::new(&number.to_string()).unwrap())
    }

    #[test]
    fn the_names_that_were_unloaded_last_are_remembered_once() {
        let mut past = Past::default();
        (0..=MOST).for_each(|number| past.note(&key(number), 7));
        assert_eq!(past.take(&key(0)), None, "the oldest made room");
        assert_eq!((past.take(&key(1)), past.take(&key(1))), (Some(7), None));
        assert_eq!((past.marks.len(), past.order.len()), (MOST - 1, MOST - 1));
    }

    /// It has no mark that could go back.
    #[test]
    fn a_name_that_never_had_a_number_makes_no_other_forgotten() {
        let mut past = Past::default();
        past.note(&key(0), 7);
        (1..=MOST).for_each(|number| past.note(&key(number), 0));
        assert_eq!((past.take(&key(0)), past.take(&key(1))), (Some(7), None));
    }

    #[test]
    fn a_name_that_comes_and_goes_makes_no_other_forgotten_nor_itself() {
        let mut past = Past::default();
        past.note(&key(0), 7);
        for mark in 1..=(MOST as u64) + 1 {
            past.note(&key(1), mark);
            assert_eq!(past.take(&key(1)), Some(mark));
        }
        assert_eq!(past.take(&key(0)), Some(7), "one other was unloaded since");
        past.note(&key(1), 8);
        past.note(&key(1), 9);
        (2..=MOST).for_each(|number| past.note(&key(number), 7));
        assert_eq!((past.take(&key(1)), past.marks.len(), past.order.len()), (Some(9), MOST - 1, MOST - 1));
    }
}
