//! Early stop, and rates that a metric lowers.

use kato_gradient::Goal;
use kato_gradient::plateau::{Plateau, PlateauSettings};
use kato_gradient::stop::{EarlyStop, EarlyStopSettings, StopVerdict};
use proptest::prelude::*;

fn verdicts(settings: EarlyStopSettings, metrics: &[f64]) -> Vec<StopVerdict> {
    let mut stop = EarlyStop::new(settings).unwrap();
    metrics.iter().map(|metric| stop.observe(*metric)).collect()
}

#[test]
fn it_stops_after_as_many_observations_as_its_patience() {
    let settings = EarlyStopSettings::new(Goal::Min)
        .with_patience(3)
        .with_min_delta(0.1);
    let wait = |n_left| StopVerdict::Waiting { n_left };
    assert_eq!(
        verdicts(settings, &[1.0, 0.95, 0.8, 0.75, f64::NAN, 0.71]),
        [
            StopVerdict::Improved,
            wait(2),
            StopVerdict::Improved,
            wait(2),
            wait(1),
            StopVerdict::OutOfPatience
        ]
    );
}

#[test]
fn a_target_stops_even_without_an_improvement_by_min_delta() {
    let settings = EarlyStopSettings::new(Goal::Max)
        .with_min_delta(0.1)
        .with_target(0.95);
    let found = verdicts(settings, &[0.9, 0.949, 0.95]);
    let waiting = StopVerdict::Waiting { n_left: 19 };
    assert_eq!(
        found,
        [StopVerdict::Improved, waiting, StopVerdict::ReachedTarget]
    );
    assert!(found[2].is_stop() && !found[0].is_stop());
}

#[test]
fn a_metric_that_is_never_a_number_stops_as_well() {
    let settings = EarlyStopSettings::default().with_patience(2);
    let found = verdicts(settings, &[f64::NAN, f64::NAN]);
    assert_eq!(
        found,
        [
            StopVerdict::Waiting { n_left: 1 },
            StopVerdict::OutOfPatience
        ]
    );
}

#[test]
fn no_patience_at_all_is_refused() {
    let refused = EarlyStop::new(EarlyStopSettings::default().with_patience(0)).unwrap_err();
    assert_eq!(refused.to_string(), "patience is 0; set it to at least 1");
}

#[test]
fn a_rate_at_its_floor_counts_no_more_falls() {
    let mut settings = PlateauSettings::new(1e-3).with_factor(0.1, 0);
    settings.min_rate = 5e-5;
    let mut plateau = Plateau::new(settings).unwrap();
    let rates: Vec<f64> = (0..9).map(|_| plateau.observe(1.0)).collect();
    assert_eq!(rates[..4], [1e-3, 1e-3 * 0.1, 5e-5, 5e-5]);
    assert_eq!((plateau.state().n_falls, rates[8]), (2, 5e-5));
    // A metric that is no number is no improvement, and does not stay in the mean.
    let mut plateau = Plateau::new(PlateauSettings::adaptive(1e-3).with_factor(0.5, 1)).unwrap();
    let rates = [0.5, f64::NAN, f64::INFINITY, 0.5].map(|metric| plateau.observe(metric));
    assert_eq!(rates, [1e-3, 1e-3, 5e-4, 5e-4]);
    assert_eq!(plateau.state().smoothed, Some(0.5));
}

proptest! {
    #[test]
    fn resuming_changes_nothing(metrics in prop::collection::vec(0.0..1.0_f64, 1..60), at in 0..60_usize) {
        let settings = EarlyStopSettings::new(Goal::Max).with_patience(5).with_target(0.99);
        let mut whole = EarlyStop::new(settings).unwrap();
        let mut resumed = whole.clone();
        for (index, metric) in metrics.iter().enumerate() {
            if index == at {
                let saved = serde_json::to_string(resumed.state()).unwrap();
                let state = serde_json::from_str(&saved).unwrap();
                resumed = EarlyStop::from_state(settings, state).unwrap();
            }
            prop_assert_eq!(whole.observe(*metric), resumed.observe(*metric));
        }
        prop_assert_eq!(&whole, &resumed);
        let best = metrics[whole.state().best_at as usize];
        prop_assert_eq!(whole.state().best, Some(best));
    }
}
