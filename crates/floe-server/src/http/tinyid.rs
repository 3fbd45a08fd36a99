//! The calls of didi's tinyid, for its unmodified clients, also below its context `/tinyid`.
//!
//! Every answer has status 200, since the Java client takes any other for none. An error is code 6 with the cause and
//! the way out, or an empty body where the call's name ends in `Simple`. A batch over the limit is such an error: the
//! original cuts it. The parameter `token` says who calls, unless a header or a certificate does; it never reaches a log.

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request, State};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use floe::{Definition, Minted};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Shared, query, text};
use crate::access::Caller;
use crate::service::Wire;
use crate::status::{Refusal, Status};

/// What went wrong inside the original.
const SYSTEM_ERROR: u16 = 6;

/// A client asks for its next segment when it has used up this much of the last one, in percent.
const LOADING_PERCENT: i64 = 20;

/// An answer.
#[derive(Serialize, ToSchema)]
pub(super) struct Answer<T> {
    /// What was asked for; null where that is not to be had.
    data: Option<T>,
    /// 200, or 6 for an error.
    code: u16,
    /// The cause and the way out of an error.
    message: String,
}

/// A range of numbers, all of which are the client's: those above `currentId` up to `maxId` whose remainder by `delta`
/// is `remainder`.
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

/// What a client wrote into the query and into a form.
pub(super) struct Asked {
    caller: Caller,
    query: String,
    form: Bytes,
}

impl<S: Send + Sync> FromRequest<S> for Asked {
    type Rejection = Response<Body>;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response<Body>> {
        let caller = Caller::of(request.extensions());
        let query = request.uri().query().unwrap_or_default().to_owned();
        let form = Bytes::from_request(request, state).await.map_err(IntoResponse::into_response)?;
        Ok(Self { caller, query, form })
    }
}

/// Declares the handlers of a call: GET and POST, at the root and below `/tinyid`.
macro_rules! call {
    ($get:ident, $post:ident, $path:literal, $below_get:ident, $below_post:ident, $below:literal, $answer:ident, $body:ty, $kind:literal, $summary:literal) => {
        call!(@one get, $get, $path, $answer, $body, $kind, $summary);
        call!(@one post, $post, $path, $answer, $body, $kind, $summary);
        call!(@one get, $below_get, $below, $answer, $body, $kind, $summary);
        call!(@one post, $below_post, $below, $answer, $body, $kind, $summary);
    };
    (@one $method:ident, $handler:ident, $path:literal, $answer:ident, $body:ty, $kind:literal, $summary:literal) => {
        #[doc = $summary]
        #[utoipa::path(
            $method,
            path = $path,
            tag = "tinyid",
            params(
                ("bizType" = String, Query, description = "The name; in a POST also in a form"),
                ("batchSize" = Option<u64>, Query, description = "How many, where single IDs are asked for; 1 where it is left out"),
                ("token" = Option<String>, Query, description = "Taken, and not looked at")
            ),
            responses((status = 200, description = "The answer, or an error: code 6, or an empty text", body = $body, content_type = $kind))
        )]
        pub(super) async fn $handler(
            State(shared): State<Shared>,
            asked: Asked,
        ) -> Response<Body> {
            $answer(&shared, &asked).await
        }
    };
}

call!(
    next_id_get,
    next_id_post,
    "/id/nextId",
    below_next_id_get,
    below_next_id_post,
    "/tinyid/id/nextId",
    next_id,
    Answer<Vec<i64>>,
    "application/json",
    "tinyid: mint IDs"
);
call!(
    next_id_simple_get,
    next_id_simple_post,
    "/id/nextIdSimple",
    below_next_id_simple_get,
    below_next_id_simple_post,
    "/tinyid/id/nextIdSimple",
    next_id_simple,
    String,
    "text/plain",
    "tinyid: mint IDs, as text with commas"
);
call!(
    segment_get,
    segment_post,
    "/id/nextSegmentId",
    below_segment_get,
    below_segment_post,
    "/tinyid/id/nextSegmentId",
    next_segment,
    Answer<Segment>,
    "application/json",
    "tinyid: take a range of IDs"
);
call!(
    segment_simple_get,
    segment_simple_post,
    "/id/nextSegmentIdSimple",
    below_segment_simple_get,
    below_segment_simple_post,
    "/tinyid/id/nextSegmentIdSimple",
    next_segment_simple,
    String,
    "text/plain",
    "tinyid: take a range of IDs, as text with commas"
);

