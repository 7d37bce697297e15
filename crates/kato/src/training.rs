//! Training in a call: from a source into a directory, the nodes of a server or a MongoDB, begun or
//! gone on with.

use std::error::Error as _;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use kato_learner::HierarchicalConceptLearner;
use kato_learner::config::Recording;
use kato_loader::{Split, StreamingDatasetLoader, StreamingDatasetLoaderBuilder};
use kato_prediction::Cancel;
use kato_prediction::disk::{BuildOptions, IndexFileError, IndexPolicy};
use kato_runs::{Destination, Start, TrainingRun};
use kato_scheduler::{
    RunConfiguration, StopSignal, TrainError, TrainingEvent, TrainingOptions, TrainingReport,
};
use kato_tokenizer::Tokenizer;

use crate::Error;

/// Chunk sizes of the levels where nothing else is said: phrases of five tokens, seven phrases,
/// nine of those.
const CHUNK_SIZES: [usize; 3] = [5, 7, 9];

/// A training run: what is learned, how, where to, and who hears of it.
///
/// [`run`](Self::run) begins the run, or goes on where it ended, whatever ended it: the knowledge
/// base and the position in the corpus are committed together, so the result is the same as without
/// the interruption. It leaves what `kato train` leaves: its manifest, by which `kato runs` finds
/// it, and the list of what it skipped.
///
/// # Examples
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let (text, kb) = (folder.path().join("tale.txt"), folder.path().join("kb"));
/// # std::fs::write(&text, "It was the best of times, it was the worst of times.")?;
/// use kato::Training;
///
/// let report = Training::new(&kb).with_source(&text).with_chunk_sizes([4, 2]).run()?;
/// assert!(report.complete);
///
/// // Nothing is left to learn, and nothing is learned twice.
/// let again = Training::new(&kb).with_source(&text).with_chunk_sizes([4, 2]).run()?;
/// assert_eq!((again.session_documents, again.tokens), (0, report.tokens));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a training does nothing until it is run"]
pub struct Training<'a> {
    destination: Destination,
    corpus: StreamingDatasetLoaderBuilder,
    chunk_sizes: Vec<usize>,
    tokenizer: Option<Arc<dyn Tokenizer>>,
    recording: Recording,
    learner: Option<HierarchicalConceptLearner>,
    split: Option<Split>,
    options: TrainingOptions,
    index: IndexPolicy,
    listeners: Vec<Box<dyn FnMut(TrainingEvent) + 'a>>,
}

impl<'a> Training<'a> {
    /// Creates a run into a directory, which is made when the run begins, or into another
    /// [`Destination`]: GPT-2 tokens, levels of 5, 7 and 9 symbols, nothing to learn from yet.
    pub fn new(destination: impl Into<Destination>) -> Self {
        Self {
            destination: destination.into(),
            corpus: StreamingDatasetLoader::builder(),
            chunk_sizes: CHUNK_SIZES.to_vec(),
            tokenizer: None,
            recording: Recording::default(),
            learner: None,
            split: None,
            options: TrainingOptions::default(),
            index: IndexPolicy::default(),
            listeners: Vec::new(),
        }
    }

    /// Adds a file, directory or glob to the corpus: plain text, JSON Lines or CSV, also
    /// compressed; with the feature `parquet` also Parquet, with `remote` also `hf://`, `https://`
    /// and object stores.
    ///
    /// A text file is one document; [`with_corpus`](Self::with_corpus) can cut it into lines or
    /// paragraphs. To go on with a run, name the same sources in the same way.
    pub fn with_source(mut self, source: impl AsRef<Path>) -> Self {
        self.corpus = self.corpus.with_input(source);
        self
    }

    /// Sets the corpus: order, shards, mixtures, fields, filters; takes the place of the sources so
    /// far.
    pub fn with_corpus(mut self, corpus: StreamingDatasetLoaderBuilder) -> Self {
        self.corpus = corpus;
        self
    }

    /// Sets the levels by the number of symbols in a pattern of each, from the lowest up.
    pub fn with_chunk_sizes(mut self, chunk_sizes: impl IntoIterator<Item = usize>) -> Self {
        self.chunk_sizes = chunk_sizes.into_iter().collect();
        self
    }

    /// Sets the tokenizer. [`open`](crate::open) finds it again by its name: a path for a
    /// `tokenizer.json`, which needs the feature `huggingface`.
    pub fn with_tokenizer(mut self, tokenizer: Arc<dyn Tokenizer>) -> Self {
        self.tokenizer = Some(tokenizer);
        self
    }

    /// Sets what is recorded beside the counts: with [`Recording::provenance`], where in the corpus
    /// each pattern was first seen. Nothing by default, as it takes room.
    pub fn with_recording(mut self, recording: Recording) -> Self {
        self.recording = recording;
        self
    }

    /// Sets every rule of learning; takes the place of levels, tokenizer and recording, whether they
    /// are set before or after it.
    pub fn with_learner(mut self, learner: HierarchicalConceptLearner) -> Self {
        self.learner = Some(learner);
        self
    }

