//! Training in a call: from a source into a directory, memory, any store or backend, the nodes of a server
//! or a MongoDB, begun or gone on with.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use kato_head::disk::{CountsError, CountsOptions};
use kato_hierarchy::Hierarchy;
use kato_learner::HierarchicalConceptLearner;
use kato_learner::config::{DEFAULT_CHUNK_SIZES, Recording};
use kato_loader::{
    Document, Records, Split, StreamingDatasetLoader, StreamingDatasetLoaderBuilder,
};
use kato_prediction::Cancel;
use kato_prediction::disk::{BuildOptions, IndexFileError, IndexPolicy};
use kato_runs::{Destination, RunsError, Start, TrainingRun};
use kato_scheduler::{
    Backend, RunConfiguration, StopSignal, TrainError, TrainingEvent, TrainingOptions,
    TrainingReport, loader_at_checkpoint, loader_behind, train_parallel_with,
};
use kato_tokenizer::Tokenizer;
use serde_json::Value;

use crate::error::line;
use crate::{Error, OpenOptions, Preparation};

/// A training run: what is learned, how, where to, and who hears of it.
///
/// [`run`](Self::run) begins the run, or goes on where it ended, whatever ended it: the knowledge
/// base and the position in the corpus are committed together, so the result is the same as without
/// the interruption; of the nodes of a server, as far as these show what has arrived. Where the destination has
/// a place for it, it leaves what `kato train` leaves: its manifest, by which `kato runs` finds it, and the list
/// of what it skipped.
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
    goal: Goal<'a>,
    corpus: StreamingDatasetLoaderBuilder,
    chunk_sizes: Vec<usize>,
    tokenizer: Option<Arc<dyn Tokenizer>>,
    recording: Recording,
    learner: Option<HierarchicalConceptLearner>,
    split: Option<Split>,
    adds: bool,
    options: TrainingOptions,
    index: IndexPolicy,
    listeners: Vec<Box<dyn FnMut(TrainingEvent) + Send + 'a>>,
}

/// What is trained.
enum Goal<'a> {
    Destination(Destination),
    Backend(Box<dyn AnyBackend + 'a>),
}

/// A [`Backend`], whatever its parts are.
trait AnyBackend: Send {
    /// Returns its last commit.
    fn checkpoint(&self) -> Value;

    /// Trains it from the loader's position on.
    fn train(
        &self,
        loader: &mut StreamingDatasetLoader,
        learner: &HierarchicalConceptLearner,
        options: &TrainingOptions,
        on_event: &mut dyn FnMut(TrainingEvent),
    ) -> Result<TrainingReport, TrainError>;
}

impl<B: Backend> AnyBackend for &B {
    fn checkpoint(&self) -> Value {
        Backend::checkpoint(*self)
    }

    fn train(
        &self,
        loader: &mut StreamingDatasetLoader,
        learner: &HierarchicalConceptLearner,
        options: &TrainingOptions,
        on_event: &mut dyn FnMut(TrainingEvent),
    ) -> Result<TrainingReport, TrainError> {
        train_parallel_with(loader, learner, *self, options, on_event)
    }
}

impl<'a> Training<'a> {
    /// Creates a run into a directory, which is made when the run begins, or into another
    /// [`Destination`]: GPT-2 tokens, levels of 5, 7 and 9 symbols, nothing to learn from yet.
    pub fn new(destination: impl Into<Destination>) -> Self {
        Self::into_goal(Goal::Destination(destination.into()))
    }

    /// Creates a run into the memory of this process; [`run_and_open`](Self::run_and_open) gives back what was
    /// learned.
    ///
    /// ```
    /// use kato::{GenerationOptions, Training};
    ///
    /// let tales = ["the cat sleeps on the mat", "the dog sleeps on the rug"];
    /// let (hierarchy, report) = Training::in_memory()
    ///     .with_documents("tales", tales)
    ///     .with_chunk_sizes([3, 2])
    ///     .run_and_open()?;
    /// assert_eq!(report.documents_processed, 2);
    /// let generation = hierarchy.generate("the dog", &GenerationOptions::default())?;
    /// assert_eq!(generation.text, " sleeps on the rug");
    /// # Ok::<(), kato::Error>(())
    /// ```
    pub fn in_memory() -> Self {
        Self::new(Destination::in_memory())
    }

    /// Creates a run into a backend of one's own, which was made for the learner's nodes and with its
    /// configuration ([`RunConfiguration`]); [`with_learner`](Self::with_learner) sets that learner. The run goes
    /// on where the backend's checkpoint ends.
    pub fn into_backend<B: Backend>(backend: &'a B) -> Self {
        Self::into_goal(Goal::Backend(Box::new(backend)))
    }

