//! The settings that decide which documents a corpus holds, and the policies around them.

use std::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use crate::interrupt::Interrupt;
use crate::order::{Order, Shard};
use crate::sample::Sample;
use crate::split::Split;

/// Largest record read by default, in bytes: 64 MiB.
pub const DEFAULT_MAX_RECORD_BYTES: u64 = 64 << 20;

/// Number of undrained ledger entries at which a loader stops by default.
pub const DEFAULT_LEDGER_CAPACITY: usize = 100_000;

/// Text of a part of a file, in bytes: large against what opening a part costs, small enough that
/// several are held in memory.
pub(crate) const EXTENT_BYTES: u64 = 8 << 20;

/// How the records of a file are laid out.
///
/// Without an explicit choice the file's extension decides, below a `.gz` or `.zst` suffix:
///
/// | extension | format |
/// |---|---|
/// | `.jsonl`, `.ndjson`, `.json` | [`Format::JsonLines`] |
/// | `.csv` | [`Format::Csv`] |
/// | `.tsv`, `.tab` | [`Format::Tsv`] |
/// | `.parquet` | [`Format::Parquet`], with the feature `parquet` |
/// | anything else, and streams without an extension | [`Format::Text`] |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Format {
    /// Plain UTF-8 text, cut into documents by [`TextUnit`].
    Text,
    /// One JSON object per line.
    JsonLines,
    /// Comma-separated values with a header row; quoted fields may hold line breaks.
    Csv,
    /// Tab-separated values with a header row; quoted fields may hold line breaks.
    Tsv,
    /// Apache Parquet with a string column. A build without the feature `parquet` refuses it.
    Parquet,
}

/// How a file is compressed. Parquet compresses its own pages and must not be compressed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Compression {
    /// Bytes as they are.
    None,
    /// gzip, one or several members.
    Gzip,
    /// Zstandard, one or several frames.
    Zstd,
}

/// What one document is in plain text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TextUnit {
    /// The whole file, unchanged but for a byte order mark. The default: nothing is cut by guess. A
    /// file above the record limit is a bad record that asks for one of the other units.
    #[default]
    File,
    /// Every line, without its line break.
    Line,
    /// Every run of lines between blank lines, without its last line break.
    Paragraphs,
}

/// What happens when a record cannot be turned into a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OnBadRecord {
    /// The stream ends with an error that names file, line and reason. The cursor stays in front of
    /// the record, so that the same corpus can be resumed with [`OnBadRecord::Skip`]. The default.
    #[default]
    Fail,
    /// The record becomes an entry of the ledger and the stream goes on.
    Skip,
    /// The record becomes an entry of the ledger, and the stream goes on with the next file; in
    /// shuffled order with the next block.
    SkipFile,
}

/// The options that decide the documents of a given list of files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CorpusOptions {
    pub(crate) format: Option<Format>,
    pub(crate) compression: Option<Compression>,
    pub(crate) text_unit: TextUnit,
    pub(crate) text_field: String,
    pub(crate) id_field: Option<String>,
    pub(crate) min_chars: u64,
    pub(crate) max_record_bytes: u64,
    #[serde(default)]
    pub(crate) order: Order,
    #[serde(default)]
    pub(crate) shard: Option<Shard>,
    #[serde(default)]
    pub(crate) sample: Option<Sample>,
    /// Name of the filter, which itself cannot be stored.
    #[serde(default)]
    pub(crate) filter: Option<String>,
    #[serde(default)]
    pub(crate) skip_records: u64,
    /// Text of a part of a file, in bytes. Not an option and not stored, since the order depends
    /// on it; only tests set another.
    #[serde(skip, default = "extent_bytes")]
    pub(crate) extent_bytes: u64,
}

/// Returns the size of a part, for options that are read from a file.
fn extent_bytes() -> u64 {
    EXTENT_BYTES
}

impl Default for CorpusOptions {
    fn default() -> Self {
        Self {
            format: None,
            compression: None,
            text_unit: TextUnit::default(),
            text_field: "text".to_owned(),
            id_field: None,
            min_chars: 0,
            max_record_bytes: DEFAULT_MAX_RECORD_BYTES,
            order: Order::default(),
            shard: None,
            sample: None,
            filter: None,
            skip_records: 0,
            extent_bytes: EXTENT_BYTES,
        }
    }
}

/// The settings that do not decide what the documents are.
#[derive(Debug)]
pub(crate) struct StreamOptions {
    pub(crate) on_bad_record: OnBadRecord,
    pub(crate) ledger_capacity: usize,
    pub(crate) max_documents: u64,
    pub(crate) max_records: u64,
    pub(crate) split: Option<Split>,
    pub(crate) prefetch: NonZeroUsize,
    pub(crate) interrupt: Interrupt,
}

impl CorpusOptions {
    /// Returns the record limit as a length in memory.
    pub(crate) fn record_limit(&self) -> usize {
        usize::try_from(self.max_record_bytes).unwrap_or(usize::MAX)
    }
}
