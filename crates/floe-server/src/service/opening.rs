//! How a name is opened: it is found, or made within the limits for new names.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use floe::ledger::{Beginning, LedgerError};
use floe::{DefineError, Definition, Kind, Name};
use tokio::time::timeout;

use super::call::Call;
use super::names;
use super::raise::position;
use super::{Asked, Known, NameBudget, OpenName, RETRY, Service, endings, report};
use crate::access::Caller;
use crate::config::NewNames;
use crate::status::{Refusal, Status};

/// An open name, and what came of the first number that the call gave it.
pub(super) type Opened = (Arc<OpenName>, Option<Beginning>);

impl Service {
    pub(super) async fn opened(
        self: &Arc<Self>,
        caller: &Caller,
        call: &'static Call,
        name: &str,
    ) -> Result<Arc<OpenName>, Refusal> {
        Ok(self.opened_from(caller, call, name, None).await?.0)
    }

    /// [`opened`](Self::opened) for a call that gives a new name its `first` number. Returns what came of it; `None`
    /// if the name existed before, or has a larger first number in the configuration.
    pub(super) async fn opened_from(
        self: &Arc<Self>,
        caller: &Caller,
        call: &'static Call,
        name: &str,
        first: Option<u64>,
    ) -> Result<Opened, Refusal> {
        match self.find(name) {
            Some(known) => Ok((known.open()?, None)),
            None => self.open_name(caller, call, name, first).await,
        }
        .map_err(|refusal| refusal.told(caller.sees_inside()))
    }

    /// Refuses a name under which the call would not mint. It makes no name, and does not ask the ledger.
    ///
    /// # Errors
    /// A [`Refusal`], as for minting.
    pub(crate) fn check_mintable(
        &self,
        caller: &Caller,
        call: &'static Call,
        name: &str,
    ) -> Result<(), Refusal> {
        caller.check_name(name)?;
        if let Some(known) = self.find(name) {
            return call.admits(name, known.open()?.handle.definition());
        }
        let named = Name::new(name).map_err(|error| Refusal::bad(format!("{error}.")))?;
        match self.rules.of(&named)? {
            names::Rule::Listed(settings) | names::Rule::FirstUse(Some(settings)) => {
                call.admits(name, &settings.definition)
            }
            names::Rule::FirstUse(None) => Ok(()),
        }
    }

    /// At most `limit` of the names that the configuration lists under which the call would mint for the caller.
    pub(crate) fn mintable(&self, caller: &Caller, call: &'static Call, limit: usize) -> Vec<Vec<u8>> {
        let mintable = self.rules.listed().filter(|(name, definition)| {
            caller.sees(name.as_str()) && call.admits(name.as_str(), definition).is_ok()
        });
        mintable.take(limit).map(|(name, _)| name.as_str().as_bytes().to_vec()).collect()
    }

    pub(super) fn find(&self, name: &str) -> Option<Known> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// All names that are open.
    pub(super) fn names_open_here(&self) -> Vec<Arc<OpenName>> {
        let known = self.open.read().unwrap_or_else(PoisonError::into_inner);
        let open = known.values().filter_map(|known| match known {
            Known::Open(open) => Some(Arc::clone(open)),
            Known::Mismatch(_) => None,
        });
        open.collect()
    }

    /// Opens a name that is not open yet, within the time that a call may wait.
    pub(super) async fn open_name(
        self: &Arc<Self>,
        caller: &Caller,
        call: &'static Call,
        name: &str,
        first: Option<u64>,
    ) -> Result<Opened, Refusal> {
        let name = Name::new(name).map_err(|error| Refusal::bad(format!("{error}.")))?;
        let opening = async {
            let budget = Arc::clone(&self.opening).lock_owned().await;
            if let Some(known) = self.find(name.as_str()) {
                return Ok((known.open()?, None));
            }
            let (caller, name) = (caller.clone(), name.clone());
            // The lock moves into the task: if the call stops waiting, the opening still finishes.
            let mut budget = budget;
            self.on_a_thread(move |service| {
                let asked = Asked { caller: &caller, call, name: &name, first };
                service.open_blocking(&asked, &mut budget)
            })
            .await
        };
        let late = || {
            let detail = format!(
                "the name `{name}` could not be opened within {} ms, the ledger is slow to answer: ask again",
                self.max_wait.as_millis()
            );
            Refusal::for_now(Status::Busy, detail, RETRY)
        };
        timeout(self.max_wait, opening).await.unwrap_or_else(|_| Err(late()))
    }

