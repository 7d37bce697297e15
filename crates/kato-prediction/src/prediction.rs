//! The answer to a state: the patterns that it resembles, and what they expect next.

use kato_model::{EmotiveMap, Event, KatoGeneration, PatternName};
use serde::Serialize;

use crate::config::RankMetric;

/// One learned pattern that resembles the observed state, cut into past, present and
/// future, with its metrics.
///
/// Serialises as the JSON object of its generation of KATO. Up to 5.x states of one symbol and of several
/// have predictions of two shapes there, which [`ensemble`](Self::ensemble) distinguishes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Prediction {
    /// The generation of KATO whose prediction it is.
    pub generation: KatoGeneration,
    /// Name of the pattern.
    pub name: PatternName,
    /// How often it was learned.
    pub frequency: u64,
    /// Mean over the pattern's window of emotives.
    pub emotives: EmotiveMap,
    /// Symbols of the state that match, in state order.
    pub matches: Vec<String>,
    /// Whole events before the match.
    pub past: Vec<Event>,
    /// Whole events from the first to the last match.
    pub present: Vec<Event>,
    /// Whole events after the match: what is expected next.
    ///
    /// On the single-symbol path KATO up to 5.x flattens it; here every symbol is then an event of its own.
    pub future: Vec<Event>,
    /// For every event of the present its symbols that did not match.
    pub missing: Vec<Vec<String>>,
    /// For every event of the state its symbols that are nowhere in the present; from KATO 5.x on, those
    /// beyond what the present expects.
    pub extras: Vec<Vec<String>>,
    /// Symbols that matched although they differ; only with fuzzy matching (`anomalies`, from KATO 5.x on
    /// `fuzzy_matches`).
    pub anomalies: Vec<Anomaly>,
    /// The whole pattern (`sequence`, on the single-symbol path `pattern_data`).
    pub sequence: Vec<Event>,
    /// Matches per symbol of the pattern, see [`metrics::evidence`](crate::metrics::evidence).
    pub evidence: f64,
    /// Matches per symbol of the present, see [`metrics::confidence`](crate::metrics::confidence).
    pub confidence: f64,
    /// Similarity of pattern and state, in `0..=1`.
    pub similarity: f64,
    /// Matches against extras, in `-1..=1`, see [`metrics::snr`](crate::metrics::snr).
    pub snr: f64,
    /// Matching blocks beyond the first; −1 when nothing matches.
    pub fragmentation: f64,
    /// The metrics weighted by affinity, where `affinity_emotive` is set.
    pub weighted: WeightedMetrics,
    /// What depends on the other predictions; `None` on the single-symbol path of KATO up to 5.x.
    pub ensemble: Option<EnsembleMetrics>,
    /// KATO's composite score.
    pub potential: f64,
    /// The score by which candidates were cut, present only if some were (`_pre_potential`).
    pub pre_potential: Option<f64>,
}

/// Metrics that relate a prediction to the other predictions and to the node's statistics.
///
/// Formulas: [`metrics`](crate::metrics).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[expect(
    missing_docs,
    reason = "each is a function of the module `metrics`, documented there"
)]
#[non_exhaustive]
pub struct EnsembleMetrics {
    pub entropy: f64,
    pub normalized_entropy: f64,
    pub global_normalized_entropy: f64,
    pub itfdf_similarity: f64,
    pub tfidf_score: f64,
    pub confluence: f64,
    pub predictive_information: f64,
    pub pattern_probability: f64,
    pub weighted_strength: f64,
    pub bayesian_prior: f64,
    pub bayesian_likelihood: f64,
    pub bayesian_posterior: f64,
}

/// Metrics with every symbol weighted by its affinity to an emotive; `None` where weighting was not
/// asked for or the metric is undefined.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[expect(missing_docs, reason = "each is the metric of that name with weights")]
#[non_exhaustive]
pub struct WeightedMetrics {
    pub similarity: Option<f64>,
    pub evidence: Option<f64>,
    pub confidence: Option<f64>,
    pub snr: Option<f64>,
}

