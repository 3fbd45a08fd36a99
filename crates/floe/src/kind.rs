//! Kinds of IDs that need no ledger: UUID v4 and v7, ULID, ObjectId, KSUID and NanoID, behind one face, [`Mint`]; and UUID
//! v8, which is a snowflake.
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
//! A minter ([`UuidV7Minter`], [`UlidMinter`]) is one thread's own view of a generator: faster, and in an order of its own.
//!
//! "Strictly increasing" holds between calls of which one begins after the other has returned, on any threads, and
//! whatever the clock does: time is floe's steady clock, which goes on at nineteen twentieths of the monotonic rate
//! where the wall clock went back, and believes a jump ahead of over 10 s after 30 s. Where the wall clock says a time
//! before 1970 or after 2500, nothing that contains a time is minted, and the error says so; what is minted afterwards is
//! larger than what was minted before.
//!
//! # Where randomness comes from
//! Each thread stretches 32 bytes of the operating system's randomness by ChaCha12 to 64 KiB, and then asks for 32 new
//! ones. ChaCha12 is what Rust's `rand` uses as its standard generator; the best published attacks reach fewer than eight of its
//! rounds. An identifier is not a secret all the same: use none of them as a password or a session's key.
//!
//! # What they do not do
//! A process that is copied while it runs (a forked child, a clone of a live VM) has its randomness copied with it. It
//! is to call [`invalidate`]; where the wall clock has moved over 1 s against the monotonic one, as it does for a machine
//! that sleeps, kinds with a time in them notice by themselves. No kind but the snowflake, the segment, the counter and
//! the dated number, which have a ledger, is unique without a probability over several processes.
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

/// The most IDs that one [`Mint::mint_many`] of the kinds in this module makes: 2^20.
pub const MAX_MANY: u64 = 1 << 20;

/// Makes IDs of one kind, from any thread. A kind of one's own implements it:
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
    /// What is minted.
    type Id;

    /// Mints one ID.
    ///
    /// # Errors
    /// [`MintError`]; no ID is lost or repeated by any.
    fn mint(&self) -> Result<Self::Id, MintError>;

    /// Mints `count` IDs, 1 to [`MAX_MANY`], all or none of which are handed out.
    ///
    /// # Errors
    /// [`MintError`]; `Count` names the most.
    fn mint_many(&self, count: u64) -> Result<Vec<Self::Id>, MintError> {
        let mut ids = with_room(check_count(count)?);
        for _ in 0..count {
            ids.push(self.mint()?);
        }
        Ok(ids)
    }

    /// IDs one after the other, to no end but the first error, which is the last thing that comes.
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

/// A batch of these holds two numbers, however long it is: who wants many IDs asks the type itself.
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

/// Drops the randomness that this process has drawn ahead, before its next ID of any kind, and gives its ObjectIds five
/// new random bytes. To be called where a process was copied and only the caller can know: in a forked child, in a clone
/// of a live VM. It also reaches the time that a thread keeps at hand, and that thread is not in a forked child.
///
/// Windows and segments of a ledger are another thing: [`Floe::invalidate`](crate::Floe::invalidate) drops those, and does this too.
///
/// Generators go on from where they are, so what they mint is larger than what was minted before, save ObjectIds within
/// the second.
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

/// Room for `count` IDs, which [`check_count`] has seen: what is collected from a `Result` for each grows step by step.
fn with_room<I>(count: u64) -> Vec<I> {
    Vec::with_capacity(usize::try_from(count).unwrap_or_default())
}

/// What mints the texts of a kind's IDs. `number` is that of an ID, where a form can write one.
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
        false => Err(of.foreign(text, format!("it is no UUID of version {version}"))),
    }
}
