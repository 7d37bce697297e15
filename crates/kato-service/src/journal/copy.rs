//! A copy of the journal in another directory, as it was at one moment.

use std::path::Path;

use super::opening;
use super::tables::{TABLES, TablesSnapshot};
use crate::ServiceError;

/// Bytes that are written at a time.
const PART_BYTES: usize = 4 << 20;

/// Writes what the tables held at a moment into a new journal, durably.
pub(crate) fn copy(snapshot: &TablesSnapshot<'_>, to: &Path) -> Result<(), ServiceError> {
    let copied = || ServiceError::journal("write a copy of the journal");
    let tables = opening::open(to, false)?.tables;
    for (table, _) in TABLES {
        let keyspace = tables.keyspace(table);
        let (mut part, mut bytes) = (Vec::new(), 0);
        for row in snapshot.rows(table) {
            let (key, value) = row?;
            bytes += key.len() + value.len();
            part.push((keyspace, key.to_vec(), Some(value.to_vec())));
            // In parts, so that memory is bounded. That they are several writes does no harm: the
            // directory is marked as unfinished until all of them are there.
            if bytes >= PART_BYTES {
                tables.write_all(part.drain(..)).map_err(copied())?;
                bytes = 0;
            }
        }
        if !part.is_empty() {
            tables.write_all(part.into_iter()).map_err(copied())?;
        }
    }
    tables.sync().map_err(copied())?;
    tables.sync_witness()
}
