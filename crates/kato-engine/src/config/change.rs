//! Changes of settings: every setting with the values that it may have.

use std::collections::BTreeMap;

use kato_model::KatoGeneration;
use kato_prediction::config::RankMetric;
use serde_json::{Map, Value};

use super::given::{AsGiven, Reading, SORT, refused};
use super::rules::{
    Count, Filters, Flag, Integer, MAX, Mode, Named, Number, OptionalNumber, OptionalText, Rule,
    Threshold, Truth, Whole,
};
use super::{ConfigError, IndexerType, SessionConfig, StmMode, VectorEventMode};

/// Whether KATO checks the range of a setting when a running session is changed.
const ALWAYS: bool = true;
const AT_CREATION: bool = false;

macro_rules! settings {
    ($($name:ident: $type:ty, $rule:expr, $checked:ident;)*) => {
        /// A change of a [`SessionConfig`]; `None` leaves a setting as it is.
        ///
        /// ```
        /// use kato_engine::SessionConfig;
        /// use kato_engine::config::SessionConfigChange;
        ///
        /// let mut change = SessionConfigChange::default();
        /// change.recall_threshold = Some(0.3);
        /// let mut config = SessionConfig::default();
        /// config.apply(change);
        /// assert_eq!(config.recall_threshold, 0.3);
        /// ```
        #[derive(Debug, Clone, Default, PartialEq)]
        #[non_exhaustive]
        pub struct SessionConfigChange {
            $(
                #[doc = concat!("A value of [`SessionConfig::", stringify!($name), "`].")]
                pub $name: Option<$type>,
            )*
            /// What KATO answers in place of some of them.
            as_given: AsGiven,
        }

        impl SessionConfigChange {
            /// Reads what is set, and checks what KATO checks then. Keys that the generation does not know
            /// are ignored.
            fn read(mut reading: Reading<'_>) -> Result<Self, ConfigError> {
                let default = SessionConfig::default();
                let mut change = Self {
                    $($name: reading.setting(stringify!($name), ($rule, $checked), default.$name),)*
                    as_given: AsGiven::default(),
                };
                change.as_given = reading.finish()?;
                Ok(change)
            }
        }

        /// Returns whether KATO names a setting in its answer when it refuses a value.
        pub(super) fn is_named(name: &str) -> bool {
            [SORT, "filter_pipeline"].contains(&name)
                || [$((stringify!($name), $checked)),*].contains(&(name, ALWAYS))
        }

        impl SessionConfig {
            /// Returns whether a setting of this name is read in any generation. `sort` is, which KATO
            /// checks and does nothing with.
            #[must_use]
            pub fn has(name: &str) -> bool {
                [SORT, $(stringify!($name)),*].contains(&name)
            }

            /// Makes a change.
            pub fn apply(&mut self, mut change: SessionConfigChange) {
                $(if let Some(value) = change.$name {
                    self.$name = value;
                    self.as_given.replace(stringify!($name), &mut change.as_given);
                })*
            }

            /// Returns what was given for the settings that are still what it counts as.
            pub(super) fn still_as_given(&self, generation: KatoGeneration) -> Map<String, Value> {
                let mut given = Map::new();
                $(if let Some(value) = self.as_given.get(stringify!($name))
                    && $rule.read(value, generation).as_ref() == Some(&self.$name)
                {
                    given.insert(stringify!($name).to_owned(), value.clone());
                })*
                given
            }

            /// Checks the range of every setting.
            pub(super) fn check(&self) -> Result<(), ConfigError> {
                // A session belongs to no engine yet, so whatever some generation takes is taken.
                let generation = KatoGeneration::V3_10;
                let mut messages = BTreeMap::new();
                $(if !$rule.allows(&self.$name, generation) {
                    let message = $rule.message(&Value::Null, generation);
                    messages.insert(stringify!($name).to_owned(), message);
                })*
                refused(messages)
            }
        }
    };
}

