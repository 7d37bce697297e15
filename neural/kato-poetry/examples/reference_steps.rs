//! Writes 20 training steps on the processor, for an engine that is to repeat them: weights before,
//! batches, coins, and losses.
//!
//! `cargo run --release -p kato-poetry --example reference_steps FILE.safetensors`

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use kato_neural::burn::optim::GradientsParams;
use kato_neural::burn::tensor::{Device, Tensor, TensorData};
use kato_neural::checkpoint::write_weights;
use kato_neural::layers::Feed;
use kato_neural::{Adam, AdamOptions, Decay, Draws, Initializer, Pass};
use kato_poetry::Autoencoder;
use kato_poetry::batch::Batch;
use kato_poetry::chunks::{Chunk, ChunkOptions, chunks_of};
use kato_poetry::losses::{code_square_sum, loss_sums};
use kato_poetry::settings::{LossOptions, ModelOptions};
use kato_poetry::vectors::WordVectors;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};

const N_STEPS: usize = 20;
const N_ROWS: usize = 32;
/// Tokens of the longest chunk of every batch.
const N_TOKENS: usize = 50;
const WIDTH: usize = 50;
const RATE: f64 = 1e-3;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args()
        .nth(1)
        .ok_or("which file is to be written?")?;
    let (mut options, loss) = (ModelOptions::default(), LossOptions::default());
    // Draws of dropout are numbered as no other engine does.
    (options.hidden, options.bottleneck, options.dropout) = (128, 16, 0.0);
    let device = Device::flex().autodiff();
    let mut model = Autoencoder::new(&options, WIDTH, 1, &device);
    let weights = tempfile::NamedTempFile::new()?;
    write_weights(&model, weights.path())?;
    let words = WordVectors::from_rows(WIDTH, Initializer::from_seed(2).normal(500 * WIDTH, 0.4));
    let adam = AdamOptions::default()
        .with_decay(Decay::L2(1e-5))
        .with_max_norm(1.0);
    let mut adam = Adam::new(adam);
    let (mut vectors, mut lengths, mut coins, mut losses) = (vec![], vec![], vec![], vec![]);
    for step in 0..N_STEPS as u64 {
        let batch = Batch::new(&chunks(step), &words, N_TOKENS);
        let tossed = Draws::new(3, step, 0).coins(N_TOKENS, 0.5);
        let data = TensorData::new(batch.vectors.clone(), [N_ROWS, N_TOKENS, WIDTH]);
        let (truth, pass) = (Tensor::from_data(data, &device), Pass::training(3, step));
        let codes = model.encode(truth.clone(), &batch.lengths, &pass);
        let feed = Feed::Sampled(&truth, &tossed);
        let rebuilt = model.decode(codes.clone(), &batch.lengths, feed, &pass);
        let sums = loss_sums(rebuilt, truth, None, &batch, &loss);
        let sum = sums.tokens / batch.n_tokens() as f64;
        let value = sum + code_square_sum(codes) * (loss.bottleneck_l2 / N_ROWS as f64);
        losses.push(f64::from(value.clone().into_scalar::<f32>()));
        let gradients = GradientsParams::from_grads(value.backward(), &model);
        (model, _) = adam.step(RATE, model, gradients, 1.0);
        vectors.extend(batch.vectors.iter().flat_map(|number| number.to_le_bytes()));
        lengths.extend(
            batch
                .lengths
                .iter()
                .flat_map(|length| (*length as i64).to_le_bytes()),
        );
        coins.extend(
            tossed
                .iter()
                .flat_map(|coin| i64::from(*coin).to_le_bytes()),
        );
    }
    let losses = losses.iter().flat_map(|loss| loss.to_le_bytes()).collect();
    let mut arrays = BTreeMap::from([
        (
            "vectors",
            (Dtype::F32, vec![N_STEPS, N_ROWS, N_TOKENS, WIDTH], vectors),
        ),
        ("lengths", (Dtype::I64, vec![N_STEPS, N_ROWS], lengths)),
        ("coins", (Dtype::I64, vec![N_STEPS, N_TOKENS], coins)),
        ("losses", (Dtype::F64, vec![N_STEPS], losses)),
    ]);
    let (share, l2) = (loss.mse_share, loss.bottleneck_l2);
    for (name, value) in [
        ("settings.mse_share", share),
        ("settings.bottleneck_l2", l2),
        ("settings.rate", RATE),
        ("settings.weight_decay", 1e-5),
        ("settings.max_norm", 1.0),
    ] {
        arrays.insert(name, (Dtype::F64, vec![1], value.to_le_bytes().to_vec()));
    }
    write(Path::new(&path), &arrays, &std::fs::read(weights.path())?)
}

/// Draws the chunks of a step: the first of full length, others from a single token on.
fn chunks(step: u64) -> Vec<Chunk> {
    let mut options = ChunkOptions::default();
    options.min_tokens = 1;
    let rows = (0..N_ROWS).flat_map(|row| {
        let mut draws = Draws::new(4, step, 0).row(row as u64);
        let mut below = |n: u64| (draws.next_u64() % n) as usize;
        let length = if row == 0 {
            N_TOKENS
        } else {
            1 + below(N_TOKENS as u64)
        };
        let ids: Vec<u32> = (0..length).map(|_| below(500) as u32).collect();
        // One each, as a window is as long as the longest.
        chunks_of(row, &ids, &options)
    });
    rows.collect()
}

type Arrays<'a> = BTreeMap<&'a str, (Dtype, Vec<usize>, Vec<u8>)>;

fn write(path: &Path, arrays: &Arrays<'_>, weights: &[u8]) -> Result<(), Box<dyn Error>> {
    let weights = SafeTensors::deserialize(weights)?;
    let mut views = Vec::new();
    for (name, view) in weights.tensors() {
        views.push((format!("weights.{name}"), view));
    }
    for (name, (dtype, shape, bytes)) in arrays {
        views.push((
            (*name).to_owned(),
            TensorView::new(*dtype, shape.clone(), bytes)?,
        ));
    }
    Ok(safetensors::serialize_to_file(views, None, path)?)
}
