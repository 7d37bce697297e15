//! What a run is made of: its corpus, its model, its trainer.

use std::path::Path;

use kato_neural::burn::tensor::Device;
use kato_neural::run::{RunFolder, read_json};
use kato_neural::train::TrainerOptions;
use kato_neural::{AdamOptions, Decay};

use super::folder::POEMS;
use crate::artifacts::read_words;
use crate::corpus::Corpus;
use crate::error::PoetryError;
use crate::model::Autoencoder;
use crate::poem::Poem;
use crate::settings::Settings;
use crate::training::Reconstruction;

/// Reads settings and corpus of the run in a folder.
pub(super) fn corpus_of(folder: &Path) -> Result<(Settings, Corpus), PoetryError> {
    let settings = Settings::of_run(folder)?;
    let poems: Vec<Poem> = read_json(&folder.join(POEMS))?;
    let (vocabulary, vectors) = read_words(&folder.join(RunFolder::PREPARED))?;
    let report = read_json(&folder.join(RunFolder::PREPARED).join("report.json"))?;
    let corpus = Corpus::from_words(poems, vocabulary, vectors, report, &settings.corpus());
    Ok((settings, corpus))
}

/// Returns what a trainer is made of, by the settings of a run.
pub(crate) fn trained(
    settings: &Settings,
    dims: usize,
    n_words: usize,
    device: &Device,
) -> (Reconstruction, Autoencoder, TrainerOptions) {
    let training = &settings.training;
    let mut adam = AdamOptions::default().with_decay(Decay::L2(training.weight_decay));
    if training.clip > 0.0 {
        adam = adam.with_max_norm(training.clip);
    }
    let mut options = TrainerOptions::new(training.seed)
        .with_adam(adam)
        .with_precision(training.precision);
    if let Some(n_tokens) = training.max_tokens_at_once {
        options = options.with_max_tokens_at_once(n_tokens);
    }
    if training.batch_norm_by_part {
        options = options.with_batch_norm_by_part();
    }
    let model = fresh_model(settings, dims, n_words, device);
    (
        Reconstruction::new(settings.loss.clone(), device.clone()),
        model,
        options,
    )
}

/// Returns the model of a run at its beginning.
pub(crate) fn fresh_model(
    settings: &Settings,
    dims: usize,
    n_words: usize,
    device: &Device,
) -> Autoencoder {
    let seed = settings.training.seed;
    let model = Autoencoder::new(&settings.model, dims, seed, device);
    if settings.loss.kind.needs_words() {
        model.with_words(n_words, dims, seed, device)
    } else {
        model
    }
}
