//! A run: a folder with settings, poems, vectors, checkpoints and what came of it.

mod course;
mod folder;
mod history;
mod measure;
mod observer;
mod outcome;
mod parts;
mod rates;

use std::panic::resume_unwind;
use std::path::Path;
use std::thread::{self, ScopedJoinHandle};

use kato_gradient::Goal;
use kato_gradient::stop::EarlyStopSettings;
use kato_neural::burn::tensor::Device;
use kato_neural::checkpoint::WriterOptions;
use kato_neural::run::{
    EpochHistory, RunFolder, RunSettings, check_setting, watch_run, write_json,
};
use kato_neural::train::{Ending, FitOptions, FitReport, Prefetched, StepPlace, Trainer};

use crate::artifacts::{has_chunks, write_chunks, write_words};
use crate::corpus::Corpus;
use crate::error::PoetryError;
use crate::settings::{Settings, Writing};
use crate::training::{ChunkBatches, Reconstruction};

pub(crate) use folder::{LAYOUT, PROGRAM, check_mark};
pub use history::EpochRecord;
pub use kato_neural::run::{RunCost, RunEnding, StepRecord};
pub use measure::{PoetryCost, measure};
pub use observer::PoetryEvent;
pub use outcome::PoetryOutcome;
pub(crate) use parts::{fresh_model, trained};
pub use rates::find_rate;

use folder::POEMS;
use observer::Watch;
use parts::corpus_of;

/// A run, opened to be trained. No other process can train it meanwhile.
#[derive(Debug)]
pub struct Run {
    folder: RunFolder,
    settings: Settings,
    corpus: Corpus,
}

impl Run {
    /// Begins a run in a folder, which is made: writes down settings, poems and vectors, so that the
    /// run needs none of its sources any more.
    ///
    /// # Errors
    ///
    /// When settings are impossible, also with these poems, when there is a run in the folder, or when it cannot
    /// be written. Where settings are impossible, the folder is not made.
    pub fn create(folder: &Path, settings: Settings, corpus: Corpus) -> Result<Self, PoetryError> {
        settings.check()?;
        drop(ChunkBatches::new(&corpus, &settings)?);
        let folder = RunFolder::create(folder, PROGRAM)?;
        settings.write(&folder.file(RunFolder::SETTINGS))?;
        write_json(&folder.file(POEMS), &corpus.poems)?;
        write_words(&corpus, &folder.file(RunFolder::PREPARED))?;
        folder.mark(LAYOUT, &settings)?;
        Ok(Self {
            folder,
            settings,
            corpus,
        })
    }

    /// Opens a run to go on with it.
    ///
    /// # Errors
    ///
    /// When there is none in the folder, when another process trains it, when a file is damaged, or when its
    /// settings are impossible by now, or those that decide its course are not what it was begun with.
    pub fn open(folder: &Path) -> Result<Self, PoetryError> {
        let folder = RunFolder::open(folder, PROGRAM, LAYOUT)?;
        let (settings, corpus) = corpus_of(folder.path())?;
        Ok(Self {
            folder,
            settings,
            corpus,
        })
    }

