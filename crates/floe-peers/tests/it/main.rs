//! What published algorithms do in the simulator: that their histories repeat, and that each fails and holds where it is known to.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod histories;
mod predictions;
