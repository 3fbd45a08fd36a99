//! A name of any kind, for those who learn the kind at run time: servers, command lines.

use std::fmt;
use std::sync::Arc;

use crate::batch::Batch;
use crate::counter::{Counter, Dated, DatedBatch, DatedId};
use crate::definition::Definition;
use crate::error::MintError;
use crate::generator::Generator;
use crate::id::{Id, WideId};
use crate::name::Name;
use crate::segment::Segment;
use crate::stream::Stream;

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
}

/// IDs of any kind, minted in one step.
#[derive(Clone, Debug)]
pub enum Minted {
    /// Numbers of at most 63 bits.
    Numbers(Batch<Id>),
    /// Numbers of up to 128 bits.
    Wide(Batch<WideId>),
    /// Dates with a counter.
    Dated(DatedBatch),
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
        }
    }

    /// What the name is bound to.
    pub fn definition(&self) -> &Definition {
        match self {
            Self::Snowflake(_, definition)
            | Self::Wide(_, definition)
            | Self::Segment(_, definition)
            | Self::Counter(_, definition)
            | Self::Dated(_, definition) => definition,
        }
    }

    pub(crate) fn stream(&self) -> Option<&Arc<Stream>> {
        match self {
            Self::Snowflake(generator, _) => Some(generator.stream()),
            Self::Wide(generator, _) => Some(generator.stream()),
            _ => None,
        }
    }

    /// `count` IDs if that needs no wait; never for a counter or a dated name, whose every call is one with the ledger.
    ///
    /// # Errors
    /// [`MintError`].
    pub fn try_mint_many(&self, count: u64) -> Result<Option<Minted>, MintError> {
        Ok(match self {
            Self::Snowflake(generator, _) => generator.try_mint_many(count)?.map(Minted::Numbers),
            Self::Wide(generator, _) => generator.try_mint_many(count)?.map(Minted::Wide),
            Self::Segment(segment, _) => segment.try_mint_many(count)?.map(Minted::Numbers),
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
        })
    }

    /// [`Handle::mint_many`] in a future, on any runtime.
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
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::Numbers(batch) => batch.size_hint(),
            Self::Wide(batch) => batch.size_hint(),
            Self::Dated(batch) => batch.size_hint(),
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
        send(floe.define(&name, &Definition::SEGMENT, &crate::Taste::default()).unwrap().mint_many_async(1));
    }
}
