//! Which sequences a sample's prediction rests on.

use kato_neural::Pass;
use kato_neural::burn::tensor::Device;
use kato_unifrac::Table;
use serde::Serialize;

use crate::batch::{BatchDraw, SampleBatch};
use crate::community::Microbes;
use crate::model::values;
use crate::trained::Trained;

/// What a sample's prediction rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Explanation {
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
pub fn explain(trained: &Trained, microbes: &Microbes, sample: usize, limit: usize) -> Explanation {
    let answer = trained.predict_samples(microbes, &[sample], 1).remove(0);
    let output = answer.class();
    let value = answer.outputs[output];
    let total: f64 = microbes.table.sample(sample).map(|(_, count)| count).sum();
    let mut looked = attention(trained, microbes, sample);
    // Stable: equals stay in the order of their abundance.
    looked.sort_by(|a, b| b.1.total_cmp(&a.1));
    looked.truncate(limit);
    let mut parts: Vec<Part> = looked
        .into_iter()
        .map(|(feature, attention)| {
            let without = without(microbes, sample, feature);
            // A sample of one sequence has no prediction without it.
            let change = without.map_or(0.0, |without| {
                trained.predict_samples(&without, &[0], 1)[0].outputs[output] - value
            });
            let count = microbes
                .table
                .sample(sample)
                .find(|(other, _)| *other == feature);
            Part {
                feature: microbes.table.feature_ids()[feature].clone(),
                share: count.map_or(0.0, |(_, count)| count / total),
                attention,
                change,
            }
        })
        .collect();
    parts.sort_by(|a, b| b.change.abs().total_cmp(&a.change.abs()));
    Explanation {
        output,
        value,
        parts,
    }
}

/// Returns the features of a sample that are read, with how much the last pooling looks at each.
fn attention(trained: &Trained, microbes: &Microbes, sample: usize) -> Vec<(usize, f64)> {
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

/// Returns a sample alone, without a feature; `None` where nothing is left.
fn without(microbes: &Microbes, sample: usize, feature: usize) -> Option<Microbes> {
    let table = &microbes.table;
    let held = table.sample(sample).filter(|(other, _)| *other != feature);
    let entries: Vec<_> = held.map(|(feature, count)| (feature, 0, count)).collect();
    if entries.is_empty() {
        return None;
    }
    let ids = vec![table.sample_ids()[sample].clone()];
    let table = Table::from_entries(table.feature_ids().to_vec(), ids, entries);
    Some(Microbes {
        // The entries are those of a table, each once.
        table: table.unwrap_or_else(|error| unreachable!("{error}")),
        sequences: microbes.sequences.clone(),
        report: microbes.report.clone(),
    })
}
