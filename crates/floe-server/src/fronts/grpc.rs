//! gRPC: floe's own calls and katsubushi's, translated to the [`Service`], which decides; health and reflection.
//!
//! They are routes beside those of HTTP and pass the same gate. A refusal becomes a gRPC status by its column of the
//! table in [`status`](crate::status); where asking again makes sense, `grpc-retry-pushback-ms` says when, which
//! clients with a retry policy follow.

use std::future::ready;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, header};
use axum::routing::{MethodRouter, any};
use futures_util::stream::once;
use futures_util::{Stream, TryFutureExt};
use prost::Message;
use tonic::metadata::MetadataValue;
use tonic::server::{Grpc, NamedService};
use tonic_prost::ProstCodec;
use tower::service_fn;

use crate::access::Caller;
use crate::config::Limits;
use crate::fronts::katsubushi::Katsubushi;
use crate::service::Service;
use crate::status::{Refusal, Status};

mod health;
pub(super) mod ids;
mod katsubushi;

/// The .proto files as Rust. `tests/it/generated.rs` makes it, so that a build of floe does not have to.
#[allow(missing_docs, unreachable_pub, unused_qualifications, clippy::all, clippy::pedantic)]
mod proto {
    pub(super) mod floe {
        include!("grpc/generated/floe.v1.rs");
    }
    pub(super) mod katsubushi {
        include!("grpc/generated/katsubushi.rs");
    }
}

/// The metadata that says which row of the table of errors a refusal is.
const REASON: &str = "floe-reason";

/// The .proto files, for reflection.
const DESCRIPTORS: &[u8] = include_bytes!("grpc/generated/descriptors.bin");

/// Every method that is served, as its path.
pub(crate) const METHODS: &[&str] = &[
    "/floe.v1.Ids/Mint",
    "/floe.v1.Ids/MintStream",
    "/floe.v1.Ids/Inspect",
    "/floe.v1.Ids/ListNames",
    "/katsubushi.Generator/Fetch",
    "/katsubushi.Generator/FetchMulti",
    "/katsubushi.Stats/Get",
    "/grpc.health.v1.Health/Check",
    "/grpc.health.v1.Health/Watch",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// The routes of all gRPC services.
pub(crate) fn router(service: &Arc<Service>, limits: &Limits, katsubushi: &Arc<Katsubushi>) -> Router {
    let largest = limits.body_bytes;
    let ids = &Arc::new(ids::Ids::new(service, limits));
    let calls = &Arc::new(katsubushi::Katsubushi::new(service, katsubushi));
    let mut router = Router::new()
        .route("/floe.v1.Ids/Mint", unary(largest, ids, ids::Ids::mint))
        .route("/floe.v1.Ids/MintStream", streaming(largest, ids, ids::Ids::mint_stream))
        .route("/floe.v1.Ids/Inspect", unary(largest, ids, ids::Ids::inspect))
        .route("/floe.v1.Ids/ListNames", unary(largest, ids, ids::Ids::list_names))
        .route("/katsubushi.Generator/Fetch", unary(largest, calls, katsubushi::Katsubushi::fetch))
        .route("/katsubushi.Generator/FetchMulti", unary(largest, calls, katsubushi::Katsubushi::fetch_multi))
        .route("/katsubushi.Stats/Get", unary(largest, calls, katsubushi::Katsubushi::get));
    for service in ["floe.v1.Ids", "katsubushi.Generator", "katsubushi.Stats"] {
        router = router.route(
            &format!("/{service}/{{method}}"),
            any(async || tonic::Status::unimplemented("").into_http::<Body>()),
        );
    }
    let health = tonic_health::pb::health_server::HealthServer::new(health::Health::new(service));
    router = mount(router, health.max_decoding_message_size(largest));
    let described = || {
        tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
    };
    // The descriptors are this build's own: a test reads them.
    if let Ok(reflection) = described().build_v1() {
        router = mount(router, reflection.max_decoding_message_size(largest));
    }
    if let Ok(reflection) = described().build_v1alpha() {
        router = mount(router, reflection.max_decoding_message_size(largest));
    }
    router
}

fn mount<S>(router: Router, service: S) -> Router
where
    S: tower::Service<axum::extract::Request, Error = std::convert::Infallible>
        + NamedService
        + Clone
        + Send
        + Sync
        + 'static,
    S::Response: axum::response::IntoResponse,
    S::Future: Send + 'static,
{
    router.route_service(&format!("/{}/{{method}}", S::NAME), service)
}

/// The handler of a call that is answered with one message: a stream of one.
fn unary<S, Q, A, F>(
    largest: usize,
    of: &Arc<S>,
    method: impl Fn(Arc<S>, tonic::Request<Q>) -> F + Copy + Send + Sync + 'static,
) -> MethodRouter
where
    S: Send + Sync + 'static,
    Q: Message + Default + 'static,
    A: Message + 'static,
    F: Future<Output = Result<tonic::Response<A>, tonic::Status>> + Send + 'static,
{
    streaming(largest, of, move |of, request| {
        method(of, request).map_ok(|answer| answer.map(|message| once(ready(Ok(message)))))
    })
}

/// The handler of a call that is answered with a stream of messages, by a method of `of`. A request has at most `largest`
/// bytes.
fn streaming<S, Q, A, M, F>(
    largest: usize,
    of: &Arc<S>,
    method: impl Fn(Arc<S>, tonic::Request<Q>) -> F + Copy + Send + Sync + 'static,
) -> MethodRouter
where
    S: Send + Sync + 'static,
    Q: Message + Default + 'static,
    A: Message + 'static,
    M: Stream<Item = Result<A, tonic::Status>> + Send + 'static,
    F: Future<Output = Result<tonic::Response<M>, tonic::Status>> + Send + 'static,
{
    let of = Arc::clone(of);
    any(async move |request: axum::extract::Request| {
        let call = service_fn(|request| method(Arc::clone(&of), request));
        let codec = ProstCodec::<A, Q>::default();
        Grpc::new(codec).max_decoding_message_size(largest).server_streaming(call, request).await
    })
}

/// Whether a request is a gRPC call.
pub(crate) fn is_call(headers: &HeaderMap) -> bool {
    let Some(rest) = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|media| media.strip_prefix("application/grpc"))
    else {
        return false;
    };
    rest.is_empty() || rest.starts_with(['+', ';'])
}

