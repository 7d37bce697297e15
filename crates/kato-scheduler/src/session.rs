//! A training session: the dispatcher reads, workers learn, the committer commits.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded, unbounded};
use kato_learner::config::Recording;
use kato_learner::{HierarchicalConceptLearner, TailPolicy};
use kato_loader::{Counts, StreamingDatasetLoader};
use kato_store::PatternStore;

use crate::backend::{Backend, Teacher};
use crate::committer::Committer;
use crate::dispatcher::{Dispatcher, SessionCounts};
use crate::event::TrainingEvent;
use crate::ledger::Ledger;
use crate::report::{LevelReport, SessionEnd, StageSeconds, TrainingReport};
use crate::stage_clock::StageClock;
use crate::stages::{self, WorkerProbes};
use crate::store_backend::StoreBackend;
use crate::worker::{Shared, WorkerOptions};
use crate::worker_pool::{WorkerContext, WorkerPool};
use crate::{Checkpoint, Distribution, RunConfiguration, StopSignal, TrainError, TrainingOptions};

/// Time between two looks at the stop signal.
const STOP_INTERVAL: Duration = Duration::from_millis(20);

/// Time after which a read that a stop finds under way is taken to be waiting.
const LONGEST_READ: Duration = Duration::from_millis(200);

/// Learns all documents of a corpus into a store, on several threads, and commits as it goes.
///
/// The result is that of one thread learning one document after the other, for any number of
/// workers, any sizes of batches, and any number of interruptions: position and counts are
/// committed together, in the order of the corpus. The loader must start where the store's
/// checkpoint ends ([`Checkpoint::cursor`]); a store without a checkpoint starts at the beginning.
///
/// `on_event` is called on the caller's thread.
///
/// # Errors
///
/// Every [`TrainError`]. What was committed before is safe; build the loader at the checkpoint's
/// cursor and call again.
///
/// ```
/// use kato_learner::HierarchicalConceptLearner;
/// use kato_loader::StreamingDatasetLoader;
/// use kato_scheduler::{RunConfiguration, TrainingOptions, train_parallel};
/// use kato_store::MemoryStore;
///
/// let learner = HierarchicalConceptLearner::builder(kato_tokenizer::gpt2())
///     .with_chunk_sizes([5, 7, 9])
///     .build()?;
/// let store = MemoryStore::new(&learner.node_names(), RunConfiguration::from_learner(&learner).to_json());
/// let text = "It was the best of times, it was the worst of times.";
/// let mut loader = StreamingDatasetLoader::builder().with_reader("tale.txt", text.as_bytes()).build()?;
///
/// let report = train_parallel(&mut loader, &learner, &store, &TrainingOptions::default(), |_event| {})?;
/// assert_eq!(report.documents_processed, 1);
/// assert_eq!(report.levels[0].learns, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn train_parallel(
    loader: &mut StreamingDatasetLoader,
    learner: &HierarchicalConceptLearner,
    store: &dyn PatternStore,
    options: &TrainingOptions,
    on_event: impl FnMut(TrainingEvent),
) -> Result<TrainingReport, TrainError> {
    train_parallel_with(
        loader,
        learner,
        &StoreBackend::new(store),
        options,
        on_event,
    )
}

/// Trains any [`Backend`] as [`train_parallel`] trains a store: nodes behind a network, for
/// example.
///
/// # Errors
///
/// As [`train_parallel`], and what the backend meets.
pub fn train_parallel_with<B: Backend>(
    loader: &mut StreamingDatasetLoader,
    learner: &HierarchicalConceptLearner,
    backend: &B,
    options: &TrainingOptions,
    on_event: impl FnMut(TrainingEvent),
) -> Result<TrainingReport, TrainError> {
    check_settings(loader, learner, backend)?;
    let lesson = NodeLesson { learner, backend };
    run_session(loader, &lesson, backend, options, on_event)
}

/// What is made of documents, as far as a session has to know.
pub(crate) trait Lesson: Sync {
    /// The unit that a teacher hands over for a commit.
    type Part;

    /// Returns names and chunk sizes of the nodes, from the bottom up.
    fn nodes(&self) -> Vec<(&str, usize)>;

