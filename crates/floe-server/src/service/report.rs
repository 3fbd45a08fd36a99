//! What the service tells operators: names, slots, and whether it is ready.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use floe::ledger::{self, Key, LedgerError, Record};
use floe::{ClockState, Definition, Kind, NameState, NameStatus, State, UnixMillis};
use serde::Serialize;
use utoipa::ToSchema;

use super::names::Rule;
use super::{Known, Service, TOLD_MORE};
use crate::access::Caller;
use crate::config::{NameSettings, NewNames};
use crate::status::{Refusal, Status};

/// A name as it is served here.
#[derive(Clone, Serialize, ToSchema, Debug)]
pub(crate) struct NameReport {
    /// The name.
    pub name: String,
    /// `snowflake`, `segment`, `counter` or `dated`.
    pub kind: String,
    /// What fixes its IDs for ever, as the ledger holds it.
    pub definition: String,
    /// The bit fields, tick and epoch of a snowflake name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// How its IDs are written.
    pub form: String,
    /// When the layout's time bits run out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizon: Option<String>,
    /// IDs minted here since this server started.
    pub minted: u64,
    /// `ready`, `unavailable`, `exhausted`, `clock apart`, `clock refused`, `stopped`, `retired` (for ever), or `closed`
    /// (bound in the ledger, and not in memory here).
    pub state: &'static str,
    /// The reason for the state, if there is more to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// The time left in the window, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_left_ms: Option<u64>,
    /// The numbers left in hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment_left: Option<u64>,
    /// How far minted ticks run ahead of the steady clock, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ahead_ms: Option<u64>,
}

/// Names in byte order.
#[derive(Clone, Serialize, ToSchema, Debug)]
pub(crate) struct NamesPage {
    /// This page of them.
    pub names: Vec<NameReport>,
    /// The patterns of names that may be made; only `*` if any name may be made.
    pub patterns: Vec<String>,
    /// Ask again with `after` set to this for the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Why the names that only the ledger knows are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ledger_trouble: Option<String>,
}

/// The record of a worker id.
#[derive(Clone, Serialize, ToSchema, Debug)]
pub(crate) struct SlotReport {
    /// The bits of a worker id among the layouts that share the slot.
    pub worker_bits: u32,
    /// The worker id.
    pub worker: u64,
    /// The end of the time that is reserved on it.
    pub mark: String,
    /// The same in milliseconds since 1970.
    pub mark_ms: i64,
    /// Whether that lies ahead of this server's steady clock.
    pub live: bool,
    /// Whether this server holds it.
    pub own: bool,
    /// Who reserved last, as a text for people. Only clients on the same machine and tokens for every name see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// Slots in the ledger's order.
#[derive(Clone, Serialize, ToSchema, Debug)]
pub(crate) struct SlotsPage {
    /// This page of them.
    pub slots: Vec<SlotReport>,
    /// This server's steady clock.
    pub now: String,
    /// Ask again with `after` set to this for the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A name that counts, as the ledger has it.
pub(crate) struct Counted {
    pub(crate) name: String,
    /// What fixes its IDs for ever.
    pub(crate) definition: String,
    /// How far its positions are reserved.
    pub(crate) mark: u64,
    /// The least ID that is not reserved by anybody; none where dates are in it.
    pub(crate) next: Option<u64>,
    /// The smallest size of a segment, if it is open here.
    pub(crate) step: Option<u64>,
}

/// Whether clients should be sent here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Readiness {
    /// Yes.
    Ready,
    /// No, and why.
    Not(String),
}

impl Service {
    /// Up to `limit` names after `after` that the caller may know of: those that this server serves, and those that the
    /// ledger holds. Blocking.
    ///
    /// # Errors
    /// A [`Refusal`] if the caller is unknown.
    pub(crate) fn names(&self, caller: &Caller, after: &str, limit: usize) -> Result<NamesPage, Refusal> {
        caller.check()?;
        let mut reports = BTreeMap::new();
        let mut ledger_trouble = None;
        match self.floe.ledger().names(after, limit.saturating_add(1)) {
            Ok(bound) => reports.extend(bound.into_iter().map(|(name, definition)| {
                let report = self.unopened(&name, &definition);
                (name, report)
            })),
            Err(error) => ledger_trouble = Some(self.unreadable(&error).told(caller.sees_inside()).detail),
        }
        let retired =
            ledger::all_retired(self.floe.ledger(), after, limit.saturating_add(1)).unwrap_or_default();
        for (name, since) in retired {
            reports.entry(name).and_modify(|report| report.retire(&since));
        }
        for (name, definition) in self.rules.listed() {
            if name.as_str() > after {
                reports
                    .entry(name.to_string())
                    .or_insert_with(|| self.unopened(name.as_str(), &definition.to_string()));
            }
        }
        for status in self.floe.status().names {
            if status.name.as_str() > after {
                reports.insert(status.name.to_string(), self.report(caller, &status));
            }
        }
        let more = reports.len() > limit;
        let mut names: Vec<_> = reports.into_values().take(limit).collect();
        // Pages are cut before: the caller may find one short, or empty, and goes on.
        let next = names.last().filter(|_| more).map(|report| report.name.clone());
        names.retain(|report| caller.sees(&report.name) && !floe::Name::is_note(&report.name));
        let mut patterns: Vec<_> = self.rules.patterns().map(|settings| settings.rule.to_string()).collect();
        if self.rules.on_first_use() {
            patterns.push("*".to_owned());
        }
        Ok(NamesPage { names, patterns, next, ledger_trouble })
    }

