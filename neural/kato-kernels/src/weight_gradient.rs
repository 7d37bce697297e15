//! Computes gradients of weights: one large product over all rows of all steps.

use std::sync::Mutex;

use rayon::prelude::*;

use crate::gather::Gather;
use crate::instructions::Instructions;
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

/// Buffers of weight gradients, one for each thread that ever computed at the same time.
#[derive(Debug, Default)]
pub(crate) struct Scratches(Mutex<Vec<Scratch>>);

#[derive(Debug, Default)]
struct Scratch {
    values: [Vec<f32>; 2],
    pairs: [Vec<u32>; 2],
}

impl Scratches {
    /// Begins without buffers.
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Runs `work` with a buffer that no other thread has.
    fn with(&self, work: impl FnOnce(&mut Scratch)) {
        let lock = || {
            self.0
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
        };
        // The lock is not held while the buffer is used.
        let taken = lock().pop();
        let mut scratch = taken.unwrap_or_default();
        work(&mut scratch);
        lock().push(scratch);
    }
}

/// Weight gradient to compute: `n` outputs by `k` inputs.
pub(crate) struct WeightGradient<'a> {
    pub(crate) instructions: Instructions,
    pub(crate) precision: Precision,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) n_segments: usize,
    pub(crate) scratches: &'a Scratches,
}

