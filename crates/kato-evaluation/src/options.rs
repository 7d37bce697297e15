//! The options of an evaluation: how much is asked, and of what the models are made.

use std::num::NonZeroUsize;

use kato_engine::SessionConfig;
use kato_head::HeadOptions;

use crate::EvaluationError;

/// Options of an evaluation. All but [`threads`](Self::threads) decide the result.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EvaluationOptions {
    /// Most held-out documents, the first of the corpus. Default: no limit.
    pub max_documents: Option<u64>,
    /// Most levels that are asked, from the lowest on; coverage is that of all. Default: no limit.
    pub max_levels: Option<NonZeroUsize>,
    /// Approximate number of symbols of each level about which it is asked what comes next; where
    /// there are more, they are sampled evenly, by hash of their places, and whole chunks by the
    /// same share. Hierarchies of other chunk sizes are asked about the same tokens. Default
    /// 50,000, which takes a minute or two at a million patterns and a millisecond each.
    pub max_questions: u64,
    /// How predictions are made. Default: KATO's defaults (threshold 0.1, 100 predictions).
    pub session: SessionConfig,
    /// Similarity, in `0..=1`, from which a chunk counts as recognised. Default 0.5.
    pub recognition_threshold: f64,
    /// Tokens of the baseline's longest n-grams. Default 5.
    pub ngram_order: usize,
    /// Most distinct n-grams of the baseline, of 70 to 130 bytes each. Where there are more, its
    /// order is lowered, and the report says so. Default 8 million.
    pub max_ngrams: usize,
    /// How the head is made whose bits are compared; `None` for no head. It is counted from the
    /// store of the engine, and without one there is none. Its levels are those that the report
    /// names; its experts are asked where the report says with a cache. Default: the head's defaults.
    pub head: Option<HeadOptions>,
    /// Resamples of the documents for the confidence intervals. Default 1,000.
    pub bootstrap_samples: usize,
    /// Seed of the sampling of questions, and of the resamples. Default 0.
    pub seed: u64,
    /// Threads that plan documents and predict. Default: one per core. The report is the same for
    /// any number.
    pub threads: Option<NonZeroUsize>,
}

impl Default for EvaluationOptions {
    fn default() -> Self {
        Self {
            max_documents: None,
            max_levels: None,
            max_questions: 50_000,
            session: SessionConfig::default(),
            recognition_threshold: 0.5,
            ngram_order: 5,
            max_ngrams: 8_000_000,
            head: Some(HeadOptions::default()),
            bootstrap_samples: 1_000,
            seed: 0,
            threads: None,
        }
    }
}

impl EvaluationOptions {
    /// Returns the number of levels that are asked, of those that there are.
    pub(crate) fn n_asked_levels(&self, n_levels: usize) -> usize {
        self.max_levels
            .map_or(n_levels, |most| n_levels.min(most.get()))
    }

    /// Checks the options that have a range.
    pub(crate) fn check(&self) -> Result<(), EvaluationError> {
        let invalid = |option, reason| Err(EvaluationError::InvalidOption { option, reason });
        if self.max_questions == 0 {
            return invalid("max_questions", "at least 1 is needed");
        }
        if !(0.0..=1.0).contains(&self.recognition_threshold) {
            return invalid("recognition_threshold", "a similarity lies between 0 and 1");
        }
        if self.ngram_order == 0 || self.ngram_order > crate::ngram::NgramCounter::MAX_ORDER {
            return invalid("ngram_order", "1 to 16 tokens are possible");
        }
        Ok(())
    }
}
