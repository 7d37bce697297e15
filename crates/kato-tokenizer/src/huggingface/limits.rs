//! What a definition and a text may cost: a budget for each, so that no file asks for absurd memory or time.

use thiserror::Error;

/// Most bytes of a file.
pub(super) const MAX_FILE_BYTES: usize = 1 << 26;
/// Most values of a file, keys included; the largest published definitions have some two million.
pub(super) const MAX_VALUES: usize = 1 << 22;
/// Most tokens.
pub(super) const MAX_TOKENS: usize = 1 << 21;
/// Ids are below this, or below [`IDS_PER_TOKEN`] times the number of tokens if that is more: tables are as long as
/// the highest id.
pub(super) const MIN_ID_BOUND: u64 = 1 << 20;
/// See [`MIN_ID_BOUND`].
pub(super) const IDS_PER_TOKEN: u64 = 8;
/// Most bytes of a token.
pub(super) const MAX_TOKEN_BYTES: usize = u16::MAX as usize;
/// Most bytes of all tokens of a model that looks for the beginnings of words in a tree: Unigram and WordPiece.
pub(super) const MAX_TREE_BYTES: usize = 1 << 23;
/// Most added tokens, and most bytes of all of them.
pub(super) const MAX_ADDED: usize = 1 << 16;
pub(super) const MAX_ADDED_BYTES: usize = 1 << 21;
/// Most normalizers, pre-tokenizers or decoders, and most sequences inside each other.
pub(super) const MAX_STEPS: usize = 64;
pub(super) const MAX_NESTING: usize = 16;
/// Most bytes of what is put before, behind or in the place of a part of a text.
pub(super) const MAX_AFFIX_BYTES: usize = 1 << 12;
/// Most bytes of the map of a `Precompiled` normalizer.
pub(super) const MAX_CHARSMAP_BYTES: usize = 1 << 23;

/// Normalizing makes a text at most so many times as long; the longest that Unicode's own forms do is 11 times.
const GROWTH: usize = 16;
/// Beyond that a short text may grow by so many bytes.
const SMALL_GROWTH: usize = 1 << 16;

/// Steps of regular expressions and of looking for words, beyond those of each byte.
const STEPS: u64 = 1 << 25;
/// Steps for each byte; real definitions take less than a tenth.
const STEPS_PER_BYTE: u64 = 256;

/// The error of a text that costs more than its budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(super) enum Overrun {
    #[error(
        "its normalizers make the text more than {GROWTH} times as long: leave out those that put text into it"
    )]
    Growth,
    #[error(
        "its regular expressions and words take more than {STEPS_PER_BYTE} steps a byte of the text: simplify the \
         expressions of the definition, or cut the text"
    )]
    Steps,
    #[error("one of its regular expressions keeps more than {0} places to go back to: simplify it")]
    Places(usize),
}

/// What is left of the budget of a text.
#[derive(Debug)]
pub(super) struct Work {
    steps: u64,
    /// Most bytes of the text once normalized.
    pub(super) max_len: usize,
}

impl Work {
    /// Returns the budget of a text of so many bytes.
    pub(super) fn of(bytes: usize) -> Self {
        Self {
            steps: STEPS.saturating_add(STEPS_PER_BYTE.saturating_mul(bytes as u64)),
            // Places in a text are numbers of 32 bits.
            max_len: bytes
                .saturating_mul(GROWTH)
                .saturating_add(SMALL_GROWTH)
                .min(u32::MAX as usize),
        }
    }

    /// Takes steps.
    #[inline]
    pub(super) fn take(&mut self, steps: u64) -> Result<(), Overrun> {
        self.steps = self.steps.checked_sub(steps).ok_or(Overrun::Steps)?;
        Ok(())
    }

    /// Checks that a text of so many bytes is still within the budget.
    pub(super) fn check_len(&self, len: usize) -> Result<(), Overrun> {
        if len > self.max_len {
            return Err(Overrun::Growth);
        }
        Ok(())
    }
}
