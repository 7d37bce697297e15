//! The receipt of a write that is done and may not be durable yet.

use crate::ServiceError;
use crate::error::StorageFailure;

/// The answer of the journal once an entry is as durable as it asked.
pub(crate) type Acknowledgement = Result<(), StorageFailure>;

/// A write that is done and visible; its value comes out once it is as durable as
/// [`Durability`](crate::Durability) asks. So does its error, where it failed behind something that
/// it has taught.
///
/// Dropping a receipt undoes nothing.
#[derive(Debug)]
#[must_use = "a write is durable only when it was acknowledged"]
pub struct Receipt<T> {
    outcome: Result<T, ServiceError>,
    /// `None` where nothing has to become durable.
    pending: Option<oneshot::Receiver<Acknowledgement>>,
    replayed: bool,
}

impl<T> Receipt<T> {
    /// Creates the receipt of a request that was carried out.
    pub(crate) const fn new(value: T, pending: Option<oneshot::Receiver<Acknowledgement>>) -> Self {
        Self::of(Ok(value), pending)
    }

    /// Creates the receipt of a request that has changed something, whatever came of it.
    pub(crate) const fn of(
        outcome: Result<T, ServiceError>,
        pending: Option<oneshot::Receiver<Acknowledgement>>,
    ) -> Self {
        Self {
            outcome,
            pending,
            replayed: false,
        }
    }

    /// Marks the receipt as that of a repeated request.
    pub(crate) fn into_replayed(self) -> Self {
        Self {
            replayed: true,
            ..self
        }
    }

    /// Returns whether the request had been carried out before, and this is its first answer again.
    #[must_use]
    pub const fn replayed(&self) -> bool {
        self.replayed
    }

    /// Blocks the thread until the write is durable.
    ///
    /// # Errors
    ///
    /// [`ServiceError::StorageFailed`]: whether the write survives a restart is not known. Of a
    /// sequence also the error at which it ended, behind lessons that the node keeps.
    pub fn wait(self) -> Result<T, ServiceError> {
        if let Some(pending) = self.pending {
            check(pending.recv())?;
        }
        self.outcome
    }

    /// Waits until the write is durable, on any async runtime. Cancelling undoes nothing.
    ///
    /// # Errors
    ///
    /// As [`wait`](Self::wait).
    pub async fn acknowledged(self) -> Result<T, ServiceError> {
        if let Some(pending) = self.pending {
            check(pending.await)?;
        }
        self.outcome
    }
}

/// Returns what the journal answered.
fn check(answer: Result<Acknowledgement, oneshot::RecvError>) -> Result<(), ServiceError> {
    match answer {
        Ok(acknowledged) => Ok(acknowledged?),
        // The writer ended by a panic before it answered.
        Err(gone) => Err(StorageFailure::new(gone).into()),
    }
}
