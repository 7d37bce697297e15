//! The files of deleted patterns: which rows of which segment no reader shows. A commit that deletes some
//! writes a file of those alone, and not the segments.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize};

use super::directory::{file_name, segment_dir};
use super::manifest::{Manifest, SegmentEntry};
use super::segment::{DeletedRun, Segment, push_varint, take_slice, take_varint};
use super::{Generation, StoreError};

/// First bytes of the file.
const MAGIC: &[u8; 8] = b"KATODEL1";

/// A file as a manifest names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeletionsEntry {
    pub(crate) file: String,
    pub(crate) bytes: u64,
    /// Of the whole file.
    crc32: u32,
}

/// Reads the entries of a manifest. Where all that was deleted lay in one file, format 4, it was alone.
pub(crate) fn one_or_many<'de, D: Deserializer<'de>>(
    manifest: D,
) -> Result<Vec<DeletionsEntry>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Entries {
        One(DeletionsEntry),
        Many(Vec<DeletionsEntry>),
    }
    Ok(match Entries::deserialize(manifest)? {
        Entries::One(entry) => vec![entry],
        Entries::Many(entries) => entries,
    })
}

/// What was deleted of segments, by their files.
#[derive(Debug, Default)]
pub(super) struct Deletions(BTreeMap<String, Vec<Arc<DeletedRun>>>);

impl Deletions {
    /// Reads what a manifest says is deleted.
    pub(super) fn read(dir: &Path, manifest: &Manifest) -> Result<Self, StoreError> {
        let mut all = Self::default();
        for entry in &manifest.deletions {
            all.push(Self::read_file(dir, entry, manifest.nodes.len())?);
        }
        Ok(all)
    }

    fn read_file(dir: &Path, entry: &DeletionsEntry, n_nodes: usize) -> Result<Self, StoreError> {
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
        let decoded = decoded.and_then(|bytes| Self::decode(bytes, n_nodes));
        decoded.ok_or_else(|| corrupt("it does not decode"))
    }

    fn decode(mut bytes: &[u8], n_nodes: usize) -> Option<Self> {
        let bytes = &mut bytes;
        let mut all = BTreeMap::new();
        while !bytes.is_empty() {
            let length = usize::try_from(take_varint(bytes)?).ok()?;
            let file = str::from_utf8(take_slice(bytes, length)?).ok()?.to_owned();
            let mut runs = Vec::new();
            for _ in 0..take_varint(bytes)? {
                let nodes = (0..n_nodes).map(|_| take_rows(bytes));
                runs.push(Arc::new(DeletedRun(nodes.collect::<Option<_>>()?)));
            }
            all.insert(file, runs);
        }
        Some(Self(all))
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for (file, runs) in &self.0 {
            push_varint(&mut bytes, file.len() as u64);
            bytes.extend_from_slice(file.as_bytes());
            push_varint(&mut bytes, runs.len() as u64);
            for rows in runs.iter().flat_map(|run| &run.0) {
                push_rows(&mut bytes, rows);
            }
        }
        bytes
    }

    /// Adds what was deleted later.
    fn push(&mut self, later: Self) {
        for (file, runs) in later.0 {
            self.0.entry(file).or_default().extend(runs);
        }
    }

    /// Returns what is deleted of a generation and was not before.
    fn since(before: &Generation, next: &Generation) -> Self {
        let known = before.manifest.segments.iter().zip(&before.segments);
        let known: BTreeMap<&str, usize> = known
            .map(|(entry, segment)| (entry.file.as_str(), segment.deleted().runs().len()))
            .collect();
        let segments = next.manifest.segments.iter().zip(&next.segments);
        let new = segments.filter_map(|(entry, segment)| {
            let n_known = known.get(entry.file.as_str()).copied().unwrap_or(0);
            let runs = segment.deleted().runs().get(n_known..)?.to_vec();
            (!runs.is_empty()).then(|| (entry.file.clone(), runs))
        });
        Self(new.collect())
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

    /// Writes what is deleted of a generation and was not before to a file of its own, waits until the disk
    /// holds it, and adds it to the manifest.
    ///
    /// Files before it that are at most about twice as large go into it. So there are few, and what was deleted is
    /// written again a few times in the end, however many commits delete.
    pub(super) fn write(
        path: &Path,
        dir: &Path,
        before: &Generation,
        next: &mut Generation,
    ) -> Result<(), StoreError> {
        let mut new = Self::since(before, next);
        let manifest = &mut next.manifest;
        let mut bytes = new.encode();
        while let Some(last) = manifest
            .deletions
            .pop_if(|last| last.bytes / 2 <= bytes.len() as u64)
        {
            let mut all = Self::read_file(dir, &last, manifest.nodes.len())?;
            // What was deleted of segments that are gone means nothing any more.
            let files = manifest.segments.iter().map(|entry| entry.file.as_str());
            let files: HashSet<&str> = files.collect();
            all.0.retain(|file, _| files.contains(file.as_str()));
            all.push(new);
            bytes = all.encode();
            new = all;
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
        manifest.deletions.push(DeletionsEntry {
            file: file_name(path),
            bytes: bytes.len() as u64,
            crc32: crc32fast::hash(&bytes),
        });
        Ok(())
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