    fn into_goal(goal: Goal<'a>) -> Self {
        Self {
            goal,
            corpus: StreamingDatasetLoader::builder(),
            chunk_sizes: DEFAULT_CHUNK_SIZES.to_vec(),
            tokenizer: None,
            recording: Recording::default(),
            learner: None,
            split: None,
            adds: false,
            options: TrainingOptions::default(),
            index: IndexPolicy::default(),
            listeners: Vec::new(),
        }
    }

    /// Adds a file, directory or glob to the corpus: plain text, JSON Lines, CSV or TSV; with the
    /// feature `compression` also compressed, with `parquet` also Parquet, with `remote` also
    /// `hf://`, `https://` and object stores.
    ///
    /// A text file is one document; [`with_corpus`](Self::with_corpus) can cut it into lines or
    /// paragraphs. To go on with a run, name the same sources in the same way.
    pub fn with_source(mut self, source: impl AsRef<Path>) -> Self {
        self.corpus = self.corpus.with_input(source);
        self
    }

    /// Adds documents that a program makes itself, under a name: anything that iterates over texts, or over
    /// pairs of names and texts. To go on with a run, give the same ones again.
    pub fn with_documents<I>(mut self, name: impl Into<String>, documents: I) -> Self
    where
        I: IntoIterator<Item: Into<Document> + 'static>,
        I::IntoIter: Send + 'static,
    {
        self.corpus = self.corpus.with_documents(name, documents);
        self
    }

    /// Adds the documents of an async stream, under a name. The thread that trains waits for them, whichever
    /// runtime feeds the stream; to go on with a run, give the same ones again.
    #[cfg(feature = "stream")]
    pub fn with_stream<S>(mut self, name: impl Into<String>, documents: S) -> Self
    where
        S: futures_core::Stream<Item: Into<Document>> + Send + 'static,
    {
        self.corpus = self.corpus.with_stream(name, documents);
        self
    }

    /// Adds a source of one's own, under a name, whose records are found by number: it is shuffled, cut into
    /// shards and gone on with like a file.
    pub fn with_records(
        mut self,
        name: impl Into<String>,
        records: impl Records + 'static,
    ) -> Self {
        self.corpus = self.corpus.with_records(name, records);
        self
    }

    /// Sets the corpus: order, shards, mixtures, fields, filters; takes the place of the sources so
    /// far.
    pub fn with_corpus(mut self, corpus: StreamingDatasetLoaderBuilder) -> Self {
        self.corpus = corpus;
        self
    }

    /// Learns the corpus behind the one that the run has read to its end, with the same options: the result is
    /// that of both from the beginning. What is cut off then goes on with the files of both, without this.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let at = |name: &str| folder.path().join(name);
    /// # std::fs::write(at("first.txt"), "It was the best of times, it was the worst of times.")?;
    /// # std::fs::write(at("second.txt"), "It was the age of wisdom, it was the age of foolishness.")?;
    /// use kato::Training;
    ///
    /// let first = Training::new(at("kb")).with_source(at("first.txt")).run()?;
    /// let both = Training::new(at("kb")).with_source(at("second.txt")).as_addition().run()?;
    /// assert_eq!((first.documents_processed, both.documents_processed), (1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn as_addition(mut self) -> Self {
        self.adds = true;
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

    /// Sets workers, memory and commits, which change no result, and what happens when a document cannot
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
    /// milliseconds at once, and keeps counts of the head that are there up to date: it does unless this
    /// says no. A run that was stopped leaves none.
    pub fn with_index(mut self, is_wanted: bool) -> Self {
        self.index = match is_wanted {
            true => IndexPolicy::Auto,
            false => IndexPolicy::Never,
        };
        self
    }

