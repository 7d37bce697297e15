//! Replicas as one: a step over all of their rows, whoever computes them, and pairs across them.

use std::net::TcpListener;
use std::ops::Range;
use std::sync::Arc;
use std::thread;

use kato_neural::burn;
use kato_neural::burn::module::Module;
use kato_neural::burn::nn::Linear;
use kato_neural::burn::tensor::{Tensor, TensorData};
use kato_neural::collective::{Collective, TcpGroup, TcpOptions, ThreadGroup};
use kato_neural::layers::{
    AttentionPooling, Cell, Transformer, TransformerOptions, Valid, apply_linear, linear,
};
use kato_neural::train::{
    Encoded, FitOptions, Gather, Loss, Share, StepPlace, Task, Trainer, TrainerOptions,
};
use kato_neural::{AdamOptions, Initializer, Pass};

use crate::model::{Autoencoder, Batch, Rebuild, Table};
use crate::support::{Nobody, device, weights};

const WIDTH: usize = 8;
const ROWS: usize = 6;

/// Encodes sequences, and judges the distances of all pairs of them.
#[derive(Module, Debug)]
pub(crate) struct Encoder {
    stack: Transformer,
    pooling: AttentionPooling,
    judge: Transformer,
    head: Linear,
}

pub(crate) fn encoder() -> Encoder {
    let draws = &mut Initializer::from_seed(4);
    let options = TransformerOptions::new(WIDTH, 2, 2).with_dropout(0.2, 1);
    Encoder {
        stack: options.init(draws, &device()),
        pooling: AttentionPooling::new(WIDTH, draws, &device()),
        judge: TransformerOptions::new(WIDTH, 2, 1).init(draws, &device()),
        head: linear(WIDTH, 3, 1.0, draws, &device()),
    }
}

pub(crate) struct Sequences {
    rows: Tensor<3>,
    lengths: Vec<usize>,
}

pub(crate) fn sequences(seed: u64, n: usize) -> Sequences {
    let values = Initializer::from_seed(seed).uniform(n * ROWS * WIDTH, 1.0);
    let rows = TensorData::new(values, [n, ROWS, WIDTH]);
    Sequences {
        rows: Tensor::from_data(rows, &device()),
        lengths: (0..n)
            .map(|row| 1 + (row * 5 + seed as usize) % ROWS)
            .collect(),
    }
}

/// With or without the trainer's help, in operations of either kind.
#[derive(Clone, Copy)]
pub(crate) struct Distances {
    pub(crate) gathers: bool,
    pub(crate) fused: bool,
}

impl Distances {
    pub(crate) const fn new(gathers: bool) -> Self {
        Self {
            gathers,
            fused: true,
        }
    }

    const fn pass(&self, pass: &Pass) -> Pass {
        match self.fused {
            true => *pass,
            false => pass.with_plain_operations(),
        }
    }
}

impl Task for Distances {
    type Model = Encoder;
    type Batch = Sequences;

    fn weights(&self, batch: &Sequences) -> Vec<f64> {
        vec![batch.lengths.len() as f64]
    }

    fn n_rows(&self, batch: &Sequences) -> usize {
        batch.lengths.len()
    }

    fn sizes(&self, batch: &Sequences) -> Vec<usize> {
        batch.lengths.clone()
    }

    fn part(&self, batch: &Sequences, rows: Range<usize>) -> Option<Sequences> {
        Some(Sequences {
            rows: batch.rows.clone().slice([rows.clone()]),
            lengths: batch.lengths[rows].to_vec(),
        })
    }

    fn gather(&self) -> Option<&dyn Gather<Encoder, Sequences>> {
        self.gathers.then_some(self as &dyn Gather<_, _>)
    }

    fn stacks<'m>(&self, model: &'m Encoder) -> Vec<&'m Transformer> {
        vec![&model.stack, &model.judge]
    }

    /// All at once, for one batch a step.
    fn loss(&self, model: &Encoder, batch: &Sequences, share: &Share<'_>, pass: &Pass) -> Loss {
        let encoded = self.encode(model, batch, share, pass);
        let own = encoded.loss.unwrap();
        let loss = Gather::loss(self, model, &[], encoded.codes, share, pass);
        Loss::new(loss.value + own.value).with_sum(loss.sums[0] + own.sums[0])
    }
}

