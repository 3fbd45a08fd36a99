//! Hostile clients, also inside TLS. Thousands of connections request and do not read, send and do not end, show wrong
//! tokens, or only stay. This measures the server's memory, and the answers that honest clients get meanwhile.
//!
//! Each attack has its own server. The server's memory may grow by at most `limits.memory`. Each honest client has to get
//! answers all the time, and a fair part of those that it gets from an idle server.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
use crate::honest::{Client, PAUSE, Target};
use crate::http2;
use crate::load::GET_ID;
use crate::measure::now;
use crate::serve::{Server, get, resident_kib};

/// The default of `limits.memory`.
const MEMORY_KIB: u32 = 256 << 10;

/// How long each attack lasts.
const LASTS: Duration = Duration::from_secs(7);

/// The longest that an honest client may go without an answer.
const GAP: Duration = Duration::from_secs(6);

/// An honest client has to get one in so many of the answers that an idle server would give it.
const FAIR: u64 = 20;

/// How long a server may take until each honest client has an answer, before the attack.
const PATIENCE: Duration = Duration::from_secs(10);

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
name = 'Tickets64'
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

/// One sort of hostile client.
struct Attack {
    name: &'static str,
    connections: usize,
    /// From how many addresses they connect: 127.0.1.1 and on. Honest clients connect from 127.0.0.1.
    addresses: usize,
    by: By,
    /// The bytes that each client sends.
    says: Vec<u8>,
    /// The bytes that each sends now and then, to notice whether it was closed.
    beat: &'static [u8],
    server: Setting,
    /// Whether these requests mint, if the server understands them. An attack that it does not understand attacks nothing.
    mints: bool,
}

/// How hostile clients connect.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Plain,
    Tls,
    /// MySQL's own port.
    Mysql,
}

/// What is special about the server that is attacked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Setting {
    Nothing,
    /// All names are made before the attack.
    ManyNames,
    /// It asks for a token.
    Tokens,
}

/// A token, and what the server's file says of it.
struct Token {
    secret: String,
    toml: String,
}

impl Token {
    fn new(binary: &Path, name: &str) -> Result<Self> {
        let output = Command::new(binary).args(["token", "new", "--name", name, "--names", "*"]).output()?;
        let said = String::from_utf8(output.stdout)?;
        let (secret, toml) = said.split_once('\n').ok_or("floe token new says nothing")?;
        Ok(Self { secret: secret.to_owned(), toml: toml.to_owned() })
    }
}

/// The tokens of a server that asks for one.
struct Tokens {
    honest: Token,
    hostile: Token,
}

/// Runs all attacks and prints their results. Returns whether the server passed all of them.
///
/// # Errors
/// A server that does not start, or too few open files.
pub(crate) fn report(binary: &Path) -> Result<bool> {
    let tokens = Tokens { honest: Token::new(binary, "honest")?, hostile: Token::new(binary, "hostile")? };
    let mut sound = true;
    println!(
        "{:<40} {:>7} {:>9} {:>7} {:>7} {:>8}   honest answers (longest wait, ms)",
        "attack", "clients", "before MB", "peak MB", "allowed", "IDs"
    );
    for attack in attacks(&tokens) {
        sound &= run(binary, &attack, &tokens)?;
    }
    Ok(sound)
}