async fn next_id(shared: &Shared, asked: &Asked) -> Response<Body> {
    answered(ids(shared, asked).await)
}

async fn next_id_simple(shared: &Shared, asked: &Asked) -> Response<Body> {
    let ids = ids(shared, asked).await;
    simple(ids.map(|ids| ids.iter().map(i64::to_string).collect::<Vec<_>>().join(",")))
}

async fn next_segment(shared: &Shared, asked: &Asked) -> Response<Body> {
    answered(segment(shared, asked).await)
}

async fn next_segment_simple(shared: &Shared, asked: &Asked) -> Response<Body> {
    let segment = segment(shared, asked).await;
    simple(segment.map(|segment| {
        let Segment { current_id, loading_id, max_id, delta, remainder } = segment;
        format!("{current_id},{loading_id},{max_id},{delta},{remainder}")
    }))
}

async fn ids(shared: &Shared, asked: &Asked) -> Result<Vec<i64>, Refusal> {
    let (caller, name, batch) = parameters(shared, asked)?;
    // As the original, an empty size is none.
    let n = batch.filter(|size| !size.is_empty()).map_or(Ok(1), |size| shared.service.count(&size))?;
    match shared.service.mint(&caller, Wire::Tinyid, &name, n).await? {
        Minted::Numbers(ids) => Ok(ids.map(i64::from).collect()),
        Minted::Wide(_) | Minted::Dated(_) | Minted::Texts(_) => Err(no_segment(&name)),
    }
}

/// A batch that is minted as one: its numbers follow one another, so that nobody else has one in between.
async fn segment(shared: &Shared, asked: &Asked) -> Result<Segment, Refusal> {
    let (caller, name, _) = parameters(shared, asked)?;
    // The original's client reads it into an int.
    let delta = match shared.service.definition(&caller, Wire::Tinyid, &name).await? {
        Definition::Segment { increment, .. } => i32::try_from(increment).map_err(|_| {
            Refusal::new(
                Status::WrongKind,
                format!("`{name}` has the increment {increment}, and tinyid's clients know none over {}: ask for single IDs (nextId)", i32::MAX),
            )
        })?,
        _ => 1,
    };
    let Minted::Numbers(mut ids) = shared.service.mint_range(&caller, Wire::Tinyid, &name).await? else {
        return Err(no_segment(&name));
    };
    let more = i64::try_from(ids.len().saturating_sub(1));
    let (Some(first), Ok(more)) = (ids.next().map(i64::from), more) else { return Err(no_segment(&name)) };
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
    Refusal::new(Status::WrongKind, format!("`{name}` mints no numbers of a segment: use another name"))
}

/// Who calls, `bizType` and `batchSize`, from the query or a form. As in the original, others are not looked at.
fn parameters(shared: &Shared, asked: &Asked) -> Result<(Caller, String, Option<String>), Refusal> {
    let form = std::str::from_utf8(&asked.form)
        .map_err(|_| Refusal::bad("the form is not UTF-8 under its percent-encoding: encode it so"))?;
    let [name, batch, token] = query::pick([asked.query.as_str(), form], ["bizType", "batchSize", "token"])?;
    let caller = match token.filter(|_| asked.caller.check().is_err()) {
        Some(token) => shared.service.access().token(token.as_bytes()).at(&asked.caller),
        None => asked.caller.clone(),
    };
    let name = name.ok_or_else(|| {
        Refusal::bad("bizType is missing: write /tinyid/id/nextId?bizType=<name>, or put it into a form")
    })?;
    Ok((caller, name, batch))
}

fn answered<T: Serialize>(result: Result<T, Refusal>) -> Response<Body> {
    axum::Json(match result {
        Ok(data) => Answer { data: Some(data), code: 200, message: String::new() },
        Err(refusal) => Answer { data: None, code: SYSTEM_ERROR, message: refusal.detail },
    })
    .into_response()
}

fn simple(result: Result<String, Refusal>) -> Response<Body> {
    let body = result.unwrap_or_else(|refusal| {
        tracing::debug!(status = refusal.status.slug(), "tinyid: refused");
        String::new()
    });
    text(StatusCode::OK, "text/plain;charset=UTF-8", body)
}
