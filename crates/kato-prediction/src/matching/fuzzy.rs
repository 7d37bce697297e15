//! Fuzzy matching: symbols that match although they differ.

use foldhash::quality::RandomState;
use hashbrown::HashMap;

use super::lcs::lcs_length;
use super::similarity::similarity_of_texts;

/// The symbol of the pattern that is taken for a symbol of the state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FuzzyMatch {
    /// Its index in the pattern.
    pub pattern_idx: usize,
    /// [`character_similarity`](super::character_similarity) of the two; 1 exactly
    /// if they are equal.
    pub similarity: f64,
}

/// Finds, for every symbol of the state in order, the most similar symbol of the pattern, if it is
/// similar enough.
///
/// Of equally similar symbols the first is taken. `None` where even the best similarity is below
/// `threshold`, and everywhere for an empty pattern.
///
/// Shape: as long as the state. Complexity: one comparison per pair of distinct symbols whose
/// lengths allow the threshold.
///
/// ```
/// use kato_prediction::matching::fuzzy_matches;
/// let matches = fuzzy_matches(&["cat", "dog"], &["dogs", "bird"], 0.8);
/// assert_eq!(matches[0].map(|found| found.pattern_idx), Some(1));
/// assert_eq!(matches[1], None);
/// ```
#[must_use]
pub fn fuzzy_matches(pattern: &[&str], state: &[&str], threshold: f64) -> Vec<Option<FuzzyMatch>> {
    let mut first_idx: HashMap<&str, usize, RandomState> = HashMap::default();
    let mut distinct: Vec<(usize, Vec<char>)> = Vec::new();
    for (idx, &symbol) in pattern.iter().enumerate() {
        first_idx.entry(symbol).or_insert_with(|| {
            distinct.push((idx, symbol.chars().collect()));
            idx
        });
    }
    let mut known: HashMap<&str, Option<FuzzyMatch>, RandomState> = HashMap::default();
    state
        .iter()
        .map(|&symbol| {
            *known.entry(symbol).or_insert_with(|| {
                let best = match first_idx.get(symbol) {
                    Some(&pattern_idx) => Some(FuzzyMatch {
                        pattern_idx,
                        similarity: 1.0,
                    }),
                    None => most_similar(&distinct, symbol, threshold),
                };
                best.filter(|found| found.similarity >= threshold)
            })
        })
        .collect()
}

/// Finds the first of the most similar symbols, or none if none reaches the threshold.
fn most_similar(
    pattern: &[(usize, Vec<char>)],
    symbol: &str,
    threshold: f64,
) -> Option<FuzzyMatch> {
    let symbol: Vec<char> = symbol.chars().collect();
    let mut best: Option<FuzzyMatch> = None;
    for (pattern_idx, candidate) in pattern {
        let total = candidate.len() + symbol.len();
        // No subsequence is longer than the shorter text: most candidates need no look inside.
        let bound = similarity_of_texts(candidate.len().min(symbol.len()), total);
        if bound < threshold || best.is_some_and(|best| bound <= best.similarity) {
            continue;
        }
        let similarity = similarity_of_texts(lcs_length(candidate, &symbol), total);
        if best.is_none_or(|best| similarity > best.similarity) {
            best = Some(FuzzyMatch {
                pattern_idx: *pattern_idx,
                similarity,
            });
        }
    }
    best
}
