//! The filter pipeline, which decides which patterns are candidates at all.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a length times a ratio, rounded down; a cast to an integer saturates"
)]

use std::ops::RangeInclusive;

use crate::cancel::{Cancel, Cancelled};
use crate::collections::HashSet;
use crate::config::{Filter, FilterSettings};
use crate::minhash::MinHasher;
use crate::state::State;
use crate::symbols::Symbols;
use crate::{PredictionConfig, SymbolId};

/// The threshold of the `rapidfuzz` stage in KATO if the recall threshold is 0.
const RAPIDFUZZ_DEFAULT: f64 = 0.1;

/// The stages that have an effect, in order.
#[derive(Debug)]
pub(crate) struct FilterChain {
    stages: Vec<Stage>,
    passes_nothing: bool,
    /// Number of distinct symbols of the state, unknown ones included.
    n_distinct: usize,
}

/// A stage with its settings, prepared for one state.
#[derive(Debug)]
enum Stage {
    Length(RangeInclusive<usize>),
    Jaccard {
        threshold: f64,
        least_overlap: usize,
    },
    Minhash {
        threshold: f64,
        bands: usize,
        rows: usize,
        hasher: MinHasher,
        signature: Vec<u32>,
    },
    Rapidfuzz(f64),
}

impl FilterChain {
    /// Prepares the stages of a pipeline for one state.
    pub(crate) fn new(
        config: &PredictionConfig,
        state: &State<'_>,
        cancel: &Cancel,
    ) -> Result<Self, Cancelled> {
        let mut stages = Vec::new();
        let mut has_source = false;
        let mut known = Vec::new();
        for filter in &config.filter_pipeline {
            // A stage that is there twice passes what it passes once, and users may send
            // pipelines of any length.
            if known.contains(filter) {
                continue;
            }
            match filter {
                Filter::Length | Filter::Jaccard | Filter::Minhash => {
                    has_source = true;
                    known.push(*filter);
                    stages.push(Stage::new(*filter, config, state, cancel)?);
                }
                // It narrows what an earlier stage selected; without one there is
                // nothing to narrow.
                Filter::Rapidfuzz if has_source => {
                    known.push(*filter);
                    stages.push(Stage::new(*filter, config, state, cancel)?);
                }
                Filter::Rapidfuzz | Filter::Bloom => {}
            }
        }
        let distinct: HashSet<&str> = state.texts.iter().copied().collect();
        Ok(Self {
            stages,
            // Only those three select from all patterns. A pipeline without any of them selects
            // none, as in KATO 3.10.1 (docs/compatibility.md).
            passes_nothing: !config.filter_pipeline.is_empty() && !has_source,
            n_distinct: distinct.len(),
        })
    }

    /// Returns whether no pattern can pass.
    pub(crate) fn passes_nothing(&self) -> bool {
        self.passes_nothing
    }

    /// Returns whether a pattern of one of these lengths can pass.
    pub(crate) fn allow_lengths(&self, lengths: &RangeInclusive<usize>) -> bool {
        self.stages.iter().all(|stage| match stage {
            Stage::Length(allowed) => {
                allowed.start() <= lengths.end() && lengths.start() <= allowed.end()
            }
            _ => true,
        })
    }

    /// Returns whether a pattern passes all stages; `fit` computes its similarity and its number of
    /// matching blocks.
    pub(crate) fn passes(
        &self,
        pattern: &[SymbolId],
        state: &State<'_>,
        table: &Symbols,
        fit: impl Fn() -> Result<(f64, usize), Cancelled>,
        cancel: &Cancel,
    ) -> Result<bool, Cancelled> {
        for stage in &self.stages {
            let passes = match stage {
                Stage::Length(allowed) => allowed.contains(&pattern.len()),
                Stage::Jaccard {
                    threshold,
                    least_overlap,
                } => {
                    let distinct: HashSet<SymbolId> = pattern.iter().copied().collect();
                    // Symbols that the index does not know are in the union and never in common.
                    let common = distinct
                        .iter()
                        .filter(|&&symbol| state.holds(symbol))
                        .count();
                    let union = distinct.len() + self.n_distinct - common;
                    common >= *least_overlap && common as f64 / union as f64 >= *threshold
                }
                Stage::Minhash {
                    threshold,
                    bands,
                    rows,
                    hasher,
                    signature,
                } => {
                    let texts: Vec<_> = pattern.iter().map(|&symbol| table.text(symbol)).collect();
                    let other = hasher.signature(texts.iter().map(AsRef::as_ref), cancel)?;
                    crate::minhash::shares_band(signature, &other, *bands, *rows)
                        && crate::minhash::estimated_jaccard(signature, &other) >= *threshold
                }
                Stage::Rapidfuzz(threshold) => {
                    let (similarity, n_blocks) = fit()?;
                    n_blocks > 0 && similarity >= *threshold
                }
            };
            if !passes {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Stage {
    /// Prepares a stage for one state.
    fn new(
        filter: Filter,
        config: &PredictionConfig,
        state: &State<'_>,
        cancel: &Cancel,
    ) -> Result<Self, Cancelled> {
        let settings = with_defaults(config.filters);
        Ok(match filter {
            Filter::Length => {
                let n = state.len() as f64;
                // A cast from a float saturates, so that any ratio gives some range.
                let least = ((n * settings.length_min_ratio).floor() as usize).max(1);
                let most = (n * settings.length_max_ratio).floor() as usize;
                Self::Length(least..=most)
            }
            Filter::Jaccard => Self::Jaccard {
                threshold: settings.jaccard_threshold,
                least_overlap: settings.jaccard_min_overlap,
            },
            Filter::Minhash => {
                let hasher = MinHasher::new(settings.minhash_num_hashes);
                let signature = hasher.signature(state.texts.iter().copied(), cancel)?;
                Self::Minhash {
                    threshold: settings.minhash_threshold,
                    bands: settings.minhash_bands,
                    rows: settings.minhash_rows,
                    hasher,
                    signature,
                }
            }
            Filter::Rapidfuzz | Filter::Bloom => {
                let threshold = config.recall_threshold;
                Self::Rapidfuzz(if threshold == 0.0 {
                    RAPIDFUZZ_DEFAULT
                } else {
                    threshold
                })
            }
        })
    }
}

/// Replaces settings of 0 by their defaults, as KATO does.
fn with_defaults(settings: FilterSettings) -> FilterSettings {
    let defaults = FilterSettings::default();
    let number = |value: f64, default: f64| if value == 0.0 { default } else { value };
    let count = |value: usize, default: usize| if value == 0 { default } else { value };
    FilterSettings {
        length_min_ratio: number(settings.length_min_ratio, defaults.length_min_ratio),
        length_max_ratio: number(settings.length_max_ratio, defaults.length_max_ratio),
        jaccard_threshold: number(settings.jaccard_threshold, defaults.jaccard_threshold),
        jaccard_min_overlap: count(settings.jaccard_min_overlap, defaults.jaccard_min_overlap),
        minhash_threshold: number(settings.minhash_threshold, defaults.minhash_threshold),
        minhash_bands: count(settings.minhash_bands, defaults.minhash_bands),
        minhash_rows: count(settings.minhash_rows, defaults.minhash_rows),
        minhash_num_hashes: count(settings.minhash_num_hashes, defaults.minhash_num_hashes),
    }
}
