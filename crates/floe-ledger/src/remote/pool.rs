//! The connections: at most four. After any error on one, it is not used again.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep_until, timeout};

use super::{Connect, Connected, Trouble, Wanted, realm};
use crate::Opening;
use crate::pauses::{self, Pauses};

/// The most connections of a ledger. The library calls from a few threads at once.
pub(crate) const CONNECTIONS: usize = 4;

/// After failed connects.
pub(crate) const PAUSES: Pauses =
    Pauses { first: Duration::from_millis(20), longest: Duration::from_millis(500) };

/// How long the goodbye to the server may take.
const GOODBYE: Duration = Duration::from_millis(100);

pub(super) struct Pool<C: Connect> {
    pub(super) connect: C,
    opening: Opening,
    /// The first connection sets it; every later one has to find the same.
    realm_id: OnceLock<String>,
    permits: Semaphore,
    idle: Mutex<Vec<C::Link>>,
    pace: Mutex<Pace>,
}

/// When to try the next connect.
#[derive(Default)]
struct Pace {
    failures: u32,
    not_before: Option<Instant>,
}

/// A connection for one call. Unless it is kept, it is closed, and the idle ones with it: an error on one (because a
/// server is down, frozen or replaced) usually concerns all of them.
pub(super) struct Lease<'a, C: Connect> {
    pool: &'a Pool<C>,
    link: Option<C::Link>,
    _permit: SemaphorePermit<'a>,
}

impl<C: Connect> Pool<C> {
    pub(super) fn new(connect: C, opening: Opening) -> Self {
        Self {
            connect,
            opening,
            realm_id: OnceLock::new(),
            permits: Semaphore::new(CONNECTIONS),
            idle: Mutex::default(),
            pace: Mutex::default(),
        }
    }

    /// Makes the first connection, and returns the remarks.
    pub(super) async fn begin(&self) -> Result<Vec<String>, Trouble<C::Error>> {
        let permit = self.permits.acquire().await.map_err(|_| Trouble::NoThread)?;
        let Connected { link, remarks, .. } = self.bounded_connect().await?;
        Lease { pool: self, link: Some(link), _permit: permit }.keep();
        Ok(remarks)
    }

    /// A connection that works as far as is known.
    pub(super) async fn lease(&self) -> Result<Lease<'_, C>, Trouble<C::Error>> {
        let permit = self.permits.acquire().await.map_err(|_| Trouble::NoThread)?;
        let idle = {
            let mut idle = self.idle();
            idle.retain(|link| !C::is_closed(link));
            idle.pop()
        };
        let link = match idle {
            Some(link) => link,
            None => self.paced_connect().await?,
        };
        Ok(Lease { pool: self, link: Some(link), _permit: permit })
    }

    pub(super) fn realm_id(&self) -> Option<&str> {
        self.realm_id.get().map(String::as_str)
    }

    /// Closes the idle connections in order.
    pub(super) async fn close(&self) {
        let links = std::mem::take(&mut *self.idle());
        for link in links {
            drop(timeout(GOODBYE, C::goodbye(link)).await);
        }
    }

    async fn paced_connect(&self) -> Result<C::Link, Trouble<C::Error>> {
        let not_before = self.pace().not_before;
        if let Some(moment) = not_before {
            sleep_until(moment).await;
        }
        let outcome = self.bounded_connect().await;
        let mut pace = self.pace();
        match outcome {
            Ok(connected) => {
                *pace = Pace::default();
                Ok(connected.link)
            }
            Err(trouble) => {
                let pause = PAUSES.after(pace.failures, pauses::random());
                pace.not_before = Some(Instant::now() + pause);
                pace.failures = pace.failures.saturating_add(1);
                Err(trouble)
            }
        }
    }

    async fn bounded_connect(&self) -> Result<Connected<C::Link>, Trouble<C::Error>> {
        let bounds = self.connect.reach().bounds;
        let bound = bounds.connect.min(bounds.max_wait);
        let wanted = Wanted { known: self.realm_id(), opening: &self.opening };
        let connected = timeout(bound, self.connect.connect(wanted)).await;
        let connected = connected.unwrap_or(Err(Trouble::Timeout(bound)))?;
        if let Some(realm_id) = &connected.realm_id {
            self.opening.check_id(realm_id, &self.connect.reach().shown)?;
            if self.realm_id.get_or_init(|| realm_id.clone()) != realm_id {
                return Err(realm::is_another(&self.connect.reach().shown).into());
            }
        }
        Ok(connected)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<C::Link>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Connect> Lease<'_, C> {
    pub(super) fn link(&mut self) -> Result<&mut C::Link, Trouble<C::Error>> {
        self.link.as_mut().ok_or(Trouble::NoThread)
    }

    /// The call succeeded, so the connection may serve the next one.
    pub(super) fn keep(mut self) {
        self.pool.idle().extend(self.link.take());
    }
}

