//! The files of a knowledge base: their names, opening them, and removing those that no commit
//! names.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::deletions::Deletions;
use super::lock;
use super::manifest::{FILE, Manifest, NEW_FILE, PREVIOUS_FILE, SegmentEntry, TWIN_FILE};
use super::segment::{Segment, WrittenSegment};
use crate::{Place, StoreError};

const SEGMENT_DIR: &str = "segments";
const SEGMENT_EXTENSION: &str = "seg";
const DELETIONS_EXTENSION: &str = "del";

/// Returns the directory of the segment files.
pub(super) fn segment_dir(dir: &Path) -> PathBuf {
    dir.join(SEGMENT_DIR)
}

/// Returns the file of a segment by its number.
pub(super) fn segment_path(dir: &Path, number: u64) -> PathBuf {
    segment_dir(dir).join(format!("{number:010}.{SEGMENT_EXTENSION}"))
}

/// Returns the file of what is deleted of segments by its number, which no segment has.
pub(super) fn deletions_path(dir: &Path, number: u64) -> PathBuf {
    segment_dir(dir).join(format!("{number:010}.{DELETIONS_EXTENSION}"))
}

/// Returns whether a directory holds a knowledge base, whole or damaged: a manifest, or segments that
/// have lost theirs.
pub(super) fn holds_knowledge_base(dir: &Path) -> bool {
    let manifests = [FILE, TWIN_FILE, PREVIOUS_FILE];
    manifests.iter().any(|file| dir.join(file).exists())
        // Those of a cluster's store have other names.
        || segment_files(dir).is_ok_and(|files| files.iter().any(|file| is_numbered(file)))
}

/// Returns whether a file has a name that a store gives to a segment.
fn is_numbered(file: &str) -> bool {
    let stem = Path::new(file).file_stem().and_then(|stem| stem.to_str());
    stem.is_some_and(|stem| stem.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Lists the names of the segment files in a directory, in order.
pub(super) fn segment_files(dir: &Path) -> Result<Vec<String>, StoreError> {
    let mut files = own_files(dir)?;
    files.retain(|file| {
        Path::new(file)
            .extension()
            .is_some_and(|it| it == SEGMENT_EXTENSION)
    });
    Ok(files)
}

/// Lists the names of all files among the segments that a store writes, in order; others are the user's.
pub(super) fn own_files(dir: &Path) -> Result<Vec<String>, StoreError> {
    let dir = segment_dir(dir);
    let entries = match fs::read_dir(&dir) {
        Err(error) if is_missing(&error) => return Ok(Vec::new()),
        entries => entries.map_err(|source| StoreError::io("list", &dir, source))?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let name = entry
            .map_err(|source| StoreError::io("list", &dir, source))?
            .file_name();
        let extension = Path::new(&name).extension();
        if extension.is_some_and(|it| it == SEGMENT_EXTENSION || it == DELETIONS_EXTENSION)
            && let Some(name) = name.to_str()
        {
            files.push(name.to_owned());
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Returns whether a path leads to nothing: a part of it is not there, or is a file.
pub(super) fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Returns the directory that holds a directory.
pub(super) fn parent_dir(dir: &Path) -> PathBuf {
    match dir.parent() {
        Some(parent) if parent != Path::new("") => parent.to_owned(),
        // A relative path of one component has the empty path for its parent, which cannot be
        // opened.
        Some(_) => PathBuf::from("."),
        None => dir.to_owned(),
    }
}

/// Refuses a directory that holds a knowledge base or anything else.
pub(super) fn ensure_unoccupied(dir: &Path) -> Result<(), StoreError> {
    if holds_knowledge_base(dir) {
        return Err(StoreError::Exists {
            place: Place::from_path(dir),
        });
    }
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(_) if dir.is_file() => {
            return Err(StoreError::NotAKnowledgeBase {
                place: Place::from_path(dir),
            });
        }
        entries => entries.map_err(|source| StoreError::io("list", dir, source))?,
    };
    for entry in entries {
        let entry = entry.map_err(|source| StoreError::io("list", dir, source))?;
        let name = entry.file_name();
        // What a creation that was killed half-way leaves behind.
        let is_ours = [lock::FILE, SEGMENT_DIR, NEW_FILE]
            .iter()
            .any(|ours| name == *ours);
        if !is_ours {
            return Err(StoreError::NotAKnowledgeBase {
                place: Place::from_path(dir),
            });
        }
    }
    Ok(())
}

/// The access that an open knowledge base has to its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileAccess {
    /// Only the store itself removes files: they are opened when they are read.
    Exclusive,
    /// A writer beside the store may remove them: they are held open.
    Shared,
}

/// Opens a segment and compares it with its entry in the manifest: it may be the segment of another
/// knowledge base.
pub(super) fn open_segment(
    dir: &Path,
    manifest: &Manifest,
    entry: &SegmentEntry,
    deletions: &Deletions,
    access: FileAccess,
) -> Result<Segment, StoreError> {
    let path = segment_dir(dir).join(&entry.file);
    let segment = Segment::open(&path)?;
    // Held before anything else is looked at: a writer may remove the name at any moment.
    if access == FileAccess::Shared {
        segment.hold()?;
    }
    let totals = segment.all_totals();
    if segment.version() > manifest.format_version
        || totals.len() != manifest.nodes.len()
        || !totals.eq(entry.nodes.iter().copied())
        || segment.bytes()? != entry.bytes
    {
        return Err(StoreError::corrupt(
            &path,
            "it is not the file that the manifest names",
        ));
    }
    deletions.apply(entry, segment)
}

/// Returns the manifest's entry for a segment.
pub(super) fn manifest_entry(written: &WrittenSegment) -> SegmentEntry {
    SegmentEntry {
        file: file_name(written.path()),
        bytes: written.bytes,
        nodes: written.totals.clone(),
        deleted: Vec::new(),
    }
}

/// Returns the name of one of our files.
pub(super) fn file_name(path: &Path) -> String {
    // It is made of digits, so nothing is lost in the conversion.
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Removes segment files that no commit names any more.
pub(super) fn remove_files<'a>(dir: &Path, files: impl Iterator<Item = &'a str>) {
    for file in files {
        // Readers that have it open keep it; a failure leaves an orphan for the next writer.
        let _ = fs::remove_file(segment_dir(dir).join(file));
    }
}

/// Removes our files among the segments that no commit names; other files stay.
pub(super) fn remove_orphans(dir: &Path, referenced: &HashSet<&str>) -> Result<(), StoreError> {
    for file in own_files(dir)? {
        // A segment that cannot be removed is an error, because the next one to be written may have
        // its number and is created only where no file is.
        if !referenced.contains(file.as_str()) {
            let path = segment_dir(dir).join(file);
            fs::remove_file(&path).map_err(|source| StoreError::io("remove", &path, source))?;
        }
    }
    Ok(())
}
