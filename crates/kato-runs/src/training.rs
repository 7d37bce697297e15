//! A run in training: begun or gone on with where it lies, and described in its manifest.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kato_learner::HierarchicalConceptLearner;
use kato_loader::StreamingDatasetLoader;
use kato_model::forecast::Forecast;
#[cfg(feature = "mongodb")]
use kato_mongodb::MongoStore;
#[cfg(feature = "remote")]
use kato_remote::RemoteBackend;
use kato_scheduler::failure::OnFailure;
#[cfg(feature = "remote")]
use kato_scheduler::{Backend as _, train_parallel_with};
use kato_scheduler::{
    RunConfiguration, TrainError, TrainingEvent, TrainingOptions, TrainingReport, open_to_resume,
    train_parallel,
};
use kato_store::embedded::{DamagePolicy, EmbeddedOptions, Merging};
use kato_store::{EmbeddedStore, MemoryStore, PatternStore, StoreError};
use serde_json::Value;

use crate::RunsError;
use crate::destination::{Destination, Kind};
use crate::record::Record;

/// Whether a run is begun or gone on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Start {
    /// It is begun, and must not be there.
    New,
    /// It is gone on with, and must be there. It is begun in memory, in a store that holds no run,
    /// and in a directory where its making was cut off.
    Resume,
    /// It is gone on with where it is there, and begun where it is not.
    NewOrResume,
}

/// Where a run's loader starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LoaderStart<'a> {
    /// At the first document: the run is new.
    Beginning,
    /// Behind the last commit, for
    /// [`loader_at_position`](kato_scheduler::loader_at_position).
    After {
        /// The checkpoint that names the corpus.
        corpus: &'a Value,
        /// The checkpoint that says how far it was learned.
        position: &'a Value,
    },
}

/// A run in training, wherever it lies. In a directory, on a server and in a MongoDB it leaves a
/// manifest and a position to go on from; memory, or a store that the caller gives, keeps the
/// position alone.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let (text, kb) = (folder.path().join("tale.txt"), folder.path().join("kb"));
/// # std::fs::write(&text, "It was the best of times, it was the worst of times.")?;
/// use kato_learner::HierarchicalConceptLearner;
/// use kato_loader::StreamingDatasetLoader;
/// use kato_runs::{Destination, RunsError, Start, TrainingRun};
/// use kato_scheduler::{RunConfiguration, TrainError, TrainingOptions, loader_at_position};
///
/// let learner = HierarchicalConceptLearner::builder(kato_tokenizer::gpt2())
///     .with_chunk_sizes([4, 2])
///     .build()?;
/// let corpus = StreamingDatasetLoader::builder().with_input(&text);
/// let (mut run, mut loader) = TrainingRun::open(
///     Destination::from(&kb),
///     &learner,
///     &RunConfiguration::from_learner(&learner),
///     Start::NewOrResume,
///     |position| -> Result<_, RunsError> { Ok(position.loader(corpus)?) },
/// )?;
/// let report = run.train(&mut loader, &learner, &TrainingOptions::default(), |_| {})?;
/// assert!(report.complete && kb.join("run.json").exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TrainingRun {
    target: TrainingTarget,
    /// `None` for a store that has no place for a manifest.
    record: Option<Record>,
    ledger: PathBuf,
}

/// What a run teaches.
#[derive(Debug)]
#[non_exhaustive]
pub enum TrainingTarget {
    /// A knowledge base in a directory.
    Directory(Box<EmbeddedStore>),
    /// Any store, also one in memory.
    Store(Arc<dyn PatternStore>),
    /// The nodes of a KATO server.
    #[cfg(feature = "remote")]
    Server(Box<RemoteBackend>),
    /// The databases of a MongoDB.
    #[cfg(feature = "mongodb")]
    Mongodb(Arc<MongoStore>),
}

