//! Names that the ledger does not know yet: whether one may be made, and what the log says of it.
//!
//! A segment or a counter that is new begins at 1. If it replaces another system, or is a misspelled name of this
//! one, it repeats IDs that are in use. So a server that other machines can reach needs the first number, and every
//! new name gets a line in the log. Kinds whose IDs begin with the time, or are random, repeat nothing when they begin.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use floe::ledger::Elsewhere;
use floe::{Definition, Name};
use tokio::time::Instant;

use super::Service;
use super::call::Call;
use super::names::Rule;
use crate::access::Caller;
use crate::config::NewNames;
use crate::status::{Refusal, Status};

/// How many names are compared without case, and how many refused names are logged: both are for people.
const LIKE: usize = 10_000;
/// How many names one question to the ledger brings. Where there are more, they are not read again for so long: a client
/// that makes many must not have all of them read for each.
const PAGE: usize = 1_000;
const LIKE_FOR: Duration = Duration::from_secs(1);
const REFUSED: usize = 1_000;
const WAS_REFUSED: &str = "a name that the ledger does not know was refused (logged once)";
const HOUR: Duration = Duration::from_secs(3_600);

/// What is known of the names that the ledger holds.
#[derive(Default)]
pub(super) struct NameBudget {
    /// When each token's bearers, or all who need none, will have used up what they may make.
    paces: HashMap<String, Instant>,
    /// Names by their lower-case letters, and when they were read from the ledger, since others write to it too.
    like: Option<(Instant, HashMap<String, Box<str>>)>,
    /// New names that were refused and logged.
    refused: HashSet<Box<str>>,
}

/// A name that somebody asks for.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) caller: &'a Caller,
    pub(super) call: &'static Call,
    pub(super) name: &'a Name,
    /// The first number that the call itself gives the name.
    pub(super) first: Option<u64>,
}

impl Service {
    /// Refuses to make a name that the ledger does not know, if the configuration says so.
    ///
    /// # Errors
    /// A [`Refusal`] with the way out.
    pub(super) fn may_be_made(
        &self,
        asked: &Asked<'_>,
        definition: &Definition,
        first: Option<u64>,
        budget: &mut NameBudget,
    ) -> Result<(), Refusal> {
        let (name, kind) = (asked.name, definition.kind());
        let counted = definition.position_of(0).is_some();
        let detail = match self.new_names {
            NewNames::FromOne => return Ok(()),
            NewNames::AskForFirst if !counted || first.or(asked.first).is_some() => return Ok(()),
            NewNames::AskForFirst => format!(
                "there is no name `{name}` yet, and this server makes a new {kind} only if it knows the first number: \
                 set first = N in its [[name]] (N is one more than the largest number in use, or 1 if there is none), \
                 or run floe marks raise \
                 {name} --kind {kind} --to N{}",
                self.with_its_file()
            ),
            NewNames::Refuse => format!(
                "there is no name `{name}` yet, and this server makes none (new_names = \"refuse\"): make it with floe {}",
                match counted {
                    true => format!("marks raise {name} --kind {kind} --to N{}", self.with_its_file()),
                    false => format!("mint {name}{}", self.with_its_file()),
                }
            ),
        };
        self.log_refused_name(asked, budget, &detail, true);
        Err(Refusal::unknown_name(detail))
    }

    /// Limits how fast names are made on first use, and how many a token's patterns cover.
    ///
    /// # Errors
    /// A [`Refusal`] with the way out.
    pub(super) fn check_limits(
        &self,
        caller: &Caller,
        name: &Name,
        budget: &mut NameBudget,
    ) -> Result<(), Refusal> {
        // First what asks the ledger nothing.
        let used_up = self.pace(caller, name, budget)?;
        self.room_with(caller, name)?;
        budget.paces.insert(caller.to_string(), used_up);
        Ok(())
    }

