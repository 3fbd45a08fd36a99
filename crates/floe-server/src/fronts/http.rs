//! HTTP: floe's own calls, and those of Leaf, tinyid and katsubushi, translated to the [`Service`], which decides.
//!
//! Every request first passes one gate (sizes, time, counting, errors as RFC 9457 `problem+json`), then its route. A
//! gRPC call passes the same gate, and its errors are gRPC's. The routes and their description in `/openapi.json` are
//! one list: a route without a description is not served.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, Response, StatusCode, Uri, Version, header};
use axum::middleware::Next;
use axum::response::IntoResponse;
use http_body_util::BodyExt;
use tokio::time::{Instant, timeout};
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::access::Caller;
use crate::clients::{CLIENT, Client};
use crate::config::Limits;
use crate::fronts::grpc;
use crate::fronts::katsubushi::Katsubushi;
use crate::metrics::Counted;
use crate::service::Service;
use crate::status::Refusal;

mod accept;
mod bounded;
mod connection;
mod document;
mod frames;
mod guard;
mod held;
mod ids;
mod katsubushi;
pub(in crate::fronts) mod leaf;
mod ledger;
mod operate;
mod plain;
mod problem;
mod query;
mod site;
mod spring;
pub(crate) mod thread_date;
pub(in crate::fronts) mod tinyid;
mod v1;

use bounded::Bounded;
pub(crate) use connection::{FRONT, date_line, turn_away};
#[cfg(test)]
pub(in crate::fronts) use problem::explanations;
use problem::{HttpProblem, Problem};
use spring::Asked;
#[cfg(test)]
pub(crate) use spring::recognise;

/// What every handler has.
#[derive(Clone)]
pub(crate) struct Shared {
    service: Arc<Service>,
    limits: Arc<Limits>,
    katsubushi: Arc<Katsubushi>,
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "floe",
        description = "Unique IDs across machines: reserve a range durably, then mint inside it.\n\nIDs in JSON are strings (clients that read numbers as doubles lose the lowest bits), or numbers with `?numbers=true`. Errors are RFC 9457 `application/problem+json`; `/problems/{problem}` explains each.",
        contact(name = "floe"),
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0")
    ),
    tags(
        (name = "ids", description = "Minting IDs and taking them apart"),
        (name = "operate", description = "What operators read"),
        (name = "leaf", description = "For clients of Meituan Leaf"),
        (name = "tinyid", description = "For clients of didi's tinyid"),
        (name = "katsubushi", description = "For clients of katsubushi")
    )
)]
struct Api;

/// The paths of the routes that are described, as labels. They are the same for all servers of a process.
static ROUTES: OnceLock<Vec<String>> = OnceLock::new();

/// The path of the description.
const DESCRIPTION: &str = "/openapi.json";

/// The application on a service.
pub(crate) fn router(service: &Arc<Service>, limits: &Limits, katsubushi: &Arc<Katsubushi>) -> Router {
    let (service, katsubushi) = (Arc::clone(service), Arc::clone(katsubushi));
    let shared = Shared { service, limits: Arc::new(limits.clone()), katsubushi };
    let (router, mut api) = OpenApiRouter::with_openapi(Api::openapi())
        .routes(routes!(v1::mint_get, v1::mint_post))
        .routes(routes!(v1::inspect))
        .routes(routes!(v1::open))
        .routes(routes!(v1::names))
        .routes(routes!(v1::name))
        .routes(routes!(v1::slots))
        .routes(routes!(ledger::call))
        .routes(routes!(leaf::segment))
        .routes(routes!(leaf::snowflake))
        .routes(routes!(leaf::decode))
        .routes(routes!(leaf::cache))
        .routes(routes!(leaf::database))
        .routes(routes!(tinyid::next_id))
        .routes(routes!(tinyid::next_id_simple))
        .routes(routes!(tinyid::next_segment_id))
        .routes(routes!(tinyid::next_segment_id_simple))
        .routes(routes!(tinyid::below_next_id))
        .routes(routes!(tinyid::below_next_id_simple))
        .routes(routes!(tinyid::below_next_segment_id))
        .routes(routes!(tinyid::below_next_segment_id_simple))
        .routes(routes!(katsubushi::id))
        .routes(routes!(katsubushi::many))
        .routes(routes!(katsubushi::stats))
        .routes(routes!(operate::home))
        .routes(routes!(operate::live))
        .routes(routes!(operate::ready))
        .routes(routes!(operate::metrics))
        .routes(routes!(operate::problem))
        .split_for_parts();
    document::complete(&mut api, limits);
    ROUTES.get_or_init(|| api.paths.paths.keys().cloned().collect());
    // Readers of the page would fetch the badge of an outside validator.
    let pages = utoipa_swagger_ui::Config::new([DESCRIPTION]).validator_url("none");
    let docs = utoipa_swagger_ui::SwaggerUi::new("/docs").config(pages);
    // It never changes, and writing it again for each request would cost as much as a thousand IDs. It always has a JSON form.
    let description = Bytes::from(api.to_json().unwrap_or_default());
    let description = axum::routing::get(async || text(StatusCode::OK, "application/json", description));
    router
        .route(DESCRIPTION, description)
        .with_state(shared.clone())
        .merge(Router::from(docs))
        .merge(grpc::router(&shared.service, limits, &shared.katsubushi))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(axum::middleware::from_fn_with_state(shared, gate))
}

