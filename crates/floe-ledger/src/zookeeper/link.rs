//! A session, and the requests on it.
//!
//! The contract of [`Store`](floe::store::Store) rests on three properties of ZooKeeper:
//!
//! 1. Before any server applies a **write**, a quorum has agreed on it, and each server of the quorum has flushed it
//!    (`forceSync`). A server shows only writes that it has applied. So every read text is durable, and so is every
//!    write that was answered.
//! 2. All servers apply the same writes in the same order. A transaction that **fails** has its place in that order,
//!    too: the leader proposes the failure itself.
//! 3. A server answers the requests of one session in the order in which they were sent. It answers a write after it has
//!    applied it. So if a session sends a read **after a write**, the read sees that write and all before it, whether or
//!    not the write succeeds. The session need not wait for the write's answer. (A server that lags behind may answer a
//!    read alone. After a `sync`, a leader that has been replaced and does not know it yet may answer.)
//!
//! A **get** is a read after a transaction without effect. A **put** is one transaction with a read after it, which
//! shows the record if the transaction fails. Each transaction checks that the realm's own node exists.
//!
//! A node's version does not identify a write: a node that was deleted and made again begins at 0, and a restored backup
//! brings back former versions. So each record has a child whose name is the number of the record's last write. A put
//! deletes the child of the write that was read, makes its own, and writes the record, in one transaction. It succeeds
//! only on exactly the record that was read.
//!
//! If a reply is lost, the outcome is unknown: the call is unavailable, and its connection is closed. The request may
//! take effect later, if there was no other write in between.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use floe::ledger::LedgerError;

use super::Trouble;
use super::code;
use super::jute::{Access, Reply, Request};
use super::layout;
use super::session::Session;
use super::trouble::Error;
use crate::remote::realm as words;

/// A session with one server.
pub(super) struct Link {
    pub(super) session: Session,
    /// The highest transaction number of any answer to this ledger.
    pub(super) heard: Arc<AtomicI64>,
    /// The access list of the nodes that it makes.
    pub(super) access: Access,
    /// The ensemble without credentials, for errors.
    pub(super) shown: Arc<str>,
}

/// A node's text and its version, if the node exists.
pub(super) type Found = Option<(String, i32)>;

