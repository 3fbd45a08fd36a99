//! Unique IDs across machines: reserve a range durably, then mint inside it.
//!
//! # What it guarantees
//! In one realm (one [`Ledger`]) a snowflake, segment, counter or dated name never yields the same ID twice: across
//! threads, processes, hosts, crashes, restarts, pauses, clock steps of any size either way, and ledger outages. For
//! [kinds without a ledger](kind), a repeat is improbable.
//!
//! One minter's IDs are strictly increasing. On one [`Generator`], if one call begins after another has returned, its
//! ID is larger. A [`Counter`] keeps that order over the whole cluster.
//!
//! # What it needs
//! A ledger whose `reserve` is linearizable and durable; [`ledger`] has the contract. It does not need clocks that
//! agree, and does not trust leases.
//!
//! # What it does not do
//! - It cannot keep IDs unique if the ledger forgets a write: after a restore from a backup, after a failover that
//!   loses writes. A process that notices this stops and says so.
//! - If a process's memory is copied while it runs (a clone of a live VM), both copies mint the IDs that the memory
//!   held, unless the copy's clock shows the copy, or you call [`Floe::invalidate`] in it.
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
//! [`ledger::Memory`] forgets when the process ends; `floe-ledger` has ledgers that do not. The [`guide`] goes on from
//! here.
//!
//! # Features
//! All are off by default.
//!
//! | feature | what it adds |
//! |---|---|
//! | `serde` | text in formats for people, numbers and bytes in binary formats: the module `serde` |
//! | `schemars`, `utoipa` | schemas of that text: JSON Schema (schemars 1), OpenAPI (utoipa 6) |
//! | `uuid`, `chrono` | conversions to and from `uuid::Uuid` and `chrono::DateTime<Utc>` |
//! | `postgres-types`, `diesel`, `sea-orm`, `sqlx-0_8`, `sqlx-0_9` | IDs as columns of a database: the module `columns` |
//! | `sqlx-0_8-postgres`, `sqlx-0_9-postgres` | arrays of PostgreSQL as well |
//! | `sqlx` | the former name of `sqlx-0_8` |
//! | `conformance` | the test suite for your own ledger |
//! | `mutations` | breaks floe on purpose, for the simulator's own tests |
//!
//! `sea-orm` and `sqlx-0_9` need Rust 1.94, as those crates do. [`id!`] makes a type for the IDs of one table, with all
//! of these. A [`DatedId`] is written as its text, and read with its [`DatedShape`], since the text alone does not show
//! where its date ends.
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
mod pulse;
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
mod wakes;
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
