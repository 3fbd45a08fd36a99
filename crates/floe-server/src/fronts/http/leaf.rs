//! The calls of Meituan Leaf, for its unmodified clients.
//!
//! An answer is the ID as text, as the media type that was asked for. An error is status 500 with the JSON that Spring Boot
//! writes, whose `message` holds Leaf's own code; floe's cause and way out stand in the header `floe-detail`. The
//! original answers 200 with the body `0` when a mode is off, and clients store it as an ID. floe never answers so.

use std::fmt::Write;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use floe::{Definition, Kind, Minted, UnixMillis};
use jiff::tz::TimeZone;
use serde::Serialize;
use utoipa::ToSchema;

use super::Shared;
use super::problem::Problem;
use super::spring::{Asked, HTML, Parameters, Produces, SpringError, escaped, long};
use crate::access::Caller;
use crate::service::call::{self, Call};
use crate::status::{Refusal, Status};

/// The media type of Leaf's answers, which are decimal IDs, if the client asks for no other.
pub(super) const CONTENT_TYPE: &str = "text/plain;charset=UTF-8";

/// The most rows of a page for people.
const MAX_ROWS: usize = 1000;

/// Declares the handler of a mode.
macro_rules! mode {
    ($handler:ident, $path:literal, $call:expr, $summary:literal, $more:literal) => {
        #[doc = $summary]
        #[doc = ""]
        #[doc = $more]
        #[utoipa::path(
            method(get, post, put, patch, delete),
            path = $path,
            tag = "leaf",
            params(("key" = String, Path, description = "The name; the text after its last dot is an extension")),
            responses(
                (status = 200, description = "The ID in decimal, as the media type that was asked for", body = String, content_type = "text/plain"),
                (status = 400, description = "The path cannot be read"),
                (status = 401, description = "No token or a wrong one, if the server asks for one", body = SpringError),
                (status = 403, description = "The token is not for this name", body = SpringError),
                (status = 404, description = "Nothing is served under the path", body = SpringError),
                (status = 406, description = "No media type that can be written"),
                (status = 500, description = "Any other error", body = SpringError)
            )
        )]
        pub(super) async fn $handler(
            State(shared): State<Shared>,
            caller: Caller,
            asked: Asked,
        ) -> Response<Body> {
            get(&shared, &caller, $call, &asked).await
        }
    };
}

/// `/api/segment/get`. Kinds that count answer.
pub(in crate::fronts) static SEGMENT: Call = Call {
    natural: Definition::SEGMENT,
    answers: Kind::is_counted,
    instead: "ask at /api/snowflake/get/{key} or /v1/mint/{name}",
    for_texts: call::NO_TEXTS,
};

/// `/api/snowflake/get`. Snowflake names answer.
pub(in crate::fronts) static SNOWFLAKE: Call = Call {
    natural: call::SNOWFLAKE,
    answers: |kind| kind == Kind::SNOWFLAKE,
    instead: "ask at /api/segment/get/{key} or /v1/mint/{name}",
    for_texts: call::NO_TEXTS,
};

mode!(
    segment,
    "/api/segment/get/{key}",
    &SEGMENT,
    "Leaf's segment mode",
    "Mints from a name that counts (segment, counter, dated). Error codes: -1 the name is not initialised, -2 unknown key, -3 no numbers available now. Any method and any body are accepted."
);
mode!(
    snowflake,
    "/api/snowflake/get/{key}",
    &SNOWFLAKE,
    "Leaf's snowflake mode",
    "Mints from a snowflake name. Error codes: -1 busy, -2 interrupted (nothing could be minted), -3 the clock went back too far. Any method and any body are accepted."
);

async fn get(shared: &Shared, caller: &Caller, call: &'static Call, asked: &Asked) -> Response<Body> {
    let (key, whole) = asked.key();
    if key.is_empty() {
        const NO_KEY: &str = "com.sankuai.inf.leaf.server.exception.NoKeyException";
        return asked.error(now(shared), StatusCode::INTERNAL_SERVER_ERROR, Some(NO_KEY), "Key is none");
    }
    // Nothing is minted that cannot be written then, and an error is written as what it can be.
    let Ok(content_type) = asked.content_type(Produces::Text) else {
        return asked.not_acceptable(now(shared));
    };
    let (key, whole) = match behind_any_key(shared, call) {
        _ if !asked.is_garbled() => (key, whole),
        // Leaf's snowflake ignores its key.
        Some(name) => (name, None),
        None => {
            let message = "the percent-decoded path is not UTF-8: encode it as UTF-8";
            return asked.error(now(shared), StatusCode::BAD_REQUEST, None, message);
        }
    };
    let id = async {
        // A dot belongs to a name that has one, which Leaf's names cannot have.
        let key = match whole.filter(|whole| caller.sees(whole)) {
            Some(whole) if shared.service.is_known(caller, whole).await? => whole,
            _ => key,
        };
        match number(mint(shared, caller, call, key).await?)? {
            Some(id) => Ok(id),
            // This ID goes to nobody. The next one is larger.
            None => number(mint(shared, caller, call, key).await?)?.ok_or_else(|| {
                Refusal::exhausted(
                    "the name mints 0 again and again, which Leaf's clients do not take as an ID",
                )
            }),
        }
    };
    match id.await {
        Ok(id) => ([(header::CONTENT_TYPE, content_type)], id).into_response(),
        Err(refusal) => error(shared, call, asked, &refusal),
    }
}

