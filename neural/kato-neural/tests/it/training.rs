//! Steps, accumulation, precision, and the way through epochs.

use kato_gradient::Goal;
use kato_gradient::scaler::LossScalerSettings;
use kato_gradient::stop::{EarlyStopSettings, StopVerdict};
use kato_neural::burn::tensor::Device;
use kato_neural::checkpoint::{CheckpointKind, CheckpointWriter, WriterOptions, latest};
use kato_neural::layers::Cell;
use kato_neural::train::{
    Ending, FitEvent, FitOptions, Observer, StepPlace, Trainer, TrainerOptions,
};
use kato_neural::{AdamOptions, BoxError, Error, Precision};

use crate::model::{Autoencoder, Batch, Rebuild, Table};
use crate::support::{Nobody, device, weights};

pub(crate) fn trainer(norm: bool, precision: Precision) -> Trainer<Rebuild> {
    let model = Autoencoder::new(Cell::Lstm, norm, 1, &device());
    let options = TrainerOptions::new(7)
        .with_adam(AdamOptions::default().with_max_norm(1.0))
        .with_batch_norm_by_part()
        .with_precision(precision);
    Trainer::new(Rebuild, model, options).unwrap()
}

#[test]
fn training_learns_in_every_precision() {
    for precision in [Precision::F32, Precision::Bf16, Precision::F16] {
        let mut trainer = trainer(true, precision);
        let batch = [Batch::new(5, 0, 8, &device())];
        let losses: Vec<f64> = (0..150)
            .map(|_| trainer.step(1e-2, &batch).unwrap().loss)
            .collect();
        let mean = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len() as f64;
        let (begin, end) = (mean(&losses[..10]), mean(&losses[140..]));
        assert!(end < 0.8 * begin, "{precision:?}: from {begin} to {end}");
    }
}

#[test]
fn an_overflow_of_half_precision_is_skipped_and_told() {
    let model = Autoencoder::new(Cell::Gru, false, 1, &device());
    let options = TrainerOptions::new(7)
        .with_precision(Precision::F16)
        .with_scaler(LossScalerSettings::default().with_initial_scale(1e19));
    let mut trainer = Trainer::new(Rebuild, model, options).unwrap();
    let before = weights(trainer.model());
    let batch = [Batch::new(5, 0, 8, &device())];
    let report = trainer.step(1e-2, &batch).unwrap();
    assert!(report.skipped && weights(trainer.model()) == before);
    let n_skipped = (0..120)
        .filter(|_| trainer.step(1e-2, &batch).unwrap().skipped)
        .count();
    assert!((10..110).contains(&n_skipped), "{n_skipped}");
    assert_ne!(weights(trainer.model()), before);
}

#[test]
fn a_loss_that_is_lost_ends_the_run_and_names_the_parameter() {
    let mut trainer = trainer(false, Precision::F32);
    let error = (0..50)
        .find_map(|_| trainer.step(1e38, &[Batch::new(5, 0, 8, &device())]).err())
        .expect("such a rate cannot go well");
    assert!(matches!(&error, Error::NotFinite { parameter, .. } if !parameter.is_empty()));
    assert!(
        error.to_string().contains("lower the learning rate"),
        "{error}"
    );
}

#[test]
fn a_step_without_a_valid_token_is_refused() {
    let mut trainer = trainer(false, Precision::F32);
    assert!(matches!(
        trainer.step(1e-2, &[]),
        Err(Error::EmptyStep { step: 0 })
    ));
}

/// Answers with a table of metrics and notes what it is told.
struct Judge {
    metrics: Vec<f64>,
    steps: Vec<(StepPlace, usize)>,
    stop_after: Option<usize>,
}

impl Observer<Rebuild> for Judge {
    fn on_event(&mut self, event: FitEvent<'_>) -> bool {
        if let FitEvent::Step { report, place, .. } = event {
            self.steps.push((place, report.sums[0] as usize));
        }
        self.stop_after.is_none_or(|n| self.steps.len() < n)
    }

    fn judge(&mut self, _: &Trainer<Rebuild>, epoch: u64) -> Result<Option<f64>, BoxError> {
        Ok(self.metrics.get(epoch as usize).copied())
    }
}

fn table(n_batches: u64) -> Table {
    Table {
        n_batches,
        n_rows: 4,
        device: device(),
    }
}

