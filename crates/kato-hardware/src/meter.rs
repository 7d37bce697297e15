//! Timing of work, and the figures that result.

use std::time::{Duration, Instant};

use crate::Allowance;
use crate::figure::{Finding, Measured, MeasuredFigure, MeasurementMethod, Unit, Validity};
use crate::interference::Watch;
use crate::statistics::{percentiles, spread};
use crate::step::cancelled;

/// Reason of a figure for which there was no time.
pub(crate) const NO_TIME: &str =
    "no time was left: give more with `time_limit`, or leave the machine to it";

/// Length of the windows in which a rate is observed. Their rates give the spread of the figure.
pub(crate) const WINDOW: Duration = Duration::from_millis(50);

/// One measurement: watches for interference from its start until it becomes a figure.
#[derive(Debug)]
pub(crate) struct Meter {
    watch: Watch,
    note: Option<String>,
}

impl Meter {
    /// Starts a measurement.
    pub(crate) fn start() -> Self {
        Self {
            watch: Watch::start(),
            note: None,
        }
    }

    /// Sets the note of the figure.
    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// Ends the measurement and returns its validity.
    fn validity(self, method: MeasurementMethod, observations: &[f64]) -> Validity {
        let interference = self.watch.stop();
        Validity {
            method,
            samples: observations.len() as u64,
            spread: spread(observations),
            steal: interference.steal,
            others: interference.others,
            throttled: interference.throttled,
            seconds: interference.seconds,
            note: self.note,
        }
    }

    /// Returns a rate: all work over all time, observed in the windows given as (work, seconds). It
    /// is unknown without work or time.
    pub(crate) fn rate(
        self,
        unit: Unit,
        method: MeasurementMethod,
        windows: &[(f64, f64)],
    ) -> Measured {
        let (work, seconds) = windows.iter().fold((0.0, 0.0), |sum, window| {
            (sum.0 + window.0, sum.1 + window.1)
        });
        if work <= 0.0 || seconds <= 0.0 {
            return Finding::unknown(NO_TIME);
        }
        let rates: Vec<f64> = windows
            .iter()
            .filter(|window| window.1 > 0.0)
            .map(|(work, seconds)| work / seconds)
            .collect();
        Finding::Known(MeasuredFigure {
            // Not the mean of the windows' rates, in which short windows would count too much.
            value: work / seconds / scale(unit),
            unit,
            percentiles: None,
            validity: self.validity(method, &rates),
        })
    }

    /// Returns a single observation that is no rate.
    #[cfg(feature = "store")]
    pub(crate) fn amount(self, unit: Unit, value: f64) -> Measured {
        if !value.is_finite() || value <= 0.0 {
            return Finding::unknown("nothing was there to be counted: measure again");
        }
        Finding::Known(MeasuredFigure {
            value,
            unit,
            percentiles: None,
            validity: self.validity(MeasurementMethod::Direct, &[value]),
        })
    }

    /// Returns a latency: the median of the times of single operations, given in seconds. It is
    /// unknown without operations.
    pub(crate) fn latency(self, method: MeasurementMethod, seconds: &[f64]) -> Measured {
        let micros: Vec<f64> = seconds.iter().map(|seconds| seconds * 1e6).collect();
        let Some(percentiles) = percentiles(&micros) else {
            return Finding::unknown(NO_TIME);
        };
        Finding::Known(MeasuredFigure {
            value: percentiles.p50,
            unit: Unit::Microseconds,
            percentiles: Some(percentiles),
            validity: self.validity(method, &micros),
        })
    }
}

/// Returns the number by which work, counted in bytes or operations, is divided for a unit.
fn scale(unit: Unit) -> f64 {
    match unit {
        Unit::MegabytesPerSecond => 1e6,
        Unit::PerSecond | Unit::Microseconds | Unit::Bytes => 1.0,
    }
}

/// Measures a figure, unless the work was stopped or no time is left. A measurement that was cut
/// short by cancelling is unknown.
pub(crate) fn figure(
    allowance: &Allowance,
    measure: impl FnOnce(&Allowance) -> Result<Measured, String>,
) -> Measured {
    // The time of cancelled work is over as well, but its reason is another.
    if !allowance.is_stopped() && allowance.is_over() {
        return Finding::unknown(NO_TIME);
    }
    let measured = if allowance.is_stopped() {
        Ok(Finding::unknown(cancelled()))
    } else {
        measure(allowance)
    };
    match measured {
        // Too few observations, which nothing in the figure would show.
        Ok(_) if allowance.is_stopped() => Finding::unknown(cancelled()),
        Ok(measured) => measured,
        Err(reason) => Finding::unknown(reason),
    }
}

/// Repeats an operation until the time is up, at least once, and groups its work into windows of
/// (work, seconds). The operation returns how much it did.
///
/// An unfinished window at the end is joined to the one before.
pub(crate) fn windows<E>(
    allowance: &Allowance,
    mut operation: impl FnMut() -> Result<f64, E>,
) -> Result<Vec<(f64, f64)>, E> {
    windows_with_preparation(allowance, |_| operation())
}

