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
use crate::{
    Archive, BackendKind, Run, RunBackend, RunFacts, RunId, RunLocation, RunManifest, RunPlace,
    RunsError,
};

/// How long a run is waited for that is listed: long enough for a commit that goes on, not for one that nobody finishes.
const GLANCE: Duration = Duration::from_secs(2);

const NO_MANIFEST: &str = "its record in the MongoDB says what is known of it";
const BY_NAME: &str =
    "its databases are named after it; clone it under the other name and delete this one";
const NOT_OURS: &str =
    "no run of ours has its databases; adopt them with the store's builder first";

/// The runs of a MongoDB, each in databases of its own.
pub(crate) struct MongoPlace {
    runs: MongoRuns,
    /// With credentials: shown nowhere.
    uri: String,
    /// Without.
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
    pub(crate) fn connect(uri: &str) -> Result<Self, RunsError> {
        let backend = RunBackend::new(BackendKind::Mongodb, uri);
        let runs = MongoRuns::connect(uri).map_err(RunsError::store(Path::new(&backend.place)))?;
        Ok(Self {
            runs,
            uri: uri.to_owned(),
            backend,
        })
    }

    fn store(&self, run: &RunName) -> MongoStoreBuilder {
        MongoStore::builder(self.uri.as_str(), run.clone())
    }

    /// Where a run is, as errors tell it.
    fn path(&self, run: &str) -> PathBuf {
        Path::new(&self.backend.place).join(run)
    }

    /// An error of the store of a run.
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
                self.runs.delete(&run.run).map_err(self.failed(name))?;
            }
        }
        Ok(())
    }

    /// A run of ours.
    fn look_at(&self, found: MongoRun) -> Run {
        let store = self.store(&found.run).patience(GLANCE).open_read_only();
        let facts = RunFacts {
            nodes: found.nodes,
            configuration: found.configuration,
            checkpoint: found.checkpoint,
            levels: Vec::new(),
            backend: self.backend.clone(),
            is_locked: found.in_use,
        };
        self.run_of(found.run.as_str(), store, facts, true)
    }

    /// Databases that no run of ours has.
    fn look_at_foreign(&self, found: &DiscoveredRun) -> Run {
        let facts = RunFacts {
            nodes: found.nodes.iter().map(|(node, _)| node.clone()).collect(),
            configuration: Value::Null,
            checkpoint: Value::Null,
            levels: Vec::new(),
            backend: self.backend.clone(),
            is_locked: false,
        };
        self.run_of(&found.run, self.open_foreign(found), facts, false)
    }

    fn open_foreign(&self, found: &DiscoveredRun) -> Result<MongoStore, StoreError> {
        let nodes: Vec<(&str, &str)> = found
            .nodes
            .iter()
            .map(|(node, database)| (node.as_str(), database.as_str()))
            .collect();
        let builder = self.store(&run_name_like(&found.run)).patience(GLANCE);
        builder.open_foreign(&nodes)
    }

    fn run_of(
        &self,
        run: &str,
        store: Result<MongoStore, StoreError>,
        mut facts: RunFacts,
        is_recorded: bool,
    ) -> Run {
        let path = self.path(run);
        let levels = store.and_then(|store| {
            let read = RunFacts::of_store(&store, facts.backend.clone(), facts.is_locked)?;
            Ok(read.levels)
        });
        let problem = match levels {
            Ok(levels) => {
                facts.levels = levels;
                None
            }
            Err(error) => Some(self.failed(run)(error).with_causes()),
        };
        let mut manifest = facts.manifest(None, &run_name_like(run), None);
        manifest.id = RunId::of_unrecorded(&path.display().to_string());
        Run {
            manifest,
            location: RunLocation::Database(run.to_owned()),
            is_recorded,
            disk_bytes: None,
            problem,
        }
    }

    fn own<'r>(run: &'r Run, action: &'static str) -> Result<&'r RunName, RunsError> {
        if run.is_recorded {
            return Ok(&run.manifest.name);
        }
        Err(unsupported(run, action, NOT_OURS))
    }
}

impl RunPlace for MongoPlace {
    fn list(&self) -> Result<Vec<Run>, RunsError> {
        let own = self.runs.list().map_err(self.failed(""))?.into_iter();
        let foreign = self.runs.discover().map_err(self.failed(""))?;
        let own = own.filter(|run| !is_importing(&run.checkpoint));
        let mut runs: Vec<Run> = own.map(|run| self.look_at(run)).collect();
        runs.extend(foreign.iter().map(|run| self.look_at_foreign(run)));
        runs.sort_by(Run::by_name);
        Ok(runs)
    }

    fn record(&self, run: &Run, manifest: &RunManifest) -> Result<(), RunsError> {
        Err(match manifest.name == run.manifest.name {
            true => unsupported(run, "recorded", NO_MANIFEST),
            false => unsupported(run, "renamed", BY_NAME),
        })
    }

    fn clone_run(&self, run: &Run, name: &RunName) -> Result<(), RunsError> {
        let from = Self::own(run, "cloned")?;
        self.sweep()?;
        self.runs
            .copy(from, name)
            .map_err(self.failed(from.as_str()))
    }

    fn export(&self, run: &Run, out: &Path) -> Result<Archive, RunsError> {
        let name = &run.manifest.name;
        if run.is_recorded {
            // For writing: what is read while another writes is no snapshot.
            let store = self
                .store(name)
                .open()
                .map_err(self.failed(name.as_str()))?;
            return Archive::export(&store, &run.manifest, out);
        }
        let found = self.runs.discover().map_err(self.failed(""))?;
        let wanted = RunLocation::Database;
        let found = found
            .iter()
            .find(|found| wanted(found.run.clone()) == run.location);
        let store = found.ok_or_else(|| RunsError::Unknown {
            wanted: name.to_string(),
            known: Vec::new(),
        })?;
        let store = self
            .open_foreign(store)
            .map_err(self.failed(name.as_str()))?;
        Archive::export(&store, &run.manifest, out)
    }

    fn import(&self, archive: &Archive, name: &RunName) -> Result<(), RunsError> {
        self.sweep()?;
        let manifest = archive.manifest();
        let mut builder = self.store(name);
        if let Some(contents) = &manifest.contents {
            builder = builder.limits(contents.attribute_limits);
        }
        let store = builder
            .create(&manifest.nodes(), manifest.configuration.clone())
            .map_err(self.failed(name.as_str()))?;
        let imported = archive.import_into(&store);
        drop(store);
        imported.inspect_err(|_| {
            // Best effort: the run is empty then.
            let _ = self.runs.delete(name);
        })
    }

    fn delete(&self, run: &Run) -> Result<(), RunsError> {
        let name = Self::own(run, "deleted")?;
        self.sweep()?;
        self.runs.delete(name).map_err(self.failed(name.as_str()))
    }
}

fn unsupported(run: &Run, action: &'static str, reason: &'static str) -> RunsError {
    RunsError::Unsupported {
        run: run.in_words(),
        action,
        reason,
    }
}