    /// One name. Blocking if it is not open here.
    ///
    /// # Errors
    /// A [`Refusal`] if the caller may not know, there is none, or the ledger cannot say.
    pub(crate) fn name(&self, caller: &Caller, name: &str) -> Result<NameReport, Refusal> {
        caller.check_name(name)?;
        let name = floe::Name::new(name).map_err(|error| Refusal::bad(error.to_string()))?;
        if let Some(status) = self.floe.status().names.into_iter().find(|status| status.name == name) {
            return Ok(self.report(caller, &status));
        }
        let stored = self.floe.stored(&name);
        let stored = stored.map_err(|error| self.refuse_to_open(&name, error).told(caller.sees_inside()))?;
        let listed = || {
            self.rules.listed().find(|(listed, _)| **listed == name).map(|(_, definition)| definition.clone())
        };
        match stored.or_else(listed) {
            Some(definition) => {
                let mut report = self.unopened(name.as_str(), &definition.to_string());
                let since = ledger::retired(self.floe.ledger(), &name);
                if let Some(since) =
                    since.map_err(|error| self.unreadable(&error).told(caller.sees_inside()))?
                {
                    report.retire(&since);
                }
                Ok(report)
            }
            None => match self.rules.of(&name) {
                Err(refusal) => Err(refusal),
                Ok(rule) => Err(Refusal::unknown_name(format!(
                    "there is no name `{name}` yet: {}",
                    self.how_it_comes(&name, &rule)
                ))),
            },
        }
    }

    /// The refusal for a ledger that cannot be read. A ledger that must not be used any more stops the server.
    pub(super) fn unreadable(&self, error: &LedgerError) -> Refusal {
        let detail = error.to_string();
        match error {
            LedgerError::Unavailable(_) => unavailable().with_inside(detail),
            LedgerError::Unfit(_) => {
                self.floe.on_ledger_error(error);
                self.stopped.notify_one();
                stopped("any name").with_inside(detail)
            }
            LedgerError::Missing(_) => Refusal::stopped(detail),
            LedgerError::Overflow { .. } => Refusal::exhausted(detail),
        }
    }

