//! LMDB through heed: one transaction a batch, keys ascending.

use std::path::Path;

use anyhow::{Context, Result};
use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, EnvOpenOptions, Error};

use super::{Engine, Scanned};
use crate::workload::{Name, Record, count_sorted, encode, frequency};

/// Address space reserved for the file; it takes only what is used.
const MAP_BYTES: usize = 64 << 30;

type Table = Database<'static, Bytes, Bytes>;

/// An environment with two databases.
pub struct Lmdb {
    env: &'static Env,
    patterns: Table,
    position: Table,
}

impl Lmdb {
    /// A new environment.
    pub fn create(dir: &Path) -> Result<Self> {
        let mut options = EnvOpenOptions::new();
        options.map_size(MAP_BYTES).max_dbs(2);
        #[expect(
            unsafe_code,
            reason = "the file is mapped; nothing else opens or changes it"
        )]
        // SAFETY: the directory was made for this process alone, and the environment is opened once.
        let env = unsafe { options.open(dir) }?;
        // Tables borrow the environment; the process ends with the measurement.
        let env: &'static Env = Box::leak(Box::new(env));
        let write = env.write_txn()?;
        let (patterns, position) = env
            .create_databases_and_commit(write, |opener, write| {
                let patterns = opener.create_database::<Bytes, Bytes>(write, Some("patterns"))?;
                let position = opener.create_database::<Bytes, Bytes>(write, Some("position"))?;
                Ok::<_, Error>(CommitOrAbort::<_, ()>::Commit((patterns, position)))
            })?
            .commit()
            .context("the databases were created")?;
        Ok(Self {
            env,
            patterns,
            position,
        })
    }
}

impl Engine for Lmdb {
    fn merge(&mut self, batch: Vec<Record>, position: u64) -> Result<()> {
        let mut write = self.env.write_txn()?;
        for (record, count) in count_sorted(batch) {
            let before = self
                .patterns
                .get(&write, &record.name)?
                .map_or(0, frequency);
            self.patterns
                .put(&mut write, &record.name, &encode(&record, before + count))?;
        }
        self.position
            .put(&mut write, b"position", &position.to_le_bytes())?;
        write.commit()?;
        Ok(())
    }

    fn frequency(&self, name: &Name) -> Result<Option<u64>> {
        let read = self.env.read_txn()?;
        Ok(self.patterns.get(&read, name)?.map(frequency))
    }

    fn scan(&self) -> Result<Scanned> {
        let mut scanned = Scanned::default();
        let read = self.env.read_txn()?;
        for entry in self.patterns.iter(&read)? {
            let (name, value) = entry?;
            scanned.push(name, frequency(value));
        }
        Ok(scanned)
    }
}
