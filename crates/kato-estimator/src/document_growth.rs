//! Different text of a corpus, by how often the documents of a sample stand in the sample.

use crate::repeats::Sighted;

/// Steps of the iteration. Few steps stay close to where it starts, many follow the noise.
const STEPS: usize = 300;
/// Ratio of neighbouring numbers of copies.
const GRID: f64 = 1.35;
/// Sightings of a document of a class above which nearly every such document was seen.
const ABUNDANT: f64 = 1.5;
/// Repeats that a sample without one may have missed, in pairs of documents.
const MISSED: f64 = 0.125;

/// How the text of different documents grows from a random sample to a corpus.
///
/// Documents are drawn and seen again like marked animals: a document with m copies in a corpus of
/// which a share q is known is seen k times with the binomial probability. Documents of about one
/// length are estimated together, as short ones repeat more than long ones do.
#[derive(Debug, Clone, Default)]
pub(crate) struct DocumentGrowth {
    /// Shares of the text of different documents, with the growth of each.
    strata: Vec<(f64, Stratum)>,
    /// Standard deviation of the logarithm of what grows.
    pub(crate) relative_sd: f64,
}

impl DocumentGrowth {
    /// Fits the growth from a sample to a corpus `factor` times as large.
    pub(crate) fn fit(sighted: &[Sighted], factor: f64) -> Self {
        if factor <= 1.0 || sighted.is_empty() {
            return Self::default();
        }
        let documents: u64 = sighted.iter().map(|s| s.units).sum();
        let bytes: u64 = sighted.iter().map(|s| s.bytes).sum();
        let strata: Vec<(f64, Stratum)> = sighted
            .chunk_by(|a, b| a.length == b.length)
            .map(|sighted| {
                let of_length: u64 = sighted.iter().map(|s| s.bytes).sum();
                let weight = of_length as f64 / bytes.max(1) as f64;
                (
                    weight,
                    Stratum::fit(sighted, documents as f64, 1.0 / factor),
                )
            })
            .collect();
        let all: f64 = strata.iter().map(|(weight, s)| weight * s.to_all).sum();
        let squares = strata.iter();
        let squares = squares.map(|(weight, s)| (weight * s.to_all * s.relative_sd).powi(2));
        let of_strata = squares.sum::<f64>().sqrt() / all.max(1.0);
        // Few documents of a length tell little, and all together tell it of none: what lies
        // between is uncertain.
        let together = Stratum::fit(&of_any_length(sighted), documents as f64, 1.0 / factor);
        let relative_sd = of_strata.hypot((all.max(1.0) / together.to_all).ln() / 2.0);
        Self {
            strata,
            relative_sd,
        }
    }

    /// Returns the text of different documents in `factor` times the sample, as a multiple of that
    /// in the sample.
    pub(crate) fn at(&self, factor: f64) -> f64 {
        if self.strata.is_empty() || factor <= 1.0 {
            return factor;
        }
        let strata = self.strata.iter();
        strata
            .map(|(weight, stratum)| weight * stratum.at(factor))
            .sum()
    }
}

/// Returns how many different documents were seen how often, whatever their length.
fn of_any_length(sighted: &[Sighted]) -> Vec<Sighted> {
    let mut by_times = std::collections::BTreeMap::<u64, Sighted>::new();
    for &seen in sighted {
        let sum = by_times.entry(seen.times).or_insert(Sighted {
            length: 0,
            units: 0,
            bytes: 0,
            ..seen
        });
        sum.units += seen.units;
        sum.bytes += seen.bytes;
    }
    by_times.into_values().collect()
}

/// How the number of different documents of about one length grows.
///
/// What share of them stands there in how many copies follows by maximum likelihood over all
/// numbers of copies at once (Richardson and Lucy's iteration). What was seen once or twice decides
/// little between few documents of many copies and many of two, so the estimate is the geometric
/// mean with Chao and Lin's for sampling without replacement, which takes all rare documents to
/// have as many copies.
#[derive(Debug, Clone)]
struct Stratum {
    /// Copies in the corpus, and the different documents with so many.
    classes: Vec<(f64, f64)>,
    /// Share of the corpus that is the sample.
    share: f64,
    /// Growth to the whole corpus by the likelihood alone, and by both.
    by_likelihood: f64,
    to_all: f64,
    relative_sd: f64,
}

