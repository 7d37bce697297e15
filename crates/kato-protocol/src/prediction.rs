//! Types of predictions, read as generic JSON or as a type of the caller.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::observation::EmotiveValues;

/// The answer to `GET /sessions/{id}/predictions`, with predictions of any type `P`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
// Stated, because serde would also ask for `F: Default`, for the sake of the field with a default.
#[serde(bound(deserialize = "P: Deserialize<'de>, F: Deserialize<'de>"))]
#[cfg_attr(feature = "schema", schemars(rename = "PredictionsAnswer"))]
pub struct PredictionsAnswer<P, F = Value> {
    /// The predictions, best first.
    pub predictions: Vec<P>,
    /// The distinct futures, heaviest first.
    #[serde(default)]
    pub future_potentials: Option<Vec<F>>,
    /// Id of the session.
    pub session_id: String,
    /// Null in all known versions.
    #[serde(default)]
    pub processor_id: Option<String>,
    /// Number of predictions.
    pub count: usize,
    /// Null in all known versions.
    #[serde(default)]
    pub time: Option<u64>,
    /// Null in all known versions.
    #[serde(default)]
    pub unique_id: Option<String>,
}

/// A future that predictions have in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FuturePotential {
    /// Events of the future.
    pub future: Vec<Vec<String>>,
    /// Share of the weight of all futures.
    pub aggregate_potential: f64,
    /// Number of predictions with this future.
    pub supporting_patterns: u64,
    /// Weight: similarity times frequency, summed over the predictions with this future.
    pub total_weighted_frequency: f64,
}

/// A prediction of any known server, as typed values.
///
/// Three shapes arrive as this one: the full shape of 3.10.1, that of the 2025-10 generation
/// (fields that it lacks are `None`), and the one that 3.10.1 answers for a state of a single
/// symbol, whose `past`, `present` and `future` are flat lists: each becomes one event per symbol,
/// and `sequence` is what that answer calls `pattern_data`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Prediction {
    /// Name of the pattern: bare, or with its prefix `PTRN|`.
    pub name: String,
    /// Number of times the pattern was learned.
    pub frequency: u64,
    /// Means of the pattern's emotives.
    pub emotives: EmotiveValues,
    /// Symbols that match.
    pub matches: Vec<String>,
    /// Events before the match.
    #[serde(deserialize_with = "events")]
    pub past: Vec<Vec<String>>,
    /// Events of the match.
    #[serde(deserialize_with = "events")]
    pub present: Vec<Vec<String>>,
    /// Events after the match.
    #[serde(deserialize_with = "events")]
    pub future: Vec<Vec<String>>,
    /// The symbols of every present event that were not observed.
    #[serde(deserialize_with = "events")]
    pub missing: Vec<Vec<String>>,
    /// The symbols of every observed event that do not occur in the present.
    #[serde(deserialize_with = "events")]
    pub extras: Vec<Vec<String>>,
    /// Up to 4.x the symbols that match only approximately, each with the expected symbol and the
    /// similarity; from 5.x on the texts of all symbols that are missing, extra or match only
    /// approximately.
    pub anomalies: Vec<Value>,
    /// Symbols that match only approximately, each with the expected symbol and the similarity (5.x
    /// and later).
    pub fuzzy_matches: Vec<Value>,
    /// Events of the whole pattern.
    #[serde(alias = "pattern_data", deserialize_with = "events")]
    pub sequence: Vec<Vec<String>>,
    /// Share of the pattern that matches.
    pub evidence: f64,
    /// Share of the present that matches.
    pub confidence: f64,
    /// How alike pattern and state are, from 0 to 1.
    pub similarity: f64,
    /// Matches against extras, from -1 to 1.
    pub snr: f64,
    /// Gaps in the match; -1 when nothing matches.
    // A float that also reads the integer 0 of the answer for a single symbol.
    pub fragmentation: f64,
    /// The value by which predictions are ranked.
    pub potential: f64,
    /// Entropy of the present's own distribution, in bits.
    // The fields from here on are optional: some are absent in the answer for a single symbol,
    // others in the 2025-10 generation.
    pub entropy: Option<f64>,
    /// The same entropy relative to the number of known symbols.
    pub normalized_entropy: Option<f64>,
    /// The same entropy with the node's probabilities.
    pub global_normalized_entropy: Option<f64>,
    /// Similarity by inverse distance, weighted by frequency.
    pub itfdf_similarity: Option<f64>,
    /// Probability that the match is no accident.
    pub confluence: Option<f64>,
    /// Weight of the future, given the match.
    pub predictive_information: Option<f64>,
    /// Frequency relative to all predictions.
    pub pattern_probability: Option<f64>,
    /// Similarity times `pattern_probability`.
    pub weighted_strength: Option<f64>,
    /// Mean weight of the pattern's symbols (3.10.1).
    pub tfidf_score: Option<f64>,
    /// Bayesian prior (3.10.1).
    pub bayesian_prior: Option<f64>,
    /// Bayesian likelihood (3.10.1).
    pub bayesian_likelihood: Option<f64>,
    /// Bayesian posterior (3.10.1).
    pub bayesian_posterior: Option<f64>,
    /// Similarity weighted by affinity, if `affinity_emotive` is set (3.10.1).
    // In 3.10.1 null rather than absent while `affinity_emotive` is unset.
    pub weighted_similarity: Option<f64>,
    /// Evidence weighted by affinity, if `affinity_emotive` is set (3.10.1).
    pub weighted_evidence: Option<f64>,
    /// Confidence weighted by affinity, if `affinity_emotive` is set (3.10.1).
    pub weighted_confidence: Option<f64>,
    /// Signal-to-noise ratio weighted by affinity, if `affinity_emotive` is set (3.10.1).
    pub weighted_snr: Option<f64>,
}

/// Reads events, or a flat list of symbols as one event for each.
fn events<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Vec<String>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Item {
        Event(Vec<String>),
        Symbol(String),
    }
    // Decided for each element rather than for the list, so that an empty list fits both shapes.
    let items = Vec::<Item>::deserialize(deserializer)?;
    Ok(items
        .into_iter()
        .map(|item| match item {
            Item::Event(event) => event,
            Item::Symbol(symbol) => vec![symbol],
        })
        .collect())
}
