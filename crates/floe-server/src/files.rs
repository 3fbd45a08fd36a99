//! How many files this process may have open: each connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::Limits;

/// What a server has open besides its clients' connections: the ledger's files or connections, listeners, the runtime's own,
/// and connections that are being closed.
const BESIDE: u64 = 512;

/// Raises this process's limit to what its connections need, as far as the system allows. If that is too low, it lowers
/// the bound on connections and logs so: at that bound an idle connection makes room, but out of files none can be accepted.
pub(crate) fn allow(limits: &mut Limits) {
    let needed = u64::try_from(limits.connections).unwrap_or(u64::MAX).saturating_add(BESIDE);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let Some(raised) = raised(current, maximum, needed) else { return };
    let allowed = match setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }) {
        Ok(()) => raised,
        Err(_) => current.unwrap_or(u64::MAX),
    };
    if allowed < needed {
        let connections = limits.connections;
        limits.connections = connections.min(places(allowed));
        tracing::warn!(
            "this process may have {allowed} files open, and limits.connections = {connections} needs {needed}: it serves at most {} connections at once. Raise the limit (ulimit -n {needed}, LimitNOFILE={needed} for systemd), or lower limits.connections",
            limits.connections
        );
    }
}

/// How many connections there may be if so many files may be open, fewer than are needed.
fn places(allowed: u64) -> usize {
    let places = allowed.saturating_sub(BESIDE).max(allowed / 4).max(1);
    usize::try_from(places).unwrap_or(usize::MAX)
}

/// What to set the limit to; `None` if it is enough.
fn raised(current: Option<u64>, maximum: Option<u64>, needed: u64) -> Option<u64> {
    // No limit is enough.
    let current = current.filter(|current| *current < needed)?;
    Some(maximum.map_or(needed, |maximum| needed.min(maximum)).max(current))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_few_files_are_shared_between_connections_and_the_rest() {
        assert_eq!([4607, 1024, 700, 256, 3].map(places), [4095, 512, 188, 64, 1]);
    }

    #[test]
    fn a_limit_is_raised_to_what_is_needed_and_never_lowered() {
        assert_eq!(raised(Some(1024), Some(1 << 20), 4608), Some(4608));
        assert_eq!(raised(Some(1024), None, 4608), Some(4608));
        // All that the system lets.
        assert_eq!(raised(Some(1024), Some(2048), 4608), Some(2048));
        assert_eq!(raised(Some(4608), Some(4608), 4608), None);
        assert_eq!(raised(None, None, 4608), None);
    }
}
