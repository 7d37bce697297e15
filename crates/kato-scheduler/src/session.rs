//! A training session: the dispatcher reads, workers learn, the committer commits.

use std::thread::{self, ScopedJoinHandle};
use std::time::Instant;

use crossbeam_channel::{bounded, unbounded};
use kato_learner::HierarchicalConceptLearner;
use kato_loader::StreamingDatasetLoader;
use kato_store::PatternStore;

use crate::backend::Backend;
use crate::committer::Committer;
use crate::dispatcher::{Dispatcher, SessionCounts};
use crate::event::TrainingEvent;
use crate::ledger::Ledger;
use crate::lesson::{Lesson, NodeLesson};
use crate::report::TrainingReport;
use crate::resume::{check_position, check_settings};
use crate::session_report::{Outcome, levels};
use crate::stage_clock::StageClock;
use crate::stages::{self, WorkerProbes};
use crate::stop_relay::{ReadingMark, StopRelay};
use crate::store_backend::StoreBackend;
use crate::worker::{Shared, WorkerOptions};
use crate::worker_pool::{WorkerContext, WorkerPool};
use crate::{Checkpoint, TrainError, TrainingOptions};
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
/// A [`TrainError`]. What was committed before is safe; build the loader at the checkpoint's cursor
/// and call again. Where what is [added](crate::loader_behind) to a corpus cannot be read or learned and
/// nothing of it was learned yet, the store is as it was, ready for the same addition or another.
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
    let before = store.checkpoint();
    let backend = StoreBackend::new(store);
    let trained = train_parallel_with(loader, learner, &backend, options, on_event);
    if let Err(error) = &trained
        && error.is_of_corpus()
    {
        // Its error is not the one to tell, and a run that stays extended can be resumed.
        drop(take_back_addition(store, before));
    }
    trained
}

/// Trains any [`Backend`] as [`train_parallel`] trains a store: nodes behind a network, for
/// example.
///
/// # Errors
///
/// As [`train_parallel`], but that what is added stays added; and what the backend meets.
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
/// Commits the checkpoint again that a run had before more was added to its corpus, if nothing of that was
/// learned: otherwise only what could not be learned could be gone on with.
fn take_back_addition(
    store: &dyn PatternStore,
    before: serde_json::Value,
) -> Result<(), TrainError> {
    let was = Checkpoint::from_json(&before)?;
    let is = Checkpoint::from_json(&store.checkpoint())?;
    if let Some((was, is)) = was.zip(is)
        && was.complete
        && !is.complete
        && is.cursor == was.cursor
    {
        let committed = store.commit(Vec::new(), before);
        committed.map_err(TrainError::Store)?;
    }
    Ok(())
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
        if let Some(ledger) = &options.ledger
            && checkpoint.ledger_bytes > 0
            && !ledger.exists()
        {
            let path = std::path::absolute(ledger).unwrap_or_else(|_| ledger.clone());
            on_event(TrainingEvent::Notice {
                text: format!(
                    "the list of what was skipped so far is not at {}: a list of what is skipped from now on begins there. Keep the \
                     former under another name",
                    path.display()
                ),
            });
        }
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
/// Returns the result of a thread; a panic of it goes on in the caller.
fn join<T>(handle: ScopedJoinHandle<'_, Result<T, TrainError>>) -> Result<T, TrainError> {
    handle
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
