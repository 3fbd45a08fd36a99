//! A session with one server of the ensemble.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use floe::ledger::LedgerError;
use tokio_rustls::TlsConnector;

use super::code;
use super::jute::{Access, Request};
use super::link::Link;
use super::session::Session;
use super::trouble::Error;
use super::url::Settings;
use super::{Trouble, layout, trouble};
use crate::OpenError;
use crate::remote::endpoint::{Endpoint, Turn, share};
use crate::remote::ssl_mode::Use;
use crate::remote::url::Reach;
use crate::remote::{Connect, Connected, Wanted};

/// How to reach an ensemble.
pub(super) struct Ensemble {
    settings: Settings,
    tls: Option<TlsConnector>,
    realm: String,
    /// See [`Link::heard`].
    heard: Arc<AtomicI64>,
    turn: Turn,
}

impl Ensemble {
    pub(super) fn new(settings: Settings, realm: &str) -> Result<Self, OpenError> {
        let tls = settings.reach.tls.connector(&settings.hosts, None)?;
        Ok(Self { settings, tls, realm: realm.to_owned(), heard: Arc::default(), turn: Turn::anywhere() })
    }

    /// Begins a session with the first server that accepts one. The order of the servers is random, so that the nodes of
    /// a fleet spread over the ensemble. Each server has a share of the time.
    async fn session(&self) -> Result<Session, Trouble> {
        let (hosts, bound) = (&self.settings.hosts, self.reach().bounds.connect);
        let mut failures = Vec::new();
        for host in self.turn.through(hosts) {
            let late = |text: &str| Error::Unreachable(format!("it gave {text}"));
            match share(bound, hosts.len(), self.session_with(host), late).await {
                Err(Trouble::Store(error)) => failures.push((host, error)),
                outcome => return outcome,
            }
        }
        let told: Vec<String> = failures.iter().map(|(host, error)| format!("{host}: {error}")).collect();
        let last = failures.pop().map_or(Error::NoSession, |(_, error)| error);
        Err(Trouble::Store(if failures.is_empty() {
            last
        } else {
            Error::Several(told.join("; "), Box::new(last))
        }))
    }

    async fn session_with(&self, host: &Endpoint) -> Result<Session, Trouble> {
        let socket = match host.connect(self.tls.as_ref()).await {
            Err(_) if self.settings.reach.tls.wanted == Use::WherePossible => host.connect(None).await,
            outcome => outcome,
        };
        let socket = socket.map_err(|error| match error.to_string() {
            text if text.starts_with("TLS: ") => Error::Tls(format!("TLS could not be agreed on ({text})")),
            text => Error::Unreachable(format!("it cannot be reached ({text})")),
        });
        Session::begin(socket.map_err(Trouble::Store)?).await.map_err(Trouble::Store)
    }
}

impl Ensemble {
    /// Reads the realm, and updates one of an older floe. Returns its id; `None` if there is no such realm.
    async fn enter(&self, link: &mut Link, wanted: Wanted<'_>) -> Result<Option<String>, Trouble> {
        let (path, shown) =
            (layout::realm_path(&self.settings.path, &self.realm), &self.settings.reach.shown);
        loop {
            let Some((layout, record, version)) = link.realm(&path).await? else {
                wanted.may_make(shown, &format!("the realm {}", self.realm))?;
                return Ok(None);
            };
            self.refuse_to_close_an_open_realm(link, &path).await?;
            let id = layout::id_in(&record);
            if layout == layout::VERSION {
                return Ok(id.map(str::to_owned));
            }
            wanted.opening.may_change("the nodes", layout, shown)?;
            wanted.check_id(id.unwrap_or_default(), shown)?;
            let text = layout::realm_text(&record);
            let reply =
                link.settle_one(Request::Write { path: &path, data: text.as_bytes(), version }).await?;
            reply.is_done_or(&[code::BAD_VERSION, code::NO_NODE]).map_err(Trouble::Store)?;
        }
    }

    /// With credentials, floe makes nodes that only they can use. If the realm is open to everyone, floes without them, or
    /// with others, could not read these nodes. In such a realm, only this check notices wrong credentials.
    async fn refuse_to_close_an_open_realm(&self, link: &mut Link, path: &str) -> Result<(), Trouble> {
        if link.access == Access::World {
            return Ok(());
        }
        let replies = link.ask(&[Request::Access { path }]).await?;
        let reply = replies.first().ok_or(Trouble::Store(Error::Garbled("no reply")))?;
        if !reply.is_open_to_all().map_err(Trouble::Store)? {
            return Ok(());
        }
        Err(LedgerError::Unfit(format!(
            "{} is open to everybody at {path}, and floe was given a user and a password: others could not read what it \
             made there. Restrict the realm first (setAcl -R, see docs/ledgers.md), or leave the user and the password out \
             (of the URL, ZOOKEEPER_USER and ZOOKEEPER_PASSWORD)",
            self.settings.reach.shown
        ))
        .into())
    }
}

impl Connect for Ensemble {
    type Link = Link;
    type Error = Error;

    fn reach(&self) -> &Reach {
        &self.settings.reach
    }

    async fn connect(&self, wanted: Wanted<'_>) -> Result<Connected<Link>, Trouble> {
        let session = self.session().await?;
        let access = if self.settings.credentials.is_some() { Access::Creator } else { Access::World };
        let shown = self.settings.reach.shown.as_str().into();
        let mut link = Link { session, heard: Arc::clone(&self.heard), access, shown };
        if let Some(credentials) = &self.settings.credentials {
            let replies = link.ask(&[Request::Digest(credentials)]).await?;
            if let Some(reply) = replies.first() {
                reply.is_done_or(&[]).map_err(Trouble::Store)?;
            }
        }
        let realm_id = self.enter(&mut link, wanted).await?;
        Ok(Connected { link, realm_id, remarks: Vec::new() })
    }

    fn is_closed(link: &Link) -> bool {
        link.session.is_closed()
    }

    async fn goodbye(link: Link) {
        link.session.end().await;
    }

    fn at_work(&self, error: Error) -> LedgerError {
        trouble::at_work(&error, &self.reach().shown)
    }

    fn at_open(&self, error: Error) -> OpenError {
        trouble::at_open(&error, &self.reach().shown)
    }
}
