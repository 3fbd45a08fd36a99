//! Hostile clients, also inside TLS. Thousands of connections request and do not read, send and do not end, or only
//! stay. This measures the server's memory, and the answers that honest clients get meanwhile.
//!
//! Each attack has its own server. The server's memory may grow by at most `limits.memory`. Each honest client has to get
//! answers all the time: over HTTP with hyper and without it, and over the protocols of Redis, memcached and Thrift.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use floe_testbed::{Certificates, Home};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::runtime::Builder;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::Result;
use crate::load::{Connection, Wire};
use crate::measure::now;
use crate::serve::{Server, resident_kib};

/// The default of `limits.memory`.
const MEMORY_KIB: u32 = 256 << 10;

/// How long each attack lasts.
const LASTS: Duration = Duration::from_secs(6);

/// The longest that an honest client may go without an answer.
const GAP: Duration = Duration::from_secs(6);

/// How often a hostile client checks that its connection still exists.
const BEAT: Duration = Duration::from_millis(500);

/// How many names there are for the attack on `inspect`.
const NAMES: usize = 9_900;

const CONFIG: &str = "
realm = 'attack'
default_names = { katsubushi = 'tickets', thrift = 'snowflake' }
[[name]]
name = 'tickets'
kind = 'segment'
[[name]]
name = 'texts'
kind = 'uuid7'
[[name]]
name = 'snowflake'
kind = 'snowflake'
layout = 'twitter'
[[name]]
name = 'n-*'
kind = 'snowflake'
layout = 'twitter'
";

/// The honest clients, one for each wire.
const HONEST: [&str; 5] = [
    "http://{}/v1/mint/tickets",
    "http://{}/v1/mint/tickets?n=1",
    "redis://{}/tickets",
    "memcached://{}/snowflake",
    "thrift://{}",
];

/// One sort of hostile client.
struct Attack {
    name: &'static str,
    connections: usize,
    /// From how many addresses they connect: 127.0.1.1 and on. Honest clients connect from 127.0.0.1.
    addresses: usize,
    mysql: bool,
    /// Whether they speak inside TLS.
    tls: bool,
    /// The bytes that each client sends.
    says: Vec<u8>,
    /// The bytes that each sends now and then, to notice whether it was closed.
    beat: &'static [u8],
    /// Whether all names are made before the attack.
    names: bool,
}

/// Runs all attacks and prints their results. Returns whether the server passed all of them.
///
/// # Errors
/// A server that does not start, or too few open files.
pub(crate) fn report(binary: &Path) -> Result<bool> {
    let mut sound = true;
    println!(
        "{:<42} {:>7} {:>9} {:>9} {:>9}   honest answers (longest wait, ms)",
        "attack", "clients", "before MB", "peak MB", "allowed"
    );
    for attack in attacks() {
        sound &= run(binary, &attack)?;
    }
    Ok(sound)
}

