//! Axes, and where values lie on them.

use crate::figures;

/// Values of a greater size, or so near 0, could not be divided by each other.
const SIZES: std::ops::Range<f64> = 1e-290..1e290;

/// Steps of a time axis, in seconds, between those that are round by themselves.
const TIMES: [f64; 13] = [
    15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 14_400.0, 43_200.0,
    86_400.0,
];

/// One axis of a chart.
#[derive(Debug, Clone)]
pub struct Axis {
    pub(crate) label: String,
    kind: Kind,
    pub(crate) format: fn(f64) -> String,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// Equal steps, from 0 or less to a round number.
    Linear,
    /// Equal factors.
    Logarithmic,
    /// Equal steps between the first and the last value.
    Tight,
    /// Equal steps from 0 to 1.
    Share,
}

impl Axis {
    /// Creates an axis of equal steps, which shows 0.
    #[must_use]
    pub fn linear(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            kind: Kind::Linear,
            format: figures::count,
        }
    }

    /// Creates an axis of equal factors; values that are not above 0 are left out.
    #[must_use]
    pub fn logarithmic(label: impl Into<String>) -> Self {
        Self {
            kind: Kind::Logarithmic,
            ..Self::linear(label)
        }
    }

    /// Creates an axis of seconds, from the first to the last that is drawn.
    #[must_use]
    pub fn time() -> Self {
        Self {
            kind: Kind::Tight,
            format: figures::seconds,
            ..Self::linear("")
        }
    }

    /// Creates an axis of shares of 1.
    #[must_use]
    pub fn share() -> Self {
        Self {
            kind: Kind::Share,
            format: figures::percent,
            ..Self::linear("")
        }
    }

    /// Sets how its values are written.
    #[must_use]
    pub fn with_format(mut self, format: fn(f64) -> String) -> Self {
        self.format = format;
        self
    }

    /// Returns whether the axis has a place for a value.
    pub(crate) fn shows(&self, value: f64) -> bool {
        match self.kind {
            Kind::Logarithmic => SIZES.contains(&value),
            _ => value.abs() < SIZES.end,
        }
    }

    /// Returns the scale on which values lie between two positions.
    pub(crate) fn scale(&self, values: impl Iterator<Item = f64>, ends: (f64, f64)) -> Scale {
        let (low, high) = values
            .filter(|value| self.shows(*value))
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        let is_logarithmic = self.kind == Kind::Logarithmic;
        let (low, high) = match (self.kind, low <= high) {
            (Kind::Share, _) => (0.0, 1.0),
            (_, false) => (1.0, 10.0),
            // Whole powers of ten, and at least one of them.
            (Kind::Logarithmic, true) => {
                let first = low.log10().floor();
                let last = high.log10().ceil().max(first + 1.0);
                (10f64.powf(first), 10f64.powf(last))
            }
            // Never equal, as positions are divided by the difference.
            (Kind::Tight, true) => (low, high.max(low + 1e-9 * low.abs().max(1.0))),
            (Kind::Linear, true) => {
                let (low, high) = (low.min(0.0), high.max(0.0));
                let high = if high - low > SIZES.start { high } else { 1.0 };
                let step = step(low, high);
                ((low / step).floor() * step, (high / step).ceil() * step)
            }
        };
        Scale {
            is_logarithmic,
            is_time: self.kind == Kind::Tight,
            low,
            high,
            ends,
        }
    }
}

/// Where values lie on an axis.
#[derive(Debug, Clone)]
pub(crate) struct Scale {
    is_logarithmic: bool,
    is_time: bool,
    low: f64,
    high: f64,
    ends: (f64, f64),
}