    /// Sets how many epochs the run has in all, those that are done included, and keeps it with the run:
    /// whoever opens it later goes on to as many.
    ///
    /// # Errors
    ///
    /// When it is 0 or fewer than are done, or when it cannot be written down. The run stays as it was then.
    pub fn set_epochs(&mut self, epochs: u64) -> Result<(), PoetryError> {
        let mut settings = self.settings.clone();
        settings.training.epochs = epochs;
        settings.check()?;
        let n_done =
            EpochHistory::read::<EpochRecord>(&self.folder.file(RunFolder::HISTORY))?.len();
        check_setting(
            epochs >= n_done as u64,
            "training.epochs",
            &epochs,
            "at least the number of epochs that are done",
        )?;
        settings.write(&self.folder.file(RunFolder::SETTINGS))?;
        self.settings = settings;
        Ok(())
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

    /// Returns the corpus.
    #[must_use]
    pub fn corpus(&self) -> &Corpus {
        &self.corpus
    }

    /// Returns the number of steps of the whole run, if nothing stops it early.
    ///
    /// # Errors
    ///
    /// When no batch can be made.
    pub fn n_steps(&self) -> Result<u64, PoetryError> {
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
        on_event: &mut dyn FnMut(PoetryEvent<'_>) -> bool,
    ) -> Result<PoetryOutcome, PoetryError> {
        let device = Device::flex().autodiff();
        let mut trainer = self.trainer(&device)?;
        let (path, progress) = (self.folder.file(RunFolder::HISTORY), trainer.progress());
        // One that was not saved is trained again, whatever it reached.
        drop(EpochHistory::open::<EpochRecord>(&path, progress.epoch)?);
        let last = EpochHistory::read(&path)?.pop();
        if last.is_some_and(|last| self.is_good_enough(&last)) {
            return self.outcome(RunEnding::ReachedTarget, progress.step);
        }
        let training = &self.settings.training;
        let mut watch = Watch {
            run: self,
            on_event,
            has_reached_target: false,
        };
        let (fitted, written) = thread::scope(|scope| {
            let artifacts = scope.spawn(|| self.write_missing_artifacts());
            if training.artifacts == Writing::Blocking {
                // Joined before the first step, it is as if it were called.
                joined(artifacts)?;
                return Ok((self.fit(&mut trainer, &mut watch), Ok(())));
            }
            let fitted = self.fit(&mut trainer, &mut watch);
            Ok::<_, PoetryError>((fitted, joined(artifacts)))
        })?;
        let fitted = fitted?;
        written?;
        let ending = match fitted.ending {
            Ending::Interrupted if watch.has_reached_target => RunEnding::ReachedTarget,
            ending => ending.into(),
        };
        self.outcome(ending, fitted.n_steps)
    }

    /// Goes through the epochs with the threads that the settings ask for.
    fn fit(
        &self,
        trainer: &mut Trainer<Reconstruction>,
        watch: &mut Watch<'_>,
    ) -> Result<FitReport, PoetryError> {
        let training = &self.settings.training;
        let rate = |place: &StepPlace| training.at(place.epochs()).rate;
        let options = self.fit_options();
        let source = self.batches()?;
        let writing =
            WriterOptions::default().with_waits(training.checkpoints == Writing::Blocking);
        let all = (self.n_steps()?, writing);
        watch_run(
            &self.folder,
            trainer,
            all,
            watch,
            |trainer, writer, watch| {
                thread::scope(|scope| {
                    let (workers, prefetch) = (training.workers, training.prefetch);
                    let mut batches = Prefetched::start(scope, &source, workers, prefetch);
                    Ok(trainer.fit(&mut batches, &rate, &options, Some(writer), watch)?)
                })
            },
        )
    }

    /// Writes the arrays for other programs, where they are not there yet.
    fn write_missing_artifacts(&self) -> Result<(), PoetryError> {
        let folder = self.folder.file(RunFolder::PREPARED);
        if !has_chunks(&folder) {
            write_chunks(&self.corpus, &folder)?;
        }
        Ok(())
    }

    /// Returns the trainer where the run stands: at its newest whole checkpoint, or at the beginning.
    pub(crate) fn trainer(&self, device: &Device) -> Result<Trainer<Reconstruction>, PoetryError> {
        let vectors = &self.corpus.vectors;
        let (task, model, options) = trained(&self.settings, vectors.dims(), vectors.len(), device);
        let folder = self.folder.file(RunFolder::CHECKPOINTS);
        Ok(Trainer::begin_or_resume(task, model, options, &folder)?)
    }

    /// Returns whether an epoch reached the cosine that ends the run.
    fn is_good_enough(&self, record: &EpochRecord) -> bool {
        record.validation.cosine >= self.settings.training.target_cosine
    }

    /// Returns the batches of the run.
    fn batches(&self) -> Result<ChunkBatches<'_>, PoetryError> {
        ChunkBatches::new(&self.corpus, &self.settings)
    }

    /// Returns how the trainer goes through the epochs.
    fn fit_options(&self) -> FitOptions {
        let training = &self.settings.training;
        // Without patience the best epoch is still looked for, and the run goes on behind it.
        let patience = if training.patience == 0 {
            u32::MAX
        } else {
            training.patience
        };
        let stop = EarlyStopSettings::new(Goal::Min)
            .with_patience(patience)
            .with_min_delta(training.min_delta);
        let options = FitOptions::new(training.epochs)
            .with_accumulated(training.accumulate)
            .with_early_stop(stop);
        match training.save_steps {
            0 => options,
            n_steps => options.with_save_every(n_steps),
        }
    }
}

/// Waits for a thread, whose panic goes on here.
fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}
