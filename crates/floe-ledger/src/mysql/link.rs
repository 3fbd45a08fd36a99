//! A connection that was checked and found fit.

use std::sync::Arc;

use super::Trouble;
use super::session::{Answer, Session};
use super::trouble::Error;

/// A connection for one call at a time.
pub(super) struct Link {
    pub(super) session: Session,
    pub(super) shown: Arc<str>,
}

impl Link {
    /// The server without credentials.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// Runs statements, and returns an answer for each.
    pub(super) async fn query(&mut self, sql: &str) -> Result<Vec<Answer>, Trouble> {
        self.session.query(sql).await.map_err(Trouble::Store)
    }

    /// Runs one statement that returns rows.
    pub(super) async fn rows(&mut self, sql: &str) -> Result<Answer, Trouble> {
        let answers = self.query(sql).await?;
        answers.into_iter().next_back().ok_or(Trouble::Store(Error::Protocol("no answer")))
    }

    /// Runs statements that leave no transaction open. If others were in the way and the failed statement took no
    /// effect, runs them again, until the call's time is over.
    pub(super) async fn transact(&mut self, sql: &str) -> Result<Vec<Answer>, Trouble> {
        loop {
            match self.session.query(sql).await {
                // A deadlock has ended the transaction; a lock timeout has not.
                Err(error) if error.is_in_the_way() => drop(self.query("ROLLBACK").await?),
                outcome => return outcome.map_err(Trouble::Store),
            }
        }
    }
}
