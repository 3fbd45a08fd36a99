//! The calls of didi's tinyid, for its unmodified clients, also without its context `/tinyid`.
//!
//! Every answer to a readable request has status 200, because the Java client treats any other status as no answer. An error is
//! code 5 (the token) or 6 with the original's words, or an empty body where the call's name ends in `Simple`; floe's
//! cause and way out are in the header `floe-detail`. The parameter `token` identifies the caller, unless a header or
//! a certificate does. It never reaches a log.

use axum::body::Body;
use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use floe::{Definition, Kind, Minted, Name, UnixMillis};
use serde::Serialize;
use utoipa::ToSchema;

use super::Shared;
use super::leaf::explain;
use super::spring::{Asked, Parameters, Produces, SpringError, integer};
use crate::access::Caller;
use crate::service::call::{self, Call};
use crate::status::{Refusal, Status};

/// A call of tinyid's. Segment names answer: clients take whole ranges of them.
pub(in crate::fronts) static CALL: Call = Call {
    natural: Definition::SEGMENT,
    answers: |kind| kind == Kind::SEGMENT,
    instead: "ask at /v1/mint/{name}",
    for_texts: call::NO_TEXTS,
};

/// What went wrong inside the original.
const SYSTEM_ERROR: u16 = 6;

/// A token that is not for the name, or none, or no name.
const TOKEN_ERROR: (u16, &str) = (5, "token is error");

/// A client asks for its next segment when it has used up this much of the last one, in percent.
const LOADING_PERCENT: i64 = 20;

/// An answer.
#[derive(Serialize, ToSchema)]
pub(super) struct Answer<T> {
    /// The result; null if there is none.
    data: Option<T>,
    /// 200, or 5 or 6 for an error.
    code: u16,
    /// The cause of an error.
    message: String,
}

/// A range of numbers for the client: all numbers above `currentId`, up to `maxId`, that leave `remainder` when
/// divided by `delta`.
#[derive(Serialize, ToSchema)]
pub(super) struct Segment {
    /// The last number.
    #[serde(rename = "maxId")]
    max_id: i64,
    /// From here on the client asks for the next range.
    #[serde(rename = "loadingId")]
    loading_id: i64,
    /// The numbers begin above this one.
    #[serde(rename = "currentId")]
    current_id: i64,
    /// From one number to the next.
    delta: i32,
    /// What each number leaves when it is divided by `delta`.
    remainder: i64,
}

/// A request, read.
pub(super) struct Ask {
    caller: Caller,
    asked: Asked,
    parameters: Parameters,
}

/// Why there is no answer.
enum Failure {
    /// The token is not for the name.
    Token,
    /// The name, and what floe says.
    System(String, Refusal),
}

impl From<(&str, Refusal)> for Failure {
    fn from((name, refusal): (&str, Refusal)) -> Self {
        match refusal.status {
            Status::Unauthenticated | Status::WrongToken | Status::Forbidden => Self::Token,
            _ => Self::System(name.to_owned(), refusal),
        }
    }
}

impl<S: Send + Sync> FromRequest<S> for Ask {
    type Rejection = Response<Body>;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response<Body>> {
        let caller = Caller::of(request.extensions());
        let asked = request.extensions().get::<Asked>().cloned();
        let asked = asked.ok_or_else(|| StatusCode::NOT_FOUND.into_response())?;
        let parameters = Parameters::from_request(request, state).await?;
        Ok(Self { caller, asked, parameters })
    }
}

/// Declares the handlers of a call, at the root and below `/tinyid`.
macro_rules! call {
    ($handler:ident, $path:literal, $below_handler:ident, $below:literal, $answer:ident, $body:ty, $kind:literal, $summary:literal) => {
        call!(@one $handler, $path, $answer, $body, $kind, $summary);
        call!(@one $below_handler, $below, $answer, $body, $kind, $summary);
    };
    (@one $handler:ident, $path:literal, $answer:ident, $body:ty, $kind:literal, $summary:literal) => {
        #[doc = $summary]
        #[utoipa::path(
            method(get, post, put, patch, delete),
            path = $path,
            tag = "tinyid",
            params(
                ("bizType" = Option<String>, Query, description = "The name; in a POST also in a form"),
                ("batchSize" = Option<i32>, Query, description = "The number of single IDs: 1 if it is left out, none below 1, and cut to limits.max_batch (100000)"),
                ("token" = Option<String>, Query, description = "A token of tiny_id_token for the name, or a token of floe's; checked if the server has either")
            ),
            responses(
                (status = 200, description = "The answer, or an error: code 5 or 6, or an empty text", body = $body, content_type = $kind),
                (status = 400, description = "batchSize is no number, or the path cannot be read", body = SpringError),
                (status = 406, description = "No media type that can be written")
            )
        )]
        pub(super) async fn $handler(State(shared): State<Shared>, ask: Ask) -> Response<Body> {
            $answer(&shared, &ask).await
        }
    };
}

