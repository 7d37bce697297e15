//! Vectors for tokens, and for places in a sequence.

use burn::module::{Module, Param};
use burn::nn::Embedding;
use burn::tensor::{Device, Tensor, TensorData};

use crate::{Initializer, initialize::parameter};

/// Makes a table of vectors for tokens, normal with the given deviation.
///
/// The layer is Burn's, whose weight has PyTorch's name and shape, `[n_tokens, width]`. It takes
/// `[batch, rows]` to `[batch, rows, width]`.
#[must_use]
pub fn embedding(
    n_tokens: usize,
    width: usize,
    deviation: f64,
    initializer: &mut Initializer,
    device: &Device,
) -> Embedding {
    let vectors = initializer.normal(n_tokens * width, deviation);
    Embedding {
        weight: parameter(vectors, [n_tokens, width], device),
    }
}

/// A learned vector for each place in a sequence, as PyTorch's `nn.Embedding` keeps it.
#[derive(Module, Debug)]
pub struct Positions {
    /// `[n_places, width]`.
    pub weight: Param<Tensor<2>>,
}

impl Positions {
    /// Creates vectors for `n_places`, normal with the given deviation.
    #[must_use]
    pub fn new(
        n_places: usize,
        width: usize,
        deviation: f64,
        initializer: &mut Initializer,
        device: &Device,
    ) -> Self {
        let vectors = initializer.normal(n_places * width, deviation);
        Self {
            weight: parameter(vectors, [n_places, width], device),
        }
    }

    /// Adds to each row of `[batch, rows, width]` the vector of its place.
    ///
    /// # Panics
    ///
    /// Panics if there are more rows than places, or the width is another.
    #[must_use]
    pub fn forward(&self, rows: Tensor<3>) -> Tensor<3> {
        let ([_, n_rows, _], [n_places, _]) = (rows.dims(), self.weight.dims());
        assert!(n_rows <= n_places, "{n_rows} rows at {n_places} places");
        rows + self.weight.val().narrow(0, 0, n_rows).unsqueeze()
    }
}

/// Returns the vectors of `n_places` that need no learning, `[n_places, width]`: sines and cosines of
/// wavelengths from 2π to 10,000 · 2π, in turn.
///
/// Source: Vaswani et al., "Attention is all you need", 2017.
#[must_use]
pub fn sinusoidal_positions(n_places: usize, width: usize, device: &Device) -> Tensor<2> {
    let entry = |place: usize, column: usize| {
        let exponent = (column - column % 2) as f64 / width as f64;
        // By functions that give the same bits on every platform.
        let angle = place as f64 * libm::exp(-exponent * libm::log(10_000.0));
        if column.is_multiple_of(2) {
            libm::sin(angle) as f32
        } else {
            libm::cos(angle) as f32
        }
    };
    let entries =
        (0..n_places).flat_map(|place| (0..width).map(move |column| entry(place, column)));
    let entries: Vec<f32> = entries.collect();
    Tensor::from_data(TensorData::new(entries, [n_places, width]), device)
}
