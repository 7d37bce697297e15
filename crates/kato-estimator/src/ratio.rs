//! Scaling from the documents of a sample to those of a corpus: ratio and regression estimators.

use serde::{Deserialize, Serialize};

/// The size of the corpus that a run will learn: its documents, its text, or both, which is the
/// most exact.
///
/// ```
/// use kato_estimator::Target;
///
/// let corpus = Target::samples(1_000_000).with_text_bytes(530_000_000);
/// assert_eq!(corpus.samples, Some(1_000_000));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Documents.
    pub samples: Option<u64>,
    /// Bytes of their text, counted as in the sample.
    pub text_bytes: Option<u64>,
    /// Tokens.
    pub tokens: Option<u64>,
}

impl Target {
    /// Creates a target of so many documents.
    #[must_use]
    pub fn samples(samples: u64) -> Self {
        Self {
            samples: Some(samples),
            ..Self::default()
        }
    }

    /// Creates a target of documents with so many bytes of text together.
    #[must_use]
    pub fn text_bytes(text_bytes: u64) -> Self {
        Self {
            text_bytes: Some(text_bytes),
            ..Self::default()
        }
    }

    /// Creates a target of documents with so many tokens together.
    #[must_use]
    pub fn tokens(tokens: u64) -> Self {
        Self {
            tokens: Some(tokens),
            ..Self::default()
        }
    }

    /// Sets the bytes of the documents' text, known beside their number.
    #[must_use]
    pub fn with_text_bytes(mut self, text_bytes: u64) -> Self {
        self.text_bytes = Some(text_bytes);
        self
    }
}

/// Sums over documents that a ratio or a regression needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sums {
    pub(crate) documents: f64,
    pub(crate) x: f64,
    pub(crate) xx: f64,
    pub(crate) y: f64,
    pub(crate) yy: f64,
    pub(crate) xy: f64,
}

impl Sums {
    /// Adds a document of size `x` and `y` learn calls.
    pub(crate) fn add(&mut self, x: f64, y: f64) {
        self.documents += 1.0;
        self.x += x;
        self.xx += x * x;
        self.y += y;
        self.yy += y * y;
        self.xy += x * y;
    }

    /// Returns the total of y and its standard error where the total of x is known.
    ///
    /// Source: the ratio estimator of Cochran, *Sampling Techniques*, 6.4.
    pub(crate) fn ratio(&self, x_total: f64) -> Scaled {
        if self.x <= 0.0 {
            return Scaled::default();
        }
        let ratio = self.y / self.x;
        // The sum of (y - ratio · x)², expanded so that the documents need not be kept.
        let residuals = self.yy - 2.0 * ratio * self.xy + ratio * ratio * self.xx;
        self.scaled(x_total / self.x, ratio * x_total, residuals, 1.0)
    }

    /// Returns the total of y and its standard error where both the number of documents and the
    /// total of x are known.
    ///
    /// Source: the regression estimator of Cochran, 7.3. It falls back to [`ratio`](Self::ratio)
    /// where a line cannot be fitted or would give a negative total.
    pub(crate) fn regression(&self, documents: f64, x_total: f64) -> Scaled {
        let n = self.documents;
        let spread = self.xx - self.x * self.x / n.max(1.0);
        // Few documents, or documents of one size, do not decide the slope.
        if n < 10.0 || spread <= 1e-9 * self.xx {
            return self.ratio(x_total);
        }
        let slope = (self.xy - self.x * self.y / n) / spread;
        let base = (self.y - slope * self.x) / n;
        let value = base * documents + slope * x_total;
        let residuals = self.yy - self.y * self.y / n - slope * slope * spread;
        // Far from the sample, the line may cross zero; a total does not.
        if value < 0.0 {
            return self.ratio(x_total);
        }
        self.scaled(documents / n, value, residuals, 2.0)
    }

    /// Returns how far the mean text of the documents is from that of all of a target, as a logarithm: as it
    /// is where the target tells both, else the standard error of the mean.
    pub(crate) fn unlike(&self, target: &Target) -> f64 {
        let mean = self.x / self.documents;
        let distance = match *target {
            Target {
                samples: Some(documents),
                text_bytes: Some(bytes),
                ..
            } => (bytes as f64 / documents as f64 / mean).ln().abs(),
            _ => {
                (self.xx / self.documents - mean * mean).max(0.0).sqrt()
                    / mean
                    / self.documents.sqrt()
            }
        };
        // Neither has anything to tell of documents without text.
        if distance.is_finite() { distance } else { 0.0 }
    }

