//! Second names of the files of all knowledge bases at one moment, so that they stay as they are
//! while they are copied, though the service replaces and removes them.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use kato_store::{EmbeddedStore, StoreError};

use super::entries;
use crate::ServiceError;
use crate::files::remove_dir;
use crate::loss::DataLoss;

/// Name of the directory of second names, in that of the service.
const STAGED: &str = "STAGED";

/// Name of the directory of indexes in a knowledge base: a copy has none.
const INDEX: &str = "index";

/// Name of the directory of segments in a knowledge base.
const SEGMENTS: &str = "segments";

/// Files in the directory of a knowledge base that was never committed.
const OF_NO_COMMIT: [&str; 4] = ["LOCK", "MANIFEST.tmp", "MANIFEST.twin.tmp", SEGMENTS];

/// The second names; they are removed when it is dropped.
#[derive(Debug)]
pub(super) struct Staged {
    pub(super) dir: PathBuf,
    /// Names of the directories that have some.
    pub(super) names: BTreeSet<PathBuf>,
    /// Bytes of all files.
    pub(super) bytes: u64,
    pub(super) losses: Vec<DataLoss>,
    pub(super) foreign: Vec<String>,
}

impl Staged {
    /// Creates the directory of second names in that of a service, empty.
    pub(super) fn new(service_dir: &Path) -> Result<Self, ServiceError> {
        Self::remove(service_dir)?;
        let dir = service_dir.join(STAGED);
        fs::create_dir(&dir).map_err(ServiceError::io("create", &dir))?;
        Ok(Self {
            dir,
            names: BTreeSet::new(),
            bytes: 0,
            losses: Vec::new(),
            foreign: Vec::new(),
        })
    }

    /// Removes the directory of second names, with those that a copy left that was broken off.
    pub(super) fn remove(service_dir: &Path) -> Result<(), ServiceError> {
        remove_dir(&service_dir.join(STAGED))
    }

    /// Gives the files of all knowledge bases second names. One that is damaged gets second names
    /// for all its files, so that as much of it can be saved from the copy as from the original.
    pub(super) fn link_all(
        &mut self,
        nodes: &Path,
        node_id: &dyn Fn(&Path) -> String,
    ) -> Result<(), ServiceError> {
        let mut all = entries(nodes)?;
        all.sort();
        for from in all {
            let name = from.file_name().unwrap_or_default();
            let lost = |file: &Path, reason: String| DataLoss::NotCopied {
                node_id: node_id(&from),
                path: Path::new(name).join(file),
                reason,
            };
            let files = match EmbeddedStore::files_of(&from) {
                _ if !from.is_dir() => None,
                Ok(Some(files)) => Some(files),
                Ok(None) => match is_never_committed(&from) {
                    true => continue,
                    false => None,
                },
                Err(error) => {
                    self.losses
                        .push(lost(Path::new("MANIFEST"), reason_of(&error)));
                    Some(all_files(&from))
                }
            };
            let Some(files) = files else {
                self.foreign.push(name.to_string_lossy().into_owned());
                continue;
            };
            self.names.insert(name.into());
            // Also where it holds nothing, as behind a clearing: a store is not opened without it.
            let segments = self.dir.join(name).join(SEGMENTS);
            fs::create_dir_all(&segments).map_err(ServiceError::io("create", &segments))?;
            for file in files {
                match link(&from.join(&file), &self.dir.join(name).join(&file))? {
                    Ok(bytes) => self.bytes += bytes,
                    Err(error) => self.losses.push(lost(&file, error.to_string())),
                }
            }
        }
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // Best effort: the next copy or opening removes it.
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Gives a file a second name and returns its bytes, or why it cannot be read.
fn link(from: &Path, to: &Path) -> Result<io::Result<u64>, ServiceError> {
    // Opened, so that a file that nobody may read is found here.
    let bytes = match File::open(from).and_then(|file| file.metadata()) {
        Ok(metadata) => metadata.len(),
        Err(error) => return Ok(Err(error)),
    };
    let parent = to.parent().unwrap_or(to);
    fs::create_dir_all(parent).map_err(ServiceError::io("create", parent))?;
    // Where the file system has no links the file is copied while everything waits.
    if fs::hard_link(from, to).is_err() {
        fs::copy(from, to).map_err(ServiceError::io("copy", from))?;
    }
    Ok(Ok(bytes))
}

/// Returns why a manifest cannot be read, without its path.
fn reason_of(error: &StoreError) -> String {
    match error {
        StoreError::Corrupt { reason, .. } => reason.clone(),
        StoreError::Io { source, .. } => source.to_string(),
        error => error.to_string(),
    }
}

/// Returns the files in the directory of a knowledge base, as far as they can be listed, those of
/// indexes left out; relative to it.
fn all_files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(below) = waiting.pop() {
        for path in entries(&dir.join(&below)).unwrap_or_default() {
            let relative = below.join(path.file_name().unwrap_or_default());
            match path.is_dir() {
                true if relative == Path::new(INDEX) => {}
                true => waiting.push(relative),
                false => found.push(relative),
            }
        }
    }
    found.sort();
    found
}

/// Returns whether a directory is empty but for what is left of a creation that was broken off.
fn is_never_committed(dir: &Path) -> bool {
    let mut names = entries(dir).unwrap_or_default().into_iter();
    names.all(|path| OF_NO_COMMIT.iter().any(|name| path.ends_with(name)))
}
