//! Confidence intervals by resampling documents.

use kato_random::SplitMix64;

use crate::report::BootstrapInterval;

/// The sums of one document, to be divided by each other: numerator and denominator.
pub(crate) type Ratio = (f64, f64);

/// Returns the 95 % interval of Σ numerators / Σ denominators when documents are drawn with
/// replacement; `None` for fewer than two documents or no resamples.
///
/// Documents are resampled and not tokens, because the tokens of a document depend on each other
/// (Efron and Tibshirani 1993, percentile method). A function of its arguments.
pub(crate) fn interval(
    documents: &[Ratio],
    resamples: usize,
    seed: u64,
) -> Option<BootstrapInterval> {
    // Resampling a single document gives the same ratio each time, an interval without width.
    if documents.len() < 2 || resamples == 0 {
        return None;
    }
    let mut random = SplitMix64::from_seed(seed);
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
    Some(BootstrapInterval {
        low: percentile(0.025),
        high: percentile(0.975),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_mean() {
        // The mean of 400 fair bits has standard deviation 0.025.
        let documents: Vec<Ratio> = (0..400).map(|n| (f64::from(n % 2), 1.0)).collect();
        let BootstrapInterval { low, high } = interval(&documents, 4000, 1).unwrap();
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
            Some(BootstrapInterval {
                low: 0.5,
                high: 0.5
            })
        );
    }
}