    /// Returns what is told of a document beside its text.
    fn recording(&self) -> Recording;

    /// Creates the teacher of one worker.
    fn teacher(&self) -> Result<Box<dyn Teacher<Part = Self::Part> + '_>, TrainError>;
}

/// The nodes of a backend are taught what a learner says.
struct NodeLesson<'a, B> {
    learner: &'a HierarchicalConceptLearner,
    backend: &'a B,
}

impl<B: Backend> Lesson for NodeLesson<'_, B> {
    type Part = B::Part;

    fn nodes(&self) -> Vec<(&str, usize)> {
        let nodes = self.learner.nodes().iter();
        nodes
            .map(|node| (node.name.as_str(), node.chunk_size))
            .collect()
    }

    fn recording(&self) -> Recording {
        self.learner.config().recording
    }

    fn teacher(&self) -> Result<Box<dyn Teacher<Part = B::Part> + '_>, TrainError> {
        self.backend.teacher(self.learner)
    }
}

/// Runs a session on whatever is made of the documents.
pub(crate) fn run_session<B: Backend>(
    loader: &mut StreamingDatasetLoader,
    lesson: &dyn Lesson<Part = B::Part>,
    backend: &B,
    options: &TrainingOptions,
    on_event: impl FnMut(TrainingEvent),
) -> Result<TrainingReport, TrainError> {
    let reading = ReadingMark::default();
    let interrupt_reading = loader.interrupter();
    thread::scope(|scope| {
        // Dropped at the end of the session, or of a panic.
        let (_session, session_ends) = bounded(0);
        let pass_on = StopRelay {
            stop: &options.stop,
            backend,
            reading: reading.clone(),
            interrupt_reading,
            session_ends,
        };
        // On a thread of its own: the others may be waiting for what the stop is to end.
        thread::Builder::new()
            .name("stop".to_owned())
            .spawn_scoped(scope, || pass_on.run())
            .map_err(TrainError::Spawn)?;
        let training = Training {
            lesson,
            backend,
            options,
        };
        training.run(loader, reading, on_event)
    })
}

/// Passes a stop on to what waits for something outside of this process.
struct StopRelay<'a, B, I> {
    stop: &'a StopSignal,
    backend: &'a B,
    reading: ReadingMark,
    interrupt_reading: I,
    session_ends: Receiver<Infallible>,
}

impl<B: Backend, I: Fn()> StopRelay<'_, B, I> {
    /// Runs until the session ends.
    fn run(self) {
        while !self.stop.is_stopped() {
            if self.has_ended(STOP_INTERVAL) {
                return;
            }
        }
        self.backend.interrupt();
        // A loader that only reads goes on to its next look at the stop, and can be read on later; one
        // that waits cannot.
        loop {
            let before = self.reading.get();
            if self.has_ended(LONGEST_READ) {
                return;
            }
            if ReadingMark::is_reading(before) && self.reading.get() == before {
                (self.interrupt_reading)();
                return;
            }
        }
    }

    /// Waits for the end of the session; returns whether it came.
    fn has_ended(&self, within: Duration) -> bool {
        self.session_ends.recv_timeout(within) != Err(RecvTimeoutError::Timeout)
    }
}

/// A mark of reads: odd while one is under way, another for each.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadingMark(Arc<AtomicU64>);

impl ReadingMark {
    /// Marks the beginning or the end of a read.
    pub(crate) fn turn(&self) {
        // Relaxed: the mark stands for itself.
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    const fn is_reading(mark: u64) -> bool {
        mark % 2 == 1
    }
}

/// What a session trains, and how.
struct Training<'a, B: Backend> {
    lesson: &'a dyn Lesson<Part = B::Part>,
    backend: &'a B,
    options: &'a TrainingOptions,
}

