//! The manifest: the one file that says what a knowledge base consists of. Replacing it *is* a
//! commit; a twin of it and the one before are kept.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use kato_model::AttributeLimits;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::damage::Held;
use super::deletions::{DeletionsEntry, one_or_many};
use super::directory::is_missing;
use super::segment::NodeTotals;
use crate::{Place, StoreError, Tombstones};

/// Latest version of the files of a knowledge base: that of its latest segment, 1 where there is
/// none, [`WITH_TOMBSTONES`] where there are tombstones, and [`WITH_DELETIONS`] where patterns of segments
/// are deleted.
pub(crate) const FORMAT_VERSION: u64 = WITH_DELETIONS;

/// Version of a knowledge base with patterns that lie in its segments and are deleted. Programs that do not
/// know this refuse it: they would show them. In version 4 one file says which.
pub(super) const WITH_DELETIONS: u64 = 5;

/// Version of a knowledge base with tombstones. Programs that do not know them refuse it: they would
/// drop them with their next commit.
pub(super) const WITH_TOMBSTONES: u64 = 3;

/// The newest manifest.
pub(super) const FILE: &str = "MANIFEST";
/// A second copy of the newest manifest: one damaged byte of either loses nothing.
pub(super) const TWIN_FILE: &str = "MANIFEST.twin";
/// The manifest before it.
pub(super) const PREVIOUS_FILE: &str = "MANIFEST.previous";
/// A manifest being written.
pub(super) const NEW_FILE: &str = "MANIFEST.tmp";
/// A twin being written.
const NEW_TWIN_FILE: &str = "MANIFEST.twin.tmp";
/// A second name for the newest manifest, on its way to being the previous one.
const NEW_PREVIOUS_FILE: &str = "MANIFEST.previous.tmp";

/// The content of a manifest: what a knowledge base consists of, and how far training got.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) format_version: u64,
    pub(crate) nodes: Vec<String>,
    /// The creator's description of the run; never changed.
    pub(crate) configuration: Value,
    pub(crate) attribute_limits: AttributeLimits,
    /// Training position and counters that belong to exactly these segments.
    pub(crate) checkpoint: Value,
    /// Commits so far.
    pub(crate) n_commits: u64,
    /// Number of the next segment file.
    pub(crate) next_segment: u64,
    pub(crate) segments: Vec<SegmentEntry>,
    /// The files that say what of the segments is deleted, the first one first; none where nothing is.
    #[serde(
        default,
        deserialize_with = "one_or_many",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub(crate) deletions: Vec<DeletionsEntry>,
    /// The tombstones of each node; none at all where no node has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) tombstones: Vec<Tombstones>,
}

/// Files that a manifest names, with their sizes.
pub(super) type NamedFiles = Vec<(String, u64)>;

/// One segment of the knowledge base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SegmentEntry {
    pub(crate) file: String,
    pub(crate) bytes: u64,
    /// What the file counts.
    pub(crate) nodes: Vec<NodeTotals>,
    /// What of that is deleted; nothing at all where no pattern is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) deleted: Vec<NodeTotals>,
}

impl SegmentEntry {
    /// Returns what is counted, by node: that of the file without what is deleted.
    pub(super) fn totals(&self) -> impl Iterator<Item = NodeTotals> {
        let nodes = self.nodes.iter().enumerate();
        nodes.map(|(node_idx, held)| match self.deleted.get(node_idx) {
            Some(deleted) => held.without(deleted),
            None => *held,
        })
    }

    /// Returns what the segment holds.
    pub(super) fn held(&self) -> Held {
        let sum =
            |count: fn(NodeTotals) -> u64| self.totals().map(count).fold(0, u64::saturating_add);
        Held {
            segments: 1,
            patterns: sum(|node| node.patterns),
            learns: sum(|node| node.observations),
        }
    }
}

/// What one of the manifest files of a directory is.
#[derive(Debug)]
pub(super) enum ManifestFile {
    Whole(Manifest),
    /// The file and the inconsistency that was found.
    Damaged(PathBuf, String),
    Missing,
}

