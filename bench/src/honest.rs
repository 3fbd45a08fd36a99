//! Honest clients: what they get while a server is attacked. There is one on each wire; each asks ten times a second.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::Result;
use crate::http2;
use crate::load::{Connection, Wire};
use crate::measure::now;
use crate::tickets;

/// How long a client waits after each answer.
pub(crate) const PAUSE: Duration = Duration::from_millis(100);

/// How soon a client connects again after it was closed, refused or not let in.
const AGAIN: Duration = Duration::from_millis(10);

/// The server that they ask.
#[derive(Clone)]
pub(crate) struct Target {
    /// The port of every protocol but MySQL's.
    pub(crate) port: u16,
    pub(crate) mysql: u16,
    /// What a client has to show, if the server asks for it.
    pub(crate) token: Option<String>,
}

/// A connected client: each call gets one ID.
type Ask = Box<dyn FnMut() -> Result<()>>;

/// A wire's name, how a client connects, and whether it can show a token. memcached's and Thrift's clients need a
/// certificate instead, and MySQL's have to prove it.
type Kept = (&'static str, fn(&Target) -> Result<Ask>, bool);

const WIRES: [Kept; 7] = [
    ("HTTP", |target| wire(target, "http://{}/v1/mint/tickets"), true),
    // With a number, hyper answers.
    ("HTTP n=1", |target| wire(target, "http://{}/v1/mint/tickets?n=1"), true),
    ("Redis", |target| wire(target, "redis://{}/tickets"), true),
    ("memcached", |target| wire(target, "memcached://{}/snowflake"), false),
    ("Thrift", |target| wire(target, "thrift://{}"), false),
    ("MySQL", mysql, false),
    ("gRPC", grpc, true),
];

/// A running client.
pub(crate) struct Client {
    pub(crate) wire: &'static str,
    answers: Arc<AtomicU64>,
    thread: thread::JoinHandle<Duration>,
}

impl Client {
    /// Starts one on each wire that can ask this server.
    pub(crate) fn start_all(target: &Target, stop: &Arc<AtomicBool>) -> Vec<Self> {
        let asks = |(_, _, shows): &Kept| *shows || target.token.is_none();
        WIRES
            .into_iter()
            .filter(asks)
            .map(|kept| Self::start(kept, target.clone(), Arc::clone(stop)))
            .collect()
    }

    fn start((wire, connect, _): Kept, target: Target, stop: Arc<AtomicBool>) -> Self {
        let answers = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&answers);
        let thread = thread::spawn(move || {
            let (mut last, mut longest) = (now(), Duration::ZERO);
            while !stop.load(Ordering::Relaxed) {
                if let Ok(mut ask) = connect(&target) {
                    while !stop.load(Ordering::Relaxed) && ask().is_ok() {
                        counted.fetch_add(1, Ordering::Relaxed);
                        longest = longest.max(last.elapsed());
                        last = now();
                        thread::park_timeout(PAUSE);
                    }
                }
                thread::park_timeout(AGAIN);
            }
            longest.max(last.elapsed())
        });
        Self { wire, answers, thread }
    }

    /// How often it has got an answer.
    pub(crate) fn answers(&self) -> u64 {
        self.answers.load(Ordering::Relaxed)
    }

    /// How often it got an answer, and its longest time without one, once it was told to stop.
    pub(crate) fn end(self) -> Result<(u64, Duration)> {
        let wait = self.thread.join().map_err(|_| "an honest client panicked")?;
        Ok((self.answers.load(Ordering::Relaxed), wait))
    }
}

fn wire(target: &Target, url: &str) -> Result<Ask> {
    let url = url.replace("{}", &format!("127.0.0.1:{}", target.port));
    let (host, mut wire) = Wire::of(&url)?;
    let mut connection = Connection::open(host)?;
    match (&mut wire, &target.token) {
        (Wire::Http(request), Some(token)) => {
            *request = request.replacen("\r\n", &format!("\r\nAuthorization: Bearer {token}\r\n"), 1);
        }
        (Wire::Redis(_), Some(token)) => connection.log_in(token)?,
        _ => {}
    }
    Ok(Box::new(move || connection.call(&wire).map(drop)))
}

fn mysql(target: &Target) -> Result<Ask> {
    let mut client = tickets::Client::connect(target.mysql)?;
    Ok(Box::new(move || {
        client.ask(true)?;
        client.minted(true)?;
        client.ticket().map(drop)
    }))
}

/// `Mint`, one call after the other on one connection. Their answers are so short that the connection's first window
/// lasts for thousands.
fn grpc(target: &Target) -> Result<Ask> {
    let mut stream = TcpStream::connect(("127.0.0.1", target.port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.write_all(&http2::preface(65_535))?;
    let (token, mut number) = (target.token.clone(), 1);
    Ok(Box::new(move || {
        stream.write_all(&http2::call(number, "/floe.v1.Ids/Mint", token.as_deref(), b"\x0a\x07tickets"))?;
        number += 2;
        grpc_answer(&mut stream)
    }))
}

/// Reads to the end of an answer, which has to have one ID.
fn grpc_answer(stream: &mut TcpStream) -> Result<()> {
    let mut minted = false;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head)?;
        let [a, b, c, kind, flags, ..] = head;
        let mut payload = vec![0; usize::try_from(u32::from_be_bytes([0, a, b, c]))?];
        stream.read_exact(&mut payload)?;
        match kind {
            // A message of ten bytes: a field with one number of eight.
            http2::DATA => minted |= payload.starts_with(&[0, 0, 0, 0, 10, 0x0a, 8]),
            http2::HEADERS if flags & http2::END_STREAM != 0 => break,
            http2::SETTINGS | http2::PING if flags & http2::ACK == 0 => {
                let answer: &[u8] = if kind == http2::PING { &payload } else { &[] };
                stream.write_all(&http2::frame(kind, http2::ACK, 0, answer))?;
            }
            http2::RESET | http2::GOAWAY => return Err(format!("a frame of type {kind} came").into()),
            _ => {}
        }
    }
    if minted { Ok(()) } else { Err("an answer without an ID".into()) }
}
