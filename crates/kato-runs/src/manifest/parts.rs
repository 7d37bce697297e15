//! The parts of a manifest.

use kato_loader::CorpusIdentity;
use kato_model::{AttributeLimits, RunName, processor_id};
use kato_scheduler::{Checkpoint, RunConfiguration, TrainingReport};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::text::by_text;
use crate::RunId;

/// The service whose databases hold the levels of a run.
const SERVICE: &str = "kato";

/// What a run is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// Somebody trains it, or has it open for writing.
    Running,
    /// It ended before its corpus did, and can be resumed.
    Interrupted,
    /// Its corpus was read to the end.
    Complete,
}

impl RunState {
    /// The state as one word in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::Complete => "complete",
        }
    }
}

/// Kinds of backends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BackendKind {
    /// A knowledge base on the disk.
    Embedded,
    /// The nodes of a KATO server.
    Kato,
    /// A MongoDB.
    Mongodb,
}

impl BackendKind {
    /// The kind as one word in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Kato => "kato",
            Self::Mongodb => "mongodb",
        }
    }
}

/// Where what a run learned is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunBackend {
    /// The kind of backend.
    pub kind: BackendKind,
    /// A directory or the address of a server, without credentials.
    pub place: String,
}

impl RunBackend {
    /// A backend at a directory or URI. Of a URI only scheme and hosts are kept: what follows, and what stands before an `@`, may be secret.
    ///
    /// ```
    /// use kato_runs::{BackendKind, RunBackend};
    ///
    /// let backend = RunBackend::new(BackendKind::Mongodb, "mongodb://ada:secret@a:27017,b/?tls=true");
    /// assert_eq!(backend.place, "mongodb://a:27017,b");
    /// ```
    #[must_use]
    pub fn new(kind: BackendKind, place: &str) -> Self {
        let place = match place.split_once("://") {
            Some((scheme, rest)) => {
                // A password may hold `/` or `?`, though it should not: what is in front of the last `@` is none of ours.
                let rest = rest.rsplit_once('@').map_or(rest, |(_, hosts)| hosts);
                let hosts = rest.split(['/', '?', '#']).next().unwrap_or_default();
                format!("{scheme}://{hosts}")
            }
            None => place.to_owned(),
        };
        Self { kind, place }
    }
}

/// The tokenizer of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunTokenizer {
    /// As it was asked for: `gpt2`, a path, a name.
    pub name: String,
    /// Digest of what decides its ids and token strings.
    pub fingerprint: String,
}

/// Which corpus a run read, in short; all of it is in the run's checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CorpusDigest {
    /// BLAKE3, in hex, of the JSON form of the [`CorpusIdentity`]: options, names, sizes and fingerprints of the files.
    pub digest: String,
    /// Number of files.
    pub files: u64,
}

impl CorpusDigest {
    /// The digest of a corpus.
    #[must_use]
    pub fn of(corpus: &CorpusIdentity) -> Self {
        Self {
            digest: digest(corpus),
            files: corpus.files().len() as u64,
        }
    }
}

fn digest(corpus: &CorpusIdentity) -> String {
    let json = serde_json::to_vec(corpus).expect("an identity is plain data");
    blake3::hash(&json).to_hex().to_string()
}

/// One level of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunLevel {
    /// Name of the node.
    pub node: String,
    /// Symbols of a full chunk, where that is known.
    pub chunk_size: Option<u64>,
    /// Id of the node on a server: name of the run and of the node.
    pub node_id: String,
    /// Name of the node's database on a server.
    pub database: String,
}

impl RunLevel {
    /// The levels of a run with these nodes, from the bottom up.
    pub(crate) fn all(
        run: &RunName,
        nodes: &[String],
        configuration: Option<&RunConfiguration>,
    ) -> Vec<Self> {
        let known = configuration.map_or(&[][..], |configuration| &configuration.learner.nodes);
        let level = |node: &String| {
            let known = known.iter().find(|known| known.name == *node);
            let node_id = run.node_id(node);
            Self {
                node: node.clone(),
                chunk_size: known.map(|node| node.chunk_size as u64),
                database: processor_id(&node_id, SERVICE),
                node_id,
            }
        };
        nodes.iter().map(level).collect()
    }
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunResults {
    /// Documents learned.
    pub samples: u64,
    /// Documents that could not be learned and records that could not be read.
    pub errors: u64,
    /// Tokens that are part of a pattern.
    pub tokens: u64,
    /// The levels, from the bottom up.
    pub levels: Vec<LevelResult>,
    /// Wall-clock seconds of training over the sessions that came to their end; `None` where none is recorded.
    pub seconds: Option<f64>,
}

/// What one level came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LevelResult {
    /// Name of the node.
    pub node: String,
    /// Learn calls.
    pub observations: u64,
    /// Distinct patterns, where they were counted.
    pub patterns: Option<u64>,
}

impl RunResults {
    pub(crate) fn of_report(report: &TrainingReport) -> Self {
        let levels = report.levels.iter().map(|level| LevelResult {
            node: level.node.clone(),
            observations: level.observations,
            patterns: level.unique_patterns,
        });
        Self {
            samples: report.samples_processed,
            errors: report.errors,
            tokens: report.tokens,
            levels: levels.collect(),
            seconds: Some(report.total_time_seconds),
        }
    }

    /// What is committed. What only a report knows is taken from `recorded`, as far as it is of the same state.
    pub(crate) fn of_checkpoint(
        checkpoint: Option<&Checkpoint>,
        mut levels: Vec<LevelResult>,
        recorded: Option<&Self>,
    ) -> Self {
        for level in &mut levels {
            let same = recorded
                .and_then(|recorded| recorded.levels.iter().find(|was| was.node == level.node));
            if let Some(same) = same.filter(|was| was.observations == level.observations) {
                level.patterns = level.patterns.or(same.patterns);
            }
        }
        let counters = checkpoint
            .map(|checkpoint| checkpoint.counters)
            .unwrap_or_default();
        let bad = checkpoint.map_or(0, |checkpoint| checkpoint.cursor.counts().bad);
        Self {
            samples: counters.samples,
            errors: counters.failed + bad,
            tokens: counters.tokens,
            levels,
            seconds: recorded.and_then(|recorded| recorded.seconds),
        }
    }
}

/// Where a run came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Origin {
    /// It is a copy of another run, made when that was where its checkpoint says.
    Cloned {
        /// The other run's id.
        id: RunId,
        /// The other run's name at that time.
        #[serde(with = "by_text")]
        name: RunName,
    },
    /// It was imported from an export.
    Imported {
        /// Id of the run that was exported.
        id: RunId,
        /// That run's name.
        #[serde(with = "by_text")]
        name: RunName,
    },
}

/// What an exported run consists of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExportContents {
    /// How much of a pattern's attributes the store kept.
    pub attribute_limits: AttributeLimits,
    /// The patterns of each level, from the bottom up.
    pub patterns: Vec<ExportedFile>,
    /// The checkpoint.
    pub checkpoint: ExportedFile,
    /// What the run holds and an export does not carry, in words.
    pub left_out: Vec<String>,
}

/// One file of an exported run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExportedFile {
    /// Its name in the directory.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// BLAKE3 of its content, in hex.
    pub digest: String,
    /// Patterns in it, one a line; 0 for the checkpoint.
    pub patterns: u64,
}

/// A configuration as far as it is one of a training run.
pub(crate) fn training(configuration: &Value) -> Option<RunConfiguration> {
    RunConfiguration::from_json(configuration).ok()
}
