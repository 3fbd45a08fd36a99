//! A loom model of threads that draw from one run; `cursor::models` says how to run it.

use loom::sync::Arc;
use loom::thread;

use super::*;

/// Two ObjectIds of a process differ in nothing else.
///
/// Caught: `next` that stores in place of its compare-and-swap, and `draw` that does.
#[test]
fn two_threads_never_draw_one_position() {
    loom::model(|| {
        let run = Arc::new(Run::after(0));
        let draw_two = |run: &Run| {
            [(); 2].map(|()| run.next(0, 100).map_or_else(|| run.draw(1, 100, |_| 0), Ok).unwrap())
        };
        let other = {
            let run = Arc::clone(&run);
            thread::spawn(move || draw_two(&run))
        };
        let drawn = [draw_two(&run), other.join().unwrap()];
        assert!(drawn.iter().all(|drawn| drawn[0] < drawn[1]), "each in order: {drawn:?}");
        let mut all = drawn.concat();
        all.sort_unstable();
        assert_eq!(all, [1, 2, 3, 4]);
    });
}
