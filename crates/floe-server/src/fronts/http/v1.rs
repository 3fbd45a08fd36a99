//! floe's own calls.

use axum::Json;
use axum::body::Body;
use axum::extract::{FromRequestParts, RawPathParams, RawQuery, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Response};
use floe::Definition;

use super::accept::{Media, negotiate};
use super::problem::{HttpProblem, Problem, ProblemBody};
use super::{Shared, ids, query};
use crate::access::Caller;
use crate::service::{Inspection, NameReport, NamesPage, Opened, SlotsPage, call::NATIVE};
use crate::status::Refusal;

/// The most that one page lists.
const MAX_PAGE: usize = 1000;
const DEFAULT_PAGE: usize = 100;

/// IDs.
#[derive(utoipa::ToSchema)]
#[expect(dead_code, reason = "it describes what `ids::response` writes")]
pub(super) struct Ids {
    /// The name that they were minted under.
    name: String,
    /// The IDs, as strings, or as numbers with `numbers=true`.
    ids: Vec<OneId>,
}

/// An ID.
#[derive(serde::Serialize, utoipa::ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it describes what `ids::response` writes")]
pub(super) enum OneId {
    /// In digits, or in the form of its name.
    Text(String),
    /// With `numbers=true`.
    Number(u64),
}

/// Declares the handler of a method that mints. `document::complete` adds the errors that other calls have too.
macro_rules! mint {
    ($method:ident, $handler:ident, $more:literal) => {
        #[doc = "Mint IDs"]
        #[doc = ""]
        #[doc = $more]
        #[utoipa::path(
            $method,
            path = "/v1/mint/{name}",
            tag = "ids",
            params(
                ("name" = String, Path, description = "The name to mint under: 1 to 128 bytes, percent-encoded", min_length = 1, max_length = 128),
                ("n" = Option<u64>, Query, description = "The number of IDs, from 1 to limits.max_batch; 1 if it is left out", minimum = 1),
                ("numbers" = Option<bool>, Query, description = "IDs as JSON numbers instead of strings")
            ),
            responses(
                (status = 200, description = "The IDs: as JSON, one a line, or as 64-bit little-endian integers", content(
                    (Ids = "application/json"),
                    (String = "text/plain"),
                    (Vec<u8> = "application/octet-stream")
                )),
                (status = 400, description = "A count out of its range, an impossible name, a wrong kind", body = ProblemBody, content_type = "application/problem+json"),
                (status = 406, description = "No media type that these IDs can be written in", body = ProblemBody, content_type = "application/problem+json")
            )
        )]
        pub(super) async fn $handler(
            State(shared): State<Shared>,
            caller: Caller,
            Segment(segment): Segment,
            RawQuery(query): RawQuery,
            headers: HeaderMap,
        ) -> Result<Response<Body>, Problem> {
            mint(&shared, &caller, &segment, query.as_deref(), &headers).await
        }
    };
}

mint!(
    get,
    mint_get,
    "Answers with new IDs that nobody else gets. If the answer is lost, its IDs are never used."
);
mint!(post, mint_post, "The same as GET. Clients and proxies never repeat a POST by themselves.");

async fn mint(
    shared: &Shared,
    caller: &Caller,
    name: &str,
    query: Option<&str>,
    headers: &HeaderMap,
) -> Result<Response<Body>, Problem> {
    let [n, numbers] = query::read(query, ["n", "numbers"])?;
    let n = n.map_or(Ok(1), |n| shared.service.count(&n))?;
    let numbers = query::boolean("numbers", numbers.as_deref())?;
    let media = negotiate(headers).map_err(|wanted| {
        HttpProblem::NotAcceptable(format!(
            "{wanted:?} cannot be written: ask for application/json, text/plain (one ID a line) or application/octet-stream (64-bit little-endian integers)"
        ))
    })?;
    // Nothing is minted that cannot be written then.
    if numbers || media == Media::Octets {
        let definition = shared.service.definition(caller, &NATIVE, name).await?;
        numeric(name, &definition, media)?;
    }
    let minted = shared.service.mint(caller, &NATIVE, name, n).await?;
    Ok(ids::response(name, minted, media, numbers))
}

