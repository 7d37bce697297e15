//! A training session: the dispatcher reads, workers learn, the committer commits.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, SendTimeoutError, Sender, bounded, unbounded};
use kato_learner::{HierarchicalConceptLearner, TailPolicy};
use kato_loader::{BadRecord, DocumentBatch, LoadError, StreamingDatasetLoader};
use kato_store::PatternStore;

use crate::committer::{ClosedEpoch, Committer};
use crate::event::{Progress, TrainingEvent};
use crate::ledger::Ledger;
use crate::report::{LevelReport, StageSeconds, TrainingReport};
use crate::stage_clock::StageClock;
use crate::worker::{Shared, StagedPart, Work, Worker, WorkerOptions};
use crate::{Checkpoint, RunConfiguration, TrainError, TrainingOptions};

/// How long the dispatcher waits for a free worker before it looks around: not busily, and never so long that a failure
/// or a stop goes unseen.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);
const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// Learns all documents of a corpus into a store, on several threads, and commits as it goes.
///
/// The result is that of one thread learning one document after the other, for any number of workers, any sizes of
/// batches, and any number of interruptions: position and counts are committed together, in the order of the corpus.
/// The loader must start where the store's checkpoint ends ([`Checkpoint::cursor`]); a store without a checkpoint starts
/// at the beginning.
///
/// `on_event` is called on the caller's thread.
///
/// # Errors
///
/// Every [`TrainError`]. What was committed before is safe; build the loader at the checkpoint's cursor and call again.
///
/// ```
/// use kato_learner::HierarchicalConceptLearner;
/// use kato_loader::StreamingDatasetLoader;
/// use kato_scheduler::{RunConfiguration, TrainingOptions, train};
/// use kato_store::MemoryStore;
///
/// let learner = HierarchicalConceptLearner::builder(kato_tokenizer::gpt2()).chunk_sizes([5, 7, 9]).build()?;
/// let store = MemoryStore::new(&learner.node_names(), RunConfiguration::of(&learner).to_json());
/// let text = "It was the best of times, it was the worst of times.";
/// let mut loader = StreamingDatasetLoader::builder().with_reader("tale.txt", text.as_bytes()).build()?;
///
/// let report = train(&mut loader, &learner, &store, &TrainingOptions::default(), |_event| {})?;
/// assert_eq!(report.samples_processed, 1);
/// assert_eq!(report.levels[0].observations, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn train(
    loader: &mut StreamingDatasetLoader,
    learner: &HierarchicalConceptLearner,
    store: &dyn PatternStore,
    options: &TrainingOptions,
    mut on_event: impl FnMut(TrainingEvent),
) -> Result<TrainingReport, TrainError> {
    let start = Instant::now();
    let checkpoint = check_resumable(loader, learner, store)?;
    let ledger = options.ledger.as_deref().map(|path| Ledger::open(path, checkpoint.ledger_bytes)).transpose()?;
    let shared = Shared {
        observations: learner.nodes().iter().map(|_| AtomicU64::new(0)).collect(),
        ..Shared::default()
    };
    let clocks = Clocks::default();
    let earlier = Earlier::of(store, &checkpoint, learner)?;
    let num_workers = options.num_workers.get();
    let worker_options = WorkerOptions {
        batch_budget: options.memory_budget / num_workers,
        skip_errors: options.skip_errors,
    };
    let checkpoint = thread::scope(|scope| {
        let (work_sender, work) = bounded::<Work>(2 * num_workers);
        let (part_sender, parts) = bounded::<StagedPart>(2 * num_workers);
        let (closed_sender, closed) = unbounded::<ClosedEpoch>();
        let (committed_sender, committed) = unbounded::<u64>();

        let mut workers = Vec::with_capacity(num_workers);
        for worker_idx in 0..num_workers {
            let worker = Worker::new(learner, store, &shared, worker_options);
            let (work, part_sender) = (work.clone(), part_sender.clone());
            let handle = thread::Builder::new()
                .name(format!("worker-{worker_idx}"))
                .spawn_scoped(scope, move || worker.run(&work, &part_sender))
                .map_err(TrainError::Spawn)?;
            workers.push(handle);
        }
        // Only the workers hold these now, so the channels close with them.
        drop((work, part_sender));
        let committer = Committer::new(store, checkpoint, ledger, &clocks.commit);
        let committer = thread::Builder::new()
            .name("committer".to_owned())
            .spawn_scoped(scope, move || committer.run(&parts, &closed, &committed_sender))
            .map_err(TrainError::Spawn)?;

        let mut dispatcher = Dispatcher {
            loader,
            options,
            shared: &shared,
            clocks: &clocks,
            earlier: &earlier,
            on_event: &mut on_event,
            start,
            last_progress: start,
            epoch: 0,
            epoch_start: start,
            epoch_work: 0,
            bad_records: Vec::new(),
        };
        let dispatched = dispatcher.run(work_sender, closed_sender, &committed, &workers, &committer);
        for worker in workers {
            join(worker)?;
        }
        let checkpoint = join(committer)?;
        dispatched?;
        Ok(checkpoint)
    })?;
    let seconds = start.elapsed().as_secs_f64();
    on_event(TrainingEvent::Counting);
    let count = Instant::now();
    let levels = levels(learner, store)?;
    clocks.count.add(count.elapsed());
    Ok(report(&checkpoint, &earlier, levels, seconds, num_workers, &shared, &clocks, store))
}

