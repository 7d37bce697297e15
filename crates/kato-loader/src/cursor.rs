//! The position in a corpus from which reading can continue.

use serde::{Deserialize, Serialize};

/// How many records of a corpus went where, up to a position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Counts {
    /// Documents yielded, and those passed over because they are on the other side of a split.
    pub documents: u64,
    /// Records skipped because their text is empty or white space.
    pub blank: u64,
    /// Records skipped because their text is not longer than the minimum.
    pub short: u64,
    /// Entries written to the ledger.
    pub bad: u64,
}

/// A position between two documents of a corpus.
///
/// Taken from a loader or a batch, stored with the state of whatever consumed the documents so far, and given to
/// [`resume_from`](crate::StreamingDatasetLoaderBuilder::resume_from), it continues with exactly the next document.
/// Uncompressed text, JSON Lines and CSV continue at a byte offset, Parquet at a row group; compressed files and streams
/// are read again up to the position, without parsing.
///
/// A cursor says nothing about the corpus it was taken from: store the [`CorpusIdentity`](crate::CorpusIdentity) beside it
/// and compare before resuming.
///
/// # Examples
///
/// ```
/// use kato_loader::{StreamingDatasetLoader, TextUnit};
///
/// let open = || {
///     StreamingDatasetLoader::builder()
///         .with_reader("poem.txt", "one\ntwo\nthree\n".as_bytes())
///         .with_text_unit(TextUnit::Line)
/// };
/// let mut first = open().build()?;
/// first.next();
/// let stored = serde_json::to_string(&first.cursor()).unwrap();
///
/// let cursor = serde_json::from_str(&stored).unwrap();
/// let rest = open().resume_from(cursor).build()?;
/// let texts: Vec<_> = rest.map(|d| d.unwrap().text).collect();
/// assert_eq!(texts, ["two", "three"]);
/// # Ok::<(), kato_loader::LoadError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    pub(crate) file_index: u64,
    pub(crate) mark: Mark,
    pub(crate) counts: Counts,
}

impl Cursor {
    /// Index of the file to continue in, from 0; the number of files when the corpus is exhausted.
    #[must_use]
    pub fn file_index(&self) -> u64 {
        self.file_index
    }

    /// Number of records of that file already consumed, those that gave no document included.
    #[must_use]
    pub fn record(&self) -> u64 {
        self.mark.record
    }

    /// Offset of the next byte in the decompressed file; 0 in Parquet, which is addressed by record.
    #[must_use]
    pub fn byte_offset(&self) -> u64 {
        self.mark.byte_offset
    }

    /// Number of documents of the corpus that lie behind, and so the index of the next one.
    #[must_use]
    pub fn documents(&self) -> u64 {
        self.counts.documents
    }

    /// What became of the records up to here.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }
}

/// The position between two records of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Mark {
    /// Records consumed.
    pub(crate) record: u64,
    /// Line breaks consumed, where the format has lines.
    pub(crate) line: u64,
    /// Bytes consumed of the decompressed file, where it is read in sequence.
    pub(crate) byte_offset: u64,
}
