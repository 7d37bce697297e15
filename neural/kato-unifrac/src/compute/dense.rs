//! Sums over whole rows, for branches that many samples hold.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::lists::{Held, Walked};
use super::rows::{Block, Rows};

/// Vectors of sums that are kept in registers: all that processors with sixteen of them have room
/// for, beside one of weights and one that is read.
const N_VECTORS: usize = 8;

/// Bytes of a tile's lines that stay in a core's caches while the rows of a block go over them.
/// Measured: smaller groups cost more by beginning anew than they save.
const GROUP_BYTES: usize = 48 << 10;

/// Bytes of tiles that are made at a time, so that they stay in a shared cache.
const TILES_BYTES: usize = 4 << 20;

/// Weights of all samples at some dense branches; zero where a sample does not hold one.
///
/// A tile has some neighbouring samples, and in it a line for each slot. So what is read together
/// lies together.
struct Tiles {
    weights: Vec<f64>,
    width: usize,
    // How many slots have a line, and how many of them are gone over together.
    n_slots: usize,
    n_group: usize,
}

/// Returns how many bytes the tiles of so many samples take at most.
pub(super) fn n_bytes(n_samples: usize, n_branches: usize) -> usize {
    let tiles = Tiles::shape(n_samples);
    let n_lines = tiles.n_slots.min(n_branches);
    n_samples.next_multiple_of(tiles.width) * n_lines * size_of::<f64>()
}

/// Adds what the dense branches of a part add.
pub(super) fn add(walked: &Walked, rows: &Rows, sums: &mut [f64]) {
    if walked.n_dense == 0 {
        return;
    }
    let mut tiles = Tiles::shape(walked.dense.len());
    tiles.n_slots = tiles.n_slots.min(walked.n_dense);
    for start in (0..walked.n_dense).step_by(tiles.n_slots) {
        let slots = start..(start + tiles.n_slots).min(walked.n_dense);
        tiles.fill(walked, slots.clone());
        rows.for_each_block(sums, |block| {
            let held = &walked.dense;
            let (tiles, slots) = (&tiles, slots.clone());
            Arch::new().dispatch(Add {
                held,
                tiles,
                slots,
                rows,
                block,
            });
        });
    }
}

impl Tiles {
    /// Chooses the sizes for this processor; nothing of them changes a result.
    fn shape(n_samples: usize) -> Self {
        struct Width;
        impl WithSimd for Width {
            type Output = usize;

            fn with_simd<S: Simd>(self, _: S) -> usize {
                S::F64_LANES * N_VECTORS
            }
        }
        let width = Arch::new().dispatch(Width);
        let n_group = GROUP_BYTES / (width * size_of::<f64>());
        let line_bytes = n_samples.next_multiple_of(width).max(1) * size_of::<f64>();
        let n_slots = (TILES_BYTES / line_bytes)
            .next_multiple_of(n_group)
            .max(n_group);
        Self {
            weights: Vec::new(),
            width,
            n_slots,
            n_group,
        }
    }

    fn fill(&mut self, walked: &Walked, slots: Range<usize>) {
        let width = self.width;
        let n_weights = walked.dense.len().next_multiple_of(width) * self.n_slots;
        self.weights.clear();
        self.weights.resize(n_weights, 0.0);
        let tiles = self.weights.par_chunks_mut(width * self.n_slots);
        tiles
            .zip(walked.dense.par_chunks(width))
            .for_each(|(tile, samples)| {
                for (column, held) in samples.iter().enumerate() {
                    let range = held.between(&slots);
                    for (&slot, &weight) in
                        held.slots[range.clone()].iter().zip(&held.weights[range])
                    {
                        tile[(slot as usize - slots.start) * width + column] = weight;
                    }
                }
            });
    }
}

struct Add<'a> {
    held: &'a [Held],
    tiles: &'a Tiles,
    slots: Range<usize>,
    rows: &'a Rows,
    block: Block<'a, f64>,
}

impl Add<'_> {
    /// Cuts each row's list where a group of slots ends: for each row of the block one number more
    /// than there are groups.
    fn cuts(&self) -> Vec<usize> {
        let mut cuts = Vec::new();
        for row in self.block.rows.clone() {
            let held = &self.held[self.rows.sample(row)];
            let range = held.between(&self.slots);
            let mut at = range.start;
            cuts.push(at);
            for start in self.slots.clone().step_by(self.tiles.n_group) {
                let end = start + self.tiles.n_group;
                let rest = &held.slots[at..range.end];
                at += rest
                    .iter()
                    .take_while(|&&slot| (slot as usize) < end)
                    .count();
                cuts.push(at);
            }
        }
        cuts
    }
}

impl WithSimd for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let cuts = self.cuts();
        let Self {
            held,
            tiles,
            slots,
            rows,
            mut block,
        } = self;
        let width = tiles.width;
        let n_groups = slots.len().div_ceil(tiles.n_group);
        let mut buffer = vec![0.0; width];
        for (i_tile, tile) in tiles
            .weights
            .chunks_exact(width * tiles.n_slots)
            .enumerate()
        {
            let columns = i_tile * width..((i_tile + 1) * width).min(rows.n_samples());
            let lines = S::as_simd_f64s(tile).0.as_chunks::<N_VECTORS>().0;
            for group in 0..n_groups {
                for (row, cuts) in block.rows.clone().zip(cuts.chunks_exact(n_groups + 1)) {
                    let range = cuts[group]..cuts[group + 1];
                    let first = rows.first_column(row);
                    if range.is_empty() || columns.end <= first {
                        continue;
                    }
                    let held = &held[rows.sample(row)];
                    let list = (
                        &held.slots[range.clone()],
                        &held.weights[range],
                        slots.start,
                    );
                    let start = columns.start.max(first);
                    let sums = &mut block.row(rows, row)[start - first..columns.end - first];
                    if let Some(sums) = S::as_mut_simd_f64s(sums).0.first_chunk_mut() {
                        add_lines(simd, sums, list, lines);
                        continue;
                    }
                    // The row has a part of the tile; what lies before it is summed as well, and
                    // thrown away.
                    let place = start - columns.start..columns.end - columns.start;
                    buffer[place.clone()].copy_from_slice(sums);
                    if let Some(sums) = S::as_mut_simd_f64s(&mut buffer).0.first_chunk_mut() {
                        add_lines(simd, sums, list, lines);
                    }
                    sums.copy_from_slice(&buffer[place]);
                }
            }
        }
    }
}

/// Adds the smaller of two weights, for each line that the row's sample holds and each column.
#[inline(always)]
fn add_lines<S: Simd>(
    simd: S,
    sums: &mut [S::f64s; N_VECTORS],
    (slots, weights, first_slot): (&[u32], &[f64], usize),
    lines: &[[S::f64s; N_VECTORS]],
) {
    let mut kept = *sums;
    for (&slot, &weight) in slots.iter().zip(weights) {
        let weight = simd.splat_f64s(weight);
        let line = &lines[slot as usize - first_slot];
        for (sum, &other) in kept.iter_mut().zip(line) {
            // One after the other, as everywhere: the order of a sum is part of the result.
            *sum = simd.add_f64s(*sum, simd.min_f64s(weight, other));
        }
    }
    *sums = kept;
}
