//! Runs a transformer block over one sequence, with everything between in one thread's buffers.

use std::ops::Range;

use super::branch::{Add, Gradients, add_branch, drop_rows, linear, multiply, split};
use super::options::BlockOptions;
use super::weights::{PackedBlock, lengths};
use crate::activation::{self, Activation};
use crate::attention::head::{self, Columns, ColumnsMut, Head, Targets};
use crate::dropout::{Draw, Dropout};
use crate::norm::LayerNorm;
use crate::simd::{self, COLUMNS};
use crate::strips::{Strips, grow};
use crate::weight_gradient::Alone;

/// Probabilities that are kept at most: half a megabyte.
const MAX_KEPT: usize = 1 << 17;

/// Sequence of a batch.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) sequence: usize,
    pub(super) length: usize,
    pub(super) draw: Option<(Draw, u32)>,
}

impl Place {
    /// Returns the dropout of the block's first or second branch.
    fn dropout(self, options: &BlockOptions, branch: u64) -> Option<Dropout> {
        let (draw, block) = self.draw?;
        Dropout::new(Some(draw), options.dropout, Draw::block(block, branch))
    }
}

/// Buffers of one thread.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Normalised rows before attention and before the net.
    normal: [Vec<f32>; 2],
    qkv: Vec<f32>,
    /// Outputs of attention.
    attended: Vec<f32>,
    /// Rows between the two branches.
    middle: Vec<f32>,
    /// Units of the net before and after their activation.
    up: Vec<f32>,
    active: Vec<f32>,
    /// What a branch adds; on the way back gradients of that width.
    branch: Vec<f32>,
    d_normal: Vec<f32>,
    d_middle: Vec<f32>,
    d_up: Vec<f32>,
    d_qkv: Vec<f32>,
    strips: Strips,
    head: head::Work,
    alone: Alone,
    rows: Vec<u32>,
    /// Probabilities of all heads, where they are few.
    kept: Vec<f32>,
}

impl Work {
    /// Makes room for sequences of up to `n` rows.
    pub(super) fn grow(&mut self, options: &BlockOptions, n: usize) {
        let d = options.width;
        let [normal_1, normal_2] = &mut self.normal;
        let narrow = [
            normal_1,
            normal_2,
            &mut self.attended,
            &mut self.middle,
            &mut self.branch,
            &mut self.d_normal,
            &mut self.d_middle,
        ];
        narrow.into_iter().for_each(|buffer| grow(buffer, n * d));
        for buffer in [&mut self.qkv, &mut self.d_qkv] {
            grow(buffer, 3 * n * d);
        }
        for buffer in [&mut self.up, &mut self.active, &mut self.d_up] {
            grow(buffer, n * options.n_hidden);
        }
        // Fewer rows may keep more than all: every length up to `n` must find room.
        let kept = (0..=n).filter_map(|n| kept_of(options, n, d - d / options.n_heads));
        grow(&mut self.kept, kept.map(|kept| kept.end).max().unwrap_or(0));
        let known = self.rows.len();
        self.rows.extend((known..n).map(|row| row as u32));
    }

    /// Computes everything up to the net's last layer. For the way back it keeps probabilities, as
    /// long as they stay in the cache.
    pub(super) fn forward(
        &mut self,
        options: &BlockOptions,
        packed: &PackedBlock,
        place: Place,
        x: &[f32],
    ) {
        let (n, d) = (place.length, options.width);
        let norm = LayerNorm::new(options.instructions);
        let [[gain, bias], [gain_2, bias_2]] = &packed.norms;
        let [normal_1, normal_2] = &mut self.normal;
        norm.rows(x, gain, bias, &mut normal_1[..n * d]);
        linear(&packed.qkv, normal_1, n, &mut self.strips, &mut self.qkv);
        for first in (0..d).step_by(d / options.n_heads) {
            let out = ColumnsMut {
                values: &mut self.attended,
                stride: d,
                first,
            };
            let kept = kept_of(options, n, first).map(|kept| &mut self.kept[kept]);
            head(options, &self.qkv, n, first).forward(&mut self.head, kept, out);
        }
        linear(
            &packed.out,
            &self.attended,
            n,
            &mut self.strips,
            &mut self.branch,
        );
        let middle = &mut self.middle[..n * d];
        let dropout = place.dropout(options, 0);
        add_branch(options, place, dropout, x, &self.branch[..n * d], middle);
        norm.rows(middle, gain_2, bias_2, &mut normal_2[..n * d]);
        linear(&packed.up, normal_2, n, &mut self.strips, &mut self.up);
        let (up, active) = (&self.up[..n * options.n_hidden], &mut self.active);
        let kernel = activation::Forward {
            activation: Activation::Gelu,
            x: up,
            y: active,
        };
        simd::run(options.instructions, kernel);
    }

