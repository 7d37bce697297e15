//! Judges a model by samples that it was not trained on.

use kato_gradient::metric::{Classification, Mean, RegressionScores};
use kato_neural::Pass;
use kato_neural::burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::objective::Objective;
use crate::batch::{BatchDraw, SampleBatch};
use crate::community::Microbes;
use crate::losses::{class_sum, count_sum, predicted_distances};
use crate::metadata::TargetValues;
use crate::model::{EncodedSamples, Microformer, tensor, values};
use crate::settings::{BestBy, MicrobesSettings};
use crate::work::{Truth, Work};

/// Samples that are encoded at a time.
const N_AT_ONCE: usize = 8;

/// What a model makes of samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MicrobesJudgement {
    /// The loss, with the weights of the settings.
    #[serde(deserialize_with = "crate::evaluation::nan_if_null")]
    pub loss: f64,
    /// R² of numbers, or of the distances of all pairs; `None` where it is not defined.
    pub r2: Option<f64>,
    /// The mean absolute error of numbers, in their own unit, or of distances.
    pub mae: Option<f64>,
    /// The share of classes, or of hidden nucleotides, that are right.
    pub accuracy: Option<f64>,
    /// The F1 of classes, weighted by their sizes.
    pub f1: Option<f64>,
    /// The root of the mean squared error of abundances, on the model's scale from 0 to 1, where they are
    /// predicted. It is no part of the loss here.
    #[serde(default)]
    pub counts: Option<f64>,
}

impl MicrobesJudgement {
    /// Returns a metric; NaN, which is never an improvement, where it is not defined.
    #[must_use]
    pub fn metric(&self, best: BestBy) -> f64 {
        let value = match best {
            BestBy::ValLoss => Some(self.loss),
            BestBy::R2 => self.r2,
            BestBy::Mae => self.mae,
            BestBy::Accuracy => self.accuracy,
            BestBy::F1 => self.f1,
        };
        value.unwrap_or(f64::NAN)
    }
}

/// Judges a model by some samples of a work, given by their places: without chance, and with the
/// same nucleotides hidden every time.
pub(crate) fn judge_with(
    model: &Microformer,
    work: &Work,
    places: &[usize],
    settings: &MicrobesSettings,
    objective: &Objective,
) -> MicrobesJudgement {
    let Truth::Target { values: truth, .. } = &work.truth else {
        return judge_distances(model, work, places, settings, objective);
    };
    let samples: Vec<usize> = places.iter().map(|&place| work.samples[place]).collect();
    let device = Device::flex();
    let (mut found, mut counts) = (Vec::new(), Mean::new());
    let draw = BatchDraw::new(settings.training.seed, 0.0);
    encode(
        model,
        &work.microbes,
        &samples,
        settings,
        draw,
        |batch, encoded, pass| {
            if let Some(predicted) = model.counts(encoded.rows.clone(), batch, pass) {
                let sum = values(count_sum(predicted, &batch.abundances, &batch.lengths))[0];
                let n = batch.lengths.iter().sum::<usize>() as f64;
                counts.add_weighted(f64::from(sum) / n, n);
            }
            found.extend(values(model.predict(encoded.rows, batch, pass)));
        },
    );
    let counts = counts.value().map(f64::sqrt);
    let n_outputs = found.len() / places.len().max(1);
    let scores = tensor(found.clone(), [places.len(), n_outputs], &device);
    let batch_truth = objective.truth(work, places);
    let sum = f64::from(values(objective.output_sum(scores, &batch_truth))[0]);
    match truth {
        TargetValues::Numbers(numbers) => {
            let scale = objective
                .scale
                .unwrap_or_else(|| crate::work::Scale::new(&[], &[]));
            let mut errors = RegressionScores::new();
            for (&place, &output) in places.iter().zip(&found) {
                errors.add(scale.undo(output), numbers[place]);
            }
            MicrobesJudgement {
                loss: sum / places.len() as f64,
                r2: errors.r_squared(),
                mae: errors.mean_absolute_error(),
                counts,
                ..MicrobesJudgement::default()
            }
        }
        TargetValues::Classes { names, of } => {
            let truth: Vec<usize> = places.iter().map(|&place| of[place]).collect();
            let predicted: Vec<usize> = found.chunks_exact(n_outputs).map(greatest).collect();
            let mut classes = Classification::new(names.len()).expect("there is a class");
            let added = classes.add_all(&predicted, &truth);
            added.expect("there are as many of both, all of them classes");
            let weights: f64 = truth
                .iter()
                .map(|&class| f64::from(objective.class_weights[class]))
                .sum();
            MicrobesJudgement {
                loss: sum / weights,
                accuracy: classes.accuracy(),
                f1: classes.weighted().map(|scores| scores.f1),
                counts,
                ..MicrobesJudgement::default()
            }
        }
    }
}

/// Judges a model by some samples of a work, given by their places, and by parts of it for what the
/// loss needs.
///
/// # Panics
///
/// When there is no such place, or the model is of another work: a mistake of the caller.
#[must_use]
pub fn judge(
    model: &Microformer,
    work: &Work,
    parts: &crate::work::SampleParts,
    places: &[usize],
    settings: &MicrobesSettings,
) -> MicrobesJudgement {
    let objective = Objective::new(work, parts, &settings.loss);
    judge_with(model, work, places, settings, &objective)
}

