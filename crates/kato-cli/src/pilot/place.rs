//! The place that a pilot trains to: a directory, or a run of its own in a MongoDB.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use kato_model::RunName;
use kato_mongodb::{MongoRuns, MongoStore};
use tempfile::TempDir;
use uuid::Uuid;

/// How long a MongoDB may take to answer before a pilot begins.
const PROBE_PATIENCE: Duration = Duration::from_secs(5);

/// The store whose cost pilots are to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PilotStore {
    /// A directory of this machine.
    Embedded,
    /// A MongoDB.
    Mongodb {
        /// Its address.
        uri: String,
    },
}

/// A place for the knowledge of one pilot, which goes when it is dropped.
#[derive(Debug)]
pub(crate) enum PilotPlace {
    /// A directory.
    Directory(TempDir),
    /// A run in a MongoDB.
    Mongodb(MongodbPilot),
}

/// A run in a MongoDB that is deleted when it is dropped.
#[derive(Debug)]
pub(crate) struct MongodbPilot {
    pub(super) uri: String,
    pub(super) run: RunName,
    is_deleted: bool,
}

impl PilotPlace {
    /// Creates the place of a pilot; directories are made in `parent`.
    ///
    /// # Errors
    ///
    /// When no directory can be made, or the MongoDB does not answer within seconds.
    pub(super) fn new(store: &PilotStore, parent: &Path) -> Result<Self> {
        Ok(match store {
            PilotStore::Embedded => Self::Directory(
                TempDir::new_in(parent).context("failed to make a directory for a pilot")?,
            ),
            PilotStore::Mongodb { uri } => {
                // No other run has this name.
                let run = RunName::from_random(Uuid::new_v4().as_u64_pair().0);
                // A pilot waits for a minute for a server that does not answer, and what deletes it
                // afterwards for another.
                let probe = MongoStore::builder(uri, run.clone()).with_patience(PROBE_PATIENCE);
                probe
                    .exists()
                    .context("failed to ask the MongoDB that pilots are to train into")?;
                Self::Mongodb(MongodbPilot {
                    uri: uri.clone(),
                    run,
                    is_deleted: false,
                })
            }
        })
    }

    /// Removes what the pilot has left.
    ///
    /// # Errors
    ///
    /// When a MongoDB does not answer or refuses; then it may have the run still.
    pub(crate) fn remove(self) -> Result<()> {
        match self {
            Self::Directory(dir) => dir.close().context("failed to remove a pilot"),
            Self::Mongodb(mut pilot) => pilot.delete(),
        }
    }
}

/// Returns the knowledge base in the directory of a pilot.
pub(crate) fn kb_in(dir: &TempDir) -> PathBuf {
    dir.path().join("kb")
}

impl MongodbPilot {
    fn delete(&mut self) -> Result<()> {
        // Once: what failed here fails again, after as long a wait.
        self.is_deleted = true;
        let run = &self.run;
        let deleted = MongoRuns::connect(&self.uri).and_then(|runs| runs.delete(run));
        deleted.with_context(|| {
            format!("the pilot {run} may still be in the MongoDB: kato runs delete {run} --in …")
        })
    }
}

impl Drop for MongodbPilot {
    /// Deletes the run of a pilot that failed or was interrupted. It may not have begun one, and
    /// its own error is told.
    fn drop(&mut self) {
        if !self.is_deleted {
            drop(self.delete());
        }
    }
}
