//! A training session: the dispatcher reads, workers learn, the committer commits.

use std::thread::{self, ScopedJoinHandle};
use std::time::Instant;

use crossbeam_channel::{bounded, unbounded};
use kato_learner::{HierarchicalConceptLearner, TailPolicy};
use kato_loader::{Counts, StreamingDatasetLoader};
use kato_store::PatternStore;

use crate::backend::{Backend, StoreBackend};
use crate::committer::{ClosedEpoch, Committer};
use crate::dispatcher::Dispatcher;
use crate::event::TrainingEvent;
use crate::ledger::Ledger;
use crate::report::{LevelReport, StageSeconds, TrainingReport};
use crate::stage_clock::StageClock;
use crate::worker::{Shared, StagedPart, Work, Worker, WorkerOptions};
use crate::{Checkpoint, RunConfiguration, TrainError, TrainingOptions};

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
    on_event: impl FnMut(TrainingEvent),
) -> Result<TrainingReport, TrainError> {
    train_with(loader, learner, &StoreBackend(store), options, on_event)
}

/// [`train`] for any [`Backend`]: nodes behind a network, for example.
///
/// # Errors
///
/// As [`train`], and what the backend meets.
pub fn train_with<B: Backend>(
    loader: &mut StreamingDatasetLoader,
    learner: &HierarchicalConceptLearner,
    backend: &B,
    options: &TrainingOptions,
    mut on_event: impl FnMut(TrainingEvent),
) -> Result<TrainingReport, TrainError> {
    let start = Instant::now();
    let checkpoint = check_resumable(loader, learner, backend)?;
    let ledger = options
        .ledger
        .as_deref()
        .map(|path| Ledger::open(path, checkpoint.ledger_bytes))
        .transpose()?;
    let session = Session {
        start,
        num_workers: options.num_workers.get(),
        shared: Shared::of_nodes(learner.nodes().len()),
        clocks: Clocks::default(),
        earlier: Earlier::of(backend, &checkpoint, learner)?,
    };
    let worker_options = WorkerOptions {
        batch_budget: options.memory_budget / session.num_workers,
        skip_errors: options.skip_errors,
    };
    let checkpoint = thread::scope(|scope| {
        let (work_sender, work) = bounded::<Work>(2 * session.num_workers);
        let (part_sender, parts) = bounded::<StagedPart<B::Part>>(2 * session.num_workers);
        let (closed_sender, closed) = unbounded::<ClosedEpoch>();
        let (committed_sender, committed) = unbounded::<u64>();

        let mut workers = Vec::with_capacity(session.num_workers);
        for worker_idx in 0..session.num_workers {
            let teacher = backend.teacher(learner)?;
            let worker = Worker::new(learner, teacher, &session.shared, worker_options);
            let (work, part_sender) = (work.clone(), part_sender.clone());
            let handle = thread::Builder::new()
                .name(format!("worker-{worker_idx}"))
                .spawn_scoped(scope, move || worker.run(&work, &part_sender))
                .map_err(TrainError::Spawn)?;
            workers.push(handle);
        }
        // Only the workers hold these now, so the channels close with them.
        drop((work, part_sender));
        let committer = Committer::new(backend, checkpoint, ledger, &session.clocks.commit);
        let committer = thread::Builder::new()
            .name("committer".to_owned())
            .spawn_scoped(scope, move || {
                committer.run(&parts, &closed, &committed_sender)
            })
            .map_err(TrainError::Spawn)?;

        let mut dispatcher = Dispatcher::new(
            loader,
            options,
            &session,
            backend.work_size(),
            &mut on_event,
        );
        let dispatched =
            dispatcher.run(work_sender, closed_sender, &committed, &workers, &committer);
        for worker in workers {
            join(worker)?;
        }
        let checkpoint = join(committer)?;
        dispatched?;
        Ok(checkpoint)
    })?;
    let seconds = start.elapsed().as_secs_f64();
    on_event(TrainingEvent::Counting);
    let levels = session.clocks.count.time(|| levels(learner, backend))?;
    Ok(session.report(&checkpoint, levels, seconds, backend.disk_bytes()))
}

/// What the dispatcher and the report know of a session.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) start: Instant,
    pub(crate) num_workers: usize,
    pub(crate) shared: Shared,
    pub(crate) clocks: Clocks,
    pub(crate) earlier: Earlier,
}

