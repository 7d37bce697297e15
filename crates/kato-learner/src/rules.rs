//! Everything that decides what a document teaches, as a knowledge base keeps it.

use serde::{Deserialize, Serialize};

use crate::{HierarchicalConceptLearner, LearnerConfig};

/// What decides what a document teaches: the tokenizer and the learner's settings. A knowledge base keeps it
/// in its configuration, so that it is asked as it was taught.
///
/// ```
/// use kato_learner::{HierarchicalConceptLearner, LearningRules};
///
/// let learner = HierarchicalConceptLearner::builder(kato_tokenizer::gpt2()).build()?;
/// let rules = LearningRules::from_learner(&learner);
/// assert_eq!((rules.tokenizer.as_str(), rules.learner.nodes.len()), ("gpt2", 3));
/// # Ok::<(), kato_learner::LearnError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LearningRules {
    /// The tokenizer as it was asked for: `gpt2`, a path, a name.
    pub tokenizer: String,
    /// Digest of what decides its ids and token strings.
    pub tokenizer_fingerprint: String,
    /// The learner's settings.
    pub learner: LearnerConfig,
}

impl LearningRules {
    /// Returns the rules of a learner.
    #[must_use]
    pub fn from_learner(learner: &HierarchicalConceptLearner) -> Self {
        Self {
            tokenizer: learner.tokenizer().name().to_owned(),
            tokenizer_fingerprint: learner.tokenizer().fingerprint().to_owned(),
            learner: learner.config().clone(),
        }
    }
}
