//! Errors as RFC 9457 `application/problem+json`.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Method, Response, StatusCode, header};
use axum::response::IntoResponse;
use floe::UnixMillis;
use serde::Serialize;
use utoipa::ToSchema;

use super::spring::Asked;
use crate::status::{Refusal, Status};

/// An error for the client. It becomes a response whose body the gate writes, since only the gate knows the path.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    status: StatusCode,
    slug: &'static str,
    title: &'static str,
    detail: String,
    retry: Option<Duration>,
}

/// The body of an error.
#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
pub(super) struct ProblemBody<'p> {
    /// Which sort of problem it is, as a path on this server that explains it.
    r#type: String,
    /// The same in a few words.
    title: &'p str,
    /// The HTTP status.
    status: u16,
    /// The cause, and the way out.
    detail: &'p str,
    /// The path that was asked for.
    instance: &'p str,
}

/// Errors of a request before it reaches the service. They are HTTP's own, and have no row in the table of all wires.
#[derive(Clone, Debug)]
pub(super) enum HttpProblem {
    /// Nothing is served under this path.
    NoRoute(String),
    /// The path is served, but not by this method.
    Method(Method),
    /// No `Host` in HTTP/1.1, or more than one.
    Host,
    /// A web page of another site asks.
    ForeignSite(String),
    /// None of the media types that the client accepts can be written.
    NotAcceptable(String),
    /// A body longer than the limit.
    BodyTooLarge(usize),
    /// A body where none is taken.
    BodyNotTaken,
    /// A body that ended wrongly.
    BodyUnreadable(String),
    /// A body that did not come in time.
    BodyTimeout(Duration),
    /// A URI longer than the limit.
    UriTooLong {
        /// Its bytes.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// A header over one of the limits.
    HeaderTooLarge {
        /// The limit of its bytes.
        bytes: usize,
        /// The limit of its fields.
        fields: usize,
    },
    /// The answer did not begin in time.
    Timeout(Duration),
}

/// One sort of problem, for its page.
#[derive(Clone, Copy)]
pub(in crate::fronts) struct Explanation {
    pub(in crate::fronts) slug: &'static str,
    pub(in crate::fronts) status: u16,
    pub(in crate::fronts) title: &'static str,
    pub(in crate::fronts) meaning: &'static str,
}

/// HTTP's own sorts of problems.
const HTTP: &[Explanation] = &[
    Explanation {
        slug: "no-route",
        status: 404,
        title: "Not found",
        meaning: "Nothing is served under this path. /docs lists all paths.",
    },
    Explanation {
        slug: "method",
        status: 405,
        title: "Method not allowed",
        meaning: "The path is served, but not for this method: the Allow header lists the methods that are.",
    },
    Explanation {
        slug: "host",
        status: 400,
        title: "Bad Host header",
        meaning: "A request in HTTP/1.1 must have exactly one Host header: a name or an address, with or without a port (RFC 9112, section 3.2).",
    },
    Explanation {
        slug: "foreign-site",
        status: 403,
        title: "Asked by another site",
        meaning: "A browser sent the request for a web page of another site, or its Host header has a name that is not this server's. No such page may mint.",
    },
    Explanation {
        slug: "not-acceptable",
        status: 406,
        title: "Not acceptable",
        meaning: "None of the media types in the Accept header can be written for these IDs. application/octet-stream holds only numbers of 64 bits.",
    },
    Explanation {
        slug: "body",
        status: 400,
        title: "Bad body",
        meaning: "The call takes no body: everything that it needs is in its path and query. (Leaf's and tinyid's calls take any body, gRPC's take messages, and /v1/ledger takes a call.)",
    },
    Explanation {
        slug: "body-timeout",
        status: 408,
        title: "Body too slow",
        meaning: "The request's body did not arrive in time.",
    },
    Explanation {
        slug: "body-too-large",
        status: 413,
        title: "Body too large",
        meaning: "The request's body is over limits.body_bytes.",
    },
    Explanation {
        slug: "uri-too-long",
        status: 414,
        title: "URI too long",
        meaning: "The request's path and query are over limits.uri_bytes.",
    },
    Explanation {
        slug: "header-too-large",
        status: 431,
        title: "Header too large",
        meaning: "The request's header is over limits.header_bytes or limits.header_count.",
    },
    Explanation {
        slug: "timeout",
        status: 503,
        title: "Timed out",
        meaning: "The answer did not begin within limits.request_timeout. Ask again after the time in Retry-After.",
    },
];

/// Every sort of problem that a client can meet.
pub(in crate::fronts) fn explanations() -> impl Iterator<Item = Explanation> {
    let of = |status: Status| Explanation {
        slug: status.slug(),
        status: status.http(),
        title: status.title(),
        meaning: status.meaning(),
    };
    Status::ALL.into_iter().map(of).chain(HTTP.iter().copied())
}

impl Problem {
    /// The body, for a request of this path.
    pub(super) fn json(&self, path: &str) -> Vec<u8> {
        let body = ProblemBody {
            r#type: format!("/problems/{}", self.slug),
            title: self.title,
            status: self.status.as_u16(),
            detail: &self.detail,
            instance: path,
        };
        // Texts and a number always have a JSON form.
        serde_json::to_vec(&body).unwrap_or_default()
    }

