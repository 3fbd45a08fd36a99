//! A name of any kind, for those who learn the kind at run time: servers, command lines.

use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use crate::batch::{Batch, DatedBatch};
use crate::counter::{Counter, Dated};
use crate::definition::{DatedId, Definition};
use crate::error::MintError;
use crate::generator::Generator;
use crate::name::Name;
use crate::segment::{MAX_BATCH, Segment};
use crate::stream::Stream;
use crate::texts::Texts;
use crate::{Id, WideId};

mod text;

pub use text::TextMinter;

/// A served name: its definition, and what mints its IDs.
///
/// ```
/// use floe::{Definition, Floe, Name, NameOptions, Segment, ledger::Memory};
/// let floe = Floe::open(Memory::default())?;
/// let tickets = floe.define(&Name::new("tickets")?, &Definition::SEGMENT, &NameOptions::default())?;
/// assert_eq!(tickets.mint_many(2)?.map(|id| id.to_string()).collect::<Vec<_>>(), ["1", "2"]);
/// // As what it is:
/// let tickets: &Segment = tickets.get().ok_or("it is a segment")?;
/// assert_eq!(tickets.mint()?.get(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Handle {
    definition: Definition,
    minter: Arc<dyn AnyMinter>,
}

/// What mints the IDs of a name.
pub(crate) trait AnyMinter: Any + Send + Sync {
    fn name(&self) -> &Name;

    /// The most IDs of one call.
    fn max_batch(&self) -> u64 {
        MAX_BATCH
    }

    /// `count` IDs if that needs no wait; never where every call is one with the ledger.
    fn try_mint_many(&self, _count: u64) -> Result<Option<Minted>, MintError> {
        Ok(None)
    }

    fn mint_many(&self, count: u64) -> Result<Minted, MintError>;

    fn mint_many_async(&self, count: u64) -> BoxFuture<'_, Result<Minted, MintError>>;
}

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// IDs of any kind, minted in one step. They cannot be cloned, since a clone would hand out the same IDs:
///
/// ```compile_fail,E0599
/// fn again(minted: floe::Minted) -> floe::Minted {
///     minted.clone()
/// }
/// ```
#[derive(Debug)]
pub enum Minted {
    /// Numbers of at most 63 bits.
    Numbers(Batch<Id>),
    /// Numbers of up to 128 bits.
    Wide(Batch<WideId>),
    /// Dates with a counter.
    Dated(DatedBatch),
    /// Texts.
    Texts(Texts),
}

/// An ID of any kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AnyId {
    /// A number of at most 63 bits.
    Number(Id),
    /// A number of up to 128 bits.
    Wide(WideId),
    /// A date with a counter.
    Dated(DatedId),
    /// A text.
    Text(Box<str>),
}

impl Handle {
    pub(crate) fn new(minter: impl AnyMinter, definition: Definition) -> Self {
        Self { definition, minter: Arc::new(minter) }
    }

    /// The name.
    pub fn name(&self) -> &Name {
        self.minter.name()
    }

