//! Two sides of a corpus: documents to learn from, and documents held out to judge what was
//! learned.

use serde::{Deserialize, Serialize};

use crate::cursor::RecordKey;
use crate::error::LoadError;
use crate::permutation::hash;

/// One side of a corpus that is split into documents to train on and documents that are held out.
///
/// The side of a document is a pure function of the seed and of where its record lies (file, and
/// row or byte): the first 8 bytes of the BLAKE3 of them, as a share of 2⁶⁴, lie below the held-out
/// share or not. So the two sides are exact complements, and neither the order of reading nor
/// filters, shards, batch sizes, workers or an interruption move a document from one to the other.
/// With one seed, a larger share holds out all documents of a smaller one. The function never
/// changes: knowledge bases depend on it.
///
/// Documents are independent of each other here. Where neighbours are not, as with `TextUnit::Line`
/// or `TextUnit::Paragraphs` of one book, a held-out document has relatives on the training side:
/// split whole books then.
///
/// ```
/// use kato_loader::{Split, StreamingDatasetLoader, TextUnit};
///
/// let lines: String = (0..1000).map(|line| format!("line {line}\n")).collect();
/// let count = |split| -> Result<usize, kato_loader::LoadError> {
///     let builder = StreamingDatasetLoader::builder().with_reader("lines.txt", std::io::Cursor::new(lines.clone()));
///     Ok(builder.with_text_unit(TextUnit::Line).with_split(split).build()?.count())
/// };
/// let training = Split::training(0.1, 7);
/// assert_eq!(training.complement(), Split::held_out(0.1, 7));
/// assert_eq!(count(training)? + count(training.complement())?, 1000);
/// # Ok::<(), kato_loader::LoadError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Split {
    side: Side,
    share: f64,
    seed: u64,
    by: SplitKey,
}

/// What decides the side. The only value is stored so that splits of builds which went by a
/// document's index are refused instead of taken for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SplitKey {
    Record,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Side {
    Training,
    HeldOut,
}

impl Split {
    /// Creates the side to train on, when `share` of all documents is held out.
    ///
    /// `share` lies strictly between 0 and 1; a loader refuses others.
    #[must_use]
    pub fn training(share: f64, seed: u64) -> Self {
        Self::new(Side::Training, share, seed)
    }

    /// Creates the side that is held out: `share` of all documents, strictly between 0 and 1.
    #[must_use]
    pub fn held_out(share: f64, seed: u64) -> Self {
        Self::new(Side::HeldOut, share, seed)
    }

    fn new(side: Side, share: f64, seed: u64) -> Self {
        let by = SplitKey::Record;
        Self {
            side,
            share,
            seed,
            by,
        }
    }

    /// Returns the other side of the same split.
    #[must_use]
    pub fn complement(self) -> Self {
        let side = match self.side {
            Side::Training => Side::HeldOut,
            Side::HeldOut => Side::Training,
        };
        Self { side, ..self }
    }

    /// Returns whether the item with this number is on this side, for callers that split other
    /// things than documents in the same way.
    #[must_use]
    pub fn contains(&self, number: u64) -> bool {
        self.contains_hash(hash([self.seed, number]))
    }

    /// Returns whether the document of a record is on this side.
    pub(crate) fn contains_record(&self, key: RecordKey) -> bool {
        self.contains_hash(key.hash(self.seed))
    }

    /// Returns whether a hash is on this side.
    fn contains_hash(&self, hash: u64) -> bool {
        (hash < self.threshold()) == self.is_held_out()
    }

    /// Returns whether this is the held-out side.
    #[must_use]
    pub fn is_held_out(&self) -> bool {
        self.side == Side::HeldOut
    }

    /// Returns the share of documents that is held out.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.share
    }

    /// Returns the seed that decides which documents are held out.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Refuses shares with an empty side, also those read from a file.
    pub(crate) fn check(&self) -> Result<(), LoadError> {
        if self.share > 0.0 && self.share < 1.0 {
            return Ok(());
        }
        Err(LoadError::InvalidOption {
            option: "with_split",
            reason: "the held-out share must be more than 0 and less than 1",
        })
    }

    /// Returns the hash below which documents are held out; `as` keeps what is out of range at the
    /// ends.
    fn threshold(&self) -> u64 {
        // Multiplying by a power of two is exact, so the threshold is the same on every platform.
        (self.share * 2f64.powi(64)) as u64
    }
}
