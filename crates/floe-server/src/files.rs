//! How many files this process may have open: each connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::Limits;

/// What a server has open besides its clients' connections: the ledger's files or connections, listeners, the runtime's own,
/// and connections that are being closed.
const BESIDE: u64 = 512;

/// Raises this process's limit to what its connections need, as far as the system allows. If that is too low, it logs
/// so.
pub(crate) fn allow(limits: &Limits) {
    let needed = u64::try_from(limits.connections).unwrap_or(u64::MAX).saturating_add(BESIDE);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let Some(raised) = raised(current, maximum, needed) else { return };
    let allowed = match setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }) {
        Ok(()) => raised,
        Err(_) => current.unwrap_or(u64::MAX),
    };
    if allowed < needed {
        tracing::warn!(
            "this process may have {allowed} files open, and limits.connections = {} needs {needed}: connections beyond that are not accepted. Raise the limit (ulimit -n {needed}, LimitNOFILE={needed} for systemd), or lower limits.connections",
            limits.connections
        );
    }
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
    fn a_limit_is_raised_to_what_is_needed_and_never_lowered() {
        assert_eq!(raised(Some(1024), Some(1 << 20), 4608), Some(4608));
        assert_eq!(raised(Some(1024), None, 4608), Some(4608));
        // All that the system lets.
        assert_eq!(raised(Some(1024), Some(2048), 4608), Some(2048));
        assert_eq!(raised(Some(4608), Some(4608), 4608), None);
        assert_eq!(raised(None, None, 4608), None);
    }
}
