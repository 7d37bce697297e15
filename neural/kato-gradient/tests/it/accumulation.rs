//! Groups of micro-batches, their weights, and the scaler's bounds.

use kato_gradient::accumulation::{AccumulationPlan, split_batch, token_weights};
use kato_gradient::scaler::{LossScaler, LossScalerSettings, ScaledStep, all_finite};
use proptest::prelude::*;

proptest! {
    #[test]
    fn groups_hold_each_micro_batch_once_and_step_after_their_last(n in 0..200_usize, size in 1..40_usize) {
        let plan = AccumulationPlan::new(n, size).unwrap();
        let groups: Vec<_> = plan.groups().collect();
        let all: Vec<usize> = groups.iter().cloned().flatten().collect();
        prop_assert_eq!(all, (0..n).collect::<Vec<_>>());
        prop_assert_eq!(groups.len(), plan.n_steps());
        let stepped: Vec<usize> = (0..n).filter(|batch| plan.is_step_after(*batch)).collect();
        let lasts: Vec<usize> = groups.iter().map(|group| group.end - 1).collect();
        prop_assert_eq!(stepped, lasts);
    }

    /// The loss of the whole batch, out of means of its parts.
    #[test]
    fn weighted_means_of_parts_are_the_mean_of_all(
        losses in prop::collection::vec(prop::collection::vec(0.0..9.0_f64, 0..30), 1..6),
    ) {
        let n_tokens: Vec<u64> = losses.iter().map(|part| part.len() as u64).collect();
        prop_assume!(n_tokens.iter().sum::<u64>() > 0);
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
        let weights = token_weights(&n_tokens);
        let found: f64 = losses.iter().zip(&weights).map(|(part, w)| w * mean(part)).sum();
        let wanted = mean(&losses.concat());
        prop_assert!((found - wanted).abs() <= 1e-12 * wanted.max(1.0), "{} {}", found, wanted);
    }

    #[test]
    fn a_split_batch_is_whole_and_fits(n in 0..500_usize, max in 1..60_usize) {
        let parts = split_batch(n, max).unwrap();
        prop_assert!(parts.iter().all(|part| (1..=max).contains(&part.len())));
        let all: Vec<usize> = parts.into_iter().flatten().collect();
        prop_assert_eq!(all, (0..n).collect::<Vec<_>>());
    }
}

#[test]
fn a_target_size_is_reached() {
    let plan = AccumulationPlan::from_target(10, 6, 32).unwrap();
    assert_eq!(
        (plan.group_size(), plan.n_steps(), plan.group(1)),
        (6, 2, 6..10)
    );
    assert!(AccumulationPlan::from_target(10, 0, 32).is_err());
    assert!(AccumulationPlan::new(10, 0).is_err());
    assert!(split_batch(4, 0).is_err());
    assert!(plan.group(usize::MAX).is_empty());
}

#[test]
fn the_scale_stays_within_its_bounds_and_says_when_it_is_at_the_floor() {
    let settings = LossScalerSettings::default()
        .with_initial_scale(4.0)
        .with_bounds(2.0, 8.0)
        .with_growth_interval(1);
    let mut scaler = LossScaler::new(settings).unwrap();
    let steps = [true, true, false, false, false, false].map(|finite| scaler.update(finite));
    use ScaledStep::{Apply, Skip, SkipAtFloor};
    assert_eq!(steps, [Apply, Apply, Skip, Skip, SkipAtFloor, SkipAtFloor]);
    assert_eq!((scaler.scale(), scaler.inverse_scale()), (2.0, 0.5));
    let mut state = *scaler.state();
    state.scale = 16.0;
    assert!(LossScaler::from_state(settings, state).is_err());
    assert!(LossScaler::new(settings.with_initial_scale(9.0)).is_err());
}

#[test]
fn one_value_that_is_not_finite_is_found_anywhere() {
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for place in [0, 1023, 1024, 2999] {
            let mut values = vec![f32::MAX; 3000];
            assert!(all_finite(&values));
            values[place] = bad;
            assert!(!all_finite(&values));
        }
    }
    assert!(all_finite(&[]));
}
