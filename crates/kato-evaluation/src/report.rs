//! The report of an evaluation.

use kato_model::KatoGeneration;
use serde::{Serialize, Serializer};

pub use crate::share::CountedShare;

/// The results of a hierarchy on documents that it has not seen. It is serialised as the JSON of
/// `evaluate --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EvaluationReport {
    /// Documents evaluated.
    pub documents: u64,
    /// Documents that the learner refuses, and bad records; not evaluated.
    pub failed: u64,
    /// Tokens of these documents that are in a chunk of the lowest level.
    pub tokens: u64,
    /// The generation of KATO whose predictions were judged; in JSON as `Display` writes it.
    #[serde(serialize_with = "as_displayed")]
    pub generation: KatoGeneration,
    /// The levels, from the bottom up.
    pub levels: Vec<LevelEvaluation>,
    /// The code length of a token, in bits.
    pub code_length: CodeLength,
    /// The answers of the head at the same positions; `None` where none was asked for, or the
    /// engine has no store.
    pub head: Option<HeadEvaluation>,
}

/// Writes a generation as it is displayed.
fn as_displayed<S: Serializer>(it: &KatoGeneration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(it)
}

/// One level of an [`EvaluationReport`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LevelEvaluation {
    /// Name of the node.
    pub node: String,
    /// The node's knowledge of these documents; over all of them.
    pub coverage: Coverage,
    /// Share of the questions that was asked, in `0..=1`; the rest was left out by hash of its
    /// place; 0 of a level that was not asked.
    pub asked_share: f64,
    /// The recognition of whole chunks.
    pub recognition: Recognition,
    /// The accuracy of what the node expects: tokens at the lowest level, the names of chunks
    /// above.
    pub next: NextAccuracy,
}

/// The knowledge that a node has of the documents, by look-up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Coverage {
    /// Chunks that are exactly a pattern of the node.
    pub known_chunks: CountedShare,
    /// Symbols of the chunks that are in no pattern of the node.
    pub unknown_symbols: CountedShare,
}

/// The answers of a node to whole chunks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Recognition {
    /// Chunks whose most similar prediction reaches the recognition threshold.
    pub recognised: CountedShare,
    /// Chunks without any prediction: nothing reaches the recall threshold.
    pub unanswered: CountedShare,
    /// Mean similarity of the most similar prediction, in `0..=1`, a chunk without any counting as
    /// 0; `None` without chunks.
    pub mean_similarity: Option<f64>,
}

/// The accuracy of the next symbol.
///
/// A question is the first k symbols of a chunk, for every k from 1 to one less than its length, as
/// short-term memory; the right answer is symbol k + 1. The answer is the list of distinct first
/// symbols of the futures, in the order of the predictions
/// ([`next_symbols`](crate::next_symbols::next_symbols)). Nothing reaches across the boundary of a
/// chunk. An empty answer is a wrong one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NextAccuracy {
    /// The first answer is right.
    pub top_1: CountedShare,
    /// The right answer is among the first 5.
    pub top_5: CountedShare,
    /// The right answer is among the first 10.
    pub top_10: CountedShare,
    /// Nothing is expected. Part of the wrong answers.
    pub unanswered: CountedShare,
    /// The node knows the symbol that is right: no more than these can be answered.
    pub answerable: CountedShare,
    /// `top_1` by k, from 1; the last one is for all longer beginnings too.
    pub top_1_by_context: Vec<CountedShare>,
}

