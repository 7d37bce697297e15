//! The runs of a MongoDB.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kato_model::RunName;
use kato_mongodb::{DiscoveredRun, MongoRun, MongoRuns, MongoStore, MongoStoreBuilder};
use kato_store::StoreError;
use serde_json::Value;

use crate::archive::is_importing;
use crate::facts::run_name_like;
use crate::manifest::{BackendKind, RunBackend, RunOrigin};
use crate::{Archive, Run, RunFacts, RunId, RunLocation, RunManifest, RunPlace, RunsError};

/// Patience with a run that is listed: enough for most commits. A run whose writer takes longer is listed
/// without what its levels have learned.
const LIST_PATIENCE: Duration = Duration::from_secs(2);

const BY_NAME: &str =
    "its databases are named after it; clone it under the other name and delete this one";
const NOT_OURS: &str =
    "no run of ours has its databases, so they can be listed, shown and exported only";

/// The runs of a MongoDB, each in databases of its own.
pub(crate) struct MongoPlace {
    runs: MongoRuns,
    /// The address with credentials, which is shown nowhere.
    uri: String,
    /// The address without credentials.
    backend: RunBackend,
}

impl fmt::Debug for MongoPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MongoPlace")
            .field("place", &self.backend.place)
            .finish_non_exhaustive()
    }
}

impl MongoPlace {
    /// Connects to a server.
    pub(crate) fn connect(uri: &str) -> Result<Self, RunsError> {
        let backend = RunBackend::new(BackendKind::Mongodb, uri);
        let runs = MongoRuns::connect(uri).map_err(RunsError::store(Path::new(&backend.place)))?;
        Ok(Self {
            runs,
            uri: uri.to_owned(),
            backend,
        })
    }

    /// Returns a builder for the store of a run.
    fn store(&self, run: &RunName) -> MongoStoreBuilder {
        MongoStore::builder(self.uri.as_str(), run.clone())
    }

    /// Returns the place of a run, for errors.
    fn path(&self, run: &str) -> PathBuf {
        Path::new(&self.backend.place).join(run)
    }

    /// Returns a function that turns an error of a run's store into one of ours.
    fn failed<'a>(&'a self, run: &'a str) -> impl FnOnce(StoreError) -> RunsError + 'a {
        move |error| match error {
            StoreError::Locked { .. } => RunsError::InUse {
                path: self.path(run),
                process: None,
            },
            StoreError::Exists { .. } => RunsError::Exists {
                path: self.path(run),
            },
            error => RunsError::store(&self.path(run))(error),
        }
    }

    /// Clears away imports whose process died.
    fn sweep(&self) -> Result<(), RunsError> {
        for run in self.runs.list().map_err(self.failed(""))? {
            if is_importing(&run.checkpoint) && !run.in_use {
                let name = run.run.as_str();
                match self.runs.delete(&run.run).map_err(self.failed(name)) {
                    // Somebody has come since the list, such as another who clears away.
                    Err(RunsError::InUse { .. }) => {}
                    deleted => deleted?,
                }
            }
        }
        Ok(())
    }

    /// Returns a run of ours as it is found.
    fn read_run(&self, found: MongoRun) -> Run {
        let path = self.path(found.run.as_str());
        let recorded = found.manifest.as_ref();
        let recorded = recorded.map(|value| RunManifest::from_json(value, &path));
        // A copy that was not finished has the manifest of the run that was copied, under that
        // run's name: it is none of the copy's own.
        let recorded =
            recorded.filter(|read| !matches!(read, Ok(manifest) if manifest.name != found.run));
        let store = self
            .store(&found.run)
            .with_patience(LIST_PATIENCE)
            .open_read_only();
        // Its writer may have come since the list.
        let is_locked = found.in_use || matches!(store, Err(StoreError::Locked { .. }));
        let facts = RunFacts {
            nodes: found.nodes,
            configuration: found.configuration,
            checkpoint: found.checkpoint,
            levels: Vec::new(),
            backend: self.backend.clone(),
            is_locked,
        };
        self.run_of(found.run.as_str(), store, facts, recorded.transpose())
    }