    /// Computes the block's outputs from there.
    pub(super) fn finish(
        &mut self,
        options: &BlockOptions,
        packed: &PackedBlock,
        place: Place,
        y: &mut [f32],
    ) {
        linear(
            &packed.down,
            &self.active,
            place.length,
            &mut self.strips,
            &mut self.branch,
        );
        let dropout = place.dropout(options, 1);
        let n = y.len();
        add_branch(
            options,
            place,
            dropout,
            &self.middle[..n],
            &self.branch[..n],
            y,
        );
    }

    /// Goes back from there: writes the gradient of `x`, and adds those of the weights to `sums`.
    pub(super) fn backward(
        &mut self,
        options: &BlockOptions,
        packed: &PackedBlock,
        place: Place,
        (x, dy): (&[f32], &[f32]),
        dx: &mut [f32],
        sums: &mut [f32],
    ) {
        let (n, d) = (place.length, options.width);
        let [
            norm_1,
            norm_1_bias,
            qkv,
            qkv_bias,
            out,
            out_bias,
            norm_2,
            norm_2_bias,
            up,
            up_bias,
            down,
            down_bias,
        ] = split(sums, lengths(options));
        let norm = LayerNorm::new(options.instructions);
        let [normal_1, normal_2] = &self.normal;
        let rows = &self.rows[..n];
        let mut gradients = Gradients {
            options,
            rows,
            alone: &mut self.alone,
        };

        drop_rows(
            options,
            place,
            place.dropout(options, 1),
            dy,
            &mut self.branch[..n * d],
        );
        gradients.add(&packed.down, &self.branch, &self.active, down, down_bias);
        multiply(
            &packed.down.back,
            &self.branch,
            d,
            n,
            &mut self.strips,
            &mut self.active,
        );
        let kernel = activation::Backward {
            activation: Activation::Gelu,
            x: &self.up[..n * options.n_hidden],
            dy: &self.active,
            dx: &mut self.d_up,
        };
        simd::run(options.instructions, kernel);
        gradients.add(&packed.up, &self.d_up, normal_2, up, up_bias);
        let hidden = options.n_hidden;
        multiply(
            &packed.up.back,
            &self.d_up,
            hidden,
            n,
            &mut self.strips,
            &mut self.d_normal,
        );
        let d_middle = &mut self.d_middle[..n * d];
        let (middle, d_normal) = (&self.middle[..n * d], &self.d_normal[..n * d]);
        norm.rows_back(
            middle,
            &packed.norms[1][0],
            d_normal,
            d_middle,
            (norm_2, norm_2_bias),
        );
        simd::run(
            options.instructions,
            Add {
                to: d_middle,
                from: dy,
            },
        );

        drop_rows(
            options,
            place,
            place.dropout(options, 0),
            d_middle,
            &mut self.branch[..n * d],
        );
        gradients.add(&packed.out, &self.branch, &self.attended, out, out_bias);
        multiply(
            &packed.out.back,
            &self.branch,
            d,
            n,
            &mut self.strips,
            &mut self.d_normal,
        );
        for first in (0..d).step_by(d / options.n_heads) {
            let d_out = Columns {
                values: &self.d_normal,
                stride: d,
                first,
            };
            let to = Targets::Together {
                values: &mut self.d_qkv,
                stride: 3 * d,
                firsts: [0, d, 2 * d].map(|part| part + first),
            };
            let kept = kept_of(options, n, first).map(|kept| &self.kept[kept]);
            head(options, &self.qkv, n, first).backward(&mut self.head, kept, d_out, to);
        }
        gradients.add(&packed.qkv, &self.d_qkv, normal_1, qkv, qkv_bias);
        multiply(
            &packed.qkv.back,
            &self.d_qkv,
            3 * d,
            n,
            &mut self.strips,
            &mut self.d_normal,
        );
        let d_normal = &self.d_normal[..n * d];
        norm.rows_back(x, &packed.norms[0][0], d_normal, dx, (norm_1, norm_1_bias));
        simd::run(
            options.instructions,
            Add {
                to: dx,
                from: &self.d_middle[..n * d],
            },
        );
    }
}

/// Returns where the probabilities of the head whose columns begin at `first` are kept; nowhere
/// where those of all heads would not fit the cache.
fn kept_of(options: &BlockOptions, n: usize, first: usize) -> Option<Range<usize>> {
    let length = n.next_multiple_of(COLUMNS) * n;
    let head = first / (options.width / options.n_heads);
    (length * options.n_heads <= MAX_KEPT).then(|| head * length..(head + 1) * length)
}

/// Describes the head whose columns begin at `first`.
fn head<'a>(options: &BlockOptions, qkv: &'a [f32], n: usize, first: usize) -> Head<'a> {
    let d = options.width;
    let columns = |part: usize| Columns {
        values: qkv,
        stride: 3 * d,
        first: part * d + first,
    };
    Head {
        instructions: options.instructions,
        queries: columns(0),
        keys: columns(1),
        values: columns(2),
        n_queries: n,
        n_keys: n,
        width: d / options.n_heads,
        mask: None,
    }
}
