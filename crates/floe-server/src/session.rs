//! A connection of a protocol in which requests follow one another: reading, writing, and the bounds on both.
//!
//! A protocol is a [`Session`]: it takes the whole requests at the front of what has come, and appends its answers to
//! one buffer, which is written at once. So a pipeline of any depth costs one write for each read. A session that has
//! written [`FULL`] bytes returns, and nothing is read until the client has taken them.
//!
//! A connection without a request is closed after `limits.idle_timeout`; a request that has begun, and a login, has to be
//! whole within `limits.header_timeout`, whatever trickles in; a client that stops reading is cut off after
//! `limits.stall_timeout`.

use std::io;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use crate::config::Limits;

/// How many bytes of answers are gathered before they are written.
pub(crate) const FULL: usize = 64 << 10;

/// How much is read at once.
const READ: usize = 16 << 10;

/// How long, and how many bytes, a client may go on sending after the last answer: closing on unread bytes would take the
/// answer back.
const FAREWELL: (Duration, usize) = (Duration::from_secs(1), 1 << 20);

/// A protocol on one connection.
pub(crate) trait Session: Send {
    /// Serves the whole requests at the front of `input` and appends the answers to `output`.
    fn serve(&mut self, input: &[u8], output: &mut Vec<u8>) -> impl Future<Output = Served> + Send;

    /// What is said before the client says anything.
    fn greet(&mut self, output: &mut Vec<u8>) {
        let _ = output;
    }

    /// Whether the client may be idle now. Until it has logged in it may not: it has as long for that as for a request.
    fn may_idle(&self) -> bool {
        true
    }
}

/// What [`Session::serve`] came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Served {
    /// How many bytes of the input are done with.
    pub consumed: usize,
    pub next: Next,
}

/// What is to happen once the answers are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// What is left is less than a request.
    Read,
    /// There may be whole requests left.
    Again,
    /// The client has said goodbye, or what it says makes no sense any more.
    Close,
    /// TLS begins, with what is left of the input.
    Tls,
}

/// How a connection ended.
pub(crate) enum Ended {
    Closed,
    /// TLS begins on it, and this is the beginning.
    Tls(BytesMut),
}

/// Serves a connection to its end. `draining` turns true when the server stops: a request that is whole is answered, and
/// then the connection is closed.
pub(crate) async fn run<S, P>(
    stream: &mut S,
    session: &mut P,
    limits: &Limits,
    mut draining: watch::Receiver<bool>,
) -> io::Result<Ended>
where
    S: AsyncRead + AsyncWrite + Unpin,
    P: Session,
{
    let mut input = BytesMut::new();
    let mut output = Vec::new();
    session.greet(&mut output);
    write(stream, &mut output, limits.stall_timeout).await?;
    let limit = |idle: bool| if idle { limits.idle_timeout } else { limits.header_timeout };
    let mut idle = session.may_idle();
    let mut deadline = Instant::now() + limit(idle);
    loop {
        match read(stream, &mut input, deadline, &mut draining).await? {
            Read::Some => {}
            Read::End => {
                farewell(stream).await;
                return Ok(Ended::Closed);
            }
            Read::Late => return Err(io::Error::new(io::ErrorKind::TimedOut, "no request came in time")),
        }
        let served = loop {
            let served = session.serve(&input, &mut output).await;
            input.advance(served.consumed.min(input.len()));
            write(stream, &mut output, limits.stall_timeout).await?;
            match served.next {
                Next::Again => {}
                Next::Close => {
                    farewell(stream).await;
                    return Ok(Ended::Closed);
                }
                Next::Tls => return Ok(Ended::Tls(input)),
                Next::Read => break served,
            }
        };
        let was_idle = std::mem::replace(&mut idle, input.is_empty() && session.may_idle());
        // A request's time begins with its first byte, and does not begin anew with each.
        if idle || was_idle || served.consumed > 0 {
            deadline = Instant::now() + limit(idle);
        }
        if input.is_empty() && input.capacity() > 2 * READ {
            input = BytesMut::new();
        }
    }
}

enum Read {
    Some,
    End,
    Late,
}

/// Reads on, unless the time is over, or the server stops and no request has begun.
async fn read<S: AsyncRead + Unpin>(
    stream: &mut S,
    input: &mut BytesMut,
    deadline: Instant,
    draining: &mut watch::Receiver<bool>,
) -> io::Result<Read> {
    let begun = !input.is_empty();
    input.reserve(READ);
    tokio::select! {
        count = stream.read_buf(input) => Ok(if count? == 0 { Read::End } else { Read::Some }),
        // A sender that is gone has stopped, too.
        _ = draining.wait_for(|draining| *draining), if !begun => Ok(Read::End),
        () = sleep_until(deadline) => Ok(Read::Late),
    }
}

/// Writes everything, as long as the client takes something every now and then.
async fn write<S: AsyncWrite + Unpin>(
    stream: &mut S,
    output: &mut Vec<u8>,
    stall: Duration,
) -> io::Result<()> {
    let mut left = output.as_slice();
    while !left.is_empty() {
        let stopped = |_| io::Error::new(io::ErrorKind::TimedOut, "the client stopped reading");
        let count = timeout(stall, stream.write(left)).await.map_err(stopped)??;
        if count == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        left = left.get(count..).unwrap_or_default();
    }
    if !output.is_empty() {
        timeout(stall, stream.flush()).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    }
    output.clear();
    output.shrink_to(2 * FULL);
    Ok(())
}

/// Closes, and lets the client read what it was told.
pub(crate) async fn farewell<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut S) {
    let goodbye = async {
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
    // A client that does not listen loses nothing but the reason.
    let _ = timeout(FAREWELL.0, goodbye).await;
}
