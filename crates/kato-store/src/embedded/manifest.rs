//! The manifest: the one file that says what a knowledge base consists of. Replacing it *is* a commit.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use kato_model::AttributeLimits;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::segment::NodeTotals;
use crate::StoreError;

/// Version of the files of a knowledge base.
pub(crate) const FORMAT_VERSION: u64 = 1;

const FILE: &str = "MANIFEST";
pub(super) const NEW_FILE: &str = "MANIFEST.tmp";

/// What a knowledge base consists of, and how far training got.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) format_version: u64,
    pub(crate) nodes: Vec<String>,
    /// What the creator says of the run; never changed.
    pub(crate) configuration: Value,
    pub(crate) attribute_limits: AttributeLimits,
    /// Training position and counters that belong to exactly these segments.
    pub(crate) checkpoint: Value,
    /// Commits so far.
    pub(crate) n_commits: u64,
    /// Number of the next segment file.
    pub(crate) next_segment: u64,
    pub(crate) segments: Vec<SegmentEntry>,
}

/// One segment of the knowledge base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SegmentEntry {
    pub(crate) file: String,
    pub(crate) bytes: u64,
    pub(crate) nodes: Vec<NodeTotals>,
}

impl Manifest {
    pub(crate) fn path(dir: &Path) -> PathBuf {
        dir.join(FILE)
    }

    /// Reads the manifest of a directory.
    pub(crate) fn read(dir: &Path) -> Result<Self, StoreError> {
        let path = Self::path(dir);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(StoreError::Missing {
                    path: dir.to_owned(),
                });
            }
            read => read.map_err(|source| StoreError::io("read", &path, source))?,
        };
        let corrupt = |reason: &str| StoreError::corrupt(&path, reason);
        let text = str::from_utf8(&bytes).map_err(|_| corrupt("it is not text"))?;
        let (body, trailer) = text
            .trim_end()
            .rsplit_once('\n')
            .ok_or_else(|| corrupt("it has no checksum"))?;
        let expected = trailer
            .strip_prefix("crc32 ")
            .ok_or_else(|| corrupt("it has no checksum"))?;
        if expected != checksum(body) {
            return Err(corrupt("its checksum does not match"));
        }
        let value: Value = serde_json::from_str(body).map_err(|_| corrupt("it is not JSON"))?;
        let found = value["format_version"]
            .as_u64()
            .ok_or_else(|| corrupt("it has no format version"))?;
        if found != FORMAT_VERSION {
            return Err(StoreError::Version {
                path,
                found,
                supported: FORMAT_VERSION,
            });
        }
        serde_json::from_value(value)
            .map_err(|error| corrupt(&format!("it does not decode: {error}")))
    }

    /// Replaces the manifest of a directory, atomically and durably.
    pub(crate) fn write(&self, dir: &Path) -> Result<(), StoreError> {
        let body = serde_json::to_string_pretty(self).expect("the manifest is plain data");
        let text = format!("{body}\ncrc32 {}\n", checksum(&body));
        let new = dir.join(NEW_FILE);
        let write = || -> std::io::Result<()> {
            let mut file = File::create(&new)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()
        };
        write().map_err(|source| StoreError::io("write", &new, source))?;
        let path = Self::path(dir);
        fs::rename(&new, &path).map_err(|source| StoreError::io("replace", &path, source))?;
        sync_dir(dir)
    }
}

/// Makes creations, renames and removals in a directory durable.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), StoreError> {
    // Windows cannot flush a directory and does not need to.
    if cfg!(unix) {
        File::open(dir)
            .and_then(|file| file.sync_all())
            .map_err(|source| StoreError::io("flush", dir, source))?;
    }
    Ok(())
}

fn checksum(body: &str) -> String {
    format!("{:08x}", crc32fast::hash(body.as_bytes()))
}
