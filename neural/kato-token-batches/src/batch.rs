//! One batch: sequences of different lengths, side by side.

use crate::state::TokenBatchState;

/// Token sequences of different lengths, one behind the other, without padding.
///
/// Shape: `offsets` has one entry more than there are sequences, begins with 0, ends with
/// `tokens.len()` and rises: sequence `i` is `tokens[offsets[i]..offsets[i + 1]]`, never empty.
/// `documents` and `pieces` have one entry a sequence. At least one sequence. Attention over
/// sequences of variable length takes `tokens` and `offsets` as they are (as `cu_seqlens`);
/// [`padded`](Self::padded) gives a rectangle.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TokenBatch {
    /// The tokens of all sequences.
    pub tokens: Vec<u32>,
    /// Where each sequence begins, and where the last one ends.
    pub offsets: Vec<usize>,
    /// Index of the document that each sequence is from.
    pub documents: Vec<u64>,
    /// Which piece of its document each sequence is, from 0; always 0 unless long documents are
    /// split.
    pub pieces: Vec<u64>,
    /// The position behind this batch: where to resume once it and all before it are done.
    pub state: TokenBatchState,
}

/// The sequences of a batch as rows of one length.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PaddedTokens {
    /// Row after row, `rows * columns` tokens.
    pub tokens: Vec<u32>,
    /// Number of sequences.
    pub rows: usize,
    /// Length of the longest sequence.
    pub columns: usize,
}

/// A batch before its place among the others is known.
#[derive(Debug, Default)]
pub(crate) struct Collation {
    pub(crate) tokens: Vec<u32>,
    pub(crate) offsets: Vec<usize>,
    pub(crate) documents: Vec<u64>,
    pub(crate) pieces: Vec<u64>,
}

impl Collation {
    /// Creates an empty batch with room for these numbers of sequences and tokens.
    pub(crate) fn with_capacity(sequences: usize, tokens: usize) -> Self {
        let mut offsets = Vec::with_capacity(sequences + 1);
        offsets.push(0);
        Self {
            tokens: Vec::with_capacity(tokens),
            offsets,
            documents: Vec::with_capacity(sequences),
            pieces: Vec::with_capacity(sequences),
        }
    }

    /// Appends a sequence.
    pub(crate) fn push(&mut self, document: u64, piece: u64, tokens: &[u32]) {
        self.tokens.extend_from_slice(tokens);
        self.offsets.push(self.tokens.len());
        self.documents.push(document);
        self.pieces.push(piece);
    }
}

impl TokenBatch {
    /// Joins a batch with the position behind it.
    pub(crate) fn new(collation: Collation, state: TokenBatchState) -> Self {
        Self {
            tokens: collation.tokens,
            offsets: collation.offsets,
            documents: collation.documents,
            pieces: collation.pieces,
            state,
        }
    }

    /// Returns the number of sequences.
    #[must_use]
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// Returns whether there is no sequence; false for every batch that is delivered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// Returns the sequences in order.
    #[must_use]
    pub fn sequences(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        let ends = self.offsets.windows(2);
        // The fields are public, so offsets that do not fit give an empty sequence instead of a
        // panic.
        ends.map(|ends| self.tokens.get(ends[0]..ends[1]).unwrap_or_default())
    }

    /// Returns the length of the longest sequence, in tokens.
    #[must_use]
    pub fn max_len(&self) -> usize {
        self.sequences().map(<[u32]>::len).max().unwrap_or(0)
    }

    /// Returns the sequences as rows of the longest one's length, filled up at the end with
    /// `pad_id`.
    #[must_use]
    pub fn padded(&self, pad_id: u32) -> PaddedTokens {
        let (rows, columns) = (self.sequences().len(), self.max_len());
        let mut tokens = Vec::with_capacity(rows * columns);
        for (row, sequence) in self.sequences().enumerate() {
            tokens.extend_from_slice(sequence);
            tokens.resize((row + 1) * columns, pad_id);
        }
        PaddedTokens {
            tokens,
            rows,
            columns,
        }
    }

    /// Returns the share of the rectangle of [`padded`](Self::padded) that is padding, 0 ≤ x < 1.
    #[must_use]
    pub fn padding_share(&self) -> f64 {
        let cells = (self.sequences().len() * self.max_len()).max(1);
        1.0 - self.tokens.len().min(cells) as f64 / cells as f64
    }
}
