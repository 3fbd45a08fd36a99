//! The body of a request. It is bounded in bytes, in the time that a client may stay silent, and in the memory that
//! the server [holds for all clients](crate::clients) for incomplete bodies.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use http_body_util::Limited;
use tokio::time::{Instant, Sleep};

use crate::clients::Held;

/// Why the rest of a body does not come. gRPC, which reads bodies by itself, finds its own word for that behind it.
#[derive(Debug)]
pub(super) struct Cut {
    pub is_too_large: bool,
    text: String,
    #[cfg(feature = "protocol-grpc")]
    status: tonic::Status,
}

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

impl Cut {
    fn broken(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            is_too_large: false,
            #[cfg(feature = "protocol-grpc")]
            status: tonic::Status::unavailable(&text),
            text,
        }
    }

    fn too_large(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            is_too_large: true,
            #[cfg(feature = "protocol-grpc")]
            status: tonic::Status::resource_exhausted(&text),
            text,
        }
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for Cut {
    #[cfg(feature = "protocol-grpc")]
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.status)
    }
}

impl http_body::Body for Bounded {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let this = self.get_mut();
        let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) else {
            ready!(this.sleep.as_mut().poll(context));
            return Poll::Ready(Some(Err(Cut::broken(
                "the next part of the request did not come in time (limits.idle_timeout, limits.header_timeout): begin it again",
            ))));
        };
        this.sleep.as_mut().reset(Instant::now() + this.silence);
        let bytes = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref().map(Bytes::len));
        if bytes.is_some_and(|bytes| !this.held.try_grow(bytes)) {
            return Poll::Ready(Some(Err(Cut::broken(
                "all the memory for requests that are not whole is in use (limits.memory): ask again",
            ))));
        }
        Poll::Ready(frame.map(|frame| {
            frame.map_err(|error| match error.is::<http_body_util::LengthLimitError>() {
                true => Cut::too_large(
                    "the call's messages are over limits.body_bytes together: send less in one call",
                ),
                false => Cut::broken(format!("the request broke off: {error}")),
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
        let clients = Clients::new(&limits, 1, Arc::new(Metrics::new(1, [])));
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
        assert!(!second.frame().await.unwrap().unwrap_err().is_too_large);
        drop(second);
        body(90 << 10).frame().await.unwrap().unwrap();
        drop(first);
        body(MOST - (100 << 10)).frame().await.unwrap().unwrap();
    }
}
