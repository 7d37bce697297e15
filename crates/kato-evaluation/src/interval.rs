//! Confidence intervals by resampling documents.

use crate::Interval;

/// The sums of one document, to be divided by each other: numerator and denominator.
pub(crate) type Ratio = (f64, f64);

/// Returns the 95 % interval of Σ numerators / Σ denominators when documents are drawn with
/// replacement; `None` for fewer than two documents or no resamples.
///
/// Documents are resampled and not tokens, because the tokens of a document depend on each other
/// (Efron and Tibshirani 1993, percentile method). A function of its arguments.
pub(crate) fn interval(documents: &[Ratio], resamples: usize, seed: u64) -> Option<Interval> {
    // Resampling a single document gives the same ratio each time, an interval without width.
    if documents.len() < 2 || resamples == 0 {
        return None;
    }
    let mut random = SplitMix(seed);
    let mut ratios: Vec<f64> = (0..resamples)
        .map(|_| {
            let (mut numerator, mut denominator) = (0.0, 0.0);
            for _ in 0..documents.len() {
                let (n, d) = documents[random.below(documents.len())];
                numerator += n;
                denominator += d;
            }
            // Every document has at least one token, so no denominator is zero.
            numerator / denominator
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let percentile = |share: f64| ratios[((ratios.len() - 1) as f64 * share).round() as usize];
    Some(Interval {
        low: percentile(0.025),
        high: percentile(0.975),
    })
}

/// The SplitMix64 generator (Steele, Lea and Flood 2014), written out because a report must not
/// change with the version of a random-number crate.
struct SplitMix(u64);

impl SplitMix {
    /// Returns the next 64 bits.
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `n`; the bias is below `n` / 2⁶⁴.
    fn below(&mut self, n: usize) -> usize {
        // The product's upper half is below `n`, so the cast keeps it.
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_mean() {
        // The mean of 400 fair bits has standard deviation 0.025.
        let documents: Vec<Ratio> = (0..400).map(|n| (f64::from(n % 2), 1.0)).collect();
        let Interval { low, high } = interval(&documents, 4000, 1).unwrap();
        let expected = 1.96 * 0.025;
        assert!((low - (0.5 - expected)).abs() < 0.005, "{low}");
        assert!((high - (0.5 + expected)).abs() < 0.005, "{high}");
        assert_eq!(interval(&documents, 4000, 1), interval(&documents, 4000, 1));
    }

    #[test]
    fn one_document_has_none() {
        assert_eq!(interval(&[(1.0, 1.0)], 100, 0), None);
        assert_eq!(
            interval(&[(1.0, 2.0), (1.0, 2.0)], 100, 0),
            Some(Interval {
                low: 0.5,
                high: 0.5
            })
        );
    }
}
