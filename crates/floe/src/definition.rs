//! What a name *is*: the cluster settings that can never change under it (I4).
//!
//! A definition's canonical text is its fingerprint: it is stored in the ledger when the name is first bound, and a
//! node whose configuration says otherwise refuses to serve the name. Text and value are each other's inverse, but for
//! what is no part of a fingerprint: the keys of a sealed form, and which of them seals where its texts say so.

use floe_id::kind::NanoIdFormatError;
use std::fmt;

use crate::Id;
use crate::form::{Buffer, Form, FormDefinitionError, FormError};
use crate::layout::{Layout, LayoutError};
use crate::ledger::MAX_MARK;

mod counter;
mod dated;
mod dated_shape;
mod ledgerless;
mod read;
mod registered;
mod row;
mod segment;
mod snowflake;
mod text;

pub(crate) use dated_shape::PERIOD_BITS;
pub use dated_shape::{DateFormat, DatedId, DatedShape, Overflow};
pub use ledgerless::Ledgerless;
pub(crate) use ledgerless::LedgerlessRules;
pub use read::ReadIdError;
pub(crate) use registered::check_word;
pub use registered::{Properties, Registered};
pub use row::{Complain, Given, Kind, Setting, Takes};
pub(crate) use row::{Row, Rules};
pub(crate) use text::FORM;

/// A name's kind with everything that decides which ID a position becomes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Definition {
    /// Time, worker id and sequence in the bit fields of a layout.
    Snowflake {
        /// The bit fields, tick and epoch.
        layout: Layout,
        /// Whether the name has a generator of its own instead of the one that its layout's names share. Its IDs
        /// are then unique under the name, and no longer in the whole realm.
        own: bool,
    },
    /// Numbers from reserved ranges: the n-th (from 0) is `offset + increment * n`.
    Segment {
        /// The distance of one number from the next, at least 1.
        increment: u64,
        /// The first number.
        offset: u64,
    },
    /// 1, 2, 3, … strictly increasing over the whole cluster.
    Counter,
    /// The date followed by a counter that begins anew each day, month or year.
    Dated(DatedShape),
    /// A kind for which nothing is reserved: `uuid4`, `uuid7`, `ulid`, `objectid`, `ksuid`, `nanoid`.
    /// [`Definition::called`] makes it.
    Ledgerless(Ledgerless),
    /// A kind that the program registered.
    Registered(Registered),
    /// IDs of another definition, in a form. [`Definition::in_form`] makes it.
    Formed(Box<Self>, Form),
}

/// Why a text or a set of values is no definition.
#[derive(Clone, PartialEq, Eq)]
pub enum DefinitionError {
    /// The kind is none that floe knows.
    UnknownKind {
        /// What was asked for.
        word: String,
        /// The words for those that there are.
        kinds: String,
    },
    /// What it names is a form, and no kind.
    NoKind(String),
    /// The kind's name is kept for a later version.
    ReservedKind {
        /// What was asked for.
        word: String,
        /// The words for those that there are.
        kinds: String,
    },
    /// The layout cannot be.
    Layout(LayoutError),
    /// The form cannot be.
    Form(FormDefinitionError),
    /// The alphabet or the length of a NanoID cannot be.
    NanoId(NanoIdFormatError),
    /// A value out of its range; the text says which and what it may be.
    Value(String),
}

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKind { word, kinds } => write!(f, "unknown kind {word:?}: floe mints {kinds}"),
            Self::NoKind(text) => write!(
                f,
                "{text:?} is a form and no kind: give the name a kind of numbers, and form = {text:?}"
            ),
            Self::ReservedKind { word, kinds } => write!(
                f,
                "the kind {word:?} is reserved, and this version of floe does not mint it yet: it mints {kinds}"
            ),
            Self::Layout(error) => write!(f, "{error}"),
            Self::Form(error) => write!(f, "{error}"),
            Self::NanoId(error) => write!(f, "{error}"),
            Self::Value(text) => write!(f, "{text}"),
        }
    }
}

impl From<LayoutError> for DefinitionError {
    fn from(error: LayoutError) -> Self {
        Self::Layout(error)
    }
}

impl From<FormDefinitionError> for DefinitionError {
    fn from(error: FormDefinitionError) -> Self {
        Self::Form(error)
    }
}

impl From<NanoIdFormatError> for DefinitionError {
    fn from(error: NanoIdFormatError) -> Self {
        Self::NanoId(error)
    }
}