/// Returns what a model says of samples, row behind row.
pub(crate) fn outputs(
    model: &Microformer,
    microbes: &Microbes,
    samples: &[usize],
    settings: &MicrobesSettings,
    seed: u64,
) -> Vec<f32> {
    let mut found = Vec::new();
    let draw = BatchDraw::new(seed, 0.0);
    encode(
        model,
        microbes,
        samples,
        settings,
        draw,
        |batch, encoded, pass| {
            found.extend(values(model.predict(encoded.rows, batch, pass)));
        },
    );
    found
}

/// Encodes samples some at a time, without chance, and hands each batch over.
fn encode(
    model: &Microformer,
    microbes: &Microbes,
    samples: &[usize],
    settings: &MicrobesSettings,
    draw: BatchDraw,
    mut take: impl FnMut(&SampleBatch, EncodedSamples, &Pass),
) {
    let device = Device::flex();
    let pass = Pass::evaluation().with_precision(settings.training.precision);
    for part in samples.chunks(N_AT_ONCE) {
        let batch = SampleBatch::new(microbes, part, &settings.model, draw);
        let encoded = model.encoder().forward(&batch, &device, &pass);
        take(&batch, encoded, &pass);
    }
}

fn judge_distances(
    model: &Microformer,
    work: &Work,
    places: &[usize],
    settings: &MicrobesSettings,
    objective: &Objective,
) -> MicrobesJudgement {
    let loss = objective.loss();
    let draw = loss.draw(settings.training.seed);
    let mut letter_loss = Mean::new();
    let (mut n_right, mut n_hidden) = (0_usize, 0_usize);
    let rows = sample_rows(model, work, places, settings, draw, |batch, scores| {
        let letters = batch.letters();
        let n = letters.len();
        let sum = values(class_sum(scores.clone(), &letters, &vec![1.0; n]))[0];
        letter_loss.add_weighted(f64::from(sum) / n as f64, n as f64);
        let guesses = values(scores);
        let guesses = guesses.chunks_exact(4).map(greatest).zip(&letters);
        n_right += guesses
            .filter(|(guess, truth)| *guess as i64 == **truth)
            .count();
        n_hidden += n;
    });
    let (predicted, truth) = distances(&rows, work, places);
    let mut errors = RegressionScores::new();
    for (predicted, truth) in predicted.iter().zip(&truth) {
        errors.add(f64::from(*predicted), *truth);
    }
    let distance_loss = errors.mean_squared_error().unwrap_or(0.0) * loss.unifrac;
    MicrobesJudgement {
        loss: distance_loss + letter_loss.value().unwrap_or(0.0) * loss.nucleotides,
        r2: errors.r_squared(),
        mae: errors.mean_absolute_error(),
        accuracy: (n_hidden > 0).then(|| n_right as f64 / n_hidden as f64),
        ..MicrobesJudgement::default()
    }
}

/// Returns the rows that stand for some samples of a work, and hands over each batch with the scores of what
/// is hidden in it.
fn sample_rows(
    model: &Microformer,
    work: &Work,
    places: &[usize],
    settings: &MicrobesSettings,
    draw: BatchDraw,
    mut take: impl FnMut(&SampleBatch, Tensor<2>),
) -> Vec<f32> {
    let samples: Vec<usize> = places.iter().map(|&place| work.samples[place]).collect();
    let mut rows = Vec::new();
    encode(
        model,
        &work.microbes,
        &samples,
        settings,
        draw,
        |batch, encoded, _| {
            rows.extend(values(model.encoder().pool(encoded.rows, batch)));
            if let Some(scores) = encoded.letters {
                take(batch, scores);
            }
        },
    );
    rows
}

/// Returns predicted and true distances of all pairs.
fn distances(rows: &[f32], work: &Work, places: &[usize]) -> (Vec<f32>, Vec<f64>) {
    let Truth::Distances(matrix) = &work.truth else {
        return (Vec::new(), Vec::new());
    };
    let n = places.len();
    if n < 2 {
        return (Vec::new(), Vec::new());
    }
    let rows = tensor(rows.to_vec(), [n, rows.len() / n], &Device::flex());
    let pairs = crate::losses::pairs(n);
    let truth = pairs
        .map(|(i, j)| matrix.get(places[i], places[j]))
        .collect();
    (values(predicted_distances(rows)), truth)
}

/// Returns predicted and true distances of all pairs of some samples of a work.
pub(crate) fn distance_pairs(
    model: &Microformer,
    work: &Work,
    places: &[usize],
    settings: &MicrobesSettings,
) -> (Vec<f32>, Vec<f64>) {
    let draw = BatchDraw::new(settings.training.seed, 0.0);
    let rows = sample_rows(model, work, places, settings, draw, |_, _| {});
    distances(&rows, work, places)
}

/// Returns the place of the greatest score, the first among equals.
pub(crate) fn greatest(scores: &[f32]) -> usize {
    let mut best = 0;
    for (at, score) in scores.iter().enumerate() {
        if *score > scores[best] {
            best = at;
        }
    }
    best
}
