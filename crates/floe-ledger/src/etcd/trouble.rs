//! Turns etcd's errors into the ledger's, each with its cause and the way out.

use std::fmt::Display;

use floe::ledger::LedgerError;

use super::Trouble;
use super::url::Endpoint;
use crate::OpenError;
use crate::remote::realm::RAISE;

/// gRPC's codes, for errors that etcd's own words do not tell apart.
const PERMISSION_DENIED: u32 = 7;
const DATA_LOSS: u32 = 15;

/// An error of a member, or of the connection to it.
#[derive(Debug)]
pub(super) struct Fault {
    at: Endpoint,
    /// gRPC's code; `None` if the connection itself failed.
    code: Option<u32>,
    text: String,
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Self::Store(fault)
    }
}

impl Fault {
    /// The member refused a call.
    pub(super) fn refused(at: &Endpoint, code: u32, text: &str) -> Self {
        Self { at: at.clone(), code: Some(code), text: text.to_owned() }
    }

    /// The connection broke, or could not be made.
    pub(super) fn broken(at: &Endpoint, error: &dyn Display) -> Self {
        Self { at: at.clone(), code: None, text: error.to_string() }
    }

    pub(super) fn says(&self, words: &str) -> bool {
        self.text.contains(words)
    }

    /// Whether the member no longer accepts the connection's token.
    pub(super) fn asks_for_a_login(&self) -> bool {
        self.says("invalid auth token") || self.says("revision of auth store is old")
    }

    /// Whether the request is wrong and the member is not. Another member would return the same error.
    pub(super) fn is_final(&self) -> bool {
        self.is_access() || self.is_denied() || self.code == Some(DATA_LOSS)
    }

    /// Whether the user lacks the right.
    pub(super) fn is_denied(&self) -> bool {
        self.code == Some(PERMISSION_DENIED)
    }

    /// Whether the user or the password is wrong or missing.
    fn is_access(&self) -> bool {
        self.says("authentication failed") || self.says("user name is empty")
    }

    fn sentence(&self) -> String {
        format!("etcd at {}: {}; {}", self.at, self.text, self.way_out())
    }

    /// The way out, for errors that have only one.
    fn way_out(&self) -> &'static str {
        for (words, way_out) in [
            (
                "authentication failed",
                "look at the user and the password (in the URL, ETCDCTL_USER, ETCDCTL_PASSWORD or the password file)",
            ),
            ("user name is empty", "name a user (in the URL or in ETCDCTL_USER) and its password"),
            (
                "permission denied",
                "grant the user to read and write the keys under the prefix (docs/ledgers.md)",
            ),
            (
                "database space exceeded",
                "its database is at its quota: compact it, defragment it, disarm the alarm (etcdctl compact, defrag, alarm \
                 disarm), and let it compact itself (--auto-compaction-retention) or raise --quota-backend-bytes",
            ),
            ("no leader", "its cluster has no majority: look which members run (etcdctl endpoint status)"),
            ("learner", "name voting members, or promote it (etcdctl member promote)"),
            ("too many requests", "it is overloaded: look at its disk"),
            ("request is too large", "raise --max-request-bytes"),
            ("TLS: ", "look at sslmode and sslrootcert in the URL, and at the member's certificate"),
        ] {
            if self.says(words) {
                return way_out;
            }
        }
        "check the host and the port in the URL, whether the server runs and what its log says, whether it speaks TLS \
         (sslmode), and whether it asks for a certificate (sslcert)"
    }
}

/// While the ledger is opened, a wrong user or password and a missing right are the user's errors.
pub(super) fn at_open(fault: &Fault) -> OpenError {
    if fault.is_access() || fault.is_denied() {
        return OpenError::Asked(fault.sentence());
    }
    at_work(fault).into()
}

/// While a process runs, a password may be changed, and a right withdrawn and given again: try again later.
pub(super) fn at_work(fault: &Fault) -> LedgerError {
    if fault.code == Some(DATA_LOSS) {
        return LedgerError::Unfit(format!(
            "etcd at {}: {}; its members do not agree on what they hold: repair it, or restore it from a backup, then \
             {RAISE}",
            fault.at, fault.text
        ));
    }
    LedgerError::Unavailable(fault.sentence())
}