/// What a run has taught, to be opened.
#[derive(Debug)]
pub enum Knowledge {
    /// A knowledge base in a directory.
    Directory(PathBuf),
    /// A store.
    Store(Arc<dyn PatternStore>),
}

impl TrainingRun {
    /// Begins a run or opens it, with the loader at its position, which `loader_at` makes.
    ///
    /// The corpus of a new run is opened first, so that a source that is not there leaves nothing
    /// behind; but for nodes that are first taught what another run has learned. A directory whose
    /// newest commit is damaged, [as far as is read](Destination::with_going_back), goes back to the
    /// one before if that is whole, the corpus is at hand to learn again what is lost, and the settings
    /// are those of the run.
    ///
    /// # Errors
    ///
    /// [`RunsError::Open`] and [`RunsError::Train`] when the run cannot be begun or opened, as one
    /// that is to be gone on with and is not there; those of [`Destination::has_position`], what
    /// `loader_at` returns, and those of a manifest that cannot be read.
    pub fn open<E: From<RunsError>>(
        destination: Destination,
        learner: &HierarchicalConceptLearner,
        configuration: &RunConfiguration,
        start: Start,
        loader_at: impl FnOnce(LoaderStart<'_>) -> Result<StreamingDatasetLoader, E>,
    ) -> Result<(Self, StreamingDatasetLoader), E> {
        let resumes = match start {
            Start::New => false,
            // What is missing is said by who opens it: begun in its place, it would be learned for hours
            // where nobody looks for it.
            Start::Resume if destination.must_be_there() => true,
            Start::Resume | Start::NewOrResume => destination.has_position()?,
        };
        let ledger = destination.ledger();
        let takes_over = destination.takes_over();
        let policy = match destination.goes_back {
            true => DamagePolicy::Relearn,
            false => DamagePolicy::Refuse,
        };
        let (target, record, loader) = match destination.kind {
            Kind::Directory(dir) if resumes => {
                // The loader says whether the corpus is at hand to learn again what is lost.
                let options = store_options().with_damage_policy(policy);
                let opened = open_to_resume(&dir, options, learner, |corpus, position| {
                    loader_at(LoaderStart::After { corpus, position }).map_err(Refused::Loader)
                });
                let (store, loader) = opened.map_err(|refused| match refused {
                    Refused::Store(error) => RunsError::Open(error).into(),
                    Refused::Loader(error) => error,
                })?;
                kato_prediction::disk::spare(&store);
                // After the store: a run that cannot be opened leaves no manifest behind.
                let record = Record::of_directory(&dir, configuration)?;
                (
                    TrainingTarget::Directory(Box::new(store)),
                    Some(record),
                    loader,
                )
            }
            kind if resumes || takes_over => {
                let (target, record) = start_at(kind, resumes, learner, configuration)?;
                let checkpoint = target.checkpoint();
                let position = LoaderStart::After {
                    corpus: &checkpoint,
                    position: &checkpoint,
                };
                let loader = loader_at(position)?;
                (target, record, loader)
            }
            kind => {
                let loader = loader_at(LoaderStart::Beginning)?;
                let (target, record) = start_at(kind, false, learner, configuration)?;
                (target, record, loader)
            }
        };
        let begun = record.as_ref().and_then(Record::ledger);
        let run = Self {
            target,
            ledger: begun.unwrap_or(ledger),
            record,
        };
        Ok((run, loader))
    }

    /// Keeps in the manifest what is foretold of the run as a whole, beside what will have come of it;
    /// `None` leaves what is there. It is written with the next session.
    pub fn foretell(&mut self, forecast: Option<Forecast>) {
        if let Some((record, forecast)) = self.record.as_mut().zip(forecast) {
            record.foretell(forecast);
        }
    }

    /// Trains on from the loader's position. Where documents are skipped and the options name no file
    /// for their list, that is [`ledger`](Self::ledger), if there is one.
    ///
    /// # Errors
    ///
    /// [`RunsError::Train`] when the session fails, and those of a first manifest that cannot be
    /// written. One that cannot be renewed is a
    /// [`Notice`](kato_scheduler::TrainingEvent::Notice).
    pub fn train(
        &mut self,
        loader: &mut StreamingDatasetLoader,
        learner: &HierarchicalConceptLearner,
        options: &TrainingOptions,
        on_event: impl FnMut(TrainingEvent),
    ) -> Result<TrainingReport, RunsError> {
        let mut options = options.clone();
        let has_ledger = !self.ledger.as_os_str().is_empty();
        if options.ledger.is_none() && options.failures.on_failure == OnFailure::Skip && has_ledger
        {
            options.ledger = Some(self.ledger.clone());
        }
        let options = &options;
        let target = &self.target;
        let train = |loader: &mut StreamingDatasetLoader,
                     on_event: &mut dyn FnMut(TrainingEvent)| match target {
            TrainingTarget::Directory(store) => {
                train_parallel(loader, learner, &**store, options, on_event)
            }
            TrainingTarget::Store(store) => {
                train_parallel(loader, learner, &**store, options, on_event)
            }
            #[cfg(feature = "remote")]
            TrainingTarget::Server(nodes) => {
                train_parallel_with(loader, learner, &**nodes, options, on_event)
            }
            #[cfg(feature = "mongodb")]
            TrainingTarget::Mongodb(store) => {
                train_parallel(loader, learner, &**store, options, on_event)
            }
        };
        let mut on_event = on_event;
        match &mut self.record {
            Some(record) => {
                let report = record.follow(loader, options, on_event, train);
                // What its nodes refused at once leaves nothing that a second try would meet.
                #[cfg(feature = "remote")]
                if let (Err(_), TrainingTarget::Server(nodes)) = (&report, target)
                    && nodes.was_refused()
                {
                    record.forget();
                }
                report
            }
            None => Ok(train(loader, &mut on_event)?),
        }
    }

    /// Returns what the run teaches.
    #[must_use]
    pub const fn target(&self) -> &TrainingTarget {
        &self.target
    }

    /// Returns the knowledge base of a run in a directory.
    #[must_use]
    pub fn store(&self) -> Option<&EmbeddedStore> {
        match &self.target {
            TrainingTarget::Directory(store) => Some(store),
            _ => None,
        }
    }

    /// Returns the file that lists what was skipped, unless the options name another: as
    /// [`Destination::ledger`], or, of a run in a MongoDB that has begun a list on this machine, that one.
    #[must_use]
    pub fn ledger(&self) -> &Path {
        &self.ledger
    }

    /// Ends the run, and returns the directory in which its knowledge base lies, or the store that holds
    /// it.
    ///
    /// # Errors
    ///
    /// [`RunsError::Unsupported`] for the nodes of a server.
    pub fn into_knowledge(self) -> Result<Knowledge, RunsError> {
        match self.target {
            TrainingTarget::Directory(store) => Ok(Knowledge::Directory(store.dir().to_owned())),
            TrainingTarget::Store(store) => Ok(Knowledge::Store(store)),
            #[cfg(feature = "remote")]
            TrainingTarget::Server(nodes) => Err(RunsError::Unsupported {
                run: nodes.run().to_string(),
                action: "opened here",
                reason: "its nodes are with a server; ask that one",
            }),
            #[cfg(feature = "mongodb")]
            TrainingTarget::Mongodb(store) => Ok(Knowledge::Store(store)),
        }
    }

    /// Describes where the knowledge is, without credentials.
    #[must_use]
    pub fn place(&self) -> String {
        match &self.target {
            TrainingTarget::Directory(store) => store.dir().display().to_string(),
            TrainingTarget::Store(_) => "a store".to_owned(),
            #[cfg(feature = "remote")]
            TrainingTarget::Server(nodes) => nodes.server().to_owned(),
            #[cfg(feature = "mongodb")]
            TrainingTarget::Mongodb(store) => store.place().to_owned(),
        }
    }
}

impl TrainingTarget {
    /// Returns the checkpoint of the last commit.
    fn checkpoint(&self) -> Value {
        match self {
            Self::Directory(store) => store.checkpoint(),
            Self::Store(store) => store.checkpoint(),
            #[cfg(feature = "remote")]
            Self::Server(nodes) => nodes.checkpoint(),
            #[cfg(feature = "mongodb")]
            Self::Mongodb(store) => store.checkpoint(),
        }
    }
}

impl LoaderStart<'_> {
    /// Builds the loader of a corpus at this position.
    ///
    /// # Errors
    ///
    /// As [`loader_at_position`](kato_scheduler::loader_at_position).
    pub fn loader(
        self,
        corpus: kato_loader::StreamingDatasetLoaderBuilder,
    ) -> Result<StreamingDatasetLoader, TrainError> {
        match self {
            Self::Beginning => corpus.build().map_err(TrainError::Load),
            Self::After {
                corpus: of,
                position,
            } => kato_scheduler::loader_at_position(corpus, of, position),
        }
    }

