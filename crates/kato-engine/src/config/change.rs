//! Changes of settings: every setting with the values that it may have.

use std::collections::BTreeMap;

use kato_prediction::config::RankMetric;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{ConfigError, FILTERS, IndexerType, SessionConfig, StmMode};

/// The upper end of ranges that have none.
const MAX: u64 = u64::MAX;

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
        }

        impl SessionConfigChange {
            /// Reads what is set, and checks the ranges that KATO checks then, or all of them.
            /// Unknown keys are ignored.
            fn read(given: &Map<String, Value>, checks_all: bool) -> Result<Self, ConfigError> {
                let mut messages = BTreeMap::new();
                let change = Self {
                    $($name: given.get(stringify!($name)).and_then(|value| {
                        let in_range = |read: &_| !(checks_all || $checked) || $rule.allows(read);
                        let read = $rule.read(value).filter(in_range);
                        if read.is_none() {
                            messages.insert(stringify!($name).to_owned(), $rule.message());
                        }
                        read
                    }),)*
                };
                refused(messages).map(|()| change)
            }
        }

        impl SessionConfig {
            /// Returns whether there is a setting of this name.
            #[must_use]
            pub fn has(name: &str) -> bool {
                [$(stringify!($name)),*].contains(&name)
            }

            /// Makes a change.
            pub fn apply(&mut self, change: SessionConfigChange) {
                $(if let Some(value) = change.$name {
                    self.$name = value;
                })*
            }

            /// Checks the range of every setting.
            pub(super) fn check(&self) -> Result<(), ConfigError> {
                let mut messages = BTreeMap::new();
                $(if !$rule.allows(&self.$name) {
                    messages.insert(stringify!($name).to_owned(), $rule.message());
                })*
                refused(messages)
            }
        }
    };
}

settings! {
    max_pattern_length: u64, Whole(0, MAX), ALWAYS;
    persistence: u64, Whole(1, 100), ALWAYS;
    recall_threshold: f64, Number(0.0, 1.0), ALWAYS;
    indexer_type: IndexerType, Named(&INDEXERS), ALWAYS;
    max_predictions: u64, Whole(1, 10_000), ALWAYS;
    sort_symbols: bool, Flag, ALWAYS;
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
    jaccard_min_overlap: u64, Whole(1, MAX), AT_CREATION;
    minhash_threshold: f64, Number(0.0, 1.0), AT_CREATION;
    minhash_bands: u64, Whole(1, 100), AT_CREATION;
    minhash_rows: u64, Whole(1, 20), AT_CREATION;
    minhash_num_hashes: u64, Whole(10, 256), AT_CREATION;
    bloom_false_positive_rate: f64, Number(0.0001, 0.1), AT_CREATION;
    max_candidates_per_stage: u64, Whole(100, MAX), AT_CREATION;
    enable_filter_metrics: bool, Flag, AT_CREATION;
}

/// The values of `indexer_type`, in KATO's order.
const INDEXERS: [IndexerType; 4] = [
    IndexerType::Vi,
    IndexerType::Lsh,
    IndexerType::Annoy,
    IndexerType::Faiss,
];

impl SessionConfigChange {
    /// Reads a change of a running session, as KATO's `POST /sessions/{id}/config` does.
    ///
    /// KATO checks the range of `recall_threshold`, `persistence`, `max_pattern_length`,
    /// `max_predictions`, `indexer_type`, `rank_sort_algo`, and the type of `stm_mode` and of
    /// booleans; so does this. Of the other settings only the type is checked. Unknown keys are
    /// ignored, and `use_token_matching` sets `sort_symbols` too, unless that is given.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with a message for every refused key.
    pub fn from_json(given: &Map<String, Value>) -> Result<Self, ConfigError> {
        let mut change = Self::read(given, false)?;
        // As KATO 3.10.1 does when settings are changed.
        change.sort_symbols = change.sort_symbols.or(change.use_token_matching);
        Ok(change)
    }

    /// Reads the settings of a new session and checks the type and range of each. Unknown keys are
    /// ignored.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with a message for every refused key.
    pub fn at_creation(given: &Map<String, Value>) -> Result<Self, ConfigError> {
        Self::read(given, true)
    }
}

impl SessionConfig {
    /// Changes settings of a running session, as [`SessionConfigChange::from_json`] reads them: all
    /// of them, or none.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with a message for every refused key; nothing is changed.
    pub fn update(&mut self, changes: &Map<String, Value>) -> Result<(), ConfigError> {
        self.apply(SessionConfigChange::from_json(changes)?);
        Ok(())
    }

    /// Returns the configuration of a new session, as KATO's `POST /sessions` makes it from
    /// `config`, and the error if a value is wrong.
    ///
    /// KATO drops the **whole** map without a word when a single value is out of range. This
    /// returns the defaults then, too, and the error beside them: a server may go on, and everybody
    /// else should stop. Unknown keys are ignored.
    #[must_use]
    pub fn at_creation(given: &Map<String, Value>) -> (Self, Option<ConfigError>) {
        let mut config = Self::default();
        let change = SessionConfigChange::at_creation(given);
        let error = change.map(|change| config.apply(change)).err();
        (config, error)
    }
}

