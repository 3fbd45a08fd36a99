//! The accept loop: bounded connections, each served in the protocol of its port or in the one that its client's first
//! bytes show, guarded against clients that send or read too slowly, and an orderly end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use crate::config::Limits;
use crate::http::Plain;
use crate::memcached::{Binary, Figures, Text};
use crate::metrics::{Counted, Metrics};
use crate::mysql::{self, Mysql};
use crate::resp::Resp;
use crate::server::ServeError;
use crate::service::Service;
use crate::session;
use crate::thrift::Thrift;

mod detect;
mod guard;
mod rewound;

pub(crate) use detect::Protocol;
use detect::{Detected, detect};
use guard::Guard;
use rewound::Rewound;

/// How many clients at once hear that all connections are taken; more are closed without a word.
const TURNED_AWAY_AT_ONCE: usize = 64;

/// How long such a client may take to hear it.
const TURNED_AWAY_WAIT: Duration = Duration::from_secs(1);

/// An address to listen on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port {
    pub address: SocketAddr,
    /// What its clients speak; `None` where their first bytes show it.
    pub protocol: Option<Protocol>,
    /// The setting that names the address.
    pub setting: &'static str,
    /// Whether the server starts all the same where something else has the port.
    pub optional: bool,
}

/// Everything that listens, and the connections that came of it.
pub(crate) struct Listeners {
    listeners: Vec<(TcpListener, Option<Protocol>)>,
    front: Arc<Front>,
}

/// What clients of every protocol are served with.
#[derive(Clone)]
pub(crate) struct Served {
    pub router: Router,
    pub service: Arc<Service>,
}

/// How a connection learns that the server stops.
struct Ending {
    http: Watcher,
    others: watch::Receiver<bool>,
}

struct Front {
    limits: Limits,
    metrics: Arc<Metrics>,
    places: Arc<Semaphore>,
    doorstep: Arc<Semaphore>,
    connected: AtomicU64,
    memcached: Arc<Figures>,
}

impl Listeners {
    /// Takes all the addresses, or none; one that is optional may be left out.
    pub(crate) async fn bind(
        ports: &[Port],
        limits: &Limits,
        metrics: Arc<Metrics>,
    ) -> Result<Self, ServeError> {
        let mut listeners = Vec::new();
        for port in ports {
            match TcpListener::bind(port.address).await {
                Ok(listener) => listeners.push((listener, port.protocol)),
                Err(error) if port.optional && error.kind() == io::ErrorKind::AddrInUse => {
                    tracing::warn!("{}; until then this server goes without it", why(port, &error));
                }
                Err(error) => return Err(ServeError::Listen(why(port, &error))),
            }
        }
        let places = Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS)));
        let doorstep = Arc::new(Semaphore::new(TURNED_AWAY_AT_ONCE));
        let connected = AtomicU64::new(0);
        let memcached = Arc::new(Figures::new());
        let front = Front { limits: limits.clone(), metrics, places, doorstep, connected, memcached };
        Ok(Self { listeners, front: Arc::new(front) })
    }

    /// Where they listen, with the ports that were really taken, and what is spoken there.
    pub(crate) fn addresses(&self) -> io::Result<Vec<(SocketAddr, Option<Protocol>)>> {
        self.listeners.iter().map(|(listener, protocol)| Ok((listener.local_addr()?, *protocol))).collect()
    }

    /// Accepts and serves until `stop` is done; then closes the listeners, lets requests finish for at most
    /// `limits.drain_timeout`, and drops what is left.
    pub(crate) async fn serve(self, served: &Served, stop: impl Future<Output = ()>) {
        let graceful = GracefulShutdown::new();
        let (drain, draining) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            let accepted = tokio::select! {
                accepted = accept_any(&self.listeners) => accepted,
                () = &mut stop => break,
                Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            };
            let (stream, protocol) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Too many open files, mostly: accepting at once again would spin.
                    tracing::warn!("a connection could not be accepted: {error}");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            match Arc::clone(&self.front.places).try_acquire_owned() {
                Ok(place) => {
                    let ending = Ending { http: graceful.watcher(), others: draining.clone() };
                    connections.spawn(Arc::clone(&self.front).connection(
                        stream,
                        protocol,
                        place,
                        served.clone(),
                        ending,
                    ));
                }
                Err(_) => {
                    self.front.metrics.turned_away.inc();
                    if let Ok(place) = Arc::clone(&self.front.doorstep).try_acquire_owned() {
                        connections.spawn(turn_away(stream, protocol, place));
                    }
                }
            }
        }
        drop(self.listeners);
        // The receivers are the connections: there may be none.
        let _ = drain.send(true);
        let finished = async {
            graceful.shutdown().await;
            while connections.join_next().await.is_some() {}
        };
        if timeout(self.front.limits.drain_timeout, finished).await.is_err() {
            tracing::warn!("connections were still busy after limits.drain_timeout, and are closed now");
        }
        connections.shutdown().await;
    }
}

