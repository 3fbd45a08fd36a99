//! The accept loop: bounded connections, each served in the protocol of its port or in the one that its client's first
//! bytes show, guarded against clients that send or read too slowly, and an orderly end.

use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use futures_util::TryFutureExt;
use futures_util::future::BoxFuture;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;

use crate::access::{Caller, Origin};
use crate::clients::{Address, CLIENT, Client, Clients, Full, NoPlace, Place};
use crate::config::{Endpoint, Limits, Spoken};
use crate::fronts::http::{self, Plain};
use crate::fronts::memcached::{Binary, Text};
use crate::fronts::mysql::{self, Mysql};
use crate::fronts::resp::Resp;
use crate::fronts::thrift::Thrift;
use crate::metrics::{Counted, Metrics};
use crate::rewound::Rewound;
use crate::service::Service;
use crate::session;
use crate::tls::{self, Tls, TlsSettings};

mod detect;
mod frames;
mod guard;
mod sockets;
pub(crate) mod thread_date;

use detect::{Detected, Protocol, detect};
use guard::Guard;
pub(crate) use sockets::Port;
use sockets::{Door, Socket, Stream, accept_any, is_local, peer_of};

/// How many clients at once hear that all connections are taken; more are closed without a word.
const TURNED_AWAY_AT_ONCE: usize = 64;

/// What a connection costs beside its task where hyper serves it, in bytes: two buffers of fixed size, and its state.
const HYPER: usize = 16 << 10;

/// What TLS costs a connection, in bytes.
const TLS: usize = 20 << 10;

/// How long such a client may take to hear it.
const TURNED_AWAY_WAIT: Duration = Duration::from_secs(1);

/// Everything that listens, and the connections that came of it.
pub(crate) struct Listeners {
    sockets: Vec<Socket>,
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
    clients: Arc<Clients>,
    doorstep: Arc<Semaphore>,
    connected: AtomicU64,
    tls: Option<Tls>,
    /// When the log was last told of a client that came with TLS, or without it, where that is not served.
    told: Mutex<Option<Instant>>,
}

impl Listeners {
    /// Takes all the ports, or none; one that is optional may be left out.
    ///
    /// # Errors
    /// Why it cannot, in words.
    pub(crate) async fn bind(
        ports: &[Port],
        limits: &Limits,
        tls: Option<&TlsSettings>,
        metrics: Arc<Metrics>,
    ) -> Result<Self, String> {
        let tls = tls.map(Tls::load).transpose()?;
        let mut sockets = Vec::new();
        for port in ports {
            match Socket::bind(port).await {
                Ok(socket) => sockets.push(socket),
                Err((io::ErrorKind::AddrInUse, why)) if port.optional => {
                    tracing::warn!("{why}; until then this server goes without it");
                }
                Err((_, why)) => return Err(why),
            }
        }
        let clients = Clients::new(limits, Arc::clone(&metrics));
        let doorstep = Arc::new(Semaphore::new(TURNED_AWAY_AT_ONCE));
        let connected = AtomicU64::new(0);
        let (limits, told) = (limits.clone(), Mutex::default());
        let front = Front { limits, metrics, clients, doorstep, connected, tls, told };
        Ok(Self { sockets, front: Arc::new(front) })
    }

    /// Where they listen, with the ports that were really taken, and what is spoken there.
    pub(crate) fn endpoints(&self) -> io::Result<Vec<(Endpoint, Spoken)>> {
        self.sockets.iter().map(Socket::endpoint).collect()
    }

