//! A connection of a protocol with one request after another: reading, writing, and the limits of both.
//!
//! A protocol is a [`Session`]: it takes the request at the front of what has come, and appends its answer to one buffer,
//! which is written when no whole request is left. So a pipeline of any depth costs one write for each read. Once
//! [`FULL`] bytes wait, nothing is served or read until the client has taken them.
//!
//! What a connection's buffers hold counts in [`clients`](crate::clients), and nothing is served for which there is no room.
//!
//! A connection without a request is closed after `limits.idle_timeout`, whatever else it sends. Only a command that
//! gets an answer counts as a request; an empty line does not. Once a request or a login has begun, it must be
//! complete within `limits.header_timeout`, however slowly its bytes come. A client that stops reading is cut off
//! after `limits.stall_timeout`.

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BytesMut};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::sync::watch;
use tokio::task::coop::has_budget_remaining;
use tokio::task::yield_now;
use tokio::time::{Instant, Sleep, sleep, sleep_until, timeout};

use crate::clients::{A_TURN, Client, Full, Held, READ, SHARE, Turn};
use crate::config::Limits;
use crate::status::Refusal;

/// How many bytes of answers are gathered before they are written.
pub(crate) const FULL: usize = 64 << 10;

/// How large a connection's buffers stay: most connections wait most of the time, and there may be many.
pub(crate) const KEPT: usize = 4 << 10;

/// How many bytes of answer to expect at least for each byte of a request.
const ANSWERED: usize = 16;

/// How long, and how many bytes, a client may keep sending after the last answer. If the server closed with unread
/// bytes, the client could lose the answer.
const FAREWELL: (Duration, usize) = (Duration::from_secs(1), 1 << 20);

/// How long an answer that is ready may wait for those of the next requests: each may have to wait for a ledger.
const PROMPT: Duration = Duration::from_millis(5);

/// Whether what has been answered since a session began to serve should be written before anything else is served.
pub(crate) fn is_due(output: &[u8], since: Instant) -> bool {
    is_due_by(output, since, PROMPT)
}

fn is_due_by(output: &[u8], since: Instant, prompt: Duration) -> bool {
    output.len() >= FULL || (!output.is_empty() && since.elapsed() >= prompt)
}

/// A connection, as its front sees it.
pub(crate) type Stream = Box<dyn Duplex>;

/// What can be read from and written to: TCP, a unix socket, or TLS on one of them.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Duplex for S {}

/// A protocol on one connection.
pub(crate) trait Session: Send {
    /// Serves the request at the front of `input` and appends its answer to `output`; `None` if less than a request has
    /// come. What came together has been served `since` then.
    ///
    /// A request may be gathered with those that follow it, until [`flush`](Self::flush) answers all of them.
    fn take(
        &mut self,
        input: &[u8],
        output: &mut Vec<u8>,
        since: Instant,
    ) -> impl Future<Output = Option<Taken>> + Send;

    /// Answers what has been gathered; whether the connection can go on.
    fn flush(&mut self, output: &mut Vec<u8>) -> impl Future<Output = bool> + Send {
        let _ = output;
        async { true }
    }

    /// The bytes that it holds from one call of [`serve`](Self::serve) to the next, beside its input and its output.
    fn keeps(&self) -> usize {
        0
    }

    /// Says why a request that has begun is not served, before the connection is closed.
    fn busy(&mut self, refusal: Refusal, output: &mut Vec<u8>) {
        let _ = (refusal, output);
    }

    /// Is told how long the last call of [`serve`](Self::serve) took.
    fn took(&mut self, time: Duration);

    /// What is said before the client says anything.
    fn greet(&mut self, output: &mut Vec<u8>) {
        let _ = output;
    }

    /// Whether the client may be idle now. Until it has logged in it may not: it has as long for that as for a request.
    fn may_idle(&self) -> bool {
        true
    }
}

/// How many bytes of the input are done with, and what is to happen next.
pub(crate) type Taken = (usize, Next);

