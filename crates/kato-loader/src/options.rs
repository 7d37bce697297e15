//! The settings that decide which documents a corpus holds, and the policies around them.

use std::num::NonZeroUsize;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::interrupt::Interrupt;
use crate::order::{Order, Shard};
use crate::sample::Sample;
use crate::split::Split;

/// Largest record read by default, in bytes: 64 MiB.
pub const DEFAULT_MAX_RECORD_BYTES: u64 = 64 << 20;

/// Largest window that a decompressor may hold by default, in bytes: 128 MiB.
pub const DEFAULT_MAX_WINDOW_BYTES: u64 = 128 << 20;

/// Most undrained ledger entries of a loader by default.
pub const DEFAULT_LEDGER_CAPACITY: usize = 100_000;

/// Text of a part of a file, in bytes: large against what opening a part costs, small enough that
/// several are held in memory.
pub(crate) const EXTENT_BYTES: u64 = 8 << 20;

/// How the records of a file are laid out.
///
/// Without an explicit choice the file's extension decides, below that of a [`Compression`]:
///
/// | extension | format |
/// |---|---|
/// | `.txt`, `.text`, `.md`, `.markdown`, `.rst`, `.tex`, `.log` | [`Format::Text`] |
/// | `.jsonl`, `.ndjson`, `.jsonlines`, `.json` | [`Format::JsonLines`] |
/// | `.csv` | [`Format::Csv`] |
/// | `.tsv`, `.tab` | [`Format::Tsv`] |
/// | `.parquet`, `.pq` | [`Format::Parquet`], with the feature `parquet` |
///
/// What has another extension or none is known by what a web server calls it, or else by its first
/// bytes, if it is JSON Lines, Parquet or text that looks like nothing else. A file that looks like
/// another format than its name is refused, and so is what is no text. Plain text may look like a
/// table where its first rows, six at least, have the same number of commas, semicolons or vertical
/// bars, two or more, or twenty as many tabs. Twenty rows of two fields also do, with tabs or
/// vertical bars between, or where one of the two is a number or quoted in all but one. It may look
/// like HTML, XML or subtitles, whose tags and times are no words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Format {
    /// Plain text, in UTF-8 or with the byte order mark of UTF-16, cut into documents by
    /// [`TextUnit`].
    Text,
    /// One JSON object per line.
    JsonLines,
    /// Comma-separated values with a header row; quoted fields may hold line breaks.
    Csv,
    /// Tab-separated values with a header row. Fields are not quoted, unless [`Quoting`] says so.
    Tsv,
    /// Apache Parquet with a string column. A build without the feature `parquet` refuses it.
    Parquet,
}

/// How a file is compressed. Parquet compresses its own pages and must not be compressed again.
///
/// Without an explicit choice the extension decides: `.gz`, `.gzip`, `.zst`, `.zstd`, `.bz2`, `.bzip2`,
/// `.xz`,
/// and the first bytes where a name says nothing at all.
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
    /// bzip2, one or several streams.
    Bzip2,
    /// xz, one or several streams.
    Xz,
}

/// Whether fields of a table may be quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Quoting {
    /// As in RFC 4180: a field that begins with `"` ends with the next single one, and may hold
    /// delimiters, line breaks and doubled quotes. The default of [`Format::Csv`].
    Double,
    /// A quote is a character like any other, and a row is a line: as the registered format of
    /// tab-separated values has it. The default of [`Format::Tsv`].
    None,
}

impl Format {
    /// Returns the format that the extension of a name stands for, below that of a compression;
    /// `None` where it stands for none.
    ///
    /// ```
    /// use kato_loader::Format;
    ///
    /// assert_eq!(Format::from_path("poems.csv.gz"), Some(Format::Csv));
    /// assert_eq!(Format::from_path("poems.pdf"), None);
    /// ```
    #[must_use]
    pub fn from_path(path: impl AsRef<Path>) -> Option<Self> {
        let path = path.as_ref();
        let inner = match Compression::from_path(path) {
            None => path,
            Some(_) => Path::new(path.file_stem()?),
        };
        match extension(inner)?.as_str() {
            "txt" | "text" | "md" | "markdown" | "rst" | "tex" | "log" => Some(Self::Text),
            "jsonl" | "ndjson" | "jsonlines" | "json" => Some(Self::JsonLines),
            "csv" => Some(Self::Csv),
            "tsv" | "tab" => Some(Self::Tsv),
            "parquet" | "pq" => Some(Self::Parquet),
            _ => None,
        }
    }

    /// Returns the name in words.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "plain text",
            Self::JsonLines => "JSON Lines",
            Self::Csv => "comma-separated values",
            Self::Tsv => "tab-separated values",
            Self::Parquet => "Parquet",
        }
    }
}

impl Compression {
    /// Returns the compression that an extension stands for; none where it stands for no compression.
    pub(crate) fn from_path(path: &Path) -> Option<Self> {
        match extension(path).as_deref() {
            Some("gz" | "gzip") => Some(Self::Gzip),
            Some("zst" | "zstd") => Some(Self::Zstd),
            Some("bz2" | "bzip2") => Some(Self::Bzip2),
            Some("xz") => Some(Self::Xz),
            _ => None,
        }
    }

    /// Returns the name in words.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "data that is not compressed",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
        }
    }
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
    /// The stream ends with an error that names file, place and reason. The cursor stays in front of
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
    pub(crate) quoting: Option<Quoting>,
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
    /// The largest window of a decoder, in bytes. Not stored: it decides whether a file can be read,
    /// and not what is in it.
    #[serde(skip, default = "max_window_bytes")]
    pub(crate) max_window_bytes: u64,
    /// Whether an input may be without records. Not stored, for the same reason.
    #[serde(skip)]
    pub(crate) allows_empty: bool,
    /// Text of a part of a file, in bytes. Not an option and not stored, since the order depends
    /// on it; only tests set another.
    #[serde(skip, default = "extent_bytes")]
    pub(crate) extent_bytes: u64,
}

/// Returns the size of a part, for options that are read from a file.
fn extent_bytes() -> u64 {
    EXTENT_BYTES
}

/// Returns the window of a decoder, for options that are read from a file.
fn max_window_bytes() -> u64 {
    DEFAULT_MAX_WINDOW_BYTES
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
            quoting: None,
            order: Order::default(),
            shard: None,
            sample: None,
            filter: None,
            skip_records: 0,
            max_window_bytes: DEFAULT_MAX_WINDOW_BYTES,
            allows_empty: false,
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

/// Returns the extension in lower case.
fn extension(path: &Path) -> Option<String> {
    Some(path.extension()?.to_string_lossy().to_ascii_lowercase())
}
