//! What is foretold of a run: time, bytes and memory, each with its interval, and by whom.

mod correction;

use serde::{Deserialize, Serialize};

pub use correction::Correction;

/// What is foretold of a run; what is not is absent, and counts in no error.
///
/// It travels as JSON: in a plan, in the manifest of the run, and in a history.
///
/// ```
/// use kato_model::forecast::Forecast;
///
/// let forecast = Forecast { seconds: Some(14.5.into()), ..Forecast::default() };
/// let text = serde_json::to_string(&forecast)?;
/// assert_eq!(text, r#"{"seconds":{"value":14.5},"disk_bytes":null,"memory_bytes":null}"#);
/// assert_eq!(serde_json::from_str::<Forecast>(&text)?, forecast);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// Who made it; `None` where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<Forecaster>,
    /// Seconds.
    #[serde(default)]
    pub seconds: Option<ForecastValue>,
    /// Bytes on the disk.
    #[serde(default)]
    pub disk_bytes: Option<ForecastValue>,
    /// Peak bytes of memory.
    #[serde(default)]
    pub memory_bytes: Option<ForecastValue>,
    /// Seconds in which the index is written behind what was learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_seconds: Option<ForecastValue>,
    /// Bytes of the index, beside those on the disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_bytes: Option<ForecastValue>,
    /// Seconds in which the counts of the head are written, where they are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_seconds: Option<ForecastValue>,
    /// Their bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_bytes: Option<ForecastValue>,
    /// Seconds in which the occurrences are kept, where they are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occurrences_seconds: Option<ForecastValue>,
    /// Their bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occurrences_bytes: Option<ForecastValue>,
}

impl Forecast {
    /// Returns whether nothing is foretold.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values().iter().all(|(_, value)| value.is_none())
    }

    /// Returns the quantities with their names: those that a history corrects first.
    #[must_use]
    pub fn values(&self) -> [(&'static str, Option<ForecastValue>); 9] {
        [
            ("seconds", self.seconds),
            ("disk_bytes", self.disk_bytes),
            ("memory_bytes", self.memory_bytes),
            ("index_seconds", self.index_seconds),
            ("index_bytes", self.index_bytes),
            ("head_seconds", self.head_seconds),
            ("head_bytes", self.head_bytes),
            ("occurrences_seconds", self.occurrences_seconds),
            ("occurrences_bytes", self.occurrences_bytes),
        ]
    }
}

/// A way in which forecasts are made: each errs in its own way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Forecaster {
    /// Pilots over a part of the corpus.
    Plan,
    /// Documents of the corpus, of which nothing was trained.
    Estimate,
    /// Recorded runs with the same settings.
    History,
}

impl Forecaster {
    /// Returns the way as one word in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Estimate => "estimate",
            Self::History => "history",
        }
    }
}

/// A forecast number, with the interval that should hold the truth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ForecastValue {
    /// The number.
    pub value: f64,
    /// The lower end of its interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// The upper end of its interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// What it was corrected by; `None` where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correction: Option<Correction>,
}

impl ForecastValue {
    /// Creates a number with its interval.
    #[must_use]
    pub fn with_interval(value: f64, low: f64, high: f64) -> Self {
        Self {
            low: Some(low),
            high: Some(high),
            ..Self::from(value)
        }
    }

    /// Returns whether the interval holds a number; `None` without an interval.
    #[must_use]
    pub fn covers(&self, truth: f64) -> Option<bool> {
        Some(self.low? <= truth && truth <= self.high?)
    }
}

impl From<f64> for ForecastValue {
    fn from(value: f64) -> Self {
        Self {
            value,
            low: None,
            high: None,
            correction: None,
        }
    }
}
