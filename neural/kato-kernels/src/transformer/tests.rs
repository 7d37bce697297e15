//! Compares a stack of transformer blocks with its f64 form.

use rayon::ThreadPoolBuilder;

use super::weights::{N_TENSORS, lengths};
use super::*;
use crate::attention::AttentionForm;
use crate::dropout::{Draw, Dropout, number};
use crate::instructions::Instructions;
use crate::precision::Precision;
use crate::recurrent::PassKind;
use crate::testing::{gap, gradient, numbers};

const BATCH: usize = 3;
const ROWS: usize = 9;
const LENGTHS: [usize; BATCH] = [9, 0, 4];
const DRAW: Draw = Draw::new(3, 11);
const N_BLOCKS: usize = 2;

fn options() -> BlockOptions {
    BlockOptions::new(10, 2).with_hidden(36).with_dropout(0.25)
}

/// All that is differentiated: rows, then the tensors of the blocks.
fn point() -> Vec<f64> {
    let n = N_BLOCKS * lengths(&options()).iter().sum::<usize>();
    numbers(BATCH * ROWS * options().width + n, 9)
        .iter()
        .map(|value| 2.0 * value)
        .collect()
}

/// Linear layer on rows.
fn linear(x: &[f64], weights: &[f64], bias: &[f64]) -> Vec<f64> {
    let k = weights.len() / bias.len();
    let row = |x: &[f64]| -> Vec<f64> {
        let outputs = weights.chunks_exact(k).zip(bias);
        outputs
            .map(|(w, b)| b + w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>())
            .collect()
    };
    x.chunks_exact(k).flat_map(row).collect()
}

fn norm(x: &[f64], gain: &[f64], bias: &[f64]) -> Vec<f64> {
    let n = gain.len() as f64;
    let row = |x: &[f64]| -> Vec<f64> {
        let mean = x.iter().sum::<f64>() / n;
        let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        let scale = 1.0 / (variance + 1e-5).sqrt();
        x.iter()
            .zip(gain)
            .zip(bias)
            .map(|((x, g), b)| (x - mean) * scale * g + b)
            .collect()
    };
    x.chunks_exact(gain.len()).flat_map(row).collect()
}

fn gelu(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= x * x / f64::from(2 * n + 1);
        sum += term;
    }
    x * (0.5 + sum * (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt())
}

fn attend(qkv: &[f64], width: usize, n_heads: usize) -> Vec<f64> {
    let (n, size) = (qkv.len() / (3 * width), width / n_heads);
    let mut out = vec![0.0; n * width];
    for i in 0..n * n_heads {
        let (row, first) = (i / n_heads, i % n_heads * size);
        let at = |row: usize, part: usize| &qkv[(3 * row + part) * width + first..][..size];
        let weight = |key: usize| {
            let product: f64 = at(row, 0).iter().zip(at(key, 1)).map(|(q, k)| q * k).sum();
            (product / (size as f64).sqrt()).exp()
        };
        let total: f64 = (0..n).map(weight).sum();
        for key in 0..n {
            for (j, value) in at(key, 2).iter().enumerate() {
                out[row * width + first + j] += weight(key) / total * value;
            }
        }
    }
    out
}

/// The blocks from their formulas.
fn values(point: &[f64]) -> Vec<f64> {
    let (x, tensors) = point.split_at(BATCH * ROWS * options().width);
    let blocks = tensors.chunks_exact(tensors.len() / N_BLOCKS).zip(5..);
    blocks.fold(x.to_vec(), |x, (tensors, number)| {
        block_values(&x, tensors, number)
    })
}

