//! Taking files out of what a knowledge base has learned, as if they had never been in its corpus.

use std::path::PathBuf;

use kato_learner::HierarchicalConceptLearner;
use kato_loader::{Cursor, LoadError, StreamingDatasetLoader, StreamingDatasetLoaderBuilder};
use kato_occurrences::{Occurrences, Removal};
use kato_scheduler::failure::OnFailure;
use kato_scheduler::{Checkpoint, RunConfiguration, TrainError, TrainingOptions, train_parallel};
use kato_store::scratch::ScratchDir;
use kato_store::{EmbeddedStore, PatternStore};
use serde::Serialize;
use serde_json::Value;

use crate::manifest::now;
use crate::{ManifestFile, RunFacts, RunsError};

/// What was forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Forgotten {
    /// Names of the files, as they are in the corpus.
    pub files: Vec<String>,
    /// Documents that had been learned.
    pub documents: u64,
    /// Their tokens that were part of a pattern.
    pub tokens: u64,
    /// Learn calls of each level, from the bottom up.
    pub learns: Vec<u64>,
    /// Whether there were occurrences, which are gone: they hold the text.
    pub had_occurrences: bool,
}

/// Takes files out of a knowledge base, with all that their documents taught, as one commit: patterns, counts
/// and the position of training are then those of a training without them, which goes on as such a one does.
/// The manifest follows.
///
/// Occurrences go whole, as they hold the text; those of the other documents can be kept again.
///
/// The files are read once more, and learned into a directory for working files. `open` sets what reads them:
/// a fetcher, a filter, what happens to bad records, which has to be what happened in the training.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let at = |name: &str| folder.path().join(name);
/// # std::fs::write(at("first.txt"), "It was the best of times, it was the worst of times.")?;
/// # std::fs::write(at("second.txt"), "It was the age of wisdom, it was the age of foolishness.")?;
/// use kato_learner::HierarchicalConceptLearner;
/// use kato_loader::StreamingDatasetLoader;
/// use kato_runs::{Destination, RunsError, Start, TrainingRun, forget};
/// use kato_scheduler::{RunConfiguration, TrainingOptions};
/// use kato_store::EmbeddedStore;
///
/// let learner = HierarchicalConceptLearner::builder(kato_tokenizer::gpt2()).build()?;
/// let corpus = StreamingDatasetLoader::builder().with_inputs([at("first.txt"), at("second.txt")]);
/// let (mut run, mut loader) = TrainingRun::open(
///     Destination::from(&at("kb")),
///     &learner,
///     &RunConfiguration::from_learner(&learner),
///     Start::New,
///     |position| -> Result<_, RunsError> { Ok(position.loader(corpus)?) },
/// )?;
/// let options = TrainingOptions::default();
/// run.train(&mut loader, &learner, &options, |_| {})?;
/// drop(run);
///
/// let store = EmbeddedStore::open(&at("kb"))?;
/// let forgotten = forget(&store, &learner, &[at("first.txt")], &options, |reading| reading)?;
/// assert_eq!(forgotten.documents, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`RunsError::NotForgettable`] where a file was not learned, has changed since, or where nobody
/// can tell what is left without it; [`RunsError::Train`] when the files cannot be read, or
/// somebody stopped it; [`RunsError::Occurrences`] while somebody writes them, or when they cannot
/// be moved; [`RunsError::Io`] where there can be no directory for working files;
/// [`RunsError::Store`]. Then nothing is forgotten, unless a store that failed in its commit finds
/// it when it is opened again. Where occurrences could not be put back then,
/// [`RunsError::OccurrencesAside`]. Behind it [`RunsError::OccurrencesLeft`], and [`RunsError::Io`]
/// where the manifest cannot be written.
pub fn forget(
    store: &EmbeddedStore,
    learner: &HierarchicalConceptLearner,
    files: &[PathBuf],
    options: &TrainingOptions,
    open: impl Fn(StreamingDatasetLoaderBuilder) -> StreamingDatasetLoaderBuilder,
) -> Result<Forgotten, RunsError> {
    kato_prediction::disk::spare(store);
    let of_store = || RunsError::store(store.dir());
    // First of all, as it sweeps away what a killed process has left: occurrences that were set aside, too.
    let scratch = ScratchDir::create_in(store.dir())
        .map_err(RunsError::io("create a directory in", store.dir()))?;
    let Some(was) = Checkpoint::from_json(&store.checkpoint())? else {
        return Err(refused("no training is in it"));
    };
    let configuration = RunConfiguration::from_json(store.configuration())
        .map_err(|source| TrainError::Checkpoint { source })?;
    check(&was, &configuration)?;
    let files = StreamingDatasetLoader::builder_like(&was.corpus).with_inputs(files);
    let mut loader = open(files)
        .allow_empty()
        .build()
        .map_err(TrainError::Load)?;
    let files = loader.identity();
    // What was read from a pipe, or from a server that vouches for nothing, may be anything now.
    if let Some(file) = files.files().iter().find(|file| file.fingerprint.is_none()) {
        return Err(refused(format!(
            "nobody can tell whether `{}` is what was learned",
            file.name
        )));
    }
    let places = was.corpus.places_of(&files);
    let places = places.map_err(|problems| refused(problems.join("; ")))?;
    let corpus = was.corpus.without(&places);
    let is_nothing_left = corpus.files().is_empty();
    let end = position_without(&was, &places, || {
        if is_nothing_left {
            return Ok(Cursor::default());
        }
        let builder = open(StreamingDatasetLoader::builder_of(&corpus));
        Ok(builder.build().map_err(TrainError::Load)?.end())
    })?;

    // Before the work that it would stop in the end.
    let mut occurrences = Occurrences::removal(store.dir())?;
    let lessons = EmbeddedStore::create(
        scratch.path().join("kb"),
        store.nodes(),
        store.configuration().clone(),
    )
    .map_err(of_store())?;
    let mut options = options.clone();
    // What the training refused it refuses again, and that it did is known.
    options.failures.on_failure = OnFailure::Skip;
    options.ledger = None;
    let report = train_parallel(&mut loader, learner, &lessons, &options, |_| {})?;
    if !report.complete {
        return Err(TrainError::Load(LoadError::Interrupted).into());
    }

    let part = Checkpoint::from_json(&lessons.checkpoint())?;
    let left = part.and_then(|part| was.without(&part, corpus, end));
    let left = left.ok_or_else(|| refused("fewer documents were learned than the files hold"))?;
    // A run without a corpus is one that has not begun.
    let checkpoint = match is_nothing_left {
        true => Value::Null,
        false => left.to_json(),
    };
    let learns = (0..store.nodes().len()).map(|idx| Ok(lessons.totals(idx)?.learns));
    let learns = learns.collect::<Result<_, _>>().map_err(of_store())?;
    let had_occurrences = occurrences.is_some();
    // A crash behind the commit leaves nothing of them, and a commit that is refused leaves them.
    if let Some(occurrences) = &mut occurrences {
        occurrences.set_aside(scratch.path())?;
    }
    if let Err(error) = store.unlearn(&lessons, checkpoint).map_err(of_store()) {
        return Err(match occurrences {
            Some(occurrences) => put_back(occurrences, scratch, error),
            None => error,
        });
    }
    // The manifest says what is learned now, whatever became of the occurrences.
    let renewed = renew_manifest(store, is_nothing_left);
    if let Some(occurrences) = occurrences {
        let path = occurrences.dir().to_owned();
        let removed = occurrences.remove();
        // This first of the two: it is their text that is left.
        removed.map_err(|source| RunsError::OccurrencesLeft { path, source })?;
    }
    renewed?;
    let all = was.corpus.files();
    Ok(Forgotten {
        files: places
            .iter()
            .map(|&place| all[place].name.clone())
            .collect(),
        documents: report.documents_processed,
        tokens: report.tokens,
        learns,
        had_occurrences,
    })
}

