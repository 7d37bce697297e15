//! `measure autoencoder`.

use clap::ValueEnum;
use tch::{Device, Kind, Tensor};

use super::measure::{Timing, begin, time};
use crate::autoencoder::{
    Autoencoder, AutoencoderOptions, Batch, Cell, Feed, LossKind, LossOptions,
};
use crate::graph::StepGraph;
use crate::microbes::Precision;
use crate::{Adam, AdamOptions, Error, native};

/// What the decoder is fed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
enum Feeding {
    /// The true vector of the step before, always.
    True,
    /// The true vector in half of the steps, else its own.
    Sampled,
}

/// How a step reaches the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// Operation by operation.
    Eager,
    /// Forward and backward pass as one CUDA graph.
    Graph,
}

#[derive(Debug, clap::Args)]
pub(super) struct AutoencoderArguments {
    #[arg(long, value_enum, default_value_t = Cell::Lstm)]
    cell: Cell,
    /// Numbers of a vector.
    #[arg(long, default_value_t = 300)]
    width: i64,
    /// Numbers of a recurrent state.
    #[arg(long, default_value_t = 512)]
    hidden: i64,
    /// Numbers of a code.
    #[arg(long, default_value_t = 64)]
    code: i64,
    #[arg(long, default_value_t = 2)]
    layers: i64,
    /// Tokens of a chunk.
    #[arg(long, default_value_t = 50)]
    steps: i64,
    #[arg(long, default_value_t = 0.0)]
    dropout: f64,
    #[arg(long, value_delimiter = ',', default_values_t = [32, 256, 1024])]
    batches: Vec<i64>,
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Feeding::True, Feeding::Sampled])]
    feeds: Vec<Feeding>,
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Mode::Eager])]
    modes: Vec<Mode>,
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Precision::F32])]
    precisions: Vec<Precision>,
    /// Seconds of each configuration.
    #[arg(long, default_value_t = 1.5)]
    seconds: f64,
}

#[derive(Debug, Clone, Copy, serde::Serialize)]
struct Configuration {
    batch: i64,
    feed: Feeding,
    mode: Mode,
    precision: Precision,
}

#[derive(Debug, serde::Serialize)]
struct Line {
    engine: &'static str,
    model: &'static str,
    device: &'static str,
    #[serde(flatten)]
    configuration: Configuration,
    /// Sequences a second.
    rate: f64,
    #[serde(flatten)]
    timing: Timing,
}

impl AutoencoderArguments {
    pub(super) fn run(&self, device: Device) -> Result<(), Error> {
        for &batch in &self.batches {
            for &feed in &self.feeds {
                for &precision in &self.precisions {
                    for &mode in &self.modes {
                        let configuration = Configuration {
                            batch,
                            feed,
                            mode,
                            precision,
                        };
                        let timing = self.measure(device, configuration)?;
                        super::print(&Line {
                            engine: "kato-libtorch",
                            model: "autoencoder",
                            device: if device.is_cuda() { "cuda" } else { "cpu" },
                            configuration,
                            rate: timing.per_second(batch),
                            timing,
                        });
                    }
                }
            }
        }
        Ok(())
    }

    fn measure(&self, device: Device, configuration: Configuration) -> Result<Timing, Error> {
        begin(device)?;
        let options = AutoencoderOptions::default()
            .with_cell(self.cell)
            .with_sizes(self.width, self.hidden, self.code)
            .with_layers(self.layers)
            .with_dropout(self.dropout)
            .with_batch_norm(false);
        let model = Autoencoder::new(&options, device)?;
        let shape = [configuration.batch, self.steps, self.width];
        let vectors = Tensor::randn(shape, (Kind::Float, device)) * 0.4;
        let lengths = vec![self.steps; configuration.batch as usize];
        let batch = Batch::new(&vectors, &lengths, device);
        let loss = LossOptions::default().with_kind(LossKind::Mse);
        let adam = AdamOptions::default().with_max_norm(1.0);
        let adam = Adam::new(model.store(), adam);
        match configuration.mode {
            Mode::Eager => self.eager(&model, &batch, &loss, adam, configuration),
            Mode::Graph => self.graph(&model, &batch, &loss, adam, configuration),
        }
    }

    fn eager(
        &self,
        model: &Autoencoder,
        batch: &Batch,
        options: &LossOptions,
        mut adam: Adam,
        configuration: Configuration,
    ) -> Result<Timing, Error> {
        let device = model.store().device();
        let mut coins = Coins(7);
        let bf16 = configuration.precision == Precision::Bf16;
        time(device, self.seconds, || {
            let coins = coins.toss(self.steps);
            let feed = match configuration.feed {
                Feeding::True => Feed::True(&batch.vectors),
                Feeding::Sampled => Feed::Coins(&batch.vectors, &coins),
            };
            adam.clear_gradients()?;
            let scope = bf16.then(|| native::Autocast::enter(device)).transpose()?;
            let loss = model.loss(batch, &feed, options);
            drop(scope);
            loss.backward();
            adam.step()?;
            Ok(loss.detach())
        })
    }

    fn graph(
        &self,
        model: &Autoencoder,
        batch: &Batch,
        options: &LossOptions,
        mut adam: Adam,
        configuration: Configuration,
    ) -> Result<Timing, Error> {
        let device = model.store().device();
        let mut mask = Tensor::ones([self.steps], (Kind::Bool, device));
        let feed = match configuration.feed {
            Feeding::True => Feed::True(&batch.vectors),
            Feeding::Sampled => Feed::Mask(&batch.vectors, &mask.shallow_clone()),
        };
        let bf16 = configuration.precision == Precision::Bf16;
        let mut graph = StepGraph::capture(device, adam.parameters(), || {
            let scope = bf16.then(|| native::Autocast::enter(device));
            let loss = model.loss(batch, &feed, options);
            drop(scope);
            loss
        })?;
        time(device, self.seconds, || {
            // Drawn there: a copy from the host would wait for the step before.
            let coins = Tensor::rand([self.steps], (Kind::Float, device)).lt(0.5);
            mask.copy_(&coins);
            let loss = graph.replay()?.shallow_clone();
            adam.step()?;
            Ok(loss)
        })
    }
}

/// Coins of one half, the same in every run.
struct Coins(u64);

impl Coins {
    fn toss(&mut self, n: i64) -> Vec<bool> {
        let mut next = || {
            // Knuth's linear congruential generator; its upper bits are good enough for coins.
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            self.0 >> 63 == 1
        };
        (0..n).map(|_| next()).collect()
    }
}
