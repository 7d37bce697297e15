//! Upper bounds of the score by which candidates are cut, computed from the numbers of symbols and
//! pairs that pattern and state share.

use crate::frozen::LONGEST_SIGNED;
use crate::matching::token_similarity;
use crate::metrics::{cohesion, confidence, evidence, pre_potential, snr};
use crate::page_class::PageClass;

/// Number of common pairs from which on their number bounds nothing.
const MOST_PAIRS: usize = 8;

/// For all patterns of a class, the best score that a number of common symbols and pairs allows.
///
/// Why it is sound. Let o be the overlap of the multisets of symbols of pattern and state, g that
/// of their pairs of neighbours, L the pattern's length, n the state's. The matching blocks pair
/// equal symbols, each at most once, so they hold m ≤ o symbols (and as blocks are a common
/// subsequence, that is no longer than o either). A block of k symbols holds k−1 common pairs, all
/// different, so m − B ≤ g for B blocks. The score is (m/L + m/p)·snr + 1/B, where snr =
/// (3m−n)/(m+n) and p is the present's length, at most L; in a plain pattern it is m for B = 1.
///
/// Between two neighbouring blocks there is a symbol that does not match, in the pattern or in the
/// state, as blocks that touch in both are one. The state has n−m such symbols, so at least d =
/// max(0, B−1−(n−m)) lie in the pattern between its first and its last match, which the present
/// spans: m + d ≤ p ≤ L. Where no length of the class is as large, m and B do not occur together.
///
/// So m/p lies in m/L..=m/(m+d). The larger value bounds the score where snr ≥ 0, the smaller where
/// snr < 0. All operations are those of the score itself, and rounding is monotone, so the bound
/// also holds for the rounded score. Where matches are moved to equal symbols, they stay as many, and in
/// order, with the number B of blocks that were found; only the gaps are those of the runs that they form then,
/// of which there are no fewer than of the longest block's length. In a plain pattern there is no event to
/// join: only its first and its last match move, towards the others, and the only ones of their blocks. Where
/// nothing lies between in the state, there is no place beside the next block, or else that would have been a
/// longer one; so gaps are those of blocks, and one block is not moved. The maximum over m = 1..=o and all B
/// that g allows bounds it whatever m and B are. Where snr ≥ 0, more blocks only lower it, as 1/B falls and d grows.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    /// By number of pairs, then by overlap; the last entries hold for all larger numbers. Overlap
    /// 0 has the score of a pattern that shares nothing.
    upper: Vec<Vec<f64>>,
    /// The smallest overlap at which a pattern of the class can be a prediction at all.
    least_overlap: usize,
}

/// The settings that bounds depend on beside lengths.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BoundRules {
    /// The recall threshold if similarity is that of symbols; `None` for similarity by characters,
    /// of which the overlap says nothing.
    pub(crate) token_threshold: Option<f64>,
    /// Whether patterns that share nothing are kept.
    pub(crate) keeps_unmatched: bool,
    /// Whether different symbols may match, so that overlap bounds nothing.
    pub(crate) is_fuzzy: bool,
    /// Whether matches are moved to equal symbols, so that there may be fewer gaps between them than between
    /// blocks.
    pub(crate) by_position: bool,
}

impl Bounds {
    /// Computes the bounds of the patterns of one class for states of one length.
    pub(crate) fn new(state_length: usize, class: &PageClass, rules: BoundRules) -> Self {
        let lengths = class.lengths.lengths();
        let most = state_length.min(*lengths.end());
        let least_overlap = match rules.token_threshold {
            _ if rules.keeps_unmatched => 0,
            // Without a common symbol there is no block, and such a pattern is dropped however
            // alike the characters are (KATO 3.10.1, for any threshold above 0).
            None => 1,
            // The shortest pattern of the class reaches the threshold with the fewest symbols, and
            // no common subsequence is longer than the overlap.
            Some(threshold) => (1..=most)
                .find(|&lcs| token_similarity(lcs, lengths.start() + state_length) >= threshold)
                .unwrap_or(usize::MAX),
        };
        let rules = &rules;
        let upper = if rules.is_fuzzy {
            // Symbols match that are not equal, so the overlap bounds no score.
            vec![vec![f64::INFINITY; most + 1]]
        } else {
            let n_pairs = 0..=MOST_PAIRS.min(most);
            n_pairs
                .map(|n_pairs| Self::by_overlap(state_length, class, rules, n_pairs, most))
                .collect()
        };
        Self {
            upper,
            least_overlap,
        }
    }

    /// Returns the best scores for overlaps of 0 to `most` symbols and a number of common pairs.
    fn by_overlap(
        state_length: usize,
        class: &PageClass,
        rules: &BoundRules,
        n_pairs: usize,
        most: usize,
    ) -> Vec<f64> {
        let bound = |matched, blocks| score_bound(matched, blocks, 0, state_length, class, rules);
        let unmatched = pre_potential(0.0, 0.0, snr(0, state_length), cohesion(0));
        let mut upper = vec![unmatched];
        let mut best = f64::NEG_INFINITY;
        for matched in 1..=most {
            // More blocks than needed only lower the score, apart from the case below.
            let fewest = match n_pairs {
                // This row also stands for all larger numbers of pairs.
                MOST_PAIRS.. => 1,
                _ => matched.saturating_sub(n_pairs).max(1),
            };
            best = best.max(bound(matched, fewest));
            if fewest == 1 && matched > 1 {
                // With a second block the present may be longer than the match, and a lower
                // confidence raises the score where the snr is negative.
                best = best.max(bound(matched, 2));
            }
            // The maximum so far, as an overlap only limits the number of matches from above.
            upper.push(best);
        }
        upper
    }

