//! Attention of a decoder's steps to what an encoder saw.

use burn::module::{Module, Param};
use burn::tensor::activation::softmax;
use burn::tensor::{Bool, Device, Tensor, TensorData};

use crate::fused::Attending;
use crate::layers::transformer::{Affine, affine};
use crate::layers::{check_lengths, sinusoidal_positions};
use crate::{Initializer, Pass, initialize::parameter};

/// Weights of a decoder's attention, as PyTorch's `nn.MultiheadAttention` has them.
#[derive(Module, Debug)]
pub struct CrossAttention {
    /// Queries, keys and values, one below the other, `[3 · hidden, hidden]`.
    pub in_proj_weight: Param<Tensor<2>>,
    /// `[3 · hidden]`.
    pub in_proj_bias: Param<Tensor<1>>,
    /// What attention gives is projected by it, `[hidden, hidden]`.
    pub out_proj: Affine,
    n_heads: usize,
}

/// An encoder's states, projected to keys and values.
#[derive(Debug, Clone)]
pub struct Attended {
    /// `[batch, keys, hidden]`.
    keys: Tensor<3>,
    /// `[batch, keys, hidden]`.
    values: Tensor<3>,
    /// Keys that count, `[batch · keys]`.
    mask: Vec<bool>,
}

impl Attended {
    pub(super) fn n_rows(&self) -> usize {
        self.keys.dims()[0]
    }
}

impl CrossAttention {
    /// Makes Xavier-uniform weights and zero biases.
    pub(super) fn new(
        width: usize,
        n_heads: usize,
        initializer: &mut Initializer,
        device: &Device,
    ) -> Self {
        assert!(
            n_heads > 0 && width.is_multiple_of(n_heads),
            "{width} hidden units are not shared by {n_heads} heads"
        );
        let weight = initializer.xavier_uniform(3 * width, width, 1.0);
        Self {
            in_proj_weight: parameter(weight, [3 * width, width], device),
            in_proj_bias: parameter(vec![0.0; 3 * width], [3 * width], device),
            out_proj: Affine::new(width, width, initializer, device),
            n_heads,
        }
    }

    fn width(&self) -> usize {
        self.in_proj_weight.dims()[1]
    }

    /// Projects states, with sines and cosines of their places added, to keys and values.
    pub(super) fn project(&self, states: Tensor<3>, lengths: &[usize], pass: &Pass) -> Attended {
        let ([n_rows, n_keys, width], device) = (states.dims(), states.device());
        check_lengths(lengths, n_rows, n_keys);
        assert_eq!(width, self.width(), "width of the states");
        let states = states + sinusoidal_positions(n_keys, width, &device).unsqueeze();
        // One product for both.
        let weight = self.in_proj_weight.val().narrow(0, width, 2 * width);
        let bias = self.in_proj_bias.val().narrow(0, width, 2 * width);
        let both = affine(states, weight, bias, pass);
        let mask = lengths
            .iter()
            .flat_map(|&length| (0..n_keys).map(move |key| key < length));
        Attended {
            keys: both.clone().narrow(2, 0, width),
            values: both.narrow(2, width, width),
            mask: mask.collect(),
        }
    }

    fn query(&self) -> (Tensor<2>, Tensor<1>) {
        let width = self.width();
        (
            self.in_proj_weight.val().narrow(0, 0, width),
            self.in_proj_bias.val().narrow(0, 0, width),
        )
    }

    /// Hands everything over to the fused form.
    pub(super) fn call<'a>(&self, attended: &'a Attended) -> Attending<'a> {
        let flat = |weight: Tensor<2>| {
            let n = weight.shape().num_elements();
            weight.reshape([n])
        };
        let (query, query_bias) = self.query();
        let [n_rows, n_keys, width] = attended.keys.dims();
        let n = n_rows * n_keys * width;
        Attending {
            n_heads: self.n_heads,
            weights: [
                flat(query),
                query_bias,
                flat(self.out_proj.weight.val()),
                self.out_proj.bias.val(),
            ],
            memory: [
                attended.keys.clone().reshape([n]),
                attended.values.clone().reshape([n]),
            ],
            n_keys,
            mask: &attended.mask,
        }
    }

    /// Prepares what all steps of the plain form share.
    pub(super) fn plain(&self, attended: &Attended, pass: &Pass) -> Look {
        let [n_rows, n_keys, width] = attended.keys.dims();
        let (n_heads, size) = (self.n_heads, width / self.n_heads);
        let heads = |rows: &Tensor<3>| {
            let rows = rows.clone().reshape([n_rows, n_keys, n_heads, size]);
            rows.swap_dims(1, 2)
        };
        let hidden = attended.mask.iter().map(|counts| !counts).collect();
        let hidden = TensorData::new(hidden, [n_rows, 1, 1, n_keys]);
        let hidden = Tensor::<4, Bool>::from_data(hidden, &attended.keys.device());
        let (query, query_bias) = self.query();
        Look {
            pass: *pass,
            query: (query, query_bias),
            out: (self.out_proj.weight.val(), self.out_proj.bias.val()),
            keys: heads(&attended.keys).swap_dims(2, 3),
            values: heads(&attended.values),
            hidden: hidden.expand([n_rows, n_heads, 1, n_keys]),
        }
    }
}

/// Attention of one step after another, in Burn's own operations.
pub(super) struct Look {
    pass: Pass,
    query: (Tensor<2>, Tensor<1>),
    out: (Tensor<2>, Tensor<1>),
    /// `[batch, heads, size, keys]`.
    keys: Tensor<4>,
    /// `[batch, heads, keys, size]`.
    values: Tensor<4>,
    /// `true` at keys that do not count, `[batch, heads, 1, keys]`.
    hidden: Tensor<4, Bool>,
}

impl Look {
    /// Adds to a step's outputs `[batch, hidden]` what they find.
    pub(super) fn step(&self, outputs: Tensor<2>) -> Tensor<2> {
        let ([n_rows, width], [_, n_heads, size, _]) = (outputs.dims(), self.keys.dims());
        let product = |rows: Tensor<2>, (weight, bias): &(Tensor<2>, Tensor<1>)| {
            let rows = rows.unsqueeze_dim::<3>(1);
            let sums = affine(rows, weight.clone(), bias.clone(), &self.pass);
            sums.reshape([n_rows, width])
        };
        let query = product(outputs.clone(), &self.query);
        let scores = query
            .reshape([n_rows, n_heads, 1, size])
            .matmul(self.keys.clone());
        let scores = scores.mul_scalar(1.0 / (size as f64).sqrt());
        // Far below all others, and still a number where there are no others.
        let scores = scores.mask_fill(self.hidden.clone(), -1e30);
        let shares = softmax(scores, 3).mask_fill(self.hidden.clone(), 0.0);
        let context = shares.matmul(self.values.clone()).reshape([n_rows, width]);
        outputs + product(context, &self.out)
    }
}
