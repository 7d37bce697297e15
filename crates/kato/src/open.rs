//! Opening what was trained, with the tokenizer and the settings that it records.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use kato_engine::{Engine, EngineError, EngineOptions};
use kato_head::{Expert, HeadOptions};
use kato_hierarchy::{Hierarchy, TextHead};
use kato_prediction::disk::{BuildOptions, StoreIndex};
use kato_scheduler::RunConfiguration;
use kato_store::embedded::DamagePolicy;
use kato_store::{EmbeddedStore, PatternStore};
use kato_tokenizer::Tokenizer;

use crate::Error;

/// Bytes of memory for sorting an index without which a knowledge base does not fit into memory: what is
/// allowed bounds them, and these bound that.
const LEAST_SORT_BYTES: usize = 1 << 20;
const MOST_SORT_BYTES: usize = 256 << 20;

/// Opens the knowledge base in a directory for questions; also while it is being trained, in the
/// state of its last commit.
///
/// Where `kato index` (or [`index::build`](kato_prediction::disk::build())) has written an index of what it
/// holds, it is asked over that: opening takes milliseconds, and only what is asked for is read. What
/// was learned after the index was written is loaded into memory; without an index, all of it is.
///
/// A knowledge base that is damaged is refused: what it would answer without the lost part is not
/// what was learned. [`OpenOptions::damage_policy`] allows the commit before. Damage that loses
/// nothing is told by [`PatternStore::recovered`] of the engine's store.
///
/// # Errors
///
/// [`Error::Store`] when there is none, it is damaged or cannot be read, [`Error::NotTrained`],
/// [`Error::Tokenizer`] and [`Error::OtherTokenizer`] when what it needs for asking is missing.
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
/// let best = &activation.levels[0].predictions.predictions[0];
/// assert_eq!(best.future[0].symbols(), ["Ġbest"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open(kb: impl AsRef<Path>) -> Result<Hierarchy, Error> {
    open_with(kb, OpenOptions::default())
}

/// How a knowledge base is opened for questions. Answers do not depend on it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OpenOptions {
    /// Bytes of memory at most for what is loaded: patterns and symbols, those not counted that lie in an
    /// index. Where more would have to be loaded, the index of all is written first, beside the knowledge
    /// base, which takes half as much for sorting, 256 MiB at most, and 4 bytes for each pattern of two
    /// levels. The parts of an index that the system keeps in memory are given back when others need
    /// it, and are not counted. Levels that learned emotives are in no index. Default: no limit.
    pub max_memory: Option<usize>,
    /// Reaction to a newest commit that is damaged. Default: refuse.
    pub damage_policy: DamagePolicy,
}

impl OpenOptions {
    /// Sets the bytes of memory for what is loaded.
    #[must_use]
    pub fn with_max_memory(mut self, bytes: usize) -> Self {
        self.max_memory = Some(bytes);
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
    /// let options = kato::OpenOptions::default().with_damage_policy(DamagePolicy::GoBack);
    /// let opened = kato::open_with(&kb, options)?;
    /// let recovery = opened.engine().store().and_then(|store| store.recovered());
    /// assert_eq!(recovery, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_damage_policy(mut self, policy: DamagePolicy) -> Self {
        self.damage_policy = policy;
        self
    }
}

/// Opens the knowledge base in a directory, as [`open`] does, within an amount of memory.
///
/// # Errors
///
/// As [`open`]; [`Error::Index`] when an index has to be written and cannot be, and [`Error::Engine`]
/// with [`LoadMemoryFull`](EngineError::LoadMemoryFull) when a level does not fit that is in no index.
/// Where an index turns out to be damaged later and what it holds does not fit, reads fail with
/// [`Unreadable`](EngineError::Unreadable).
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let (text, kb) = (folder.path().join("tale.txt"), folder.path().join("kb"));
/// # std::fs::write(&text, "It was the best of times, it was the worst of times, it was the age of wisdom.")?;
/// # kato::Training::new(&kb).with_source(&text).with_chunk_sizes([4, 2]).run()?;
/// // What it learned takes more, so it is asked over an index, which is there from then on.
/// let asked = kato::open_with(&kb, kato::OpenOptions::default().with_max_memory(100))?;
/// assert!(kb.join("index").exists());
/// # assert!(asked.engine().nodes().all(|node| node.n_indexed() > 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open_with(kb: impl AsRef<Path>, options: OpenOptions) -> Result<Hierarchy, Error> {
    let store = EmbeddedStore::open_read_only_with(kb.as_ref(), options.damage_policy)?;
    with_embedded_store(Arc::new(store), options)
}

/// Opens the knowledge of an embedded store for questions, as [`open`] does that of a directory:
/// over its index, if it has one.
///
/// # Errors
///
/// As [`open`].
pub fn from_embedded_store(store: Arc<EmbeddedStore>) -> Result<Hierarchy, Error> {
    with_embedded_store(store, OpenOptions::default())
}

