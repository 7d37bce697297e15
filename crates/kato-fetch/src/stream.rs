//! A remote file as `std::io::Read`, read ahead by a task, and resumed at the next byte after a
//! fault.

mod pipe;
mod produce;

use std::fmt;
use std::io::{self, BufRead, Read};
use std::sync::Arc;

use bytes::{Buf as _, Bytes};
use tokio::task::AbortHandle;

use crate::read::Opened;
use crate::runtime::Runtime;
use crate::{CancellationToken, FetchError};
use pipe::Pipe;

/// Stream of the bytes of a file, in order. Its end is the end of the file, never that of a
/// connection.
///
/// An error holds a [`FetchError`], which [`FetchError::within`] returns; after one, nothing more
/// comes.
pub struct FileStream {
    pipe: Arc<Pipe>,
    /// What is left of the piece that is being read.
    current: Bytes,
    position: u64,
    cancel: CancellationToken,
    task: AbortHandle,
    /// Keeps the threads that read ahead, as the fetcher may be dropped before the stream.
    _runtime: Runtime,
}

impl FileStream {
    /// Starts to read ahead from position `from`.
    pub(crate) fn start(
        opened: &Arc<Opened>,
        runtime: &Runtime,
        cancel: &CancellationToken,
        from: u64,
    ) -> Self {
        let pipe = Arc::new(Pipe::new(opened.read_ahead));
        let work = produce::run(Arc::clone(opened), Arc::clone(&pipe), cancel.clone(), from);
        let task = runtime.handle().spawn(work).abort_handle();
        Self {
            pipe,
            current: Bytes::new(),
            position: from,
            cancel: cancel.clone(),
            task,
            _runtime: runtime.clone(),
        }
    }

    /// Returns the position in the file of the next byte.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Returns the next piece, as it came over the network; an empty one at the end.
    fn piece(&mut self) -> Result<&Bytes, FetchError> {
        // Checked here as well as by the task, which does not see pieces that it has handed over.
        if self.cancel.is_cancelled() {
            return Err(FetchError::Cancelled);
        }
        if self.current.is_empty()
            && let Some(piece) = self.pipe.take()?
        {
            self.current = piece;
        }
        Ok(&self.current)
    }
}

impl BufRead for FileStream {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        Ok(self.piece()?)
    }

    fn consume(&mut self, amount: usize) {
        // `BufRead` asks callers for no more than there is; one that does not comply must not panic
        // here.
        let amount = amount.min(self.current.len());
        self.current.advance(amount);
        self.position += amount as u64;
    }
}

impl Read for FileStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let piece = self.fill_buf()?;
        let n = piece.len().min(buffer.len());
        buffer[..n].copy_from_slice(&piece[..n]);
        self.consume(n);
        Ok(n)
    }
}

impl Drop for FileStream {
    fn drop(&mut self) {
        // Otherwise the task would wait for room that nobody makes.
        self.task.abort();
    }
}

impl fmt::Debug for FileStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStream")
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}
