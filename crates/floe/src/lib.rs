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
//! [`ledger::Memory`] forgets when the process ends; `floe-ledger` has ledgers that do not. The [`guide`] goes on from here.
//!
//! # Features
//! All are off unless asked for.
//!
//! | feature | what it adds |
//! |---|---|
//! | `serde` | text where a format is for people, numbers and bytes where it is not: the module `serde` |
//! | `schemars`, `utoipa` | schemas of that text: JSON Schema (schemars 1), OpenAPI (utoipa 6) |
//! | `uuid`, `chrono` | to and from `uuid::Uuid` and `chrono::DateTime<Utc>` |
//! | `postgres-types`, `diesel`, `sea-orm`, `sqlx-0_8`, `sqlx-0_9` | IDs as columns of a database: the module `columns` |
//! | `sqlx-0_8-postgres`, `sqlx-0_9-postgres` | arrays of PostgreSQL as well |
//! | `sqlx` | the former name of `sqlx-0_8` |
//! | `conformance` | the suite for a ledger of one's own |
//! | `mutations` | breaks floe on purpose, for the simulator's own tests |
//!
//! `sea-orm` and `sqlx-0_9` need Rust 1.94, as those crates do. [`id!`] makes a type for the IDs of one table, with all of this. A
//! [`DatedId`] is written as its text, and read by its [`DatedShape`]: the text alone does not say where its date ends.
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
mod formed;
mod generator;
pub mod guide;
mod handle;
mod in_hand;
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
mod opening;
mod owner;
mod segment;
mod settings;
mod shared_cursor;
mod signal;
mod status;
pub mod store;
mod stream;
mod supply;
mod sync;
mod table;
mod texts;
mod ticket;
mod time;
mod wait;
mod written;

pub use batch::{Batch, DatedBatch};
pub use blocking::{Blocking, blocking};
pub use clock::{ClockPolicy, ClockState, FixedClock};
pub use counter::{Counter, Dated};
pub use definition::{
    Complain, DateFormat, DatedId, DatedShape, Definition, DefinitionError, Given, Kind, Ledgerless,
    NoPosition, Overflow, Properties, ReadIdError, Registered, Setting, Takes,
};
pub use error::{MintError, StopReason, Stopped};
pub use floe::{Builder, Floe, KindRegistry};
#[doc(hidden)]
pub use floe_id::__error;
#[cfg(any(
    feature = "diesel",
    feature = "postgres-types",
    feature = "sea-orm",
    feature = "sqlx-0_8",
    feature = "sqlx-0_9"
))]
pub use floe_id::columns;
#[cfg(feature = "serde")]
pub use floe_id::serde;
pub use floe_id::{Id, IdError, IdRepr, Layout, LayoutError, TimeError, WideId, form, id, inspect, layout};
pub use formed::Formed;
pub use generator::{Generator, Minter, Outcome};
pub use handle::{AnyId, Handle, Minted, TextMinter};
pub use ledger::{Ledger, LedgerError};
pub use name::{Name, NameError};
pub use opening::{DefineError, OpenError};
pub use owner::{Owner, OwnerError};
pub use segment::{Segment, SegmentMinter};
pub use settings::{NameOptions, WorkerChoice};
pub use status::{
    ClockStatus, LATENCY_BOUNDS_MICROS, LedgerCalls, NameState, NameStatus, SlotStatus, State, Status,
};
pub use stream::Start;
pub use table::reserved_name;
pub use texts::Texts;
pub use time::{MonoMillis, Reading, Span, Tick, UnixMillis};

/// The programs in the pages for users are run with those in the documentation.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../docs/forms.md")]
    mod forms {}
    #[doc = include_str!("../../../docs/kinds.md")]
    mod kinds {}
}