    /// Returns the best score of a pattern that shares up to so many symbols and pairs; for overlap
    /// 0, of one that shares none.
    #[inline]
    pub(crate) fn upper(&self, overlap: usize, n_pairs: usize) -> f64 {
        let by_overlap = &self.upper[n_pairs.min(self.upper.len() - 1)];
        by_overlap[overlap.min(by_overlap.len() - 1)]
    }

    /// Returns the largest number of pairs that has bounds of its own.
    pub(crate) fn most_pairs(&self) -> usize {
        self.upper.len() - 1
    }

    /// Returns the largest possible overlap.
    pub(crate) fn most(&self) -> usize {
        self.upper[0].len() - 1
    }

    /// Finds the smallest overlap at which so many common pairs allow a score that `reaches` far
    /// enough; `None` if none does.
    ///
    /// Overlap 0 is possible where patterns that share nothing are kept.
    pub(crate) fn least_overlap(
        &self,
        n_pairs: usize,
        reaches: impl Fn(f64) -> bool,
    ) -> Option<usize> {
        (self.least_overlap..=self.most()).find(|&overlap| reaches(self.upper(overlap, n_pairs)))
    }
}

/// For the patterns of a class of one short length, the best score that the places allow at which they
/// share a symbol with the state.
///
/// As [`Bounds`], and why it is sound: m matches are at m of these places, so from the first to the last,
/// which the present spans, there are no fewer places than in the closest m of them. Where those are not
/// neighbours, no one block holds them.
#[derive(Debug, Clone)]
pub(crate) struct PlaceBounds {
    class: PageClass,
    length: usize,
    state_length: usize,
    rules: BoundRules,
    /// By number of pairs, then by the places as bits; not a number until it is asked for.
    upper: Vec<f64>,
}

impl PlaceBounds {
    /// Prepares the bounds; `None` where overlap bounds no score, and for lengths without signatures.
    pub(crate) fn new(state_length: usize, class: &PageClass, rules: BoundRules) -> Option<Self> {
        let length = class.lengths.exact()?;
        (length <= LONGEST_SIGNED && !rules.is_fuzzy).then(|| Self {
            class: class.clone(),
            length,
            state_length,
            rules,
            upper: vec![f64::NAN; (MOST_PAIRS + 1) << length],
        })
    }

    /// Returns the best score of a pattern that may share a symbol at these places, of which there is at
    /// least one, and so many pairs of neighbours.
    #[inline]
    pub(crate) fn upper(&mut self, places: usize, n_pairs: usize) -> f64 {
        let idx = n_pairs.min(MOST_PAIRS) << self.length | places;
        // A pattern that is longer than its class says is damaged.
        let Some(&upper) = self.upper.get(idx) else {
            return f64::INFINITY;
        };
        match upper.is_nan() {
            true => self.compute(idx, places, n_pairs),
            false => upper,
        }
    }

    #[cold]
    fn compute(&mut self, idx: usize, places: usize, n_pairs: usize) -> f64 {
        let at: Vec<usize> = (0..self.length)
            .filter(|at| places >> at & 1 == 1)
            .collect();
        let mut best = f64::NEG_INFINITY;
        for matched in 1..=at.len().min(self.state_length) {
            let spans = at.windows(matched).map(|at| at[matched - 1] - at[0] + 1);
            let span = spans.min().unwrap_or(matched);
            let fewest = match n_pairs {
                MOST_PAIRS.. => 1,
                _ => matched.saturating_sub(n_pairs).max(1),
            };
            let (length, class, rules) = (self.state_length, &self.class, &self.rules);
            let bound = |blocks| score_bound(matched, blocks, span, length, class, rules);
            if span == matched || fewest > 1 {
                best = best.max(bound(fewest));
            }
            if fewest == 1 && matched > 1 {
                best = best.max(bound(2));
            }
        }
        self.upper[idx] = best;
        best
    }
}

/// Returns the best score of exactly so many matches and blocks; −∞ where no pattern of the
/// class can have them. The present spans at least so many symbols.
fn score_bound(
    matched: usize,
    blocks: usize,
    least_span: usize,
    state_length: usize,
    class: &PageClass,
    rules: &BoundRules,
) -> f64 {
    let lengths = class.lengths.lengths();
    // More gaps between blocks than the state has symbols for lie in the pattern.
    let unmatched = state_length - matched;
    let runs = match rules.by_position && !class.is_plain {
        true => least_runs(matched, blocks),
        false => blocks,
    };
    let gaps = (runs - 1).saturating_sub(unmatched);
    let span = (matched + gaps).max(least_span);
    if span > *lengths.end() {
        return f64::NEG_INFINITY;
    }
    let snr = snr(matched, unmatched);
    if snr >= 0.0 {
        // The score grows with evidence and confidence: the shortest pattern and present.
        let evidence = evidence(matched, span.max(*lengths.start()));
        return pre_potential(evidence, confidence(matched, span), snr, cohesion(blocks));
    }
    // The score falls with evidence and confidence: the longest pattern, and a present as long.
    let evidence = evidence(matched, *lengths.end());
    // One block of a plain pattern is all of its present, whatever the pattern's length.
    let confidence = if class.is_plain && blocks == 1 {
        1.0
    } else {
        evidence
    };
    pre_potential(evidence, confidence, snr, cohesion(blocks))
}

/// Returns how few runs so many matches in so many blocks may become where they are moved.
///
/// No run is longer than the longest block, which is the longest common run of all; and that one leaves a
/// symbol for each of the others.
const fn least_runs(matched: usize, blocks: usize) -> usize {
    let longest = matched - (blocks - 1);
    matched.div_ceil(longest)
}

#[cfg(test)]
mod tests;
