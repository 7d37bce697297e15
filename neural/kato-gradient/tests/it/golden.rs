//! Closed forms and state machines against `data/golden.json`, which walks step by step.

use kato_gradient::plateau::{Plateau, PlateauSettings};
use kato_gradient::sampler::{Bucketed, Sampler, SamplerSettings, Shuffled, TokenBudget};
use kato_gradient::scaler::{LossScaler, LossScalerSettings, ScaledStep};
use kato_gradient::schedule::Schedule;
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    schedules: Vec<Entry<Schedule>>,
    plateaus: Vec<Entry<PlateauSettings>>,
    /// 12 items in batches of 5, seed 42, epoch 1.
    shuffled: Vec<Vec<usize>>,
    /// The lengths of 12 items.
    lengths: Vec<u32>,
    /// These in batches of 2 from 4 buckets, seed 42, epoch 1.
    bucketed: Vec<Vec<usize>>,
    /// These in batches of at most 12 tokens and 3 items, seed 42, epoch 1.
    token_budget: Vec<Vec<usize>>,
    metrics: Vec<f64>,
    scaler: Scaler,
}

#[derive(Deserialize)]
struct Entry<S> {
    settings: S,
    rates: Vec<f64>,
}

#[derive(Deserialize)]
struct Scaler {
    finite: Vec<bool>,
    interval: u32,
    scales: Vec<f32>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("../data/golden.json")).unwrap()
}

/// Rounding in another order is all that may differ.
fn assert_close(found: f64, wanted: f64, place: &str) {
    let gap = (found - wanted).abs();
    assert!(
        gap <= 1e-12 * wanted.abs() + 1e-18,
        "{place}: {found} instead of {wanted}"
    );
}

#[test]
fn every_schedule_is_what_its_definition_walks_through() {
    let schedules = golden().schedules;
    assert_eq!(schedules.len(), 17);
    for Entry { settings, rates } in schedules {
        for (step, rate) in rates.into_iter().enumerate() {
            let place = format!("{settings:?} at {step}");
            assert_close(settings.rate(step as f64), rate, &place);
        }
    }
}

#[test]
fn a_plateau_lowers_the_rate_when_its_definition_does() {
    let Golden {
        plateaus, metrics, ..
    } = golden();
    for Entry { settings, rates } in plateaus {
        let mut plateau = Plateau::new(settings).unwrap();
        for (epoch, (metric, rate)) in metrics.iter().zip(&rates).enumerate() {
            // Each observation by one that was saved before it: nothing but the state counts.
            let saved = serde_json::to_string(plateau.state()).unwrap();
            let state = serde_json::from_str(&saved).unwrap();
            let mut resumed = Plateau::from_state(settings, state).unwrap();
            let place = format!("{settings:?} at {epoch}");
            assert_close(resumed.observe(*metric), *rate, &place);
            plateau.observe(*metric);
            assert_eq!(plateau, resumed);
        }
        // A table in which nothing happens would prove nothing.
        assert!(rates.last() < rates.first());
    }
}

#[test]
fn the_scale_of_losses_grows_and_backs_off_when_its_definition_does() {
    let Scaler {
        finite,
        interval,
        scales,
    } = golden().scaler;
    let settings = LossScalerSettings::default().with_growth_interval(interval);
    let mut scaler = LossScaler::new(settings).unwrap();
    for (finite, scale) in finite.iter().zip(scales) {
        let wanted = if *finite {
            ScaledStep::Apply
        } else {
            ScaledStep::Skip
        };
        let saved = serde_json::to_string(scaler.state()).unwrap();
        let state = serde_json::from_str(&saved).unwrap();
        let mut resumed = LossScaler::from_state(settings, state).unwrap();
        assert_eq!((scaler.update(*finite), scaler.scale()), (wanted, scale));
        resumed.update(*finite);
        assert_eq!(resumed, scaler);
    }
    let n_skipped = finite.iter().filter(|finite| !**finite).count();
    assert_eq!(scaler.state().n_skipped, n_skipped as u64);
}

/// What a seed gives is part of results: it never changes.
#[test]
fn orders_of_a_seed_stay_the_same() {
    let Golden {
        shuffled,
        lengths,
        bucketed,
        token_budget,
        ..
    } = golden();
    let order = |settings: SamplerSettings| {
        let sampler = Sampler::new(settings, lengths.clone(), 42).unwrap();
        let plan = sampler.plan(1);
        plan.iter().map(<[usize]>::to_vec).collect::<Vec<_>>()
    };
    assert_eq!(order(Shuffled::new(5).into()), shuffled);
    assert_eq!(order(Bucketed::new(2).with_n_buckets(4).into()), bucketed);
    assert_eq!(order(TokenBudget::new(12, 3).into()), token_budget);
}