/// A block from its formulas.
fn block_values(x: &[f64], mut rest: &[f64], number_of_block: u32) -> Vec<f64> {
    let options = options();
    let width = options.width;
    let tensors: [&[f64]; N_TENSORS] = lengths(&options).map(|n| {
        let (tensor, others) = rest.split_at(n);
        rest = others;
        tensor
    });
    let [
        norm_1,
        bias_1,
        qkv,
        qkv_bias,
        out,
        out_bias,
        norm_2,
        bias_2,
        up,
        up_bias,
        down,
        down_bias,
    ] = tensors;
    let mut y = vec![0.0; x.len()];
    for (sequence, &n) in LENGTHS.iter().enumerate() {
        let at = sequence * ROWS * width..(sequence * ROWS + n) * width;
        let mut rows = x[at.clone()].to_vec();
        for branch in 0..2 {
            let added = if branch == 0 {
                let qkv = linear(&norm(&rows, norm_1, bias_1), qkv, qkv_bias);
                linear(&attend(&qkv, width, options.n_heads), out, out_bias)
            } else {
                let up = linear(&norm(&rows, norm_2, bias_2), up, up_bias);
                let active: Vec<f64> = up.into_iter().map(gelu).collect();
                linear(&active, down, down_bias)
            };
            let dropout =
                Dropout::new(Some(DRAW), 0.25, Draw::block(number_of_block, branch)).unwrap();
            for (i, (row, added)) in rows.iter_mut().zip(&added).enumerate() {
                let mask = dropout.row(number(i / width, sequence));
                *row += added * f64::from(mask.factor(i % width));
            }
        }
        y[at].copy_from_slice(&rows);
    }
    y
}

/// Names tensors.
fn weights<T: AsRef<[f32]>>(tensors: &[T; N_TENSORS]) -> BlockWeights<'_> {
    BlockWeights::from_tensors(tensors.each_ref().map(T::as_ref))
}

/// Names tensors that are written.
fn gradients<T: AsMut<[f32]>>(tensors: &mut [T; N_TENSORS]) -> BlockGradients<'_> {
    BlockGradients::from_tensors(tensors.each_mut().map(T::as_mut))
}

/// Cuts values into the tensors of each block.
fn parted<'a>(options: &BlockOptions, mut rest: &'a [f32]) -> Vec<[&'a [f32]; N_TENSORS]> {
    let mut blocks = Vec::new();
    while !rest.is_empty() {
        blocks.push(lengths(options).map(|n| {
            let (tensor, others) = rest.split_at(n);
            rest = others;
            tensor
        }));
    }
    blocks
}

/// Writes gradients behind those of a batch, the blocks' one behind the other.
fn back(
    stack: &mut TransformerStack,
    input: BlockInput<'_>,
    upstream: &[f32],
    n_blocks: usize,
) -> Vec<f32> {
    // Nothing of what was there is to stay.
    let block = || lengths(stack.options()).map(|n| vec![9.0; n]);
    let mut sums: Vec<[Vec<f32>; N_TENSORS]> =
        std::iter::repeat_with(block).take(n_blocks).collect();
    let mut all = vec![9.0; upstream.len()];
    let mut to: Vec<_> = sums.iter_mut().map(gradients).collect();
    stack.backward(input, upstream, &mut all, &mut to).unwrap();
    all.extend(sums.iter().flatten().flatten());
    all
}

/// Runs the kernel; returns outputs, then gradients.
fn run(options: BlockOptions) -> [Vec<f32>; 2] {
    let (all, upstream) = (narrow(&point()), narrow(&upstream()));
    let (x, tensors) = all.split_at(upstream.len());
    let blocks = parted(&options, tensors);
    let blocks: Vec<_> = blocks.iter().map(weights).collect();
    let mut stack = TransformerStack::new(options).unwrap();
    stack.pack(&blocks, PassKind::Training).unwrap();
    let input = BlockInput::new(x, BATCH, ROWS)
        .with_lengths(&LENGTHS)
        .with_draw(DRAW, 5);
    let mut y = vec![9.0; x.len()];
    stack.forward(input, &mut y).unwrap();
    let gradients = back(&mut stack, input, &upstream, N_BLOCKS);
    let (mut same, mut inputs) = (y.clone(), vec![9.0; stack.n_inputs(&input)]);
    same.fill(9.0);
    stack
        .forward_keeping(input, &mut same, &mut inputs)
        .unwrap();
    let kept = input.with_inputs(&inputs);
    let found = back(&mut stack, kept, &upstream, N_BLOCKS);
    assert!(
        same == y && found == gradients,
        "what is kept changes no bit"
    );
    [y, gradients]
}

fn narrow(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&value| value as f32).collect()
}

fn upstream() -> Vec<f64> {
    numbers(BATCH * ROWS * options().width, 10)
}

