//! `steps`: recorded steps of another engine, once more.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tch::{Device, Kind, Tensor};

use crate::autoencoder::{Autoencoder, Batch, Feed, LossKind, LossOptions};
use crate::graph::StepGraph;
use crate::parameters::{Arrays, read_arrays, under};
use crate::{Adam, AdamOptions, Decay, Error, native};

#[derive(Debug, clap::Args)]
pub(super) struct StepsOptions {
    /// Weights, batches, coins and losses, as `reference_steps` of `kato-poetry` writes them.
    file: PathBuf,
    /// The largest gap, as a share of the recorded loss.
    #[arg(long, default_value_t = 1e-4)]
    tolerance: f64,
    /// Runs each step as a CUDA graph.
    #[arg(long)]
    graph: bool,
}

/// What the file holds.
struct Recording {
    weights: Arrays,
    /// `[steps, batch, time, width]`.
    vectors: Tensor,
    lengths: Tensor,
    coins: Tensor,
    losses: Vec<f64>,
    loss: LossOptions,
    adam: AdamOptions,
}

#[derive(Debug, serde::Serialize)]
struct Line<'a> {
    engine: &'static str,
    command: &'static str,
    device: &'static str,
    graph: bool,
    /// The largest gap, as a share of the recorded loss.
    worst: f64,
    /// The step that has it, from 0.
    worst_step: usize,
    tolerance: f64,
    equal: bool,
    losses: &'a [f64],
}

impl StepsOptions {
    pub(super) fn run(&self, device: Device) -> Result<ExitCode, Error> {
        // Single precision is what was recorded; TF32 has 10 bits.
        native::allow_tf32(false, false)?;
        let recording = Recording::read(&self.file)?;
        let losses = recording.repeat(device, self.graph)?;
        let gaps = losses.iter().zip(&recording.losses);
        let gaps = gaps.map(|(found, expected)| ((found - expected) / expected).abs());
        // A loss that is no number is as far away as can be.
        let gaps = gaps.map(|gap| if gap.is_nan() { f64::MAX } else { gap });
        let (worst_step, worst) = gaps
            .enumerate()
            .max_by(|(_, a), (_, b)| a.total_cmp(b))
            .unwrap_or((0, f64::MAX));
        let equal = worst <= self.tolerance;
        super::print(&Line {
            engine: "kato-libtorch",
            command: "steps",
            device: if device.is_cuda() { "cuda" } else { "cpu" },
            graph: self.graph,
            worst,
            worst_step,
            tolerance: self.tolerance,
            equal,
            losses: &losses,
        });
        Ok(ExitCode::from(u8::from(!equal)))
    }
}

impl Recording {
    fn read(path: &Path) -> Result<Self, Error> {
        let arrays = read_arrays(path)?;
        let take = |name: &str| {
            let tensor = arrays.get(name).map(Tensor::shallow_clone);
            tensor.ok_or_else(|| Error::content(path, format!("has no `{name}`")))
        };
        let number = |name: &str| {
            Ok::<_, Error>(
                take(&format!("settings.{name}"))?
                    .view([-1])
                    .double_value(&[0]),
            )
        };
        let losses = take("losses")?.to_kind(Kind::Double);
        let losses = Vec::<f64>::try_from(&losses)?;
        let [vectors, lengths, coins] = [take("vectors")?, take("lengths")?, take("coins")?];
        let n_steps = losses.len() as i64;
        let is_whole = [&vectors, &lengths, &coins]
            .iter()
            .all(|tensor| tensor.size()[0] == n_steps);
        if !is_whole || vectors.dim() != 4 || lengths.dim() != 2 || coins.dim() != 2 || n_steps == 0
        {
            return Err(Error::content(path, "has not one batch a loss"));
        }
        let mse_share = number("mse_share")?;
        let mut loss = LossOptions::default().with_bottleneck_l2(number("bottleneck_l2")?);
        // A share of 1 is the squared difference alone.
        if mse_share >= 1.0 {
            loss = loss.with_kind(LossKind::Mse);
        }
        loss.mse_share = mse_share;
        let adam = AdamOptions::default()
            .with_rate(number("rate")?)
            .with_decay(Decay::L2(number("weight_decay")?))
            .with_max_norm(number("max_norm")?);
        let weights = under("weights.", &arrays);
        Ok(Self {
            weights,
            vectors,
            lengths,
            coins,
            losses,
            loss,
            adam,
        })
    }

    fn batch(&self, step: i64, device: Device) -> Result<(Batch, Vec<bool>), Error> {
        let lengths = Vec::<i64>::try_from(&self.lengths.get(step).to_kind(Kind::Int64))?;
        let coins = Vec::<i64>::try_from(&self.coins.get(step).to_kind(Kind::Int64))?;
        let batch = Batch::new(&self.vectors.get(step), &lengths, device);
        Ok((batch, coins.into_iter().map(|coin| coin != 0).collect()))
    }

    /// Takes all steps from the recorded weights; returns their losses.
    fn repeat(&self, device: Device, graph: bool) -> Result<Vec<f64>, Error> {
        let model = Autoencoder::from_weights(&self.weights, 0.0, device)?;
        let mut adam = Adam::new(model.store(), self.adam);
        if graph {
            return self.replay(&model, adam);
        }
        let step = |step: i64| {
            let (batch, coins) = self.batch(step, device)?;
            adam.clear_gradients()?;
            let loss = model.loss(&batch, &Feed::Coins(&batch.vectors, &coins), &self.loss);
            loss.backward();
            adam.step()?;
            Ok(loss.double_value(&[]))
        };
        (0..self.losses.len() as i64).map(step).collect()
    }

    fn replay(&self, model: &Autoencoder, mut adam: Adam) -> Result<Vec<f64>, Error> {
        let device = model.store().device();
        let (mut batch, coins) = self.batch(0, device)?;
        let mut mask = Tensor::from_slice(&coins).to_device(device);
        let (held, held_mask) = (batch.shared(), mask.shallow_clone());
        let feed = Feed::Mask(&held.vectors, &held_mask);
        let capture = || model.loss(&held, &feed, &self.loss);
        let mut graph = StepGraph::capture(device, adam.parameters(), capture)?;
        // The capture's own runs have moved the running statistics of the norm, which no training loss
        // depends on.
        let step = |step: i64| {
            let (next, coins) = self.batch(step, device)?;
            batch.copy_from(&next)?;
            mask.f_copy_(&Tensor::from_slice(&coins))?;
            let loss = graph.replay()?.shallow_clone();
            adam.step()?;
            Ok(loss.double_value(&[]))
        };
        (0..self.losses.len() as i64).map(step).collect()
    }
}
