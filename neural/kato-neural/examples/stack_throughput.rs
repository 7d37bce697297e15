//! Prints how many tokens a stack of transformer blocks learns from in a processor second.
//!
//! `RAYON_NUM_THREADS=1 cargo run --release -p kato-neural --example stack_throughput [f32 | bf16 | plain | replicas | whole N AT_ONCE]`:
//! 64 sequences of 151 tokens, as one node of four blocks, in three rounds of both number formats or once in one;
//! in Burn's own operations; by two replicas; or one step in `f32` of N sequences whose codes are compared in pairs,
//! so many sequences at a time, or all in one graph that has a node for each 256.

#![expect(clippy::print_stdout, reason = "it prints what it measured")]

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use kato_neural::burn;
use kato_neural::burn::module::Module;
use kato_neural::burn::nn::Embedding;
use kato_neural::burn::tensor::{Device, Int, Tensor, TensorData};
use kato_neural::collective::ThreadGroup;
use kato_neural::layers::{
    AttentionPooling, Positions, Transformer, TransformerOptions, Valid, embedding,
};
use kato_neural::run::{peak_bytes, processor_seconds};
use kato_neural::train::{Encoded, Gather, Loss, Share, Task, Trainer, TrainerOptions};
use kato_neural::{AdamOptions, Decay, Initializer, Pass, Precision};

const WIDTH: usize = 128;
const N_TOKENS: usize = 151;

/// From tokens to a code a sequence.
#[derive(Module, Debug)]
struct Encoder {
    tokens: Embedding,
    positions: Positions,
    stack: Transformer,
    pooling: AttentionPooling,
}

fn encoder(device: &Device) -> Encoder {
    let draws = &mut Initializer::from_seed(1);
    Encoder {
        tokens: embedding(7, WIDTH, 0.02, draws, device),
        positions: Positions::new(N_TOKENS, WIDTH, 0.02, draws, device),
        stack: TransformerOptions::new(WIDTH, 4, 4).init(draws, device),
        pooling: AttentionPooling::new(WIDTH, draws, device),
    }
}

/// Sequences of letters.
struct Sequences {
    letters: Vec<i64>,
}

impl Sequences {
    fn new(n: usize) -> Self {
        let draws = Initializer::from_seed(2).uniform(n * N_TOKENS, 2.0);
        let letters = draws.iter().map(|draw| 3 + draw.floor() as i64);
        Self {
            letters: letters.collect(),
        }
    }

    fn n(&self) -> usize {
        self.letters.len() / N_TOKENS
    }
}

/// What is measured: the codes themselves or their pairs, so many sequences at a time if there is a bound, and whether
/// in Burn's own operations.
#[derive(Default)]
struct Work {
    pairs: bool,
    at_once: Option<usize>,
    plain: bool,
}

/// Sequences of a node.
const N_TOGETHER: usize = 256;

impl Work {
    fn codes(&self, model: &Encoder, batch: &Sequences, pass: &Pass) -> Tensor<2> {
        let pass = if self.plain {
            pass.with_plain_operations()
        } else {
            *pass
        };
        let device = Device::flex().autodiff();
        let codes = batch.letters.chunks(N_TOGETHER * N_TOKENS).map(|letters| {
            let tokens = TensorData::new(letters.to_vec(), [letters.len() / N_TOKENS, N_TOKENS]);
            let tokens = Tensor::<2, Int>::from_data(tokens, &device);
            let rows = model.positions.forward(model.tokens.forward(tokens));
            let rows = model.stack.forward(rows, Valid::All, &pass);
            model.pooling.forward(rows, Valid::All)
        });
        Tensor::cat(codes.collect(), 0)
    }
}

impl Task for Work {
    type Model = Encoder;
    type Batch = Sequences;

    fn weights(&self, batch: &Sequences) -> Vec<f64> {
        vec![batch.n() as f64]
    }

    fn n_rows(&self, batch: &Sequences) -> usize {
        batch.n()
    }

    fn sizes(&self, batch: &Sequences) -> Vec<usize> {
        vec![N_TOKENS; batch.n()]
    }

    fn part(&self, batch: &Sequences, rows: Range<usize>) -> Option<Sequences> {
        let letters = batch.letters[rows.start * N_TOKENS..rows.end * N_TOKENS].to_vec();
        Some(Sequences { letters })
    }

    fn gather(&self) -> Option<&dyn Gather<Encoder, Sequences>> {
        self.pairs.then_some(self as &dyn Gather<_, _>)
    }

