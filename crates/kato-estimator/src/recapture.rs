//! Distinct patterns of a corpus by how many documents of a sample hold each: capture and recapture.

mod laws;
mod likelihood;

use serde::{Deserialize, Serialize};

use self::laws::grid;
use self::likelihood::{Likelihood, binomial};
use crate::FrequencyCounts;

/// Documents of a sample from which on a pattern counts as seen so often that none like it is unseen.
const OFTEN: usize = 64;
/// Ratio of neighbouring numbers of documents.
const RATIO: f64 = 1.3;
/// Whole copies of a corpus that are thought of, and how unlikely that is beforehand.
const COPIES: [u32; 9] = [2, 3, 4, 5, 6, 7, 8, 10, 20];
const COPIED: f64 = 0.5;
/// Share of the likelihood from which on a number of copies is possible.
const POSSIBLE: f64 = 0.3;

/// How many documents of a sample hold each pattern.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Holders {
    /// Patterns by the number of documents that hold them.
    pub(crate) numbers: FrequencyCounts,
    /// Observations that these are worth: the patterns of a document come together, and so do those
    /// that several share.
    pub(crate) independent: f64,
}

/// What lies beyond a sample, for a pattern of a document of it.
///
/// Documents are drawn at random, a share of the corpus. So of the other documents that hold a pattern
/// of one of them, a binomial number was drawn too. How many patterns stand in how many documents
/// follows by maximum likelihood. A pattern may be one that is cut alike wherever it stands, as where text
/// is copied, or one that the cut meets by chance: then its windows stand in more documents than it is
/// learned from. Windows and learn calls together tell the two apart.
#[derive(Debug, Clone)]
pub(crate) struct Recapture {
    classes: Vec<Class>,
    weights: Vec<f64>,
    /// Share of the documents that is known, and the size of the corpus as a multiple of what is.
    share: f64,
    factor: f64,
    /// Patterns that the rest of the corpus adds, for each holder of one in the whole corpus: the
    /// likeliest number and its bounds.
    added: [f64; 3],
}

/// Patterns that stand in a number of documents.
#[derive(Debug, Clone, Copy)]
struct Class {
    /// Different documents, and copies of each.
    documents: f64,
    copies: f64,
    /// Share of those documents in which the cut meets it; 1 where it always does.
    cut: f64,
}

impl Class {
    fn new(documents: f64, copies: u32, cut: f64) -> Self {
        Self {
            documents,
            copies: f64::from(copies),
            cut,
        }
    }

    /// Returns the probabilities that of the other documents that hold a pattern none, one, and so
    /// on were drawn: its own copies with the share, others with what the cut leaves of it.
    fn seen_again(&self, share: f64, cut: f64) -> Vec<f64> {
        let own = binomial(self.copies - 1.0, share);
        let others = binomial(self.copies * (self.documents - 1.0), share * cut);
        let mut sum = vec![0.0; OFTEN];
        for (i, own) in own.iter().enumerate().filter(|(_, own)| **own > 0.0) {
            for (sum, other) in sum.iter_mut().skip(i).zip(&others) {
                *sum += own * other;
            }
        }
        sum
    }

    /// Returns the distinct patterns of a share of the corpus, for a holder of one in the whole.
    fn distinct(&self, share: f64) -> f64 {
        let drawn = 1.0 - (1.0 - share.min(1.0)).powf(self.copies);
        let all = self.cut * self.documents;
        (1.0 - (1.0 - self.cut * drawn).powf(self.documents)) / (all * self.copies)
    }
}

