//! Opening what was trained, with the tokenizer and the settings that it records.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use kato_engine::{Engine, EngineOptions};
use kato_head::{Expert, HeadOptions};
use kato_hierarchy::{Hierarchy, TextHead};
use kato_index::StoreIndex;
use kato_scheduler::RunConfiguration;
use kato_store::{EmbeddedStore, PatternStore};
use kato_tokenizer::Tokenizer;

use crate::Error;

/// Opens the knowledge base in a directory for questions; also while it is being trained, in the
/// state of its last commit.
///
/// Where `kato index` (or [`index::build`](kato_index::build())) has written an index of what it
/// holds, it is asked over that: opening takes milliseconds, and only what is asked for is read. What
/// was learned after the index was written is loaded into memory; without an index, all of it is.
///
/// # Errors
///
/// [`Error::Store`] when there is none or it cannot be read, [`Error::NotTrained`],
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
    from_embedded_store(Arc::new(EmbeddedStore::open_read_only(kb.as_ref())?))
}

/// Opens the knowledge of an embedded store for questions, as [`open`] does that of a directory:
/// over its index, if it has one.
///
/// # Errors
///
/// As [`open`].
pub fn from_embedded_store(store: Arc<EmbeddedStore>) -> Result<Hierarchy, Error> {
    let (run, tokenizer) = training_of(&*store)?;
    Ok(Hierarchy::new(engine_of(store)?, tokenizer, run.learner)?)
}

/// Counts the patterns of the knowledge base in a directory for a [`TextHead`], and opens nothing
/// else of it, unless KATO's predictions are among the experts: no index, and nothing is loaded for
/// predictions. Answers are those of `kato::open(kb)?.head(options)`.
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
    if options.experts.contains(&Expert::Outside) {
        return Ok(from_embedded_store(store)?.head(options)?);
    }
    let (run, tokenizer) = training_of(&*store)?;
    Ok(TextHead::from_store(
        store,
        tokenizer,
        run.learner,
        options,
    )?)
}

/// Opens the nodes of an embedded store: over its index if it has one that can be used, and in
/// memory otherwise.
///
/// # Errors
///
/// [`Error::Engine`] when the store cannot be read.
pub fn engine_of(store: Arc<EmbeddedStore>) -> Result<Engine, Error> {
    // What cannot be used is passed over: the answers are the same without it.
    let index = kato_index::open(&store).ok().flatten();
    let nodes: Vec<_> = index.iter().flat_map(StoreIndex::nodes).collect();
    let covered = index.as_ref().map(StoreIndex::covered).unwrap_or_default();
    let mut options = EngineOptions::default();
    // One user asks, so one question may have all cores.
    options.prediction_threads = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    Ok(Engine::open_indexed(store, nodes, covered, options)?)
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
