//! The dispatcher: reads documents, hands them to workers, and decides where epochs end.

use std::sync::atomic::Ordering;
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, SendTimeoutError, Sender};
use kato_loader::{BadRecord, DocumentBatch, LoadError, StreamingDatasetLoader};

use crate::committer::ClosedEpoch;
use crate::event::{Progress, TrainingEvent};
use crate::session::Session;
use crate::worker::Work;
use crate::{TrainError, TrainingOptions, WorkSize};

/// How long the dispatcher waits for a free worker before it looks around: not busily, and never so long that a failure
/// or a stop goes unseen.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// Text for a worker below which handing over costs more than learning, in bytes.
const MIN_BATCH_BYTES: usize = 16 << 10;

/// Why the dispatcher hands out no more work.
#[derive(Debug)]
enum Ended {
    /// There are no more documents, or no more than were asked for.
    Exhausted,
    /// A stop was asked for.
    Stopped,
    /// A thread has failed, and its join will say why.
    Failed,
    /// The corpus cannot be read on.
    Unreadable(LoadError),
}

/// Reads documents, hands them to workers, and decides where epochs end.
pub(crate) struct Dispatcher<'a> {
    loader: &'a mut StreamingDatasetLoader,
    options: &'a TrainingOptions,
    session: &'a Session,
    on_event: &'a mut dyn FnMut(TrainingEvent),
    batch_bytes: usize,
    work_size: WorkSize,
    last_progress: Instant,
    epoch: u64,
    epoch_start: Instant,
    epoch_work: u64,
    bad_records: Vec<BadRecord>,
}

impl<'a> Dispatcher<'a> {
    pub(crate) fn new(
        loader: &'a mut StreamingDatasetLoader,
        options: &'a TrainingOptions,
        session: &'a Session,
        work_size: WorkSize,
        on_event: &'a mut dyn FnMut(TrainingEvent),
    ) -> Self {
        // Each worker has a batch in hand and two waiting; they must not outweigh what it learns.
        let affordable = options.memory_budget / (4 * session.num_workers);
        Self {
            loader,
            options,
            session,
            on_event,
            batch_bytes: options.batch_bytes.min(affordable.max(MIN_BATCH_BYTES)),
            work_size,
            last_progress: session.start,
            epoch: 0,
            epoch_start: session.start,
            epoch_work: 0,
            bad_records: Vec::new(),
        }
    }

    /// Dispatches until the corpus ends, a stop is asked for, or a thread has failed; then waits for the last commit.
    pub(crate) fn run<A, B>(
        &mut self,
        work: Sender<Work>,
        closed: Sender<ClosedEpoch>,
        committed: &Receiver<u64>,
        workers: &[ScopedJoinHandle<'_, A>],
        committer: &ScopedJoinHandle<'_, B>,
    ) -> Result<(), TrainError> {
        let ended = loop {
            if self.options.stop.is_stopped() {
                (self.on_event)(TrainingEvent::Stopping);
                break Ended::Stopped;
            }
            let clock = &self.session.clocks.load;
            let loaded = clock.time(|| match self.work_size {
                WorkSize::Bytes => self.loader.next_batch(self.batch_bytes),
                WorkSize::Documents(number) => self.loader.next_documents(number),
            });
            self.bad_records.append(&mut self.loader.take_bad_records());
            match loaded {
                Ok(Some(documents)) => {
                    if !self.hand_out(documents, &work, committed, workers, committer) {
                        break Ended::Failed;
                    }
                    if self.epoch_start.elapsed() >= self.options.commit_interval {
                        self.close_epoch(&closed);
                    }
                }
                Ok(None) => break Ended::Exhausted,
                Err(error) => break Ended::Unreadable(error),
            }
        };
        // Also after an error of the loader: what came before it is kept. After a failure the open epoch has lost work.
        if !matches!(ended, Ended::Failed) {
            self.close_epoch(&closed);
        }
        drop((work, closed));
        while !(workers.iter().all(ScopedJoinHandle::is_finished) && committer.is_finished()) {
            self.report_commits(committed);
            self.report_progress();
            thread::sleep(Duration::from_millis(2));
        }
        self.report_commits(committed);
        self.report_progress_now();
        match ended {
            Ended::Unreadable(error) => Err(TrainError::Load(error)),
            Ended::Exhausted | Ended::Stopped | Ended::Failed => Ok(()),
        }
    }

    /// Hands a batch to whichever worker is free; false when the run has failed elsewhere.
    fn hand_out<A, B>(
        &mut self,
        documents: DocumentBatch,
        work: &Sender<Work>,
        committed: &Receiver<u64>,
        workers: &[ScopedJoinHandle<'_, A>],
        committer: &ScopedJoinHandle<'_, B>,
    ) -> bool {
        let mut item = Work {
            epoch: self.epoch,
            documents,
        };
        let waiting = Instant::now();
        let handed_out = loop {
            self.report_commits(committed);
            self.report_progress();
            // While there is work, a thread ends only by an error or a panic. The others could go on, but nothing of what
            // they learn could be committed any more.
            if committer.is_finished() || workers.iter().any(ScopedJoinHandle::is_finished) {
                break false;
            }
            let patience = self
                .options
                .progress_interval
                .clamp(SHORTEST_WAIT, LONGEST_WAIT);
            match work.send_timeout(item, patience) {
                Ok(()) => break true,
                Err(SendTimeoutError::Timeout(back)) => item = back,
                Err(SendTimeoutError::Disconnected(_)) => break false,
            }
        };
        self.session.clocks.blocked.add(waiting.elapsed());
        self.epoch_work += u64::from(handed_out);
        handed_out
    }

    fn close_epoch(&mut self, closed: &Sender<ClosedEpoch>) {
        let epoch = ClosedEpoch {
            epoch: self.epoch,
            n_work: self.epoch_work,
            cursor: self.loader.cursor(),
            bad_records: std::mem::take(&mut self.bad_records),
            // By the position and not by how the session ends: a complete run stays so when a session on it is stopped,
            // and a limit on documents completes nothing.
            complete: self.loader.is_exhausted(),
        };
        // The committer is gone only after an error, which it reports itself.
        let _ = closed.send(epoch);
        self.epoch += 1;
        self.epoch_work = 0;
        self.epoch_start = Instant::now();
        self.session
            .shared
            .open_epoch
            .store(self.epoch, Ordering::Release);
    }

    fn report_commits(&mut self, committed: &Receiver<u64>) {
        for documents in committed.try_iter() {
            (self.on_event)(TrainingEvent::Committed { documents });
        }
    }

    fn report_progress(&mut self) {
        if self.last_progress.elapsed() >= self.options.progress_interval {
            self.report_progress_now();
        }
    }

    fn report_progress_now(&mut self) {
        self.last_progress = Instant::now();
        let Session {
            shared, earlier, ..
        } = self.session;
        let session_samples = shared.samples.load(Ordering::Relaxed);
        let session_failed = shared.failed.load(Ordering::Relaxed);
        let observations = shared.observations.iter().zip(&earlier.observations);
        (self.on_event)(TrainingEvent::Progress(Progress {
            samples: earlier.samples + session_samples,
            session_samples,
            session_tokens: shared.tokens.load(Ordering::Relaxed),
            errors: earlier.failed + session_failed + self.loader.counts().bad,
            records: self.loader.counts().records,
            bytes_read: self.loader.bytes_read(),
            total_bytes: self.loader.total_bytes(),
            observations: observations
                .map(|(now, earlier)| now.load(Ordering::Relaxed) + earlier)
                .collect(),
            elapsed: self.session.start.elapsed(),
        }));
    }
}