    /// Accepts and serves until `stop` is done; then closes the listeners, lets requests finish for at most
    /// `limits.drain_timeout`, and drops what is left.
    pub(crate) async fn serve(self, served: &Served, stop: impl Future<Output = ()>) {
        let graceful = GracefulShutdown::new();
        let (drain, draining) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        let mut watch = std::pin::pin!(self.front.watch());
        loop {
            let accepted = tokio::select! {
                accepted = accept_any(&self.sockets) => accepted,
                () = &mut stop => break,
                () = &mut watch => continue,
                Some(_) = connections.join_next(), if !connections.is_empty() => continue,
            };
            let (stream, door) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Too many open files, mostly: accepting at once again would spin.
                    tracing::warn!("a connection could not be accepted: {error}");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let address = Address::of(peer_of(&stream).map(|peer| peer.ip()));
            match self.front.clients.admit(address) {
                Ok(place) => {
                    let ending = Ending { http: graceful.watcher(), others: draining.clone() };
                    let front = Arc::clone(&self.front);
                    let connection = front.connection(stream, door, place, served.clone(), ending);
                    connections.spawn(connection);
                }
                Err(why) => {
                    self.front.metrics.turned_away.inc();
                    if let Ok(place) = Arc::clone(&self.front.doorstep).try_acquire_owned() {
                        let date = date_line(&served.service);
                        connections.spawn(turn_away(stream, door.spoken, why, date, place));
                    }
                }
            }
        }
        drop(self.sockets);
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
        stream: Stream,
        door: Door,
        place: Place,
        served: Served,
        ending: Ending,
    ) {
        self.metrics.accepted.inc();
        let _counted = Counted::new(&self.metrics.connections);
        if let Either::Left(stream) = &stream {
            // An answer is one small packet, and must not wait for another.
            let _ = stream.set_nodelay(true);
        }
        let address = peer_of(&stream).map(|peer| peer.ip());
        let client = place.client();
        let served = self.converse(client, stream, door, served, ending);
        tokio::select! {
            ended = CLIENT.scope(Arc::clone(client), served) => {
                if let Err(error) = ended {
                    tracing::debug!("a connection ended: {error}");
                }
            }
            () = client.has_to_end() => {
                tracing::debug!(?address, "a connection that was idle or stuck was closed for the sake of others");
            }
        }
    }

    /// Finds out what the client speaks, within TLS where it wants that, and serves it. The ways that need more room than
    /// most connections do have it allocated when they are gone.
    async fn converse(
        &self,
        client: &Arc<Client>,
        mut stream: Stream,
        Door { spoken, exposed }: Door,
        served: Served,
        ending: Ending,
    ) -> io::Result<()> {
        let Some((protocol, first)) = self.first_bytes(&mut stream, spoken, ending.others.clone()).await?
        else {
            return Ok(());
        };
        let (peer, local) = (peer_of(&stream), is_local(&stream));
        let origin = Origin { protocol: protocol.name(), peer, local, exposed };
        let access = served.service.access();
        let mut stream = Rewound::new(first, stream);
        match (protocol, &self.tls) {
            (Protocol::Tls, Some(tls)) => {
                Box::pin(self.within_tls(client, tls, stream, spoken, origin, served, ending)).await
            }
            (Protocol::Tls, None) => {
                self.tell("a client wants TLS, which this server does not have: set tls, or let the client connect without");
                self.part(&mut stream, tls::NO_TLS).await
            }
            (Protocol::Mysql, tls) => {
                let offer = match tls {
                    None => mysql::Tls::None,
                    Some(tls) if exposed && !tls.plain() => mysql::Tls::Required,
                    Some(_) => mysql::Tls::Offered,
                };
                Box::pin(self.speak_mysql(client, stream, origin, offer, &served, ending.others)).await
            }
            (_, Some(tls)) if exposed && !tls.plain() => {
                self.tell("a client came without TLS to a listener that other machines reach, and was refused: let it use TLS, or allow it with tls.plain");
                self.part(&mut stream, &without_tls(protocol, &date_line(&served.service))).await
            }
            _ => {
                let caller = access.unknown().from(origin);
                self.speak(protocol, stream, (caller, client), spoken, served, ending).await
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "what is known of a connection by then")]
    async fn within_tls<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        &self,
        client: &Arc<Client>,
        tls: &Tls,
        stream: S,
        spoken: Spoken,
        origin: Origin,
        served: Served,
        ending: Ending,
    ) -> io::Result<()> {
        let _held = client.hold_to_the_end(TLS).await.map_err(no_memory)?;
        let mut stream = self.shake_hands(tls, stream).await?;
        let caller = served.service.access().certificate(&tls::names(stream.get_ref().1));
        let first = self.first_bytes(&mut stream, spoken, ending.others.clone()).await?;
        let Some((protocol, first)) = first else { return Ok(()) };
        let caller = caller.from(Origin { protocol: protocol.name(), ..origin });
        self.speak(protocol, Rewound::new(first, stream), (caller, client), spoken, served, ending).await
    }

