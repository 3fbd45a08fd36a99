//! What the tests of the service share.

use std::sync::Arc;

use floe::Floe;
use floe::ledger::Memory;

use super::Service;
use crate::awaited::Awaited;
use crate::config::Config;
use crate::metrics::Metrics;

/// A counter for every name that is asked for.
pub(super) const ANY: &str = "[[name]]\nname = '*'\nkind = 'counter'\n";

/// A service of these settings, without a server around it. No name has a label of its own in its metrics.
pub(super) fn on(settings: &str, ledger: Memory) -> Arc<Service> {
    let config = Config::parse(&format!("realm = 'r'\n{settings}"), "floe.toml".as_ref()).unwrap();
    let awaited = Awaited::on(ledger.clone());
    Service::new(&config, Floe::open(ledger).unwrap(), Arc::new(Metrics::new(0, [])), awaited)
}
