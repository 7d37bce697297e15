//! Judges a model by chunks that it was not trained on.

use kato_neural::Pass;
use kato_neural::burn::tensor::{Device, Tensor, TensorData};

use crate::batch::Batch;
use crate::chunks::Chunk;
use crate::losses::loss_sums;
use crate::metrics::{Judge, Judgement};
use crate::model::{Autoencoder, best_words, tensor_of, values};
use crate::settings::LossOptions;
use crate::vectors::WordVectors;

/// Chunks that are judged at a time: enough for wide products, and some megabytes.
const N_ROWS: usize = 64;

/// The same where all words are scored: a chunk of 50 tokens takes a megabyte for 5,000 words.
const N_SCORED: usize = 16;

/// Rebuilds chunks as a user would, on the decoder's own words alone, and judges the result.
///
/// Chunks are taken in order of length, so that little is padded; the same chunks give the same
/// judgement. Words that came back are counted where the model guesses words;
/// [`nearest_accuracy`] counts them for every model, and takes longer.
///
/// # Panics
///
/// When the model is for vectors of another dimension: a mistake of the caller.
#[must_use]
pub fn judge(
    model: &Autoencoder,
    chunks: &[Chunk],
    words: &WordVectors,
    loss: &LossOptions,
    device: &Device,
) -> Judgement {
    let mut judge: Option<Judge> = None;
    let n_rows = if model.has_words() { N_SCORED } else { N_ROWS };
    for batch in batches(chunks, words, n_rows) {
        let (codes, rebuilt) = model.rebuild(&batch, device);
        let n_units = codes.len() / batch.n_rows();
        let judge = judge.get_or_insert_with(|| Judge::new(batch.dims, n_units));
        let shape = [batch.n_rows(), batch.n_steps, batch.dims];
        let tensor: Tensor<3> = Tensor::from_data(TensorData::new(rebuilt.clone(), shape), device);
        let logits = model.logits(tensor.clone(), &Pass::evaluation());
        if let Some(logits) = &logits {
            judge.add_right(n_right(logits.clone(), &batch));
        }
        let sums = loss_sums(tensor, tensor_of(&batch, device), logits, &batch, loss);
        let number = |sum: Tensor<1>| f64::from(values(sum)[0]);
        judge.add_loss(number(sums.tokens), sums.rows.map_or(0.0, number));
        for (row, code) in codes.chunks_exact(n_units).enumerate() {
            judge.add_chunk(
                batch.row(row, &batch.vectors),
                batch.row(row, &rebuilt),
                code,
            );
        }
    }
    judge
        .unwrap_or_else(|| Judge::new(words.dims(), 1))
        .judgement()
}

/// Returns the share of the tokens of chunks to whose rebuilt vector that of the right word is the
/// nearest by cosine; `None` of no token.
///
/// # Panics
///
/// As [`judge`].
#[must_use]
pub fn nearest_accuracy(
    model: &Autoencoder,
    chunks: &[Chunk],
    words: &WordVectors,
    device: &Device,
) -> Option<f64> {
    // At length 1, so that the product with a rebuilt vector orders words as the cosine does.
    let shape = [words.len(), words.dims()];
    let directions = words.matrix().chunks_exact(words.dims()).flat_map(|row| {
        let length = row.iter().map(|x| x * x).sum::<f32>().sqrt();
        row.iter()
            .map(move |x| if length > 0.0 { x / length } else { 0.0 })
    });
    let directions = TensorData::new(directions.collect::<Vec<f32>>(), shape);
    let directions = Tensor::<2>::from_data(directions, device).transpose();
    let (mut n_found, mut n_tokens) = (0, 0);
    for batch in batches(chunks, words, N_SCORED) {
        let (_, rebuilt) = model.rebuild(&batch, device);
        let shape = [batch.n_rows() * batch.n_steps, batch.dims];
        let rebuilt = Tensor::<2>::from_data(TensorData::new(rebuilt, shape), device);
        let likeness = rebuilt.matmul(directions.clone());
        let shape = [batch.n_rows(), batch.n_steps, words.len()];
        n_found += n_right(likeness.reshape(shape), &batch);
        n_tokens += batch.n_tokens();
    }
    (n_tokens > 0).then(|| n_found as f64 / n_tokens as f64)
}

/// Returns chunks side by side, in order of length.
fn batches<'a>(
    chunks: &'a [Chunk],
    words: &'a WordVectors,
    n_rows: usize,
) -> impl Iterator<Item = Batch> + use<'a> {
    let mut sorted: Vec<&Chunk> = chunks.iter().collect();
    sorted.sort_by_key(|chunk| chunk.ids.len());
    let n_batches = sorted.len().div_ceil(n_rows);
    (0..n_batches).map(move |at| {
        let rows = &sorted[at * n_rows..sorted.len().min((at + 1) * n_rows)];
        Batch::new(rows.iter().copied(), words, usize::MAX)
    })
}

/// Returns how many tokens have the highest score of all words, `[batch, time, words]`, at their own;
/// padding is none.
fn n_right(scores: Tensor<3>, batch: &Batch) -> u64 {
    let best = best_words(scores);
    let tokens = best.iter().zip(&batch.ids).zip(batch.mask());
    tokens
        .filter(|((best, id), is_token)| *is_token > 0.0 && best == id)
        .count() as u64
}
