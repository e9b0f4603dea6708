//! A stream whose bytes are counted: those of HTTP, before TLS makes more of them.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How many bytes went each way.
#[derive(Debug, Default)]
pub(super) struct Counts {
    sent: Cell<u64>,
    received: Cell<u64>,
}

impl Counts {
    /// Bytes sent and received since they were last taken. Requests that share a connection cannot be told apart here, but none is
    /// counted twice.
    pub(super) fn take(&self) -> (u64, u64) {
        (self.sent.take(), self.received.take())
    }
}

/// The stream.
pub(super) struct Counted<S> {
    stream: S,
    counts: Rc<Counts>,
}

impl<S> Counted<S> {
    /// Counts a stream's bytes.
    pub(super) fn new(stream: S, counts: Rc<Counts>) -> Counted<S> {
        Counted { stream, counts }
    }

    fn count_sent(&self, sent: &Poll<io::Result<usize>>) {
        if let Poll::Ready(Ok(bytes)) = sent {
            self.counts.sent.set(self.counts.sent.get() + *bytes as u64);
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Counted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, into);
        let bytes = into.filled().len() - before;
        self.counts.received.set(self.counts.received.get() + bytes as u64);
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Counted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.count_sent(&sent);
        sent
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let sent = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.count_sent(&sent);
        sent
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
