//! Computes gradients of weights: one large product over all rows of all steps.

use rayon::prelude::*;

use crate::gather::{GAP, Gather};
use crate::instructions::Instructions;
use crate::pool::{PRODUCTS, Pool, at_least};
use crate::precision::Precision;
use crate::rows::Buffer;
use crate::simd::{self, Begin, COLUMNS, Kernel, Left, ROWS, Right, Size, Target};

/// Rows that are summed at a time: their panel (32 KiB) and strip stay in the nearest caches.
const BLOCK: usize = 256;

/// Rows that a weight gradient sums over: `dyᵀ · x` for the rows that `rows` lists.
#[derive(Clone, Copy)]
pub(crate) struct Segment<'a> {
    /// Gradients of the outputs, row `i` at `i · dy_stride`.
    pub(crate) dy: &'a [f32],
    pub(crate) dy_stride: usize,
    /// Inputs, row `i` at `i · x_stride`.
    pub(crate) x: &'a [f32],
    pub(crate) x_stride: usize,
    /// Rows that count, in the order of the sum.
    pub(crate) rows: &'a [u32],
}

impl<'a> Segment<'a> {
    /// Number of blocks of rows.
    const fn n_blocks(&self) -> usize {
        self.rows.len().div_ceil(BLOCK)
    }

    /// Returns the rows of block `i`: all are about as long, and even ones make whole pairs.
    fn block(&self, i: usize) -> &'a [u32] {
        let length = self
            .rows
            .len()
            .div_ceil(self.n_blocks())
            .next_multiple_of(2);
        self.rows.chunks(length).nth(i).unwrap_or_default()
    }
}

/// Buffers of weight gradients: inputs, packed once for all threads, and strips of each thread.
#[derive(Debug, Default)]
pub(crate) struct Scratches {
    inputs: Scratch,
    strips: Pool<Scratch>,
}

#[derive(Debug, Default)]
struct Scratch {
    values: Buffer<f32>,
    pairs: Buffer<u32>,
}

impl Scratch {
    /// Makes room.
    fn grow(&mut self, precision: Precision, length: usize) {
        match precision {
            Precision::F32 => self.values.grow(length),
            Precision::Bf16 => self.pairs.grow(length),
        }
    }
}

impl Scratches {
    /// Begins without buffers.
    pub(crate) const fn new() -> Self {
        let inputs = Scratch {
            values: Buffer::new(),
            pairs: Buffer::new(),
        };
        Self {
            inputs,
            strips: Pool::new(),
        }
    }
}

/// Weight gradient to compute: `n` outputs by `k` inputs.
pub(crate) struct WeightGradient {
    pub(crate) instructions: Instructions,
    pub(crate) precision: Precision,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) n_segments: usize,
}