impl Stratum {
    /// Fits the growth of documents that were seen so often, of a sample of `of_all` documents.
    fn fit(sighted: &[Sighted], of_all: f64, share: f64) -> Self {
        let seen: Vec<(f64, f64)> = sighted
            .iter()
            .map(|s| (s.times as f64, s.units as f64))
            .collect();
        let documents: f64 = seen.iter().map(|(_, documents)| documents).sum();
        let classes = classes(&seen, share);
        let total = |classes: &[(f64, f64)]| classes.iter().map(|(_, n)| n).sum::<f64>();
        let times = |n: f64| {
            let of = seen.iter().filter(|(times, _)| *times == n);
            of.map(|(_, documents)| documents).sum::<f64>()
        };
        // What nearly all was seen of is known; the rest is as Chao and Lin say.
        let abundant: Vec<_> = classes
            .iter()
            .copied()
            .filter(|(copies, _)| copies * share >= ABUNDANT)
            .collect();
        let expected = |n: f64| {
            let of = abundant.iter();
            of.map(|(copies, documents)| documents * binomial(*copies, n, share))
                .sum::<f64>()
        };
        let once = (times(1.0) - expected(1.0)).max(0.0);
        let twice = (times(2.0) - expected(2.0)).max(0.0);
        let rare = (documents - (total(&abundant) - expected(0.0))).max(once);
        let pairs = 2.0 * twice;
        let chance = once * share / (1.0 - share).max(1e-9);
        let unseen = once * once / (pairs + chance).max(1e-9);
        let most = 1.0 / share;
        let by_chao = ((total(&abundant) + rare + unseen) / documents).clamp(1.0, most);
        let by_likelihood = (total(&classes) / documents).clamp(1.0, most);
        let between = (by_likelihood / by_chao).ln() / 2.0;
        let pairs = pairs + 2.0 * MISSED * documents / of_all;
        let noise = pairs / (pairs + chance).max(1e-9) / (twice + 1.0).sqrt();
        Self {
            classes,
            share,
            by_likelihood,
            to_all: (by_likelihood * by_chao).sqrt(),
            relative_sd: between.hypot(noise),
        }
    }

    /// Returns the different documents in `factor` times the sample, as a multiple of those in the
    /// sample.
    fn at(&self, factor: f64) -> f64 {
        let beyond = (factor * self.share).max(1.0);
        let different = |share: f64| {
            let of = self.classes.iter();
            of.map(|(copies, documents)| documents * (1.0 - (1.0 - share).powf(*copies)))
                .sum::<f64>()
        };
        let of_sample = different(self.share).max(1e-9);
        let grown = different((factor * self.share).min(1.0)) / of_sample;
        let scale = (self.to_all - 1.0) / (self.by_likelihood - 1.0).max(1e-9);
        (1.0 + (grown - 1.0) * scale).clamp(1.0, factor) * beyond
    }
}

/// Returns for numbers of copies the weight of the different documents that have so many, by
/// maximum likelihood; `seen` has documents by the number of sightings.
fn classes(seen: &[(f64, f64)], share: f64) -> Vec<(f64, f64)> {
    let most = seen
        .iter()
        .fold(1.0, |most: f64, (times, _)| most.max(*times));
    let mut copies = vec![1.0f64];
    while let Some(&last) = copies.last()
        && last < 2.0 * most / share
    {
        copies.push((last * GRID).floor().max(last + 1.0));
    }
    let probabilities: Vec<Vec<f64>> = copies
        .iter()
        .map(|&copies| {
            let of = seen.iter();
            of.map(|(times, _)| binomial(copies, *times, share))
                .collect()
        })
        .collect();
    let all = seen
        .iter()
        .map(|(times, weight)| times * weight)
        .sum::<f64>()
        / share;
    // Most documents of most corpora have no copy: the fewer copies, the more documents to start with.
    let mut weights: Vec<f64> = copies.iter().map(|copies| copies.powi(-3)).collect();
    for _ in 0..=STEPS {
        // All copies together are the corpus.
        let sum: f64 = copies.iter().zip(&weights).map(|(c, w)| c * w).sum();
        weights
            .iter_mut()
            .for_each(|weight| *weight *= all / sum.max(1e-300));
        let ratios: Vec<f64> = seen
            .iter()
            .enumerate()
            .map(|(at, (_, observed))| {
                let parts = weights.iter().zip(&probabilities);
                observed / parts.map(|(w, p)| w * p[at]).sum::<f64>().max(1e-300)
            })
            .collect();
        for ((weight, copies), probabilities) in weights.iter_mut().zip(&copies).zip(&probabilities)
        {
            let seen_at_all = 1.0 - (1.0 - share).powf(*copies);
            let sum: f64 = probabilities.iter().zip(&ratios).map(|(p, r)| p * r).sum();
            *weight *= sum / seen_at_all;
        }
    }
    copies.into_iter().zip(weights).collect()
}

