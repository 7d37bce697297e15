//! Going on with a run: what must be as it was, and opening its knowledge base.

use std::path::Path;

use kato_learner::{HierarchicalConceptLearner, TailPolicy};
use kato_loader::{RecordCounts, StreamingDatasetLoader};
use kato_store::embedded::{DamagePolicy, EmbeddedOptions};
use kato_store::{EmbeddedStore, PatternStore as _, Place, Rescue, StoreError};
use serde_json::Value;

use crate::store_backend::StoreBackend;
use crate::{Backend, Checkpoint, RunConfiguration, TrainError};

/// Opens a knowledge base to train on, with a loader at its position. A newest commit that is damaged
/// is given up for the one before, also for one that holds nothing, if the corpus is at hand from
/// which what is lost is learned again; [`EmbeddedStore::recovered`] tells.
///
/// `loader_at` makes the loader of the corpus that its first argument names, at the position of its
/// second, as [`loader_at_position`](crate::loader_at_position) does. Of a damaged knowledge base
/// nothing is changed before that has succeeded and the learner is the one that began the run.
///
/// Where the options do not [refuse](DamagePolicy::Refuse), all of the knowledge base is read first, and a
/// commit with damage that only a later read would find is given up as well.
///
/// # Errors
///
/// Those of [`EmbeddedStore::open_with`] and of `loader_at`; [`StoreError::Corrupt`] where it would
/// go back and the corpus is not at hand, the run was begun with other settings, or no whole checkpoint
/// names the corpus.
pub fn open_to_resume<E: From<StoreError>>(
    kb: impl AsRef<Path>,
    options: EmbeddedOptions,
    learner: &HierarchicalConceptLearner,
    loader_at: impl FnOnce(&Value, &Value) -> Result<StreamingDatasetLoader, E>,
) -> Result<(EmbeddedStore, StreamingDatasetLoader), E> {
    let kb = kb.as_ref();
    let refused = match open_newest(kb, options) {
        Err(error @ StoreError::Corrupt { .. }) => error,
        opened => {
            let store = opened?;
            let checkpoint = store.checkpoint();
            let loader = loader_at(&checkpoint, &checkpoint)?;
            return Ok((store, loader));
        }
    };
    // A reader changes nothing.
    let Ok(older) = EmbeddedStore::open_read_only_with(kb, DamagePolicy::Relearn) else {
        return Err(refused.into());
    };
    let position = older.checkpoint();
    // The first commit of a run names no corpus yet, and the one that is lost does.
    let corpus = match position.is_null() {
        true => EmbeddedStore::checkpoint_of(kb)
            .ok()
            .flatten()
            .unwrap_or_default(),
        false => position.clone(),
    };
    if corpus.is_null() {
        return Err(refused.into());
    }
    let Ok(loader) = loader_at(&corpus, &position) else {
        return Err(refused.into());
    };
    let backend = StoreBackend::new(&older);
    let is_same = check_settings(&loader, learner, &backend).is_ok()
        && check_position(&loader, &backend).is_ok();
    if !is_same {
        return Err(refused.into());
    }
    drop(older);
    let options = options.with_damage_policy(DamagePolicy::Relearn);
    Ok((EmbeddedStore::open_with(kb, options)?, loader))
}

/// Opens the newest commit, if it is whole as far as the options look.
fn open_newest(kb: &Path, options: EmbeddedOptions) -> Result<EmbeddedStore, StoreError> {
    if options.damage_policy != DamagePolicy::Refuse {
        // A reader changes nothing.
        let looked = EmbeddedStore::open_read_only_with(kb, DamagePolicy::Relearn)?;
        let lossy = looked.recovered().filter(|it| !it.is_lossless());
        if let Some(file) = lossy.and_then(|recovery| recovery.files.first()) {
            return Err(StoreError::Corrupt {
                place: Place::from_path(&file.path),
                reason: file.reason.clone(),
                rescue: Rescue::Unknown,
            });
        }
    }
    // All has been read by then, if it was to be: once is enough.
    EmbeddedStore::open_with(kb, options.with_damage_policy(DamagePolicy::Refuse))
}

/// Compares the settings of learner and loader with those that the run was begun with.
pub(crate) fn check_settings(
    loader: &StreamingDatasetLoader,
    learner: &HierarchicalConceptLearner,
    backend: &impl Backend,
) -> Result<(), TrainError> {
    // A carried tail joins two documents: the result would depend on which document a worker learns
    // next.
    if learner.config().tail_policy == TailPolicy::Carry {
        return Err(TrainError::OrderDependent);
    }
    let was = RunConfiguration::from_json(backend.configuration())
        .map_err(|source| TrainError::Checkpoint { source })?;
    let mut differences =
        was.diff(&RunConfiguration::from_learner(learner).with_split(loader.split()));
    if backend.nodes() != learner.node_names() {
        let (was, now) = (backend.nodes().join(", "), learner.node_names().join(", "));
        differences.push(format!(
            "knowledge bases: they are for {was}, and the learner's nodes are {now}"
        ));
    }
    match differences.is_empty() {
        true => Ok(()),
        false => Err(TrainError::OtherConfiguration { differences }),
    }
}

/// Compares the corpus and its position with those of the last commit, and returns the checkpoint to
/// go on from.
pub(crate) fn check_position(
    loader: &StreamingDatasetLoader,
    backend: &impl Backend,
) -> Result<Checkpoint, TrainError> {
    let corpus = loader.identity();
    let mut committed = Checkpoint::from_json(&backend.checkpoint())?;
    let mut is_new = committed.is_none();
    if let Some(committed) = &mut committed {
        // More files behind those that were read to the end are what such a run goes on with.
        if committed.complete && corpus.extends(&committed.corpus) {
            committed.corpus = corpus.clone();
            committed.complete = false;
            is_new = true;
        }
        let differences = committed.corpus.diff(&corpus);
        if !differences.is_empty() {
            return Err(TrainError::OtherCorpus { differences });
        }
    }
    // Where an order begins is for the loader to decide: a new run may begin anywhere, with nothing
    // read yet.
    let is_in_place = match &committed {
        Some(committed) => loader.cursor() == committed.cursor,
        None => loader.counts() == RecordCounts::default(),
    };
    if !is_in_place {
        let expected = committed.map_or(0, |committed| committed.cursor.documents());
        let found = loader.cursor().documents();
        return Err(TrainError::Position { expected, found });
    }
    let checkpoint = committed.unwrap_or_else(|| Checkpoint::at_start(corpus, loader.cursor()));
    if is_new {
        // Remembered before anything is learned from the corpus, and only when all checks have
        // passed: a run that is refused leaves a new store free for any corpus.
        backend.commit(Vec::new(), checkpoint.to_json())?;
    }
    Ok(checkpoint)
}
