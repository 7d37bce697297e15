//! The original's rule of fixed thresholds: the resource nearest to its own is the bottleneck.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::summary::ProfilingSummary;

/// A resource of the rule, in the order in which ties are decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LegacyResource {
    /// Processors.
    Cpu,
    /// Memory.
    Memory,
    /// Disk writes.
    Disk,
    /// Network latency.
    Network,
}

impl fmt::Display for LegacyResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Disk => "disk",
            Self::Network => "network",
        })
    }
}

/// What the rule says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct LegacyVerdict {
    /// The bottleneck; `None` when every resource is idle.
    pub resource: Option<LegacyResource>,
    /// Its score, 0 to 1.
    pub confidence: f64,
}

/// The original's rule, for comparison: it scores each resource as min(1, value / threshold).
///
/// The greatest score names the bottleneck and is the confidence; among equal ones the first of
/// processor, memory, disk, network does. What is idle, unknown or not a number scores 0, and when
/// all do, there is no bottleneck.
///
/// ```
/// use kato_profiler::verdict::{LegacyResource, LegacyRule};
///
/// let verdict = LegacyRule::default().score(Some(40.0), Some(60.0), Some(5.0), None);
/// assert_eq!(verdict.resource, Some(LegacyResource::Memory));
/// assert_eq!(verdict.confidence, 0.8);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct LegacyRule {
    /// Threshold of processor use, in per cent of the allowed cores.
    pub cpu_percent: f64,
    /// Threshold of memory use, in per cent of what the process may have.
    pub memory_percent: f64,
    /// Threshold of disk writes, in MB (10^6 bytes) a second.
    pub disk_megabytes_per_second: f64,
    /// Threshold of the mean round trip, in milliseconds.
    pub network_milliseconds: f64,
}

impl Default for LegacyRule {
    fn default() -> Self {
        Self {
            cpu_percent: 80.0,
            memory_percent: 75.0,
            disk_megabytes_per_second: 50.0,
            network_milliseconds: 100.0,
        }
    }
}

impl LegacyRule {
    /// Scores four values, in the units of the thresholds.
    #[must_use]
    pub fn score(
        &self,
        cpu_percent: Option<f64>,
        memory_percent: Option<f64>,
        disk_megabytes_per_second: Option<f64>,
        network_milliseconds: Option<f64>,
    ) -> LegacyVerdict {
        use LegacyResource::{Cpu, Disk, Memory, Network};
        let values = [
            (Cpu, cpu_percent, self.cpu_percent),
            (Memory, memory_percent, self.memory_percent),
            (
                Disk,
                disk_megabytes_per_second,
                self.disk_megabytes_per_second,
            ),
            (Network, network_milliseconds, self.network_milliseconds),
        ];
        let mut verdict = LegacyVerdict::default();
        for (resource, value, threshold) in values {
            let score = value.unwrap_or(0.0) / threshold;
            // Once a score is 1, a later one can only be equal, and the first wins. A NaN is not
            // greater than anything.
            if score > verdict.confidence && verdict.confidence < 1.0 {
                verdict = LegacyVerdict {
                    resource: Some(resource),
                    confidence: score.min(1.0),
                };
            }
        }
        verdict
    }

    /// Scores a run by mean processor use, mean memory use, mean rate of disk writes, and mean
    /// round trip over all peers.
    #[must_use]
    pub fn judge(&self, summary: &ProfilingSummary) -> LegacyVerdict {
        let trips = summary.calls.iter().filter_map(|calls| calls.latency);
        // The mean over all calls, not over peers: a peer that is called once must not count like
        // others.
        let (count, seconds) = trips.fold((0, 0.0), |(count, seconds), latency| {
            (
                count + latency.count,
                seconds + latency.mean * latency.count as f64,
            )
        });
        let disk = summary.disk.written_bytes_per_second;
        self.score(
            summary.cpu_avg_percent(),
            summary.memory.share_used.map(|share| 100.0 * share.mean),
            disk.map(|bytes| bytes * 1e-6),
            (count > 0).then(|| 1e3 * seconds / count as f64),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_rule() {
        use LegacyResource::{Cpu, Disk, Memory, Network};
        let nan = f64::NAN;
        let infinite = f64::INFINITY;
        // Processor %, memory %, disk MB/s, network ms: the bottleneck and its score.
        let table = [
            ([80.0, 0.0, 0.0, 0.0], Some(Cpu), 1.0),
            ([40.0, 0.0, 0.0, 0.0], Some(Cpu), 0.5),
            ([400.0, 10.0, 10.0, 10.0], Some(Cpu), 1.0),
            ([0.0, 75.0, 0.0, 0.0], Some(Memory), 1.0),
            ([0.0, 30.0, 0.0, 0.0], Some(Memory), 0.4),
            ([8.0, 15.0, 10.0, 10.0], Some(Memory), 0.2),
            ([0.0, 0.0, 50.0, 0.0], Some(Disk), 1.0),
            ([8.0, 7.5, 25.0, 10.0], Some(Disk), 0.5),
            ([0.0, 0.0, 0.0, 100.0], Some(Network), 1.0),
            ([0.0, 0.0, 0.0, 25.0], Some(Network), 0.25),
            // Ties, below and at saturation.
            ([40.0, 37.5, 25.0, 50.0], Some(Cpu), 0.5),
            ([0.0, 37.5, 25.0, 50.0], Some(Memory), 0.5),
            ([0.0, 0.0, 25.0, 50.0], Some(Disk), 0.5),
            ([80.0, 75.0, 50.0, 100.0], Some(Cpu), 1.0),
            ([79.0, 750.0, 500.0, 1000.0], Some(Memory), 1.0),
            // Nothing, and what is no figure.
            ([0.0, 0.0, 0.0, 0.0], None, 0.0),
            ([-5.0, -1.0, -1.0, -1.0], None, 0.0),
            ([nan, nan, nan, nan], None, 0.0),
            ([nan, 37.5, nan, 10.0], Some(Memory), 0.5),
            ([8.0, nan, infinite, 0.0], Some(Disk), 1.0),
            ([0.8, 0.0, 0.0, 0.0], Some(Cpu), 0.01),
        ];
        for ([cpu, memory, disk, network], resource, confidence) in table {
            let verdict =
                LegacyRule::default().score(Some(cpu), Some(memory), Some(disk), Some(network));
            assert_eq!(
                verdict.resource, resource,
                "{cpu} {memory} {disk} {network}"
            );
            assert!((verdict.confidence - confidence).abs() < 1e-12);
        }
    }

    #[test]
    fn what_is_unknown_is_no_bottleneck() {
        let verdict = LegacyRule::default().score(None, None, None, None);
        assert_eq!(verdict, LegacyVerdict::default());
    }
}
