//! Judges a model by chunks that it was not trained on.

use kato_neural::burn::tensor::{Device, Tensor, TensorData};

use crate::batch::Batch;
use crate::chunks::Chunk;
use crate::losses::loss_sum;
use crate::metrics::{Judge, Judgement};
use crate::model::{Autoencoder, tensor_of, values};
use crate::settings::LossOptions;
use crate::vectors::WordVectors;

/// Chunks that are judged at a time: enough for wide products, and some megabytes.
const N_ROWS: usize = 64;

/// Rebuilds chunks as a user would, on the decoder's own words alone, and judges the result.
///
/// Chunks are taken in order of length, so that little is padded; the same chunks give the same
/// judgement.
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
    let mut sorted: Vec<&Chunk> = chunks.iter().collect();
    sorted.sort_by_key(|chunk| chunk.ids.len());
    let mut judge: Option<Judge> = None;
    for rows in sorted.chunks(N_ROWS) {
        let batch = Batch::new(rows.iter().copied(), words, usize::MAX);
        let (codes, rebuilt) = model.rebuild(&batch, device);
        let n_units = codes.len() / batch.n_rows();
        let judge = judge.get_or_insert_with(|| Judge::new(batch.dims, n_units));
        let shape = [batch.n_rows(), batch.n_steps, batch.dims];
        let tensor = Tensor::from_data(TensorData::new(rebuilt.clone(), shape), device);
        let sum = values(loss_sum(tensor, tensor_of(&batch, device), &batch, loss));
        judge.add_loss(f64::from(sum[0]));
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
