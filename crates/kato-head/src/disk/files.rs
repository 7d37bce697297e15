//! The files of counts: their names, and the header that describes them.

use std::path::{Path, PathBuf};

use kato_columns::files::{ColumnList, read_sealed, write_sealed};
use kato_store::visit::{ContentDigest, StoredContent};
use kato_store::{EmbeddedStore, StoreError, Tombstones};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::CountsError;
use crate::Counted;
use crate::trie::Spectrum;

/// The version of the format of counts that add to none. Those of earlier ones are written anew.
pub(super) const FORMAT_VERSION: u64 = 5;

/// The version of the format of counts that add to others.
pub(super) const LATER_VERSION: u64 = 2;

/// The directory of a knowledge base's counts, in that of the knowledge base.
const DIR: &str = "head";

/// The header's file in the directory of one set of counts.
pub(super) const HEADER: &str = "HEAD";

/// What a set of counts consists of.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) format_version: u64,
    /// The digest of what was counted.
    pub(super) content: String,
    /// The digests of the sources of that, ascending; without those of the counts to which these add.
    pub(super) sources: Vec<String>,
    /// The digest that names the counts to which these add, if they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lower: Option<String>,
    /// Symbols of the longest n-grams.
    pub(super) order: usize,
    /// Levels that were counted: all of the knowledge base.
    pub(super) levels: usize,
    /// Bytes of a symbol's number, 2 or 4.
    pub(super) symbol_bytes: u8,
    /// Whether what further sources hold can be counted on top: no name stands for patterns of several
    /// levels, and none is missing.
    pub(super) can_grow: bool,
    pub(super) counted: Counted,
    /// Names that patterns refer to and no level below them holds, with the highest level of those patterns.
    pub(super) missing: Vec<(String, usize)>,
    /// By length of the n-grams, how many there are.
    pub(super) ngrams: Vec<u64>,
    /// By length, how many have the counts 1, 2, 3 and 4.
    pub(super) counts: Vec<Spectrum>,
    /// The same of the numbers of symbols to the left.
    pub(super) continuations: Vec<Spectrum>,
    /// All columns, in the order of their checksums, and the bytes of each.
    pub(super) columns: Vec<(String, u64)>,
    /// CRC-32 of the file of checksums.
    pub(super) checksums_crc32: u32,
}

/// Returns the digests of what a head of a store counts: all but what is retired.
pub(super) fn content_of(store: &EmbeddedStore) -> Result<StoredContent, StoreError> {
    let mut content = store.content();
    content.digest = content.digest.without(&Tombstones::of_store(store)?);
    Ok(content)
}

/// Returns the directory of a knowledge base's counts.
pub(super) fn counts_dir(kb: &Path) -> PathBuf {
    kb.join(DIR)
}

/// Returns the directory of the counts of some content.
pub(super) fn content_dir(kb: &Path, content: ContentDigest) -> PathBuf {
    counts_dir(kb).join(content.to_string())
}

/// Returns whether counts of a version are not read any more.
const fn is_outdated(version: u64) -> bool {
    version < FORMAT_VERSION && version != LATER_VERSION
}

impl Header {
    /// Writes the header and flushes it.
    pub(super) fn write(&self, dir: &Path) -> Result<(), CountsError> {
        let body = serde_json::to_string_pretty(self).expect("the header is plain data");
        Ok(write_sealed(dir.join(HEADER), &body)?)
    }

    /// Reads the header of counts; `None` if there are none, or none that are read any more.
    pub(super) fn read(dir: &Path) -> Result<Option<Self>, CountsError> {
        let path = dir.join(HEADER);
        let Some(body) = read_sealed(&path)? else {
            return Ok(None);
        };
        let damaged = |reason: String| CountsError::damaged(&path, reason);
        let value: Value =
            serde_json::from_str(&body).map_err(|_| damaged("it is not JSON".to_owned()))?;
        let found = value["format_version"]
            .as_u64()
            .ok_or_else(|| damaged("it has no format version".to_owned()))?;
        if found > FORMAT_VERSION {
            return Err(CountsError::Version {
                path,
                found,
                supported: FORMAT_VERSION,
            });
        }
        if is_outdated(found) {
            return Ok(None);
        }
        let header: Self = serde_json::from_value(value)
            .map_err(|error| damaged(format!("it does not decode: {error}")))?;
        let is_whole = header.lower.is_some() == (found == LATER_VERSION)
            && (1..=crate::options::MAX_ORDER).contains(&header.order)
            && [
                header.ngrams.len(),
                header.counts.len(),
                header.continuations.len(),
            ] == [header.order; 3];
        match is_whole {
            true => Ok(Some(header)),
            false => Err(damaged("it contradicts itself".to_owned())),
        }
    }

    /// Returns the digests of the sources that were counted here; `None` if one is none.
    pub(super) fn own_sources(&self) -> Option<Vec<ContentDigest>> {
        let digests = self.sources.iter();
        digests.map(|text| ContentDigest::from_hex(text)).collect()
    }

    /// Returns the list of all columns.
    pub(super) fn list(&self) -> ColumnList {
        ColumnList {
            columns: self.columns.clone(),
            checksums_crc32: self.checksums_crc32,
        }
    }

    /// Returns the number of n-grams of all lengths.
    pub(super) fn n_ngrams(&self) -> u64 {
        self.ngrams.iter().fold(0, |sum, n| sum.saturating_add(*n))
    }
}
