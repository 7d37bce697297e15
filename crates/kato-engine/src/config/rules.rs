//! The rules for the values of settings, and their application to JSON.

use std::collections::BTreeMap;

use kato_prediction::config::RankMetric;
use serde_json::{Map, Value};

use super::{ConfigError, FILTERS, SessionConfig};

/// The values that a setting may have.
#[derive(Debug, Clone, Copy)]
enum Rule {
    /// A whole number in a range. Booleans count as 0 and 1, as in Python.
    Integer(u64, u64),
    /// A number in a range. Booleans count as 0 and 1.
    Number(f64, f64),
    /// As `Number`, or `null` for unset.
    OptionalNumber(f64, f64),
    Bool,
    /// A string; what is not `ROLLING` counts as `CLEAR`.
    Mode,
    /// One of the names.
    Indexer,
    Metric,
    /// Any string, or `null` for unset.
    OptionalText,
    /// A list of strings.
    Filters,
}

/// The upper end of ranges that have none.
const MAX: u64 = u64::MAX;

/// Every setting with its values, and whether KATO checks their range when a session is changed.
const SETTINGS: [(&str, Rule, bool); 24] = [
    ("max_pattern_length", Rule::Integer(0, MAX), true),
    ("persistence", Rule::Integer(1, 100), true),
    ("recall_threshold", Rule::Number(0.0, 1.0), true),
    ("indexer_type", Rule::Indexer, true),
    ("max_predictions", Rule::Integer(1, 10_000), true),
    ("sort_symbols", Rule::Bool, true),
    ("process_predictions", Rule::Bool, true),
    ("use_token_matching", Rule::Bool, true),
    (
        "fuzzy_token_threshold",
        Rule::OptionalNumber(0.0, 1.0),
        false,
    ),
    ("stm_mode", Rule::Mode, true),
    ("rank_sort_algo", Rule::Metric, true),
    ("affinity_emotive", Rule::OptionalText, false),
    ("filter_pipeline", Rule::Filters, false),
    ("length_min_ratio", Rule::Number(0.0, 1.0), false),
    ("length_max_ratio", Rule::Number(1.0, f64::MAX), false),
    ("jaccard_threshold", Rule::Number(0.0, 1.0), false),
    ("jaccard_min_overlap", Rule::Integer(1, MAX), false),
    ("minhash_threshold", Rule::Number(0.0, 1.0), false),
    ("minhash_bands", Rule::Integer(1, 100), false),
    ("minhash_rows", Rule::Integer(1, 20), false),
    ("minhash_num_hashes", Rule::Integer(10, 256), false),
    (
        "bloom_false_positive_rate",
        Rule::Number(0.0001, 0.1),
        false,
    ),
    ("max_candidates_per_stage", Rule::Integer(100, MAX), false),
    ("enable_filter_metrics", Rule::Bool, false),
];

/// The values of `indexer_type`.
const INDEXERS: [&str; 4] = ["VI", "LSH", "ANNOY", "FAISS"];

impl SessionConfig {
    /// Returns whether there is a setting of this name.
    #[must_use]
    pub fn has(name: &str) -> bool {
        SETTINGS.iter().any(|(known, ..)| *known == name)
    }

    /// Changes settings of a running session, as KATO's `POST /sessions/{id}/config` does:
    /// all of them, or none.
    ///
    /// KATO checks the range of `recall_threshold`, `persistence`, `max_pattern_length`,
    /// `max_predictions`, `indexer_type`, `rank_sort_algo`, and the type of `stm_mode` and of
    /// booleans; so does this. Of the other settings only the type is checked. Unknown keys are
    /// ignored, and `use_token_matching` sets `sort_symbols` too, unless that is given.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] with a message for every refused key; nothing is changed.
    pub fn update(&mut self, changes: &Map<String, Value>) -> Result<(), ConfigError> {
        let mut changed = self.with(changes, |checked| checked)?;
        // As KATO 3.10.1 does when settings are changed.
        if changes.contains_key("use_token_matching") && !changes.contains_key("sort_symbols") {
            changed.sort_symbols = changed.use_token_matching;
        }
        *self = changed;
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
        Self::default().for_creation(given)
    }

    /// Does the same as [`at_creation`](Self::at_creation), with these settings for defaults.
    #[must_use]
    pub fn for_creation(&self, given: &Map<String, Value>) -> (Self, Option<ConfigError>) {
        match self.with(given, |_| true) {
            Ok(config) => (config, None),
            Err(error) => (self.clone(), Some(error)),
        }
    }