impl WeightGradient {
    /// Writes the gradient (`n` × `k`), and that of the bias (`n`) where it is asked for.
    ///
    /// `segment` gives the segments, whose first `n` columns of `dy` and `k` of `x` count. Each
    /// element is one sum over segments and rows in their order, whatever thread computes it.
    pub(crate) fn compute<'s>(
        &self,
        scratches: &mut Scratches,
        segment: impl Fn(usize) -> Segment<'s> + Sync,
        weights: &mut [f32],
        bias: Option<&mut [f32]>,
    ) {
        // Chunks of length 0 cannot be made.
        if self.n == 0 || self.k == 0 {
            return;
        }
        let Scratches { inputs, strips } = scratches;
        // Inputs serve every part, so they are packed before parts are handed out.
        self.pack_inputs(&segment, inputs);
        // More than one part lets threads share the work; large ones read inputs less often.
        let part = (self.n / 4).clamp(64, 256) / ROWS * ROWS;
        let length = (self.depth(BLOCK) * ROWS + GAP) * (part / ROWS);
        strips.prepare(|strips| strips.grow(self.precision, length));
        let buffers = (&*inputs, &*strips);
        // A part owns its outputs: no two threads add to one sum.
        let n_rows: usize = (0..self.n_segments).map(|s| segment(s).rows.len()).sum();
        let least = at_least(part * self.k * n_rows / PRODUCTS);
        let parts = weights.par_chunks_mut(part * self.k).enumerate();
        let parts = parts.with_min_len(least);
        match bias {
            Some(bias) => parts
                .zip(bias.par_chunks_mut(part))
                .for_each(|((i, weights), bias)| {
                    self.part(i * part, &segment, buffers, weights, Some(bias));
                }),
            None => parts.for_each(|(i, weights)| {
                self.part(i * part, &segment, buffers, weights, None);
            }),
        }
    }

    /// Rows of a block, or pairs of rows, as a micro-kernel counts them.
    const fn depth(&self, rows: usize) -> usize {
        match self.precision {
            Precision::F32 => rows,
            Precision::Bf16 => rows.div_ceil(2),
        }
    }

    /// Values that the packed inputs of a block take at most.
    const fn block_length(&self) -> usize {
        (self.depth(BLOCK) * COLUMNS + GAP) * self.k.div_ceil(COLUMNS)
    }

    /// Packs the inputs of all blocks into panels, once for all parts.
    fn pack_inputs<'s>(&self, segment: &(impl Fn(usize) -> Segment<'s> + Sync), to: &mut Scratch) {
        let length = self.block_length();
        let n_blocks: usize = (0..self.n_segments).map(|s| segment(s).n_blocks()).sum();
        // Blocks are numbered over all segments, as each thread packs some of them.
        let gather = |mut block: usize| {
            let mut s = 0;
            while block >= segment(s).n_blocks() {
                block -= segment(s).n_blocks();
                s += 1;
            }
            self.inputs(&segment(s), block)
        };
        to.grow(self.precision, n_blocks * length);
        match self.precision {
            Precision::F32 => {
                let blocks = to.values[..n_blocks * length].par_chunks_exact_mut(length);
                let blocks = blocks.with_min_len(at_least(length));
                blocks.enumerate().for_each(|(i, out)| {
                    gather(i).values::<COLUMNS>(self.instructions, out);
                });
            }
            Precision::Bf16 => {
                let blocks = to.pairs[..n_blocks * length].par_chunks_exact_mut(length);
                let blocks = blocks.with_min_len(at_least(length));
                blocks.enumerate().for_each(|(i, out)| {
                    gather(i).pairs::<COLUMNS>(self.instructions, out);
                });
            }
        }
    }

    /// Returns the inputs of a block.
    fn inputs<'a>(&self, segment: &Segment<'a>, block: usize) -> Gather<'a> {
        let (from, stride, rows) = (segment.x, segment.x_stride, segment.block(block));
        Gather {
            from,
            stride,
            rows,
            column: 0,
            n_columns: self.k,
        }
    }

    /// Computes the outputs from `first` on.
    fn part<'s>(
        &self,
        first: usize,
        segment: &impl Fn(usize) -> Segment<'s>,
        (inputs, strips): (&Scratch, &Pool<Scratch>),
        weights: &mut [f32],
        mut bias: Option<&mut [f32]>,
    ) {
        let n = weights.len() / self.k;
        if let Some(bias) = &mut bias {
            bias.fill(0.0);
        }
        let mut done = 0;
        strips.with(|scratch| {
            // In order, so that a sum over many sequences is always the same one.
            for segment in (0..self.n_segments).map(segment) {
                for rows in (0..segment.n_blocks()).map(|i| segment.block(i)) {
                    let (from, stride) = (segment.dy, segment.dy_stride);
                    let gather = Gather {
                        from,
                        stride,
                        rows,
                        column: first,
                        n_columns: n,
                    };
                    if let Some(bias) = &mut bias {
                        simd::run(self.instructions, BiasSum { gather, bias });
                    }
                    self.block(gather, (inputs, done), done > 0, scratch, weights);
                    done += 1;
                }
            }
        });
        // No row at all: nobody began the sums.
        if done == 0 {
            weights.fill(0.0);
        }
    }

    /// Adds one block of rows, whose inputs are the `index`th that are packed; the first one begins
    /// the sums.
    fn block(
        &self,
        gather: Gather<'_>,
        (inputs, index): (&Scratch, usize),
        begun: bool,
        scratch: &mut Scratch,
        weights: &mut [f32],
    ) {
        let depth = self.depth(gather.rows.len());
        let n_strips = gather.n_columns.div_ceil(ROWS);
        let length = n_strips * (depth * ROWS + GAP);
        scratch.grow(self.precision, length);
        match self.precision {
            Precision::F32 => {
                gather.values::<ROWS>(self.instructions, &mut scratch.values[..length]);
            }
            Precision::Bf16 => {
                gather.pairs::<ROWS>(self.instructions, &mut scratch.pairs[..length]);
            }
        }
        let size = Size {
            n_rows: gather.n_columns,
            n_columns: self.k,
            depth,
        };
        let mut target = Target {
            values: weights,
            stride: self.k,
            begin: if begun { Begin::Add } else { Begin::Zero },
        };
        let (strip, panel) = (depth * ROWS + GAP, depth * COLUMNS + GAP);
        let first = index * self.block_length();
        match self.precision {
            Precision::F32 => {
                let left = Left::bands(&scratch.values, strip);
                let right = Right::bands(&inputs.values[first..], panel);
                simd::product_f32(self.instructions, size, left, right, &mut target);
            }
            Precision::Bf16 => {
                let left = Left::bands(&scratch.pairs, strip);
                let right = Right::bands(&inputs.pairs[first..], panel);
                simd::product_bf16(self.instructions, size, left, right, &mut target);
            }
        }
    }
}

/// Sums gradients of outputs over the rows of a block.
struct BiasSum<'a, 'b> {
    gather: Gather<'a>,
    bias: &'b mut [f32],
}

impl Kernel for BiasSum<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // Row by row: columns are sums of their own, and the loop over them is a vector.
        for &row in self.gather.rows {
            for (sum, &dy) in self.bias.iter_mut().zip(self.gather.row(row)) {
                *sum += dy;
            }
        }
    }
}
