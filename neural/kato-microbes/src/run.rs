//! A run: a folder with settings, samples, truth, checkpoints and what came of it.

mod course;
mod fit;
mod measure;
mod observer;
mod outcome;
mod replicas;
mod store;

use std::path::Path;

use kato_neural::burn::tensor::Device;
use kato_neural::run::{RunFolder, RunSettings, check_setting};

use crate::error::MicrobesError;
use crate::metadata::forget_unseen;
use crate::model::{Microformer, Predicted};
use crate::settings::MicrobesSettings;
use crate::training::Objective;
use crate::work::{SampleParts, Truth, Work};

pub use kato_neural::run::{RunCost, RunEnding, StepRecord};
pub use measure::{MicrobesCost, measure};
pub use observer::{MicrobesEpoch, MicrobesEvent};
pub use outcome::MicrobesOutcome;

pub(crate) use store::target_of;

/// Whose runs they are.
pub(crate) const PROGRAM: &str = "kato-microbes";
/// Version of the folder's layout.
pub(crate) const LAYOUT: u32 = 1;

/// The weights that a run begins with, where it was pre-trained.
pub(crate) const PRETRAINED: &str = "pretrained.safetensors";

/// A run, opened to be trained. No other process can train it meanwhile.
#[derive(Debug)]
pub struct Run {
    folder: RunFolder,
    settings: MicrobesSettings,
    work: Work,
    parts: SampleParts,
}

impl Run {
    /// Begins a run in a folder, which is made: writes down settings, samples and truth, so that the
    /// run needs none of its sources any more.
    ///
    /// With `pretrained`, the folder of a run that learned distances, the encoder begins as that run's
    /// best; the shape of the model is that run's, but for the part that predicts. What that run learned
    /// from is neither calibration nor test sample of this one.
    ///
    /// Categories that no training sample has are forgotten: who has them, has none that is known.
    ///
    /// # Errors
    ///
    /// When settings are impossible, there are too few samples or all have one value, there is a run in the folder,
    /// or it cannot be written.
    pub fn create(
        folder: &Path,
        settings: MicrobesSettings,
        work: Work,
        pretrained: Option<&Path>,
    ) -> Result<Self, MicrobesError> {
        let (settings, work) = Self::begun_from(pretrained, settings, work)?;
        let parts = work.parts(&settings.split)?;
        let folder = RunFolder::create(folder, PROGRAM)?;
        settings.write(&folder.file(RunFolder::SETTINGS))?;
        store::write(&work, &folder.file(RunFolder::PREPARED))?;
        if let Some(from) = pretrained {
            store::copy_encoder(from, &folder.file(PRETRAINED))?;
        }
        folder.mark(LAYOUT, &settings)?;
        Ok(Self {
            folder,
            settings,
            work,
            parts,
        })
    }

    /// Returns settings and work as a run has them that [begins](Self::create) so: with the shape of a pre-trained one,
    /// knowing what that one has seen, and without categories that no training sample has.
    ///
    /// # Errors
    ///
    /// When settings are impossible, there are too few samples or all have one value, or the pre-trained run cannot be
    /// read or predicts a column.
    pub fn begun_from(
        pretrained: Option<&Path>,
        settings: MicrobesSettings,
        work: Work,
    ) -> Result<(MicrobesSettings, Work), MicrobesError> {
        let (mut settings, mut work) = match pretrained {
            Some(path) => (
                store::with_shape_of(settings, path)?,
                store::with_seen_by(work, path)?,
            ),
            None => (settings, work),
        };
        let parts = check(&settings, &work, pretrained.is_some())?;
        let train: Vec<usize> = parts.train.iter().map(|&at| work.samples[at]).collect();
        let categories = &mut work.microbes.categories;
        if !categories.is_empty() {
            forget_unseen(&mut settings.model.categorical, categories, &train);
        }
        Ok((settings, work))
    }

    /// Opens a run to go on with it.
    ///
    /// # Errors
    ///
    /// When there is none in the folder, when another process trains it, when a file is damaged, or when its
    /// settings are impossible by now, or those that decide its course are not what it was begun with.
    pub fn open(folder: &Path) -> Result<Self, MicrobesError> {
        Self::read(RunFolder::open(folder, PROGRAM, LAYOUT)?)
    }

    fn read(folder: RunFolder) -> Result<Self, MicrobesError> {
        let settings = MicrobesSettings::of_run(folder.path())?;
        let work = store::read(&folder.file(RunFolder::PREPARED), &settings)?;
        let parts = work.parts(&settings.split)?;
        Ok(Self {
            folder,
            settings,
            work,
            parts,
        })
    }

    /// Returns the folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the settings.
    #[must_use]
    pub fn settings(&self) -> &MicrobesSettings {
        &self.settings
    }

    /// Returns which sample is in which part.
    #[must_use]
    pub fn parts(&self) -> &SampleParts {
        &self.parts
    }

    /// Returns what is learned.
    #[must_use]
    pub fn work(&self) -> &Work {
        &self.work
    }

    /// Returns the number of optimiser steps of the whole run, if nothing stops it early.
    ///
    /// # Errors
    ///
    /// When no batch can be made.
    pub fn n_steps(&self) -> Result<u64, MicrobesError> {
        Ok(self.batches()?.n_steps_an_epoch() * self.settings.training.epochs)
    }

    pub(crate) fn objective(&self) -> Objective {
        Objective::new(&self.work, &self.parts, &self.settings.loss)
    }
}

/// Checks settings against what is learned, and parts the samples.
fn check(
    settings: &MicrobesSettings,
    work: &Work,
    is_pretrained: bool,
) -> Result<SampleParts, MicrobesError> {
    settings.check()?;
    work.check_metric(settings.training.best)?;
    check_setting(
        is_pretrained || !settings.training.freeze,
        "training.freeze",
        &true,
        "false where no pre-trained run is given",
    )?;
    let parts = work.parts(&settings.split)?;
    if let Truth::Target { column, values } = &work.truth {
        values.check_differ(column)?;
    }
    Ok(parts)
}

/// Makes a model of fresh weights.
pub(crate) fn fresh_model(
    settings: &MicrobesSettings,
    n_outputs: Option<usize>,
    device: &Device,
) -> Microformer {
    let max_bp = settings.data.tokens.max_bp;
    let has_counts = settings.loss.counts > 0.0;
    let predicted = n_outputs.map(|n| Predicted::new(n).with_counts(has_counts));
    Microformer::new(
        &settings.model,
        max_bp,
        predicted,
        settings.training.seed,
        device,
    )
}
