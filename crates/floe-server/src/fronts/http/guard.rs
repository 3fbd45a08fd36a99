//! A connection that ends by itself when its client is too slow.
//!
//! Three waits are bounded. Between requests a connection may be idle for `idle_timeout`; a frame of HTTP/2 that asks for
//! nothing (a ping) is no request. Once a request's header has begun (over HTTP/2, any frame), it must be complete
//! within `header_timeout`, however slowly its bytes come. A client that stops reading its answers, or leaves no window for
//! them, is cut off after `stall_timeout`. While the server works on a request, the request's own deadline counts.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use hyper::service::Service;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::coop::has_budget_remaining;
use tokio::time::{Instant, Sleep};

use super::frames::Frames;
use crate::clients::Held;
use crate::config::Limits;
use crate::service::{DateText, Service as Minting};

/// How long a connection of HTTP/1 has to be idle until it rests. To begin again costs microseconds, and ten thousand clients
/// that come at once should not all have their buffers at the same time.
pub(super) const REST: Duration = Duration::from_millis(100);

/// The error that ends a connection if its client does not read.
const STOPPED_READING: &str = "the client stopped reading";

/// The error if there is no memory for an incomplete header.
const NO_MEMORY: &str = "all the memory for clients is in use (limits.memory)";

/// How a client that speaks HTTP/2 begins.
pub(super) const HTTP2: &[u8] = b"PRI";

/// See the module.
pub(super) struct Guard<S> {
    stream: S,
    busy: Busy,
    rest: Duration,
    idle: Duration,
    header: Duration,
    stall: Duration,
    /// How far a client that speaks HTTP/2 is in its frames.
    frames: Option<Frames>,
    seen_any: bool,
    /// The memory of an incomplete header or frame.
    part: Held,
    /// How far the requests were when that was looked at last, and since when they are as far.
    standing: (u64, Instant),
    /// Since when something has begun that is not whole: the next request's header, or a frame.
    part_since: Option<Instant>,
    /// Whether anything came since requests moved on.
    heard: bool,
    /// Whether the stream may hold something that is not on its way to the client.
    unflushed: bool,
    read_sleep: Pin<Box<Sleep>>,
    write_sleep: Option<Pin<Box<Sleep>>>,
    farewell: Option<(Pin<Box<Sleep>>, usize)>,
    service: Arc<Minting>,
    own: Option<OwnAnswer>,
}

/// The answer of hyper's own to a request that it cannot read, with the date that every answer has, while it is written.
struct OwnAnswer {
    bytes: Vec<u8>,
    written: usize,
    /// How many bytes it was without the date.
    asked: usize,
}

/// How long, and how many bytes, a client may keep sending after its last answer. If the server closed with unread
/// bytes, the system would reset the connection, and the client could lose the answer.
const FAREWELL: (Duration, usize) = (Duration::from_secs(1), 16 << 20);

/// How far the requests of a connection are.
#[derive(Clone, Default)]
pub(super) struct Busy(Arc<Counts>);

#[derive(Default)]
struct Counts {
    /// Grows whenever one begins, or ends, or a part of its answer is taken.
    steps: AtomicU64,
    /// Those that have begun and not ended.
    open: AtomicU64,
    /// Those of them that the server works on; the others wait for the client to take what there is.
    at_work: AtomicU64,
    /// Whether nothing has happened for the time of rest, and nothing is under way.
    rests: AtomicBool,
    /// Whether there was nothing to read.
    waited: AtomicBool,
    /// How many bytes may be read until the connection has been polled to its end.
    may_read: AtomicUsize,
}

impl<S> Guard<S> {
    /// `rest`: after how long without a request a connection of HTTP/1 [rests](Busy::rests).
    pub(super) fn new(
        stream: S,
        limits: &Limits,
        rest: Duration,
        part: Held,
        service: Arc<Minting>,
    ) -> (Self, Busy) {
        let busy = Busy::default();
        busy.may_read(usize::MAX);
        let guard = Self {
            stream,
            busy: busy.clone(),
            rest,
            idle: limits.idle_timeout,
            header: limits.header_timeout,
            stall: limits.stall_timeout,
            frames: None,
            seen_any: false,
            part,
            standing: (0, Instant::now()),
            part_since: None,
            heard: false,
            unflushed: false,
            read_sleep: Box::pin(tokio::time::sleep(limits.idle_timeout)),
            write_sleep: None,
            farewell: None,
            service,
            own: None,
        };
        (guard, busy)
    }

    /// Returns the stream.
    pub(super) fn into_inner(self) -> S {
        self.stream
    }

    /// Whether nothing is under way to the client or from it. Of HTTP/2 that is not known.
    fn is_quiet(&self) -> bool {
        self.frames.is_none()
            && self.part_since.is_none()
            && self.write_sleep.is_none()
            && self.own.is_none()
            && !self.unflushed
    }

