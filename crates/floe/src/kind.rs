//! Kinds of IDs that need no ledger: UUID v4 and v7, ULID, ObjectId, KSUID and NanoID, all with the trait [`Mint`]; and
//! UUID v8, which is a snowflake and has a ledger.
//!
//! # What they guarantee
//! | kind | bits | order | unique |
//! |---|---|---|---|
//! | [`UuidV4Generator`] | 122 random | none | to the probability of 122 random bits |
//! | [`UuidV7Generator`] | ms, 20 of order, 54 random | strictly increasing per generator | certainly per generator, else 74 bits in a ms |
//! | [`UlidGenerator`] | ms, 80 random | strictly increasing per generator | certainly per generator, else 80 bits in a ms |
//! | [`ObjectIdGenerator`] | s, 40 random, 24 counted | strictly increasing per process | certainly per process, else 40 bits per process |
//! | [`KsuidGenerator`] | s, 128 random | by second | 128 bits in a second |
//! | [`NanoIdGenerator`] | the format's, 126 by default | none | [`NanoIdFormat::collision`] |
//! | [`UuidV8Generator`] | a snowflake's, up to 122 | the snowflake's | certainly, by its ledger |
//!
//! A minter ([`UuidV7Minter`], [`UlidMinter`]) mints from a generator for one thread. It is faster, and has its own
//! order.
//!
//! "Strictly increasing" means: if one call begins after another has returned, on any threads, its ID is larger. It
//! holds whatever the clock does. The time is floe's steady clock. If the wall clock went back, the steady clock runs
//! at 95 % of the monotonic rate. It follows a jump ahead of over 10 s after 30 s.
//!
//! If the wall clock shows a time before 1970 or after 2500, kinds with a time return an error that says so. IDs that
//! are minted afterwards are larger than those minted before.
//!
//! # Where randomness comes from
//! Each thread stretches 32 bytes of the operating system's randomness with ChaCha12 to 64 KiB, and then asks for 32
//! new bytes. ChaCha12 is the standard generator of Rust's `rand`; the best published attacks reach fewer than eight of
//! its rounds. Still, an identifier is not a secret: do not use one as a password or a session key.
//!
//! # What they do not do
//! They do not notice every copy of a process. If a process is copied while it runs (a forked child, a clone of a live
//! VM), its randomness is copied too, so call [`invalidate`] in the copy. Kinds with a time in them notice by
//! themselves if the wall clock has moved over 1 s against the monotonic one, as it does when a machine sleeps.
//!
//! They are not certain to be unique over several processes, only with the probabilities above. Certain are the kinds
//! with a ledger: snowflake, segment, counter and dated.
//!
//! ```
//! use floe::kind::{Mint, UuidV7Generator};
//!
//! let ids = UuidV7Generator::new();
//! let (first, second) = (ids.mint()?, ids.mint()?);
//! assert!(first < second && first.to_string() < second.to_string());
//! # Ok::<(), floe::MintError>(())
//! ```

pub(crate) mod ksuid;
pub(crate) mod nano_id;
pub(crate) mod object_id;
mod origin;
mod process;
mod random;
mod run;
#[cfg(test)]
mod tests;
pub(crate) mod ulid;
pub(crate) mod uuid4;
pub(crate) mod uuid7;
mod uuid8;

pub use floe_id::kind::{
    Ksuid, NanoId, NanoIdFormat, NanoIdFormatError, ObjectId, ReadError, Ulid, Uuid, UuidV8Error,
};
pub use ksuid::KsuidGenerator;
pub use nano_id::NanoIdGenerator;
pub use object_id::ObjectIdGenerator;
pub(crate) use origin::Origin;
pub use ulid::{UlidGenerator, UlidMinter};
pub use uuid4::UuidV4Generator;
pub use uuid7::{UuidV7Generator, UuidV7Minter};
pub use uuid8::UuidV8Generator;

use std::fmt;
use std::sync::Arc;

use floe_id::inspect::Reading;

use crate::batch::until_error;
use crate::counter::{Counter, Dated};
use crate::definition::{DatedId, Ledgerless, ReadIdError};
use crate::error::MintError;
use crate::generator::Generator;
use crate::segment::Segment;
use crate::texts::{Each, MintTexts};
use crate::{Id, IdRepr};

/// The largest count for one [`Mint::mint_many`] of the kinds in this module, 2^20.
pub const MAX_MANY: u64 = 1 << 20;

/// Mints IDs of one kind, from any thread. Implement it for your own kind:
///
/// ```
/// use floe::kind::{Mint, Ulid, UlidGenerator};
/// use floe::MintError;
///
/// /// ULIDs that say what they are of.
/// struct Prefixed(&'static str, UlidGenerator);
///
/// impl Mint for Prefixed {
///     type Id = String;
///
///     fn mint(&self) -> Result<String, MintError> {
///         Ok(format!("{}_{}", self.0, self.1.mint()?))
///     }
/// }
///
/// let users: Box<dyn Mint<Id = String>> = Box::new(Prefixed("user", UlidGenerator::new()));
/// let ids = users.mint_many(3)?;
/// assert!(ids.is_sorted() && ids.iter().all(|id| id.starts_with("user_0")));
/// # Ok::<(), MintError>(())
/// ```
pub trait Mint: Send + Sync {
    /// The type of the IDs.
    type Id;

