//! The committer: collects the parts of each epoch and commits them with the position behind the epoch.

use std::collections::BTreeMap;

use crossbeam_channel::{Receiver, Sender};
use kato_loader::{BadRecord, Cursor};

use crate::ledger::Ledger;
use crate::stage_clock::StageClock;
use crate::worker::{FailedDocument, StagedPart};
use crate::{Backend, Checkpoint, Counters, TrainError};

/// Told by the dispatcher when it hands out no more work for an epoch.
#[derive(Debug)]
pub(crate) struct ClosedEpoch {
    pub(crate) epoch: u64,
    /// Work items of the epoch.
    pub(crate) n_work: u64,
    /// Position behind the epoch's last document.
    pub(crate) cursor: Cursor,
    /// Records that the loader skipped since the epoch before.
    pub(crate) bad_records: Vec<BadRecord>,
    /// Whether the corpus ends here.
    pub(crate) complete: bool,
}

/// What has arrived of an epoch.
#[derive(Debug)]
struct PendingEpoch<P> {
    n_work: u64,
    staged: Vec<P>,
    counters: Counters,
    failures: Vec<FailedDocument>,
    closed: Option<ClosedEpoch>,
}

impl<P> Default for PendingEpoch<P> {
    fn default() -> Self {
        Self {
            n_work: 0,
            staged: Vec::new(),
            counters: Counters::default(),
            failures: Vec::new(),
            closed: None,
        }
    }
}

impl<P> PendingEpoch<P> {
    fn is_complete(&self) -> bool {
        self.closed
            .as_ref()
            .is_some_and(|closed| closed.n_work == self.n_work)
    }
}

/// Commits epochs strictly in order, so that the store always holds a prefix of the corpus.
pub(crate) struct Committer<'a, B: Backend> {
    backend: &'a B,
    checkpoint: Checkpoint,
    ledger: Option<Ledger>,
    clock: &'a StageClock,
    pending: BTreeMap<u64, PendingEpoch<B::Part>>,
    next_epoch: u64,
}

impl<'a, B: Backend> Committer<'a, B> {
    pub(crate) fn new(
        backend: &'a B,
        checkpoint: Checkpoint,
        ledger: Option<Ledger>,
        clock: &'a StageClock,
    ) -> Self {
        Self {
            backend,
            checkpoint,
            ledger,
            clock,
            pending: BTreeMap::new(),
            next_epoch: 0,
        }
    }

    /// Works until both senders are gone, and returns the last commit's checkpoint. Parts of an epoch that never became
    /// complete are dropped, which abandons them.
    pub(crate) fn run(
        mut self,
        parts: &Receiver<StagedPart<B::Part>>,
        closed: &Receiver<ClosedEpoch>,
        committed: &Sender<u64>,
    ) -> Result<Checkpoint, TrainError> {
        let (mut parts_open, mut closed_open) = (true, true);
        let never_part = crossbeam_channel::never();
        let never_closed = crossbeam_channel::never();
        while parts_open || closed_open {
            let parts = if parts_open { parts } else { &never_part };
            let closed = if closed_open { closed } else { &never_closed };
            crossbeam_channel::select! {
                recv(parts) -> part => match part {
                    Ok(part) => self.add_part(part),
                    Err(_) => parts_open = false,
                },
                recv(closed) -> epoch => match epoch {
                    Ok(epoch) => self.close(epoch),
                    Err(_) => closed_open = false,
                },
            }
            while self
                .pending
                .get(&self.next_epoch)
                .is_some_and(PendingEpoch::is_complete)
            {
                self.commit_next()?;
                // The dispatcher may be gone after an error of its own; the commit stands all the same.
                let _ = committed.send(self.checkpoint.cursor.documents());
            }
        }
        Ok(self.checkpoint)
    }

    fn close(&mut self, closed: ClosedEpoch) {
        let epoch = self.pending.entry(closed.epoch).or_default();
        epoch.closed = Some(closed);
    }

    fn add_part(&mut self, part: StagedPart<B::Part>) {
        let epoch = self.pending.entry(part.epoch).or_default();
        epoch.n_work += part.n_work;
        epoch.staged.extend(part.staged);
        epoch.counters.merge(&part.counters);
        epoch.failures.extend(part.failures);
    }

    fn commit_next(&mut self) -> Result<(), TrainError> {
        let mut epoch = self.pending.remove(&self.next_epoch).unwrap_or_default();
        self.next_epoch += 1;
        let Some(closed) = epoch.closed else {
            return Ok(());
        };
        self.clock.time(|| {
            let mut checkpoint = self.checkpoint.clone();
            checkpoint.cursor = closed.cursor;
            checkpoint.complete = closed.complete;
            checkpoint.counters.merge(&epoch.counters);
            if epoch.staged.is_empty() && checkpoint == self.checkpoint {
                // A complete run that is resumed: not a byte changes.
                return Ok(());
            }
            if let Some(ledger) = &mut self.ledger {
                epoch.failures.sort_by_key(FailedDocument::sample_idx);
                ledger.append(&closed.bad_records)?;
                checkpoint.ledger_bytes = ledger.append(&epoch.failures)?;
            }
            self.backend.commit(epoch.staged, checkpoint.to_json())?;
            self.checkpoint = checkpoint;
            Ok(())
        })
    }
}
