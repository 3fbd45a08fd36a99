//! What a node remembers of names that it has unloaded: how far their marks were, so that a ledger that went back
//! meanwhile is found out when they come back (I1).

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use crate::ledger::Key;

/// How many names are remembered, the last that were unloaded: three megabytes.
const MOST: usize = 1 << 16;

/// See the module. A name is known by 64 bits of a keyed hash: that one stands for another happens once in 10^14 names,
/// and stops a name that could have gone on, no more.
#[derive(Default)]
pub(super) struct Past {
    hash: RandomState,
    marks: HashMap<u64, u64>,
    order: VecDeque<u64>,
}

impl Past {
    pub(super) fn note(&mut self, key: &Key, mark: u64) {
        if mark == 0 {
            return;
        }
        let name = self.hash.hash_one(key);
        self.marks.insert(name, mark);
        self.order.push_back(name);
        while self.order.len() > MOST {
            self.order.pop_front().map(|oldest| self.marks.remove(&oldest));
        }
    }

    /// The mark of a name that comes back.
    pub(super) fn take(&mut self, key: &Key) -> Option<u64> {
        if self.marks.is_empty() {
            return None;
        }
        self.marks.remove(&self.hash.hash_one(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;

    #[test]
    fn the_names_that_were_unloaded_last_are_remembered_once() {
        let mut past = Past::default();
        let key = |number: usize| Key::name(&Name::new(&number.to_string()).unwrap());
        (0..=MOST).for_each(|number| past.note(&key(number), 7));
        assert_eq!(past.take(&key(0)), None, "the oldest made room");
        assert_eq!((past.take(&key(1)), past.take(&key(1))), (Some(7), None));
        assert_eq!((past.marks.len(), past.order.len()), (MOST - 1, MOST));
    }
}
