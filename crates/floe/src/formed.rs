//! Names whose IDs are numbers in the program and texts for everybody else.

use std::sync::Arc;

use crate::Id;
use crate::error::MintError;
use crate::form::{Form, FormError};
use crate::handle::{Handle, TextMinter};
use crate::name::Name;

/// Mints IDs of at most 63 bits together with their texts in a form, and reads the texts back.
/// [`Floe::formed`](crate::Floe::formed) makes it. It keeps its floe open.
///
/// ```
/// use floe::{Floe, Layout, form::{Form, Key, KeyId, Keys}, ledger::Memory};
/// let keys = Keys::new().with(KeyId::new(1), Key::from([7; 16]))?;
/// let form = "sealed key=1 base62 width=11".parse::<Form>()?.with_keys(&keys)?;
/// let orders = Floe::open(Memory::default())?.formed("orders", Layout::TWITTER, form)?;
/// // The number is for the table, the text for the customer. It hides how many orders there are and when they came.
/// let (id, public_id) = orders.mint()?;
/// assert_eq!(orders.read(&public_id)?, id);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Formed {
    texts: TextMinter,
    form: Arc<Form>,
}

impl Formed {
    /// Of a name that is served in `form`.
    pub(crate) fn new(handle: &Handle, form: Form) -> Self {
        let texts = TextMinter::formed(handle.name(), handle.numbers().clone(), &form);
        Self { texts, form: Arc::new(form) }
    }

    /// Returns the name.
    pub fn name(&self) -> &Name {
        self.texts.name()
    }

    /// Returns the form in which the texts are written.
    pub fn form(&self) -> &Form {
        &self.form
    }

    /// Mints one ID with its text. It waits at most [`Builder::max_wait`](crate::Builder::max_wait).
    ///
    /// ```
    /// use floe::{Definition, Floe, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// let tickets = floe.formed("tickets", Definition::SEGMENT, "base36 width=13".parse()?)?;
    /// let (id, text) = tickets.mint()?;
    /// assert_eq!((id.get(), text.as_str()), (1, "0000000000001"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MintError`]; `Exhausted` if the number has more bits than the form.
    pub fn mint(&self) -> Result<(Id, String), MintError> {
        self.with_id(self.texts.mint()?)
    }

    /// [`mint`](Self::mint) as a future, on any runtime.
    ///
    /// # Errors
    /// [`MintError`], as for [`mint`](Self::mint).
    pub async fn mint_async(&self) -> Result<(Id, String), MintError> {
        self.with_id(self.texts.mint_async().await?)
    }

    /// Mints `count` IDs with their texts, 1 to [`kind::MAX_MANY`](crate::kind::MAX_MANY).
    ///
    /// ```
    /// use floe::{Definition, Floe, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// let tickets = floe.formed("tickets", Definition::Counter, "base62".parse()?)?;
    /// for (id, text) in tickets.mint_many(100)? {
    ///     assert_eq!(tickets.read(&text)?, id);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MintError`]. Then no ID is handed out.
    pub fn mint_many(&self, count: u64) -> Result<Vec<(Id, String)>, MintError> {
        self.texts.mint_many(count)?.map(|text| self.with_id(text.into())).collect()
    }

    /// [`mint_many`](Self::mint_many) as a future, on any runtime.
    /// [`Generator::mint_many_async`](crate::Generator::mint_many_async) has an example.
    ///
    /// # Errors
    /// [`MintError`], as for [`mint_many`](Self::mint_many).
    pub async fn mint_many_async(&self, count: u64) -> Result<Vec<(Id, String)>, MintError> {
        self.texts.mint_many_async(count).await?.map(|text| self.with_id(text.into())).collect()
    }

    /// Reads a text back into its ID. A text that can be read need not have been minted: look the ID up.
    ///
    /// ```
    /// use floe::{Definition, Floe, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// let tickets = floe.formed("tickets", Definition::SEGMENT, "base36 width=13 prefix=T-".parse()?)?;
    /// assert_eq!(tickets.read("T-0000000000010")?.get(), 36);
    /// assert!(tickets.read("10").is_err()); // no prefix
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FormError`] names the rule that the text breaks.
    pub fn read(&self, text: &str) -> Result<Id, FormError> {
        self.form.read_id(text)
    }

    /// A form reads what it has written.
    fn with_id(&self, text: String) -> Result<(Id, String), MintError> {
        match self.read(&text) {
            Ok(id) => Ok((id, text)),
            Err(error) => Err(MintError::stopped(format!(
                "the form {} wrote {text:?}, which it cannot read: {error}",
                self.form
            ))),
        }
    }
}