    /// What the name is bound to.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// What mints its IDs, as the type that a name of its kind has: a [`Generator`] of [`Id`] or of [`WideId`], a [`Segment`], a
    /// [`Counter`], a [`Dated`], and a [`TextMinter`] where IDs are texts. `None` where it is another.
    pub fn get<M: 'static>(&self) -> Option<&M> {
        let minter: &dyn Any = &*self.minter;
        minter.downcast_ref()
    }

    /// What mints its numbers: itself, where no form writes them.
    pub fn numbers(&self) -> &Self {
        self.get().and_then(TextMinter::numbers).unwrap_or(self)
    }

    /// The most IDs of one call.
    pub fn max_batch(&self) -> u64 {
        self.minter.max_batch()
    }

    pub(crate) fn stream(&self) -> Option<&Arc<Stream>> {
        let numbers = self.numbers();
        let narrow = || numbers.get().map(Generator::<Id>::stream);
        narrow().or_else(|| numbers.get().map(Generator::<WideId>::stream))
    }

    /// `count` IDs if that needs no wait; never for a counter or a dated name, whose every call is one with the ledger, nor
    /// for a registered kind.
    ///
    /// # Errors
    /// [`MintError`].
    pub fn try_mint_many(&self, count: u64) -> Result<Option<Minted>, MintError> {
        self.minter.try_mint_many(count)
    }

    /// `count` IDs, waiting at most `max_wait`.
    ///
    /// # Errors
    /// [`MintError`].
    pub fn mint_many(&self, count: u64) -> Result<Minted, MintError> {
        self.minter.mint_many(count)
    }

    /// [`Handle::mint_many`] in a future, on any runtime. A registered kind that waits inside its call holds up the runtime's
    /// thread: see [`TextMinter::may_block`].
    ///
    /// # Errors
    /// [`MintError`].
    pub async fn mint_many_async(&self, count: u64) -> Result<Minted, MintError> {
        self.minter.mint_many_async(count).await
    }
}

/// The calls of a type that has them by the same names, with what its IDs are among [`Minted`].
macro_rules! any_minter {
    ($minter:ty => $minted:ident, bounded) => {
        any_minter!(
            $minter => $minted,
            fn max_batch(&self) -> u64 {
                self.max_batch()
            },
            fn try_mint_many(&self, count: u64) -> Result<Option<Minted>, MintError> {
                Ok(self.try_mint_many(count)?.map(Minted::$minted))
            }
        );
    };
    ($minter:ty => $minted:ident $(, $more:item)*) => {
        impl AnyMinter for $minter {
            fn name(&self) -> &Name {
                self.name()
            }

            fn mint_many(&self, count: u64) -> Result<Minted, MintError> {
                self.mint_many(count).map(Minted::$minted)
            }

            fn mint_many_async(&self, count: u64) -> BoxFuture<'_, Result<Minted, MintError>> {
                Box::pin(async move { self.mint_many_async(count).await.map(Minted::$minted) })
            }

            $($more)*
        }
    };
}

any_minter!(Generator<Id> => Numbers, bounded);
any_minter!(Generator<WideId> => Wide, bounded);
any_minter!(Segment => Numbers, bounded);
any_minter!(TextMinter => Texts, bounded);
any_minter!(Counter => Numbers);
any_minter!(Dated => Dated);

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handle({}: {})", self.name(), self.definition)
    }
}

impl Iterator for Minted {
    type Item = AnyId;

    fn next(&mut self) -> Option<AnyId> {
        match self {
            Self::Numbers(batch) => batch.next().map(AnyId::Number),
            Self::Wide(batch) => batch.next().map(AnyId::Wide),
            Self::Dated(batch) => batch.next().map(AnyId::Dated),
            Self::Texts(texts) => texts.next().map(AnyId::Text),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Numbers(batch) => batch.size_hint(),
            Self::Wide(batch) => batch.size_hint(),
            Self::Dated(batch) => batch.size_hint(),
            Self::Texts(texts) => texts.size_hint(),
        }
    }
}

impl ExactSizeIterator for Minted {}

impl fmt::Display for AnyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(id) => id.fmt(f),
            Self::Wide(id) => id.fmt(f),
            Self::Dated(id) => id.fmt(f),
            Self::Text(id) => f.write_str(id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Floe, Layout, ledger::Memory};

    /// Runtimes move futures between threads.
    #[test]
    fn futures_are_send() {
        fn send<T: Send>(_: T) {}
        let floe = Floe::open(Memory::default()).unwrap();
        send(floe.snowflake("orders", Layout::TWITTER).unwrap().mint_async());
        let name = Name::new("tickets").unwrap();
        send(
            floe.define(&name, &Definition::SEGMENT, &crate::NameOptions::default())
                .unwrap()
                .mint_many_async(1),
        );
    }
}