    /// Checks the type and range of every setting.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.with(&self.to_map(), |_| true).map(drop)
    }

    /// Returns these settings with changes, all of the right type.
    ///
    /// `in_range` says whether the range is checked, too, given whether KATO does so.
    fn with(
        &self,
        changes: &Map<String, Value>,
        in_range: impl Fn(bool) -> bool,
    ) -> Result<Self, ConfigError> {
        let mut messages = BTreeMap::new();
        let mut map = self.to_map();
        // In the order of the table and not of the changes, so that unknown keys are ignored.
        for (key, rule, checked) in SETTINGS {
            let Some(value) = changes.get(key) else {
                continue;
            };
            match rule.read(value, in_range(checked)) {
                Some(value) => drop(map.insert(key.to_owned(), value)),
                None => drop(messages.insert(key.to_owned(), rule.message())),
            }
        }
        if !messages.is_empty() {
            return Err(ConfigError { messages });
        }
        // Can fail only for a field that was set in process to what JSON cannot express, as NaN.
        serde_json::from_value(Value::Object(map)).map_err(|error| ConfigError {
            messages: BTreeMap::from([("config".to_owned(), error.to_string())]),
        })
    }

    /// Returns the settings as JSON has them.
    fn to_map(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(map)) => map,
            _ => Map::new(),
        }
    }
}

impl Rule {
    /// Returns the value in the form that is kept; `None` if it is refused.
    fn read(self, value: &Value, in_range: bool) -> Option<Value> {
        match self {
            // Written as an integer in the JSON: KATO refuses 2.0.
            Self::Integer(min, max) => {
                let integer = match value {
                    Value::Bool(value) => u64::from(*value),
                    value => value.as_u64()?,
                };
                (!in_range || (min..=max).contains(&integer)).then(|| integer.into())
            }
            Self::Number(min, max) => {
                let number = match value {
                    Value::Bool(value) => f64::from(u8::from(*value)),
                    value => value.as_f64()?,
                };
                (!in_range || (min..=max).contains(&number)).then(|| number.into())
            }
            Self::OptionalNumber(..) | Self::OptionalText if value.is_null() => Some(Value::Null),
            Self::OptionalNumber(min, max) => Self::Number(min, max).read(value, in_range),
            Self::Bool => value.is_boolean().then(|| value.clone()),
            // KATO takes any string, and treats all but one as the default.
            Self::Mode => value.as_str().map(|mode| match mode {
                "ROLLING" => "ROLLING".into(),
                _ => "CLEAR".into(),
            }),
            Self::Indexer => INDEXERS.contains(&value.as_str()?).then(|| value.clone()),
            Self::Metric => metric_names()
                .iter()
                .any(|name| Some(name.as_str()) == value.as_str())
                .then(|| value.clone()),
            Self::OptionalText => value.is_string().then(|| value.clone()),
            Self::Filters => {
                let known = |value: &Value| {
                    value.as_str().is_some_and(|name| {
                        !in_range || FILTERS.iter().any(|(known, _)| *known == name)
                    })
                };
                value.as_array()?.iter().all(known).then(|| value.clone())
            }
        }
    }

    /// Returns what a value must be, in KATO's words where it has any.
    fn message(self) -> String {
        match self {
            Self::Integer(0, MAX) => "Must be a non-negative integer".to_owned(),
            Self::Integer(min, MAX) => format!("Must be an integer of at least {min}"),
            Self::Integer(min, max) => format!("Must be an integer between {min} and {max}"),
            Self::Number(min, f64::MAX) => format!("Must be a number of at least {min:?}"),
            Self::Number(min, max) => format!("Must be a number between {min:?} and {max:?}"),
            Self::OptionalNumber(min, max) => {
                format!("Must be a number between {min:?} and {max:?}, or null")
            }
            Self::Bool => "Must be a boolean (true/false)".to_owned(),
            Self::Mode => "Must be a string".to_owned(),
            Self::Indexer => format!("Must be one of: {}", INDEXERS.join(", ")),
            Self::Metric => format!("Must be one of: {}", metric_names().join(", ")),
            Self::OptionalText => "Must be a string or null".to_owned(),
            Self::Filters => {
                let names = FILTERS.map(|(name, _)| name);
                format!("Must be a list of: {}", names.join(", "))
            }
        }
    }
}

/// Returns the names of the metrics as JSON spells them.
fn metric_names() -> Vec<String> {
    RankMetric::ALL
        .iter()
        .filter_map(|metric| match serde_json::to_value(metric) {
            Ok(Value::String(name)) => Some(name),
            _ => None,
        })
        .collect()
}
