//! The accept loop: bounded connections, each served in the protocol of its port or in the one that its client's first
//! bytes show, and an orderly end.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use floe_wire::{FIRST_BYTES, Protocol};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::either::Either;

use crate::access::Origin;
use crate::clients::{Address, CLIENT, Client, Clients, NoPlace, Place};
use crate::config::{Endpoint, Limits};
use crate::fronts::{Backend, Conversation, Front, Offer, TurnedAway, http, no_memory, part};
use crate::metrics::{Counted, Metrics};
use crate::rewound::Rewound;
use crate::session::Stream;
use crate::tls::{self, Tls, TlsSettings};

mod detect;
mod sockets;

use detect::{Detected, detect};
pub(crate) use sockets::Port;
use sockets::{Door, Socket, accept_any, is_local, peer_of};

/// How many clients at once are told that all connections are taken. More are closed without an answer.
const TURNED_AWAY_AT_ONCE: usize = 64;

/// How long such a client may take to hear it.
const TURNED_AWAY_WAIT: Duration = Duration::from_secs(1);

/// Everything that listens, and the connections that came of it.
pub(crate) struct Listeners {
    sockets: Vec<Socket>,
    shared: Arc<Shared>,
}

/// What all of them share.
struct Shared {
    limits: Limits,
    metrics: Arc<Metrics>,
    clients: Arc<Clients>,
    doorstep: Arc<Semaphore>,
    connected: AtomicU64,
    tls: Option<Arc<Tls>>,
    /// When the log last had a line about a client that came and was not served.
    told: Mutex<Option<Instant>>,
}

impl Listeners {
    /// Binds all ports or none, except that optional ones may fail.
    ///
    /// # Errors
    /// The reason, as a text.
    pub(crate) async fn bind(
        ports: &[Port],
        limits: &Limits,
        tls: Option<&TlsSettings>,
        metrics: Arc<Metrics>,
    ) -> Result<Self, String> {
        let tls = tls.map(|settings| Tls::load(settings).map(Arc::new)).transpose()?;
        let mut sockets = Vec::new();
        for port in ports {
            match Socket::bind(port).await {
                Ok(socket) => sockets.push(socket),
                Err((io::ErrorKind::AddrInUse, why)) if port.optional => {
                    tracing::warn!("{why}; until then this server runs without this listener");
                }
                Err((_, why)) => return Err(why),
            }
        }
        let clients = Clients::new(limits, Handle::current().metrics().num_workers(), Arc::clone(&metrics));
        let doorstep = Arc::new(Semaphore::new(TURNED_AWAY_AT_ONCE));
        let connected = AtomicU64::new(0);
        let (limits, told) = (limits.clone(), Mutex::default());
        let shared = Shared { limits, metrics, clients, doorstep, connected, tls, told };
        Ok(Self { sockets, shared: Arc::new(shared) })
    }

    /// Where they listen, with the actual ports, and the protocol of each port if it has only one.
    pub(crate) fn endpoints(&self) -> io::Result<Vec<(Endpoint, Option<&'static Protocol>)>> {
        self.sockets.iter().map(Socket::endpoint).collect()
    }

    /// Accepts and serves until `stop` is done; then closes the listeners, lets requests finish for at most
    /// `limits.drain_timeout`, and drops what is left.
    pub(crate) async fn serve(self, backend: &Arc<Backend>, stop: impl Future<Output = ()>) {
        let (drain, draining) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        let mut watch = std::pin::pin!(self.shared.watch());
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
                    self.shared.tell(&format!("a connection could not be accepted: {error}"));
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let address = Address::of(peer_of(&stream).map(|peer| peer.ip()));
            match self.shared.clients.admit(address) {
                Ok(place) => {
                    let (shared, backend) = (Arc::clone(&self.shared), Arc::clone(backend));
                    connections.spawn(shared.connection(stream, door, place, backend, draining.clone()));
                }
                Err(why) => {
                    self.shared.metrics.turned_away.inc();
                    if let Ok(place) = Arc::clone(&self.shared.doorstep).try_acquire_owned() {
                        let date = http::date_line(&backend.service);
                        connections.spawn(turn_away(stream, door.protocol, why, date, place));
                    }
                }
            }
        }
        drop(self.sockets);
        // The receivers are the connections: there may be none.
        let _ = drain.send(true);
        let finished = async { while connections.join_next().await.is_some() {} };
        if timeout(self.shared.limits.drain_timeout, finished).await.is_err() {
            tracing::warn!("connections were still busy after limits.drain_timeout, and are closed now");
        }
        connections.shutdown().await;
    }
}

impl Shared {
    async fn connection(
        self: Arc<Self>,
        stream: sockets::Stream,
        door: Door,
        place: Place,
        backend: Arc<Backend>,
        draining: watch::Receiver<bool>,
    ) {
        self.metrics.accepted.inc();
        let _counted = Counted::new(&self.metrics.connections);
        if let Either::Left(stream) = &stream {
            // An answer is one small packet, and must not wait for another.
            let _ = stream.set_nodelay(true);
        }
        let address = peer_of(&stream).map(|peer| peer.ip());
        let client = place.client();
        let served = self.converse(client, stream, door, backend, draining);
        tokio::select! {
            ended = CLIENT.scope(Arc::clone(client), served) => {
                if let Err(error) = ended {
                    tracing::debug!("a connection ended: {error}");
                }
            }
            () = client.has_to_end() => {
                tracing::debug!(?address, "an idle or stuck connection was closed to make room for others");
            }
        }
    }

