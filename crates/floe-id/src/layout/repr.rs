//! The number types that a layout composes.

use alloc::string::ToString;
use core::fmt;

use super::{Layout, LayoutError, Width};
use crate::id::{Id, WideId};

/// The number types that a layout can compose: [`Id`] and [`WideId`], and no others.
pub trait IdRepr:
    Copy + Ord + core::hash::Hash + fmt::Display + fmt::Debug + Send + Sync + 'static + sealed::Sealed
{
    /// The width of the layouts whose IDs this type is for.
    const WIDTH: Width;

    /// Whether every ID of `layout` fits this type.
    ///
    /// # Errors
    /// [`LayoutError::NeedsWide`] for [`Id`] and a layout that is [`Width::Wide`].
    fn check(layout: &Layout) -> Result<(), LayoutError>;

    /// The ID at `position` of `worker`: [`Layout::place`] or [`Layout::place_wide`].
    ///
    /// # Panics
    /// As those do, where `position` or `worker` lies outside the layout, or the layout does not pass
    /// [`check`](Self::check).
    fn place(layout: &Layout, position: u64, worker: u64) -> Self;

    /// The number, for [`Layout::split`].
    fn to_u128(self) -> u128;
}

impl IdRepr for Id {
    const WIDTH: Width = Width::Narrow;

    fn check(layout: &Layout) -> Result<(), LayoutError> {
        match layout.width() {
            Width::Narrow => Ok(()),
            Width::Wide => Err(LayoutError::NeedsWide { layout: layout.to_string() }),
        }
    }

    #[inline(always)]
    fn place(layout: &Layout, position: u64, worker: u64) -> Self {
        Self::composed(layout.place(position, worker))
    }

    fn to_u128(self) -> u128 {
        u128::from(self)
    }
}

impl IdRepr for WideId {
    const WIDTH: Width = Width::Wide;

    fn check(_: &Layout) -> Result<(), LayoutError> {
        Ok(())
    }

    #[inline]
    fn place(layout: &Layout, position: u64, worker: u64) -> Self {
        Self::from(layout.place_wide(position, worker))
    }

    fn to_u128(self) -> u128 {
        self.get()
    }
}

pub(super) mod sealed {
    //! What only a layout may do with an ID: another could make one that is not an ID.

    use crate::id::{Id, WideId};

    /// Shows that the caller is in this crate.
    #[derive(Debug)]
    pub struct FromLayout(());

    impl FromLayout {
        pub(in crate::layout) const fn new() -> Self {
            Self(())
        }
    }

    pub trait Sealed {
        /// This ID with `value` put into its free bits from `shift` on. A layout keeps the shift below the width of
        /// the number, so the wrapping shift is the plain one without its check.
        #[must_use]
        fn with(self, value: u64, shift: u32, _: FromLayout) -> Self;
    }

    impl Sealed for Id {
        #[inline]
        fn with(self, value: u64, shift: u32, _: FromLayout) -> Self {
            Self::composed(self.get() | value.wrapping_shl(shift))
        }
    }

    impl Sealed for WideId {
        #[inline]
        fn with(self, value: u64, shift: u32, _: FromLayout) -> Self {
            Self::from(self.get() | u128::from(value).wrapping_shl(shift))
        }
    }
}
