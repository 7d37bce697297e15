//! Trains the sequence autoencoder on random data and prints sequences per processor second:
//! `throughput small|large f32|bf16 taught|sampled THREADS SECONDS`.

#![expect(clippy::print_stdout, reason = "figures are what it is for")]

use std::time::Instant;

use kato_kernels::*;

use kato_probe::process::processor_seconds;

const BATCH: usize = 32;
const STEPS: usize = 50;

#[rustfmt::skip]
fn layers(p: &[Vec<f32>]) -> Vec<LayerWeights<'_>> {
    p.chunks_exact(4).map(|p| LayerWeights { input: &p[0], recurrent: &p[1], input_bias: &p[2], recurrent_bias: &p[3] }).collect()
}

#[rustfmt::skip]
fn layers_mut(p: &mut [Vec<f32>]) -> Vec<LayerGradients<'_>> {
    p.chunks_exact_mut(4).map(|p| { let [input, recurrent, input_bias, recurrent_bias] = p else { unreachable!() }; LayerGradients { input, recurrent, input_bias, recurrent_bias } }).collect()
}

#[rustfmt::skip]
fn main() -> Result<(), Error> {
    let words: Vec<String> = std::env::args().collect();
    let word = |i: usize, otherwise: &str| words.get(i).cloned().unwrap_or_else(|| otherwise.into());
    let (d, h, z, l) = if word(1, "small") == "large" { (300, 512, 64, 2) } else { (50, 128, 16, 1) };
    let precision = if word(2, "f32") == "bf16" { Precision::Bf16 } else { Precision::F32 };
    let taught = word(3, "taught") == "taught";
    let n_threads = word(4, "1").parse().expect("threads");
    let limit: f64 = word(5, "5").parse().expect("seconds");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().expect("threads");
    pool.install(|| {
        let best = Instructions::detect();
        let mut seed = 1_u64;
        let mut numbers = |n: usize, scale: f32| -> Vec<f32> { (0..n).map(|_| { seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1); ((seed >> 40) as f32 / 8_388_608.0 - 1.0) * scale }).collect() };
        let x = numbers(BATCH * STEPS * d, 1.0);
        let teach: Vec<bool> = numbers(STEPS, 1.0).iter().map(|&draw| taught || draw > 0.0).collect();
        let recurrent = (0..l).flat_map(|layer| [4 * h * if layer == 0 { d } else { h }, 4 * h * h, 4 * h, 4 * h]);
        let sizes: Vec<usize> = recurrent.clone().chain([z * h, z, l * h * z, l * h, l * h * z, l * h]).chain(recurrent).chain([d * h, d, d]).collect();
        let mut p: Vec<Vec<f32>> = sizes.iter().map(|&n| numbers(n, 1.0 / (h as f32).sqrt())).collect();
        let mut g: Vec<Vec<f32>> = sizes.iter().map(|&n| vec![0.0; n]).collect();
        let (mut m, mut v) = (g.clone(), g.clone());
        let options = RecurrentStackOptions::new(Cell::Lstm, d, h).with_layers(l).with_precision(precision);
        let (mut encoder, mut decoder) = (RecurrentEncoder::new(options)?, RecurrentDecoder::new(options)?);
        let (mut to_z, mut to_h, mut to_c) = (Linear::new(h, z, precision, best), Linear::new(z, l * h, precision, best), Linear::new(z, l * h, precision, best));
        let mut states = [0; 6].map(|_| vec![0.0; l * BATCH * h]);
        let [hidden, h0, c0, dh0, dc0, swapped] = &mut states;
        let mut codes = [0; 4].map(|_| vec![0.0; BATCH * z]);
        let [code, d_code, d_code_c, d_last] = &mut codes;
        let (mut y, mut dy, mut d_hidden) = (vec![0.0; x.len()], vec![0.0; x.len()], vec![0.0; l * BATCH * h]);
        let swap = |from: &[f32], to: &mut [f32], layers_first: bool| for b in 0..BATCH { for k in 0..l { let (one, other) = ((b * l + k) * h, (k * BATCH + b) * h); let (f, t) = if layers_first { (other, one) } else { (one, other) }; to[t..t + h].copy_from_slice(&from[f..f + h]); } };
        let (a, b) = (4 * l, 4 * l + 6);
        let (mut start, mut processor, mut n, mut loss) = (Instant::now(), processor_seconds().unwrap_or(f64::NAN), 0, 0.0);
        for step in 1.. {
            if step == 4 { (start, processor) = (Instant::now(), processor_seconds().unwrap_or(f64::NAN)); }
            encoder.pack(&layers(&p[..a]), PassKind::Training)?;
            to_z.pack(&p[a], &p[a + 1], PassKind::Training)?; to_h.pack(&p[a + 2], &p[a + 3], PassKind::Training)?; to_c.pack(&p[a + 4], &p[a + 5], PassKind::Training)?;
            decoder.pack(&layers(&p[b..b + a]), Projection { weights: &p[b + a], bias: &p[b + a + 1] }, PassKind::Training)?;
            encoder.forward(EncoderInput::new(&x, BATCH, STEPS))?;
            encoder.hidden(hidden)?;
            let top = (l - 1) * BATCH * h;
            to_z.forward(&hidden[top..], code)?;
            to_h.forward(code, swapped)?; swapped.iter_mut().for_each(|s| *s = s.tanh()); swap(swapped, h0, false);
            to_c.forward(code, swapped)?; swapped.iter_mut().for_each(|s| *s = s.tanh()); swap(swapped, c0, false);
            decoder.forward(DecoderInput::new(&p[b + a + 2], State { hidden: h0, cell: c0 }, BATCH, STEPS).with_truth(&x, &teach), &mut y)?;
            loss = y.iter().zip(&x).map(|(y, x)| (y - x) * (y - x)).sum::<f32>() / x.len() as f32;
            for (i, dy) in dy.iter_mut().enumerate() { *dy = 2.0 * (y[i] - x[i]) / x.len() as f32; }
            let (of_encoder, rest) = g.split_at_mut(a);
            let (bottleneck, rest) = rest.split_at_mut(6);
            let (of_decoder, [pw, pb, start_gradient]) = rest.split_at_mut(a) else { unreachable!() };
            decoder.backward(&dy, &mut DecoderGradients { layers: &mut layers_mut(of_decoder), projection: pw, projection_bias: pb, start: start_gradient, initial: StateGradients { hidden: dh0, cell: dc0 } })?;
            let [zw, zb, hw, hb, cw, cb] = bottleneck else { unreachable!() };
            for (d, s) in [(&mut *dh0, &*h0), (&mut *dc0, &*c0)] { for (d, s) in d.iter_mut().zip(s) { *d *= 1.0 - s * s; } }
            swap(dh0, swapped, true); to_h.backward(swapped, d_code)?; to_h.weight_gradients(swapped, code, hw, hb)?;
            swap(dc0, swapped, true); to_c.backward(swapped, d_code_c)?; to_c.weight_gradients(swapped, code, cw, cb)?;
            for ((sum, one), other) in d_last.iter_mut().zip(&*d_code).zip(&*d_code_c) { *sum = one + other; }
            to_z.backward(d_last, &mut d_hidden[top..])?; to_z.weight_gradients(d_last, &hidden[top..], zw, zb)?;
            encoder.backward(EncoderUpstream { hidden: Some(&d_hidden), ..Default::default() }, &mut EncoderGradients { layers: &mut layers_mut(of_encoder), inputs: None, initial: None })?;
            let norm = g.iter().map(|g| sum_of_squares(best, g)).sum::<f64>().sqrt() as f32;
            for (((p, g), m), v) in p.iter_mut().zip(&g).zip(&mut m).zip(&mut v) { AdamStep::new(1e-3).step(best, step, p, g, (1.0 / norm).min(1.0), (m, v))?; }
            n = step.saturating_sub(3) * BATCH as u64;
            if step > 6 && start.elapsed().as_secs_f64() > limit { break; }
        }
        println!("{:?} {precision:?} {}: {:.0} sequences per processor second, {:.0} a second, loss {loss:.5}", (d, h, z), if taught { "taught" } else { "sampled" }, n as f64 / (processor_seconds().unwrap_or(f64::NAN) - processor), n as f64 / start.elapsed().as_secs_f64());
        Ok(())
    })
}
