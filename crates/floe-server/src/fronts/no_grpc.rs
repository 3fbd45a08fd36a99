//! Replaces gRPC if its feature is off: no request is a gRPC call.

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderMap, Response};

use crate::config::Limits;
use crate::fronts::katsubushi::Katsubushi;
use crate::service::Service;

pub(crate) const METHODS: &[&str] = &[];

pub(crate) fn router(_: &Arc<Service>, _: &Limits, _: &Arc<Katsubushi>) -> Router {
    Router::new()
}

pub(crate) fn is_call(_: &HeaderMap) -> bool {
    false
}

pub(crate) fn blame_the_request<B>(_: &mut Response<B>) {}

pub(crate) fn as_http<B>(_: &Response<B>) -> Option<u16> {
    None
}

pub(crate) fn refuse<B>(_: u16, _: String) -> Option<Response<B>> {
    None
}
