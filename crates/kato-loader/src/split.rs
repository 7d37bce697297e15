//! Two sides of a corpus: documents to learn from, and documents held out to judge what was learned.

use serde::{Deserialize, Serialize};

use crate::error::LoadError;

/// One side of a corpus that is split into documents to train on and documents that are held out.
///
/// The side of a document is a pure function of the seed and its index: the first 8 bytes of the BLAKE3 of both, as a share
/// of 2⁶⁴, lie below the held-out share or not. So the two sides are exact complements, and neither batch sizes nor workers
/// nor an interruption move a document from one to the other. With one seed, a larger share holds out all documents of a
/// smaller one. The function never changes: knowledge bases depend on it.
///
/// Documents are independent of each other here. Where neighbours are not, as with `TextUnit::Line` or
/// `TextUnit::Paragraphs` of one book, a held-out document has relatives on the training side: split whole books then.
///
/// ```
/// use kato_loader::Split;
///
/// let training = Split::training(0.1, 7);
/// let held_out = Split::held_out(0.1, 7);
/// assert!((0..1000).all(|index| training.contains(index) != held_out.contains(index)));
/// assert_eq!(training.complement(), held_out);
/// assert_eq!((0..1000).filter(|&index| held_out.contains(index)).count(), 87);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Split {
    side: Side,
    share: f64,
    seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Side {
    Training,
    HeldOut,
}

impl Split {
    /// The documents to train on, when `share` of all documents is held out.
    ///
    /// `share` lies strictly between 0 and 1; a loader refuses others.
    #[must_use]
    pub fn training(share: f64, seed: u64) -> Self {
        let side = Side::Training;
        Self { side, share, seed }
    }

    /// The documents that are held out: `share` of all documents, strictly between 0 and 1.
    #[must_use]
    pub fn held_out(share: f64, seed: u64) -> Self {
        let side = Side::HeldOut;
        Self { side, share, seed }
    }

    /// The other side of the same split.
    #[must_use]
    pub fn complement(self) -> Self {
        let side = match self.side {
            Side::Training => Side::HeldOut,
            Side::HeldOut => Side::Training,
        };
        Self { side, ..self }
    }

    /// Whether a document, by its index in the corpus, is on this side.
    #[must_use]
    pub fn contains(&self, index: u64) -> bool {
        let is_held_out = hash(self.seed, index) < self.threshold();
        is_held_out == self.is_held_out()
    }

    /// Whether this is the held-out side.
    #[must_use]
    pub fn is_held_out(&self) -> bool {
        self.side == Side::HeldOut
    }

    /// The share of documents that is held out.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.share
    }

    /// What decides which documents these are.
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

    /// The share of all hashes; `as` keeps what is out of range at the ends.
    fn threshold(&self) -> u64 {
        (self.share * 2f64.powi(64)) as u64
    }
}

fn hash(seed: u64, index: u64) -> u64 {
    let mut input = [0; 16];
    input[..8].copy_from_slice(&seed.to_le_bytes());
    input[8..].copy_from_slice(&index.to_le_bytes());
    let hash = blake3::hash(&input);
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_le_bytes(first)
}