#[test]
fn the_last_step_of_an_epoch_has_what_is_left() {
    let mut judge = Judge {
        metrics: vec![],
        steps: vec![],
        stop_after: None,
    };
    let options = FitOptions::new(2).with_accumulated(3);
    let report = trainer(true, Precision::F32)
        .fit(
            &mut table(7),
            &|place: &StepPlace| 1e-3 * place.epochs(),
            &options,
            None,
            &mut judge,
        )
        .unwrap();
    assert_eq!(report.ending, Ending::Complete);
    // The task's own sum counts batches.
    let n_batches: Vec<usize> = judge.steps.iter().map(|&(_, n)| n).collect();
    assert_eq!(n_batches, [3, 3, 1, 3, 3, 1]);
    let epochs: Vec<f64> = judge
        .steps
        .iter()
        .map(|(place, _)| place.epochs())
        .collect();
    let thirds = |n: f64| n / 3.0;
    assert_eq!(epochs[..3], [0.0, 1.0, 2.0].map(thirds));
    assert_eq!(epochs[3..], [0.0, 1.0, 2.0].map(|n| 1.0 + thirds(n)));
}

#[test]
fn a_metric_that_stops_to_improve_ends_the_run() {
    let metrics = vec![0.5, 0.6, 0.55, 0.58, 0.9];
    let mut judge = Judge {
        metrics,
        steps: vec![],
        stop_after: None,
    };
    let stop = EarlyStopSettings::new(Goal::Max).with_patience(2);
    let options = FitOptions::new(9).with_early_stop(stop);
    let mut trainer = trainer(true, Precision::F32);
    let mut fit = || {
        trainer.fit(
            &mut table(2),
            &|_: &StepPlace| 1e-3,
            &options,
            None,
            &mut judge,
        )
    };
    let report = fit().unwrap();
    assert_eq!(report.ending, Ending::EarlyStop(StopVerdict::OutOfPatience));
    assert_eq!(report.n_steps, 8);
    // Asked again it stays ended, and trains no more.
    assert_eq!(fit().unwrap(), report);
}

#[test]
fn an_observer_can_end_a_run_at_any_step() {
    let mut judge = Judge {
        metrics: vec![],
        steps: vec![],
        stop_after: Some(3),
    };
    let mut trainer = trainer(true, Precision::F32);
    let report = trainer
        .fit(
            &mut table(2),
            &|_: &StepPlace| 1e-3,
            &FitOptions::new(9),
            None,
            &mut judge,
        )
        .unwrap();
    assert_eq!((report.ending, report.n_steps), (Ending::Interrupted, 3));
    let rest = trainer
        .fit(
            &mut table(2),
            &|_: &StepPlace| 1e-3,
            &FitOptions::new(2),
            None,
            &mut Nobody,
        )
        .unwrap();
    assert_eq!((rest.ending, rest.n_steps), (Ending::Complete, 4));
}

#[test]
fn a_pass_without_autodiff_can_judge() {
    let plain = Device::flex();
    let batch = Batch::new(5, 0, 4, &plain);
    let model = Autoencoder::new(Cell::Gru, true, 1, &plain);
    assert!(model.cosine(&batch).is_finite());
}

#[test]
fn the_best_checkpoint_is_that_of_the_best_epoch() {
    let folder = tempfile::tempdir().unwrap();
    let writer = CheckpointWriter::new(folder.path(), WriterOptions::default()).unwrap();
    let metrics = vec![0.9, 0.4, 0.6, 0.5];
    let mut judge = Judge {
        metrics,
        steps: vec![],
        stop_after: None,
    };
    let stop = EarlyStopSettings::new(Goal::Min).with_patience(5);
    let options = FitOptions::new(4).with_early_stop(stop);
    trainer(true, Precision::F32)
        .fit(
            &mut table(3),
            &|_: &StepPlace| 1e-3,
            &options,
            Some(&writer),
            &mut judge,
        )
        .unwrap();
    writer.finish().unwrap();
    let step = |kind| {
        latest(folder.path(), kind)
            .unwrap()
            .checkpoint
            .progress()
            .step
    };
    assert_eq!(
        (step(CheckpointKind::Best), step(CheckpointKind::Step)),
        (6, 12)
    );
    let best = latest(folder.path(), CheckpointKind::Best)
        .unwrap()
        .checkpoint;
    let seen = best.progress().early_stop.expect("it was judged");
    assert_eq!((seen.best, best.progress().epoch), (Some(0.4), 2));
}
