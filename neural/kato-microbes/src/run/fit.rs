//! The way of a run through its epochs, alone or with replicas.

use std::path::Path;
use std::sync::Arc;

use kato_gradient::stop::EarlyStopSettings;
use kato_neural::burn::tensor::Device;
use kato_neural::checkpoint::{CheckpointWriter, WriterOptions};
use kato_neural::collective::Collective;
use kato_neural::run::{OtherReplicas, RunFolder, watch_run};
use kato_neural::train::{
    FitOptions, FitReport, Observer, Prefetched, StepPlace, Trainer, TrainerOptions,
};
use kato_neural::{AdamOptions, Decay, Group};

use super::observer::{Follower, MicrobesEvent, Watch};
use super::outcome::MicrobesOutcome;
use super::{LAYOUT, PRETRAINED, PROGRAM, Run, fresh_model, replicas};
use crate::error::MicrobesError;
use crate::model::Microformer;
use crate::settings::MicrobesSettings;
use crate::training::{Learning, Objective, SampleBatches};
use crate::work::Work;

impl Run {
    /// Trains from where the run stands until it ends, or until `on_event` returns `false`; then it
    /// is saved, and the next call goes on with the same bits as if it had never stopped.
    ///
    /// # Errors
    ///
    /// When a gradient is lost, or a file cannot be written. What was saved before is safe.
    pub fn train(
        &mut self,
        on_event: &mut (dyn FnMut(MicrobesEvent<'_>) -> bool + Send),
    ) -> Result<MicrobesOutcome, MicrobesError> {
        let n_replicas = self.settings.training.replicas;
        let run = &*self;
        let fitted = replicas::together(
            n_replicas,
            |collective| run.lead(collective, on_event),
            |collective| run.go_along(collective),
        )?;
        self.outcome(fitted.ending.into(), fitted.n_steps)
    }

    /// Trains as [`train`](Self::train) does, as the first of replicas that are processes of their own:
    /// the others [follow](Self::follow). `ended` waits for them or ends them, as what is known of them asks for; it
    /// tells the error of one of them, where there is any, rather than that it is gone.
    ///
    /// # Errors
    ///
    /// As for [`train`](Self::train), and those of `ended`.
    pub fn train_as_first<E: From<MicrobesError>>(
        &mut self,
        collective: Arc<dyn Collective>,
        on_event: &mut (dyn FnMut(MicrobesEvent<'_>) -> bool + Send),
        ended: impl FnOnce(OtherReplicas) -> Result<(), E>,
    ) -> Result<MicrobesOutcome, E> {
        // The connections end with it, and let the others go.
        let fitted = self.lead(Some(collective), on_event);
        let others = match &fitted {
            Ok(_) => OtherReplicas::Through,
            Err(error) => error.other_replicas(),
        };
        let ended = ended(others);
        // Where the first one has failed itself, that is the cause of what the others say.
        if others != OtherReplicas::Needless {
            ended?;
        }
        let fitted = fitted?;
        Ok(self.outcome(fitted.ending.into(), fitted.n_steps)?)
    }

    /// Trains the run in a folder as one of the replicas beside the [first](Self::train_as_first), which
    /// alone judges and writes.
    ///
    /// # Errors
    ///
    /// When there is no run in the folder, a file is damaged, or a step fails.
    pub fn follow(folder: &Path, collective: Arc<dyn Collective>) -> Result<(), MicrobesError> {
        Self::read(RunFolder::open_beside(folder, PROGRAM, LAYOUT)?)?.go_along(collective)
    }

    fn go_along(&self, collective: Arc<dyn Collective>) -> Result<(), MicrobesError> {
        let mut trainer = self.trainer(Some(collective))?;
        self.fit(&mut trainer, None, &mut Follower).map(drop)
    }

    /// Trains as the replica that judges, writes and tells.
    fn lead(
        &self,
        collective: Option<Arc<dyn Collective>>,
        on_event: &mut dyn FnMut(MicrobesEvent<'_>) -> bool,
    ) -> Result<FitReport, MicrobesError> {
        let mut trainer = self.trainer(collective)?;
        let mut watch = Watch {
            run: self,
            on_event,
        };
        let all = (self.n_steps()?, WriterOptions::default());
        watch_run(
            &self.folder,
            &mut trainer,
            all,
            &mut watch,
            |trainer, writer, watch| self.fit(trainer, Some(writer), watch),
        )
    }

    /// Goes through the epochs with the threads that the settings ask for.
    fn fit(
        &self,
        trainer: &mut Trainer<Learning>,
        writer: Option<&CheckpointWriter>,
        observer: &mut impl Observer<Learning>,
    ) -> Result<FitReport, MicrobesError> {
        let training = &self.settings.training;
        let schedule = training.schedule(self.n_steps()?)?;
        // By optimiser steps: a schedule by batches would end too early where some are accumulated.
        let rate = |place: &StepPlace| schedule.rate(place.step as f64);
        let options = self.fit_options();
        let source = self.batches()?;
        let fitted = std::thread::scope(|scope| {
            let mut batches =
                Prefetched::start(scope, &source, training.workers, training.prefetch);
            trainer.fit(&mut batches, &rate, &options, writer, observer)
        });
        Ok(fitted?)
    }

    /// Returns the trainer where the run stands: at its newest whole checkpoint, or at the beginning.
    fn trainer(
        &self,
        collective: Option<Arc<dyn Collective>>,
    ) -> Result<Trainer<Learning>, MicrobesError> {
        let device = Device::flex().autodiff();
        let pretrained = self.folder.file(PRETRAINED);
        let pretrained = pretrained.exists().then_some(pretrained);
        let (task, model, options) = trained(
            &self.settings,
            &self.work,
            self.objective(),
            pretrained.as_deref(),
            &device,
        )?;
        let folder = self.folder.file(RunFolder::CHECKPOINTS);
        let trainer = Trainer::begin_or_resume(task, model, options, &folder)?;
        replicas::joined(trainer, collective)
    }

    pub(super) fn batches(&self) -> Result<SampleBatches<'_>, MicrobesError> {
        SampleBatches::new(
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
            .with_accumulated(training.accumulate)
            .with_sharded_checkpoints(training.sharded_checkpoints);
        match training.save_steps {
            0 => options,
            n_steps => options.with_save_every(n_steps),
        }
    }
}

/// Returns what a trainer is made of, by the settings of a run.
pub(super) fn trained(
    settings: &MicrobesSettings,
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
        .with_precision(training.precision)
        .with_sharded(training.sharded);
    let options = match training.max_tokens_at_once {
        Some(n_tokens) => options.with_max_tokens_at_once(n_tokens),
        None => options,
    };
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