/// Puts occurrences back after the error with which nothing was forgotten, and returns it. Where they cannot be,
/// they stay among the working files, and the error says so.
fn put_back(occurrences: Removal, scratch: ScratchDir, error: RunsError) -> RunsError {
    let to = occurrences.dir().to_owned();
    match occurrences.put_back() {
        Ok(()) => error,
        Err(source) => RunsError::OccurrencesAside {
            path: scratch.keep().join("occurrences"),
            to,
            problem: source.to_string(),
            source: Box::new(error),
        },
    }
}

/// Writes the manifest again, where there is one, as that of a run that never had the files.
fn renew_manifest(store: &EmbeddedStore, is_nothing_left: bool) -> Result<(), RunsError> {
    let file = ManifestFile::in_knowledge_base(store.dir());
    // One that cannot be read says so where it is asked for; what was to be forgotten is.
    let Ok(Some(recorded)) = file.read() else {
        return Ok(());
    };
    let backend = recorded.backend.clone();
    let (name, created) = (recorded.name.clone(), recorded.created);
    let facts = RunFacts::from_store(store, backend, false);
    let facts = facts.map_err(RunsError::store(store.dir()))?;
    let mut manifest = facts.manifest(Some(recorded), &name, created);
    if is_nothing_left {
        // No position names a corpus any more, and the recorded one had the files.
        (manifest.corpus, manifest.forecast) = (None, None);
    }
    manifest.updated = Some(now());
    file.write(&manifest)
}

