//! floe
#![forbid(unsafe_code)]

pub mod layout;
pub mod ledger;
mod name;
mod time;

pub use layout::Layout;
pub use name::{Name, NameError};
pub use time::{MonoMillis, Reading, Span, Tick, UnixMillis};
