//! Corpora of many kinds, from `KATO_TRIAL_DIR`: one JSON Lines file each, as
//! `benches/trial_corpora.py` makes them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use kato_estimator::{Calibration, StorageBreakdown, StorageEstimator, Target, TextSampler};
use kato_learner::HierarchicalConceptLearner;
use rayon::prelude::*;

use crate::corpus::Draws;

const SEEDS: u64 = 3;
const LEVELS: [[usize; 3]; 2] = [[5, 7, 9], [3, 5, 7]];

fn documents(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        record["text"].as_str().unwrap().to_owned()
    });
    lines.collect()
}

fn estimate<'a>(
    learner: &HierarchicalConceptLearner,
    documents: impl IntoIterator<Item = &'a String>,
    has_windows: bool,
    target: Option<Target>,
) -> StorageBreakdown {
    let mut sample = TextSampler::new(learner).unwrap().with_windows(has_windows);
    for text in documents {
        sample.add(text).unwrap();
    }
    let sample = sample.finish().unwrap();
    let target = target.unwrap_or(Target::samples(sample.documents));
    let estimator = StorageEstimator::builder().with_calibration(Calibration::from_sample(&sample));
    estimator.build().unwrap().estimate(target).unwrap()
}

/// The estimates of a corpus from a twentieth of its documents: errors and widths of the distinct
/// patterns as logarithms, and how many intervals hold.
#[derive(Default)]
struct Trial {
    documents: usize,
    different: usize,
    errors: Vec<f64>,
    widths: Vec<f64>,
    holds: usize,
    bytes: Vec<f64>,
    bytes_hold: usize,
}

impl Trial {
    fn of(path: &Path) -> Self {
        let documents = documents(path);
        let text_bytes = documents.iter().map(|text| text.len() as u64).sum();
        let n = (documents.len() / 20).max(20);
        let mut trial = Self {
            documents: documents.len(),
            different: documents.iter().collect::<BTreeSet<_>>().len(),
            ..Self::default()
        };
        for levels in LEVELS {
            let learner = HierarchicalConceptLearner::builder(kato_tokenizer::gpt2())
                .with_chunk_sizes(levels)
                .build()
                .unwrap();
            let truth = estimate(&learner, &documents, false, None);
            for seed in 0..SEEDS {
                let mut draws = Draws::from_seed(seed);
                let mut drawn = BTreeSet::new();
                while drawn.len() < n {
                    drawn.insert(draws.below(documents.len()));
                }
                let drawn = drawn.into_iter().map(|at| &documents[at]);
                let found = estimate(&learner, drawn, true, Some(Target::text_bytes(text_bytes)));
                let (patterns, bytes) = (&found.total_patterns, &found.bytes);
                trial
                    .errors
                    .push((patterns.value / truth.total_patterns.value).ln());
                trial.widths.push((patterns.high / patterns.low).ln());
                trial.holds += usize::from(patterns.covers(truth.total_patterns.value));
                trial.bytes.push((bytes.value / truth.bytes.value).ln());
                trial.bytes_hold += usize::from(bytes.covers(truth.bytes.value));
            }
        }
        trial
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted: Vec<f64> = values.iter().map(|value| value.abs()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

#[test]
fn a_twentieth_of_foreign_corpora_tells_the_whole_within_intervals() {
    let Some(dir) = std::env::var_os("KATO_TRIAL_DIR").map(PathBuf::from) else {
        eprintln!("skipped: KATO_TRIAL_DIR is not set");
        return;
    };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let trials: Vec<Trial> = paths.par_iter().map(|path| Trial::of(path)).collect();
    println!(
        "\n| corpus | documents | different | errors of distinct patterns, % | holds | median width | bytes: median error | holds |\n|---|--:|--:|---|--:|--:|--:|--:|"
    );
    let percent = |value: f64| 100.0 * value.exp_m1();
    for (path, trial) in paths.iter().zip(&trials) {
        let errors: Vec<String> = trial
            .errors
            .iter()
            .map(|e| format!("{:+.0}", percent(*e)))
            .collect();
        println!(
            "| {} | {} | {} | {} | {} of {} | {:.0} % | {:.0} % | {} |",
            path.file_stem().unwrap().display(),
            trial.documents,
            trial.different,
            errors.join(" "),
            trial.holds,
            trial.errors.len(),
            percent(median(&trial.widths)),
            percent(median(&trial.bytes)),
            trial.bytes_hold,
        );
    }
    let all: Vec<f64> = trials
        .iter()
        .flat_map(|trial| trial.errors.clone())
        .collect();
    let holds: usize = trials.iter().map(|trial| trial.holds).sum();
    println!(
        "all: median error {:.1} %, {holds} of {} hold",
        percent(median(&all)),
        all.len()
    );
    assert!(holds * 10 >= all.len() * 8, "{holds} of {}", all.len());
}
