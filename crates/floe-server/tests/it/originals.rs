//! Every request that was sent to the real Leaf and tinyid, sent to floe byte for byte, and the answers compared: how many,
//! status, media type, body, and whether the connection stays. `tests/data/README.md` says where they come from.
//!
//! IDs and times vary from run to run: they are checked to be what they should be, and only then put aside.

use std::collections::{BTreeSet, HashMap};

use floe::Name;
use floe::ledger::Key;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::harness::{PATIENCE, Server, directory, file};

const RECORDED: &str = include_str!("../data/leaf-tinyid.jsonl");

/// The originals' state, as `tests/data/README.md` tells it.
const CONFIG: &str = r#"
[[name]]
name = "orders"
kind = "segment"
[[name]]
name = "leaf-segment-test"
kind = "segment"
[[name]]
name = "a.b"
kind = "segment"
[[name]]
name = "a+b"
kind = "segment"
[[name]]
name = "a%b"
kind = "segment"
[[name]]
name = "a;b"
kind = "segment"
[[name]]
name = "用户"
kind = "segment"
[[name]]
name = "load"
kind = "segment"
[[name]]
name = "test"
kind = "segment"
min_step = 100_000
[[name]]
name = "test_odd"
kind = "segment"
increment = 2
offset = 1
min_step = 50_000
[[name]]
name = "*"
kind = "snowflake"
layout = "leaf"
[[tiny_id_token]]
token = "0f673adf80504e2eaa552f5d791b644c"
biz_type = "test"
[[tiny_id_token]]
token = "0f673adf80504e2eaa552f5d791b644c"
biz_type = "test_odd"
[[tiny_id_token]]
token = "0f673adf80504e2eaa552f5d791b644c"
biz_type = "ghost"
"#;

const HEAD: &str = "HEAD mints nothing: nobody would see the ID";
const DOT: &str = "a name with a dot is used if it exists";
const LINE: &str = "a request line of neither HTTP/1.0 nor 1.1 is 400, and closes";
const FRAGMENT: &str = "what stands behind # is no part of a request, and is left out";
const OWN: &str = "a path that is not Leaf's or tinyid's is floe's own";
const PAGE: &str = "floe's own page, with a few of Leaf's columns";
const ROOT: &str = "tinyid's calls are served without `/tinyid`, too";
const LENGTH: &str = "every answer has a length, so HTTP/1.0 can keep the connection that it asks to keep";

/// What differs on purpose, in what (status, type, body, connection, or the number of answers), and why. What is not here
/// has to agree, and what is here has to differ, in just that.
const ON_PURPOSE: &[(&str, &str, &str, &str)] = &[
    ("leaf:key", "seg a%2Eb", "status type body connection", DOT),
    ("leaf:query", "#frag", "status type body connection", FRAGMENT),
    ("leaf:method", "snow HEAD", "status type", HEAD),
    ("leaf:method", "HEAD unknown key", "status type connection", HEAD),
    ("leaf:proto", "1.2", "status", LINE),
    ("leaf:proto", "2.0 line", "status", LINE),
    ("leaf:proto", "0.9", "answers", LINE),
    ("leaf:proto", "two spaces", "status type body connection", LINE),
    ("leaf:pipe", "pipeline GET,404,GET", "type body", OWN),
    ("leaf:pages", "GET /cache", "body", PAGE),
    ("leaf:pages", "GET /%63ache", "body", PAGE),
    ("leaf:pages", "POST /cache", "body", PAGE),
    ("leaf:pages", "GET /db.json", "body", PAGE),
    ("leaf:pages", "PUT /db", "body", PAGE),
    ("leaf:pages", "GET /", "status type body", OWN),
    ("leaf:pages", "GET /favicon.ico", "status type body", OWN),
    ("leaf:pages", "GET /info", "type body", OWN),
    ("leaf:pages", "GET /index.html", "type body", OWN),
    ("leaf:pages", "GET /nix", "type body", OWN),
    ("leaf:pages", "POST /nix", "type body", OWN),
    ("tiny:nextId", "HEAD", "status type", HEAD),
    ("tiny:nextSegmentId", "HEAD", "status type", HEAD),
    ("tiny:nextSegmentIdSimple", "HEAD", "status type", HEAD),
    ("tiny:nextId", "no context", "status type body", ROOT),
    ("tiny:nextSegmentId", "no context", "status type body", ROOT),
    ("tiny:nextId", "1.0 keep-alive", "connection", LENGTH),
    ("tiny:nextSegmentId", "1.0 keep-alive", "connection", LENGTH),
    ("tiny:other", "GET /tinyid/error", "status body connection", OWN),
    ("tiny:other", "GET /tinyid/favicon.ico", "status type body", OWN),
];