    /// Builds the loader of a corpus that is added behind that of a run which was read to its end.
    ///
    /// # Errors
    ///
    /// As [`loader_behind`](kato_scheduler::loader_behind), also where there is no run yet.
    pub fn loader_behind(
        self,
        added: kato_loader::StreamingDatasetLoaderBuilder,
    ) -> Result<StreamingDatasetLoader, TrainError> {
        match self {
            Self::Beginning => kato_scheduler::loader_behind(added, &Value::Null),
            Self::After { position, .. } => kato_scheduler::loader_behind(added, position),
        }
    }
}

/// Why a directory was not opened: its store, or the loader for it.
enum Refused<E> {
    Store(StoreError),
    Loader(E),
}

impl<E> From<StoreError> for Refused<E> {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Returns how the store of a run is opened: learning goes on while segments are merged.
fn store_options() -> EmbeddedOptions {
    EmbeddedOptions::default().with_merging(Merging::Beside)
}

/// Begins a run, or opens one that is on a server or in a MongoDB. The manifest comes after the run:
/// one that cannot be begun leaves none behind.
fn start_at(
    kind: Kind,
    resumes: bool,
    learner: &HierarchicalConceptLearner,
    configuration: &RunConfiguration,
) -> Result<(TrainingTarget, Option<Record>), RunsError> {
    let names = learner.node_names();
    // Without the features nothing is opened here.
    let _ = resumes;
    match kind {
        Kind::Directory(dir) => {
            let configured = configuration.to_json();
            let store = EmbeddedStore::create_with(&dir, &names, configured, store_options());
            let store = store.map_err(RunsError::Open)?;
            let record = Record::of_directory(&dir, configuration)?;
            Ok((TrainingTarget::Directory(Box::new(store)), Some(record)))
        }
        Kind::Memory => {
            let store = MemoryStore::new(&names, configuration.to_json());
            Ok((TrainingTarget::Store(Arc::new(store)), None))
        }
        Kind::Store(store) => Ok((TrainingTarget::Store(store), None)),
        #[cfg(feature = "remote")]
        Kind::Server(nodes) => {
            let state = nodes.state().to_owned();
            let nodes = match resumes {
                true => nodes.open(learner),
                false => nodes.create(learner, configuration),
            };
            let nodes = nodes.map_err(TrainError::from)?;
            let record = Record::of_server(&state, nodes.run(), nodes.server(), configuration)?;
            Ok((TrainingTarget::Server(Box::new(nodes)), Some(record)))
        }
        #[cfg(feature = "mongodb")]
        Kind::Mongodb(databases) => {
            let store = match resumes {
                true => databases.open(),
                false => databases.create(&names, configuration.to_json()),
            };
            let store = Arc::new(store.map_err(RunsError::Open)?);
            let record = Record::of_mongodb(&store, configuration)?;
            Ok((TrainingTarget::Mongodb(store), Some(record)))
        }
    }
}
