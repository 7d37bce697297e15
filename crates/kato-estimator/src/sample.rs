//! Samples of a corpus: what their documents teach, counted in bounded memory.

mod builder;
mod counted;

use serde::{Deserialize, Serialize};

pub use self::builder::{DEFAULT_MAX_PATTERNS, SampleBuilder};
pub use self::counted::CountedDocuments;
pub(crate) use self::counted::DocumentCounter;
use crate::ratio::Sums;
use crate::repeats::{Repeats, Sighted};
use crate::{EstimatedHierarchy, FrequencyCounts};

/// Number of groups of documents. Leaving out one after the other shows how far an estimate depends
/// on the documents drawn.
pub(crate) const GROUPS: usize = 8;

/// What the documents of a sample teach, made by [`SampleBuilder`]. It is small, whatever the size
/// of the sample, and can be stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CorpusSample {
    /// The hierarchy that was counted for.
    pub hierarchy: EstimatedHierarchy,
    /// Documents.
    pub documents: u64,
    /// Bytes of their text.
    pub text_bytes: u64,
    /// Tokens of their paragraphs.
    pub tokens: u64,
    /// The levels, bottom up.
    pub levels: Vec<LevelSample>,
    /// Frequencies of the tokens that are part of a pattern.
    pub vocabulary: FrequencyCounts,
    /// Repeats among the documents; of token ids, of whole documents alone.
    pub repeats: Repeats,
    pub(crate) sighted: Vec<Sighted>,
    /// Parts of a store that would take the text in turns.
    pub(crate) parts: u32,
}

/// A level of a sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LevelSample {
    /// Learn calls; exact.
    pub learns: u64,
    /// Frequencies of the patterns.
    pub frequencies: FrequencyCounts,
    /// Whether every pattern was counted. If not, the frequencies are scaled from a share of the
    /// patterns.
    pub is_exact: bool,
    /// Mean symbols of a distinct pattern.
    pub symbols_per_pattern: f64,
    /// Share of learn calls whose pattern was not learned from the same document before.
    pub first_in_document: f64,
    /// Learn calls where every document counts once, however often it stands there.
    pub(crate) learns_once: u64,
    /// Mean number of parts of a store that hold a pattern.
    pub(crate) mean_parts: f64,
    /// Relative standard deviation of the distinct patterns, for they are counted in a slice.
    pub(crate) slice_error: f64,
    pub(crate) growth: GrowthCounts,
    pub(crate) by_documents: Sums,
    pub(crate) by_text_bytes: Sums,
    pub(crate) by_tokens: Sums,
}

/// The patterns that laws of growth are fitted to, of different documents.
///
/// By default these are windows: what cuts from every token would learn. A sample of n tokens holds
/// n / (chunk size) chunks, and nearly n windows of that length. The place of the cut is mostly
/// chance, so windows repeat as often as chunks do, and they are as many as the chunks of a sample
/// several times as large.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct GrowthCounts {
    /// Every pattern.
    pub(crate) all: FrequencyCounts,
    /// Every pattern once a document: repeats within a document come with it, and do not become
    /// more frequent with more documents.
    pub(crate) once_a_document: FrequencyCounts,
    /// Every pattern, without each of the groups of documents in turn. A document and its repeats
    /// are in one group.
    pub(crate) without: Vec<Without>,
}

/// What is known without a group of documents.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Without {
    pub(crate) counts: FrequencyCounts,
    /// Learn calls, and those where every document counts once.
    pub(crate) learns: u64,
    pub(crate) learns_once: u64,
}
