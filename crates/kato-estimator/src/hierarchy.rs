//! The hierarchy that an estimate is made for: its chunk sizes, and the learner's rules.

use std::num::NonZeroUsize;

use kato_learner::chunk::{Chunks, chunk_lengths, name_chunks};
use kato_learner::config::{MAX_NODES, TextMode};
use kato_learner::{ChunkRule, LearnerConfig, TailPolicy};
use serde::{Deserialize, Serialize};

use crate::EstimateError;

/// A chunk size beyond any piece of text that is learned as one pattern.
const ANY_LENGTH: usize = u32::MAX as usize;

/// The levels of a hierarchy and their rules: everything that decides which learn calls the runs of
/// tokens of a document make.
///
/// ```
/// use kato_estimator::EstimatedHierarchy;
///
/// let hierarchy = EstimatedHierarchy::new([5, 7, 9])?;
/// assert_eq!(hierarchy.chunk_sizes(), [5, 7, 9]);
/// assert!(EstimatedHierarchy::new([5, 1]).is_err());
/// # Ok::<(), kato_estimator::EstimateError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct EstimatedHierarchy {
    chunk_sizes: Vec<usize>,
    rule: ChunkRule,
    tail_policy: TailPolicy,
}

/// A hierarchy as it is read, before it is checked.
#[derive(Deserialize)]
struct Unchecked {
    chunk_sizes: Vec<usize>,
    rule: ChunkRule,
    tail_policy: TailPolicy,
}

impl TryFrom<Unchecked> for EstimatedHierarchy {
    type Error = EstimateError;

    /// Checks a hierarchy.
    ///
    /// # Errors
    ///
    /// As [`EstimatedHierarchy::from_config`].
    fn try_from(unchecked: Unchecked) -> Result<Self, EstimateError> {
        let Unchecked {
            chunk_sizes,
            rule,
            tail_policy,
        } = unchecked;
        if chunk_sizes.is_empty() || chunk_sizes.len() > MAX_NODES {
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
        match tail_policy {
            TailPolicy::Drop | TailPolicy::Promote => {}
            // Documents are counted one by one, so none can wait for what another leaves over.
            TailPolicy::Carry => return Err(EstimateError::CarriedNames),
        }
        Ok(Self {
            chunk_sizes,
            rule,
            tail_policy,
        })
    }
}

impl EstimatedHierarchy {
    /// Creates a hierarchy of levels with these chunk sizes, bottom up, with the learner's default
    /// rules.
    ///
    /// # Errors
    ///
    /// [`EstimateError::ChunkSize`] for no levels, more than [`MAX_NODES`], a size of 0, or of 1
    /// above level 0.
    pub fn new(chunk_sizes: impl Into<Vec<usize>>) -> Result<Self, EstimateError> {
        Self::try_from(Unchecked {
            chunk_sizes: chunk_sizes.into(),
            rule: ChunkRule::default(),
            tail_policy: TailPolicy::default(),
        })
    }