/// Clocks of the stages that are not the workers'.
#[derive(Debug, Default)]
struct Clocks {
    load: StageClock,
    blocked: StageClock,
    commit: StageClock,
    count: StageClock,
}

/// What earlier sessions of the run did.
#[derive(Debug)]
struct Earlier {
    samples: u64,
    failed: u64,
    tokens: u64,
    observations: Vec<u64>,
}

impl Earlier {
    fn of(
        store: &dyn PatternStore,
        checkpoint: &Checkpoint,
        learner: &HierarchicalConceptLearner,
    ) -> Result<Self, TrainError> {
        let observations = (0..learner.nodes().len())
            .map(|node_idx| store.totals(node_idx).map(|totals| totals.observations))
            .collect::<Result<_, _>>()
            .map_err(TrainError::Store)?;
        let counters = checkpoint.counters;
        Ok(Self { samples: counters.samples, failed: counters.failed, tokens: counters.tokens, observations })
    }
}

/// Compares store, learner and loader, and returns the checkpoint to go on from.
fn check_resumable(
    loader: &StreamingDatasetLoader,
    learner: &HierarchicalConceptLearner,
    store: &dyn PatternStore,
) -> Result<Checkpoint, TrainError> {
    if learner.config().tail_policy == TailPolicy::Carry {
        return Err(TrainError::OrderDependent);
    }
    let was = RunConfiguration::from_json(store.configuration()).map_err(|source| TrainError::Checkpoint { source })?;
    let mut differences = was.diff(&RunConfiguration::of(learner));
    if store.nodes() != learner.node_names() {
        let (was, now) = (store.nodes().join(", "), learner.node_names().join(", "));
        differences.push(format!("knowledge bases: they are for {was}, and the learner's nodes are {now}"));
    }
    if !differences.is_empty() {
        return Err(TrainError::OtherConfiguration { differences });
    }
    let corpus = loader.identity();
    let committed = Checkpoint::from_json(&store.checkpoint())?;
    let is_new = committed.is_none();
    let checkpoint = committed.unwrap_or_else(|| Checkpoint::at_start(corpus.clone()));
    let differences = checkpoint.corpus.diff(&corpus);
    if !differences.is_empty() {
        return Err(TrainError::OtherCorpus { differences });
    }
    if loader.cursor() != checkpoint.cursor {
        let (expected, found) = (checkpoint.cursor.documents(), loader.cursor().documents());
        return Err(TrainError::Position { expected, found });
    }
    if is_new {
        // The corpus is remembered before anything is learned from it, and not before all is checked.
        store.commit(Vec::new(), checkpoint.to_json()).map_err(TrainError::Store)?;
    }
    Ok(checkpoint)
}

/// Why the dispatcher hands out no more work.
#[derive(Debug)]
enum Ended {
    /// The corpus was read to its end.
    Complete,
    /// A stop was asked for.
    Stopped,
    /// A thread has failed, and its join will say why.
    Failed,
    /// The corpus cannot be read on.
    Unreadable(LoadError),
}

/// Reads documents, hands them to workers, and decides where epochs end.
struct Dispatcher<'a> {
    loader: &'a mut StreamingDatasetLoader,
    options: &'a TrainingOptions,
    shared: &'a Shared,
    clocks: &'a Clocks,
    earlier: &'a Earlier,
    on_event: &'a mut dyn FnMut(TrainingEvent),
    start: Instant,
    last_progress: Instant,
    epoch: u64,
    epoch_start: Instant,
    epoch_work: u64,
    bad_records: Vec<BadRecord>,
}

