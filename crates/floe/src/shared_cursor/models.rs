//! A loom model of callers who ask for more; `cursor::models` says how to run it.

use loom::thread;

use super::*;

/// Who asks while the node looks is heard at that look or at the next one.
///
/// Caught: the count taken before the flag.
#[test]
fn what_is_wanted_while_the_node_looks_is_told_now_or_next() {
    loom::model(|| {
        let shared = Arc::new(SharedCursor::new(0, Arc::default()));
        shared.want(7);
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.want(85))
        };
        let now = shared.take_wanted();
        other.join().unwrap();
        assert_eq!(now.max(shared.take_wanted()), Some(85));
    });
}