/// Refuses to write IDs as numbers if they may not fit 64 bits.
fn numeric(name: &str, definition: &Definition, media: Media) -> Result<(), Problem> {
    let cause = match definition {
        definition if definition.is_text() => {
            format!("the IDs of `{name}` are text, as its kind or its form writes them")
        }
        Definition::Snowflake { layout, .. } if layout.total_bits() > 63 => {
            format!("the IDs of `{name}` have up to {} bits", layout.total_bits())
        }
        Definition::Dated(shape) if !shape.prefix().is_empty() => {
            format!("the IDs of `{name}` are text, because they begin with its prefix {:?}", shape.prefix())
        }
        Definition::Dated(shape) if shape.overflow() == floe::Overflow::Widen && media == Media::Octets => {
            format!("the IDs of `{name}` may outgrow 63 bits, since its counter widens")
        }
        _ => return Ok(()),
    };
    Err(match media {
        Media::Octets => HttpProblem::NotAcceptable(format!(
            "{cause}, and application/octet-stream holds numbers of 64 bits: ask for application/json or text/plain"
        ))
        .into(),
        Media::Json | Media::Text => Refusal::wrong_kind(format!("{cause}, which most clients cannot read as a number: leave numbers=true out and read them as strings"))
        .into(),
    })
}

/// Take an ID apart
///
/// With a name or a layout, the answer has one reading. With neither, it has all readings that make sense: first for
/// the names served here, 100 at once, then for the presets.
#[utoipa::path(
    get,
    path = "/v1/inspect/{id}",
    tag = "ids",
    params(
        ("id" = String, Path, description = "The ID, in decimal digits, or as a dated name writes it"),
        ("name" = Option<String>, Query, description = "The name that it was minted under", min_length = 1, max_length = 128),
        ("layout" = Option<String>, Query, description = "A preset such as `twitter`, also with an epoch of its own (`sonyflake epoch=2020-01-01T00:00:00Z`), or a layout's whole text", min_length = 1),
        ("after" = Option<String>, Query, description = "The `next` of the page before, if neither is given", min_length = 1)
    ),
    responses(
        (status = 200, description = "Fields, times and bit positions", body = Inspection),
        (status = 400, description = "It is no ID, or not one of that name or layout", body = ProblemBody, content_type = "application/problem+json")
    )
)]
pub(super) async fn inspect(
    State(shared): State<Shared>,
    caller: Caller,
    Segment(segment): Segment,
    RawQuery(query): RawQuery,
) -> Result<Json<Inspection>, Problem> {
    let [name, layout, after] = query::read(query.as_deref(), ["name", "layout", "after"])?;
    let found = shared.service.blocking(move |service| {
        service.inspect(&caller, &segment, name.as_deref(), layout.as_deref(), after.as_deref())
    });
    Ok(Json(found.await?))
}

/// Open an ID
///
/// The number of an ID that is written in its name's form, also of a sealed ID.
#[utoipa::path(
    get,
    path = "/v1/open/{name}/{text}",
    tag = "ids",
    params(
        ("name" = String, Path, description = "The name that it was minted under", min_length = 1, max_length = 128),
        ("text" = String, Path, description = "The ID")
    ),
    responses(
        (status = 200, description = "The number", body = Opened),
        (status = 400, description = "The name has no form, or its form does not write this text", body = ProblemBody, content_type = "application/problem+json")
    )
)]
pub(super) async fn open(
    State(shared): State<Shared>,
    caller: Caller,
    Segments(segments): Segments<2>,
    RawQuery(query): RawQuery,
) -> Result<Json<Opened>, Problem> {
    let [] = query::read(query.as_deref(), [])?;
    let [name, text] = segments;
    Ok(Json(shared.service.blocking(move |service| service.open_text(&caller, &name, &text)).await?))
}