    /// Limits each token's bearers, or all clients without one, to `limits.new_names_per_hour` names made on first
    /// use. They may be made all at once. Returns when they will have used up what they may make with this one.
    ///
    /// # Errors
    /// `Busy` with the time after which one more may.
    fn pace(&self, caller: &Caller, name: &Name, budget: &NameBudget) -> Result<Instant, Refusal> {
        let most = self.new_names_per_hour;
        let (now, each) = (Instant::now(), HOUR / most);
        let used_up = budget.paces.get(&caller.to_string()).copied().unwrap_or(now);
        let next = used_up.max(now) + each;
        let early = (next - now).saturating_sub(HOUR);
        if early.is_zero() {
            return Ok(next);
        }
        self.metrics.names_refused.inc();
        let seconds = early.as_secs() + 1;
        Err(Refusal::for_now(
            Status::Busy,
            format!(
                "the name `{name}` cannot be made now: {caller} has made {most} names within an hour, which is the limit (limits.new_names_per_hour). One more can be made in {seconds} s; a name that a configuration file lists can be made at any time"
            ),
            Duration::from_secs(seconds),
        ))
    }

    /// Checks the limit of names that a token's patterns cover, before the ledger gets another one, so that one
    /// bearer cannot use up what is for all. Ended names do not count.
    fn room_with(&self, caller: &Caller, name: &Name) -> Result<(), Refusal> {
        let Some((most, beginnings)) = caller.most_names() else { return Ok(()) };
        let mut count = 0;
        for beginning in beginnings {
            count += self.count_bound(beginning, most.saturating_sub(count))?;
        }
        if count < most {
            return Ok(());
        }
        self.metrics.names_refused.inc();
        Err(Refusal::exhausted(format!(
            "the name `{name}` cannot be made: the patterns of the token `{caller}` already cover {most} names; raise max_names of that [[token]], list the name in a configuration file, or retire names that are no longer used (floe names retire)"
        )))
    }

    /// The flags that a command needs for this server, without the path of the file, which clients must not see.
    fn with_its_file(&self) -> &'static str {
        if self.rules.has_file() { " --config FILE" } else { "" }
    }

    /// Logs once for a name that it was refused and `why`; `always`, or only if a similar name exists. For a listed
    /// name, the line is an error, and is the one that it gets when the server starts.
    pub(super) fn log_refused_name(
        &self,
        asked: &Asked<'_>,
        budget: &mut NameBudget,
        why: &str,
        always: bool,
    ) {
        let name = asked.name;
        let is_listed = matches!(self.rules.of(name), Ok(Rule::Listed(_)));
        if budget.refused.len() >= REFUSED && !is_listed || budget.refused.contains(name.as_str()) {
            return;
        }
        let near = self.near(name, budget);
        if near.is_none() && !always {
            return;
        }
        budget.refused.insert(name.as_str().into());
        let (by, elsewhere) = (asked.caller.shown(), self.elsewhere(name));
        match is_listed {
            true => tracing::error!(%name, by, near, elsewhere, "{WAS_REFUSED}: {why}"),
            false => tracing::warn!(%name, by, near, elsewhere, "{WAS_REFUSED}: {why}"),
        }
        if budget.refused.len() == REFUSED {
            tracing::warn!("{REFUSED} names were refused: more of them are not logged");
        }
    }

    /// Tells the log that a name was made, and which other name it may have been meant for.
    pub(super) fn log_new_name(
        &self,
        asked: &Asked<'_>,
        definition: &Definition,
        first: Option<u64>,
        budget: &mut NameBudget,
    ) {
        let (name, by) = (asked.name, asked.caller.shown());
        // The first number of a counted name, as it is now in the ledger.
        let first =
            definition.position_of(first.unwrap_or(0)).and_then(|position| definition.number_at(position));
        // Names with time-ordered or random IDs were not raised anywhere.
        let elsewhere = first.and_then(|_| self.elsewhere(name));
        match (self.near(name, budget), elsewhere) {
            (None, None) => tracing::info!(%name, %definition, first, by, "a new name"),
            (near, None) => {
                tracing::warn!(%name, %definition, first, by, near, "a new name, which differs from another only in case");
            }
            (near, elsewhere) => tracing::warn!(
                %name, %definition, first, by, near, elsewhere,
                "a new name, which another realm of this ledger has too: a raise there does not raise it here"
            ),
        }
        if let Some((_, like)) = &mut budget.like
            && like.len() < LIKE
        {
            like.entry(name.as_str().to_lowercase()).or_insert_with(|| name.as_str().into());
        }
    }

    /// Which other realms of the ledger have the name, and what comes next there. If the ledger does not answer, the
    /// log line has no such part.
    fn elsewhere(&self, name: &Name) -> Option<String> {
        let found = self.floe.ledger().in_other_realms(name).ok()?;
        let shown = |Elsewhere { realm, definition, mark }: &Elsewhere| {
            let next =
                definition.parse::<Definition>().ok().and_then(|definition| definition.number_at(*mark));
            next.map_or_else(|| realm.clone(), |next| format!("{realm} (next {next})"))
        };
        let shown: Vec<_> = found.iter().map(shown).collect();
        (!shown.is_empty()).then(|| shown.join(", "))
    }

    /// A name that is listed or in the ledger, and differs from `name` in the case of its letters alone.
    fn near(&self, name: &Name, budget: &mut NameBudget) -> Option<Box<str>> {
        let now = Instant::now();
        let is_old = |(read, like): &(Instant, HashMap<_, _>)| {
            like.len() < PAGE || now.duration_since(*read) >= LIKE_FOR
        };
        if budget.like.as_ref().is_none_or(is_old) {
            budget.like = self.names_by_letters(name).map(|like| (now, like));
        }
        let (_, like) = budget.like.as_ref()?;
        let near = like.get(&name.as_str().to_lowercase())?;
        (**near != *name.as_str()).then(|| near.clone())
    }

    /// All names but `own`, which may be bound by now; `None` if the ledger does not answer: that is told elsewhere, and
    /// asked again.
    fn names_by_letters(&self, own: &Name) -> Option<HashMap<String, Box<str>>> {
        let mut like: HashMap<String, Box<str>> = HashMap::new();
        let mut add = |name: &str| {
            if name != own.as_str() {
                like.entry(name.to_lowercase()).or_insert_with(|| name.into());
            }
            like.len() < LIKE
        };
        let mut after = String::new();
        loop {
            let page = self.floe.ledger().names(&after, PAGE).ok()?;
            let room = page.iter().filter(|(name, _)| !Name::is_note(name)).all(|(name, _)| add(name));
            match page.into_iter().next_back() {
                Some((last, _)) if room => after = last,
                _ => break,
            }
        }
        let _ = self.rules.listed().all(|(name, _)| add(name.as_str()));
        Some(like)
    }
}

