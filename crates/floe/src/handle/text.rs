//! IDs that are texts: of kinds that need no ledger, of kinds that the program registered, and numbers in a form.

use std::fmt;
use std::sync::Arc;

use super::{Handle, Minted};
use crate::definition::{Definition, DefinitionError};
use crate::error::MintError;
use crate::form::{Buffer, Form, FormError};
use crate::kind::{MAX_MANY, check_count};
use crate::name::Name;
use crate::texts::{MintTexts, Texts};

/// Mints the IDs of a name as texts. You get it from [`Floe::define`](crate::Floe::define) by [`Handle::get`].
///
/// ```
/// use floe::{Definition, Floe, Name, TextMinter, ledger::Memory};
/// let floe = Floe::open(Memory::default())?;
/// let short = Definition::SEGMENT.in_form("base36 width=13 prefix=T-".parse()?)?;
/// let tickets = floe.define(&Name::new("tickets")?, &short, &Default::default())?;
/// let tickets: &TextMinter = tickets.get().ok_or("its IDs are texts")?;
/// assert_eq!(tickets.mint()?, "T-0000000000001");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct TextMinter {
    name: Name,
    source: Source,
    form: Option<Arc<Form>>,
}

#[derive(Clone)]
enum Source {
    Numbers(Box<Handle>),
    Ledgerless(Arc<dyn MintTexts>),
    Registered(Arc<dyn MintTexts>),
}

/// The longest text that a registered kind may mint, in bytes.
const MAX_TEXT: usize = 1024;

impl TextMinter {
    /// For a kind of floe's own without a ledger; `None` for every other.
    pub(crate) fn ledgerless(name: &Name, definition: &Definition) -> Result<Option<Self>, DefinitionError> {
        let Definition::Ledgerless(ledgerless) = definition.unformed() else { return Ok(None) };
        let (source, form) = (Source::Ledgerless(ledgerless.mint()?), definition.form().cloned());
        Ok(Some(Self { name: name.clone(), source, form: form.map(Arc::new) }))
    }

    /// For a kind that the program registered.
    pub(crate) fn registered(name: &Name, kind: Arc<dyn MintTexts>) -> Self {
        Self { name: name.clone(), source: Source::Registered(kind), form: None }
    }

    /// The numbers of `handle`, in `form`.
    pub(crate) fn formed(name: &Name, handle: Handle, form: &Form) -> Self {
        Self {
            name: name.clone(),
            source: Source::Numbers(Box::new(handle)),
            form: Some(Arc::new(form.clone())),
        }
    }

    /// Returns the name.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// Returns the handle that mints the numbers behind a form; `None` for kinds whose IDs are not numbers of a ledger.
    pub fn numbers(&self) -> Option<&Handle> {
        match &self.source {
            Source::Numbers(handle) => Some(handle),
            _ => None,
        }
    }

