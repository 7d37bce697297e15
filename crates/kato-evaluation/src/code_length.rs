//! Sums the bits that every model needs for the tokens of every document.

use crate::EvaluationOptions;
use crate::answer::NextAnswer;
use crate::heads::{HeadRun, Heads, N_HEADS};
use crate::interval::{Ratio, interval};
use crate::mixture::Mixture;
use crate::report::{
    BootstrapInterval, CodeLength, HeadEvaluation, ModelBits, NgramBaseline, PartBits,
};

/// Probabilities of one token by the models that do not learn while coding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TokenProbabilities {
    pub(crate) ngram_in_chunk: f64,
    pub(crate) ngram: f64,
    pub(crate) unigram: f64,
    pub(crate) uniform: f64,
}

/// What is known of a token beside its probabilities by the models that do not learn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Priced {
    pub(crate) token: TokenProbabilities,
    /// By the heads, in the order of [`HeadRun::price`](crate::heads::HeadRun::price).
    pub(crate) heads: Option<[f64; N_HEADS]>,
}

/// Parts of the documents that are reported.
const N_PARTS: u64 = 20;

/// Number of models. Their order is that of the fields of `CodeLength`, then of the heads.
const N_MODELS: usize = 5 + N_HEADS;
const KATO: usize = 0;
const NGRAM_IN_CHUNK: usize = 1;
const NGRAM: usize = 2;
const WITH_CACHE: usize = 7;

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
    pub(crate) fn add(&mut self, document: u64, priced: Priced, answer: Option<NextAnswer>) {
        let token = priced.token;
        let expected = answer.and_then(|answer| answer.expected);
        let kato = match expected {
            // Learns from this token, so tokens have to come in the same order in every run.
            Some((evidence, share)) => self.mixture.code(evidence, share, token.unigram),
            None => token.unigram,
        };
        // Without heads their bits are not reported.
        let [node0, all_levels, with_cache, with_kato] = priced.heads.unwrap_or([1.0; N_HEADS]);
        let probabilities = [
            kato,
            token.ngram_in_chunk,
            token.ngram,
            token.unigram,
            token.uniform,
            node0,
            all_levels,
            with_cache,
            with_kato,
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

    /// Returns the figures of all models but the heads.
    pub(crate) fn finish(
        &self,
        baseline: NgramBaseline,
        options: &EvaluationOptions,
    ) -> CodeLength {
        let model = |model: usize| self.model(model, options);
        CodeLength {
            documents: self.documents.len() as u64,
            tokens: self.tokens(),
            tokens_in_context: self.tokens_in_context,
            // The order in which `add` lists the probabilities.
            kato: model(KATO),
            ngram_in_chunk: model(NGRAM_IN_CHUNK),
            ngram: model(NGRAM),
            unigram: model(3),
            uniform: model(4),
            // The difference within each document: what both models find hard cancels out.
            kato_minus_ngram_in_chunk: self.interval(options, |document| {
                document.bits[KATO] - document.bits[NGRAM_IN_CHUNK]
            }),
            kato_parts: self.parts(KATO),
            baseline,
        }
    }

    /// Returns a model's bits of the documents whose numbers leave the same rest.
    fn parts(&self, model: usize) -> Vec<PartBits> {
        let mut parts = vec![PartBits::default(); N_PARTS as usize];
        for document in &self.documents {
            let part = &mut parts[(document.document % N_PARTS) as usize];
            part.tokens += document.tokens;
            part.bits += document.bits[model];
        }
        parts
    }

    /// Returns the figures of the heads.
    pub(crate) fn finish_heads(
        &self,
        heads: &Heads,
        run: &HeadRun<'_>,
        options: &EvaluationOptions,
    ) -> HeadEvaluation {
        let [top_1, top_5, top_10] = run.top();
        let model = |model: usize| self.model(model, options);
        HeadEvaluation {
            order: heads.all_levels.options().order,
            ngrams_of_node0: heads.node0.n_ngrams() as u64,
            ngrams: heads.all_levels.n_ngrams() as u64,
            node0: model(5),
            all_levels: model(6),
            with_cache: model(WITH_CACHE),
            with_kato: model(8),
            with_cache_minus_ngram: self.interval(options, |document| {
                document.bits[WITH_CACHE] - document.bits[NGRAM]
            }),
            top_1,
            top_5,
            top_10,
            calibration: run.calibration(),
        }
    }

    fn tokens(&self) -> u64 {
        self.documents.iter().map(|document| document.tokens).sum()
    }

    fn model(&self, model: usize, options: &EvaluationOptions) -> ModelBits {
        let per = |bits: f64, tokens: u64| (tokens > 0).then(|| bits / tokens as f64);
        let of_documents = self.documents.iter().map(|document| document.bits[model]);
        ModelBits {
            bits_per_token: per(of_documents.sum(), self.tokens()),
            bits_per_token_in_context: per(self.in_context[model], self.tokens_in_context),
            interval: self.interval(options, |document| document.bits[model]),
        }
    }

    /// Returns the interval of bits per token. The seed is the same for all models, so intervals
    /// are over the same resamples.
    fn interval(
        &self,
        options: &EvaluationOptions,
        numerator: impl Fn(&DocumentBits) -> f64,
    ) -> Option<BootstrapInterval> {
        // Numerator and denominator of the same document go together.
        let ratio =
            |document: &DocumentBits| -> Ratio { (numerator(document), document.tokens as f64) };
        let ratios: Vec<Ratio> = self.documents.iter().map(ratio).collect();
        interval(&ratios, options.bootstrap_samples, options.seed)
    }
}

/// Adds the bits of one token to the sums of each model.
fn add(sums: &mut [f64; N_MODELS], bits: &[f64; N_MODELS]) {
    for (sum, bits) in sums.iter_mut().zip(bits) {
        *sum += bits;
    }
}
