//! Laws of the schedules that hold between the whole steps, too.

use kato_gradient::GradientError;
use kato_gradient::schedule::{
    Annealing, Constant, CosineRestarts, CycleMode, Cyclical, OneCycle, Polynomial, Schedule,
    ScheduleSettings, WarmupCosine,
};
use proptest::prelude::*;

fn rate_of(settings: impl Into<ScheduleSettings>, position: f64) -> f64 {
    Schedule::new(settings).unwrap().rate(position)
}

#[test]
fn ends_and_peaks_are_met_to_the_bit() {
    let warmup = WarmupCosine::new(2.5e-4, 100.0);
    let at = |position| rate_of(warmup, position);
    assert_eq!(
        (at(0.0), at(5.0), at(100.0), at(1e9)),
        (1e-8, 2.5e-4, 1e-6, 1e-6)
    );
    let restarts = CosineRestarts::new(2.5e-4, 10.0);
    let at = |position| rate_of(restarts, position);
    assert_eq!(
        (at(0.0), at(10.0), at(30.0)),
        (2.5e-4, 2.5e-4 * 0.95, 2.5e-4 * 0.95 * 0.95)
    );
    let one = OneCycle::new(1e-2, 100.0);
    assert_eq!((rate_of(one, 0.0), rate_of(one, 30.0)), (1e-2 / 25.0, 1e-2));
    assert_eq!(rate_of(one, 100.0), 1e-2 / 25.0 / 1e4);
    assert_eq!(rate_of(one, 500.0), rate_of(one, 100.0));
    let line = Polynomial::new(1e-3, 50.0).with_min_rate(0.0);
    assert_eq!(
        (rate_of(line, 0.0), rate_of(line, 25.0), rate_of(line, 60.0)),
        (1e-3, 5e-4, 0.0)
    );
    assert_eq!(rate_of(Constant::new(0.1), 1e12), 0.1);
}

/// Implementations are about that shrink the lower bound as well.
#[test]
fn only_the_amplitude_of_a_cyclical_rate_shrinks() {
    for mode in [CycleMode::Triangular2, CycleMode::ExpRange] {
        let settings = Cyclical::new(1e-4, 1e-3).with_mode(mode);
        for cycle in 0..20 {
            assert_eq!(
                rate_of(settings, f64::from(cycle) * 200.0),
                1e-4,
                "{mode:?}"
            );
        }
        assert!(rate_of(settings, 2100.0) < 2e-4);
    }
}

#[test]
fn a_restart_is_a_jump_up_and_all_else_goes_down() {
    let schedule = Schedule::new(CosineRestarts::new(1e-3, 4.0).with_factor(1.5)).unwrap();
    let positions: Vec<f64> = (0..4000).map(|i| f64::from(i) / 40.0).collect();
    let rises: Vec<f64> = positions
        .windows(2)
        .filter(|pair| schedule.rate(pair[1]) > schedule.rate(pair[0]))
        .map(|pair| pair[1])
        .collect();
    // 4, 4 + 6, + 9, + 13.5, + 20.25, + 30.375: the first position that is not before it.
    assert_eq!(rises, [4.0, 10.0, 19.0, 32.5, 52.75, 83.125]);
}

/// A logarithm that is rounded would name the cycle beside at some of these.
#[test]
fn every_restart_is_at_its_place_to_the_bit() {
    for (factor, n_cycles) in [(1.0, 200), (2.0, 40), (3.0, 25), (4.0, 20), (1.5, 30)] {
        let settings = CosineRestarts::new(1.0, 8.0)
            .with_factor(factor)
            .with_min_rate(0.0);
        let schedule = Schedule::new(settings.with_decay(0.5)).unwrap();
        let (mut begin, mut length, mut peak) = (0.0_f64, 8.0, 1.0);
        for cycle in 0..n_cycles {
            assert_eq!(schedule.rate(begin), peak, "{factor} {cycle}");
            // Just before it the cycle before is at its end.
            if cycle > 0 {
                let before = begin * (1.0 - f64::EPSILON);
                assert!(schedule.rate(before) < 1e-9 * peak, "{factor} {cycle}");
            }
            begin += length;
            length *= factor;
            peak *= 0.5;
        }
    }
}

#[test]
fn a_position_that_is_none_counts_as_the_beginning() {
    let schedule = Schedule::new(CosineRestarts::new(1e-3, 4.0)).unwrap();
    assert_eq!(schedule.rate(f64::NAN), 1e-3);
    assert_eq!(schedule.rate(-3.0), 1e-3);
    assert!(schedule.rate(f64::INFINITY).is_finite());
}

