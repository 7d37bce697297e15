//! The baseline: an interpolated Kneser-Ney model of token n-grams.

mod trie;

use self::trie::{Level, Trie};
use crate::discount::discount;

/// A counter of the n-grams of token sequences; [`finish`](Self::finish) makes the model.
///
/// Counts are exact. Memory: 70 to 130 bytes for each distinct n-gram of any order. When there are
/// more of them than allowed, the highest order is given up: lower orders stay exact, and the
/// result is that of counting in the lower order from the beginning. Order 1 is kept whatever the
/// limit; it needs one entry for each different token.
///
/// ```
/// use kato_evaluation::ngram::NgramCounter;
///
/// let mut counter = NgramCounter::new(3, 1_000_000);
/// counter.learn(&[0, 1, 2, 0, 1, 2, 0, 1, 3]);
/// let model = counter.finish(5);
/// assert!(model.probability(&[0, 1], 2) > model.probability(&[0, 1], 3));
/// assert!(model.probability(&[0, 1], 4) > 0.0);
/// ```
#[derive(Debug)]
pub struct NgramCounter {
    trie: Trie,
    max_ngrams: usize,
    n_tokens: u64,
    /// Ids of the n-grams that end at the latest token, by order; reused.
    latest: Vec<u32>,
    /// The same at the token that is being counted.
    ending: Vec<u32>,
}

impl NgramCounter {
    /// The highest order; a higher one counts as this.
    pub const MAX_ORDER: usize = 16;

    /// Creates a counter of n-grams of up to `order` tokens (1 to [`MAX_ORDER`](Self::MAX_ORDER)),
    /// and of at most `max_ngrams` distinct ones, or those of order 1 where they are more.
    #[must_use]
    pub fn new(order: usize, max_ngrams: usize) -> Self {
        Self {
            trie: Trie::new(order.clamp(1, Self::MAX_ORDER)),
            // Ids have 32 bits, and the limit is checked after every token, which adds at most one
            // n-gram of each order.
            max_ngrams: max_ngrams.min(u32::MAX as usize - Self::MAX_ORDER),
            n_tokens: 0,
            latest: Vec::new(),
            ending: Vec::new(),
        }
    }

    /// Adds the n-grams of one sequence, independently of those before it.
    pub fn learn(&mut self, tokens: &[u32]) {
        self.latest.clear();
        for &token in tokens {
            self.trie.count(token, &self.latest, &mut self.ending);
            std::mem::swap(&mut self.latest, &mut self.ending);
            // The new highest order no longer counts the tokens to its left. It uses plain counts,
            // so these numbers are not needed, and the orders below it are complete.
            while self.trie.len() > self.max_ngrams && self.trie.levels.len() > 1 {
                self.trie.levels.pop();
                // The next token continues n-grams of the remaining orders only.
                self.latest.truncate(self.trie.levels.len());
            }
        }
        self.n_tokens += tokens.len() as u64;
    }

    /// Creates the model over a vocabulary of this many tokens; tokens outside it have
    /// probabilities too, but are not in its sum.
    #[must_use]
    pub fn finish(self, vocabulary_size: usize) -> NgramModel {
        let discounts = |level: &Level| Discounts {
            raw: discount(level.nodes.iter().map(|node| node.count)),
            continuation: discount(level.nodes.iter().map(|node| u64::from(node.continuation))),
        };
        NgramModel {
            discounts: self.trie.levels.iter().map(discounts).collect(),
            trie: self.trie,
            n_tokens: self.n_tokens,
            uniform: 1.0 / vocabulary_size.max(1) as f64,
        }
    }
}

/// An interpolated Kneser-Ney model (Kneser and Ney 1995, in the interpolated form of Chen and
/// Goodman 1998) with one discount for each order, down to the uniform distribution over the
/// vocabulary.
///
/// The highest order that a context allows uses counts, the orders below it use the number of
/// distinct tokens to the left.
#[derive(Debug)]
pub struct NgramModel {
    trie: Trie,
    /// By order, from 1.
    discounts: Vec<Discounts>,
    n_tokens: u64,
    uniform: f64,
}

/// The discounts of one order, for plain counts and for counts of distinct tokens to the left.
#[derive(Debug, Clone, Copy)]
struct Discounts {
    raw: f64,
    continuation: f64,
}

impl NgramModel {
    /// Returns the number of tokens of the longest n-grams; less than was asked for where those
    /// were too many.
    #[must_use]
    pub fn order(&self) -> usize {
        self.trie.levels.len()
    }

    /// Returns the number of distinct n-grams of all orders.
    #[must_use]
    pub fn n_ngrams(&self) -> usize {
        self.trie.len()
    }

    /// Returns the number of tokens that the model was trained on.
    #[must_use]
    pub fn n_tokens(&self) -> u64 {
        self.n_tokens
    }

