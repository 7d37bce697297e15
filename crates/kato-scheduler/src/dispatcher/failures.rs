//! Workers that die, documents that fail, and when that ends the run.

use std::sync::atomic::Ordering;

use super::Dispatcher;
use crate::dispatch::{AssignmentId, Verdict};
use crate::event::TrainingEvent;
use crate::failure::{FailedDocument, FailureKind, OnFailure};
use crate::{Backend, TrainError};

impl<B: Backend> Dispatcher<'_, '_, '_, B> {
    /// Handles the death of a worker: what it had not staged is queued again, and the document over
    /// which it died is recorded once it has failed for good. Ends the run where the policy says
    /// so.
    pub(super) fn handle_worker_death(
        &mut self,
        worker: usize,
        current_document: Option<(AssignmentId, usize)>,
        message: &str,
    ) -> Result<(), TrainError> {
        let held = current_document.and_then(|(id, position)| {
            let batch = self.dispatch.assignment(id)?.batch;
            let document = self.batches.get(&batch)?.get(position)?;
            Some((document.id().to_string(), document.index))
        });
        let document = held.as_ref().map(|(document, _)| document.clone());
        let died = || TrainError::WorkerDied {
            document: document.clone(),
            message: message.to_owned(),
        };
        let policy = self.options.failures;
        self.counts.worker_restarts += 1;
        // A backend that does not know how much of the dead worker's part arrived must not be
        // taught it again.
        if self.counts.worker_restarts > policy.worker_restarts || !self.backend.can_repeat() {
            return Err(died());
        }
        let epoch = current_document.and_then(|(id, _)| Some(self.dispatch.assignment(id)?.epoch));
        match self.dispatch.died(worker, current_document) {
            Verdict::Failed if policy.on_failure == OnFailure::End => return Err(died()),
            Verdict::Failed => {
                let (document, document_idx) = held.expect("only a document that is held can fail");
                let failed = FailedDocument {
                    document,
                    document_idx,
                    kind: FailureKind::WorkerDied,
                    level: 0,
                    attempts: policy.attempts.get(),
                    reason: message.to_owned(),
                };
                self.record_failure(epoch.expect("its assignment is not staged"), failed);
            }
            // Between two documents, as while staging, it died over none: what it had is repeated and
            // no document is to blame.
            Verdict::Again => self.counts.retries += u64::from(held.is_some()),
        }
        (self.on_event)(TrainingEvent::WorkerDied {
            worker,
            document,
            message: message.to_owned(),
        });
        self.limit_failures();
        Ok(())
    }

    /// Records a document that has failed for good with the epoch of its assignment, since there will
    /// be no part with this document.
    fn record_failure(&mut self, epoch: u64, failed: FailedDocument) {
        let gathered = self.epochs.entry(epoch).or_default();
        gathered.counters.failed += 1;
        gathered.counters.failures.count(failed.kind);
        gathered.failures.push(failed);
        self.session.shared.failed.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends the intake when more documents and records have failed than the policy allows. What was
    /// handed out is committed before the run ends, so that its ledger lists all that was counted.
    pub(super) fn limit_failures(&mut self) {
        if !self.is_ended && self.check_failures().is_err() {
            self.end();
        }
    }

    /// Compares the documents and records that have failed with what the policy allows.
    pub(super) fn check_failures(&self) -> Result<(), TrainError> {
        // The count runs ahead of commits: it bounds the session and is not part of the result.
        let failed = self.session.shared.failed.load(Ordering::Relaxed);
        let failures = failed + (self.loader.counts().bad - self.bad_before);
        match self.options.failures.most_failures {
            Some(most) if failures > most => Err(TrainError::TooManyFailures { failures, most }),
            _ => Ok(()),
        }
    }
}