    fn open_blocking(&self, asked: &Asked<'_>, budget: &mut NameBudget) -> Result<Opened, Refusal> {
        let &Asked { caller, call, name, .. } = asked;
        let rule = self
            .rules
            .of(name)
            .inspect_err(|refusal| self.log_refused_name(asked, budget, refusal.whole(), false))?;
        let stored = match (&rule, self.floe.ledger().definition(name)) {
            // It needs no ledger to mint, so only the log needs to know whether the ledger has it.
            (names::Rule::Listed(settings), Err(LedgerError::Unavailable(_)))
                if !settings.definition.needs_ledger() && self.new_names != NewNames::Refuse =>
            {
                Some(settings.definition.to_string())
            }
            (_, stored) => stored.map_err(|error| {
                self.floe.on_ledger_error(&error);
                self.refuse_to_open(name, error.into())
            })?,
        };
        let (new, first_use) = (stored.is_none(), matches!(rule, names::Rule::FirstUse(_)));
        let (definition, options, first) = match rule {
            // The configuration's definition is used, even if the ledger has another. The difference is then reported, not hidden.
            names::Rule::Listed(settings) | names::Rule::FirstUse(Some(settings)) => {
                (settings.definition.clone(), settings.options.clone(), settings.first)
            }
            names::Rule::FirstUse(None) => {
                let stored = stored.map(|text| text.parse::<Definition>()).transpose();
                let stored = stored.map_err(|error| self.refuse_to_open(name, error.into()))?;
                let natural = || Definition::called(name.as_str()).unwrap_or_else(|| call.natural.clone());
                (stored.unwrap_or_else(natural), floe::NameOptions::default(), None)
            }
        };
        call.admits(name.as_str(), &definition)?;
        if new {
            self.may_be_made(asked, &definition, first, budget)?;
            // If the call will be refused for its number, it must make nothing. Each period of a dated name begins at 1 anyway.
            if let Some(first) = asked.first.filter(|first| *first > 1 || definition.kind() != Kind::DATED) {
                position(name, &definition, first)?;
            }
        }
        if first_use {
            if new {
                if matches!(name.as_str(), "." | "..") {
                    return Err(Refusal::unknown_name(format!(
                        "`{name}` is a step in a path, so no such name is made: use another name"
                    )));
                }
                self.check_limits(caller, name, budget)?;
            }
            self.make_room(name)?;
        }
        let last_day = if first_use { self.last_day(name, &definition, new)? } else { None };
        // The larger number of the configuration and the call is safe for both. The configured number also applies to
        // a name that was bound before and never raised; a larger one of the call is then left to the call.
        let is_counted = definition.position_of(0).is_some();
        let asked_first = asked.first.filter(|asked| is_counted && first.is_none_or(|first| first <= *asked));
        let first = if asked_first.is_some() { asked_first.filter(|_| new) } else { first };
        let defined = match first {
            None => self.floe.define(name, &definition, &options).map(|handle| (handle, None)),
            Some(first) => self
                .floe
                .define_from(name, &definition, &options, first)
                .map(|(handle, begun)| (handle, Some(begun))),
        };
        let (handle, begun) = match defined {
            // Its definition is in the configuration, and its IDs are unique without the ledger.
            Err(DefineError::Unavailable(_)) if !first_use && !new && !definition.needs_ledger() => {
                let handle = self.floe.define_unbound(name, &definition);
                let handle = handle.map_err(|error| self.refuse_to_open(name, error))?;
                lock(&self.unbound).push((name.clone(), definition.clone()));
                self.has_unbound.notify_one();
                tracing::warn!(%name, %definition, "the name is served, and is bound when the ledger answers");
                (handle, None)
            }
            defined => defined.map_err(|error| self.refuse_to_open(name, error))?,
        };
        if let (Some(first), Some(Beginning::Earlier { mark })) = (first, begun)
            && let Some(next) = definition.number_at(mark).filter(|next| *next < first)
        {
            tracing::warn!(
                %name, first, next,
                "the name began below its first number, so `first` has no effect now: stop every server, then run floe marks raise {name} --to {first}"
            );
        }
        let open = Arc::new(OpenName {
            handle,
            listed: !first_use,
            seen: AtomicU64::new(u64::MAX),
            last_day,
            last: AtomicU64::new(0),
            min_step: options.min_step,
            text_bytes: AtomicUsize::new(super::TEXT_BYTES),
            metrics: self.metrics.name(name.as_str()),
            stop_logged: AtomicBool::new(false),
            ended: OnceLock::new(),
        });
        self.remember(name, Known::Open(Arc::clone(&open)));
        if new {
            self.metrics.names_created.inc();
        }
        match (new, first_use) {
            (true, _) => self.log_new_name(asked, &definition, first, budget),
            // It may come and go many times a second.
            (false, true) => tracing::debug!(%name, %definition, "a name came into use"),
            (false, false) => {}
        }
        Ok((open, begun.filter(|_| asked_first.is_some() && new)))
    }

