//! The sequence autoencoder of `kato-poetry`, over LibTorch: same parameters, same names, same numbers.

mod decoder;
mod loss;
mod options;
mod recurrent;

use tch::nn::{Init, Path, VarStore};
use tch::{Device, Kind, Tensor};

use crate::Error;
use crate::parameters::{Arrays, Linear, assign};

pub use decoder::Feed;
pub use loss::{LossKind, LossOptions, loss};
pub use options::{AutoencoderOptions, Cell};

use decoder::Decoder;
use recurrent::{Recurrent, State};

/// Chunks side by side, each padded behind its end.
#[derive(Debug)]
#[non_exhaustive]
pub struct Batch {
    /// `[batch, time, width]`.
    pub vectors: Tensor,
    /// Tokens of each chunk, `[batch]`, whole numbers.
    pub lengths: Tensor,
    /// One where there is a token, else zero: `[batch, time]`.
    pub mask: Tensor,
    /// How many tokens there are, on the device.
    n_tokens: Tensor,
}

impl Batch {
    /// Puts vectors, `[batch, time, width]`, and the chunks' lengths on a device.
    #[must_use]
    pub fn new(vectors: &Tensor, lengths: &[i64], device: Device) -> Self {
        let n_steps = vectors.size()[1];
        let lengths = Tensor::from_slice(lengths).to_device(device);
        let steps = Tensor::arange(n_steps, (Kind::Int64, device));
        let mask = steps.unsqueeze(0).less_tensor(&lengths.unsqueeze(1));
        let mask = mask.to_kind(vectors.kind());
        Self {
            vectors: vectors.to_device(device),
            n_tokens: mask.sum(None::<Kind>),
            lengths,
            mask,
        }
    }

    /// Makes a second handle on the same tensors.
    pub(crate) fn shared(&self) -> Self {
        Self {
            vectors: self.vectors.shallow_clone(),
            lengths: self.lengths.shallow_clone(),
            mask: self.mask.shallow_clone(),
            n_tokens: self.n_tokens.shallow_clone(),
        }
    }

    /// Takes over the numbers of another batch of the same shape, where a graph reads them.
    pub(crate) fn copy_from(&mut self, other: &Self) -> Result<(), Error> {
        self.vectors.f_copy_(&other.vectors)?;
        self.lengths.f_copy_(&other.lengths)?;
        self.mask.f_copy_(&other.mask)?;
        self.n_tokens.f_copy_(&other.n_tokens)?;
        Ok(())
    }
}

/// The model: a recurrent encoder whose state at a chunk's last token is compressed to a code, and a
/// recurrent decoder that begins from states made of the code.
#[derive(Debug)]
pub struct Autoencoder {
    store: VarStore,
    options: AutoencoderOptions,
    encoder: Recurrent,
    bottleneck: Linear,
    norm: Option<Norm>,
    hidden: Linear,
    memory: Option<Linear>,
    decoder: Decoder,
}

/// Batch norm over the code.
#[derive(Debug)]
struct Norm {
    weight: Tensor,
    bias: Tensor,
    mean: Tensor,
    variance: Tensor,
}

/// Gain of a projection's weights: small ones begin close to zero.
const fn projection_gain(n_out: i64) -> f64 {
    if n_out < 30 { 0.1 } else { 0.5 }
}

impl Autoencoder {
    /// Makes a model of fresh weights, drawn from LibTorch's generator.
    ///
    /// # Errors
    ///
    /// When the shape is impossible.
    pub fn new(options: &AutoencoderOptions, device: Device) -> Result<Self, Error> {
        options.check()?;
        let store = VarStore::new(device);
        let root = store.root();
        let AutoencoderOptions {
            hidden,
            code,
            layers,
            ..
        } = *options;
        let states = layers * hidden;
        let project = |place: &Path<'_>| Linear::new(place, code, states, projection_gain(states));
        let projection = &root / "projection";
        let bottleneck = &root / "bottleneck";
        Ok(Self {
            encoder: Recurrent::new(&(&root / "encoder"), options),
            bottleneck: Linear::new(
                &(&bottleneck / "linear"),
                hidden,
                code,
                projection_gain(code),
            ),
            norm: options
                .batch_norm
                .then(|| Norm::new(&(&bottleneck / "norm"), code)),
            hidden: project(&(&projection / "hidden")),
            memory: (options.cell == Cell::Lstm).then(|| project(&(&projection / "memory"))),
            decoder: Decoder::new(&(&root / "decoder"), options),
            options: *options,
            store,
        })
    }

