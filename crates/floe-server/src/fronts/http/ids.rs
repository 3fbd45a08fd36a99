//! IDs as a streamed body: a batch of numbers of any size takes one chunk of memory. Texts are held in memory, and
//! count in what the service holds for all clients.

use std::borrow::Cow;
use std::convert::Infallible;
use std::io::Write;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use bytes::{BufMut, Bytes, BytesMut};
use floe::{Batch, Id, Minted};
use http_body::{Frame, SizeHint};

use super::accept::Media;
use super::held::Piecemeal;

/// A batch up to this size is sent in one piece, with its length.
const IN_ONE_PIECE: usize = 1024;

/// How much is written before the client has to take it.
const CHUNK_BYTES: usize = 32 << 10;

/// The IDs as a response.
pub(super) fn response(name: &str, minted: Minted, media: Media, numbers: bool) -> Response<Body> {
    written(IdsBody::new(name, minted, media, numbers), media.content_type())
}

/// The IDs as katsubushi writes them: in JSON without a name, or as lines of which the last has no end.
pub(super) fn katsubushi(minted: Minted, json: bool) -> Response<Body> {
    let (media, head, tail) = match json {
        true => (Media::Json, "{\"ids\":[", "]}"),
        false => (Media::Text, "", ""),
    };
    let body = IdsBody { head: Some(head.to_owned()), tail, ..IdsBody::new("", minted, media, false) };
    written(IdsBody { lines: Lines::Divided, ..body }, if json { "application/json" } else { "text/plain" })
}

fn written(mut ids: IdsBody, content_type: &'static str) -> Response<Body> {
    let in_one_piece = ids.minted.len() <= IN_ONE_PIECE;
    let body = if in_one_piece { Body::from(ids.whole().freeze()) } else { Body::new(ids) };
    let mut response = Response::new(body);
    if !in_one_piece {
        response.extensions_mut().insert(Piecemeal);
    }
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// The IDs as the whole body of a response.
pub(super) fn in_one_piece(name: &str, minted: Minted, media: Media, numbers: bool) -> BytesMut {
    IdsBody::new(name, minted, media, numbers).whole()
}

fn head(name: &str, media: Media) -> String {
    match media {
        // A text always has a JSON form.
        Media::Json => format!("{{\"name\":{},\"ids\":[", serde_json::to_string(name).unwrap_or_default()),
        Media::Text | Media::Octets => String::new(),
    }
}

struct IdsBody {
    head: Option<String>,
    /// What stands behind the IDs in JSON.
    tail: &'static str,
    lines: Lines,
    minted: Minted,
    media: Media,
    numbers: bool,
    first: bool,
    ended: bool,
}

/// How lines of text are told apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    /// Each has an end.
    Ended,
    /// An end stands between two.
    Divided,
}

impl IdsBody {
    fn new(name: &str, minted: Minted, media: Media, numbers: bool) -> Self {
        let head = Some(head(name, media));
        Self { head, tail: "]}\n", lines: Lines::Ended, minted, media, numbers, first: true, ended: false }
    }

    fn whole(&mut self) -> BytesMut {
        let mut whole = BytesMut::with_capacity(64 + self.minted.len() * 24);
        while self.write(&mut whole, usize::MAX) {}
        whole
    }

    /// Writes on until `out` holds `enough` bytes; false when all is written.
    fn write(&mut self, out: &mut BytesMut, enough: usize) -> bool {
        if let Some(head) = self.head.take() {
            out.put_slice(head.as_bytes());
        }
        if let (Minted::Numbers(ids), Media::Octets) = (&mut self.minted, self.media) {
            write_words(out, ids, enough);
            self.ended = ids.len() == 0;
            return !self.ended;
        }
        while out.len() < enough {
            if !self.write_one(out) {
                if self.media == Media::Json && !self.ended {
                    out.put_slice(self.tail.as_bytes());
                }
                self.ended = true;
                return false;
            }
        }
        true
    }

