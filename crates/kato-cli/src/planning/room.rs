//! Memory and the index of a run, from its pilots.

use anyhow::Result;
use kato_planner::Interval;
use kato_planner::scaling::{Law, ScalingAnalyzer};
use kato_prediction::disk::{LOADED_PATTERNS, expected_bytes};
use kato_scheduler::StopSignal;

use super::{Measured, Pilots, interval};
use crate::pilot::{PilotCorpus, PilotStore};

/// Error of the bytes of an index of which no pilot tells, as a share.
const UNTOLD: f64 = 0.15;
/// Times that the largest pilot's patterns have to be those of another for growth to show.
const SPAN: f64 = 4.0;
/// Error of what pilots tell of an index, as a share for each tenfold of their size: an allowance.
const DRIFT: f64 = 0.04;

/// The index that a run leaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Index {
    /// Its bytes.
    pub(crate) bytes: Interval,
    /// Seconds in which it is written; `None` where no pilot tells.
    pub(crate) seconds: Option<Interval>,
}

impl Index {
    /// Foretells the index of a run with so many patterns; `None` where it has too few for one.
    ///
    /// The bytes of a pattern grow with the logarithm of the patterns, as the numbers that an index
    /// holds do; the time grows as the patterns.
    pub(crate) fn of(measured: &[Measured], patterns: Interval) -> Option<Self> {
        if patterns.value < LOADED_PATTERNS as f64 {
            return None;
        }
        let points: Vec<(f64, f64)> = measured
            .iter()
            .filter_map(|pilot| Some((pilot.patterns? as f64, pilot.index_bytes? as f64)))
            .collect();
        let largest = points.iter().map(|point| point.0).fold(1.0, f64::max);
        let off = DRIFT * (patterns.value / largest).max(1.0).log10();
        let bytes = match a_pattern(&points) {
            Some(law) => Interval::new(
                law(patterns.value) * patterns.value,
                law(patterns.low) * patterns.low / (1.0 + off),
                law(patterns.high) * patterns.high * (1.0 + off),
            ),
            None => {
                let of = |patterns: f64| expected_bytes(patterns as u64) as f64;
                Interval::new(
                    of(patterns.value),
                    of(patterns.low) * (1.0 - UNTOLD),
                    of(patterns.high) * (1.0 + UNTOLD),
                )
            }
        };
        Some(Self {
            bytes,
            seconds: seconds(measured, patterns),
        })
    }
}

/// Returns the bytes of a pattern over the patterns, fitted by least squares to their logarithm; `None`
/// where pilots are too near to each other to tell how these grow.
fn a_pattern(points: &[(f64, f64)]) -> Option<impl Fn(f64) -> f64 + use<>> {
    let n = points.len() as f64;
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(&|p| p.0.ln()), mean(&|p| p.1 / p.0));
    let spread = mean(&|p| (p.0.ln() - x).powi(2));
    let most = points.iter().map(|point| point.0).fold(0.0, f64::max);
    let is_told = points.iter().any(|point| SPAN * point.0 <= most);
    if !is_told {
        return None;
    }
    let slope = (mean(&|p| (p.0.ln() - x) * (p.1 / p.0 - y)) / spread).max(0.0);
    Some(move |patterns: f64| y + slope * (patterns.max(1.0).ln() - x))
}

/// Returns the seconds in which the index of so many patterns is written.
fn seconds(measured: &[Measured], patterns: Interval) -> Option<Interval> {
    let points = measured
        .iter()
        .filter_map(|pilot| Some((pilot.patterns? as f64, pilot.index_seconds?)));
    let analyzer = ScalingAnalyzer::new()
        .with_laws([Law::Linear])
        .with_force(true);
    let law = analyzer.fit(points).ok()?;
    let at = |patterns: f64| law.predict(patterns).ok().map(interval);
    let (value, low, high) = (at(patterns.value)?, at(patterns.low)?, at(patterns.high)?);
    Some(Interval::new(value.value, low.low, high.high))
}

/// Memory of a process that has learned nothing yet, in bytes.
const PROGRAM: f64 = 25e6;
/// Times that a pilot has to fill the memory for learning to tell what is taken once it is full.
const FILLS: f64 = 2.5;
/// Least of it that a pilot is given, in bytes: with less, smaller pieces of text are read.
const LEAST: u64 = 4 << 20;
/// Memory while an index is written, mapped pages included: a fixed part, a share of that for sorting,
/// and bytes for a pattern. As measured with 64 and 256 MiB and up to 139 million patterns (docs/costs.md).
const INDEXING: [f64; 3] = [100e6, 0.69, 18.0];
/// Errors of the memory beyond the pilots, downwards and upwards, as shares: large documents take some
/// beside that for learning.
const OFF: [f64; 2] = [0.2, 0.3];

/// What a run takes of memory, as pilots tell it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MemoryLaw {
    /// The peak of the largest pilot, and its text.
    most: f64,
    text_bytes: f64,
    /// What a byte of text takes, as far as pilots show.
    a_byte: f64,
    /// Memory for what is learned and not yet written.
    budget: f64,
    /// Peak once that is full; `None` where no pilot tells.
    full: Option<f64>,
}

