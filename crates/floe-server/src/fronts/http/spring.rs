//! How Tomcat and Spring treat requests and errors, for the calls of Leaf and tinyid: their clients, and the proxies
//! in front of them, rely on it.
//!
//! A request is looked at before it is routed ([`recognise`]): its path is parsed as those two do (parameters after
//! `;`, doubled and trailing slashes, dots, an extension). The result is [`Asked`], which the gate and the handlers
//! read. Media types of answers and errors are negotiated as in Spring ([`media`]).

use std::sync::Arc;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, Version, header};
use axum::response::IntoResponse;
use floe::UnixMillis;
use jiff::tz::TimeZone;
use serde::Serialize;
use utoipa::ToSchema;

mod java;
mod media;
mod parameters;
mod path;

pub(super) use java::{integer, long};
pub(super) use media::{JSON, Produces};
use media::{MediaType, NotAcceptable};
pub(super) use parameters::Parameters;
use path::Target;

/// The methods in OPTIONS of a call that mints, and in a 405. The original lists HEAD too, but nobody would see its IDs.
const MINTING: &str = "GET,POST,PUT,PATCH,DELETE,OPTIONS";

/// The same of a page.
const SHOWING: &str = "GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS";

const NOT_FOUND: &str = "No message available";

/// A request of Leaf's or tinyid's, as it came.
#[derive(Clone)]
pub(super) struct Asked(Arc<Inner>);

struct Inner {
    path: String,
    query: String,
    method: Method,
    target: Target,
    accept: Result<Vec<MediaType>, NotAcceptable>,
    /// Whether its `Host` is as RFC 9112, section 3.2, wants it.
    host: bool,
    /// Whether it expects nothing but what there is to expect.
    expect: bool,
}

/// The error of a call, as Spring Boot writes it.
#[derive(Serialize, ToSchema)]
#[schema(as = LeafError)]
pub(super) struct SpringError<'e> {
    /// Milliseconds since 1970.
    timestamp: i64,
    /// The HTTP status.
    status: u16,
    /// The status in words.
    error: &'e str,
    /// The class of what was thrown there.
    #[serde(skip_serializing_if = "Option::is_none")]
    exception: Option<&'e str>,
    /// `Result{id=<code>, status=EXCEPTION}` where it is Leaf's own.
    message: &'e str,
    /// The path that was asked for.
    path: &'e str,
}

/// Marks a request as one of Leaf's or tinyid's, and gives it the path and the method that the router knows.
pub(crate) fn recognise<B>(request: &mut Request<B>) {
    let Some(target) = path::target(request.uri()) else { return };
    let query = request.uri().query().unwrap_or_default().to_owned();
    let asked = Inner {
        path: request.uri().path().to_owned(),
        query,
        method: request.method().clone(),
        accept: media::accepted(request.headers()),
        host: is_host_right(request),
        expect: request.headers().get(header::EXPECT).is_none_or(|expected| {
            expected.as_bytes().to_ascii_lowercase().windows(12).any(|words| words == b"100-continue")
        }),
        target,
    };
    if let Target::Call { route, .. } = &asked.target {
        let routed = [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::HEAD];
        // Spring's handlers take every method there is, and more.
        if !routed.contains(request.method()) {
            *request.method_mut() = Method::GET;
        }
        // The host stays the same.
        let mut parts = request.uri().clone().into_parts();
        parts.path_and_query = Some(PathAndQuery::from_static(route));
        *request.uri_mut() = Uri::from_parts(parts).unwrap_or_else(|_| Uri::from_static(route));
    }
    request.extensions_mut().insert(Asked(Arc::new(asked)));
}

/// Exactly one `Host` in HTTP/1.1, at most one in older versions, and none in HTTP/2, which has another field for it.
fn is_host_right<B>(request: &Request<B>) -> bool {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    match (request.version(), hosts.next(), hosts.next()) {
        (Version::HTTP_11, None, _) | (_, _, Some(_)) => false,
        (_, host, None) => host.is_none_or(|host| is_host(host.as_bytes())),
    }
}

