//! Similarities of sequences and of texts, equal to the original's to the last bit of a double.

use super::lcs::{LcsProfile, lcs_length};
use crate::cancel::{Cancel, Cancelled, unwrap_uncancelled};

/// Computes the similarity of two sequences from the length of their longest common subsequence.
///
/// `total_length` is the sum of both lengths T. Formula: ((2 · lcs / T) · 100) / 100 in
/// doubles; 0 for T = 0. In `0..=1`. The detour by 100 changes last bits, and with them what a
/// threshold lets pass.
///
/// ```
/// use kato_prediction::matching::token_similarity;
/// assert_eq!(token_similarity(3, 7), 0.857_142_857_142_857_1);
/// ```
#[must_use]
pub fn token_similarity(lcs: usize, total_length: usize) -> f64 {
    if total_length == 0 {
        return 0.0;
    }
    // Not simplified: KATO 3.10.1 computes per cent and divides them by 100 again.
    2.0 * lcs as f64 / total_length as f64 * 100.0 / 100.0
}

/// Computes the similarity of two texts from their longest common subsequence of
/// characters (code points).
///
/// Formula: ((1 − d / T) · 100) / 100 in doubles, with T the sum of both lengths and d = T − 2 ·
/// lcs; 1 for two empty texts. In `0..=1`. For a prediction in character mode the texts are the
/// symbols joined by blanks.
///
/// Complexity: as [`lcs_length`].
///
/// ```
/// use kato_prediction::matching::character_similarity;
/// assert_eq!(character_similarity("colour", "color"), 0.909_090_909_090_909_1);
/// ```
#[must_use]
pub fn character_similarity(a: &str, b: &str) -> f64 {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    similarity_of_texts(lcs_length(&a, &b), a.len() + b.len())
}

/// Computes the formula of [`character_similarity`].
///
/// Grows with `lcs`, also in doubles, and falls with `total_length`.
pub(super) fn similarity_of_texts(lcs: usize, total_length: usize) -> f64 {
    if total_length == 0 {
        return 1.0;
    }
    // No common subsequence is longer than the shorter text, so this is not negative.
    let distance = total_length - 2 * lcs;
    (1.0 - distance as f64 / total_length as f64) * 100.0 / 100.0
}

/// A text prepared for [`character_similarity`] with many others.
///
/// ```
/// use kato_prediction::matching::{CharacterProfile, character_similarity};
/// let profile = CharacterProfile::new("colour");
/// assert_eq!(profile.similarity("color"), character_similarity("colour", "color"));
/// ```
#[derive(Debug, Clone)]
pub struct CharacterProfile(LcsProfile<char>);

impl CharacterProfile {
    /// Prepares a text.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(LcsProfile::new(text.chars()))
    }

    /// Returns the similarity to another text.
    #[must_use]
    pub fn similarity(&self, other: &str) -> f64 {
        unwrap_uncancelled(self.similarity_unless(other, &Cancel::never()))
    }

    /// Computes [`similarity`](Self::similarity) unless it is cancelled.
    pub(crate) fn similarity_unless(&self, other: &str, cancel: &Cancel) -> Result<f64, Cancelled> {
        let total_length = self.0.len() + other.chars().count();
        let lcs = self.0.length_unless(other.chars(), cancel)?;
        Ok(similarity_of_texts(lcs, total_length))
    }
}
