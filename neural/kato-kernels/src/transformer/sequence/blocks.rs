//! Takes one sequence through all blocks of a stack, and back.

use super::super::options::BlockOptions;
use super::super::weights::{PackedBlock, lengths};
use super::backward::branches;
use super::{Place, Shared, Tape};
use crate::recurrent::PassKind;
use crate::rows::grow;

/// Buffers of one thread.
#[derive(Debug, Default)]
pub(in super::super) struct Work {
    /// One of each block, or one for all of them on the way forward alone.
    tapes: Vec<Tape>,
    /// What the blocks above the first begin with.
    inputs: Vec<Vec<f32>>,
    shared: Shared,
}

impl Work {
    /// Makes room for sequences of up to `n` rows, and so many blocks that are computed at once.
    pub(in super::super) fn grow(&mut self, options: &BlockOptions, n_blocks: usize, n: usize) {
        let n_tapes = n_blocks.max(self.tapes.len());
        self.tapes.resize_with(n_tapes, Tape::default);
        self.tapes.iter_mut().for_each(|tape| tape.grow(options, n));
        self.inputs.resize_with(n_tapes - 1, Vec::new);
        let inputs = self.inputs.iter_mut();
        inputs.for_each(|input| grow(input, n * options.width));
        self.shared.grow(options, n);
    }

    /// Writes the outputs of the last block, and into `inputs`, unless it is empty, what the others begin with.
    pub(in super::super) fn forward(
        &mut self,
        options: &BlockOptions,
        blocks: &[PackedBlock],
        place: Place,
        x: &[f32],
        y: &mut [f32],
        inputs: &mut [f32],
    ) {
        let mut inputs = inputs.chunks_exact_mut(x.len().max(1));
        let (tape, shared) = (&mut self.tapes[0], &mut self.shared);
        for (number, packed) in blocks.iter().enumerate() {
            let place = place.of_block(number);
            // A block's input is not read any more when its outputs are written.
            let x = if number == 0 { x } else { &*y };
            shared.forward(tape, options, packed, place, x, PassKind::Inference);
            shared.finish(tape, options, packed, place, y);
            // A sequence without rows has none above either.
            if number + 1 < blocks.len() && !y.is_empty() {
                inputs
                    .next()
                    .into_iter()
                    .for_each(|input| input.copy_from_slice(y));
            }
        }
    }

    /// Computes all blocks again, and goes back through them: writes the gradient of `x`, and adds those of the
    /// weights to `sums`, block behind block, which begin with the first sequence. `kept` is what blocks above the
    /// first began with, or empty.
    pub(in super::super) fn backward(
        &mut self,
        options: &BlockOptions,
        blocks: &[PackedBlock],
        place: Place,
        (x, dy, kept): (&[f32], &[f32], &[f32]),
        dx: &mut [f32],
        (sums, first): (&mut [f32], bool),
    ) {
        let n = x.len();
        let Self {
            tapes,
            inputs,
            shared,
        } = self;
        let all = if kept.is_empty() { blocks } else { &[] };
        for (number, packed) in all.iter().enumerate() {
            let n_below = number.min(inputs.len());
            let (below, above) = inputs.split_at_mut(n_below);
            let x = below.last().map_or(x, |input| &input[..n]);
            let (tape, place) = (&mut tapes[number], place.of_block(number));
            // The way back finds it all in the cache.
            shared.forward(tape, options, packed, place, x, PassKind::Training);
            // What the last block gives is not asked for.
            if number + 1 < blocks.len() {
                shared.finish(tape, options, packed, place, &mut above[0][..n]);
            }
        }
        let n_sums: usize = lengths(options).iter().sum();
        let sums = sums.chunks_exact_mut(n_sums);
        for (number, (packed, sums)) in blocks.iter().zip(sums).enumerate().rev() {
            let place = place.of_block(number);
            let x = match number.checked_sub(1) {
                None => x,
                Some(below) if kept.is_empty() => &inputs[below][..n],
                Some(below) => &kept[below * n..][..n],
            };
            let tape = &mut tapes[if kept.is_empty() { number } else { 0 }];
            if !kept.is_empty() {
                shared.forward(tape, options, packed, place, x, PassKind::Training);
            }
            let [attention, net] = branches(options, sums, first);
            // From above the gradient comes to where it goes on from.
            let upstream = if number + 1 == blocks.len() { dy } else { &*dx };
            shared.net_back(tape, options, packed, place, upstream, (net, first));
            shared.attention_back(tape, options, packed, place, (x, dx), (attention, first));
        }
    }
}
