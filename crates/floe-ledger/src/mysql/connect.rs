//! How a connection is made, and checked.

use std::slice;
use std::sync::Arc;

use floe::ledger::LedgerError;
use tokio_rustls::TlsConnector;

use super::channel::Channel;
use super::link::Link;
use super::login::log_in;
use super::session::Session;
use super::trouble::{self, Error};
use super::url::Settings;
use super::{Trouble, schema};
use crate::OpenError;
use crate::remote::url::Reach;
use crate::remote::{Connect, Connected, Wanted};

/// How to reach a database.
pub(super) struct Database {
    settings: Arc<Settings>,
    tls: Option<TlsConnector>,
}

impl Database {
    pub(super) fn new(settings: Arc<Settings>) -> Result<Self, OpenError> {
        let tls = settings.reach.tls.connector(slice::from_ref(&settings.at), None)?;
        Ok(Self { settings, tls })
    }

    #[cfg(fuzzing)]
    pub(super) async fn fuzzed(&self, bytes: &[u8], is_logged_in: bool) {
        let channel = Channel::played(bytes.to_vec());
        let session = match is_logged_in {
            true => Ok(Session::new(channel)),
            false => log_in(channel, &self.settings, self.tls.as_ref()).await,
        };
        let Ok(mut session) = session else { return };
        while let Ok(answers) = session.query("SELECT 1").await {
            for row in answers.iter().flat_map(|answer| &answer.rows) {
                let _read = (row.text(0), row.text(1));
            }
        }
    }

    async fn log_in(&self) -> Result<Session, Error> {
        let socket = self.settings.at.plain().await?;
        log_in(Channel::new(socket), &self.settings, self.tls.as_ref()).await
    }
}

impl Connect for Database {
    type Link = Link;
    type Error = Error;

    fn reach(&self) -> &Reach {
        &self.settings.reach
    }

    async fn connect(&self, _: Wanted<'_>) -> Result<Connected<Link>, Trouble> {
        let session = self.log_in().await.map_err(Trouble::Store)?;
        let mut link = Link { session, shown: self.settings.reach.shown.as_str().into() };
        let mut remarks = Vec::new();
        schema::check_server(&mut link, &self.settings, &mut remarks).await?;
        schema::find_version(&mut link, &self.settings, &mut remarks).await?;
        Ok(Connected { link, realm_id: None, remarks })
    }

    fn is_closed(link: &Link) -> bool {
        !link.session.is_silent()
    }

    async fn goodbye(link: Link) {
        drop(link.session.quit().await);
    }

    fn at_work(&self, error: Error) -> LedgerError {
        trouble::at_work(&error, &self.reach().shown)
    }

    fn at_open(&self, error: Error) -> OpenError {
        trouble::at_open(&error, &self.reach().shown)
    }
}
