//! What a request holds from its head to the last byte of its answer: a place among the requests,
//! and memory.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use axum::body::Bytes;
use kato_prediction::Cancel;
use serde::Serialize;

use crate::budget::{BudgetError, SMALL, Share};
use crate::in_flight::InFlightPermit;

/// The resources of one request. Shared by all that work on it, and returned when the last of them
/// is done.
#[derive(Debug)]
pub(crate) struct RequestResources {
    /// Memory for the body and what is made of it.
    pub(crate) request: Share,
    /// Memory for the answer, where that for the request is not enough.
    answer: Share,
    /// Bytes of the answer that nobody pays for: there are no more of such answers than requests.
    free: usize,
    /// Bytes of the copies and parts that the answer is made of.
    made_of: AtomicUsize,
    /// Why a part was refused, if one was.
    refused: OnceLock<BudgetError>,
    /// Whether others held memory that the answer lacked.
    has_lacked: AtomicBool,
    /// `None` of what is a part of a request that has its place.
    _permit: Option<InFlightPermit>,
}

/// The error of an answer that is larger than the memory for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerMemoryError(pub(crate) BudgetError);

impl RequestResources {
    /// Creates the resources of a request that has its place and no memory yet.
    pub(crate) fn new(request: Share, answer: Share, permit: InFlightPermit) -> Arc<Self> {
        Self::with_permit(request, answer, SMALL, Some(permit))
    }

    /// Creates the resources of a part of an answer that is sent part by part, while its request has
    /// its place. Nothing of a part is free for which something was paid ahead.
    pub(crate) fn of_part(request: Share, answer: Share) -> Arc<Self> {
        let free = if answer.bytes() > 0 { 0 } else { SMALL };
        Self::with_permit(request, answer, free, None)
    }

    fn with_permit(
        request: Share,
        answer: Share,
        free: usize,
        permit: Option<InFlightPermit>,
    ) -> Arc<Self> {
        Arc::new(Self {
            request,
            answer,
            free,
            made_of: AtomicUsize::new(0),
            refused: OnceLock::new(),
            has_lacked: AtomicBool::new(false),
            _permit: permit,
        })
    }

    /// Pays for a copy that an answer is made of, until that is written; for so many bytes in all,
    /// however often it is called. Like an answer, one of up to 64 KiB costs nothing.
    pub(crate) fn reserve(&self, bytes: usize) -> Result<(), AnswerMemoryError> {
        self.made_of.fetch_max(bytes, Ordering::Relaxed);
        self.pay(bytes).map_err(AnswerMemoryError)
    }

    /// Pays for one more part of what an answer is made of, beside what was paid for before; returns
    /// whether there is room.
    pub(crate) fn reserve_part(&self, bytes: usize) -> bool {
        let before = self.made_of.fetch_add(bytes, Ordering::Relaxed);
        let paid = self.pay(before.saturating_add(bytes));
        if let Err(error) = paid {
            self.refused.get_or_init(|| error);
        }
        paid.is_ok()
    }

    /// Forgets the parts of an answer that is written, so that those of the next one are not paid for
    /// beside them.
    pub(crate) fn forget_parts(&self) {
        self.made_of.store(0, Ordering::Relaxed);
    }

    /// Pays what is missing for so many bytes in all.
    fn pay(&self, all: usize) -> Result<(), BudgetError> {
        if all <= self.free {
            return Ok(());
        }
        self.grow(all.saturating_sub(self.answer.bytes()))
    }

    /// Takes more memory for the answer if there is room right now.
    fn grow(&self, more: usize) -> Result<(), BudgetError> {
        // Who needs nothing is not refused, however full it is.
        if more == 0 {
            return Ok(());
        }
        self.answer.grow(more).inspect_err(|error| {
            if *error == BudgetError::Exhausted {
                self.has_lacked.store(true, Ordering::Relaxed);
            }
        })
    }

    /// Returns whether others held memory that the answer lacked: made again, it may be another one.
    pub(crate) fn has_lacked(&self) -> bool {
        self.has_lacked.load(Ordering::Relaxed)
    }

    /// Fails if a part of the answer was refused.
    pub(crate) fn check_parts(&self) -> Result<(), AnswerMemoryError> {
        let refused = self.refused.get().copied();
        refused.map_or(Ok(()), |error| Err(AnswerMemoryError(error)))
    }

    /// Writes an answer as JSON, and pays for it while it grows, so that one for which there is no
    /// room never exists as a whole.
    pub(crate) fn write<T: Serialize + ?Sized>(
        &self,
        value: &T,
    ) -> Result<Result<Vec<u8>, AnswerMemoryError>, serde_json::Error> {
        let mut buffer = AnswerBuffer::new(self);
        let written = buffer.write_json(value)?;
        Ok(written.map(|()| buffer.into_bytes()))
    }

