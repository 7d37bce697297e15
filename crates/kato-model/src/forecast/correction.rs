//! Correction of forecasts by the errors of those before them.

use serde::{Deserialize, Serialize};

use super::ForecastValue;

/// Runs whose errors count: what a machine did long ago says little of today.
const NEWEST: usize = 20;
/// What the expectation that a forecast is right is worth, in runs.
const PRIOR_RUNS: f64 = 2.0;
/// Tenths of all cases in which an interval is to hold the truth.
const CONFIDENCE_TENTHS: usize = 9;

/// What a forecast is multiplied by because those before it erred, and how much wider its interval
/// is.
///
/// Formulas, for n runs with r = what it took / what was foretold before any correction:
///
/// - factor = exp(n / (n + 2) · median(ln r)): the posterior mean of a normal error whose prior is
///   worth two runs without one (Gelman et al., *Bayesian Data Analysis*, 2.5), with the median in
///   the place of the mean, as one run on a busy machine says nothing of the next.
/// - width: how many half widths of its interval, in logarithms, each run is away from its forecast
///   as the other runs correct it, and of these numbers the ⌈0.9 (n + 1)⌉-th: a conformal interval
///   (Vovk, Gammerman and Shafer, 2005; leaving one out, Barber et al., 2021). Fewer than nine runs
///   cannot tell it: then it is the largest of them, and at least 1.
///
/// ```
/// use kato_model::forecast::{Correction, ForecastValue};
///
/// // Two runs took a fifth longer than was foretold: half of that is believed.
/// let foretold = ForecastValue::with_interval(10.0, 9.0, 12.0);
/// let correction = Correction::from_errors(&[(foretold, 12.0), (foretold, 12.0)]).unwrap();
/// assert!((correction.factor - 1.2f64.sqrt()).abs() < 1e-12);
/// let corrected = correction.apply(&foretold);
/// assert!((corrected.value - 10.954).abs() < 1e-3);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Correction {
    /// What the forecast is multiplied by.
    pub factor: f64,
    /// How many times as wide its interval is, in logarithms.
    pub width: f64,
    /// Runs that tell it.
    pub runs: usize,
}

impl Correction {
    /// Learns from forecasts and what it took, oldest first; `None` without any.
    ///
    /// A forecast that was itself corrected counts as it was before.
    #[must_use]
    pub fn from_errors(pairs: &[(ForecastValue, f64)]) -> Option<Self> {
        let first = pairs.len().saturating_sub(NEWEST);
        let known = pairs[first..].iter().filter_map(|(foretold, truth)| {
            let raw = before_correction(foretold);
            let error = (truth / raw.value).ln();
            error.is_finite().then_some((raw, error))
        });
        let known: Vec<(ForecastValue, f64)> = known.collect();
        let errors: Vec<f64> = known.iter().map(|(_, error)| *error).collect();
        if errors.is_empty() {
            return None;
        }
        let away = known.iter().enumerate().filter_map(|(idx, (raw, error))| {
            let others = errors.iter().enumerate();
            let others = others.filter(|(other, _)| *other != idx);
            let left = error - bias(others.map(|(_, error)| *error).collect());
            let end = if left > 0.0 { raw.high? } else { raw.low? };
            let half_width = (end / raw.value).ln().abs();
            Some(left.abs() / half_width).filter(|away| away.is_finite())
        });
        Some(Self {
            factor: bias(errors.clone()).exp(),
            width: width(away.collect()),
            runs: errors.len(),
        })
    }

    /// Returns a forecast corrected; one that was corrected before is corrected anew.
    #[must_use]
    pub fn apply(&self, foretold: &ForecastValue) -> ForecastValue {
        let raw = before_correction(foretold);
        let value = raw.value * self.factor;
        let moved = |end: f64| value * (end / raw.value).powf(self.width);
        ForecastValue {
            value,
            low: raw.low.map(moved),
            high: raw.high.map(moved),
            correction: Some(*self),
        }
    }
}

/// Returns the expected error of the next forecast, as a logarithm.
fn bias(mut errors: Vec<f64>) -> f64 {
    errors.sort_by(f64::total_cmp);
    let n = errors.len();
    if n == 0 {
        return 0.0;
    }
    let median = f64::midpoint(errors[n / 2], errors[(n - 1) / 2]);
    median * n as f64 / (n as f64 + PRIOR_RUNS)
}

/// Returns how many half widths an interval needs, where truths were so many away.
fn width(mut away: Vec<f64>) -> f64 {
    away.sort_by(f64::total_cmp);
    // ⌈0.9 (n + 1)⌉ in whole numbers.
    let rank = (CONFIDENCE_TENTHS * (away.len() + 1)).div_ceil(10);
    match away.get(rank - 1) {
        Some(enough) => *enough,
        None => away.last().map_or(1.0, |most| most.max(1.0)),
    }
}