impl Gather<Encoder, Sequences> for Distances {
    fn encode(&self, model: &Encoder, part: &Sequences, share: &Share<'_>, pass: &Pass) -> Encoded {
        let valid = Valid::Lengths(&part.lengths);
        let pass = &self.pass(pass);
        let rows = model.stack.forward(part.rows.clone(), valid, pass);
        let codes = model.pooling.forward(rows.clone(), valid);
        // A part's own share, and a number of rows to be told.
        let own = Loss::new(share.of(0, rows.square().sum()).mul_scalar(0.01));
        Encoded::new(codes).with_loss(own.with_sum(part.lengths.len() as f64))
    }

    fn loss(
        &self,
        model: &Encoder,
        _: &[Sequences],
        codes: Tensor<2>,
        share: &Share<'_>,
        pass: &Pass,
    ) -> Loss {
        // Codes look at one another, as sequences of a sample do.
        let codes = codes.unsqueeze::<3>();
        let codes = model.judge.forward(codes, Valid::All, &self.pass(pass));
        let codes = apply_linear(&model.head, codes.squeeze_dim::<2>(0), pass);
        let squares = codes.clone().square().sum_dim(1);
        let products = codes.clone().matmul(codes.transpose());
        let distances = squares.clone() + squares.transpose() - products.mul_scalar(2.0);
        let wanted = (distances - 1.0).square().sum();
        Loss::new(share.of(0, wanted).mul_scalar(1.0 / share.total(0))).with_sum(100.0)
    }
}

pub(crate) fn options(max: Option<usize>) -> TrainerOptions {
    // Some gradients are zero but for rounding, which Adam would make as large as all others.
    let mut adam = AdamOptions::default();
    adam.epsilon = 0.1;
    let mut options = TrainerOptions::new(7).with_adam(adam);
    options.max_tokens_at_once = max;
    options
}

/// Takes three steps; returns weights, then losses and sums.
pub(crate) fn distances(
    gathers: bool,
    max: Option<usize>,
    collective: Option<Arc<dyn Collective>>,
) -> (Vec<f32>, Vec<f64>) {
    three_steps(Distances::new(gathers), options(max), collective)
}

pub(crate) fn three_steps(
    task: Distances,
    options: TrainerOptions,
    collective: Option<Arc<dyn Collective>>,
) -> (Vec<f32>, Vec<f64>) {
    let trainer = Trainer::new(task, encoder(), options).unwrap();
    let mut trainer = match collective {
        Some(collective) => trainer.with_collective(collective).unwrap(),
        None => trainer,
    };
    let mut told = Vec::new();
    for step in 0..3 {
        let report = trainer.step(1e-2, &[sequences(step, 11)]).unwrap();
        told.extend([report.loss, report.sums[0], report.norm]);
    }
    (weights(trainer.whole().unwrap()), told)
}

pub(crate) fn assert_close((found, told): &(Vec<f32>, Vec<f64>), expected: &(Vec<f32>, Vec<f64>)) {
    let gap = |a: f64, b: f64| (a - b).abs() / b.abs().max(1.0);
    let weights = found.iter().zip(&expected.0);
    let widest = weights
        .map(|(&a, &b)| gap(a.into(), b.into()))
        .fold(0.0, f64::max);
    assert!(widest < 1e-5, "weights: {widest}");
    let told = told.iter().zip(&expected.1);
    let widest = told.map(|(&a, &b)| gap(a, b)).fold(0.0, f64::max);
    assert!(widest < 1e-5, "losses, sums, norms: {widest}");
}

#[test]
fn a_loss_over_pairs_is_the_same_however_its_rows_are_cut() {
    let expected = distances(false, None, None);
    // One part takes the direct way.
    let direct = distances(true, None, None);
    assert!(direct.0 == expected.0, "the same graph in another order");
    assert_close(&direct, &expected);
    for max in [1, 9, 20] {
        assert_close(&distances(true, Some(max), None), &expected);
    }
}

