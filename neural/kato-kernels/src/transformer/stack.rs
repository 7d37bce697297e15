//! Runs a stack of transformer blocks over a batch, forward and backward.

use rayon::prelude::*;

use super::options::{BlockInput, BlockOptions};
use super::sequence::Work;
use super::weights::{BlockGradients, BlockWeights, PackedBlock, check_lengths, lengths};
use crate::error::{Error, check};
use crate::pool::Pool;
use crate::recurrent::PassKind;
use crate::rows::Buffer;

/// Groups of sequences at most: each has sums of its own, and these are added in order.
const MAX_GROUPS: usize = 8;
/// Values that the sums of all groups take at most, as long as there are two.
const MAX_SUMS: usize = 1 << 23;
/// Values that one thread adds at a time.
const PART: usize = 1 << 13;

/// Stack of transformer blocks: `x + attention(norm x)`, then `x + net(norm x)` with a GELU net (pre-norm,
/// Xiong and others, 2020).
///
/// It keeps nothing from forward to backward, unless asked to: backward takes the input again and computes one
/// sequence at a time anew, so that everything between stays in the cache. Results have the same bits for any number
/// of threads, and whatever is kept.
///
/// ```
/// use kato_kernels::{BlockInput, BlockOptions, BlockWeights, PassKind, TransformerStack};
///
/// // With all weights zero, blocks add nothing.
/// let zeros = [0.0; 16];
/// let weights = BlockWeights {
///     norm_1: &[1.0; 2], norm_1_bias: &zeros[..2],
///     qkv: &zeros[..12], qkv_bias: &zeros[..6],
///     out: &zeros[..4], out_bias: &zeros[..2],
///     norm_2: &[1.0; 2], norm_2_bias: &zeros[..2],
///     up: &zeros[..16], up_bias: &zeros[..8],
///     down: &zeros[..16], down_bias: &zeros[..2],
/// };
/// let mut stack = TransformerStack::new(BlockOptions::new(2, 1))?;
/// stack.pack(&[weights, weights], PassKind::Inference)?;
/// let mut y = [0.0; 4];
/// stack.forward(BlockInput::new(&[1.0, 2.0, 3.0, 4.0], 1, 2), &mut y)?;
/// assert_eq!(y, [1.0, 2.0, 3.0, 4.0]);
/// # Ok::<(), kato_kernels::Error>(())
/// ```
#[derive(Debug)]
pub struct TransformerStack {
    options: BlockOptions,
    /// As many as were ever packed, of which the first count.
    packed: Vec<PackedBlock>,
    n_blocks: usize,
    pass: Option<PassKind>,
    works: Pool<Work>,
    /// Sums of each group, all tensors of all blocks one behind the other.
    sums: Buffer<f32>,
}

impl TransformerStack {
    /// Begins without weights.
    ///
    /// # Errors
    ///
    /// [`Error::Option`] where an option is out of range.
    pub fn new(options: BlockOptions) -> Result<Self, Error> {
        options.validate()?;
        Ok(Self {
            options,
            packed: Vec::new(),
            n_blocks: 0,
            pass: None,
            works: Pool::new(),
            sums: Buffer::new(),
        })
    }

    /// Returns what its blocks are made of.
    #[must_use]
    pub const fn options(&self) -> &BlockOptions {
        &self.options
    }

