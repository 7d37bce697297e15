//! The class of a machine, by what was measured.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::figure::{Finding, Measured, MeasurementMethod, Unit};
use crate::results::BenchmarkResults;

/// The class of a machine for training.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum Tier {
    /// Less than any of the others: for trying out.
    Low,
    /// A good laptop.
    Medium,
    /// A workstation.
    High,
    /// A server for large corpora.
    Server,
}

/// The class of a machine, with the class that each criterion reaches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Rating {
    /// The lowest class among the criteria. Unknown when one could not be measured, unless another
    /// is already [`Low`](Tier::Low).
    pub tier: Finding<Tier>,
    /// The criteria, in the order of the table.
    pub criteria: Vec<TierCriterion>,
}

/// A criterion of the class: one line of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TierCriterion {
    /// Name of the figure that is compared.
    pub name: String,
    /// The measured value, in the table's unit.
    pub value: Finding<f64>,
    /// The unit.
    pub unit: Unit,
    /// The class that it reaches.
    pub reaches: Finding<Tier>,
}

/// A line of the table: the values that are needed for MEDIUM, HIGH and SERVER.
struct Line {
    name: &'static str,
    unit: Unit,
    needed: [f64; 3],
    /// Whether less is better.
    is_latency: bool,
}

/// The table of `docs/costs.md`, in the order in which [`Rating::from_results`] lists the
/// values.
const TABLE: [Line; 6] = [
    line(
        "names a second, all cores",
        Unit::PerSecond,
        [30e6, 100e6, 250e6],
    ),
    line("usable memory", Unit::Bytes, [7.5e9, 30e9, 120e9]),
    line(
        "memory copied, all cores",
        Unit::MegabytesPerSecond,
        [10e3, 25e3, 60e3],
    ),
    line(
        "sequential write",
        Unit::MegabytesPerSecond,
        [100.0, 400.0, 1000.0],
    ),
    line(
        "random 4 KiB reads",
        Unit::PerSecond,
        [1000.0, 4000.0, 8000.0],
    ),
    Line {
        name: "flush latency",
        unit: Unit::Microseconds,
        needed: [20e3, 5e3, 2e3],
        is_latency: true,
    },
];

/// Returns a line for a figure of which more is better.
const fn line(name: &'static str, unit: Unit, needed: [f64; 3]) -> Line {
    Line {
        name,
        unit,
        needed,
        is_latency: false,
    }
}

impl Line {
    /// Returns the class that a value reaches.
    fn reaches(&self, value: f64) -> Tier {
        let suffices = |needed: f64| {
            if self.is_latency {
                value <= needed
            } else {
                value >= needed
            }
        };
        let [medium, high, server] = self.needed.map(suffices);
        match (medium, high, server) {
            (true, true, true) => Tier::Server,
            (true, true, false) => Tier::High,
            // Each class asks for more than the one below it, so a gap cannot be.
            (true, false, _) => Tier::Medium,
            (false, _, _) => Tier::Low,
        }
    }

    /// Returns the criterion of this line for a measured value.
    fn judge(&self, value: Finding<f64>) -> TierCriterion {
        TierCriterion {
            name: self.name.to_owned(),
            unit: self.unit,
            reaches: value.clone().map(|value| self.reaches(value)),
            value,
        }
    }
}

impl Rating {
    /// Rates a machine by its figures and usable memory.
    pub(crate) fn from_results(
        benchmarks: &BenchmarkResults,
        usable_memory: &Finding<u64>,
    ) -> Self {
        let disk = &benchmarks.disk;
        let values = [
            number(&benchmarks.naming.tokens_all_cores),
            usable_memory.clone().map(|bytes| bytes as f64),
            direct(&benchmarks.memory.copy_all_cores),
            direct(&disk.sequential_write),
            direct(&disk.random_read),
            direct(&disk.flush_latency),
        ];
        let criteria: Vec<TierCriterion> = TABLE
            .iter()
            .zip(values)
            .map(|(line, value)| line.judge(value))
            .collect();
        let missing: Vec<String> = criteria
            .iter()
            .filter_map(|criterion| {
                let reason = criterion.value.reason()?;
                Some(format!("{} ({reason})", criterion.name))
            })
            .collect();
        let lowest = criteria
            .iter()
            .filter_map(|criterion| criterion.reaches.known().copied())
            .min();
        let tier = match lowest {
            // Nothing that is missing could raise it.
            Some(Tier::Low) => Finding::Known(Tier::Low),
            Some(tier) if missing.is_empty() => Finding::Known(tier),
            _ => Finding::unknown(format!("too little was measured: {}", missing.join("; "))),
        };
        Self { tier, criteria }
    }