    /// Returns whether a mint may block its thread for as long as it likes, also in the async calls. That is so for a
    /// registered kind. Then call it from [`blocking`](crate::blocking()), not from an async task.
    ///
    /// ```
    /// use floe::{Floe, Name, TextMinter, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// let users = floe.define(&Name::new("users")?, &"ulid".parse()?, &Default::default())?;
    /// let users: &TextMinter = users.get().ok_or("its IDs are texts")?;
    /// assert!(!users.may_block() && users.numbers().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn may_block(&self) -> bool {
        matches!(self.source, Source::Registered(_))
    }

    /// Returns the largest count for one call: [`MAX_MANY`], since the texts are held in memory, or less if the minter
    /// behind a form mints less at once.
    pub fn max_batch(&self) -> u64 {
        match &self.source {
            Source::Numbers(handle) => handle.max_batch().min(MAX_MANY),
            _ => MAX_MANY,
        }
    }

    /// Mints one ID.
    ///
    /// ```
    /// use floe::{Floe, Name, TextMinter, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// let users = floe.define(&Name::new("users")?, &"ulid".parse()?, &Default::default())?;
    /// let users: &TextMinter = users.get().ok_or("its IDs are texts")?;
    /// assert_eq!(users.mint()?.len(), 26);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MintError`]; `Exhausted` if a number has more bits than the form.
    pub fn mint(&self) -> Result<String, MintError> {
        let mut texts = self.mint_many(1)?;
        Ok(texts.next_text().unwrap_or_default().to_owned())
    }

    /// [`mint`](Self::mint) as a future, on any runtime. A registered kind that waits inside its call blocks the
    /// runtime's thread: see [`may_block`](Self::may_block).
    ///
    /// # Errors
    /// [`MintError`], as for [`mint`](Self::mint).
    pub async fn mint_async(&self) -> Result<String, MintError> {
        let mut texts = self.mint_many_async(1).await?;
        Ok(texts.next_text().unwrap_or_default().to_owned())
    }

    /// Mints `count` IDs, 1 to [`max_batch`](Self::max_batch). It waits as long as the minter behind it does.
    ///
    /// ```
    /// use floe::{Definition, Floe, Name, TextMinter, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// let nanoid = Definition::called("nanoid").ok_or("it is a kind")?;
    /// let users = floe.define(&Name::new("users")?, &nanoid, &Default::default())?;
    /// let users: &TextMinter = users.get().ok_or("its IDs are texts")?;
    /// let texts: Vec<Box<str>> = users.mint_many(100)?.collect();
    /// assert!(texts.iter().all(|text| text.len() == 21));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MintError`]. Then no ID is handed out.
    pub fn mint_many(&self, count: u64) -> Result<Texts, MintError> {
        check_count(count)?;
        let Source::Numbers(handle) = &self.source else { return self.put(count) };
        let mut texts = Texts::default();
        while let Some(missing) = self.missing(&texts, count)? {
            self.write(handle.mint_many(missing)?, &mut texts)?;
        }
        Ok(texts)
    }

    /// Mints `count` IDs, 1 to [`max_batch`](Self::max_batch), if that needs no wait. `None` means that the call would
    /// wait. A registered kind always returns `None`.
    ///
    /// ```
    /// use floe::{Floe, Name, TextMinter, ledger::Memory};
    /// let floe = Floe::open(Memory::default())?;
    /// let users = floe.define(&Name::new("users")?, &"uuid7".parse()?, &Default::default())?;
    /// let users: &TextMinter = users.get().ok_or("its IDs are texts")?;
    /// assert_eq!(users.try_mint_many(10)?.map(|texts| texts.len()), Some(10));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MintError`].
    pub fn try_mint_many(&self, count: u64) -> Result<Option<Texts>, MintError> {
        check_count(count)?;
        match &self.source {
            Source::Numbers(handle) => {
                let mut texts = Texts::default();
                while let Some(missing) = self.missing(&texts, count)? {
                    let Some(numbers) = handle.try_mint_many(missing)? else { return Ok(None) };
                    self.write(numbers, &mut texts)?;
                }
                Ok(Some(texts))
            }
            Source::Registered(_) => Ok(None),
            _ => self.put(count).map(Some),
        }
    }

    /// [`mint_many`](Self::mint_many) as a future, on any runtime. [`may_block`](Self::may_block) holds here too.
    /// [`Generator::mint_many_async`](crate::Generator::mint_many_async) has an example.
    ///
    /// # Errors
    /// [`MintError`], as for [`mint_many`](Self::mint_many).
    pub async fn mint_many_async(&self, count: u64) -> Result<Texts, MintError> {
        check_count(count)?;
        let Source::Numbers(handle) = &self.source else { return self.put(count) };
        let mut texts = Texts::default();
        while let Some(missing) = self.missing(&texts, count)? {
            self.write(Box::pin(handle.mint_many_async(missing)).await?, &mut texts)?;
        }
        Ok(texts)
    }

    /// How many of `count` are still to be minted. A form may skip numbers: Sqids skips one if each of its texts has a
    /// blocked word.
    ///
    /// # Errors
    /// `Exhausted` if it skips all but a few.
    fn missing(&self, texts: &Texts, count: u64) -> Result<Option<u64>, MintError> {
        const MOST_LEFT_OUT: u64 = 16;
        let written = texts.len() as u64;
        if texts.left_out > MOST_LEFT_OUT.saturating_mul(count.max(64)) {
            return Err(MintError::Exhausted(format!(
                "the form of {} cannot write most numbers, since every text for them has a word of the block list: take a new name with a longer alphabet or a shorter list",
                self.name
            )));
        }
        Ok(count.checked_sub(written).filter(|missing| *missing > 0))
    }

    /// Writes the numbers in the form, after the texts that are there.
    fn write(&self, minted: Minted, texts: &mut Texts) -> Result<(), MintError> {
        let mut show = self.show(texts);
        match minted {
            Minted::Numbers(mut ids) => ids.try_for_each(|id| show(&id, Some(id.get().into()))),
            Minted::Wide(mut ids) => ids.try_for_each(|id| show(&id, Some(id.get()))),
            Minted::Dated(mut ids) => {
                ids.try_for_each(|id| show(&id, id.number().map(|number| number.get().into())))
            }
            Minted::Texts(_) => Ok(()),
        }
    }

    /// Why the form writes neither `number` nor any that comes after it.
    pub(crate) fn ended_before(&self, number: u64) -> Option<MintError> {
        let form = self.form.as_deref().filter(|form| form.can_encode())?;
        match form.encode(number, &mut Buffer::new()) {
            Ok(_) | Err(FormError::Blocked { .. }) => None,
            Err(error) => Some(self.used_up(form, &error)),
        }
    }

    fn used_up(&self, form: &Form, error: &FormError) -> MintError {
        MintError::Exhausted(format!(
            "the form \"{form}\" of {} is used up: {error}. Take a new name with a form of more bits",
            self.name
        ))
    }

    /// What needs no ledger.
    fn put(&self, count: u64) -> Result<Texts, MintError> {
        let mut texts = Texts::default();
        match &self.source {
            // Their handle mints them.
            Source::Numbers(_) => Ok(()),
            Source::Ledgerless(ids) => ids.mint_each(count, &mut self.show(&mut texts)),
            Source::Registered(ids) => ids.mint_each(count, &mut |id, _| {
                let text = texts.put(id);
                // It must fit into one line of a text and one word of a log, like any other ID.
                match text.is_empty() || text.len() > MAX_TEXT || text.contains(|c: char| c.is_control()) {
                    false => Ok(()),
                    true => Err(MintError::stopped(format!(
                        "the registered kind made {text:.80?}: an ID has 1 to {MAX_TEXT} bytes and no control characters"
                    ))),
                }
            }),
        }?;
        match texts.len() as u64 == count {
            true => Ok(texts),
            false => Err(MintError::stopped(format!(
                "the registered kind of {} made {} IDs where {count} were asked for",
                self.name,
                texts.len()
            ))),
        }
    }

    /// Writes an ID in the form, or in its own where there is none.
    fn show(
        &self,
        texts: &mut Texts,
    ) -> impl FnMut(&dyn fmt::Display, Option<u128>) -> Result<(), MintError> {
        let mut buffer = Buffer::new();
        move |id, number| {
            let Some(form) = &self.form else {
                texts.put(id);
                return Ok(());
            };
            let number = number.ok_or_else(|| {
                MintError::stopped(format!("{id} is no number, and the form {form} writes numbers"))
            })?;
            match form.encode(number, &mut buffer) {
                Ok(text) => texts.put_str(text),
                Err(FormError::Blocked { .. }) => texts.left_out += 1,
                Err(error) => return Err(self.used_up(form, &error)),
            }
            Ok(())
        }
    }
}

impl fmt::Debug for TextMinter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextMinter")
            .field("name", &self.name)
            .field("form", &self.form)
            .finish_non_exhaustive()
    }
}

#[cfg(not(loom))]
#[cfg(test)]
mod tests;