/// Every request passes this gate. It may run in its own task, which does not know the connection.
async fn gate(State(shared): State<Shared>, request: Request, next: Next) -> Response<Body> {
    match request.extensions().get().map(Arc::clone) {
        Some(client) => {
            let passed = pass(shared, request, &client, next);
            CLIENT.scope(Arc::clone(&client), passed).await
        }
        // Every connection has one.
        None => HttpProblem::NoRoute(String::new()).into_response(),
    }
}

/// Checks the limits, runs the route under the request's deadline, then counts. The caller is determined here and
/// refused by the service, so that a probe of `/readyz` needs no token.
async fn pass(shared: Shared, mut request: Request, client: &Arc<Client>, next: Next) -> Response<Body> {
    let since = Instant::now();
    let at_work = client.at_work();
    let mut held = client.nothing();
    let access = shared.service.access();
    let connected = request.extensions().get().map_or_else(|| access.unknown(), Caller::clone);
    let caller = access.request(request.headers(), &connected);
    request.extensions_mut().insert(caller.clone());
    let (method, uri) = (request.method().clone(), request.uri().clone());
    let (route, version) = (route_of(&request), request.version());
    // Also where the client goes away meanwhile.
    let _in_flight = Counted::new(&shared.service.metrics().in_flight);
    let asked = request.extensions().get::<Asked>().cloned();
    let call = asked.is_none() && grpc::is_call(request.headers());
    let now = || shared.service.steady_time();
    let needed = held::request(&request);
    // Before its body is waited for: a client may never send one.
    let room = held.resize(needed).await.map_err(|full| Problem::from(Refusal::from(full)).into_response());
    // A call of the originals with an invalid Host has its own answer.
    let of_site = match asked.as_ref().and_then(Asked::malformed) {
        Some(_) => Ok(()),
        None => {
            let path = asked.as_ref().map_or(uri.path(), Asked::path);
            site::check(&caller, access.hosts(), (version, &method, &uri, path), request.headers())
        }
    };
    let admitted = match (&asked, allowed(route)) {
        _ if of_site.is_err() => of_site.map(|()| request).map_err(IntoResponse::into_response),
        _ if room.is_err() => room.map(|()| request),
        // The router takes it for a GET, whose IDs nobody would see.
        (None, Some(_)) if method == Method::HEAD => Err(HttpProblem::Method(method.clone()).into_response()),
        (None, _) => match ledger::takes_body(route, &caller) {
            Ok(takes) => {
                admit(&shared, request, client, call, takes).await.map_err(IntoResponse::into_response)
            }
            Err(refusal) => Err(Problem::from(refusal).into_response()),
        },
        (Some(asked), _) => match asked.malformed() {
            Some(refused) => Err(refused),
            // Read also where nobody looks at it, so that the connection can go on.
            None => match admit(&shared, request, client, call, true).await {
                Ok(request) => asked.answer(now).map_or(Ok(request), Err),
                Err(problem) => Err(problem.into_response()),
            },
        },
    };
    // gRPC's are counted where they are read.
    let needed = needed + admitted.as_ref().map_or(0, |request| if call { 0 } else { held::body(request) });
    let admitted = match (admitted, held.resize(needed).await) {
        (Ok(_), Err(full)) => Err(Problem::from(Refusal::from(full)).into_response()),
        (admitted, _) => admitted,
    };
    let mut response = match admitted {
        Ok(request) => match timeout(shared.limits.request_timeout, next.run(request)).await {
            Ok(mut response) => {
                if call {
                    grpc::blame_the_request(&mut response);
                }
                response
            }
            Err(_) => HttpProblem::Timeout(shared.limits.request_timeout).into_response(),
        },
        Err(response) => response,
    };
    if let Err(full) = held.resize(needed + held::answer(&response)).await {
        response = Problem::from(Refusal::from(full)).into_response();
    }
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        // The originals ask nobody who they are.
        let stranger = matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        match &asked {
            Some(asked) if !stranger => response = problem.spring(asked, now()),
            _ if call => {
                let refused = grpc::refuse(response.status().as_u16(), problem.detail());
                response = refused.unwrap_or(response);
            }
            _ => {
                *response.body_mut() =
                    Body::from(problem.json(asked.as_ref().map_or(uri.path(), Asked::path)))
            }
        }
    }
    if asked.is_some() && version <= Version::HTTP_11 && spring::drops_connection(response.status()) {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    if let Some(allowed) = allowed(route).filter(|_| response.status() == StatusCode::METHOD_NOT_ALLOWED) {
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    }
    if response.status() == StatusCode::UNAUTHORIZED {
        let challenge = HeaderValue::from_static(CHALLENGE);
        response.headers_mut().entry(header::WWW_AUTHENTICATE).or_insert(challenge);
    }
    response = held::until_it_is_read(response, held, version);
    client.touch();
    drop(at_work);
    // If a cache answered with an ID again, it would be a duplicate. Nothing else here is worth caching either.
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Some(date) = shared.service.date(since).1.and_then(|date| HeaderValue::from_bytes(&date).ok()) {
        response.headers_mut().insert(header::DATE, date);
    }
    let status = grpc::as_http(&response).unwrap_or(response.status().as_u16());
    shared.service.metrics().request(route, status, since.elapsed());
    // Without the query, and without a refused path: both may hold a token in the wrong place.
    let path = if status < 400 { asked.as_ref().map_or(uri.path(), Asked::path) } else { route };
    tracing::debug!(%caller, %method, path, status, "request");
    response
}

