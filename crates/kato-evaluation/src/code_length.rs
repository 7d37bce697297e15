//! Sums the bits that every model needs for the tokens of every document.

use crate::EvaluationOptions;
use crate::answer::NextAnswer;
use crate::interval::{Ratio, interval};
use crate::mixture::Mixture;
use crate::report::{Baseline, CodeLength, ModelBits};

/// Probabilities of one token by the models that do not learn while coding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TokenProbabilities {
    pub(crate) ngram_in_chunk: f64,
    pub(crate) ngram: f64,
    pub(crate) unigram: f64,
    pub(crate) uniform: f64,
}

/// Number of models. Their order is that of the fields of `CodeLength`.
const N_MODELS: usize = 5;
const KATO: usize = 0;
const NGRAM_IN_CHUNK: usize = 1;

/// The bits so far. Tokens are added in the order of the documents.
#[derive(Debug)]
pub(crate) struct Bits {
    mixture: Mixture,
    documents: Vec<DocumentBits>,
    in_context: [f64; N_MODELS],
    tokens_in_context: u64,
}

/// The bits of one document; kept for each because documents are resampled.
#[derive(Debug, Clone, Copy)]
struct DocumentBits {
    document: u64,
    tokens: u64,
    bits: [f64; N_MODELS],
}

impl Bits {
    /// Creates empty sums.
    pub(crate) fn new() -> Self {
        Self {
            mixture: Mixture::new(),
            documents: Vec::new(),
            in_context: [0.0; N_MODELS],
            tokens_in_context: 0,
        }
    }

    /// Adds a token of a document. `answer` is the node's answer to the chunk so far; `None` for
    /// the first token.
    pub(crate) fn add(
        &mut self,
        document: u64,
        token: TokenProbabilities,
        answer: Option<NextAnswer>,
    ) {
        let expected = answer.and_then(|answer| answer.expected);
        let kato = match expected {
            // Learns from this token, so tokens have to come in the same order in every run.
            Some((evidence, share)) => self.mixture.code(evidence, share, token.unigram),
            None => token.unigram,
        };
        let probabilities = [
            kato,
            token.ngram_in_chunk,
            token.ngram,
            token.unigram,
            token.uniform,
        ];
        // Finite: none of the models gives a probability of 0.
        let bits = probabilities.map(|probability| -probability.log2());
        // Documents come one after the other, so a number that differs from the last is a new one.
        if self
            .documents
            .last()
            .is_none_or(|last| last.document != document)
        {
            self.documents.push(DocumentBits {
                document,
                tokens: 0,
                bits: [0.0; N_MODELS],
            });
        }
        let Some(sums) = self.documents.last_mut() else {
            return;
        };
        sums.tokens += 1;
        add(&mut sums.bits, &bits);
        // The first token of a chunk has no context, and KATO can say nothing about it.
        if answer.is_some() {
            self.tokens_in_context += 1;
            add(&mut self.in_context, &bits);
        }
    }

    /// Returns the figures of all models.
    pub(crate) fn finish(&self, baseline: Baseline, options: &EvaluationOptions) -> CodeLength {
        let tokens: u64 = self.documents.iter().map(|document| document.tokens).sum();
        let interval = |numerator: &dyn Fn(&DocumentBits) -> f64| {
            // Numerator and denominator of the same document go together. The seed is the same for
            // all models, so intervals are over the same resamples.
            let ratio = |document: &DocumentBits| -> Ratio {
                (numerator(document), document.tokens as f64)
            };
            let ratios: Vec<Ratio> = self.documents.iter().map(ratio).collect();
            interval(&ratios, options.bootstrap_samples, options.seed)
        };
        let per = |bits: f64, tokens: u64| (tokens > 0).then(|| bits / tokens as f64);
        let model = |model: usize| ModelBits {
            bits_per_token: per(
                self.documents
                    .iter()
                    .map(|document| document.bits[model])
                    .sum(),
                tokens,
            ),
            bits_per_token_in_context: per(self.in_context[model], self.tokens_in_context),
            interval: interval(&|document| document.bits[model]),
        };
        // The order in which `add` lists the probabilities.
        let [kato, ngram_in_chunk, ngram, unigram, uniform] = [0, 1, 2, 3, 4].map(model);
        CodeLength {
            documents: self.documents.len() as u64,
            tokens,
            tokens_in_context: self.tokens_in_context,
            kato,
            ngram_in_chunk,
            ngram,
            unigram,
            uniform,
            // The difference within each document: what both models find hard cancels out.
            kato_minus_ngram_in_chunk: interval(&|document| {
                document.bits[KATO] - document.bits[NGRAM_IN_CHUNK]
            }),
            baseline,
        }
    }
}

/// Adds the bits of one token to the sums of each model.
fn add(sums: &mut [f64; N_MODELS], bits: &[f64; N_MODELS]) {
    for (sum, bits) in sums.iter_mut().zip(bits) {
        *sum += bits;
    }
}