impl Link {
    pub(super) async fn ask(&mut self, requests: &[Request<'_>]) -> Result<Vec<Reply>, Trouble> {
        self.session.ask(requests).await.map_err(Trouble::Store)
    }

    /// Sends writes and reads. The first request is a write.
    ///
    /// # Errors
    /// `Unfit` if the ensemble has lost transactions that it had reported: a quorum agrees on a write, so its number is
    /// above all numbers that any client had received before the write was sent. A server that has too much to do refuses
    /// a write by itself, and may be behind the others.
    pub(super) async fn settle(&mut self, requests: &[Request<'_>]) -> Result<Vec<Reply>, Trouble> {
        let heard = self.heard.load(Ordering::SeqCst);
        let replies = self.ask(requests).await?;
        if replies.len() != requests.len() {
            return Err(Trouble::Store(Error::Garbled("replies that nobody asked for")));
        }
        let lost = |reply: &Reply| reply.zxid < heard && reply.code != code::THROTTLED;
        if replies.first().is_none_or(lost) {
            return Err(LedgerError::Unfit(format!(
                "{} has lost transactions that it had reported before (it is at {:#x} and was at {heard:#x}): it was restored \
                 from an older backup, or lost its disks: {}, then start floe again",
                self.shown,
                replies.first().map_or(0, |reply| reply.zxid),
                words::RAISE
            ))
            .into());
        }
        if let Some(last) = replies.last() {
            self.heard.fetch_max(last.zxid, Ordering::SeqCst);
        }
        Ok(replies)
    }

    /// Sends one write.
    pub(super) async fn settle_one(&mut self, request: Request<'_>) -> Result<Reply, Trouble> {
        self.settle(&[request]).await?.pop().ok_or(Trouble::Store(Error::Garbled("no reply")))
    }

    /// Sends `requests` after a write that changes nothing, so that they see all earlier writes. `None` if there is no node
    /// `root`.
    pub(super) async fn settled(
        &mut self,
        root: &str,
        requests: &[Request<'_>],
    ) -> Result<Option<Vec<Reply>>, Trouble> {
        let barrier = Request::All(vec![Request::Exists { path: root }]);
        let mut replies = self.settle(&[&[barrier], requests].concat()).await?;
        match replies.remove(0).outcome().map_err(Trouble::Store)? {
            Ok(_) => Ok(Some(replies)),
            Err((_, code::NO_NODE)) => Ok(None),
            Err((_, code)) => Err(Trouble::Store(Error::Code(code))),
        }
    }

    /// Reads the nodes at `paths`, below `root`.
    ///
    /// # Errors
    /// `Unfit` if there is no node `root`.
    pub(super) async fn read(&mut self, root: &str, paths: &[&str]) -> Result<Vec<Found>, Trouble> {
        let requests: Vec<_> = paths.iter().map(|path| Request::Read { path }).collect();
        let replies = self.settled(root, &requests).await?.ok_or_else(|| self.is_gone(root))?;
        replies.iter().zip(paths).map(|(reply, path)| self.text(reply, path)).collect()
    }

    /// Reads the node of a realm: the version of its layout, its record, and the version of the node. A text that no floe
    /// wrote is returned unchanged.
    ///
    /// # Errors
    /// `Unfit` if a newer floe wrote it.
    pub(super) async fn realm(&mut self, path: &str) -> Result<Option<(i64, String, i32)>, Trouble> {
        let replies = self.settled(path, &[Request::Read { path }]).await?.unwrap_or_default();
        let found = replies.first().map(|reply| self.text(reply, path)).transpose()?.flatten();
        let Some((text, at)) = found else { return Ok(None) };
        match layout::parse_realm(&text) {
            Some((newer, _)) if newer > layout::VERSION => {
                Err(words::is_newer(&self.shown, newer, layout::VERSION).into())
            }
            Some((version, Some(record))) => Ok(Some((version, record, at))),
            _ => Ok(Some((layout::VERSION, text, at))),
        }
    }

    /// Makes missing `buckets`, and runs all `parts` in one transaction. Returns the version of the node that was written
    /// last (0 if it was made; `None` if a condition did not hold), and the content of `path` afterwards.
    ///
    /// # Errors
    /// `Unfit` if there is no node `root`.
    pub(super) async fn write(
        &mut self,
        root: &str,
        buckets: &[&str],
        mut parts: Vec<Request<'_>>,
        path: &str,
    ) -> Result<(Option<i32>, Found), Trouble> {
        parts.insert(0, Request::Exists { path: root });
        let mut requests: Vec<_> = buckets.iter().map(|path| self.create(path, b"")).collect();
        requests.extend([Request::All(parts), Request::Read { path }]);
        let replies = self.settle(&requests).await?;
        let [made @ .., all, read] = &*replies else {
            return Err(Trouble::Store(Error::Garbled("no reply")));
        };
        for bucket in made {
            if bucket.code == code::NO_NODE {
                return Err(self.is_gone(root));
            }
            bucket.is_done_or(&[code::NODE_EXISTS]).map_err(Trouble::Store)?;
        }
        let done = match all.outcome().map_err(Trouble::Store)? {
            Ok(version) => Some(version.unwrap_or(0)),
            Err((0, code::NO_NODE)) => return Err(self.is_gone(root)),
            Err((_, code::BAD_VERSION | code::NO_NODE | code::NODE_EXISTS)) => None,
            Err((_, code)) => return Err(Trouble::Store(Error::Code(code))),
        };
        Ok((done, self.text(read, path)?))
    }

    /// A request that makes a node.
    pub(super) fn create<'a>(&self, path: &'a str, data: &'a [u8]) -> Request<'a> {
        Request::Create { path, data, access: self.access }
    }

    pub(super) fn text(&self, reply: &Reply, path: &str) -> Result<Found, Trouble> {
        let Some((data, version)) = reply.data().map_err(Trouble::Store)? else { return Ok(None) };
        let text = String::from_utf8(data);
        let text = text.map_err(|_| words::is_damaged(&self.shown, &format!("the node {path}")))?;
        Ok(Some((text, version)))
    }

    pub(super) fn is_gone(&self, root: &str) -> Trouble {
        words::is_gone(&self.shown, &format!("the realm's node {root}")).into()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::pin::pin;
    use std::time::Duration;

    use tokio::io::{AsyncWriteExt, DuplexStream, duplex};
    use tokio::time::timeout;

    use super::super::connect::Ensemble;
    use super::super::session::tests::{accept, frame};
    use super::*;
    use crate::remote::Connect;

    /// A session of a ledger, and the server's end of it.
    pub(in crate::zookeeper) async fn link(heard: &Arc<AtomicI64>) -> (Link, DuplexStream) {
        let (stream, mut server) = duplex(1 << 10);
        let (session, ()) = tokio::join!(Session::begin(Box::new(stream)), accept(&mut server, 10_000));
        let (heard, shown) = (Arc::clone(heard), "zookeeper:".into());
        (Link { session: session.unwrap(), heard, access: Access::World, shown }, server)
    }

    async fn ask(link: &mut Link) -> Result<Reply, Trouble> {
        link.settle_one(Request::All(vec![Request::Exists { path: "/floe" }])).await
    }

    /// Waits for the next request, and returns its number and the rest. The other frames are pings.
    async fn next_request(server: &mut DuplexStream) -> (i32, Vec<u8>) {
        loop {
            if let (number @ 1.., rest) = frame(server).await {
                break (number, rest);
            }
        }
    }

    /// Waits for a request, and answers it with the transaction number `zxid`, an error's code and a body.
    pub(in crate::zookeeper) async fn reply(server: &mut DuplexStream, zxid: i64, code: i32, body: &[u8]) {
        let (number, _) = next_request(server).await;
        let length = i32::try_from(16 + body.len()).unwrap();
        let head = [length, number].map(i32::to_be_bytes).concat();
        server
            .write_all(&[&head, &zxid.to_be_bytes()[..], &code.to_be_bytes(), body].concat())
            .await
            .unwrap();
    }

    async fn answer(server: &mut DuplexStream, zxid: i64) {
        reply(server, zxid, 0, &[]).await;
    }

    /// The body of the reply to a transaction: these results, each an operation and what comes with it.
    fn results(results: &[(i32, &[u8])]) -> Vec<u8> {
        let header = |operation: i32, end: u8| [&operation.to_be_bytes()[..], &[end], &[0xff; 4]].concat();
        let all = results.iter().map(|(operation, rest)| [&header(*operation, 0), *rest].concat());
        all.chain([header(-1, 1)]).collect::<Vec<_>>().concat()
    }

    /// Of one that was done, and only looked.
    pub(in crate::zookeeper) fn done() -> Vec<u8> {
        results(&[(13, &[])])
    }

    /// Of one whose first part failed with this code.
    pub(in crate::zookeeper) fn failed(code: i32) -> Vec<u8> {
        results(&[(-1, &code.to_be_bytes())])
    }

    /// The body of the reply to a read.
    pub(in crate::zookeeper) fn node(text: &str, version: i32) -> Vec<u8> {
        let length = i32::try_from(text.len()).unwrap().to_be_bytes();
        [&length[..], text.as_bytes(), &[0; 32], &version.to_be_bytes(), &[0; 32]].concat()
    }

    /// A server that lags behind shows the past, unless a write was before.
    #[tokio::test]
    async fn a_read_comes_behind_a_transaction() {
        let (mut link, mut server) = link(&Arc::default()).await;
        let mut read = pin!(link.read("/floe/shop", &["/floe/shop/a"]));
        tokio::select! {
            _ = &mut read => panic!("nobody has answered"),
            (_, asked) = next_request(&mut server) => {
                assert_eq!(asked[..4], 14_i32.to_be_bytes(), "a read is 4");
            }
        }
    }

    #[tokio::test]
    async fn an_answer_that_comes_late_takes_nothing_back() {
        let heard = Arc::default();
        let (mut slow, mut its_server) = link(&heard).await;
        let (mut quick, mut other_server) = link(&heard).await;
        let (late, early) = tokio::join!(ask(&mut slow), async {
            let (early, ()) = tokio::join!(ask(&mut quick), answer(&mut other_server, 7));
            answer(&mut its_server, 5).await;
            early
        });
        assert!(late.is_ok() && early.is_ok(), "both were asked before: {late:?} {early:?}");
        let (older, ()) = tokio::join!(ask(&mut slow), answer(&mut its_server, 6));
        assert!(matches!(older, Err(Trouble::Ledger(LedgerError::Unfit(_)))), "{older:?}");
    }

    /// Others may have written between the two.
    #[tokio::test]
    async fn the_last_of_the_replies_to_one_call_is_the_highest() {
        let heard = Arc::default();
        let [(mut first, mut its), (mut second, mut others)] = [link(&heard).await, link(&heard).await];
        let exists = || Request::Exists { path: "/floe" };
        let requests = [Request::All(vec![exists()]), exists()];
        let (replies, ()) = tokio::join!(first.settle(&requests), async {
            answer(&mut its, 7).await;
            answer(&mut its, 9).await;
        });
        assert_eq!(replies.unwrap().len(), 2);
        let (older, ()) = tokio::join!(ask(&mut second), answer(&mut others, 8));
        assert!(matches!(older, Err(Trouble::Ledger(LedgerError::Unfit(_)))), "{older:?}");
    }

    /// It refuses the write by itself, and may be behind the server of another connection.
    #[tokio::test]
    async fn a_server_that_has_too_much_to_do_has_lost_nothing() {
        let heard = Arc::default();
        let [(mut first, mut its), (mut second, mut others)] = [link(&heard).await, link(&heard).await];
        let (heard, ()) = tokio::join!(ask(&mut first), answer(&mut its, 7));
        assert!(heard.is_ok(), "{heard:?}");
        let (refused, ()) = tokio::join!(ask(&mut second), reply(&mut others, 5, code::THROTTLED, &[]));
        assert_eq!(refused.unwrap().code, code::THROTTLED);
        let (older, ()) = tokio::join!(ask(&mut second), answer(&mut others, 6));
        assert!(matches!(older, Err(Trouble::Ledger(LedgerError::Unfit(_)))), "{older:?}");
    }

    /// Each connection ends with its call, and the next call, of another name, comes on a new one.
    #[tokio::test]
    async fn an_ensemble_that_went_back_stops_every_call_and_not_the_first_alone() {
        let heard = Arc::default();
        for (zxid, is_good) in [(7, true), (5, false), (6, false), (5, false), (8, true)] {
            let (mut link, mut server) = link(&heard).await;
            let (outcome, ()) = tokio::join!(ask(&mut link), answer(&mut server, zxid));
            match outcome {
                Ok(_) if is_good => {}
                Err(Trouble::Ledger(LedgerError::Unfit(_))) if !is_good => {}
                other => panic!("{zxid}: {other:?}"),
            }
        }
    }

    /// Otherwise the call would be repeated for ever, on a realm that never comes back.
    #[tokio::test]
    async fn a_realm_that_is_removed_before_a_record_is_made_in_it_is_gone() {
        let (mut link, mut server) = link(&Arc::default()).await;
        let made = async {
            let parts = vec![link.create("/floe/shop/0f/marks/00/a", b"")];
            link.write("/floe/shop/0f", &["/floe/shop/0f/marks/00"], parts, "/floe/shop/0f/marks/00/a").await
        };
        let (made, ()) = tokio::join!(made, async {
            for (code, body) in [(code::NO_NODE, vec![]), (0, failed(code::NO_NODE)), (code::NO_NODE, vec![])]
            {
                reply(&mut server, 1, code, &body).await;
            }
        });
        assert!(
            matches!(&made, Err(Trouble::Ledger(LedgerError::Unfit(why))) if why.contains("is gone")),
            "{made:?}"
        );
    }

    #[tokio::test]
    async fn a_connection_that_has_ended_is_known_as_one_and_why() {
        let (mut link, server) = link(&Arc::default()).await;
        assert!(!Ensemble::is_closed(&link));
        drop(server);
        let known = async {
            while !Ensemble::is_closed(&link) {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(20), known).await.expect("it would serve the next call");
        let Err(Trouble::Store(Error::Closed(why))) = ask(&mut link).await else { panic!("it was asked") };
        assert!(why == "it closed the connection" || why.contains("broke"), "{why}");
    }

    /// Otherwise the server would hold the session until it times out.
    #[tokio::test]
    async fn a_goodbye_ends_the_session_in_order() {
        let (link, mut server) = link(&Arc::default()).await;
        let mut goodbye = pin!(Ensemble::goodbye(link));
        let told = async { while frame(&mut server).await.0 != i32::MAX {} };
        tokio::select! {
            () = &mut goodbye => panic!("it ended before the server closed"),
            () = told => {}
        }
        drop(server);
        goodbye.await;
    }
}
