//! Decides whether memory grows: the slope through all pairs of points, with an interval.

use kato_report::figures::median;
use serde::{Deserialize, Serialize};

use crate::point::TimelinePoint;

/// Largest number of points for the slope: means of equally many neighbours. It bounds the pairs to
/// some 7,000, and with them the time that a summary takes.
const MAX_POINTS: usize = 120;
/// Fewest points from which a slope is computed.
const MIN_POINTS: usize = 10;
/// Growth by less than this share of the mean over the whole run is called stable.
const NEGLIGIBLE: f64 = 0.02;

/// How memory develops.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Direction {
    /// Too few points to say.
    #[default]
    Unknown,
    /// No growth that can be told from chance, or less than 2 % of the mean over the run.
    Stable,
    /// It grows.
    Growing,
    /// It shrinks.
    Declining,
}

/// Growth of the resident set: Sen's slope, the median of the slopes between all pairs of points,
/// with Sen's 95 % interval; its variance is raised by (1 + ρ) / (1 − ρ), ρ being the correlation
/// of neighbours around the line.
///
/// P. K. Sen, "Estimates of the regression coefficient based on Kendall's tau", J. Am. Stat. Assoc.
/// 63 (1968).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MemoryTrend {
    /// Which way it goes.
    pub direction: Direction,
    /// Bytes a second.
    pub bytes_per_second: Option<f64>,
    /// Lower end of the interval.
    pub lower: Option<f64>,
    /// Upper end of the interval.
    pub upper: Option<f64>,
    /// Bytes a sample: bytes a second by samples a second; `None` unless samples are counted.
    pub bytes_per_sample: Option<f64>,
}

impl MemoryTrend {
    /// Returns the trend of the resident set over a timeline.
    pub(crate) fn from_points(points: &[TimelinePoint], samples_per_second: Option<f64>) -> Self {
        let step = points.len().div_ceil(MAX_POINTS).max(1);
        let means: Vec<(f64, f64)> = points
            .chunks(step)
            .filter_map(|chunk| {
                let levels = chunk.iter().filter_map(|p| {
                    let level = p.process_rss?;
                    // A level is that of the snapshot at the end of its stretch.
                    Some((p.start_seconds + p.seconds, level.mean))
                });
                mean(levels)
            })
            .collect();
        let Some((slope, lower, upper)) = slope(&means) else {
            return Self::default();
        };
        let span = means.last().map_or(0.0, |l| l.0) - means.first().map_or(0.0, |f| f.0);
        let level = means.iter().map(|(_, bytes)| bytes).sum::<f64>() / means.len() as f64;
        // A slope can be certain and still too small to matter.
        let is_negligible = slope.abs() * span < NEGLIGIBLE * level;
        Self {
            direction: match () {
                () if is_negligible => Direction::Stable,
                () if lower > 0.0 => Direction::Growing,
                () if upper < 0.0 => Direction::Declining,
                () => Direction::Stable,
            },
            bytes_per_second: Some(slope),
            lower: Some(lower),
            upper: Some(upper),
            bytes_per_sample: samples_per_second
                .filter(|rate| *rate > 0.0)
                .map(|rate| slope / rate),
        }
    }
}

/// Returns the mean of points; `None` without points.
fn mean(points: impl Iterator<Item = (f64, f64)>) -> Option<(f64, f64)> {
    let (mut n, mut x, mut y) = (0.0, 0.0, 0.0);
    for (at, value) in points {
        n += 1.0;
        x += at;
        y += value;
    }
    (n > 0.0).then(|| (x / n, y / n))
}