    /// Returns the probability of a token after a context, of which the last `order - 1` tokens
    /// count. It is never 0, and sums to 1 over a vocabulary that holds all learned tokens.
    #[must_use]
    pub fn probability(&self, context: &[u32], token: u32) -> f64 {
        let longest = context.len().min(self.order() - 1);
        // From the shortest context to the longest, each estimate discounted towards the one
        // before: the recursion of the formula from its end.
        let mut probability = self.uniform;
        for length in 0..=longest {
            let suffix = &context[context.len() - length..];
            let Some(context) = self.trie.find(suffix) else {
                // A context that never occurred is followed by nothing, and neither is a longer
                // one.
                break;
            };
            let node = self.trie.child(context, length, token);
            let followers = self.trie.context(context, length);
            let discounts = self.discounts[length];
            // Only the longest context uses plain counts. In lower orders a token that follows a
            // single context often must not seem likely after others (Kneser and Ney 1995).
            probability = if length == longest {
                let count = node.map_or(0, |node| node.count);
                followers.raw.probability(count, discounts.raw, probability)
            } else {
                let count = node.map_or(0, |node| u64::from(node.continuation));
                let followers = followers.continuation;
                followers.probability(count, discounts.continuation, probability)
            };
        }
        probability
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const VOCABULARY: u32 = 6;

    fn model(order: usize, max_ngrams: usize, documents: &[Vec<u32>]) -> NgramModel {
        let mut counter = NgramCounter::new(order, max_ngrams);
        for document in documents {
            counter.learn(document);
        }
        counter.finish(VOCABULARY as usize)
    }

    fn documents() -> impl Strategy<Value = Vec<Vec<u32>>> {
        prop::collection::vec(prop::collection::vec(0..VOCABULARY, 0..20), 0..8)
    }

    /// The definition, from lists of n-grams.
    fn naive(documents: &[Vec<u32>], order: usize, context: &[u32], token: u32) -> f64 {
        let grams = |n: usize| -> Vec<&[u32]> {
            documents
                .iter()
                .flat_map(|document| document.windows(n))
                .collect()
        };
        let mut distinct: Vec<Vec<&[u32]>> = (0..=order + 1)
            .map(|n| if n == 0 { vec![] } else { grams(n) })
            .collect();
        for grams in &mut distinct {
            grams.sort_unstable();
            grams.dedup();
        }
        let longest = context.len().min(order - 1);
        let mut probability = 1.0 / f64::from(VOCABULARY);
        for length in 0..=longest {
            let context = &context[context.len() - length..];
            let all = grams(length + 1);
            let count = |gram: &[u32]| -> u64 {
                if length == longest {
                    all.iter().filter(|other| **other == gram).count() as u64
                } else {
                    distinct[length + 2]
                        .iter()
                        .filter(|longer| &longer[1..] == gram)
                        .count() as u64
                }
            };
            let of = &distinct[length + 1];
            let discount = discount(of.iter().map(|gram| count(gram)));
            let after: Vec<u64> = of
                .iter()
                .filter(|gram| gram.starts_with(context))
                .map(|gram| count(gram))
                .collect();
            let total: u64 = after.iter().sum();
            if total == 0 {
                continue;
            }
            let seen = after.iter().filter(|&&count| count > 0).count() as f64;
            let gram: Vec<u32> = context.iter().copied().chain([token]).collect();
            probability = (count(&gram) as f64 - discount).max(0.0) / total as f64
                + discount * seen / total as f64 * probability;
        }
        probability
    }

    #[test]
    fn bigrams_by_hand() {
        // a b a b a c: counts a 3, b 2, c 1; bigrams ab 2, ba 2, ac 1; one token to the left of
        // each of a, b, c.
        let model = model(2, 100, &[vec![0, 1, 0, 1, 0, 2]]);
        let unigram = |count: f64| (count - 1.0 / 3.0) / 6.0 + 1.0 / 3.0 * 3.0 / 6.0 / 6.0;
        assert!((model.probability(&[], 0) - unigram(3.0)).abs() < 1e-12);
        // Discounts: 1 / (1 + 2 · 2) of the bigrams, ½ of the continuations, which are all 1.
        let continuation = 0.5 / 3.0 + 0.5 * 3.0 / 3.0 / 6.0;
        let expected = (2.0 - 0.2) / 3.0 + 0.2 * 2.0 / 3.0 * continuation;
        assert!((model.probability(&[0], 1) - expected).abs() < 1e-12);
    }

    #[test]
    fn too_many_ngrams_lower_the_order() {
        let documents = [vec![0, 1, 2, 3, 4, 5, 0, 2, 4, 1, 3, 5]];
        let all = model(4, usize::MAX, &documents);
        let (two, limited) = (model(2, usize::MAX, &documents), model(4, 20, &documents));
        assert_eq!((all.order(), limited.order()), (4, 2));
        assert_eq!(limited.n_ngrams(), two.n_ngrams());
        assert_eq!(limited.probability(&[1], 2), two.probability(&[1], 2));
        assert_eq!(model(4, 0, &documents).order(), 1);
    }

    proptest! {
        #[test]
        fn probabilities_sum_to_one(
            documents in documents(),
            order in 1..6usize,
            max_ngrams in 0..60usize,
            context in prop::collection::vec(0..VOCABULARY, 0..7),
        ) {
            let model = model(order, max_ngrams, &documents);
            let sum: f64 = (0..VOCABULARY).map(|token| model.probability(&context, token)).sum();
            prop_assert!((sum - 1.0).abs() < 1e-9, "{sum}");
            prop_assert!((0..VOCABULARY).all(|token| model.probability(&context, token) > 0.0));
        }

        #[test]
        fn probabilities_are_those_of_the_definition(
            documents in documents(),
            order in 1..5usize,
            context in prop::collection::vec(0..VOCABULARY, 0..5),
            token in 0..VOCABULARY,
        ) {
            let found = model(order, usize::MAX, &documents).probability(&context, token);
            let expected = naive(&documents, order, &context, token);
            prop_assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }
}
