//! Where word vectors come from, as settings.

use std::path::PathBuf;

use kato_neural::run::check_setting;
use serde::{Deserialize, Serialize};

use super::cooccurrence::MAX_WINDOW;
use crate::error::PoetryError;

/// What becomes of words that a file of vectors lacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum UnknownWords {
    /// Each gets a vector of normal draws, with the mean and the deviation of all numbers of the known
    /// ones; a function of seed and word. The default.
    #[default]
    RandomNormal,
    /// All get zeros. Their cosine with anything is 0.
    Zero,
    /// All get the mean of the known vectors.
    Mean,
}

/// Where word vectors come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct VectorOptions {
    /// A text of vectors in the form of GloVe or word2vec; without one, vectors are made from the
    /// training poems.
    pub file: Option<PathBuf>,
    /// Numbers of a vector that is made, 300 by default; fewer where the text cannot tell so many.
    pub dims: usize,
    /// Words on each side that count as neighbours, from 1 to 10; 5 by default.
    pub window: usize,
    /// Words that occur less often are unknown: in the training poems when vectors are made, 2 by default
    /// so that the unknown word has neighbours of its own, and else in all poems, 1 by default.
    pub min_count: Option<u64>,
    /// What becomes of words that the file lacks.
    pub unknown: UnknownWords,
    /// Share of the text's words that may lack a vector, from 0 to 1; 0.4 by default.
    pub max_unknown_share: f64,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for VectorOptions {
    fn default() -> Self {
        Self {
            file: None,
            dims: 300,
            window: 5,
            min_count: None,
            unknown: UnknownWords::default(),
            max_unknown_share: 0.4,
            seed: 42,
        }
    }
}

impl VectorOptions {
    /// Checks the settings.
    ///
    /// # Errors
    ///
    /// When one of them is out of its range.
    pub fn check(&self) -> Result<(), PoetryError> {
        check_setting(
            (1..=2000).contains(&self.dims),
            "vectors.dims",
            &self.dims,
            "from 1 to 2,000",
        )?;
        check_setting(
            (1..=MAX_WINDOW).contains(&self.window),
            "vectors.window",
            &self.window,
            "from 1 to 10 words",
        )?;
        check_setting(
            (0.0..=1.0).contains(&self.max_unknown_share),
            "vectors.max_unknown_share",
            &self.max_unknown_share,
            "from 0 to 1",
        )?;
        Ok(())
    }

    /// Returns the least count of a word that is in the vocabulary.
    #[must_use]
    pub fn min_count_in_use(&self) -> u64 {
        self.min_count
            .unwrap_or(if self.file.is_some() { 1 } else { 2 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_out_of_range_are_named() {
        let name_of = |options: VectorOptions| options.check().unwrap_err().to_string();
        let options = VectorOptions::default();
        assert!(
            name_of(VectorOptions {
                dims: 0,
                ..options.clone()
            })
            .contains("vectors.dims")
        );
        assert!(
            name_of(VectorOptions {
                window: 11,
                ..options.clone()
            })
            .contains("window")
        );
        assert!(
            name_of(VectorOptions {
                max_unknown_share: f64::NAN,
                ..options
            })
            .contains("max_unknown_share")
        );
    }
}
