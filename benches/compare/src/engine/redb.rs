//! redb: one transaction a batch, keys ascending.

use std::path::Path;

use anyhow::Result;
use redb::{Database, ReadOnlyTable, ReadableDatabase, ReadableTable, TableDefinition};

use super::{Engine, Scanned};
use crate::workload::{Name, Record, count_sorted, encode, frequency};

const PATTERNS: TableDefinition<'_, &Name, &[u8]> = TableDefinition::new("patterns");
const POSITION: TableDefinition<'_, (), u64> = TableDefinition::new("position");
/// Its page cache; the other engines are left at their defaults, redb's of 1 GiB would hide the disk.
const CACHE_BYTES: usize = 256 << 20;

/// A database in one file.
#[derive(Debug)]
pub struct Redb {
    database: Database,
}

impl Redb {
    /// A new database.
    pub fn create(dir: &Path) -> Result<Self> {
        let database = Database::builder()
            .set_cache_size(CACHE_BYTES)
            .create(dir.join("patterns.redb"))?;
        Ok(Self { database })
    }

    fn patterns(&self) -> Result<ReadOnlyTable<&'static Name, &'static [u8]>> {
        Ok(self.database.begin_read()?.open_table(PATTERNS)?)
    }
}

impl Engine for Redb {
    fn merge(&mut self, batch: Vec<Record>, position: u64) -> Result<()> {
        let write = self.database.begin_write()?;
        {
            let mut patterns = write.open_table(PATTERNS)?;
            for (record, count) in count_sorted(batch) {
                let before = patterns
                    .get(&record.name)?
                    .map_or(0, |value| frequency(value.value()));
                patterns.insert(&record.name, encode(&record, before + count).as_slice())?;
            }
            write.open_table(POSITION)?.insert((), position)?;
        }
        write.commit()?;
        Ok(())
    }

    fn frequency(&self, name: &Name) -> Result<Option<u64>> {
        // A transaction for each look-up is how a server would read.
        Ok(self
            .patterns()?
            .get(name)?
            .map(|value| frequency(value.value())))
    }

    fn scan(&self) -> Result<Scanned> {
        let mut scanned = Scanned::default();
        for entry in self.patterns()?.iter()? {
            let (name, value) = entry?;
            scanned.push(name.value(), frequency(value.value()));
        }
        Ok(scanned)
    }
}