impl Front {
    async fn connection(
        self: Arc<Self>,
        mut stream: TcpStream,
        protocol: Option<Protocol>,
        _place: OwnedSemaphorePermit,
        served: Served,
        ending: Ending,
    ) {
        self.metrics.accepted.inc();
        let _counted = Counted::new(&self.metrics.connections);
        // An answer is one small packet, and must not wait for another.
        let _ = stream.set_nodelay(true);
        let known = match protocol {
            Some(protocol) => Ok(Some((protocol, Vec::new()))),
            None => self.first_bytes(&mut stream, ending.others.clone()).await,
        };
        let outcome = match known {
            Ok(Some((protocol, first))) => {
                self.speak(protocol, Rewound::new(first, stream), served, ending).await
            }
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            tracing::debug!("a connection ended: {error}");
        }
    }

    /// Reads until the protocol is known; `None` where the client, or the server, is gone before.
    async fn first_bytes<S: AsyncRead + Unpin>(
        &self,
        stream: &mut S,
        mut draining: watch::Receiver<bool>,
    ) -> io::Result<Option<(Protocol, Vec<u8>)>> {
        let mut first = Vec::with_capacity(detect::ENOUGH);
        let mut deadline = Instant::now() + self.limits.idle_timeout;
        loop {
            match detect(&first) {
                Detected::Known(protocol) => return Ok(Some((protocol, first))),
                Detected::Unsure => {}
                Detected::Nothing => {
                    self.metrics.unknown_protocols.inc();
                    return Err(io::Error::other("it speaks no protocol that is served here"));
                }
            }
            let mut bytes = [0; detect::ENOUGH];
            let room = bytes.get_mut(first.len()..).unwrap_or_default();
            let count = tokio::select! {
                count = stream.read(room) => count?,
                _ = draining.wait_for(|draining| *draining) => 0,
                () = sleep_until(deadline) => {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "no request came in time"));
                }
            };
            if count == 0 {
                return Ok(None);
            }
            if first.is_empty() {
                deadline = Instant::now() + self.limits.header_timeout;
            }
            first.extend_from_slice(room.get(..count).unwrap_or_default());
        }
    }

    /// Serves a connection to its end in one protocol.
    async fn speak<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        &self,
        protocol: Protocol,
        mut stream: S,
        served: Served,
        Ending { http, others }: Ending,
    ) -> io::Result<()> {
        let id = self.connected.fetch_add(1, Ordering::Relaxed) + 1;
        match protocol {
            Protocol::Http => {
                // What it does not serve itself, hyper does from there on.
                let mut plain = Plain::new(&served.service, &self.limits);
                let left = session::run(&mut stream, &mut plain, &self.limits, others).await?;
                let Some(left) = left else { return Ok(()) };
                let (guard, busy) = Guard::new(Rewound::new(left, stream), &self.limits);
                let service = busy.around(TowerToHyperService::new(served.router));
                let builder = self.builder();
                let connection = builder.serve_connection(TokioIo::new(guard), service);
                http.watch(connection.into_owned()).await.map_err(io::Error::other)
            }
            Protocol::Resp => {
                let mut session = Resp::new(&served.service, &self.limits, id);
                session::run(&mut stream, &mut session, &self.limits, others).await.map(drop)
            }
            Protocol::MemcachedText => {
                let mut session = Text::new(&served.service, &self.limits, &self.memcached);
                session::run(&mut stream, &mut session, &self.limits, others).await.map(drop)
            }
            Protocol::MemcachedBinary => {
                let mut session = Binary::new(&served.service, &self.limits, &self.memcached);
                session::run(&mut stream, &mut session, &self.limits, others).await.map(drop)
            }
            Protocol::Thrift => {
                let mut session = Thrift::new(&served.service);
                session::run(&mut stream, &mut session, &self.limits, others).await.map(drop)
            }
            Protocol::Mysql => {
                let mut random = [0; 20];
                getrandom::fill(&mut random).map_err(io::Error::other)?;
                let mut session = Mysql::new(&served.service, &self.limits, id, random);
                session::run(&mut stream, &mut session, &self.limits, others).await.map(drop)
            }
            Protocol::Tls => {
                self.metrics.unknown_protocols.inc();
                Err(io::Error::other(format!("{protocol:?} is not served here")))
            }
        }
    }

    fn builder(&self) -> auto::Builder<TokioExecutor> {
        let limits = &self.limits;
        let mut builder = auto::Builder::new(TokioExecutor::new());
        // The gate refuses with an explanation what is over the limits; what is over twice as much, hyper refuses
        // without reading it.
        let header = limits.header_bytes + limits.uri_bytes;
        // No Date: hyper's panics while the clock stands before 1970, and nothing that is answered may be cached.
        builder
            .http1()
            .auto_date_header(false)
            .timer(TokioTimer::new())
            .max_buf_size((2 * header).max(16 << 10));
        if limits.header_count >= 100 {
            builder.http1().max_headers(limits.header_count + 1);
        }
        builder
            .http2()
            .auto_date_header(false)
            .timer(TokioTimer::new())
            .max_concurrent_streams(limits.streams)
            .max_header_list_size(u32::try_from(2 * header).unwrap_or(u32::MAX))
            .initial_stream_window_size(64 << 10)
            .initial_connection_window_size(256 << 10)
            .max_send_buf_size(64 << 10)
            .max_pending_accept_reset_streams(32);
        builder
    }
}

