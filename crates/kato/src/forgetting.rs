//! Forgetting in a call: files taken out of what the knowledge base in a directory has learned.

use std::path::{Path, PathBuf};

use kato_learner::HierarchicalConceptLearner;
use kato_prediction::disk::{BuildOptions, IndexPolicy, keep};
use kato_runs::Forgotten;
use kato_scheduler::{RunConfiguration, TrainingOptions};
use kato_store::{EmbeddedStore, PatternStore};

use crate::{Error, tokenizer_of};

/// Takes files out of what the knowledge base in a directory has learned, in one commit: its export and its
/// position are then those of a training without them. [`kato_runs::forget`] has every setting.
///
/// The files have to be there as they were. Occurrences go whole, as they hold the text. An index follows where
/// much is left that has none; where it cannot be written, whoever opens it next tries again.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let at = |name: &str| folder.path().join(name);
/// # std::fs::write(at("first.txt"), "It was the best of times, it was the worst of times.")?;
/// # std::fs::write(at("second.txt"), "It was the age of wisdom, it was the age of foolishness.")?;
/// let corpus = kato::Training::new(at("kb")).with_source(at("first.txt"));
/// corpus.with_source(at("second.txt")).run()?;
/// let forgotten = kato::forget(at("kb"), [at("first.txt")])?;
/// assert_eq!(forgotten.documents, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`Error::Run`] with the reason where a file was not learned, has changed since, or where nobody can tell
/// what is left without it; [`Error::Train`], [`Error::Source`], [`Error::Store`], [`Error::NotTrained`], and those
/// of [`tokenizer_of`]. Then nothing is forgotten, but where [`Error::Run`] says that occurrences could not be
/// removed or the manifest not be written: those come behind it; and where a store that failed in its commit
/// finds it when it is opened again.
pub fn forget<F: Into<PathBuf>>(
    kb: impl AsRef<Path>,
    files: impl IntoIterator<Item = F>,
) -> Result<Forgotten, Error> {
    let store = EmbeddedStore::open(kb.as_ref())?;
    let run = RunConfiguration::from_json(store.configuration()).map_err(Error::NotTrained)?;
    let learner = HierarchicalConceptLearner::builder(tokenizer_of(&run.rules)?)
        .with_config(run.rules.learner)
        .build()?;
    let files: Vec<PathBuf> = files.into_iter().map(Into::into).collect();
    let options = TrainingOptions::default();
    let forgotten = kato_runs::forget(&store, &learner, &files, &options, |reading| reading)?;
    drop(keep(&store, IndexPolicy::Auto, &BuildOptions::default()));
    Ok(forgotten)
}
