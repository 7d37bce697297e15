//! `golden`: losses and gradients of small autoencoders, by which other engines are judged.

use std::path::Path;

use tch::{Device, Kind, Tensor, no_grad};

use crate::autoencoder::{
    Autoencoder, AutoencoderOptions, Batch, Cell, Feed, LossKind, LossOptions,
};
use crate::parameters::{Arrays, gradients, weights, write_arrays};
use crate::{Error, native};

/// Tokens of the chunks: a full one, padded ones, and one of a single token.
const LENGTHS: [i64; 8] = [6, 4, 1, 5, 6, 2, 3, 6];
/// Whether a step is fed with the true vector; the first is not used.
const COINS: [bool; 6] = [false, true, false, false, true, true];
/// Numbers of a vector, of a state and of a code.
const SIZES: [i64; 3] = [7, 5, 3];
/// Large enough to be seen in every gradient.
const BOTTLENECK_L2: f64 = 0.1;

/// Writes all cases, from the generator's state; the seed of the file in the repository is one of three
/// among the first eight by which no batch norm is ill-conditioned. Where the codes of a few rows are
/// nearly alike, single precision is off by some 1e-5, LibTorch's own too.
///
///
/// | name | holds |
/// |---|---|
/// | `vectors`, `lengths`, `coins` | the batch of every case |
/// | `{cell}{layers}/weights/{parameter}` | the weights of a model |
/// | `{cell}{layers}/{feed}/{loss}/loss` | its loss |
/// | `{cell}{layers}/{feed}/{loss}/gradients/{parameter}` | the loss's gradients |
pub(super) fn write(path: &Path, device: Device) -> Result<(), Error> {
    native::allow_tf32(false, false)?;
    let mut arrays = Arrays::new();
    let shape = [LENGTHS.len() as i64, COINS.len() as i64, SIZES[0]];
    let vectors = Tensor::randn(shape, (Kind::Float, device));
    let batch = Batch::new(&vectors, &LENGTHS, device);
    // Padding is zero in every engine's batches.
    let vectors = vectors * batch.mask.unsqueeze(2);
    // In double precision, so that the gap to another engine is that engine's alone.
    let batch = Batch::new(&vectors.to_kind(Kind::Double), &LENGTHS, device);
    arrays.insert("vectors".to_owned(), on_host(&batch.vectors));
    arrays.insert("lengths".to_owned(), Tensor::from_slice(&LENGTHS));
    arrays.insert(
        "coins".to_owned(),
        Tensor::from_slice(&COINS.map(i64::from)),
    );
    for (cell, name) in [
        (Cell::Vanilla, "vanilla"),
        (Cell::Gru, "gru"),
        (Cell::Lstm, "lstm"),
    ] {
        for layers in [1, 2] {
            let options = AutoencoderOptions::default()
                .with_cell(cell)
                .with_sizes(SIZES[0], SIZES[1], SIZES[2])
                .with_layers(layers)
                .with_dropout(0.0);
            add(&mut arrays, &format!("{name}{layers}"), &options, &batch)?;
        }
    }
    write_arrays(path, &arrays)
}

fn add(
    arrays: &mut Arrays,
    name: &str,
    options: &AutoencoderOptions,
    batch: &Batch,
) -> Result<(), Error> {
    let device = batch.vectors.device();
    let model = Autoencoder::new(options, device)?;
    for mut weight in model.store().trainable_variables() {
        // Biases are zero at first and the norm's scale is one, where mistakes would not show. Large ones
        // would make all rows alike, and a batch norm over them a matter of rounding.
        let spread = if weight.dim() == 1 { 0.4 } else { 0.8 };
        let noise = (Tensor::rand_like(&weight) - 0.5) * spread;
        let _ = no_grad(|| weight.f_add_(&noise))?;
    }
    let start = weights(model.store());
    for (parameter, tensor) in &start {
        arrays.insert(format!("{name}/weights/{parameter}"), tensor.copy());
    }
    for feed_name in ["true", "sampled"] {
        for (kind, loss_name) in [(LossKind::Mse, "mse"), (LossKind::Cosine, "cosine")] {
            let mut model = Autoencoder::from_weights(&start, 0.0, device)?;
            model.double();
            let feed = match feed_name {
                "true" => Feed::True(&batch.vectors),
                _ => Feed::Coins(&batch.vectors, &COINS),
            };
            let options = LossOptions::default()
                .with_kind(kind)
                .with_bottleneck_l2(BOTTLENECK_L2);
            let loss = model.loss(batch, &feed, &options);
            loss.backward();
            let case = format!("{name}/{feed_name}/{loss_name}");
            arrays.insert(format!("{case}/loss"), on_host(&loss.view([1])));
            for (parameter, gradient) in gradients(model.store()) {
                arrays.insert(format!("{case}/gradients/{parameter}"), on_host(&gradient));
            }
        }
    }
    Ok(())
}

/// Rounds to single precision, on the processor.
fn on_host(tensor: &Tensor) -> Tensor {
    let tensor = tensor.detach().to_device(Device::Cpu);
    tensor.to_kind(Kind::Float).contiguous()
}