fn attacks(tokens: &Tokens) -> Vec<Attack> {
    let attack = |name, connections, says: Vec<u8>| Attack {
        name,
        connections,
        addresses: 16,
        by: By::Plain,
        says,
        beat: b"",
        server: Setting::Nothing,
        mints: false,
    };
    let minting = |name, connections, says| Attack { mints: true, ..attack(name, connections, says) };
    let unfinished = |name, says| Attack { beat: b"y", ..attack(name, 6_000, says) };
    let over_http2 = |name, connections, says| {
        let beat = b"\0\0\x08\x06\0\0\0\0\0\0\0\0\0\0\0\0\0";
        Attack { beat, ..minting(name, connections, says) }
    };
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").into_bytes();
    let calls = |window: u32, path: &str, message: &[u8]| {
        hundred(window, |stream| http2::call(stream, path, None, message))
    };
    let mint = |window| calls(window, "/floe.v1.Ids/Mint", b"\x0a\x07tickets\x10\xa0\x8d\x06");
    let fetch = |window| calls(window, "/katsubushi.Generator/FetchMulti", b"\x08\xa0\x8d\x06");
    let stream = calls(65_535, "/floe.v1.Ids/MintStream", b"\x0a\x07tickets\x10\x80\x80\x80\x80\x08");
    let gets = hundred(0, |stream| http2::get(stream, "/v1/mint/tickets?n=100000"));
    let short = hundred(65_535, |stream| http2::get(stream, "/v1/mint/tickets"));
    let large = hundred(65_535, |stream| http2::begin(stream, "/api/snowflake/get/snowflake", 15 << 10));
    let redis = b"MINT tickets 100000\r\n".repeat(50);
    let wrong = format!("floe_{}", "0".repeat(64));
    let (with_a_token, guesses) = (
        [format!("AUTH {}\r\n", tokens.hostile.secret).as_bytes(), &redis].concat(),
        format!("AUTH {wrong}\r\n").repeat(1_000).into_bytes(),
    );
    let guess = format!("GET /v1/mint/tickets HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {wrong}\r\n\r\n");
    let binary = b"\x80\0\0\x07\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\0\0\0\0\0tickets";
    vec![
        Attack { by: By::Mysql, ..attack("MySQL: long name, many statements", 200, mysql()) },
        over_http2("gRPC: Mint, window 0", 100, mint(0)),
        over_http2("gRPC: Mint, window 65535, unread", 300, mint(65_535)),
        over_http2("gRPC: FetchMulti, window 0", 100, fetch(0)),
        over_http2("gRPC: FetchMulti, window 1, unread", 300, fetch(1)),
        over_http2("gRPC: MintStream, unread", 300, stream),
        over_http2("HTTP/2: many IDs, window 0", 300, gets),
        over_http2("HTTP/2: one ID each, unread", 3_000, short),
        Attack { mints: false, ..over_http2("HTTP/2: large headers without a body", 800, large) },
        Attack {
            server: Setting::ManyNames,
            ..attack(
                "inspect among 9,900 names, unread",
                300,
                get("/v1/inspect/1212092628029698048").repeat(20),
            )
        },
        minting("HTTP: many IDs, unread", 3_000, get("/v1/mint/tickets?n=100000").repeat(20)),
        minting("HTTP: Leaf's pipelines, unread", 6_000, get("/api/segment/get/tickets").repeat(1_500)),
        attack("HTTP: large pages, unread", 1_000, get("/openapi.json").repeat(20)),
        unfinished("HTTP: headers without an end", half_a_header()),
        minting("Redis: MINT, unread", 6_000, redis.clone()),
        minting("Redis: texts, unread", 3_000, b"MINT texts 100000\r\n".repeat(50)),
        unfinished("Redis: requests without an end", half_a_command()),
        Attack { beat: b"\r\n", ..attack("Redis: MULTI without EXEC", 6_000, multi()) },
        minting("memcached: pipelines, unread", 6_000, b"get tickets\r\n".repeat(5_000)),
        minting("memcached: binary pipelines, unread", 6_000, binary.repeat(2_000)),
        minting("Thrift: pipelines, unread", 6_000, GET_ID.repeat(2_000)),
        Attack {
            server: Setting::Tokens,
            ..minting("Redis: MINT with a token, unread", 6_000, with_a_token)
        },
        Attack { server: Setting::Tokens, ..attack("Redis: wrong tokens, unread", 6_000, guesses) },
        Attack {
            server: Setting::Tokens,
            ..attack("HTTP: wrong tokens, unread", 6_000, guess.repeat(500).into_bytes())
        },
        unfinished("TLS: hellos without an end", half_a_hello()),
        Attack { by: By::Tls, ..minting("TLS: Redis: MINT, unread", 3_000, redis) },
        Attack { by: By::Tls, ..attack("TLS: idle", 3_000, Vec::new()) },
        Attack { addresses: 1, ..attack("idle, 10,000 of one address", 10_000, Vec::new()) },
        attack("idle, 10,000 of 16 addresses", 10_000, Vec::new()),
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

/// A hundred requests on one HTTP/2 connection. The client reads this many bytes of each answer, and no more.
fn hundred(window: u32, request: impl Fn(u32) -> Vec<u8>) -> Vec<u8> {
    let requests = (1..200).step_by(2).flat_map(request);
    http2::preface(window).into_iter().chain(requests).collect()
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

fn run(binary: &Path, attack: &Attack, tokens: &Tokens) -> Result<bool> {
    let home = Home::new("attack");
    let certificates = Certificates::for_host("127.0.0.1", &home);
    let client = (attack.by == By::Tls).then(|| connector(&certificates)).transpose()?;
    let free = || std::io::Result::Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port());
    let (port, mysql) = (free()?, free()?);
    let (certificate, key) = (certificates.server.display(), certificates.key.display());
    let tls = format!("tls = {{ certificate = '{certificate}', key = '{key}' }}");
    let asks = attack.server == Setting::Tokens;
    let known =
        if asks { [tokens.honest.toml.as_str(), &tokens.hostile.toml].concat() } else { String::new() };
    let text = format!("mysql = '127.0.0.1:{mysql}'\n{tls}\n{CONFIG}{known}");
    let config = home.write("floe.toml", &text);
    let data = home.path().join("data");
    let arguments = ["--config".as_ref(), config.as_os_str(), "--data-dir".as_ref(), data.as_os_str()];
    let server = Server::start(binary, port, &arguments)?;
    if attack.server == Setting::ManyNames {
        make_names(port)?;
    }
    let stop = Arc::new(AtomicBool::new(false));
    let target = Target { port, mysql, token: asks.then(|| tokens.honest.secret.clone()) };
    let honest = Client::start_all(&target, &stop);
    // The server as it serves ordinary clients.
    let soon = now() + PATIENCE;
    while let Some(client) = honest.iter().find(|client| client.answers() == 0) {
        if now() > soon {
            return Err(format!("{}: {} is not answered before the attack", attack.name, client.wire).into());
        }
        thread::park_timeout(Duration::from_millis(20));
    }
    let before = resident_kib(server.id())?;
    let answered: Vec<_> = honest.iter().map(Client::answers).collect();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, if attack.by == By::Mysql { mysql } else { port }));
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let says: Arc<[u8]> = attack.says.as_slice().into();
    for number in 0..attack.connections {
        let last = u8::try_from(1 + number % attack.addresses)?;
        let from = SocketAddr::from(([127, 0, 1, last], 0));
        runtime.spawn(hostile(from, address, client.clone(), Arc::clone(&says), attack.beat));
    }
    let end = now() + LASTS;
    let mut peak = before;
    while now() < end {
        peak = peak.max(resident_kib(server.id())?);
        thread::park_timeout(Duration::from_millis(20));
    }
    stop.store(true, Ordering::Relaxed);
    let allowed = before + MEMORY_KIB;
    let idle = u64::try_from(LASTS.as_millis() / PAUSE.as_millis())?;
    let mut sound = peak <= allowed;
    let (mut served, mut honest_ids) = (Vec::new(), 0);
    for (client, before) in honest.into_iter().zip(answered) {
        let wire = client.wire;
        let (all, wait) = client.end()?;
        honest_ids += all;
        let answers = all - before;
        sound &= answers * FAIR >= idle && wait <= GAP;
        served.push(format!("{wire} {answers} ({})", wait.as_millis()));
    }
    runtime.shutdown_background();
    let hostile_ids = minted(port).map(|all| all.saturating_sub(honest_ids));
    let least = if attack.mints { u64::try_from(attack.connections)? } else { 0 };
    sound &= hostile_ids.is_some_and(|ids| ids >= least);
    let megabytes = |kib: u32| f64::from(kib) / 1024.0;
    println!(
        "{:<40} {:>7} {:>9.1} {:>7.1} {:>7.1} {:>8}   {}{}",
        attack.name,
        attack.connections,
        megabytes(before),
        megabytes(peak),
        megabytes(allowed),
        hostile_ids.map_or_else(|| "?".to_owned(), |ids| ids.to_string()),
        served.join("  "),
        if sound { "" } else { "   FAILED" }
    );
    Ok(sound)
}

/// How many IDs the server has minted, by its own count. After an attack it may be busy for a moment; `None` if it is so
/// for longer.
fn minted(port: u16) -> Option<u64> {
    let soon = now() + PATIENCE;
    let metrics = loop {
        match get(&format!("127.0.0.1:{port}"), "/metrics") {
            Ok(answer) if answer.starts_with("HTTP/1.1 200") => break answer,
            _ if now() > soon => return None,
            _ => thread::park_timeout(Duration::from_millis(100)),
        }
    };
    let of_a_name =
        |line: &str| line.strip_prefix("floe_minted_total{")?.split_once("} ")?.1.parse::<u64>().ok();
    Some(metrics.lines().filter_map(of_a_name).sum())
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