    // UUIDs, KSUIDs and ObjectIds inline it always. The result of a call lies in memory: its words are written one by one
    // and read as one, which makes the processor wait for longer than the ID takes.
    /// Mints one ID.
    ///
    /// # Errors
    /// [`MintError`]. None of its errors loses or repeats an ID.
    fn mint(&self) -> Result<Self::Id, MintError>;

    /// Mints `count` IDs, 1 to [`MAX_MANY`]. If there is an error, it hands out none.
    ///
    /// ```
    /// use floe::{MintError, kind::{MAX_MANY, Mint, UuidV4Generator}};
    /// assert_eq!(UuidV4Generator::new().mint_many(100)?.len(), 100);
    /// let too_many = UuidV4Generator::new().mint_many(MAX_MANY + 1);
    /// assert!(matches!(too_many, Err(MintError::Count { max: MAX_MANY, .. })));
    /// # Ok::<(), MintError>(())
    /// ```
    ///
    /// # Errors
    /// [`MintError`]; `Count` says how many IDs one call can mint.
    fn mint_many(&self, count: u64) -> Result<Vec<Self::Id>, MintError> {
        let mut ids = with_room(check_count(count)?);
        for _ in 0..count {
            ids.push(self.mint()?);
        }
        Ok(ids)
    }

    /// Returns an iterator over new IDs. It does not end by itself; the first error is its last item.
    ///
    /// ```
    /// use floe::{Floe, kind::Mint, ledger::Memory};
    /// let tickets = Floe::open(Memory::default())?.segment("tickets")?;
    /// let mut sum = 0;
    /// for id in tickets.ids().take(100_000) {
    ///     sum += id?.get();
    /// }
    /// assert_eq!(sum, 5_000_050_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn ids(&self) -> impl Iterator<Item = Result<Self::Id, MintError>>
    where
        Self: Sized,
    {
        until_error(|| self.mint())
    }
}

/// These types have a `mint_many` of their own, whose batch holds two numbers whatever the count. This trait collects
/// it.
macro_rules! with_a_ledger {
    ($([$($repr:ident)?] $kind:ty => $id:ty),+) => {$(
        impl$(<$repr: IdRepr>)? Mint for $kind {
            type Id = $id;

            fn mint(&self) -> Result<$id, MintError> {
                self.mint()
            }

            fn mint_many(&self, count: u64) -> Result<Vec<$id>, MintError> {
                Ok(self.mint_many(check_count(count)?)?.collect())
            }
        }
    )+};
}

with_a_ledger!([I] Generator<I> => I, [] Segment => Id, [] Counter => Id, [] Dated => DatedId);

/// Discards the randomness that this process has drawn ahead, before its next ID of any kind, and gives its ObjectIds
/// five new random bytes. Call it in a process that was copied while it ran, if floe cannot notice the copy by itself:
/// in a forked child, in a clone of a live VM. It also discards the cached time, since the thread that refreshes it
/// does not run in a forked child.
///
/// It does not touch windows and segments of a ledger. [`Floe::invalidate`](crate::Floe::invalidate) discards both.
///
/// Generators go on from their last ID, so later IDs are larger than earlier ones; only ObjectIds of the same second
/// may not be.
///
/// ```
/// use floe::kind::{self, Mint, UuidV7Generator};
/// let ids = UuidV7Generator::new();
/// let first = ids.mint()?;
/// kind::invalidate();
/// assert!(ids.mint()? > first);
/// # Ok::<(), floe::MintError>(())
/// ```
pub fn invalidate() {
    random::invalidate();
    origin::invalidate();
}

pub(crate) fn check_count(count: u64) -> Result<u64, MintError> {
    match (1..=MAX_MANY).contains(&count) {
        true => Ok(count),
        false => Err(MintError::Count { asked: count, max: MAX_MANY }),
    }
}

/// An empty vector with room for `count` IDs, which [`check_count`] has checked. Collecting from `Result`s would grow
/// in steps.
fn with_room<I>(count: u64) -> Vec<I> {
    Vec::with_capacity(usize::try_from(count).unwrap_or_default())
}

/// Mints a kind's IDs as texts. `number` returns an ID's number if a form can write it.
struct AsTexts<M: Mint> {
    ids: M,
    number: fn(&M::Id) -> Option<u128>,
}

pub(crate) fn as_texts<M>(ids: M, number: fn(&M::Id) -> Option<u128>) -> Arc<dyn MintTexts>
where
    M: Mint<Id: fmt::Display> + 'static,
{
    Arc::new(AsTexts { ids, number })
}

impl<M: Mint<Id: fmt::Display>> MintTexts for AsTexts<M> {
    fn mint_each(&self, count: u64, each: Each<'_>) -> Result<(), MintError> {
        self.ids.mint_many(count)?.iter().try_for_each(|id| each(id, (self.number)(id)))
    }
}

fn uuid_number(id: &Uuid) -> Option<u128> {
    Some(u128::from_be_bytes(id.to_bytes()))
}

fn write_uuid(number: u128) -> String {
    Uuid::from_bytes(number.to_be_bytes()).to_string()
}

fn read_uuid(of: &Ledgerless, text: &str, version: u8) -> Result<Reading, ReadIdError> {
    let id: Uuid = text.parse()?;
    match id.version() == Some(version) {
        true => Ok(id.into()),
        false => Err(of.foreign(text, format!("it is not a UUID of version {version}"))),
    }
}
