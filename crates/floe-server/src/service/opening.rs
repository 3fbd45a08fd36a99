//! How a name comes to be served: found, or bound within the bounds of those that come into being by themselves.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use floe::ledger::LedgerError;
use floe::{DefineError, Definition, Name};
use tokio::time::timeout;

use super::names::{self, Wire};
use super::{Asked, Births, Known, OpenName, RETRY, Service, report};
use crate::access::Caller;
use crate::config::NewNames;
use crate::status::{Refusal, Status};

impl Service {
    pub(super) async fn opened(
        self: &Arc<Self>,
        caller: &Caller,
        wire: Wire,
        name: &str,
    ) -> Result<Arc<OpenName>, Refusal> {
        self.opened_from(caller, wire, name, None).await
    }

    /// [`opened`](Self::opened) for a call that gives the name its `first` number, where it is new.
    pub(super) async fn opened_from(
        self: &Arc<Self>,
        caller: &Caller,
        wire: Wire,
        name: &str,
        first: Option<u64>,
    ) -> Result<Arc<OpenName>, Refusal> {
        match self.find(name) {
            Some(known) => known.open(),
            None => self.open_name(caller, wire, name, first).await,
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<Known> {
        self.open.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Opens a name that is not open yet, within the time that a call may wait.
    pub(super) async fn open_name(
        self: &Arc<Self>,
        caller: &Caller,
        wire: Wire,
        name: &str,
        first: Option<u64>,
    ) -> Result<Arc<OpenName>, Refusal> {
        let name = Name::new(name).map_err(|error| Refusal::bad(format!("{error}.")))?;
        let opening = async {
            let births = Arc::clone(&self.opening).lock_owned().await;
            if let Some(known) = self.find(name.as_str()) {
                return known.open();
            }
            let (service, caller, name) = (Arc::clone(self), caller.clone(), name.clone());
            // The lock goes along: a call that stops waiting leaves the opening to end by itself.
            let mut births = births;
            let task = tokio::task::spawn_blocking(move || {
                let asked = Asked { caller: &caller, wire, name: &name, first };
                service.open_blocking(&asked, &mut births)
            });
            task.await.unwrap_or_else(|error| {
                Err(Refusal::new(Status::Stopped, format!("opening the name failed: {error}")))
            })
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

    fn open_blocking(&self, asked: &Asked<'_>, births: &mut Births) -> Result<Arc<OpenName>, Refusal> {
        let &Asked { caller, wire, name, .. } = asked;
        let rule = self.rules.of(name).inspect_err(|_| self.tell_of_refused(asked, births, false))?;
        let stored = match (&rule, self.floe.ledger().definition(name)) {
            // It needs no ledger to mint: whether the ledger knows it matters to the log alone.
            (names::Rule::Listed(settings), Err(LedgerError::Unavailable(_)))
                if !settings.definition.kind().is_number() && self.new_names != NewNames::Refuse =>
            {
                Some(settings.definition.to_string())
            }
            (_, stored) => stored.map_err(|error| self.refuse_to_open(name, error.into()))?,
        };
        let (new, first_use) = (stored.is_none(), matches!(rule, names::Rule::FirstUse(_)));
        let (definition, taste, first) = match rule {
            // What a rule says holds, also against the ledger: a difference is shown, not hidden.
            names::Rule::Listed(settings) | names::Rule::FirstUse(Some(settings)) => {
                (settings.definition.clone(), settings.taste.clone(), settings.first)
            }
            names::Rule::FirstUse(None) => {
                let stored = stored.map(|text| text.parse::<Definition>()).transpose();
                let stored = stored.map_err(|error| self.refuse_to_open(name, error.into()))?;
                let natural = || Definition::called(name.as_str()).unwrap_or_else(|| wire.natural());
                (stored.unwrap_or_else(natural), floe::Taste::default(), None)
            }
        };
        wire.admits(name.as_str(), &definition)?;
        if new {
            self.may_be_born(asked, &definition, first, births)?;
        }
        if first_use {
            if new {
                self.room_with(caller, name)?;
            }
            self.room_for(name, new, births)?;
        }
        let handle =
            self.floe.define(name, &definition, &taste).map_err(|error| self.refuse_to_open(name, error))?;
        // Also of a name that was bound before: whoever bound it may have ended before it did this. A larger number that
        // the call gives is left to the call.
        let first = first.filter(|first| asked.first.is_none_or(|asked| asked <= *first));
        if let Some(first) = first {
            self.floe.begin_at(&handle, first).map_err(|error| self.refuse_to_open(name, error))?;
        }
        let open = Arc::new(OpenName {
            handle,
            last: AtomicU64::new(0),
            min_step: taste.min_step,
            metrics: self.metrics.name(name.as_str()),
            stop_logged: AtomicBool::new(false),
        });
        self.remember(name, Known::Open(Arc::clone(&open)));
        if first_use {
            self.on_first_use.fetch_add(1, Ordering::AcqRel);
        }
        match (new, first_use) {
            (true, _) => self.tell_of_birth(asked, &definition, first.or(asked.first), births),
            (false, true) => tracing::info!(%name, %definition, "a name came into use"),
            (false, false) => {}
        }
        Ok(open)
    }

    /// Holds the number of names that come into being on first use to `limits.max_names`: those of this process,
    /// and, before the ledger gets another one, all that it holds.
    fn room_for(&self, name: &Name, new: bool, births: &mut Births) -> Result<(), Refusal> {
        let full = |what: &str| {
            Refusal::new(
                Status::Exhausted,
                format!(
                    "the name `{name}` cannot come into being: {what} {} names that were created on first use, which is the bound; raise limits.max_names, or list the name in a configuration file",
                    self.max_names
                ),
            )
        };
        if self.on_first_use.load(Ordering::Acquire) >= self.max_names {
            return Err(full("this server has"));
        }
        if new {
            let bound = match births.bound {
                Some(bound) => bound,
                None => self.count_bound("", self.max_names + self.rules.listed().count())?,
            };
            if bound >= self.max_names + self.rules.listed().count() {
                return Err(full("the ledger has"));
            }
            births.bound = Some(bound + 1);
        }
        Ok(())
    }

    /// Holds the number of names that a token's patterns cover to its own bound, before the ledger gets another one: one
    /// bearer is not to use up what is for all.
    fn room_with(&self, caller: &Caller, name: &Name) -> Result<(), Refusal> {
        let Some((most, beginnings)) = caller.most_names() else { return Ok(()) };
        let mut count = 0;
        for beginning in beginnings {
            count += self.count_bound(beginning, most.saturating_sub(count))?;
        }
        if count < most {
            return Ok(());
        }
        Err(Refusal::new(
            Status::Exhausted,
            format!(
                "the name `{name}` cannot come into being: there are {most} names already that the token `{caller}` covers by its patterns; raise max_names of that [[token]], or list the name in a configuration file"
            ),
        ))
    }

    /// How many names the ledger holds that begin so, counted no further than `enough`.
    fn count_bound(&self, beginning: &str, enough: usize) -> Result<usize, Refusal> {
        let mut count = 0;
        let mut after = beginning.to_owned();
        while count < enough {
            let page = self.floe.ledger().names(&after, 1000).map_err(|error| report::unreadable(&error))?;
            let found = page.iter().take_while(|(name, _)| name.starts_with(beginning));
            count += found.filter(|(name, _)| !Name::is_of_key(name)).count();
            match page.into_iter().next_back() {
                Some((last, _)) if last.starts_with(beginning) => after = last,
                _ => break,
            }
        }
        Ok(count)
    }

    fn remember(&self, name: &Name, known: Known) {
        self.open.write().unwrap_or_else(PoisonError::into_inner).insert(name.as_str().into(), known);
    }

    pub(super) fn refuse_to_open(&self, name: &Name, error: DefineError) -> Refusal {
        let detail = error.to_string();
        match error {
            DefineError::Name(_) => Refusal::bad(detail),
            DefineError::Mismatch { .. } | DefineError::AnotherKey { .. } => {
                self.remember(name, Known::Mismatch(detail.as_str().into()));
                Refusal::new(Status::Stopped, detail)
            }
            DefineError::Unavailable(_) => Refusal::for_now(Status::Unavailable, detail, RETRY),
            // What the configuration says of the name cannot be served: no request is to blame.
            DefineError::Definition(_) | DefineError::Invalid(_) => Refusal::new(Status::Stopped, detail),
            // And whatever a later version of the library adds.
            _ => {
                self.stopped.notify_one();
                Refusal::new(Status::Stopped, detail)
            }
        }
    }
}
