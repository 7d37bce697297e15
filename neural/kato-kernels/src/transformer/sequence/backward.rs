//! Goes back through a transformer block over one sequence.

use super::super::branch::{Add, Scale, drop_rows, split};
use super::super::product::{Gradients, back};
use super::super::weights::lengths;
use super::{BlockOptions, PackedBlock, Place, Shared, Tape, head, kept_of};
use crate::attention::head::{Columns, Targets};
use crate::norm::LayerNorm;
use crate::simd;

/// Gradients of a branch's tensors: gain and bias of its norm, weights and bias of its two layers.
pub(super) type BranchSums<'a> = [&'a mut [f32]; 6];

/// Sums of a block's two branches, attention's first; what they had before the first sequence does not count.
pub(super) fn branches<'a>(
    options: &BlockOptions,
    sums: &'a mut [f32],
    first: bool,
) -> [BranchSums<'a>; 2] {
    let [n1, n1b, qkv, qkvb, out, outb, n2, n2b, up, upb, down, downb] =
        split(sums, lengths(options));
    if first {
        // Norms add to what is there; products of weights begin anew.
        [&mut *n1, &mut *n1b, &mut *n2, &mut *n2b]
            .into_iter()
            .for_each(|sums| sums.fill(0.0));
    }
    [
        [n1, n1b, qkv, qkvb, out, outb],
        [n2, n2b, up, upb, down, downb],
    ]
}

impl Shared {
    /// Goes back through the net: writes `d_middle`.
    pub(super) fn net_back(
        &mut self,
        tape: &Tape,
        options: &BlockOptions,
        packed: &PackedBlock,
        place: Place,
        dy: &[f32],
        ([norm, norm_bias, up, up_bias, down, down_bias], first): (BranchSums<'_>, bool),
    ) {
        let (n, d, set) = (place.length, options.width, options.instructions);
        let pairs = &mut self.pairs;
        let mut gradients = Gradients {
            instructions: set,
            precision: options.precision,
            across: &mut self.across,
            first,
        };
        let dropout = place.dropout(options, 1);
        // A copy with gaps between rows even without dropout: it is read across below.
        drop_rows(options, place, dropout, dy, self.d_branch.target());
        let d_branch = self.d_branch.rows(n);
        gradients.add(&packed.down, d_branch, tape.active.rows(n), down, down_bias);
        back(&packed.down.back, d_branch, pairs, self.d_up.target());
        let length = n * tape.up.stride;
        // The activation's derivative was left there by the way forward.
        let kernel = Scale {
            values: &mut self.d_up.values[..length],
            factors: &tape.up.values[..length],
        };
        simd::run(set, kernel);
        let d_up = self.d_up.rows(n);
        gradients.add(&packed.up, d_up, tape.normal[1].rows(n), up, up_bias);
        back(&packed.up.back, d_up, pairs, (&mut self.d_normal, d));
        let to = &mut self.d_middle[..n * d];
        LayerNorm::new(set).rows_back(
            &tape.middle[..n * d],
            &packed.norms[1][0],
            &self.d_normal[..n * d],
            to,
            (norm, norm_bias),
        );
        // The residual carries the gradient past the net.
        simd::run(set, Add { to, from: dy });
    }

    /// Goes back through attention, from `d_middle` to `dx`.
    pub(super) fn attention_back(
        &mut self,
        tape: &Tape,
        options: &BlockOptions,
        packed: &PackedBlock,
        place: Place,
        (x, dx): (&[f32], &mut [f32]),
        ([norm, norm_bias, qkv, qkv_bias, out, out_bias], first): (BranchSums<'_>, bool),
    ) {
        let (n, d, set) = (place.length, options.width, options.instructions);
        let pairs = &mut self.pairs;
        let mut gradients = Gradients {
            instructions: set,
            precision: options.precision,
            across: &mut self.across,
            first,
        };
        let d_middle = &self.d_middle[..n * d];
        let dropout = place.dropout(options, 0);
        drop_rows(options, place, dropout, d_middle, self.d_branch.target());
        let d_branch = self.d_branch.rows(n);
        gradients.add(&packed.out, d_branch, tape.attended.rows(n), out, out_bias);
        let target = self.d_attended.target();
        back(&packed.out.back, d_branch, pairs, target);
        for first in (0..d).step_by(d / options.n_heads) {
            let d_out = Columns {
                values: &self.d_attended.values,
                stride: self.d_attended.stride,
                first,
            };
            let (values, stride) = self.d_qkv.target();
            // Gradients go where projections lay, so that one product takes all three back.
            let to = Targets::Together {
                values,
                stride,
                firsts: [0, d, 2 * d].map(|part| part + first),
            };
            let kept = kept_of(options, n, first).map(|kept| &tape.probabilities[kept]);
            head(options, tape.qkv.rows(n), first).backward(&mut self.head, kept, d_out, to);
        }
        let d_qkv = self.d_qkv.rows(n);
        gradients.add(&packed.qkv, d_qkv, tape.normal[0].rows(n), qkv, qkv_bias);
        back(&packed.qkv.back, d_qkv, pairs, (&mut self.d_normal, d));
        let d_normal = &self.d_normal[..n * d];
        let gain = &packed.norms[0][0];
        LayerNorm::new(set).rows_back(x, gain, d_normal, dx, (norm, norm_bias));
        // And past attention.
        simd::run(
            set,
            Add {
                to: dx,
                from: d_middle,
            },
        );
    }
}