    fn loss(&self, model: &Encoder, batch: &Sequences, share: &Share<'_>, pass: &Pass) -> Loss {
        let codes = self.codes(model, batch, pass);
        Loss::new(share.of(0, codes.square().sum()))
    }
}

impl Gather<Encoder, Sequences> for Work {
    fn encode(&self, model: &Encoder, part: &Sequences, _: &Share<'_>, pass: &Pass) -> Encoded {
        Encoded::new(self.codes(model, part, pass))
    }

    fn loss(
        &self,
        _: &Encoder,
        _: &[Sequences],
        codes: Tensor<2>,
        share: &Share<'_>,
        _: &Pass,
    ) -> Loss {
        let products = codes.clone().matmul(codes.transpose());
        Loss::new(share.of(0, products.square().mean_dim(1).sum()))
    }
}

fn trainer(work: Work, precision: Precision) -> Trainer<Work> {
    let adam = AdamOptions::default().with_decay(Decay::Decoupled(0.01));
    let mut options = TrainerOptions::new(1)
        .with_adam(adam)
        .with_precision(precision);
    if let Some(at_once) = work.at_once {
        options = options.with_max_tokens_at_once(at_once * N_TOKENS);
    }
    let model = encoder(&Device::flex().autodiff());
    Trainer::new(work, model, options).expect("options that fit")
}

/// Takes steps over a batch, and says what they took.
fn measure(what: &str, n_steps: usize, n_sequences: usize, mut step: impl FnMut() -> f64) {
    let (wall, cpu) = (Instant::now(), processor_seconds().unwrap_or(f64::NAN));
    let loss = (0..n_steps).map(|_| step()).last().unwrap_or(0.0);
    let n = (n_steps * n_sequences * N_TOKENS) as f64;
    let (wall, cpu) = (
        wall.elapsed().as_secs_f64(),
        processor_seconds().unwrap_or(f64::NAN) - cpu,
    );
    println!(
        "{what}: {:.0} tokens a processor second, {:.0} a second, {:.1} s a step, loss {loss:.5}, at most {}",
        n / cpu,
        n / wall,
        wall / n_steps as f64,
        format_args!("{} MiB", peak_bytes().unwrap_or(0) >> 20)
    );
}

fn main() {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let (plain, pairs) = (mode == "plain", mode == "whole");
    if mode == "replicas" {
        return replicas();
    }
    let number = |at| std::env::args().nth(at).and_then(|word| word.parse().ok());
    let (n, at_once) = (number(2), number(3));
    let (n_sequences, n_steps) = if pairs {
        (n.unwrap_or(8_192), 1)
    } else {
        (64, 4)
    };
    let batch = [Sequences::new(n_sequences)];
    let formats: &[Precision] = match mode.as_str() {
        "f32" | "whole" => &[Precision::F32],
        "bf16" => &[Precision::Bf16],
        _ => &[Precision::F32, Precision::Bf16],
    };
    for round in 0..if pairs || formats.len() == 1 { 1 } else { 3 } {
        for &precision in formats {
            let work = Work {
                pairs,
                at_once,
                plain,
            };
            let mut trainer = trainer(work, precision);
            let mut step = || trainer.step(1e-4, &batch).expect("a finite loss").loss;
            // Buffers grow in the first steps; one over many parts has grown them after the first part.
            if !pairs {
                step();
            }
            let what = format!("{mode} {precision:?}, round {round}");
            measure(&what, n_steps, n_sequences, step);
        }
    }
}

/// The same batch by one, and by two threads that share it.
fn replicas() {
    for round in 0..3 {
        for n_ranks in [1, 2] {
            let threads = ThreadGroup::split(n_ranks).into_iter().map(|member| {
                std::thread::spawn(move || {
                    let trainer = trainer(Work::default(), Precision::F32);
                    let mut trainer = trainer
                        .with_collective(Arc::new(member))
                        .expect("equal replicas");
                    let batch = [Sequences::new(64)];
                    // The kernels' threads are those of the thread that calls: one for each replica.
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
                    let step = |_| trainer.step(1e-4, &batch).expect("a step").loss;
                    let losses = || (0..4).map(step).sum::<f64>();
                    pool.expect("a thread").install(losses)
                })
            });
            let mut threads: Vec<_> = threads.collect();
            measure(
                &format!("{n_ranks} replicas, round {round}"),
                1,
                4 * 64,
                || {
                    threads
                        .drain(..)
                        .map(|thread| thread.join().expect("no panic"))
                        .sum::<f64>()
                },
            );
        }
    }
}
