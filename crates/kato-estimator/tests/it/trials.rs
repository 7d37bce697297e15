//! Corpora of many kinds, from `KATO_TRIAL_DIR`: one JSON Lines file each, as
//! `benches/trial_corpora.py` makes them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use kato_estimator::{Calibration, StorageEstimator, Target, TextSampler};
use kato_learner::HierarchicalConceptLearner;
use rayon::prelude::*;

use crate::corpus::{Draws, Found, median, percent};

const SEEDS: u64 = 3;
/// Shares of the documents that are drawn, in percent, and the least number of them.
const SHARES: [usize; 3] = [1, 5, 10];
const LEAST: usize = 20;
/// Kinds in which a few long documents that stand there often are most of the text: told apart.
const APART: [&str; 2] = ["licences", "changelogs"];
const LEVELS: [[usize; 3]; 2] = [[5, 7, 9], [3, 5, 7]];

fn documents(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        record["text"].as_str().unwrap().to_owned()
    });
    lines.collect()
}

/// What is told of a corpus: its patterns and bytes where the bytes of its text are known, and its patterns where
/// the number of its documents is, too.
const TOLD: [&str; 3] = ["patterns", "bytes", "patterns, documents known"];

/// Counts documents, for estimates of all of a corpus.
fn counted<'a>(
    learner: &HierarchicalConceptLearner,
    documents: impl IntoIterator<Item = &'a String>,
    has_windows: bool,
) -> StorageEstimator {
    let mut sample = TextSampler::new(learner).unwrap().with_windows(has_windows);
    for text in documents {
        sample.add(text).unwrap();
    }
    let calibration = Calibration::from_sample(&sample.finish().unwrap());
    let estimator = StorageEstimator::builder().with_calibration(calibration);
    // However far the text of a hundredth is from all of it.
    estimator.with_force(true).build().unwrap()
}

/// What was found of a corpus from each share of its documents, each as [`TOLD`].
struct Trial {
    name: String,
    documents: usize,
    different: usize,
    found: [Vec<[Found; TOLD.len()]>; SHARES.len()],
}

impl Trial {
    fn of(path: &Path) -> Self {
        let documents = documents(path);
        let text_bytes = documents.iter().map(|text| text.len() as u64).sum();
        let by_text = Target::text_bytes(text_bytes);
        let by_both = Target::samples(documents.len() as u64).with_text_bytes(text_bytes);
        let mut found = SHARES.map(|_| Vec::new());
        for levels in LEVELS {
            let learner = HierarchicalConceptLearner::builder(kato_tokenizer::gpt2())
                .with_chunk_sizes(levels)
                .build()
                .unwrap();
            let truth = counted(&learner, &documents, false)
                .estimate(by_both)
                .unwrap();
            for seed in 0..SEEDS {
                for (share, found) in SHARES.iter().zip(&mut found) {
                    let n = (documents.len() * share / 100).max(LEAST);
                    let drawn = Draws::from_seed(seed).choose(&documents, n);
                    let counted = counted(&learner, drawn, true);
                    let all = counted.estimate(by_text).unwrap();
                    let known = counted.estimate(by_both).unwrap();
                    found.push([
                        Found::of(&all.total_patterns, truth.total_patterns.value),
                        Found::of(&all.bytes, truth.bytes.value),
                        Found::of(&known.total_patterns, truth.total_patterns.value),
                    ]);
                }
            }
        }
        Self {
            name: path.file_stem().unwrap().display().to_string(),
            documents: documents.len(),
            different: documents.iter().collect::<BTreeSet<_>>().len(),
            found,
        }
    }
}

/// Returns the median error, that of 95 of 100, the share of intervals that hold and their median width.
fn summary(found: &[&Found]) -> String {
    let mut errors: Vec<f64> = found.iter().map(|found| found.error.abs()).collect();
    errors.sort_by(f64::total_cmp);
    let holds = found.iter().filter(|found| found.holds).count();
    format!(
        "{:.1} % | {:.0} % | {holds} of {} | {:.0} %",
        percent(median(errors.iter().copied())),
        percent(errors[(errors.len() * 95).div_ceil(100) - 1]),
        found.len(),
        percent(median(found.iter().map(|found| found.width))),
    )
}

#[test]
fn parts_of_foreign_corpora_tell_the_whole_within_intervals() {
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
        "\n| corpus | documents | different | of them | errors of distinct patterns, % | holds | median width | bytes: median error | holds |\n|---|--:|--:|--:|---|--:|--:|--:|--:|"
    );
    for trial in &trials {
        for (share, found) in SHARES.iter().zip(&trial.found) {
            let errors = found
                .iter()
                .map(|[patterns, ..]| format!("{:+.0}", percent(patterns.error)));
            let holds = |of: usize| found.iter().filter(|found| found[of].holds).count();
            println!(
                "| {} | {} | {} | {share} % | {} | {} of {} | {:.0} % | {:.0} % | {} |",
                trial.name,
                trial.documents,
                trial.different,
                errors.collect::<Vec<_>>().join(" "),
                holds(0),
                found.len(),
                percent(median(found.iter().map(|found| found[0].width))),
                percent(median(found.iter().map(|found| found[1].error))),
                holds(1),
            );
        }
    }
    println!(
        "\n| of the documents | of | which | median error | p95 | holds | median width |\n|--:|---|---|--:|--:|--:|--:|"
    );
    for (at, share) in SHARES.iter().enumerate() {
        for (of, what) in TOLD.iter().enumerate() {
            for is_apart in [false, true] {
                let kinds = trials
                    .iter()
                    .filter(|trial| APART.contains(&&*trial.name) == is_apart);
                let found: Vec<&Found> = kinds
                    .flat_map(|trial| trial.found[at].iter().map(|found| &found[of]))
                    .collect();
                if found.is_empty() {
                    continue;
                }
                let which = if is_apart {
                    APART.join(", ")
                } else {
                    "all others".to_owned()
                };
                println!("| {share} % | {what} | {which} | {} |", summary(&found));
                if !is_apart && of == 0 {
                    let holds = found.iter().filter(|found| found.holds).count();
                    assert!(holds * 10 >= found.len() * 8, "{holds} of {}", found.len());
                }
            }
        }
    }
}
