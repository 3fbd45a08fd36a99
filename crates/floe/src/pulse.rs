//! One word for all that can make stale what minters hold.

use crate::sync::{AtomicU64, Ordering};

/// Counts the changes of one floe that its minters have to look at: of the clock's word, and of any cursor's ranges.
///
/// Who changes one of these beats after it has stored the change. A minter reads the pulse before it looks at them,
/// and need not look again while the pulse is the same:
/// 1. What it sees after it has read a pulse is at least as new as the last beat that the pulse counts, since the beat
///    releases and the reading acquires. Beats only add, so that later beats release the earlier ones too.
/// 2. A change that it did not see has its beat still to come, or one that the pulse that it read does not count. Then
///    the pulse has another value as soon as whoever made the change has beaten.
///
/// So a call that begins after a change was made, beat included, finds another pulse: it reads one word that only
/// grows, and its beginning is ordered after the beat. That reading needs no ordering of its own. A call that began
/// before may go on as if it had ended before.
///
/// It has a cache line of its own (two on machines that fetch lines in pairs), for minters read it for each ID.
#[repr(align(128))]
#[derive(Debug)]
pub(crate) struct Pulse(AtomicU64);

/// The value of a pulse at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Beat(u64);

impl Beat {
    /// A value that no pulse has.
    pub(crate) const NEVER: Self = Self(0);
}

impl Default for Pulse {
    fn default() -> Self {
        Self(AtomicU64::new(1))
    }
}

impl Pulse {
    /// Something has changed, and is stored.
    pub(crate) fn beat(&self) {
        self.0.fetch_add(1, Ordering::Release);
    }

    /// To be read before what it stands for.
    pub(crate) fn read(&self) -> Beat {
        Beat(self.0.load(Ordering::Acquire))
    }

    /// Whether nothing has changed since `seen` was read.
    #[inline(always)]
    pub(crate) fn is_still(&self, seen: Beat) -> bool {
        Beat(self.0.load(Ordering::Relaxed)) == seen
    }
}
