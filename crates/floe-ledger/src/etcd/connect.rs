//! What is looked at on every new connection: the member, the layout's version, the realm.

use std::sync::Arc;

use floe::ledger::{LedgerError, Token};
use rustls::ClientConfig;

use super::history::History;
use super::link::Link;
use super::messages::{Compare, KeyValue, Operation, RangeRequest, StatusRequest, TxnRequest};
use super::records::{Place, Span, VERSION};
use super::trouble::Fault;
use super::url::{Endpoint, Settings};
use super::{Trouble, trouble};
use crate::remote::endpoint::{Turn, share};
use crate::remote::{Bounds, Connect, Connected, Wanted, realm as words};
use crate::{DEFAULT_REALM, OpenError};

/// How a cluster is reached.
pub(super) struct Cluster {
    settings: Settings,
    tls: Option<Arc<ClientConfig>>,
    realm: String,
    place: Arc<Place>,
    history: Arc<History>,
    turn: Turn,
}

impl Cluster {
    pub(super) fn new(settings: Settings, realm: &str, place: Arc<Place>) -> Result<Self, OpenError> {
        let tls = settings.tls.as_ref().map(|tls| tls.client().map(Arc::new)).transpose()?;
        Ok(Self {
            settings,
            tls,
            realm: realm.to_owned(),
            place,
            history: Arc::default(),
            turn: Turn::anywhere(),
        })
    }

    async fn enter(&self, endpoint: &Endpoint, wanted: Wanted<'_>) -> Result<Connected<Link>, Trouble> {
        let Settings { login, allow_unsafe, .. } = &self.settings;
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
            Verdict::Unsafe(what) if *allow_unsafe => remarks.push(format!("unsafe: {what}")),
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
        let realm_id = self.enter_realm(&mut link, wanted).await?;
        link.enter(&realm_id);
        Ok(Connected { link, realm_id: Some(realm_id), remarks })
    }

    /// Makes the realm where it is missing, and returns its id. Where it is `known`, nothing may be missing.
    async fn enter_realm(&self, link: &mut Link, wanted: Wanted<'_>) -> Result<String, Trouble> {
        let shown = &self.settings.shown;
        let place = &self.place;
        let (version, realm) = self.look(link).await?;
        self.check_version(version.as_ref())?;
        if let (Some(_), Some(realm)) = (&version, realm) {
            if wanted.asks_for_others() {
                words::is_the_only_one(&self.realm, &self.other_realms(link).await?, shown)?;
            }
            return self.realm_id(realm);
        }
        let gone = if version.is_none() { "the layout's version" } else { "the realm" };
        if !wanted.may_make(shown, &format!("{gone} of {}", self.realm))? {
            let others = self.other_realms(link).await?;
            return Err(wanted.is_not_there(&self.realm, &others, shown).into());
        }
        if self.realm == DEFAULT_REALM {
            // Another process may make the same one meanwhile: that is not another realm.
            words::may_be_made(&self.realm, &self.other_realms(link).await?, shown)?;
        }
        // Each is made where it is still missing, whoever comes first.
        for (key, value) in [(&place.version, VERSION.to_string()), (&place.realm, Token::random()?.hex())] {
            let compare = vec![Compare::revision(key, 0)];
            let success = vec![Operation::put(key, value.as_bytes())];
            link.txn(&TxnRequest { compare, success, failure: Vec::new() }).await?;
        }
        let (version, realm) = self.look(link).await?;
        self.check_version(version.as_ref())?;
        match realm {
            Some(realm) => self.realm_id(realm),
            None => Err(words::is_gone(shown, &format!("the realm {}", self.realm)).into()),
        }
    }

    /// The version of the layout and the realm's id.
    async fn look(&self, link: &mut Link) -> Result<(Option<KeyValue>, Option<KeyValue>), Trouble> {
        let success = vec![Operation::get(&self.place.version), Operation::get(&self.place.realm)];
        let answer = link.txn(&TxnRequest { success, ..TxnRequest::default() }).await?;
        let mut found = answer.found();
        match (found.next(), found.next()) {
            (Some(version), Some(realm)) => Ok((version, realm)),
            _ => Err(link.nonsense().into()),
        }
    }

    fn check_version(&self, version: Option<&KeyValue>) -> Result<(), LedgerError> {
        let Some(KeyValue { value, .. }) = version else { return Ok(()) };
        let shown = &self.settings.shown;
        let text = String::from_utf8_lossy(value);
        match text.parse::<i64>() {
            Ok(VERSION) => Ok(()),
            Ok(newer @ VERSION..) => Err(words::is_newer(shown, newer, VERSION)),
            _ => Err(words::is_damaged(shown, &format!("the version `{text}`"))),
        }
    }

    fn realm_id(&self, found: KeyValue) -> Result<String, Trouble> {
        String::from_utf8(found.value).map_err(|_| {
            words::is_damaged(&self.settings.shown, &format!("an id of the realm {}", self.realm)).into()
        })
    }

    async fn other_realms(&self, link: &mut Link) -> Result<Vec<String>, Trouble> {
        let span = Span::below(&self.place.realms, "");
        let (key, range_end) = (span.start.clone(), span.end.clone());
        let found = link.range(&RangeRequest { key, range_end, limit: 20, keys_only: true }).await?;
        let realms = found.kvs.iter().filter_map(|found| span.rest(&found.key));
        Ok(realms.filter(|realm| *realm != self.realm).collect())
    }
}

impl Connect for Cluster {
    type Link = Link;
    type Error = Fault;

    fn shown(&self) -> &str {
        &self.settings.shown
    }

    fn bounds(&self) -> Bounds {
        self.settings.bounds
    }

    /// Tries each member once, and none for longer than its share of the time. A member without a majority behind it
    /// answers that it knows no leader, or nothing at all: the look at the realm takes a majority.
    async fn connect(&self, wanted: Wanted<'_>) -> Result<Connected<Link>, Trouble> {
        let endpoints = &self.settings.endpoints;
        let mut last = Trouble::NoThread;
        for endpoint in self.turn.through(endpoints) {
            let (bound, late) = (self.bounds().connect, |text: &str| Fault::broken(endpoint, &text));
            let entered = share(bound, endpoints.len(), self.enter(endpoint, wanted), late).await;
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

/// What is known of a release.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Fit,
    Unsafe(String),
    Unfit(String),
}

/// Whether a release keeps what it says it has kept. Below 3.4.21 and 3.5.5 a member on its own answered before it had
/// flushed (etcd's issue 14370); 3.5.0 to 3.5.5, 3.4.20 and 3.4.21 could let members disagree after a crash
/// (13766 and what followed). etcd recommends 3.4.22, 3.5.6 and newer.
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
