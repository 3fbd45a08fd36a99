//! floe
#![forbid(unsafe_code)]

mod definition;
pub mod layout;
pub mod ledger;
mod name;
mod time;

pub use definition::{DatedShape, Definition, DefinitionError, Kind, Overflow, reserved_name};
pub use layout::Layout;
pub use name::{Name, NameError};
pub use time::{MonoMillis, Reading, Span, Tick, UnixMillis};
