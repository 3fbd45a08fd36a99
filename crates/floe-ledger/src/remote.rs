//! What all ledgers behind a network share: what drives their connections, a small pool of these, a bound on every wait, and
//! the texts of their errors.
//!
//! An adapter says how to connect ([`Connect`]) and what to do on a connection ([`Remote::call`]). After an error on a
//! connection, the pool closes it and all idle ones. It opens new ones after growing, random pauses of at most half a second.
//! Each round trip ends within its bound, which includes connecting and the wait for a free connection.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use floe::ledger::LedgerError;

use self::driver::Driver;
use self::pool::Pool;
use self::url::Reach;
use crate::{OpenError, Opening, realm_name};

// A build with few ledgers does not use all of these modules.
pub(crate) mod driver;
pub(crate) mod endpoint;
#[cfg(any(feature = "consul", feature = "served"))]
pub(crate) mod http;
pub(crate) mod pool;
#[cfg_attr(
    not(all(feature = "etcd", feature = "mysql", feature = "redis", feature = "zookeeper")),
    allow(dead_code)
)]
pub(crate) mod realm;
#[cfg(feature = "tls")]
pub(crate) mod socket;
pub(crate) mod ssl_mode;
pub(crate) mod stored;
#[cfg(any(feature = "postgres-no-tls", feature = "redis", feature = "zookeeper"))]
pub(crate) mod task;
#[cfg(feature = "tls")]
pub(crate) mod tls;
pub(crate) mod url;

/// How an adapter reaches its server.
pub(crate) trait Connect: Send + Sync + 'static {
    /// A connection.
    type Link: Send + 'static;
    /// An error on a connection.
    type Error: Send + 'static;

    /// What the URL says of the way to the server.
    fn reach(&self) -> &Reach;

    /// Connects, checks that the server is fit, and enters the realm. If the realm's id is known, a missing table or realm is
    /// an error; otherwise this makes it, if [`Wanted::may_make`] allows it.
    fn connect(
        &self,
        wanted: Wanted<'_>,
    ) -> impl Future<Output = Result<Connected<Self::Link>, Trouble<Self::Error>>> + Send;

    /// Whether the connection is known to be closed.
    fn is_closed(link: &Self::Link) -> bool;

    /// Closes the connection in order, which may take a round trip.
    fn goodbye(link: Self::Link) -> impl Future<Output = ()> + Send {
        drop(link);
        std::future::ready(())
    }

    /// The error of a running ledger. A wrong password or a missing right is temporary there: somebody may set it right.
    fn at_work(&self, error: Self::Error) -> LedgerError;

    /// The error while the ledger is opened. A wrong name or password is then an error of the user's request.
    fn at_open(&self, error: Self::Error) -> OpenError {
        self.at_work(error).into()
    }
}

/// The way out for an error of a server that has none of its own.
pub(crate) const LOOK: &str =
    "check the host and the port in the URL, whether the server runs, and what its log says";

/// What must exist when a connection is made.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// The realm's id, once this process has seen it. From then on nothing may be missing.
    known: Option<&'a str>,
    /// How the ledger is opened.
    pub(crate) opening: &'a Opening,
}

impl<'a> Wanted<'a> {
    /// For a ledger that keeps its realm in its records.
    pub(crate) fn at_open(opening: &'a Opening) -> Self {
        Self { known: None, opening }
    }
}

impl Wanted<'_> {
    /// How the first connection enters the realm. `None` on later ones, since every call has the realm's id.
    #[cfg(feature = "served")]
    pub(crate) fn first(&self) -> Option<&Opening> {
        self.known.is_none().then_some(self.opening)
    }

    /// Whether the caller may make `what`, a missing table or realm.
    ///
    /// # Errors
    /// `Unfit` if it existed before, or if the realm's id is pinned.
    pub(crate) fn may_make(&self, shown: &str, what: &str) -> Result<bool, LedgerError> {
        match (self.known, &self.opening.pinned) {
            (Some(_), _) => Err(realm::is_gone(shown, what)),
            (None, Some(_)) => Err(self.opening.not_made(&format!("{what} at {shown} is missing"))),
            (None, None) => Ok(self.opening.may_make()),
        }
    }

    /// # Errors
    /// `Unfit` if the realm's id is not the pinned one, or not the one of the first connection.
    pub(crate) fn check_id(&self, found: &str, shown: &str) -> Result<(), LedgerError> {
        if self.known.is_some_and(|known| known != found) {
            return Err(realm::is_another(shown));
        }
        self.opening.check_id(found, shown)
    }
}

