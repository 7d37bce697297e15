//! What a request holds from its head to the last byte of its answer: a place among the requests, and memory.

use std::io;
use std::sync::Arc;

use axum::body::Bytes;
use serde::Serialize;

use crate::app::{App, Place};
use crate::budget::{SMALL, Scarce, Share};

/// What one request holds. Shared by whoever works on it: given back when the last one is done.
#[derive(Debug)]
pub(crate) struct Held {
    /// Memory for the body and what is made of it.
    pub(crate) request: Share,
    /// Memory for the answer, where that of the request is not enough.
    answer: Share,
    _place: Place,
}

/// An answer is larger than the memory that there is for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoRoom(pub(crate) Scarce);

impl Held {
    pub(crate) fn new(app: &App, place: Place) -> Arc<Self> {
        Arc::new(Self {
            request: app.request_memory.share(),
            answer: app.answer_memory.share(),
            _place: place,
        })
    }

    /// Writes an answer, and pays for it while it grows, so that one for which there is no room is never there as a whole.
    pub(crate) fn write<T: Serialize + ?Sized>(
        &self,
        value: &T,
    ) -> Result<Result<Vec<u8>, NoRoom>, serde_json::Error> {
        let mut paid = Paid {
            bytes: Vec::new(),
            share: &self.answer,
            refused: None,
        };
        let written = serde_json::to_writer(&mut paid, value);
        match (written, paid.refused) {
            (_, Some(scarce)) => Ok(Err(NoRoom(scarce))),
            (Ok(()), None) => {
                paid.bytes.shrink_to_fit();
                Ok(Ok(paid.bytes))
            }
            (Err(error), None) => Err(error),
        }
    }

    /// Pays for an answer that is ready, and gives back what was held for more. One up to 64 KiB costs nothing: there are no more of
    /// them than requests. Nor does one that is no larger than what the body took: those of writes never are, so that a write that was
    /// carried out is never refused.
    pub(crate) fn settle(&self, bytes: usize) -> Result<(), NoRoom> {
        if bytes <= SMALL || bytes <= self.request.bytes() {
            self.request.shrink_to(bytes);
            self.answer.shrink_to(0);
            return Ok(());
        }
        self.request.shrink_to(0);
        let more = bytes.saturating_sub(self.answer.bytes());
        self.answer.grow(more).map_err(NoRoom)?;
        self.answer.shrink_to(bytes);
        Ok(())
    }
}

/// Bytes that are paid for before they are written.
struct Paid<'a> {
    bytes: Vec<u8>,
    share: &'a Share,
    refused: Option<Scarce>,
}

impl io::Write for Paid<'_> {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        let needed = self.bytes.len().saturating_add(part.len());
        if needed > self.bytes.capacity() {
            let capacity = needed.saturating_add(needed / 4);
            let more = match capacity > SMALL {
                true => capacity.saturating_sub(self.share.bytes()),
                false => 0,
            };
            if let Err(scarce) = self.share.grow(more) {
                self.refused = Some(scarce);
                return Err(io::ErrorKind::OutOfMemory.into());
            }
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        self.bytes.extend_from_slice(part);
        Ok(part.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The bytes of an answer, together with what the request holds: the connection drops both when it has sent the last byte.
pub(crate) fn until_sent(body: Bytes, held: Arc<Held>) -> Bytes {
    Bytes::from_owner(Sending { body, _held: held })
}

struct Sending {
    body: Bytes,
    _held: Arc<Held>,
}

impl AsRef<[u8]> for Sending {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}