/// Fails if there are messages.
fn refused(messages: BTreeMap<String, String>) -> Result<(), ConfigError> {
    match messages.is_empty() {
        true => Ok(()),
        false => Err(ConfigError { messages }),
    }
}

/// The values that a setting may have.
trait Rule {
    type Setting;

    /// Reads a value; `None` if its type is wrong.
    fn read(&self, value: &Value) -> Option<Self::Setting>;

    /// Returns whether a value is in range.
    fn allows(&self, _: &Self::Setting) -> bool {
        true
    }

    /// Returns what a value must be, in KATO's words where it has any.
    fn message(&self) -> String;
}

/// A whole number in a range. Booleans count as 0 and 1, as in Python.
struct Whole(u64, u64);

impl Rule for Whole {
    type Setting = u64;

    fn read(&self, value: &Value) -> Option<u64> {
        // Written as an integer in the JSON: KATO refuses 2.0.
        value.as_bool().map(u64::from).or_else(|| value.as_u64())
    }

    fn allows(&self, number: &u64) -> bool {
        (self.0..=self.1).contains(number)
    }

    fn message(&self) -> String {
        match *self {
            Self(0, MAX) => "Must be a non-negative integer".to_owned(),
            Self(min, MAX) => format!("Must be an integer of at least {min}"),
            Self(min, max) => format!("Must be an integer between {min} and {max}"),
        }
    }
}

/// A number in a range. Booleans count as 0 and 1.
struct Number(f64, f64);

impl Rule for Number {
    type Setting = f64;

    fn read(&self, value: &Value) -> Option<f64> {
        let flag = value.as_bool().map(|flag| f64::from(u8::from(flag)));
        flag.or_else(|| value.as_f64())
    }

    fn allows(&self, number: &f64) -> bool {
        (self.0..=self.1).contains(number)
    }

    fn message(&self) -> String {
        match *self {
            Self(min, f64::MAX) => format!("Must be a number of at least {min:?}"),
            Self(min, max) => format!("Must be a number between {min:?} and {max:?}"),
        }
    }
}

/// As [`Number`], or `null` for unset.
struct OptionalNumber(f64, f64);

impl Rule for OptionalNumber {
    type Setting = Option<f64>;

    fn read(&self, value: &Value) -> Option<Option<f64>> {
        match value {
            Value::Null => Some(None),
            value => Number(self.0, self.1).read(value).map(Some),
        }
    }

    fn allows(&self, number: &Option<f64>) -> bool {
        number.is_none_or(|number| Number(self.0, self.1).allows(&number))
    }

    fn message(&self) -> String {
        format!("{}, or null", Number(self.0, self.1).message())
    }
}

struct Flag;

impl Rule for Flag {
    type Setting = bool;

    fn read(&self, value: &Value) -> Option<bool> {
        value.as_bool()
    }

    fn message(&self) -> String {
        "Must be a boolean (true/false)".to_owned()
    }
}

/// A string; what is not `ROLLING` counts as `CLEAR`.
struct Mode;

impl Rule for Mode {
    type Setting = StmMode;

    fn read(&self, value: &Value) -> Option<StmMode> {
        // KATO takes any string, and treats all but one as the default.
        value.as_str().map(|mode| match mode {
            "ROLLING" => StmMode::Rolling,
            _ => StmMode::Clear,
        })
    }

    fn message(&self) -> String {
        "Must be a string".to_owned()
    }
}

/// One of some values, by their names.
struct Named<'a, T>(&'a [T]);

impl<T: Serialize + DeserializeOwned> Rule for Named<'_, T> {
    type Setting = T;

    fn read(&self, value: &Value) -> Option<T> {
        // A map of one key would be read as well.
        let name = value.is_string().then_some(value)?;
        T::deserialize(name).ok()
    }

    fn message(&self) -> String {
        let names = self
            .0
            .iter()
            .filter_map(|value| match serde_json::to_value(value) {
                Ok(Value::String(name)) => Some(name),
                _ => None,
            });
        format!("Must be one of: {}", names.collect::<Vec<_>>().join(", "))
    }
}

/// Any string, or `null` for unset.
struct OptionalText;

impl Rule for OptionalText {
    type Setting = Option<String>;

    fn read(&self, value: &Value) -> Option<Option<String>> {
        match value {
            Value::Null => Some(None),
            value => value.as_str().map(|text| Some(text.to_owned())),
        }
    }

    fn message(&self) -> String {
        "Must be a string or null".to_owned()
    }
}

/// A list of strings.
struct Filters;

impl Rule for Filters {
    type Setting = Vec<String>;

    fn read(&self, value: &Value) -> Option<Vec<String>> {
        let names = value.as_array()?.iter();
        names.map(|name| name.as_str().map(str::to_owned)).collect()
    }

    fn allows(&self, names: &Vec<String>) -> bool {
        let is_known = |name: &String| FILTERS.iter().any(|(known, _)| known == name);
        names.iter().all(is_known)
    }

    fn message(&self) -> String {
        format!(
            "Must be a list of: {}",
            FILTERS.map(|(name, _)| name).join(", ")
        )
    }
}
