//! A small sequence autoencoder, as a task and with its batches.

use std::ops::Range;

use kato_neural::burn;
use kato_neural::burn::module::Module;
use kato_neural::burn::tensor::{Device, Tensor, TensorData};
use kato_neural::layers::{
    Bottleneck, Cell, Dropout, Feed, Recurrent, RecurrentOptions, SequenceDecoder,
    SequenceDecoderOptions, StateProjection,
};
use kato_neural::train::{Batches, Loss, Share, Task};
use kato_neural::{BoxError, Initializer, Pass};

const WIDTH: usize = 4;
const N_STEPS: usize = 5;

/// Every kind of parameter that there is: recurrent, linear, vector, running statistics.
#[derive(Module, Debug)]
pub(crate) struct Autoencoder {
    encoder: Recurrent,
    bottleneck: Bottleneck,
    projection: StateProjection,
    decoder: SequenceDecoder,
}

impl Autoencoder {
    pub(crate) fn new(cell: Cell, norm: bool, seed: u64, device: &Device) -> Self {
        let draws = &mut Initializer::from_seed(seed);
        let recurrent = RecurrentOptions::new(cell, WIDTH, 6).with_layers(2);
        let bottleneck = Dropout::new(0.1, 30);
        Self {
            encoder: recurrent.with_dropout(0.2, 10).init(draws, device),
            bottleneck: Bottleneck::new(6, 3, bottleneck, norm, draws, device),
            projection: StateProjection::new(3, cell, 2, 6, draws, device),
            decoder: SequenceDecoderOptions::new(recurrent.with_dropout(0.2, 20))
                .with_output_dropout(0.1, 31)
                .init(draws, device),
        }
    }

    /// Mean cosine of rebuilt and true vectors, with its own predictions fed.
    pub(crate) fn cosine(&self, batch: &Batch) -> f32 {
        let (rebuilt, _) = self.forward(batch, Feed::Own, &Pass::evaluation());
        let length = |vectors: &Tensor<3>| vectors.clone().square().sum_dim(2).sqrt();
        let lengths = length(&rebuilt) * length(&batch.vectors);
        ((rebuilt * batch.vectors.clone()).sum_dim(2) / lengths)
            .mean()
            .into_scalar()
    }

    fn forward(&self, batch: &Batch, feed: Feed<'_>, pass: &Pass) -> (Tensor<3>, Tensor<2>) {
        let encoded = self
            .encoder
            .encode(batch.vectors.clone(), &batch.lengths, pass);
        let units = self.bottleneck.forward(encoded, pass);
        let state = self.projection.forward(units.clone(), pass);
        (self.decoder.forward(state, N_STEPS, feed, pass), units)
    }
}

/// Sequences of uneven length.
#[derive(Debug, Clone)]
pub(crate) struct Batch {
    vectors: Tensor<3>,
    lengths: Vec<usize>,
}

impl Batch {
    /// Rows `first..first + n` of an endless table that a seed decides.
    pub(crate) fn new(seed: u64, first: usize, n: usize, device: &Device) -> Self {
        let row = |row: usize| {
            let mut draws = Initializer::from_seed(seed * 1_000_003 + row as u64);
            let length = 1 + (row * 7) % N_STEPS;
            (draws.uniform(N_STEPS * WIDTH, 1.0), length)
        };
        let (values, lengths): (Vec<_>, Vec<_>) = (first..first + n).map(row).unzip();
        let vectors = TensorData::new(values.concat(), [n, N_STEPS, WIDTH]);
        Self {
            vectors: Tensor::from_data(vectors, device),
            lengths,
        }
    }

    fn mask(&self) -> Tensor<3> {
        let valid = |&length: &usize| (0..N_STEPS).map(move |at| f32::from(u8::from(at < length)));
        let mask: Vec<f32> = self.lengths.iter().flat_map(valid).collect();
        let shape = [self.lengths.len(), N_STEPS, 1];
        Tensor::from_data(TensorData::new(mask, shape), &self.vectors.device())
    }
}

/// Squared error per valid token, and a penalty per row.
#[derive(Debug)]
pub(crate) struct Rebuild;

impl Task for Rebuild {
    type Model = Autoencoder;
    type Batch = Batch;

    fn weights(&self, batch: &Batch) -> Vec<f64> {
        vec![
            batch.lengths.iter().sum::<usize>() as f64,
            batch.lengths.len() as f64,
        ]
    }

    fn n_rows(&self, batch: &Batch) -> usize {
        batch.lengths.len()
    }

    fn sizes(&self, batch: &Batch) -> Vec<usize> {
        batch.lengths.clone()
    }

    fn part(&self, batch: &Batch, rows: Range<usize>) -> Option<Batch> {
        Some(Batch {
            vectors: batch.vectors.clone().slice([rows.clone()]),
            lengths: batch.lengths[rows].to_vec(),
        })
    }

    fn loss(&self, model: &Autoencoder, batch: &Batch, share: &Share<'_>, pass: &Pass) -> Loss {
        let coins = pass.draws(99).coins(N_STEPS, 0.5);
        let (rebuilt, units) = model.forward(batch, Feed::Sampled(&batch.vectors, &coins), pass);
        let error = (rebuilt - batch.vectors.clone()).square().mean_dim(2) * batch.mask();
        let penalty = units.square().mean_dim(1).sum().mul_scalar(0.001);
        Loss::new(share.of(0, error.sum()) + share.of(1, penalty)).with_sum(1.0)
    }
}

/// Batches of a table, in an order that differs from epoch to epoch.
pub(crate) struct Table {
    pub(crate) n_batches: u64,
    pub(crate) n_rows: usize,
    pub(crate) device: Device,
}

impl Batches for Table {
    type Batch = Batch;

    fn n_batches(&self, _epoch: u64) -> u64 {
        self.n_batches
    }

    fn batches(
        &mut self,
        epoch: u64,
        first: u64,
    ) -> Box<dyn Iterator<Item = Result<Batch, BoxError>> + '_> {
        let n_batches = self.n_batches;
        let place = move |batch: u64| ((batch * 3 + epoch) % n_batches) as usize;
        let batches = (first..self.n_batches).map(move |batch| {
            Ok(Batch::new(
                5,
                place(batch) * self.n_rows,
                self.n_rows,
                &self.device,
            ))
        });
        Box::new(batches)
    }
}
