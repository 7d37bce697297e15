//! A stream that gives up on a peer which reads too slowly for too long.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{self, Instant, Sleep};

/// Least bytes a second that a client must send of a body or read of an answer, once the time-out
/// has passed.
pub(crate) const MIN_BYTES_PER_SECOND: u64 = 16 << 10;

/// A stream whose writes fail when the peer reads at less than the least rate over a whole
/// time-out.
#[derive(Debug)]
pub(crate) struct StallGuard {
    stream: TcpStream,
    timeout: Duration,
    /// The measurement of the peer, while something waits to be written.
    backlog: Option<Backlog>,
}

/// A measurement of how fast a peer reads what waits for it.
#[derive(Debug)]
struct Backlog {
    /// The end of the window, when the peer's rate is checked.
    window: Pin<Box<Sleep>>,
    /// Bytes that were taken since the window began.
    n_taken: u64,
}

impl StallGuard {
    /// Creates a guard that measures nothing yet.
    pub(crate) fn new(stream: TcpStream, timeout: Duration) -> Self {
        Self {
            stream,
            timeout,
            backlog: None,
        }
    }

    /// Checks the peer's rate if a window is over; begins the next one, and has the task woken at
    /// its end.
    fn watch(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        let Some(backlog) = &mut self.backlog else {
            return Ok(());
        };
        // A loop, because the timer must be polled again after its reset to wake the task.
        while backlog.window.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            // Over the time that has really passed: the task may have been woken late.
            let began = backlog.window.deadline() - self.timeout;
            let expected = (now - began).as_secs_f64() * MIN_BYTES_PER_SECOND as f64;
            if (backlog.n_taken as f64) < expected {
                // The connection is reset, so that the system does not keep for the peer what it
                // has already accepted for it.
                if let Err(error) = self.stream.set_zero_linger() {
                    tracing::debug!(%error, "a slow client is waited for by the system");
                }
                return Err(io::ErrorKind::TimedOut.into());
            }
            backlog.n_taken = 0;
            backlog.window.as_mut().reset(now + self.timeout);
        }
        Ok(())
    }

    /// Accounts for a write, and checks the peer if it does not go on.
    fn written(
        &mut self,
        cx: &mut Context<'_>,
        poll: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match poll {
            Poll::Ready(Ok(n_bytes)) => {
                // Without a backlog the peer keeps up, and there is nothing to measure.
                if let Some(backlog) = &mut self.backlog {
                    backlog.n_taken += n_bytes as u64;
                }
            }
            Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            Poll::Pending => {
                // The window begins with the first write that has to wait; further ones fall into
                // it.
                let end = Instant::now() + self.timeout;
                self.backlog.get_or_insert_with(|| Backlog {
                    window: Box::pin(time::sleep_until(end)),
                    n_taken: 0,
                });
            }
        }
        // Not after a write that succeeded: its bytes are gone, and an error would report them as
        // unwritten.
        if poll.is_pending() {
            self.watch(cx)?;
        }
        poll
    }
}

impl AsyncRead for StallGuard {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for StallGuard {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.written(cx, poll)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.written(cx, poll)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.stream).poll_flush(cx);
        match &poll {
            // Everything was handed over, so the peer has kept up.
            Poll::Ready(_) => self.backlog = None,
            Poll::Pending => self.watch(cx)?,
        }
        poll
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
