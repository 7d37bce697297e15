//! Positions in a corpus, from which reading can continue.

use serde::{Deserialize, Serialize};

use crate::permutation::{hash, mix};

/// Numbers of records of a corpus up to a position, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RecordCounts {
    /// Records met, whatever became of them. Damage that took several with it counts them all,
    /// where their number is known.
    pub records: u64,
    /// Documents yielded, and those passed over because they are on the other side of a split.
    pub documents: u64,
    /// Records passed over at the beginning, as asked for.
    pub passed_over: u64,
    /// Records that are not in the sample.
    pub not_sampled: u64,
    /// Records skipped because their text is empty or white space.
    pub blank: u64,
    /// Records skipped because their text is not longer than the minimum.
    pub short: u64,
    /// Records that a filter left out.
    pub filtered: u64,
    /// Entries written to the ledger.
    pub bad: u64,
}

impl RecordCounts {
    /// Adds the counts of another part of the corpus, such as another
    /// [`Shard`](crate::Shard).
    pub fn merge(&mut self, other: &Self) {
        let Self {
            records,
            documents,
            passed_over,
            not_sampled,
            blank,
            short,
            filtered,
            bad,
        } = other;
        self.records += records;
        self.documents += documents;
        self.passed_over += passed_over;
        self.not_sampled += not_sampled;
        self.blank += blank;
        self.short += short;
        self.filtered += filtered;
        self.bad += bad;
    }

    /// Returns the counts without those of a part; `None` if that has more of something.
    #[must_use]
    pub fn checked_sub(&self, part: &Self) -> Option<Self> {
        Some(Self {
            records: self.records.checked_sub(part.records)?,
            documents: self.documents.checked_sub(part.documents)?,
            passed_over: self.passed_over.checked_sub(part.passed_over)?,
            not_sampled: self.not_sampled.checked_sub(part.not_sampled)?,
            blank: self.blank.checked_sub(part.blank)?,
            short: self.short.checked_sub(part.short)?,
            filtered: self.filtered.checked_sub(part.filtered)?,
            bad: self.bad.checked_sub(part.bad)?,
        })
    }
}

/// A position between two documents of a corpus.
///
/// Taken from a loader or a batch, stored with the state of whatever consumed the documents so far,
/// and given to [`with_cursor`](crate::StreamingDatasetLoaderBuilder::with_cursor), it continues
/// with exactly the next document. It is a few integers (a few more for each further dataset of a
/// mixture), whatever the size of the corpus.
///
/// In sequential order, uncompressed text, JSON Lines and CSV continue at a byte offset, Parquet at
/// a row; compressed files, UTF-16 and streams are read again up to the position, without parsing. In
/// shuffled order the window around the position is read again.
///
/// A cursor says nothing about the corpus it was taken from: store the
/// [`CorpusIdentity`](crate::CorpusIdentity) beside it and compare before resuming, or store the
/// [`LoaderState`](crate::LoaderState), which holds both in short.
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
/// let rest = open().with_cursor(cursor).build()?;
/// let texts: Vec<_> = rest.map(|d| d.unwrap().text).collect();
/// assert_eq!(texts, ["two", "three"]);
/// # Ok::<(), kato_loader::LoadError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// Position in the corpus, or in the first dataset of a mixture.
    #[serde(flatten)]
    pub(crate) position: Position,
    /// Positions in the other datasets of a mixture.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) others: Vec<Position>,
    pub(crate) counts: RecordCounts,
}

impl Cursor {
    /// Returns the number of documents in front of the position, which is the index of the next
    /// one.
    #[must_use]
    pub fn documents(&self) -> u64 {
        self.counts.documents
    }

    /// Returns what became of the records in front of the position.
    #[must_use]
    pub fn counts(&self) -> RecordCounts {
        self.counts
    }

    /// Sets what became of the records in front of the position, where others have read them: the
    /// shards of a corpus, for the position at its end.
    #[must_use]
    pub fn with_counts(mut self, counts: RecordCounts) -> Self {
        self.counts = counts;
        self
    }
}

/// The position in one dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Position {
    /// In sequential order.
    InFile {
        /// Index of the file; the number of files at the end.
        file_index: u64,
        mark: Mark,
    },
    /// In shuffled order.
    InWindow {
        /// Number of the window; the number of windows at the end.
        window: u64,
        /// Rank of the record last accepted of the window; none at its beginning.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<u64>,
    },
}

impl Default for Position {
    fn default() -> Self {
        Self::InFile {
            file_index: 0,
            mark: Mark::default(),
        }
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

/// What is the same of a record in every order: its file, and its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordKey {
    file: u64,
    place: u64,
}

impl RecordKey {
    /// Creates the key of the record that ends at `mark`.
    pub(crate) fn new(file: usize, mark: Mark) -> Self {
        // Rows of Parquet have numbers and no offsets; lines that are not read from the top of the
        // file have offsets and no numbers. No record ends at offset 0, so 0 means that there is
        // none.
        let place = match mark.byte_offset {
            0 => mark.record,
            offset => offset,
        };
        Self {
            file: file as u64,
            place,
        }
    }

    /// Returns a hash of the key that depends on a seed: samples and splits are chosen by it.
    pub(crate) fn hash(self, seed: u64) -> u64 {
        hash([seed, self.file, self.place])
    }

    /// Returns the record's place among those of its file when a key puts them into a random order.
    ///
    /// Records of one file have different ranks, because [`mix`] is a bijection.
    pub(crate) fn rank(self, key: u64) -> u64 {
        mix(key ^ self.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(numbers: [u64; 8]) -> RecordCounts {
        let [
            records,
            documents,
            passed_over,
            not_sampled,
            blank,
            short,
            filtered,
            bad,
        ] = numbers;
        RecordCounts {
            records,
            documents,
            passed_over,
            not_sampled,
            blank,
            short,
            filtered,
            bad,
        }
    }

    #[test]
    fn every_count_is_added_and_taken_away_by_itself() {
        let own: [u64; 8] = std::array::from_fn(|field| 1 << field);
        let part = own.map(|n| 1_000 + 3 * n);
        let all: [u64; 8] = std::array::from_fn(|field| own[field] + part[field]);
        let mut sum = counts(own);
        sum.merge(&counts(part));
        assert_eq!(sum, counts(all));
        assert_eq!(sum.checked_sub(&counts(part)), Some(counts(own)));
        for field in 0..all.len() {
            let mut more = all;
            more[field] += 1;
            assert_eq!(sum.checked_sub(&counts(more)), None);
        }
    }
}
