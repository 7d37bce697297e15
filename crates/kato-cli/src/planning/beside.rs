//! What a run leaves beside what it has learned, from its pilots: the index, and where they are asked for the
//! counts of the head and the occurrences.

use kato_planner::Interval;
use kato_planner::scaling::{Law, ScalingAnalyzer};
use kato_prediction::disk::{LOADED_PATTERNS, expected_bytes};

use super::{Measured, interval};

/// Error of the bytes of an index of which no pilot tells, as a share.
const UNTOLD: f64 = 0.15;
/// Times that what the largest pilot has learned has to be that of another for growth to show.
const SPAN: f64 = 4.0;
/// Error of what pilots tell of the bytes, as a share for each tenfold of their size: an allowance.
const DRIFT: f64 = 0.04;

/// What is written when all is learned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Written {
    /// Its bytes.
    pub(crate) bytes: Interval,
    /// Seconds in which it is written; `None` where no pilot tells.
    pub(crate) seconds: Option<Interval>,
}

/// What a run leaves beside what it has learned; `None` where it does not, or pilots do not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Beside {
    pub(crate) index: Option<Written>,
    pub(crate) head: Option<Written>,
    pub(crate) occurrences: Option<Written>,
}

impl Beside {
    /// Foretells what a run over so much text leaves, with so many patterns.
    ///
    /// The bytes of a pattern, and those of occurrences for a byte of text, grow with the logarithm of their
    /// number, as the numbers that they hold do; the time grows as the number. An index of fewer patterns than
    /// usual is left where it is asked for.
    #[must_use]
    pub(crate) fn of(
        measured: &[Measured],
        patterns: Interval,
        text_bytes: f64,
        is_index_asked_for: bool,
    ) -> Self {
        let of = |size: Interval, points: &[Point]| {
            Some(Written {
                bytes: by_law(points, size)?,
                seconds: seconds(points, size),
            })
        };
        let by_patterns = |of: fn(&Measured) -> [Option<f64>; 2]| -> Vec<Point> {
            let points = measured.iter().filter_map(|pilot| {
                // Nothing can be said for each pattern where there is none.
                let patterns = pilot.patterns.filter(|&patterns| patterns > 0)?;
                let [bytes, seconds] = of(pilot);
                Some((patterns as f64, bytes?, seconds))
            });
            points.collect()
        };
        let of_index =
            by_patterns(|pilot| [pilot.index_bytes.map(|b| b as f64), pilot.index_seconds]);
        let of_head = by_patterns(|pilot| [pilot.head_bytes.map(|b| b as f64), pilot.head_seconds]);
        let of_occurrences: Vec<Point> = measured
            .iter()
            .filter_map(|pilot| {
                let bytes = pilot.occurrences_bytes? as f64;
                Some((pilot.text_bytes as f64, bytes, pilot.occurrences_seconds))
            })
            .collect();
        let has_index = patterns.value >= LOADED_PATTERNS as f64 || is_index_asked_for;
        let index = has_index.then(|| Written {
            bytes: by_law(&of_index, patterns).unwrap_or_else(|| untold(patterns)),
            seconds: seconds(&of_index, patterns),
        });
        Self {
            index,
            head: of(patterns, &of_head),
            occurrences: of(Interval::exact(text_bytes), &of_occurrences),
        }
    }

    /// Returns the bytes of all of it.
    #[must_use]
    pub(crate) fn bytes(&self) -> Interval {
        let all = [self.index, self.head, self.occurrences];
        let bytes = all.into_iter().flatten().map(|written| written.bytes);
        bytes.fold(Interval::exact(0.0), |sum, bytes| sum.plus(bytes))
    }

    /// Returns the seconds in which all of it is written, as far as pilots tell.
    #[must_use]
    pub(crate) fn seconds(&self) -> Interval {
        let all = [self.index, self.head, self.occurrences];
        let seconds = all
            .into_iter()
            .flatten()
            .filter_map(|written| written.seconds);
        seconds.fold(Interval::exact(0.0), |sum, seconds| sum.plus(seconds))
    }
}

/// A size, the bytes that were written for it, and in how many seconds.
type Point = (f64, f64, Option<f64>);

/// Returns the bytes of the index that a run leaves unasked, by what an index usually has; `None` where it has
/// too few patterns for one.
#[must_use]
pub(crate) fn usual_index(patterns: Interval) -> Option<Interval> {
    (patterns.value >= LOADED_PATTERNS as f64).then(|| untold(patterns))
}

/// Returns the bytes of an index by what an index usually has.
fn untold(patterns: Interval) -> Interval {
    let of = |patterns: f64| expected_bytes(patterns as u64) as f64;
    Interval::new(
        of(patterns.value),
        of(patterns.low) * (1.0 - UNTOLD),
        of(patterns.high) * (1.0 + UNTOLD),
    )
}

/// Returns the bytes for a size by the law that pilots tell; `None` where they are too near to each other.
fn by_law(points: &[Point], size: Interval) -> Option<Interval> {
    let law = of_each(points)?;
    let largest = points.iter().map(|point| point.0).fold(1.0, f64::max);
    let off = DRIFT * (size.value / largest).max(1.0).log10();
    Some(Interval::new(
        law(size.value) * size.value,
        law(size.low) * size.low / (1.0 + off),
        law(size.high) * size.high * (1.0 + off),
    ))
}

