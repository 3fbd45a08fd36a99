//! What published algorithms do in the simulator: that their histories repeat, that each fails and holds where it is known to, and that the pages
//! about them say what comes of it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod histories;
mod page;
mod predictions;