    /// The whole answer, for a call of Leaf's or tinyid's.
    pub(super) fn spring(self, asked: &Asked, now: UnixMillis) -> Response<Body> {
        let mut response = asked.error(now, self.status, None, &self.detail);
        if let Some(retry) = self.retry {
            response.headers_mut().insert(header::RETRY_AFTER, super::retry_after(retry));
        }
        response
    }

    /// The cause and the way out.
    pub(super) fn detail(self) -> String {
        self.detail
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        Self {
            status: StatusCode::from_u16(refusal.status.http()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            slug: refusal.status.slug(),
            title: refusal.status.title(),
            detail: refusal.detail,
            retry: refusal.retry,
        }
    }
}

impl From<HttpProblem> for Problem {
    fn from(problem: HttpProblem) -> Self {
        let (slug, detail) = match &problem {
            HttpProblem::NoRoute(path) => ("no-route", format!("nothing is served under {path}: /docs lists all paths, and /v1/mint/orders mints an ID")),
            HttpProblem::Method(method) => ("method", format!("{method} is not served here: use one of the methods in the Allow header")),
            HttpProblem::Host => ("host", "the request has no Host header, more than one, or one that is no host and port: send one, such as Host: localhost:7600".to_owned()),
            HttpProblem::ForeignSite(detail) => ("foreign-site", detail.clone()),
            HttpProblem::NotAcceptable(detail) => ("not-acceptable", detail.clone()),
            HttpProblem::BodyTooLarge(limit) => ("body-too-large", format!("the body is over {limit} bytes (limits.body_bytes): put what the call needs into its path and query")),
            HttpProblem::BodyNotTaken => ("body", "this call takes no body, and would ignore this one: put what the call needs into its query, such as /v1/mint/orders?n=10".to_owned()),
            HttpProblem::BodyUnreadable(cause) => ("body", format!("the body cannot be read ({cause}): send it again, or leave it out if the call takes none")),
            HttpProblem::BodyTimeout(limit) => ("body-timeout", format!("the body did not arrive within {} ms (limits.header_timeout): send it again, or leave it out if the call takes none", limit.as_millis())),
            HttpProblem::UriTooLong { found, limit } => ("uri-too-long", format!("the path and query have {found} bytes, and at most {limit} are read (limits.uri_bytes)")),
            HttpProblem::HeaderTooLarge { bytes, fields } => ("header-too-large", format!("the header is over {bytes} bytes (limits.header_bytes) or {fields} fields (limits.header_count): send less")),
            HttpProblem::Timeout(limit) => ("timeout", format!("the answer did not begin within {} ms (limits.request_timeout): ask again", limit.as_millis())),
        };
        let retry = matches!(problem, HttpProblem::Timeout(_)).then_some(Duration::from_secs(1));
        // The table has every slug that stands above: a test holds it to that.
        let row = HTTP.iter().find(|row| row.slug == slug);
        let status = row
            .and_then(|row| StatusCode::from_u16(row.status).ok())
            .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status, slug, title: row.map_or("", |row| row.title), detail, retry }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(retry) = self.retry {
            headers.insert(header::RETRY_AFTER, super::retry_after(retry));
        }
        response.extensions_mut().insert(self);
        response
    }
}

impl IntoResponse for HttpProblem {
    fn into_response(self) -> Response<Body> {
        Problem::from(self).into_response()
    }
}

/// The column of the table of errors.
impl Status {
    /// The HTTP status code.
    pub(crate) const fn http(self) -> u16 {
        match self {
            Self::UnknownName => 404,
            Self::BadRequest | Self::WrongKind => 400,
            Self::Unauthenticated | Self::WrongToken => 401,
            Self::Forbidden => 403,
            Self::Busy | Self::Unavailable => 503,
            Self::Exhausted => 507,
            Self::Stopped => 500,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_of_http_has_its_row_and_its_page() {
        let wait = Duration::from_secs(1);
        let all = [
            (HttpProblem::NoRoute(String::new()), 404),
            (HttpProblem::Method(Method::PUT), 405),
            (HttpProblem::Host, 400),
            (HttpProblem::ForeignSite(String::new()), 403),
            (HttpProblem::NotAcceptable(String::new()), 406),
            (HttpProblem::BodyTooLarge(1), 413),
            (HttpProblem::BodyNotTaken, 400),
            (HttpProblem::BodyUnreadable(String::new()), 400),
            (HttpProblem::BodyTimeout(wait), 408),
            (HttpProblem::UriTooLong { found: 2, limit: 1 }, 414),
            (HttpProblem::HeaderTooLarge { bytes: 1, fields: 1 }, 431),
            (HttpProblem::Timeout(wait), 503),
        ];
        for (problem, status) in all {
            let problem = Problem::from(problem);
            assert_eq!((problem.status.as_u16(), problem.title.is_empty()), (status, false), "{problem:?}");
            assert!(explanations().any(|row| row.slug == problem.slug && row.status == status));
        }
    }
}