/// An observed symbol that stands for another one of the pattern.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Anomaly {
    /// The symbol of the state.
    pub observed: String,
    /// The symbol of the pattern.
    pub expected: String,
    /// Their character similarity, in `0..1`.
    pub similarity: f64,
}

/// A future that one or more predictions share.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FutureShare {
    /// The events, as the first prediction that has them spells them.
    pub future: Vec<Event>,
    /// Its share of the weight of all futures.
    pub aggregate_potential: f64,
    /// Number of predictions with this future.
    pub supporting_patterns: usize,
    /// Σ frequency × similarity over these predictions.
    pub total_weighted_frequency: f64,
}

/// The answer to a state: predictions, best first, and their futures. Empty is a legal answer.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Predictions {
    /// Best first by the ranking metric; ties in name order, from KATO 5.x on descending.
    pub predictions: Vec<Prediction>,
    /// Distinct futures of all survivors, also of those cut off at the end; heaviest first,
    /// ties in the order of their first patterns by name. None on the single-symbol path of KATO up to
    /// 5.x.
    pub future_potentials: Vec<FutureShare>,
}

impl Prediction {
    /// Returns the value of a ranking metric; `None` where the prediction does not have it.
    #[must_use]
    pub fn metric(&self, metric: RankMetric) -> Option<f64> {
        let ensemble = |value: fn(&EnsembleMetrics) -> f64| self.ensemble.as_ref().map(value);
        match metric {
            RankMetric::Potential => Some(self.potential),
            RankMetric::Similarity => Some(self.similarity),
            RankMetric::Evidence => Some(self.evidence),
            RankMetric::Confidence => Some(self.confidence),
            RankMetric::Snr => Some(self.snr),
            RankMetric::Fragmentation => Some(self.fragmentation),
            RankMetric::Frequency => Some(self.frequency as f64),
            RankMetric::NormalizedEntropy => ensemble(|m| m.normalized_entropy),
            RankMetric::GlobalNormalizedEntropy => ensemble(|m| m.global_normalized_entropy),
            RankMetric::ItfdfSimilarity => ensemble(|m| m.itfdf_similarity),
            RankMetric::Confluence => ensemble(|m| m.confluence),
            RankMetric::PredictiveInformation => ensemble(|m| m.predictive_information),
            RankMetric::BayesianPosterior => ensemble(|m| m.bayesian_posterior),
            RankMetric::BayesianPrior => ensemble(|m| m.bayesian_prior),
            RankMetric::BayesianLikelihood => ensemble(|m| m.bayesian_likelihood),
            RankMetric::TfidfScore => ensemble(|m| m.tfidf_score),
            RankMetric::WeightedSimilarity => self.weighted.similarity,
            RankMetric::WeightedEvidence => self.weighted.evidence,
            RankMetric::WeightedConfidence => self.weighted.confidence,
            RankMetric::WeightedSnr => self.weighted.snr,
        }
    }
}

impl Prediction {
    /// Returns everything that was not as expected, as one list: what is missing, what is extra, and what
    /// was observed in place of another symbol (`anomalies` from KATO 5.x on).
    #[must_use]
    pub fn flat_anomalies(&self) -> Vec<&str> {
        let symbols = self.missing.iter().chain(&self.extras).flatten();
        let replaced = self.anomalies.iter().map(|anomaly| &*anomaly.observed);
        symbols.map(String::as_str).chain(replaced).collect()
    }

    /// Creates a prediction whose metrics and texts are still to be filled in.
    pub(crate) fn new(name: PatternName, frequency: u64) -> Self {
        Self {
            generation: KatoGeneration::V3_10,
            name,
            frequency,
            emotives: EmotiveMap::new(),
            matches: Vec::new(),
            past: Vec::new(),
            present: Vec::new(),
            future: Vec::new(),
            missing: Vec::new(),
            extras: Vec::new(),
            anomalies: Vec::new(),
            sequence: Vec::new(),
            evidence: 0.0,
            confidence: 0.0,
            similarity: 0.0,
            snr: 0.0,
            fragmentation: 0.0,
            weighted: WeightedMetrics::default(),
            ensemble: None,
            potential: 0.0,
            pre_potential: None,
        }
    }
}
