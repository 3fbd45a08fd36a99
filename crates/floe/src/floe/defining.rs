//! How a name comes into service: what can be known is checked, the ledger binds it, and the node gets what it mints from.

use std::collections::HashMap;
use std::sync::Arc;

use super::Floe;
use crate::counter::{Counter, Dated};
use crate::definition::{Definition, DefinitionError, NoPosition};
use crate::form::Form;
use crate::generator::Generator;
use crate::handle::{Handle, TextMinter};
use crate::keys::{check_keys, key_names, same_key, same_keys};
use crate::layout::{Layout, Width, Workers};
use crate::ledger::{self, Key};
use crate::mutation::mutate;
use crate::name::Name;
use crate::node::{CounterQueue, SegmentState, Steps};
use crate::opening::DefineError;
use crate::segment::Segment;
use crate::settings::{NameOptions, WorkerChoice};
use crate::shared_cursor::SharedCursor;
use crate::stream::{Start, Stream};
use crate::supply::SegmentSupply;
use crate::sync::lock_std as lock;
use crate::time::millis;
use crate::{Id, WideId};

impl Floe {
    /// `define`, which calls `before` just before the name is bound, when only the ledger can still refuse it.
    pub(super) fn define_then(
        &self,
        name: &Name,
        definition: &Definition,
        options: &NameOptions,
        before: impl FnOnce() -> Result<(), DefineError>,
    ) -> Result<Handle, DefineError> {
        definition.check()?;
        if let Some(handle) = served(&lock(&self.inner.names), name, definition)? {
            return Ok(handle);
        }
        self.check(definition, options)?;
        // Before the name is bound, since a binding is permanent. Without the lock, since `make` may define names
        // itself.
        let registered = self.make(name, definition)?;
        self.bind_with_keys(name, definition, before)?;
        // Under the lock, so that two threads never make two supplies for one name.
        let mut names = lock(&self.inner.names);
        if let Some(handle) = served(&names, name, definition)? {
            return Ok(handle);
        }
        let handle = match registered {
            Some(minter) => Handle::new(minter, definition.clone()),
            None => self.serve(name, definition, options)?,
        };
        names.insert(name.clone(), handle.clone());
        Ok(handle)
    }

    /// Binds a name and its sealing key, after it has called `before`. A name that cannot be served is refused before
    /// anything is written.
    ///
    /// # Errors
    /// `Stopped`, `Retired`, `AnotherKey`, `Mismatch`, `Unavailable`.
    pub(super) fn bind_with_keys(
        &self,
        name: &Name,
        definition: &Definition,
        before: impl FnOnce() -> Result<(), DefineError>,
    ) -> Result<(), DefineError> {
        if let Some(cause) = self.inner.shared.node().stopped() {
            return Err(DefineError::Stopped(cause.to_owned()));
        }
        if let Some(since) = self.heard(ledger::retired(self.ledger(), name))? {
            return Err(DefineError::Retired { name: name.clone(), since });
        }
        check_keys(name, definition, |key| self.heard(self.ledger().definition(key)))?;
        before()?;
        self.bind(name, definition)?;
        self.bind_key(name, definition)
    }

    fn bind(&self, name: &Name, definition: &Definition) -> Result<(), DefineError> {
        let text = definition.to_string();
        let marked = definition.kind().is_counted();
        let stored = self.bind_text(name, &text, marked)?;
        let agrees = mutate!(stored == text, FingerprintIgnored => true);
        if agrees { Ok(()) } else { Err(mismatch(name, &stored, definition)) }
    }

    fn bind_text(&self, name: &Name, text: &str, marked: bool) -> Result<String, DefineError> {
        Ok(self.heard(self.ledger().bind(name, text, marked))?)
    }

    /// Binds the sealing key of a name to its check value, if its texts name the key. With two keys under one id, two
    /// nodes would write one text for two numbers. A key that only opens texts is bound by the node that seals with
    /// it.
    fn bind_key(&self, name: &Name, definition: &Definition) -> Result<(), DefineError> {
        let sealing = definition.form().and_then(Form::sealing_key);
        for (id, key, text) in key_names(name, definition)? {
            if Some(id) == sealing {
                same_key(name, &key, &self.bind_text(&key, &text, false)?, &text)?;
            }
        }
        Ok(())
    }

