//! The body of a request: bounded in bytes, in the time that a client may stay silent before its end, and, as a part of
//! what is [held for all clients](crate::clients), in what the server holds of bodies that are not whole.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use http_body_util::Limited;
use tokio::time::{Instant, Sleep};

use crate::clients::Held;

/// See the module.
pub(super) struct Bounded {
    body: Limited<Body>,
    silence: Duration,
    sleep: Pin<Box<Sleep>>,
    held: Held,
}

impl Bounded {
    pub(super) fn new(body: Body, bytes: usize, silence: Duration, held: Held) -> Self {
        Self { body: Limited::new(body, bytes), silence, sleep: Box::pin(tokio::time::sleep(silence)), held }
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
        if bytes.is_some_and(|bytes| !this.held.try_grow(bytes)) {
            return Poll::Ready(Some(Err(tonic::Status::unavailable(
                "all the memory for requests that are not whole is in use (limits.memory): ask again",
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
    use std::sync::Arc;

    use http_body_util::BodyExt;

    use super::*;
    use crate::clients::{Address, Clients, handed_out};
    use crate::config::Limits;
    use crate::metrics::Metrics;

    #[tokio::test]
    async fn what_all_bodies_hold_together_is_bounded_and_given_back() {
        const MEMORY: usize = 64 << 20;
        const MOST: usize = handed_out(MEMORY) / 8 * 7;
        let limits = Limits { memory: MEMORY, ..Limits::default() };
        let clients = Clients::new(&limits, Arc::new(Metrics::new(1)));
        let place = clients.admit(Address::Local).unwrap();
        let body = |bytes: usize| {
            Bounded::new(
                Body::from(vec![0; bytes]),
                MEMORY,
                Duration::from_secs(20),
                place.client().nothing(),
            )
        };
        let mut first = body(MOST - (100 << 10));
        first.frame().await.unwrap().unwrap();
        let mut second = body(101 << 10);
        assert_eq!(second.frame().await.unwrap().unwrap_err().code(), tonic::Code::Unavailable);
        drop(second);
        body(90 << 10).frame().await.unwrap().unwrap();
        drop(first);
        body(MOST - (100 << 10)).frame().await.unwrap().unwrap();
    }
}