    /// Leaves documents out, for an evaluation afterwards: those that the other half of the split
    /// reads.
    pub fn with_split(mut self, split: Split) -> Self {
        self.split = Some(split);
        self
    }

    /// Sets what changes no result: workers, memory, commits, what happens when a document cannot
    /// be learned; takes the place of an earlier [`with_stop`](Self::with_stop).
    pub fn with_options(mut self, options: TrainingOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets the switch that ends the run early, with everything committed. No signal of the
    /// operating system is handled here: a handler of the program's own can hold a clone of it.
    pub fn with_stop(mut self, stop: StopSignal) -> Self {
        self.options.stop = stop;
        self
    }

    /// Sets whether the run leaves an index where it has learned much, so that [`open`](crate::open) takes
    /// milliseconds at once: it does unless this says no. A run that was stopped leaves none.
    pub fn with_index(mut self, is_wanted: bool) -> Self {
        self.index = match is_wanted {
            true => IndexPolicy::Auto,
            false => IndexPolicy::Never,
        };
        self
    }

    /// Calls a function with everything that happens, on the thread that called [`run`](Self::run);
    /// [`TrainingEvent::Committed`] tells how much of the corpus is safe by now. Functions that were
    /// set before, and a progress bar, hear it first.
    pub fn on_event(mut self, on_event: impl FnMut(TrainingEvent) + 'a) -> Self {
        self.listeners.push(Box::new(on_event));
        self
    }

    /// Shows how far the run is on standard error: a bar with rate and remaining time, or lines
    /// where that is no terminal.
    #[cfg(feature = "progress")]
    pub fn with_progress(self) -> Self {
        let mut progress = crate::progress::ProgressReporter::new();
        self.on_event(move |event| progress.show(&event))
    }

    /// Trains until the corpus is read, [`with_stop`](Self::with_stop) says so, or something goes
    /// wrong. A run that is complete learns nothing more.
    ///
    /// Where the newest commit of the knowledge base is damaged and the one before is whole, it goes
    /// back to that one, tells a [`TrainingEvent::Notice`], and learns again what is lost.
    ///
    /// # Errors
    ///
    /// [`Error::Settings`] and [`Error::Source`] before anything is written; [`Error::Train`] also
    /// when the knowledge base was begun with other settings
    /// ([`OtherConfiguration`](kato_scheduler::TrainError::OtherConfiguration)) or another corpus
    /// ([`OtherCorpus`](kato_scheduler::TrainError::OtherCorpus)); [`Error::Store`]. What was
    /// committed before is safe: call it again.
    pub fn run(self) -> Result<TrainingReport, Error> {
        let learner = match self.learner {
            Some(learner) => learner,
            None => {
                let gpt2 = || Arc::new(kato_tokenizer::gpt2()) as Arc<dyn Tokenizer>;
                HierarchicalConceptLearner::builder(self.tokenizer.unwrap_or_else(gpt2))
                    .with_chunk_sizes(self.chunk_sizes)
                    .with_recording(self.recording)
                    .build()?
            }
        };
        let stop = self.options.stop.clone();
        let cancel = Cancel::when({
            let stop = stop.clone();
            move || stop.is_stopped()
        });
        let mut corpus = self.corpus.with_interrupt(move || stop.is_stopped());
        if let Some(split) = self.split {
            corpus = corpus.with_split(split);
        }
        let configuration = RunConfiguration::from_learner(&learner).with_split(self.split);
        let (mut run, mut loader) = TrainingRun::open(
            self.destination,
            &learner,
            &configuration,
            Start::NewOrResume,
            |position| {
                position.loader(corpus).map_err(|error| match error {
                    TrainError::Load(error) => Error::Source(error),
                    error => Error::Train(error),
                })
            },
        )?;
        let mut listeners = self.listeners;
        let mut on_event = |event: TrainingEvent| {
            for listener in &mut listeners {
                listener(event.clone());
            }
        };
        if let Some(recovery) = run.store().and_then(|store| store.recovered()) {
            let text = recovery.to_string();
            on_event(TrainingEvent::Notice { text });
        }
        let report = run.train(&mut loader, &learner, &self.options, &mut on_event)?;
        // Also of a part of the corpus, where no more was asked for.
        if !self.options.stop.is_stopped() {
            let build = BuildOptions::default()
                .with_sort_bytes(self.options.memory_budget)
                .with_cancel(cancel);
            match run.index(self.index, &build) {
                Ok(_) | Err(IndexFileError::Cancelled(_)) => {}
                // Everything learned is safe, and whoever opens it tries again.
                Err(error) => {
                    let source = error.source().map(|source| format!(": {source}"));
                    let source = source.unwrap_or_default();
                    let text = format!("the index was not written: {error}{source}");
                    on_event(TrainingEvent::Notice { text });
                }
            }
        }
        Ok(report)
    }
}

impl fmt::Debug for Training<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Training")
            .field("destination", &self.destination)
            .field("chunk_sizes", &self.chunk_sizes)
            .field("split", &self.split)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