impl ManifestFile {
    /// Returns the manifest, if it is whole.
    pub(super) fn whole(&self) -> Option<&Manifest> {
        match self {
            Self::Whole(manifest) => Some(manifest),
            Self::Damaged(..) | Self::Missing => None,
        }
    }

    /// Reads one of the manifest files of a directory.
    ///
    /// # Errors
    ///
    /// Those that say nothing about the content: a later format, a refusal of the system.
    pub(super) fn read(dir: &Path, file: &str) -> Result<Self, StoreError> {
        match Manifest::read(dir, file) {
            Ok(Some(manifest)) => Ok(Self::Whole(manifest)),
            Ok(None) => Ok(Self::Missing),
            Err(StoreError::Corrupt { reason, .. }) => Ok(Self::Damaged(dir.join(file), reason)),
            Err(error) => Err(error),
        }
    }
}

impl Manifest {
    /// Reads one of the manifests of a directory; `None` if it is not there.
    fn read(dir: &Path, file: &str) -> Result<Option<Self>, StoreError> {
        let path = dir.join(file);
        match fs::read(&path) {
            Ok(bytes) => Self::decode(&path, &bytes).map(Some),
            Err(error) if is_missing(&error) => Ok(None),
            Err(_) if path.is_dir() => Err(StoreError::corrupt(&path, "it is a directory")),
            Err(source) => Err(StoreError::io("read", &path, source)),
        }
    }

    /// Decodes a manifest after checking its checksum and its version.
    fn decode(path: &Path, bytes: &[u8]) -> Result<Self, StoreError> {
        let corrupt = |reason: &str| StoreError::corrupt(path, reason);
        let text = str::from_utf8(bytes).map_err(|_| corrupt("it is not text"))?;
        let (body, trailer) = text
            .trim_end()
            .rsplit_once('\n')
            .ok_or_else(|| corrupt("it has no checksum"))?;
        let expected = trailer
            .strip_prefix("crc32 ")
            .ok_or_else(|| corrupt("it has no checksum"))?;
        // First of all, so that nothing of a damaged file is believed, not even its version.
        if expected != checksum(body) {
            return Err(corrupt("its checksum does not match"));
        }
        let value: Value = serde_json::from_str(body).map_err(|_| corrupt("it is not JSON"))?;
        let found = value["format_version"]
            .as_u64()
            .ok_or_else(|| corrupt("it has no format version"))?;
        // Before anything else is decoded, because another version may look different in everything
        // else.
        if !(1..=FORMAT_VERSION).contains(&found) {
            return Err(StoreError::Version {
                place: Place::from_path(path),
                found,
                supported: FORMAT_VERSION,
            });
        }
        serde_json::from_value(value)
            .map_err(|error| corrupt(&format!("it does not decode: {error}")))
    }

    /// Makes this the newest manifest and the newest the previous one, atomically and durably. After a
    /// commit that failed, `before` says what the previous one is: the newest may be of that commit.
    ///
    /// At every moment there is a newest manifest, and it is whole.
    pub(crate) fn commit(&self, dir: &Path, before: Option<&Self>) -> Result<(), StoreError> {
        // Steps 3 to 7 of the commit protocol in docs/file-format.md; renaming the twin is the
        // commit. Before it the directory holds the last commit, after it this one.
        let text = self.encode();
        write_new(dir, NEW_FILE, &text)?;
        replace_twin(dir, &text)?;
        match before {
            None => link_as_previous(dir)?,
            Some(before) => {
                write_new(dir, NEW_PREVIOUS_FILE, &before.encode())?;
                rename(dir, NEW_PREVIOUS_FILE, PREVIOUS_FILE)?;
            }
        }
        rename(dir, NEW_FILE, FILE)?;
        sync_dir(dir)
    }

    /// Makes this the twin of the newest manifest.
    pub(super) fn renew_twin(&self, dir: &Path) -> Result<(), StoreError> {
        replace_twin(dir, &self.encode())
    }

    /// Writes the newest manifest and its twin where both may be missing, durably.
    pub(super) fn replace_both(&self, dir: &Path) -> Result<(), StoreError> {
        let text = self.encode();
        write_new(dir, NEW_FILE, &text)?;
        rename(dir, NEW_FILE, FILE)?;
        replace_twin(dir, &text)?;
        sync_dir(dir)
    }

