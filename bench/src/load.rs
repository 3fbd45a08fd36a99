//! Load on a running server: this many mints a second, whether or not the server keeps up (an open loop).
//!
//! Every request has a due time, and its latency counts from then. So if a server stalls for a second, ten thousand
//! requests are late; a client that waits would not have sent them, and would not show the stall.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::Result;
use crate::measure::now;

/// The parameters of the load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) rate: u32,
    pub(crate) seconds: u32,
    pub(crate) connections: usize,
}

impl Default for Load {
    fn default() -> Self {
        Self { rate: 10_000, seconds: 60, connections: 32 }
    }
}

/// The largest latency for 99 of 100 requests, in microseconds (Twitter's requirement for its service).
const P99_MICROS: u64 = 2_000;

struct Answer {
    id: u128,
    /// From the due time.
    micros: u64,
    /// From the time of sending: the server's own time.
    served: u64,
}

impl Load {
    /// Puts the load on `url`: one that answers a GET with one ID a line, `redis://host:port/name`,
    /// `memcached://host:port/name` or `thrift://host:port`. Prints latencies and duplicates. Returns whether no ID
    /// occurred twice, no request failed, and the 99th percentile (from the due times) was in time.
    ///
    /// # Errors
    /// An invalid URL, or a server that does not answer.
    pub(crate) fn run(self, url: &str) -> Result<bool> {
        let (host, wire) = Wire::of(url)?;
        let total = u64::from(self.rate) * u64::from(self.seconds);
        let taken = Arc::new(AtomicU64::new(0));
        // Gives all connections a moment to open.
        let start = now() + Duration::from_millis(200);
        let mut clients = Vec::new();
        for _ in 0..self.connections {
            let mut connection = Connection::open(host)?;
            let (wire, taken) = (wire.clone(), Arc::clone(&taken));
            let interval = Duration::from_secs(1) / self.rate;
            clients.push(thread::spawn(move || -> Result<Vec<Answer>> {
                let mut answers = Vec::new();
                loop {
                    // A free connection takes the next request, so one that waits for an answer delays none.
                    let number = taken.fetch_add(1, Ordering::Relaxed);
                    if number >= total {
                        return Ok(answers);
                    }
                    let due = start + interval * u32::try_from(number)?;
                    wait_until(due);
                    let sent = now();
                    let id = connection.call(&wire)?;
                    let end = now();
                    let micros = |from: Instant| u64::try_from((end - from).as_micros());
                    answers.push(Answer { id, micros: micros(due)?, served: micros(sent)? });
                }
            }));
        }
        let (mut answers, mut failures) = (Vec::new(), Vec::new());
        for client in clients {
            match client.join().map_err(|_| "a thread of the benchmark panicked")? {
                Ok(more) => answers.extend(more),
                Err(error) => failures.push(error.to_string()),
            }
        }
        let elapsed = now() - start;
        Ok(report(answers, &failures, total, elapsed))
    }
}

fn report(answers: Vec<Answer>, failures: &[String], total: u64, elapsed: Duration) -> bool {
    let due = Percentiles::of(answers.iter().map(|answer| answer.micros));
    let served = Percentiles::of(answers.iter().map(|answer| answer.served));
    let mut ids: Vec<_> = answers.into_iter().map(|answer| answer.id).collect();
    ids.sort_unstable();
    let answered = ids.len();
    ids.dedup();
    let repeated = answered - ids.len();
    println!("{answered} of {total} mints in {:.1} s, {repeated} IDs twice", elapsed.as_secs_f64());
    println!("from when each was due:  {due}");
    println!("from when each was sent: {served}");
    for failure in failures {
        println!("a connection failed: {failure}");
    }
    repeated == 0 && failures.is_empty() && due.p99 <= P99_MICROS
}

/// Latencies in microseconds.
struct Percentiles {
    p50: u64,
    p99: u64,
    p999: u64,
    max: u64,
}

impl Percentiles {
    fn of(micros: impl Iterator<Item = u64>) -> Self {
        let mut micros: Vec<_> = micros.collect();
        micros.sort_unstable();
        let at = |per_mille: usize| {
            micros.get(micros.len().saturating_sub(1) * per_mille / 1_000).copied().unwrap_or(0)
        };
        Self { p50: at(500), p99: at(990), p999: at(999), max: at(1_000) }
    }
}

impl std::fmt::Display for Percentiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { p50, p99, p999, max } = self;
        write!(f, "p50 {p50} us   p99 {p99} us   p999 {p999} us   max {max} us")
    }
}

/// Sleeps to within a timer's slack.
fn wait_until(due: Instant) {
    loop {
        let now = now();
        if now >= due {
            return;
        }
        thread::park_timeout(due - now);
    }
}

/// The request for each mint, and how to read its answer.
#[derive(Clone)]
pub(crate) enum Wire {
    Http(String),
    Redis(String),
    Memcached(String),
    Thrift,
}

/// `get_id("bench")` of Twitter's Snowflake: a frame of 31 bytes, a strict header, sequence id 1, one string.
pub(crate) const GET_ID: &[u8] =
    b"\0\0\0\x1f\x80\x01\0\x01\0\0\0\x06get_id\0\0\0\x01\x0b\0\x01\0\0\0\x05bench\0";