    /// Finds out the client's protocol, inside TLS if the client uses it, and serves the client.
    async fn converse(
        &self,
        client: &Arc<Client>,
        stream: sockets::Stream,
        door: Door,
        backend: Arc<Backend>,
        draining: watch::Receiver<bool>,
    ) -> io::Result<()> {
        let (peer, local) = (peer_of(&stream), is_local(&stream));
        let mut origin = Origin { protocol: "TLS", peer, local, exposed: door.exposed };
        let access = backend.service.access();
        let (mut caller, mut offer, mut _held) = (access.unknown(), Offer::None, None);
        let Some((mut told, mut stream, mut first)) =
            self.first_bytes(Box::new(stream), door, draining.clone()).await?
        else {
            return Ok(());
        };
        let must = door.exposed && self.tls.as_ref().is_some_and(|tls| !tls.plain());
        match (told, &self.tls) {
            (Detected::Tls, Some(tls)) => {
                _held = Some(client.hold_to_the_end(tls::BYTES).await.map_err(no_memory)?);
                // The memory of a handshake is allocated only for clients that use TLS.
                let shaken = Box::pin(tls.accept(stream, self.limits.header_timeout)).await?;
                caller = access.certificate(&shaken.1);
                match self.first_bytes(Box::new(shaken.0), door, draining.clone()).await? {
                    Some(within) => (told, stream, first) = within,
                    None => return Ok(()),
                }
            }
            (Detected::Tls, None) => {
                self.tell("a client wants TLS, which this server does not have: set tls, or let the client connect without");
                return part(&mut stream, tls::NO_TLS, self.limits.stall_timeout).await;
            }
            (Detected::Known(front), Some(tls)) if front.protocol.server_begins => {
                let tls = Arc::clone(tls);
                offer = if must { Offer::Must(tls) } else { Offer::May(tls) };
            }
            (Detected::Known(front), Some(_)) if must => {
                self.tell("a client without TLS was refused on a listener that other machines can reach: let it use TLS, or allow plaintext with tls.plain");
                let word = (front.turn_away)(&TurnedAway::NoTls(first), &http::date_line(&backend.service));
                return part(&mut stream, &word, self.limits.stall_timeout).await;
            }
            _ => {}
        }
        let Detected::Known(front) = told else {
            self.metrics.unknown_protocols.inc();
            return Err(io::Error::other("it speaks no protocol that is served here"));
        };
        origin.protocol = front.protocol.name;
        (front.serve)(Conversation {
            stream,
            caller: caller.from(origin),
            client: Arc::clone(client),
            backend,
            draining,
            id: self.connected.fetch_add(1, Ordering::Relaxed) + 1,
            first,
            shared: door.protocol.is_none(),
            tls: offer,
        })
        .await
    }

    /// Logs at most once a minute, so that clients do not fill the log.
    fn tell(&self, text: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.is_none_or(|told| told.elapsed() >= Duration::from_secs(60)) {
            *told = Some(Instant::now());
            tracing::warn!("{text} (logged once a minute)");
        }
    }

    /// Keeps the certificate up to date; never ends.
    async fn watch(&self) {
        match &self.tls {
            Some(tls) => tls.watch().await,
            None => std::future::pending().await,
        }
    }

    /// Reads until the client's protocol is known, or known to be none. Returns the stream, which gives the read
    /// bytes again, and the first byte. `None` if the client or the server is gone before.
    async fn first_bytes(
        &self,
        mut stream: Stream,
        door: Door,
        mut draining: watch::Receiver<bool>,
    ) -> io::Result<Option<(Detected, Stream, Option<u8>)>> {
        let mut first = Vec::with_capacity(FIRST_BYTES);
        let mut deadline = Instant::now() + self.limits.idle_timeout;
        loop {
            let detected = detect(door.protocol, &first);
            if detected != Detected::Unsure {
                let byte = first.first().copied();
                return Ok(Some((detected, Box::new(Rewound::new(first, stream)), byte)));
            }
            let mut bytes = [0; FIRST_BYTES];
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
}

/// Tells a client that there is no place, and waits until it has read the answer. Closing at once would discard the
/// answer for a client that is still sending.
async fn turn_away(
    mut stream: sockets::Stream,
    protocol: Option<&'static Protocol>,
    why: NoPlace,
    date: String,
    _place: OwnedSemaphorePermit,
) {
    let why = TurnedAway::Busy(match why {
        NoPlace::All => "all connections are taken (limits.connections): try again",
        NoPlace::Address => {
            "all connections that one address may have are taken (limits.connections_per_address): try again"
        }
    });
    let front = protocol.and_then(Front::of);
    let answer = front.map_or_else(|| http::turn_away(&why, &date), |front| (front.turn_away)(&why, &date));
    let told = async {
        stream.write_all(&answer).await?;
        stream.shutdown().await?;
        let mut rest = [0; 1024];
        while stream.read(&mut rest).await? > 0 {}
        io::Result::Ok(())
    };
    // A client that does not read loses only the reason.
    let _ = timeout(TURNED_AWAY_WAIT, told).await;
}
