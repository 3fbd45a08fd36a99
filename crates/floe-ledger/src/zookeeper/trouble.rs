//! Turns ZooKeeper's errors into the ledger's, each with its cause and the way out.

use std::fmt;

use floe::ledger::LedgerError;

use super::code;
use crate::OpenError;
use crate::remote::LOOK;

/// An error on a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Error {
    /// The server cannot be reached.
    Unreachable(String),
    /// The TLS handshake failed.
    Tls(String),
    /// None of several servers accepted a session: the errors of all, and the last one.
    Several(String, Box<Self>),
    /// The connection ended.
    Closed(String),
    /// The connection ended before there was a session.
    NoSession,
    /// An error code of ZooKeeper.
    Code(i32),
    /// The server sent bytes that are not ZooKeeper's protocol.
    Garbled(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) | Self::Tls(why) | Self::Closed(why) | Self::Several(why, _) => {
                f.write_str(why)
            }
            Self::NoSession => f.write_str("it closed the connection before there was a session"),
            Self::Code(code) => write!(f, "ZooKeeper answered {} ({code})", name(*code)),
            Self::Garbled(what) => write!(f, "what it sent is not ZooKeeper's protocol ({what})"),
        }
    }
}

/// While the ledger is opened, rejected credentials are the user's error.
pub(super) fn at_open(error: &Error, shown: &str) -> OpenError {
    match error {
        Error::Code(code::NO_AUTH | code::AUTH_FAILED | code::REQUIRES_AUTH) => {
            OpenError::Asked(sentence(error, shown))
        }
        _ => at_work(error, shown).into(),
    }
}

/// While a process runs, a password may be changed, and a right withdrawn and given again: try again later.
pub(super) fn at_work(error: &Error, shown: &str) -> LedgerError {
    match error {
        Error::Code(code::UNIMPLEMENTED) => LedgerError::Unfit(sentence(error, shown)),
        _ => LedgerError::Unavailable(sentence(error, shown)),
    }
}

fn sentence(error: &Error, shown: &str) -> String {
    format!("{shown}: {error}; {}", way_out(error))
}

fn way_out(error: &Error) -> &'static str {
    match error {
        Error::Several(_, last) => way_out(last),
        Error::Tls(_) => {
            "look at sslmode and sslrootcert, at the host in the URL and at the port (2181 is without TLS by default); \
             a server with ssl.clientAuth=need, which is the default, wants sslcert and sslkey"
        }
        Error::NoSession => {
            "it does so while it has no quorum (also with readonlymode.enabled), if this host already has \
             maxClientCnxns connections (a floe takes four at most), and on a port that speaks TLS; its log says which"
        }
        Error::Garbled(_) => {
            "look at the port: the one of clients is 2181 by default, and one with TLS needs sslmode=verify-full"
        }
        Error::Code(code::NO_AUTH | code::AUTH_FAILED | code::REQUIRES_AUTH | code::INVALID_ACL) => {
            "look at the user and the password (in the URL, ZOOKEEPER_USER and ZOOKEEPER_PASSWORD, or password_file), \
             and at the access list of the nodes (getAcl in zkCli.sh)"
        }
        Error::Code(code::UNIMPLEMENTED) => "floe needs ZooKeeper 3.5 or newer: update the servers",
        Error::Code(code::NOT_READ_ONLY) => {
            "it takes no writes while it has no quorum: start the other servers"
        }
        Error::Code(code::QUOTA_EXCEEDED) => {
            "raise the quota of the path (listquota and setquota in zkCli.sh)"
        }
        Error::Code(code::THROTTLED) => "it has more requests than it allows itself",
        _ => LOOK,
    }
}

/// The name of a code in ZooKeeper's documentation.
fn name(code: i32) -> &'static str {
    match code {
        code::UNIMPLEMENTED => "Unimplemented",
        code::NO_NODE => "NoNode",
        code::NO_AUTH => "NoAuth",
        code::BAD_VERSION => "BadVersion",
        code::NODE_EXISTS => "NodeExists",
        code::INVALID_ACL => "InvalidACL",
        code::AUTH_FAILED => "AuthFailed",
        code::NOT_READ_ONLY => "NotReadOnly",
        code::REQUIRES_AUTH => "SessionClosedRequireAuth",
        code::QUOTA_EXCEEDED => "QuotaExceeded",
        code::THROTTLED => "ThrottledOp",
        _ => "an error",
    }
}
