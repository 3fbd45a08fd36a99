//! The number types that a layout composes.

use alloc::string::ToString;
use core::fmt;

use super::{Layout, LayoutError, Width};
use crate::id::{Id, WideId};

/// The number types that a layout can compose: [`Id`] and [`WideId`], and no others.
///
/// ```
/// use floe_id::{Id, IdRepr, Layout, LayoutError, UnixMillis, WideId, layout::Width};
///
/// fn first<I: IdRepr>(layout: &Layout) -> Result<I, LayoutError> {
///     I::check(layout)?;
///     Ok(I::place(layout, 0, 33))
/// }
///
/// let wide = Layout::new("time:43 server:24 sequence:18", 1, UnixMillis::EPOCH, Width::Wide)?;
/// assert_eq!(first::<Id>(&Layout::TWITTER)?.get(), 33 << 12);
/// assert_eq!(first::<WideId>(&wide)?.get(), 33 << 18);
/// assert!(matches!(first::<Id>(&wide), Err(LayoutError::NeedsWide { .. })));
/// # Ok::<(), LayoutError>(())
/// ```
pub trait IdRepr:
    Copy + Ord + core::hash::Hash + fmt::Display + fmt::Debug + Send + Sync + 'static + sealed::Sealed
{
    /// The width of the layouts whose IDs this type is for.
    const WIDTH: Width;

    /// Checks that every ID of `layout` fits this type. [`IdRepr`] has an example.
    ///
    /// # Errors
    /// [`LayoutError::NeedsWide`] for [`Id`] and a layout that is [`Width::Wide`].
    fn check(layout: &Layout) -> Result<(), LayoutError>;

    /// Returns the ID at `position` of `worker`: [`Layout::place`] or [`Layout::place_wide`]. [`IdRepr`] has an
    /// example.
    ///
    /// # Panics
    /// As those do: if `position` or `worker` is outside the layout, or the layout does not pass
    /// [`check`](Self::check).
    fn place(layout: &Layout, position: u64, worker: u64) -> Self;

    /// Returns the ID at `position`, which lies in the tick of this key: a shift and an addition if `layout` is narrow.
    /// [`Layout::tick_key`] has an example.
    ///
    /// # Panics
    /// If the ID has more bits than this type. A position of another tick gives the ID of another position.
    fn place_in_tick(layout: &Layout, position: u64, key: u64) -> Self;

    /// Returns the number, for [`Layout::split`].
    fn to_u128(self) -> u128;

    /// Fills `ids` with this ID and the following ones, each `step` larger than the one before. It checks only the last
    /// one, and runs about as fast as memory can be written.
    ///
    /// ```
    /// use floe_id::{Id, IdRepr};
    /// let mut ids = [Id::MAX; 3];
    /// Id::try_from(7_u64)?.series(10, &mut ids);
    /// assert_eq!(ids.map(Id::get), [7, 17, 27]);
    /// # Ok::<(), floe_id::IdError>(())
    /// ```
    ///
    /// # Panics
    /// If the step is 0, or the last ID has more bits than this type. Otherwise, IDs would repeat.
    fn series(self, step: u128, ids: &mut [Self]);
}

/// The `count`th number from `first` on in steps of `step`, where it has at most 128 bits and is no other than those
/// before.
pub(super) fn last(first: u128, step: u128, count: u64) -> Option<u128> {
    let far = u128::from(count.saturating_sub(1)).checked_mul(step)?;
    if count > 1 && step == 0 { None } else { first.checked_add(far) }
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

    #[inline(always)]
    fn place_in_tick(layout: &Layout, position: u64, key: u64) -> Self {
        let number = layout.number_in_tick(position, key);
        assert!(number <= Self::MAX.get(), "the ID has more than 63 bits");
        Self::composed(number)
    }

    fn to_u128(self) -> u128 {
        u128::from(self)
    }

    #[inline]
    fn series(self, step: u128, ids: &mut [Self]) {
        let last = last(self.to_u128(), step, ids.len() as u64).and_then(|last| Self::try_from(last).ok());
        assert!(last.is_some(), "the series repeats an ID, or its last one has more than 63 bits");
        // A larger step than this leaves room for one ID, so no step is taken.
        let (mut number, step) = (self.get(), u64::try_from(step).unwrap_or_default());
        for id in ids {
            *id = Self::composed(number);
            // Wraps behind the last ID alone, where nothing is written any more. A check for each ID would keep the
            // compiler from writing several at once.
            number = number.wrapping_add(step);
        }
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

    #[inline]
    fn place_in_tick(layout: &Layout, position: u64, key: u64) -> Self {
        match layout.width() {
            Width::Narrow => Self::from(u128::from(layout.number_in_tick(position, key))),
            Width::Wide => Self::place(layout, position, key),
        }
    }

    fn to_u128(self) -> u128 {
        self.get()
    }

    #[inline]
    fn series(self, step: u128, ids: &mut [Self]) {
        let last = last(self.get(), step, ids.len() as u64);
        assert!(last.is_some(), "the series repeats an ID, or its last one has more than 128 bits");
        let mut number = self.get();
        for id in ids {
            *id = Self::from(number);
            // As above.
            number = number.wrapping_add(step);
        }
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
        const ZERO: Self;
        const LAST: Self;

        /// This ID with `value` put into its free bits from `shift` on. A layout keeps the shift below the width of
        /// the number, so the wrapping shift is the plain one without its check.
        #[must_use]
        fn with(self, value: u64, shift: u32, _: FromLayout) -> Self;

        /// This ID and `count` steps. It has too many bits behind the last ID alone, which nobody is given.
        #[must_use]
        fn plus(self, step: Self, count: u64, _: FromLayout) -> Self;
    }

    impl Sealed for Id {
        const ZERO: Self = Self::composed(0);
        const LAST: Self = Self::MAX;

        #[inline]
        fn with(self, value: u64, shift: u32, _: FromLayout) -> Self {
            Self::composed(self.get() | value.wrapping_shl(shift))
        }

        #[inline(always)]
        fn plus(self, step: Self, count: u64, _: FromLayout) -> Self {
            Self::composed(self.get().wrapping_add(step.get().wrapping_mul(count)))
        }
    }

    impl Sealed for WideId {
        const ZERO: Self = Self::new(0);
        const LAST: Self = Self::MAX;

        #[inline]
        fn with(self, value: u64, shift: u32, _: FromLayout) -> Self {
            Self::from(self.get() | u128::from(value).wrapping_shl(shift))
        }

        #[inline(always)]
        fn plus(self, step: Self, count: u64, _: FromLayout) -> Self {
            Self::from(self.get().wrapping_add(step.get().wrapping_mul(u128::from(count))))
        }
    }
}