    /// Returns databases that no run of ours has, as a run.
    fn read_foreign_run(&self, found: &DiscoveredRun) -> Run {
        let facts = RunFacts {
            nodes: found.nodes.iter().map(|(node, _)| node.clone()).collect(),
            configuration: Value::Null,
            checkpoint: Value::Null,
            levels: Vec::new(),
            backend: self.backend.clone(),
            is_locked: false,
        };
        self.run_of(&found.run, self.open_foreign(found), facts, Ok(None))
    }

    /// Opens databases that no run of ours has, for reading.
    fn open_foreign(&self, found: &DiscoveredRun) -> Result<MongoStore, StoreError> {
        let nodes: Vec<(&str, &str)> = found
            .nodes
            .iter()
            .map(|(node, database)| (node.as_str(), database.as_str()))
            .collect();
        let builder = self
            .store(&run_name_like(&found.run))
            .with_patience(LIST_PATIENCE);
        builder.open_foreign(&nodes)
    }

    /// Puts a run together from what was found; what could not be read becomes its problem.
    fn run_of(
        &self,
        run: &str,
        store: Result<MongoStore, StoreError>,
        mut facts: RunFacts,
        recorded: Result<Option<RunManifest>, RunsError>,
    ) -> Run {
        let levels = match store {
            // Its writer is at work on a commit, and what its levels have learned is between two.
            Err(StoreError::Locked { .. }) => Ok(Vec::new()),
            store => store.and_then(|store| {
                let read = RunFacts::from_store(&store, facts.backend.clone(), facts.is_locked)?;
                Ok(read.levels)
            }),
        };
        let levels = levels.map_err(self.failed(run));
        let (recorded, problem) = match (recorded, levels) {
            (Ok(recorded), Ok(levels)) => {
                facts.levels = levels;
                (recorded, None)
            }
            (Err(error), _) => (None, Some(error)),
            (Ok(recorded), Err(error)) => (recorded, Some(error)),
        };
        let is_recorded = recorded.is_some();
        let mut manifest = facts.manifest(recorded, &run_name_like(run), None);
        if !is_recorded {
            // All runs of a server have the same backend place, so the id is made of the run's own
            // path.
            manifest.id = RunId::of_unrecorded(&self.path(run).display().to_string());
        }
        Run {
            manifest,
            location: RunLocation::Database(run.to_owned()),
            is_recorded,
            disk_bytes: None,
            problem: problem.map(|error| error.with_causes()),
        }
    }

    /// Returns the name of a run, if it is ours.
    fn require_own_run<'r>(
        &self,
        run: &'r Run,
        action: &'static str,
    ) -> Result<&'r RunName, RunsError> {
        let name = &run.manifest.name;
        // The location alone does not say: databases of others may begin with the name of a run.
        let is_ours = run.location == RunLocation::Database(name.to_string())
            && self
                .store(name)
                .exists()
                .map_err(self.failed(name.as_str()))?;
        match is_ours {
            true => Ok(name),
            false => Err(unsupported(run, action, NOT_OURS)),
        }
    }

    /// Returns the error of a run that was there a moment ago, with those that are there now.
    fn gone(&self, run: &RunName) -> RunsError {
        match self.list() {
            Ok(runs) => RunsError::unknown(run.as_str(), &runs),
            Err(error) => error,
        }
    }

    /// Keeps a manifest with its run.
    fn keep(&self, manifest: &RunManifest) -> Result<(), RunsError> {
        let name = &manifest.name;
        let kept = self.runs.set_manifest(name, &manifest.to_json());
        kept.map_err(self.failed(name.as_str()))
    }

    /// Returns the manifest of a run that is made here from another.
    fn descendant(&self, manifest: &RunManifest, name: &RunName, origin: RunOrigin) -> RunManifest {
        manifest
            .clone()
            .descendant(name, self.backend.clone(), origin)
    }
}

