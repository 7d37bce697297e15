//! Memory of a run, from its pilots.

use anyhow::Result;
use kato_planner::Interval;
use kato_report::figures::bytes;
use kato_scheduler::StopSignal;

use super::{Measured, Pilots};
use crate::meter::Meter;
use crate::pilot::{PilotCorpus, PilotStore};

/// Memory of a process that has learned nothing yet, in bytes.
const PROGRAM: f64 = 25e6;
/// Times that a pilot has to fill the memory for learning to tell what is taken once it is full.
const FILLS: f64 = 2.5;
/// Least of it that a pilot is given, in bytes: with less, smaller pieces of text are read.
const LEAST: u64 = 4 << 20;
/// Memory while an index is written, mapped pages included: a fixed part, a share of that for sorting,
/// and bytes for a pattern. As measured with 64 and 256 MiB and up to 139 million patterns (docs/benchmarks.md).
const INDEXING: [f64; 3] = [100e6, 0.69, 18.0];
/// Errors of the memory beyond the pilots, downwards and upwards, as shares: large documents take some
/// beside that for learning.
const OFF: [f64; 2] = [0.2, 0.3];
/// What is added upwards for each tenfold of the pilots' text: an allowance, as they hold few of the largest
/// documents. 120 times as much HTML took 1.6 times what was foretold (docs/costs.md).
const LARGE: f64 = 0.2;

/// What a run takes of memory, as pilots tell it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MemoryLaw {
    /// Text of the largest pilot.
    text_bytes: f64,
    /// Peaks of learning, and once the index was written; the latter `None` where no pilot had one.
    learning: Peak,
    indexing: Option<Peak>,
    /// Memory for what is learned and not yet written.
    budget: f64,
    /// Peak once that is full; `None` where no pilot tells.
    full: Option<f64>,
}

/// How a peak grows with the text.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Peak {
    /// That of the largest pilot.
    most: f64,
    /// What a byte of text takes, as far as pilots show.
    a_byte: f64,
}

impl Peak {
    /// Reads the peak from pilots of at most so much text; `None` where they do not tell it.
    fn of(
        measured: &[Measured],
        text_bytes: f64,
        peak: impl Fn(&Measured) -> Option<u64>,
    ) -> Option<Self> {
        let told = |pilot: &Measured| Some((pilot.text_bytes as f64, peak(pilot)? as f64));
        let peaks: Vec<(f64, f64)> = measured.iter().filter_map(told).collect();
        let least = peaks.iter().copied().min_by(|a, b| {
            let by_text = a.0.total_cmp(&b.0);
            by_text.then(a.1.total_cmp(&b.1))
        });
        let (least_text, least) = least?;
        let most = peaks.iter().map(|peak| peak.1).fold(0.0, f64::max);
        Some(Self {
            most,
            a_byte: (most - least) / (text_bytes - least_text).max(1.0),
        })
    }

    /// Returns the peak of a run with so much more text than the largest pilot: at most `full`, or what
    /// that took.
    fn grown(self, more_bytes: f64, full: f64) -> f64 {
        let grown = self.most + self.a_byte * more_bytes.max(0.0);
        grown.min(full).max(self.most)
    }
}