/// The code length of a token in bits, −log₂ of its probability, by several models of the same
/// training documents.
///
/// All models are proper: their probabilities sum to 1 over the tokenizer's vocabulary at every
/// position. All are asked at the same positions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CodeLength {
    /// Documents with a position that was asked.
    pub documents: u64,
    /// Positions asked: tokens of the lowest level, sampled as its other questions.
    pub tokens: u64,
    /// Those of them that are not first in their chunk.
    pub tokens_in_context: u64,
    /// Predictions of the lowest node, mixed with token frequencies by how far they have proved
    /// right. This model sees the chunk so far.
    pub kato: ModelBits,
    /// The n-gram model, seeing the chunk so far and nothing before: what the node sees.
    pub ngram_in_chunk: ModelBits,
    /// The n-gram model, seeing the document so far.
    pub ngram: ModelBits,
    /// Token frequencies of the lowest node.
    pub unigram: ModelBits,
    /// All tokens of the vocabulary alike.
    pub uniform: ModelBits,
    /// `kato` minus `ngram_in_chunk`, bits per token, by the same documents.
    pub kato_minus_ngram_in_chunk: Option<BootstrapInterval>,
    /// `kato` in 20 parts of the documents, by the rest of a document's number; two knowledge bases
    /// that were asked about the same tokens are compared part by part.
    pub kato_parts: Vec<PartBits>,
    /// The data on which the n-gram model was trained.
    pub baseline: NgramBaseline,
}

/// The answers of a [head](kato_head), which counts the n-grams inside the patterns.
///
/// It is asked at the positions of [`CodeLength`], sees the document so far, and learns on the way
/// whom of its experts to trust, so that the bits are those of a code that could be decoded.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HeadEvaluation {
    /// Symbols of its longest n-grams.
    pub order: usize,
    /// Distinct n-grams inside the patterns of the lowest node.
    pub ngrams_of_node0: u64,
    /// Distinct n-grams inside the patterns of all nodes.
    pub ngrams: u64,
    /// By n-grams inside the patterns of the lowest node: none reaches across the border of a
    /// chunk, though the document so far is known.
    pub node0: ModelBits,
    /// By n-grams inside the patterns of all nodes.
    pub all_levels: ModelBits,
    /// The same, mixed with a cache of the document so far.
    pub with_cache: ModelBits,
    /// The same, mixed with what the predictions of the lowest node expect.
    pub with_kato: ModelBits,
    /// `with_cache` minus the n-gram model that sees the document so far, bits per token, by the
    /// same documents.
    pub with_cache_minus_ngram: Option<BootstrapInterval>,
    /// With the cache, the most probable token came.
    pub top_1: CountedShare,
    /// With the cache, one of the 5 most probable tokens came.
    pub top_5: CountedShare,
    /// With the cache, one of the 10 most probable tokens came.
    pub top_10: CountedShare,
    /// With the cache, whether probabilities are what they say.
    pub calibration: ReliabilityDiagram,
}

/// How often the most probable symbol came, by the probability that it had.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ReliabilityDiagram {
    /// The expected calibration error: the mean distance between mean probability and share of
    /// right answers over the bins, weighted by their answers, in `0..=1`; `None` without answers.
    pub expected_error: Option<f64>,
    /// The reliability diagram, from 0 to 1.
    pub bins: Vec<CalibrationBin>,
}

/// The answers whose probability lay in one range.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CalibrationBin {
    /// Least probability.
    pub from: f64,
    /// Probability below which the bin ends; the last one includes it.
    pub to: f64,
    /// Mean probability; `None` without answers.
    pub mean_confidence: Option<f64>,
    /// Answers that were right.
    pub right: CountedShare,
}

/// The bits that a model needs for a token.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ModelBits {
    /// Bits per token; `None` where there is no token.
    pub bits_per_token: Option<f64>,
    /// Bits per token that is not first in its chunk.
    pub bits_per_token_in_context: Option<f64>,
    /// The 95 % confidence interval of bits per token; `None` with fewer than two documents, or no
    /// resamples.
    pub interval: Option<BootstrapInterval>,
}

/// The bits of some of the documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct PartBits {
    /// Tokens asked.
    pub tokens: u64,
    /// Bits of all of them.
    pub bits: f64,
}

/// A 95 % confidence interval by resampling documents: the 2.5 and 97.5 percentiles of the
/// bootstrap.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BootstrapInterval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The n-gram model that was compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NgramBaseline {
    /// Tokens of its longest n-grams.
    pub order: usize,
    /// The order asked for; higher than `order` where that had too many n-grams.
    pub order_asked_for: usize,
    /// Distinct n-grams.
    pub ngrams: u64,
    /// Tokens it was trained on.
    pub training_tokens: u64,
}
