//! Pages for operators and their tools.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode};

use super::problem::{self, HttpProblem, Problem};
use super::v1::Segment;
use super::{Shared, accept, text};
use crate::access::Caller;
use crate::metrics::Format;
use crate::service::Readiness;

const PLAIN: &str = "text/plain; charset=utf-8";

/// Show examples of calls
#[utoipa::path(
    get,
    path = "/",
    tag = "operate",
    responses((status = 200, description = "A few lines", body = String, content_type = "text/plain"))
)]
pub(super) async fn home() -> Response<Body> {
    let body = concat!(
        "floe ",
        env!("CARGO_PKG_VERSION"),
        " mints unique IDs.\n\n",
        "  /v1/mint/orders          one ID (?n=10 for more; Accept: text/plain for one a line)\n",
        "  /v1/inspect/<ID>         an ID taken apart\n",
        "  /v1/open/<NAME>/<ID>     the number that an ID in a form stands for\n",
        "  /v1/names, /v1/slots     what is served, and by whom\n",
        "  /livez, /readyz          health checks for supervisors and balancers\n",
        "  /metrics                 for Prometheus\n",
        "  /docs, /openapi.json     all of it, described\n",
    );
    text(StatusCode::OK, PLAIN, body)
}

/// Say that the process is alive
#[utoipa::path(
    get,
    path = "/livez",
    tag = "operate",
    responses((status = 200, description = "It does", body = String, content_type = "text/plain"))
)]
pub(super) async fn live() -> Response<Body> {
    text(StatusCode::OK, PLAIN, "ok\n")
}

/// Say whether clients should be sent here
///
/// Yes while a window lasts, even if the ledger is gone. No if nothing can be minted (the clock is refused, the
/// window has run out without a ledger, or every name is used up or stopped), and once the server drains. Only
/// clients on the same machine, and tokens for every name (`"*"`), see the ledger's own error.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "operate",
    responses(
        (status = 200, description = "Yes", body = String, content_type = "text/plain"),
        (status = 503, description = "No, and why", body = String, content_type = "text/plain")
    )
)]
pub(super) async fn ready(State(shared): State<Shared>, caller: Caller) -> Response<Body> {
    match shared.service.readiness(&caller) {
        Readiness::Ready => text(StatusCode::OK, PLAIN, "ready\n"),
        Readiness::Not(why) => text(StatusCode::SERVICE_UNAVAILABLE, PLAIN, format!("not ready: {why}\n")),
    }
}

/// Metrics in Prometheus' text format, or in OpenMetrics if Accept asks for it
///
/// If the server asks for tokens, this needs one for every name (`"*"`). Clients on the same machine need none.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "operate",
    responses(
        (status = 200, description = "All metrics", content((String = "text/plain"), (String = "application/openmetrics-text")))
    )
)]
pub(super) async fn metrics(
    State(shared): State<Shared>,
    caller: Caller,
    headers: HeaderMap,
) -> Result<Response<Body>, Problem> {
    if !caller.is_local() {
        caller.check_all_names()?;
    }
    let (format, content_type) = match accept::wants(&headers, "application/openmetrics-text", "text/plain") {
        true => (Format::OpenMetrics, "application/openmetrics-text; version=1.0.0; charset=utf-8"),
        false => (Format::Text, "text/plain; version=0.0.4; charset=utf-8"),
    };
    Ok(match shared.service.metrics().encode(format) {
        Ok(body) => text(StatusCode::OK, content_type, body),
        Err(_) => text(StatusCode::INTERNAL_SERVER_ERROR, PLAIN, "the metrics cannot be written\n"),
    })
}

/// What a problem means
///
/// The `type` of every error is the path of its page here.
#[utoipa::path(
    get,
    path = "/problems/{problem}",
    tag = "operate",
    params(("problem" = String, Path, description = "The sort of problem, such as `unknown-name`")),
    responses(
        (status = 200, description = "What it means and what to do", body = String, content_type = "text/plain"),
        (status = 404, description = "There is no such problem", body = problem::ProblemBody, content_type = "application/problem+json")
    )
)]
pub(super) async fn problem(Segment(problem): Segment) -> Result<Response<Body>, Problem> {
    let explanation = problem::explanations().find(|row| row.slug == problem);
    let row =
        explanation.ok_or_else(|| HttpProblem::NoRoute(format!("/problems/{}", problem.escape_debug())))?;
    Ok(text(StatusCode::OK, PLAIN, format!("{} (status {})\n\n{}\n", row.title, row.status, row.meaning)))
}
