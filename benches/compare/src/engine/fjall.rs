//! fjall: one atomic batch over two keyspaces, made durable by its journal.

use std::path::Path;

use anyhow::Result;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::{Engine, Scanned};
use crate::workload::{Name, Record, count_sorted, encode, frequency};

/// A database of two keyspaces.
pub struct Fjall {
    database: Database,
    patterns: Keyspace,
    position: Keyspace,
}

impl Fjall {
    /// A new database with the engine's own settings.
    pub fn create(dir: &Path) -> Result<Self> {
        let database = Database::builder(dir.join("fjall")).open()?;
        let patterns = database.keyspace("patterns", KeyspaceCreateOptions::default)?;
        let position = database.keyspace("position", KeyspaceCreateOptions::default)?;
        Ok(Self {
            database,
            patterns,
            position,
        })
    }
}

impl Engine for Fjall {
    fn merge(&mut self, batch: Vec<Record>, position: u64) -> Result<()> {
        let mut write = self.database.batch().durability(Some(PersistMode::SyncAll));
        for (record, count) in count_sorted(batch) {
            let before = self
                .patterns
                .get(record.name)?
                .map_or(0, |value| frequency(&value));
            write.insert(&self.patterns, record.name, encode(&record, before + count));
        }
        write.insert(&self.position, "position", position.to_le_bytes());
        write.commit()?;
        Ok(())
    }

    fn frequency(&self, name: &Name) -> Result<Option<u64>> {
        Ok(self.patterns.get(name)?.map(|value| frequency(&value)))
    }

    fn scan(&self) -> Result<Scanned> {
        scan(&self.patterns)
    }
}

/// Scans the patterns of a keyspace; other keys are shorter.
pub(super) fn scan(patterns: &Keyspace) -> Result<Scanned> {
    let mut scanned = Scanned::default();
    for entry in patterns.iter() {
        let (name, value) = entry.into_inner()?;
        if name.len() == size_of::<Name>() {
            scanned.push(&name, frequency(&value));
        }
    }
    Ok(scanned)
}
