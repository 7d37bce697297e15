//! Token frequencies of the lowest node: the model that is used where nothing is predicted.

use kato_engine::Node;
use kato_tokenizer::Vocabulary;

use crate::EvaluationError;
use crate::discount::{Followers, discount};

/// Token frequencies of a node, discounted towards the uniform distribution over the vocabulary.
#[derive(Debug)]
pub(crate) struct Unigram {
    /// By token id.
    counts: Vec<u64>,
    followers: Followers,
    discount: f64,
    uniform: f64,
}

impl Unigram {
    /// Creates the model from the frequencies of a node's symbols; those that are no tokens of the
    /// vocabulary are left out.
    pub(crate) fn from_node(node: &Node, vocabulary: &Vocabulary) -> Result<Self, EvaluationError> {
        let mut counts = vec![0; vocabulary.len()];
        let mut n_tokens = 0u64;
        for (id, token) in vocabulary.iter() {
            // Several ids may share a string, and the lowest stands for all.
            if vocabulary.id(token) == Some(id) {
                counts[id as usize] = node.symbol_counts(token)?.frequency;
                n_tokens += 1;
            }
        }
        // Discounts are estimated from events that occurred; tokens that never did have no count.
        let seen = || counts.iter().copied().filter(|&count| count > 0);
        let followers = Followers {
            total: seen().sum(),
            distinct: seen().count() as u64,
        };
        let discount = discount(seen());
        Ok(Self {
            followers,
            discount,
            uniform: 1.0 / n_tokens.max(1) as f64,
            counts,
        })
    }

    /// Returns the probability of a token; never 0, and 1 in sum over the distinct tokens of the
    /// vocabulary.
    pub(crate) fn probability(&self, token: u32) -> f64 {
        let count = self.counts.get(token as usize).copied().unwrap_or(0);
        self.followers
            .probability(count, self.discount, self.uniform)
    }

    /// Returns the probability that every token has in the uniform model.
    pub(crate) fn uniform(&self) -> f64 {
        self.uniform
    }
}