/// Clocks of the stages that are not the workers'.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    pub(crate) load: StageClock,
    pub(crate) blocked: StageClock,
    pub(crate) commit: StageClock,
    pub(crate) count: StageClock,
}

/// What earlier sessions of the run did.
#[derive(Debug)]
pub(crate) struct Earlier {
    pub(crate) samples: u64,
    pub(crate) failed: u64,
    pub(crate) tokens: u64,
    pub(crate) observations: Vec<u64>,
}

impl Earlier {
    fn of(
        backend: &impl Backend,
        checkpoint: &Checkpoint,
        learner: &HierarchicalConceptLearner,
    ) -> Result<Self, TrainError> {
        let observations = (0..learner.nodes().len())
            .map(|node_idx| backend.observations(node_idx))
            .collect::<Result<_, _>>()?;
        let counters = checkpoint.counters;
        Ok(Self {
            samples: counters.samples,
            failed: counters.failed,
            tokens: counters.tokens,
            observations,
        })
    }
}

/// Compares store, learner and loader, and returns the checkpoint to go on from.
fn check_resumable(
    loader: &StreamingDatasetLoader,
    learner: &HierarchicalConceptLearner,
    backend: &impl Backend,
) -> Result<Checkpoint, TrainError> {
    if learner.config().tail_policy == TailPolicy::Carry {
        return Err(TrainError::OrderDependent);
    }
    let was = RunConfiguration::from_json(backend.configuration())
        .map_err(|source| TrainError::Checkpoint { source })?;
    let mut differences = was.diff(&RunConfiguration::of(learner).with_split(loader.split()));
    if backend.nodes() != learner.node_names() {
        let (was, now) = (backend.nodes().join(", "), learner.node_names().join(", "));
        differences.push(format!(
            "knowledge bases: they are for {was}, and the learner's nodes are {now}"
        ));
    }
    if !differences.is_empty() {
        return Err(TrainError::OtherConfiguration { differences });
    }
    let corpus = loader.identity();
    let committed = Checkpoint::from_json(&backend.checkpoint())?;
    let is_new = committed.is_none();
    if let Some(committed) = &committed {
        let differences = committed.corpus.diff(&corpus);
        if !differences.is_empty() {
            return Err(TrainError::OtherCorpus { differences });
        }
    }
    // Where an order begins is for the loader to say: a new run begins anywhere with nothing behind it.
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
        // The corpus is remembered before anything is learned from it, and not before all is checked.
        backend.commit(Vec::new(), checkpoint.to_json())?;
    }
    Ok(checkpoint)
}

/// The result of a thread; a panic goes on in the caller.
fn join<T>(handle: ScopedJoinHandle<'_, Result<T, TrainError>>) -> Result<T, TrainError> {
    handle
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn levels(
    learner: &HierarchicalConceptLearner,
    backend: &impl Backend,
) -> Result<Vec<LevelReport>, TrainError> {
    let level = |(node_idx, node): (usize, &kato_learner::HierarchicalNode)| {
        Ok(LevelReport {
            node: node.name.clone(),
            chunk_size: node.chunk_size,
            observations: backend.observations(node_idx)?,
            unique_patterns: backend.count_patterns(node_idx)?,
        })
    };
    learner.nodes().iter().enumerate().map(level).collect()
}

impl Session {
    fn report(
        &self,
        checkpoint: &Checkpoint,
        levels: Vec<LevelReport>,
        seconds: f64,
        disk_bytes: Option<u64>,
    ) -> TrainingReport {
        let Self {
            shared,
            clocks,
            earlier,
            ..
        } = self;
        let counters = checkpoint.counters;
        let counts = checkpoint.cursor.counts();
        let session_samples = counters.samples - earlier.samples;
        let rate = |count: u64| {
            if seconds > 0.0 {
                count as f64 / seconds
            } else {
                0.0
            }
        };
        TrainingReport {
            samples_processed: counters.samples,
            samples_attempted: counters.samples + counters.failed + counts.bad,
            errors: counters.failed + counts.bad,
            tokens: counters.tokens,
            total_time_seconds: seconds,
            rate_samples_per_sec: rate(session_samples),
            tokens_per_sec: rate(counters.tokens - earlier.tokens),
            num_workers: self.num_workers,
            levels,
            dropped: counters.dropped,
            blank_records: counts.blank,
            short_records: counts.short,
            session_samples,
            held_out_samples: checkpoint.held_out(),
            complete: checkpoint.complete,
            disk_bytes,
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
}
