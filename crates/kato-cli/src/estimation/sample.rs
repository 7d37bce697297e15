//! A sample of a corpus: documents that are read and counted.

use std::num::NonZeroU64;

use anyhow::{Context, Result, ensure};
use indicatif::HumanCount;
use kato_estimator::{CorpusSample, TextSampler};
use kato_learner::HierarchicalConceptLearner;
use kato_loader::StreamingDatasetLoader;
use kato_scheduler::StopSignal;

use crate::meter::Meter;

/// Text that is taken from the loader at once, in bytes.
const BATCH_BYTES: usize = 512 << 10;

/// Counts the first documents of a loader, up to `most` of them.
///
/// Take a loader whose order is random.
///
/// # Errors
///
/// When a document cannot be read or tokenized, when there is none, and when it was interrupted.
pub(crate) fn sample(
    loader: &mut StreamingDatasetLoader,
    learner: &HierarchicalConceptLearner,
    most: NonZeroU64,
    stop: &StopSignal,
    meter: &mut Meter,
) -> Result<CorpusSample> {
    let mut counted = TextSampler::new(learner)?;
    let mut n_documents = 0;
    while n_documents < most.get()
        && let Some(batch) = loader.next_batch(BATCH_BYTES)?
    {
        ensure!(
            !stop.is_stopped(),
            "interrupted before the sample was complete"
        );
        // A batch is a number of bytes, so the last one may hold more documents than are wanted.
        for document in batch.iter().take((most.get() - n_documents) as usize) {
            counted
                .add(document.text)
                .with_context(|| format!("document {}", document.id()))?;
            n_documents += 1;
        }
        meter.update(n_documents, Some(most.get()), || {
            vec![format!("{} documents looked at", HumanCount(n_documents))]
        });
    }
    meter.finish();
    Ok(counted.finish()?)
}