floe_id::__error!(DefinitionError);

impl Definition {
    /// A segment that begins at 1 and counts by 1.
    pub const SEGMENT: Self = Self::Segment { increment: 1, offset: 1 };

    /// The kind.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Snowflake { .. } => Kind::SNOWFLAKE,
            Self::Segment { .. } => Kind::SEGMENT,
            Self::Counter => Kind::COUNTER,
            Self::Dated(_) => Kind::DATED,
            Self::Ledgerless(ledgerless) => ledgerless.kind(),
            Self::Registered(_) => Kind::REGISTERED,
            Self::Formed(inner, _) => inner.kind(),
        }
    }

    /// The word for the kind: of a registered one, the type that it was registered as.
    pub fn kind_name(&self) -> &str {
        match self.unformed() {
            Self::Registered(registered) => registered.type_name(),
            other => other.kind().as_str(),
        }
    }

    /// The definition without its form.
    pub fn unformed(&self) -> &Self {
        match self {
            Self::Formed(inner, _) => inner,
            other => other,
        }
    }

    /// The form, where it is not the kind's own way of writing.
    pub fn form(&self) -> Option<&Form> {
        match self {
            Self::Formed(_, form) => Some(form),
            _ => None,
        }
    }

    /// The ID of a number that a form has read, as the kind itself writes it: hyphens in a UUID, decimal digits of a snowflake.
    ///
    /// ```
    /// use floe::Definition;
    /// assert_eq!(Definition::called("objectid").unwrap().unformed_text(0x507f1f77bcf86cd799439011), "507f1f77bcf86cd799439011");
    /// assert_eq!(Definition::Counter.unformed_text(42), "42");
    /// ```
    pub fn unformed_text(&self, number: u128) -> String {
        match self.unformed() {
            Self::Ledgerless(ledgerless) => ledgerless.write(number),
            _ => number.to_string(),
        }
    }

    /// The position of the first number of a segment or a counter that is at least `number`; `None` of every other kind.
    ///
    /// ```
    /// use floe::Definition;
    /// let odd = Definition::Segment { increment: 2, offset: 1 };
    /// assert_eq!(odd.position_of(1_000), Some(500));
    /// assert_eq!(odd.number_at(500), Some(1_001));
    /// ```
    pub fn position_of(&self, number: u64) -> Option<u64> {
        match self.unformed() {
            Self::Segment { increment, offset } => {
                Some(number.saturating_sub(*offset).div_ceil((*increment).max(1)))
            }
            Self::Counter => Some(number.saturating_sub(FIRST_OF_A_COUNTER)),
            _ => None,
        }
    }

    /// The number at a position of a segment or a counter; `None` past 2^63 - 1, and of every other kind.
    pub fn number_at(&self, position: u64) -> Option<u64> {
        let number = match self.unformed() {
            Self::Segment { increment, offset } => increment.checked_mul(position)?.checked_add(*offset)?,
            Self::Counter => position.checked_add(FIRST_OF_A_COUNTER)?,
            _ => return None,
        };
        (number <= MAX_MARK).then_some(number)
    }

    /// The position from which on every number of a segment or a counter is at least `number`, where it has one and its form
    /// can write it: there it can begin, or be raised to.
    ///
    /// ```
    /// use floe::{Definition, NoPosition};
    /// let odd = Definition::Segment { increment: 2, offset: 1 };
    /// assert_eq!(odd.begin_position(1_000), Ok(500));
    /// let short = Definition::Counter.in_form("base62 bits=16".parse()?)?;
    /// assert!(matches!(short.begin_position(70_000), Err(NoPosition::Form { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`NoPosition`]. A sealed form whose key this process does not have is not asked.
    pub fn begin_position(&self, number: u64) -> Result<u64, NoPosition> {
        let position = self.position_of(number).ok_or_else(|| NoPosition::Uncounted(self.kind()))?;
        let begins = self.number_at(position).ok_or(NoPosition::UsedUp(number))?;
        let form = self.form().filter(|form| form.can_encode());
        match form.map(|form| form.encode(begins, &mut Buffer::new()).map(drop)) {
            None | Some(Ok(())) => Ok(position),
            Some(Err(error)) => Err(NoPosition::Form { number: begins, error }),
        }
    }

    /// Whether the IDs are texts, and no numbers for a wire that has only those.
    pub fn is_text(&self) -> bool {
        self.form().is_some() || !self.kind().is_number()
    }

    /// Whether IDs are minted from what is reserved in a ledger, or by a kind of the program's own that may do so. All
    /// others are unique by themselves: a ledger keeps nothing of them but what the name is.
    pub fn needs_ledger(&self) -> bool {
        self.kind().is_number() || matches!(self.unformed(), Self::Registered(_))
    }

    /// How many bits the number has that a form writes; `None` where an ID is no such number.
    pub fn form_bits(&self) -> Option<u32> {
        match self {
            Self::Snowflake { layout, .. } => Some(layout.total_bits()),
            Self::Segment { .. } | Self::Counter | Self::Dated(_) => Some(Id::BITS),
            Self::Ledgerless(ledgerless) => ledgerless.bits(),
            Self::Registered(_) | Self::Formed(..) => None,
        }
    }

    /// The same IDs in `form`; itself where that is how its numbers are written anyway.
    ///
    /// ```
    /// use floe::{Definition, form::Form};
    /// let short = Definition::SEGMENT.in_form("base62".parse()?)?;
    /// assert_eq!(short.to_string(), "segment increment=1 offset=1 form base62");
    /// assert_eq!(Definition::SEGMENT.in_form("decimal".parse()?)?, Definition::SEGMENT);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`DefinitionError::Value`] where the IDs are no numbers, are written in a way of their own, or have more bits than
    /// the form.
    pub fn in_form(self, form: Form) -> Result<Self, DefinitionError> {
        let plain = self.kind().is_number() && Form::of_bits("decimal", form.bits()).as_ref() == Ok(&form);
        let whole = self.form_bits().is_some_and(|bits| form.bits() >= bits);
        if plain && whole {
            return Ok(self);
        }
        let formed = Self::Formed(Box::new(self), form);
        formed.check()?;
        Ok(formed)
    }

    /// Checks what the types do not: a segment's increment and offset, and whether a form fits.
    ///
    /// # Errors
    /// [`DefinitionError::Value`] names the value and its range.
    pub fn check(&self) -> Result<(), DefinitionError> {
        match self {
            Self::Segment { increment, offset } => segment::check(*increment, *offset),
            Self::Formed(inner, form) => {
                inner.check()?;
                inner.check_form(form)
            }
            _ => Ok(()),
        }
    }

    fn check_form(&self, form: &Form) -> Result<(), DefinitionError> {
        let refuse = |why: String| Err(DefinitionError::Value(why));
        let kind = self.kind_name();
        let Some(bits) = self.form_bits() else {
            return refuse(format!("a {kind} name has a text of its own, and no form: remove it"));
        };
        if let Self::Dated(shape) = self
            && (!shape.prefix().is_empty() || shape.overflow() == Overflow::Widen)
        {
            return refuse(
                "a dated name with a form has neither a prefix of its own nor a counter that widens: give the form a prefix"
                    .to_owned(),
            );
        }
        // What counts from 1 may have a shorter form, and ends with it; what holds a time or is random would never fit.
        let counts = matches!(self, Self::Segment { .. } | Self::Counter);
        if !counts && form.bits() < bits {
            return refuse(format!(
                "the form is for {} bits, and an ID of this {kind} name has {bits}: write bits={bits}, or leave bits out",
                form.bits()
            ));
        }
        Ok(())
    }
}

/// A snowflake of the layout, which shares the layout's generator.
impl From<Layout> for Definition {
    fn from(layout: Layout) -> Self {
        Self::Snowflake { layout, own: false }
    }
}

/// Why a name has no position for a number; see [`Definition::begin_position`].
#[derive(Clone, PartialEq, Eq)]
pub enum NoPosition {
    /// Its IDs begin with the time, or are random.
    Uncounted(Kind),
    /// It ends before the number.
    UsedUp(u64),
    /// It has the number, and its form ends before it.
    Form {
        /// Its first number that is not below the one that was asked for.
        number: u64,
        /// What the form says.
        error: FormError,
    },
}

impl fmt::Display for NoPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uncounted(kind) => write!(f, "the IDs of a {kind} name are not counted"),
            Self::UsedUp(number) => write!(f, "it has no number from {number} on"),
            Self::Form { number, error } => write!(f, "its form cannot write {number}: {error}"),
        }
    }
}

floe_id::__error!(NoPosition);

/// The number at position 0 of a counter.
const FIRST_OF_A_COUNTER: u64 = 1;