/// List names
#[utoipa::path(
    get,
    path = "/v1/names",
    tag = "operate",
    params(
        ("after" = Option<String>, Query, description = "Only names after this one in byte order: the `next` of the page before"),
        ("limit" = Option<usize>, Query, description = "The most rows in the answer, 1 to 1000; 100 if it is left out", minimum = 1, maximum = 1000)
    ),
    responses((status = 200, description = "Names in byte order", body = NamesPage))
)]
pub(super) async fn names(
    State(shared): State<Shared>,
    caller: Caller,
    RawQuery(query): RawQuery,
) -> Result<Json<NamesPage>, Problem> {
    let [after, limit] = query::read(query.as_deref(), ["after", "limit"])?;
    let limit = query::limit(limit.as_deref(), DEFAULT_PAGE, MAX_PAGE)?;
    let after = after.unwrap_or_default();
    Ok(Json(shared.service.blocking(move |service| service.names(&caller, &after, limit)).await?))
}

/// Show a name
#[utoipa::path(
    get,
    path = "/v1/names/{name}",
    tag = "operate",
    params(("name" = String, Path, description = "The name", min_length = 1, max_length = 128)),
    responses(
        (status = 200, description = "Its definition and its state", body = NameReport)
    )
)]
pub(super) async fn name(
    State(shared): State<Shared>,
    caller: Caller,
    Segment(segment): Segment,
    RawQuery(query): RawQuery,
) -> Result<Json<NameReport>, Problem> {
    let [] = query::read(query.as_deref(), [])?;
    Ok(Json(shared.service.blocking(move |service| service.name(&caller, &segment)).await?))
}

/// List worker slots
#[utoipa::path(
    get,
    path = "/v1/slots",
    tag = "operate",
    params(
        ("after" = Option<String>, Query, description = "The `next` of the page before"),
        ("limit" = Option<usize>, Query, description = "The most rows in the answer, 1 to 1000; 100 if it is left out", minimum = 1, maximum = 1000)
    ),
    responses(
        (status = 200, description = "Slots in the ledger's order", body = SlotsPage),
        (status = 503, description = "The ledger is unavailable", body = ProblemBody, content_type = "application/problem+json")
    )
)]
pub(super) async fn slots(
    State(shared): State<Shared>,
    caller: Caller,
    RawQuery(query): RawQuery,
) -> Result<Json<SlotsPage>, Problem> {
    let [after, limit] = query::read(query.as_deref(), ["after", "limit"])?;
    let limit = query::limit(limit.as_deref(), DEFAULT_PAGE, MAX_PAGE)?;
    let after = after.unwrap_or_default();
    Ok(Json(shared.service.blocking(move |service| service.slots(&caller, &after, limit)).await?))
}

/// The one parameter of a path, decoded.
pub(super) struct Segment(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Segment {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Segments([segment]) = Segments::from_request_parts(parts, state).await?;
        Ok(Self(segment))
    }
}

/// The parameters of a path, decoded.
pub(super) struct Segments<const COUNT: usize>([String; COUNT]);

impl<S: Send + Sync, const COUNT: usize> FromRequestParts<S> for Segments<COUNT> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        if parts.uri.path().contains(';') {
            return Err(Refusal::bad(
                "a `;` in a path begins a parameter, and there is none here: write %3B where it is part of a name",
            )
            .into());
        }
        let params = RawPathParams::from_request_parts(parts, state)
            .await
            .map_err(|_| Refusal::bad("the percent-decoded path is not UTF-8: encode it as UTF-8"))?;
        let mut values = params.iter().map(|(_, value)| value.to_owned());
        Ok(Self([(); COUNT].map(|()| values.next().unwrap_or_default())))
    }
}
