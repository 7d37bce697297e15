//! Losses and gradients of the whole autoencoder, as LibTorch computes them on the same weights.
//!
//! `kato-libtorch golden FILE` (in `gpu/`) wrote the file, and the tensors `torch/…` in it are of
//! `torch.nn`, by `gpu/peers/check_checkpoint.py --record FILE`.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use kato_neural::Pass;
use kato_neural::burn::module::{Module, ModuleVisitor, Param};
use kato_neural::burn::optim::GradientsParams;
use kato_neural::burn::tensor::{Device, Tensor, TensorData};
use kato_neural::checkpoint::read_weights;
use kato_neural::layers::{Cell, Feed};
use kato_poetry::Autoencoder;
use kato_poetry::batch::Batch;
use kato_poetry::chunks::{Chunk, ChunkOptions, chunks_of};
use kato_poetry::losses::{code_square_sum, loss_sums};
use kato_poetry::settings::{LossKind, LossOptions, ModelOptions};
use kato_poetry::vectors::WordVectors;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};

type Done<T> = Result<T, Box<dyn Error>>;

/// Numbers of a vector, of a state and of a code in the file.
const WIDTH: usize = 7;
const HIDDEN: usize = 5;
const CODE: usize = 3;
/// What the file was written with.
const BOTTLENECK_L2: f64 = 0.1;
/// The largest gap, as a share of the tensor's largest entry.
const TOLERANCE: f32 = 1e-5;
/// Batch norm takes the mean away, and this bias with it: its gradient is rounding alone.
const NO_GRADIENT: &str = "bottleneck.linear.bias";

/// What `kato-libtorch golden` wrote.
struct Golden(Vec<u8>);

impl Golden {
    fn read() -> Done<Self> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/libtorch.safetensors");
        Ok(Self(std::fs::read(path)?))
    }

    fn tensors(&self) -> Done<SafeTensors<'_>> {
        Ok(SafeTensors::deserialize(&self.0)?)
    }

    fn floats(&self, name: &str) -> Done<Vec<f32>> {
        let (tensors, mut numbers) = (self.tensors()?, Vec::new());
        let view = tensors.tensor(name)?;
        assert_eq!(view.dtype(), Dtype::F32, "{name}");
        numbers.extend(
            view.data()
                .as_chunks::<4>()
                .0
                .iter()
                .map(|bytes| f32::from_le_bytes(*bytes)),
        );
        Ok(numbers)
    }

    fn whole_numbers(&self, name: &str) -> Done<Vec<usize>> {
        let tensors = self.tensors()?;
        let (numbers, _) = tensors.tensor(name)?.data().as_chunks::<8>();
        let numbers = numbers.iter().map(|bytes| i64::from_le_bytes(*bytes));
        Ok(numbers.map(usize::try_from).collect::<Result<_, _>>()?)
    }

    /// Names below a prefix, which is cut off.
    fn names(&self, prefix: &str) -> Done<Vec<String>> {
        let tensors = self.tensors()?;
        let names = tensors.names().into_iter();
        Ok(names
            .filter_map(|name| Some(name.strip_prefix(prefix)?.to_owned()))
            .collect())
    }

    /// The batch of every case, whose words are the vectors themselves.
    fn batch(&self) -> Done<Batch> {
        let lengths = self.whole_numbers("lengths")?;
        let vectors = self.floats("vectors")?;
        let n_steps = vectors.len() / WIDTH / lengths.len();
        let mut options = ChunkOptions::default();
        options.min_tokens = 1;
        let chunks: Vec<Chunk> = lengths
            .iter()
            .enumerate()
            .flat_map(|(row, length)| {
                let first = row * n_steps;
                let ids: Vec<u32> = (first..first + length).map(|id| id as u32).collect();
                chunks_of(row, &ids, &options)
            })
            .collect();
        Ok(Batch::new(
            &chunks,
            &WordVectors::from_rows(WIDTH, vectors),
            n_steps,
        ))
    }

    /// The model whose weights are below `case`, read from a file as any checkpoint is.
    fn model(&self, case: &str, cell: Cell, layers: usize, device: &Device) -> Done<Autoencoder> {
        let mut options = ModelOptions::default();
        (options.cell, options.layers, options.dropout) = (cell, layers, 0.0);
        (options.hidden, options.bottleneck) = (HIDDEN, CODE);
        let (tensors, prefix) = (self.tensors()?, format!("{case}/weights/"));
        let weights = tensors.tensors().into_iter();
        let weights: Vec<(String, TensorView<'_>)> = weights
            .filter_map(|(name, view)| Some((name.strip_prefix(&prefix)?.to_owned(), view)))
            .collect();
        let file = tempfile::NamedTempFile::new()?;
        safetensors::serialize_to_file(weights, None, file.path())?;
        let model = Autoencoder::new(&options, WIDTH, 1, device);
        Ok(read_weights(model, file.path())?)
    }
}