impl<B: Backend> Training<'_, B> {
    /// Trains the backend, whatever becomes of its waits.
    fn run(
        &self,
        loader: &mut StreamingDatasetLoader,
        reading: ReadingMark,
        mut on_event: impl FnMut(TrainingEvent),
    ) -> Result<TrainingReport, TrainError> {
        let (backend, options) = (self.backend, self.options);
        let start = Instant::now();
        let merged_before = backend.merging_time();
        let checkpoint = check_position(loader, backend)?;
        // Before any thread is started: a ledger that cannot be used ends the run while nothing is
        // learned.
        let ledger = options
            .ledger
            .as_deref()
            .map(|path| Ledger::open(path, checkpoint.ledger_bytes))
            .transpose()?;
        let session = self.begin(start, &checkpoint, reading)?;
        let _thread = options.probe.thread(stages::LOAD);
        let n_workers = session.n_workers;
        let _span =
            tracing::info_span!("train", n_workers, distribution = %options.distribution).entered();
        let (checkpoint, session_counts) =
            self.learn_all(loader, &session, checkpoint, ledger, &mut on_event)?;
        self.conclude()?;
        // Up to the last commit: counting patterns is work for the report alone.
        let seconds = start.elapsed().as_secs_f64();
        let merging = backend.merging_time().saturating_sub(merged_before);
        let counts_patterns = !options.stop.is_stopped();
        if counts_patterns {
            on_event(TrainingEvent::Counting);
        }
        let levels = session
            .clocks
            .count
            .time(|| levels(&self.lesson.nodes(), backend, counts_patterns))?;
        let outcome = Outcome {
            checkpoint,
            levels,
            seconds,
            disk_bytes: backend.disk_bytes(),
            session_counts,
            distribution: options.distribution,
            merging,
            was_stopped: options.stop.is_stopped(),
        };
        Ok(session.report(outcome))
    }

    /// Creates the state of the session that goes on from a checkpoint.
    fn begin(
        &self,
        start: Instant,
        checkpoint: &Checkpoint,
        reading: ReadingMark,
    ) -> Result<Session, TrainError> {
        let Self {
            lesson,
            backend,
            options,
        } = *self;
        let nodes = lesson.nodes();
        let connections = backend.connections();
        let n_workers = options
            .n_workers
            .resolve(options.memory_budget, options.memory_ceiling, connections)?
            .get();
        Ok(Session {
            start,
            n_workers,
            reading,
            shared: Shared::new(nodes.len()),
            clocks: Clocks::default(),
            earlier: Earlier::load(backend, checkpoint, nodes.len())?,
            probes: WorkerProbes::new(
                &options.probe,
                nodes.iter().map(|(name, _)| *name),
                n_workers,
                backend.connections().is_none(),
            ),
        })
    }

    /// Learns what is left of the corpus, on threads that end with this call; returns the last
    /// checkpoint.
    fn learn_all(
        &self,
        loader: &mut StreamingDatasetLoader,
        session: &Session,
        checkpoint: Checkpoint,
        ledger: Option<Ledger>,
        on_event: &mut dyn FnMut(TrainingEvent),
    ) -> Result<(Checkpoint, SessionCounts), TrainError> {
        let (backend, options) = (self.backend, self.options);
        let context = WorkerContext {
            backend,
            lesson: self.lesson,
            shared: &session.shared,
            probes: &session.probes,
            options: WorkerOptions {
                batch_budget: options.memory_budget / session.n_workers,
                on_failure: options.failures.on_failure,
            },
        };
        thread::scope(|scope| {
            // Unbounded, so that no worker ever waits to report; and yet short, since workers have few
            // assignments at a time.
            let (report_sender, reports) = unbounded();
            // The dispatcher sends no epoch before the one in front of it is committed.
            let (commits, epochs) = unbounded();
            let n_workers = session.n_workers;
            let pool = match WorkerPool::start(scope, context, n_workers, report_sender.clone()) {
                // Stopped while it was being found out how far the nodes are.
                Err(error) if error.is_interruption() && options.stop.is_stopped() => {
                    return Ok((checkpoint, SessionCounts::default()));
                }
                started => started?,
            };
            let committer = Committer {
                backend,
                checkpoint,
                ledger,
                clock: &session.clocks.commit,
                probe: &options.probe,
            };
            // Should this fail, the pool is dropped with its mailboxes and the workers end, as the
            // scope wants.
            let committer = thread::Builder::new()
                .name("committer".to_owned())
                .spawn_scoped(scope, move || committer.run(&epochs, &report_sender))
                .map_err(TrainError::Spawn)?;
            let dispatcher =
                Dispatcher::new(loader, options, session, backend, pool, commits, on_event);
            let dispatched = dispatcher.run(&reports, &committer);
            // The dispatcher is dropped by now, and with it the sender of epochs: the committer ends
            // behind the last one. Its error comes first: the dispatcher gives up without one of its
            // own when it finds the committer gone.
            let checkpoint = join(committer)?;
            Ok((checkpoint, dispatched?))
        })
    }

    /// Lets the backend end a run that is complete.
    fn conclude(&self) -> Result<(), TrainError> {
        // A run that was stopped is resumed; it is compared with what it taught when it is complete.
        if self.options.stop.is_stopped() {
            return Ok(());
        }
        match self.backend.conclude() {
            Err(error) if error.is_interruption() && self.options.stop.is_stopped() => Ok(()),
            concluded => Ok(concluded?),
        }
    }
}

