//! A copy of the journal in another directory, as it was at one moment.

use std::collections::HashMap;
use std::path::Path;

use super::opening;
use super::record::{key_of_lessons, sequence_of};
use super::tables::{TABLES, Table, TablesSnapshot};
use crate::ServiceError;
use crate::disk_room::DiskRoom;
use crate::steps::{self, Step};

/// Bytes that are written at a time.
const PART_BYTES: usize = if cfg!(test) { 16 << 10 } else { 4 << 20 };

/// The content of a copy.
#[derive(Debug, Default)]
pub(crate) struct CopiedJournal {
    /// Bytes of all keys and values.
    pub(crate) bytes: u64,
    /// Number of the last lessons, by what the keys of a node's lessons begin with.
    last_lessons: HashMap<Vec<u8>, u64>,
}

impl CopiedJournal {
    /// Returns the number of the last lessons of a node; `None` if it has none.
    pub(crate) fn last_lessons(&self, processor_id: &str) -> Option<u64> {
        let prefix = key_of_lessons(processor_id, None);
        self.last_lessons.get(&prefix).copied()
    }

    /// Notes a record.
    fn note(&mut self, table: Table, key: &[u8], value: &[u8]) {
        self.bytes += (key.len() + value.len()) as u64;
        if table == Table::Lessons
            && let Some(sequence) = sequence_of(key)
        {
            let prefix = &key[..key.len() - size_of::<u64>()];
            // In key order: the last one counts.
            match self.last_lessons.get_mut(prefix) {
                Some(last) => *last = sequence,
                None => drop(self.last_lessons.insert(prefix.to_vec(), sequence)),
            }
        }
    }
}

/// Writes what the tables held at a moment into a new journal, durably, as long as there is room.
pub(crate) fn copy(
    snapshot: &TablesSnapshot<'_>,
    room: &DiskRoom,
    to: &Path,
) -> Result<CopiedJournal, ServiceError> {
    let written = || ServiceError::journal("write a copy of the journal");
    let tables = opening::open(to, None)?.tables;
    let mut copied = CopiedJournal::default();
    for (table, _) in TABLES {
        let keyspace = tables.keyspace(table);
        let (mut part, mut bytes) = (Vec::new(), 0);
        for row in snapshot.rows(table) {
            let (key, value) = row?;
            copied.note(table, &key, &value);
            bytes += key.len() + value.len();
            part.push((keyspace, key.to_vec(), Some(value.to_vec())));
            // In parts, so that memory is bounded. That they are several writes does no harm: the
            // directory is marked as unfinished until all of them are there.
            if bytes >= PART_BYTES {
                steps::reach(Step::CopyPart);
                room.check_again()?;
                tables.write_all(part.drain(..)).map_err(written())?;
                bytes = 0;
            }
        }
        if !part.is_empty() {
            steps::reach(Step::CopyPart);
            tables.write_all(part.into_iter()).map_err(written())?;
        }
    }
    tables.sync().map_err(written())?;
    tables.sync_witness()?;
    Ok(copied)
}
