//! A connection of HTTP: plain requests are answered without hyper, and hyper serves all others. A connection of HTTP/1 that
//! has asked for nothing for a tenth of a second is taken back from hyper, whose buffers are most of what an idle connection costs.
//! It is taken back at once if it came to hyper for one wait, as for a new window.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use floe_wire::http::PROTOCOL;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::sync::watch;
use tokio::time::Instant;

use super::guard::{Busy, Counted, Guard, HTTP2, REST};
use super::plain::Plain;
use super::{spring, thread_date};
use crate::access::Caller;
use crate::clients::{A_TURN, Client, LITTLE, SHARE, Turn};
use crate::config::Limits;
use crate::fronts::{Conversation, FULL, Front, TurnedAway, part};
use crate::rewound::Rewound;
use crate::service::Service;
use crate::session;

/// HTTP/1 and HTTP/2.
pub(crate) const FRONT: Front = Front { protocol: &PROTOCOL, serve, turn_away, counters: &[] };

/// The memory of a connection that hyper serves, without its task, in bytes: two buffers of fixed size, and its state.
const HYPER: usize = 16 << 10;

const BEFORE_1970: &str = "the clock of this machine shows a time before 1970, as it did when the server began: set the clock right";

/// What is answered then to whoever asks whether the process runs: it does, and serves what needs no hyper.
const ALIVE: &[u8] = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncache-control: no-store\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: 3\r\n\r\nok\n";

fn serve(conversation: Conversation) -> BoxFuture<'static, io::Result<()>> {
    Box::pin(async move {
        let Conversation { mut stream, caller, client, backend, draining, .. } = conversation;
        let (service, limits) = (&backend.service, &backend.limits);
        let mut first = true;
        loop {
            let (left, rest) = {
                let mut plain = Plain::new(service, caller.clone(), limits, first);
                let left = session::run(&mut stream, &mut plain, &client, limits, draining.clone()).await?;
                (left, if plain.comes_back() { Duration::ZERO } else { REST })
            };
            first = false;
            let Some(mut left) = left else { return Ok(()) };
            if thread_date::is_missing() && !left.starts_with(HTTP2) {
                let said = if left.starts_with(b"GET /livez ") { ALIVE } else { &busy(BEFORE_1970, "") };
                return part(&mut stream, said, limits.stall_timeout).await;
            }
            // With TLS, this is included in the cost of TLS.
            let Ok(_held) = client.hold_to_the_end(HYPER).await else {
                // Thousands may be refused at once, and what they sent is not counted.
                drop(left);
                return part(&mut stream, &busy(FULL, &date_line(service)), limits.stall_timeout).await;
            };
            // What has come of a next request is hyper's as well.
            while !left.is_empty() {
                let is_2 = left.starts_with(HTTP2);
                let rewound = Rewound::new(left, stream);
                let (guard, busy) = Guard::new(rewound, limits, rest, client.nothing(), Arc::clone(service));
                let router = TowerToHyperService::new(backend.router());
                let introduced = Introduced { router, caller: caller.clone(), client: Arc::clone(&client) };
                let requests = busy.clone().around(introduced);
                if is_2 {
                    return by_http2(guard, requests, busy, &client, limits, draining).await;
                }
                match by_http1(guard, requests, busy, &client, limits, draining.clone()).await? {
                    Some(idle) => (left, stream) = idle,
                    None => return Ok(()),
                }
            }
        }
    })
}

type Guarded = Guard<Rewound<session::Stream>>;

/// A connection that hyper gives back: what has come of a next request, and the stream.
type Idle = (Vec<u8>, session::Stream);

/// The gate refuses requests over the limits with an explanation. hyper refuses those over twice the limits without
/// reading them.
fn most_header(limits: &Limits) -> usize {
    2 * (limits.header_bytes + limits.uri_bytes)
}

/// Serves HTTP/2 to its end. Its memory is allocated here, and only once: a future that awaited another one would
/// reserve the memory twice.
fn by_http2(
    guard: Guarded,
    requests: Counted<Introduced>,
    busy: Busy,
    client: &Arc<Client>,
    limits: &Limits,
    mut draining: watch::Receiver<bool>,
) -> BoxFuture<'static, io::Result<()>> {
    let begun = Begun::default();
    let mut builder = http2::Builder::new(begun.clone());
    builder
        // No Date of hyper's, which panics while the clock stands before 1970: the gate writes one.
        .auto_date_header(false)
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(u32::try_from(most_header(limits)).unwrap_or(u32::MAX))
        .initial_stream_window_size(64 << 10)
        .initial_connection_window_size(256 << 10)
        .max_send_buf_size(64 << 10)
        // So many requests that were taken back before they began are an attack. Among the few bytes that are read at once
        // there are seldom more.
        .max_pending_accept_reset_streams(8);
    let connection = builder.serve_connection(TokioIo::new(guard), requests);
    let mut turns = InTurns::new(Arc::clone(client), busy);
    Box::pin(async move {
        let mut connection = pin!(connection);
        let mut running = FuturesUnordered::new();
        let mut stops = pin!(draining.wait_for(|draining| *draining));
        let mut stopped = false;
        poll_fn(|context| {
            // A sender that is gone has stopped, too.
            if !stopped && stops.as_mut().poll(context).is_ready() {
                stopped = true;
                connection.as_mut().graceful_shutdown();
            }
            turns.poll(context, |context| {
                loop {
                    if let Poll::Ready(ended) = connection.as_mut().poll(context) {
                        return Poll::Ready(ended);
                    }
                    running.extend(begun.take());
                    match running.poll_next_unpin(context) {
                        // Its answer may be written.
                        Poll::Ready(Some(())) => {}
                        Poll::Ready(None) | Poll::Pending => return Poll::Pending,
                    }
                }
            })
        })
        .await
        .map_err(io::Error::other)
    })
}

