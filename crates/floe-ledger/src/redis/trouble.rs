//! Turns Redis's errors into the ledger's, each with its cause and the way out.

use floe::ledger::LedgerError;
use redis::{ErrorKind, RedisError};

use super::url::Settings;
use crate::OpenError;
use crate::remote::LOOK;
use crate::remote::realm::is_damaged;

/// While the ledger is opened, a wrong user, password, database or node and a missing right are the user's errors.
pub(super) fn at_open(error: &RedisError, settings: &Settings) -> OpenError {
    let cause = cause(error);
    let access = is_access(&cause) || is_denied(&cause);
    let asked = access || cause.contains("DB index") || moved_to(error).is_some();
    if asked { OpenError::Asked(sentence(error, settings)) } else { at_work(error, settings).into() }
}

/// While a process runs, a password may be changed, and a right withdrawn and given again: try again later.
pub(super) fn at_work(error: &RedisError, settings: &Settings) -> LedgerError {
    let cause = cause(error);
    if cause.contains("WRONGTYPE") {
        return is_damaged(&settings.reach.shown, &format!("a key of another type ({cause})"));
    }
    // A reply that ends in its middle, or that no Redis has sent, cannot be parsed either: that is the connection's fault.
    let is_no_text = error.kind() == ErrorKind::Parse && cause.contains("UTF-8");
    if error.kind() == ErrorKind::UnexpectedReturnType || is_no_text {
        return is_damaged(&settings.reach.shown, &format!("an answer that is not text ({cause})"));
    }
    LedgerError::Unavailable(sentence(error, settings))
}

/// The error in Redis's own words, without the caller's arguments: a password may be among them.
pub(super) fn cause(error: &RedisError) -> String {
    let text = match (error.code(), error.detail()) {
        (Some(code), Some(detail)) => format!("{code} {detail}"),
        _ => error.to_string(),
    };
    text.split(", with args beginning with").next().unwrap_or_default().to_owned()
}

fn sentence(error: &RedisError, settings: &Settings) -> String {
    let cause = cause(error);
    format!("{}: {cause}; {}", settings.reach.shown, way_out(error, &cause, settings))
}

/// The node of a cluster that has the keys. While Redis moves them, `ASK` names the node that gets them: it does not serve
/// them yet.
fn moved_to(error: &RedisError) -> Option<&str> {
    error.redirect_node().filter(|_| error.code() == Some("MOVED")).map(|(node, _)| node)
}

/// The user lacks the right to a command or a key. Newer servers phrase it differently inside a script.
pub(super) fn is_denied(cause: &str) -> bool {
    cause.contains("NOPERM") || cause.contains("The user executing the script can't")
}

/// A wrong user or password.
fn is_access(cause: &str) -> bool {
    ["WRONGPASS", "NOAUTH", "AUTH"].iter().any(|word| cause.contains(word))
}

/// The way out. Older servers put the code of an error inside a script into its text.
fn way_out(error: &RedisError, cause: &str, settings: &Settings) -> String {
    if let Some(node) = moved_to(error) {
        return format!("the keys of this realm are on the node {node} of the cluster: name it in the URL");
    }
    if is_access(cause) {
        let user = settings.user.as_deref().unwrap_or("default");
        return format!(
            "look at the user {user} and the password (in the URL, in REDISCLI_AUTH or in password_file=FILE)"
        );
    }
    if matches!(error.code(), Some("ASK" | "TRYAGAIN")) {
        return "the cluster moves the keys of this realm to another node: wait until it has".to_owned();
    }
    if is_denied(cause) {
        return "grant the user what docs/ledgers.md lists".to_owned();
    }
    let fixed = [
        ("DB index", "name a database that the server has, or none for 0"),
        ("READONLY", "it is a replica now: name the master"),
        ("OOM", "raise maxmemory, or remove other data from the server"),
        ("MISCONF", "it cannot write to its disk: look at its log, and make room"),
        ("NOREPLICAS", "min-replicas-to-write asks for more replicas than are there"),
        ("BUSY", "a script runs on it for a long time: wait, or use SCRIPT KILL"),
        ("max number of clients", "a floe takes at most four connections: raise maxclients"),
    ];
    let known = fixed.into_iter().find(|(word, _)| cause.contains(word)).map(|(_, way_out)| way_out);
    match known {
        Some(way_out) => way_out.to_owned(),
        // A server with too many clients says so before it is asked, and hangs up: `redis` takes that for no answer.
        None if error.is_connection_dropped() && !error.is_connection_refusal() => {
            format!("{LOOK}; if it has as many clients as it takes, raise maxclients")
        }
        None => LOOK.to_owned(),
    }
}