impl Wire {
    /// The host and port of a URL, and its wire.
    pub(crate) fn of(url: &str) -> Result<(&str, Self)> {
        let (scheme, rest) =
            url.split_once("://").ok_or("a URL begins with http://, redis://, memcached:// or thrift://")?;
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let wire = match scheme {
            "http" => {
                Self::Http(format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nAccept: text/plain\r\n\r\n"))
            }
            "redis" => Self::Redis(format!("*2\r\n$4\r\nINCR\r\n${}\r\n{path}\r\n", path.len())),
            "memcached" => Self::Memcached(format!("get {path}\r\n")),
            "thrift" => Self::Thrift,
            other => {
                let known = "http://, redis://, memcached:// and thrift://";
                return Err(format!("{other}:// is none of {known}").into());
            }
        };
        Ok((host, wire))
    }
}

/// A connection that stays open.
pub(crate) struct Connection {
    stream: BufReader<TcpStream>,
    line: String,
    body: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(host: &str) -> Result<Self> {
        let stream = TcpStream::connect(host).map_err(|error| format!("{host}: {error}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        Ok(Self { stream: BufReader::new(stream), line: String::new(), body: Vec::new() })
    }

    /// Shows a token over Redis' protocol.
    pub(crate) fn log_in(&mut self, token: &str) -> Result<()> {
        self.stream.get_mut().write_all(format!("AUTH {token}\r\n").as_bytes())?;
        match self.read_line()? {
            "+OK" => Ok(()),
            other => Err(format!("the server says {other}").into()),
        }
    }

    /// Sends a request, and reads all IDs from the answer: one, or as many as an HTTP path asks for.
    pub(crate) fn call_many(&mut self, wire: &Wire) -> Result<Vec<u128>> {
        let Wire::Http(request) = wire else { return Ok(vec![self.call(wire)?]) };
        self.stream.get_mut().write_all(request.as_bytes())?;
        let body = self.http_body()?;
        body.lines()
            .map(|line| line.parse().map_err(|error| format!("{line:?} is no ID: {error}").into()))
            .collect()
    }

    /// Sends a request, and reads the one ID from the answer.
    pub(crate) fn call(&mut self, wire: &Wire) -> Result<u128> {
        self.send(wire, 1)?;
        self.receive(wire)
    }

    /// Sends a request this many times at once. Each of them needs a [`receive`](Self::receive).
    pub(crate) fn send(&mut self, wire: &Wire, times: usize) -> Result<()> {
        let request = match wire {
            Wire::Http(request) | Wire::Redis(request) | Wire::Memcached(request) => request.as_bytes(),
            Wire::Thrift => GET_ID,
        };
        Ok(self.stream.get_mut().write_all(&request.repeat(times))?)
    }

    /// Reads the one ID from the next answer.
    pub(crate) fn receive(&mut self, wire: &Wire) -> Result<u128> {
        match wire {
            Wire::Http(_) => {
                let body = self.http_body()?;
                body.trim().parse().map_err(|error| format!("{body:?} is not one ID: {error}").into())
            }
            Wire::Redis(_) => {
                let line = self.read_line()?;
                let number = line.strip_prefix(':').ok_or_else(|| format!("no integer: {line}"))?;
                Ok(number.parse()?)
            }
            Wire::Memcached(_) => {
                let head = self.read_line()?;
                // The answer to `incr` is the number alone.
                if let Ok(number) = head.parse() {
                    return Ok(number);
                }
                if !head.starts_with("VALUE ") {
                    return Err(format!("no value: {head}").into());
                }
                let id = self.read_line()?.parse()?;
                match self.read_line()? {
                    "END" => Ok(id),
                    other => Err(format!("no end: {other}").into()),
                }
            }
            Wire::Thrift => self.thrift_answer(),
        }
    }

    /// A frame with a strict reply that ends with field 0, an i64, and the end of its struct.
    fn thrift_answer(&mut self) -> Result<u128> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        self.body.resize(usize::try_from(u32::from_be_bytes(length))?.min(1 << 16), 0);
        self.stream.read_exact(&mut self.body)?;
        match (self.body.get(..4), self.body.as_slice()) {
            (Some([0x80, 1, 0, 2]), [.., 10, 0, 0, a, b, c, d, e, f, g, h, 0]) => {
                Ok(u64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h]).into())
            }
            _ => Err(format!("no ID: {}", self.body.escape_ascii()).into()),
        }
    }

    fn http_body(&mut self) -> Result<String> {
        let mut length = None;
        let status = self.read_line()?.to_owned();
        while !self.read_line()?.is_empty() {
            if let Some((name, value)) = self.line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = Some(value.trim().parse::<usize>()?);
            }
        }
        let length = length.ok_or("an answer without content-length")?;
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body)?;
        let body = String::from_utf8_lossy(&self.body);
        if !status.contains(" 200") {
            return Err(format!("{status}: {body}").into());
        }
        Ok(body.into_owned())
    }

    fn read_line(&mut self) -> Result<&str> {
        self.line.clear();
        if self.stream.read_line(&mut self.line)? == 0 {
            return Err("the server closed the connection".into());
        }
        self.line.truncate(self.line.trim_end().len());
        Ok(&self.line)
    }
}
