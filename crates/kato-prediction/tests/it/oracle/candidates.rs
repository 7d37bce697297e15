//! Which patterns are looked at: all, or what the filter pipeline lets pass.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use kato_prediction::PredictionConfig;
use kato_prediction::config::Filter;
use serde::Deserialize;

use super::fit::{meets_threshold, similarity};
use super::{Known, Oracle, distinct, is_six};
use crate::{golden, naive};

pub(super) fn candidates<'a>(
    oracle: &'a Oracle,
    state: &[String],
    config: &PredictionConfig,
) -> Vec<&'a Known> {
    let all = oracle.patterns.values();
    let mut all: Vec<&Known> = all
        .filter(|known| !oracle.retired.contains(&known.name))
        .collect();
    if let ([symbol], true) = (state, is_six(config)) {
        // No filter is asked, and no threshold.
        all.retain(|known| known.flat.first() == Some(symbol));
        return all;
    }
    if config.filter_pipeline.is_empty() {
        return all;
    }
    // Nothing until a stage that can start the pipeline.
    let mut passed: Option<Vec<&Known>> = None;
    for stage in &config.filter_pipeline {
        let input = passed.as_ref().unwrap_or(&all);
        let pass = |keep: &dyn Fn(&Known) -> bool| {
            input
                .iter()
                .copied()
                .filter(|known| keep(known))
                .collect::<Vec<_>>()
        };
        passed = match stage {
            Filter::Length => Some(pass(&|known| length(known, state, config))),
            Filter::Jaccard => Some(pass(&|known| jaccard(known, state, config))),
            Filter::Minhash => Some(pass(&|known| minhash(known, state, config))),
            Filter::Bloom => passed,
            Filter::Rapidfuzz => passed.as_ref().map(|_| {
                pass(&|known| {
                    let threshold = or_default(config.recall_threshold, 0.1);
                    let similarity = similarity(known, state, config.use_token_matching);
                    meets_threshold(similarity, threshold, config)
                        && !naive::blocks(&known.flat, state).is_empty()
                })
            }),
        };
    }
    passed.unwrap_or_default()
}

fn length(known: &Known, state: &[String], config: &PredictionConfig) -> bool {
    let n = state.len() as f64;
    let least = (n * or_default(config.filters.length_min_ratio, 0.5))
        .floor()
        .max(1.0);
    let most = (n * or_default(config.filters.length_max_ratio, 2.0)).floor();
    (least..=most).contains(&(known.flat.len() as f64))
}

fn jaccard(known: &Known, state: &[String], config: &PredictionConfig) -> bool {
    let (pattern, state) = (distinct(&known.flat), distinct(state));
    let common = pattern.iter().filter(|s| state.contains(s)).count();
    let all = pattern.len() + state.len() - common;
    let least = match config.filters.jaccard_min_overlap {
        0 => 2,
        least => least,
    };
    common >= least
        && common as f64 / all as f64 >= or_default(config.filters.jaccard_threshold, 0.3)
}

fn minhash(known: &Known, state: &[String], config: &PredictionConfig) -> bool {
    let or = |value: usize, default: usize| if value == 0 { default } else { value };
    let n_hashes = or(config.filters.minhash_num_hashes, 100);
    let (bands, rows) = (
        or(config.filters.minhash_bands, 20),
        or(config.filters.minhash_rows, 5),
    );
    let (a, b) = (signature(&known.flat, n_hashes), signature(state, n_hashes));
    let is_equal = |range: std::ops::Range<usize>| match (a.get(range.clone()), b.get(range)) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    };
    let equal = (0..n_hashes).filter(|&i| a[i] == b[i]).count();
    (0..bands).any(|band| is_equal(band * rows..(band + 1) * rows))
        && equal as f64 / n_hashes as f64 >= or_default(config.filters.minhash_threshold, 0.7)
}

fn or_default(value: f64, default: f64) -> f64 {
    if value == 0.0 { default } else { value }
}

#[derive(Deserialize)]
struct Row {
    symbols: Vec<String>,
    signature: Vec<u32>,
}

/// Recorded signatures of single symbols: a set's signature is the least of its symbols', value by
/// value.
static SIGNATURES: LazyLock<BTreeMap<String, Vec<u32>>> = LazyLock::new(|| {
    golden::rows::<Row>(include_str!("../../data/minhash.jsonl"))
        .into_iter()
        .filter(|row| row.symbols.len() == 1 && row.signature.len() >= 100)
        .map(|row| (row.symbols[0].clone(), row.signature))
        .collect()
});

fn signature(symbols: &[String], n_hashes: usize) -> Vec<u32> {
    let least = |i: usize| symbols.iter().map(|symbol| SIGNATURES[symbol][i]).min();
    (0..n_hashes).map(|i| least(i).unwrap()).collect()
}
