//! The common parts of katsubushi's calls over memcached's protocol, HTTP and gRPC: the name that serves calls
//! without a name, and their statistics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use floe::{Definition, Minted};
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::Caller;
use crate::config::DefaultNames;
use crate::service::{Call, Service};
use crate::status::Refusal;

/// A call of katsubushi's, over memcached's protocol, HTTP and gRPC. Its clients can hold the IDs of every kind.
pub(crate) static CALL: Call = Call {
    natural: Definition::Snowflake { layout: floe::Layout::KATSUBUSHI, own: false },
    answers: |_| true,
    instead: "",
    for_texts: None,
};

/// The name, and the counts since the start.
pub(crate) struct Katsubushi {
    service: Arc<Service>,
    name: String,
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
    pub(super) fn new(service: &Arc<Service>, names: &DefaultNames) -> Arc<Self> {
        Arc::new(Self {
            service: Arc::clone(service),
            name: names.katsubushi.clone(),
            calls: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        })
    }

    /// Mints `n` IDs of the name that serves calls without a name.
    ///
    /// # Errors
    /// A [`Refusal`], as for [`Service::mint`].
    pub(crate) async fn mint(&self, caller: &Caller, n: u64) -> Result<Minted, Refusal> {
        self.called(1);
        let minted = self.service.mint(caller, &CALL, &self.name, n).await;
        match &minted {
            Ok(_) => self.hit(n),
            Err(_) => self.missed(1),
        }
        minted
    }

    /// Counts calls for IDs.
    pub(crate) fn called(&self, calls: u64) {
        self.calls.fetch_add(calls, Ordering::Relaxed);
    }

    /// Counts IDs that such calls got.
    pub(crate) fn hit(&self, ids: u64) {
        self.hits.fetch_add(ids, Ordering::Relaxed);
    }

    /// Counts IDs that such calls did not get.
    pub(crate) fn missed(&self, ids: u64) {
        self.misses.fetch_add(ids, Ordering::Relaxed);
    }

    /// The definition of the name that serves calls without a name.
    ///
    /// # Errors
    /// A [`Refusal`], as for [`Service::mint`].
    pub(crate) async fn definition(&self, caller: &Caller) -> Result<Definition, Refusal> {
        self.service.definition(caller, &CALL, &self.name).await
    }

    /// How the calls went since the start, over all protocols together, as the original counts them.
    ///
    /// # Errors
    /// A [`Refusal`] if the caller must authenticate and does not.
    pub(crate) fn stats(&self, caller: &Caller) -> Result<KatsubushiStats, Refusal> {
        caller.check()?;
        let metrics = self.service.metrics();
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Ok(KatsubushiStats {
            pid: std::process::id(),
            uptime: self.service.uptime().as_secs(),
            time: self.service.steady_time().get().div_euclid(1000),
            version: env!("CARGO_PKG_VERSION"),
            curr_connections: metrics.connections.get(),
            total_connections: metrics.accepted.get(),
            cmd_get: count(&self.calls),
            get_hits: count(&self.hits),
            get_misses: count(&self.misses),
        })
    }
}