async fn mint(shared: &Shared, caller: &Caller, call: &'static Call, key: &str) -> Result<Minted, Refusal> {
    let minted = shared.service.mint(caller, call, key, 1).await;
    let Err(refusal) = &minted else { return minted };
    // Leaf's snowflake ignores its key.
    let of_the_key = matches!(refusal.status, Status::UnknownName | Status::WrongKind | Status::BadRequest);
    match behind_any_key(shared, call).filter(|_| of_the_key) {
        Some(name) => shared.service.mint(caller, call, name, 1).await,
        None => minted,
    }
}

fn is_snowflake(call: &'static Call) -> bool {
    std::ptr::eq(call, &SNOWFLAKE)
}

/// The name to use for a key of Leaf's snowflake mode that cannot be a snowflake name. Leaf ignores the key there.
/// Only if the configuration makes every other name a snowflake.
fn behind_any_key(shared: &Shared, call: &'static Call) -> Option<&'static str> {
    (is_snowflake(call) && shared.service.any_is_snowflake()).then_some("leaf-snowflake")
}

fn now(shared: &Shared) -> UnixMillis {
    shared.service.steady_time()
}

/// The one ID of a batch, as the number that a Java client reads into a `long`; `None` for 0, which the original
/// answers when a mode is off. No ID may look like that.
pub(super) fn number(minted: Minted) -> Result<Option<String>, Refusal> {
    let id = match minted {
        Minted::Numbers(mut ids) => ids.next().map(|id| id.to_string()),
        Minted::Wide(mut ids) => ids.next().map(|id| id.to_string()),
        Minted::Dated(mut ids) => ids.next().and_then(|id| id.number()).map(|id| id.to_string()),
        Minted::Texts(_) => None,
    };
    let id = id.ok_or_else(|| {
        Refusal::exhausted("the ID does not fit the 63 bits of a number: mint it with /v1/mint as text")
    })?;
    Ok(Some(id).filter(|id| id != "0"))
}

fn error(shared: &Shared, call: &'static Call, asked: &Asked, refusal: &Refusal) -> Response<Body> {
    const THROWN: &str = "com.sankuai.inf.leaf.server.exception.LeafServerException";
    let status = shared.service.status();
    let code = match (is_snowflake(call), refusal.status) {
        (true, _) if status.clock.refused.is_some() => -3,
        (true, Status::Busy) => -1,
        (true, _) => -2,
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
    // The original has no authentication. This is how Spring answers with it.
    let http = match refusal.status {
        Status::Unauthenticated | Status::WrongToken => StatusCode::UNAUTHORIZED,
        Status::Forbidden => StatusCode::FORBIDDEN,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    let message = format!("Result{{id={code}, status=EXCEPTION}}");
    let mut response = asked.error(status.clock.steady, http, Some(THROWN), &message);
    explain(&mut response, refusal);
    if let Some(retry) = refusal.retry {
        response.headers_mut().insert(header::RETRY_AFTER, super::retry_after(retry));
    }
    response
}

/// Adds floe's cause and way out in a header, which clients ignore. A header can only have ASCII.
pub(super) fn explain(response: &mut Response<Body>, refusal: &Refusal) {
    let shown = |text: String, c: char| match c {
        ' '..='~' => text + c.encode_utf8(&mut [0; 4]),
        other => text + &other.escape_default().to_string(),
    };
    if let Ok(detail) = HeaderValue::from_str(&refusal.detail.chars().fold(String::new(), shown)) {
        response.headers_mut().insert("floe-detail", detail);
    }
}

/// A snowflake ID of Leaf, taken apart.
#[derive(Serialize, ToSchema)]
pub(super) struct Decoded {
    /// The worker id.
    #[serde(rename = "workerId")]
    worker_id: String,
    /// The sequence number.
    #[serde(rename = "sequenceId")]
    sequence_id: String,
    /// `1288834974657(2010-11-04 01:42:54.657)`, in the server's time zone.
    timestamp: String,
}

/// Leaf's answer to an ID, and to a text that is not an ID.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum Decoding {
    Parts(Decoded),
    Error {
        /// Always the same words.
        #[serde(rename = "errorMsg")]
        error: &'static str,
    },
}

/// Take a Leaf ID apart
///
/// As the original does it, in the server's time zone. `/v1/inspect` says more.
#[utoipa::path(
    method(get, post, put, patch, delete),
    path = "/decodeSnowflakeId",
    tag = "leaf",
    params(("snowflakeId" = String, Query, description = "The ID")),
    responses(
        (status = 200, description = "Its parts, all as strings, or `errorMsg` if it is not a number of 64 bits", body = Decoding),
        (status = 400, description = "It is missing", body = SpringError),
        (status = 406, description = "No media type that can be written")
    )
)]
pub(super) async fn decode(
    State(shared): State<Shared>,
    caller: Caller,
    asked: Asked,
    parameters: Parameters,
) -> Result<Response<Body>, Problem> {
    caller.check()?;
    let Some(id) = parameters.text("snowflakeId") else {
        const THROWN: &str = "org.springframework.web.bind.MissingServletRequestParameterException";
        let message = "Required String parameter 'snowflakeId' is not present";
        return Ok(asked.error(now(&shared), StatusCode::BAD_REQUEST, Some(THROWN), message));
    };
    let Ok(content_type) = asked.content_type(Produces::Json) else {
        return Ok(asked.not_acceptable(now(&shared)));
    };
    let decoding = match long(&id) {
        Some(number) => Decoding::Parts(decoded(number)?),
        None => Decoding::Error { error: "snowflake Id反解析发生异常!" },
    };
    let mut response = axum::Json(decoding).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    Ok(response)
}