    /// The minter of a registered kind; `None` for every other.
    fn make(&self, name: &Name, definition: &Definition) -> Result<Option<TextMinter>, DefineError> {
        let Definition::Registered(registered) = definition else { return Ok(None) };
        self.inner.kinds.make(name, registered, self).map(Some).map_err(DefineError::Invalid)
    }

    fn serve(
        &self,
        name: &Name,
        definition: &Definition,
        options: &NameOptions,
    ) -> Result<Handle, DefineError> {
        if let Some(minter) = TextMinter::ledgerless(name, definition)? {
            return Ok(Handle::new(minter, definition.clone()));
        }
        if let Definition::Formed(inner, form) = definition {
            let numbers = self.serve(name, inner, options)?;
            return Ok(Handle::new(TextMinter::formed(name, numbers, form), definition.clone()));
        }
        let shared = self.link();
        Ok(match definition {
            Definition::Snowflake { layout, own } => {
                let stream = self.stream(layout, *own, options)?;
                match layout.width() {
                    Width::Wide => Handle::new(
                        Generator::<WideId>::new(name.clone(), stream, shared),
                        definition.clone(),
                    ),
                    Width::Narrow => {
                        Handle::new(Generator::<Id>::new(name.clone(), stream, shared), definition.clone())
                    }
                }
            }
            Definition::Segment { increment, offset } => {
                let steps =
                    Steps { min: options.min_step, max: options.max_step, refill_ms: millis(options.refill) };
                let cursor = SharedCursor::new(0, Arc::clone(&shared.signal));
                let numbers = Arc::new(SegmentSupply::new(*increment, *offset, cursor));
                shared.node().add_segment(SegmentState::new(Key::name(name), Arc::clone(&numbers), steps));
                Handle::new(Segment::new(name.clone(), numbers, shared), definition.clone())
            }
            Definition::Counter => {
                shared.node().add_queue(CounterQueue::new(name.clone(), None));
                Handle::new(Counter::new(name.clone(), shared), definition.clone())
            }
            Definition::Dated(shape) => {
                let shape = Arc::new(shape.clone());
                let queue = CounterQueue::new(name.clone(), Some(Arc::clone(&shape)));
                shared.node().add_queue(queue);
                Handle::new(Dated::new(name.clone(), shape, shared), definition.clone())
            }
            other => return Err(DefineError::Invalid(format!("{other} has no ledger to mint from"))),
        })
    }

    /// Finds every failure that can be known before the name is bound, since a binding is permanent.
    fn check(&self, definition: &Definition, options: &NameOptions) -> Result<(), DefineError> {
        check_form(definition)?;
        match definition.unformed() {
            Definition::Snowflake { layout, own } => {
                let (start, ahead_ms) = self.start(layout, options);
                Stream::check_start(layout, start, ahead_ms).map_err(DefineError::Invalid)?;
                self.check_times(layout, ahead_ms)?;
                self.workers(layout)?;
                match lock(&self.inner.streams).get(layout) {
                    Some(stream) if !own => same_options(stream, start, ahead_ms),
                    _ => Ok(()),
                }
            }
            Definition::Segment { .. } if options.min_step == 0 || options.min_step > options.max_step => {
                let NameOptions { min_step, max_step, .. } = options;
                Err(DefineError::Invalid(format!(
                    "min_step {min_step} must be from 1 to max_step {max_step}"
                )))
            }
            _ => Ok(()),
        }
    }

    fn start(&self, layout: &Layout, options: &NameOptions) -> (Start, u64) {
        let ahead_ms = millis(options.max_ahead);
        let start = options.start.or(self.inner.start);
        (start.unwrap_or_else(|| Stream::default_start(layout, ahead_ms)), ahead_ms)
    }

    /// The stream that the names of a layout share, or a new one if the name has its own.
    fn stream(&self, layout: &Layout, own: bool, options: &NameOptions) -> Result<Arc<Stream>, DefineError> {
        let shared = &self.inner.shared;
        let (start, ahead_ms) = self.start(layout, options);
        let mut streams = lock(&self.inner.streams);
        if let Some(stream) = streams.get(layout).filter(|_| !own) {
            same_options(stream, start, ahead_ms)?;
            return Ok(Arc::clone(stream));
        }
        let workers = self.workers(layout)?;
        let mut node = shared.node();
        let seed = node.random();
        let stream = Stream::new(layout.clone(), start, ahead_ms, seed, Arc::clone(&shared.signal));
        let stream = Arc::new(stream);
        node.add_stream(workers, Arc::clone(&stream));
        if !own {
            streams.insert(layout.clone(), Arc::clone(&stream));
        }
        Ok(stream)
    }