/// Refuses a training of which nobody can tell what it would be without some of its files.
fn check(was: &Checkpoint, configuration: &RunConfiguration) -> Result<(), RunsError> {
    if was.corpus.is_interdependent() || configuration.split.is_some() {
        return Err(refused(
            "which documents were learned of a file depends on the files before it, in a mixture, a shard, a sample, behind rows that \
             are passed over, and where documents are held out",
        ));
    }
    let recording = configuration.rules.learner.recording;
    if recording.provenance || recording.metadata {
        return Err(refused(
            "it records where patterns were first seen, or metadata of documents, and does not know which of them are left without \
             the files",
        ));
    }
    // The learner refuses again what it refused; these it would not.
    let failures = was.counters.failures;
    let skipped = failures.refused + failures.worker_died;
    if skipped > 0 {
        return Err(refused(format!(
            "the training skipped {}, and does not know which",
            kato_advice::counted(skipped, "document")
        )));
    }
    Ok(())
}

/// Returns the position in the corpus without the files at some places; `end` opens it, and returns where it
/// ends.
fn position_without(
    was: &Checkpoint,
    places: &[usize],
    end: impl FnOnce() -> Result<Cursor, RunsError>,
) -> Result<Cursor, RunsError> {
    match was.corpus.is_shuffled() {
        false => was.cursor.without(places).ok_or_else(|| {
            refused("a file was not read to its end yet: go on with the training first")
        }),
        true if was.complete => end(),
        true => Err(refused(
            "its corpus is shuffled and was not read to its end: go on with the training first",
        )),
    }
}

/// Creates the error for what is not forgotten.
fn refused(reason: impl Into<String>) -> RunsError {
    RunsError::NotForgettable {
        reason: reason.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn occurrences_that_cannot_be_put_back_are_not_lost() {
        let kb = tempfile::tempdir().unwrap();
        let dir = kb.path().join("occurrences");
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("unit"), "all places").unwrap();
        let scratch = ScratchDir::create_in(kb.path()).unwrap();
        let mut occurrences = Occurrences::removal(kb.path()).unwrap().unwrap();
        occurrences.set_aside(scratch.path()).unwrap();
        // Somebody keeps others meanwhile.
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("other"), "").unwrap();
        let error = put_back(occurrences, scratch, refused("the disk is full"));
        // The next one sweeps.
        drop(ScratchDir::create_in(kb.path()).unwrap());
        let RunsError::OccurrencesAside {
            path, to, source, ..
        } = error
        else {
            panic!("{error:?}");
        };
        assert_eq!(to, dir);
        assert!(path.join("unit").exists());
        assert!(matches!(*source, RunsError::NotForgettable { .. }));
    }
}
