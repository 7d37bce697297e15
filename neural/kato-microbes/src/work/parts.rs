//! Which samples are learned from, and which are held back.

use serde::{Deserialize, Serialize};

use crate::folds::shares;
use crate::metadata::TargetValues;
use crate::settings::SampleSplitOptions;

/// Places among the samples of a [`Work`](super::Work), ascending.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SampleParts {
    /// Learned from.
    pub train: Vec<usize>,
    /// Choose the best epoch.
    pub validation: Vec<usize>,
    /// Say how wide intervals are.
    pub calibration: Vec<usize>,
    /// Judge the result.
    pub test: Vec<usize>,
}

/// Deals samples into parts by their shares, such that none of the `seen` is held back for calibration
/// or test.
///
/// Where too few are unseen, both parts are smaller in the same proportion.
pub(super) fn deal(
    values: &TargetValues,
    seen: &[usize],
    options: &SampleSplitOptions,
) -> SampleParts {
    let (n, seed) = (values.len(), options.seed);
    let held = options.calibration + options.test;
    let unseen: Vec<usize> = (0..n)
        .filter(|place| seen.binary_search(place).is_err())
        .collect();
    // What the shares of all samples are of the unseen, which can give no more than all of them.
    let factor = if unseen.is_empty() {
        0.0
    } else {
        (n as f64 / unseen.len() as f64).min(1.0 / held.max(f64::MIN_POSITIVE))
    };
    let (calibration, test) = (options.calibration * factor, options.test * factor);
    let rest = (1.0 - calibration - test).max(0.0);
    let of = |places: &[usize], chosen: Vec<usize>| -> Vec<usize> {
        chosen.into_iter().map(|at| places[at]).collect()
    };
    let [calibration, test, free] =
        shares(&values.select(&unseen), [calibration, test, rest], seed)
            .map(|part| of(&unseen, part));
    let mut others = [seen, &free[..]].concat();
    others.sort_unstable();
    // Of those that are left, in the proportion that they have of all.
    let validation = options.validation / (1.0 - held);
    let [validation, train] = shares(
        &values.select(&others),
        [validation, 1.0 - validation],
        seed,
    )
    .map(|part| of(&others, part));
    SampleParts {
        train,
        validation,
        calibration,
        test,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_seen_is_never_held_back(is_seen in prop::collection::vec(any::<bool>(), 20..120), seed: u64) {
            let n = is_seen.len();
            let seen: Vec<usize> = (0..n).filter(|&place| is_seen[place]).collect();
            let options = SampleSplitOptions { seed, ..SampleSplitOptions::default() };
            let parts = deal(&TargetValues::Numbers(vec![0.0; n]), &seen, &options);
            for place in parts.calibration.iter().chain(&parts.test) {
                prop_assert!(!is_seen[*place]);
            }
            let mut all = [&parts.train[..], &parts.validation, &parts.calibration, &parts.test].concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..n).collect::<Vec<_>>());
            // As many as asked for, as far as there are unseen ones.
            let wanted = (0.35 * n as f64).min((n - seen.len()) as f64);
            let held = (parts.calibration.len() + parts.test.len()) as f64;
            prop_assert!((held - wanted).abs() <= 2.0, "{} {}", held, wanted);
        }
    }
}