impl RunPlace for MongoPlace {
    fn list(&self) -> Result<Vec<Run>, RunsError> {
        let own = self.runs.list().map_err(self.failed(""))?.into_iter();
        let foreign = self.runs.discover().map_err(self.failed(""))?;
        // An import that is not finished is no run yet.
        let own = own.filter(|run| !is_importing(&run.checkpoint));
        let mut runs: Vec<Run> = own.map(|run| self.read_run(run)).collect();
        runs.extend(foreign.iter().map(|run| self.read_foreign_run(run)));
        runs.sort_by(Run::by_name);
        Ok(runs)
    }

    fn record(&self, run: &Run, manifest: &RunManifest) -> Result<(), RunsError> {
        let name = self.require_own_run(run, "recorded")?;
        if manifest.name != *name {
            return Err(unsupported(run, "renamed", BY_NAME));
        }
        self.keep(manifest)
    }

    fn clone_run(&self, run: &Run, name: &RunName) -> Result<(), RunsError> {
        let from = self.require_own_run(run, "cloned")?;
        self.sweep()?;
        // A crash before the new manifest is kept leaves a run without one: the original's, which
        // comes with the copy, does not count as its own.
        self.runs
            .copy(from, name)
            .map_err(self.failed(from.as_str()))?;
        let origin = RunOrigin::Cloned {
            id: run.manifest.id.clone(),
            name: from.clone(),
        };
        self.keep(&self.descendant(&run.manifest, name, origin))
    }

    fn export(&self, run: &Run, out: &Path) -> Result<Archive, RunsError> {
        let name = &run.manifest.name;
        let store = match self.require_own_run(run, "exported") {
            // For writing, so that nobody else does: there are no snapshots.
            Ok(name) => self.store(name).open(),
            Err(RunsError::Unsupported { .. }) => {
                let found = self.runs.discover().map_err(self.failed(""))?;
                let found = found
                    .iter()
                    .find(|found| run.location == RunLocation::Database(found.run.clone()));
                match found {
                    Some(found) => self.open_foreign(found),
                    None => return Err(self.gone(name)),
                }
            }
            Err(error) => return Err(error),
        };
        let store = store.map_err(self.failed(name.as_str()))?;
        let facts = RunFacts::from_store(&store, self.backend.clone(), false);
        let facts = facts.map_err(self.failed(name.as_str()))?;
        let manifest = facts.manifest(Some(run.manifest.clone()), name, None);
        Archive::export(&store, &manifest, out)
    }

    fn import(&self, archive: &Archive, name: &RunName) -> Result<(), RunsError> {
        self.sweep()?;
        let manifest = archive.manifest();
        let mut builder = self.store(name);
        if let Some(contents) = &manifest.contents {
            builder = builder.with_limits(contents.attribute_limits);
        }
        let store = builder
            .create(&manifest.nodes(), manifest.configuration.clone())
            .map_err(self.failed(name.as_str()))?;
        let imported = archive.import_into(&store);
        // Gives the lease back, which would keep the run from being deleted.
        drop(store);
        imported.inspect_err(|_| {
            // Best effort: a run whose import is unfinished is not listed, and the next change
            // deletes it.
            let _ = self.runs.delete(name);
        })?;
        let origin = RunOrigin::Imported {
            id: manifest.id.clone(),
            name: manifest.name.clone(),
        };
        self.keep(&self.descendant(manifest, name, origin))
    }

    fn delete(&self, run: &Run) -> Result<(), RunsError> {
        let name = self.require_own_run(run, "deleted")?;
        self.sweep()?;
        self.runs.delete(name).map_err(self.failed(name.as_str()))
    }
}

/// Creates the error that a run cannot be treated so.
fn unsupported(run: &Run, action: &'static str, reason: &'static str) -> RunsError {
    RunsError::Unsupported {
        run: run.in_words(),
        action,
        reason,
    }
}
