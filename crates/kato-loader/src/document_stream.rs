//! Documents as an async `Stream`, read on a thread of their own.

use std::fmt;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::thread::{self, JoinHandle};

use async_channel::Receiver;
use futures_core::Stream;
use futures_core::stream::FusedStream;

use crate::bad_record::BadRecord;
use crate::cursor::Cursor;
use crate::document::Document;
use crate::error::LoadError;
use crate::loader::{Cancel, StreamingDatasetLoader};

/// Documents of a loader for async code; made by
/// [`into_stream`](StreamingDatasetLoader::into_stream).
///
/// It belongs to no runtime. A thread reads ahead as far as the buffer goes and then waits:
/// back-pressure reaches the disk and the network. Dropping the stream ends the thread; documents
/// that were read ahead are forgotten, and [`cursor`](Self::cursor) says where to go on.
pub struct DocumentStream {
    items: Pin<Box<Receiver<Item>>>,
    cursor: Cursor,
    ledger: Vec<BadRecord>,
    ended: bool,
    cancel: Cancel,
    thread: Option<JoinHandle<()>>,
}

/// What the thread sends: a document or the end, with the position behind it and the ledger up to
/// there.
struct Item {
    document: Option<Result<Document, LoadError>>,
    cursor: Cursor,
    ledger: Vec<BadRecord>,
}

impl StreamingDatasetLoader {
    /// Reads on a thread of its own, `buffer` documents ahead, for async code.
    ///
    /// # Errors
    ///
    /// [`LoadError::Thread`] when the thread cannot be started.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::num::NonZeroUsize;
    ///
    /// use futures_util::StreamExt;
    /// use kato_loader::{StreamingDatasetLoader, TextUnit};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let loader = StreamingDatasetLoader::builder()
    ///     .with_reader("words.txt", "one\ntwo\nthree\n".as_bytes())
    ///     .with_text_unit(TextUnit::Line)
    ///     .build()?;
    /// let mut stream = loader.into_stream(NonZeroUsize::new(16).expect("not zero"))?;
    /// let first = stream.next().await.expect("there are three")?;
    /// assert_eq!(first.text, "one");
    /// assert_eq!(stream.cursor().documents(), 1);
    /// assert_eq!(stream.count().await, 2);
    /// # Ok::<(), kato_loader::LoadError>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_stream(mut self, buffer: NonZeroUsize) -> Result<DocumentStream, LoadError> {
        let (sender, receiver) = async_channel::bounded(buffer.get());
        let cursor = self.cursor();
        let cancel = self.canceller();
        let read = move || {
            loop {
                let document = self.next();
                let is_last = document.is_none();
                // Position and ledger travel with the document: those of the loader itself are as
                // far ahead as the buffer allows, and would skip documents that were not yielded
                // yet.
                let item = Item {
                    document,
                    cursor: self.cursor(),
                    ledger: self.take_bad_records(),
                };
                // An error means that the stream was dropped.
                if sender.send_blocking(item).is_err() || is_last {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("loader-stream".to_owned());
        let thread = thread.spawn(read).map_err(LoadError::Thread)?;
        Ok(DocumentStream {
            items: Box::pin(receiver),
            cursor,
            ledger: Vec::new(),
            ended: false,
            cancel,
            thread: Some(thread),
        })
    }
}

impl DocumentStream {
    /// Returns the position behind the last document yielded.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        self.cursor.clone()
    }

    /// Takes the ledger entries written up to the [`cursor`](Self::cursor) since the last call, in
    /// reading order.
    pub fn take_bad_records(&mut self) -> Vec<BadRecord> {
        std::mem::take(&mut self.ledger)
    }
}

impl Stream for DocumentStream {
    type Item = Result<Document, LoadError>;

    /// Polls for the next document. After an error the stream has ended.
    ///
    /// # Panics
    ///
    /// When a filter panicked on the reading thread, its panic goes on here.
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let Some(item) = std::task::ready!(self.items.as_mut().poll_next(context)) else {
            self.ended = true;
            // The channel has closed without the item that ends it: the thread has panicked, and
            // joining waits for its unwinding only.
            if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
                std::panic::resume_unwind(panic);
            }
            return Poll::Ready(None);
        };
        self.cursor = item.cursor;
        self.ledger.extend(item.ledger);
        self.ended = item.document.is_none();
        Poll::Ready(item.document)
    }
}

impl FusedStream for DocumentStream {
    fn is_terminated(&self) -> bool {
        self.ended
    }
}

impl Drop for DocumentStream {
    fn drop(&mut self) {
        // Closed first: a thread that waits for room in the buffer then fails to send, and ends.
        self.items.close();
        // The thread ends by itself. It is not waited for: this may be an async thread, and a read
        // from a pipe can take as long as the pipe lives.
        (self.cancel)();
    }
}

impl fmt::Debug for DocumentStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DocumentStream")
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}