/// Serves the whole requests at the front of `input`, which it began to do at `since`, until the answers are [due](is_due)
/// or `prompt` is over.
pub(crate) async fn serve(
    session: &mut impl Session,
    input: &[u8],
    output: &mut Vec<u8>,
    since: Instant,
    prompt: Duration,
) -> Taken {
    let mut consumed = 0;
    let mut next = Next::Again;
    while !is_due_by(output, since, prompt) {
        let rest = input.get(consumed..).unwrap_or_default();
        let Some((bytes, after)) = session.take(rest, output, since).await else {
            next = Next::Read;
            break;
        };
        consumed += bytes;
        if after != Next::Read {
            next = after;
            break;
        }
    }
    match session.flush(output).await {
        true => (consumed, next),
        false => (consumed, Next::Close),
    }
}

/// What is to happen after a request, or once the answers are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// The next request may follow; or what is left is less than one.
    Read,
    /// The client should have what there is before anything else is served.
    Again,
    /// The rest, and all that follows, is served elsewhere.
    HandOver,
    /// The client has said goodbye, or what it says makes no sense any more.
    Close,
}

/// Serves a connection to its end, or until the session has handed it over: then what was read of the next request is
/// returned. `draining` changes when the server stops: a request that is whole is answered, and then the connection is
/// closed.
///
/// What that takes is allocated here, so that a connection which has not said anything yet does not hold the room for the
/// most demanding protocol.
pub(crate) fn run<'a>(
    stream: &'a mut Stream,
    session: &'a mut impl Session,
    client: &'a Arc<Client>,
    limits: &'a Limits,
    draining: watch::Receiver<bool>,
) -> BoxFuture<'a, io::Result<Option<Vec<u8>>>> {
    Box::pin(to_its_end(stream, session, client, limits, draining))
}

/// [`run`], in the room of the future that calls it.
pub(crate) async fn to_its_end(
    stream: &mut Stream,
    session: &mut impl Session,
    client: &Arc<Client>,
    limits: &Limits,
    draining: watch::Receiver<bool>,
) -> io::Result<Option<Vec<u8>>> {
    let mut held = client.nothing();
    match serve_all(stream, session, client, limits, draining, &mut held).await? {
        End::HandOver(rest) => Ok(Some(rest)),
        End::Farewell => {
            // Only that is left: the buffers are gone.
            held.force(session.keeps());
            farewell(stream).await;
            Ok(None)
        }
    }
}

/// How the serving of a connection ended.
enum End {
    /// What was read of the next request is served elsewhere.
    HandOver(Vec<u8>),
    /// All answers are written.
    Farewell,
}