/// By Leaf's own arithmetic, which takes any number.
fn decoded(number: i64) -> Result<Decoded, Refusal> {
    const EPOCH_MS: i64 = 1_288_834_974_657;
    let millis = (number >> 22) + EPOCH_MS;
    let local = jiff::Timestamp::from_millisecond(millis)
        .map_err(|error| Refusal::bad(format!("the time of {number} cannot be written ({error})")))?
        .to_zoned(TimeZone::system());
    Ok(Decoded {
        timestamp: format!("{millis}({})", local.strftime("%Y-%m-%d %H:%M:%S%.3f")),
        worker_id: (number >> 12 & 0x3ff).to_string(),
        sequence_id: (number & 0xfff).to_string(),
    })
}

/// The segments in hand, for people
#[utoipa::path(
    method(get, post, put, patch, delete),
    path = "/cache",
    tag = "leaf",
    responses((status = 200, description = "A page", body = String, content_type = "text/html"))
)]
pub(super) async fn cache(State(shared): State<Shared>, caller: Caller) -> Result<Response<Body>, Problem> {
    let page = shared.service.blocking(move |service| {
        let mut rows = String::new();
        let names = service.open_names(&caller)?;
        let counts = |name: &&floe::NameStatus| name.definition.kind() != Kind::SNOWFLAKE;
        for name in names.iter().filter(counts).take(MAX_ROWS) {
            let init = matches!(name.state, floe::NameState::Ready);
            let step = service.step(name.name.as_str()).filter(|_| name.definition.kind() == Kind::SEGMENT);
            let step = step.map(|step| step.to_string()).unwrap_or_default();
            let (left, definition) = (name.left.to_string(), name.definition.to_string());
            row(&mut rows, &[name.name.as_str(), &init.to_string(), &step, &left, &definition]);
        }
        Ok(page("Segments in hand", &["name", "init", "step", "left", "definition"], &rows))
    });
    Ok(page.await?)
}

/// The marks in the ledger, for people
#[utoipa::path(
    method(get, post, put, patch, delete),
    path = "/db",
    tag = "leaf",
    responses(
        (status = 200, description = "A page", body = String, content_type = "text/html"),
        (status = 503, description = "The ledger is unavailable", body = SpringError)
    )
)]
pub(super) async fn database(
    State(shared): State<Shared>,
    caller: Caller,
) -> Result<Response<Body>, Problem> {
    let page = shared.service.blocking(move |service| {
        let mut rows = String::new();
        for counted in service.counted(&caller, MAX_ROWS)? {
            let step = counted.step.map(|step| step.to_string()).unwrap_or_default();
            let next = counted.next.map(|next| next.to_string()).unwrap_or_default();
            row(&mut rows, &[&counted.name, &next, &step, &counted.mark.to_string(), &counted.definition]);
        }
        Ok(page("Marks in the ledger", &["tag", "max", "step", "mark", "definition"], &rows))
    });
    Ok(page.await?)
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
    ([(header::CONTENT_TYPE, HTML), (header::CONTENT_LANGUAGE, "en")], html).into_response()
}
