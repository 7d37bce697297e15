//! Reads the documents: once to train the baseline, once to look up what they hold, once to ask.

mod prediction_pass;
mod survey;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use kato_engine::{Engine, Node};
use kato_learner::{DocumentPlan, HierarchicalConceptLearner, TextDocument};
use kato_loader::{BatchDocument, DEFAULT_BATCH_BYTES, StreamingDatasetLoader};
use rayon::ThreadPool;
use rayon::prelude::*;

pub(crate) use self::survey::Survey;
use crate::distinct_tokens::DistinctTokens;
use crate::document::plan_tokens;
use crate::ngram::{NgramCounter, NgramModel};
use crate::progress::{EvaluationPhase, EvaluationProgress};
use crate::{Corpora, EvaluationError, EvaluationOptions};

/// Shortest time between two progress reports.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// The state that all passes share.
pub(crate) struct Passes<'a> {
    nodes: Vec<Node>,
    learner: &'a HierarchicalConceptLearner,
    distinct: &'a DistinctTokens,
    options: &'a EvaluationOptions,
    threads: ThreadPool,
    on_progress: &'a mut dyn FnMut(&EvaluationProgress) -> ControlFlow<()>,
    phase_start: Instant,
    last_progress: Instant,
}

/// Threads at most.
const MAX_THREADS: usize = 1024;

/// The documents of one batch, planned; `None` for those that the learner refuses.
type Planned<T> = Vec<Option<T>>;

impl<'a> Passes<'a> {
    /// Creates the thread pool of an evaluation.
    pub(crate) fn new(
        engine: &Engine,
        learner: &'a HierarchicalConceptLearner,
        distinct: &'a DistinctTokens,
        options: &'a EvaluationOptions,
        on_progress: &'a mut dyn FnMut(&EvaluationProgress) -> ControlFlow<()>,
    ) -> Result<Self, EvaluationError> {
        // Zero lets the pool take one thread for each core.
        let n_threads = options.threads.map_or(0, std::num::NonZeroUsize::get);
        if n_threads > MAX_THREADS {
            return Err(EvaluationError::InvalidOption {
                option: "threads",
                reason: "at most 1024",
            });
        }
        let threads = rayon::ThreadPoolBuilder::new().num_threads(n_threads);
        let threads = threads.build().map_err(|source| EvaluationError::Threads {
            threads: n_threads,
            source: source.into(),
        })?;
        let now = Instant::now();
        Ok(Self {
            nodes: engine.nodes().collect(),
            learner,
            distinct,
            options,
            threads,
            on_progress,
            phase_start: now,
            last_progress: now,
        })
    }

    /// Trains the baseline on the tokens that the lowest node learned.
    pub(crate) fn train_baseline(
        &mut self,
        corpora: &Corpora<'_>,
    ) -> Result<NgramModel, EvaluationError> {
        let mut loader = corpora.training()?;
        let mut counter = NgramCounter::new(self.options.ngram_order, self.options.max_ngrams);
        let distinct = self.distinct;
        let tokens = |plan: &_| plan_tokens(plan, distinct);
        self.begin_phase();
        while let Some(documents) = self.next_planned(&mut loader, u64::MAX, tokens)? {
            for tokens in documents.iter().flatten() {
                counter.learn(tokens);
            }
            self.report_bytes(EvaluationPhase::Baseline, &loader)?;
        }
        Ok(counter.finish(distinct.len()))
    }

    /// Plans the next documents of a loader, at most `limit`, on all threads; returns them in
    /// order, or `None` at the end.
    fn next_planned<T: Send>(
        &self,
        loader: &mut StreamingDatasetLoader,
        limit: u64,
        planned: impl Fn(&DocumentPlan) -> T + Sync,
    ) -> Result<Option<Planned<T>>, EvaluationError> {
        if limit == 0 {
            return Ok(None);
        }
        let batch = loader.next_batch(DEFAULT_BATCH_BYTES)?;
        // Only their number is reported; entries that stay would fill the loader's ledger.
        drop(loader.take_bad_records());
        let Some(batch) = batch else {
            return Ok(None);
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let documents: Vec<BatchDocument<'_>> = batch.iter().take(limit).collect();
        // Working memory is one for each thread. A plan depends on its document alone, and results
        // are collected in order, so the number of threads does not show.
        let plan = |scratch: &mut _, document: &BatchDocument<'_>| {
            let text = TextDocument {
                document_idx: document.index,
                text: document.text,
                ..TextDocument::default()
            };
            self.learner.plan(&text, scratch).ok().map(&planned)
        };
        let new_scratch = || self.learner.new_scratch();
        let planned = self
            .threads
            .install(|| documents.par_iter().map_init(new_scratch, plan).collect());
        Ok(Some(planned))
    }

    /// Starts the clock of a phase.
    fn begin_phase(&mut self) {
        self.phase_start = Instant::now();
        self.last_progress = self.phase_start;
    }

    /// Reports the bytes of a corpus that were read.
    fn report_bytes(
        &mut self,
        phase: EvaluationPhase,
        loader: &StreamingDatasetLoader,
    ) -> Result<(), EvaluationError> {
        self.report(phase, loader.bytes_read(), loader.total_bytes())
    }

    /// Reports progress if the last report is old enough, and ends the evaluation if the caller
    /// asks for it.
    fn report(
        &mut self,
        phase: EvaluationPhase,
        done: u64,
        total: Option<u64>,
    ) -> Result<(), EvaluationError> {
        if self.last_progress.elapsed() < PROGRESS_INTERVAL {
            return Ok(());
        }
        self.last_progress = Instant::now();
        let elapsed = self.phase_start.elapsed();
        let progress = EvaluationProgress {
            phase,
            done,
            total,
            elapsed,
        };
        match (self.on_progress)(&progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(EvaluationError::Stopped),
        }
    }
}