    /// How a missing name can be made.
    fn how_it_comes(&self, name: &floe::Name, rule: &Rule<'_>) -> String {
        let settings = match rule {
            Rule::Listed(settings) | Rule::FirstUse(Some(settings)) => Some(settings),
            Rule::FirstUse(None) => None,
        };
        let asks = |settings: &&&NameSettings| {
            settings.first.is_none() && settings.definition.position_of(0).is_some()
        };
        match (self.new_names, settings.filter(asks)) {
            (NewNames::Refuse, _) => format!(
                "this server makes none (new_names = \"refuse\"): make it with floe marks raise {name}, or floe mint {name}"
            ),
            (NewNames::AskForFirst, Some(settings)) => format!(
                "it is made when its first number is known: set first = N in its [[name]], or run floe marks raise {name} --kind {} --to N",
                settings.definition.kind()
            ),
            _ => format!("it is made when it is first minted from, such as with /v1/mint/{name}"),
        }
    }

    /// Up to `limit` slots after the one whose key is `after`. Blocking.
    ///
    /// # Errors
    /// A [`Refusal`] if the caller is unknown, or the ledger cannot say.
    pub(crate) fn slots(&self, caller: &Caller, after: &str, limit: usize) -> Result<SlotsPage, Refusal> {
        caller.check()?;
        let status = self.floe.status();
        let records = self.floe.ledger().list(Key::SLOTS, after, limit);
        let records = records.map_err(|error| self.unreadable(&error).told(caller.sees_inside()))?;
        let next = records.last().filter(|_| records.len() == limit).map(|record| record.key.clone());
        let slots = records.into_iter().filter_map(|record| {
            let (worker_bits, worker) = Key::parse_slot(&record.key)?;
            let mark = UnixMillis::from_position(record.mark);
            let own =
                |slot: &floe::SlotStatus| slot.worker_bits == worker_bits && slot.worker == Some(worker);
            Some(SlotReport {
                worker_bits,
                worker,
                mark: mark.to_string(),
                mark_ms: mark.get(),
                live: mark > status.clock.steady,
                own: status.slots.iter().any(own),
                owner: record.note.filter(|_| caller.sees_inside()),
            })
        });
        Ok(SlotsPage { slots: slots.collect(), now: status.clock.steady.to_string(), next })
    }

    /// Up to `limit` names that count, as the ledger has them and as far as the caller may know of them. Blocking.
    ///
    /// # Errors
    /// A [`Refusal`] if the caller is unknown, or the ledger cannot say.
    pub(crate) fn counted(&self, caller: &Caller, limit: usize) -> Result<Vec<Counted>, Refusal> {
        caller.check()?;
        let told = |refusal: Refusal| refusal.told(caller.sees_inside());
        let bound = self.floe.ledger().names("", limit).map_err(|error| told(self.unreadable(&error)))?;
        let bound: BTreeMap<String, String> = bound.into_iter().collect();
        let records = self.records(Key::NAMES, limit).map_err(told)?.into_iter().filter_map(|record| {
            let name = record.key.strip_prefix(Key::NAMES).unwrap_or(&record.key).to_owned();
            let definition = bound.get(&name).cloned().unwrap_or_default();
            let next = match definition.parse::<Definition>().ok()?.unformed() {
                Definition::Segment { increment, offset } => {
                    record.mark.checked_mul(*increment).and_then(|number| number.checked_add(*offset))
                }
                // Its first ID is 1.
                Definition::Counter => record.mark.checked_add(1),
                _ => None,
            };
            let step = self.step(&name);
            Some(Counted { name, definition, mark: record.mark, next, step })
        });
        Ok(records.filter(|counted| caller.sees(&counted.name)).collect())
    }

    /// The smallest size of a segment of an open name.
    pub(crate) fn step(&self, name: &str) -> Option<u64> {
        match self.find(name)? {
            Known::Open(open) => Some(open.min_step),
            Known::Mismatch(_) => None,
        }
    }

