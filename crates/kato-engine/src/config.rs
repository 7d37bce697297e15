//! A session's configuration: KATO's settings, their defaults and their JSON.

mod builder;
mod change;
mod given;
mod rules;

use std::collections::BTreeMap;

use kato_model::KatoGeneration;
use kato_prediction::PredictionConfig;
use kato_prediction::config::{DEFAULT_GENERATION, Filter, FilterSettings, RankMetric};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::builder::SessionConfigBuilder;
pub use self::change::SessionConfigChange;
use self::given::AsGiven;

/// The treatment of the short-term memory after an auto-learn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum StmMode {
    /// It becomes empty.
    #[default]
    Clear,
    /// Its last `max_pattern_length - 1` events stay, so that patterns overlap.
    Rolling,
}

/// KATO's `indexer_type`, which has no effect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "names without effect")]
pub enum IndexerType {
    #[default]
    Vi,
    Lsh,
    Annoy,
    Faiss,
}

/// The content of the event that an observation with vectors adds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VectorEventMode {
    /// The names of the nearest stored vectors, and its own.
    #[default]
    NeighborsPlusSelf,
    /// Its own name alone: nothing is searched for.
    SelfOnly,
}

impl VectorEventMode {
    /// All of them, in the order in which KATO lists them.
    pub const ALL: [Self; 2] = [Self::NeighborsPlusSelf, Self::SelfOnly];
}

/// The number of nearest vectors that are searched for where nothing else is set.
const VECTOR_SEARCH_LIMIT: u64 = 3;

/// The configuration of one session, as KATO has it.
///
/// Serialises as the flat map of effective values that KATO 3.10.1 answers; `fuzzy_token_threshold`
/// and `affinity_emotive` are in it only when set, and so are settings that came later, and `as_given`: what
/// was given for some of them where KATO keeps something else. What another
/// generation answers, [`settings`](Self::settings) returns. In process, create it with
/// [`builder`](Self::builder), which checks every value; from JSON, with
/// [`at_creation`](Self::at_creation) and [`update`](Self::update), which check what KATO checks.
/// A value out of range that it holds makes no call fail.
///
/// ```
/// use kato_engine::SessionConfig;
/// use kato_engine::config::StmMode;
/// use kato_model::KatoGeneration;
///
/// let mut config = SessionConfig::builder()
///     .with_max_pattern_length(5)
///     .with_stm_mode(StmMode::Rolling)
///     .build()?;
/// let changes = serde_json::json!({"recall_threshold": 0.3});
/// config.update(changes.as_object().expect("it is an object"), KatoGeneration::V6)?;
/// assert_eq!(config.recall_threshold, 0.3);
///
/// let wrong = serde_json::json!({"max_predictions": 0});
/// let wrong = wrong.as_object().expect("it is an object");
/// let error = config.update(wrong, KatoGeneration::V6).unwrap_err();
/// assert_eq!(error.messages()["max_predictions"], "Must be an integer between 1 and 10000");
/// # Ok::<(), kato_engine::config::ConfigError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct SessionConfig {
    /// Number of events at which the short-term memory is learned automatically; 0,
    /// the default, never.
    pub max_pattern_length: u64,
    /// Without effect: the window of emotives belongs to the node. Default 5.
    pub persistence: u64,
    /// Least similarity of a prediction, inclusive. Default 0.1.
    pub recall_threshold: f64,
    /// Without effect.
    pub indexer_type: IndexerType,
    /// What the event of an observation with vectors holds. Since 6.x.
    #[serde(skip_serializing_if = "is_default")]
    pub vector_event_mode: VectorEventMode,
    /// How many nearest vectors are searched for, 1 to 100; their names become symbols of what is
    /// learned. Default 3. Since 6.x.
    #[serde(skip_serializing_if = "is_vector_search_limit")]
    pub vector_search_limit: u64,
    /// Whether the answer to an observation [tells](crate::VectorSearchAccount) what the search found. Since
    /// 6.x.
    #[serde(skip_serializing_if = "is_default")]
    pub return_vector_search_results: bool,
    /// Most predictions of an answer. Default 100.
    pub max_predictions: u64,
    /// Without effect, unless
    /// [`EngineOptions::session_sort_symbols`](crate::EngineOptions::session_sort_symbols) is on.
    pub sort_symbols: bool,
    /// Whether observing should predict. For servers: in process, predictions are
    /// made when asked for.
    pub process_predictions: bool,
    /// Similarity by symbols (the default) or by characters. Without effect on states of one
    /// symbol, unless
    /// [`session_use_token_matching`](crate::EngineOptions::session_use_token_matching) of the
    /// engine's options is on.
    pub use_token_matching: bool,
    /// Least character similarity at which different symbols match; unset by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fuzzy_token_threshold: Option<f64>,
    /// The treatment of the short-term memory after an auto-learn.
    pub stm_mode: StmMode,
    /// Without effect, unless
    /// [`EngineOptions::session_rank_sort_algo`](crate::EngineOptions::session_rank_sort_algo) is
    /// on.
    pub rank_sort_algo: RankMetric,
    /// The emotive whose affinities weigh the symbols; unset by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity_emotive: Option<String>,
    /// Names of the stages that narrow the candidates; names that are no stage's are skipped. Names
    /// without `length`, `jaccard` or `minhash` among them leave no candidate.
    pub filter_pipeline: Vec<String>,
    /// Least pattern length as a share of the state's. Default 0.5.
    pub length_min_ratio: f64,
    /// Greatest pattern length as a multiple of the state's. Default 2.
    pub length_max_ratio: f64,
    /// Least Jaccard index. Default 0.3.
    pub jaccard_threshold: f64,
    /// Least number of common distinct symbols. Default 2.
    pub jaccard_min_overlap: u64,
    /// Least estimated Jaccard index. Default 0.7.
    pub minhash_threshold: f64,
    /// Bands of a signature. Default 20.
    pub minhash_bands: u64,
    /// Rows of a band. Default 5.
    pub minhash_rows: u64,
    /// Values of a signature; more than 1024 count as 1024. Default 100.
    pub minhash_num_hashes: u64,
    /// Without effect. Default 0.01.
    pub bloom_false_positive_rate: f64,
    /// Without effect. Default 100,000.
    pub max_candidates_per_stage: u64,
    /// Without effect. Default `true`.
    pub enable_filter_metrics: bool,
    /// What is answered in place of some of them.
    #[serde(skip_serializing_if = "AsGiven::is_empty")]
    as_given: AsGiven,
}

