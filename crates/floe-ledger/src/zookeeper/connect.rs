//! A session with one server of the ensemble.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use floe::ledger::LedgerError;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::jute::{Access, Request, code};
use super::link::Link;
use super::session::{Session, Stream};
use super::trouble::Error;
use super::url::{Host, Settings};
use super::{Trouble, layout, trouble};
use crate::OpenError;
use crate::remote::options::is_open_to_others;
use crate::remote::ssl_mode::Use;
use crate::remote::tls;
use crate::remote::{Bounds, Connect, Connected, Wanted};

/// How an ensemble is reached.
pub(super) struct Ensemble {
    settings: Settings,
    tls: TlsConnector,
    realm: String,
    /// See [`Link::heard`].
    heard: Arc<AtomicI64>,
}

impl Ensemble {
    pub(super) fn new(settings: Settings, realm: &str) -> Result<Self, OpenError> {
        let mut tls = tls::client(&settings.verify)?;
        if let Some((certificate, key)) = &settings.identity {
            let failed = |what: &dyn std::fmt::Display| {
                OpenError::Asked(format!(
                    "sslcert: {} and {} cannot be used ({what}): name files of PEM with a certificate and its key",
                    certificate.display(),
                    key.display()
                ))
            };
            if is_open_to_others(key) {
                return Err(failed(&"others can read the key: chmod 600 it"));
            }
            let chain = CertificateDer::pem_file_iter(certificate)
                .and_then(|chain| chain.collect::<Result<Vec<_>, _>>())
                .map_err(|error| failed(&error))?;
            let key = PrivateKeyDer::from_pem_file(key).map_err(|error| failed(&error))?;
            let certified =
                CertifiedKey::from_der(chain, key, tls.crypto_provider()).map_err(|error| failed(&error))?;
            tls.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(certified));
        }
        let tls = TlsConnector::from(Arc::new(tls));
        Ok(Self { settings, tls, realm: realm.to_owned(), heard: Arc::default() })
    }

    /// A session with whichever server gives one. They are asked in an order of chance, so that the nodes of a fleet
    /// spread over the ensemble; one that does not answer leaves time for the next.
    async fn session(&self) -> Result<Session, Trouble> {
        let mut hosts: Vec<&Host> = self.settings.hosts.iter().collect();
        let count = hosts.len().max(1);
        let chance = usize::try_from(getrandom::u32().unwrap_or(0)).unwrap_or(0);
        hosts.rotate_left(chance % count);
        let share = self.settings.bounds.connect / u32::try_from(count).unwrap_or(u32::MAX);
        let mut failures = Vec::new();
        while let Some(host) = hosts.pop() {
            // The last one may take what is left.
            let attempt = if hosts.is_empty() {
                self.session_with(host).await
            } else {
                let silent = || Err(Error::Unreachable(format!("it gave no answer within {share:?}")));
                timeout(share, self.session_with(host)).await.unwrap_or_else(|_| silent())
            };
            match attempt {
                Ok(session) => return Ok(session),
                Err(error) => failures.push((host, error)),
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

    async fn session_with(&self, host: &Host) -> Result<Session, Error> {
        if self.settings.use_tls == Use::Never {
            return Session::begin(Box::new(connected(host).await?)).await;
        }
        match self.encrypted(host).await {
            Ok(stream) => Session::begin(stream).await,
            Err(_) if self.settings.use_tls == Use::WherePossible => {
                Session::begin(Box::new(connected(host).await?)).await
            }
            Err(error) => Err(error),
        }
    }

    async fn encrypted(&self, host: &Host) -> Result<Box<dyn Stream>, Error> {
        let failed =
            |what: &dyn std::fmt::Display| Error::Tls(format!("TLS could not be agreed on ({what})"));
        let name = ServerName::try_from(host.name.clone()).map_err(|error| failed(&error))?;
        let stream = self.tls.connect(name, connected(host).await?).await.map_err(|error| failed(&error))?;
        Ok(Box::new(stream))
    }
}

impl Ensemble {
    /// Looks at the realm, and brings one of an older floe to this version. Its id, where it is there.
    async fn enter(&self, link: &mut Link, wanted: Wanted<'_>) -> Result<Option<String>, Trouble> {
        let (path, shown) = (layout::realm_path(&self.settings.path, &self.realm), &self.settings.shown);
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
            if !wanted.may_change() {
                return Err(LedgerError::Unfit(format!(
                    "the nodes at {shown} are those of an older floe (version 1), and this command does not change them: run \
                     `floe serve` or `floe mint` to update them, or use the older floe"
                ))
                .into());
            }
            wanted.check_id(id.unwrap_or_default(), shown)?;
            let text = layout::realm_text(&record);
            let reply =
                link.settle_one(Request::Write { path: &path, data: text.as_bytes(), version }).await?;
            reply.is_done_or(&[code::BAD_VERSION, code::NO_NODE]).map_err(Trouble::Store)?;
        }
    }

    /// With credentials, what floe makes is open to these alone; in a realm that is open to everybody, the floes without them,
    /// or with others, could not read it. Wrong credentials are noticed by nothing else there.
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
            self.settings.shown
        ))
        .into())
    }
}

async fn connected(host: &Host) -> Result<TcpStream, Error> {
    let failed = |error| Error::Unreachable(format!("it cannot be reached ({error})"));
    let stream = TcpStream::connect((host.name.as_str(), host.port)).await.map_err(failed)?;
    // Every request is waited for.
    stream.set_nodelay(true).map_err(failed)?;
    Ok(stream)
}

impl Connect for Ensemble {
    type Link = Link;
    type Error = Error;

    fn shown(&self) -> &str {
        &self.settings.shown
    }

    fn bounds(&self) -> Bounds {
        self.settings.bounds
    }

    async fn connect(&self, wanted: Wanted<'_>) -> Result<Connected<Link>, Trouble> {
        let session = self.session().await?;
        let access = if self.settings.credentials.is_some() { Access::Creator } else { Access::World };
        let shown = self.settings.shown.as_str().into();
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
        trouble::at_work(&error, self.shown())
    }

    fn at_open(&self, error: Error) -> OpenError {
        trouble::at_open(&error, self.shown())
    }
}
