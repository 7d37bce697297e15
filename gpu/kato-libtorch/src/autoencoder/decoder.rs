//! A decoder that feeds on true vectors or on its own.

use tch::Tensor;
use tch::nn::{Init, Path};

use super::AutoencoderOptions;
use super::recurrent::{Recurrent, State};
use crate::parameters::Linear;

/// What a decoder gets as the input of each time step after the first.
#[derive(Debug)]
#[non_exhaustive]
pub enum Feed<'a> {
    /// Its own prediction of the step before.
    Own,
    /// The true vector of the step before, from `[batch, time, width]`: all steps at once.
    True(&'a Tensor),
    /// The true vector where the step's coin says so, else its own prediction. One coin a time step for
    /// the whole batch; the first is not used.
    Coins(&'a Tensor, &'a [bool]),
    /// The same with coins on the device, `[time]` of booleans, which may change without the host: what
    /// a graph needs.
    Mask(&'a Tensor, &'a Tensor),
}

/// The recurrent net, its learned first input, and the layer that makes vectors of states.
#[derive(Debug)]
pub(super) struct Decoder {
    start: Tensor,
    recurrent: Recurrent,
    output: Linear,
    dropout: f64,
}

impl Decoder {
    pub(super) fn new(place: &Path<'_>, options: &AutoencoderOptions) -> Self {
        let AutoencoderOptions {
            width,
            hidden,
            dropout,
            ..
        } = *options;
        let normal = Init::Randn {
            mean: 0.0,
            stdev: 0.1,
        };
        Self {
            start: place.var("start", &[width], normal),
            recurrent: Recurrent::new(&(place / "recurrent"), options),
            output: Linear::new(&(place / "output"), hidden, width, 0.5),
            dropout,
        }
    }

    pub(super) fn forward(
        &self,
        state: State,
        n_steps: i64,
        feed: &Feed<'_>,
        train: bool,
    ) -> Tensor {
        let n_rows = state.hidden.size()[1];
        let start = self.start.view([1, 1, -1]).expand([n_rows, 1, -1], false);
        if let Feed::True(truth) = feed {
            let inputs = Tensor::cat(&[start, truth.narrow(1, 0, n_steps - 1)], 1);
            return self.predict(&inputs, state, train).0;
        }
        let (mut input, mut state) = (start, state);
        let mut predictions = Vec::new();
        for step in 0..n_steps {
            let (prediction, next) = self.predict(&input, state, train);
            state = next;
            if step + 1 < n_steps {
                input = next_input(feed, step + 1, &prediction);
            }
            predictions.push(prediction);
        }
        Tensor::cat(&predictions, 1)
    }

    fn predict(&self, input: &Tensor, state: State, train: bool) -> (Tensor, State) {
        let (outputs, state) = self.recurrent.forward(input, Some(state), train);
        let outputs = outputs.dropout(self.dropout, train);
        (self.output.forward(&outputs), state)
    }
}

/// Chooses the input of a step after the first, `[batch, 1, width]`.
fn next_input(feed: &Feed<'_>, step: i64, prediction: &Tensor) -> Tensor {
    let before = |truth: &Tensor| truth.narrow(1, step - 1, 1);
    match feed {
        Feed::Coins(truth, coins) if coins[step as usize] => before(truth),
        Feed::Mask(truth, coins) => {
            let truth = before(truth);
            truth.where_self(&coins.narrow(0, step, 1), &prediction.to_kind(truth.kind()))
        }
        Feed::True(truth) => before(truth),
        Feed::Own | Feed::Coins(..) => prediction.shallow_clone(),
    }
}