    /// How the names that are open here stand, as far as the caller may know of them.
    ///
    /// # Errors
    /// A [`Refusal`] if the caller is unknown.
    pub(crate) fn open_names(&self, caller: &Caller) -> Result<Vec<NameStatus>, Refusal> {
        caller.check()?;
        let names = self.floe.status().names;
        Ok(names.into_iter().filter(|status| caller.sees(status.name.as_str())).collect())
    }

    /// Up to `limit` records of the ledger whose keys start with `prefix`. Blocking.
    ///
    /// # Errors
    /// A [`Refusal`] if the ledger cannot say.
    pub(super) fn records(&self, prefix: &str, limit: usize) -> Result<Vec<Record>, Refusal> {
        self.floe.ledger().list(prefix, "", limit).map_err(|error| self.unreadable(&error))
    }

    /// Whether clients should be sent here: no if nothing can be minted, and once the server drains. The reason is
    /// shown as far as the caller may know it.
    pub(crate) fn readiness(&self, caller: &Caller) -> Readiness {
        self.readiness_told(caller.sees_inside())
    }

    /// Whether clients should be sent here.
    pub(crate) fn is_ready(&self) -> bool {
        self.readiness_told(false) == Readiness::Ready
    }

    fn readiness_told(&self, inside: bool) -> Readiness {
        if self.is_draining() {
            return Readiness::Not("draining: this server is shutting down".to_owned());
        }
        // A server that has never served all names is not ready while its ledger is missing.
        if let Some(cause) = self.awaited.missing().filter(|_| self.rules.need_the_ledger()) {
            let open = || format!("the ledger is not there yet ({TOLD_MORE})");
            return Readiness::Not(if inside { cause } else { open() });
        }
        let status = self.floe.status();
        match barren(&status, inside) {
            Some(why) => Readiness::Not(why),
            // A listed name is open until it ends.
            None if status.names.is_empty() && self.rules.are_all_listed() => Readiness::Not(
                "no name can be minted from: those that this server lists were retired, or cannot be opened"
                    .to_owned(),
            ),
            None => Readiness::Ready,
        }
    }

    /// Whether this server is shutting down.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    /// All numbers of this server.
    pub(crate) fn status(&self) -> floe::Status {
        self.floe.status()
    }

    fn report(&self, caller: &Caller, status: &NameStatus) -> NameReport {
        let kind = status.definition.kind();
        let snowflake = kind == Kind::SNOWFLAKE;
        NameReport {
            horizon: status.horizon.map(|horizon| horizon.to_string()),
            state: word(&status.state),
            trouble: trouble(status, caller.sees_inside()),
            window_left_ms: snowflake.then_some(status.left),
            segment_left: (kind == Kind::SEGMENT).then_some(status.left),
            ahead_ms: snowflake.then_some(status.ahead_ms),
            minted: self.metrics.minted_by(status.name.as_str()),
            ..described(status.name.as_str(), &status.definition)
        }
    }