/// Gradients by PyTorch's names, in PyTorch's shapes.
struct Collector<'a> {
    gradients: &'a GradientsParams,
    path: Vec<(String, String)>,
    found: BTreeMap<String, Vec<f32>>,
}

impl Collector<'_> {
    fn name(&self) -> String {
        let mut parts: Vec<&str> = self.path.iter().map(|(name, _)| name.as_str()).collect();
        let field = parts.pop().unwrap_or_default();
        if !self.is_in("RecurrentLayer") {
            return [parts.join("."), field.to_owned()].join(".");
        }
        // `encoder.layers.1.weight_ih` is `encoder.weight_ih_l1` there.
        let layer = parts.pop().unwrap_or_default();
        parts.pop();
        format!("{}.{field}_l{layer}", parts.join("."))
    }

    fn is_in(&self, kind: &str) -> bool {
        self.path
            .last()
            .is_some_and(|(_, container)| container == &format!("Struct:{kind}"))
    }
}

impl ModuleVisitor for Collector<'_> {
    fn enter_module(&mut self, name: &str, container_type: &str) {
        self.path.push((name.to_owned(), container_type.to_owned()));
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let Some(gradient) = self.gradients.get::<D>(param.id) else {
            return;
        };
        // Burn's linear layers have a row an input, PyTorch's a row an output.
        let is_turned = self.is_in("Linear") && D == 2;
        let gradient = if is_turned {
            gradient.swap_dims(0, 1)
        } else {
            gradient
        };
        let numbers = gradient.into_data().try_into_vec().expect("f32");
        self.found.insert(self.name(), numbers);
    }
}

fn largest(numbers: &[f32]) -> f32 {
    numbers
        .iter()
        .fold(0.0, |largest, number| largest.max(number.abs()))
}

/// The largest gap of two lists, as a share of the largest entry of the second.
fn gap(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len(), "as many numbers");
    let gaps: Vec<f32> = found.iter().zip(expected).map(|(a, b)| a - b).collect();
    // What is zero there has to be zero here.
    if largest(&gaps) == 0.0 {
        0.0
    } else {
        largest(&gaps) / largest(expected)
    }
}

/// Loss and gradients of one case by our operations.
fn compute(
    model: &Autoencoder,
    batch: &Batch,
    feed: Feed<'_>,
    kind: LossKind,
    pass: &Pass,
) -> (f32, BTreeMap<String, Vec<f32>>) {
    let device = Device::flex().autodiff();
    let shape = [batch.n_rows(), batch.n_steps, batch.dims];
    let vectors = Tensor::from_data(TensorData::new(batch.vectors.clone(), shape), &device);
    let mut options = LossOptions::default();
    options.kind = kind;
    let codes = model.encode(vectors.clone(), &batch.lengths, pass);
    let rebuilt = model.decode(codes.clone(), &batch.lengths, feed, pass);
    let sums = loss_sums(rebuilt, vectors, None, batch, &options);
    let loss = sums.tokens / batch.n_tokens() as f64;
    let loss = loss + code_square_sum(codes) * (BOTTLENECK_L2 / batch.n_rows() as f64);
    let gradients = GradientsParams::from_grads(loss.backward(), model);
    let mut collector = Collector {
        gradients: &gradients,
        path: Vec::new(),
        found: BTreeMap::new(),
    };
    model.visit(&mut collector);
    (loss.into_scalar(), collector.found)
}

