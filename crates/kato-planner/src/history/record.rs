//! A training run in a history: its settings, the estimate made before it, and what it took.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Forecast;

/// A run that is to be recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRun {
    /// The id; by default it is made of settings and samples.
    pub run_id: Option<String>,
    /// When the run ended; by default now.
    pub recorded: Option<SystemTime>,
    /// How it was trained.
    pub settings: RunSettings,
    /// What it was trained from.
    pub corpus: RecordedCorpus,
    /// Where it was trained.
    pub machine: Machine,
    /// What was foretold; `None` where nothing was.
    pub estimate: Option<Forecast>,
    /// What it took.
    pub outcome: Outcome,
    /// Whatever else is worth knowing.
    pub notes: String,
}

impl NewRun {
    /// Creates a run of these settings with this outcome.
    #[must_use]
    pub fn new(settings: RunSettings, outcome: Outcome) -> Self {
        Self {
            run_id: None,
            recorded: None,
            settings,
            corpus: RecordedCorpus::default(),
            machine: Machine::default(),
            estimate: None,
            outcome,
            notes: String::new(),
        }
    }

    /// Returns the id that a run of these settings gets by default: `run_c5x3_w2_s1000` for three
    /// levels of the same chunk size, else `run_c5-7-9_w2_s1000`.
    #[must_use]
    pub fn default_id(&self) -> String {
        let sizes = &self.settings.chunk_sizes;
        let chunks = match sizes.as_slice() {
            [] => "0".to_owned(),
            [first, rest @ ..] if rest.iter().all(|size| size == first) => {
                format!("{first}x{}", sizes.len())
            }
            sizes => {
                let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
                sizes.join("-")
            }
        };
        let workers = self.settings.workers.unwrap_or(0);
        format!("run_c{chunks}_w{workers}_s{}", self.outcome.samples)
    }
}

/// A run of a history.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HistoryRun {
    /// The id, which no other run of the history has.
    pub run_id: String,
    /// When the run ended, as RFC 3339 in UTC.
    pub recorded: String,
    /// How it was trained.
    pub settings: RunSettings,
    /// What it was trained from.
    pub corpus: RecordedCorpus,
    /// Where it was trained.
    pub machine: Machine,
    /// What was foretold; `None` where nothing was.
    pub estimate: Option<Forecast>,
    /// What it took.
    pub outcome: Outcome,
    /// Whatever else is worth knowing.
    pub notes: String,
}

/// How a run was trained.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunSettings {
    /// Chunk size of each level, from the bottom up.
    pub chunk_sizes: Vec<u64>,
    /// Documents, or chunks, that travel together; `None` where there is no such thing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_size: Option<u64>,
    /// Workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<u64>,
    /// Bytes of memory for what was not yet written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Kind of place that the knowledge went to: `embedded`, `kato`, `mongodb`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Everything else, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub other: BTreeMap<String, Value>,
}

impl RunSettings {
    /// Creates settings of a hierarchy with these chunk sizes.
    #[must_use]
    pub fn new(chunk_sizes: impl IntoIterator<Item = u64>) -> Self {
        Self {
            chunk_sizes: chunk_sizes.into_iter().collect(),
            ..Self::default()
        }
    }
}

/// What a run was trained from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedCorpus {
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A digest of names, sizes and contents, by which two corpora are the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Bytes of its files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

impl RecordedCorpus {
    /// Creates a corpus with a name for people.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: Some(name.into()),
            ..Self::default()
        }
    }
}

/// Where a run was trained.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// A name, such as the processor's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Cores that the process could use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<u64>,
    /// Bytes of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// The machine's class: low, medium, high, server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
}

/// What a run took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Whether the corpus was trained to its end.
    pub complete: bool,
    /// Seconds in which all samples were learned; 0 where they are not known, as of a run that was gone
    /// on with.
    pub seconds: f64,
    /// Samples that were learned.
    pub samples: u64,
    /// Tokens that were learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Samples that failed.
    #[serde(default)]
    pub errors: u64,
    /// Warnings.
    #[serde(default)]
    pub warnings: u64,
    /// Bytes that what was learned takes on the disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
    /// Bytes written to disks meanwhile, by whomever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// Peak bytes of memory of the process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Processor time, in per cent of the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_percent: Option<f64>,
    /// The levels, from the bottom up.
    #[serde(default)]
    pub levels: Vec<LevelOutcome>,
}

impl Outcome {
    /// Creates the outcome of a complete run that took so many seconds.
    #[must_use]
    pub fn new(seconds: f64) -> Self {
        Self {
            complete: true,
            seconds,
            ..Self::default()
        }
    }

    /// Returns the samples a second; `None` for a run whose time is not known.
    #[must_use]
    pub fn samples_per_second(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.samples as f64 / self.seconds)
    }

    /// Returns the patterns of all levels; `None` where one is unknown, or there is none.
    #[must_use]
    pub fn patterns(&self) -> Option<u64> {
        let mut patterns = self.levels.iter().map(|level| level.patterns);
        let first = patterns.next()??;
        patterns.try_fold(first, |sum, patterns| Some(sum.saturating_add(patterns?)))
    }

    /// Returns the learn calls of all levels.
    #[must_use]
    pub fn learns(&self) -> u64 {
        let learns = self.levels.iter().map(|level| level.learns);
        learns.fold(0, u64::saturating_add)
    }
}

/// What a run made of one level.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LevelOutcome {
    /// Name of the node.
    pub node: String,
    /// Learn calls.
    pub learns: u64,
    /// Distinct patterns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patterns: Option<u64>,
    /// Bytes that they take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Patterns by how often they were learned.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub frequencies: BTreeMap<u64, u64>,
}

impl LevelOutcome {
    /// Creates a level with a number of learn calls.
    #[must_use]
    pub fn new(node: impl Into<String>, learns: u64) -> Self {
        Self {
            node: node.into(),
            learns,
            ..Self::default()
        }
    }
}
