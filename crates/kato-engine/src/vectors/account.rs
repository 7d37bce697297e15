//! The account of a search for near vectors, as a value that a server answers.

use kato_model::VectorName;
use serde::{Deserialize, Serialize};

/// What was searched for the vector of an observation, and found: KATO 6's `vector_search`.
///
/// Scores are computed with doubles; KATO's database has half as many bits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VectorSearchAccount {
    /// The name of the vector.
    #[serde(rename = "query_vctr_id")]
    pub query: VectorName,
    /// How many nearest ones were asked for.
    pub requested_limit: u64,
    /// Whether there was a search at all.
    pub search_performed: bool,
    /// The measure of scores.
    #[serde(default)]
    pub metric: VectorMetric,
    /// Which scores are better.
    #[serde(default)]
    pub score_direction: ScoreDirection,
    /// The names that the event holds: those that were found, nearest first, then its own unless it is one
    /// of them. Empty without a search.
    pub matches: Vec<MatchedVector>,
}

/// The measure by which vectors are near.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum VectorMetric {
    /// The Euclidean distance.
    #[default]
    Euclidean,
}

/// Which scores are better.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ScoreDirection {
    /// Lower ones, as with distances.
    #[default]
    LowerIsBetter,
}

/// A vector whose name an event holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MatchedVector {
    /// The name.
    #[serde(rename = "vctr_id")]
    pub name: VectorName,
    /// Its place, from 1.
    pub rank: u64,
    /// Its distance; `None` for the observation's own, where the search did not find it, and for a distance
    /// beyond all numbers.
    pub raw_score: Option<f64>,
    /// Why it is there.
    pub source: VectorSource,
}

/// Why the name of a vector is in an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum VectorSource {
    /// The search found it.
    VectorIndex,
    /// It is the observation's own, and the search did not find it.
    SelfAppended,
}

impl VectorSearchAccount {
    /// Creates the account of a search for at most `limit` vectors; `None` where none was made.
    pub(crate) fn new(query: VectorName, limit: u64, found: Option<&[(f64, VectorName)]>) -> Self {
        let entry = |rank, name, raw_score, source| MatchedVector {
            name,
            rank,
            raw_score,
            source,
        };
        let mut matches = Vec::new();
        for (rank, (score, name)) in (1..).zip(found.unwrap_or_default()) {
            // A distance that left the range of numbers is none.
            let score = Some(*score).filter(|score| score.is_finite());
            matches.push(entry(rank, *name, score, VectorSource::VectorIndex));
        }
        if found.is_some() && matches.iter().all(|found| found.name != query) {
            let rank = matches.len() as u64 + 1;
            matches.push(entry(rank, query, None, VectorSource::SelfAppended));
        }
        Self {
            query,
            requested_limit: limit,
            search_performed: found.is_some(),
            metric: VectorMetric::Euclidean,
            score_direction: ScoreDirection::LowerIsBetter,
            matches,
        }
    }
}
