//! A run as it is found.

use std::cmp::Ordering;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::RunManifest;

/// A run as it is found: its manifest, brought up to date, and its place.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Run {
    /// The description of the run. State, levels, backend and results are those found, not those
    /// recorded.
    pub manifest: RunManifest,
    /// The place of the run.
    pub location: RunLocation,
    /// Whether it has a manifest of its own; otherwise everything here was found out.
    pub is_recorded: bool,
    /// Bytes on the disk, where it is a knowledge base of its own. Clones share files, which count
    /// for each.
    pub disk_bytes: Option<u64>,
    /// The reason why the run cannot be read, if it cannot; the manifest then holds what is known.
    pub problem: Option<String>,
}

impl Run {
    /// Compares runs in the order of lists: by name, then by id.
    pub(crate) fn by_name(&self, other: &Self) -> Ordering {
        let (a, b) = (&self.manifest, &other.manifest);
        a.name.as_str().cmp(b.name.as_str()).then(a.id.cmp(&b.id))
    }

    /// Returns the run's name and id as errors show them.
    #[must_use]
    pub fn in_words(&self) -> String {
        format!("{} ({})", self.manifest.name, self.manifest.id)
    }
}

/// The place of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunLocation {
    /// A knowledge base in this directory.
    Directory(PathBuf),
    /// On a server, with its position in this file.
    StateFile(PathBuf),
    /// In the databases of a MongoDB whose names begin so; `run` of a database `run_node_kato`.
    Database(String),
}

impl RunLocation {
    /// Returns the directory or file, if it is one.
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