impl MemoryLaw {
    /// Learns from the pilots and from more of them, of the largest size with a part of the memory for
    /// learning that they fill several times. `None` where pilots do not tell their memory.
    ///
    /// Two of these have a half of the other's, so that they tell the line on which the peak grows with that
    /// memory: a part is what workers have whatever it is. Halves, as what is learned lies in tables that
    /// double.
    ///
    /// # Errors
    ///
    /// When a pilot fails, and when it was interrupted.
    pub(crate) fn measure(
        corpus: &PilotCorpus,
        pilots: &Pilots,
        measured: &[Measured],
        budget: u64,
        stop: &StopSignal,
    ) -> Result<Option<Self>> {
        let peaks = measured.iter().filter_map(|pilot| {
            let peak = pilot.memory_bytes?;
            Some((pilot.text_bytes as f64, peak as f64))
        });
        let (least, most) = peaks.fold((None::<(f64, f64)>, 0.0_f64), |(least, most), peak| {
            let is_less = least.is_none_or(|least| peak < least);
            (if is_less { Some(peak) } else { least }, most.max(peak.1))
        });
        let Some((least_text, least)) = least else {
            return Ok(None);
        };
        let between = (corpus.total_bytes() as f64 - least_text).max(1.0);
        let mut law = Self {
            most,
            text_bytes: corpus.total_bytes() as f64,
            a_byte: (most - least) / between,
            budget: budget as f64,
            full: None,
        };
        let mut part = budget;
        // Pilots of little text may peak below the memory of a program, and no part is below nothing.
        while part > 0 && FILLS * part as f64 > most - PROGRAM {
            part /= 2;
        }
        if part / 2 >= LEAST && pilots.store == PilotStore::Embedded {
            let mean_peak = |budget: u64| -> Result<f64> {
                let mut flags = pilots.flags.clone();
                flags.push("--no-index".to_owned());
                let at = flags.iter().position(|flag| flag == "--memory");
                if let Some(value) = at.and_then(|at| flags.get_mut(at + 1)) {
                    *value = budget.to_string();
                }
                let mut peaks = Vec::new();
                for _ in 0..pilots.repeats.min(3) {
                    let place = corpus.place(&pilots.store)?;
                    let report = corpus.train(&place, corpus.n_documents(), &flags, stop)?;
                    place.remove()?;
                    peaks.extend(report["peak_memory_bytes"].as_f64());
                }
                Ok(peaks.iter().sum::<f64>() / peaks.len() as f64)
            };
            let (of_part, of_half) = (mean_peak(part)?, mean_peak(part / 2)?);
            let slope = (of_part - of_half).max(0.0) / (part - part / 2) as f64;
            let full = of_part + slope * (budget - part) as f64;
            law.full = full.is_finite().then_some(full);
        }
        Ok(Some(law))
    }

    /// Returns the peak of a run over so much text, and of writing the index of so many patterns in the
    /// end.
    ///
    /// It grows with the text as in the pilots until the memory for learning is full, and then with the
    /// index alone, which is sorted in as much.
    #[must_use]
    pub(crate) fn at(&self, text_bytes: f64, indexed: Option<f64>) -> Interval {
        let grown = self.most + self.a_byte * (text_bytes - self.text_bytes).max(0.0);
        let bounds = [0.7, 1.4].map(|times| PROGRAM + times * self.budget);
        let full = self.full.unwrap_or(f64::midpoint(bounds[0], bounds[1]));
        let [fixed, sorting, a_pattern] = INDEXING;
        let indexing = indexed.map_or(0.0, |patterns| {
            fixed + sorting * self.budget + a_pattern * patterns
        });
        let at = |full: f64| grown.min(full.max(indexing)).max(self.most);
        let [low, high] = match self.full {
            Some(full) => [full; 2],
            None => bounds,
        };
        let least = self.most.min(at(full));
        Interval::new(
            at(full),
            (at(low) / (1.0 + OFF[0])).max(least),
            at(high) * (1.0 + OFF[1]),
        )
    }
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
        let found = Index::of(&measured, Interval::around(1e8, 0.1)).unwrap();
        assert!((found.bytes.value / 84e8 - 1.0).abs() < 1e-4, "{found:?}");
        assert!((found.seconds.unwrap().value / 100.0 - 1.0).abs() < 1e-6);
        assert!(found.bytes.low < 0.9 * 84e8 && 1.1 * 84e8 < found.bytes.high);
    }

    #[test]
    fn of_pilots_too_small_for_an_index_the_bytes_are_told_and_the_time_is_not() {
        let patterns = Interval::exact(1e6);
        let found = Index::of(&[Measured::default()], patterns).unwrap();
        assert_eq!(found.bytes.value, expected_bytes(1_000_000) as f64);
        assert_eq!(found.seconds, None);
        assert_eq!(
            Index::of(&[pilot(150_000)], Interval::exact(99_999.0)),
            None
        );
    }

    #[test]
    fn memory_grows_with_the_text_until_it_is_full_and_then_with_the_index_alone() {
        let law = MemoryLaw {
            most: 125e6,
            text_bytes: 20e6,
            a_byte: 5.0,
            budget: 256e6,
            full: Some(400e6),
        };
        assert_eq!(law.at(40e6, None).value, 225e6);
        let full = law.at(1e9, None);
        assert_eq!(full.value, 400e6);
        assert_eq!(law.at(1e12, None), full);
        assert!(law.at(1e9, Some(1e8)).value > 1.8e9);
        // Where no pilot tells how much it is then, the interval is wider.
        let unknown = MemoryLaw { full: None, ..law }.at(1e9, None);
        assert!(unknown.high - unknown.low > 1.5 * (full.high - full.low));
    }
}
