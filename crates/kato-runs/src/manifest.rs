//! The manifest of a run: its identity, its place, and its results.

mod parts;
mod text;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use kato_loader::CorpusIdentity;
use kato_model::RunName;
use kato_model::forecast::Forecast;
use kato_scheduler::{RunConfiguration, TrainingReport};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use self::parts::training;
pub use self::parts::{
    BackendKind, CorpusDigest, ExportContents, ExportedFile, LevelResult, ManifestLevel,
    RunBackend, RunOrigin, RunResults, RunState, RunTokenizer,
};
use self::text::{by_text, rfc3339};
use crate::manifest_file::check_version;
use crate::record::LEDGER_OPTION;
use crate::{RunId, RunsError};

/// The version of the file.
const FORMAT_VERSION: u64 = 1;

/// The description of a run: what it is, where it is, and what came of it; JSON in `run.json`.
///
/// A trainer [begins](Self::begin) one, or [goes on](Self::resume) with the one it finds, writes it
/// with a [`ManifestFile`](crate::ManifestFile), [finishes](Self::finish) it by its report and
/// writes it again. What a crash leaves outdated, [`Runs`](crate::Runs) finds out anew.
///
/// ```
/// use kato_learner::HierarchicalConceptLearner;
/// use kato_runs::RunManifest;
/// use kato_runs::manifest::{BackendKind, RunBackend, RunState};
/// use kato_scheduler::RunConfiguration;
///
/// let learner = HierarchicalConceptLearner::builder(kato_tokenizer::gpt2())
///     .with_chunk_sizes([5, 7])
///     .build()?;
/// let backend = RunBackend::new(BackendKind::Embedded, "runs/wiki");
/// let manifest = RunManifest::begin("wiki".parse()?, &RunConfiguration::from_learner(&learner), backend)
///     .with_option("n_workers", 4);
/// assert_eq!(manifest.state, RunState::Running);
/// assert_eq!(manifest.levels[1].database, "wiki_node1_kato");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunManifest {
    /// Version of this form.
    pub format_version: u64,
    /// The run's id.
    pub id: RunId,
    /// The run's name.
    #[serde(with = "by_text")]
    pub name: RunName,
    /// The time at which the run began; `None` where it is not known.
    #[serde(with = "rfc3339")]
    pub created: Option<SystemTime>,
    /// The time at which the manifest was last brought up to date; `None` if it was never written.
    #[serde(with = "rfc3339")]
    pub updated: Option<SystemTime>,
    /// The state of the run at that time.
    pub state: RunState,
    /// The process that trained it then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// The configuration of the run: a [`RunConfiguration`] as JSON, or whatever the knowledge
    /// base was configured with.
    pub configuration: Value,
    /// The tokenizer; `None` where the configuration is not a training run's.
    pub tokenizer: Option<RunTokenizer>,
    /// The corpus; `None` where none is known yet.
    pub corpus: Option<CorpusDigest>,
    /// The levels, from the bottom up.
    pub levels: Vec<ManifestLevel>,
    /// The place of the knowledge.
    pub backend: RunBackend,
    /// Settings that do not change what is learned, such as the number of workers.
    #[serde(default)]
    pub options: BTreeMap<String, Value>,
    /// What was foretold of the run as a whole; `None` where nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
    /// The results of the run; `None` as it is written before its first session has ended.
    pub results: Option<RunResults>,
    /// The runs that the run came from, the latest last; empty for a run that began as one.
    #[serde(default)]
    pub lineage: Vec<RunOrigin>,
    /// The files of an exported run; `None` for a run that is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contents: Option<ExportContents>,
}

impl RunManifest {
    /// Returns the manifest of a run that this process begins now.
    #[must_use]
    pub fn begin(name: RunName, configuration: &RunConfiguration, backend: RunBackend) -> Self {
        let nodes = configuration
            .rules
            .learner
            .nodes
            .iter()
            .map(|node| node.name.clone());
        let nodes: Vec<String> = nodes.collect();
        let mut manifest = Self::new(
            RunId::generate(),
            name,
            Some(now()),
            &nodes,
            configuration.to_json(),
            backend,
        );
        manifest.resume();
        manifest
    }