    /// Packs the weights of its blocks, which are as many from here on; call it whenever they have changed.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where a weight has another shape, or there is no block.
    pub fn pack(&mut self, blocks: &[BlockWeights<'_>], pass: PassKind) -> Result<(), Error> {
        check("blocks", "at least one", blocks.len(), blocks.len().max(1))?;
        for mut block in blocks.iter().copied() {
            check_lengths(&self.options, block.tensors().map(|tensor| tensor.len()))?;
        }
        let n = blocks.len().max(self.packed.len());
        self.packed
            .resize_with(n, || PackedBlock::new(&self.options));
        let packed = self.packed.iter_mut().zip(blocks);
        packed.for_each(|(packed, block)| packed.pack(block, pass));
        (self.n_blocks, self.pass) = (blocks.len(), Some(pass));
        Ok(())
    }

    fn check(&self, input: &BlockInput<'_>) -> Result<(), Error> {
        let n = input.batch * input.rows * self.options.width;
        check("x", "batch × rows × width", input.x.len(), n)?;
        if let Some(lengths) = input.lengths {
            check("lengths", "batch", lengths.len(), input.batch)?;
            // A longer one would read its neighbour's rows.
            if lengths.iter().any(|&length| length > input.rows) {
                return Err(Error::Option {
                    option: "lengths",
                    reason: "at most the number of rows",
                });
            }
        }
        Ok(())
    }

    /// Counts the values that the blocks above the first begin with.
    #[must_use]
    pub const fn n_inputs(&self, input: &BlockInput<'_>) -> usize {
        self.n_blocks.saturating_sub(1) * input.x.len()
    }

    /// Writes the last block's outputs, shaped as the input, zero behind a sequence's end.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] or [`Error::Option`] where the batch does not fit, [`Error::Order`] before
    /// [`pack`](Self::pack).
    pub fn forward(&mut self, input: BlockInput<'_>, y: &mut [f32]) -> Result<(), Error> {
        self.run(input, y, None)
    }

    /// Does so, and writes what the blocks above the first begin with, [`n_inputs`](Self::n_inputs) values: backward
    /// is given them with its input, and computes less.
    ///
    /// # Errors
    ///
    /// As [`forward`](Self::forward).
    pub fn forward_keeping(
        &mut self,
        input: BlockInput<'_>,
        y: &mut [f32],
        inputs: &mut [f32],
    ) -> Result<(), Error> {
        let n = self.n_inputs(&input);
        check("inputs", "x, of each block but one", inputs.len(), n)?;
        self.run(input, y, Some(inputs))
    }

    fn run(
        &mut self,
        input: BlockInput<'_>,
        y: &mut [f32],
        inputs: Option<&mut [f32]>,
    ) -> Result<(), Error> {
        if self.pass.is_none() {
            return Err(Error::Order {
                call: "forward",
                before: "pack",
            });
        }
        self.check(&input)?;
        check("y", "as x", y.len(), input.x.len())?;
        // Chunks of length 0 cannot be made; a batch without rows has none.
        let n = (input.rows * self.options.width).max(1);
        let width = self.options.width;
        self.prepare(&input, 1);
        let (options, works) = (&self.options, &self.works);
        let packed = &self.packed[..self.n_blocks];
        let sequences = input.x.par_chunks(n).zip(y.par_chunks_mut(n)).enumerate();
        let forward = |sequence: usize, x: &[f32], y: &mut [f32], inputs: &mut [f32]| {
            let place = input.place(sequence);
            let (valid, rest) = y.split_at_mut(place.length * width);
            let x = &x[..valid.len()];
            works.with(|work| work.forward(options, packed, place, x, valid, inputs));
            // What lies behind a sequence's end must not look like a result.
            rest.fill(0.0);
        };
        match inputs.filter(|inputs| !inputs.is_empty()) {
            None => sequences.for_each(|(sequence, (x, y))| forward(sequence, x, y, &mut [])),
            Some(inputs) => sequences
                .zip(inputs.par_chunks_mut(n * (self.n_blocks - 1)))
                .for_each(|((sequence, (x, y)), inputs)| forward(sequence, x, y, inputs)),
        }
        Ok(())
    }

    /// Makes room for a batch, of which so many blocks are computed at once.
    fn prepare(&mut self, input: &BlockInput<'_>, n_blocks: usize) {
        self.works
            .prepare(|work| work.grow(&self.options, n_blocks, input.rows));
    }

    /// Writes the gradients of input and weights, block by block. `input` is that of the forward pass, whose
    /// gradient is `dy`; what lies behind a sequence's end is not read, and its gradient is zero.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] or [`Error::Option`] where shapes do not fit, [`Error::Order`] unless packed
    /// for training.
    pub fn backward(
        &mut self,
        input: BlockInput<'_>,
        dy: &[f32],
        dx: &mut [f32],
        gradients: &mut [BlockGradients<'_>],
    ) -> Result<(), Error> {
        if self.pass != Some(PassKind::Training) {
            return Err(Error::Order {
                call: "backward",
                before: "pack for training",
            });
        }
        self.check(&input)?;
        check("dy", "as x", dy.len(), input.x.len())?;
        check("dx", "as x", dx.len(), input.x.len())?;
        check("gradients", "blocks", gradients.len(), self.n_blocks)?;
        for block in &mut *gradients {
            check_lengths(&self.options, block.tensors().map(|tensor| tensor.len()))?;
        }
        if let Some(inputs) = input.inputs {
            let n = self.n_inputs(&input);
            check("inputs", "x, of each block but one", inputs.len(), n)?;
        }
        let inputs = input.inputs.unwrap_or_default();
        self.prepare(&input, if inputs.is_empty() { self.n_blocks } else { 1 });
        let n_sums = self.n_blocks * lengths(&self.options).iter().sum::<usize>();
        let n_groups = MAX_GROUPS
            .min(MAX_SUMS / n_sums)
            .max(2)
            .min(input.batch.max(1));
        // Sequences of a group: a function of options and batch alone, so that sums have one order.
        let per_group = input.batch.div_ceil(n_groups).max(1);
        // The last groups may get none.
        let n_groups = input.batch.div_ceil(per_group);
        // Sums are not cleared: the first sequence of a group begins them.
        self.sums.grow(n_groups * n_sums);
        let n = (input.rows * self.options.width).max(1) * per_group;
        let (options, works) = (&self.options, &self.works);
        let packed = &self.packed[..self.n_blocks];
        let groups = input.x.par_chunks(n).zip(dy.par_chunks(n));
        let groups = groups.zip(dx.par_chunks_mut(n));
        let groups = groups.zip(self.sums.par_chunks_mut(n_sums)).enumerate();
        groups.for_each(|(group, (((x, dy), dx), sums))| {
            let group = Group {
                input: &input,
                first: group * per_group,
                x,
                dy,
                dx,
                sums,
            };
            works.with(|work| group.backward(options, packed, work));
        });
        add_up(&self.sums[..n_groups * n_sums], n_sums, gradients);
        Ok(())
    }
}

/// Sequences whose gradients one thread adds up.
struct Group<'a> {
    input: &'a BlockInput<'a>,
    /// Number of the first of them in the batch.
    first: usize,
    x: &'a [f32],
    dy: &'a [f32],
    dx: &'a mut [f32],
    sums: &'a mut [f32],
}

impl Group<'_> {
    /// Goes back through one sequence after another.
    fn backward(self, options: &BlockOptions, packed: &[PackedBlock], work: &mut Work) {
        let n = (self.input.rows * options.width).max(1);
        let rows = self.x.chunks(n).zip(self.dy.chunks(n));
        let rows = rows.zip(self.dx.chunks_mut(n));
        let (inputs, n_inputs) = (
            self.input.inputs.unwrap_or_default(),
            n * (packed.len() - 1),
        );
        for (i, ((x, dy), dx)) in rows.enumerate() {
            let place = self.input.place(self.first + i);
            let inputs = match inputs {
                [] => inputs,
                _ => &inputs[(self.first + i) * n_inputs..][..n_inputs],
            };
            let (valid, rest) = dx.split_at_mut(place.length * options.width);
            let (x, dy) = (&x[..valid.len()], &dy[..valid.len()]);
            let sums = (&mut *self.sums, i == 0);
            work.backward(options, packed, place, (x, dy, inputs), valid, sums);
            rest.fill(0.0);
        }
    }
}

/// Adds the sums of all groups, each `n_sums` long, in order.
fn add_up(sums: &[f32], n_sums: usize, gradients: &mut [BlockGradients<'_>]) {
    let mut first = 0;
    for tensor in gradients.iter_mut().flat_map(BlockGradients::tensors) {
        let length = tensor.len();
        let parts = tensor.par_chunks_mut(PART).enumerate();
        parts.for_each(|(part, out)| {
            // Group after group, so that the order is that of the batch.
            out.fill(0.0);
            for sums in sums.chunks_exact(n_sums) {
                for (out, sum) in out.iter_mut().zip(&sums[first + part * PART..]) {
                    *out += sum;
                }
            }
        });
        first += length;
    }
}
