//! The definition of a name: the cluster settings that can never change under it (I4).
//!
//! A definition's canonical text is its fingerprint. The ledger stores it when the name is first bound, and a node with
//! another configuration refuses to serve the name. Text and value convert into each other without loss, with two
//! exceptions that are not part of the fingerprint: the keys of a sealed form, and, if its texts name their key, which
//! key seals new ones.

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
#[cfg(test)]
mod tests;
mod text;
mod words;

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

/// A name's kind, with everything that decides which ID a position becomes.
///
/// Its `Display` is the canonical text that the ledger stores, and `FromStr` reads that text.
///
/// ```
/// use floe::{Definition, Layout};
/// let orders = Definition::from(Layout::TWITTER);
/// assert_eq!(orders.to_string().parse(), Ok(orders));
/// assert_eq!("segment increment=2 offset=1".parse(), Ok(Definition::Segment { increment: 2, offset: 1 }));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Definition {
    /// Time, worker id and sequence in the bit fields of a layout.
    Snowflake {
        /// The bit fields, tick and epoch.
        layout: Layout,
        /// Whether the name has its own generator, instead of the one that names of the same layout share. With its
        /// own, its IDs are unique under the name only, and not in the whole realm.
        own: bool,
    },
    /// Numbers from reserved ranges: the n-th (from 0) is `offset + increment * n`.
    Segment {
        /// The distance from one number to the next, at least 1.
        increment: u64,
        /// The first number.
        offset: u64,
    },
    /// 1, 2, 3, … strictly increasing over the whole cluster.
    Counter,
    /// The date, followed by a counter that begins again at 1 each day, month or year.
    Dated(DatedShape),
    /// A kind that needs no ledger: `uuid4`, `uuid7`, `ulid`, `objectid`, `ksuid`, `nanoid`. [`Definition::called`]
    /// makes it.
    Ledgerless(Ledgerless),
    /// A kind that the program registered.
    Registered(Registered),
    /// IDs of another definition, in a form. [`Definition::in_form`] makes it.
    Formed(Box<Self>, Form),
}

/// Why a text or a set of values is not a definition.
#[derive(Clone, PartialEq, Eq)]
pub enum DefinitionError {
    /// floe does not know the kind.
    UnknownKind {
        /// The word that the caller gave.
        word: String,
        /// The words of all kinds.
        kinds: String,
    },
    /// The word is a form and not a kind.
    NoKind(String),
    /// The word is reserved for a kind of a later version.
    ReservedKind {
        /// The word that the caller gave.
        word: String,
        /// The words of all kinds.
        kinds: String,
    },
    /// The layout is invalid.
    Layout(LayoutError),
    /// The form is invalid.
    Form(FormDefinitionError),
    /// The alphabet or the length of a NanoID is invalid.
    NanoId(NanoIdFormatError),
    /// A value is out of its range; the text says which one and what it may be.
    Value(String),
}