    /// Returns the manifest of a run that nobody trains.
    pub(crate) fn new(
        id: RunId,
        name: RunName,
        created: Option<SystemTime>,
        nodes: &[String],
        configuration: Value,
        backend: RunBackend,
    ) -> Self {
        let training = training(&configuration);
        Self {
            format_version: FORMAT_VERSION,
            id,
            created,
            updated: None,
            state: RunState::Interrupted,
            process: None,
            tokenizer: training.as_ref().map(|training| RunTokenizer {
                name: training.rules.tokenizer.clone(),
                fingerprint: training.rules.tokenizer_fingerprint.clone(),
            }),
            corpus: None,
            levels: ManifestLevel::all(&name, nodes, training.as_ref()),
            backend,
            options: BTreeMap::new(),
            forecast: None,
            results: None,
            lineage: Vec::new(),
            contents: None,
            configuration,
            name,
        }
    }

    /// Sets the corpus that the run reads. What was foretold of it over another one is forgotten.
    #[must_use]
    pub fn with_corpus(mut self, corpus: &CorpusIdentity) -> Self {
        let corpus = CorpusDigest::from_identity(corpus);
        if self.corpus.as_ref().is_some_and(|before| *before != corpus) {
            self.forecast = None;
        }
        self.corpus = Some(corpus);
        self
    }

    /// Sets an option: a setting that does not change what is learned.
    #[must_use]
    pub fn with_option(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.options.insert(name.into(), value.into());
        self
    }

    /// Notes that this process goes on with the run.
    pub fn resume(&mut self) {
        self.state = RunState::Running;
        self.process = Some(std::process::id());
        self.updated = Some(now());
    }

    /// Notes that a session of this process ended with this report.
    pub fn finish(&mut self, report: &TrainingReport) {
        let earlier = self.results.as_ref().and_then(|results| results.seconds);
        let mut results = RunResults::from_report(report);
        // A report knows its own session only, and the manifest adds up all that came to their end.
        results.seconds = results
            .seconds
            .map(|seconds| seconds + earlier.unwrap_or(0.0));
        self.results = Some(results);
        self.state = match report.complete {
            true => RunState::Complete,
            false => RunState::Interrupted,
        };
        self.process = None;
        self.updated = Some(now());
    }

    /// Returns the manifest as JSON, for places that keep a value; a
    /// [`ManifestFile`](crate::ManifestFile) keeps a file.
    #[must_use]
    pub fn to_json(&self) -> Value {
        plain_json(self)
    }

    /// Reads the value that [`to_json`](Self::to_json) returns; errors name where it was found.
    ///
    /// # Errors
    ///
    /// [`RunsError::Version`] and [`RunsError::Damaged`] when it is not one that can be read.
    pub fn from_json(value: &Value, found: &Path) -> Result<Self, RunsError> {
        check_version(found, value, FORMAT_VERSION)?;
        Self::deserialize(value).map_err(|error| RunsError::damaged(found, error.to_string()))
    }

    /// Returns the names of the levels, from the bottom up.
    pub(crate) fn nodes(&self) -> Vec<String> {
        self.levels.iter().map(|level| level.node.clone()).collect()
    }

    /// Returns the same run under another name, with the node ids and databases that follow from
    /// it.
    pub(crate) fn renamed(mut self, name: &RunName) -> Self {
        self.levels =
            ManifestLevel::all(name, &self.nodes(), training(&self.configuration).as_ref());
        self.name = name.clone();
        self.updated = Some(now());
        self
    }

    /// Returns a run of its own that begins as this one is, and that nobody trains.
    pub(crate) fn descendant(self, name: &RunName, backend: RunBackend, origin: RunOrigin) -> Self {
        let mut manifest = self.renamed(name);
        manifest.id = RunId::generate();
        manifest.created = manifest.updated;
        manifest.process = None;
        // The original may be in use; the new run is not.
        if manifest.state == RunState::Running {
            manifest.state = RunState::Interrupted;
        }
        manifest.backend = backend;
        manifest.lineage.push(origin);
        manifest.contents = None;
        // The list is the original's, which goes on with it.
        manifest.options.remove(LEDGER_OPTION);
        manifest
    }
}

/// Returns the time, to the second as it is written.
pub(crate) fn now() -> SystemTime {
    // Cut, so that a manifest that is read back equals the one that was written.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    SystemTime::UNIX_EPOCH + Duration::from_secs(now.unwrap_or_default().as_secs())
}

/// Returns a manifest as JSON.
fn plain_json(manifest: &RunManifest) -> Value {
    serde_json::to_value(manifest).expect("a manifest is plain data")
}