impl Default for SessionConfig {
    fn default() -> Self {
        let filters = FilterSettings::default();
        Self {
            max_pattern_length: 0,
            persistence: 5,
            recall_threshold: 0.1,
            indexer_type: IndexerType::Vi,
            vector_event_mode: VectorEventMode::default(),
            vector_search_limit: VECTOR_SEARCH_LIMIT,
            return_vector_search_results: false,
            max_predictions: 100,
            sort_symbols: true,
            process_predictions: true,
            use_token_matching: true,
            fuzzy_token_threshold: None,
            stm_mode: StmMode::Clear,
            rank_sort_algo: RankMetric::Potential,
            affinity_emotive: None,
            filter_pipeline: Vec::new(),
            length_min_ratio: filters.length_min_ratio,
            length_max_ratio: filters.length_max_ratio,
            jaccard_threshold: filters.jaccard_threshold,
            jaccard_min_overlap: filters.jaccard_min_overlap as u64,
            minhash_threshold: filters.minhash_threshold,
            minhash_bands: filters.minhash_bands as u64,
            minhash_rows: filters.minhash_rows as u64,
            minhash_num_hashes: filters.minhash_num_hashes as u64,
            bloom_false_positive_rate: 0.01,
            max_candidates_per_stage: 100_000,
            enable_filter_metrics: true,
            as_given: AsGiven::default(),
        }
    }
}

impl SessionConfig {
    /// Creates a builder that starts from the defaults.
    pub fn builder() -> SessionConfigBuilder {
        SessionConfigBuilder::default()
    }

    /// Returns the values that KATO of a generation answers (`session_config`): the effective ones, but as
    /// they were given where it took something else for them, such as `true` for 1.
    #[must_use]
    pub fn settings(&self, generation: KatoGeneration) -> Map<String, Value> {
        let mut taken = self.clone().taken_by(generation);
        let as_given = taken.still_as_given(generation);
        taken.as_given = AsGiven::default();
        let value = serde_json::to_value(taken);
        // It is a struct, so it is an object.
        let Ok(Value::Object(mut settings)) = value else {
            return Map::new();
        };
        if generation.has_vector_settings() {
            let fuzzy = self.fuzzy_token_threshold.unwrap_or(0.0);
            settings.insert("fuzzy_token_threshold".to_owned(), fuzzy.into());
            let mode = serde_json::to_value(self.vector_event_mode).unwrap_or_default();
            settings.insert("vector_event_mode".to_owned(), mode);
            let limit = self.vector_search_limit;
            settings.insert("vector_search_limit".to_owned(), limit.into());
            let returns = self.return_vector_search_results;
            settings.insert("return_vector_search_results".to_owned(), returns.into());
        }
        settings.extend(as_given);
        settings.retain(|name, _| change::has_setting(name, generation));
        settings
    }

