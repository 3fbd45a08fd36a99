//! What the minting side and the node share about one cursor: the cursor, whether a caller needs more, and why there
//! is none.

use std::sync::{Arc, OnceLock};

use crate::cursor::Cursor;
use crate::error::{MintError, Stopped};
use crate::signal::Signal;
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, lock};
use crate::time::UnixMillis;
use crate::wait::Waiters;

/// Why a cursor has nothing to mint from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum BlockReason {
    Unavailable {
        since: UnixMillis,
        cause: String,
    },
    Exhausted(String),
    /// This machine's clock and the ledger's do not agree. It ends when they do.
    ClockApart(String),
    Stopped(Stopped),
}

impl From<BlockReason> for MintError {
    fn from(trouble: BlockReason) -> Self {
        match trouble {
            BlockReason::Unavailable { since, cause } => Self::Unavailable { since, cause },
            BlockReason::Exhausted(cause) => Self::Exhausted(cause),
            BlockReason::ClockApart(cause) => Self::Stopped(Stopped::clock(cause)),
            BlockReason::Stopped(stopped) => Self::Stopped(stopped),
        }
    }
}

/// See the module.
pub(crate) struct SharedCursor {
    pub(crate) cursor: Cursor,
    pub(crate) waiters: Waiters,
    wanted: AtomicBool,
    /// The largest count that one call needs and did not get.
    demand: AtomicU64,
    /// In a box: it is rare, and every name would need room for it.
    trouble: Mutex<Option<Box<BlockReason>>>,
    signal: Arc<Signal>,
    /// The list on which the node looks for cursors that need more, and this cursor's number there.
    wake_list: OnceLock<(Arc<WakeList>, usize)>,
}

/// The cursors that need more. A node with ten thousand names steps only these, not all of them. Each cursor is
/// listed at most once, because it adds itself only when it is first needed.
#[derive(Default)]
pub(crate) struct WakeList(Mutex<Vec<usize>>);

impl WakeList {
    pub(crate) fn take(&self) -> Vec<usize> {
        std::mem::take(&mut lock(&self.0))
    }
}

impl SharedCursor {
    pub(crate) fn new(floor: u64, signal: Arc<Signal>) -> Self {
        Self {
            cursor: Cursor::with_pulse(floor, Arc::clone(&signal.pulse)),
            waiters: Waiters::default(),
            wanted: AtomicBool::new(false),
            demand: AtomicU64::new(0),
            trouble: Mutex::new(None),
            signal,
            wake_list: OnceLock::new(),
        }
    }

    /// From now on, the cursor adds itself to `wake_list` as `number` when a caller needs more.
    pub(crate) fn enlist(&self, wake_list: &Arc<WakeList>, number: usize) {
        self.wake_list.get_or_init(|| (Arc::clone(wake_list), number));
    }

    /// The number under which the node knows it.
    pub(crate) fn number(&self) -> Option<usize> {
        self.wake_list.get().map(|(_, number)| *number)
    }

    /// Asks the node for a range with `count` consecutive positions.
    pub(crate) fn want(&self, count: u64) {
        self.demand.fetch_max(count, Ordering::Relaxed);
        if !self.wanted.swap(true, Ordering::AcqRel) {
            if let Some((wake_list, number)) = self.wake_list.get() {
                lock(&wake_list.0).push(*number);
            }
            self.signal.raise();
        }
    }

    /// Whether somebody has asked since the last call, and for how many.
    pub(crate) fn take_wanted(&self) -> Option<u64> {
        let wanted = self.wanted.swap(false, Ordering::AcqRel);
        wanted.then(|| self.demand.swap(0, Ordering::Relaxed))
    }

    /// Whether somebody has asked for numbers, and the node has not looked since.
    pub(crate) fn is_wanted(&self) -> bool {
        self.demand.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn trouble(&self) -> Option<BlockReason> {
        lock(&self.trouble).as_deref().cloned()
    }

    /// Sets why there is nothing to mint, or clears it, and wakes the waiters. A stopped cursor stays stopped.
    pub(crate) fn set_trouble(&self, trouble: Option<BlockReason>) {
        let mut current = lock(&self.trouble);
        let is_stopped = matches!(current.as_deref(), Some(BlockReason::Stopped(_)));
        if current.as_deref() != trouble.as_ref() && !is_stopped {
            *current = trouble.map(Box::new);
            drop(current);
            self.waiters.wake();
        }
    }

    /// Stops minting here for ever.
    pub(crate) fn stop(&self, stopped: &Stopped) {
        self.cursor.close();
        self.set_trouble(Some(BlockReason::Stopped(stopped.clone())));
    }

    /// # Errors
    /// Why waiting for a range is of no use.
    pub(crate) fn check(&self) -> Result<(), MintError> {
        self.trouble().map_or(Ok(()), |trouble| Err(trouble.into()))
    }
}

#[cfg(all(test, loom))]
mod models;

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::AtomicU32;
    use std::task::{Wake, Waker};

    use super::*;
    use crate::sync::try_lock;

    /// A waiter that looks at once why it was woken, as an executor may that polls in the wake itself.
    struct Looks {
        shared: Arc<SharedCursor>,
        looked: AtomicU32,
    }

    impl Wake for Looks {
        fn wake(self: Arc<Self>) {
            assert!(try_lock(&self.shared.trouble).is_some(), "it would wait for itself");
            self.looked.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A node whose ledger is away finds the same trouble again and again.
    #[test]
    fn who_waits_is_woken_once_for_each_trouble_and_may_look_at_it() {
        let shared = Arc::new(SharedCursor::new(0, Arc::default()));
        let looks = Arc::new(Looks { shared: Arc::clone(&shared), looked: AtomicU32::new(0) });
        let away = || Some(BlockReason::Unavailable { since: UnixMillis::new(1), cause: "away".to_owned() });
        let full = || Some(BlockReason::Exhausted("full".to_owned()));
        let apart = || Some(BlockReason::ClockApart("apart".to_owned()));
        let troubles = [away(), away(), None, None, away(), full(), full(), apart(), apart(), None];
        let told = troubles.map(|trouble| {
            shared.waiters.add(&Waker::from(Arc::clone(&looks)));
            shared.set_trouble(trouble);
            looks.looked.swap(0, Ordering::Relaxed) > 0
        });
        assert_eq!(told, [true, false, true, false, true, true, false, true, false, true]);
    }

    /// Callers who need no more than what is left, and one who needs more than that, ask before the node has looked.
    #[test]
    fn the_largest_of_what_is_wanted_is_told() {
        let shared = SharedCursor::new(0, Arc::default());
        for wanted in [7, 85, 0] {
            shared.want(wanted);
        }
        assert_eq!((shared.take_wanted(), shared.take_wanted()), (Some(85), None));
    }

    /// A process with ten thousand names has one of these for each. The first line of 128 bytes is the counter's own.
    #[test]
    fn a_name_takes_four_lines_of_memory() {
        assert_eq!(size_of::<SharedCursor>(), 4 * 128);
    }
}
