//! Runs transformer blocks over one sequence, with everything between in one thread's buffers.

mod backward;
mod blocks;
mod tape;

use std::ops::Range;

use super::branch::add_branch;
use super::matrix::Matrix;
use super::options::BlockOptions;
use super::product::{Across, linear};
use super::weights::PackedBlock;
use crate::attention::AttentionForm;
use crate::attention::head::{self, Columns, ColumnsMut, Head, score_stride};
use crate::dropout::{Draw, Dropout};
use crate::norm::LayerNorm;
use crate::recurrent::PassKind;
use crate::rows::{RowPairs, Rows, grow};
pub(super) use blocks::Work;
use tape::Tape;

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
    /// Returns the place of a block, by its number in the stack.
    fn of_block(self, number: usize) -> Self {
        let draw = self.draw.map(|(draw, first)| (draw, first + number as u32));
        Self { draw, ..self }
    }

    /// Returns the dropout of the block's first or second branch.
    fn dropout(self, options: &BlockOptions, branch: u64) -> Option<Dropout> {
        let (draw, block) = self.draw?;
        Dropout::new(Some(draw), options.dropout, Draw::block(block, branch))
    }
}

/// Buffers that the blocks of a stack take turns with.
#[derive(Debug, Default)]
struct Shared {
    /// Gradients of what a branch gave, of outputs of attention, of the units before activation, and
    /// of the projections.
    d_branch: Matrix,
    d_attended: Matrix,
    d_up: Matrix,
    d_qkv: Matrix,
    /// Gradients of the rows between the two branches.
    d_middle: Vec<f32>,
    /// What a branch adds, and gradients of what it begins with.
    branch: Vec<f32>,
    d_normal: Vec<f32>,
    pairs: RowPairs,
    across: Across,
    head: head::Work,
}

impl Shared {
    /// Makes room for sequences of up to `n` rows.
    fn grow(&mut self, options: &BlockOptions, n: usize) {
        let (d, f) = (options.width, options.n_hidden);
        self.d_attended.grow(n, d);
        self.d_branch.grow(n, d);
        self.d_qkv.grow(n, 3 * d);
        self.d_up.grow(n, f);
        // Only walked along, never across: these need no gaps between rows.
        let plain = [&mut self.d_middle, &mut self.branch, &mut self.d_normal];
        plain.into_iter().for_each(|buffer| grow(buffer, n * d));
        // The widest factor of either direction.
        self.pairs.grow(options.precision, n, f.max(3 * d));
        self.across.grow(options.precision, n, f.max(3 * d));
    }

    /// Computes everything up to the net's last layer. For training it keeps probabilities, as long
    /// as they stay in the cache, and the activation's derivative.
    fn forward(
        &mut self,
        tape: &mut Tape,
        options: &BlockOptions,
        packed: &PackedBlock,
        place: Place,
        x: &[f32],
        pass: PassKind,
    ) {
        let (n, d) = (place.length, options.width);
        let norm = LayerNorm::new(options.instructions);
        let [[gain, bias], [gain_2, bias_2]] = &packed.norms;
        let [normal_1, normal_2] = &mut tape.normal;
        norm.rows(x, gain, bias, normal_1.target());
        let target = tape.qkv.target();
        linear(&packed.qkv, normal_1.rows(n), &mut self.pairs, target);
        for first in (0..d).step_by(d / options.n_heads) {
            let (values, stride) = tape.attended.target();
            // A head writes its own columns of the rows that the projection reads.
            let out = ColumnsMut {
                values,
                stride,
                first,
            };
            // Only the way back reads what is kept.
            let kept = kept_of(options, n, first).filter(|_| pass == PassKind::Training);
            let kept = kept.map(|kept| &mut tape.probabilities[kept]);
            head(options, tape.qkv.rows(n), first).forward(&mut self.head, kept, out);
        }
        let target = (&mut *self.branch, d);
        linear(&packed.out, tape.attended.rows(n), &mut self.pairs, target);
        let middle = &mut tape.middle[..n * d];
        let dropout = place.dropout(options, 0);
        add_branch(options, place, dropout, x, &self.branch[..n * d], middle);
        norm.rows(middle, gain_2, bias_2, normal_2.target());
        let target = tape.up.target();
        linear(&packed.up, normal_2.rows(n), &mut self.pairs, target);
        tape.activate(options, n, pass);
    }

    /// Computes the block's outputs from there.
    fn finish(
        &mut self,
        tape: &Tape,
        options: &BlockOptions,
        packed: &PackedBlock,
        place: Place,
        y: &mut [f32],
    ) {
        let rows = tape.active.rows(place.length);
        let target = (&mut *self.branch, options.width);
        linear(&packed.down, rows, &mut self.pairs, target);
        let dropout = place.dropout(options, 1);
        let n = y.len();
        // The residual is added last, to rows that are still in the cache.
        let (middle, branch) = (&tape.middle[..n], &self.branch[..n]);
        add_branch(options, place, dropout, middle, branch, y);
    }
}

/// Returns where the probabilities of the head whose columns begin at `first` are kept; nowhere
/// where attention is tiled and those of all heads would not fit the cache.
fn kept_of(options: &BlockOptions, n: usize, first: usize) -> Option<Range<usize>> {
    let length = n * score_stride(n);
    let head = first / (options.width / options.n_heads);
    let is_kept = options.attention == AttentionForm::Plain || length * options.n_heads <= MAX_KEPT;
    is_kept.then(|| head * length..(head + 1) * length)
}

/// Describes the head whose columns begin at `first`.
fn head<'a>(options: &BlockOptions, qkv: Rows<'a>, first: usize) -> Head<'a> {
    let columns = |part: usize| Columns {
        values: qkv.values,
        stride: qkv.stride,
        first: part * options.width + first,
    };
    Head {
        instructions: options.instructions,
        queries: columns(0),
        keys: columns(1),
        values: columns(2),
        n_queries: qkv.n_rows,
        n_keys: qkv.n_rows,
        width: options.width / options.n_heads,
        mask: None,
    }
}