impl Recapture {
    /// Fits what lies beyond a share of the documents that is known, in a corpus of `factor` times what is
    /// known, made of so many whole copies. `outside` is the part of the likelihood that is left out below and above the bounds.
    pub(crate) fn fit(
        calls: &Holders,
        windows: &Holders,
        [share, factor]: [f64; 2],
        copies: u32,
        outside: f64,
    ) -> Self {
        let share = known(share);
        let of = |holders: &Holders| holders.numbers.observations() as f64;
        let grid = grid(most_seen(&[calls, windows]), share, copies);
        let class = |cut| {
            let of_number = move |&documents| Class::new(documents, copies, cut);
            grid.iter().map(of_number)
        };
        let mut classes: Vec<Class> = class(1.0).collect();
        // Without windows all is taken to be cut alike.
        if of(windows) > 0.0 {
            classes.extend(class((of(calls) / of(windows)).min(1.0)));
        }
        let mut likelihood = Likelihood::new();
        likelihood.add(calls, &classes, |class| class.seen_again(share, class.cut));
        likelihood.add(windows, &classes, |class| class.seen_again(share, 1.0));
        likelihood.start_by_laws(&grid, classes.len());
        // Where few documents have much of the text, what is known holds more or less than its share.
        let added = |class: &Class| {
            (class.distinct(1.0) - class.distinct(share) / (share * factor)).max(0.0)
        };
        let values: Vec<f64> = classes.iter().map(added).collect();
        let weights = likelihood.likeliest();
        let added = likelihood.bounds(&weights, &values, outside);
        Self {
            classes,
            weights,
            share,
            factor,
            added,
        }
    }

    /// Returns the distinct patterns that `factor` times what is known add, for each holder of one in
    /// what is known.
    pub(crate) fn added(&self, factor: f64) -> f64 {
        // The share of the documents, where the text grows so much.
        let share = self
            .share
            .powf(1.0 - factor.ln() / self.factor.ln().max(1e-9));
        let known = |class: &Class| class.distinct(self.share) / self.share;
        // A corpus beyond the one that was asked for is of its kind.
        let all = |class: &Class| factor * class.distinct(share) / share.min(1.0);
        let parts = self.classes.iter().zip(&self.weights);
        let added = parts.map(|(class, weight)| weight * (all(class) - known(class)).max(0.0));
        added.sum()
    }

    /// Returns the bounds of what is added, as shares of the likeliest number.
    pub(crate) fn bounds(&self) -> [f64; 2] {
        let [value, low, high] = self.added;
        [low, high].map(|bound| bound / value.max(1e-300))
    }
}

/// Returns the numbers of whole copies that a corpus may be made of, the likeliest first, by how
/// many times its documents were drawn.
pub(crate) fn copies(drawn: &FrequencyCounts, share: f64) -> Vec<u32> {
    let share = known(share);
    let holders = Holders {
        numbers: drawn.clone(),
        independent: drawn.distinct() as f64,
    };
    let likelihood = |copies| {
        let grid = grid(most_seen(&[&holders]), share, copies);
        let class = |&documents: &f64| Class::new(documents, copies, 1.0);
        let classes: Vec<Class> = grid.iter().map(class).collect();
        let mut likelihood = Likelihood::new();
        likelihood.add(&holders, &classes, |class| class.seen_again(share, 1.0));
        likelihood.start(&grid, classes.len());
        likelihood.at(&likelihood.likeliest())
    };
    let mut all = vec![(1, likelihood(1))];
    all.extend(COPIES.map(|copies| (copies, likelihood(copies) + COPIED.ln())));
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    let best = all[0].1;
    all.retain(|(_, likelihood)| likelihood - best > POSSIBLE.ln());
    all.into_iter().map(|(copies, _)| copies).collect()
}

/// Returns a share of a corpus, between none and all.
fn known(share: f64) -> f64 {
    share.clamp(1e-9, 1.0 - 1e-9)
}

/// Returns the largest number of documents that hold a pattern, as far as it counts.
fn most_seen(holders: &[&Holders]) -> u64 {
    let last = holders
        .iter()
        .filter_map(|holders| holders.numbers.iter().last());
    let most = last.map(|(number, _)| number).max();
    most.unwrap_or(1).min(OFTEN as u64)
}

#[cfg(test)]
mod tests {
    use kato_random::SplitMix64;