impl WeightGradient<'_> {
    /// Writes the gradient (`n` × `k`), and that of the bias (`n`) where it is asked for.
    ///
    /// `segment` gives the segments, whose first `n` columns of `dy` and `k` of `x` count. Each
    /// element is one sum over segments and rows in their order, whatever thread computes it.
    pub(crate) fn compute<'s>(
        &self,
        segment: impl Fn(usize) -> Segment<'s> + Sync,
        weights: &mut [f32],
        bias: Option<&mut [f32]>,
    ) {
        if self.n == 0 {
            return;
        }
        // Large parts share the work of packing inputs; more than one lets threads share it.
        let part = (self.n / 4).clamp(64, 256) / ROWS * ROWS;
        match bias {
            Some(bias) => weights
                .par_chunks_mut((part * self.k).max(1))
                .zip(bias.par_chunks_mut(part))
                .enumerate()
                .for_each(|(i, (weights, bias))| {
                    self.part(i * part, &segment, weights, Some(bias))
                }),
            None => weights
                .par_chunks_mut((part * self.k).max(1))
                .enumerate()
                .for_each(|(i, weights)| self.part(i * part, &segment, weights, None)),
        }
    }

    /// Computes the outputs from `first` on.
    fn part<'s>(
        &self,
        first: usize,
        segment: &impl Fn(usize) -> Segment<'s>,
        weights: &mut [f32],
        mut bias: Option<&mut [f32]>,
    ) {
        let n = (weights.len() / self.k.max(1)).min(self.n - first);
        let mut begun = false;
        if let Some(bias) = &mut bias {
            bias.fill(0.0);
        }
        self.scratches.with(|scratch| {
            for s in 0..self.n_segments {
                let segment = segment(s);
                for rows in segment.rows.chunks(BLOCK) {
                    let block = Block {
                        segment,
                        rows,
                        first,
                        n,
                    };
                    if let Some(bias) = &mut bias {
                        simd::run(self.instructions, BiasSum { block, bias });
                    }
                    self.block(block, scratch, weights, begun);
                    begun = true;
                }
            }
        });
        if !begun {
            weights.fill(0.0);
        }
    }

    /// Adds one block of rows.
    fn block(&self, block: Block<'_>, scratch: &mut Scratch, weights: &mut [f32], begun: bool) {
        let depth = match self.precision {
            Precision::F32 => block.rows.len(),
            Precision::Bf16 => block.rows.len().div_ceil(2),
        };
        let n_strips = block.n.div_ceil(ROWS);
        self.pack_strips(block, scratch, depth, n_strips);
        for column in (0..self.k).step_by(COLUMNS) {
            let width = COLUMNS.min(self.k - column);
            self.pack_panel(block, scratch, depth, column, width);
            for strip in 0..n_strips {
                let n_rows = ROWS.min(block.n - strip * ROWS);
                let out = &mut weights[strip * ROWS * self.k + column..];
                let start = if begun {
                    Start::Out
                } else {
                    Start::Row(&[0.0; COLUMNS])
                };
                if width == COLUMNS {
                    let tile = Tile {
                        start,
                        out,
                        out_stride: self.k,
                        n_rows,
                    };
                    self.tile(scratch, depth, strip, tile);
                    continue;
                }
                let mut aside = [0.0; ROWS * COLUMNS];
                if begun {
                    for (i, row) in aside.chunks_exact_mut(COLUMNS).take(n_rows).enumerate() {
                        row[..width].copy_from_slice(&out[i * self.k..][..width]);
                    }
                }
                let tile = Tile {
                    start: Start::Out,
                    out: &mut aside,
                    out_stride: COLUMNS,
                    n_rows,
                };
                self.tile(scratch, depth, strip, tile);
                for (i, row) in aside.chunks_exact(COLUMNS).take(n_rows).enumerate() {
                    out[i * self.k..][..width].copy_from_slice(&row[..width]);
                }
            }
        }
    }

    fn tile(&self, scratch: &Scratch, depth: usize, strip: usize, tile: Tile<'_>) {
        let (at, length, panel) = (strip * depth * ROWS, depth * ROWS, depth * COLUMNS);
        match self.precision {
            Precision::F32 => {
                let [strips, panels] = &scratch.values;
                simd::tile_f32(
                    self.instructions,
                    &strips[at..][..length],
                    &panels[..panel],
                    tile,
                );
            }
            Precision::Bf16 => {
                let [strips, panels] = &scratch.pairs;
                simd::tile_bf16(
                    self.instructions,
                    &strips[at..][..length],
                    &panels[..panel],
                    tile,
                );
            }
        }
    }

    /// Packs the gradients of the block: strips of 8 outputs, each `depth` rows or pairs of rows.
    fn pack_strips(&self, block: Block<'_>, scratch: &mut Scratch, depth: usize, n_strips: usize) {
        let length = depth * ROWS;
        let Segment { dy, dy_stride, .. } = block.segment;
        let gather = Gather {
            from: dy,
            stride: dy_stride,
            rows: block.rows,
        };
        for strip in 0..n_strips {
            let first = block.first + strip * ROWS;
            let width = ROWS.min(block.n - strip * ROWS);
            match self.precision {
                Precision::F32 => {
                    grow(&mut scratch.values[0], n_strips * length);
                    let out = &mut scratch.values[0][strip * length..][..length];
                    gather.values::<ROWS>(self.instructions, first, width, out);
                }
                Precision::Bf16 => {
                    grow(&mut scratch.pairs[0], n_strips * length);
                    let out = &mut scratch.pairs[0][strip * length..][..length];
                    gather.pairs::<ROWS>(self.instructions, first, width, out);
                }
            }
        }
    }

    /// Packs 32 inputs of the block.
    fn pack_panel(
        &self,
        block: Block<'_>,
        scratch: &mut Scratch,
        depth: usize,
        column: usize,
        width: usize,
    ) {
        let length = depth * COLUMNS;
        let Segment { x, x_stride, .. } = block.segment;
        let gather = Gather {
            from: x,
            stride: x_stride,
            rows: block.rows,
        };
        match self.precision {
            Precision::F32 => {
                grow(&mut scratch.values[1], length);
                let out = &mut scratch.values[1][..length];
                gather.values::<COLUMNS>(self.instructions, column, width, out);
            }
            Precision::Bf16 => {
                grow(&mut scratch.pairs[1], length);
                let out = &mut scratch.pairs[1][..length];
                gather.pairs::<COLUMNS>(self.instructions, column, width, out);
            }
        }
    }
}

/// Rows of a segment that are summed together, for `n` outputs from `first` on.
#[derive(Clone, Copy)]
struct Block<'a> {
    segment: Segment<'a>,
    rows: &'a [u32],
    first: usize,
    n: usize,
}

/// Sums gradients of outputs over the rows of a block.
struct BiasSum<'a, 'b> {
    block: Block<'a>,
    bias: &'b mut [f32],
}

impl Kernel for BiasSum<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Block {
            segment,
            rows,
            first,
            n,
        } = self.block;
        for &row in rows {
            let dy = &segment.dy[row as usize * segment.dy_stride + first..][..n];
            for (sum, &dy) in self.bias.iter_mut().zip(dy) {
                *sum += dy;
            }
        }
    }
}
