//! `floe ledger check`: whether a store does what a ledger has to.

use std::io::{ErrorKind, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use floe::ledger::conformance::{CASES, Realm};
use floe::ledger::{Key, Ledger, LedgerError, Reserve, Token};
use floe::store::Place;
use floe_ledger::OpenError;
use serde_json::json;

use crate::failure::{Failure, Outcome};
use crate::table::print_json;

/// How many names the case of many names makes.
const NAMES: usize = 2_000;

/// How many reservations are timed.
const TIMED: usize = 200;

pub(crate) fn check(url: &str, json: bool) -> Outcome {
    if url == "memory:" {
        return Err(Failure::usage(
            "memory: belongs to one process and keeps nothing: there is nothing to check",
        ));
    }
    let token = Token::random().map_err(Failure::new)?;
    let prefix: String = token.as_bytes().iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let prefix = format!("{}check-{prefix}", Place::SCRATCH);
    // An error of the URL, or of the whole store, is reported before any case.
    floe_ledger::check_url(url).map_err(Failure::usage)?;
    let shown = floe_ledger::open_in(url, &format!("{prefix}-0")).map_err(ended)?.describe();
    // If the reader closes the output, the exit code is still needed.
    let say = |text: &str| match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure::output(&error)),
        _ => Ok(()),
    };
    let quiet = |_: &str| Ok(());
    let say: &dyn Fn(&str) -> Outcome = if json { &quiet } else { &say };
    say(&format!(
        "{shown}, in scratch realms {prefix}-…, which stay in the store and which floe does not count"
    ))?;
    let failures = cases(url, &prefix, say)?;
    let times = times(url, &prefix)?;
    let [half, most, slowest] = [TIMED / 2, TIMED * 99 / 100, TIMED - 1]
        .map(|at| times.get(at).map_or(0.0, |time| time.as_secs_f64() * 1_000.0));
    if json {
        let failed: Vec<_> =
            failures.iter().map(|(case, words)| json!({ "case": case, "broken": words })).collect();
        print_json(&json!({
            "ledger": shown,
            "realms": prefix,
            "cases": CASES.len(),
            "failed": failed,
            "reserve_ms": { "p50": half, "p99": most, "max": slowest },
        }))?;
    } else {
        say(&format!(
            "a reservation takes {half:.1} ms (median of {TIMED}), 99 % of them up to {most:.1} ms, the slowest {slowest:.1} ms"
        ))?;
    }
    match failures.len() {
        0 => say(&format!("{} cases, all held", CASES.len())),
        broken => Err(Failure::new(format_args!(
            "{broken} of {} cases failed: {shown} cannot be a ledger",
            CASES.len()
        ))
        .hint("use another store, or look at its settings (docs/ledgers.md says which ones matter)")),
    }
}

/// Why a check ended early. A store that does not answer is busy or out of reach: that is no verdict on it.
fn ended(error: OpenError) -> Failure {
    match error {
        OpenError::Ledger(LedgerError::Unavailable(cause)) => Failure::unfinished(format_args!("the check could not be finished: {cause}"))
            .hint("nothing is known of the store yet: check it again when it is less busy, or with more time for a call (max_wait=60s in the URL)"),
        error => Failure::new(error),
    }
}

/// Every case, each in realms of its own; those that failed, with the rule that was broken.
fn cases(url: &str, prefix: &str, say: &dyn Fn(&str) -> Outcome) -> Outcome<Vec<(&'static str, String)>> {
    let realms = Arc::new(AtomicUsize::new(1));
    let unavailable = Arc::new(OnceLock::new());
    let fresh = || {
        let realm = format!("{prefix}-{}", realms.fetch_add(1, Ordering::Relaxed));
        let (url, unavailable) = (url.to_owned(), Arc::clone(&unavailable));
        Realm::new(move || match floe_ledger::open_in(&url, &realm) {
            Ok(ledger) => Box::new(Heard { ledger, unavailable: Arc::clone(&unavailable) }),
            Err(error) => stopped(&error, &unavailable),
        })
        .with_names(NAMES)
    };
    let mut failures = Vec::new();
    // A case fails by a panic. Only its message is shown.
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    for case in CASES {
        let outcome = catch_unwind(AssertUnwindSafe(|| case.check(&fresh)));
        let line = match (outcome, unavailable.get()) {
            (Ok(()), _) => format!("ok      {}", case.name),
            (Err(_), Some(cause)) => {
                set_hook(hook);
                return Err(ended(LedgerError::Unavailable(String::clone(cause)).into()));
            }
            (Err(panic), None) => {
                let words = match panic.downcast::<String>() {
                    Ok(words) => *words,
                    Err(_) => "it panicked without a message".to_owned(),
                };
                let line = format!("FAILED  {}: {words}", case.name);
                failures.push((case.name, words));
                line
            }
        };
        if let Err(failure) = say(&line) {
            set_hook(hook);
            return Err(failure);
        }
    }
    set_hook(hook);
    Ok(failures)
}

#[expect(clippy::panic, reason = "a case that fails panics, and is caught")]
fn stopped(error: &OpenError, unavailable: &OnceLock<String>) -> ! {
    if let OpenError::Ledger(LedgerError::Unavailable(cause)) = error {
        unavailable.get_or_init(|| cause.clone());
    }
    panic!("the ledger could not be opened: {error}")
}

/// A ledger that keeps the first cause for which it was unavailable. A case that fails says only which rule it was about.
struct Heard {
    ledger: Box<dyn Ledger>,
    unavailable: Arc<OnceLock<String>>,
}

impl Heard {
    fn hear<T>(&self, answer: Result<T, LedgerError>) -> Result<T, LedgerError> {
        if let Err(LedgerError::Unavailable(cause)) = &answer {
            self.unavailable.get_or_init(|| cause.clone());
        }
        answer
    }
}

impl Ledger for Heard {
    floe::__hand_on!(self => self.ledger, hear; all);
}

/// How long each of some reservations took, in ascending order.
#[expect(clippy::disallowed_methods, reason = "a time is what is asked for")]
fn times(url: &str, prefix: &str) -> Outcome<Vec<Duration>> {
    let ledger = floe_ledger::open_in(url, &format!("{prefix}-0")).map_err(ended)?;
    let reserve = || -> Outcome<Duration> {
        let request = Reserve {
            key: Key::slot(10, 1),
            floor: 0,
            count: 1,
            max_mark: u64::MAX,
            token: Token::random().map_err(Failure::new)?,
            create: true,
            note: None,
        };
        let begin = Instant::now();
        ledger.reserve(&request).map_err(|error| ended(error.into()))?;
        Ok(begin.elapsed())
    };
    // The first one makes the record.
    reserve()?;
    let mut times: Vec<Duration> = (0..TIMED).map(|_| reserve()).collect::<Outcome<_>>()?;
    times.sort_unstable();
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each connection to it is a store of its own, so that nobody sees what others have reserved.
    #[test]
    fn a_store_that_is_none_is_found_with_the_rule_that_it_breaks() {
        let failures = cases("memory:", "*check-test", &|_| Ok(())).unwrap();
        let words =
            |name: &str| failures.iter().find(|(case, _)| *case == name).map(|(_, words)| words.as_str());
        let said = words("disjoint_under_concurrency").unwrap();
        assert!(said.starts_with("this ledger breaks a rule: "), "{said}");
        assert!(words("outlives_its_connections").is_some());
        assert!(failures.len() < CASES.len(), "what needs one connection holds");
    }
}
