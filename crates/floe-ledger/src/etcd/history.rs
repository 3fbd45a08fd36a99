//! What every answer says of the cluster, held against what it said before.
//!
//! etcd counts every change in one **revision**. A linearizable answer has a revision at least as high as every answer
//! that was there before its question was asked. Where it is lower, changes are gone that somebody was told of: the
//! cluster was restored from a backup, or lost what it had not flushed (`--unsafe-no-fsync`). Ranges may be among
//! them, and would be handed out again.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};

use floe::ledger::LedgerError;

use super::Trouble;
use super::messages::Header;
use super::trouble::Fault;
use super::url::Endpoint;
use crate::remote::realm;

/// What was seen of a cluster since the ledger was opened, on all connections.
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

    /// Takes the header of a linearizable answer into account, to a question that was asked when the revision was
    /// `before`.
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