impl fmt::Display for DefinitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKind { word, kinds } => write!(f, "unknown kind {word:?}: floe mints {kinds}"),
            Self::NoKind(text) => write!(
                f,
                "{text:?} is a form, not a kind: give the name a kind of numbers, and form = {text:?}"
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

impl Kind {
    /// Time, worker id and sequence in the bit fields of a layout.
    pub const SNOWFLAKE: Self = Self(&snowflake::ROW);
    /// Numbers from reserved ranges, in order on one node.
    pub const SEGMENT: Self = Self(&segment::ROW);
    /// 1, 2, 3, … over the whole cluster.
    pub const COUNTER: Self = Self(&counter::ROW);
    /// A date with a counter.
    pub const DATED: Self = Self(&dated::ROW);
    /// A kind that the program registered. Its word does not stand in a configuration; the type name of the kind does.
    pub const REGISTERED: Self = Self(&registered::ROW);
}

impl Definition {
    /// A segment that begins at 1 and counts by 1.
    pub const SEGMENT: Self = Self::Segment { increment: 1, offset: 1 };

    /// Returns the kind.
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

    /// Returns the kind's word. For a registered kind, it is the type name under which the kind was registered.
    ///
    /// ```
    /// use floe::{Definition, Properties, Registered};
    /// let own = Definition::Registered(Registered::new("tagged", Properties::new())?);
    /// assert_eq!((own.kind_name(), own.kind().as_str()), ("tagged", "registered"));
    /// assert_eq!(Definition::SEGMENT.kind_name(), "segment");
    /// # Ok::<(), floe::DefinitionError>(())
    /// ```
    pub fn kind_name(&self) -> &str {
        match self.unformed() {
            Self::Registered(registered) => registered.type_name(),
            other => other.kind().as_str(),
        }
    }

    /// Returns the definition without its form.
    pub fn unformed(&self) -> &Self {
        match self {
            Self::Formed(inner, _) => inner,
            other => other,
        }
    }

    /// Returns the form in which IDs are written; `None` if they are written in the kind's own way.
    ///
    /// ```
    /// use floe::Definition;
    /// let short = Definition::SEGMENT.in_form("base62".parse()?)?;
    /// assert_eq!(short.form().map(|form| form.to_string()).as_deref(), Some("base62"));
    /// assert_eq!(short.unformed(), &Definition::SEGMENT);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn form(&self) -> Option<&Form> {
        match self {
            Self::Formed(_, form) => Some(form),
            _ => None,
        }
    }

    /// Writes the number that a form has read in the kind's own way: a UUID with hyphens, a snowflake in decimal
    /// digits.
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

    /// Returns the position of the first number of a segment or a counter that is at least `number`; `None` for other
    /// kinds.
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

    /// Returns the number at a position of a segment or a counter. `None` if the number would be over 2^63 - 1, and for
    /// other kinds.
    ///
    /// ```
    /// use floe::Definition;
    /// assert_eq!(Definition::Segment { increment: 2, offset: 1 }.number_at(3), Some(7));
    /// assert_eq!(Definition::Counter.number_at(u64::MAX), None);
    /// ```
    pub fn number_at(&self, position: u64) -> Option<u64> {
        let number = match self.unformed() {
            Self::Segment { increment, offset } => increment.checked_mul(position)?.checked_add(*offset)?,
            Self::Counter => position.checked_add(FIRST_OF_A_COUNTER)?,
            _ => return None,
        };
        (number <= MAX_MARK).then_some(number)
    }

    /// Returns the position from which every number of a segment or a counter is at least `number`. The name can begin
    /// at this position, or be raised to it: it has such a number, and its form can write it.
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
    /// [`NoPosition`]. If this process does not have the key of a sealed form, the form is not checked.
    pub fn begin_position(&self, number: u64) -> Result<u64, NoPosition> {
        let position = self.position_of(number).ok_or_else(|| NoPosition::Uncounted(self.kind()))?;
        let begins = self.number_at(position).ok_or(NoPosition::UsedUp(number))?;
        let form = self.form().filter(|form| form.can_encode());
        match form.map(|form| form.encode(begins, &mut Buffer::new()).map(drop)) {
            None | Some(Ok(())) => Ok(position),
            Some(Err(error)) => Err(NoPosition::Form { number: begins, error }),
        }
    }

    /// Returns whether the IDs are texts, so that a protocol that has only numbers cannot carry them.
    ///
    /// ```
    /// use floe::Definition;
    /// assert!(!Definition::SEGMENT.is_text());
    /// assert!(Definition::SEGMENT.in_form("base62".parse()?)?.is_text());
    /// assert!(Definition::called("ulid").is_some_and(|ulid| ulid.is_text()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_text(&self) -> bool {
        self.form().is_some() || !self.kind().is_number()
    }

    /// Returns whether minting needs the ledger: the IDs come from a range that was reserved there, or from a
    /// registered kind, which may do so. All other kinds are unique by themselves. For these, the ledger stores only
    /// the definition.
    ///
    /// ```
    /// use floe::Definition;
    /// assert!(Definition::Counter.needs_ledger());
    /// assert!(!Definition::called("uuid7").is_some_and(|uuid7| uuid7.needs_ledger()));
    /// ```
    pub fn needs_ledger(&self) -> bool {
        self.kind().is_number() || matches!(self.unformed(), Self::Registered(_))
    }

    /// Returns how many bits the number has that a form writes; `None` if the IDs are not such numbers.
    ///
    /// ```
    /// use floe::{Definition, Layout};
    /// assert_eq!(Definition::from(Layout::TWITTER).form_bits(), Some(63));
    /// assert_eq!(Definition::called("nanoid").and_then(|nanoid| nanoid.form_bits()), None);
    /// ```
    pub fn form_bits(&self) -> Option<u32> {
        match self {
            Self::Snowflake { layout, .. } => Some(layout.total_bits()),
            Self::Segment { .. } | Self::Counter | Self::Dated(_) => Some(Id::BITS),
            Self::Ledgerless(ledgerless) => ledgerless.bits(),
            Self::Registered(_) | Self::Formed(..) => None,
        }
    }

    /// Returns the definition with its IDs in `form`. If its numbers are written so anyway, it stays as it is.
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
    /// [`DefinitionError::Value`] if the IDs are not numbers, have a text of their own, or have more bits than the
    /// form.
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

    /// Checks the rules that the types do not enforce: the range of a segment's increment and offset, and whether a
    /// form fits.
    ///
    /// ```
    /// use floe::Definition;
    /// assert!(Definition::Segment { increment: 2, offset: 1 }.check().is_ok());
    /// assert!(Definition::Segment { increment: 0, offset: 1 }.check().is_err());
    /// ```
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
        // A counter or a segment may have a shorter form, and ends when that is full. A time or randomness would never
        // fit.
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

/// A snowflake of the layout, whose names share one generator.
impl From<Layout> for Definition {
    fn from(layout: Layout) -> Self {
        Self::Snowflake { layout, own: false }
    }
}

/// Why a name has no position for a number; see [`Definition::begin_position`].
#[derive(Clone, PartialEq, Eq)]
pub enum NoPosition {
    /// The kind has no counted numbers: its IDs begin with the time, or are random.
    Uncounted(Kind),
    /// The numbers of the name end before this one.
    UsedUp(u64),
    /// The name has the number, but its form cannot write it.
    Form {
        /// The first number of the name that is at least the one asked for.
        number: u64,
        /// The form's error.
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
