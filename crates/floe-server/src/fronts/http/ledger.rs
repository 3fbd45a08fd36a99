//! The server's ledger, for processes that have it behind `floe://…`.

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Response, StatusCode};

use super::problem::{Problem, ProblemBody};
use super::v1::Segment;
use super::{Shared, text};
use crate::access::Caller;
use crate::status::Refusal;

/// The only route that has its call in the body.
const ROUTE: &str = "/v1/ledger/{realm}";

/// Whether a route takes a body. Callers without the right get an error instead.
///
/// # Errors
/// Why the caller may not.
pub(super) fn takes_body(route: &str, caller: &Caller) -> Result<bool, Refusal> {
    match route {
        ROUTE => caller.check_ledger(None).map(|()| true),
        _ => Ok(false),
    }
}

/// Call the ledger
///
/// One call of a ledger, for floe's own processes (`floe://`). Both sides must have the same version of floe. An
/// error of the store is an answer with status 200.
#[utoipa::path(
    post,
    path = "/v1/ledger/{realm}",
    tag = "operate",
    params(("realm" = String, Path, description = "The realm, one of those in `ledger` of the token", min_length = 1, max_length = 128)),
    request_body(content = String, content_type = "application/json", description = "The call"),
    responses(
        (status = 200, description = "The answer of the store", body = String, content_type = "application/json"),
        (status = 400, description = "It is not a call of a ledger", body = ProblemBody, content_type = "application/problem+json"),
        (status = 401, description = "No token or a wrong one", body = ProblemBody, content_type = "application/problem+json"),
        (status = 403, description = "The token may not use this ledger, or the server offers none", body = ProblemBody, content_type = "application/problem+json")
    )
)]
pub(super) async fn call(
    State(shared): State<Shared>,
    caller: Caller,
    Segment(realm): Segment,
    question: Bytes,
) -> Result<Response<Body>, Problem> {
    let answer = shared.service.ledger_call(&caller, realm, question).await?;
    Ok(text(StatusCode::OK, "application/json", answer))
}
