//! The parameters of a request, as Tomcat and Spring gather them from its query, its form and its multipart body.

use std::borrow::Cow;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, Method, Response, StatusCode};
use axum::response::IntoResponse;

use super::{Asked, body_type};

/// Names and values, in the order in which they came.
pub(in crate::fronts::http) struct Parameters(Vec<(String, Value)>);

/// A value, and whether it is no UTF-8, so that the text is not what was sent.
#[derive(PartialEq, Debug)]
struct Value {
    text: String,
    garbled: bool,
}

impl Value {
    fn of(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        Self { garbled: matches!(text, Cow::Owned(_)), text: text.into_owned() }
    }
}

impl<S: Send + Sync> FromRequest<S> for Parameters {
    type Rejection = Response<Body>;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response<Body>> {
        let asked = request.extensions().get::<Asked>().cloned();
        let asked = asked.ok_or_else(|| StatusCode::NOT_FOUND.into_response())?;
        let headers = request.headers().clone();
        let body = Bytes::from_request(request, state).await.map_err(IntoResponse::into_response)?;
        Ok(Self::of(&asked, &headers, &body))
    }
}

impl Parameters {
    fn of(asked: &Asked, headers: &HeaderMap, body: &[u8]) -> Self {
        let mut all = Vec::new();
        pairs(asked.query().as_bytes(), &mut all);
        let (media, whole) = body_type(headers);
        let forms = [Method::POST, Method::PUT, Method::PATCH];
        if media == "application/x-www-form-urlencoded" && forms.contains(asked.method()) {
            pairs(body, &mut all);
        } else if media == "multipart/form-data" && asked.method() == Method::POST {
            parts(whole, body, &mut all);
        }
        Self(all)
    }

    /// The values of a name, with commas between them.
    pub(in crate::fronts::http) fn text(&self, name: &str) -> Option<String> {
        let values: Vec<&str> = self.values(name).map(|value| value.text.as_str()).collect();
        (!values.is_empty()).then(|| values.join(","))
    }

    /// The first value of a name, and whether there are more.
    pub(in crate::fronts::http) fn first(&self, name: &str) -> Option<(&str, bool)> {
        let mut values = self.values(name);
        Some((&values.next()?.text, values.next().is_some()))
    }

    /// Whether all of [`text`](Self::text) was sent so: as one value, in UTF-8.
    pub(in crate::fronts::http) fn is_one(&self, name: &str) -> bool {
        let mut values = self.values(name);
        values.next().is_none_or(|value| !value.garbled) && values.next().is_none()
    }

    /// Whether one of the values is no UTF-8.
    pub(in crate::fronts::http) fn is_garbled(&self, name: &str) -> bool {
        self.values(name).any(|value| value.garbled)
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &Value> {
        self.0.iter().filter(move |(found, _)| found == name).map(|(_, value)| value)
    }
}

/// Reads `a=1&b=2`. What is not percent-encoded as it should be is left out.
fn pairs(text: &[u8], all: &mut Vec<(String, Value)>) {
    for pair in text.split(|byte| *byte == b'&') {
        let (name, value) = match pair.iter().position(|byte| *byte == b'=') {
            Some(at) => (pair.get(..at), pair.get(at + 1..)),
            None => (Some(pair), None),
        };
        let decoded = (decode(name.unwrap_or_default()), decode(value.unwrap_or_default()));
        if let (Some(name), Some(value)) = decoded
            && !name.text.is_empty()
        {
            all.push((name.text, value));
        }
    }
}

fn decode(text: &[u8]) -> Option<Value> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    while let Some(&byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(*rest.next()?).to_digit(16);
                u8::try_from(digit()? << 4 | digit()?).ok()?
            }
            byte => byte,
        });
    }
    Some(Value::of(&bytes))
}

/// Reads the fields of a multipart body, files left out.
fn parts(media: &str, body: &[u8], all: &mut Vec<(String, Value)>) {
    // RFC 2046, section 5.1.1, allows no longer one, and each byte is held against it.
    let boundary = attribute(media, "boundary").filter(|boundary| boundary.len() <= 70);
    let Some(boundary) = boundary else { return };
    let separator = format!("\r\n--{boundary}");
    // The first one may stand at the very beginning.
    let body = [b"\r\n", body].concat();
    let mut rest = body.as_slice();
    let Some(at) = find(rest, separator.as_bytes()) else { return };
    rest = rest.get(at + separator.len()..).unwrap_or_default();
    while let Some(end) = find(rest, separator.as_bytes()) {
        let part = rest.get(..end).unwrap_or_default();
        rest = rest.get(end + separator.len()..).unwrap_or_default();
        let Some(head) = find(part, b"\r\n\r\n") else { continue };
        let (head, value) = (part.get(..head).unwrap_or_default(), part.get(head + 4..).unwrap_or_default());
        let head = String::from_utf8_lossy(head);
        let disposition = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.trim().eq_ignore_ascii_case("content-disposition").then_some(value)
        });
        let Some(disposition) = disposition else { continue };
        if let (Some(name), None) = (attribute(disposition, "name"), attribute(disposition, "filename")) {
            all.push((name, Value::of(value)));
        }
    }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// `name="a"` or `name=a` among what `;` separates.
fn attribute(text: &str, name: &str) -> Option<String> {
    text.split(';').find_map(|part| {
        let (found, value) = part.split_once('=')?;
        let value = value.trim();
        let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
        (found.trim().eq_ignore_ascii_case(name) && !value.is_empty()).then(|| value.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_and_parts_are_read_as_tomcat_reads_them() {
        let mut all = Vec::new();
        pairs(b"a=1&b=%2B+2&&=x&c&d=%zz&e=1;f=2&%61=%FF", &mut all);
        let read = Parameters(all);
        assert_eq!(read.text("a").as_deref(), Some("1,\u{fffd}"));
        assert_eq!(read.first("a"), Some(("1", true)));
        assert_eq!(read.text("b").as_deref(), Some("+ 2"));
        assert_eq!(read.text("c").as_deref(), Some(""));
        assert_eq!(read.text("d"), None);
        assert_eq!(read.text("e").as_deref(), Some("1;f=2"));
        let mut all = Vec::new();
        let body = b"--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x\r\ncontent-disposition: form-data; name=b; filename=\"c\"\r\n\r\n2\r\n--x\r\nContent-Type: text/plain\r\nContent-Disposition: form-data; name=\"d\"\r\n\r\n\r\n--x--\r\n";
        parts("multipart/form-data; boundary=x", body, &mut all);
        assert_eq!(all, [("a".to_owned(), Value::of(b"1")), ("d".to_owned(), Value::of(b""))]);
        let mut none = Vec::new();
        let long = format!("multipart/form-data; boundary={}", "x".repeat(71));
        for media in ["multipart/form-data", "multipart/form-data; boundary=\"\"", long.as_str()] {
            parts(media, body, &mut none);
        }
        assert_eq!(none, []);
    }
}