/// Returns the bytes for each of a size, fitted by least squares to its logarithm; `None` where pilots are
/// too near to each other to tell how these grow.
fn of_each(points: &[Point]) -> Option<impl Fn(f64) -> f64 + use<>> {
    let n = points.len() as f64;
    let mean = |of: &dyn Fn(&Point) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(&|p| p.0.ln()), mean(&|p| p.1 / p.0));
    let spread = mean(&|p| (p.0.ln() - x).powi(2));
    let most = points.iter().map(|point| point.0).fold(0.0, f64::max);
    let is_told = points.iter().any(|point| SPAN * point.0 <= most);
    if !is_told {
        return None;
    }
    let slope = (mean(&|p| (p.0.ln() - x) * (p.1 / p.0 - y)) / spread).max(0.0);
    Some(move |size: f64| y + slope * (size.max(1.0).ln() - x))
}

/// Returns the seconds for a size.
fn seconds(points: &[Point], size: Interval) -> Option<Interval> {
    let points = points
        .iter()
        .filter_map(|&(size, _, seconds)| Some((size, seconds?)));
    let analyzer = ScalingAnalyzer::new()
        .with_laws([Law::Linear])
        .with_force(true);
    let law = analyzer.fit(points).ok()?;
    let at = |size: f64| law.predict(size).ok().map(interval);
    let (value, low, high) = (at(size.value)?, at(size.low)?, at(size.high)?);
    Some(Interval::new(value.value, low.low, high.high))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pilot with so many patterns, of which each takes 60 bytes of an index and 3 more for each tenfold,
    /// and a microsecond.
    fn pilot(patterns: u64) -> Measured {
        let n = patterns as f64;
        Measured {
            patterns: Some(patterns),
            index_bytes: Some((n * (60.0 + 3.0 * n.log10())) as u64),
            index_seconds: Some(n / 1e6),
            ..Measured::default()
        }
    }

    #[test]
    fn an_index_grows_a_little_faster_than_its_patterns() {
        let measured = [150_000, 300_000, 600_000, 900_000].map(pilot);
        let found = Beside::of(&measured, Interval::around(1e8, 0.1), 1.0, false);
        assert_eq!((found.head, found.occurrences), (None, None));
        let found = found.index.unwrap();
        assert!((found.bytes.value / 84e8 - 1.0).abs() < 1e-4, "{found:?}");
        assert!((found.seconds.unwrap().value / 100.0 - 1.0).abs() < 1e-6);
        assert!(found.bytes.low < 0.9 * 84e8 && 1.1 * 84e8 < found.bytes.high);
    }

    #[test]
    fn of_pilots_too_small_for_an_index_the_bytes_are_told_and_the_time_is_not() {
        let patterns = Interval::exact(1e6);
        let found = Beside::of(&[Measured::default()], patterns, 1.0, false)
            .index
            .unwrap();
        assert_eq!(found.bytes.value, expected_bytes(1_000_000) as f64);
        assert_eq!(found.seconds, None);
        let few = Interval::exact(99_999.0);
        let unasked = Beside::of(&[pilot(150_000)], few, 1.0, false);
        assert_eq!(unasked, Beside::default());
        let asked = Beside::of(&[Measured::default()], few, 1.0, true);
        assert!(asked.index.is_some());
        assert_eq!(usual_index(patterns), Some(found.bytes));
        assert_eq!(usual_index(Interval::exact(99_999.0)), None);
    }

    #[test]
    fn the_head_and_the_occurrences_are_told_where_pilots_wrote_them() {
        let measured = [1_000_000u64, 2_000_000, 8_000_000].map(|text_bytes| Measured {
            text_bytes,
            patterns: Some(text_bytes / 100),
            head_bytes: Some(text_bytes / 2),
            head_seconds: Some(text_bytes as f64 / 1e8),
            occurrences_bytes: Some(text_bytes / 4),
            occurrences_seconds: Some(text_bytes as f64 / 2e8),
            ..Measured::default()
        });
        let found = Beside::of(&measured, Interval::exact(10_000.0), 1e8, false);
        assert_eq!(found.index, None, "too few patterns");
        let found = Beside::of(&measured, Interval::around(1e6, 0.1), 1e8, false);
        let near = |found: Option<Written>, bytes: f64, seconds: f64| {
            let found = found.unwrap();
            assert!((found.bytes.value / bytes - 1.0).abs() < 1e-6, "{found:?}");
            assert!(
                (found.seconds.unwrap().value / seconds - 1.0).abs() < 1e-6,
                "{found:?}"
            );
        };
        near(found.head, 5e7, 1.0);
        near(found.occurrences, 2.5e7, 0.5);
        let written = [found.index, found.head, found.occurrences].map(|w| w.unwrap().bytes.value);
        assert_eq!(found.bytes().value, written.iter().sum::<f64>());
        assert!((found.seconds().value - 1.5).abs() < 1e-6);
    }
}
