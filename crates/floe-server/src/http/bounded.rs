//! The body of a request: bounded in bytes, in the time that a client may stay silent before its end, and, over all
//! requests together, in what the server holds of bodies that are not whole.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use http_body_util::Limited;
use tokio::time::{Instant, Sleep};

/// The most bytes that are held of all bodies together. A connection of HTTP/2 may begin a hundred requests at once.
const HELD: usize = 64 << 20;

/// See the module.
pub(super) struct Bounded {
    body: Limited<Body>,
    silence: Duration,
    sleep: Pin<Box<Sleep>>,
    held: Held,
}

/// What the server holds of bodies.
#[derive(Clone, Default)]
pub(super) struct Holding(Arc<AtomicUsize>);

/// The part of one body. Dropped, it is given back.
struct Held {
    all: Holding,
    bytes: usize,
}

impl Bounded {
    pub(super) fn new(body: Body, bytes: usize, silence: Duration, all: &Holding) -> Self {
        Self {
            body: Limited::new(body, bytes),
            silence,
            sleep: Box::pin(tokio::time::sleep(silence)),
            held: Held { all: all.clone(), bytes: 0 },
        }
    }
}

impl Held {
    /// Whether there is room for so many bytes more, which are held from then on.
    fn hold(&mut self, bytes: usize) -> bool {
        self.bytes += bytes;
        self.all.0.fetch_add(bytes, Ordering::Relaxed) + bytes <= HELD
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.all.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl http_body::Body for Bounded {
    type Data = Bytes;
    type Error = tonic::Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, tonic::Status>>> {
        let this = self.get_mut();
        let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) else {
            ready!(this.sleep.as_mut().poll(context));
            return Poll::Ready(Some(Err(tonic::Status::unavailable(
                "the next part of the request did not come in time (limits.idle_timeout, limits.header_timeout): begin it again",
            ))));
        };
        this.sleep.as_mut().reset(Instant::now() + this.silence);
        let bytes = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref().map(Bytes::len));
        if bytes.is_some_and(|bytes| !this.held.hold(bytes)) {
            return Poll::Ready(Some(Err(tonic::Status::unavailable(
                "this server holds all the requests that are not whole that it may: ask again",
            ))));
        }
        Poll::Ready(frame.map(|frame| {
            frame.map_err(|error| match error.is::<http_body_util::LengthLimitError>() {
                true => tonic::Status::resource_exhausted(
                    "the call's messages are over limits.body_bytes together: send less in one call",
                ),
                false => tonic::Status::unavailable(format!("the request broke off: {error}")),
            })
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    async fn what_all_bodies_hold_together_is_bounded_and_given_back() {
        let all = Holding::default();
        let body =
            |bytes: usize| Bounded::new(Body::from(vec![0; bytes]), HELD + 1, Duration::from_secs(20), &all);
        let mut first = body(HELD - 10);
        first.frame().await.unwrap().unwrap();
        let mut second = body(11);
        assert_eq!(second.frame().await.unwrap().unwrap_err().code(), tonic::Code::Unavailable);
        drop(second);
        body(10).frame().await.unwrap().unwrap();
        drop(first);
        body(HELD).frame().await.unwrap().unwrap();
        assert_eq!(all.0.load(Ordering::Relaxed), 0);
    }
}