/// Returns Sen's slope and its 95 % interval.
fn slope(points: &[(f64, f64)]) -> Option<(f64, f64, f64)> {
    let n = points.len();
    if n < MIN_POINTS {
        return None;
    }
    // Points are in order of time, so each pair is taken once.
    let mut slopes = Vec::with_capacity(n * (n - 1) / 2);
    for (at, (x, y)) in points.iter().enumerate() {
        let later = points.iter().skip(at + 1);
        slopes.extend(later.filter(|(u, _)| u > x).map(|(u, v)| (v - y) / (u - x)));
    }
    slopes.sort_by(f64::total_cmp);
    let middle = median(slopes.iter().copied())?;
    let n = n as f64;
    // The variance of Kendall's S without ties, n (n − 1) (2n + 5) / 18, as in Sen (1968).
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0 * inflation(points, middle)).sqrt();
    let reach = 1.96 * deviation;
    let rank = |rank: f64| {
        let last = slopes.len().saturating_sub(1);
        slopes.get((rank.max(0.0) as usize).min(last)).copied()
    };
    let count = slopes.len() as f64;
    // The interval lies between the slopes of these ranks, so nothing is assumed about how the
    // points scatter.
    Some((
        middle,
        rank(((count - reach) / 2.0).floor())?,
        rank(((count + reach) / 2.0).ceil())?,
    ))
}

/// Returns the factor by which the variance is greater because neighbours are alike.
fn inflation(points: &[(f64, f64)], slope: f64) -> f64 {
    // What is left when the line is taken off; its constant part cancels with the mean.
    let rest: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
    let mean = rest.iter().sum::<f64>() / rest.len() as f64;
    let variance: f64 = rest.iter().map(|r| (r - mean).powi(2)).sum();
    let neighbours = rest.iter().zip(rest.iter().skip(1));
    let covariance: f64 = neighbours.map(|(a, b)| (a - mean) * (b - mean)).sum();
    if variance <= 0.0 {
        return 1.0;
    }
    // A negative correlation would narrow the interval, and one of 1 would make it infinite.
    let correlation = (covariance / variance).clamp(0.0, 0.95);
    (1.0 + correlation) / (1.0 - correlation)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::Level;

    fn points(bytes: impl Fn(usize) -> f64, n: usize) -> Vec<TimelinePoint> {
        (0..n)
            .map(|at| TimelinePoint {
                start_seconds: at as f64,
                seconds: 1.0,
                process_rss: Some(Level::from_value(bytes(at))),
                ..TimelinePoint::default()
            })
            .collect()
    }

    /// Noise without a trend, the same every time.
    fn noise(at: usize) -> f64 {
        ((at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f64 / (1u64 << 24) as f64 - 0.5
    }

    #[test]
    fn steady_growth_is_measured_by_second_and_by_sample() {
        let points = points(|at| 1e8 + 1e6 * at as f64 + 1e6 * noise(at), 300);
        let trend = MemoryTrend::from_points(&points, Some(50.0));
        assert_eq!(trend.direction, Direction::Growing);
        let slope = trend.bytes_per_second.unwrap();
        assert!((slope - 1e6).abs() < 2e4, "{slope}");
        assert!(trend.lower.unwrap() <= 1e6 && 1e6 <= trend.upper.unwrap());
        assert!((trend.bytes_per_sample.unwrap() - slope / 50.0).abs() < 1e-9);
    }

    #[test]
    fn noise_alone_is_stable() {
        let points = points(|at| 1e8 + 3e7 * noise(at), 200);
        let trend = MemoryTrend::from_points(&points, None);
        assert_eq!(trend.direction, Direction::Stable);
        assert!(trend.lower.unwrap() < 0.0 && trend.upper.unwrap() > 0.0);
    }

    #[test]
    fn one_burst_is_no_trend() {
        let points = points(|at| if at == 60 { 9e8 } else { 1e8 + noise(at) }, 100);
        assert_eq!(
            MemoryTrend::from_points(&points, None).direction,
            Direction::Stable
        );
    }

    #[test]
    fn memory_that_is_given_back_declines() {
        let points = points(|at| 1e9 - 2e6 * at as f64, 100);
        assert_eq!(
            MemoryTrend::from_points(&points, None).direction,
            Direction::Declining
        );
    }

    #[test]
    fn too_few_points_say_nothing() {
        let trend = MemoryTrend::from_points(&points(|at| at as f64, 9), None);
        assert_eq!(trend, MemoryTrend::default());
    }
}
