//! The ledger of a server that has started before it: until the ledger answers, every call says that it is unavailable.
//!
//! A server listens, is alive and says why it is not ready while its ledger is started, moved or restored. A task asks for
//! the ledger at growing, jittered distances. An error that waiting cannot fix (a wrong password, an unfit store,
//! another realm) ends the server at once.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use floe::ledger::{AtHand, Ledger, LedgerError};
use floe_ledger::OpenError;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::config::{Config, show_duration};

/// The pause between the first two attempts, and the longest pause. A ledger that returns is noticed within a second.
pub(crate) const FIRST_PAUSE: Duration = Duration::from_millis(50);
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// When the second log line comes. After that, each pause is twice as long.
const FIRST_WORDS: Duration = Duration::from_secs(2);

/// The state of the attempts to reach the ledger.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// The first attempt is under way.
    Asking,
    /// It did not answer, and is asked for again.
    Away(String),
    /// It is there.
    There,
    /// Waiting for it cannot help.
    Wrong(String),
}

/// A ledger that may not be there yet. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Awaited {
    ledger: Arc<OnceLock<Box<dyn Ledger>>>,
    stage: watch::Receiver<Stage>,
    shown: Arc<str>,
    shared: bool,
}

impl Awaited {
    /// Begins to ask for the ledger of a configuration, on a task that ends when it is there or wrong, or when all clones
    /// are gone.
    pub(crate) fn begin(config: &Arc<Config>) -> Self {
        let (tell, stage) = watch::channel(Stage::Asking);
        let ledger = Arc::default();
        let shown = config.ledger_shown().into();
        let awaited = Self { ledger: Arc::clone(&ledger), stage, shown, shared: config.is_shared() };
        tokio::spawn(pursue(Arc::clone(config), ledger, tell));
        awaited
    }

    /// A ledger that is there already.
    #[cfg(test)]
    pub(crate) fn on(ledger: impl Ledger + 'static) -> Self {
        let (shown, shared) = (ledger.describe().into(), ledger.is_shared());
        let there: OnceLock<Box<dyn Ledger>> = OnceLock::from(Box::new(ledger) as Box<dyn Ledger>);
        Self { ledger: Arc::new(there), stage: watch::channel(Stage::There).1, shown, shared }
    }

    /// Waits until the ledger is there or wrong.
    pub(crate) async fn settled(&self) -> Stage {
        self.reached(|stage| matches!(stage, Stage::There | Stage::Wrong(_))).await
    }

    /// Waits until the first attempt has come to something.
    pub(crate) async fn tried(&self) -> Stage {
        self.reached(|stage| *stage != Stage::Asking).await
    }

    async fn reached(&self, enough: impl FnMut(&Stage) -> bool) -> Stage {
        let mut stage = self.stage.clone();
        match stage.wait_for(enough).await {
            Ok(stage) => stage.clone(),
            Err(_) => Stage::Wrong("the task that asks for the ledger has ended".to_owned()),
        }
    }

    /// Why the ledger is not there; `None` from the moment on when it is.
    pub(crate) fn missing(&self) -> Option<String> {
        match &*self.stage.borrow() {
            Stage::There => None,
            Stage::Asking => Some(format!("the ledger {} has not answered yet", self.shown)),
            Stage::Away(cause) | Stage::Wrong(cause) => {
                Some(format!("the ledger {} is not there yet: {cause}", self.shown))
            }
        }
    }

    /// The ledger, once it is there.
    fn there(&self) -> Result<&dyn Ledger, LedgerError> {
        if let Some(ledger) = self.ledger.get() {
            return Ok(&**ledger);
        }
        match &*self.stage.borrow() {
            // This server is about to end.
            Stage::Wrong(cause) => Err(LedgerError::Unfit(cause.clone())),
            Stage::Away(cause) => Err(LedgerError::Unavailable(cause.clone())),
            Stage::Asking | Stage::There => {
                Err(LedgerError::Unavailable(format!("the ledger {} has not answered yet", self.shown)))
            }
        }
    }
}

/// Asks for the ledger until it is there or wrong.
async fn pursue(config: Arc<Config>, ledger: Arc<OnceLock<Box<dyn Ledger>>>, tell: watch::Sender<Stage>) {
    let (begun, mut words, mut tries) = (Instant::now(), FIRST_WORDS, 0_u32);
    while !tell.is_closed() {
        let asked = Arc::clone(&config);
        let opened = tokio::task::spawn_blocking(move || asked.open_ledger()).await;
        let stage = match opened {
            Ok(Ok(opened)) => {
                // Nobody else sets it.
                let _ = ledger.set(opened);
                Stage::There
            }
            Ok(Err(OpenError::Ledger(LedgerError::Unavailable(cause)))) => Stage::Away(cause),
            Ok(Err(error)) => Stage::Wrong(error.to_string()),
            Err(error) => Stage::Wrong(format!("a thread of the server failed: {error}")),
        };
        let waited = begun.elapsed();
        if let Stage::Away(cause) = &stage
            && tries > 0
            && waited >= words
        {
            words = waited * 2;
            let waited = show_duration(Duration::from_secs(waited.as_secs()));
            tracing::warn!(
                "the ledger is not there after {waited}, and this server still waits for it: {cause}"
            );
        }
        let over = !matches!(stage, Stage::Away(_));
        // Nobody receives it if the server has ended.
        let _ = tell.send(stage);
        if over {
            return;
        }
        sleep(pause(tries, getrandom::u32().unwrap_or(0))).await;
        tries = tries.saturating_add(1);
    }
}

/// How long to wait after this many earlier attempts: between half and the whole of a growing span, so that the
/// servers of a fleet do not ask at the same moment.
fn pause(tries: u32, random: u32) -> Duration {
    let most = (FIRST_PAUSE * (1 << tries.min(5))).min(LONGEST_PAUSE);
    most / 2 + most / 2048 * (random % 1024)
}

impl Ledger for Awaited {
    floe::__hand_on!(self => self.there()?; reserve count give_back bind definition names raise list
        clock in_other_realms realm_id);

    fn describe(&self) -> String {
        self.ledger.get().map_or_else(|| self.shown.to_string(), |ledger| ledger.describe())
    }

    fn at_hand(&self, worker_bits: u32) -> Vec<AtHand> {
        self.ledger.get().map_or_else(Vec::new, |ledger| ledger.at_hand(worker_bits))
    }

    fn is_shared(&self) -> bool {
        self.ledger.get().map_or(self.shared, |ledger| ledger.is_shared())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_second_and_differ_by_up_to_half() {
        let spans = [50, 100, 200, 400, 800, 1_000, 1_000].map(Duration::from_millis);
        for (tries, most) in (0..).zip(spans).chain([(u32::MAX, LONGEST_PAUSE)]) {
            let all: Vec<_> = (0..1024).map(|random| pause(tries, random)).collect();
            assert!(all.is_sorted_by(|a, b| a < b), "{tries}");
            assert_eq!(all[0], most / 2);
            assert!(all[1023] <= most && all[1023] > most / 100 * 99, "{tries}");
        }
    }
}
