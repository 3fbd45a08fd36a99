//! A guide, from the idea to the tests of your own program. The book in `docs/` has the server, its ledgers and the
//! full argument.
//!
//! [The idea](#the-idea) · [The clock](#the-clock) · [The guarantees](#the-guarantees) · [Choosing a
//! kind](#choosing-a-kind) · [Async and blocking](#async-and-blocking) · [Testing](#testing)
//!
//! # The idea
//! A ledger has one number for each name and each worker id, the *mark*. A node moves the mark ahead, and waits until
//! the ledger has stored it. Then it mints IDs between the old mark and the new one, in memory. Every node begins at
//! the mark, also after a crash. So no two ranges overlap, and a crash can only skip IDs.
//!
//! For numbers the range is a *segment*. For a [snowflake](Generator) it is a *window* of time in one *slot*, the record
//! of a worker id.
//!
//! ```
//! use floe::{Floe, ledger::Memory};
//!
//! let ledger = Memory::default();
//! let (one, other) = (Floe::open(ledger.clone())?, Floe::open(ledger)?); // two nodes on one ledger
//! let (ours, theirs) = (one.segment("tickets")?, other.segment("tickets")?);
//! assert_eq!(ours.mint()?.get(), 1);
//! assert!(theirs.mint()?.get() > 1); // the other node's range begins after ours
//! assert_eq!(ours.mint()?.get(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The clock
//! A snowflake's time comes from the *steady clock*, which does not go back with the wall clock. If the wall clock
//! goes back a little, the steady clock waits. If it goes back by up to [`Builder::max_hold`] (an hour), the steady
//! clock goes on, a little slower, until the two meet. Beyond that, snowflakes and dated names stop until the clock
//! is set right; all other kinds go on.
//!
//! ```
//! use floe::{Floe, Layout};
//!
//! let (floe, clock) = Floe::fixed(7, "2026-11-23T10:00:00Z".parse()?)?;
//! let (orders, tickets) = (floe.snowflake("orders", Layout::TWITTER)?, floe.segment("tickets")?);
//! let first = orders.mint()?;
//! clock.step_to("2026-11-23T09:59:00Z".parse()?);
//! assert!(orders.mint()? > first); // a minute back is held
//! clock.step_to("2026-11-23T07:59:00Z".parse()?);
//! assert!(orders.try_mint().is_err()); // two hours back are refused
//! assert_eq!(tickets.mint()?.get(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Floe::status`] shows the state of the clock ([`ClockStatus`]).
//!
//! # The guarantees
//! - **Unique.** In one realm of one ledger a name yields no ID twice, whatever crashes, clocks and networks do. The
//!   ledger must not lose a write that it has confirmed: [`ledger`] has the contract.
//! - **In order.** A minter's IDs increase. On one generator, if one call begins after another has returned, its ID is
//!   larger. A [`Counter`] and a [`Dated`] name keep that order over all nodes. With [`Overflow::Widen`], a [`Dated`]
//!   name keeps it only within a day, month or year.
//! - **Not without gaps.** After a crash, the rest of a range is skipped.
//! - **For ever.** The ledger stores a name's definition, and refuses a node that asks for another one:
//!
//! ```
//! use floe::{Floe, Layout, ledger::Memory};
//!
//! let ledger = Memory::default();
//! Floe::open(ledger.clone())?.snowflake("orders", Layout::TWITTER)?.mint()?;
//! assert!(Floe::open(ledger)?.counter("orders").is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In a clone of a live VM, call [`Floe::invalidate`], or both may mint the same IDs. In a forked child, open a new
//! floe, and call [`kind::invalidate`].
//!
//! # Choosing a kind
//! | you need | take | a call waits for |
//! |---|---|---|
//! | 63 bits in order of time | [`Floe::snowflake`] | nothing; one ledger write a window |
//! | numbers, fast, in order on one node | [`Floe::segment`] | nothing; one ledger write a step |
//! | numbers in the order of the calls, on all nodes | [`Floe::counter`] | a share of one ledger write |
//! | such numbers with the date in front | [`Floe::dated`] | a share of one ledger write |
//! | UUID, ULID, ObjectId, KSUID, NanoID without a ledger | [`kind`] | nothing |
//! | more than 63 bits | [`Floe::wide_snowflake`] | nothing; one ledger write a window |
//!
//! [`Floe::formed`] adds a text to each number, such as base62 or a sealed one ([`form`]). Use [`Floe::define`] if the
//! kind is known only when the program runs. [`id!`] makes a type for the IDs of one table.
//!
//! # Async and blocking
//! | call | waits |
//! |---|---|
//! | [`mint`](Generator::mint) | usually not; it blocks its thread for at most [`Builder::max_wait`] (1 s) |
//! | [`mint_async`](Generator::mint_async) | as long as `mint`, as a future on any runtime |
//! | [`try_mint`](Generator::try_mint) | never: an [`Outcome`] says what to wait for |
//! | [`minter`](Generator::minter) | as its generator's calls do; it belongs to one thread, and is the fastest |
//!
//! A floe has its own driver thread, so it needs no runtime. [`blocking`] makes a future of any other call.
//!
//! ```
//! use floe::{Floe, Generator, Id, Layout, MintError, Outcome, ledger::Memory};
//!
//! async fn in_a_handler(orders: &Generator) -> Result<Id, MintError> {
//!     orders.mint_async().await
//! }
//!
//! let orders = Floe::open(Memory::default())?.snowflake("orders", Layout::TWITTER)?;
//! let id = orders.mint()?;
//! match orders.try_mint()? {
//!     Outcome::Ready(next) => assert!(next > id),
//!     Outcome::WaitUntil(_) | Outcome::NeedWindow => {} // ask again later
//! }
//! # let _ = in_a_handler;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`MintError::retry_after`] says whether a retry helps, and after how long.
//!
//! # Testing
//! [`Floe::fixed`] keeps its marks in memory and takes its time from a [`FixedClock`], which stands until the test
//! moves it. So a test gets the same IDs in each run, and can set the clock back, as [above](#the-clock).
//!
//! ```
//! use floe::{Floe, Layout};
//!
//! let mint = || {
//!     let (floe, _clock) = Floe::fixed(7, "2026-11-23T10:00:00Z".parse()?)?;
//!     Ok::<_, Box<dyn std::error::Error>>(floe.snowflake("orders", Layout::TWITTER)?.mint()?)
//! };
//! assert_eq!(mint()?, mint()?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! If you write a ledger, run its conformance suite (`floe::ledger::conformance`, behind the feature `conformance`).

#[cfg(doc)]
use crate::{
    Builder, ClockStatus, Counter, Dated, FixedClock, Floe, Generator, MintError, Outcome, Overflow,
    blocking, form, id, kind, ledger,
};