    /// Computes in double precision from now on.
    pub(crate) fn double(&mut self) {
        self.store.double();
    }

    /// Makes the model whose weights these are: shape and cell are read off the arrays.
    ///
    /// # Errors
    ///
    /// [`Error::Mismatch`] where they are of another kind of model.
    pub fn from_weights(arrays: &Arrays, dropout: f64, device: Device) -> Result<Self, Error> {
        let options = AutoencoderOptions::of_weights(arrays)?.with_dropout(dropout);
        let model = Self::new(&options, device)?;
        assign(&model.store, arrays)?;
        Ok(model)
    }

    /// The weights, with the names of a checkpoint of `kato-poetry`.
    #[must_use]
    pub const fn store(&self) -> &VarStore {
        &self.store
    }

    /// The shape.
    #[must_use]
    pub const fn options(&self) -> &AutoencoderOptions {
        &self.options
    }

    /// Compresses chunks to codes, `[batch, code]`.
    pub fn encode(&self, batch: &Batch, train: bool) -> Tensor {
        let outputs = self.encoder.forward(&batch.vectors, None, train).0;
        let [n_rows, _, hidden] = outputs.size()[..] else {
            unreachable!("a recurrent net's outputs have three axes")
        };
        let last = (&batch.lengths - 1).clamp_min(0).view([-1, 1, 1]);
        let last = outputs.gather(1, &last.expand([n_rows, 1, hidden], false), false);
        // A chunk without a token has seen nothing, so its state is still zero.
        let seen = batch.lengths.gt(0).to_kind(Kind::Float).unsqueeze(1);
        let states = (last.squeeze_dim(1) * seen).dropout(self.options.dropout, train);
        let code = self.bottleneck.forward(&states);
        match &self.norm {
            Some(norm) => norm.forward(&code, train),
            None => code,
        }
    }

    /// Rebuilds vectors from codes: `[batch, time, width]`, with nonsense behind a chunk's end.
    pub fn decode(&self, code: &Tensor, n_steps: i64, feed: &Feed<'_>, train: bool) -> Tensor {
        let project = |layer: &Linear| {
            let states = layer.forward(code).tanh();
            let states = states.view([-1, self.options.layers, self.options.hidden]);
            states.transpose(0, 1).contiguous()
        };
        let state = State {
            hidden: project(&self.hidden),
            memory: self.memory.as_ref().map(project),
        };
        self.decoder.forward(state, n_steps, feed, train)
    }

    /// Computes the loss of a step: what is rebuilt per token, and the penalty of the codes.
    pub fn loss(&self, batch: &Batch, feed: &Feed<'_>, options: &LossOptions) -> Tensor {
        let code = self.encode(batch, true);
        let rebuilt = self.decode(&code, batch.vectors.size()[1], feed, true);
        loss(&rebuilt, batch, &code, options)
    }
}

impl Norm {
    fn new(place: &Path<'_>, n: i64) -> Self {
        Self {
            weight: place.var("weight", &[n], Init::Const(1.0)),
            bias: place.var("bias", &[n], Init::Const(0.0)),
            mean: place.zeros_no_train("running_mean", &[n]),
            variance: place.ones_no_train("running_var", &[n]),
        }
    }

    fn forward(&self, code: &Tensor, train: bool) -> Tensor {
        let (weight, bias) = (Some(&self.weight), Some(&self.bias));
        let (mean, variance) = (Some(&self.mean), Some(&self.variance));
        // One row has no variance: it would become zero whatever it holds.
        let train = train && code.size()[0] > 1;
        code.batch_norm(weight, bias, mean, variance, train, 0.1, 1e-5, true)
    }
}