    /// A name that is not open here.
    fn unopened(&self, name: &str, definition: &str) -> NameReport {
        let mut report = match definition.parse() {
            Ok(definition) => described(name, &definition),
            // Written by a later version: shown as it is.
            Err(_) => NameReport {
                kind: definition.split(' ').next().unwrap_or_default().to_owned(),
                definition: definition.to_owned(),
                ..described(name, &Definition::Counter)
            },
        };
        if let Some(Known::Mismatch(cause)) =
            self.open.read().unwrap_or_else(PoisonError::into_inner).get(name)
        {
            report.state = "stopped";
            report.trouble = Some(cause.to_string());
        }
        report
    }
}

impl NameReport {
    fn retire(&mut self, since: &str) {
        self.state = "retired";
        self.trouble = Some(format!("retired at {since}"));
    }
}

fn described(name: &str, definition: &Definition) -> NameReport {
    let layout = match definition.unformed() {
        Definition::Snowflake { layout, .. } => Some(layout),
        _ => None,
    };
    NameReport {
        name: name.to_owned(),
        kind: definition.kind_name().to_owned(),
        definition: definition.to_string(),
        layout: layout.map(ToString::to_string),
        form: form_of(definition),
        horizon: layout.map(|layout| layout.horizon().to_string()),
        minted: 0,
        state: "closed",
        trouble: None,
        window_left_ms: None,
        segment_left: None,
        ahead_ms: None,
    }
}

/// How the IDs of a name are written.
pub(super) fn form_of(definition: &Definition) -> String {
    match definition.form() {
        Some(form) => form.to_string(),
        None if definition.is_text() => definition.kind_name().to_owned(),
        None => "decimal".to_owned(),
    }
}

/// Why nothing can be minted; `None` while a window lasts, and while nothing is known to be wrong.
fn barren(status: &floe::Status, inside: bool) -> Option<String> {
    if let State::Stopped(cause) = &status.state {
        return Some(match inside {
            true => format!("stopped: {cause}"),
            false => format!("stopped: {}", stopped("any name").detail),
        });
    }
    // The first name that is asked for may or may not need a time.
    if let Some(cause) = status.clock.refused.as_ref().filter(|_| status.names.is_empty()) {
        return Some(format!("the clock is refused: {cause}"));
    }
    let window_lasts = status.slots.iter().any(|slot| slot.window_left_ms > 0);
    let ledger_gone = status.names.iter().any(|name| matches!(name.state, NameState::Unavailable { .. }));
    let serves = |name: &NameStatus| {
        let in_window = window_lasts && name.definition.kind() == Kind::SNOWFLAKE;
        match name.state {
            NameState::Ready => {
                !ledger_gone || name.left > 0 || in_window || !name.definition.kind().is_number()
            }
            NameState::Unavailable { .. } => in_window,
            NameState::Exhausted(_)
            | NameState::ClockApart(_)
            | NameState::ClockRefused(_)
            | NameState::Stopped(_) => false,
        }
    };
    if status.names.iter().any(serves) {
        return None;
    }
    // There is a name that is not ready: if all were ready, they would all serve.
    let first = status.names.iter().find(|name| name.state != NameState::Ready)?;
    let trouble = trouble(first, inside).unwrap_or_default();
    let cause = match &first.state {
        NameState::Unavailable { .. } => trouble,
        state => format!("{}: {trouble}", word(state)),
    };
    Some(format!("no name can be minted from; `{}` is {cause}", first.name))
}

/// What an operator should know about the clock, while the server mints or once it does not.
pub(super) fn clock_trouble(status: &floe::Status) -> Option<String> {
    let clock = &status.clock;
    let jumped = |ahead: u64, why: &str| format!("the wall clock jumped {ahead} ms ahead, and {why}");
    match clock.state {
        ClockState::Doubting(ahead) => Some(jumped(ahead, "is not followed yet")),
        ClockState::Contradicted(ahead) => Some(jumped(
            ahead,
            "is not followed, because the ledger's clock says that it is wrong: set it right",
        )),
        // A restart can run ahead by less than that, if a window had just been reserved.
        ClockState::Holding(ahead) if ahead > TOLD_AHEAD_MS => Some(format!(
            "IDs run {ahead} ms ahead of the wall clock: the clock went back, or an earlier run of this node (or a process that was taken for one) had reserved that far; check the clock, and which other nodes mint here (floe slots)"
        )),
        _ => clock.apart.clone(),
    }
}

/// How far IDs may run ahead of the wall clock before the log is told.
const TOLD_AHEAD_MS: u64 = 10_000;

fn word(state: &NameState) -> &'static str {
    match state {
        NameState::Ready => "ready",
        NameState::Unavailable { .. } => "unavailable",
        NameState::Exhausted(_) => "exhausted",
        NameState::ClockApart(_) => "clock apart",
        NameState::ClockRefused(_) => "clock refused",
        NameState::Stopped(_) => "stopped",
    }
}