    /// Returns the criteria that hold the machine to its class; none when the class is unknown.
    pub fn held_by(&self) -> impl Iterator<Item = &TierCriterion> {
        let tier = self.tier.known();
        self.criteria
            .iter()
            .filter(move |criterion| tier.is_some() && criterion.reaches.known() == tier)
    }
}

/// Returns the value of a figure.
fn number(measured: &Measured) -> Finding<f64> {
    measured.clone().map(|figure| figure.value)
}

/// Returns the value of a figure unless caches lay between: such a figure says nothing about the
/// device behind them.
fn direct(measured: &Measured) -> Finding<f64> {
    match measured {
        Finding::Known(figure) if figure.validity.method != MeasurementMethod::Direct => {
            let note = figure.validity.note.as_deref().unwrap_or("no reason told");
            Finding::unknown(format!("measured through a cache: {note}"))
        }
        _ => number(measured),
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
            Self::Server => "SERVER",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::test_fixtures;

    #[test]
    fn every_threshold_of_the_table_belongs_to_the_class_above_it() {
        for line in &TABLE {
            let tiers = [Tier::Medium, Tier::High, Tier::Server];
            let below = [Tier::Low, Tier::Medium, Tier::High];
            for ((needed, at), under) in line.needed.into_iter().zip(tiers).zip(below) {
                let worse = if line.is_latency { 1.001 } else { 0.999 };
                assert_eq!(line.reaches(needed), at, "{}", line.name);
                assert_eq!(line.reaches(needed * worse), under, "{}", line.name);
            }
        }
    }

    #[test]
    fn the_weakest_criterion_decides() {
        let mut profile = test_fixtures::profile();
        let memory = Finding::Known(256_000_000_000);
        let before = Rating::from_results(&profile.benchmarks, &memory);
        assert_eq!(before.tier, Finding::Known(Tier::Medium), "{before:?}");
        profile.benchmarks.disk.flush_latency = test_fixtures::figure(50_000.0, Unit::Microseconds);
        let after = Rating::from_results(&profile.benchmarks, &memory);
        assert_eq!(after.tier, Finding::Known(Tier::Low));
        let held: Vec<&str> = after.held_by().map(|held| &*held.name).collect();
        assert_eq!(held, ["flush latency"]);
    }

    #[test]
    fn what_is_missing_or_cached_is_told_and_makes_the_class_unknown() {
        let mut profile = test_fixtures::profile();
        let memory = Finding::unknown("no such file");
        if let Finding::Known(figure) = &mut profile.benchmarks.disk.random_read {
            figure.validity.method = MeasurementMethod::Cached;
        }
        let rating = Rating::from_results(&profile.benchmarks, &memory);
        let reason = rating.tier.reason().unwrap();
        for part in [
            "usable memory (no such file)",
            "random 4 KiB reads (measured through a cache",
        ] {
            assert!(reason.contains(part), "{reason}");
        }
        assert_eq!(rating.held_by().count(), 0);
    }

    #[test]
    fn a_machine_that_one_measurement_shows_to_be_low_is_low_whatever_is_missing() {
        let mut profile = test_fixtures::profile();
        profile.benchmarks.disk.sequential_write = Finding::unknown("x");
        profile.benchmarks.naming.tokens_all_cores = test_fixtures::figure(1e6, Unit::PerSecond);
        let rating = Rating::from_results(&profile.benchmarks, &Finding::unknown("x"));
        assert_eq!(rating.tier, Finding::Known(Tier::Low));
    }
}
