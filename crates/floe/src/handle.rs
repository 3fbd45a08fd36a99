//! A name of any kind, for those who learn the kind at run time: servers, command lines.

use std::fmt;
use std::sync::Arc;

use crate::batch::{Batch, DatedBatch};
use crate::counter::{Counter, Dated};
use crate::definition::{DatedId, Definition};
use crate::error::MintError;
use crate::generator::Generator;
use crate::name::Name;
use crate::segment::{MAX_BATCH, Segment};
use crate::stream::Stream;
use crate::{Id, WideId};

mod text;

pub(crate) use text::MintTexts;
pub use text::{TextMinter, Texts};

/// A served name with its definition.
#[derive(Clone, Debug)]
pub enum Handle {
    /// Snowflake IDs of at most 63 bits.
    Snowflake(Generator<Id>, Definition),
    /// Snowflake IDs of up to 128 bits.
    Wide(Generator<WideId>, Definition),
    /// Numbers of a segment.
    Segment(Segment, Definition),
    /// Numbers of a counter.
    Counter(Counter, Definition),
    /// Dates with a counter.
    Dated(Dated, Definition),
    /// Texts: a form of numbers, or a kind for which nothing is reserved.
    Texts(TextMinter, Definition),
}

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
    /// The name.
    pub fn name(&self) -> &Name {
        match self {
            Self::Snowflake(generator, _) => generator.name(),
            Self::Wide(generator, _) => generator.name(),
            Self::Segment(segment, _) => segment.name(),
            Self::Counter(counter, _) => counter.name(),
            Self::Dated(dated, _) => dated.name(),
            Self::Texts(minter, _) => minter.name(),
        }
    }

    /// What the name is bound to.
    pub fn definition(&self) -> &Definition {
        match self {
            Self::Snowflake(_, definition)
            | Self::Wide(_, definition)
            | Self::Segment(_, definition)
            | Self::Counter(_, definition)
            | Self::Dated(_, definition)
            | Self::Texts(_, definition) => definition,
        }
    }

    /// What mints its numbers: itself, where no form writes them.
    pub fn numbers(&self) -> &Self {
        match self {
            Self::Texts(minter, _) => minter.numbers().unwrap_or(self),
            _ => self,
        }
    }

    /// The most IDs of one call.
    pub fn max_batch(&self) -> u64 {
        match self {
            Self::Snowflake(generator, _) => generator.max_batch(),
            Self::Wide(generator, _) => generator.max_batch(),
            Self::Segment(..) | Self::Counter(..) | Self::Dated(..) => MAX_BATCH,
            Self::Texts(minter, _) => minter.max_batch(),
        }
    }

    pub(crate) fn stream(&self) -> Option<&Arc<Stream>> {
        match self.numbers() {
            Self::Snowflake(generator, _) => Some(generator.stream()),
            Self::Wide(generator, _) => Some(generator.stream()),
            _ => None,
        }
    }

    /// `count` IDs if that needs no wait; never for a counter or a dated name, whose every call is one with the ledger, nor
    /// for a registered kind.
    ///
    /// # Errors
    /// [`MintError`].
    pub fn try_mint_many(&self, count: u64) -> Result<Option<Minted>, MintError> {
        Ok(match self {
            Self::Snowflake(generator, _) => generator.try_mint_many(count)?.map(Minted::Numbers),
            Self::Wide(generator, _) => generator.try_mint_many(count)?.map(Minted::Wide),
            Self::Segment(segment, _) => segment.try_mint_many(count)?.map(Minted::Numbers),
            Self::Texts(minter, _) => minter.try_mint_many(count)?.map(Minted::Texts),
            Self::Counter(..) | Self::Dated(..) => None,
        })
    }

    /// `count` IDs, waiting at most `max_wait`.
    ///
    /// # Errors
    /// [`MintError`].
    pub fn mint_many(&self, count: u64) -> Result<Minted, MintError> {
        Ok(match self {
            Self::Snowflake(generator, _) => Minted::Numbers(generator.mint_many(count)?),
            Self::Wide(generator, _) => Minted::Wide(generator.mint_many(count)?),
            Self::Segment(segment, _) => Minted::Numbers(segment.mint_many(count)?),
            Self::Counter(counter, _) => Minted::Numbers(counter.mint_many(count)?),
            Self::Dated(dated, _) => Minted::Dated(dated.mint_many(count)?),
            Self::Texts(minter, _) => Minted::Texts(minter.mint_many(count)?),
        })
    }

    /// [`Handle::mint_many`] in a future, on any runtime. A registered kind that waits inside its call holds up the runtime's
    /// thread: see [`TextMinter::may_block`].
    ///
    /// # Errors
    /// [`MintError`].
    pub async fn mint_many_async(&self, count: u64) -> Result<Minted, MintError> {
        Ok(match self {
            Self::Snowflake(generator, _) => Minted::Numbers(generator.mint_many_async(count).await?),
            Self::Wide(generator, _) => Minted::Wide(generator.mint_many_async(count).await?),
            Self::Segment(segment, _) => Minted::Numbers(segment.mint_many_async(count).await?),
            Self::Counter(counter, _) => Minted::Numbers(counter.mint_many_async(count).await?),
            Self::Dated(dated, _) => Minted::Dated(dated.mint_many_async(count).await?),
            Self::Texts(minter, _) => Minted::Texts(minter.mint_many_async(count).await?),
        })
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
