//! `floe ledger check`: whether a store does what a ledger has to.

use std::io::{ErrorKind, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use floe::ledger::conformance::{CASES, Realm};
use floe::ledger::{Key, Ledger, LedgerError, Reserve, Token};
use floe::store::conformance::{STORE_CASES, StoreRealm};
use floe::store::{Entry, Place, Put, Store, Version};
use floe_ledger::{OpenError, Opening};
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
    let (cases, failures) = cases(url, &prefix, say)?;
    let times = times(url, &prefix)?;
    let [half, most, slowest] = [TIMED / 2, TIMED * 99 / 100, TIMED - 1]
        .map(|at| times.get(at).map_or(0.0, |time| time.as_secs_f64() * 1_000.0));
    if json {
        let failed: Vec<_> =
            failures.iter().map(|(case, words)| json!({ "case": case, "broken": words })).collect();
        print_json(&json!({
            "ledger": shown,
            "realms": prefix,
            "cases": cases,
            "failed": failed,
            "reserve_ms": { "p50": half, "p99": most, "max": slowest },
        }))?;
    } else {
        say(&format!(
            "a reservation takes {half:.1} ms (median of {TIMED}), 99 % of them up to {most:.1} ms, the slowest {slowest:.1} ms"
        ))?;
    }
    match failures.len() {
        0 => say(&format!("{cases} cases, all held")),
        broken => {
            Err(Failure::new(format_args!("{broken} of {cases} cases failed: {shown} cannot be a ledger"))
                .hint("use another store, or look at its settings (docs/ledgers.md says which ones matter)"))
        }
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

/// How many cases were run, each in realms of its own, and those that failed, with the rule that was broken.
fn cases(
    url: &str,
    prefix: &str,
    say: &dyn Fn(&str) -> Outcome,
) -> Outcome<(usize, Vec<(&'static str, String)>)> {
    let (realms, unavailable) = (AtomicUsize::new(1), Arc::new(OnceLock::new()));
    let opening = || Opening::of(&format!("{prefix}-{}", realms.fetch_add(1, Ordering::Relaxed)));
    let fresh = || {
        let (opening, url, unavailable) = (opening(), url.to_owned(), Arc::clone(&unavailable));
        Realm::new(move || match opening.open(&url) {
            Ok(inner) => Box::new(Heard { inner, unavailable: Arc::clone(&unavailable) }),
            Err(error) => stopped(&error, &unavailable),
        })
        .with_names(NAMES)
    };
    let fresh_store = || {
        let (opening, url, unavailable) = (opening(), url.to_owned(), Arc::clone(&unavailable));
        StoreRealm::new(move || match opening.__open_store(&url) {
            Ok(Some((inner, place))) => {
                (Box::new(Heard { inner, unavailable: Arc::clone(&unavailable) }), place)
            }
            Ok(None) => stopped(&OpenError::Asked("it has no store below it".to_owned()), &unavailable),
            Err(error) => stopped(&error, &unavailable),
        })
    };
    // SQLite and another floe have no store below them that could be asked by itself.
    let has_store = Opening::of(&format!("{prefix}-0")).__open_store(url).map_err(ended)?.is_some();
    let of_store = STORE_CASES.iter().filter(|_| has_store);
    let of_store = of_store.map(|case| (case.name, Box::new(|| case.check(&fresh_store)) as Box<dyn Fn()>));
    let of_ledger = CASES.iter().map(|case| (case.name, Box::new(|| case.check(&fresh)) as Box<dyn Fn()>));
    let (mut count, mut failures) = (0, Vec::new());
    // A case fails by a panic. Only its message is shown.
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    for (name, check) in of_store.chain(of_ledger) {
        count += 1;
        let outcome = catch_unwind(AssertUnwindSafe(check));
        let line = match (outcome, unavailable.get()) {
            (Ok(()), _) => format!("ok      {name}"),
            (Err(_), Some(cause)) => {
                set_hook(hook);
                return Err(ended(LedgerError::Unavailable(String::clone(cause)).into()));
            }
            (Err(panic), None) => {
                let words = match panic.downcast::<String>() {
                    Ok(words) => *words,
                    Err(_) => "it panicked without a message".to_owned(),
                };
                let line = format!("FAILED  {name}: {words}");
                failures.push((name, words));
                line
            }
        };
        if let Err(failure) = say(&line) {
            set_hook(hook);
            return Err(failure);
        }
    }
    set_hook(hook);
    Ok((count, failures))
}

#[expect(clippy::panic, reason = "a case that fails panics, and is caught")]
fn stopped(error: &OpenError, unavailable: &OnceLock<String>) -> ! {
    if let OpenError::Ledger(LedgerError::Unavailable(cause)) = error {
        unavailable.get_or_init(|| cause.clone());
    }
    panic!("the ledger could not be opened: {error}")
}

/// A ledger, or the store below it, that keeps the first cause for which it was unavailable. A case that fails says only
/// which rule it was about.
struct Heard<T: ?Sized> {
    inner: Box<T>,
    unavailable: Arc<OnceLock<String>>,
}

impl<T: ?Sized> Heard<T> {
    fn hear<V>(&self, answer: Result<V, LedgerError>) -> Result<V, LedgerError> {
        if let Err(LedgerError::Unavailable(cause)) = &answer {
            self.unavailable.get_or_init(|| cause.clone());
        }
        answer
    }
}

impl Ledger for Heard<dyn Ledger> {
    floe::__hand_on!(self => self.inner, hear; all);
}

impl Store for Heard<dyn Store> {
    fn get(&self, key: &str) -> Result<Option<Entry>, LedgerError> {
        self.hear(self.inner.get(key))
    }

    fn put(&self, key: &str, text: &str, expected: Option<&Version>) -> Result<Put, LedgerError> {
        self.hear(self.inner.put(key, text, expected))
    }

    fn list(&self, prefix: &str, after: &str, limit: usize) -> Result<Vec<(String, String)>, LedgerError> {
        self.hear(self.inner.list(prefix, after, limit))
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }
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
        let (_, failures) = cases("memory:", "*check-test", &|_| Ok(())).unwrap();
        let words =
            |name: &str| failures.iter().find(|(case, _)| *case == name).map(|(_, words)| words.as_str());
        let said = words("disjoint_under_concurrency").unwrap();
        assert!(said.starts_with("this ledger breaks a rule: "), "{said}");
        assert!(words("outlives_its_connections").is_some());
        assert!(failures.len() < CASES.len(), "what needs one connection holds");
    }
}
