//! Which sequences and branches a sample's prediction rests on.

mod branch;

use kato_neural::Pass;
use kato_neural::burn::tensor::Device;
use kato_unifrac::Table;
use serde::Serialize;

use crate::batch::{BatchDraw, SampleBatch, categories};
use crate::community::Microbes;
use crate::model::values;
use crate::trained::TrainedMicrobes;

pub use branch::{Branch, Branches, branches};

/// What a sample's prediction rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SampleExplanation {
    /// Which output is explained: the likeliest class, or 0 for a number.
    pub output: usize,
    /// The number, or the class's probability.
    pub value: f64,
    /// The sequences that the last pooling looks at most, by the change without them, the greatest
    /// first.
    pub parts: Vec<Part>,
}

/// A sequence's part in a prediction.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Part {
    /// The feature.
    pub feature: String,
    /// Its share of the sample's counts.
    pub share: f64,
    /// How much the last pooling looks at it; over a sample's sequences, the sum is 1. Sequences look at
    /// each other before, so that this is where to look, and no proof.
    pub attention: f64,
    /// What the prediction would be without its counts, less what it is.
    pub change: f64,
}

/// Explains the prediction of a sample, given by its number: sequences are found by attention, and
/// `limit` of them are left out one by one.
///
/// # Panics
///
/// There is no such sample.
#[must_use]
pub fn explain(
    trained: &TrainedMicrobes,
    microbes: &Microbes,
    sample: usize,
    limit: usize,
) -> SampleExplanation {
    let answer = trained.predict_samples(microbes, &[sample], 1).remove(0);
    let output = answer.class();
    let value = answer.outputs[output];
    let mut looked = attention(trained, microbes, sample);
    // Stable: equals stay in the order of their abundance.
    looked.sort_by(|a, b| b.1.total_cmp(&a.1));
    looked.truncate(limit);
    let left_out: Vec<Vec<usize>> = looked.iter().map(|(feature, _)| vec![*feature]).collect();
    let changes = changes(trained, microbes, sample, &left_out, (output, value));
    let parts = looked.into_iter().zip(changes);
    let mut parts: Vec<Part> = parts
        .map(|((feature, attention), change)| Part {
            feature: microbes.table.feature_ids()[feature].clone(),
            share: share(microbes, sample, &[feature]),
            attention,
            change,
        })
        .collect();
    parts.sort_by(|a, b| b.change.abs().total_cmp(&a.change.abs()));
    SampleExplanation {
        output,
        value,
        parts,
    }
}

/// Returns the features of a sample that are read, with how much the last pooling looks at each.
fn attention(trained: &TrainedMicrobes, microbes: &Microbes, sample: usize) -> Vec<(usize, f64)> {
    let settings = trained.settings();
    let device = Device::flex();
    let pass = Pass::evaluation().with_precision(settings.training.precision);
    let draw = BatchDraw::new(settings.training.seed, 0.0);
    let batch = SampleBatch::new(microbes, &[sample], &settings.model, draw);
    let encoded = trained.model().encoder().forward(&batch, &device, &pass);
    let weights = values(trained.model().attention(encoded.rows, &batch, &pass));
    let features = batch.features.iter().copied();
    let features: Vec<usize> = features.collect();
    let places = batch
        .places
        .iter()
        .map(|&place| features[place as usize - 1]);
    places
        .zip(weights.iter().map(|&weight| f64::from(weight)))
        .collect()
}

/// Returns the share that features have of a sample's counts.
fn share(microbes: &Microbes, sample: usize, features: &[usize]) -> f64 {
    let (mut some, mut all) = (0.0, 0.0);
    for (feature, count) in microbes.table.sample(sample) {
        all += count;
        if features.contains(&feature) {
            some += count;
        }
    }
    some / all
}

/// Returns what an output of a sample would be without each of some sets of features, less its `value`;
/// 0 where nothing would be left, as there is no prediction of nothing.
fn changes(
    trained: &TrainedMicrobes,
    microbes: &Microbes,
    sample: usize,
    left_out: &[Vec<usize>],
    (output, value): (usize, f64),
) -> Vec<f64> {
    let table = &microbes.table;
    // Each as a sample of one table: what they have in common is computed once a batch.
    let (mut entries, mut columns) = (Vec::new(), Vec::new());
    for set in left_out {
        let before = entries.len();
        let held = table
            .sample(sample)
            .filter(|(other, _)| !set.contains(other));
        entries.extend(held.map(|(feature, count)| (feature, columns.len(), count)));
        columns.push(entries.len() > before);
    }
    let ids = (0..columns.len()).map(|at| at.to_string()).collect();
    let table = Table::from_entries(table.feature_ids().to_vec(), ids, entries);
    let without = Microbes {
        // The entries are those of a table, each once.
        table: table.unwrap_or_else(|error| unreachable!("{error}")),
        sequences: microbes.sequences.clone(),
        report: microbes.report.clone(),
        categories: categories(microbes, sample, &trained.settings().model).repeat(columns.len()),
    };
    let kept: Vec<usize> = (0..columns.len()).filter(|&at| columns[at]).collect();
    let answers = trained.predict_samples(&without, &kept, 1);
    let mut changes = vec![0.0; columns.len()];
    for (at, answer) in kept.into_iter().zip(answers) {
        changes[at] = answer.outputs[output] - value;
    }
    changes
}
