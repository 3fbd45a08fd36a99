//! katsubushi's own calls.

use std::sync::Arc;

use tonic::{Request, Response, Status};

use super::ids::{as_text, client, hold, holding, written};
use super::proto::katsubushi::{
    FetchMultiRequest, FetchMultiResponse, FetchRequest, FetchResponse, StatsRequest, StatsResponse,
};
use super::{caller, refused};
use crate::access::Caller;
use crate::fronts::katsubushi::Katsubushi as Calls;
use crate::service::Service;
use crate::status::Refusal;

/// See the module.
pub(super) struct Katsubushi {
    service: Arc<Service>,
    calls: Arc<Calls>,
}

impl Katsubushi {
    pub(super) fn new(service: &Arc<Service>, calls: &Arc<Calls>) -> Self {
        Self { service: Arc::clone(service), calls: Arc::clone(calls) }
    }

    async fn ids(&self, caller: &Caller, n: u64) -> Result<Vec<u64>, Status> {
        // Nothing is minted that the answer cannot hold.
        let definition = self.calls.definition(caller).await.map_err(refused)?;
        if as_text(&definition) {
            return Err(refused(Refusal::wrong_kind(
                "the name that serves katsubushi's calls has IDs that are not numbers of 63 bits, and these calls cannot carry them: set default_names.katsubushi to another name, or ask floe.v1.Ids/Mint",
            )));
        }
        let minted = self.calls.mint(caller, n).await.map_err(refused)?;
        Ok(written(minted, false).0)
    }

    pub(super) async fn fetch(
        self: Arc<Self>,
        request: Request<FetchRequest>,
    ) -> Result<Response<FetchResponse>, Status> {
        let ids = self.ids(&caller(&request), 1).await?;
        let id = ids.first().copied().ok_or_else(|| Status::internal("no ID came of a mint of one"))?;
        Ok(Response::new(FetchResponse { id }))
    }

    pub(super) async fn fetch_multi(
        self: Arc<Self>,
        request: Request<FetchMultiRequest>,
    ) -> Result<Response<FetchMultiResponse>, Status> {
        // In the original, a missing count is one.
        let n = u64::from(request.get_ref().n.max(1));
        let held = hold(client(&request).as_ref(), n.min(self.service.max_batch()), false).await?;
        let ids = self.ids(&caller(&request), n).await?;
        Ok(holding(FetchMultiResponse { ids }, held))
    }

    pub(super) async fn get(
        self: Arc<Self>,
        request: Request<StatsRequest>,
    ) -> Result<Response<StatsResponse>, Status> {
        let stats = self.calls.stats(&caller(&request)).map_err(refused)?;
        let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        Ok(Response::new(StatsResponse {
            pid: i32::try_from(stats.pid).unwrap_or(i32::MAX),
            uptime: whole(stats.uptime),
            time: stats.time,
            version: stats.version.to_owned(),
            curr_connections: stats.curr_connections,
            total_connections: whole(stats.total_connections),
            cmd_get: whole(stats.cmd_get),
            get_hits: whole(stats.get_hits),
            get_misses: whole(stats.get_misses),
        }))
    }
}