/// The state of a session that the dispatcher and the report use.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) start: Instant,
    pub(crate) n_workers: usize,
    pub(crate) reading: ReadingMark,
    pub(crate) shared: Shared,
    pub(crate) clocks: Clocks,
    pub(crate) earlier: Earlier,
    pub(crate) probes: WorkerProbes,
}

/// Clocks of the stages that do not run on workers.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    pub(crate) load: StageClock,
    pub(crate) blocked: StageClock,
    pub(crate) commit: StageClock,
    pub(crate) count: StageClock,
}

/// The counts of the earlier sessions of a run.
#[derive(Debug)]
pub(crate) struct Earlier {
    pub(crate) documents: u64,
    pub(crate) failed: u64,
    pub(crate) tokens: u64,
    pub(crate) learns: Vec<u64>,
}

impl Earlier {
    /// Reads the counts of the earlier sessions.
    fn load(
        backend: &impl Backend,
        checkpoint: &Checkpoint,
        n_nodes: usize,
    ) -> Result<Self, TrainError> {
        let learns = (0..n_nodes)
            .map(|node_idx| backend.learns(node_idx))
            .collect::<Result<_, _>>()?;
        let counters = checkpoint.counters;
        Ok(Self {
            documents: counters.documents,
            failed: counters.failed,
            tokens: counters.tokens,
            learns,
        })
    }
}

/// Compares the settings of learner and loader with those that the run was begun with.
pub(crate) fn check_settings(
    loader: &StreamingDatasetLoader,
    learner: &HierarchicalConceptLearner,
    backend: &impl Backend,
) -> Result<(), TrainError> {
    // A carried tail joins two documents: the result would depend on which document a worker learns
    // next.
    if learner.config().tail_policy == TailPolicy::Carry {
        return Err(TrainError::OrderDependent);
    }
    let was = RunConfiguration::from_json(backend.configuration())
        .map_err(|source| TrainError::Checkpoint { source })?;
    let mut differences =
        was.diff(&RunConfiguration::from_learner(learner).with_split(loader.split()));
    if backend.nodes() != learner.node_names() {
        let (was, now) = (backend.nodes().join(", "), learner.node_names().join(", "));
        differences.push(format!(
            "knowledge bases: they are for {was}, and the learner's nodes are {now}"
        ));
    }
    match differences.is_empty() {
        true => Ok(()),
        false => Err(TrainError::OtherConfiguration { differences }),
    }
}

/// Compares the corpus and its position with those of the last commit, and returns the checkpoint to
/// go on from.
pub(crate) fn check_position(
    loader: &StreamingDatasetLoader,
    backend: &impl Backend,
) -> Result<Checkpoint, TrainError> {
    let corpus = loader.identity();
    let mut committed = Checkpoint::from_json(&backend.checkpoint())?;
    let mut is_new = committed.is_none();
    if let Some(committed) = &mut committed {
        // More files behind those that were read to the end are what such a run goes on with.
        if committed.complete && corpus.extends(&committed.corpus) {
            committed.corpus = corpus.clone();
            committed.complete = false;
            is_new = true;
        }
        let differences = committed.corpus.diff(&corpus);
        if !differences.is_empty() {
            return Err(TrainError::OtherCorpus { differences });
        }
    }
    // Where an order begins is for the loader to decide: a new run may begin anywhere, with nothing
    // read yet.
    let is_in_place = match &committed {
        Some(committed) => loader.cursor() == committed.cursor,
        None => loader.counts() == Counts::default(),
    };
    if !is_in_place {
        let expected = committed.map_or(0, |committed| committed.cursor.documents());
        let found = loader.cursor().documents();
        return Err(TrainError::Position { expected, found });
    }
    let checkpoint = committed.unwrap_or_else(|| Checkpoint::at_start(corpus, loader.cursor()));
    if is_new {
        // Remembered before anything is learned from the corpus, and only when all checks have
        // passed: a run that is refused leaves a new store free for any corpus.
        backend.commit(Vec::new(), checkpoint.to_json())?;
    }
    Ok(checkpoint)
}