    async fn shake_hands<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        tls: &Tls,
        stream: S,
    ) -> io::Result<TlsStream<S>> {
        let late = |_| io::Error::new(io::ErrorKind::TimedOut, "the TLS handshake did not end in time");
        timeout(self.limits.header_timeout, tls.accept(stream)).await.map_err(late)?
    }

    /// Serves a client of MySQL, which asks for TLS after the greeting, if at all.
    async fn speak_mysql<S: AsyncRead + AsyncWrite + Unpin + Send>(
        &self,
        client: &Arc<Client>,
        mut stream: S,
        origin: Origin,
        offer: mysql::Tls,
        served: &Served,
        draining: watch::Receiver<bool>,
    ) -> io::Result<()> {
        let id = self.connected.fetch_add(1, Ordering::Relaxed) + 1;
        let mut random = [0; 20];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let mut session = Mysql::new(&served.service, offer, &self.limits, id, random);
        session.comes_from(origin);
        let left = session::run(&mut stream, &mut session, client, &self.limits, draining.clone()).await?;
        if let (Some(hello), Some(tls)) = (left, &self.tls) {
            let _held = client.hold_to_the_end(TLS).await.map_err(no_memory)?;
            let mut stream = self.shake_hands(tls, Rewound::new(hello, stream)).await?;
            session.secured(served.service.access().certificate(&tls::names(stream.get_ref().1)));
            session::run(&mut stream, &mut session, client, &self.limits, draining).await?;
        }
        Ok(())
    }

    /// Says one thing to a client that is not served, and closes.
    async fn part<S: AsyncRead + AsyncWrite + Unpin + Send>(
        &self,
        stream: &mut S,
        word: &[u8],
    ) -> io::Result<()> {
        let late = |_| io::Error::new(io::ErrorKind::TimedOut, "the client stopped reading");
        timeout(self.limits.stall_timeout, stream.write_all(word)).await.map_err(late)??;
        session::farewell(stream).await;
        Ok(())
    }

    /// Tells the log, once a minute: strangers who knock on every port do not fill it.
    fn tell(&self, text: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.is_none_or(|told| told.elapsed() >= Duration::from_secs(60)) {
            *told = Some(Instant::now());
            tracing::warn!("{text} (said once a minute)");
        }
    }

    /// Keeps the certificate up to date; never ends.
    async fn watch(&self) {
        match &self.tls {
            Some(tls) => tls.watch().await,
            None => std::future::pending().await,
        }
    }

    /// Reads until the protocol is known; `None` where the client, or the server, is gone before.
    async fn first_bytes<S: AsyncRead + Unpin>(
        &self,
        stream: &mut S,
        spoken: Spoken,
        mut draining: watch::Receiver<bool>,
    ) -> io::Result<Option<(Protocol, Vec<u8>)>> {
        let mut first = Vec::with_capacity(detect::ENOUGH);
        let mut deadline = Instant::now() + self.limits.idle_timeout;
        loop {
            match detect(spoken, &first) {
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
        (caller, client): (Caller, &Arc<Client>),
        spoken: Spoken,
        served: Served,
        Ending { http: ending, others }: Ending,
    ) -> io::Result<()> {
        let id = self.connected.fetch_add(1, Ordering::Relaxed) + 1;
        match protocol {
            Protocol::Http => {
                // What it does not serve itself, hyper does from there on.
                let left = {
                    let mut plain = Plain::new(&served.service, caller.clone(), &self.limits);
                    session::run(&mut stream, &mut plain, client, &self.limits, others).await?
                };
                let Some(left) = left else { return Ok(()) };
                if thread_date::is_missing() && !left.starts_with(HTTP2) {
                    return self.part(&mut stream, &no_place(BEFORE_1970, "")).await;
                }
                // Within TLS it is a part of what that costs.
                let mut stream = Rewound::new(left, stream);
                let Ok(held) = client.hold_to_the_end(HYPER).await else {
                    return self.part(&mut stream, &no_place(FULL, &date_line(&served.service))).await;
                };
                let connection = self.by_hyper(stream, served, caller, client, ending);
                let ended = connection.await;
                drop(held);
                ended
            }
            Protocol::Resp => {
                let shared = spoken == Spoken::Any;
                let mut session = Resp::new(&served.service, caller, &self.limits, id, shared);
                session::run(&mut stream, &mut session, client, &self.limits, others).await.map(drop)
            }
            Protocol::MemcachedText => {
                let mut session = Text::new(&served.service, caller, &self.limits);
                session::run(&mut stream, &mut session, client, &self.limits, others).await.map(drop)
            }
            Protocol::MemcachedBinary => {
                let mut session = Binary::new(&served.service, caller, &self.limits);
                session::run(&mut stream, &mut session, client, &self.limits, others).await.map(drop)
            }
            Protocol::Thrift => {
                let mut session = Thrift::new(&served.service, caller);
                session::run(&mut stream, &mut session, client, &self.limits, others).await.map(drop)
            }
            // One has been served by now, and the other comes but once.
            Protocol::Mysql | Protocol::Tls => {
                self.metrics.unknown_protocols.inc();
                Err(io::Error::other(format!("a client wants {protocol:?}, which is not served here")))
            }
        }
    }

    /// Serves HTTP to its end. What that takes is allocated here, and once: a future that awaited what it makes would have
    /// room for it twice.
    fn by_hyper<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        &self,
        stream: S,
        served: Served,
        caller: Caller,
        client: &Arc<Client>,
        ending: Watcher,
    ) -> BoxFuture<'static, io::Result<()>> {
        let (guard, busy) = Guard::new(stream, &self.limits, client.nothing(), served.service);
        let router = TowerToHyperService::new(served.router);
        let service = busy.around(Introduced { router, caller, client: Arc::clone(client) });
        let builder = self.builder();
        let connection = builder.serve_connection(TokioIo::new(guard), service).into_owned();
        Box::pin(ending.watch(connection).map_err(io::Error::other))
    }

    fn builder(&self) -> auto::Builder<TokioExecutor> {
        let limits = &self.limits;
        let mut builder = auto::Builder::new(TokioExecutor::new());
        // The gate refuses with an explanation what is over the limits; what is over twice as much, hyper refuses
        // without reading it.
        let header = limits.header_bytes + limits.uri_bytes;
        // No Date of hyper's, which panics while the clock stands before 1970: the gate writes one.
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

/// The routes, with each request told who its connection is of.
#[derive(Clone)]
struct Introduced {
    router: TowerToHyperService<Router>,
    caller: Caller,
    client: Arc<Client>,
}

impl hyper::service::Service<Request<Incoming>> for Introduced {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = <TowerToHyperService<Router> as hyper::service::Service<Request<Incoming>>>::Future;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(self.caller.clone());
        request.extensions_mut().insert(Arc::clone(&self.client));
        http::recognise(&mut request);
        self.router.call(request)
    }
}