/// One answer.
#[derive(Debug)]
struct Answer {
    status: u64,
    media: String,
    body: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn every_recorded_request_is_answered_as_by_the_originals_or_differs_on_purpose() {
    let (mut config, directory) = (file(CONFIG), directory());
    config.data_dir = directory.path().join("data");
    let ledger = config.clone();
    let server = Server::start(config, directory).await;
    // As `floe marks raise orders --to 50000001` does.
    ledger.open_ledger().unwrap().raise(&Key::name(&Name::new("orders").unwrap()), 50_000_000).unwrap();
    let mut ids = Ids::default();
    let mut wrong = Vec::new();
    let mut differed = BTreeSet::new();
    for line in RECORDED.lines() {
        let recorded: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| recorded[key].as_str().unwrap();
        let (group, label, request) = (text("group"), text("label"), text("request"));
        // Shown where the test hangs or panics.
        println!("{group}, {label}");
        let expected = recorded["answers"].as_array().unwrap();
        let (answers, open) = send(&server, request, expected.len()).await;
        let mut found = Vec::new();
        let said = expected.iter().filter(|answer| answer["status"].is_u64()).count();
        if answers.len() != said {
            found.push("answers");
        }
        let mut note = |what, differs: bool| {
            if differs && !found.contains(&what) {
                found.push(what);
            }
        };
        for (answer, expected) in
            answers.iter().zip(expected.iter().filter(|answer| answer["status"].is_u64()))
        {
            let media = expected["headers"]["content-type"].as_str().unwrap_or_default();
            note("status", answer.status != expected["status"].as_u64().unwrap());
            note("type", answer.media != media);
            let (path, theirs) = (path_of(request), expected["body"].as_str().unwrap());
            note("body", ids.shape(&answer.body, path, true) != ids.shape(theirs, path, false));
        }
        note("connection", said == answers.len() && open != (text("connection") == "open"));
        let found = found.join(" ");
        let on_purpose = ON_PURPOSE.iter().find(|listed| (listed.0, listed.1) == (group, label));
        match on_purpose {
            Some((_, _, listed, _)) if *listed == found => drop(differed.insert((group.to_owned(), label.to_owned()))),
            None if found.is_empty() => {}
            _ => wrong.push(format!(
                "{group}, {label}: differs in {found:?} and should in {:?}\n  {request:?}\n  floe: {answers:?}, open: {open}\n  original: {}\n",
                on_purpose.map(|listed| listed.2),
                recorded["answers"]
            )),
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), RECORDED.lines().count(), wrong.join(""));
    assert_eq!(differed.len(), ON_PURPOSE.len(), "what is listed was recorded, and listed once");
    server.stop().await.unwrap();
}

/// The page that users read has every reason of the table.
#[test]
fn what_differs_on_purpose_is_told_to_users() {
    let page = include_str!("../../../../docs/clients.md");
    for (_, _, _, reason) in ON_PURPOSE {
        assert!(page.contains(reason), "docs/clients.md does not say: {reason}");
    }
}

/// Sends a request as it is, reads so many answers, and finds out whether another request is answered behind them.
async fn send(server: &Server, request: &str, count: usize) -> (Vec<Answer>, bool) {
    let request = request.replace("{H}", &server.address.to_string());
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut read = Vec::new();
    let mut answers = Vec::new();
    let is_head = request.starts_with("HEAD ");
    while answers.len() < count {
        let Some(answer) = next(&mut stream, &mut read, is_head).await else { break };
        answers.push(answer);
    }
    // A connection that is closed may take this, and does not answer it.
    let _ = stream.write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let open = next(&mut stream, &mut read, false).await.is_some_and(|answer| answer.body == "ok\n");
    (answers, open)
}

/// The next answer; `None` where the connection ends first.
async fn next(stream: &mut TcpStream, read: &mut Vec<u8>, is_head: bool) -> Option<Answer> {
    let head = loop {
        if let Some(at) = read.windows(4).position(|four| four == b"\r\n\r\n") {
            break String::from_utf8(read.drain(..at + 4).collect()).unwrap();
        }
        more(stream, read).await?;
    };
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: HashMap<String, &str> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim()))
        .collect();
    if headers.contains_key("cache-control") {
        let date = headers["date"];
        assert!(date.len() == 29 && date.ends_with(" GMT"), "{head}");
    }
    let length: usize = match (headers.get("content-length"), headers.get("transfer-encoding")) {
        _ if is_head || status < 200 => 0,
        (Some(length), None) => length.parse().unwrap(),
        (None, Some(_)) => {
            // No chunk of this server's has the end of all in it.
            while !read.ends_with(b"0\r\n\r\n") {
                more(stream, read).await?;
            }
            let body = unchunked(&std::mem::take(read));
            let media = headers.get("content-type").copied().unwrap_or_default().to_owned();
            return Some(Answer { status, media, body });
        }
        other => panic!("where does it end? {other:?} {head}"),
    };
    while read.len() < length {
        more(stream, read).await?;
    }
    let body = String::from_utf8(read.drain(..length).collect()).unwrap();
    let media = headers.get("content-type").copied().unwrap_or_default().to_owned();
    Some(Answer { status, media, body })
}

async fn more(stream: &mut TcpStream, read: &mut Vec<u8>) -> Option<()> {
    let count = timeout(PATIENCE, stream.read_buf(read)).await.expect("it answers or closes");
    count.ok().filter(|count| *count > 0).map(drop)
}

