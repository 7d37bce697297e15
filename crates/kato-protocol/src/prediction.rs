//! Predictions, as generic JSON or as the caller's type.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The answer to `GET /sessions/{id}/predictions`, with predictions of any type `P`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PredictionsAnswer<P, F = Value> {
    /// Best first.
    pub predictions: Vec<P>,
    /// Distinct futures, heaviest first.
    #[serde(default)]
    pub future_potentials: Option<Vec<F>>,
    /// The session.
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

/// One future that predictions share.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FuturePotential {
    /// Its events.
    pub future: Vec<Vec<String>>,
    /// Its share of the weight of all futures.
    pub aggregate_potential: f64,
    /// Predictions that have it.
    pub supporting_patterns: u64,
    /// Its weight: similarity times frequency, summed.
    pub total_weighted_frequency: f64,
}