/// Opens the knowledge of an embedded store for questions, as [`open_with`] does that of a directory.
///
/// # Errors
///
/// As [`open_with`].
pub fn with_embedded_store(
    store: Arc<EmbeddedStore>,
    options: OpenOptions,
) -> Result<Hierarchy, Error> {
    let (run, tokenizer) = training_of(&*store)?;
    Ok(Hierarchy::new(
        engine_with(store, options)?,
        tokenizer,
        run.learner,
    )?)
}

/// Opens the knowledge base in a directory for a [`TextHead`], and nothing else of it, unless KATO's
/// predictions are among the experts. Answers are those of `kato::open(kb)?.head(options)`.
///
/// Where `kato index` (or [`head::disk::build`](kato_head::disk::build)) has written the counts of what it
/// holds, this takes milliseconds. Otherwise the patterns are counted; where that takes long, the counts
/// are written beside the knowledge base, and are there the next time.
///
/// # Errors
///
/// As [`open`].
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
    head_of(
        Arc::new(EmbeddedStore::open_read_only(kb.as_ref())?),
        options,
    )
}

/// Counts the patterns of an embedded store, as [`open_head`] does those of a directory.
///
/// # Errors
///
/// As [`open`].
pub fn head_of(store: Arc<EmbeddedStore>, options: HeadOptions) -> Result<TextHead, Error> {
    let (run, tokenizer) = training_of(&*store)?;
    let asks_outside = options.experts.contains(&Expert::Outside);
    let head = crate::counted_head::head_of(&store, &*tokenizer, options)?;
    if asks_outside {
        return Ok(from_embedded_store(store)?.with_head(head));
    }
    Ok(TextHead::from_head(head, store, tokenizer, run.learner)?)
}

/// Opens the nodes of an embedded store: over its index if it has one that can be used, and in
/// memory otherwise.
///
/// # Errors
///
/// [`Error::Engine`] when the store cannot be read.
pub fn engine_of(store: Arc<EmbeddedStore>) -> Result<Engine, Error> {
    engine_with(store, OpenOptions::default())
}

/// Opens the nodes of an embedded store, as [`engine_of`] does, within an amount of memory.
///
/// # Errors
///
/// As [`open_with`].
pub fn engine_with(store: Arc<EmbeddedStore>, options: OpenOptions) -> Result<Engine, Error> {
    match engine_over(Arc::clone(&store), options) {
        Err(Error::Engine(EngineError::LoadMemoryFull { limit, .. })) => {
            // What was loaded is gone again. Less memory for sorting makes it slower, and no other.
            let sort_bytes = (limit / 2).clamp(LEAST_SORT_BYTES, MOST_SORT_BYTES);
            let build = BuildOptions::default().with_sort_bytes(sort_bytes);
            kato_prediction::disk::build(&store, &build)?;
            engine_over(store, options)
        }
        opened => opened,
    }
}

/// Opens the nodes of an embedded store over the index that there is.
fn engine_over(store: Arc<EmbeddedStore>, options: OpenOptions) -> Result<Engine, Error> {
    // What cannot be used is passed over: the answers are the same without it.
    let index = kato_prediction::disk::find(&store).index;
    let nodes: Vec<_> = index.iter().flat_map(StoreIndex::nodes).collect();
    let covered = index.as_ref().map(StoreIndex::covered).unwrap_or_default();
    let mut engine = EngineOptions::default();
    // One user asks, so one question may have all cores.
    engine.prediction_threads = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    engine.max_load_bytes = options.max_memory;
    Ok(Engine::open_indexed(store, nodes, covered, engine)?)
}

/// Opens the knowledge of any store for questions, as [`open`] does that of a directory.
///
/// # Errors
///
/// As [`open`].
pub fn from_store(store: Arc<dyn PatternStore>) -> Result<Hierarchy, Error> {
    let (run, tokenizer) = training_of(&*store)?;
    Ok(Hierarchy::new(
        Engine::open(store)?,
        tokenizer,
        run.learner,
    )?)
}

/// Returns how a store was trained, before its patterns are loaded, which may take long.
fn training_of(store: &dyn PatternStore) -> Result<(RunConfiguration, Arc<dyn Tokenizer>), Error> {
    let run = RunConfiguration::from_json(store.configuration())
        .map_err(|source| Error::NotTrained { source })?;
    let tokenizer = tokenizer_of(&run)?;
    Ok((run, tokenizer))
}

/// Returns the tokenizer that a run used.
///
/// # Errors
///
/// [`Error::Tokenizer`] when it is not at hand, [`Error::OtherTokenizer`] when another one has its
/// name.
pub fn tokenizer_of(run: &RunConfiguration) -> Result<Arc<dyn Tokenizer>, Error> {
    let tokenizer = kato_tokenizer::load(&run.tokenizer)?;
    if tokenizer.fingerprint() != run.tokenizer_fingerprint {
        let name = run.tokenizer.clone();
        return Err(Error::OtherTokenizer { name });
    }
    Ok(tokenizer)
}