async fn serve_all(
    stream: &mut Stream,
    session: &mut impl Session,
    client: &Arc<Client>,
    limits: &Limits,
    draining: watch::Receiver<bool>,
    held: &mut Held,
) -> io::Result<End> {
    let mut input = BytesMut::new();
    let mut output = Vec::new();
    let mut buffers = Buffers { held, input: 0 };
    session.greet(&mut output);
    write(stream, &mut output, limits.stall_timeout).await?;
    let mut idle = session.may_idle();
    let mut idle_until = Instant::now() + limits.idle_timeout;
    let deadline = if idle { idle_until } else { Instant::now() + limits.header_timeout };
    let mut told = draining.clone();
    let mut waits = Waits {
        deadline,
        sleep: pin!(sleep_until(deadline)),
        // A sender that is gone has stopped, too.
        told: pin!(async move { drop(told.changed().await) }.fuse()),
        draining,
        set: false,
        waited: false,
    };
    // How long the client has been served since it last had nothing to ask.
    let mut served = Duration::ZERO;
    loop {
        match read(stream, &mut input, &mut waits, client.may_read()).await? {
            Read::Some => {}
            Read::End => return Ok(End::Farewell),
            Read::Late => return Err(io::Error::new(io::ErrorKind::TimedOut, "no request came in time")),
        }
        let mut turn = None;
        if std::mem::take(&mut waits.waited) {
            served = Duration::ZERO;
        } else if served >= SHARE {
            turn = Some(client.turn().await);
            // Now the rest of what has come. This waits for nothing, so what ends a wait must not be set here.
            poll_fn(|context| match poll_take(stream, &mut input, A_TURN, context) {
                Poll::Ready(taken) => Poll::Ready(taken.map(drop)),
                Poll::Pending => {
                    waits.waited = has_budget_remaining();
                    Poll::Ready(Ok(()))
                }
            })
            .await?;
        }
        let (mut consumed_any, mut answered) = (false, false);
        let now = loop {
            let room = in_turn(&mut turn, pin!(buffers.expect(&input, session.keeps()))).await;
            if let Err(full) = room {
                session.busy(full.into(), &mut output);
                // Thousands may be refused at once, and what they sent is not counted.
                drop(input);
                write(stream, &mut output, limits.stall_timeout).await?;
                return Ok(End::Farewell);
            }
            let since = Instant::now();
            let (consumed, next) = {
                let _at_work = client.at_work();
                let prompt = if turn.is_some() { PROMPT } else { SHARE };
                in_turn(&mut turn, pin!(serve(session, &input, &mut output, since, prompt))).await
            };
            drop(turn.take());
            let mut now = Instant::now();
            served += now - since;
            buffers.hold(&output, session.keeps());
            session.took(now - since);
            input.advance(consumed.min(input.len()));
            consumed_any |= consumed > 0;
            answered |= !output.is_empty();
            if write(stream, &mut output, limits.stall_timeout).await? {
                now = Instant::now();
            }
            buffers.held.goes_on();
            match next {
                // One slow request needs no turn: when its input is used up, there may be nothing left to do. A pause here
                // would let the next request come, as if it had been there.
                Next::Again if consumed > 0 && input.is_empty() => {}
                // After this much work for one client, others are served.
                Next::Again if served < SHARE => yield_now().await,
                Next::Again => turn = Some(client.turn().await),
                Next::Close => return Ok(End::Farewell),
                Next::HandOver => return Ok(End::HandOver(input.to_vec())),
                Next::Read => break now,
            }
        };
        let was_idle = std::mem::replace(&mut idle, input.is_empty() && session.may_idle());
        if answered {
            client.touch();
            idle_until = now + limits.idle_timeout;
        }
        // A request's time begins with its first byte. Later bytes do not restart it, nor does input that is not a
        // request.
        if idle {
            waits.deadline = idle_until;
        } else if was_idle || consumed_any {
            waits.deadline = now.min(idle_until) + limits.header_timeout;
        }
        // Whoever waits for a turn may wait long.
        if input.capacity() > KEPT && (input.is_empty() || (served >= SHARE && input.len() < KEPT)) {
            input = BytesMut::from(&*input);
            buffers.input = input.capacity();
        }
        buffers.hold(&output, session.keeps());
    }
}

/// Ends the turn as soon as there is something to wait for.
async fn in_turn<T>(turn: &mut Option<Turn>, mut work: Pin<&mut impl Future<Output = T>>) -> T {
    poll_fn(|context| {
        let polled = work.as_mut().poll(context);
        if polled.is_pending() {
            *turn = None;
        }
        polled
    })
    .await
}

/// The memory of a connection's buffers, beyond the part that is not counted.
struct Buffers<'h> {
    held: &'h mut Held,
    /// The most room that the input has had since it was made.
    input: usize,
}

impl Buffers<'_> {
    /// Waits for memory for the input and for the least size of its answers.
    async fn expect(&mut self, input: &BytesMut, kept: usize) -> Result<(), Full> {
        self.input = self.input.max(input.capacity());
        let answers = input.len().saturating_mul(ANSWERED).min(FULL);
        let bytes = self.input.saturating_sub(KEPT) + answers.saturating_sub(KEPT) + kept;
        if bytes <= self.held.bytes() {
            return Ok(());
        }
        self.held.resize(bytes).await
    }

    /// Counts what is there, whether there is room or not: an answer has been made.
    fn hold(&mut self, output: &Vec<u8>, kept: usize) {
        self.held.force(self.input.saturating_sub(KEPT) + output.capacity().saturating_sub(KEPT) + kept);
    }
}

enum Read {
    Some,
    End,
    Late,
}

/// What ends the wait for a request: its deadline, and the end of the server.
///
/// Setting a timer and a listener for each request would cost more than most requests do. A connection is one task
/// with one waker, so both are set once. The listener stays. When the timer fires, it is set to the current deadline.
struct Waits<'a, T> {
    deadline: Instant,
    /// Never set to later than the deadline.
    sleep: Pin<&'a mut Sleep>,
    told: Pin<&'a mut T>,
    draining: watch::Receiver<bool>,
    /// Whether both wake this task.
    set: bool,
    /// Whether there was nothing to read.
    waited: bool,
}

