//! Growth of distinct patterns with learn calls: the laws, and the ensemble of them.

use serde::{Deserialize, Serialize};

use crate::{FrequencyCounts, PitmanYor};

/// A law of growth, for learn calls beyond those observed. Within them, every law gives the
/// expectation over a random part of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GrowthLaw {
    /// [`PitmanYor`], by maximum likelihood.
    PitmanYor,
    /// K·(N/n)^(V₁/K): distinct patterns K grow from n to N learn calls with the share V₁/K of
    /// patterns learned once as exponent.
    Slope,
    /// K·(N/n)^β with β from the growth within the observations, between half of them and all
    /// (Heaps).
    Heaps,
    /// K·N/n: the share of repeats stays as it was observed, though text repeats more the more there is of it.
    Linear,
}

impl GrowthLaw {
    /// Returns the expected distinct patterns after a number of learn calls.
    ///
    /// ```
    /// use kato_estimator::{FrequencyCounts, GrowthLaw};
    ///
    /// let counts: FrequencyCounts = [(1, 90), (2, 5)].into_iter().collect();
    /// assert_eq!(GrowthLaw::Linear.distinct(&counts, 200.0), 190.0);
    /// assert!(GrowthLaw::Slope.distinct(&counts, 200.0) < 190.0);
    /// assert!((GrowthLaw::Slope.distinct(&counts, 100.0) - 95.0).abs() < 1e-9);
    /// ```
    #[must_use]
    pub fn distinct(self, counts: &FrequencyCounts, calls: f64) -> f64 {
        FittedLaw::fit(self, counts).distinct(counts, calls)
    }
}

/// A law with its parameter.
#[derive(Debug, Clone, Copy)]
enum FittedLaw {
    PitmanYor(PitmanYor),
    Power(f64),
    Linear,
}

impl FittedLaw {
    /// Fits a law. Where nothing repeats every law is linear.
    fn fit(law: GrowthLaw, counts: &FrequencyCounts) -> Self {
        let distinct = counts.distinct() as f64;
        match law {
            // The fit fails without repeats, and where all learn calls are of one pattern.
            GrowthLaw::PitmanYor => PitmanYor::fit(counts).map_or(Self::Linear, Self::PitmanYor),
            GrowthLaw::Slope if distinct > 0.0 => {
                Self::Power(counts.singletons() as f64 / distinct)
            }
            // Between half of the learn calls and all, the exponent is log₂ of the growth.
            GrowthLaw::Heaps if distinct > 0.0 => {
                Self::Power((distinct / counts.rarefied(0.5)).log2().clamp(0.0, 1.0))
            }
            GrowthLaw::Slope | GrowthLaw::Heaps | GrowthLaw::Linear => Self::Linear,
        }
    }

    /// Returns the expected distinct patterns after a number of learn calls.
    fn distinct(self, counts: &FrequencyCounts, calls: f64) -> f64 {
        let (n, distinct) = (counts.observations() as f64, counts.distinct() as f64);
        if n == 0.0 {
            return 0.0;
        }
        // What was observed is better than any law about it.
        if calls <= n {
            return counts.rarefied(calls / n);
        }
        match self {
            Self::PitmanYor(law) => law.expected_distinct(counts, calls),
            Self::Power(exponent) => distinct * (calls / n).powf(exponent),
            Self::Linear => distinct * calls / n,
        }
    }
}

/// Number of repeated patterns at which Pitman-Yor has half of its full weight: with few of them
/// its likelihood is flat.
const FEW_REPEATS: f64 = 10.0;

/// One law, or the default ensemble of Pitman-Yor and the slope rule, weighted by how much there is
/// to fit.
#[derive(Debug, Clone)]
pub(crate) struct Growth<'a> {
    counts: &'a FrequencyCounts,
    /// Laws and weights; weights add up to 1.
    laws: Vec<(FittedLaw, f64)>,
}

