//! The calls of Meituan Leaf, for its unmodified clients.
//!
//! An answer is the ID as text. An error is status 500 with the JSON that Spring Boot writes, whose `message` holds
//! Leaf's own code; floe's cause and way out stand in the header `floe-detail`. The original answers 200 with the body
//! `0` when a mode is off, which clients store as an ID: this never does.

use std::fmt::Write;

use axum::body::Body;
use axum::extract::{OriginalUri, RawQuery, State};
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use floe::ledger::Key;
use floe::{Kind, Minted};
use jiff::tz::TimeZone;
use serde::Serialize;
use utoipa::ToSchema;

use super::problem::Problem;
use super::v1::Segment;
use super::{Shared, blocking, query, text};
use crate::access::Caller;
use crate::service::{LeafParts, Wire};
use crate::status::{Refusal, Status};

/// How Leaf names its answers, which are IDs in decimal.
pub(super) const CONTENT_TYPE: &str = "text/plain;charset=UTF-8";

/// The most rows of a page for people.
const MAX_ROWS: usize = 1000;

/// The error of a Leaf call, as Spring Boot writes it.
#[derive(Serialize, ToSchema)]
pub(super) struct LeafError {
    /// Milliseconds since 1970.
    timestamp: i64,
    /// 500; 401 and 403 where a token is asked for.
    status: u16,
    /// `Internal Server Error`, `Unauthorized`, `Forbidden`.
    error: &'static str,
    /// `Result{id=<code>, status=EXCEPTION}`.
    message: String,
    /// The path that was asked for.
    path: String,
}

/// Leaf's segment mode
///
/// Mints from a name that counts (segment, counter, dated). Error codes: -1 the name is not initialised, -2 unknown
/// key, -3 no numbers to be had now.
#[utoipa::path(
    get,
    path = "/api/segment/get/{key}",
    tag = "leaf",
    params(("key" = String, Path, description = "The name")),
    responses(
        (status = 200, description = "The ID in decimal", body = String, content_type = "text/plain"),
        (status = 401, description = "No token or a wrong one, where the server asks for one", body = LeafError),
        (status = 403, description = "The token is not for this name", body = LeafError),
        (status = 500, description = "Any other error", body = LeafError)
    )
)]
pub(super) async fn segment(
    State(shared): State<Shared>,
    caller: Caller,
    OriginalUri(uri): OriginalUri,
    key: Result<Segment, Problem>,
) -> Response<Body> {
    get(&shared, &caller, Wire::LeafSegment, uri.path(), key).await
}

/// Leaf's snowflake mode
///
/// Mints from a snowflake name. Error codes: -1 busy, -2 interrupted (nothing could be minted), -3 the clock went back
/// too far.
#[utoipa::path(
    get,
    path = "/api/snowflake/get/{key}",
    tag = "leaf",
    params(("key" = String, Path, description = "The name")),
    responses(
        (status = 200, description = "The ID in decimal", body = String, content_type = "text/plain"),
        (status = 401, description = "No token or a wrong one, where the server asks for one", body = LeafError),
        (status = 403, description = "The token is not for this name", body = LeafError),
        (status = 500, description = "Any other error", body = LeafError)
    )
)]
pub(super) async fn snowflake(
    State(shared): State<Shared>,
    caller: Caller,
    OriginalUri(uri): OriginalUri,
    key: Result<Segment, Problem>,
) -> Response<Body> {
    get(&shared, &caller, Wire::LeafSnowflake, uri.path(), key).await
}

async fn get(
    shared: &Shared,
    caller: &Caller,
    wire: Wire,
    path: &str,
    key: Result<Segment, Problem>,
) -> Response<Body> {
    let minted = match key {
        Ok(Segment(key)) => shared.service.mint(caller, wire, &key, 1).await,
        Err(_) => Err(Refusal::bad("the key is not UTF-8 under its percent-encoding: encode it so")),
    };
    match minted.and_then(number) {
        Ok(id) => text(StatusCode::OK, CONTENT_TYPE, id),
        Err(refusal) => error(shared, wire, path, &refusal),
    }
}

/// The one ID of a batch, as the number that a Java client reads into a `long`.
pub(super) fn number(minted: Minted) -> Result<String, Refusal> {
    let id = match minted {
        Minted::Numbers(mut ids) => ids.next().map(|id| id.to_string()),
        Minted::Wide(mut ids) => ids.next().map(|id| id.to_string()),
        Minted::Dated(mut ids) => ids.next().and_then(|id| id.number()).map(|id| id.to_string()),
        Minted::Texts(_) => None,
    };
    id.ok_or_else(|| {
        Refusal::new(
            Status::Exhausted,
            "the ID does not fit the 63 bits of a number: mint it with /v1/mint as text",
        )
    })
}

