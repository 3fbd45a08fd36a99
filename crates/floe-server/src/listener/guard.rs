//! A connection that ends by itself when its client is too slow.
//!
//! Three waits are bounded. Between requests a connection may be idle for `idle_timeout`. A request whose header has
//! begun (over HTTP/2, any frame) has to be whole within `header_timeout`, whatever trickles in meanwhile. A client that
//! stops reading its answer is cut off after `stall_timeout`. While a request is being answered, the request's own
//! deadline counts.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use hyper::service::Service;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use super::frames::Frames;
use crate::config::Limits;

/// How a client that speaks HTTP/2 begins.
const HTTP2: &[u8] = b"PRI";

/// See the module.
pub(super) struct Guard<S> {
    stream: S,
    busy: Busy,
    idle: Duration,
    header: Duration,
    stall: Duration,
    /// Where a client that speaks HTTP/2 stands.
    frames: Option<Frames>,
    seen_any: bool,
    /// The requests that had begun when the reading deadline was set, and that deadline.
    reading: Option<(u64, Instant)>,
    /// Whether a byte of the next request's header has come.
    header_begun: bool,
    read_sleep: Pin<Box<Sleep>>,
    write_sleep: Option<Pin<Box<Sleep>>>,
    farewell: Option<(Pin<Box<Sleep>>, usize)>,
}

/// How long, and how many bytes, a client may go on sending after its last answer. Closing on unread bytes makes the
/// system reset the connection, which takes the answer back before the client has read it.
const FAREWELL: (Duration, usize) = (Duration::from_secs(1), 16 << 20);

/// How many requests of a connection have begun and ended.
#[derive(Clone, Default)]
pub(super) struct Busy(Arc<Counts>);

#[derive(Default)]
struct Counts {
    begun: AtomicU64,
    ended: AtomicU64,
}

impl<S> Guard<S> {
    pub(super) fn new(stream: S, limits: &Limits) -> (Self, Busy) {
        let busy = Busy::default();
        let guard = Self {
            stream,
            busy: busy.clone(),
            idle: limits.idle_timeout,
            header: limits.header_timeout,
            stall: limits.stall_timeout,
            frames: None,
            seen_any: false,
            reading: None,
            header_begun: false,
            read_sleep: Box::pin(tokio::time::sleep(limits.idle_timeout)),
            write_sleep: None,
            farewell: None,
        };
        (guard, busy)
    }

    /// Bytes have come: the first ones of a header set its deadline, all set the idle one anew.
    fn note_read(&mut self, bytes: &[u8]) {
        if !self.seen_any && !bytes.is_empty() {
            self.seen_any = true;
            self.frames = bytes.starts_with(HTTP2).then(Frames::new);
        }
        let begun = self.busy.begun();
        let same = self.reading.is_some_and(|(requests, _)| requests == begun);
        let moved_on = match &mut self.frames {
            None => !self.header_begun,
            Some(frames) => frames.is_between() | frames.read(bytes),
        };
        self.header_begun = true;
        if moved_on || !same {
            self.reading = Some((begun, Instant::now() + self.limit()));
        }
    }

    /// How long the client may take now.
    fn limit(&self) -> Duration {
        let idle = self.frames.as_ref().map_or(!self.header_begun, Frames::is_between);
        if idle { self.idle } else { self.header }
    }

    /// Nothing has come: whether the client has had its time.
    fn reading_is_over(&mut self, context: &mut Context<'_>) -> bool {
        let begun = self.busy.begun();
        if self.busy.is_busy() {
            // The request has a deadline of its own. The sleep sees to it that idleness is looked at again even where
            // nothing else wakes the connection at the end of an answer.
            self.reading = None;
            self.header_begun = false;
            self.read_sleep.as_mut().reset(Instant::now() + self.idle);
            let _ = self.read_sleep.as_mut().poll(context);
            return false;
        }
        let deadline = match self.reading {
            Some((requests, deadline)) if requests == begun => deadline,
            _ => {
                self.header_begun = false;
                let deadline = Instant::now() + self.limit();
                self.reading = Some((begun, deadline));
                deadline
            }
        };
        if self.read_sleep.deadline() != deadline {
            self.read_sleep.as_mut().reset(deadline);
        }
        self.read_sleep.as_mut().poll(context).is_ready()
    }

    /// Bounds a write that has not come to an end.
    fn writing<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.write_sleep = None;
            return written;
        }
        let stall = self.stall;
        let sleep = self.write_sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(stall)));
        match sleep.as_mut().poll(context) {
            Poll::Ready(()) => {
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client stopped reading")))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guard<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        match Pin::new(&mut this.stream).poll_read(context, buffer) {
            Poll::Ready(Ok(())) => {
                if let Some(bytes) = buffer.filled().get(before..) {
                    this.note_read(bytes);
                }
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending if this.reading_is_over(context) => {
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "no request came in time")))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Guard<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.writing(context, written)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.farewell.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
            this.farewell = Some((Box::pin(tokio::time::sleep(FAREWELL.0)), FAREWELL.1));
        }
        let Some((sleep, left)) = &mut this.farewell else { return Poll::Ready(Ok(())) };
        let mut bytes = [0; 4096];
        loop {
            let mut buffer = ReadBuf::new(&mut bytes);
            match Pin::new(&mut this.stream).poll_read(context, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() && *left > 0 => {
                    *left = left.saturating_sub(buffer.filled().len());
                    this.header_begun = true;
                }
                // The client has closed as well, or has had enough.
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                // Nothing is under way.
                Poll::Pending if !this.header_begun => return Poll::Ready(Ok(())),
                Poll::Pending => return sleep.as_mut().poll(context).map(Ok),
            }
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(context, pieces);
        this.writing(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

impl Busy {
    fn begun(&self) -> u64 {
        self.0.begun.load(Ordering::Acquire)
    }

    fn is_busy(&self) -> bool {
        self.0.ended.load(Ordering::Acquire) < self.begun()
    }

    /// The service, with its requests counted from their beginning to the end of their answers' bodies.
    pub(super) fn around<S>(self, service: S) -> Counted<S> {
        Counted { service, busy: self }
    }
}

/// A service whose requests are counted.
#[derive(Clone)]
pub(super) struct Counted<S> {
    service: S,
    busy: Busy,
}

impl<S, R> Service<R> for Counted<S>
where
    S: Service<R, Response = axum::http::Response<Body>>,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = axum::http::Response<CountedBody>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, S::Error>> + Send>>;

    fn call(&self, request: R) -> Self::Future {
        self.busy.0.begun.fetch_add(1, Ordering::AcqRel);
        let ending = Ending(self.busy.clone());
        let answer = self.service.call(request);
        Box::pin(async move { Ok(answer.await?.map(|body| CountedBody { body, _ending: ending })) })
    }
}

/// The end of a request, wherever it is dropped.
struct Ending(Busy);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.0.ended.fetch_add(1, Ordering::AcqRel);
    }
}

/// The body of an answer: its end is the request's.
pub(super) struct CountedBody {
    body: Body,
    _ending: Ending,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