impl<C: Connect> Drop for Lease<'_, C> {
    fn drop(&mut self) {
        if self.link.is_some() {
            self.pool.idle().clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    use floe::ledger::{Key, LedgerError};

    use super::*;
    use crate::remote::ssl_mode::{Tls, Use, Verify};
    use crate::remote::url::Reach;
    use crate::remote::{Bounds, Remote};

    /// A server that numbers its connections, and the realm that each of them finds. `None` where it takes none.
    struct Numbered(AtomicU64, Reach, fn(u64) -> Option<&'static str>);

    fn reach() -> Reach {
        let bounds = Bounds { max_wait: Duration::from_secs(10), connect: Duration::from_secs(10) };
        let tls = Tls { wanted: Use::Never, verify: Verify::Nothing, own: None };
        Reach { shown: "numbered:".to_owned(), bounds, tls, allows_unsafe: false }
    }

    impl Numbered {
        fn new() -> Self {
            Self(AtomicU64::new(0), reach(), |_| Some("realm"))
        }
    }

    impl Connect for Numbered {
        type Link = u64;
        type Error = ();

        fn reach(&self) -> &Reach {
            &self.1
        }

        async fn connect(&self, _: Wanted<'_>) -> Result<Connected<u64>, Trouble<()>> {
            let link = self.0.fetch_add(1, Ordering::SeqCst);
            let realm_id = self.2(link).ok_or(Trouble::Store(()))?;
            Ok(Connected { link, realm_id: Some(realm_id.to_owned()), remarks: Vec::new() })
        }

        fn is_closed(_: &u64) -> bool {
            false
        }

        fn at_work(&self, (): ()) -> LedgerError {
            LedgerError::Unavailable("gone".to_owned())
        }
    }

    /// Otherwise a replaced or frozen server would fail as many calls as there are connections to it.
    #[tokio::test]
    async fn what_goes_wrong_on_one_connection_ends_the_idle_ones_beside_it() {
        let pool = Pool::new(Numbered::new(), Opening::of("shop"));
        assert!(pool.begin().await.is_ok());
        let (mut first, mut second) = (pool.lease().await.unwrap(), pool.lease().await.unwrap());
        assert_eq!((first.link().ok(), second.link().ok()), (Some(&mut 0), Some(&mut 1)));
        first.keep();
        second.keep();
        let mut again = pool.lease().await.unwrap();
        assert_eq!(again.link().ok(), Some(&mut 1), "one that was kept serves the next call");
        drop(again);
        assert_eq!(pool.lease().await.unwrap().link().ok(), Some(&mut 2), "and 0 went with 1");
    }

    /// Unless the error was an answer of the contract: what else comes on that connection may belong to the call that failed.
    #[test]
    fn a_connection_on_which_a_call_failed_is_used_no_more() {
        let remote = Remote::open("numbered", Numbered::new(), &Opening::of("shop")).unwrap();
        let link = || remote.call(|link| Box::pin(async move { Ok(*link) })).unwrap();
        let fail = |trouble: Trouble<()>| remote.call(|_| Box::pin(async move { Err::<(), _>(trouble) }));
        assert_eq!(link(), 0);
        let missing = LedgerError::Missing(Key::slot(10, 7));
        assert_eq!(fail(Trouble::Ledger(missing.clone())), Err(missing));
        assert_eq!(link(), 0, "it is in order");
        let unusable: [Trouble<()>; 3] = [
            Trouble::Store(()),
            LedgerError::Unavailable("odd".to_owned()).into(),
            LedgerError::Unfit("odd".to_owned()).into(),
        ];
        for (trouble, next) in unusable.into_iter().zip(1..) {
            assert!(fail(trouble).is_err());
            assert_eq!(link(), next);
        }
    }

    /// Behind the same address there may be another store by then, where the marks are lower.
    #[test]
    fn a_later_connection_that_finds_another_realm_is_not_used() {
        let server =
            Numbered(AtomicU64::new(0), reach(), |link| Some(if link == 1 { "another" } else { "realm" }));
        let remote = Remote::open("numbered", server, &Opening::of("shop")).unwrap();
        let link = || remote.call(|link| Box::pin(async move { Ok(*link) }));
        assert_eq!(link(), Ok(0));
        assert!(remote.call(|_| Box::pin(async { Err::<(), _>(Trouble::Store(())) })).is_err());
        let outcome = link();
        assert!(
            matches!(&outcome, Err(LedgerError::Unfit(text)) if text.contains("is not the one that it was")),
            "{outcome:?}"
        );
        assert_eq!((link(), remote.realm_id()), (Ok(2), "realm".to_owned()), "the right one is back");
    }

    /// A server that is down, or accepts connections and says nothing. It counts who came.
    struct Useless {
        reach: Reach,
        is_down: bool,
        came: AtomicU64,
    }

    impl Useless {
        fn pool(reach: Reach, is_down: bool) -> Pool<Self> {
            Pool::new(Self { reach, is_down, came: AtomicU64::new(0) }, Opening::of("shop"))
        }
    }

    impl Connect for Useless {
        type Link = ();
        type Error = ();

        fn reach(&self) -> &Reach {
            &self.reach
        }

        async fn connect(&self, _: Wanted<'_>) -> Result<Connected<()>, Trouble<()>> {
            self.came.fetch_add(1, Ordering::SeqCst);
            if self.is_down { Err(Trouble::Store(())) } else { std::future::pending().await }
        }

        fn is_closed((): &()) -> bool {
            false
        }

        fn at_work(&self, (): ()) -> LedgerError {
            LedgerError::Unavailable("gone".to_owned())
        }
    }

    #[tokio::test]
    async fn to_connect_takes_no_longer_than_its_own_bound() {
        let mut reach = reach();
        reach.bounds.connect = Duration::ZERO;
        let pool = Useless::pool(reach, false);
        let Err(trouble) = pool.lease().await else { panic!("nobody answers") };
        assert!(matches!(trouble, Trouble::Timeout(Duration::ZERO)), "{trouble:?}");
    }

    /// Connections that a server closes: each is whether it has.
    struct Closing(Reach);

    impl Connect for Closing {
        type Link = Arc<AtomicBool>;
        type Error = ();

        fn reach(&self) -> &Reach {
            &self.0
        }

        async fn connect(&self, _: Wanted<'_>) -> Result<Connected<Self::Link>, Trouble<()>> {
            Ok(Connected { link: Arc::default(), realm_id: None, remarks: Vec::new() })
        }

        fn is_closed(link: &Self::Link) -> bool {
            link.load(Ordering::SeqCst)
        }

        fn at_work(&self, (): ()) -> LedgerError {
            LedgerError::Unavailable("gone".to_owned())
        }
    }

    #[tokio::test]
    async fn a_connection_that_was_closed_while_it_was_idle_is_used_no_more() {
        let pool = Pool::new(Closing(reach()), Opening::of("shop"));
        for _ in 0..2 {
            let mut lease = pool.lease().await.unwrap();
            let link = Arc::clone(lease.link().unwrap());
            assert!(!link.load(Ordering::SeqCst));
            lease.keep();
            let mut again = pool.lease().await.unwrap();
            assert!(Arc::ptr_eq(again.link().unwrap(), &link), "it is open");
            again.keep();
            link.store(true, Ordering::SeqCst);
        }
    }

    /// A server that is frozen closes nothing. It counts the goodbyes that it does not answer.
    struct Frozen(Reach, Arc<AtomicU64>);

    impl Connect for Frozen {
        type Link = Arc<AtomicU64>;
        type Error = ();

        fn reach(&self) -> &Reach {
            &self.0
        }

        async fn connect(&self, _: Wanted<'_>) -> Result<Connected<Self::Link>, Trouble<()>> {
            Ok(Connected { link: Arc::clone(&self.1), realm_id: None, remarks: Vec::new() })
        }

        fn is_closed(_: &Self::Link) -> bool {
            false
        }

        async fn goodbye(link: Self::Link) {
            link.fetch_add(1, Ordering::SeqCst);
            std::future::pending().await
        }

        fn at_work(&self, (): ()) -> LedgerError {
            LedgerError::Unavailable("gone".to_owned())
        }
    }

    /// Otherwise its thread and its sockets would outlive the ledger.
    #[tokio::test]
    async fn a_goodbye_that_a_server_does_not_answer_ends_and_so_does_the_next_one() {
        let goodbyes = Arc::default();
        let pool = Pool::new(Frozen(reach(), Arc::clone(&goodbyes)), Opening::of("shop"));
        let (first, second) = (pool.lease().await.unwrap(), pool.lease().await.unwrap());
        first.keep();
        second.keep();
        timeout(Duration::from_secs(20), pool.close()).await.expect("it waits for the server");
        assert_eq!(goodbyes.load(Ordering::SeqCst), 2);
        assert_eq!(Arc::strong_count(&goodbyes), 2, "the connections are closed");
    }

    /// Otherwise each caller would connect in a loop for as long as the server is down.
    #[tokio::test]
    async fn after_a_failed_connect_nobody_comes_before_the_pause_is_over() {
        let pool = Useless::pool(reach(), true);
        assert!(pool.lease().await.is_err());
        let moment = pool.pace().not_before.unwrap();
        // A slow machine may have come past the pause already, but not past this.
        pool.pace().not_before = Some(moment + Duration::from_secs(3600));
        assert!(timeout(Duration::ZERO, pool.lease()).await.is_err(), "it waits");
        assert_eq!(pool.connect.came.load(Ordering::SeqCst), 1);
        pool.pace().not_before = None;
        assert!(pool.lease().await.is_err());
        assert_eq!((pool.connect.came.load(Ordering::SeqCst), pool.pace().failures), (2, 2));
    }

    /// A connect that ran out of its time has taken longer than the pause after it.
    #[tokio::test]
    async fn the_pause_begins_when_a_connect_has_failed() {
        let mut reach = reach();
        reach.bounds.connect = 10 * PAUSES.first;
        let pool = Useless::pool(reach, false);
        let before = Instant::now();
        assert!(pool.lease().await.is_err());
        let earliest = pool.pace().not_before.unwrap() - before;
        assert!(earliest > 10 * PAUSES.first, "{earliest:?}");
    }

    /// Otherwise each caller would connect in a loop for as long as the store holds another realm, or is a replica.
    #[tokio::test]
    async fn a_server_that_refuses_is_left_alone_as_long_as_one_that_is_down() {
        let pool = Pool::new(Numbered::new(), Opening::of("shop").realm_id("another"));
        pool.pace().failures = 9;
        let before = Instant::now();
        let outcome = pool.lease().await.map(drop);
        assert!(matches!(outcome, Err(Trouble::Ledger(LedgerError::Unfit(_)))), "{outcome:?}");
        let pause = pool.pace().not_before.unwrap() - before;
        assert!(pause >= PAUSES.longest / 2, "{pause:?}");
    }

    /// Otherwise the pauses of an outage that is over would delay the first call of the next one.
    #[tokio::test]
    async fn a_connect_that_works_ends_the_pauses() {
        let server = Numbered(AtomicU64::new(0), reach(), |link| (link > 1).then_some("realm"));
        let pool = Pool::new(server, Opening::of("shop"));
        for failures in 1..=2 {
            assert!(pool.lease().await.is_err());
            assert_eq!(pool.pace().failures, failures);
        }
        assert!(pool.lease().await.is_ok());
        let Pace { failures, not_before } = *pool.pace();
        assert_eq!((failures, not_before), (0, None));
    }
}
