//! The file of deleted patterns: which rows of which segment no reader shows. A commit that deletes some
//! writes it anew, and not the segments.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::directory::{file_name, segment_dir};
use super::manifest::{Manifest, SegmentEntry};
use super::segment::{DeletedRun, Segment, push_varint, take_slice, take_varint};
use super::{Generation, StoreError};

/// First bytes of the file.
const MAGIC: &[u8; 8] = b"KATODEL1";

/// The file as a manifest names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeletionsEntry {
    pub(crate) file: String,
    pub(crate) bytes: u64,
    /// Of the whole file.
    crc32: u32,
}

/// What was deleted of segments, by their files.
#[derive(Debug, Default)]
pub(super) struct Deletions(HashMap<String, Vec<DeletedRun>>);

impl Deletions {
    /// Reads what a manifest says is deleted.
    pub(super) fn read(dir: &Path, manifest: &Manifest) -> Result<Self, StoreError> {
        let Some(entry) = &manifest.deletions else {
            return Ok(Self::default());
        };
        let path = segment_dir(dir).join(&entry.file);
        let corrupt = |reason: &str| StoreError::corrupt(&path, reason);
        let bytes = fs::read(&path).map_err(|source| match path.is_dir() {
            true => corrupt("it is a directory"),
            false => StoreError::io("read", &path, source),
        })?;
        // Its checksum is in the manifest, so a file of another commit does not match either.
        if bytes.len() as u64 != entry.bytes || crc32fast::hash(&bytes) != entry.crc32 {
            return Err(corrupt("it is not the file that the manifest names"));
        }
        let decoded = bytes.strip_prefix(MAGIC);
        let decoded = decoded.and_then(|bytes| Self::decode(bytes, manifest.nodes.len()));
        decoded.ok_or_else(|| corrupt("it does not decode"))
    }

    fn decode(mut bytes: &[u8], n_nodes: usize) -> Option<Self> {
        let bytes = &mut bytes;
        let mut all = HashMap::new();
        while !bytes.is_empty() {
            let length = usize::try_from(take_varint(bytes)?).ok()?;
            let file = str::from_utf8(take_slice(bytes, length)?).ok()?.to_owned();
            let mut runs = Vec::new();
            for _ in 0..take_varint(bytes)? {
                let nodes = (0..n_nodes).map(|_| take_rows(bytes));
                runs.push(DeletedRun(nodes.collect::<Option<_>>()?));
            }
            all.insert(file, runs);
        }
        Some(Self(all))
    }

    /// Returns a segment without what is deleted of it.
    pub(super) fn apply(
        &self,
        entry: &SegmentEntry,
        segment: Segment,
    ) -> Result<Segment, StoreError> {
        let runs = self.0.get(&entry.file);
        match runs {
            None if entry.deleted.is_empty() => Ok(segment),
            runs => segment.with_deleted(runs.cloned().unwrap_or_default(), entry.deleted.clone()),
        }
    }

    /// Writes what is deleted of the segments of a generation, and waits until the disk holds it.
    pub(super) fn write(
        path: &Path,
        generation: &Generation,
    ) -> Result<DeletionsEntry, StoreError> {
        let mut bytes = MAGIC.to_vec();
        for (entry, segment) in generation
            .manifest
            .segments
            .iter()
            .zip(&generation.segments)
        {
            let runs = segment.deleted().runs();
            if runs.is_empty() {
                continue;
            }
            push_varint(&mut bytes, entry.file.len() as u64);
            bytes.extend_from_slice(entry.file.as_bytes());
            push_varint(&mut bytes, runs.len() as u64);
            for rows in runs.iter().flat_map(|run| &run.0) {
                push_rows(&mut bytes, rows);
            }
        }
        let write = || {
            // Numbers are given once, so a file that is there is a fault.
            let mut file = File::create_new(path)?;
            file.write_all(&bytes)?;
            let _waiting = kato_probe::thread::waiting(kato_probe::Wait::Disk);
            file.sync_all()
        };
        write().map_err(|source| {
            // Best effort: the next writer removes it anyway.
            let _ = fs::remove_file(path);
            StoreError::io("write", path, source)
        })?;
        Ok(DeletionsEntry {
            file: file_name(path),
            bytes: bytes.len() as u64,
            crc32: crc32fast::hash(&bytes),
        })
    }
}

/// Appends rows: their number, then of each how far it is from the one before.
fn push_rows(bytes: &mut Vec<u8>, rows: &[u32]) {
    push_varint(bytes, rows.len() as u64);
    let mut before = 0;
    for &row in rows {
        push_varint(bytes, u64::from(row - before));
        before = row;
    }
}

/// Takes rows; `None` if there are none in the bytes.
fn take_rows(bytes: &mut &[u8]) -> Option<Vec<u32>> {
    let n_rows = take_varint(bytes)?;
    let mut rows: Vec<u32> = Vec::new();
    for _ in 0..n_rows {
        let step = u32::try_from(take_varint(bytes)?).ok()?;
        rows.push(rows.last().copied().unwrap_or(0).checked_add(step)?);
    }
    Some(rows)
}
