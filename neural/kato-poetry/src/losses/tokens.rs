//! The cross-entropy of guessed words.

use kato_neural::burn::tensor::activation::log_softmax;
use kato_neural::burn::tensor::{Int, Tensor, TensorData};

use crate::batch::Batch;

/// Returns the cross-entropy of each token, `[batch, time, 1]`, from logits, `[batch, time, words]`:
/// the true word has the probability 1 − ε, and all words together, it among them, have ε.
pub(super) fn cross_entropies(logits: Tensor<3>, batch: &Batch, smoothing: f64) -> Tensor<3> {
    let words: Vec<i64> = batch.ids.iter().map(|id| i64::from(*id)).collect();
    let shape = [batch.n_rows(), batch.n_steps, 1];
    let words = Tensor::<3, Int>::from_data(TensorData::new(words, shape), &logits.device());
    let logarithms = log_softmax(logits, 2);
    let true_ones = logarithms.clone().gather(2, words);
    // The mean over all words is the expensive half, and nobody needs it without smoothing.
    if smoothing == 0.0 {
        return true_ones.neg();
    }
    let all = logarithms.mean_dim(2).mul_scalar(smoothing);
    (true_ones.mul_scalar(1.0 - smoothing) + all).neg()
}