    /// Looks how far the requests are; since when they are as far.
    fn stand(&mut self) -> Instant {
        let steps = self.busy.0.steps.load(Ordering::Acquire);
        if steps != self.standing.0 {
            self.standing = (steps, Instant::now());
            self.heard = false;
            if self.frames.is_none() {
                self.part_since = None;
                self.part.force(0);
            }
        }
        self.standing.1
    }

    /// Bytes have come: the first ones of a header, or of a frame, begin its time. Whether there is memory for them.
    fn note_read(&mut self, bytes: &[u8]) -> bool {
        if !self.seen_any && !bytes.is_empty() {
            self.seen_any = true;
            self.frames = bytes.starts_with(HTTP2).then(Frames::new);
        }
        self.stand();
        self.heard = true;
        match &mut self.frames {
            None => {
                self.part_since.get_or_insert_with(Instant::now);
                // A body counts by itself. hyper's buffer grows by doubling, and is copied.
                self.busy.0.open.load(Ordering::Acquire) > 0 || self.part.try_grow(3 * bytes.len())
            }
            Some(frames) => {
                let ended = frames.read(bytes);
                if frames.is_between() {
                    self.part_since = None;
                    self.part.force(0);
                    true
                } else {
                    if ended || self.part_since.is_none() {
                        self.part_since = Some(Instant::now());
                        self.part.force(0);
                    }
                    self.part.try_grow(bytes.len())
                }
            }
        }
    }

    /// Nothing has come: why the client has had its time, if it has.
    fn is_over(&mut self, context: &mut Context<'_>) -> Option<&'static str> {
        // A task that has used its share is told the same.
        if has_budget_remaining() {
            self.busy.0.waited.store(true, Ordering::Relaxed);
        }
        let since = self.stand();
        let counts = &self.busy.0;
        let (open, at_work) = (counts.open.load(Ordering::Acquire), counts.at_work.load(Ordering::Acquire));
        let (deadline, why) = if at_work > 0 {
            // The request has a deadline of its own. The sleep makes sure that this is checked again even if nothing
            // else wakes the connection.
            (Instant::now() + self.idle.min(self.stall), "")
        } else if open > 0 {
            (since + self.stall, STOPPED_READING)
        } else {
            let deadline = match self.part_since {
                // However many parts there are, they come to no more time than one.
                Some(part) => part.clamp(since, since + self.idle) + self.header,
                None => since + self.idle,
            };
            (deadline, "no request came in time")
        };
        if open == 0 && self.is_quiet() && since + self.rest < deadline {
            if !self.sleep_until(since + self.rest, context) {
                return None;
            }
            self.busy.0.rests.store(true, Ordering::Release);
        }
        self.sleep_until(deadline, context).then_some(why)
    }

    /// Whether it is so late; if not, the connection is woken then.
    fn sleep_until(&mut self, deadline: Instant, context: &mut Context<'_>) -> bool {
        if self.read_sleep.deadline() != deadline {
            self.read_sleep.as_mut().reset(deadline);
        }
        self.read_sleep.as_mut().poll(context).is_ready()
    }

    /// Bounds a write that has not come to an end.
    fn writing<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.write_sleep = None;
            // Bytes written over HTTP/2 need not belong to an answer.
            if self.frames.is_none() {
                self.busy.step();
            }
            return written;
        }
        let stall = self.stall;
        let sleep = self.write_sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(stall)));
        match sleep.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, STOPPED_READING))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncWrite + Unpin> Guard<S> {
    /// Writes what hyper wants written; an answer of its own gets a date.
    fn write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if self.own.is_none()
            && self.frames.is_none()
            && let Some(at) = own_answer(bytes)
            && let (_, Some(date)) = self.service.date(Instant::now())
        {
            if let before @ [_, ..] = bytes.get(..at).unwrap_or_default() {
                return Pin::new(&mut self.stream).poll_write(context, before);
            }
            self.own = Some(OwnAnswer { bytes: dated(bytes, &date), written: 0, asked: bytes.len() });
        }
        let Some(own) = &mut self.own else { return Pin::new(&mut self.stream).poll_write(context, bytes) };
        while let rest @ [_, ..] = own.bytes.get(own.written..).unwrap_or_default() {
            match ready!(Pin::new(&mut self.stream).poll_write(context, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => own.written += count,
            }
        }
        let asked = own.asked;
        self.own = None;
        Poll::Ready(Ok(asked))
    }
}

