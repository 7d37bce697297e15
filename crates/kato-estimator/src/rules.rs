//! The rules by which a hierarchy cuts documents into learn calls.

use serde::{Deserialize, Serialize};

use crate::EstimateError;

/// Largest number of levels of a hierarchy.
pub const MAX_LEVELS: usize = 20;

/// The rule for the short end of a paragraph that is cut into chunks of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "rule", rename_all = "snake_case")]
pub enum ChunkRule {
    /// A remainder of fewer than `min_chunk` tokens is glued to the chunk before it; a paragraph
    /// that short is dropped.
    Original {
        /// Fewest tokens that a remainder needs to be a chunk of its own.
        min_chunk: usize,
    },
    /// As [`Original`](Self::Original), with the minimum never above the chunk size.
    Bounded {
        /// Fewest tokens that a remainder needs to be a chunk of its own, unless the chunk size is
        /// smaller.
        min_chunk: usize,
    },
    /// Chunks of the chunk size; the last may be short. A chunk of one token teaches nothing.
    Plain,
}

impl Default for ChunkRule {
    fn default() -> Self {
        Self::Original { min_chunk: 3 }
    }
}

impl ChunkRule {
    /// Returns the fewest tokens of a remainder that is a chunk of its own.
    fn min_chunk(self, chunk_size: usize) -> usize {
        match self {
            Self::Original { min_chunk } => min_chunk,
            Self::Bounded { min_chunk } => min_chunk.min(chunk_size),
            Self::Plain => 1,
        }
    }
}

/// The rule for a name that is alone in its level's buffer when a document ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TailPolicy {
    /// It is dropped: a document is one call of the learner, as in streaming training.
    #[default]
    Drop,
    /// It is passed up and becomes a symbol of the level above.
    Promote,
}

/// The levels of a hierarchy and their rules: everything that decides which learn calls a document
/// makes.
///
/// ```
/// use kato_estimator::Hierarchy;
///
/// let hierarchy = Hierarchy::new([5, 7, 9])?;
/// assert_eq!(hierarchy.chunk_sizes(), [5, 7, 9]);
/// assert!(Hierarchy::new([5, 1]).is_err());
/// # Ok::<(), kato_estimator::EstimateError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Plain")]
pub struct Hierarchy {
    chunk_sizes: Vec<usize>,
    rule: ChunkRule,
    tail_policy: TailPolicy,
}

/// A hierarchy as it is read, before it is checked.
#[derive(Deserialize)]
struct Plain {
    chunk_sizes: Vec<usize>,
    rule: ChunkRule,
    tail_policy: TailPolicy,
}

impl TryFrom<Plain> for Hierarchy {
    type Error = EstimateError;

    /// Checks a hierarchy that was read.
    ///
    /// # Errors
    ///
    /// As [`Hierarchy::new`].
    fn try_from(plain: Plain) -> Result<Self, EstimateError> {
        let hierarchy = Self::new(plain.chunk_sizes)?;
        Ok(hierarchy
            .with_rule(plain.rule)
            .with_tail_policy(plain.tail_policy))
    }
}

impl Hierarchy {
    /// Creates a hierarchy of levels with these chunk sizes, bottom up, with the default rules.
    ///
    /// # Errors
    ///
    /// [`EstimateError::ChunkSize`] for no levels, more than [`MAX_LEVELS`], a size of 0, or of 1
    /// above level 0.
    pub fn new(chunk_sizes: impl Into<Vec<usize>>) -> Result<Self, EstimateError> {
        let chunk_sizes = chunk_sizes.into();
        if chunk_sizes.is_empty() || chunk_sizes.len() > MAX_LEVELS {
            return Err(EstimateError::ChunkSize {
                level: chunk_sizes.len(),
                chunk_size: 0,
            });
        }
        for (level, &chunk_size) in chunk_sizes.iter().enumerate() {
            // A name alone is no pattern, so above level 0 chunks of one name would teach nothing.
            if chunk_size < if level == 0 { 1 } else { 2 } {
                return Err(EstimateError::ChunkSize { level, chunk_size });
            }
        }
        Ok(Self {
            chunk_sizes,
            rule: ChunkRule::default(),
            tail_policy: TailPolicy::default(),
        })
    }

    /// Sets the rule for the ends of paragraphs.
    #[must_use]
    pub fn with_rule(mut self, rule: ChunkRule) -> Self {
        self.rule = rule;
        self
    }

    /// Sets the rule for single names.
    #[must_use]
    pub fn with_tail_policy(mut self, tail_policy: TailPolicy) -> Self {
        self.tail_policy = tail_policy;
        self
    }

    /// Returns the chunk sizes, bottom up.
    #[must_use]
    pub fn chunk_sizes(&self) -> &[usize] {
        &self.chunk_sizes
    }

    /// Returns the number of levels.
    #[must_use]
    pub fn n_levels(&self) -> usize {
        self.chunk_sizes.len()
    }

    /// Returns the rule for single names.
    pub(crate) fn tail_policy(&self) -> TailPolicy {
        self.tail_policy
    }

    /// Returns the length of the chunk that starts `left` tokens before a paragraph's end; `None`
    /// when nothing is learned there.
    ///
    /// A paragraph is cut by taking this repeatedly. Windows ask for it at every token, as if the
    /// cut began there.
    pub(crate) fn token_chunk(&self, left: usize) -> Option<usize> {
        let chunk_size = self.chunk_size(0);
        let min_chunk = self.rule.min_chunk(chunk_size);
        // The same arithmetic as that of `kato-learner`, with which a test compares the counts.
        // Only a paragraph of one chunk at most can be too short: other remainders are glued to a
        // chunk.
        if left == 0 || (left <= chunk_size && left < min_chunk) {
            return None;
        }
        let len = left.min(chunk_size);
        // May exceed the chunk size, by as much as the minimum allows.
        Some(if left - len < min_chunk { left } else { len })
    }

    /// Returns the chunk size of a level; 0 for a level that does not exist.
    pub(crate) fn chunk_size(&self, level: usize) -> usize {
        self.chunk_sizes.get(level).copied().unwrap_or(0)
    }
}
