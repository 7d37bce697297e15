//! Opening the knowledge base of a run to train on.

use std::path::Path;

use kato_learner::HierarchicalConceptLearner;
use kato_loader::StreamingDatasetLoader;
use kato_store::embedded::{DamagePolicy, EmbeddedOptions};
use kato_store::{EmbeddedStore, PatternStore as _, StoreError};
use serde_json::Value;

use crate::session::{check_position, check_settings};
use crate::store_backend::StoreBackend;

/// Opens a knowledge base to train on, with a loader at its position. A newest commit that is damaged
/// is given up for the one before, also for one that holds nothing, if the corpus is at hand from
/// which what is lost is learned again; [`EmbeddedStore::recovered`] tells.
///
/// `loader_at` makes the loader of the corpus that its first argument names, at the position of its
/// second, as [`loader_at_position`](crate::loader_at_position) does. Of a damaged knowledge base
/// nothing is changed before that has succeeded and the learner is the one that began the run.
///
/// # Errors
///
/// Those of [`EmbeddedStore::open_with`] and of `loader_at`; [`StoreError::Corrupt`] where it would
/// go back and the corpus is not at hand, or no whole checkpoint names it.
pub fn open_to_resume<E: From<StoreError>>(
    kb: &Path,
    options: EmbeddedOptions,
    learner: &HierarchicalConceptLearner,
    loader_at: impl FnOnce(&Value, &Value) -> Result<StreamingDatasetLoader, E>,
) -> Result<(EmbeddedStore, StreamingDatasetLoader), E> {
    let refused = match EmbeddedStore::open_with(kb, options) {
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
        true => EmbeddedStore::damage(kb)?
            .and_then(|damage| damage.newest)
            .map_or(Value::Null, |newest| newest.checkpoint),
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