#[test]
fn losses_and_gradients_are_those_of_libtorch() -> Done<()> {
    let golden = Golden::read()?;
    let batch = golden.batch()?;
    assert_eq!(batch.vectors, golden.floats("vectors")?, "padding is zero");
    let device = Device::flex().autodiff();
    let shape = [batch.n_rows(), batch.n_steps, batch.dims];
    let vectors = Tensor::from_data(TensorData::new(batch.vectors.clone(), shape), &device);
    let coins: Vec<bool> = golden
        .whole_numbers("coins")?
        .iter()
        .map(|coin| *coin == 1)
        .collect();
    let mut n_compared = 0;
    let cells = [
        (Cell::Vanilla, "vanilla"),
        (Cell::Gru, "gru"),
        (Cell::Lstm, "lstm"),
    ];
    for ((cell, name), layers) in cells.into_iter().flat_map(|cell| [(cell, 1), (cell, 2)]) {
        for (feed_name, loss_name) in [
            ("true", "mse"),
            ("true", "cosine"),
            ("sampled", "mse"),
            ("sampled", "cosine"),
        ] {
            // The fused form, and Burn's own operations beside it.
            for pass in [
                Pass::training(1, 0),
                Pass::training(1, 0).with_plain_operations(),
            ] {
                let case = format!("{name}{layers}");
                // Anew each time, as a pass that trains moves the running statistics.
                let model = golden.model(&case, cell, layers, &device)?;
                let case = format!("{case}/{feed_name}/{loss_name}");
                let feed = match feed_name {
                    "true" => Feed::True(&vectors),
                    _ => Feed::Sampled(&vectors, &coins),
                };
                let kind = if loss_name == "mse" {
                    LossKind::Mse
                } else {
                    LossKind::Cosine
                };
                let (loss, gradients) = compute(&model, &batch, feed, kind, &pass);
                let expected = golden.floats(&format!("{case}/loss"))?;
                let loss_gap = gap(&[loss], &expected);
                assert!(
                    loss_gap <= TOLERANCE,
                    "{case}: {loss}, expected {expected:?}"
                );
                let prefix = format!("{case}/gradients/");
                let names = golden.names(&prefix)?;
                assert_eq!(
                    names.len(),
                    gradients.len(),
                    "{case}: a gradient a parameter"
                );
                for parameter in names {
                    let found = gradients
                        .get(&parameter)
                        .ok_or_else(|| format!("no {parameter}"))?;
                    let expected = golden.floats(&format!("{prefix}{parameter}"))?;
                    let gap = if parameter == NO_GRADIENT {
                        // At the scale of the gradients beside it; terms that cancel leave more.
                        let beside = golden.floats(&format!("{prefix}bottleneck.linear.weight"))?;
                        0.1 * largest(found) / largest(&beside)
                    } else {
                        gap(found, &expected)
                    };
                    assert!(gap <= TOLERANCE, "{case}: {parameter} is off by {gap:e}");
                    n_compared += 1;
                }
            }
        }
    }
    // Parameters of one layer and of two: 17 and 25 without a memory, 19 and 27 with one.
    let n_parameters = 2 * (17 + 25) + 19 + 27;
    assert_eq!(
        n_compared,
        2 * 4 * n_parameters,
        "every parameter of every case, in both forms"
    );
    Ok(())
}

#[test]
fn codes_are_those_of_torch_with_our_checkpoint() -> Done<()> {
    let golden = Golden::read()?;
    let (batch, device) = (golden.batch()?, Device::flex());
    let cells = [
        (Cell::Vanilla, "vanilla"),
        (Cell::Gru, "gru"),
        (Cell::Lstm, "lstm"),
    ];
    for ((cell, name), layers) in cells.into_iter().flat_map(|cell| [(cell, 1), (cell, 2)]) {
        let model = golden.model(&format!("{name}{layers}"), cell, layers, &device)?;
        let (codes, _) = model.rebuild(&batch, &device);
        let expected = golden.floats(&format!("torch/{name}{layers}/codes"))?;
        let gap = gap(&codes, &expected);
        assert!(gap <= TOLERANCE, "{name}{layers}: codes are off by {gap:e}");
    }
    Ok(())
}