/// A name or an address, and a port or none.
pub(super) fn is_host(host: &[u8]) -> bool {
    let (name, port) = match host.iter().rposition(|byte| matches!(byte, b':' | b']')) {
        Some(at) if host.get(at) == Some(&b':') => host.split_at(at),
        _ => (host, &[][..]),
    };
    let is_address = name.starts_with(b"[") && name.ends_with(b"]");
    let allowed = |byte: &u8| {
        byte.is_ascii_alphanumeric() || b"-._".contains(byte) || (is_address && b"[:]".contains(byte))
    };
    name.iter().all(allowed) && port.iter().skip(1).all(u8::is_ascii_digit)
}

impl<S: Send + Sync> FromRequestParts<S> for Asked {
    type Rejection = StatusCode;

    /// Its routes are reached by what was recognised alone.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        parts.extensions.get().cloned().ok_or(StatusCode::NOT_FOUND)
    }
}

impl Asked {
    /// The path as it came.
    pub(super) fn path(&self) -> &str {
        &self.0.path
    }

    /// The query as it came.
    pub(super) fn query(&self) -> &str {
        &self.0.query
    }

    /// The method as it came.
    pub(super) fn method(&self) -> &Method {
        &self.0.method
    }

    /// The key in its path, decoded, and the same with what Spring takes for an extension.
    pub(super) fn key(&self) -> (&str, Option<&str>) {
        match &self.0.target {
            Target::Call { key, whole, .. } => (key, whole.as_deref()),
            _ => ("", None),
        }
    }

    /// Whether the key is no UTF-8, and so no name.
    pub(super) fn is_garbled(&self) -> bool {
        matches!(self.0.target, Target::Call { garbled: true, .. })
    }

    /// The media type of an answer in text, or in JSON.
    ///
    /// # Errors
    /// If the client accepts none of them.
    pub(super) fn content_type(&self, produces: Produces) -> Result<HeaderValue, NotAcceptable> {
        let known = match &self.0.target {
            Target::Call { extension: Some(extension), .. } => media::of_extension(extension),
            _ => None,
        };
        match (known, &self.0.accept) {
            (Some(known), _) => media::negotiate(&[known], produces),
            (None, Ok(accept)) => media::negotiate(accept, produces),
            (None, Err(error)) => Err(*error),
        }
    }

    /// Tomcat's answer to a request that it does not process: a path or a `Host` that is not valid, or an expectation
    /// that it cannot meet.
    pub(super) fn malformed(&self) -> Option<Response<Body>> {
        if !self.0.host || self.0.target == Target::Bad {
            return Some(bare(StatusCode::BAD_REQUEST));
        }
        (!self.0.expect).then(|| bare(StatusCode::EXPECTATION_FAILED))
    }

    /// Answers without a handler: for a path with nothing under it, and for a question about methods.
    pub(super) fn answer(&self, now: impl Fn() -> UnixMillis) -> Option<Response<Body>> {
        let mints = match &self.0.target {
            Target::Bad => return Some(bare(StatusCode::BAD_REQUEST)),
            Target::NotFound => return Some(self.error(now(), StatusCode::NOT_FOUND, None, NOT_FOUND)),
            Target::Context => {
                let mut response = bare(StatusCode::FOUND);
                response.headers_mut().insert(header::LOCATION, HeaderValue::from_static("/tinyid/"));
                return Some(response);
            }
            Target::Call { mints, .. } => *mints,
        };
        let allowed = HeaderValue::from_static(if mints { MINTING } else { SHOWING });
        let status = match self.0.method {
            Method::OPTIONS => StatusCode::OK,
            Method::HEAD if mints => StatusCode::METHOD_NOT_ALLOWED,
            Method::TRACE | Method::CONNECT => StatusCode::METHOD_NOT_ALLOWED,
            _ => return None,
        };
        let mut response = bare(status);
        response.headers_mut().insert(header::ALLOW, allowed);
        Some(response)
    }

