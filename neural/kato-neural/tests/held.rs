//! What replicas hold that have divided a model: counted by every allocation of the process.

use std::error::Error;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use kato_neural::burn;
use kato_neural::burn::module::Module;
use kato_neural::burn::tensor::{Device, Tensor, TensorData};
use kato_neural::collective::{Collective, ThreadGroup};
use kato_neural::layers::{Transformer, TransformerOptions, Valid};
use kato_neural::train::{Loss, Share, Task, Trainer, TrainerOptions};
use kato_neural::{Initializer, Pass};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Held between two steps.
static AT_REST: AtomicUsize = AtomicUsize::new(0);

const WIDTH: usize = 32;
const N_BLOCKS: usize = 96;
const N_REPLICAS: usize = 2;

/// Sums of squares of what a stack makes of rows.
struct Squares;

#[derive(Module, Debug)]
struct Deep {
    stack: Transformer,
}

impl Task for Squares {
    type Model = Deep;
    type Batch = usize;

    fn weights(&self, batch: &usize) -> Vec<f64> {
        vec![*batch as f64]
    }

    fn n_rows(&self, batch: &usize) -> usize {
        *batch
    }

    fn part(&self, _: &usize, rows: Range<usize>) -> Option<usize> {
        Some(rows.len())
    }

    fn stacks<'m>(&self, model: &'m Deep) -> Vec<&'m Transformer> {
        vec![&model.stack]
    }

    fn loss(&self, model: &Deep, batch: &usize, share: &Share<'_>, pass: &Pass) -> Loss {
        let values = Initializer::from_seed(2).uniform(batch * 2 * WIDTH, 1.0);
        let rows = TensorData::new(values, [*batch, 2, WIDTH]);
        let rows = Tensor::from_data(rows, &device());
        let made = model.stack.forward(rows, Valid::All, pass);
        Loss::new(share.of(0, made.square().sum()))
    }
}

fn device() -> Device {
    Device::flex().autodiff()
}

type Failure = Box<dyn Error + Send + Sync>;

/// Takes some steps; returns the parameters of the model.
fn steps(member: ThreadGroup, sharded: bool) -> Result<usize, Failure> {
    let collective: Arc<dyn Collective> = Arc::new(member);
    let options = TransformerOptions::new(WIDTH, 2, N_BLOCKS);
    let stack = options.init(&mut Initializer::from_seed(1), &device());
    let model = Deep { stack };
    let n_parameters = model.num_params();
    let options = TrainerOptions::new(1).with_sharded(sharded);
    let trainer = Trainer::new(Squares, model, options)?;
    let mut trainer = trainer.with_collective(Arc::clone(&collective))?;
    trainer.step(1e-3, &[4])?;
    // From here on all is there that stays: the first step makes moments and workspaces.
    collective.gather(&[])?;
    ALLOCATED.reset_peak_usage();
    AT_REST.store(ALLOCATED.current_usage(), Ordering::Relaxed);
    collective.gather(&[])?;
    for _ in 0..3 {
        trainer.step(1e-3, &[4])?;
    }
    collective.gather(&[])?;
    Ok(n_parameters)
}

/// Bytes that a replica holds: at rest, the most within its steps, and those of a number for each parameter.
fn held(sharded: bool) -> Result<[f64; 3], Failure> {
    let before = ALLOCATED.current_usage();
    let replicas = ThreadGroup::split(N_REPLICAS).into_iter();
    let replicas = replicas
        .map(|member| thread::spawn(move || steps(member, sharded)))
        .collect::<Vec<_>>();
    let mut n_parameters = 0;
    for replica in replicas {
        n_parameters = replica.join().map_err(|_| "a replica has panicked")??;
    }
    let of_one = |counted: usize| ((counted - before) / N_REPLICAS) as f64;
    let numbers = (size_of::<f32>() * n_parameters) as f64;
    let at_rest = AT_REST.load(Ordering::Relaxed);
    Ok([of_one(at_rest), of_one(ALLOCATED.peak_usage()), numbers])
}

#[test]
fn a_replica_of_two_holds_little_more_than_half() -> Result<(), Failure> {
    let [at_rest, most, numbers] = held(false)?;
    // Between steps it has weights and two moments, and beside them names, shapes and room for a block.
    let beside = at_rest - 3.0 * numbers;
    let state = 4.0 * numbers;
    let whole = (most - beside) / state;
    let [_, most, _] = held(true)?;
    let divided = (most - beside) / state;
    println!(
        "of a whole model's state: {divided:.3} divided, {whole:.3} with all and what is exchanged"
    );
    assert!(divided <= 0.55, "{divided}");
    assert!(whole >= 1.0, "the meter has missed something: {whole}");
    Ok(())
}