/// Where an answer of hyper's own begins among what is written, which it ends: an error without a body and without a date.
/// hyper says nothing behind it.
fn own_answer(bytes: &[u8]) -> Option<usize> {
    let head = bytes.strip_suffix(b"\r\n\r\n")?;
    let at = head.windows(7).rposition(|seven| seven == b"HTTP/1.")?;
    let mut lines = head.get(at..)?.split(|byte| *byte == b'\n');
    let is_error = lines.next()?.get(8..10) == Some(b" 4");
    let mut no_body = false;
    for line in lines {
        no_body |= line.trim_ascii_end() == b"content-length: 0";
        if line.trim_ascii().is_empty()
            || line.get(..5).is_some_and(|name| name.eq_ignore_ascii_case(b"date:"))
        {
            return None;
        }
    }
    (is_error && no_body).then_some(at)
}

fn dated(answer: &[u8], date: &DateText) -> Vec<u8> {
    let head = answer.strip_suffix(b"\r\n").unwrap_or(answer);
    [head, b"cache-control: no-store\r\ndate: ", date.as_slice(), b"\r\n\r\n"].concat()
}

impl<S: AsyncRead + Unpin> AsyncRead for Guard<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let most = this.busy.0.may_read.load(Ordering::Relaxed);
        if most == 0 {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let polled = if buffer.remaining() <= most {
            Pin::new(&mut this.stream).poll_read(context, buffer)
        } else {
            let mut part = ReadBuf::new(buffer.initialize_unfilled_to(most));
            let polled = Pin::new(&mut this.stream).poll_read(context, &mut part);
            let count = part.filled().len();
            buffer.advance(count);
            polled
        };
        match polled {
            Poll::Ready(Ok(())) => {
                let bytes = buffer.filled().get(before..).unwrap_or_default();
                this.busy.may_read(most.saturating_sub(bytes.len()));
                match this.note_read(bytes) {
                    true => Poll::Ready(Ok(())),
                    false => Poll::Ready(Err(io::Error::new(io::ErrorKind::OutOfMemory, NO_MEMORY))),
                }
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => match this.is_over(context) {
                Some(why) => Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why))),
                None => Poll::Pending,
            },
        }
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Guard<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = this.write(context, bytes);
        this.writing(context, written)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.stream).poll_flush(context);
        this.unflushed = flushed.is_pending();
        flushed
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
                    this.heard = true;
                }
                // The client has closed as well, or has had enough.
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                // Nothing is under way.
                Poll::Pending if !this.heard => return Poll::Ready(Ok(())),
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
        let last = pieces.iter().rposition(|piece| !piece.is_empty());
        let written = match last.and_then(|last| Some((last, pieces.get(last)?))) {
            Some((last, piece)) if this.own.is_some() || own_answer(piece).is_some() => {
                // First the pieces before it, then this piece alone.
                match pieces.get(..last).filter(|before| before.iter().any(|piece| !piece.is_empty())) {
                    Some(before) if this.own.is_none() => {
                        Pin::new(&mut this.stream).poll_write_vectored(context, before)
                    }
                    _ => this.write(context, piece),
                }
            }
            _ => Pin::new(&mut this.stream).poll_write_vectored(context, pieces),
        };
        this.writing(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

impl Busy {
    fn step(&self) {
        self.0.steps.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether nothing has happened for the time of rest, and nothing is under way.
    pub(super) fn rests(&self) -> bool {
        self.0.rests.load(Ordering::Acquire)
    }

    /// Lets so many bytes be read.
    pub(super) fn may_read(&self, bytes: usize) {
        self.0.may_read.store(bytes, Ordering::Relaxed);
    }

    /// Whether there was nothing to read at some time since this was asked last.
    pub(super) fn has_waited(&self) -> bool {
        self.0.waited.swap(false, Ordering::Relaxed)
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
        let mut open = Open::new(self.busy.clone());
        let answer = self.service.call(request);
        Box::pin(async move {
            let answer = answer.await?;
            open.work(false);
            Ok(answer.map(|body| CountedBody { body, open }))
        })
    }
}

/// A request from its beginning to its end, wherever it is dropped.
struct Open {
    busy: Busy,
    at_work: bool,
}

impl Open {
    fn new(busy: Busy) -> Self {
        busy.0.open.fetch_add(1, Ordering::AcqRel);
        let mut new = Self { busy, at_work: false };
        new.work(true);
        new
    }

    /// Notes a step of it, and whether the server works on it from there on.
    fn work(&mut self, at_work: bool) {
        match (std::mem::replace(&mut self.at_work, at_work), at_work) {
            (false, true) => self.busy.0.at_work.fetch_add(1, Ordering::AcqRel),
            (true, false) => self.busy.0.at_work.fetch_sub(1, Ordering::AcqRel),
            _ => 0,
        };
        self.busy.step();
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.work(false);
        self.busy.0.open.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The body of an answer: its end is the request's.
pub(super) struct CountedBody {
    body: Body,
    open: Open,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        let frame = Pin::new(&mut this.body).poll_frame(context);
        this.open.work(frame.is_pending());
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
