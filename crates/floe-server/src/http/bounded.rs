//! The body of a gRPC call: bounded in bytes, and in the time that a client may stay silent before its end.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use http_body_util::Limited;
use tokio::time::{Instant, Sleep};

/// See the module.
pub(super) struct Bounded {
    body: Limited<Body>,
    silence: Duration,
    sleep: Pin<Box<Sleep>>,
}

impl Bounded {
    pub(super) fn new(body: Body, bytes: usize, silence: Duration) -> Self {
        Self { body: Limited::new(body, bytes), silence, sleep: Box::pin(tokio::time::sleep(silence)) }
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
                "the call's next message did not come within limits.idle_timeout: begin the call again",
            ))));
        };
        this.sleep.as_mut().reset(Instant::now() + this.silence);
        Poll::Ready(frame.map(|frame| {
            frame.map_err(|error| match error.is::<http_body_util::LengthLimitError>() {
                true => tonic::Status::resource_exhausted(
                    "the call's messages are over limits.body_bytes together: send less in one call",
                ),
                false => tonic::Status::unavailable(format!("the call broke off: {error}")),
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
