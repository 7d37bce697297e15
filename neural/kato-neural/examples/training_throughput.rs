//! Prints how many sequences a sequence autoencoder learns from in a processor second.
//!
//! `RAYON_NUM_THREADS=1 cargo run --release -p kato-neural --example training_throughput [WORD…]`: of
//! `small` and `large`, `f32` and `bf16`, `taught` and `sampled` those that are named, or all; `once` instead of
//! three rounds; `plain` in Burn's own operations.

#![expect(clippy::print_stdout, reason = "it prints what it measured")]

use std::time::Instant;

use kato_neural::burn;
use kato_neural::burn::{module::Module, tensor::Device, tensor::Tensor, tensor::TensorData};
use kato_neural::layers::{
    Bottleneck, Cell, Dropout, Feed, Recurrent, RecurrentOptions, SequenceDecoder,
    SequenceDecoderOptions, StateProjection,
};
use kato_neural::run::{peak_bytes, processor_seconds};
use kato_neural::train::{Loss, Share, Task, Trainer, TrainerOptions};
use kato_neural::{AdamOptions, Initializer, Pass, Precision};

const N_ROWS: usize = 32;
const N_STEPS: usize = 50;

#[derive(Module, Debug)]
struct Autoencoder {
    encoder: Recurrent,
    bottleneck: Bottleneck,
    projection: StateProjection,
    decoder: SequenceDecoder,
}

/// What is measured: the share of true inputs, and whether in Burn's own operations.
struct Rebuild(f64, bool);

impl Task for Rebuild {
    type Model = Autoencoder;
    type Batch = Tensor<3>;

    fn weights(&self, _: &Tensor<3>) -> Vec<f64> {
        vec![(N_ROWS * N_STEPS) as f64, N_ROWS as f64]
    }

    fn n_rows(&self, _: &Tensor<3>) -> usize {
        N_ROWS
    }

    fn loss(&self, model: &Autoencoder, batch: &Tensor<3>, share: &Share<'_>, pass: &Pass) -> Loss {
        let pass = &if self.1 {
            pass.with_plain_operations()
        } else {
            *pass
        };
        let states = model
            .encoder
            .encode(batch.clone(), &[N_STEPS; N_ROWS], pass);
        let units = model.bottleneck.forward(states, pass);
        let state = model.projection.forward(units.clone(), pass);
        let coins = pass.draws(9).coins(N_STEPS, self.0);
        let rebuilt = model
            .decoder
            .forward(state, N_STEPS, Feed::Sampled(batch, &coins), pass);
        let error = (rebuilt - batch.clone()).square().mean_dim(2).sum();
        let penalty = units.square().mean_dim(1).sum().mul_scalar(0.001);
        Loss::new(share.of(0, error) + share.of(1, penalty))
    }
}

fn trainer(size: [usize; 4], forced: f64, plain: bool, precision: Precision) -> Trainer<Rebuild> {
    let ([width, hidden, units, n_layers], device) = (size, Device::flex().autodiff());
    let draws = &mut Initializer::from_seed(1);
    let net = RecurrentOptions::new(Cell::Lstm, width, hidden).with_layers(n_layers);
    let model = Autoencoder {
        encoder: net.init(draws, &device),
        bottleneck: Bottleneck::new(hidden, units, Dropout::new(0.0, 0), false, draws, &device),
        projection: StateProjection::new(units, Cell::Lstm, n_layers, hidden, draws, &device),
        decoder: SequenceDecoderOptions::new(net).init(draws, &device),
    };
    let adam = AdamOptions::default().with_max_norm(1.0);
    let options = TrainerOptions::new(1)
        .with_adam(adam)
        .with_precision(precision);
    Trainer::new(Rebuild(forced, plain), model, options).expect("options that fit")
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let is = |word: &str| words.iter().any(|given| given == word);
    // All of them where none is named.
    let chosen = |word: &str, other: &str| is(word) || !is(other);
    let small = chosen("small", "large").then_some(([50, 128, 16, 1], 40));
    let large = chosen("large", "small").then_some(([300, 512, 64, 2], 4));
    let cases = [
        ("taught", "sampled", 1.0, "f32", "bf16", Precision::F32),
        ("sampled", "taught", 0.5, "f32", "bf16", Precision::F32),
        ("taught", "sampled", 1.0, "bf16", "f32", Precision::Bf16),
        ("sampled", "taught", 0.5, "bf16", "f32", Precision::Bf16),
    ];
    for (size, n_steps) in small.into_iter().chain(large) {
        let values = Initializer::from_seed(2).normal(N_ROWS * N_STEPS * size[0], 0.4);
        let shape = [N_ROWS, N_STEPS, size[0]];
        let batch = [Tensor::from_data(
            TensorData::new(values, shape),
            &Device::flex().autodiff(),
        )];
        for round in 0..if is("once") { 1 } else { 3 } {
            for (feed, no_feed, forced, format, no_format, precision) in cases {
                if !(chosen(feed, no_feed) && chosen(format, no_format)) {
                    continue;
                }
                let mut trainer = trainer(size, forced, is("plain"), precision);
                let mut step = || trainer.step(1e-3, &batch).expect("a finite loss").loss;
                // Buffers grow in the first steps.
                let _ = (0..3).map(|_| step()).sum::<f64>();
                let (wall, cpu) = (Instant::now(), processor_seconds().unwrap_or(f64::NAN));
                let loss = (0..n_steps).map(|_| step()).last().unwrap_or(0.0);
                let n = (n_steps * N_ROWS) as f64;
                let (wall, cpu) = (
                    wall.elapsed().as_secs_f64(),
                    processor_seconds().unwrap_or(f64::NAN) - cpu,
                );
                println!(
                    "{size:?} forced {forced} {precision:?} round {round}: {:.0} a processor second, {:.0} a second, loss {loss:.5}",
                    n / cpu,
                    n / wall
                );
            }
        }
        println!(
            "{size:?}: at most {} resident",
            format_args!("{} MiB", peak_bytes().unwrap_or(0) >> 20)
        );
    }
}
