//! Steps, accumulation, precision, and the way through epochs.

use kato_gradient::Goal;
use kato_gradient::scaler::LossScalerSettings;
use kato_gradient::stop::{EarlyStopSettings, Verdict};
use kato_neural::burn::tensor::Device;
use kato_neural::checkpoint::{CheckpointWriter, Kind, WriterOptions, latest};
use kato_neural::layers::Cell;
use kato_neural::train::{
    Ending, Event, FitOptions, Loss, Observer, Place, Share, Task, Trainer, TrainerOptions,
};
use kato_neural::{AdamOptions, BoxError, Error, Pass, Precision};

use crate::model::{Autoencoder, Batch, Rebuild, Table};
use crate::support::{Nobody, device, weights};

fn trainer(norm: bool, precision: Precision) -> Trainer<Rebuild> {
    let model = Autoencoder::new(Cell::Lstm, norm, 1, &device());
    let options = TrainerOptions::new(7)
        .with_adam(AdamOptions::default().with_max_norm(1.0))
        .with_batch_norm_by_part()
        .with_precision(precision);
    Trainer::new(Rebuild, model, options).unwrap()
}

/// Trains three steps of 12 rows each, cut as given.
fn cut(sizes: &[usize]) -> (Vec<f32>, f64) {
    // Batch norm has statistics of what it sees at once; all else is the same however it is cut.
    let mut trainer = trainer(false, Precision::F32);
    let mut loss = 0.0;
    for step in 0..3 {
        let mut first = step * 12;
        let group: Vec<Batch> = sizes
            .iter()
            .map(|&n| {
                first += n;
                Batch::new(5, first - n, n, &device())
            })
            .collect();
        loss += trainer.step(1e-2, &group).unwrap().loss;
    }
    (weights(trainer.model()), loss)
}

#[test]
fn a_step_is_the_same_however_its_rows_are_cut() {
    let (whole, loss) = cut(&[12]);
    for sizes in [&[6, 6][..], &[3, 3, 3, 3], &[5, 5, 2], &[1, 11]] {
        let (found, its_loss) = cut(sizes);
        let largest = whole
            .iter()
            .fold(0.0_f32, |largest, entry| largest.max(entry.abs()));
        let gap = whole
            .iter()
            .zip(&found)
            .map(|(a, b)| (a - b).abs() / largest);
        let gap = gap.fold(0.0, f32::max);
        assert!(gap < 1e-6, "{sizes:?} {gap}");
        assert!((loss - its_loss).abs() < 1e-6, "{sizes:?}");
    }
}

#[test]
fn a_batch_that_does_not_fit_is_cut_with_the_same_result() {
    let train = |max: Option<usize>| {
        let model = Autoencoder::new(Cell::Lstm, false, 1, &device());
        let mut options = TrainerOptions::new(7);
        options.max_tokens_at_once = max;
        let mut trainer = Trainer::new(Rebuild, model, options).unwrap();
        let mut n_parts = Vec::new();
        for step in 0..3 {
            // The first batch of a step is one of two, so that rows of the second are numbered on.
            let batches = [0, 7].map(|first| Batch::new(5, 12 * step + first, 7, &device()));
            n_parts.push(trainer.step(1e-2, &batches).unwrap().sums[0]);
        }
        (weights(trainer.model()), n_parts)
    };
    let (whole, n_parts) = train(None);
    assert_eq!(n_parts, [2.0; 3]);
    for max in [1, 10, 25, 1000] {
        let (found, n_parts) = train(Some(max));
        let gap = whole.iter().zip(&found).map(|(a, b)| (a - b).abs());
        let gap = gap.fold(0.0, f32::max);
        assert!(gap < 1e-6, "{max} {gap}");
        assert!((n_parts[0] > 2.0) == (max < 35), "{max} {n_parts:?}");
    }
}

/// Cannot cut a batch.
struct Whole;

impl Task for Whole {
    type Model = Autoencoder;
    type Batch = Batch;

    fn weights(&self, batch: &Batch) -> Vec<f64> {
        Rebuild.weights(batch)
    }

    fn n_rows(&self, batch: &Batch) -> usize {
        Rebuild.n_rows(batch)
    }

    fn loss(&self, model: &Autoencoder, batch: &Batch, share: &Share<'_>, pass: &Pass) -> Loss {
        Rebuild.loss(model, batch, share, pass)
    }
}

#[test]
fn a_batch_that_cannot_be_cut_is_refused() {
    let model = Autoencoder::new(Cell::Gru, false, 1, &device());
    let options = TrainerOptions::new(7).with_max_tokens_at_once(5);
    let mut trainer = Trainer::new(Whole, model, options).unwrap();
    let step = trainer.step(1e-2, &[Batch::new(5, 0, 8, &device())]);
    // Rows are one token each unless the task says otherwise.
    let expected = (8, 5);
    assert!(matches!(step, Err(Error::Uncut { n_tokens, max, .. }) if (n_tokens, max) == expected));
    assert_eq!(trainer.progress().step, 0);
}

#[test]
fn batch_norm_over_parts_is_refused_unless_it_is_asked_for() {
    let model = Autoencoder::new(Cell::Gru, true, 1, &device());
    let mut trainer = Trainer::new(Rebuild, model, TrainerOptions::new(7)).unwrap();
    let batch = || Batch::new(5, 0, 4, &device());
    let error = trainer.step(1e-2, &[batch(), batch()]).unwrap_err();
    assert!(
        matches!(error, Error::BatchNorm { n_parts: 2, .. }),
        "{error}"
    );
    assert!(trainer.step(1e-2, &[batch()]).is_ok());
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
    steps: Vec<(Place, usize)>,
    stop_after: Option<usize>,
}

impl Observer<Rebuild> for Judge {
    fn on_event(&mut self, event: Event<'_>) -> bool {
        if let Event::Step { report, place, .. } = event {
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
            &|place: &Place| 1e-3 * place.epochs(),
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
    let mut fit = || trainer.fit(&mut table(2), &|_: &Place| 1e-3, &options, None, &mut judge);
    let report = fit().unwrap();
    assert_eq!(report.ending, Ending::EarlyStop(Verdict::OutOfPatience));
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
            &|_: &Place| 1e-3,
            &FitOptions::new(9),
            None,
            &mut judge,
        )
        .unwrap();
    assert_eq!((report.ending, report.n_steps), (Ending::Interrupted, 3));
    let rest = trainer
        .fit(
            &mut table(2),
            &|_: &Place| 1e-3,
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
            &|_: &Place| 1e-3,
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
    assert_eq!((step(Kind::Best), step(Kind::Step)), (6, 12));
    let best = latest(folder.path(), Kind::Best).unwrap().checkpoint;
    let seen = best.progress().early_stop.expect("it was judged");
    assert_eq!((seen.best, best.progress().epoch), (Some(0.4), 2));
}
