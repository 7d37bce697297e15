//! fjall without its journal: each batch becomes a sorted run, as this project's segments do.

use std::path::Path;

use anyhow::Result;
use fjall::{Database, Keyspace, KeyspaceCreateOptions};

use super::{Engine, Scanned};
use crate::workload::{Name, Record, count_sorted, encode, frequency};

/// Key of the position. A run is atomic within one keyspace only, so the position lies before all names.
const POSITION: [u8; 1] = [0];

/// A database of one keyspace.
pub struct FjallIngest {
    patterns: Keyspace,
    /// Runs the background threads as long as it lives.
    _database: Database,
}

impl FjallIngest {
    /// A new database with the engine's own settings.
    pub fn create(dir: &Path) -> Result<Self> {
        let database = Database::builder(dir.join("fjall")).open()?;
        let patterns = database.keyspace("patterns", KeyspaceCreateOptions::default)?;
        Ok(Self {
            patterns,
            _database: database,
        })
    }
}

impl Engine for FjallIngest {
    fn merge(&mut self, batch: Vec<Record>, position: u64) -> Result<()> {
        let mut run = self.patterns.start_ingestion()?;
        run.write(POSITION, position.to_le_bytes())?;
        for (record, count) in count_sorted(batch) {
            let before = self
                .patterns
                .get(record.name)?
                .map_or(0, |value| frequency(&value));
            run.write(record.name, encode(&record, before + count))?;
        }
        run.finish()?;
        Ok(())
    }

    fn frequency(&self, name: &Name) -> Result<Option<u64>> {
        Ok(self.patterns.get(name)?.map(|value| frequency(&value)))
    }

    fn scan(&self) -> Result<Scanned> {
        super::fjall::scan(&self.patterns)
    }
}
