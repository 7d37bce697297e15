//! A run as it is found.

use std::cmp::Ordering;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::RunManifest;

/// A run as it is found: its manifest with what was found out, and where it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Run {
    /// What the run is. State, levels, backend and results are those found, not those recorded.
    pub manifest: RunManifest,
    /// Where the run is.
    pub location: RunLocation,
    /// Whether it has a manifest of its own; otherwise everything here was found out.
    pub is_recorded: bool,
    /// Bytes on the disk, where it is a knowledge base of its own. Clones share files, which count for each.
    pub disk_bytes: Option<u64>,
    /// Why the run cannot be read, if it cannot; the manifest then holds what is known.
    pub problem: Option<String>,
}

impl Run {
    /// The order of lists.
    pub(crate) fn by_name(&self, other: &Self) -> Ordering {
        let (a, b) = (&self.manifest, &other.manifest);
        a.name.as_str().cmp(b.name.as_str()).then(a.id.cmp(&b.id))
    }

    /// The run by name and id, as errors tell it.
    #[must_use]
    pub fn in_words(&self) -> String {
        format!("{} ({})", self.manifest.name, self.manifest.id)
    }
}

/// Where a run is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunLocation {
    /// A knowledge base in this directory.
    Directory(PathBuf),
    /// On a server; this file keeps its position.
    StateFile(PathBuf),
    /// In the databases of a MongoDB whose names begin so; `run` of a database `run_node_kato`.
    Database(String),
}

impl RunLocation {
    /// The directory or file, if it is one.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Directory(path) | Self::StateFile(path) => Some(path),
            Self::Database(_) => None,
        }
    }
}

impl fmt::Display for RunLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) | Self::StateFile(path) => path.display().fmt(f),
            Self::Database(name) => f.write_str(name),
        }
    }
}
