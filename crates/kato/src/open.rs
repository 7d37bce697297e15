//! Opening what was trained, with the tokenizer and the settings that it records.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use kato_engine::{Engine, EngineError, EngineOptions};
use kato_head::{Expert, HeadOptions};
use kato_hierarchy::{Hierarchy, TextHead};
use kato_learner::{HierarchicalConceptLearner, LearningRules};
use kato_model::KatoGeneration;
use kato_prediction::disk::{IndexPolicy, StoreIndex};
#[cfg(feature = "train")]
use kato_runs::Knowledge;
use kato_store::embedded::{DamagePolicy, EmbeddedOptions};
use kato_store::{EmbeddedStore, PatternStore, StoreError};
use kato_tokenizer::Tokenizer;
use serde::Deserialize as _;

use crate::address::Address;
use crate::kept_weights::kept_weights;
use crate::{Error, index_policy as index};

/// Opens the knowledge base in a directory for questions; also while it is being trained, in the
/// state of its last commit. The short form of [`OpenOptions::open`].
///
/// # Errors
///
/// As [`OpenOptions::open`].
///
/// # Examples
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let (text, kb) = (folder.path().join("tale.txt"), folder.path().join("kb"));
/// # std::fs::write(&text, "It was the best of times, it was the worst of times, it was the age of wisdom.")?;
/// # kato::Training::new(&kb).with_source(&text).with_chunk_sizes([4, 2]).run()?;
/// let kb = kato::open(&kb)?;
/// let activation = kb.activate("It was the", &kato::ActivationOptions::default())?;
/// let best = activation.best().expect("it has learned something like it");
/// assert_eq!(best.future[0].symbols(), ["Ġbest"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open(kb: impl AsRef<Path>) -> Result<Hierarchy, Error> {
    OpenOptions::new().open(kb)
}

/// Opens the head of the knowledge base in a directory. The short form of
/// [`OpenOptions::open_head`].
///
/// # Errors
///
/// As [`OpenOptions::open_head`].
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let (text, kb) = (folder.path().join("tale.txt"), folder.path().join("kb"));
/// # std::fs::write(&text, "It was the best of times, it was the worst of times, it was the age of wisdom.")?;
/// # kato::Training::new(&kb).with_source(&text).with_chunk_sizes([4, 2]).run()?;
/// let head = kato::open_head(&kb, kato::HeadOptions::default())?;
/// assert_eq!(head.next("It was the best", 1)?[0].text, " of");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open_head(kb: impl AsRef<Path>, options: HeadOptions) -> Result<TextHead, Error> {
    OpenOptions::new().open_head(kb, options)
}

/// Whether what is opened may learn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Access {
    /// It answers only, beside any number of others, and beside the one who trains it. What is to be
    /// learned is refused at once.
    #[default]
    Read,
    /// It learns as well, and nobody else may meanwhile.
    Write,
}

/// How a knowledge base is opened. Answers depend on the generation, and on the damage policy where the
/// newest commit is damaged.
///
/// A [`Hierarchy`] can be cloned and shared between threads: every handle sees the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Whether it may learn. Default: it may not.
    pub access: Access,
    /// Bytes of memory at most for what is loaded: patterns and symbols, those not counted that lie in an
    /// index. Where more would have to be loaded, the index of all is written first, in the directory of the
    /// knowledge base, which takes half as much for sorting, 1 MiB to 256 MiB, and 4 bytes for each pattern of
    /// two levels. The parts of an index that the system keeps in memory are given back when others need
    /// it, and are not counted. Levels that learned emotives are in no index. Default: no limit.
    pub max_memory: Option<usize>,
    /// Reaction to a newest commit that is damaged. Default: refuse.
    pub damage_policy: DamagePolicy,
    /// Whether an index that is missing is written first. Default: where much would have to be loaded
    /// without it, and nobody trains meanwhile. Where it cannot be written, as in a directory that is read-only, what no index holds is
    /// loaded, unless it is required.
    pub index: IndexPolicy,
    /// Threads that one question may take; questions at a time share them. Default: one a core.
    pub threads: Option<NonZeroUsize>,
    /// The generation of KATO whose predictions are given. Default: the newest.
    pub generation: KatoGeneration,
}

impl OpenOptions {
    /// Creates the options with which [`open`](crate::open()) opens: for reading, in any amount of memory,
    /// and damage is refused.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens it to learn as well.
    #[must_use]
    pub fn for_writing(mut self) -> Self {
        self.access = Access::Write;
        self
    }

