//! Records of training runs: what a trainer keeps beside what it taught, so that it cannot be lost
//! without it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kato_model::RunName;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::journal::{Entry, Journal, Table};
use crate::{Durability, ServiceError};

/// Bytes of a record at most.
const MAX_BYTES: usize = 1 << 20;

/// Records at most.
const MAX_RECORDS: usize = 100_000;

/// The record of a training run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunRecord {
    /// Counts its replacements, from 1.
    pub version: u64,
    /// Data of the trainer's own.
    pub record: Value,
}

/// All records, where there is no journal; with one, the lock under which they are changed.
#[derive(Debug, Default)]
pub(crate) struct Runs {
    in_memory: Mutex<HashMap<RunName, RunRecord>>,
}

impl Runs {
    /// Returns the record of a run.
    pub(crate) fn get(
        &self,
        journal: Option<&Journal>,
        run: &RunName,
    ) -> Result<Option<RunRecord>, ServiceError> {
        read(&self.lock(), journal, run)
    }

    /// Replaces the record of a run that has this version, 0 where there is none; returns its
    /// version from then on.
    pub(crate) fn replace(
        &self,
        (journal, durability): (Option<&Journal>, Durability),
        run: &RunName,
        version: u64,
        record: Value,
    ) -> Result<u64, ServiceError> {
        // Held until it is written: of two trainers that have read the same version, one is
        // refused.
        let mut in_memory = self.lock();
        let found = read(&in_memory, journal, run)?.map_or(0, |found| found.version);
        if found != version {
            return Err(ServiceError::RunReplaced {
                run: run.to_string(),
                found,
                version,
            });
        }
        let next = RunRecord {
            version: found + 1,
            record,
        };
        let bytes = serde_json::to_vec(&next).map_or(usize::MAX, |bytes| bytes.len());
        if bytes > MAX_BYTES {
            return Err(ServiceError::RunTooLarge { limit: MAX_BYTES });
        }
        let Some(journal) = journal else {
            if found == 0 && in_memory.len() >= MAX_RECORDS {
                return Err(ServiceError::TooManyRuns { limit: MAX_RECORDS });
            }
            in_memory.insert(run.clone(), next);
            return Ok(found + 1);
        };
        // Counted only when there will be one more.
        if found == 0 && journal.tables().prefix(Table::Runs, b"").count() >= MAX_RECORDS {
            return Err(ServiceError::TooManyRuns { limit: MAX_RECORDS });
        }
        let mut entry = Entry {
            sync: durability == Durability::Disk,
            ..Entry::default()
        };
        let value = serde_json::to_vec(&next)
            .map_err(|error| ServiceError::corrupt("write the record of a run", error))?;
        entry.put(Table::Runs, run.as_str(), value);
        journal.append_and_wait(entry)?;
        Ok(found + 1)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunName, RunRecord>> {
        self.in_memory
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the record of a run, from memory where there is no journal.
fn read(
    in_memory: &HashMap<RunName, RunRecord>,
    journal: Option<&Journal>,
    run: &RunName,
) -> Result<Option<RunRecord>, ServiceError> {
    let Some(journal) = journal else {
        return Ok(in_memory.get(run).cloned());
    };
    let found = journal.tables().get(Table::Runs, run.as_str().as_bytes())?;
    found
        .map(|bytes| serde_json::from_slice(&bytes))
        .transpose()
        .map_err(|error| ServiceError::corrupt("read the record of a run", error))
}
