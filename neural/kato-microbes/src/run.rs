//! A run: a folder with settings, samples, truth, checkpoints and what came of it.

mod measure;
mod observer;
mod outcome;
mod store;

use std::path::{Path, PathBuf};

use kato_gradient::stop::EarlyStopSettings;
use kato_neural::burn::tensor::Device;
use kato_neural::checkpoint::{CheckpointWriter, Kind, WriterOptions, checkpoints, latest};
use kato_neural::run::{History, RunFolder, write_whole};
use kato_neural::train::{Ending, FitOptions, Place, Trainer, TrainerOptions};
use kato_neural::{AdamOptions, Decay, Group};

use crate::error::MicrobesError;
use crate::model::Microformer;
use crate::settings::Settings;
use crate::training::{Batches, Learning, Objective};
use crate::work::{Parts, Work};

pub use measure::{Measured, measure};
pub use observer::{EpochRecord, StepRecord, TrainingEvent};
pub use outcome::{Outcome, RunEnding};

pub(crate) use store::target_of;

use observer::Watch;

/// Whose runs they are.
pub(crate) const PROGRAM: &str = "kato-microbes";
/// Version of the folder's layout.
pub(crate) const LAYOUT: u32 = 1;

/// Files of a run's folder, by name.
pub(crate) struct Files;

impl Files {
    pub(crate) const SETTINGS: &str = "settings.toml";
    pub(crate) const PREPARED: &str = "prepared";
    pub(crate) const PRETRAINED: &str = "pretrained.safetensors";
    pub(crate) const CHECKPOINTS: &str = "checkpoints";
    pub(crate) const HISTORY: &str = "history.jsonl";
    pub(crate) const OUTCOME: &str = "outcome.json";
}

/// A run, opened to be trained. No other process can train it meanwhile.
#[derive(Debug)]
pub struct Run {
    folder: RunFolder,
    settings: Settings,
    work: Work,
    parts: Parts,
}

impl Run {
    /// Begins a run in a folder, which is made: writes down settings, samples and truth, so that the
    /// run needs none of its sources any more.
    ///
    /// With `pretrained`, the folder of a run that learned distances, the encoder begins as that run's
    /// best; the shape of the model is that run's, but for the part that predicts. What that run learned
    /// from is neither calibration nor test sample of this one.
    ///
    /// # Errors
    ///
    /// When settings are impossible, there are too few samples, there is a run in the folder, or it
    /// cannot be written.
    pub fn create(
        folder: &Path,
        settings: Settings,
        work: Work,
        pretrained: Option<&Path>,
    ) -> Result<Self, MicrobesError> {
        let (settings, work) = match pretrained {
            Some(path) => (
                store::with_shape_of(settings, path)?,
                store::with_seen_by(work, path)?,
            ),
            None => (settings, work),
        };
        let parts = check(&settings, &work, pretrained.is_some())?;
        let folder = RunFolder::create(folder, PROGRAM)?;
        let path = folder.path().join(Files::SETTINGS);
        // What could not be read again would be no run.
        let text = settings
            .to_toml()
            .and_then(|text| Settings::from_toml(&text).map(|_| text));
        let text = text.map_err(|reason| MicrobesError::Settings {
            path: path.clone(),
            reason,
        })?;
        write_whole(&path, |out| out.write_all(text.as_bytes()))?;
        store::write(&work, &folder.path().join(Files::PREPARED))?;
        if let Some(from) = pretrained {
            store::copy_encoder(from, &folder.path().join(Files::PRETRAINED))?;
        }
        folder.mark(LAYOUT)?;
        Ok(Self {
            folder,
            settings,
            work,
            parts,
        })
    }

