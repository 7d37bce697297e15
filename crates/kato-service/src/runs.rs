//! Records of training runs: what a trainer keeps beside what it taught, so that it cannot be lost
//! without it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kato_model::RunName;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::journal::{Entry, Journal, Table};
use crate::{Durability, ServiceError, ServiceOptions};

/// Bytes of a record at most, as JSON.
const MAX_BYTES: usize = 1 << 20;

/// The record of a training run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VersionedRecord {
    /// Counts its replacements, from 1.
    pub version: u64,
    /// Data of the trainer's own.
    pub record: Value,
}

/// All records.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    /// The lock under which records are changed.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The records, where there is no journal.
    in_memory: HashMap<RunName, VersionedRecord>,
    /// The number of records in the journal, once it was needed: to count them reads all.
    n_stored: Option<usize>,
}

impl Runs {
    /// Returns the record of a run.
    pub(crate) fn get(
        &self,
        journal: Option<&Journal>,
        run: &RunName,
    ) -> Result<Option<VersionedRecord>, ServiceError> {
        read(&self.lock().in_memory, journal, run)
    }

    /// Replaces the record of a run that has this version, 0 where there is none and there are less
    /// than allowed; returns its version from then on.
    pub(crate) fn replace(
        &self,
        journal: Option<&Journal>,
        options: &ServiceOptions,
        run: &RunName,
        version: u64,
        record: Value,
    ) -> Result<u64, ServiceError> {
        // Held until it is written: of two trainers that have read the same version, one is
        // refused.
        let mut state = self.lock();
        let found = read(&state.in_memory, journal, run)?.map_or(0, |found| found.version);
        if found != version {
            return Err(ServiceError::RunReplaced {
                run: run.to_string(),
                found,
                version,
            });
        }
        let bytes = serde_json::to_vec(&record).map_or(usize::MAX, |bytes| bytes.len());
        if bytes > MAX_BYTES {
            return Err(ServiceError::RunTooLarge { limit: MAX_BYTES });
        }
        let next = VersionedRecord {
            version: found + 1,
            record,
        };
        let limit = options.max_runs;
        // Counted only when there will be one more.
        if found == 0 && state.count(journal)? >= limit {
            return Err(ServiceError::TooManyRuns { limit });
        }
        let Some(journal) = journal else {
            state.in_memory.insert(run.clone(), next);
            return Ok(found + 1);
        };
        let mut entry = Entry {
            sync: options.durability == Durability::Disk,
            ..Entry::default()
        };
        let value = serde_json::to_vec(&next)
            .map_err(|error| ServiceError::corrupt("write the record of a run", error))?;
        entry.put(Table::Runs, run.as_str(), value);
        journal.append_and_wait(entry)?;
        if found == 0 {
            state.n_stored = state.n_stored.map(|n| n + 1);
        }
        Ok(found + 1)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns the number of records.
    fn count(&mut self, journal: Option<&Journal>) -> Result<usize, ServiceError> {
        let Some(journal) = journal else {
            return Ok(self.in_memory.len());
        };
        if let Some(n) = self.n_stored {
            return Ok(n);
        }
        let mut rows = journal.tables().prefix(Table::Runs, b"");
        let n = rows.try_fold(0, |n, row| row.map(|_| n + 1))?;
        self.n_stored = Some(n);
        Ok(n)
    }
}

/// Reads the record of a run, from memory where there is no journal.
fn read(
    in_memory: &HashMap<RunName, VersionedRecord>,
    journal: Option<&Journal>,
    run: &RunName,
) -> Result<Option<VersionedRecord>, ServiceError> {
    let Some(journal) = journal else {
        return Ok(in_memory.get(run).cloned());
    };
    let found = journal.tables().get(Table::Runs, run.as_str().as_bytes())?;
    found
        .map(|bytes| serde_json::from_slice(&bytes))
        .transpose()
        .map_err(|error| ServiceError::corrupt("read the record of a run", error))
}