/// Runs `replica` in a thread for each member of a group.
pub(crate) fn together<C: Collective + 'static, R: Send>(
    group: Vec<C>,
    replica: impl Fn(Arc<dyn Collective>) -> R + Sync,
) -> Vec<R> {
    let replica = &replica;
    thread::scope(|scope| {
        let threads = group
            .into_iter()
            .map(|member| scope.spawn(move || replica(Arc::new(member))));
        let threads: Vec<_> = threads.collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

#[test]
fn pairs_count_across_replicas() {
    let expected = distances(false, None, None);
    for n_ranks in [1, 2, 3] {
        for max in [None, Some(9)] {
            let replica = |collective| distances(true, max, Some(collective));
            let all = together(ThreadGroup::split(n_ranks), replica);
            for found in &all {
                assert_close(found, &expected);
                // To the bit, or they would drift apart.
                assert!(found == &all[0], "{n_ranks} replicas differ");
            }
        }
    }
}

/// Takes three steps of an autoencoder; the second batch of a step has the rows behind the first.
fn rebuild(collective: Option<Arc<dyn Collective>>) -> (Vec<f32>, Vec<f64>) {
    let model = Autoencoder::new(Cell::Lstm, false, 1, &device());
    let trainer = Trainer::new(Rebuild, model, options(None)).unwrap();
    let mut trainer = match collective {
        Some(collective) => trainer.with_collective(collective).unwrap(),
        None => trainer,
    };
    let mut told = Vec::new();
    for step in 0..3 {
        let batches = [0, 7].map(|first| Batch::new(5, 12 * step + first, 7, &device()));
        let report = trainer.step(1e-2, &batches).unwrap();
        told.extend([report.loss, report.norm]);
    }
    (weights(trainer.model()), told)
}

#[test]
fn a_step_of_replicas_is_that_of_one_over_all_rows() {
    let expected = rebuild(None);
    // More replicas than some batches have rows for, too.
    for n_ranks in [2, 3, 20] {
        let all = together(ThreadGroup::split(n_ranks), |collective| {
            rebuild(Some(collective))
        });
        for found in &all {
            assert_close(found, &expected);
            assert!(found == &all[0], "{n_ranks} replicas differ");
        }
    }
}

pub(crate) fn free_address() -> std::net::SocketAddr {
    // Closed again at once: the system does not give it to another for a while.
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
}

/// Joins the replicas of a group over the loopback.
pub(crate) fn joined(n_ranks: usize) -> Vec<TcpGroup> {
    let address = free_address();
    thread::scope(|scope| {
        // The first one last: others have to wait for it.
        let ranks: Vec<_> = (0..n_ranks)
            .rev()
            .map(|rank| {
                let options = TcpOptions::new(address, rank, n_ranks, 9);
                scope.spawn(move || TcpGroup::join(options).unwrap())
            })
            .collect();
        ranks
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    })
}

#[test]
fn connections_give_the_bits_of_threads() {
    let expected = together(ThreadGroup::split(3), |collective| {
        distances(true, Some(9), Some(collective))
    });
    let found = together(joined(3), |collective| {
        distances(true, Some(9), Some(collective))
    });
    assert!(found == expected, "connections and threads differ");
}

#[test]
fn a_run_through_the_epochs_ends_with_all_replicas_at_the_same_place() {
    let expected = [6, 6];
    let steps = together(ThreadGroup::split(2), |collective| {
        let model = Autoencoder::new(Cell::Gru, false, 1, &device());
        let mut trainer = Trainer::new(Rebuild, model, options(None))
            .unwrap()
            .with_collective(collective)
            .unwrap();
        let mut table = Table {
            n_batches: 3,
            n_rows: 4,
            device: device(),
        };
        let rate = |_: &StepPlace| 1e-3;
        let fit = trainer.fit(&mut table, &rate, &FitOptions::new(2), None, &mut Nobody);
        fit.unwrap().n_steps
    });
    assert_eq!(steps, expected);
}
