//! The documents of an evaluation: those trained on, and those held out.

use std::fmt;

use kato_loader::{LoadError, StreamingDatasetLoader};

use crate::EvaluationError;

/// Opens a loader at the beginning of a corpus.
type Open<'a> = Box<dyn Fn() -> Result<StreamingDatasetLoader, LoadError> + 'a>;

/// The documents of an evaluation, as functions that open them. Those held out are read twice, the
/// others once.
///
/// The training documents must be those that the nodes learned: the baseline learns from them.
pub struct Corpora<'a> {
    training: Open<'a>,
    held_out: Open<'a>,
}

impl<'a> Corpora<'a> {
    /// Creates corpora from functions that open a loader at the beginning of each.
    #[must_use]
    pub fn new(
        training: impl Fn() -> Result<StreamingDatasetLoader, LoadError> + 'a,
        held_out: impl Fn() -> Result<StreamingDatasetLoader, LoadError> + 'a,
    ) -> Self {
        Self {
            training: Box::new(training),
            held_out: Box::new(held_out),
        }
    }

    /// Opens the training documents.
    pub(crate) fn training(&self) -> Result<StreamingDatasetLoader, EvaluationError> {
        Ok((self.training)()?)
    }

    /// Opens the held-out documents.
    pub(crate) fn held_out(&self) -> Result<StreamingDatasetLoader, EvaluationError> {
        Ok((self.held_out)()?)
    }

    /// Refuses two loaders of one corpus that are not the two sides of one split.
    pub(crate) fn check(&self) -> Result<(), EvaluationError> {
        let (training, held_out) = (self.training()?, self.held_out()?);
        // Two corpora without a split would also compare equal here, hence the second condition
        // below.
        let are_sides = training.split().map(|split| split.complement()) == held_out.split();
        // Streams have no fingerprint: two of them with the same names may well be different.
        let is_known = training.total_bytes().is_some();
        if is_known
            && training.identity() == held_out.identity()
            && !(are_sides && training.split().is_some())
        {
            return Err(EvaluationError::NotHeldOut);
        }
        Ok(())
    }
}

impl fmt::Debug for Corpora<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Corpora").finish_non_exhaustive()
    }
}
