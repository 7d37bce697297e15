//! The header of a unit, and the directories of units.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use kato_columns::files::{ColumnList, FileError, read_sealed, sync, write_sealed};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::OccurrencesError;

/// The version of the format that this crate reads and writes.
const FORMAT_VERSION: u64 = 1;

/// The directory of a knowledge base's occurrences, in that of the knowledge base.
const DIR: &str = "occurrences";

/// The header's file in the directory of a unit.
pub(crate) const HEADER: &str = "UNIT";

/// A header that is to take the place of another.
const RENEWED: &str = "UNIT.new";

/// A position among the documents that were learned.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Position {
    /// Documents in front of it.
    pub documents: u64,
    /// Where the caller goes on reading.
    pub cursor: Value,
}

impl Position {
    /// Creates a position.
    #[must_use]
    pub const fn new(documents: u64, cursor: Value) -> Self {
        Self { documents, cursor }
    }
}

/// What a unit holds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) format_version: u64,
    /// What the documents and the rules are, in words of the caller.
    pub(crate) source: String,
    pub(crate) levels: usize,
    /// Whether a single name goes up a level at a document's end.
    pub(crate) promotes: bool,
    pub(crate) from: Position,
    pub(crate) to: Position,
    pub(crate) documents: u64,
    pub(crate) tokens: u64,
    /// Learn calls of each level.
    pub(crate) calls: Vec<u64>,
    pub(crate) columns: Vec<(String, u64)>,
    pub(crate) checksums_crc32: u32,
}

impl Header {
    /// Returns the version that is written.
    pub(crate) const fn version() -> u64 {
        FORMAT_VERSION
    }

    pub(crate) fn list(&self) -> ColumnList {
        ColumnList {
            columns: self.columns.clone(),
            checksums_crc32: self.checksums_crc32,
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.columns.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Returns the length of the text, without its end.
    pub(crate) const fn places(&self) -> u64 {
        self.places_of_documents().saturating_add(1)
    }

    /// Returns the places that its documents take in the text: a token each, and what is behind every document.
    pub(crate) const fn places_of_documents(&self) -> u64 {
        self.tokens.saturating_add(self.documents)
    }

    pub(crate) fn write(&self, dir: &Path) -> Result<(), OccurrencesError> {
        self.write_as(&dir.join(HEADER))
    }

    /// Replaces the header of the unit, which is one or the other whenever the process is killed.
    pub(crate) fn renew(&self, units: &Path) -> Result<(), OccurrencesError> {
        let dir = units.join(self.name());
        let renewed = dir.join(RENEWED);
        match fs::remove_file(&renewed) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(FileError::io("remove", &renewed)(error).into());
            }
            _ => {}
        }
        self.write_as(&renewed)?;
        let path = dir.join(HEADER);
        fs::rename(&renewed, &path).map_err(FileError::io("replace", &path))?;
        Ok(sync(&dir)?)
    }

    fn write_as(&self, path: &Path) -> Result<(), OccurrencesError> {
        let body = serde_json::to_string_pretty(self).expect("the header is plain data");
        Ok(write_sealed(path, &body)?)
    }

    /// Reads the header of a unit; `None` if there is none.
    fn read(dir: &Path) -> Result<Option<Self>, OccurrencesError> {
        let path = dir.join(HEADER);
        let Some(body) = read_sealed(&path)? else {
            return Ok(None);
        };
        let damaged = |reason: &str| FileError::damaged(&path, reason);
        let value: Value = serde_json::from_str(&body).map_err(|_| damaged("it is not JSON"))?;
        let found = value["format_version"].as_u64();
        let found = found.ok_or_else(|| damaged("it has no format version"))?;
        if found != FORMAT_VERSION {
            return Err(OccurrencesError::Version {
                path,
                found,
                supported: FORMAT_VERSION,
            });
        }
        let header = Self::deserialize(value).map_err(|_| damaged("it does not decode"))?;
        // A directory that somebody has renamed would hold other documents.
        let is_here = dir.file_name().and_then(|name| name.to_str()) == Some(&*header.name());
        match is_here && header.calls.len() == header.levels {
            true => Ok(Some(header)),
            false => Err(damaged("it contradicts itself").into()),
        }
    }

    /// Returns the name of the unit's directory.
    pub(crate) fn name(&self) -> String {
        name(&self.from)
    }
}

/// Returns the name of the directory of a unit that begins here.
pub(crate) fn name(from: &Position) -> String {
    format!("{:020}", from.documents)
}

/// Returns the directory of all units of a knowledge base.
pub(crate) fn units_dir(kb: &Path) -> PathBuf {
    kb.join(DIR)
}

/// Reads the headers of the units that follow each other from the first document on, up to the first
/// that is damaged, and why no more follow. What each of them is of may differ.
pub(crate) fn read_chain(dir: &Path) -> (Vec<Header>, Option<OccurrencesError>) {
    let mut chain: Vec<Header> = Vec::new();
    if !fs::exists(dir).unwrap_or(true) {
        return (chain, None);
    }
    let mut from = Position::default();
    loop {
        match Header::read(&dir.join(name(&from))) {
            Ok(None) => return (chain, None),
            Err(error) => return (chain, Some(error)),
            Ok(Some(header)) => {
                if header.to.documents <= from.documents {
                    return (chain, None);
                }
                from = header.to.clone();
                chain.push(header);
            }
        }
    }
}
