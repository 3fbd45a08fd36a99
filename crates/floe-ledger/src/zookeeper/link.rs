//! A session, and what is asked on it.
//!
//! Three properties of ZooKeeper carry what [`Store`](floe::store::Store) asks of a store:
//!
//! 1. A **write** is agreed on by a quorum and flushed by each of it (`forceSync`) before any server applies it, and a
//!    server shows only what it has applied. So what is read anywhere is durable, and what a write answered is so too.
//! 2. All servers apply the same writes in the same order. A transaction that **fails** has its place in that order like
//!    any other: the leader proposes the failure itself.
//! 3. A server answers the requests of one session in the order in which they were sent, and answers a write when it
//!    has applied it. So a read that is sent **behind a write** in one session, whether or not the write succeeds, sees
//!    that write and all before it. It may be sent at once, without waiting for the write's answer. (A read alone may
//!    be answered by a server that lags behind; so may one behind a `sync`, by a leader that does not know yet that it
//!    was deposed.)
//!
//! A **get** is a read behind a transaction without effect. A **put** is one transaction, and the read behind it says what
//! is there if it fails. Each transaction looks whether the realm's own node is there.
//!
//! A node's version does not tell one write from another: a node that was deleted and made again begins at 0, and one
//! of a restored backup has the version that it had. So each record has a child with the name of its last write's number.
//! A put deletes the child of the write that was read and makes its own, together with the write. It succeeds only on
//! the very record that was read.
//!
//! A reply that is lost leaves the outcome unknown: the call is unavailable, its connection is closed, and its request
//! may take effect later, on the condition that nobody has written in between.

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
    /// The last transaction that any answer to this ledger has told of.
    pub(super) heard: Arc<AtomicI64>,
    /// For the nodes that are made.
    pub(super) access: Access,
    /// The ensemble without credentials.
    pub(super) shown: Arc<str>,
}

/// A node's text and its version, where there is such a node.
pub(super) type Found = Option<(String, i32)>;

impl Link {
    pub(super) async fn ask(&mut self, requests: &[Request<'_>]) -> Result<Vec<Reply>, Trouble> {
        self.session.ask(requests).await.map_err(Trouble::Store)
    }

    /// Asks for writes, or for reads of which the first request is a write.
    ///
    /// # Errors
    /// `Unfit` where the ensemble has forgotten what it once said: a write is agreed on by a quorum, so its number is
    /// above every number of which anybody had heard when it was sent.
    pub(super) async fn settle(&mut self, requests: &[Request<'_>]) -> Result<Vec<Reply>, Trouble> {
        let heard = self.heard.load(Ordering::SeqCst);
        let replies = self.ask(requests).await?;
        if replies.len() != requests.len() {
            return Err(Trouble::Store(Error::Garbled("replies that nobody asked for")));
        }
        if replies.first().is_none_or(|reply| reply.zxid < heard) {
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

    /// Asks for one write.
    pub(super) async fn settle_one(&mut self, request: Request<'_>) -> Result<Reply, Trouble> {
        self.settle(&[request]).await?.pop().ok_or(Trouble::Store(Error::Garbled("no reply")))
    }

    /// What `requests` answer behind a write that changes nothing: what is there as it is agreed on, or later. `None` where
    /// there is no node `root`.
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

    /// What the nodes at `paths` hold, below `root`.
    ///
    /// # Errors
    /// `Unfit` where there is no node `root`.
    pub(super) async fn read(&mut self, root: &str, paths: &[&str]) -> Result<Vec<Found>, Trouble> {
        let requests: Vec<_> = paths.iter().map(|path| Request::Read { path }).collect();
        let replies = self.settled(root, &requests).await?.ok_or_else(|| self.is_gone(root))?;
        replies.iter().zip(paths).map(|(reply, path)| self.text(reply, path)).collect()
    }

    /// What the node of a realm holds: the version of its layout, its record, and the version of the node. What no floe has
    /// written is shown as it is.
    ///
    /// # Errors
    /// `Unfit` where a newer floe wrote it.
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

    /// Makes the `buckets` where they are missing, and does all `parts` in one transaction. The version of the node that
    /// was written last, 0 where it was made, or `None` where a condition does not hold; and what `path` holds then.
    ///
    /// # Errors
    /// `Unfit` where there is no node `root`.
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

    /// Makes a node.
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