/// Returns the probability of `times` successes of probability `share` among `n`.
fn binomial(n: f64, times: f64, share: f64) -> f64 {
    use statrs::function::gamma::ln_gamma;
    if times > n {
        return 0.0;
    }
    let ways = ln_gamma(n + 1.0) - ln_gamma(times + 1.0) - ln_gamma(n - times + 1.0);
    // No document is all of the corpus, so the share is below 1; close to it the logarithm of the
    // rest is kept finite.
    (ways + times * share.ln() + (n - times) * (1.0 - share).max(1e-12).ln()).exp()
}

#[cfg(test)]
mod tests {
    use kato_random::SplitMix64;

    use super::*;

    /// A name, and the copies of each document.
    type Case = (&'static str, fn(u64) -> u64);

    /// Draws a twentieth of documents with numbers of copies, and returns the growth to all of
    /// them as it is and as it is estimated.
    fn growth(copies: impl Fn(u64) -> u64) -> (f64, DocumentGrowth) {
        let mut random = SplitMix64::from_seed(3);
        let (n, mut drawn) = (20_000, std::collections::BTreeMap::<u64, u64>::new());
        let mut seen = 0;
        for document in 0..n {
            let times = (0..copies(document)).filter(|_| random.next_u64().is_multiple_of(20));
            let times = times.count() as u64;
            if times > 0 {
                *drawn.entry(times).or_default() += 1;
                seen += 1;
            }
        }
        let sighted: Vec<_> = drawn
            .into_iter()
            .map(|(times, units)| Sighted {
                times,
                units,
                bytes: 10 * units,
                length: 1,
            })
            .collect();
        (n as f64 / seen as f64, DocumentGrowth::fit(&sighted, 20.0))
    }

    #[test]
    fn copies_are_told_from_what_was_drawn_twice() {
        let cases: [Case; 5] = [
            ("none", |_| 1),
            ("every document twice", |_| 2),
            ("every document five times", |_| 5),
            ("one in ten twice", |document| {
                1 + u64::from(document % 10 == 0)
            }),
            (
                "few very often",
                |document| if document % 200 == 0 { 90 } else { 1 },
            ),
        ];
        for (case, copies) in cases {
            let (truth, estimated) = growth(copies);
            let error = (estimated.at(20.0) / truth).ln();
            let sd = estimated.relative_sd;
            println!("{case}: {error:+.3} off {truth:.1}, sd {sd:.3}");
            // A twentieth shows little of what stands there twice; then the deviation is as wide.
            assert!(error.abs() < 0.3, "{case}: {error} off {truth}");
            assert!(error.abs() < 0.02 + 2.0 * sd, "{case}: {error}, not {sd}");
        }
    }

    #[test]
    fn growth_begins_at_the_sample_and_never_exceeds_it_all() {
        let (_, estimated) = growth(|document| 1 + document % 3);
        let mut before = 1.0;
        for step in 0..60 {
            let factor = 1.0 + f64::from(step) / 2.0;
            let now = estimated.at(factor);
            assert!(
                (before..=factor + 1e-9).contains(&now),
                "{factor}: {now} after {before}"
            );
            before = now;
        }
        assert_eq!(DocumentGrowth::default().at(7.0), 7.0);
    }
}
