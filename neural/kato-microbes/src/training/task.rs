//! What the trainer has to know of the model: its batches and its loss.

use std::ops::Range;

use kato_neural::burn::tensor::{Device, Tensor};
use kato_neural::layers::Transformer;
use kato_neural::train::{Encoded as Codes, Gather, Loss, Share, Task};
use kato_neural::{AttentionForm, Pass};

use super::objective::{BatchTruth, Objective};
use crate::batch::SampleBatch;
use crate::losses::{class_sum, count_sum, distance_sum};
use crate::model::{EncodedSequences, Microformer};
use crate::settings::MicrobesSettings;

/// A batch with what is true of its samples.
#[derive(Debug, Clone)]
pub(crate) struct LearningBatch {
    pub(crate) samples: SampleBatch,
    pub(crate) truth: BatchTruth,
}

/// Learning of distances or of a target.
#[derive(Debug, Clone)]
pub(crate) struct Learning {
    objective: Objective,
    freeze: bool,
    /// Whether a step may be encoded in parts, by replicas or one after another.
    is_parted: bool,
    fused: bool,
    recompute: bool,
    attention: AttentionForm,
    device: Device,
}

impl Learning {
    pub(crate) fn new(objective: Objective, settings: &MicrobesSettings, device: Device) -> Self {
        Self {
            objective,
            freeze: settings.training.freeze,
            is_parted: settings.training.replicas > 1
                || settings.training.max_tokens_at_once.is_some(),
            fused: settings.training.fused,
            recompute: settings.training.recompute,
            attention: settings.training.attention.into(),
            device,
        }
    }

    /// Returns a pass with the operations of the settings.
    const fn pass(&self, pass: &Pass) -> Pass {
        let pass = pass.with_attention(self.attention);
        let pass = if self.recompute {
            pass.with_recomputed_blocks()
        } else {
            pass
        };
        if self.fused {
            pass
        } else {
            pass.with_plain_operations()
        }
    }

    /// Returns the pass of a frozen part, which is as it is judged: it has no use for chance.
    const fn still(&self, pass: &Pass) -> Pass {
        self.pass(&Pass::evaluation().with_precision(pass.precision()))
    }
}

impl Task for Learning {
    type Model = Microformer;
    type Batch = LearningBatch;

    fn weights(&self, batch: &LearningBatch) -> Vec<f64> {
        let n_samples = batch.samples.n_samples() as f64;
        let n_counts = batch.samples.lengths.iter().sum::<usize>() as f64;
        // No term is a mean over tokens; they are told with the step.
        let n_tokens = batch.samples.n_tokens() as f64;
        match &batch.truth {
            // Samples first: a sample alone has no pair, and its nucleotides are learned from all the
            // same.
            BatchTruth::Distances(distances) => {
                let n_hidden = batch.samples.n_hidden() as f64;
                vec![n_samples, distances.len() as f64, n_hidden, n_tokens]
            }
            BatchTruth::Numbers(_) => vec![n_samples, n_counts, n_tokens],
            BatchTruth::Classes(classes) => {
                let weights = self.objective.weights_of(classes);
                let sum = weights.iter().map(|&weight| f64::from(weight)).sum();
                vec![sum, n_counts, n_tokens]
            }
        }
    }

    /// Rows are sequences, of which there are far more than samples: they are what replicas share, and
    /// what is cut where it does not fit.
    fn n_rows(&self, batch: &LearningBatch) -> usize {
        batch.samples.n_sequences() + batch.samples.n_guesses()
    }

    fn sizes(&self, batch: &LearningBatch) -> Vec<usize> {
        batch.samples.sizes()
    }

    fn part(&self, batch: &LearningBatch, rows: Range<usize>) -> Option<LearningBatch> {
        Some(LearningBatch {
            samples: batch.samples.part(&rows),
            truth: batch.truth.clone(),
        })
    }

    fn gather(&self) -> Option<&dyn Gather<Microformer, LearningBatch>> {
        // It costs a forward pass more where a step has several batches.
        self.is_parted.then_some(self)
    }

