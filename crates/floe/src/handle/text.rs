//! IDs that are texts: of kinds for which nothing is reserved, of kinds that the program registered, and numbers in a form.

use std::any::Any;
use std::fmt::{self, Write};
use std::sync::Arc;

use super::{Handle, Minted};
use crate::definition::Definition;
use crate::error::MintError;
use crate::form::{Buffer, Form, FormError};
use crate::kind::{
    KsuidGenerator, MAX_MANY, Mint, NanoIdGenerator, ObjectIdGenerator, UlidGenerator, UuidV4Generator,
    UuidV7Generator, check_count,
};
use crate::name::Name;

/// Mints the IDs of a name as texts. [`Floe::define`](crate::Floe::define) makes it, as [`Handle::Texts`].
///
/// ```
/// use floe::{Definition, Floe, Handle, Name, ledger::Memory};
/// let floe = Floe::open(Memory::default())?;
/// let short = Definition::SEGMENT.in_form("base36 width=13 prefix=T-".parse()?)?;
/// let Handle::Texts(tickets, _) = floe.define(&Name::new("tickets")?, &short, &Default::default())? else { unreachable!() };
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
    Uuid4(UuidV4Generator),
    Uuid7(UuidV7Generator),
    Ulid(UlidGenerator),
    ObjectId(ObjectIdGenerator),
    Ksuid(KsuidGenerator),
    NanoId(NanoIdGenerator),
    Registered(Arc<dyn MintTexts>),
}

/// Texts that were minted in one step: an iterator over them, and [`next_text`](Self::next_text) for who needs none to keep.
/// It cannot be cloned, since a clone would hand out the same IDs:
///
/// ```compile_fail,E0599
/// fn again(texts: floe::Texts) -> floe::Texts {
///     texts.clone()
/// }
/// ```
#[derive(Default, Debug)]
pub struct Texts {
    text: String,
    ends: Vec<usize>,
    next: usize,
    /// Numbers that the form could not write.
    left_out: u64,
    #[expect(dead_code, reason = "it is dropped with them")]
    guard: Option<Arc<dyn Any + Send + Sync>>,
}

/// A registered kind that was made for a name.
pub(crate) trait MintTexts: Send + Sync {
    /// Mints `count` IDs behind those that are there.
    fn put(&self, count: u64, texts: &mut Texts) -> Result<(), MintError>;
}

/// The longest text that a registered kind may mint, in bytes.
const MAX_TEXT: usize = 1024;

impl<M: Mint> MintTexts for M
where
    M::Id: fmt::Display,
{
    fn put(&self, count: u64, texts: &mut Texts) -> Result<(), MintError> {
        for id in self.mint_many(count)? {
            let begun = texts.text.len();
            texts.put(&id);
            let text = texts.text.get(begun..).unwrap_or_default();
            // It is to be a line of a text and a word of a log, like any other ID.
            if text.is_empty() || text.len() > MAX_TEXT || text.contains(|c: char| c.is_control()) {
                return Err(MintError::Stopped(format!(
                    "the registered kind made {text:.80?}: an ID has 1 to {MAX_TEXT} bytes and no control characters"
                )));
            }
        }
        Ok(())
    }
}