impl<'a> Growth<'a> {
    /// Fits a law, or the ensemble for `None`.
    pub(crate) fn fit(counts: &'a FrequencyCounts, law: Option<GrowthLaw>) -> Self {
        let laws = match law {
            Some(law) => vec![(FittedLaw::fit(law, counts), 1.0)],
            None => {
                let repeated = counts.repeated() as f64;
                // Towards one half each with many repeats, towards the slope alone without any.
                let weight = 0.5 * repeated / (repeated + FEW_REPEATS);
                vec![
                    (FittedLaw::fit(GrowthLaw::PitmanYor, counts), weight),
                    (FittedLaw::fit(GrowthLaw::Slope, counts), 1.0 - weight),
                ]
            }
        };
        Self { counts, laws }
    }

    /// Returns the expected distinct patterns after a number of learn calls.
    pub(crate) fn distinct(&self, calls: f64) -> f64 {
        let parts = self
            .laws
            .iter()
            .map(|(law, weight)| weight * law.distinct(self.counts, calls));
        parts.sum()
    }

    /// Returns half of the distance between the laws, relative to the estimate; 0 for a single law.
    pub(crate) fn disagreement(&self, calls: f64) -> f64 {
        let all = self
            .laws
            .iter()
            .map(|(law, _)| law.distinct(self.counts, calls));
        let (low, high) = all.fold((f64::INFINITY, 0.0f64), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        let middle = self.distinct(calls);
        if middle > 0.0 {
            (high - low) / middle / 2.0
        } else {
            0.0
        }
    }
}

/// Returns the size of a vocabulary after so many tokens.
///
/// A vocabulary is finite, so ln K over ln N is bent: a parabola whose bend is taken from the
/// growth within the observations. Beyond the point where it would turn down, or above `limit`,
/// nothing grows.
pub(crate) fn vocabulary(counts: &FrequencyCounts, tokens: f64, limit: f64) -> f64 {
    let n = counts.observations() as f64;
    if n == 0.0 || tokens <= 0.0 {
        return 0.0;
    }
    if tokens <= n {
        return counts.rarefied(tokens / n);
    }
    // Three points, equally far apart in ln N: an eighth of the tokens, the geometric middle, all.
    let h = 8f64.ln() / 2.0;
    let [y0, y1, y2] =
        [(-2.0 * h).exp(), (-h).exp(), 1.0].map(|share| counts.rarefied(share).max(1e-9).ln());
    // Second difference and one-sided first derivative at the last point. A bend upwards would be
    // noise, and so would an exponent outside 0 to 1.
    let bend = ((y2 - 2.0 * y1 + y0) / (2.0 * h * h)).min(0.0);
    let slope = ((3.0 * y2 - 4.0 * y1 + y0) / (2.0 * h)).clamp(0.0, 1.0);
    let mut x = (tokens / n).ln();
    if bend < 0.0 {
        // The top of the parabola.
        x = x.min(-slope / (2.0 * bend));
    }
    (y2 + slope * x + bend * x * x)
        .exp()
        .min(limit.max(counts.distinct() as f64))
        .min(tokens)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn counts() -> impl Strategy<Value = FrequencyCounts> {
        prop::collection::btree_map(1..40u64, 1..500u64, 1..6)
            .prop_map(|map| map.into_iter().collect())
    }

    proptest! {
        #[test]
        fn growth_is_finite_monotone_and_below_one_pattern_a_call(counts in counts()) {
            let laws = [None, Some(GrowthLaw::PitmanYor), Some(GrowthLaw::Slope), Some(GrowthLaw::Heaps), Some(GrowthLaw::Linear)];
            for law in laws {
                let growth = Growth::fit(&counts, law);
                let mut before = 0.0;
                for decade in 0..13 {
                    for step in 1..10 {
                        let calls = f64::from(step) * 10f64.powi(decade);
                        let now = growth.distinct(calls);
                        prop_assert!(now.is_finite() && now >= before - 1e-9 && now <= calls * (1.0 + 1e-9), "{law:?} {calls} {now} {before}");
                        before = now;
                    }
                }
            }
        }

        #[test]
        fn a_vocabulary_grows_monotone_up_to_its_limit(counts in counts()) {
            let mut before = 0.0;
            for step in 0..60 {
                let now = vocabulary(&counts, 1.6f64.powi(step), 50_257.0);
                prop_assert!(now.is_finite() && now >= before - 1e-6, "{now} {before}");
                before = now;
            }
            prop_assert!(before <= 50_257f64.max(counts.distinct() as f64));
        }
    }
}