fn trouble(status: &NameStatus, inside: bool) -> Option<String> {
    Some(match &status.state {
        NameState::Ready => return None,
        NameState::Unavailable { since, cause } if inside => format!("unavailable since {since}: {cause}"),
        NameState::Unavailable { since, .. } => format!("unavailable since {since} ({TOLD_MORE})"),
        NameState::ClockApart(cause) | NameState::ClockRefused(cause) => cause.clone(),
        NameState::Exhausted(cause) if inside || status.definition.kind() != Kind::SNOWFLAKE => cause.clone(),
        NameState::Exhausted(_) => no_worker_id(&status.name),
        NameState::Stopped(cause) if inside => cause.clone(),
        NameState::Stopped(_) => stopped(&format!("`{}`", status.name)).detail,
    })
}

/// What strangers are told about an exhausted snowflake name, without the node that holds a worker id.
pub(super) fn no_worker_id(name: &floe::Name) -> String {
    format!(
        "`{name}` cannot be minted from: no worker id is free for this server, or the time bits of the layout are used up ({TOLD_MORE})"
    )
}

/// What strangers are told about a stopped name or ledger.
pub(super) fn stopped(what: &str) -> Refusal {
    let detail =
        format!("{what} cannot be minted from: an ID could repeat, or the clock is wrong ({TOLD_MORE})");
    Refusal::stopped(detail)
}

