//! Names whose IDs are numbers in a program and texts for everybody else.

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
/// // The number for the table, the text for the customer: it tells neither how many orders there are nor when they came.
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

    /// The name.
    pub fn name(&self) -> &Name {
        self.texts.name()
    }

    /// How its texts are written.
    pub fn form(&self) -> &Form {
        &self.form
    }

    /// Mints one ID, with its text. Waits at most [`Builder::max_wait`](crate::Builder::max_wait).
    ///
    /// # Errors
    /// [`MintError`]; `Exhausted` where its number has more bits than the form.
    pub fn mint(&self) -> Result<(Id, String), MintError> {
        self.with_id(self.texts.mint()?)
    }

    /// [`mint`](Self::mint) in a future, on any runtime.
    ///
    /// # Errors
    /// [`MintError`].
    pub async fn mint_async(&self) -> Result<(Id, String), MintError> {
        self.with_id(self.texts.mint_async().await?)
    }

    /// Mints `count` IDs, 1 to [`kind::MAX_MANY`](crate::kind::MAX_MANY), with their texts.
    ///
    /// # Errors
    /// [`MintError`]. Nothing is handed out then.
    pub fn mint_many(&self, count: u64) -> Result<Vec<(Id, String)>, MintError> {
        self.texts.mint_many(count)?.map(|text| self.with_id(text.into())).collect()
    }

    /// [`mint_many`](Self::mint_many) in a future, on any runtime.
    ///
    /// # Errors
    /// [`MintError`].
    pub async fn mint_many_async(&self, count: u64) -> Result<Vec<(Id, String)>, MintError> {
        self.texts.mint_many_async(count).await?.map(|text| self.with_id(text.into())).collect()
    }

    /// The ID that `text` means. That it means one does not say that it was ever minted: look it up.
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
