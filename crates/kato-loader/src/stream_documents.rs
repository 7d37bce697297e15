//! Documents of an async stream, for the thread that reads them.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use futures_core::Stream;
use kato_probe::ThreadState;

use crate::document::Document;
use crate::interrupt::{Interrupt, POLL_INTERVAL};

/// A stream of documents.
pub(crate) type Documents = Pin<Box<dyn Stream<Item = Document> + Send>>;

/// Makes any stream one of documents.
pub(crate) struct IntoDocuments<S>(pub(crate) Pin<Box<S>>);

impl<S: Stream<Item: Into<Document>>> Stream for IntoDocuments<S> {
    type Item = Document;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Document>> {
        let next = self.0.as_mut().poll_next(context);
        next.map(|item| item.map(Into::into))
    }
}

/// Waits for the items of a stream, until reading is to end.
pub(crate) struct Awaited {
    pub(crate) documents: Documents,
    pub(crate) interrupt: Interrupt,
}

/// Wakes the thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Iterator for Awaited {
    type Item = io::Result<Document>;

    fn next(&mut self) -> Option<io::Result<Document>> {
        // Another thread may ask the next time.
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut context = Context::from_waker(&waker);
        // Who waits here has no input, and is not at work.
        let _waiting = kato_probe::thread::during(ThreadState::Starved);
        loop {
            match self.documents.as_mut().poll_next(&mut context) {
                Poll::Ready(document) => return document.map(Ok),
                Poll::Pending if self.interrupt.is_over() => {
                    let stopped = "stopped before the stream had more";
                    return Some(Err(io::Error::other(stopped)));
                }
                Poll::Pending => thread::park_timeout(POLL_INTERVAL),
            }
        }
    }
}