    /// Creates the hierarchy of a learner with these settings.
    ///
    /// Where level 0 learns sentences or segments and no chunks, every one of them is a run of
    /// tokens that is never cut, and the chunk size of level 0 is larger than any of them.
    ///
    /// ```
    /// use kato_estimator::EstimatedHierarchy;
    /// use kato_learner::{HierarchicalNode, LearnerConfig, TailPolicy};
    ///
    /// let nodes = [5, 7].map(|size| HierarchicalNode::new(format!("chunks of {size}"), size));
    /// let mut config = LearnerConfig::new(nodes.into());
    /// assert_eq!(EstimatedHierarchy::from_config(&config)?, EstimatedHierarchy::new([5, 7])?);
    /// config.tail_policy = TailPolicy::Carry;
    /// assert!(EstimatedHierarchy::from_config(&config).is_err());
    /// # Ok::<(), kato_estimator::EstimateError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`EstimateError::ChunkSize`] as for [`new`](Self::new); [`EstimateError::CarriedNames`] for
    /// [`TailPolicy::Carry`].
    pub fn from_config(config: &LearnerConfig) -> Result<Self, EstimateError> {
        let mut chunk_sizes: Vec<usize> = config.nodes.iter().map(|node| node.chunk_size).collect();
        let rule = match config.text_mode {
            TextMode::Chunks { rule } => rule,
            TextMode::Sentences { .. } | TextMode::Segments { .. } => {
                // A chunk size that no piece reaches, with the plain rule, leaves every piece
                // whole.
                if let Some(lowest) = chunk_sizes.first_mut() {
                    *lowest = ANY_LENGTH;
                }
                ChunkRule::Plain
            }
        };
        Self::try_from(Unchecked {
            chunk_sizes,
            rule,
            tail_policy: config.tail_policy,
        })
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

    /// Returns whether a name that is alone when a document ends goes up to the next level.
    pub(crate) fn promotes_single_names(&self) -> bool {
        self.tail_policy == TailPolicy::Promote
    }

    /// Returns the chunks of a run of `n_tokens` tokens at level 0.
    pub(crate) fn token_chunks(&self, n_tokens: usize) -> Chunks {
        chunk_lengths(n_tokens, self.nonzero_chunk_size(0), self.rule)
    }

    /// Returns the chunks of the `n_names` names that have come up to a level above 0.
    pub(crate) fn name_chunks(&self, level: usize, n_names: usize) -> Chunks {
        name_chunks(n_names, self.nonzero_chunk_size(level))
    }

    /// Returns the chunk size of a level; 0 for a level that does not exist.
    pub(crate) fn chunk_size(&self, level: usize) -> usize {
        self.chunk_sizes.get(level).copied().unwrap_or(0)
    }

    /// Returns the chunk size of a level that exists.
    fn nonzero_chunk_size(&self, level: usize) -> NonZeroUsize {
        NonZeroUsize::new(self.chunk_size(level)).expect("chunk sizes are checked to be at least 1")
    }
}

#[cfg(test)]
mod tests {
    use kato_learner::HierarchicalNode;

    use super::*;

    fn config(chunk_sizes: &[usize]) -> LearnerConfig {
        let nodes = chunk_sizes.iter().enumerate();
        let nodes = nodes.map(|(idx, &size)| HierarchicalNode::new(format!("node{idx}"), size));
        LearnerConfig::new(nodes.collect())
    }

    #[test]
    fn the_rules_are_those_of_the_settings() {
        let mut config = config(&[5, 7]);
        let rule = ChunkRule::Bounded { min_chunk: 2 };
        config.text_mode = TextMode::Chunks { rule };
        config.tail_policy = TailPolicy::Promote;
        let hierarchy = EstimatedHierarchy::from_config(&config).unwrap();
        let expected = EstimatedHierarchy {
            chunk_sizes: vec![5, 7],
            rule,
            tail_policy: TailPolicy::Promote,
        };
        assert_eq!(hierarchy, expected);
    }

    #[test]
    fn pieces_of_text_are_never_cut() {
        let mut config = config(&[5, 7]);
        config.text_mode = TextMode::sentences();
        let hierarchy = EstimatedHierarchy::from_config(&config).unwrap();
        let whole = std::iter::once(0..100_000);
        assert!(hierarchy.token_chunks(100_000).eq(whole));
        assert_eq!(hierarchy.chunk_size(1), 7);
    }

    #[test]
    fn settings_of_which_nothing_can_be_estimated_are_refused() {
        let many = vec![2; MAX_NODES + 1];
        for (sizes, level) in [(vec![], 0), (vec![0], 0), (vec![5, 1], 1), (many, 21)] {
            let error = EstimatedHierarchy::from_config(&config(&sizes)).unwrap_err();
            let is_right =
                matches!(error, EstimateError::ChunkSize { level: at, .. } if at == level);
            assert!(is_right, "{error:?}");
        }
        let mut carrying = config(&[5]);
        carrying.tail_policy = TailPolicy::Carry;
        assert!(matches!(
            EstimatedHierarchy::from_config(&carrying),
            Err(EstimateError::CarriedNames)
        ));
    }

    #[test]
    fn its_json_keeps_its_shape_and_is_checked() {
        let json = |sizes, tail| {
            format!(
                r#"{{"chunk_sizes":{sizes},"rule":{{"rule":"joined","min_chunk":3}},"tail_policy":"{tail}"}}"#
            )
        };
        let hierarchy = EstimatedHierarchy::new([5, 7]).unwrap();
        let stored = json("[5,7]", "drop");
        assert_eq!(serde_json::to_string(&hierarchy).unwrap(), stored);
        let read = serde_json::from_str::<EstimatedHierarchy>(&stored);
        assert_eq!(read.unwrap(), hierarchy);
        for refused in [json("[5,1]", "drop"), json("[5,7]", "carry")] {
            assert!(serde_json::from_str::<EstimatedHierarchy>(&refused).is_err());
        }
    }
}