fn attacks() -> Vec<Attack> {
    let attack = |name, connections, addresses, says: Vec<u8>, beat: &'static [u8]| Attack {
        name,
        connections,
        addresses,
        mysql: false,
        tls: false,
        says,
        beat,
        names: false,
    };
    let ping: &[u8] = b"\0\0\x08\x06\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").into_bytes();
    let mint = |window: u32| grpc(window, "/floe.v1.Ids/Mint", b"\x0a\x07tickets\x10\xa0\x8d\x06");
    let fetch = |window: u32| grpc(window, "/katsubushi.Generator/FetchMulti", b"\x08\xa0\x8d\x06");
    let stream = grpc(65_535, "/floe.v1.Ids/MintStream", b"\x0a\x07tickets\x10\x80\x80\x80\x80\x08");
    vec![
        Attack { mysql: true, ..attack("MySQL: long name, many statements", 200, 16, mysql(), b"") },
        attack("gRPC: Mint, window 0", 100, 16, mint(0), ping),
        attack("gRPC: Mint, window 65535, unread", 300, 16, mint(65_535), ping),
        attack("gRPC: FetchMulti, window 0", 100, 16, fetch(0), ping),
        attack("gRPC: FetchMulti, window 1, unread", 300, 16, fetch(1), ping),
        attack("gRPC: MintStream, unread", 300, 16, stream, ping),
        Attack {
            names: true,
            ..attack(
                "inspect among 9,900 names, unread",
                300,
                16,
                get("/v1/inspect/1212092628029698048").repeat(20),
                b"",
            )
        },
        attack("HTTP: many IDs, unread", 3_000, 16, get("/v1/mint/tickets?n=100000").repeat(20), b""),
        attack("HTTP: large pages, unread", 1_000, 16, get("/openapi.json").repeat(20), b""),
        attack("HTTP: headers without an end", 6_000, 16, half_a_header(), b"y"),
        attack("Redis: MINT, unread", 6_000, 16, b"MINT tickets 100000\r\n".repeat(50), b""),
        attack("Redis: texts, unread", 3_000, 16, b"MINT texts 100000\r\n".repeat(50), b""),
        attack("Redis: requests without an end", 6_000, 16, half_a_command(), b"y"),
        attack("Redis: MULTI without EXEC", 6_000, 16, multi(), b"\r\n"),
        attack("memcached: pipelines, unread", 6_000, 16, b"get tickets\r\n".repeat(5_000), b""),
        attack("TLS: hellos without an end", 6_000, 16, half_a_hello(), b"y"),
        Attack {
            tls: true,
            ..attack("TLS: Redis: MINT, unread", 3_000, 16, b"MINT tickets 100000\r\n".repeat(50), b"")
        },
        Attack { tls: true, ..attack("TLS: idle", 3_000, 16, Vec::new(), b"") },
        attack("idle, 10,000 of one address", 10_000, 1, Vec::new(), b""),
        attack("idle, 10,000 of 16 addresses", 10_000, 16, Vec::new(), b""),
    ]
}

/// A login with the longest user name, which may send several statements, and the longest allowed query of them.
fn mysql() -> Vec<u8> {
    let packet = |sequence: u8, payload: &[u8]| {
        let length = u32::try_from(payload.len()).unwrap_or_default().to_le_bytes();
        [&length[..3], &[sequence], payload].concat()
    };
    // PROTOCOL_41, SECURE_CONNECTION, MULTI_STATEMENTS.
    let capabilities: u32 = 0x200 | 0x8000 | 0x1_0000;
    let head = [&capabilities.to_le_bytes()[..], b"\0\0\0\x01\x2d", &[0; 23]].concat();
    let login = [&head[..], &[b'u'; 512], b"\0\0"].concat();
    let statement = format!("select {};", ["user()"; 64].join(","));
    let query = statement.repeat((80 << 10) / statement.len());
    [packet(1, &login), packet(0, &[b"\x03", query.as_bytes()].concat())].concat()
}

