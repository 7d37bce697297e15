//! Searches over trials that are made up: memory that is a function of size, and losses of rate.

use std::convert::Infallible;

use kato_gradient::GradientError;
use kato_gradient::finder::{
    BatchSizeFound, BatchSizeSettings, MemoryUse, RangeEnd, RangeTestSettings, find_batch_size,
    test_rates,
};
use proptest::prelude::*;

fn settings() -> BatchSizeSettings {
    BatchSizeSettings::default()
        .with_max_memory_share(1.0)
        .with_n_passes(1)
}

fn find(settings: BatchSizeSettings, largest: usize) -> Result<BatchSizeFound, GradientError> {
    find_batch_size(settings, |size| {
        let fits = size <= largest;
        let memory = if fits {
            MemoryUse::FitsUnmeasured
        } else {
            MemoryUse::OutOfMemory
        };
        Ok::<_, Infallible>(memory)
    })
}

proptest! {
    #[test]
    fn the_largest_even_size_that_fits_is_found_and_tried_last(
        largest in 0..600_usize, min in 1..20_usize, span in 0..200_usize,
    ) {
        let (min, max) = (2 * min, 2 * (min + span));
        let found = find(settings().with_sizes(min, max), largest);
        if largest < min {
            let refused = matches!(found, Err(GradientError::NothingFits { size }) if size == min);
            prop_assert!(refused);
            return Ok(());
        }
        let found = found.unwrap();
        // Every size by turns is the oracle.
        let wanted = (min..=max).step_by(2).filter(|size| *size <= largest).max();
        prop_assert_eq!(Some(found.size), wanted);
        let last = found.trials.last().unwrap();
        prop_assert!(last.size == found.size && last.fits);
        prop_assert!(found.trials.iter().all(|trial| trial.size % 2 == 0 && trial.size <= max));
        prop_assert!(found.trials.len() <= 2 * max.ilog2() as usize + 2);
    }
}

#[test]
fn room_is_left() {
    let pass = |size: usize| Ok::<_, Infallible>(MemoryUse::from_bytes(10 * size as u64, 1000));
    let found = find_batch_size(BatchSizeSettings::default(), pass).unwrap();
    assert_eq!(found.size, 80);
    let all = BatchSizeSettings::default().with_max_memory_share(1.0);
    assert_eq!(find_batch_size(all, pass).unwrap().size, 100);
}

/// The first pass does not hold what the optimizer keeps; the second one does.
#[test]
fn a_size_has_to_survive_every_pass() {
    let mut n_passes = 0;
    let mut last = 0;
    let pass = |size: usize| {
        n_passes = if size == last { n_passes + 1 } else { 1 };
        last = size;
        let n_bytes = size as u64 * if n_passes == 1 { 4 } else { 12 };
        Ok::<_, Infallible>(MemoryUse::from_bytes(n_bytes, 1000))
    };
    let found = find_batch_size(BatchSizeSettings::default(), pass).unwrap();
    assert_eq!(found.size, 66);
}

#[test]
fn a_pass_that_fails_is_not_made_up_for_by_the_next() {
    let mut sizes = Vec::new();
    let found = find_batch_size(settings().with_n_passes(2), |size| {
        let is_first = sizes.last() != Some(&size);
        sizes.push(size);
        let fits = size <= 10 || !is_first;
        let memory = if fits {
            MemoryUse::FitsUnmeasured
        } else {
            MemoryUse::OutOfMemory
        };
        Ok::<_, Infallible>(memory)
    });
    assert_eq!(found.unwrap().size, 10);
}

/// A fall behind the lowest loss falls out of a divergence, and the first losses fall by chance.
#[test]
fn only_falls_on_the_way_to_the_lowest_loss_suggest_a_rate() {
    let mut step = 0.0;
    let settings = RangeTestSettings::default().with_smoothing(0.0);
    let test = test_rates(settings, |_| {
        step += 1.0;
        let loss = match step as u32 {
            0..=3 => 1.5 - 0.1 * step,
            4..=30 => 1.2 - 0.01 * step,
            31..=40 => 1.0 - 0.02 * (step - 30.0),
            41..=60 => 0.8 + 0.1 * (step - 40.0),
            _ => 2.8 - 0.045 * (step - 60.0),
        };
        Ok::<_, Infallible>(loss)
    });
    let test = test.unwrap();
    assert_eq!(test.points.len(), 100);
    let steepest = test.steepest.unwrap();
    let place = test.points.iter().position(|point| point.rate == steepest);
    assert!(
        place.is_some_and(|place| (29..40).contains(&place)),
        "{place:?}"
    );
}