call!(
    next_id,
    "/id/nextId",
    below_next_id,
    "/tinyid/id/nextId",
    answer_ids,
    Answer<Vec<i64>>,
    "application/json",
    "tinyid: mint IDs"
);
call!(
    next_id_simple,
    "/id/nextIdSimple",
    below_next_id_simple,
    "/tinyid/id/nextIdSimple",
    answer_ids_simply,
    String,
    "text/plain",
    "tinyid: mint IDs, as text with commas"
);
call!(
    next_segment_id,
    "/id/nextSegmentId",
    below_next_segment_id,
    "/tinyid/id/nextSegmentId",
    answer_segment,
    Answer<Segment>,
    "application/json",
    "tinyid: take a range of IDs"
);
call!(
    next_segment_id_simple,
    "/id/nextSegmentIdSimple",
    below_next_segment_id_simple,
    "/tinyid/id/nextSegmentIdSimple",
    answer_segment_simply,
    String,
    "text/plain",
    "tinyid: take a range of IDs, as text with commas"
);

async fn answer_ids(shared: &Shared, ask: &Ask) -> Response<Body> {
    let size = match batch_size(shared, ask) {
        Ok(size) => size,
        Err(message) => return no_size(shared, ask, &message),
    };
    match ask.asked.content_type(Produces::Json) {
        Ok(content_type) => answered(content_type, "error query segmentId: ", ids(shared, ask, size).await),
        Err(_) => ask.asked.not_acceptable(now(shared)),
    }
}

async fn answer_ids_simply(shared: &Shared, ask: &Ask) -> Response<Body> {
    let size = match batch_size(shared, ask) {
        Ok(size) => size,
        Err(message) => return no_size(shared, ask, &message),
    };
    match ask.asked.content_type(Produces::Text) {
        Ok(content_type) => {
            let ids = ids(shared, ask, size).await;
            let joined = |ids: Vec<i64>| ids.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
            simple(content_type, ids.map(joined))
        }
        Err(_) => ask.asked.not_acceptable(now(shared)),
    }
}

async fn answer_segment(shared: &Shared, ask: &Ask) -> Response<Body> {
    match ask.asked.content_type(Produces::Json) {
        Ok(content_type) => answered(content_type, "", range(shared, ask).await),
        Err(_) => ask.asked.not_acceptable(now(shared)),
    }
}

async fn answer_segment_simply(shared: &Shared, ask: &Ask) -> Response<Body> {
    match ask.asked.content_type(Produces::Text) {
        Ok(content_type) => {
            let written = |segment: Segment| {
                let Segment { current_id, loading_id, max_id, delta, remainder } = segment;
                format!("{current_id},{loading_id},{max_id},{delta},{remainder}")
            };
            simple(content_type, range(shared, ask).await.map(written))
        }
        Err(_) => ask.asked.not_acceptable(now(shared)),
    }
}

/// How many IDs are asked for, as in the original: one if there is no number, and a number that is too large is cut.
///
/// # Errors
/// The original's message for a text that is not a number.
fn batch_size(shared: &Shared, ask: &Ask) -> Result<u64, String> {
    let Some((text, more)) = ask.parameters.first("batchSize") else { return Ok(1) };
    let size = integer(text).map_err(|cause| {
        let kind = if more { "java.lang.String[]" } else { "java.lang.String" };
        format!(
            "Failed to convert value of type '{kind}' to required type 'java.lang.Integer'; nested exception is java.lang.NumberFormatException: {cause}"
        )
    })?;
    Ok(size.map_or(1, |size| u64::try_from(size).unwrap_or(0)).min(shared.service.max_batch()))
}

fn no_size(shared: &Shared, ask: &Ask, message: &str) -> Response<Body> {
    const THROWN: &str = "org.springframework.web.method.annotation.MethodArgumentTypeMismatchException";
    ask.asked.error(now(shared), StatusCode::BAD_REQUEST, Some(THROWN), message)
}

async fn ids(shared: &Shared, ask: &Ask, size: u64) -> Result<Vec<i64>, Failure> {
    let (visitor, name) = visitor(shared, ask).await?;
    if size == 0 {
        // The original has looked the name up by then.
        let definition = shared.service.definition(&visitor, &CALL, &name).await;
        let definition = definition.map_err(|refusal| (name.as_str(), refusal))?;
        return match definition.kind() == Kind::SEGMENT {
            true => Ok(Vec::new()),
            false => Err((name.as_str(), no_segment(&name)).into()),
        };
    }
    let minted = shared.service.mint(&visitor, &CALL, &name, size).await;
    match minted.map_err(|refusal| (name.as_str(), refusal))? {
        Minted::Numbers(ids) => Ok(ids.map(i64::from).collect()),
        Minted::Wide(_) | Minted::Dated(_) | Minted::Texts(_) => {
            Err((name.as_str(), no_segment(&name)).into())
        }
    }
}

