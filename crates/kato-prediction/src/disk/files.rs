//! The files of an index: their names, and the header that describes them.

use std::path::{Path, PathBuf};

use crate::frozen::{Column, NodeLayout};
use kato_columns::files::{read_sealed, write_sealed};
use kato_store::visit::ContentDigest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::disk::IndexFileError;

/// The version of the format that this crate reads and writes.
pub(crate) const FORMAT_VERSION: u64 = 6;

/// The directory of a knowledge base's indexes, in that of the knowledge base.
const DIR: &str = "index";

/// The header's file in the directory of one index.
pub(crate) const HEADER: &str = "INDEX";

/// The file of all checksums in the directory of one index.
pub(crate) const CHECKSUMS: &str = "CHECKSUMS";

/// What an index consists of.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) format_version: u64,
    /// The digest of what it indexes.
    pub(crate) content: String,
    /// The digest of the index that it adds to; `None` for one of everything.
    pub(crate) lower: Option<String>,
    /// The digests of its own sources, ascending.
    pub(crate) sources: Vec<String>,
    pub(crate) nodes: Vec<NodeHeader>,
    /// CRC-32 of the file of checksums.
    pub(crate) checksums_crc32: u32,
}

/// What the index of one node consists of.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct NodeHeader {
    pub(crate) layout: NodeLayout,
    /// Whether patterns have emotives or affinities, which an index does not hold: such a node is
    /// loaded into memory.
    pub(crate) has_emotives: bool,
    /// Bytes of the columns, in the order of [`Column::ALL`].
    pub(crate) column_bytes: Vec<u64>,
}

/// Returns the directory of a knowledge base's indexes.
pub(crate) fn index_dir(kb: &Path) -> PathBuf {
    kb.join(DIR)
}

/// Returns the directory of the index of some content.
pub(crate) fn content_dir(kb: &Path, content: ContentDigest) -> PathBuf {
    index_dir(kb).join(content.to_string())
}

/// Returns the file of a column.
pub(crate) fn column_path(dir: &Path, node_idx: usize, column: Column) -> PathBuf {
    dir.join(format!("{node_idx}.{}", column.name()))
}

impl Header {
    /// Writes the header and flushes it.
    pub(crate) fn write(&self, dir: &Path) -> Result<(), IndexFileError> {
        let body = serde_json::to_string_pretty(self).expect("the header is plain data");
        write_sealed(dir.join(HEADER), &body).map_err(IndexFileError::of_files)
    }

    /// Returns the digests of its own sources; `None` if one is none.
    pub(crate) fn own_sources(&self) -> Option<Vec<ContentDigest>> {
        let digests = self.sources.iter();
        digests.map(|text| ContentDigest::from_hex(text)).collect()
    }

    /// Returns the number of its own patterns of all nodes.
    pub(crate) fn n_patterns(&self) -> u64 {
        let patterns = self.nodes.iter().map(|node| node.layout.n_patterns);
        patterns.fold(0, u64::saturating_add)
    }

    /// Reads the header of an index; `None` if there is no such index.
    pub(crate) fn read(dir: &Path) -> Result<Option<Self>, IndexFileError> {
        let path = dir.join(HEADER);
        let Some(body) = read_sealed(&path).map_err(IndexFileError::of_files)? else {
            return Ok(None);
        };
        let damaged = |reason: &str| IndexFileError::damaged(&path, reason);
        let value: Value = serde_json::from_str(&body).map_err(|_| damaged("it is not JSON"))?;
        let found = value["format_version"]
            .as_u64()
            .ok_or_else(|| damaged("it has no format version"))?;
        if found != FORMAT_VERSION {
            return Err(IndexFileError::Version {
                path,
                found,
                supported: FORMAT_VERSION,
            });
        }
        serde_json::from_value(value)
            .map(Some)
            .map_err(|error| damaged(&format!("it does not decode: {error}")))
    }
}
