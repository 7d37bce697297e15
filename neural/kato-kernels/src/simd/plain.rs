//! Computes tiles in plain Rust: what runs where there is nothing better, and the tests' oracle.

use super::{COLUMNS, Kernel, ROWS, Start, Tile};

/// Returns row `i` of what a tile's sums begin with.
#[inline(always)]
fn start_row(tile: &Tile<'_>, i: usize) -> [f32; COLUMNS] {
    match tile.start {
        Start::Row(row) => *row,
        Start::Out => {
            let at = i * tile.out_stride;
            std::array::from_fn(|j| tile.out[at + j])
        }
    }
}

/// Computes an f32 tile; a fused multiplication keeps the bits of the wide forms.
pub(super) fn tile_f32(strip: &[f32], panel: &[f32], tile: &mut Tile<'_>) {
    for i in 0..tile.n_rows {
        let mut sums = start_row(tile, i);
        for (a, b) in strip.chunks_exact(ROWS).zip(panel.chunks_exact(COLUMNS)) {
            for (sum, &b) in sums.iter_mut().zip(b) {
                *sum = a[i].mul_add(b, *sum);
            }
        }
        let at = i * tile.out_stride;
        tile.out[at..at + COLUMNS].copy_from_slice(&sums);
    }
}

/// Tile of pairs of bf16.
pub(super) struct PairsTile<'a, 'b> {
    pub(super) strip: &'a [u32],
    pub(super) panel: &'a [u32],
    pub(super) tile: &'a mut Tile<'b>,
}

/// Value of the upper half of a pair.
#[inline(always)]
const fn high(pair: u32) -> f32 {
    f32::from_bits(pair & 0xffff_0000)
}

/// Value of the lower half of a pair.
#[inline(always)]
const fn low(pair: u32) -> f32 {
    f32::from_bits(pair << 16)
}

impl Kernel for PairsTile<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let tile = self.tile;
        for i in 0..tile.n_rows {
            let mut sums = start_row(tile, i);
            for (a, b) in self
                .strip
                .chunks_exact(ROWS)
                .zip(self.panel.chunks_exact(COLUMNS))
            {
                let (odd, even) = (high(a[i]), low(a[i]));
                for (sum, &b) in sums.iter_mut().zip(b) {
                    // A product of two bf16 is exact in f32, so this rounds as a fused one does.
                    *sum += odd * high(b);
                    *sum += even * low(b);
                }
            }
            let at = i * tile.out_stride;
            tile.out[at..at + COLUMNS].copy_from_slice(&sums);
        }
    }
}