/// Takes a correction back.
fn before_correction(foretold: &ForecastValue) -> ForecastValue {
    let Some(Correction { factor, width, .. }) = foretold.correction else {
        return *foretold;
    };
    let value = foretold.value / factor;
    let moved = |end: f64| value * (end / foretold.value).powf(1.0 / width);
    ForecastValue {
        value,
        low: foretold.low.map(moved),
        high: foretold.high.map(moved),
        correction: None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn foretold(value: f64) -> ForecastValue {
        ForecastValue::with_interval(value, value / 1.1, value * 1.2)
    }

    /// Runs that took so many times what was foretold.
    fn runs(ratios: &[f64]) -> Vec<(ForecastValue, f64)> {
        let runs = ratios.iter().zip(1..);
        runs.map(|(ratio, n)| (foretold(f64::from(n)), f64::from(n) * ratio))
            .collect()
    }

    #[test]
    fn what_nothing_is_known_of_is_not_corrected() {
        assert_eq!(Correction::from_errors(&[]), None);
        let unknown = [(foretold(0.0), 1.0), (foretold(1.0), 0.0)];
        assert_eq!(Correction::from_errors(&unknown), None);
    }

    #[test]
    fn one_run_on_a_busy_machine_does_not_move_the_next_forecast() {
        let mut ratios = vec![1.0; 8];
        ratios.push(5.0);
        let correction = Correction::from_errors(&runs(&ratios)).unwrap();
        assert_eq!(correction.factor, 1.0);
        // It is one in ten, and the interval that holds nine of ten must hold it.
        assert!(correction.width > 5.0, "{correction:?}");
    }

    #[test]
    fn intervals_narrow_only_once_nine_runs_tell_how_far() {
        let width = |n| {
            Correction::from_errors(&runs(&vec![1.001; n]))
                .unwrap()
                .width
        };
        assert_eq!(width(8), 1.0);
        assert!(width(9) < 0.1, "{}", width(9));
    }

    #[test]
    fn the_newest_runs_count() {
        let mut ratios = vec![3.0; 50];
        ratios.extend([1.5; NEWEST]);
        let correction = Correction::from_errors(&runs(&ratios)).unwrap();
        assert_eq!(correction.runs, NEWEST);
        let expected = 1.5f64.powf(20.0 / 22.0);
        assert!((correction.factor / expected - 1.0).abs() < 1e-12);
    }

    proptest! {
        /// Otherwise the second forecast would be corrected by what is left of the error of the first,
        /// and corrections would swing.
        #[test]
        fn corrected_forecasts_teach_what_uncorrected_ones_would(
            ratios in proptest::collection::vec(0.2f64..5.0, 1..15),
            factor in 0.3f64..3.0,
            width in 0.1f64..4.0,
        ) {
            let before = Correction { factor, width, runs: 1 };
            let plain = runs(&ratios);
            let corrected: Vec<_> = plain
                .iter()
                .map(|(foretold, truth)| (before.apply(foretold), *truth))
                .collect();
            let [expected, found] = [&plain, &corrected].map(|runs| Correction::from_errors(runs).unwrap());
            prop_assert!((found.factor / expected.factor - 1.0).abs() < 1e-9);
            prop_assert!((found.width / expected.width - 1.0).abs() < 1e-6);
        }

        #[test]
        fn a_correction_lies_between_nothing_and_the_middle_error(ratios in proptest::collection::vec(0.2f64..5.0, 1..30)) {
            let correction = Correction::from_errors(&runs(&ratios)).unwrap();
            let [least, most] = [f64::min, f64::max].map(|of| ratios.iter().copied().fold(1.0, of));
            prop_assert!(least <= correction.factor && correction.factor <= most);
            let next = correction.apply(&foretold(7.0));
            prop_assert!(next.low.unwrap() <= next.value && next.value <= next.high.unwrap());
        }

        /// A forecaster with a bias and noise, seen from outside: later forecasts are nearer than
        /// without correction, and nine of ten intervals hold.
        #[test]
        fn a_biased_forecaster_becomes_right(seed in 0u64..50, bias in 1.3f64..2.0) {
            let mut random = kato_random::SplitMix64::from_seed(seed);
            // A sum of uniform numbers is nearly normal; within 0.15.
            let mut noise = || (0..12).map(|_| random.below(1000) as f64 / 1000.0 - 0.5).sum::<f64>() * 0.05;
            let mut seen: Vec<(ForecastValue, f64)> = Vec::new();
            let (mut held, mut nearer, mut n) = (0, 0, 0);
            for _ in 0..60 {
                let truth = 10.0 * bias * noise().exp();
                let raw = foretold(10.0);
                if let Some(correction) = Correction::from_errors(&seen).filter(|of| of.runs >= 10) {
                    let told = correction.apply(&raw);
                    held += u32::from(told.covers(truth).unwrap());
                    nearer += u32::from((told.value / truth).ln().abs() < (raw.value / truth).ln().abs());
                    n += 1;
                }
                seen.push((raw, truth));
            }
            prop_assert!(10 * nearer >= 8 * n, "{nearer} of {n}");
            prop_assert!(10 * held >= 7 * n, "{held} of {n}");
        }
    }
}
