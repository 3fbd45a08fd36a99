//! What the ledgers behind a network have in common: who drives their connections, a few of those, bounds on every wait,
//! and the words for what may be found there.
//!
//! An adapter says how to connect ([`Connect`]) and what to do on a connection ([`Remote::call`]). A connection on
//! which anything went wrong is closed, and so are the idle ones beside it; new ones are made at growing, jittered
//! distances of at most half a second. Each round trip, with connecting and waiting for a free connection, ends
//! within its bound.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use floe::ledger::LedgerError;

use self::driver::Driver;
use self::pool::Pool;
use crate::opening::Missing;
use crate::{OpenError, Opening};

// A build with few ledgers has no use for all of it.
pub(crate) mod driver;
#[cfg(any(feature = "consul", feature = "etcd", feature = "served"))]
pub(crate) mod endpoint;
#[cfg(any(feature = "consul", feature = "served"))]
pub(crate) mod http;
#[cfg_attr(
    not(all(feature = "etcd", feature = "mysql", feature = "redis", feature = "zookeeper")),
    allow(dead_code)
)]
pub(crate) mod options;
pub(crate) mod pool;
#[cfg_attr(
    not(all(feature = "etcd", feature = "mysql", feature = "redis", feature = "zookeeper")),
    allow(dead_code)
)]
pub(crate) mod realm;
pub(crate) mod ssl_mode;
pub(crate) mod stored;
#[cfg(feature = "tls")]
pub(crate) mod tls;

/// How an adapter reaches its server.
pub(crate) trait Connect: Send + Sync + 'static {
    /// A connection.
    type Link: Send + 'static;
    /// What goes wrong on one.
    type Error: Send + 'static;

    /// The server without credentials: `postgres://db:5432/ids`.
    fn shown(&self) -> &str;

    /// How long a call and a connect take at most.
    fn bounds(&self) -> Bounds;

    /// A connection to a server that was found fit, in the realm. Where the realm's id is known nothing may be
    /// missing there; otherwise what is missing is made.
    fn connect(
        &self,
        wanted: Wanted<'_>,
    ) -> impl Future<Output = Result<Connected<Self::Link>, Trouble<Self::Error>>> + Send;

    /// Whether the connection is known to be gone.
    fn is_closed(link: &Self::Link) -> bool;

    /// Says goodbye; it may take a moment.
    fn goodbye(link: Self::Link) -> impl Future<Output = ()> + Send {
        drop(link);
        std::future::ready(())
    }

    /// The error of a running ledger: a password may be changed and a right withdrawn, and given again.
    fn at_work(&self, error: Self::Error) -> LedgerError;

    /// The error while the ledger is opened: a wrong name or password is what the user asked for.
    fn at_open(&self, error: Self::Error) -> OpenError {
        self.at_work(error).into()
    }
}

/// What has to be there when a connection is made.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// The realm's id, where this process has seen it: then nothing may be missing.
    known: Option<&'a str>,
    /// How the ledger is opened.
    opening: &'a Opening,
}

impl<'a> Wanted<'a> {
    /// What a ledger wants that keeps its realm in its records.
    pub(crate) fn at_open(opening: &'a Opening) -> Self {
        Self { known: None, opening }
    }
}

impl Wanted<'_> {
    /// How the realm is entered on the first connection; `None` on later ones, where every call names its id.
    #[cfg(feature = "served")]
    pub(crate) fn first(&self) -> Option<&Opening> {
        self.known.is_none().then_some(self.opening)
    }

    /// Whether tables and a realm that are missing are made.
    ///
    /// # Errors
    /// Why not, where they were there before or have to be: `what` is missing.
    pub(crate) fn may_make(&self, shown: &str, what: &str) -> Result<bool, LedgerError> {
        match (self.known, &self.opening.pinned) {
            (Some(_), _) => Err(realm::is_gone(shown, what)),
            (None, Some(_)) => Err(self.opening.not_made(&format!("{what} at {shown} is missing"))),
            (None, None) => Ok(self.opening.may_make()),
        }
    }

    /// Whether what an older version made is brought up to date.
    pub(crate) fn may_change(&self) -> bool {
        self.opening.missing != Missing::Look
    }

    /// # Errors
    /// `Unfit` where the realm has another id than the pinned one, or than before.
    pub(crate) fn check_id(&self, found: &str, shown: &str) -> Result<(), LedgerError> {
        if self.known.is_some_and(|known| known != found) {
            return Err(realm::is_another(shown));
        }
        self.opening.check_id(found, shown)
    }

    /// Why a realm is not made, of which the caller knows the `others` beside it.
    pub(crate) fn is_not_there(&self, realm: &str, others: &[String], shown: &str) -> LedgerError {
        let hint = realm::is_not_there(realm, others, shown);
        match self.opening.missing {
            Missing::Refuse => self.opening.not_made(&hint),
            _ => LedgerError::Unfit(format!("{hint}. `floe serve` and `floe mint` make a new one")),
        }
    }

    /// Whether the realms beside this one have to be looked for: nobody named it.
    pub(crate) fn asks_for_others(&self) -> bool {
        self.known.is_none() && self.opening.asks_for_others()
    }
}

