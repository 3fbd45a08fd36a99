//! Unique IDs across machines: reserve a range durably, then mint inside it.
#![forbid(unsafe_code)]

mod batch;
mod clock;
mod counter;
mod cursor;
mod definition;
mod driver;
mod error;
mod floe;
mod generator;
mod handle;
mod id;
pub mod layout;
pub mod ledger;
mod line;
mod name;
mod node;
mod owner;
mod segment;
mod signal;
mod status;
mod stream;
mod sync;
mod time;
mod wait;

pub use batch::Batch;
pub use clock::{ClockPolicy, ClockState};
pub use counter::{Counter, Dated, DatedBatch, DatedId};
pub use definition::{DatedShape, Definition, DefinitionError, Kind, Overflow, reserved_name};
pub use error::{DefineError, MintError, OpenError};
pub use floe::{Builder, Floe, Taste, WorkerChoice};
pub use generator::{Generator, Minter, Outcome};
pub use handle::{AnyId, Handle, Minted};
pub use id::{Id, IdError, IdRepr, WideId};
pub use layout::{Layout, LayoutError};
pub use ledger::{Ledger, LedgerError};
pub use name::{Name, NameError};
pub use owner::{Owner, OwnerError};
pub use segment::Segment;
pub use status::{
    ClockStatus, LATENCY_BOUNDS_MICROS, LedgerCalls, NameState, NameStatus, SlotStatus, State, Status,
};
pub use stream::Start;
pub use time::{MonoMillis, Reading, Span, Tick, UnixMillis};