    /// Pays for an answer that is ready, and returns what was held beyond that. An answer of up to
    /// 64 KiB costs nothing: there are no more of them than requests. Nor does one that is no
    /// larger than what the body took. Answers to writes are no larger, or are paid for before, so that a
    /// write that was carried out is not refused.
    pub(crate) fn charge_answer(&self, bytes: usize) -> Result<(), AnswerMemoryError> {
        if bytes <= self.free || bytes <= self.request.bytes() {
            self.request.shrink_to(bytes);
            self.answer.shrink_to(0);
            return Ok(());
        }
        // The body has been worked off; a large answer is paid for from the budget of answers.
        self.request.shrink_to(0);
        // `write` has paid for its buffer already, and for what that was made of; other answers pay
        // here.
        let more = bytes.saturating_sub(self.answer.bytes());
        // Who needs nothing is not refused, however full it is.
        if more > 0 {
            self.answer.grow(more).map_err(AnswerMemoryError)?;
        }
        self.answer.shrink_to(bytes);
        Ok(())
    }
}

/// A buffer of JSON that is paid for before it grows.
pub(crate) struct AnswerBuffer<'a> {
    bytes: Vec<u8>,
    resources: &'a RequestResources,
    refused: Option<BudgetError>,
}

impl<'a> AnswerBuffer<'a> {
    /// Creates an empty buffer.
    pub(crate) fn new(resources: &'a RequestResources) -> Self {
        Self {
            bytes: Vec::new(),
            resources,
            refused: None,
        }
    }

    /// Adds a value as JSON. Nothing of one for which there is no room is left.
    pub(crate) fn write_json<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
    ) -> Result<Result<(), AnswerMemoryError>, serde_json::Error> {
        let before = self.bytes.len();
        self.refused = None;
        let written = serde_json::to_writer(&mut *self, value);
        if written.is_err() {
            self.bytes.truncate(before);
        }
        match self.refused {
            // The error of the writer is then only the consequence.
            Some(error) => Ok(Err(AnswerMemoryError(error))),
            None => written.map(Ok),
        }
    }

    /// Adds some bytes for which nobody pays.
    pub(crate) fn push_free(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns what was written.
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        self.bytes.shrink_to_fit();
        self.bytes
    }
}

impl io::Write for AnswerBuffer<'_> {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        let needed = self.bytes.len().saturating_add(part.len());
        if needed > self.bytes.capacity() {
            // By a quarter rather than to the double: the spare room is charged as well.
            let capacity = needed.saturating_add(needed / 4);
            // Small answers are free, see `charge_answer`.
            let made_of = self.resources.made_of.load(Ordering::Relaxed);
            let total = made_of.saturating_add(capacity);
            let more = match capacity > self.resources.free {
                true => total.saturating_sub(self.resources.answer.bytes()),
                false => 0,
            };
            if let Err(error) = self.resources.grow(more) {
                self.refused = Some(error);
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

/// Returns a flag that ends a prediction when nobody waits for it, and when there is no memory for
/// its answer.
pub(crate) fn paid_by(resources: &Arc<RequestResources>) -> Cancel {
    let resources = Arc::clone(resources);
    Cancel::with_allowance(move |bytes| resources.reserve_part(bytes))
}

/// Ties the bytes of an answer to what the request holds: the connection drops both when it has
/// sent the last byte.
pub(crate) fn until_sent(body: Bytes, resources: Arc<RequestResources>) -> Bytes {
    Bytes::from_owner(Sending {
        body,
        _resources: resources,
    })
}

struct Sending {
    body: Bytes,
    _resources: Arc<RequestResources>,
}

impl AsRef<[u8]> for Sending {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;

    #[test]
    fn a_part_that_is_made_ahead_is_paid_for_until_it_is_sent() {
        let budget = Budget::new(8 * SMALL);
        let first = RequestResources::of_part(budget.share(), budget.share());
        let ahead = budget.share();
        ahead.grow(SMALL).unwrap();
        let ahead = RequestResources::of_part(budget.share(), ahead);
        for (resources, paid) in [(&first, 0), (&ahead, 102)] {
            let line = resources.write(&"a".repeat(100)).unwrap().unwrap();
            assert!(resources.reserve_part(1000));
            resources.charge_answer(line.len()).unwrap();
            assert_eq!(resources.answer.bytes(), paid);
        }
        let sent = until_sent(Bytes::new(), ahead);
        assert_eq!(budget.held(), 102);
        drop(sent);
        assert_eq!(budget.held(), 0);
    }
}
