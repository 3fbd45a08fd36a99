//! katsubushi's calls over HTTP. They name no name: `default_names.katsubushi` serves them.

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, Response, StatusCode, header};
use axum::response::IntoResponse;
use serde::Serialize;
use utoipa::ToSchema;

use super::problem::{Problem, ProblemBody};
use super::{Shared, ids, query, text};
use crate::access::Caller;
use crate::fronts::katsubushi::KatsubushiStats;

/// The answer where one ID is asked for.
#[derive(Serialize, ToSchema)]
pub(super) struct One {
    /// The ID.
    id: String,
}

/// The answer where many are.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it describes what `ids::katsubushi` writes")]
pub(super) struct Many {
    /// The IDs.
    ids: Vec<String>,
}

/// katsubushi: mint an ID
#[utoipa::path(
    get,
    path = "/id",
    tag = "katsubushi",
    responses(
        (status = 200, description = "The ID as text, or as JSON where Accept asks for it", content((String = "text/plain"), (One = "application/json")))
    )
)]
pub(super) async fn id(
    State(shared): State<Shared>,
    caller: Caller,
    headers: HeaderMap,
) -> Result<Response<Body>, Problem> {
    let id = shared.katsubushi.mint(&caller, 1).await?.next().map(|id| id.to_string()).unwrap_or_default();
    Ok(match wants_json(&headers) {
        true => axum::Json(One { id }).into_response(),
        false => text(StatusCode::OK, "text/plain", id),
    })
}

/// katsubushi: mint IDs
#[utoipa::path(
    get,
    path = "/ids",
    tag = "katsubushi",
    params(("n" = Option<u64>, Query, description = "The number of IDs, from 1 to limits.max_batch; 1 if it is left out", minimum = 1)),
    responses(
        (status = 200, description = "The IDs, one a line, or as JSON where Accept asks for it", content((String = "text/plain"), (Many = "application/json"))),
        (status = 400, description = "A count out of its range", body = ProblemBody, content_type = "application/problem+json")
    )
)]
pub(super) async fn many(
    State(shared): State<Shared>,
    caller: Caller,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response<Body>, Problem> {
    let [n] = query::pick([query.as_deref().unwrap_or_default()], ["n"])?;
    let n = n.filter(|n| !n.is_empty()).map_or(Ok(1), |n| shared.service.count(&n))?;
    let minted = shared.katsubushi.mint(&caller, n).await?;
    Ok(ids::katsubushi(minted, wants_json(&headers)))
}

/// katsubushi: statistics of its calls
#[utoipa::path(
    get,
    path = "/stats",
    tag = "katsubushi",
    responses((status = 200, description = "Since the server started", body = KatsubushiStats))
)]
pub(super) async fn stats(
    State(shared): State<Shared>,
    caller: Caller,
) -> Result<axum::Json<KatsubushiStats>, Problem> {
    Ok(axum::Json(shared.katsubushi.stats(&caller)?))
}

/// As the original decides it.
fn wants_json(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("application/json"))
}