/// Memory that is in pieces after the search holds less than at its beginning.
#[test]
fn the_answer_is_one_that_still_runs_at_the_end() {
    let mut limit = 50;
    let found = find_batch_size(settings(), |size| {
        if size <= limit {
            return Ok::<_, Infallible>(MemoryUse::FitsUnmeasured);
        }
        limit -= 1;
        Ok(MemoryUse::OutOfMemory)
    });
    let found = found.unwrap();
    assert!(found.size <= limit, "{} of {limit}", found.size);
    let last = found.trials.last().unwrap();
    assert!(last.fits && last.size == found.size);
    // Nothing is left of the memory at all.
    let mut n_trials = 0;
    let refused = find_batch_size(settings(), |_| {
        n_trials += 1;
        let first = n_trials == 1;
        let memory = if first {
            MemoryUse::FitsUnmeasured
        } else {
            MemoryUse::OutOfMemory
        };
        Ok::<_, Infallible>(memory)
    });
    assert!(matches!(
        refused,
        Err(GradientError::NothingFits { size: 2 })
    ));
}

#[test]
fn a_trial_that_fails_ends_the_search_with_its_cause() {
    let failed = find_batch_size(settings(), |size| {
        if size < 16 {
            Ok(MemoryUse::FitsUnmeasured)
        } else {
            Err("the device is gone")
        }
    });
    let failed = failed.unwrap_err();
    assert_eq!(
        failed.to_string(),
        "the trial at batch size 16 failed; mend its cause and search again"
    );
    let cause = std::error::Error::source(&failed).unwrap();
    assert_eq!(cause.to_string(), "the device is gone");
    let failed = test_rates(RangeTestSettings::default(), |_| Err("the device is gone"));
    assert!(matches!(failed, Err(GradientError::Trial { .. })));
}

#[test]
fn odd_sizes_and_empty_ranges_are_refused() {
    for (min, max) in [(3, 8), (2, 7), (0, 8), (8, 6)] {
        assert!(
            find(settings().with_sizes(min, max), 99).is_err(),
            "{min} {max}"
        );
    }
    assert!(find(settings().with_max_memory_share(1.5), 99).is_err());
    assert!(find(settings().with_n_passes(0), 99).is_err());
    let test = |settings| test_rates(settings, |_| Ok::<_, Infallible>(1.0));
    assert!(test(RangeTestSettings::default().with_rates(1.0, 1.0)).is_err());
    assert!(test(RangeTestSettings::default().with_n_steps(1)).is_err());
    assert!(test(RangeTestSettings::default().with_smoothing(1.0)).is_err());
}

#[test]
fn rates_grow_by_equal_factors_from_the_first_to_the_last() {
    let test = test_rates(RangeTestSettings::default(), |_| Ok::<_, Infallible>(1.0)).unwrap();
    assert_eq!((test.points.len(), test.end), (100, RangeEnd::AllTried));
    assert_eq!(test.points[0].rate, 1e-7);
    assert!((test.points[99].rate / 10.0 - 1.0).abs() < 1e-12);
    let factor = 1e8_f64.powf(1.0 / 99.0);
    for pair in test.points.windows(2) {
        assert!((pair[1].rate / pair[0].rate / factor - 1.0).abs() < 1e-12);
    }
    // A loss that stands still suggests nothing.
    assert_eq!(test.steepest, None, "a fall of nothing");
    assert!(
        test.points
            .iter()
            .all(|point| (point.smoothed - 1.0).abs() < 1e-12)
    );
}

/// A loss that falls along a line of known steepness and then explodes.
#[test]
fn the_steepest_fall_is_found_and_the_explosion_stops_the_test() {
    let loss = |rate: f64| 1.0 - 0.5 / (1.0 + (1e-3 / rate).powi(2)) + (rate / 0.5).powi(4);
    let settings = RangeTestSettings::default().with_smoothing(0.0);
    let test = test_rates(settings, |rate| Ok::<_, Infallible>(loss(rate))).unwrap();
    assert_eq!(test.end, RangeEnd::Diverged);
    // 1/(1 + (c/r)²) over ln r is steepest at r = c.
    let steepest = test.steepest.unwrap();
    assert!((0.9e-3..1.1e-3).contains(&steepest), "{steepest}");
    let last = test.points.last().unwrap();
    let least = test
        .points
        .iter()
        .map(|point| point.smoothed)
        .fold(f64::MAX, f64::min);
    assert!(last.smoothed > 4.0 * least);
    assert!(
        test.points
            .iter()
            .rev()
            .skip(1)
            .all(|point| point.smoothed <= 4.0 * least)
    );
    let lowest = 10.0 * test.tenth_of_lowest.unwrap();
    assert!((1e-3..0.3).contains(&lowest), "{lowest}");
}

#[test]
fn a_loss_that_is_not_finite_ends_the_test_and_is_no_point() {
    let mut n_steps = 0;
    let test = test_rates(RangeTestSettings::default(), |_| {
        n_steps += 1;
        Ok::<_, Infallible>(if n_steps == 30 {
            f64::NAN
        } else {
            1.0 / f64::from(n_steps)
        })
    });
    let test = test.unwrap();
    assert_eq!((test.points.len(), test.end), (29, RangeEnd::Diverged));
    assert!(test.steepest.is_some());
}
