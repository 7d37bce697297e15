//! Categories of a sample, joined to the row that stands for it.

use kato_neural::burn;
use kato_neural::burn::module::{Module, Param};
use kato_neural::burn::nn::Embedding;
use kato_neural::burn::tensor::activation::{sigmoid, softmax};
use kato_neural::burn::tensor::{Device, Int, Tensor, TensorData};
use kato_neural::layers::{Affine, embedding};
use kato_neural::{Initializer, Pass, parameter};

use super::encoder::DEVIATION;
use crate::metadata::{first_categories, n_categories};
use crate::settings::{Fusion, MicroformerOptions};

/// Learned rows of the perceiver.
const N_LATENTS: usize = 4;

/// A vector a category, and what joins them to a sample's row.
#[derive(Module, Debug)]
pub struct CategoryFusion {
    values: Embedding,
    joined: Option<Affine>,
    attention: Option<Attention>,
    latents: Option<Param<Tensor<2>>>,
    #[module(skip)]
    kind: Fusion,
}

/// Attention of one head.
#[derive(Module, Debug)]
struct Attention {
    queries: Affine,
    keys: Affine,
    contents: Affine,
}

impl Attention {
    fn new(width: usize, initializer: &mut Initializer, device: &Device) -> Self {
        let mut square = || Affine::new(width, width, initializer, device);
        Self {
            queries: square(),
            keys: square(),
            contents: square(),
        }
    }

    /// Returns what rows find among others, `[samples, rows, width]`.
    fn forward(&self, rows: Tensor<3>, among: Tensor<3>, pass: &Pass) -> Tensor<3> {
        let scale = (rows.dims()[2] as f64).sqrt();
        let keys = self.keys.forward(among.clone(), pass).swap_dims(1, 2);
        let scores = self.queries.forward(rows, pass).matmul(keys);
        softmax(scores.div_scalar(scale), 2).matmul(self.contents.forward(among, pass))
    }
}

impl CategoryFusion {
    /// Makes what joins the columns of the options; `None` where there are none.
    pub(super) fn new(
        options: &MicroformerOptions,
        initializer: &mut Initializer,
        device: &Device,
    ) -> Option<Self> {
        let (width, kind) = (options.width, options.fusion);
        let n_columns = options.categorical.len();
        if n_columns == 0 {
            return None;
        }
        let n_values = n_categories(&options.categorical);
        let values = embedding(n_values, width, DEVIATION, initializer, device);
        let values = with_nothing(values, &first_categories(&options.categorical));
        let n_joined = match kind {
            Fusion::Concat => Some(n_columns + 1),
            Fusion::Gated => Some(2),
            _ => None,
        };
        let joined = n_joined.map(|n| Affine::new(n * width, width, initializer, device));
        let attends = matches!(kind, Fusion::CrossAttention | Fusion::Perceiver);
        Some(Self {
            values,
            joined,
            attention: attends.then(|| Attention::new(width, initializer, device)),
            latents: (kind == Fusion::Perceiver).then(|| {
                let rows = initializer.normal(N_LATENTS * width, DEVIATION);
                parameter(rows, [N_LATENTS, width], device)
            }),
            kind,
        })
    }

    /// Joins the categories of samples, sample behind sample, to their rows, `[samples, width]`.
    pub(super) fn forward(&self, rows: Tensor<2>, categories: &[i64], pass: &Pass) -> Tensor<2> {
        let ([n, width], device) = (rows.dims(), rows.device());
        let n_columns = categories.len() / n.max(1);
        let numbers = TensorData::new(categories.to_vec(), [n, n_columns]);
        let numbers = Tensor::<2, Int>::from_data(numbers, &device);
        let told = self.values.forward(numbers);
        let row = rows.unsqueeze_dim::<3>(1);
        let joined = match (self.kind, &self.joined, &self.attention, &self.latents) {
            (Fusion::Concat, Some(joined), ..) => {
                let all = Tensor::cat(vec![row, told], 1);
                joined.forward(all.reshape([n, 1, (n_columns + 1) * width]), pass)
            }
            (Fusion::Gated, Some(joined), ..) => {
                let sum = told.sum_dim(1);
                let both = Tensor::cat(vec![row.clone(), sum.clone()], 2);
                row + sum * sigmoid(joined.forward(both, pass))
            }
            (_, _, Some(attention), Some(latents)) => {
                let latents = latents.val().unsqueeze::<3>().expand([n, N_LATENTS, width]);
                let all = Tensor::cat(vec![row.clone(), told], 1);
                let found = attention.forward(latents.clone(), all, pass);
                row + (latents + found).mean_dim(1)
            }
            (_, _, Some(attention), None) => row.clone() + attention.forward(row, told, pass),
            _ => row + told.sum_dim(1),
        };
        joined.reshape([n, width])
    }
}

/// Lets categories that stand for nothing known begin as zeros: where no training sample has such, they stay so, and
/// say nothing.
fn with_nothing(embedding: Embedding, categories: &[i64]) -> Embedding {
    let weight = embedding.weight.map(|weight| {
        let tracked = weight.is_require_grad();
        let ([n, width], device) = (weight.dims(), weight.device());
        let mask: Vec<f32> = (0..n as i64)
            .map(|category| f32::from(u8::from(!categories.contains(&category))))
            .collect();
        let mask = Tensor::<2>::from_data(TensorData::new(mask, [n, 1]), &device);
        let weight = weight * mask.expand([n, width]);
        weight.detach().set_require_grad(tracked)
    });
    Embedding { weight }
}