/// The code of an answer that is an error from its beginning.
fn code<B>(response: &Response<B>) -> Option<tonic::Code> {
    let code = response.headers().get(tonic::Status::GRPC_STATUS)?;
    Some(tonic::Code::from_bytes(code.as_bytes()))
}

/// Makes an answer of tonic's own, which blames the server or a limit for a request that cannot be read, one that blames
/// the request. floe's own refusals carry their word.
pub(crate) fn blame_the_request<B>(response: &mut Response<B>) {
    use tonic::Code;

    let unread = matches!(code(response), Some(Code::Internal | Code::OutOfRange | Code::ResourceExhausted));
    if unread && !response.headers().contains_key(REASON) {
        let invalid = HeaderValue::from(Code::InvalidArgument as i32);
        response.headers_mut().insert(tonic::Status::GRPC_STATUS, invalid);
    }
}

/// The HTTP status that says the same as the code of an answer that is an error from its beginning, for counting both in
/// one metric.
pub(crate) fn as_http<B>(response: &Response<B>) -> Option<u16> {
    Some(match code(response)? {
        tonic::Code::Ok => 200,
        tonic::Code::Unimplemented => 404,
        code => Status::ALL.iter().find(|status| status.grpc() == code).map_or(500, |status| status.http()),
    })
}

/// The whole answer to a call that does not reach its method, for the HTTP status that says why.
pub(crate) fn refuse(status: u16, detail: String) -> Option<Response<Body>> {
    let code = match status {
        404 | 405 => tonic::Code::Unimplemented,
        408 | 503 => tonic::Code::Unavailable,
        403 => tonic::Code::PermissionDenied,
        400 | 413 | 414 | 431 => tonic::Code::InvalidArgument,
        _ => tonic::Code::Internal,
    };
    Some(tonic::Status::new(code, detail).into_http())
}

/// Who the gate found to call.
fn caller<T>(request: &tonic::Request<T>) -> Caller {
    Caller::of(request.extensions())
}

/// What a refusal is in gRPC.
fn refused(refusal: Refusal) -> tonic::Status {
    let mut status = tonic::Status::new(refusal.status.grpc(), refusal.detail);
    let reason = MetadataValue::from_static(refusal.status.slug());
    status.metadata_mut().insert(REASON, reason);
    if let Some(retry) = refusal.retry {
        let pushback = u32::try_from(retry.as_millis()).unwrap_or(u32::MAX);
        status.metadata_mut().insert("grpc-retry-pushback-ms", pushback.into());
    }
    status
}

/// The column of the table of errors.
impl Status {
    /// The gRPC status code.
    pub(crate) const fn grpc(self) -> tonic::Code {
        match self {
            Self::UnknownName => tonic::Code::NotFound,
            Self::BadRequest => tonic::Code::InvalidArgument,
            Self::WrongKind => tonic::Code::FailedPrecondition,
            Self::Unauthenticated | Self::WrongToken => tonic::Code::Unauthenticated,
            Self::Forbidden => tonic::Code::PermissionDenied,
            Self::Busy | Self::Unavailable => tonic::Code::Unavailable,
            Self::Exhausted => tonic::Code::OutOfRange,
            Self::Stopped => tonic::Code::Internal,
        }
    }
}