    /// An error: a page for browsers, JSON for other clients, and no body for clients that accept neither.
    pub(super) fn error(
        &self,
        now: UnixMillis,
        status: StatusCode,
        exception: Option<&str>,
        message: &str,
    ) -> Response<Body> {
        let not_acceptable = || bare(StatusCode::NOT_ACCEPTABLE);
        // An authentication error, which the originals never give, goes to all clients.
        let stranger = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        let accept = match &self.0.accept {
            Ok(accept) => accept.as_slice(),
            Err(_) if stranger => &[],
            Err(_) => return not_acceptable(),
        };
        let error = status.canonical_reason().unwrap_or_default();
        if media::prefers_html(accept) {
            return (
                status,
                [(header::CONTENT_TYPE, HTML), (header::CONTENT_LANGUAGE, "en")],
                page(now, status, message),
            )
                .into_response();
        }
        let content_type = match media::negotiate(accept, Produces::Json) {
            Ok(content_type) => content_type,
            Err(_) if stranger => HeaderValue::from_static(JSON),
            Err(_) => return not_acceptable(),
        };
        let body = SpringError {
            timestamp: now.get(),
            status: status.as_u16(),
            error,
            exception,
            message,
            path: &self.0.path,
        };
        let mut response = (status, axum::Json(body)).into_response();
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
        response
    }

    /// The error of a media type that cannot be had.
    pub(super) fn not_acceptable(&self, now: UnixMillis) -> Response<Body> {
        const THROWN: &str = "org.springframework.web.HttpMediaTypeNotAcceptableException";
        let message = "Could not find acceptable representation";
        self.error(now, StatusCode::NOT_ACCEPTABLE, Some(THROWN), message)
    }
}

/// After these errors, Tomcat does not read what the client has sent after its request.
pub(super) fn drops_connection(status: StatusCode) -> bool {
    matches!(status.as_u16(), 400 | 408 | 411 | 413 | 414 | 417 | 500 | 501 | 503)
}

pub(super) const HTML: &str = "text/html;charset=UTF-8";

fn bare(status: StatusCode) -> Response<Body> {
    status.into_response()
}

/// Spring Boot's page, word for word.
fn page(now: UnixMillis, status: StatusCode, message: &str) -> String {
    let created = jiff::Timestamp::from_millisecond(now.get())
        .map(|time| time.to_zoned(TimeZone::UTC).strftime("%a %b %d %H:%M:%S UTC %Y").to_string())
        .unwrap_or_default();
    format!(
        "<html><body><h1>Whitelabel Error Page</h1><p>This application has no explicit mapping for /error, so you are seeing this as a fallback.</p><div id='created'>{created}</div><div>There was an unexpected error (type={}, status={}).</div><div>{}</div></body></html>",
        status.canonical_reason().unwrap_or_default(),
        status.as_u16(),
        escaped(message)
    )
}

/// A text as it stands in a page.
pub(super) fn escaped(text: &str) -> String {
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

/// The media type of a request's body, without its parameters, and its header.
pub(super) fn body_type(headers: &HeaderMap) -> (String, &str) {
    let whole = headers.get(header::CONTENT_TYPE).and_then(|media| media.to_str().ok()).unwrap_or_default();
    (whole.split(';').next().unwrap_or_default().trim().to_ascii_lowercase(), whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address_and_a_port() {
        for host in ["", "a", "a-b.c_d", "127.0.0.1:80", "[::1]", "[::1]:7600", "a:"] {
            assert!(is_host(host.as_bytes()), "{host}");
        }
        for host in ["a b", "a:b", "a:80:80", "a/b", "a@b", "::1", "[::1", "a,b", "a\"b", "\u{fc}"] {
            assert!(!is_host(host.as_bytes()), "{host}");
        }
    }
}