    /// Sets the generation of KATO whose predictions are given.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let (text, kb) = (folder.path().join("tale.txt"), folder.path().join("kb"));
    /// # std::fs::write(&text, "It was the best of times, it was the worst of times.")?;
    /// # kato::Training::new(&kb).with_source(&text).with_chunk_sizes([4, 2]).run()?;
    /// let options = kato::OpenOptions::new().with_generation("3.10".parse()?);
    /// assert_eq!(options.open(&kb)?.engine().options().generation.to_string(), "3.10");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn with_generation(mut self, generation: KatoGeneration) -> Self {
        self.generation = generation;
        self
    }

    /// Sets the threads that one question may take. A service leaves a core to what must not wait.
    ///
    /// ```
    /// use std::num::NonZeroUsize;
    ///
    /// let options = kato::OpenOptions::new().with_threads(NonZeroUsize::MIN);
    /// assert_eq!(options.threads, Some(NonZeroUsize::MIN));
    /// ```
    #[must_use]
    pub const fn with_threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Sets the bytes of memory for what is loaded.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let (text, kb) = (folder.path().join("tale.txt"), folder.path().join("kb"));
    /// # std::fs::write(&text, "It was the best of times, it was the worst of times, it was the age of wisdom.")?;
    /// # kato::Training::new(&kb).with_source(&text).with_chunk_sizes([4, 2]).run()?;
    /// // What it learned takes more, so it is asked over an index, which is there from then on.
    /// let asked = kato::OpenOptions::new().with_max_memory(100).open(&kb)?;
    /// assert!(kb.join("index").exists());
    /// # assert!(asked.engine().nodes().all(|node| node.n_indexed() > 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_max_memory(mut self, bytes: usize) -> Self {
        self.max_memory = Some(bytes);
        self
    }

    /// Sets whether an index that is missing is written first.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let (text, kb) = (folder.path().join("tale.txt"), folder.path().join("kb"));
    /// # std::fs::write(&text, "It was the best of times, it was the worst of times.")?;
    /// # kato::Training::new(&kb).with_source(&text).with_chunk_sizes([4, 2]).run()?;
    /// let options = kato::OpenOptions::new().with_index(kato::IndexPolicy::Require);
    /// let opened = options.open(&kb)?;
    /// assert!(opened.engine().nodes().all(|node| node.n_indexed() > 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_index(mut self, policy: IndexPolicy) -> Self {
        self.index = policy;
        self
    }

    /// Sets the reaction to a newest commit that is damaged.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let (text, kb) = (folder.path().join("tale.txt"), folder.path().join("kb"));
    /// # std::fs::write(&text, "It was the best of times, it was the worst of times.")?;
    /// # kato::Training::new(&kb).with_source(&text).with_chunk_sizes([4, 2]).run()?;
    /// use kato::store::embedded::DamagePolicy;
    ///
    /// let options = kato::OpenOptions::new().with_damage_policy(DamagePolicy::GoBack);
    /// let opened = options.open(&kb)?;
    /// let recovery = opened.engine().store().and_then(|store| store.recovered());
    /// assert_eq!(recovery, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_damage_policy(mut self, policy: DamagePolicy) -> Self {
        self.damage_policy = policy;
        self
    }

    /// Opens the knowledge base in a directory; with the feature `mongodb` also the run of a MongoDB,
    /// by its connection string with `#` and the name of the run: `mongodb://localhost/#wikitext`.
    ///
    /// Where much was learned it is asked over its [index](kato_prediction::disk), which training leaves and
    /// which is written first where it is missing ([`index`](Self::index)): opening takes milliseconds, and
    /// little is read but what is asked for. What was learned after the index was written is loaded into
    /// memory; where there is none, all of it is.
    ///
    /// A knowledge base that is damaged is refused: what it would answer without the lost part is not
    /// what was learned. [`damage_policy`](Self::damage_policy) allows the commit before. Damage that loses
    /// nothing is told by [`PatternStore::recovered`] of the engine's store.
    ///
    /// # Errors
    ///
    /// * [`Error::Store`] when there is none, it is damaged or cannot be read, and when another holds the
    ///   right to write;
    /// * [`Error::NotTrained`], [`Error::Tokenizer`] and [`Error::OtherTokenizer`] when what it needs for
    ///   asking is missing, [`Error::Address`] for an address that leads to no knowledge base;
    /// * [`Error::Index`] when an index cannot be written that is required, or without which more than
    ///   [`max_memory`](Self::max_memory) would be loaded;
    /// * [`Error::Ask`] when the store's nodes are not those of its rules;
    /// * within an amount of memory [`Error::Engine`] with [`LoadMemoryFull`](EngineError::LoadMemoryFull) when a level does not fit
    ///   that is in no index. Where an index turns out to be damaged later and what it holds does not fit,
    ///   reads fail with [`Unreadable`](EngineError::Unreadable).
    pub fn open(self, kb: impl AsRef<Path>) -> Result<Hierarchy, Error> {
        match Address::of(kb.as_ref())? {
            Address::Directory(dir) => self.open_embedded(Arc::new(self.embedded(&dir)?)),
            #[cfg(feature = "mongodb")]
            Address::Mongodb(databases) => self.open_store(match self.access {
                Access::Read => Arc::new(databases.open_read_only()?),
                Access::Write => Arc::new(databases.open()?),
            }),
        }
    }

    /// Opens the knowledge of any store, which is asked in memory. Whether it may learn is the store's to
    /// say.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_store(self, store: Arc<dyn PatternStore>) -> Result<Hierarchy, Error> {
        let (rules, tokenizer) = training_of(&*store)?;
        let engine = Engine::open_with(store, self.engine_options())?;
        Ok(Hierarchy::new(engine, tokenizer, rules.learner)?)
    }

    /// Opens the knowledge of an embedded store as that of its directory: over its index, if it has one.
    /// Whether it may learn depends on how the store was opened.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn open_embedded(self, store: Arc<EmbeddedStore>) -> Result<Hierarchy, Error> {
        let (rules, tokenizer) = training_of(&*store)?;
        let engine = self.open_engine(store)?;
        Ok(Hierarchy::new(engine, tokenizer, rules.learner)?)
    }

    /// Opens the nodes of an embedded store alone, which need no tokenizer: over its index, which is written
    /// first where [`index`](Self::index) wants it, and in memory where none can be used.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), [`Error::Engine`] when the store cannot be read.
    pub fn open_engine(self, store: Arc<EmbeddedStore>) -> Result<Engine, Error> {
        index::keep(&store, self)?;
        match self.engine_over(Arc::clone(&store)) {
            Err(Error::Engine(EngineError::LoadMemoryFull { limit, .. })) => {
                // What was loaded is gone again.
                kato_prediction::disk::build(&store, &index::build_options(Some(limit)))?;
                self.engine_over(store)
            }
            opened => opened,
        }
    }

    /// Opens the knowledge base in a directory for a [`TextHead`], and nothing else of it, unless KATO's
    /// predictions are among the experts. Answers are those of `open(kb)?.head(options)`, unless weights are kept.
    ///
    /// Where `kato index` (or [`head::disk::build`](kato_head::disk::build)) has written the counts of what it
    /// holds, this takes milliseconds. Otherwise the patterns are counted; where that takes long, the counts
    /// are written beside the knowledge base for the next time, if they can be.
    ///
    /// It begins with the weights that are [kept](crate::keep_weights) with the knowledge base, if there
    /// are any.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), and [`Error::Weights`] where these cannot be used.
    pub fn open_head(self, kb: impl AsRef<Path>, options: HeadOptions) -> Result<TextHead, Error> {
        match Address::of(kb.as_ref())? {
            Address::Directory(dir) => self.open_head_of(Arc::new(self.embedded(&dir)?), options),
            #[cfg(feature = "mongodb")]
            Address::Mongodb(_) => Ok(self.open(kb)?.head(options)?),
        }
    }

    /// Opens the head of an embedded store, as [`open_head`](Self::open_head) does that of a directory.
    ///
    /// # Errors
    ///
    /// As [`open_head`](Self::open_head).
    pub fn open_head_of(
        self,
        store: Arc<EmbeddedStore>,
        options: HeadOptions,
    ) -> Result<TextHead, Error> {
        let (rules, tokenizer) = training_of(&*store)?;
        let asks_outside = options.experts.contains(&Expert::Outside);
        // First, as it is quick, and counting may take long.
        let weights = kept_weights(&store)?;
        let head = crate::counted_head::head_of(&store, &*tokenizer, options)?;
        let head = match asks_outside {
            true => self.open_embedded(store)?.with_head(head),
            false => TextHead::from_head(head, store, tokenizer, rules.learner)?,
        };
        Ok(head.with_weights(weights))
    }

    /// Creates a knowledge base in a directory that is new or empty, which has learned nothing yet, and
    /// opens it for writing: with the rules of this learner, which it keeps.
    ///
    /// [`Training`](crate::Training) goes on in it with the same rules.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] when the directory holds something, or cannot be written; [`Error::Address`] for an
    /// address that is not of a directory; and as [`open`](Self::open).
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let kb = folder.path().join("kb");
    /// use kato::{HierarchicalConceptLearner, OpenOptions};
    ///
    /// let rules = HierarchicalConceptLearner::builder(kato::tokenizer::gpt2()).build()?;
    /// let empty = OpenOptions::new().create(&kb, &rules)?;
    /// assert_eq!(empty.nodes().len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create(
        self,
        kb: impl AsRef<Path>,
        learner: &HierarchicalConceptLearner,
    ) -> Result<Hierarchy, Error> {
        let kb = Address::of(kb.as_ref())?
            .into_directory("it holds no such run: `Training` begins one there")?;
        // What a training that holds no document out records as well, so that one can go on in it.
        let configuration = serde_json::json!(LearningRules::from_learner(learner));
        let names = learner.node_names();
        self.open_embedded(Arc::new(EmbeddedStore::create(&kb, &names, configuration)?))
    }

    /// Opens a knowledge base for writing, as [`open`](Self::open) does, or [creates](Self::create) it where
    /// there is none.
    ///
    /// # Errors
    ///
    /// As theirs, and [`Error::OtherRules`] where one is there that was begun with other rules.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let kb = folder.path().join("kb");
    /// use kato::{HierarchicalConceptLearner, OpenOptions};
    ///
    /// let rules = HierarchicalConceptLearner::builder(kato::tokenizer::gpt2()).build()?;
    /// let kb = OpenOptions::new().open_or_create(&kb, &rules)?;
    /// kb.learn("the cat sleeps on the mat")?;
    /// kb.commit()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_or_create(
        self,
        kb: impl AsRef<Path>,
        learner: &HierarchicalConceptLearner,
    ) -> Result<Hierarchy, Error> {
        let kb = kb.as_ref();
        let opened = match self.for_writing().open(kb) {
            Err(Error::Store {
                source: StoreError::Missing { .. },
                ..
            }) => return self.create(kb, learner),
            opened => opened?,
        };
        let was = opened.tokenizer();
        let is_same = was.fingerprint() == learner.tokenizer().fingerprint()
            && opened.settings() == learner.config();
        match is_same {
            true => Ok(opened),
            false => Err(Error::OtherRules),
        }
    }

    /// Opens what a training has taught, with the tokenizer that it had.
    #[cfg(feature = "train")]
    pub(crate) fn open_knowledge(
        self,
        knowledge: Knowledge,
        learner: &HierarchicalConceptLearner,
    ) -> Result<Hierarchy, Error> {
        let engine = match knowledge {
            Knowledge::Directory(dir) => self.open_engine(Arc::new(self.embedded(&dir)?))?,
            Knowledge::Store(store) => Engine::open_with(store, self.engine_options())?,
        };
        let settings = learner.config().clone();
        Ok(Hierarchy::new(
            engine,
            learner.shared_tokenizer(),
            settings,
        )?)
    }

    /// Opens the store in a directory.
    fn embedded(self, dir: &Path) -> Result<EmbeddedStore, StoreError> {
        match self.access {
            Access::Read => EmbeddedStore::open_read_only_with(dir, self.damage_policy),
            Access::Write => {
                let options = EmbeddedOptions::default().with_damage_policy(self.damage_policy);
                let store = EmbeddedStore::open_with(dir, options)?;
                // What is learned from here on is little beside what the index is of.
                kato_prediction::disk::spare(&store);
                Ok(store)
            }
        }
    }

    /// Opens the nodes of an embedded store over the index that there is.
    fn engine_over(self, store: Arc<EmbeddedStore>) -> Result<Engine, Error> {
        // What cannot be used is passed over: the answers are the same without it.
        let index = kato_prediction::disk::find(&store).index;
        let nodes: Vec<_> = index.iter().flat_map(StoreIndex::nodes).collect();
        let covered = index.as_ref().map(StoreIndex::covered).unwrap_or_default();
        let options = self.engine_options();
        Ok(Engine::open_indexed(store, nodes, covered, options)?)
    }

    /// Returns how the engine is opened.
    fn engine_options(self) -> EngineOptions {
        let mut options = EngineOptions::default();
        // One user asks, so one question may have all cores.
        let cores = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        options.prediction_threads = self.threads.unwrap_or_else(cores);
        options.max_load_bytes = self.max_memory;
        options.generation = self.generation;
        options
    }
}

/// Returns how a store was trained, before its patterns are loaded, which may take long.
fn training_of(store: &dyn PatternStore) -> Result<(LearningRules, Arc<dyn Tokenizer>), Error> {
    let rules = LearningRules::deserialize(store.configuration()).map_err(Error::NotTrained)?;
    let tokenizer = tokenizer_of(&rules)?;
    Ok((rules, tokenizer))
}

/// Returns the tokenizer that a knowledge base was taught with.
///
/// # Errors
///
/// [`Error::Tokenizer`] when it is not at hand, [`Error::OtherTokenizer`] when another one has its
/// name.
pub fn tokenizer_of(rules: &LearningRules) -> Result<Arc<dyn Tokenizer>, Error> {
    let tokenizer = kato_tokenizer::load(&rules.tokenizer)?;
    if tokenizer.fingerprint() != rules.tokenizer_fingerprint {
        let name = rules.tokenizer.clone();
        return Err(Error::OtherTokenizer { name });
    }
    Ok(tokenizer)
}
