//! The committer, which makes one epoch after the other final, together with the position behind
//! it.

use crossbeam_channel::{Receiver, Sender};
use kato_loader::{BadRecord, Cursor};
use kato_probe::{Probe, ThreadState};

use crate::failure::FailedDocument;
use crate::ledger::Ledger;
use crate::stage_clock::StageClock;
use crate::worker::Report;
use crate::{Backend, Checkpoint, Counters, TrainError, stages};

/// An epoch of which everything is staged.
#[derive(Debug)]
pub(crate) struct StagedEpoch<P> {
    pub(crate) staged: Vec<P>,
    pub(crate) counters: Counters,
    pub(crate) failures: Vec<FailedDocument>,
    /// Position behind the epoch's last document.
    pub(crate) cursor: Cursor,
    /// Records that the loader skipped since the epoch before.
    pub(crate) bad_records: Vec<BadRecord>,
    /// Whether the corpus ends here.
    pub(crate) complete: bool,
}

/// A committer of epochs in the order in which they come, which is that of the corpus.
pub(crate) struct Committer<'a, B: Backend> {
    pub(crate) backend: &'a B,
    pub(crate) checkpoint: Checkpoint,
    pub(crate) ledger: Option<Ledger>,
    pub(crate) clock: &'a StageClock,
    pub(crate) probe: &'a Probe,
}

impl<B: Backend> Committer<'_, B> {
    /// Commits epochs until no more come, and returns the checkpoint of the last commit.
    pub(crate) fn run(
        mut self,
        epochs: &Receiver<StagedEpoch<B::Part>>,
        reports: &Sender<Report<B::Part>>,
    ) -> Result<Checkpoint, TrainError> {
        let _thread = self.probe.thread(stages::COMMIT);
        kato_probe::thread::set(ThreadState::Starved);
        for epoch in epochs {
            let clock = self.clock;
            let committing = kato_probe::thread::during(ThreadState::Busy);
            clock.time(|| self.commit(epoch))?;
            kato_probe::thread::add_items(1);
            drop(committing);
            let documents = self.checkpoint.cursor.documents();
            // The dispatcher may be gone after an error of its own; the commit stands all the same.
            let _ = reports.send(Report::Committed { documents });
        }
        Ok(self.checkpoint)
    }

    /// Makes one epoch final: its skipped documents in the ledger, its parts and its position in the
    /// backend.
    fn commit(&mut self, mut epoch: StagedEpoch<B::Part>) -> Result<(), TrainError> {
        // Changed in a copy: should anything below fail, `self.checkpoint` is still that of the
        // last commit.
        let mut checkpoint = self.checkpoint.clone();
        checkpoint.cursor = epoch.cursor;
        checkpoint.complete = epoch.complete;
        checkpoint.counters.merge(&epoch.counters);
        if epoch.staged.is_empty() && checkpoint == self.checkpoint {
            // A complete run that is resumed: not a byte changes.
            return Ok(());
        }
        let documents = checkpoint.cursor.documents();
        let _span = tracing::info_span!("commit", documents).entered();
        if let Some(ledger) = &mut self.ledger {
            // Parts come in the order in which workers staged them; sorted, the ledger of an epoch
            // does not depend on it.
            epoch.failures.sort_by_key(|failure| failure.document_idx);
            // The ledger is on the disk before the commit that counts its bytes. Entries that a
            // crash leaves without their commit are cut off on resume; the other order could lose
            // some.
            ledger.append(&epoch.bad_records)?;
            checkpoint.ledger_bytes = ledger.append(&epoch.failures)?;
        }
        self.backend.commit(epoch.staged, checkpoint.to_json())?;
        self.checkpoint = checkpoint;
        Ok(())
    }
}