/// Returns the result of a thread; a panic of it goes on in the caller.
fn join<T>(handle: ScopedJoinHandle<'_, Result<T, TrainError>>) -> Result<T, TrainError> {
    handle
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Collects the levels of the report, counting distinct patterns where there is time for it and that
/// is known.
fn levels(
    nodes: &[(&str, usize)],
    backend: &impl Backend,
    counts_patterns: bool,
) -> Result<Vec<LevelReport>, TrainError> {
    let level = |(node_idx, (node, chunk_size)): (usize, &(&str, usize))| {
        Ok(LevelReport {
            node: (*node).to_owned(),
            chunk_size: *chunk_size,
            learns: backend.learns(node_idx)?,
            unique_patterns: match counts_patterns {
                true => backend.count_patterns(node_idx)?,
                false => None,
            },
        })
    };
    nodes.iter().enumerate().map(level).collect()
}

/// The outcome of a session, from which its report is made.
struct Outcome {
    checkpoint: Checkpoint,
    levels: Vec<LevelReport>,
    seconds: f64,
    disk_bytes: Option<u64>,
    session_counts: SessionCounts,
    distribution: Distribution,
    merging: Duration,
    was_stopped: bool,
}

impl Session {
    /// Creates the report of the session.
    fn report(&self, outcome: Outcome) -> TrainingReport {
        let earlier = &self.earlier;
        let Outcome {
            checkpoint,
            levels,
            seconds,
            disk_bytes,
            session_counts,
            distribution,
            merging,
            was_stopped,
        } = outcome;
        let counters = checkpoint.counters;
        let counts = checkpoint.cursor.counts();
        // No underflow: the counters of this session started from those of the earlier ones.
        let session_documents = counters.documents - earlier.documents;
        let rate = |count: u64| {
            if seconds > 0.0 {
                count as f64 / seconds
            } else {
                0.0
            }
        };
        TrainingReport {
            documents_processed: counters.documents,
            documents_attempted: counters.documents + counters.failed + counts.bad,
            errors: counters.failed + counts.bad,
            bad_records: counts.bad,
            failures: counters.failures,
            retries: session_counts.retries,
            worker_restarts: session_counts.worker_restarts,
            stalls: session_counts.stalls,
            tokens: counters.tokens,
            total_time_seconds: seconds,
            documents_per_sec: rate(session_documents),
            tokens_per_sec: rate(counters.tokens - earlier.tokens),
            n_workers: session_counts.workers,
            distribution: distribution.name(),
            levels,
            dropped: counters.dropped,
            blank_records: counts.blank,
            short_records: counts.short,
            session_documents,
            held_out_documents: checkpoint.held_out(),
            complete: checkpoint.complete,
            ended: match (checkpoint.complete, was_stopped) {
                (true, _) => SessionEnd::Complete,
                (false, true) => SessionEnd::Stopped,
                (false, false) => SessionEnd::Limit,
            },
            disk_bytes,
            stage_seconds: self.stage_seconds(merging),
        }
    }

    /// Returns where the time went.
    fn stage_seconds(&self, merging: Duration) -> StageSeconds {
        let Self { shared, clocks, .. } = self;
        StageSeconds {
            load: clocks.load.seconds(),
            load_blocked: clocks.blocked.seconds(),
            learn: shared.learn.seconds(),
            stage: shared.stage.seconds(),
            starved: shared.starved.seconds(),
            commit: clocks.commit.seconds(),
            merge: merging.as_secs_f64(),
            count_patterns: clocks.count.seconds(),
        }
    }
}