    fn stacks<'m>(&self, model: &'m Microformer) -> Vec<&'m Transformer> {
        model.stacks()
    }

    fn loss(
        &self,
        model: &Microformer,
        batch: &LearningBatch,
        share: &Share<'_>,
        pass: &Pass,
    ) -> Loss {
        let encoded = self.encode(model, batch, share, pass);
        let judged = self.judge(model, batch, encoded.codes, share, pass);
        match encoded.loss {
            Some(own) => Loss::new(own.value + judged),
            None => Loss::new(judged),
        }
    }
}

impl Gather<Microformer, LearningBatch> for Learning {
    /// Encodes sequences, and guesses their hidden nucleotides.
    fn encode(
        &self,
        model: &Microformer,
        part: &LearningBatch,
        share: &Share<'_>,
        pass: &Pass,
    ) -> Codes {
        let (samples, encoder) = (&part.samples, model.encoder());
        let pass = &self.pass(pass);
        if self.freeze {
            let still = self.still(pass);
            let encoded = encoder.encode_sequences(samples, &self.device, &still);
            return Codes::new(encoded.rows.detach());
        }
        let EncodedSequences { rows, letters, .. } =
            encoder.encode_sequences(samples, &self.device, pass);
        let [n, width] = rows.dims();
        // Every row of the step has a code; those of guesses are not looked at.
        let guesses = Tensor::zeros([samples.n_guesses(), width], &self.device);
        let codes = Codes::new(if samples.n_guesses() == 0 {
            rows
        } else if n == 0 {
            guesses
        } else {
            Tensor::cat(vec![rows, guesses], 0)
        });
        let Some(scores) = letters else { return codes };
        let letters = samples.letters();
        let sum = class_sum(scores, &letters, &vec![1.0; letters.len()]);
        let weight = self.objective.loss().nucleotides;
        codes.with_loss(Loss::new(share.of(2, sum).mul_scalar(weight)))
    }

    /// Judges the samples of each batch, whose sequences are encoded.
    fn loss(
        &self,
        model: &Microformer,
        group: &[LearningBatch],
        codes: Tensor<2>,
        share: &Share<'_>,
        pass: &Pass,
    ) -> Loss {
        let mut loss = Tensor::zeros([1], &self.device);
        let mut first = 0;
        for batch in group {
            let n = self.n_rows(batch);
            let codes = codes.clone().narrow(0, first, n);
            // Samples get the draws that they get in a pass of their own.
            let pass = pass.with_first_row(first as u64);
            loss = loss + self.judge(model, batch, codes, share, &pass);
            first += n;
        }
        Loss::new(loss)
    }
}

impl Learning {
    /// Returns a batch's share of the loss but for that of its nucleotides.
    fn judge(
        &self,
        model: &Microformer,
        batch: &LearningBatch,
        codes: Tensor<2>,
        share: &Share<'_>,
        pass: &Pass,
    ) -> Tensor<1> {
        let LearningBatch { samples, truth } = batch;
        let (options, encoder) = (self.objective.loss(), model.encoder());
        let pass = &self.pass(pass);
        let sequences = codes.narrow(0, 0, samples.n_sequences());
        let BatchTruth::Distances(distances) = truth else {
            let rows = if self.freeze {
                let rows = encoder.encode_samples(sequences, samples, &self.still(pass));
                rows.detach()
            } else {
                encoder.encode_samples(sequences, samples, pass)
            };
            let counts = model.counts(rows.clone(), samples, pass);
            let outputs = model.predict(rows, samples, pass);
            let mut loss = share.of(0, self.objective.output_sum(outputs, truth));
            if let Some(counts) = counts {
                let sum = count_sum(counts, &samples.abundances, &samples.lengths);
                loss = loss + share.of(1, sum).mul_scalar(options.counts);
            }
            return loss;
        };
        if distances.is_empty() || options.unifrac == 0.0 {
            return Tensor::zeros([1], &self.device);
        }
        let rows = encoder.encode_samples(sequences, samples, pass);
        let rows = encoder.pool(rows, samples);
        share
            .of(1, distance_sum(rows, distances))
            .mul_scalar(options.unifrac)
    }
}
