//! Samples of a corpus: what their documents teach, counted in bounded memory.

mod builder;
mod counted;
mod gathered;
mod stored;

use serde::{Deserialize, Serialize};

pub use self::builder::{DEFAULT_MAX_PATTERNS, SampleBuilder};
pub use self::counted::CountedDocuments;
pub(crate) use self::counted::DocumentCounter;
pub(crate) use self::stored::Stored;
use crate::ratio::Sums;
use crate::recapture::Holders;
use crate::repeats::Repeats;
use crate::{EstimatedHierarchy, FrequencyCounts};

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
    /// Mean bytes of the text of those tokens; `None` where only their ids are known.
    #[serde(default)]
    pub(crate) token_text_bytes: Option<f64>,
    /// Repeats among the documents; of token ids, of whole documents alone.
    pub repeats: Repeats,
    /// Different documents by how often they were drawn, of those that were told apart.
    pub(crate) drawn: FrequencyCounts,
    /// The segments that a run leaves of these documents, in their order; `None` where that is not asked
    /// for, or not known.
    #[serde(default)]
    pub(crate) stored: Option<Stored>,
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
    /// Relative standard deviation of the distinct patterns, for they are counted in a slice.
    pub(crate) slice_error: f64,
    pub(crate) holders: Holders,
    /// Of what cuts from every token would learn; empty where these were not counted. A sample of n
    /// tokens holds n / (chunk size) chunks, and nearly n windows of that length. Where the place of
    /// the cut is chance, these tell as much as the chunks of a sample several times as large.
    pub(crate) windows: Holders,
    pub(crate) by_documents: Sums,
    pub(crate) by_text_bytes: Sums,
    pub(crate) by_tokens: Sums,
}