/// Does what [`windows`] does for an operation that has to prepare something first, and adds to the
/// duration that it is given what that took: such time belongs to no window.
pub(crate) fn windows_with_preparation<E>(
    allowance: &Allowance,
    mut operation: impl FnMut(&mut Duration) -> Result<f64, E>,
) -> Result<Vec<(f64, f64)>, E> {
    let mut windows: Vec<(f64, f64)> = Vec::new();
    let mut work = 0.0;
    let mut preparation = Duration::ZERO;
    let mut start = Instant::now();
    loop {
        work += operation(&mut preparation)?;
        let elapsed = start.elapsed().saturating_sub(preparation);
        let is_over = allowance.is_over();
        // A first window that is too short is better than none.
        if elapsed >= WINDOW || (is_over && windows.is_empty()) {
            windows.push((work, elapsed.as_secs_f64()));
            (work, preparation, start) = (0.0, Duration::ZERO, Instant::now());
        }
        if is_over {
            break;
        }
    }
    let rest = start.elapsed().saturating_sub(preparation).as_secs_f64();
    if let Some(last) = windows.last_mut().filter(|_| work > 0.0) {
        *last = (last.0 + work, last.1 + rest);
    }
    Ok(windows)
}

/// Repeats an operation until the time is up, at least once and at most `max` times, and returns
/// the seconds of each.
pub(crate) fn latencies<E>(
    allowance: &Allowance,
    max: usize,
    mut operation: impl FnMut() -> Result<(), E>,
) -> Result<Vec<f64>, E> {
    let mut seconds = Vec::new();
    loop {
        let start = Instant::now();
        operation()?;
        seconds.push(start.elapsed().as_secs_f64());
        if allowance.is_over() || seconds.len() >= max {
            return Ok(seconds);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::convert::Infallible;
    use std::thread;

    use super::*;
    use crate::Cancellation;

    fn allowance(millis: u64) -> Allowance {
        Allowance::new(Duration::from_millis(millis), &Cancellation::new())
    }

    #[test]
    fn a_rate_is_all_work_over_all_time() {
        let figure = Meter::start().rate(
            Unit::PerSecond,
            MeasurementMethod::Direct,
            &[(10.0, 1.0), (30.0, 1.0)],
        );
        let figure = figure.known().unwrap();
        assert_eq!((figure.value, figure.validity.samples), (20.0, 2));
        let nothing = Meter::start().rate(Unit::PerSecond, MeasurementMethod::Direct, &[]);
        assert!(nothing.reason().is_some());
    }

    #[test]
    fn a_known_pause_is_recovered() {
        let pause = Duration::from_millis(4);
        // On a busy machine a pause takes longer than was asked for.
        let took = RefCell::new(Vec::new());
        let sleep = || {
            let start = Instant::now();
            thread::sleep(pause);
            took.borrow_mut().push(start.elapsed().as_secs_f64());
            Ok::<_, Infallible>(())
        };
        // A pause that was counted twice would be a rate below.
        let least_rate = || {
            let seconds = took.borrow();
            seconds.len() as f64 / seconds.iter().sum::<f64>() / 1.5
        };
        let seconds = latencies(&allowance(100), 10, sleep).unwrap();
        let figure = Meter::start().latency(MeasurementMethod::Direct, &seconds);
        let figure = figure.known().unwrap();
        let longest = took.borrow().iter().copied().fold(0.0, f64::max);
        assert!(
            (4000.0..1.5e6 * longest).contains(&figure.value),
            "{figure:?}"
        );
        took.borrow_mut().clear();
        let work = || sleep().map(|()| 1.0);
        let found = windows(&allowance(200), work).unwrap();
        let rate = Meter::start().rate(Unit::PerSecond, MeasurementMethod::Direct, &found);
        let rate = rate.known().unwrap();
        assert!((least_rate()..250.0).contains(&rate.value), "{rate:?}");
        assert!(rate.validity.samples >= 2);
        took.borrow_mut().clear();
        let prepared = |preparation: &mut Duration| {
            let start = Instant::now();
            sleep()?;
            *preparation += start.elapsed();
            work()
        };
        let found = windows_with_preparation(&allowance(200), prepared).unwrap();
        let rate = Meter::start().rate(Unit::PerSecond, MeasurementMethod::Direct, &found);
        let value = rate.known().unwrap().value;
        assert!((least_rate()..250.0).contains(&value), "{rate:?}");
    }

    #[test]
    fn what_cancelling_cut_short_is_no_figure() {
        let allowance = allowance(1000);
        let measured = figure(&allowance, |allowance| {
            allowance.cancellation.cancel();
            Ok(Meter::start().rate(Unit::PerSecond, MeasurementMethod::Direct, &[(1.0, 1.0)]))
        });
        assert!(measured.reason().unwrap().contains("cancelled"));
    }

    #[test]
    fn without_time_there_is_no_figure() {
        let measured = figure(&allowance(0), |_| unreachable!("nothing is measured"));
        assert_eq!(measured.reason(), Some(NO_TIME));
    }
}
