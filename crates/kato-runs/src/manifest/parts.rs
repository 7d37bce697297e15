//! The parts of a manifest.

use kato_loader::CorpusIdentity;
use kato_model::naming::processor_id;
use kato_model::{AttributeLimits, RunName};
use kato_scheduler::{Checkpoint, RunConfiguration, TrainingReport};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::text::by_text;
use crate::RunId;

/// The service whose databases hold the levels of a run.
const SERVICE: &str = "kato";

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// A run that somebody trains, or has open for writing.
    Running,
    /// A run that nobody trains, and of which it is not known that its corpus was read to the end.
    Interrupted,
    /// A run whose corpus was read to the end.
    Complete,
}

impl RunState {
    /// Returns the state as one word in lower case.
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
    /// Returns the kind as one word in lower case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Kato => "kato",
            Self::Mongodb => "mongodb",
        }
    }
}

/// The place of what a run learned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunBackend {
    /// The kind of backend.
    pub kind: BackendKind,
    /// A directory or the address of a server, without credentials.
    pub place: String,
}

impl RunBackend {
    /// Creates a backend at a directory or URI. Of a URI only scheme and hosts are kept: what
    /// follows, and what comes before an `@`, may be secret.
    ///
    /// ```
    /// use kato_runs::manifest::{BackendKind, RunBackend};
    ///
    /// let backend = RunBackend::new(BackendKind::Mongodb, "mongodb://ada:secret@a:27017,b/?tls=true");
    /// assert_eq!(backend.place, "mongodb://a:27017,b");
    /// ```
    #[must_use]
    pub fn new(kind: BackendKind, place: &str) -> Self {
        let place = match place.split_once("://") {
            Some((scheme, rest)) => {
                // A password that is not escaped may hold `/` or `?`, so everything up to the last
                // `@` goes before the rest is cut.
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
    /// The tokenizer as it was asked for: `gpt2`, a path, a name.
    pub name: String,
    /// Digest of what decides its ids and token strings.
    pub fingerprint: String,
}

/// A short form of the identity of the corpus that a run read; all of it is in the run's
/// checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CorpusDigest {
    /// BLAKE3, in hex, of the JSON form of the [`CorpusIdentity`]: options, names, sizes and
    /// fingerprints of the files.
    pub digest: String,
    /// Number of files.
    pub files: u64,
}

impl CorpusDigest {
    /// Returns the digest of a corpus.
    #[must_use]
    pub fn from_identity(corpus: &CorpusIdentity) -> Self {
        Self {
            digest: digest(corpus),
            files: corpus.files().len() as u64,
        }
    }

    /// Returns the digests of all corpora with files that a corpus [extends](CorpusIdentity::extends), the one
    /// with the fewest files first.
    ///
    /// ```
    /// use kato_loader::StreamingDatasetLoader;
    /// use kato_runs::manifest::CorpusDigest;
    ///
    /// let open = || StreamingDatasetLoader::builder().with_reader("a.txt", "one".as_bytes());
    /// let first = CorpusDigest::from_identity(&open().build()?.identity());
    /// let more = open().with_reader("b.txt", "two".as_bytes()).build()?.identity();
    /// assert_eq!(CorpusDigest::all_extended_by(&more), [first]);
    /// # Ok::<(), kato_loader::LoadError>(())
    /// ```
    #[must_use]
    pub fn all_extended_by(corpus: &CorpusIdentity) -> Vec<Self> {
        let files = corpus.files();
        let empty = corpus.without(&(0..files.len()).collect::<Vec<usize>>());
        if !corpus.extends(&empty) {
            return Vec::new();
        }
        // What is in front of a file is hashed once, however many there are.
        let json = json_of(&empty);
        let Some(head) = json.strip_suffix(END_OF_FILES) else {
            return Vec::new();
        };
        let mut hasher = blake3::Hasher::new();
        hasher.update(head);
        let mut found = Vec::new();
        for (number, file) in (1..files.len() as u64).zip(files) {
            if number > 1 {
                hasher.update(b",");
            }
            hasher.update(&json_of(file));
            let mut whole = hasher.clone();
            whole.update(END_OF_FILES);
            found.push(Self {
                digest: whole.finalize().to_hex().to_string(),
                files: number,
            });
        }
        found
    }
}

/// The end of the JSON of a corpus that is no mixture.
const END_OF_FILES: &[u8] = b"]}";

/// Returns the BLAKE3 of a corpus's identity, in hex.
fn digest(corpus: &CorpusIdentity) -> String {
    blake3::hash(&json_of(corpus)).to_hex().to_string()
}

fn json_of(identity: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(identity).expect("an identity is plain data")
}

/// One level of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ManifestLevel {
    /// Name of the node.
    pub node: String,
    /// Symbols of a full chunk, where that is known.
    pub chunk_size: Option<u64>,
    /// Id of the node on a server: name of the run and of the node.
    pub node_id: String,
    /// Name of the node's database on a server.
    pub database: String,
}

impl ManifestLevel {
    /// Returns the levels of a run with these nodes, from the bottom up.
    pub(crate) fn all(
        run: &RunName,
        nodes: &[String],
        configuration: Option<&RunConfiguration>,
    ) -> Vec<Self> {
        let known =
            configuration.map_or(&[][..], |configuration| &configuration.rules.learner.nodes);
        let level = |node: &String| {
            // By name: without a training configuration the nodes are all that is known.
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

/// The results of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunResults {
    /// Documents learned.
    #[serde(alias = "samples")]
    pub documents: u64,
    /// Documents that could not be learned and records that could not be read.
    pub errors: u64,
    /// Tokens that are part of a pattern.
    pub tokens: u64,
    /// The levels, from the bottom up.
    pub levels: Vec<LevelResult>,
    /// Wall-clock seconds of training over the sessions that came to their end; `None` where none
    /// is recorded.
    pub seconds: Option<f64>,
}

/// The results of one level.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LevelResult {
    /// Name of the node.
    pub node: String,
    /// Learn calls.
    #[serde(alias = "observations")]
    pub learns: u64,
    /// Distinct patterns, where they were counted.
    pub patterns: Option<u64>,
}

impl RunResults {
    /// Returns the results that a report states.
    pub(crate) fn from_report(report: &TrainingReport) -> Self {
        let levels = report.levels.iter().map(|level| LevelResult {
            node: level.node.clone(),
            learns: level.learns,
            patterns: level.unique_patterns,
        });
        Self {
            documents: report.documents_processed,
            errors: report.errors,
            tokens: report.tokens,
            levels: levels.collect(),
            seconds: Some(report.total_time_seconds),
        }
    }

