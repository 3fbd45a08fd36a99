//! A `GET` of one ID, floe's own or one of Leaf's, answered straight from what was read.
//!
//! Most requests over HTTP are such a `GET`, on a connection that stays open. In hyper and the router it costs
//! several times what minting costs, and 17 KB for each waiting client. So a connection begins here. It is handed
//! over to hyper, with its current request, as soon as a request is not plain: another route, a character that must
//! be decoded, a header that could change the answer, or an ID that is not available at once (a counter's never is).
//! Nothing has been answered to that request yet, so waits, errors and the rest of HTTP are in one place only.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::accept::Media;
use super::guard::HTTP2;
use super::{ids, leaf, site, spring};
use crate::access::Caller;
use crate::config::Limits;
use crate::metrics::{Counted, RouteMetrics};
use crate::service::{
    DateText, OpenName, Service,
    call::{Call, NATIVE},
};
use crate::session::{Next, Session, Taken};

/// A longer request is not plain.
const LONGEST: usize = 1024;

/// Headers that say nothing that an answer would depend on.
const PASSED_OVER: [&str; 8] = [
    "host",
    "user-agent",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "pragma",
    "referer",
    "x-request-id",
];

/// The calls: how their paths begin, what they ask of the service, and their routes.
const CALLS: [(&str, &Call, &str); 3] = [
    ("/v1/mint/", &NATIVE, "/v1/mint/{name}"),
    ("/api/snowflake/get/", &leaf::SNOWFLAKE, "/api/snowflake/get/{key}"),
    ("/api/segment/get/", &leaf::SEGMENT, "/api/segment/get/{key}"),
];

/// The place of floe's own among them.
const NATIVE_PLACE: usize = 0;

/// One client's connection, for as long as its requests are plain.
pub(crate) struct Plain {
    service: Arc<Service>,
    caller: Caller,
    limits: Limits,
    /// Whether a `Host` has to be one of this machine's, since no other machine reaches the listener.
    at_home: bool,
    recent: Option<Arc<OpenName>>,
    /// Whether a request was answered here, or this one is the client's first.
    answered: bool,
    /// Whether the request that is handed over is plain, and was not answered because it may have to wait.
    may_wait: bool,
    /// The date of the last answer, and when it is another one.
    date: Option<(Instant, Option<DateText>)>,
    /// By the call: its counters, and how many were answered since time was last taken.
    calls: [(RouteMetrics, u64); CALLS.len()],
}

/// A request that can be answered here.
#[derive(Debug, PartialEq, Eq)]
struct Request<'a> {
    /// Its place among the calls.
    call: usize,
    name: &'a str,
    /// The one media type that was asked for, if any.
    wanted: Option<Media>,
    bytes: usize,
}

/// What stands at the front of what was read.
#[derive(Debug, PartialEq, Eq)]
enum Beginning<'a> {
    Plain(Request<'a>),
    /// It may become a plain request.
    Part,
    Other,
}

impl Plain {
    /// For the client's `first` request, or for one after hyper has served some.
    pub(crate) fn new(service: &Arc<Service>, caller: Caller, limits: &Limits, first: bool) -> Self {
        let metrics = service.metrics();
        Self {
            service: Arc::clone(service),
            at_home: caller.is_at_home(),
            caller,
            limits: limits.clone(),
            recent: None,
            answered: first,
            may_wait: false,
            date: None,
            calls: CALLS.map(|(_, _, route)| (metrics.route(route), 0)),
        }
    }

    /// Whether the connection should come back as soon as the request is answered that it hands over: that one waits, as
    /// for a new window, and the others do not. A counter's requests all wait, and stay with hyper.
    pub(crate) fn comes_back(&self) -> bool {
        self.may_wait && self.answered
    }
}

impl Session for Plain {
    async fn take(&mut self, input: &[u8], output: &mut Vec<u8>, since: Instant) -> Option<Taken> {
        const HAND_OVER: Option<Taken> = Some((0, Next::HandOver));
        let request = match front(input, &self.limits, self.at_home) {
            Beginning::Plain(request) => request,
            Beginning::Part => return None,
            Beginning::Other => return HAND_OVER,
        };
        let (Some((metrics, answered)), Some(&(_, call, _))) =
            (self.calls.get_mut(request.call), CALLS.get(request.call))
        else {
            return HAND_OVER;
        };
        let in_flight = Counted::new(&self.service.metrics().in_flight);
        let minted = self.service.mint_at_once(&self.caller, &mut self.recent, call, request.name);
        let Some(minted) = minted else {
            self.may_wait = true;
            return HAND_OVER;
        };
        let date = match self.date {
            Some((until, date)) if since < until => date,
            _ => self.date.insert(self.service.date(since)).1,
        };
        if request.call == NATIVE_PLACE {
            let media = request.wanted.unwrap_or(Media::Json);
            let body = ids::in_one_piece(request.name, minted, media, false);
            answer(output, media.content_type(), date.as_ref(), &body);
        } else {
            let Ok(Some(id)) = leaf::number(minted) else { return HAND_OVER };
            let content_type = match request.wanted {
                Some(Media::Json) => spring::JSON,
                _ => leaf::CONTENT_TYPE,
            };
            answer(output, content_type, date.as_ref(), id.as_bytes());
        }
        drop(in_flight);
        metrics.answered();
        *answered += 1;
        self.answered = true;
        tracing::debug!(method = "GET", name = request.name, status = 200, "request");
        Some((request.bytes, Next::Read))
    }