impl<T: Future<Output = ()>> Waits<'_, T> {
    /// Whether the wait is over without input. `begun`: a request has begun, and may still become complete when the server stops.
    fn poll(&mut self, context: &mut Context<'_>, begun: bool) -> Poll<Read> {
        // A task that has used its share runs again in any case, and need not set anything now.
        if !has_budget_remaining() {
            return Poll::Pending;
        }
        self.waited = true;
        if self.deadline < self.sleep.deadline() {
            self.sleep.as_mut().reset(self.deadline);
            self.set = false;
        }
        if !self.set {
            // The check below finds whether the time is over.
            let _ = self.told.as_mut().poll(context);
            let _ = self.sleep.as_mut().poll(context);
            self.set = true;
        }
        if !begun && self.draining.has_changed().unwrap_or(true) {
            return Poll::Ready(Read::End);
        }
        while self.sleep.is_elapsed() {
            if self.deadline <= self.sleep.deadline() {
                return Poll::Ready(Read::Late);
            }
            self.sleep.as_mut().reset(self.deadline);
            let _ = self.sleep.as_mut().poll(context);
        }
        Poll::Pending
    }
}

/// Reads on, at most so many bytes, unless the time is over, or the server stops and no request has begun.
async fn read<T: Future<Output = ()>>(
    stream: &mut Stream,
    input: &mut BytesMut,
    waits: &mut Waits<'_, T>,
    most: usize,
) -> io::Result<Read> {
    let begun = !input.is_empty();
    poll_fn(|context| match poll_take(stream, input, most, context) {
        Poll::Ready(taken) => Poll::Ready(taken.map(|count| if count > 0 { Read::Some } else { Read::End })),
        Poll::Pending => waits.poll(context, begun).map(Ok),
    })
    .await
}

/// Takes what has come, at most so many bytes, and returns how many: none at the end of the stream.
fn poll_take(
    stream: &mut Stream,
    input: &mut BytesMut,
    most: usize,
    context: &mut Context<'_>,
) -> Poll<io::Result<usize>> {
    // On the stack, so that a waiting connection holds no memory for later input.
    let mut room = [const { MaybeUninit::uninit() }; READ];
    let mut come = ReadBuf::uninit(room.get_mut(..most).unwrap_or_default());
    ready!(Pin::new(stream).poll_read(context, &mut come))?;
    input.extend_from_slice(come.filled());
    Poll::Ready(Ok(come.filled().len()))
}

/// Writes everything, as long as the client takes something every now and then; whether it had to be waited for.
async fn write(stream: &mut Stream, output: &mut Vec<u8>, stall: Duration) -> io::Result<bool> {
    if output.is_empty() {
        return Ok(false);
    }
    let (mut left, mut waited) = (output.as_slice(), false);
    let mut stalled: Option<Pin<Box<Sleep>>> = None;
    poll_fn(|context| {
        loop {
            let progress = match left {
                [] => Pin::new(&mut *stream).poll_flush(context).map_ok(|()| 0),
                _ => Pin::new(&mut *stream).poll_write(context, left),
            };
            match progress {
                Poll::Ready(Ok(0)) if left.is_empty() => return Poll::Ready(Ok(())),
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(count)) => {
                    left = left.get(count..).unwrap_or_default();
                    stalled = None;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    waited = true;
                    let sleep = stalled.get_or_insert_with(|| Box::pin(sleep(stall)));
                    let late = || Err(io::Error::new(io::ErrorKind::TimedOut, "the client stopped reading"));
                    return sleep.as_mut().poll(context).map(|()| late());
                }
            }
        }
    })
    .await?;
    output.clear();
    output.shrink_to(KEPT);
    Ok(waited)
}

/// Closes, and lets the client read the last answer. The memory for that is allocated now, not with the connection.
pub(crate) fn farewell(stream: &mut Stream) -> BoxFuture<'_, ()> {
    let goodbye = async move {
        stream.shutdown().await?;
        let (mut rest, mut left) = ([0; 4096], FAREWELL.1);
        while left > 0 {
            match stream.read(&mut rest).await? {
                0 => break,
                count => left = left.saturating_sub(count),
            }
        }
        io::Result::Ok(())
    };
    // A client that does not read loses only the reason.
    Box::pin(timeout(FAREWELL.0, goodbye).map(drop))
}

#[cfg(test)]
mod tests;
