//! The settings of a prediction: thresholds, modes, filters and the ranking metric.

use kato_model::KatoGeneration;
use serde::{Deserialize, Serialize};

/// The generation of KATO whose answers are given where none is asked for: the newest.
pub const DEFAULT_GENERATION: KatoGeneration = KatoGeneration::V6;

/// The metric that predictions are sorted by (`rank_sort_algo`), descending.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    missing_docs,
    reason = "each is the field of that name of a prediction"
)]
#[non_exhaustive]
pub enum RankMetric {
    #[default]
    Potential,
    Similarity,
    Evidence,
    Confidence,
    Snr,
    Fragmentation,
    Frequency,
    NormalizedEntropy,
    GlobalNormalizedEntropy,
    ItfdfSimilarity,
    Confluence,
    PredictiveInformation,
    BayesianPosterior,
    BayesianPrior,
    BayesianLikelihood,
    TfidfScore,
    WeightedSimilarity,
    WeightedEvidence,
    WeightedConfidence,
    WeightedSnr,
}

impl RankMetric {
    /// Returns whether it says how a pattern's symbols are distributed, and nothing of other predictions.
    pub(crate) const fn is_of_symbols(self) -> bool {
        matches!(
            self,
            Self::NormalizedEntropy | Self::GlobalNormalizedEntropy | Self::TfidfScore
        )
    }

    /// All metrics, in the order in which KATO lists them.
    pub const ALL: [Self; 20] = [
        Self::Potential,
        Self::Similarity,
        Self::Evidence,
        Self::Confidence,
        Self::Snr,
        Self::Fragmentation,
        Self::Frequency,
        Self::NormalizedEntropy,
        Self::GlobalNormalizedEntropy,
        Self::ItfdfSimilarity,
        Self::Confluence,
        Self::PredictiveInformation,
        Self::BayesianPosterior,
        Self::BayesianPrior,
        Self::BayesianLikelihood,
        Self::TfidfScore,
        Self::WeightedSimilarity,
        Self::WeightedEvidence,
        Self::WeightedConfidence,
        Self::WeightedSnr,
    ];
}

/// A stage of the filter pipeline, which decides which patterns are candidates at all. A pipeline that is not
/// empty and has neither `Length` nor `Jaccard` nor `Minhash` selects none, as in KATO.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Filter {
    /// By the ratio of pattern length to state length.
    Length,
    /// By the Jaccard index of the distinct symbols.
    Jaccard,
    /// By MinHash signatures: an equal band, and an estimated Jaccard index.
    Minhash,
    /// Narrows nothing, as in KATO.
    Bloom,
    /// By the similarity itself, with at least one matching block: of what the stages before it selected.
    Rapidfuzz,
}

/// The settings of a prediction: those of KATO's session settings that predictions depend on.
///
/// Values outside their ranges do no harm: they only make every or no pattern a candidate. The
/// engine validates what users send.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictionConfig {
    /// The generation of KATO whose answers are given. Default: [`DEFAULT_GENERATION`].
    pub generation: KatoGeneration,
    /// Least similarity of a prediction, inclusive. Default 0.1.
    pub recall_threshold: f64,
    /// Most predictions of an answer. Default 100.
    pub max_predictions: usize,
    /// Similarity by symbols (the default) or by characters, of states of several symbols.
    pub use_token_matching: bool,
    /// The same for states of one symbol, where KATO follows the setting of its process and not
    /// that of the session. Default `true`.
    pub single_symbol_token_matching: bool,
    /// Least character similarity at which different symbols match; `None`, the default, and 0
    /// switch fuzzy matching off.
    pub fuzzy_token_threshold: Option<f64>,
    /// The metric that predictions are sorted by, descending; those of states of one symbol up to KATO 5.x
    /// are sorted by their potential.
    pub rank_sort_algo: RankMetric,
    /// The emotive whose affinities weigh the symbols; `None`, the default, switches weighting
    /// off.
    pub affinity_emotive: Option<String>,
    /// Stages that narrow the candidates; none by default. A stage that is there twice counts
    /// once.
    pub filter_pipeline: Vec<Filter>,
    /// Settings of the stages.
    pub filters: FilterSettings,
}

impl Default for PredictionConfig {
    fn default() -> Self {
        Self {
            generation: DEFAULT_GENERATION,
            recall_threshold: 0.1,
            max_predictions: 100,
            use_token_matching: true,
            single_symbol_token_matching: true,
            fuzzy_token_threshold: None,
            rank_sort_algo: RankMetric::default(),
            affinity_emotive: None,
            filter_pipeline: Vec::new(),
            filters: FilterSettings::default(),
        }
    }
}

/// Settings of the filter stages. A value of 0 counts as the default, as in KATO.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FilterSettings {
    /// Least pattern length as a share of the state's. Default 0.5.
    pub length_min_ratio: f64,
    /// Greatest pattern length as a multiple of the state's. Default 2.
    pub length_max_ratio: f64,
    /// Least Jaccard index. Default 0.3.
    pub jaccard_threshold: f64,
    /// Least number of common distinct symbols. Default 2.
    pub jaccard_min_overlap: usize,
    /// Least estimated Jaccard index. Default 0.7.
    pub minhash_threshold: f64,
    /// Bands of a signature. Default 20.
    pub minhash_bands: usize,
    /// Rows of a band. Default 5.
    pub minhash_rows: usize,
    /// Values of a signature; more than 1024 count as 1024. Default 100.
    pub minhash_num_hashes: usize,
}

impl Default for FilterSettings {
    fn default() -> Self {
        Self {
            length_min_ratio: 0.5,
            length_max_ratio: 2.0,
            jaccard_threshold: 0.3,
            jaccard_min_overlap: 2,
            minhash_threshold: 0.7,
            minhash_bands: 20,
            minhash_rows: 5,
            minhash_num_hashes: 100,
        }
    }
}