    /// How many names with this prefix the ledger holds that have not ended, counted up to `enough`.
    pub(super) fn count_bound(&self, beginning: &str, enough: usize) -> Result<usize, Refusal> {
        let ledger = self.floe.ledger();
        let unreadable = |error| self.unreadable(&error);
        let mut ended = endings::retired_names(ledger, beginning).map_err(unreadable)?;
        let mut count = 0;
        // The last name that was counted: a note of its end comes right after it.
        let mut counted: Option<String> = None;
        let mut after = beginning.to_owned();
        while count < enough {
            let page = ledger.names(&after, 1000).map_err(unreadable)?;
            for (name, text) in page.iter().take_while(|(name, _)| name.starts_with(beginning)) {
                if !Name::is_note(name) {
                    counted = ended.remove(name.as_str()).is_none().then(|| name.clone());
                    count += usize::from(counted.is_some());
                } else if self.is_past_note(name, text) {
                    let is_of =
                        |counted: &String| name.strip_prefix(counted.as_str()).is_some_and(Name::is_note);
                    // A name that was also retired was not counted.
                    count -= usize::from(counted.take_if(|counted| is_of(counted)).is_some());
                }
            }
            match page.into_iter().next_back() {
                Some((last, _)) if last.starts_with(beginning) => after = last,
                _ => break,
            }
        }
        Ok(count)
    }

    /// Binds the names that were served before the ledger answered, as soon as it answers. It never ends. A name that
    /// has another definition in the ledger is stopped.
    pub(crate) async fn bind_late(self: &Arc<Self>) -> ! {
        loop {
            while lock(&self.unbound).is_empty() {
                self.has_unbound.notified().await;
            }
            let service = Arc::clone(self);
            let bound = tokio::task::spawn_blocking(move || service.bind_one_late()).await;
            if !matches!(bound, Ok(true)) {
                tokio::time::sleep(RETRY).await;
            }
        }
    }

    /// Binds the first of the names that are to be bound; whether there was an answer.
    fn bind_one_late(&self) -> bool {
        let Some((name, definition)) = lock(&self.unbound).first().cloned() else { return true };
        match self.floe.bind_late(&name, &definition) {
            Ok(()) => tracing::info!(%name, "the name is bound"),
            Err(DefineError::Unavailable(_)) => return false,
            Err(error) => {
                tracing::error!(%name, %definition, "the name is stopped: {error}");
                let open = self.find(name.as_str()).and_then(|known| known.open().ok());
                // The error for later callers; this also finds out whether the whole server must stop.
                let refusal = self.refuse_to_open(&name, error);
                if let Some(open) = open {
                    // It is set once: a name is bound late once.
                    let _ = open.ended.set(refusal);
                }
            }
        }
        lock(&self.unbound).retain(|(unbound, _)| *unbound != name);
        true
    }

    pub(super) fn remember(&self, name: &Name, known: Known) {
        self.open.write().unwrap_or_else(PoisonError::into_inner).insert(name.as_str().into(), known);
    }

    pub(super) fn refuse_to_open(&self, name: &Name, error: DefineError) -> Refusal {
        let detail = error.to_string();
        match error {
            DefineError::Name(_) => Refusal::bad(detail),
            DefineError::Mismatch { .. } | DefineError::AnotherKey { .. } => {
                self.remember(name, Known::Mismatch(detail.as_str().into()));
                Refusal::stopped(detail)
            }
            DefineError::Unavailable(_) => report::unavailable().with_inside(detail),
            DefineError::Retired { .. } => Refusal::exhausted(detail),
            // The configured definition cannot be served, so no request is to blame.
            DefineError::Definition(_) | DefineError::Invalid(_) => Refusal::stopped(detail),
            // And whatever a later version of the library adds.
            _ => {
                self.stopped.notify_one();
                report::stopped(&format!("`{name}`")).with_inside(detail)
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
