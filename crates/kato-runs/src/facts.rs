//! Facts about a run that are found out, whatever its manifest says.

use std::time::SystemTime;

use kato_model::RunName;
use kato_scheduler::Checkpoint;
use kato_store::{PatternStore, StoreError};
use serde_json::Value;

use crate::manifest::{CorpusDigest, LevelResult, RunBackend, RunResults, RunState};
use crate::{RunId, RunManifest};

/// The facts that are found about a run; with them a [`RunPlace`](crate::RunPlace) brings a
/// manifest up to date, or derives one.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFacts {
    /// The names of the nodes, from the bottom up.
    pub nodes: Vec<String>,
    /// The configuration of the knowledge base.
    pub configuration: Value,
    /// The checkpoint of the last commit.
    pub checkpoint: Value,
    /// Learn calls of each level, and distinct patterns where they are known.
    pub levels: Vec<LevelResult>,
    /// The place of the knowledge.
    pub backend: RunBackend,
    /// Whether somebody holds the run's lock.
    pub is_locked: bool,
}

impl RunFacts {
    /// Reads the facts from a store: its nodes, configuration, checkpoint and learn calls.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn from_store(
        store: &dyn PatternStore,
        backend: RunBackend,
        is_locked: bool,
    ) -> Result<Self, StoreError> {
        let levels = store.nodes().iter().enumerate().map(|(node_idx, node)| {
            Ok(LevelResult {
                node: node.clone(),
                learns: store.totals(node_idx)?.learns,
                patterns: None,
            })
        });
        Ok(Self {
            nodes: store.nodes().to_vec(),
            configuration: store.configuration().clone(),
            checkpoint: store.checkpoint(),
            levels: levels.collect::<Result<_, StoreError>>()?,
            backend,
            is_locked,
        })
    }

    /// Returns the manifest with these facts. Without a recorded one, the run gets this name, an id
    /// by its place, and `created` as the time at which it began.
    #[must_use]
    pub fn manifest(
        self,
        recorded: Option<RunManifest>,
        name: &RunName,
        created: Option<SystemTime>,
    ) -> RunManifest {
        let (id, name, created) = match &recorded {
            Some(recorded) => (recorded.id.clone(), recorded.name.clone(), recorded.created),
            None => (
                RunId::of_unrecorded(&self.backend.place),
                name.clone(),
                created,
            ),
        };
        // Another program's checkpoint is no error here: the run is listed with what is known of
        // it.
        let checkpoint = Checkpoint::from_json(&self.checkpoint).ok().flatten();
        let mut manifest = RunManifest::new(
            id,
            name,
            created,
            &self.nodes,
            self.configuration,
            self.backend,
        );
        let recorded_results = recorded
            .as_ref()
            .and_then(|recorded| recorded.results.as_ref());
        manifest.results = Some(RunResults::from_checkpoint(
            checkpoint.as_ref(),
            self.levels,
            recorded_results,
        ));
        manifest.corpus = checkpoint
            .as_ref()
            .map(|checkpoint| CorpusDigest::from_identity(&checkpoint.corpus));
        manifest.state = match checkpoint {
            // First, because a run that is complete can be trained on.
            _ if self.is_locked => RunState::Running,
            Some(checkpoint) if checkpoint.complete => RunState::Complete,
            _ => RunState::Interrupted,
        };
        if let Some(recorded) = recorded {
            manifest.updated = recorded.updated;
            // A process that is named and holds no lock has died.
            manifest.process = recorded.process.filter(|_| self.is_locked);
            // What was foretold is of the corpus that was recorded, of which files may be forgotten since.
            let is_same_corpus = manifest.corpus.is_none()
                || recorded.corpus.is_none()
                || manifest.corpus == recorded.corpus;
            manifest.forecast = recorded.forecast.filter(|_| is_same_corpus);
            manifest.corpus = manifest.corpus.or(recorded.corpus);
            manifest.options = recorded.options;
            manifest.lineage = recorded.lineage;
        }
        manifest
    }
}

/// Returns a name for a run that is known by another text, such as that of its directory: its first 32
/// characters, of which those that names cannot hold become `_`.
///
/// ```
/// assert_eq!(kato_runs::run_name_like("my-kb.1").as_str(), "my_kb_1");
/// ```
#[must_use]
pub fn run_name_like(text: &str) -> RunName {
    let kept = |letter: char| match letter.is_ascii_alphanumeric() {
        true => letter,
        false => '_',
    };
    let name: String = text.chars().take(32).map(kept).collect();
    // Only an empty text comes to no name, and then any name is as good.
    name.parse().unwrap_or_else(|_| RunName::from_random(0))
}
