//! Compares a transformer block with its f64 form.

use rayon::ThreadPoolBuilder;

use super::weights::{N_TENSORS, lengths};
use super::*;
use crate::attention::AttentionForm;
use crate::dropout::{Draw, Dropout, number};
use crate::instructions::Instructions;
use crate::precision::Precision;
use crate::recurrent::Pass;
use crate::testing::{gap, gradient, numbers};

const BATCH: usize = 3;
const ROWS: usize = 9;
const LENGTHS: [usize; BATCH] = [9, 0, 4];
const DRAW: Draw = Draw::new(3, 11);

fn options() -> BlockOptions {
    BlockOptions::new(10, 2).with_hidden(36).with_dropout(0.25)
}

/// All that is differentiated: rows, then the tensors of the block.
fn point() -> Vec<f64> {
    let n: usize = lengths(&options()).iter().sum();
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

/// The block from its formulas.
fn values(point: &[f64]) -> Vec<f64> {
    let options = options();
    let width = options.width;
    let (x, mut rest) = point.split_at(BATCH * ROWS * width);
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
            let dropout = Dropout::new(Some(DRAW), 0.25, Draw::block(5, branch)).unwrap();
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
    ] = tensors.each_ref().map(T::as_ref);
    BlockWeights {
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
    }
}

/// Names tensors that are written.
fn gradients<T: AsMut<[f32]>>(tensors: &mut [T; N_TENSORS]) -> BlockGradients<'_> {
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
    ] = tensors.each_mut().map(T::as_mut);
    BlockGradients {
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
    }
}

/// Runs the kernel; returns outputs, then gradients.
fn run(options: BlockOptions) -> [Vec<f32>; 2] {
    run_after(options, |_| ())
}

/// Does so after something else was done with the block.
fn run_after(options: BlockOptions, then: impl Fn(&mut TransformerBlock)) -> [Vec<f32>; 2] {
    let all: Vec<f32> = point().iter().map(|&value| value as f32).collect();
    let upstream: Vec<f32> = upstream().iter().map(|&value| value as f32).collect();
    let (x, mut rest) = all.split_at(upstream.len());
    let tensors = lengths(&options).map(|n| {
        let (tensor, others) = rest.split_at(n);
        rest = others;
        tensor
    });
    let weights = weights(&tensors);
    let mut block = TransformerBlock::new(options).unwrap();
    block.pack(&weights, Pass::Training).unwrap();
    then(&mut block);
    let input = BlockInput::new(x, BATCH, ROWS)
        .with_lengths(&LENGTHS)
        .with_draw(DRAW, 5);
    let mut y = vec![9.0; x.len()];
    block.forward(input, &mut y).unwrap();
    let mut gradients = vec![9.0; all.len()];
    let (dx, mut rest) = gradients.split_at_mut(x.len());
    let mut tensors = lengths(&options).map(|n| {
        let (tensor, others) = std::mem::take(&mut rest).split_at_mut(n);
        rest = others;
        tensor
    });
    let mut to = super::tests::gradients(&mut tensors);
    block.backward(input, &upstream, dx, &mut to).unwrap();
    [y, gradients]
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
fn buffers_of_another_block_serve_as_well() {
    let other = BlockOptions::new(6, 3).with_hidden(50);
    let tensors = lengths(&other).map(|n| -> Vec<f32> {
        let numbers = numbers(n, n as u64);
        numbers.iter().map(|&value| value as f32).collect()
    });
    let found = run_after(options(), |block| {
        let mut used = TransformerBlock::new(other).unwrap();
        used.pack(&weights(&tensors), Pass::Training).unwrap();
        let (x, mut dx) = ([f32::NAN; 60], [0.0; 60]);
        let mut sums = tensors.clone();
        let input = BlockInput::new(&x, 2, 5);
        let mut to = gradients(&mut sums);
        used.backward(input, &x, &mut dx, &mut to).unwrap();
        block.exchange_buffers(&mut used);
    });
    assert!(found == run(options()), "what is in them is not read");
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
        let tensors = lengths(&options).map(|n| -> Vec<f32> {
            let numbers = numbers(n, n as u64);
            numbers.iter().map(|&value| value as f32).collect()
        });
        let x: Vec<f32> = numbers(N * 4, 1)
            .iter()
            .map(|&value| value as f32)
            .collect();
        let mut block = TransformerBlock::new(options).unwrap();
        block.pack(&weights(&tensors), Pass::Training).unwrap();
        let (mut dx, mut sums) = (vec![0.0; x.len()], tensors.clone());
        let input = BlockInput::new(&x, 1, N);
        let mut to = gradients(&mut sums);
        block.backward(input, &x, &mut dx, &mut to).unwrap();
        (dx, sums)
    };
    assert!(run(AttentionForm::Plain) == run(AttentionForm::Tiled));
}
