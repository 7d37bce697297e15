//! What replicas hold that have divided a model: counted by every allocation of the process. With `KATO_NEURAL_HELD` set
//! to "WIDTH BLOCKS SEQUENCES ROWS", of another model than the small one, and what its steps take.

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
use kato_neural::run::processor_seconds;
use kato_neural::train::{Loss, Share, Task, Trainer, TrainerOptions};
use kato_neural::{Initializer, Pass};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATED: PeakAlloc = PeakAlloc;

/// Held between two steps.
static AT_REST: AtomicUsize = AtomicUsize::new(0);

const N_REPLICAS: usize = 2;
const N_STEPS: usize = 3;

/// A model, and what it is given.
#[derive(Clone, Copy)]
struct Size {
    width: usize,
    n_blocks: usize,
    n_sequences: usize,
    n_rows: usize,
}

impl Size {
    fn chosen() -> Result<Self, Failure> {
        let text = std::env::var("KATO_NEURAL_HELD").unwrap_or_else(|_| "32 96 4 2".to_owned());
        let numbers: Result<Vec<usize>, _> = text.split(' ').map(str::parse).collect();
        let [width, n_blocks, n_sequences, n_rows] = numbers?[..] else {
            return Err("four numbers".into());
        };
        Ok(Self {
            width,
            n_blocks,
            n_sequences,
            n_rows,
        })
    }
}

/// Sums of squares of what a stack makes of rows.
struct Squares(Size);

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
        let Size { width, n_rows, .. } = self.0;
        let values = Initializer::from_seed(2).uniform(batch * n_rows * width, 1.0);
        let rows = TensorData::new(values, [*batch, n_rows, width]);
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
fn steps(size: Size, member: ThreadGroup, sharded: bool) -> Result<usize, Failure> {
    let collective: Arc<dyn Collective> = Arc::new(member);
    let options = TransformerOptions::new(size.width, 2, size.n_blocks);
    let stack = options.init(&mut Initializer::from_seed(1), &device());
    let model = Deep { stack };
    let n_parameters = model.num_params();
    let options = TrainerOptions::new(1).with_sharded(sharded);
    let trainer = Trainer::new(Squares(size), model, options)?;
    let mut trainer = trainer.with_collective(Arc::clone(&collective))?;
    trainer.step(1e-3, &[size.n_sequences])?;
    // From here on all is there that stays: the first step makes moments and workspaces.
    collective.gather(&[])?;
    ALLOCATED.reset_peak_usage();
    AT_REST.store(ALLOCATED.current_usage(), Ordering::Relaxed);
    collective.gather(&[])?;
    for _ in 0..N_STEPS {
        trainer.step(1e-3, &[size.n_sequences])?;
    }
    collective.gather(&[])?;
    Ok(n_parameters)
}

/// Says what a step takes; returns bytes that a replica holds: at rest, the most within its steps, and those of a number for each parameter.
#[expect(
    clippy::print_stdout,
    reason = "figures of another model are asked for"
)]
fn held(size: Size, sharded: bool) -> Result<[f64; 3], Failure> {
    let (before, began) = (ALLOCATED.current_usage(), processor_seconds());
    let replicas = ThreadGroup::split(N_REPLICAS).into_iter();
    let replicas = replicas
        .map(|member| thread::spawn(move || steps(size, member, sharded)))
        .collect::<Vec<_>>();
    let mut n_parameters = 0;
    for replica in replicas {
        n_parameters = replica.join().map_err(|_| "a replica has panicked")??;
    }
    let of_one = |counted: usize| ((counted - before) / N_REPLICAS) as f64;
    let numbers = (size_of::<f32>() * n_parameters) as f64;
    let at_rest = AT_REST.load(Ordering::Relaxed);
    if let Some((began, ended)) = began.zip(processor_seconds()) {
        let step = (ended - began) / (N_STEPS + 1) as f64;
        println!(
            "{n_parameters} parameters, divided: {sharded}: {step:.2} processor seconds a step"
        );
    }
    Ok([of_one(at_rest), of_one(ALLOCATED.peak_usage()), numbers])
}

#[test]
fn a_replica_of_two_holds_little_more_than_half() -> Result<(), Failure> {
    let size = Size::chosen()?;
    let [at_rest, most, numbers] = held(size, false)?;
    // Between steps it has weights and two moments, and beside them names, shapes and room for a block.
    let beside = at_rest - 3.0 * numbers;
    let state = 4.0 * numbers;
    let whole = (most - beside) / state;
    let [_, most, _] = held(size, true)?;
    let divided = (most - beside) / state;
    println!(
        "of a whole model's state: {divided:.3} divided, {whole:.3} with all and what is exchanged"
    );
    assert!(divided <= 0.55, "{divided}");
    assert!(whole >= 1.0, "the meter has missed something: {whole}");
    Ok(())
}