    /// Adds the error to a total over `factor` times the documents of the sample.
    ///
    /// The sample is a part of these documents; for a factor below 1 they are a part of the sample.
    /// `parameters` is the number of values that were fitted.
    fn scaled(&self, factor: f64, value: f64, residuals: f64, parameters: f64) -> Scaled {
        let n = self.documents;
        // So few documents leave no residuals to learn from: they are taken to vary by at least
        // their mean. Residuals below 0 are rounding.
        let variance = if n > parameters {
            residuals.max(0.0) / (n - parameters)
        } else {
            self.y * self.y / n.max(1.0)
        };
        // The finite population correction: what both have in common is known without error.
        let unknown = if factor > 1.0 {
            1.0 - 1.0 / factor
        } else {
            (1.0 - factor) / factor.max(1e-12)
        };
        let relative = (n * variance * unknown).sqrt() / self.y.max(1e-12);
        Scaled {
            value,
            relative_sd: if self.y > 0.0 { relative } else { 0.0 },
        }
    }
}

/// A total and its relative standard error.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Scaled {
    pub(crate) value: f64,
    pub(crate) relative_sd: f64,
}

#[cfg(test)]
mod tests {
    use kato_random::SplitMix64;

    use super::*;
    use crate::random::open_unit;

    fn documents() -> Sums {
        let mut sums = Sums::default();
        for i in 1..=40 {
            sums.add(f64::from(i * 10), f64::from(i + 3));
        }
        sums
    }

    #[test]
    fn the_whole_sample_is_its_own_total_without_error() {
        let sums = documents();
        let scaled = sums.ratio(sums.x);
        assert!((scaled.value - sums.y).abs() < 1e-9 && scaled.relative_sd == 0.0);
    }

    #[test]
    fn documents_are_as_unlike_all_as_their_means_or_as_chance_has_it() {
        let sums = documents();
        let of = |target: Target| sums.unlike(&target);
        assert!(of(Target::samples(1_000).with_text_bytes(205_000)).abs() < 1e-12);
        let twice = of(Target::samples(1_000).with_text_bytes(410_000));
        assert!((twice - 2f64.ln()).abs() < 1e-12);
        // 40 documents of 10 to 400 bytes: a deviation of 0.563 means.
        let chance = of(Target::text_bytes(410_000));
        assert!((chance - 0.563 / 40f64.sqrt()).abs() < 1e-4, "{chance}");
        assert_eq!(Sums::default().unlike(&Target::samples(1)), 0.0);
    }

    #[test]
    fn a_linear_law_with_a_constant_is_met_exactly_when_documents_are_known_too() {
        let scaled = documents().regression(4_000.0, 1_000_000.0);
        assert!((scaled.value - (3.0 * 4_000.0 + 100_000.0)).abs() < 1e-6);
        assert!(scaled.relative_sd < 1e-6);
    }

    #[test]
    fn the_error_grows_with_the_distance_and_is_that_of_repeated_sampling() {
        let mut random = SplitMix64::from_seed(9);
        let population: Vec<(f64, f64)> = (0..2_000)
            .map(|_| {
                let x = 1.0 - 2.0 * open_unit(&mut random).ln();
                (x, x * (1.0 + 0.9 * (open_unit(&mut random) - 0.5)))
            })
            .collect();
        let (x_total, y_total) = population
            .iter()
            .fold((0.0, 0.0), |(x, y), d| (x + d.0, y + d.1));
        let mut errors = Vec::new();
        let mut told = Vec::new();
        for _ in 0..400 {
            let mut sums = Sums::default();
            for _ in 0..50 {
                let (x, y) = population[random.next_u64() as usize % population.len()];
                sums.add(x, y);
            }
            let scaled = sums.ratio(x_total);
            errors.push((scaled.value / y_total - 1.0).powi(2));
            told.push(scaled.relative_sd.powi(2));
            assert!(sums.ratio(2.0 * sums.x).relative_sd < scaled.relative_sd);
        }
        let share = told.iter().sum::<f64>() / errors.iter().sum::<f64>();
        assert!((0.75..1.33).contains(&share), "{share}");
    }
}