impl MemoryLaw {
    /// Learns from the pilots and from more of them, of the largest size with a part of the memory for
    /// learning that they fill several times. `None` where pilots do not tell their memory.
    ///
    /// The second half of these have half of the memory, so that they tell the line on which the peak grows with
    /// it: a part is what workers have whatever it is. Halves, as what is learned lies in tables that
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
        meter: &mut Meter,
    ) -> Result<Option<Self>> {
        let text_bytes = corpus.total_bytes() as f64;
        let Some(learning) = Peak::of(measured, text_bytes, |pilot| pilot.memory_bytes) else {
            return Ok(None);
        };
        let mut law = Self {
            text_bytes,
            learning,
            indexing: Peak::of(measured, text_bytes, |pilot| pilot.index_memory_bytes),
            budget: budget as f64,
            full: None,
        };
        let mut part = budget;
        // Pilots of little text may peak below the memory of a program, and no part is below nothing.
        while part > 0 && FILLS * part as f64 > learning.most - PROGRAM {
            part /= 2;
        }
        if part / 2 >= LEAST && pilots.store == PilotStore::Embedded {
            let repeats = pilots.repeats.min(3);
            let (mut done, all) = (0, 2 * repeats);
            let mut mean_peak = |budget: u64| -> Result<f64> {
                let mut flags = pilots.flags.clone();
                flags.retain(|flag| flag != "--index" && flag != "--occurrences");
                flags.push("--no-index".to_owned());
                let at = flags.iter().position(|flag| flag == "--memory");
                if let Some(value) = at.and_then(|at| flags.get_mut(at + 1)) {
                    *value = budget.to_string();
                }
                let mut peaks = Vec::new();
                for _ in 0..repeats {
                    let place = corpus.place(&pilots.store)?;
                    let report = corpus.train(&place, corpus.n_documents(), &flags, stop)?;
                    place.remove()?;
                    peaks.extend(report["learning_peak_memory_bytes"].as_f64());
                    done += 1;
                    meter.update(done as u64, Some(all as u64), || {
                        let memory = bytes(budget as f64);
                        vec![format!("pilot {done} of {all} with {memory} of memory")]
                    });
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
    /// Learning takes more with the text, as in the pilots, until the memory for it is full. The index is
    /// sorted in as much, and takes more with its patterns.
    #[must_use]
    pub(crate) fn at(&self, text_bytes: f64, indexed: Option<f64>) -> Interval {
        let more_bytes = text_bytes - self.text_bytes;
        let bounds = [0.7, 1.4].map(|times| PROGRAM + times * self.budget);
        let full = self.full.unwrap_or(f64::midpoint(bounds[0], bounds[1]));
        let [fixed, sorting, a_pattern] = INDEXING;
        let indexing = indexed.map_or(0.0, |patterns| {
            let full = fixed + sorting * self.budget + a_pattern * patterns;
            // Where no pilot had an index, it takes as little as learning while there is little of it.
            let peak = self.indexing.unwrap_or(self.learning);
            peak.grown(more_bytes, full)
        });
        let at = |full: f64| self.learning.grown(more_bytes, full).max(indexing);
        let [low, high] = match self.full {
            Some(full) => [full; 2],
            None => bounds,
        };
        let least = self.learning.most.min(at(full));
        let tenfolds = (text_bytes / self.text_bytes).max(1.0).log10();
        Interval::new(
            at(full),
            (at(low) / (1.0 + OFF[0])).max(least),
            at(high) * (1.0 + OFF[1] + LARGE * tenfolds),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_grows_with_the_text_until_it_is_full_and_then_with_the_index_alone() {
        let learning = Peak {
            most: 125e6,
            a_byte: 5.0,
        };
        let law = MemoryLaw {
            text_bytes: 20e6,
            learning,
            indexing: None,
            budget: 256e6,
            full: Some(400e6),
        };
        assert_eq!(law.at(40e6, None).value, 225e6);
        let full = law.at(1e9, None);
        assert_eq!(full.value, 400e6);
        let far = law.at(1e12, None);
        assert_eq!((far.value, far.low), (full.value, full.low));
        // Pilots that are so small hold few of the large documents.
        assert!(far.high > 1.2 * full.high);
        assert!(law.at(1e9, Some(1e8)).value > 1.8e9);
        // What pilots took for their index is no peak of learning.
        let indexing = Some(Peak {
            most: 150e6,
            a_byte: 6.0,
        });
        let with_index = MemoryLaw { indexing, ..law };
        assert_eq!(with_index.at(40e6, None).value, 225e6);
        assert_eq!(with_index.at(40e6, Some(1e6)).value, 270e6);
        // Where no pilot tells how much it is then, the interval is wider.
        let unknown = MemoryLaw { full: None, ..law }.at(1e9, None);
        assert!(unknown.high - unknown.low > 1.3 * (full.high - full.low));
    }
}
