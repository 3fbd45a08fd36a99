//! Published algorithms in the simulator: their histories repeat, each fails and holds where it is known to, and the
//! pages about them state these results.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod histories;
mod page;
mod predictions;
