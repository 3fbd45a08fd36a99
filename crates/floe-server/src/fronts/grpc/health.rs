//! `grpc.health.v1`: the answer of `/readyz`.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use futures_util::stream::unfold;
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse, health_server};

use super::METHODS;
use crate::service::Service;

/// How soon a watcher hears of a change.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// See the module.
pub(super) struct Health {
    service: Arc<Service>,
}

impl Health {
    pub(super) fn new(service: &Arc<Service>) -> Self {
        Self { service: Arc::clone(service) }
    }
}

/// All services are ready or none is.
fn known(service: &str) -> bool {
    service.is_empty()
        || METHODS.iter().any(|method| method.split('/').nth(1).is_some_and(|known| known == service))
}

fn serving(service: &Service) -> ServingStatus {
    match service.is_ready() {
        true => ServingStatus::Serving,
        false => ServingStatus::NotServing,
    }
}

#[tonic::async_trait]
impl health_server::Health for Health {
    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        match known(&request.get_ref().service) {
            true => Ok(Response::new(HealthCheckResponse { status: serving(&self.service).into() })),
            false => Err(Status::not_found(
                "no such service is served here: ask for the empty one, or one that reflection lists",
            )),
        }
    }

    type WatchStream = Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send>>;

    /// Says how it stands now, and again whenever that changes, until the server drains.
    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let unknown = !known(&request.get_ref().service);
        let service = Arc::clone(&self.service);
        let changes = unfold(None, move |last: Option<ServingStatus>| {
            let service = Arc::clone(&service);
            async move {
                loop {
                    if last.is_some() && service.is_draining() {
                        // The client was told that nothing is served any more, or the end of the stream tells it.
                        return None;
                    }
                    let now = if unknown { ServingStatus::ServiceUnknown } else { serving(&service) };
                    if last != Some(now) {
                        return Some((Ok(HealthCheckResponse { status: now.into() }), Some(now)));
                    }
                    tokio::time::sleep(LOOK_EVERY).await;
                }
            }
        });
        Ok(Response::new(Box::pin(changes)))
    }
}