impl TextMinter {
    /// For a kind of floe's own without a ledger; `None` for every other.
    pub(crate) fn unreserved(name: &Name, definition: &Definition) -> Option<Self> {
        let source = match definition.unformed() {
            Definition::Uuid4 => Source::Uuid4(UuidV4Generator::new()),
            Definition::Uuid7 { precise: false } => Source::Uuid7(UuidV7Generator::new()),
            Definition::Uuid7 { precise: true } => Source::Uuid7(UuidV7Generator::precise()),
            Definition::Ulid => Source::Ulid(UlidGenerator::new()),
            Definition::ObjectId => Source::ObjectId(ObjectIdGenerator::new()),
            Definition::Ksuid => Source::Ksuid(KsuidGenerator::new()),
            Definition::NanoId(format) => Source::NanoId(NanoIdGenerator::new(format.clone())),
            _ => return None,
        };
        Some(Self { name: name.clone(), source, form: definition.form().cloned().map(Arc::new) })
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

    /// The name.
    pub fn name(&self) -> &Name {
        &self.name
    }

    /// What mints the numbers that a form writes; `None` for kinds that are no numbers of a ledger's.
    pub fn numbers(&self) -> Option<&Handle> {
        match &self.source {
            Source::Numbers(handle) => Some(handle),
            _ => None,
        }
    }

    /// Whether minting may wait inside a call, so that no async task should make it: a registered kind does what it likes.
    pub fn may_block(&self) -> bool {
        matches!(self.source, Source::Registered(_))
    }

    /// The most IDs of one call: [`MAX_MANY`], since texts are held, or less where what is behind a form mints less.
    pub fn max_batch(&self) -> u64 {
        match &self.source {
            Source::Numbers(handle) => handle.max_batch().min(MAX_MANY),
            _ => MAX_MANY,
        }
    }

    /// Mints one ID.
    ///
    /// # Errors
    /// [`MintError`]; `Exhausted` where a number has more bits than the form.
    pub fn mint(&self) -> Result<String, MintError> {
        let mut texts = self.mint_many(1)?;
        Ok(texts.next_text().unwrap_or_default().to_owned())
    }

    /// [`mint`](Self::mint) in a future, on any runtime. A registered kind that waits inside its call holds up the runtime's
    /// thread: see [`may_block`](Self::may_block).
    ///
    /// # Errors
    /// [`MintError`].
    pub async fn mint_async(&self) -> Result<String, MintError> {
        let mut texts = self.mint_many_async(1).await?;
        Ok(texts.next_text().unwrap_or_default().to_owned())
    }

    /// Mints `count` IDs, 1 to [`max_batch`](Self::max_batch), waiting as long as what is behind it does.
    ///
    /// # Errors
    /// [`MintError`]. Nothing is handed out then.
    pub fn mint_many(&self, count: u64) -> Result<Texts, MintError> {
        check_count(count)?;
        let Source::Numbers(handle) = &self.source else { return self.put(count) };
        let mut texts = Texts::default();
        while let Some(missing) = self.missing(&texts, count)? {
            self.write(handle.mint_many(missing)?, &mut texts)?;
        }
        Ok(texts)
    }

    /// `count` IDs if that needs no wait: never for a registered kind.
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

    /// [`mint_many`](Self::mint_many) in a future, on any runtime, as [`mint_async`](Self::mint_async) is.
    ///
    /// # Errors
    /// [`MintError`].
    pub async fn mint_many_async(&self, count: u64) -> Result<Texts, MintError> {
        check_count(count)?;
        let Source::Numbers(handle) = &self.source else { return self.put(count) };
        let mut texts = Texts::default();
        while let Some(missing) = self.missing(&texts, count)? {
            self.write(Box::pin(handle.mint_many_async(missing)).await?, &mut texts)?;
        }
        Ok(texts)
    }

    /// How many of `count` are still to be minted: a form may leave out numbers, as Sqids does for which every text has a
    /// blocked word.
    ///
    /// # Errors
    /// `Exhausted` where it leaves out all but a few.
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

    /// Numbers in the form, behind those that are there.
    fn write(&self, minted: Minted, texts: &mut Texts) -> Result<(), MintError> {
        match minted {
            Minted::Numbers(ids) => self.show(ids, |id| Some(id.get().into()), texts),
            Minted::Wide(ids) => self.show(ids, |id| Some(id.get()), texts),
            Minted::Dated(ids) => self.show(ids, |id| id.number().map(|number| number.get().into()), texts),
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
        let number =
            |bytes: &[u8]| Some(bytes.iter().fold(0, |number, byte| number << 8 | u128::from(*byte)));
        let mut minted = Texts::default();
        let texts = &mut minted;
        match &self.source {
            // Their handle mints them.
            Source::Numbers(_) => Ok(()),
            Source::Uuid4(ids) => self.show(ids.mint_many(count)?, |id| number(&id.to_bytes()), texts),
            Source::Uuid7(ids) => self.show(ids.mint_many(count)?, |id| number(&id.to_bytes()), texts),
            Source::Ulid(ids) => self.show(ids.mint_many(count)?, |id| number(&id.to_bytes()), texts),
            Source::ObjectId(ids) => self.show(ids.mint_many(count)?, |id| number(&id.to_bytes()), texts),
            Source::Ksuid(ids) => self.show(ids.mint_many(count)?, |_| None, texts),
            Source::NanoId(ids) => self.show(ids.mint_many(count)?, |_| None, texts),
            Source::Registered(kind) => kind.put(count, texts),
        }?;
        match minted.len() as u64 == count {
            true => Ok(minted),
            false => Err(MintError::Stopped(format!(
                "the registered kind of {} made {} IDs where {count} were asked for",
                self.name,
                minted.len()
            ))),
        }
    }

    /// IDs in the form, or in their own where there is none.
    fn show<I: fmt::Display>(
        &self,
        ids: impl IntoIterator<Item = I>,
        number: impl Fn(&I) -> Option<u128>,
        texts: &mut Texts,
    ) -> Result<(), MintError> {
        let mut buffer = Buffer::new();
        for id in ids {
            let Some(form) = &self.form else {
                texts.put(&id);
                continue;
            };
            let number = number(&id).ok_or_else(|| {
                MintError::Stopped(format!("{id} is no number, and the form {form} writes numbers"))
            })?;
            match form.encode(number, &mut buffer) {
                Ok(text) => texts.put_str(text),
                Err(FormError::Blocked { .. }) => texts.left_out += 1,
                Err(error) => return Err(self.used_up(form, &error)),
            }
        }
        Ok(())
    }
}

impl Texts {
    /// How many bytes of memory they take.
    pub fn bytes(&self) -> usize {
        self.text.capacity() + self.ends.capacity() * size_of::<usize>()
    }

    /// The same, with something that is dropped when they are: their part of what may be held at once.
    #[must_use]
    pub fn with_guard(self, guard: impl Any + Send + Sync) -> Self {
        Self { guard: Some(Arc::new(guard)), ..self }
    }

    /// The next one.
    pub fn next_text(&mut self) -> Option<&str> {
        let end = *self.ends.get(self.next)?;
        let begun =
            self.next.checked_sub(1).map_or(0, |last| self.ends.get(last).copied().unwrap_or_default());
        self.next += 1;
        self.text.get(begun..end)
    }

    fn put(&mut self, id: &impl fmt::Display) {
        // Writing to memory does not fail.
        let _ = write!(self.text, "{id}");
        self.ends.push(self.text.len());
    }

    fn put_str(&mut self, id: &str) {
        self.text.push_str(id);
        self.ends.push(self.text.len());
    }
}

impl Iterator for Texts {
    type Item = Box<str>;

    fn next(&mut self) -> Option<Box<str>> {
        self.next_text().map(Box::from)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.ends.len() - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Texts {}

impl fmt::Debug for TextMinter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextMinter")
            .field("name", &self.name)
            .field("form", &self.form)
            .finish_non_exhaustive()
    }
}
