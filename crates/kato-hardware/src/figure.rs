//! Measured numbers, each with its unit and its validity.

use std::fmt;

use serde::{Deserialize, Serialize};

pub use crate::finding::Finding;

/// A measured figure, or the reason why there is none.
pub type Measured = Finding<MeasuredFigure>;

/// A measured number with its unit and its validity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MeasuredFigure {
    /// The number: for a rate all work over all time, for a latency the median.
    pub value: f64,
    /// The unit of the number.
    pub unit: Unit,
    /// The distribution, of latencies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percentiles: Option<Percentiles>,
    /// How it was obtained and how far off it may be.
    pub validity: Validity,
}

/// How a figure was obtained and how far off it may be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Validity {
    /// The layer between the measurement and the thing measured.
    pub method: MeasurementMethod,
    /// Number of observations: operations for a latency, windows of time or rounds for a rate.
    pub samples: u64,
    /// Distance between the quartiles of the observations, as a share of their median: half of
    /// them lie in a band this wide. `None` with fewer than four observations.
    pub spread: Option<f64>,
    /// Share of processor time that a hypervisor gave to others meanwhile, from 0 to 1; `None`
    /// where the system does not report it.
    pub steal: Option<f64>,
    /// Share of processor time that other programs took meanwhile, from 0 to 1; `None` where the
    /// system does not report it. Work that the kernel does for this program on threads of its
    /// own, as for disks, counts as theirs.
    pub others: Option<f64>,
    /// Time for which the control group was held back by its processor quota, as a share of the
    /// time measured; may exceed 1 with several threads. `None` where the system does not report
    /// it.
    pub throttled: Option<f64>,
    /// Duration of the measurement.
    pub seconds: f64,
    /// Further remarks for the reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The layer between a measurement and the thing measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MeasurementMethod {
    /// Nothing: the device, the processor or the service itself.
    Direct,
    /// The operating system's cache of files; the device may be slower.
    Cached,
    /// A program's own caches, filled by the same input before.
    Warm,
}

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Unit {
    /// Millions of bytes a second.
    MegabytesPerSecond,
    /// Operations, names, tokens, patterns … a second.
    PerSecond,
    /// Millionths of a second.
    Microseconds,
    /// Bytes.
    Bytes,
}

/// The distribution of latencies, in the figure's unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Percentiles {
    /// Half took at most this long.
    pub p50: f64,
    /// Nine of ten took at most this long.
    pub p90: f64,
    /// 99 of a hundred took at most this long; `None` of fewer than a hundred.
    pub p99: Option<f64>,
    /// The slowest.
    pub max: f64,
}

impl Unit {
    /// Returns the unit as it is written behind a number.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::MegabytesPerSecond => "MB/s",
            Self::PerSecond => "/s",
            Self::Microseconds => "µs",
            Self::Bytes => "bytes",
        }
    }
}

impl MeasurementMethod {
    /// Returns the method as one word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Cached => "cached",
            Self::Warm => "warm",
        }
    }
}

impl fmt::Display for MeasuredFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", readable(self.value), self.unit.symbol())
    }
}

impl fmt::Display for Validity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, n={}", self.method.as_str(), self.samples)?;
        match self.spread {
            Some(spread) => write!(f, ", spread {:.0} %", spread * 100.0)?,
            None => write!(f, ", spread unknown")?,
        }
        // Below half a percent neither changes how the figure is to be read.
        for (name, share) in [
            ("steal", self.steal),
            ("other programs", self.others),
            ("throttled", self.throttled),
        ] {
            if let Some(share) = share.filter(|share| *share >= 0.005) {
                write!(f, ", {name} {:.0} %", share * 100.0)?;
            }
        }
        match &self.note {
            Some(note) => write!(f, "; {note}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Percentiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p90 {}", readable(self.p90))?;
        if let Some(p99) = self.p99 {
            write!(f, ", p99 {}", readable(p99))?;
        }
        write!(f, ", max {}", readable(self.max))
    }
}

/// Returns a number as short text, a large one in thousands, millions or thousands of millions.
pub(crate) fn readable(value: f64) -> String {
    let (scaled, suffix) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, " G"),
        size if size >= 1e6 => (value / 1e6, " M"),
        size if size >= 1e4 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    let decimals = match scaled.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    format!("{scaled:.decimals$}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits() {
        let cases = [
            (0.0, "0.00"),
            (3.17159, "3.17"),
            (42.19, "42.2"),
            (1234.5, "1234"),
            (12_345.0, "12.3 k"),
            (24_100_000.0, "24.1 M"),
            (2.5e10, "25.0 G"),
        ];
        for (value, text) in cases {
            assert_eq!(readable(value), text);
        }
    }
}