async fn range(shared: &Shared, ask: &Ask) -> Result<Segment, Failure> {
    let (visitor, name) = visitor(shared, ask).await?;
    Ok(taken(shared, &visitor, &name).await.map_err(|refusal| (name.as_str(), refusal))?)
}

/// A batch that is minted in one step, so that its numbers are consecutive.
async fn taken(shared: &Shared, caller: &Caller, name: &str) -> Result<Segment, Refusal> {
    // The original's client reads it into an int.
    let delta = match shared.service.definition(caller, &CALL, name).await? {
        Definition::Segment { increment, .. } => i32::try_from(increment).map_err(|_| {
            Refusal::wrong_kind(format!("`{name}` has the increment {increment}, and tinyid's clients accept at most {}: ask for single IDs (nextId)", i32::MAX))
        })?,
        _ => 1,
    };
    let Minted::Numbers(mut ids) = shared.service.mint_range(caller, &CALL, name).await? else {
        return Err(no_segment(name));
    };
    let more = i64::try_from(ids.len().saturating_sub(1));
    let (Some(first), Ok(more)) = (ids.next().map(i64::from), more) else { return Err(no_segment(name)) };
    // No number is over 63 bits, the last one included.
    let max_id = first + more * i64::from(delta);
    let current_id = first - 1;
    Ok(Segment {
        max_id,
        // At most 10,000,000 numbers, 2^31 apart: no overflow.
        loading_id: current_id + (max_id - current_id) * LOADING_PERCENT / 100,
        current_id,
        delta,
        remainder: first % i64::from(delta),
    })
}

fn no_segment(name: &str) -> Refusal {
    Refusal::wrong_kind(format!("`{name}` mints no numbers of a segment: use another name"))
}

/// The caller and the name. Spring joins several values, and Tomcat replaces bytes that are not UTF-8. The result may
/// be an existing name, but it never makes a new one.
async fn visitor(shared: &Shared, ask: &Ask) -> Result<(Caller, String), Failure> {
    let text = |name: &str| ask.parameters.text(name).unwrap_or_default();
    let (name, token) = (text("bizType"), text("token"));
    let visitor = shared.service.access().visitor(&ask.caller, &name, &token).ok_or(Failure::Token)?;
    if !ask.parameters.is_one("bizType") {
        let is_known = !ask.parameters.is_garbled("bizType")
            && shared.service.is_known(&visitor, &name).await.map_err(|refusal| (name.as_str(), refusal))?;
        if !is_known {
            let detail =
                "bizType came several times, or is not UTF-8, and no such name is there: send it once";
            return Err((name.as_str(), Refusal::unknown_name(detail)).into());
        }
    }
    Ok((visitor, name))
}

fn answered<T: Serialize>(
    content_type: HeaderValue,
    before: &str,
    result: Result<T, Failure>,
) -> Response<Body> {
    let (code, message) = TOKEN_ERROR;
    let error = |code, message| Answer::<T> { data: None, code, message };
    let mut response = match result {
        Ok(data) => {
            axum::Json(Answer { data: Some(data), code: 200, message: String::new() }).into_response()
        }
        Err(Failure::Token) => axum::Json(error(code, message.to_owned())).into_response(),
        Err(Failure::System(name, refusal)) => {
            // What the original's table has no row for.
            let none = matches!(refusal.status, Status::UnknownName | Status::WrongKind);
            let cause = match none || Name::new(&name).is_err() {
                true => format!("can not find biztype:{name}"),
                false => refusal.detail.clone(),
            };
            let mut response = axum::Json(error(SYSTEM_ERROR, format!("{before}{cause}"))).into_response();
            explain(&mut response, &refusal);
            response
        }
    };
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

fn simple(content_type: HeaderValue, result: Result<String, Failure>) -> Response<Body> {
    let (body, refusal) = match result {
        Ok(body) => (body, None),
        Err(Failure::Token) => (String::new(), None),
        Err(Failure::System(_, refusal)) => (String::new(), Some(refusal)),
    };
    let mut response = ([(header::CONTENT_TYPE, content_type)], body).into_response();
    if let Some(refusal) = refusal {
        tracing::debug!(status = refusal.status.slug(), "tinyid: refused");
        explain(&mut response, &refusal);
    }
    response
}

fn now(shared: &Shared) -> UnixMillis {
    shared.service.steady_time()
}