    /// Returns about how many bytes the settings take beside their own size.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let names = self.filter_pipeline.iter().map(|name| 48 + name.len());
        let emotive = self.affinity_emotive.as_ref().map_or(0, String::len);
        names.sum::<usize>() + emotive + self.as_given.bytes()
    }

    /// Returns a stored configuration as a generation takes it: what it would refuse is the default.
    #[must_use]
    pub(crate) fn taken_by(mut self, generation: KatoGeneration) -> Self {
        let is_refused = generation.needs_common_symbols()
            && !(self.recall_threshold > 0.0 && self.recall_threshold <= 1.0);
        if is_refused {
            self.recall_threshold = Self::default().recall_threshold;
        }
        self
    }

    /// Returns the settings that predictions depend on, with this configuration's own ranking
    /// metric and kind of similarity; its generation is the default.
    #[must_use]
    pub fn prediction(&self) -> PredictionConfig {
        // What does not fit is beyond any number of patterns or symbols in memory.
        let size = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
        PredictionConfig {
            generation: DEFAULT_GENERATION,
            recall_threshold: self.recall_threshold,
            max_predictions: size(self.max_predictions),
            use_token_matching: self.use_token_matching,
            single_symbol_token_matching: self.use_token_matching,
            fuzzy_token_threshold: self.fuzzy_token_threshold,
            rank_sort_algo: self.rank_sort_algo,
            affinity_emotive: self.affinity_emotive.clone(),
            filter_pipeline: self
                .filter_pipeline
                .iter()
                // KATO skips unknown names, but a pipeline of nothing else selects no candidates:
                // the stage without effect does the same.
                .map(|name| filter(name).unwrap_or(Filter::Bloom))
                .collect(),
            filters: FilterSettings {
                length_min_ratio: self.length_min_ratio,
                length_max_ratio: self.length_max_ratio,
                jaccard_threshold: self.jaccard_threshold,
                jaccard_min_overlap: size(self.jaccard_min_overlap),
                minhash_threshold: self.minhash_threshold,
                minhash_bands: size(self.minhash_bands),
                minhash_rows: size(self.minhash_rows),
                minhash_num_hashes: size(self.minhash_num_hashes),
            },
        }
    }
}

/// Returns whether a value is the default, which JSON of earlier generations has no key for.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn is_vector_search_limit(limit: &u64) -> bool {
    *limit == VECTOR_SEARCH_LIMIT
}

/// The stages of the filter pipeline by name.
const FILTERS: [(&str, Filter); 5] = [
    ("length", Filter::Length),
    ("jaccard", Filter::Jaccard),
    ("minhash", Filter::Minhash),
    ("bloom", Filter::Bloom),
    ("rapidfuzz", Filter::Rapidfuzz),
];

/// Returns the stage of a name; `None` if there is none.
fn filter(name: &str) -> Option<Filter> {
    FILTERS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|&(_, filter)| filter)
}

/// The error of settings that were refused, each with the reason; nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("configure a session: {}", join_messages(messages))]
pub struct ConfigError {
    messages: BTreeMap<String, String>,
}

impl ConfigError {
    /// Returns by key what the value must be, in KATO's words where KATO checks it.
    #[must_use]
    pub const fn messages(&self) -> &BTreeMap<String, String> {
        &self.messages
    }

    /// Returns those of the [messages](Self::messages) that KATO 6 names by key in its answer
    /// (`validation_errors`). Where there are none, it answers one text without keys.
    #[must_use]
    pub fn validation_errors(&self) -> BTreeMap<&str, &str> {
        let named = |(key, _): &(&String, &String)| change::is_named(key);
        let messages = self.messages.iter().filter(named);
        messages.map(|(key, text)| (&**key, &**text)).collect()
    }
}

/// Joins the messages for an error's text.
fn join_messages(messages: &BTreeMap<String, String>) -> String {
    let line = |(key, message): (&String, &String)| format!("{key}: {message}");
    messages.iter().map(line).collect::<Vec<_>>().join("; ")
}