#[cfg(test)]
mod tests {
    use floe::ledger::{Ledger as _, Memory};

    use super::*;
    use crate::config::NewToken;
    use crate::service::call::NATIVE;
    use crate::service::tests::{ANY, on};

    fn name(number: usize) -> Name {
        Name::new(&format!("n{number}")).unwrap()
    }

    #[tokio::test]
    async fn what_is_remembered_of_names_that_clients_ask_for_is_bounded() {
        let ledger = Memory::default();
        for number in 0..LIKE + 7 {
            ledger.bind(&name(number), "counter", true).unwrap();
        }
        let service = on(&format!("new_names = 'refuse'\n{ANY}"), ledger);
        let (caller, mut budget) = (service.access().unknown(), NameBudget::default());
        for number in LIKE + 10..LIKE + 10 + REFUSED + 7 {
            let asked = Asked { caller: &caller, call: &NATIVE, name: &name(number), first: None };
            service.may_be_made(&asked, &Definition::Counter, None, &mut budget).unwrap_err();
            service.log_new_name(&asked, &Definition::Counter, None, &mut budget);
        }
        let (_, like) = budget.like.unwrap();
        assert_eq!((budget.refused.len(), like.len()), (REFUSED, LIKE));
    }

    #[tokio::test]
    async fn each_token_has_its_names_of_an_hour_and_saves_up_none() {
        let tokens = ["shop", "other"].map(|name| NewToken::random(name, "*").unwrap());
        let listed = tokens.each_ref().map(NewToken::toml).concat();
        let service = on(&format!("limits = {{ new_names_per_hour = 2 }}\n{ANY}{listed}"), Memory::default());
        let access = service.access();
        let callers = tokens.map(|token| access.token(token.secret().as_bytes(), &access.unknown()));
        let mut budget = NameBudget::default();
        // The one of them had made its last name a day ago.
        budget.paces.insert(callers[0].to_string(), Instant::now() - 24 * HOUR);
        for caller in callers {
            let mut make = || service.check_limits(&caller, &name(1), &mut budget).is_ok();
            assert_eq!([make(), make(), make()], [true, true, false], "{caller}");
        }
    }
}
