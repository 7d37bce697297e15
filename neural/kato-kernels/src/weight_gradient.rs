//! Computes gradients of weights: one large product over all rows of all steps.

use rayon::prelude::*;

use crate::gather::{GAP, Gather};
use crate::instructions::Instructions;
use crate::pool::Pool;
use crate::precision::Precision;
use crate::simd::{self, COLUMNS, Kernel, ROWS, Start, Tile};
use crate::strips::grow;

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
    values: Vec<f32>,
    pairs: Vec<u32>,
}

impl Scratch {
    /// Makes room.
    fn grow(&mut self, precision: Precision, length: usize) {
        match precision {
            Precision::F32 => grow(&mut self.values, length),
            Precision::Bf16 => grow(&mut self.pairs, length),
        }
    }
}

impl Scratches {
    /// Begins without buffers.
    pub(crate) const fn new() -> Self {
        let inputs = Scratch {
            values: Vec::new(),
            pairs: Vec::new(),
        };
        Self {
            inputs,
            strips: Pool::new(),
        }
    }
}

/// Buffers of a thread that adds up gradients alone.
#[derive(Debug, Default)]
pub(crate) struct Alone {
    inputs: Scratch,
    strips: Scratch,
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
        if self.n == 0 || self.k == 0 {
            return;
        }
        let Scratches { inputs, strips } = scratches;
        self.pack_inputs(&segment, inputs);
        // More than one part lets threads share the work; large ones read inputs less often.
        let part = (self.n / 4).clamp(64, 256) / ROWS * ROWS;
        let length = (self.depth(BLOCK) * ROWS + GAP) * (part / ROWS);
        strips.prepare(|strips| strips.grow(self.precision, length));
        let buffers = (&*inputs, &*strips);
        let parts = weights.par_chunks_mut(part * self.k).enumerate();
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
                blocks.enumerate().for_each(|(i, out)| {
                    gather(i).values::<COLUMNS>(self.instructions, out);
                });
            }
            Precision::Bf16 => {
                let blocks = to.pairs[..n_blocks * length].par_chunks_exact_mut(length);
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

    /// Adds the gradient over one segment to what is there, on the caller's thread.
    pub(crate) fn add(
        &self,
        scratches: &mut Alone,
        segment: &Segment<'_>,
        weights: &mut [f32],
        bias: &mut [f32],
    ) {
        let Alone { inputs, strips } = scratches;
        inputs.grow(self.precision, self.block_length());
        for i in 0..segment.n_blocks() {
            let gather = self.inputs(segment, i);
            match self.precision {
                Precision::F32 => gather.values::<COLUMNS>(self.instructions, &mut inputs.values),
                Precision::Bf16 => gather.pairs::<COLUMNS>(self.instructions, &mut inputs.pairs),
            }
            let (from, stride, rows) = (segment.dy, segment.dy_stride, segment.block(i));
            let gather = Gather {
                from,
                stride,
                rows,
                column: 0,
                n_columns: self.n,
            };
            simd::run(self.instructions, BiasSum { gather, bias });
            self.block(gather, (inputs, 0), true, strips, weights);
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
        for panel in 0..self.k.div_ceil(COLUMNS) {
            let column = panel * COLUMNS;
            let width = COLUMNS.min(self.k - column);
            let panel = index * self.block_length() + panel * (depth * COLUMNS + GAP);
            for strip in 0..n_strips {
                let n_rows = ROWS.min(gather.n_columns - strip * ROWS);
                let out = &mut weights[strip * ROWS * self.k + column..];
                let start = if begun {
                    Start::Out
                } else {
                    Start::Row(&[0.0; COLUMNS])
                };
                let strip = strip * (depth * ROWS + GAP);
                let tile = |tile: Tile<'_>| self.tile(scratch, strip, inputs, panel, depth, tile);
                if width == COLUMNS {
                    tile(Tile {
                        start,
                        out,
                        out_stride: self.k,
                        n_rows,
                    });
                    continue;
                }
                // The last panel is computed aside, as its zeros must not be written.
                let mut aside = [0.0; ROWS * COLUMNS];
                let rows = aside.chunks_exact_mut(COLUMNS).take(n_rows).enumerate();
                rows.filter(|_| begun).for_each(|(i, row)| {
                    row[..width].copy_from_slice(&out[i * self.k..][..width]);
                });
                tile(Tile {
                    start: Start::Out,
                    out: &mut aside,
                    out_stride: COLUMNS,
                    n_rows,
                });
                for (i, row) in aside.chunks_exact(COLUMNS).take(n_rows).enumerate() {
                    out[i * self.k..][..width].copy_from_slice(&row[..width]);
                }
            }
        }
    }

    /// Computes one tile from a strip and a panel that begin at these places.
    fn tile(
        &self,
        strips: &Scratch,
        strip: usize,
        panels: &Scratch,
        panel: usize,
        depth: usize,
        tile: Tile<'_>,
    ) {
        let (n_strip, n_panel) = (depth * ROWS, depth * COLUMNS);
        match self.precision {
            Precision::F32 => {
                let (strips, panels) = (&strips.values[strip..], &panels.values[panel..]);
                simd::tile_f32(
                    self.instructions,
                    &strips[..n_strip],
                    &panels[..n_panel],
                    tile,
                );
            }
            Precision::Bf16 => {
                let (strips, panels) = (&strips.pairs[strip..], &panels.pairs[panel..]);
                simd::tile_bf16(
                    self.instructions,
                    &strips[..n_strip],
                    &panels[..n_panel],
                    tile,
                );
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
        for &row in self.gather.rows {
            for (sum, &dy) in self.bias.iter_mut().zip(self.gather.row(row)) {
                *sum += dy;
            }
        }
    }
}
