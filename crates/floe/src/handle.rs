//! A name of any kind, for programs that learn the kind at run time, such as servers and command lines.

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

/// A served name of any kind: its definition and its minter. [`Floe::define`](crate::Floe::define) makes it.
///
/// ```
/// use floe::{Definition, Floe, Name, NameOptions, Segment, ledger::Memory};
/// let floe = Floe::open(Memory::default())?;
/// let tickets = floe.define(&Name::new("tickets")?, &Definition::SEGMENT, &NameOptions::default())?;
/// assert_eq!(tickets.mint_many(2)?.map(|id| id.to_string()).collect::<Vec<_>>(), ["1", "2"]);
/// // The same minter by its own type:
/// let tickets: &Segment = tickets.get().ok_or("it is a segment")?;
/// assert_eq!(tickets.mint()?.get(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Handle {
    definition: Definition,
    minter: Arc<dyn AnyMinter>,
}

/// A name's minter, whatever its kind.
pub(crate) trait AnyMinter: Any + Send + Sync {
    fn name(&self) -> &Name;

    /// The largest count for one call.
    fn max_batch(&self) -> u64 {
        MAX_BATCH
    }

    /// `count` IDs if that needs no wait; always `None` for kinds whose every call needs the ledger.
    fn try_mint_many(&self, _count: u64) -> Result<Option<Minted>, MintError> {
        Ok(None)
    }

    fn mint_many(&self, count: u64) -> Result<Minted, MintError>;

    fn mint_many_async(&self, count: u64) -> BoxFuture<'_, Result<Minted, MintError>>;
}

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// IDs of any kind that were minted in one step: an iterator over [`AnyId`]. It cannot be cloned, since a clone would
/// hand out the same IDs:
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

/// An ID of any kind. Its `Display` is the ID's text.
///
/// ```
/// use floe::{AnyId, Definition, Floe, Name, NameOptions, ledger::Memory};
/// let floe = Floe::open(Memory::default())?;
/// let invoices = floe.define(&Name::new("invoices")?, &Definition::Counter, &NameOptions::default())?;
/// match invoices.mint_many(1)?.next() {
///     Some(AnyId::Number(id)) => assert_eq!(id.get(), 1),
///     other => panic!("a counter has numbers: {other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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

    /// Returns the name.
    pub fn name(&self) -> &Name {
        self.minter.name()
    }

    /// Returns the definition to which the name is bound.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Returns the minter by its own type, or `None` if the name has another type. The type is
    ///
    /// - [`Generator`] of [`Id`] or of [`WideId`] for a snowflake,
    /// - [`Segment`], [`Counter`] or [`Dated`] for these kinds,
    /// - [`TextMinter`] if the IDs are texts.
    ///
    /// ```
    /// use floe::{Counter, Definition, Floe, Name, NameOptions, Segment, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// let handle = floe.define(&Name::new("invoices")?, &Definition::Counter, &NameOptions::default())?;
    /// assert!(handle.get::<Segment>().is_none());
    /// assert_eq!(handle.get::<Counter>().ok_or("it is a counter")?.mint()?.get(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get<M: 'static>(&self) -> Option<&M> {
        let minter: &dyn Any = &*self.minter;
        minter.downcast_ref()
    }

    /// Returns the handle that mints the numbers behind a form. Without a form, that is this handle itself.
    ///
    /// ```
    /// use floe::{Definition, Floe, Name, Segment, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// let short = Definition::SEGMENT.in_form("base36 width=13".parse()?)?;
    /// let tickets = floe.define(&Name::new("tickets")?, &short, &Default::default())?;
    /// assert!(tickets.get::<Segment>().is_none()); // its IDs are texts
    /// let numbers: &Segment = tickets.numbers().get().ok_or("it is a segment")?;
    /// assert_eq!(numbers.mint()?.get(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn numbers(&self) -> &Self {
        self.get().and_then(TextMinter::numbers).unwrap_or(self)
    }

    /// Returns the largest count for one call.
    pub fn max_batch(&self) -> u64 {
        self.minter.max_batch()
    }

    pub(crate) fn stream(&self) -> Option<&Arc<Stream>> {
        let numbers = self.numbers();
        let narrow = || numbers.get().map(Generator::<Id>::stream);
        narrow().or_else(|| numbers.get().map(Generator::<WideId>::stream))
    }

    /// Mints `count` IDs if that needs no wait. `None` means that the call would wait. A counter, a dated name and a
    /// registered kind always return `None`, since each of their calls may wait.
    ///
    /// ```
    /// use floe::{Definition, Floe, Name, NameOptions, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// let counter = floe.define(&Name::new("invoices")?, &Definition::Counter, &NameOptions::default())?;
    /// assert!(counter.try_mint_many(1)?.is_none());
    /// let users = floe.define(&Name::new("users")?, &"uuid7".parse()?, &NameOptions::default())?;
    /// assert_eq!(users.try_mint_many(5)?.map(|ids| ids.len()), Some(5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MintError`].
    pub fn try_mint_many(&self, count: u64) -> Result<Option<Minted>, MintError> {
        self.minter.try_mint_many(count)
    }

    /// Mints `count` IDs, 1 to [`max_batch`](Self::max_batch). It waits at most
    /// [`Builder::max_wait`](crate::Builder::max_wait).
    ///
    /// ```
    /// use floe::{Definition, Floe, Name, NameOptions, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// let tickets = floe.define(&Name::new("tickets")?, &Definition::SEGMENT, &NameOptions::default())?;
    /// assert_eq!(tickets.mint_many(2)?.map(|id| id.to_string()).collect::<Vec<_>>(), ["1", "2"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MintError`]; `Count` says how many IDs one call can mint.
    pub fn mint_many(&self, count: u64) -> Result<Minted, MintError> {
        self.minter.mint_many(count)
    }

    /// [`mint_many`](Self::mint_many) as a future, on any runtime. A registered kind that waits inside its call blocks
    /// the runtime's thread: see [`TextMinter::may_block`].
    /// [`Generator::mint_many_async`](crate::Generator::mint_many_async) has an example.
    ///
    /// # Errors
    /// [`MintError`], as for [`mint_many`](Self::mint_many).
    pub async fn mint_many_async(&self, count: u64) -> Result<Minted, MintError> {
        self.minter.mint_many_async(count).await
    }
}

/// Implements the calls for a type that has methods of the same names. `$minted` is the variant of [`Minted`] for its
/// IDs.
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
