//! `measure microbes`.

use clap::ValueEnum;
use tch::Device;

use super::measure::{Timing, begin, time};
use crate::microbes::{Microbes, MicrobesBatch, MicrobesOptions, Precision};
use crate::{Adam, AdamOptions, Decay, Error};

/// How attention is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
enum Attention {
    /// Tile by tile, without the matrix of scores.
    Fused,
    /// Product, softmax, product.
    Plain,
}

/// Whether something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    /// It is.
    On,
    /// It is not.
    Off,
}

#[derive(Debug, clap::Args)]
pub(super) struct MicrobesArguments {
    /// Samples of a batch.
    #[arg(long, default_value_t = 8)]
    batch: i64,
    /// Sequences of a sample.
    #[arg(long, default_value_t = 1024)]
    sequences: i64,
    /// Tokens of a sequence.
    #[arg(long, default_value_t = 151)]
    length: i64,
    #[arg(long, default_value_t = 128)]
    width: i64,
    #[arg(long, default_value_t = 4)]
    heads: i64,
    /// Blocks of each stack.
    #[arg(long, default_value_t = 4)]
    layers: i64,
    #[arg(long, default_value_t = 0.0)]
    dropout: f64,
    /// Sequences that are computed at a time.
    #[arg(long, default_value_t = 256)]
    chunk: i64,
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Precision::F32, Precision::Bf16])]
    precisions: Vec<Precision>,
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Attention::Fused])]
    attention: Vec<Attention>,
    /// Whether blocks are computed again in the backward pass.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Switch::Off, Switch::On])]
    recompute: Vec<Switch>,
    /// Seconds of each configuration.
    #[arg(long, default_value_t = 1.5)]
    seconds: f64,
}

#[derive(Debug, Clone, Copy, serde::Serialize)]
struct Configuration {
    batch: i64,
    precision: Precision,
    attention: Attention,
    recompute: bool,
}

#[derive(Debug, serde::Serialize)]
struct Line {
    engine: &'static str,
    model: &'static str,
    device: &'static str,
    #[serde(flatten)]
    configuration: Configuration,
    /// Tokens a second.
    rate: f64,
    #[serde(flatten)]
    timing: Timing,
}

impl MicrobesArguments {
    pub(super) fn run(&self, device: Device) -> Result<(), Error> {
        let n_tokens = self.batch * self.sequences * self.length;
        for &precision in &self.precisions {
            for &attention in &self.attention {
                for &recompute in &self.recompute {
                    let configuration = Configuration {
                        batch: self.batch,
                        precision,
                        attention,
                        recompute: recompute == Switch::On,
                    };
                    let timing = self.measure(device, configuration)?;
                    super::print(&Line {
                        engine: "kato-libtorch",
                        model: "microbes",
                        device: if device.is_cuda() { "cuda" } else { "cpu" },
                        configuration,
                        rate: timing.per_second(n_tokens),
                        timing,
                    });
                }
            }
        }
        Ok(())
    }

    fn measure(&self, device: Device, configuration: Configuration) -> Result<Timing, Error> {
        begin(device)?;
        let options = MicrobesOptions::default()
            .with_shape(self.width, self.heads, self.layers)
            .with_limits(self.sequences, self.length)
            .with_dropout(self.dropout)
            .with_chunk(self.chunk)
            .with_precision(configuration.precision)
            .with_fused(configuration.attention == Attention::Fused)
            .with_recompute(configuration.recompute);
        let model = Microbes::new(&options, device)?;
        let batch = MicrobesBatch::random(self.batch, self.sequences, self.length, device);
        let adam = AdamOptions::default()
            .with_rate(1e-4)
            .with_decay(Decay::Decoupled(0.01));
        let mut adam = Adam::new(model.store(), adam.with_max_norm(1.0));
        time(device, self.seconds, || {
            adam.clear_gradients()?;
            let loss = model.loss(&batch, true)?;
            loss.backward();
            adam.step()?;
            Ok(loss.detach())
        })
    }
}
