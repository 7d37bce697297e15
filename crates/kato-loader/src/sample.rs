//! A part of the records, drawn without replacement.

use serde::{Deserialize, Serialize};

use crate::cursor::RecordKey;
use crate::error::LoadError;

/// A random share of the records of a corpus, each at most once.
///
/// Whether a record is drawn is a pure function of the seed and of where the record lies, so every
/// order, every shard and every number of threads draw the same ones. With one seed, a larger share
/// holds all records of a smaller one. How many are drawn is binomial: the share of all, give or
/// take. For an exact number of records in random order, shuffle and end with
/// [`with_max_records`](crate::StreamingDatasetLoaderBuilder::with_max_records).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    share: f64,
    seed: u64,
}

impl Sample {
    /// Creates a sample of a share of all records: more than 0, at most 1. A loader refuses others.
    #[must_use]
    pub fn new(share: f64, seed: u64) -> Self {
        Self { share, seed }
    }

    /// Returns whether a record is in the sample.
    pub(crate) fn contains(&self, key: RecordKey) -> bool {
        // Salted, so that a sample and a split by one seed are independent. A share of 1 is taken
        // apart: 2⁶⁴ does not fit, and the largest hash would be left out.
        self.share >= 1.0 || key.hash(self.seed ^ SALT) < (self.share * 2f64.powi(64)) as u64
    }

    /// Returns the text that stands for it in the hashes of stored states: it never changes.
    pub(crate) fn stored_text(&self) -> String {
        let Self { share, seed } = self;
        format!("Sample {{ share: {share:?}, seed: {seed} }}")
    }

    /// Refuses shares that are out of range, also those read from a file.
    pub(crate) fn check(&self) -> Result<(), LoadError> {
        if self.share > 0.0 && self.share <= 1.0 {
            return Ok(());
        }
        Err(LoadError::InvalidOption {
            option: "with_sample",
            reason: "the share must be more than 0 and at most 1",
        })
    }
}

const SALT: u64 = 0x5341_4D50_4C45_0001;