/// The longest waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bounds {
    /// For a whole round trip.
    pub(crate) max_wait: Duration,
    /// For connecting, with TLS and checks.
    pub(crate) connect: Duration,
}

/// A connection, and what connecting found out.
pub(crate) struct Connected<L> {
    pub(crate) link: L,
    /// `None` if the records themselves have it.
    pub(crate) realm_id: Option<String>,
    /// Risks that the URL accepts (`unsafe=allow`), for the ledger's description.
    pub(crate) remarks: Vec<String>,
}

/// The error of a call.
#[derive(Debug)]
pub(crate) enum Trouble<E> {
    Store(E),
    Timeout(Duration),
    NoThread,
    /// The system refused a thread for the call.
    Refused(std::io::Error),
    Ledger(LedgerError),
}

impl<E> From<LedgerError> for Trouble<E> {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}

impl<E> Trouble<E> {
    /// Whether the connection can be used again, since the error was an answer of the contract.
    fn spares_the_link(&self) -> bool {
        matches!(self, Self::Ledger(LedgerError::Missing(_) | LedgerError::Overflow { .. }))
    }

    /// The error for the ledger's caller; `store` words the store's own.
    pub(crate) fn words(self, shown: &str, store: impl FnOnce(E) -> LedgerError) -> LedgerError {
        match self {
            Self::Store(error) => store(error),
            Self::Ledger(error) => error,
            Self::Timeout(bound) => LedgerError::Unavailable(format!(
                "{shown} gave no answer within {bound:?}: check whether it runs, what it waits for, whether the \
                 network lets the connection through, and whether the port speaks this protocol, with or without TLS"
            )),
            Self::Refused(error) => driver::no_thread(shown, &error),
            Self::NoThread => LedgerError::Unavailable(format!(
                "the thread that talks to {shown} does not answer: a process that forks has to open its ledger again"
            )),
        }
    }
}

/// What a call does on its connection.
pub(crate) type Work<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, Trouble<E>>> + Send + 'a>>;

/// A server, and what drives the connections to it.
pub(crate) struct Remote<C: Connect> {
    pool: Arc<Pool<C>>,
    /// The remarks of the first connection.
    found: OnceLock<String>,
    driver: Driver,
}

impl<C: Connect> Remote<C> {
    /// Starts the thread `name`, and makes the first connection.
    pub(crate) fn open(name: &str, connect: C, opening: &Opening) -> Result<Self, OpenError> {
        realm_name(opening.realm())?;
        let pool = Arc::new(Pool::new(connect, opening.clone()));
        let closed = Arc::clone(&pool);
        let driver =
            Driver::start(name, &pool.connect.reach().shown, Box::pin(async move { closed.close().await }))?;
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

    /// As [`call`](Self::call), with the error as it is.
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

    /// Runs `work` on a connection, and waits for at most `max_wait`.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        work: impl for<'a> FnOnce(&'a mut C::Link) -> Work<'a, T, C::Error> + Send + 'static,
    ) -> Result<T, LedgerError> {
        self.ask(work).map_err(|trouble| self.words(trouble))
    }

    /// The realm's id, known from the first connection on.
    pub(crate) fn realm_id(&self) -> String {
        self.pool.realm_id().unwrap_or_default().to_owned()
    }

    /// The server's URL without credentials, and the remarks.
    pub(crate) fn describe(&self) -> String {
        let found = self.found.get().map_or("", String::as_str);
        format!("{}{found}", self.pool.connect.reach().shown)
    }

    pub(crate) fn words(&self, trouble: Trouble<C::Error>) -> LedgerError {
        let connect = &self.pool.connect;
        trouble.words(&connect.reach().shown, |error| connect.at_work(error))
    }

    fn wait<T: Send>(
        &self,
        work: impl Future<Output = Result<T, Trouble<C::Error>>> + Send,
    ) -> Result<T, Trouble<C::Error>> {
        self.driver.wait(self.pool.connect.reach().bounds.max_wait, work)
    }
}

#[cfg(test)]
pub(crate) mod tests;