fn error(shared: &Shared, wire: Wire, path: &str, refusal: &Refusal) -> Response<Body> {
    let status = shared.service.status();
    let code = match (wire, refusal.status) {
        (Wire::LeafSnowflake, _) if status.clock.refused.is_some() => -3,
        (Wire::LeafSnowflake, Status::Busy) => -1,
        (Wire::LeafSnowflake, _) => -2,
        (
            _,
            Status::UnknownName
            | Status::BadRequest
            | Status::WrongKind
            | Status::Unauthenticated
            | Status::WrongToken
            | Status::Forbidden,
        ) => -2,
        (_, Status::Busy | Status::Unavailable | Status::Exhausted) => -3,
        (_, Status::Stopped) => -1,
    };
    // The original asks nobody who they are; what Spring does where it does is this.
    let http = match refusal.status {
        Status::Unauthenticated | Status::WrongToken => StatusCode::UNAUTHORIZED,
        Status::Forbidden => StatusCode::FORBIDDEN,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let body = LeafError {
        timestamp: status.clock.steady.get(),
        status: http.as_u16(),
        error: http.canonical_reason().unwrap_or_default(),
        message: format!("Result{{id={code}, status=EXCEPTION}}"),
        path: path.to_owned(),
    };
    let mut response = (http, axum::Json(body)).into_response();
    if let Ok(detail) = HeaderValue::from_str(&refusal.detail.escape_default().to_string()) {
        response.headers_mut().insert("floe-detail", detail);
    }
    if let Some(retry) = refusal.retry {
        response.headers_mut().insert(header::RETRY_AFTER, super::retry_after(retry));
    }
    response
}

/// A snowflake ID of Leaf, taken apart.
#[derive(Serialize, ToSchema)]
pub(super) struct Decoded {
    /// `1288834974657(2010-11-04 01:42:54.657)`, in the server's time zone.
    timestamp: String,
    /// The worker id.
    #[serde(rename = "workerId")]
    worker_id: String,
    /// The sequence number.
    #[serde(rename = "sequenceId")]
    sequence_id: String,
}

/// Take a Leaf ID apart
///
/// As the original does it, in the server's time zone. `/v1/inspect` says more.
#[utoipa::path(
    get,
    path = "/decodeSnowflakeId",
    tag = "leaf",
    params(("snowflakeId" = String, Query, description = "The ID")),
    responses(
        (status = 200, description = "Its parts, all as strings", body = Decoded),
        (status = 400, description = "It is no ID", body = super::problem::ProblemBody, content_type = "application/problem+json")
    )
)]
pub(super) async fn decode(
    caller: Caller,
    RawQuery(query): RawQuery,
) -> Result<axum::Json<Decoded>, Problem> {
    caller.check()?;
    let [id] = query::read(query.as_deref(), ["snowflakeId"])?;
    let id = id.ok_or_else(|| {
        Refusal::bad("the query lacks snowflakeId: write /decodeSnowflakeId?snowflakeId=<ID>")
    })?;
    let number: i64 = id.parse().map_err(|_| {
        let id: String = id.chars().take(40).collect();
        Refusal::bad(format!("snowflakeId = {id:?} is not a whole number of 64 bits: write the ID in digits"))
    })?;
    let parts = LeafParts::of(number);
    let millis = parts.time.get();
    let local = jiff::Timestamp::from_millisecond(millis)
        .map_err(|error| Refusal::bad(format!("the time of {number} cannot be written ({error})")))?
        .to_zoned(TimeZone::system());
    Ok(axum::Json(Decoded {
        timestamp: format!("{millis}({})", local.strftime("%Y-%m-%d %H:%M:%S%.3f")),
        worker_id: parts.worker.to_string(),
        sequence_id: parts.sequence.to_string(),
    }))
}

/// The segments in hand, for people
#[utoipa::path(
    get,
    path = "/cache",
    tag = "leaf",
    responses((status = 200, description = "A page", body = String, content_type = "text/html"))
)]
pub(super) async fn cache(State(shared): State<Shared>, caller: Caller) -> Result<Response<Body>, Problem> {
    blocking(&shared, move |service| {
        let mut rows = String::new();
        let names = service.open_names(&caller)?;
        let counts = |name: &&floe::NameStatus| name.definition.kind() != Kind::Snowflake;
        for name in names.iter().filter(counts).take(MAX_ROWS) {
            row(&mut rows, &[name.name.as_str(), &name.definition.to_string(), &name.left.to_string()]);
        }
        Ok(page("Segments in hand", &["key", "definition", "left"], &rows))
    })
    .await
}

/// The marks in the ledger, for people
#[utoipa::path(
    get,
    path = "/db",
    tag = "leaf",
    responses(
        (status = 200, description = "A page", body = String, content_type = "text/html"),
        (status = 503, description = "The ledger is unavailable", body = super::problem::ProblemBody, content_type = "application/problem+json")
    )
)]
pub(super) async fn database(
    State(shared): State<Shared>,
    caller: Caller,
) -> Result<Response<Body>, Problem> {
    blocking(&shared, move |service| {
        let mut rows = String::new();
        for record in service.marks(&caller, MAX_ROWS)? {
            let key = record.key.strip_prefix(Key::NAMES).unwrap_or(&record.key);
            row(&mut rows, &[key, &record.mark.to_string(), record.note.as_deref().unwrap_or("")]);
        }
        Ok(page("Marks in the ledger", &["key", "mark", "note"], &rows))
    })
    .await
}

fn row(rows: &mut String, cells: &[&str]) {
    rows.push_str("<tr>");
    for cell in cells {
        // Writing to a text does not fail.
        let _ = write!(rows, "<td>{}</td>", escaped(cell));
    }
    rows.push_str("</tr>\n");
}

fn page(title: &str, columns: &[&str], rows: &str) -> Response<Body> {
    let head: String = columns.iter().map(|column| format!("<th>{column}</th>")).collect();
    let html = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\n<style>body{{font:14px sans-serif}}td,th{{border:1px solid #ccc;padding:4px 8px;text-align:left}}table{{border-collapse:collapse}}</style>\n<h1>{title}</h1>\n<p>At most {MAX_ROWS} rows; <a href=\"/v1/names\">/v1/names</a> has all.</p>\n<table><tr>{head}</tr>\n{rows}</table></html>\n"
    );
    text(StatusCode::OK, "text/html; charset=utf-8", html)
}

fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut html, c| {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
        html
    })
}