    fn took(&mut self, time: Duration) {
        for (metrics, answered) in &mut self.calls {
            (0..std::mem::take(answered)).for_each(|_| metrics.took(time));
        }
    }
}

/// The answer as the router gives it.
fn answer(output: &mut Vec<u8>, content_type: &str, date: Option<&DateText>, body: &[u8]) {
    output.extend_from_slice(b"HTTP/1.1 200 OK\r\ncontent-type: ");
    output.extend_from_slice(content_type.as_bytes());
    output.extend_from_slice(b"\r\ncache-control: no-store\r\n");
    if let Some(date) = date {
        output.extend_from_slice(b"date: ");
        output.extend_from_slice(date);
        output.extend_from_slice(b"\r\n");
    }
    output.extend_from_slice(b"content-length: ");
    output.extend_from_slice(itoa::Buffer::new().format(body.len()).as_bytes());
    output.extend_from_slice(b"\r\n\r\n");
    output.extend_from_slice(body);
}

/// Reads a request line and its headers.
fn front<'a>(bytes: &'a [u8], limits: &Limits, at_home: bool) -> Beginning<'a> {
    match plain(bytes, limits, at_home) {
        Some(request) => request.map_or(Beginning::Part, Beginning::Plain),
        None => Beginning::Other,
    }
}