impl Dispatcher<'_> {
    /// Dispatches until the corpus ends, a stop is asked for, or a thread has failed; then waits for the last commit.
    fn run<A, B>(
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
            let loaded = self.clocks.load.time(|| self.loader.next_batch(self.options.batch_bytes));
            self.bad_records.append(&mut self.loader.take_bad_records());
            match loaded {
                Ok(Some(documents)) => {
                    if !self.hand_out(documents, &work, committed, workers, committer) {
                        break Ended::Failed;
                    }
                    if self.epoch_start.elapsed() >= self.options.commit_interval {
                        self.close_epoch(&closed, false);
                    }
                }
                Ok(None) => break Ended::Complete,
                Err(error) => break Ended::Unreadable(error),
            }
        };
        // Also after an error of the loader: what came before it is kept. After a failure the open epoch has lost work.
        if !matches!(ended, Ended::Failed) {
            self.close_epoch(&closed, matches!(ended, Ended::Complete));
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
            Ended::Complete | Ended::Stopped | Ended::Failed => Ok(()),
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
        let mut item = Work { epoch: self.epoch, documents };
        let waiting = Instant::now();
        let handed_out = loop {
            self.report_commits(committed);
            self.report_progress();
            // While there is work, a thread ends only by an error or a panic. The others could go on, but nothing of what
            // they learn could be committed any more.
            if committer.is_finished() || workers.iter().any(ScopedJoinHandle::is_finished) {
                break false;
            }
            let patience = self.options.progress_interval.clamp(SHORTEST_WAIT, LONGEST_WAIT);
            match work.send_timeout(item, patience) {
                Ok(()) => break true,
                Err(SendTimeoutError::Timeout(back)) => item = back,
                Err(SendTimeoutError::Disconnected(_)) => break false,
            }
        };
        self.clocks.blocked.add(waiting.elapsed());
        self.epoch_work += u64::from(handed_out);
        handed_out
    }

    fn close_epoch(&mut self, closed: &Sender<ClosedEpoch>, complete: bool) {
        let epoch = ClosedEpoch {
            epoch: self.epoch,
            n_work: self.epoch_work,
            cursor: self.loader.cursor(),
            bad_records: std::mem::take(&mut self.bad_records),
            complete,
        };
        // The committer is gone only after an error, which it reports itself.
        let _ = closed.send(epoch);
        self.epoch += 1;
        self.epoch_work = 0;
        self.epoch_start = Instant::now();
        self.shared.open_epoch.store(self.epoch, Ordering::Release);
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
        let session_samples = self.shared.samples.load(Ordering::Relaxed);
        let session_failed = self.shared.failed.load(Ordering::Relaxed);
        let observations = self.shared.observations.iter().zip(&self.earlier.observations);
        (self.on_event)(TrainingEvent::Progress(Progress {
            samples: self.earlier.samples + session_samples,
            session_samples,
            session_tokens: self.shared.tokens.load(Ordering::Relaxed),
            errors: self.earlier.failed + session_failed + self.loader.counts().bad,
            bytes_read: self.loader.bytes_read(),
            total_bytes: self.loader.total_bytes(),
            observations: observations.map(|(now, earlier)| now.load(Ordering::Relaxed) + earlier).collect(),
            elapsed: self.start.elapsed(),
        }));
    }
}

/// The result of a thread; a panic goes on in the caller.
fn join<T>(handle: ScopedJoinHandle<'_, Result<T, TrainError>>) -> Result<T, TrainError> {
    handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn levels(learner: &HierarchicalConceptLearner, store: &dyn PatternStore) -> Result<Vec<LevelReport>, TrainError> {
    let level = |(node_idx, node): (usize, &kato_learner::HierarchicalNode)| {
        Ok(LevelReport {
            node: node.name.clone(),
            chunk_size: node.chunk_size,
            observations: store.totals(node_idx)?.observations,
            unique_patterns: store.count_patterns(node_idx)?,
        })
    };
    learner.nodes().iter().enumerate().map(level).collect::<Result<_, _>>().map_err(TrainError::Store)
}

#[expect(clippy::too_many_arguments, reason = "the one place where all that a session knows comes together")]
fn report(
    checkpoint: &Checkpoint,
    earlier: &Earlier,
    levels: Vec<LevelReport>,
    seconds: f64,
    num_workers: usize,
    shared: &Shared,
    clocks: &Clocks,
    store: &dyn PatternStore,
) -> TrainingReport {
    let counters = checkpoint.counters;
    let counts = checkpoint.cursor.counts();
    let session_samples = counters.samples - earlier.samples;
    let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    TrainingReport {
        samples_processed: counters.samples,
        samples_attempted: counters.samples + counters.failed + counts.bad,
        errors: counters.failed + counts.bad,
        tokens: counters.tokens,
        total_time_seconds: seconds,
        rate_samples_per_sec: rate(session_samples),
        tokens_per_sec: rate(counters.tokens - earlier.tokens),
        num_workers,
        levels,
        dropped: counters.dropped,
        blank_records: counts.blank,
        short_records: counts.short,
        session_samples,
        complete: checkpoint.complete,
        disk_bytes: store.disk_bytes(),
        stage_seconds: StageSeconds {
            load: clocks.load.seconds(),
            load_blocked: clocks.blocked.seconds(),
            learn: shared.learn.seconds(),
            stage: shared.stage.seconds(),
            starved: shared.starved.seconds(),
            commit: clocks.commit.seconds(),
            count_patterns: clocks.count.seconds(),
        },
    }
}
