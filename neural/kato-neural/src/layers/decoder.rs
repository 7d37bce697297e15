//! A decoder of sequences that feeds on true vectors or on its own.

mod attention;
mod options;

use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::Tensor;
use kato_kernels::{Draw, RecurrentDecoder};

use super::dropout::sequence_mask;
use super::{Recurrent, RecurrentState, apply_linear, check_lengths, valid_steps};
use crate::Pass;
use crate::fused::{self, DecoderCall, Pool};

pub use attention::{Attended, CrossAttention};
pub use options::SequenceDecoderOptions;

/// What a decoder gets as the input of each time step after the first.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Feed<'a> {
    /// Its own prediction of the step before.
    Own,
    /// The true vector of the step before, from `[batch, time, width]`; no gradient flows into it.
    True(&'a Tensor<3>),
    /// The true vector where the step's coin says so, else its own prediction, through which the
    /// gradient flows. One coin a time step for the whole batch; the first is not used.
    ///
    /// Source: Bengio et al., "Scheduled sampling for sequence prediction", 2015.
    Sampled(&'a Tensor<3>, &'a [bool]),
}

impl Feed<'_> {
    /// Splits into true vectors and, for each of `n_steps`, whether it is fed with one.
    fn into_parts(self, n_steps: usize) -> Option<(Tensor<3>, Vec<bool>)> {
        let (targets, coins) = match self {
            Self::Own => return None,
            Self::True(targets) => (targets, vec![true; n_steps]),
            Self::Sampled(targets, coins) => (targets, coins[..n_steps].to_vec()),
        };
        // Detached: the fused form has no gradient for them, and both have to be one function.
        Some((targets.clone().detach(), coins))
    }
}

/// Rebuilds sequences of vectors from a state, one step at a time.
#[derive(Module, Debug)]
pub struct SequenceDecoder {
    start: Param<Tensor<1>>,
    recurrent: Recurrent,
    output: Linear,
    attention: Option<CrossAttention>,
    output_dropout: f64,
    stream: u64,
    #[module(skip)]
    workspaces: Pool<RecurrentDecoder>,
}

impl SequenceDecoder {
    /// The recurrent net inside.
    #[must_use]
    pub const fn recurrent(&self) -> &Recurrent {
        &self.recurrent
    }

    /// Attention to an encoder's states, where the decoder has it.
    #[must_use]
    pub const fn attention(&self) -> Option<&CrossAttention> {
        self.attention.as_ref()
    }

    /// Predicts `n_steps` vectors from `state`: `[batch, n_steps, width]`.
    ///
    /// The first input is the learned start vector. Each further step gets what `feed` says.
    ///
    /// # Panics
    ///
    /// Panics if there is no step, shapes do not fit, or `feed` has fewer steps or coins.
    #[must_use]
    pub fn forward(
        &self,
        state: RecurrentState,
        n_steps: usize,
        feed: Feed<'_>,
        pass: &Pass,
    ) -> Tensor<3> {
        self.run(state, None, None, n_steps, feed, pass)
    }

    /// Predicts as [`forward`](Self::forward) does, for sequences of the given lengths: zero behind
    /// a sequence's end, which costs nothing where the whole is one node.
    ///
    /// # Panics
    ///
    /// As [`forward`](Self::forward), and if there is not one length a sequence, or one is longer
    /// than `n_steps`.
    #[must_use]
    pub fn forward_valid(
        &self,
        state: RecurrentState,
        lengths: &[usize],
        n_steps: usize,
        feed: Feed<'_>,
        pass: &Pass,
    ) -> Tensor<3> {
        check_lengths(lengths, state.hidden.dims()[1], n_steps);
        self.run(state, None, Some(lengths), n_steps, feed, pass)
    }

    /// Projects what [`forward_attending`](Self::forward_attending) attends to: an encoder's states at
    /// all steps, `[batch, time, hidden]`, of sequences of the given lengths. Once is enough for all
    /// steps of the decoder.
    ///
    /// # Panics
    ///
    /// Panics if the decoder has no attention, shapes do not fit, there is not one length a sequence,
    /// or one is longer than the time axis.
    #[must_use]
    pub fn attend(&self, states: Tensor<3>, lengths: &[usize], pass: &Pass) -> Attended {
        let attention = self.attention.as_ref();
        let attention = attention.expect("a decoder made with attention");
        attention.project(states, lengths, pass)
    }

