//! floe
#![forbid(unsafe_code)]

mod definition;
mod id;
pub mod layout;
pub mod ledger;
mod name;
mod time;

pub use definition::{DatedShape, Definition, DefinitionError, Kind, Overflow, reserved_name};

pub use id::{Id, IdError, IdRepr, WideId};
pub use layout::{Layout, LayoutError};
pub use name::{Name, NameError};
pub use time::{MonoMillis, Reading, Span, Tick, UnixMillis};