impl Scale {
    /// Returns the position of a value, at an end for values beyond it.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let share = match self.is_logarithmic {
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        self.ends.0 + share.clamp(0.0, 1.0) * (self.ends.1 - self.ends.0)
    }

    /// Returns the values that get a line and a number.
    pub(crate) fn ticks(&self) -> Vec<f64> {
        if self.is_logarithmic {
            let decades = (self.high / self.low).log10().round() as i32;
            let every = (decades / 6 + 1).max(1) as usize;
            return (0..=decades)
                .step_by(every)
                .map(|n| self.low * 10f64.powi(n))
                .collect();
        }
        let rough = (self.high - self.low) / 4.0;
        let step = match (10.0..86_400.0).contains(&rough) && self.is_time {
            true => TIMES.into_iter().find(|step| *step >= rough),
            false => None,
        };
        let step = step.unwrap_or_else(|| self::step(self.low, self.high));
        let first = (self.low / step).ceil();
        // Rounding must not take the last one away.
        let last = self.high + 1e-9 * step;
        (0..=10)
            .map(|n| (first + f64::from(n)) * step)
            .take_while(|value| *value <= last)
            .collect()
    }
}

/// Returns a step of 1, 2, 2.5 or 5 by a power of ten, of which four at most are between two ends.
fn step(low: f64, high: f64) -> f64 {
    let rough = (high - low) / 4.0;
    let power = 10f64.powf(rough.log10().floor());
    [1.0, 2.0, 2.5, 5.0, 10.0]
        .map(|step| step * power)
        .into_iter()
        .find(|step| *step >= rough)
        // Rounding of the logarithm may leave all of them too small; then the step is not round.
        .unwrap_or(rough)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ENDS: (f64, f64) = (10.0, 90.0);

    proptest! {
        #[test]
        fn every_axis_places_its_values_in_order_between_its_ends(a in -1e300f64..1e300, b in proptest::num::f64::ANY) {
            for axis in [Axis::linear(""), Axis::logarithmic(""), Axis::time(), Axis::share()] {
                let scale = axis.scale([a, b].into_iter(), ENDS);
                let mut shown: Vec<f64> = [a, b].into_iter().filter(|value| axis.shows(*value)).collect();
                shown.sort_by(f64::total_cmp);
                let places: Vec<f64> = shown.iter().map(|value| scale.place(*value)).collect();
                prop_assert!(places.iter().all(|place| (ENDS.0..=ENDS.1).contains(place)), "{places:?}");
                prop_assert!(places.is_sorted(), "{places:?}");
                let ticks = scale.ticks();
                prop_assert!(ticks.len() <= 11 && ticks.iter().all(|tick| tick.is_finite()), "{ticks:?}");
            }
        }

        #[test]
        fn an_axis_from_0_ends_near_its_values_with_few_ticks(greatest in 1e-9f64..1e15) {
            let scale = Axis::linear("").scale([greatest].into_iter(), ENDS);
            prop_assert!(scale.low == 0.0 && scale.high >= greatest * (1.0 - 1e-12));
            prop_assert!(scale.high <= 2.1 * greatest, "{}", scale.high);
            prop_assert!((2..=6).contains(&scale.ticks().len()), "{:?}", scale.ticks());
        }
    }

    #[test]
    fn an_axis_of_nothing_has_ends_all_the_same() {
        for nothing in [&[][..], &[0.0], &[f64::NAN, f64::INFINITY]] {
            for axis in [Axis::linear(""), Axis::logarithmic(""), Axis::time()] {
                let scale = axis.scale(nothing.iter().copied(), ENDS);
                assert!(scale.low < scale.high, "{scale:?}");
            }
        }
    }

    #[test]
    fn a_time_has_steps_by_which_clocks_go() {
        let scale = Axis::time().scale([0.0, 240.0].into_iter(), ENDS);
        assert_eq!(scale.ticks(), [0.0, 60.0, 120.0, 180.0, 240.0]);
        let scale = Axis::time().scale([0.0, 8.0].into_iter(), ENDS);
        assert_eq!(scale.ticks(), [0.0, 2.0, 4.0, 6.0, 8.0]);
    }

    #[test]
    fn equal_factors_are_equal_steps() {
        let scale = Axis::logarithmic("").scale([3.0, 800.0].into_iter(), (0.0, 3.0));
        assert_eq!(scale.ticks(), [1.0, 10.0, 100.0, 1000.0]);
        assert!((scale.place(10.0) - 1.0).abs() < 1e-12);
        assert!((scale.place(100.0) - 2.0).abs() < 1e-12);
    }
}