/// A hundred calls on one HTTP/2 connection. The client reads this many bytes of each answer, and no more.
fn grpc(window: u32, path: &str, message: &[u8]) -> Vec<u8> {
    let frame = |kind: u8, flags: u8, stream: u32, payload: &[u8]| {
        let length = u32::try_from(payload.len()).unwrap_or_default().to_be_bytes();
        [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
    };
    let text = |text: &[u8]| [&[u8::try_from(text.len()).unwrap_or_default()], text].concat();
    // :method POST and :scheme http of the static table, then literals.
    let header = [
        &[0x83, 0x86][..],
        &[0x04],
        &text(path.as_bytes()),
        &[0x01],
        &text(b"x"),
        &[0x0f, 0x10],
        &text(b"application/grpc"),
        &[0x00],
        &text(b"te"),
        &text(b"trailers"),
    ]
    .concat();
    let length = u32::try_from(message.len()).unwrap_or_default().to_be_bytes();
    let body = [&[0][..], &length, message].concat();
    let mut says = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    says.extend(frame(4, 0, 0, &[&[0, 4][..], &window.to_be_bytes()].concat()));
    for stream in (1..200).step_by(2) {
        says.extend(frame(1, 4, stream, &header));
        says.extend(frame(0, 1, stream, &body));
    }
    says
}

fn half_a_header() -> Vec<u8> {
    format!(
        "GET /v1/mint/tickets?n=2 HTTP/1.1\r\nhost: x\r\n\r\nGET / HTTP/1.1\r\nhost: x\r\nx: {}",
        "y".repeat(40 << 10)
    )
    .into_bytes()
}

fn half_a_command() -> Vec<u8> {
    format!("*3\r\n$4\r\nMINT\r\n$81000\r\n{}", "y".repeat(76_000)).into_bytes()
}

/// The first 15 of the 16 KiB that a TLS record may have.
fn half_a_hello() -> Vec<u8> {
    let mut says = b"\x16\x03\x01\x40\0\x01\0\x3f\xfc\x03\x03".to_vec();
    says.resize(15 << 10, b'y');
    says
}

fn multi() -> Vec<u8> {
    let name = "y".repeat(120);
    format!("MULTI\r\n{}", format!("MINT {name} 1\r\n").repeat(550)).into_bytes()
}

fn run(binary: &Path, attack: &Attack) -> Result<bool> {
    let home = Home::new("attack");
    let certificates = Certificates::for_host("127.0.0.1", &home);
    let client = attack.tls.then(|| connector(&certificates)).transpose()?;
    let free = || std::io::Result::Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port());
    let (port, mysql) = (free()?, free()?);
    let (certificate, key) = (certificates.server.display(), certificates.key.display());
    let tls = format!("tls = {{ certificate = '{certificate}', key = '{key}' }}");
    let config = home.write("floe.toml", &format!("mysql = '127.0.0.1:{mysql}'\n{tls}\n{CONFIG}"));
    let data = home.path().join("data");
    let arguments = ["--config".as_ref(), config.as_os_str(), "--data-dir".as_ref(), data.as_os_str()];
    let server = Server::start(binary, port, &arguments)?;
    if attack.names {
        make_names(port)?;
    }
    let stop = Arc::new(AtomicBool::new(false));
    let honest: Vec<_> = HONEST.iter().map(|url| Honest::start(url, port, &stop)).collect();
    // The server as it serves ordinary clients.
    thread::park_timeout(Duration::from_millis(500));
    let before = resident_kib(server.id())?;
    let target = SocketAddr::from((Ipv4Addr::LOCALHOST, if attack.mysql { mysql } else { port }));
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    for number in 0..attack.connections {
        let last = u8::try_from(1 + number % attack.addresses)?;
        let from = SocketAddr::from(([127, 0, 1, last], 0));
        let (says, beat): (Arc<[u8]>, _) = (attack.says.as_slice().into(), attack.beat);
        runtime.spawn(hostile(from, target, client.clone(), says, beat));
    }
    let end = now() + LASTS;
    let mut peak = before;
    while now() < end {
        peak = peak.max(resident_kib(server.id())?);
        thread::park_timeout(Duration::from_millis(20));
    }
    stop.store(true, Ordering::Relaxed);
    runtime.shutdown_background();
    let allowed = before + MEMORY_KIB;
    let mut sound = peak <= allowed;
    let mut served = Vec::new();
    for client in honest {
        let (answers, wait) = client.end()?;
        sound &= answers > 0 && wait <= GAP;
        served.push(format!("{answers} ({})", wait.as_millis()));
    }
    let megabytes = |kib: u32| f64::from(kib) / 1024.0;
    println!(
        "{:<42} {:>7} {:>9.1} {:>9.1} {:>9.1}   {}{}",
        attack.name,
        attack.connections,
        megabytes(before),
        megabytes(peak),
        megabytes(allowed),
        served.join("  "),
        if sound { "" } else { "   FAILED" }
    );
    Ok(sound)
}

/// Makes all the names, in pipelines of Redis' protocol.
fn make_names(port: u16) -> Result<()> {
    use std::io::{Read, Write};

    let mut stream = std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let numbers: Vec<usize> = (0..NAMES).collect();
    for numbers in numbers.chunks(100) {
        let asked: String = numbers.iter().map(|number| format!("MINT n-{number}\r\n")).collect();
        stream.write_all(asked.as_bytes())?;
        let (mut lines, mut bytes) = (0, [0; 4096]);
        while lines < numbers.len() {
            match stream.read(&mut bytes)? {
                0 => return Err("the server closed the connection that made names".into()),
                count => lines += bytes.iter().take(count).filter(|byte| **byte == b'\n').count(),
            }
        }
    }
    Ok(())
}