    fn write_one(&mut self, out: &mut BytesMut) -> bool {
        let quoted = self.media == Media::Json && !self.numbers;
        let follows = !std::mem::take(&mut self.first);
        let before: &[u8] = match (self.media, follows, quoted) {
            (Media::Json, true, true) => b",\"",
            (Media::Json, true, false) => b",",
            (Media::Json, false, true) => b"\"",
            (Media::Text, true, _) if self.lines == Lines::Divided => b"\n",
            _ => b"",
        };
        let after: &[u8] = match (self.media, quoted) {
            (Media::Text, _) if self.lines == Lines::Ended => b"\n",
            (_, true) => b"\"",
            (_, false) => b"",
        };
        match &mut self.minted {
            Minted::Numbers(ids) => {
                let Some(id) = ids.next() else { return false };
                out.put_slice(before);
                out.put_slice(itoa::Buffer::new().format(id.get()).as_bytes());
                out.put_slice(after);
            }
            Minted::Wide(ids) => {
                let Some(id) = ids.next() else { return false };
                write_shown(out, before, &id, after);
            }
            Minted::Dated(ids) => {
                let Some(id) = ids.next() else { return false };
                match id.number().filter(|_| self.numbers || self.media == Media::Octets) {
                    Some(number) if self.media == Media::Octets => out.put_u64_le(number.get()),
                    Some(number) => write_shown(out, before, &number, after),
                    None => write_shown(out, before, &id, after),
                }
            }
            Minted::Texts(ids) => {
                let Some(id) = ids.next_text() else { return false };
                out.put_slice(before);
                match self.media {
                    // A registered kind may mint what JSON escapes; the quotes are there already.
                    Media::Json => out.put_slice(escaped(id).as_bytes()),
                    Media::Text | Media::Octets => out.put_slice(id.as_bytes()),
                }
                out.put_slice(after);
            }
        }
        true
    }

    fn remaining(&self) -> Option<u64> {
        match self.media {
            Media::Octets => u64::try_from(self.minted.len()).ok()?.checked_mul(8),
            Media::Json | Media::Text => None,
        }
    }
}

/// Writes little-endian words until `out` holds `enough` bytes or no ID is left, in one step, because clients use
/// this format for speed.
fn write_words(out: &mut BytesMut, ids: &mut Batch<Id>, enough: usize) {
    let begun = out.len();
    let words = ids.len().min(enough.saturating_sub(begun).div_ceil(8));
    out.resize(begun + words * 8, 0);
    let (_, room) = out.split_at_mut(begun);
    // The words first: where they end, `zip` must not have taken another ID.
    for (word, id) in room.chunks_exact_mut(8).zip(ids) {
        word.copy_from_slice(&id.get().to_le_bytes());
    }
}

/// What stands between the quotes of a JSON string.
fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(['"', '\\']) {
        return Cow::Borrowed(text);
    }
    // No control character is in it, and a text always has a JSON form.
    let quoted = serde_json::to_string(text).unwrap_or_default();
    Cow::Owned(quoted.trim_start_matches('"').strip_suffix('"').unwrap_or_default().to_owned())
}

fn write_shown(out: &mut BytesMut, before: &[u8], id: &dyn std::fmt::Display, after: &[u8]) {
    out.put_slice(before);
    // Writing to memory does not fail.
    let _ = write!(out.writer(), "{id}");
    out.put_slice(after);
}

impl http_body::Body for IdsBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        if this.ended {
            return Poll::Ready(None);
        }
        let mut chunk = BytesMut::with_capacity(CHUNK_BYTES + 64);
        this.write(&mut chunk, CHUNK_BYTES);
        match chunk.is_empty() {
            true => Poll::Ready(None),
            false => Poll::Ready(Some(Ok(Frame::data(chunk.freeze())))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ended
    }

    fn size_hint(&self) -> SizeHint {
        self.remaining().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
