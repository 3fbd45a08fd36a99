//! The ledger, offered to other processes (`floe://…`): bearers of tokens with that right call it through this
//! server, which passes on the store's answers.
//!
//! The store is opened separately for them, without this server's cache, because the cache's ranges belong to this server.

use std::sync::Arc;

use floe_ledger::offer::Offer;
use tokio::sync::Semaphore;

use super::Service;
use crate::access::Caller;
use crate::config::Config;
use crate::status::Refusal;

/// How many calls block at once.
pub(crate) const AT_ONCE: usize = 6;

/// See the module.
pub(super) struct Offered {
    offer: Offer,
    turns: Arc<Semaphore>,
}

impl Offered {
    pub(super) fn new(config: &Config) -> Self {
        let config = config.clone();
        Self {
            offer: Offer::new(move |opening| config.open_store(opening)),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }
}

impl Service {
    /// The answer of the ledger of `realm` to a question of another process, as [`Offer::answer`] has it. If the
    /// caller stops waiting, a call that has begun still finishes.
    ///
    /// # Errors
    /// A [`Refusal`] if the caller may not ask, or it is no question.
    pub(crate) async fn ledger_call(
        self: &Arc<Self>,
        caller: &Caller,
        realm: String,
        question: impl AsRef<[u8]> + Send + 'static,
    ) -> Result<Vec<u8>, Refusal> {
        caller.check_ledger(Some(&realm))?;
        let caller = caller.clone();
        let answered = self.in_turn(&self.offered.turns, move |service| {
            let may = move |other: &str| caller.check_ledger(Some(other)).is_ok();
            service.offered.offer.answer(&realm, may, question.as_ref()).map_err(Refusal::bad)
        });
        let answered = answered.await?;
        self.metrics.ledger_call(answered.call, answered.outcome);
        Ok(answered.body)
    }
}
