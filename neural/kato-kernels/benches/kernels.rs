//! Measures products, a transformer block, both forms of attention, and a recurrent step.

#![allow(missing_docs, reason = "criterion's macro makes a function")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kato_kernels::{
    Attention, AttentionForm, AttentionGradients, AttentionInput, BlockGradients, BlockInput,
    BlockOptions, BlockWeights, Cell, EncoderGradients, EncoderInput, EncoderUpstream,
    Instructions, LayerGradients, LayerWeights, Linear, PassKind, Precision, RecurrentEncoder,
    RecurrentStackOptions, TransformerStack,
};

/// Numbers between −1 and 1 that differ from one another.
fn numbers(n: usize) -> Vec<f32> {
    (0..n)
        .map(|i| ((i * 37) % 101) as f32 / 50.0 - 1.0)
        .collect()
}

/// A layer forward, backward and by its weights; throughput counts multiplications.
fn products(c: &mut Criterion) {
    let mut group = c.benchmark_group("product");
    let best = Instructions::detect();
    for precision in [Precision::F32, Precision::Bf16] {
        for (rows, k, n) in [(151, 128, 384), (151, 128, 512), (151, 512, 128)] {
            let mut linear = Linear::new(k, n, precision, best);
            linear
                .pack(&numbers(n * k), &[], PassKind::Training)
                .expect("weights that fit");
            let (x, mut y) = (numbers(rows * k), numbers(rows * n));
            let (mut dx, mut d_weights, mut d_bias) = (x.clone(), numbers(n * k), vec![0.0; n]);
            let name = format!("{rows}×{k}×{n} {precision:?}");
            group.throughput(Throughput::Elements((rows * k * n) as u64));
            group.bench_function(BenchmarkId::new("forward", &name), |b| {
                b.iter(|| linear.forward(black_box(&x), &mut y));
            });
            group.bench_function(BenchmarkId::new("backward", &name), |b| {
                b.iter(|| linear.backward(black_box(&y), &mut dx));
            });
            group.bench_function(BenchmarkId::new("weights", &name), |b| {
                b.iter(|| linear.weight_gradients(black_box(&y), &x, &mut d_weights, &mut d_bias));
            });
        }
    }
    group.finish();
}

/// A block over 8 sequences of 151 rows, forward and backward; throughput counts rows.
fn block(c: &mut Criterion) {
    const WIDTH: usize = 128;
    const BATCH: usize = 8;
    const ROWS: usize = 151;
    let mut group = c.benchmark_group("block");
    group.throughput(Throughput::Elements((BATCH * ROWS) as u64));
    let (square, row) = (numbers(4 * WIDTH * WIDTH), numbers(4 * WIDTH));
    let small: Vec<f32> = square.iter().map(|x| x / 16.0).collect();
    let weights = BlockWeights {
        norm_1: &row[..WIDTH],
        norm_1_bias: &row[..WIDTH],
        qkv: &small[..3 * WIDTH * WIDTH],
        qkv_bias: &row[..3 * WIDTH],
        out: &small[..WIDTH * WIDTH],
        out_bias: &row[..WIDTH],
        norm_2: &row[..WIDTH],
        norm_2_bias: &row[..WIDTH],
        up: &small,
        up_bias: &row,
        down: &small,
        down_bias: &row[..WIDTH],
    };
    let mut sums = weights_lengths(WIDTH).map(|n| vec![0.0; n]);
    for precision in [Precision::F32, Precision::Bf16] {
        let options = BlockOptions::new(WIDTH, 4).with_precision(precision);
        let mut block = TransformerStack::new(options).expect("a valid shape");
        block
            .pack(&[weights], PassKind::Training)
            .expect("weights that fit");
        let x = numbers(BATCH * ROWS * WIDTH);
        let (mut y, mut dx) = (x.clone(), x.clone());
        group.bench_function(format!("{precision:?}"), |b| {
            b.iter(|| {
                let input = BlockInput::new(black_box(&x), BATCH, ROWS);
                block.forward(input, &mut y)?;
                block.backward(input, &y, &mut dx, &mut [gradients(&mut sums)])
            });
        });
    }
    group.finish();
}

/// Lengths of a block's tensors.
const fn weights_lengths(d: usize) -> [usize; 12] {
    let (square, wide) = (d * d, 4 * d);
    [
        d,
        d,
        3 * square,
        3 * d,
        square,
        d,
        d,
        d,
        4 * square,
        wide,
        4 * square,
        d,
    ]
}

