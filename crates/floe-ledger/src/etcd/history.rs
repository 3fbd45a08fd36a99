//! Compares the revision and the cluster id of every answer with the earlier ones.
//!
//! etcd counts every change in one **revision**. A linearizable answer has a revision at least as high as every answer
//! that had arrived before the request was sent. If it is lower, the cluster has lost confirmed changes: it was
//! restored from a backup, or lost changes that it had not flushed (`--unsafe-no-fsync`). Ranges may be among these
//! changes, and would be handed out again.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};

use floe::ledger::LedgerError;

use super::Trouble;
use super::messages::Header;
use super::trouble::Fault;
use super::url::Endpoint;
use crate::remote::realm;

/// The cluster's id and its highest revision since the ledger was opened, over all connections.
#[derive(Default)]
pub(super) struct History {
    cluster: OnceLock<u64>,
    revision: AtomicI64,
}

impl History {
    /// The highest revision of any answer so far.
    pub(super) fn revision(&self) -> i64 {
        self.revision.load(Ordering::Acquire)
    }

    /// Checks the header of a linearizable answer. `before` is the revision at the time of its request.
    pub(super) fn follow(&self, before: i64, header: Option<&Header>, at: &Endpoint) -> Result<(), Trouble> {
        let Some(header) = header else {
            return Err(Trouble::Store(Fault::broken(at, &"an answer without a header")));
        };
        let cluster = *self.cluster.get_or_init(|| header.cluster_id);
        if cluster != header.cluster_id {
            return Err(LedgerError::Unfit(format!(
                "etcd at {at} belongs to cluster {:x}, and this ledger is on cluster {cluster:x}: name the members of one \
                 cluster; if it was restored from a backup, stop every floe, and {}",
                header.cluster_id,
                realm::RAISE
            ))
            .into());
        }
        if header.revision < before {
            return Err(LedgerError::Unfit(format!(
                "etcd at {at} is at revision {}, and was at {before} before: it was restored from a backup, or lost what \
                 it had not flushed (--unsafe-no-fsync). Stop every floe, and {}",
                header.revision,
                realm::RAISE
            ))
            .into());
        }
        self.revision.fetch_max(header.revision, Ordering::AcqRel);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two calls at once may hear their answers in another order than the cluster gave them.
    #[test]
    fn an_answer_that_comes_late_takes_nothing_back() {
        let history = History::default();
        let at = Endpoint::new("member", 2379).unwrap();
        let of = |cluster_id, before, revision| {
            history.follow(before, Some(&Header { cluster_id, revision }), &at).is_ok()
        };
        let hear = |before, revision| of(7, before, revision);
        assert!(hear(0, 10) && hear(0, 8), "both were asked before either was heard");
        assert_eq!(history.revision(), 10);
        assert!(hear(10, 10) && !hear(10, 9));
        assert!(history.follow(10, None, &at).is_err());
        assert!(!of(8, 10, 11), "another cluster has revisions of its own");
    }
}
