//! How good estimates were: errors, intervals that held, and whether estimates get better.

use std::fmt;

use kato_advice::counted;
use kato_report::figures::median;
use serde::Serialize;

use crate::ForecastValue;
use crate::history::record::HistoryRun;

/// The errors of the estimates of some runs, quantity by quantity.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Accuracy {
    /// Of the seconds; `None` where none was foretold.
    pub seconds: Option<EstimateErrors>,
    /// Of the bytes on the disk.
    pub disk_bytes: Option<EstimateErrors>,
    /// Of the peak bytes of memory.
    pub memory_bytes: Option<EstimateErrors>,
    /// Runs that were looked at.
    pub runs: usize,
    /// Runs of which nothing was foretold.
    pub without_estimate: usize,
}

/// The errors of the estimates of one quantity.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EstimateErrors {
    /// Runs that have both the estimate and what it took.
    pub runs: usize,
    /// Mean of |estimate − truth| / truth, in per cent.
    pub mean_percent: f64,
    /// Median of the same.
    pub median_percent: f64,
    /// The worst of the same.
    pub worst_percent: f64,
    /// Mean of (estimate − truth) / truth, in per cent: above 0, estimates are too high.
    pub bias_percent: f64,
    /// Estimates that had an interval.
    pub intervals: usize,
    /// Intervals that held the truth.
    pub covered: usize,
    /// Whether the newer half of the estimates is better than the older one.
    pub trend: Trend,
}

/// How errors change with time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Trend {
    /// The newer half has a mean error more than a tenth below that of the older half.
    Improving,
    /// Less than a tenth of difference.
    Stable,
    /// The newer half has a mean error more than a tenth above.
    Degrading,
    /// Fewer than four estimates.
    InsufficientData,
}

impl Accuracy {
    /// Returns the errors of runs that are in the order of time, oldest first.
    ///
    /// A run counts for a quantity only where that was both foretold and measured. A run that did
    /// not come to its end counts for none, as estimates are of whole runs.
    #[must_use]
    pub fn from_runs(runs: &[HistoryRun]) -> Self {
        let [seconds, disk_bytes, memory_bytes] = foretold_and_taken(runs);
        Self {
            seconds: EstimateErrors::of(&seconds),
            disk_bytes: EstimateErrors::of(&disk_bytes),
            memory_bytes: EstimateErrors::of(&memory_bytes),
            runs: runs.len(),
            without_estimate: runs.iter().filter(|run| run.estimate.is_none()).count(),
        }
    }
}

/// Returns what was foretold of complete runs with what they took, for seconds, bytes on the disk and bytes of
/// memory; a run is in those that were both foretold and measured.
pub(super) fn foretold_and_taken<'a>(
    runs: impl IntoIterator<Item = &'a HistoryRun>,
) -> [Vec<(ForecastValue, f64)>; 3] {
    let mut pairs: [Vec<(ForecastValue, f64)>; 3] = Default::default();
    for run in runs.into_iter().filter(|run| run.outcome.complete) {
        let (forecast, outcome) = (run.estimate.unwrap_or_default(), &run.outcome);
        let took = [
            Some(outcome.seconds),
            outcome.disk_bytes.map(|bytes| bytes as f64),
            outcome.memory_bytes.map(|bytes| bytes as f64),
        ];
        let values = forecast.values().into_iter().zip(took);
        for (pairs, ((_, foretold), took)) in pairs.iter_mut().zip(values) {
            pairs.extend(foretold.zip(took));
        }
    }
    pairs
}

impl EstimateErrors {
    /// Returns the errors of estimates and truths, oldest first; `None` where there is none that
    /// can be compared, as nothing can be with a truth of 0.
    fn of(pairs: &[(ForecastValue, f64)]) -> Option<Self> {
        let pairs: Vec<_> = pairs.iter().filter(|(_, truth)| *truth > 0.0).collect();
        let signed: Vec<f64> = pairs
            .iter()
            .map(|(foretold, truth)| 100.0 * (foretold.value - truth) / truth)
            .collect();
        let errors: Vec<f64> = signed.iter().map(|error| error.abs()).collect();
        let held: Vec<bool> = pairs
            .iter()
            .filter_map(|(foretold, truth)| foretold.covers(*truth))
            .collect();
        Some(Self {
            runs: errors.len(),
            mean_percent: mean(&errors)?,
            median_percent: median(errors.iter().copied())?,
            worst_percent: errors.iter().copied().fold(0.0, f64::max),
            bias_percent: mean(&signed)?,
            intervals: held.len(),
            covered: held.iter().filter(|&&held| held).count(),
            trend: trend(&errors),
        })
    }
}

/// Compares the newer half of errors with the older one; of an odd number, the newer half is the
/// longer one.
fn trend(oldest_first: &[f64]) -> Trend {
    if oldest_first.len() < 4 {
        return Trend::InsufficientData;
    }
    let (older, newer) = oldest_first.split_at(oldest_first.len() / 2);
    match (mean(older), mean(newer)) {
        (Some(older), Some(newer)) if newer < 0.9 * older => Trend::Improving,
        (Some(older), Some(newer)) if newer > 1.1 * older => Trend::Degrading,
        _ => Trend::Stable,
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}, {} without an estimate",
            counted(self.runs, "run"),
            self.without_estimate
        )?;
        for (quantity, errors) in [
            ("time", &self.seconds),
            ("bytes", &self.disk_bytes),
            ("memory", &self.memory_bytes),
        ] {
            match errors {
                Some(errors) => writeln!(f, "{quantity}: {errors}")?,
                None => writeln!(f, "{quantity}: nothing was foretold")?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for EstimateErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {:.1} % off on average (median {:.1} %, worst {:.1} %, bias {:+.1} %)",
            counted(self.runs, "estimate"),
            self.mean_percent,
            self.median_percent,
            self.worst_percent,
            self.bias_percent
        )?;
        if self.intervals > 0 {
            write!(f, ", {} of {} intervals held", self.covered, self.intervals)?;
        }
        f.write_str(match self.trend {
            Trend::Improving => ", getting better",
            Trend::Stable => ", no better and no worse with time",
            Trend::Degrading => ", getting worse",
            Trend::InsufficientData => "",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_shrink_with_time_are_an_improvement() {
        assert_eq!(trend(&[40.0, 30.0, 10.0, 5.0]), Trend::Improving);
        assert_eq!(trend(&[5.0, 10.0, 30.0, 40.0]), Trend::Degrading);
        assert_eq!(trend(&[10.0, 10.0, 10.5, 10.5]), Trend::Stable);
        assert_eq!(trend(&[0.0; 6]), Trend::Stable);
        assert_eq!(trend(&[0.0, 0.0, 0.0, 1.0]), Trend::Degrading);
        assert_eq!(trend(&[40.0, 10.0, 5.0]), Trend::InsufficientData);
    }

    #[test]
    fn an_exact_estimate_is_no_error_and_a_truth_of_nothing_is_left_out() {
        let pairs = [
            (ForecastValue::from(10.0), 10.0),
            (ForecastValue::with_interval(12.0, 9.0, 13.0), 10.0),
            (ForecastValue::with_interval(5.0, 4.0, 6.0), 10.0),
            (ForecastValue::from(1.0), 0.0),
        ];
        let errors = EstimateErrors::of(&pairs).unwrap();
        assert_eq!((errors.runs, errors.intervals, errors.covered), (3, 2, 1));
        assert_eq!((errors.median_percent, errors.worst_percent), (20.0, 50.0));
        assert_eq!(errors.bias_percent, -10.0);
        assert_eq!(EstimateErrors::of(&pairs[3..]), None);
    }
}