#[test]
fn values_and_gradients_are_those_of_the_formulas() {
    let expected = gradient(&point(), |point| {
        values(point)
            .iter()
            .zip(upstream())
            .map(|(y, d)| y * d)
            .sum()
    });
    let [y, gradients] = run(options());
    assert!(gap(&y, &values(&point())) < 1e-6);
    let gap = gap(&gradients, &expected);
    assert!(gap < 5e-6, "gap {gap:e}");
}

#[test]
fn instructions_and_threads_give_equal_bits() {
    for precision in [Precision::F32, Precision::Bf16] {
        let options = options().with_precision(precision);
        let first = run(options);
        for set in Instructions::available() {
            assert!(
                run(options.with_instructions(set)) == first,
                "{set:?} {precision:?}"
            );
        }
        for n in [1, 2, 3, 7] {
            let pool = ThreadPoolBuilder::new().num_threads(n).build().unwrap();
            assert!(
                pool.install(|| run(options)) == first,
                "{n} threads, {precision:?}"
            );
        }
    }
}

#[test]
fn a_stack_is_its_blocks_one_after_another() {
    let options = options();
    let (all, upstream) = (narrow(&point()), narrow(&upstream()));
    let (x, tensors) = all.split_at(upstream.len());
    let blocks = parted(&options, tensors);
    // One stack for all, which has had more blocks before: what they left is not read.
    let mut stack = TransformerStack::new(options).unwrap();
    let both = [
        weights(&blocks[1]),
        weights(&blocks[0]),
        weights(&blocks[1]),
    ];
    stack.pack(&both, PassKind::Training).unwrap();
    let whole = BlockInput::new(x, BATCH, ROWS);
    back(&mut stack, whole, &upstream, both.len());
    fn of_block(x: &[f32], number: usize) -> BlockInput<'_> {
        let input = BlockInput::new(x, BATCH, ROWS).with_lengths(&LENGTHS);
        input.with_draw(DRAW, 5 + number as u32)
    }
    let mut outputs = [x.to_vec(), x.to_vec(), x.to_vec()];
    for (number, block) in blocks.iter().enumerate() {
        stack.pack(&[weights(block)], PassKind::Training).unwrap();
        let (from, to) = outputs.split_at_mut(number + 1);
        let input = of_block(&from[number], number);
        stack.forward(input, &mut to[0]).unwrap();
    }
    let (mut sums, mut upstream) = (Vec::new(), upstream);
    for (number, block) in blocks.iter().enumerate().rev() {
        stack.pack(&[weights(block)], PassKind::Training).unwrap();
        let input = of_block(&outputs[number], number);
        let mut found = back(&mut stack, input, &upstream, 1);
        sums.splice(0..0, found.split_off(x.len()));
        upstream = found;
    }
    let [y, gradients] = run(options);
    assert!(y == outputs[N_BLOCKS]);
    assert!(gradients == [upstream, sums].concat());
}

#[test]
fn what_does_not_fit_is_said() {
    let mut stack = TransformerStack::new(options()).unwrap();
    assert!(stack.pack(&[], PassKind::Training).is_err(), "no block");
    let input = BlockInput::new(&[], 0, 0);
    assert!(stack.forward(input, &mut []).is_err(), "not packed");
}

#[test]
fn bf16_is_near_f32() {
    let narrow = run(options().with_precision(Precision::Bf16));
    for (wide, narrow) in run(options()).iter().zip(&narrow) {
        let wide: Vec<f64> = wide.iter().map(|&value| value.into()).collect();
        let gap = gap(narrow, &wide);
        assert!(gap > 1e-5 && gap < 3e-2, "gap {gap:e}");
    }
}

#[test]
fn probabilities_of_long_sequences_are_kept_or_computed_anew_with_equal_bits() {
    // More than are kept unless asked for.
    const N: usize = 300;
    let run = |form| {
        let options = BlockOptions::new(4, 2).with_hidden(8).with_attention(form);
        let tensors = lengths(&options).map(|n| narrow(&numbers(n, n as u64)));
        let x = narrow(&numbers(N * 4, 1));
        let mut stack = TransformerStack::new(options).unwrap();
        stack
            .pack(&[weights(&tensors)], PassKind::Training)
            .unwrap();
        back(&mut stack, BlockInput::new(&x, 1, N), &x, 1)
    };
    assert!(run(AttentionForm::Plain) == run(AttentionForm::Tiled));
}
