//! The record of a run that a server of ours keeps beside the run's nodes, so that it cannot be
//! lost without them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use kato_client::KatoClient;
use kato_model::RunName;
use tokio::runtime::Runtime;

use crate::RemoteError;
use crate::error::{unreachable, unreadable_position};
use crate::state::State;

/// The state as of the last commit, which is what the server keeps.
pub(crate) type Record = State;

/// The record of a run on a server.
#[derive(Debug)]
pub(crate) struct Records {
    run: RunName,
    found: Option<Record>,
    /// The version of the record that the next one replaces; 0 where there is none.
    version: Mutex<u64>,
}

impl Records {
    /// Looks for the record of a run; `None` where the server keeps none of any run.
    pub(crate) fn find(
        runtime: &Runtime,
        client: &KatoClient,
        run: &RunName,
    ) -> Result<Option<Self>, RemoteError> {
        let unreachable = unreachable(client);
        let extensions = runtime
            .block_on(client.extensions())
            .map_err(&unreachable)?;
        if !extensions.is_some_and(|extensions| extensions.run_records) {
            return Ok(None);
        }
        let found = runtime.block_on(client.run_record(run.as_str()));
        let found = found.map_err(unreachable)?;
        let version = found.as_ref().map_or(0, |found| found.version);
        let record = found
            .map(|found| serde_json::from_value(found.record))
            .transpose();
        Ok(Some(Self {
            run: run.clone(),
            found: record.map_err(unreadable_position)?,
            version: Mutex::new(version),
        }))
    }

    /// Returns the record as it was when the run was opened.
    pub(crate) fn found(&self) -> Option<&Record> {
        self.found.as_ref()
    }

    /// Replaces the record, durably. Called by one at a time.
    pub(crate) async fn replace(
        &self,
        client: &KatoClient,
        state: &State,
    ) -> Result<(), RemoteError> {
        let record = serde_json::to_value(state).map_err(unreadable_position)?;
        let teach = |source: Box<dyn std::error::Error + Send + Sync>| RemoteError::Teach {
            node: self.run.to_string(),
            source,
        };
        let version = *self.version();
        let replaced = client.replace_run_record(self.run.as_str(), version, &record);
        let replaced = match replaced.await {
            Ok(replaced) => replaced,
            Err(error) if error.status() == Some(409) => {
                // The record may be ours, by an attempt whose answer was lost. Versions keep a
                // second trainer of the run from replacing what it has not seen.
                let found = client.run_record(self.run.as_str()).await;
                match found.map_err(|error| teach(error.into()))? {
                    Some(found) if found.record == record => found.version,
                    _ => {
                        let reason = "another trainer has trained this run meanwhile: let one of the two end, and resume";
                        return Err(teach(reason.into()));
                    }
                }
            }
            Err(error) => return Err(teach(error.into())),
        };
        *self.version() = replaced;
        Ok(())
    }

    fn version(&self) -> MutexGuard<'_, u64> {
        self.version.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