/// What a client is asked for (RFC 9110, section 11.6.1).
const CHALLENGE: &str = "Bearer, Basic realm=\"floe\", charset=\"UTF-8\"";

/// Who the gate found to call.
impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.extensions))
    }
}

/// The template of the route, one of a fixed set: it becomes a label.
fn route_of(request: &Request) -> &'static str {
    let matched = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    match matched {
        Some(path) if path.starts_with("/docs") => "/docs",
        Some(path) => {
            let called = if path.ends_with("/{method}") { request.uri().path() } else { path };
            let described = ROUTES.get().into_iter().flatten().map(String::as_str);
            let mut routes = described.chain(grpc::METHODS.iter().copied()).chain([DESCRIPTION]);
            routes.find(|route| *route == called).unwrap_or("other")
        }
        None => "none",
    }
}

/// The methods of a route of floe's own, or of katsubushi's, that mints.
fn allowed(route: &str) -> Option<&'static str> {
    match route {
        "/v1/mint/{name}" => Some("GET, POST"),
        "/id" | "/ids" => Some("GET"),
        _ => None,
    }
}

/// Refuses what is too large before anything reads it. A gRPC call's messages are read by its service, within the same
/// limit. Calls of Leaf and tinyid, and those of a ledger, are `lenient`: they take any body. No other call takes a
/// body. It would be ignored, so it is refused.
async fn admit(
    shared: &Shared,
    request: Request,
    client: &Arc<Client>,
    call: bool,
    lenient: bool,
) -> Result<Request, HttpProblem> {
    let limits = &shared.limits;
    let uri = match request.extensions().get::<Asked>() {
        // As it came, and not as it is routed.
        Some(asked) => asked.path().len() + 1 + asked.query().len(),
        None => request.uri().path_and_query().map_or(0, |path| path.as_str().len()),
    };
    if uri > limits.uri_bytes {
        return Err(HttpProblem::UriTooLong { found: uri, limit: limits.uri_bytes });
    }
    let header: usize =
        request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if header > limits.header_bytes || request.headers().len() > limits.header_count {
        return Err(HttpProblem::HeaderTooLarge { bytes: limits.header_bytes, fields: limits.header_count });
    }
    let too_large = || HttpProblem::BodyTooLarge(limits.body_bytes);
    let (parts, body) = request.into_parts();
    let announced = http_body::Body::size_hint(&body);
    if announced.lower() > limits.body_bytes as u64 {
        return Err(too_large());
    }
    if call {
        let body = Bounded::new(body, limits.body_bytes, limits.idle_timeout, client.nothing());
        return Ok(Request::from_parts(parts, Body::new(body)));
    }
    if announced.exact() == Some(0) {
        return Ok(Request::from_parts(parts, Body::empty()));
    }
    // Where none is taken, its first byte is refused.
    let longest = if lenient { limits.body_bytes } else { 0 };
    let read = Bounded::new(body, longest, limits.header_timeout, client.nothing()).collect();
    match timeout(limits.header_timeout, read).await {
        Ok(Ok(form)) => Ok(Request::from_parts(parts, Body::from(form.to_bytes()))),
        Ok(Err(error)) if error.is_too_large => match longest {
            0 => Err(HttpProblem::BodyNotTaken),
            _ => Err(too_large()),
        },
        Ok(Err(error)) => Err(HttpProblem::BodyUnreadable(error.to_string())),
        Err(_) => Err(HttpProblem::BodyTimeout(limits.header_timeout)),
    }
}

async fn not_found(uri: Uri) -> HttpProblem {
    HttpProblem::NoRoute(uri.path().chars().take(200).collect())
}

async fn method_not_allowed(method: Method) -> HttpProblem {
    HttpProblem::Method(method)
}

/// A wait in the whole seconds of `Retry-After`, at least 1.
fn retry_after(wait: Duration) -> HeaderValue {
    let seconds = wait.as_millis().div_ceil(1000).clamp(1, 3600);
    HeaderValue::from(u16::try_from(seconds).unwrap_or(3600))
}

/// A page or a text that is no error.
fn text(status: StatusCode, content_type: &'static str, body: impl Into<Body>) -> Response<Body> {
    (status, [(header::CONTENT_TYPE, HeaderValue::from_static(content_type))], body.into()).into_response()
}
