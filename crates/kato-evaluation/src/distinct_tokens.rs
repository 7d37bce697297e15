//! The tokens that differ for a node, which knows them by their strings and not by their ids.

use kato_tokenizer::Vocabulary;

/// The ids that stand for the distinct strings of a vocabulary.
///
/// Several ids may share a string. To the models beside the node they are one token as well:
/// otherwise their probabilities would not sum to 1 over what can come next.
#[derive(Debug)]
pub(crate) struct DistinctTokens {
    /// By id, the lowest id of the same string.
    lowest: Vec<u32>,
    n_distinct: usize,
}

impl DistinctTokens {
    /// Finds the ids that share a string.
    pub(crate) fn new(vocabulary: &Vocabulary) -> Self {
        // Ids that the vocabulary leaves unused are not iterated: they stand for themselves, and
        // get no share of probability.
        let mut lowest: Vec<u32> = (0..).take(vocabulary.len()).collect();
        let mut n_distinct = 0;
        for (id, token) in vocabulary.iter() {
            let first = vocabulary.id(token).unwrap_or(id);
            lowest[id as usize] = first;
            n_distinct += usize::from(first == id);
        }
        Self { lowest, n_distinct }
    }

    /// Returns the number of distinct strings.
    pub(crate) fn len(&self) -> usize {
        self.n_distinct
    }

    /// Returns the lowest id with the string of this one.
    pub(crate) fn lowest(&self, id: u32) -> u32 {
        self.lowest.get(id as usize).copied().unwrap_or(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_one_string_are_one_token() {
        let vocabulary = Vocabulary::from_tokens(["a", "b", "", "a", "c", "b"]);
        let tokens = DistinctTokens::new(&vocabulary);
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 6].map(|id| tokens.lowest(id)),
            [0, 1, 2, 0, 4, 1, 6]
        );
        assert_eq!(tokens.len(), 3);
    }
}