/// The requests of a connection of HTTP/2 that have begun. They run in the connection's task: as tasks of their own, a
/// hundred requests of each of some thousand connections would all begin, and take memory, before the first was answered.
#[derive(Clone, Default)]
struct Begun(Arc<Mutex<Vec<BoxFuture<'static, ()>>>>);

impl Begun {
    fn take(&self) -> Vec<BoxFuture<'static, ()>> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Begun {
    fn execute(&self, request: F) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Box::pin(request));
    }
}

/// Serves HTTP/1 to its end, or until it is idle.
fn by_http1(
    guard: Guarded,
    requests: Counted<Introduced>,
    busy: Busy,
    client: &Arc<Client>,
    limits: &Limits,
    mut draining: watch::Receiver<bool>,
) -> BoxFuture<'static, io::Result<Option<Idle>>> {
    let mut builder = http1::Builder::new();
    builder.auto_date_header(false).timer(TokioTimer::new()).max_buf_size(most_header(limits).max(16 << 10));
    if limits.header_count >= 100 {
        builder.max_headers(limits.header_count + 1);
    }
    let mut connection = builder.serve_connection(TokioIo::new(guard), requests);
    let mut turns = InTurns::new(Arc::clone(client), busy.clone());
    Box::pin(async move {
        let ended = {
            let mut stops = pin!(draining.wait_for(|draining| *draining));
            let mut stopped = false;
            poll_fn(|context| {
                if !stopped && stops.as_mut().poll(context).is_ready() {
                    stopped = true;
                    Pin::new(&mut connection).graceful_shutdown();
                }
                match turns.poll(context, |context| Pin::new(&mut connection).poll(context)) {
                    Poll::Pending if busy.rests() && !stopped => Poll::Ready(None),
                    polled => polled.map(Some),
                }
            })
            .await
        };
        if let Some(ended) = ended {
            return ended.map(|()| None).map_err(io::Error::other);
        }
        let parts = connection.into_parts();
        let (unread, stream) = parts.io.into_inner().into_inner().into_parts();
        Ok(Some(([&parts.read_buf, unread.as_slice()].concat(), stream)))
    })
}

/// Polls a connection of hyper's, which pauses now and then, [in turns](crate::clients) once its client has been
/// served for long enough.
struct InTurns {
    client: Arc<Client>,
    busy: Busy,
    /// How long the client has been served since it last had nothing to ask.
    served: Duration,
    next: Option<BoxFuture<'static, Turn>>,
}

impl InTurns {
    fn new(client: Arc<Client>, busy: Busy) -> Self {
        Self { client, busy, served: Duration::ZERO, next: None }
    }

    fn poll<T>(
        &mut self,
        context: &mut Context<'_>,
        connection: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let turn = match &mut self.next {
            Some(next) => Some(ready!(next.as_mut().poll(context))),
            None => None,
        };
        self.next = None;
        self.busy.may_read(if turn.is_some() { A_TURN } else { LITTLE });
        let since = Instant::now();
        let polled = connection(context);
        drop(turn);
        self.served = if self.busy.has_waited() { Duration::ZERO } else { self.served + since.elapsed() };
        if self.served >= SHARE {
            self.next = Some(self.client.turn());
        }
        polled
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
        spring::recognise(&mut request);
        self.router.call(request)
    }
}

/// The header with the date, for answers that are written here.
pub(crate) fn date_line(service: &Service) -> String {
    let (_, date) = service.date(Instant::now());
    date.map_or_else(String::new, |date| format!("date: {}\r\n", String::from_utf8_lossy(&date)))
}

/// The answer to a client that is not served. Most clients speak HTTP, or show the text in their log.
pub(crate) fn turn_away(why: &TurnedAway<'_>, date: &str) -> Vec<u8> {
    match why {
        TurnedAway::Busy(why) => busy(why, date),
        TurnedAway::NoTls(_) => format!(
            "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncache-control: no-store\r\ncontent-type: text/plain\r\ncontent-length: 35\r\n{date}\r\nthis port takes TLS: ask by https.\n"
        )
        .into_bytes(),
    }
}

fn busy(why: &str, date: &str) -> Vec<u8> {
    let body =
        format!(r#"{{"type":"/problems/busy","title":"Busy","status":503,"detail":"{why}","instance":"/"}}"#);
    format!(
        "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 1\r\ncache-control: no-store\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\n{date}\r\n{body}",
        body.len()
    )
    .into_bytes()
}