/// A client that connects, sends its bytes, reads nothing, and connects again if it was closed.
async fn hostile(
    from: SocketAddr,
    target: SocketAddr,
    tls: Option<TlsConnector>,
    says: Arc<[u8]>,
    beat: &'static [u8],
) {
    let connect = async || -> std::io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.set_recv_buffer_size(4 << 10)?;
        socket.bind(from)?;
        socket.connect(target).await
    };
    loop {
        if let Ok(Ok(mut stream)) = timeout(Duration::from_secs(5), connect()).await {
            // The server reads no more, so it has rejected this client.
            let speak = async {
                let Some(tls) = &tls else { return stream.write_all(&says).await };
                let mut within = tls.connect(localhost(), &mut stream).await?;
                within.write_all(&says).await?;
                within.flush().await
            };
            let said = timeout(Duration::from_secs(3), speak).await;
            if !matches!(said, Ok(Err(_))) {
                sleep(BEAT).await;
                while !is_closed(&stream, beat) {
                    sleep(BEAT).await;
                }
            }
        }
        sleep(BEAT / 5).await;
    }
}

/// The connector that trusts the server's certificate.
fn connector(certificates: &Certificates) -> Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&certificates.signer)?)?;
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

fn localhost() -> ServerName<'static> {
    ServerName::IpAddress(Ipv4Addr::LOCALHOST.into())
}

/// Whether the server has closed a connection. Reads nothing of what it sent.
fn is_closed(stream: &TcpStream, beat: &[u8]) -> bool {
    use std::io::ErrorKind::WouldBlock;

    if !beat.is_empty() && stream.try_write(beat).is_err_and(|error| error.kind() != WouldBlock) {
        return true;
    }
    matches!(stream.take_error(), Ok(Some(_)) | Err(_)) || matches!(peek(stream), Some(0))
}

/// How many bytes have arrived; `None` while there are none and the connection is open.
fn peek(stream: &TcpStream) -> Option<usize> {
    let mut byte = [0; 1];
    let mut buffer = tokio::io::ReadBuf::new(&mut byte);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match stream.poll_peek(&mut context, &mut buffer) {
        std::task::Poll::Ready(Ok(count)) => Some(count),
        std::task::Poll::Ready(Err(_)) => Some(0),
        std::task::Poll::Pending => None,
    }
}

/// An honest client, which asks ten times a second.
struct Honest {
    answers: Arc<AtomicU64>,
    thread: thread::JoinHandle<Duration>,
}

impl Honest {
    fn start(url: &str, port: u16, stop: &Arc<AtomicBool>) -> Self {
        let url = url.replace("{}", &format!("127.0.0.1:{port}"));
        let (answers, stop) = (Arc::new(AtomicU64::new(0)), Arc::clone(stop));
        let counted = Arc::clone(&answers);
        let thread = thread::spawn(move || {
            let (mut last, mut longest) = (now(), Duration::ZERO);
            let Ok((host, wire)) = Wire::of(&url) else { return Duration::MAX };
            while !stop.load(Ordering::Relaxed) {
                let Ok(mut connection) = Connection::open(host) else {
                    thread::park_timeout(Duration::from_millis(10));
                    continue;
                };
                while !stop.load(Ordering::Relaxed) && connection.call(&wire).is_ok() {
                    counted.fetch_add(1, Ordering::Relaxed);
                    longest = longest.max(last.elapsed());
                    last = now();
                    thread::park_timeout(Duration::from_millis(100));
                }
            }
            longest.max(last.elapsed())
        });
        Self { answers, thread }
    }

    /// How often it got an answer, and its longest time without one.
    fn end(self) -> Result<(u64, Duration)> {
        let wait = self.thread.join().map_err(|_| "an honest client panicked")?;
        Ok((self.answers.load(Ordering::Relaxed), wait))
    }
}