    fn check_times(&self, layout: &Layout, ahead_ms: u64) -> Result<(), DefineError> {
        let shared = &self.inner.shared;
        let now = shared.clock.look();
        if now.refusal().is_none() {
            layout.check_epoch(now.stamp.time()).map_err(DefinitionError::Layout)?;
        }
        let least = (layout.tick_millis() * 2).saturating_add(ahead_ms);
        if shared.window_ms < least {
            return Err(DefineError::Invalid(format!(
                "the window of {} ms is too short for ticks of {} ms that run {ahead_ms} ms ahead: make it at least {least} ms",
                shared.window_ms,
                layout.tick_millis()
            )));
        }
        Ok(())
    }

    fn workers(&self, layout: &Layout) -> Result<Workers, DefineError> {
        let bits = layout.worker_bits();
        let workers = match &self.inner.workers {
            WorkerChoice::Auto => Workers::all(bits),
            WorkerChoice::Fixed(worker) => {
                layout.check_worker(*worker).and_then(|()| Workers::one(bits, *worker))
            }
            WorkerChoice::Pinned(fields) => layout.pinned(fields),
            WorkerChoice::Pool(pool) => Workers::range(bits, pool.clone()),
        };
        Ok(workers.map_err(DefinitionError::Layout)?)
    }
}

/// # Errors
/// `Invalid` if nothing can be written in the form.
pub(super) fn check_form(definition: &Definition) -> Result<(), DefineError> {
    match definition.form().filter(|form| !form.can_encode()) {
        None => Ok(()),
        Some(form) => Err(DefineError::Invalid(format!(
            "the form \"{form}\" is sealed, and this process was not given its key"
        ))),
    }
}

/// # Errors
/// `Invalid` if the name cannot begin at `first`.
pub(super) fn begin_position(name: &Name, definition: &Definition, first: u64) -> Result<u64, DefineError> {
    definition.begin_position(first).map_err(|error| match error {
        NoPosition::Uncounted(_) => DefineError::Invalid(format!(
            "{name} is a {} name, which has no first number: a segment and a counter have one",
            definition.kind_name()
        )),
        error => DefineError::Invalid(format!("{name} cannot begin at {first}: {error}")),
    })
}

/// The handle of a name that is served already.
///
/// # Errors
/// `Mismatch` or `AnotherKey` if it is served by another definition, or with other keys; `Invalid` if it seals with another
/// one of the same keys.
pub(super) fn served(
    names: &HashMap<Name, Handle>,
    name: &Name,
    definition: &Definition,
) -> Result<Option<Handle>, DefineError> {
    let Some(handle) = names.get(name) else { return Ok(None) };
    let served = handle.definition();
    let text = served.to_string();
    if text != definition.to_string() {
        return Err(mismatch(name, &text, definition));
    }
    same_keys(name, served, definition)?;
    // The text leaves out which of its keys a form seals with, so that keys can be replaced.
    if served != definition {
        return Err(DefineError::Invalid(format!(
            "the name {name} is served already, and seals with another key: unload it before it is defined with this one"
        )));
    }
    Ok(Some(handle.clone()))
}

fn mismatch(name: &Name, stored: &str, configured: &Definition) -> DefineError {
    DefineError::Mismatch {
        name: name.clone(),
        stored: stored.to_owned(),
        configured: configured.to_string(),
    }
}

/// # Errors
/// `Invalid` if a name would share a generator that mints with other options.
fn same_options(stream: &Stream, start: Start, ahead_ms: u64) -> Result<(), DefineError> {
    if stream.start == start && stream.ahead_ms() == ahead_ms {
        return Ok(());
    }
    Err(DefineError::Invalid(format!(
        "names that share the layout \"{}\" share its generator, so they need the same start and max_ahead: here {start} and {ahead_ms} ms, elsewhere {} and {} ms. Make them equal, or give the name `own = true`",
        stream.layout,
        stream.start,
        stream.ahead_ms()
    )))
}