    /// Returns the number of learn calls, patterns and segments that the manifest names.
    pub(super) fn held(&self) -> Held {
        self.segments.iter().map(SegmentEntry::held).sum()
    }

    /// Returns the content of the file.
    fn encode(&self) -> String {
        let body = serde_json::to_string_pretty(self).expect("the manifest is plain data");
        format!("{body}\ncrc32 {}\n", checksum(&body))
    }

    /// Returns the files in the directory of the segments that the manifest names.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        self.sized_files().map(|(file, _)| file)
    }

    /// Returns the same with their sizes.
    pub(super) fn sized_files(&self) -> impl Iterator<Item = (&str, u64)> {
        let segments = self.segments.iter().map(|it| (it.file.as_str(), it.bytes));
        let deletions = self.deletions.iter();
        segments.chain(deletions.map(|it| (it.file.as_str(), it.bytes)))
    }

    /// Returns the same as a list of its own.
    pub(super) fn named_files(&self) -> NamedFiles {
        let files = self.sized_files();
        files
            .map(|(file, bytes)| (file.to_owned(), bytes))
            .collect()
    }
}

/// Writes a manifest under a temporary name and flushes it.
fn write_new(dir: &Path, name: &str, text: &str) -> Result<(), StoreError> {
    let new = dir.join(name);
    let write = || -> io::Result<()> {
        let mut file = File::create(&new)?;
        file.write_all(text.as_bytes())?;
        // Flushed before it is renamed: otherwise a power cut could leave the final name with
        // only a part of the content.
        let _waiting = kato_probe::thread::waiting(kato_probe::Wait::Disk);
        file.sync_all()
    };
    write().map_err(|source| StoreError::io("write", &new, source))
}

/// Replaces the twin of the newest manifest, atomically.
///
/// It is not flushed: the manifest is, so a power cut that takes the twin takes no commit.
fn replace_twin(dir: &Path, text: &str) -> Result<(), StoreError> {
    let new = dir.join(NEW_TWIN_FILE);
    fs::write(&new, text).map_err(|source| StoreError::io("write", &new, source))?;
    rename(dir, NEW_TWIN_FILE, TWIN_FILE)
}

/// Gives the newest manifest, if there is one, the name of the previous one as well.
///
/// No byte is copied where the file system knows links.
fn link_as_previous(dir: &Path) -> Result<(), StoreError> {
    let (newest, link) = (dir.join(FILE), dir.join(NEW_PREVIOUS_FILE));
    // A crash between two steps leaves it behind.
    match fs::remove_file(&link) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(StoreError::io("remove", &link, error));
        }
        _ => {}
    }
    // A link cannot replace a file and a rename can, so the link gets a name of its own first: the
    // previous manifest is whole at every moment.
    match fs::hard_link(&newest, &link) {
        // The first commit of a knowledge base has none before it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(_) => copy(&newest, &link).map_err(|source| StoreError::io("copy", &newest, source))?,
        Ok(()) => {}
    }
    rename(dir, NEW_PREVIOUS_FILE, PREVIOUS_FILE)
}

/// Copies a file and flushes the copy.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    File::options().write(true).open(to)?.sync_all()
}

/// Renames a file of a directory over another one.
fn rename(dir: &Path, from: &str, to: &str) -> Result<(), StoreError> {
    let to = dir.join(to);
    fs::rename(dir.join(from), &to).map_err(|source| StoreError::io("replace", &to, source))
}

/// Makes creations, renames and removals in a directory durable.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), StoreError> {
    // Windows cannot flush a directory and does not need to.
    if cfg!(unix) {
        let _waiting = kato_probe::thread::waiting(kato_probe::Wait::Disk);
        File::open(dir)
            .and_then(|file| file.sync_all())
            .map_err(|source| StoreError::io("flush", dir, source))?;
    }
    Ok(())
}

/// Returns the CRC-32 of a manifest's body as text.
fn checksum(body: &str) -> String {
    format!("{:08x}", crc32fast::hash(body.as_bytes()))
}
