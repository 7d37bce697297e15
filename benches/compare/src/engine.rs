//! What an engine must do, and the engines.

mod fjall;
mod fjall_ingest;
mod lmdb;
mod redb;
mod segments;

use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::workload::{Name, Record};

/// A store of counted patterns under measurement.
pub trait Engine {
    /// Counts a batch and makes it durable together with the position, all or nothing.
    fn merge(&mut self, batch: Vec<Record>, position: u64) -> Result<()>;

    /// Reorganises the store for reading, if the engine offers that; not part of the insert time.
    fn compact(&mut self) -> Result<()> {
        Ok(())
    }

    /// Reads a pattern and returns its frequency.
    fn frequency(&self, name: &Name) -> Result<Option<u64>>;

    /// Reads name and frequency of all patterns in name order.
    fn scan(&self) -> Result<Scanned>;
}

/// What a scan saw: equal for engines that agree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scanned {
    /// Distinct patterns.
    pub patterns: u64,
    /// Sum of the frequencies.
    pub observations: u64,
    /// Depends on every name, every frequency and the order.
    pub digest: u64,
}

impl Scanned {
    /// Counts the next pattern.
    pub fn push(&mut self, name: &[u8], frequency: u64) {
        self.patterns += 1;
        self.observations += frequency;
        let leading = name
            .iter()
            .take(8)
            .fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
        self.digest = (self.digest.rotate_left(5) ^ leading)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .wrapping_add(frequency);
    }
}

/// The engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// This project's store as training leaves it: one segment a commit, up to 64.
    Segments,
    /// The same after `compact`.
    SegmentsCompacted,
    /// redb: a copy-on-write B-tree in one file.
    Redb,
    /// fjall: a log-structured merge tree, through its journal.
    Fjall,
    /// fjall, each batch handed over as a sorted run.
    FjallIngest,
    /// LMDB by heed: a copy-on-write B-tree in a memory map.
    Lmdb,
}

impl Kind {
    /// All engines.
    pub const ALL: [Self; 6] = [
        Self::Segments,
        Self::SegmentsCompacted,
        Self::Redb,
        Self::Fjall,
        Self::FjallIngest,
        Self::Lmdb,
    ];

    /// The name on the command line.
    pub fn name(self) -> String {
        self.to_possible_value()
            .map(|value| value.get_name().to_owned())
            .unwrap_or_default()
    }

    /// Opens a new store in an empty directory.
    pub fn open(self, dir: &Path) -> Result<Box<dyn Engine>> {
        Ok(match self {
            Self::Segments => Box::new(segments::Segments::create(
                dir,
                segments::Compaction::Never,
            )?),
            Self::SegmentsCompacted => Box::new(segments::Segments::create(
                dir,
                segments::Compaction::BeforeReading,
            )?),
            Self::Redb => Box::new(redb::Redb::create(dir)?),
            Self::Fjall => Box::new(fjall::Fjall::create(dir)?),
            Self::FjallIngest => Box::new(fjall_ingest::FjallIngest::create(dir)?),
            Self::Lmdb => Box::new(lmdb::Lmdb::create(dir)?),
        })
    }
}
