//! The growth of the number of patterns with the samples: Heaps' law through given points.

use serde::{Deserialize, Serialize};

/// The number of patterns after a number of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatternGrowth {
    /// Samples learned.
    pub samples: u64,
    /// Distinct patterns then, of all levels or of one.
    pub patterns: u64,
}

/// A power law through points of growth: patterns ≈ factor × samples^exponent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Growth {
    /// 1 when every sample brings as many new patterns as the first; towards 0 when fewer and
    /// fewer are new.
    pub exponent: f64,
    /// Patterns after one sample, by the law.
    pub factor: f64,
    /// Share of the variance of ln(patterns) that the law explains, from 0 to 1; 1 when there is
    /// none.
    pub r_squared: f64,
    /// Points that were used.
    pub points: usize,
}

impl Growth {
    /// Fits the least-squares line through ln(patterns) on ln(samples).
    ///
    /// Returns `None` with points at fewer than three different numbers of samples; points without
    /// samples or patterns are ignored.
    ///
    /// The result describes these points and is no forecast: neighbouring points are not
    /// independent, as each includes the one before.
    ///
    /// ```
    /// use kato_evaluation::analysis::growth::{Growth, PatternGrowth};
    ///
    /// let points = [1, 4, 16, 64].map(|n| PatternGrowth { samples: n * n, patterns: 10 * n });
    /// let growth = Growth::from_points(&points).expect("four points");
    /// assert!((growth.exponent - 0.5).abs() < 1e-12 && (growth.factor - 10.0).abs() < 1e-9);
    /// assert_eq!(Growth::from_points(&points[..2]), None);
    /// ```
    #[must_use]
    pub fn from_points(points: &[PatternGrowth]) -> Option<Self> {
        // Zero has no logarithm.
        let usable = points
            .iter()
            .filter(|point| point.samples > 0 && point.patterns > 0);
        let logs: Vec<(f64, f64)> = usable
            .map(|point| ((point.samples as f64).ln(), (point.patterns as f64).ln()))
            .collect();
        // By what is computed with: large numbers that differ by little have one logarithm.
        let mut samples: Vec<f64> = logs.iter().map(|&(samples, _)| samples).collect();
        samples.sort_unstable_by(f64::total_cmp);
        samples.dedup();
        // Two numbers of samples determine a line exactly, and it would seem to explain everything.
        if samples.len() < 3 {
            return None;
        }
        let n = logs.len() as f64;
        let mean_x = logs.iter().map(|(x, _)| x).sum::<f64>() / n;
        let mean_y = logs.iter().map(|(_, y)| y).sum::<f64>() / n;
        // Deviations from the means are summed; sums of raw squares would cancel each other.
        let sum = |product: fn(f64, f64) -> f64| -> f64 {
            let products = logs.iter().map(|(x, y)| product(x - mean_x, y - mean_y));
            products.sum()
        };
        let (xx, xy, yy) = (sum(|x, _| x * x), sum(|x, y| x * y), sum(|_, y| y * y));
        let exponent = xy / xx;
        Some(Self {
            exponent,
            factor: (mean_y - exponent * mean_x).exp(),
            // Rounding may take the quotient above 1.
            r_squared: if yy > 0.0 {
                (xy * xy / (xx * yy)).min(1.0)
            } else {
                1.0
            },
            points: logs.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn growth_of(points: &[(u64, u64)]) -> Option<Growth> {
        let point = |&(samples, patterns)| PatternGrowth { samples, patterns };
        Growth::from_points(&points.iter().map(point).collect::<Vec<_>>())
    }

    #[test]
    fn too_few_or_empty_points_say_nothing() {
        for points in [
            &[][..],
            &[(1, 1), (2, 2)],
            &[(0, 1), (1, 1), (2, 2)],
            &[(1, 1), (2, 2), (2, 3), (3, 0)],
            // As floating-point numbers they are one.
            &[(1 << 60, 1), ((1 << 60) + 1, 2), ((1 << 60) + 2, 3)],
        ] {
            assert_eq!(growth_of(points), None, "{points:?}");
        }
    }

    #[test]
    fn no_growth_is_an_exponent_of_zero() {
        let growth = growth_of(&[(1, 7), (10, 7), (100, 7)]).unwrap();
        assert_eq!(
            (growth.exponent, growth.r_squared, growth.points),
            (0.0, 1.0, 3)
        );
        assert!((growth.factor - 7.0).abs() < 1e-12);
    }
}
