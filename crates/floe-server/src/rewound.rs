//! A stream that gives its first bytes again after they were read.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// See the module.
pub(crate) struct Rewound<S> {
    seen: Vec<u8>,
    at: usize,
    stream: S,
}

impl<S> Rewound<S> {
    pub(crate) fn new(seen: Vec<u8>, stream: S) -> Self {
        Self { seen, at: 0, stream }
    }

    /// What was seen and has not come again, and the stream.
    pub(crate) fn into_parts(mut self) -> (Vec<u8>, S) {
        self.seen.drain(..self.at.min(self.seen.len()));
        (self.seen, self.stream)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Rewound<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let again = this.seen.get(this.at..).unwrap_or_default();
        if again.is_empty() {
            return Pin::new(&mut this.stream).poll_read(context, buffer);
        }
        let count = again.len().min(buffer.remaining());
        buffer.put_slice(again.get(..count).unwrap_or_default());
        this.at += count;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Rewound<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
