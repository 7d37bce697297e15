//! Prints how long a checkpoint of a model of 7.97 million parameters stops its training.
//!
//! `cargo run --release -p kato-neural --example checkpoint_stall`

#![expect(clippy::print_stdout, reason = "it prints what it measured")]

use std::time::Instant;

use kato_neural::burn::tensor::{Device, Tensor, TensorData};
use kato_neural::checkpoint::{CheckpointWriter, WriterOptions};
use kato_neural::layers::{Cell, Recurrent, RecurrentOptions};
use kato_neural::train::{Loss, Share, Task, Trainer, TrainerOptions};
use kato_neural::{Error, Initializer, Pass};

/// Drives the states of four layers of 512 units to zero: short sequences, as it is not the sequence
/// that is measured.
struct Shrink;

impl Task for Shrink {
    type Model = Recurrent;
    type Batch = Tensor<3>;

    fn weights(&self, _: &Tensor<3>) -> Vec<f64> {
        vec![2.0]
    }

    fn n_rows(&self, _: &Tensor<3>) -> usize {
        2
    }

    fn loss(&self, model: &Recurrent, batch: &Tensor<3>, share: &Share<'_>, pass: &Pass) -> Loss {
        let states = model.encode(batch.clone(), &[3, 3], pass);
        Loss::new(share.of(0, states.square().sum()))
    }
}

fn main() -> Result<(), Error> {
    let device = Device::flex().autodiff();
    let options = RecurrentOptions::new(Cell::Lstm, 300, 512).with_layers(4);
    let model = options.init(&mut Initializer::from_seed(1), &device);
    let n_parameters = kato_neural::burn::module::Module::num_params(&model);
    let mut trainer = Trainer::new(Shrink, model, TrainerOptions::new(1))?;
    let values = Initializer::from_seed(2).normal(2 * 3 * 300, 1.0);
    let batch = [Tensor::from_data(
        TensorData::new(values, [2, 3, 300]),
        &device,
    )];
    let folder = tempfile::tempdir().map_err(|source| Error::File {
        action: "cannot make",
        path: std::env::temp_dir(),
        source,
    })?;
    let writer = CheckpointWriter::new(folder.path(), WriterOptions::default())?;
    let step = |trainer: &mut Trainer<Shrink>| -> Result<f64, Error> {
        let begin = Instant::now();
        trainer.step(1e-4, &batch)?;
        Ok(begin.elapsed().as_secs_f64() * 1e3)
    };
    (0..5).try_for_each(|_| step(&mut trainer).map(drop))?;
    println!("{n_parameters} parameters; milliseconds");
    for _ in 0..8 {
        let before = step(&mut trainer)?.min(step(&mut trainer)?);
        let begin = Instant::now();
        writer.save(trainer.snapshot())?;
        let stalled = begin.elapsed().as_secs_f64() * 1e3;
        let after = step(&mut trainer)?;
        writer.flush()?;
        println!("stalled {stalled:.3}, a step {before:.1}, the step that copies {after:.1}");
    }
    let statistics = writer.finish()?;
    println!(
        "written {} in {:?} at most",
        statistics.n_written, statistics.longest
    );
    Ok(())
}