    /// Returns the results that are committed. What only a report knows is taken from `recorded`,
    /// as far as it is of the same state.
    pub(crate) fn from_checkpoint(
        checkpoint: Option<&Checkpoint>,
        mut levels: Vec<LevelResult>,
        recorded: Option<&Self>,
    ) -> Self {
        for level in &mut levels {
            let same = recorded
                .and_then(|recorded| recorded.levels.iter().find(|was| was.node == level.node));
            // A number of distinct patterns holds for the learn calls at which it was counted, and
            // for no others.
            if let Some(same) = same.filter(|was| was.learns == level.learns) {
                level.patterns = level.patterns.or(same.patterns);
            }
        }
        let counters = checkpoint
            .map(|checkpoint| checkpoint.counters)
            .unwrap_or_default();
        let bad = checkpoint.map_or(0, |checkpoint| checkpoint.cursor.counts().bad);
        Self {
            documents: counters.documents,
            errors: counters.failed + bad,
            tokens: counters.tokens,
            levels,
            seconds: recorded.and_then(|recorded| recorded.seconds),
        }
    }
}

/// The run that a run came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunOrigin {
    /// A copy of another run, made when that was where its checkpoint says.
    Cloned {
        /// The other run's id.
        id: RunId,
        /// The other run's name at that time.
        #[serde(with = "by_text")]
        name: RunName,
    },
    /// An import of an exported run.
    Imported {
        /// Id of the run that was exported.
        id: RunId,
        /// That run's name.
        #[serde(with = "by_text")]
        name: RunName,
    },
}

/// The files of an exported run, and what it does not hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExportContents {
    /// The limits of a pattern's attributes in the store.
    pub attribute_limits: AttributeLimits,
    /// The patterns of each level, from the bottom up.
    pub patterns: Vec<ExportedFile>,
    /// The checkpoint.
    pub checkpoint: ExportedFile,
    /// The parts of the run that an export does not carry, in words.
    pub left_out: Vec<String>,
}

/// One file of an exported run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ExportedFile {
    /// The name of the file in the directory.
    pub name: String,
    /// The size of the file.
    pub bytes: u64,
    /// The BLAKE3 of the content, in hex.
    pub digest: String,
    /// The number of patterns in it, one a line; 0 for the checkpoint.
    pub patterns: u64,
}

/// Returns a configuration as that of a training run, if it is one.
pub(crate) fn training(configuration: &Value) -> Option<RunConfiguration> {
    RunConfiguration::from_json(configuration).ok()
}
