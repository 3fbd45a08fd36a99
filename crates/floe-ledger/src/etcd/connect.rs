//! The checks of every new connection: the member, and the layout's version.

use std::sync::Arc;

use floe::ledger::LedgerError;
use tokio_rustls::TlsConnector;

use super::history::History;
use super::link::Link;
use super::messages::{StatusRequest, TxnRequest};
use super::trouble::Fault;
use super::url::{Endpoint, Settings};
use super::{Trouble, layout, trouble};
use crate::OpenError;
use crate::remote::endpoint::{Turn, share};
use crate::remote::url::Reach;
use crate::remote::{Connect, Connected, Wanted};

/// How to reach a cluster.
pub(super) struct Cluster {
    settings: Arc<Settings>,
    tls: Option<TlsConnector>,
    /// The keys of the layout's version and of the realm.
    looked_at: [Vec<u8>; 2],
    history: Arc<History>,
    turn: Turn,
}

impl Cluster {
    pub(super) fn new(settings: Arc<Settings>, realm: &str) -> Result<Self, OpenError> {
        let tls = settings.reach.tls.connector(&settings.endpoints, Some("h2"))?;
        let looked_at = [layout::KEY, &format!("realm/{realm}")].map(|key| settings.path(key));
        Ok(Self { settings, tls, looked_at, history: Arc::default(), turn: Turn::anywhere() })
    }

    async fn enter(&self, endpoint: &Endpoint) -> Result<Connected<Link>, Trouble> {
        let Settings { login, reach, .. } = &*self.settings;
        let history = Arc::clone(&self.history);
        let mut link = Link::connect(endpoint, self.tls.as_ref(), login.as_ref(), history).await?;
        let status = link.call(&StatusRequest {}).await?;
        if status.is_learner {
            return Err(
                Fault::broken(endpoint, &"it is a learner, which cannot vote in the cluster yet").into()
            );
        }
        let mut remarks = Vec::new();
        match judge(&status.version) {
            Verdict::Fit => {}
            Verdict::Unsafe(what) if reach.allows_unsafe => remarks.push(format!("unsafe: {what}")),
            Verdict::Unsafe(what) => {
                return Err(LedgerError::Unfit(format!(
                    "etcd at {endpoint}: {what}. Update it to 3.4.22, 3.5.6 or newer, or accept the loss with \
                     unsafe=allow in the URL"
                ))
                .into());
            }
            Verdict::Unfit(what) => {
                return Err(LedgerError::Unfit(format!("etcd at {endpoint}: {what}: update it")).into());
            }
        }
        // It succeeds only with a majority of the members, and with the rights to both keys.
        let found = link.txn(&TxnRequest::look(self.looked_at.clone())).await?;
        layout::check_version(found.found().next().flatten().as_deref(), &self.settings.reach.shown)?;
        Ok(Connected { link, realm_id: None, remarks })
    }
}

impl Connect for Cluster {
    type Link = Link;
    type Error = Fault;

    fn reach(&self) -> &Reach {
        &self.settings.reach
    }

    /// Tries each member once, each for its share of the time. If a member has lost the majority, it answers that it
    /// knows no leader, or does not answer.
    async fn connect(&self, _: Wanted<'_>) -> Result<Connected<Link>, Trouble> {
        let endpoints = &self.settings.endpoints;
        let mut last = Trouble::NoThread;
        for endpoint in self.turn.through(endpoints) {
            let (bound, late) = (self.reach().bounds.connect, |text: &str| Fault::broken(endpoint, &text));
            let entered = share(bound, endpoints.len(), self.enter(endpoint), late).await;
            match entered {
                Err(Trouble::Store(fault)) if !fault.is_final() => last = Trouble::Store(fault),
                outcome => return outcome,
            }
        }
        Err(last)
    }

    fn is_closed(link: &Link) -> bool {
        link.is_closed()
    }

    async fn goodbye(link: Link) {
        link.goodbye().await;
    }

    fn at_work(&self, fault: Fault) -> LedgerError {
        trouble::at_work(&fault)
    }

    fn at_open(&self, fault: Fault) -> OpenError {
        trouble::at_open(&fault)
    }
}

/// How safe a release is.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Fit,
    Unsafe(String),
    Unfit(String),
}

/// Whether a release keeps confirmed writes. Below 3.4.21 and 3.5.5, a cluster of one member answered before it had
/// flushed (etcd's issue 14370). With 3.5.0 to 3.5.5, 3.4.20 and 3.4.21, members could disagree after a crash (13766
/// and later issues). etcd recommends 3.4.22, 3.5.6 and newer.
pub(super) fn judge(version: &str) -> Verdict {
    let mut numbers = version.split(['.', '-', '+']).map(|part| part.parse::<u32>().ok());
    let (Some(Some(major)), Some(Some(minor)), Some(Some(patch))) =
        (numbers.next(), numbers.next(), numbers.next())
    else {
        return Verdict::Unfit(format!("its version `{version}` is not a version of etcd"));
    };
    match (major, minor, patch) {
        (..3, ..) | (3, ..4, _) => {
            Verdict::Unfit(format!("it is etcd {version}, and floe needs 3.4 or newer"))
        }
        (3, 4, ..22) | (3, 5, ..6) => Verdict::Unsafe(format!(
            "it is etcd {version}, which can lose confirmed writes, or keep them on some members only"
        )),
        _ => Verdict::Fit,
    }
}