fn unchunked(mut rest: &[u8]) -> String {
    let mut body = Vec::new();
    loop {
        let line = rest.windows(2).position(|two| two == b"\r\n").unwrap();
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        body.extend_from_slice(&rest[line + 2..line + 2 + size]);
        rest = &rest[line + 4 + size..];
        if size == 0 {
            return String::from_utf8(body).unwrap();
        }
    }
}

fn path_of(request: &str) -> &str {
    request.split_whitespace().nth(1).unwrap()
}

/// What floe handed out, so that every ID is larger than the one before it.
#[derive(Default)]
struct Ids(HashMap<String, i64>);

impl Ids {
    /// A body with what varies put aside.
    fn shape(&mut self, body: &str, path: &str, ours: bool) -> String {
        if body.contains("<h1>Whitelabel Error Page</h1>") {
            let (before, rest) = body.split_once("'created'>").unwrap();
            let (created, after) = rest.split_once("</div>").unwrap();
            assert!(created.contains(" UTC 20") && created.len() == 28, "{created}");
            return format!("{before}{after}");
        }
        // The recorded ones are cut.
        let cut = !ours && body.contains("… (");
        let whole = body.split("… (").next().unwrap();
        let numbers = |text: &str| -> Option<Vec<i64>> {
            let text = if cut { text.rsplit_once(',')?.0 } else { text };
            text.split(',').map(|number| number.parse().ok()).collect()
        };
        if path.contains("nextSegmentIdSimple")
            && let Some(parts) = numbers(whole)
        {
            return self.segment(&parts, path, ours);
        }
        if let Some(data) = whole.strip_prefix("{\"data\":[") {
            let (data, rest) = if cut {
                (data, "],\"code\":200,\"message\":\"\"}")
            } else {
                data.split_at(data.find(']').unwrap())
            };
            let count =
                if data.is_empty() { 0 } else { self.numbers(&numbers(data).unwrap(), path, ours, cut) };
            return format!("{count} numbers{rest}");
        }
        if let Some(ids) = numbers(whole) {
            let long = if path.contains("/api/") { whole.len() } else { 0 };
            return format!("{} numbers {long} long", self.numbers(&ids, path, ours, cut));
        }
        let Ok(Value::Object(mut object)) = serde_json::from_str(body) else { return body.to_owned() };
        // In the order in which they come.
        let keys: Vec<&str> = body
            .split('"')
            .zip(body.split('"').skip(1))
            .filter(|(_, after)| after.starts_with(':'))
            .map(|(key, _)| key)
            .collect();
        if let Some(time) = object.get_mut("timestamp").filter(|time| time.is_number()) {
            assert!(time.as_i64().unwrap() > 1_700_000_000_000, "{body}");
            *time = Value::Null;
        }
        if let Some(data) = object.get_mut("data").filter(|data| data.is_object()) {
            let parts: Vec<i64> = ["currentId", "loadingId", "maxId", "delta", "remainder"]
                .map(|key| data[key].as_i64().unwrap())
                .to_vec();
            *data = Value::String(self.segment(&parts, path, ours));
        }
        format!("{keys:?} {object:?}")
    }

    /// How many they are.
    fn numbers(&mut self, numbers: &[i64], path: &str, ours: bool, cut: bool) -> usize {
        assert!(numbers.is_sorted_by(|a, b| a < b), "{path}: {numbers:?}");
        if ours {
            self.beyond(numbers[0] - 1, *numbers.last().unwrap(), path);
        }
        // The only size of which so many were recorded that they were cut.
        if cut { 100_000 } else { numbers.len() }
    }

    /// Checks a range as tinyid's client takes it.
    fn segment(&mut self, parts: &[i64], path: &str, ours: bool) -> String {
        let &[current, loading, max, delta, remainder] = parts else { panic!("{path}: {parts:?}") };
        assert_eq!(loading, current + (max - current) * 20 / 100, "{path}: {parts:?}");
        assert_eq!(max % delta, remainder, "{path}: {parts:?}");
        let numbers = (current + 1..=max).filter(|number| number % delta == remainder).count();
        if ours {
            self.beyond(current, max, path);
        }
        format!("{numbers} numbers in steps of {delta}, {remainder} left")
    }

    /// Nothing up to `before` is handed out by what comes now, and everything up to `last` has been from now on.
    fn beyond(&mut self, before: i64, last: i64, path: &str) {
        let key = match path {
            path if path.contains("snowflake") => "snowflake",
            path if path.contains("/api/") => path
                .rsplit('/')
                .find(|part| !part.is_empty())
                .unwrap()
                .split(['.', ';', '?', '#'])
                .next()
                .unwrap(),
            path if path.contains("test_odd") => "test_odd",
            _ => "test",
        };
        let past = self.0.entry(key.to_owned()).or_default();
        assert!(before >= *past && last > before, "{path}: {before} to {last} after {past}");
        *past = last;
    }
}
