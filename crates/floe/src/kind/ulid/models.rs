//! A loom model of threads that share a generator of ULIDs; `cursor::models` says how to run it.

use std::sync::Arc;

use loom::thread;

use super::*;
use crate::time::UnixMillis;

/// A new base begins while another thread mints by the lease of the one before: both halves of each ID are of one base,
/// and no ID comes twice.
///
/// Caught: a lease that is revoked after the position is drawn, or not at all, or only where an era has ended; a high half that is
/// written after the lease is granted, or read before the cursor.
#[test]
fn the_halves_of_an_id_are_of_one_base() {
    // The second base begins since an era has ended, or a millisecond.
    let (eras, millis) = ([(1, 5), (2, 5)], [(1, 5), (1, 6)]);
    for begun in [eras, millis] {
        by_the_lease(begun, 1);
        by_the_lease(begun, 2);
    }
}

/// Two bases begin in these eras and milliseconds; the other thread draws by the lease of this one.
fn by_the_lease(begun: [(u64, i64); 2], number: u64) {
    loom::model(move || {
        let shared = Arc::new(Shared::new(0));
        let at = move |number: u64| {
            let (era, millis) = begun[usize::from(number == 2)];
            Stamp::new(era, UnixMillis::new(millis))
        };
        let begin = |number: u64| {
            let mut base = lock(&shared.base);
            // Both halves have the base's number in their upper bits.
            let first = of_words(number << 16, number << 32);
            let start = shared.begin(&mut base, first, number, at(number).era(), 1).unwrap();
            shared.lease(&base, at(number));
            base.at(start)
        };
        let mut all = vec![begin(1)];
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.draw_leased(at(number)))
        };
        all.push(begin(2));
        all.extend(shared.draw_leased(at(2)));
        all.extend(other.join().unwrap());
        for id in &all {
            let [high, low] = words(*id);
            assert_eq!(high >> 16, low >> 32, "{id}");
        }
        all.sort_unstable();
        assert!(all.is_sorted_by(|one, next| one < next), "{all:?}");
    });
}