/// Names tensors.
const fn gradients(tensors: &mut [Vec<f32>; 12]) -> BlockGradients<'_> {
    let [n1, n1b, qkv, qkvb, out, outb, n2, n2b, up, upb, down, downb] = tensors;
    BlockGradients {
        norm_1: n1.as_mut_slice(),
        norm_1_bias: n1b.as_mut_slice(),
        qkv: qkv.as_mut_slice(),
        qkv_bias: qkvb.as_mut_slice(),
        out: out.as_mut_slice(),
        out_bias: outb.as_mut_slice(),
        norm_2: n2.as_mut_slice(),
        norm_2_bias: n2b.as_mut_slice(),
        up: up.as_mut_slice(),
        up_bias: upb.as_mut_slice(),
        down: down.as_mut_slice(),
        down_bias: downb.as_mut_slice(),
    }
}

/// One sequence of 1,024 rows, 4 heads of 32, forward and backward; throughput counts rows.
fn attention(c: &mut Criterion) {
    const ROWS: usize = 1024;
    let mut group = c.benchmark_group("attention");
    group.throughput(Throughput::Elements(ROWS as u64));
    let x = numbers(ROWS * 128);
    let (mut out, [mut queries, mut keys, mut values]) =
        (x.clone(), [x.clone(), x.clone(), x.clone()]);
    for form in [AttentionForm::Plain, AttentionForm::Tiled] {
        let mut attention =
            Attention::new(4, 32, form, Instructions::detect()).expect("a valid shape");
        group.bench_function(format!("{form:?}"), |b| {
            b.iter(|| {
                let input = AttentionInput::new((black_box(&x), ROWS), (&x, ROWS), &x, 1);
                attention.forward(input, &mut out)?;
                let mut to = AttentionGradients {
                    queries: &mut queries,
                    keys: &mut keys,
                    values: &mut values,
                };
                attention.backward(input, &out, &mut to)
            });
        });
    }
    group.finish();
}

/// An LSTM of 128 units over 32 sequences of 50 steps, forward and backward; throughput counts
/// sequences.
fn recurrent(c: &mut Criterion) {
    const INPUTS: usize = 50;
    const HIDDEN: usize = 128;
    const BATCH: usize = 32;
    const STEPS: usize = 50;
    let mut group = c.benchmark_group("recurrent");
    group.throughput(Throughput::Elements(BATCH as u64));
    let small = |n: usize| -> Vec<f32> { numbers(n).iter().map(|x| x / 16.0).collect() };
    let (input, recurrent) = (small(4 * HIDDEN * INPUTS), small(4 * HIDDEN * HIDDEN));
    let bias = small(4 * HIDDEN);
    let weights = LayerWeights {
        input: &input,
        recurrent: &recurrent,
        input_bias: &bias,
        recurrent_bias: &bias,
    };
    let (x, upstream) = (numbers(BATCH * STEPS * INPUTS), numbers(BATCH * HIDDEN));
    let (mut d_input, mut d_recurrent) = (input.clone(), recurrent.clone());
    let [mut input_bias, mut recurrent_bias] = [bias.clone(), bias.clone()];
    for precision in [Precision::F32, Precision::Bf16] {
        let options =
            RecurrentStackOptions::new(Cell::Lstm, INPUTS, HIDDEN).with_precision(precision);
        let mut encoder = RecurrentEncoder::new(options).expect("a valid shape");
        encoder
            .pack(&[weights], PassKind::Training)
            .expect("weights that fit");
        group.bench_function(format!("LSTM {precision:?}"), |b| {
            b.iter(|| {
                encoder.forward(EncoderInput::new(black_box(&x), BATCH, STEPS))?;
                let mut layers = [LayerGradients {
                    input: &mut d_input,
                    recurrent: &mut d_recurrent,
                    input_bias: &mut input_bias,
                    recurrent_bias: &mut recurrent_bias,
                }];
                let mut gradients = EncoderGradients {
                    layers: &mut layers,
                    inputs: None,
                    initial: None,
                };
                let upstream = EncoderUpstream {
                    hidden: Some(&upstream),
                    ..EncoderUpstream::default()
                };
                encoder.backward(upstream, &mut gradients)
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    // Short: the differences that matter here are tenths, not hundredths.
    config = Criterion::default()
        .sample_size(10)
        .warm_up_time(std::time::Duration::from_millis(300))
        .measurement_time(std::time::Duration::from_secs(1));
    targets = products, block, attention, recurrent
}
criterion_main!(benches);
