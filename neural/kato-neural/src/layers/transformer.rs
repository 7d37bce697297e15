//! Transformers whose blocks keep their inputs at most, and attention pooling.

mod affine;
mod block;
mod divided;
mod options;
mod plain;
mod pooling;
mod valid;

use std::sync::Arc;

use burn::module::Module;
use burn::tensor::Tensor;
use kato_kernels::{BlockOptions, TransformerStack};

pub(in crate::layers) use affine::affine;
pub use affine::{Affine, RowNorm};
pub use block::{SelfAttention, TransformerLayer};
pub use options::TransformerOptions;
pub use pooling::AttentionPooling;
pub use valid::Valid;

use crate::Pass;
use crate::divided::DividedBlocks;
use crate::fused::{self, BlockCall, Pool};
use divided::Division;
use plain::Plain;

/// A stack of pre-norm blocks: `x + attention(norm x)`, then `x + net(norm x)` with a GELU net.
///
/// Where blocks are nodes of Burn's graph, up to four of them keep only what the first one is given from forward to
/// backward, and compute everything else anew; blocks of more than 2¹⁸ weights by fewer. So memory grows by one tensor with
/// every so many blocks. As long as a stack keeps at most 16 MiB, what each block is given is kept too, which is
/// faster, with the same bits. Nothing is computed for padding then, and sequences of different length cost what they
/// hold.
///
/// Parameters have the names and shapes of PyTorch's `nn.TransformerEncoder` of
/// `nn.TransformerEncoderLayer(norm_first=True, activation="gelu")`. While training, dropout acts on
/// what attention and net add to a row; PyTorch also drops probabilities and hidden units.
///
/// ```
/// use kato_neural::burn::tensor::{Device, Tensor};
/// use kato_neural::layers::{TransformerOptions, Valid};
/// use kato_neural::{Initializer, Pass};
///
/// let device = Device::flex();
/// let options = TransformerOptions::new(8, 2, 3).with_dropout(0.1, 1);
/// let net = options.init(&mut Initializer::from_seed(1), &device);
/// let rows = Tensor::ones([2, 5, 8], &device);
/// let outputs = net.forward(rows, Valid::Lengths(&[5, 0]), &Pass::evaluation());
/// assert_eq!(outputs.dims(), [2, 5, 8]);
/// ```
///
/// Source: Vaswani et al., "Attention is all you need", 2017; norms as in Xiong et al., "On layer
/// normalization in the transformer architecture", 2020.
#[derive(Module, Debug)]
pub struct Transformer {
    layers: Vec<TransformerLayer>,
    norm: Option<RowNorm>,
    n_heads: usize,
    dropout: f64,
    stream: u64,
    #[module(skip)]
    workspaces: Pool<TransformerStack>,
    #[module(skip)]
    division: Division,
}

impl Transformer {
    /// Weights, block by block.
    #[must_use]
    pub fn layers(&self) -> &[TransformerLayer] {
        &self.layers
    }

    /// Heads of attention.
    #[must_use]
    pub const fn n_heads(&self) -> usize {
        self.n_heads
    }

    /// Values of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        self.layers[0].norm1.weight.dims()[0]
    }

    /// Takes rows `[batch, rows, width]` through all blocks; padding comes out as zeros, and has no
    /// influence, whatever it holds.
    ///
    /// # Panics
    ///
    /// Panics if the width is not the stack's, or `valid` describes other sequences.
    #[must_use]
    pub fn forward(&self, rows: Tensor<3>, valid: Valid<'_>, pass: &Pass) -> Tensor<3> {
        let [batch, n_rows, width] = rows.dims();
        assert_eq!(width, self.width(), "values of a row");
        let lengths = valid.lengths(batch, n_rows);
        // Blocks do not see where a row lies, so that valid ones may be moved to the front.
        let Some(order) = valid.order(n_rows) else {
            return self.run(rows, &lengths, pass);
        };
        let rows = valid::moved(rows, &order);
        valid::moved(self.run(rows, &lengths, pass), &valid::inverse(&order))
    }

    /// Runs over sequences whose valid rows come first.
    fn run(&self, rows: Tensor<3>, lengths: &[usize], pass: &Pass) -> Tensor<3> {
        let form = fused::form(&self.layers[0].linear1.weight.val(), pass);
        let outputs = match form {
            Some(form) => {
                let options = self.options(pass);
                let n_at_once = match self.division.is_set() {
                    // Gathered where they are computed, block by block.
                    true => 1,
                    false => fused::blocks_at_once(self.layers[0].num_params()),
                };
                let groups = self.layers.chunks(n_at_once).enumerate();
                groups.fold(rows, |rows, (group, layers)| {
                    let first = (group * n_at_once) as u32;
                    let call = BlockCall {
                        pool: &self.workspaces,
                        options,
                        lengths,
                        draw: pass.dropout(self.stream).map(|draw| (draw, first)),
                    };
                    let weights = || layers.iter().flat_map(TransformerLayer::flat).collect();
                    match self.division.of(&layers[0]) {
                        Some(block) => fused::divided_block(&call, rows, block),
                        None => fused::blocks(&call, rows, weights(), form),
                    }
                })
            }
            None => {
                let shape = (self.n_heads, self.dropout, self.stream);
                let plain = Plain::new(shape, &rows, lengths, pass);
                // Once is enough: blocks leave zeros behind an end.
                let rows = plain.covered(rows);
                let blocks = self.layers.iter().enumerate();
                let has_graph = fused::form_of(&rows) == Some(fused::Form::Graph);
                blocks.fold(rows, |rows, (number, layer)| {
                    let number = number as u32;
                    let division = self.division.of(layer);
                    // Weights that are gathered are not there on the way back.
                    if !(pass.recomputes_blocks() && has_graph) && division.is_none() {
                        return plain.block(layer, number, rows);
                    }
                    let (lengths, pass) = (lengths.to_vec(), *pass);
                    let compute = move |rows: Tensor<3>, weights| {
                        // Anew, as it belongs to the graph of its rows, or to none.
                        let plain = Plain::new(shape, &rows, &lengths, &pass);
                        plain.block(&TransformerLayer::from_flat(weights), number, rows)
                    };
                    match division {
                        Some(block) => fused::divided_recomputed(rows, Arc::new(compute), block),
                        None => fused::recomputed(rows, layer.flat(), Arc::new(compute)),
                    }
                })
            }
        };
        match &self.norm {
            // A norm makes its bias of zeros.
            Some(norm) => valid::covered(norm.forward(outputs), lengths),
            None => outputs,
        }
    }

    /// Lets replicas divide the weights of the blocks, or ends that.
    pub(crate) fn divide(&self, blocks: Option<Arc<DividedBlocks>>) {
        self.division.set(blocks);
    }

    /// Says to the kernels what a block is made of.
    fn options(&self, pass: &Pass) -> BlockOptions {
        let [n_hidden, width] = self.layers[0].linear1.weight.dims();
        BlockOptions::new(width, self.n_heads)
            .with_hidden(n_hidden)
            .with_dropout(self.dropout as f32)
            .with_attention(pass.attention())
            .with_precision(fused::precision(pass))
    }
}
