//! Unique IDs across machines: reserve a range durably, then mint inside it.
//!
//! # What it guarantees
//! In one realm (one [`Ledger`]) a name never yields the same ID twice: across threads, processes, hosts, crashes,
//! restarts, pauses, clock steps of any size either way, and ledger outages. One minter's IDs are strictly increasing,
//! and so are those of calls on one [`Generator`] of which one begins after the other has returned. A [`Counter`] is
//! strictly increasing over the whole cluster.
//!
//! # What it needs
//! A ledger whose `reserve` is linearizable and durable; [`ledger`] has the contract. It needs no agreement of clocks and
//! no trust in a lease.
//!
//! # What it does not do
//! It does not outlive a ledger that forgets (a backup that is restored, a failover that loses writes), although a
//! process that notices stops and says so; and a process whose memory is copied while it runs (a clone of a live VM)
//! repeats what that memory held unless it notices by its clock or is told by [`Floe::invalidate`].
//!
//! # The bits of a snowflake ID
//! ```text
//!  63   62 ........................... 22 21 ..... 17 16 ..... 12 11 .......... 0
//!   0 |          time, 41 bits           | datacenter |   worker  |   sequence   |   Layout::TWITTER
//! ```
//!
//! # A program
//! ```
//! use floe::{Floe, Layout, ledger::Memory};
//!
//! let ids = Floe::open(Memory::default())?;
//! let orders = ids.snowflake("orders", Layout::TWITTER)?;
//! let id = orders.mint()?;
//! println!("{id} was minted at {}", orders.inspect(id)?.time);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//! [`ledger::Memory`] forgets when the process ends; `floe-ledger` has ledgers that do not.
//!
//! # Features
//! All are off unless asked for. `serde`: kinds as text where a format is for people, and as bytes where it is not. `uuid`: to and
//! from the crate uuid's type. `postgres-types` and `sqlx` (0.8): IDs and kinds as columns of a database, in the module
//! `columns`. `conformance`: the suite for a ledger of one's own. `mutations` breaks floe on purpose, for the simulator's own tests.
#![forbid(unsafe_code)]

mod batch;
mod blocking;
mod clock;
mod counter;
mod cursor;
mod definition;
mod driver;
mod error;
mod floe;
mod generator;
mod handle;
mod keys;
pub mod kind;
pub mod ledger;
pub mod manual;
#[cfg(not(feature = "mutations"))]
mod mutation;
#[cfg(feature = "mutations")]
pub mod mutation;
mod name;
mod node;
mod owner;
mod segment;
mod settings;
mod shared_cursor;
mod signal;
mod status;
mod stream;
mod supply;
mod sync;
mod ticket;
mod time;
mod wait;

pub use batch::{Batch, DatedBatch};
pub use blocking::{Blocking, blocking};
pub use clock::{ClockPolicy, ClockState};
pub use counter::{Counter, Dated};
pub use definition::{
    DateFormat, DatedId, DatedShape, Definition, DefinitionError, Kind, NoPosition, Overflow, Properties,
    ReadIdError, Registered, reserved_name,
};
pub use error::{DefineError, MintError, OpenError};
pub use floe::{Builder, Floe, KindRegistry};
#[cfg(any(feature = "postgres-types", feature = "sqlx"))]
pub use floe_id::columns;
pub use floe_id::{Id, IdError, IdRepr, Layout, LayoutError, WideId, form, inspect, layout};
pub use generator::{Generator, Minter, Outcome};
pub use handle::{AnyId, Handle, Minted, TextMinter, Texts};
pub use ledger::{Ledger, LedgerError};
pub use name::{Name, NameError};
pub use owner::{Owner, OwnerError};
pub use segment::Segment;
pub use settings::{NameOptions, WorkerChoice};
pub use status::{
    ClockStatus, LATENCY_BOUNDS_MICROS, LedgerCalls, NameState, NameStatus, SlotStatus, State, Status,
};
pub use stream::Start;
pub use time::{MonoMillis, Reading, Span, Tick, UnixMillis};

/// The programs in the pages for users are run with those in the documentation.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../docs/forms.md")]
    mod forms {}
    #[doc = include_str!("../../../docs/kinds.md")]
    mod kinds {}
}