/// Tells a client that there is no place, and waits for it to have read that: closing at once would take the answer
/// back from a client that is still sending.
async fn turn_away(mut stream: TcpStream, protocol: Option<Protocol>, _place: OwnedSemaphorePermit) {
    let answer = match protocol {
        Some(Protocol::Mysql) => mysql::no_place(),
        _ => no_place(),
    };
    let told = async {
        stream.write_all(&answer).await?;
        stream.shutdown().await?;
        let mut rest = [0; 1024];
        while stream.read(&mut rest).await? > 0 {}
        io::Result::Ok(())
    };
    // A client that does not listen loses nothing but the reason.
    let _ = timeout(TURNED_AWAY_WAIT, told).await;
}

/// The answer of HTTP, which most clients speak, or show to whoever reads their log.
fn no_place() -> Vec<u8> {
    let body = r#"{"type":"/problems/busy","title":"Busy","status":503,"detail":"all connections are taken (limits.connections): try again","instance":"/"}"#;
    format!(
        "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\ncache-control: no-store\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// The next connection of any listener, and what is spoken there.
async fn accept_any(
    listeners: &[(TcpListener, Option<Protocol>)],
) -> io::Result<(TcpStream, Option<Protocol>)> {
    std::future::poll_fn(|context| {
        for (listener, protocol) in listeners {
            if let std::task::Poll::Ready(accepted) = listener.poll_accept(context) {
                return std::task::Poll::Ready(accepted.map(|(stream, _)| (stream, *protocol)));
            }
        }
        std::task::Poll::Pending
    })
    .await
}

fn why(port: &Port, error: &io::Error) -> String {
    let (address, setting) = (port.address, port.setting);
    let way_out = match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "the port {} is in use, perhaps by another floe: stop that, or listen on another port ({setting}, --{setting} {}:0 takes a free one)",
            address.port(),
            address.ip()
        ),
        io::ErrorKind::PermissionDenied => format!(
            "the system allows ports below 1024 to privileged users only: take a higher one ({setting}, --{setting})"
        ),
        io::ErrorKind::AddrNotAvailable => {
            format!("this machine has no such address: listen on one of its own ({setting}, --{setting})")
        }
        _ => format!("{error}: choose another address ({setting}, --{setting})"),
    };
    format!("cannot listen on {address}: {way_out}")
}
