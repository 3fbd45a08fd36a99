//! The memory of a request and its answer until the client has read the answer, counted in [`clients`](crate::clients).

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{Response, Version};
use http_body::{Frame, SizeHint};

use crate::clients::{Held, HeldMessage};

/// The memory of a request without its header: its task, its stream, and a short answer, in bytes.
const REQUEST: usize = 12 << 10;

/// An answer of at most this many bytes is included in that.
const SHORT: usize = 1 << 10;

/// The most memory of a streamed answer: what HTTP/2 buffers, and the current piece.
const PIECES: usize = 128 << 10;

/// Marks a response with a streamed body.
#[derive(Clone, Copy)]
pub(crate) struct Piecemeal;

/// The memory of a request from its beginning.
pub(super) fn request(request: &Request) -> usize {
    let header: usize = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    REQUEST + header + request.uri().path_and_query().map_or(0, |path| path.as_str().len())
}

/// The memory of a body that was read before its call.
pub(super) fn body(request: &Request) -> usize {
    let exact = http_body::Body::size_hint(request.body()).exact();
    exact.and_then(|exact| usize::try_from(exact).ok()).unwrap_or(0)
}

/// The further memory of its answer.
pub(super) fn answer(response: &Response<Body>) -> usize {
    let of_pieces = response.extensions().get::<Piecemeal>().is_some();
    let exact = http_body::Body::size_hint(response.body()).exact();
    match exact.and_then(|exact| usize::try_from(exact).ok()) {
        _ if of_pieces => PIECES,
        Some(exact) if exact <= SHORT => 0,
        Some(exact) => exact,
        // gRPC's, which say so if they are long.
        None => 0,
    }
}

/// The answer, which holds that until its last byte has been handed to the system, or its connection has ended.
pub(super) fn until_it_is_read(
    mut response: Response<Body>,
    mut held: Held,
    version: Version,
) -> Response<Body> {
    let message = response.extensions_mut().remove::<HeldMessage>();
    response.extensions_mut().remove::<Piecemeal>();
    // Over HTTP/2, the next request is served before this answer has been written; so all of them count, refusals too.
    let one_by_one = version < Version::HTTP_2;
    if !one_by_one {
        held.force(held.bytes().max(REQUEST));
    }
    let short = one_by_one
        && message.is_none()
        && http_body::Body::size_hint(response.body()).exact().is_some_and(|exact| exact <= SHORT as u64);
    response.map(|body| Body::new(HeldBody { body, all: Arc::new((held, message)), short }))
}

struct HeldBody {
    body: Body,
    all: Arc<(Held, Option<HeldMessage>)>,
    /// It comes in one short piece, which is not worth being followed to the socket.
    short: bool,
}

/// A piece of an answer on its way to the socket.
struct Piece {
    bytes: Bytes,
    _all: Arc<(Held, Option<HeldMessage>)>,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl http_body::Body for HeldBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        let frame = Pin::new(&mut this.body).poll_frame(context);
        if this.short {
            return frame;
        }
        frame.map_ok(|frame| {
            this.all.0.goes_on();
            frame.map_data(|bytes| Bytes::from_owner(Piece { bytes, _all: Arc::clone(&this.all) }))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
