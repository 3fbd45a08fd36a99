//! How names end. Their marks stay, so nothing under them can repeat.
//!
//! `floe names retire` closes a name for ever: servers read which names were retired every few seconds. And a name that a
//! client made for one day (`order:20261122`) ends by itself 30 days after that day: if it is made on first use
//! within two days of the day in its text, the ledger gets a note of its last day. A name that was made on another
//! day does not end, nor does one that a configuration lists.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use floe::ledger::{self, Ledger, LedgerError};
use floe::{DefineError, Definition, Name};
use jiff::civil::Date;
use jiff::{Timestamp, ToSpan, tz::TimeZone};

use super::{OpenName, Service};
use crate::status::Refusal;

/// How soon a server learns that a name was retired elsewhere.
const LOOK: Duration = Duration::from_secs(5);
const PAGE: usize = 1_000;
/// How long a name of one day stays available for late clients.
pub(crate) const DAYS_AFTER: i64 = 30;
/// How far from its day a name may be made, because clients' days begin in their own time zones.
pub(crate) const DAYS_AROUND: i32 = 2;

impl Service {
    /// The last day of an opened name: the one in the ledger, or, if it is `new` and named after a current day, the
    /// one that it gets now.
    ///
    /// # Errors
    /// `Exhausted` if that day has passed.
    pub(super) fn last_day(
        &self,
        name: &Name,
        definition: &Definition,
        new: bool,
    ) -> Result<Option<Date>, Refusal> {
        let counts = matches!(definition.unformed(), Definition::Segment { .. } | Definition::Counter);
        let Some(day) = day_in(name.as_str()).filter(|_| counts) else { return Ok(None) };
        let is_near = |today: Date| (day - today).get_days().abs() <= DAYS_AROUND;
        let last = match new && self.today().is_some_and(is_near) {
            true => self.note_last_day(name, day)?,
            false => ledger::ends_on(self.floe.ledger(), name).map_err(|error| self.unreadable(&error))?,
        };
        match last.filter(|last| self.is_past(*last)) {
            Some(last) => Err(over(name, last)),
            None => Ok(last),
        }
    }

    /// Notes when the name of a day ends; it never does where the name is too long for a note, or there is no such day.
    fn note_last_day(&self, name: &Name, day: Date) -> Result<Option<Date>, Refusal> {
        let Ok(last) = day.checked_add(DAYS_AFTER.days()) else { return Ok(None) };
        match ledger::end_on(self.floe.ledger(), name, last) {
            Err(ledger::EndError::Name(_)) => Ok(None),
            noted => noted.map_err(|error| self.refuse_to_open(name, error.into())),
        }
    }

    fn today(&self) -> Option<Date> {
        let now = Timestamp::from_millisecond(self.floe.steady_time().get()).ok()?;
        Some(now.to_zoned(TimeZone::UTC).date())
    }

    fn is_past(&self, day: Date) -> bool {
        self.today().is_some_and(|today| today > day)
    }

    /// Whether a note in the ledger is about a name with a last day that has passed.
    pub(super) fn is_past_note(&self, note: &str, text: &str) -> bool {
        ledger::last_day_of(note, text).is_some_and(|day| self.is_past(day))
    }

    /// Ends the names in memory that were retired, or that are past their last day. It never returns.
    pub(crate) async fn end_names(self: &Arc<Self>) -> ! {
        loop {
            tokio::time::sleep(LOOK).await;
            let service = Arc::clone(self);
            // Where the ledger did not answer it is asked again anyway.
            let _ = tokio::task::spawn_blocking(move || service.end_names_once()).await;
        }
    }

    fn end_names_once(&self) -> Result<(), LedgerError> {
        let retired =
            retired_names(self.floe.ledger(), "").inspect_err(|error| self.floe.on_ledger_error(error))?;
        for open in self.names_open_here() {
            let name = open.handle.name();
            if let Some(since) = retired.get(name.as_str()) {
                let retired = DefineError::Retired { name: name.clone(), since: since.clone() };
                self.end(&open, Refusal::exhausted(retired.to_string()));
            } else if let Some(day) = open.last_day.filter(|day| self.is_past(*day)) {
                self.end(&open, over(name, day));
            }
        }
        Ok(())
    }

    /// Ends a name: its holders and later callers get the refusal.
    fn end(&self, open: &Arc<OpenName>, refusal: Refusal) {
        let name = open.handle.name();
        if open.ended.get().is_none() {
            tracing::info!(%name, "the name has ended: {}", refusal.detail);
        }
        // It ends once.
        let _ = open.ended.set(refusal);
        // A call that still waits for it is answered first.
        if self.floe.unload(name) {
            self.open.write().unwrap_or_else(PoisonError::into_inner).remove(name.as_str());
            self.metrics.forget(name.as_str());
        }
    }
}