/// What a client hears that should have used TLS; nothing where its protocol has no error before a request.
fn without_tls(protocol: Protocol, date: &str) -> Vec<u8> {
    match protocol {
        Protocol::Http => format!(
            "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncache-control: no-store\r\ncontent-type: text/plain\r\ncontent-length: 35\r\n{date}\r\nthis port takes TLS: ask by https.\n"
        )
        .into_bytes(),
        Protocol::Resp => b"-ERR this port takes TLS: connect with it\r\n".to_vec(),
        Protocol::MemcachedText => b"SERVER_ERROR this port takes TLS: connect with it\r\n".to_vec(),
        Protocol::MemcachedBinary | Protocol::Thrift | Protocol::Mysql | Protocol::Tls => Vec::new(),
    }
}

/// The header with the date, for answers that are written here.
fn date_line(service: &Service) -> String {
    let (_, date) = service.date(Instant::now());
    date.map_or_else(String::new, |date| format!("date: {}\r\n", String::from_utf8_lossy(&date)))
}

/// Tells a client that there is no place, and waits for it to have read that: closing at once would take the answer
/// back from a client that is still sending.
async fn turn_away(
    mut stream: Stream,
    spoken: Spoken,
    why: NoPlace,
    date: String,
    _place: OwnedSemaphorePermit,
) {
    let why = match why {
        NoPlace::All => "all connections are taken (limits.connections): try again",
        NoPlace::Address => {
            "all connections that one address may have are taken (limits.connections_per_address): try again"
        }
    };
    let answer = match spoken {
        Spoken::Any | Spoken::Http => no_place(why, &date),
        Spoken::Resp => format!("-TRYAGAIN {why}\r\n").into(),
        Spoken::Memcached => format!("SERVER_ERROR busy: {why}\r\n").into(),
        Spoken::Thrift => Vec::new(),
        Spoken::Mysql => mysql::no_place(why),
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

/// What a client hears for whose connection there is no memory.
/// How a client that speaks HTTP/2 begins.
const HTTP2: &[u8] = b"PRI";

const BEFORE_1970: &str = "the clock of this machine shows a time before 1970, as it did when the server began: set the clock right";

const FULL: &str = "all the memory for clients is in use (limits.memory): try again";

fn no_memory(_: Full) -> io::Error {
    io::Error::new(io::ErrorKind::OutOfMemory, FULL)
}

/// The answer of HTTP, which most clients speak, or show to whoever reads their log.
fn no_place(why: &str, date: &str) -> Vec<u8> {
    let body =
        format!(r#"{{"type":"/problems/busy","title":"Busy","status":503,"detail":"{why}","instance":"/"}}"#);
    format!(
        "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\ncache-control: no-store\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\n{date}\r\n{body}",
        body.len()
    )
    .into_bytes()
}