#[test]
fn a_schedule_that_cannot_be_is_refused_with_its_setting() {
    let refused = |settings: ScheduleSettings| match Schedule::new(settings).unwrap_err() {
        GradientError::Setting { setting, .. } => setting,
        other => panic!("{other}"),
    };
    assert_eq!(refused(Constant::new(f64::NAN).into()), "rate");
    assert_eq!(refused(WarmupCosine::new(1e-3, 4.0).into()), "total");
    assert_eq!(
        refused(CosineRestarts::new(1e-3, 0.0).into()),
        "first_cycle"
    );
    assert_eq!(
        refused(CosineRestarts::new(1e-3, 1.0).with_factor(0.5).into()),
        "factor"
    );
    assert_eq!(
        refused(CosineRestarts::new(1e-3, 1.0).with_decay(0.0).into()),
        "decay"
    );
    assert_eq!(
        refused(Polynomial::new(1e-3, 9.0).with_power(0.0).into()),
        "power"
    );
    assert_eq!(refused(Cyclical::new(1e-3, 1e-4).into()), "max_rate");
    assert_eq!(
        refused(Cyclical::new(1e-4, 1e-3).with_gamma(1.1).into()),
        "gamma"
    );
    assert_eq!(
        refused(Cyclical::new(1e-4, 1e-3).with_halves(1.0, -1.0).into()),
        "fall"
    );
    assert_eq!(
        refused(
            OneCycle::new(1.0, 9.0)
                .with_peak(5.0)
                .with_three_phases()
                .into()
        ),
        "total"
    );
    assert_eq!(refused(OneCycle::from_steps(1.0, 3, 0.3).into()), "peak");
}

fn any_settings() -> impl Strategy<Value = ScheduleSettings> {
    let rate = 1e-6..1.0_f64;
    let length = 0.1..1e4_f64;
    prop_oneof![
        (rate.clone(), length.clone(), 0.0..0.9_f64).prop_map(|(rate, total, share)| {
            WarmupCosine::new(rate, total)
                .with_warmup(total * share)
                .into()
        }),
        (rate.clone(), length.clone(), 1.0..4.0_f64, 0.1..1.0_f64).prop_map(
            |(rate, first, factor, decay)| {
                let settings = CosineRestarts::new(rate, first);
                settings.with_factor(factor).with_decay(decay).into()
            }
        ),
        (rate.clone(), length.clone(), 0.1..5.0_f64)
            .prop_map(|(rate, total, power)| Polynomial::new(rate, total).with_power(power).into()),
        (rate.clone(), length.clone(), length.clone(), 0..3_usize).prop_map(
            |(rate, rise, fall, mode)| {
                let modes = [
                    CycleMode::Triangular,
                    CycleMode::Triangular2,
                    CycleMode::ExpRange,
                ];
                let settings = Cyclical::new(rate / 10.0, rate).with_mode(modes[mode]);
                settings.with_halves(rise, fall).into()
            }
        ),
        (rate, length, any::<bool>()).prop_map(|(rate, total, linear)| {
            let settings = OneCycle::new(rate, total);
            let settings = if linear {
                settings.with_annealing(Annealing::Linear)
            } else {
                settings.with_three_phases()
            };
            settings.into()
        }),
    ]
}

/// The bounds that a schedule's settings give.
fn bounds(settings: &ScheduleSettings) -> (f64, f64) {
    match settings {
        ScheduleSettings::WarmupCosine(s) => {
            (s.start_rate.min(s.min_rate), s.base_rate.max(s.min_rate))
        }
        ScheduleSettings::CosineRestarts(s) => (s.min_rate, s.base_rate.max(s.min_rate)),
        ScheduleSettings::Polynomial(s) => (s.min_rate, s.base_rate.max(s.min_rate)),
        ScheduleSettings::Cyclical(s) => (s.min_rate, s.max_rate),
        ScheduleSettings::OneCycle(s) => (s.max_rate / s.div / s.final_div, s.max_rate),
        other => panic!("no bounds for {other:?}"),
    }
}

proptest! {
    #[test]
    fn rates_stay_within_their_bounds(settings in any_settings(), position in 0.0..1e6_f64) {
        let (least, greatest) = bounds(&settings);
        let rate = rate_of(settings, position);
        let slack = 1e-12;
        prop_assert!(rate >= least * (1.0 - slack) && rate <= greatest * (1.0 + slack), "{rate}");
    }

    #[test]
    fn a_rate_jumps_nowhere_but_at_a_restart(settings in any_settings(), share in 0.0..1.0_f64) {
        // Over a millionth of the shortest phase the steepest schedule moves little.
        if matches!(settings, ScheduleSettings::CosineRestarts(_) | ScheduleSettings::Polynomial(_)) {
            return Ok(());
        }
        let (_, greatest) = bounds(&settings);
        let schedule = Schedule::new(settings).unwrap();
        let position = 1e3 * share;
        let gap = (schedule.rate(position + 1e-7) - schedule.rate(position)).abs();
        prop_assert!(gap <= 1e-3 * greatest, "{gap}");
    }

    #[test]
    fn a_schedule_comes_back_from_a_file(settings in any_settings(), position in 0.0..1e5_f64) {
        let schedule = Schedule::new(settings).unwrap();
        let text = toml_of(&schedule);
        let read: Schedule = toml::from_str(&text).unwrap();
        prop_assert_eq!(read.rate(position).to_bits(), schedule.rate(position).to_bits());
        prop_assert_eq!(read, schedule);
    }
}

/// TOML by way of JSON's values, since the library's own writer of TOML is not built here.
fn toml_of(schedule: &Schedule) -> String {
    let serde_json::Value::Object(fields) = serde_json::to_value(schedule).unwrap() else {
        panic!("a schedule is a table");
    };
    let lines = fields
        .iter()
        .map(|(key, value)| format!("{key} = {value}\n"));
    lines.collect()
}
