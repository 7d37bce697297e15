//! How good reconstructions are, and whether the bottleneck lives.

mod judge;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::chunks::Chunk;
use crate::vectors::WordVectors;

pub use judge::Judge;

/// Share of live units below which the bottleneck is called collapsed.
const FEW_ALIVE: f64 = 0.5;

/// Share of the text's variance below which reconstructions are called all alike.
const ALL_ALIKE: f64 = 0.1;

/// What a model made of held-out chunks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Judgement {
    /// Tokens that were judged.
    pub n_tokens: u64,
    /// Mean over tokens of the training loss, without the penalty of the codes.
    pub loss: f64,
    /// Mean over tokens of the cosine of rebuilt and true vector.
    pub cosine: f64,
    /// Mean over tokens of the mean squared difference.
    pub mse: f64,
    /// Variance of the rebuilt vectors over that of the true ones: 0 when all are alike, near 1 when
    /// they differ as the text does.
    pub variance_ratio: f64,
    /// Share of the code's units that differ between chunks, from 0 to 1.
    pub live_units: f64,
    /// Mean square of the codes.
    pub code_square: f64,
    /// Share of the tokens whose word came back: the word that the model guesses, or the one whose
    /// vector is nearest to the rebuilt one. `None` where it was not counted.
    #[serde(default)]
    pub token_accuracy: Option<f64>,
}

impl Judgement {
    /// Returns how the model has collapsed; `None` while it lives.
    #[must_use]
    pub fn collapse(&self) -> Option<Collapse> {
        if self.live_units < FEW_ALIVE {
            let live_units = self.live_units;
            return Some(Collapse::Bottleneck { live_units });
        }
        let variance_ratio = self.variance_ratio;
        (variance_ratio < ALL_ALIKE).then_some(Collapse::Alike { variance_ratio })
    }
}

/// How a model has stopped to tell texts apart; its text says what to change.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Collapse {
    /// Few units of the code differ between chunks.
    Bottleneck {
        /// Share of those that do.
        live_units: f64,
    },
    /// What is rebuilt differs little between tokens.
    Alike {
        /// Its variance over that of the text.
        variance_ratio: f64,
    },
}

impl fmt::Display for Collapse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bottleneck { live_units } => write!(
                f,
                "the bottleneck collapses: {:.0} % of its units differ between chunks; lower `loss.bottleneck_l2`, keep `model.batch_norm` on, or make `model.bottleneck` smaller",
                live_units * 100.0
            ),
            Self::Alike { variance_ratio } => write!(
                f,
                "reconstructions are nearly all alike: they have {:.0} % of the text's variance; the decoder does not listen to the code yet: train longer, lower `training.forcing`, raise `model.bottleneck`, or take a smaller `vectors.dims`",
                variance_ratio * 100.0
            ),
        }
    }
}

/// Returns the mean cosine of held-out tokens with the one vector that has the largest mean cosine with
/// the training tokens, which is the mean of their vectors at length 1.
///
/// What is reached without reading a chunk: a model has to be better.
#[must_use]
pub fn baseline_cosine(train: &[Chunk], held_out: &[Chunk], words: &WordVectors) -> f64 {
    let mut mean = vec![0.0_f64; words.dims()];
    for id in train.iter().flat_map(|chunk| &chunk.ids) {
        let vector = words.vector(*id);
        let length = vector
            .iter()
            .map(|value| f64::from(*value).powi(2))
            .sum::<f64>()
            .sqrt();
        if length > 0.0 {
            mean.iter_mut()
                .zip(vector)
                .for_each(|(sum, value)| *sum += f64::from(*value) / length);
        }
    }
    // A scale changes no cosine, but keeps the sums within the smaller numbers.
    let n_tokens = train
        .iter()
        .map(|chunk| chunk.ids.len())
        .sum::<usize>()
        .max(1) as f64;
    let mean: Vec<f32> = mean.iter().map(|sum| (sum / n_tokens) as f32).collect();
    let ids = held_out.iter().flat_map(|chunk| &chunk.ids);
    let (sum, n) = ids.fold((0.0, 0_usize), |(sum, n), id| {
        (sum + cosine(words.vector(*id), &mean), n + 1)
    });
    sum / n.max(1) as f64
}

/// Returns the cosine of two vectors; that with a vector of zeros is 0.
#[must_use]
pub fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let (mut product, mut a_square, mut b_square) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        let (a, b) = (f64::from(*a), f64::from(*b));
        product += a * b;
        a_square += a * a;
        b_square += b * b;
    }
    let scale = (a_square * b_square).sqrt();
    if scale > 0.0 { product / scale } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_perfect_copy_has_cosine_and_ratio_one() {
        let mut judge = Judge::new(2, 2);
        judge.add_chunk(&[1.0, 0.0, 0.0, 2.0], &[1.0, 0.0, 0.0, 2.0], &[1.0, 5.0]);
        judge.add_chunk(&[-1.0, 1.0], &[-1.0, 1.0], &[-1.0, 5.0]);
        let judgement = judge.judgement();
        assert_eq!((judgement.n_tokens, judgement.mse), (3, 0.0));
        assert!((judgement.cosine - 1.0).abs() < 1e-12);
        assert!((judgement.variance_ratio - 1.0).abs() < 1e-12);
        // One of two units is the same in both chunks.
        assert_eq!(judgement.live_units, 0.5);
        assert_eq!(judgement.code_square, (1.0 + 25.0) / 2.0);
        assert_eq!(judgement.collapse(), None);
    }

    #[test]
    fn what_collapsed_is_told_with_what_to_change() {
        let mut judge = Judge::new(1, 1);
        judge.add_chunk(&[1.0, -1.0], &[0.1, 0.1], &[0.0]);
        judge.add_chunk(&[1.0, -1.0], &[0.1, 0.1], &[0.0]);
        let collapsed = judge.judgement();
        let text = |judgement: &Judgement| judgement.collapse().unwrap().to_string();
        assert!(text(&collapsed).contains("`loss.bottleneck_l2`"));
        let alike = Judgement {
            live_units: 1.0,
            ..collapsed
        };
        assert!(text(&alike).contains("0 % of the text's variance"));
    }

    #[test]
    fn the_baseline_is_the_best_single_vector() {
        let words = WordVectors::from_rows(2, vec![0.0, 0.0, 5.0, 0.0, 0.0, 1.0]);
        let chunk = |ids: &[u32]| Chunk {
            poem: 0,
            start: 0,
            ids: ids.to_vec(),
        };
        // Lengths do not count: the mean of (1, 0) and (0, 1).
        let found = baseline_cosine(&[chunk(&[1, 2])], &[chunk(&[1]), chunk(&[2])], &words);
        assert!((found - 0.5_f64.sqrt()).abs() < 1e-6, "{found}");
        assert_eq!(baseline_cosine(&[], &[], &words), 0.0);
    }

    #[test]
    fn nothing_is_judged_as_nothing() {
        let judgement = Judge::new(3, 2).judgement();
        assert_eq!(
            (judgement.n_tokens, judgement.cosine, judgement.loss),
            (0, 0.0, 0.0)
        );
        assert_eq!(cosine(&[0.0], &[1.0]), 0.0);
    }
}