    /// Opens a run to go on with it.
    ///
    /// # Errors
    ///
    /// When there is none in the folder, when another process trains it, or when a file is damaged.
    pub fn open(folder: &Path) -> Result<Self, MicrobesError> {
        let folder = RunFolder::open(folder, PROGRAM, LAYOUT)?;
        let settings = Settings::read(&folder.path().join(Files::SETTINGS))?;
        let work = store::read(&folder.path().join(Files::PREPARED), &settings)?;
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
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns which sample is in which part.
    #[must_use]
    pub fn parts(&self) -> &Parts {
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

    /// Trains from where the run stands until it ends, or until `on_event` returns `false`; then it
    /// is saved, and the next call goes on with the same bits as if it had never stopped.
    ///
    /// # Errors
    ///
    /// When a gradient is lost, or a file cannot be written. What was saved before is safe.
    pub fn train(
        &mut self,
        on_event: &mut dyn FnMut(TrainingEvent<'_>) -> bool,
    ) -> Result<Outcome, MicrobesError> {
        let mut trainer = self.trainer()?;
        let history = self.path(Files::HISTORY);
        let history = History::open::<EpochRecord>(&history, trainer.progress().epoch)?;
        let writer =
            CheckpointWriter::new(self.path(Files::CHECKPOINTS), WriterOptions::default())?;
        let n_steps = self.n_steps()?;
        let schedule = self.settings.training.schedule(n_steps)?;
        let mut batches = self.batches()?;
        let steps = trainer.progress().step..n_steps;
        let mut watch = Watch::new(self, history, steps, on_event);
        // By optimiser steps: a schedule by batches would end too early where some are accumulated.
        let rate = |place: &Place| schedule.rate(place.step as f64);
        let options = self.fit_options();
        let fitted = trainer.fit(&mut batches, &rate, &options, Some(&writer), &mut watch);
        // What was handed over is written whatever happened.
        let written = writer.finish();
        let fitted = fitted?;
        written?;
        watch.take_error()?;
        let ending = match fitted.ending {
            Ending::Interrupted => RunEnding::Interrupted,
            Ending::EarlyStop(_) => RunEnding::NoImprovement,
            // Endings that a later version may add are ends all the same.
            _ => RunEnding::Complete,
        };
        self.outcome(ending, fitted.n_steps)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn objective(&self) -> Objective {
        Objective::new(&self.work, &self.parts, &self.settings.loss)
    }

    /// Returns the trainer where the run stands: at its newest whole checkpoint, or at the beginning.
    fn trainer(&self) -> Result<Trainer<Learning>, MicrobesError> {
        let device = Device::flex().autodiff();
        let pretrained = self.path(Files::PRETRAINED);
        let pretrained = pretrained.exists().then_some(pretrained);
        let (task, model, options) = trained(
            &self.settings,
            &self.work,
            self.objective(),
            pretrained.as_deref(),
            &device,
        )?;
        let folder = self.path(Files::CHECKPOINTS);
        let is_step = |kind: Kind| kind == Kind::Step;
        if !checkpoints(&folder)?
            .iter()
            .any(|place| is_step(place.kind))
        {
            return Ok(Trainer::new(task, model, options)?);
        }
        let latest = latest(&folder, Kind::Step)?;
        Ok(Trainer::resume(task, model, options, &latest.checkpoint)?)
    }

    fn batches(&self) -> Result<Batches<'_>, MicrobesError> {
        Batches::new(
            &self.work,
            &self.parts.train,
            &self.settings,
            self.objective(),
        )
    }

    /// Returns how the trainer goes through the epochs.
    fn fit_options(&self) -> FitOptions {
        let training = &self.settings.training;
        let stop = EarlyStopSettings::new(training.best.goal()).with_patience(training.patience);
        let options = FitOptions::new(training.epochs)
            .with_early_stop(stop)
            .with_accumulated(training.accumulate);
        match training.save_steps {
            0 => options,
            n_steps => options.with_save_every(n_steps),
        }
    }
}

/// Checks settings against what is learned, and parts the samples.
fn check(settings: &Settings, work: &Work, is_pretrained: bool) -> Result<Parts, MicrobesError> {
    settings.check()?;
    work.check_metric(settings.training.best)?;
    if settings.training.freeze && !is_pretrained {
        let expected = "false where no pre-trained run is given";
        return Err(MicrobesError::setting("training.freeze", &true, expected));
    }
    work.parts(&settings.split)
}

/// Returns what a trainer is made of, by the settings of a run.
fn trained(
    settings: &Settings,
    work: &Work,
    objective: Objective,
    pretrained: Option<&Path>,
    device: &Device,
) -> Result<(Learning, Microformer, TrainerOptions), MicrobesError> {
    let training = &settings.training;
    let adam = AdamOptions::default()
        .with_decay(Decay::Decoupled(training.weight_decay))
        // Norms and biases are left alone, as they are where AdamW comes from.
        .with_group(Group::without_decay("*norm*"))
        .with_group(Group::without_decay("*bias"))
        .with_max_norm(training.clip);
    let options = TrainerOptions::new(training.seed)
        .with_adam(adam)
        .with_precision(training.precision);
    let mut model = fresh_model(settings, work.n_outputs(), device);
    if let Some(path) = pretrained {
        let encoder = fresh_model(settings, None, device);
        model = model.with_encoder_of(kato_neural::checkpoint::read_weights(encoder, path)?);
    }
    Ok((
        Learning::new(objective, settings, device.clone()),
        model,
        options,
    ))
}

/// Makes a model of fresh weights.
pub(crate) fn fresh_model(
    settings: &Settings,
    n_outputs: Option<usize>,
    device: &Device,
) -> Microformer {
    let max_bp = settings.data.tokens.max_bp;
    Microformer::new(
        &settings.model,
        max_bp,
        n_outputs,
        settings.training.seed,
        device,
    )
}
