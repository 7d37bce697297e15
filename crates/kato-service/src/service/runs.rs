//! Records of training runs.

use kato_model::RunName;
use serde_json::Value;

use super::Service;
use crate::ServiceError;
use crate::runs::VersionedRecord;

impl Service {
    /// Returns the record of a training run; `None` if there is none.
    ///
    /// # Errors
    ///
    /// [`ServiceError::Journal`] or [`ServiceError::Lost`] when it cannot be read.
    pub fn run_record(&self, run: &RunName) -> Result<Option<VersionedRecord>, ServiceError> {
        let shared = &self.shared;
        shared.runs.get(shared.journal.as_ref(), run)
    }

    /// Replaces the record of a training run, as durably as everything, where its version is
    /// `version`, 0 for none. Returns its version from then on.
    ///
    /// # Errors
    ///
    /// [`ServiceError::RunReplaced`] when its version is another, [`ServiceError::RunTooLarge`],
    /// [`ServiceError::TooManyRuns`], [`ServiceError::Closed`], [`ServiceError::StorageFailed`].
    pub fn replace_run_record(
        &self,
        run: &RunName,
        version: u64,
        record: Value,
    ) -> Result<u64, ServiceError> {
        let shared = &self.shared;
        let _turn = shared.begin_write()?;
        let journal = shared.journal.as_ref();
        shared
            .runs
            .replace(journal, &shared.options, run, version, record)
    }
}