    use super::*;

    /// A name, the copies of each document, and the largest error.
    type Case = (&'static str, fn(u64) -> u64, f64);

    /// Draws a twentieth of documents of one pattern each, and returns the growth from these to all
    /// patterns as it is, with what is estimated of it, and the numbers of whole copies.
    fn drawn(documents: u64, copies: impl Fn(u64) -> u64) -> (f64, Holders) {
        let mut random = SplitMix64::from_seed(3);
        let times = (0..documents).map(|document| {
            let drawn = (0..copies(document)).filter(|_| random.next_u64().is_multiple_of(20));
            (drawn.count() as u64, 1)
        });
        let numbers: FrequencyCounts = times.collect();
        let independent = numbers.distinct() as f64;
        let truth = (documents - numbers.distinct()) as f64 / numbers.observations() as f64;
        (
            truth,
            Holders {
                numbers,
                independent,
            },
        )
    }

    #[test]
    fn patterns_of_the_rest_are_told_from_those_drawn_again() {
        let cases: [Case; 6] = [
            ("once", |_| 1, 0.05),
            ("twice", |_| 2, 0.05),
            ("five times", |_| 5, 0.05),
            (
                "one in ten twice",
                |document| 1 + u64::from(document % 10 == 0),
                0.05,
            ),
            ("once to three times", |document| 1 + document % 3, 0.25),
            (
                "few very often",
                |document| if document % 200 == 0 { 90 } else { 1 },
                0.05,
            ),
        ];
        for (case, of, most) in cases {
            let (truth, holders) = drawn(20_000, of);
            let all = copies(&holders.numbers, 0.05);
            let fit =
                |&copies| Recapture::fit(&holders, &Holders::default(), [0.05, 20.0], copies, 0.05);
            let fitted: Vec<Recapture> = all.iter().map(fit).collect();
            let error = fitted[0].added(20.0) / truth - 1.0;
            assert!(error.abs() < most, "{case}: {error:+.3}, {all:?}");
            let covers = |fitted: &Recapture| {
                let [low, high] = fitted.bounds().map(|bound| bound * fitted.added(20.0));
                low * 0.99 <= truth && truth <= high * 1.01
            };
            assert!(fitted.iter().any(covers), "{case}: {truth}");
        }
    }

    #[test]
    fn growth_begins_at_what_is_known_and_goes_on_beyond_the_target() {
        let (_, holders) = drawn(5_000, |document| 1 + document % 3);
        let fitted = Recapture::fit(&holders, &Holders::default(), [0.05, 20.0], 1, 0.05);
        let mut before = 0.0;
        for step in 0..100 {
            let factor = 1.0 + f64::from(step) / 4.0;
            let added = fitted.added(factor);
            assert!(
                (before..=factor - 1.0 + 1e-9).contains(&added),
                "{factor}: {added} after {before}"
            );
            before = added;
        }
    }

    #[test]
    fn what_is_cut_by_chance_is_told_by_its_windows() {
        // All windows stand in forty documents; the cut meets a fifth of them.
        let [windows, calls] = [1u64, 5].map(|one_in| {
            let mut random = SplitMix64::from_seed(one_in);
            let of = (0..40_000).map(|_| {
                let met = (0..40).filter(|_| random.next_u64().is_multiple_of(20 * one_in));
                (met.count() as u64, 1)
            });
            let numbers: FrequencyCounts = of.collect();
            let independent = numbers.distinct() as f64;
            Holders {
                numbers,
                independent,
            }
        });
        let fitted = Recapture::fit(&calls, &windows, [0.05, 20.0], 1, 0.05);
        let truth = 40_000.0 * (1.0 - 0.8f64.powi(40)) - calls.numbers.distinct() as f64;
        let error = fitted.added(20.0) * calls.numbers.observations() as f64 / truth - 1.0;
        assert!(error.abs() < 0.05, "{error}");
    }
}
