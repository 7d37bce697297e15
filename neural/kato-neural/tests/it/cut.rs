//! A step is the same however its rows are cut, by the caller or for want of room.

use kato_neural::layers::Cell;
use kato_neural::train::{Loss, Share, Task, Trainer, TrainerOptions};
use kato_neural::{Error, Pass, Precision};

use crate::model::{Autoencoder, Batch, Rebuild};
use crate::support::{device, weights};
use crate::training::trainer;

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
    assert!(matches!(step, Err(Error::Uncut { n_tokens: 8, .. })));
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