/// The outer `None`: it is not plain. The inner `None`: it is not complete yet.
fn plain<'a>(bytes: &'a [u8], limits: &Limits, at_home: bool) -> Option<Option<Request<'a>>> {
    const METHOD: &[u8] = b"GET ";
    if HTTP2.starts_with(bytes) && bytes.len() < HTTP2.len() {
        // Whoever is handed the connection has to know which version it is.
        return Some(None);
    }
    let short = bytes.len().min(METHOD.len());
    if bytes.get(..short) != METHOD.get(..short) {
        return None;
    }
    let target = bytes.get(METHOD.len()..).unwrap_or_default();
    let begins = |call: &str| {
        let short = target.len().min(call.len());
        target.get(..short) == call.as_bytes().get(..short)
    };
    let call = CALLS.iter().position(|(call, ..)| begins(call))?;
    let within = bytes.get(..LONGEST).unwrap_or(bytes);
    // A line that ends with only a line feed is left to hyper.
    let is_bare =
        |at: usize| within.get(at) == Some(&b'\n') && (at == 0 || within.get(at - 1) != Some(&b'\r'));
    if (0..within.len()).any(is_bare) {
        return None;
    }
    let Some(head) = within.windows(4).position(|four| four == b"\r\n\r\n") else {
        return (bytes.len() < LONGEST).then_some(None);
    };
    // Everything is ASCII that can be seen, or a space: so no line is continued, and nothing is hidden in one.
    let text = std::str::from_utf8(bytes.get(..head)?).ok()?;
    let mut lines = text.split("\r\n");
    let path = lines.next()?.strip_prefix("GET ")?.strip_suffix(" HTTP/1.1")?;
    let name = path.strip_prefix(CALLS.get(call)?.0)?;
    // A dot begins an extension on Leaf's calls.
    let dotted = |byte: u8| byte == b'.' && call == NATIVE_PLACE;
    let literal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_~:".contains(&byte) || dotted(byte);
    if name.is_empty() || !name.bytes().all(literal) || path.len() > limits.uri_bytes {
        return None;
    }
    let (mut hosts, mut count, mut accept) = (0, 0, None);
    for line in lines {
        let (header, value) = line.split_once(':')?;
        if !value.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return None;
        }
        let is = |known: &&str| header.eq_ignore_ascii_case(known);
        if is(&"host") {
            hosts += 1;
            let host = value.trim();
            if !spring::is_host(host.as_bytes()) || (at_home && !site::is_home(host, &[])) {
                return None;
            }
        }
        count += 1;
        if is(&"accept") {
            // Weighing several types is left to the other code, except for what Spring's clients send.
            let wanted = match value.trim() {
                "*/*" | "text/plain, application/json, application/*+json, */*" => None,
                "application/json" | "application/json, application/*+json" => Some(Media::Json),
                "text/plain" => Some(Media::Text),
                _ => return None,
            };
            if accept.replace(wanted).is_some() {
                return None;
            }
            continue;
        }
        let stays = is(&"connection") && value.trim().eq_ignore_ascii_case("keep-alive");
        if !stays && !PASSED_OVER.iter().any(is) {
            return None;
        }
    }
    let bytes = head + 4;
    let small = bytes <= limits.header_bytes && count <= limits.header_count;
    let wanted = accept.flatten();
    (hosts == 1 && small).then_some(Some(Request { call, name, wanted, bytes }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Beginning<'_> {
        front(text.as_bytes(), &Limits::default(), true)
    }

    #[test]
    fn a_plain_request_is_read_at_whatever_byte_it_is_cut() {
        let text = "GET /api/segment/get/a-1 HTTP/1.1\r\nHost: x\r\nUser-Agent: wrk\r\nConnection: Keep-Alive\r\n\r\n";
        let whole = Beginning::Plain(Request { call: 2, name: "a-1", wanted: None, bytes: text.len() });
        assert_eq!(read(text), whole);
        assert_eq!(read(&format!("{text}GET /")), whole);
        for cut in 0..text.len() {
            assert_eq!(read(&text[..cut]), Beginning::Part, "{cut}");
        }
        assert_eq!(
            [read("P"), read("PR"), read("PO"), read("PRI")].map(|front| front == Beginning::Part),
            [true, true, false, false]
        );
    }

    #[test]
    fn whatever_is_not_plain_is_left_to_others() {
        let of = |line: &str, headers: &str| format!("{line}\r\nhost: x\r\n{headers}\r\n");
        let plain = "GET /api/snowflake/get/a HTTP/1.1";
        assert!(matches!(read(&of(plain, "")), Beginning::Plain(_)));
        for line in [
            "GET /api/snowflake/get/a HTTP/1.0",
            "GET /api/snowflake/get/a  HTTP/1.1",
            "GET /api/snowflake/get/ HTTP/1.1",
            "GET /api/snowflake/get/a%62 HTTP/1.1",
            "GET /api/snowflake/get/a?b HTTP/1.1",
            "GET /api/snowflake/get/a/b HTTP/1.1",
            "GET /api/snowflake/get/a.json HTTP/1.1",
            "GET /api/snowflake/get/a;b HTTP/1.1",
            "GET /api/snowflake/get/a/ HTTP/1.1",
            "GET //api/snowflake/get/a HTTP/1.1",
            "GET /api/snowflake/set/a HTTP/1.1",
            "GET  /api/snowflake/get/a HTTP/1.1",
            "get /api/snowflake/get/a HTTP/1.1",
            "HEAD /api/snowflake/get/a HTTP/1.1",
            "POST /api/snowflake/get/a HTTP/1.1",
            "PRI * HTTP/2.0",
        ] {
            assert_eq!(read(&of(line, "")), Beginning::Other, "{line}");
        }
        for header in [
            "connection: close\r\n",
            "connection: upgrade\r\n",
            "authorization: Bearer x\r\n",
            "content-length: 0\r\n",
            "content-length: 5\r\n",
            "transfer-encoding: chunked\r\n",
            "expect: 100-continue\r\n",
            "upgrade: h2c\r\n",
            "accept: application/octet-stream\r\n",
            "accept: text/plain, */*\r\n",
            "accept: text/plain\r\naccept: */*\r\n",
            "referer : a\r\n",
            "referer: a\r\n b\r\n",
            "referer: a\u{1}\r\n",
            "referer: a\nb: c\r\n",
            "referer: \u{fc}\r\n",
            "referer\r\n",
            ": a\r\n",
        ] {
            assert_eq!(read(&of(plain, header)), Beginning::Other, "{header:?}");
        }
        assert_eq!(read(&format!("{plain}\r\n\r\n")), Beginning::Other, "no host");
        assert_eq!(read(&of(plain, "host: y\r\n")), Beginning::Other, "two hosts");
        assert_eq!(read(&format!("{plain}\r\nhost: a b\r\n\r\n")), Beginning::Other, "no host's name");
        assert!(
            matches!(read(&of("GET /v1/mint/a.json HTTP/1.1", "")), Beginning::Plain(_)),
            "a name may have dots"
        );
        assert_eq!(read(&of(plain, &format!("referer: {}\r\n", "a".repeat(LONGEST)))), Beginning::Other);
        let crowd = "referer: a\r\n".repeat(Limits::default().header_count);
        assert_eq!(read(&of(plain, &crowd)), Beginning::Other);
    }

    /// The other code looks whether a web page of another site has sent them.
    #[test]
    fn what_a_web_page_may_have_sent_is_left_to_others() {
        let of = |headers: &str| format!("GET /v1/mint/a HTTP/1.1\r\n{headers}\r\n");
        for headers in [
            "host: localhost\r\norigin: http://localhost\r\n",
            "host: localhost\r\nsec-fetch-site: cross-site\r\n",
            "host: localhost\r\nsec-fetch-mode: no-cors\r\n",
            "host: evil.example\r\n",
        ] {
            assert_eq!(read(&of(headers)), Beginning::Other, "{headers}");
        }
        let elsewhere = of("host: ids.example.com\r\n");
        let front = front(elsewhere.as_bytes(), &Limits::default(), false);
        assert!(matches!(front, Beginning::Plain(_)), "other machines reach that listener");
    }
}