settings! {
    max_pattern_length: u64, Whole(0, MAX), ALWAYS;
    persistence: u64, Whole(1, 100), ALWAYS;
    recall_threshold: f64, Threshold, ALWAYS;
    indexer_type: IndexerType, Named(&INDEXERS), ALWAYS;
    vector_event_mode: VectorEventMode, Named(&VectorEventMode::ALL), ALWAYS;
    vector_search_limit: u64, Integer(1, 100), ALWAYS;
    return_vector_search_results: bool, Flag, ALWAYS;
    max_predictions: u64, Whole(1, 10_000), ALWAYS;
    sort_symbols: bool, Truth, AT_CREATION;
    process_predictions: bool, Flag, ALWAYS;
    use_token_matching: bool, Flag, ALWAYS;
    fuzzy_token_threshold: Option<f64>, OptionalNumber(0.0, 1.0), AT_CREATION;
    stm_mode: StmMode, Mode, ALWAYS;
    rank_sort_algo: RankMetric, Named(&RankMetric::ALL), ALWAYS;
    affinity_emotive: Option<String>, OptionalText, AT_CREATION;
    filter_pipeline: Vec<String>, Filters, AT_CREATION;
    length_min_ratio: f64, Number(0.0, 1.0), AT_CREATION;
    length_max_ratio: f64, Number(1.0, f64::MAX), AT_CREATION;
    jaccard_threshold: f64, Number(0.0, 1.0), AT_CREATION;
    jaccard_min_overlap: u64, Count(1, MAX), AT_CREATION;
    minhash_threshold: f64, Number(0.0, 1.0), AT_CREATION;
    minhash_bands: u64, Count(1, 100), AT_CREATION;
    minhash_rows: u64, Count(1, 20), AT_CREATION;
    minhash_num_hashes: u64, Count(10, 256), AT_CREATION;
    bloom_false_positive_rate: f64, Number(0.0001, 0.1), AT_CREATION;
    max_candidates_per_stage: u64, Count(100, MAX), AT_CREATION;
    enable_filter_metrics: bool, Truth, AT_CREATION;
}

/// The values of `indexer_type`, in KATO's order.
const INDEXERS: [IndexerType; 4] = [
    IndexerType::Vi,
    IndexerType::Lsh,
    IndexerType::Annoy,
    IndexerType::Faiss,
];

impl SessionConfigChange {
    /// Reads a change of a running session, as `POST /sessions/{id}/config` of a generation of KATO
    /// does.
    ///
    /// Up to 4.x KATO checks the range of `recall_threshold`, `persistence`, `max_pattern_length`,
    /// `max_predictions`, `indexer_type`, `rank_sort_algo`, and the type of `stm_mode` and of
    /// most booleans; so does this. Of the other settings only the type is checked. From 5.x on all ranges
    /// are. What KATO does not look at may be anything: `sort_symbols`, `affinity_emotive`,
    /// `enable_filter_metrics`. Unknown keys are ignored, and `use_token_matching` sets `sort_symbols` too,
    /// unless that is given.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with a message for every refused key.
    pub fn from_json(
        given: &Map<String, Value>,
        generation: KatoGeneration,
    ) -> Result<Self, ConfigError> {
        let mut change = Self::read(Reading::new(given, generation, false))?;
        // As KATO does when settings are changed.
        change.sort_symbols = change.sort_symbols.or(change.use_token_matching);
        Ok(change)
    }

    /// Reads the settings of a new session and checks the type and range of each that KATO looks at
    /// ([not all](Self::from_json)). Unknown keys are ignored.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with a message for every refused key.
    pub fn at_creation(
        given: &Map<String, Value>,
        generation: KatoGeneration,
    ) -> Result<Self, ConfigError> {
        let mut change = Self::read(Reading::new(given, generation, true))?;
        if generation.matching_sets_sorting_at_creation() {
            change.sort_symbols = change.sort_symbols.or(change.use_token_matching);
        }
        Ok(change)
    }
}

impl SessionConfig {
    /// Changes settings of a running session, as [`SessionConfigChange::from_json`] reads them: all
    /// of them, or none.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with a message for every refused key; nothing is changed.
    pub fn update(
        &mut self,
        changes: &Map<String, Value>,
        generation: KatoGeneration,
    ) -> Result<(), ConfigError> {
        self.apply(SessionConfigChange::from_json(changes, generation)?);
        Ok(())
    }

    /// Returns the configuration of a new session, as `POST /sessions` of a generation of KATO makes
    /// it from `config`, and the error if a value is wrong.
    ///
    /// Up to 5.x KATO drops the **whole** map without a word when a single value is out of range. This
    /// returns the defaults then, too, and the error beside them: a server of such a
    /// [generation](KatoGeneration::refuses_at_creation) may go on, and everybody else should stop.
    /// Unknown keys are ignored.
    #[must_use]
    pub fn at_creation(
        given: &Map<String, Value>,
        generation: KatoGeneration,
    ) -> (Self, Option<ConfigError>) {
        let mut config = Self::default();
        let change = SessionConfigChange::at_creation(given, generation);
        let error = change.map(|change| config.apply(change)).err();
        (config, error)
    }
}

/// Returns whether a generation has the setting of a name.
pub(super) fn has_setting(name: &str, generation: KatoGeneration) -> bool {
    match name {
        "length_min_ratio" | "length_max_ratio" => !generation.has_no_length_filter(),
        "vector_event_mode" | "vector_search_limit" | "return_vector_search_results" => {
            generation.has_vector_settings()
        }
        _ => true,
    }
}