/// What strangers are told about a ledger that does not answer.
pub(super) fn unavailable() -> Refusal {
    let detail = format!("the ledger is unavailable: ask again ({TOLD_MORE})");
    Refusal::for_now(Status::Unavailable, detail, super::RETRY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::NewToken;
    use crate::service::tests::{ANY, on};
    use floe::ledger::{Ledger as _, Memory};
    use floe::{Floe, Layout, SlotStatus};

    /// The status of a server that has one name of each of these states.
    fn status(names: &[(&Definition, NameState, u64)]) -> floe::Status {
        let floe = Floe::open(Memory::default()).unwrap();
        let mut status = floe.status();
        floe.close();
        status.names = (0_u32..)
            .zip(names)
            .map(|(at, (definition, state, left))| NameStatus {
                name: floe::Name::new(&format!("name-{at}")).unwrap(),
                definition: (*definition).clone(),
                state: state.clone(),
                left: *left,
                ahead_ms: 0,
                horizon: None,
            })
            .collect();
        status
    }

    fn window(left: u64) -> SlotStatus {
        SlotStatus {
            worker_bits: 10,
            worker: None,
            window_end: None,
            window_left_ms: left,
            trouble: None,
            deleted: Vec::new(),
        }
    }

    #[test]
    fn what_can_mint_nothing_is_not_ready_and_says_why() {
        let orders = &Definition::Snowflake { layout: Layout::TWITTER, own: false };
        let (segment, counter) = (&Definition::SEGMENT, &Definition::Counter);
        let gone = NameState::Unavailable { since: UnixMillis::EPOCH, cause: "no route".to_owned() };
        let (over, stopped) =
            (NameState::Exhausted("its bits ran out".to_owned()), NameState::Stopped("moved".to_owned()));
        let ready = NameState::Ready;

        assert_eq!(barren(&status(&[]), true), None, "nothing has been asked");
        assert_eq!(barren(&status(&[(orders, ready.clone(), 0)]), true), None);
        assert_eq!(barren(&status(&[(orders, over.clone(), 0), (segment, ready.clone(), 0)]), true), None);
        assert_eq!(barren(&status(&[(orders, gone.clone(), 0), (segment, ready.clone(), 5)]), true), None);

        let why = |status: &floe::Status| barren(status, true).unwrap_or_else(|| panic!("it is ready"));
        assert!(why(&status(&[(orders, over.clone(), 0)])).contains("`name-0` is exhausted: its bits"));
        assert!(why(&status(&[(orders, over.clone(), 0), (segment, stopped, 0)])).contains("exhausted"));
        // What has to ask a ledger that does not answer does not serve either.
        let mut lost = status(&[(counter, ready.clone(), 0), (segment, ready.clone(), 0), (orders, gone, 0)]);
        assert!(why(&lost).contains("`name-2` is unavailable since") && why(&lost).contains("no route"));
        lost.slots = vec![window(0)];
        assert!(why(&lost).contains("no route"));
        lost.slots = vec![window(1)];
        assert_eq!(barren(&lost, true), None, "a window lasts");

        // A window is of no use to a name that cannot mint in it, nor without the clock.
        let mut used_up = status(&[(orders, over, 0)]);
        used_up.slots = vec![window(1000)];
        assert!(why(&used_up).contains("exhausted"));
        let went_back = NameState::ClockRefused("went back".to_owned());
        let mut moved = status(&[(orders, went_back.clone(), 1000)]);
        moved.slots = vec![window(1000)];
        moved.clock.refused = Some("went back".to_owned());
        assert_eq!(why(&moved), "no name can be minted from; `name-0` is clock refused: went back");
        // Numbers of a segment do not depend on the time.
        let mut mixed = status(&[(orders, went_back, 1000), (segment, ready, 5)]);
        mixed.clock.refused = Some("went back".to_owned());
        assert_eq!(barren(&mixed, true), None);
        let mut unasked = status(&[]);
        unasked.clock.refused = Some("went back".to_owned());
        assert_eq!(why(&unasked), "the clock is refused: went back");
    }

    #[tokio::test]
    async fn pages_go_on_behind_names_that_are_not_open_and_not_the_callers() {
        let (ledger, token) = (Memory::default(), NewToken::random("shop", "c").unwrap());
        for name in ["a", "b", "c"] {
            ledger.bind(&floe::Name::new(name).unwrap(), "counter", true).unwrap();
        }
        let service = on(&format!("{ANY}{}", token.toml()), ledger);
        let access = service.access();
        let caller = access.token(token.secret().as_bytes(), &access.unknown());
        let page = |after| {
            let page = service.names(&caller, after, 1).unwrap();
            (page.names.into_iter().map(|report| report.name).collect(), page.next)
        };
        let (none, one): (Vec<String>, _) = (Vec::new(), vec!["c".to_owned()]);
        assert_eq!(page(""), (none.clone(), Some("a".to_owned())));
        assert_eq!(page("a"), (none, Some("b".to_owned())));
        assert_eq!(page("b"), (one, None));
    }

    #[test]
    fn a_clock_that_the_ledgers_contradicts_is_told_of() {
        let orders = &Definition::Snowflake { layout: Layout::TWITTER, own: false };
        let apart = NameState::ClockApart("an hour ahead".to_owned());
        let mut off = status(&[(orders, apart, 0)]);
        assert_eq!(clock_trouble(&off), None);
        let why = barren(&off, true).unwrap_or_else(|| panic!("it is ready"));
        assert!(why.contains("`name-0` is clock apart: an hour ahead"), "{why}");
        off.clock.apart = Some("an hour ahead".to_owned());
        assert_eq!(clock_trouble(&off).as_deref(), Some("an hour ahead"));
        off.clock.apart = None;
        off.clock.state = ClockState::Holding(10_000);
        assert_eq!(clock_trouble(&off), None, "a restart goes on there");
        off.clock.state = ClockState::Holding(61_000);
        assert!(clock_trouble(&off).is_some_and(|words| words.contains("IDs run 61000 ms ahead")));
        off.clock.state = ClockState::Contradicted(12_000);
        assert!(clock_trouble(&off).is_some_and(|words| words.contains("12000 ms ahead")));
    }
}