/// The names that were retired and begin so, each with the time.
///
/// # Errors
/// As of the ledger.
pub(super) fn retired_names(
    ledger: &dyn Ledger,
    beginning: &str,
) -> Result<HashMap<String, String>, LedgerError> {
    let mut retired = HashMap::new();
    let mut after = beginning.to_owned();
    loop {
        let page = ledger::all_retired(ledger, &after, PAGE)?;
        let is_full = page.len() == PAGE;
        let before = retired.len();
        for (name, since) in page.into_iter().take_while(|(name, _)| name.starts_with(beginning)) {
            after.clone_from(&name);
            retired.insert(name, since);
        }
        if !is_full || retired.len() == before {
            return Ok(retired);
        }
    }
}

fn over(name: &Name, day: Date) -> Refusal {
    Refusal::exhausted(format!(
        "`{name}` was the name of one day, {day}, and ended by itself {DAYS_AFTER} days later: its mark is kept, so that nothing repeats. Use the name of another day, or list this one in a configuration file"
    ))
}

/// The day that a name ends with: `order:20261122`, `order-2026-11-22`, `20261122`.
fn day_in(name: &str) -> Option<Date> {
    let digits_before = |rest: &str| rest.ends_with(|c: char| c.is_ascii_digit());
    let cut = |length: usize| name.len().checked_sub(length).and_then(|at| name.split_at_checked(at));
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let dashed = cut(10).filter(|(_, date)| {
        date.bytes()
            .enumerate()
            .all(|(at, byte)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() })
    });
    let (rest, date) = dashed.or_else(|| cut(8).filter(|(_, date)| is_digits(date)))?;
    let digits: String = date.chars().filter(char::is_ascii_digit).collect();
    let number = |range: std::ops::Range<usize>| digits.get(range)?.parse::<i16>().ok();
    let (year, month, day) = (number(0..4)?, number(4..6)?, number(6..8)?);
    let day = Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
    (!digits_before(rest)).then_some(day)
}

#[cfg(test)]
mod tests {
    use floe::ledger::Memory;
    use floe::{DatedShape, Overflow, UnixMillis};

    use super::*;
    use crate::service::Known;
    use crate::service::call::{NATIVE, SNOWFLAKE};
    use crate::service::tests::{ANY, on};

    #[tokio::test]
    async fn names_that_count_end_with_their_day_and_others_never() {
        let service = on(ANY, Memory::default());
        let today = service.today().unwrap();
        let dated = Definition::Dated(DatedShape::new("UTC", 6, "", Overflow::Refuse).unwrap());
        let random = Definition::called("uuid4").unwrap();
        let (counted, others) = ([Definition::Counter, Definition::SEGMENT], [SNOWFLAKE, dated, random]);
        for (ends, definition) in
            counted.map(|counted| (true, counted)).into_iter().chain(others.map(|other| (false, other)))
        {
            let name = Name::new(&format!("{}-{today}", definition.kind())).unwrap();
            let last = service.last_day(&name, &definition, true).unwrap();
            assert_eq!(last, ends.then(|| today.saturating_add(DAYS_AFTER.days())), "{name}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_name_in_memory_ends_with_its_last_day() {
        let service = on(ANY, Memory::default());
        let caller = service.access().unknown();
        for (name, day) in
            [("past", jiff::civil::date(2026, 1, 1)), ("coming", jiff::civil::date(9000, 1, 1))]
        {
            service.mint(&caller, &NATIVE, name, 1).await.unwrap();
            // As if it had been made 30 days before that.
            match service.open.write().unwrap().get_mut(name) {
                Some(Known::Open(open)) => Arc::get_mut(open).unwrap().last_day = Some(day),
                _ => panic!("{name} is not open"),
            }
        }
        let open = service.names_open_here();
        service.end_names_once().unwrap();
        for open in open {
            let ended = open.check().map_err(|refusal| refusal.detail);
            assert_eq!(ended.is_err_and(|why| why.contains("of one day, 2026-01-01")), open.name() == "past");
        }
    }

    #[test]
    fn retired_names_are_found_beyond_a_page() {
        let ledger = Memory::default();
        let orders = (0..2 * PAGE + 7).map(|number| format!("order:{number}"));
        for name in orders.chain(["orange".to_owned(), "p".to_owned()]) {
            ledger::retire(&ledger, &Name::new(&name).unwrap(), UnixMillis::new(1)).unwrap();
        }
        let found = |beginning| retired_names(&ledger, beginning).unwrap().len();
        assert_eq!([found(""), found("or"), found("order:")], [2 * PAGE + 9, 2 * PAGE + 8, 2 * PAGE + 7]);
    }

    #[test]
    fn a_day_stands_at_the_end_of_a_name_and_alone() {
        let day = jiff::civil::date(2026, 11, 22);
        for name in ["order:20261122", "order-2026-11-22", "20261122", "a20261122", "order:2026:2026-11-22"] {
            assert_eq!(day_in(name), Some(day), "{name}");
        }
        for name in [
            "order",
            "order:20261322",
            "order:120261122",
            "20261122:order",
            "order:2026112",
            "1-2026/11/22",
            "",
        ] {
            assert_eq!(day_in(name), None, "{name}");
        }
        assert_eq!(day_in("\u{20ac}20261122"), Some(day));
        assert_eq!(day_in("\u{20ac}\u{20ac}\u{20ac}1122"), None);
    }
}