    /// Calls a function with everything that happens, on the thread that called [`run`](Self::run);
    /// [`TrainingEvent::Committed`] tells how much of the corpus is safe by now. Functions that were
    /// set before hear it first, a progress bar among them.
    pub fn on_event(mut self, on_event: impl FnMut(TrainingEvent) + Send + 'a) -> Self {
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

    /// Trains as [`run`](Self::run) does, and opens what was learned: for reading where it lies in a directory;
    /// in memory, in a MongoDB, and in a store that may be written, it learns as well.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run) and [`open`](crate::open()); [`Error::Run`] for the nodes of a server and for a
    /// backend, which cannot be opened here: what was learned is safe with them.
    pub fn run_and_open(self) -> Result<(Hierarchy, TrainingReport), Error> {
        let (run, learner, report) = self.train()?;
        let run = run.ok_or_else(|| RunsError::Unsupported {
            run: "into a backend".to_owned(),
            action: "opened",
            reason: "only its backend knows what it has learned",
        })?;
        let hierarchy = OpenOptions::new().open_knowledge(run.into_knowledge()?, &learner)?;
        Ok((hierarchy, report))
    }

    /// Trains until the corpus is read, [`with_stop`](Self::with_stop) says so, or something goes
    /// wrong. A run that is complete learns nothing more.
    ///
    /// Where the newest commit of the knowledge base is damaged and the one before is whole, it goes
    /// back to that one, tells a [`TrainingEvent::Notice`], and learns again what is lost.
    ///
    /// It blocks for as long as that takes: in async code run it on a thread that may block, and keep a
    /// [`stop_on_drop`](StopSignal::stop_on_drop) where it is waited for.
    ///
    /// # Errors
    ///
    /// [`Error::Settings`] before anything is written; [`Error::Source`] when the corpus cannot be
    /// opened or read; [`Error::Train`] also when the knowledge base was begun with other settings
    /// ([`OtherConfiguration`](kato_scheduler::TrainError::OtherConfiguration)) or another corpus
    /// ([`OtherCorpus`](kato_scheduler::TrainError::OtherCorpus)); [`Error::Store`], [`Error::Run`].
    /// What was committed before is safe: call it again.
    pub fn run(self) -> Result<TrainingReport, Error> {
        Ok(self.train()?.2)
    }

    /// Trains; returns the run, if it is one into a destination, and the learner.
    fn train(
        self,
    ) -> Result<
        (
            Option<TrainingRun>,
            HierarchicalConceptLearner,
            TrainingReport,
        ),
        Error,
    > {
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
        let mut listeners = self.listeners;
        let mut on_event = |event: TrainingEvent| {
            for listener in &mut listeners {
                listener(event.clone());
            }
        };
        let destination = match self.goal {
            Goal::Destination(destination) => destination,
            Goal::Backend(backend) => {
                let checkpoint = backend.checkpoint();
                let mut loader = match self.adds {
                    true => loader_behind(corpus, &checkpoint)?,
                    false => loader_at_checkpoint(corpus, &checkpoint)?,
                };
                let report = backend.train(&mut loader, &learner, &self.options, &mut on_event)?;
                return Ok((None, learner, report));
            }
        };
        let configuration = RunConfiguration::from_learner(&learner).with_split(self.split);
        let (mut run, mut loader) = TrainingRun::open(
            destination,
            &learner,
            &configuration,
            Start::NewOrResume,
            |position| {
                Ok::<_, Error>(match self.adds {
                    true => position.loader_behind(corpus)?,
                    false => position.loader(corpus)?,
                })
            },
        )?;
        if let Some(recovery) = run.store().and_then(|store| store.recovered()) {
            let text = recovery.to_string();
            on_event(TrainingEvent::Notice { text });
        }
        let report = run.train(&mut loader, &learner, &self.options, &mut on_event)?;
        // Also of a part of the corpus, where no more was asked for.
        if !self.options.stop.is_stopped() {
            let build = BuildOptions::default()
                .with_sort_bytes(self.options.memory_budget)
                .with_cancel(cancel.clone());
            // Everything learned is safe, and whoever opens it tries again.
            let mut tell = |what: &str, error: &(dyn std::error::Error + 'static)| {
                let text = format!("{what} not written: {}", line(error));
                on_event(TrainingEvent::Notice { text });
            };
            let counts = CountsOptions::default()
                .with_sort_bytes(self.options.memory_budget)
                .with_cancel(move || cancel.check().is_err());
            if let Some(store) = run.store() {
                let mut preparation = Preparation::begin(store, self.index, build, counts);
                match preparation.write_index() {
                    Ok(_) | Err(IndexFileError::Cancelled(_)) => {}
                    Err(error) => tell("the index was", &error),
                }
                match preparation.write_counts() {
                    Ok(_) | Err(CountsError::Cancelled) => {}
                    Err(error) => tell("the head's counts were", &error),
                }
            }
        }
        Ok((Some(run), learner, report))
    }
}

impl fmt::Debug for Training<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Training")
            .field("goal", &self.goal)
            .field("chunk_sizes", &self.chunk_sizes)
            .field("split", &self.split)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Goal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Destination(destination) => destination.fmt(f),
            Self::Backend(_) => f.write_str("Backend"),
        }
    }
}
