//! Trains a stack of transformer blocks on random rows and prints tokens per processor second:
//! `stack f32|bf16 THREADS SECONDS [keep]`, where `keep` keeps what each block begins with.

#![expect(clippy::print_stdout, reason = "figures are what it is for")]

use std::time::Instant;

use kato_kernels::*;

use kato_probe::process::processor_seconds;

const BATCH: usize = 64;
const ROWS: usize = 151;
const WIDTH: usize = 128;
const N_BLOCKS: usize = 4;
const SIZES: [usize; 12] = [
    WIDTH,
    WIDTH,
    3 * WIDTH * WIDTH,
    3 * WIDTH,
    WIDTH * WIDTH,
    WIDTH,
    WIDTH,
    WIDTH,
    4 * WIDTH * WIDTH,
    4 * WIDTH,
    4 * WIDTH * WIDTH,
    WIDTH,
];

#[rustfmt::skip]
fn weights(p: &[Vec<f32>]) -> BlockWeights<'_> {
    BlockWeights { norm_1: &p[0], norm_1_bias: &p[1], qkv: &p[2], qkv_bias: &p[3], out: &p[4], out_bias: &p[5], norm_2: &p[6], norm_2_bias: &p[7], up: &p[8], up_bias: &p[9], down: &p[10], down_bias: &p[11] }
}

#[rustfmt::skip]
fn gradients(p: &mut [Vec<f32>]) -> BlockGradients<'_> {
    let [norm_1, norm_1_bias, qkv, qkv_bias, out, out_bias, norm_2, norm_2_bias, up, up_bias, down, down_bias] = p else { unreachable!() };
    BlockGradients { norm_1, norm_1_bias, qkv, qkv_bias, out, out_bias, norm_2, norm_2_bias, up, up_bias, down, down_bias }
}

fn train(precision: Precision, limit: f64, keeps: bool) -> Result<(), Error> {
    let best = Instructions::detect();
    let mut seed = 1_u64;
    let mut number = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 40) as f32 / 8_388_608.0 - 1.0
    };
    let mut x = vec![0.0_f32; BATCH * ROWS * WIDTH];
    x.iter_mut().for_each(|x| *x = number());
    let tensor = |n: usize| -> Vec<f32> { (0..n).map(|_| 0.05 * number()).collect() };
    let mut p: Vec<Vec<f32>> = SIZES.repeat(N_BLOCKS).into_iter().map(tensor).collect();
    for gain in (0..p.len()).step_by(6) {
        p[gain].fill(1.0);
    }
    let mut g: Vec<Vec<f32>> = p.iter().map(|p| vec![0.0; p.len()]).collect();
    let (mut m, mut v) = (g.clone(), g.clone());
    let options = BlockOptions::new(WIDTH, 4).with_precision(precision);
    let mut stack = TransformerStack::new(options)?;
    let (mut y, mut dy, mut dx) = (x.clone(), x.clone(), x.clone());
    let mut inputs = vec![0.0; if keeps { (N_BLOCKS - 1) * x.len() } else { 0 }];
    let (mut start, mut processor) = (Instant::now(), processor_seconds().unwrap_or(f64::NAN));
    for step in 1.. {
        if step == 2 {
            (start, processor) = (Instant::now(), processor_seconds().unwrap_or(f64::NAN));
        }
        let blocks: Vec<_> = p.chunks_exact(SIZES.len()).map(weights).collect();
        stack.pack(&blocks, PassKind::Training)?;
        let mut input = BlockInput::new(&x, BATCH, ROWS);
        if keeps {
            stack.forward_keeping(input, &mut y, &mut inputs)?;
            input = input.with_inputs(&inputs);
        } else {
            stack.forward(input, &mut y)?;
        }
        let loss = sum_of_squares(best, &y) / dy.len() as f64;
        let n = dy.len() as f32;
        let outputs = dy.iter_mut().zip(&y);
        outputs.for_each(|(dy, y)| *dy = 2.0 * y / n);
        let mut blocks: Vec<_> = g.chunks_exact_mut(SIZES.len()).map(gradients).collect();
        stack.backward(input, &dy, &mut dx, &mut blocks)?;
        let adam = AdamStep::new(1e-4).with_decay(0.01);
        for (((p, g), m), v) in p.iter_mut().zip(&g).zip(&mut m).zip(&mut v) {
            adam.step(best, step, p, g, 1.0, (m, v))?;
        }
        if step > 2 && start.elapsed().as_secs_f64() > limit {
            let tokens = ((step - 1) * (BATCH * ROWS) as u64) as f64;
            let (used, wall) = (
                processor_seconds().unwrap_or(f64::NAN) - processor,
                start.elapsed().as_secs_f64(),
            );
            println!(
                "{precision:?}: {:.0} tokens per processor second, {:.0} a second, loss {loss:.5}",
                tokens / used,
                tokens / wall
            );
            return Ok(());
        }
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    let words: Vec<String> = std::env::args().collect();
    let word =
        |i: usize, otherwise: &str| words.get(i).cloned().unwrap_or_else(|| otherwise.into());
    let precision = if word(1, "f32") == "bf16" {
        Precision::Bf16
    } else {
        Precision::F32
    };
    let n_threads = word(2, "1").parse().expect("threads");
    let limit = word(3, "5").parse().expect("seconds");
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(n_threads)
        .build()
        .expect("threads");
    let keeps = word(4, "") == "keep";
    pool.install(|| train(precision, limit, keeps))
}
