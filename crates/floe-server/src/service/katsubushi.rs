//! What katsubushi's calls need beside IDs: the one name that serves them all, since they name none, and their
//! statistics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use floe::{Definition, Minted};
use serde::Serialize;
use tokio::time::Instant;
use utoipa::ToSchema;

use super::{Service, Wire};
use crate::access::Caller;
use crate::config::Config;
use crate::status::Refusal;

/// The name, and the counts since the start.
pub(super) struct Katsubushi {
    name: String,
    since: Instant,
    calls: AtomicU64,
    hits: AtomicU64,
    misses: AtomicU64,
}

/// katsubushi's statistics.
#[derive(Serialize, ToSchema)]
pub(crate) struct KatsubushiStats {
    /// Of this process.
    pub(crate) pid: u32,
    /// Seconds since the server started.
    pub(crate) uptime: u64,
    /// Seconds since 1970.
    pub(crate) time: i64,
    /// The version that runs.
    pub(crate) version: &'static str,
    /// Connections that are open, of any protocol.
    pub(crate) curr_connections: i64,
    /// Connections that were accepted, of any protocol.
    pub(crate) total_connections: u64,
    /// katsubushi's calls for IDs.
    pub(crate) cmd_get: u64,
    /// The IDs that they got.
    pub(crate) get_hits: u64,
    /// The IDs that they did not get.
    pub(crate) get_misses: u64,
}

impl Katsubushi {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            name: config.default_names.katsubushi.to_string(),
            since: Instant::now(),
            calls: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }
}

impl Service {
    /// Mints `n` IDs of the name that serves katsubushi's calls.
    ///
    /// # Errors
    /// A [`Refusal`], as for [`mint`](Self::mint).
    pub(crate) async fn mint_for_katsubushi(
        self: &Arc<Self>,
        caller: &Caller,
        n: u64,
    ) -> Result<Minted, Refusal> {
        self.katsubushi_called(1);
        let minted = self.mint(caller, Wire::Katsubushi, &self.katsubushi.name, n).await;
        match &minted {
            Ok(_) => self.katsubushi_hit(n),
            Err(_) => self.katsubushi_missed(1),
        }
        minted
    }

    /// Counts calls for IDs, on whichever of katsubushi's wires.
    pub(crate) fn katsubushi_called(&self, calls: u64) {
        self.katsubushi.calls.fetch_add(calls, Ordering::Relaxed);
    }

    /// Counts IDs that such calls got.
    pub(crate) fn katsubushi_hit(&self, ids: u64) {
        self.katsubushi.hits.fetch_add(ids, Ordering::Relaxed);
    }

    /// Counts IDs that such calls did not get.
    pub(crate) fn katsubushi_missed(&self, ids: u64) {
        self.katsubushi.misses.fetch_add(ids, Ordering::Relaxed);
    }

    /// What the name is that serves katsubushi's calls.
    ///
    /// # Errors
    /// A [`Refusal`], as for [`mint`](Self::mint).
    pub(crate) async fn katsubushi_definition(
        self: &Arc<Self>,
        caller: &Caller,
    ) -> Result<Definition, Refusal> {
        self.definition(caller, Wire::Katsubushi, &self.katsubushi.name).await
    }

    /// Since the server started.
    pub(crate) fn uptime_seconds(&self) -> u64 {
        self.katsubushi.since.elapsed().as_secs()
    }

    /// How katsubushi's calls went since the start, over all of its wires together, as the original counts them.
    ///
    /// # Errors
    /// A [`Refusal`] of who has to say who calls, and does not.
    pub(crate) fn katsubushi_stats(&self, caller: &Caller) -> Result<KatsubushiStats, Refusal> {
        caller.check()?;
        let katsubushi = &self.katsubushi;
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Ok(KatsubushiStats {
            pid: std::process::id(),
            uptime: katsubushi.since.elapsed().as_secs(),
            time: self.steady_time().get().div_euclid(1000),
            version: env!("CARGO_PKG_VERSION"),
            curr_connections: self.metrics.connections.get(),
            total_connections: self.metrics.accepted.get(),
            cmd_get: count(&katsubushi.calls),
            get_hits: count(&katsubushi.hits),
            get_misses: count(&katsubushi.misses),
        })
    }
}