/// How long things take at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bounds {
    /// A call, with everything in it.
    pub(crate) max_wait: Duration,
    /// Connecting, TLS and checks included.
    pub(crate) connect: Duration,
}

/// A connection and what was found on its way.
pub(crate) struct Connected<L> {
    pub(crate) link: L,
    /// None where the records say it themselves.
    pub(crate) realm_id: Option<String>,
    /// What was found otherwise than one would expect, and let be.
    pub(crate) remarks: Vec<String>,
}

/// What may go wrong inside a call.
#[derive(Debug)]
pub(crate) enum Trouble<E> {
    Store(E),
    Timeout(Duration),
    NoThread,
    Ledger(LedgerError),
}

impl<E> From<LedgerError> for Trouble<E> {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}

impl<E> Trouble<E> {
    /// Whether the connection is as good as before: the answer itself was an error of the contract.
    fn spares_the_link(&self) -> bool {
        matches!(self, Self::Ledger(LedgerError::Missing(_) | LedgerError::Overflow { .. }))
    }

    pub(crate) fn words(self, shown: &str, store: impl FnOnce(E) -> LedgerError) -> LedgerError {
        match self {
            Self::Store(error) => store(error),
            Self::Ledger(error) => error,
            Self::Timeout(bound) => LedgerError::Unavailable(format!(
                "{shown} gave no answer within {bound:?}: check whether it runs, what it waits for, whether the \
                 network lets the connection through, and whether the port speaks this protocol, with or without TLS"
            )),
            Self::NoThread => LedgerError::Unavailable(format!(
                "the thread that talks to {shown} does not answer: a process that forks has to open its ledger again"
            )),
        }
    }
}

/// What a call does with its connection.
pub(crate) type Work<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, Trouble<E>>> + Send + 'a>>;

/// A server, and what drives the connections to it.
pub(crate) struct Remote<C: Connect> {
    pool: Arc<Pool<C>>,
    /// What the server was found to be.
    found: OnceLock<String>,
    driver: Driver,
}

impl<C: Connect> Remote<C> {
    /// Starts the thread, `name`, and makes the first connection.
    pub(crate) fn open(name: &str, connect: C, opening: &Opening) -> Result<Self, OpenError> {
        let pool = Arc::new(Pool::new(connect, opening.clone()));
        let closed = Arc::clone(&pool);
        let driver =
            Driver::start(name, pool.connect.shown(), Box::pin(async move { closed.close().await }))?;
        let remote = Self { pool, found: OnceLock::new(), driver };
        match remote.wait(remote.pool.begin()) {
            Ok(remarks) => {
                let remarks =
                    if remarks.is_empty() { remarks.join("") } else { format!(" ({})", remarks.join("; ")) };
                remote.found.get_or_init(|| remarks);
                Ok(remote)
            }
            Err(Trouble::Store(error)) => Err(remote.pool.connect.at_open(error)),
            Err(trouble) => Err(remote.words(trouble).into()),
        }
    }

    /// As [`call`](Self::call), with what went wrong as it is.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        work: impl for<'a> FnOnce(&'a mut C::Link) -> Work<'a, T, C::Error> + Send + 'static,
    ) -> Result<T, Trouble<C::Error>> {
        self.wait(async move {
            let mut lease = self.pool.lease().await?;
            let outcome = work(lease.link()?).await;
            if outcome.as_ref().err().is_none_or(Trouble::spares_the_link) {
                lease.keep();
            }
            outcome
        })
    }

    /// Runs `work` on a connection, and waits for it no longer than the bound.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        work: impl for<'a> FnOnce(&'a mut C::Link) -> Work<'a, T, C::Error> + Send + 'static,
    ) -> Result<T, LedgerError> {
        self.ask(work).map_err(|trouble| self.words(trouble))
    }

    /// The realm's id. It is there from the first connection on.
    pub(crate) fn realm_id(&self) -> String {
        self.pool.realm_id().unwrap_or_default().to_owned()
    }

    /// The server without credentials, and what was found there.
    pub(crate) fn describe(&self) -> String {
        let found = self.found.get().map_or("", String::as_str);
        format!("{}{found}", self.pool.connect.shown())
    }

    pub(crate) fn words(&self, trouble: Trouble<C::Error>) -> LedgerError {
        let connect = &self.pool.connect;
        trouble.words(connect.shown(), |error| connect.at_work(error))
    }

    fn wait<T: Send>(
        &self,
        work: impl Future<Output = Result<T, Trouble<C::Error>>> + Send,
    ) -> Result<T, Trouble<C::Error>> {
        self.driver.wait(self.pool.connect.bounds().max_wait, work)
    }
}