    /// Predicts as [`forward_valid`](Self::forward_valid) does, and lets each step look at what the
    /// encoder saw: the net's output becomes `h + out(attention(query(h)))`. A sequence that has
    /// nothing to look at gets the projection's bias.
    ///
    /// # Panics
    ///
    /// As [`forward_valid`](Self::forward_valid), and if the decoder has no attention, or `attended` is
    /// of another batch.
    #[must_use]
    pub fn forward_attending(
        &self,
        state: RecurrentState,
        attended: &Attended,
        lengths: &[usize],
        n_steps: usize,
        feed: Feed<'_>,
        pass: &Pass,
    ) -> Tensor<3> {
        let [_, n_rows, _] = state.hidden.dims();
        check_lengths(lengths, n_rows, n_steps);
        assert_eq!(attended.n_rows(), n_rows, "sequences that are attended to");
        self.run(state, Some(attended), Some(lengths), n_steps, feed, pass)
    }

    fn run(
        &self,
        state: RecurrentState,
        attended: Option<&Attended>,
        lengths: Option<&[usize]>,
        n_steps: usize,
        feed: Feed<'_>,
        pass: &Pass,
    ) -> Tensor<3> {
        let [n_layers, n_rows, n_hidden] = state.hidden.dims();
        assert!(n_steps > 0, "a decoder predicts at least one step");
        let net = &self.recurrent;
        assert_eq!(
            (n_layers, n_hidden),
            (net.layers().len(), net.hidden_size()),
            "the state's shape"
        );
        assert_eq!(
            state.memory.is_some(),
            net.cell().has_memory(),
            "whether there is a memory"
        );
        let (truth, draw) = (feed.into_parts(n_steps), pass.dropout(self.stream));
        if let Some((vectors, _)) = &truth {
            let [n_given, n_long, _] = vectors.dims();
            assert!(
                n_given == n_rows && n_long >= n_steps,
                "true vectors for every step"
            );
        }
        let attention = self.attention.as_ref();
        let attention = attended.map(|attended| {
            let attention = attention.expect("a decoder made with attention");
            (attention, attended)
        });
        // The plain form computes steps behind a sequence's end as well, and then covers them.
        let Some(form) = fused::form(&self.start.val(), pass) else {
            let outputs = self.run_plain(state, attention, n_steps, truth.as_ref(), draw, pass);
            return match lengths {
                Some(lengths) => outputs.clone() * valid_steps(lengths, n_steps, &outputs.device()),
                None => outputs,
            };
        };
        let bias = self.output.bias.as_ref().expect("made with a bias").val();
        let call = DecoderCall {
            net,
            pool: &self.workspaces,
            start: self.start.val(),
            state,
            output: (self.output.weight.val(), bias),
            output_dropout: self.output_dropout,
            n_steps,
            lengths,
            truth: truth.map(|(vectors, coins)| (vectors.narrow(1, 0, n_steps), coins)),
            draw,
            attending: attention.map(|(attention, attended)| attention.call(attended)),
        };
        fused::decode(&call, form, pass)
    }

    /// Predicts step by step in Burn's own operations.
    fn run_plain(
        &self,
        state: RecurrentState,
        attention: Option<(&CrossAttention, &Attended)>,
        n_steps: usize,
        truth: Option<&(Tensor<3>, Vec<bool>)>,
        draw: Option<Draw>,
        pass: &Pass,
    ) -> Tensor<3> {
        let [_, n_rows, hidden] = state.hidden.dims();
        let (device, [width]) = (state.hidden.device(), self.start.dims());
        let shape = [n_rows, n_steps, hidden];
        // Drawn for all steps at once: one tensor is made instead of one a step.
        let mask = sequence_mask(draw, self.output_dropout, Draw::OUTPUT, shape, &device);
        let mut unrolled = self
            .recurrent
            .unroll(n_rows, n_steps, Some(state), draw, &device, pass);
        let look = attention.map(|(attention, attended)| attention.plain(attended, pass));
        let mut predictions: Vec<Tensor<2>> = Vec::with_capacity(n_steps);
        for step in 0..n_steps {
            let fed = truth.filter(|(_, coins)| coins[step]);
            let input = match (predictions.last(), fed) {
                (None, _) => self.start.val().unsqueeze::<2>().expand([n_rows, width]),
                (Some(_), Some((vectors, _))) => vectors
                    .clone()
                    .narrow(1, step - 1, 1)
                    .reshape([n_rows, width]),
                (Some(prediction), None) => prediction.clone(),
            };
            let mut output = unrolled.step(step, input);
            if let Some(look) = &look {
                output = look.step(output);
            }
            if let Some(mask) = &mask {
                output = output * mask.clone().narrow(1, step, 1).reshape([n_rows, hidden]);
            }
            predictions.push(apply_linear(&self.output, output, pass));
        }
        Tensor::stack(predictions, 1)
    }
}
